// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * KVP_OP_REMAP_BEGIN: what a sequence is to become, from pieces of itself and of others. First
 * everything is looked at, with all sources busy by this call; what the sequence will be is
 * then made aside (stage.c), and stands beside it until commit or abort (moves.c). The sequence
 * itself is not changed here.
 */
#include "core.h"

/**
 * struct kvp_remapping - one begin on its way
 * @call: the call
 * @piece: its pieces
 * @nr_pieces: how many
 * @source: those that pieces are of; the first is the sequence itself
 * @nr_sources: how many
 * @remap: what is made
 * @tokens: of the pieces so far
 * @clean: of these, from the start, those that stand as they did
 * @rows_end: tokens without rows have come
 * @nr_places: runs of positions at most
 * @memory: of @source
 */
struct kvp_remapping {
	struct kvp_call *call;
	const struct kvp_piece *piece;
	u32 nr_pieces;
	struct kvp_source *source;
	u32 nr_sources;
	struct kvp_remap *remap;
	u64 tokens;
	u64 clean;
	bool rows_end;
	u64 nr_places;
	size_t memory;
};

/* ---- memory ------------------------------------------------------------------------- */

static size_t kvp_remap_size(u32 nr_parts)
{
	return sizeof(struct kvp_remap) + nr_parts * sizeof(struct kvp_part);
}

/**
 * kvp_remap_free - end of a remap's memory
 * @client: who was charged
 * @remap: without anything staged, and without blocks that it holds
 */
void kvp_remap_free(struct kvp_client *client, struct kvp_remap *remap)
{
	kvp_client_free(client, remap->held, remap->max_held * sizeof(*remap->held));
	kvp_client_free(client, remap, kvp_remap_size(remap->nr_parts));
}

/**
 * kvp_remap_memory - bytes that a remap is charged, beside what is staged
 * @remap: the remap
 *
 * Return: how many.
 */
u64 kvp_remap_memory(const struct kvp_remap *remap)
{
	return kvp_remap_size(remap->nr_parts) + remap->max_held * sizeof(*remap->held);
}

/* ---- sources -------------------------------------------------------------------------- */

/* The source of a piece, which becomes busy. Returns its number or kvp_fail(). */
static int kvp_remap_source(struct kvp_remapping *r, u32 i)
{
	struct kvp_seq *seq;
	u32 k;

	for (k = 0; k < r->nr_sources; k++)
		if (r->source[k].seq->id == r->piece[i].seq)
			return k;
	seq = kvp_seq_begin_settled(r->call, r->piece[i].seq);
	if (IS_ERR(seq)) {
		r->call->head->where = i;
		return PTR_ERR(seq);
	}
	r->source[k] = (struct kvp_source){ .seq = seq };
	r->nr_sources++;
	if (seq->root != r->source[0].seq->root)
		return kvp_fail(r->call, -EKEYREJECTED, KVP_REASON_NAMESPACE, i);
	return k;
}

/* All but the sequence itself. */
static void kvp_remap_sources_end(struct kvp_remapping *r)
{
	while (r->nr_sources > 1)
		kvp_seq_end(r->source[--r->nr_sources].seq);
}

/* ---- pieces ----------------------------------------------------------------------------- */

static int kvp_piece_check_form(struct kvp_remapping *r, u32 i)
{
	const struct kvp_piece *piece = &r->piece[i];

	if (!piece->length || piece->positions > KVP_PIECE_AT ||
	    piece->flags & ~KVP_PIECE_FLAGS_ALL ||
	    (piece->positions != KVP_PIECE_AT && piece->position))
		return kvp_fail(r->call, -EINVAL, KVP_REASON_VALUE, i);
	if (piece->length > KVP_MAX_SEQ_TOKENS - r->tokens ||
	    (piece->positions == KVP_PIECE_AT &&
	     (piece->position > KVP_MAX_SEQ_TOKENS ||
	      piece->length > KVP_MAX_SEQ_TOKENS - piece->position)))
		return kvp_fail(r->call, -EOVERFLOW, KVP_REASON_LENGTH, i);
	return 0;
}

/* A token may stand once. Mostly pieces of a sequence rise. */
static bool kvp_piece_twice(const struct kvp_remapping *r, u32 i, u32 source)
{
	const struct kvp_part *part = r->remap->parts;
	const struct kvp_piece *piece = &r->piece[i];
	u32 k;

	if (piece->from >= r->source[source].end)
		return false;
	for (k = 0; k < i; k++)
		if (part[k].source == source && part[k].from < piece->from + piece->length &&
		    piece->from < part[k].from + part[k].length)
			return true;
	return false;
}

static int kvp_piece_check_source(struct kvp_remapping *r, u32 i, u32 source)
{
	const struct kvp_piece *piece = &r->piece[i];
	const struct kvp_seq *seq = r->source[source].seq;

	if (piece->from > seq->tokens || piece->length > seq->tokens - piece->from)
		return kvp_fail(r->call, -EINVAL, KVP_REASON_LENGTH, i);
	if (kvp_piece_twice(r, i, source))
		return kvp_fail(r->call, -EINVAL, KVP_REASON_DUPLICATE, i);
	if (!(piece->flags & KVP_PIECE_RECOMPUTE) &&
	    kvp_seq_open_from(seq) < piece->from + piece->length)
		return kvp_fail(r->call, -EBUSY, KVP_REASON_FENCE_OPEN, i);
	return 0;
}

static u64 kvp_piece_rows(const struct kvp_piece *piece, const struct kvp_seq *seq)
{
	if (piece->flags & KVP_PIECE_RECOMPUTE || seq->computed <= piece->from)
		return 0;
	return min(seq->computed - piece->from, piece->length);
}

/* Runs of positions that a piece has at most: those of its source, and one more for the rows. */
static u64 kvp_piece_places(const struct kvp_piece *piece, const struct kvp_seq *seq)
{
	u64 token = piece->from;
	struct kvp_place place;
	u64 nr = 1;

	for (; token - piece->from < piece->length; nr++)
		token += min(kvp_place_at(seq, token, &place),
			     piece->length - (token - piece->from));
	return nr;
}

static int kvp_piece_take(struct kvp_remapping *r, u32 i)
{
	struct kvp_part *part = &r->remap->parts[i];
	const struct kvp_piece *piece = &r->piece[i];
	struct kvp_source *source;
	int k;
	int err;

	err = kvp_piece_check_form(r, i);
	if (err)
		return err;
	k = kvp_remap_source(r, i);
	if (k < 0)
		return k;
	err = kvp_piece_check_source(r, i, k);
	if (err)
		return err;
	source = &r->source[k];
	*part = (struct kvp_part){
		.to = r->tokens,
		.from = array_index_nospec(piece->from, source->seq->tokens),
		.length = piece->length,
		.rows = kvp_piece_rows(piece, source->seq),
		.own = !k,
		.source = k,
	};
	if (part->rows && r->rows_end)
		return kvp_fail(r->call, -EINVAL, KVP_REASON_UNPUBLISHED, i);
	r->rows_end |= part->rows < part->length;
	if (part->own && r->clean == r->tokens && piece->from == r->tokens)
		r->clean += piece->length;
	r->tokens += piece->length;
	r->remap->computed += part->rows;
	r->nr_places += kvp_piece_places(piece, source->seq);
	source->end = max(source->end, piece->from + piece->length);
	return 0;
}

/* ---- positions ----------------------------------------------------------------------------- */

/* What is to be known of the tokens of a run, which begins with index @to. */
static void kvp_piece_stand(const struct kvp_remapping *r, u32 i, u64 to, bool rows, u32 flags,
			    struct kvp_place *place)
{
	const struct kvp_piece *piece = &r->piece[i];

	place->was = place->position;
	place->first = to;
	if (piece->positions == KVP_PIECE_INDEX)
		place->position = to;
	else if (piece->positions == KVP_PIECE_AT)
		place->position = piece->position + (to - r->remap->parts[i].to);
	if (!rows) {
		/* They will be computed there, after all that stands before them. */
		place->computed_at = place->position;
		place->was = place->position;
		place->flags = 0;
		return;
	}
	place->flags |= flags;
}

static void kvp_piece_push_places(struct kvp_remapping *r, u32 i)
{
	const struct kvp_part *part = &r->remap->parts[i];
	struct kvp_source *source = &r->source[part->source];
	struct kvp_place place;
	u32 flags = 0;
	u64 done = 0;
	u64 nr;

	if (part->from > source->covered)
		flags = KVP_POSITIONS_ATTENDED;
	else
		source->covered = max(source->covered, part->from + part->length);
	if (part->to >= r->clean)
		flags |= KVP_POSITIONS_MISSED;
	if (source->seq->unnamed_from < part->from + part->length)
		r->remap->staged->unnamed_from =
			min(r->remap->staged->unnamed_from,
			    part->to + max(source->seq->unnamed_from, part->from) - part->from);
	while (done < part->length) {
		bool rows = done < part->rows;

		nr = min(kvp_place_at(source->seq, part->from + done, &place),
			 (rows ? part->rows : part->length) - done);
		kvp_piece_stand(r, i, part->to + done, rows, flags, &place);
		kvp_places_push(r->remap->staged, &place);
		done += nr;
	}
}

/* ---- what follows -------------------------------------------------------------------------- */

static int kvp_remap_guarantee(struct kvp_remapping *r)
{
	struct kvp_remap_begin *arg = r->call->arg;
	const struct kvp_seq *staged = r->remap->staged;
	u64 rows = r->remap->computed;

	arg->attended = kvp_seq_attended(staged, rows);
	arg->guarantee = !arg->attended && kvp_seq_unmoved(staged, rows) ? KVP_NEVER_SAW :
									  KVP_REPOSITIONED;
	if (arg->guarantee != KVP_NEVER_SAW && arg->head.flags & KVP_REMAP_REQUIRE_NEVER_SAW)
		return kvp_fail(r->call, -EKEYREJECTED, KVP_REASON_ATTENDED, 0);
	return 0;
}

static int kvp_remap_look(struct kvp_remapping *r)
{
	struct kvp_remap_begin *arg = r->call->arg;
	struct kvp_pool *pool = r->call->pool;
	int err = 0;
	u32 i;

	for (i = 0; i < pool->nr_families; i++)
		if (pool->family[i].desc.kind == KVP_FAMILY_STATE)
			return kvp_fail(r->call, -EOPNOTSUPP, KVP_REASON_STATE_FAMILY, i);
	for (i = 0; !err && i < r->nr_pieces; i++)
		err = kvp_piece_take(r, i);
	if (!err && arg->reserve > KVP_MAX_SEQ_TOKENS - r->tokens)
		err = kvp_fail(r->call, -EOVERFLOW, KVP_REASON_LENGTH, 0);
	return err;
}

static int kvp_remap_make(struct kvp_remapping *r)
{
	struct kvp_remap_begin *arg = r->call->arg;
	struct kvp_remap *remap = r->remap;
	struct kvp_seq *seq = r->source[0].seq;
	int err;
	u32 i;

	err = kvp_places_room(r->call, remap->staged, r->nr_places);
	if (err)
		return err;
	for (i = 0; i < r->nr_pieces; i++)
		kvp_piece_push_places(r, i);
	err = kvp_remap_guarantee(r);
	if (err)
		return err;
	err = kvp_stage(r->call, seq, remap, r->source, r->tokens, r->tokens + arg->reserve);
	if (err)
		return err;
	arg->tokens = r->tokens;
	arg->computed = remap->computed;
	return 0;
}

static int kvp_remap_alloc(struct kvp_remapping *r)
{
	struct kvp_client *client = r->call->client;

	r->remap = kvp_client_alloc(client, kvp_remap_size(r->nr_pieces));
	if (IS_ERR(r->remap))
		return kvp_fail_alloc(r->call, PTR_ERR(r->remap));
	r->remap->nr_parts = r->nr_pieces;
	r->remap->parts = (struct kvp_part *)(r->remap + 1);
	r->memory = (r->nr_pieces + 1) * sizeof(*r->source);
	r->source = kvp_client_alloc(client, r->memory);
	if (IS_ERR(r->source)) {
		kvp_remap_free(client, r->remap);
		return kvp_fail_alloc(r->call, PTR_ERR(r->source));
	}
	return 0;
}

static int kvp_remap_begin(struct kvp_call *call, struct kvp_seq *seq)
{
	struct kvp_remap_begin *arg = call->arg;
	struct kvp_remapping r = {
		.call = call,
		.piece = call->array[0],
		.nr_pieces = arg->nr_pieces,
	};
	int err = kvp_remap_alloc(&r);

	if (err)
		return err;
	r.source[r.nr_sources++].seq = seq;
	err = kvp_remap_look(&r);
	if (!err) {
		r.remap->staged = kvp_seq_alloc(call);
		err = PTR_ERR_OR_ZERO(r.remap->staged);
	}
	if (!err) {
		err = kvp_remap_make(&r);
		if (err)
			kvp_stage_undo(r.remap);
		else
			kvp_remap_tell(seq, r.remap, arg);
	}
	kvp_remap_sources_end(&r);
	kvp_client_free(call->client, r.source, r.memory);
	if (err) {
		kvp_remap_free(call->client, r.remap);
		return err;
	}
	kvp_seq_end(r.remap->staged);
	seq->remap = r.remap;
	return 0;
}

/**
 * kvp_op_remap_begin - KVP_OP_REMAP_BEGIN
 * @call: struct kvp_remap_begin
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_remap_begin(struct kvp_call *call)
{
	struct kvp_remap_begin *arg = call->arg;
	struct kvp_seq *seq;
	int err;

	seq = kvp_seq_begin_settled(call, arg->seq);
	if (IS_ERR(seq))
		return PTR_ERR(seq);
	err = kvp_remap_begin(call, seq);
	kvp_seq_end(seq);
	return err;
}

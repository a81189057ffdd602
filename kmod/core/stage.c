// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a sequence is to become, made aside: a sequence without an id that shares by reference
 * whatever may stay, and has fresh blocks for the rest. Until it takes the place of the other one
 * it is the remap's alone. Where nodes are named, those of the staged sequence are meant.
 */
#include "core.h"

/**
 * struct kvp_staged_node - what is known of a node that is made anew, before the lock is taken
 * @part: number of the piece whose blocks it keeps, KVP_NIL: it gets fresh ones
 * @extra: extra digest of its source that it keeps, or KVP_NIL
 */
struct kvp_staged_node {
	u32 part;
	u32 extra;
};

/**
 * struct kvp_staging - a sequence on its way
 * @call: the call
 * @seq: the sequence that is remapped, busy
 * @remap: its pieces; what is made
 * @source: the sequences of the pieces, busy
 * @staged: what is made
 * @tokens: ids to have
 * @reserved: slots to have
 * @shared: nodes from the start that both have
 * @nr_nodes: nodes of the ids after these
 * @node: each of them
 * @plan: what it takes
 * @late: memory for references that @seq may give back while work is open
 * @taken: blocks, nodes and digests
 */
struct kvp_staging {
	struct kvp_call *call;
	struct kvp_seq *seq;
	struct kvp_remap *remap;
	const struct kvp_source *source;
	struct kvp_seq *staged;
	u64 tokens;
	u64 reserved;
	u64 shared;
	u64 nr_nodes;
	struct kvp_staged_node *node;
	struct kvp_plan plan;
	struct kvp_late_room late;
	struct kvp_taken taken;
};

/* ---- what stays by reference ------------------------------------------------------------ */

/* The piece of a token. */
static const struct kvp_part *kvp_part_of(const struct kvp_remap *remap, u64 token)
{
	u32 low = 0;
	u32 high = remap->nr_parts;

	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (remap->parts[middle].to <= token)
			low = middle;
		else
			high = middle;
	}
	return &remap->parts[low];
}

/* Whether all tokens of a node are one piece's, at the same places of its source's node. */
static bool kvp_node_whole(const struct kvp_staging *s, u64 node, u64 *run,
			   const struct kvp_part **part)
{
	u32 size = s->call->pool->index_tokens;
	u64 first = node * size;
	u64 nr = min_t(u64, size, s->tokens - first);

	*part = kvp_part_of(s->remap, first);
	*run = ((*part)->from + (first - (*part)->to)) / size;
	return ((*part)->from + (first - (*part)->to)) % size == 0 &&
	       (*part)->length - (first - (*part)->to) >= nr;
}

/* Whether its blocks are the source's: all of its rows stay where they are. */
static bool kvp_node_stays(const struct kvp_staging *s, u64 node)
{
	u32 size = s->call->pool->index_tokens;
	const struct kvp_part *part;
	struct kvp_place place;
	u64 run;

	if ((node + 1) * size > s->remap->computed || !kvp_node_whole(s, node, &run, &part))
		return false;
	return kvp_place_at(s->staged, node * size, &place) >= size &&
	       place.position == place.was;
}

/* Nodes that are the very same: from the start, each after the same one as before. */
static void kvp_stage_share(struct kvp_staging *s)
{
	const struct kvp_part *part;
	u64 run;

	while (kvp_node_stays(s, s->shared) && kvp_node_whole(s, s->shared, &run, &part) &&
	       part->own && run == s->shared)
		s->shared++;
}

/*
 * The extra digest of a node that is made anew: that of its source's node, if it begins with the
 * same token at the same index, which the digest may cover. Where one is lost its tokens have
 * no name any more under which they could be published.
 */
static u32 kvp_node_extra(struct kvp_staging *s, u64 node)
{
	struct kvp_pool *pool = s->call->pool;
	u64 token = node * pool->index_tokens;
	u64 end = min(token + pool->index_tokens, s->tokens);
	const struct kvp_part *part;
	u64 run, nr;

	if (kvp_node_whole(s, node, &run, &part) && run == node)
		return pool->nodes[s->source[part->source].seq->runs.at[run]].extra;
	for (; token < end; token += nr) {
		part = kvp_part_of(s->remap, token);
		nr = part->from + (token - part->to);
		run = nr / pool->index_tokens;
		if (pool->nodes[s->source[part->source].seq->runs.at[run]].extra != KVP_NIL) {
			s->staged->unnamed_from = min(s->staged->unnamed_from,
						      node * pool->index_tokens);
			break;
		}
		nr = min(pool->index_tokens - nr % pool->index_tokens,
			 part->length - (token - part->to));
	}
	return KVP_NIL;
}

enum kvp_slot_kind {
	KVP_SLOT_NONE,			/* before the window */
	KVP_SLOT_STAYS,			/* the source's block */
	KVP_SLOT_FRESH,
};

static enum kvp_slot_kind kvp_slot_kind(const struct kvp_staging *s,
					const struct kvp_family *family, u64 slot)
{
	u64 node = slot / family->parts;
	u64 fresh = node - min(node, s->shared);

	if (family->desc.kind == KVP_FAMILY_WINDOW &&
	    slot < kvp_window_start(family, s->remap->computed) / family->desc.block_tokens)
		return KVP_SLOT_NONE;
	if (node < s->shared || (fresh < s->nr_nodes && s->node[fresh].part != KVP_NIL))
		return KVP_SLOT_STAYS;
	return KVP_SLOT_FRESH;
}

/* ---- what others hold, too ---------------------------------------------------------------- */

static u64 kvp_part_slots(const struct kvp_family *family, const struct kvp_part *part)
{
	u32 size = family->desc.block_tokens;

	return (part->from + part->rows - 1) / size - part->from / size + 1;
}

/**
 * kvp_source_block - the block from which a row comes
 * @seq: the sequence that is remapped
 * @remap: its remap
 * @part: the piece of the row
 * @family: of which family
 * @token: index in the source, of a token with rows
 *
 * Return: the block, or KVP_NIL: a window's past.
 */
u32 kvp_source_block(const struct kvp_seq *seq, const struct kvp_remap *remap,
		     const struct kvp_part *part, u32 family, u64 token)
{
	const struct kvp_pool *pool = seq->client->pool;
	const struct kvp_family *f = &pool->family[family];
	u64 at = part->held;
	u32 i;

	if (part->own)
		return seq->table[family].at[token / f->desc.block_tokens];
	for (i = 0; i < family; i++)
		at += kvp_part_slots(&pool->family[i], part);
	at += token / f->desc.block_tokens - part->from / f->desc.block_tokens;
	return remap->held[at] == KVP_NIL ? KVP_NIL : remap->held[at] & KVP_BLOCK_INDEX_MASK;
}

/* Which blocks of other sequences will be read. */
static int kvp_stage_note_held(struct kvp_staging *s)
{
	struct kvp_pool *pool = s->call->pool;
	struct kvp_remap *remap = s->remap;
	u64 nr = 0;
	u32 i, k;
	u64 j;

	for (i = 0; i < remap->nr_parts; i++) {
		struct kvp_part *part = &remap->parts[i];

		part->held = nr;
		for (k = 0; !part->own && part->rows && k < pool->nr_families; k++)
			nr += kvp_part_slots(&pool->family[k], part);
	}
	if (!nr)
		return 0;
	remap->held = kvp_client_alloc(s->call->client, nr * sizeof(*remap->held));
	if (IS_ERR(remap->held)) {
		int err = PTR_ERR(remap->held);

		remap->held = NULL;
		return kvp_fail_alloc(s->call, err);
	}
	remap->max_held = nr;
	for (i = 0, nr = 0; i < remap->nr_parts; i++) {
		const struct kvp_part *part = &remap->parts[i];

		for (k = 0; !part->own && part->rows && k < pool->nr_families; k++) {
			const struct kvp_vec *table = &s->source[part->source].seq->table[k];
			u64 first = part->from / pool->family[k].desc.block_tokens;

			for (j = 0; j < kvp_part_slots(&pool->family[k], part); j++)
				remap->held[nr++] = table->at[first + j] == KVP_NIL ? KVP_NIL :
						    k << KVP_HOLD_SHIFT | table->at[first + j];
		}
	}
	return 0;
}

static int kvp_stage_hold_sliced(struct kvp_staging *s)
{
	struct kvp_pool *pool = s->call->pool;
	struct kvp_remap *remap = s->remap;

	for (; remap->nr_held < remap->max_held; remap->nr_held++) {
		u32 at = remap->held[remap->nr_held];
		u32 k = at >> KVP_HOLD_SHIFT;

		if (at == KVP_NIL)
			continue;
		if (!kvp_block_get_locked(pool, &pool->family[k], at & KVP_BLOCK_INDEX_MASK,
					  s->call->client->slot))
			return kvp_fail(s->call, -EOVERFLOW, KVP_REASON_COUNT, k);
		kvp_slice_step(pool, 1);
	}
	return 0;
}

/* ---- what it takes -------------------------------------------------------------------------- */

/* Rows of windows that will be needed must be there. */
static int kvp_stage_check_windows(struct kvp_staging *s)
{
	struct kvp_pool *pool = s->call->pool;
	struct kvp_rows rows;
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		if (pool->family[i].desc.kind != KVP_FAMILY_WINDOW)
			continue;
		kvp_rows_begin(&rows, s->seq, s->remap, i);
		while (kvp_rows_next(&rows))
			if (rows.src == KVP_NIL || rows.from <
			    kvp_window_start(&pool->family[i],
					     s->source[rows.part->source].seq->moved_at))
				return kvp_fail(s->call, -EOPNOTSUPP,
						KVP_REASON_WINDOW_RELEASED, i);
	}
	return 0;
}

/* What becomes of each node, so that nothing is searched for under the lock. */
static int kvp_stage_nodes(struct kvp_staging *s)
{
	struct kvp_need *need = &s->plan.need;
	u32 size = s->call->pool->index_tokens;
	u64 i;

	kvp_stage_share(s);
	need->nodes = kvp_nodes_for(s->call->pool, s->tokens) - s->shared;
	if (!need->nodes)
		return 0;
	s->node = kvp_client_alloc(s->call->client, need->nodes * sizeof(*s->node));
	if (IS_ERR(s->node)) {
		int err = PTR_ERR(s->node);

		s->node = NULL;
		return kvp_fail_alloc(s->call, err);
	}
	s->nr_nodes = need->nodes;
	for (i = 0; i < s->nr_nodes; i++) {
		u64 node = s->shared + i;

		s->node[i].part = KVP_NIL;
		if (kvp_node_stays(s, node))
			s->node[i].part = kvp_part_of(s->remap, node * size) - s->remap->parts;
		s->node[i].extra = kvp_node_extra(s, node);
		need->digests += s->node[i].extra != KVP_NIL;
		if (i % KVP_REST_STEPS == 0)
			cond_resched();
	}
	return 0;
}

static int kvp_stage_plan(struct kvp_staging *s)
{
	struct kvp_pool *pool = s->call->pool;
	u64 slot, slots, known, gone;
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		const struct kvp_family *family = &pool->family[i];

		slots = kvp_blocks_for(family, s->reserved);
		gone = 0;
		if (family->desc.kind == KVP_FAMILY_WINDOW)
			gone = kvp_window_start(family, s->remap->computed) /
			       family->desc.block_tokens;
		if (slots - gone > family->nr_blocks)
			return kvp_fail(s->call, -EFBIG, KVP_REASON_NEVER_FITS, i);
		s->plan.slots += slots;
		/* Those for tokens without rows are fresh. */
		known = kvp_blocks_for(family, s->remap->computed);
		s->plan.need.blocks[i] = slots - known;
		for (slot = s->shared * family->parts; slot < known; slot++) {
			if (slot % KVP_REST_STEPS == 0)
				cond_resched();
			s->plan.need.blocks[i] +=
				kvp_slot_kind(s, family, slot) == KVP_SLOT_FRESH;
		}
	}
	return 0;
}

/* Memory for the tables, and for references that are given back while work is open. */
static int kvp_stage_room(struct kvp_staging *s)
{
	struct kvp_room room;
	int err;

	err = kvp_seq_room_make(s->call, s->staged, s->reserved, s->tokens, &room);
	if (err)
		return err;
	kvp_seq_room_use(s->staged, &room);
	return kvp_late_room(s->call, s->seq, s->remap->max_held, &s->late);
}

/* ---- making -------------------------------------------------------------------- */

static int kvp_stage_slot_locked(struct kvp_staging *s, struct kvp_family *family, u64 slot,
				 u64 now)
{
	u64 token = slot * family->desc.block_tokens;
	u64 node = slot / family->parts;
	u32 i = family->index;
	const struct kvp_part *part;
	u32 index = KVP_NIL;

	switch (kvp_slot_kind(s, family, slot)) {
	case KVP_SLOT_NONE:
		break;
	case KVP_SLOT_STAYS:
		if (node < s->shared) {
			index = s->seq->table[i].at[slot];
		} else {
			part = &s->remap->parts[s->node[node - s->shared].part];
			index = kvp_source_block(s->seq, s->remap, part, i,
						 part->from + (token - part->to));
		}
		if (!kvp_block_get_locked(s->call->pool, family, index, s->call->client->slot))
			return kvp_fail(s->call, -EOVERFLOW, KVP_REASON_COUNT, i);
		break;
	case KVP_SLOT_FRESH:
		index = kvp_taken_block_locked(family, &s->taken, now);
		break;
	}
	kvp_seq_push(s->staged, i, index);
	return 0;
}

static int kvp_stage_tables_sliced(struct kvp_staging *s)
{
	struct kvp_pool *pool = s->call->pool;
	u64 now = ktime_get_coarse_ns();
	u64 slots;
	int err;
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		slots = kvp_blocks_for(&pool->family[i], s->reserved);
		while (s->staged->table[i].nr < slots) {
			err = kvp_stage_slot_locked(s, &pool->family[i], s->staged->table[i].nr,
						    now);
			if (err)
				return err;
			kvp_slice_step(pool, 1);
		}
	}
	return 0;
}

static void kvp_stage_nodes_sliced(struct kvp_staging *s)
{
	struct kvp_pool *pool = s->call->pool;
	struct kvp_vec *runs = &s->staged->runs;
	u64 nodes = kvp_nodes_for(pool, s->tokens);
	u32 index, extra;

	while (runs->nr < s->shared) {
		index = s->seq->runs.at[runs->nr];
		pool->nodes[index].uses++;
		runs->at[runs->nr++] = index;
		kvp_slice_step(pool, 1);
	}
	while (runs->nr < nodes) {
		index = kvp_taken_node_locked(pool, &s->taken);
		extra = s->node[runs->nr - s->shared].extra;
		if (extra != KVP_NIL)
			pool->nodes[index].extra =
				kvp_taken_digest_locked(pool, &s->taken,
							pool->digests[extra].byte);
		runs->at[runs->nr++] = index;
		kvp_slice_step(pool, 1);
	}
}

static int kvp_stage_sliced(struct kvp_staging *s)
{
	struct kvp_pool *pool = s->call->pool;
	struct kvp_seq *staged = s->staged;
	const struct kvp_seq *seq = s->seq;
	int err;
	u32 i;

	err = kvp_seq_take_sliced(s->call, &s->plan, &s->taken);
	if (err)
		return err;
	staged->root = seq->root;
	pool->nodes[staged->root].uses++;
	staged->tail = seq->tail;
	pool->nodes[staged->tail].refs++;
	staged->nr_published = seq->nr_published;
	staged->reserved = s->reserved;
	kvp_stage_nodes_sliced(s);
	err = kvp_stage_tables_sliced(s);
	if (!err)
		err = kvp_stage_hold_sliced(s);
	/* A table that was not finished ends with the slots that it has. */
	for (i = 0; i < pool->nr_families; i++)
		s->plan.slots -= staged->table[i].nr;
	kvp_less_locked(s->call->client->account, KVP_SLOTS, s->plan.slots);
	kvp_give_back_sliced(s->call->client, &s->taken);
	kvp_seq_set_tail_sliced(pool, staged, min(seq->nr_published, s->shared));
	return err;
}

/* The ids of all nodes that are not shared, from those of the sources. */
static void kvp_stage_ids(struct kvp_staging *s)
{
	struct kvp_pool *pool = s->call->pool;
	u32 size = pool->index_tokens;

	s->staged->tokens = s->shared * size;
	while (s->staged->tokens < s->tokens) {
		const struct kvp_part *part = kvp_part_of(s->remap, s->staged->tokens);
		u64 done = s->staged->tokens - part->to;
		u64 from = part->from + done;
		u32 run = s->source[part->source].seq->runs.at[from / size];
		struct kvp_ids_in in = {
			.tokens = kvp_node_tokens(pool, run) + from % size,
			.nr = min_t(u64, size - from % size, part->length - done),
		};

		kvp_seq_fill(pool, s->staged, &in);
		if (s->staged->tokens / size % KVP_REST_STEPS == 0)
			cond_resched();
	}
}

/* Blocks are in nodes of several sequences now, which know of it. */
static void kvp_stage_borrow(struct kvp_staging *s)
{
	u32 i;

	for (i = 0; i < s->remap->nr_parts; i++) {
		struct kvp_seq *seq = s->source[s->remap->parts[i].source].seq;

		seq->owns_end = false;
		seq->borrows = true;
	}
	s->staged->borrows = true;
}

/**
 * kvp_stage - make what a sequence is to become
 * @call: the call
 * @seq: the sequence, busy
 * @remap: its pieces; its staged sequence has its runs of positions
 * @source: the sequences of the pieces, busy
 * @tokens: ids to have
 * @reserved: slots to have
 *
 * Return: 0, or kvp_fail(); then kvp_stage_undo() ends what was made.
 */
int kvp_stage(struct kvp_call *call, struct kvp_seq *seq, struct kvp_remap *remap,
	      const struct kvp_source *source, u64 tokens, u64 reserved)
{
	struct kvp_staging s = {
		.call = call,
		.seq = seq,
		.remap = remap,
		.source = source,
		.staged = remap->staged,
		.tokens = tokens,
		.reserved = reserved,
	};
	int err;

	err = kvp_stage_note_held(&s);
	if (!err)
		err = kvp_stage_check_windows(&s);
	if (err)
		return err;
	err = kvp_stage_nodes(&s);
	if (!err)
		err = kvp_stage_plan(&s);
	if (!err)
		err = kvp_stage_room(&s);
	if (!err) {
		kvp_lock(call->pool);
		err = kvp_stage_sliced(&s);
		kvp_unlock(call->pool);
	}
	kvp_client_free(call->client, s.node, s.nr_nodes * sizeof(*s.node));
	if (err) {
		kvp_late_drop(call->client, &s.late);
		return err;
	}
	kvp_seq_late_use(seq, &s.late);
	kvp_stage_borrow(&s);
	kvp_stage_ids(&s);
	return 0;
}

/**
 * kvp_stage_undo - what was staged does not come to be, nothing has touched it
 * @remap: without what it staged and held afterwards
 */
void kvp_stage_undo(struct kvp_remap *remap)
{
	struct kvp_client *client = remap->staged->client;
	struct kvp_pool *pool = client->pool;

	kvp_lock(pool);
	while (remap->nr_held) {
		u32 at = remap->held[--remap->nr_held];

		if (at != KVP_NIL)
			kvp_block_undo_get_locked(pool, &pool->family[at >> KVP_HOLD_SHIFT],
						  at & KVP_BLOCK_INDEX_MASK);
		kvp_slice_step(pool, 1);
	}
	kvp_seq_free_sliced(remap->staged);
	kvp_unlock(pool);
	remap->staged = NULL;
}

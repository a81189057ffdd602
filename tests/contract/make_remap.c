// SPDX-License-Identifier: MIT
/*
 * Calls that remap sequences, and say where their tokens stand. Most remaps are such as an engine
 * makes: something is taken out, put in or put elsewhere; some are wrong in one piece. What is
 * remapped is busy to everything else, so the stream ends most of them soon.
 */
#include "stream.h"

#define MANY	6		/* pieces */

/* ---- begin ---- */

/* A place in the sequence, every other time where a node begins. */
static __u64 cut_of(const struct st_seq *seq)
{
	__u64 token = st_below(seq->tokens + 1);

	return st_once(2) ? token - token % st.index_tokens : token;
}

static __u32 add(struct kvp_piece *piece, __u32 nr, const struct st_seq *seq, __u64 from, __u64 to)
{
	if (from >= to)
		return nr;
	piece[nr].seq = seq->id;
	piece[nr].from = from;
	piece[nr].length = to - from;
	return nr + 1;
}

static __u32 own_pieces(const struct st_seq *seq, struct kvp_piece *piece)
{
	__u64 low = cut_of(seq);
	__u64 high = low + st_below(seq->tokens - low + 1);
	__u32 nr = 0;

	/* The end is taken off, or something within; two parts change places. */
	switch (st_below(6)) {
	case 0:
		return add(piece, nr, seq, 0, low);
	case 1:
		nr = add(piece, nr, seq, low, seq->computed);
		return add(piece, nr, seq, 0, low < seq->computed ? low : seq->computed);
	case 2:
		return add(piece, nr, seq, low, seq->tokens);
	default:
		nr = add(piece, nr, seq, 0, low);
		return add(piece, nr, seq, high, seq->tokens);
	}
}

/* Between two parts, or behind them, something of another sequence. */
static __u32 foreign_pieces(struct st_slot *slot, const struct st_seq *seq, struct kvp_piece *piece)
{
	const struct st_seq *other = &slot->seq[st_below(slot->nr_seqs)];
	__u64 from = cut_of(other);
	__u64 low = cut_of(seq);
	__u32 nr;

	if (low > seq->computed)
		low = seq->computed;
	nr = add(piece, 0, seq, 0, low);
	nr = add(piece, nr, other, from, from < other->computed ? other->computed : other->tokens);
	return add(piece, nr, seq, low, st_once(2) ? low : seq->tokens);
}

static __u32 recomputed_pieces(const struct st_seq *seq, struct kvp_piece *piece)
{
	__u64 low = cut_of(seq);
	__u64 high = low + st_below(seq->tokens - low + 1);
	__u32 first = add(piece, 0, seq, 0, low < seq->computed ? low : seq->computed);
	__u32 nr = add(piece, first, seq, high, seq->tokens);

	/* Before what has rows it is wrong. */
	if (nr > first)
		piece[st_once(3) ? 0 : first].flags = KVP_PIECE_RECOMPUTE;
	return nr;
}

static void place(struct kvp_piece *piece, __u32 nr)
{
	__u32 i;

	for (i = 0; i < nr; i++) {
		if (st_once(3))
			piece[i].positions = KVP_PIECE_KEEP;
		if (!st_once(5))
			continue;
		piece[i].positions = KVP_PIECE_AT;
		piece[i].position = st_once(4) ? piece[i].from : st_below(200);
		if (st_once(10))
			piece[i].position = KVP_MAX_SEQ_TOKENS - st_below(4);
	}
}

static void spoil_piece(struct kvp_piece *piece)
{
	switch (st_below(8)) {
	case 0:
		piece->seq = st_wrong_id();
		break;
	case 1:
		piece->length = 0;
		break;
	case 2:
		piece->length += 1 + st_below(3);
		break;
	case 3:
		piece->length = KVP_MAX_SEQ_TOKENS + st_below(2);
		break;
	case 4:
		piece->from = st_once(2) ? ~0ULL : piece->from + piece->length;
		break;
	case 5:
		piece->positions = st_below(5);
		break;
	case 6:
		piece->position ^= 1ULL << st_below(64);
		break;
	default:
		piece->flags ^= 1U << st_below(3);
		break;
	}
}

static __u32 pick_pieces(struct st_slot *slot, const struct st_seq *seq, struct kvp_piece *piece)
{
	__u32 nr;

	switch (st_below(8)) {
	case 0:
		nr = recomputed_pieces(seq, piece);
		break;
	case 1:
	case 2:
		nr = foreign_pieces(slot, seq, piece);
		break;
	default:
		nr = own_pieces(seq, piece);
		break;
	}
	/* As it is, positions are the index; an older remap may have said otherwise. */
	if (st_once(3))
		place(piece, nr);
	if (nr && st_once(12)) {
		piece[nr] = piece[st_below(nr)];
		nr++;
	}
	if (nr && st_once(8))
		piece[st_below(nr)].flags = KVP_PIECE_RECOMPUTE;
	if (nr && st_once(8))
		spoil_piece(&piece[st_below(nr)]);
	return nr;
}

static void make_begin(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_remap_begin *arg = (void *)call->before;
	const struct st_seq *seq = st_pick_seq(slot, &arg->seq);
	struct kvp_piece piece[MANY] = { };
	struct kvp_piece *pieces;
	__u32 i, nr = 0;

	if (seq && !st_once(30))
		nr = pick_pieces(slot, seq, piece);
	pieces = ct_call_array(call, 0, nr);
	for (i = 0; i < nr; i++)
		pieces[i] = piece[i];
	if (st_once(4))
		arg->reserve = st_below(10);
	if (st_once(60))
		arg->reserve = KVP_MAX_SEQ_TOKENS - st_below(2) * 100;
	if (st_once(4))
		arg->head.flags = KVP_REMAP_REQUIRE_NEVER_SAW;
}

static void learn_begin(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_remap_begin *arg = (void *)call->after;
	struct st_seq *seq = st_seq_find(slot, arg->seq);

	if (!seq)
		return;
	seq->remapped = true;
	seq->will_be.tokens = arg->tokens;
	seq->will_be.computed = arg->computed;
	seq->will_be.reserved = arg->tokens + arg->reserve;
	seq->will_be.tainted_from = arg->tainted_from;
}

/* ---- until the end ---- */

/* What may be published; where that is nothing, 0 would be no limit, and is refused. */
static void learn_taint(struct st_seq *seq, __u64 tainted_from)
{
	seq->limit = tainted_from == KVP_POS_END ? 0 : tainted_from;
}

const struct st_seq *st_pick_remapped(const struct st_slot *slot)
{
	__u32 start, i;

	if (!slot->nr_seqs)
		return NULL;
	start = st_below(slot->nr_seqs);
	for (i = 0; i < slot->nr_seqs; i++) {
		const struct st_seq *seq = &slot->seq[(start + i) % slot->nr_seqs];

		if (seq->remapped)
			return seq;
	}
	return NULL;
}

static void pick(struct st_slot *slot, __u64 *id)
{
	const struct st_seq *seq = st_once(10) ? NULL : st_pick_remapped(slot);

	if (seq)
		*id = seq->id;
	else
		st_pick_seq(slot, id);
}

static void make_moves(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_remap_moves *arg = (void *)call->before;

	pick(slot, &arg->seq);
	arg->family = st_pick_family();
	if (st_once(3))
		arg->first = st_below(4);
	if (st_once(20))
		arg->first = ~0ULL;
	if (!st_once(8))
		ct_call_array(call, 0, 1 + st_below(12));
}

static void make_end(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_remap_end *arg = (void *)call->before;

	pick(slot, &arg->seq);
}

static void learn_commit(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_remap_end *arg = (void *)call->after;
	struct st_seq *seq = st_seq_find(slot, arg->seq);

	if (!seq || !seq->remapped)
		return;
	seq->remapped = false;
	seq->tokens = seq->will_be.tokens;
	seq->computed = seq->will_be.computed;
	seq->reserved = seq->will_be.reserved;
	learn_taint(seq, seq->will_be.tainted_from);
}

static void learn_abort(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_remap_end *arg = (void *)call->after;
	struct st_seq *seq = st_seq_find(slot, arg->seq);

	if (seq)
		seq->remapped = false;
}

/* ---- positions ---- */

static void make_positions(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_seq_positions *arg = (void *)call->before;

	st_pick_seq(slot, &arg->seq);
	if (!st_once(8))
		ct_call_array(call, 0, 1 + st_below(8));
}

static void learn_positions(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_seq_positions *arg = (void *)call->after;
	struct st_seq *seq = st_seq_find(slot, arg->seq);

	if (seq)
		learn_taint(seq, arg->tainted_from);
}

const struct st_maker st_remap_makers[] = {
	{ KVP_OP_SEQ_POSITIONS, 5, false, make_positions, learn_positions },
	{ KVP_OP_REMAP_BEGIN, 10, false, make_begin, learn_begin },
	{ KVP_OP_REMAP_MOVES, 3, false, make_moves, NULL },
	{ KVP_OP_REMAP_COMMIT, 3, false, make_end, learn_commit },
	{ KVP_OP_REMAP_ABORT, 2, false, make_end, learn_abort },
	{ }
};

// SPDX-License-Identifier: MIT
/*
 * See remaps.h. Owns no state.
 */
#include "fences.h"
#include "remaps.h"

int kvpt_remap_with(struct kvp_client *client, const struct kvp_remap_begin *with, u64 seq,
		    const struct kvp_piece *pieces, u32 nr)
{
	struct kvp_remap_begin *arg = &kvpt_begin()->remap_begin;

	*arg = *with;
	arg->seq = seq;
	arg->pieces = nr ? kvpt_addr(pieces) : 0;
	arg->nr_pieces = nr;
	return kvpt_do(client, KVP_OP_REMAP_BEGIN, arg);
}

int kvpt_remap(struct kvp_client *client, u64 seq, const struct kvp_piece *pieces, u32 nr)
{
	const struct kvp_remap_begin with = { };

	return kvpt_remap_with(client, &with, seq, pieces, nr);
}

int kvpt_moves(struct kvp_client *client, u64 seq, u32 family, u64 first, struct kvp_move *moves,
	       u32 nr)
{
	struct kvp_remap_moves *arg = &kvpt_begin()->remap_moves;

	arg->seq = seq;
	arg->family = family;
	arg->first = first;
	arg->moves = nr ? kvpt_addr(moves) : 0;
	arg->nr_moves = nr;
	return kvpt_do(client, KVP_OP_REMAP_MOVES, arg);
}

static int remap_end(struct kvp_client *client, u32 op, u64 seq)
{
	struct kvp_remap_end *arg = &kvpt_begin()->remap_end;

	arg->seq = seq;
	return kvpt_do(client, op, arg);
}

int kvpt_commit(struct kvp_client *client, u64 seq)
{
	return remap_end(client, KVP_OP_REMAP_COMMIT, seq);
}

int kvpt_abort(struct kvp_client *client, u64 seq)
{
	return remap_end(client, KVP_OP_REMAP_ABORT, seq);
}

int kvpt_use_remap(struct kvp_client *client, u64 seq, u32 timeline, u64 value)
{
	const struct kvp_use_entry entry = KVPT_REMAP(seq, timeline, value);

	return kvpt_use(client, &entry, 1);
}

int kvpt_positions(struct kvp_client *client, u64 seq, struct kvp_positions *runs, u32 nr)
{
	struct kvp_seq_positions *arg = &kvpt_begin()->positions;

	arg->seq = seq;
	arg->runs = nr ? kvpt_addr(runs) : 0;
	arg->nr_runs = nr;
	return kvpt_do(client, KVP_OP_SEQ_POSITIONS, arg);
}

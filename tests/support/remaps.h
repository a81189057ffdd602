/* SPDX-License-Identifier: MIT */
/*
 * Calls that remap sequences, and say where their tokens stand, as harness.h has the others.
 *
 *	struct kvp_piece evict[] = { KVPT_PIECE(seq, 0, 4), KVPT_PIECE(seq, 6, 10) };
 *
 *	kvpt_ok(kvpt_remap(a, seq, evict, 2));
 *	kvpt_ok(kvpt_moves(a, seq, 0, 0, moves, 8));
 *	kvpt_ok(kvpt_commit(a, seq));
 *
 * Include <check.h> first to have failures reported by Check.
 */
#ifndef KVPT_REMAPS_H
#define KVPT_REMAPS_H

#include "harness.h"

#define KVPT_PIECE(seq_, from_, length_)						\
	{ .seq = (seq_), .from = (from_), .length = (length_) }
#define KVPT_PIECE_KEEP(seq_, from_, length_)						\
	{ .seq = (seq_), .from = (from_), .length = (length_), .positions = KVP_PIECE_KEEP }
#define KVPT_PIECE_AT(seq_, from_, length_, position_)					\
	{ .seq = (seq_), .from = (from_), .length = (length_), .positions = KVP_PIECE_AT,	\
	  .position = (position_) }
#define KVPT_REMAP(seq_, timeline_, value_)						\
	{ .kind = KVP_USE_REMAP, .id = (seq_), .timeline = (timeline_), .value = (value_) }

int kvpt_remap(struct kvp_client *client, u64 seq, const struct kvp_piece *pieces, u32 nr);
/* The same from a struct in which head.flags and reserve are set already. */
int kvpt_remap_with(struct kvp_client *client, const struct kvp_remap_begin *arg, u64 seq,
		    const struct kvp_piece *pieces, u32 nr);
/* Moves of the family from number @first on; how many is in kvpt.remap_moves. */
int kvpt_moves(struct kvp_client *client, u64 seq, u32 family, u64 first, struct kvp_move *moves,
	       u32 nr);
int kvpt_commit(struct kvp_client *client, u64 seq);
int kvpt_abort(struct kvp_client *client, u64 seq);
int kvpt_use_remap(struct kvp_client *client, u64 seq, u32 timeline, u64 value);
int kvpt_positions(struct kvp_client *client, u64 seq, struct kvp_positions *runs, u32 nr);

#endif /* KVPT_REMAPS_H */

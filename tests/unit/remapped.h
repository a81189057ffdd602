/* SPDX-License-Identifier: MIT */
/*
 * What the tests of remap share beyond fenced.h: what BEGIN says, and what it plans. Include
 * <check.h> and fenced.h first.
 */
#ifndef KVPT_REMAPPED_H
#define KVPT_REMAPPED_H

#include "remaps.h"

#define MAX_TOLD	64

#define PIECES(...)	((struct kvp_piece[]){ __VA_ARGS__ }), \
	(u32)(sizeof((struct kvp_piece[]){ __VA_ARGS__ }) / sizeof(struct kvp_piece))

/* Rows of the block @src go to the slot @slot of what the sequence will be. */
#define MOVE(src_, src_row_, slot_, dst_row_, rows_, flags_, position_)			\
	{ .src = (src_), .dst = (slot_), .src_row = (src_row_), .dst_row = (dst_row_),	\
	  .rows = (rows_), .flags = (flags_), .position = (position_) }
#define MOVES(...)	((struct kvp_move[]){ __VA_ARGS__ }), \
	(u32)(sizeof((struct kvp_move[]){ __VA_ARGS__ }) / sizeof(struct kvp_move))
#define KEEP		KVP_MOVE_KEEP

/* What the last BEGIN said. */
#define expect_begun(tokens_, computed_, moved_, moves_)			\
do {										\
	ck_assert_uint_eq(kvpt.remap_begin.tokens, tokens_);			\
	ck_assert_uint_eq(kvpt.remap_begin.computed, computed_);		\
	ck_assert_uint_eq(kvpt.remap_begin.moved, moved_);			\
	ck_assert_uint_eq(kvpt.remap_begin.nr_moves, moves_);			\
} while (0)

#define expect_promised(guarantee_, attended_, tainted_)			\
do {										\
	ck_assert_uint_eq(kvpt.remap_begin.guarantee, guarantee_);		\
	ck_assert_uint_eq(kvpt.remap_begin.attended, attended_);		\
	ck_assert_uint_eq(kvpt.remap_begin.tainted_from, tainted_);		\
} while (0)

/* What SEQ_POSITIONS says of a sequence, beside the runs. */
#define expect_taint(client, seq, tainted_, attended_)				\
do {										\
	kvpt_ok(kvpt_positions(client, seq, NULL, 0));				\
	ck_assert_uint_eq(kvpt.positions.tainted_from, tainted_);		\
	ck_assert_uint_eq(kvpt.positions.attended, attended_);			\
} while (0)

static inline void expect_same_move(const struct kvp_move *is, const struct kvp_move *want)
{
	ck_assert_uint_eq(is->src, want->src);
	ck_assert_uint_eq(is->src_row, want->src_row);
	ck_assert_uint_eq(is->dst_row, want->dst_row);
	ck_assert_uint_eq(is->rows, want->rows);
	ck_assert_uint_eq(is->flags, want->flags);
	ck_assert_uint_eq(is->position, want->position);
}

/*
 * The plan of an open remap is this one, in which destinations are slots; in pieces of every
 * size it is the same. The destinations are written to @dst.
 */
static inline void expect_moves(u64 seq, u32 family, const struct kvp_move *want, u32 nr, u64 *dst)
{
	struct kvp_move all[MAX_TOLD], some[MAX_TOLD];
	u32 i, size, first;

	ck_assert_uint_lt(nr, MAX_TOLD);
	kvpt_ok(kvpt_moves(a, seq, family, 0, all, MAX_TOLD));
	ck_assert_uint_eq(kvpt.remap_moves.nr_moves, nr);
	ck_assert_uint_eq(kvpt.remap_moves.total, nr);
	for (i = 0; i < nr; i++) {
		expect_same_move(&all[i], &want[i]);
		dst[i] = all[i].dst;
	}
	for (size = 0; size <= nr + 1; size++) {
		for (first = 0; first <= nr + 1; first++) {
			u32 left = first < nr ? nr - first : 0;

			memset(some, 0xee, sizeof(some));
			kvpt_ok(kvpt_moves(a, seq, family, first, some, size));
			ck_assert_uint_eq(kvpt.remap_moves.nr_moves, min(size, left));
			ck_assert_uint_eq(kvpt.remap_moves.total, nr);
			ck_assert_mem_eq(some, all + first, min(size, left) * sizeof(*some));
		}
	}
}

/* After COMMIT the destinations stand where they were to. */
static inline void expect_arrived(u64 seq, u32 family, const struct kvp_move *want, u32 nr,
				  const u64 *dst)
{
	u64 table[MAX_TOLD];
	u32 i;

	kvpt_ok(kvpt_table(a, seq, family, table, MAX_TOLD));
	for (i = 0; i < nr; i++)
		ck_assert_uint_eq(dst[i], table[want[i].dst]);
}

/* The plan of a family's moves, and its COMMIT. */
static inline void commits_as(u64 seq, const struct kvp_move *want, u32 nr)
{
	u64 dst[MAX_TOLD];

	expect_moves(seq, 0, want, nr, dst);
	kvpt_ok(kvpt_commit(a, seq));
	expect_arrived(seq, 0, want, nr, dst);
}

#endif /* KVPT_REMAPPED_H */

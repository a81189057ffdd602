// SPDX-License-Identifier: MIT
/*
 * Remaps that are refused, each for one reason, with its place and everything as before; and
 * what a sequence refuses while it is being remapped.
 */
#include <check.h>

#include "fenced.h"
#include "remapped.h"

static u64 seq, from;

/* @seq has 14 computed tokens; @from has 10, of which 8 are computed. */
static void setup_two(void)
{
	setup();
	seq = kvpt_computed(a, 1, tok, 14);
	kvpt_ok(kvpt_create(a, 1, other, 10, &from));
	kvpt_ok(kvpt_advance(a, from, 8));
}

#define refused(expr, err, why, at)	kvpt_refused(&env, a, expr, err, why, at)

#define OF(...)		((struct kvp_piece)__VA_ARGS__)

/* A piece is refused as the first one, and after a good one. */
#define refused_piece(piece, err, why)						\
do {										\
	const struct kvp_piece pair_[] = { KVPT_PIECE(seq, 0, 2), piece };	\
										\
	refused(kvpt_remap(a, seq, &pair_[1], 1), err, why, 0);			\
	refused(kvpt_remap(a, seq, pair_, 2), err, why, 1);			\
} while (0)

static void other_pool(const struct kvp_family_desc *families, u32 nr)
{
	teardown();
	make(families, nr);
}

/* ---- the struct ------------------------------------------------------ */

START_TEST(test_counts)
{
	static struct kvp_piece pieces[KVP_MAX_PIECES + 1];
	struct kvp_remap_begin arg = { .seq = seq, .nr_pieces = 1 };

	refused(kvpt_remap(a, seq, pieces, KVP_MAX_PIECES + 1), -EOVERFLOW, KVP_REASON_COUNT,
		kvpt_at(struct kvp_remap_begin, nr_pieces));
	ck_assert_int_eq(kvpt_do(a, KVP_OP_REMAP_BEGIN, &arg), -EFAULT);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_POINTER);
	ck_assert_uint_eq(arg.head.where, kvpt_at(struct kvp_remap_begin, pieces));
	refused(kvpt_positions(a, seq, (struct kvp_positions *)pieces, KVP_MAX_CALL_BLOCKS + 1),
		-EOVERFLOW, KVP_REASON_COUNT, kvpt_at(struct kvp_seq_positions, nr_runs));
	refused(kvpt_moves(a, seq, 0, 0, (struct kvp_move *)pieces, KVP_MAX_CALL_BLOCKS + 1),
		-EOVERFLOW, KVP_REASON_COUNT, kvpt_at(struct kvp_remap_moves, nr_moves));
}
END_TEST

START_TEST(test_flags)
{
	struct kvp_remap_begin with = { .head.flags = KVP_REMAP_FLAGS_ALL + 1 };
	struct kvp_seq_positions positions = { .seq = seq, .reserved = 1 };
	struct kvp_remap_end end = { .head.flags = 1, .seq = seq };

	refused(kvpt_remap_with(a, &with, seq, PIECES(KVPT_PIECE(seq, 0, 4))), -EINVAL,
		KVP_REASON_FLAG, 0);
	ck_assert_int_eq(kvpt_do(a, KVP_OP_SEQ_POSITIONS, &positions), -EINVAL);
	ck_assert_uint_eq(positions.head.reason, KVP_REASON_RESERVED);
	ck_assert_uint_eq(positions.head.where, kvpt_at(struct kvp_seq_positions, reserved));
	kvpt_ok(kvpt_remap(a, seq, NULL, 0));
	ck_assert_int_eq(kvpt_do(a, KVP_OP_REMAP_COMMIT, &end), -EINVAL);
	ck_assert_uint_eq(end.head.reason, KVP_REASON_FLAG);
	ck_assert_int_eq(kvpt_do(a, KVP_OP_REMAP_ABORT, &end), -EINVAL);
	ck_assert_uint_eq(end.head.reason, KVP_REASON_FLAG);
	kvpt_ok(kvpt_abort(a, seq));
}
END_TEST

START_TEST(test_rights)
{
	struct kvp_client *c = kvpt_join(&env, 1002, KVP_RIGHT_PUBLISH);

	refused(kvpt_remap(c, seq, NULL, 0), -EACCES, KVP_REASON_RIGHT_USE, 0);
	refused(kvpt_moves(c, seq, 0, 0, NULL, 0), -EACCES, KVP_REASON_RIGHT_USE, 0);
	refused(kvpt_commit(c, seq), -EACCES, KVP_REASON_RIGHT_USE, 0);
	refused(kvpt_abort(c, seq), -EACCES, KVP_REASON_RIGHT_USE, 0);
	refused(kvpt_positions(c, seq, NULL, 0), -EACCES, KVP_REASON_RIGHT_USE, 0);
}
END_TEST

START_TEST(test_ids)
{
	struct kvp_piece piece = KVPT_PIECE(seq, 0, 4);
	u64 id;

	kvpt_refuses_bad_ids(&env, a, a, id, kvpt_remap(a, id, &piece, 1));
	kvpt_refuses_bad_ids(&env, a, a, id, kvpt_moves(a, id, 0, 0, NULL, 0));
	kvpt_refuses_bad_ids(&env, a, a, id, kvpt_commit(a, id));
	kvpt_refuses_bad_ids(&env, a, a, id, kvpt_abort(a, id));
	kvpt_refuses_bad_ids(&env, a, a, id, kvpt_positions(a, id, NULL, 0));
	kvpt_refuses_bad_ids(&env, a, a, piece.seq, kvpt_remap(a, seq, &piece, 1));
}
END_TEST

START_TEST(test_ids_of_pieces)
{
	u64 ended, theirs;

	kvpt_ok(kvpt_create(a, 1, NULL, 0, &ended));
	kvpt_ok(kvpt_free(a, ended));
	kvpt_ok(kvpt_create_at(b, 20, &theirs));
	refused_piece(OF(KVPT_PIECE(0, 2, 2)), -ENOENT, KVP_REASON_NO_SEQ);
	refused_piece(OF(KVPT_PIECE(theirs, 2, 2)), -ENOENT, KVP_REASON_NO_SEQ);
	refused_piece(OF(KVPT_PIECE(ended, 2, 2)), -ESTALE, KVP_REASON_GENERATION);
}
END_TEST

/* ---- pieces ---------------------------------------------------------- */

START_TEST(test_forms)
{
	refused_piece(OF(KVPT_PIECE(seq, 2, 0)), -EINVAL, KVP_REASON_VALUE);
	refused_piece(OF({ .seq = seq, .from = 2, .length = 1, .positions = 3 }), -EINVAL,
		      KVP_REASON_VALUE);
	refused_piece(OF({ .seq = seq, .from = 2, .length = 1, .flags = 2 }), -EINVAL,
		      KVP_REASON_VALUE);
	refused_piece(OF({ .seq = seq, .from = 2, .length = 1, .flags = 1U << 31 }), -EINVAL,
		      KVP_REASON_VALUE);
	refused_piece(OF({ .seq = seq, .from = 2, .length = 1, .position = 2 }), -EINVAL,
		      KVP_REASON_VALUE);
	refused_piece(OF({ .seq = seq, .from = 2, .length = 1, .position = 2,
			 .positions = KVP_PIECE_KEEP }), -EINVAL, KVP_REASON_VALUE);
}
END_TEST

START_TEST(test_beyond_the_tokens)
{
	refused_piece(OF(KVPT_PIECE(seq, 13, 2)), -EINVAL, KVP_REASON_LENGTH);
	refused_piece(OF(KVPT_PIECE(seq, 14, 1)), -EINVAL, KVP_REASON_LENGTH);
	refused_piece(OF(KVPT_PIECE(seq, 15, 1)), -EINVAL, KVP_REASON_LENGTH);
	refused_piece(OF(KVPT_PIECE(seq, ~0ULL, 1)), -EINVAL, KVP_REASON_LENGTH);
	refused_piece(OF(KVPT_PIECE(seq, ~0ULL, 2)), -EINVAL, KVP_REASON_LENGTH);
	refused_piece(OF(KVPT_PIECE(from, 4, 7)), -EINVAL, KVP_REASON_LENGTH);
}
END_TEST

START_TEST(test_beyond_what_there_can_be)
{
	const struct kvp_remap_begin with = { .reserve = KVP_MAX_SEQ_TOKENS - 3 };
	const struct kvp_remap_begin all = { .reserve = ~0ULL };

	refused_piece(OF(KVPT_PIECE(seq, 2, KVP_MAX_SEQ_TOKENS + 1)), -EOVERFLOW,
		      KVP_REASON_LENGTH);
	refused_piece(OF(KVPT_PIECE(seq, 2, ~0ULL)), -EOVERFLOW, KVP_REASON_LENGTH);
	refused_piece(OF(KVPT_PIECE_AT(seq, 2, 1, KVP_MAX_SEQ_TOKENS)), -EOVERFLOW,
		      KVP_REASON_LENGTH);
	refused_piece(OF(KVPT_PIECE_AT(seq, 2, 4, KVP_MAX_SEQ_TOKENS - 3)), -EOVERFLOW,
		      KVP_REASON_LENGTH);
	refused_piece(OF(KVPT_PIECE_AT(seq, 2, 1, ~0ULL)), -EOVERFLOW, KVP_REASON_LENGTH);
	refused(kvpt_remap_with(a, &with, seq, PIECES(KVPT_PIECE(seq, 0, 4))), -EOVERFLOW,
		KVP_REASON_LENGTH, 0);
	refused(kvpt_remap_with(a, &all, seq, PIECES(KVPT_PIECE(seq, 0, 4))), -EOVERFLOW,
		KVP_REASON_LENGTH, 0);
	/* The last position that there is. */
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE_AT(seq, 2, 4, KVP_MAX_SEQ_TOKENS - 4))));
	kvpt_ok(kvpt_abort(a, seq));
}
END_TEST

START_TEST(test_twice)
{
	refused_piece(OF(KVPT_PIECE(seq, 20, 1)), -EINVAL, KVP_REASON_LENGTH);
	refused(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(seq, 3, 1))), -EINVAL,
		KVP_REASON_DUPLICATE, 1);
	refused(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 4, 4), KVPT_PIECE(seq, 0, 5))), -EINVAL,
		KVP_REASON_DUPLICATE, 1);
	refused(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 4, 4), KVPT_PIECE(seq, 0, 4),
					  KVPT_PIECE(seq, 8, 1), KVPT_PIECE(seq, 5, 1))), -EINVAL,
		KVP_REASON_DUPLICATE, 3);
	refused(kvpt_remap(a, seq, PIECES(KVPT_PIECE(from, 4, 4), KVPT_PIECE(from, 2, 3))),
		-EINVAL, KVP_REASON_DUPLICATE, 1);
	/* The same tokens of two sequences are not the same. */
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 4, 4), KVPT_PIECE(seq, 0, 4),
					  KVPT_PIECE(from, 0, 4))));
	kvpt_ok(kvpt_abort(a, seq));
}
END_TEST

START_TEST(test_rows_after_tokens_without_some)
{
	refused(kvpt_remap(a, seq, PIECES(KVPT_PIECE(from, 6, 4), KVPT_PIECE(seq, 6, 1))), -EINVAL,
		KVP_REASON_UNPUBLISHED, 1);
	refused(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 2), { .seq = seq, .from = 2,
			   .length = 2, .flags = KVP_PIECE_RECOMPUTE }, KVPT_PIECE(seq, 4, 1))),
		-EINVAL, KVP_REASON_UNPUBLISHED, 2);
	/* Without rows themselves they may come there. */
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(from, 6, 4), { .seq = seq, .from = 2,
			   .length = 2, .flags = KVP_PIECE_RECOMPUTE })));
	expect_begun(6, 2, 2, 1);
	kvpt_ok(kvpt_abort(a, seq));
}
END_TEST

START_TEST(test_another_namespace)
{
	u64 strange = kvpt_computed(a, 2, tok, 8);

	refused_piece(OF(KVPT_PIECE(strange, 0, 1)), -EKEYREJECTED, KVP_REASON_NAMESPACE);
	refused_piece(OF({ .seq = strange, .length = 1, .flags = KVP_PIECE_RECOMPUTE }),
		      -EKEYREJECTED, KVP_REASON_NAMESPACE);
}
END_TEST

START_TEST(test_not_as_if_never_seen)
{
	const struct kvp_remap_begin with = { .head.flags = KVP_REMAP_REQUIRE_NEVER_SAW };

	refused(kvpt_remap_with(a, &with, seq, PIECES(KVPT_PIECE(seq, 0, 4),
						      KVPT_PIECE(seq, 5, 9))),
		-EKEYREJECTED, KVP_REASON_ATTENDED, 0);
	ck_assert_uint_eq(kvpt.remap_begin.attended, 9);
	/* Nothing is gone, but they do not stand where they were computed. */
	refused(kvpt_remap_with(a, &with, seq, PIECES(KVPT_PIECE_AT(seq, 0, 14, 1))),
		-EKEYREJECTED, KVP_REASON_ATTENDED, 0);
	refused(kvpt_remap_with(a, &with, seq, PIECES(KVPT_PIECE(seq, 4, 4))),
		-EKEYREJECTED, KVP_REASON_ATTENDED, 0);
	kvpt_ok(kvpt_remap_with(a, &with, seq, PIECES(KVPT_PIECE(seq, 0, 4), { .seq = seq,
				.from = 8, .length = 2, .flags = KVP_PIECE_RECOMPUTE })));
	ck_assert_uint_eq(kvpt.remap_begin.guarantee, KVP_NEVER_SAW);
	kvpt_ok(kvpt_abort(a, seq));
}
END_TEST

/* ---- what is busy, or will be written -------------------------------- */

START_TEST(test_while_another_call_works_on_it)
{
	const struct kvp_piece pair[] = { KVPT_PIECE(seq, 0, 2), KVPT_PIECE(from, 2, 2) };

#define busy(seq_, expr, at)							\
do {										\
	ck_assert_int_eq(kvpt_while_busy(a, seq_, expr), -EBUSY);		\
	ck_assert_uint_eq(kvpt.head.reason, KVP_REASON_SEQ_BUSY);		\
	ck_assert_uint_eq(kvpt.head.where, at);					\
	kvpt_expect_blocks(a, 0, 9, 7, 0);					\
} while (0)
	busy(seq, kvpt_remap(a, seq, pair, 2), 0);
	busy(from, kvpt_remap(a, seq, pair, 2), 1);
	busy(seq, kvpt_positions(a, seq, NULL, 0), 0);
	kvpt_ok(kvpt_remap(a, seq, NULL, 0));
	busy(seq, kvpt_moves(a, seq, 0, 0, NULL, 0), 0);
	busy(seq, kvpt_commit(a, seq), 0);
	busy(seq, kvpt_abort(a, seq), 0);
	busy(seq, kvpt_use_remap(a, seq, t, 1), 0);
	/* Those that pieces are of are free again after each call. */
	kvpt_ok(kvpt_abort(a, seq));
	kvpt_ok(kvpt_append(a, from, tok, 1));
	kvpt_ok(kvpt_append(a, seq, tok, 1));
}
END_TEST

START_TEST(test_copies_are_owed)
{
	u64 child;

	kvpt_ok(kvpt_truncate(a, seq, 6));
	kvpt_ok(kvpt_reserve(a, seq, 1));
	kvpt_ok(kvpt_fork(a, seq, 6, &child));
	ck_assert_uint_eq(kvpt.fork.nr_copies, 1);
	refused(kvpt_remap(a, child, PIECES(KVPT_PIECE(child, 0, 4))), -EBUSY,
		KVP_REASON_COPY_PENDING, 0);
	refused_piece(OF(KVPT_PIECE(child, 0, 4)), -EBUSY, KVP_REASON_COPY_PENDING);
}
END_TEST

START_TEST(test_work_writes_rows)
{
	kvpt_ok(kvpt_use_write(a, from, t, 1, 8, 10));
	refused_piece(OF(KVPT_PIECE(from, 8, 1)), -EBUSY, KVP_REASON_FENCE_OPEN);
	refused_piece(OF(KVPT_PIECE(from, 5, 5)), -EBUSY, KVP_REASON_FENCE_OPEN);
	/* Before them, and of ids alone, it is no matter. */
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(from, 0, 8), { .seq = from, .from = 8,
					  .length = 2, .flags = KVP_PIECE_RECOMPUTE })));
	kvpt_ok(kvpt_abort(a, seq));
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(from, 0, 10))));
	expect_begun(10, 10, 2, 1);
}
END_TEST

/* ---- what families cannot -------------------------------------------- */

START_TEST(test_states)
{
	other_pool((struct kvp_family_desc[]){ KVPT_DENSE(16, 4), KVPT_STATE(16) }, 2);
	seq = kvpt_computed(a, 1, tok, 8);
	refused(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 8))), -EOPNOTSUPP,
		KVP_REASON_STATE_FAMILY, 1);
}
END_TEST

START_TEST(test_a_window_has_moved_on)
{
	other_pool((struct kvp_family_desc[]){ KVPT_DENSE(16, 4), KVPT_WINDOW(16, 4, 6) }, 2);
	seq = kvpt_computed(a, 1, tok, 20);
	refused(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 12))), -EOPNOTSUPP,
		KVP_REASON_WINDOW_RELEASED, 1);
	refused(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 8), KVPT_PIECE(seq, 17, 3))),
		-EOPNOTSUPP, KVP_REASON_WINDOW_RELEASED, 1);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 8), KVPT_PIECE(seq, 15, 5))));
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_ok(kvpt_free(a, seq));
	/* Rows from 11 on are moved: those before them are not there, though their block is. */
	seq = kvpt_computed(a, 1, tok, 20);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(seq, 8, 12))));
	kvpt_ok(kvpt_commit(a, seq));
	ck_assert_uint_eq(kvpt_nulls(a, seq, 1), 3);
	refused(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 15))), -EOPNOTSUPP,
		KVP_REASON_WINDOW_RELEASED, 1);
	refused(kvpt_truncate(a, seq, 15), -EOPNOTSUPP, KVP_REASON_WINDOW_RELEASED, 1);
	refused(kvpt_fork(a, seq, 15, NULL), -EOPNOTSUPP, KVP_REASON_WINDOW_RELEASED, 1);
}
END_TEST

/* ---- room ------------------------------------------------------------ */

START_TEST(test_no_blocks)
{
	u64 raw[9];

	kvpt_ok(kvpt_alloc(a, 0, 9, raw));
	refused(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 5), KVPT_PIECE(seq, 8, 6))), -ENOSPC,
		KVP_REASON_POOL_FULL, 0);
	/* With rows of others it takes memory before it finds out. */
	refused(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 5), KVPT_PIECE(from, 2, 6))), -ENOSPC,
		KVP_REASON_POOL_FULL, 0);
	/* What stays takes none. */
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 8))));
	kvpt_ok(kvpt_abort(a, seq));
	kvpt_ok(kvpt_unref(a, raw, 1));
	refused(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 5), KVPT_PIECE(seq, 8, 6))), -ENOSPC,
		KVP_REASON_POOL_FULL, 0);
	kvpt_ok(kvpt_unref(a, raw + 1, 1));
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 5), KVPT_PIECE(seq, 8, 6))));
}
END_TEST

/* All or nothing over all families. */
START_TEST(test_no_blocks_of_a_second_family)
{
	u64 raw[16];

	other_pool((struct kvp_family_desc[]){ KVPT_DENSE(16, 4), KVPT_DENSE(16, 4) }, 2);
	seq = kvpt_computed(a, 1, tok, 14);
	kvpt_ok(kvpt_alloc(a, 1, 11, raw));
	refused(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 5), KVPT_PIECE(seq, 8, 6))), -ENOSPC,
		KVP_REASON_POOL_FULL, 1);
}
END_TEST

START_TEST(test_more_than_there_are)
{
	const struct kvp_remap_begin with = { .reserve = 65 };

	refused(kvpt_remap_with(a, &with, seq, PIECES(KVPT_PIECE(seq, 0, 8))), -EFBIG,
		KVP_REASON_NEVER_FITS, 0);
}
END_TEST

START_TEST(test_limits)
{
	const struct kvp_piece evict[] = { KVPT_PIECE(seq, 0, 5), KVPT_PIECE(seq, 8, 6) };
	u64 id = kvpt_client_id(a);

	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_BLOCKS, 0, 8));
	refused(kvpt_remap(a, seq, evict, 2), -EDQUOT, KVP_REASON_LIMIT_BLOCKS, 0);
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_BLOCKS, 0, 9));
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_SLOTS, 0, 7 + 2));
	refused(kvpt_remap(a, seq, evict, 2), -EDQUOT, KVP_REASON_LIMIT_SLOTS, 0);
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_SLOTS, 0, 7 + 3));
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_METADATA, 0,
			   kvpt_counters_of(a, KVP_STATS_SELF).metadata_bytes));
	refused(kvpt_remap(a, seq, evict, 2), -EDQUOT, KVP_REASON_LIMIT_METADATA, 0);
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_METADATA, 0, KVP_UNLIMITED));
	/* It is one sequence all the time. */
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_SEQS, 0, 2));
	kvpt_ok(kvpt_remap(a, seq, evict, 2));
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).seqs, 2);
	kvpt_ok(kvpt_commit(a, seq));
}
END_TEST

START_TEST(test_a_count_that_is_used_up)
{
	const struct kvp_piece splice[] = { KVPT_PIECE(seq, 0, 4), KVPT_PIECE(from, 1, 7) };
	u64 was[4], theirs[3];

	kvpt_expect_table(a, seq, 0, was, 4);
	kvpt_expect_table(a, from, 0, theirs, 3);
	/* Of a block that stays, and of one that is read. */
	ck_assert_int_eq(kvpt_while_set(kvpt_block_of(a, was[1])->count, U32_MAX,
			 kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 14)))), -EOVERFLOW);
	ck_assert_uint_eq(kvpt.head.reason, KVP_REASON_COUNT);
	ck_assert_uint_eq(kvpt_count(a, was[0]), 1);
	ck_assert_int_eq(kvpt_while_set(kvpt_block_of(a, theirs[1])->count, U32_MAX,
			 kvpt_remap(a, seq, splice, 2)), -EOVERFLOW);
	ck_assert_uint_eq(kvpt.head.reason, KVP_REASON_COUNT);
	ck_assert_uint_eq(kvpt_count(a, was[0]), 1);
	ck_assert_uint_eq(kvpt_count(a, theirs[0]), 1);
	kvpt_expect_blocks(a, 0, 9, 7, 0);
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_remap(a, seq, splice, 2));
}
END_TEST

START_TEST(test_result_that_cannot_be_written)
{
	u64 was[4], is[4], mine;
	struct kvp_client *c;

	env.door = &kvpt_failing_door;
	c = kvpt_join(&env, 1002, KVP_RIGHT_USE);
	mine = kvpt_computed(c, 1, tok, 14);
	kvpt_expect_table(c, mine, 0, was, 4);
	kvpt_fail_write = 1;
	ck_assert_int_eq(kvpt_remap(c, mine, PIECES(KVPT_PIECE(mine, 0, 5),
						    KVPT_PIECE(mine, 8, 6))), -EFAULT);
	ck_assert_int_eq(kvpt_fail_write, 0);
	/* No remap is open. */
	kvpt_expect_table(c, mine, 0, is, 4);
	ck_assert_mem_eq(is, was, sizeof(is));
	kvpt_expect_lengths(c, mine, 14, 14, 14, 0);
	kvpt_expect_blocks(a, 0, 5, 11, 0);
	kvpt_expect(kvpt_abort(c, mine), -ENOENT, KVP_REASON_NO_REMAP);
}
END_TEST

/* ---- without a remap, and with one ----------------------------------- */

START_TEST(test_no_remap)
{
	const struct kvp_use_entry pair[] = { KVPT_READ(seq, t, 1), KVPT_REMAP(seq, t, 1) };

	refused(kvpt_moves(a, seq, 0, 0, NULL, 0), -ENOENT, KVP_REASON_NO_REMAP, 0);
	refused(kvpt_commit(a, seq), -ENOENT, KVP_REASON_NO_REMAP, 0);
	refused(kvpt_abort(a, seq), -ENOENT, KVP_REASON_NO_REMAP, 0);
	refused(kvpt_use_remap(a, seq, t, 1), -ENOENT, KVP_REASON_NO_REMAP, 0);
	refused(kvpt_use(a, pair, 2), -ENOENT, KVP_REASON_NO_REMAP, 1);
	kvpt_ok(kvpt_remap(a, seq, NULL, 0));
	kvpt_ok(kvpt_abort(a, seq));
	refused(kvpt_commit(a, seq), -ENOENT, KVP_REASON_NO_REMAP, 0);
	kvpt_ok(kvpt_remap(a, seq, NULL, 0));
	kvpt_ok(kvpt_commit(a, seq));
	refused(kvpt_abort(a, seq), -ENOENT, KVP_REASON_NO_REMAP, 0);
}
END_TEST

START_TEST(test_families_of_moves)
{
	kvpt_ok(kvpt_remap(a, seq, NULL, 0));
	refused(kvpt_moves(a, seq, 1, 0, NULL, 0), -EINVAL, KVP_REASON_FAMILY, 1);
	refused(kvpt_moves(a, seq, ~0U, 0, NULL, 0), -EINVAL, KVP_REASON_FAMILY, ~0U);
}
END_TEST

START_TEST(test_values_of_uses)
{
	struct kvp_use_entry entry = KVPT_REMAP(seq, t, 1);

	kvpt_ok(kvpt_remap(a, seq, NULL, 0));
	entry.write_from = 1;
	refused(kvpt_use(a, &entry, 1), -EINVAL, KVP_REASON_VALUE, 0);
	entry.write_from = KVP_POS_END;
	refused(kvpt_use(a, &entry, 1), -EINVAL, KVP_REASON_VALUE, 0);
	entry.write_from = 0;
	entry.computed_to = 1;
	refused(kvpt_use(a, &entry, 1), -EINVAL, KVP_REASON_VALUE, 0);
	entry = (struct kvp_use_entry)KVPT_REMAP(seq, t + 2, 1);
	refused(kvpt_use(a, &entry, 1), -ENOENT, KVP_REASON_NO_TIMELINE, 0);
	refused(kvpt_use_remap(a, seq, t, 0), -EINVAL, KVP_REASON_FENCE_PASSED, 0);
	kvpt_refuses_bad_ids(&env, a, a, entry.id, kvpt_use_remap(a, entry.id, t, 1));
}
END_TEST

#define open_refused(expr)	refused(expr, -EBUSY, KVP_REASON_REMAP_OPEN, 0)

START_TEST(test_all_else_waits)
{
	s32 fd;

	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 5), KVPT_PIECE(seq, 8, 6))));
	open_refused(kvpt_free(a, seq));
	open_refused(kvpt_truncate(a, seq, 4));
	open_refused(kvpt_append(a, seq, other, 1));
	open_refused(kvpt_append(a, seq, NULL, 0));
	open_refused(kvpt_set_tokens(a, seq, other, 1));
	open_refused(kvpt_advance(a, seq, 14));
	open_refused(kvpt_fork(a, seq, 4, NULL));
	open_refused(kvpt_table(a, seq, 0, NULL, 0));
	open_refused(kvpt_export(a, seq, &fd));
	open_refused(kvpt_publish(a, seq));
	open_refused(kvpt_copied(a, seq));
	open_refused(kvpt_positions(a, seq, NULL, 0));
	open_refused(kvpt_remap(a, seq, NULL, 0));
	open_refused(kvpt_use_read(a, seq, t, 1));
	open_refused(kvpt_use_write(a, seq, t, 1, 14, 14));
	refused(kvpt_remap(a, from, PIECES(KVPT_PIECE(from, 0, 4), KVPT_PIECE(seq, 4, 4))), -EBUSY,
		KVP_REASON_REMAP_OPEN, 1);
	/* After all that, it goes on. */
	kvpt_ok(kvpt_use_remap(a, seq, t, 1));
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_expect_lengths(a, seq, 11, 11, 11, 0);
}
END_TEST

/* Raw references are made of a table; of none that is about to go. */
START_TEST(test_raw_references_wait)
{
	u64 was[4];

	kvpt_expect_table(a, seq, 0, was, 4);
	kvpt_ok(kvpt_remap(a, seq, NULL, 0));
	refused(kvpt_ref_from(a, seq, 0, was, 1), -EBUSY, KVP_REASON_REMAP_OPEN, 0);
	kvpt_ok(kvpt_abort(a, seq));
	kvpt_ok(kvpt_ref_from(a, seq, 0, was, 1));
	kvpt_ok(kvpt_unref(a, was, 1));
}
END_TEST

/* Those that pieces are of are busy during BEGIN only. */
START_TEST(test_the_others_go_on)
{
	u64 child;

	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(from, 2, 6))));
	kvpt_ok(kvpt_advance(a, from, 10));
	kvpt_ok(kvpt_append(a, from, tok, 4));
	kvpt_ok(kvpt_fork(a, from, 8, &child));
	kvpt_ok(kvpt_publish(a, from));
	kvpt_ok(kvpt_remap(a, from, PIECES(KVPT_PIECE(from, 0, 8))));
	kvpt_ok(kvpt_commit(a, from));
	kvpt_ok(kvpt_truncate(a, from, 2));
	kvpt_ok(kvpt_free(a, from));
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_expect_lengths(a, seq, 10, 10, 10, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("remap_refused");
	TCase *tc = tcase_create("begin");

	tcase_add_checked_fixture(tc, setup_two, teardown);
	tcase_add_test(tc, test_counts);
	tcase_add_test(tc, test_flags);
	tcase_add_test(tc, test_rights);
	tcase_add_test(tc, test_ids);
	tcase_add_test(tc, test_ids_of_pieces);
	tcase_add_test(tc, test_forms);
	tcase_add_test(tc, test_beyond_the_tokens);
	tcase_add_test(tc, test_beyond_what_there_can_be);
	tcase_add_test(tc, test_twice);
	tcase_add_test(tc, test_rows_after_tokens_without_some);
	tcase_add_test(tc, test_another_namespace);
	tcase_add_test(tc, test_not_as_if_never_seen);
	tcase_add_test(tc, test_while_another_call_works_on_it);
	tcase_add_test(tc, test_copies_are_owed);
	tcase_add_test(tc, test_work_writes_rows);
	tcase_add_test(tc, test_states);
	tcase_add_test(tc, test_a_window_has_moved_on);
	suite_add_tcase(s, tc);

	tc = tcase_create("room");
	tcase_add_checked_fixture(tc, setup_two, teardown);
	tcase_add_test(tc, test_no_blocks);
	tcase_add_test(tc, test_no_blocks_of_a_second_family);
	tcase_add_test(tc, test_more_than_there_are);
	tcase_add_test(tc, test_limits);
	tcase_add_test(tc, test_a_count_that_is_used_up);
	tcase_add_test(tc, test_result_that_cannot_be_written);
	suite_add_tcase(s, tc);

	tc = tcase_create("open");
	tcase_add_checked_fixture(tc, setup_two, teardown);
	tcase_add_test(tc, test_no_remap);
	tcase_add_test(tc, test_families_of_moves);
	tcase_add_test(tc, test_values_of_uses);
	tcase_add_test(tc, test_all_else_waits);
	tcase_add_test(tc, test_raw_references_wait);
	tcase_add_test(tc, test_the_others_go_on);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

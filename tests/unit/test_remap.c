// SPDX-License-Identifier: MIT
/*
 * Remaps one by one: what BEGIN plans and says, what COMMIT makes and ABORT leaves, and what
 * others keep. What is refused is in test_remap_refused.c, taint in test_taint.c, work in
 * flight in test_remap_fence.c.
 */
#include <check.h>

#include "fenced.h"
#include "remapped.h"

/* Another pool than the usual one. */
static void remake(const struct kvp_family_desc *families, u32 nr, u32 index_tokens)
{
	const struct kvp_pool_create with = { .index_tokens = index_tokens };

	teardown();
	kvpt_env_init(&env);
	env.door = kvpt_export_door(&kvp_inproc_door);
	a = kvpt_pool_with(&env, &with, families, nr);
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
}

#define remake_dense(nr, size, index_tokens)						\
	remake((struct kvp_family_desc[]){ KVPT_DENSE(nr, size) }, 1, index_tokens)

/* A sequence of @nr computed tokens; the blocks of its slots are written to @was. */
static u64 seq_of(u32 nr, u64 *was, u32 nr_slots)
{
	u64 seq = kvpt_computed(a, 1, tok, nr);

	kvpt_expect_table(a, seq, 0, was, nr_slots);
	return seq;
}

/* ---- what is moved, and what stays ----------------------------------- */

START_TEST(test_evicted_from_within_blocks)
{
	u64 was[4], is[3], seq = seq_of(14, was, 4);

	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 5), KVPT_PIECE(seq, 8, 6))));
	expect_begun(11, 11, 7, 4);
	expect_promised(KVP_REPOSITIONED, 6, 5);
	/* Beside what there was, two fresh blocks. */
	kvpt_expect_blocks(a, 0, 10, 6, 0);
	ck_assert_uint_eq(kvpt_count(a, was[0]), 2);
	ck_assert_uint_eq(kvpt_count(a, was[1]), 1);
	commits_as(seq, MOVES(MOVE(was[1], 0, 1, 0, 1, KEEP, 4), MOVE(was[2], 0, 1, 1, 3, 0, 5),
			      MOVE(was[2], 3, 2, 0, 1, 0, 8), MOVE(was[3], 0, 2, 1, 2, 0, 9)));
	kvpt_expect_lengths(a, seq, 11, 11, 11, 0);
	kvpt_expect_table(a, seq, 0, is, 3);
	ck_assert_uint_eq(is[0], was[0]);
	ck_assert_uint_eq(kvpt_count(a, was[0]), 1);
	kvpt_expect_blocks(a, 0, 13, 3, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).slots, 3);
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).seqs, 1);
	ck_assert_uint_eq(kvpt_family_of(a, KVP_STATS_SELF, 0).charged, 3);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1 + 3);
}
END_TEST

START_TEST(test_blocks_of_one_token)
{
	u64 was[8], is[6], seq;

	remake_dense(32, 1, 0);
	seq = seq_of(8, was, 8);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 2), KVPT_PIECE(seq, 4, 4))));
	expect_begun(6, 6, 4, 4);
	expect_promised(KVP_REPOSITIONED, 4, 2);
	commits_as(seq, MOVES(MOVE(was[4], 0, 2, 0, 1, 0, 2), MOVE(was[5], 0, 3, 0, 1, 0, 3),
			      MOVE(was[6], 0, 4, 0, 1, 0, 4), MOVE(was[7], 0, 5, 0, 1, 0, 5)));
	kvpt_expect_table(a, seq, 0, is, 6);
	ck_assert_mem_eq(is, was, 2 * sizeof(*is));
	kvpt_expect_blocks(a, 0, 26, 6, 0);
}
END_TEST

/* With their positions all blocks of one token can stay. */
START_TEST(test_blocks_of_one_token_keep_positions)
{
	u64 was[8], is[6], seq;

	remake_dense(32, 1, 0);
	seq = seq_of(8, was, 8);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 2), KVPT_PIECE_KEEP(seq, 4, 4))));
	expect_begun(6, 6, 0, 0);
	expect_promised(KVP_REPOSITIONED, 4, 2);
	kvpt_expect_blocks(a, 0, 24, 8, 0);
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_expect_table(a, seq, 0, is, 6);
	ck_assert_mem_eq(is, was, 2 * sizeof(*is));
	ck_assert_mem_eq(is + 2, was + 4, 4 * sizeof(*is));
	kvpt_expect_blocks(a, 0, 26, 6, 0);
}
END_TEST

START_TEST(test_blocks_of_sixteen_tokens)
{
	u64 was[3], seq;

	remake_dense(8, 16, 0);
	seq = seq_of(40, was, 3);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 10), KVPT_PIECE(seq, 20, 20))));
	expect_begun(30, 30, 30, 4);
	expect_promised(KVP_REPOSITIONED, 20, 10);
	commits_as(seq, MOVES(MOVE(was[0], 0, 0, 0, 10, KEEP, 0), MOVE(was[1], 4, 0, 10, 6, 0, 10),
			      MOVE(was[1], 10, 1, 0, 6, 0, 16), MOVE(was[2], 0, 1, 6, 8, 0, 22)));
	kvpt_expect_lengths(a, seq, 30, 30, 30, 0);
	kvpt_expect_blocks(a, 0, 6, 2, 0);
}
END_TEST

/* Whole nodes of the index stay, and nothing less. */
START_TEST(test_nodes_of_several_blocks)
{
	u64 was[9], is[8], seq;

	remake_dense(32, 4, 16);
	seq = seq_of(36, was, 9);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 20), KVPT_PIECE(seq, 24, 12))));
	expect_begun(32, 32, 16, 4);
	expect_promised(KVP_REPOSITIONED, 12, 20);
	commits_as(seq, MOVES(MOVE(was[4], 0, 4, 0, 4, KEEP, 16), MOVE(was[6], 0, 5, 0, 4, 0, 20),
			      MOVE(was[7], 0, 6, 0, 4, 0, 24), MOVE(was[8], 0, 7, 0, 4, 0, 28)));
	kvpt_expect_table(a, seq, 0, is, 8);
	ck_assert_mem_eq(is, was, 4 * sizeof(*is));
	kvpt_expect_blocks(a, 0, 24, 8, 0);
}
END_TEST

START_TEST(test_a_node_of_several_blocks_keeps_its_positions)
{
	u64 was[12], is[8], seq;

	remake_dense(32, 4, 16);
	seq = seq_of(48, was, 12);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 16), KVPT_PIECE_KEEP(seq, 32, 16))));
	expect_begun(32, 32, 0, 0);
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_expect_table(a, seq, 0, is, 8);
	ck_assert_mem_eq(is, was, 4 * sizeof(*is));
	ck_assert_mem_eq(is + 4, was + 8, 4 * sizeof(*is));
}
END_TEST

START_TEST(test_a_gap)
{
	u64 was[4], seq = seq_of(14, was, 4);

	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE_KEEP(seq, 6, 8))));
	expect_begun(12, 12, 8, 4);
	expect_promised(KVP_REPOSITIONED, 8, 4);
	commits_as(seq, MOVES(MOVE(was[1], 2, 1, 0, 2, KEEP, 6), MOVE(was[2], 0, 1, 2, 2, KEEP, 8),
			      MOVE(was[2], 2, 2, 0, 2, KEEP, 10),
			      MOVE(was[3], 0, 2, 2, 2, KEEP, 12)));
}
END_TEST

START_TEST(test_shifted)
{
	u64 was[2], seq = seq_of(8, was, 2);

	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE_AT(seq, 0, 8, 100))));
	expect_begun(8, 8, 8, 2);
	expect_promised(KVP_REPOSITIONED, 0, 0);
	commits_as(seq, MOVES(MOVE(was[0], 0, 0, 0, 4, 0, 100), MOVE(was[1], 0, 1, 0, 4, 0, 104)));
	kvpt_expect_blocks(a, 0, 14, 2, 0);
}
END_TEST

START_TEST(test_put_in_another_order)
{
	u64 was[2], seq = seq_of(8, was, 2);

	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 4, 4), KVPT_PIECE(seq, 0, 4))));
	expect_begun(8, 8, 8, 2);
	/* What stands after them now, and did before, counts as gone. */
	expect_promised(KVP_REPOSITIONED, 4, 0);
	commits_as(seq, MOVES(MOVE(was[1], 0, 0, 0, 4, 0, 0), MOVE(was[0], 0, 1, 0, 4, 0, 4)));
}
END_TEST

START_TEST(test_an_end_is_cut_off)
{
	u64 was[4], seq = seq_of(14, was, 4);

	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 9))));
	expect_begun(9, 9, 1, 1);
	expect_promised(KVP_NEVER_SAW, 0, KVP_POS_END);
	commits_as(seq, MOVES(MOVE(was[2], 0, 2, 0, 1, KEEP, 8)));
	kvpt_expect_lengths(a, seq, 9, 9, 9, 0);
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 9), 8);
}
END_TEST

START_TEST(test_as_it_was)
{
	u64 was[4], is[4], seq = seq_of(14, was, 4);

	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 14))));
	/* A node that is not full is made anew: what comes after must not reach the old one. */
	expect_begun(14, 14, 2, 1);
	expect_promised(KVP_NEVER_SAW, 0, KVP_POS_END);
	commits_as(seq, MOVES(MOVE(was[3], 0, 3, 0, 2, KEEP, 12)));
	kvpt_expect_table(a, seq, 0, is, 4);
	ck_assert_mem_eq(is, was, 3 * sizeof(*is));
	kvpt_ok(kvpt_truncate(a, seq, 12));
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 7), KVPT_PIECE(seq, 7, 5))));
	expect_begun(12, 12, 4, 2);
	kvpt_ok(kvpt_abort(a, seq));
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(seq, 4, 8))));
	expect_begun(12, 12, 0, 0);
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_expect_table(a, seq, 0, is, 3);
	ck_assert_mem_eq(is, was, 3 * sizeof(*is));
	kvpt_expect_blocks(a, 0, 13, 3, 0);
}
END_TEST

START_TEST(test_becomes_empty)
{
	u64 was[4], seq = seq_of(14, was, 4), dst[1];

	kvpt_ok(kvpt_remap(a, seq, NULL, 0));
	expect_begun(0, 0, 0, 0);
	expect_promised(KVP_NEVER_SAW, 0, KVP_POS_END);
	expect_moves(seq, 0, NULL, 0, dst);
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_expect_lengths(a, seq, 0, 0, 0, 0);
	kvpt_expect_blocks(a, 0, 16, 0, 0);
	kvpt_ok(kvpt_append(a, seq, tok, 5));
	kvpt_expect_lengths(a, seq, 5, 0, 5, 0);
}
END_TEST

START_TEST(test_slots_beyond_the_tokens)
{
	const struct kvp_remap_begin with = { .reserve = 5 };
	u64 was[4], is[4], seq = seq_of(14, was, 4);

	kvpt_ok(kvpt_remap_with(a, &with, seq, PIECES(KVPT_PIECE(seq, 0, 8))));
	expect_begun(8, 8, 0, 0);
	ck_assert_uint_eq(kvpt.remap_begin.reserve, 5);
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_expect_lengths(a, seq, 8, 8, 13, 0);
	kvpt_expect_table(a, seq, 0, is, 4);
	ck_assert_mem_eq(is, was, 2 * sizeof(*is));
	ck_assert_uint_ne(is[2], was[2]);
	kvpt_ok(kvpt_set_tokens(a, seq, other, 5));
	kvpt_expect_lengths(a, seq, 13, 8, 13, 0);
}
END_TEST

/* ---- rows that are not computed -------------------------------------- */

START_TEST(test_computed_anew)
{
	u64 was[4], seq = seq_of(14, was, 4);
	u32 ids[12];

	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 6),
		{ .seq = seq, .from = 8, .length = 6, .flags = KVP_PIECE_RECOMPUTE })));
	expect_begun(12, 6, 2, 1);
	expect_promised(KVP_NEVER_SAW, 0, KVP_POS_END);
	commits_as(seq, MOVES(MOVE(was[1], 0, 1, 0, 2, KEEP, 4)));
	kvpt_expect_lengths(a, seq, 12, 6, 12, 0);
	kvpt_ok(kvpt_advance(a, seq, 12));
	kvpt_ok(kvpt_publish(a, seq));
	memcpy(ids, tok, 6 * sizeof(*ids));
	memcpy(ids + 6, tok + 8, 6 * sizeof(*ids));
	ck_assert_uint_eq(kvpt_matched(a, 1, ids, 12), 12);
}
END_TEST

/* Rows that are there before tokens without some; the ids of the latter go along. */
START_TEST(test_tokens_without_rows)
{
	u64 was[4], seq;

	kvpt_ok(kvpt_create(a, 1, tok, 14, &seq));
	kvpt_ok(kvpt_advance(a, seq, 10));
	kvpt_expect_table(a, seq, 0, was, 4);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(seq, 8, 6))));
	expect_begun(10, 6, 2, 1);
	expect_promised(KVP_REPOSITIONED, 2, 4);
	commits_as(seq, MOVES(MOVE(was[2], 0, 1, 0, 2, 0, 4)));
	kvpt_expect_lengths(a, seq, 10, 6, 10, 0);
}
END_TEST

/* ---- of other sequences ---------------------------------------------- */

START_TEST(test_rows_of_another_one_between)
{
	u64 was[4], theirs[3], is[3], seq = seq_of(14, was, 4);
	u64 from = kvpt_computed(a, 1, other, 10);

	kvpt_expect_table(a, from, 0, theirs, 3);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(from, 2, 4),
					  KVPT_PIECE(seq, 4, 10))));
	expect_begun(18, 18, 14, 5);
	expect_promised(KVP_REPOSITIONED, 4, 4);
	ck_assert_uint_eq(kvpt_count(a, theirs[0]), 2);
	ck_assert_uint_eq(kvpt_count(a, theirs[1]), 2);
	ck_assert_uint_eq(kvpt_count(a, theirs[2]), 1);
	commits_as(seq, MOVES(MOVE(theirs[0], 2, 1, 0, 2, 0, 4), MOVE(theirs[1], 0, 1, 2, 2, 0, 6),
			      MOVE(was[1], 0, 2, 0, 4, 0, 8), MOVE(was[2], 0, 3, 0, 4, 0, 12),
			      MOVE(was[3], 0, 4, 0, 2, 0, 16)));
	kvpt_expect_lengths(a, seq, 18, 18, 18, 0);
	kvpt_expect_table(a, from, 0, is, 3);
	ck_assert_mem_eq(is, theirs, sizeof(is));
	ck_assert_uint_eq(kvpt_count(a, theirs[0]), 1);
	ck_assert_uint_eq(kvpt_count(a, theirs[1]), 1);
	kvpt_expect_blocks(a, 0, 8, 8, 0);
}
END_TEST

START_TEST(test_a_block_of_another_one_stays)
{
	u64 was[2], theirs[2], is[2], seq = seq_of(8, was, 2);
	u64 from = kvpt_computed(a, 1, other, 8);

	kvpt_expect_table(a, from, 0, theirs, 2);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(from, 4, 4))));
	expect_begun(8, 8, 0, 0);
	expect_promised(KVP_REPOSITIONED, 4, 4);
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_expect_table(a, seq, 0, is, 2);
	ck_assert_uint_eq(is[0], was[0]);
	ck_assert_uint_eq(is[1], theirs[1]);
	ck_assert_uint_eq(kvpt_count(a, theirs[1]), 2);
	ck_assert_uint_eq(kvpt_family_of(a, KVP_STATS_SELF, 0).charged, 3);
	/* Neither of them writes rows of it again. */
	kvpt_refused(&env, a, kvpt_use_write(a, seq, t, 1, 7, 8), -EBUSY, KVP_REASON_SHARED, 0);
	kvpt_refused(&env, a, kvpt_use_write(a, from, t, 1, 7, 8), -EBUSY, KVP_REASON_SHARED, 0);
	kvpt_ok(kvpt_free(a, from));
	ck_assert_uint_eq(kvpt_count(a, theirs[1]), 1);
	kvpt_expect_table(a, seq, 0, is, 2);
	ck_assert_uint_eq(is[1], theirs[1]);
	kvpt_expect_blocks(a, 0, 14, 2, 0);
}
END_TEST

/* It goes on in the middle of a block that is published, or another one's: on a copy. */
START_TEST(test_rows_of_others_are_not_overwritten)
{
	u64 theirs[2], from, seq;
	u32 i;

	for (i = 0; i < 2; i++) {
		seq = kvpt_computed(a, 1, tok, 8);
		from = kvpt_computed(a, 1, other, 8);
		if (i)
			kvpt_ok(kvpt_publish(a, from));
		kvpt_expect_table(a, from, 0, theirs, 2);
		kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(from, 4, 4))));
		kvpt_ok(kvpt_commit(a, seq));
		if (i)
			kvpt_ok(kvpt_free(a, from));
		kvpt_ok(kvpt_truncate(a, seq, 6));
		kvpt_ok(kvpt_append(a, seq, tok, 1));
		ck_assert_uint_eq(kvpt.seq_append.nr_copies, 1);
		ck_assert_uint_eq(kvpt_copies[0].src, theirs[1]);
		ck_assert_uint_eq(kvpt_copies[0].tokens, 2);
		kvpt_ok(kvpt_copied(a, seq));
		kvpt_ok(kvpt_free(a, seq));
	}
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 8), 8);
}
END_TEST

/* A node is made anew, those after it are not, and have a name already. */
START_TEST(test_blocks_that_are_published_in_another_node)
{
	u64 was[3], is[3], seq = seq_of(12, was, 3);

	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE_AT(seq, 0, 4, 100), KVPT_PIECE(seq, 4, 8))));
	expect_begun(12, 12, 4, 1);
	expect_promised(KVP_REPOSITIONED, 0, 0);
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 12))));
	expect_begun(12, 12, 4, 1);
	expect_promised(KVP_NEVER_SAW, 0, KVP_POS_END);
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_expect_lengths(a, seq, 12, 12, 12, 0);
	kvpt_ok(kvpt_publish_with(a, seq, KVP_PUBLISH_KEEP, 0, 0));
	kvpt_expect_lengths(a, seq, 12, 12, 12, 4);
	kvpt_expect_table(a, seq, 0, is, 3);
	ck_assert_uint_ne(is[0], was[0]);
	ck_assert_mem_eq(is + 1, was + 1, 2 * sizeof(*is));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_expect_blocks(a, 0, 13, 0, 3);
	kvpt_ok(kvpt_reclaim(a, 16));
	kvpt_expect_blocks(a, 0, 16, 0, 0);
}
END_TEST

/* ---- families -------------------------------------------------------- */

START_TEST(test_families_with_blocks_of_two_sizes)
{
	u64 was[5], large[3], dst[2][MAX_TOLD], seq;
	struct kvp_move small_moves[5], large_moves[3];

	remake((struct kvp_family_desc[]){ KVPT_DENSE(32, 4), KVPT_DENSE(32, 8) }, 2, 0);
	seq = seq_of(20, was, 5);
	kvpt_expect_table(a, seq, 1, large, 3);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 8), KVPT_PIECE(seq, 10, 10))));
	expect_begun(18, 18, 10, 8);
	memcpy(small_moves, (struct kvp_move[]){
		MOVE(was[2], 2, 2, 0, 2, 0, 8), MOVE(was[3], 0, 2, 2, 2, 0, 10),
		MOVE(was[3], 2, 3, 0, 2, 0, 12), MOVE(was[4], 0, 3, 2, 2, 0, 14),
		MOVE(was[4], 2, 4, 0, 2, 0, 16) }, sizeof(small_moves));
	memcpy(large_moves, (struct kvp_move[]){
		MOVE(large[1], 2, 1, 0, 6, 0, 8), MOVE(large[2], 0, 1, 6, 2, 0, 14),
		MOVE(large[2], 2, 2, 0, 2, 0, 16) }, sizeof(large_moves));
	expect_moves(seq, 0, small_moves, 5, dst[0]);
	expect_moves(seq, 1, large_moves, 3, dst[1]);
	kvpt_ok(kvpt_commit(a, seq));
	expect_arrived(seq, 0, small_moves, 5, dst[0]);
	expect_arrived(seq, 1, large_moves, 3, dst[1]);
	kvpt_expect_lengths(a, seq, 18, 18, 18, 0);
	kvpt_expect_blocks(a, 0, 27, 5, 0);
	kvpt_expect_blocks(a, 1, 29, 3, 0);
}
END_TEST

/* Of a window only the rows that will be in it are moved. */
START_TEST(test_windows)
{
	u64 was[5], window[5], dst[2][MAX_TOLD], seq;

	remake((struct kvp_family_desc[]){ KVPT_DENSE(32, 4), KVPT_WINDOW(32, 4, 6) }, 2, 0);
	seq = seq_of(20, was, 5);
	kvpt_expect_table(a, seq, 1, window, 5);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(seq, 8, 12))));
	expect_begun(16, 16, 12, 3 + 2);
	expect_moves(seq, 0, MOVES(MOVE(was[2], 0, 1, 0, 4, 0, 4), MOVE(was[3], 0, 2, 0, 4, 0, 8),
				   MOVE(was[4], 0, 3, 0, 4, 0, 12)), dst[0]);
	expect_moves(seq, 1, MOVES(MOVE(window[3], 3, 2, 3, 1, 0, 11),
				   MOVE(window[4], 0, 3, 0, 4, 0, 12)), dst[1]);
	kvpt_ok(kvpt_commit(a, seq));
	ck_assert_uint_eq(kvpt_nulls(a, seq, 0), 0);
	ck_assert_uint_eq(kvpt_nulls(a, seq, 1), 3);
	kvpt_expect_lengths(a, seq, 16, 16, 16, 0);
	kvpt_expect_blocks(a, 0, 28, 4, 0);
	kvpt_expect_blocks(a, 1, 30, 2, 0);
}
END_TEST

/* ---- the end, and what others keep ----------------------------------- */

/*
 * Nothing has changed since @was was taken but generations of blocks that were given back; drops
 * it.
 */
static void expect_world(struct kvpt_world *was)
{
	struct kvpt_world is;
	const char *diff;

	kvpt_world_take(&env, a, &is);
	was->stats.nr_blocks = 0;
	is.stats.nr_blocks = 0;
	diff = kvpt_world_diff(was, &is);
	ck_assert_msg(!diff, "changed: %s", diff);
	kvpt_world_drop(was);
	kvpt_world_drop(&is);
}

#define evict(seq)	PIECES(KVPT_PIECE(seq, 0, 5), KVPT_PIECE(seq, 8, 6))

START_TEST(test_abort_leaves_all_as_it_was)
{
	struct kvpt_world was;
	u64 table[4], seq = seq_of(14, table, 4), from = kvpt_computed(a, 1, other, 10);

	kvpt_world_take(&env, a, &was);
	kvpt_ok(kvpt_remap(a, seq, evict(seq)));
	kvpt_ok(kvpt_abort(a, seq));
	expect_world(&was);
	/* Also when the rows of others were to come. */
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(from, 2, 8))));
	kvpt_ok(kvpt_abort(a, seq));
	kvpt_world_take(&env, a, &was);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(from, 4, 4))));
	kvpt_ok(kvpt_abort(a, seq));
	expect_world(&was);
}
END_TEST

START_TEST(test_abort_after_the_other_one_is_gone)
{
	u64 was[2], theirs[2], seq = seq_of(8, was, 2), from = kvpt_computed(a, 1, other, 8);

	kvpt_expect_table(a, from, 0, theirs, 2);
	kvpt_ok(kvpt_publish(a, from));
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(from, 4, 4))));
	kvpt_ok(kvpt_free(a, from));
	/* Held by the remap alone: what will stand there, and what is read. */
	ck_assert_uint_eq(kvpt_count(a, theirs[1]), 2);
	kvpt_ok(kvpt_abort(a, seq));
	kvpt_expect_blocks(a, 0, 12, 2, 2);
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 8), 8);
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_reclaim(a, 16));
	kvpt_expect_blocks(a, 0, 14, 2, 0);
}
END_TEST

START_TEST(test_private_rows_of_one_that_is_gone)
{
	u64 was[2], theirs[2], is[2], seq = seq_of(8, was, 2);
	u64 from = kvpt_computed(a, 1, other, 8);

	kvpt_expect_table(a, from, 0, theirs, 2);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(from, 4, 4))));
	kvpt_ok(kvpt_free(a, from));
	kvpt_expect_blocks(a, 0, 13, 3, 0);
	kvpt_ok(kvpt_abort(a, seq));
	kvpt_expect_blocks(a, 0, 14, 2, 0);
	from = kvpt_computed(a, 1, other, 8);
	kvpt_expect_table(a, from, 0, theirs, 2);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(from, 4, 4))));
	kvpt_ok(kvpt_free(a, from));
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_expect_table(a, seq, 0, is, 2);
	ck_assert_uint_eq(is[1], theirs[1]);
	ck_assert_uint_eq(kvpt_count(a, theirs[1]), 1);
	kvpt_expect_blocks(a, 0, 14, 2, 0);
}
END_TEST

/* An empty sequence becomes what is left of another one, in one call. */
START_TEST(test_in_a_batch)
{
	u64 was[4], is[3], seq = seq_of(14, was, 4);
	const struct kvp_piece pieces[] = { KVPT_PIECE(seq, 0, 4), KVPT_PIECE(seq, 8, 6) };
	struct kvp_seq_fork fork = { .head.size = sizeof(fork), .seq = seq };
	struct kvp_remap_begin begin = {
		.head.size = sizeof(begin), .seq = KVP_REF(0), .pieces = kvpt_addr(pieces),
		.nr_pieces = 2,
	};
	struct kvp_remap_end end = { .head.size = sizeof(end), .seq = KVP_REF(0) };
	struct kvp_batch_entry entries[] = {
		{ KVP_OP_SEQ_FORK, sizeof(fork), kvpt_addr(&fork), 0, 0 },
		{ KVP_OP_REMAP_BEGIN, sizeof(begin), kvpt_addr(&begin), 0, 0 },
		{ KVP_OP_REMAP_COMMIT, sizeof(end), kvpt_addr(&end), 0, 0 },
	};

	kvpt_ok(kvpt_batch(a, KVP_BATCH_STOP_ON_ERROR, entries, 3));
	ck_assert_int_eq(entries[0].result | entries[1].result | entries[2].result, 0);
	ck_assert_uint_eq(begin.tokens, 10);
	ck_assert_uint_eq(begin.moved, 6);
	kvpt_expect_lengths(a, fork.child, 10, 10, 10, 0);
	kvpt_expect_table(a, fork.child, 0, is, 3);
	ck_assert_uint_eq(is[0], was[0]);
	/* Not even the first four were computed by this one. */
	expect_taint(a, fork.child, 0, 6);
	kvpt_expect_lengths(a, seq, 14, 14, 14, 0);
	kvpt_expect_blocks(a, 0, 10, 6, 0);
}
END_TEST

START_TEST(test_forks_keep_what_they_have)
{
	u64 was[4], is[4], child, seq = seq_of(14, was, 4);

	kvpt_ok(kvpt_fork(a, seq, KVP_POS_END, &child));
	kvpt_expect_table(a, child, 0, was, 4);
	kvpt_ok(kvpt_copied(a, child));
	kvpt_ok(kvpt_remap(a, seq, evict(seq)));
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_expect_table(a, child, 0, is, 4);
	ck_assert_mem_eq(is, was, sizeof(is));
	kvpt_expect_lengths(a, child, 14, 14, 14, 0);
	ck_assert_uint_eq(kvpt_count(a, was[0]), 2);
	ck_assert_uint_eq(kvpt_count(a, was[1]), 1);
	ck_assert_uint_eq(kvpt_count(a, was[3]), 1);
	expect_taint(a, child, KVP_POS_END, 0);
	kvpt_expect_blocks(a, 0, 10, 6, 0);
}
END_TEST

START_TEST(test_what_is_published_stays)
{
	u64 was[4], is[3], seq = seq_of(14, was, 4), match;

	kvpt_ok(kvpt_publish(a, seq));
	kvpt_expect_lengths(a, seq, 14, 14, 14, 12);
	kvpt_ok(kvpt_remap(a, seq, evict(seq)));
	expect_begun(11, 11, 7, 4);
	kvpt_ok(kvpt_commit(a, seq));
	/* Of the sequence, one node is the published one. */
	kvpt_expect_lengths(a, seq, 11, 11, 11, 4);
	kvpt_expect_table(a, seq, 0, is, 3);
	ck_assert_uint_eq(is[0], was[0]);
	kvpt_expect_blocks(a, 0, 11, 3, 2);
	kvpt_ok(kvpt_match_blocks(a, 1, tok, 14, 0, is, 3, &match));
	ck_assert_mem_eq(is, was, 3 * sizeof(*is));
	kvpt_ok(kvpt_release(a, match));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 14), 12);
}
END_TEST

START_TEST(test_imports_keep_what_they_have)
{
	u64 was[4], is[4], theirs, seq = seq_of(14, was, 4);
	s32 fd;

	kvpt_ok(kvpt_export(a, seq, &fd));
	kvpt_ok(kvpt_import(b, fd, &theirs));
	kvpt_expect_table(b, theirs, 0, was, 4);
	kvpt_ok(kvpt_remap(a, seq, evict(seq)));
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_expect_table(b, theirs, 0, is, 4);
	ck_assert_mem_eq(is, was, sizeof(is));
	kvpt_expect_lengths(b, theirs, 14, 14, 14, 0);
	kvpt_ok(kvpt_free(b, theirs));
	/* What the export has. */
	ck_assert_uint_eq(kvpt_count(a, was[0]), 1);
	kvpt_export_close(fd);
	kvpt_expect_blocks(a, 0, 16, 0, 0);
}
END_TEST

/* ---- positions ------------------------------------------------------- */

static void expect_run(const struct kvp_positions *run, u64 first, u64 position, u64 computed_at,
		       u32 flags)
{
	ck_assert_uint_eq(run->first, first);
	ck_assert_uint_eq(run->position, position);
	ck_assert_uint_eq(run->computed_at, computed_at);
	ck_assert_uint_eq(run->flags, flags);
	ck_assert_uint_eq(run->reserved, 0);
}

START_TEST(test_positions_of_plain_sequences)
{
	struct kvp_positions runs[4];
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 0, &seq));
	kvpt_ok(kvpt_positions(a, seq, runs, 4));
	ck_assert_uint_eq(kvpt.positions.total, 0);
	ck_assert_uint_eq(kvpt.positions.nr_runs, 0);
	ck_assert_uint_eq(kvpt.positions.next, 0);
	ck_assert_uint_eq(kvpt.positions.tainted_from, KVP_POS_END);
	kvpt_ok(kvpt_append(a, seq, tok, 9));
	kvpt_ok(kvpt_positions(a, seq, runs, 4));
	ck_assert_uint_eq(kvpt.positions.total, 1);
	ck_assert_uint_eq(kvpt.positions.nr_runs, 1);
	ck_assert_uint_eq(kvpt.positions.next, 9);
	expect_run(&runs[0], 0, 0, 0, 0);
	expect_taint(a, seq, KVP_POS_END, 0);
}
END_TEST

START_TEST(test_positions_after_remaps)
{
	struct kvp_positions runs[8];
	u64 was[4], seq = seq_of(14, was, 4);

	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 5), KVPT_PIECE_AT(seq, 7, 4, 50),
					  KVPT_PIECE_KEEP(seq, 12, 2))));
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_ok(kvpt_append(a, seq, other, 3));
	kvpt_ok(kvpt_positions(a, seq, runs, 8));
	ck_assert_uint_eq(kvpt.positions.total, 4);
	ck_assert_uint_eq(kvpt.positions.nr_runs, 4);
	ck_assert_uint_eq(kvpt.positions.next, 17);
	ck_assert_uint_eq(kvpt.positions.tainted_from, 5);
	ck_assert_uint_eq(kvpt.positions.attended, 6);
	expect_run(&runs[0], 0, 0, 0, 0);
	expect_run(&runs[1], 5, 50, 7, KVP_POSITIONS_ATTENDED | KVP_POSITIONS_MISSED);
	expect_run(&runs[2], 9, 12, 12, KVP_POSITIONS_ATTENDED | KVP_POSITIONS_MISSED);
	expect_run(&runs[3], 11, 14, 14, 0);
	/* As many as there is room for. */
	memset(runs, 0xee, sizeof(runs));
	kvpt_ok(kvpt_positions(a, seq, runs, 2));
	ck_assert_uint_eq(kvpt.positions.total, 4);
	ck_assert_uint_eq(kvpt.positions.nr_runs, 2);
	expect_run(&runs[1], 5, 50, 7, KVP_POSITIONS_ATTENDED | KVP_POSITIONS_MISSED);
	ck_assert_uint_eq(runs[2].first, 0xeeeeeeeeeeeeeeeeULL);
	/* A cut inside a run, and back to what is plain. */
	kvpt_ok(kvpt_truncate(a, seq, 7));
	kvpt_ok(kvpt_positions(a, seq, runs, 8));
	ck_assert_uint_eq(kvpt.positions.total, 2);
	ck_assert_uint_eq(kvpt.positions.next, 52);
	ck_assert_uint_eq(kvpt.positions.attended, 2);
	kvpt_ok(kvpt_truncate(a, seq, 5));
	kvpt_ok(kvpt_positions(a, seq, runs, 8));
	ck_assert_uint_eq(kvpt.positions.total, 1);
	ck_assert_uint_eq(kvpt.positions.next, 5);
	ck_assert_uint_eq(kvpt.positions.tainted_from, KVP_POS_END);
}
END_TEST

/* Twice: where a row was computed is not forgotten, nor is what it attended to. */
START_TEST(test_positions_after_two_remaps)
{
	struct kvp_positions runs[4];
	u64 was[4], seq = seq_of(14, was, 4);

	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(seq, 6, 8))));
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE_AT(seq, 4, 8, 6))));
	/* Back at the positions at which they were computed, but not as if nothing was gone. */
	expect_promised(KVP_REPOSITIONED, 8, 4);
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_ok(kvpt_positions(a, seq, runs, 4));
	ck_assert_uint_eq(kvpt.positions.total, 2);
	expect_run(&runs[1], 4, 6, 6, KVP_POSITIONS_ATTENDED | KVP_POSITIONS_MISSED);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("remap");
	TCase *tc = tcase_create("plans");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_evicted_from_within_blocks);
	tcase_add_test(tc, test_blocks_of_one_token);
	tcase_add_test(tc, test_blocks_of_one_token_keep_positions);
	tcase_add_test(tc, test_blocks_of_sixteen_tokens);
	tcase_add_test(tc, test_nodes_of_several_blocks);
	tcase_add_test(tc, test_a_node_of_several_blocks_keeps_its_positions);
	tcase_add_test(tc, test_a_gap);
	tcase_add_test(tc, test_shifted);
	tcase_add_test(tc, test_put_in_another_order);
	tcase_add_test(tc, test_an_end_is_cut_off);
	tcase_add_test(tc, test_as_it_was);
	tcase_add_test(tc, test_becomes_empty);
	tcase_add_test(tc, test_slots_beyond_the_tokens);
	tcase_add_test(tc, test_computed_anew);
	tcase_add_test(tc, test_tokens_without_rows);
	tcase_add_test(tc, test_rows_of_another_one_between);
	tcase_add_test(tc, test_a_block_of_another_one_stays);
	tcase_add_test(tc, test_rows_of_others_are_not_overwritten);
	tcase_add_test(tc, test_blocks_that_are_published_in_another_node);
	tcase_add_test(tc, test_families_with_blocks_of_two_sizes);
	tcase_add_test(tc, test_windows);
	suite_add_tcase(s, tc);

	tc = tcase_create("ends");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_abort_leaves_all_as_it_was);
	tcase_add_test(tc, test_abort_after_the_other_one_is_gone);
	tcase_add_test(tc, test_private_rows_of_one_that_is_gone);
	tcase_add_test(tc, test_in_a_batch);
	tcase_add_test(tc, test_forks_keep_what_they_have);
	tcase_add_test(tc, test_what_is_published_stays);
	tcase_add_test(tc, test_imports_keep_what_they_have);
	suite_add_tcase(s, tc);

	tc = tcase_create("positions");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_positions_of_plain_sequences);
	tcase_add_test(tc, test_positions_after_remaps);
	tcase_add_test(tc, test_positions_after_two_remaps);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

// SPDX-License-Identifier: MIT
/*
 * Nothing changes hands while work may touch it: freed sequences, sources of copies, blocks that a
 * publish replaced, raw blocks. Everything is driven by stores to the page.
 */
#include <check.h>

#include "fenced.h"

/* ---- zombies ---- */

START_TEST(test_free_with_open_uses)
{
	struct kvp_block_entry entry;
	u64 seq = made(10), table[3], blocks[16];

	kvpt_ok(kvpt_advance(a, seq, 10));
	kvpt_expect_table(a, seq, 0, table, 3);
	kvpt_ok(kvpt_use_read(a, seq, t, 1));
	kvpt_ok(kvpt_use_read(a, seq, u, 1));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_refused(&env, a, kvpt_free(a, seq), -ESTALE, KVP_REASON_GENERATION, 0);
	kvpt_refused(&env, a, kvpt_use_read(a, seq, t, 2), -ESTALE, KVP_REASON_GENERATION, 0);
	expect_states(0, 13, 0, 0, 3);
	expect_waiting(a, 1, 2, 3);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).seqs, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).zombies, 1);
	ck_assert_uint_eq(kvpt_family_of(a, KVP_STATS_SELF, 0).charged, 3);
	entry = kvpt_entry(a, table[1]);
	ck_assert_uint_eq(entry.state, KVP_BLOCK_HELD_BACK);
	ck_assert_uint_eq(entry.why, KVP_WHY_HELD_BACK);
	ck_assert_uint_eq(entry.count, 1);
	ck_assert_uint_eq(entry.held_back, 1);
	ck_assert_uint_eq(entry.client, kvpt_client_id(a));

	kvpt_ok(kvpt_alloc(b, 0, 13, blocks));
	kvpt_refused(&env, a, kvpt_alloc(b, 0, 3, blocks), -ENOSPC, KVP_REASON_HELD_BACK, 0);
	kvpt_refused(&env, a, kvpt_alloc(b, 0, 4, blocks), -ENOSPC, KVP_REASON_POOL_FULL, 0);
	kvpt_refused(&env, a, kvpt_create(b, 1, tok, 4, &seq), -ENOSPC, KVP_REASON_HELD_BACK, 0);
	kvpt_pass(a, t, 1);
	kvpt_refused(&env, a, kvpt_alloc(b, 0, 3, blocks), -ENOSPC, KVP_REASON_HELD_BACK, 0);
	/* They come back where they are wanted, and nobody else had to call. */
	kvpt_pass(a, u, 1);
	kvpt_ok(kvpt_alloc(b, 0, 3, &blocks[13]));
	expect_states(0, 0, 16, 0, 0);
	expect_waiting(a, 0, 0, 0);
	ck_assert_uint_eq(kvpt_family_of(a, KVP_STATS_SELF, 0).charged, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).slots, 0);
	kvpt_expect(kvpt_ref(b, table, 1), -ESTALE, KVP_REASON_GENERATION);
}
END_TEST

START_TEST(test_a_fence_that_passed_before_the_free)
{
	u64 seq = made(8);

	kvpt_ok(kvpt_use_read(a, seq, t, 1));
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_free(a, seq));
	ck_assert_uint_eq(kvpt_pool_of(a)->page->state[0][KVP_BLOCK_FREE], 16);
	expect_waiting(a, 0, 0, 0);
	expect_states(0, 16, 0, 0, 0);
}
END_TEST

START_TEST(test_published_blocks_that_are_held_back)
{
	u64 seq = made(8), table[2], match, mine;

	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_expect_table(a, seq, 0, table, 2);
	kvpt_ok(kvpt_use_read(a, seq, t, 1));
	kvpt_ok(kvpt_free(a, seq));
	expect_states(0, 14, 0, 0, 2);
	/* They can still be found, and held. */
	ck_assert_uint_eq(kvpt_matched(b, 1, tok, 8), 8);
	kvpt_ok(kvpt_create(b, 1, tok, 8, &mine));
	ck_assert_uint_eq(kvpt.seq_create.matched, 8);
	expect_states(0, 14, 2, 0, 0);
	ck_assert_uint_eq(kvpt_entry(a, table[0]).count, 2);
	ck_assert_uint_eq(kvpt_entry(a, table[0]).held_back, 1);
	ck_assert_uint_eq(kvpt_entry(a, table[0]).why, KVP_WHY_SHARED);
	expect_waiting(a, 1, 1, 0);
	kvpt_ok(kvpt_free(b, mine));
	expect_states(0, 14, 0, 0, 2);
	/* A match names no block: they stay what they are, and idle afterwards. */
	kvpt_ok(kvpt_match(b, 1, tok, 8, &match));
	ck_assert_uint_eq(kvpt.match.matched, 8);
	expect_states(0, 14, 0, 0, 2);
	kvpt_ok(kvpt_reclaim(a, 16));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 0);
	kvpt_pass(a, t, 1);
	expect_states(0, 14, 0, 2, 0);
	expect_waiting(a, 0, 0, 0);
	kvpt_ok(kvpt_release(b, match));
	kvpt_ok(kvpt_reclaim(a, 16));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 2);
	expect_states(0, 16, 0, 0, 0);
}
END_TEST

START_TEST(test_matched_until_the_fence_passed)
{
	u64 seq = made(8), mine;

	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_use_read(a, seq, t, 1));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_create(b, 1, tok, 8, &mine));
	kvpt_pass(a, t, 1);
	expect_states(0, 14, 2, 0, 0);
	expect_waiting(a, 0, 0, 0);
	kvpt_ok(kvpt_free(b, mine));
	expect_states(0, 14, 0, 2, 0);
}
END_TEST

START_TEST(test_draining_without_further_launches)
{
	u64 seqs[4], blocks[16];
	u32 i;

	/* All is freed while one step of it is in flight, and nothing is launched after it. */
	for (i = 0; i < 4; i++) {
		kvpt_ok(kvpt_create(a, 10 + i, tok, 16, &seqs[i]));
		kvpt_ok(kvpt_use_write(a, seqs[i], t, 1, 0, 16));
	}
	for (i = 0; i < 4; i++)
		kvpt_ok(kvpt_free(a, seqs[i]));
	expect_states(0, 0, 0, 0, 16);
	expect_waiting(a, 4, 4, 16);
	kvpt_refused(&env, a, kvpt_alloc(b, 0, 16, blocks), -ENOSPC, KVP_REASON_HELD_BACK, 0);
	kvpt_refused(&env, a, kvpt_alloc(a, 0, 1, blocks), -ENOSPC, KVP_REASON_HELD_BACK, 0);
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_alloc(b, 0, 16, blocks));
	expect_waiting(a, 0, 0, 0);
}
END_TEST

START_TEST(test_limits_see_what_has_passed)
{
	u64 seq = made(16), id = kvpt_client_id(a), blocks[4];

	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_BLOCKS, 0, 4));
	kvpt_ok(kvpt_use_read(a, seq, t, 1));
	kvpt_ok(kvpt_free(a, seq));
	/* Others have room, but these are charged to this client until they are free. */
	kvpt_refused(&env, a, kvpt_alloc(a, 0, 1, blocks), -EDQUOT, KVP_REASON_LIMIT_BLOCKS, 0);
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_alloc(a, 0, 4, blocks));
	kvpt_ok(kvpt_unref(a, blocks, 4));
	/* The same with slots. */
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_SLOTS, 0, 4));
	kvpt_ok(kvpt_create(a, 1, tok, 16, &seq));
	kvpt_ok(kvpt_use_read(a, seq, t, 2));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 4, &seq), -EDQUOT, KVP_REASON_LIMIT_SLOTS, 0);
	kvpt_pass(a, t, 2);
	kvpt_ok(kvpt_create(a, 1, tok, 16, &seq));
	kvpt_ok(kvpt_free(a, seq));
}
END_TEST

START_TEST(test_guarantees_see_what_has_passed)
{
	u64 seq = made(32), blocks[16];

	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_GUARANTEE, 0, 2));
	kvpt_ok(kvpt_use_read(a, seq, t, 1));
	kvpt_ok(kvpt_free(a, seq));
	/* Two of the eight that are free must be left once these are not charged any more. */
	kvpt_ok(kvpt_alloc(b, 0, 8, blocks));
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_alloc(b, 0, 6, &blocks[8]));
	kvpt_refused(&env, a, kvpt_alloc(b, 0, 1, blocks), -ENOSPC, KVP_REASON_GUARANTEED, 0);
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).unmet, 2);
}
END_TEST

/* ---- copy-on-write, publish that adopts ---- */

START_TEST(test_sources_of_copies)
{
	u64 seq = made(6), child, table[2], copy[2];

	kvpt_ok(kvpt_advance(a, seq, 6));
	kvpt_expect_table(a, seq, 0, table, 2);
	kvpt_ok(kvpt_fork(a, seq, 6, &child));
	kvpt_ok(kvpt_append(a, child, other, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 1);
	ck_assert_uint_eq(kvpt_copies[0].src, table[1]);
	kvpt_expect_table(a, child, 0, copy, 2);
	ck_assert_uint_eq(kvpt_copies[0].dst, copy[1]);
	/* The work that copies them is said first; then the sources may be let go. */
	kvpt_ok(kvpt_use_read(a, child, t, 1));
	kvpt_ok(kvpt_copied(a, child));
	ck_assert_uint_eq(kvpt_count(a, table[1]), 2);
	ck_assert_uint_eq(kvpt_entry(a, table[1]).held_back, 1);
	kvpt_ok(kvpt_free(a, seq));
	expect_states(0, 13, 2, 0, 1);
	ck_assert_uint_eq(kvpt_entry(a, table[1]).state, KVP_BLOCK_HELD_BACK);
	kvpt_pass(a, t, 1);
	expect_states(0, 14, 2, 0, 0);
	kvpt_expect_lengths(a, child, 7, 6, 7, 0);
}
END_TEST

START_TEST(test_sources_of_copies_that_nobody_makes_any_more)
{
	u64 seq = made(6), child;

	kvpt_ok(kvpt_advance(a, seq, 6));
	kvpt_ok(kvpt_fork(a, seq, 6, &child));
	kvpt_ok(kvpt_append(a, child, other, 1));
	kvpt_ok(kvpt_use_read(a, child, t, 1));
	kvpt_ok(kvpt_free(a, seq));
	/* The copies are still owed: the zombie keeps their sources as well. */
	kvpt_ok(kvpt_free(a, child));
	expect_states(0, 13, 0, 0, 3);
	kvpt_pass(a, t, 1);
	expect_states(0, 16, 0, 0, 0);
	/* Without a use they go at once. */
	seq = made(6);
	kvpt_ok(kvpt_advance(a, seq, 6));
	kvpt_ok(kvpt_fork(a, seq, 6, &child));
	kvpt_ok(kvpt_append(a, child, other, 1));
	kvpt_ok(kvpt_copied(a, child));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_free(a, child));
	expect_states(0, 16, 0, 0, 0);
}
END_TEST

START_TEST(test_append_that_copies_while_work_reads)
{
	u64 seq = made(6), child, table[2];

	kvpt_ok(kvpt_advance(a, seq, 6));
	kvpt_expect_table(a, seq, 0, table, 2);
	kvpt_ok(kvpt_fork(a, seq, 6, &child));
	/* A step of the parent reads its block, when the parent itself moves to a private one. */
	kvpt_ok(kvpt_use_read(a, seq, t, 1));
	kvpt_ok(kvpt_append(a, seq, &tok[6], 2));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 1);
	kvpt_ok(kvpt_free(a, child));
	kvpt_ok(kvpt_copied(a, seq));
	ck_assert_uint_eq(kvpt_entry(a, table[1]).state, KVP_BLOCK_HELD_BACK);
	expect_states(0, 13, 2, 0, 1);
	kvpt_pass(a, t, 1);
	expect_states(0, 14, 2, 0, 0);
}
END_TEST

START_TEST(test_publish_that_adopts)
{
	u64 theirs = kvpt_published(b, 1, tok, 8), seq, mine[3], shared[2], now[3];

	kvpt_expect_table(b, theirs, 0, shared, 2);
	/* Not matched when it was made. */
	kvpt_ok(kvpt_create_with(a, &(struct kvp_seq_create){ .head.flags = KVP_SEQ_NO_MATCH }, 1,
				 tok, 9, &seq));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_expect_table(a, seq, 0, mine, 3);
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 8, 9));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.nr_shared, 2);
	kvpt_expect_table(a, seq, 0, now, 3);
	ck_assert_mem_eq(now, shared, sizeof(shared));
	ck_assert_uint_eq(now[2], mine[2]);
	/* The step that is in flight reads the old ones. */
	ck_assert_uint_eq(kvpt_entry(a, mine[0]).state, KVP_BLOCK_HELD_BACK);
	expect_states(0, 11, 3, 0, 2);
	expect_waiting(a, 0, 1, 2);
	kvpt_pass(a, t, 1);
	expect_states(0, 13, 3, 0, 0);
	kvpt_expect_lengths(a, seq, 9, 9, 9, 8);
}
END_TEST

/* ---- raw blocks ---- */

START_TEST(test_raw_blocks)
{
	struct kvp_block_entry entry;
	u64 blocks[3], more[16];

	kvpt_ok(kvpt_alloc(a, 0, 3, blocks));
	kvpt_ok(kvpt_use_block(a, blocks[0], t, 1));
	entry = kvpt_entry(a, blocks[0]);
	ck_assert_uint_eq(entry.count, 2);
	ck_assert_uint_eq(entry.held_back, 1);
	ck_assert_uint_eq(entry.state, KVP_BLOCK_HELD);
	expect_waiting(a, 0, 1, 0);
	/* Unref before the fence: gone for the client. */
	kvpt_ok(kvpt_unref(a, blocks, 3));
	kvpt_refused(&env, a, kvpt_unref(a, blocks, 1), -EPERM, KVP_REASON_NOT_HELD, 0);
	kvpt_refused(&env, a, kvpt_use_block(a, blocks[0], t, 2), -EPERM, KVP_REASON_NOT_HELD, 0);
	expect_states(0, 15, 0, 0, 1);
	expect_waiting(a, 0, 1, 1);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).raw, 0);
	kvpt_ok(kvpt_alloc(b, 0, 15, more));
	kvpt_refused(&env, a, kvpt_alloc(b, 0, 1, more), -ENOSPC, KVP_REASON_HELD_BACK, 0);
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_alloc(b, 0, 1, &more[15]));
	ck_assert_uint_eq(KVP_BLOCK_INDEX(more[15]), KVP_BLOCK_INDEX(blocks[0]));
	ck_assert_uint_ne(more[15], blocks[0]);
	expect_waiting(a, 0, 0, 0);
}
END_TEST

START_TEST(test_raw_blocks_unref_after_the_fence)
{
	u64 block;

	kvpt_ok(kvpt_alloc(a, 0, 1, &block));
	kvpt_ok(kvpt_use_block(a, block, t, 1));
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_unref(a, &block, 1));
	expect_states(0, 16, 0, 0, 0);
}
END_TEST

START_TEST(test_raw_block_with_several_fences)
{
	u64 block;
	const struct kvp_use_entry *entries;

	kvpt_ok(kvpt_alloc(a, 0, 1, &block));
	entries = (struct kvp_use_entry[]){
		KVPT_BLOCK(block, t, 1), KVPT_BLOCK(block, t, 1), KVPT_BLOCK(block, t, 2),
		KVPT_BLOCK(block, u, 1),
	};
	kvpt_ok(kvpt_use(a, entries, 4));
	ck_assert_uint_eq(kvpt_count(a, block), 5);
	expect_waiting(a, 0, 4, 0);
	kvpt_pass(a, t, 1);
	ck_assert_uint_eq(kvpt_count(a, block), 3);
	kvpt_ok(kvpt_unref(a, &block, 1));
	expect_states(0, 15, 0, 0, 1);
	kvpt_pass(a, u, 1);
	expect_states(0, 15, 0, 0, 1);
	ck_assert_uint_eq(kvpt_count(a, block), 1);
	expect_waiting(a, 0, 1, 1);
	kvpt_pass(a, t, 2);
	expect_states(0, 16, 0, 0, 0);
}
END_TEST

START_TEST(test_a_block_that_work_reads_is_not_written_in_place)
{
	u64 block, copy;

	kvpt_ok(kvpt_alloc(a, 0, 1, &block));
	kvpt_ok(kvpt_use_block(a, block, t, 1));
	kvpt_ok(kvpt_make_private(a, block, &copy));
	ck_assert_uint_eq(kvpt.make_private.copy, 1);
	ck_assert_uint_ne(copy, block);
	/* The bytes are copied, and the source let go. */
	kvpt_ok(kvpt_unref(a, &block, 1));
	expect_states(0, 14, 1, 0, 1);
	kvpt_pass(a, t, 1);
	expect_states(0, 15, 1, 0, 0);
	/* Nothing reads this one. */
	kvpt_ok(kvpt_make_private(a, copy, &block));
	ck_assert_uint_eq(kvpt.make_private.copy, 0);
	ck_assert_uint_eq(copy, block);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fence_held");
	TCase *tc = tcase_create("fence_held");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_free_with_open_uses);
	tcase_add_test(tc, test_a_fence_that_passed_before_the_free);
	tcase_add_test(tc, test_published_blocks_that_are_held_back);
	tcase_add_test(tc, test_matched_until_the_fence_passed);
	tcase_add_test(tc, test_draining_without_further_launches);
	tcase_add_test(tc, test_limits_see_what_has_passed);
	tcase_add_test(tc, test_guarantees_see_what_has_passed);
	tcase_add_test(tc, test_sources_of_copies);
	tcase_add_test(tc, test_sources_of_copies_that_nobody_makes_any_more);
	tcase_add_test(tc, test_append_that_copies_while_work_reads);
	tcase_add_test(tc, test_publish_that_adopts);
	tcase_add_test(tc, test_raw_blocks);
	tcase_add_test(tc, test_raw_blocks_unref_after_the_fence);
	tcase_add_test(tc, test_raw_block_with_several_fences);
	tcase_add_test(tc, test_a_block_that_work_reads_is_not_written_in_place);
	suite_add_tcase(suite, tc);
	return kvpt_run(suite);
}

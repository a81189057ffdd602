// SPDX-License-Identifier: MIT
/*
 * Faults that users of KV-cache managers have met, each as a small scenario with the right
 * result. The letter and number are those of the collection they come from.
 */
#include <check.h>

#include "unit.h"

static struct kvpt_env env;
static struct kvp_client *p, *q;
static u32 tok[64], other[64];

/* A pool of @nr blocks of @tokens tokens, and two clients: p, its owner, and q. */
static void pool(u64 nr, u32 tokens)
{
	const struct kvp_family_desc family = KVPT_DENSE(nr, tokens);

	kvpt_env_init(&env);
	p = kvpt_pool(&env, &family, 1);
	q = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	kvpt_tokens(tok, 64, 1);
	kvpt_tokens(other, 64, 2);
}

static void setup(void)
{
	pool(8, 4);
}

static void teardown(void)
{
	kvpt_audit_clean(p);
	kvpt_env_exit(&env);
}

static void remake(u64 nr, u32 tokens)
{
	kvpt_env_exit(&env);
	pool(nr, tokens);
}

/* All that can be reclaimed; how many nodes that were. */
static u64 reclaim_all(void)
{
	kvpt_ok(kvpt_reclaim(p, ~0ULL));
	kvpt_audit_clean(p);
	return kvpt.reclaim.nodes;
}

/* ---- A: leaks on abort, cancel, crash ---- */

START_TEST(test_a2_aborted_request_drops_its_match)
{
	struct kvpt_world before, after;
	u64 match, seq;

	kvpt_ok(kvpt_make_published(p, 1, tok, 16));
	/* A request that looked up and was aborted before it got blocks. */
	kvpt_world_take(&env, p, &before);
	kvpt_ok(kvpt_match(q, 1, tok, 16, &match));
	kvpt_ok(kvpt_release(q, match));
	kvpt_world_take(&env, p, &after);
	ck_assert_uint_eq(before.stats.pool.matches, after.stats.pool.matches);
	ck_assert_uint_eq(kvpt_entry(p, before.stats.blocks[0].block).count,
			  before.stats.blocks[0].count);
	ck_assert_str_eq(before.text, after.text);
	kvpt_world_drop(&before);
	kvpt_world_drop(&after);

	/* The same with a sequence that holds the prefix and nothing else. */
	kvpt_ok(kvpt_create_flags(q, KVP_SEQ_MATCH_ONLY, 1, tok, 16, &seq));
	kvpt_expect_blocks(p, 0, 4, 4, 0);
	kvpt_ok(kvpt_free(q, seq));
	kvpt_expect_blocks(p, 0, 4, 0, 4);
	/* And with a client that dies in between. */
	kvpt_ok(kvpt_match(q, 1, tok, 16, &match));
	kvpt_close(&env, q);
	ck_assert_uint_eq(kvpt_counters_of(p, 0).matches, 0);
	ck_assert_uint_eq(reclaim_all(), 4);
	kvpt_expect_blocks(p, 0, 8, 0, 0);
}
END_TEST

START_TEST(test_a7_aborted_reservation_comes_back_whole)
{
	const struct kvp_seq_create with = { .reserve = 32 };
	struct kvp_stats before = kvpt_counters_of(q, KVP_STATS_SELF), after;
	u64 seq;

	kvpt_ok(kvpt_create_with(q, &with, 1, NULL, 0, &seq));
	ck_assert_uint_eq(kvpt.seq_create.reserved, 32);
	kvpt_expect_blocks(p, 0, 0, 8, 0);
	ck_assert_uint_eq(kvpt_family_of(q, KVP_STATS_SELF, 0).charged, 8);
	kvpt_ok(kvpt_free(q, seq));
	kvpt_expect_blocks(p, 0, 8, 0, 0);
	after = kvpt_counters_of(q, KVP_STATS_SELF);
	ck_assert_uint_eq(after.slots, 0);
	ck_assert_uint_eq(after.seqs, before.seqs);
	ck_assert_uint_eq(kvpt_family_of(q, KVP_STATS_SELF, 0).charged, 0);
	ck_assert_uint_eq(kvpt_counters_of(p, 0).nodes_used, 0);
	/* A refused one leaves nothing behind either. */
	kvpt_ok(kvpt_create(p, 1, tok, 4, &seq));
	kvpt_refused(&env, p, kvpt_create_with(q, &with, 1, NULL, 0, &seq), -ENOSPC,
		     KVP_REASON_POOL_FULL, 0);
}
END_TEST

START_TEST(test_a8_same_rounding_when_blocks_are_taken_and_given_back)
{
	u64 seq;
	u32 keep;

	remake(8, 16);
	kvpt_ok(kvpt_create(p, 1, tok, 17, &seq));
	kvpt_expect_blocks(p, 0, 6, 2, 0);
	kvpt_ok(kvpt_truncate(p, seq, 16));
	kvpt_expect_blocks(p, 0, 7, 1, 0);
	kvpt_ok(kvpt_free(p, seq));
	kvpt_expect_blocks(p, 0, 8, 0, 0);
	for (keep = 0; keep <= 40; keep++) {
		kvpt_ok(kvpt_create(p, 1, tok, 40, &seq));
		kvpt_ok(kvpt_truncate(p, seq, keep));
		ck_assert_uint_eq(kvpt_blocks(p, 0, KVP_BLOCK_HELD), (keep + 15) / 16);
		kvpt_ok(kvpt_append(p, seq, tok, 40 - keep + 1));
		kvpt_expect_blocks(p, 0, 5, 3, 0);
		kvpt_ok(kvpt_free(p, seq));
		kvpt_expect_blocks(p, 0, 8, 0, 0);
	}
}
END_TEST

START_TEST(test_a14_no_extra_reference_keeps_blocks_from_reclaim)
{
	u64 seq, match, idle;
	u32 i, from;

	remake(64, 4);
	for (i = 0; i < 100000; i++) {
		/* Prompts that share beginnings, more of them than fit. */
		from = i * 7 % 23;
		tok[4] = from;
		tok[9] = i * 5 % 11;
		kvpt_ok(kvpt_match(q, 1, tok, 16, &match));
		kvpt_ok(kvpt_create(q, 1, tok, 16, &seq));
		if (match)
			kvpt_ok(kvpt_release(q, match));
		kvpt_ok(kvpt_advance(q, seq, 16));
		kvpt_ok(kvpt_publish(q, seq));
		kvpt_ok(kvpt_free(q, seq));
	}
	kvpt_audit_clean(p);
	ck_assert_uint_eq(kvpt_blocks(p, 0, KVP_BLOCK_HELD), 0);
	idle = kvpt_blocks(p, 0, KVP_BLOCK_IDLE);
	ck_assert_uint_gt(idle, 50);
	ck_assert_uint_eq(reclaim_all(), idle);
	kvpt_expect_blocks(p, 0, 64, 0, 0);
	ck_assert_uint_eq(kvpt_counters_of(p, 0).nodes_used, 0);
}
END_TEST

/* ---- B: double free, underflow, counters ---- */

START_TEST(test_b8_a_match_keeps_the_whole_path_and_the_node_itself)
{
	u64 match, seq, blocks[2];

	kvpt_ok(kvpt_make_published(p, 1, tok, 8));
	kvpt_ok(kvpt_match(q, 1, tok, 8, &match));
	ck_assert_uint_eq(reclaim_all(), 0);
	ck_assert_uint_eq(kvpt_matched(p, 1, tok, 8), 8);
	kvpt_ok(kvpt_release(q, match));

	kvpt_ok(kvpt_create_flags(q, KVP_SEQ_MATCH_ONLY, 1, tok, 8, &seq));
	kvpt_expect_table(q, seq, 0, blocks, 2);
	ck_assert_uint_eq(kvpt_count(p, blocks[0]), 1);
	ck_assert_uint_eq(kvpt_count(p, blocks[1]), 1);
	ck_assert_uint_eq(reclaim_all(), 0);
	kvpt_ok(kvpt_free(q, seq));
	ck_assert_uint_eq(reclaim_all(), 2);
}
END_TEST

START_TEST(test_b11_failed_allocation_leaves_every_counter)
{
	u64 blocks[9], seq;

	kvpt_ok(kvpt_make_published(p, 1, tok, 8));
	kvpt_ok(kvpt_alloc(q, 0, 4, blocks));
	kvpt_expect_blocks(p, 0, 2, 4, 2);
	kvpt_refused(&env, p, kvpt_alloc(q, 0, 5, blocks), -ENOSPC, KVP_REASON_POOL_FULL, 0);
	kvpt_refused(&env, p, kvpt_alloc(q, 0, 9, blocks), -EFBIG, KVP_REASON_NEVER_FITS, 0);
	kvpt_refused(&env, p, kvpt_create(q, 2, other, 20, &seq), -ENOSPC,
		     KVP_REASON_POOL_FULL, 0);
	ck_assert_uint_eq(kvpt_counters_of(p, 0).refused_room, 2);
	kvpt_ok(kvpt_create(q, 2, other, 4, &seq));
	kvpt_refused(&env, p, kvpt_append(q, seq, other, 16), -ENOSPC, KVP_REASON_POOL_FULL, 0);
	kvpt_expect_lengths(q, seq, 4, 0, 4, 0);
	/* Exactly what is left can be had. */
	kvpt_ok(kvpt_append(q, seq, other, 12));
	kvpt_expect_blocks(p, 0, 0, 8, 0);
}
END_TEST

START_TEST(test_b12_block_that_is_handed_out_has_no_name_any_more)
{
	u64 blocks[8], cached, seq = kvpt_published(p, 1, tok, 8);
	struct kvp_block_entry entry;
	u32 i;

	kvpt_expect_table(p, seq, 0, blocks, 2);
	cached = blocks[1];
	kvpt_ok(kvpt_free(p, seq));
	kvpt_ok(kvpt_alloc(q, 0, 8, blocks));
	ck_assert_uint_eq(kvpt_matched(p, 1, tok, 8), 0);
	for (i = 0; i < 8; i++) {
		ck_assert_uint_ne(blocks[i], cached);
		entry = kvpt_entry(p, blocks[i]);
		ck_assert_uint_eq(entry.node, KVP_NODE_NONE);
		ck_assert_uint_eq(entry.depth, 0);
		ck_assert_uint_eq(entry.count, 1);
	}
	ck_assert_uint_eq(kvpt_family_of(p, 0, 0).published, 0);
	/* Freed again it is free, not cached under the old name. */
	kvpt_ok(kvpt_unref(q, blocks, 8));
	kvpt_expect_blocks(p, 0, 8, 0, 0);
	ck_assert_uint_eq(kvpt_matched(p, 1, tok, 8), 0);
}
END_TEST

/* ---- D: wrong prefix hit, identity ---- */

START_TEST(test_d8_equal_hash_with_different_tokens_is_no_hit)
{
	u64 seq = kvpt_published(p, 1, tok, 4), block, hash, old;
	u8 space[KVP_DIGEST_LEN];
	u32 node;

	kvpt_digest(1, space);
	kvpt_expect_table(p, seq, 0, &block, 1);
	node = kvpt_block_of(p, block)->node;
	hash = kvp_content_hash(kvpt_pool_of(p), kvp_space_hash(kvpt_pool_of(p), space), other,
				NULL);
	old = kvpt_force_hash(kvpt_pool_of(p), node, hash);
	ck_assert_uint_eq(kvpt_matched(q, 1, other, 4), 0);
	kvpt_ok(kvpt_create(q, 1, other, 4, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 0);
	ck_assert_uint_eq(kvpt_counters_of(p, 0).collisions, 2);
	kvpt_force_hash(kvpt_pool_of(p), node, old);
	ck_assert_uint_eq(kvpt_matched(q, 1, tok, 4), 4);
}
END_TEST

START_TEST(test_d11_no_stale_name_after_reclaim)
{
	u64 seq, blocks[8];

	/* The same blocks under a second name: the first one is gone. */
	kvpt_ok(kvpt_make_published(p, 1, tok, 32));
	kvpt_ok(kvpt_create(q, 1, other, 32, &seq));
	ck_assert_uint_eq(kvpt_matched(p, 1, tok, 32), 0);
	kvpt_ok(kvpt_advance(q, seq, 32));
	kvpt_ok(kvpt_publish(q, seq));
	kvpt_ok(kvpt_free(q, seq));
	ck_assert_uint_eq(kvpt_matched(p, 1, tok, 32), 0);
	ck_assert_uint_eq(kvpt_matched(p, 1, other, 32), 32);

	/* Part of a name does not come back, and the rest is not found without it. */
	kvpt_ok(kvpt_reclaim(p, 4));
	ck_assert_uint_eq(kvpt_matched(p, 1, other, 32), 16);
	ck_assert_uint_eq(kvpt_matched(p, 1, other + 16, 16), 0);
	kvpt_ok(kvpt_make_published(p, 1, tok, 16));
	ck_assert_uint_eq(kvpt_matched(p, 1, other, 32), 16);
	ck_assert_uint_eq(kvpt_matched(p, 1, tok, 32), 16);
	kvpt_ok(kvpt_match_blocks(p, 1, tok, 32, 0, blocks, 8, NULL));
	ck_assert_uint_eq(kvpt.match.nr_blocks, 4);
}
END_TEST

START_TEST(test_d12_prefixes_do_not_survive_new_weights)
{
	u64 live = kvpt_published(q, 1, tok, 8), seq;

	kvpt_ok(kvpt_make_published(p, 1, other, 8));
	kvpt_ok(kvpt_make_published(p, 2, tok, 8));
	kvpt_ok(kvpt_invalidate_space(p, 1));
	ck_assert_uint_eq(kvpt_matched(p, 1, tok, 8), 0);
	ck_assert_uint_eq(kvpt_matched(p, 1, other, 8), 0);
	kvpt_ok(kvpt_create(p, 1, tok, 8, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 0);
	kvpt_ok(kvpt_free(p, seq));
	/* What nobody holds can be had at once, before all that is still good. */
	kvpt_ok(kvpt_reclaim(p, 2));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 2);
	kvpt_expect_blocks(p, 0, 4, 2, 2);
	ck_assert_uint_eq(kvpt_matched(p, 2, tok, 8), 8);
	/* What is held stays with its holder, and publishes no more. */
	kvpt_ok(kvpt_append(q, live, tok + 8, 4));
	kvpt_ok(kvpt_advance(q, live, 12));
	kvpt_refused(&env, p, kvpt_publish(q, live), -ESTALE, KVP_REASON_INVALIDATED, 0);
	kvpt_ok(kvpt_free(q, live));
	kvpt_ok(kvpt_reclaim(p, 2));
	kvpt_expect_blocks(p, 0, 6, 0, 2);
	ck_assert_uint_eq(kvpt_matched(p, 2, tok, 8), 8);
}
END_TEST

/* ---- E: reclaiming what is in use, broken tree shape ---- */

START_TEST(test_e1_a_beginning_is_not_reclaimed_before_its_end)
{
	u64 shorter, longer;

	kvpt_ok(kvpt_make_published(p, 1, tok, 8));
	kvpt_ok(kvpt_create_flags(q, KVP_SEQ_MATCH_ONLY, 1, tok, 4, &shorter));
	kvpt_ok(kvpt_create_flags(q, KVP_SEQ_MATCH_ONLY, 1, tok, 8, &longer));
	/* The beginning's other holder goes first. */
	kvpt_ok(kvpt_free(q, shorter));
	ck_assert_uint_eq(reclaim_all(), 0);
	kvpt_ok(kvpt_free(q, longer));
	kvpt_ok(kvpt_reclaim(p, 1));
	ck_assert_uint_eq(kvpt_matched(p, 1, tok, 8), 4);
	kvpt_ok(kvpt_reclaim(p, 1));
	ck_assert_uint_eq(kvpt_matched(p, 1, tok, 8), 0);
}
END_TEST

START_TEST(test_e1_a_beginning_whose_end_is_held_by_raw_references)
{
	u64 seq = kvpt_published(q, 1, tok, 8), blocks[2];

	kvpt_expect_table(q, seq, 0, blocks, 2);
	kvpt_ok(kvpt_ref_from(q, seq, 1, &blocks[1], 1));
	kvpt_ok(kvpt_free(q, seq));
	kvpt_expect_blocks(p, 0, 6, 1, 1);
	ck_assert_uint_eq(reclaim_all(), 0);
	kvpt_ok(kvpt_unref(q, &blocks[1], 1));
	ck_assert_uint_eq(reclaim_all(), 2);
}
END_TEST

START_TEST(test_e2_all_held_is_an_error_and_no_abort)
{
	u64 seqs[4], blocks[1], seq;
	u32 i;

	for (i = 0; i < 4; i++)
		seqs[i] = kvpt_published(i % 2 ? p : q, 1 + i, tok, 8);
	kvpt_expect_blocks(p, 0, 0, 8, 0);
	kvpt_refused(&env, p, kvpt_alloc(q, 0, 1, blocks), -ENOSPC, KVP_REASON_POOL_FULL, 0);
	kvpt_refused(&env, p, kvpt_create(q, 9, tok, 1, &seq), -ENOSPC,
		     KVP_REASON_POOL_FULL, 0);
	kvpt_refused(&env, p, kvpt_append(q, seqs[0], tok, 1), -ENOSPC,
		     KVP_REASON_POOL_FULL, 0);
	ck_assert_uint_eq(reclaim_all(), 0);
	kvpt_ok(kvpt_free(p, seqs[1]));
	kvpt_ok(kvpt_append(q, seqs[0], tok, 1));
}
END_TEST

START_TEST(test_e5_what_stays_can_always_be_reached)
{
	u64 blocks[8];
	u32 taken;

	/* A - B - C: under pressure C goes first, so all that is kept is a prefix. */
	kvpt_ok(kvpt_make_published(p, 1, tok, 12));
	kvpt_ok(kvpt_alloc(q, 0, 5, blocks));
	for (taken = 0; taken < 3; taken++) {
		ck_assert_uint_eq(kvpt_matched(p, 1, tok, 12), 12 - 4 * taken);
		ck_assert_uint_eq(kvpt_family_of(p, 0, 0).published, 3 - taken);
		kvpt_ok(kvpt_alloc(q, 0, 1, &blocks[5 + taken]));
	}
	ck_assert_uint_eq(kvpt_matched(p, 1, tok, 12), 0);
}
END_TEST

START_TEST(test_e5_kept_nodes_are_a_tree_under_random_pressure)
{
	u64 seq, published, sum;
	u32 i, x;

	remake(24, 4);
	for (i = 0; i < 3000; i++) {
		tok[4] = i * 7 % 3;
		tok[8] = i * 11 % 5;
		tok[12] = i * 13 % 7;
		kvpt_ok(kvpt_create(q, 1, tok, 16, &seq));
		kvpt_ok(kvpt_advance(q, seq, 16));
		kvpt_ok(kvpt_publish_with(q, seq, 0, 4 + 4 * (i % 4), 0));
		kvpt_ok(kvpt_free(q, seq));
	}
	/* Every published node is on the path of some prompt. */
	published = kvpt_counters_of(p, 0).nodes_published;
	sum = kvpt_matched(p, 1, tok, 4) / 4;
	for (x = 0; x < 3; x++) {
		tok[4] = x;
		sum += kvpt_matched(p, 1, tok, 8) == 8;
	}
	for (x = 0; x < 15; x++) {
		tok[4] = x % 3;
		tok[8] = x / 3;
		sum += kvpt_matched(p, 1, tok, 12) == 12;
	}
	for (x = 0; x < 105; x++) {
		tok[4] = x % 3;
		tok[8] = x / 3 % 5;
		tok[12] = x / 15;
		sum += kvpt_matched(p, 1, tok, 16) == 16;
	}
	ck_assert_uint_eq(sum, published);
	ck_assert_uint_eq(kvpt_blocks(p, 0, KVP_BLOCK_IDLE), published);
}
END_TEST

START_TEST(test_e8_pinned_blocks_do_not_keep_cached_ones_from_reclaim)
{
	u64 pinned, seq;

	remake(10, 4);
	kvpt_ok(kvpt_create(p, 1, tok, 24, &pinned));
	kvpt_ok(kvpt_make_published(q, 1, other, 16));
	kvpt_expect_blocks(p, 0, 0, 6, 4);
	kvpt_ok(kvpt_create(q, 2, tok, 8, &seq));
	kvpt_expect_blocks(p, 0, 0, 8, 2);
	ck_assert_uint_eq(kvpt_matched(p, 1, other, 16), 8);
	kvpt_ok(kvpt_append(q, seq, tok + 8, 8));
	kvpt_expect_blocks(p, 0, 0, 10, 0);
	kvpt_refused(&env, p, kvpt_append(q, seq, tok + 16, 1), -ENOSPC,
		     KVP_REASON_POOL_FULL, 0);
}
END_TEST

/* ---- G: preemption, livelock, capacity ---- */

START_TEST(test_g4_all_families_are_taken_in_one_step_or_none)
{
	static const struct kvp_family_desc two[] = { KVPT_DENSE(8, 4), KVPT_DENSE(8, 4) };
	u64 blocks[6], more[5], seq;

	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	p = kvpt_pool(&env, two, 2);
	q = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	/* 3 and 3 are needed, 3 and 2 are free: the first check alone would pass. */
	kvpt_ok(kvpt_alloc(p, 0, 5, more));
	kvpt_ok(kvpt_alloc(p, 1, 6, blocks));
	kvpt_refused(&env, p, kvpt_create(q, 1, tok, 12, &seq), -ENOSPC,
		     KVP_REASON_POOL_FULL, 1);
	kvpt_ok(kvpt_create(q, 1, tok, 8, &seq));
	kvpt_refused(&env, p, kvpt_append(q, seq, tok + 8, 4), -ENOSPC,
		     KVP_REASON_POOL_FULL, 1);
	kvpt_ok(kvpt_unref(p, blocks, 1));
	kvpt_ok(kvpt_append(q, seq, tok + 8, 4));
	kvpt_expect_blocks(p, 0, 0, 8, 0);
	kvpt_expect_blocks(p, 1, 0, 8, 0);
}
END_TEST

/* ---- J: observability ---- */

START_TEST(test_j1_held_and_cached_are_told_apart)
{
	struct kvp_family_stats stats;
	u64 seqs[24];
	u32 i;

	remake(64, 4);
	for (i = 0; i < 24; i++) {
		kvpt_tokens(tok, 8, 100 + i);
		seqs[i] = kvpt_published(q, 1, tok, 8);
	}
	stats = kvpt_family_of(p, 0, 0);
	ck_assert_uint_eq(stats.state[KVP_BLOCK_HELD], 48);
	ck_assert_uint_eq(stats.state[KVP_BLOCK_IDLE], 0);
	ck_assert_uint_eq(stats.published, 48);
	for (i = 0; i < 24; i++)
		kvpt_ok(kvpt_free(q, seqs[i]));
	stats = kvpt_family_of(p, 0, 0);
	ck_assert_uint_eq(stats.state[KVP_BLOCK_HELD], 0);
	ck_assert_uint_eq(stats.state[KVP_BLOCK_IDLE], 48);
	ck_assert_uint_eq(stats.state[KVP_BLOCK_FREE], 16);
	ck_assert_uint_eq(stats.published, 48);
	ck_assert_uint_eq(stats.charged, 0);
	ck_assert_uint_eq(kvpt_counters_of(p, 0).seqs, 0);
	ck_assert_uint_eq(reclaim_all(), 48);
	stats = kvpt_family_of(p, 0, 0);
	ck_assert_uint_eq(stats.state[KVP_BLOCK_IDLE], 0);
	ck_assert_uint_eq(stats.state[KVP_BLOCK_FREE], 64);
	ck_assert_uint_eq(stats.published, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("cases");
	TCase *tc = tcase_create("cases");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_a2_aborted_request_drops_its_match);
	tcase_add_test(tc, test_a7_aborted_reservation_comes_back_whole);
	tcase_add_test(tc, test_a8_same_rounding_when_blocks_are_taken_and_given_back);
	tcase_add_test(tc, test_a14_no_extra_reference_keeps_blocks_from_reclaim);
	tcase_add_test(tc, test_b8_a_match_keeps_the_whole_path_and_the_node_itself);
	tcase_add_test(tc, test_b11_failed_allocation_leaves_every_counter);
	tcase_add_test(tc, test_b12_block_that_is_handed_out_has_no_name_any_more);
	tcase_add_test(tc, test_d8_equal_hash_with_different_tokens_is_no_hit);
	tcase_add_test(tc, test_d11_no_stale_name_after_reclaim);
	tcase_add_test(tc, test_d12_prefixes_do_not_survive_new_weights);
	tcase_add_test(tc, test_e1_a_beginning_is_not_reclaimed_before_its_end);
	tcase_add_test(tc, test_e1_a_beginning_whose_end_is_held_by_raw_references);
	tcase_add_test(tc, test_e2_all_held_is_an_error_and_no_abort);
	tcase_add_test(tc, test_e5_what_stays_can_always_be_reached);
	tcase_add_test(tc, test_e5_kept_nodes_are_a_tree_under_random_pressure);
	tcase_add_test(tc, test_e8_pinned_blocks_do_not_keep_cached_ones_from_reclaim);
	tcase_add_test(tc, test_g4_all_families_are_taken_in_one_step_or_none);
	tcase_add_test(tc, test_j1_held_and_cached_are_told_apart);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

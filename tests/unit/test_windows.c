// SPDX-License-Identifier: MIT
/*
 * Pools with a WINDOW family next to a DENSE one: how deep a match is usable, what a matched
 * sequence holds, and what cannot be done once rows are gone.
 */
#include <check.h>

#include "unit.h"

#define D	0	/* DENSE */
#define W	1	/* WINDOW of 6 tokens */

static struct kvpt_env env;
static struct kvp_client *a;
static u32 tok[64], other[64];

static void remake_with(const struct kvp_pool_create *with,
			const struct kvp_family_desc *families, u32 nr)
{
	if (a)
		kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool_with(&env, with, families, nr);
}

static void remake(const struct kvp_family_desc *families, u32 nr)
{
	const struct kvp_pool_create with = { };

	remake_with(&with, families, nr);
}

static void setup(void)
{
	static const struct kvp_family_desc families[] = {
		KVPT_DENSE(16, 4), KVPT_WINDOW(12, 4, 6),
	};

	a = NULL;
	remake(families, 2);
	kvpt_tokens(tok, 64, 1);
	kvpt_tokens(other, 64, 2);
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

/* ---- matching ---- */

START_TEST(test_depth_at_which_every_window_is_there)
{
	static const u32 lengths[][2] = { { 4, 0 }, { 8, 0 }, { 11, 0 }, { 12, 12 }, { 16, 12 } };
	u64 seq;
	u32 i;

	/* Computed at once: the first node has no window block any more. */
	seq = kvpt_published(a, 1, tok, 12);
	ck_assert_uint_eq(kvpt_nulls(a, seq, W), 1);
	for (i = 0; i < ARRAY_SIZE(lengths); i++)
		ck_assert_uint_eq(kvpt_matched(a, 1, tok, lengths[i][0]), lengths[i][1]);
}
END_TEST

START_TEST(test_windows_published_in_time_stay_usable)
{
	u64 seq;
	u32 at;

	kvpt_ok(kvpt_create(a, 1, tok, 16, &seq));
	for (at = 4; at <= 16; at += 4) {
		kvpt_ok(kvpt_advance(a, seq, at));
		kvpt_ok(kvpt_publish(a, seq));
	}
	ck_assert_uint_eq(kvpt_nulls(a, seq, W), 3);
	kvpt_expect_blocks(a, W, 8, 2, 2);
	ck_assert_uint_eq(kvpt_family_of(a, 0, W).published, 4);
	for (at = 4; at <= 16; at += 4)
		ck_assert_uint_eq(kvpt_matched(a, 1, tok, at), at);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_expect_blocks(a, W, 8, 0, 4);
	kvpt_ok(kvpt_reclaim(a, 2));
	kvpt_expect_blocks(a, W, 10, 0, 2);
	kvpt_expect_blocks(a, D, 14, 0, 2);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 16), 8);
}
END_TEST

START_TEST(test_matched_sequence_holds_what_its_windows_need)
{
	u64 first, seq, blocks[4], theirs[4];
	u32 at;

	kvpt_ok(kvpt_create(a, 1, tok, 12, &first));
	for (at = 4; at <= 12; at += 4) {
		kvpt_ok(kvpt_advance(a, first, at));
		kvpt_ok(kvpt_publish(a, first));
	}
	kvpt_expect_table(a, first, W, theirs, 3);
	kvpt_ok(kvpt_free(a, first));
	kvpt_expect_blocks(a, W, 9, 0, 3);

	kvpt_ok(kvpt_create(a, 1, tok, 14, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 12);
	ck_assert_uint_eq(kvpt_nulls(a, seq, W), 1);
	kvpt_expect_table(a, seq, W, blocks, 4);
	ck_assert_uint_eq(blocks[1], theirs[1]);
	ck_assert_uint_eq(blocks[2], theirs[2]);
	kvpt_expect_blocks(a, W, 8, 3, 1);
	kvpt_expect_blocks(a, D, 12, 4, 0);
	kvpt_ok(kvpt_advance(a, seq, 14));
	ck_assert_uint_eq(kvpt_nulls(a, seq, W), 3);
	kvpt_expect_blocks(a, W, 8, 2, 2);
}
END_TEST

START_TEST(test_matched_windows_of_several_blocks_a_node)
{
	static const struct kvp_family_desc families[] = {
		KVPT_DENSE(16, 8), KVPT_DENSE(16, 2), KVPT_WINDOW(16, 4, 7),
	};
	const struct kvp_pool_create with = { .index_tokens = 8 };
	u64 seq, theirs[8], blocks[8];

	remake_with(&with, families, 3);
	/* Another namespace has the first node. */
	kvpt_ok(kvpt_create(a, 9, NULL, 0, NULL));
	seq = kvpt_published(a, 1, tok, 16);
	/* At 16 the window begins with token 10, in slot 2. */
	ck_assert_uint_eq(kvpt_nulls(a, seq, 2), 3);
	kvpt_expect_table(a, seq, 2, theirs, 4);
	kvpt_ok(kvpt_create(a, 1, tok, 18, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 16);
	kvpt_expect_table(a, seq, 2, blocks, 5);
	ck_assert_mem_eq(blocks, theirs, sizeof(*blocks) * 4);
	ck_assert_uint_eq(kvpt_count(a, theirs[2]), 2);
	ck_assert_uint_eq(kvpt_count(a, theirs[3]), 2);
	kvpt_expect_table(a, seq, 0, blocks, 3);
	kvpt_ok(kvpt_table(a, seq, 1, blocks, 8));
	ck_assert_uint_eq(kvpt.table.total, 9);
	kvpt_ok(kvpt_match_blocks(a, 1, tok, 18, 2, blocks, 8, NULL));
	ck_assert_uint_eq(kvpt.match.nr_blocks, 4);
	ck_assert_mem_eq(blocks, theirs, sizeof(*blocks) * 4);
	kvpt_ok(kvpt_match_blocks(a, 1, tok, 18, 2, blocks, 3, NULL));
	ck_assert_uint_eq(kvpt.match.nr_blocks, 3);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 0);
}
END_TEST

START_TEST(test_match_tells_blocks_of_a_family)
{
	u64 seq, dense[3], window[3], blocks[4];

	seq = kvpt_published(a, 1, tok, 12);
	kvpt_expect_table(a, seq, D, dense, 3);
	kvpt_expect_table(a, seq, W, window, 3);
	kvpt_ok(kvpt_match_blocks(a, 1, tok, 14, D, blocks, 4, NULL));
	ck_assert_uint_eq(kvpt.match.nr_blocks, 3);
	ck_assert_mem_eq(blocks, dense, sizeof(dense));
	kvpt_ok(kvpt_match_blocks(a, 1, tok, 14, W, blocks, 4, NULL));
	ck_assert_uint_eq(kvpt.match.nr_blocks, 3);
	ck_assert_mem_eq(blocks, window, sizeof(window));
	ck_assert_uint_eq(blocks[0], KVP_BLOCK_NULL);
	/* Nothing is usable at 8, so there is nothing to tell. */
	kvpt_ok(kvpt_match_blocks(a, 1, tok, 8, D, blocks, 4, NULL));
	ck_assert_uint_eq(kvpt.match.nr_blocks, 0);
}
END_TEST

START_TEST(test_match_limit_and_windows)
{
	struct kvp_seq_create with = { .match_limit = 8 };
	u64 seq;

	kvpt_published(a, 1, tok, 12);
	kvpt_ok(kvpt_create_with(a, &with, 1, tok, 12, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 0);
	kvpt_expect_blocks(a, D, 10, 6, 0);
	with.match_limit = 12;
	kvpt_ok(kvpt_create_with(a, &with, 1, tok, 12, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 12);
	kvpt_expect_blocks(a, D, 10, 6, 0);
}
END_TEST

START_TEST(test_nodes_that_could_not_be_used_are_no_use)
{
	u64 seq;

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_ok(kvpt_make_published(a, 2, other, 12));
	/* Stops at 8 tokens, where the window is missing: matches nothing. */
	kvpt_ok(kvpt_create(a, 1, tok, 8, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 0);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_reclaim(a, 3));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 0);
	ck_assert_uint_eq(kvpt_matched(a, 2, other, 12), 12);
}
END_TEST

START_TEST(test_long_prompt_in_a_small_window_family)
{
	static const struct kvp_family_desc families[] = {
		KVPT_DENSE(64, 4), KVPT_WINDOW(4, 4, 6),
	};
	u64 seq;
	u32 at;

	remake(families, 2);
	kvpt_ok(kvpt_create(a, 1, NULL, 0, &seq));
	for (at = 0; at < 64; at += 4) {
		kvpt_ok(kvpt_append(a, seq, tok + at, 4));
		kvpt_ok(kvpt_advance(a, seq, at + 4));
	}
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_expect_blocks(a, W, 2, 0, 2);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 64), 64);
	kvpt_ok(kvpt_create(a, 1, tok, 64, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 64);
	kvpt_expect_blocks(a, W, 2, 2, 0);
	/* All at once, without the match, can never be. */
	kvpt_refused(&env, a, kvpt_create(a, 2, tok, 64, NULL), -EFBIG,
		     KVP_REASON_NEVER_FITS, W);
}
END_TEST

START_TEST(test_adopted_node_gets_the_window_block_it_lost)
{
	u64 late, early;

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 4), 0);
	kvpt_ok(kvpt_create_flags(a, KVP_SEQ_NO_MATCH, 1, tok, 4, &early));
	kvpt_ok(kvpt_advance(a, early, 4));
	kvpt_ok(kvpt_publish(a, early));
	ck_assert_uint_eq(kvpt.publish.nr_shared, 1);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 4), 4);
	kvpt_expect_blocks(a, W, 9, 1, 2);
	kvpt_ok(kvpt_free(a, early));
	kvpt_expect_blocks(a, W, 9, 0, 3);
	kvpt_ok(kvpt_create(a, 1, tok, 4, &late));
	ck_assert_uint_eq(kvpt.seq_create.matched, 4);
	kvpt_ok(kvpt_free(a, late));
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 3);
	kvpt_expect_blocks(a, W, 12, 0, 0);
}
END_TEST

START_TEST(test_window_block_of_a_fork_is_not_given_away)
{
	u64 seq, child;

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_ok(kvpt_create_flags(a, KVP_SEQ_NO_MATCH, 1, tok, 4, &seq));
	kvpt_ok(kvpt_advance(a, seq, 4));
	kvpt_ok(kvpt_fork(a, seq, 4, &child));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_invalidate_prefix(a, 1, tok, 4));
	kvpt_ok(kvpt_publish(a, child));
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_free(a, child));
	kvpt_ok(kvpt_reclaim(a, 100));
	kvpt_expect_blocks(a, D, 16, 0, 0);
	kvpt_expect_blocks(a, W, 12, 0, 0);
}
END_TEST

START_TEST(test_nodes_of_freed_forks_can_be_reclaimed)
{
	u64 seq, child;

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_ok(kvpt_create_flags(a, KVP_SEQ_NO_MATCH, 1, tok, 4, &seq));
	kvpt_ok(kvpt_advance(a, seq, 4));
	kvpt_ok(kvpt_fork(a, seq, 4, &child));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_free(a, child));
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 3);
	kvpt_expect_blocks(a, W, 12, 0, 0);
}
END_TEST

START_TEST(test_limit_of_window_blocks_holds_for_a_match)
{
	u64 seq;

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_BLOCKS, W, 1));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 12, &seq), -EDQUOT,
		     KVP_REASON_LIMIT_BLOCKS, W);
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_BLOCKS, W, 2));
	kvpt_ok(kvpt_create(a, 1, tok, 12, &seq));
	ck_assert_uint_eq(kvpt_family_of(a, KVP_STATS_SELF, W).charged, 2);
}
END_TEST

START_TEST(test_used_node_without_held_blocks_is_not_reclaimed)
{
	static const struct kvp_family_desc window = KVPT_WINDOW(16, 4, 1);
	u64 seq, child;

	remake(&window, 1);
	seq = kvpt_computed(a, 1, tok, 12);
	kvpt_ok(kvpt_fork(a, seq, 12, &child));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_expect_blocks(a, 0, 16, 0, 0);
	kvpt_ok(kvpt_free(a, seq));
	/* The child has not published, but the nodes are where its tokens are. */
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 0);
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_publish(a, child));
	ck_assert_uint_eq(kvpt.publish.nr_shared, 3);
	kvpt_ok(kvpt_free(a, child));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 3);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 0);
}
END_TEST

START_TEST(test_window_slots_count_for_the_limit)
{
	u64 seq;

	seq = kvpt_published(a, 1, tok, 12);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_SLOTS, 0, 5));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 12, NULL), -EDQUOT,
		     KVP_REASON_LIMIT_SLOTS, 0);
	kvpt_refused(&env, a, kvpt_create_flags(a, KVP_SEQ_MATCH_ONLY, 1, tok, 12, NULL),
		     -EDQUOT, KVP_REASON_LIMIT_SLOTS, 0);
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_SLOTS, 0, 6));
	kvpt_ok(kvpt_create(a, 1, tok, 12, &seq));
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).slots, 6);
}
END_TEST

/* ---- rows that are gone ---- */

START_TEST(test_truncate_where_the_window_is_gone)
{
	u64 seq = kvpt_computed(a, 1, tok, 14);

	/* The window at 14 begins with token 9, in slot 2. */
	ck_assert_uint_eq(kvpt_nulls(a, seq, W), 3);
	kvpt_refused(&env, a, kvpt_truncate(a, seq, 12), -EOPNOTSUPP,
		     KVP_REASON_WINDOW_RELEASED, W);
	kvpt_refused(&env, a, kvpt_truncate(a, seq, 1), -EOPNOTSUPP,
		     KVP_REASON_WINDOW_RELEASED, W);
	/* At 13 it begins with token 8, which is still there. */
	kvpt_ok(kvpt_truncate(a, seq, 13));
	kvpt_expect_lengths(a, seq, 13, 13, 13, 0);
	ck_assert_uint_eq(kvpt_nulls(a, seq, W), 3);
	kvpt_ok(kvpt_truncate(a, seq, 0));
	ck_assert_uint_eq(kvpt_nulls(a, seq, W), 0);
	kvpt_expect_blocks(a, W, 12, 0, 0);
	kvpt_ok(kvpt_append(a, seq, tok, 14));
	ck_assert_uint_eq(kvpt_nulls(a, seq, W), 0);
	kvpt_expect_blocks(a, W, 8, 4, 0);
}
END_TEST

START_TEST(test_fork_where_the_window_is_gone)
{
	u64 seq = kvpt_computed(a, 1, tok, 14), child;

	kvpt_refused(&env, a, kvpt_fork(a, seq, 12, NULL), -EOPNOTSUPP,
		     KVP_REASON_WINDOW_RELEASED, W);
	kvpt_refused(&env, a, kvpt_fork(a, seq, 0, NULL), -EOPNOTSUPP,
		     KVP_REASON_WINDOW_RELEASED, W);
	kvpt_ok(kvpt_fork(a, seq, 13, &child));
	ck_assert_uint_eq(kvpt_nulls(a, child, W), 3);
	kvpt_ok(kvpt_fork(a, seq, 14, &child));
	ck_assert_uint_eq(kvpt_nulls(a, child, W), 3);
	kvpt_expect_lengths(a, child, 14, 14, 14, 0);
}
END_TEST

START_TEST(test_forks_release_windows_apart)
{
	u64 seq, child, blocks[4];

	kvpt_ok(kvpt_create(a, 1, tok, 8, &seq));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_expect_table(a, seq, W, blocks, 2);
	kvpt_ok(kvpt_fork(a, seq, 8, &child));
	kvpt_ok(kvpt_append(a, seq, tok + 8, 8));
	kvpt_ok(kvpt_advance(a, seq, 16));
	ck_assert_uint_eq(kvpt_nulls(a, seq, W), 3);
	ck_assert_uint_eq(kvpt_nulls(a, child, W), 0);
	ck_assert_uint_eq(kvpt_count(a, blocks[0]), 1);
	kvpt_expect_blocks(a, W, 8, 4, 0);
	kvpt_ok(kvpt_free(a, child));
	kvpt_expect_blocks(a, W, 10, 2, 0);
}
END_TEST

START_TEST(test_copy_on_write_passes_released_windows)
{
	static const struct kvp_family_desc families[] = {
		KVPT_DENSE(16, 4), KVPT_WINDOW(12, 4, 2),
	};
	const struct kvp_pool_create with = { .index_tokens = 16 };
	u64 seq, child, dense[2], window[2];

	/* One node of two blocks; the window's first block is gone. */
	remake_with(&with, families, 2);
	seq = kvpt_computed(a, 1, tok, 6);
	ck_assert_uint_eq(kvpt_nulls(a, seq, W), 1);
	kvpt_expect_table(a, seq, D, dense, 2);
	kvpt_expect_table(a, seq, W, window, 2);
	kvpt_ok(kvpt_fork(a, seq, 6, &child));
	kvpt_ok(kvpt_append(a, child, other, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 3);
	ck_assert_uint_eq(kvpt_copies[0].src, dense[0]);
	ck_assert_uint_eq(kvpt_copies[0].tokens, 4);
	ck_assert_uint_eq(kvpt_copies[1].src, dense[1]);
	ck_assert_uint_eq(kvpt_copies[1].tokens, 2);
	ck_assert_uint_eq(kvpt_copies[2].src, window[1]);
	ck_assert_uint_eq(kvpt_copies[2].tokens, 2);
	ck_assert_uint_eq(kvpt_nulls(a, child, W), 1);
}
END_TEST

/* A sequence of @nr tokens that looks for nothing, computed. */
static u64 computed_anew(const u32 *tokens, u32 nr)
{
	u64 seq;

	kvpt_ok(kvpt_create_flags(a, KVP_SEQ_NO_MATCH, 1, tokens, nr, &seq));
	kvpt_ok(kvpt_advance(a, seq, nr));
	return seq;
}

START_TEST(test_invalidated_copy_of_a_fork_can_be_reclaimed)
{
	u64 seq, child;

	remake_with(&(struct kvp_pool_create){ .index_tokens = 4 },
		    (struct kvp_family_desc[]){ KVPT_DENSE(24, 4), KVPT_WINDOW(16, 2, 5) }, 2);
	seq = computed_anew(tok, 8);
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_free(a, seq));
	/* The child publishes what it shares with its parent, which is invalidated before ... */
	seq = computed_anew(tok, 4);
	kvpt_ok(kvpt_fork(a, seq, KVP_POS_END, &child));
	kvpt_ok(kvpt_publish(a, child));
	kvpt_ok(kvpt_invalidate_prefix(a, 1, tok, 4));
	kvpt_audit_clean(a);
	/* ... the parent publishes it too. Blocks that one lets go may be of the other's node. */
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_free(a, child));
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_reclaim(a, ~0ULL));
	kvpt_expect_blocks(a, D, 24, 0, 0);
	kvpt_expect_blocks(a, W, 16, 0, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("windows");
	TCase *match = tcase_create("match");
	TCase *gone = tcase_create("gone");

	tcase_add_checked_fixture(match, setup, teardown);
	tcase_add_test(match, test_depth_at_which_every_window_is_there);
	tcase_add_test(match, test_windows_published_in_time_stay_usable);
	tcase_add_test(match, test_matched_sequence_holds_what_its_windows_need);
	tcase_add_test(match, test_matched_windows_of_several_blocks_a_node);
	tcase_add_test(match, test_match_tells_blocks_of_a_family);
	tcase_add_test(match, test_match_limit_and_windows);
	tcase_add_test(match, test_nodes_that_could_not_be_used_are_no_use);
	tcase_add_test(match, test_long_prompt_in_a_small_window_family);
	tcase_add_test(match, test_adopted_node_gets_the_window_block_it_lost);
	tcase_add_test(match, test_window_block_of_a_fork_is_not_given_away);
	tcase_add_test(match, test_nodes_of_freed_forks_can_be_reclaimed);
	tcase_add_test(match, test_invalidated_copy_of_a_fork_can_be_reclaimed);
	tcase_add_test(match, test_limit_of_window_blocks_holds_for_a_match);
	tcase_add_test(match, test_used_node_without_held_blocks_is_not_reclaimed);
	tcase_add_test(match, test_window_slots_count_for_the_limit);
	suite_add_tcase(s, match);

	tcase_add_checked_fixture(gone, setup, teardown);
	tcase_add_test(gone, test_truncate_where_the_window_is_gone);
	tcase_add_test(gone, test_fork_where_the_window_is_gone);
	tcase_add_test(gone, test_forks_release_windows_apart);
	tcase_add_test(gone, test_copy_on_write_passes_released_windows);
	suite_add_tcase(s, gone);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

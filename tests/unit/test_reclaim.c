// SPDX-License-Identifier: MIT
/*
 * Reclaim, by KVP_OP_PREFIX_RECLAIM and by allocations: the least recently used leaf
 * first, nothing that is held, nothing for a call that fails.
 */
#include <check.h>

#include "unit.h"

static struct kvpt_env env;
static struct kvp_client *a;
static u32 tok[64], other[64], third[64];

static void setup(void)
{
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(16, 4) }, 1);
	kvpt_tokens(tok, 64, 1);
	kvpt_tokens(other, 64, 2);
	kvpt_tokens(third, 64, 3);
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

/* Reclaim one node: it must be the last one of these tokens, of which @nr were published. */
static void expect_next(const u32 *tokens, u32 nr)
{
	ck_assert_uint_eq(kvpt_matched(a, 1, tokens, nr), nr);
	kvpt_ok(kvpt_reclaim(a, 1));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 1);
	ck_assert_uint_eq(kvpt_matched(a, 1, tokens, nr), nr - 4);
	kvpt_audit_clean(a);
}

static void expect_nothing_left(void)
{
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 0);
}

/* Use the prefix as a request does. */
static void use(const u32 *tokens, u32 nr)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tokens, nr, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, nr / 4 * 4);
	kvpt_ok(kvpt_free(a, seq));
}

/* ---- the order ---- */

START_TEST(test_leaf_first)
{
	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	expect_next(tok, 12);
	expect_next(tok, 8);
	expect_next(tok, 4);
	expect_nothing_left();
	kvpt_expect_blocks(a, 0, 16, 0, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).reclaimed_nodes, 3);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).reclaimed_blocks, 3);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 0);
}
END_TEST

START_TEST(test_least_recently_freed_first)
{
	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_make_published(a, 1, other, 8));
	kvpt_ok(kvpt_make_published(a, 1, third, 4));
	expect_next(tok, 8);
	expect_next(tok, 4);
	expect_next(other, 8);
	expect_next(other, 4);
	expect_next(third, 4);
	expect_nothing_left();
}
END_TEST

START_TEST(test_use_makes_it_the_newest)
{
	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_make_published(a, 1, other, 8));
	use(tok, 8);
	expect_next(other, 8);
	expect_next(other, 4);
	expect_next(tok, 8);
	expect_next(tok, 4);
}
END_TEST

START_TEST(test_use_of_the_beginning_only)
{
	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_make_published(a, 1, other, 4));
	kvpt_ok(kvpt_make_published(a, 1, third, 4));
	use(tok, 4);
	/* Its end was used longest ago; its beginning just now. */
	expect_next(tok, 8);
	expect_next(other, 4);
	expect_next(third, 4);
	expect_next(tok, 4);
}
END_TEST

START_TEST(test_order_is_that_of_use_not_of_becoming_a_leaf)
{
	memcpy(other, tok, 4 * sizeof(*tok));
	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_make_published(a, 1, other, 8));
	kvpt_ok(kvpt_make_published(a, 1, third, 4));
	/* Both ends before what they share, and all of that before the third. */
	expect_next(tok, 8);
	expect_next(other, 8);
	expect_next(tok, 4);
	expect_next(third, 4);
}
END_TEST

START_TEST(test_beginning_with_two_ends_waits_for_both)
{
	u64 seq;

	memcpy(other, tok, 4 * sizeof(*tok));
	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	seq = kvpt_published(a, 1, other, 8);
	expect_next(tok, 8);
	expect_nothing_left();
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 8), 8);
	kvpt_ok(kvpt_free(a, seq));
	expect_next(other, 8);
	expect_next(other, 4);
}
END_TEST

START_TEST(test_a_look_is_no_use)
{
	kvpt_ok(kvpt_make_published(a, 1, tok, 4));
	kvpt_ok(kvpt_make_published(a, 1, other, 4));
	kvpt_ok(kvpt_match(a, 1, tok, 4, NULL));
	expect_next(tok, 4);
	expect_next(other, 4);
}
END_TEST

START_TEST(test_a_held_match_is_a_use)
{
	u64 match;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_make_published(a, 1, other, 4));
	kvpt_ok(kvpt_match(a, 1, tok, 8, &match));
	kvpt_ok(kvpt_release(a, match));
	expect_next(other, 4);
	expect_next(tok, 8);
	expect_next(tok, 4);
}
END_TEST

START_TEST(test_order_of_what_was_kept_from_reclaim)
{
	u64 first, second;

	kvpt_ok(kvpt_make_published(a, 1, tok, 4));
	kvpt_ok(kvpt_make_published(a, 1, other, 4));
	kvpt_ok(kvpt_make_published(a, 1, third, 4));
	first = kvpt_computed(a, 1, tok, 8);
	second = kvpt_computed(a, 1, other, 8);
	/* Reclaim meets the two that are held. */
	expect_next(third, 4);
	expect_nothing_left();
	kvpt_ok(kvpt_free(a, second));
	kvpt_ok(kvpt_free(a, first));
	expect_next(other, 4);
	expect_next(tok, 4);
}
END_TEST

START_TEST(test_order_survives_publishing_below)
{
	u64 seq;

	kvpt_ok(kvpt_make_published(a, 1, tok, 4));
	kvpt_ok(kvpt_make_published(a, 1, other, 4));
	/* A chain position below does not hold the blocks above it with KEEP. */
	kvpt_ok(kvpt_create_flags(a, KVP_SEQ_NO_MATCH, 1, tok, 8, &seq));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish_with(a, seq, KVP_PUBLISH_KEEP, 0, 0));
	expect_next(other, 4);
	expect_nothing_left();
	kvpt_ok(kvpt_free(a, seq));
	expect_next(tok, 8);
	expect_next(tok, 4);
}
END_TEST

/* ---- what is held ---- */

START_TEST(test_nothing_that_is_held)
{
	u64 seq = kvpt_published(a, 1, tok, 12), block, match;

	expect_nothing_left();
	kvpt_ok(kvpt_table(a, seq, 0, &block, 1));
	kvpt_ok(kvpt_ref_from(a, seq, 0, &block, 1));
	kvpt_ok(kvpt_match(a, 1, tok, 8, &match));
	kvpt_ok(kvpt_free(a, seq));
	expect_next(tok, 12);
	expect_nothing_left();
	kvpt_ok(kvpt_release(a, match));
	expect_next(tok, 8);
	expect_nothing_left();
	kvpt_ok(kvpt_unref(a, &block, 1));
	expect_next(tok, 4);
}
END_TEST

START_TEST(test_shorter_sequence_holds_its_part)
{
	u64 seq;

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_ok(kvpt_create(a, 1, tok, 4, &seq));
	expect_next(tok, 12);
	expect_next(tok, 8);
	expect_nothing_left();
	kvpt_ok(kvpt_free(a, seq));
	expect_next(tok, 4);
}
END_TEST

START_TEST(test_chain_position_of_a_sequence_with_its_own_blocks)
{
	u64 seq;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_create_flags(a, KVP_SEQ_NO_MATCH, 1, tok, 8, &seq));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish_with(a, seq, KVP_PUBLISH_KEEP, 0, 0));
	kvpt_expect_blocks(a, 0, 12, 2, 2);
	/* It holds none of the blocks, but would publish below. */
	expect_nothing_left();
	kvpt_ok(kvpt_truncate(a, seq, 4));
	expect_next(tok, 8);
	expect_nothing_left();
	kvpt_ok(kvpt_free(a, seq));
	expect_next(tok, 4);
}
END_TEST

START_TEST(test_private_blocks_are_not_reclaimed)
{
	u64 seq = kvpt_computed(a, 1, tok, 12);

	expect_nothing_left();
	kvpt_expect_blocks(a, 0, 13, 3, 0);
	kvpt_ok(kvpt_free(a, seq));
}
END_TEST

/* ---- by allocations ---- */

START_TEST(test_free_blocks_go_first)
{
	u64 blocks[13];

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_ok(kvpt_alloc(a, 0, 13, blocks));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).reclaimed_blocks, 0);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
	kvpt_ok(kvpt_alloc(a, 0, 1, blocks));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).reclaimed_blocks, 1);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 8);
}
END_TEST

START_TEST(test_no_more_than_is_needed)
{
	u64 blocks[8];

	kvpt_ok(kvpt_make_published(a, 1, tok, 24));
	kvpt_ok(kvpt_make_published(a, 1, other, 24));
	kvpt_expect_blocks(a, 0, 4, 0, 12);
	kvpt_ok(kvpt_alloc(a, 0, 8, blocks));
	kvpt_expect_blocks(a, 0, 0, 8, 8);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 24), 8);
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 24), 24);
}
END_TEST

START_TEST(test_old_ids_are_refused_after_reclaim)
{
	u64 seq = kvpt_published(a, 1, tok, 4), old, blocks[16];
	u32 i;

	kvpt_expect_table(a, seq, 0, &old, 1);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_alloc(a, 0, 16, blocks));
	for (i = 0; i < 16; i++)
		ck_assert_uint_ne(blocks[i], old);
	kvpt_refused(&env, a, kvpt_ref(a, &old, 1), -ESTALE, KVP_REASON_GENERATION, 0);
}
END_TEST

START_TEST(test_whole_pool_turned_over)
{
	u32 round, i;
	u64 seq;

	for (round = 0; round < 200; round++) {
		kvpt_tokens(tok, 64, 10 + round);
		kvpt_ok(kvpt_create(a, 1, tok, 20 + round % 30, &seq));
		kvpt_ok(kvpt_advance(a, seq, 20 + round % 30));
		kvpt_ok(kvpt_publish(a, seq));
		kvpt_ok(kvpt_free(a, seq));
	}
	kvpt_audit_clean(a);
	ck_assert_uint_eq(kvpt_blocks(a, 0, KVP_BLOCK_HELD), 0);
	kvpt_ok(kvpt_reclaim(a, 100));
	i = kvpt.reclaim.nodes;
	ck_assert_uint_gt(i, 0);
	kvpt_expect_blocks(a, 0, 16, 0, 0);
}
END_TEST

START_TEST(test_more_than_a_slice)
{
	static u32 many[4096];
	static u64 blocks[1500];

	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(2000, 4) }, 1);
	kvpt_tokens(many, 4096, 1);
	kvpt_ok(kvpt_make_published(a, 1, many, 4096));
	kvpt_ok(kvpt_alloc(a, 0, 1500, blocks));
	ck_assert_uint_eq(kvpt_matched(a, 1, many, 4096), 500 * 4);
	kvpt_expect_blocks(a, 0, 0, 1500, 500);
	kvpt_audit_clean(a);
	kvpt_refused(&env, a, kvpt_alloc(a, 0, 501, blocks), -ENOSPC, KVP_REASON_POOL_FULL, 0);
}
END_TEST

/* ---- calls that fail reclaim nothing ---- */

START_TEST(test_failed_alloc_changes_nothing)
{
	u64 match, blocks[13];

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_make_published(a, 1, other, 8));
	kvpt_ok(kvpt_match(a, 1, tok, 4, &match));
	kvpt_refused(&env, a, kvpt_alloc(a, 0, 16, (u64[16]) { }), -ENOSPC,
		     KVP_REASON_COVERED, 0);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 8), 8);
	kvpt_ok(kvpt_alloc(a, 0, 13, blocks));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 4);
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 8), 8);
}
END_TEST

START_TEST(test_order_after_a_failed_reclaim)
{
	u64 match;

	memcpy(third, tok, 8 * sizeof(*tok));
	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_ok(kvpt_make_published(a, 1, other, 8));
	kvpt_ok(kvpt_make_published(a, 1, third, 16));
	kvpt_ok(kvpt_make_published(a, 2, tok, 4));
	kvpt_ok(kvpt_match(a, 2, tok, 4, &match));
	/* All but one can be taken, so all is tried, and put back. */
	kvpt_refused(&env, a, kvpt_alloc(a, 0, 16, (u64[16]) { }), -ENOSPC,
		     KVP_REASON_COVERED, 0);
	expect_next(tok, 12);
	expect_next(other, 8);
	expect_next(other, 4);
	expect_next(third, 16);
	expect_next(third, 12);
	expect_next(third, 8);
	expect_next(third, 4);
	expect_nothing_left();
	kvpt_ok(kvpt_release(a, match));
}
END_TEST

START_TEST(test_failed_reclaim_of_nodes_with_digests)
{
	const struct kvp_extra extra = kvpt_extra(0, 7);
	const struct kvp_seq_create with = { .extras = (u64)(uintptr_t)&extra, .nr_extras = 1 };
	const struct kvp_prefix_match look = { .extras = (u64)(uintptr_t)&extra, .nr_extras = 1 };
	u64 seq, match;

	kvpt_ok(kvpt_create_with(a, &with, 1, tok, 8, &seq));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_make_published(a, 1, other, 8));
	kvpt_ok(kvpt_match(a, 1, other, 4, &match));
	kvpt_refused(&env, a, kvpt_alloc(a, 0, 16, (u64[16]) { }), -ENOSPC,
		     KVP_REASON_COVERED, 0);
	kvpt_ok(kvpt_match_with(a, &look, 1, tok, 8));
	ck_assert_uint_eq(kvpt.match.matched, 8);
	kvpt_ok(kvpt_release(a, match));
}
END_TEST

START_TEST(test_failed_create_is_no_use)
{
	u64 blocks[12];

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_make_published(a, 1, other, 8));
	kvpt_ok(kvpt_alloc(a, 0, 12, blocks));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 24, NULL), -ENOSPC,
		     KVP_REASON_POOL_FULL, 0);
	expect_next(tok, 8);
	expect_next(tok, 4);
	expect_next(other, 8);
}
END_TEST

START_TEST(test_create_over_a_limit_is_no_use)
{
	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_make_published(a, 1, other, 8));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_BLOCKS, 0, 1));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 8, NULL), -EDQUOT,
		     KVP_REASON_LIMIT_BLOCKS, 0);
	expect_next(tok, 8);
	expect_next(tok, 4);
	expect_next(other, 8);
}
END_TEST

START_TEST(test_refused_match_is_no_use)
{
	u64 match;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_make_published(a, 1, other, 8));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_MATCHES, 0, 0));
	kvpt_refused(&env, a, kvpt_match(a, 1, tok, 8, &match), -EDQUOT,
		     KVP_REASON_LIMIT_MATCHES, 0);
	expect_next(tok, 8);
	expect_next(tok, 4);
	expect_next(other, 8);
}
END_TEST

/* ---- refusals of KVP_OP_PREFIX_RECLAIM ---- */

START_TEST(test_zero_nodes)
{
	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_refused(&env, a, kvpt_reclaim(a, 0), -EINVAL, KVP_REASON_COUNT, 0);
}
END_TEST

START_TEST(test_as_many_as_there_are)
{
	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_reclaim(a, ~0ULL));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 2);
}
END_TEST

START_TEST(test_right_to_administer)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);

	kvpt_ok(kvpt_make_published(b, 1, tok, 8));
	kvpt_refused(&env, a, kvpt_reclaim(b, 1), -EACCES, KVP_REASON_RIGHT_ADMIN, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("reclaim");
	TCase *order = tcase_create("order");
	TCase *held = tcase_create("held");
	TCase *need = tcase_create("need");
	TCase *fails = tcase_create("fails");

	tcase_add_checked_fixture(order, setup, teardown);
	tcase_add_test(order, test_leaf_first);
	tcase_add_test(order, test_least_recently_freed_first);
	tcase_add_test(order, test_use_makes_it_the_newest);
	tcase_add_test(order, test_use_of_the_beginning_only);
	tcase_add_test(order, test_order_is_that_of_use_not_of_becoming_a_leaf);
	tcase_add_test(order, test_beginning_with_two_ends_waits_for_both);
	tcase_add_test(order, test_a_look_is_no_use);
	tcase_add_test(order, test_a_held_match_is_a_use);
	tcase_add_test(order, test_order_of_what_was_kept_from_reclaim);
	tcase_add_test(order, test_order_survives_publishing_below);
	suite_add_tcase(s, order);

	tcase_add_checked_fixture(held, setup, teardown);
	tcase_add_test(held, test_nothing_that_is_held);
	tcase_add_test(held, test_shorter_sequence_holds_its_part);
	tcase_add_test(held, test_chain_position_of_a_sequence_with_its_own_blocks);
	tcase_add_test(held, test_private_blocks_are_not_reclaimed);
	suite_add_tcase(s, held);

	tcase_add_checked_fixture(need, setup, teardown);
	tcase_add_test(need, test_free_blocks_go_first);
	tcase_add_test(need, test_no_more_than_is_needed);
	tcase_add_test(need, test_old_ids_are_refused_after_reclaim);
	tcase_add_test(need, test_whole_pool_turned_over);
	tcase_add_test(need, test_more_than_a_slice);
	suite_add_tcase(s, need);

	tcase_add_checked_fixture(fails, setup, teardown);
	tcase_add_test(fails, test_failed_alloc_changes_nothing);
	tcase_add_test(fails, test_order_after_a_failed_reclaim);
	tcase_add_test(fails, test_failed_reclaim_of_nodes_with_digests);
	tcase_add_test(fails, test_failed_create_is_no_use);
	tcase_add_test(fails, test_create_over_a_limit_is_no_use);
	tcase_add_test(fails, test_refused_match_is_no_use);
	tcase_add_test(fails, test_zero_nodes);
	tcase_add_test(fails, test_as_many_as_there_are);
	tcase_add_test(fails, test_right_to_administer);
	suite_add_tcase(s, fails);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

// SPDX-License-Identifier: MIT
/*
 * KVP_OP_PREFIX_MATCH and KVP_OP_PREFIX_RELEASE: how much is published, what a held match
 * keeps, and each refusal alone. Pools with windows and state are in test_families.c.
 */
#include <check.h>

#include "unit.h"

static struct kvpt_env env;
static struct kvp_client *a;
static u32 tok[64], other[64];

static void setup(void)
{
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(16, 4) }, 1);
	kvpt_tokens(tok, 64, 1);
	kvpt_tokens(other, 64, 2);
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

/* Raw references on blocks that a match answers for. */
static int ref_match(u64 match, u64 first, u64 *blocks, u32 nr)
{
	struct kvp_block_refs arg = {
		.head.flags = KVP_BLOCK_REF_MATCH,
		.blocks = (u64)(uintptr_t)blocks,
		.nr = nr,
		.holder = match,
		.first = first,
	};

	return kvpt_do(a, KVP_OP_BLOCK_REF, &arg);
}

static int match_extras(const u32 *tokens, u32 nr, const struct kvp_extra *extras, u32 nr_extras)
{
	const struct kvp_prefix_match with = {
		.extras = (u64)(uintptr_t)extras,
		.nr_extras = nr_extras,
	};

	return kvpt_match_with(a, &with, 1, tokens, nr);
}

/* ---- how much ---- */

START_TEST(test_longest_published_prefix)
{
	static const u32 lengths[][2] = { { 1, 0 }, { 3, 0 }, { 4, 4 }, { 7, 4 }, { 11, 8 },
					  { 12, 12 }, { 20, 12 } };
	u32 i;

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	for (i = 0; i < ARRAY_SIZE(lengths); i++)
		ck_assert_uint_eq(kvpt_matched(a, 1, tok, lengths[i][0]), lengths[i][1]);
}
END_TEST

START_TEST(test_one_different_token_ends_it)
{
	u32 i;

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	for (i = 0; i < 12; i++) {
		memcpy(other, tok, 12 * sizeof(*tok));
		other[i] ^= 1;
		ck_assert_uint_eq(kvpt_matched(a, 1, other, 12), i / 4 * 4);
	}
}
END_TEST

START_TEST(test_equal_tokens_after_another_prefix_are_no_match)
{
	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok + 4, 8), 0);
	kvpt_ok(kvpt_make_published(a, 1, tok + 4, 4));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok + 4, 8), 4);
}
END_TEST

START_TEST(test_namespaces_are_apart)
{
	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	ck_assert_uint_eq(kvpt_matched(a, 2, tok, 12), 0);
	kvpt_ok(kvpt_make_published(a, 2, tok, 4));
	ck_assert_uint_eq(kvpt_matched(a, 2, tok, 12), 4);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
}
END_TEST

START_TEST(test_extra_digests_are_compared)
{
	const struct kvp_extra right[2] = { kvpt_extra(1, 7), kvpt_extra(2, 8) };
	const struct kvp_extra wrong[2] = { kvpt_extra(1, 7), kvpt_extra(2, 9) };
	const struct kvp_extra more[3] = { kvpt_extra(0, 5), kvpt_extra(1, 7), kvpt_extra(2, 8) };
	const struct kvp_seq_create with = {
		.extras = (u64)(uintptr_t)right,
		.nr_extras = 2,
	};
	u64 seq;

	kvpt_ok(kvpt_create_with(a, &with, 1, tok, 12, &seq));
	kvpt_ok(kvpt_advance(a, seq, 12));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(match_extras(tok, 12, right, 2));
	ck_assert_uint_eq(kvpt.match.matched, 12);
	kvpt_ok(match_extras(tok, 12, right, 1));
	ck_assert_uint_eq(kvpt.match.matched, 8);
	kvpt_ok(match_extras(tok, 12, right + 1, 1));
	ck_assert_uint_eq(kvpt.match.matched, 4);
	kvpt_ok(match_extras(tok, 12, wrong, 2));
	ck_assert_uint_eq(kvpt.match.matched, 8);
	kvpt_ok(match_extras(tok, 12, more, 3));
	ck_assert_uint_eq(kvpt.match.matched, 0);
	/* Digests of nodes that are not full are no part of a match. */
	kvpt_ok(match_extras(tok, 11, right, 2));
	ck_assert_uint_eq(kvpt.match.matched, 8);
}
END_TEST

START_TEST(test_unpublished_tokens_are_no_match)
{
	u64 seq = kvpt_computed(a, 1, tok, 12);

	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 0);
	kvpt_ok(kvpt_publish_with(a, seq, 0, 8, 0));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 8);
}
END_TEST

START_TEST(test_other_clients_match_too)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE);

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	ck_assert_uint_eq(kvpt_matched(b, 1, tok, 12), 12);
}
END_TEST

START_TEST(test_blocks_of_the_match)
{
	u64 seq = kvpt_published(a, 1, tok, 12), table[3], blocks[4] = { 1, 2, 3, 4 };

	kvpt_expect_table(a, seq, 0, table, 3);
	kvpt_ok(kvpt_match_blocks(a, 1, tok, 14, 0, blocks, 4, NULL));
	ck_assert_uint_eq(kvpt.match.matched, 12);
	ck_assert_uint_eq(kvpt.match.nr_blocks, 3);
	ck_assert_mem_eq(blocks, table, sizeof(table));

	kvpt_ok(kvpt_match_blocks(a, 1, tok, 14, 0, blocks, 2, NULL));
	ck_assert_uint_eq(kvpt.match.matched, 12);
	ck_assert_uint_eq(kvpt.match.nr_blocks, 2);
	kvpt_ok(kvpt_match_blocks(a, 1, tok, 6, 0, blocks, 4, NULL));
	ck_assert_uint_eq(kvpt.match.nr_blocks, 1);
	kvpt_ok(kvpt_match_blocks(a, 1, other, 6, 0, blocks, 4, NULL));
	ck_assert_uint_eq(kvpt.match.nr_blocks, 0);
}
END_TEST

START_TEST(test_counters_of_a_match)
{
	struct kvp_stats was, is;

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	was = kvpt_counters_of(a, 0);
	kvpt_ok(kvpt_match(a, 1, tok, 19, NULL));
	is = kvpt_counters_of(a, 0);
	ck_assert_uint_eq(is.looked_up_nodes, was.looked_up_nodes + 4);
	ck_assert_uint_eq(is.matched_nodes, was.matched_nodes + 3);
	kvpt_ok(kvpt_match(a, 2, tok, 19, NULL));
	is = kvpt_counters_of(a, 0);
	ck_assert_uint_eq(is.looked_up_nodes, was.looked_up_nodes + 8);
	ck_assert_uint_eq(is.matched_nodes, was.matched_nodes + 3);
}
END_TEST

START_TEST(test_a_long_prefix)
{
	static u32 many[8000];
	u64 match;

	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(2000, 4) }, 1);
	kvpt_tokens(many, 8000, 1);
	kvpt_ok(kvpt_make_published(a, 1, many, 8000));
	ck_assert_uint_eq(kvpt_matched(a, 1, many, 8000), 8000);
	ck_assert_uint_eq(kvpt_matched(a, 1, many, 7777), 7776);
	many[5000]++;
	kvpt_ok(kvpt_match(a, 1, many, 8000, &match));
	ck_assert_uint_eq(kvpt.match.matched, 5000);
	kvpt_ok(kvpt_reclaim(a, 10000));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 750);
	kvpt_ok(kvpt_release(a, match));
	kvpt_ok(kvpt_reclaim(a, 10000));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 1250);
}
END_TEST

/* ---- hold and release ---- */

START_TEST(test_a_look_holds_nothing)
{
	const struct kvp_prefix_match with = { .match = 5 };

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_ok(kvpt_match_with(a, &with, 1, tok, 12));
	ck_assert_uint_eq(kvpt.match.matched, 12);
	ck_assert_uint_eq(kvpt.match.match, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).matches, 0);
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 3);
}
END_TEST

START_TEST(test_held_match_keeps_its_prefix)
{
	u64 match;

	kvpt_ok(kvpt_make_published(a, 1, tok, 16));
	kvpt_ok(kvpt_match(a, 1, tok, 8, &match));
	ck_assert_uint_ne(match, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).matches, 1);
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).matches, 1);
	kvpt_expect_blocks(a, 0, 12, 0, 4);
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 2);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 16), 8);
	kvpt_ok(kvpt_release(a, match));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).matches, 0);
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 2);
	kvpt_expect_blocks(a, 0, 16, 0, 0);
}
END_TEST

START_TEST(test_nothing_matched_holds_nothing)
{
	u64 match = 1;

	kvpt_ok(kvpt_match(a, 1, tok, 8, &match));
	ck_assert_uint_eq(match, 0);
	ck_assert_uint_eq(kvpt.match.matched, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).matches, 0);
	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_match(a, 1, tok, 3, &match));
	ck_assert_uint_eq(match, 0);
}
END_TEST

START_TEST(test_two_matches_of_one_node)
{
	u64 match[2];

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_match(a, 1, tok, 8, &match[0]));
	kvpt_ok(kvpt_match(a, 1, tok, 8, &match[1]));
	ck_assert_uint_ne(match[0], match[1]);
	kvpt_ok(kvpt_release(a, match[0]));
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 0);
	kvpt_ok(kvpt_release(a, match[1]));
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 2);
}
END_TEST

START_TEST(test_blocks_of_a_held_match_can_be_referenced)
{
	u64 match, blocks[2];

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_match_blocks(a, 1, tok, 8, 0, blocks, 2, &match));
	ck_assert_int_eq(ref_match(match, 0, blocks, 2), 0);
	kvpt_ok(kvpt_release(a, match));
	kvpt_expect_blocks(a, 0, 14, 2, 0);
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 0);
	kvpt_ok(kvpt_unref(a, blocks, 2));
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 2);
}
END_TEST

START_TEST(test_matches_end_with_their_client)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	u64 match;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_match(b, 1, tok, 8, &match));
	kvpt_close(&env, b);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).matches, 0);
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 2);
}
END_TEST

/* ---- refusals ---- */

START_TEST(test_unknown_flag)
{
	const struct kvp_prefix_match with = { .head.flags = 1U << 1 };

	kvpt_refused(&env, a, kvpt_match_with(a, &with, 1, tok, 8), -EINVAL,
		     KVP_REASON_FLAG, 0);
}
END_TEST

START_TEST(test_no_tokens)
{
	kvpt_refused(&env, a, kvpt_match(a, 1, NULL, 0, NULL), -EINVAL, KVP_REASON_COUNT,
		     kvpt_at(struct kvp_prefix_match, nr_tokens));
}
END_TEST

START_TEST(test_too_many_tokens)
{
	kvpt_refused(&env, a, kvpt_match(a, 1, tok, KVP_MAX_CALL_TOKENS + 1, NULL), -EOVERFLOW,
		     KVP_REASON_COUNT, kvpt_at(struct kvp_prefix_match, nr_tokens));
}
END_TEST

START_TEST(test_tokens_without_a_pointer)
{
	kvpt_refused(&env, a, kvpt_match(a, 1, NULL, 8, NULL), -EFAULT, KVP_REASON_POINTER,
		     kvpt_at(struct kvp_prefix_match, tokens));
}
END_TEST

START_TEST(test_wrong_extras)
{
	const struct kvp_extra late[2] = { kvpt_extra(1, 7), kvpt_extra(2, 8) };
	const struct kvp_extra turned[2] = { kvpt_extra(1, 7), kvpt_extra(0, 8) };
	const struct kvp_extra twice[2] = { kvpt_extra(1, 7), kvpt_extra(1, 8) };

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_refused(&env, a, match_extras(tok, 8, late, 2), -EINVAL, KVP_REASON_EXTRA, 1);
	kvpt_refused(&env, a, match_extras(tok, 8, turned, 2), -EINVAL, KVP_REASON_EXTRA, 1);
	kvpt_refused(&env, a, match_extras(tok, 8, twice, 2), -EINVAL, KVP_REASON_EXTRA, 1);
}
END_TEST

START_TEST(test_family_that_is_not)
{
	const struct kvp_prefix_match with = { .family = 1 };

	kvpt_refused(&env, a, kvpt_match_with(a, &with, 1, tok, 8), -EINVAL,
		     KVP_REASON_FAMILY, 1);
}
END_TEST

START_TEST(test_limit_of_matches)
{
	u64 match;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_MATCHES, 0, 1));
	kvpt_ok(kvpt_match(a, 1, tok, 8, &match));
	kvpt_refused(&env, a, kvpt_match(a, 1, tok, 4, &(u64){ 0 }), -EDQUOT,
		     KVP_REASON_LIMIT_MATCHES, 0);
	/* Looking needs no room. */
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
	kvpt_ok(kvpt_release(a, match));
	kvpt_ok(kvpt_match(a, 1, tok, 4, &match));
}
END_TEST

START_TEST(test_limit_of_metadata)
{
	u64 match;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_METADATA, 0, 1));
	kvpt_refused(&env, a, kvpt_match(a, 1, tok, 8, &match), -EDQUOT,
		     KVP_REASON_LIMIT_METADATA, 0);
}
END_TEST

START_TEST(test_right_to_use)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_PUBLISH);

	kvpt_refused(&env, a, kvpt_match(b, 1, tok, 8, NULL), -EACCES,
		     KVP_REASON_RIGHT_USE, 0);
	kvpt_refused(&env, a, kvpt_release(b, 1ULL << 32), -EACCES, KVP_REASON_RIGHT_USE, 0);
}
END_TEST

START_TEST(test_release_of_unknown_matches)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	u64 match;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_refused(&env, a, kvpt_release(a, 0), -ENOENT, KVP_REASON_NO_MATCH, 0);
	kvpt_refused(&env, a, kvpt_release(a, 1ULL << 32 | 77), -ENOENT,
		     KVP_REASON_NO_MATCH, 0);
	kvpt_ok(kvpt_match(a, 1, tok, 8, &match));
	kvpt_refused(&env, a, kvpt_release(b, match), -ENOENT, KVP_REASON_NO_MATCH, 0);
	kvpt_ok(kvpt_release(a, match));
	kvpt_refused(&env, a, kvpt_release(a, match), -ESTALE, KVP_REASON_GENERATION, 0);
}
END_TEST

START_TEST(test_a_sequence_is_no_match)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 8, &seq));
	kvpt_refused(&env, a, kvpt_release(a, seq), -ENOENT, KVP_REASON_NO_MATCH, 0);
}
END_TEST

START_TEST(test_result_that_cannot_be_written)
{
	struct kvp_client *b;
	u64 match, blocks[2];
	u32 i;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	env.door = &kvpt_failing_door;
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	for (i = 1; i <= 2; i++) {
		kvpt_fail_write = i;
		ck_assert_int_eq(kvpt_match_blocks(b, 1, tok, 8, 0, blocks, 2, &match), -EFAULT);
		ck_assert_int_eq(kvpt_fail_write, 0);
		ck_assert_uint_eq(kvpt_counters_of(a, 0).matches, 0);
	}
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 2);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("prefix_match");
	TCase *much = tcase_create("how much");
	TCase *hold = tcase_create("hold");
	TCase *refuses = tcase_create("refuses");

	tcase_add_checked_fixture(much, setup, teardown);
	tcase_add_test(much, test_longest_published_prefix);
	tcase_add_test(much, test_one_different_token_ends_it);
	tcase_add_test(much, test_equal_tokens_after_another_prefix_are_no_match);
	tcase_add_test(much, test_namespaces_are_apart);
	tcase_add_test(much, test_extra_digests_are_compared);
	tcase_add_test(much, test_unpublished_tokens_are_no_match);
	tcase_add_test(much, test_other_clients_match_too);
	tcase_add_test(much, test_blocks_of_the_match);
	tcase_add_test(much, test_counters_of_a_match);
	tcase_add_test(much, test_a_long_prefix);
	suite_add_tcase(s, much);

	tcase_add_checked_fixture(hold, setup, teardown);
	tcase_add_test(hold, test_a_look_holds_nothing);
	tcase_add_test(hold, test_held_match_keeps_its_prefix);
	tcase_add_test(hold, test_nothing_matched_holds_nothing);
	tcase_add_test(hold, test_two_matches_of_one_node);
	tcase_add_test(hold, test_blocks_of_a_held_match_can_be_referenced);
	tcase_add_test(hold, test_matches_end_with_their_client);
	suite_add_tcase(s, hold);

	tcase_add_checked_fixture(refuses, setup, teardown);
	tcase_add_test(refuses, test_unknown_flag);
	tcase_add_test(refuses, test_no_tokens);
	tcase_add_test(refuses, test_too_many_tokens);
	tcase_add_test(refuses, test_tokens_without_a_pointer);
	tcase_add_test(refuses, test_wrong_extras);
	tcase_add_test(refuses, test_family_that_is_not);
	tcase_add_test(refuses, test_limit_of_matches);
	tcase_add_test(refuses, test_limit_of_metadata);
	tcase_add_test(refuses, test_right_to_use);
	tcase_add_test(refuses, test_release_of_unknown_matches);
	tcase_add_test(refuses, test_a_sequence_is_no_match);
	tcase_add_test(refuses, test_result_that_cannot_be_written);
	suite_add_tcase(s, refuses);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

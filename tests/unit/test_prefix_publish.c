// SPDX-License-Identifier: MIT
/*
 * KVP_OP_PREFIX_PUBLISH: what others can match afterwards, whose blocks a sequence has
 * then, and each refusal alone.
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

/* A sequence with computed blocks of its own, whatever is published. */
static u64 own(struct kvp_client *client, const u32 *tokens, u32 nr)
{
	u64 seq;

	kvpt_ok(kvpt_create_flags(client, KVP_SEQ_NO_MATCH, 1, tokens, nr, &seq));
	kvpt_ok(kvpt_advance(client, seq, nr));
	return seq;
}

/* ---- success ---- */

START_TEST(test_full_computed_nodes_are_published)
{
	u64 seq, was[4], is[4];
	struct kvp_stats stats;

	kvpt_ok(kvpt_create(a, 1, tok, 15, &seq));
	kvpt_ok(kvpt_advance(a, seq, 11));
	kvpt_expect_table(a, seq, 0, was, 4);
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 8);
	ck_assert_uint_eq(kvpt.publish.nr_new, 2);
	ck_assert_uint_eq(kvpt.publish.nr_shared, 0);
	kvpt_expect_lengths(a, seq, 15, 11, 15, 8);
	kvpt_expect_table(a, seq, 0, is, 4);
	ck_assert_mem_eq(was, is, sizeof(was));
	kvpt_expect_blocks(a, 0, 12, 4, 0);
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).published, 2);
	stats = kvpt_counters_of(a, 0);
	ck_assert_uint_eq(stats.published_nodes, 2);
	ck_assert_uint_eq(stats.shared_nodes, 0);
	ck_assert_uint_eq(stats.nodes_published, 2);
	ck_assert_uint_eq(stats.nodes_used, 1 + 4);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 15), 8);
}
END_TEST

START_TEST(test_publish_goes_on_where_it_was)
{
	u64 seq = kvpt_published(a, 1, tok, 8);

	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 8);
	ck_assert_uint_eq(kvpt.publish.nr_new, 0);
	ck_assert_uint_eq(kvpt.publish.nr_shared, 0);
	kvpt_ok(kvpt_append(a, seq, tok + 8, 5));
	kvpt_ok(kvpt_advance(a, seq, 13));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 12);
	ck_assert_uint_eq(kvpt.publish.nr_new, 1);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 13), 12);
}
END_TEST

START_TEST(test_publish_up_to_a_limit)
{
	static const u32 limits[][3] = { { 3, 0, 0 }, { 4, 4, 1 }, { 7, 4, 0 }, { 11, 8, 1 },
					 { 99, 16, 2 }, { 4, 16, 0 } };
	u64 seq = kvpt_computed(a, 1, tok, 16);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		kvpt_ok(kvpt_publish_with(a, seq, 0, limits[i][0], 0));
		ck_assert_uint_eq(kvpt.publish.published, limits[i][1]);
		ck_assert_uint_eq(kvpt.publish.nr_new, limits[i][2]);
		ck_assert_uint_eq(kvpt_matched(a, 1, tok, 16), limits[i][1]);
	}
}
END_TEST

START_TEST(test_nothing_computed_publishes_nothing)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 15, &seq));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 0);
	kvpt_ok(kvpt_create(a, 1, NULL, 0, &seq));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_published, 0);
}
END_TEST

START_TEST(test_equal_nodes_are_adopted)
{
	u64 first = kvpt_published(a, 1, tok, 8), second, theirs[2], blocks[3];
	struct kvp_stats stats;

	kvpt_expect_table(a, first, 0, theirs, 2);
	second = own(a, tok, 12);
	kvpt_expect_blocks(a, 0, 11, 5, 0);
	kvpt_ok(kvpt_publish(a, second));
	ck_assert_uint_eq(kvpt.publish.published, 12);
	ck_assert_uint_eq(kvpt.publish.nr_new, 1);
	ck_assert_uint_eq(kvpt.publish.nr_shared, 2);
	kvpt_expect_table(a, second, 0, blocks, 3);
	ck_assert_mem_eq(blocks, theirs, sizeof(theirs));
	ck_assert_uint_eq(kvpt_count(a, theirs[0]), 2);
	kvpt_expect_blocks(a, 0, 13, 3, 0);
	stats = kvpt_counters_of(a, 0);
	ck_assert_uint_eq(stats.published_nodes, 3);
	ck_assert_uint_eq(stats.shared_nodes, 2);
	ck_assert_uint_eq(stats.nodes_used, 1 + 3);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
}
END_TEST

START_TEST(test_idle_nodes_are_adopted)
{
	u64 seq, blocks[2];

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	seq = own(a, tok, 8);
	kvpt_expect_blocks(a, 0, 12, 2, 2);
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_expect_blocks(a, 0, 14, 2, 0);
	ck_assert_uint_eq(kvpt_family_of(a, KVP_STATS_SELF, 0).charged, 2);
	kvpt_expect_table(a, seq, 0, blocks, 2);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_expect_blocks(a, 0, 14, 0, 2);
}
END_TEST

START_TEST(test_block_that_cannot_be_shared_further_is_not_adopted)
{
	u64 first = kvpt_published(a, 1, tok, 8), second, theirs[2], was[2], is[2];
	struct kvp_block *block;

	kvpt_expect_table(a, first, 0, theirs, 2);
	second = own(a, tok, 8);
	kvpt_expect_table(a, second, 0, was, 2);
	block = kvpt_block_of(a, theirs[0]);
	kvpt_ok(kvpt_while_set(block->count, ~0U, kvpt_publish(a, second)));
	ck_assert_uint_eq(kvpt.publish.published, 8);
	ck_assert_uint_eq(kvpt.publish.nr_shared, 2);
	kvpt_expect_table(a, second, 0, is, 2);
	ck_assert_uint_eq(is[0], was[0]);
	ck_assert_uint_eq(is[1], theirs[1]);
	ck_assert_uint_eq(kvpt_count(a, theirs[0]), 1);
}
END_TEST

START_TEST(test_keep_keeps_the_own_blocks)
{
	u64 first = kvpt_published(a, 1, tok, 8), second, was[3], is[3];

	second = own(a, tok, 12);
	kvpt_expect_table(a, second, 0, was, 3);
	kvpt_ok(kvpt_publish_with(a, second, KVP_PUBLISH_KEEP, 0, 0));
	ck_assert_uint_eq(kvpt.publish.published, 12);
	ck_assert_uint_eq(kvpt.publish.nr_new, 1);
	ck_assert_uint_eq(kvpt.publish.nr_shared, 2);
	kvpt_expect_table(a, second, 0, is, 3);
	ck_assert_mem_eq(is, was, sizeof(was));
	kvpt_expect_blocks(a, 0, 11, 5, 0);
	kvpt_expect_lengths(a, second, 12, 12, 12, 12);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
	/* The third node hangs on what the first sequence published. */
	kvpt_ok(kvpt_free(a, first));
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 0);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
	kvpt_ok(kvpt_free(a, second));
	kvpt_expect_blocks(a, 0, 13, 0, 3);
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 3);
}
END_TEST

START_TEST(test_truncate_after_keep)
{
	u64 second;

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	second = own(a, tok, 12);
	kvpt_ok(kvpt_publish_with(a, second, KVP_PUBLISH_KEEP, 0, 0));
	kvpt_ok(kvpt_truncate(a, second, 6));
	kvpt_expect_lengths(a, second, 6, 6, 6, 4);
	/* The block is its own and nobody else's. */
	kvpt_ok(kvpt_append(a, second, other, 2));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 0);
	kvpt_ok(kvpt_advance(a, second, 8));
	kvpt_ok(kvpt_publish(a, second));
	ck_assert_uint_eq(kvpt.publish.published, 8);
	ck_assert_uint_eq(kvpt.publish.nr_new, 1);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
	memcpy(tok + 6, other, 2 * sizeof(*tok));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
}
END_TEST

START_TEST(test_two_clients_publish_the_same)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	u64 mine = own(a, tok, 8), yours = own(b, tok, 8), blocks[2], theirs[2];

	ck_assert_uint_eq(kvpt_family_of(b, KVP_STATS_SELF, 0).charged, 2);
	kvpt_ok(kvpt_publish(a, mine));
	kvpt_ok(kvpt_publish(b, yours));
	ck_assert_uint_eq(kvpt.publish.nr_shared, 2);
	kvpt_expect_table(a, mine, 0, blocks, 2);
	kvpt_expect_table(b, yours, 0, theirs, 2);
	ck_assert_mem_eq(blocks, theirs, sizeof(blocks));
	/* Charged to the one that allocated them, until nobody has them. */
	ck_assert_uint_eq(kvpt_family_of(b, KVP_STATS_SELF, 0).charged, 0);
	ck_assert_uint_eq(kvpt_family_of(a, KVP_STATS_SELF, 0).charged, 2);
	kvpt_ok(kvpt_free(a, mine));
	ck_assert_uint_eq(kvpt_family_of(a, KVP_STATS_SELF, 0).charged, 2);
	ck_assert_uint_eq(kvpt_entry(a, blocks[0]).client, kvpt_client_id(a));
	kvpt_ok(kvpt_free(b, yours));
	ck_assert_uint_eq(kvpt_family_of(a, KVP_STATS_SELF, 0).charged, 0);
}
END_TEST

START_TEST(test_the_first_to_hold_an_idle_block_is_charged)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	u64 mine, yours;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_create(b, 1, tok, 8, &yours));
	ck_assert_uint_eq(kvpt_family_of(b, KVP_STATS_SELF, 0).charged, 2);
	kvpt_ok(kvpt_create(a, 1, tok, 8, &mine));
	ck_assert_uint_eq(kvpt_family_of(a, KVP_STATS_SELF, 0).charged, 0);
	kvpt_ok(kvpt_free(b, yours));
	ck_assert_uint_eq(kvpt_family_of(b, KVP_STATS_SELF, 0).charged, 2);
	kvpt_ok(kvpt_free(a, mine));
	ck_assert_uint_eq(kvpt_family_of(b, KVP_STATS_SELF, 0).charged, 0);
}
END_TEST

START_TEST(test_tag_and_depth_of_what_is_published)
{
	u64 seq = kvpt_computed(a, 1, tok, 8), blocks[2];
	struct kvp_block_entry entry;
	u8 space[KVP_DIGEST_LEN];

	kvpt_digest(1, space);
	kvpt_ok(kvpt_publish_with(a, seq, 0, 4, 7));
	kvpt_ok(kvpt_publish_with(a, seq, 0, 0, 8));
	kvpt_expect_table(a, seq, 0, blocks, 2);
	entry = kvpt_entry(a, blocks[0]);
	ck_assert_uint_eq(entry.tag, 7);
	ck_assert_uint_eq(entry.depth, 1);
	ck_assert_uint_eq(entry.parent, KVP_BLOCK_NULL);
	ck_assert_mem_eq(entry.space, space, sizeof(space));
	entry = kvpt_entry(a, blocks[1]);
	ck_assert_uint_eq(entry.tag, 8);
	ck_assert_uint_eq(entry.depth, 2);
	ck_assert_uint_eq(entry.parent, blocks[0]);
	ck_assert_uint_eq(entry.why, KVP_WHY_SHARED);
}
END_TEST

START_TEST(test_publish_more_than_a_slice)
{
	static u32 many[4096];
	u64 first, second;

	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(2048, 4) }, 1);
	kvpt_tokens(many, 4096, 1);
	first = own(a, many, 4096);
	second = own(a, many, 4096);
	kvpt_ok(kvpt_publish(a, first));
	ck_assert_uint_eq(kvpt.publish.nr_new, 1024);
	kvpt_ok(kvpt_publish(a, second));
	ck_assert_uint_eq(kvpt.publish.nr_shared, 1024);
	kvpt_expect_blocks(a, 0, 1024, 1024, 0);
}
END_TEST

START_TEST(test_publisher_that_vanishes_leaves_its_prefix)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);

	kvpt_published(b, 1, tok, 10);
	kvpt_expect_blocks(a, 0, 13, 3, 0);
	kvpt_close(&env, b);
	kvpt_expect_blocks(a, 0, 14, 0, 2);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 10), 8);
}
END_TEST

/* ---- refusals ---- */

START_TEST(test_unknown_sequences)
{
	u64 id;

	kvpt_refuses_bad_ids(&env, a, a, id, kvpt_publish(a, id));
}
END_TEST

START_TEST(test_unknown_flag)
{
	u64 seq = kvpt_computed(a, 1, tok, 8);

	kvpt_refused(&env, a, kvpt_publish_with(a, seq, 1U << 1, 0, 0), -EINVAL,
		     KVP_REASON_FLAG, 0);
}
END_TEST

START_TEST(test_reserved_field)
{
	struct kvp_prefix_publish arg = { .seq = kvpt_computed(a, 1, tok, 8), .reserved = 1 };

	ck_assert_int_eq(kvpt_do(a, KVP_OP_PREFIX_PUBLISH, &arg), -EINVAL);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_RESERVED);
	ck_assert_uint_eq(arg.head.where, kvpt_at(struct kvp_prefix_publish, reserved));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_published, 0);
}
END_TEST

START_TEST(test_busy_sequence)
{
	u64 seq = kvpt_computed(a, 1, tok, 8);

	kvpt_refused(&env, a, kvpt_while_busy(a, seq, kvpt_publish(a, seq)), -EBUSY,
		     KVP_REASON_SEQ_BUSY, 0);
}
END_TEST

START_TEST(test_copies_that_are_owed)
{
	u64 seq = kvpt_published(a, 1, tok, 8);

	kvpt_ok(kvpt_truncate(a, seq, 6));
	kvpt_ok(kvpt_append(a, seq, other, 2));
	kvpt_refused(&env, a, kvpt_publish(a, seq), -EBUSY, KVP_REASON_COPY_PENDING, 0);
}
END_TEST

START_TEST(test_right_to_publish)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	u64 seq = kvpt_computed(b, 1, tok, 8);

	kvpt_refused(&env, a, kvpt_publish(b, seq), -EACCES, KVP_REASON_RIGHT_PUBLISH, 0);
}
END_TEST

START_TEST(test_namespace_that_was_invalidated)
{
	u64 seq = kvpt_published(a, 1, tok, 8);

	kvpt_ok(kvpt_append(a, seq, tok + 8, 4));
	kvpt_ok(kvpt_advance(a, seq, 12));
	kvpt_ok(kvpt_invalidate_space(a, 1));
	kvpt_refused(&env, a, kvpt_publish(a, seq), -ESTALE, KVP_REASON_INVALIDATED, 0);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("prefix_publish");
	TCase *works = tcase_create("works");
	TCase *refuses = tcase_create("refuses");

	tcase_add_checked_fixture(works, setup, teardown);
	tcase_add_test(works, test_full_computed_nodes_are_published);
	tcase_add_test(works, test_publish_goes_on_where_it_was);
	tcase_add_test(works, test_publish_up_to_a_limit);
	tcase_add_test(works, test_nothing_computed_publishes_nothing);
	tcase_add_test(works, test_equal_nodes_are_adopted);
	tcase_add_test(works, test_idle_nodes_are_adopted);
	tcase_add_test(works, test_block_that_cannot_be_shared_further_is_not_adopted);
	tcase_add_test(works, test_keep_keeps_the_own_blocks);
	tcase_add_test(works, test_truncate_after_keep);
	tcase_add_test(works, test_two_clients_publish_the_same);
	tcase_add_test(works, test_the_first_to_hold_an_idle_block_is_charged);
	tcase_add_test(works, test_tag_and_depth_of_what_is_published);
	tcase_add_test(works, test_publish_more_than_a_slice);
	tcase_add_test(works, test_publisher_that_vanishes_leaves_its_prefix);
	suite_add_tcase(s, works);

	tcase_add_checked_fixture(refuses, setup, teardown);
	tcase_add_test(refuses, test_unknown_sequences);
	tcase_add_test(refuses, test_unknown_flag);
	tcase_add_test(refuses, test_reserved_field);
	tcase_add_test(refuses, test_busy_sequence);
	tcase_add_test(refuses, test_copies_that_are_owed);
	tcase_add_test(refuses, test_right_to_publish);
	tcase_add_test(refuses, test_namespace_that_was_invalidated);
	suite_add_tcase(s, refuses);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

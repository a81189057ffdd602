// SPDX-License-Identifier: MIT
/*
 * KVP_OP_SEQ_CREATE: what a new sequence gets, what it takes from others, and each
 * refusal of a malformed call. Those for want of room are in test_seq_create_room.c.
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

static int create_with(const struct kvp_seq_create *with, u32 nr, u64 *seq)
{
	return kvpt_create_with(a, with, 1, tok, nr, seq);
}

/* ---- success ---- */

START_TEST(test_empty_sequence_has_nothing)
{
	struct kvp_stats stats;
	u64 seq = 0;

	kvpt_ok(kvpt_create(a, 1, NULL, 0, &seq));
	ck_assert_uint_ne(seq, 0);
	ck_assert_uint_eq(kvpt.seq_create.matched, 0);
	ck_assert_uint_eq(kvpt.seq_create.reserved, 0);
	kvpt_expect_lengths(a, seq, 0, 0, 0, 0);
	ck_assert_uint_eq(kvpt.table.total, 0);
	kvpt_expect_blocks(a, 0, 16, 0, 0);

	stats = kvpt_counters_of(a, 0);
	ck_assert_uint_eq(stats.seqs, 1);
	ck_assert_uint_eq(stats.slots, 0);
	ck_assert_uint_eq(stats.nodes_used, 1);
	ck_assert_uint_eq(stats.namespaces, 1);
	ck_assert_uint_eq(stats.extras_used, 1);
}
END_TEST

START_TEST(test_tokens_take_the_blocks_they_need)
{
	struct kvp_stats stats;
	u64 seq, blocks[3];

	kvpt_ok(kvpt_create(a, 1, tok, 9, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 0);
	ck_assert_uint_eq(kvpt.seq_create.reserved, 9);
	kvpt_expect_lengths(a, seq, 9, 0, 9, 0);
	kvpt_expect_table(a, seq, 0, blocks, 3);
	ck_assert_uint_ne(blocks[0], blocks[1]);
	ck_assert_uint_ne(blocks[1], blocks[2]);
	ck_assert_uint_ne(blocks[0], blocks[2]);
	ck_assert_uint_eq(kvpt_count(a, blocks[0]), 1);
	ck_assert_uint_eq(kvpt_count(a, blocks[1]), 1);
	ck_assert_uint_eq(kvpt_count(a, blocks[2]), 1);
	kvpt_expect_blocks(a, 0, 13, 3, 0);
	ck_assert_uint_eq(kvpt_family_of(a, KVP_STATS_SELF, 0).charged, 3);
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).published, 0);

	stats = kvpt_counters_of(a, KVP_STATS_SELF);
	ck_assert_uint_eq(stats.seqs, 1);
	ck_assert_uint_eq(stats.slots, 3);
	ck_assert_uint_gt(stats.metadata_bytes, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1 + 3);
}
END_TEST

START_TEST(test_whole_blocks_take_no_further_one)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 8, &seq));
	kvpt_expect_lengths(a, seq, 8, 0, 8, 0);
	ck_assert_uint_eq(kvpt.table.total, 2);
	kvpt_expect_blocks(a, 0, 14, 2, 0);
}
END_TEST

START_TEST(test_reserve_adds_slots_without_tokens)
{
	const struct kvp_seq_create with = { .reserve = 4 };
	u64 seq;

	kvpt_ok(create_with(&with, 9, &seq));
	ck_assert_uint_eq(kvpt.seq_create.reserved, 13);
	kvpt_expect_lengths(a, seq, 9, 0, 13, 0);
	ck_assert_uint_eq(kvpt.table.total, 4);
	kvpt_expect_blocks(a, 0, 12, 4, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1 + 3);
}
END_TEST

START_TEST(test_reserve_alone)
{
	const struct kvp_seq_create with = { .reserve = 5 };
	u64 seq;

	kvpt_ok(create_with(&with, 0, &seq));
	kvpt_expect_lengths(a, seq, 0, 0, 5, 0);
	ck_assert_uint_eq(kvpt.table.total, 2);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1);
}
END_TEST

START_TEST(test_longest_published_prefix_is_taken)
{
	u64 first, seq, was[3], is[4];
	struct kvp_stats stats;

	first = kvpt_published(a, 1, tok, 12);
	kvpt_expect_table(a, first, 0, was, 3);
	memcpy(other, tok, 8 * sizeof(*tok));
	kvpt_ok(kvpt_create(a, 1, other, 14, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 8);
	ck_assert_uint_eq(kvpt.seq_create.reserved, 14);
	kvpt_expect_lengths(a, seq, 14, 8, 14, 8);
	kvpt_expect_table(a, seq, 0, is, 4);
	ck_assert_uint_eq(is[0], was[0]);
	ck_assert_uint_eq(is[1], was[1]);
	ck_assert_uint_ne(is[2], was[2]);
	ck_assert_uint_eq(kvpt_count(a, was[0]), 2);
	ck_assert_uint_eq(kvpt_count(a, was[2]), 1);
	ck_assert_uint_eq(kvpt_count(a, is[2]), 1);
	kvpt_expect_blocks(a, 0, 11, 5, 0);

	stats = kvpt_counters_of(a, 0);
	ck_assert_uint_eq(stats.matched_nodes, 2);
	/* The first one asked for 3 full nodes, this one too. */
	ck_assert_uint_eq(stats.looked_up_nodes, 6);
	ck_assert_uint_eq(stats.nodes_used, 1 + 3 + 2);
}
END_TEST

START_TEST(test_idle_prefix_is_held_again)
{
	u64 seq;

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_expect_blocks(a, 0, 13, 0, 3);
	kvpt_ok(kvpt_create(a, 1, tok, 12, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 12);
	kvpt_expect_lengths(a, seq, 12, 12, 12, 12);
	kvpt_expect_blocks(a, 0, 13, 3, 0);
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).published, 3);
}
END_TEST

START_TEST(test_match_limit_is_in_whole_nodes)
{
	static const u32 limits[][2] = { { 3, 0 }, { 4, 4 }, { 7, 4 }, { 8, 8 }, { 99, 12 },
					 { 0, 12 } };
	struct kvp_seq_create with = { };
	u64 seq;
	u32 i;

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		with.match_limit = limits[i][0];
		kvpt_ok(create_with(&with, 12, &seq));
		ck_assert_uint_eq(kvpt.seq_create.matched, limits[i][1]);
		kvpt_expect_lengths(a, seq, 12, limits[i][1], 12, limits[i][1]);
		kvpt_ok(kvpt_free(a, seq));
	}
}
END_TEST

START_TEST(test_no_match_takes_own_blocks)
{
	u64 first, seq, was[2], is[2];

	first = kvpt_published(a, 1, tok, 8);
	kvpt_expect_table(a, first, 0, was, 2);
	kvpt_ok(kvpt_create_flags(a, KVP_SEQ_NO_MATCH, 1, tok, 8, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 0);
	kvpt_expect_lengths(a, seq, 8, 0, 8, 0);
	kvpt_expect_table(a, seq, 0, is, 2);
	ck_assert_uint_ne(is[0], was[0]);
	kvpt_expect_blocks(a, 0, 12, 4, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).matched_nodes, 0);
}
END_TEST

START_TEST(test_match_only_takes_nothing_beyond)
{
	u64 seq;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_create_flags(a, KVP_SEQ_MATCH_ONLY, 1, tok, 14, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 8);
	ck_assert_uint_eq(kvpt.seq_create.reserved, 8);
	kvpt_expect_lengths(a, seq, 8, 8, 8, 8);
	ck_assert_uint_eq(kvpt.table.total, 2);
	kvpt_expect_blocks(a, 0, 14, 2, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1 + 2);

	kvpt_ok(kvpt_create_flags(a, KVP_SEQ_MATCH_ONLY, 1, other, 14, &seq));
	kvpt_expect_lengths(a, seq, 0, 0, 0, 0);
	kvpt_expect_blocks(a, 0, 14, 2, 0);
}
END_TEST

START_TEST(test_a_prefix_belongs_to_its_namespace)
{
	u64 seq;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_create(a, 2, tok, 8, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).namespaces, 2);
}
END_TEST

START_TEST(test_extra_digests_are_part_of_the_content)
{
	struct kvp_extra same = kvpt_extra(1, 7), else_ = kvpt_extra(1, 8);
	struct kvp_seq_create with = { .extras = (u64)(uintptr_t)&same, .nr_extras = 1 };
	u64 seq;

	kvpt_ok(create_with(&with, 12, &seq));
	kvpt_ok(kvpt_advance(a, seq, 12));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 1 + 1);

	kvpt_ok(create_with(&with, 12, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 12);
	with.nr_extras = 0;
	with.extras = 0;
	kvpt_ok(create_with(&with, 12, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 4);
	with.nr_extras = 1;
	with.extras = (u64)(uintptr_t)&else_;
	kvpt_ok(create_with(&with, 12, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 4);
	else_.node = 0;
	memcpy(else_.digest, same.digest, sizeof(else_.digest));
	kvpt_ok(create_with(&with, 12, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 0);
}
END_TEST

START_TEST(test_match_only_keeps_no_digest_beyond)
{
	struct kvp_extra extras[3] = { kvpt_extra(0, 7), kvpt_extra(1, 8), kvpt_extra(2, 9) };
	struct kvp_seq_create with = { .extras = (u64)(uintptr_t)extras, .nr_extras = 1 };
	u64 seq;

	kvpt_ok(create_with(&with, 4, &seq));
	kvpt_ok(kvpt_advance(a, seq, 4));
	kvpt_ok(kvpt_publish(a, seq));
	with.head.flags = KVP_SEQ_MATCH_ONLY;
	with.nr_extras = 3;
	kvpt_ok(create_with(&with, 12, &seq));
	kvpt_expect_lengths(a, seq, 4, 4, 4, 4);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 1 + 1);
}
END_TEST

START_TEST(test_extra_of_the_part_filled_last_node)
{
	struct kvp_extra extras[2] = { kvpt_extra(0, 7), kvpt_extra(2, 8) };
	struct kvp_seq_create with = { .extras = (u64)(uintptr_t)extras, .nr_extras = 2 };
	u64 seq;

	kvpt_ok(create_with(&with, 9, &seq));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 1 + 2);
	kvpt_ok(kvpt_free(a, seq));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 0);
}
END_TEST

START_TEST(test_idle_blocks_make_room)
{
	u64 seq;

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_ok(kvpt_create(a, 2, other, 56, &seq));
	kvpt_expect_blocks(a, 0, 0, 14, 2);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).reclaimed_blocks, 1);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 8);
}
END_TEST

START_TEST(test_what_it_matched_is_not_reclaimed_for_it)
{
	u64 seq;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_make_published(a, 2, other, 8));
	/* 16 blocks: 2 matched, 14 new: the two of the other namespace must go. */
	kvpt_ok(kvpt_create(a, 1, tok, 64, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 8);
	kvpt_expect_blocks(a, 0, 0, 16, 0);
	ck_assert_uint_eq(kvpt_matched(a, 2, other, 8), 0);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
}
END_TEST

START_TEST(test_ids_are_never_used_again)
{
	u64 seq, next;
	u32 i;

	kvpt_ok(kvpt_create(a, 1, tok, 1, &seq));
	for (i = 0; i < 100; i++) {
		kvpt_ok(kvpt_free(a, seq));
		kvpt_ok(kvpt_create(a, 1, tok, 1, &next));
		ck_assert_uint_ne(next, seq);
		kvpt_expect(kvpt_free(a, seq), -ESTALE, KVP_REASON_GENERATION);
		seq = next;
	}
}
END_TEST

START_TEST(test_many_sequences)
{
	u64 seqs[1000];
	u32 i;

	for (i = 0; i < 1000; i++)
		kvpt_ok(kvpt_create(a, 1, NULL, 0, &seqs[i]));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).seqs, 1000);
	kvpt_audit_clean(a);
	for (i = 0; i < 1000; i++)
		kvpt_ok(kvpt_free(a, seqs[i]));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).seqs, 0);
}
END_TEST

/* ---- refusals ---- */

START_TEST(test_unknown_flag)
{
	kvpt_refused(&env, a, kvpt_create_flags(a, 1U << 2, 1, tok, 4, NULL),
		     -EINVAL, KVP_REASON_FLAG, 0);
}
END_TEST

START_TEST(test_contradictory_flags)
{
	kvpt_refused(&env, a,
		     kvpt_create_flags(a, KVP_SEQ_NO_MATCH | KVP_SEQ_MATCH_ONLY, 1, tok, 4, NULL),
		     -EINVAL, KVP_REASON_FLAG, 0);
}
END_TEST

START_TEST(test_match_only_reserves_nothing)
{
	const struct kvp_seq_create with = {
		.head.flags = KVP_SEQ_MATCH_ONLY,
		.reserve = 1,
	};

	kvpt_refused(&env, a, create_with(&with, 4, NULL), -EINVAL, KVP_REASON_VALUE,
		     kvpt_at(struct kvp_seq_create, reserve));
}
END_TEST

START_TEST(test_too_many_tokens_in_a_call)
{
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, KVP_MAX_CALL_TOKENS + 1, NULL), -EOVERFLOW,
		     KVP_REASON_COUNT, kvpt_at(struct kvp_seq_create, nr_tokens));
}
END_TEST

START_TEST(test_tokens_without_a_pointer)
{
	kvpt_refused(&env, a, kvpt_create(a, 1, NULL, 4, NULL), -EFAULT, KVP_REASON_POINTER,
		     kvpt_at(struct kvp_seq_create, tokens));
}
END_TEST

START_TEST(test_tokens_that_are_not_aligned)
{
	kvpt_refused(&env, a, kvpt_create(a, 1, (u32 *)((char *)tok + 2), 4, NULL),
		     -EINVAL, KVP_REASON_ALIGNMENT, kvpt_at(struct kvp_seq_create, tokens));
}
END_TEST

static void refuse_extras(struct kvp_extra *extras, u32 nr, u32 at)
{
	const struct kvp_seq_create with = {
		.extras = (u64)(uintptr_t)extras,
		.nr_extras = nr,
	};

	kvpt_refused(&env, a, create_with(&with, 8, NULL), -EINVAL, KVP_REASON_EXTRA, at);
}

START_TEST(test_extras_out_of_order)
{
	refuse_extras((struct kvp_extra[]){ kvpt_extra(1, 7), kvpt_extra(0, 8) }, 2, 1);
}
END_TEST

START_TEST(test_extra_named_twice)
{
	struct kvp_extra extras[3] = { kvpt_extra(0, 7), kvpt_extra(1, 8), kvpt_extra(1, 8) };

	refuse_extras(extras, 3, 2);
}
END_TEST

START_TEST(test_extra_outside_the_tokens)
{
	refuse_extras((struct kvp_extra[]){ kvpt_extra(1, 7), kvpt_extra(2, 8) }, 2, 1);
	refuse_extras((struct kvp_extra[]){ kvpt_extra(~0ULL, 8) }, 1, 0);
}
END_TEST

START_TEST(test_right_to_use)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_PUBLISH);

	kvpt_refused(&env, a, kvpt_create(b, 1, tok, 4, NULL), -EACCES,
		     KVP_REASON_RIGHT_USE, 0);
}
END_TEST

START_TEST(test_needs_a_pool)
{
	struct kvp_client *b = kvpt_open(&env, 1001);

	kvpt_refused(&env, a, kvpt_create(b, 1, tok, 4, NULL), -EBUSY,
		     KVP_REASON_NOT_ATTACHED, 0);
}
END_TEST

START_TEST(test_result_that_cannot_be_written)
{
	struct kvpt_world was, is;
	struct kvp_client *b;
	const char *diff;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	env.door = &kvpt_failing_door;
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	/* The table of ids grows with the first sequence and stays. */
	kvpt_ok(kvpt_create(b, 1, NULL, 0, NULL));
	kvpt_world_take(&env, a, &was);
	kvpt_fail_write = 1;
	ck_assert_int_eq(kvpt_create(b, 2, other, 12, NULL), -EFAULT);
	ck_assert_int_eq(kvpt_fail_write, 0);
	kvpt_world_take(&env, a, &is);
	diff = kvpt_blocks(a, 0, KVP_BLOCK_HELD) ? "blocks held" : NULL;
	ck_assert_msg(!diff, "%s", diff);
	ck_assert_uint_eq(is.stats.pool.seqs, was.stats.pool.seqs);
	ck_assert_uint_eq(is.stats.pool.nodes_used, was.stats.pool.nodes_used);
	ck_assert_uint_eq(is.stats.pool.extras_used, was.stats.pool.extras_used);
	ck_assert_uint_eq(is.stats.pool.namespaces, was.stats.pool.namespaces);
	kvpt_world_drop(&was);
	kvpt_world_drop(&is);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("seq_create");
	TCase *works = tcase_create("works");
	TCase *refuses = tcase_create("refuses");

	tcase_add_checked_fixture(works, setup, teardown);
	tcase_add_test(works, test_empty_sequence_has_nothing);
	tcase_add_test(works, test_tokens_take_the_blocks_they_need);
	tcase_add_test(works, test_whole_blocks_take_no_further_one);
	tcase_add_test(works, test_reserve_adds_slots_without_tokens);
	tcase_add_test(works, test_reserve_alone);
	tcase_add_test(works, test_longest_published_prefix_is_taken);
	tcase_add_test(works, test_idle_prefix_is_held_again);
	tcase_add_test(works, test_match_limit_is_in_whole_nodes);
	tcase_add_test(works, test_no_match_takes_own_blocks);
	tcase_add_test(works, test_match_only_takes_nothing_beyond);
	tcase_add_test(works, test_a_prefix_belongs_to_its_namespace);
	tcase_add_test(works, test_extra_digests_are_part_of_the_content);
	tcase_add_test(works, test_extra_of_the_part_filled_last_node);
	tcase_add_test(works, test_match_only_keeps_no_digest_beyond);
	tcase_add_test(works, test_idle_blocks_make_room);
	tcase_add_test(works, test_what_it_matched_is_not_reclaimed_for_it);
	tcase_add_test(works, test_ids_are_never_used_again);
	tcase_add_test(works, test_many_sequences);
	suite_add_tcase(s, works);

	tcase_add_checked_fixture(refuses, setup, teardown);
	tcase_add_test(refuses, test_unknown_flag);
	tcase_add_test(refuses, test_contradictory_flags);
	tcase_add_test(refuses, test_match_only_reserves_nothing);
	tcase_add_test(refuses, test_too_many_tokens_in_a_call);
	tcase_add_test(refuses, test_tokens_without_a_pointer);
	tcase_add_test(refuses, test_tokens_that_are_not_aligned);
	tcase_add_test(refuses, test_extras_out_of_order);
	tcase_add_test(refuses, test_extra_named_twice);
	tcase_add_test(refuses, test_extra_outside_the_tokens);
	tcase_add_test(refuses, test_right_to_use);
	tcase_add_test(refuses, test_needs_a_pool);
	tcase_add_test(refuses, test_result_that_cannot_be_written);
	suite_add_tcase(s, refuses);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

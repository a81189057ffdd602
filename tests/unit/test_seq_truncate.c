// SPDX-License-Identifier: MIT
/*
 * KVP_OP_SEQ_TRUNCATE, KVP_OP_SEQ_FREE and KVP_OP_SEQ_TABLE: what makes a sequence shorter,
 * ends it, and tells what it has.
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

static void setup_pairs(void)
{
	const struct kvp_pool_create with = { .index_tokens = 8 };

	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool_with(&env, &with, (struct kvp_family_desc[]){ KVPT_DENSE(16, 4) }, 1);
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

static u64 sequence(u32 nr, u32 computed, u64 reserve)
{
	const struct kvp_seq_create with = { .reserve = reserve };
	u64 seq;

	kvpt_ok(kvpt_create_with(a, &with, 1, tok, nr, &seq));
	kvpt_ok(kvpt_advance(a, seq, computed));
	return seq;
}

/* ---- truncate ---- */

START_TEST(test_whole_blocks_are_given_back)
{
	u64 seq = sequence(14, 10, 4), was[5], is[2];

	kvpt_expect_table(a, seq, 0, was, 5);
	kvpt_ok(kvpt_truncate(a, seq, 5));
	kvpt_expect_lengths(a, seq, 5, 5, 5, 0);
	kvpt_expect_table(a, seq, 0, is, 2);
	ck_assert_mem_eq(is, was, sizeof(is));
	kvpt_expect_blocks(a, 0, 14, 2, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).slots, 2);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1 + 2);
	ck_assert_uint_eq(kvpt_family_of(a, KVP_STATS_SELF, 0).charged, 2);
}
END_TEST

START_TEST(test_truncate_above_what_is_computed)
{
	u64 seq = sequence(14, 3, 0);

	kvpt_ok(kvpt_truncate(a, seq, 8));
	kvpt_expect_lengths(a, seq, 8, 3, 8, 0);
	kvpt_expect_blocks(a, 0, 14, 2, 0);
}
END_TEST

START_TEST(test_truncate_to_the_same_drops_the_reservation)
{
	u64 seq = sequence(6, 6, 10);

	kvpt_expect_blocks(a, 0, 12, 4, 0);
	kvpt_ok(kvpt_truncate(a, seq, 6));
	kvpt_expect_lengths(a, seq, 6, 6, 6, 0);
	kvpt_expect_blocks(a, 0, 14, 2, 0);
	kvpt_ok(kvpt_truncate(a, seq, 6));
	kvpt_expect_lengths(a, seq, 6, 6, 6, 0);
}
END_TEST

START_TEST(test_reservation_inside_the_last_block_goes_too)
{
	u64 seq = sequence(5, 5, 2);

	kvpt_ok(kvpt_truncate(a, seq, 5));
	kvpt_expect_lengths(a, seq, 5, 5, 5, 0);
	ck_assert_uint_eq(kvpt.table.total, 2);
	kvpt_refused(&env, a, kvpt_set_tokens(a, seq, tok, 1), -EINVAL, KVP_REASON_LENGTH, 0);
}
END_TEST

START_TEST(test_truncate_to_nothing)
{
	u64 seq = sequence(14, 10, 4);

	kvpt_ok(kvpt_truncate(a, seq, 0));
	kvpt_expect_lengths(a, seq, 0, 0, 0, 0);
	kvpt_expect_blocks(a, 0, 16, 0, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1);
	kvpt_ok(kvpt_append(a, seq, other, 4));
	kvpt_ok(kvpt_advance(a, seq, 4));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 4), 4);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 4), 0);
}
END_TEST

START_TEST(test_published_nodes_stay_for_others)
{
	u64 seq = kvpt_published(a, 1, tok, 12);

	kvpt_ok(kvpt_truncate(a, seq, 6));
	kvpt_expect_lengths(a, seq, 6, 6, 6, 4);
	kvpt_expect_blocks(a, 0, 13, 2, 1);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
	kvpt_ok(kvpt_truncate(a, seq, 4));
	kvpt_expect_lengths(a, seq, 4, 4, 4, 4);
	kvpt_expect_blocks(a, 0, 13, 1, 2);
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 2);
	kvpt_expect_lengths(a, seq, 4, 4, 4, 4);
}
END_TEST

START_TEST(test_go_on_differently_after_truncate)
{
	u64 seq = kvpt_published(a, 1, tok, 12);

	kvpt_ok(kvpt_truncate(a, seq, 8));
	kvpt_ok(kvpt_append(a, seq, other, 4));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 0);
	kvpt_ok(kvpt_advance(a, seq, 12));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.nr_new, 1);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
	memcpy(tok + 8, other, 4 * sizeof(*tok));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
}
END_TEST

START_TEST(test_truncate_leaves_forks_alone)
{
	u64 seq = sequence(12, 12, 0), child, was[3], is[3];

	kvpt_ok(kvpt_fork(a, seq, 12, &child));
	kvpt_expect_table(a, child, 0, was, 3);
	kvpt_ok(kvpt_truncate(a, seq, 2));
	kvpt_expect_lengths(a, child, 12, 12, 12, 0);
	kvpt_expect_table(a, child, 0, is, 3);
	ck_assert_mem_eq(is, was, sizeof(is));
	kvpt_expect_blocks(a, 0, 13, 3, 0);
	kvpt_ok(kvpt_publish(a, child));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
}
END_TEST

START_TEST(test_truncate_inside_a_node_of_two_blocks)
{
	u64 seq, was[4], is[3];

	setup_pairs();
	seq = sequence(16, 16, 0);
	kvpt_expect_table(a, seq, 0, was, 4);
	kvpt_ok(kvpt_truncate(a, seq, 12));
	kvpt_expect_table(a, seq, 0, is, 3);
	ck_assert_mem_eq(is, was, sizeof(is));
	kvpt_expect_blocks(a, 0, 13, 3, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1 + 2);

	/* Of a published node, too. */
	kvpt_ok(kvpt_append(a, seq, tok + 12, 4));
	kvpt_ok(kvpt_advance(a, seq, 16));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_truncate(a, seq, 12));
	kvpt_expect_lengths(a, seq, 12, 12, 12, 8);
	kvpt_expect_blocks(a, 0, 12, 3, 1);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 16), 16);
}
END_TEST

START_TEST(test_digest_of_a_dropped_node_is_free)
{
	const struct kvp_extra extras[2] = { kvpt_extra(1, 7), kvpt_extra(2, 8) };
	const struct kvp_seq_create with = {
		.extras = (u64)(uintptr_t)extras,
		.nr_extras = 2,
	};
	u64 seq;

	kvpt_ok(kvpt_create_with(a, &with, 1, tok, 12, &seq));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 1 + 2);
	kvpt_ok(kvpt_truncate(a, seq, 5));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 1 + 1);
	kvpt_ok(kvpt_truncate(a, seq, 4));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 1);
	/* The digest came with the first token, so it may be another one now. */
	kvpt_ok(kvpt_append(a, seq, tok + 4, 4));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
}
END_TEST

START_TEST(test_truncate_to_more_than_there_is)
{
	u64 seq = sequence(6, 6, 10);

	kvpt_refused(&env, a, kvpt_truncate(a, seq, 7), -EINVAL, KVP_REASON_LENGTH, 0);
	kvpt_refused(&env, a, kvpt_truncate(a, seq, ~0ULL), -EINVAL, KVP_REASON_LENGTH, 0);
}
END_TEST

START_TEST(test_truncate_of_unknown_sequences)
{
	u64 id;

	kvpt_refuses_bad_ids(&env, a, a, id, kvpt_truncate(a, id, 0));
}
END_TEST

START_TEST(test_truncate_of_a_busy_sequence)
{
	u64 seq = sequence(6, 6, 10);

	kvpt_refused(&env, a, kvpt_while_busy(a, seq, kvpt_truncate(a, seq, 2)), -EBUSY,
		     KVP_REASON_SEQ_BUSY, 0);
}
END_TEST

/* ---- free ---- */

START_TEST(test_free_gives_back_everything)
{
	u64 seq = sequence(14, 10, 4), other_seq;
	struct kvp_stats stats;

	kvpt_ok(kvpt_create(a, 2, other, 4, &other_seq));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_expect_blocks(a, 0, 15, 1, 0);
	stats = kvpt_counters_of(a, 0);
	ck_assert_uint_eq(stats.seqs, 1);
	ck_assert_uint_eq(stats.slots, 1);
	ck_assert_uint_eq(stats.nodes_used, 1 + 1);
	ck_assert_uint_eq(stats.namespaces, 1);
	ck_assert_uint_eq(stats.extras_used, 1);
	ck_assert_uint_eq(kvpt_family_of(a, KVP_STATS_SELF, 0).charged, 1);
	kvpt_expect_lengths(a, other_seq, 4, 0, 4, 0);
}
END_TEST

START_TEST(test_free_leaves_what_is_published)
{
	u64 seq = kvpt_published(a, 1, tok, 10);

	kvpt_ok(kvpt_free(a, seq));
	kvpt_expect_blocks(a, 0, 14, 0, 2);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 10), 8);
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).charged, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1 + 2);
}
END_TEST

START_TEST(test_free_while_copies_are_owed)
{
	u64 seq = kvpt_published(a, 1, tok, 8);

	kvpt_ok(kvpt_truncate(a, seq, 6));
	kvpt_ok(kvpt_append(a, seq, other, 1));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_expect_blocks(a, 0, 14, 0, 2);
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 2);
	kvpt_expect_blocks(a, 0, 16, 0, 0);
}
END_TEST

START_TEST(test_freed_twice)
{
	u64 seq = sequence(6, 6, 0);

	kvpt_ok(kvpt_free(a, seq));
	kvpt_refused(&env, a, kvpt_free(a, seq), -ESTALE, KVP_REASON_GENERATION, 0);
}
END_TEST

START_TEST(test_free_of_unknown_sequences)
{
	u64 id;

	kvpt_refuses_bad_ids(&env, a, a, id, kvpt_free(a, id));
}
END_TEST

START_TEST(test_free_of_a_busy_sequence)
{
	u64 seq = sequence(6, 6, 10);

	kvpt_refused(&env, a, kvpt_while_busy(a, seq, kvpt_free(a, seq)), -EBUSY,
		     KVP_REASON_SEQ_BUSY, 0);
}
END_TEST

START_TEST(test_free_more_than_a_slice)
{
	static u32 many[4096];
	u64 seq;

	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(2000, 4) }, 1);
	kvpt_tokens(many, 4096, 1);
	seq = kvpt_published(a, 1, many, 4096);
	kvpt_expect_blocks(a, 0, 976, 1024, 0);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_expect_blocks(a, 0, 976, 0, 1024);
	kvpt_ok(kvpt_create(a, 2, many, 4096, &seq));
	kvpt_expect_blocks(a, 0, 0, 1024, 976);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_expect_blocks(a, 0, 1024, 0, 976);
}
END_TEST

/* ---- table ---- */

START_TEST(test_table_in_pieces)
{
	u64 seq = sequence(18, 7, 0), all[5], piece[6];

	kvpt_expect_table(a, seq, 0, all, 5);
	ck_assert_uint_eq(kvpt.table.nr_tokens, 18);
	ck_assert_uint_eq(kvpt.table.nr_computed, 7);
	ck_assert_uint_eq(kvpt.table.nr_reserved, 18);
	ck_assert_uint_eq(kvpt.table.nr_published, 0);

	kvpt_ok(kvpt_table(a, seq, 0, piece, 2));
	ck_assert_uint_eq(kvpt.table.nr_blocks, 2);
	ck_assert_uint_eq(kvpt.table.total, 5);
	ck_assert_mem_eq(piece, all, 2 * sizeof(*all));
	kvpt_ok(kvpt_table(a, seq, 0, piece, 6));
	ck_assert_uint_eq(kvpt.table.nr_blocks, 5);
	ck_assert_mem_eq(piece, all, 5 * sizeof(*all));
}
END_TEST

START_TEST(test_table_from_a_slot_on)
{
	static const u64 firsts[][2] = { { 0, 4 }, { 2, 3 }, { 4, 1 }, { 5, 0 }, { ~0ULL, 0 } };
	u64 seq = sequence(18, 7, 0), all[5], piece[4];
	struct kvp_seq_table arg;
	u32 i;

	kvpt_expect_table(a, seq, 0, all, 5);
	for (i = 0; i < ARRAY_SIZE(firsts); i++) {
		arg = (struct kvp_seq_table) {
			.seq = seq,
			.blocks = (u64)(uintptr_t)piece,
			.nr_blocks = 4,
			.first = firsts[i][0],
		};
		ck_assert_int_eq(kvpt_do(a, KVP_OP_SEQ_TABLE, &arg), 0);
		ck_assert_uint_eq(arg.nr_blocks, firsts[i][1]);
		ck_assert_uint_eq(arg.total, 5);
		if (arg.nr_blocks)
			ck_assert_mem_eq(piece, all + firsts[i][0],
					 arg.nr_blocks * sizeof(*piece));
	}
}
END_TEST

START_TEST(test_table_while_copies_are_owed)
{
	u64 seq = kvpt_published(a, 1, tok, 8), blocks[2];

	kvpt_ok(kvpt_truncate(a, seq, 6));
	kvpt_ok(kvpt_append(a, seq, other, 1));
	kvpt_expect_table(a, seq, 0, blocks, 2);
	kvpt_expect_lengths(a, seq, 7, 6, 7, 4);
}
END_TEST

START_TEST(test_table_of_a_family_that_is_not)
{
	u64 seq = sequence(6, 6, 0);

	kvpt_refused(&env, a, kvpt_table(a, seq, 1, NULL, 0), -EINVAL, KVP_REASON_FAMILY, 1);
	kvpt_refused(&env, a, kvpt_table(a, seq, ~0U, NULL, 0), -EINVAL, KVP_REASON_FAMILY, ~0U);
}
END_TEST

START_TEST(test_table_of_unknown_sequences)
{
	u64 id;

	kvpt_refuses_bad_ids(&env, a, a, id, kvpt_table(a, id, 0, NULL, 0));
}
END_TEST

START_TEST(test_table_of_a_busy_sequence)
{
	u64 seq = sequence(6, 6, 10);

	kvpt_refused(&env, a, kvpt_while_busy(a, seq, kvpt_table(a, seq, 0, NULL, 0)), -EBUSY,
		     KVP_REASON_SEQ_BUSY, 0);
}
END_TEST

START_TEST(test_right_to_use)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_PUBLISH);

	kvpt_refused(&env, a, kvpt_truncate(b, 1ULL << 32, 0), -EACCES,
		     KVP_REASON_RIGHT_USE, 0);
	kvpt_refused(&env, a, kvpt_free(b, 1ULL << 32), -EACCES, KVP_REASON_RIGHT_USE, 0);
	kvpt_refused(&env, a, kvpt_table(b, 1ULL << 32, 0, NULL, 0), -EACCES,
		     KVP_REASON_RIGHT_USE, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("seq_truncate");
	TCase *truncate = tcase_create("truncate");
	TCase *free_ = tcase_create("free");
	TCase *table = tcase_create("table");

	tcase_add_checked_fixture(truncate, setup, teardown);
	tcase_add_test(truncate, test_whole_blocks_are_given_back);
	tcase_add_test(truncate, test_truncate_above_what_is_computed);
	tcase_add_test(truncate, test_truncate_to_the_same_drops_the_reservation);
	tcase_add_test(truncate, test_reservation_inside_the_last_block_goes_too);
	tcase_add_test(truncate, test_truncate_to_nothing);
	tcase_add_test(truncate, test_published_nodes_stay_for_others);
	tcase_add_test(truncate, test_go_on_differently_after_truncate);
	tcase_add_test(truncate, test_truncate_leaves_forks_alone);
	tcase_add_test(truncate, test_truncate_inside_a_node_of_two_blocks);
	tcase_add_test(truncate, test_digest_of_a_dropped_node_is_free);
	tcase_add_test(truncate, test_truncate_to_more_than_there_is);
	tcase_add_test(truncate, test_truncate_of_unknown_sequences);
	tcase_add_test(truncate, test_truncate_of_a_busy_sequence);
	suite_add_tcase(s, truncate);

	tcase_add_checked_fixture(free_, setup, teardown);
	tcase_add_test(free_, test_free_gives_back_everything);
	tcase_add_test(free_, test_free_leaves_what_is_published);
	tcase_add_test(free_, test_free_while_copies_are_owed);
	tcase_add_test(free_, test_freed_twice);
	tcase_add_test(free_, test_free_of_unknown_sequences);
	tcase_add_test(free_, test_free_of_a_busy_sequence);
	tcase_add_test(free_, test_free_more_than_a_slice);
	suite_add_tcase(s, free_);

	tcase_add_checked_fixture(table, setup, teardown);
	tcase_add_test(table, test_table_in_pieces);
	tcase_add_test(table, test_table_from_a_slot_on);
	tcase_add_test(table, test_table_while_copies_are_owed);
	tcase_add_test(table, test_table_of_a_family_that_is_not);
	tcase_add_test(table, test_table_of_unknown_sequences);
	tcase_add_test(table, test_table_of_a_busy_sequence);
	tcase_add_test(table, test_right_to_use);
	suite_add_tcase(s, table);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

// SPDX-License-Identifier: MIT
/*
 * Copy-on-write of sequences: an append into a node that is published or that others hold too
 * gets private blocks, tells what to copy, and holds the sources until the copies are made.
 */
#include <check.h>

#include "unit.h"

static struct kvpt_env env;
static struct kvp_client *a;
static u32 tok[64], other[64];

static void remake(const struct kvp_pool_create *with)
{
	if (a)
		kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool_with(&env, with, (struct kvp_family_desc[]){ KVPT_DENSE(16, 4) }, 1);
}

static void setup(void)
{
	const struct kvp_pool_create with = { };

	a = NULL;
	remake(&with);
	kvpt_tokens(tok, 64, 1);
	kvpt_tokens(other, 64, 2);
}

/* The usual pool, but with two blocks to a node. */
static void setup_pairs(void)
{
	const struct kvp_pool_create with = { .index_tokens = 8 };

	remake(&with);
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

START_TEST(test_write_into_a_published_block_gets_a_copy)
{
	u64 seq, was[2], is[2];

	seq = kvpt_published(a, 1, tok, 8);
	kvpt_expect_table(a, seq, 0, was, 2);
	kvpt_ok(kvpt_truncate(a, seq, 6));
	kvpt_expect_lengths(a, seq, 6, 6, 6, 4);

	kvpt_ok(kvpt_append(a, seq, other, 1));
	ck_assert_uint_eq(kvpt.seq_append.position, 6);
	ck_assert_uint_eq(kvpt.seq_append.nr_reserved, 7);
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 1);
	kvpt_expect_table(a, seq, 0, is, 2);
	ck_assert_uint_eq(is[0], was[0]);
	ck_assert_uint_ne(is[1], was[1]);
	ck_assert_uint_eq(kvpt_copies[0].src, was[1]);
	ck_assert_uint_eq(kvpt_copies[0].dst, is[1]);
	ck_assert_uint_eq(kvpt_copies[0].tokens, 2);
	ck_assert_uint_eq(kvpt_copies[0].reserved, 0);
	kvpt_expect_lengths(a, seq, 7, 6, 7, 4);
	ck_assert_uint_eq(kvpt_count(a, was[1]), 1);
	kvpt_expect_blocks(a, 0, 13, 3, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).copies, 1);

	/* The source is held for the copy, and no longer. */
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 0);
	kvpt_ok(kvpt_copied(a, seq));
	ck_assert_uint_eq(kvpt_count(a, was[1]), 0);
	kvpt_expect_blocks(a, 0, 13, 2, 1);
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 1);
	kvpt_expect_blocks(a, 0, 14, 2, 0);
}
END_TEST

START_TEST(test_copy_is_made_when_only_slots_are_wanted)
{
	u64 seq;

	seq = kvpt_published(a, 1, tok, 8);
	kvpt_ok(kvpt_truncate(a, seq, 6));
	kvpt_ok(kvpt_reserve(a, seq, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 1);
	kvpt_expect_lengths(a, seq, 6, 6, 7, 4);
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_copied(a, seq));
	kvpt_ok(kvpt_set_tokens(a, seq, other, 1));
}
END_TEST

START_TEST(test_copied_node_keeps_tokens_and_digest)
{
	const struct kvp_extra extra = kvpt_extra(1, 7);
	const struct kvp_seq_create with = { .extras = (u64)(uintptr_t)&extra, .nr_extras = 1 };
	struct kvp_prefix_match match = { .extras = (u64)(uintptr_t)&extra, .nr_extras = 1 };
	u64 seq;

	kvpt_ok(kvpt_create_with(a, &with, 1, tok, 8, &seq));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_truncate(a, seq, 6));
	kvpt_ok(kvpt_append(a, seq, other, 2));
	kvpt_ok(kvpt_copied(a, seq));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 1 + 2);
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.nr_new, 1);

	kvpt_ok(kvpt_match_with(a, &match, 1, tok, 8));
	ck_assert_uint_eq(kvpt.match.matched, 8);
	memcpy(other + 8, tok, 6 * sizeof(*tok));
	memcpy(other + 14, other, 2 * sizeof(*tok));
	kvpt_ok(kvpt_match_with(a, &match, 1, other + 8, 8));
	ck_assert_uint_eq(kvpt.match.matched, 8);
	ck_assert_uint_eq(kvpt_matched(a, 1, other + 8, 8), 4);
}
END_TEST

START_TEST(test_copied_digest_and_new_ones_in_one_call)
{
	const struct kvp_extra extras[3] = { kvpt_extra(1, 7), kvpt_extra(2, 8), kvpt_extra(3, 9) };
	struct kvp_seq_create create = { .extras = (u64)(uintptr_t)extras, .nr_extras = 1 };
	struct kvp_seq_append append = {
		.position = KVP_POS_END,
		.extras = (u64)(uintptr_t)(extras + 1),
		.nr_extras = 2,
		.copies = (u64)(uintptr_t)kvpt_copies,
		.nr_copies = 1,
	};
	struct kvp_prefix_match look = { .extras = (u64)(uintptr_t)extras, .nr_extras = 3 };
	u64 seq;

	kvpt_ok(kvpt_create_with(a, &create, 1, tok, 8, &seq));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_truncate(a, seq, 7));
	kvpt_ok(kvpt_append_with(a, &append, seq, tok + 7, 9));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 1);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 1 + 4);
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_copied(a, seq));
	kvpt_ok(kvpt_advance(a, seq, 16));
	kvpt_ok(kvpt_publish(a, seq));
	/* The node it was copied from is still there, and equal again. */
	ck_assert_uint_eq(kvpt.publish.nr_shared, 1);
	ck_assert_uint_eq(kvpt.publish.nr_new, 2);
	kvpt_ok(kvpt_match_with(a, &look, 1, tok, 16));
	ck_assert_uint_eq(kvpt.match.matched, 16);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 1 + 3);
}
END_TEST

START_TEST(test_forks_part_at_the_first_append)
{
	u64 seq, child, was[2], is[2];

	seq = kvpt_computed(a, 1, tok, 6);
	kvpt_expect_table(a, seq, 0, was, 2);
	kvpt_ok(kvpt_fork(a, seq, KVP_POS_END, &child));
	kvpt_expect_blocks(a, 0, 14, 2, 0);
	kvpt_ok(kvpt_append(a, child, other, 3));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 1);
	ck_assert_uint_eq(kvpt_copies[0].src, was[1]);
	ck_assert_uint_eq(kvpt_copies[0].tokens, 2);
	kvpt_expect_table(a, seq, 0, is, 2);
	ck_assert_mem_eq(was, is, sizeof(was));
	kvpt_expect_lengths(a, seq, 6, 6, 6, 0);
	kvpt_expect_lengths(a, child, 9, 6, 9, 0);
	ck_assert_uint_eq(kvpt_count(a, was[0]), 2);
	ck_assert_uint_eq(kvpt_count(a, was[1]), 2);

	kvpt_ok(kvpt_copied(a, child));
	ck_assert_uint_eq(kvpt_count(a, was[1]), 1);
	/* Nobody else has the block now, so the parent writes where it is. */
	kvpt_ok(kvpt_append(a, seq, tok + 6, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 0);
	kvpt_expect_blocks(a, 0, 12, 4, 0);
}
END_TEST

START_TEST(test_source_of_a_pending_copy_is_not_written)
{
	u64 seq, child;

	seq = kvpt_computed(a, 1, tok, 6);
	kvpt_ok(kvpt_fork(a, seq, KVP_POS_END, &child));
	kvpt_ok(kvpt_append(a, child, other, 1));
	/* The child still has to read the block that the parent would write to. */
	kvpt_ok(kvpt_append(a, seq, tok + 6, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 1);
	kvpt_expect_blocks(a, 0, 12, 4, 0);
	kvpt_ok(kvpt_copied(a, seq));
	kvpt_ok(kvpt_copied(a, child));
	kvpt_expect_blocks(a, 0, 13, 3, 0);
}
END_TEST

START_TEST(test_raw_reference_makes_a_copy)
{
	u64 seq, was[2];

	seq = kvpt_computed(a, 1, tok, 6);
	kvpt_expect_table(a, seq, 0, was, 2);
	kvpt_ok(kvpt_ref_from(a, seq, 1, &was[1], 1));
	kvpt_ok(kvpt_append(a, seq, tok + 6, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 1);
	ck_assert_uint_eq(kvpt_copies[0].src, was[1]);
	kvpt_ok(kvpt_copied(a, seq));
	ck_assert_uint_eq(kvpt_count(a, was[1]), 1);
	kvpt_ok(kvpt_unref(a, &was[1], 1));
	kvpt_expect_blocks(a, 0, 14, 2, 0);
}
END_TEST

/* That nobody else had the block was seen before: it is looked at again. */
START_TEST(test_raw_reference_between_two_appends)
{
	u64 seq, was[2];

	seq = kvpt_computed(a, 1, tok, 5);
	kvpt_expect_table(a, seq, 0, was, 2);
	kvpt_ok(kvpt_append(a, seq, tok + 5, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 0);
	kvpt_ok(kvpt_ref_from(a, seq, 1, &was[1], 1));
	kvpt_ok(kvpt_append(a, seq, tok + 6, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 1);
	ck_assert_uint_eq(kvpt_copies[0].src, was[1]);
	kvpt_ok(kvpt_copied(a, seq));
	ck_assert_uint_eq(kvpt_count(a, was[1]), 1);
}
END_TEST

/* It was seen of the node before; the one that the ids have come to has a reserved block. */
START_TEST(test_raw_reference_on_a_block_of_the_next_node)
{
	u64 seq, was[4];

	seq = kvpt_computed(a, 1, tok, 6);
	kvpt_ok(kvpt_reserve(a, seq, 8));
	kvpt_expect_table(a, seq, 0, was, 4);
	kvpt_ok(kvpt_ref_from(a, seq, 2, &was[2], 1));
	kvpt_ok(kvpt_append(a, seq, tok + 6, 1));
	if (_i)
		kvpt_ok(kvpt_set_tokens(a, seq, tok + 7, 2));
	else
		kvpt_ok(kvpt_append(a, seq, tok + 7, 2));
	ck_assert_uint_eq(kvpt_count(a, was[2]), 2);
	kvpt_ok(kvpt_append(a, seq, tok + 9, 1));
	ck_assert_uint_eq(kvpt_count(a, was[2]), 1);
}
END_TEST

START_TEST(test_raw_reference_elsewhere_makes_none)
{
	u64 seq, was[2];

	seq = kvpt_computed(a, 1, tok, 6);
	kvpt_expect_table(a, seq, 0, was, 2);
	kvpt_ok(kvpt_ref_from(a, seq, 0, &was[0], 1));
	kvpt_ok(kvpt_append(a, seq, tok + 6, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 0);
	kvpt_ok(kvpt_unref(a, &was[0], 1));
}
END_TEST

START_TEST(test_copies_hold_computed_rows_only)
{
	u64 seq, was[2], is[2];

	kvpt_ok(kvpt_create(a, 1, tok, 7, &seq));
	kvpt_ok(kvpt_advance(a, seq, 5));
	kvpt_expect_table(a, seq, 0, was, 2);
	kvpt_ok(kvpt_ref_from(a, seq, 1, &was[1], 1));
	kvpt_ok(kvpt_append(a, seq, tok + 7, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 1);
	ck_assert_uint_eq(kvpt_copies[0].tokens, 1);
	kvpt_expect_table(a, seq, 0, is, 2);
	ck_assert_uint_ne(is[1], was[1]);
	kvpt_ok(kvpt_copied(a, seq));
	kvpt_ok(kvpt_unref(a, &was[1], 1));
}
END_TEST

START_TEST(test_block_without_computed_rows_is_not_copied)
{
	u64 seq, was[2], is[2];

	kvpt_ok(kvpt_create(a, 1, tok, 7, &seq));
	kvpt_ok(kvpt_advance(a, seq, 4));
	kvpt_expect_table(a, seq, 0, was, 2);
	kvpt_ok(kvpt_ref_from(a, seq, 1, &was[1], 1));
	kvpt_ok(kvpt_append(a, seq, tok + 7, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 0);
	kvpt_expect_table(a, seq, 0, is, 2);
	ck_assert_uint_ne(is[1], was[1]);
	ck_assert_uint_eq(kvpt_count(a, was[1]), 1);
	/* So nothing is owed. */
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_unref(a, &was[1], 1));
}
END_TEST

START_TEST(test_the_whole_node_is_copied)
{
	u64 seq, child, was[4], is[4];

	setup_pairs();
	seq = kvpt_computed(a, 1, tok, 14);
	kvpt_expect_table(a, seq, 0, was, 4);
	kvpt_ok(kvpt_fork(a, seq, KVP_POS_END, &child));
	kvpt_ok(kvpt_append(a, child, other, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 2);
	kvpt_expect_table(a, child, 0, is, 4);
	ck_assert_uint_eq(is[0], was[0]);
	ck_assert_uint_eq(is[1], was[1]);
	ck_assert_uint_eq(kvpt_copies[0].src, was[2]);
	ck_assert_uint_eq(kvpt_copies[0].dst, is[2]);
	ck_assert_uint_eq(kvpt_copies[0].tokens, 4);
	ck_assert_uint_eq(kvpt_copies[1].src, was[3]);
	ck_assert_uint_eq(kvpt_copies[1].dst, is[3]);
	ck_assert_uint_eq(kvpt_copies[1].tokens, 2);
	kvpt_expect_blocks(a, 0, 10, 6, 0);
	kvpt_ok(kvpt_free(a, child));
	kvpt_expect_blocks(a, 0, 12, 4, 0);
}
END_TEST

START_TEST(test_copy_at_a_block_boundary_inside_a_node)
{
	u64 seq, child, was[3], is[4];

	setup_pairs();
	seq = kvpt_computed(a, 1, tok, 12);
	kvpt_expect_table(a, seq, 0, was, 3);
	kvpt_ok(kvpt_fork(a, seq, KVP_POS_END, &child));
	/* No slot of a shared block is written, but the node is the unit. */
	kvpt_ok(kvpt_append(a, child, other, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 1);
	ck_assert_uint_eq(kvpt_copies[0].src, was[2]);
	ck_assert_uint_eq(kvpt_copies[0].tokens, 4);
	kvpt_expect_table(a, child, 0, is, 4);
	ck_assert_uint_eq(kvpt_copies[0].dst, is[2]);
	ck_assert_uint_eq(is[1], was[1]);
}
END_TEST

START_TEST(test_tokens_forgotten_by_truncate_do_not_come_back)
{
	u64 seq, child;

	seq = kvpt_computed(a, 1, tok, 6);
	kvpt_ok(kvpt_fork(a, seq, KVP_POS_END, &child));
	kvpt_ok(kvpt_truncate(a, seq, 5));
	kvpt_ok(kvpt_free(a, child));
	/* The node knows 6 ids, the sequence 5. */
	kvpt_ok(kvpt_append(a, seq, other, 3));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 0);
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 4);
	memcpy(other + 8, tok, 5 * sizeof(*tok));
	memcpy(other + 13, other, 3 * sizeof(*tok));
	ck_assert_uint_eq(kvpt_matched(a, 1, other + 8, 8), 8);
}
END_TEST

/* ---- refusals ---- */

START_TEST(test_copies_that_are_owed)
{
	u64 seq;

	seq = kvpt_published(a, 1, tok, 8);
	kvpt_ok(kvpt_truncate(a, seq, 6));
	kvpt_ok(kvpt_append(a, seq, other, 1));
	kvpt_refused(&env, a, kvpt_append(a, seq, other, 1), -EBUSY,
		     KVP_REASON_COPY_PENDING, 0);
	kvpt_refused(&env, a, kvpt_reserve(a, seq, 20), -EBUSY, KVP_REASON_COPY_PENDING, 0);
	kvpt_refused(&env, a, kvpt_set_tokens(a, seq, other, 1), -EBUSY,
		     KVP_REASON_COPY_PENDING, 0);
	kvpt_refused(&env, a, kvpt_advance(a, seq, 7), -EBUSY, KVP_REASON_COPY_PENDING, 0);
	kvpt_refused(&env, a, kvpt_fork(a, seq, 4, NULL), -EBUSY, KVP_REASON_COPY_PENDING, 0);
	kvpt_refused(&env, a, kvpt_truncate(a, seq, 4), -EBUSY, KVP_REASON_COPY_PENDING, 0);
	kvpt_refused(&env, a, kvpt_publish(a, seq), -EBUSY, KVP_REASON_COPY_PENDING, 0);
	kvpt_expect_lengths(a, seq, 7, 6, 7, 4);
	kvpt_ok(kvpt_copied(a, seq));
	kvpt_ok(kvpt_append(a, seq, other, 1));
}
END_TEST

START_TEST(test_too_little_room_for_the_copies)
{
	struct kvp_seq_append with = { .position = KVP_POS_END };
	struct kvp_copy copies[2];
	u64 seq, child;

	setup_pairs();
	seq = kvpt_computed(a, 1, tok, 14);
	kvpt_ok(kvpt_fork(a, seq, KVP_POS_END, &child));
	kvpt_refused(&env, a, kvpt_append_with(a, &with, child, other, 1), -EOVERFLOW,
		     KVP_REASON_COPIES, 2);
	with.copies = (u64)(uintptr_t)copies;
	with.nr_copies = 1;
	kvpt_refused(&env, a, kvpt_append_with(a, &with, child, other, 1), -EOVERFLOW,
		     KVP_REASON_COPIES, 2);
	with.nr_copies = 2;
	kvpt_ok(kvpt_append_with(a, &with, child, other, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 2);
}
END_TEST

START_TEST(test_pool_full_for_a_copy)
{
	u64 seq, blocks[14];

	seq = kvpt_published(a, 1, tok, 8);
	kvpt_ok(kvpt_truncate(a, seq, 6));
	kvpt_ok(kvpt_alloc(a, 0, 14, blocks));
	kvpt_refused(&env, a, kvpt_append(a, seq, other, 1), -ENOSPC,
		     KVP_REASON_POOL_FULL, 0);
	kvpt_ok(kvpt_unref(a, blocks, 1));
	kvpt_ok(kvpt_append(a, seq, other, 1));
}
END_TEST

START_TEST(test_no_node_or_digest_for_a_copy)
{
	const struct kvp_extra extra = kvpt_extra(1, 7);
	const struct kvp_seq_create create = {
		.extras = (u64)(uintptr_t)&extra,
		.nr_extras = 1,
	};
	struct kvp_pool_create with = { .nodes = 3 };
	u64 seq;

	remake(&with);
	seq = kvpt_published(a, 1, tok, 8);
	kvpt_ok(kvpt_truncate(a, seq, 6));
	kvpt_refused(&env, a, kvpt_append(a, seq, other, 1), -ENOSPC, KVP_REASON_NODES, 0);

	with.nodes = 0;
	with.extras = 2;
	remake(&with);
	kvpt_ok(kvpt_create_with(a, &create, 1, tok, 8, &seq));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_truncate(a, seq, 6));
	kvpt_refused(&env, a, kvpt_append(a, seq, other, 1), -ENOSPC, KVP_REASON_EXTRAS, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("seq_cow");
	TCase *copies = tcase_create("copies");
	TCase *refuses = tcase_create("refuses");

	tcase_add_checked_fixture(copies, setup, teardown);
	tcase_add_test(copies, test_write_into_a_published_block_gets_a_copy);
	tcase_add_test(copies, test_copy_is_made_when_only_slots_are_wanted);
	tcase_add_test(copies, test_copied_node_keeps_tokens_and_digest);
	tcase_add_test(copies, test_copied_digest_and_new_ones_in_one_call);
	tcase_add_test(copies, test_forks_part_at_the_first_append);
	tcase_add_test(copies, test_source_of_a_pending_copy_is_not_written);
	tcase_add_test(copies, test_raw_reference_makes_a_copy);
	tcase_add_test(copies, test_raw_reference_between_two_appends);
	tcase_add_loop_test(copies, test_raw_reference_on_a_block_of_the_next_node, 0, 2);
	tcase_add_test(copies, test_raw_reference_elsewhere_makes_none);
	tcase_add_test(copies, test_copies_hold_computed_rows_only);
	tcase_add_test(copies, test_block_without_computed_rows_is_not_copied);
	tcase_add_test(copies, test_the_whole_node_is_copied);
	tcase_add_test(copies, test_copy_at_a_block_boundary_inside_a_node);
	tcase_add_test(copies, test_tokens_forgotten_by_truncate_do_not_come_back);
	suite_add_tcase(s, copies);

	tcase_add_checked_fixture(refuses, setup, teardown);
	tcase_add_test(refuses, test_copies_that_are_owed);
	tcase_add_test(refuses, test_too_little_room_for_the_copies);
	tcase_add_test(refuses, test_pool_full_for_a_copy);
	tcase_add_test(refuses, test_no_node_or_digest_for_a_copy);
	suite_add_tcase(s, refuses);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

// SPDX-License-Identifier: MIT
/*
 * KVP_OP_SEQ_APPEND: slots and token ids at the end of a sequence, and each refusal alone.
 * Copy-on-write is in test_seq_cow.c.
 */
#include <check.h>

#include "unit.h"

static struct kvpt_env env;
static struct kvp_client *a;
static u32 tok[64], other[64];

static void remake(const struct kvp_pool_create *with, struct kvp_family_desc family)
{
	if (a)
		kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool_with(&env, with, &family, 1);
}

static void setup(void)
{
	const struct kvp_pool_create with = { };

	a = NULL;
	remake(&with, (struct kvp_family_desc)KVPT_DENSE(16, 4));
	kvpt_tokens(tok, 64, 1);
	kvpt_tokens(other, 64, 2);
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

static int append_at(u64 seq, u64 position, const u32 *tokens, u32 nr)
{
	const struct kvp_seq_append with = {
		.position = position,
		.copies = (u64)(uintptr_t)kvpt_copies,
		.nr_copies = KVPT_MAX_COPIES,
	};

	return kvpt_append_with(a, &with, seq, tokens, nr);
}

static int append_reserve(u64 seq, const u32 *tokens, u32 nr, u64 reserve)
{
	const struct kvp_seq_append with = {
		.position = KVP_POS_END,
		.reserve = reserve,
		.copies = (u64)(uintptr_t)kvpt_copies,
		.nr_copies = KVPT_MAX_COPIES,
	};

	return kvpt_append_with(a, &with, seq, tokens, nr);
}

static int append_extras(u64 seq, const u32 *tokens, u32 nr, const struct kvp_extra *extras,
			 u32 nr_extras)
{
	const struct kvp_seq_append with = {
		.position = KVP_POS_END,
		.extras = (u64)(uintptr_t)extras,
		.nr_extras = nr_extras,
		.copies = (u64)(uintptr_t)kvpt_copies,
		.nr_copies = KVPT_MAX_COPIES,
	};

	return kvpt_append_with(a, &with, seq, tokens, nr);
}

/* ---- slots and tokens ---- */

START_TEST(test_append_fills_the_last_block_first)
{
	u64 seq, was, blocks[3];

	kvpt_ok(kvpt_create(a, 1, tok, 3, &seq));
	kvpt_expect_table(a, seq, 0, &was, 1);
	kvpt_ok(kvpt_append(a, seq, tok + 3, 1));
	ck_assert_uint_eq(kvpt.seq_append.position, 3);
	ck_assert_uint_eq(kvpt.seq_append.nr_reserved, 4);
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 0);
	kvpt_expect_lengths(a, seq, 4, 0, 4, 0);
	kvpt_expect_blocks(a, 0, 15, 1, 0);

	kvpt_ok(kvpt_append(a, seq, tok + 4, 6));
	ck_assert_uint_eq(kvpt.seq_append.position, 4);
	ck_assert_uint_eq(kvpt.seq_append.nr_reserved, 10);
	kvpt_expect_lengths(a, seq, 10, 0, 10, 0);
	kvpt_expect_table(a, seq, 0, blocks, 3);
	ck_assert_uint_eq(blocks[0], was);
	kvpt_expect_blocks(a, 0, 13, 3, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).slots, 3);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1 + 3);
}
END_TEST

START_TEST(test_append_to_an_empty_sequence)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, NULL, 0, &seq));
	kvpt_ok(kvpt_append(a, seq, tok, 5));
	ck_assert_uint_eq(kvpt.seq_append.position, 0);
	kvpt_expect_lengths(a, seq, 5, 0, 5, 0);
	kvpt_expect_blocks(a, 0, 14, 2, 0);
}
END_TEST

START_TEST(test_reserved_slots_are_used_first)
{
	const struct kvp_seq_create with = { .reserve = 7 };
	u64 seq;

	kvpt_ok(kvpt_create_with(a, &with, 1, tok, 1, &seq));
	kvpt_ok(kvpt_append(a, seq, tok + 1, 5));
	ck_assert_uint_eq(kvpt.seq_append.nr_reserved, 8);
	kvpt_expect_lengths(a, seq, 6, 0, 8, 0);
	kvpt_expect_blocks(a, 0, 14, 2, 0);
	kvpt_ok(kvpt_append(a, seq, tok + 6, 3));
	ck_assert_uint_eq(kvpt.seq_append.nr_reserved, 9);
	kvpt_expect_lengths(a, seq, 9, 0, 9, 0);
	kvpt_expect_blocks(a, 0, 13, 3, 0);
}
END_TEST

START_TEST(test_reserve_counts_from_the_tokens)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 2, &seq));
	kvpt_ok(append_reserve(seq, tok + 2, 2, 5));
	ck_assert_uint_eq(kvpt.seq_append.nr_reserved, 9);
	kvpt_expect_lengths(a, seq, 4, 0, 9, 0);
	kvpt_expect_blocks(a, 0, 13, 3, 0);
	/* Never gives a reservation back. */
	kvpt_ok(append_reserve(seq, tok + 4, 1, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_reserved, 9);
	kvpt_expect_lengths(a, seq, 5, 0, 9, 0);
	kvpt_ok(append_reserve(seq, NULL, 0, 11));
	ck_assert_uint_eq(kvpt.seq_append.nr_reserved, 16);
	kvpt_expect_lengths(a, seq, 5, 0, 16, 0);
	kvpt_expect_blocks(a, 0, 12, 4, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1 + 2);
}
END_TEST

START_TEST(test_append_after_published_nodes_copies_nothing)
{
	u64 seq;

	seq = kvpt_published(a, 1, tok, 8);
	kvpt_ok(kvpt_append(a, seq, tok + 8, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 0);
	kvpt_expect_lengths(a, seq, 9, 8, 9, 8);
	kvpt_expect_blocks(a, 0, 13, 3, 0);
}
END_TEST

START_TEST(test_position_that_is_right)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 3, &seq));
	kvpt_ok(append_at(seq, 3, tok + 3, 2));
	ck_assert_uint_eq(kvpt.seq_append.position, 3);
	kvpt_ok(append_at(seq, 5, tok + 5, 1));
	kvpt_expect_lengths(a, seq, 6, 0, 6, 0);
}
END_TEST

START_TEST(test_appended_tokens_are_matched)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 3, &seq));
	kvpt_ok(kvpt_append(a, seq, tok + 3, 4));
	kvpt_ok(kvpt_append(a, seq, tok + 7, 6));
	kvpt_ok(kvpt_advance(a, seq, 13));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 16), 12);
}
END_TEST

START_TEST(test_append_many_in_one_call)
{
	const struct kvp_pool_create with = { };
	u32 *many = calloc(KVP_MAX_CALL_TOKENS, sizeof(*many));
	u64 seq;

	ck_assert_ptr_nonnull(many);
	remake(&with, (struct kvp_family_desc)KVPT_DENSE(3000, 512));
	kvpt_tokens(many, KVP_MAX_CALL_TOKENS, 1);
	kvpt_ok(kvpt_create(a, 1, NULL, 0, &seq));
	kvpt_ok(kvpt_append(a, seq, many, KVP_MAX_CALL_TOKENS));
	kvpt_expect_lengths(a, seq, 1U << 20, 0, 1U << 20, 0);
	ck_assert_uint_eq(kvpt.table.total, 2048);
	kvpt_refused(&env, a, kvpt_append(a, seq, many, KVP_MAX_CALL_TOKENS + 1),
		     -EOVERFLOW, KVP_REASON_COUNT, kvpt_at(struct kvp_seq_append, nr_tokens));
	free(many);
}
END_TEST

/* ---- extra digests ---- */

START_TEST(test_extra_of_a_new_node)
{
	const struct kvp_extra extra = kvpt_extra(1, 7);
	struct kvp_prefix_match match = { .extras = (u64)(uintptr_t)&extra, .nr_extras = 1 };
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 3, &seq));
	kvpt_ok(append_extras(seq, tok + 3, 5, &extra, 1));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 1 + 1);
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 4);
	kvpt_ok(kvpt_match_with(a, &match, 1, tok, 8));
	ck_assert_uint_eq(kvpt.match.matched, 8);
}
END_TEST

START_TEST(test_extra_of_a_node_that_has_tokens)
{
	const struct kvp_extra early = kvpt_extra(0, 7);
	const struct kvp_extra both[2] = { kvpt_extra(0, 7), kvpt_extra(1, 8) };
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 3, &seq));
	kvpt_refused(&env, a, append_extras(seq, tok + 3, 5, &early, 1), -EINVAL,
		     KVP_REASON_EXTRA, 0);
	kvpt_refused(&env, a, append_extras(seq, tok + 3, 5, both, 2), -EINVAL,
		     KVP_REASON_EXTRA, 0);
}
END_TEST

START_TEST(test_extra_outside_what_is_appended)
{
	const struct kvp_extra late[2] = { kvpt_extra(1, 7), kvpt_extra(2, 8) };
	const struct kvp_extra turned[2] = { kvpt_extra(2, 7), kvpt_extra(1, 8) };
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 3, &seq));
	kvpt_refused(&env, a, append_extras(seq, tok + 3, 5, late, 2), -EINVAL,
		     KVP_REASON_EXTRA, 1);
	kvpt_refused(&env, a, append_extras(seq, tok + 3, 9, turned, 2), -EINVAL,
		     KVP_REASON_EXTRA, 1);
	/* A digest without a token of its node is nothing to append. */
	kvpt_refused(&env, a, append_extras(seq, NULL, 0, late, 1), -EINVAL,
		     KVP_REASON_COUNT, 0);
}
END_TEST

/* ---- refusals ---- */

START_TEST(test_unknown_sequences)
{
	u64 id;

	kvpt_refuses_bad_ids(&env, a, a, id, kvpt_append(a, id, tok, 1));
}
END_TEST

START_TEST(test_unknown_flag)
{
	struct kvp_seq_append with = { .head.flags = 1, .position = KVP_POS_END };
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 3, &seq));
	kvpt_refused(&env, a, kvpt_append_with(a, &with, seq, tok, 1), -EINVAL,
		     KVP_REASON_FLAG, 0);
}
END_TEST

START_TEST(test_reserved_field)
{
	struct kvp_seq_append with = { .reserved = 1, .position = KVP_POS_END };
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 3, &seq));
	kvpt_refused(&env, a, kvpt_append_with(a, &with, seq, tok, 1), -EINVAL,
		     KVP_REASON_RESERVED, kvpt_at(struct kvp_seq_append, reserved));
}
END_TEST

START_TEST(test_nothing_to_do)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 3, &seq));
	kvpt_refused(&env, a, kvpt_append(a, seq, NULL, 0), -EINVAL, KVP_REASON_COUNT, 0);
}
END_TEST

START_TEST(test_position_that_is_wrong)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 3, &seq));
	kvpt_refused(&env, a, append_at(seq, 2, tok + 3, 1), -EINVAL, KVP_REASON_POSITION, 0);
	ck_assert_uint_eq(kvpt.seq_append.position, 3);
	kvpt_refused(&env, a, append_at(seq, 4, tok + 3, 1), -EINVAL, KVP_REASON_POSITION, 0);
	ck_assert_uint_eq(kvpt.seq_append.position, 3);
}
END_TEST

START_TEST(test_busy_sequence)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 3, &seq));
	kvpt_refused(&env, a, kvpt_while_busy(a, seq, kvpt_append(a, seq, tok, 1)), -EBUSY,
		     KVP_REASON_SEQ_BUSY, 0);
}
END_TEST

START_TEST(test_absurd_reserve)
{
	static const u64 absurd[] = { KVP_MAX_SEQ_TOKENS, 1ULL << 63, ~0ULL };
	u64 seq;
	u32 i;

	kvpt_ok(kvpt_create(a, 1, tok, 3, &seq));
	for (i = 0; i < ARRAY_SIZE(absurd); i++)
		kvpt_refused(&env, a, append_reserve(seq, tok, 1, absurd[i]), -EOVERFLOW,
			     KVP_REASON_LENGTH, 0);
}
END_TEST

START_TEST(test_more_blocks_than_the_pool_has)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 3, &seq));
	kvpt_refused(&env, a, append_reserve(seq, tok, 1, 61), -EFBIG,
		     KVP_REASON_NEVER_FITS, 0);
	kvpt_ok(append_reserve(seq, tok, 1, 60));
	kvpt_expect_blocks(a, 0, 0, 16, 0);
}
END_TEST

START_TEST(test_pool_full)
{
	u64 seq, blocks[14];

	kvpt_ok(kvpt_alloc(a, 0, 14, blocks));
	kvpt_ok(kvpt_create(a, 1, tok, 3, &seq));
	kvpt_refused(&env, a, kvpt_append(a, seq, tok + 3, 6), -ENOSPC,
		     KVP_REASON_POOL_FULL, 0);
	kvpt_ok(kvpt_append(a, seq, tok + 3, 5));
	/* What it has is enough as long as there are slots. */
	kvpt_refused(&env, a, kvpt_append(a, seq, tok, 1), -ENOSPC, KVP_REASON_POOL_FULL, 0);
}
END_TEST

START_TEST(test_what_is_covered_or_guaranteed)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	u64 seq, match;

	kvpt_ok(kvpt_make_published(a, 1, tok, 56));
	kvpt_ok(kvpt_match(a, 1, tok, 56, &match));
	kvpt_ok(kvpt_create(a, 2, other, 4, &seq));
	kvpt_refused(&env, a, kvpt_append(a, seq, other, 5), -ENOSPC, KVP_REASON_COVERED, 0);
	kvpt_ok(kvpt_release(a, match));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_GUARANTEE, 0, 14));
	kvpt_refused(&env, a, kvpt_append(a, seq, other, 5), -ENOSPC,
		     KVP_REASON_GUARANTEED, 0);
	kvpt_ok(kvpt_append(a, seq, other, 4));
}
END_TEST

START_TEST(test_no_index_node_left)
{
	const struct kvp_pool_create with = { .nodes = 3 };
	u64 seq;

	remake(&with, (struct kvp_family_desc)KVPT_DENSE(16, 4));
	kvpt_ok(kvpt_create(a, 1, tok, 5, &seq));
	kvpt_refused(&env, a, kvpt_append(a, seq, tok, 4), -ENOSPC, KVP_REASON_NODES, 0);
	kvpt_ok(kvpt_append(a, seq, tok, 3));
	/* Slots without ids need none. */
	kvpt_ok(kvpt_reserve(a, seq, 9));
}
END_TEST

START_TEST(test_no_room_for_a_digest)
{
	const struct kvp_pool_create with = { .extras = 1 };
	const struct kvp_extra extra = kvpt_extra(1, 7);
	u64 seq;

	remake(&with, (struct kvp_family_desc)KVPT_DENSE(16, 4));
	kvpt_ok(kvpt_create(a, 1, tok, 4, &seq));
	kvpt_refused(&env, a, append_extras(seq, tok + 4, 4, &extra, 1), -ENOSPC,
		     KVP_REASON_EXTRAS, 0);
	kvpt_ok(kvpt_append(a, seq, tok + 4, 4));
}
END_TEST

START_TEST(test_limits)
{
	u64 seq, self = kvpt_client_id(a);

	kvpt_ok(kvpt_create(a, 1, tok, 8, &seq));
	kvpt_ok(kvpt_limit(a, self, KVP_LIMIT_BLOCKS, 0, 2));
	kvpt_refused(&env, a, kvpt_append(a, seq, tok, 1), -EDQUOT,
		     KVP_REASON_LIMIT_BLOCKS, 0);
	kvpt_ok(kvpt_limit(a, self, KVP_LIMIT_BLOCKS, 0, KVP_UNLIMITED));
	kvpt_ok(kvpt_limit(a, self, KVP_LIMIT_SLOTS, 0, 2));
	kvpt_refused(&env, a, kvpt_append(a, seq, tok, 1), -EDQUOT,
		     KVP_REASON_LIMIT_SLOTS, 0);
	kvpt_ok(kvpt_limit(a, self, KVP_LIMIT_SLOTS, 0, KVP_UNLIMITED));
	kvpt_ok(kvpt_append(a, seq, tok, 1));
}
END_TEST

START_TEST(test_limit_of_metadata)
{
	const struct kvp_pool_create with = { };
	u32 nr = 8;
	u64 seq;

	remake(&with, (struct kvp_family_desc)KVPT_DENSE(200, 1));
	kvpt_ok(kvpt_create(a, 1, tok, 8, &seq));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_METADATA, 0, 1));
	/* Memory of the tables grows in steps, so the first ones may need none. */
	while (nr < 200 && !kvpt_append(a, seq, tok, 1))
		nr++;
	ck_assert_uint_lt(nr, 200);
	kvpt_refused(&env, a, kvpt_append(a, seq, tok, 1), -EDQUOT,
		     KVP_REASON_LIMIT_METADATA, 0);
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_METADATA, 0, KVP_UNLIMITED));
	kvpt_ok(kvpt_append(a, seq, tok, 1));
}
END_TEST

START_TEST(test_right_to_use)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_PUBLISH);

	kvpt_refused(&env, a, kvpt_append(b, 1ULL << 32, tok, 4), -EACCES,
		     KVP_REASON_RIGHT_USE, 0);
}
END_TEST

START_TEST(test_tokens_stand_if_the_result_cannot_be_written)
{
	struct kvp_client *b;
	u64 seq;

	env.door = &kvpt_failing_door;
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	kvpt_ok(kvpt_create(b, 1, tok, 3, &seq));
	kvpt_fail_write = 1;
	ck_assert_int_eq(kvpt_append(b, seq, tok + 3, 4), -EFAULT);
	ck_assert_int_eq(kvpt_fail_write, 0);
	kvpt_expect_lengths(b, seq, 7, 0, 7, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("seq_append");
	TCase *slots = tcase_create("slots");
	TCase *refuses = tcase_create("refuses");

	tcase_add_checked_fixture(slots, setup, teardown);
	tcase_add_test(slots, test_append_fills_the_last_block_first);
	tcase_add_test(slots, test_append_to_an_empty_sequence);
	tcase_add_test(slots, test_reserved_slots_are_used_first);
	tcase_add_test(slots, test_reserve_counts_from_the_tokens);
	tcase_add_test(slots, test_append_after_published_nodes_copies_nothing);
	tcase_add_test(slots, test_position_that_is_right);
	tcase_add_test(slots, test_appended_tokens_are_matched);
	tcase_add_test(slots, test_append_many_in_one_call);
	tcase_add_test(slots, test_extra_of_a_new_node);
	tcase_add_test(slots, test_extra_of_a_node_that_has_tokens);
	tcase_add_test(slots, test_extra_outside_what_is_appended);
	suite_add_tcase(s, slots);

	tcase_add_checked_fixture(refuses, setup, teardown);
	tcase_add_test(refuses, test_unknown_sequences);
	tcase_add_test(refuses, test_unknown_flag);
	tcase_add_test(refuses, test_reserved_field);
	tcase_add_test(refuses, test_nothing_to_do);
	tcase_add_test(refuses, test_position_that_is_wrong);
	tcase_add_test(refuses, test_busy_sequence);
	tcase_add_test(refuses, test_absurd_reserve);
	tcase_add_test(refuses, test_more_blocks_than_the_pool_has);
	tcase_add_test(refuses, test_pool_full);
	tcase_add_test(refuses, test_what_is_covered_or_guaranteed);
	tcase_add_test(refuses, test_no_index_node_left);
	tcase_add_test(refuses, test_no_room_for_a_digest);
	tcase_add_test(refuses, test_limits);
	tcase_add_test(refuses, test_limit_of_metadata);
	tcase_add_test(refuses, test_right_to_use);
	tcase_add_test(refuses, test_tokens_stand_if_the_result_cannot_be_written);
	suite_add_tcase(s, refuses);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

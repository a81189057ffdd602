// SPDX-License-Identifier: MIT
/*
 * KVP_OP_SEQ_SET_TOKENS, KVP_OP_SEQ_ADVANCE and KVP_OP_SEQ_COPIED: what moves the lengths
 * of a sequence without a new slot.
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

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

/* A sequence of @nr tokens with @reserve slots beyond them. */
static u64 reserved(u32 nr, u64 reserve)
{
	const struct kvp_seq_create with = { .reserve = reserve };
	u64 seq;

	kvpt_ok(kvpt_create_with(a, &with, 1, tok, nr, &seq));
	return seq;
}

static int set_at(u64 seq, u64 position, const u32 *tokens, u32 nr)
{
	const struct kvp_seq_set_tokens with = { .position = position };

	return kvpt_set_tokens_with(a, &with, seq, tokens, nr);
}

static int set_extras(u64 seq, const u32 *tokens, u32 nr, const struct kvp_extra *extras,
		      u32 nr_extras)
{
	const struct kvp_seq_set_tokens with = {
		.position = KVP_POS_END,
		.extras = (u64)(uintptr_t)extras,
		.nr_extras = nr_extras,
	};

	return kvpt_set_tokens_with(a, &with, seq, tokens, nr);
}

/* ---- set_tokens ---- */

START_TEST(test_ids_for_reserved_slots)
{
	u64 seq = reserved(3, 7), was[3], is[3];

	kvpt_expect_table(a, seq, 0, was, 3);
	kvpt_ok(kvpt_set_tokens(a, seq, tok + 3, 4));
	ck_assert_uint_eq(kvpt.set_tokens.position, 3);
	kvpt_expect_lengths(a, seq, 7, 0, 10, 0);
	kvpt_ok(set_at(seq, 7, tok + 7, 3));
	ck_assert_uint_eq(kvpt.set_tokens.position, 7);
	kvpt_expect_lengths(a, seq, 10, 0, 10, 0);
	kvpt_expect_table(a, seq, 0, is, 3);
	ck_assert_mem_eq(was, is, sizeof(was));
	kvpt_expect_blocks(a, 0, 13, 3, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1 + 3);

	kvpt_ok(kvpt_advance(a, seq, 10));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 10), 8);
}
END_TEST

START_TEST(test_set_tokens_with_a_digest)
{
	const struct kvp_extra extra = kvpt_extra(1, 7);
	struct kvp_prefix_match match = { .extras = (u64)(uintptr_t)&extra, .nr_extras = 1 };
	u64 seq = reserved(3, 7);

	kvpt_ok(set_extras(seq, tok + 3, 5, &extra, 1));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 1 + 1);
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 4);
	kvpt_ok(kvpt_match_with(a, &match, 1, tok, 8));
	ck_assert_uint_eq(kvpt.match.matched, 8);
}
END_TEST

START_TEST(test_set_tokens_of_unknown_sequences)
{
	u64 id;

	kvpt_refuses_bad_ids(&env, a, a, id, kvpt_set_tokens(a, id, tok, 1));
}
END_TEST

START_TEST(test_set_tokens_without_tokens)
{
	u64 seq = reserved(3, 7);

	kvpt_refused(&env, a, kvpt_set_tokens(a, seq, NULL, 0), -EINVAL, KVP_REASON_COUNT,
		     kvpt_at(struct kvp_seq_set_tokens, nr_tokens));
}
END_TEST

START_TEST(test_set_tokens_unknown_flag)
{
	const struct kvp_seq_set_tokens with = { .head.flags = 1, .position = KVP_POS_END };
	u64 seq = reserved(3, 7);

	kvpt_refused(&env, a, kvpt_set_tokens_with(a, &with, seq, tok, 1), -EINVAL,
		     KVP_REASON_FLAG, 0);
}
END_TEST

START_TEST(test_set_tokens_at_a_wrong_position)
{
	u64 seq = reserved(3, 7);

	kvpt_refused(&env, a, set_at(seq, 2, tok, 1), -EINVAL, KVP_REASON_POSITION, 0);
	ck_assert_uint_eq(kvpt.set_tokens.position, 3);
	kvpt_refused(&env, a, set_at(seq, 4, tok, 1), -EINVAL, KVP_REASON_POSITION, 0);
	ck_assert_uint_eq(kvpt.set_tokens.position, 3);
}
END_TEST

START_TEST(test_set_more_tokens_than_slots)
{
	u64 seq = reserved(3, 7);

	kvpt_refused(&env, a, kvpt_set_tokens(a, seq, tok, 8), -EINVAL, KVP_REASON_LENGTH, 0);
	kvpt_ok(kvpt_set_tokens(a, seq, tok, 7));
	kvpt_refused(&env, a, kvpt_set_tokens(a, seq, tok, 1), -EINVAL, KVP_REASON_LENGTH, 0);
}
END_TEST

START_TEST(test_set_tokens_with_wrong_digests)
{
	const struct kvp_extra early = kvpt_extra(0, 7), late = kvpt_extra(2, 7);
	const struct kvp_extra twice[2] = { kvpt_extra(1, 7), kvpt_extra(1, 7) };
	u64 seq = reserved(3, 7);

	kvpt_refused(&env, a, set_extras(seq, tok, 5, &early, 1), -EINVAL, KVP_REASON_EXTRA, 0);
	kvpt_refused(&env, a, set_extras(seq, tok, 5, &late, 1), -EINVAL, KVP_REASON_EXTRA, 0);
	kvpt_refused(&env, a, set_extras(seq, tok, 5, twice, 2), -EINVAL, KVP_REASON_EXTRA, 1);
}
END_TEST

START_TEST(test_set_tokens_of_a_busy_sequence)
{
	u64 seq = reserved(3, 7);

	kvpt_refused(&env, a, kvpt_while_busy(a, seq, kvpt_set_tokens(a, seq, tok, 1)),
		     -EBUSY, KVP_REASON_SEQ_BUSY, 0);
}
END_TEST

START_TEST(test_set_tokens_without_a_node)
{
	const struct kvp_pool_create with = { .nodes = 2 };
	u64 seq;

	remake(&with);
	seq = reserved(3, 7);
	kvpt_refused(&env, a, kvpt_set_tokens(a, seq, tok, 2), -ENOSPC, KVP_REASON_NODES, 0);
	kvpt_ok(kvpt_set_tokens(a, seq, tok, 1));
}
END_TEST

START_TEST(test_set_tokens_without_room_for_a_digest)
{
	const struct kvp_pool_create with = { .extras = 1 };
	const struct kvp_extra extra = kvpt_extra(1, 7);
	u64 seq;

	remake(&with);
	seq = reserved(4, 4);
	kvpt_refused(&env, a, set_extras(seq, tok, 4, &extra, 1), -ENOSPC,
		     KVP_REASON_EXTRAS, 0);
	kvpt_ok(kvpt_set_tokens(a, seq, tok, 4));
}
END_TEST

START_TEST(test_set_tokens_over_the_limit_of_metadata)
{
	u64 seq;

	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(64, 1) }, 1);
	seq = reserved(0, 64);
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_METADATA, 0, 1));
	kvpt_refused(&env, a, kvpt_set_tokens(a, seq, tok, 64), -EDQUOT,
		     KVP_REASON_LIMIT_METADATA, 0);
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_METADATA, 0, KVP_UNLIMITED));
	kvpt_ok(kvpt_set_tokens(a, seq, tok, 64));
}
END_TEST

START_TEST(test_tokens_set_stand_if_the_result_cannot_be_written)
{
	const struct kvp_seq_create with = { .reserve = 4 };
	struct kvp_client *b;
	u64 seq;

	env.door = &kvpt_failing_door;
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	kvpt_ok(kvpt_create_with(b, &with, 1, tok, 3, &seq));
	kvpt_fail_write = 1;
	ck_assert_int_eq(kvpt_set_tokens(b, seq, tok + 3, 4), -EFAULT);
	kvpt_expect_lengths(b, seq, 7, 0, 7, 0);
}
END_TEST

/* ---- advance ---- */

START_TEST(test_advance_in_steps)
{
	u64 seq = reserved(9, 3), was[3], is[3];

	kvpt_expect_table(a, seq, 0, was, 3);
	kvpt_ok(kvpt_advance(a, seq, 4));
	kvpt_expect_lengths(a, seq, 9, 4, 12, 0);
	kvpt_ok(kvpt_advance(a, seq, 4));
	kvpt_expect_lengths(a, seq, 9, 4, 12, 0);
	kvpt_ok(kvpt_advance(a, seq, 9));
	kvpt_expect_lengths(a, seq, 9, 9, 12, 0);
	kvpt_expect_table(a, seq, 0, is, 3);
	ck_assert_mem_eq(was, is, sizeof(was));
	kvpt_expect_blocks(a, 0, 13, 3, 0);
}
END_TEST

START_TEST(test_advance_never_goes_back)
{
	u64 seq = reserved(9, 3);

	kvpt_ok(kvpt_advance(a, seq, 5));
	kvpt_refused(&env, a, kvpt_advance(a, seq, 4), -EINVAL, KVP_REASON_LENGTH, 0);
	kvpt_refused(&env, a, kvpt_advance(a, seq, 0), -EINVAL, KVP_REASON_LENGTH, 0);
}
END_TEST

START_TEST(test_advance_ends_with_the_tokens)
{
	u64 seq = reserved(9, 3);

	kvpt_refused(&env, a, kvpt_advance(a, seq, 10), -EINVAL, KVP_REASON_LENGTH, 0);
	kvpt_refused(&env, a, kvpt_advance(a, seq, ~0ULL), -EINVAL, KVP_REASON_LENGTH, 0);
}
END_TEST

START_TEST(test_advance_of_unknown_sequences)
{
	u64 id;

	kvpt_refuses_bad_ids(&env, a, a, id, kvpt_advance(a, id, 0));
}
END_TEST

START_TEST(test_advance_of_a_busy_sequence)
{
	u64 seq = reserved(9, 3);

	kvpt_refused(&env, a, kvpt_while_busy(a, seq, kvpt_advance(a, seq, 1)), -EBUSY,
		     KVP_REASON_SEQ_BUSY, 0);
}
END_TEST

/* ---- copied ---- */

START_TEST(test_copied_without_copies_does_nothing)
{
	u64 seq = reserved(9, 3);

	kvpt_ok(kvpt_copied(a, seq));
	kvpt_expect_lengths(a, seq, 9, 0, 12, 0);
	kvpt_expect_blocks(a, 0, 13, 3, 0);
}
END_TEST

START_TEST(test_copied_lets_the_sources_go_once)
{
	u64 seq, was[2];

	seq = kvpt_computed(a, 1, tok, 6);
	kvpt_expect_table(a, seq, 0, was, 2);
	kvpt_ok(kvpt_ref_from(a, seq, 1, &was[1], 1));
	kvpt_ok(kvpt_append(a, seq, tok + 6, 1));
	ck_assert_uint_eq(kvpt_count(a, was[1]), 2);
	kvpt_ok(kvpt_copied(a, seq));
	ck_assert_uint_eq(kvpt_count(a, was[1]), 1);
	kvpt_ok(kvpt_copied(a, seq));
	ck_assert_uint_eq(kvpt_count(a, was[1]), 1);
	kvpt_ok(kvpt_unref(a, &was[1], 1));
}
END_TEST

START_TEST(test_copied_of_unknown_sequences)
{
	u64 id;

	kvpt_refuses_bad_ids(&env, a, a, id, kvpt_copied(a, id));
}
END_TEST

START_TEST(test_copied_of_a_busy_sequence)
{
	u64 seq = reserved(9, 3);

	kvpt_refused(&env, a, kvpt_while_busy(a, seq, kvpt_copied(a, seq)), -EBUSY,
		     KVP_REASON_SEQ_BUSY, 0);
}
END_TEST

START_TEST(test_right_to_use)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_PUBLISH);

	kvpt_refused(&env, a, kvpt_set_tokens(b, 1ULL << 32, tok, 4), -EACCES,
		     KVP_REASON_RIGHT_USE, 0);
	kvpt_refused(&env, a, kvpt_advance(b, 1ULL << 32, 0), -EACCES,
		     KVP_REASON_RIGHT_USE, 0);
	kvpt_refused(&env, a, kvpt_copied(b, 1ULL << 32), -EACCES, KVP_REASON_RIGHT_USE, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("seq_lengths");
	TCase *tokens = tcase_create("set_tokens");
	TCase *computed = tcase_create("advance");
	TCase *copied = tcase_create("copied");

	tcase_add_checked_fixture(tokens, setup, teardown);
	tcase_add_test(tokens, test_ids_for_reserved_slots);
	tcase_add_test(tokens, test_set_tokens_with_a_digest);
	tcase_add_test(tokens, test_set_tokens_of_unknown_sequences);
	tcase_add_test(tokens, test_set_tokens_without_tokens);
	tcase_add_test(tokens, test_set_tokens_unknown_flag);
	tcase_add_test(tokens, test_set_tokens_at_a_wrong_position);
	tcase_add_test(tokens, test_set_more_tokens_than_slots);
	tcase_add_test(tokens, test_set_tokens_with_wrong_digests);
	tcase_add_test(tokens, test_set_tokens_of_a_busy_sequence);
	tcase_add_test(tokens, test_set_tokens_without_a_node);
	tcase_add_test(tokens, test_set_tokens_without_room_for_a_digest);
	tcase_add_test(tokens, test_set_tokens_over_the_limit_of_metadata);
	tcase_add_test(tokens, test_tokens_set_stand_if_the_result_cannot_be_written);
	suite_add_tcase(s, tokens);

	tcase_add_checked_fixture(computed, setup, teardown);
	tcase_add_test(computed, test_advance_in_steps);
	tcase_add_test(computed, test_advance_never_goes_back);
	tcase_add_test(computed, test_advance_ends_with_the_tokens);
	tcase_add_test(computed, test_advance_of_unknown_sequences);
	tcase_add_test(computed, test_advance_of_a_busy_sequence);
	suite_add_tcase(s, computed);

	tcase_add_checked_fixture(copied, setup, teardown);
	tcase_add_test(copied, test_copied_without_copies_does_nothing);
	tcase_add_test(copied, test_copied_lets_the_sources_go_once);
	tcase_add_test(copied, test_copied_of_unknown_sequences);
	tcase_add_test(copied, test_copied_of_a_busy_sequence);
	tcase_add_test(copied, test_right_to_use);
	suite_add_tcase(s, copied);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

// SPDX-License-Identifier: MIT
/*
 * Failures of other block managers, as public reports describe them, that must be refused
 * here: references dropped that are not there, freed twice, named twice.
 */
#include "raw.h"

static u64 underflows(void)
{
	return kvpt_counters_of(a, 0).underflow_rejected;
}

/* B1: a count would go below zero, and is clamped to it with a warning. */
START_TEST(test_b1_a_count_never_goes_below_zero)
{
	kvpt_ok(kvpt_alloc(a, 0, 1, ids));
	kvpt_ok(kvpt_ref(a, ids, 1));
	kvpt_ok(kvpt_unref(a, ids, 1));
	kvpt_ok(kvpt_unref(a, ids, 1));
	kvpt_expect_blocks(a, 0, 16, 0, 0);
	ck_assert_uint_eq(underflows(), 0);

	kvpt_refused(&env, a, kvpt_unref(a, ids, 1), -ESTALE, KVP_REASON_GENERATION, 0);
	ck_assert_uint_eq(underflows(), 1);
	kvpt_expect_blocks(a, 0, 16, 0, 0);

	/* The same while another one has the block. */
	kvpt_ok(kvpt_alloc(b, 0, 16, &ids[1]));
	kvpt_refused(&env, a, kvpt_unref(a, ids, 1), -ESTALE, KVP_REASON_GENERATION, 0);
	kvpt_refused(&env, a, kvpt_unref(a, &ids[1], 1), -EPERM, KVP_REASON_NOT_HELD, 0);
	ck_assert_uint_eq(underflows(), 3);
	kvpt_expect_blocks(a, 0, 0, 16, 0);
}
END_TEST

/* B2: two paths free the last block of a request, and more is free than there is. */
START_TEST(test_b2_a_tail_block_freed_by_two_paths_is_freed_once)
{
	u64 seq, tail;

	kvpt_ok(kvpt_create(a, 1, tok, 12, &seq));
	kvpt_ok(kvpt_table(a, seq, 0, ids, 3));
	tail = ids[2];
	kvpt_ok(kvpt_ref_from(a, seq, 2, &tail, 1));

	/* The sequence drops the block, the other path its own reference, and once more. */
	kvpt_ok(kvpt_truncate(a, seq, 8));
	ck_assert_uint_eq(kvpt_count(a, tail), 1);
	kvpt_ok(kvpt_unref(a, &tail, 1));
	kvpt_refused(&env, a, kvpt_unref(a, &tail, 1), -ESTALE, KVP_REASON_GENERATION, 0);
	kvpt_expect_blocks(a, 0, 14, 2, 0);

	/* In the other order: what the sequence holds is not the second path's to drop. */
	kvpt_refused(&env, a, kvpt_unref(a, &ids[1], 1), -EPERM, KVP_REASON_NOT_HELD, 0);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_refused(&env, a, kvpt_unref(a, &ids[1], 1), -ESTALE, KVP_REASON_GENERATION, 0);
	kvpt_refused(&env, a, kvpt_free(a, seq), -ESTALE, KVP_REASON_GENERATION, 0);
	kvpt_expect_blocks(a, 0, 16, 0, 0);
	ck_assert_uint_eq(underflows(), 3);
}
END_TEST

/* B3: a block that one call names twice is queued as free twice. */
START_TEST(test_b3_a_block_named_twice_is_freed_once)
{
	u64 twice[2];

	kvpt_ok(kvpt_alloc(a, 0, 1, ids));
	twice[0] = ids[0];
	twice[1] = ids[0];
	kvpt_refused(&env, a, kvpt_unref(a, twice, 2), -EINVAL, KVP_REASON_DUPLICATE, 1);
	ck_assert_uint_eq(underflows(), 1);
	ck_assert_uint_eq(kvpt_count(a, ids[0]), 1);

	kvpt_ok(kvpt_unref(a, twice, 1));
	kvpt_expect_blocks(a, 0, 16, 0, 0);
	kvpt_ok(kvpt_alloc(a, 0, 16, ids));
}
END_TEST

/* B4: nulls and duplicates in one list corrupt the free list; a later allocation asserts. */
START_TEST(test_b4_nulls_and_duplicates_leave_the_free_list_sound)
{
	u64 list[5] = { KVP_BLOCK_NULL, KVP_BLOCK_NULL };
	bool seen[16] = { false };
	u32 i;

	kvpt_ok(kvpt_alloc(a, 0, 2, ids));
	list[2] = ids[0];
	list[3] = ids[0];
	list[4] = ids[1];
	kvpt_refused(&env, a, kvpt_unref(a, list, 5), -EINVAL, KVP_REASON_DUPLICATE, 3);
	kvpt_expect_blocks(a, 0, 14, 2, 0);

	/* Held twice it may be named twice: each is freed once. */
	kvpt_ok(kvpt_ref(a, ids, 1));
	kvpt_ok(kvpt_unref(a, list, 5));
	kvpt_expect_blocks(a, 0, 16, 0, 0);

	kvpt_ok(kvpt_alloc(a, 0, 16, ids));
	for (i = 0; i < 16; i++) {
		ck_assert(!seen[KVP_BLOCK_INDEX(ids[i])]);
		seen[KVP_BLOCK_INDEX(ids[i])] = true;
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cases_raw");
	TCase *t = tcase_create("cases_raw");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_b1_a_count_never_goes_below_zero);
	tcase_add_test(t, test_b2_a_tail_block_freed_by_two_paths_is_freed_once);
	tcase_add_test(t, test_b3_a_block_named_twice_is_freed_once);
	tcase_add_test(t, test_b4_nulls_and_duplicates_leave_the_free_list_sound);
	suite_add_tcase(s, t);
	return kvpt_run(s);
}

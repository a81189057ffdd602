// SPDX-License-Identifier: MIT
/*
 * Raw references: what KVP_OP_BLOCK_ALLOC, REF, UNREF and MAKE_PRIVATE give, and what they
 * take from others. Refusals are in test_raw_refused.c.
 */
#include "raw.h"

static u64 charged(struct kvp_client *client)
{
	return kvpt_family_of(client, KVP_STATS_SELF, 0).charged;
}

/* ---- alloc ---- */

START_TEST(test_alloc_gives_distinct_blocks_with_one_reference)
{
	u32 i, j;

	kvpt_ok(kvpt_alloc(a, 0, 5, ids));
	for (i = 0; i < 5; i++) {
		ck_assert_uint_ne(ids[i], KVP_BLOCK_NULL);
		ck_assert_uint_eq(KVP_BLOCK_FAMILY(ids[i]), 0);
		ck_assert_uint_eq(kvpt_count(a, ids[i]), 1);
		for (j = 0; j < i; j++)
			ck_assert_uint_ne(ids[i], ids[j]);
	}
	kvpt_expect_blocks(a, 0, 11, 5, 0);
	ck_assert_uint_eq(raw_of(a), 5);
	ck_assert_uint_eq(charged(a), 5);
	ck_assert_uint_eq(charged(b), 0);
}
END_TEST

START_TEST(test_alloc_takes_from_the_family_asked_for)
{
	kvpt_ok(kvpt_alloc(a, 1, 4, ids));
	ck_assert_uint_eq(KVP_BLOCK_FAMILY(ids[3]), 1);
	kvpt_expect_blocks(a, 0, 16, 0, 0);
	kvpt_expect_blocks(a, 1, 8, 4, 0);
}
END_TEST

START_TEST(test_alloc_reclaims_idle_blocks)
{
	kvpt_ok(kvpt_make_published(a, 1, tok, 32));
	kvpt_expect_blocks(a, 0, 8, 0, 8);
	kvpt_ok(kvpt_alloc(a, 0, 16, ids));
	kvpt_expect_blocks(a, 0, 0, 16, 0);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 32), 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).reclaimed_blocks, 8 + 8);
}
END_TEST

START_TEST(test_a_freed_block_comes_back_under_another_id)
{
	u64 old, now[16];
	u32 i;

	kvpt_ok(kvpt_alloc(a, 0, 16, ids));
	old = ids[7];
	kvpt_ok(kvpt_unref(a, &old, 1));
	kvpt_expect_blocks(a, 0, 1, 15, 0);
	kvpt_ok(kvpt_alloc(b, 0, 1, now));
	ck_assert_uint_eq(KVP_BLOCK_INDEX(now[0]), KVP_BLOCK_INDEX(old));
	ck_assert_uint_eq(KVP_BLOCK_GEN(now[0]), KVP_BLOCK_GEN(old) + 1);
	for (i = 0; i < 16; i++)
		ck_assert_uint_ne(now[0], ids[i]);
}
END_TEST

/* ---- ref and unref ---- */

START_TEST(test_ref_adds_and_unref_drops_one_each)
{
	kvpt_ok(kvpt_alloc(a, 0, 3, ids));
	kvpt_ok(kvpt_ref(a, ids, 2));
	ck_assert_uint_eq(kvpt_count(a, ids[0]), 2);
	ck_assert_uint_eq(kvpt_count(a, ids[1]), 2);
	ck_assert_uint_eq(kvpt_count(a, ids[2]), 1);
	ck_assert_uint_eq(raw_of(a), 5);
	ck_assert_uint_eq(charged(a), 3);

	kvpt_ok(kvpt_unref(a, ids, 3));
	ck_assert_uint_eq(kvpt_count(a, ids[0]), 1);
	ck_assert_uint_eq(kvpt_count(a, ids[1]), 1);
	kvpt_expect_blocks(a, 0, 14, 2, 0);
	ck_assert_uint_eq(raw_of(a), 2);
	ck_assert_uint_eq(charged(a), 2);
}
END_TEST

START_TEST(test_a_block_may_be_named_as_often_as_it_is_held)
{
	u64 same[3];

	kvpt_ok(kvpt_alloc(a, 0, 1, ids));
	same[0] = ids[0];
	same[1] = KVP_BLOCK_NULL;
	same[2] = ids[0];
	kvpt_ok(kvpt_ref(a, same, 3));
	ck_assert_uint_eq(kvpt_count(a, ids[0]), 3);
	ck_assert_uint_eq(raw_of(a), 3);
	kvpt_ok(kvpt_unref(a, same, 3));
	ck_assert_uint_eq(kvpt_count(a, ids[0]), 1);
	ck_assert_uint_eq(raw_of(a), 1);
}
END_TEST

START_TEST(test_nulls_are_skipped)
{
	u64 nulls[2] = { KVP_BLOCK_NULL, KVP_BLOCK_NULL };
	u64 match = matched_blocks(a, 1);
	u64 seq;

	kvpt_ok(kvpt_ref(a, nulls, 2));
	kvpt_ok(kvpt_unref(a, nulls, 2));
	kvpt_ok(ref_match(a, match, 0, nulls, 2));
	kvpt_ok(kvpt_create(a, 2, tok, 4, &seq));
	kvpt_ok(kvpt_ref_from(a, seq, 0, nulls, 2));
	ck_assert_uint_eq(raw_of(a), 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).underflow_rejected, 0);
}
END_TEST

START_TEST(test_blocks_of_several_families_in_one_call)
{
	kvpt_ok(kvpt_alloc(a, 0, 1, &ids[0]));
	kvpt_ok(kvpt_alloc(a, 1, 1, &ids[1]));
	kvpt_ok(kvpt_ref(a, ids, 2));
	kvpt_ok(kvpt_unref(a, ids, 2));
	kvpt_ok(kvpt_unref(a, ids, 2));
	kvpt_expect_blocks(a, 0, 16, 0, 0);
	kvpt_expect_blocks(a, 1, 12, 0, 0);
}
END_TEST

/* Against an array of counts, in an order that makes runs in the table and closes their gaps. */
START_TEST(test_the_table_grows_and_shrinks)
{
	static u64 many[3000];
	static u32 held[3000];
	u32 i, at, seed = 12345;

	remake((struct kvp_family_desc)KVPT_DENSE(4096, 4));
	kvpt_ok(kvpt_alloc(a, 0, 3000, many));
	for (i = 0; i < 3000; i++)
		held[i] = 1;
	for (i = 0; i < 20000; i++) {
		seed = seed * 1103515245 + 12345;
		at = (seed >> 8) % 3000;
		if (!held[at]) {
			kvpt_expect(kvpt_ref(a, &many[at], 1), -ESTALE, KVP_REASON_GENERATION);
		} else if (seed & 1 << 20) {
			kvpt_ok(kvpt_ref(a, &many[at], 1));
			held[at]++;
		} else {
			kvpt_ok(kvpt_unref(a, &many[at], 1));
			held[at]--;
		}
	}
	for (i = 0; i < 3000; i++)
		if (held[i])
			ck_assert_uint_eq(kvpt_count(a, many[i]), held[i]);
	kvpt_audit_clean(a);
}
END_TEST

START_TEST(test_all_blocks_of_a_large_call)
{
	static u64 many[5000];

	remake((struct kvp_family_desc)KVPT_DENSE(5000, 4));
	kvpt_ok(kvpt_alloc(a, 0, 5000, many));
	kvpt_ok(kvpt_ref(a, many, 5000));
	ck_assert_uint_eq(raw_of(a), 10000);
	kvpt_ok(kvpt_unref(a, many, 5000));
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_unref(a, many, 5000));
	kvpt_expect_blocks(a, 0, 5000, 0, 0);
}
END_TEST

START_TEST(test_a_client_that_goes_gives_all_back)
{
	static u64 same[1000];
	u32 i;

	kvpt_ok(kvpt_alloc(b, 0, 8, ids));
	for (i = 0; i < 1000; i++)
		same[i] = ids[3];
	for (i = 0; i < 100; i++)
		kvpt_ok(kvpt_ref(b, same, 1000));
	ck_assert_uint_eq(kvpt_count(a, ids[3]), 100001);
	kvpt_close(&env, b);
	kvpt_expect_blocks(a, 0, 16, 0, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).raw, 0);
}
END_TEST

/* ---- ref with a holder ---- */

START_TEST(test_ref_of_a_sequence_outlives_it)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 10, &seq));
	kvpt_ok(kvpt_table(a, seq, 0, ids, 3));
	kvpt_ok(kvpt_ref_from(a, seq, 0, ids, 3));
	ck_assert_uint_eq(kvpt_count(a, ids[1]), 2);
	kvpt_ok(kvpt_free(a, seq));
	ck_assert_uint_eq(kvpt_count(a, ids[1]), 1);
	kvpt_expect_blocks(a, 0, 13, 3, 0);
	kvpt_ok(kvpt_unref(a, ids, 3));
	kvpt_expect_blocks(a, 0, 16, 0, 0);
}
END_TEST

START_TEST(test_ref_of_a_part_of_a_sequence)
{
	u64 seq, part[3];

	kvpt_ok(kvpt_create(a, 1, tok, 20, &seq));
	kvpt_ok(kvpt_table(a, seq, 0, ids, 5));
	part[0] = ids[2];
	part[1] = KVP_BLOCK_NULL;
	part[2] = ids[4];
	kvpt_ok(kvpt_ref_from(a, seq, 2, part, 3));
	ck_assert_uint_eq(kvpt_count(a, ids[2]), 2);
	ck_assert_uint_eq(kvpt_count(a, ids[3]), 1);
	ck_assert_uint_eq(kvpt_count(a, ids[4]), 2);
}
END_TEST

START_TEST(test_ref_of_the_state_slot)
{
	u64 seq;

	kvpt_env_exit(&env);
	make((struct kvp_family_desc[]){ KVPT_DENSE(8, 4), KVPT_STATE(4) }, 2);
	kvpt_ok(kvpt_create(a, 1, tok, 4, &seq));
	kvpt_ok(kvpt_table(a, seq, 1, ids, 1));
	kvpt_ok(kvpt_ref_from(a, seq, 0, ids, 1));
	ck_assert_uint_eq(kvpt_count(a, ids[0]), 2);
	kvpt_refused(&env, a, kvpt_ref_from(a, seq, 1, ids, 1), -EPERM, KVP_REASON_NOT_HELD, 0);
}
END_TEST

START_TEST(test_ref_of_a_match_keeps_its_blocks)
{
	u64 match = matched_blocks(b, 4);

	kvpt_ok(ref_match(b, match, 0, ids, 4));
	ck_assert_uint_eq(charged(b), 4);
	kvpt_ok(kvpt_release(b, match));
	kvpt_expect_blocks(a, 0, 12, 4, 0);
	kvpt_ok(kvpt_reclaim(a, 10));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 0);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 16), 16);

	kvpt_ok(kvpt_unref(b, ids, 4));
	kvpt_expect_blocks(a, 0, 12, 0, 4);
	ck_assert_uint_eq(charged(b), 0);
	kvpt_ok(kvpt_reclaim(a, 10));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 4);
	kvpt_expect_blocks(a, 0, 16, 0, 0);
}
END_TEST

START_TEST(test_ref_of_a_part_of_a_match)
{
	u64 match = matched_blocks(b, 5);
	u64 part[3] = { ids[1], KVP_BLOCK_NULL, ids[3] };

	kvpt_ok(ref_match(b, match, 1, part, 3));
	ck_assert_uint_eq(kvpt_count(a, ids[0]), 0);
	ck_assert_uint_eq(kvpt_count(a, ids[1]), 1);
	ck_assert_uint_eq(kvpt_count(a, ids[2]), 0);
	ck_assert_uint_eq(kvpt_count(a, ids[3]), 1);
	ck_assert_uint_eq(kvpt_count(a, ids[4]), 0);
	kvpt_ok(kvpt_release(b, match));
}
END_TEST

START_TEST(test_ref_of_a_match_with_several_blocks_a_node)
{
	struct kvp_pool_create with = { .index_tokens = 12 };
	u64 match;

	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool_with(&env, &with, (struct kvp_family_desc[]){ KVPT_DENSE(16, 4),
			   KVPT_DENSE(16, 12) }, 2);
	kvpt_ok(kvpt_make_published(a, 1, tok, 24));
	kvpt_ok(kvpt_match_blocks(a, 1, tok, 24, 0, ids, 6, &match));
	kvpt_ok(ref_match(a, match, 1, &ids[1], 4));
	kvpt_expect_blocks(a, 0, 10, 4, 2);
	kvpt_ok(kvpt_match_blocks(a, 1, tok, 24, 1, ids, 2, NULL));
	kvpt_ok(ref_match(a, match, 1, &ids[1], 1));
	kvpt_expect_blocks(a, 1, 14, 1, 1);
	kvpt_refused(&env, a, ref_match(a, match, 0, &ids[1], 1), -EPERM, KVP_REASON_NOT_HELD, 0);
	kvpt_refused(&env, a, ref_match(a, match, 2, &ids[1], 1), -EPERM, KVP_REASON_NOT_HELD, 0);
}
END_TEST

START_TEST(test_ref_of_a_long_match)
{
	static u32 prompt[4 * 1500];
	static u64 path[1500];
	u64 match;

	remake((struct kvp_family_desc)KVPT_DENSE(1600, 4));
	kvpt_tokens(prompt, 4 * 1500, 7);
	kvpt_ok(kvpt_make_published(a, 1, prompt, 4 * 1500));
	kvpt_ok(kvpt_match_blocks(b, 1, prompt, 4 * 1500, 0, path, 1500, &match));
	kvpt_ok(ref_match(b, match, 0, path, 1500));
	kvpt_expect_blocks(a, 0, 100, 1500, 0);
	/* From the end of the path up to a place near its start. */
	kvpt_ok(ref_match(b, match, 3, &path[3], 1));
	ck_assert_uint_eq(kvpt_count(a, path[3]), 2);
	path[700] ^= 1ULL << KVP_BLOCK_INDEX_SHIFT;
	kvpt_expect(ref_match(b, match, 0, path, 1500), -EPERM, KVP_REASON_NOT_HELD);
	ck_assert_uint_eq(kvpt.head.where, 700);
	kvpt_expect_blocks(a, 0, 100, 1500, 0);
	ck_assert_uint_eq(raw_of(b), 1501);
}
END_TEST

START_TEST(test_a_match_holds_what_is_above_a_cut)
{
	u64 match = matched_blocks(b, 4);

	kvpt_ok(kvpt_invalidate_prefix(a, 1, tok, 8));
	kvpt_ok(ref_match(b, match, 1, &ids[1], 3));
	kvpt_ok(ref_match(b, match, 0, ids, 4));
	ck_assert_uint_eq(kvpt_count(a, ids[0]), 1);
	ck_assert_uint_eq(kvpt_count(a, ids[3]), 2);
}
END_TEST

/* ---- make private ---- */

START_TEST(test_a_block_of_ones_own_is_private)
{
	u64 result;

	kvpt_ok(kvpt_alloc(a, 0, 1, ids));
	kvpt_ok(kvpt_make_private(a, ids[0], &result));
	ck_assert_uint_eq(result, ids[0]);
	ck_assert_uint_eq(kvpt.make_private.copy, 0);
	ck_assert_uint_eq(raw_of(a), 1);
	kvpt_expect_blocks(a, 0, 15, 1, 0);
}
END_TEST

START_TEST(test_a_shared_block_is_replaced)
{
	u64 seq, result;

	kvpt_ok(kvpt_create(a, 1, tok, 4, &seq));
	kvpt_ok(kvpt_table(a, seq, 0, ids, 1));
	kvpt_ok(kvpt_ref_from(a, seq, 0, ids, 1));
	kvpt_ok(kvpt_make_private(a, ids[0], &result));
	ck_assert_uint_ne(result, ids[0]);
	ck_assert_uint_eq(kvpt.make_private.copy, 1);
	ck_assert_uint_eq(kvpt_count(a, ids[0]), 2);
	ck_assert_uint_eq(kvpt_count(a, result), 1);
	ck_assert_uint_eq(raw_of(a), 2);
	kvpt_ok(kvpt_unref(a, ids, 1));
	kvpt_ok(kvpt_make_private(a, result, &ids[1]));
	ck_assert_uint_eq(ids[1], result);
}
END_TEST

START_TEST(test_a_published_block_is_replaced)
{
	u64 match = matched_blocks(a, 1);
	u64 result;

	kvpt_ok(ref_match(a, match, 0, ids, 1));
	kvpt_ok(kvpt_release(a, match));
	ck_assert_uint_eq(kvpt_count(a, ids[0]), 1);
	kvpt_ok(kvpt_make_private(a, ids[0], &result));
	ck_assert_uint_ne(result, ids[0]);
	ck_assert_uint_eq(kvpt.make_private.copy, 1);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 4), 4);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("raw");
	TCase *t = tcase_create("raw");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_alloc_gives_distinct_blocks_with_one_reference);
	tcase_add_test(t, test_alloc_takes_from_the_family_asked_for);
	tcase_add_test(t, test_alloc_reclaims_idle_blocks);
	tcase_add_test(t, test_a_freed_block_comes_back_under_another_id);
	tcase_add_test(t, test_ref_adds_and_unref_drops_one_each);
	tcase_add_test(t, test_a_block_may_be_named_as_often_as_it_is_held);
	tcase_add_test(t, test_nulls_are_skipped);
	tcase_add_test(t, test_blocks_of_several_families_in_one_call);
	tcase_add_test(t, test_the_table_grows_and_shrinks);
	tcase_add_test(t, test_all_blocks_of_a_large_call);
	tcase_add_test(t, test_a_client_that_goes_gives_all_back);
	tcase_add_test(t, test_ref_of_a_sequence_outlives_it);
	tcase_add_test(t, test_ref_of_a_part_of_a_sequence);
	tcase_add_test(t, test_ref_of_the_state_slot);
	tcase_add_test(t, test_ref_of_a_match_keeps_its_blocks);
	tcase_add_test(t, test_ref_of_a_part_of_a_match);
	tcase_add_test(t, test_ref_of_a_match_with_several_blocks_a_node);
	tcase_add_test(t, test_ref_of_a_long_match);
	tcase_add_test(t, test_a_match_holds_what_is_above_a_cut);
	tcase_add_test(t, test_a_block_of_ones_own_is_private);
	tcase_add_test(t, test_a_shared_block_is_replaced);
	tcase_add_test(t, test_a_published_block_is_replaced);
	suite_add_tcase(s, t);
	return kvpt_run(s);
}

// SPDX-License-Identifier: MIT
/*
 * KVP_OP_SEQ_CREATE where there is no room, or where a limit says so: each refusal alone,
 * and that exactly what is left can be had.
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

/* Another pool than the usual one. */
static void remake(const struct kvp_pool_create *with, struct kvp_family_desc family)
{
	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool_with(&env, with, &family, 1);
}

static int create_with(const struct kvp_seq_create *with, u32 nr, u64 *seq)
{
	return kvpt_create_with(a, with, 1, tok, nr, seq);
}

START_TEST(test_absurd_reserve)
{
	static const u64 absurd[] = { KVP_MAX_SEQ_TOKENS, KVP_MAX_SEQ_TOKENS + 1, 1ULL << 63,
				      ~0ULL, ~0ULL - 3 };
	struct kvp_seq_create with = { };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(absurd); i++) {
		with.reserve = absurd[i];
		kvpt_refused(&env, a, create_with(&with, 4, NULL),
			     -EOVERFLOW, KVP_REASON_LENGTH, 0);
	}
}
END_TEST

START_TEST(test_more_blocks_than_the_pool_has)
{
	struct kvp_seq_create with = { .reserve = 1 };
	u64 held;

	kvpt_refused(&env, a, create_with(&with, 64, NULL), -EFBIG, KVP_REASON_NEVER_FITS, 0);
	/* What the match gives counts: the whole would still not fit. */
	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_refused(&env, a, create_with(&with, 64, NULL), -EFBIG, KVP_REASON_NEVER_FITS, 0);
	/* A full pool does not hide it. */
	kvpt_ok(kvpt_alloc(a, 0, 16, (u64[16]) { }));
	kvpt_refused(&env, a, create_with(&with, 64, NULL), -EFBIG, KVP_REASON_NEVER_FITS, 0);
	with.reserve = 0;
	kvpt_expect(create_with(&with, 64, &held), -ENOSPC, KVP_REASON_POOL_FULL);
}
END_TEST

START_TEST(test_pool_full)
{
	u64 blocks[14];

	kvpt_ok(kvpt_alloc(a, 0, 14, blocks));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 9, NULL), -ENOSPC,
		     KVP_REASON_POOL_FULL, 0);
	kvpt_ok(kvpt_create(a, 1, tok, 8, NULL));
}
END_TEST

START_TEST(test_pool_full_although_a_prefix_matches)
{
	u64 blocks[14];

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_alloc(a, 0, 14, blocks));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 12, NULL), -ENOSPC,
		     KVP_REASON_POOL_FULL, 0);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
	kvpt_expect_blocks(a, 0, 0, 14, 2);
}
END_TEST

START_TEST(test_idle_blocks_that_are_covered)
{
	const struct kvp_extra extras[2] = { kvpt_extra(0, 7), kvpt_extra(1, 8) };
	const struct kvp_seq_create with = {
		.extras = (u64)(uintptr_t)extras,
		.nr_extras = 2,
	};
	u64 match;

	kvpt_ok(kvpt_make_published(a, 1, tok, 60));
	kvpt_ok(kvpt_match(a, 1, tok, 60, &match));
	kvpt_expect_blocks(a, 0, 1, 0, 15);
	kvpt_refused(&env, a, kvpt_create_with(a, &with, 2, other, 8, NULL), -ENOSPC,
		     KVP_REASON_COVERED, 0);
	kvpt_ok(kvpt_release(a, match));
	kvpt_ok(kvpt_create_with(a, &with, 2, other, 8, NULL));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 2 + 2);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 60), 56);
}
END_TEST

START_TEST(test_what_is_guaranteed_to_others)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE);

	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_GUARANTEE, 0, 10));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 25, NULL), -ENOSPC,
		     KVP_REASON_GUARANTEED, 0);
	kvpt_ok(kvpt_create(a, 1, tok, 24, NULL));
	kvpt_ok(kvpt_create(b, 1, tok, 40, NULL));
}
END_TEST

START_TEST(test_idle_prefix_that_is_guaranteed_to_others)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	u64 blocks[4];

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_alloc(a, 0, 4, blocks));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_GUARANTEE, 0, 11));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 8, NULL), -ENOSPC,
		     KVP_REASON_GUARANTEED, 0);
	kvpt_ok(kvpt_create(a, 1, tok, 4, NULL));
	kvpt_ok(kvpt_create(b, 1, tok, 8, NULL));
}
END_TEST

START_TEST(test_count_of_a_matched_block_that_is_exhausted)
{
	u64 seq = kvpt_published(a, 1, tok, 8), blocks[2];
	struct kvp_block *block;
	struct kvp_stats was, is;

	kvpt_expect_table(a, seq, 0, blocks, 2);
	block = kvpt_block_of(a, blocks[1]);
	was = kvpt_counters_of(a, 0);
	kvpt_expect(kvpt_while_set(block->count, ~0U, kvpt_create(a, 1, tok, 12, NULL)),
		    -EOVERFLOW, KVP_REASON_COUNT);
	is = kvpt_counters_of(a, 0);
	ck_assert_uint_eq(kvpt_count(a, blocks[0]), 1);
	ck_assert_uint_eq(is.seqs, was.seqs);
	ck_assert_uint_eq(is.slots, was.slots);
	ck_assert_uint_eq(is.nodes_used, was.nodes_used);
	ck_assert_uint_eq(is.metadata_bytes, was.metadata_bytes);
	kvpt_expect_blocks(a, 0, 14, 2, 0);
}
END_TEST

START_TEST(test_no_index_node_left)
{
	const struct kvp_pool_create with = { .nodes = 3 };
	u64 seq;

	remake(&with, (struct kvp_family_desc)KVPT_DENSE(16, 4));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 12, NULL), -ENOSPC, KVP_REASON_NODES, 0);
	kvpt_ok(kvpt_create(a, 1, tok, 8, &seq));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 1, NULL), -ENOSPC, KVP_REASON_NODES, 0);
	/* An idle node is taken like an idle block. */
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_create_flags(a, KVP_SEQ_NO_MATCH, 1, other, 4, &seq));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).reclaimed_nodes, 1);
}
END_TEST

START_TEST(test_no_room_for_a_digest)
{
	const struct kvp_pool_create with = { .extras = 2 };
	struct kvp_extra extra[2] = { kvpt_extra(0, 7), kvpt_extra(1, 8) };
	struct kvp_seq_create create = {
		.extras = (u64)(uintptr_t)extra,
		.nr_extras = 1,
	};
	u64 seq;

	remake(&with, (struct kvp_family_desc)KVPT_DENSE(16, 4));
	kvpt_ok(create_with(&create, 8, &seq));
	kvpt_refused(&env, a, kvpt_create(a, 2, tok, 8, NULL), -ENOSPC, KVP_REASON_EXTRAS, 0);
	kvpt_refused(&env, a, create_with(&create, 8, NULL), -ENOSPC, KVP_REASON_EXTRAS, 0);
	/* The namespace's own digest is there already. */
	kvpt_ok(kvpt_create(a, 1, tok, 8, NULL));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_create(a, 2, tok, 8, NULL));
}
END_TEST

START_TEST(test_digests_of_idle_nodes_make_room)
{
	const struct kvp_pool_create with = { .extras = 3 };
	struct kvp_extra extras[2] = { kvpt_extra(0, 7), kvpt_extra(1, 8) };
	struct kvp_seq_create create = {
		.extras = (u64)(uintptr_t)extras,
		.nr_extras = 2,
	};
	u64 seq, held;

	remake(&with, (struct kvp_family_desc)KVPT_DENSE(16, 4));
	kvpt_ok(kvpt_create(a, 1, NULL, 0, &held));
	kvpt_ok(create_with(&create, 8, &seq));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_free(a, seq));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 3);
	/* One digest is wanted: the leaf goes, with its block. */
	extras[0] = kvpt_extra(1, 9);
	create.nr_extras = 1;
	kvpt_ok(kvpt_create_with(a, &create, 1, other, 8, &seq));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).reclaimed_nodes, 1);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 3);
	/* A namespace takes the last one. */
	kvpt_ok(kvpt_create(a, 2, other, 4, &seq));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).reclaimed_nodes, 2);
	kvpt_refused(&env, a, kvpt_create(a, 3, other, 4, NULL), -ENOSPC,
		     KVP_REASON_EXTRAS, 0);
}
END_TEST

START_TEST(test_nodes_with_digests_are_reclaimed_for_nodes)
{
	const struct kvp_pool_create with = { .nodes = 3 };
	const struct kvp_extra extras[2] = { kvpt_extra(0, 7), kvpt_extra(1, 8) };
	const struct kvp_seq_create create = {
		.extras = (u64)(uintptr_t)extras,
		.nr_extras = 2,
	};
	u64 seq;

	remake(&with, (struct kvp_family_desc)KVPT_DENSE(16, 4));
	kvpt_ok(create_with(&create, 8, &seq));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_create(a, 1, other, 8, &seq));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 1);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 3);
}
END_TEST

START_TEST(test_limit_of_blocks)
{
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_BLOCKS, 0, 2));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 9, NULL), -EDQUOT,
		     KVP_REASON_LIMIT_BLOCKS, 0);
	kvpt_ok(kvpt_create(a, 1, tok, 8, NULL));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 1, NULL), -EDQUOT,
		     KVP_REASON_LIMIT_BLOCKS, 0);
}
END_TEST

START_TEST(test_limit_of_blocks_holds_for_idle_ones_too)
{
	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_BLOCKS, 0, 2));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 12, NULL), -EDQUOT,
		     KVP_REASON_LIMIT_BLOCKS, 0);
	kvpt_ok(kvpt_create(a, 1, tok, 8, NULL));
	ck_assert_uint_eq(kvpt_family_of(a, KVP_STATS_SELF, 0).charged, 2);
}
END_TEST

START_TEST(test_limit_of_slots)
{
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_SLOTS, 0, 2));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 9, NULL), -EDQUOT,
		     KVP_REASON_LIMIT_SLOTS, 0);
	kvpt_ok(kvpt_create(a, 1, tok, 8, NULL));
}
END_TEST

START_TEST(test_limit_of_sequences)
{
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_SEQS, 0, 1));
	kvpt_ok(kvpt_create(a, 1, tok, 1, NULL));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 1, NULL), -EDQUOT,
		     KVP_REASON_LIMIT_SEQS, 0);
}
END_TEST

START_TEST(test_limit_of_metadata)
{
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_METADATA, 0, 1));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 1, NULL), -EDQUOT,
		     KVP_REASON_LIMIT_METADATA, 0);
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_METADATA, 0, KVP_UNLIMITED));
	kvpt_ok(kvpt_create(a, 1, tok, 1, NULL));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("seq_create_room");
	TCase *room = tcase_create("room");

	tcase_add_checked_fixture(room, setup, teardown);
	tcase_add_test(room, test_absurd_reserve);
	tcase_add_test(room, test_more_blocks_than_the_pool_has);
	tcase_add_test(room, test_pool_full);
	tcase_add_test(room, test_pool_full_although_a_prefix_matches);
	tcase_add_test(room, test_idle_blocks_that_are_covered);
	tcase_add_test(room, test_what_is_guaranteed_to_others);
	tcase_add_test(room, test_idle_prefix_that_is_guaranteed_to_others);
	tcase_add_test(room, test_count_of_a_matched_block_that_is_exhausted);
	tcase_add_test(room, test_no_index_node_left);
	tcase_add_test(room, test_no_room_for_a_digest);
	tcase_add_test(room, test_digests_of_idle_nodes_make_room);
	tcase_add_test(room, test_nodes_with_digests_are_reclaimed_for_nodes);
	tcase_add_test(room, test_limit_of_blocks);
	tcase_add_test(room, test_limit_of_blocks_holds_for_idle_ones_too);
	tcase_add_test(room, test_limit_of_slots);
	tcase_add_test(room, test_limit_of_sequences);
	tcase_add_test(room, test_limit_of_metadata);
	suite_add_tcase(s, room);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

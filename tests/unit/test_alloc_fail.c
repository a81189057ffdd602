// SPDX-License-Identifier: MIT
/*
 * No memory: each allocation of each operation fails once. The operation says ENOMEM and has
 * changed nothing; what gives things back needs no memory at all.
 */
#include <check.h>

#include "allocs.h"
#include "unit.h"

static struct kvpt_env env;
static struct kvp_client *a;
static u32 tok[64], other[64];

/* One token a block, so that tables grow, and windows next to what is dense. */
static const struct kvp_family_desc families[] = {
	KVPT_DENSE(256, 1), KVPT_WINDOW(256, 1, 4), KVPT_STATE(8),
};

static void setup(void)
{
	kvpt_env_init(&env);
	a = kvpt_pool(&env, families, 3);
	kvpt_tokens(tok, 64, 1);
	kvpt_tokens(other, 64, 2);
}

/* Without state something can be matched. */
static void setup_matching(void)
{
	kvpt_env_init(&env);
	a = kvpt_pool(&env, families, 2);
	kvpt_tokens(tok, 64, 1);
	kvpt_tokens(other, 64, 2);
}

static void teardown(void)
{
	kvp_shim_fail_alloc = 0;
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

START_TEST(test_open_a_client)
{
	const struct kvp_cred cred = { .uid = 1001 };
	struct kvp_client *client;
	bool failed;

	kvp_shim_fail_alloc = 1;
	client = kvp_client_open(&env.host, &kvp_inproc_door, &cred);
	failed = !kvp_shim_fail_alloc;
	kvp_shim_fail_alloc = 0;
	ck_assert(failed);
	ck_assert(IS_ERR_OR_NULL(client));
}
END_TEST

START_TEST(test_make_a_pool)
{
	struct kvp_client *client = kvpt_open(&env, 1001);
	bool failed;
	u32 nth;
	int err;

	for (nth = 1;; nth++) {
		err = with_failure(nth, &failed,
				   kvpt_pool_create(client, "second", 0600, families, 3));
		if (!failed)
			break;
		ck_assert_int_eq(err, -ENOMEM);
		ck_assert_uint_eq(kvpt.head.reason, KVP_REASON_MEMORY);
		ck_assert_ptr_null(kvpt_pool_of(client));
		/* The name was not taken. */
		kvpt_ok(kvpt_pool_list(client, NULL, 0));
		ck_assert_uint_eq(kvpt.pool_list.total, 1);
	}
	ck_assert_int_eq(err, 0);
	/* The pool, an account, blocks, nodes, tokens, parts, buckets, digests at least. */
	ck_assert_uint_gt(nth, 8);
	kvpt_audit_clean(client);
}
END_TEST

START_TEST(test_attach)
{
	struct kvp_client *b = kvpt_open(&env, 1001);

	ck_assert_uint_gt(allocations_of(kvpt_pool_attach(b, KVPT_POOL_NAME, 0)), 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nr_clients, 2);
}
END_TEST

START_TEST(test_create)
{
	const struct kvp_extra extra = kvpt_extra(20, 7);
	const struct kvp_seq_create with = {
		.extras = (u64)(uintptr_t)&extra,
		.nr_extras = 1,
		.reserve = 3,
	};
	u64 seq;

	/* The sequence, its runs, two tables, and the table of ids. */
	ck_assert_uint_ge(allocations_of(kvpt_create_with(a, &with, 1, tok, 40, &seq)), 5);
	kvpt_expect_lengths(a, seq, 40, 0, 43, 0);
}
END_TEST

START_TEST(test_create_that_matches)
{
	u64 seq;

	kvpt_ok(kvpt_make_published(a, 1, tok, 20));
	kvpt_ok(kvpt_make_published(a, 1, other, 20));
	ck_assert_uint_gt(allocations_of(kvpt_create(a, 1, tok, 40, &seq)), 0);
	ck_assert_uint_eq(kvpt.seq_create.matched, 20);
	ck_assert_uint_gt(allocations_of(kvpt_create_flags(a, KVP_SEQ_MATCH_ONLY, 1, other, 40,
							   &seq)), 0);
	kvpt_expect_lengths(a, seq, 20, 20, 20, 20);
}
END_TEST

START_TEST(test_create_that_reclaims)
{
	u64 seq, blocks[200];

	kvpt_ok(kvpt_make_published(a, 1, tok, 50));
	kvpt_ok(kvpt_alloc(a, 0, 200, blocks));
	ck_assert_uint_gt(allocations_of(kvpt_create(a, 2, other, 50, &seq)), 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).reclaimed_nodes, 44);
}
END_TEST

START_TEST(test_more_sequences_than_a_table_of_ids)
{
	u32 i, most = 0, nr;
	u64 seq;

	for (i = 0; i < 40; i++) {
		nr = allocations_of(kvpt_create(a, 1, NULL, 0, &seq));
		most = max(most, nr);
	}
	ck_assert_uint_gt(most, 1);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).seqs, 40);
}
END_TEST

START_TEST(test_append)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 1, &seq));
	/* The runs and two tables. */
	ck_assert_uint_eq(allocations_of(kvpt_append(a, seq, tok + 1, 40)), 3);
	kvpt_expect_lengths(a, seq, 41, 0, 41, 0);
	ck_assert_uint_eq(allocations_of(kvpt_reserve(a, seq, 200)), 2);
}
END_TEST

START_TEST(test_append_with_copies)
{
	const struct kvp_family_desc dense = KVPT_DENSE(64, 4);
	u64 seq;

	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool(&env, &dense, 1);
	seq = kvpt_published(a, 1, tok, 8);
	kvpt_ok(kvpt_truncate(a, seq, 6));
	kvpt_ok(kvpt_make_published(a, 2, other, 8));
	/* The table grows beyond its first 16 slots. */
	ck_assert_uint_gt(allocations_of(kvpt_append(a, seq, other, 60)), 0);
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 1);
}
END_TEST

START_TEST(test_set_tokens)
{
	const struct kvp_seq_create with = { .reserve = 60 };
	u64 seq;

	kvpt_ok(kvpt_create_with(a, &with, 1, NULL, 0, &seq));
	ck_assert_uint_eq(allocations_of(kvpt_set_tokens(a, seq, tok, 60)), 1);
	kvpt_expect_lengths(a, seq, 60, 0, 60, 0);
}
END_TEST

START_TEST(test_fork)
{
	u64 seq = kvpt_computed(a, 1, tok, 40), child;

	ck_assert_uint_ge(allocations_of(kvpt_fork(a, seq, KVP_POS_END, &child)), 4);
	kvpt_expect_lengths(a, child, 40, 40, 40, 0);
}
END_TEST

START_TEST(test_fork_with_copies)
{
	const struct kvp_family_desc dense = KVPT_DENSE(64, 4);
	const struct kvp_extra extra = kvpt_extra(1, 7);
	const struct kvp_seq_create with = {
		.extras = (u64)(uintptr_t)&extra,
		.nr_extras = 1,
		.reserve = 1,
	};
	u64 seq, child;

	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool(&env, &dense, 1);
	kvpt_ok(kvpt_create_with(a, &with, 1, tok, 6, &seq));
	kvpt_ok(kvpt_advance(a, seq, 6));
	ck_assert_uint_gt(allocations_of(kvpt_fork(a, seq, 6, &child)), 0);
	ck_assert_uint_eq(kvpt.fork.nr_copies, 1);
}
END_TEST

START_TEST(test_match)
{
	u64 match = 0;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_make_published(a, 1, other, 8));
	ck_assert_uint_eq(allocations_of(kvpt_match(a, 1, tok, 8, NULL)), 0);
	/* The match and the table of ids. */
	ck_assert_uint_eq(allocations_of(kvpt_match(a, 1, tok, 8, &match)), 2);
	ck_assert_uint_ne(match, 0);
	allocates_nothing(kvpt_release(a, match));
}
END_TEST

START_TEST(test_raw_blocks)
{
	u64 blocks[100], seq, table[8], copy;

	ck_assert_uint_gt(allocations_of(kvpt_alloc(a, 0, 100, blocks)), 0);
	allocations_of(kvpt_ref(a, blocks, 100));
	kvpt_ok(kvpt_create(a, 1, tok, 8, &seq));
	kvpt_expect_table(a, seq, 0, table, 8);
	allocations_of(kvpt_ref_from(a, seq, 0, table, 8));
	allocations_of(kvpt_make_private(a, table[0], &copy));
	ck_assert_uint_ne(copy, table[0]);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).raw, 209);
	allocates_nothing(kvpt_unref(a, blocks, 100));
	allocates_nothing(kvpt_unref(a, blocks, 100));
	allocates_nothing(kvpt_unref(a, table, 8));
	allocates_nothing(kvpt_unref(a, &copy, 1));
}
END_TEST

START_TEST(test_many_raw_blocks_one_by_one)
{
	u64 blocks[200];
	u32 i, all = 0;

	for (i = 0; i < 200; i++)
		all += allocations_of(kvpt_alloc(a, 0, 1, &blocks[i]));
	ck_assert_uint_gt(all, 1);
	for (i = 0; i < 200; i++)
		allocates_nothing(kvpt_unref(a, &blocks[i], 1));
}
END_TEST

START_TEST(test_audit)
{
	u64 seq = kvpt_published(a, 1, tok, 8);
	struct kvpt_world was, is;
	const char *diff;
	bool failed;
	u32 nth;
	int err;

	kvpt_ok(kvpt_append(a, seq, other, 4));
	for (nth = 1;; nth++) {
		kvpt_world_take(&env, a, &was);
		err = with_failure(nth, &failed, kvpt_audit(a, NULL, 0));
		kvpt_world_take(&env, a, &is);
		diff = kvpt_world_diff(&was, &is);
		ck_assert_msg(!diff, "changed: %s", diff);
		kvpt_world_drop(&was);
		kvpt_world_drop(&is);
		if (!failed)
			break;
		ck_assert_int_eq(err, -ENOMEM);
		ck_assert_uint_eq(kvpt.head.reason, KVP_REASON_MEMORY);
	}
	ck_assert_int_eq(err, 0);
	ck_assert_uint_gt(nth, 1);
	ck_assert_uint_eq(kvpt.audit.total, 0);
}
END_TEST

START_TEST(test_what_needs_no_memory)
{
	struct kvp_block_entry entries[8];
	struct kvp_family_stats stats[3];
	struct kvp_client_entry clients[2];
	u64 seq, second, blocks[8];

	kvpt_ok(kvpt_create(a, 1, tok, 8, &seq));
	allocates_nothing(kvpt_advance(a, seq, 6));
	allocates_nothing(kvpt_publish(a, seq));
	allocates_nothing(kvpt_table(a, seq, 0, blocks, 8));
	allocates_nothing(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_create_flags(a, KVP_SEQ_NO_MATCH, 1, tok, 8, &second));
	allocates_nothing(kvpt_advance(a, second, 8));
	allocates_nothing(kvpt_publish(a, second));
	allocates_nothing(kvpt_publish_with(a, second, KVP_PUBLISH_KEEP, 0, 0));
	allocates_nothing(kvpt_copied(a, seq));
	allocates_nothing(kvpt_truncate(a, second, 0));
	allocates_nothing(kvpt_free(a, second));
	allocates_nothing(kvpt_free(a, seq));
	allocates_nothing(kvpt_invalidate_prefix(a, 1, tok, 8));
	allocates_nothing(kvpt_invalidate_tag(a, 7));
	allocates_nothing(kvpt_invalidate_space(a, 1));
	allocates_nothing(kvpt_reclaim(a, 100));
	allocates_nothing(kvpt_stats(a, 0, stats, 3));
	allocates_nothing(kvpt_dump(a, 0, 0, entries, 8));
	allocates_nothing(kvpt_client_list(a, clients, 2));
	allocates_nothing(kvpt_limit(a, 0, KVP_LIMIT_RAW, 0, 5));
}
END_TEST

/* An allocation as large as a caller makes it must fail without a word: here, no WARN. */
START_TEST(test_large_table_of_ids_fails_silently)
{
	u32 i;
	u64 seq;

	/* 4,096 ids are there, and the next ones would take 64 KB. */
	for (i = 0; i < 4096; i++)
		kvpt_ok(kvpt_create(a, 1, NULL, 0, &seq));
	kvp_shim_fail_alloc = 2;
	kvpt_refused(&env, a, kvpt_create(a, 1, NULL, 0, &seq), -ENOMEM, KVP_REASON_MEMORY, 0);
	ck_assert_int_eq(kvp_shim_fail_alloc, 0);
	kvpt_ok(kvpt_create(a, 1, NULL, 0, &seq));
}
END_TEST

START_TEST(test_end_of_a_client_needs_no_memory)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	u64 seq = kvpt_published(b, 1, tok, 40), match, blocks[4];

	kvpt_ok(kvpt_match(b, 1, tok, 8, &match));
	kvpt_ok(kvpt_fork(b, seq, 40, NULL));
	kvpt_ok(kvpt_append(b, seq, other, 20));
	kvpt_ok(kvpt_alloc(b, 0, 4, blocks));
	kvp_shim_fail_alloc = 1;
	kvpt_close(&env, b);
	ck_assert_int_eq(kvp_shim_fail_alloc, 1);
	kvp_shim_fail_alloc = 0;
	ck_assert_uint_eq(kvpt_blocks(a, 0, KVP_BLOCK_HELD), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("alloc_fail");
	TCase *all = tcase_create("all families");
	TCase *matching = tcase_create("matching");

	tcase_add_checked_fixture(all, setup, teardown);
	tcase_add_test(all, test_open_a_client);
	tcase_add_test(all, test_make_a_pool);
	tcase_add_test(all, test_attach);
	tcase_add_test(all, test_create);
	tcase_add_test(all, test_append);
	tcase_add_test(all, test_append_with_copies);
	tcase_add_test(all, test_set_tokens);
	tcase_add_test(all, test_fork);
	tcase_add_test(all, test_fork_with_copies);
	tcase_add_test(all, test_raw_blocks);
	tcase_add_test(all, test_many_raw_blocks_one_by_one);
	tcase_add_test(all, test_audit);
	tcase_add_test(all, test_what_needs_no_memory);
	suite_add_tcase(s, all);

	tcase_add_checked_fixture(matching, setup_matching, teardown);
	tcase_add_test(matching, test_create_that_matches);
	tcase_add_test(matching, test_create_that_reclaims);
	tcase_add_test(matching, test_more_sequences_than_a_table_of_ids);
	tcase_add_test(matching, test_match);
	tcase_add_test(matching, test_large_table_of_ids_fails_silently);
	tcase_add_test(matching, test_end_of_a_client_needs_no_memory);
	suite_add_tcase(s, matching);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

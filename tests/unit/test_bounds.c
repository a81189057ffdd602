// SPDX-License-Identifier: MIT
/*
 * What one caller could make dear for all others, or lock them out by: a dump that follows long
 * paths, a guarantee that nobody can take back, limits of what has no caller.
 */
#include <check.h>

#include "exportdoor.h"
#include "unit.h"

#define LONG	2048	/* blocks of a path */

static struct kvpt_env env;
static struct kvp_client *a;

static void setup(void)
{
	kvpt_env_init(&env);
}

static void teardown(void)
{
	kvpt_env_exit(&env);
}

/*
 * Blocks in the order of the dump against that of the path, so that each is the parent of the one
 * before: the whole dump passes two million nodes.
 */
static void make_reversed_path(void)
{
	static u64 ids[LONG];
	static u32 tokens[LONG];
	u32 i;

	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(LONG, 1) }, 1);
	kvpt_ok(kvpt_alloc(a, 0, LONG, ids));
	for (i = 0; i < LONG; i++) {
		tokens[i] = i;
		kvpt_ok(kvpt_unref(a, &ids[i], 1));
	}
	kvpt_published(a, 1, tokens, LONG);
}

START_TEST(test_a_dump_ends_when_it_has_gone_far)
{
	static struct kvp_block_entry entries[LONG];
	struct kvp_block_dump arg = { .entries = (u64)(uintptr_t)entries };
	u32 calls = 0, most = 0;
	u64 next = 0;
	u32 i;

	make_reversed_path();
	while (next < LONG) {
		arg.nr_entries = LONG;
		ck_assert_int_eq(kvpt_do(a, KVP_OP_BLOCK_DUMP, &arg), 0);
		ck_assert_uint_gt(arg.nr_entries, 0);
		ck_assert_uint_eq(arg.cursor, next + arg.nr_entries);
		ck_assert_uint_eq(arg.total, LONG);
		for (i = 0; i < arg.nr_entries; i++) {
			ck_assert_uint_eq(KVP_BLOCK_INDEX(entries[i].block), next + i);
			ck_assert_uint_eq(entries[i].depth, LONG - next - i);
		}
		next = arg.cursor;
		most = max(most, arg.nr_entries);
		calls++;
	}
	/* The first call passes about 2^18 nodes, on paths of some 2,000 each. */
	ck_assert_uint_gt(calls, 4);
	ck_assert_uint_lt(most, LONG / 2);
}
END_TEST

START_TEST(test_who_looks_gets_in_beside_guarantees)
{
	struct kvp_client *engine, *looker;
	struct kvp_stats stats;

	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(100, 4) }, 1);
	kvpt_ok(kvpt_limit(a, 0, KVP_LIMIT_GUARANTEE, 0, 60));
	engine = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	ck_assert_uint_eq(kvpt_family_of(a, kvpt_client_id(engine), 0).guaranteed, 60);
	looker = kvpt_open_cred(&env, &(struct kvp_cred){ .uid = 0, .admin = true });
	kvpt_expect(kvpt_pool_attach(looker, KVPT_POOL_NAME, KVP_RIGHT_ALL), -EFBIG,
		    KVP_REASON_NEVER_FITS);
	ck_assert_uint_eq(kvpt.pool_attach.room, 40);
	kvpt_ok(kvpt_pool_attach(looker, KVPT_POOL_NAME, KVP_RIGHT_USE | KVP_RIGHT_ADMIN));
	stats = kvpt_counters_of(looker, KVP_STATS_SELF);
	ck_assert_uint_eq(stats.nr_clients, 1);
	ck_assert_uint_eq(kvpt_family_of(looker, 0, 0).guaranteed, 60);
	/* So it can take the guarantee back, and the next one fits. */
	kvpt_ok(kvpt_limit(looker, 0, KVP_LIMIT_GUARANTEE, 0, 10));
	kvpt_join(&env, 1002, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	ck_assert_uint_eq(kvpt_family_of(looker, 0, 0).guaranteed, 70);
	kvpt_audit_clean(a);
}
END_TEST

START_TEST(test_an_export_takes_no_limits)
{
	struct kvp_seq_export export = { };
	u32 tokens[4] = { 1, 2, 3, 4 };

	env.door = kvpt_export_door(&kvp_inproc_door);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(8, 4) }, 1);
	export.seq = kvpt_computed(a, 1, tokens, 4);
	ck_assert_int_eq(kvpt_do(a, KVP_OP_SEQ_EXPORT, &export), 0);
	kvpt_expect(kvpt_limit(a, export.export_id, KVP_LIMIT_GUARANTEE, 0, 5), -ENOENT,
		    KVP_REASON_NO_CLIENT);
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).guaranteed, 0);
	kvpt_export_close(export.fd);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("bounds");
	TCase *tc = tcase_create("bounds");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_a_dump_ends_when_it_has_gone_far);
	tcase_add_test(tc, test_who_looks_gets_in_beside_guarantees);
	tcase_add_test(tc, test_an_export_takes_no_limits);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

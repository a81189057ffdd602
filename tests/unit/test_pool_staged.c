// SPDX-License-Identifier: MIT
/*
 * Pools that are staged until their maker says that they are ready, persistent pools and their
 * door, and the limits of a host.
 */
#include <check.h>

#include "exportdoor.h"
#include "unit.h"

#define OTHER	1001

static const struct kvp_family_desc dense = KVPT_DENSE(16, 4);

static struct kvpt_env env;
static struct kvp_client *a;
static int pins;		/* persistent pools that the door knows of */
static struct kvp_door door;

static void pin(bool on)
{
	pins += on ? 1 : -1;
}

static void setup(void)
{
	kvpt_env_init(&env);
	door = *kvpt_export_door(&kvp_inproc_door);
	door.pin = pin;
	env.door = &door;
	pins = 0;
	a = kvpt_open_cred(&env, &(struct kvp_cred){ .uid = KVPT_OWNER, .gid = 5,
			   .persist = true });
}

static void teardown(void)
{
	kvpt_env_exit(&env);
	ck_assert_int_eq(pins, 0);
}

static int create(struct kvp_client *client, const char *name, u32 flags)
{
	struct kvp_pool_create *arg = &kvpt.pool_create;

	memset(&kvpt, 0, sizeof(kvpt));
	strcpy(arg->name, name);
	arg->head.flags = flags;
	arg->mode = 0666;
	arg->families = (u64)(uintptr_t)&dense;
	arg->nr_families = 1;
	return kvpt_do(client, KVP_OP_POOL_CREATE, arg);
}

static u32 flags_of(struct kvp_client *client)
{
	kvpt_ok(kvpt_pool_info(client, NULL, 0));
	return kvpt.pool_info.pool_flags;
}

static u32 pools_seen(struct kvp_client *client)
{
	kvpt_ok(kvpt_pool_list(client, NULL, 0));
	return kvpt.pool_list.total;
}

/* ---- staged ---- */

START_TEST(test_staged)
{
	struct kvp_client *same = kvpt_open(&env, KVPT_OWNER), *b = kvpt_open(&env, OTHER);
	u64 block;

	kvpt_ok(create(a, "p", KVP_POOL_STAGED));
	ck_assert_uint_eq(flags_of(a), KVP_POOL_STAGED);
	ck_assert_uint_eq(pools_seen(same), 0);
	kvpt_expect(kvpt_pool_attach(same, "p", 0), -EBUSY, KVP_REASON_STAGED);
	ck_assert_uint_eq(kvpt.pool_attach.client, 0);
	kvpt_expect(kvpt_pool_attach(b, "p", KVP_RIGHT_USE), -EBUSY, KVP_REASON_STAGED);
	/* Without the right, the other reason. */
	kvpt_expect(kvpt_pool_attach(b, "p", KVP_RIGHT_ADMIN), -EACCES, KVP_REASON_RIGHT_ADMIN);
	/* The name is taken, and the maker can use it. */
	kvpt_expect(create(b, "p", 0), -EEXIST, KVP_REASON_NAME);
	kvpt_ok(kvpt_alloc(a, 0, 1, &block));
	kvpt_audit_clean(a);

	kvpt_ok(kvpt_pool_ready(a));
	ck_assert_uint_eq(flags_of(a), 0);
	ck_assert_uint_eq(pools_seen(b), 1);
	kvpt_ok(kvpt_pool_attach(b, "p", 0));
	ck_assert_uint_eq(kvpt.pool_attach.client, 2);
	/* Once more is nothing; others may say it who may administer. */
	kvpt_ok(kvpt_pool_ready(a));
	kvpt_expect(kvpt_pool_ready(b), -EACCES, KVP_REASON_RIGHT_ADMIN);
	kvpt_expect(kvpt_pool_ready(same), -EBUSY, KVP_REASON_NOT_ATTACHED);
}
END_TEST

START_TEST(test_a_pool_that_was_never_staged_is_ready)
{
	kvpt_ok(create(a, "p", 0));
	ck_assert_uint_eq(flags_of(a), 0);
	kvpt_ok(kvpt_pool_ready(a));
	kvpt_ok(kvpt_pool_attach(kvpt_open(&env, OTHER), "p", 0));
}
END_TEST

START_TEST(test_the_maker_dies_while_it_is_staged)
{
	struct kvp_client *b = kvpt_open(&env, KVPT_OWNER);

	kvpt_ok(create(a, "p", KVP_POOL_STAGED | KVP_POOL_PERSISTENT));
	ck_assert_int_eq(pins, 1);
	ck_assert_uint_eq(flags_of(a), KVP_POOL_STAGED | KVP_POOL_PERSISTENT);
	kvpt_close(&env, a);
	ck_assert_int_eq(pins, 0);
	kvpt_expect(kvpt_pool_attach(b, "p", 0), -ENOENT, KVP_REASON_NO_POOL);
	kvpt_expect(kvpt_pool_destroy(b, "p", 0), -ENOENT, KVP_REASON_NO_POOL);
	kvpt_ok(create(b, "p", 0));
}
END_TEST

START_TEST(test_the_maker_dies_when_it_is_ready)
{
	struct kvp_client *b = kvpt_open(&env, OTHER);

	kvpt_ok(create(a, "p", KVP_POOL_STAGED | KVP_POOL_PERSISTENT));
	kvpt_ok(kvpt_pool_ready(a));
	kvpt_close(&env, a);
	ck_assert_int_eq(pins, 1);
	kvpt_ok(kvpt_pool_attach(b, "p", 0));
	ck_assert_uint_eq(flags_of(b), KVP_POOL_PERSISTENT);
	kvpt_close(&env, b);
	ck_assert_int_eq(pins, 1);
	b = kvpt_open(&env, KVPT_OWNER);
	kvpt_ok(kvpt_pool_destroy(b, "p", 0));
	ck_assert_int_eq(pins, 0);
}
END_TEST

/* An export would keep the pool when its maker ends, and nobody could make it ready. */
START_TEST(test_a_staged_pool_has_no_exports)
{
	u32 tok[8];
	u64 seq;
	s32 fd;

	kvpt_tokens(tok, 8, 1);
	kvpt_ok(create(a, "p", KVP_POOL_STAGED));
	seq = kvpt_computed(a, 1, tok, 8);
	kvpt_refused(&env, a, kvpt_export(a, seq, NULL), -EBUSY, KVP_REASON_STAGED, 0);
	kvpt_ok(kvpt_pool_ready(a));
	kvpt_ok(kvpt_export(a, seq, &fd));
	kvpt_export_close(fd);
}
END_TEST

START_TEST(test_others_end_a_staged_pool)
{
	struct kvp_client *b = kvpt_open(&env, KVPT_OWNER), *c = kvpt_open(&env, OTHER);

	kvpt_ok(create(a, "p", KVP_POOL_STAGED));
	kvpt_expect(kvpt_pool_destroy(c, "p", KVP_DESTROY_FORCE), -EACCES,
		    KVP_REASON_RIGHT_ADMIN);
	kvpt_expect(kvpt_pool_destroy(b, "p", 0), -EBUSY, KVP_REASON_POOL_IN_USE);
	kvpt_ok(kvpt_pool_destroy(b, "p", KVP_DESTROY_FORCE));
	kvpt_expect(kvpt_pool_ready(a), -EIO, KVP_REASON_DESTROYED);
	kvpt_ok(create(b, "p", 0));
}
END_TEST

/* ---- what the door is told ---- */

START_TEST(test_a_persistent_pool_is_pinned)
{
	struct kvp_client *b;

	kvpt_ok(create(a, "p", KVP_POOL_PERSISTENT));
	ck_assert_int_eq(pins, 1);
	b = kvpt_open(&env, OTHER);
	kvpt_ok(create(b, "q", 0));
	ck_assert_int_eq(pins, 1);
	/* Destroyed, it goes with its last client. */
	kvpt_ok(kvpt_pool_destroy(a, "p", KVP_DESTROY_FORCE));
	ck_assert_int_eq(pins, 1);
	kvpt_close(&env, a);
	ck_assert_int_eq(pins, 0);
	/* One that cannot be made is told neither. */
	a = kvpt_open_cred(&env, &(struct kvp_cred){ .uid = KVPT_OWNER, .persist = true });
	kvpt_expect(create(a, "q", KVP_POOL_PERSISTENT), -EEXIST, KVP_REASON_NAME);
	ck_assert_int_eq(pins, 0);
}
END_TEST

/* ---- limits of the host ---- */

START_TEST(test_metadata_of_a_uid)
{
	struct kvp_client *b, *other;
	u64 bytes;

	kvpt_ok(create(a, "p", 0));
	kvpt_ok(kvpt_pool_info(a, NULL, 0));
	bytes = kvpt.pool_info.metadata_bytes;
	kvpt_close(&env, a);
	a = kvpt_open_cred(&env, &(struct kvp_cred){ .uid = 0, .admin = true });
	env.host.max_metadata_per_uid = bytes;
	kvpt_ok(create(a, "p", 0));
	/* All of a uid's pools together, whoever it is; another uid has its own. */
	b = kvpt_open_cred(&env, &(struct kvp_cred){ .uid = 0, .admin = true });
	kvpt_expect(create(b, "q", 0), -EDQUOT, KVP_REASON_LIMIT_POOLS);
	other = kvpt_open(&env, OTHER);
	kvpt_ok(create(other, "q", 0));
	kvpt_close(&env, other);
	kvpt_close(&env, b);
	kvpt_close(&env, a);
	a = kvpt_open_cred(&env, &(struct kvp_cred){ .uid = 0, .admin = true });
	env.host.max_metadata_per_uid = 16 * 32;
	kvpt_expect(create(a, "p", 0), -EDQUOT, KVP_REASON_LIMIT_POOLS);
	ck_assert_uint_eq(kvpt.head.where, 0);
	ck_assert_uint_eq(kvpt.pool_create.pool, 0);
	ck_assert_uint_eq(pools_seen(a), 0);
	env.host.max_metadata_per_uid = U64_MAX;
	kvpt_ok(create(a, "p", 0));
}
END_TEST

START_TEST(test_pools_of_a_uid)
{
	struct kvp_client *client[4], *root;
	u32 i;

	env.host.max_pools_per_uid = 2;
	for (i = 0; i < 4; i++)
		client[i] = kvpt_open(&env, OTHER);
	kvpt_ok(create(client[0], "one", 0));
	kvpt_ok(create(client[1], "two", 0));
	kvpt_expect(create(client[2], "three", 0), -EDQUOT, KVP_REASON_LIMIT_POOLS);
	ck_assert_uint_eq(pools_seen(client[2]), 2);
	/* Others have their own, and the administrator as many as he likes. */
	kvpt_ok(create(a, "three", 0));
	for (i = 0; i < 3; i++) {
		root = kvpt_open_cred(&env, &(struct kvp_cred){ .uid = OTHER, .admin = true });
		kvpt_ok(create(root, (const char *[]){ "r0", "r1", "r2" }[i], 0));
		kvpt_close(&env, root);
	}
	/* To attach is no matter. */
	kvpt_ok(kvpt_pool_attach(client[2], "one", 0));
	kvpt_close(&env, client[0]);
	kvpt_expect(create(client[3], "four", 0), -EDQUOT, KVP_REASON_LIMIT_POOLS);
	kvpt_close(&env, client[2]);
	kvpt_ok(create(client[3], "four", 0));
}
END_TEST

/* A pool that was destroyed has its memory until its last client leaves. */
START_TEST(test_destroyed_pools_of_a_uid)
{
	struct kvp_client *one = kvpt_open(&env, OTHER), *two = kvpt_open(&env, OTHER);

	env.host.max_pools_per_uid = 1;
	kvpt_ok(create(one, "one", 0));
	kvpt_ok(kvpt_pool_destroy(one, "one", 0));
	kvpt_expect(create(two, "one", 0), -EDQUOT, KVP_REASON_LIMIT_POOLS);
	kvpt_close(&env, one);
	kvpt_ok(create(two, "one", 0));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pool: staged");
	TCase *staged = tcase_create("staged");
	TCase *host = tcase_create("host");

	tcase_add_checked_fixture(staged, setup, teardown);
	tcase_add_test(staged, test_staged);
	tcase_add_test(staged, test_a_pool_that_was_never_staged_is_ready);
	tcase_add_test(staged, test_the_maker_dies_while_it_is_staged);
	tcase_add_test(staged, test_the_maker_dies_when_it_is_ready);
	tcase_add_test(staged, test_a_staged_pool_has_no_exports);
	tcase_add_test(staged, test_others_end_a_staged_pool);
	tcase_add_test(staged, test_a_persistent_pool_is_pinned);
	suite_add_tcase(s, staged);
	tcase_add_checked_fixture(host, setup, teardown);
	tcase_add_test(host, test_metadata_of_a_uid);
	tcase_add_test(host, test_pools_of_a_uid);
	tcase_add_test(host, test_destroyed_pools_of_a_uid);
	suite_add_tcase(s, host);
	return kvpt_run(s);
}

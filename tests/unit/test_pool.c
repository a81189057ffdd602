// SPDX-License-Identifier: MIT
/*
 * Pools: what can be made, by which name, who may attach, list and destroy it, and when
 * it ends.
 */
#include <check.h>
#include <stdlib.h>

#include "unit.h"

#define OTHER	1001		/* uid and gid of nobody's pool */

static struct kvpt_env env;
static struct kvp_client *a;

static const struct kvp_family_desc dense = KVPT_DENSE(16, 4);

static void setup(void)
{
	kvpt_env_init(&env);
	a = kvpt_open(&env, KVPT_OWNER);
	kvp_shim_fail_alloc = 0;
}

static void teardown(void)
{
	kvpt_env_exit(&env);
}

static struct kvp_client *open_as(u32 uid, u32 gid, bool admin, bool persist)
{
	const struct kvp_cred cred = {
		.uid = uid, .gid = gid, .admin = admin, .persist = persist,
	};

	return kvpt_open_cred(&env, &cred);
}

/* Pool "p" from a struct in which some is set already. */
static int create_with(struct kvp_client *client, const struct kvp_pool_create *with,
		       const struct kvp_family_desc *families, u32 nr)
{
	struct kvp_pool_create *arg = &kvpt.pool_create;

	memset(&kvpt, 0, sizeof(kvpt));
	*arg = *with;
	strcpy(arg->name, "p");
	arg->families = (u64)(uintptr_t)families;
	arg->nr_families = nr;
	return kvpt_do(client, KVP_OP_POOL_CREATE, arg);
}

/* A pool of these families can be made; its description is in kvpt. It is gone afterwards. */
static void can_be(const struct kvp_pool_create *with, const struct kvp_family_desc *families,
		   u32 nr)
{
	struct kvp_client *c = kvpt_open(&env, 7);

	kvpt_ok(create_with(c, with, families, nr));
	kvpt_ok(kvpt_pool_info(c, NULL, 0));
	kvpt_close(&env, c);
}

static void cannot_be(const struct kvp_pool_create *with,
		      const struct kvp_family_desc *families, u32 nr, int err, u32 reason,
		      u32 where)
{
	kvpt_expect(create_with(a, with, families, nr), err, reason);
	ck_assert_uint_eq(kvpt.head.where, where);
	ck_assert_uint_eq(kvpt.pool_create.pool, 0);
	ck_assert_uint_eq(kvpt.pool_create.rights, 0);
	/* Nobody is attached, the name is free. */
	kvpt_expect(kvpt_pool_info(a, NULL, 0), -EBUSY, KVP_REASON_NOT_ATTACHED);
	kvpt_ok(kvpt_pool_list(a, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_list.total, 0);
}

/* ---- creation ---- */

START_TEST(test_create)
{
	static const struct kvp_family_desc families[] = {
		{ .name = "kv", .kind = KVP_FAMILY_DENSE, .block_tokens = 16, .blocks = 100,
		  .block_bytes = 4096 },
		{ .name = "fifteen-letters", .kind = KVP_FAMILY_WINDOW, .block_tokens = 8,
		  .blocks = 50, .block_bytes = 1, .window = 24 },
		{ .kind = KVP_FAMILY_STATE, .block_tokens = 1, .blocks = 7, .block_bytes = 9 },
	};
	struct kvp_family_desc got[3];

	kvpt_ok(kvpt_pool_create(a, "first", 0640, families, 3));
	ck_assert_uint_eq(kvpt.pool_create.pool, 1);
	ck_assert_uint_eq(kvpt.pool_create.client, 1);
	ck_assert_uint_eq(kvpt.pool_create.rights, KVP_RIGHT_ALL);

	kvpt_ok(kvpt_pool_info(a, got, 3));
	ck_assert(!memcmp(got, families, sizeof(got)));
	ck_assert_str_eq(kvpt.pool_info.name, "first");
	ck_assert_uint_eq(kvpt.pool_info.nr_families, 3);
	ck_assert_uint_eq(kvpt.pool_info.index_tokens, 16);
	ck_assert_uint_eq(kvpt.pool_info.mode, 0640);
	ck_assert_uint_eq(kvpt.pool_info.policy, KVP_RECLAIM_LRU);
	ck_assert_uint_eq(kvpt.pool_info.pool, 1);
	ck_assert_uint_eq(kvpt.pool_info.client, 1);
	ck_assert_uint_eq(kvpt.pool_info.uid, KVPT_OWNER);
	ck_assert_uint_eq(kvpt.pool_info.pool_flags, 0);
	ck_assert_uint_eq(kvpt.pool_info.rights, KVP_RIGHT_ALL);
	ck_assert_uint_eq(kvpt.pool_info.nr_clients, 1);
	ck_assert_uint_eq(kvpt.pool_info.nr_backings, 0);
	/* Blocks, nodes, and the ids that the nodes hold. */
	ck_assert_uint_gt(kvpt.pool_info.metadata_bytes,
			  157 * 32 + kvpt.pool_info.nodes * (64 + 16 * 4));

	kvpt_ok(kvpt_stats(a, 0, NULL, 0));
	ck_assert_uint_eq(kvpt.stats.nodes_used, 0);
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).state[KVP_BLOCK_FREE], 100);
	ck_assert_uint_eq(kvpt_family_of(a, 0, 2).state[KVP_BLOCK_FREE], 7);
	kvpt_audit_clean(a);
}
END_TEST

START_TEST(test_pools_apart)
{
	struct kvp_client *b = kvpt_open(&env, OTHER);
	u64 ids[16];

	kvpt_ok(kvpt_pool_create(a, "one", 0600, &dense, 1));
	kvpt_ok(kvpt_pool_create(b, "two", 0600, &dense, 1));
	ck_assert_uint_eq(kvpt.pool_create.pool, 2);
	ck_assert_uint_eq(kvpt.pool_create.client, 1);
	kvpt_ok(kvpt_alloc(a, 0, 16, ids));
	ck_assert_uint_eq(kvpt_blocks(b, 0, KVP_BLOCK_FREE), 16);
}
END_TEST

START_TEST(test_names_that_can_be)
{
	static const char *const names[] = {
		"a", "Z", "0", "-", "_", ".", "a.b-c_D9",
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-",
	};
	struct kvp_client *c;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		c = kvpt_open(&env, 7);
		kvpt_ok(kvpt_pool_create(c, names[i], 0, &dense, 1));
		kvpt_ok(kvpt_pool_info(c, NULL, 0));
		ck_assert_str_eq(kvpt.pool_info.name, names[i]);
	}
}
END_TEST

START_TEST(test_names_that_cannot_be)
{
	static const char *const names[] = {
		"", "/", "a/b", "a b", " ", "a\n", "\x7f", "\xc3\xa4", "a:", "a?", "a@",
		"a[", "a`", "a{", "a,",
	};
	struct kvp_pool_create create = { .families = (u64)(uintptr_t)&dense,
					  .nr_families = 1 };
	struct kvp_pool_attach attach;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		kvpt_expect(kvpt_pool_create(a, names[i], 0, &dense, 1), -EINVAL,
			    KVP_REASON_NAME);
		kvpt_expect(kvpt_pool_attach(a, names[i], 0), -EINVAL, KVP_REASON_NAME);
		kvpt_expect(kvpt_pool_destroy(a, names[i], 0), -EINVAL, KVP_REASON_NAME);
	}
	/* Without an end. */
	memset(create.name, 'a', sizeof(create.name));
	ck_assert_int_eq(kvpt_do(a, KVP_OP_POOL_CREATE, &create), -EINVAL);
	ck_assert_uint_eq(create.head.reason, KVP_REASON_NAME);
	memset(&attach, 0, sizeof(attach));
	memset(attach.name, 'a', sizeof(attach.name));
	ck_assert_int_eq(kvpt_do(a, KVP_OP_POOL_ATTACH, &attach), -EINVAL);
	ck_assert_uint_eq(attach.head.reason, KVP_REASON_NAME);
}
END_TEST

START_TEST(test_name_is_taken)
{
	struct kvp_client *b = kvpt_open(&env, OTHER);

	kvpt_ok(kvpt_pool_create(a, "one", 0600, &dense, 1));
	/* Even where one may not see by whom. */
	kvpt_expect(kvpt_pool_create(b, "one", 0600, &dense, 1), -EEXIST, KVP_REASON_NAME);
	kvpt_ok(kvpt_pool_create(b, "One", 0600, &dense, 1));
}
END_TEST

/* What is behind the end of a name is not part of it. */
START_TEST(test_name_ends_at_its_end)
{
	struct kvp_client *b = kvpt_open(&env, OTHER);
	struct kvp_pool_create with = { .mode = 0600, .families = (u64)(uintptr_t)&dense,
					.nr_families = 1 };

	memcpy(with.name, "one\0two", 7);
	ck_assert_int_eq(kvpt_do(a, KVP_OP_POOL_CREATE, &with), 0);
	kvpt_expect(kvpt_pool_create(b, "one", 0600, &dense, 1), -EEXIST, KVP_REASON_NAME);
	kvpt_ok(kvpt_pool_info(a, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_info.name[4], 0);
}
END_TEST

/* ---- families ---- */

START_TEST(test_families_that_can_be)
{
	static const struct kvp_family_desc families[] = {
		KVPT_DENSE(1, 1),
		KVPT_DENSE(1, KVP_MAX_BLOCK_TOKENS),
		KVPT_WINDOW(1, 1, 1),
		KVPT_WINDOW(1, 16, ~0U),
		KVPT_STATE(1),
		{ .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 2,
		  .block_bytes = 1ULL << 61 },
	};
	struct kvp_family_desc many[KVP_MAX_FAMILIES];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(families); i++)
		can_be(&(struct kvp_pool_create){ }, &families[i], 1);
	for (i = 0; i < KVP_MAX_FAMILIES; i++)
		many[i] = dense;
	can_be(&(struct kvp_pool_create){ }, many, KVP_MAX_FAMILIES);
}
END_TEST

static const struct {
	struct kvp_family_desc desc;
	int err;
	u32 reason;
} bad_families[] = {
	{ { .block_tokens = 4, .blocks = 8, .block_bytes = 8 }, -EINVAL, KVP_REASON_FAMILY },
	{ { .kind = 4, .block_tokens = 4, .blocks = 8, .block_bytes = 8 },
	  -EINVAL, KVP_REASON_FAMILY },
	{ { .kind = ~0U, .block_tokens = 4, .blocks = 8, .block_bytes = 8 },
	  -EINVAL, KVP_REASON_FAMILY },
	{ KVPT_DENSE(8, 0), -EINVAL, KVP_REASON_FAMILY },
	{ KVPT_DENSE(8, KVP_MAX_BLOCK_TOKENS + 1), -EINVAL, KVP_REASON_FAMILY },
	{ KVPT_DENSE(8, ~0U), -EINVAL, KVP_REASON_FAMILY },
	{ KVPT_DENSE(0, 4), -EINVAL, KVP_REASON_FAMILY },
	{ KVPT_DENSE(KVP_MAX_BLOCKS + 1ULL, 4), -EOVERFLOW, KVP_REASON_COUNT },
	{ KVPT_DENSE(1ULL << 32, 4), -EOVERFLOW, KVP_REASON_COUNT },
	{ KVPT_DENSE(~0ULL, 4), -EOVERFLOW, KVP_REASON_COUNT },
	{ { .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 8 },
	  -EINVAL, KVP_REASON_FAMILY },
	{ { .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 8, .block_bytes = ~0ULL },
	  -EOVERFLOW, KVP_REASON_COUNT },
	{ { .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 2,
	    .block_bytes = 1ULL << 63 }, -EOVERFLOW, KVP_REASON_COUNT },
	{ { .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 2,
	    .block_bytes = 1ULL << 62 }, -EOVERFLOW, KVP_REASON_COUNT },
	{ { .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 8, .block_bytes = 8,
	    .window = 1 }, -EINVAL, KVP_REASON_FAMILY },
	{ KVPT_WINDOW(8, 4, 0), -EINVAL, KVP_REASON_FAMILY },
	{ { .kind = KVP_FAMILY_STATE, .block_tokens = 2, .blocks = 8, .block_bytes = 8 },
	  -EINVAL, KVP_REASON_FAMILY },
	{ { .kind = KVP_FAMILY_STATE, .block_tokens = 1, .blocks = 8, .block_bytes = 8,
	    .window = 1 }, -EINVAL, KVP_REASON_FAMILY },
	{ { .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 8, .block_bytes = 8,
	    .dtype = KVP_NR_DTYPES }, -EINVAL, KVP_REASON_FAMILY },
	{ { .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 8, .block_bytes = 8,
	    .dtype = ~0U }, -EINVAL, KVP_REASON_FAMILY },
	{ { .name = "sixteen-letters-", .kind = KVP_FAMILY_DENSE, .block_tokens = 4,
	    .blocks = 8, .block_bytes = 8 }, -EINVAL, KVP_REASON_FAMILY },
};

START_TEST(test_families_that_cannot_be)
{
	struct kvp_family_desc families[3] = { dense, dense, dense };
	u32 at;

	for (at = 0; at < 3; at++) {
		families[at] = bad_families[_i].desc;
		cannot_be(&(struct kvp_pool_create){ }, families, 3, bad_families[_i].err,
			  bad_families[_i].reason, at);
		families[at] = dense;
	}
}
END_TEST

START_TEST(test_families_that_are_too_long_together)
{
	struct kvp_family_desc families[3];
	u32 i;

	for (i = 0; i < 3; i++) {
		families[i] = dense;
		families[i].block_bytes = 1ULL << 58;
	}
	can_be(&(struct kvp_pool_create){ }, families, 1);
	cannot_be(&(struct kvp_pool_create){ }, families, 3, -EOVERFLOW, KVP_REASON_COUNT, 1);
}
END_TEST

/* ---- size of the index ---- */

static const u32 at_tokens = offsetof(struct kvp_pool_create, index_tokens);

START_TEST(test_tokens_of_a_node)
{
	struct kvp_family_desc families[] = {
		KVPT_DENSE(8, 12), KVPT_WINDOW(8, 16, 5), KVPT_STATE(8), KVPT_DENSE(8, 6),
	};

	can_be(&(struct kvp_pool_create){ }, families, 4);
	ck_assert_uint_eq(kvpt.pool_info.index_tokens, 48);
	can_be(&(struct kvp_pool_create){ .index_tokens = 48 }, families, 4);
	ck_assert_uint_eq(kvpt.pool_info.index_tokens, 48);
	can_be(&(struct kvp_pool_create){ .index_tokens = 96 }, families, 4);
	ck_assert_uint_eq(kvpt.pool_info.index_tokens, 96);
	/* States alone have nothing to say about it. */
	can_be(&(struct kvp_pool_create){ }, &families[2], 1);
	ck_assert_uint_eq(kvpt.pool_info.index_tokens, 1);
	can_be(&(struct kvp_pool_create){ .index_tokens = 7 }, &families[2], 1);
	ck_assert_uint_eq(kvpt.pool_info.index_tokens, 7);

	cannot_be(&(struct kvp_pool_create){ .index_tokens = 47 }, families, 4, -EINVAL,
		  KVP_REASON_VALUE, at_tokens);
	cannot_be(&(struct kvp_pool_create){ .index_tokens = 24 }, families, 4, -EINVAL,
		  KVP_REASON_VALUE, at_tokens);
	cannot_be(&(struct kvp_pool_create){ .index_tokens = 1 }, families, 4, -EINVAL,
		  KVP_REASON_VALUE, at_tokens);
}
END_TEST

START_TEST(test_tokens_of_a_node_that_are_too_many)
{
	const struct kvp_family_desc wide = KVPT_DENSE(1, KVP_MAX_BLOCK_TOKENS);
	/* Their least common multiple is the product, far beyond 64 bits. */
	const struct kvp_family_desc primes[] = {
		KVPT_DENSE(1, 65521), KVPT_DENSE(1, 65519), KVPT_DENSE(1, 65497),
		KVPT_DENSE(1, 65479), KVPT_DENSE(1, 65449),
	};
	const struct kvp_family_desc state = KVPT_STATE(1);

	can_be(&(struct kvp_pool_create){ .index_tokens = KVP_MAX_CALL_TOKENS, .nodes = 1 },
	       &wide, 1);
	cannot_be(&(struct kvp_pool_create){ .index_tokens = 2 * KVP_MAX_CALL_TOKENS }, &wide,
		  1, -EINVAL, KVP_REASON_VALUE, at_tokens);
	cannot_be(&(struct kvp_pool_create){ .index_tokens = KVP_MAX_CALL_TOKENS + 1 }, &state,
		  1, -EINVAL, KVP_REASON_VALUE, at_tokens);
	cannot_be(&(struct kvp_pool_create){ }, primes, 5, -EINVAL, KVP_REASON_VALUE,
		  at_tokens);
	cannot_be(&(struct kvp_pool_create){ }, primes, 2, -EINVAL, KVP_REASON_VALUE,
		  at_tokens);
}
END_TEST

START_TEST(test_blocks_of_a_node)
{
	const struct kvp_family_desc families[] = { KVPT_DENSE(8, 1), KVPT_DENSE(8, 1) };

	can_be(&(struct kvp_pool_create){ .index_tokens = KVP_MAX_NODE_BLOCKS / 2 }, families,
	       2);
	cannot_be(&(struct kvp_pool_create){ .index_tokens = KVP_MAX_NODE_BLOCKS / 2 + 1 },
		  families, 2, -EINVAL, KVP_REASON_VALUE, at_tokens);
	cannot_be(&(struct kvp_pool_create){ .index_tokens = KVP_MAX_CALL_TOKENS }, families, 1,
		  -EINVAL, KVP_REASON_VALUE, at_tokens);
}
END_TEST

START_TEST(test_number_of_nodes)
{
	const struct kvp_family_desc families[] = { KVPT_DENSE(100, 4), KVPT_DENSE(30, 8),
						    KVPT_DENSE(40, 8), KVPT_WINDOW(10, 4, 4) };
	const struct kvp_family_desc large = KVPT_DENSE(100000, 4);
	const struct kvp_family_desc windows[] = { KVPT_WINDOW(20000, 4, 8),
						   KVPT_WINDOW(10000, 4, 8) };

	/* The smallest dense family, and some for namespaces. */
	can_be(&(struct kvp_pool_create){ }, families, 4);
	ck_assert_uint_eq(kvpt.pool_info.nodes, 30 + 1 + 64);
	can_be(&(struct kvp_pool_create){ }, &large, 1);
	ck_assert_uint_eq(kvpt.pool_info.nodes, 100000 + 4096);
	/* Tokens of which no row is kept need nodes still. */
	can_be(&(struct kvp_pool_create){ }, windows, 1);
	ck_assert_uint_eq(kvpt.pool_info.nodes, 80000 + 4096);
	can_be(&(struct kvp_pool_create){ }, &windows[1], 1);
	ck_assert_uint_eq(kvpt.pool_info.nodes, 65536 + 4096);
	can_be(&(struct kvp_pool_create){ }, windows, 2);
	ck_assert_uint_eq(kvpt.pool_info.nodes, 120000 + 4096);
	can_be(&(struct kvp_pool_create){ .nodes = 3 }, families, 4);
	ck_assert_uint_eq(kvpt.pool_info.nodes, 3);
}
END_TEST

START_TEST(test_number_of_digests)
{
	kvpt_ok(create_with(a, &(struct kvp_pool_create){ .nodes = 160 }, &dense, 1));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras, 160 / 16 + 64);
	kvpt_close(&env, a);
	a = kvpt_open(&env, KVPT_OWNER);
	kvpt_ok(create_with(a, &(struct kvp_pool_create){ .extras = 1 }, &dense, 1));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras, 1);
}
END_TEST

START_TEST(test_absurd_sizes)
{
	const struct kvp_family_desc wide = KVPT_DENSE(KVP_MAX_BLOCKS, KVP_MAX_BLOCK_TOKENS);
	const u64 nodes[] = { 1 << 26, 1ULL << 32, ~0ULL };
	const u64 extras[] = { (1 << 24) + 1, 1ULL << 32, ~0ULL };
	u32 i;

	for (i = 0; i < 3; i++) {
		cannot_be(&(struct kvp_pool_create){ .nodes = nodes[i] }, &dense, 1, -EOVERFLOW,
			  KVP_REASON_COUNT, offsetof(struct kvp_pool_create, nodes));
		cannot_be(&(struct kvp_pool_create){ .extras = extras[i] }, &dense, 1,
			  -EOVERFLOW, KVP_REASON_COUNT,
			  offsetof(struct kvp_pool_create, extras));
	}
	/* Each within its limit, all together terabytes of token ids. */
	cannot_be(&(struct kvp_pool_create){ }, &wide, 1, -EOVERFLOW, KVP_REASON_COUNT, 0);
	cannot_be(&(struct kvp_pool_create){ .nodes = (1 << 26) - 1, .index_tokens = 1 << 20 },
		  &(struct kvp_family_desc)KVPT_STATE(KVP_MAX_BLOCKS), 1, -EOVERFLOW,
		  KVP_REASON_COUNT, 0);
}
END_TEST

START_TEST(test_nodes_that_the_blocks_cannot_use)
{
	const struct kvp_family_desc few = KVPT_DENSE(8, 1);
	const struct kvp_family_desc many[] = { KVPT_DENSE(200000, 1), KVPT_STATE(100000) };
	const u32 at = offsetof(struct kvp_pool_create, nodes);

	/* A slip of the hand takes no gigabytes for a pool of some blocks. */
	can_be(&(struct kvp_pool_create){ .nodes = 1 << 20 }, &few, 1);
	cannot_be(&(struct kvp_pool_create){ .nodes = (1 << 20) + 1 }, &few, 1, -EOVERFLOW,
		  KVP_REASON_COUNT, at);
	cannot_be(&(struct kvp_pool_create){ .nodes = (1 << 26) - 1 }, &few, 1, -EOVERFLOW,
		  KVP_REASON_COUNT, at);
	can_be(&(struct kvp_pool_create){ .nodes = 1200000 }, many, 2);
	ck_assert_uint_eq(kvpt.pool_info.nodes, 1200000);
	cannot_be(&(struct kvp_pool_create){ .nodes = 1200001 }, many, 2, -EOVERFLOW,
		  KVP_REASON_COUNT, at);
}
END_TEST

START_TEST(test_mode_and_policy)
{
	u32 bit;

	for (bit = 9; bit < 32; bit++)
		cannot_be(&(struct kvp_pool_create){ .mode = 0600 | 1U << bit }, &dense, 1,
			  -EINVAL, KVP_REASON_VALUE, offsetof(struct kvp_pool_create, mode));
	for (bit = 0; bit < 32; bit++)
		cannot_be(&(struct kvp_pool_create){ .policy = 1U << bit }, &dense, 1, -EINVAL,
			  KVP_REASON_VALUE, offsetof(struct kvp_pool_create, policy));
	can_be(&(struct kvp_pool_create){ .mode = 0777 }, &dense, 1);
	ck_assert_uint_eq(kvpt.pool_info.mode, 0777);
}
END_TEST

/* Each allocation fails once: nothing is left behind. */
START_TEST(test_create_without_memory)
{
	const struct kvp_family_desc families[] = { KVPT_DENSE(16, 4), KVPT_WINDOW(16, 4, 4) };
	int nr;

	for (nr = 1; ; nr++) {
		kvp_shim_fail_alloc = nr;
		if (!create_with(a, &(struct kvp_pool_create){ }, families, 2))
			break;
		ck_assert_int_eq(kvp_shim_fail_alloc, 0);
		cannot_be(&(struct kvp_pool_create){ .policy = 1 }, families, 2, -EINVAL,
			  KVP_REASON_VALUE, offsetof(struct kvp_pool_create, policy));
		kvp_shim_fail_alloc = nr;
		cannot_be(&(struct kvp_pool_create){ }, families, 2, -ENOMEM,
			  KVP_REASON_MEMORY, 0);
	}
	kvp_shim_fail_alloc = 0;
	/*
	 * Pool, page, users, accounts, two families, nodes, tokens, parts, buckets, digests, the
	 * account, its user.
	 */
	ck_assert_int_eq(nr, 14);
	kvpt_audit_clean(a);
}
END_TEST

/* ---- the end of a pool ---- */

START_TEST(test_pool_ends_with_its_last_client)
{
	struct kvp_client *b = kvpt_open(&env, OTHER);

	kvpt_ok(kvpt_pool_create(a, "p", 0666, &dense, 1));
	kvpt_ok(kvpt_pool_attach(b, "p", 0));
	kvpt_close(&env, a);
	kvpt_ok(kvpt_pool_info(b, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_info.nr_clients, 1);
	kvpt_close(&env, b);
	b = kvpt_open(&env, OTHER);
	kvpt_expect(kvpt_pool_attach(b, "p", 0), -ENOENT, KVP_REASON_NO_POOL);
	kvpt_ok(kvpt_pool_create(b, "p", 0666, &dense, 1));
	ck_assert_uint_eq(kvpt.pool_create.pool, 2);
}
END_TEST

START_TEST(test_persistent_pool)
{
	struct kvp_client *c = open_as(KVPT_OWNER, 5, false, true);
	u32 tok[8];

	kvpt_tokens(tok, 8, 1);
	cannot_be(&(struct kvp_pool_create){ .head.flags = KVP_POOL_PERSISTENT }, &dense, 1,
		  -EPERM, KVP_REASON_PERSISTENT, 0);
	kvpt_ok(create_with(c, &(struct kvp_pool_create){
		.head.flags = KVP_POOL_PERSISTENT, .mode = 0666 }, &dense, 1));
	kvpt_ok(kvpt_make_published(c, 1, tok, 8));
	kvpt_close(&env, c);

	/* What was published is there for those who come later. */
	kvpt_ok(kvpt_pool_attach(a, "p", 0));
	ck_assert_uint_eq(kvpt.pool_attach.client, 2);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
	kvpt_ok(kvpt_pool_info(a, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_info.pool_flags, KVP_POOL_PERSISTENT);
	kvpt_audit_clean(a);
	kvpt_close(&env, a);
	/* It ends by name, or with its host. */
	a = kvpt_open(&env, KVPT_OWNER);
	kvpt_ok(kvpt_pool_destroy(a, "p", 0));
	kvpt_expect(kvpt_pool_attach(a, "p", 0), -ENOENT, KVP_REASON_NO_POOL);
	c = open_as(KVPT_OWNER, 5, false, true);
	kvpt_ok(create_with(c, &(struct kvp_pool_create){ .head.flags = KVP_POOL_PERSISTENT },
			    &dense, 1));
}
END_TEST

START_TEST(test_persistent_pool_destroyed_while_in_use)
{
	struct kvp_client *c = open_as(KVPT_OWNER, 5, false, true);

	kvpt_ok(create_with(c, &(struct kvp_pool_create){ .head.flags = KVP_POOL_PERSISTENT },
			    &dense, 1));
	kvpt_ok(kvpt_pool_destroy(a, "p", KVP_DESTROY_FORCE));
	kvpt_ok(create_with(a, &(struct kvp_pool_create){ }, &dense, 1));
	/* Its memory goes now; the other pool of the name stays. */
	kvpt_close(&env, c);
	kvpt_ok(kvpt_pool_info(a, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_info.pool, 2);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pool");
	TCase *create = tcase_create("create");
	TCase *sizes = tcase_create("sizes");
	TCase *ends = tcase_create("ends");

	tcase_add_checked_fixture(create, setup, teardown);
	tcase_add_test(create, test_create);
	tcase_add_test(create, test_pools_apart);
	tcase_add_test(create, test_names_that_can_be);
	tcase_add_test(create, test_names_that_cannot_be);
	tcase_add_test(create, test_name_is_taken);
	tcase_add_test(create, test_name_ends_at_its_end);
	tcase_add_test(create, test_families_that_can_be);
	tcase_add_loop_test(create, test_families_that_cannot_be, 0,
			    (int)ARRAY_SIZE(bad_families));
	tcase_add_test(create, test_families_that_are_too_long_together);
	tcase_add_test(create, test_mode_and_policy);
	tcase_add_test(create, test_create_without_memory);
	suite_add_tcase(s, create);

	tcase_add_checked_fixture(sizes, setup, teardown);
	tcase_add_test(sizes, test_tokens_of_a_node);
	tcase_add_test(sizes, test_tokens_of_a_node_that_are_too_many);
	tcase_add_test(sizes, test_blocks_of_a_node);
	tcase_add_test(sizes, test_number_of_nodes);
	tcase_add_test(sizes, test_number_of_digests);
	tcase_add_test(sizes, test_absurd_sizes);
	tcase_add_test(sizes, test_nodes_that_the_blocks_cannot_use);
	suite_add_tcase(s, sizes);

	tcase_add_checked_fixture(ends, setup, teardown);
	tcase_add_test(ends, test_pool_ends_with_its_last_client);
	tcase_add_test(ends, test_persistent_pool);
	tcase_add_test(ends, test_persistent_pool_destroyed_while_in_use);
	suite_add_tcase(s, ends);
	return s;
}

int main(void)
{
	setenv("CK_FORK", "no", 0);
	return kvpt_run(suite());
}

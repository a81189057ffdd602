// SPDX-License-Identifier: MIT
/*
 * What a pool is, through kvpool.h: descriptions, lists, names, backings, versions; and each
 * error that these functions document.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pools.h"

static struct kvp_pool *pool;

static void setup(void)
{
	pool = kvpr_open("inproc:api?family=kv,dense,8,4,16&family=near,window,6,4,8,9"
			 "&family=mamba,state,3,1,100");
}

static void teardown(void)
{
	kvpr_sound(pool);
	kvp_pool_close(pool);
}

/* ---- one pool ---- */

START_TEST(test_version)
{
	ck_assert_str_eq(kvp_version(), KVP_VERSION);
}
END_TEST

START_TEST(test_abi)
{
	struct kvp_abi abi = { .slice = 77 };

	kvpr_expect(kvp_pool_abi(pool, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_ok(kvp_pool_abi(pool, &abi));
	ck_assert_uint_eq(abi.max_families, KVP_MAX_FAMILIES);
	ck_assert(abi.features & KVP_FEATURE_SEQ);
	ck_assert_uint_ne(abi.slice, 77);
}
END_TEST

START_TEST(test_info)
{
	struct kvp_pool_info info, again;
	struct kvp_pool *other;

	kvpr_expect(kvp_pool_get_info(pool, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_ok(kvp_pool_get_info(pool, &info));
	ck_assert_str_eq(info.name, "api");
	ck_assert_str_eq(kvp_pool_name(pool), "api");
	ck_assert_uint_eq(info.families, 0);
	ck_assert_uint_eq(info.nr_families, 3);
	ck_assert_uint_eq(info.index_tokens, 4);
	ck_assert_uint_eq(info.mode, 0600);
	ck_assert_uint_eq(info.policy, KVP_RECLAIM_LRU);
	ck_assert_uint_eq(info.uid, geteuid());
	ck_assert_uint_eq(info.rights, KVP_RIGHT_ALL);
	ck_assert_uint_eq(info.nr_clients, 1);
	ck_assert_uint_eq(info.nr_backings, 3);

	other = kvpr_open("inproc:api");
	kvpr_ok(kvp_pool_get_info(other, &again));
	ck_assert_uint_eq(again.pool, info.pool);
	ck_assert_uint_ne(again.client, info.client);
	ck_assert_uint_eq(again.nr_clients, 2);
	kvp_pool_close(other);
	kvpr_ok(kvp_pool_destroy(pool, 0));
	again.mode = 77;
	kvpr_expect(kvp_pool_get_info(pool, &again), -EIO, KVP_REASON_DESTROYED);
	ck_assert_uint_eq(again.mode, 77);
	kvp_pool_close(pool);
	setup();
}
END_TEST

START_TEST(test_find_family)
{
	uint32_t family = 77;

	kvpr_ok(kvp_pool_find_family(pool, "near", &family));
	ck_assert_uint_eq(family, 1);
	kvpr_ok(kvp_pool_find_family(pool, "mamba", &family));
	ck_assert_uint_eq(family, 2);
	kvpr_expect(kvp_pool_find_family(pool, "nea", &family), -ENOENT, KVP_REASON_FAMILY);
	kvpr_says("\"nea\"");
	kvpr_expect(kvp_pool_find_family(pool, "", &family), -ENOENT, KVP_REASON_FAMILY);
	kvpr_expect(kvp_pool_find_family(pool, NULL, &family), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_pool_find_family(pool, "kv", NULL), -EINVAL, KVP_REASON_POINTER);
	ck_assert_uint_eq(family, 2);
}
END_TEST

START_TEST(test_max_copies)
{
	struct kvp_pool *wide = kvpr_open("inproc:wide?blocks=64&block_tokens=2&index_tokens=64");

	ck_assert_uint_eq(kvp_pool_max_copies(pool), 3);
	ck_assert_uint_eq(kvp_pool_max_copies(wide), 32);
	kvp_pool_close(wide);
}
END_TEST

/* ---- a pool like another ---- */

START_TEST(test_description_makes_a_pool_that_is_alike)
{
	static const struct kvp_family_config families[2] = {
		{ .name = "kv", .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 8,
		  .row_bytes = 16 },
		{ .name = "near", .kind = KVP_FAMILY_WINDOW, .block_tokens = 8, .blocks = 6,
		  .row_bytes = 24, .window = 9 },
	};
	const struct kvp_pool_config config = {
		.families = families,
		.nr_families = 2,
		.index_tokens = 16,
		.mode = 0640,
		.flags = KVP_POOL_PERSISTENT,
		.nodes = 20,
		.extras = 5,
		.grace_ms = 77,
	};
	struct kvp_family_config got_families[3];
	struct kvp_pool_config got;
	struct kvp_pool_info info;
	struct kvp_pool *a, *b;
	struct kvp_stats stats;
	int round;

	kvpr_ok(kvp_pool_create("inproc:model", &config, &a));
	for (round = 0; round < 2; round++) {
		memset(got_families, 0xa5, sizeof(got_families));
		kvpr_ok(kvp_pool_describe(a, &got, got_families, 3));
		ck_assert_ptr_eq(got.families, got_families);
		ck_assert_uint_eq(got.nr_families, 2);
		ck_assert_uint_eq(got.index_tokens, 16);
		ck_assert_uint_eq(got.mode, 0640);
		ck_assert_uint_eq(got.flags, KVP_POOL_PERSISTENT);
		ck_assert_uint_eq(got.policy, KVP_RECLAIM_LRU);
		ck_assert_uint_eq(got.nodes, 20);
		ck_assert_uint_eq(got.extras, 5);
		ck_assert_uint_eq(got.grace_ms, 77);
		ck_assert_str_eq(got_families[0].name, "kv");
		ck_assert_int_eq(got_families[0].kind, KVP_FAMILY_DENSE);
		ck_assert_uint_eq(got_families[0].block_tokens, 4);
		ck_assert_uint_eq(got_families[0].blocks, 8);
		ck_assert_uint_eq(got_families[0].row_bytes, 16);
		ck_assert_uint_eq(got_families[0].window, 0);
		ck_assert_str_eq(got_families[1].name, "near");
		ck_assert_int_eq(got_families[1].kind, KVP_FAMILY_WINDOW);
		ck_assert_uint_eq(got_families[1].block_tokens, 8);
		ck_assert_uint_eq(got_families[1].blocks, 6);
		ck_assert_uint_eq(got_families[1].row_bytes, 24);
		ck_assert_uint_eq(got_families[1].window, 9);

		/* The second round looks at what the description of the first one made. */
		kvpr_ok(kvp_pool_stats(a, 0, &stats, NULL, 0));
		ck_assert_uint_eq(stats.extras, 5);
		kvpr_ok(kvp_pool_get_info(a, &info));
		ck_assert_uint_eq(info.nodes, 20);
		kvpr_ok(kvp_pool_create(round ? "inproc:model3" : "inproc:model2", &got, &b));
		kvpr_ok(kvp_pool_destroy(a, 0));
		kvp_pool_close(a);
		a = b;
	}
	kvpr_ok(kvp_pool_destroy(a, 0));
	kvp_pool_close(a);
}
END_TEST

START_TEST(test_description_that_cannot_be_had)
{
	struct kvp_pool_config config = { .mode = 77 };
	struct kvp_family_config families[3];
	struct kvp_pool *publisher;

	kvpr_expect(kvp_pool_describe(pool, NULL, families, 3), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_pool_describe(pool, &config, NULL, 3), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_pool_describe(pool, &config, families, 2), -EOVERFLOW,
		    KVP_REASON_COUNT);
	ck_assert_uint_eq(kvp_error()->where, 3);
	kvpr_says("expected 3");
	publisher = kvpr_open("inproc:api?rights=publish");
	kvpr_expect(kvp_pool_describe(publisher, &config, families, 3), -EACCES,
		    KVP_REASON_RIGHT_USE);
	kvp_pool_close(publisher);
	ck_assert_uint_eq(config.mode, 77);
}
END_TEST

/* What the core refuses by its place in a struct, the error names. */
START_TEST(test_numbers_that_cannot_be)
{
	struct kvp_family_config families[3];
	struct kvp_pool *made = NULL;
	struct kvp_pool_config config;

	kvpr_ok(kvp_pool_describe(pool, &config, families, 3));
	config.policy = 9;
	kvpr_expect(kvp_pool_create("inproc:odd", &config, &made), -EINVAL, KVP_REASON_VALUE);
	kvpr_says("pool odd: policy 9: expected KVP_RECLAIM_LRU");
	config.policy = KVP_RECLAIM_LRU;
	config.nodes = 1ULL << 40;
	kvpr_expect(kvp_pool_create("inproc:odd", &config, &made), -EOVERFLOW, KVP_REASON_COUNT);
	kvpr_says("pool odd: nodes 1099511627776: expected up to 2^20");
	config.nodes = 0;
	config.extras = 1ULL << 40;
	kvpr_expect(kvp_pool_create("inproc:odd", &config, &made), -EOVERFLOW, KVP_REASON_COUNT);
	kvpr_says("pool odd: extras 1099511627776: expected fewer");
	config.extras = 0;
	config.grace_ms = 3600001;
	kvpr_expect(kvp_pool_create("inproc:odd", &config, &made), -EINVAL, KVP_REASON_VALUE);
	kvpr_says("pool odd: grace_ms 3600001: expected up to 3600000");
	config.grace_ms = 1;
	config.flags = KVP_POOL_STRICT;
	kvpr_expect(kvp_pool_create("inproc:odd", &config, &made), -EINVAL, KVP_REASON_VALUE);
	kvpr_says("pool odd: grace_ms 1: expected up to 3600000, and 0 where the pool is strict");
	config.flags = 0;
	config.grace_ms = 0;
	config.mode = 01777;
	kvpr_expect(kvp_pool_create("inproc:odd", &config, &made), -EINVAL, KVP_REASON_VALUE);
	kvpr_says("pool odd: mode 1023: expected permission bits");
	config.mode = 0;
	config.index_tokens = 5;
	kvpr_expect(kvp_pool_create("inproc:odd", &config, &made), -EINVAL, KVP_REASON_VALUE);
	kvpr_says("pool odd: index_tokens 5: expected a multiple of each block_tokens");
	config.index_tokens = 0;
	families[1].dtype = KVP_NR_DTYPES;
	kvpr_expect(kvp_pool_create("inproc:odd", &config, &made), -EINVAL, KVP_REASON_FAMILY);
	kvpr_says("pool odd: family 1: kind");
	kvpr_says("dtype 8: expected");
	ck_assert_uint_eq(kvp_error()->where, 1);
	families[1].dtype = KVP_DTYPE_NONE;
	families[2].row_bytes = 1ULL << 62;
	kvpr_expect(kvp_pool_create("inproc:odd", &config, &made), -EOVERFLOW, KVP_REASON_COUNT);
	kvpr_says("pool odd: family 2: 3 blocks of 4611686018427387904 bytes: expected up to");
	ck_assert_uint_eq(kvp_error()->where, 2);
	ck_assert_ptr_null(made);
}
END_TEST

/* Opening a pool first looks whether it is there: that is no error of the caller's. */
START_TEST(test_open_that_makes_it_leaves_the_error_alone)
{
	struct kvp_pool *made;

	kvpr_expect(kvp_seq_free(pool, 99), -ENOENT, KVP_REASON_NO_SEQ);
	kvpr_ok(kvp_pool_open("inproc:left-alone?blocks=4", &made));
	ck_assert_int_eq(kvp_error()->err, -ENOENT);
	ck_assert_uint_eq(kvp_error()->reason, KVP_REASON_NO_SEQ);
	kvpr_says("seq-free: ENOENT");
	kvp_pool_close(made);
}
END_TEST

START_TEST(test_text_of_errno_that_has_no_opposite)
{
	ck_assert_str_eq(kvp_strerror(INT_MIN, 0), "unknown error");
	ck_assert_str_eq(kvp_strerror(INT_MAX, 0), "unknown error");
}
END_TEST

/* Which count it was is said where the core says it. */
START_TEST(test_count_says_where)
{
	uint64_t nodes = 0, blocks[1];

	kvpr_expect(kvp_blocks_alloc(pool, 0, blocks, 0), -EINVAL, KVP_REASON_COUNT);
	ck_assert_uint_eq(kvp_error()->where, offsetof(struct kvp_block_alloc, nr));
	kvpr_says("limit (at byte 24 of the struct)");
	kvpr_expect(kvp_pool_reclaim(pool, &nodes), -EINVAL, KVP_REASON_COUNT);
	ck_assert_uint_eq(kvp_error()->where, 0);
	ck_assert_ptr_null(strstr(kvp_error()->text, "at byte"));
}
END_TEST

/* ---- all pools ---- */

/* Index of the pool in a list; fails the test where it is not there. */
static uint32_t find(const struct kvp_pool_entry *pools, uint32_t nr, const char *name)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(pools[i].name, name))
			return i;
	ck_abort_msg("no pool %s in the list", name);
}

START_TEST(test_list)
{
	struct kvp_pool *more = kvpr_open("inproc:more?blocks=4");
	struct kvp_pool *again = kvpr_open("inproc:more");
	struct kvp_pool_entry pools[4];
	uint32_t nr = 4, total = 77, at;

	kvpr_ok(kvp_pool_list(KVP_DOOR_INPROC, pools, &nr, &total));
	ck_assert_uint_eq(nr, 2);
	ck_assert_uint_eq(total, 2);
	at = find(pools, nr, "more");
	ck_assert_uint_eq(pools[at].nr_clients, 2);
	ck_assert_uint_eq(pools[at].nr_families, 1);
	ck_assert_uint_eq(pools[at].mode, 0600);
	ck_assert_uint_eq(pools[at].uid, geteuid());
	at = find(pools, nr, "api");
	ck_assert_uint_eq(pools[at].nr_clients, 1);
	ck_assert_uint_eq(pools[at].nr_families, 3);

	/* Room for fewer, or none: the total says how many there are. */
	nr = 1;
	kvpr_ok(kvp_pool_list(KVP_DOOR_INPROC, pools, &nr, &total));
	ck_assert_uint_eq(nr, 1);
	ck_assert_uint_eq(total, 2);
	nr = 0;
	kvpr_ok(kvp_pool_list(KVP_DOOR_INPROC, NULL, &nr, &total));
	ck_assert_uint_eq(nr, 0);
	ck_assert_uint_eq(total, 2);
	nr = 4;
	kvpr_ok(kvp_pool_list(KVP_DOOR_INPROC, pools, &nr, NULL));
	ck_assert_uint_eq(nr, 2);
	kvpr_expect(kvp_pool_list(KVP_DOOR_INPROC, pools, NULL, &total), -EINVAL,
		    KVP_REASON_POINTER);
	kvpr_expect(kvp_pool_list(77, pools, &nr, &total), -EINVAL, KVP_REASON_DOOR);
	nr = 4;
	kvpr_expect(kvp_pool_list(KVP_DOOR_INPROC, NULL, &nr, &total), -EFAULT,
		    KVP_REASON_POINTER);
	ck_assert_uint_eq(nr, 4);
	kvp_pool_close(again);
	kvp_pool_close(more);
}
END_TEST

START_TEST(test_destroy_by_name)
{
	static const struct kvp_family_config family = {
		.kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 4, .row_bytes = 8,
	};
	const struct kvp_pool_config config = {
		.families = &family, .nr_families = 1, .flags = KVP_POOL_PERSISTENT,
	};
	char longest[KVP_NAME_LEN + 1];
	struct kvp_pool *made;
	uint32_t nr = 0, total;

	kvpr_ok(kvp_pool_create("inproc:left", &config, &made));
	kvpr_expect(kvp_pool_destroy_name("inproc:left", 0), -EBUSY, KVP_REASON_POOL_IN_USE);
	kvp_pool_close(made);
	kvpr_ok(kvp_pool_list(KVP_DOOR_INPROC, NULL, &nr, &total));
	ck_assert_uint_eq(total, 2);
	kvpr_expect(kvp_pool_destroy_name("inproc:left", 1U << 30), -EINVAL, KVP_REASON_FLAG);
	kvpr_ok(kvp_pool_destroy_name("inproc:left", 0));
	kvpr_ok(kvp_pool_list(KVP_DOOR_INPROC, NULL, &nr, &total));
	ck_assert_uint_eq(total, 1);

	kvpr_expect(kvp_pool_destroy_name("inproc:left", 0), -ENOENT, KVP_REASON_NO_POOL);
	kvpr_expect(kvp_pool_destroy_name("inproc:a/b", 0), -EINVAL, KVP_REASON_NAME);
	kvpr_expect(kvp_pool_destroy_name("", 0), -EINVAL, KVP_REASON_NAME);
	kvpr_expect(kvp_pool_destroy_name("inproc:", 0), -EINVAL, KVP_REASON_NAME);
	kvpr_expect(kvp_pool_destroy_name("file:left", 0), -EINVAL, KVP_REASON_VALUE);
	kvpr_expect(kvp_pool_destroy_name(NULL, 0), -EINVAL, KVP_REASON_POINTER);
	memset(longest, 'x', KVP_NAME_LEN);
	longest[KVP_NAME_LEN] = '\0';
	kvpr_expect(kvp_pool_destroy_name(longest, 0), -EINVAL, KVP_REASON_NAME);
	kvpr_says("1 to 63");

	/* Of others too, where it is forced. */
	kvpr_ok(kvp_pool_create("inproc:left", &config, &made));
	kvpr_ok(kvp_pool_destroy_name("inproc:left", KVP_DESTROY_FORCE));
	kvpr_expect(kvp_pool_destroy(made, 0), -EIO, KVP_REASON_DESTROYED);
	kvp_pool_close(made);
}
END_TEST

/* ---- backings ---- */

START_TEST(test_backing_of_a_family_has_its_bytes)
{
	struct kvp_backing backing = { 0 };
	uint64_t block;
	uint8_t *own;
	struct stat stat;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		kvpr_ok(kvp_backing_get(pool, i, &backing));
		ck_assert_uint_eq(backing.label, i);
		ck_assert_uint_eq(backing.kind, KVP_BACKING_MEMFD);
		ck_assert_int_eq(fstat(backing.fd, &stat), 0);
		ck_assert_uint_eq(backing.length, (uint64_t)stat.st_size);
		ck_assert_int_eq(fcntl(backing.fd, F_GETFD), FD_CLOEXEC);
		close(backing.fd);
	}
	kvpr_ok(kvp_blocks_alloc(pool, 0, &block, 1));
	memset(kvp_block_data(pool, block), 0x5a, 64);
	kvpr_ok(kvp_backing_get(pool, 0, &backing));
	own = mmap(NULL, backing.length, PROT_READ, MAP_SHARED, backing.fd, 0);
	ck_assert_ptr_ne(own, MAP_FAILED);
	ck_assert_mem_eq(own + KVP_BLOCK_INDEX(block) * 64, kvp_block_data(pool, block), 64);
	munmap(own, backing.length);
	close(backing.fd);
	kvpr_ok(kvp_blocks_unref(pool, &block, 1));
}
END_TEST

static int sealed(uint64_t length, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)length), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

START_TEST(test_backings_that_are_added)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int good = sealed(8192, seals), bad = sealed(8192, F_SEAL_SHRINK);
	struct kvp_backing backing = { .fd = -77 };
	struct kvp_pool *user;
	uint32_t index = 77;

	kvpr_expect(kvp_backing_get(pool, 3, &backing), -ENOENT, KVP_REASON_NO_BACKING);
	kvpr_expect(kvp_backing_get(pool, 0, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_backing_add(pool, bad, 8192, 5, &index), -EKEYREJECTED, KVP_REASON_SEAL);
	kvpr_expect(kvp_backing_add(pool, good, 4096, 5, &index), -EKEYREJECTED,
		    KVP_REASON_SEAL);
	kvpr_expect(kvp_backing_add(pool, -1, 8192, 5, &index), -EBADF, KVP_REASON_NONE);
	ck_assert_int_eq(backing.fd, -77);
	ck_assert_uint_eq(index, 77);

	kvpr_ok(kvp_backing_add(pool, good, 8192, 5, &index));
	ck_assert_uint_eq(index, 3);
	kvpr_ok(kvp_backing_add(pool, good, 8192, 6, NULL));
	ck_assert_int_ge(fcntl(good, F_GETFD), 0);	/* still the caller's */

	user = kvpr_open("inproc:api?rights=use");
	kvpr_ok(kvp_backing_get(user, 4, &backing));
	ck_assert_uint_eq(backing.label, 6);
	ck_assert_uint_eq(backing.length, 8192);
	close(backing.fd);
	kvpr_expect(kvp_backing_add(user, good, 8192, 5, &index), -EACCES,
		    KVP_REASON_RIGHT_ADMIN);
	kvp_pool_close(user);
	close(good);
	close(bad);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("api: pools");
	TCase *tc = tcase_create("pools");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_version);
	tcase_add_test(tc, test_abi);
	tcase_add_test(tc, test_info);
	tcase_add_test(tc, test_find_family);
	tcase_add_test(tc, test_max_copies);
	tcase_add_test(tc, test_description_makes_a_pool_that_is_alike);
	tcase_add_test(tc, test_description_that_cannot_be_had);
	tcase_add_test(tc, test_numbers_that_cannot_be);
	tcase_add_test(tc, test_open_that_makes_it_leaves_the_error_alone);
	tcase_add_test(tc, test_text_of_errno_that_has_no_opposite);
	tcase_add_test(tc, test_count_says_where);
	tcase_add_test(tc, test_list);
	tcase_add_test(tc, test_destroy_by_name);
	tcase_add_test(tc, test_backing_of_a_family_has_its_bytes);
	tcase_add_test(tc, test_backings_that_are_added);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

// SPDX-License-Identifier: MIT
/*
 * Which door a name means, and what is said where there is no device. Needs none: KVPOOL_DEVICE
 * names what is none.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pools.h"

#define NOWHERE	"/nonexistent/kvpool"

static void setup(void)
{
	setenv("KVPOOL_DEVICE", NOWHERE, 1);
	unsetenv("KVPOOL_DOOR");
}

static void teardown(void)
{
	unsetenv("KVPOOL_DEVICE");
	unsetenv("KVPOOL_DOOR");
}

/* There is no device, and the error says which, and what to do. */
static void expect_no_device(int err, struct kvp_pool *pool)
{
	ck_assert_int_eq(err, -EOPNOTSUPP);
	ck_assert_int_eq(kvp_error()->err, -EOPNOTSUPP);
	ck_assert_uint_eq(kvp_error()->reason, KVP_REASON_DOOR);
	kvpr_says(NOWHERE);
	kvpr_says("expected the module kvpool to be loaded, or inproc:NAME");
	ck_assert_ptr_null(pool);
}

START_TEST(test_no_device)
{
	static const struct kvp_family_config family = {
		.kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 4, .row_bytes = 8,
	};
	const struct kvp_pool_config config = { .families = &family, .nr_families = 1 };
	static const char *const doors[] = { NULL, "", "dev" };
	struct kvp_pool *pool = NULL;
	struct kvp_abi abi = { .slice = 77 };
	uint32_t nr = 0, total = 77;

	if (doors[_i])
		setenv("KVPOOL_DOOR", doors[_i], 1);
	expect_no_device(kvp_pool_open("door", &pool), pool);
	kvpr_says("pool door: there is no device");
	expect_no_device(kvp_pool_open("door?blocks=4", &pool), pool);
	expect_no_device(kvp_pool_open("dev:door", &pool), pool);
	expect_no_device(kvp_pool_open("dev:door?blocks=4&rights=use", &pool), pool);
	expect_no_device(kvp_pool_create("door", &config, &pool), pool);
	expect_no_device(kvp_pool_create("dev:door", &config, &pool), pool);
	expect_no_device(kvp_pool_destroy_name("door", 0), NULL);
	expect_no_device(kvp_pool_list(KVP_DOOR_DEFAULT, NULL, &nr, &total), NULL);
	expect_no_device(kvp_pool_list(KVP_DOOR_DEVICE, NULL, &nr, &total), NULL);
	expect_no_device(kvp_door_abi(KVP_DOOR_DEFAULT, &abi), NULL);
	expect_no_device(kvp_door_abi(KVP_DOOR_DEVICE, &abi), NULL);
	ck_assert_uint_eq(abi.slice, 77);
	ck_assert_uint_eq(total, 77);

	/* A pool of that name in the process is none of the device's. */
	pool = kvpr_open("inproc:door?blocks=4");
	ck_assert_int_eq(kvp_pool_open("door", &pool), -EOPNOTSUPP);
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_default_in_process)
{
	static const struct kvp_family_config family = {
		.kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 4, .row_bytes = 8,
	};
	const struct kvp_pool_config config = {
		.families = &family, .nr_families = 1, .flags = KVP_POOL_PERSISTENT,
	};
	struct kvp_pool *pool, *same;
	struct kvp_pool_entry entry;
	struct kvp_abi abi = { 0 };
	uint32_t nr = 1, total = 0;

	setenv("KVPOOL_DOOR", "inproc", 1);
	pool = kvpr_open("door?blocks=4");
	ck_assert_int_eq(kvp_pool_door(pool), KVP_DOOR_INPROC);
	ck_assert_str_eq(kvp_pool_name(pool), "door");
	same = kvpr_open("inproc:door");
	kvpr_ok(kvp_pool_list(KVP_DOOR_DEFAULT, &entry, &nr, &total));
	ck_assert_uint_eq(total, 1);
	ck_assert_str_eq(entry.name, "door");
	kvp_pool_close(same);
	kvp_pool_close(pool);

	kvpr_ok(kvp_pool_create("door", &config, &pool));
	kvp_pool_close(pool);
	kvpr_ok(kvp_pool_destroy_name("door", 0));
	kvpr_ok(kvp_door_abi(KVP_DOOR_DEFAULT, &abi));
	ck_assert(abi.features & KVP_FEATURE_SEQ);
	/* Who asks for the device gets no other. */
	pool = NULL;
	expect_no_device(kvp_pool_open("dev:door?blocks=4", &pool), pool);
}
END_TEST

START_TEST(test_unknown_default)
{
	static const char *const words[] = { "device", "INPROC", "inproc ", "0" };
	struct kvp_pool *pool = NULL;
	struct kvp_abi abi;

	setenv("KVPOOL_DOOR", words[_i], 1);
	kvpr_expect(kvp_pool_open("door?blocks=4", &pool), -EINVAL, KVP_REASON_DOOR);
	kvpr_says("KVPOOL_DOOR=");
	kvpr_says(words[_i]);
	kvpr_says("expected dev or inproc");
	kvpr_expect(kvp_door_abi(KVP_DOOR_DEFAULT, &abi), -EINVAL, KVP_REASON_DOOR);
	ck_assert_ptr_null(pool);
	/* Whose name says its door does not care. */
	kvp_pool_close(kvpr_open("inproc:door?blocks=4"));
}
END_TEST

START_TEST(test_what_is_no_device_of_ours)
{
	char path[] = "/tmp/kvpool-door-XXXXXX";
	struct kvp_pool *pool = NULL;
	int fd;

	setenv("KVPOOL_DEVICE", "/dev/null", 1);
	kvpr_expect(kvp_pool_open("dev:door", &pool), -EOPNOTSUPP, KVP_REASON_DOOR);
	kvpr_says("/dev/null (it does not answer as kvpool does)");

	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	setenv("KVPOOL_DEVICE", path, 1);
	kvpr_expect(kvp_pool_open("dev:door", &pool), -EOPNOTSUPP, KVP_REASON_DOOR);
	kvpr_says("does not answer");
	unlink(path);

	setenv("KVPOOL_DEVICE", "/tmp", 1);
	kvpr_expect(kvp_pool_open("dev:door", &pool), -EISDIR, KVP_REASON_DOOR);
	kvpr_says("cannot open the device /tmp");
	kvpr_says("inproc:NAME");
	ck_assert_ptr_null(pool);
}
END_TEST

START_TEST(test_device_that_may_not_be_opened)
{
	char path[] = "/tmp/kvpool-door-XXXXXX";
	struct kvp_pool *pool = NULL;
	uid_t uid = geteuid();
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(chmod(path, 0), 0);
	/* Of root all may be opened. */
	if (!uid)
		ck_assert_int_eq(seteuid(65534), 0);
	setenv("KVPOOL_DEVICE", path, 1);
	kvpr_expect(kvp_pool_open("dev:door", &pool), -EACCES, KVP_REASON_DOOR);
	kvpr_says("cannot open the device");
	ck_assert_ptr_null(pool);
	if (!uid)
		ck_assert_int_eq(seteuid(0), 0);
	unlink(path);
}
END_TEST

START_TEST(test_default_path)
{
	struct kvp_pool *pool = NULL;

	if (!access("/dev/kvpool", F_OK))
		return;
	unsetenv("KVPOOL_DEVICE");
	kvpr_expect(kvp_pool_open("dev:door", &pool), -EOPNOTSUPP, KVP_REASON_DOOR);
	kvpr_says("there is no device /dev/kvpool (No such file");
	setenv("KVPOOL_DEVICE", "", 1);
	kvpr_expect(kvp_pool_open("dev:door", &pool), -EOPNOTSUPP, KVP_REASON_DOOR);
	kvpr_says("/dev/kvpool");
	ck_assert_ptr_null(pool);
}
END_TEST

START_TEST(test_names_of_doors)
{
	ck_assert_str_eq(kvp_door_name(KVP_DOOR_INPROC), "inproc");
	ck_assert_str_eq(kvp_door_name(KVP_DOOR_DEVICE), "dev");
	ck_assert_str_eq(kvp_door_name(KVP_DOOR_DEFAULT), "unknown");
	ck_assert_str_eq(kvp_door_name(77), "unknown");
}
END_TEST

/* What only the device has is refused in process, by name. */
START_TEST(test_in_process_there_is_no)
{
	struct kvp_pool *pool = kvpr_open("inproc:door?blocks=4&block_tokens=2");
	const struct kvp_counters_page *page = NULL;
	uint8_t space[KVP_DIGEST_LEN];
	uint32_t tokens[2] = { 1, 2 };
	uint64_t id = 77;
	kvp_seq_t seq;
	int fd = -77;

	kvpr_space("m", space);
	seq = kvpr_seq(pool, space, tokens, 2, NULL);
	ck_assert_int_eq(kvp_pool_fd(pool), -EOPNOTSUPP);
	ck_assert_uint_eq(kvp_error()->reason, KVP_REASON_DOOR);
	kvpr_says("dev:NAME");
	kvpr_expect(kvp_pool_counters(pool, &page), -EOPNOTSUPP, KVP_REASON_DOOR);
	kvpr_expect(kvp_pool_counters(pool, NULL), -EINVAL, KVP_REASON_POINTER);
	ck_assert_ptr_null(page);
	kvpr_expect(kvp_seq_export(pool, seq, &fd, &id), -EOPNOTSUPP, KVP_REASON_DOOR);
	kvpr_expect(kvp_seq_export(pool, seq, NULL, &id), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_seq_import(pool, 0, &seq, &id), -EOPNOTSUPP, KVP_REASON_DOOR);
	kvpr_expect(kvp_seq_import(pool, 0, NULL, &id), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_export_revoke(pool, 5), -ENOENT, KVP_REASON_NO_EXPORT);
	ck_assert_int_eq(fd, -77);
	ck_assert_uint_eq(id, 77);
	kvpr_ok(kvp_seq_free(pool, seq));
	kvp_pool_close(pool);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("door");
	TCase *tc = tcase_create("door");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, test_no_device, 0, 3);
	tcase_add_test(tc, test_default_in_process);
	tcase_add_loop_test(tc, test_unknown_default, 0, 4);
	tcase_add_test(tc, test_what_is_no_device_of_ours);
	tcase_add_test(tc, test_device_that_may_not_be_opened);
	tcase_add_test(tc, test_default_path);
	tcase_add_test(tc, test_names_of_doors);
	tcase_add_test(tc, test_in_process_there_is_no);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

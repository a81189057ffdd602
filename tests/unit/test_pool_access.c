// SPDX-License-Identifier: MIT
/*
 * Who may attach to a pool, see it and destroy it, and the descriptors of its backing.
 */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copydoor.h"
#include "unit.h"

#define OTHER	1001		/* uid and gid of nobody's pool */
#define ALL	KVP_RIGHT_ALL
#define USE	KVP_RIGHT_USE
#define PUBLISH	KVP_RIGHT_PUBLISH
#define ADMIN	KVP_RIGHT_ADMIN

static struct kvpt_env env;
static struct kvp_client *a;
static struct kvp_door door;	/* a test's own */

static const struct kvp_family_desc dense = KVPT_DENSE(16, 4);

static void setup(void)
{
	kvpt_env_init(&env);
	a = kvpt_open(&env, KVPT_OWNER);
}

static void teardown(void)
{
	kvpt_env_exit(&env);
}

static struct kvp_client *open_as(u32 uid, u32 gid, bool admin)
{
	const struct kvp_cred cred = { .uid = uid, .gid = gid, .admin = admin };

	return kvpt_open_cred(&env, &cred);
}

/* ---- rights ---- */

static const struct {
	u32 mode;
	u32 group;
	u32 other;
} modes[] = {
	{ 0000, 0, 0 },
	{ 0700, 0, 0 },
	{ 0640, USE, 0 },
	{ 0660, USE | PUBLISH, 0 },
	{ 0604, 0, USE },
	{ 0606, 0, USE | PUBLISH },
	{ 0644, USE, USE },
	{ 0664, USE | PUBLISH, USE },
	{ 0666, USE | PUBLISH, USE | PUBLISH },
	/* To publish alone is nothing; x says nothing. */
	{ 0620, 0, 0 },
	{ 0602, 0, 0 },
	{ 0611, 0, 0 },
	{ 0777, USE | PUBLISH, USE | PUBLISH },
};

static void attaches_with(u32 uid, u32 gid, bool admin, u32 rights)
{
	static const u32 reasons[] = {
		KVP_REASON_RIGHT_USE, KVP_REASON_RIGHT_PUBLISH, KVP_REASON_RIGHT_ADMIN,
	};
	struct kvp_pool_entry entry;
	struct kvp_client *c;
	u32 wanted, bit;

	for (wanted = 0; wanted <= ALL; wanted++) {
		u32 missing = wanted & ~rights;

		c = open_as(uid, gid, admin);
		kvpt_ok(kvpt_pool_list(c, &entry, 1));
		ck_assert_uint_eq(kvpt.pool_list.total, !!rights);
		if (!rights) {
			kvpt_expect(kvpt_pool_attach(c, "p", wanted), -ENOENT,
				    KVP_REASON_NO_POOL);
		} else if (missing) {
			for (bit = 0; !(missing & 1U << bit); bit++)
				;
			kvpt_expect(kvpt_pool_attach(c, "p", wanted), -EACCES, reasons[bit]);
			ck_assert_uint_eq(kvpt.pool_attach.rights, 0);
			kvpt_expect(kvpt_pool_info(c, NULL, 0), -EBUSY,
				    KVP_REASON_NOT_ATTACHED);
		} else {
			kvpt_ok(kvpt_pool_attach(c, "p", wanted));
			ck_assert_uint_eq(kvpt.pool_attach.rights, wanted ? wanted : rights);
			kvpt_ok(kvpt_pool_info(c, NULL, 0));
			ck_assert_uint_eq(kvpt.pool_info.rights, wanted ? wanted : rights);
		}
		kvpt_close(&env, c);
	}
}

START_TEST(test_rights_by_mode)
{
	kvpt_ok(kvpt_pool_create(a, "p", modes[_i].mode, &dense, 1));
	/* uid and gid of the pool are KVPT_OWNER. */
	attaches_with(KVPT_OWNER, OTHER, false, ALL);
	attaches_with(OTHER, OTHER, true, ALL);
	attaches_with(OTHER, KVPT_OWNER, false, modes[_i].group);
	attaches_with(OTHER, OTHER, false, modes[_i].other);
	attaches_with(0, 0, false, modes[_i].other);
}
END_TEST

/* The groups that a client has beside the first, as the door knows them. */
static bool in_group(const struct kvp_cred *cred, u32 gid)
{
	const u32 *further = cred->of;

	return further && *further == gid;
}

START_TEST(test_further_groups)
{
	static const u32 group = 77, another = 78;
	struct kvp_client *member, *other, *none;
	struct kvp_cred cred = { .uid = OTHER, .gid = OTHER };
	struct kvp_client *owner;

	door = kvp_inproc_door;
	door.in_group = in_group;
	env.door = &door;
	owner = open_as(KVPT_OWNER, group, false);
	none = kvpt_open_cred(&env, &cred);
	cred.of = &group;
	member = kvpt_open_cred(&env, &cred);
	cred.of = &another;
	other = kvpt_open_cred(&env, &cred);
	kvpt_ok(kvpt_pool_create(owner, "p", 0660, &dense, 1));
	kvpt_ok(kvpt_pool_list(member, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_list.total, 1);
	kvpt_ok(kvpt_pool_list(other, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_list.total, 0);
	kvpt_expect(kvpt_pool_attach(other, "p", 0), -ENOENT, KVP_REASON_NO_POOL);
	kvpt_expect(kvpt_pool_attach(none, "p", 0), -ENOENT, KVP_REASON_NO_POOL);
	kvpt_expect(kvpt_pool_attach(member, "p", ADMIN), -EACCES, KVP_REASON_RIGHT_ADMIN);
	kvpt_ok(kvpt_pool_attach(member, "p", 0));
	ck_assert_uint_eq(kvpt.pool_attach.rights, USE | PUBLISH);
	kvpt_expect(kvpt_pool_destroy(other, "p", 0), -ENOENT, KVP_REASON_NO_POOL);
	/* The group's bits hold for members, though others may do more. */
	kvpt_close(&env, member);
	kvpt_close(&env, owner);
	owner = open_as(KVPT_OWNER, group, false);
	kvpt_ok(kvpt_pool_create(owner, "q", 0606, &dense, 1));
	cred.of = &group;
	member = kvpt_open_cred(&env, &cred);
	kvpt_expect(kvpt_pool_attach(member, "q", 0), -ENOENT, KVP_REASON_NO_POOL);
	kvpt_ok(kvpt_pool_attach(none, "q", 0));
}
END_TEST

START_TEST(test_unknown_rights)
{
	u32 bit;

	kvpt_ok(kvpt_pool_create(a, "p", 0666, &dense, 1));
	for (bit = 3; bit < 32; bit++) {
		struct kvp_client *c = kvpt_open(&env, KVPT_OWNER);

		kvpt_expect(kvpt_pool_attach(c, "p", 1U << bit | USE), -EINVAL,
			    KVP_REASON_VALUE);
		ck_assert_uint_eq(kvpt.head.where, kvpt_at(struct kvp_pool_attach, wanted));
		kvpt_close(&env, c);
	}
}
END_TEST

START_TEST(test_attach_tells)
{
	struct kvp_client *b = kvpt_open(&env, OTHER);

	kvpt_ok(kvpt_pool_create(a, "one", 0666, &dense, 1));
	kvpt_ok(kvpt_pool_attach(b, "one", 0));
	ck_assert_uint_eq(kvpt.pool_attach.pool, 1);
	ck_assert_uint_eq(kvpt.pool_attach.client, 2);
	ck_assert_uint_eq(kvpt.pool_attach.rights, USE | PUBLISH);
	kvpt_expect(kvpt_pool_attach(b, "one", 0), -EBUSY, KVP_REASON_ATTACHED);
	kvpt_expect(kvpt_pool_create(b, "two", 0, &dense, 1), -EBUSY, KVP_REASON_ATTACHED);
	b = kvpt_open(&env, OTHER);
	kvpt_expect(kvpt_pool_attach(b, "two", 0), -ENOENT, KVP_REASON_NO_POOL);
}
END_TEST

/* ---- list ---- */

START_TEST(test_list)
{
	struct kvp_pool_entry entry[4];
	struct kvp_client *b = kvpt_open(&env, OTHER), *c = kvpt_open(&env, 7);
	const struct kvp_family_desc two[] = { KVPT_DENSE(8, 4), KVPT_STATE(8) };

	kvpt_ok(kvpt_pool_list(c, entry, 4));
	ck_assert_uint_eq(kvpt.pool_list.total, 0);
	ck_assert_uint_eq(kvpt.pool_list.nr_pools, 0);

	kvpt_ok(kvpt_pool_create(a, "shown", 0644, two, 2));
	kvpt_ok(kvpt_pool_create(b, "hidden", 0640, &dense, 1));
	memset(entry, 0xff, sizeof(entry));
	kvpt_ok(kvpt_pool_list(c, entry, 4));
	ck_assert_uint_eq(kvpt.pool_list.total, 1);
	ck_assert_uint_eq(kvpt.pool_list.nr_pools, 1);
	ck_assert_str_eq(entry[0].name, "shown");
	ck_assert_uint_eq(entry[0].pool, 1);
	ck_assert_uint_eq(entry[0].uid, KVPT_OWNER);
	ck_assert_uint_eq(entry[0].mode, 0644);
	ck_assert_uint_eq(entry[0].pool_flags, 0);
	ck_assert_uint_eq(entry[0].nr_families, 2);
	ck_assert_uint_eq(entry[0].nr_clients, 1);
	ck_assert_uint_eq(entry[0].reserved, 0);
	ck_assert_uint_eq(entry[1].pool, ~0ULL);

	/* In the order in which they were made; who is attached sees as much. */
	kvpt_ok(kvpt_pool_list(b, entry, 4));
	ck_assert_uint_eq(kvpt.pool_list.total, 2);
	ck_assert_str_eq(entry[0].name, "shown");
	ck_assert_str_eq(entry[1].name, "hidden");
}
END_TEST

START_TEST(test_list_with_little_room)
{
	struct kvp_pool_entry entry[2] = { };
	struct kvp_client *b = kvpt_open(&env, OTHER), *c = open_as(7, 7, true);

	kvpt_ok(kvpt_pool_create(a, "one", 0, &dense, 1));
	kvpt_ok(kvpt_pool_create(b, "two", 0, &dense, 1));
	kvpt_ok(kvpt_pool_list(c, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_list.total, 2);
	ck_assert_uint_eq(kvpt.pool_list.nr_pools, 0);
	kvpt_ok(kvpt_pool_list(c, entry, 1));
	ck_assert_uint_eq(kvpt.pool_list.total, 2);
	ck_assert_uint_eq(kvpt.pool_list.nr_pools, 1);
	ck_assert_str_eq(entry[0].name, "one");
	ck_assert_str_eq(entry[1].name, "");
}
END_TEST

START_TEST(test_info_with_little_room)
{
	const struct kvp_family_desc two[] = { KVPT_DENSE(8, 4), KVPT_STATE(8) };
	struct kvp_family_desc desc[3] = { };

	kvpt_ok(kvpt_pool_create(a, "p", 0, two, 2));
	kvpt_expect(kvpt_pool_info(a, desc, 1), -EOVERFLOW, KVP_REASON_COUNT);
	ck_assert_uint_eq(kvpt.pool_info.nr_families, 2);
	kvpt_ok(kvpt_pool_info(a, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_info.nr_families, 2);
	kvpt_ok(kvpt_pool_info(a, desc, 3));
	ck_assert_uint_eq(kvpt.pool_info.nr_families, 2);
	ck_assert(!memcmp(desc, two, sizeof(two)));
	ck_assert_uint_eq(desc[2].kind, 0);
}
END_TEST

/* ---- destroy ---- */

START_TEST(test_destroy_of_ones_own)
{
	struct kvp_client *c;
	u64 ids[3];

	kvpt_ok(kvpt_pool_create(a, "p", 0, &dense, 1));
	kvpt_ok(kvpt_alloc(a, 0, 3, ids));
	/* Oneself is nobody else. */
	kvpt_ok(kvpt_pool_destroy(a, "p", 0));
	kvpt_expect(kvpt_alloc(a, 0, 1, ids), -EIO, KVP_REASON_DESTROYED);
	kvpt_expect(kvpt_pool_destroy(a, "p", 0), -ENOENT, KVP_REASON_NO_POOL);
	kvpt_ok(kvpt_pool_list(a, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_list.total, 0);
	/* The name is free at once, and the two have nothing to do with each other. */
	c = kvpt_open(&env, OTHER);
	kvpt_ok(kvpt_pool_create(c, "p", 0, &dense, 1));
	ck_assert_uint_eq(kvpt_blocks(c, 0, KVP_BLOCK_FREE), 16);
	kvpt_close(&env, a);
	kvpt_ok(kvpt_alloc(c, 0, 16, (u64[16]){ }));
	kvpt_audit_clean(c);
}
END_TEST

/* With its id no other pool is ended that has the name by now. */
START_TEST(test_destroy_of_a_certain_pool)
{
	struct kvp_pool_destroy arg = { .name = "p", .head.flags = KVP_DESTROY_FORCE };
	struct kvp_client *b = kvpt_open(&env, KVPT_OWNER);

	kvpt_ok(kvpt_pool_create(a, "p", 0600, &dense, 1));
	arg.pool = kvpt.pool_create.pool;
	kvpt_ok(kvpt_pool_destroy(a, "p", 0));
	kvpt_ok(kvpt_pool_create(b, "p", 0600, &dense, 1));
	ck_assert_uint_ne(kvpt.pool_create.pool, arg.pool);
	ck_assert_int_eq(kvpt_do(a, KVP_OP_POOL_DESTROY, &arg), -ESTALE);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_GENERATION);
	kvpt_ok(kvpt_stats(b, 0, NULL, 0));
	arg.pool = kvpt_pool_of(b)->id;
	ck_assert_int_eq(kvpt_do(a, KVP_OP_POOL_DESTROY, &arg), 0);
	kvpt_expect(kvpt_stats(b, 0, NULL, 0), -EIO, KVP_REASON_DESTROYED);
}
END_TEST

START_TEST(test_destroy_while_in_use)
{
	struct kvp_client *b = kvpt_open(&env, OTHER), *c = kvpt_open(&env, KVPT_OWNER);

	kvpt_ok(kvpt_pool_create(a, "p", 0666, &dense, 1));
	kvpt_expect(kvpt_pool_destroy(c, "p", 0), -EBUSY, KVP_REASON_POOL_IN_USE);
	kvpt_ok(kvpt_pool_attach(b, "p", 0));
	kvpt_expect(kvpt_pool_destroy(a, "p", 0), -EBUSY, KVP_REASON_POOL_IN_USE);
	kvpt_ok(kvpt_create(b, 1, NULL, 0, NULL));

	kvpt_ok(kvpt_pool_destroy(c, "p", KVP_DESTROY_FORCE));
	kvpt_expect(kvpt_pool_info(a, NULL, 0), -EIO, KVP_REASON_DESTROYED);
	kvpt_expect(kvpt_create(b, 1, NULL, 0, NULL), -EIO, KVP_REASON_DESTROYED);
	kvpt_expect(kvpt_pool_attach(c, "p", 0), -ENOENT, KVP_REASON_NO_POOL);
	/* They are attached to it still, and can do what needs no pool. */
	kvpt_expect(kvpt_pool_attach(b, "p", 0), -EBUSY, KVP_REASON_ATTACHED);
	kvpt_ok(kvpt_abi(b));
}
END_TEST

START_TEST(test_destroy_needs_admin)
{
	struct kvp_client *b = kvpt_open(&env, OTHER), *c = open_as(7, 7, true);
	struct kvp_client *d = kvpt_open(&env, KVPT_OWNER);

	kvpt_ok(kvpt_pool_create(a, "shown", 0644, &dense, 1));
	kvpt_expect(kvpt_pool_destroy(b, "shown", KVP_DESTROY_FORCE), -EACCES,
		    KVP_REASON_RIGHT_ADMIN);
	/* Nor one who took less than the credentials allow. */
	kvpt_ok(kvpt_pool_attach(d, "shown", USE | PUBLISH));
	kvpt_expect(kvpt_pool_destroy(d, "shown", KVP_DESTROY_FORCE), -EACCES,
		    KVP_REASON_RIGHT_ADMIN);
	kvpt_ok(kvpt_pool_destroy(c, "shown", KVP_DESTROY_FORCE));

	kvpt_close(&env, a);
	a = kvpt_open(&env, KVPT_OWNER);
	kvpt_ok(kvpt_pool_create(a, "hidden", 0600, &dense, 1));
	kvpt_expect(kvpt_pool_destroy(b, "hidden", KVP_DESTROY_FORCE), -ENOENT,
		    KVP_REASON_NO_POOL);
	kvpt_expect(kvpt_pool_destroy(a, "none", 0), -ENOENT, KVP_REASON_NO_POOL);
	kvpt_ok(kvpt_pool_info(a, NULL, 0));
}
END_TEST

/* ---- backing, abi ---- */

static int memfd(u64 length, int seals)
{
	int fd = memfd_create("backing", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, length), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* Open descriptors of this process. */
static int nr_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

START_TEST(test_backing)
{
	struct kvp_client *b = kvpt_open(&env, OTHER);
	int fd = memfd(8192, SEALS), got;
	struct stat was, is;

	kvpt_ok(kvpt_pool_create(a, "p", 0666, &dense, 1));
	kvpt_ok(kvpt_backing_add(a, fd, 8192, 42));
	ck_assert_uint_eq(kvpt.backing.index, 0);
	kvpt_ok(kvpt_backing_add(a, fd, 8192, 43));
	ck_assert_uint_eq(kvpt.backing.index, 1);
	ck_assert_int_eq(fstat(fd, &was), 0);
	/* The descriptor stays the caller's; the pool keeps the file. */
	ck_assert_int_eq(close(fd), 0);
	kvpt_ok(kvpt_pool_attach(b, "p", USE));
	kvpt_ok(kvpt_pool_info(b, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_info.nr_backings, 2);

	kvpt_ok(kvpt_backing_get(b, 1));
	got = kvpt.backing.fd;
	ck_assert_uint_eq(kvpt.backing.kind, KVP_BACKING_MEMFD);
	ck_assert_uint_eq(kvpt.backing.length, 8192);
	ck_assert_uint_eq(kvpt.backing.label, 43);
	ck_assert_int_eq(fstat(got, &is), 0);
	ck_assert_uint_eq(is.st_ino, was.st_ino);
	ck_assert_int_eq(fcntl(got, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(close(got), 0);
	kvpt_expect(kvpt_backing_get(b, 2), -ENOENT, KVP_REASON_NO_BACKING);
	kvpt_expect(kvpt_backing_get(b, ~0U), -ENOENT, KVP_REASON_NO_BACKING);
}
END_TEST

START_TEST(test_backing_that_cannot_be)
{
	int fd = memfd(8192, SEALS), open_fd = memfd(8192, F_SEAL_SHRINK | F_SEAL_GROW);
	struct kvp_backing arg = { .fd = fd, .length = 8192 };
	u32 kind;

	kvpt_ok(kvpt_pool_create(a, "p", 0, &dense, 1));
	for (kind = 0; kind < 6; kind++) {
		bool known = kind == KVP_BACKING_DMABUF || kind == KVP_BACKING_DEVICE;

		if (kind == KVP_BACKING_MEMFD)
			continue;
		arg.kind = kind;
		/* Through this door, memory files only. */
		ck_assert_int_eq(kvpt_do(a, KVP_OP_BACKING_ADD, &arg),
				 known ? -EOPNOTSUPP : -EINVAL);
		ck_assert_uint_eq(arg.head.reason, known ? KVP_REASON_DOOR : KVP_REASON_VALUE);
		ck_assert_uint_eq(arg.head.where, known ? 0 : kvpt_at(struct kvp_backing, kind));
	}
	kvpt_expect(kvpt_backing_add(a, fd, 0, 0), -EINVAL, KVP_REASON_VALUE);
	ck_assert_uint_eq(kvpt.head.where, kvpt_at(struct kvp_backing, length));
	kvpt_expect(kvpt_backing_add(a, fd, 4096, 0), -EKEYREJECTED, KVP_REASON_SEAL);
	kvpt_expect(kvpt_backing_add(a, fd, ~0ULL, 0), -EKEYREJECTED, KVP_REASON_SEAL);
	kvpt_expect(kvpt_backing_add(a, open_fd, 8192, 0), -EKEYREJECTED, KVP_REASON_SEAL);
	kvpt_expect(kvpt_backing_add(a, -1, 8192, 0), -EBADF, KVP_REASON_NONE);
	kvpt_ok(kvpt_pool_info(a, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_info.nr_backings, 0);
	close(fd);
	close(open_fd);
}
END_TEST

/* The caller never learned of its descriptor. */
START_TEST(test_backing_that_cannot_be_told)
{
	int fd = memfd(8192, SEALS), fds;

	door = kvp_inproc_door;
	door.write = kvpt_failing_door.write;
	env.door = &door;
	kvpt_close(&env, a);
	a = kvpt_open(&env, KVPT_OWNER);
	kvpt_ok(kvpt_pool_create(a, "p", 0, &dense, 1));
	kvpt_ok(kvpt_backing_add(a, fd, 8192, 0));
	fds = nr_fds();
	kvpt_fail_write = 1;
	kvpt_expect(kvpt_backing_get(a, 0), -EFAULT, KVP_REASON_POINTER);
	ck_assert_int_eq(kvpt_fail_write, 0);
	ck_assert_int_eq(nr_fds(), fds);
	kvpt_ok(kvpt_backing_get(a, 0));
	ck_assert_int_eq(nr_fds(), fds + 1);
	close(kvpt.backing.fd);
	close(fd);
}
END_TEST

START_TEST(test_as_many_backings_as_there_may_be)
{
	int fd = memfd(4096, SEALS);
	int fds = nr_fds();
	u32 i;

	kvpt_ok(kvpt_pool_create(a, "p", 0, &dense, 1));
	for (i = 0; i < KVP_MAX_BACKINGS; i++) {
		kvpt_ok(kvpt_backing_add(a, fd, 4096, i));
		ck_assert_uint_eq(kvpt.backing.index, i);
	}
	kvpt_expect(kvpt_backing_add(a, fd, 4096, i), -EOVERFLOW, KVP_REASON_COUNT);
	ck_assert_uint_eq(kvpt.backing.index, 0);
	kvpt_ok(kvpt_pool_info(a, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_info.nr_backings, KVP_MAX_BACKINGS);
	ck_assert_int_eq(nr_fds(), fds + KVP_MAX_BACKINGS);
	/* All go with the pool. */
	kvpt_close(&env, a);
	ck_assert_int_eq(nr_fds(), fds);
	close(fd);
	a = kvpt_open(&env, KVPT_OWNER);
}
END_TEST

/* What any door can do. */
#define CORE_FEATURES	(KVP_FEATURE_SEQ | KVP_FEATURE_EVENTS | KVP_FEATURE_FENCE | KVP_FEATURE_ADMIT | \
			 KVP_FEATURE_REMAP)

START_TEST(test_door_without_descriptors)
{
	struct kvp_client *c;

	kvpt_ok(kvpt_abi(a));
	ck_assert_uint_eq(kvpt.abi.features,
			  CORE_FEATURES | KVP_FEATURE_BACKING);
	ck_assert_uint_eq(kvpt.abi.slice, 256);
	ck_assert_uint_eq(kvpt.abi.max_families, KVP_MAX_FAMILIES);

	env.door = &kvpt_copying_door;
	c = kvpt_open(&env, KVPT_OWNER);
	kvpt_ok(kvpt_abi(c));
	ck_assert_uint_eq(kvpt.abi.features, CORE_FEATURES);
	kvpt_ok(kvpt_pool_create(c, "p", 0, &dense, 1));
	kvpt_expect(kvpt_backing_add(c, 0, 4096, 0), -EOPNOTSUPP, KVP_REASON_DOOR);
	kvpt_expect(kvpt_backing_get(c, 0), -EOPNOTSUPP, KVP_REASON_DOOR);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("pool_access");
	TCase *rights = tcase_create("rights");
	TCase *list = tcase_create("list");
	TCase *destroy = tcase_create("destroy");
	TCase *backing = tcase_create("backing");

	tcase_add_checked_fixture(rights, setup, teardown);
	tcase_add_loop_test(rights, test_rights_by_mode, 0, (int)ARRAY_SIZE(modes));
	tcase_add_test(rights, test_further_groups);
	tcase_add_test(rights, test_unknown_rights);
	tcase_add_test(rights, test_attach_tells);
	suite_add_tcase(s, rights);

	tcase_add_checked_fixture(list, setup, teardown);
	tcase_add_test(list, test_list);
	tcase_add_test(list, test_list_with_little_room);
	tcase_add_test(list, test_info_with_little_room);
	suite_add_tcase(s, list);

	tcase_add_checked_fixture(destroy, setup, teardown);
	tcase_add_test(destroy, test_destroy_of_ones_own);
	tcase_add_test(destroy, test_destroy_of_a_certain_pool);
	tcase_add_test(destroy, test_destroy_while_in_use);
	tcase_add_test(destroy, test_destroy_needs_admin);
	suite_add_tcase(s, destroy);

	tcase_add_checked_fixture(backing, setup, teardown);
	tcase_add_test(backing, test_backing);
	tcase_add_test(backing, test_backing_that_cannot_be);
	tcase_add_test(backing, test_backing_that_cannot_be_told);
	tcase_add_test(backing, test_as_many_backings_as_there_may_be);
	tcase_add_test(backing, test_door_without_descriptors);
	suite_add_tcase(s, backing);
	return s;
}

int main(void)
{
	setenv("CK_FORK", "no", 0);
	return kvpt_run(suite());
}

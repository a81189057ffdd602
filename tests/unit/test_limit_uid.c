// SPDX-License-Identifier: MIT
/*
 * Limits of a uid: what all its clients may have together, the dead among them.
 */
#include <check.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exportdoor.h"
#include "unit.h"

#define UID	1001
#define OTHER	1002

static struct kvpt_env env;
static struct kvp_client *a, *b, *c, *d;
static u32 tok[64];

/* a has ADMIN; b and c are of one uid, d is not. */
static void setup(void)
{
	kvpt_env_init(&env);
	env.door = kvpt_export_door(&kvp_inproc_door);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(32, 4),
		      KVPT_WINDOW(32, 4, 6) }, 2);
	b = kvpt_join(&env, UID, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	c = kvpt_join(&env, UID, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	d = kvpt_join(&env, OTHER, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	kvpt_tokens(tok, 64, 1);
}

static void teardown(void)
{
	kvp_shim_fail_alloc = 0;
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

/* @expr is over a limit of the client's uid. */
#define over_uid(expr, why, family) \
	kvpt_refused(&env, a, expr, -EDQUOT, why, KVP_WHERE_UID | (family))

/* ---- each thing, over two clients ---- */

START_TEST(test_blocks)
{
	u64 x[8], y[8], z[8];

	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_BLOCKS, 1, 5));
	kvpt_ok(kvpt_alloc(b, 1, 3, x));
	over_uid(kvpt_alloc(c, 1, 3, y), KVP_REASON_LIMIT_BLOCKS, 1);
	kvpt_ok(kvpt_alloc(c, 1, 2, y));
	over_uid(kvpt_alloc(b, 1, 1, x + 3), KVP_REASON_LIMIT_BLOCKS, 1);
	/* Neither another family nor another uid is meant. */
	kvpt_ok(kvpt_alloc(b, 0, 6, x + 1));
	kvpt_ok(kvpt_alloc(d, 1, 6, z));
	kvpt_ok(kvpt_unref(b, x, 1));
	kvpt_ok(kvpt_alloc(c, 1, 1, y + 2));
	over_uid(kvpt_create(c, 1, tok, 4, NULL), KVP_REASON_LIMIT_BLOCKS, 1);
	/* More than it has may be taken away: nothing happens to what is there. */
	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_BLOCKS, 1, 1));
	over_uid(kvpt_alloc(c, 1, 1, y + 3), KVP_REASON_LIMIT_BLOCKS, 1);
	kvpt_ok(kvpt_unref(c, y, 3));
	over_uid(kvpt_alloc(c, 1, 1, y), KVP_REASON_LIMIT_BLOCKS, 1);
	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_BLOCKS, 1, KVP_UNLIMITED));
	kvpt_ok(kvpt_alloc(c, 1, 1, y));
}
END_TEST

/* The first to hold idle blocks is charged for them. */
START_TEST(test_idle_blocks)
{
	u64 seq, match, blocks[2];

	kvpt_ok(kvpt_make_published(d, 1, tok, 8));
	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_BLOCKS, 0, 1));
	over_uid(kvpt_create(b, 1, tok, 8, NULL), KVP_REASON_LIMIT_BLOCKS, 0);
	kvpt_ok(kvpt_match_blocks(c, 1, tok, 8, 0, blocks, 2, &match));
	over_uid(kvpt_call(c, KVP_OP_BLOCK_REF, (kvpt.block_refs = (struct kvp_block_refs){
			   .head = { sizeof(kvpt.block_refs), KVP_BLOCK_REF_MATCH, 0, 0 },
			   .blocks = (u64)(uintptr_t)blocks, .nr = 2, .holder = match },
			   &kvpt.block_refs), sizeof(kvpt.block_refs)),
		 KVP_REASON_LIMIT_BLOCKS, 0);
	kvpt_ok(kvpt_release(c, match));
	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_BLOCKS, 0, 2));
	kvpt_ok(kvpt_create(b, 1, tok, 8, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 8);
	/* They are held now: for free. */
	kvpt_ok(kvpt_create(c, 1, tok, 8, &seq));
	kvpt_ok(kvpt_stats_uid(a, UID, NULL, 0));
	ck_assert_uint_eq(kvpt.stats.seqs, 2);
}
END_TEST

START_TEST(test_slots)
{
	u64 seq;

	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_SLOTS, 0, 6));
	kvpt_ok(kvpt_create(b, 1, tok, 8, &seq));
	over_uid(kvpt_create(c, 2, tok, 8, NULL), KVP_REASON_LIMIT_SLOTS, 0);
	kvpt_ok(kvpt_create(c, 2, tok, 4, NULL));
	over_uid(kvpt_append(b, seq, tok + 8, 1), KVP_REASON_LIMIT_SLOTS, 0);
	kvpt_ok(kvpt_create(d, 3, tok, 40, NULL));
	kvpt_ok(kvpt_free(b, seq));
	kvpt_ok(kvpt_create(c, 2, tok, 8, NULL));
}
END_TEST

START_TEST(test_seqs)
{
	u64 seq;

	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_SEQS, 0, 2));
	kvpt_ok(kvpt_create(b, 1, NULL, 0, &seq));
	kvpt_ok(kvpt_create(c, 1, NULL, 0, NULL));
	over_uid(kvpt_create(b, 1, NULL, 0, NULL), KVP_REASON_LIMIT_SEQS, 0);
	over_uid(kvpt_fork(b, seq, 0, NULL), KVP_REASON_LIMIT_SEQS, 0);
	kvpt_ok(kvpt_create(d, 1, NULL, 0, NULL));
	kvpt_ok(kvpt_free(b, seq));
	kvpt_ok(kvpt_create(c, 1, NULL, 0, NULL));
}
END_TEST

START_TEST(test_raw)
{
	u64 x[4], y[4];

	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_RAW, 0, 4));
	kvpt_ok(kvpt_alloc(b, 0, 3, x));
	over_uid(kvpt_alloc(c, 0, 2, y), KVP_REASON_LIMIT_RAW, 0);
	kvpt_ok(kvpt_alloc(c, 0, 1, y));
	over_uid(kvpt_ref(b, x, 1), KVP_REASON_LIMIT_RAW, 0);
	kvpt_ok(kvpt_alloc(d, 0, 4, y + 0));
	kvpt_ok(kvpt_unref(b, x, 1));
	kvpt_ok(kvpt_ref(b, x + 1, 1));
}
END_TEST

START_TEST(test_matches)
{
	u64 m;

	kvpt_ok(kvpt_make_published(d, 1, tok, 8));
	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_MATCHES, 0, 2));
	kvpt_ok(kvpt_match(b, 1, tok, 8, &m));
	kvpt_ok(kvpt_match(c, 1, tok, 8, &m));
	over_uid(kvpt_match(b, 1, tok, 8, &m), KVP_REASON_LIMIT_MATCHES, 0);
	kvpt_ok(kvpt_match(d, 1, tok, 8, &m));
	kvpt_ok(kvpt_match(b, 1, tok, 8, NULL));
}
END_TEST

START_TEST(test_metadata)
{
	u64 bytes, seq;

	kvpt_ok(kvpt_create(b, 1, NULL, 0, &seq));
	bytes = kvpt_counters_of(b, KVP_STATS_SELF).metadata_bytes;
	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_METADATA, 0, 2 * bytes - 1));
	over_uid(kvpt_create(c, 1, NULL, 0, NULL), KVP_REASON_LIMIT_METADATA, 0);
	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_METADATA, 0, 2 * bytes));
	kvpt_ok(kvpt_create(c, 1, NULL, 0, NULL));
	ck_assert_uint_eq(kvpt_counters_of(c, KVP_STATS_SELF).metadata_bytes, bytes);
	over_uid(kvpt_append(b, seq, tok, 1), KVP_REASON_LIMIT_METADATA, 0);
	kvpt_ok(kvpt_create(d, 1, tok, 16, NULL));
}
END_TEST

START_TEST(test_exports)
{
	u64 x = kvpt_computed(b, 1, tok, 8), y = kvpt_computed(c, 2, tok, 8);
	u64 z = kvpt_computed(d, 3, tok, 8);
	s32 fd[3];

	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_EXPORTS, 0, 2));
	kvpt_ok(kvpt_export(b, x, &fd[0]));
	kvpt_ok(kvpt_export(c, y, &fd[1]));
	over_uid(kvpt_export(b, x, NULL), KVP_REASON_LIMIT_EXPORTS, 0);
	kvpt_ok(kvpt_export(d, z, &fd[2]));
	/* Also of a client that is gone. */
	kvpt_close(&env, b);
	over_uid(kvpt_export(c, y, NULL), KVP_REASON_LIMIT_EXPORTS, 0);
	kvpt_export_close(fd[0]);
	kvpt_ok(kvpt_export(c, y, &fd[0]));
	kvpt_export_close(fd[0]);
	kvpt_export_close(fd[1]);
	kvpt_export_close(fd[2]);
	/* What an export has is its uid's too. */
	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_SEQS, 0, 1));
	over_uid(kvpt_export(c, y, NULL), KVP_REASON_LIMIT_SEQS, 0);
	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_SEQS, 0, 2));
	kvpt_ok(kvpt_export(c, y, &fd[0]));
	over_uid(kvpt_create(c, 1, NULL, 0, NULL), KVP_REASON_LIMIT_SEQS, 0);
	kvpt_export_close(fd[0]);
}
END_TEST

static s32 sealed_memfd(void)
{
	s32 fd = memfd_create("backing", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	return fd;
}

START_TEST(test_backings)
{
	struct kvp_client *second = kvpt_join(&env, KVPT_OWNER, KVP_RIGHT_ADMIN);
	s32 fd = sealed_memfd();

	kvpt_ok(kvpt_limit_uid(a, KVPT_OWNER, KVP_LIMIT_BACKINGS, 0, 2));
	kvpt_ok(kvpt_backing_add(a, fd, 4096, 1));
	kvpt_ok(kvpt_backing_add(second, fd, 4096, 2));
	over_uid(kvpt_backing_add(a, fd, 4096, 3), KVP_REASON_LIMIT_BACKINGS, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).backings, 2);
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).backings, 1);
	/* They stay, and stay charged to the uid, until the pool ends. */
	kvpt_close(&env, second);
	over_uid(kvpt_backing_add(a, fd, 4096, 3), KVP_REASON_LIMIT_BACKINGS, 0);
	kvpt_ok(kvpt_stats_uid(a, KVPT_OWNER, NULL, 0));
	ck_assert_uint_eq(kvpt.stats.backings, 2);
	kvpt_ok(kvpt_limit_uid(a, KVPT_OWNER, KVP_LIMIT_BACKINGS, 0, KVP_UNLIMITED));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_BACKINGS, 0, 1));
	kvpt_refused(&env, a, kvpt_backing_add(a, fd, 4096, 3), -EDQUOT,
		     KVP_REASON_LIMIT_BACKINGS, 0);
	close(fd);
}
END_TEST

/* ---- the dead ---- */

START_TEST(test_blocks_of_the_dead)
{
	u64 seq, copy, x[4];
	s32 fd;

	seq = kvpt_computed(b, 1, tok, 8);
	kvpt_ok(kvpt_export(b, seq, &fd));
	kvpt_ok(kvpt_import(d, fd, &copy));
	kvpt_export_close(fd);
	kvpt_close(&env, b);
	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_BLOCKS, 0, 3));
	over_uid(kvpt_alloc(c, 0, 2, x), KVP_REASON_LIMIT_BLOCKS, 0);
	kvpt_ok(kvpt_alloc(c, 0, 1, x));
	/* All clients of the uid are gone: it is still known. */
	kvpt_close(&env, c);
	kvpt_ok(kvpt_stats_uid(a, UID, NULL, 0));
	ck_assert_uint_eq(kvpt.stats.nr_clients, 0);
	ck_assert_uint_eq(kvpt.stats.seqs, 0);
	c = kvpt_join(&env, UID, KVP_RIGHT_USE);
	over_uid(kvpt_alloc(c, 0, 2, x), KVP_REASON_LIMIT_BLOCKS, 0);
	kvpt_ok(kvpt_free(d, copy));
	kvpt_ok(kvpt_alloc(c, 0, 3, x));
}
END_TEST

/* ---- which limits ---- */

START_TEST(test_limits_of_any_uid)
{
	struct kvp_client *late;
	u64 x[8];

	kvpt_ok(kvpt_limit_uid(a, KVP_UID_ANY, KVP_LIMIT_BLOCKS, 0, 2));
	kvpt_ok(kvpt_alloc(b, 0, 2, x));
	over_uid(kvpt_alloc(c, 0, 1, x + 2), KVP_REASON_LIMIT_BLOCKS, 0);
	/* Each has as much; and the owner is one like others. */
	kvpt_ok(kvpt_alloc(d, 0, 2, x + 2));
	over_uid(kvpt_alloc(d, 0, 1, x + 4), KVP_REASON_LIMIT_BLOCKS, 0);
	over_uid(kvpt_alloc(a, 0, 3, x + 4), KVP_REASON_LIMIT_BLOCKS, 0);
	/* Limits of its own begin as those of all, and go their own way. */
	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_SEQS, 0, 1));
	over_uid(kvpt_alloc(c, 0, 1, x + 2), KVP_REASON_LIMIT_BLOCKS, 0);
	kvpt_ok(kvpt_limit_uid(a, KVP_UID_ANY, KVP_LIMIT_BLOCKS, 0, 8));
	over_uid(kvpt_alloc(c, 0, 1, x + 4), KVP_REASON_LIMIT_BLOCKS, 0);
	kvpt_ok(kvpt_alloc(d, 0, 1, x + 4));
	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_BLOCKS, 0, 4));
	kvpt_ok(kvpt_alloc(c, 0, 2, x + 5));
	/* Of one that nobody has seen yet. */
	kvpt_ok(kvpt_limit_uid(a, 77, KVP_LIMIT_BLOCKS, 0, 1));
	late = kvpt_join(&env, 77, KVP_RIGHT_USE);
	over_uid(kvpt_alloc(late, 0, 2, x + 5), KVP_REASON_LIMIT_BLOCKS, 0);
	kvpt_ok(kvpt_limit_uid(a, 0xffffffffULL, KVP_LIMIT_BLOCKS, 0, 1));
}
END_TEST

START_TEST(test_the_client_is_asked_first)
{
	u64 x[4];

	kvpt_ok(kvpt_limit_uid(a, UID, KVP_LIMIT_BLOCKS, 0, 2));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_BLOCKS, 0, 1));
	kvpt_refused(&env, a, kvpt_alloc(b, 0, 3, x), -EDQUOT, KVP_REASON_LIMIT_BLOCKS, 0);
	over_uid(kvpt_alloc(c, 0, 3, x), KVP_REASON_LIMIT_BLOCKS, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).refused_limit, 2);
}
END_TEST

START_TEST(test_only_what_the_mask_names)
{
	struct kvp_limit arg = {
		.head.flags = KVP_LIMIT_OF_UID, .client = UID,
		.mask = KVP_LIMIT_SEQS | KVP_LIMIT_EXPORTS, .seqs = 1,
	};
	s32 fd;
	u64 x[2], seq;

	ck_assert_int_eq(kvpt_do(a, KVP_OP_LIMIT, &arg), 0);
	kvpt_ok(kvpt_alloc(b, 0, 2, x));
	kvpt_ok(kvpt_create(b, 1, tok, 8, &seq));
	over_uid(kvpt_create(c, 1, NULL, 0, NULL), KVP_REASON_LIMIT_SEQS, 0);
	over_uid(kvpt_export(b, seq, &fd), KVP_REASON_LIMIT_EXPORTS, 0);
	arg.mask = 0;
	arg.seqs = 0;
	ck_assert_int_eq(kvpt_do(a, KVP_OP_LIMIT, &arg), 0);
	kvpt_ok(kvpt_free(b, seq));
	kvpt_ok(kvpt_create(c, 1, NULL, 0, NULL));
}
END_TEST

START_TEST(test_limits_that_cannot_be_set)
{
	kvpt_refused(&env, a, kvpt_limit_uid(a, UID, KVP_LIMIT_GUARANTEE, 0, 1), -EINVAL,
		     KVP_REASON_VALUE, kvpt_at(struct kvp_limit, mask));
	kvpt_refused(&env, a, kvpt_limit_uid(a, KVP_UID_ANY, KVP_LIMIT_GUARANTEE, 0, 1), -EINVAL,
		     KVP_REASON_VALUE, kvpt_at(struct kvp_limit, mask));
	kvpt_refused(&env, a, kvpt_limit_uid(a, UID, 1 << 10, 0, 1), -EINVAL,
		     KVP_REASON_VALUE, kvpt_at(struct kvp_limit, mask));
	kvpt_refused(&env, a, kvpt_limit_uid(a, 1ULL << 32, KVP_LIMIT_SEQS, 0, 1), -EINVAL,
		     KVP_REASON_VALUE, kvpt_at(struct kvp_limit, client));
	kvpt_refused(&env, a, kvpt_limit_uid(a, KVP_UID_ANY - 1, KVP_LIMIT_SEQS, 0, 1), -EINVAL,
		     KVP_REASON_VALUE, kvpt_at(struct kvp_limit, client));
	kvpt_refused(&env, a, kvpt_limit_uid(a, UID, KVP_LIMIT_BLOCKS, 2, 1), -EINVAL,
		     KVP_REASON_FAMILY, 2);
	kvpt_refused(&env, a, kvpt_limit_uid(b, UID, KVP_LIMIT_SEQS, 0, 1), -EACCES,
		     KVP_REASON_RIGHT_ADMIN, 0);
	kvp_shim_fail_alloc = 1;
	kvpt_refused(&env, a, kvpt_limit_uid(a, 4711, KVP_LIMIT_SEQS, 0, 1), -ENOMEM,
		     KVP_REASON_MEMORY, 0);
	ck_assert_int_eq(kvp_shim_fail_alloc, 0);
}
END_TEST

/* ---- guarantees say how much there would be ---- */

START_TEST(test_room_for_a_guarantee)
{
	struct kvp_client *late = kvpt_open(&env, OTHER);

	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_GUARANTEE, 1, 20));
	kvpt_refused(&env, a, kvpt_limit(a, kvpt_client_id(c), KVP_LIMIT_GUARANTEE, 1, 13),
		     -EFBIG, KVP_REASON_NEVER_FITS, 1);
	ck_assert_uint_eq(kvpt.limit.guarantee, 12);
	/* One's own does not count. */
	kvpt_refused(&env, a, kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_GUARANTEE, 1, 33),
		     -EFBIG, KVP_REASON_NEVER_FITS, 1);
	ck_assert_uint_eq(kvpt.limit.guarantee, 32);
	kvpt_refused(&env, a, kvpt_limit(a, 0, KVP_LIMIT_GUARANTEE, 1, 33), -EFBIG,
		     KVP_REASON_NEVER_FITS, 1);
	ck_assert_uint_eq(kvpt.limit.guarantee, 32);
	/* For those to come it is taken when they come. */
	kvpt_ok(kvpt_limit(a, 0, KVP_LIMIT_GUARANTEE, 1, 13));
	kvpt_refused(&env, a, kvpt_pool_attach(late, KVPT_POOL_NAME, 0), -EFBIG,
		     KVP_REASON_NEVER_FITS, 1);
	ck_assert_uint_eq(kvpt.pool_attach.room, 12);
	kvpt_ok(kvpt_limit(a, 0, KVP_LIMIT_GUARANTEE, 1, 12));
	kvpt_ok(kvpt_pool_attach(late, KVPT_POOL_NAME, 0));
	ck_assert_uint_eq(kvpt.pool_attach.room, 0);
	ck_assert_uint_eq(kvpt_family_of(a, 0, 1).guaranteed, 32);
}
END_TEST

/* ---- many uids ---- */

static struct kvp_client *join_as(u32 uid)
{
	const struct kvp_cred cred = { .uid = uid, .gid = uid };
	struct kvp_client *client = kvp_client_open(&env.host, env.door, &cred);

	ck_assert_ptr_nonnull(client);
	kvpt_ok(kvpt_pool_attach(client, KVPT_POOL_NAME, KVP_RIGHT_USE));
	return client;
}

START_TEST(test_more_uids_than_places)
{
	struct kvp_client *client;
	u64 x[4];
	u32 i;

	/* One with limits of its own, which are kept. */
	kvpt_ok(kvpt_limit_uid(a, 5000, KVP_LIMIT_BLOCKS, 0, 1));
	for (i = 0; i < KVP_MAX_CLIENTS + 100; i++) {
		client = join_as(10000 + i);
		kvpt_ok(kvpt_alloc(client, 0, 2, x));
		kvp_client_close(client);
	}
	kvpt_audit_clean(a);
	ck_assert_uint_eq(kvpt_pool_of(a)->nr_users, KVP_MAX_CLIENTS);
	client = join_as(5000);
	over_uid(kvpt_alloc(client, 0, 2, x), KVP_REASON_LIMIT_BLOCKS, 0);
	kvp_client_close(client);
	/* What others have is not disturbed. */
	kvpt_ok(kvpt_alloc(b, 0, 2, x));
	kvpt_ok(kvpt_stats_uid(a, UID, NULL, 0));
	ck_assert_uint_eq(kvpt.stats.raw, 2);
	ck_assert_uint_eq(kvpt.stats.nr_clients, 2);
}
END_TEST

/* All that ever were are gone: their places are there for others. */
START_TEST(test_places_of_those_who_left)
{
	static struct kvp_client *many[KVP_MAX_CLIENTS];
	struct kvp_client *loose = kvpt_open(&env, 20000);
	const u32 places = KVP_MAX_CLIENTS - KVP_ADMIN_CLIENTS;
	u32 i, free;

	for (i = 4; i < places; i++)
		many[i] = join_as(10000 + i);
	/* As many users as clients that administer could bring. */
	for (i = 0; i < KVP_ADMIN_CLIENTS; i++)
		kvpt_ok(kvpt_limit_uid(a, 30000 + i, KVP_LIMIT_SEQS, 0, 1));
	free = KVP_MAX_CLIENTS - kvpt_pool_of(a)->nr_users;
	ck_assert_uint_eq(free, 1);
	/* b and c are one. */
	kvpt_ok(kvpt_limit_uid(a, 20000, KVP_LIMIT_SEQS, 0, 1));
	kvpt_refused(&env, a, kvpt_limit_uid(a, 20001, KVP_LIMIT_SEQS, 0, 1), -EDQUOT,
		     KVP_REASON_LIMIT_CLIENTS, 0);
	kvpt_ok(kvpt_limit_uid(a, 10004, KVP_LIMIT_SEQS, 0, 1));
	kvpt_expect(kvpt_pool_attach(loose, KVPT_POOL_NAME, 0), -EDQUOT,
		    KVP_REASON_LIMIT_CLIENTS);
	for (i = 4; i < places; i++)
		kvp_client_close(many[i]);
	kvpt_ok(kvpt_pool_attach(loose, KVPT_POOL_NAME, 0));
	kvp_client_close(join_as(20001));
	kvp_client_close(join_as(20002));
	kvpt_audit_clean(a);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("limits of a uid");
	TCase *things = tcase_create("things");
	TCase *which = tcase_create("which");
	TCase *many = tcase_create("many");

	tcase_add_checked_fixture(things, setup, teardown);
	tcase_add_test(things, test_blocks);
	tcase_add_test(things, test_idle_blocks);
	tcase_add_test(things, test_slots);
	tcase_add_test(things, test_seqs);
	tcase_add_test(things, test_raw);
	tcase_add_test(things, test_matches);
	tcase_add_test(things, test_metadata);
	tcase_add_test(things, test_exports);
	tcase_add_test(things, test_backings);
	tcase_add_test(things, test_blocks_of_the_dead);
	suite_add_tcase(s, things);
	tcase_add_checked_fixture(which, setup, teardown);
	tcase_add_test(which, test_limits_of_any_uid);
	tcase_add_test(which, test_the_client_is_asked_first);
	tcase_add_test(which, test_only_what_the_mask_names);
	tcase_add_test(which, test_limits_that_cannot_be_set);
	tcase_add_test(which, test_room_for_a_guarantee);
	suite_add_tcase(s, which);
	tcase_set_timeout(many, 60);
	tcase_add_checked_fixture(many, setup, teardown);
	tcase_add_test(many, test_more_uids_than_places);
	tcase_add_test(many, test_places_of_those_who_left);
	suite_add_tcase(s, many);
	return kvpt_run(s);
}

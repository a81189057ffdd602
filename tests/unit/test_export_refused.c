// SPDX-License-Identifier: MIT
/*
 * Exports and imports that cannot be: each refusal says why and leaves everything as it was.
 */
#include <check.h>

#include "exportdoor.h"
#include "unit.h"

#define MAKER	1001
#define NR	10	/* tokens: two full nodes and a half */

static struct kvpt_env env;
static struct kvp_client *a, *b;
static u64 seq;
static u32 tok[64];

/* a has ADMIN; b, of another uid, has a sequence that can be exported. */
static void setup(void)
{
	kvpt_env_init(&env);
	env.door = kvpt_export_door(&kvpt_failing_door);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(32, 4),
		      KVPT_WINDOW(32, 4, 6) }, 2);
	b = kvpt_join(&env, MAKER, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	kvpt_tokens(tok, 64, 1);
	seq = kvpt_computed(b, 1, tok, NR);
}

static void teardown(void)
{
	kvp_shim_fail_alloc = 0;
	kvpt_export_give_error = 0;
	ck_assert_uint_eq(kvpt_exports_open(), 0);
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

/* The one that attached last. */
static struct kvp_client *last_client(void)
{
	return list_entry(kvpt_pool_of(a)->clients.prev, struct kvp_client, list);
}

/* ---- the sequence ---- */

START_TEST(test_no_such_sequence)
{
	u64 id;

	kvpt_refuses_bad_ids(&env, a, b, id, kvpt_export(b, id, NULL));
	kvpt_refused(&env, a, kvpt_while_busy(b, seq, kvpt_export(b, seq, NULL)), -EBUSY,
		     KVP_REASON_SEQ_BUSY, 0);
}
END_TEST

START_TEST(test_copies_are_owed)
{
	u64 child;
	s32 fd;

	kvpt_ok(kvpt_reserve(b, seq, 1));
	kvpt_ok(kvpt_fork(b, seq, KVP_POS_END, &child));
	ck_assert_uint_eq(kvpt.fork.nr_copies, 2);
	kvpt_refused(&env, a, kvpt_export(b, child, NULL), -EBUSY, KVP_REASON_COPY_PENDING, 0);
	kvpt_ok(kvpt_copied(b, child));
	kvpt_ok(kvpt_export(b, child, &fd));
	kvpt_export_close(fd);
}
END_TEST

/* A fork of it would need copies, and nobody is there who would make them. */
START_TEST(test_slots_beyond_what_is_computed)
{
	u64 other;
	s32 fd;

	kvpt_ok(kvpt_reserve(b, seq, 1));
	kvpt_refused(&env, a, kvpt_export(b, seq, NULL), -EINVAL, KVP_REASON_LENGTH, 0);
	kvpt_ok(kvpt_truncate(b, seq, NR));
	kvpt_ok(kvpt_export(b, seq, &fd));
	kvpt_export_close(fd);
	kvpt_ok(kvpt_create(b, 1, tok, NR, &other));
	kvpt_ok(kvpt_advance(b, other, NR - 1));
	kvpt_refused(&env, a, kvpt_export(b, other, NULL), -EINVAL, KVP_REASON_LENGTH, 0);
	/* At the end of a node that is no matter. */
	kvpt_ok(kvpt_create(b, 1, tok, NR, &other));
	kvpt_ok(kvpt_advance(b, other, 8));
	kvpt_ok(kvpt_export(b, other, &fd));
	kvpt_export_close(fd);
}
END_TEST

START_TEST(test_accumulated_state)
{
	struct kvp_client *owner = kvpt_open(&env, MAKER);
	u64 its;

	kvpt_ok(kvpt_pool_create(owner, "state", 0600, (struct kvp_family_desc[]){
				 KVPT_DENSE(8, 4), KVPT_STATE(4) }, 2));
	its = kvpt_computed(owner, 1, tok, 8);
	kvpt_refused(&env, owner, kvpt_export(owner, its, NULL), -EOPNOTSUPP,
		     KVP_REASON_STATE_FAMILY, 1);
}
END_TEST

/* ---- rights, pools, descriptors ---- */

START_TEST(test_rights)
{
	struct kvp_client *admin = kvpt_join(&env, KVPT_OWNER, KVP_RIGHT_ADMIN);

	kvpt_refused(&env, a, kvpt_export(admin, seq, NULL), -EACCES, KVP_REASON_RIGHT_USE, 0);
	kvpt_refused(&env, a, kvpt_import(admin, 0, NULL), -EACCES, KVP_REASON_RIGHT_USE, 0);
	kvpt_refused(&env, a, kvpt_revoke(admin, 1), -EACCES, KVP_REASON_RIGHT_USE, 0);
}
END_TEST

START_TEST(test_no_such_export)
{
	kvpt_refused(&env, a, kvpt_revoke(a, 0), -ENOENT, KVP_REASON_NO_EXPORT, 0);
	kvpt_refused(&env, a, kvpt_revoke(a, 4711), -ENOENT, KVP_REASON_NO_EXPORT, 0);
	/* A client, but no export. */
	kvpt_refused(&env, a, kvpt_revoke(a, kvpt_client_id(b)), -ENOENT,
		     KVP_REASON_NO_EXPORT, 0);
}
END_TEST

START_TEST(test_descriptors_that_are_none)
{
	const s32 bad[] = { -1, 5, 1000, 1001, 1 << 30, -(1 << 30) };
	u32 i;
	s32 fd;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		kvpt_refused(&env, a, kvpt_import(b, bad[i], NULL), -EBADF, KVP_REASON_NONE, 0);
	kvpt_refused(&env, a, kvpt_import(b, 0, NULL), -EINVAL, KVP_REASON_VALUE,
		     kvpt_at(struct kvp_seq_import, fd));
	kvpt_ok(kvpt_export(b, seq, &fd));
	kvpt_export_close(fd);
	kvpt_refused(&env, a, kvpt_import(b, fd, NULL), -EBADF, KVP_REASON_NONE, 0);
}
END_TEST

START_TEST(test_the_export_of_another_pool)
{
	struct kvp_client *stranger = kvpt_open(&env, MAKER);
	s32 fd;

	kvpt_ok(kvpt_pool_create(stranger, "second", 0600, (struct kvp_family_desc[]){
				 KVPT_DENSE(32, 4), KVPT_WINDOW(32, 4, 6) }, 2));
	kvpt_ok(kvpt_export(b, seq, &fd));
	kvpt_refused(&env, stranger, kvpt_import(stranger, fd, NULL), -EACCES,
		     KVP_REASON_FOREIGN, 0);
	/* Its id is that of nothing there. */
	kvpt_refused(&env, stranger, kvpt_revoke(stranger, kvpt_client_id(b) + 1), -ENOENT,
		     KVP_REASON_NO_EXPORT, 0);
	kvpt_audit_clean(a);
	kvpt_export_close(fd);
	kvpt_audit_clean(stranger);
}
END_TEST

/* The export's own sequence is at work in another call. */
START_TEST(test_another_call_works_on_it)
{
	struct kvp_client *export;
	u64 id;
	s32 fd;

	kvpt_ok(kvpt_export(b, seq, &fd));
	id = kvpt.seq_export.export_id;
	export = last_client();
	ck_assert_uint_eq(export->account->client, id);
	kvpt_refused(&env, a, kvpt_while_busy(export, export->account->export->seq,
					      kvpt_import(b, fd, NULL)),
		     -EBUSY, KVP_REASON_SEQ_BUSY, 0);
	kvpt_refused(&env, a, kvpt_while_busy(export, export->account->export->seq,
					      kvpt_revoke(a, id)),
		     -EBUSY, KVP_REASON_SEQ_BUSY, 0);
	kvpt_export_close(fd);
}
END_TEST

/* ---- the caller never learns of it ---- */

START_TEST(test_results_that_cannot_be_written)
{
	s32 fd;

	kvpt_refused(&env, a, (kvpt_fail_write = 1, kvpt_export(b, seq, NULL)), -EFAULT,
		     KVP_REASON_POINTER, 0);
	ck_assert_int_eq(kvpt_fail_write, 0);
	ck_assert_uint_eq(kvpt_exports_open(), 0);
	kvpt_ok(kvpt_export(b, seq, &fd));
	kvpt_fail_write = 1;
	/* Only the export has counted it. */
	kvpt_expect(kvpt_import(b, fd, NULL), -EFAULT, KVP_REASON_POINTER);
	kvpt_audit_clean(a);
	ck_assert_uint_eq(kvpt_counters_of(b, KVP_STATS_SELF).seqs, 1);
	ck_assert_uint_eq(kvpt_counters_of(b, KVP_STATS_SELF).slots, 6);
	kvpt_export_close(fd);
}
END_TEST

START_TEST(test_no_descriptor)
{
	const int errs[] = { -EMFILE, -ENFILE, -ENOMEM };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(errs); i++) {
		kvpt_export_give_error = errs[i];
		kvpt_refused(&env, a, kvpt_export(b, seq, NULL), errs[i],
			     errs[i] == -ENOMEM ? KVP_REASON_MEMORY : KVP_REASON_NONE, 0);
		ck_assert_int_eq(kvpt.seq_export.fd, -1);
		ck_assert_uint_eq(kvpt.seq_export.export_id, 0);
	}
}
END_TEST

/* ---- no memory ---- */

/* Each allocation of @expr fails once; yields how many there are. */
#define without_memory(expr)							\
({										\
	u32 nth_ = 0;								\
										\
	for (;;) {								\
		struct kvpt_world was_, is_;					\
		const char *diff_;						\
		int ret_;							\
										\
		kvpt_world_take(&env, a, &was_);				\
		kvp_shim_fail_alloc = ++nth_;					\
		ret_ = (expr);							\
		if (kvp_shim_fail_alloc) {					\
			kvp_shim_fail_alloc = 0;				\
			ck_assert_int_eq(ret_, 0);				\
			kvpt_world_drop(&was_);					\
			break;							\
		}								\
		ck_assert_int_eq(ret_, -ENOMEM);				\
		ck_assert_uint_eq(kvpt.head.reason, KVP_REASON_MEMORY);		\
		kvpt_world_take(&env, a, &is_);					\
		diff_ = kvpt_world_diff(&was_, &is_);				\
		ck_assert_msg(!diff_, "without allocation %u: %s", nth_, diff_);	\
		kvpt_audit_clean(a);						\
		kvpt_world_drop(&was_);						\
		kvpt_world_drop(&is_);						\
	}									\
	nth_ - 1;								\
})

START_TEST(test_every_allocation)
{
	struct kvp_client *c = kvpt_join(&env, MAKER + 1, KVP_RIGHT_USE);
	u64 copy, id;
	u32 nr;
	s32 fd;

	/* An export, a sequence, its runs and two tables, ids; an account, which stays. */
	nr = without_memory(kvpt_export(b, seq, &fd));
	id = kvpt.seq_export.export_id;
	ck_assert_uint_eq(nr, 6);
	/* A sequence, its runs and two tables, ids. */
	nr = without_memory(kvpt_import(c, fd, &copy));
	ck_assert_uint_eq(nr, 5);
	kvpt_expect_lengths(c, copy, NR, NR, NR, 0);
	kvp_shim_fail_alloc = 1;
	kvpt_ok(kvpt_revoke(b, id));
	kvpt_export_close(fd);
	ck_assert_int_eq(kvp_shim_fail_alloc, 1);
}
END_TEST

/* ---- limits ---- */

START_TEST(test_limit_of_exports)
{
	u64 id = kvpt_client_id(b);
	s32 fd[3];

	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_EXPORTS, 0, 2));
	kvpt_ok(kvpt_export(b, seq, &fd[0]));
	kvpt_ok(kvpt_export(b, seq, &fd[1]));
	kvpt_refused(&env, a, kvpt_export(b, seq, NULL), -EDQUOT, KVP_REASON_LIMIT_EXPORTS, 0);
	/* Revoked ones count as long as they are open. */
	kvpt_ok(kvpt_revoke(b, kvpt_client_id(b) + 1));
	kvpt_refused(&env, a, kvpt_export(b, seq, NULL), -EDQUOT, KVP_REASON_LIMIT_EXPORTS, 0);
	kvpt_export_close(fd[0]);
	kvpt_ok(kvpt_export(b, seq, &fd[2]));
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_EXPORTS, 0, 0));
	kvpt_export_close(fd[1]);
	kvpt_refused(&env, a, kvpt_export(b, seq, NULL), -EDQUOT, KVP_REASON_LIMIT_EXPORTS, 0);
	kvpt_export_close(fd[2]);
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_EXPORTS, 0, KVP_UNLIMITED));
	kvpt_ok(kvpt_export(b, seq, &fd[0]));
	kvpt_export_close(fd[0]);
}
END_TEST

/* An export has the limits of its maker, for itself. */
START_TEST(test_limits_of_an_export)
{
	u64 id = kvpt_client_id(b), bytes;
	struct kvp_client *export;
	s32 fd;

	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_SLOTS, 0, 5));
	kvpt_refused(&env, a, kvpt_export(b, seq, NULL), -EDQUOT, KVP_REASON_LIMIT_SLOTS, 0);
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_SLOTS, 0, 6));
	kvpt_ok(kvpt_export(b, seq, &fd));
	export = last_client();
	bytes = export->account->has[KVP_METADATA];
	ck_assert_uint_gt(bytes, 0);
	kvpt_export_close(fd);
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_METADATA, 0, bytes - 1));
	kvpt_refused(&env, a, kvpt_export(b, seq, NULL), -EDQUOT, KVP_REASON_LIMIT_METADATA, 0);
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_METADATA, 0, bytes));
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_BLOCKS, 0, 0));
	kvpt_ok(kvpt_export(b, seq, &fd));
	kvpt_export_close(fd);
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_SEQS, 0, 0));
	kvpt_refused(&env, a, kvpt_export(b, seq, NULL), -EDQUOT, KVP_REASON_LIMIT_SEQS, 0);
}
END_TEST

START_TEST(test_limits_of_an_importer)
{
	struct kvp_client *c = kvpt_join(&env, MAKER + 1, KVP_RIGHT_USE);
	u64 id = kvpt_client_id(c), copy;
	s32 fd;

	kvpt_ok(kvpt_export(b, seq, &fd));
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_SEQS, 0, 0));
	kvpt_refused(&env, a, kvpt_import(c, fd, NULL), -EDQUOT, KVP_REASON_LIMIT_SEQS, 0);
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_SEQS, 0, 1));
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_SLOTS, 0, 5));
	kvpt_refused(&env, a, kvpt_import(c, fd, NULL), -EDQUOT, KVP_REASON_LIMIT_SLOTS, 0);
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_SLOTS, 0, 6));
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_METADATA, 0, 100));
	kvpt_refused(&env, a, kvpt_import(c, fd, NULL), -EDQUOT, KVP_REASON_LIMIT_METADATA, 0);
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_METADATA, 0, KVP_UNLIMITED));
	/* Blocks are not charged: others hold them. */
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_BLOCKS, 0, 0));
	kvpt_ok(kvpt_import(c, fd, &copy));
	kvpt_refused(&env, a, kvpt_import(c, fd, NULL), -EDQUOT, KVP_REASON_LIMIT_SEQS, 0);
	kvpt_export_close(fd);
}
END_TEST

/* For exports, and for who may not administer the pool. */
#define PLACES	(KVP_MAX_CLIENTS - KVP_ADMIN_CLIENTS)

/* Whatever is a client takes one of the places for clients. */
START_TEST(test_as_many_exports_as_a_pool_can_have)
{
	struct kvp_client *client = kvpt_open(&env, MAKER);
	static s32 fd[PLACES];
	static struct kvp_export *exports[PLACES];
	u64 empty;
	u32 i;

	/* More than the table of descriptors is long: they are kept by hand. */
	kvpt_ok(kvpt_create(b, 1, NULL, 0, &empty));
	for (i = 2; i < PLACES; i++) {
		kvpt_ok(kvpt_export(b, empty, &fd[i]));
		exports[i] = env.door->export_take(fd[i]);
		kvpt_export_close(fd[i]);
	}
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nr_clients, PLACES);
	kvpt_expect(kvpt_export(b, empty, NULL), -EDQUOT, KVP_REASON_LIMIT_CLIENTS);
	kvpt_expect(kvpt_pool_attach(client, KVPT_POOL_NAME, 0), -EDQUOT,
		    KVP_REASON_LIMIT_CLIENTS);
	ck_assert_uint_eq(kvpt_counters_of(b, KVP_STATS_SELF).exports, PLACES - 2);
	kvpt_audit_clean(a);
	kvp_export_put(exports[17]);
	kvpt_ok(kvpt_pool_attach(client, KVPT_POOL_NAME, 0));
	for (i = 2; i < PLACES; i++)
		if (i != 17)
			kvp_export_put(exports[i]);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nr_clients, 3);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("export: refused");
	TCase *t = tcase_create("refused");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_no_such_sequence);
	tcase_add_test(t, test_copies_are_owed);
	tcase_add_test(t, test_slots_beyond_what_is_computed);
	tcase_add_test(t, test_accumulated_state);
	tcase_add_test(t, test_rights);
	tcase_add_test(t, test_no_such_export);
	tcase_add_test(t, test_descriptors_that_are_none);
	tcase_add_test(t, test_the_export_of_another_pool);
	tcase_add_test(t, test_another_call_works_on_it);
	tcase_add_test(t, test_results_that_cannot_be_written);
	tcase_add_test(t, test_no_descriptor);
	tcase_add_test(t, test_every_allocation);
	tcase_add_test(t, test_limit_of_exports);
	tcase_add_test(t, test_limits_of_an_export);
	tcase_add_test(t, test_limits_of_an_importer);
	tcase_add_test(t, test_as_many_exports_as_a_pool_can_have);
	suite_add_tcase(s, t);
	return kvpt_run(s);
}

// SPDX-License-Identifier: MIT
/*
 * KVP_OP_BATCH: order, results of each entry, ids that earlier entries made, stopping, and
 * what a batch refuses.
 */
#include <check.h>
#include <stdlib.h>

#include "copydoor.h"
#include "unit.h"

#define MAX	KVP_MAX_BATCH

static struct kvpt_env env;
static struct kvp_client *a;
static u32 tok[32];

static struct kvp_batch_entry entry[MAX + 1];
static union kvpt_arg arg[MAX + 1];
static u32 nr;

static void setup(void)
{
	kvpt_env_init(&env);
	env.door = &kvpt_copying_door;
	kvpt_copydoor = (struct kvpt_copydoor){ };
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(16, 4) }, 1);
	kvpt_tokens(tok, 32, 1);
	memset(entry, 0, sizeof(entry));
	memset(arg, 0, sizeof(arg));
	nr = 0;
}

static void teardown(void)
{
	ck_assert_int_eq(kvpt_copydoor.mapped, 0);
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

static u64 addr(const void *ptr)
{
	return (u64)(uintptr_t)ptr;
}

/* ---- entries ---- */

static union kvpt_arg *add(u32 op, u32 size)
{
	arg[nr].head.size = size;
	entry[nr] = (struct kvp_batch_entry){
		.op = op, .len = size, .arg = addr(&arg[nr]), .result = 77,
	};
	return &arg[nr++];
}

static u32 add_create(u32 tokens)
{
	struct kvp_seq_create *create = &add(KVP_OP_SEQ_CREATE, sizeof(*create))->seq_create;

	kvpt_digest(1, create->space);
	create->head.flags = KVP_SEQ_NO_MATCH;
	create->tokens = addr(tok);
	create->nr_tokens = tokens;
	return nr - 1;
}

static u32 add_append(u64 seq, u32 tokens)
{
	struct kvp_seq_append *append = &add(KVP_OP_SEQ_APPEND, sizeof(*append))->seq_append;

	append->seq = seq;
	append->tokens = addr(tok);
	append->nr_tokens = tokens;
	append->position = KVP_POS_END;
	return nr - 1;
}

static u32 add_advance(u64 seq, u64 computed)
{
	struct kvp_seq_advance *advance = &add(KVP_OP_SEQ_ADVANCE, sizeof(*advance))->advance;

	advance->seq = seq;
	advance->computed = computed;
	return nr - 1;
}

static u32 add_fork(u64 seq)
{
	struct kvp_seq_fork *fork = &add(KVP_OP_SEQ_FORK, sizeof(*fork))->fork;

	fork->seq = seq;
	fork->tokens = KVP_POS_END;
	return nr - 1;
}

static u32 add_free(u64 seq)
{
	add(KVP_OP_SEQ_FREE, sizeof(struct kvp_seq_id))->seq_id.seq = seq;
	return nr - 1;
}

static u32 add_abi(void)
{
	add(KVP_OP_ABI, sizeof(struct kvp_abi));
	return nr - 1;
}

static u32 executed(u32 flags)
{
	kvpt_ok(kvpt_batch(a, flags, entry, nr));
	return kvpt.batch.executed;
}

static void result(u32 i, int err, u32 reason, u32 where)
{
	ck_assert_msg(entry[i].result == err && arg[i].head.reason == reason &&
		      arg[i].head.where == where,
		      "entry %u: %d reason %u where %u, expected %d reason %u where %u", i,
		      entry[i].result, arg[i].head.reason, arg[i].head.where, err, reason, where);
}

/* ---- what it does ---- */

START_TEST(test_in_order)
{
	u64 seq;
	u32 i;

	kvpt_ok(kvpt_create(a, 1, NULL, 0, &seq));
	for (i = 0; i < 4; i++)
		add_append(seq, i + 1);
	ck_assert_uint_eq(executed(0), 4);
	/* Each says how many tokens it found. */
	for (i = 0; i < 4; i++) {
		result(i, 0, 0, 0);
		ck_assert_uint_eq(arg[i].seq_append.position, (u64)i * (i + 1) / 2);
	}
	kvpt_expect_lengths(a, seq, 10, 0, 10, 0);
}
END_TEST

START_TEST(test_as_many_as_there_may_be)
{
	u32 i;

	for (i = 0; i < MAX; i++)
		add_abi();
	ck_assert_uint_eq(executed(0), MAX);
	for (i = 0; i < MAX; i++) {
		result(i, 0, 0, 0);
		ck_assert_uint_eq(arg[i].abi.slice, KVP_SLICE);
	}
}
END_TEST

START_TEST(test_entries_fail_alone)
{
	add_create(4);
	add_append(5, 1);
	add_abi();
	entry[2].len--;
	add_abi();
	ck_assert_uint_eq(executed(0), 4);
	result(0, 0, 0, 0);
	result(1, -ENOENT, KVP_REASON_NO_SEQ, 0);
	result(2, -EINVAL, KVP_REASON_SIZE, 0);
	result(3, 0, 0, 0);
}
END_TEST

START_TEST(test_stop_on_error)
{
	add_create(4);
	add_append(5, 1);
	add_abi();
	add(0xfff, sizeof(struct kvp_head));
	ck_assert_uint_eq(executed(KVP_BATCH_STOP_ON_ERROR), 2);
	result(0, 0, 0, 0);
	result(1, -ENOENT, KVP_REASON_NO_SEQ, 0);
	result(2, -ECANCELED, KVP_REASON_EARLIER_ENTRY, 1);
	result(3, -ECANCELED, KVP_REASON_EARLIER_ENTRY, 1);
	ck_assert_uint_eq(arg[2].abi.slice, 0);
	/* What was executed stands. */
	kvpt_ok(kvpt_free(a, arg[0].seq_create.seq));
}
END_TEST

START_TEST(test_stop_without_an_error)
{
	add_create(4);
	add_abi();
	ck_assert_uint_eq(executed(KVP_BATCH_STOP_ON_ERROR), 2);
	result(0, 0, 0, 0);
	result(1, 0, 0, 0);
}
END_TEST

START_TEST(test_audit_as_an_entry)
{
	add_create(9);
	add(KVP_OP_AUDIT, sizeof(struct kvp_audit));
	ck_assert_uint_eq(executed(0), 2);
	result(1, 0, 0, 0);
	ck_assert_uint_eq(arg[1].audit.total, 0);
	ck_assert_uint_eq(arg[1].audit.checked_blocks, 16);
}
END_TEST

START_TEST(test_each_entry_needs_its_rights)
{
	struct kvp_client *b = kvpt_join(&env, 7, KVP_RIGHT_USE);

	add(KVP_OP_AUDIT, sizeof(struct kvp_audit));
	add_create(1);
	kvpt_ok(kvpt_batch(b, 0, entry, nr));
	ck_assert_uint_eq(kvpt.batch.executed, 2);
	result(0, -EACCES, KVP_REASON_RIGHT_ADMIN, 0);
	result(1, 0, 0, 0);
}
END_TEST

/* ---- ids that earlier entries made ---- */

START_TEST(test_ref_to_what_was_made)
{
	u32 create = add_create(6);
	u32 advance = add_advance(KVP_REF(create), 6);
	u32 fork = add_fork(KVP_REF(create));
	u32 append = add_append(KVP_REF(fork), 3);
	u32 free = add_free(KVP_REF(create));
	u32 i;

	arg[append].seq_append.copies = addr(kvpt_copies);
	arg[append].seq_append.nr_copies = KVPT_MAX_COPIES;
	ck_assert_uint_eq(executed(0), 5);
	for (i = 0; i < 5; i++)
		result(i, 0, 0, 0);
	/* The caller's own fields are as it wrote them. */
	ck_assert_uint_eq(arg[advance].advance.seq, KVP_REF(create));
	ck_assert_uint_eq(arg[fork].fork.seq, KVP_REF(create));
	ck_assert_uint_eq(arg[append].seq_append.seq, KVP_REF(fork));
	ck_assert_uint_eq(arg[free].seq_id.seq, KVP_REF(create));
	kvpt_expect(kvpt_free(a, arg[create].seq_create.seq), -ESTALE, KVP_REASON_GENERATION);
	kvpt_ok(kvpt_copied(a, arg[fork].fork.child));
	kvpt_expect_lengths(a, arg[fork].fork.child, 9, 6, 9, 0);
}
END_TEST

/* The id is the core's: what happens to the struct that told it does not matter. */
START_TEST(test_ref_although_the_struct_was_used_again)
{
	u32 create = add_create(4);
	u32 again = add_create(8);

	entry[again].arg = entry[create].arg;
	add_append(KVP_REF(create), 1);
	add_append(KVP_REF(again), 2);
	ck_assert_uint_eq(executed(0), 4);
	result(2, 0, 0, 0);
	result(3, 0, 0, 0);
	ck_assert_uint_eq(arg[2].seq_append.position, 4);
	ck_assert_uint_eq(arg[3].seq_append.position, 4);
	kvpt_expect_lengths(a, arg[create].seq_create.seq, 6, 0, 6, 0);
}
END_TEST

START_TEST(test_ref_to_a_held_match)
{
	struct kvp_prefix_match *match;
	struct kvp_block_refs *ref;
	u64 ids[2];

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	match = &add(KVP_OP_PREFIX_MATCH, sizeof(*match))->match;
	match->head.flags = KVP_MATCH_HOLD;
	kvpt_digest(1, match->space);
	match->tokens = addr(tok);
	match->nr_tokens = 8;
	match->blocks = addr(ids);
	match->nr_blocks = 2;
	ref = &add(KVP_OP_BLOCK_REF, sizeof(*ref))->block_refs;
	ref->head.flags = KVP_BLOCK_REF_MATCH;
	ref->holder = KVP_REF(0);
	ref->blocks = addr(ids);
	ref->nr = 2;
	add(KVP_OP_PREFIX_RELEASE, sizeof(struct kvp_prefix_release))->release.match =
		KVP_REF(0);
	ck_assert_uint_eq(executed(0), 3);
	result(0, 0, 0, 0);
	result(1, 0, 0, 0);
	result(2, 0, 0, 0);
	ck_assert_uint_eq(ref->holder, KVP_REF(0));
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).matches, 0);
	kvpt_ok(kvpt_unref(a, ids, 2));
}
END_TEST

START_TEST(test_ref_to_nothing)
{
	struct kvp_prefix_match *match;
	const u64 bad[] = {
		KVP_REF(0),		/* made no object */
		KVP_REF(1),		/* failed */
		KVP_REF(2),		/* matched nothing */
		KVP_REF(3),		/* itself */
		KVP_REF(4),		/* later */
		KVP_REF(MAX),
		KVP_REF(1ULL << 40),
		~0ULL,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		nr = 0;
		add_abi();
		add_create(4);
		arg[1].seq_create.reserve = 1 << 20;
		match = &add(KVP_OP_PREFIX_MATCH, sizeof(*match))->match;
		match->head.flags = KVP_MATCH_HOLD;
		match->tokens = addr(tok);
		match->nr_tokens = 8;
		add_free(bad[i]);
		add_create(0);
		ck_assert_uint_eq(executed(0), 5);
		result(1, -EFBIG, KVP_REASON_NEVER_FITS, 0);
		result(2, 0, 0, 0);
		result(3, -EINVAL, KVP_REASON_BATCH_REF, (u32)bad[i]);
		ck_assert_uint_eq(arg[3].seq_id.seq, bad[i]);
		result(4, 0, 0, 0);
		kvpt_ok(kvpt_free(a, arg[4].seq_create.seq));
		memset(arg, 0, sizeof(arg));
	}
}
END_TEST

/* A block id may look like one. */
START_TEST(test_block_id_is_no_ref)
{
	u64 id = KVP_REF(0);
	struct kvp_block_refs *unref;

	add_create(1);
	unref = &add(KVP_OP_BLOCK_UNREF, sizeof(*unref))->block_refs;
	unref->blocks = addr(&id);
	unref->nr = 1;
	ck_assert_uint_eq(executed(0), 2);
	result(1, -ENOENT, KVP_REASON_NO_BLOCK, 0);
}
END_TEST

/* ---- what it refuses ---- */

START_TEST(test_no_nesting)
{
	const u32 ops[] = {
		KVP_OP_BATCH, KVP_OP_POOL_CREATE, KVP_OP_POOL_ATTACH, KVP_OP_POOL_DESTROY,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		add(ops[i], kvp_op_find(ops[i])->size);
	add_abi();
	ck_assert_uint_eq(executed(0), 5);
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		result(i, -EINVAL, KVP_REASON_NESTING, 0);
	result(4, 0, 0, 0);
	/* Of those structs only the reason was written. */
	ck_assert_uint_eq(arg[1].head.size, sizeof(struct kvp_pool_create));
	kvpt_ok(kvpt_pool_info(a, NULL, 0));
}
END_TEST

START_TEST(test_unknown_operation)
{
	add(0x0f, sizeof(struct kvp_head));
	add(~0U, sizeof(struct kvp_head) - 1);
	arg[1].head.reason = 5;
	ck_assert_uint_eq(executed(0), 2);
	result(0, -ENOTTY, KVP_REASON_OPERATION, 0);
	/* A reason does not fit into what is said to be there. */
	result(1, -ENOTTY, 5, 0);
}
END_TEST

START_TEST(test_length_of_an_entry)
{
	add_abi();
	entry[0].len = 0;
	add_abi();
	entry[1].len = sizeof(struct kvp_abi) + 8;
	add_abi();
	entry[2].arg = 0;
	ck_assert_uint_eq(executed(0), 3);
	result(0, -EINVAL, KVP_REASON_SIZE, 0);
	result(1, -EINVAL, KVP_REASON_SIZE, 0);
	ck_assert_int_eq(entry[2].result, -EFAULT);
	/* A struct without an address is told nothing. */
	nr = 0;
	add(0x0f, sizeof(struct kvp_head));
	entry[0].arg = 0;
	ck_assert_uint_eq(executed(0), 1);
	ck_assert_int_eq(entry[0].result, -ENOTTY);
}
END_TEST

START_TEST(test_reserved_field_of_an_entry)
{
	add_create(4);
	add_abi();
	entry[1].reserved = 1;
	kvpt_expect(kvpt_batch(a, 0, entry, nr), -EINVAL, KVP_REASON_RESERVED);
	ck_assert_uint_eq(kvpt.batch.head.where, 1);
	ck_assert_uint_eq(kvpt.batch.executed, 0);
	/* Nothing was executed. */
	ck_assert_int_eq(entry[0].result, 77);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).seqs, 0);
}
END_TEST

START_TEST(test_number_of_entries)
{
	kvpt_expect(kvpt_batch(a, 0, entry, 0), -EINVAL, KVP_REASON_COUNT);
	kvpt_expect(kvpt_batch(a, 0, entry, MAX + 1), -EOVERFLOW, KVP_REASON_COUNT);
	kvpt_expect(kvpt_batch(a, 2, entry, 1), -EINVAL, KVP_REASON_FLAG);
	kvpt_expect(kvpt_batch(a, 0, NULL, 1), -EFAULT, KVP_REASON_POINTER);
}
END_TEST

START_TEST(test_no_memory)
{
	/* Fewer need none. */
	while (nr <= 64)
		add_create(4);
	kvp_shim_fail_alloc = 1;
	kvpt_expect(kvpt_batch(a, 0, entry, nr), -ENOMEM, KVP_REASON_MEMORY);
	ck_assert_int_eq(kvp_shim_fail_alloc, 0);
	ck_assert_int_eq(entry[0].result, 77);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).seqs, 0);
}
END_TEST

START_TEST(test_results_that_cannot_be_brought)
{
	add_create(4);
	kvpt_copydoor.fail_put = 1;
	kvpt_expect(kvpt_batch(a, 0, entry, nr), -EFAULT, KVP_REASON_POINTER);
	/* What was executed stands, and its struct says so. */
	ck_assert_uint_eq(kvpt_counters_of(a, 0).seqs, 1);
	kvpt_ok(kvpt_free(a, arg[0].seq_create.seq));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("batch");
	TCase *works = tcase_create("works");
	TCase *refs = tcase_create("refs");
	TCase *refuses = tcase_create("refuses");

	tcase_add_checked_fixture(works, setup, teardown);
	tcase_add_test(works, test_in_order);
	tcase_add_test(works, test_as_many_as_there_may_be);
	tcase_add_test(works, test_entries_fail_alone);
	tcase_add_test(works, test_stop_on_error);
	tcase_add_test(works, test_stop_without_an_error);
	tcase_add_test(works, test_audit_as_an_entry);
	tcase_add_test(works, test_each_entry_needs_its_rights);
	suite_add_tcase(s, works);

	tcase_add_checked_fixture(refs, setup, teardown);
	tcase_add_test(refs, test_ref_to_what_was_made);
	tcase_add_test(refs, test_ref_although_the_struct_was_used_again);
	tcase_add_test(refs, test_ref_to_a_held_match);
	tcase_add_test(refs, test_ref_to_nothing);
	tcase_add_test(refs, test_block_id_is_no_ref);
	suite_add_tcase(s, refs);

	tcase_add_checked_fixture(refuses, setup, teardown);
	tcase_add_test(refuses, test_no_nesting);
	tcase_add_test(refuses, test_unknown_operation);
	tcase_add_test(refuses, test_length_of_an_entry);
	tcase_add_test(refuses, test_reserved_field_of_an_entry);
	tcase_add_test(refuses, test_number_of_entries);
	tcase_add_test(refuses, test_no_memory);
	tcase_add_test(refuses, test_results_that_cannot_be_brought);
	suite_add_tcase(s, refuses);
	return s;
}

int main(void)
{
	setenv("CK_FORK", "no", 0);
	return kvpt_run(suite());
}

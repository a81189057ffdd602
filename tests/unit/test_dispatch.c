// SPDX-License-Identifier: MIT
/*
 * The frame of a call: what it reads and writes of the caller's, when, and what becomes of a
 * call whose result cannot be brought to the caller.
 */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>

#include "copydoor.h"
#include "unit.h"

static struct kvpt_env env;
static struct kvp_client *a;
static u32 tok[32];

static void setup(void)
{
	kvpt_env_init(&env);
	env.door = &kvpt_copying_door;
	kvpt_copydoor = (struct kvpt_copydoor){ };
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(16, 4) }, 1);
	kvpt_tokens(tok, 32, 1);
}

static void teardown(void)
{
	kvpt_copydoor.hook = NULL;
	ck_assert_int_eq(kvpt_copydoor.mapped, 0);
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

static u64 addr(const void *ptr)
{
	return (u64)(uintptr_t)ptr;
}

/* ---- the result ---- */

START_TEST(test_result_is_written_once)
{
	u64 ids[2];
	struct kvp_block_alloc arg = {
		.head = { .size = sizeof(arg), .reason = 77, .where = 78 },
		.blocks = addr(ids),
		.nr = 2,
	};

	kvpt_copydoor = (struct kvpt_copydoor){ };
	ck_assert_int_eq(kvp_call(a, KVP_OP_BLOCK_ALLOC, addr(&arg), sizeof(arg)), 0);
	/* Size and struct; struct; array. */
	ck_assert_int_eq(kvpt_copydoor.reads, 2);
	ck_assert_int_eq(kvpt_copydoor.writes, 1);
	ck_assert_int_eq(kvpt_copydoor.maps, 1);
	ck_assert_uint_eq(arg.head.size, sizeof(arg));
	ck_assert_uint_eq(arg.head.flags, 0);
	ck_assert_uint_eq(arg.head.reason, 0);
	ck_assert_uint_eq(arg.head.where, 0);
	ck_assert_uint_eq(arg.blocks, addr(ids));
	ck_assert_uint_eq(arg.nr, 2);
	ck_assert_uint_ne(ids[0], ids[1]);
	kvpt_ok(kvpt_unref(a, ids, 2));
}
END_TEST

START_TEST(test_refusal_writes_the_reason_only)
{
	struct kvp_abi arg = {
		.head = { .size = sizeof(arg), .flags = 4, .reason = 77, .where = 78 },
		.features = 79,
	};

	kvpt_copydoor = (struct kvpt_copydoor){ };
	ck_assert_int_eq(kvp_call(a, KVP_OP_ABI, addr(&arg), 0), -EINVAL);
	ck_assert_int_eq(kvpt_copydoor.writes, 1);
	ck_assert_uint_eq(arg.head.flags, 4);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_FLAG);
	ck_assert_uint_eq(arg.head.where, 0);
	ck_assert_uint_eq(arg.features, 79);
}
END_TEST

START_TEST(test_outputs_of_a_failure_are_written)
{
	struct kvp_family_desc desc[2] = { };
	struct kvp_client *b = kvpt_open(&env, 7);

	kvpt_ok(kvpt_pool_create(b, "two", 0, (struct kvp_family_desc[]){ KVPT_DENSE(8, 4),
				 KVPT_DENSE(8, 8) }, 2));
	kvpt_expect(kvpt_pool_info(b, desc, 1), -EOVERFLOW, KVP_REASON_COUNT);
	ck_assert_uint_eq(kvpt.pool_info.nr_families, 2);
	/* But not its arrays. */
	ck_assert_uint_eq(desc[0].kind, 0);
	kvpt_ok(kvpt_pool_info(b, desc, 2));
	ck_assert_uint_eq(desc[0].block_tokens, 4);
	ck_assert_uint_eq(desc[1].block_tokens, 8);
}
END_TEST

START_TEST(test_arrays_of_a_failure_are_not_written)
{
	u64 ids[3] = { 1, 2, 3 };

	kvpt_expect(kvpt_alloc(a, 9, 3, ids), -EINVAL, KVP_REASON_FAMILY);
	ck_assert_uint_eq(ids[0], 1);
	ck_assert_uint_eq(ids[2], 3);
}
END_TEST

START_TEST(test_input_arrays_are_not_written)
{
	u32 copy[8];
	u64 seq;

	memcpy(copy, tok, sizeof(copy));
	kvpt_copydoor.fail_put = 1;
	kvpt_ok(kvpt_create(a, 1, copy, 8, &seq));
	/* Nothing was brought back, so nothing has failed. */
	ck_assert_int_eq(kvpt_copydoor.fail_put, 1);
	kvpt_copydoor.fail_put = 0;
	ck_assert(!memcmp(copy, tok, sizeof(copy)));
}
END_TEST

static void gate_is_free(void)
{
	struct rw_semaphore *gate = &kvpt_pool_of(a)->gate;

	ck_assert_int_eq(pthread_rwlock_trywrlock(&gate->lock), 0);
	pthread_rwlock_unlock(&gate->lock);
}

START_TEST(test_gate_is_not_held_over_the_callers_memory)
{
	struct kvp_finding findings[4];
	struct kvp_batch_entry entry = { .op = KVP_OP_BLOCK_ALLOC };
	u64 ids[2], seq;
	struct kvp_block_alloc alloc = {
		.head.size = sizeof(alloc), .blocks = addr(ids), .nr = 2,
	};

	kvpt_copydoor.hook = gate_is_free;
	kvpt_ok(kvpt_create(a, 1, tok, 8, &seq));
	kvpt_ok(kvpt_append(a, seq, tok, 3));
	kvpt_ok(kvpt_audit(a, findings, 4));
	entry.arg = addr(&alloc);
	entry.len = sizeof(alloc);
	kvpt_ok(kvpt_batch(a, 0, &entry, 1));
	ck_assert_int_eq(entry.result, 0);
	kvpt_copydoor.hook = NULL;
}
END_TEST

/* ---- results that cannot be brought ---- */

/* What a client can have made; not what only grows: generations, counts of looking. */
static void same_objects(const struct kvp_stats *is, const struct kvp_stats *was)
{
	ck_assert_uint_eq(is->seqs, was->seqs);
	ck_assert_uint_eq(is->slots, was->slots);
	ck_assert_uint_eq(is->raw, was->raw);
	ck_assert_uint_eq(is->matches, was->matches);
	ck_assert_uint_eq(is->nodes_used, was->nodes_used);
	ck_assert_uint_eq(is->namespaces, was->namespaces);
	ck_assert_uint_eq(is->extras_used, was->extras_used);
}

/* Make @expr with the write, or the put, failing: EFAULT, and it is as if never called. */
#define undone(what, expr)							\
do {										\
	struct kvp_stats before_ = kvpt_counters_of(a, KVP_STATS_SELF);		\
	struct kvp_stats pool_before_ = kvpt_counters_of(a, 0);			\
	struct kvp_family_stats family_ = kvpt_family_of(a, 0, 0);		\
	struct kvp_family_stats left_;						\
	struct kvp_stats after_;						\
										\
	kvpt_copydoor.what = 1;							\
	ck_assert_int_eq(expr, -EFAULT);					\
	ck_assert_int_eq(kvpt_copydoor.what, 0);				\
	ck_assert_uint_eq(kvpt.head.reason, KVP_REASON_POINTER);		\
	ck_assert_int_eq(kvpt_copydoor.mapped, 0);				\
	after_ = kvpt_counters_of(a, KVP_STATS_SELF);				\
	same_objects(&after_, &before_);					\
	after_ = kvpt_counters_of(a, 0);					\
	same_objects(&after_, &pool_before_);					\
	left_ = kvpt_family_of(a, 0, 0);					\
	ck_assert(!memcmp(&left_, &family_, sizeof(left_)));			\
	kvpt_audit_clean(a);							\
} while (0)

START_TEST(test_alloc_is_undone)
{
	u64 ids[4] = { ~0ULL, ~0ULL, ~0ULL, ~0ULL };
	u32 i;

	undone(fail_write, kvpt_alloc(a, 0, 4, ids));
	undone(fail_put, kvpt_alloc(a, 0, 4, ids));
	ck_assert_uint_eq(kvpt.head.where, offsetof(struct kvp_block_alloc, blocks));
	/* Nobody was told the ids of the undone ones. */
	for (i = 0; i < ARRAY_SIZE(ids); i++)
		ck_assert_uint_eq(ids[i], ~0ULL);
}
END_TEST

START_TEST(test_make_private_is_undone)
{
	u64 id, ids[2];

	kvpt_ok(kvpt_alloc(a, 0, 1, &id));
	kvpt_ok(kvpt_ref(a, &id, 1));
	undone(fail_write, kvpt_make_private(a, id, NULL));
	ids[0] = id;
	ids[1] = id;
	kvpt_ok(kvpt_unref(a, ids, 2));
}
END_TEST

START_TEST(test_seq_create_is_undone)
{
	undone(fail_write, kvpt_create(a, 1, tok, 8, NULL));
}
END_TEST

START_TEST(test_fork_is_undone)
{
	u64 seq = kvpt_computed(a, 1, tok, 6);

	/* The parent can write on in its last block, so there are copies to tell. */
	kvpt_ok(kvpt_reserve(a, seq, 2));
	undone(fail_write, kvpt_fork(a, seq, KVP_POS_END, NULL));
	undone(fail_put, kvpt_fork(a, seq, KVP_POS_END, NULL));
	ck_assert_uint_eq(kvpt.head.where, offsetof(struct kvp_seq_fork, copies));
}
END_TEST

START_TEST(test_held_match_is_undone)
{
	u64 match, ids[2];

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	undone(fail_write, kvpt_match(a, 1, tok, 8, &match));
	undone(fail_put, kvpt_match_blocks(a, 1, tok, 8, 0, ids, 2, &match));
	ck_assert_uint_eq(kvpt.head.where, offsetof(struct kvp_prefix_match, blocks));
}
END_TEST

START_TEST(test_append_stands)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 2, &seq));
	kvpt_copydoor.fail_write = 1;
	ck_assert_int_eq(kvpt_append(a, seq, tok, 3), -EFAULT);
	kvpt_expect_lengths(a, seq, 5, 0, 5, 0);
}
END_TEST

START_TEST(test_attach_stands)
{
	struct kvp_client *b = kvpt_open(&env, 8);

	kvpt_copydoor.fail_write = 1;
	ck_assert_int_eq(kvpt_pool_attach(b, KVPT_POOL_NAME, 0), -EFAULT);
	kvpt_ok(kvpt_pool_info(b, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_info.nr_clients, 2);
}
END_TEST

START_TEST(test_errno_of_a_failure_stays)
{
	u64 ids[2];

	kvpt_copydoor.fail_write = 1;
	ck_assert_int_eq(kvpt_alloc(a, 9, 2, ids), -EINVAL);
	kvpt_copydoor.fail_write = 1;
	kvpt_abi(a);
	ck_assert_int_eq(kvpt_copydoor.fail_write, 0);
}
END_TEST

/* ---- many threads ---- */

static void *caller(void *data)
{
	int i;

	for (i = 0; i < 200; i++) {
		struct kvp_abi abi = { .head.size = sizeof(abi) };
		struct kvp_stats stats = { .head.size = sizeof(stats) };

		if (kvp_call(data, KVP_OP_ABI, addr(&abi), 0) ||
		    kvp_call(data, KVP_OP_STATS, addr(&stats), 0))
			return data;
	}
	return NULL;
}

START_TEST(test_several_threads_on_one_client)
{
	struct kvp_client *b;
	pthread_t thread[4];
	void *result[4];
	int i;

	/* The copying door counts without a lock. */
	env.door = &kvp_inproc_door;
	b = kvpt_join(&env, 9, 0);
	for (i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, caller, b), 0);
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], &result[i]);
	for (i = 0; i < 4; i++)
		ck_assert_ptr_null(result[i]);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("dispatch");
	TCase *result = tcase_create("result");
	TCase *undo = tcase_create("undo");

	tcase_add_checked_fixture(result, setup, teardown);
	tcase_add_test(result, test_result_is_written_once);
	tcase_add_test(result, test_refusal_writes_the_reason_only);
	tcase_add_test(result, test_outputs_of_a_failure_are_written);
	tcase_add_test(result, test_arrays_of_a_failure_are_not_written);
	tcase_add_test(result, test_input_arrays_are_not_written);
	tcase_add_test(result, test_gate_is_not_held_over_the_callers_memory);
	tcase_add_test(result, test_several_threads_on_one_client);
	suite_add_tcase(s, result);

	tcase_add_checked_fixture(undo, setup, teardown);
	tcase_add_test(undo, test_alloc_is_undone);
	tcase_add_test(undo, test_make_private_is_undone);
	tcase_add_test(undo, test_seq_create_is_undone);
	tcase_add_test(undo, test_fork_is_undone);
	tcase_add_test(undo, test_held_match_is_undone);
	tcase_add_test(undo, test_append_stands);
	tcase_add_test(undo, test_attach_stands);
	tcase_add_test(undo, test_errno_of_a_failure_stays);
	suite_add_tcase(s, undo);
	return s;
}

int main(void)
{
	setenv("CK_FORK", "no", 0);
	return kvpt_run(suite());
}

// SPDX-License-Identifier: MIT
/*
 * No memory, where work is in flight or somebody waits: each allocation of each operation fails
 * once, with everything as before; what gives things back needs none.
 */
#include <check.h>

#include "allocs.h"
#include "exportdoor.h"
#include "fences.h"
#include "unit.h"

static struct kvpt_env env;
static struct kvp_client *a;
static u32 tok[64], other[64];

static void setup(void)
{
	kvpt_env_init(&env);
	env.door = kvpt_export_door(&kvp_inproc_door);
	a = kvpt_pool_with(&env, &(struct kvp_pool_create){ .head.flags = KVP_POOL_STRICT },
			   (struct kvp_family_desc[]){ KVPT_DENSE(64, 4),
			   KVPT_WINDOW(64, 4, 6) }, 2);
	kvpt_tokens(tok, 64, 1);
	kvpt_tokens(other, 64, 2);
}

static void teardown(void)
{
	kvp_shim_fail_alloc = 0;
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

/* A sequence that work reads. */
static u64 used(u32 nr, u32 timeline, u64 value)
{
	u64 seq = kvpt_computed(a, 1, tok, nr);

	kvpt_ok(kvpt_use_read(a, seq, timeline, value));
	return seq;
}

START_TEST(test_timeline_create)
{
	u32 t;

	/* What all of them are in, and the page. */
	ck_assert_uint_eq(allocations_of(kvpt_timeline_create(a, &t)), 2);
	ck_assert_uint_eq(t, 0);
	allocates_nothing(kvpt_timeline_create(a, &t));
	ck_assert_uint_eq(t, 1);
}
END_TEST

START_TEST(test_use)
{
	struct kvp_use_entry entries[12];
	u64 seq = kvpt_computed(a, 1, tok, 8), second = kvpt_computed(a, 2, tok, 8), blocks[3];
	u32 t = kvpt_timeline(a), i;

	kvpt_ok(kvpt_alloc(a, 0, 3, blocks));
	/* As many as a sequence has room for. */
	for (i = 0; i < 4; i++)
		allocates_nothing(kvpt_use_read(a, seq, t, i + 1));
	/* Then for each of two sequences, and for each of two fences of blocks. */
	for (i = 0; i < 6; i++)
		entries[i] = (struct kvp_use_entry)KVPT_READ(second, t, 10 + i);
	entries[6] = (struct kvp_use_entry)KVPT_BLOCK(blocks[0], t, 20);
	entries[7] = (struct kvp_use_entry)KVPT_BLOCK(blocks[1], t, 20);
	entries[8] = (struct kvp_use_entry)KVPT_READ(seq, t, 21);
	entries[9] = (struct kvp_use_entry)KVPT_BLOCK(blocks[2], t, 22);
	ck_assert_uint_ge(allocations_of(kvpt_use(a, entries, 10)), 4);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).uses, 14);
	kvpt_ok(kvpt_signal(a, t, 22));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).uses, 0);
}
END_TEST

START_TEST(test_truncate)
{
	u32 t = kvpt_timeline(a);
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 40, &seq));
	kvpt_ok(kvpt_use_read(a, seq, t, 1));
	ck_assert_uint_eq(allocations_of(kvpt_truncate(a, seq, 30)), 1);
	ck_assert_uint_ge(allocations_of(kvpt_truncate(a, seq, 0)), 0);
	ck_assert_uint_eq(kvpt_blocks(a, 0, KVP_BLOCK_HELD_BACK), 10);
	kvpt_ok(kvpt_signal(a, t, 1));
	ck_assert_uint_eq(kvpt_blocks(a, 0, KVP_BLOCK_HELD_BACK), 0);
}
END_TEST

START_TEST(test_append_with_copies)
{
	u32 t = kvpt_timeline(a);
	u64 seq = used(6, t, 1), child;

	kvpt_ok(kvpt_fork(a, seq, 6, &child));
	ck_assert_uint_gt(allocations_of(kvpt_append(a, seq, other, 58)), 0);
	ck_assert_uint_gt(kvpt.seq_append.nr_copies, 0);
	allocations_of(kvpt_copied(a, seq));
	kvpt_ok(kvpt_signal(a, t, 1));
}
END_TEST

START_TEST(test_copied)
{
	u32 t = kvpt_timeline(a);
	u64 seq = kvpt_computed(a, 1, tok, 6), child;

	kvpt_ok(kvpt_fork(a, seq, 6, &child));
	kvpt_ok(kvpt_append(a, child, other, 1));
	ck_assert_uint_gt(kvpt.seq_append.nr_copies, 0);
	kvpt_ok(kvpt_use_read(a, child, t, 1));
	ck_assert_uint_eq(allocations_of(kvpt_copied(a, child)), 1);
	kvpt_ok(kvpt_signal(a, t, 1));
}
END_TEST

START_TEST(test_publish_that_adopts)
{
	u32 t = kvpt_timeline(a);
	u64 seq;

	kvpt_ok(kvpt_make_published(a, 1, tok, 16));
	kvpt_ok(kvpt_create_flags(a, KVP_SEQ_NO_MATCH, 1, tok, 17, &seq));
	kvpt_ok(kvpt_advance(a, seq, 16));
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 16, 17));
	ck_assert_uint_eq(allocations_of(kvpt_publish(a, seq)), 1);
	ck_assert_uint_eq(kvpt.publish.nr_shared, 4);
	kvpt_ok(kvpt_signal(a, t, 1));
}
END_TEST

START_TEST(test_export)
{
	u32 t = kvpt_timeline(a);
	u64 seq;
	s32 fd = -1;

	kvpt_ok(kvpt_create(a, 1, tok, 8, &seq));
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 8));
	ck_assert_uint_gt(allocations_of(kvpt_export(a, seq, &fd)), 2);
	kvpt_export_close(fd);
	kvpt_ok(kvpt_signal(a, t, 1));
}
END_TEST

START_TEST(test_admit)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	u64 blocks[64], ticket;

	allocates_nothing(kvpt_admit(a, 0, 10));
	allocates_nothing(kvpt_admit_drop(a, 0, 10));
	kvpt_ok(kvpt_alloc(b, 0, 60, blocks));
	/* The ticket, and the table of ids. */
	ck_assert_uint_eq(allocations_of(kvpt_admit_queue(a, 0, 8, &ticket)), 2);
	ck_assert_uint_eq(kvpt.admit.state, KVP_ADMIT_WAITING);
	allocates_nothing(kvpt_unref(b, blocks, 4));
	allocates_nothing(kvpt_admit_take(a, ticket));
	ck_assert_uint_eq(allocations_of(kvpt_admit_queue(a, 0, 1, &ticket)), 1);
	allocates_nothing(kvpt_admit_cancel(a, ticket));
}
END_TEST

START_TEST(test_what_needs_no_memory)
{
	struct kvp_fence fence = { .value = 1 };
	u32 t = kvpt_timeline(a);
	u64 seq = used(16, t, 1), block;

	kvpt_ok(kvpt_alloc(a, 0, 1, &block));
	kvpt_ok(kvpt_use_block(a, block, t, 1));
	allocates_nothing(kvpt_query(a, &fence, 1));
	allocates_nothing(kvpt_watch(a, t, 1));
	allocates_nothing(kvpt_free(a, seq));
	allocates_nothing(kvpt_unref(a, &block, 1));
	ck_assert_uint_eq(kvpt_blocks(a, 0, KVP_BLOCK_HELD_BACK), 5);
	allocates_nothing(kvpt_signal(a, t, 1));
	allocates_nothing(kvpt_query(a, &fence, 1));
	ck_assert_uint_eq(fence.passed, 1);
	ck_assert_uint_eq(kvpt_blocks(a, 0, KVP_BLOCK_FREE), 64);
}
END_TEST

START_TEST(test_death_and_reap_need_no_memory)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	u64 seq, blocks[4], ticket;
	u32 t = kvpt_timeline(b);

	kvpt_ok(kvpt_create(b, 1, tok, 40, &seq));
	kvpt_ok(kvpt_use_write(b, seq, t, 1, 0, 40));
	kvpt_ok(kvpt_truncate(b, seq, 30));
	kvpt_ok(kvpt_alloc(b, 0, 4, blocks));
	kvpt_ok(kvpt_use_block(b, blocks[1], t, 2));
	kvpt_ok(kvpt_admit(b, 0, 2));
	kvpt_ok(kvpt_admit_queue(b, 0, 60, &ticket));
	kvp_shim_fail_alloc = 1;
	kvpt_close(&env, b);
	ck_assert_int_eq(kvp_shim_fail_alloc, 1);
	kvp_shim_fail_alloc = 0;
	ck_assert_uint_eq(kvpt_blocks(a, 0, KVP_BLOCK_HELD_BACK), 11);
	ck_assert_uint_eq(kvpt_blocks(a, 0, KVP_BLOCK_HELD), 0);
	allocates_nothing(kvpt_reap(a, 0));
	ck_assert_uint_eq(kvpt.reap.clients, 1);
	ck_assert_uint_eq(kvpt_blocks(a, 0, KVP_BLOCK_FREE), 64);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("alloc_fail_fence");
	TCase *tc = tcase_create("alloc_fail_fence");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_timeline_create);
	tcase_add_test(tc, test_use);
	tcase_add_test(tc, test_truncate);
	tcase_add_test(tc, test_append_with_copies);
	tcase_add_test(tc, test_copied);
	tcase_add_test(tc, test_publish_that_adopts);
	tcase_add_test(tc, test_export);
	tcase_add_test(tc, test_admit);
	tcase_add_test(tc, test_what_needs_no_memory);
	tcase_add_test(tc, test_death_and_reap_need_no_memory);
	suite_add_tcase(suite, tc);
	return kvpt_run(suite);
}

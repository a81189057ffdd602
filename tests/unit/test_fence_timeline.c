// SPDX-License-Identifier: MIT
/*
 * Timelines: their making, what values are right, signal, query, and who is told. Values are
 * written into the page as work writes them, and by the operation.
 */
#include <check.h>

#include "fences.h"
#include "unit.h"

static struct kvpt_env env;
static struct kvp_client *a, *b;
static u64 seq;

static void setup(void)
{
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(16, 4) }, 1);
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	kvpt_ok(kvpt_create(a, 1, NULL, 0, &seq));
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

/* A timeline of a with this much announced. */
static u32 announced(u64 value)
{
	u32 t = kvpt_timeline(a);

	kvpt_ok(kvpt_use_read(a, seq, t, value));
	return t;
}

#define expect_fence(client, timeline_, value_, passed_, seen_, announced_)		\
do {											\
	struct kvp_fence fence_ = kvpt_fence(client, timeline_, value_);		\
											\
	ck_assert_uint_eq(fence_.timeline, timeline_);					\
	ck_assert_uint_eq(fence_.value, value_);					\
	ck_assert_uint_eq(fence_.passed, passed_);					\
	ck_assert_uint_eq(fence_.seen, seen_);						\
	ck_assert_uint_eq(fence_.announced, announced_);				\
} while (0)

/* What was ignored of a client's timelines: in query, in its counters, in those of the pool. */
#define expect_ignored(client, backwards_, jumps_)					\
do {											\
	struct kvp_stats stats_;							\
											\
	kvpt_ok(kvpt_query(client, NULL, 0));						\
	ck_assert_uint_eq(kvpt.query.backwards, backwards_);				\
	ck_assert_uint_eq(kvpt.query.jumps, jumps_);					\
	stats_ = kvpt_counters_of(client, KVP_STATS_SELF);				\
	ck_assert_uint_eq(stats_.backwards, backwards_);				\
	ck_assert_uint_eq(stats_.jumps, jumps_);					\
	stats_ = kvpt_counters_of(client, 0);						\
	ck_assert_uint_eq(stats_.backwards, backwards_);				\
	ck_assert_uint_eq(stats_.jumps, jumps_);					\
} while (0)

/* ---- create ---- */

START_TEST(test_as_many_as_there_are)
{
	u32 i, t;

	for (i = 0; i < KVP_NR_TIMELINES; i++) {
		ck_assert_uint_eq(kvpt_timeline(a), i);
		ck_assert_uint_eq(kvpt_shown(a, i), 0);
	}
	kvpt_refused(&env, a, kvpt_timeline_create(a, &t), -EDQUOT, KVP_REASON_LIMIT_TIMELINES, 0);
	ck_assert_uint_eq(kvpt.timeline_create.timeline, 0);
	/* Another client has its own. */
	ck_assert_uint_eq(kvpt_timeline(b), 0);
	ck_assert_uint_eq(kvpt_timeline(b), 1);
	/* The last one is as good as the first. */
	kvpt_ok(kvpt_use_read(a, seq, 63, 1));
	kvpt_pass(a, 63, 1);
	expect_fence(a, 63, 1, 1, 1, 1);
	expect_fence(a, 0, 1, 0, 0, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).refused_limit, 1);
}
END_TEST

START_TEST(test_a_result_that_is_lost_makes_one_all_the_same)
{
	struct kvp_client *c;
	u32 t = 77;

	env.door = &kvpt_failing_door;
	c = kvpt_join(&env, 1002, KVP_RIGHT_USE);
	kvpt_fail_write = 1;
	ck_assert_int_eq(kvpt_timeline_create(c, &t), -EFAULT);
	kvpt_fail_write = 0;
	ck_assert_uint_eq(t, 77);
	ck_assert_uint_eq(kvpt_timeline(c), 1);
	expect_fence(c, 0, 1, 0, 0, 0);
}
END_TEST

START_TEST(test_the_page_is_there_before_the_pool)
{
	struct kvp_client *loose = kvpt_open(&env, 1002);
	struct kvp_timeline *page;
	u32 t;

	ck_assert_ptr_nonnull(kvp_client_times(loose));
	page = kvp_client_times(loose)->page;
	kvpt_expect(kvpt_timeline_create(loose, &t), -EBUSY, KVP_REASON_NOT_ATTACHED);
	kvpt_expect(kvpt_query(loose, NULL, 0), -EBUSY, KVP_REASON_NOT_ATTACHED);
	kvpt_expect(kvpt_signal(loose, 0, 1), -EBUSY, KVP_REASON_NOT_ATTACHED);
	kvpt_ok(kvpt_pool_attach(loose, KVPT_POOL_NAME, KVP_RIGHT_USE));
	ck_assert_ptr_eq(kvp_client_times(loose)->page, page);
	/* What was written before is not its value. */
	__atomic_store_n((u64 *)&page[0].value, 5, __ATOMIC_RELEASE);
	t = kvpt_timeline(loose);
	ck_assert_uint_eq(t, 0);
	expect_fence(loose, 0, 1, 0, 0, 0);
	ck_assert_uint_eq(kvp_client_times(loose)->page == kvp_client_times(a)->page, 0);
}
END_TEST

/* ---- values ---- */

START_TEST(test_forwards)
{
	u32 t = announced(5);

	expect_fence(a, t, 0, 1, 0, 5);
	expect_fence(a, t, 1, 0, 0, 5);
	expect_fence(a, t, 5, 0, 0, 5);
	kvpt_pass(a, t, 3);
	expect_fence(a, t, 3, 1, 3, 5);
	expect_fence(a, t, 4, 0, 3, 5);
	kvpt_pass(a, t, 5);
	expect_fence(a, t, 5, 1, 5, 5);
	/* Of what nobody announced it can be asked, too. */
	expect_fence(a, t, 6, 0, 5, 5);
	expect_fence(a, t, ~0ULL, 0, 5, 5);
	expect_ignored(a, 0, 0);
	/* The greatest value that there may be. */
	kvpt_ok(kvpt_use_read(a, seq, t, KVP_MAX_FENCE - 1));
	kvpt_pass(a, t, KVP_MAX_FENCE - 1);
	expect_fence(a, t, KVP_MAX_FENCE - 1, 1, KVP_MAX_FENCE - 1, KVP_MAX_FENCE - 1);
	expect_ignored(a, 0, 0);
}
END_TEST

START_TEST(test_backwards_is_ignored_and_counted_once)
{
	u32 t = announced(10);

	kvpt_pass(a, t, 6);
	expect_fence(a, t, 6, 1, 6, 10);
	kvpt_pass(a, t, 4);
	expect_fence(a, t, 5, 1, 6, 10);
	expect_fence(a, t, 7, 0, 6, 10);
	expect_ignored(a, 1, 0);
	/* The same value is looked at again, and not judged again. */
	kvpt_pass(a, t, 4);
	expect_ignored(a, 1, 0);
	kvpt_pass(a, t, 0);
	expect_fence(a, t, 6, 1, 6, 10);
	expect_ignored(a, 2, 0);
	/* Back to where it was is no fault, nor is going on. */
	kvpt_pass(a, t, 6);
	expect_fence(a, t, 6, 1, 6, 10);
	kvpt_pass(a, t, 7);
	expect_fence(a, t, 7, 1, 7, 10);
	expect_ignored(a, 2, 0);
}
END_TEST

START_TEST(test_a_jump_does_not_become_right)
{
	u32 t = announced(10);

	kvpt_pass(a, t, 11);
	expect_fence(a, t, 1, 0, 0, 10);
	expect_ignored(a, 0, 1);
	expect_fence(a, t, 10, 0, 0, 10);
	expect_ignored(a, 0, 1);
	/* Announced now; but the value was written by nobody who knew of it. */
	kvpt_ok(kvpt_use_read(a, seq, t, 12));
	expect_fence(a, t, 11, 0, 0, 12);
	expect_fence(a, t, 1, 0, 0, 12);
	expect_ignored(a, 0, 1);
	kvpt_pass(a, t, 12);
	expect_fence(a, t, 12, 1, 12, 12);
	expect_ignored(a, 0, 1);
	/* Far away, and what no fence can be. */
	kvpt_pass(a, t, KVP_MAX_FENCE);
	expect_fence(a, t, 13, 0, 12, 12);
	kvpt_pass(a, t, ~0ULL);
	expect_fence(a, t, 13, 0, 12, 12);
	expect_ignored(a, 0, 3);
}
END_TEST

START_TEST(test_ignored_values_hold_blocks_back)
{
	u32 t = kvpt_timeline(a);
	u64 full, blocks[16];

	kvpt_ok(kvpt_create_with(a, &(struct kvp_seq_create){ .reserve = 64 }, 1, NULL, 0, &full));
	kvpt_ok(kvpt_use_read(a, full, t, 4));
	kvpt_pass(a, t, 3);
	ck_assert_uint_eq(kvpt_fence(a, t, 3).passed, 1);
	kvpt_ok(kvpt_free(a, full));
	kvpt_pass(a, t, 5);
	kvpt_refused(&env, a, kvpt_alloc(a, 0, 1, blocks), -ENOSPC, KVP_REASON_HELD_BACK, 0);
	kvpt_pass(a, t, 1);
	kvpt_refused(&env, a, kvpt_alloc(a, 0, 1, blocks), -ENOSPC, KVP_REASON_HELD_BACK, 0);
	expect_ignored(a, 1, 1);
	kvpt_pass(a, t, 4);
	kvpt_ok(kvpt_alloc(a, 0, 16, blocks));
	expect_ignored(a, 1, 1);
}
END_TEST

START_TEST(test_timelines_are_the_clients_own)
{
	u32 t = announced(3), u;
	u64 other;

	kvpt_ok(kvpt_create(b, 1, NULL, 0, &other));
	u = kvpt_timeline(b);
	kvpt_ok(kvpt_use_read(b, other, u, 9));
	ck_assert_uint_eq(t, u);
	kvpt_pass(b, u, 9);
	expect_fence(b, u, 9, 1, 9, 9);
	expect_fence(a, t, 1, 0, 0, 3);
	kvpt_pass(b, u, 2);
	expect_fence(b, u, 9, 1, 9, 9);
	/* Only of one of them; the pool has what all had. */
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).backwards, 0);
	ck_assert_uint_eq(kvpt_counters_of(b, KVP_STATS_SELF).backwards, 1);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).backwards, 1);
	/* One that was not made is not read, whatever is written there. */
	kvpt_pass(a, t + 1, 7);
	kvpt_ok(kvpt_query(a, NULL, 0));
	ck_assert_uint_eq(kvpt.query.jumps, 0);
	/* What a client did stays counted when it is gone. */
	kvpt_close(&env, b);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).backwards, 1);
}
END_TEST

/* ---- signal ---- */

START_TEST(test_signal)
{
	u32 t = announced(5);

	kvpt_ok(kvpt_signal(a, t, 2));
	ck_assert_uint_eq(kvpt_shown(a, t), 2);
	expect_fence(a, t, 2, 1, 2, 5);
	expect_fence(a, t, 3, 0, 2, 5);
	kvpt_ok(kvpt_signal(a, t, 5));
	ck_assert_uint_eq(kvpt_shown(a, t), 5);
	expect_fence(a, t, 5, 1, 5, 5);
	expect_ignored(a, 0, 0);
}
END_TEST

START_TEST(test_signal_refused)
{
	u32 t = announced(5);

	kvpt_refused(&env, a, kvpt_signal(a, t + 1, 1), -ENOENT, KVP_REASON_NO_TIMELINE, 0);
	kvpt_refused(&env, a, kvpt_signal(a, ~0U, 1), -ENOENT, KVP_REASON_NO_TIMELINE, 0);
	kvpt_refused(&env, a, kvpt_signal(b, 0, 1), -ENOENT, KVP_REASON_NO_TIMELINE, 0);
	expect_ignored(a, 0, 0);
	kvpt_refused(&env, a, kvpt_signal(a, t, 0), -EINVAL, KVP_REASON_FENCE_PASSED, 0);
	kvpt_refused(&env, a, kvpt_signal(a, t, 6), -EINVAL, KVP_REASON_FENCE_AHEAD, 0);
	expect_ignored(a, 1, 1);
	ck_assert_uint_eq(kvpt_shown(a, t), 0);
	kvpt_ok(kvpt_signal(a, t, 4));
	kvpt_refused(&env, a, kvpt_signal(a, t, 4), -EINVAL, KVP_REASON_FENCE_PASSED, 0);
	kvpt_refused(&env, a, kvpt_signal(a, t, 3), -EINVAL, KVP_REASON_FENCE_PASSED, 0);
	kvpt_refused(&env, a, kvpt_signal(a, t, ~0ULL), -EINVAL, KVP_REASON_FENCE_AHEAD, 0);
	expect_ignored(a, 3, 2);
	ck_assert_uint_eq(kvpt_shown(a, t), 4);
	expect_fence(a, t, 4, 1, 4, 5);
	/* What stands in the page counts: it has 5 already. */
	kvpt_pass(a, t, 5);
	kvpt_refused(&env, a, kvpt_signal(a, t, 5), -EINVAL, KVP_REASON_FENCE_PASSED, 0);
	ck_assert_uint_eq(kvpt_shown(a, t), 5);
}
END_TEST

START_TEST(test_signal_over_what_was_ignored)
{
	u32 t = announced(5);

	kvpt_pass(a, t, 9);
	expect_fence(a, t, 1, 0, 0, 5);
	kvpt_ok(kvpt_signal(a, t, 3));
	ck_assert_uint_eq(kvpt_shown(a, t), 3);
	expect_fence(a, t, 3, 1, 3, 5);
	expect_ignored(a, 0, 1);
	/* Written once more, before anybody has looked, it is ignored once more. */
	kvpt_pass(a, t, 9);
	expect_ignored(a, 0, 2);
	kvpt_ok(kvpt_signal(a, t, 4));
	kvpt_pass(a, t, 9);
	expect_fence(a, t, 4, 1, 4, 5);
	expect_ignored(a, 0, 3);
}
END_TEST

/* ---- query ---- */

START_TEST(test_query_of_many)
{
	struct kvp_fence fences[4] = {
		{ .value = 2 }, { .timeline = 1, .value = 3 }, { .value = 3 },
		{ .timeline = 1, .value = 1, .passed = 9, .seen = 9, .announced = 9 },
	};
	static const u32 passed[] = { 1, 0, 0, 1 };
	u32 i;

	ck_assert_uint_eq(announced(4), 0);
	ck_assert_uint_eq(announced(8), 1);
	kvpt_pass(a, 0, 2);
	kvpt_pass(a, 1, 1);
	kvpt_ok(kvpt_query(a, fences, 4));
	for (i = 0; i < 4; i++) {
		ck_assert_uint_eq(fences[i].passed, passed[i]);
		ck_assert_uint_eq(fences[i].seen, fences[i].timeline ? 1 : 2);
		ck_assert_uint_eq(fences[i].announced, fences[i].timeline ? 8 : 4);
	}
}
END_TEST

START_TEST(test_query_of_the_clients_things)
{
	struct kvp_client *c = kvpt_join(&env, 1002, KVP_RIGHT_USE);
	u64 blocks[16], ticket, granted, used;
	u32 t;

	kvpt_ok(kvpt_query(c, NULL, 0));
	ck_assert_uint_eq(kvpt.query.granted, 0);
	ck_assert_uint_eq(kvpt.query.waiting, 0);
	ck_assert_uint_eq(kvpt.query.uses, 0);
	ck_assert_uint_eq(kvpt.query.held_back, 0);

	t = kvpt_timeline(c);
	kvpt_ok(kvpt_create_with(c, &(struct kvp_seq_create){ .reserve = 8 }, 1, NULL, 0, &used));
	kvpt_ok(kvpt_use_read(c, used, t, 1));
	kvpt_ok(kvpt_alloc(c, 0, 3, blocks));
	kvpt_ok(kvpt_use_block(c, blocks[0], t, 2));
	kvpt_ok(kvpt_query(c, NULL, 0));
	ck_assert_uint_eq(kvpt.query.uses, 2);
	ck_assert_uint_eq(kvpt.query.held_back, 0);
	kvpt_ok(kvpt_free(c, used));
	kvpt_ok(kvpt_unref(c, blocks, 1));
	kvpt_ok(kvpt_query(c, NULL, 0));
	ck_assert_uint_eq(kvpt.query.uses, 2);
	ck_assert_uint_eq(kvpt.query.held_back, 3);
	/* Of another client's things nothing is said. */
	kvpt_ok(kvpt_query(a, NULL, 0));
	ck_assert_uint_eq(kvpt.query.uses, 0);
	ck_assert_uint_eq(kvpt.query.held_back, 0);

	kvpt_ok(kvpt_alloc(b, 0, 11, &blocks[4]));
	kvpt_ok(kvpt_admit_queue(c, 0, 3, &granted));
	kvpt_ok(kvpt_admit_queue(c, 0, 2, &ticket));
	kvpt_ok(kvpt_query(c, NULL, 0));
	ck_assert_uint_eq(kvpt.query.waiting, 2);
	ck_assert_uint_eq(kvpt.query.granted, 0);
	kvpt_ok(kvpt_unref(b, &blocks[4], 3));
	kvpt_ok(kvpt_query(c, NULL, 0));
	ck_assert_uint_eq(kvpt.query.waiting, 1);
	ck_assert_uint_eq(kvpt.query.granted, 1);
	kvpt_ok(kvpt_query(b, NULL, 0));
	ck_assert_uint_eq(kvpt.query.waiting, 0);
	ck_assert_uint_eq(kvpt.query.granted, 0);
}
END_TEST

START_TEST(test_query_refused)
{
	struct kvp_fence fences[3] = { { .value = 1 }, { .value = 2 }, { .timeline = 1 } };
	const u32 t = announced(2);
	struct kvp_query arg = {
		.fences = (u64)(uintptr_t)fences,
		.nr_fences = KVP_MAX_BATCH + 1,
	};

	ck_assert_uint_eq(t, 0);
	kvpt_refused(&env, a, kvpt_query(a, fences, 3), -ENOENT, KVP_REASON_NO_TIMELINE, 2);
	kvpt_refused(&env, a, kvpt_query(b, fences, 1), -ENOENT, KVP_REASON_NO_TIMELINE, 0);
	arg.reserved = 1;
	ck_assert_int_eq(kvpt_do(a, KVP_OP_QUERY, &arg), -EINVAL);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_RESERVED);
	ck_assert_uint_eq(arg.head.where, kvpt_at(struct kvp_query, reserved));
	arg.reserved = 0;
	ck_assert_int_eq(kvpt_do(a, KVP_OP_QUERY, &arg), -EOVERFLOW);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_COUNT);
	ck_assert_uint_eq(arg.head.where, kvpt_at(struct kvp_query, nr_fences));
	/* Nothing is watched by a call that fails. */
	fences[2] = (struct kvp_fence){ .value = 3 };
	arg = (struct kvp_query){
		.head.flags = KVP_QUERY_WATCH,
		.fences = (u64)(uintptr_t)fences,
		.nr_fences = 3,
	};
	ck_assert_int_eq(kvpt_do(a, KVP_OP_QUERY, &arg), -EINVAL);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_FENCE_AHEAD);
	ck_assert_uint_eq(arg.head.where, 2);
	kvpt_pass(a, t, 2);
	kvp_client_scan(a);
	ck_assert_uint_eq(kvp_client_ready(a), 0);
}
END_TEST

/* ---- who is told ---- */

/* Ready after those who wait have looked. */
static u32 ready(struct kvp_client *client)
{
	kvp_client_scan(client);
	return kvp_client_ready(client);
}

START_TEST(test_watch)
{
	u32 t = announced(5);

	/* Who does not watch is not told. */
	kvpt_pass(a, t, 1);
	ck_assert_uint_eq(ready(a), 0);
	kvpt_ok(kvpt_watch(a, t, 3));
	ck_assert_uint_eq(ready(a), 0);
	kvpt_pass(a, t, 2);
	ck_assert_uint_eq(ready(a), 0);
	kvpt_pass(a, t, 3);
	ck_assert_uint_eq(ready(a), KVP_READY_FENCE);
	ck_assert_uint_eq(ready(b), 0);
	/* Until it was asked; stats are no answer. */
	kvpt_counters_of(a, 0);
	ck_assert_uint_eq(ready(a), KVP_READY_FENCE);
	kvpt_ok(kvpt_query(a, NULL, 0));
	ck_assert_uint_eq(ready(a), 0);
	/* It is over with that: the next value is not watched. */
	kvpt_pass(a, t, 5);
	ck_assert_uint_eq(ready(a), 0);
	/* One that has passed already is nothing to wait for. */
	kvpt_ok(kvpt_watch(a, t, 5));
	ck_assert_uint_eq(ready(a), 0);
}
END_TEST

START_TEST(test_watch_the_smallest)
{
	u32 t = announced(9);

	kvpt_ok(kvpt_watch(a, t, 7));
	kvpt_ok(kvpt_watch(a, t, 4));
	kvpt_ok(kvpt_watch(a, t, 8));
	kvpt_pass(a, t, 3);
	ck_assert_uint_eq(ready(a), 0);
	kvpt_pass(a, t, 4);
	ck_assert_uint_eq(ready(a), KVP_READY_FENCE);
	kvpt_ok(kvpt_query(a, NULL, 0));
	kvpt_pass(a, t, 9);
	ck_assert_uint_eq(ready(a), 0);
}
END_TEST

START_TEST(test_watch_no_longer)
{
	u32 t = announced(9);

	kvpt_ok(kvpt_watch(a, t, 3));
	kvpt_ok(kvpt_watch(a, t, 0));
	ck_assert_uint_eq(kvp_client_scan(a), KVP_SCAN_NEVER);
	kvpt_pass(a, t, 3);
	ck_assert_uint_eq(ready(a), 0);
	/* Then a greater one can be watched, too. */
	kvpt_ok(kvpt_watch(a, t, 5));
	kvpt_ok(kvpt_watch(a, t, 0));
	kvpt_ok(kvpt_watch(a, t, 7));
	kvpt_pass(a, t, 5);
	ck_assert_uint_eq(ready(a), 0);
	kvpt_pass(a, t, 7);
	ck_assert_uint_eq(ready(a), KVP_READY_FENCE);
	kvpt_ok(kvpt_query(a, NULL, 0));
}
END_TEST

START_TEST(test_query_says_what_poll_said)
{
	u64 blocks[16], ticket;
	u32 t = announced(2);

	kvpt_ok(kvpt_query(a, NULL, 0));
	ck_assert_uint_eq(kvpt.query.ready, 0);
	kvpt_ok(kvpt_watch(a, t, 1));
	kvpt_pass(a, t, 1);
	ck_assert_uint_eq(ready(a), KVP_READY_FENCE);
	kvpt_ok(kvpt_query(a, NULL, 0));
	ck_assert_uint_eq(kvpt.query.ready, KVP_READY_FENCE);
	kvpt_ok(kvpt_query(a, NULL, 0));
	ck_assert_uint_eq(kvpt.query.ready, 0);
	/* What passed without poll(2) having been asked is said by the same call. */
	kvpt_ok(kvpt_watch(a, t, 2));
	kvpt_pass(a, t, 2);
	kvpt_ok(kvpt_query(a, NULL, 0));
	ck_assert_uint_eq(kvpt.query.ready, KVP_READY_FENCE);
	/* A ticket until it is taken, events until they are read. */
	kvpt_ok(kvpt_alloc(b, 0, 16, blocks));
	kvpt_ok(kvpt_admit_queue(a, 0, 1, &ticket));
	kvpt_ok(kvpt_unref(b, blocks, 1));
	kvpt_ok(kvpt_query(a, NULL, 0));
	ck_assert_uint_eq(kvpt.query.ready, KVP_READY_TICKET);
	kvpt_ok(kvpt_query(a, NULL, 0));
	ck_assert_uint_eq(kvpt.query.ready, KVP_READY_TICKET);
	kvpt_ok(kvpt_admit_take(a, ticket));
	kvpt_ok(kvpt_events(a, 0, NULL, 0));
	kvpt_close(&env, b);
	kvpt_ok(kvpt_query(a, NULL, 0));
	ck_assert_uint_eq(kvpt.query.ready, KVP_READY_EVENTS);
}
END_TEST

START_TEST(test_watch_several_timelines)
{
	struct kvp_fence fences[2] = { { .value = 1 }, { .timeline = 1, .value = 1 } };
	struct kvp_query arg = {
		.head.flags = KVP_QUERY_WATCH,
		.fences = (u64)(uintptr_t)fences,
		.nr_fences = 2,
	};

	ck_assert_uint_eq(announced(1), 0);
	ck_assert_uint_eq(announced(1), 1);
	kvpt_ok(kvpt_do(a, KVP_OP_QUERY, &arg));
	kvpt_pass(a, 1, 1);
	ck_assert_uint_eq(ready(a), KVP_READY_FENCE);
	kvpt_ok(kvpt_query(a, NULL, 0));
	ck_assert_uint_eq(ready(a), 0);
	kvpt_pass(a, 0, 1);
	ck_assert_uint_eq(ready(a), KVP_READY_FENCE);
	/* A query that names it says it at the same time. */
	ck_assert_uint_eq(kvpt_fence(a, 0, 1).passed, 1);
	ck_assert_uint_eq(ready(a), 0);
}
END_TEST

START_TEST(test_watch_and_signal)
{
	u32 t = announced(2);

	kvpt_ok(kvpt_watch(a, t, 2));
	kvpt_ok(kvpt_signal(a, t, 1));
	ck_assert_uint_eq(kvp_client_ready(a), 0);
	kvpt_ok(kvpt_signal(a, t, 2));
	ck_assert_uint_eq(kvp_client_ready(a), KVP_READY_FENCE);
	/* An ignored value wakes nobody. */
	kvpt_ok(kvpt_query(a, NULL, 0));
	kvpt_ok(kvpt_use_read(a, seq, t, 4));
	kvpt_ok(kvpt_watch(a, t, 4));
	kvpt_pass(a, t, 5);
	ck_assert_uint_eq(ready(a), 0);
	kvpt_pass(a, t, 1);
	ck_assert_uint_eq(ready(a), 0);
	kvpt_pass(a, t, 4);
	ck_assert_uint_eq(ready(a), KVP_READY_FENCE);
}
END_TEST

START_TEST(test_nothing_is_read_while_nobody_waits)
{
	u64 before = kvpt_counters_of(a, 0).scans;
	u32 t = announced(3);

	ck_assert_uint_eq(kvp_client_scan(a), KVP_SCAN_NEVER);
	ck_assert_uint_eq(kvp_client_scan(b), KVP_SCAN_NEVER);
	ck_assert_uint_eq(kvp_host_scan(&env.host), KVP_SCAN_NEVER);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).scans, before);
	kvpt_ok(kvpt_watch(a, t, 3));
	ck_assert_uint_ne(kvp_client_scan(a), KVP_SCAN_NEVER);
	ck_assert_uint_ne(kvp_host_scan(&env.host), KVP_SCAN_NEVER);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).scans, before + 2);
	kvpt_pass(a, t, 3);
	kvp_host_scan(&env.host);
	ck_assert_uint_eq(kvp_client_ready(a), KVP_READY_FENCE);
	/* Told, though not asked yet: there is nothing to read for. */
	ck_assert_uint_eq(kvp_host_scan(&env.host), KVP_SCAN_NEVER);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).scans, before + 3);
	/* A client that watches and goes leaves nothing behind. */
	kvpt_ok(kvpt_query(a, NULL, 0));
	kvpt_timeline(b);
	kvpt_ok(kvpt_create(b, 1, NULL, 0, &seq));
	kvpt_ok(kvpt_use_read(b, seq, 0, 1));
	kvpt_ok(kvpt_watch(b, 0, 1));
	ck_assert_uint_ne(kvp_host_scan(&env.host), KVP_SCAN_NEVER);
	kvpt_ok(kvpt_signal(b, 0, 1));
	kvpt_ok(kvpt_use_read(b, seq, 0, 2));
	kvpt_ok(kvpt_watch(b, 0, 2));
	kvpt_close(&env, b);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).quarantined, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fence_timeline");
	TCase *tc = tcase_create("fence_timeline");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_as_many_as_there_are);
	tcase_add_test(tc, test_a_result_that_is_lost_makes_one_all_the_same);
	tcase_add_test(tc, test_the_page_is_there_before_the_pool);
	tcase_add_test(tc, test_forwards);
	tcase_add_test(tc, test_backwards_is_ignored_and_counted_once);
	tcase_add_test(tc, test_a_jump_does_not_become_right);
	tcase_add_test(tc, test_ignored_values_hold_blocks_back);
	tcase_add_test(tc, test_timelines_are_the_clients_own);
	tcase_add_test(tc, test_signal);
	tcase_add_test(tc, test_signal_refused);
	tcase_add_test(tc, test_signal_over_what_was_ignored);
	tcase_add_test(tc, test_query_of_many);
	tcase_add_test(tc, test_query_of_the_clients_things);
	tcase_add_test(tc, test_query_refused);
	tcase_add_test(tc, test_watch);
	tcase_add_test(tc, test_watch_the_smallest);
	tcase_add_test(tc, test_watch_no_longer);
	tcase_add_test(tc, test_query_says_what_poll_said);
	tcase_add_test(tc, test_watch_several_timelines);
	tcase_add_test(tc, test_watch_and_signal);
	tcase_add_test(tc, test_nothing_is_read_while_nobody_waits);
	suite_add_tcase(suite, tc);
	return kvpt_run(suite);
}

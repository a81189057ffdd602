// SPDX-License-Identifier: MIT
/*
 * Waiting and steps through kvpool.h: what each function gives, each error that it documents with
 * its text, and that no thread is left asleep.
 */
#include <check.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "api_fence.h"

/* ---- waiting ---- */

/* What a thread does to one who waits: store @value when @ms are over. */
struct later {
	uint32_t ms;
	uint64_t value;
	uint64_t stored_ns;
};

static void *store_later(void *arg)
{
	struct later *later = arg;

	nap_ms(later->ms);
	later->stored_ns = now_ns();
	store(later->value);
	return NULL;
}

START_TEST(test_wait_ends_with_the_store)
{
	uint64_t woken, worst = 0;
	uint32_t ready, round;

	for (round = 1; round <= 10; round++) {
		struct later later = { .ms = 20 + round, .value = round };
		struct kvp_fence fence = fence_of(round);
		pthread_t thread;

		kvpr_ok(kvp_seq_free(pool, announce(round)));
		ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_HELD_BACK), 2);
		ck_assert_int_eq(pthread_create(&thread, NULL, store_later, &later), 0);
		ready = 77;
		kvpr_ok(kvp_wait(pool, 0, &fence, 1, KVP_FOREVER, &ready));
		woken = now_ns();
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
		ck_assert_uint_eq(ready, KVP_READY_FENCE);
		ck_assert_uint_eq(fence.passed, 1);
		ck_assert_uint_ge(woken, later.stored_ns);
		if (woken - later.stored_ns > worst)
			worst = woken - later.stored_ns;
		ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 16);
	}
	/* A machine that is busy and a sanitizer: the limit itself is measured elsewhere. */
	ck_assert_uint_lt(worst, 200 * MS);
}
END_TEST

START_TEST(test_wait_for_what_is_there)
{
	struct kvp_fence fences[2];
	uint32_t ready = 77;

	announce(2);
	store(1);
	fences[0] = fence_of(2);
	fences[1] = fence_of(1);
	kvpr_ok(kvp_wait(pool, 0, fences, 2, KVP_FOREVER, &ready));
	ck_assert_uint_eq(ready, KVP_READY_FENCE);
	ck_assert_uint_eq(fences[0].passed, 0);
	ck_assert_uint_eq(fences[1].passed, 1);
	store(2);
	kvpr_ok(kvp_wait(pool, 0, fences, 2, 0, &ready));
	ck_assert_uint_eq(fences[0].passed, 1);
}
END_TEST

START_TEST(test_time_is_over)
{
	struct kvp_fence fence = fence_of(2);
	uint64_t begun = now_ns();
	uint32_t ready = 77;

	announce(2);
	kvpr_ok(kvp_wait(pool, 0, &fence, 1, 0, &ready));
	ck_assert_uint_eq(ready, 0);
	ck_assert_uint_lt(now_ns() - begun, 1000 * MS);
	begun = now_ns();
	ready = 77;
	kvpr_ok(kvp_wait(pool, KVP_READY_TICKET | KVP_READY_EVENTS, &fence, 1, 30 * MS, &ready));
	ck_assert_uint_eq(ready, 0);
	ck_assert_uint_ge(now_ns() - begun, 30 * MS);
	begun = now_ns();
	kvpr_ok(kvp_wait(pool, KVP_READY_TICKET, NULL, 0, 30 * MS, &ready));
	ck_assert_uint_eq(ready, 0);
	ck_assert_uint_ge(now_ns() - begun, 30 * MS);
	kvpr_expect(kvp_fence_wait(pool, timeline, 2, 10 * MS), -ETIMEDOUT, KVP_REASON_NONE);
	kvpr_says("fence_wait: timeline 0 has 0 after 10000000 ns: expected 2");
	/* It does not go on being watched. */
	store(2);
	ck_assert_uint_eq(query().ready, 0);
	kvpr_ok(kvp_fence_wait(pool, timeline, 2, 0));
}
END_TEST

START_TEST(test_waits_that_cannot_be)
{
	struct kvp_fence fences[2] = { fence_of(1), fence_of(2) };
	uint32_t ready = 77;

	announce(1);
	kvpr_expect(kvp_wait(pool, 0, fences, 1, 0, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("wait: ready is NULL");
	kvpr_expect(kvp_wait(pool, 0, NULL, 0, 0, &ready), -EINVAL, KVP_REASON_COUNT);
	kvpr_says("wait: nothing to wait for: expected a fence, a ticket or events");
	kvpr_expect(kvp_wait(pool, KVP_READY_FENCE, fences, 1, 0, &ready), -EINVAL,
		    KVP_REASON_FLAG);
	kvpr_says("wait: wanted 0x8: expected KVP_READY_TICKET, KVP_READY_EVENTS or both");
	kvpr_expect(kvp_wait(pool, 32, NULL, 0, 0, &ready), -EINVAL, KVP_REASON_FLAG);
	kvpr_expect(kvp_wait(pool, 0, NULL, 1, 0, &ready), -EFAULT, KVP_REASON_POINTER);
	kvpr_expect(kvp_wait(pool, 0, fences, 2, KVP_FOREVER, &ready), -EINVAL,
		    KVP_REASON_FENCE_AHEAD);
	kvpr_says("(element 1)");
	kvpr_expect(kvp_fence_wait(pool, 9, 1, KVP_FOREVER), -ENOENT, KVP_REASON_NO_TIMELINE);
	ck_assert_uint_eq(ready, 77);
	kvpr_ok(kvp_signal(pool, timeline, 1));
}
END_TEST

START_TEST(test_wait_for_events)
{
	struct kvp_event event;
	uint64_t cursor = 0, lost;
	uint32_t ready = 77, nr = 0;
	kvp_seq_t seq;

	kvpr_ok(kvp_events_read(pool, &cursor, NULL, &nr, &lost));
	kvpr_ok(kvp_wait(pool, KVP_READY_EVENTS, NULL, 0, 0, &ready));
	ck_assert_uint_eq(ready, 0);
	seq = kvpr_seq(pool, space, tokens, 4, NULL);
	kvpr_compute(pool, seq, 0, 4, 1);
	kvpr_ok(kvp_publish(pool, seq, NULL));
	/* Not wanted, not told, and in nobody's way. */
	kvpr_ok(kvp_wait(pool, KVP_READY_TICKET, NULL, 0, 5 * MS, &ready));
	ck_assert_uint_eq(ready, 0);
	kvpr_ok(kvp_wait(pool, KVP_READY_EVENTS | KVP_READY_TICKET, NULL, 0, KVP_FOREVER, &ready));
	ck_assert_uint_eq(ready, KVP_READY_EVENTS);
	nr = 1;
	kvpr_ok(kvp_events_read(pool, &cursor, &event, &nr, &lost));
	ck_assert_uint_eq(nr, 1);
	kvpr_ok(kvp_wait(pool, KVP_READY_EVENTS, NULL, 0, 0, &ready));
	ck_assert_uint_eq(ready, 0);
}
END_TEST

static void *destroy_later(void *arg)
{
	nap_ms(20);
	kvpr_ok(kvp_pool_destroy(arg, KVP_DESTROY_FORCE));
	return NULL;
}

START_TEST(test_destroyed_pool_ends_the_sleep)
{
	struct kvp_pool *a = kvpr_open("inproc:ends?blocks=4"), *b = kvpr_open("inproc:ends");
	pthread_t thread;
	uint32_t ready = 77;

	ck_assert_int_eq(pthread_create(&thread, NULL, destroy_later, a), 0);
	kvpr_expect(kvp_wait(b, KVP_READY_TICKET, NULL, 0, KVP_FOREVER, &ready), -EIO,
		    KVP_REASON_DESTROYED);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_eq(ready, 77);
	kvp_pool_close(a);
	kvp_pool_close(b);
}
END_TEST

/*
 * Many threads wait on one client, each for its own fence, and some ask all the while, which
 * takes away what the client is to be told: nobody stays asleep.
 */
#define WAITERS	8
#define ROUNDS	40

struct waiter {
	pthread_t thread;
	uint32_t timeline;
	kvp_seq_t seq;
	int err;
	sem_t go;
	sem_t woken;
};

static void *wait_often(void *arg)
{
	struct waiter *waiter = arg;
	uint64_t value, begun;

	for (value = 1; value <= ROUNDS; value++) {
		while (sem_wait(&waiter->go))
			;
		begun = now_ns();
		if (!waiter->err)
			waiter->err = kvp_fence_wait(pool, waiter->timeline, value, 10000 * MS);
		/* When its time is over it looks once more. */
		if (now_ns() - begun > 5000 * MS)
			waiter->err = -ETIMEDOUT;
		sem_post(&waiter->woken);
	}
	return NULL;
}

static void *ask_often(void *arg)
{
	_Atomic bool *stop = arg;

	while (!*stop)
		kvp_query(pool, NULL, 0, 0, NULL);
	return NULL;
}

START_TEST(test_no_thread_is_left_asleep)
{
	static struct waiter waiters[WAITERS];
	_Atomic bool stop = false;
	uint32_t i, round;
	pthread_t asker;

	memset(waiters, 0, sizeof(waiters));
	for (i = 0; i < WAITERS; i++) {
		kvpr_ok(kvp_timeline_create(pool, &waiters[i].timeline));
		waiters[i].seq = kvpr_seq(pool, space, tokens + i, 4, NULL);
		sem_init(&waiters[i].go, 0, 0);
		sem_init(&waiters[i].woken, 0, 0);
		ck_assert_int_eq(pthread_create(&waiters[i].thread, NULL, wait_often,
						&waiters[i]), 0);
	}
	ck_assert_int_eq(pthread_create(&asker, NULL, ask_often, &stop), 0);
	for (round = 1; round <= ROUNDS; round++) {
		struct kvp_step step[WAITERS];

		for (i = 0; i < WAITERS; i++) {
			struct kvp_use_entry use = kvp_use_seq_read(waiters[i].seq);

			kvpr_ok(kvp_step_begin(pool, waiters[i].timeline, &use, 1, &step[i]));
			ck_assert_uint_eq(step[i].value, round);
			sem_post(&waiters[i].go);
		}
		for (i = 0; i < WAITERS; i++)
			kvp_step_done(&step[i]);
		for (i = 0; i < WAITERS; i++) {
			while (sem_wait(&waiters[i].woken))
				;
		}
	}
	stop = true;
	ck_assert_int_eq(pthread_join(asker, NULL), 0);
	for (i = 0; i < WAITERS; i++) {
		ck_assert_int_eq(pthread_join(waiters[i].thread, NULL), 0);
		ck_assert_int_eq(waiters[i].err, 0);
	}
}
END_TEST

/* A door at which, just before one sleeps, another thread takes the news. */
static struct kvp_door_ops taking_door;
static uint64_t sleeps;

static void sleep_without_news(struct kvp_conn *conn, uint64_t ns)
{
	if (!sleeps++) {
		store(1);
		query();
	}
	kvp_inproc_ops.sleep(conn, ns);
}

START_TEST(test_news_taken_by_another)
{
	uint64_t begun;

	announce(1);
	taking_door = kvp_inproc_ops;
	taking_door.sleep = sleep_without_news;
	sleeps = 0;
	pool->door = &taking_door;
	begun = now_ns();
	kvpr_ok(kvp_fence_wait(pool, timeline, 1, 5000 * MS));
	ck_assert_uint_lt(now_ns() - begun, 2000 * MS);
	pool->door = &kvp_inproc_ops;
	ck_assert_uint_eq(sleeps, 1);
}
END_TEST

/* Timelines are read because somebody waits, and not else. */
START_TEST(test_nobody_looks_while_nobody_waits)
{
	struct kvp_stats before, after;

	kvpr_ok(kvp_seq_free(pool, announce(1)));
	kvpr_ok(kvp_pool_stats(pool, 0, &before, NULL, 0));
	store(1);
	nap_ms(30);
	kvpr_ok(kvp_pool_stats(pool, 0, &after, NULL, 0));
	ck_assert_uint_eq(after.scans, before.scans);
	kvpr_ok(kvp_seq_free(pool, announce(2)));
	kvpr_expect(kvp_fence_wait(pool, timeline, 2, 20 * MS), -ETIMEDOUT, KVP_REASON_NONE);
	kvpr_ok(kvp_pool_stats(pool, 0, &before, NULL, 0));
	ck_assert_uint_gt(before.scans, after.scans);
	nap_ms(30);
	kvpr_ok(kvp_pool_stats(pool, 0, &after, NULL, 0));
	ck_assert_uint_eq(after.scans, before.scans);
	store(2);
}
END_TEST

/* ---- steps ---- */

START_TEST(test_steps)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 8, NULL);
	struct kvp_use_entry use = kvp_use_seq(seq, 0, 8);
	struct kvp_step step;

	memset(&step, 0xa5, sizeof(step));
	kvpr_ok(kvp_step_begin(pool, timeline, &use, 1, &step));
	ck_assert_uint_eq(step.timeline, timeline);
	ck_assert_uint_eq(step.reserved, 0);
	ck_assert_uint_eq(step.value, 1);
	ck_assert_ptr_eq(step.address, address);
	ck_assert_uint_eq(use.timeline, timeline);
	ck_assert_uint_eq(use.value, 1);
	ck_assert_uint_eq(query().uses, 1);
	kvpr_expect_lengths(pool, seq, 8, 0, 8, 0);
	kvp_step_done(&step);
	ck_assert_uint_eq(*address, 1);
	kvpr_ok(kvp_fence_wait(pool, timeline, 1, 0));
	kvpr_expect_lengths(pool, seq, 8, 8, 8, 0);
}
END_TEST

START_TEST(test_steps_that_cannot_begin)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 8, NULL);
	struct kvp_use_entry use = kvp_use_seq(seq, 0, 9);
	struct kvp_step step = { .value = 77 };
	struct kvp_fence fence = fence_of(0);

	kvpr_expect(kvp_step_begin(pool, timeline, &use, 1, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("step_begin: step is NULL");
	kvpr_expect(kvp_step_begin(pool, timeline, NULL, 1, &step), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("step_begin: uses is NULL");
	kvpr_expect(kvp_step_begin(pool, timeline, &use, 0, &step), -EINVAL, KVP_REASON_COUNT);
	kvpr_expect(kvp_step_begin(pool, KVP_NR_TIMELINES, &use, 1, &step), -ENOENT,
		    KVP_REASON_NO_TIMELINE);
	kvpr_says("step_begin: timeline 64: expected one that this client made, below 64");
	kvpr_expect(kvp_step_begin(pool, timeline + 1, &use, 1, &step), -ENOENT,
		    KVP_REASON_NO_TIMELINE);
	kvpr_expect(kvp_step_begin(pool, timeline, &use, 1, &step), -EINVAL, KVP_REASON_LENGTH);
	ck_assert_uint_eq(step.value, 77);
	kvpr_ok(kvp_query(pool, &fence, 1, 0, NULL));
	ck_assert_uint_eq(fence.announced, 0);
	/* What failed has taken no value. */
	use.computed_to = 8;
	kvpr_ok(kvp_step_begin(pool, timeline, &use, 1, &step));
	ck_assert_uint_eq(step.value, 1);
	kvp_step_done(&step);
}
END_TEST

/* A launch that fails: what the step was to compute is taken back, then it ends. */
START_TEST(test_step_that_was_not_launched)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 12, NULL);
	struct kvp_use_entry first = kvp_use_seq(seq, 0, 8), second = kvp_use_seq(seq, 8, 12);
	struct kvp_step a, b;

	kvpr_ok(kvp_step_begin(pool, timeline, &first, 1, &a));
	kvpr_ok(kvp_step_begin(pool, timeline, &second, 1, &b));
	kvpr_ok(kvp_seq_truncate(pool, seq, second.write_from));
	kvp_step_done(&a);
	kvp_step_done(&b);
	kvpr_expect_lengths(pool, seq, 8, 8, 8, 0);
	ck_assert_uint_eq(query().uses, 0);
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 14);
}
END_TEST

#define BEGINNERS	4
#define STEPS		500

static _Atomic bool began_late;

static void *begin_often(void *arg)
{
	kvp_seq_t *seq = arg;
	struct kvp_step step;
	uint64_t last = 0;
	int i;

	for (i = 0; i < STEPS && !began_late; i++) {
		struct kvp_use_entry use = kvp_use_seq_read(*seq);

		struct kvp_fence fence = fence_of(0);

		if (kvp_step_begin(pool, timeline, &use, 1, &step) || step.value <= last ||
		    kvp_query(pool, &fence, 1, 0, NULL) || fence.announced < step.value)
			began_late = true;
		last = step.value;
	}
	return NULL;
}

/* Whatever is announced is over at once: what began before it must have been said by then. */
START_TEST(test_values_are_announced_in_their_order)
{
	struct kvp_fence fence = fence_of(0);
	pthread_t threads[BEGINNERS];
	kvp_seq_t seqs[BEGINNERS];
	int i;

	began_late = false;
	for (i = 0; i < BEGINNERS; i++) {
		seqs[i] = kvpr_seq(pool, space, tokens + i, 4, NULL);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, begin_often, &seqs[i]), 0);
	}
	while (fence.announced < BEGINNERS * STEPS && !began_late) {
		kvpr_ok(kvp_query(pool, &fence, 1, 0, NULL));
		store(fence.announced);
	}
	for (i = 0; i < BEGINNERS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert(!began_late);
	store(BEGINNERS * STEPS);
	kvpr_ok(kvp_fence_wait(pool, timeline, BEGINNERS * STEPS, 0));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("api: waiting and steps");
	TCase *tc = tcase_create("fences");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_wait_ends_with_the_store);
	tcase_add_test(tc, test_wait_for_what_is_there);
	tcase_add_test(tc, test_time_is_over);
	tcase_add_test(tc, test_waits_that_cannot_be);
	tcase_add_test(tc, test_wait_for_events);
	tcase_add_test(tc, test_destroyed_pool_ends_the_sleep);
	tcase_add_test(tc, test_no_thread_is_left_asleep);
	tcase_add_test(tc, test_news_taken_by_another);
	tcase_add_test(tc, test_nobody_looks_while_nobody_waits);
	tcase_add_test(tc, test_steps);
	tcase_add_test(tc, test_steps_that_cannot_begin);
	tcase_add_test(tc, test_step_that_was_not_launched);
	tcase_add_test(tc, test_values_are_announced_in_their_order);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

// SPDX-License-Identifier: MIT
/*
 * Waiting: how soon after the store that ends it, what it costs while nobody waits, and whether
 * those who ask for room are served in the order of asking. Clients are threads.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "pools.h"

#define BLOCKS		32
#define ROUNDS		200
#define WAIT_NS		30000000000ULL	/* bound for what must come */
/*
 * The promise. The median must keep it; that of a single wait is the scheduler's, too, which may
 * let others run for as long as it likes: the greatest must only show that no wait is
 * ended by something else than the store.
 */
#define PROMISE_NS	5000000ULL
#define LONGEST_NS	1000000000ULL

static struct kvp_pool *owner, *other;

static void setup(void)
{
	owner = kvpr_open("inproc:wake?blocks=32&block_tokens=4&row_bytes=8");
	other = kvpr_open("inproc:wake");
}

static void teardown(void)
{
	kvpr_sound(owner);
	kvp_pool_close(other);
	kvp_pool_close(owner);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* kvpr_ok(), on a thread that is not the test's. */
#define must(expr)								\
do {										\
	if (expr) {								\
		fprintf(stderr, "%s: %s\n", #expr, kvp_error()->text);		\
		abort();							\
	}									\
} while (0)

static struct kvp_stats stats_of(struct kvp_pool *pool)
{
	struct kvp_stats stats;

	kvpr_ok(kvp_pool_stats(pool, 0, &stats, NULL, 0));
	return stats;
}

/* So many tickets wait, now or in a moment. */
static void expect_waiting(uint64_t nr)
{
	uint64_t limit = now_ns() + WAIT_NS;

	while (stats_of(owner).tickets_waiting != nr) {
		ck_assert_msg(now_ns() < limit, "%llu tickets wait, expected %llu",
			      (unsigned long long)stats_of(owner).tickets_waiting,
			      (unsigned long long)nr);
		usleep(100);
	}
}

/* ---- how soon ---- */

/* A thread that waits once a round, and says when it woke. */
struct waiter {
	pthread_t thread;
	struct kvp_pool *pool;
	uint32_t timeline;
	_Atomic uint32_t round;		/* to be waited for, from 1 on */
	_Atomic uint64_t woke;		/* when, 0: not yet */
	int err;
};

static void *wait_for_fences(void *arg)
{
	struct waiter *waiter = arg;
	uint32_t round;

	for (round = 1; round <= ROUNDS; round++) {
		while (atomic_load(&waiter->round) != round)
			usleep(50);
		waiter->err = kvp_fence_wait(waiter->pool, waiter->timeline, round, WAIT_NS);
		atomic_store(&waiter->woke, now_ns());
	}
	return NULL;
}

static void *wait_for_room(void *arg)
{
	const struct kvp_admit_need need = { .family = 0, .blocks = BLOCKS / 2 + 1 };
	struct waiter *waiter = arg;
	uint32_t round;

	for (round = 1; round <= ROUNDS; round++) {
		while (atomic_load(&waiter->round) != round)
			usleep(50);
		waiter->err = kvp_admit_wait(waiter->pool, &need, 1, WAIT_NS);
		atomic_store(&waiter->woke, now_ns());
	}
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, two = *(const uint64_t *)b;

	return one < two ? -1 : one > two;
}

/* Time from the store of @value until the waiter woke. */
static uint64_t store_and_wake(struct waiter *waiter, const uint64_t *address, uint64_t value)
{
	uint64_t begin;

	ck_assert_uint_eq(atomic_load(&waiter->woke), 0);
	begin = now_ns();
	__atomic_store_n((uint64_t *)address, value, __ATOMIC_RELEASE);
	while (!atomic_load(&waiter->woke)) {
		ck_assert_msg(now_ns() - begin < WAIT_NS, "nobody woke");
		usleep(50);
	}
	ck_assert_int_eq(waiter->err, 0);
	return atomic_load(&waiter->woke) - begin;
}

static void judge(const char *what, uint64_t took[ROUNDS])
{
	qsort(took, ROUNDS, sizeof(took[0]), by_size);
	printf("%s: %u wake-ups, %.3f ms in the median, %.3f ms at most\n", what, ROUNDS,
	       took[ROUNDS / 2] / 1e6, took[ROUNDS - 1] / 1e6);
	ck_assert_uint_lt(took[ROUNDS / 2], PROMISE_NS);
	ck_assert_uint_lt(took[ROUNDS - 1], LONGEST_NS);
}

/* At a moment that has nothing to do with when the waiter looks. */
static void pause_at_random(uint32_t round)
{
	usleep(1000 + round * 7919 % 3000);
}

START_TEST(fence_wakes_soon)
{
	struct waiter waiter = { .pool = other };
	uint64_t took[ROUNDS], *address, blocks[1];
	struct kvp_use_entry use;
	struct kvp_step step;
	uint32_t round;

	kvpr_ok(kvp_timeline_create(other, &waiter.timeline));
	kvpr_ok(kvp_timeline_address(other, waiter.timeline, &address));
	kvpr_ok(kvp_blocks_alloc(other, 0, blocks, 1));
	ck_assert_int_eq(pthread_create(&waiter.thread, NULL, wait_for_fences, &waiter), 0);
	for (round = 1; round <= ROUNDS; round++) {
		use = kvp_use_block(blocks[0]);
		kvpr_ok(kvp_step_begin(other, waiter.timeline, &use, 1, &step));
		ck_assert_uint_eq(step.value, round);
		atomic_store(&waiter.woke, 0);
		atomic_store(&waiter.round, round);
		pause_at_random(round);
		took[round - 1] = store_and_wake(&waiter, address, round);
	}
	pthread_join(waiter.thread, NULL);
	judge("a fence", took);
	ck_assert_uint_gt(stats_of(owner).scans, 0);
}
END_TEST

/* What wakes is the store of another client, which frees what that one has given back before. */
START_TEST(room_wakes_soon)
{
	struct waiter waiter = { .pool = other };
	uint64_t took[ROUNDS], *address, blocks[BLOCKS];
	struct kvp_use_entry uses[BLOCKS];
	struct kvp_step step;
	uint32_t round, i, timeline;

	kvpr_ok(kvp_timeline_create(owner, &timeline));
	kvpr_ok(kvp_timeline_address(owner, timeline, &address));
	ck_assert_int_eq(pthread_create(&waiter.thread, NULL, wait_for_room, &waiter), 0);
	for (round = 1; round <= ROUNDS; round++) {
		kvpr_ok(kvp_blocks_alloc(owner, 0, blocks, BLOCKS));
		for (i = 0; i < BLOCKS; i++)
			uses[i] = kvp_use_block(blocks[i]);
		kvpr_ok(kvp_step_begin(owner, timeline, uses, BLOCKS, &step));
		kvpr_ok(kvp_blocks_unref(owner, blocks, BLOCKS));
		atomic_store(&waiter.woke, 0);
		atomic_store(&waiter.round, round);
		expect_waiting(1);
		pause_at_random(round);
		took[round - 1] = store_and_wake(&waiter, address, step.value);
		kvpr_ok(kvp_admit_drop(other, NULL, 0));
	}
	pthread_join(waiter.thread, NULL);
	judge("room", took);
	ck_assert_uint_eq(stats_of(owner).tickets_granted, ROUNDS);
}
END_TEST

/* ---- what it costs ---- */

/* Steps begin and end, blocks are held back and come back, and nobody looks at timelines for it. */
START_TEST(costs_nothing_while_nobody_waits)
{
	uint64_t blocks[4], before, *address;
	struct kvp_use_entry uses[4];
	struct kvp_step step;
	uint32_t timeline, i, k;

	kvpr_ok(kvp_timeline_create(owner, &timeline));
	kvpr_ok(kvp_timeline_address(owner, timeline, &address));
	for (i = 0; i < 50; i++) {
		kvpr_ok(kvp_blocks_alloc(owner, 0, blocks, 4));
		for (k = 0; k < 4; k++)
			uses[k] = kvp_use_block(blocks[k]);
		kvpr_ok(kvp_step_begin(owner, timeline, uses, 4, &step));
		kvpr_ok(kvp_blocks_unref(owner, blocks, 4));
		/* The last one stays open. */
		if (i < 49)
			kvp_step_done(&step);
		usleep(1000);
	}
	ck_assert_uint_eq(stats_of(owner).scans, 0);
	/* Somebody waits, in vain; and when he has gone, all is as before. */
	kvpr_expect(kvp_fence_wait(owner, timeline, step.value, 20000000), -ETIMEDOUT,
		    kvp_error()->reason);
	before = stats_of(owner).scans;
	ck_assert_uint_gt(before, 0);
	usleep(50000);
	ck_assert_uint_eq(stats_of(owner).scans, before);
	kvp_step_done(&step);
	usleep(20000);
	ck_assert_uint_eq(stats_of(owner).scans, before);
	kvpr_ok(kvp_fence_wait(owner, timeline, step.value, 0));
}
END_TEST

/* ---- in which order ---- */

struct asker {
	pthread_t thread;
	struct kvp_pool *pool;
	uint64_t blocks;
	_Atomic int got;		/* 0: it waits */
};

static void *ask(void *arg)
{
	struct asker *asker = arg;
	const struct kvp_admit_need need = { .family = 0, .blocks = asker->blocks };
	int err = kvp_admit_wait(asker->pool, &need, 1, WAIT_NS);

	atomic_store(&asker->got, err ? err : 1);
	return NULL;
}

static void expect_granted(struct asker *asker)
{
	uint64_t limit = now_ns() + WAIT_NS;

	while (!atomic_load(&asker->got)) {
		ck_assert_msg(now_ns() < limit, "%llu blocks were not granted",
			      (unsigned long long)asker->blocks);
		usleep(100);
	}
	ck_assert_int_eq(asker->got, 1);
}

START_TEST(late_small_ask_waits_for_early_large_one)
{
	struct asker large = { .pool = other, .blocks = 24 };
	struct asker small = { .pool = kvpr_open("inproc:wake"), .blocks = 2 };
	struct kvp_pool *passer_by = kvpr_open("inproc:wake");
	uint64_t blocks[BLOCKS], one[1];
	uint32_t i;

	kvpr_ok(kvp_blocks_alloc(owner, 0, blocks, BLOCKS));
	ck_assert_int_eq(pthread_create(&large.thread, NULL, ask, &large), 0);
	expect_waiting(1);
	ck_assert_int_eq(pthread_create(&small.thread, NULL, ask, &small), 0);
	expect_waiting(2);
	/* Free would suffice for the small one, from the first time on. */
	for (i = 0; i < 2; i++) {
		kvpr_ok(kvp_blocks_unref(owner, blocks + 8 * i, 8));
		usleep(30000);
		ck_assert_int_eq(large.got, 0);
		ck_assert_int_eq(small.got, 0);
		kvpr_expect(kvp_blocks_alloc(passer_by, 0, one, 1), -ENOSPC, KVP_REASON_QUEUED);
	}
	kvpr_ok(kvp_blocks_unref(owner, blocks + 16, 8));
	expect_granted(&large);
	usleep(30000);
	ck_assert_int_eq(small.got, 0);
	expect_waiting(1);
	kvpr_ok(kvp_blocks_unref(owner, blocks + 24, 2));
	expect_granted(&small);
	pthread_join(large.thread, NULL);
	pthread_join(small.thread, NULL);
	kvpr_ok(kvp_blocks_unref(owner, blocks + 26, 6));
	kvpr_ok(kvp_blocks_alloc(passer_by, 0, one, 1));
	kvp_pool_close(passer_by);
	kvp_pool_close(small.pool);
}
END_TEST

#define ASKERS	4
#define ASKS	60

/* Who asks, in the order of asking. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static struct kvp_pool *asked[ASKERS * ASKS];
static bool served[ASKERS * ASKS];
static uint32_t nr_asked;
static uint32_t nr_waited;		/* of those served, those with others before them */
static uint32_t overtaken;

/* Under @turn: the ask is served, and nobody who asked before it waits. */
static void note_served(uint32_t number)
{
	struct kvp_query info;
	uint32_t i;

	for (i = 0; i < number; i++) {
		if (served[i])
			continue;
		nr_waited++;
		must(kvp_query(asked[i], NULL, 0, 0, &info));
		overtaken += info.waiting;
	}
	served[number] = true;
}

static void *ask_again_and_again(void *arg)
{
	struct kvp_pool *pool = arg;
	uint64_t random = (uint64_t)(uintptr_t)pool;
	struct kvp_admit_need need = { .family = 0 };
	kvp_ticket_t ticket;
	uint32_t i, number, ready;

	for (i = 0; i < ASKS; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		need.blocks = 1 + (random >> 33) % 28;
		pthread_mutex_lock(&turn);
		number = nr_asked++;
		asked[number] = pool;
		must(kvp_admit_queue(pool, &need, 1, &ticket, NULL));
		if (!ticket)
			note_served(number);
		pthread_mutex_unlock(&turn);
		if (ticket) {
			must(kvp_wait(pool, KVP_READY_TICKET, NULL, 0, WAIT_NS, &ready));
			must(ready != KVP_READY_TICKET);
			pthread_mutex_lock(&turn);
			note_served(number);
			pthread_mutex_unlock(&turn);
			must(kvp_admit_take(pool, ticket));
		}
		usleep((random >> 20) % 1000);
		must(kvp_admit_drop(pool, NULL, 0));
	}
	return NULL;
}

START_TEST(asks_are_served_in_order)
{
	pthread_t threads[ASKERS];
	struct kvp_pool *pools[ASKERS];
	uint32_t i;

	for (i = 0; i < ASKERS; i++) {
		pools[i] = kvpr_open("inproc:wake");
		ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_again_and_again,
						pools[i]), 0);
	}
	for (i = 0; i < ASKERS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(nr_asked, ASKERS * ASKS);
	ck_assert_uint_eq(overtaken, 0);
	ck_assert_uint_gt(stats_of(owner).tickets_granted, ASKS);
	printf("%u asks, %llu of them waited; those before them were looked at %u times\n", nr_asked,
	       (unsigned long long)stats_of(owner).tickets_granted, nr_waited);
	for (i = 0; i < ASKERS; i++)
		kvp_pool_close(pools[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wake");
	TCase *tcase = tcase_create("wake");

	/* What fails leaves threads that wait: so each test is a process. */
	setenv("CK_FORK", "yes", 0);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, fence_wakes_soon);
	tcase_add_test(tcase, room_wakes_soon);
	tcase_add_test(tcase, costs_nothing_while_nobody_waits);
	tcase_add_test(tcase, late_small_ask_waits_for_early_large_one);
	tcase_add_test(tcase, asks_are_served_in_order);
	suite_add_tcase(suite, tcase);
	return kvpr_run(suite);
}

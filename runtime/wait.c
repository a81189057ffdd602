// SPDX-License-Identifier: MIT
/*
 * Waiting for fences, tickets and events, the same way behind each door. Owns nothing and takes no
 * lock.
 *
 * Who waits looks, with KVP_OP_QUERY, and sleeps at its door until there may be something. That a
 * watched fence has passed is told once a client, and to whoever asks first; so another thread's
 * look can take away what would have ended one's sleep. Therefore a sleep that is for fences is
 * short, and after each one the thread looks after its own. Tickets and events are there until
 * they are taken: sleeps for them may be long.
 */
#include <errno.h>
#include <time.h>

#include "internal.h"

#define NS_PER_S	1000000000ULL
#define NAP_NS		1000000ULL
/* Whatever other threads do, a fence that has passed is seen so long after it at the latest. */
#define FENCE_SLEEP_NS	(3 * NAP_NS)

/* ---- time ---- */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t kvp_clock_after(uint64_t ns)
{
	uint64_t end;

	if (__builtin_add_overflow(now_ns(), ns, &end))
		return KVP_FOREVER;
	return end;
}

uint64_t kvp_clock_left(uint64_t end)
{
	uint64_t now;

	if (end == KVP_FOREVER)
		return KVP_FOREVER;
	now = now_ns();
	return end > now ? end - now : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void kvp_nap(uint64_t ns)
{
	struct timespec time = { .tv_nsec = (long)least(ns, NAP_NS) };

	nanosleep(&time, NULL);
}

/* ---- looking ---- */

#define LASTING	(KVP_READY_TICKET | KVP_READY_EVENTS)	/* until somebody takes them */

/**
 * struct waiting - one thread's wait
 * @pool: where
 * @wanted: of LASTING
 * @fences: that one of them passes is wanted, too
 * @nr: how many
 * @ready: what was there when it looked last, wanted or not
 */
struct waiting {
	struct kvp_pool *pool;
	uint32_t wanted;
	struct kvp_fence *fences;
	uint32_t nr;
	uint32_t ready;
};

static int look(struct waiting *waiting)
{
	struct kvp_query info;
	uint32_t i;
	int err;

	err = kvp_query(waiting->pool, waiting->fences, waiting->nr,
			waiting->nr ? KVP_QUERY_WATCH : 0, &info);
	if (err)
		return err;
	waiting->ready = info.ready & LASTING;
	for (i = 0; i < waiting->nr; i++) {
		if (waiting->fences[i].passed)
			waiting->ready |= KVP_READY_FENCE;
	}
	return 0;
}

static uint32_t is_there(const struct waiting *waiting)
{
	return waiting->ready & (waiting->wanted | KVP_READY_FENCE);
}

/* Nobody is to read timelines for this wait any more. Others look, and watch again. */
static void look_away(const struct waiting *waiting)
{
	struct kvp_fence fences[KVP_NR_TIMELINES] = { 0 };
	struct kvp_query arg = {
		.head.flags = KVP_QUERY_WATCH,
		.fences = kvp_addr(fences),
	};
	uint64_t seen = 0;
	uint32_t i;

	for (i = 0; i < waiting->nr; i++) {
		uint32_t timeline = waiting->fences[i].timeline;

		if (waiting->fences[i].passed || seen >> timeline & 1)
			continue;
		seen |= 1ULL << timeline;
		fences[arg.nr_fences++].timeline = timeline;
	}
	if (arg.nr_fences)
		kvp_try(waiting->pool, KVP_OP_QUERY, &arg);
}

/* ---- waiting ---- */

static int check(uint32_t wanted, uint32_t nr, const uint32_t *ready)
{
	if (!ready)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "wait: ready is NULL");
	if (wanted & ~LASTING)
		return kvp_error_set(-EINVAL, KVP_REASON_FLAG, 0,
				     "wait: wanted %#x: expected KVP_READY_TICKET, KVP_READY_EVENTS or both, fences being in an array",
				     wanted);
	if (!wanted && !nr)
		return kvp_error_set(-EINVAL, KVP_REASON_COUNT, 0,
				     "wait: nothing to wait for: expected a fence, a ticket or events");
	return 0;
}

static void rest(const struct waiting *waiting, uint64_t left)
{
	struct kvp_pool *pool = waiting->pool;

	/* What is there and not wanted is so for longer: the door would not let us sleep. */
	if (waiting->ready)
		kvp_nap(left);
	else
		pool->door->sleep(pool->conn, waiting->nr ? least(left, FENCE_SLEEP_NS) : left);
}

int kvp_wait(struct kvp_pool *pool, uint32_t wanted, struct kvp_fence *fences, uint32_t nr,
	     uint64_t timeout_ns, uint32_t *ready)
{
	const uint64_t end = kvp_clock_after(timeout_ns);
	struct waiting waiting = {
		.pool = pool,
		.wanted = wanted,
		.fences = fences,
		.nr = nr,
	};
	uint64_t left;
	int err;

	err = check(wanted, nr, ready);
	if (err)
		return err;
	for (;;) {
		err = look(&waiting);
		if (err)
			return err;
		left = kvp_clock_left(end);
		if (is_there(&waiting) || !left)
			break;
		rest(&waiting, left);
	}
	look_away(&waiting);
	*ready = is_there(&waiting);
	return 0;
}

int kvp_fence_wait(struct kvp_pool *pool, uint32_t timeline, uint64_t value,
		   uint64_t timeout_ns)
{
	struct kvp_fence fence = { .timeline = timeline, .value = value };
	uint32_t ready;
	int err;

	err = kvp_wait(pool, 0, &fence, 1, timeout_ns, &ready);
	if (err || ready)
		return err;
	return kvp_error_set(-ETIMEDOUT, KVP_REASON_NONE, 0,
			     "fence_wait: timeline %u has %llu after %llu ns: expected %llu",
			     timeline, (unsigned long long)fence.seen,
			     (unsigned long long)timeout_ns, (unsigned long long)value);
}

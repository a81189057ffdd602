/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's wait queues: who waits in this process sleeps in kvp_shim_wait(), which
 * is no twin. Who waits reads kvp_shim_wait_seen(), then looks whether there is something
 * for it, and sleeps if there is not: a wake-up in between is not lost.
 */
#ifndef KVP_SHIM_WAIT_H
#define KVP_SHIM_WAIT_H

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/types.h>

/**
 * struct wait_queue_head - who waits
 * @news: grows with each wake-up
 * @waiters: threads that wait, or are about to
 */
typedef struct wait_queue_head {
	u32 news;
	u32 waiters;
} wait_queue_head_t;

static inline void init_waitqueue_head(wait_queue_head_t *wq)
{
	wq->news = 0;
	wq->waiters = 0;
}

static inline bool waitqueue_active(wait_queue_head_t *wq)
{
	return __atomic_load_n(&wq->waiters, __ATOMIC_SEQ_CST);
}

static inline void wake_up_interruptible(wait_queue_head_t *wq)
{
	__atomic_fetch_add(&wq->news, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &wq->news, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* To be followed by kvp_shim_wait(). */
static inline u32 kvp_shim_wait_seen(wait_queue_head_t *wq)
{
	__atomic_fetch_add(&wq->waiters, 1, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&wq->news, __ATOMIC_SEQ_CST);
}

/* Until there are news since @seen, or @ns are over: 0 does not sleep. */
static inline void kvp_shim_wait(wait_queue_head_t *wq, u32 seen, u64 ns)
{
	const struct timespec time = {
		.tv_sec = ns / 1000000000,
		.tv_nsec = ns % 1000000000,
	};

	if (ns)
		syscall(SYS_futex, &wq->news, FUTEX_WAIT_PRIVATE, seen, &time, NULL, 0);
	__atomic_fetch_sub(&wq->waiters, 1, __ATOMIC_SEQ_CST);
}

#endif /* KVP_SHIM_WAIT_H */

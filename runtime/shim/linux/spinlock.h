/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's over a mutex: nothing here runs with preemption off.
 */
#ifndef KVP_SHIM_SPINLOCK_H
#define KVP_SHIM_SPINLOCK_H

#include <pthread.h>

#include <linux/lockdep.h>

typedef struct spinlock {
	pthread_mutex_t mutex;
} spinlock_t;

#ifdef KVP_SHIM_HOLDS
/* Of the test that counts what is touched under one hold, which has them. */
void kvp_shim_hold_begins(const spinlock_t *lock);
void kvp_shim_hold_ends(void);
/* What KVP_SLICE is there. */
extern unsigned int kvp_shim_slice;
#else
#define kvp_shim_hold_begins(lock)	do { } while (0)
#define kvp_shim_hold_ends()		do { } while (0)
#endif

static inline void spin_lock_init(spinlock_t *lock)
{
	pthread_mutex_init(&lock->mutex, NULL);
}

static inline void spin_lock(spinlock_t *lock)
{
	kvp_shim_acquire(lock, KVP_SHIM_SPIN);
	pthread_mutex_lock(&lock->mutex);
	kvp_shim_hold_begins(lock);
}

static inline void spin_unlock(spinlock_t *lock)
{
	pthread_mutex_unlock(&lock->mutex);
	kvp_shim_release(lock);
	kvp_shim_hold_ends();
}

#endif /* KVP_SHIM_SPINLOCK_H */

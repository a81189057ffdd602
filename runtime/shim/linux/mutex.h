/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's over a mutex of the C library.
 */
#ifndef KVP_SHIM_MUTEX_H
#define KVP_SHIM_MUTEX_H

#include <pthread.h>

#include <linux/lockdep.h>

struct mutex {
	pthread_mutex_t mutex;
};

static inline void mutex_init(struct mutex *lock)
{
	pthread_mutex_init(&lock->mutex, NULL);
}

static inline void mutex_destroy(struct mutex *lock)
{
	pthread_mutex_destroy(&lock->mutex);
}

static inline void mutex_lock(struct mutex *lock)
{
	kvp_shim_might_sleep();
	kvp_shim_acquire(lock, KVP_SHIM_WRITE);
	pthread_mutex_lock(&lock->mutex);
}

static inline void mutex_unlock(struct mutex *lock)
{
	pthread_mutex_unlock(&lock->mutex);
	kvp_shim_release(lock);
}

#endif /* KVP_SHIM_MUTEX_H */

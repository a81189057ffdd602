/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: as there, a waiting writer keeps new readers out.
 */
#ifndef KVP_SHIM_RWSEM_H
#define KVP_SHIM_RWSEM_H

#include <pthread.h>

#include <linux/lockdep.h>

struct rw_semaphore {
	pthread_rwlock_t lock;
};

static inline void init_rwsem(struct rw_semaphore *sem)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr,
				      PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&sem->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
}

static inline void down_read(struct rw_semaphore *sem)
{
	kvp_shim_might_sleep();
	kvp_shim_acquire(sem, KVP_SHIM_READ);
	pthread_rwlock_rdlock(&sem->lock);
}

static inline bool down_read_trylock(struct rw_semaphore *sem)
{
	if (pthread_rwlock_tryrdlock(&sem->lock))
		return false;
	kvp_shim_acquire(sem, KVP_SHIM_READ);
	return true;
}

static inline void up_read(struct rw_semaphore *sem)
{
	pthread_rwlock_unlock(&sem->lock);
	kvp_shim_release(sem);
}

static inline void down_write(struct rw_semaphore *sem)
{
	kvp_shim_might_sleep();
	kvp_shim_acquire(sem, KVP_SHIM_WRITE);
	pthread_rwlock_wrlock(&sem->lock);
}

static inline void up_write(struct rw_semaphore *sem)
{
	pthread_rwlock_unlock(&sem->lock);
	kvp_shim_release(sem);
}

#endif /* KVP_SHIM_RWSEM_H */

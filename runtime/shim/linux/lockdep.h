/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: with KVP_SHIM_LOCKDEP each thread knows the locks that
 * it holds, and what breaks a rule ends the process; else nothing.
 */
#ifndef KVP_SHIM_LOCKDEP_H
#define KVP_SHIM_LOCKDEP_H

#include <linux/types.h>

#ifdef KVP_SHIM_LOCKDEP

/* How a lock is held. */
#define KVP_SHIM_READ	0
#define KVP_SHIM_WRITE	1
#define KVP_SHIM_SPIN	2	/* nothing may sleep */

void kvp_shim_acquire(const void *lock, int how);
void kvp_shim_release(const void *lock);
void kvp_shim_assert_held(const void *lock, bool write, const char *file, int line);
/* Ends the process if the thread holds a spinlock. */
void kvp_shim_might_sleep(void);

#define lockdep_assert_held(lock) \
	kvp_shim_assert_held(lock, false, __FILE__, __LINE__)
#define lockdep_assert_held_write(lock) \
	kvp_shim_assert_held(lock, true, __FILE__, __LINE__)

#else

#define kvp_shim_acquire(lock, how)	do { } while (0)
#define kvp_shim_release(lock)		do { } while (0)
#define kvp_shim_might_sleep()		do { } while (0)
#define lockdep_assert_held(lock)	((void)(lock))
#define lockdep_assert_held_write(lock)	((void)(lock))

#endif

#endif /* KVP_SHIM_LOCKDEP_H */

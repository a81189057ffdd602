/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: marked accesses, hints and annotations.
 */
#ifndef KVP_SHIM_COMPILER_H
#define KVP_SHIM_COMPILER_H

/* What sparse reads in the kernel build. */
#define __must_hold(lock)
#define __acquires(lock)
#define __releases(lock)

#ifndef __always_inline
#define __always_inline	inline __attribute__((__always_inline__))
#endif
#define __must_check	__attribute__((__warn_unused_result__))
#define fallthrough	__attribute__((__fallthrough__))

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

/* Builtins, not volatile accesses: the thread sanitizer knows these. */
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, val)	__atomic_store_n(&(x), (val), __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)

#endif /* KVP_SHIM_COMPILER_H */

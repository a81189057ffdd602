/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: a hint to the cache.
 */
#ifndef KVP_SHIM_PREFETCH_H
#define KVP_SHIM_PREFETCH_H

static inline void prefetch(const void *addr)
{
	__builtin_prefetch(addr);
}

static inline void prefetchw(const void *addr)
{
	__builtin_prefetch(addr, 1);
}

#endif /* KVP_SHIM_PREFETCH_H */

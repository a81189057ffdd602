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

#endif /* KVP_SHIM_PREFETCH_H */

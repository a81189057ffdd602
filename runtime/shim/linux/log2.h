/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: powers of two.
 */
#ifndef KVP_SHIM_LOG2_H
#define KVP_SHIM_LOG2_H

#include <linux/types.h>

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

/* Undefined for 0, as in the kernel. */
#define ilog2(n) (63 - __builtin_clzll(n))

static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	return n > 1 ? 1UL << (ilog2(n - 1) + 1) : 1;
}

#endif /* KVP_SHIM_LOG2_H */

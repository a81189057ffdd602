/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: arithmetic that tells.
 */
#ifndef KVP_SHIM_OVERFLOW_H
#define KVP_SHIM_OVERFLOW_H

#include <linux/compiler.h>
#include <linux/types.h>

static inline bool __must_check kvp_shim_must_check(bool overflow)
{
	return unlikely(overflow);
}

#define check_add_overflow(a, b, d) \
	kvp_shim_must_check(__builtin_add_overflow(a, b, d))
#define check_mul_overflow(a, b, d) \
	kvp_shim_must_check(__builtin_mul_overflow(a, b, d))

#endif /* KVP_SHIM_OVERFLOW_H */

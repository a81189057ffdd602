/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: small arithmetic, limits of types, might_sleep().
 */
#ifndef KVP_SHIM_KERNEL_H
#define KVP_SHIM_KERNEL_H

#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/stddef.h>
#include <linux/types.h>

#define U32_MAX		((u32)~0U)
#define U64_MAX		((u64)~0ULL)
#define S64_MAX		((s64)(U64_MAX >> 1))

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* @a: a power of two. */
#define IS_ALIGNED(x, a) (((x) & ((typeof(x))(a) - 1)) == 0)
#define ALIGN(x, a) (((x) + (typeof(x))(a) - 1) & ~((typeof(x))(a) - 1))

#define might_sleep()		kvp_shim_might_sleep()

#endif /* KVP_SHIM_KERNEL_H */

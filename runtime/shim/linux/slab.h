/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's over malloc(). As there: 0 bytes are no error, and a
 * size that no caller may ask for is a bug of ours. So is a large allocation
 * without __GFP_NOWARN: when it fails, the kernel prints.
 */
#ifndef KVP_SHIM_SLAB_H
#define KVP_SHIM_SLAB_H

#include <limits.h>
#include <stdlib.h>

#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/lockdep.h>
#include <linux/overflow.h>
#include <linux/types.h>

#define GFP_ATOMIC		0x01U
#define GFP_KERNEL		0x02U
#define GFP_KERNEL_ACCOUNT	0x06U
#define __GFP_ZERO		0x10U
#define __GFP_NOWARN		0x20U
#define __GFP_RETRY_MAYFAIL	0x40U

#define KMALLOC_MAX_SIZE	(1UL << 22)
#define ZERO_SIZE_PTR		((void *)16)
#define KVP_SHIM_LARGE		(1UL << 15)	/* smaller ones do not fail there */

/*
 * Test hook: the n-th allocation from now fails, once. 0: none does. To be set
 * while no other thread allocates.
 */
extern int kvp_shim_fail_alloc;

static inline bool kvp_shim_alloc_fails(void)
{
	return unlikely(READ_ONCE(kvp_shim_fail_alloc) > 0) &&
	       !__atomic_sub_fetch(&kvp_shim_fail_alloc, 1, __ATOMIC_RELAXED);
}

static inline void *kvp_shim_alloc(size_t size, gfp_t flags, size_t limit)
{
	if (!(flags & GFP_ATOMIC))
		kvp_shim_might_sleep();
	if (!size)
		return ZERO_SIZE_PTR;
	if (size > limit) {
		WARN_ON_ONCE(!(flags & __GFP_NOWARN));
		return NULL;
	}
	if (kvp_shim_alloc_fails()) {
		WARN_ON_ONCE(size > KVP_SHIM_LARGE && !(flags & __GFP_NOWARN));
		return NULL;
	}
	return flags & __GFP_ZERO ? calloc(1, size) : malloc(size);
}

static inline void *kmalloc(size_t size, gfp_t flags)
{
	return kvp_shim_alloc(size, flags, KMALLOC_MAX_SIZE);
}

static inline void *kzalloc(size_t size, gfp_t flags)
{
	return kmalloc(size, flags | __GFP_ZERO);
}

static inline void *kmalloc_array(size_t n, size_t size, gfp_t flags)
{
	size_t bytes;

	if (check_mul_overflow(n, size, &bytes))
		return NULL;
	return kmalloc(bytes, flags);
}

static inline void *kcalloc(size_t n, size_t size, gfp_t flags)
{
	return kmalloc_array(n, size, flags | __GFP_ZERO);
}

static inline void kfree(const void *mem)
{
	if (mem != ZERO_SIZE_PTR)
		free((void *)mem);
}

static inline void *kvmalloc(size_t size, gfp_t flags)
{
	return kvp_shim_alloc(size, flags, INT_MAX);
}

static inline void *kvzalloc(size_t size, gfp_t flags)
{
	return kvmalloc(size, flags | __GFP_ZERO);
}

static inline void *kvmalloc_array(size_t n, size_t size, gfp_t flags)
{
	size_t bytes;

	if (check_mul_overflow(n, size, &bytes))
		return NULL;
	return kvmalloc(bytes, flags);
}

static inline void *kvcalloc(size_t n, size_t size, gfp_t flags)
{
	return kvmalloc_array(n, size, flags | __GFP_ZERO);
}

static inline void kvfree(const void *mem)
{
	kfree(mem);
}

#endif /* KVP_SHIM_SLAB_H */

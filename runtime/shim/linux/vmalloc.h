/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's over malloc(). As there: more than the machine has is
 * refused at once, and 0 bytes are a bug of ours.
 */
#ifndef KVP_SHIM_VMALLOC_H
#define KVP_SHIM_VMALLOC_H

#include <unistd.h>

#include <linux/mm.h>
#include <linux/slab.h>

static inline void *__vmalloc(size_t size, gfp_t flags)
{
	size_t limit = (size_t)sysconf(_SC_PHYS_PAGES) * PAGE_SIZE;

	if (WARN_ON_ONCE(!size))
		return NULL;
	return kvp_shim_alloc(size, flags, limit);
}

static inline void vfree(const void *mem)
{
	free((void *)mem);
}

#endif /* KVP_SHIM_VMALLOC_H */

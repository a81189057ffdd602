/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's over malloc(). As there: more than the machine has is
 * refused at once, 0 bytes are a bug of ours, and the memory is there when the
 * call returns: no first touch later costs a page fault. What fills huge pages
 * is put on them.
 */
#ifndef KVP_SHIM_VMALLOC_H
#define KVP_SHIM_VMALLOC_H

#include <unistd.h>

#include <linux/mm.h>
#include <linux/slab.h>

/* Memory in huge pages where the system has them, zeroed; NULL if there is none. */
void *kvp_shim_alloc_huge(size_t size);

static inline void *__vmalloc(size_t size, gfp_t flags)
{
	size_t limit = (size_t)sysconf(_SC_PHYS_PAGES) * PAGE_SIZE;

	if (WARN_ON_ONCE(!size))
		return NULL;
	if (size < KVP_SHIM_HUGE_PAGE || size > limit)
		return kvp_shim_alloc(size, flags, limit);
	return kvp_shim_alloc_fails() ? NULL : kvp_shim_alloc_huge(size);
}

static inline void vfree(const void *mem)
{
	free((void *)mem);
}

#endif /* KVP_SHIM_VMALLOC_H */

/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Twin of the kernel's, over aligned_alloc(). */
#ifndef KVP_SHIM_GFP_H
#define KVP_SHIM_GFP_H

#include <stdlib.h>
#include <string.h>

#include <linux/mm.h>
#include <linux/slab.h>

static inline unsigned long get_zeroed_page(gfp_t flags)
{
	void *page = kvp_shim_alloc_fails() ? NULL : aligned_alloc(PAGE_SIZE, PAGE_SIZE);

	if (page)
		memset(page, 0, PAGE_SIZE);
	return (unsigned long)page;
}

static inline void free_page(unsigned long page)
{
	free((void *)page);
}

#endif /* KVP_SHIM_GFP_H */

/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: the size of a page.
 */
#ifndef KVP_SHIM_MM_H
#define KVP_SHIM_MM_H

#include <linux/slab.h>

#define PAGE_SHIFT	12
#define PAGE_SIZE	(1UL << PAGE_SHIFT)

#define KVP_SHIM_HUGE_PAGE	(1UL << 21)

#endif /* KVP_SHIM_MM_H */

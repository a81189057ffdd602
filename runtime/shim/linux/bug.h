/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: a bug of ours is told once; in test builds
 * (KVP_SHIM_ABORT_ON_WARN) it ends the process.
 */
#ifndef KVP_SHIM_BUG_H
#define KVP_SHIM_BUG_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/types.h>

/* Tell of a bug at @file:@line; test builds abort here. */
void kvp_shim_warn(const char *file, int line, const char *what);

#define WARN_ON_ONCE(cond) ({						\
	static bool __warned;						\
	bool __bad = !!(cond);						\
	if (unlikely(__bad) &&						\
	    !__atomic_exchange_n(&__warned, true, __ATOMIC_RELAXED))	\
		kvp_shim_warn(__FILE__, __LINE__, #cond);		\
	unlikely(__bad); })

#endif /* KVP_SHIM_BUG_H */

/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: a place where others may run. A thread of a process can
 * be preempted anywhere, so nothing is left to do but to check that it may.
 */
#ifndef KVP_SHIM_SCHED_H
#define KVP_SHIM_SCHED_H

#include <linux/compiler.h>
#include <linux/lockdep.h>

/*
 * Test hook: what others do at that place, on a thread of their own. NULL: nothing. To be set
 * while no other thread is at work.
 */
extern void (*kvp_shim_on_resched)(void);

static inline int cond_resched(void)
{
	kvp_shim_might_sleep();
	if (unlikely(kvp_shim_on_resched))
		kvp_shim_on_resched();
	return 0;
}

#endif /* KVP_SHIM_SCHED_H */

/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: a place where others may run. A thread of a process can
 * be preempted anywhere, so nothing is left to do but to check that it may.
 */
#ifndef KVP_SHIM_SCHED_H
#define KVP_SHIM_SCHED_H

#include <linux/lockdep.h>

static inline int cond_resched(void)
{
	kvp_shim_might_sleep();
	return 0;
}

#endif /* KVP_SHIM_SCHED_H */

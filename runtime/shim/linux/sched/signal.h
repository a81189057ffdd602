/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Twin of the kernel's: a process that is killed does not come to ask. */
#ifndef KVP_SHIM_SCHED_SIGNAL_H
#define KVP_SHIM_SCHED_SIGNAL_H

#include <linux/types.h>

#define current	NULL

static inline bool fatal_signal_pending(const void *task)
{
	return false;
}

#endif /* KVP_SHIM_SCHED_SIGNAL_H */

/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Twin of the kernel's wait queues: in this process nobody polls a client. */
#ifndef KVP_SHIM_WAIT_H
#define KVP_SHIM_WAIT_H

#include <linux/types.h>

typedef struct wait_queue_head {
	char none;
} wait_queue_head_t;

static inline void init_waitqueue_head(wait_queue_head_t *wq)
{
}

static inline bool waitqueue_active(wait_queue_head_t *wq)
{
	return false;
}

static inline void wake_up_interruptible(wait_queue_head_t *wq)
{
}

#endif /* KVP_SHIM_WAIT_H */

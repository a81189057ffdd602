/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Twin of the module's tracepoints: none. */
#ifndef KVP_SHIM_TRACE_H
#define KVP_SHIM_TRACE_H

#include <linux/types.h>

static inline void trace_kvp_op(const struct kvp_client *client, const char *name, u32 nr,
				int ret, u32 reason, u32 where)
{
}

static inline void trace_kvp_block(const struct kvp_family *family, u32 index, u32 from, u32 to)
{
}

#endif /* KVP_SHIM_TRACE_H */

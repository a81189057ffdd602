/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints of the core, which includes this through seam.h: an operation that
 * ended, and a block that changed its state; and of the device: timelines were read,
 * because somebody waits. No token ids, digests or pointers.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kvpool

#if !defined(KVP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define KVP_TRACE_H

#include <linux/tracepoint.h>

#define KVP_TRACE_NAME_LEN 24	/* of the longest name of an operation, and NUL */

TRACE_EVENT(kvp_op,
	    TP_PROTO(const struct kvp_client *client, const char *name, u32 nr, int ret,
		     u32 reason, u32 where),
	    TP_ARGS(client, name, nr, ret, reason, where),
	    TP_STRUCT__entry(__field(u64, pool)
			     __field(u64, client)
			     __array(char, name, KVP_TRACE_NAME_LEN)
			     __field(u32, nr)
			     __field(int, ret)
			     __field(u32, reason)
			     __field(u32, where)),
	    /* Pairs with the release in kvp_client_attach(). */
	    TP_fast_assign(const struct kvp_pool *pool = smp_load_acquire(&client->pool);

			   __entry->pool = pool ? pool->id : 0;
			   __entry->client = pool ? client->account->client : 0;
			   strscpy(__entry->name, name, KVP_TRACE_NAME_LEN);
			   __entry->nr = nr;
			   __entry->ret = ret;
			   __entry->reason = reason;
			   __entry->where = where;),
	    TP_printk("pool=%llu client=%llu op=%s nr=0x%02x ret=%d reason=%u where=%u",
		      __entry->pool, __entry->client, __entry->name, __entry->nr,
		      __entry->ret, __entry->reason, __entry->where)
);

#define KVP_TRACE_STATE(state) __print_symbolic(state,			\
	{ KVP_BLOCK_FREE, "free" },					\
	{ KVP_BLOCK_RESERVED, "reserved" },				\
	{ KVP_BLOCK_HELD, "held" },					\
	{ KVP_BLOCK_IDLE, "idle" },					\
	{ KVP_BLOCK_HELD_BACK, "held-back" },				\
	{ KVP_BLOCK_RETIRED, "retired" })

TRACE_EVENT(kvp_block,
	    TP_PROTO(const struct kvp_family *family, u32 index, u32 from, u32 to),
	    TP_ARGS(family, index, from, to),
	    TP_STRUCT__entry(__field(u64, pool)
			     __field(u32, family)
			     __field(u32, index)
			     __field(u32, from)
			     __field(u32, to)),
	    TP_fast_assign(__entry->pool = family->pool->id;
			   __entry->family = family->index;
			   __entry->index = index;
			   __entry->from = from;
			   __entry->to = to;),
	    TP_printk("pool=%llu family=%u block=%u %s -> %s", __entry->pool,
		      __entry->family, __entry->index, KVP_TRACE_STATE(__entry->from),
		      KVP_TRACE_STATE(__entry->to))
);

TRACE_EVENT(kvp_scan,
	    TP_PROTO(u64 next),
	    TP_ARGS(next),
	    TP_STRUCT__entry(__field(u64, next)),
	    TP_fast_assign(__entry->next = next;),
	    TP_printk("next_ns=%lld", (s64)__entry->next)
);

#endif /* KVP_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE kvp_trace
#include <trace/define_trace.h>

// SPDX-License-Identifier: MIT
/*
 * Scenarios of batches, which are not atomic: what is left is as after some of the entries.
 */
#include "failnth.h"

static void entry_add(struct fn_state *s, u32 i, u32 op, u32 size)
{
	s->arg[i].head.size = size;
	s->entry[i] = (struct kvp_batch_entry){
		.op = op,
		.len = size,
		.arg = kvpv_ptr(&s->arg[i]),
	};
}

#define ENTRY(s, i, op_, member, ...)						\
do {										\
	memset(&(s)->arg[i], 0, sizeof((s)->arg[i]));				\
	(s)->arg[i].member = (typeof((s)->arg[i].member)){ __VA_ARGS__ };	\
	entry_add(s, i, op_, sizeof((s)->arg[i].member));			\
} while (0)

/* A sequence from its begin to its table, in which every entry names the first one's. */
static void story(struct fn_state *s)
{
	ENTRY(s, 0, KVP_OP_SEQ_CREATE, create, .tokens = kvpv_ptr(s->tokens), .nr_tokens = 20);
	kvpv_space(1, s->arg[0].create.space);
	ENTRY(s, 1, KVP_OP_SEQ_APPEND, append, .seq = KVP_REF(0), .tokens = kvpv_ptr(s->other),
	      .nr_tokens = 30, .position = KVP_POS_END);
	ENTRY(s, 2, KVP_OP_SEQ_ADVANCE, advance, .seq = KVP_REF(0), .computed = 50);
	ENTRY(s, 3, KVP_OP_PREFIX_PUBLISH, publish, .seq = KVP_REF(0));
	ENTRY(s, 4, KVP_OP_SEQ_TABLE, table, .seq = KVP_REF(0), .blocks = kvpv_ptr(s->block),
	      .nr_blocks = 80);
	ENTRY(s, 5, KVP_OP_BLOCK_ALLOC, alloc, .blocks = kvpv_ptr(s->block), .nr = 4);
	ENTRY(s, 6, KVP_OP_SEQ_FREE, seq, .seq = KVP_REF(0));
}

/* More than there is room for without memory. */
static void many(struct fn_state *s)
{
	u32 i;

	ENTRY(s, 0, KVP_OP_SEQ_CREATE, create, .tokens = kvpv_ptr(s->tokens), .nr_tokens = 4);
	for (i = 1; i < FN_LONG; i++)
		ENTRY(s, i, KVP_OP_ABI, abi, .features = 0);
}

static int do_batch(struct fn_state *s)
{
	struct kvp_batch arg = {
		.head.flags = KVP_BATCH_STOP_ON_ERROR,
		.entries = kvpv_ptr(s->entry),
		.nr_entries = s->steps,
	};
	int err;
	u32 i;

	err = kvpv_do(s->a, KVP_OP_BATCH, &arg);
	for (i = 0; !err && i < s->steps; i++) {
		err = s->entry[i].result;
		if (err)
			kvpv_head = s->arg[i].head;
		else
			s->done++;
	}
	return err;
}

const struct fn_scenario fn_batch_scenarios[] = {
	{
		.op = KVP_OP_BATCH, .name = "batch of a few", .steps = 7, .allocs = 8,
		.prepare = story, .call = do_batch,
	}, {
		.op = KVP_OP_BATCH, .name = "batch of many", .steps = FN_LONG, .allocs = 5,
		.prepare = many, .call = do_batch,
	}, {}
};

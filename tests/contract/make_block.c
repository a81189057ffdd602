// SPDX-License-Identifier: MIT
/*
 * Calls on raw blocks: references that the stream holds, has not, or had once.
 */
#include <string.h>

#include "stream.h"

static void make_alloc(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_block_alloc *arg = (void *)call->before;
	__u32 nr = 1 + st_below(4);

	if (st_once(12))
		nr = 1 + st_below(80);
	ct_call_array(call, 0, nr);
	arg->family = st_pick_family();
}

static void add(struct st_slot *slot, __u64 id)
{
	if (id && slot->nr_raw < ST_MAX_RAW)
		slot->raw[slot->nr_raw++] = id;
}

static void add_array(struct st_slot *slot, const struct ct_call *call)
{
	const __u64 *ids = (void *)call->mem[0];
	__u32 i;

	for (i = 0; i < call->room[0]; i++)
		add(slot, ids[i]);
}

static void drop(struct st_slot *slot, __u64 id)
{
	__u32 i;

	for (i = 0; i < slot->nr_raw; i++) {
		if (slot->raw[i] != id)
			continue;
		slot->raw[i] = slot->raw[--slot->nr_raw];
		st_remember_old(id);
		return;
	}
}

static __u64 wrong_block(void)
{
	switch (st_below(4)) {
	case 0:
		return KVP_BLOCK_ID(st_below(3), 60000 + st_below(3), 1);
	case 1:
		return KVP_BLOCK_ID(9, 0, 1);
	default:
		return st.old[st_below(ST_OLD)];
	}
}

__u64 st_held_block(const struct st_slot *slot)
{
	if (!slot->nr_raw || st_once(14))
		return wrong_block();
	return slot->raw[st_below(slot->nr_raw)];
}

/* Blocks that the client holds raw; one is named twice where @distinct is not set. */
static void held_blocks(const struct st_slot *slot, struct ct_call *call, bool distinct)
{
	__u32 nr = 1 + st_below(4);
	__u32 from = slot->nr_raw ? st_below(slot->nr_raw) : 0;
	__u64 *ids = ct_call_array(call, 0, nr);
	__u32 i;

	for (i = 0; i < nr; i++)
		ids[i] = distinct && slot->nr_raw >= nr ? slot->raw[(from + i) % slot->nr_raw] :
							  st_held_block(slot);
	if (st_once(10))
		ids[nr - 1] = KVP_BLOCK_NULL;
	if (st_once(10))
		ids[nr - 1] = wrong_block();
}

static void make_ref(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_block_refs *arg = (void *)call->before;
	const struct st_span *span = &slot->span;
	__u64 *ids;
	__u32 nr;

	if (!span->nr || st_once(3)) {
		held_blocks(slot, call, false);
		if (st_once(12))
			arg->first = 1;
		return;
	}
	nr = 1 + st_below(span->nr);
	ids = ct_call_array(call, 0, nr);
	memcpy(ids, span->id, nr * sizeof(*ids));
	arg->holder = span->holder;
	arg->first = span->first;
	if (span->match)
		arg->head.flags = KVP_BLOCK_REF_MATCH;
	if (st_once(12))
		arg->holder = st_wrong_id();
	if (st_once(12))
		arg->first += st_below(3);
}

static void make_unref(struct st_slot *slot, struct ct_call *call)
{
	held_blocks(slot, call, !st_once(4));
}

static void learn_unref(struct st_slot *slot, const struct ct_call *call)
{
	const __u64 *ids = (void *)call->mem[0];
	__u32 i;

	for (i = 0; i < call->room[0]; i++)
		drop(slot, ids[i]);
}

static void make_private(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_block_make_private *arg = (void *)call->before;

	arg->block = st_held_block(slot);
}

static void learn_private(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_block_make_private *arg = (void *)call->after;

	if (arg->copy)
		add(slot, arg->result);
}

const struct st_maker st_block_makers[] = {
	{ KVP_OP_BLOCK_ALLOC, 5, false, make_alloc, add_array },
	{ KVP_OP_BLOCK_REF, 5, false, make_ref, add_array },
	{ KVP_OP_BLOCK_UNREF, 7, false, make_unref, learn_unref },
	{ KVP_OP_BLOCK_MAKE_PRIVATE, 3, false, make_private, learn_private },
	{ }
};

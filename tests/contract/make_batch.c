// SPDX-License-Identifier: MIT
/*
 * Batches: entries are calls like others, some of which name what an earlier one makes.
 */
#include <string.h>

#include "stream.h"

#define MANY	70		/* entries: more than the core has room for at hand */

struct ct_call st_entries[CT_MAX_ENTRIES];

static void set_ref(struct ct_call *call, __u32 entry)
{
	if (call->op && call->op->id)
		ct_put((__u8 *)call->before + call->op->id, 8, KVP_REF(entry));
}

/* A whole request: what the prompt makes is computed, published and freed. */
static __u32 make_request(struct st_slot *slot)
{
	static const __u32 nrs[] = {
		KVP_OP_SEQ_CREATE, KVP_OP_SEQ_ADVANCE, KVP_OP_PREFIX_PUBLISH, KVP_OP_SEQ_FORK,
		KVP_OP_SEQ_FREE,
	};
	const struct kvp_seq_create *create = (void *)st_entries[0].before;
	struct kvp_seq_advance *advance = (void *)st_entries[1].before;
	__u32 i;

	for (i = 0; i < CT_SIZE(nrs); i++) {
		ct_call_begin(&st_entries[i], nrs[i]);
		st_maker_find(nrs[i])->make(slot, &st_entries[i]);
		if (i)
			set_ref(&st_entries[i], 0);
	}
	advance->computed = create->nr_tokens;
	for (i = 0; i < CT_SIZE(nrs); i++)
		ct_call_place(&st_entries[i]);
	return CT_SIZE(nrs);
}

static __u32 make_many(void)
{
	__u32 i;

	for (i = 0; i < MANY; i++) {
		ct_call_begin(&st_entries[i], KVP_OP_ABI);
		ct_call_place(&st_entries[i]);
	}
	return MANY;
}

static void make_entry(struct st_slot *slot, __u32 i)
{
	static const __u32 wrong[] = { 0xfe, KVP_OP_POOL_ATTACH, KVP_OP_POOL_DESTROY, KVP_OP_BATCH };
	struct ct_call *entry = &st_entries[i];
	__u32 nr = st_maker_pick(true)->nr;

	if (st_once(20))
		nr = wrong[st_below(CT_SIZE(wrong))];
	/* No entries of entries. */
	if (nr == KVP_OP_BATCH) {
		ct_call_begin(entry, nr);
		ct_call_place(entry);
		return;
	}
	st_call_make(slot, entry, nr);
	if (i && st_once(3) && entry->op && entry->op->id) {
		set_ref(entry, st_below(i + 1));
		memcpy(entry->arg, entry->before, sizeof(struct kvp_head) + 8);
		ct_put(entry->arg + entry->op->id, 8,
		       ct_get((__u8 *)entry->before + entry->op->id, 8));
	}
}

static void make_batch(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_batch *arg = (void *)call->before;
	struct kvp_batch_entry *entries;
	__u32 i, nr = 1 + st_below(6);

	if (st_once(3))
		nr = make_request(slot);
	else if (st_once(20))
		nr = make_many();
	else
		for (i = 0; i < nr; i++)
			make_entry(slot, i);
	if (st_once(2))
		arg->head.flags = KVP_BATCH_STOP_ON_ERROR;
	entries = ct_call_array(call, 0, nr);
	for (i = 0; i < nr; i++) {
		entries[i].op = st_entries[i].nr;
		entries[i].len = st_entries[i].len;
		entries[i].arg = (uintptr_t)st_entries[i].arg;
		if (st_entries[i].null)
			entries[i].arg = 0;
	}
	if (st_once(30))
		entries[st_below(nr)].len += 8;
	if (st_once(60))
		entries[st_below(nr)].reserved = 1;
}

/* The id that a KVP_REF stands for, so that the stream learns of which object it was. */
static void resolve(struct ct_call *entry, __u32 i)
{
	const struct ct_call *maker;
	__u64 id;

	if (!entry->op || !entry->op->id)
		return;
	id = ct_get((__u8 *)entry->after + entry->op->id, 8);
	if (!(id & KVP_REF_FLAG) || (id & ~KVP_REF_FLAG) >= i)
		return;
	maker = &st_entries[id & ~KVP_REF_FLAG];
	ct_put((__u8 *)entry->after + entry->op->id, 8,
	       ct_get((__u8 *)maker->after + maker->op->made, 8));
}

void st_batch_take(const struct ct_call *batch)
{
	const struct kvp_batch_entry *entries = (void *)batch->mem[0];
	__u32 i;

	for (i = 0; i < batch->room[0]; i++) {
		ct_call_take(&st_entries[i]);
		st_entries[i].result = entries[i].result;
		ct_count(&st_entries[i]);
	}
}

static void learn_batch(struct st_slot *slot, const struct ct_call *call)
{
	const struct st_maker *maker;
	__u32 i;

	for (i = 0; i < call->room[0]; i++) {
		if (st_entries[i].result)
			continue;
		resolve(&st_entries[i], i);
		maker = st_maker_find(st_entries[i].nr);
		if (maker && maker->learn)
			maker->learn(slot, &st_entries[i]);
	}
}

const struct st_maker st_batch_makers[] = {
	{ KVP_OP_BATCH, 7, true, make_batch, learn_batch },
	{ }
};

// SPDX-License-Identifier: MIT
/*
 * Calls on what waits. Owns nothing but the thread's last struct.
 */
#include "fences.h"

/* ---- timelines ---- */

int kvpt_timeline_create(struct kvp_client *client, u32 *timeline)
{
	struct kvp_timeline_create *arg = &kvpt_begin()->timeline_create;
	int err = kvpt_do(client, KVP_OP_TIMELINE_CREATE, arg);

	if (!err && timeline)
		*timeline = arg->timeline;
	return err;
}

u32 kvpt_timeline(struct kvp_client *client)
{
	struct kvp_timeline_create arg = { };

	if (kvpt_do(client, KVP_OP_TIMELINE_CREATE, &arg))
		kvpt_die(__FILE__, __LINE__, "timeline: reason %u", arg.head.reason);
	return arg.timeline;
}

static u64 *value_of(struct kvp_client *client, u32 timeline)
{
	const struct kvp_times *times = kvp_client_times(client);

	if (!times)
		kvpt_die(__FILE__, __LINE__, "no memory for timelines");
	return (u64 *)&times->page[timeline].value;
}

u64 kvpt_shown(struct kvp_client *client, u32 timeline)
{
	return __atomic_load_n(value_of(client, timeline), __ATOMIC_ACQUIRE);
}

void kvpt_pass(struct kvp_client *client, u32 timeline, u64 value)
{
	__atomic_store_n(value_of(client, timeline), value, __ATOMIC_RELEASE);
}

int kvpt_signal(struct kvp_client *client, u32 timeline, u64 value)
{
	struct kvp_signal *arg = &kvpt_begin()->signal;

	arg->timeline = timeline;
	arg->value = value;
	return kvpt_do(client, KVP_OP_SIGNAL, arg);
}

static int query_flags(struct kvp_client *client, u32 flags, struct kvp_fence *fences, u32 nr)
{
	struct kvp_query *arg = &kvpt_begin()->query;

	arg->head.flags = flags;
	arg->fences = kvpt_addr(fences);
	arg->nr_fences = nr;
	return kvpt_do(client, KVP_OP_QUERY, arg);
}

int kvpt_query(struct kvp_client *client, struct kvp_fence *fences, u32 nr)
{
	return query_flags(client, 0, fences, nr);
}

int kvpt_watch(struct kvp_client *client, u32 timeline, u64 value)
{
	struct kvp_fence fence = { .timeline = timeline, .value = value };

	return query_flags(client, KVP_QUERY_WATCH, &fence, 1);
}

struct kvp_fence kvpt_fence(struct kvp_client *client, u32 timeline, u64 value)
{
	struct kvp_fence fence = { .timeline = timeline, .value = value };

	if (kvpt_query(client, &fence, 1))
		kvpt_die(__FILE__, __LINE__, "query: reason %u", kvpt.head.reason);
	return fence;
}

/* ---- uses ---- */

int kvpt_use(struct kvp_client *client, const struct kvp_use_entry *entries, u32 nr)
{
	struct kvp_use *arg = &kvpt_begin()->use;

	arg->entries = kvpt_addr(entries);
	arg->nr_entries = nr;
	return kvpt_do(client, KVP_OP_USE, arg);
}

int kvpt_use_read(struct kvp_client *client, u64 seq, u32 timeline, u64 value)
{
	const struct kvp_use_entry entry = KVPT_READ(seq, timeline, value);

	return kvpt_use(client, &entry, 1);
}

int kvpt_use_write(struct kvp_client *client, u64 seq, u32 timeline, u64 value, u64 write_from,
		   u64 computed_to)
{
	const struct kvp_use_entry entry = KVPT_WRITE(seq, timeline, value, write_from,
						      computed_to);

	return kvpt_use(client, &entry, 1);
}

int kvpt_use_block(struct kvp_client *client, u64 block, u32 timeline, u64 value)
{
	const struct kvp_use_entry entry = KVPT_BLOCK(block, timeline, value);

	return kvpt_use(client, &entry, 1);
}

/* ---- quarantine ---- */

int kvpt_reap(struct kvp_client *client, u64 dead)
{
	struct kvp_reap *arg = &kvpt_begin()->reap;

	arg->client = dead;
	return kvpt_do(client, KVP_OP_REAP, arg);
}

/* ---- tickets ---- */

int kvpt_admit_with(struct kvp_client *client, u32 flags, const struct kvp_admit_need *needs,
		    u32 nr, u64 *ticket)
{
	struct kvp_admit *arg = &kvpt_begin()->admit;
	int err;

	arg->head.flags = flags;
	arg->needs = kvpt_addr(needs);
	arg->nr_needs = nr;
	if (ticket)
		arg->ticket = *ticket;
	err = kvpt_do(client, KVP_OP_ADMIT, arg);
	if (!err && ticket)
		*ticket = arg->ticket;
	return err;
}

static int admit_one(struct kvp_client *client, u32 flags, u32 family, u64 blocks, u64 *ticket)
{
	const struct kvp_admit_need need = { .family = family, .blocks = blocks };

	return kvpt_admit_with(client, flags, &need, 1, ticket);
}

int kvpt_admit(struct kvp_client *client, u32 family, u64 blocks)
{
	return admit_one(client, 0, family, blocks, NULL);
}

int kvpt_admit_queue(struct kvp_client *client, u32 family, u64 blocks, u64 *ticket)
{
	*ticket = 0;
	return admit_one(client, KVP_ADMIT_QUEUE, family, blocks, ticket);
}

int kvpt_admit_drop(struct kvp_client *client, u32 family, u64 blocks)
{
	return admit_one(client, KVP_ADMIT_DROP, family, blocks, NULL);
}

int kvpt_admit_take(struct kvp_client *client, u64 ticket)
{
	return kvpt_admit_with(client, KVP_ADMIT_TAKE, NULL, 0, &ticket);
}

int kvpt_admit_cancel(struct kvp_client *client, u64 ticket)
{
	return kvpt_admit_with(client, KVP_ADMIT_CANCEL, NULL, 0, &ticket);
}

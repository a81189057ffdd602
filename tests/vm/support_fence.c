// SPDX-License-Identifier: MIT
/*
 * Timelines, uses and tickets on the device, one function an operation, and what a
 * quarantine is made of.
 */
#include <time.h>

#include "support.h"

int kvpv_fenced_pool(const char *name, u32 flags, u32 grace_ms,
		     const struct kvp_family_desc *families, u32 nr)
{
	struct kvp_pool_create arg = {
		.head.flags = flags,
		.families = kvpv_ptr(families),
		.nr_families = nr,
		.mode = 0666,
		.grace_ms = grace_ms,
	};
	int fd = kvpv_open();

	kvpv_true(strlen(name) < KVP_NAME_LEN);
	strcpy(arg.name, name);
	kvpv_ok(kvpv_do(fd, KVP_OP_POOL_CREATE, &arg));
	return fd;
}

/* ---- timelines ---- */

u32 kvpv_timeline(int fd)
{
	struct kvp_timeline_create arg = {};

	kvpv_ok(kvpv_do(fd, KVP_OP_TIMELINE_CREATE, &arg));
	return arg.timeline;
}

void kvpv_store(struct kvp_timeline *page, u32 timeline, u64 value)
{
	__atomic_store_n(&page[timeline].value, value, __ATOMIC_RELEASE);
}

int kvpv_use(int fd, const struct kvp_use_entry *entries, u32 nr)
{
	struct kvp_use arg = { .entries = kvpv_ptr(entries), .nr_entries = nr };

	return kvpv_do(fd, KVP_OP_USE, &arg);
}

int kvpv_use_seq(int fd, u64 seq, u32 timeline, u64 value)
{
	const struct kvp_use_entry entry = {
		.kind = KVP_USE_SEQ,
		.timeline = timeline,
		.id = seq,
		.value = value,
		.write_from = KVP_POS_END,
	};

	return kvpv_use(fd, &entry, 1);
}

int kvpv_write_seq(int fd, u64 seq, u32 timeline, u64 value, u64 from, u64 to)
{
	const struct kvp_use_entry entry = {
		.kind = KVP_USE_SEQ,
		.timeline = timeline,
		.id = seq,
		.value = value,
		.write_from = from,
		.computed_to = to,
	};

	return kvpv_use(fd, &entry, 1);
}

int kvpv_use_block(int fd, u64 block, u32 timeline, u64 value)
{
	const struct kvp_use_entry entry = {
		.kind = KVP_USE_BLOCK,
		.timeline = timeline,
		.id = block,
		.value = value,
	};

	return kvpv_use(fd, &entry, 1);
}

int kvpv_signal(int fd, u32 timeline, u64 value)
{
	struct kvp_signal arg = { .timeline = timeline, .value = value };

	return kvpv_do(fd, KVP_OP_SIGNAL, &arg);
}

int kvpv_query(int fd, u32 flags, struct kvp_fence *fences, u32 nr, struct kvp_query *query)
{
	*query = (struct kvp_query){
		.head.flags = flags,
		.fences = kvpv_ptr(fences),
		.nr_fences = nr,
	};
	return kvpv_do(fd, KVP_OP_QUERY, query);
}

bool kvpv_watch(int fd, u32 timeline, u64 value)
{
	struct kvp_fence fence = { .timeline = timeline, .value = value };
	struct kvp_query query;

	kvpv_ok(kvpv_query(fd, KVP_QUERY_WATCH, &fence, 1, &query));
	return fence.passed;
}

bool kvpv_passed(int fd, u32 timeline, u64 value)
{
	struct kvp_fence fence = { .timeline = timeline, .value = value };
	struct kvp_query query;

	kvpv_ok(kvpv_query(fd, 0, &fence, 1, &query));
	return fence.passed;
}

/* ---- tickets ---- */

int kvpv_admit(int fd, u32 flags, u32 family, u64 blocks, struct kvp_admit *admit)
{
	const struct kvp_admit_need need = { .family = family, .blocks = blocks };

	*admit = (struct kvp_admit){
		.head.flags = flags,
		.needs = kvpv_ptr(&need),
		.nr_needs = 1,
	};
	return kvpv_do(fd, KVP_OP_ADMIT, admit);
}

u64 kvpv_queue(int fd, u32 family, u64 blocks, u64 ahead)
{
	struct kvp_admit admit;

	kvpv_ok(kvpv_admit(fd, KVP_ADMIT_QUEUE, family, blocks, &admit));
	kvpv_same(admit.state, KVP_ADMIT_WAITING);
	kvpv_same(admit.ahead, ahead);
	kvpv_true(admit.ticket);
	return admit.ticket;
}

int kvpv_ticket(int fd, u32 flag, u64 ticket)
{
	struct kvp_admit arg = { .head.flags = flag, .ticket = ticket };

	return kvpv_do(fd, KVP_OP_ADMIT, &arg);
}

/* ---- the dead ---- */

int kvpv_reap(int fd, u64 client, u32 *clients, u64 *blocks)
{
	struct kvp_reap arg = { .client = client };
	int err = kvpv_do(fd, KVP_OP_REAP, &arg);

	if (clients)
		*clients = arg.clients;
	if (blocks)
		*blocks = arg.blocks;
	return err;
}

struct kvp_block_entry kvpv_block(int fd, u64 block)
{
	struct kvp_block_entry entry = {};
	struct kvp_block_dump arg = {
		.entries = kvpv_ptr(&entry),
		.nr_entries = 1,
		.family = KVP_BLOCK_FAMILY(block),
		.cursor = KVP_BLOCK_INDEX(block),
	};

	kvpv_ok(kvpv_do(fd, KVP_OP_BLOCK_DUMP, &arg));
	kvpv_same(arg.nr_entries, 1);
	return entry;
}

struct kvp_stats kvpv_pool_stats(int fd)
{
	struct kvp_stats stats;

	kvpv_ok(kvpv_stats(fd, 0, 0, &stats, NULL, 0));
	return stats;
}

u64 kvpv_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000 + (u64)now.tv_nsec / 1000;
}

// SPDX-License-Identifier: MIT
/*
 * Timelines, uses and what became of them: each function is one call of the contract. Owns nothing
 * and takes no lock.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

/* ---- timelines ---- */

int kvp_timeline_create(struct kvp_pool *pool, uint32_t *timeline)
{
	struct kvp_timeline_create arg = { 0 };
	int err;

	if (!timeline)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "timeline_create: timeline is NULL");
	err = kvp_do(pool, KVP_OP_TIMELINE_CREATE, &arg);
	if (!err)
		*timeline = arg.timeline;
	return err;
}

int kvp_timelines(struct kvp_pool *pool, struct kvp_timeline **page)
{
	int err = pool->door->timelines(pool->conn, page);

	if (err == -EOPNOTSUPP)
		return kvp_error_set(err, KVP_REASON_DOOR, 0,
				     "pool %s: there is no page of timelines: expected a device that can be mapped",
				     pool->name);
	return err ? kvp_door_failed(pool, err, "there is no page of timelines") : 0;
}

int kvp_timeline_address(struct kvp_pool *pool, uint32_t timeline, uint64_t **address)
{
	struct kvp_fence fence = { .timeline = timeline };
	struct kvp_timeline *page;
	int err;

	if (!address)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "timeline_address: address is NULL");
	/* Is there one of that number? */
	err = kvp_query(pool, &fence, 1, 0, NULL);
	if (!err)
		err = kvp_timelines(pool, &page);
	if (!err)
		*address = (uint64_t *)&page[timeline].value;
	return err;
}

/* ---- uses ---- */

int kvp_use(struct kvp_pool *pool, const struct kvp_use_entry *entries, uint32_t nr)
{
	struct kvp_use arg = { .entries = kvp_addr(entries), .nr_entries = nr };
	uint32_t at;
	int err;

	err = kvp_try(pool, KVP_OP_USE, &arg);
	if (!err)
		return 0;
	at = arg.head.where;
	if (arg.head.reason != KVP_REASON_POSITION || at >= nr)
		return kvp_pool_failed(pool, KVP_OP_USE, err, &arg.head);
	return kvp_error_set(err, KVP_REASON_POSITION, at,
			     "use: element %u: write_from %llu: expected at most %llu, the rows that there are or will be",
			     at, (unsigned long long)entries[at].write_from,
			     (unsigned long long)arg.position);
}

int kvp_signal(struct kvp_pool *pool, uint32_t timeline, uint64_t value)
{
	struct kvp_signal arg = { .timeline = timeline, .value = value };
	uint32_t reason;
	int err;

	err = kvp_try(pool, KVP_OP_SIGNAL, &arg);
	if (!err)
		return 0;
	reason = arg.head.reason;
	if (reason != KVP_REASON_NO_TIMELINE && reason != KVP_REASON_FENCE_PASSED &&
	    reason != KVP_REASON_FENCE_AHEAD)
		return kvp_pool_failed(pool, KVP_OP_SIGNAL, err, &arg.head);
	return kvp_error_set(err, reason, 0, "signal: timeline %u, value %llu: %s: %s", timeline,
			     (unsigned long long)value, strerrorname_np(-err),
			     kvp_strerror(err, reason));
}

/* ---- what became of them ---- */

int kvp_query(struct kvp_pool *pool, struct kvp_fence *fences, uint32_t nr, uint32_t flags,
	      struct kvp_query *info)
{
	struct kvp_query arg = {
		.head.flags = flags,
		.fences = kvp_addr(fences),
		.nr_fences = nr,
	};
	int err;

	err = kvp_do(pool, KVP_OP_QUERY, &arg);
	if (!err && info)
		*info = arg;
	return err;
}

int kvp_reap(struct kvp_pool *pool, uint64_t client, uint32_t *clients, uint64_t *blocks)
{
	struct kvp_reap arg = { .client = client };
	int err;

	err = kvp_do(pool, KVP_OP_REAP, &arg);
	if (err)
		return err;
	if (clients)
		*clients = arg.clients;
	if (blocks)
		*blocks = arg.blocks;
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * Events: what was stored and removed, read with a cursor that is the caller's. Owns nothing and
 * takes no lock.
 */
#include <errno.h>

#include "internal.h"

int kvp_events_read(struct kvp_pool *pool, uint64_t *cursor, struct kvp_event *events,
		    uint32_t *nr, uint64_t *lost)
{
	struct kvp_events arg = { .events = kvp_addr(events) };
	int err;

	if (!cursor || !nr || !lost)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "events: %s is NULL",
				     !cursor ? "cursor" : !nr ? "nr" : "lost");
	arg.cursor = *cursor;
	arg.nr_events = *nr;
	err = kvp_do(pool, KVP_OP_EVENTS, &arg);
	if (err)
		return err;
	*cursor = arg.cursor;
	*nr = arg.nr_events;
	*lost = arg.lost;
	return 0;
}

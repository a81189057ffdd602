// SPDX-License-Identifier: MIT
/*
 * Admission: blocks taken in advance, and tickets for those that are not there yet. Owns nothing
 * and takes no lock.
 */
#include <errno.h>

#include "internal.h"

static int admit(struct kvp_pool *pool, struct kvp_admit *arg, uint32_t flags,
		 const struct kvp_admit_need *needs, uint32_t nr)
{
	arg->head.flags = flags;
	arg->needs = kvp_addr(needs);
	arg->nr_needs = nr;
	return kvp_do(pool, KVP_OP_ADMIT, arg);
}

int kvp_admit(struct kvp_pool *pool, const struct kvp_admit_need *needs, uint32_t nr)
{
	struct kvp_admit arg = { 0 };

	return admit(pool, &arg, 0, needs, nr);
}

int kvp_admit_queue(struct kvp_pool *pool, const struct kvp_admit_need *needs, uint32_t nr,
		    kvp_ticket_t *ticket, uint64_t *ahead)
{
	struct kvp_admit arg = { 0 };
	int err;

	if (!ticket)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "admit_queue: ticket is NULL");
	err = admit(pool, &arg, KVP_ADMIT_QUEUE, needs, nr);
	if (err)
		return err;
	*ticket = arg.ticket;
	if (ahead)
		*ahead = arg.ahead;
	return 0;
}

int kvp_admit_take(struct kvp_pool *pool, kvp_ticket_t ticket)
{
	struct kvp_admit arg = { .head.flags = KVP_ADMIT_TAKE, .ticket = ticket };
	int err = kvp_try(pool, KVP_OP_ADMIT, &arg);

	if (!err)
		return 0;
	if (arg.head.reason != KVP_REASON_NOT_GRANTED)
		return kvp_pool_failed(pool, KVP_OP_ADMIT, err, &arg.head);
	return kvp_error_set(err, KVP_REASON_NOT_GRANTED, (uint32_t)arg.ahead,
			     "admit_take: the ticket still waits, behind %llu others: expected one that is granted",
			     (unsigned long long)arg.ahead);
}

int kvp_admit_cancel(struct kvp_pool *pool, kvp_ticket_t ticket)
{
	struct kvp_admit arg = { .ticket = ticket };

	return admit(pool, &arg, KVP_ADMIT_CANCEL, NULL, 0);
}

int kvp_admit_drop(struct kvp_pool *pool, const struct kvp_admit_need *needs, uint32_t nr)
{
	struct kvp_admit arg = { 0 };

	return admit(pool, &arg, KVP_ADMIT_DROP, needs, nr);
}

/* ---- and wait ---- */

/* The time is over; but the ticket may just have been granted. */
static int give_up(struct kvp_pool *pool, kvp_ticket_t ticket, uint64_t timeout_ns)
{
	int err = kvp_admit_take(pool, ticket);

	if (err != -EBUSY)
		return err;
	err = kvp_admit_cancel(pool, ticket);
	if (err)
		return err;
	return kvp_error_set(-ETIMEDOUT, KVP_REASON_NONE, 0,
			     "admit_wait: not granted in %llu ns: expected blocks to come back by then",
			     (unsigned long long)timeout_ns);
}

int kvp_admit_wait(struct kvp_pool *pool, const struct kvp_admit_need *needs, uint32_t nr,
		   uint64_t timeout_ns)
{
	const uint64_t end = kvp_clock_after(timeout_ns);
	kvp_ticket_t ticket;
	uint32_t ready;
	int err;

	err = kvp_admit_queue(pool, needs, nr, &ticket, NULL);
	if (err || !ticket)
		return err;
	for (;;) {
		err = kvp_wait(pool, KVP_READY_TICKET, NULL, 0, kvp_clock_left(end), &ready);
		if (err) {
			kvp_admit_cancel(pool, ticket);
			return err;
		}
		if (!ready)
			return give_up(pool, ticket, timeout_ns);
		err = kvp_admit_take(pool, ticket);
		if (err != -EBUSY)
			return err;
		/* Another thread's was granted, and it will not be long until it takes it. */
		kvp_nap(kvp_clock_left(end));
	}
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Admission: blocks taken in advance, into a client's reserve, and tickets for those who wait for
 * blocks. Tickets are served in the order of asking, by whoever gave something back.
 *
 * Owns struct kvp_ticket and kvp_pool.tickets. kvp_pool.serve is held by who serves, ends or
 * counts tickets, so that none of these on the list goes meanwhile; new ones may come.
 */
#include "core.h"

/* ---- the reserve ---------------------------------------------------------------------- */

/* @nr blocks of a family that hang together, to the end of a list. */
static void kvp_taken_append_locked(struct kvp_family *family, struct kvp_taken *to, u32 first,
				    u32 last, u64 nr)
{
	u32 i = family->index;

	if (to->nr_blocks[i]) {
		family->blocks[to->last[i]].next = first;
		family->pool->touched++;
	} else {
		to->blocks[i] = first;
	}
	to->last[i] = last;
	to->nr_blocks[i] += nr;
}

/* All blocks of a family that are in one list, to the end of another. */
static void kvp_taken_splice_locked(struct kvp_family *family, struct kvp_taken *from,
				    struct kvp_taken *to)
{
	u32 i = family->index;

	if (!from->nr_blocks[i])
		return;
	kvp_taken_append_locked(family, to, from->blocks[i], from->last[i], from->nr_blocks[i]);
	from->nr_blocks[i] = 0;
	from->blocks[i] = KVP_NIL;
	from->last[i] = KVP_NIL;
}

/* The first block of a family that is in one list, to the end of another. */
static void kvp_taken_move_locked(struct kvp_family *family, struct kvp_taken *from,
				  struct kvp_taken *to)
{
	u32 i = family->index;
	u32 index = from->blocks[i];

	from->blocks[i] = family->blocks[index].next;
	if (!--from->nr_blocks[i])
		from->last[i] = KVP_NIL;
	family->blocks[index].next = KVP_NIL;
	kvp_taken_append_locked(family, to, index, index, 1);
}

/* Up to @nr of them. Returns how many. */
static u64 kvp_taken_move_sliced(struct kvp_family *family, struct kvp_taken *from,
				 struct kvp_taken *to, u64 nr)
{
	u32 i = family->index;
	u64 moved = from->nr_blocks[i];

	if (nr >= moved) {
		kvp_taken_splice_locked(family, from, to);
		return moved;
	}
	for (moved = 0; moved < nr && from->nr_blocks[i]; moved++) {
		kvp_slice_room(family->pool, 2);
		kvp_taken_move_locked(family, from, to);
		family->pool->touched++;
	}
	return moved;
}

/**
 * kvp_reserve_claim_sliced - take what a call needs out of its client's reserve
 * @client: the client
 * @need: what is needed; less by what there was
 * @taken: gets it
 */
void kvp_reserve_claim_sliced(struct kvp_client *client, struct kvp_need *need,
			      struct kvp_taken *taken)
{
	struct kvp_pool *pool = client->pool;
	u64 moved;
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		if (!need->blocks[i] || !client->reserve.nr_blocks[i])
			continue;
		moved = kvp_taken_move_sliced(&pool->family[i], &client->reserve, taken,
					      need->blocks[i]);
		need->blocks[i] -= moved;
		client->account->reserve[i] -= moved;
	}
}

/* Up to @nr blocks of a call are for later. */
static void kvp_reserve_add_sliced(struct kvp_client *client, struct kvp_taken *taken, u32 family,
				   u64 nr)
{
	struct kvp_pool *pool = client->pool;

	client->account->reserve[family] +=
		kvp_taken_move_sliced(&pool->family[family], taken, &client->reserve, nr);
}

/**
 * kvp_reserve_return_sliced - the call comes to nothing: what it took out of the reserve is back
 * @client: the client
 * @need: what the call needed
 * @rest: what kvp_reserve_claim_sliced() left of that
 * @taken: where it is
 */
void kvp_reserve_return_sliced(struct kvp_client *client, const struct kvp_need *need,
			       const struct kvp_need *rest, struct kvp_taken *taken)
{
	u32 i;

	for (i = 0; i < client->pool->nr_families; i++)
		kvp_reserve_add_sliced(client, taken, i, need->blocks[i] - rest->blocks[i]);
}

/**
 * kvp_reserve_exit_sliced - a client ends: its reserve is free
 * @client: the client
 */
void kvp_reserve_exit_sliced(struct kvp_client *client)
{
	u32 i;

	for (i = 0; i < client->pool->nr_families; i++)
		client->account->reserve[i] -= client->reserve.nr_blocks[i];
	kvp_give_back_sliced(client, &client->reserve);
}

/* ---- whose turn it is --------------------------------------------------------------- */

/**
 * kvp_in_turn_locked - whether a call may ask for blocks although tickets wait for them
 * @call: the call
 * @family: of which family
 * @want: how many
 *
 * Return: whether it may.
 */
bool kvp_in_turn_locked(const struct kvp_call *call, u32 family, u64 want)
{
	const struct kvp_account *account = call->client->account;

	if (!call->pool->queued[family] || call->take & KVP_TAKE_SERVED)
		return true;
	/* What goes on has no operation here, or one that is not in turn. */
	if (!call->op || !(call->op->where & KVP_IN_TURN))
		return true;
	return account->charged[family] + want <= account->limits.guarantee[family];
}

static void kvp_queued_count_locked(struct kvp_ticket *ticket, int one)
{
	struct kvp_pool *pool = ticket->client->pool;
	u32 i;

	for (i = 0; i < pool->nr_families; i++)
		if (ticket->need.blocks[i])
			pool->queued[i] += one;
}

static void kvp_queue_locked(struct kvp_ticket *ticket, bool waits)
{
	struct kvp_pool *pool = ticket->client->pool;

	if (waits)
		list_add_tail(&ticket->list, &pool->tickets);
	else
		list_del_init(&ticket->list);
	pool->nr_queued += waits ? 1 : -1;
	if (!ticket->over)
		kvp_queued_count_locked(ticket, waits ? 1 : -1);
	WRITE_ONCE(pool->nr_waits, pool->nr_waits + (waits ? 1 : -1));
}

/* ---- serving -------------------------------------------------------------------- */

/* Over a limit by now, or never to fit again: that is its client's, and nobody waits for it. */
static bool kvp_ticket_over_locked(struct kvp_ticket *ticket)
{
	const struct kvp_client *client = ticket->client;
	bool over = false;
	u32 i;

	for (i = 0; i < client->pool->nr_families; i++) {
		const struct kvp_family *family = &client->pool->family[i];
		u64 need = ticket->need.blocks[i];

		over |= need > family->nr_blocks - family->nr[KVP_BLOCK_RETIRED] ||
			(need && kvp_over_blocks_locked(client, i, need));
	}
	if (over != ticket->over) {
		kvp_queued_count_locked(ticket, over ? -1 : 1);
		ticket->over = over;
	}
	return over;
}

/* Whether the ticket must wait: one before it waits for the same, or there is not enough. */
static bool kvp_ticket_waits_locked(const struct kvp_ticket *ticket, const bool *before)
{
	const struct kvp_account *account = ticket->client->account;
	const struct kvp_pool *pool = ticket->client->pool;
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		u64 need = ticket->need.blocks[i];

		if (!need)
			continue;
		if (need > kvp_family_room_locked(&pool->family[i]))
			return true;
		/* What is guaranteed to it nobody else could get. */
		if (before[i] && account->charged[i] + need > account->limits.guarantee[i])
			return true;
	}
	return false;
}

/* Returns false if the blocks cannot be had now: then those behind wait, too. */
static bool kvp_ticket_grant_sliced(struct kvp_ticket *ticket)
{
	struct kvp_client *client = ticket->client;
	struct kvp_pool *pool = client->pool;
	struct kvp_head head = { };
	struct kvp_call call = {
		.client = client,
		.pool = pool,
		.head = &head,
		.take = KVP_TAKE_FRESH | KVP_TAKE_SERVED,
	};
	int err = kvp_take_sliced(&call, &ticket->need, &ticket->taken);
	u32 i;

	if (err)
		return false;
	for (i = 0; i < pool->nr_families; i++)
		client->account->reserve[i] += ticket->need.blocks[i];
	kvp_queue_locked(ticket, false);
	client->nr_granted++;
	pool->counters.tickets_granted++;
	/* Who waits enters the queue first and then looks under the lock held here. */
	if (waitqueue_active(&pool->wait))
		wake_up_interruptible(&pool->wait);
	return true;
}

static bool kvp_all_before(const struct kvp_pool *pool, const bool *before)
{
	u32 i;

	for (i = 0; i < pool->nr_families; i++)
		if (!before[i] || pool->family[i].guaranteed)
			return false;
	return true;
}

/* Returns whether something was granted. */
static bool kvp_tickets_pass_sliced(struct kvp_pool *pool)
{
	bool before[KVP_MAX_FAMILIES] = { };
	struct kvp_ticket *ticket, *next;
	u64 granted = pool->counters.tickets_granted;
	u32 i;

	list_for_each_entry_safe(ticket, next, &pool->tickets, list) {
		if (!kvp_ticket_over_locked(ticket) &&
		    (kvp_ticket_waits_locked(ticket, before) || !kvp_ticket_grant_sliced(ticket)))
			for (i = 0; i < pool->nr_families; i++)
				before[i] |= !!ticket->need.blocks[i];
		if (kvp_all_before(pool, before))
			break;
		kvp_slice_step(pool, 1);
	}
	return pool->counters.tickets_granted != granted;
}

/**
 * kvp_tickets_serve - grant what can be granted by now
 * @pool: the pool; its gate is held
 */
void kvp_tickets_serve(struct kvp_pool *pool)
{
	bool granted = true;

	mutex_lock(&pool->serve);
	kvp_lock(pool);
	/* What others give back meanwhile they serve themselves. */
	while (granted && !list_empty(&pool->tickets) && pool->served != pool->came_back) {
		pool->served = pool->came_back;
		granted = kvp_tickets_pass_sliced(pool);
	}
	kvp_unlock(pool);
	mutex_unlock(&pool->serve);
}

/* ---- tickets ---------------------------------------------------------------------- */

/* End a ticket of which the list is held; what it was granted is in its taken. */
static void kvp_ticket_free_sliced(struct kvp_ticket *ticket)
{
	struct kvp_client *client = ticket->client;

	kvp_ids_del_locked(&client->tickets, ticket->id);
	kvp_less_locked(client->account, KVP_TICKETS, 1);
	kvp_unlock(client->pool);
	kvp_client_free(client, ticket, sizeof(*ticket));
	kvp_lock(client->pool);
}

static void kvp_ticket_cancel_sliced(struct kvp_ticket *ticket)
{
	struct kvp_client *client = ticket->client;
	struct kvp_pool *pool = client->pool;
	u32 i;

	if (list_empty(&ticket->list)) {
		client->nr_granted--;
		for (i = 0; i < pool->nr_families; i++)
			client->account->reserve[i] -= ticket->need.blocks[i];
		kvp_give_back_sliced(client, &ticket->taken);
	} else {
		kvp_queue_locked(ticket, false);
		/* Those behind it need not wait for it any more. */
		pool->came_back++;
	}
	kvp_ticket_free_sliced(ticket);
}

/**
 * kvp_tickets_end - a client ends: so do its tickets
 * @client: the client; its pool's gate is held
 */
void kvp_tickets_end(struct kvp_client *client)
{
	struct kvp_pool *pool = client->pool;
	u32 i;

	mutex_lock(&pool->serve);
	kvp_lock(pool);
	for (i = 0; i < client->tickets.cap; i++) {
		struct kvp_ticket *ticket = kvp_id_slot(&client->tickets, i)->object;

		if (ticket)
			kvp_ticket_cancel_sliced(ticket);
		kvp_slice_step(pool, 1);
	}
	kvp_unlock(pool);
	mutex_unlock(&pool->serve);
}

/* Tickets that wait before this one; the list is held. */
static u64 kvp_tickets_ahead_sliced(struct kvp_ticket *ticket)
{
	struct kvp_pool *pool = ticket->client->pool;
	const struct kvp_ticket *other;
	u64 nr = 0;

	list_for_each_entry(other, &pool->tickets, list) {
		if (other == ticket)
			break;
		nr++;
		kvp_slice_step(pool, 1);
	}
	return nr;
}

/* Whether the client may have one more. */
static int kvp_ticket_check_add_sliced(struct kvp_call *call)
{
	int err = kvp_ids_room_sliced(call->pool, &call->client->tickets);

	if (err == -ENOMEM)
		return kvp_fail(call, err, KVP_REASON_MEMORY, 0);
	if (err)
		return kvp_refuse_locked(call, -EDQUOT, KVP_REASON_LIMIT_TICKETS, 0);
	return kvp_check_more_locked(call, KVP_TICKETS, 1);
}

/* ---- the operation ------------------------------------------------------------------ */

static int kvp_admit_needs(struct kvp_call *call, struct kvp_need *need)
{
	const struct kvp_admit *arg = call->arg;
	const struct kvp_admit_need *needs = call->array[0];
	u32 i;

	memset(need, 0, sizeof(*need));
	for (i = 0; i < arg->nr_needs; i++) {
		u32 family = needs[i].family;

		if (needs[i].reserved)
			return kvp_fail(call, -EINVAL, KVP_REASON_RESERVED, i);
		if (family >= call->pool->nr_families)
			return kvp_fail(call, -EINVAL, KVP_REASON_FAMILY, i);
		family = array_index_nospec(family, KVP_MAX_FAMILIES);
		if (need->blocks[family])
			return kvp_fail(call, -EINVAL, KVP_REASON_DUPLICATE, i);
		if (!needs[i].blocks)
			return kvp_fail(call, -EINVAL, KVP_REASON_VALUE, i);
		need->blocks[family] = needs[i].blocks;
	}
	return 0;
}

/* Now: into the reserve. */
static int kvp_admit_now_sliced(struct kvp_call *call, const struct kvp_need *need)
{
	struct kvp_admit *arg = call->arg;
	struct kvp_taken taken;
	int err;
	u32 i;

	call->take = KVP_TAKE_FRESH;
	if (arg->head.flags & KVP_ADMIT_QUEUE)
		call->take |= KVP_TAKE_QUEUES;
	err = kvp_take_sliced(call, need, &taken);
	call->take = 0;
	if (err)
		return err;
	for (i = 0; i < call->pool->nr_families; i++)
		kvp_reserve_add_sliced(call->client, &taken, i, need->blocks[i]);
	arg->state = KVP_ADMITTED;
	return 0;
}

static int kvp_admit(struct kvp_call *call)
{
	struct kvp_pool *pool = call->pool;
	struct kvp_need need;
	int err;

	err = kvp_admit_needs(call, &need);
	if (err)
		return err;
	kvp_lock(pool);
	err = kvp_admit_now_sliced(call, &need);
	kvp_unlock(pool);
	return err;
}

/* The ticket is made before it is known to be needed: the queue is not let go in between. */
static int kvp_admit_or_queue(struct kvp_call *call)
{
	struct kvp_admit *arg = call->arg;
	struct kvp_client *client = call->client;
	struct kvp_pool *pool = call->pool;
	struct kvp_ticket *ticket;
	int err;

	ticket = kvp_client_alloc(client, sizeof(*ticket));
	if (IS_ERR(ticket))
		return kvp_fail_alloc(call, PTR_ERR(ticket));
	ticket->client = client;
	INIT_LIST_HEAD(&ticket->list);
	err = kvp_admit_needs(call, &ticket->need);
	mutex_lock(&pool->serve);
	kvp_lock(pool);
	if (!err)
		err = kvp_admit_now_sliced(call, &ticket->need);
	if (err == -ENOSPC) {
		err = kvp_ticket_check_add_sliced(call);
		if (!err) {
			ticket->id = kvp_ids_add_locked(&client->tickets, ticket);
			kvp_more_locked(client->account, KVP_TICKETS, 1);
			kvp_queue_locked(ticket, true);
			arg->ticket = ticket->id;
			arg->state = KVP_ADMIT_WAITING;
			arg->ahead = kvp_tickets_ahead_sliced(ticket);
			call->head->reason = KVP_REASON_NONE;
			call->head->where = 0;
			ticket = NULL;
			/* What came back while we looked is found at the end of this call. */
			pool->came_back++;
		}
	}
	kvp_unlock(pool);
	mutex_unlock(&pool->serve);
	kvp_client_free(client, ticket, sizeof(*ticket));
	return err;
}

/* TAKE and CANCEL. */
static int kvp_admit_ticket(struct kvp_call *call, u64 id, bool take)
{
	struct kvp_admit *arg = call->arg;
	struct kvp_client *client = call->client;
	struct kvp_pool *pool = call->pool;
	struct kvp_ticket *ticket;
	int err;
	u32 i;

	mutex_lock(&pool->serve);
	kvp_lock(pool);
	ticket = kvp_ids_find_locked(&client->tickets, id, &err);
	if (!ticket) {
		err = kvp_fail(call, err, err == -ESTALE ? KVP_REASON_GENERATION :
			       KVP_REASON_NO_TICKET, 0);
	} else if (take && !list_empty(&ticket->list)) {
		arg->ahead = kvp_tickets_ahead_sliced(ticket);
		err = kvp_fail(call, -EBUSY, KVP_REASON_NOT_GRANTED, 0);
	} else if (take) {
		client->nr_granted--;
		for (i = 0; i < pool->nr_families; i++)
			kvp_taken_splice_locked(&pool->family[i], &ticket->taken,
						&client->reserve);
		kvp_ticket_free_sliced(ticket);
		arg->state = KVP_ADMITTED;
	} else {
		kvp_ticket_cancel_sliced(ticket);
		arg->state = KVP_ADMIT_ENDED;
	}
	kvp_unlock(pool);
	mutex_unlock(&pool->serve);
	return err;
}

/* Blocks of the reserve are free again. */
static void kvp_reserve_drop_sliced(struct kvp_client *client, const struct kvp_need *need)
{
	struct kvp_need rest = *need;
	struct kvp_taken taken;

	kvp_taken_init(client->pool, &taken);
	kvp_reserve_claim_sliced(client, &rest, &taken);
	kvp_give_back_sliced(client, &taken);
}

static int kvp_admit_drop(struct kvp_call *call)
{
	struct kvp_admit *arg = call->arg;
	const struct kvp_admit_need *needs = call->array[0];
	struct kvp_client *client = call->client;
	struct kvp_pool *pool = call->pool;
	struct kvp_need need;
	int err;
	u32 i;

	err = kvp_admit_needs(call, &need);
	if (err)
		return err;
	kvp_lock(pool);
	for (i = 0; !arg->nr_needs && i < pool->nr_families; i++)
		need.blocks[i] = client->reserve.nr_blocks[i];
	for (i = 0; !err && i < arg->nr_needs; i++)
		if (needs[i].blocks > client->reserve.nr_blocks[needs[i].family])
			err = kvp_fail(call, -EINVAL, KVP_REASON_VALUE, i);
	if (!err) {
		kvp_reserve_drop_sliced(client, &need);
		arg->state = KVP_ADMIT_ENDED;
	}
	kvp_unlock(pool);
	return err;
}

/**
 * kvp_op_admit - KVP_OP_ADMIT
 * @call: struct kvp_admit
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_admit(struct kvp_call *call)
{
	struct kvp_admit *arg = call->arg;
	bool of_ticket = arg->head.flags & (KVP_ADMIT_TAKE | KVP_ADMIT_CANCEL);
	u64 ticket = arg->ticket;

	arg->state = 0;
	arg->ahead = 0;
	arg->ticket = of_ticket ? ticket : 0;
	if (of_ticket ? arg->nr_needs : !arg->nr_needs && arg->head.flags != KVP_ADMIT_DROP)
		return kvp_fail(call, -EINVAL, KVP_REASON_COUNT,
				offsetof(struct kvp_admit, nr_needs));
	switch (arg->head.flags) {
	case 0:
		return kvp_admit(call);
	case KVP_ADMIT_QUEUE:
		return kvp_admit_or_queue(call);
	case KVP_ADMIT_TAKE:
		return kvp_admit_ticket(call, ticket, true);
	case KVP_ADMIT_CANCEL:
		return kvp_admit_ticket(call, ticket, false);
	case KVP_ADMIT_DROP:
		return kvp_admit_drop(call);
	}
	return kvp_fail(call, -EINVAL, KVP_REASON_FLAG, 0);
}

/**
 * kvp_undo_admit - the caller never learned what became of its admit
 * @call: as executed
 */
void kvp_undo_admit(struct kvp_call *call)
{
	struct kvp_admit *arg = call->arg;
	struct kvp_need need;

	if (arg->head.flags & ~KVP_ADMIT_QUEUE || kvp_admit_needs(call, &need))
		return;
	if (arg->state == KVP_ADMIT_WAITING) {
		kvp_admit_ticket(call, arg->ticket, false);
		return;
	}
	kvp_lock(call->pool);
	kvp_reserve_drop_sliced(call->client, &need);
	kvp_unlock(call->pool);
}

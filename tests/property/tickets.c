// SPDX-License-Identifier: MIT
/*
 * The reference model: blocks that clients took in advance, and tickets for those that they wait
 * for. A block of a reserve is none in particular: it is only counted.
 */
#include "model.h"

/* Blocks of @family in a client's reserve, those of granted tickets among them. */
u32 model_reserve(const struct model *m, u32 client, u32 family)
{
	u32 nr = m->client[client].core ? m->client[client].reserve[family] : 0;
	u32 i;

	for (i = 0; i < m->nr_tickets; i++) {
		if (m->ticket[i].granted && m->ticket[i].client == client)
			nr += m->ticket[i].blocks[family];
	}
	return nr;
}

u32 model_tickets(const struct model *m, u32 client)
{
	u32 nr = 0;
	u32 i;

	for (i = 0; i < m->nr_tickets; i++)
		nr += m->ticket[i].client == client;
	return nr;
}

u32 model_granted(const struct model *m, u32 client)
{
	u32 nr = 0;
	u32 i;

	for (i = 0; i < m->nr_tickets; i++)
		nr += m->ticket[i].client == client && m->ticket[i].granted;
	return nr;
}

/* What a call needs comes out of the reserve first: @rest does not. */
void model_rest(const struct model *m, u32 client, const struct model_need *need,
		struct model_need *rest)
{
	u32 f;

	*rest = *need;
	for (f = 0; f < m->nr_families; f++)
		rest->blocks[f] -= min(need->blocks[f], m->client[client].reserve[f]);
}

void model_room(const struct model *m, u32 client, const struct model_need *need,
		struct model_verdict *v)
{
	struct model_need rest;

	u32 f;

	for (f = 0; f < m->nr_families; f++) {
		if (need->blocks[f] > m->family[f].blocks)
			model_may(v, -EFBIG, KVP_REASON_NEVER_FITS);
	}
	model_rest(m, client, need, &rest);
	model_room_now(m, client, &rest, v);
}

/* Reclaim until the call can have what it needs; model_room() had no objection. */
void model_take(struct model *m, u32 client, const struct model_need *need)
{
	struct model_need rest;
	u32 f;

	model_rest(m, client, need, &rest);
	model_take_now(m, &rest);
	for (f = 0; f < m->nr_families; f++)
		m->client[client].reserve[f] -= need->blocks[f] - rest.blocks[f];
}

/* ---- whose turn it is ---- */

static bool model_ticket_over(const struct model *m, const struct model_ticket *ticket)
{
	u32 f;

	for (f = 0; f < m->nr_families; f++) {
		if (ticket->blocks[f] && model_over_blocks(m, ticket->client, f, ticket->blocks[f]))
			return true;
	}
	return false;
}

/*
 * Whether a ticket waits for blocks of a family. One that is over a limit of its client may count
 * or not: it does so from when it is looked at.
 */
static bool model_waited_for(const struct model *m, u32 family, bool over)
{
	u32 i;

	for (i = 0; i < m->nr_tickets; i++) {
		if (!m->ticket[i].granted && m->ticket[i].blocks[family] &&
		    (over || !model_ticket_over(m, &m->ticket[i])))
			return true;
	}
	return false;
}

/* What asks for something new comes after those that wait, but for what is guaranteed. */
static void model_in_turn_now(const struct model *m, u32 client, const struct model_need *need,
			      struct model_verdict *v)
{
	const struct model_client *c = &m->client[client];
	bool was = v->got.err == -ENOSPC && v->got.reason == KVP_REASON_QUEUED;
	u32 f;

	for (f = 0; f < m->nr_families; f++) {
		/* Whether one was over its limit when nothing had been looked at is not known. */
		if (m->frozen && !was)
			continue;
		if (need->blocks[f] && model_waited_for(m, f, was) &&
		    model_charged(m, f, c->id) + need->blocks[f] > c->limits.guarantee[f])
			model_may(v, -ENOSPC, KVP_REASON_QUEUED);
	}
}

/* The same of a call, which takes out of its reserve first. */
void model_in_turn(const struct model *m, u32 client, const struct model_need *need,
		   struct model_verdict *v)
{
	struct model_need rest;

	model_rest(m, client, need, &rest);
	model_in_turn_now(m, client, &rest, v);
}

/* ---- admit ---- */

static struct model_ticket *model_ticket_new(struct model *m, u32 client,
					     const struct model_need *need)
{
	struct model_ticket *ticket = &m->ticket[m->nr_tickets++];
	u32 f;

	if (m->nr_tickets > MODEL_TICKETS)
		model_bug("model: too many tickets");
	*ticket = (struct model_ticket){ .client = client };
	for (f = 0; f < m->nr_families; f++)
		ticket->blocks[f] = need->blocks[f];
	return ticket;
}

/* Whether a failure is one that a ticket waits for. */
static bool model_waits_for(const struct model_failure *failure)
{
	return failure->err == -ENOSPC;
}

/*
 * Into the reserve, or with @queue a ticket if that fails for want of room. @waited: what the core
 * did. Return: whether there is a ticket, the last one.
 */
bool model_admit(struct model *m, u32 client, const struct model_need *need, bool queue,
		 bool waited, struct model_verdict *v)
{
	struct model_verdict now = { .got = v->got };
	bool waits = false;
	u32 i, f;

	if (waited)
		now.got = (struct model_failure){ -ENOSPC, KVP_REASON_QUEUED };

	model_in_turn_now(m, client, need, &now);
	model_room_now(m, client, need, &now);
	for (i = 0; i < now.nr; i++) {
		if (queue && model_waits_for(&now.may[i]))
			waits = true;
		else
			model_may(v, now.may[i].err, now.may[i].reason);
	}
	if (waits) {
		model_may_meet_all(m);
		model_limit(m, client, MODEL_OF_TICKETS, 1, v);
	}
	if (model_refused(m, v))
		return false;
	if (waits) {
		model_ticket_new(m, client, need);
		return true;
	}
	model_take_now(m, need);
	for (f = 0; f < m->nr_families; f++)
		m->client[client].reserve[f] += need->blocks[f];
	return false;
}

struct model_ticket *model_ticket_find(struct model *m, u32 client, u64 id)
{
	u32 i;

	for (i = 0; i < m->nr_tickets; i++) {
		if (m->ticket[i].client == client && m->ticket[i].id == id)
			return &m->ticket[i];
	}
	return NULL;
}

/* What it was granted is free. */
void model_ticket_end(struct model *m, struct model_ticket *ticket)
{
	memmove(ticket, ticket + 1,
		(u8 *)&m->ticket[m->nr_tickets] - (u8 *)(ticket + 1));
	m->nr_tickets--;
}

/* The client ends. */
void model_tickets_leave(struct model *m, u32 client)
{
	u32 i;

	for (i = m->nr_tickets; i > 0; i--) {
		if (m->ticket[i - 1].client == client)
			model_ticket_end(m, &m->ticket[i - 1]);
	}
	memset(m->client[client].reserve, 0, sizeof(m->client[client].reserve));
}

/* ---- granting ---- */

/* Whether the core has granted it: its client has that much in reserve. */
static bool model_core_granted(const struct model *m, const struct model_ticket *ticket)
{
	u32 f, i, nr;

	for (f = 0; f < m->nr_families; f++) {
		nr = 0;
		for (i = 0; i < m->family[f].blocks; i++) {
			const struct kvp_block_entry *e = &m->look->entry[f][i];

			nr += e->state == KVP_BLOCK_RESERVED &&
			      e->client == m->client[ticket->client].id;
		}
		if (nr < model_reserve(m, ticket->client, f) + ticket->blocks[f])
			return false;
	}
	return true;
}

/* What the tickets before keep back, and what they may keep back. */
struct model_queue {
	bool back[MODEL_FAMILIES];
	bool perhaps[MODEL_FAMILIES];
};

/* Of one of @families, and more than is guaranteed to its client, which nobody else could get. */
static bool model_asks_for(const struct model *m, const struct model_ticket *ticket,
			   const bool *families)
{
	const struct model_client *c = &m->client[ticket->client];
	u32 f;

	for (f = 0; f < m->nr_families; f++) {
		if (ticket->blocks[f] && families[f] &&
		    model_charged(m, f, c->id) + ticket->blocks[f] > c->limits.guarantee[f])
			return true;
	}
	return false;
}

/* Return: whether it is granted. */
static bool model_grant(struct model *m, struct model_ticket *ticket,
			const struct model_queue *queue)
{
	struct model_verdict v = { };
	struct model_need need = { };
	u32 f;

	if (model_asks_for(m, ticket, queue->back))
		return false;
	if (model_asks_for(m, ticket, queue->perhaps) && !model_core_granted(m, ticket))
		return false;
	for (f = 0; f < m->nr_families; f++)
		need.blocks[f] = ticket->blocks[f];
	model_room_now(m, ticket->client, &need, &v);
	if (v.nr) {
		model_may_meet_all(m);
		return false;
	}
	model_take_now(m, &need);
	ticket->granted = true;
	m->count.tickets_granted++;
	return true;
}

/*
 * In the order of asking; one that waits keeps back those after it that ask for a family of its.
 * One that is over a limit may do so as long as the core has not looked at that.
 */
void model_serve(struct model *m)
{
	struct model_queue queue = { };
	bool over;
	u32 i, f;

	for (i = 0; i < m->nr_tickets; i++) {
		struct model_ticket *ticket = &m->ticket[i];

		if (ticket->granted || model_grant(m, ticket, &queue))
			continue;
		over = model_ticket_over(m, ticket);
		for (f = 0; f < m->nr_families; f++) {
			queue.back[f] |= ticket->blocks[f] && !over;
			queue.perhaps[f] |= ticket->blocks[f];
		}
	}
}

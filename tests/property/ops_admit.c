// SPDX-License-Identifier: MIT
/*
 * The property test: one random call on admission, by the core and by the model.
 */
#include "property.h"

struct property_needs {
	struct kvp_admit_need need[MODEL_FAMILIES + 1];
	u32 nr;
};

/* Mostly one family, mostly few blocks; now and then malformed. */
static void property_pick_needs(struct run *r, struct property_needs *needs)
{
	u32 f = below(r, r->shape->nr);
	u32 i;

	memset(needs, 0, sizeof(*needs));
	needs->nr = 1 + (below(r, 3) && r->shape->nr > 1) + !below(r, 60);
	needs->nr *= !!below(r, 60);
	for (i = 0; i < needs->nr; i++) {
		u64 blocks = r->shape->families[(f + i) % r->shape->nr].blocks;

		needs->need[i].family = below(r, 60) ? (f + i) % r->shape->nr :
						       below(r, KVP_MAX_FAMILIES + 2);
		needs->need[i].blocks = 1 + below(r, below(r, 6) ? 4 : blocks);
		if (!below(r, 40))
			needs->need[i].blocks = below(r, 3) * blocks;
	}
}

/* What is malformed in needs, else what they come to. */
static void property_sum_needs(const struct run *r, const struct property_needs *needs, bool all,
			       struct model_need *sum, struct model_verdict *v)
{
	u32 i, f;

	memset(sum, 0, sizeof(*sum));
	if (!needs->nr && !all)
		model_may(v, -EINVAL, KVP_REASON_COUNT);
	for (i = 0; i < needs->nr; i++) {
		f = needs->need[i].family;
		if (f >= r->shape->nr) {
			model_may(v, -EINVAL, KVP_REASON_FAMILY);
			continue;
		}
		if (!needs->need[i].blocks)
			model_may(v, -EINVAL, KVP_REASON_VALUE);
		if (sum->blocks[f])
			model_may(v, -EINVAL, KVP_REASON_DUPLICATE);
		sum->blocks[f] += needs->need[i].blocks;
	}
}

static int property_admit(struct run *r, u32 client, u32 flags, struct property_needs *needs,
			  u64 ticket)
{
	struct kvp_admit *arg = &kvpt.admit;

	memset(&kvpt, 0, sizeof(kvpt));
	arg->head.flags = flags;
	arg->needs = needs && needs->nr ? property_addr(needs->need) : 0;
	arg->nr_needs = needs ? needs->nr : 0;
	arg->ticket = ticket;
	return kvpt_do(r->model.client[client].core, KVP_OP_ADMIT, arg);
}

static u32 property_ahead(const struct model *m, const struct model_ticket *ticket)
{
	u32 ahead = 0;
	u32 i;

	for (i = 0; &m->ticket[i] < ticket; i++)
		ahead += !m->ticket[i].granted;
	return ahead;
}

/* What the call said of its ticket, the last one, or of none. */
static void property_check_admit(struct run *r, struct model_ticket *ticket)
{
	const struct kvp_admit *arg = &kvpt.admit;

	if (arg->state != (ticket ? KVP_ADMIT_WAITING : KVP_ADMITTED) ||
	    !arg->ticket != !ticket)
		model_bug("state %u ticket %llx", arg->state, (unsigned long long)arg->ticket);
	if (!ticket)
		return;
	ticket->id = arg->ticket;
	if (arg->ahead != property_ahead(&r->model, ticket))
		model_bug("%llu ahead, expected %u", (unsigned long long)arg->ahead,
			  property_ahead(&r->model, ticket));
}

/* What was admitted, or the ticket, is given back: nobody learnt of it. */
static void property_undo_admit(struct run *r, u32 client, const struct model_need *need,
				struct model_ticket *ticket)
{
	u32 f;

	if (ticket) {
		model_ticket_end(&r->model, ticket);
		return;
	}
	for (f = 0; f < r->shape->nr; f++)
		r->model.client[client].reserve[f] -= need->blocks[f];
}

static void property_admit_needs(struct run *r, u32 client, bool queue,
				 struct property_needs *needs)
{
	struct model_ticket *ticket = NULL;
	struct model_verdict v;
	struct model_need need;
	bool waits;
	int err;

	property_begin(r, queue ? "admit-queue" : "admit");
	property_trace("client %u needs %u, first family %u blocks %llu", client, needs->nr,
		       needs->need[0].family, (unsigned long long)needs->need[0].blocks);
	err = property_admit(r, client, queue ? KVP_ADMIT_QUEUE : 0, needs, 0);
	waits = kvpt.admit.state == KVP_ADMIT_WAITING ||
		kvpt.head.reason == KVP_REASON_LIMIT_TICKETS;
	property_end(r, err, &v);
	property_sum_needs(r, needs, false, &need, &v);
	if (!v.nr && model_admit(&r->model, client, &need, queue, waits, &v))
		ticket = &r->model.ticket[r->model.nr_tickets - 1];
	if (!property_judge(r, &v))
		return;
	if (!r->untold)
		property_check_admit(r, ticket);
	else
		property_undo_admit(r, client, &need, ticket);
}

/* A ticket for blocks of one family, unless they can be had. */
void property_admit_queue(struct run *r, u32 client, u32 family, u64 blocks)
{
	struct property_needs needs = { .need = { { family, 0, blocks } }, .nr = 1 };

	if (r->model.nr_tickets < MODEL_TICKETS)
		property_admit_needs(r, client, true, &needs);
}

void op_admit(struct run *r, u32 client)
{
	bool queue = below(r, 2) && r->model.nr_tickets < MODEL_TICKETS;
	struct property_needs needs;

	property_pick_needs(r, &needs);
	property_admit_needs(r, client, queue, &needs);
}

/* A ticket of the client; now and then another's, or one that is none. */
static u64 property_pick_ticket(struct run *r, u32 client)
{
	const struct model *m = &r->model;
	u32 start = below(r, MODEL_TICKETS);
	u32 how = below(r, 30);
	u32 i;

	if (how == 0)
		return kvpt_random(&r->random) >> 1;
	if (how == 1)
		return r->past_ticket[client];
	for (i = 0; i < m->nr_tickets; i++) {
		const struct model_ticket *ticket = &m->ticket[(start + i) % m->nr_tickets];

		if (ticket->client == client || how == 2)
			return ticket->id;
	}
	return 0;
}

static struct model_ticket *property_ticket(struct run *r, u32 client, u64 id,
					    struct model_verdict *v)
{
	struct model_ticket *ticket = model_ticket_find(&r->model, client, id);

	if (ticket)
		return ticket;
	model_may(v, -ENOENT, KVP_REASON_NO_TICKET);
	if (id >> 32)
		model_may(v, -ESTALE, KVP_REASON_GENERATION);
	return NULL;
}

void op_take(struct run *r, u32 client)
{
	u64 id = property_pick_ticket(r, client);
	struct model_ticket *ticket;
	struct model_verdict v;
	struct kvp_admit out;
	int err;
	u32 f;

	property_begin(r, "take");
	property_trace("client %u ticket %llx", client, (unsigned long long)id);
	err = property_admit(r, client, KVP_ADMIT_TAKE, NULL, id);
	out = kvpt.admit;
	property_end(r, err, &v);
	ticket = property_ticket(r, client, id, &v);
	if (ticket && !ticket->granted)
		model_may(&v, -EBUSY, KVP_REASON_NOT_GRANTED);
	if (!property_judge(r, &v)) {
		if (ticket && out.ahead != property_ahead(&r->model, ticket))
			model_bug("%llu ahead", (unsigned long long)out.ahead);
		return;
	}
	if (!r->untold && out.state != KVP_ADMITTED)
		model_bug("state %u", out.state);
	for (f = 0; f < r->shape->nr; f++)
		r->model.client[client].reserve[f] += ticket->blocks[f];
	model_ticket_end(&r->model, ticket);
	r->past_ticket[client] = id;
}

void op_cancel(struct run *r, u32 client)
{
	u64 id = property_pick_ticket(r, client);
	struct model_ticket *ticket;
	struct model_verdict v;
	int err;

	property_begin(r, "cancel");
	property_trace("client %u ticket %llx", client, (unsigned long long)id);
	err = property_admit(r, client, KVP_ADMIT_CANCEL, NULL, id);
	property_end(r, err, &v);
	ticket = property_ticket(r, client, id, &v);
	if (!property_judge(r, &v))
		return;
	model_ticket_end(&r->model, ticket);
	r->past_ticket[client] = id;
}

void op_drop(struct run *r, u32 client)
{
	struct model_client *c = &r->model.client[client];
	struct property_needs needs = { };
	struct model_verdict v;
	struct model_need need;
	int err;
	u32 f;

	if (below(r, 3))
		property_pick_needs(r, &needs);
	for (f = 0; f < needs.nr; f++) {
		if (below(r, 3) && needs.need[f].family < r->shape->nr)
			needs.need[f].blocks = min_t(u64, needs.need[f].blocks,
						     c->reserve[needs.need[f].family]);
	}
	property_begin(r, "drop");
	property_trace("client %u needs %u", client, needs.nr);
	err = property_admit(r, client, KVP_ADMIT_DROP, &needs, 0);
	property_end(r, err, &v);
	property_sum_needs(r, &needs, true, &need, &v);
	for (f = 0; f < r->shape->nr; f++) {
		if (need.blocks[f] > c->reserve[f])
			model_may(&v, -EINVAL, KVP_REASON_VALUE);
	}
	if (!property_judge(r, &v))
		return;
	for (f = 0; f < r->shape->nr; f++)
		c->reserve[f] = needs.nr ? c->reserve[f] - need.blocks[f] : 0;
}

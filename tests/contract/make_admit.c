// SPDX-License-Identifier: MIT
/*
 * Admissions: blocks in advance, tickets that wait, are taken and cancelled.
 */
#include "stream.h"

static __u64 pick_ticket(const struct st_slot *slot)
{
	return slot->nr_tickets && !st_once(8) ? slot->ticket[st_below(slot->nr_tickets)] :
						 st_wrong_id();
}

static void make_needs(struct ct_call *call)
{
	__u32 nr = 1 + (st.nr_families > 1 && st_once(3));
	struct kvp_admit_need *needs = ct_call_array(call, 0, nr);
	__u32 i;

	for (i = 0; i < nr; i++) {
		needs[i].family = st_pick_family();
		needs[i].blocks = 1 + st_below(st_once(3) ? 40 : 6);
		if (st_once(30))
			needs[i].blocks = st_once(2) ? 0 : 1ULL << 40;
		if (st_once(60))
			needs[i].reserved = 1;
	}
}

static void make_admit(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_admit *arg = (void *)call->before;

	switch (st_below(8)) {
	case 0:
	case 1:
		make_needs(call);
		break;
	case 2:
		arg->head.flags = KVP_ADMIT_DROP;
		if (st_once(2))
			make_needs(call);
		break;
	case 3:
		arg->head.flags = KVP_ADMIT_CANCEL;
		arg->ticket = pick_ticket(slot);
		break;
	case 4:
		arg->head.flags = KVP_ADMIT_TAKE;
		arg->ticket = pick_ticket(slot);
		break;
	default:
		arg->head.flags = KVP_ADMIT_QUEUE;
		make_needs(call);
		break;
	}
	/* Two at once, or needs where there are none. */
	if (st_once(30))
		arg->head.flags |= KVP_ADMIT_QUEUE;
	if (st_once(40))
		make_needs(call);
}

static void forget(struct st_slot *slot, __u64 ticket)
{
	__u32 i;

	st_remember_old(ticket);
	for (i = 0; i < slot->nr_tickets; i++)
		if (slot->ticket[i] == ticket)
			slot->ticket[i] = slot->ticket[--slot->nr_tickets];
}

static void learn_admit(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_admit *arg = (void *)call->after;

	if (arg->head.flags & (KVP_ADMIT_TAKE | KVP_ADMIT_CANCEL))
		forget(slot, arg->ticket);
	else if (arg->state == KVP_ADMIT_WAITING && slot->nr_tickets < ST_MAX_TICKETS)
		slot->ticket[slot->nr_tickets++] = arg->ticket;
}

const struct st_maker st_admit_makers[] = {
	{ KVP_OP_ADMIT, 9, false, make_admit, learn_admit },
	{ }
};

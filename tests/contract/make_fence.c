// SPDX-License-Identifier: MIT
/*
 * Calls on timelines and uses, and the end of quarantines. Values are written with
 * KVP_OP_SIGNAL only: what is stored into a page is seen when somebody looks, which is another
 * moment through every door.
 */
#include "stream.h"

#define MANY	300		/* entries: more than one hold of the core's lock touches */

static void learn_timeline(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_timeline_create *arg = (void *)call->after;

	/* One whose result could not be written was made all the same. */
	if (arg->timeline < slot->nr_timelines)
		ct_die("timeline %u is there already.", arg->timeline);
	slot->nr_timelines = arg->timeline + 1;
}

/* Mostly one of those few that are used. */
static __u32 pick_timeline(const struct st_slot *slot)
{
	__u32 most = slot->nr_timelines < ST_TIMELINES ? slot->nr_timelines : ST_TIMELINES;

	if (!most || st_once(20))
		return slot->nr_timelines + st_below(3) * 40;
	return st_below(most);
}

static __u64 *known(__u64 *values, __u32 timeline)
{
	static __u64 none;

	return timeline < ST_TIMELINES ? &values[timeline] : &none;
}

/* ---- use ---- */

static void make_value(struct st_slot *slot, struct kvp_use_entry *entry)
{
	entry->timeline = pick_timeline(slot);
	entry->value = *known(slot->announced, entry->timeline) + 1 + st_below(2);
	/* Not in order, or said too late. */
	if (st_once(5))
		entry->value = *known(slot->shown, entry->timeline) + st_below(3);
	if (st_once(60))
		entry->value = KVP_MAX_FENCE - st_below(2);
}

static void use_of_seq(struct st_slot *slot, struct kvp_use_entry *entry)
{
	const struct st_seq *seq = st_pick_seq(slot, &entry->id);

	entry->kind = KVP_USE_SEQ;
	entry->write_from = KVP_POS_END;
	if (!seq || st_once(3))
		return;
	entry->write_from = seq->computed;
	if (st_once(4))
		entry->write_from = st_below(seq->reserved + 3);
	entry->computed_to = entry->write_from;
	if (entry->write_from < seq->reserved)
		entry->computed_to += st_below(seq->reserved - entry->write_from + 1);
	if (st_once(16))
		entry->computed_to = st_below(seq->reserved + 4);
}

static void make_entry(struct st_slot *slot, struct kvp_use_entry *entry)
{
	const struct st_seq *remapped = st_once(2) ? st_pick_remapped(slot) : NULL;

	make_value(slot, entry);
	if (remapped) {
		entry->kind = KVP_USE_REMAP;
		entry->id = remapped->id;
		entry->write_from = !st_below(20);
		return;
	}
	if (slot->nr_raw && st_once(3)) {
		entry->kind = KVP_USE_BLOCK;
		entry->id = st_held_block(slot);
		entry->write_from = !st_below(20);
		return;
	}
	use_of_seq(slot, entry);
	if (st_once(40))
		entry->kind = st_below(5);
}

static void make_use(struct st_slot *slot, struct ct_call *call)
{
	__u32 nr = st_once(30) ? MANY : 1 + st_below(4);
	struct kvp_use_entry *entries = ct_call_array(call, 0, nr);
	__u32 i;

	make_entry(slot, &entries[0]);
	for (i = 1; i < nr; i++) {
		/* The same again is never wrong. */
		if (nr == MANY)
			entries[i] = entries[0];
		else
			make_entry(slot, &entries[i]);
	}
}

static void learn_use(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_use_entry *entry = (void *)call->mem[0];
	__u32 i;

	for (i = 0; i < call->room[0]; i++) {
		__u64 *announced = known(slot->announced, entry[i].timeline);

		if (*announced < entry[i].value)
			*announced = entry[i].value;
		if (entry[i].kind == KVP_USE_SEQ)
			st_seq_computes(slot, entry[i].id, entry[i].computed_to);
	}
}

/* ---- signal, query ---- */

/* One with an open fence, if there is one. */
static __u32 pick_open(const struct st_slot *slot)
{
	__u32 i;

	for (i = 0; i < ST_TIMELINES && !st_once(4); i++)
		if (slot->announced[i] > slot->shown[i])
			return i;
	return pick_timeline(slot);
}

static void make_signal(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_signal *arg = (void *)call->before;
	__u64 shown, announced;

	arg->timeline = pick_open(slot);
	shown = *known(slot->shown, arg->timeline);
	announced = *known(slot->announced, arg->timeline);
	arg->value = st_once(2) ? announced : shown + 1;
	if (st_once(12))
		arg->value = shown - st_below(2);
	if (st_once(12))
		arg->value = announced + 1;
}

static void learn_signal(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_signal *arg = (void *)call->after;

	*known(slot->shown, arg->timeline) = arg->value;
}

static void make_query(struct st_slot *slot, struct ct_call *call)
{
	__u32 nr = st_below(4);
	struct kvp_fence *fences = ct_call_array(call, 0, nr);
	struct kvp_query *arg = (void *)call->before;
	__u32 i;

	if (st_once(2))
		arg->head.flags = KVP_QUERY_WATCH;
	for (i = 0; i < nr; i++) {
		fences[i].timeline = pick_timeline(slot);
		fences[i].value = *known(slot->shown, fences[i].timeline) + st_below(4);
		if (st_once(3))
			fences[i].value = *known(slot->announced, fences[i].timeline);
	}
}

/* ---- reap ---- */

static void make_reap(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_reap *arg = (void *)call->before;

	switch (st_below(6)) {
	case 0:
		arg->client = slot->client;
		break;
	case 1:
		arg->client = ST_UNKNOWN;
		break;
	case 2:
	case 3:
		arg->client = st.dead;
		break;
	default:
		break;
	}
}

const struct st_maker st_fence_makers[] = {
	{ KVP_OP_TIMELINE_CREATE, 2, false, NULL, learn_timeline },
	{ KVP_OP_USE, 14, false, make_use, learn_use },
	/* Not in a batch: what follows from it must have followed before the next call. */
	{ KVP_OP_SIGNAL, 12, true, make_signal, learn_signal },
	{ KVP_OP_QUERY, 5, false, make_query, NULL },
	{ KVP_OP_REAP, 2, false, make_reap, NULL },
	{ }
};

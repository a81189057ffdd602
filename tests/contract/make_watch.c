// SPDX-License-Identifier: MIT
/*
 * Calls that only look.
 */
#include "stream.h"

static void make_stats(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_stats *arg = (void *)call->before;
	static const __u64 uids[] = { 0, ST_GUEST_UID, 4242 };

	switch (st_below(8)) {
	case 0:
		arg->client = KVP_STATS_SELF;
		break;
	case 1:
		arg->client = slot->client;
		break;
	case 2:
		arg->client = st.slot[st_below(ST_SLOTS)].client;
		break;
	case 3:
		arg->client = ST_UNKNOWN + 1;
		break;
	case 4:
		arg->head.flags = KVP_STATS_OF_UID;
		arg->client = uids[st_below(CT_SIZE(uids))];
		break;
	default:
		break;
	}
	if (!st_once(4))
		ct_call_array(call, 0, st_once(6) ? 1 : KVP_MAX_FAMILIES);
}

static void make_audit(struct st_slot *slot, struct ct_call *call)
{
	if (st_once(2))
		ct_call_array(call, 0, 1 + st_below(4));
}

static void make_dump(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_block_dump *arg = (void *)call->before;

	if (!st_once(12))
		ct_call_array(call, 0, 1 + st_below(24));
	arg->family = st_pick_family();
	arg->cursor = st_once(2) ? 0 : st_below(70);
	if (st_once(20))
		arg->cursor = ~0ULL;
}

static void make_clients(struct st_slot *slot, struct ct_call *call)
{
	if (!st_once(6))
		ct_call_array(call, 0, st_once(4) ? 1 : 5);
}

static void make_events(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_events *arg = (void *)call->before;

	arg->cursor = st_once(4) ? 0 : slot->cursor;
	if (st_once(16))
		arg->cursor = slot->cursor + st_below(200);
	if (!st_once(6))
		ct_call_array(call, 0, 1 + st_below(20));
}

static void learn_events(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_events *arg = (void *)call->after;

	slot->cursor = arg->cursor;
}

const struct st_maker st_watch_makers[] = {
	{ KVP_OP_STATS, 4, false, make_stats, NULL },
	{ KVP_OP_AUDIT, 1, false, make_audit, NULL },
	{ KVP_OP_BLOCK_DUMP, 2, false, make_dump, NULL },
	{ KVP_OP_CLIENT_LIST, 2, false, make_clients, NULL },
	{ KVP_OP_EVENTS, 4, false, make_events, learn_events },
	{ }
};

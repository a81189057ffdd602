// SPDX-License-Identifier: MIT
/*
 * Calls on what is published.
 */
#include <string.h>

#include "stream.h"

static void make_match(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_prefix_match *arg = (void *)call->before;
	__u32 nr = st_pick_length();

	ct_digest(arg->space, st_pick_space());
	st_tokens(call, 0, st_pick_text(), 0, nr);
	st_extras(call, 1, 0, nr);
	if (!st_once(4))
		ct_call_array(call, 2, 1 + st_below(12));
	arg->family = st_pick_family();
	if (st_once(2))
		arg->head.flags = KVP_MATCH_HOLD;
}

static void learn_match(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_prefix_match *arg = (void *)call->after;
	struct st_span *span = &slot->span;

	if (!arg->match)
		return;
	if (slot->nr_matches < ST_MAX_MATCHES)
		slot->match[slot->nr_matches++] = arg->match;
	if (!call->mem[2] || !arg->nr_blocks)
		return;
	span->holder = arg->match;
	span->match = true;
	span->first = 0;
	span->nr = arg->nr_blocks < ST_SPAN ? arg->nr_blocks : ST_SPAN;
	memcpy(span->id, call->mem[2], span->nr * sizeof(span->id[0]));
}

static void make_release(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_prefix_release *arg = (void *)call->before;

	arg->match = slot->nr_matches && !st_once(10) ? slot->match[st_below(slot->nr_matches)] :
							st_wrong_id();
}

static void learn_release(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_prefix_release *arg = (void *)call->after;
	__u32 i;

	st_remember_old(arg->match);
	for (i = 0; i < slot->nr_matches; i++)
		if (slot->match[i] == arg->match)
			slot->match[i] = slot->match[--slot->nr_matches];
}

/* One that may not be published as a whole, if there is one. */
static struct st_seq *pick_tainted(struct st_slot *slot, struct st_seq *seq, __u64 *id)
{
	__u32 i;

	for (i = 0; i < slot->nr_seqs; i++) {
		const struct st_seq *at = &slot->seq[i];

		if (at->remapped || !at->limit || at->computed < at->limit + st.index_tokens)
			continue;
		*id = at->id;
		return &slot->seq[i];
	}
	return seq;
}

static void make_publish(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_prefix_publish *arg = (void *)call->before;
	struct st_seq *seq = st_pick_seq(slot, &arg->seq);

	if (st_once(2))
		seq = pick_tainted(slot, seq, &arg->seq);
	if (seq && st_once(2))
		arg->limit = seq->limit;
	if (seq && st_once(5))
		arg->limit = st_below(seq->computed + 2);
	if (st_once(2))
		arg->tag = st_below(4);
	if (st_once(5))
		arg->head.flags = KVP_PUBLISH_KEEP;
}

static void make_invalidate(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_prefix_invalidate *arg = (void *)call->before;
	__u32 nr;

	arg->head.flags = 1 << st_below(3);
	if (st_once(12))
		arg->head.flags = st_below(8);
	/* A namespace goes seldom: it takes everything along. */
	if (arg->head.flags == KVP_INVALIDATE_SPACE && st_once(3))
		arg->head.flags = KVP_INVALIDATE_TAG;
	if (arg->head.flags != KVP_INVALIDATE_TAG || st_once(12))
		ct_digest(arg->space, st_pick_space());
	if (arg->head.flags == KVP_INVALIDATE_TAG || st_once(12))
		arg->tag = st_below(4);
	if (arg->head.flags != KVP_INVALIDATE_PREFIX)
		return;
	nr = (1 + st_below(4)) * st.index_tokens + (st_once(8) ? 1 : 0);
	st_tokens(call, 0, st_pick_text(), 0, nr);
	st_extras(call, 1, 0, nr);
}

static void make_reclaim(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_prefix_reclaim *arg = (void *)call->before;

	arg->nodes = st_once(10) ? 0 : 1 + st_below(5);
	if (st_once(20))
		arg->nodes = ~0ULL;
}

const struct st_maker st_prefix_makers[] = {
	{ KVP_OP_PREFIX_MATCH, 9, false, make_match, learn_match },
	{ KVP_OP_PREFIX_RELEASE, 4, false, make_release, learn_release },
	{ KVP_OP_PREFIX_PUBLISH, 9, false, make_publish, NULL },
	{ KVP_OP_PREFIX_INVALIDATE, 2, false, make_invalidate, NULL },
	{ KVP_OP_PREFIX_RECLAIM, 2, false, make_reclaim, NULL },
	{ }
};

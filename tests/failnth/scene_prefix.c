// SPDX-License-Identifier: MIT
/*
 * Scenarios of the index: match, publish, invalidate, reclaim.
 */
#include "failnth.h"

static const struct kvp_family_desc dense[] = { KVPV_DENSE(64, 4) };

static void idle(struct fn_state *s)
{
	fn_idle(s, s->tokens, 90);
}

static int match(struct fn_state *s, u64 *id)
{
	u64 blocks[80], matched;

	return kvpv_match(s->a, 1, s->tokens, 90, 0, blocks, KVPV_COUNT(blocks), &matched, id);
}

static int do_match(struct fn_state *s)
{
	return match(s, NULL);
}

static int do_match_hold(struct fn_state *s)
{
	return match(s, &s->made);
}

static void matched(struct fn_state *s)
{
	idle(s);
	kvpv_ok(match(s, &s->id));
}

static int do_release(struct fn_state *s)
{
	return kvpv_release(s->a, s->id);
}

/* ---- publish ---- */

static void begin_events(struct fn_state *s)
{
	struct kvp_events arg = {};

	kvpv_ok(kvpv_do(s->a, KVP_OP_EVENTS, &arg));
	s->events = true;
}

static void computed(struct fn_state *s)
{
	begin_events(s);
	fn_computed(s, s->tokens, 40);
}

static int publish(struct fn_state *s, u32 flags)
{
	struct kvp_prefix_publish arg = { .head.flags = flags, .seq = s->seq[0], .tag = 3 };

	return kvpv_do(s->a, KVP_OP_PREFIX_PUBLISH, &arg);
}

static int do_publish(struct fn_state *s)
{
	return publish(s, 0);
}

static int do_publish_keep(struct fn_state *s)
{
	return publish(s, KVP_PUBLISH_KEEP);
}

static u64 not_matched(struct fn_state *s, u32 nr)
{
	struct kvp_seq_create arg = {
		.head.flags = KVP_SEQ_NO_MATCH,
		.tokens = kvpv_ptr(s->tokens),
		.nr_tokens = nr,
	};

	kvpv_space(1, arg.space);
	kvpv_ok(kvpv_do(s->a, KVP_OP_SEQ_CREATE, &arg));
	return s->seq[s->nr_seqs++] = arg.seq;
}

static void equal(struct fn_state *s)
{
	fn_pool_again(s, KVP_POOL_STRICT, dense, 1);
	begin_events(s);
	fn_idle(s, s->tokens, 16);
	kvpv_ok(kvpv_advance(s->a, not_matched(s, 17), 16));
}

static void equal_and_used(struct fn_state *s)
{
	equal(s);
	s->t = kvpv_timeline(s->a);
	kvpv_ok(kvpv_write_seq(s->a, s->seq[0], s->t, 1, 16, 17));
}

/* ---- the end ---- */

static void tagged(struct fn_state *s)
{
	computed(s);
	kvpv_ok(do_publish(s));
	fn_idle(s, s->other, 40);
}

static int invalidate(struct fn_state *s, u32 flag)
{
	struct kvp_prefix_invalidate arg = { .head.flags = flag };

	if (flag == KVP_INVALIDATE_TAG) {
		arg.tag = 3;
	} else {
		kvpv_space(1, arg.space);
	}
	if (flag == KVP_INVALIDATE_PREFIX) {
		arg.tokens = kvpv_ptr(s->tokens);
		arg.nr_tokens = 10;
	}
	return kvpv_do(s->a, KVP_OP_PREFIX_INVALIDATE, &arg);
}

static int do_invalidate_prefix(struct fn_state *s)
{
	return invalidate(s, KVP_INVALIDATE_PREFIX);
}

static int do_invalidate_tag(struct fn_state *s)
{
	return invalidate(s, KVP_INVALIDATE_TAG);
}

static int do_invalidate_space(struct fn_state *s)
{
	return invalidate(s, KVP_INVALIDATE_SPACE);
}

static int do_reclaim(struct fn_state *s)
{
	struct kvp_prefix_reclaim arg = { .nodes = 30 };

	return kvpv_do(s->a, KVP_OP_PREFIX_RECLAIM, &arg);
}

const struct fn_scenario fn_prefix_scenarios[] = {
	{
		.op = KVP_OP_PREFIX_MATCH, .name = "prefix-match", .after = FN_UNDONE, .allocs = 1,
		.prepare = idle, .call = do_match,
	}, {
		.op = KVP_OP_PREFIX_MATCH, .name = "prefix-match that holds", .after = FN_UNDONE,
		.allocs = 3, .prepare = idle, .call = do_match_hold,
	}, {
		.op = KVP_OP_PREFIX_RELEASE, .name = "prefix-release",
		.prepare = matched, .call = do_release,
	}, {
		.op = KVP_OP_PREFIX_PUBLISH, .name = "prefix-publish",
		.prepare = computed, .call = do_publish,
	}, {
		.op = KVP_OP_PREFIX_PUBLISH, .name = "prefix-publish of what is there",
		.prepare = equal, .call = do_publish,
	}, {
		.op = KVP_OP_PREFIX_PUBLISH, .name = "prefix-publish that keeps",
		.prepare = equal, .call = do_publish_keep,
	}, {
		.op = KVP_OP_PREFIX_PUBLISH, .name = "prefix-publish, in use", .allocs = 1,
		.prepare = equal_and_used, .call = do_publish,
	}, {
		.op = KVP_OP_PREFIX_INVALIDATE, .name = "prefix-invalidate of a prefix",
		.prepare = tagged, .call = do_invalidate_prefix,
	}, {
		.op = KVP_OP_PREFIX_INVALIDATE, .name = "prefix-invalidate of a tag",
		.prepare = tagged, .call = do_invalidate_tag,
	}, {
		.op = KVP_OP_PREFIX_INVALIDATE, .name = "prefix-invalidate of a namespace",
		.prepare = tagged, .call = do_invalidate_space,
	}, {
		.op = KVP_OP_PREFIX_RECLAIM, .name = "prefix-reclaim",
		.prepare = tagged, .call = do_reclaim,
	}, {}
};

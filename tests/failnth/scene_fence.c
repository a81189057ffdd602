// SPDX-License-Identifier: MIT
/*
 * Scenarios of fences and of admission.
 */
#include "failnth.h"

static int do_timeline(struct fn_state *s)
{
	struct kvp_timeline_create arg = {};

	return kvpv_do(s->a, KVP_OP_TIMELINE_CREATE, &arg);
}

static void with_timeline(struct fn_state *s)
{
	s->t = kvpv_timeline(s->a);
}

/* ---- uses ---- */

static void sequences(struct fn_state *s)
{
	const struct kvp_family_desc dense = KVPV_DENSE(64, 1);

	fn_pool_again(s, KVP_POOL_STRICT, &dense, 1);
	with_timeline(s);
	fn_computed(s, s->tokens, 20);
	fn_computed(s, s->other, 20);
	kvpv_ok(kvpv_alloc(s->a, 0, 4, s->block));
}

static int do_use(struct fn_state *s)
{
	struct kvp_use_entry entries[14];
	u32 i;

	for (i = 0; i < KVPV_COUNT(entries); i++)
		entries[i] = (struct kvp_use_entry){
			.kind = i < 10 ? KVP_USE_SEQ : KVP_USE_BLOCK,
			.timeline = s->t,
			.id = i < 10 ? s->seq[i % 2] : s->block[i - 10],
			.value = 1 + i,
			.write_from = i < 10 ? KVP_POS_END : 0,
		};
	return kvpv_use(s->a, entries, KVPV_COUNT(entries));
}

static int do_use_refused(struct fn_state *s)
{
	return kvpv_use_seq(s->a, s->seq[0], s->t + 1, 1);
}

/* Zombies, holds and late references that end with the fence. */
static void in_flight(struct fn_state *s)
{
	struct kvp_seq_truncate arg;

	sequences(s);
	kvpv_ok(do_use(s));
	arg = (struct kvp_seq_truncate){ .seq = s->seq[0], .tokens = 10 };
	kvpv_ok(kvpv_do(s->a, KVP_OP_SEQ_TRUNCATE, &arg));
	kvpv_ok(kvpv_free(s->a, s->seq[1]));
	kvpv_ok(kvpv_unref(s->a, s->block, 4));
}

static int do_signal(struct fn_state *s)
{
	return kvpv_signal(s->a, s->t, 14);
}

static int do_query(struct fn_state *s)
{
	struct kvp_fence fences[24] = {};
	struct kvp_query query;
	u32 i;

	for (i = 0; i < KVPV_COUNT(fences); i++)
		fences[i] = (struct kvp_fence){ .timeline = s->t, .value = 1 + i % 14 };
	return kvpv_query(s->a, 0, fences, KVPV_COUNT(fences), &query);
}

static int do_query_watch(struct fn_state *s)
{
	struct kvp_fence fence = { .timeline = s->t, .value = 14 };
	struct kvp_query query;

	return kvpv_query(s->a, KVP_QUERY_WATCH, &fence, 1, &query);
}

/* The second client is dead, and its work goes on. */
static void quarantine(struct fn_state *s)
{
	u64 seq, blocks[2];
	u32 t = kvpv_timeline(s->b);

	kvpv_ok(kvpv_seq(s->b, 1, s->tokens, 30, &seq, NULL));
	kvpv_ok(kvpv_write_seq(s->b, seq, t, 1, 0, 30));
	kvpv_ok(kvpv_alloc(s->b, 0, 2, blocks));
	kvpv_ok(kvpv_use_block(s->b, blocks[1], t, 2));
	fn_door->close(s->b);
	s->b = -1;
}

static int do_reap(struct fn_state *s)
{
	u32 clients;
	u64 blocks;

	return kvpv_reap(s->a, 0, &clients, &blocks);
}

/* ---- admission ---- */

static int do_admit(struct fn_state *s)
{
	struct kvp_admit admit;

	return kvpv_admit(s->a, 0, 0, 40, &admit);
}

static void almost_full(struct fn_state *s)
{
	fn_idle(s, s->tokens, 80);
}

static void full(struct fn_state *s)
{
	kvpv_ok(kvpv_alloc(s->a, 0, 80, s->block));
}

static int do_queue(struct fn_state *s)
{
	struct kvp_admit admit;

	return kvpv_admit(s->a, KVP_ADMIT_QUEUE, 0, 20, &admit);
}

static void waiting(struct fn_state *s)
{
	full(s);
	s->id = kvpv_queue(s->a, 0, 20, 0);
}

static void granted(struct fn_state *s)
{
	waiting(s);
	kvpv_ok(kvpv_unref(s->a, s->block, 10));
}

static int do_take(struct fn_state *s)
{
	return kvpv_ticket(s->a, KVP_ADMIT_TAKE, s->id);
}

static int do_cancel(struct fn_state *s)
{
	return kvpv_ticket(s->a, KVP_ADMIT_CANCEL, s->id);
}

/* What comes back serves who waits, at the end of the call. */
static int do_serve(struct fn_state *s)
{
	return kvpv_unref(s->a, s->block, 10);
}

static void admitted(struct fn_state *s)
{
	kvpv_ok(do_admit(s));
}

static int do_drop(struct fn_state *s)
{
	struct kvp_admit admit;

	return kvpv_admit(s->a, KVP_ADMIT_DROP, 0, 30, &admit);
}

const struct fn_scenario fn_fence_scenarios[] = {
	{
		.op = KVP_OP_TIMELINE_CREATE, .name = "timeline-create of the first", .allocs = 2,
		.call = do_timeline,
	}, {
		.op = KVP_OP_TIMELINE_CREATE, .name = "timeline-create of a second",
		.prepare = with_timeline, .call = do_timeline,
	}, {
		.op = KVP_OP_USE, .name = "use of sequences and blocks", .allocs = 4,
		.prepare = sequences, .call = do_use,
	}, {
		.op = KVP_OP_USE, .name = "use refused", .expected = -ENOENT,
		.prepare = sequences, .call = do_use_refused,
	}, {
		.op = KVP_OP_SIGNAL, .name = "signal that ends uses",
		.prepare = in_flight, .call = do_signal,
	}, {
		.op = KVP_OP_QUERY, .name = "query of many", .allocs = 1,
		.prepare = in_flight, .call = do_query,
	}, {
		.op = KVP_OP_QUERY, .name = "query that watches",
		.prepare = in_flight, .call = do_query_watch,
	}, {
		.op = KVP_OP_REAP, .name = "reap",
		.prepare = quarantine, .call = do_reap,
	}, {
		.op = KVP_OP_ADMIT, .name = "admit", .after = FN_UNDONE,
		.call = do_admit,
	}, {
		.op = KVP_OP_ADMIT, .name = "admit that reclaims", .after = FN_UNDONE_NEARLY,
		.prepare = almost_full, .call = do_admit,
	}, {
		.op = KVP_OP_ADMIT, .name = "admit that waits", .after = FN_UNDONE, .allocs = 2,
		.prepare = full, .call = do_queue,
	}, {
		.op = KVP_OP_ADMIT, .name = "admit that takes",
		.prepare = granted, .call = do_take,
	}, {
		.op = KVP_OP_ADMIT, .name = "admit that takes too early", .expected = -EBUSY,
		.prepare = waiting, .call = do_take,
	}, {
		.op = KVP_OP_ADMIT, .name = "admit that cancels",
		.prepare = granted, .call = do_cancel,
	}, {
		.op = KVP_OP_ADMIT, .name = "admit that drops",
		.prepare = admitted, .call = do_drop,
	}, {
		.op = KVP_OP_BLOCK_UNREF, .name = "block-unref that serves a ticket",
		.prepare = waiting, .call = do_serve,
	}, {}
};

// SPDX-License-Identifier: MIT
/*
 * Scenarios of looking at a pool. None of them changes anything, whatever fails.
 */
#include "failnth.h"

static void busy(struct fn_state *s)
{
	fn_published(s, s->tokens, 40);
	fn_idle(s, s->other, 20);
	kvpv_ok(kvpv_alloc(s->b, 0, 4, s->block));
	s->id = kvpv_self(s->b);
}

static int stats(struct fn_state *s, u64 who, u32 flags)
{
	struct kvp_family_stats families[KVP_MAX_FAMILIES];
	struct kvp_stats arg;

	return kvpv_stats(s->a, who, flags, &arg, families, KVP_MAX_FAMILIES);
}

static int do_stats(struct fn_state *s)
{
	return stats(s, 0, 0);
}

static int do_stats_client(struct fn_state *s)
{
	return stats(s, s->id, 0);
}

static int do_stats_uid(struct fn_state *s)
{
	return stats(s, FN_UID, KVP_STATS_OF_UID);
}

static int do_audit(struct fn_state *s)
{
	struct kvp_finding findings[40];
	struct kvp_audit arg = {
		.findings = kvpv_ptr(findings),
		.nr_findings = KVPV_COUNT(findings),
	};

	return kvpv_do(s->a, KVP_OP_AUDIT, &arg);
}

static int do_dump(struct fn_state *s)
{
	struct kvp_block_entry entries[FN_BLOCKS];
	struct kvp_block_dump arg = {
		.entries = kvpv_ptr(entries),
		.nr_entries = FN_BLOCKS,
	};

	return kvpv_do(s->a, KVP_OP_BLOCK_DUMP, &arg);
}

static int do_list(struct fn_state *s)
{
	struct kvp_client_entry entries[8];
	struct kvp_client_list arg = {
		.entries = kvpv_ptr(entries),
		.nr_entries = KVPV_COUNT(entries),
	};

	return kvpv_do(s->a, KVP_OP_CLIENT_LIST, &arg);
}

static int do_events(struct fn_state *s)
{
	struct kvp_event events[20];
	struct kvp_events arg = {
		.events = kvpv_ptr(events),
		.nr_events = KVPV_COUNT(events),
		.cursor = s->events,
	};

	return kvpv_do(s->a, KVP_OP_EVENTS, &arg);
}

static void eventful(struct fn_state *s)
{
	kvpv_ok(do_events(s));
	s->events = true;
	busy(s);
}

const struct fn_scenario fn_watch_scenarios[] = {
	{
		.op = KVP_OP_STATS, .name = "stats of the pool", .allocs = 1,
		.prepare = busy, .call = do_stats,
	}, {
		.op = KVP_OP_STATS, .name = "stats of a client", .allocs = 1,
		.prepare = busy, .call = do_stats_client,
	}, {
		.op = KVP_OP_STATS, .name = "stats of a uid", .allocs = 1,
		.prepare = busy, .call = do_stats_uid,
	}, {
		.op = KVP_OP_AUDIT, .name = "audit", .allocs = 10,
		.prepare = busy, .call = do_audit,
	}, {
		.op = KVP_OP_BLOCK_DUMP, .name = "block-dump", .allocs = 1,
		.prepare = busy, .call = do_dump,
	}, {
		.op = KVP_OP_CLIENT_LIST, .name = "client-list", .allocs = 1,
		.prepare = busy, .call = do_list,
	}, {
		.op = KVP_OP_EVENTS, .name = "events, of which the first begins", .allocs = 5,
		.prepare = busy, .call = do_events,
	}, {
		.op = KVP_OP_EVENTS, .name = "events", .allocs = 1,
		.prepare = eventful, .call = do_events,
	}, {}
};

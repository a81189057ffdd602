// SPDX-License-Identifier: MIT
/*
 * What a call can have changed, as its caller and others see it through the contract: counters,
 * blocks, clients, sequences, events. As text, a thing a line, in several views. Owns no state.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "failnth.h"

#define MAX_CLIENTS	16
#define MAX_EVENTS	128
#define MAX_TABLE	128
#define MAX_TEXT	192

/* Views in which a line is. */
#define EXACT	(1U << FN_EXACT)
#define LOOSE	(1U << FN_LOOSE)
#define LEFT	(1U << FN_LEFT)
#define ALIKE	(1U << FN_ALIKE)
#define GIST	(1U << FN_GIST)
#define CACHED	(EXACT | LOOSE | ALIKE)		/* what there is, until a reclaim */
#define NOW	(CACHED | LEFT | GIST)		/* what there is */
#define PAST	(EXACT | ALIKE)			/* what has happened */
#define NAMED	(EXACT | LOOSE | LEFT)		/* by names that may be others */

struct look {
	const struct fn_state *s;
	FILE *out[FN_VIEWS];
	struct kvp_client_entry client[MAX_CLIENTS];
	u32 nr_clients;
};

static __attribute__((format(printf, 3, 4)))
void say(struct look *look, u32 views, const char *fmt, ...)
{
	va_list args;
	u32 i;

	for (i = 0; i < FN_VIEWS; i++) {
		if (!(views & 1U << i))
			continue;
		va_start(args, fmt);
		vfprintf(look->out[i], fmt, args);
		va_end(args);
	}
}

/* Which of the clients it is: ids grow with those that came and went. */
static int rank_of(const struct look *look, u64 client)
{
	u32 i;

	for (i = 0; i < look->nr_clients; i++)
		if (look->client[i].client == client)
			return i;
	return -1;
}

/* ---- counters ---- */

#define COUNTER(name_, views_) { #name_, offsetof(struct kvp_stats, name_), views_ }

static const struct {
	const char *name;
	size_t at;
	u32 views;
} counters[] = {
	COUNTER(seqs, NOW), COUNTER(slots, NOW), COUNTER(raw, NOW), COUNTER(matches, NOW),
	COUNTER(metadata_bytes, CACHED), COUNTER(exports, NOW), COUNTER(backings, NOW),
	COUNTER(zombies, NOW), COUNTER(uses, NOW), COUNTER(tickets, NOW),
	COUNTER(tickets_waiting, NOW), COUNTER(quarantined, NOW), COUNTER(nodes, NOW),
	COUNTER(extras, NOW),
	COUNTER(nodes_used, CACHED), COUNTER(nodes_published, CACHED),
	COUNTER(namespaces, CACHED), COUNTER(extras_used, CACHED),
	COUNTER(matched_nodes, PAST), COUNTER(looked_up_nodes, PAST),
	COUNTER(published_nodes, PAST), COUNTER(shared_nodes, PAST),
	COUNTER(reclaimed_nodes, PAST), COUNTER(reclaimed_blocks, PAST),
	COUNTER(invalidated, PAST), COUNTER(copies, PAST), COUNTER(underflow_rejected, PAST),
	COUNTER(collisions, PAST), COUNTER(refused_room, PAST), COUNTER(refused_limit, PAST),
	COUNTER(tickets_granted, PAST), COUNTER(backwards, PAST), COUNTER(jumps, PAST),
};

static void say_family(struct look *look, const char *whose, u32 i,
		       const struct kvp_family_stats *is)
{
	u32 k;

	for (k = 0; k < KVP_BLOCK_STATES; k++)
		say(look, k == KVP_BLOCK_FREE || k == KVP_BLOCK_IDLE ? CACHED : NOW,
		    "%s family %u state %u: %llu\n", whose, i, k, is->state[k]);
	say(look, LEFT | GIST, "%s family %u free and idle: %llu\n", whose, i,
	    is->state[KVP_BLOCK_FREE] + is->state[KVP_BLOCK_IDLE]);
	say(look, CACHED, "%s family %u published: %llu\n", whose, i, is->published);
	say(look, NOW, "%s family %u: total %llu charged %llu guaranteed %llu unmet %llu limit %llu held back %llu reserve %llu\n",
	    whose, i, is->total, is->charged, is->guaranteed, is->unmet, is->limit, is->held_back,
	    is->reserve);
}

static void look_at_counters(struct look *look, const char *whose, u64 who, u32 flags)
{
	struct kvp_family_stats families[KVP_MAX_FAMILIES];
	struct kvp_stats stats;
	u64 value;
	u32 i;

	if (kvpv_stats(look->s->a, who, flags, &stats, families, KVP_MAX_FAMILIES)) {
		/* A uid that nobody has. */
		kvpv_same(kvpv_head.reason, KVP_REASON_NO_CLIENT);
		say(look, NOW, "%s: nobody\n", whose);
		return;
	}
	for (i = 0; i < KVPV_COUNT(counters); i++) {
		memcpy(&value, (char *)&stats + counters[i].at, sizeof(value));
		say(look, counters[i].views, "%s %s: %llu\n", whose, counters[i].name,
		    (unsigned long long)value);
	}
	for (i = 0; i < stats.nr_families; i++)
		say_family(look, whose, i, &families[i]);
}

/* ---- clients ---- */

static void look_at_clients(struct look *look)
{
	const struct kvp_client_entry *is;
	char whose[32];
	u32 i;

	look->nr_clients = kvpv_clients(look->s->a, look->client, MAX_CLIENTS);
	for (i = 0; i < look->nr_clients; i++) {
		is = &look->client[i];
		say(look, NAMED, "client %u has id %llu\n", i, is->client);
		say(look, NOW, "client %u: uid %u rights %u flags %u maker %d exports %llu charged %llu\n",
		    i, is->uid, is->rights, is->flags, rank_of(look, is->maker), is->exports,
		    is->charged);
		say(look, PAST, "client %u: imports %llu\n", i, is->imports);
		say(look, NOW, "client %u: seqs %llu slots %llu raw %llu matches %llu zombies %llu uses %llu held back %llu tickets %llu\n",
		    i, is->seqs, is->slots, is->raw, is->matches, is->zombies, is->uses,
		    is->held_back, is->tickets);
		if (is->flags & (KVP_CLIENT_EXPORT | KVP_CLIENT_DEAD))
			continue;
		snprintf(whose, sizeof(whose), "client %u", i);
		look_at_counters(look, whose, is->client, 0);
	}
}

/* What a client sees of its pool, if it has one. */
static void look_as(struct look *look, const char *who, int fd)
{
	struct kvp_pool_info info = {};
	int err;

	if (fd < 0)
		return;
	err = kvpv_do(fd, KVP_OP_POOL_INFO, &info);
	say(look, NOW, "%s: %d reason %u pool %s flags %u rights %u clients %u backings %u\n", who,
	    err, kvpv_head.reason, info.name, info.pool_flags, info.rights, info.nr_clients,
	    info.nr_backings);
}

static void look_at_pools(struct look *look)
{
	struct kvp_pool_entry pools[4];
	struct kvp_pool_list arg = {
		.pools = kvpv_ptr(pools),
		.nr_pools = KVPV_COUNT(pools),
	};
	u32 i;

	kvpv_ok(kvpv_do(look->s->a, KVP_OP_POOL_LIST, &arg));
	for (i = 0; i < arg.nr_pools; i++)
		say(look, NOW, "pool %s: uid %u mode %o flags %u clients %u\n", pools[i].name,
		    pools[i].uid, pools[i].mode, pools[i].pool_flags, pools[i].nr_clients);
	look_as(look, "a", look->s->a);
	look_as(look, "b", look->s->b);
	look_as(look, "c", look->s->c);
}

/* ---- blocks, sequences, events ---- */

static int by_text(const void *one, const void *two)
{
	return strcmp(one, two);
}

static void look_at_blocks(struct look *look, u32 family)
{
	static struct kvp_block_entry entries[2 * FN_BLOCKS];
	static char text[2 * FN_BLOCKS][MAX_TEXT];
	char idle[16];
	u32 nr = kvpv_dump(look->s->a, family, entries, KVPV_COUNT(entries));
	const struct kvp_block_entry *is;
	u32 used = 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		is = &entries[i];
		if (is->state == KVP_BLOCK_FREE)
			continue;
		snprintf(text[used], MAX_TEXT,
			 "state %u count %u why %u client %d depth %u tag %u space %02x part %u flags %u held back %u",
			 is->state, is->count, is->why, rank_of(look, is->client), is->depth,
			 is->tag, is->space[0], is->part, is->flags, is->held_back);
		say(look, is->state == KVP_BLOCK_IDLE ? NAMED & ~LEFT : NAMED,
		    "block %llx of %llx node %u: %s\n", is->block, is->parent, is->node,
		    text[used]);
		used++;
	}
	qsort(text, used, MAX_TEXT, by_text);
	snprintf(idle, sizeof(idle), "state %u ", KVP_BLOCK_IDLE);
	for (i = 0; i < used; i++)
		say(look, strncmp(text[i], idle, strlen(idle)) ? ALIKE | GIST : ALIKE,
		    "family %u: %s\n", family, text[i]);
}

static void look_at_seq(struct look *look, u32 i, u32 family)
{
	u64 blocks[MAX_TABLE];
	struct kvp_seq_table table;
	int err = kvpv_table(look->s->a, look->s->seq[i], family, blocks, MAX_TABLE, &table);
	u32 k;

	say(look, NOW, "sequence %u: %d reason %u tokens %llu computed %llu reserved %llu published %llu, %llu of family %u\n",
	    i, err, table.head.reason, table.nr_tokens, table.nr_computed, table.nr_reserved,
	    table.nr_published, table.total, family);
	for (k = 0; !err && k < table.nr_blocks; k++) {
		say(look, NAMED, " %llx", (unsigned long long)blocks[k]);
		say(look, ALIKE | GIST, "%c", blocks[k] ? '*' : '-');
	}
	say(look, NOW, "\n");
}

/* Where its tokens stand, and what is moved if it is being remapped. */
static void look_at_places(struct look *look, u32 i, u32 nr_families)
{
	struct kvp_positions runs[MAX_TABLE];
	struct kvp_move moves[MAX_TABLE];
	struct kvp_seq_positions positions = {
		.seq = look->s->seq[i],
		.runs = kvpv_ptr(runs),
		.nr_runs = MAX_TABLE,
	};
	int err = kvpv_do(look->s->a, KVP_OP_SEQ_POSITIONS, &positions);
	u32 k, family;

	say(look, NOW, "positions of %u: %d reason %u, tainted from %llu, next %llu, attended %llu:",
	    i, err, positions.head.reason, positions.tainted_from, positions.next,
	    positions.attended);
	for (k = 0; !err && k < positions.nr_runs; k++)
		say(look, NOW, " %llu at %llu, of %llu, flags %u;", runs[k].first,
		    runs[k].position, runs[k].computed_at, runs[k].flags);
	say(look, NOW, "\n");
	for (family = 0; family < nr_families; family++) {
		struct kvp_remap_moves arg = {
			.seq = look->s->seq[i],
			.moves = kvpv_ptr(moves),
			.nr_moves = MAX_TABLE,
			.family = family,
		};

		err = kvpv_do(look->s->a, KVP_OP_REMAP_MOVES, &arg);
		say(look, NOW, "moves of family %u: %d reason %u, %llu:", family, err,
		    arg.head.reason, arg.total);
		for (k = 0; !err && k < arg.nr_moves; k++) {
			say(look, NAMED, " %llx to %llx", moves[k].src, moves[k].dst);
			say(look, NOW, " rows %u from %u to %u, %u, at %llu;", moves[k].rows,
			    moves[k].src_row, moves[k].dst_row, moves[k].flags,
			    moves[k].position);
		}
		say(look, NOW, "\n");
	}
}

static void look_at_events(struct look *look)
{
	static struct kvp_event events[MAX_EVENTS];
	struct kvp_events arg = {
		.events = kvpv_ptr(events),
		.nr_events = MAX_EVENTS,
		.cursor = 1,
	};
	u32 i;

	kvpv_ok(kvpv_do(look->s->a, KVP_OP_EVENTS, &arg));
	for (i = 0; i < arg.nr_events; i++)
		say(look, PAST, "event %llu: kind %u flags %u depth %u tokens %u tag %u space %02x\n",
		    events[i].number, events[i].kind, events[i].flags, events[i].depth,
		    events[i].tokens, events[i].tag, events[i].space[0]);
}

/* ---- all of it ---- */

void fn_world_take(const struct fn_state *s, struct fn_world *world)
{
	static struct look look;
	size_t len[FN_VIEWS];
	struct kvp_pool_info info = {};
	char resources[64];
	u32 i, k;

	look.s = s;
	for (i = 0; i < FN_VIEWS; i++) {
		look.out[i] = open_memstream(&world->text[i], &len[i]);
		kvpv_true(look.out[i]);
	}
	kvpv_ok(kvpv_do(s->a, KVP_OP_POOL_INFO, &info));
	look_at_clients(&look);
	look_at_counters(&look, "pool", 0, 0);
	look_at_counters(&look, "root", 0, KVP_STATS_OF_UID);
	look_at_counters(&look, "second uid", FN_UID, KVP_STATS_OF_UID);
	look_at_pools(&look);
	for (i = 0; i < info.nr_families; i++)
		look_at_blocks(&look, i);
	for (k = 0; k < s->nr_seqs; k++)
		for (i = 0; i < info.nr_families; i++)
			look_at_seq(&look, k, i);
	for (k = 0; k < s->nr_seqs; k++)
		look_at_places(&look, k, info.nr_families);
	if (s->events)
		look_at_events(&look);
	fn_door->resources(resources);
	say(&look, NOW, "open: %s\n", resources);
	for (i = 0; i < FN_VIEWS; i++)
		kvpv_true(!fclose(look.out[i]));
}

void fn_world_drop(struct fn_world *world)
{
	u32 i;

	for (i = 0; i < FN_VIEWS; i++)
		free(world->text[i]);
	memset(world, 0, sizeof(*world));
}

bool fn_world_same(const struct fn_world *one, const struct fn_world *two, enum fn_view view)
{
	return !strcmp(one->text[view], two->text[view]);
}

void fn_world_show(const struct fn_world *one, const struct fn_world *two, enum fn_view view)
{
	const char *was = one->text[view], *is = two->text[view];
	const char *line;

	while (*was && *was == *is) {
		was++;
		is++;
	}
	for (line = was; line > one->text[view] && line[-1] != '\n'; line--)
		;
	printf("  was: %.*s\n", (int)strcspn(line, "\n"), line);
	line = is - (was - line);
	printf("  is:  %.*s\n", (int)strcspn(line, "\n"), line);
}

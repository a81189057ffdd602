// SPDX-License-Identifier: MIT
/*
 * Tells what a look of `kvctl top' has seen, and what has changed since the one before, in lines
 * or as JSON. No state, and no pool: from the numbers alone.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "kvctl.h"
#include "top.h"

#define LINE_LEN	512
#define NUMBER_LEN	32

#define COUNTER(name, member)	{ name, NULL, offsetof(struct kvp_stats, member) }

/* What is told as a rate, in the order of the columns; the hit ratio stands behind the second. */
static const struct kvctl_field counters[] = {
	COUNTER("looked_up_nodes", looked_up_nodes),
	COUNTER("matched_nodes", matched_nodes),
	COUNTER("published_nodes", published_nodes),
	COUNTER("reclaimed_blocks", reclaimed_blocks),
	COUNTER("copies", copies),
	COUNTER("refused_room", refused_room),
	COUNTER("refused_limit", refused_limit),
};

#define NR_COUNTERS	(sizeof(counters) / sizeof(counters[0]))
#define LOOKED_UP	0
#define MATCHED		1

/* ---- from one look to the next ---- */

static const struct kvctl_top_pool *pool_before(const struct kvctl_top_look *before,
						const struct kvctl_top_pool *pool)
{
	uint32_t i;

	for (i = 0; i < before->nr; i++) {
		if (before->pools[i].id == pool->id && !before->pools[i].failed[0] &&
		    !strcmp(before->pools[i].name, pool->name))
			return &before->pools[i];
	}
	return NULL;
}

static const struct kvctl_client *client_before(const struct kvctl_top_pool *pool,
						const struct kvctl_client *client)
{
	uint32_t i;

	for (i = 0; pool && i < pool->clients.nr; i++) {
		if (pool->clients.at[i].entry.client == client->entry.client)
			return &pool->clients.at[i];
	}
	return NULL;
}

/* How much counter @i has grown, 0 without a look before. */
static uint64_t grown(const struct kvctl_top_pool *pool, const struct kvctl_top_pool *before,
		      size_t i)
{
	if (!before)
		return 0;
	return kvctl_field_value(&counters[i], &pool->stats) -
	       kvctl_field_value(&counters[i], &before->stats);
}

/* Blocks charged more (or less) than before; of a client that was not there, all of them. */
static int64_t change_of(const struct kvctl_client *client, const struct kvctl_top_pool *before)
{
	const struct kvctl_client *was = client_before(before, client);

	return (int64_t)(client->entry.charged - (was ? was->entry.charged : 0));
}

/* ---- order ---- */

const char *kvctl_top_sort_name(uint32_t sort)
{
	static const char *const names[KVCTL_SORTS] = {
		[KVCTL_SORT_CHARGED] = "charged",
		[KVCTL_SORT_CHANGE] = "change",
		[KVCTL_SORT_HELD_BACK] = "held-back",
		[KVCTL_SORT_SEQS] = "seqs",
		[KVCTL_SORT_SLOTS] = "slots",
		[KVCTL_SORT_RAW] = "raw",
		[KVCTL_SORT_AGE] = "age",
		[KVCTL_SORT_PID] = "pid",
		[KVCTL_SORT_CLIENT] = "client",
	};

	return names[sort];
}

/**
 * struct order - for compare()
 * @sort: by what
 * @before: the pool at the look before, or NULL
 */
struct order {
	enum kvctl_top_sort sort;
	const struct kvctl_top_pool *before;
};

/* The larger it is, the earlier it comes. */
static int64_t weight(const struct kvctl_client *client, const struct order *order)
{
	const struct kvp_client_entry *entry = &client->entry;

	switch (order->sort) {
	case KVCTL_SORT_CHANGE:
		return llabs(change_of(client, order->before));
	case KVCTL_SORT_HELD_BACK:
		return (int64_t)entry->held_back;
	case KVCTL_SORT_SEQS:
		return (int64_t)entry->seqs;
	case KVCTL_SORT_SLOTS:
		return (int64_t)entry->slots;
	case KVCTL_SORT_RAW:
		return (int64_t)entry->raw;
	case KVCTL_SORT_AGE:
		return (int64_t)entry->age_ns;
	case KVCTL_SORT_PID:
		return -(int64_t)entry->pid;
	case KVCTL_SORT_CLIENT:
		return -(int64_t)entry->client;
	default:
		return (int64_t)entry->charged;
	}
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct kvctl_client *left = a, *right = b;
	int64_t first = weight(left, arg), second = weight(right, arg);

	if (first != second)
		return first > second ? -1 : 1;
	return left->entry.client < right->entry.client ? -1 : 1;
}

void kvctl_top_sort(struct kvctl_top_look *now, const struct kvctl_top_look *before,
		    enum kvctl_top_sort sort)
{
	struct order order = { .sort = sort };
	uint32_t i;

	for (i = 0; i < now->nr; i++) {
		order.before = pool_before(before, &now->pools[i]);
		if (!now->pools[i].clients.nr)
			continue;
		qsort_r(now->pools[i].clients.at, now->pools[i].clients.nr,
			sizeof(*now->pools[i].clients.at), compare, &order);
	}
}

/* ---- lines ---- */

static void put(const struct kvctl_top_out *out, bool heading, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void put(const struct kvctl_top_out *out, bool heading, const char *fmt, ...)
{
	char text[LINE_LEN];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	out->line(out->arg, heading, text);
}

static void put_summary(const struct kvctl_top_look *now, const struct kvctl_top_look *before,
			const struct kvctl_top_out *out)
{
	uint64_t clients = 0, quarantined = 0;
	char since[64] = "", dead[64] = "";
	uint32_t i;

	for (i = 0; i < now->nr; i++) {
		clients += now->pools[i].nr_clients;
		quarantined += now->pools[i].stats.quarantined;
	}
	if (quarantined)
		snprintf(dead, sizeof(dead), ", %llu dead in quarantine",
			 (unsigned long long)quarantined);
	if (before->pools)
		snprintf(since, sizeof(since), "; rates of the last %.1f s",
			 now->at - before->at);
	put(out, false, "%u pool%s, %llu client%s%s%s", now->nr, now->nr == 1 ? "" : "s",
	    (unsigned long long)clients, clients == 1 ? "" : "s", dead, since);
}

static void put_families(const struct kvctl_top_look *look, const struct kvctl_top_out *out)
{
	const struct kvctl_top_pool *pool;
	const __u64 *state;
	char family[32];
	uint32_t i, j;

	put(out, true, "%-14s %-12s %8s %8s %8s %8s %9s %5s", "POOL", "FAMILY", "BLOCKS", "FREE",
	    "HELD", "IDLE", "HELD-BACK", "OTHER");
	for (i = 0; i < look->nr; i++) {
		pool = &look->pools[i];
		if (pool->failed[0])
			put(out, false, "%-14s %s", pool->name, pool->failed);
		for (j = 0; j < pool->nr_families; j++) {
			state = pool->families[j].state;
			snprintf(family, sizeof(family), "%u%s%s", j,
				 pool->family[j].name[0] ? ":" : "", pool->family[j].name);
			put(out, false, "%-14s %-12s %8llu %8llu %8llu %8llu %9llu %5llu",
			    pool->name, family, pool->families[j].total, state[KVP_BLOCK_FREE],
			    state[KVP_BLOCK_HELD], state[KVP_BLOCK_IDLE],
			    state[KVP_BLOCK_HELD_BACK],
			    state[KVP_BLOCK_RESERVED] + state[KVP_BLOCK_RETIRED]);
		}
	}
}

/* @part / @whole with one digit behind the point, "-" where there is no telling. */
static const char *ratio(double part, double whole, char text[NUMBER_LEN])
{
	if (whole > 0)
		snprintf(text, NUMBER_LEN, "%.1f", part / whole);
	else
		snprintf(text, NUMBER_LEN, "-");
	return text;
}

static void put_rates(const struct kvctl_top_look *now, const struct kvctl_top_look *before,
		      const struct kvctl_top_out *out)
{
	const struct kvctl_top_pool *pool, *was;
	char rate[NR_COUNTERS][NUMBER_LEN], hits[NUMBER_LEN];
	double seconds;
	uint32_t i;
	size_t j;

	put(out, true, "%-14s %8s %8s %5s %7s %7s %7s %8s %7s", "POOL", "LOOKUP/s", "FOUND/s",
	    "HIT%", "PUBL/s", "RECL/s", "COPY/s", "NOROOM/s", "LIMIT/s");
	for (i = 0; i < now->nr; i++) {
		pool = &now->pools[i];
		if (pool->failed[0])
			continue;
		was = pool_before(before, pool);
		seconds = was ? now->at - before->at : 0;
		for (j = 0; j < NR_COUNTERS; j++)
			ratio((double)grown(pool, was, j), seconds, rate[j]);
		ratio(100.0 * (double)grown(pool, was, MATCHED),
		      (double)grown(pool, was, LOOKED_UP), hits);
		put(out, false, "%-14s %8s %8s %5s %7s %7s %7s %8s %7s", pool->name, rate[0],
		    rate[1], hits, rate[2], rate[3], rate[4], rate[5], rate[6]);
	}
}

#define STATE_LEN	64

/* What it is, if it is no client that lives, in @state; returns @state. */
static const char *state_words(const struct kvctl_client *client, char state[STATE_LEN])
{
	const struct kvp_client_entry *entry = &client->entry;
	char grace[KVCTL_AGE_LEN];

	state[0] = '\0';
	if (kvctl_is_export(client))
		snprintf(state, STATE_LEN, "  %s%s",
			 entry->flags & KVP_CLIENT_REVOKED ? "revoked export" : "export",
			 entry->flags & KVP_CLIENT_OPEN ? ", being written" : "");
	else if (kvctl_is_dead(client))
		snprintf(state, STATE_LEN, "  DEAD, quarantine: %s",
			 kvctl_grace_words(entry->grace_ns, grace));
	return state;
}

static void put_client(const struct kvctl_top_pool *pool, const struct kvctl_top_pool *before,
		       const struct kvctl_client *client, const struct kvctl_top_out *out)
{
	const struct kvp_client_entry *entry = &client->entry;
	char age[KVCTL_AGE_LEN], change[NUMBER_LEN] = "-", state[STATE_LEN];

	if (before)
		snprintf(change, sizeof(change), "%+lld", (long long)change_of(client, before));
	put(out, false, "%-14s %6llu %5u %7u %-15s %8llu %7s %9llu %5llu %5s %8llu %6llu %7llu%s",
	    pool->name, entry->client, entry->uid, entry->pid, entry->command, entry->charged,
	    change, entry->held_back, entry->seqs, kvctl_age_words(entry->age_ns, age),
	    entry->slots, entry->raw, entry->exports, state_words(client, state));
}

static void put_clients(const struct kvctl_top_look *now, const struct kvctl_top_look *before,
			const struct kvctl_top_out *out)
{
	const struct kvctl_top_pool *pool, *was;
	uint32_t i, j;

	put(out, true, "%-14s %6s %5s %7s %-15s %8s %7s %9s %5s %5s %8s %6s %7s", "POOL", "CLIENT",
	    "UID", "PID", "COMMAND", "CHARGED", "CHANGE", "HELD-BACK", "SEQS", "AGE", "SLOTS",
	    "RAW", "EXPORTS");
	for (i = 0; i < now->nr; i++) {
		pool = &now->pools[i];
		was = pool_before(before, pool);
		for (j = 0; j < pool->clients.nr; j++)
			put_client(pool, was, &pool->clients.at[j], out);
		if (!pool->failed[0] && !pool->admin)
			put(out, false, "%-14s clients of others are not shown: that needs the "
			    "right admin", pool->name);
	}
}

void kvctl_top_lines(const struct kvctl_top_look *now, const struct kvctl_top_look *before,
		     const struct kvctl_top_out *out)
{
	put_summary(now, before, out);
	if (!now->nr)
		return;
	put(out, false, "%s", "");
	put_families(now, out);
	put(out, false, "%s", "");
	put_rates(now, before, out);
	put(out, false, "%s", "");
	put_clients(now, before, out);
}

/* ---- JSON ---- */

static json_t *families_json(const struct kvctl_top_pool *pool)
{
	const struct kvp_family_stats *family;
	json_t *array = json_array();
	uint32_t i;

	for (i = 0; i < pool->nr_families; i++) {
		family = &pool->families[i];
		kvctl_json_append(&array, json_pack(
			"{s:i, s:s, s:I, s:{s:I, s:I, s:I, s:I, s:I, s:I}}",
			"family", i,
			"name", pool->family[i].name,
			"blocks", (json_int_t)family->total,
			"states",
			"free", (json_int_t)family->state[KVP_BLOCK_FREE],
			"reserved", (json_int_t)family->state[KVP_BLOCK_RESERVED],
			"held", (json_int_t)family->state[KVP_BLOCK_HELD],
			"idle", (json_int_t)family->state[KVP_BLOCK_IDLE],
			"held-back", (json_int_t)family->state[KVP_BLOCK_HELD_BACK],
			"retired", (json_int_t)family->state[KVP_BLOCK_RETIRED]));
	}
	return array;
}

static json_t *rates_json(const struct kvctl_top_pool *pool, const struct kvctl_top_pool *before,
			  double seconds)
{
	json_t *object = json_object();
	size_t i;

	for (i = 0; i < NR_COUNTERS; i++)
		kvctl_json_set(&object, counters[i].key,
			       before && seconds > 0
				       ? json_real((double)grown(pool, before, i) / seconds)
				       : json_null());
	return object;
}

static json_t *clients_json(const struct kvctl_top_pool *pool,
			    const struct kvctl_top_pool *before)
{
	const struct kvp_client_entry *entry;
	json_t *array = json_array();
	uint32_t i;

	for (i = 0; i < pool->clients.nr; i++) {
		entry = &pool->clients.at[i].entry;
		kvctl_json_append(&array, json_pack(
			"{s:I, s:I, s:I, s:s, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I,"
			" s:I, s:b, s:b, s:o}",
			"client", (json_int_t)entry->client,
			"uid", (json_int_t)entry->uid,
			"pid", (json_int_t)entry->pid,
			"command", entry->command,
			"seqs", (json_int_t)entry->seqs,
			"slots", (json_int_t)entry->slots,
			"raw", (json_int_t)entry->raw,
			"charged", (json_int_t)entry->charged,
			"change", before ? json_integer(change_of(&pool->clients.at[i], before))
					 : json_null(),
			"held_back", (json_int_t)entry->held_back,
			"zombies", (json_int_t)entry->zombies,
			"uses", (json_int_t)entry->uses,
			"tickets", (json_int_t)entry->tickets,
			"exports", (json_int_t)entry->exports,
			"age_ns", (json_int_t)entry->age_ns,
			"export", kvctl_is_export(&pool->clients.at[i]),
			"dead", kvctl_is_dead(&pool->clients.at[i]),
			"grace_ns", kvctl_grace_json(&pool->clients.at[i])));
	}
	return array;
}

static json_t *pool_json(const struct kvctl_top_pool *pool, const struct kvctl_top_pool *before,
			 double seconds)
{
	return json_pack("{s:s, s:I, s:I, s:s?, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:b}",
			 "pool", pool->name,
			 "pool_id", (json_int_t)pool->id,
			 "uid", (json_int_t)pool->uid,
			 "failed", pool->failed[0] ? pool->failed : NULL,
			 "nr_clients", (json_int_t)pool->nr_clients,
			 "quarantined", (json_int_t)pool->stats.quarantined,
			 "families", families_json(pool),
			 "counters", kvctl_json_fields(counters, NR_COUNTERS, &pool->stats),
			 "per_second", rates_json(pool, before, seconds),
			 "hit_ratio", kvctl_json_ratio(grown(pool, before, MATCHED),
						       grown(pool, before, LOOKED_UP)),
			 "clients", clients_json(pool, before),
			 "all_visible", pool->admin);
}

json_t *kvctl_top_json(const struct kvctl_top_look *now, const struct kvctl_top_look *before)
{
	double seconds = before->pools ? now->at - before->at : 0;
	json_t *array = json_array();
	uint32_t i;

	for (i = 0; i < now->nr; i++)
		kvctl_json_append(&array, pool_json(&now->pools[i],
						    pool_before(before, &now->pools[i]),
						    seconds));
	return json_pack("{s:o, s:o}", "interval_ns",
			 before->pools ? json_integer((json_int_t)(seconds * 1e9)) : json_null(),
			 "pools", array);
}

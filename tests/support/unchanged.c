// SPDX-License-Identifier: MIT
/*
 * What a refused call must leave alone: the counters and blocks of a pool, taken before and
 * compared after. Owns the thread's last text.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

static _Thread_local char kvpt_text[256];

/* Counters of @who, without touching kvpt. */
static void kvpt_look(struct kvp_client *client, u64 who, struct kvp_stats *stats,
		      struct kvp_family_stats *families)
{
	memset(stats, 0, sizeof(*stats));
	stats->client = who;
	stats->families = kvpt_addr(families);
	stats->nr_families = KVP_MAX_FAMILIES;
	if (kvpt_do(client, KVP_OP_STATS, stats))
		kvpt_die(__FILE__, __LINE__, "stats: reason %u", stats->head.reason);
}

u64 kvpt_blocks(struct kvp_client *client, u32 family, enum kvp_block_state state)
{
	struct kvp_family_stats families[KVP_MAX_FAMILIES];
	struct kvp_stats stats;

	kvpt_look(client, 0, &stats, families);
	return families[family].state[state];
}

static void kvpt_dump_all(struct kvp_client *client, u32 family, u64 nr,
			  struct kvp_block_entry *entries)
{
	struct kvp_block_dump arg = { };
	u64 done = 0;

	while (done < nr) {
		memset(&arg, 0, sizeof(arg));
		arg.family = family;
		arg.cursor = done;
		arg.entries = kvpt_addr(entries + done);
		arg.nr_entries = min_t(u64, nr - done, KVP_MAX_CALL_BLOCKS);
		if (kvpt_do(client, KVP_OP_BLOCK_DUMP, &arg) || !arg.nr_entries)
			kvpt_die(__FILE__, __LINE__, "dump: reason %u", arg.head.reason);
		done += arg.nr_entries;
	}
}

void kvpt_stats_take(struct kvp_client *client, struct kvpt_stats *stats)
{
	u64 done = 0;
	u32 i;

	memset(stats, 0, sizeof(*stats));
	kvpt_look(client, 0, &stats->pool, stats->pool_families);
	kvpt_look(client, KVP_STATS_SELF, &stats->self, stats->self_families);
	stats->nr_families = stats->pool.nr_families;
	for (i = 0; i < stats->nr_families; i++)
		stats->nr_blocks += stats->pool_families[i].total;
	stats->blocks = calloc(stats->nr_blocks, sizeof(*stats->blocks));
	if (!stats->blocks)
		kvpt_die(__FILE__, __LINE__, "no memory");
	for (i = 0; i < stats->nr_families; i++) {
		kvpt_dump_all(client, i, stats->pool_families[i].total, stats->blocks + done);
		done += stats->pool_families[i].total;
	}
}

void kvpt_stats_drop(struct kvpt_stats *stats)
{
	free(stats->blocks);
	stats->blocks = NULL;
}

#define KVPT_COUNTER(name)	{ #name, offsetof(struct kvp_stats, name) }

/* The u64 counters of struct kvp_stats that a refused call leaves alone. */
static const struct {
	const char *name;
	size_t offset;
} kvpt_counters[] = {
	KVPT_COUNTER(seqs), KVPT_COUNTER(slots), KVPT_COUNTER(raw), KVPT_COUNTER(matches),
	KVPT_COUNTER(metadata_bytes), KVPT_COUNTER(nodes), KVPT_COUNTER(nodes_used),
	KVPT_COUNTER(nodes_published), KVPT_COUNTER(namespaces), KVPT_COUNTER(extras_used),
	KVPT_COUNTER(extras), KVPT_COUNTER(matched_nodes), KVPT_COUNTER(looked_up_nodes),
	KVPT_COUNTER(published_nodes), KVPT_COUNTER(shared_nodes),
	KVPT_COUNTER(reclaimed_nodes), KVPT_COUNTER(reclaimed_blocks),
	KVPT_COUNTER(invalidated), KVPT_COUNTER(copies), KVPT_COUNTER(exports),
	KVPT_COUNTER(backings), KVPT_COUNTER(zombies), KVPT_COUNTER(uses), KVPT_COUNTER(tickets),
	KVPT_COUNTER(tickets_waiting), KVPT_COUNTER(tickets_granted), KVPT_COUNTER(quarantined),
};

static const char *kvpt_counters_diff(const char *whose, const struct kvp_stats *before,
				      const struct kvp_stats *after)
{
	u64 was, is;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kvpt_counters); i++) {
		memcpy(&was, (const char *)before + kvpt_counters[i].offset, sizeof(was));
		memcpy(&is, (const char *)after + kvpt_counters[i].offset, sizeof(is));
		if (was == is)
			continue;
		snprintf(kvpt_text, sizeof(kvpt_text), "%s %s was %llu, is %llu", whose,
			 kvpt_counters[i].name, (unsigned long long)was,
			 (unsigned long long)is);
		return kvpt_text;
	}
	return NULL;
}

static const char *kvpt_families_diff(const char *whose, u32 nr,
				      const struct kvp_family_stats *before,
				      const struct kvp_family_stats *after)
{
	u64 was, is;
	size_t at;
	u32 i;

	for (i = 0; i < nr; i++) {
		for (at = 0; at < sizeof(*before); at += sizeof(u64)) {
			memcpy(&was, (const char *)&before[i] + at, sizeof(was));
			memcpy(&is, (const char *)&after[i] + at, sizeof(is));
			if (was == is)
				continue;
			snprintf(kvpt_text, sizeof(kvpt_text),
				 "%s family %u, word %zu of kvp_family_stats was %llu, is %llu",
				 whose, i, at / sizeof(u64), (unsigned long long)was,
				 (unsigned long long)is);
			return kvpt_text;
		}
	}
	return NULL;
}

static const char *kvpt_blocks_diff(const struct kvpt_stats *before,
				    const struct kvpt_stats *after)
{
	struct kvp_block_entry was, is;
	u64 i;

	for (i = 0; i < before->nr_blocks; i++) {
		was = before->blocks[i];
		is = after->blocks[i];
		was.age_ns = is.age_ns;
		if (!memcmp(&was, &is, sizeof(was)))
			continue;
		snprintf(kvpt_text, sizeof(kvpt_text),
			 "block %llx count %u state %u node %x client %llu is block %llx count %u state %u node %x client %llu",
			 (unsigned long long)was.block, was.count, was.state, was.node,
			 (unsigned long long)was.client, (unsigned long long)is.block,
			 is.count, is.state, is.node, (unsigned long long)is.client);
		return kvpt_text;
	}
	return NULL;
}

const char *kvpt_stats_diff(const struct kvpt_stats *before, const struct kvpt_stats *after)
{
	const char *diff;

	if (before->nr_families != after->nr_families || before->nr_blocks != after->nr_blocks)
		return "different pools";
	diff = kvpt_counters_diff("pool", &before->pool, &after->pool);
	if (!diff)
		diff = kvpt_counters_diff("client", &before->self, &after->self);
	if (!diff)
		diff = kvpt_families_diff("pool", before->nr_families, before->pool_families,
					  after->pool_families);
	if (!diff)
		diff = kvpt_families_diff("client", before->nr_families, before->self_families,
					  after->self_families);
	if (!diff)
		diff = kvpt_blocks_diff(before, after);
	return diff;
}

const char *kvpt_audit_text(struct kvp_client *client)
{
	struct kvp_finding finding = { };
	struct kvp_audit arg = {
		.findings = kvpt_addr(&finding),
		.nr_findings = 1,
	};
	int err = kvpt_do(client, KVP_OP_AUDIT, &arg);

	if (err) {
		snprintf(kvpt_text, sizeof(kvpt_text), "errno %d reason %u", -err,
			 arg.head.reason);
		return kvpt_text;
	}
	if (!arg.total)
		return NULL;
	snprintf(kvpt_text, sizeof(kvpt_text),
		 "%llu findings; kind %u family %d id %llu: found %llu, expected %llu",
		 (unsigned long long)arg.total, finding.kind, (int)finding.family,
		 (unsigned long long)finding.id, (unsigned long long)finding.found,
		 (unsigned long long)finding.expected);
	return kvpt_text;
}

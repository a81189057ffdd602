// SPDX-License-Identifier: MIT
/*
 * A router's mirror, after the rules of DOC: Events in <linux/kvpool.h>.
 */
#include <stdio.h>
#include <stdlib.h>

#include "mirror.h"

#define BATCH	64

static _Thread_local char text[256];

static struct kvp_event *mirror_at(const struct kvpt_mirror *mirror, u64 block)
{
	if (KVP_BLOCK_FAMILY(block) != mirror->family ||
	    KVP_BLOCK_INDEX(block) >= mirror->nr_blocks)
		kvpt_fail("mirror: no block %llx", (unsigned long long)block);
	return &mirror->entry[KVP_BLOCK_INDEX(block)];
}

/* The parent's entry, or NULL if it has none or is missing. */
static const struct kvp_event *mirror_parent(const struct kvpt_mirror *mirror,
					     const struct kvp_event *entry)
{
	const struct kvp_event *parent;

	if (entry->parent == KVP_BLOCK_NULL)
		return NULL;
	parent = mirror_at(mirror, entry->parent);
	return parent->block == entry->parent ? parent : NULL;
}

bool kvpt_mirror_has(const struct kvpt_mirror *mirror, u64 block)
{
	const struct kvp_event *entry = mirror_at(mirror, block);

	if (entry->block != block)
		return false;
	while (entry && entry->depth > 1)
		entry = mirror_parent(mirror, entry);
	return entry;
}

u64 kvpt_mirror_nr(const struct kvpt_mirror *mirror)
{
	u64 nr = 0;
	u64 i;

	for (i = 0; i < mirror->nr_blocks; i++)
		nr += mirror->entry[i].block && kvpt_mirror_has(mirror, mirror->entry[i].block);
	return nr;
}

static void mirror_store(struct kvpt_mirror *mirror, const struct kvp_event *event)
{
	struct kvp_event *entry = mirror_at(mirror, event->block);
	u64 i;

	mirror->nr_stored++;
	if (!mirror->from_dump && entry->block)
		kvpt_fail("event %llu: %llx is stored and not removed, and %llx is stored",
			  (unsigned long long)event->number, (unsigned long long)entry->block,
			  (unsigned long long)event->block);
	if (!mirror->from_dump && event->depth > 1 && !mirror_parent(mirror, event))
		kvpt_fail("event %llu: stored without its parent",
			  (unsigned long long)event->number);
	if ((event->depth == 1) != (event->parent == KVP_BLOCK_NULL) || !event->depth)
		kvpt_fail("event %llu: depth %u and parent %llx",
			  (unsigned long long)event->number, event->depth,
			  (unsigned long long)event->parent);
	for (i = 0; mirror->unique_tags && !mirror->from_dump && i < mirror->nr_blocks; i++) {
		if (mirror->entry[i].block && mirror->entry[i].block != event->block &&
		    mirror->entry[i].tag == event->tag)
			kvpt_fail("event %llu: contents %u are stored twice",
				  (unsigned long long)event->number, event->tag);
	}
	*entry = *event;
}

static bool mirror_below(const struct kvpt_mirror *mirror, const struct kvp_event *entry,
			 u64 top)
{
	while (entry && entry->block != top)
		entry = mirror_parent(mirror, entry);
	return entry;
}

/* All are looked for before the first goes: the way from a child leads through its parents. */
static void mirror_remove_below(struct kvpt_mirror *mirror, u64 top)
{
	bool *below = calloc(mirror->nr_blocks, sizeof(*below));
	u64 i;

	if (!below)
		kvpt_fail("no memory");
	for (i = 0; i < mirror->nr_blocks; i++)
		below[i] = mirror->entry[i].block && mirror_below(mirror, &mirror->entry[i], top);
	for (i = 0; i < mirror->nr_blocks; i++) {
		if (below[i])
			mirror->entry[i].block = KVP_BLOCK_NULL;
	}
	free(below);
}

static void mirror_remove_space(struct kvpt_mirror *mirror, const struct kvp_event *event)
{
	u64 i;

	if (event->node != KVP_NODE_NONE || event->block || event->parent ||
	    !(event->flags & KVP_EVENT_SUBTREE))
		kvpt_fail("event %llu: not of a namespace", (unsigned long long)event->number);
	for (i = 0; i < mirror->nr_blocks; i++) {
		if (!memcmp(mirror->entry[i].space, event->space, KVP_DIGEST_LEN))
			mirror->entry[i].block = KVP_BLOCK_NULL;
	}
}

static void mirror_remove(struct kvpt_mirror *mirror, const struct kvp_event *event)
{
	struct kvp_event *entry;

	mirror->nr_removed++;
	if (!event->depth) {
		mirror_remove_space(mirror, event);
		return;
	}
	entry = mirror_at(mirror, event->block);
	if (entry->block != event->block) {
		if (!mirror->from_dump)
			kvpt_fail("event %llu: %llx is removed and not stored",
				  (unsigned long long)event->number,
				  (unsigned long long)event->block);
		return;
	}
	if (entry->node != event->node || entry->depth != event->depth ||
	    entry->parent != event->parent || entry->tag != event->tag ||
	    memcmp(entry->space, event->space, KVP_DIGEST_LEN))
		kvpt_fail("event %llu: removes something else than was stored",
			  (unsigned long long)event->number);
	if (event->flags & KVP_EVENT_SUBTREE)
		mirror_remove_below(mirror, event->block);
	entry->block = KVP_BLOCK_NULL;
}

static void mirror_apply(struct kvpt_mirror *mirror, const struct kvp_event *event)
{
	if (event->number != mirror->cursor)
		kvpt_fail("event %llu follows event %llu", (unsigned long long)event->number,
			  (unsigned long long)mirror->cursor - 1);
	mirror->cursor++;
	if (event->kind == KVP_EVENT_STORED)
		mirror_store(mirror, event);
	else if (event->kind == KVP_EVENT_REMOVED)
		mirror_remove(mirror, event);
	else if (event->kind != KVP_EVENT_LEFT)
		kvpt_fail("event %llu is of kind %u", (unsigned long long)event->number,
			  event->kind);
}

static void mirror_call(struct kvp_client *client, struct kvp_events *arg)
{
	if (kvpt_do(client, KVP_OP_EVENTS, arg))
		kvpt_fail("events: reason %u", arg->head.reason);
}

void kvpt_mirror_init(struct kvpt_mirror *mirror, struct kvp_client *client, u32 family)
{
	struct kvp_family_desc families[KVP_MAX_FAMILIES];
	struct kvp_pool_info info = {
		.families = (u64)(uintptr_t)families,
		.nr_families = KVP_MAX_FAMILIES,
	};
	struct kvp_events arg = { };

	if (kvpt_do(client, KVP_OP_POOL_INFO, &info))
		kvpt_fail("info: reason %u", info.head.reason);
	memset(mirror, 0, sizeof(*mirror));
	mirror->family = family;
	mirror->nr_blocks = families[family].blocks;
	mirror->entry = calloc(mirror->nr_blocks, sizeof(*mirror->entry));
	if (!mirror->entry)
		kvpt_fail("no memory");
	mirror_call(client, &arg);
	mirror->cursor = arg.cursor;
}

void kvpt_mirror_exit(struct kvpt_mirror *mirror)
{
	free(mirror->entry);
}

void kvpt_mirror_read(struct kvpt_mirror *mirror, struct kvp_client *client)
{
	struct kvp_event events[BATCH];
	struct kvp_events arg;
	u32 i;

	do {
		arg = (struct kvp_events){
			.events = (u64)(uintptr_t)events,
			.nr_events = BATCH,
			.cursor = mirror->cursor,
		};
		mirror_call(client, &arg);
		if (arg.lost) {
			kvpt_mirror_resync(mirror, client);
			arg.pending = 1;
			continue;
		}
		for (i = 0; i < arg.nr_events; i++)
			mirror_apply(mirror, &events[i]);
		if (arg.cursor != mirror->cursor)
			kvpt_fail("cursor is %llu after event %llu",
				  (unsigned long long)arg.cursor,
				  (unsigned long long)mirror->cursor - 1);
	} while (arg.pending);
}

/* What the dump shows of a block, as an event would; false: no node that matches find. */
static bool mirror_shown(const struct kvp_block_entry *entry, struct kvp_event *event)
{
	static const u8 none[KVP_DIGEST_LEN];

	if (entry->node == KVP_NODE_NONE || entry->part ||
	    entry->flags & KVP_ENTRY_INVALIDATED || !memcmp(entry->space, none, sizeof(none)))
		return false;
	*event = (struct kvp_event){
		.kind = KVP_EVENT_STORED,
		.block = entry->block,
		.parent = entry->parent,
		.node = entry->node,
		.depth = entry->depth,
		.tag = entry->tag,
	};
	memcpy(event->space, entry->space, KVP_DIGEST_LEN);
	return true;
}

/* All blocks, to be freed. */
static struct kvp_block_entry *mirror_dump(const struct kvpt_mirror *mirror,
					   struct kvp_client *client)
{
	struct kvp_block_entry *entries = calloc(mirror->nr_blocks, sizeof(*entries));
	struct kvp_block_dump arg = { };

	if (!entries)
		kvpt_fail("no memory");
	while (arg.cursor < mirror->nr_blocks) {
		arg.head.size = 0;
		arg.family = mirror->family;
		arg.entries = (u64)(uintptr_t)(entries + arg.cursor);
		arg.nr_entries = min_t(u64, mirror->nr_blocks - arg.cursor, KVP_MAX_CALL_BLOCKS);
		if (kvpt_do(client, KVP_OP_BLOCK_DUMP, &arg))
			kvpt_fail("dump: reason %u", arg.head.reason);
	}
	return entries;
}

void kvpt_mirror_resync(struct kvpt_mirror *mirror, struct kvp_client *client)
{
	struct kvp_block_entry *entries;
	struct kvp_events arg = { };
	u64 i;

	mirror->from_dump = true;
	mirror->nr_resyncs++;
	memset(mirror->entry, 0, mirror->nr_blocks * sizeof(*mirror->entry));
	/* The cursor first: what happens during the dump is told again. */
	mirror_call(client, &arg);
	mirror->cursor = arg.cursor;
	entries = mirror_dump(mirror, client);
	for (i = 0; i < mirror->nr_blocks; i++)
		mirror_shown(&entries[i], &mirror->entry[i]);
	free(entries);
}

static const char *mirror_entry_diff(const struct kvpt_mirror *mirror, u64 index,
				     const struct kvp_event *shown)
{
	const struct kvp_event *entry = &mirror->entry[index];
	bool has = entry->block && kvpt_mirror_has(mirror, entry->block);

	if (!shown && has)
		snprintf(text, sizeof(text), "block %llx is in the mirror only",
			 (unsigned long long)entry->block);
	else if (shown && !has)
		snprintf(text, sizeof(text), "block %llx is in the pool only",
			 (unsigned long long)shown->block);
	else if (shown && (entry->block != shown->block || entry->parent != shown->parent ||
			   entry->node != shown->node || entry->depth != shown->depth ||
			   entry->tag != shown->tag ||
			   memcmp(entry->space, shown->space, KVP_DIGEST_LEN)))
		snprintf(text, sizeof(text), "block %llx is another in the mirror",
			 (unsigned long long)shown->block);
	else
		return NULL;
	return text;
}

const char *kvpt_mirror_diff(const struct kvpt_mirror *mirror, struct kvp_client *client)
{
	struct kvp_block_entry *entries = mirror_dump(mirror, client);
	const char *diff = NULL;
	struct kvp_event shown;
	u64 i;

	for (i = 0; i < mirror->nr_blocks && !diff; i++)
		diff = mirror_entry_diff(mirror, i,
					 mirror_shown(&entries[i], &shown) ? &shown : NULL);
	free(entries);
	return diff;
}

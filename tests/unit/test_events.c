// SPDX-License-Identifier: MIT
/*
 * KVP_OP_EVENTS: each event and its fields, what is not told, that contents are stored and
 * removed in turn, cursors, who fell behind, and each refusal. Mirrors are in
 * test_events_mirror.c.
 */
#include <check.h>
#include <pthread.h>

#include "unit.h"

#define NODE	4

static struct kvpt_env env;
static struct kvp_client *a, *b;
static u32 tok[64], other[64];
static u64 cursor;
static struct kvp_event events[4096];

static void make(const struct kvp_family_desc *families, u32 nr)
{
	kvpt_env_init(&env);
	a = kvpt_pool(&env, families, nr);
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	kvpt_tokens(tok, 64, 1);
	kvpt_tokens(other, 64, 2);
	cursor = 0;
}

static void setup(void)
{
	make((struct kvp_family_desc[]){ KVPT_DENSE(16, NODE) }, 1);
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

static void remake(const struct kvp_family_desc *families, u32 nr)
{
	kvpt_env_exit(&env);
	make(families, nr);
}

/* All that has happened since the last call, which is exactly @nr events. */
static void expect_events(u32 nr)
{
	kvpt_ok(kvpt_events(a, cursor, events, ARRAY_SIZE(events)));
	ck_assert_uint_eq(kvpt.events.nr_events, nr);
	ck_assert_uint_eq(kvpt.events.lost, 0);
	ck_assert_uint_eq(kvpt.events.pending, 0);
	cursor = kvpt.events.cursor;
}

/* Begin to follow them. */
static void follow(void)
{
	cursor = 0;
	expect_events(0);
}

static void expect_event(u32 i, u32 kind, u32 flags, u64 block, u64 parent, u32 depth)
{
	ck_assert_uint_eq(events[i].kind, kind);
	ck_assert_uint_eq(events[i].flags, flags);
	ck_assert_uint_eq(events[i].block, block);
	ck_assert_uint_eq(events[i].parent, parent);
	ck_assert_uint_eq(events[i].depth, depth);
}

/* The @nr blocks of what is published of these tokens in namespace 1, one a node. */
static void blocks_of(const u32 *tokens, u32 nr, u64 *blocks)
{
	kvpt_ok(kvpt_match_blocks(a, 1, tokens, nr * NODE, 0, blocks, nr, NULL));
	ck_assert_uint_eq(kvpt.match.nr_blocks, nr);
}

/* ---- what is told --------------------------------------------------------------- */

START_TEST(test_stored)
{
	u8 space[KVP_DIGEST_LEN];
	u64 blocks[3], seq;
	u32 i;

	follow();
	kvpt_digest(1, space);
	seq = kvpt_computed(b, 1, tok, 14);
	expect_events(0);
	kvpt_ok(kvpt_publish_with(b, seq, 0, 0, 77));
	expect_events(3);
	blocks_of(tok, 3, blocks);
	for (i = 0; i < 3; i++) {
		expect_event(i, KVP_EVENT_STORED, 0, blocks[i], i ? blocks[i - 1] : 0, i + 1);
		ck_assert_uint_eq(events[i].number, 1 + i);
		ck_assert_uint_eq(events[i].node, kvpt_entry(a, blocks[i]).node);
		ck_assert_uint_eq(events[i].tokens, NODE);
		ck_assert_uint_eq(events[i].tag, 77);
		ck_assert_mem_eq(events[i].space, space, KVP_DIGEST_LEN);
	}
	/* Nothing more for those who find it, hold it or let it go. */
	kvpt_ok(kvpt_publish(b, seq));
	kvpt_ok(kvpt_free(b, seq));
	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	expect_events(0);
}
END_TEST

START_TEST(test_removed_by_reclaim)
{
	u64 blocks[3];
	u32 i;

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	follow();
	blocks_of(tok, 3, blocks);
	for (i = 3; i--;) {
		const struct kvp_block_entry entry = kvpt_entry(a, blocks[i]);

		kvpt_ok(kvpt_reclaim(a, 1));
		expect_events(1);
		expect_event(0, KVP_EVENT_REMOVED, 0, blocks[i], i ? blocks[i - 1] : 0, i + 1);
		ck_assert_uint_eq(events[0].node, entry.node);
		ck_assert_mem_eq(events[0].space, entry.space, KVP_DIGEST_LEN);
	}
}
END_TEST

START_TEST(test_removed_by_those_who_need_room)
{
	u64 blocks[4], seq;

	kvpt_ok(kvpt_make_published(a, 1, tok, 16));
	follow();
	blocks_of(tok, 4, blocks);
	/* The whole prefix goes in one reclaim: every namespace is told, also the last. */
	kvpt_ok(kvpt_create(b, 2, other, 64, &seq));
	expect_events(4);
	expect_event(0, KVP_EVENT_REMOVED, 0, blocks[0], 0, 1);
	expect_event(3, KVP_EVENT_REMOVED, 0, blocks[3], blocks[2], 4);
	ck_assert_uint_eq(events[3].space[0], 1);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).namespaces, 1);
}
END_TEST

START_TEST(test_contents_are_removed_when_the_last_copy_goes)
{
	u64 one, two;

	follow();
	one = kvpt_published(a, 1, tok, 8);
	kvpt_ok(kvpt_create_flags(b, KVP_SEQ_NO_MATCH, 1, tok, 8, &two));
	kvpt_ok(kvpt_advance(b, two, 8));
	/* Its blocks stay its own: a copy that nobody else finds. */
	kvpt_ok(kvpt_publish_with(b, two, KVP_PUBLISH_KEEP, 0, 0));
	ck_assert_uint_eq(kvpt.publish.nr_shared, 2);
	expect_events(2);
	kvpt_ok(kvpt_free(b, two));
	kvpt_ok(kvpt_reclaim(a, 100));
	expect_events(0);
	kvpt_ok(kvpt_free(a, one));
	expect_events(0);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
	kvpt_ok(kvpt_reclaim(a, 100));
	expect_events(2);
	ck_assert_uint_eq(events[0].kind, KVP_EVENT_REMOVED);
	ck_assert_uint_eq(events[1].kind, KVP_EVENT_REMOVED);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 0);
}
END_TEST

/* ---- invalidation ----------------------------------------------------------------- */

START_TEST(test_subtree_is_told_once)
{
	u64 blocks[4], seq;

	memcpy(other, tok, 8 * sizeof(*tok));
	kvpt_ok(kvpt_make_published(a, 1, tok, 16));
	kvpt_ok(kvpt_make_published(a, 1, other, 16));
	seq = kvpt_published(b, 1, tok, 16);
	follow();
	blocks_of(tok, 4, blocks);
	kvpt_ok(kvpt_invalidate_prefix(a, 1, tok, 8));
	expect_events(1);
	expect_event(0, KVP_EVENT_REMOVED, KVP_EVENT_SUBTREE, blocks[1], blocks[0], 2);
	kvpt_audit_clean(a);
	/* What is published below it is not told, what takes its place is. */
	kvpt_ok(kvpt_append(b, seq, tok + 16, 4));
	kvpt_ok(kvpt_advance(b, seq, 20));
	kvpt_ok(kvpt_publish(b, seq));
	ck_assert_uint_eq(kvpt.publish.nr_new, 1);
	kvpt_audit_clean(a);
	expect_events(0);
	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	expect_events(2);
	ck_assert_uint_eq(events[0].depth, 2);
	ck_assert_uint_eq(events[0].parent, blocks[0]);
	ck_assert_uint_ne(events[0].block, blocks[1]);
	kvpt_ok(kvpt_free(b, seq));
	kvpt_ok(kvpt_reclaim(a, 6));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 6);
	expect_events(0);
	kvpt_ok(kvpt_reclaim(a, 6));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 3);
	expect_events(3);
}
END_TEST

START_TEST(test_namespace_is_told_once)
{
	u8 space[KVP_DIGEST_LEN];

	kvpt_digest(1, space);
	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_ok(kvpt_make_published(a, 2, tok, 8));
	follow();
	kvpt_ok(kvpt_invalidate_space(a, 1));
	expect_events(1);
	expect_event(0, KVP_EVENT_REMOVED, KVP_EVENT_SUBTREE, 0, 0, 0);
	ck_assert_uint_eq(events[0].node, KVP_NODE_NONE);
	ck_assert_uint_eq(events[0].tokens, 0);
	ck_assert_mem_eq(events[0].space, space, KVP_DIGEST_LEN);
	kvpt_ok(kvpt_reclaim(a, 3));
	expect_events(0);
	/* One without nodes, and one that is not there. */
	kvpt_ok(kvpt_create(a, 3, tok, 2, &cursor));
	follow();
	kvpt_ok(kvpt_invalidate_space(a, 3));
	ck_assert_uint_eq(kvpt.invalidate.nr_subtrees, 1);
	kvpt_ok(kvpt_invalidate_space(a, 1));
	expect_events(0);
}
END_TEST

/*
 * Invalidate the tag that two nodes have, at @depth and below it. The lower one went with the
 * upper one, unless it was met before.
 */
static void invalidate_two(u32 tag, const u64 *upper, u32 depth)
{
	u32 nr;

	kvpt_ok(kvpt_invalidate_tag(a, tag));
	ck_assert_uint_eq(kvpt.invalidate.nr_subtrees, 2);
	kvpt_ok(kvpt_events(a, cursor, events, 8));
	nr = kvpt.events.nr_events;
	ck_assert(nr == 1 || nr == 2);
	expect_event(nr - 1, KVP_EVENT_REMOVED, KVP_EVENT_SUBTREE, upper[0],
		     depth > 1 ? upper[-1] : 0, depth);
	if (nr == 2)
		expect_event(0, KVP_EVENT_REMOVED, KVP_EVENT_SUBTREE, upper[1], upper[0],
			     depth + 1);
	cursor = kvpt.events.cursor;
}

START_TEST(test_tagged_nodes_are_told_each)
{
	u64 seq = kvpt_computed(b, 1, tok, 16);
	u64 blocks[4];

	kvpt_ok(kvpt_publish_with(b, seq, 0, 8, 5));
	kvpt_ok(kvpt_publish_with(b, seq, 0, 16, 6));
	follow();
	blocks_of(tok, 4, blocks);
	invalidate_two(6, blocks + 2, 3);
	invalidate_two(5, blocks, 1);
	/* In what is dead nothing is told. */
	kvpt_ok(kvpt_invalidate_tag(a, 6));
	kvpt_ok(kvpt_invalidate_space(a, 1));
	kvpt_ok(kvpt_free(b, seq));
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 4);
	expect_events(0);
}
END_TEST

START_TEST(test_nothing_of_what_was_invalidated_before)
{
	u64 seq = kvpt_published(b, 1, tok, 8);
	u64 second = kvpt_published(b, 2, tok, 8);

	kvpt_ok(kvpt_invalidate_prefix(a, 1, tok, 4));
	kvpt_ok(kvpt_invalidate_space(a, 2));
	follow();
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_append(b, seq, tok + 8, 8));
	kvpt_ok(kvpt_advance(b, seq, 16));
	kvpt_ok(kvpt_publish(b, seq));
	ck_assert_uint_eq(kvpt.publish.nr_new, 2);
	expect_events(0);
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_free(b, seq));
	kvpt_ok(kvpt_free(b, second));
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 6);
	expect_events(0);
}
END_TEST

/* ---- a reclaim that fails, or is overtaken ------------------------------------------- */

START_TEST(test_failed_reclaim_tells_nothing)
{
	u64 match, seq;

	kvpt_ok(kvpt_make_published(a, 1, tok, 32));
	kvpt_ok(kvpt_make_published(a, 1, other, 32));
	/* 16 are idle, of which 8 are covered by a reference. */
	kvpt_ok(kvpt_match(a, 1, tok, 32, &match));
	follow();
	kvpt_refused(&env, a, kvpt_create(b, 2, tok, 36, &seq), -ENOSPC, KVP_REASON_COVERED, 0);
	expect_events(0);
	kvpt_ok(kvpt_create(b, 2, tok, 32, &seq));
	expect_events(8);
	kvpt_ok(kvpt_release(a, match));
}
END_TEST

/* Take the node of @block off the tree, as a reclaim does. */
static u32 unlink_by_hand(u64 block)
{
	struct kvp_pool *pool = kvpt_pool_of(a);
	u32 index = kvpt_entry(a, block).node;

	spin_lock(&pool->lock);
	kvp_lru_del_locked(pool, index);
	kvp_index_unlink_locked(pool, index);
	kvp_event_unlinked_locked(pool, index);
	pool->nodes[index].next = KVP_NIL;
	spin_unlock(&pool->lock);
	return index;
}

/* Put it back; false if its place is taken. */
static bool relink_by_hand(u32 index)
{
	struct kvp_pool *pool = kvpt_pool_of(a);
	bool back;

	spin_lock(&pool->lock);
	back = kvp_index_relink_locked(pool, index);
	if (back) {
		kvp_event_relinked_locked(pool, index);
		kvp_lru_add_oldest_locked(pool, index);
	}
	spin_unlock(&pool->lock);
	return back;
}

/* Its end, as of a victim: the pool has one block a node. */
static void end_by_hand(u32 index)
{
	struct kvp_pool *pool = kvpt_pool_of(a);
	struct kvp_family *family = &pool->family[0];
	u32 block = *kvp_node_parts(pool, index);

	spin_lock(&pool->lock);
	kvp_event_removed_sliced(pool, index);
	family->blocks[block].node = KVP_NIL;
	--*family->published;
	ck_assert(kvp_block_recycle_locked(family, block));
	kvp_block_to_free_locked(family, block);
	kvp_node_to_free_locked(pool, index);
	spin_unlock(&pool->lock);
}

START_TEST(test_victim_that_comes_back)
{
	u64 blocks[2];
	u32 victim;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	follow();
	blocks_of(tok, 2, blocks);
	victim = unlink_by_hand(blocks[1]);
	/* It may come back, so that a dump still shows it to who makes a mirror. */
	ck_assert_uint_eq(kvpt_entry(a, blocks[1]).space[0], 1);
	ck_assert(relink_by_hand(victim));
	kvpt_audit_clean(a);
	expect_events(0);
	kvpt_ok(kvpt_reclaim(a, 100));
	expect_events(2);
}
END_TEST

START_TEST(test_victim_whose_contents_are_published_again)
{
	u64 blocks[2], again[2];
	u32 victim;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	follow();
	blocks_of(tok, 2, blocks);
	victim = unlink_by_hand(blocks[1]);
	/* Other contents do not concern it. */
	kvpt_ok(kvpt_make_published(b, 1, other, 4));
	expect_events(1);
	kvpt_ok(kvpt_make_published(b, 1, tok, 8));
	blocks_of(tok, 2, again);
	ck_assert_uint_ne(again[1], blocks[1]);
	expect_events(2);
	expect_event(0, KVP_EVENT_REMOVED, 0, blocks[1], blocks[0], 2);
	expect_event(1, KVP_EVENT_STORED, 0, again[1], blocks[0], 2);
	ck_assert_uint_eq(kvpt_entry(a, blocks[1]).space[0], 0);
	/* Whether the reclaim goes through or not: it is gone, and told. */
	ck_assert(!relink_by_hand(victim));
	end_by_hand(victim);
	kvpt_audit_clean(a);
	expect_events(0);
	kvpt_ok(kvpt_reclaim(a, 100));
	expect_events(3);
}
END_TEST

START_TEST(test_victim_that_was_told_and_comes_back)
{
	u64 blocks[2], twins[2];
	u32 victim, twin;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	follow();
	blocks_of(tok, 2, blocks);
	victim = unlink_by_hand(blocks[1]);
	kvpt_ok(kvpt_make_published(b, 1, tok, 8));
	blocks_of(tok, 2, twins);
	expect_events(2);
	/* The same reclaim takes that too, and fails: last taken first back. */
	twin = unlink_by_hand(twins[1]);
	ck_assert(relink_by_hand(twin));
	ck_assert(!relink_by_hand(victim));
	expect_events(0);
	/* Were the order another, the twin would be told first. */
	unlink_by_hand(twins[1]);
	ck_assert(relink_by_hand(victim));
	ck_assert(!relink_by_hand(twin));
	end_by_hand(twin);
	expect_events(2);
	expect_event(0, KVP_EVENT_REMOVED, 0, twins[1], blocks[0], 2);
	expect_event(1, KVP_EVENT_STORED, 0, blocks[1], blocks[0], 2);
	kvpt_audit_clean(a);
}
END_TEST

/* ---- others come in between the slices of a long call ------------------------------------ */

#define MANY	300		/* nodes: more than one hold of the lock touches */

static u64 late[8];			/* sequences that are published then, one a time */
static u64 before[8];			/* blocks of equal contents, if there were any */
static u32 nr_late;

static void *publish_late(void *arg)
{
	kvpt_ok(kvpt_publish(b, late[nr_late++]));
	return NULL;
}

static void publish_in_between(void)
{
	pthread_t thread;

	if (nr_late == ARRAY_SIZE(late) || !late[nr_late])
		return;
	ck_assert_int_eq(pthread_create(&thread, NULL, publish_late, NULL), 0);
	pthread_join(thread, NULL);
}

/*
 * Publish MANY nodes that follow nothing, their ids being their number; follow the events; from
 * then on the late sequences come, which have the ids @first and so on.
 */
static void begin_late(u32 first)
{
	u32 ids[NODE] = { 0 };
	u32 i;

	remake((struct kvp_family_desc[]){ KVPT_DENSE(MANY + 16, NODE) }, 1);
	for (i = 0; i < MANY; i++) {
		ids[0] = i;
		kvpt_ok(kvpt_make_published(a, 1, ids, NODE));
	}
	memset(late, 0, sizeof(late));
	for (i = 0; i < ARRAY_SIZE(late); i++) {
		ids[0] = first + i;
		kvpt_ok(kvpt_match_blocks(a, 1, ids, NODE, 0, &before[i], 1, NULL));
		kvpt_ok(kvpt_create_flags(b, KVP_SEQ_NO_MATCH, 1, ids, NODE, &late[i]));
		kvpt_ok(kvpt_advance(b, late[i], NODE));
	}
	follow();
	nr_late = 0;
	kvp_shim_on_resched = publish_in_between;
}

static void end_late(void)
{
	kvp_shim_on_resched = NULL;
	/* It would be no test if none had come in between. */
	ck_assert_uint_gt(nr_late, 0);
	kvpt_audit_clean(a);
}

/* All late ones are stored, each after what was there before was removed. */
static void expect_one_after_the_other(u32 nr)
{
	u32 stored = 0;
	u32 i, j;

	for (i = 0; i < nr; i++) {
		if (events[i].kind != KVP_EVENT_STORED)
			continue;
		for (j = 0; j < i && events[j].block != before[stored]; j++)
			;
		ck_assert_uint_lt(j, i);
		ck_assert_uint_eq(events[j].kind, KVP_EVENT_REMOVED);
		stored++;
	}
	ck_assert_uint_eq(stored, nr_late);
}

START_TEST(test_reclaim_is_overtaken)
{
	begin_late(0);
	/* The victims are taken from the oldest on: the first ones are published again. */
	kvpt_ok(kvpt_reclaim(a, MANY));
	ck_assert_uint_eq(kvpt.reclaim.nodes, MANY);
	end_late();
	expect_events(MANY + nr_late);
	expect_one_after_the_other(MANY + nr_late);
}
END_TEST

START_TEST(test_failed_reclaim_is_overtaken)
{
	const struct kvp_seq_create with = { .reserve = MANY * NODE };
	u32 ids[NODE] = { MANY - 1 };
	u64 seq, match, raw[8];

	begin_late(0);
	kvpt_ok(kvpt_alloc(a, 0, 8, raw));
	/* All blocks of the many are idle, but one is referenced. */
	kvpt_ok(kvpt_match(a, 1, ids, NODE, &match));
	kvpt_expect(kvpt_create_with(b, &with, 2, NULL, 0, &seq), -ENOSPC, KVP_REASON_COVERED);
	end_late();
	/* Nothing of those that came back; those whose place was taken are gone. */
	expect_events(2 * nr_late);
	expect_one_after_the_other(2 * nr_late);
	kvpt_ok(kvpt_release(a, match));
	kvpt_ok(kvpt_reclaim(a, ~0ULL));
	expect_events(MANY - nr_late);
}
END_TEST

START_TEST(test_publishing_into_a_namespace_that_is_being_cut_off)
{
	begin_late(MANY);
	kvpt_ok(kvpt_invalidate_space(a, 1));
	end_late();
	/* What came in between is not told, or gone with the rest. */
	kvpt_ok(kvpt_events(a, cursor, events, ARRAY_SIZE(events)));
	ck_assert_uint_ge(kvpt.events.nr_events, 1);
	expect_event(kvpt.events.nr_events - 1, KVP_EVENT_REMOVED, KVP_EVENT_SUBTREE, 0, 0, 0);
	cursor = kvpt.events.cursor;
	while (nr_late)
		kvpt_ok(kvpt_free(b, late[--nr_late]));
	kvpt_ok(kvpt_reclaim(a, ~0ULL));
	expect_events(0);
}
END_TEST

/* ---- several families ------------------------------------------------------------------ */

START_TEST(test_block_of_the_first_dense_family)
{
	static const struct kvp_family_desc families[] = {
		KVPT_WINDOW(16, 2, 6), KVPT_DENSE(32, 2), KVPT_DENSE(16, 4),
	};
	struct kvp_block_entry entry;
	u64 blocks[8], seq;

	remake(families, 3);
	follow();
	seq = kvpt_published(b, 1, tok, 16);
	expect_events(4);
	kvpt_expect_table(b, seq, 1, blocks, 8);
	/* The first of the node's two. */
	expect_event(0, KVP_EVENT_STORED, 0, blocks[0], 0, 1);
	expect_event(3, KVP_EVENT_STORED, 0, blocks[6], blocks[4], 4);
	entry = kvpt_entry(a, blocks[6]);
	ck_assert_uint_eq(entry.part, 0);
	ck_assert_uint_eq(entry.parent, blocks[4]);
	entry = kvpt_entry(a, blocks[7]);
	ck_assert_uint_eq(entry.part, 1);
	ck_assert_uint_eq(entry.parent, blocks[4]);
}
END_TEST

START_TEST(test_block_of_a_window_without_a_dense_family)
{
	u64 seq;

	remake((struct kvp_family_desc[]){ KVPT_STATE(4), KVPT_WINDOW(16, 4, 5) }, 2);
	follow();
	seq = kvpt_published(b, 1, tok, 16);
	expect_events(4);
	/* Only the last block is still there. */
	expect_event(0, KVP_EVENT_STORED, 0, 0, 0, 1);
	expect_event(2, KVP_EVENT_STORED, 0, 0, 0, 3);
	ck_assert_uint_eq(KVP_BLOCK_FAMILY(events[3].block), 1);
	kvpt_ok(kvpt_free(b, seq));
	kvpt_ok(kvpt_reclaim(a, 100));
	expect_events(4);
	/* No block at all: nodes are known by their index. */
	remake((struct kvp_family_desc[]){ KVPT_STATE(4) }, 1);
	follow();
	seq = kvpt_published(b, 1, tok, 3);
	expect_events(3);
	expect_event(2, KVP_EVENT_STORED, 0, 0, 0, 3);
	ck_assert_uint_ne(events[0].node, events[1].node);
	kvpt_ok(kvpt_free(b, seq));
	kvpt_ok(kvpt_reclaim(a, 100));
	expect_events(3);
}
END_TEST

/* ---- cursors --------------------------------------------------------------------------- */

START_TEST(test_nothing_is_noted_before_the_first_call)
{
	ck_assert_ptr_null(kvpt_pool_of(a)->events);
	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_ok(kvpt_events(b, 0, NULL, 0));
	ck_assert_uint_eq(kvpt.events.cursor, 1);
	ck_assert_uint_eq(kvpt.events.pending, 0);
	ck_assert_uint_eq(kvpt.events.lost, 0);
	kvpt_ok(kvpt_make_published(a, 1, other, 12));
	/* Another reader begins now, and one who knows a number can begin there. */
	kvpt_ok(kvpt_events(a, 0, events, 8));
	ck_assert_uint_eq(kvpt.events.nr_events, 0);
	ck_assert_uint_eq(kvpt.events.cursor, 4);
	kvpt_ok(kvpt_events(a, 2, events, 1));
	ck_assert_uint_eq(kvpt.events.nr_events, 1);
	ck_assert_uint_eq(events[0].number, 2);
	ck_assert_uint_eq(kvpt.events.cursor, 3);
	ck_assert_uint_eq(kvpt.events.pending, 1);
	kvpt_ok(kvpt_events(b, 1, events, 8));
	ck_assert_uint_eq(kvpt.events.nr_events, 3);
}
END_TEST

START_TEST(test_reader_that_fell_behind)
{
	struct kvp_pool_info info = { };
	u32 i;

	follow();
	ck_assert_int_eq(kvpt_do(a, KVP_OP_POOL_INFO, &info), 0);
	ck_assert_uint_le(info.nodes, 1024);
	/* 1,024 events are kept: two a round. */
	for (i = 0; i < 512; i++) {
		kvpt_ok(kvpt_make_published(a, 1, tok, 4));
		kvpt_ok(kvpt_reclaim(a, 1));
	}
	kvpt_ok(kvpt_events(a, 1, events, 1));
	ck_assert_uint_eq(kvpt.events.lost, 0);
	ck_assert_uint_eq(events[0].number, 1);
	for (i = 0; i < 3; i++)
		kvpt_ok(kvpt_make_published(a, 2 + i, tok, 4));
	kvpt_ok(kvpt_events(a, 2, events, ARRAY_SIZE(events)));
	ck_assert_uint_eq(kvpt.events.lost, 2);
	ck_assert_uint_eq(kvpt.events.nr_events, 1024);
	ck_assert_uint_eq(events[0].number, 4);
	ck_assert_uint_eq(events[1023].number, 1027);
	ck_assert_uint_eq(events[1023].kind, KVP_EVENT_STORED);
	ck_assert_uint_eq(kvpt.events.cursor, 1028);
	ck_assert_uint_eq(kvpt.events.pending, 0);
	/* Also when it takes nothing. */
	kvpt_ok(kvpt_events(a, 1, NULL, 0));
	ck_assert_uint_eq(kvpt.events.lost, 3);
	ck_assert_uint_eq(kvpt.events.cursor, 4);
	ck_assert_uint_eq(kvpt.events.pending, 1024);
}
END_TEST

START_TEST(test_refused)
{
	struct kvp_client *nobody = kvpt_join(&env, 1002, KVP_RIGHT_USE);
	struct kvp_events arg = { .reserved = 1 };

	follow();
	kvpt_refused(&env, a, kvpt_events(a, 2, events, 8), -EINVAL, KVP_REASON_VALUE,
		     kvpt_at(struct kvp_events, cursor));
	kvpt_refused(&env, a, kvpt_events(a, ~0ULL, events, 8), -EINVAL, KVP_REASON_VALUE,
		     kvpt_at(struct kvp_events, cursor));
	kvpt_refused(&env, a, kvpt_events(a, 1, events, KVP_MAX_CALL_BLOCKS + 1), -EOVERFLOW,
		     KVP_REASON_COUNT, kvpt_at(struct kvp_events, nr_events));
	kvpt_refused(&env, a, kvpt_events(a, 1, NULL, 1), -EFAULT, KVP_REASON_POINTER,
		     kvpt_at(struct kvp_events, events));
	ck_assert_int_eq(kvpt_do(a, KVP_OP_EVENTS, &arg), -EINVAL);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_RESERVED);
	arg = (struct kvp_events){ .head.flags = 1 };
	ck_assert_int_eq(kvpt_do(a, KVP_OP_EVENTS, &arg), -EINVAL);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_FLAG);
	/* The right to use is enough. */
	kvpt_ok(kvpt_events(nobody, 1, events, 8));
}
END_TEST

START_TEST(test_no_memory_for_events)
{
	u32 nth;
	int err;

	for (nth = 1; nth < 20; nth++) {
		kvp_shim_fail_alloc = nth;
		err = kvpt_events(a, 0, NULL, 0);
		kvp_shim_fail_alloc = 0;
		if (!err)
			break;
		ck_assert_int_eq(err, -ENOMEM);
		ck_assert_uint_eq(kvpt.head.reason, KVP_REASON_MEMORY);
		ck_assert_ptr_null(kvpt_pool_of(a)->events);
	}
	ck_assert_uint_eq(nth, 5);
	kvpt_ok(kvpt_make_published(a, 1, tok, 4));
	kvpt_ok(kvpt_events(a, 1, events, 8));
	ck_assert_uint_eq(kvpt.events.nr_events, 1);
}
END_TEST

START_TEST(test_audit_finds_a_wrong_note)
{
	struct kvp_pool *pool = kvpt_pool_of(a);
	struct kvp_event_log *log;
	u64 block;

	kvpt_ok(kvpt_make_published(a, 1, tok, 4));
	follow();
	blocks_of(tok, 1, &block);
	/* A log that was made before anything was published has no note of it. */
	log = pool->events;
	pool->events = NULL;
	kvpt_ok(kvpt_make_published(a, 1, other, 4));
	pool->events = log;
	ck_assert_ptr_nonnull(kvpt_audit_text(a));
	kvpt_ok(kvpt_audit(a, NULL, 0));
	ck_assert_uint_eq(kvpt.audit.total, 1);
	pool->events = NULL;
	kvpt_ok(kvpt_reclaim(a, 100));
	pool->events = log;
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("events");
	TCase *told = tcase_create("told");
	TCase *cursors = tcase_create("cursors");

	tcase_add_checked_fixture(told, setup, teardown);
	tcase_add_test(told, test_stored);
	tcase_add_test(told, test_removed_by_reclaim);
	tcase_add_test(told, test_removed_by_those_who_need_room);
	tcase_add_test(told, test_contents_are_removed_when_the_last_copy_goes);
	tcase_add_test(told, test_subtree_is_told_once);
	tcase_add_test(told, test_namespace_is_told_once);
	tcase_add_test(told, test_tagged_nodes_are_told_each);
	tcase_add_test(told, test_nothing_of_what_was_invalidated_before);
	tcase_add_test(told, test_failed_reclaim_tells_nothing);
	tcase_add_test(told, test_victim_that_comes_back);
	tcase_add_test(told, test_victim_whose_contents_are_published_again);
	tcase_add_test(told, test_victim_that_was_told_and_comes_back);
	tcase_add_test(told, test_reclaim_is_overtaken);
	tcase_add_test(told, test_failed_reclaim_is_overtaken);
	tcase_add_test(told, test_publishing_into_a_namespace_that_is_being_cut_off);
	tcase_add_test(told, test_block_of_the_first_dense_family);
	tcase_add_test(told, test_block_of_a_window_without_a_dense_family);
	suite_add_tcase(s, told);

	tcase_add_checked_fixture(cursors, setup, teardown);
	tcase_add_test(cursors, test_nothing_is_noted_before_the_first_call);
	tcase_add_test(cursors, test_reader_that_fell_behind);
	tcase_add_test(cursors, test_refused);
	tcase_add_test(cursors, test_no_memory_for_events);
	tcase_add_test(cursors, test_audit_finds_a_wrong_note);
	suite_add_tcase(s, cursors);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

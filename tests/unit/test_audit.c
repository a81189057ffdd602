// SPDX-License-Identifier: MIT
/*
 * KVP_OP_AUDIT: each kind of damage is planted into the structures of a busy, sound pool, and
 * the audit must find it, and nothing else.
 */
#include <check.h>
#include <stdlib.h>

#include "audit.h"
#include "plants.h"
#include "unit.h"

#define B_UID	1001

static struct kvpt_env env;
static struct kvp_client *a, *b;
static struct kvp_pool *pool;
static u32 tok[64], other[64];

/* What populate() made. */
static u64 running, forked, filled, held_match, raw[3];
static u32 idle_leaf, idle_inner, cut_top, shared_node, private_full, extra_node;

static u32 path_node(u32 space, const u32 *tokens, u32 nr)
{
	u64 blocks[16];

	kvpt_ok(kvpt_match_blocks(a, space, tokens, nr, 0, blocks, nr / 4, NULL));
	ck_assert_uint_eq(kvpt.match.matched, nr);
	return kvpt_block_of(a, blocks[nr / 4 - 1])->node;
}

static void publish_with_extra(void)
{
	struct kvp_extra extra = kvpt_extra(0, 9);
	struct kvp_seq_create with = {
		.extras = (u64)(uintptr_t)&extra,
		.nr_extras = 1,
	};
	u64 seq;

	kvpt_ok(kvpt_create_with(b, &with, 4, tok, 4, &seq));
	kvpt_ok(kvpt_advance(b, seq, 4));
	kvpt_ok(kvpt_publish(b, seq));
	extra_node = kvpt_seq_of(b, seq)->runs.at[0];
}

/*
 * a: a running sequence whose published prefix others share and whose window has moved; a
 * fork of it that owes a copy; idle nodes; a subtree that was cut off; raw blocks, one of
 * them held twice. b: a match; a sequence with a full private node; one with an extra digest.
 */
static void populate(void)
{
	kvpt_ok(kvpt_create(a, 1, tok, 14, &running));
	kvpt_ok(kvpt_advance(a, running, 14));
	kvpt_ok(kvpt_publish(a, running));
	kvpt_ok(kvpt_reserve(a, running, 2));
	kvpt_ok(kvpt_fork(a, running, KVP_POS_END, &forked));
	ck_assert_uint_gt(kvpt.fork.nr_copies, 0);
	shared_node = kvpt_seq_of(a, running)->runs.at[2];

	kvpt_ok(kvpt_make_published(a, 2, tok, 8));
	idle_inner = path_node(2, tok, 4);
	idle_leaf = path_node(2, tok, 8);
	kvpt_ok(kvpt_match(b, 2, tok, 4, &held_match));

	kvpt_ok(kvpt_make_published(a, 3, tok, 8));
	cut_top = path_node(3, tok, 4);
	kvpt_ok(kvpt_invalidate_prefix(a, 3, tok, 4));

	kvpt_ok(kvpt_create(b, 1, other, 6, &filled));
	private_full = kvpt_seq_of(b, filled)->runs.at[0];
	publish_with_extra();
	kvpt_ok(kvpt_alloc(a, 0, 3, raw));
	kvpt_ok(kvpt_ref(a, &raw[1], 1));
}

static void setup(void)
{
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(32, 4),
		      KVPT_WINDOW(32, 4, 6) }, 2);
	b = kvpt_join(&env, B_UID, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	pool = kvpt_pool_of(a);
	kvpt_tokens(tok, 64, 1);
	kvpt_tokens(other, 64, 2);
	populate();
	kvpt_audit_clean(a);
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

/* ---- planting -------------------------------------------------------------------- */

static struct kvp_family *family(u32 index)
{
	return &pool->family[index];
}

static struct kvp_seq *seq_of(u64 id)
{
	return kvpt_seq_of(a, id);
}

static u32 part(u32 node)
{
	return kvp_node_parts(pool, node)[0];
}

/* ---- nothing to find ---- */

START_TEST(test_a_sound_pool)
{
	kvpt_ok(kvpt_audit(a, NULL, 0));
	ck_assert_uint_eq(kvpt.audit.total, 0);
	ck_assert_uint_eq(kvpt.audit.nr_findings, 0);
	ck_assert_uint_eq(kvpt.audit.checked_blocks, 64);
	ck_assert_uint_eq(kvpt.audit.checked_nodes, pool->nr_nodes);
}
END_TEST

START_TEST(test_more_findings_than_room)
{
	struct kvp_family *f = family(0);

	memset(found, 0, sizeof(found));
	ck_assert_int_eq(kvpt_while_set(f->free, KVP_NIL, kvpt_audit(a, found, 2)), 0);
	ck_assert_uint_eq(kvpt.audit.total, f->nr[KVP_BLOCK_FREE]);
	ck_assert_uint_eq(kvpt.audit.nr_findings, 2);
	ck_assert_uint_eq(found[1].kind, KVP_FINDING_LIST);
	ck_assert_uint_eq(found[2].kind, 0);
	ck_assert_int_eq(kvpt_while_set(f->free, KVP_NIL, kvpt_audit(a, NULL, 0)), 0);
	ck_assert_uint_eq(kvpt.audit.total, f->nr[KVP_BLOCK_FREE]);
	ck_assert_uint_eq(kvpt.audit.nr_findings, 0);
}
END_TEST

/* ---- blocks ---- */

START_TEST(test_counters_of_states)
{
	u64 *nr = family(0)->nr;
	u64 free = nr[KVP_BLOCK_FREE], held = nr[KVP_BLOCK_HELD];

	plant(nr[KVP_BLOCK_FREE], free + 1,
	      F(STATE, 0, KVP_BLOCK_FREE, free + 1, free),
	      F(SUM, 0, 0, 33, 32));
	nr[KVP_BLOCK_HELD]--;
	ck_assert_int_eq(kvpt_while_set(nr[KVP_BLOCK_FREE], free + 1,
					kvpt_audit(a, found, ROOM)), 0);
	nr[KVP_BLOCK_HELD]++;
	expect_found(__LINE__, (struct kvp_finding[]){
		     F(STATE, 0, KVP_BLOCK_FREE, free + 1, free),
		     F(STATE, 0, KVP_BLOCK_HELD, held - 1, held) }, 2);
	plant(*family(1)->published, 0,
	      F(STATE, 1, KVP_BLOCK_STATES, 0, *family(1)->published));
	plant(pool->nodes_free, 1, F(STATE, NONE, KVP_NODE_FREE, 1, pool->nodes_free));
	plant(pool->nr_roots, 9, F(STATE, NONE, KVP_NODE_ROOT, 9, pool->nr_roots));
	plant(pool->nodes_published, 2,
	      F(STATE, NONE, KVP_NODE_PUBLISHED, 2, pool->nodes_published));
}
END_TEST

START_TEST(test_counts_of_blocks)
{
	u32 at = KVP_BLOCK_INDEX(raw[0]), twice = KVP_BLOCK_INDEX(raw[1]);
	u32 idle = part(idle_leaf), shared = part(shared_node);
	u32 *slot = &seq_of(running)->table[0].at[3];
	struct kvp_pending *pending = seq_of(forked)->pending;
	u32 src = pending->src;

	plant(family(0)->blocks[at].count, 2, F(COUNT, 0, at, 2, 1));
	plant(family(0)->blocks[twice].count, 1, F(COUNT, 0, twice, 1, 2));
	plant(family(0)->blocks[shared].count, 7, F(COUNT, 0, shared, 7, 2));
	plant(family(0)->blocks[idle].count, 1, F(COUNT, 0, idle, 1, 0),
	      F(NODE, NONE, idle_leaf, 0, 1));
	plant(*slot, at, F(COUNT, 0, at, 1, 2), F(COUNT, 0, *slot, 2, 1));
	plant(pending->src, at, F(COUNT, pending->family, src, 2, 1),
	      F(COUNT, pending->family, at, 1, 2));
}
END_TEST

static struct kvp_raw_slot *raw_slot(u64 block)
{
	u32 i;

	for (i = 0; i < a->raw.cap; i++)
		if (a->raw.slot[i].block == block)
			return &a->raw.slot[i];
	ck_abort_msg("not in the table");
}

START_TEST(test_raw_references)
{
	struct kvp_raw_slot *slot = raw_slot(raw[0]);
	u32 at = KVP_BLOCK_INDEX(raw[0]);

	plant(slot->count, 3, F(COUNT, 0, at, 1, 3),
	      F(CHARGE, NONE, kvpt_client_id(a), 4, 6), F(USER, NONE, KVPT_OWNER, 4, 6));
	plant(slot->block, raw[0] + 1, F(COUNT, 0, at, raw[0] + 1, raw[0]));
	plant(a->raw.nr, 2, F(CHARGE, NONE, kvpt_client_id(a), 2, 3));
}
END_TEST

START_TEST(test_free_list_of_blocks)
{
	struct kvp_family *f = family(0);
	u32 first = f->free, second = f->blocks[first].next;
	u32 third = f->blocks[second].next, held = KVP_BLOCK_INDEX(raw[0]);
	u32 last;

	for (last = first; f->blocks[last].next != KVP_NIL; last = f->blocks[last].next)
		;
	plant(f->free, second, F(LIST, 0, first, 0, 1));
	plant(f->blocks[first].next, third, F(LIST, 0, second, 0, 1));
	plant(f->blocks[last].next, first, F(LIST, 0, first, 1, 0));
	plant(f->blocks[last].next, 4711, F(LIST, 0, 4711, 1, 0));
	/* A list that ends with a held block: there is a count where the next one stands. */
	ck_assert_int_eq(kvpt_while_set(f->blocks[held].next, KVP_NIL,
					kvpt_while_set(f->blocks[last].next, held,
						       kvpt_audit(a, found, ROOM))), 0);
	expect_found(__LINE__, (struct kvp_finding[]){
		     F(LIST, 0, held, 1, 0), F(FENCE, 0, held, KVP_NIL, 0) }, 2);
}
END_TEST

START_TEST(test_states_of_blocks)
{
	struct kvp_block *block = kvpt_block_of(a, raw[0]);
	u64 *nr = family(0)->nr, held = nr[KVP_BLOCK_HELD];
	u32 at = KVP_BLOCK_INDEX(raw[0]);
	u64 gen = block->word & KVP_GEN_MAX;

	plant(block->word, gen | (u64)KVP_BLOCK_RETIRED << KVP_STATE_SHIFT,
	      F(LIST, 0, at, KVP_BLOCK_RETIRED, KVP_BLOCK_HELD),
	      F(CHARGE, 0, at, a->slot, KVP_NIL),
	      F(CHARGE, 0, kvpt_client_id(a), a->account->charged[0],
		a->account->charged[0] - 1),
	      F(USER, 0, KVPT_OWNER, a->account->charged[0], a->account->charged[0] - 1),
	      F(STATE, 0, KVP_BLOCK_HELD, held, held - 1),
	      F(STATE, 0, KVP_BLOCK_RETIRED, 0, 1));
}
END_TEST

/* ---- accounts ---- */

START_TEST(test_accounts)
{
	struct kvp_account *account = a->account;
	u64 id = kvpt_client_id(a);
	struct kvp_family *f = family(0);

	plant(account->charged[0], 2, F(CHARGE, 0, id, 2, account->charged[0]));
	plant(account->has[KVP_SLOTS], 1, F(CHARGE, NONE, id, 1, account->has[KVP_SLOTS]));
	plant(account->has[KVP_SEQS], 7, F(CHARGE, NONE, id, 7, 2));
	plant(account->has[KVP_RAW], 5, F(CHARGE, NONE, id, 5, 4));
	plant(account->has[KVP_MATCHES], 1, F(CHARGE, NONE, id, 1, 0));
	plant(account->has[KVP_METADATA], 1, F(CHARGE, NONE, id, 1, account->has[KVP_METADATA]));
	plant(account->live, false, F(CHARGE, NONE, id, 0, 1));
	plant(b->account->has[KVP_MATCHES], 3, F(CHARGE, NONE, kvpt_client_id(b), 3, 1));
	plant(b->seqs.nr, 4, F(CHARGE, NONE, kvpt_client_id(b), 4, 2));
	plant(pool->nr_clients, 3, F(CHARGE, NONE, 0, 3, 2));
	plant(f->guaranteed, 8, F(CHARGE, 0, 0, 8, 0));
	plant(f->unmet, 8, F(CHARGE, 0, 0, 8, 0));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_GUARANTEE, 0, 20));
	plant(f->unmet, 20, F(CHARGE, 0, 0, 20, 20 - b->account->charged[0]));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_GUARANTEE, 0, 0));
}
END_TEST

START_TEST(test_users)
{
	struct kvp_user *user = a->account->user;
	u32 i;

	ck_assert_uint_eq(user->uid, KVPT_OWNER);
	ck_assert_uint_eq(b->account->user->uid, B_UID);
	plant(user->charged[0], 2, F(USER, 0, KVPT_OWNER, 2, a->account->charged[0]));
	plant(user->charged[1], 99, F(USER, 1, KVPT_OWNER, 99, a->account->charged[1]));
	for (i = 0; i < KVP_NR_THINGS; i++)
		plant(user->has[i], 77, F(USER, NONE, KVPT_OWNER, 77, a->account->has[i]));
	/* One charged for the other: each has something else then. */
	i = KVP_SLOTS;
	plant(a->account->user, b->account->user,
	      F(USER, 0, KVPT_OWNER, a->account->charged[0], 0),
	      F(USER, 1, KVPT_OWNER, a->account->charged[1], 0),
	      F(USER, NONE, KVPT_OWNER, a->account->has[i], 0),
	      F(USER, NONE, KVPT_OWNER, 2, 0), F(USER, NONE, KVPT_OWNER, 4, 0),
	      F(USER, NONE, KVPT_OWNER, a->account->has[KVP_METADATA], 0),
	      F(USER, 0, B_UID, b->account->charged[0],
		a->account->charged[0] + b->account->charged[0]),
	      F(USER, 1, B_UID, b->account->charged[1],
		a->account->charged[1] + b->account->charged[1]),
	      F(USER, NONE, B_UID, b->account->has[i],
		a->account->has[i] + b->account->has[i]),
	      F(USER, NONE, B_UID, 2, 4), F(USER, NONE, B_UID, 0, 4),
	      F(USER, NONE, B_UID, b->account->has[KVP_METADATA],
		a->account->has[KVP_METADATA] + b->account->has[KVP_METADATA]));
}
END_TEST

START_TEST(test_exports_and_backings)
{
	struct kvp_account *account = a->account;
	struct kvp_backing_object object = { .uid = KVPT_OWNER, .client = account->client };

	plant(account->has[KVP_EXPORTS], 1, F(CHARGE, NONE, account->client, 1, 0));
	plant(account->has[KVP_BACKINGS], 1, F(CHARGE, NONE, account->client, 1, 0));
	/* A backing that nobody was charged for. */
	pool->backing[0] = object;
	plant(pool->nr_backings, 1, F(CHARGE, NONE, account->client, 0, 1),
	      F(USER, NONE, KVPT_OWNER, 0, 1));
	pool->backing[0].uid = B_UID;
	plant(pool->nr_backings, 1, F(CHARGE, NONE, account->client, 0, 1),
	      F(USER, NONE, B_UID, 0, 1));
}
END_TEST

START_TEST(test_owners_of_blocks)
{
	struct kvp_block *block = kvpt_block_of(a, raw[0]);
	struct kvp_block *free = &family(0)->blocks[family(0)->free];
	u64 of_a = a->account->charged[0], of_b = b->account->charged[0];
	u32 at = KVP_BLOCK_INDEX(raw[0]);

	plant(block->owner, b->slot, F(CHARGE, 0, kvpt_client_id(a), of_a, of_a - 1),
	      F(USER, 0, KVPT_OWNER, of_a, of_a - 1),
	      F(CHARGE, 0, kvpt_client_id(b), of_b, of_b + 1),
	      F(USER, 0, B_UID, of_b, of_b + 1));
	plant(block->owner, 999, F(CHARGE, 0, at, 999, 0),
	      F(CHARGE, 0, kvpt_client_id(a), of_a, of_a - 1),
	      F(USER, 0, KVPT_OWNER, of_a, of_a - 1));
	plant(free->owner, a->slot, F(CHARGE, 0, family(0)->free, a->slot, KVP_NIL));
}
END_TEST

/* ---- nodes ---- */

START_TEST(test_uses_and_references_of_nodes)
{
	struct kvp_node *nodes = pool->nodes;
	u32 root = seq_of(running)->root, last = seq_of(running)->runs.at[3];
	struct kvp_match *match;
	int err;

	plant(nodes[shared_node].uses, 1, F(NODE, NONE, shared_node, 1, 2));
	plant(nodes[shared_node].refs, 1, F(NODE, NONE, shared_node, 1, 2));
	plant(nodes[root].uses, 9, F(NODE, NONE, root, 9, 3));
	plant(nodes[last].uses, 4, F(NODE, NONE, last, 4, nodes[last].uses));
	plant(nodes[idle_leaf].uses, 1, F(NODE, NONE, idle_leaf, 1, 0));
	plant(nodes[idle_leaf].held, 1, F(NODE, NONE, idle_leaf, 1, 0));
	plant(nodes[pool->free_node].refs, 1, F(NODE, NONE, pool->free_node, 1, 0));

	spin_lock(&pool->lock);
	match = kvp_ids_find_locked(&b->matches, held_match, &err);
	spin_unlock(&pool->lock);
	plant(match->node, idle_leaf, F(NODE, NONE, idle_leaf, 0, 1),
	      F(NODE, NONE, idle_inner, 1, 0));
}
END_TEST

START_TEST(test_lists_of_nodes)
{
	struct kvp_node *nodes = pool->nodes;
	u32 first = pool->free_node, newest = pool->newest;

	plant(pool->free_node, nodes[first].next, F(LIST, NONE, first, 0, KVP_MET_FREE),
	      F(STATE, NONE, KVP_NODE_FREE, pool->nodes_free, pool->nodes_free - 1));
	plant(nodes[newest].older, newest, F(LIST, NONE, newest, newest, nodes[newest].older));
	plant(nodes[newest].newer, pool->oldest, F(LIST, NONE, pool->oldest, 1, 0));
	plant(nodes[newest].newer, 1U << 30, F(LIST, NONE, 1U << 30, 1, 0));
	plant(pool->newest, KVP_NIL, F(LIST, NONE, newest, KVP_NIL, newest));
	plant(nodes[idle_leaf].flags, 0, F(LIST, NONE, idle_leaf, KVP_MET_LRU, 0),
	      F(LIST, NONE, idle_leaf, 0, KVP_MET_LRU));
}
END_TEST

START_TEST(test_nodes_that_nobody_has)
{
	struct kvp_node *nodes = pool->nodes;
	u32 first = pool->free_node;

	nodes[first].extra = KVP_NIL;
	plant(nodes[first].state, KVP_NODE_RESERVED,
	      F(LIST, NONE, first, KVP_MET_FREE, 0),
	      F(LIST, NONE, first, KVP_NODE_RESERVED, KVP_NODE_FREE));
	plant(nodes[first].state, KVP_NODE_PRIVATE,
	      F(LIST, NONE, first, KVP_MET_FREE, 0),
	      F(LIST, NONE, first, KVP_NODE_PRIVATE, KVP_NODE_FREE));
}
END_TEST

START_TEST(test_links_of_the_tree)
{
	struct kvp_node *nodes = pool->nodes;
	u32 tree = KVP_MET_TREE | KVP_MET_HASH;
	u32 root = nodes[idle_inner].parent;

	plant(nodes[idle_leaf].depth, 7, F(TREE, NONE, idle_leaf, 7, 2));
	plant(nodes[idle_leaf].prev, idle_inner,
	      F(TREE, NONE, idle_leaf, idle_inner, KVP_NIL));
	plant(nodes[idle_leaf].next, idle_inner,
	      F(TREE, NONE, idle_inner, KVP_NIL, idle_leaf),
	      F(TREE, NONE, idle_inner, root, idle_inner),
	      F(TREE, NONE, idle_inner, 1, 0));
	plant(nodes[idle_inner].child, KVP_NIL, F(TREE, NONE, idle_leaf, KVP_MET_HASH, tree));
	plant(nodes[idle_leaf].child, 1U << 30, F(TREE, NONE, 1U << 30, 1, 0));
	plant(nodes[idle_leaf].parent, KVP_NIL, F(TREE, NONE, idle_leaf, KVP_NIL, idle_inner),
	      F(TREE, NONE, idle_leaf, KVP_NIL, KVP_NIL));
	plant(nodes[root].depth, 1, F(TREE, NONE, root, 1, 0),
	      F(TREE, NONE, idle_inner, 1, 2));
	plant(pool->dead, KVP_NIL, F(TREE, NONE, cut_top, 0, KVP_MET_TREE | KVP_MET_DEAD));
	plant(nodes[cut_top].flags, nodes[cut_top].flags & ~KVP_NODE_CUT,
	      F(TREE, NONE, cut_top, KVP_MET_TREE | KVP_MET_DEAD, tree),
	      F(NODE, NONE, nodes[cut_top].parent, 1, 0));
}
END_TEST

/* The node alone in bucket @to, as the node itself says; what the audit finds is to be expected. */
static void audit_moved(u32 index, u32 from, u32 to, u32 flag)
{
	struct kvp_bucket was = pool->buckets[from], empty = { .node = KVP_NIL };

	ck_assert_uint_eq(pool->buckets[to].node, KVP_NIL);
	pool->buckets[from] = empty;
	pool->buckets[to] = (struct kvp_bucket){ .tag = was.tag, .node = index | flag };
	ck_assert_int_eq(kvpt_while_set(pool->nodes[index].bucket, flag ? to : KVP_NIL,
					kvpt_audit(a, found, ROOM)), 0);
	pool->buckets[to] = empty;
	pool->buckets[from] = was;
}

/* Whether a lookup of a node that has no place in a line reads @bucket on its way. */
static bool is_on_a_way(u32 bucket)
{
	u32 i, at;

	for (i = 0; i <= pool->bucket_mask; i++) {
		if (pool->buckets[i].node & KVP_BUCKET_PLACE)
			continue;
		for (at = pool->buckets[i].tag & pool->bucket_mask; at != i;
		     at = (at + 1) & pool->bucket_mask)
			if (at == bucket)
				return true;
	}
	return false;
}

START_TEST(test_buckets_of_the_hash)
{
	u32 tree = KVP_MET_TREE | KVP_MET_HASH;
	u32 hash, home, at, place, far;
	struct kvp_node *nodes;

	/* With some keys others would miss what is taken away below. */
	while (pool->nodes[idle_leaf].bucket == KVP_NIL ||
	       is_on_a_way(pool->nodes[idle_leaf].bucket)) {
		teardown();
		setup();
	}
	nodes = pool->nodes;
	hash = nodes[idle_leaf].hash;
	home = hash & pool->bucket_mask;
	at = nodes[idle_leaf].bucket;
	place = kvp_hash_place(pool, nodes[idle_inner].hash, 2, 0);

	ck_assert_uint_eq(pool->buckets[at].node, idle_leaf | KVP_BUCKET_PLACE);
	plant(pool->buckets[at].node, KVP_NIL, F(TREE, NONE, idle_leaf, KVP_MET_TREE, tree));
	plant(pool->buckets[at].node, 1U << 30,
	      F(TREE, NONE, idle_leaf, KVP_MET_TREE, tree), F(TREE, NONE, 1U << 30, 1, 0));
	plant(pool->buckets[at].tag, ~hash, F(TREE, NONE, idle_leaf, ~hash, hash));
	/* Twice. */
	for (far = at + 1; pool->buckets[far].node != KVP_NIL; far++)
		ck_assert_uint_lt(far, pool->bucket_mask);
	plant(pool->buckets[far].node, idle_leaf, F(TREE, NONE, idle_leaf, 1, 0));
	/* Beyond an empty bucket, where nobody looks. */
	far = (home + 2) & pool->bucket_mask;
	while (pool->buckets[far].node != KVP_NIL ||
	       pool->buckets[(far - 1) & pool->bucket_mask].node != KVP_NIL)
		far = (far + 1) & pool->bucket_mask;
	audit_moved(idle_leaf, at, far, 0);
	expect_found(__LINE__, (struct kvp_finding[]){ F(TREE, NONE, idle_leaf, far, home) }, 1);
	/* In a line, but not at its place. */
	while (pool->buckets[far].node != KVP_NIL || far % KVP_HASH_RUN == at % KVP_HASH_RUN)
		far = (far + 1) & pool->bucket_mask;
	audit_moved(idle_leaf, at, far, KVP_BUCKET_PLACE);
	expect_found(__LINE__, (struct kvp_finding[]){ F(TREE, NONE, idle_leaf, far, place) }, 1);
}
END_TEST

/* A node whose contents a brother has: found by its hash, which is right. */
START_TEST(test_brothers_with_equal_contents)
{
	u32 brother, *tokens, saved;
	u64 hash;

	memcpy(other, tok, sizeof(other));
	other[7]++;
	kvpt_ok(kvpt_make_published(a, 2, other, 8));
	brother = path_node(2, other, 8);
	ck_assert_uint_eq(pool->nodes[brother].parent, idle_inner);
	tokens = kvp_node_tokens(pool, brother);

	saved = tokens[3];
	tokens[3] = kvp_node_tokens(pool, idle_leaf)[3];
	hash = kvpt_force_hash(pool, brother, pool->nodes[idle_leaf].hash);
	kvpt_ok(kvpt_audit(a, found, ROOM));
	expect_found(__LINE__, (struct kvp_finding[]){
		     F(TREE, NONE, brother, brother, idle_leaf) }, 1);
	tokens[3] = saved;
	kvpt_force_hash(pool, brother, hash);
}
END_TEST

START_TEST(test_parts_of_nodes)
{
	struct kvp_block *block = &family(0)->blocks[part(idle_leaf)];
	u32 *dense = kvp_node_parts(pool, idle_leaf);

	plant(block->node, idle_inner, F(TREE, 0, part(idle_leaf), idle_inner, KVP_NIL),
	      F(TREE, 0, idle_leaf, idle_inner, idle_leaf));
	plant(*dense, KVP_NIL, F(TREE, 0, idle_leaf, KVP_NIL, KVP_NIL),
	      F(TREE, 0, *dense, idle_leaf, KVP_NIL));
	plant(*dense, 4711, F(TREE, 0, idle_leaf, 4711, KVP_NIL),
	      F(TREE, 0, *dense, idle_leaf, KVP_NIL));
}
END_TEST

/* The hash that a node would need, with what is planted now. */
static u64 needed(u32 index, u32 parent)
{
	u32 extra = pool->nodes[index].extra;

	return kvp_content_hash(pool, pool->nodes[parent].hash, kvp_node_tokens(pool, index),
				extra == KVP_NIL ? NULL : pool->digests[extra].byte);
}

#define plant_content(lvalue, value, index, parent)				\
do {										\
	u64 needed_ = 0;							\
										\
	kvpt_while_set(lvalue, value, (needed_ = needed(index, parent), 0));	\
	ck_assert_uint_ne(needed_, pool->nodes[index].hash);			\
	plant(lvalue, value, F(CONTENT, NONE, index, pool->nodes[index].hash, needed_));	\
} while (0)

START_TEST(test_contents_of_nodes)
{
	struct kvp_node *nodes = pool->nodes;
	u32 root = kvpt_seq_of(b, filled)->root;
	u8 *extra = pool->digests[nodes[extra_node].extra].byte;

	plant_content(kvp_node_tokens(pool, idle_leaf)[2], 5, idle_leaf, idle_inner);
	plant_content(kvp_node_tokens(pool, private_full)[0], 5, private_full, root);
	plant_content(extra[31], 5, extra_node, nodes[extra_node].parent);
	plant(nodes[idle_leaf].bucket, 3, F(TREE, NONE, idle_leaf, 3, nodes[idle_leaf].bucket));
	plant(nodes[private_full].hash, 1,
	      F(CONTENT, NONE, private_full, 1, nodes[private_full].hash));
}
END_TEST

START_TEST(test_digest_of_a_namespace)
{
	u32 root = pool->nodes[idle_inner].parent;
	u8 *byte = pool->digests[pool->nodes[root].extra].byte;
	u8 space[KVP_DIGEST_LEN];

	memcpy(space, byte, KVP_DIGEST_LEN);
	space[7] ^= 1;
	plant(byte[7], space[7], F(CONTENT, NONE, root, pool->nodes[root].hash,
				   kvp_space_hash(pool, space)));
}
END_TEST

START_TEST(test_digests_in_use)
{
	u32 extra = pool->nodes[extra_node].extra, first = pool->free_digest;
	u32 i;

	plant(pool->digests[extra].used, 2, F(EXTRA, NONE, extra, 2, 1));
	plant(pool->digests_free, 5, F(EXTRA, NONE, KVP_NIL, 5, pool->digests_free));
	plant(pool->free_digest, pool->digests[first].next,
	      F(EXTRA, NONE, KVP_NIL, pool->digests_free, pool->digests_free - 1),
	      F(EXTRA, NONE, first, 0, 1));
	/* All but the first can be reached no more. */
	ck_assert_int_eq(kvpt_while_set(pool->digests[first].next, first,
					kvpt_audit(a, found, ROOM)), 0);
	ck_assert_uint_eq(kvpt.audit.total, 1 + 1 + pool->digests_free - 1);
	ck_assert_uint_eq(found[0].id, first);
	for (i = 0; i < kvpt.audit.nr_findings; i++)
		ck_assert_uint_eq(found[i].kind, KVP_FINDING_EXTRA);
}
END_TEST

/* ---- sequences ---- */

START_TEST(test_lengths_of_sequences)
{
	struct kvp_seq *seq = seq_of(running);

	plant(seq->busy, 1, F(SEQ, NONE, running, 1, 0));
	plant(seq->reserved, 17, F(SEQ, 0, running, 4, 5), F(SEQ, 1, running, 4, 5));
	plant(seq->reserved, 13, F(SEQ, NONE, running, 14, 13));
	plant(seq->tokens, 13, F(SEQ, NONE, running, 14, 13));
	plant(seq->computed, 15, F(SEQ, NONE, running, 15, 14));
	plant(seq->computed, 17, F(SEQ, NONE, running, 17, 14));
	plant(seq->windowed, 17, F(SEQ, NONE, running, 17, 14), F(SEQ, 1, running, 0, 1));
	plant(seq->runs.nr, 3, F(SEQ, NONE, running, 3, 4),
	      F(NODE, NONE, seq->runs.at[3], pool->nodes[seq->runs.at[3]].uses,
		pool->nodes[seq->runs.at[3]].uses - 1));
}
END_TEST

START_TEST(test_tables_of_sequences)
{
	struct kvp_seq *seq = seq_of(running);
	struct kvp_vec *dense = &seq->table[0], *window = &seq->table[1];

	ck_assert_uint_eq(window->at[1], KVP_NIL);
	plant(dense->at[3], KVP_NIL, F(SEQ, 0, running, 1, 0), F(COUNT, 0, dense->at[3], 2, 1));
	plant(dense->at[3], 4711, F(SEQ, 0, running, 4711, KVP_NIL),
	      F(COUNT, 0, dense->at[3], 2, 1));
	plant(window->at[3], KVP_NIL, F(SEQ, 1, running, 1, 0),
	      F(COUNT, 1, window->at[3], 2, 1));
	plant(window->at[1], window->at[3], F(SEQ, 1, running, 0, 1),
	      F(COUNT, 1, window->at[3], 2, 3));
}
END_TEST

START_TEST(test_places_of_sequences)
{
	struct kvp_seq *seq = seq_of(running);
	u32 last = seq->runs.at[3];

	plant(seq->nr_published, 2, F(SEQ, NONE, running, 3, 2),
	      F(SEQ, NONE, running, pool->nodes[seq->tail].hash,
		pool->nodes[seq->runs.at[1]].hash));
	plant(seq->root, 1U << 30, F(SEQ, NONE, running, seq->tail, KVP_NIL),
	      F(NODE, NONE, seq->root, 3, 2), F(NODE, NONE, seq->tail, 2, 1));
	plant(seq->runs.at[3], 1U << 30, F(SEQ, NONE, running, 1U << 30, KVP_NIL),
	      F(NODE, NONE, last, pool->nodes[last].uses, pool->nodes[last].uses - 1));
	plant(pool->nodes[private_full].nr_tokens, 2, F(SEQ, NONE, filled, 2, 6));
}
END_TEST

/* ---- whatever is overwritten ---- */

static u32 random_word(u64 *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

/* Any word of what the audit follows: it ends, and what it read can be put back. */
START_TEST(test_the_audit_trusts_nothing)
{
	const struct {
		void *mem;
		size_t len;
	} area[] = {
		{ pool->nodes, pool->nr_nodes * sizeof(*pool->nodes) },
		{ pool->parts, pool->nr_nodes * pool->parts_per_node * sizeof(u32) },
		{ pool->buckets, (pool->bucket_mask + 1) * sizeof(*pool->buckets) },
		{ pool->digests, 16 * sizeof(*pool->digests) },
		{ pool->family[0].blocks, 32 * sizeof(struct kvp_block) },
		{ pool->family[1].blocks, 32 * sizeof(struct kvp_block) },
		{ a->raw.slot, a->raw.cap * sizeof(*a->raw.slot) },
		{ seq_of(running)->table[0].at, 4 * sizeof(u32) },
		{ seq_of(running)->runs.at, 4 * sizeof(u32) },
	};
	const u32 small = 40;
	u64 state = 1;
	u32 i, value;

	for (i = 0; i < 4000; i++) {
		u32 which = random_word(&state) % ARRAY_SIZE(area);
		u32 *word = area[which].mem;

		word += random_word(&state) % (area[which].len / sizeof(u32));
		value = random_word(&state);
		if (value % 2)
			value %= small;
		ck_assert_int_eq(kvpt_while_set(*word, value, kvpt_audit(a, found, ROOM)), 0);
	}
}
END_TEST

/* ---- refusals ---- */

START_TEST(test_audit_refused)
{
	struct kvp_audit arg = { .head.flags = 1 };
	struct kvp_client *c = kvpt_open(&env, 1002);

	kvpt_expect(kvpt_audit(c, found, 1), -EBUSY, KVP_REASON_NOT_ATTACHED);
	kvpt_expect(kvpt_audit(b, found, 1), -EACCES, KVP_REASON_RIGHT_ADMIN);
	kvpt_expect(kvpt_audit(a, found, KVP_MAX_CALL_BLOCKS + 1), -EOVERFLOW, KVP_REASON_COUNT);
	kvpt_expect(kvpt_audit(a, NULL, 1), -EFAULT, KVP_REASON_POINTER);
	ck_assert_int_eq(kvpt_do(a, KVP_OP_AUDIT, &arg), -EINVAL);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_FLAG);
	arg = (struct kvp_audit){ .reserved = 1 };
	ck_assert_int_eq(kvpt_do(a, KVP_OP_AUDIT, &arg), -EINVAL);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_RESERVED);
	ck_assert_uint_eq(arg.head.where, kvpt_at(struct kvp_audit, reserved));
}
END_TEST

START_TEST(test_audit_without_memory)
{
	int nr, err = -ENOMEM;

	for (nr = 1; err; nr++) {
		err = kvpt_while_set(kvp_shim_fail_alloc, nr, kvpt_audit(a, found, 1));
		if (err)
			kvpt_expect(err, -ENOMEM, KVP_REASON_MEMORY);
	}
	ck_assert_int_eq(nr, 10 + 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("audit");
	TCase *t = tcase_create("audit");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_a_sound_pool);
	tcase_add_test(t, test_more_findings_than_room);
	tcase_add_test(t, test_counters_of_states);
	tcase_add_test(t, test_counts_of_blocks);
	tcase_add_test(t, test_raw_references);
	tcase_add_test(t, test_free_list_of_blocks);
	tcase_add_test(t, test_states_of_blocks);
	tcase_add_test(t, test_accounts);
	tcase_add_test(t, test_users);
	tcase_add_test(t, test_exports_and_backings);
	tcase_add_test(t, test_owners_of_blocks);
	tcase_add_test(t, test_uses_and_references_of_nodes);
	tcase_add_test(t, test_lists_of_nodes);
	tcase_add_test(t, test_nodes_that_nobody_has);
	tcase_add_test(t, test_links_of_the_tree);
	tcase_add_test(t, test_buckets_of_the_hash);
	tcase_add_test(t, test_brothers_with_equal_contents);
	tcase_add_test(t, test_parts_of_nodes);
	tcase_add_test(t, test_contents_of_nodes);
	tcase_add_test(t, test_digest_of_a_namespace);
	tcase_add_test(t, test_digests_in_use);
	tcase_add_test(t, test_lengths_of_sequences);
	tcase_add_test(t, test_tables_of_sequences);
	tcase_add_test(t, test_places_of_sequences);
	tcase_add_test(t, test_the_audit_trusts_nothing);
	tcase_add_test(t, test_audit_refused);
	tcase_add_test(t, test_audit_without_memory);
	suite_add_tcase(s, t);
	return kvpt_run(s);
}

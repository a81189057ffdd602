// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The audit of the index: every list is walked once and marks whom it meets
 * (kvp_audit_run.mark); then each node is asked for the marks that its state
 * demands, for its counts, its place in the tree and its contents.
 */
#include "audit.h"

static void kvp_audit_list(struct kvp_audit_run *run, u32 index, u64 found, u64 expected)
{
	kvp_audit_add(run, KVP_FINDING_LIST, KVP_NO_FAMILY, index, found, expected);
}

static void kvp_audit_tree(struct kvp_audit_run *run, u32 index, u64 found, u64 expected)
{
	kvp_audit_add(run, KVP_FINDING_TREE, KVP_NO_FAMILY, index, found, expected);
}

/* Meet a node on a list. Return: whether the walk can go on from it. */
static bool kvp_audit_meet(struct kvp_audit_run *run, u32 index, u32 mark)
{
	kvp_audit_step(run);
	if (index >= run->pool->nr_nodes || run->mark[index] & mark)
		return false;
	run->mark[index] |= mark;
	return true;
}

/* ---- the lists -------------------------------------------------------------------------- */

static void kvp_audit_free_nodes(struct kvp_audit_run *run)
{
	struct kvp_pool *pool = run->pool;
	u32 nr = 0;
	u32 index;

	for (index = pool->free_node; index != KVP_NIL; index = pool->nodes[index].next) {
		if (!kvp_audit_meet(run, index, KVP_MET_FREE)) {
			kvp_audit_list(run, index, 1, 0);
			break;
		}
		nr++;
	}
	kvp_audit_equal(run, KVP_FINDING_STATE, KVP_NO_FAMILY, KVP_NODE_FREE, pool->nodes_free,
			nr);
}

static void kvp_audit_lru(struct kvp_audit_run *run)
{
	struct kvp_pool *pool = run->pool;
	u32 before = KVP_NIL;
	u32 index;

	for (index = pool->oldest; index != KVP_NIL; index = pool->nodes[index].newer) {
		if (!kvp_audit_meet(run, index, KVP_MET_LRU)) {
			kvp_audit_list(run, index, 1, 0);
			return;
		}
		if (pool->nodes[index].older != before)
			kvp_audit_list(run, index, pool->nodes[index].older, before);
		before = index;
	}
	if (pool->newest != before)
		kvp_audit_list(run, before, pool->newest, before);
}

/* Brothers: the children of @parent, or (KVP_NIL) the tops of what was cut off. */
static void kvp_audit_brothers(struct kvp_audit_run *run, u32 first, u32 parent)
{
	u32 marks = parent == KVP_NIL ? KVP_MET_TREE | KVP_MET_DEAD : KVP_MET_TREE;
	struct kvp_pool *pool = run->pool;
	u32 before = KVP_NIL;
	u32 index;

	for (index = first; index != KVP_NIL; index = pool->nodes[index].next) {
		const struct kvp_node *node = &pool->nodes[index];

		if (!kvp_audit_meet(run, index, marks)) {
			kvp_audit_tree(run, index, 1, 0);
			return;
		}
		if (node->prev != before)
			kvp_audit_tree(run, index, node->prev, before);
		if (parent != KVP_NIL && node->parent != parent)
			kvp_audit_tree(run, index, node->parent, parent);
		before = index;
	}
}

static bool kvp_audit_is_parent(const struct kvp_node *node)
{
	return node->state == KVP_NODE_PUBLISHED || node->state == KVP_NODE_ROOT;
}

static void kvp_audit_links(struct kvp_audit_run *run)
{
	struct kvp_pool *pool = run->pool;
	u32 i;

	kvp_audit_brothers(run, pool->dead, KVP_NIL);
	for (i = 0; i < pool->nr_nodes; i++) {
		const struct kvp_node *node = &pool->nodes[i];

		if (kvp_audit_is_parent(node))
			kvp_audit_brothers(run, node->child, i);
		/* One that was cut off keeps its parent. */
		if (node->state == KVP_NODE_PUBLISHED && node->flags & KVP_NODE_CUT &&
		    node->parent < pool->nr_nodes)
			run->refs[node->parent]++;
	}
}

/* ---- the hash ---------------------------------------------------------------------------- */

static const u8 *kvp_audit_extra(const struct kvp_pool *pool, u32 index)
{
	u32 extra = pool->nodes[index].extra;

	return extra < pool->nr_digests ? pool->digests[extra].byte : NULL;
}

static bool kvp_audit_same(const struct kvp_pool *pool, u32 a, u32 b)
{
	const struct kvp_node *one = &pool->nodes[a];
	const struct kvp_node *two = &pool->nodes[b];
	const u8 *extra_a = kvp_audit_extra(pool, a);
	const u8 *extra_b = kvp_audit_extra(pool, b);

	if (one->hash != two->hash || one->parent != two->parent || one->state != two->state ||
	    !extra_a != !extra_b)
		return false;
	if (extra_a && memcmp(extra_a, extra_b, KVP_DIGEST_LEN))
		return false;
	return one->state == KVP_NODE_ROOT ||
	       !memcmp(kvp_node_tokens(pool, a), kvp_node_tokens(pool, b),
		       pool->index_tokens * sizeof(u32));
}

/*
 * The places of a node in the lines of its path. False: its parents do not lead there, which is
 * told elsewhere.
 */
static bool kvp_audit_places(const struct kvp_pool *pool, u32 index, u32 place[KVP_HASH_LINES])
{
	u32 depth = pool->nodes[index].depth;
	u32 at = depth;
	u32 line;

	if (!depth)
		return false;
	for (; (at - 1) % KVP_HASH_RUN; at--) {
		index = pool->nodes[index].parent;
		if (index >= pool->nr_nodes || pool->nodes[index].depth != at - 1)
			return false;
	}
	for (line = 0; line < KVP_HASH_LINES; line++)
		place[line] = kvp_hash_place(pool, pool->nodes[index].hash, depth, line);
	return true;
}

/* Whether a lookup of @index finds another node with its contents in a bucket. */
static void kvp_audit_twin(struct kvp_audit_run *run, u32 bucket, u32 index)
{
	struct kvp_pool *pool = run->pool;
	u32 other = pool->buckets[bucket].node & ~KVP_BUCKET_PLACE;

	if (other < pool->nr_nodes && other != index && kvp_audit_same(pool, other, index))
		kvp_audit_tree(run, index, index, other);
}

/* All that a lookup reads before it comes to @bucket, where @index is. */
static void kvp_audit_way(struct kvp_audit_run *run, u32 bucket, u32 index)
{
	bool placed = run->pool->buckets[bucket].node & KVP_BUCKET_PLACE;
	struct kvp_pool *pool = run->pool;
	u32 home = (u32)pool->nodes[index].hash & pool->bucket_mask;
	u32 place[KVP_HASH_LINES];
	u32 line, at;

	if (kvp_audit_places(pool, index, place)) {
		for (line = 0; line < KVP_HASH_LINES && place[line] != bucket; line++)
			if (!line || place[line] != place[0])
				kvp_audit_twin(run, place[line], index);
		if (placed && line == KVP_HASH_LINES)
			kvp_audit_tree(run, index, bucket, place[0]);
	}
	for (at = home; !placed && at != bucket; at = (at + 1) & pool->bucket_mask) {
		if (pool->buckets[at].node == KVP_NIL) {
			kvp_audit_tree(run, index, bucket, home);
			return;
		}
		if (!(pool->buckets[at].node & KVP_BUCKET_PLACE))
			kvp_audit_twin(run, at, index);
	}
}

static void kvp_audit_bucket(struct kvp_audit_run *run, u32 bucket)
{
	struct kvp_pool *pool = run->pool;
	u32 index = pool->buckets[bucket].node & ~KVP_BUCKET_PLACE;
	u32 known = pool->buckets[bucket].node & KVP_BUCKET_PLACE ? bucket : KVP_NIL;
	const struct kvp_node *node;

	if (!kvp_audit_meet(run, index, KVP_MET_HASH)) {
		kvp_audit_tree(run, index, 1, 0);
		return;
	}
	node = &pool->nodes[index];
	if (pool->buckets[bucket].tag != (u32)node->hash)
		kvp_audit_tree(run, index, pool->buckets[bucket].tag, (u32)node->hash);
	if (node->state == KVP_NODE_PUBLISHED ? node->bucket != known : known != KVP_NIL)
		kvp_audit_tree(run, index, node->bucket, known);
	kvp_audit_way(run, bucket, index);
}

static void kvp_audit_hash(struct kvp_audit_run *run)
{
	u32 i;

	for (i = 0; i <= run->pool->bucket_mask; i++) {
		if (run->pool->buckets[i].node != KVP_NIL)
			kvp_audit_bucket(run, i);
		kvp_audit_step(run);
	}
}

/* ---- each node ----------------------------------------------------------------------------- */

/* The lists on which a node must be, and no others. */
static u32 kvp_audit_lists(struct kvp_pool *pool, u32 index)
{
	const struct kvp_node *node = &pool->nodes[index];
	bool cut = node->flags & KVP_NODE_CUT;
	u32 marks = 0;

	switch (node->state) {
	case KVP_NODE_FREE:
		return KVP_MET_FREE;
	case KVP_NODE_ROOT:
		return cut ? KVP_MET_TREE | KVP_MET_DEAD : KVP_MET_HASH;
	case KVP_NODE_PUBLISHED:
		marks = KVP_MET_TREE;
		break;
	default:
		return 0;
	}
	marks |= cut ? KVP_MET_DEAD : KVP_MET_HASH;
	if (node->flags & KVP_NODE_ON_LRU)
		marks |= KVP_MET_LRU;
	return marks;
}

/* Tree and hash are told as such, the rest as lists. */
static void kvp_audit_marks(struct kvp_audit_run *run, u32 index)
{
	u32 tree = KVP_MET_TREE | KVP_MET_DEAD | KVP_MET_HASH;
	u32 expected = kvp_audit_lists(run->pool, index);
	u32 found = run->mark[index];

	if ((found ^ expected) & tree)
		kvp_audit_tree(run, index, found & tree, expected & tree);
	if ((found ^ expected) & ~tree)
		kvp_audit_list(run, index, found & ~tree, expected & ~tree);
}

/* The blocks of a node name it, and a DENSE family has them all. Returns how many are held. */
static u32 kvp_audit_parts(struct kvp_audit_run *run, u32 index)
{
	struct kvp_pool *pool = run->pool;
	const u32 *part = kvp_node_parts(pool, index);
	u32 held = 0;
	u32 i, j;

	for (i = 0; i < pool->nr_families; i++) {
		const struct kvp_family *family = &pool->family[i];
		bool dense = family->desc.kind == KVP_FAMILY_DENSE;

		for (j = 0; j < family->parts; j++, part++) {
			if (*part == KVP_NIL ? dense : *part >= family->nr_blocks)
				kvp_audit_add(run, KVP_FINDING_TREE, i, index, *part, KVP_NIL);
			else if (*part != KVP_NIL && family->blocks[*part].node != index)
				kvp_audit_add(run, KVP_FINDING_TREE, i, index,
					      family->blocks[*part].node, index);
			if (*part < family->nr_blocks)
				held += !!family->blocks[*part].count;
		}
	}
	return held;
}

static void kvp_audit_published(struct kvp_audit_run *run, u32 index)
{
	struct kvp_pool *pool = run->pool;
	const struct kvp_node *node = &pool->nodes[index];
	const struct kvp_node *parent;
	u32 found, expected, held;

	held = kvp_audit_parts(run, index);
	kvp_audit_equal(run, KVP_FINDING_NODE, KVP_NO_FAMILY, index, node->held, held);
	if (pool->events && !kvp_log_audit(pool, index, &found, &expected))
		kvp_audit_tree(run, index, found, expected);
	if (!node->uses && !node->refs && node->child == KVP_NIL &&
	    !(node->flags & KVP_NODE_ON_LRU) && !held)
		kvp_audit_list(run, index, 0, KVP_MET_LRU);
	if (node->parent >= pool->nr_nodes || !kvp_audit_is_parent(&pool->nodes[node->parent])) {
		kvp_audit_tree(run, index, node->parent, KVP_NIL);
		return;
	}
	parent = &pool->nodes[node->parent];
	if (node->depth != parent->depth + 1)
		kvp_audit_tree(run, index, node->depth, parent->depth + 1);
	kvp_audit_equal(run, KVP_FINDING_CONTENT, KVP_NO_FAMILY, index, node->hash,
			kvp_content_hash(pool, parent->hash, kvp_node_tokens(pool, index),
					 kvp_audit_extra(pool, index)));
}

/* A namespace has its digest, and somebody who needs it. */
static void kvp_audit_root(struct kvp_audit_run *run, u32 index)
{
	struct kvp_pool *pool = run->pool;
	const struct kvp_node *root = &pool->nodes[index];
	const u8 *space = kvp_audit_extra(pool, index);

	if (root->depth)
		kvp_audit_tree(run, index, root->depth, 0);
	if (space)
		kvp_audit_equal(run, KVP_FINDING_CONTENT, KVP_NO_FAMILY, index, root->hash,
				kvp_space_hash(pool, space));
	else
		kvp_audit_add(run, KVP_FINDING_EXTRA, KVP_NO_FAMILY, index, root->extra, 0);
	if (!root->uses && !root->refs && root->child == KVP_NIL)
		kvp_audit_list(run, index, KVP_NODE_ROOT, KVP_NODE_FREE);
}

static void kvp_audit_node(struct kvp_audit_run *run, u32 index)
{
	const struct kvp_node *node = &run->pool->nodes[index];

	kvp_audit_marks(run, index);
	kvp_audit_equal(run, KVP_FINDING_NODE, KVP_NO_FAMILY, index, node->uses,
			run->uses[index]);
	kvp_audit_equal(run, KVP_FINDING_NODE, KVP_NO_FAMILY, index, node->refs,
			run->refs[index]);
	if (node->state != KVP_NODE_FREE && node->extra < run->pool->nr_digests)
		run->digest[node->extra]++;

	switch (node->state) {
	case KVP_NODE_FREE:
		break;
	case KVP_NODE_PUBLISHED:
		kvp_audit_published(run, index);
		break;
	case KVP_NODE_ROOT:
		kvp_audit_root(run, index);
		break;
	case KVP_NODE_PRIVATE:
		if (!node->uses)
			kvp_audit_list(run, index, node->state, KVP_NODE_FREE);
		break;
	default:
		/* Taken for a call, but no call is in progress. */
		kvp_audit_list(run, index, node->state, KVP_NODE_FREE);
	}
}

/* ---- digests ------------------------------------------------------------------------------ */

static void kvp_audit_digests(struct kvp_audit_run *run)
{
	struct kvp_pool *pool = run->pool;
	u32 nr = 0;
	u32 i;

	for (i = pool->free_digest; i != KVP_NIL; i = pool->digests[i].next) {
		if (i >= pool->nr_digests || run->digest_listed[i]) {
			kvp_audit_add(run, KVP_FINDING_EXTRA, KVP_NO_FAMILY, i, 1, 0);
			break;
		}
		run->digest_listed[i] = 1;
		nr++;
		kvp_audit_step(run);
	}
	kvp_audit_equal(run, KVP_FINDING_EXTRA, KVP_NO_FAMILY, KVP_NIL, pool->digests_free, nr);
	for (i = 0; i < pool->nr_digests; i++) {
		kvp_audit_equal(run, KVP_FINDING_EXTRA, KVP_NO_FAMILY, i, pool->digests[i].used,
				run->digest[i]);
		kvp_audit_equal(run, KVP_FINDING_EXTRA, KVP_NO_FAMILY, i, run->digest_listed[i],
				!run->digest[i]);
		kvp_audit_step(run);
	}
}

/**
 * kvp_audit_index - look at the whole index
 * @run: the audit, after kvp_audit_clients()
 */
void kvp_audit_index(struct kvp_audit_run *run)
{
	struct kvp_pool *pool = run->pool;
	u64 published = 0;
	u64 roots = 0;
	u32 i;

	kvp_audit_free_nodes(run);
	kvp_audit_lru(run);
	kvp_audit_links(run);
	kvp_audit_hash(run);
	for (i = 0; i < pool->nr_nodes; i++) {
		kvp_audit_node(run, i);
		published += pool->nodes[i].state == KVP_NODE_PUBLISHED;
		roots += pool->nodes[i].state == KVP_NODE_ROOT;
		kvp_audit_step(run);
	}
	kvp_audit_equal(run, KVP_FINDING_STATE, KVP_NO_FAMILY, KVP_NODE_PUBLISHED,
			pool->nodes_published, published);
	kvp_audit_equal(run, KVP_FINDING_STATE, KVP_NO_FAMILY, KVP_NODE_ROOT, pool->nr_roots,
			roots);
	kvp_audit_digests(run);
}

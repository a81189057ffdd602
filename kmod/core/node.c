// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The index: a tree of nodes under one root per namespace, and the list of nodes
 * in the order of their last use; lookup.c finds a node in it. Everything here is
 * under kvp_pool.lock, except making and ending an index.
 *
 * The list is lazy: a node stands on it from the moment its last holder lets
 * go. Reclaim, which starts at the oldest end, takes a node off when it meets
 * it; one that cannot be reclaimed then (held again, referenced, or with
 * children) comes back when that ends. So holding a prefix does not touch the
 * list at all.
 */
#include "core.h"

static int kvp_digests_init(struct kvp_pool *pool, u64 *bytes)
{
	u32 i;

	pool->digests = kvp_arena_alloc(pool->nr_digests, sizeof(*pool->digests), bytes);
	if (!pool->digests)
		return -ENOMEM;
	for (i = 0; i < pool->nr_digests; i++)
		pool->digests[i].next = i + 1 < pool->nr_digests ? i + 1 : KVP_NIL;
	pool->free_digest = 0;
	pool->digests_free = pool->nr_digests;
	return 0;
}

/**
 * kvp_index_init - make an empty index
 * @pool: with nr_nodes, nr_digests, index_tokens and parts_per_node set
 * @bytes: grows by what was allocated
 *
 * Return: 0, or -ENOMEM (kvp_index_exit() then ends what was made).
 */
int kvp_index_init(struct kvp_pool *pool, u64 *bytes)
{
	u32 i;

	pool->nodes = kvp_arena_alloc(pool->nr_nodes, sizeof(*pool->nodes), bytes);
	pool->tokens = kvp_arena_alloc((u64)pool->nr_nodes * pool->index_tokens,
				       sizeof(*pool->tokens), bytes);
	if (!pool->nodes || !pool->tokens || kvp_hash_init(pool, bytes))
		return -ENOMEM;
	if (pool->parts_per_node > 1) {
		pool->parts = kvp_arena_alloc((u64)pool->nr_nodes * pool->parts_per_node,
					      sizeof(*pool->parts), bytes);
		if (!pool->parts)
			return -ENOMEM;
	}

	for (i = 0; i < pool->nr_nodes; i++)
		pool->nodes[i].next = i + 1 < pool->nr_nodes ? i + 1 : KVP_NIL;
	pool->free_node = 0;
	pool->nodes_free = pool->nr_nodes;
	pool->oldest = KVP_NIL;
	pool->newest = KVP_NIL;
	pool->dead = KVP_NIL;
	return kvp_digests_init(pool, bytes);
}

/**
 * kvp_index_exit - end an index, however far it was made
 * @pool: the pool
 */
void kvp_index_exit(struct kvp_pool *pool)
{
	vfree(pool->nodes);
	vfree(pool->tokens);
	vfree(pool->parts);
	vfree(pool->buckets);
	vfree(pool->digests);
}

/* @head: where a list of siblings, or of dead subtrees, begins. */
static void kvp_sibling_add_locked(struct kvp_pool *pool, u32 *head, u32 index)
{
	struct kvp_node *node = &pool->nodes[index];

	node->prev = KVP_NIL;
	node->next = *head;
	if (*head != KVP_NIL)
		pool->nodes[*head].prev = index;
	*head = index;
}

static void kvp_sibling_del_locked(struct kvp_pool *pool, u32 *head, u32 index)
{
	struct kvp_node *node = &pool->nodes[index];

	if (node->prev == KVP_NIL)
		*head = node->next;
	else
		pool->nodes[node->prev].next = node->next;
	if (node->next != KVP_NIL)
		pool->nodes[node->next].prev = node->prev;
}

/**
 * kvp_index_insert_locked - make a node part of the tree
 * @pool: the pool
 * @index: the node, with its contents and hash; not in the tree
 * @parent: its parent
 * @first: hash of the first node of its run, see kvp_hash_place()
 */
void kvp_index_insert_locked(struct kvp_pool *pool, u32 index, u32 parent, u64 first)
{
	struct kvp_node *node = &pool->nodes[index];

	node->parent = parent;
	node->depth = pool->nodes[parent].depth + 1;
	node->state = KVP_NODE_PUBLISHED;
	kvp_sibling_add_locked(pool, &pool->nodes[parent].child, index);
	kvp_hash_add_locked(pool, index, first);
	pool->nodes_published++;
}

/**
 * kvp_index_insert_root_locked - make a node a namespace
 * @pool: the pool
 * @index: the node, with hash and extra set; not in the tree
 */
void kvp_index_insert_root_locked(struct kvp_pool *pool, u32 index)
{
	pool->nodes[index].state = KVP_NODE_ROOT;
	kvp_hash_add_locked(pool, index, 0);
	pool->nr_roots++;
}

/**
 * kvp_index_unlink_locked - take a published node without children out of the tree
 * @pool: the pool
 * @index: the node; keeps its parent, depth and flags, and is a VICTIM
 */
void kvp_index_unlink_locked(struct kvp_pool *pool, u32 index)
{
	struct kvp_node *node = &pool->nodes[index];

	if (node->flags & KVP_NODE_CUT) {
		kvp_sibling_del_locked(pool, &pool->dead, index);
	} else {
		kvp_hash_del_locked(pool, index);
		kvp_sibling_del_locked(pool, &pool->nodes[node->parent].child, index);
		kvp_node_relist_locked(pool, node->parent);
	}
	node->state = KVP_NODE_VICTIM;
	pool->nodes_published--;
}

/* The hash that chooses the lines of buckets of a node: that of the first of its run. */
static u64 kvp_first_hash_locked(const struct kvp_pool *pool, u32 index)
{
	u32 steps = (pool->nodes[index].depth - 1) % KVP_HASH_RUN;

	while (steps--)
		index = pool->nodes[index].parent;
	return pool->nodes[index].hash;
}

/**
 * kvp_index_relink_locked - undo kvp_index_unlink_locked()
 * @pool: the pool
 * @index: the VICTIM; its parent is still there
 *
 * Return: false if equal contents were published meanwhile (nothing happened).
 */
bool kvp_index_relink_locked(struct kvp_pool *pool, u32 index)
{
	struct kvp_node *node = &pool->nodes[index];
	u64 first;

	if (node->flags & KVP_NODE_CUT) {
		node->state = KVP_NODE_PUBLISHED;
		pool->nodes_published++;
		kvp_sibling_add_locked(pool, &pool->dead, index);
		return true;
	}
	first = kvp_first_hash_locked(pool, index);
	if (kvp_index_child_locked(pool, node->parent, first, node->hash,
				   kvp_node_tokens(pool, index),
				   node->extra == KVP_NIL ? NULL :
				   pool->digests[node->extra].byte) != KVP_NIL)
		return false;
	kvp_index_insert_locked(pool, index, node->parent, first);
	return true;
}

/**
 * kvp_index_cut_locked - make a subtree unreachable for matches
 * @pool: the pool
 * @index: its top: a published node or a root, not cut yet
 *
 * O(1). Its nodes are reclaimed, first of all, as their holders let go. Until then the top
 * keeps a reference on its parent: a match that ends below it still holds its whole prefix.
 */
void kvp_index_cut_locked(struct kvp_pool *pool, u32 index)
{
	struct kvp_node *node = &pool->nodes[index];

	kvp_hash_del_locked(pool, index);
	if (node->state == KVP_NODE_PUBLISHED) {
		kvp_sibling_del_locked(pool, &pool->nodes[node->parent].child, index);
		pool->nodes[node->parent].refs++;
	}
	node->flags |= KVP_NODE_CUT;
	kvp_sibling_add_locked(pool, &pool->dead, index);
	pool->counters.invalidated++;
	if (node->state == KVP_NODE_ROOT)
		kvp_node_settle_locked(pool, index);
}

/**
 * kvp_prefetch_parts_locked - the blocks of a node will be touched soon
 * @pool: the pool
 * @index: the node; its parts should be in the cache
 *
 * Of each family the first: the others lie beside it more often than not.
 */
void kvp_prefetch_parts_locked(const struct kvp_pool *pool, u32 index)
{
	const u32 *part = kvp_node_parts(pool, index);
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		const struct kvp_family *family = &pool->family[i];

		if (family->parts && part[family->first_part] != KVP_NIL)
			prefetch(&family->blocks[part[family->first_part]]);
	}
}

/**
 * kvp_node_idle_locked - whether nobody holds a published node or its blocks
 * @pool: the pool
 * @index: the node
 *
 * It may still be referenced or have children. Return: whether it is idle.
 */
bool kvp_node_idle_locked(struct kvp_pool *pool, u32 index)
{
	const struct kvp_node *node = &pool->nodes[index];

	return node->state == KVP_NODE_PUBLISHED && !node->uses && !node->held;
}

/**
 * kvp_node_reclaimable_locked - whether reclaim may take a node now
 * @pool: the pool
 * @index: the node
 *
 * Return: whether it is idle, not referenced, and a leaf.
 */
bool kvp_node_reclaimable_locked(struct kvp_pool *pool, u32 index)
{
	const struct kvp_node *node = &pool->nodes[index];

	return !node->refs && node->child == KVP_NIL && kvp_node_idle_locked(pool, index);
}

static void kvp_root_to_free_locked(struct kvp_pool *pool, u32 index)
{
	struct kvp_node *root = &pool->nodes[index];

	if (root->uses || root->refs || root->child != KVP_NIL)
		return;
	if (root->flags & KVP_NODE_CUT)
		kvp_sibling_del_locked(pool, &pool->dead, index);
	else
		kvp_hash_del_locked(pool, index);
	pool->nr_roots--;
	kvp_node_to_free_locked(pool, index);
}

/**
 * kvp_node_settle_locked - a holder of a node let go just now
 * @pool: the pool
 * @index: the node
 *
 * If it was the last: a published node becomes the most recently used one, a private
 * node is free, and so is a root without children.
 */
void kvp_node_settle_locked(struct kvp_pool *pool, u32 index)
{
	struct kvp_node *node = &pool->nodes[index];

	switch (node->state) {
	case KVP_NODE_ROOT:
		kvp_root_to_free_locked(pool, index);
		break;
	case KVP_NODE_PRIVATE:
		if (!node->uses)
			kvp_node_to_free_locked(pool, index);
		break;
	case KVP_NODE_PUBLISHED:
		if (!kvp_node_idle_locked(pool, index))
			break;
		kvp_lru_del_locked(pool, index);
		kvp_lru_add_newest_locked(pool, index);
		break;
	default:
		WARN_ON_ONCE(1);
	}
}

/**
 * kvp_node_relist_locked - what kept a node from being reclaimed has ended
 * @pool: the pool
 * @index: a node, whose reference or child is gone; a root may end
 *
 * Reclaim may have met it meanwhile and taken it off the list. It was the
 * oldest then, so it goes to that end; this is not a use.
 */
void kvp_node_relist_locked(struct kvp_pool *pool, u32 index)
{
	if (pool->nodes[index].state == KVP_NODE_ROOT)
		kvp_root_to_free_locked(pool, index);
	else if (!(pool->nodes[index].flags & KVP_NODE_ON_LRU) &&
		 kvp_node_reclaimable_locked(pool, index))
		kvp_lru_add_oldest_locked(pool, index);
}

/**
 * kvp_node_unuse_locked - a run table names a node no longer
 * @pool: the pool
 * @index: the node
 */
void kvp_node_unuse_locked(struct kvp_pool *pool, u32 index)
{
	if (WARN_ON_ONCE(!pool->nodes[index].uses))
		return;
	if (!--pool->nodes[index].uses)
		kvp_node_settle_locked(pool, index);
}

/**
 * kvp_node_undo_use_locked - take back a use by a call that comes to nothing
 * @pool: the pool
 * @index: the node
 *
 * As kvp_node_unuse_locked(), but the node does not count as used.
 */
void kvp_node_undo_use_locked(struct kvp_pool *pool, u32 index)
{
	if (pool->nodes[index].state != KVP_NODE_PUBLISHED) {
		kvp_node_unuse_locked(pool, index);
		return;
	}
	pool->nodes[index].uses--;
	kvp_node_relist_locked(pool, index);
}

/**
 * kvp_node_unpin_locked - one reference on a node less, which only a reclaim had
 * @pool: the pool
 * @index: the node
 *
 * Nobody who waits need look again. Return: whether it was the last.
 */
bool kvp_node_unpin_locked(struct kvp_pool *pool, u32 index)
{
	struct kvp_node *node = &pool->nodes[index];

	if (WARN_ON_ONCE(!node->refs))
		return false;
	if (--node->refs)
		return false;
	kvp_node_relist_locked(pool, index);
	return true;
}

/**
 * kvp_node_put_locked - one reference on a node less; this is not a use
 * @pool: the pool
 * @index: the node
 */
void kvp_node_put_locked(struct kvp_pool *pool, u32 index)
{
	if (kvp_node_unpin_locked(pool, index))
		pool->came_back++;
}

/**
 * kvp_node_to_free_locked - put a node on the free list, with its digest
 * @pool: the pool
 * @index: the node, in no tree, hash or list, named by nobody
 */
void kvp_node_to_free_locked(struct kvp_pool *pool, u32 index)
{
	struct kvp_node *node = &pool->nodes[index];

	if (node->state != KVP_NODE_RESERVED && node->extra != KVP_NIL)
		kvp_digest_to_free_locked(pool, node->extra);
	memset(node, 0, sizeof(*node));
	node->next = pool->free_node;
	pool->free_node = index;
	pool->nodes_free++;
}

/**
 * kvp_digest_to_free_locked - put a digest on the free list
 * @pool: the pool
 * @index: the digest
 */
void kvp_digest_to_free_locked(struct kvp_pool *pool, u32 index)
{
	pool->digests[index].used = 0;
	pool->digests[index].next = pool->free_digest;
	pool->free_digest = index;
	pool->digests_free++;
}

/**
 * kvp_lru_add_newest_locked - a node was used just now
 * @pool: the pool
 * @index: a node that is not on the list
 */
void kvp_lru_add_newest_locked(struct kvp_pool *pool, u32 index)
{
	struct kvp_node *node = &pool->nodes[index];

	node->flags |= KVP_NODE_ON_LRU;
	node->newer = KVP_NIL;
	node->older = pool->newest;
	if (pool->newest == KVP_NIL)
		pool->oldest = index;
	else
		pool->nodes[pool->newest].newer = index;
	pool->newest = index;
}

/**
 * kvp_lru_add_oldest_locked - a node may be reclaimed before all others
 * @pool: the pool
 * @index: a node that is not on the list
 */
void kvp_lru_add_oldest_locked(struct kvp_pool *pool, u32 index)
{
	struct kvp_node *node = &pool->nodes[index];

	node->flags |= KVP_NODE_ON_LRU;
	node->older = KVP_NIL;
	node->newer = pool->oldest;
	if (pool->oldest == KVP_NIL)
		pool->newest = index;
	else
		pool->nodes[pool->oldest].older = index;
	pool->oldest = index;
}

/**
 * kvp_lru_del_locked - take a node off the list
 * @pool: the pool
 * @index: the node; it may be off already
 */
void kvp_lru_del_locked(struct kvp_pool *pool, u32 index)
{
	struct kvp_node *node = &pool->nodes[index];

	if (!(node->flags & KVP_NODE_ON_LRU))
		return;
	node->flags &= ~KVP_NODE_ON_LRU;
	if (node->older == KVP_NIL)
		pool->oldest = node->newer;
	else
		pool->nodes[node->older].newer = node->newer;
	if (node->newer == KVP_NIL)
		pool->newest = node->older;
	else
		pool->nodes[node->newer].older = node->older;
}

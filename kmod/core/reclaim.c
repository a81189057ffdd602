// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Reclaim: idle published nodes back for reuse, least recently used leaf first;
 * subtrees that were invalidated before all others.
 *
 * Victims are first taken off the tree, in the order in which they would go.
 * Only when they suffice are their blocks handed to the call; else all of them
 * are put back, so that a call that fails has reclaimed nothing. The lock may be
 * dropped in between; kvp_pool.reclaim sees to it that nobody else reclaims
 * then, so a victim's parent is still there when the victim is put back.
 */
#include "core.h"

/* Dead subtrees that are tried before the living are asked. */
#define KVP_DEAD_TRIES	4
/* Victims for want of a digest, at most. */
#define KVP_DIGEST_VICTIMS	256
/* Victims of KVP_OP_PREFIX_RECLAIM that end together. */
#define KVP_RECLAIM_AT_ONCE	64

/**
 * struct kvp_haul - victims of one reclaim
 * @last: the last one taken; the others follow through next
 * @nodes: how many
 * @roots: namespaces that end with them
 * @digests: extra digests among them
 * @blocks: blocks that can be used again, by family
 * @dead: where to go on in a dead subtree, or KVP_NIL
 */
struct kvp_haul {
	u32 last;
	u64 nodes;
	u64 roots;
	u64 digests;
	u64 blocks[KVP_MAX_FAMILIES];
	u32 dead;
};

/*
 * A reclaimable leaf below a dead node, or KVP_NIL. Not looked for at any depth: what is not
 * found here goes in its turn.
 */
static u32 kvp_dead_leaf_locked(struct kvp_pool *pool, u32 index)
{
	u32 steps = KVP_SLICE / (2 * KVP_DEAD_TRIES);

	while (pool->nodes[index].child != KVP_NIL && --steps)
		index = pool->nodes[index].child;
	return kvp_node_reclaimable_locked(pool, index) ? index : KVP_NIL;
}

/* The @nth subtree that was cut off, or KVP_NIL. */
static u32 kvp_dead_top_locked(struct kvp_pool *pool, u32 nth)
{
	u32 top = pool->dead;

	while (nth-- && top != KVP_NIL)
		top = pool->nodes[top].next;
	return top;
}

/*
 * The next victim among what was invalidated, or KVP_NIL: from where the last one hung,
 * then from the tops.
 */
static u32 kvp_next_dead_locked(struct kvp_pool *pool, struct kvp_haul *haul)
{
	u32 top = haul->dead;
	u32 leaf = KVP_NIL;
	u32 tries = 0;

	if (top == KVP_NIL)
		top = kvp_dead_top_locked(pool, tries++);
	while (top != KVP_NIL) {
		/* A root is no victim, what is below it may be. */
		if (pool->nodes[top].state == KVP_NODE_ROOT)
			top = pool->nodes[top].child;
		if (top != KVP_NIL)
			leaf = kvp_dead_leaf_locked(pool, top);
		if (leaf != KVP_NIL || tries == KVP_DEAD_TRIES)
			break;
		top = kvp_dead_top_locked(pool, tries++);
	}
	haul->dead = KVP_NIL;
	if (leaf != KVP_NIL && !(pool->nodes[leaf].flags & KVP_NODE_CUT))
		haul->dead = pool->nodes[leaf].parent;
	return leaf;
}

/* The victims after this one are fetched, as far as they can be known, while it is dealt with. */
static void kvp_prefetch_victims_locked(struct kvp_pool *pool)
{
	u32 next = pool->oldest;
	u32 index;

	if (next == KVP_NIL)
		return;
	kvp_prefetch_parts_locked(pool, next);
	index = pool->nodes[next].newer;
	if (index != KVP_NIL) {
		prefetch(&pool->nodes[index]);
		prefetch(kvp_node_parts(pool, index));
	}
}

/* The next victim, off the lru list, or KVP_NIL. */
static u32 kvp_next_victim_sliced(struct kvp_pool *pool, struct kvp_haul *haul)
{
	u32 index;

	/* Its blocks are looked at, too, when it is taken. */
	kvp_slice_room(pool, 1 + pool->parts_per_node);
	index = kvp_next_dead_locked(pool, haul);
	if (index != KVP_NIL) {
		kvp_lru_del_locked(pool, index);
		return index;
	}
	for (;;) {
		index = pool->oldest;
		if (index == KVP_NIL)
			return KVP_NIL;
		/* One that cannot go now comes back by itself: see node.c. */
		kvp_lru_del_locked(pool, index);
		kvp_prefetch_victims_locked(pool);
		if (kvp_node_reclaimable_locked(pool, index))
			return index;
		pool->touched++;
		kvp_slice_room(pool, 1 + pool->parts_per_node);
	}
}

/*
 * Take a victim off the tree. A namespace ends with its last child, but not while a victim may
 * come back: that keeps a reference on it (one that was cut off has it already). On another
 * parent none is kept, which may become a victim next.
 */
static void kvp_victim_unlink_locked(struct kvp_pool *pool, struct kvp_haul *haul, u32 index)
{
	struct kvp_node *node = &pool->nodes[index];
	struct kvp_node *parent = &pool->nodes[node->parent];
	bool cut = node->flags & KVP_NODE_CUT;

	if (parent->state != KVP_NODE_ROOT) {
		kvp_index_unlink_locked(pool, index);
		if (cut)
			kvp_node_unpin_locked(pool, node->parent);
		return;
	}
	node->flags |= KVP_NODE_PINS;
	parent->refs += !cut;
	parent->nr_tokens++;
	kvp_index_unlink_locked(pool, index);
	if (parent->child == KVP_NIL && !parent->uses && parent->refs == parent->nr_tokens)
		haul->roots++;
}

static void kvp_victim_unpin_locked(struct kvp_pool *pool, u32 index)
{
	struct kvp_node *node = &pool->nodes[index];

	if (!(node->flags & KVP_NODE_PINS))
		return;
	node->flags &= ~KVP_NODE_PINS;
	pool->nodes[node->parent].nr_tokens--;
	kvp_node_unpin_locked(pool, node->parent);
}

static void kvp_haul_add_locked(struct kvp_pool *pool, struct kvp_haul *haul, u32 index)
{
	struct kvp_node *node = &pool->nodes[index];
	const u32 *part = kvp_node_parts(pool, index);
	u32 i, j;

	kvp_victim_unlink_locked(pool, haul, index);
	kvp_event_unlinked_locked(pool, index);
	node->next = haul->last;
	haul->last = index;
	haul->nodes++;
	haul->digests += node->extra != KVP_NIL;
	pool->touched += 1 + pool->parts_per_node;
	for (i = 0; i < pool->nr_families; i++) {
		const struct kvp_family *family = &pool->family[i];

		for (j = 0; j < family->parts; j++, part++)
			if (*part != KVP_NIL &&
			    (family->blocks[*part].word & KVP_GEN_MAX) != KVP_GEN_MAX)
				haul->blocks[i]++;
	}
}

static u32 kvp_haul_pop_locked(struct kvp_pool *pool, struct kvp_haul *haul)
{
	u32 index = haul->last;

	haul->last = pool->nodes[index].next;
	pool->nodes[index].next = KVP_NIL;
	return index;
}

static void kvp_victim_blocks_locked(struct kvp_pool *pool, u32 index, u32 slot,
				     const struct kvp_need *need, struct kvp_taken *taken)
{
	u32 *part = kvp_node_parts(pool, index);
	u32 i, j;

	for (i = 0; i < pool->nr_families; i++) {
		struct kvp_family *family = &pool->family[i];

		for (j = 0; j < family->parts; j++, part++) {
			if (*part == KVP_NIL)
				continue;
			family->blocks[*part].node = KVP_NIL;
			--*family->published;
			pool->counters.reclaimed_blocks++;
			if (!kvp_block_recycle_locked(family, *part))
				continue;
			if (taken->nr_blocks[i] < need->blocks[i])
				kvp_block_to_taken_locked(family, *part, slot, taken);
			else
				kvp_block_to_free_locked(family, *part);
		}
	}
}

/* The end of a victim: what it had goes to @taken up to @need, else it is free. */
static void kvp_victim_end_locked(struct kvp_pool *pool, u32 index, u32 slot,
				  const struct kvp_need *need, struct kvp_taken *taken)
{
	struct kvp_node *node = &pool->nodes[index];

	kvp_victim_unpin_locked(pool, index);
	kvp_victim_blocks_locked(pool, index, slot, need, taken);
	pool->counters.reclaimed_nodes++;
	if (node->extra != KVP_NIL && taken->nr_digests < need->digests) {
		pool->digests[node->extra].next = taken->digests;
		taken->digests = node->extra;
		taken->nr_digests++;
		node->extra = KVP_NIL;
	}
	if (taken->nr_nodes < need->nodes) {
		if (node->extra != KVP_NIL)
			kvp_digest_to_free_locked(pool, node->extra);
		node->state = KVP_NODE_RESERVED;
		node->next = taken->nodes;
		taken->nodes = index;
		taken->nr_nodes++;
	} else {
		kvp_node_to_free_locked(pool, index);
	}
}

static void kvp_haul_end_sliced(struct kvp_pool *pool, struct kvp_haul *haul, u32 slot,
				const struct kvp_need *need, struct kvp_taken *taken)
{
	kvp_event_removed_sliced(pool, haul->last);
	while (haul->last != KVP_NIL) {
		/* With the last one that was taken before, of each family. */
		kvp_slice_next(pool, 1 + pool->nr_families + pool->parts_per_node);
		kvp_victim_end_locked(pool, kvp_haul_pop_locked(pool, haul), slot, need, taken);
	}
	/* It may have been a namespace, which has ended with them. */
	haul->dead = KVP_NIL;
}

/*
 * Put a victim back where it was; false if its place is taken by equal contents
 * that were published meanwhile, or if that befell its parent.
 */
static bool kvp_victim_restore_locked(struct kvp_pool *pool, u32 index)
{
	u32 parent = pool->nodes[index].parent;

	if (pool->nodes[parent].state == KVP_NODE_VICTIM)
		return false;
	if (!kvp_index_relink_locked(pool, index))
		return false;
	/* One that was cut off has its reference on the parent again. */
	if (pool->nodes[index].flags & KVP_NODE_CUT)
		pool->nodes[parent].refs++;
	kvp_event_relinked_locked(pool, index);
	kvp_victim_unpin_locked(pool, index);
	kvp_lru_add_oldest_locked(pool, index);
	return true;
}

/* Last taken first back, so that parents are there before their children. */
static void kvp_haul_restore_sliced(struct kvp_pool *pool, struct kvp_haul *haul)
{
	struct kvp_haul lost = { .last = KVP_NIL };
	const struct kvp_need nothing = { };
	struct kvp_taken none = { };

	while (haul->last != KVP_NIL) {
		u32 index = kvp_haul_pop_locked(pool, haul);

		if (!kvp_victim_restore_locked(pool, index)) {
			pool->nodes[index].next = lost.last;
			lost.last = index;
		}
		kvp_slice_step(pool, 1);
	}
	kvp_haul_end_sliced(pool, &lost, KVP_NIL, &nothing, &none);
}

/* Whether @taken and @haul together fall short of @need, and in what. */
static bool kvp_haul_short(const struct kvp_pool *pool, const struct kvp_haul *haul,
			   const struct kvp_need *need, const struct kvp_taken *taken,
			   enum kvp_reason *reason, u32 *where)
{
	u32 i;

	*where = 0;
	for (i = 0; i < pool->nr_families; i++)
		if (taken->nr_blocks[i] + haul->blocks[i] < need->blocks[i]) {
			*reason = KVP_REASON_COVERED;
			*where = i;
			return true;
		}
	*reason = KVP_REASON_NODES;
	if (taken->nr_nodes + haul->nodes + haul->roots < need->nodes)
		return true;
	*reason = KVP_REASON_EXTRAS;
	return taken->nr_digests + haul->digests + haul->roots < need->digests;
}

static void kvp_reclaim_begin_sliced(struct kvp_pool *pool)
{
	kvp_unlock(pool);
	mutex_lock(&pool->reclaim);
	kvp_lock(pool);
}

static void kvp_reclaim_end_sliced(struct kvp_pool *pool)
{
	kvp_unlock(pool);
	mutex_unlock(&pool->reclaim);
	kvp_lock(pool);
}

/**
 * kvp_reclaim_sliced - complete what a call has taken by reclaim
 * @call: the call
 * @need: what it needs
 * @taken: what it got from the free lists, and gets here
 *
 * Return: 0; or kvp_refuse_locked() with -ENOSPC, nothing reclaimed, @taken to be given
 * back by the caller.
 */
int kvp_reclaim_sliced(struct kvp_call *call, const struct kvp_need *need,
		       struct kvp_taken *taken)
{
	struct kvp_haul haul = { .last = KVP_NIL, .dead = KVP_NIL };
	const struct kvp_haul nothing = { };
	struct kvp_pool *pool = call->pool;
	enum kvp_reason reason;
	int err = 0;
	u32 where;

	kvp_reclaim_begin_sliced(pool);
	/* Others may have let go while we waited. */
	kvp_take_free_sliced(call->client, need, taken);
	while (kvp_haul_short(pool, &haul, need, taken, &reason, &where)) {
		u32 index = KVP_NIL;

		/* For a digest, which few have, not the whole index goes. */
		if (reason != KVP_REASON_EXTRAS || haul.nodes < KVP_DIGEST_VICTIMS)
			index = kvp_next_victim_sliced(pool, &haul);
		if (index == KVP_NIL) {
			err = kvp_refuse_locked(call, -ENOSPC, reason, where);
			break;
		}
		kvp_haul_add_locked(pool, &haul, index);
	}
	if (err) {
		kvp_haul_restore_sliced(pool, &haul);
	} else {
		kvp_haul_end_sliced(pool, &haul, call->client->slot, need, taken);
		/* What a namespace had is free now, unless somebody came back to it. */
		kvp_take_free_sliced(call->client, need, taken);
		if (kvp_haul_short(pool, &nothing, need, taken, &reason, &where))
			err = kvp_refuse_locked(call, -ENOSPC, reason, where);
	}
	kvp_reclaim_end_sliced(pool);
	return err;
}

/**
 * kvp_op_prefix_reclaim - KVP_OP_PREFIX_RECLAIM
 * @call: struct kvp_prefix_reclaim
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_prefix_reclaim(struct kvp_call *call)
{
	struct kvp_haul haul = { .last = KVP_NIL, .dead = KVP_NIL };
	struct kvp_prefix_reclaim *arg = call->arg;
	const struct kvp_need nothing = { };
	struct kvp_pool *pool = call->pool;
	struct kvp_taken none = { };
	u32 index;

	if (!arg->nodes)
		return kvp_fail(call, -EINVAL, KVP_REASON_COUNT, 0);
	kvp_lock(pool);
	kvp_reclaim_begin_sliced(pool);
	kvp_settle_sliced(pool);
	while (haul.nodes < arg->nodes) {
		index = kvp_next_victim_sliced(pool, &haul);
		if (index == KVP_NIL)
			break;
		kvp_haul_add_locked(pool, &haul, index);
		/* This cannot fail: what is in the cache need not wait for the rest. */
		if (!(haul.nodes % KVP_RECLAIM_AT_ONCE))
			kvp_haul_end_sliced(pool, &haul, KVP_NIL, &nothing, &none);
	}
	arg->nodes = haul.nodes;
	kvp_haul_end_sliced(pool, &haul, KVP_NIL, &nothing, &none);
	kvp_reclaim_end_sliced(pool);
	kvp_unlock(pool);
	return 0;
}

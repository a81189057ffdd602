// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The way from a root along the contents of a prompt. The hashes depend on
 * contents only, so they are computed ahead, without the lock, and memory is at
 * work meanwhile: while the nodes of the lookups after next are hashed, those of
 * the next lookups are fetched.
 */
#include "core.h"

/**
 * kvp_walk_init - stand at a root
 * @walk: the walk
 * @pool: the pool
 * @root: the namespace's node
 * @root_hash: its hash
 * @in: ids and digests, from position 0
 * @limit: tokens at most to go, 0: no limit
 */
void kvp_walk_init(struct kvp_walk *walk, struct kvp_pool *pool, u32 root, u64 root_hash,
		   const struct kvp_ids_in *in, u64 limit)
{
	u64 tokens = limit ? min_t(u64, limit, in->nr) : in->nr;

	walk->pool = pool;
	walk->node = root;
	walk->depth = 0;
	walk->nr_nodes = tokens / pool->index_tokens;
	walk->usable = 0;
	walk->in = in;
	walk->extra = 0;
	memset(walk->missing, 0, sizeof(walk->missing));
	walk->last_hash = root_hash;
	walk->hashed_extra = 0;
	walk->ready = 0;
	walk->hashed = 0;
}

/* The digest of node @depth, if @at, which moves along, has come to it. */
static const u8 *kvp_walk_extra(const struct kvp_ids_in *in, u64 depth, u32 *at)
{
	if (*at < in->nr_extras && in->extras[*at].node == depth)
		return in->extras[(*at)++].digest;
	return NULL;
}

/* Hash the next node, and have its buckets fetched. */
static void kvp_walk_hash(struct kvp_walk *walk)
{
	u64 node = walk->hashed++;

	walk->last_hash = kvp_content_hash(walk->pool, walk->last_hash,
					   walk->in->tokens + node * walk->pool->index_tokens,
					   kvp_walk_extra(walk->in, node, &walk->hashed_extra));
	walk->hash[node % KVP_WALK_HASHES] = walk->last_hash;
	if (!(node % KVP_HASH_RUN))
		kvp_hash_prefetch(walk->pool, walk->last_hash);
}

/**
 * kvp_walk_ahead - compute the hashes of the nodes to look up next
 * @walk: the walk
 *
 * Return: whether there are any: not at the end, and not after a miss.
 */
bool kvp_walk_ahead(struct kvp_walk *walk)
{
	struct kvp_pool *pool = walk->pool;
	u32 most = max(min_t(u32, KVP_WALK, KVP_SLICE / (1 + pool->parts_per_node)), 1U);
	u64 node = walk->ready;
	u64 end;

	/* So that the hash of the first node of a run is still there when its last is looked up. */
	if (most > KVP_HASH_RUN)
		most -= most % KVP_HASH_RUN;
	if (walk->depth < walk->ready || walk->depth == walk->nr_nodes)
		return false;
	walk->ready = min(walk->ready + most, walk->nr_nodes);
	while (walk->hashed < walk->ready)
		kvp_walk_hash(walk);
	end = min(walk->ready + most, walk->nr_nodes);
	for (; node < walk->ready; node++) {
		kvp_hash_prefetch_node(pool, kvp_walk_first_of(walk, node), node + 1,
				       kvp_walk_hash_of(walk, node));
		if (walk->hashed < end)
			kvp_walk_hash(walk);
	}
	return true;
}

/* Whether every family could go on after the nodes passed so far. */
static bool kvp_walk_families_locked(struct kvp_walk *walk)
{
	struct kvp_pool *pool = walk->pool;
	const u32 *part = kvp_node_parts(pool, walk->node);
	bool usable = !pool->has_states;
	u32 i, j;

	if (!pool->has_windows)
		return usable;
	for (i = 0; i < pool->nr_families; i++) {
		const struct kvp_family *family = &pool->family[i];
		u64 computed = walk->depth * pool->index_tokens;

		for (j = 0; j < family->parts; j++, part++)
			if (*part == KVP_NIL)
				walk->missing[i] = (walk->depth - 1) * family->parts + j + 1;
		if (family->desc.kind == KVP_FAMILY_WINDOW &&
		    walk->missing[i] > kvp_window_start(family, computed) /
				       family->desc.block_tokens)
			usable = false;
	}
	return usable;
}

/**
 * kvp_walk_next_locked - go on to the child with the next hashed contents
 * @walk: the walk
 *
 * Return: index of the node, which may be deeper than what is usable; KVP_NIL
 * at the end of the hashed ones, or if there is no such child.
 */
u32 kvp_walk_next_locked(struct kvp_walk *walk)
{
	struct kvp_pool *pool = walk->pool;
	u32 extra = walk->extra;
	const u8 *digest;
	u32 index;

	if (walk->depth == walk->ready)
		return KVP_NIL;
	digest = kvp_walk_extra(walk->in, walk->depth, &extra);
	index = kvp_index_child_locked(pool, walk->node, kvp_walk_first_of(walk, walk->depth),
				       kvp_walk_hash_of(walk, walk->depth),
				       walk->in->tokens + walk->depth * pool->index_tokens,
				       digest);
	if (index == KVP_NIL)
		return KVP_NIL;
	walk->extra = extra;
	walk->node = index;
	walk->depth++;
	if (kvp_walk_families_locked(walk))
		walk->usable = walk->depth;
	return index;
}

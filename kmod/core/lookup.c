// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Finding nodes by their contents. The hash is an array of buckets; a bucket has
 * its node's index and 32 bits of the node's hash, so a lookup reads, all but
 * always, only the node that it looks for.
 *
 * A prefix is looked up as a whole, so its nodes lie together: every KVP_HASH_RUN
 * nodes of a path have two lines of buckets, which the hash of the first of them
 * chooses, and each node has its own place in them. One that finds both places taken
 * (by another branch, or other paths) goes where its own hash says, or, as long as
 * buckets are taken there too, to the next one. So nearly all lookups of a prefix find
 * their bucket in a line that the one before has read; and all addresses follow
 * from contents, so they are known before they are needed.
 *
 * All of it is under kvp_pool.lock, except the hints to the cache, which may see a
 * bucket in the middle of a change: they only guess.
 */
#include "core.h"

#ifdef KVP_TEST_BROKEN_COMPARE
/* A test build that trusts a few bits of the hash, to prove that a wrong hit is noticed. */
#define KVP_HASH_COMPARED	0x3ULL
#define KVP_CONTENTS_COMPARED	0
#else
#define KVP_HASH_COMPARED	(~0ULL)
#define KVP_CONTENTS_COMPARED	1
#endif

#define KVP_LINE_BUCKETS	8	/* in a line of the cache */

/**
 * kvp_hash_init - make the buckets, all empty
 * @pool: with nr_nodes set
 * @bytes: grows by what was allocated
 *
 * There are at least two buckets a node, so that runs are short and never fill the
 * array. Return: 0 or -ENOMEM.
 */
int kvp_hash_init(struct kvp_pool *pool, u64 *bytes)
{
	u64 nr = max_t(u64, roundup_pow_of_two(2ULL * pool->nr_nodes), KVP_HASH_RUN);

	pool->buckets = kvp_arena_alloc(nr, sizeof(*pool->buckets), bytes);
	if (!pool->buckets)
		return -ENOMEM;
	memset(pool->buckets, 0xff, nr * sizeof(*pool->buckets));
	pool->bucket_mask = nr - 1;
	return 0;
}

static inline u32 kvp_next_bucket(const struct kvp_pool *pool, u32 at)
{
	return (at + 1) & pool->bucket_mask;
}

/* Of the node in a bucket that is not empty. */
static inline u32 kvp_bucket_index(u32 node)
{
	return node & ~KVP_BUCKET_PLACE;
}

static void kvp_bucket_set_locked(struct kvp_pool *pool, u32 at, u32 tag, u32 node)
{
	/* Marked for the hints. */
	WRITE_ONCE(pool->buckets[at].tag, tag);
	WRITE_ONCE(pool->buckets[at].node, node);
}

/**
 * kvp_hash_add_locked - let a node be found by its hash
 * @pool: the pool
 * @index: the node, which is not there yet; a root, or PUBLISHED, with its depth
 * @first: hash of the first node of its run, see kvp_hash_place()
 */
void kvp_hash_add_locked(struct kvp_pool *pool, u32 index, u64 first)
{
	struct kvp_node *node = &pool->nodes[index];
	u32 line, at;

	for (line = 0; node->depth && line < KVP_HASH_LINES; line++) {
		at = kvp_hash_place(pool, first, node->depth, line);
		if (pool->buckets[at].node == KVP_NIL) {
			kvp_bucket_set_locked(pool, at, node->hash, index | KVP_BUCKET_PLACE);
			node->bucket = at;
			return;
		}
	}
	at = (u32)node->hash & pool->bucket_mask;
	while (pool->buckets[at].node != KVP_NIL)
		at = kvp_next_bucket(pool, at);
	kvp_bucket_set_locked(pool, at, node->hash, index);
	if (node->depth)
		node->bucket = KVP_NIL;
}

/* What stands after a bucket that became empty moves up, so that no way to it has a gap. */
static void kvp_hash_close_locked(struct kvp_pool *pool, u32 gap)
{
	u32 at, home;

	for (at = kvp_next_bucket(pool, gap); pool->buckets[at].node != KVP_NIL;
	     at = kvp_next_bucket(pool, at)) {
		if (pool->buckets[at].node & KVP_BUCKET_PLACE)
			continue;
		home = pool->buckets[at].tag & pool->bucket_mask;
		if (((at - home) & pool->bucket_mask) < ((at - gap) & pool->bucket_mask))
			continue;
		kvp_bucket_set_locked(pool, gap, pool->buckets[at].tag, pool->buckets[at].node);
		gap = at;
	}
	kvp_bucket_set_locked(pool, gap, 0, KVP_NIL);
}

/**
 * kvp_hash_del_locked - let a node be found no longer
 * @pool: the pool
 * @index: the node
 */
void kvp_hash_del_locked(struct kvp_pool *pool, u32 index)
{
	const struct kvp_node *node = &pool->nodes[index];
	u32 at = (u32)node->hash & pool->bucket_mask;

	if (node->depth && node->bucket != KVP_NIL) {
		kvp_hash_close_locked(pool, node->bucket);
		return;
	}
	while (pool->buckets[at].node != index) {
		if (WARN_ON_ONCE(pool->buckets[at].node == KVP_NIL))
			return;
		at = kvp_next_bucket(pool, at);
	}
	kvp_hash_close_locked(pool, at);
}

/**
 * kvp_hash_prefetch - lookups along a path will come
 * @pool: the pool
 * @first: hash of the first node of a run, see kvp_hash_place()
 */
void kvp_hash_prefetch(const struct kvp_pool *pool, u64 first)
{
	u32 line, depth;

	for (line = 0; line < KVP_HASH_LINES; line++)
		for (depth = 1; depth <= KVP_HASH_RUN; depth += KVP_LINE_BUCKETS)
			prefetch(&pool->buckets[kvp_hash_place(pool, first, depth, line)]);
}

/**
 * kvp_hash_prefetch_node - a lookup will come soon, its line of buckets is in the cache
 * @pool: the pool
 * @first: hash of the first node of its run
 * @depth: of the node
 * @hash: of the node
 */
void kvp_hash_prefetch_node(const struct kvp_pool *pool, u64 first, u32 depth, u64 hash)
{
	u32 line, at, index;

	for (line = 0; line < KVP_HASH_LINES; line++) {
		at = kvp_hash_place(pool, first, depth, line);
		index = READ_ONCE(pool->buckets[at].node);
		if (READ_ONCE(pool->buckets[at].tag) != (u32)hash || index == KVP_NIL)
			continue;
		index = kvp_bucket_index(index);
		prefetch(&pool->nodes[index]);
		prefetch(kvp_node_tokens(pool, index));
		prefetch(kvp_node_parts(pool, index));
		return;
	}
	prefetch(&pool->buckets[(u32)hash & pool->bucket_mask]);
}

/**
 * kvp_hash_prefetch_add_locked - a node will be added soon, its lines of buckets are in the cache
 * @pool: the pool
 * @first: hash of the first node of its run
 * @depth: of the node
 * @hash: of the node
 */
void kvp_hash_prefetch_add_locked(const struct kvp_pool *pool, u64 first, u32 depth, u64 hash)
{
	u32 line;

	for (line = 0; line < KVP_HASH_LINES; line++)
		if (pool->buckets[kvp_hash_place(pool, first, depth, line)].node == KVP_NIL)
			return;
	prefetch(&pool->buckets[(u32)hash & pool->bucket_mask]);
}

static bool kvp_contents_equal(struct kvp_pool *pool, u32 index, const u32 *tokens,
			       const u8 *extra)
{
	const struct kvp_node *node = &pool->nodes[index];

	if (!KVP_CONTENTS_COMPARED)
		return true;
	if (memcmp(kvp_node_tokens(pool, index), tokens,
		   (size_t)pool->index_tokens * sizeof(*tokens)))
		return false;
	if (!extra || node->extra == KVP_NIL)
		return !extra && node->extra == KVP_NIL;
	return !memcmp(pool->digests[node->extra].byte, extra, KVP_DIGEST_LEN);
}

/* Whether the node in a bucket that is not empty is what kvp_index_child_locked() looks for. */
static bool kvp_bucket_is_locked(struct kvp_pool *pool, u32 at, u32 parent, u64 hash,
				 const u32 *tokens, const u8 *extra)
{
	const struct kvp_node *node;
	u32 index;

	if ((pool->buckets[at].tag ^ (u32)hash) & (u32)KVP_HASH_COMPARED)
		return false;
	index = kvp_bucket_index(pool->buckets[at].node);
	node = &pool->nodes[index];
	if ((node->hash ^ hash) & KVP_HASH_COMPARED || node->parent != parent ||
	    node->state != KVP_NODE_PUBLISHED)
		return false;
	if (kvp_contents_equal(pool, index, tokens, extra))
		return true;
	pool->counters.collisions++;
	return false;
}

/**
 * kvp_index_child_locked - find a published node by its contents
 * @pool: the pool
 * @parent: node or root whose child it must be
 * @first: hash of the first node of its run, see kvp_hash_place()
 * @hash: kvp_content_hash() of what follows
 * @tokens: index_tokens ids
 * @extra: extra digest, or NULL
 *
 * The hash finds candidates; parent, tokens and digest are compared. Return:
 * index of the node, or KVP_NIL.
 */
u32 kvp_index_child_locked(struct kvp_pool *pool, u32 parent, u64 first, u64 hash,
			   const u32 *tokens, const u8 *extra)
{
	u32 depth = pool->nodes[parent].depth + 1;
	u32 line, at;

	if (pool->nodes[parent].child == KVP_NIL)
		return KVP_NIL;
	for (line = 0; line < KVP_HASH_LINES; line++) {
		at = kvp_hash_place(pool, first, depth, line);
		/* In a small pool the lines may be one. */
		if (line && at == kvp_hash_place(pool, first, depth, 0))
			break;
		if (pool->buckets[at].node != KVP_NIL &&
		    kvp_bucket_is_locked(pool, at, parent, hash, tokens, extra))
			return kvp_bucket_index(pool->buckets[at].node);
	}
	for (at = (u32)hash & pool->bucket_mask; pool->buckets[at].node != KVP_NIL;
	     at = kvp_next_bucket(pool, at)) {
		if (pool->buckets[at].node & KVP_BUCKET_PLACE)
			continue;
		if (kvp_bucket_is_locked(pool, at, parent, hash, tokens, extra))
			return pool->buckets[at].node;
	}
	return KVP_NIL;
}

/**
 * kvp_index_root_locked - find a namespace
 * @pool: the pool
 * @hash: kvp_space_hash() of @digest
 * @digest: its digest
 *
 * Return: index of its node, or KVP_NIL.
 */
u32 kvp_index_root_locked(struct kvp_pool *pool, u64 hash, const u8 *digest)
{
	u32 at = (u32)hash & pool->bucket_mask;
	u32 index;

	for (; (index = pool->buckets[at].node) != KVP_NIL; at = kvp_next_bucket(pool, at)) {
		const struct kvp_node *node;

		if (index & KVP_BUCKET_PLACE || pool->buckets[at].tag != (u32)hash)
			continue;
		node = &pool->nodes[index];
		if (node->state == KVP_NODE_ROOT &&
		    node->hash == hash &&
		    !memcmp(pool->digests[node->extra].byte, digest, KVP_DIGEST_LEN))
			return index;
	}
	return KVP_NIL;
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Blocks: their states, counts, generations and free lists, and the taking of
 * blocks, nodes and digests for a call, whole or not at all. Everything here is
 * under kvp_pool.lock, except making and ending a family.
 */
#include "core.h"

/* Which states may follow which; see "Life of a block" in core.h. */
static const u8 kvp_block_next[KVP_BLOCK_STATES] = {
	[KVP_BLOCK_FREE] = 1 << KVP_BLOCK_RESERVED,
	[KVP_BLOCK_RESERVED] = 1 << KVP_BLOCK_FREE | 1 << KVP_BLOCK_HELD,
	[KVP_BLOCK_HELD] = 1 << KVP_BLOCK_FREE | 1 << KVP_BLOCK_IDLE |
			   1 << KVP_BLOCK_RETIRED,
	[KVP_BLOCK_IDLE] = 1 << KVP_BLOCK_HELD | 1 << KVP_BLOCK_FREE |
			   1 << KVP_BLOCK_RESERVED | 1 << KVP_BLOCK_RETIRED,
};

/**
 * kvp_arena_alloc - zeroed memory for an array that lives as long as the pool
 * @nr: elements
 * @size: bytes of one
 * @bytes: grows by what was allocated
 *
 * Return: the memory, for vfree(), or NULL.
 */
void *kvp_arena_alloc(u64 nr, size_t size, u64 *bytes)
{
	size_t total;
	void *mem;

	if (check_mul_overflow((size_t)nr, size, &total))
		return NULL;
	/* Who asks for too much gets less, and nobody is killed for it. */
	mem = __vmalloc(total, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN |
			__GFP_RETRY_MAYFAIL);
	if (mem)
		*bytes += total;
	return mem;
}

/**
 * kvp_family_init - make the blocks of a family, all free
 * @family: with its description filled in, of a pool that has its page
 * @bytes: grows by what was allocated
 *
 * Return: 0 or -ENOMEM.
 */
int kvp_family_init(struct kvp_family *family, u64 *bytes)
{
	u32 i;

	family->nr_blocks = family->desc.blocks;
	family->blocks = kvp_arena_alloc(family->nr_blocks, sizeof(*family->blocks), bytes);
	if (!family->blocks)
		return -ENOMEM;
	for (i = 0; i < family->nr_blocks; i++) {
		struct kvp_block *block = &family->blocks[i];

		block->word = 1;
		block->node = KVP_NIL;
		block->owner = KVP_NIL;
		block->next = i + 1 < family->nr_blocks ? i + 1 : KVP_NIL;
	}
	family->free = 0;
	family->nr = family->pool->page->state[family->index];
	family->published = &family->pool->page->published[family->index];
	family->nr[KVP_BLOCK_FREE] = family->nr_blocks;
	return 0;
}

/**
 * kvp_family_exit - end what kvp_family_init() made
 * @family: may be one that was never made
 */
void kvp_family_exit(struct kvp_family *family)
{
	vfree(family->blocks);
	family->blocks = NULL;
}

/* The one place where a block changes its state; kvp_count_states_locked() counts it. */
static inline bool kvp_block_mark_locked(const struct kvp_family *family,
					 struct kvp_block *block, enum kvp_block_state state)
{
	if (WARN_ON_ONCE(!(kvp_block_next[kvp_block_state(block)] & 1 << state)))
		return false;
	trace_kvp_block(family, block - family->blocks, kvp_block_state(block), state);
	block->word = (block->word & KVP_GEN_MAX) | (u64)state << KVP_STATE_SHIFT;
	return true;
}

static inline void kvp_count_states_locked(struct kvp_family *family, enum kvp_block_state old,
					   enum kvp_block_state state, u64 nr)
{
	family->nr[old] -= nr;
	family->nr[state] += nr;
}

/**
 * kvp_block_set_state_locked - a block changes its state
 * @family: its family
 * @block: the block
 * @state: the new state
 */
void kvp_block_set_state_locked(struct kvp_family *family, struct kvp_block *block,
				enum kvp_block_state state)
{
	enum kvp_block_state old = kvp_block_state(block);

	if (kvp_block_mark_locked(family, block, state))
		kvp_count_states_locked(family, old, state, 1);
}

/**
 * kvp_block_id - the id by which a client knows a block now
 * @family: its family
 * @index: its index
 *
 * Return: the id; KVP_BLOCK_NULL for KVP_NIL.
 */
u64 kvp_block_id(const struct kvp_family *family, u32 index)
{
	if (index == KVP_NIL)
		return KVP_BLOCK_NULL;
	return KVP_BLOCK_ID(family->index, index, family->blocks[index].word & KVP_GEN_MAX);
}

/**
 * kvp_check_family - whether the pool has a family of that index
 * @call: the call
 * @family: index that a client gave; safe to use, also speculatively, if there is one
 *
 * Return: 0 or kvp_fail() with -EINVAL.
 */
int kvp_check_family(struct kvp_call *call, u32 *family)
{
	if (*family >= call->pool->nr_families)
		return kvp_fail(call, -EINVAL, KVP_REASON_FAMILY, *family);
	*family = array_index_nospec(*family, call->pool->nr_families);
	return 0;
}

/**
 * kvp_block_find_locked - the block of an id that a client gave
 * @call: to say what was wrong
 * @id: the id
 * @where: index of the id in the caller's array
 * @family: set to its family
 * @index: set to its index
 *
 * Return: 0, -ENOENT (no such block, or never handed out), -ESTALE.
 */
int kvp_block_find_locked(struct kvp_call *call, u64 id, u32 where,
			  struct kvp_family **family, u32 *index)
{
	struct kvp_pool *pool = call->pool;
	u64 gen = KVP_BLOCK_GEN(id);
	struct kvp_block *block;

	lockdep_assert_held(&pool->lock);
	if (KVP_BLOCK_FAMILY(id) >= pool->nr_families)
		return kvp_fail(call, -ENOENT, KVP_REASON_NO_BLOCK, where);
	*family = &pool->family[array_index_nospec(KVP_BLOCK_FAMILY(id), pool->nr_families)];
	*index = KVP_BLOCK_INDEX(id);
	if (*index >= (*family)->nr_blocks || !gen)
		return kvp_fail(call, -ENOENT, KVP_REASON_NO_BLOCK, where);
	*index = array_index_nospec(*index, (*family)->nr_blocks);

	block = &(*family)->blocks[*index];
	if (gen < (block->word & KVP_GEN_MAX) || kvp_block_state(block) == KVP_BLOCK_RETIRED)
		return kvp_fail(call, -ESTALE, KVP_REASON_GENERATION, where);
	if (gen > (block->word & KVP_GEN_MAX) || kvp_block_state(block) == KVP_BLOCK_FREE ||
	    kvp_block_state(block) == KVP_BLOCK_RESERVED)
		return kvp_fail(call, -ENOENT, KVP_REASON_NO_BLOCK, where);
	return 0;
}

/**
 * kvp_block_get_locked - one more reference on a block that is held or idle
 * @pool: the pool
 * @family: the block's family
 * @index: the block
 * @slot: account to charge if it was idle
 *
 * Return: false if the count is exhausted (nothing happened).
 */
bool kvp_block_get_locked(struct kvp_pool *pool, struct kvp_family *family, u32 index,
			  u32 slot)
{
	struct kvp_block *block = &family->blocks[index];

	if (block->count == U32_MAX)
		return false;
	if (!block->count++) {
		kvp_block_set_state_locked(family, block, KVP_BLOCK_HELD);
		block->owner = slot;
		kvp_charge_locked(pool, family->index, slot, 1);
	}
	return true;
}

/**
 * kvp_block_recycle_locked - end every id under which a block was known
 * @family: the block's family
 * @index: the block, on no list, named by nobody
 *
 * Return: false if its generations are used up; it is retired then.
 */
bool kvp_block_recycle_locked(struct kvp_family *family, u32 index)
{
	struct kvp_block *block = &family->blocks[index];

	block->owner = KVP_NIL;
	if ((block->word & KVP_GEN_MAX) == KVP_GEN_MAX) {
		kvp_block_set_state_locked(family, block, KVP_BLOCK_RETIRED);
		return false;
	}
	block->word++;
	return true;
}

/**
 * kvp_block_to_free_locked - put a block on the free list
 * @family: the block's family
 * @index: the block, on no list, named by nobody, not charged
 */
void kvp_block_to_free_locked(struct kvp_family *family, u32 index)
{
	struct kvp_block *block = &family->blocks[index];

	kvp_block_set_state_locked(family, block, KVP_BLOCK_FREE);
	block->owner = KVP_NIL;
	block->next = family->free;
	family->free = index;
}

/**
 * kvp_block_put_locked - one reference less; the last one makes it idle or free
 * @pool: the pool
 * @family: the block's family
 * @index: the block
 */
void kvp_block_put_locked(struct kvp_pool *pool, struct kvp_family *family, u32 index)
{
	struct kvp_block *block = &family->blocks[index];

	if (WARN_ON_ONCE(!block->count))
		return;
	if (--block->count)
		return;
	kvp_uncharge_locked(pool, family->index, block->owner, 1);
	if (block->node != KVP_NIL) {
		block->owner = KVP_NIL;
		kvp_block_set_state_locked(family, block, KVP_BLOCK_IDLE);
	} else if (kvp_block_recycle_locked(family, index)) {
		kvp_block_to_free_locked(family, index);
	}
}

/**
 * kvp_block_undo_get_locked - take back a reference by a call that comes to nothing
 * @pool: the pool
 * @family: the block's family
 * @index: the block
 *
 * As kvp_block_put_locked(), and the block's node is reclaimable again where that kept it
 * from being so, without counting as used.
 */
void kvp_block_undo_get_locked(struct kvp_pool *pool, struct kvp_family *family, u32 index)
{
	u32 node = family->blocks[index].node;

	kvp_block_put_locked(pool, family, index);
	if (node != KVP_NIL)
		kvp_node_relist_locked(pool, node);
}

/**
 * kvp_block_release_locked - one reference less, by a holder apart from sequences
 * @pool: the pool
 * @family: the block's family
 * @index: the block
 *
 * As kvp_block_put_locked(), and the block's node counts as used just now if
 * that made it idle.
 */
void kvp_block_release_locked(struct kvp_pool *pool, struct kvp_family *family, u32 index)
{
	u32 node = family->blocks[index].node;

	kvp_block_put_locked(pool, family, index);
	if (node != KVP_NIL)
		kvp_node_settle_locked(pool, node);
}

/**
 * kvp_blocks_drop_locked - one reference less on each of the last blocks of a table
 * @client: whose table it is
 * @family: the blocks' family
 * @at: the blocks, or KVP_NIL
 * @nr: how many
 * @used: as kvp_block_release_locked(), else as kvp_block_undo_get_locked()
 *
 * From the last to the first. Most are nobody else's and not published: those are counted
 * together.
 */
void kvp_blocks_drop_locked(struct kvp_client *client, struct kvp_family *family, const u32 *at,
			    u64 nr, bool used)
{
	struct kvp_pool *pool = client->pool;
	u32 freed = 0;

	while (nr--) {
		u32 index = at[nr];
		struct kvp_block *block = &family->blocks[index];

		if (index == KVP_NIL)
			continue;
		if (block->count != 1 || block->node != KVP_NIL || block->owner != client->slot ||
		    (block->word & KVP_GEN_MAX) == KVP_GEN_MAX) {
			if (used)
				kvp_block_release_locked(pool, family, index);
			else
				kvp_block_undo_get_locked(pool, family, index);
			continue;
		}
		freed++;
		block->count = 0;
		block->owner = KVP_NIL;
		block->word++;
		kvp_block_mark_locked(family, block, KVP_BLOCK_FREE);
		block->next = family->free;
		family->free = index;
	}
	kvp_count_states_locked(family, KVP_BLOCK_HELD, KVP_BLOCK_FREE, freed);
	kvp_uncharge_locked(pool, family->index, client->slot, freed);
}

/**
 * kvp_block_to_taken_locked - reserve a free or just recycled block for a call
 * @family: the block's family
 * @index: the block, on no list
 * @slot: account to which the call has charged it
 * @taken: where it goes
 */
void kvp_block_to_taken_locked(struct kvp_family *family, u32 index, u32 slot,
			       struct kvp_taken *taken)
{
	struct kvp_block *block = &family->blocks[index];
	u32 *last = &taken->last[family->index];

	kvp_block_set_state_locked(family, block, KVP_BLOCK_RESERVED);
	family->promised--;
	block->owner = slot;
	block->next = KVP_NIL;
	if (*last == KVP_NIL)
		taken->blocks[family->index] = index;
	else
		family->blocks[*last].next = index;
	*last = index;
	taken->nr_blocks[family->index]++;
}

/**
 * kvp_refuse_locked - kvp_fail() for want of room or over a limit, counted
 * @call: the call
 * @err: -ENOSPC, -EFBIG, -EDQUOT or KVP_OVER_UID
 * @reason: why
 * @where: family, or 0
 *
 * Return: the errno.
 */
int kvp_refuse_locked(struct kvp_call *call, int err, enum kvp_reason reason, u32 where)
{
	lockdep_assert_held(&call->pool->lock);
	if (err == KVP_OVER_UID) {
		err = -EDQUOT;
		where |= KVP_WHERE_UID;
	}
	if (err == -ENOSPC)
		call->pool->counters.refused_room++;
	else if (err == -EDQUOT)
		call->pool->counters.refused_limit++;
	return kvp_fail(call, err, reason, where);
}

/**
 * kvp_family_room_locked - blocks that are free or idle and promised to nobody
 * @family: the family
 *
 * An upper bound of what a call can get: some of the idle ones may be referenced. Return: how
 * many.
 */
u64 kvp_family_room_locked(const struct kvp_family *family)
{
	u64 room = family->nr[KVP_BLOCK_FREE] + family->nr[KVP_BLOCK_IDLE];

	/* While a granted call waits to take them, matches may make idle blocks held. */
	return room - min(room, family->promised);
}

static int kvp_check_family_locked(struct kvp_call *call, u32 i, u64 want)
{
	struct kvp_pool *pool = call->pool;
	struct kvp_family *family = &pool->family[i];
	u64 room = kvp_family_room_locked(family);
	int err;

	if (want > family->nr_blocks - family->nr[KVP_BLOCK_RETIRED])
		return kvp_refuse_locked(call, -EFBIG, KVP_REASON_NEVER_FITS, i);
	err = kvp_over_blocks_locked(call->client, i, want);
	if (err)
		return kvp_refuse_locked(call, err, KVP_REASON_LIMIT_BLOCKS, i);
	if (want > room)
		return kvp_refuse_locked(call, -ENOSPC, KVP_REASON_POOL_FULL, i);
	if (want + kvp_others_unmet_locked(pool, i, call->client->slot) > room)
		return kvp_refuse_locked(call, -ENOSPC, KVP_REASON_GUARANTEED, i);
	return 0;
}

/* Everything that is known to fail fails here, before anything is touched. */
static int kvp_check_room_locked(struct kvp_call *call, const struct kvp_need *need)
{
	struct kvp_pool *pool = call->pool;
	int err;
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		if (!need->blocks[i])
			continue;
		err = kvp_check_family_locked(call, i, need->blocks[i]);
		if (err)
			return err;
	}
	if (need->nodes > (u64)pool->nodes_free + pool->nodes_published)
		return kvp_refuse_locked(call, -ENOSPC, KVP_REASON_NODES, 0);
	if (need->digests > pool->nr_digests)
		return kvp_refuse_locked(call, -ENOSPC, KVP_REASON_EXTRAS, 0);
	return 0;
}

/* Up to @nr blocks from the free list; they stay in its order. Returns how many. */
static u32 kvp_take_blocks_locked(struct kvp_family *family, u32 slot, u64 nr,
				  struct kvp_taken *taken)
{
	u32 index = family->free;
	u32 first = index;
	u32 last = KVP_NIL;
	u32 got = 0;

	while (got < nr && index != KVP_NIL) {
		struct kvp_block *block = &family->blocks[index];

		kvp_block_mark_locked(family, block, KVP_BLOCK_RESERVED);
		block->owner = slot;
		last = index;
		index = block->next;
		got++;
	}
	if (!got)
		return 0;
	family->free = index;
	family->blocks[last].next = KVP_NIL;
	kvp_count_states_locked(family, KVP_BLOCK_FREE, KVP_BLOCK_RESERVED, got);
	family->promised -= got;
	if (taken->last[family->index] == KVP_NIL)
		taken->blocks[family->index] = first;
	else
		family->blocks[taken->last[family->index]].next = first;
	taken->last[family->index] = last;
	taken->nr_blocks[family->index] += got;
	return got;
}

/**
 * kvp_take_free_sliced - take what is free, up to what is needed
 * @client: whose account was charged for all of @need
 * @need: what is needed
 * @taken: what it got
 */
void kvp_take_free_sliced(struct kvp_client *client, const struct kvp_need *need,
			  struct kvp_taken *taken)
{
	struct kvp_pool *pool = client->pool;
	u32 touched = 0;
	u32 i, index;

	for (i = 0; i < pool->nr_families; i++) {
		struct kvp_family *family = &pool->family[i];

		while (taken->nr_blocks[i] < need->blocks[i] && family->free != KVP_NIL) {
			u64 most = min_t(u64, need->blocks[i] - taken->nr_blocks[i],
					 KVP_SLICE - touched);

			kvp_slice_step(pool, &touched,
				       kvp_take_blocks_locked(family, client->slot, most, taken));
		}
	}
	while (taken->nr_nodes < need->nodes && pool->free_node != KVP_NIL) {
		index = pool->free_node;
		pool->free_node = pool->nodes[index].next;
		pool->nodes_free--;
		pool->nodes[index].state = KVP_NODE_RESERVED;
		pool->nodes[index].next = taken->nodes;
		taken->nodes = index;
		taken->nr_nodes++;
		/* Its ids will be written as soon as the lock is free. */
		prefetchw(kvp_node_tokens(pool, index));
		kvp_slice_step(pool, &touched, 1);
	}
	while (taken->nr_digests < need->digests && pool->free_digest != KVP_NIL) {
		index = pool->free_digest;
		pool->free_digest = pool->digests[index].next;
		pool->digests_free--;
		pool->digests[index].next = taken->digests;
		taken->digests = index;
		taken->nr_digests++;
		kvp_slice_step(pool, &touched, 1);
	}
}

static bool kvp_taken_enough(const struct kvp_pool *pool, const struct kvp_need *need,
			     const struct kvp_taken *taken)
{
	u32 i;

	for (i = 0; i < pool->nr_families; i++)
		if (taken->nr_blocks[i] < need->blocks[i])
			return false;
	return taken->nr_nodes >= need->nodes && taken->nr_digests >= need->digests;
}

/**
 * kvp_take_sliced - take what a call needs, all of it or nothing
 * @call: the call; its client is charged
 * @need: what it needs
 * @taken: what it got; empty after a failure
 *
 * Free ones first, then by reclaim. Return: 0, or kvp_fail() with -EFBIG, -EDQUOT or -ENOSPC,
 * everything as before.
 */
int kvp_take_sliced(struct kvp_call *call, const struct kvp_need *need,
		    struct kvp_taken *taken)
{
	struct kvp_pool *pool = call->pool;
	struct kvp_client *client = call->client;
	int err;
	u32 i;

	lockdep_assert_held(&pool->lock);
	memset(taken, 0, sizeof(*taken));
	for (i = 0; i < pool->nr_families; i++) {
		taken->blocks[i] = KVP_NIL;
		taken->last[i] = KVP_NIL;
	}
	taken->nodes = KVP_NIL;
	taken->digests = KVP_NIL;

	err = kvp_check_room_locked(call, need);
	if (err)
		return err;
	for (i = 0; i < pool->nr_families; i++) {
		kvp_charge_locked(pool, i, client->slot, need->blocks[i]);
		pool->family[i].promised += need->blocks[i];
	}
	kvp_take_free_sliced(client, need, taken);
	if (kvp_taken_enough(pool, need, taken))
		return 0;
	err = kvp_reclaim_sliced(call, need, taken);
	if (!err)
		return 0;

	/* What was charged and not taken; giving back uncharges the rest. */
	for (i = 0; i < pool->nr_families; i++) {
		kvp_uncharge_locked(pool, i, client->slot,
				    need->blocks[i] - taken->nr_blocks[i]);
		pool->family[i].promised -= need->blocks[i] - taken->nr_blocks[i];
	}
	kvp_give_back_sliced(client, taken);
	return err;
}

/**
 * kvp_give_back_sliced - end the reservation of what is still in @taken
 * @client: whose it is
 * @taken: becomes empty
 */
void kvp_give_back_sliced(struct kvp_client *client, struct kvp_taken *taken)
{
	struct kvp_pool *pool = client->pool;
	u32 touched = 0;
	u32 i, index;

	for (i = 0; i < pool->nr_families; i++) {
		struct kvp_family *family = &pool->family[i];

		while (taken->nr_blocks[i]) {
			index = taken->blocks[i];
			taken->blocks[i] = family->blocks[index].next;
			taken->nr_blocks[i]--;
			kvp_uncharge_locked(pool, i, client->slot, 1);
			kvp_block_to_free_locked(family, index);
			kvp_slice_step(pool, &touched, 1);
		}
		taken->last[i] = KVP_NIL;
	}
	while (taken->nr_nodes) {
		index = taken->nodes;
		taken->nodes = pool->nodes[index].next;
		taken->nr_nodes--;
		kvp_node_to_free_locked(pool, index);
		kvp_slice_step(pool, &touched, 1);
	}
	while (taken->nr_digests) {
		index = taken->digests;
		taken->digests = pool->digests[index].next;
		taken->nr_digests--;
		kvp_digest_to_free_locked(pool, index);
		kvp_slice_step(pool, &touched, 1);
	}
}

/**
 * kvp_taken_blocks_locked - hand out taken blocks, each with a count of 1
 * @family: of which family
 * @taken: from where; it must have them
 * @now: time of allocation, ns
 * @at: where their indices go
 * @nr: how many
 */
void kvp_taken_blocks_locked(struct kvp_family *family, struct kvp_taken *taken, u64 now,
			     u32 *at, u64 nr)
{
	u32 index = taken->blocks[family->index];
	u64 i;

	for (i = 0; i < nr; i++) {
		struct kvp_block *block = &family->blocks[index];

		kvp_block_mark_locked(family, block, KVP_BLOCK_HELD);
		block->count = 1;
		block->stamp = now;
		at[i] = index;
		index = block->next;
	}
	kvp_count_states_locked(family, KVP_BLOCK_RESERVED, KVP_BLOCK_HELD, nr);
	taken->blocks[family->index] = index;
	taken->nr_blocks[family->index] -= nr;
	if (!taken->nr_blocks[family->index])
		taken->last[family->index] = KVP_NIL;
}

/**
 * kvp_taken_block_locked - hand out a taken block, with a count of 1
 * @family: of which family
 * @taken: from where; it must have one
 * @now: time of allocation, ns
 *
 * Return: index of the block.
 */
u32 kvp_taken_block_locked(struct kvp_family *family, struct kvp_taken *taken, u64 now)
{
	u32 index;

	kvp_taken_blocks_locked(family, taken, now, &index, 1);
	return index;
}

/**
 * kvp_taken_node_locked - hand out a taken node, private, empty, with one use
 * @pool: the pool
 * @taken: from where; it must have one
 *
 * Return: index of the node.
 */
u32 kvp_taken_node_locked(struct kvp_pool *pool, struct kvp_taken *taken)
{
	u32 index = taken->nodes;
	struct kvp_node *node = &pool->nodes[index];

	taken->nodes = node->next;
	taken->nr_nodes--;
	*node = (struct kvp_node) {
		.parent = KVP_NIL,
		.child = KVP_NIL,
		.next = KVP_NIL,
		.prev = KVP_NIL,
		.extra = KVP_NIL,
		.uses = 1,
		.state = KVP_NODE_PRIVATE,
	};
	return index;
}

/**
 * kvp_taken_digest_locked - hand out a taken digest
 * @pool: the pool
 * @taken: from where; it must have one
 * @digest: its bytes
 *
 * Return: index of the digest.
 */
u32 kvp_taken_digest_locked(struct kvp_pool *pool, struct kvp_taken *taken,
			    const u8 *digest)
{
	u32 index = taken->digests;

	taken->digests = pool->digests[index].next;
	taken->nr_digests--;
	memcpy(pool->digests[index].byte, digest, KVP_DIGEST_LEN);
	pool->digests[index].used = 1;
	return index;
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Blocks: their states, counts, generations and free lists. Everything here is
 * under kvp_pool.lock, except making and ending a family.
 */
#include "core.h"

/* Which states may follow which; see "Life of a block" in core.h. */
const u8 kvp_block_next[KVP_BLOCK_STATES] = {
	[KVP_BLOCK_FREE] = 1 << KVP_BLOCK_RESERVED,
	[KVP_BLOCK_RESERVED] = 1 << KVP_BLOCK_FREE | 1 << KVP_BLOCK_HELD,
	[KVP_BLOCK_HELD] = 1 << KVP_BLOCK_FREE | 1 << KVP_BLOCK_IDLE |
			   1 << KVP_BLOCK_HELD_BACK | 1 << KVP_BLOCK_RETIRED,
	[KVP_BLOCK_HELD_BACK] = 1 << KVP_BLOCK_HELD | 1 << KVP_BLOCK_FREE |
				1 << KVP_BLOCK_IDLE | 1 << KVP_BLOCK_RETIRED,
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
		block->held_back = 0;
		if (block->node != KVP_NIL)
			pool->nodes[block->node].held++;
		kvp_charge_locked(pool, family->index, slot, 1);
	} else if (kvp_block_state(block) == KVP_BLOCK_HELD_BACK) {
		kvp_block_set_state_locked(family, block, KVP_BLOCK_HELD);
		pool->account[block->owner]->held_back[family->index]--;
	}
	return true;
}

/* Only references that wait for fences are left. */
static void kvp_block_to_held_back_locked(struct kvp_pool *pool, struct kvp_family *family,
					  struct kvp_block *block)
{
	kvp_block_set_state_locked(family, block, KVP_BLOCK_HELD_BACK);
	pool->account[block->owner]->held_back[family->index]++;
}

/**
 * kvp_block_hold_back_locked - a holder lets go, but its reference stays: work may touch the block
 * @pool: the pool
 * @family: the block's family
 * @index: the block
 */
void kvp_block_hold_back_locked(struct kvp_pool *pool, struct kvp_family *family, u32 index)
{
	struct kvp_block *block = &family->blocks[index];

	if (WARN_ON_ONCE(block->held_back >= block->count))
		return;
	if (++block->held_back == block->count)
		kvp_block_to_held_back_locked(pool, family, block);
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
 * kvp_block_to_free_after_locked - put a block on the free list
 * @family: the block's family
 * @index: the block, on no list, named by nobody, not charged
 * @after: a block that is on the free list, KVP_NIL: to the front
 */
void kvp_block_to_free_after_locked(struct kvp_family *family, u32 index, u32 after)
{
	u32 *place = after == KVP_NIL ? &family->free : &family->blocks[after].next;
	struct kvp_block *block = &family->blocks[index];

	kvp_block_set_state_locked(family, block, KVP_BLOCK_FREE);
	block->owner = KVP_NIL;
	block->next = *place;
	*place = index;
}

/**
 * kvp_block_to_free_locked - put a block on the front of the free list
 * @family: the block's family
 * @index: the block, on no list, named by nobody, not charged
 */
void kvp_block_to_free_locked(struct kvp_family *family, u32 index)
{
	kvp_block_to_free_after_locked(family, index, KVP_NIL);
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
	if (--block->count) {
		if (block->count == block->held_back)
			kvp_block_to_held_back_locked(pool, family, block);
		return;
	}
	kvp_uncharge_locked(pool, family->index, block->owner, 1);
	if (block->node != KVP_NIL) {
		pool->nodes[block->node].held--;
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
 * kvp_block_come_back_locked - what a reference that was held back waited for has passed
 * @pool: the pool
 * @family: the block's family
 * @index: the block
 *
 * Ends the reference, as kvp_block_release_locked().
 */
void kvp_block_come_back_locked(struct kvp_pool *pool, struct kvp_family *family, u32 index)
{
	struct kvp_block *block = &family->blocks[index];

	if (WARN_ON_ONCE(!block->held_back))
		return;
	/* Held as long as it takes to let go; if others wait for it too, it is held back again. */
	if (kvp_block_state(block) == KVP_BLOCK_HELD_BACK) {
		kvp_block_set_state_locked(family, block, KVP_BLOCK_HELD);
		pool->account[block->owner]->held_back[family->index]--;
	}
	block->held_back--;
	kvp_block_release_locked(pool, family, index);
}

static void kvp_block_drop_locked(struct kvp_pool *pool, struct kvp_family *family, u32 index,
				  enum kvp_drop how)
{
	switch (how) {
	case KVP_DROP_UNDO:
		kvp_block_undo_get_locked(pool, family, index);
		break;
	case KVP_DROP_USED:
		kvp_block_release_locked(pool, family, index);
		break;
	case KVP_DROP_HELD_BACK:
		kvp_block_come_back_locked(pool, family, index);
		break;
	}
}

/**
 * kvp_blocks_drop_locked - one reference less on each of the last blocks of a table
 * @client: whose table it is
 * @family: the blocks' family
 * @at: the blocks, or KVP_NIL
 * @nr: how many
 * @how: how they end
 *
 * From the last to the first. Most are nobody else's and not published: those are counted
 * together.
 */
void kvp_blocks_drop_locked(struct kvp_client *client, struct kvp_family *family, const u32 *at,
			    u64 nr, enum kvp_drop how)
{
	enum kvp_block_state from = how == KVP_DROP_HELD_BACK ? KVP_BLOCK_HELD_BACK :
								KVP_BLOCK_HELD;
	struct kvp_pool *pool = client->pool;
	u32 freed = 0;

	while (nr--) {
		u32 index = at[nr];
		struct kvp_block *block = &family->blocks[index];

		if (index == KVP_NIL)
			continue;
		if (block->count != 1 || block->node != KVP_NIL || block->owner != client->slot ||
		    (block->word & KVP_GEN_MAX) == KVP_GEN_MAX) {
			kvp_block_drop_locked(pool, family, index, how);
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
	kvp_count_states_locked(family, from, KVP_BLOCK_FREE, freed);
	if (how == KVP_DROP_HELD_BACK)
		client->account->held_back[family->index] -= freed;
	kvp_uncharge_locked(pool, family->index, client->slot, freed);
}

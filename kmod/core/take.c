// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The taking of blocks, nodes and digests for a call, whole or not at all, and their
 * handing out. Everything here is under kvp_pool.lock.
 */
#include "core.h"

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
	if (call->take & (KVP_TAKE_TRIES | KVP_TAKE_SERVED) ||
	    (call->take & KVP_TAKE_QUEUES && err == -ENOSPC))
		return kvp_fail(call, err, reason, where);
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

/* @all: what is needed of the family; @want: of that, what is not in the client's reserve. */
static int kvp_check_limits_locked(struct kvp_call *call, u32 i, u64 all, u64 want)
{
	const struct kvp_family *family = &call->pool->family[i];
	int err;

	if (all > family->nr_blocks - family->nr[KVP_BLOCK_RETIRED])
		return kvp_refuse_locked(call, -EFBIG, KVP_REASON_NEVER_FITS, i);
	err = want ? kvp_over_blocks_locked(call->client, i, want) : 0;
	if (err)
		return kvp_refuse_locked(call, err, KVP_REASON_LIMIT_BLOCKS, i);
	return 0;
}

static int kvp_check_family_locked(struct kvp_call *call, u32 i, u64 want)
{
	struct kvp_pool *pool = call->pool;
	struct kvp_family *family = &pool->family[i];
	u64 room = kvp_family_room_locked(family);

	if (!kvp_in_turn_locked(call, i, want))
		return kvp_refuse_locked(call, -ENOSPC, KVP_REASON_QUEUED, i);
	if (want > room)
		return kvp_refuse_locked(call, -ENOSPC,
					 want > room + family->nr[KVP_BLOCK_HELD_BACK] ?
					 KVP_REASON_POOL_FULL : KVP_REASON_HELD_BACK, i);
	if (want + kvp_others_unmet_locked(pool, i, call->client->slot) > room)
		return kvp_refuse_locked(call, -ENOSPC, KVP_REASON_GUARANTEED, i);
	return 0;
}

/*
 * Everything that is known to fail fails here, before anything is touched: what waiting would not
 * help first. @all: what is needed; @need: what of that is not in the client's reserve.
 */
static int kvp_check_room_locked(struct kvp_call *call, const struct kvp_need *all,
				 const struct kvp_need *need)
{
	struct kvp_pool *pool = call->pool;
	int err;
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		err = kvp_check_limits_locked(call, i, all->blocks[i], need->blocks[i]);
		if (err)
			return err;
	}
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
	u32 i, index;
	u64 most;

	for (i = 0; i < pool->nr_families; i++) {
		struct kvp_family *family = &pool->family[i];

		while (taken->nr_blocks[i] < need->blocks[i] && family->free != KVP_NIL) {
			/* The first one, and that which was the last one until now. */
			kvp_slice_next(pool, 2);
			most = min_t(u64, need->blocks[i] - taken->nr_blocks[i],
				     KVP_SLICE - pool->touched);
			pool->touched += kvp_take_blocks_locked(family, client->slot, most, taken);
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
		kvp_slice_step(pool, 1);
	}
	while (taken->nr_digests < need->digests && pool->free_digest != KVP_NIL) {
		index = pool->free_digest;
		pool->free_digest = pool->digests[index].next;
		pool->digests_free--;
		pool->digests[index].next = taken->digests;
		taken->digests = index;
		taken->nr_digests++;
		kvp_slice_step(pool, 1);
	}
}

/* Whether something is needed that is not free. */
static bool kvp_free_short_locked(const struct kvp_pool *pool, const struct kvp_need *need)
{
	u32 i;

	for (i = 0; i < pool->nr_families; i++)
		if (need->blocks[i] > pool->family[i].nr[KVP_BLOCK_FREE])
			return true;
	return need->nodes > pool->nodes_free || need->digests > pool->digests_free;
}

/* The same after a look at what waits for fences, where that may matter. */
static int kvp_check_room_sliced(struct kvp_call *call, const struct kvp_need *all,
				 const struct kvp_need *need)
{
	struct kvp_pool *pool = call->pool;
	int err;

	if (pool->nr_fenced) {
		call->take |= KVP_TAKE_TRIES;
		err = kvp_check_room_locked(call, all, need);
		call->take &= ~KVP_TAKE_TRIES;
		kvp_fail(call, 0, KVP_REASON_NONE, 0);
		/* What was held back is better taken than what others may match. */
		if (err || kvp_free_short_locked(pool, need))
			kvp_settle_sliced(pool);
	}
	return kvp_check_room_locked(call, all, need);
}

/**
 * kvp_taken_init - nothing is taken yet
 * @pool: the pool
 * @taken: becomes empty
 */
void kvp_taken_init(const struct kvp_pool *pool, struct kvp_taken *taken)
{
	u32 i;

	memset(taken, 0, sizeof(*taken));
	for (i = 0; i < pool->nr_families; i++) {
		taken->blocks[i] = KVP_NIL;
		taken->last[i] = KVP_NIL;
	}
	taken->nodes = KVP_NIL;
	taken->digests = KVP_NIL;
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
 * Out of the client's reserve first, then free ones, those among them that were held back until
 * now, then by reclaim. Return: 0, or kvp_fail() with -EFBIG, -EDQUOT or -ENOSPC, everything as
 * before.
 */
int kvp_take_sliced(struct kvp_call *call, const struct kvp_need *need,
		    struct kvp_taken *taken)
{
	struct kvp_pool *pool = call->pool;
	struct kvp_client *client = call->client;
	struct kvp_need rest = *need;
	int err;
	u32 i;

	lockdep_assert_held(&pool->lock);
	kvp_taken_init(pool, taken);
	if (!(call->take & KVP_TAKE_FRESH))
		kvp_reserve_claim_sliced(client, &rest, taken);
	err = kvp_check_room_sliced(call, need, &rest);
	if (err) {
		kvp_reserve_return_sliced(client, need, &rest, taken);
		return err;
	}
	for (i = 0; i < pool->nr_families; i++) {
		kvp_charge_locked(pool, i, client->slot, rest.blocks[i]);
		pool->family[i].promised += rest.blocks[i];
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
	kvp_reserve_return_sliced(client, need, &rest, taken);
	/* Who serves knows that; others may have found less than there was while we had it. */
	for (i = 0; call->take & KVP_TAKE_SERVED && i < pool->nr_families; i++)
		pool->came_back -= taken->nr_blocks[i];
	if (!(call->take & KVP_TAKE_SERVED))
		pool->came_back++;
	kvp_give_back_sliced(client, taken);
	return err;
}

/**
 * kvp_give_back_sliced - end the reservation of what is still in @taken
 * @client: whose it is
 * @taken: becomes empty
 *
 * What was free is so in the order in which it was before, unless others got the lock.
 */
void kvp_give_back_sliced(struct kvp_client *client, struct kvp_taken *taken)
{
	struct kvp_pool *pool = client->pool;
	u32 i, index, last;

	for (i = 0; i < pool->nr_families; i++) {
		struct kvp_family *family = &pool->family[i];

		for (last = KVP_NIL; taken->nr_blocks[i]; last = pool->touched ? index : KVP_NIL) {
			index = taken->blocks[i];
			taken->blocks[i] = family->blocks[index].next;
			taken->nr_blocks[i]--;
			kvp_uncharge_locked(pool, i, client->slot, 1);
			kvp_block_to_free_after_locked(family, index, last);
			kvp_slice_step(pool, 1);
		}
		taken->last[i] = KVP_NIL;
	}
	while (taken->nr_nodes) {
		index = taken->nodes;
		taken->nodes = pool->nodes[index].next;
		taken->nr_nodes--;
		kvp_node_to_free_locked(pool, index);
		kvp_slice_step(pool, 1);
	}
	while (taken->nr_digests) {
		index = taken->digests;
		taken->digests = pool->digests[index].next;
		taken->nr_digests--;
		kvp_digest_to_free_locked(pool, index);
		kvp_slice_step(pool, 1);
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
		block->held_back = 0;
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

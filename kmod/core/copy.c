// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Copy-on-write. Rows are only written to blocks that are one sequence's
 * alone; where a sequence ends in a part-filled node that others hold too, it gets
 * private copies of that node's blocks before it grows. The core hands out
 * the new blocks and keeps the old ones held until the caller has copied the
 * bytes (struct kvp_pending). The functions with a lock: kvp_pool.lock.
 */
#include "core.h"

/**
 * kvp_copy_rows - rows of a block that hold something to copy
 * @family: the block's family
 * @slot: its place in the table
 * @rows: tokens from the start of the sequence whose rows count
 *
 * Return: how many, from the block's start.
 */
u32 kvp_copy_rows(const struct kvp_family *family, u64 slot, u64 rows)
{
	u64 first = slot * family->desc.block_tokens;

	return rows > first ? min_t(u64, rows - first, family->desc.block_tokens) : 0;
}

/**
 * kvp_copies_need - what private copies of a sequence's last node take
 * @pool: the pool
 * @seq: the sequence; it must have a node in which @tokens ends
 * @tokens: end of the ids, not a multiple of index_tokens
 * @reserved: end of the slots
 * @rows: end of the rows that hold something
 * @need: grows by blocks, node and digest
 *
 * Return: number of copies that the caller of the operation has to make.
 */
u32 kvp_copies_need(const struct kvp_pool *pool, const struct kvp_seq *seq, u64 tokens,
		    u64 reserved, u64 rows, struct kvp_need *need)
{
	u64 node = tokens / pool->index_tokens;
	u32 copies = 0;
	u64 slot, end;
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		const struct kvp_family *family = &pool->family[i];

		if (family->desc.kind == KVP_FAMILY_STATE)
			continue;
		end = min((node + 1) * family->parts, kvp_blocks_for(family, reserved));
		for (slot = node * family->parts; slot < end; slot++) {
			if (seq->table[i].at[slot] == KVP_NIL)
				continue;
			need->blocks[i]++;
			copies += !!kvp_copy_rows(family, slot, rows);
		}
	}
	need->nodes++;
	need->digests += pool->nodes[seq->runs.at[node]].extra != KVP_NIL;
	return copies;
}

static bool kvp_node_shared_locked(struct kvp_pool *pool, const struct kvp_seq *seq)
{
	u64 node = seq->tokens / pool->index_tokens;
	const struct kvp_node *run;
	u64 slot, end;
	u32 i;

	if (!(seq->tokens % pool->index_tokens))
		return false;
	run = &pool->nodes[seq->runs.at[node]];
	if (run->state != KVP_NODE_PRIVATE || run->uses > 1)
		return true;
	for (i = 0; i < pool->nr_families; i++) {
		const struct kvp_family *family = &pool->family[i];

		if (family->desc.kind == KVP_FAMILY_STATE)
			continue;
		end = min((node + 1) * family->parts, seq->table[i].nr);
		for (slot = node * family->parts; slot < end; slot++) {
			u32 index = seq->table[i].at[slot];

			if (index == KVP_NIL)
				continue;
			pool->touched++;
			/* Published: of a node that a remap took apart. */
			if (family->blocks[index].count > 1 ||
			    family->blocks[index].node != KVP_NIL)
				return true;
		}
	}
	return false;
}

/**
 * kvp_node_shared_sliced - whether the part-filled last node is others' too
 * @pool: the pool
 * @seq: the sequence, busy by the caller
 *
 * Those who only wait for fences are others as long as these have not passed. Return: whether
 * rows or ids may not be written there. False if the sequence ends with a full node.
 */
bool kvp_node_shared_sliced(struct kvp_pool *pool, const struct kvp_seq *seq)
{
	kvp_slice_room(pool, pool->parts_per_node);
	if (!kvp_node_shared_locked(pool, seq))
		return false;
	if (!pool->nr_fenced)
		return true;
	kvp_settle_sliced(pool);
	kvp_slice_room(pool, pool->parts_per_node);
	return kvp_node_shared_locked(pool, seq);
}

/**
 * kvp_copy_node_locked - a private node in place of a shared one
 * @pool: the pool
 * @taken: node, and digest if the old one has one
 * @old: the shared node
 *
 * Its ids are for the caller to copy, without the lock. Return: the new node.
 */
u32 kvp_copy_node_locked(struct kvp_pool *pool, struct kvp_taken *taken, u32 old)
{
	u32 index = kvp_taken_node_locked(pool, taken);
	u32 extra = pool->nodes[old].extra;

	if (extra != KVP_NIL)
		pool->nodes[index].extra =
			kvp_taken_digest_locked(pool, taken, pool->digests[extra].byte);
	return index;
}

/**
 * kvp_copy_block_locked - a private block in place of a shared one
 * @pool: the pool
 * @seq: whose it will be; it owes the copy if there are rows
 * @family: of which family
 * @src: the shared block; if there are rows, one count on it goes to the sequence's
 *       pending copies
 * @rows: rows to copy
 * @taken: where the new block comes from
 * @copy: set to what the caller of the operation has to do, if there are rows
 *
 * Return: index of the new block.
 */
u32 kvp_copy_block_locked(struct kvp_pool *pool, struct kvp_seq *seq, u32 family, u32 src,
			  u32 rows, struct kvp_taken *taken, struct kvp_copy *copy)
{
	u32 dst = kvp_taken_block_locked(&pool->family[family], taken, ktime_get_coarse_ns());

	pool->touched++;
	if (!rows)
		return dst;
	seq->pending[seq->nr_pending++] = (struct kvp_pending){ .family = family, .src = src };
	*copy = (struct kvp_copy) {
		.src = kvp_block_id(&pool->family[family], src),
		.dst = kvp_block_id(&pool->family[family], dst),
		.tokens = rows,
	};
	return dst;
}

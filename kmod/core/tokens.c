// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Token ids and extra digests on their way from a call into the nodes of a
 * sequence. The ids are copied and hashed once, here, without the lock: the
 * nodes that are filled are private to the busy sequence.
 */
#include "core.h"

/**
 * kvp_extras_check - whether extra digests belong to the tokens of a call
 * @call: the call
 * @in: its tokens and digests
 * @first: position of the first of the tokens
 *
 * Ascending, each for a node whose first token is among those of the call.
 * Return: 0, or kvp_fail() with -EINVAL.
 */
int kvp_extras_check(struct kvp_call *call, const struct kvp_ids_in *in, u64 first)
{
	u64 least = kvp_nodes_for(call->pool, first);
	u64 end = kvp_nodes_for(call->pool, first + in->nr);
	u32 i;

	for (i = 0; i < in->nr_extras; i++) {
		if (in->extras[i].node < least || in->extras[i].node >= end)
			return kvp_fail(call, -EINVAL, KVP_REASON_EXTRA, i);
		least = in->extras[i].node + 1;
	}
	return 0;
}

/**
 * kvp_extras_from - the first extra digest at or after a node
 * @in: tokens and digests
 * @node: the node
 *
 * Return: its index, nr_extras if there is none.
 */
u32 kvp_extras_from(const struct kvp_ids_in *in, u64 node)
{
	u32 i = 0;

	while (i < in->nr_extras && in->extras[i].node < node)
		i++;
	return i;
}

/**
 * kvp_seq_grow_sliced - lengthen the tables by what was taken for it
 * @pool: the pool
 * @seq: the sequence, with memory for it
 * @taken: blocks and nodes; the slots are counted already
 * @reserved: slots to have
 * @tokens: ids to have
 *
 * The lengths are the caller's to set.
 */
void kvp_seq_grow_sliced(struct kvp_pool *pool, struct kvp_seq *seq, struct kvp_taken *taken,
			 u64 reserved, u64 tokens)
{
	u64 nodes = kvp_nodes_for(pool, tokens);
	u64 now = ktime_get_coarse_ns();
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		struct kvp_family *family = &pool->family[i];
		u64 slots = kvp_blocks_for(family, reserved);
		struct kvp_vec *table = &seq->table[i];

		while (table->nr < slots) {
			u64 nr;

			kvp_slice_next(pool, 1);
			nr = min_t(u64, slots - table->nr, KVP_SLICE - pool->touched);
			kvp_taken_blocks_locked(family, taken, now, &table->at[table->nr], nr);
			table->nr += nr;
			pool->touched += nr - 1;
		}
	}
	while (seq->runs.nr < nodes) {
		seq->runs.at[seq->runs.nr++] = kvp_taken_node_locked(pool, taken);
		kvp_slice_step(pool, 1);
	}
}

/**
 * kvp_seq_attach_extras_sliced - give new nodes their extra digests
 * @pool: the pool
 * @seq: the sequence, with the nodes
 * @in: the digests; those of nodes that were matched are there already
 * @taken: where the digests' places come from
 */
void kvp_seq_attach_extras_sliced(struct kvp_pool *pool, struct kvp_seq *seq,
				  const struct kvp_ids_in *in, struct kvp_taken *taken)
{
	u32 i;

	for (i = kvp_extras_from(in, seq->nr_published); i < in->nr_extras; i++) {
		const struct kvp_extra *extra = &in->extras[i];

		pool->nodes[seq->runs.at[extra->node]].extra =
			kvp_taken_digest_locked(pool, taken, extra->digest);
		kvp_slice_step(pool, 1);
	}
}

/* The hash of a node that is full now; @parent: of the one before it. */
static u64 kvp_hash_run(const struct kvp_pool *pool, u32 index, u64 parent, u64 run,
			const struct kvp_walk *walk)
{
	u32 extra = pool->nodes[index].extra;

	if (walk && run < walk->hashed && run + KVP_WALK_HASHES >= walk->hashed)
		return kvp_walk_hash_of(walk, run);
	return kvp_content_hash(pool, parent, kvp_node_tokens(pool, index),
				extra == KVP_NIL ? NULL : pool->digests[extra].byte);
}

/**
 * kvp_seq_fill - ids into the nodes at the end of a sequence
 * @pool: the pool
 * @seq: the sequence; its nodes for them are private and nobody else's
 * @in: the ids; the first is the next of the sequence
 */
void kvp_seq_fill(struct kvp_pool *pool, struct kvp_seq *seq, const struct kvp_ids_in *in)
{
	u32 size = pool->index_tokens;
	const u32 *tokens = in->tokens;
	u32 left = in->nr;
	u64 run = seq->tokens / size;
	u32 at = seq->tokens % size;
	u64 hash = pool->nodes[run ? seq->runs.at[run - 1] : seq->root].hash;

	for (; left; run++, at = 0) {
		u32 index = seq->runs.at[run];
		u32 nr = min(left, size - at);

		memcpy(kvp_node_tokens(pool, index) + at, tokens, nr * sizeof(*tokens));
		pool->nodes[index].nr_tokens = at + nr;
		if (at + nr == size) {
			hash = kvp_hash_run(pool, index, hash, run, in->walk);
			pool->nodes[index].hash = hash;
		}
		tokens += nr;
		left -= nr;
	}
	seq->tokens += in->nr;
}

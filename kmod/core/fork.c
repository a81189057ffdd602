// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A second sequence on the blocks of a first. The child is the call's alone until
 * it gets its id at the end, and freeing it undoes everything; the parent is
 * busy meanwhile and not changed.
 */
#include "core.h"

/**
 * struct kvp_fork - one fork on its way
 * @parent: busy
 * @child: busy, without an id
 * @limit: tokens of the parent that may be shared at most
 * @tokens: how many they will share
 * @nodes: nodes shared by reference
 * @copy_node: the node in which @tokens ends is copied
 * @copies: copies that the caller will have to make
 * @plan: slots in the child's tables; blocks, node and digest for the copies
 */
struct kvp_fork {
	struct kvp_seq *parent;
	struct kvp_seq *child;
	u64 limit;
	u64 tokens;
	u64 nodes;
	bool copy_node;
	u32 copies;
	struct kvp_plan plan;
};

static int kvp_fork_plan(struct kvp_call *call, struct kvp_fork *fork)
{
	struct kvp_seq_fork *arg = call->arg;
	struct kvp_seq *parent = fork->parent;
	struct kvp_pool *pool = call->pool;
	int err;
	u32 i;

	fork->tokens = arg->tokens == KVP_POS_END ? fork->limit : arg->tokens;
	if (fork->tokens > fork->limit)
		return kvp_fail(call, -EINVAL, KVP_REASON_LENGTH, 0);
	err = kvp_seq_check_cut(call, parent, fork->tokens, false);
	if (err)
		return err;

	memset(&fork->plan.need, 0, sizeof(fork->plan.need));
	fork->copy_node = fork->tokens % pool->index_tokens && parent->reserved > fork->tokens;
	fork->copies = 0;
	fork->plan.slots = 0;
	if (fork->copy_node)
		fork->copies = kvp_copies_need(pool, parent, fork->tokens, fork->tokens,
					       fork->tokens, &fork->plan.need);
	fork->nodes = kvp_nodes_for(pool, fork->tokens) - fork->copy_node;
	for (i = 0; i < pool->nr_families; i++) {
		fork->plan.slots += kvp_blocks_for(&pool->family[i], fork->tokens);
		if (pool->family[i].desc.kind != KVP_FAMILY_STATE)
			continue;
		fork->plan.need.blocks[i] = 1;
		fork->copies++;
	}
	if (fork->copies > arg->nr_copies)
		return kvp_fail(call, -EOVERFLOW, KVP_REASON_COPIES, fork->copies);
	return 0;
}

/* One slot of the child: none, the parent's block, or a private copy of it. */
static int kvp_fork_slot_locked(struct kvp_call *call, struct kvp_fork *fork, u32 i, u64 slot,
				struct kvp_taken *taken)
{
	struct kvp_seq_fork *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_family *family = &pool->family[i];
	struct kvp_copy *copies = call->array[0];
	u32 src = fork->parent->table[i].at[slot];
	bool state = family->desc.kind == KVP_FAMILY_STATE;
	u32 dst = src;
	u32 rows;

	if (src != KVP_NIL) {
		/* For the table, or until the copy is made. */
		if (!kvp_block_get_locked(pool, family, src, call->client->slot))
			return kvp_fail(call, -EOVERFLOW, KVP_REASON_COUNT, i);
		if (state || (fork->copy_node && slot >= fork->nodes * family->parts)) {
			rows = state ? 1 : kvp_copy_rows(family, slot, fork->tokens);
			dst = kvp_copy_block_locked(pool, fork->child, i, src, rows, taken,
						    &copies[arg->nr_copies++]);
		}
	}
	kvp_seq_push(fork->child, i, dst);
	return 0;
}

static int kvp_fork_tables_sliced(struct kvp_call *call, struct kvp_fork *fork,
				  struct kvp_taken *taken)
{
	struct kvp_pool *pool = call->pool;
	struct kvp_vec *runs = &fork->child->runs;
	u64 slot, end;
	int err;
	u32 i;

	while (runs->nr < fork->nodes) {
		u32 index = fork->parent->runs.at[runs->nr];

		pool->nodes[index].uses++;
		runs->at[runs->nr++] = index;
		kvp_slice_step(pool, 1);
	}
	if (fork->copy_node) {
		runs->at[runs->nr] = kvp_copy_node_locked(pool, taken,
							  fork->parent->runs.at[runs->nr]);
		runs->nr++;
	}
	for (i = 0; i < pool->nr_families; i++) {
		end = kvp_blocks_for(&pool->family[i], fork->tokens);
		for (slot = 0; slot < end; slot++) {
			err = kvp_fork_slot_locked(call, fork, i, slot, taken);
			if (err)
				return err;
			kvp_slice_step(pool, 1);
		}
	}
	return 0;
}

static int kvp_fork_sliced(struct kvp_call *call, struct kvp_fork *fork)
{
	struct kvp_seq_fork *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_seq *parent = fork->parent;
	struct kvp_seq *child = fork->child;
	struct kvp_taken taken;
	u32 i;
	int err;

	err = kvp_seq_check_add_sliced(call);
	if (!err)
		err = kvp_seq_take_sliced(call, &fork->plan, &taken);
	if (err)
		return err;
	parent->owns_end = false;
	child->root = parent->root;
	pool->nodes[child->root].uses++;
	child->tail = parent->tail;
	pool->nodes[child->tail].refs++;
	child->nr_published = parent->nr_published;
	child->tokens = fork->tokens;
	child->computed = fork->tokens;
	child->windowed = min(parent->windowed, fork->tokens);
	child->moved_at = min(parent->moved_at, fork->tokens);
	child->borrows = parent->borrows;
	child->reserved = fork->tokens;
	arg->nr_copies = 0;
	err = kvp_fork_tables_sliced(call, fork, &taken);
	/* A table that was not finished ends with the slots that it has. */
	for (i = 0; i < pool->nr_families; i++)
		fork->plan.slots -= child->table[i].nr;
	kvp_less_locked(call->client->account, KVP_SLOTS, fork->plan.slots);
	kvp_give_back_sliced(call->client, &taken);
	kvp_seq_set_tail_sliced(pool, child, min(parent->nr_published,
						 fork->tokens / pool->index_tokens));
	/* The parent's windows may wait for work that does not concern the child. */
	if (!err && child->windowed < child->computed)
		kvp_seq_move_windows_sliced(pool, child);
	return err;
}

/* The ids in a copied node. */
static void kvp_fork_copy_tokens(struct kvp_pool *pool, struct kvp_fork *fork)
{
	u32 nr = fork->tokens % pool->index_tokens;
	u32 index = fork->child->runs.at[fork->nodes];

	memcpy(kvp_node_tokens(pool, index),
	       kvp_node_tokens(pool, fork->parent->runs.at[fork->nodes]), nr * sizeof(u32));
	pool->nodes[index].nr_tokens = nr;
}

static int kvp_fork_child(struct kvp_call *call, struct kvp_fork *fork)
{
	struct kvp_seq_fork *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_room room;
	int err;

	fork->child = kvp_seq_alloc(call);
	if (IS_ERR(fork->child))
		return PTR_ERR(fork->child);
	err = kvp_seq_room_make(call, fork->child, fork->tokens, fork->tokens, &room);
	if (!err) {
		kvp_seq_room_use(fork->child, &room);
		err = kvp_places_copy(call, fork->child, fork->parent, fork->tokens);
	}

	kvp_lock(pool);
	if (!err)
		err = kvp_fork_sliced(call, fork);
	if (!err && fork->copy_node) {
		kvp_unlock(pool);
		kvp_fork_copy_tokens(pool, fork);
		kvp_lock(pool);
	}
	if (!err)
		err = kvp_seq_add_sliced(call, fork->child);
	if (err) {
		kvp_seq_free_sliced(fork->child);
	} else {
		pool->counters.copies += arg->nr_copies;
		arg->child = fork->child->id;
		arg->tokens = fork->tokens;
		kvp_seq_end(fork->child);
	}
	kvp_unlock(pool);
	return err;
}

/**
 * kvp_op_seq_fork - KVP_OP_SEQ_FORK
 * @call: struct kvp_seq_fork
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_seq_fork(struct kvp_call *call)
{
	struct kvp_seq_fork *arg = call->arg;
	struct kvp_fork fork;
	int err;

	fork.parent = kvp_seq_begin_settled(call, arg->seq);
	if (IS_ERR(fork.parent))
		return PTR_ERR(fork.parent);
	fork.limit = fork.parent->computed;
	err = kvp_fork_plan(call, &fork);
	/* A state is written in place, wherever its work writes. */
	if (!err && (fork.tokens > kvp_seq_open_from(fork.parent) ||
		     (call->pool->has_states && kvp_seq_open_from(fork.parent) != KVP_POS_END)))
		err = kvp_fail(call, -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	if (!err)
		err = kvp_fork_child(call, &fork);
	kvp_seq_end(fork.parent);
	return err;
}

/**
 * kvp_fork_to - the beginning of a sequence, for another client
 * @call: the call, which may be that of neither client
 * @parent: busy; of any client of the pool, and such that no copies are needed
 * @tokens: how many; they are computed, or will be before anybody looks
 * @client: who gets the child
 * @id: set to the child's id
 *
 * Return: 0 or kvp_fail(), as the fork of @client's own.
 */
int kvp_fork_to(struct kvp_call *call, struct kvp_seq *parent, u64 tokens,
		struct kvp_client *client, u64 *id)
{
	struct kvp_seq_fork arg = { .tokens = KVP_POS_END };
	struct kvp_fork fork = { .parent = parent, .limit = tokens };
	struct kvp_call sub = {
		.client = client,
		.pool = call->pool,
		.arg = &arg,
	};
	int err;

	err = kvp_fork_plan(&sub, &fork);
	if (!err)
		err = kvp_fork_child(&sub, &fork);
	if (err)
		return kvp_fail(call, err, arg.head.reason, arg.head.where);
	*id = arg.child;
	return 0;
}

/**
 * kvp_undo_seq_fork - the caller never learned of the child
 * @call: as executed
 */
void kvp_undo_seq_fork(struct kvp_call *call)
{
	struct kvp_seq_fork *arg = call->arg;

	kvp_seq_undo(call, arg->child);
}

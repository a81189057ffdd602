// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A live sequence grows: slots and token ids at its end, private copies first
 * where the node in which it ends is shared. Everything that can fail happens
 * before the first change.
 */
#include "core.h"

/**
 * struct kvp_grow - one append on its way
 * @seq: the sequence, busy
 * @in: ids and digests
 * @reserved: slots to have
 * @tokens: ids to have
 * @plan: what that takes
 * @room: memory for longer tables
 * @late: memory for what work may still touch of a shared node
 * @taken: blocks, nodes and digests
 * @old: the shared node that was replaced, or KVP_NIL
 */
struct kvp_grow {
	struct kvp_seq *seq;
	struct kvp_ids_in in;
	u64 reserved;
	u64 tokens;
	struct kvp_plan plan;
	struct kvp_room room;
	struct kvp_late_room late;
	struct kvp_taken taken;
	u32 old;
};

/* Work may have computed rows whose ids are known only now. */
static void kvp_seq_catch_up(struct kvp_pool *pool, struct kvp_seq *seq)
{
	if (seq->done_to <= seq->computed)
		return;
	kvp_lock(pool);
	kvp_seq_settle_sliced(pool, seq);
	kvp_unlock(pool);
}

static int kvp_check_position(struct kvp_call *call, const struct kvp_seq *seq, u64 *position)
{
	u64 expected = *position;

	*position = seq->tokens;
	if (expected != KVP_POS_END && expected != seq->tokens)
		return kvp_fail(call, -EINVAL, KVP_REASON_POSITION, 0);
	return 0;
}

static int kvp_append_check(struct kvp_call *call, struct kvp_grow *grow)
{
	struct kvp_seq_append *arg = call->arg;
	struct kvp_seq *seq = grow->seq;
	int err = kvp_check_position(call, seq, &arg->position);

	if (err)
		return err;
	if (grow->in.nr > KVP_MAX_SEQ_TOKENS - seq->tokens ||
	    arg->reserve > KVP_MAX_SEQ_TOKENS - seq->tokens - grow->in.nr)
		return kvp_fail(call, -EOVERFLOW, KVP_REASON_LENGTH, 0);
	grow->tokens = seq->tokens + grow->in.nr;
	grow->reserved = max(seq->reserved, grow->tokens + arg->reserve);
	if (!grow->in.nr && grow->reserved == seq->reserved)
		return kvp_fail(call, -EINVAL, KVP_REASON_COUNT, 0);
	return kvp_extras_check(call, &grow->in, seq->tokens);
}

/*
 * Whether the ids are for blocks and a node that are there already, and nobody else's: then
 * nothing is taken. That is looked at once for many appends.
 */
static bool kvp_append_fits(struct kvp_pool *pool, const struct kvp_grow *grow)
{
	struct kvp_seq *seq = grow->seq;
	u32 i;

	if (kvp_nodes_for(pool, grow->tokens) != seq->runs.nr)
		return false;
	for (i = 0; i < pool->nr_families; i++)
		if (kvp_blocks_for(&pool->family[i], grow->reserved) != seq->table[i].nr)
			return false;
	if (!seq->owns_end) {
		kvp_lock(pool);
		seq->owns_end = !kvp_node_shared_sliced(pool, seq);
		kvp_unlock(pool);
	}
	return seq->owns_end;
}

static int kvp_append_plan(struct kvp_call *call, struct kvp_grow *grow)
{
	struct kvp_seq *seq = grow->seq;
	int err;

	err = kvp_seq_plan(call, seq, grow->reserved, grow->tokens, seq->computed, &grow->plan);
	if (err)
		return err;
	grow->plan.need.digests = grow->in.nr_extras;
	/* Of the node in which it ends, if that is shared. */
	err = kvp_seq_late_room(call, seq, seq->tokens % call->pool->index_tokens ?
				call->pool->parts_per_node : 0, &grow->late);
	if (err)
		return err;
	err = kvp_seq_room_make(call, seq, grow->reserved, grow->tokens, &grow->room);
	if (err)
		kvp_late_drop(call->client, &grow->late);
	return err;
}

/* Tokens from the start that have rows, whether their ids are known or not. */
static u64 kvp_seq_rows(const struct kvp_seq *seq)
{
	return min(max(seq->computed, seq->done_to), seq->reserved);
}

/* Take what it takes; copies that the caller has no room for are refused before. */
static int kvp_append_take_sliced(struct kvp_call *call, struct kvp_grow *grow)
{
	struct kvp_seq_append *arg = call->arg;
	struct kvp_seq *seq = grow->seq;
	u32 copies = 0;

	grow->old = KVP_NIL;
	if (kvp_node_shared_sliced(call->pool, seq)) {
		/* Rows that are being written there could not be copied. */
		if (kvp_seq_open_from(seq) < min(seq->runs.nr * call->pool->index_tokens,
						 seq->reserved))
			return kvp_fail(call, -EBUSY, KVP_REASON_FENCE_OPEN, 0);
		grow->old = seq->runs.at[seq->runs.nr - 1];
		copies = kvp_copies_need(call->pool, seq, seq->tokens, seq->reserved,
					 kvp_seq_rows(seq), &grow->plan.need);
	}
	if (copies > arg->nr_copies)
		return kvp_fail(call, -EOVERFLOW, KVP_REASON_COPIES, copies);
	return kvp_seq_take_sliced(call, &grow->plan, &grow->taken);
}

/* The node in which the sequence ends, and its blocks, become its own. */
static void kvp_append_copy_sliced(struct kvp_call *call, struct kvp_grow *grow)
{
	struct kvp_seq_append *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_seq *seq = grow->seq;
	u64 node = seq->tokens / pool->index_tokens;
	struct kvp_copy *copies = call->array[2];
	struct kvp_copy unused;
	u64 slot, end;
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		struct kvp_family *family = &pool->family[i];

		end = min((node + 1) * family->parts, seq->table[i].nr);
		for (slot = node * family->parts; slot < end; slot++) {
			u32 *at = &seq->table[i].at[slot];
			u32 rows = kvp_copy_rows(family, slot, kvp_seq_rows(seq));
			u32 old = *at;

			if (old == KVP_NIL)
				continue;
			kvp_slice_next(pool, 1);
			*at = kvp_copy_block_locked(pool, seq, i, old, rows, &grow->taken,
						    rows ? &copies[arg->nr_copies++] : &unused);
			if (!rows)
				kvp_seq_let_go_locked(pool, seq, i, old);
		}
	}
	seq->runs.at[node] = kvp_copy_node_locked(pool, &grow->taken, grow->old);
	pool->counters.copies += arg->nr_copies;
}

/* The ids in a replaced node, and the end of its use. */
static void kvp_append_move_tokens(struct kvp_pool *pool, struct kvp_grow *grow)
{
	struct kvp_seq *seq = grow->seq;
	u32 index = seq->runs.at[seq->tokens / pool->index_tokens];
	u32 nr = seq->tokens % pool->index_tokens;

	memcpy(kvp_node_tokens(pool, index), kvp_node_tokens(pool, grow->old), nr * sizeof(u32));
	pool->nodes[index].nr_tokens = nr;
	kvp_lock(pool);
	kvp_node_unuse_locked(pool, grow->old);
	kvp_unlock(pool);
}

static int kvp_append_more(struct kvp_call *call, struct kvp_grow *grow)
{
	struct kvp_seq_append *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_seq *seq = grow->seq;
	int err;

	err = kvp_append_plan(call, grow);
	if (err)
		return err;
	kvp_lock(pool);
	err = kvp_append_take_sliced(call, grow);
	if (err) {
		kvp_unlock(pool);
		kvp_seq_room_drop(call->client, &grow->room);
		kvp_late_drop(call->client, &grow->late);
		return err;
	}
	arg->nr_copies = 0;
	if (grow->room.nr || grow->late.max) {
		kvp_unlock(pool);
		kvp_seq_late_use(seq, &grow->late);
		kvp_seq_room_use(seq, &grow->room);
		kvp_lock(pool);
	}
	if (grow->old != KVP_NIL)
		kvp_append_copy_sliced(call, grow);
	kvp_seq_grow_sliced(pool, seq, &grow->taken, grow->reserved, grow->tokens);
	kvp_seq_attach_extras_sliced(pool, seq, &grow->in, &grow->taken);
	kvp_unlock(pool);

	if (grow->old != KVP_NIL)
		kvp_append_move_tokens(pool, grow);
	seq->owns_end = false;
	return 0;
}

static int kvp_append(struct kvp_call *call, struct kvp_grow *grow)
{
	struct kvp_seq_append *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_seq *seq = grow->seq;
	int err;

	err = kvp_append_check(call, grow);
	if (err)
		return err;
	if (kvp_append_fits(pool, grow))
		arg->nr_copies = 0;
	else
		err = kvp_append_more(call, grow);
	if (err)
		return err;
	if (grow->in.nr)
		kvp_places_append(seq);
	kvp_seq_fill(pool, seq, &grow->in);
	seq->reserved = grow->reserved;
	arg->nr_reserved = seq->reserved;
	kvp_seq_catch_up(pool, seq);
	return 0;
}

/**
 * kvp_op_seq_append - KVP_OP_SEQ_APPEND
 * @call: struct kvp_seq_append
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_seq_append(struct kvp_call *call)
{
	struct kvp_seq_append *arg = call->arg;
	struct kvp_grow grow;
	int err;

	grow.seq = kvp_seq_begin_settled(call, arg->seq);
	if (IS_ERR(grow.seq))
		return PTR_ERR(grow.seq);
	grow.in = (struct kvp_ids_in) {
		.tokens = call->array[0],
		.nr = arg->nr_tokens,
		.extras = call->array[1],
		.nr_extras = arg->nr_extras,
	};
	err = kvp_append(call, &grow);
	kvp_seq_end(grow.seq);
	return err;
}

static int kvp_set_tokens(struct kvp_call *call, struct kvp_seq *seq,
			  const struct kvp_ids_in *in)
{
	struct kvp_seq_set_tokens *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	u64 tokens = seq->tokens + in->nr;
	struct kvp_taken taken;
	struct kvp_room room;
	struct kvp_plan plan;
	int err;

	err = kvp_check_position(call, seq, &arg->position);
	if (err)
		return err;
	if (in->nr > seq->reserved - seq->tokens)
		return kvp_fail(call, -EINVAL, KVP_REASON_LENGTH, 0);
	err = kvp_extras_check(call, in, seq->tokens);
	if (!err)
		err = kvp_seq_plan(call, seq, seq->reserved, tokens, seq->computed, &plan);
	if (!err)
		err = kvp_seq_room_make(call, seq, seq->reserved, tokens, &room);
	if (err)
		return err;
	plan.need.digests = in->nr_extras;

	kvp_lock(pool);
	err = kvp_take_sliced(call, &plan.need, &taken);
	kvp_unlock(pool);
	if (err) {
		kvp_seq_room_drop(call->client, &room);
		return err;
	}
	kvp_seq_room_use(seq, &room);
	kvp_lock(pool);
	kvp_seq_grow_sliced(pool, seq, &taken, seq->reserved, tokens);
	kvp_seq_attach_extras_sliced(pool, seq, in, &taken);
	kvp_unlock(pool);
	kvp_places_append(seq);
	kvp_seq_fill(pool, seq, in);
	seq->owns_end = false;
	kvp_seq_catch_up(pool, seq);
	return 0;
}

/**
 * kvp_op_seq_set_tokens - KVP_OP_SEQ_SET_TOKENS
 * @call: struct kvp_seq_set_tokens
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_seq_set_tokens(struct kvp_call *call)
{
	struct kvp_seq_set_tokens *arg = call->arg;
	struct kvp_ids_in in = {
		.tokens = call->array[0],
		.nr = arg->nr_tokens,
		.extras = call->array[1],
		.nr_extras = arg->nr_extras,
	};
	struct kvp_seq *seq;
	int err;

	seq = kvp_seq_begin_settled(call, arg->seq);
	if (IS_ERR(seq))
		return PTR_ERR(seq);
	err = kvp_set_tokens(call, seq, &in);
	kvp_seq_end(seq);
	return err;
}

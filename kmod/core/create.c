// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The beginning of a sequence: the longest published prefix is taken by
 * reference, the rest is allocated, in one step or not at all. Until it gets
 * its id at the end, the sequence is the call's alone, and freeing it undoes
 * everything.
 */
#include "core.h"

/**
 * kvp_seq_check_add_sliced - whether the client may have one more sequence
 * @call: the call
 *
 * Return: 0, and there is an id as long as the lock is held; or kvp_fail() with -EDQUOT or
 * -ENOMEM.
 */
int kvp_seq_check_add_sliced(struct kvp_call *call)
{
	struct kvp_client *client = call->client;
	int err = kvp_ids_room_sliced(call->pool, &client->seqs);

	if (err == -ENOMEM)
		return kvp_fail_alloc(call, err);
	if (err)
		return kvp_refuse_locked(call, -EDQUOT, KVP_REASON_LIMIT_SEQS, 0);
	return kvp_check_more_locked(call, KVP_SEQS, 1);
}

/**
 * kvp_seq_add_sliced - give a finished sequence its id; others see it from now on
 * @call: the call
 * @seq: the sequence, still busy
 *
 * Return: as kvp_seq_check_add_sliced().
 */
int kvp_seq_add_sliced(struct kvp_call *call, struct kvp_seq *seq)
{
	int err = kvp_seq_check_add_sliced(call);

	if (err)
		return err;
	seq->id = kvp_ids_add_locked(&call->client->seqs, seq);
	kvp_more_locked(call->client->account, KVP_SEQS, 1);
	return 0;
}

/**
 * kvp_may_hold_idle_locked - whether a client may be the first to hold idle blocks
 * @client: the client
 * @family: their family
 * @nr: how many
 *
 * Return: 0, -EDQUOT or KVP_OVER_UID (over a limit) or -ENOSPC (others' guarantees).
 */
int kvp_may_hold_idle_locked(const struct kvp_client *client, const struct kvp_family *family,
			     u64 nr)
{
	u32 i = family->index;
	int err = kvp_over_blocks_locked(client, i, nr);

	if (err)
		return err;
	if (kvp_others_unmet_locked(client->pool, i, client->slot) + nr >
	    kvp_family_room_locked(family))
		return -ENOSPC;
	return 0;
}

/**
 * kvp_check_idle_sliced - whether the client may be the first to hold an idle block
 * @call: the call
 * @family: the block's family; the block stays, whatever else changes
 *
 * Return: 0, or kvp_fail() with -EDQUOT or -ENOSPC (others' guarantees).
 */
int kvp_check_idle_sliced(struct kvp_call *call, const struct kvp_family *family)
{
	const struct kvp_client *client = call->client;
	int err = kvp_may_hold_idle_locked(client, family, 1);
	enum kvp_reason reason = KVP_REASON_LIMIT_BLOCKS;

	if (err && call->pool->nr_fenced) {
		kvp_settle_sliced(call->pool);
		err = kvp_may_hold_idle_locked(client, family, 1);
	}
	if (!err)
		return 0;
	if (err == -ENOSPC)
		reason = kvp_others_unmet_locked(call->pool, family->index, client->slot) ?
			 KVP_REASON_GUARANTEED : KVP_REASON_POOL_FULL;
	return kvp_refuse_locked(call, err, reason, family->index);
}

static int kvp_hold_block_sliced(struct kvp_call *call, struct kvp_family *family, u32 index)
{
	int err;

	if (!family->blocks[index].count) {
		err = kvp_check_idle_sliced(call, family);
		if (err)
			return err;
	}
	if (!kvp_block_get_locked(call->pool, family, index, call->client->slot))
		return kvp_fail(call, -EOVERFLOW, KVP_REASON_COUNT, family->index);
	return 0;
}

/*
 * The blocks of one more matched node: those of DENSE families. Windows get empty slots, which
 * kvp_hold_windows_sliced() fills when the end is known.
 */
static int kvp_hold_node_sliced(struct kvp_call *call, struct kvp_seq *seq, u64 run)
{
	struct kvp_pool *pool = call->pool;
	const u32 *part = kvp_node_parts(pool, seq->runs.at[run]);
	int err = kvp_take_more_sliced(call, KVP_SLOTS, pool->parts_per_node);
	u32 pushed = 0;
	u32 i, j;

	if (err)
		return err;

	for (i = 0; !err && i < pool->nr_families; i++) {
		struct kvp_family *family = &pool->family[i];

		for (j = 0; j < family->parts; j++, part++) {
			bool later = family->desc.kind == KVP_FAMILY_WINDOW;

			if (!later)
				err = kvp_hold_block_sliced(call, family, *part);
			if (err)
				break;
			kvp_seq_push(seq, i, later ? KVP_NIL : *part);
			pushed++;
		}
	}
	kvp_less_locked(call->client->account, KVP_SLOTS, pool->parts_per_node - pushed);
	return err;
}

/* What the windows still need at the end of a matched prefix. */
static int kvp_hold_windows_sliced(struct kvp_call *call, struct kvp_seq *seq)
{
	struct kvp_pool *pool = call->pool;
	int err;
	u64 slot;
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		struct kvp_family *family = &pool->family[i];

		if (family->desc.kind != KVP_FAMILY_WINDOW)
			continue;
		slot = kvp_window_start(family, seq->computed) / family->desc.block_tokens;
		for (; slot < seq->table[i].nr; slot++) {
			const u32 *parts = kvp_node_parts(pool,
							  seq->runs.at[slot / family->parts]);
			u32 index = parts[family->first_part + slot % family->parts];

			err = kvp_hold_block_sliced(call, family, index);
			if (err)
				return err;
			seq->table[i].at[slot] = index;
			kvp_slice_step(pool, 1);
		}
	}
	return 0;
}

/* Look up the nodes whose hashes are known, and hold what is usable of them. */
static int kvp_match_some_sliced(struct kvp_call *call, struct kvp_seq *seq,
				 struct kvp_walk *walk)
{
	struct kvp_pool *pool = call->pool;
	u32 index;
	int err;

	pool->touched += walk->ready - walk->depth;
	while ((index = kvp_walk_next_locked(walk)) != KVP_NIL) {
		pool->nodes[index].uses++;
		seq->runs.at[seq->runs.nr++] = index;
		kvp_prefetch_parts_locked(pool, index);
	}
	for (; seq->nr_published < walk->usable; seq->nr_published++) {
		/* With windows many may become usable at once; their uses keep them. */
		kvp_slice_next(pool, 1 + pool->parts_per_node);
		err = kvp_hold_node_sliced(call, seq, seq->nr_published);
		if (err)
			return err;
	}
	return 0;
}

/* The sequence ends where its matched nodes are usable. */
static int kvp_stand_sliced(struct kvp_call *call, struct kvp_seq *seq)
{
	struct kvp_pool *pool = call->pool;
	u64 tokens = seq->nr_published * pool->index_tokens;

	kvp_seq_shrink_sliced(pool, seq, tokens);
	seq->reserved = tokens;
	seq->tokens = tokens;
	seq->computed = tokens;
	seq->windowed = tokens;
	if (!tokens)
		return 0;
	kvp_node_put_locked(pool, seq->tail);
	seq->tail = seq->runs.at[seq->nr_published - 1];
	pool->nodes[seq->tail].refs++;
	return pool->has_windows ? kvp_hold_windows_sliced(call, seq) : 0;
}

/* Join a namespace that is known, and take the longest prefix that is published there. */
static int kvp_create_match(struct kvp_call *call, struct kvp_seq *seq,
			    const struct kvp_ids_in *in, struct kvp_walk *walk)
{
	struct kvp_seq_create *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	u64 hash = kvp_space_hash(pool, arg->space);
	u32 index;
	int err;

	walk->hashed = 0;
	kvp_lock(pool);
	err = kvp_seq_check_add_sliced(call);
	index = kvp_index_root_locked(pool, hash, arg->space);
	if (!err && index != KVP_NIL) {
		pool->nodes[index].uses++;
		pool->nodes[index].refs++;
		seq->root = index;
		seq->tail = index;
	}
	kvp_unlock(pool);
	if (err || index == KVP_NIL || arg->head.flags & KVP_SEQ_NO_MATCH)
		return err;

	kvp_walk_init(walk, pool, index, hash, in, arg->match_limit);
	while (!err && kvp_walk_ahead(walk)) {
		kvp_lock(pool);
		err = kvp_match_some_sliced(call, seq, walk);
		kvp_unlock(pool);
	}
	seq->reserved = seq->runs.nr * pool->index_tokens;
	if (err)
		return err;
	kvp_lock(pool);
	err = kvp_stand_sliced(call, seq);
	kvp_unlock(pool);
	return err;
}

/* A namespace that nobody has used yet; unless somebody was faster. */
static void kvp_create_root_locked(struct kvp_pool *pool, struct kvp_seq *seq,
				   const u8 *space, struct kvp_taken *taken)
{
	u64 hash = kvp_space_hash(pool, space);
	u32 index = kvp_index_root_locked(pool, hash, space);

	if (index == KVP_NIL) {
		index = kvp_taken_node_locked(pool, taken);
		pool->nodes[index].hash = hash;
		pool->nodes[index].extra = kvp_taken_digest_locked(pool, taken, space);
		kvp_index_insert_root_locked(pool, index);
	} else {
		pool->nodes[index].uses++;
	}
	pool->nodes[index].refs++;
	seq->root = index;
	seq->tail = index;
}

/* What was not matched: blocks, nodes, ids. */
static int kvp_create_rest(struct kvp_call *call, struct kvp_seq *seq,
			   const struct kvp_ids_in *in, u64 reserved)
{
	struct kvp_seq_create *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	u64 tokens = seq->tokens + in->nr;
	struct kvp_taken taken;
	struct kvp_plan plan;
	int err;

	err = kvp_seq_plan(call, seq, reserved, tokens, seq->computed, &plan);
	if (err)
		return err;
	plan.need.digests = in->nr_extras - kvp_extras_from(in, seq->nr_published);
	if (seq->root == KVP_NIL) {
		plan.need.nodes++;
		plan.need.digests++;
	}
	kvp_lock(pool);
	err = kvp_seq_take_sliced(call, &plan, &taken);
	if (!err) {
		if (seq->root == KVP_NIL)
			kvp_create_root_locked(pool, seq, arg->space, &taken);
		kvp_seq_grow_sliced(pool, seq, &taken, reserved, tokens);
		kvp_seq_attach_extras_sliced(pool, seq, in, &taken);
		kvp_give_back_sliced(call->client, &taken);
	}
	kvp_unlock(pool);
	if (err)
		return err;
	kvp_seq_fill(pool, seq, in);
	seq->reserved = reserved;
	return 0;
}

static int kvp_create_check(struct kvp_call *call, const struct kvp_ids_in *in)
{
	struct kvp_seq_create *arg = call->arg;

	if ((arg->head.flags & KVP_SEQ_CREATE_FLAGS_ALL) == KVP_SEQ_CREATE_FLAGS_ALL)
		return kvp_fail(call, -EINVAL, KVP_REASON_FLAG, 0);
	if (arg->head.flags & KVP_SEQ_MATCH_ONLY && arg->reserve)
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE,
				offsetof(struct kvp_seq_create, reserve));
	if (arg->reserve > KVP_MAX_SEQ_TOKENS - in->nr)
		return kvp_fail(call, -EOVERFLOW, KVP_REASON_LENGTH, 0);
	return kvp_extras_check(call, in, 0);
}

static int kvp_create(struct kvp_call *call, struct kvp_seq *seq, struct kvp_ids_in *in)
{
	struct kvp_seq_create *arg = call->arg;
	bool match_only = arg->head.flags & KVP_SEQ_MATCH_ONLY;
	u64 reserved = in->nr + arg->reserve;
	struct kvp_room room;
	struct kvp_walk walk;
	struct kvp_plan plan;
	int err;

	/* Even if all of it were matched. */
	err = match_only ? 0 : kvp_seq_plan(call, seq, reserved, in->nr, in->nr, &plan);
	if (!err)
		err = kvp_seq_room_make(call, seq, reserved, in->nr, &room);
	if (err)
		return err;
	kvp_seq_room_use(seq, &room);
	err = kvp_create_match(call, seq, in, &walk);
	if (err)
		return err;

	in->walk = &walk;
	if (match_only) {
		in->nr = 0;
		in->nr_extras = 0;
		reserved = seq->tokens;
	} else {
		in->tokens = seq->tokens ? in->tokens + seq->tokens : in->tokens;
		in->nr -= seq->tokens;
	}
	return kvp_create_rest(call, seq, in, reserved);
}

/**
 * kvp_op_seq_create - KVP_OP_SEQ_CREATE
 * @call: struct kvp_seq_create
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_seq_create(struct kvp_call *call)
{
	struct kvp_seq_create *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_ids_in in = {
		.tokens = call->array[0],
		.nr = arg->nr_tokens,
		.extras = call->array[1],
		.nr_extras = arg->nr_extras,
	};
	struct kvp_seq *seq;
	int err;

	err = kvp_create_check(call, &in);
	if (err)
		return err;
	seq = kvp_seq_alloc(call);
	if (IS_ERR(seq))
		return PTR_ERR(seq);

	err = kvp_create(call, seq, &in);
	kvp_lock(pool);
	if (!err)
		err = kvp_seq_add_sliced(call, seq);
	if (err) {
		kvp_seq_free_sliced(seq);
	} else {
		if (!(arg->head.flags & KVP_SEQ_NO_MATCH))
			pool->counters.looked_up_nodes += arg->nr_tokens / pool->index_tokens;
		pool->counters.matched_nodes += seq->nr_published;
		arg->seq = seq->id;
		arg->matched = seq->computed;
		arg->reserved = seq->reserved;
		kvp_seq_end(seq);
	}
	kvp_unlock(pool);
	return err;
}

/**
 * kvp_undo_seq_create - the caller never learned of the sequence
 * @call: as executed
 */
void kvp_undo_seq_create(struct kvp_call *call)
{
	struct kvp_seq_create *arg = call->arg;

	kvp_seq_undo(call, arg->seq);
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Sequences: their memory, tables and lengths, and everything that makes them
 * shorter or ends them. What makes them longer is in create.c, append.c and fork.c.
 *
 * A sequence belongs to the call that made it busy: its lengths and tables are
 * read and changed without the lock; the blocks and nodes that they name are
 * under kvp_pool.lock.
 */
#include "core.h"

#define KVP_SHRINK_AHEAD	16	/* nodes that are fetched before they are given back */

/**
 * kvp_seq_size - bytes of a sequence without its tables
 * @pool: the pool
 *
 * Return: how many.
 */
size_t kvp_seq_size(const struct kvp_pool *pool)
{
	return sizeof(struct kvp_seq) + pool->nr_families * sizeof(struct kvp_vec) +
	       (pool->parts_per_node + pool->nr_families) * sizeof(struct kvp_pending);
}

/**
 * kvp_seq_alloc - memory for an empty sequence, busy, without an id or a root
 * @call: the call that makes it
 *
 * Return: the sequence, or ERR_PTR of kvp_fail() with -EDQUOT or -ENOMEM.
 */
struct kvp_seq *kvp_seq_alloc(struct kvp_call *call)
{
	struct kvp_pool *pool = call->pool;
	struct kvp_seq *seq = kvp_client_alloc(call->client, kvp_seq_size(pool));

	if (IS_ERR(seq))
		return ERR_PTR(kvp_fail_alloc(call, PTR_ERR(seq)));
	seq->client = call->client;
	seq->busy = 1;
	seq->root = KVP_NIL;
	seq->tail = KVP_NIL;
	seq->uses = seq->first_use;
	seq->max_uses = KVP_SEQ_USES;
	kvp_fenced_init(&seq->fenced, call->client, KVP_FENCED_SEQ);
	seq->pending = (struct kvp_pending *)&seq->table[pool->nr_families];
	seq->unnamed_from = KVP_POS_END;
	return seq;
}

/**
 * kvp_seq_plan - what a sequence needs to become longer
 * @call: the call
 * @seq: the sequence
 * @reserved: slots that it will have
 * @tokens: ids that it will have
 * @computed: tokens that will at most be computed by then: windows need not reach before
 * @plan: set to blocks, nodes and slots
 *
 * Return: 0, or kvp_fail() with -EFBIG if the pool could not hold it even if it were empty.
 */
int kvp_seq_plan(struct kvp_call *call, const struct kvp_seq *seq, u64 reserved, u64 tokens,
		 u64 computed, struct kvp_plan *plan)
{
	struct kvp_pool *pool = call->pool;
	u32 i;

	memset(plan, 0, sizeof(*plan));
	plan->need.nodes = kvp_nodes_for(pool, tokens) - seq->runs.nr;
	for (i = 0; i < pool->nr_families; i++) {
		const struct kvp_family *family = &pool->family[i];
		u64 live = kvp_blocks_for(family, reserved);

		plan->need.blocks[i] = live - seq->table[i].nr;
		plan->slots += plan->need.blocks[i];
		if (family->desc.kind == KVP_FAMILY_WINDOW)
			live -= kvp_window_start(family, computed) /
				family->desc.block_tokens;
		if (live > family->nr_blocks)
			return kvp_fail(call, -EFBIG, KVP_REASON_NEVER_FITS, i);
	}
	return 0;
}

/**
 * kvp_seq_room_make - memory for the tables of a sequence that will be longer
 * @call: the call
 * @seq: the sequence, left as it is
 * @reserved: slots that it will have
 * @tokens: ids that it will have
 * @room: the memory, for kvp_seq_room_use() or kvp_seq_room_drop()
 *
 * Return: 0 or kvp_fail() with -EDQUOT or -ENOMEM.
 */
int kvp_seq_room_make(struct kvp_call *call, const struct kvp_seq *seq, u64 reserved, u64 tokens,
		      struct kvp_room *room)
{
	struct kvp_pool *pool = call->pool;
	u32 i;
	int err;

	room->nr = 0;
	for (i = 0; i <= pool->nr_families; i++) {
		bool runs = i == pool->nr_families;
		const struct kvp_vec *vec = runs ? &seq->runs : &seq->table[i];
		u64 nr = runs ? kvp_nodes_for(pool, tokens) :
				kvp_blocks_for(&pool->family[i], reserved);

		if (nr <= vec->cap)
			continue;
		err = kvp_vec_room(call->client, vec, nr, &room->vec[room->nr]);
		if (err) {
			kvp_seq_room_drop(call->client, room);
			return kvp_fail_alloc(call, err);
		}
		room->table[room->nr++] = runs ? KVP_MAX_FAMILIES : i;
	}
	return 0;
}

/**
 * kvp_seq_room_use - give a sequence the memory that was made for its tables
 * @seq: the sequence
 * @room: becomes empty
 */
void kvp_seq_room_use(struct kvp_seq *seq, struct kvp_room *room)
{
	while (room->nr--) {
		u32 table = room->table[room->nr];

		kvp_vec_move(seq->client,
			     table == KVP_MAX_FAMILIES ? &seq->runs : &seq->table[table],
			     &room->vec[room->nr]);
	}
	room->nr = 0;
}

/**
 * kvp_seq_room_drop - end memory that was made for tables and is not needed
 * @client: who was charged
 * @room: becomes empty
 */
void kvp_seq_room_drop(struct kvp_client *client, struct kvp_room *room)
{
	while (room->nr)
		kvp_vec_exit(client, &room->vec[--room->nr]);
}

/**
 * kvp_seq_begin_remapped - find a sequence of the client and keep it busy, remapped or not
 * @call: the call
 * @id: its id
 *
 * What fences have brought to it by now is in it then. Return: the sequence, to be ended with
 * kvp_seq_end(); or ERR_PTR of kvp_fail() with -ENOENT, -ESTALE or -EBUSY.
 */
struct kvp_seq *kvp_seq_begin_remapped(struct kvp_call *call, u64 id)
{
	struct kvp_pool *pool = call->pool;
	enum kvp_reason reason;
	struct kvp_seq *seq;
	int err;

	kvp_lock(pool);
	seq = kvp_ids_find_locked(&call->client->seqs, id, &err);
	if (!seq) {
		reason = err == -ESTALE ? KVP_REASON_GENERATION : KVP_REASON_NO_SEQ;
	} else if (smp_load_acquire(&seq->busy)) {	/* pairs with kvp_seq_end() */
		err = -EBUSY;
		reason = KVP_REASON_SEQ_BUSY;
		seq = NULL;
	} else {
		WRITE_ONCE(seq->busy, 1);
		if (kvp_seq_unsettled(seq))
			kvp_seq_settle_sliced(pool, seq);
	}
	kvp_unlock(pool);
	return seq ? seq : ERR_PTR(kvp_fail(call, err, reason, 0));
}

/**
 * kvp_seq_begin - find a sequence of the client, without an open remap, and keep it busy
 * @call: the call
 * @id: its id
 *
 * Return: as kvp_seq_begin_remapped().
 */
struct kvp_seq *kvp_seq_begin(struct kvp_call *call, u64 id)
{
	struct kvp_seq *seq = kvp_seq_begin_remapped(call, id);

	if (IS_ERR(seq) || !seq->remap)
		return seq;
	kvp_seq_end(seq);
	return ERR_PTR(kvp_fail(call, -EBUSY, KVP_REASON_REMAP_OPEN, 0));
}

/**
 * kvp_seq_begin_settled - kvp_seq_begin() for a call that copies must not be owed to
 * @call: the call
 * @id: its id
 *
 * Return: as kvp_seq_begin(); -EBUSY too while copies are pending.
 */
struct kvp_seq *kvp_seq_begin_settled(struct kvp_call *call, u64 id)
{
	struct kvp_seq *seq = kvp_seq_begin(call, id);

	if (IS_ERR(seq) || !seq->nr_pending)
		return seq;
	kvp_seq_end(seq);
	return ERR_PTR(kvp_fail(call, -EBUSY, KVP_REASON_COPY_PENDING, 0));
}

/**
 * kvp_seq_end - the call has done with the sequence
 * @seq: the sequence
 */
void kvp_seq_end(struct kvp_seq *seq)
{
	/* Pairs with kvp_seq_begin(). */
	smp_store_release(&seq->busy, 0);
}

/**
 * kvp_seq_take_sliced - take what a sequence needs to become longer, and count its slots
 * @call: the call
 * @plan: what it needs
 * @taken: gets blocks, nodes and digests
 *
 * Return: 0, or kvp_fail() as kvp_take_sliced(), or with -EDQUOT.
 */
int kvp_seq_take_sliced(struct kvp_call *call, const struct kvp_plan *plan,
			struct kvp_taken *taken)
{
	int err = kvp_take_more_sliced(call, KVP_SLOTS, plan->slots);

	if (err)
		return err;
	err = kvp_take_sliced(call, &plan->need, taken);
	if (err)
		kvp_less_locked(call->client->account, KVP_SLOTS, plan->slots);
	return err;
}

/**
 * kvp_seq_push - one more slot at the end of a table
 * @seq: the sequence; its table has the memory, and the slot is counted
 * @family: which table
 * @index: block that the slot names, or KVP_NIL
 */
void kvp_seq_push(struct kvp_seq *seq, u32 family, u32 index)
{
	struct kvp_vec *table = &seq->table[family];

	table->at[table->nr++] = index;
}

/* What it held before it ever had an id was not used. */
static enum kvp_drop kvp_seq_drop(const struct kvp_seq *seq)
{
	if (seq->zombie)
		return KVP_DROP_HELD_BACK;
	return seq->id || seq->replaced ? KVP_DROP_USED : KVP_DROP_UNDO;
}

/* The sequence names a block no longer. */
static void kvp_seq_drop_block_locked(struct kvp_pool *pool, struct kvp_seq *seq, u32 family,
				      u32 index)
{
	switch (kvp_seq_drop(seq)) {
	case KVP_DROP_UNDO:
		kvp_block_undo_get_locked(pool, &pool->family[family], index);
		break;
	case KVP_DROP_USED:
		kvp_seq_let_go_locked(pool, seq, family, index);
		break;
	case KVP_DROP_HELD_BACK:
		kvp_block_come_back_locked(pool, &pool->family[family], index);
		break;
	}
}

static void kvp_seq_pop_locked(struct kvp_pool *pool, struct kvp_seq *seq, u32 family)
{
	struct kvp_vec *table = &seq->table[family];
	u32 index = table->at[--table->nr];

	kvp_less_locked(seq->client->account, KVP_SLOTS, 1);
	/* The block may be of another node than the run's: one that its twin did not get. */
	if (index != KVP_NIL)
		kvp_seq_drop_block_locked(pool, seq, family, index);
}

/* What a sequence held that never came to be was not used. */
static void kvp_seq_drop_run_locked(struct kvp_pool *pool, struct kvp_seq *seq)
{
	u32 index = seq->runs.at[--seq->runs.nr];

	if (kvp_seq_drop(seq) == KVP_DROP_UNDO)
		kvp_node_undo_use_locked(pool, index);
	else
		kvp_node_unuse_locked(pool, index);
}

/* What giving back node @run, and its first block of each family, will touch is fetched. */
static void kvp_seq_prefetch_locked(const struct kvp_pool *pool, const struct kvp_seq *seq, u64 run)
{
	u32 i, index;

	if (run < seq->runs.nr)
		prefetch(&pool->nodes[seq->runs.at[run]]);
	for (i = 0; i < pool->nr_families; i++) {
		u64 slot = run * pool->family[i].parts;

		index = slot < seq->table[i].nr ? seq->table[i].at[slot] : KVP_NIL;
		if (index != KVP_NIL)
			prefetch(&pool->family[i].blocks[index]);
	}
}

/* Whether a node of the sequence, or slots without ids, are nobody else's. */
static bool kvp_seq_owns_locked(struct kvp_pool *pool, const struct kvp_seq *seq, u64 run)
{
	const struct kvp_node *node;

	if (run >= seq->runs.nr)
		return true;
	node = &pool->nodes[seq->runs.at[run]];
	return node->state == KVP_NODE_PRIVATE && node->uses == 1;
}

/*
 * Give back what is nobody else's before slot and run @end, in nodes, but not before @least.
 * Nobody sees in which order. Returns the node before which the rest is.
 */
static u64 kvp_seq_drop_own_locked(struct kvp_pool *pool, struct kvp_seq *seq, u64 end, u64 least)
{
	u64 first = end;
	u32 i;

	/* Work may touch them: they go one by one. */
	if (seq->nr_uses)
		return end;
	while (first > least) {
		if (first > KVP_SHRINK_AHEAD)
			kvp_seq_prefetch_locked(pool, seq, first - 1 - KVP_SHRINK_AHEAD);
		if (!kvp_seq_owns_locked(pool, seq, first - 1))
			break;
		first--;
	}
	if (first == end)
		return end;
	for (i = 0; i < pool->nr_families; i++) {
		struct kvp_family *family = &pool->family[i];
		struct kvp_vec *table = &seq->table[i];
		u64 keep = min_t(u64, first * family->parts, table->nr);

		if (family->desc.kind == KVP_FAMILY_STATE)
			continue;
		kvp_blocks_drop_locked(seq->client, family, &table->at[keep], table->nr - keep,
				       kvp_seq_drop(seq));
		kvp_less_locked(seq->client->account, KVP_SLOTS, table->nr - keep);
		table->nr = keep;
	}
	while (seq->runs.nr > first)
		kvp_node_to_free_locked(pool, seq->runs.at[--seq->runs.nr]);
	return first;
}

/* Give back the last node's blocks from @tokens on, and the node if it begins there. */
static void kvp_seq_drop_last_locked(struct kvp_pool *pool, struct kvp_seq *seq, u64 node,
				     u64 tokens)
{
	u64 keep;
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		struct kvp_family *family = &pool->family[i];

		if (family->desc.kind == KVP_FAMILY_STATE)
			continue;
		keep = max(kvp_blocks_for(family, tokens), (node - 1) * family->parts);
		while (seq->table[i].nr > keep)
			kvp_seq_pop_locked(pool, seq, i);
	}
	if (seq->runs.nr == node && node > kvp_nodes_for(pool, tokens))
		kvp_seq_drop_run_locked(pool, seq);
}

/**
 * kvp_seq_shrink_sliced - give back the end of the tables
 * @pool: the pool
 * @seq: the sequence
 * @tokens: slots and ids to keep
 *
 * From the tail to the head, so that of nodes used equally long ago the leaf is the
 * older one. State slots stay. The lengths are the caller's to set.
 */
void kvp_seq_shrink_sliced(struct kvp_pool *pool, struct kvp_seq *seq, u64 tokens)
{
	u32 step = 1 + pool->parts_per_node;
	/* Without blocks by the token, there are only the ids. */
	u64 node = pool->parts_per_node ? kvp_nodes_for(pool, seq->reserved) : seq->runs.nr;
	u64 least = kvp_nodes_for(pool, tokens);
	u64 first, most;

	while (node > tokens / pool->index_tokens) {
		kvp_slice_next(pool, step);
		most = 1 + (KVP_SLICE - 1 - min_t(u32, pool->touched, KVP_SLICE - 1)) / step;
		first = kvp_seq_drop_own_locked(pool, seq, node,
						max(least, node - min(node, most)));
		if (first == node) {
			if (node > KVP_SHRINK_AHEAD)
				kvp_seq_prefetch_locked(pool, seq, node - 1 - KVP_SHRINK_AHEAD);
			first--;
			kvp_seq_drop_last_locked(pool, seq, node, tokens);
		}
		/* The first of them is counted already. */
		pool->touched += (node - first - 1) * step;
		node = first;
	}
}

static void kvp_seq_move_tail_locked(struct kvp_pool *pool, struct kvp_seq *seq, u32 tail,
				     u64 nr_published)
{
	pool->nodes[tail].refs++;
	kvp_node_put_locked(pool, seq->tail);
	seq->tail = tail;
	seq->nr_published = nr_published;
}

/**
 * kvp_seq_set_tail_sliced - move the chain position of a sequence towards the root
 * @pool: the pool
 * @seq: the sequence
 * @nr_published: published nodes that it keeps, at most as many as now
 */
void kvp_seq_set_tail_sliced(struct kvp_pool *pool, struct kvp_seq *seq, u64 nr_published)
{
	u32 tail;

	while (seq->nr_published > nr_published) {
		tail = nr_published ? seq->runs.at[nr_published - 1] : seq->root;
		if (!nr_published || pool->nodes[tail].state == KVP_NODE_PUBLISHED) {
			kvp_seq_move_tail_locked(pool, seq, tail, nr_published);
			return;
		}
		/* A private node: the twin in the tree is found from its children. */
		tail = pool->nodes[seq->tail].parent;
		kvp_seq_move_tail_locked(pool, seq, tail, seq->nr_published - 1);
		kvp_slice_step(pool, 1);
	}
}

static void kvp_seq_drop_pending_sliced(struct kvp_pool *pool, struct kvp_seq *seq)
{
	while (seq->nr_pending) {
		const struct kvp_pending *pending = &seq->pending[seq->nr_pending - 1];

		kvp_slice_next(pool, 1);
		seq->nr_pending--;
		kvp_seq_drop_block_locked(pool, seq, pending->family, pending->src);
	}
}

/**
 * kvp_seq_free_sliced - end a sequence: give back what its tables name, and its memory
 * @seq: the sequence, without open uses, busy, or of a client that makes no calls any more, or a
 *       zombie; one without an id that is none is one whose creation failed, and what it
 *       held does not count as used
 *
 * The lock is dropped and held again in the end. Allocates nothing.
 */
void kvp_seq_free_sliced(struct kvp_seq *seq)
	__must_hold(&seq->client->pool->lock)
{
	struct kvp_client *client = seq->client;
	struct kvp_pool *pool = client->pool;
	u32 i;

	if (seq->zombie) {
		kvp_less_locked(client->account, KVP_ZOMBIES, 1);
	} else if (seq->id) {
		kvp_ids_del_locked(&client->seqs, seq->id);
		kvp_less_locked(client->account, KVP_SEQS, 1);
	}
	kvp_seq_drop_pending_sliced(pool, seq);
	if (seq->tail != KVP_NIL)
		kvp_node_put_locked(pool, seq->tail);
	kvp_seq_shrink_sliced(pool, seq, 0);
	for (i = 0; i < pool->nr_families; i++)
		while (seq->table[i].nr)
			kvp_seq_pop_locked(pool, seq, i);
	if (seq->root != KVP_NIL)
		kvp_node_unuse_locked(pool, seq->root);
	kvp_uses_free_sliced(seq, seq->uses, seq->max_uses);
	kvp_unlock(pool);

	kvp_client_free(client, seq->late, seq->max_late * sizeof(*seq->late));
	kvp_client_free(client, seq->places, seq->max_places * sizeof(*seq->places));
	kvp_vec_exit(client, &seq->runs);
	for (i = 0; i < pool->nr_families; i++)
		kvp_vec_exit(client, &seq->table[i]);
	kvp_client_free(client, seq, kvp_seq_size(pool));
	kvp_lock(pool);
}

/**
 * kvp_op_seq_free - KVP_OP_SEQ_FREE
 * @call: struct kvp_seq_id
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_seq_free(struct kvp_call *call)
{
	struct kvp_seq_id *arg = call->arg;
	struct kvp_seq *seq = kvp_seq_begin(call, arg->seq);

	if (IS_ERR(seq))
		return PTR_ERR(seq);
	kvp_lock(call->pool);
	kvp_seq_end_life_sliced(seq);
	kvp_unlock(call->pool);
	return 0;
}

/**
 * kvp_seq_undo - end a sequence of which the caller never learned
 * @call: the call that made it
 * @id: its id
 */
void kvp_seq_undo(struct kvp_call *call, u64 id)
{
	struct kvp_seq *seq = kvp_seq_begin(call, id);

	if (IS_ERR(seq))
		return;
	kvp_lock(call->pool);
	kvp_seq_end_life_sliced(seq);
	kvp_unlock(call->pool);
}

/**
 * kvp_op_seq_copied - KVP_OP_SEQ_COPIED
 * @call: struct kvp_seq_id
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_seq_copied(struct kvp_call *call)
{
	struct kvp_seq_id *arg = call->arg;
	struct kvp_seq *seq = kvp_seq_begin(call, arg->seq);
	struct kvp_late_room late;
	int err;

	if (IS_ERR(seq))
		return PTR_ERR(seq);
	err = kvp_seq_late_room(call, seq, seq->nr_pending, &late);
	if (!err && seq->nr_pending) {
		kvp_seq_late_use(seq, &late);
		kvp_lock(call->pool);
		kvp_seq_drop_pending_sliced(call->pool, seq);
		kvp_unlock(call->pool);
	}
	kvp_seq_end(seq);
	return err;
}

/**
 * kvp_op_seq_advance - KVP_OP_SEQ_ADVANCE
 * @call: struct kvp_seq_advance
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_seq_advance(struct kvp_call *call)
{
	struct kvp_seq_advance *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_seq *seq;
	int err = 0;

	seq = kvp_seq_begin_settled(call, arg->seq);
	if (IS_ERR(seq))
		return PTR_ERR(seq);
	if (arg->computed < seq->computed || arg->computed > seq->tokens) {
		err = kvp_fail(call, -EINVAL, KVP_REASON_LENGTH, 0);
	} else if (arg->computed > kvp_seq_open_from(seq)) {
		err = kvp_fail(call, -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	} else {
		seq->computed = arg->computed;
		if (pool->has_windows) {
			kvp_lock(pool);
			kvp_seq_move_windows_sliced(pool, seq);
			kvp_unlock(pool);
		} else {
			seq->windowed = arg->computed;
		}
	}
	kvp_seq_end(seq);
	return err;
}

/**
 * kvp_seq_check_cut - whether a sequence could stand at an earlier length
 * @call: the call
 * @seq: the sequence
 * @tokens: the length
 * @empty: no tokens at all are allowed in any case
 *
 * Return: 0, or kvp_fail() with -EOPNOTSUPP: state that cannot lose tokens, or rows that
 * the window needs there and that are gone.
 */
int kvp_seq_check_cut(struct kvp_call *call, const struct kvp_seq *seq, u64 tokens, bool empty)
{
	struct kvp_pool *pool = call->pool;
	u32 i;

	if (empty && !tokens)
		return 0;
	for (i = 0; i < pool->nr_families; i++) {
		const struct kvp_family *family = &pool->family[i];

		if (family->desc.kind == KVP_FAMILY_STATE &&
		    tokens < max(seq->computed, seq->done_to))
			return kvp_fail(call, -EOPNOTSUPP, KVP_REASON_STATE_FAMILY, i);
		if (family->desc.kind == KVP_FAMILY_WINDOW &&
		    (kvp_window_start(family, tokens) / family->desc.block_tokens <
		    kvp_window_start(family, seq->windowed) / family->desc.block_tokens ||
		    kvp_window_start(family, tokens) < kvp_window_start(family, seq->moved_at)))
			return kvp_fail(call, -EOPNOTSUPP, KVP_REASON_WINDOW_RELEASED, i);
	}
	return 0;
}

/* A part-filled last node that is nobody else's knows no more ids than the sequence. */
static void kvp_forget_tokens_locked(struct kvp_pool *pool, struct kvp_seq *seq)
{
	u32 left = seq->tokens % pool->index_tokens;
	struct kvp_node *node;

	if (!left)
		return;
	node = &pool->nodes[seq->runs.at[seq->runs.nr - 1]];
	if (node->state == KVP_NODE_PRIVATE && node->uses == 1)
		node->nr_tokens = left;
}

/* Slots of a sequence that go when it keeps @tokens only. */
static u64 kvp_slots_beyond(const struct kvp_pool *pool, const struct kvp_seq *seq, u64 tokens)
{
	u64 nr = 0;
	u32 i;

	for (i = 0; i < pool->nr_families; i++)
		nr += seq->table[i].nr - min(seq->table[i].nr,
					     kvp_blocks_for(&pool->family[i], tokens));
	return nr;
}

/* What its work was to compute beyond is of other tokens than those that may come there. */
static void kvp_cut_lengths_locked(struct kvp_seq *seq, u64 tokens)
{
	u32 i;

	kvp_places_cut(seq, tokens);
	seq->tokens = tokens;
	seq->reserved = tokens;
	seq->computed = min(seq->computed, tokens);
	seq->windowed = min(seq->windowed, tokens);
	seq->moved_at = min(seq->moved_at, tokens);
	seq->done_to = min(seq->done_to, tokens);
	for (i = 0; i < seq->nr_uses; i++)
		seq->uses[i].computed_to = min(seq->uses[i].computed_to, tokens);
}

/**
 * kvp_op_seq_truncate - KVP_OP_SEQ_TRUNCATE
 * @call: struct kvp_seq_truncate
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_seq_truncate(struct kvp_call *call)
{
	struct kvp_seq_truncate *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_late_room late;
	struct kvp_seq *seq;
	int err;

	seq = kvp_seq_begin_settled(call, arg->seq);
	if (IS_ERR(seq))
		return PTR_ERR(seq);
	if (arg->tokens > seq->tokens)
		err = kvp_fail(call, -EINVAL, KVP_REASON_LENGTH, 0);
	else
		err = kvp_seq_check_cut(call, seq, arg->tokens, true);
	/* Its state will have taken what is cut off. */
	if (!err && pool->has_states && arg->tokens && arg->tokens < kvp_seq_will_have(seq))
		err = kvp_fail(call, -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	if (!err)
		err = kvp_seq_late_room(call, seq, kvp_slots_beyond(pool, seq, arg->tokens),
					&late);
	if (!err) {
		kvp_seq_late_use(seq, &late);
		kvp_lock(pool);
		kvp_exports_give_up_locked(pool, seq, arg->tokens);
		kvp_seq_set_tail_sliced(pool, seq, min(seq->nr_published,
						       arg->tokens / pool->index_tokens));
		kvp_seq_shrink_sliced(pool, seq, arg->tokens);
		kvp_cut_lengths_locked(seq, arg->tokens);
		seq->owns_end = false;
		kvp_forget_tokens_locked(pool, seq);
		kvp_unlock(pool);
	}
	kvp_seq_end(seq);
	return err;
}

/**
 * kvp_op_seq_table - KVP_OP_SEQ_TABLE
 * @call: struct kvp_seq_table
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_seq_table(struct kvp_call *call)
{
	struct kvp_seq_table *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	u64 *blocks = call->array[0];
	const struct kvp_family *family;
	const struct kvp_vec *table;
	struct kvp_seq *seq;
	u64 nr = 0;
	int err;
	u64 at;

	err = kvp_check_family(call, &arg->family);
	if (err)
		return err;
	seq = kvp_seq_begin(call, arg->seq);
	if (IS_ERR(seq))
		return PTR_ERR(seq);
	family = &pool->family[arg->family];
	table = &seq->table[arg->family];
	/* What the sequence holds keeps its generation, so no lock. */
	while (blocks && nr < arg->nr_blocks && arg->first < table->nr - nr) {
		at = array_index_nospec(arg->first + nr, table->nr);
		blocks[nr++] = kvp_block_id(family, table->at[at]);
	}
	arg->nr_blocks = nr;
	arg->total = table->nr;
	arg->nr_tokens = seq->tokens;
	arg->nr_computed = seq->computed;
	arg->nr_reserved = seq->reserved;
	arg->nr_published = seq->nr_published * pool->index_tokens;
	kvp_seq_end(seq);
	return 0;
}

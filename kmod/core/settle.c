// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What follows when fences pass: tokens count as computed, windows move on, references that
 * were held back end, zombies go, exports can be imported; and the death of clients, whose
 * work is waited for as long as their pool says (quarantine). Owns the list kvp_pool.fenced.
 *
 * A call on a sequence settles that sequence first. Whoever needs blocks, or looks at the pool,
 * settles all that waits and that no call works on: of a live sequence only as much at a time as
 * one hold of the lock can do, as it may be another call's afterwards.
 */
#include "core.h"

/* ---- the list -------------------------------------------------------------------- */

/**
 * kvp_fenced_init - something that may have to wait for fences
 * @fenced: its place on the list; it is not on it yet
 * @client: whose timelines
 * @kind: what it is part of
 */
void kvp_fenced_init(struct kvp_fenced *fenced, struct kvp_client *client,
		     enum kvp_fenced_kind kind)
{
	INIT_LIST_HEAD(&fenced->list);
	fenced->client = client;
	fenced->kind = kind;
}

/**
 * kvp_fenced_add_locked - wait for fences
 * @pool: the pool
 * @fenced: what waits; it may do so already
 */
void kvp_fenced_add_locked(struct kvp_pool *pool, struct kvp_fenced *fenced)
{
	lockdep_assert_held(&pool->lock);
	if (!list_empty(&fenced->list))
		return;
	list_add_tail(&fenced->list, &pool->fenced);
	fenced->client->nr_fenced++;
	/* Who waits for blocks slept without a time until now. */
	if (!pool->nr_fenced++ && !list_empty(&pool->tickets) && waitqueue_active(&pool->wait))
		wake_up_interruptible(&pool->wait);
}

/* Off the list; its client stays until kvp_fenced_put_sliced(). */
static void kvp_fenced_unlist_locked(struct kvp_pool *pool, struct kvp_fenced *fenced)
{
	list_del_init(&fenced->list);
	pool->nr_fenced--;
}

/* The last thing of a client in quarantine has gone: now the client can. */
static void kvp_quarantine_leave_sliced(struct kvp_pool *pool, struct kvp_client *client)
{
	list_del_init(&client->list);
	if (pool->grace_ns != U64_MAX)
		WRITE_ONCE(pool->nr_waits, pool->nr_waits - 1);
	client->account->dead = NULL;
	kvp_account_end_locked(pool, client->account);
	kvp_unlock(pool);
	kvp_client_exit(client);
	kfree(client);
	kvp_lock(pool);
}

static void kvp_fenced_put_sliced(struct kvp_pool *pool, struct kvp_client *client)
{
	client->nr_fenced--;
	if (client->account->dead != client)
		return;
	pool->nr_fenced_dead--;
	if (!client->nr_fenced)
		kvp_quarantine_leave_sliced(pool, client);
}

/**
 * kvp_fenced_del_sliced - wait no longer
 * @pool: the pool
 * @fenced: what waited, or not; its client may be gone afterwards
 */
void kvp_fenced_del_sliced(struct kvp_pool *pool, struct kvp_fenced *fenced)
{
	if (list_empty(&fenced->list))
		return;
	kvp_fenced_unlist_locked(pool, fenced);
	kvp_fenced_put_sliced(pool, fenced->client);
}

/* ---- lengths of a sequence ----------------------------------------------------------- */

/**
 * kvp_seq_open_from - first token whose row an open use writes
 * @seq: the sequence, settled as far as one wants to know
 *
 * Return: the token, or KVP_POS_END.
 */
u64 kvp_seq_open_from(const struct kvp_seq *seq)
{
	u64 from = KVP_POS_END;
	u32 i;

	for (i = 0; i < seq->nr_uses; i++)
		from = min(from, seq->uses[i].write_from);
	return from;
}

/**
 * kvp_seq_will_have - tokens that have rows when all open uses have passed
 * @seq: the sequence
 *
 * Return: how many; their ids need not be known yet.
 */
u64 kvp_seq_will_have(const struct kvp_seq *seq)
{
	u64 to = max(seq->computed, seq->done_to);
	u32 i;

	for (i = 0; i < seq->nr_uses; i++)
		to = max(to, seq->uses[i].computed_to);
	return to;
}

/* Uses that have passed go, and what they computed counts. */
static void kvp_uses_pass_locked(struct kvp_seq *seq)
{
	u32 left = 0;
	u32 i;

	for (i = 0; i < seq->nr_uses; i++) {
		const struct kvp_open_use *use = &seq->uses[i];

		if (kvp_fence_passed_locked(seq->client, use->timeline, use->value))
			seq->done_to = max(seq->done_to, use->computed_to);
		else
			seq->uses[left++] = *use;
	}
	kvp_less_locked(seq->client->account, KVP_USES, seq->nr_uses - left);
	seq->nr_uses = left;
	seq->computed = max(seq->computed,
			    min3(seq->done_to, seq->tokens, kvp_seq_open_from(seq)));
}

/* ---- windows ---------------------------------------------------------------------------- */

/*
 * The computed position to which windows may move on: work that writes a row reads those of the
 * window before it, and work that writes none may read any.
 */
static u64 kvp_windows_to(const struct kvp_seq *seq)
{
	u64 to = seq->computed;
	u32 i;

	for (i = 0; i < seq->nr_uses; i++)
		to = min(to, seq->uses[i].reads_all ? seq->windowed : seq->uses[i].write_from);
	return max(to, seq->windowed);
}

/* Blocks of window families up to which one step moves, so that it touches a slice at most. */
static u64 kvp_windows_step(const struct kvp_pool *pool)
{
	u64 tokens = KVP_MAX_SEQ_TOKENS;
	u32 slots = max((KVP_SLICE - 1 - pool->touched) / pool->nr_families, 1U);
	u32 i;

	for (i = 0; i < pool->nr_families; i++)
		if (pool->family[i].desc.kind == KVP_FAMILY_WINDOW)
			tokens = min(tokens, (u64)slots * pool->family[i].desc.block_tokens);
	return tokens;
}

/* Release what only held rows before the window at @to. */
static void kvp_windows_release_locked(struct kvp_pool *pool, struct kvp_seq *seq, u64 to)
{
	u64 slot, end;
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		struct kvp_family *family = &pool->family[i];
		struct kvp_vec *table = &seq->table[i];

		if (family->desc.kind != KVP_FAMILY_WINDOW)
			continue;
		slot = kvp_window_start(family, seq->windowed) / family->desc.block_tokens;
		end = kvp_window_start(family, to) / family->desc.block_tokens;
		for (; slot < end; slot++) {
			kvp_block_release_locked(pool, family, table->at[slot]);
			table->at[slot] = KVP_NIL;
			pool->touched++;
		}
	}
	seq->windowed = to;
}

/* Returns whether they are where they may be; else the rest is for the next hold of the lock. */
static bool kvp_windows_move_locked(struct kvp_pool *pool, struct kvp_seq *seq)
{
	u64 to;

	if (!pool->has_windows) {
		seq->windowed = seq->computed;
		return true;
	}
	to = kvp_windows_to(seq);
	while (seq->windowed < to) {
		if (kvp_slice_over(pool, pool->nr_families))
			return false;
		kvp_windows_release_locked(pool, seq,
					   min(to, seq->windowed + kvp_windows_step(pool)));
		pool->touched++;
	}
	return true;
}

/* ---- references given back late --------------------------------------------------------- */

/**
 * kvp_seq_late_room - memory for references that a sequence gives back while uses are open
 * @call: the call, which keeps the sequence busy
 * @seq: the sequence
 * @nr: how many at most
 * @room: the memory, aside until the call can no longer fail: for kvp_seq_late_use(), or
 *        kvp_late_drop()
 *
 * Return: 0, or kvp_fail() with -EDQUOT or -ENOMEM.
 */
int kvp_seq_late_room(struct kvp_call *call, const struct kvp_seq *seq, u64 nr,
		      struct kvp_late_room *room)
{
	memset(room, 0, sizeof(*room));
	return seq->nr_uses ? kvp_late_room(call, seq, nr, room) : 0;
}

/**
 * kvp_late_room - kvp_seq_late_room() for references that are given back when uses may be open
 * @call: the call, which keeps the sequence busy
 * @seq: the sequence, with open uses or without
 * @nr: how many at most
 * @room: the memory
 *
 * Return: 0, or kvp_fail() with -EDQUOT or -ENOMEM.
 */
int kvp_late_room(struct kvp_call *call, const struct kvp_seq *seq, u64 nr,
		  struct kvp_late_room *room)
{
	u64 max = 2 * (seq->nr_late - seq->late_gone + nr);

	memset(room, 0, sizeof(*room));
	if (seq->nr_late + nr <= seq->max_late)
		return 0;
	if (max > U32_MAX)
		return kvp_fail(call, -ENOMEM, KVP_REASON_MEMORY, 0);
	room->late = kvp_client_alloc(call->client, max * sizeof(*room->late));
	if (IS_ERR(room->late))
		return kvp_fail_alloc(call, PTR_ERR(room->late));
	room->max = max;
	return 0;
}

/**
 * kvp_late_drop - end memory that was made for late references and is not needed
 * @client: who was charged
 * @room: becomes empty
 */
void kvp_late_drop(struct kvp_client *client, struct kvp_late_room *room)
{
	if (room->max)
		kvp_client_free(client, room->late, room->max * sizeof(*room->late));
	room->max = 0;
}

/**
 * kvp_seq_late_use - give a sequence the memory that was made for its late references
 * @seq: the sequence, busy by the caller
 * @room: becomes empty
 */
void kvp_seq_late_use(struct kvp_seq *seq, struct kvp_late_room *room)
{
	struct kvp_late_room old = { .late = seq->late, .max = seq->max_late };

	if (!room->max)
		return;
	seq->nr_late -= seq->late_gone;
	if (seq->nr_late)
		memcpy(room->late, seq->late + seq->late_gone, seq->nr_late * sizeof(*seq->late));
	seq->late_gone = 0;
	seq->late = room->late;
	seq->max_late = room->max;
	room->max = 0;
	kvp_late_drop(seq->client, &old);
}

/**
 * kvp_seq_let_go_locked - a live sequence names a block no longer
 * @pool: the pool
 * @seq: the sequence; it has the memory (kvp_seq_late_use()) if uses are open
 * @family: of the block
 * @index: the block
 */
void kvp_seq_let_go_locked(struct kvp_pool *pool, struct kvp_seq *seq, u32 family, u32 index)
{
	if (!seq->nr_uses) {
		kvp_block_release_locked(pool, &pool->family[family], index);
		return;
	}
	kvp_block_hold_back_locked(pool, &pool->family[family], index);
	seq->late[seq->nr_late++] = (struct kvp_late){
		.family = family,
		.block = index,
		.use = seq->next_use,
	};
}

/* How many of them, from the first on, wait for nothing any more. */
static u32 kvp_late_ready(const struct kvp_seq *seq)
{
	u32 nr = 0;

	if (!seq->nr_uses)
		return seq->nr_late;
	nr = seq->late_gone;
	while (nr < seq->nr_late && seq->late[nr].use <= seq->uses[0].nr)
		nr++;
	return nr;
}

/* Returns whether all that wait for nothing are gone; else the rest is for the next hold. */
static bool kvp_late_end_locked(struct kvp_pool *pool, struct kvp_seq *seq)
{
	u32 ready = kvp_late_ready(seq);

	while (seq->late_gone < ready) {
		const struct kvp_late *late = &seq->late[seq->late_gone];

		if (kvp_slice_over(pool, 1))
			return false;
		pool->touched++;
		kvp_block_come_back_locked(pool, &pool->family[late->family], late->block);
		seq->late_gone++;
	}
	/* What is left moves to the front when it gets other memory. */
	if (seq->late_gone == seq->nr_late) {
		seq->nr_late = 0;
		seq->late_gone = 0;
	}
	return true;
}

/* ---- settling ------------------------------------------------------------------------------ */

/* As much as this hold of the lock may touch. Returns whether that is all. */
static bool kvp_seq_settle_locked(struct kvp_pool *pool, struct kvp_seq *seq)
{
	bool all;

	kvp_uses_pass_locked(seq);
	all = kvp_late_end_locked(pool, seq) &&
	      (seq->zombie || seq->remap || kvp_windows_move_locked(pool, seq));
	/* They lie side by side. For what comes after: this must go on if it began a hold. */
	pool->touched += seq->nr_uses / 8;
	return all;
}

/* It waits no longer, if it has nothing to wait for. Not for one in quarantine. */
static void kvp_seq_unfence_locked(struct kvp_pool *pool, struct kvp_seq *seq)
{
	if (seq->nr_uses || seq->nr_late || list_empty(&seq->fenced.list))
		return;
	kvp_fenced_unlist_locked(pool, &seq->fenced);
	seq->client->nr_fenced--;
}

/**
 * kvp_seq_settle_sliced - what fences have brought to a sequence
 * @pool: the pool
 * @seq: the sequence, busy by the caller
 */
void kvp_seq_settle_sliced(struct kvp_pool *pool, struct kvp_seq *seq)
{
	while (!kvp_seq_settle_locked(pool, seq))
		kvp_let_others_in(pool);
	kvp_seq_unfence_locked(pool, seq);
}

/**
 * kvp_seq_move_windows_sliced - windows of a sequence go by what is computed
 * @pool: the pool
 * @seq: the sequence, busy by the caller, which has changed computed
 */
void kvp_seq_move_windows_sliced(struct kvp_pool *pool, struct kvp_seq *seq)
{
	while (!kvp_windows_move_locked(pool, seq))
		kvp_let_others_in(pool);
}

/*
 * Each returns whether it has done what can be done now. If not, what is settled is first in the
 * list and comes again.
 */
static bool kvp_seq_fenced_sliced(struct kvp_pool *pool, struct kvp_seq *seq)
{
	struct kvp_client *client = seq->client;

	/* Its call settles it itself. Pairs with kvp_seq_end(). */
	if (smp_load_acquire(&seq->busy))
		return true;
	if (!kvp_seq_settle_locked(pool, seq))
		return false;
	if (!seq->zombie) {
		kvp_seq_unfence_locked(pool, seq);
	} else if (!seq->nr_uses) {
		kvp_fenced_unlist_locked(pool, &seq->fenced);
		kvp_seq_free_sliced(seq);
		kvp_fenced_put_sliced(pool, client);
	}
	return true;
}

static bool kvp_hold_fenced_sliced(struct kvp_pool *pool, struct kvp_hold *hold)
{
	struct kvp_client *client = hold->fenced.client;

	if (!kvp_fence_passed_locked(client, hold->fence.timeline, hold->fence.value))
		return true;
	while (hold->nr) {
		u32 at = hold->block[hold->nr - 1];

		if (kvp_slice_over(pool, 1))
			return false;
		pool->touched++;
		kvp_block_come_back_locked(pool, &pool->family[at >> KVP_HOLD_SHIFT],
					   at & KVP_BLOCK_INDEX_MASK);
		kvp_less_locked(client->account, KVP_USES, 1);
		hold->nr--;
	}
	kvp_fenced_unlist_locked(pool, &hold->fenced);
	kvp_unlock(pool);
	kvp_client_free(client, hold, kvp_hold_size(hold->room));
	kvp_lock(pool);
	kvp_fenced_put_sliced(pool, client);
	return true;
}

/* Of a dead maker, what has not passed is never known to. Returns whether it waits no longer. */
static bool kvp_export_ready_locked(struct kvp_export *export)
{
	struct kvp_client *maker = export->fenced.client;
	u32 i;

	for (i = 0; i < export->nr_fences; i++) {
		if (kvp_clock_read_locked(maker, export->fences[i].timeline) >=
		    export->fences[i].value)
			continue;
		export->suspect |= maker->dead;
		return maker->dead;
	}
	return true;
}

/**
 * kvp_exports_give_up_locked - rows that work was to compute are of no use any more
 * @pool: the pool
 * @seq: whose rows
 * @tokens: from which on
 *
 * Exports of the sequence that were to have them are suspect.
 */
void kvp_exports_give_up_locked(struct kvp_pool *pool, const struct kvp_seq *seq, u64 tokens)
{
	struct kvp_export *export;

	list_for_each_entry(export, &pool->open_exports, open)
		if (export->fenced.client == seq->client && export->of == seq->id &&
		    export->tokens > tokens && !kvp_export_ready_locked(export))
			export->suspect = true;
}

static bool kvp_export_fenced_sliced(struct kvp_pool *pool, struct kvp_export *export)
{
	if (kvp_export_ready_locked(export)) {
		list_del_init(&export->open);
		kvp_fenced_del_sliced(pool, &export->fenced);
	}
	return true;
}

/**
 * kvp_export_settled_sliced - whether an export's rows are there
 * @pool: the pool
 * @export: the export, which stays
 *
 * Return: false while an open use writes them.
 */
bool kvp_export_settled_sliced(struct kvp_pool *pool, struct kvp_export *export)
{
	if (!list_empty(&export->fenced.list))
		kvp_export_fenced_sliced(pool, export);
	return list_empty(&export->fenced.list);
}

static bool kvp_fenced_settle_sliced(struct kvp_pool *pool, struct kvp_fenced *fenced)
{
	switch (fenced->kind) {
	case KVP_FENCED_SEQ:
		return kvp_seq_fenced_sliced(pool, container_of(fenced, struct kvp_seq, fenced));
	case KVP_FENCED_HOLD:
		return kvp_hold_fenced_sliced(pool, container_of(fenced, struct kvp_hold, fenced));
	case KVP_FENCED_EXPORT:
		return kvp_export_fenced_sliced(pool, container_of(fenced, struct kvp_export,
								   fenced));
	}
	return true;
}

/**
 * kvp_settle_sliced - what fences have brought to all that waits
 * @pool: the pool
 *
 * Each is met once: those met go to the end of the list.
 */
void kvp_settle_sliced(struct kvp_pool *pool)
{
	u32 left = pool->nr_fenced;

	lockdep_assert_held(&pool->lock);
	while (left && !list_empty(&pool->fenced)) {
		struct kvp_fenced *fenced = list_first_entry(&pool->fenced, struct kvp_fenced,
							     list);

		list_move_tail(&fenced->list, &pool->fenced);
		if (kvp_fenced_settle_sliced(pool, fenced)) {
			left--;
			kvp_slice_step(pool, 1);
			continue;
		}
		list_move(&fenced->list, &pool->fenced);
		kvp_let_others_in(pool);
	}
}

/* ---- the end of a sequence --------------------------------------------------------------- */

/* Freed with open uses: it is no sequence of its client's any more, but keeps what it names. */
static void kvp_seq_to_zombie_sliced(struct kvp_pool *pool, struct kvp_seq *seq)
{
	struct kvp_account *account = seq->client->account;
	u32 i;
	u64 j;

	/* Of a client that ends it is nobody's yet; its fences may pass any time. */
	WRITE_ONCE(seq->busy, 1);
	if (seq->id) {
		kvp_ids_del_locked(&seq->client->seqs, seq->id);
		kvp_less_locked(account, KVP_SEQS, 1);
		seq->id = 0;
	}
	kvp_more_locked(account, KVP_ZOMBIES, 1);
	seq->zombie = true;
	for (i = 0; i < pool->nr_families; i++) {
		for (j = 0; j < seq->table[i].nr; j++) {
			u32 index = seq->table[i].at[j];

			if (index != KVP_NIL)
				kvp_block_hold_back_locked(pool, &pool->family[i], index);
			kvp_slice_step(pool, 1);
		}
	}
	for (i = 0; i < seq->nr_pending; i++) {
		kvp_block_hold_back_locked(pool, &pool->family[seq->pending[i].family],
					   seq->pending[i].src);
		kvp_slice_step(pool, 1);
	}
	kvp_seq_end(seq);
}

/**
 * kvp_seq_end_life_sliced - a sequence is freed, at once or when its uses have passed
 * @seq: the sequence, busy and settled, or of a client that makes no calls any more
 */
void kvp_seq_end_life_sliced(struct kvp_seq *seq)
{
	if (seq->remap)
		kvp_remap_abort_sliced(seq);
	if (seq->nr_uses)
		kvp_seq_to_zombie_sliced(seq->client->pool, seq);
	else
		kvp_seq_free_sliced(seq);
}

/**
 * kvp_uses_free_sliced - end of memory that a sequence had for uses, or was to have
 * @seq: the sequence
 * @uses: the memory, if any
 * @max: uses that it can have
 */
void kvp_uses_free_sliced(struct kvp_seq *seq, struct kvp_open_use *uses, u32 max)
{
	if (!uses || uses == seq->first_use)
		return;
	kvp_unlock(seq->client->pool);
	kvp_client_free(seq->client, uses, max * sizeof(*uses));
	kvp_lock(seq->client->pool);
}

/* ---- the end of a client --------------------------------------------------------------------- */

/**
 * kvp_client_dies_sliced - a client makes no calls any more, and its timelines are not read again
 * @client: its sequences are freed; what they wait for is waited for until the grace time is over
 */
void kvp_client_dies_sliced(struct kvp_client *client)
{
	struct kvp_pool *pool = client->pool;

	/* What has passed by now has passed. */
	kvp_settle_sliced(pool);
	client->dead = true;
	client->deadline = U64_MAX;
	if (pool->grace_ns != U64_MAX)
		client->deadline = ktime_get_ns() + pool->grace_ns;
	/* Exports of its that were being written are known not to be. */
	if (client->nr_fenced)
		kvp_settle_sliced(pool);
}

/**
 * kvp_quarantine_locked - a client leaves its pool: does something of its stay?
 * @client: dead, on no list of clients any more
 *
 * Return: whether it does; then the client is the quarantine's.
 */
bool kvp_quarantine_locked(struct kvp_client *client)
{
	struct kvp_pool *pool = client->pool;

	if (!client->nr_fenced)
		return false;
	client->cred.of = NULL;
	pool->nr_fenced_dead += client->nr_fenced;
	client->account->dead = client;
	list_add_tail(&client->list, &pool->quarantine);
	if (pool->grace_ns != U64_MAX) {
		WRITE_ONCE(pool->nr_waits, pool->nr_waits + 1);
		pool->quarantine_new = true;
	}
	return true;
}

/**
 * kvp_quarantine_exit - the pool ends: nothing of its is handed out any more
 * @pool: the pool, without clients; nobody can reach it
 */
void kvp_quarantine_exit(struct kvp_pool *pool)
{
	struct kvp_client *client;

	kvp_lock(pool);
	list_for_each_entry(client, &pool->quarantine, list)
		client->deadline = 0;
	kvp_settle_sliced(pool);
	kvp_unlock(pool);
}

static u64 kvp_held_back_locked(const struct kvp_pool *pool)
{
	u64 blocks = 0;
	u32 i;

	for (i = 0; i < pool->nr_families; i++)
		blocks += pool->family[i].nr[KVP_BLOCK_HELD_BACK];
	return blocks;
}

/**
 * kvp_op_reap - KVP_OP_REAP
 * @call: struct kvp_reap
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_reap(struct kvp_call *call)
{
	struct kvp_reap *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_client *client;
	u64 before;
	int err = 0;

	arg->clients = 0;
	arg->blocks = 0;
	kvp_lock(pool);
	/* Some may be over by themselves. */
	kvp_settle_sliced(pool);
	list_for_each_entry(client, &pool->quarantine, list) {
		if (arg->client && client->account->client != arg->client)
			continue;
		client->deadline = 0;
		arg->clients++;
	}
	before = kvp_held_back_locked(pool);
	if (arg->clients)
		kvp_settle_sliced(pool);
	arg->blocks = before - min(before, kvp_held_back_locked(pool));
	if (!arg->clients && arg->client)
		err = kvp_fail(call, -ENOENT, KVP_REASON_NO_CLIENT, 0);
	kvp_unlock(pool);
	return err;
}

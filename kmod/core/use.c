// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * KVP_OP_USE: what work touches, said before it is launched. All of a call or nothing: first every
 * sequence that it names is claimed (made busy, by this call) and checked, and memory is got;
 * then the uses are added, which cannot fail; then the sequences are let go.
 *
 * A use of a sequence is noted in the sequence, whatever it names then and later; a use
 * of a block takes a reference, which a struct kvp_hold has until the fence passes.
 */
#include "core.h"

/**
 * struct kvp_using - one call on its way
 * @call: the call
 * @entry: its entries
 * @nr: how many
 * @claimed: entries before this one are checked, and their sequences claimed
 * @holds: kvp_fenced.list: one for each run of entries of blocks with the same fence
 * @hold: the one to which the next entry of a block belongs
 */
struct kvp_using {
	struct kvp_call *call;
	const struct kvp_use_entry *entry;
	u32 nr;
	u32 claimed;
	struct list_head holds;
	struct kvp_hold *hold;
};

/* ---- holds ---------------------------------------------------------------------- */

/**
 * kvp_hold_size - bytes of a hold
 * @room: references that it can have
 *
 * Return: how many.
 */
size_t kvp_hold_size(u32 room)
{
	return sizeof(struct kvp_hold) + room * sizeof(u32);
}

/* Entries from @first on that are of blocks and have one fence; 0: it is none of a block. */
static u32 kvp_hold_run(const struct kvp_using *using, u32 first)
{
	const struct kvp_use_entry *entry = &using->entry[first];
	u32 nr = 0;

	while (first + nr < using->nr && entry[nr].kind == KVP_USE_BLOCK &&
	       entry[nr].timeline == entry->timeline && entry[nr].value == entry->value)
		nr++;
	return nr;
}

/* Whether a hold begins with this entry of a block. */
static bool kvp_hold_begins(const struct kvp_using *using, u32 i)
{
	const struct kvp_use_entry *entry = &using->entry[i];

	return !i || entry[-1].kind != KVP_USE_BLOCK || entry[-1].timeline != entry->timeline ||
	       entry[-1].value != entry->value;
}

static struct kvp_hold *kvp_hold_of(struct kvp_fenced *fenced)
{
	return container_of(fenced, struct kvp_hold, fenced);
}

/* Those that are left: the call came to nothing. */
static void kvp_holds_drop(struct kvp_using *using)
{
	struct kvp_pool *pool = using->call->pool;
	struct kvp_fenced *fenced, *next;

	list_for_each_entry_safe(fenced, next, &using->holds, list) {
		struct kvp_hold *hold = kvp_hold_of(fenced);

		kvp_lock(pool);
		while (hold->nr) {
			u32 at = hold->block[--hold->nr];

			/* The client has it all the same. */
			kvp_block_come_back_locked(pool, &pool->family[at >> KVP_HOLD_SHIFT],
						   at & KVP_BLOCK_INDEX_MASK);
			kvp_slice_step(pool, 1);
		}
		kvp_unlock(pool);
		list_del(&fenced->list);
		kvp_client_free(using->call->client, hold, kvp_hold_size(hold->room));
	}
}

static int kvp_holds_make(struct kvp_using *using)
{
	struct kvp_client *client = using->call->client;
	struct kvp_hold *hold;
	u32 i, run;

	for (i = 0; i < using->nr; i += max(run, 1U)) {
		run = kvp_hold_run(using, i);
		if (!run)
			continue;
		hold = kvp_client_alloc(client, kvp_hold_size(run));
		if (IS_ERR(hold)) {
			kvp_holds_drop(using);
			return kvp_fail_alloc(using->call, PTR_ERR(hold));
		}
		kvp_fenced_init(&hold->fenced, client, KVP_FENCED_HOLD);
		hold->fence.timeline = using->entry[i].timeline;
		hold->fence.value = using->entry[i].value;
		hold->room = run;
		list_add_tail(&hold->fenced.list, &using->holds);
	}
	return 0;
}

/* ---- checks ------------------------------------------------------------------------ */

static int kvp_use_check_fence_locked(struct kvp_using *using, u32 i)
{
	const struct kvp_use_entry *entry = &using->entry[i];
	struct kvp_call *call = using->call;
	u32 timeline = entry->timeline;

	if (entry->kind < KVP_USE_SEQ || entry->kind > KVP_USE_REMAP)
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE, i);
	if (!kvp_timeline_check_locked(call->client, &timeline))
		return kvp_fail(call, -ENOENT, KVP_REASON_NO_TIMELINE, i);
	if (entry->value >= KVP_MAX_FENCE)
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE, i);
	if (entry->value <= kvp_clock_read_locked(call->client, timeline))
		return kvp_fail(call, -EINVAL, KVP_REASON_FENCE_PASSED, i);
	return 0;
}

/* Its reference is taken at once: the count may have no room later. */
static int kvp_use_claim_block_locked(struct kvp_using *using, u32 i)
{
	const struct kvp_use_entry *entry = &using->entry[i];
	struct kvp_pool *pool = using->call->pool;
	struct kvp_hold *hold = using->hold;
	struct kvp_family *family;
	u32 index;
	int err;

	if (entry->write_from || entry->computed_to)
		return kvp_fail(using->call, -EINVAL, KVP_REASON_VALUE, i);
	err = kvp_block_find_locked(using->call, entry->id, i, &family, &index);
	if (err)
		return err;
	if (!kvp_raw_holds(using->call->client, entry->id))
		return kvp_fail(using->call, -EPERM, KVP_REASON_NOT_HELD, i);
	if (!kvp_block_get_locked(pool, family, index, using->call->client->slot))
		return kvp_fail(using->call, -EOVERFLOW, KVP_REASON_COUNT, i);
	kvp_block_hold_back_locked(pool, family, index);
	hold->block[hold->nr++] = family->index << KVP_HOLD_SHIFT | index;
	if (hold->nr == hold->room)
		using->hold = kvp_hold_of(list_next_entry(&hold->fenced, list));
	return 0;
}

static bool kvp_run_borrowed_locked(struct kvp_pool *pool, const struct kvp_seq *seq, u64 run)
{
	u64 slot, end;
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		const struct kvp_family *family = &pool->family[i];
		const struct kvp_vec *table = &seq->table[i];

		end = min((run + 1) * family->parts, table->nr);
		for (slot = run * family->parts; slot < end; slot++) {
			if (table->at[slot] == KVP_NIL)
				continue;
			pool->touched++;
			if (family->blocks[table->at[slot]].count > 1 ||
			    family->blocks[table->at[slot]].node != KVP_NIL)
				return true;
		}
	}
	return false;
}

/* Whether blocks of a node that is the sequence's own are others', too. */
static bool kvp_run_borrowed_sliced(struct kvp_pool *pool, const struct kvp_seq *seq, u64 run)
{
	kvp_slice_room(pool, pool->parts_per_node);
	if (!kvp_run_borrowed_locked(pool, seq, run))
		return false;
	kvp_settle_sliced(pool);
	kvp_slice_room(pool, pool->parts_per_node);
	return kvp_run_borrowed_locked(pool, seq, run);
}

/*
 * Rows that are written again must be nobody else's: those computed may be a fork's, too, or
 * published, and those that will be an export's. The rest is the sequence's own.
 */
static int kvp_use_check_shared_sliced(struct kvp_using *using, u32 i, const struct kvp_seq *seq)
{
	struct kvp_pool *pool = using->call->pool;
	u64 run = using->entry[i].write_from / pool->index_tokens;
	u64 end = kvp_nodes_for(pool, min(kvp_seq_will_have(seq), seq->tokens));

	if (run < seq->nr_published)
		return kvp_fail(using->call, -EBUSY, KVP_REASON_SHARED, i);
	for (; run < end; run++) {
		const struct kvp_node *node = &pool->nodes[seq->runs.at[run]];

		/* With zombies perhaps, whose fences have passed. */
		if (node->uses > 1)
			kvp_settle_sliced(pool);
		if (node->state != KVP_NODE_PRIVATE || node->uses > 1 ||
		    (seq->borrows && kvp_run_borrowed_sliced(pool, seq, run)))
			return kvp_fail(using->call, -EBUSY, KVP_REASON_SHARED, i);
		kvp_slice_step(pool, 1);
	}
	return 0;
}

/* Of a remap all is known that may be written. */
static int kvp_use_check_remap(struct kvp_using *using, u32 i, const struct kvp_seq *seq)
{
	const struct kvp_use_entry *entry = &using->entry[i];

	if (!seq->remap)
		return kvp_fail(using->call, -ENOENT, KVP_REASON_NO_REMAP, i);
	if (entry->write_from || entry->computed_to)
		return kvp_fail(using->call, -EINVAL, KVP_REASON_VALUE, i);
	return 0;
}

static int kvp_use_check_rows_sliced(struct kvp_using *using, u32 i, const struct kvp_seq *seq)
{
	const struct kvp_use_entry *entry = &using->entry[i];
	struct kvp_call *call = using->call;
	struct kvp_use *arg = call->arg;
	u64 most = max(kvp_seq_will_have(seq), seq->claimed_to);

	if (entry->write_from == KVP_POS_END)
		return entry->computed_to ?
		       kvp_fail(call, -EINVAL, KVP_REASON_VALUE, i) : 0;
	if (entry->computed_to < entry->write_from)
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE, i);
	if (entry->write_from > most) {
		arg->position = most;
		return kvp_fail(call, -EINVAL, KVP_REASON_POSITION, i);
	}
	if (entry->computed_to > seq->reserved)
		return kvp_fail(call, -EINVAL, KVP_REASON_LENGTH, i);
	return kvp_use_check_shared_sliced(using, i, seq);
}

/* ---- claims ------------------------------------------------------------------------- */

/* The sequence of an entry, which this call has claimed. */
static struct kvp_seq *kvp_use_seq_locked(struct kvp_using *using, u32 i)
{
	int err;

	return kvp_ids_find_locked(&using->call->client->seqs, using->entry[i].id, &err);
}

/* Memory for uses that the call did not need, or does not any more. */
static void kvp_spare_uses_drop_sliced(struct kvp_seq *seq)
{
	struct kvp_open_use *uses = seq->spare_uses;
	u32 max = seq->max_spare;

	seq->spare_uses = NULL;
	seq->max_spare = 0;
	kvp_uses_free_sliced(seq, uses, max);
}

/* One more use of this call for the sequence: room for all of them. */
static int kvp_use_room_sliced(struct kvp_using *using, struct kvp_seq *seq)
{
	struct kvp_client *client = using->call->client;
	u32 need = seq->nr_uses + seq->claimed_uses + 1;
	u32 has = max(seq->max_uses, seq->max_spare);
	struct kvp_open_use *uses;
	u32 max;

	if (need <= has || has == KVP_MAX_USES)
		return 0;
	max = min_t(u32, max(2 * has, need), KVP_MAX_USES);
	kvp_spare_uses_drop_sliced(seq);
	kvp_unlock(client->pool);
	uses = kvp_client_alloc(client, max * sizeof(*uses));
	kvp_lock(client->pool);
	if (IS_ERR(uses))
		return PTR_ERR(uses);
	seq->spare_uses = uses;
	seq->max_spare = max;
	return 0;
}

/* A sequence, or what is staged for it. */
static void kvp_use_claim_one_sliced(struct kvp_call *call, struct kvp_seq *seq)
{
	WRITE_ONCE(seq->busy, 1);
	seq->claimer = call;
	seq->claimed_uses = 0;
	seq->claimed_to = 0;
	if (kvp_seq_unsettled(seq))
		kvp_seq_settle_sliced(call->pool, seq);
}

static struct kvp_seq *kvp_use_claim_seq_sliced(struct kvp_using *using, u32 i)
{
	struct kvp_call *call = using->call;
	struct kvp_seq *seq;
	int err;

	seq = kvp_ids_find_locked(&call->client->seqs, using->entry[i].id, &err);
	if (!seq)
		return ERR_PTR(kvp_fail(call, err, err == -ESTALE ? KVP_REASON_GENERATION :
					KVP_REASON_NO_SEQ, i));
	if (!smp_load_acquire(&seq->busy)) {	/* pairs with kvp_seq_end() */
		kvp_use_claim_one_sliced(call, seq);
		if (seq->remap)
			kvp_use_claim_one_sliced(call, seq->remap->staged);
	} else if (seq->claimer != call) {
		return ERR_PTR(kvp_fail(call, -EBUSY, KVP_REASON_SEQ_BUSY, i));
	}
	return seq;
}

static void kvp_use_unclaim_sliced(struct kvp_seq *seq)
{
	if (seq->remap)
		kvp_use_unclaim_sliced(seq->remap->staged);
	kvp_spare_uses_drop_sliced(seq);
	seq->claimer = NULL;
	kvp_seq_end(seq);
}

static int kvp_use_claim_sliced(struct kvp_using *using, u32 i)
{
	struct kvp_seq *seq;
	bool first;
	int err;

	err = kvp_use_check_fence_locked(using, i);
	if (err)
		return err;
	if (using->entry[i].kind == KVP_USE_BLOCK)
		return kvp_use_claim_block_locked(using, i);
	seq = kvp_use_claim_seq_sliced(using, i);
	if (IS_ERR(seq))
		return PTR_ERR(seq);
	first = !seq->claimed_uses;
	if (using->entry[i].kind == KVP_USE_REMAP)
		err = kvp_use_check_remap(using, i, seq);
	else if (seq->remap)
		err = kvp_fail(using->call, -EBUSY, KVP_REASON_REMAP_OPEN, i);
	else
		err = kvp_use_check_rows_sliced(using, i, seq);
	if (!err) {
		err = kvp_use_room_sliced(using, seq);
		if (!err && seq->remap)
			err = kvp_use_room_sliced(using, seq->remap->staged);
		if (err) {
			kvp_unlock(using->call->pool);
			err = kvp_fail_alloc(using->call, err);
			kvp_lock(using->call->pool);
		}
	}
	if (!err) {
		seq->claimed_uses++;
		if (seq->remap)
			seq->remap->staged->claimed_uses++;
		seq->claimed_to = max(seq->claimed_to, using->entry[i].computed_to);
	} else if (first) {
		kvp_use_unclaim_sliced(seq);
	}
	return err;
}

/* ---- adding --------------------------------------------------------------------------- */

/*
 * @from into @to, which was said before it: as one, it passes with the later value. It keeps the
 * older number, as what was given back between the two waits for the older one.
 */
static void kvp_use_merge(struct kvp_open_use *to, const struct kvp_open_use *from)
{
	to->value = max(to->value, from->value);
	to->write_from = min(to->write_from, from->write_from);
	to->computed_to = max(to->computed_to, from->computed_to);
	to->reads_all |= from->reads_all;
}

/* No room is left: uses of one timeline become one. */
static void kvp_uses_merge_locked(struct kvp_seq *seq)
{
	u32 left = 0;
	u32 i, j;

	for (i = 0; i < seq->nr_uses; i++) {
		for (j = 0; j < left; j++)
			if (seq->uses[j].timeline == seq->uses[i].timeline)
				break;
		if (j < left)
			kvp_use_merge(&seq->uses[j], &seq->uses[i]);
		else
			seq->uses[left++] = seq->uses[i];
	}
	kvp_less_locked(seq->client->account, KVP_USES, seq->nr_uses - left);
	seq->nr_uses = left;
}

/* The memory that the call got for them takes the place of what they had. */
static void kvp_uses_grow_locked(struct kvp_seq *seq)
{
	struct kvp_open_use *uses = seq->uses;
	u32 max = seq->max_uses;

	memcpy(seq->spare_uses, uses, seq->nr_uses * sizeof(*uses));
	seq->uses = seq->spare_uses;
	seq->max_uses = seq->max_spare;
	seq->spare_uses = uses;
	seq->max_spare = max;
}

static void kvp_use_add_to_locked(struct kvp_pool *pool, struct kvp_seq *seq,
				  struct kvp_open_use use)
{
	struct kvp_open_use *last = seq->nr_uses ? &seq->uses[seq->nr_uses - 1] : NULL;

	use.nr = seq->next_use;
	use.reads_all = use.write_from == KVP_POS_END;
	/* With one fence they are one: what was given back in between waits for that, too. */
	if (last && last->timeline == use.timeline && last->value == use.value) {
		kvp_use_merge(last, &use);
		return;
	}
	if (seq->nr_uses == seq->max_uses && seq->max_spare > seq->max_uses)
		kvp_uses_grow_locked(seq);
	if (seq->nr_uses == seq->max_uses)
		kvp_uses_merge_locked(seq);
	seq->next_use++;
	seq->uses[seq->nr_uses++] = use;
	kvp_more_locked(seq->client->account, KVP_USES, 1);
	kvp_fenced_add_locked(pool, &seq->fenced);
}

static void kvp_use_add_seq_locked(struct kvp_using *using, u32 i)
{
	const struct kvp_use_entry *entry = &using->entry[i];
	struct kvp_pool *pool = using->call->pool;
	struct kvp_seq *seq = kvp_use_seq_locked(using, i);
	const struct kvp_remap *remap = seq->remap;
	struct kvp_open_use use = {
		.value = entry->value,
		.write_from = entry->write_from,
		.computed_to = entry->computed_to,
		.timeline = entry->timeline,
	};

	if (!remap) {
		kvp_use_add_to_locked(pool, seq, use);
		return;
	}
	/* It reads the one, and writes the other; rows of that count from commit on. */
	use.write_from = KVP_POS_END;
	kvp_use_add_to_locked(pool, seq, use);
	if (remap->first < remap->computed) {
		use.write_from = remap->first;
		use.computed_to = remap->first;
	}
	kvp_use_add_to_locked(pool, remap->staged, use);
}

static void kvp_use_add_block_locked(struct kvp_using *using, u32 i)
{
	struct kvp_fenced *fenced = list_first_entry(&using->holds, struct kvp_fenced, list);

	/* With the first of its blocks; all have their references. */
	if (!kvp_hold_begins(using, i))
		return;
	list_del_init(&fenced->list);
	kvp_fenced_add_locked(using->call->pool, fenced);
	kvp_more_locked(using->call->client->account, KVP_USES, kvp_hold_of(fenced)->nr);
}

static void kvp_use_add_locked(struct kvp_using *using, u32 i)
{
	const struct kvp_use_entry *entry = &using->entry[i];
	struct kvp_clock *clock;

	clock = &using->call->client->times->clock[array_index_nospec(entry->timeline,
								      KVP_NR_TIMELINES)];
	clock->announced = max_t(u64, clock->announced, entry->value);
	if (entry->kind != KVP_USE_BLOCK)
		kvp_use_add_seq_locked(using, i);
	else
		kvp_use_add_block_locked(using, i);
}

/* ---- the operation ---------------------------------------------------------------------- */

static int kvp_use_sliced(struct kvp_using *using)
{
	struct kvp_pool *pool = using->call->pool;
	int err = 0;
	u32 i;

	while (!err && using->claimed < using->nr) {
		err = kvp_use_claim_sliced(using, using->claimed);
		if (err)
			break;
		using->claimed++;
		kvp_slice_step(pool, 1);
	}
	for (i = 0; !err && i < using->nr; i++) {
		kvp_use_add_locked(using, i);
		kvp_slice_step(pool, 1);
	}
	for (i = 0; i < using->claimed; i++) {
		struct kvp_seq *seq;

		if (using->entry[i].kind == KVP_USE_BLOCK)
			continue;
		/* Gone, or another call's, where an entry before named it, too. */
		seq = kvp_use_seq_locked(using, i);
		if (seq && seq->claimer == using->call)
			kvp_use_unclaim_sliced(seq);
		kvp_slice_step(pool, 1);
	}
	return err;
}

/**
 * kvp_op_use - KVP_OP_USE
 * @call: struct kvp_use
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_use(struct kvp_call *call)
{
	struct kvp_use *arg = call->arg;
	struct kvp_client *client = call->client;
	struct kvp_using using = {
		.call = call,
		.entry = call->array[0],
		.nr = arg->nr_entries,
	};
	bool raw;
	int err;

	arg->position = 0;
	INIT_LIST_HEAD(&using.holds);
	err = kvp_holds_make(&using);
	if (err)
		return err;
	/* What the client holds of the blocks stays so until the uses have it, too. */
	raw = !list_empty(&using.holds);
	using.hold = kvp_hold_of(list_first_entry(&using.holds, struct kvp_fenced, list));
	if (raw)
		mutex_lock(&client->raw_lock);
	kvp_lock(call->pool);
	err = kvp_use_sliced(&using);
	kvp_unlock(call->pool);
	/* Its references go before those of the client can. */
	kvp_holds_drop(&using);
	if (raw)
		mutex_unlock(&client->raw_lock);
	return err;
}

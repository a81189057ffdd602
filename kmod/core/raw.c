// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Raw references, for engines that keep their own block tables. What a client
 * holds this way stands in its table (struct kvp_raw), which is the receipt: no
 * more is ever dropped than it says. The table belongs to kvp_client.raw_lock, the
 * blocks to kvp_pool.lock; a call holds the first from validation to the end, so
 * that the second may be let go between slices.
 */
#include "core.h"

#define KVP_RAW_MIN_CAP	64U

/* ---- the table --------------------------------------------------------------- */

/* Where the search for a block begins: family and index are what tells ids held apart. */
static u32 kvp_raw_home(const struct kvp_raw *raw, u64 id)
{
	u32 hash = (u32)(id >> KVP_BLOCK_INDEX_SHIFT) * 0x9e3779b1U;

	return (hash ^ hash >> 15) & (raw->cap - 1);
}

static struct kvp_raw_slot *kvp_raw_find(const struct kvp_raw *raw, u64 id)
{
	u32 at;

	if (!raw->cap)
		return NULL;
	for (at = kvp_raw_home(raw, id); raw->slot[at].block != KVP_BLOCK_NULL;
	     at = (at + 1) & (raw->cap - 1))
		if (raw->slot[at].block == id)
			return &raw->slot[at];
	return NULL;
}

/**
 * kvp_raw_holds - whether a client has a raw reference on a block
 * @client: the client; its raw_lock is held
 * @id: the block
 *
 * Return: whether it has.
 */
bool kvp_raw_holds(const struct kvp_client *client, u64 id)
{
	const struct kvp_raw_slot *slot = kvp_raw_find(&client->raw, id);

	lockdep_assert_held(&client->raw_lock);
	return slot && slot->count;
}

/* The caller has made the room. */
static void kvp_raw_add(struct kvp_raw *raw, u64 id, u32 count)
{
	u32 at = kvp_raw_home(raw, id);

	while (raw->slot[at].block != KVP_BLOCK_NULL && raw->slot[at].block != id)
		at = (at + 1) & (raw->cap - 1);
	if (raw->slot[at].block == KVP_BLOCK_NULL) {
		raw->slot[at].block = id;
		raw->nr++;
	}
	raw->slot[at].count += count;
}

/* Close the gap: what follows in the run moves up, unless it would pass its home. */
static void kvp_raw_del(struct kvp_raw *raw, struct kvp_raw_slot *slot)
{
	u32 mask = raw->cap - 1;
	u32 gap = slot - raw->slot;
	u32 at = gap;
	u32 home;

	for (;;) {
		at = (at + 1) & mask;
		if (raw->slot[at].block == KVP_BLOCK_NULL)
			break;
		home = kvp_raw_home(raw, raw->slot[at].block);
		if (((at - home) & mask) < ((at - gap) & mask))
			continue;
		raw->slot[gap] = raw->slot[at];
		gap = at;
	}
	raw->slot[gap] = (struct kvp_raw_slot){ .block = KVP_BLOCK_NULL };
	raw->nr--;
}

static void kvp_raw_free(struct kvp_client *client, struct kvp_raw *raw)
{
	if (raw->cap)
		kvp_client_free(client, raw->slot, raw->cap * sizeof(*raw->slot));
	raw->cap = 0;
	raw->nr = 0;
}

static void kvp_raw_room_drop(struct kvp_client *client, u32 refs, struct kvp_raw *room)
{
	kvp_raw_free(client, room);
	kvp_lock(client->pool);
	kvp_less_locked(client->account, KVP_RAW, refs);
	kvp_unlock(client->pool);
}

/*
 * Count @refs more references on up to @blocks further blocks. @room becomes the larger table
 * that this takes, if any; the client's own stays as it is until kvp_raw_move(). Undone by
 * kvp_raw_room_drop().
 */
static int kvp_raw_room(struct kvp_call *call, u32 refs, u32 blocks, struct kvp_raw *room)
{
	struct kvp_client *client = call->client;
	struct kvp_raw *raw = &client->raw;
	u64 need = (u64)raw->nr + blocks;
	u64 cap = max(raw->cap, KVP_RAW_MIN_CAP);
	int err;

	memset(room, 0, sizeof(*room));
	kvp_lock(call->pool);
	err = kvp_take_more_locked(call, KVP_RAW, refs);
	kvp_unlock(call->pool);
	if (err)
		return err;

	while (cap - cap / 4 < need)
		cap *= 2;
	if (!blocks || cap == raw->cap)
		return 0;
	room->slot = kvp_client_alloc(client, cap * sizeof(*room->slot));
	if (!IS_ERR(room->slot)) {
		room->cap = cap;
		return 0;
	}
	kvp_raw_room_drop(client, refs, room);
	return kvp_fail_alloc(call, PTR_ERR(room->slot));
}

/* From here on the client's table has the room. */
static void kvp_raw_move(struct kvp_client *client, struct kvp_raw *room)
{
	struct kvp_raw *raw = &client->raw;
	u32 i;

	if (!room->cap)
		return;
	for (i = 0; i < raw->cap; i++)
		if (raw->slot[i].block != KVP_BLOCK_NULL)
			kvp_raw_add(room, raw->slot[i].block, raw->slot[i].count);
	kvp_raw_free(client, raw);
	*raw = *room;
}

/* ---- many at once ------------------------------------------------------------- */

static u32 kvp_raw_count(const u64 *ids, u32 nr)
{
	u32 count = 0;
	u32 i;

	for (i = 0; i < nr; i++)
		count += ids[i] != KVP_BLOCK_NULL;
	return count;
}

/* One more reference on each of @ids; there is room, and they are counted. */
static void kvp_raw_record(struct kvp_client *client, const u64 *ids, u32 nr)
{
	u32 i;

	lockdep_assert_held(&client->raw_lock);
	for (i = 0; i < nr; i++)
		if (ids[i] != KVP_BLOCK_NULL)
			kvp_raw_add(&client->raw, ids[i], 1);
}

/*
 * Take one reference on each of @ids off the table, all or none; what has none left stays
 * there until kvp_raw_drop(). Return: @nr, or the index of the first that fails.
 */
static u32 kvp_raw_claim(struct kvp_client *client, const u64 *ids, u32 nr)
{
	struct kvp_raw *raw = &client->raw;
	struct kvp_raw_slot *slot;
	u32 i, bad;

	lockdep_assert_held(&client->raw_lock);
	for (i = 0; i < nr; i++) {
		if (ids[i] == KVP_BLOCK_NULL)
			continue;
		slot = kvp_raw_find(raw, ids[i]);
		if (!slot || !slot->count)
			break;
		slot->count--;
	}
	bad = i;
	if (bad == nr)
		return nr;
	for (i = 0; i < bad; i++)
		if (ids[i] != KVP_BLOCK_NULL)
			kvp_raw_find(raw, ids[i])->count++;
	return bad;
}

/* @put: kvp_block_release_locked(), or kvp_block_undo_get_locked() after a failure. */
static void kvp_raw_put_sliced(struct kvp_pool *pool, const u64 *ids, u32 nr,
			       void (*put)(struct kvp_pool *pool, struct kvp_family *family,
					   u32 index))
{
	u32 i;

	lockdep_assert_held(&pool->lock);
	for (i = 0; i < nr; i++) {
		if (ids[i] == KVP_BLOCK_NULL)
			continue;
		put(pool, &pool->family[KVP_BLOCK_FAMILY(ids[i])], KVP_BLOCK_INDEX(ids[i]));
		kvp_slice_step(pool, 1);
	}
}

/* Drop the references that kvp_raw_claim() took. */
static void kvp_raw_drop(struct kvp_client *client, const u64 *ids, u32 nr)
{
	const u32 count = kvp_raw_count(ids, nr);
	struct kvp_raw *raw = &client->raw;
	struct kvp_raw_slot *slot;
	u32 i;

	lockdep_assert_held(&client->raw_lock);
	for (i = 0; i < nr; i++) {
		if (ids[i] == KVP_BLOCK_NULL)
			continue;
		slot = kvp_raw_find(raw, ids[i]);
		if (slot && !slot->count)
			kvp_raw_del(raw, slot);
	}
	kvp_lock(client->pool);
	kvp_raw_put_sliced(client->pool, ids, nr, kvp_block_release_locked);
	kvp_less_locked(client->account, KVP_RAW, count);
	kvp_unlock(client->pool);
}

/* Say why the client has no reference, or none left, on the block with this id. */
static int kvp_raw_refuse(struct kvp_call *call, u64 id, u32 where, bool drop)
{
	struct kvp_pool *pool = call->pool;
	struct kvp_family *family;
	u32 index;
	int err;

	lockdep_assert_held(&call->client->raw_lock);
	kvp_lock(pool);
	if (kvp_raw_find(&call->client->raw, id))
		err = kvp_fail(call, -EINVAL, KVP_REASON_DUPLICATE, where);
	else
		err = kvp_block_find_locked(call, id, where, &family, &index);
	if (!err)
		err = kvp_fail(call, -EPERM, KVP_REASON_NOT_HELD, where);
	if (drop && err != -ENOENT)
		pool->counters.underflow_rejected++;
	kvp_unlock(pool);
	return err;
}

/* ---- alloc ---------------------------------------------------------------------- */

/* Take @nr blocks, each with a count of 1, and put them into the table, or change nothing. */
static int kvp_raw_alloc(struct kvp_call *call, u32 family, u32 nr, u64 *ids)
{
	struct kvp_client *client = call->client;
	struct kvp_pool *pool = call->pool;
	struct kvp_need need = { };
	struct kvp_taken taken;
	struct kvp_raw room;
	u64 now = ktime_get_coarse_ns();
	int err;
	u32 i;

	lockdep_assert_held(&client->raw_lock);
	err = kvp_raw_room(call, nr, nr, &room);
	if (err)
		return err;

	need.blocks[family] = nr;
	kvp_lock(pool);
	err = kvp_take_sliced(call, &need, &taken);
	for (i = 0; !err && i < nr; i++) {
		ids[i] = kvp_block_id(&pool->family[family],
				      kvp_taken_block_locked(&pool->family[family],
							     &taken, now));
		kvp_slice_step(pool, 1);
	}
	kvp_unlock(pool);
	if (err) {
		kvp_raw_room_drop(client, nr, &room);
		return err;
	}
	kvp_raw_move(client, &room);
	kvp_raw_record(client, ids, nr);
	return 0;
}

/**
 * kvp_op_block_alloc - KVP_OP_BLOCK_ALLOC
 * @call: the call
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_block_alloc(struct kvp_call *call)
{
	struct kvp_block_alloc *arg = call->arg;
	int err;

	err = kvp_check_family(call, &arg->family);
	if (err)
		return err;
	mutex_lock(&call->client->raw_lock);
	err = kvp_raw_alloc(call, arg->family, arg->nr, call->array[0]);
	mutex_unlock(&call->client->raw_lock);
	return err;
}

/* Undo for blocks of which another thread may have dropped some by now. */
static void kvp_raw_undo(struct kvp_client *client, u64 *ids, u32 nr)
{
	u32 i;

	mutex_lock(&client->raw_lock);
	for (i = 0; i < nr; i++)
		if (!kvp_raw_claim(client, &ids[i], 1))
			ids[i] = KVP_BLOCK_NULL;
	kvp_raw_drop(client, ids, nr);
	mutex_unlock(&client->raw_lock);
}

/**
 * kvp_undo_block_alloc - give back blocks whose ids could not be told
 * @call: the call
 */
void kvp_undo_block_alloc(struct kvp_call *call)
{
	struct kvp_block_alloc *arg = call->arg;

	kvp_raw_undo(call->client, call->array[0], arg->nr);
}

/* ---- ref ------------------------------------------------------------------------ */

/* Reference the block @id, which must be the one with this index in @table. */
static int kvp_raw_get_sliced(struct kvp_call *call, u64 id, u32 where, u32 expected)
{
	struct kvp_family *family;
	u32 index;
	int err;

	err = kvp_block_find_locked(call, id, where, &family, &index);
	if (err)
		return err;
	if (index != expected)
		return kvp_fail(call, -EPERM, KVP_REASON_NOT_HELD, where);
	if (!family->blocks[index].count) {
		err = kvp_check_idle_sliced(call, family);
		if (err)
			return err;
	}
	if (!kvp_block_get_locked(call->pool, family, index, call->client->slot))
		return kvp_fail(call, -EOVERFLOW, KVP_REASON_COUNT, where);
	return 0;
}

/* The client's own table says that it holds them. */
static int kvp_ref_own(struct kvp_call *call, const u64 *ids, u32 nr)
{
	struct kvp_pool *pool = call->pool;
	int err = 0;
	u32 i;

	for (i = 0; i < nr; i++)
		if (ids[i] != KVP_BLOCK_NULL && !kvp_raw_find(&call->client->raw, ids[i]))
			return kvp_raw_refuse(call, ids[i], i, false);

	kvp_lock(pool);
	for (i = 0; i < nr; i++) {
		if (ids[i] == KVP_BLOCK_NULL)
			continue;
		err = kvp_raw_get_sliced(call, ids[i], i, KVP_BLOCK_INDEX(ids[i]));
		if (err)
			break;
		kvp_slice_step(pool, 1);
	}
	if (err)
		kvp_raw_put_sliced(pool, ids, i, kvp_block_undo_get_locked);
	kvp_unlock(pool);
	return err;
}

/* The table of a sequence, which is busy meanwhile, says so. */
static int kvp_ref_seq(struct kvp_call *call, const u64 *ids, u32 nr, u32 family)
{
	struct kvp_block_refs *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_vec *table;
	struct kvp_seq *seq;
	int err = 0;
	u64 left;
	u32 i;

	seq = kvp_seq_begin(call, arg->holder);
	if (IS_ERR(seq))
		return PTR_ERR(seq);
	table = &seq->table[family];
	left = table->nr - min(arg->first, table->nr);
	seq->owns_end = false;

	kvp_lock(pool);
	for (i = 0; i < nr; i++) {
		if (ids[i] == KVP_BLOCK_NULL)
			continue;
		err = kvp_raw_get_sliced(call, ids[i], i,
					 i < left ? table->at[array_index_nospec(arg->first + i,
								table->nr)] : KVP_NIL);
		if (err)
			break;
		kvp_slice_step(pool, 1);
	}
	if (err)
		kvp_raw_put_sliced(pool, ids, i, kvp_block_undo_get_locked);
	kvp_unlock(pool);
	kvp_seq_end(seq);
	return err;
}

/*
 * The block of a family at place @position of the path that ends in *@at; moves *@at up to
 * the node that has it. KVP_NIL: the path has no such place (any more).
 */
static u32 kvp_path_part_sliced(struct kvp_pool *pool, const struct kvp_family *family,
				u64 position, u32 *at)
{
	u64 depth = position / family->parts + 1;

	while (pool->nodes[*at].depth > depth) {
		*at = pool->nodes[*at].parent;
		kvp_slice_step_pinned(pool, 1, *at);
	}
	if (pool->nodes[*at].depth != depth)
		return KVP_NIL;
	return kvp_node_parts(pool, *at)[family->first_part + position % family->parts];
}

/* The path of a match says so; from its end to its start. */
static int kvp_ref_match(struct kvp_call *call, const u64 *ids, u32 nr, u32 family_nr)
{
	struct kvp_block_refs *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_family *family = &pool->family[family_nr];
	struct kvp_match *match;
	u32 expected = KVP_NIL;
	u32 tail, at;
	int err = 0;
	u32 i;

	kvp_lock(pool);
	match = kvp_ids_find_locked(&call->client->matches, arg->holder, &err);
	if (!match) {
		err = kvp_fail(call, err, err == -ENOENT ? KVP_REASON_NO_MATCH :
			       KVP_REASON_GENERATION, 0);
		kvp_unlock(pool);
		return err;
	}
	/* Keeps the path, although the match may be released between slices. */
	tail = match->node;
	at = tail;
	pool->nodes[tail].refs++;

	for (i = nr; i > 0; i--) {
		if (ids[i - 1] == KVP_BLOCK_NULL)
			continue;
		if (family->parts && arg->first <= KVP_MAX_SEQ_TOKENS)
			expected = kvp_path_part_sliced(pool, family, arg->first + i - 1, &at);
		err = kvp_raw_get_sliced(call, ids[i - 1], i - 1, expected);
		if (err)
			break;
		kvp_slice_step_pinned(pool, 1, at);
	}
	if (err)
		kvp_raw_put_sliced(pool, ids + i, nr - i, kvp_block_undo_get_locked);
	kvp_node_put_locked(pool, tail);
	kvp_unlock(pool);
	return err;
}

/* Take the references, from blocks of one family, that another holder answers for. */
static int kvp_ref_from(struct kvp_call *call, const u64 *ids, u32 nr)
{
	struct kvp_block_refs *arg = call->arg;
	u32 family = KVP_NIL;
	u32 i;

	for (i = 0; i < nr; i++) {
		if (ids[i] == KVP_BLOCK_NULL)
			continue;
		if (family == KVP_NIL)
			family = KVP_BLOCK_FAMILY(ids[i]);
		if (KVP_BLOCK_FAMILY(ids[i]) != family || family >= call->pool->nr_families)
			return kvp_fail(call, -EINVAL, KVP_REASON_FAMILY, i);
	}
	if (family == KVP_NIL)
		family = 0;
	if (arg->head.flags & KVP_BLOCK_REF_MATCH)
		return kvp_ref_match(call, ids, nr, family);
	return kvp_ref_seq(call, ids, nr, family);
}

/**
 * kvp_op_block_ref - KVP_OP_BLOCK_REF
 * @call: the call
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_block_ref(struct kvp_call *call)
{
	struct kvp_block_refs *arg = call->arg;
	struct kvp_client *client = call->client;
	const u64 *ids = call->array[0];
	struct kvp_raw room;
	u32 refs;
	int err;

	if (!arg->holder && arg->head.flags & KVP_BLOCK_REF_MATCH)
		return kvp_fail(call, -EINVAL, KVP_REASON_FLAG, 0);
	if (!arg->holder && arg->first)
		return kvp_fail(call, -EINVAL, KVP_REASON_RESERVED,
				offsetof(struct kvp_block_refs, first));
	refs = kvp_raw_count(ids, arg->nr);

	mutex_lock(&client->raw_lock);
	err = kvp_raw_room(call, refs, arg->holder ? refs : 0, &room);
	if (!err) {
		err = arg->holder ? kvp_ref_from(call, ids, arg->nr) :
				    kvp_ref_own(call, ids, arg->nr);
		if (!err) {
			kvp_raw_move(client, &room);
			kvp_raw_record(client, ids, arg->nr);
		} else {
			kvp_raw_room_drop(client, refs, &room);
		}
	}
	mutex_unlock(&client->raw_lock);
	return err;
}

/* ---- unref, make private, the end ------------------------------------------------ */

/**
 * kvp_op_block_unref - KVP_OP_BLOCK_UNREF
 * @call: the call
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_block_unref(struct kvp_call *call)
{
	struct kvp_block_refs *arg = call->arg;
	struct kvp_client *client = call->client;
	const u64 *ids = call->array[0];
	int err = 0;
	u32 bad;

	mutex_lock(&client->raw_lock);
	bad = kvp_raw_claim(client, ids, arg->nr);
	if (bad < arg->nr)
		err = kvp_raw_refuse(call, ids[bad], bad, true);
	else
		kvp_raw_drop(client, ids, arg->nr);
	mutex_unlock(&client->raw_lock);
	return err;
}

/* Only this client's one reference names the block, and nobody can come to it by a match. */
static bool kvp_raw_is_private(struct kvp_pool *pool, u64 id)
{
	struct kvp_block *block;
	bool alone;

	kvp_lock(pool);
	block = &pool->family[KVP_BLOCK_FAMILY(id)].blocks[KVP_BLOCK_INDEX(id)];
	if (block->held_back)
		kvp_settle_sliced(pool);
	alone = block->count == 1 && block->node == KVP_NIL;
	kvp_unlock(pool);
	return alone;
}

/**
 * kvp_op_block_make_private - KVP_OP_BLOCK_MAKE_PRIVATE
 * @call: the call
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_block_make_private(struct kvp_call *call)
{
	struct kvp_block_make_private *arg = call->arg;
	struct kvp_client *client = call->client;
	int err = 0;

	mutex_lock(&client->raw_lock);
	if (!kvp_raw_find(&client->raw, arg->block)) {
		err = kvp_raw_refuse(call, arg->block, 0, false);
	} else if (kvp_raw_is_private(call->pool, arg->block)) {
		arg->result = arg->block;
		arg->copy = 0;
	} else {
		err = kvp_raw_alloc(call, KVP_BLOCK_FAMILY(arg->block), 1, &arg->result);
		arg->copy = !err;
	}
	mutex_unlock(&client->raw_lock);
	return err;
}

/**
 * kvp_undo_block_make_private - give back a block whose id could not be told
 * @call: the call
 */
void kvp_undo_block_make_private(struct kvp_call *call)
{
	struct kvp_block_make_private *arg = call->arg;

	if (arg->copy)
		kvp_raw_undo(call->client, &arg->result, 1);
}

static void kvp_raw_end_slot_locked(struct kvp_client *client, const struct kvp_raw_slot *slot)
{
	struct kvp_family *family = &client->pool->family[KVP_BLOCK_FAMILY(slot->block)];
	u32 index = KVP_BLOCK_INDEX(slot->block);

	/* All but one at once: there may be millions. */
	family->blocks[index].count -= slot->count - 1;
	kvp_block_release_locked(client->pool, family, index);
	kvp_less_locked(client->account, KVP_RAW, slot->count);
}

/**
 * kvp_raw_exit_sliced - drop all raw references of a client that is closed
 * @client: the client; nobody calls on it any more
 */
void kvp_raw_exit_sliced(struct kvp_client *client)
{
	struct kvp_pool *pool = client->pool;
	struct kvp_raw *raw = &client->raw;
	u32 i;

	lockdep_assert_held(&pool->lock);
	for (i = 0; i < raw->cap; i++) {
		if (raw->slot[i].block != KVP_BLOCK_NULL)
			kvp_raw_end_slot_locked(client, &raw->slot[i]);
		kvp_slice_step(pool, 1);
	}
	kvp_unlock(pool);
	kvp_raw_free(client, raw);
	kvp_lock(pool);
}

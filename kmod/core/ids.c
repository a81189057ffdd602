// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Objects of a client by id, and growing arrays. A table of ids is under
 * kvp_pool.lock; a growing array belongs to the call that keeps its owner busy.
 *
 * An id is an index and a generation. A slot's generation is that of the
 * object in it, or of the next one. It begins with 1 (0: the slot was never
 * used) and grows whenever an object goes, so an id names one object for ever.
 * A slot whose generations are used up is left empty.
 */
#include "core.h"

#define KVP_ID_GEN_MAX	0x7fffffffU
#define KVP_VEC_FIRST	16		/* elements of the first allocation */

static u32 kvp_ids_nr_chunks(const struct kvp_ids *ids)
{
	return ids->cap ? ilog2(ids->cap / KVP_ID_FIRST) + 1 : 0;
}

/*
 * The next chunk of a full table: @nr slots from @cap on, all free. It stays when the call
 * that asked for it fails, so it is not charged: the limits on objects bound it.
 */
static struct kvp_id_slot *kvp_ids_make_chunk(u32 cap, u32 nr)
{
	struct kvp_id_slot *chunk = kvcalloc(nr, sizeof(*chunk),
					     GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	u32 i;

	if (!chunk)
		return NULL;
	for (i = 0; i < nr; i++)
		chunk[i].next = i + 1 < nr ? cap + i + 1 : KVP_NIL;
	return chunk;
}

/**
 * kvp_ids_room_sliced - see to it that an object can be added
 * @pool: the pool of the client whose table it is
 * @ids: the table
 *
 * Return: 0, and there is a free slot as long as the lock is held; -EDQUOT (no more ids)
 * or -ENOMEM. The lock is held again in any case.
 */
int kvp_ids_room_sliced(struct kvp_pool *pool, struct kvp_ids *ids)
{
	struct kvp_id_slot *chunk;
	u32 cap, nr;

	lockdep_assert_held(&pool->lock);
	while (!ids->cap || ids->free == KVP_NIL) {
		cap = ids->cap;
		nr = cap ? cap : KVP_ID_FIRST;
		if (kvp_ids_nr_chunks(ids) == KVP_ID_CHUNKS)
			return -EDQUOT;
		kvp_unlock(pool);
		chunk = kvp_ids_make_chunk(cap, nr);
		kvp_lock(pool);
		if (!chunk)
			return -ENOMEM;
		if (ids->cap == cap && (!cap || ids->free == KVP_NIL)) {
			ids->chunk[kvp_ids_nr_chunks(ids)] = chunk;
			ids->free = cap;
			ids->cap += nr;
			continue;
		}
		/* Another call of the client was faster, or ended an object. */
		kvp_unlock(pool);
		kvfree(chunk);
		kvp_lock(pool);
	}
	return 0;
}

/**
 * kvp_ids_add_locked - give an object an id
 * @ids: a table with room (kvp_ids_room_sliced())
 * @object: the object
 *
 * Return: its id.
 */
u64 kvp_ids_add_locked(struct kvp_ids *ids, void *object)
{
	u32 index = ids->free;
	struct kvp_id_slot *slot = kvp_id_slot(ids, index);

	ids->free = slot->next;
	ids->nr++;
	slot->object = object;
	if (!slot->gen)
		slot->gen = 1;
	return (u64)slot->gen << 32 | index;
}

/**
 * kvp_ids_find_locked - the object of an id that a client gave
 * @ids: the table
 * @id: the id
 * @err: 0; or -ESTALE if the object is gone, -ENOENT if there never was one
 *
 * Return: the object, or NULL.
 */
void *kvp_ids_find_locked(struct kvp_ids *ids, u64 id, int *err)
{
	u32 index = (u32)id;
	u32 gen = id >> 32;
	struct kvp_id_slot *slot;

	*err = -ENOENT;
	if (!gen || index >= ids->cap)
		return NULL;
	slot = kvp_id_slot(ids, array_index_nospec(index, ids->cap));
	if (gen < slot->gen)
		*err = -ESTALE;
	if (gen != slot->gen || !slot->object)
		return NULL;
	*err = 0;
	return slot->object;
}

/**
 * kvp_ids_replace_locked - another object has an id from now on
 * @ids: the table
 * @id: an id of it
 * @object: the object
 */
void kvp_ids_replace_locked(struct kvp_ids *ids, u64 id, void *object)
{
	kvp_id_slot(ids, (u32)id)->object = object;
}

/**
 * kvp_ids_del_locked - end an id
 * @ids: the table
 * @id: an id of it
 */
void kvp_ids_del_locked(struct kvp_ids *ids, u64 id)
{
	u32 index = (u32)id;
	struct kvp_id_slot *slot;

	if (WARN_ON_ONCE(index >= ids->cap))
		return;
	slot = kvp_id_slot(ids, index);
	if (WARN_ON_ONCE(!slot->object || slot->gen != id >> 32))
		return;
	slot->object = NULL;
	ids->nr--;
	if (slot->gen++ == KVP_ID_GEN_MAX)
		return;
	slot->next = ids->free;
	ids->free = index;
}

/**
 * kvp_ids_exit - end a table
 * @ids: the table; its objects are gone, nobody else looks at it
 */
void kvp_ids_exit(struct kvp_ids *ids)
{
	u32 i;

	for (i = 0; i < kvp_ids_nr_chunks(ids); i++)
		kvfree(ids->chunk[i]);
	memset(ids, 0, sizeof(*ids));
}

/**
 * kvp_vec_room - memory for a growing array that will be longer
 * @client: charged for the memory
 * @vec: the array, left as it is
 * @nr: elements that it must be able to hold
 * @room: set to the memory; empty if the array has enough
 *
 * To be followed by kvp_vec_move(), or by kvp_vec_exit() of @room if the call
 * comes to nothing. Return: 0, -EDQUOT or -ENOMEM (see kvp_client_alloc()).
 */
int kvp_vec_room(struct kvp_client *client, const struct kvp_vec *vec, u64 nr,
		 struct kvp_vec *room)
{
	u64 cap = max_t(u64, nr, max_t(u64, 2 * vec->cap, KVP_VEC_FIRST));
	u32 *at;

	memset(room, 0, sizeof(*room));
	if (nr <= vec->cap)
		return 0;
	if (cap > SIZE_MAX / sizeof(*at))
		return -ENOMEM;
	at = kvp_client_alloc(client, cap * sizeof(*at));
	if (IS_ERR(at))
		return PTR_ERR(at);
	room->at = at;
	room->cap = cap;
	return 0;
}

/**
 * kvp_vec_move - give a growing array the memory that was made for it
 * @client: who was charged
 * @vec: the array
 * @room: from kvp_vec_room()
 */
void kvp_vec_move(struct kvp_client *client, struct kvp_vec *vec, struct kvp_vec *room)
{
	if (!room->cap)
		return;
	if (vec->nr)
		memcpy(room->at, vec->at, vec->nr * sizeof(*vec->at));
	room->nr = vec->nr;
	kvp_vec_exit(client, vec);
	*vec = *room;
}

/**
 * kvp_vec_exit - end a growing array
 * @client: who was charged
 * @vec: the array; it may be used again
 */
void kvp_vec_exit(struct kvp_client *client, struct kvp_vec *vec)
{
	if (vec->cap)
		kvp_client_free(client, vec->at, vec->cap * sizeof(*vec->at));
	memset(vec, 0, sizeof(*vec));
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The one way to execute an operation: read the caller's struct, check what
 * the table says (ops.c), map the arrays, take the gate, execute, and bring the
 * result back. Owns no state.
 *
 * The caller's struct is read once, and written once at the end; its memory is
 * never touched with the gate held.
 */
#include "core.h"

#define KVP_MAX_STRUCT	4096		/* the contract's page */
#define KVP_TAIL_BYTES	64		/* of an unknown tail that are read together */
#define KVP_ARRAY_ROOM	512		/* bytes of short arrays for which no memory is taken */

/**
 * kvp_fail - say why a call fails
 * @call: the call
 * @err: negative errno
 * @reason: which of the causes of that errno
 * @where: element, family or byte offset that @reason speaks of, or 0
 *
 * Return: @err.
 */
int kvp_fail(struct kvp_call *call, int err, enum kvp_reason reason, u32 where)
{
	call->head->reason = reason;
	call->head->where = where;
	return err;
}

/**
 * kvp_fail_alloc - kvp_fail() with what kvp_client_alloc() said
 * @call: the call
 * @err: -EDQUOT or KVP_OVER_UID, which are counted (kvp_pool.lock is not held then), or -ENOMEM
 *
 * Return: the errno.
 */
int kvp_fail_alloc(struct kvp_call *call, int err)
{
	if (err != -EDQUOT && err != KVP_OVER_UID)
		return kvp_fail(call, err, KVP_REASON_MEMORY, 0);
	kvp_lock(call->pool);
	err = kvp_refuse_locked(call, err, KVP_REASON_LIMIT_METADATA, 0);
	kvp_unlock(call->pool);
	return err;
}

/* ---- the caller's struct ---- */

/**
 * struct kvp_frame - a call and what is the caller's
 * @call: what the executor sees
 * @addr: of the caller's struct
 * @size: of the caller's struct; 0: it cannot be written
 * @made: of the batch that the call is an entry of, or NULL
 * @ref: the KVP_REF that stood in the id field, or 0
 * @array_addr: of the caller's arrays
 * @array_len: bytes
 * @array_room: the part of @room that the door may use, or NULL
 * @head: begin of the struct
 * @arg: the struct
 * @room: for short arrays, one after the other
 * @room_used: bytes of it
 */
struct kvp_frame {
	struct kvp_call call;
	u64 addr;
	u32 size;
	struct kvp_made *made;
	u64 ref;
	u64 array_addr[KVP_MAX_ARRAYS];
	size_t array_len[KVP_MAX_ARRAYS];
	void *array_room[KVP_MAX_ARRAYS];
	union {
		struct kvp_head head;
		u64 arg[KVP_ARG_BYTES / sizeof(u64)];
	};
	u64 room[KVP_ARRAY_ROOM / sizeof(u64)];
	u32 room_used;
};

static u32 kvp_field32(const struct kvp_call *call, u32 offset)
{
	u32 value;

	memcpy(&value, call->arg + offset, sizeof(value));
	return value;
}

static u64 kvp_field64(const struct kvp_call *call, u32 offset)
{
	u64 value;

	memcpy(&value, call->arg + offset, sizeof(value));
	return value;
}

static void kvp_set_field64(struct kvp_call *call, u32 offset, u64 value)
{
	memcpy(call->arg + offset, &value, sizeof(value));
}

/* What a caller who is newer than the core put behind what the core knows. */
static int kvp_check_tail(struct kvp_frame *frame)
{
	struct kvp_call *call = &frame->call;
	u8 tail[KVP_TAIL_BYTES];
	u32 at, len;

	for (at = call->op->size; at < frame->size; at += len) {
		len = min_t(u32, frame->size - at, sizeof(tail));
		if (call->client->door->read(tail, frame->addr + at, len))
			return kvp_fail(call, -EFAULT, KVP_REASON_POINTER, 0);
		if (memchr_inv(tail, 0, len))
			return kvp_fail(call, -E2BIG, KVP_REASON_SIZE, 0);
	}
	return 0;
}

static int kvp_frame_read(struct kvp_frame *frame, u32 len)
{
	struct kvp_call *call = &frame->call;
	const struct kvp_door *door = call->client->door;
	const struct kvp_op_desc *op = call->op;
	u32 size, known;

	if (!frame->addr || door->read(&size, frame->addr, sizeof(size)))
		return kvp_fail(call, -EFAULT, KVP_REASON_POINTER, 0);
	if (size < sizeof(struct kvp_head))
		return kvp_fail(call, -EINVAL, KVP_REASON_SIZE, 0);
	frame->size = size;
	/* A 32-bit caller aligns 64-bit members to 4 bytes. */
	if (!IS_ALIGNED(frame->addr, sizeof(u32)))
		return kvp_fail(call, -EINVAL, KVP_REASON_ALIGNMENT, 0);
	if (((len || frame->made) && len != size) || size < op->min_size)
		return kvp_fail(call, -EINVAL, KVP_REASON_SIZE, 0);
	if (size > KVP_MAX_STRUCT)
		return kvp_fail(call, -E2BIG, KVP_REASON_SIZE, 0);

	known = min(size, op->size);
	if (door->read(call->arg, frame->addr, known))
		return kvp_fail(call, -EFAULT, KVP_REASON_POINTER, 0);
	/* The size is not read twice: it may have changed. */
	frame->head.size = size;
	memset(call->arg + known, 0, op->size - known);
	return kvp_check_tail(frame);
}

/* Only the reason, where nothing else can have changed; best effort. */
static void kvp_frame_tell(struct kvp_frame *frame)
{
	const u32 told[2] = { frame->head.reason, frame->head.where };

	if (frame->size)
		frame->call.client->door->write(frame->addr + offsetof(struct kvp_head, reason),
						told, sizeof(told));
}

/* The whole struct, with the id field as the caller had it. */
static int kvp_frame_write(struct kvp_frame *frame)
{
	struct kvp_call *call = &frame->call;
	u64 id = 0;
	int err;

	if (frame->ref) {
		id = kvp_field64(call, call->op->id);
		kvp_set_field64(call, call->op->id, frame->ref);
	}
	err = call->client->door->write(frame->addr, call->arg,
					min(frame->size, call->op->size));
	if (frame->ref)
		kvp_set_field64(call, call->op->id, id);
	return err;
}

/* ---- checks ---- */

static int kvp_check_client(struct kvp_call *call)
{
	const struct kvp_op_desc *op = call->op;
	struct kvp_pool *pool = call->pool;
	u32 missing;

	if (op->where & KVP_NEEDS_NONE && pool)
		return kvp_fail(call, -EBUSY, KVP_REASON_ATTACHED, 0);
	if (op->where & KVP_NEEDS_POOL) {
		if (!pool)
			return kvp_fail(call, -EBUSY, KVP_REASON_NOT_ATTACHED, 0);
		if (READ_ONCE(pool->destroyed))
			return kvp_fail(call, -EIO, KVP_REASON_DESTROYED, 0);
		missing = op->rights & ~call->client->rights;
		if (missing & KVP_RIGHT_USE)
			return kvp_fail(call, -EACCES, KVP_REASON_RIGHT_USE, 0);
		if (missing & KVP_RIGHT_PUBLISH)
			return kvp_fail(call, -EACCES, KVP_REASON_RIGHT_PUBLISH, 0);
		if (missing)
			return kvp_fail(call, -EACCES, KVP_REASON_RIGHT_ADMIN, 0);
	}
	if (!op->exec)
		return kvp_fail(call, -EOPNOTSUPP, KVP_REASON_DOOR, 0);
	return 0;
}

/* An id that an earlier entry of the batch made takes the place of a KVP_REF. */
static int kvp_resolve_ref(struct kvp_frame *frame)
{
	struct kvp_call *call = &frame->call;
	const struct kvp_made *made = frame->made;
	u64 id, k;

	if (!call->op->id)
		return 0;
	id = kvp_field64(call, call->op->id);
	if (!(id & KVP_REF_FLAG))
		return 0;
	k = id & ~KVP_REF_FLAG;
	if (!made || k >= made->nr)
		return kvp_fail(call, -EINVAL, KVP_REASON_BATCH_REF, (u32)k);
	k = array_index_nospec(k, made->nr);
	if (!made->id[k])
		return kvp_fail(call, -EINVAL, KVP_REASON_BATCH_REF, (u32)k);
	frame->ref = id;
	kvp_set_field64(call, call->op->id, made->id[k]);
	return 0;
}

static int kvp_frame_check(struct kvp_frame *frame)
{
	struct kvp_call *call = &frame->call;
	const struct kvp_op_desc *op = call->op;
	int err;
	u32 i;

	if (call->head->flags & ~op->flags)
		return kvp_fail(call, -EINVAL, KVP_REASON_FLAG, 0);
	for (i = 0; i < ARRAY_SIZE(op->zero) && op->zero[i]; i++)
		if (kvp_field32(call, op->zero[i]))
			return kvp_fail(call, -EINVAL, KVP_REASON_RESERVED, op->zero[i]);
	err = kvp_check_client(call);
	return err ? err : kvp_resolve_ref(frame);
}

/* ---- arrays ---- */

static int kvp_check_array(struct kvp_frame *frame, u32 i)
{
	struct kvp_call *call = &frame->call;
	const struct kvp_array_desc *desc = &call->op->array[i];
	u64 addr = kvp_field64(call, desc->ptr);
	u32 nr = kvp_field32(call, desc->nr);
	u64 len = (u64)nr * desc->elem;
	u64 end;

	if (!nr && !desc->optional)
		return kvp_fail(call, -EINVAL, KVP_REASON_COUNT, desc->nr);
	if (nr > desc->max)
		return kvp_fail(call, -EOVERFLOW, KVP_REASON_COUNT, desc->nr);
	if (nr && (!addr || check_add_overflow(addr, len, &end)))
		return kvp_fail(call, -EFAULT, KVP_REASON_POINTER, desc->ptr);
	if (nr && !IS_ALIGNED(addr, desc->align))
		return kvp_fail(call, -EINVAL, KVP_REASON_ALIGNMENT, desc->ptr);
	frame->array_addr[i] = addr;
	frame->array_len[i] = len;
	return 0;
}

/* Memory of the frame for an array, if there is enough left. */
static void *kvp_array_room(struct kvp_frame *frame, size_t len)
{
	void *room = (u8 *)frame->room + frame->room_used;

	len = ALIGN(len, sizeof(u64));
	if (len > KVP_ARRAY_ROOM - frame->room_used)
		return NULL;
	frame->room_used += len;
	return room;
}

static int kvp_map_array(struct kvp_frame *frame, u32 i)
{
	struct kvp_call *call = &frame->call;
	const struct kvp_array_desc *desc = &call->op->array[i];
	const struct kvp_door *door = call->client->door;
	u64 addr = frame->array_addr[i];
	size_t len = frame->array_len[i];
	void *room = kvp_array_room(frame, len);
	void *mem;

	frame->array_room[i] = room;
	if (!len)
		return 0;
	if (desc->dir == KVP_ARRAY_IN)
		mem = door->array_in(addr, len, room);
	else if (desc->dir == KVP_ARRAY_OUT)
		mem = door->array_out(addr, len, room);
	else
		mem = door->array_inout(addr, len, room);
	if (PTR_ERR_OR_ZERO(mem) == -ENOMEM)
		return kvp_fail(call, -ENOMEM, KVP_REASON_MEMORY, 0);
	if (IS_ERR(mem))
		return kvp_fail(call, PTR_ERR(mem), KVP_REASON_POINTER, desc->ptr);
	call->array[i] = mem;
	return 0;
}

/* End the use of the arrays; those brought to the caller are not here any more. */
static void kvp_unmap_arrays(struct kvp_frame *frame)
{
	struct kvp_call *call = &frame->call;
	u32 i;

	for (i = 0; i < call->op->nr_arrays; i++)
		if (call->array[i])
			call->client->door->array_put(call->array[i], frame->array_room[i],
						      frame->array_addr[i],
						      frame->array_len[i], false);
}

static int kvp_map_arrays(struct kvp_frame *frame)
{
	const struct kvp_op_desc *op = frame->call.op;
	int err = 0;
	u32 i;

	for (i = 0; !err && i < op->nr_arrays; i++)
		err = kvp_check_array(frame, i);
	for (i = 0; !err && i < op->nr_arrays; i++)
		err = kvp_map_array(frame, i);
	if (err)
		kvp_unmap_arrays(frame);
	return err;
}

/* Bring the results to the caller. An array for which that fails is still here. */
static int kvp_bring_arrays(struct kvp_frame *frame)
{
	struct kvp_call *call = &frame->call;
	const struct kvp_array_desc *desc = call->op->array;
	u32 i;

	for (i = 0; i < call->op->nr_arrays; i++) {
		if (!call->array[i] || desc[i].dir == KVP_ARRAY_IN)
			continue;
		if (call->client->door->array_put(call->array[i], frame->array_room[i],
						  frame->array_addr[i], frame->array_len[i],
						  true))
			return kvp_fail(call, -EFAULT, KVP_REASON_POINTER, desc[i].ptr);
		call->array[i] = NULL;
	}
	return 0;
}

/* ---- execution ---- */

static int kvp_frame_exec(struct kvp_frame *frame)
{
	struct kvp_call *call = &frame->call;
	const struct kvp_op_desc *op = call->op;
	int ret;

	if (!(op->where & KVP_NEEDS_POOL) || op->where & KVP_NO_GATE)
		return op->exec(call);
	if (op->where & KVP_STOPS_POOL) {
		down_write(&call->pool->gate);
		ret = op->exec(call);
		up_write(&call->pool->gate);
	} else {
		down_read(&call->pool->gate);
		ret = op->exec(call);
		kvp_pool_tell(call->pool, call->client);
		up_read(&call->pool->gate);
	}
	return ret;
}

/* The caller cannot be told what was created: it must not exist. */
static void kvp_frame_undo(struct kvp_frame *frame)
{
	struct kvp_call *call = &frame->call;

	if (!call->op->undo)
		return;
	if (call->op->where & KVP_NO_GATE) {
		call->op->undo(call);
		return;
	}
	down_read(&call->pool->gate);
	call->op->undo(call);
	kvp_pool_tell(call->pool, call->client);
	up_read(&call->pool->gate);
}

/*
 * The struct goes back first: as long as the arrays are here, a creation can be
 * undone by what it wrote to them.
 */
static int kvp_frame_run(struct kvp_frame *frame)
{
	struct kvp_call *call = &frame->call;
	int ret, err;

	call->head->reason = KVP_REASON_NONE;
	call->head->where = 0;
	ret = kvp_frame_exec(frame);
	err = kvp_frame_write(frame);
	if (err && !ret)
		kvp_fail(call, err, KVP_REASON_POINTER, 0);
	else if (!ret)
		err = kvp_bring_arrays(frame);
	if (err && !ret) {
		kvp_frame_undo(frame);
		kvp_frame_tell(frame);
		ret = err;
	}
	kvp_unmap_arrays(frame);
	if (!ret && frame->made && call->op->made)
		frame->made->id[frame->made->nr] = kvp_field64(call, call->op->made);
	return ret;
}

/**
 * kvp_call_op - one call, alone or as an entry of a batch
 * @client: who calls
 * @nr: its number, enum kvp_op
 * @op: the operation
 * @addr: the caller's struct
 * @len: its size, as far as the door knows it; 0: the struct says it. Of an
 *       entry: what the entry says
 * @made: of the batch, or NULL
 *
 * Return: 0 or a negative errno; the caller's struct says why.
 */
int kvp_call_op(struct kvp_client *client, u32 nr, const struct kvp_op_desc *op, u64 addr,
		u32 len, struct kvp_made *made)
{
	struct kvp_frame frame;
	int err;

	frame.call = (struct kvp_call) {
		.client = client,
		/* Pairs with the release in kvp_client_attach(). */
		.pool = smp_load_acquire(&client->pool),
		.op = op,
		.arg = frame.arg,
	};
	frame.addr = addr;
	frame.size = 0;
	frame.made = made;
	frame.ref = 0;
	frame.room_used = 0;

	err = kvp_frame_read(&frame, len);
	if (!err)
		err = kvp_frame_check(&frame);
	if (!err)
		err = kvp_map_arrays(&frame);
	if (!err)
		err = kvp_frame_run(&frame);
	else
		kvp_frame_tell(&frame);
	trace_kvp_op(client, op->name, nr, err, frame.head.reason, frame.head.where);
	return err;
}

/**
 * kvp_call - one call
 * @client: who calls
 * @nr: enum kvp_op
 * @addr: the caller's struct
 * @len: its size, as far as the door knows it; 0: the struct says it
 *
 * Return: 0 or a negative errno; the caller's struct says why, unless there is
 * no such operation (ENOTTY).
 */
int kvp_call(struct kvp_client *client, u32 nr, u64 addr, u32 len)
{
	const struct kvp_op_desc *op = kvp_op_find(nr);

	return op ? kvp_call_op(client, nr, op, addr, len, NULL) : -ENOTTY;
}

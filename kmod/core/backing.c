// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The descriptors of a pool's backing: added by those who may, given to who attaches, kept
 * until the pool ends. What they are is the door's to know. Under kvp_host.lock; who is
 * charged for them, under kvp_pool.lock.
 */
#include "core.h"

static int kvp_backing_failed(struct kvp_call *call, int err)
{
	switch (err) {
	case -EKEYREJECTED:
		return kvp_fail(call, err, KVP_REASON_SEAL, 0);
	case -EINVAL:
		return kvp_fail(call, err, KVP_REASON_VALUE,
				offsetof(struct kvp_backing, length));
	case -EOPNOTSUPP:
		return kvp_fail(call, err, KVP_REASON_DOOR, 0);
	case -ENOMEM:
		return kvp_fail(call, err, KVP_REASON_MEMORY, 0);
	default:
		return kvp_fail(call, err, KVP_REASON_NONE, 0);
	}
}

/* Takes the object's custody if it succeeds. */
static int kvp_backing_enter(struct kvp_call *call, void *object)
{
	struct kvp_backing *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	int err;

	down_read(&pool->gate);
	mutex_lock(&pool->host->lock);
	kvp_lock(pool);
	err = kvp_check_more_locked(call, KVP_BACKINGS, 1);
	if (!err && pool->nr_backings == KVP_MAX_BACKINGS)
		err = kvp_fail(call, -EOVERFLOW, KVP_REASON_COUNT, 0);
	if (!err) {
		kvp_more_locked(call->client->account, KVP_BACKINGS, 1);
		arg->index = pool->nr_backings++;
		pool->backing[arg->index] = (struct kvp_backing_object) {
			.object = object,
			.kind = arg->kind,
			.uid = call->client->cred.uid,
			.client = call->client->account->client,
			.length = arg->length,
			.label = arg->label,
		};
	}
	kvp_unlock(pool);
	mutex_unlock(&pool->host->lock);
	up_read(&pool->gate);
	return err;
}

/**
 * kvp_op_backing_add - KVP_OP_BACKING_ADD
 * @call: the call
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_backing_add(struct kvp_call *call)
{
	const struct kvp_door *door = call->pool->door;
	struct kvp_backing *arg = call->arg;
	void *object;
	int err;

	arg->index = 0;
	if (!door->backing_take)
		return kvp_fail(call, -EOPNOTSUPP, KVP_REASON_DOOR, 0);
	if (arg->kind < KVP_BACKING_MEMFD || arg->kind > KVP_BACKING_DEVICE)
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE,
				offsetof(struct kvp_backing, kind));
	if (!arg->length)
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE,
				offsetof(struct kvp_backing, length));
	object = door->backing_take(arg->fd, arg->kind, arg->length);
	if (IS_ERR(object))
		return kvp_backing_failed(call, PTR_ERR(object));
	err = kvp_backing_enter(call, object);
	if (err)
		door->backing_drop(object);
	return err;
}

/**
 * kvp_op_backing_get - KVP_OP_BACKING_GET
 * @call: the call
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_backing_get(struct kvp_call *call)
{
	struct kvp_backing *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	const struct kvp_backing_object *backing;
	u32 nr;
	s32 fd;

	arg->fd = -1;
	if (!pool->door->backing_give)
		return kvp_fail(call, -EOPNOTSUPP, KVP_REASON_DOOR, 0);
	mutex_lock(&pool->host->lock);
	nr = pool->nr_backings;
	mutex_unlock(&pool->host->lock);
	if (arg->index >= nr)
		return kvp_fail(call, -ENOENT, KVP_REASON_NO_BACKING, 0);

	/* What was added stays as it is until the pool ends. */
	backing = &pool->backing[array_index_nospec(arg->index, nr)];
	fd = pool->door->backing_give(backing->object);
	if (fd < 0)
		return kvp_backing_failed(call, fd);
	arg->fd = fd;
	arg->kind = backing->kind;
	arg->length = backing->length;
	arg->label = backing->label;
	return 0;
}

/**
 * kvp_undo_backing_get - the caller never learned of the descriptor
 * @call: as executed
 */
void kvp_undo_backing_get(struct kvp_call *call)
{
	const struct kvp_backing *arg = call->arg;

	call->pool->door->fd_undo(arg->fd);
}

// SPDX-License-Identifier: MIT
/*
 * Pools: open, make, leave, end, list. Owns struct kvp_pool, which nobody changes between open
 * and close.
 *
 * A pool is made staged: nobody else sees it before its bytes are there, and if its maker dies or
 * fails it is gone. Who opens it meanwhile waits for it. Several may open the same name at
 * once, each ready to make it: one does, and the others find it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

/* How long to wait for a maker, and how often to ask. */
#define STAGED_WAIT_MS	10000
#define STAGED_FIRST_MS	1
#define STAGED_LAST_MS	128

/* Opens that lose to others who make and end pools of that name, until that is an error. */
#define OPEN_ROUNDS	8

int kvp_pool_failed(const struct kvp_pool *pool, uint32_t op, int err,
		    const struct kvp_head *head)
{
	if (pool->door->inherited(pool->conn))
		return kvp_error_set(err, KVP_REASON_NONE, 0,
				     "pool %s was opened before fork(): expected one that this process opened",
				     pool->name);
	return kvp_error_call(err, op, head);
}

/* The same of an operation that names its pool: who reads of it wants to see the name. */
static int named_failed(const struct kvp_pool *pool, uint32_t op, int err,
			const struct kvp_head *head)
{
	if (head->reason != KVP_REASON_NAME && head->reason != KVP_REASON_NO_POOL &&
	    head->reason != KVP_REASON_POOL_IN_USE)
		return kvp_pool_failed(pool, op, err, head);
	return kvp_error_set(err, head->reason, head->where, "pool \"%s\": %s: %s", pool->name,
			     strerrorname_np(-err),
			     kvp_strerror(err, err == -EEXIST ? KVP_REASON_NONE : head->reason));
}

/* ---- opening, under the door's lock ---- */

static void pool_close(struct kvp_pool *pool)
{
	if (!pool->door->inherited(pool->conn)) {
		kvp_bytes_unmap(pool);
		kvp_step_values_exit(pool);
	}
	pool->door->disconnect(pool->conn);
	kvp_geometry_drop(pool);
	free(pool);
}

/* A client that has no pool; @what: what it is for. */
static int pool_connect_for(const struct kvp_door_ops *door, const char *what,
			    struct kvp_pool **result)
{
	struct kvp_pool *pool = calloc(1, sizeof(*pool));
	int err;

	if (!pool)
		return kvp_error_set(-ENOMEM, KVP_REASON_MEMORY, 0, "%s: no memory for a client",
				     what);
	err = door->connect(what, &pool->conn);
	if (err) {
		free(pool);
		return err;
	}
	pool->door = door;
	kvp_step_values_init(pool);
	*result = pool;
	return 0;
}

/* One that has no pool yet, but the name of one. */
static int pool_connect(const struct kvp_door_ops *door, const char *name,
			struct kvp_pool **result)
{
	char what[KVP_NAME_LEN + 8];
	int err;

	snprintf(what, sizeof(what), "pool %s", name);
	err = pool_connect_for(door, what, result);
	if (!err)
		snprintf((*result)->name, sizeof((*result)->name), "%s", name);
	return err;
}

/* One that is going to have a pool, and that ends with this process. */
static int pool_connect_own(const struct kvp_door_ops *door, const char *name,
			    struct kvp_pool **result)
{
	struct kvp_pool *pool;
	int err;

	err = pool_connect(door, name, &pool);
	if (err)
		return err;
	err = door->own(pool->conn);
	if (err) {
		kvp_error_set(err, KVP_REASON_DOOR, 0,
			      "pool %s: cannot map the page that ties the client to this process: %s",
			      name, strerrordesc_np(-err));
		pool_close(pool);
		return err;
	}
	*result = pool;
	return 0;
}

/* Learn what the pool is that the client has just got. */
static int pool_learn(struct kvp_pool *pool)
{
	struct kvp_pool_info info = {
		.families = kvp_addr(pool->family),
		.nr_families = KVP_MAX_FAMILIES,
	};
	uint32_t i;
	int err;

	err = kvp_do(pool, KVP_OP_POOL_INFO, &info);
	if (err)
		return err;
	pool->nr_families = info.nr_families;
	pool->index_tokens = info.index_tokens;
	pool->rights = info.rights;
	pool->mode = info.mode;
	pool->flags = info.pool_flags;
	pool->nr_backings = info.nr_backings;
	pool->grace_ms = info.grace_ms;
	for (i = 0; i < pool->nr_families; i++) {
		if (pool->family[i].kind == KVP_FAMILY_STATE)
			pool->max_copies++;
		else
			pool->max_copies += pool->index_tokens / pool->family[i].block_tokens;
	}
	return 0;
}

/* @optional: that there is no such pool is no error of the caller's, and is not noted. */
static int pool_attach(const struct kvp_door_ops *door, const char *name, uint32_t rights,
		       bool optional, struct kvp_pool **result)
{
	struct kvp_pool_attach attach = { .wanted = rights };
	struct kvp_pool *pool;
	int err;

	err = pool_connect_own(door, name, &pool);
	if (err)
		return err;
	memcpy(attach.name, pool->name, sizeof(attach.name));
	err = kvp_try(pool, KVP_OP_POOL_ATTACH, &attach);
	if (err && !(err == -ENOENT && optional))
		named_failed(pool, KVP_OP_POOL_ATTACH, err, &attach.head);
	if (!err)
		err = pool_learn(pool);
	if (!err && (pool->rights & KVP_RIGHT_USE))
		err = kvp_bytes_attach(pool);
	if (err)
		pool_close(pool);
	else
		*result = pool;
	return err;
}

static int pool_create(const struct kvp_door_ops *door, const char *name,
		       const struct kvp_pool_config *config,
		       const struct kvp_family_desc *families, struct kvp_pool **result)
{
	struct kvp_pool_create create = {
		.head.flags = config->flags | KVP_POOL_STAGED,
		.families = kvp_addr(families),
		.nr_families = (uint32_t)config->nr_families,
		.index_tokens = config->index_tokens,
		.mode = config->mode ? config->mode : 0600,
		.policy = config->policy,
		.nodes = config->nodes,
		.extras = config->extras,
		.grace_ms = config->grace_ms,
	};
	struct kvp_pool *pool;
	int err;

	err = pool_connect_own(door, name, &pool);
	if (err)
		return err;
	memcpy(create.name, pool->name, sizeof(create.name));
	err = kvp_try(pool, KVP_OP_POOL_CREATE, &create);
	if (err && !kvp_config_failed(pool, err, &create, families))
		named_failed(pool, KVP_OP_POOL_CREATE, err, &create.head);
	if (!err)
		err = pool_learn(pool);
	if (!err)
		err = kvp_bytes_create(pool);
	if (!err && !(config->flags & KVP_POOL_STAGED))
		err = kvp_pool_ready(pool);
	if (err)
		pool_close(pool);	/* and a pool that is staged with it */
	else
		*result = pool;
	return err;
}

/* Make the pool and, where fewer rights are wanted than its maker has, come in again. */
static int pool_create_as(const struct kvp_door_ops *door, const struct kvp_uri *uri,
			  const struct kvp_family_desc *families, struct kvp_pool **result)
{
	struct kvp_pool *maker;
	int err;

	err = pool_create(door, uri->name, &uri->config, families, &maker);
	if (err)
		return err;
	if (!uri->rights || uri->rights == maker->rights) {
		*result = maker;
		return 0;
	}
	err = pool_attach(door, uri->name, uri->rights, false, result);
	pool_close(maker);
	return err;
}

/* Attach to the pool, or make it. */
static int pool_find(const struct kvp_door_ops *door, const struct kvp_uri *uri,
		     const struct kvp_family_desc *families, struct kvp_pool **result)
{
	int round, err = 0;

	for (round = 0; round < OPEN_ROUNDS; round++) {
		err = pool_attach(door, uri->name, uri->rights, true, result);
		if (!err) {
			err = kvp_config_compare(*result, uri, families);
			if (err)
				pool_close(*result);
			return err;
		}
		if (err != -ENOENT)
			return err;
		err = pool_create_as(door, uri, families, result);
		/* Somebody was faster: made it, or ended it before its maker came in again. */
		if (err != -EEXIST && err != -ENOENT)
			return err;
	}
	return kvp_error_set(err, KVP_REASON_NAME, 0,
			     "pool \"%s\": there is one of that name, and none that these credentials may use",
			     uri->name);
}

static int pool_open(const struct kvp_door_ops *door, const struct kvp_uri *uri,
		     const struct kvp_family_desc *families, struct kvp_pool **result)
{
	struct kvp_pool *pool;
	int err;

	door->lock();
	if (uri->config.nr_families)
		err = pool_find(door, uri, families, &pool);
	else
		err = pool_attach(door, uri->name, uri->rights, false, &pool);
	door->unlock();
	if (!err)
		*result = pool;
	return err;
}

/* ---- opening ---- */

static void sleep_ms(uint32_t ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

int kvp_pool_open(const char *uri, struct kvp_pool **pool)
{
	struct kvp_family_desc families[KVP_MAX_FAMILIES];
	uint32_t waited = 0, step = STAGED_FIRST_MS;
	const struct kvp_door_ops *door;
	struct kvp_uri parsed;
	int err;

	if (!pool)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "pool: no place for the result: expected a pointer");
	err = kvp_uri_parse(uri, &parsed);
	if (!err && parsed.config.nr_families)
		err = kvp_config_describe(parsed.name, &parsed.config, families);
	if (!err)
		err = kvp_key_selftest();
	if (!err)
		err = kvp_door_find(parsed.door, &door);
	if (err)
		return err;
	for (;;) {
		err = pool_open(door, &parsed, families, pool);
		if (err != -EBUSY || kvp_error()->reason != KVP_REASON_STAGED)
			return err;
		if (waited >= STAGED_WAIT_MS)
			break;
		sleep_ms(step);
		waited += step;
		step = step < STAGED_LAST_MS ? step * 2 : step;
	}
	return kvp_error_set(-EBUSY, KVP_REASON_STAGED, 0,
			     "pool %s is being made, and its maker has not said in %u s that it is ready: expected it to be by now",
			     parsed.name, STAGED_WAIT_MS / 1000);
}

int kvp_pool_create(const char *name, const struct kvp_pool_config *config,
		    struct kvp_pool **pool)
{
	struct kvp_family_desc families[KVP_MAX_FAMILIES];
	const struct kvp_door_ops *door;
	struct kvp_uri parsed;
	int err;

	if (!pool)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "pool: no place for the result: expected a pointer");
	err = kvp_uri_name(name, &parsed);
	if (!err)
		err = kvp_config_describe(parsed.name, config, families);
	if (!err)
		err = kvp_key_selftest();
	if (!err)
		err = kvp_door_find(parsed.door, &door);
	if (err)
		return err;
	door->lock();
	err = pool_create(door, parsed.name, config, families, pool);
	door->unlock();
	return err;
}

int kvp_pool_ready(struct kvp_pool *pool)
{
	struct kvp_pool_ready ready = { 0 };

	return kvp_do(pool, KVP_OP_POOL_READY, &ready);
}

/* ---- the end ---- */

void kvp_pool_close(struct kvp_pool *pool)
{
	if (pool)
		pool_close(pool);
}

static int pool_end(struct kvp_pool *client, struct kvp_pool_destroy *destroy)
{
	int err = kvp_try(client, KVP_OP_POOL_DESTROY, destroy);

	return err ? named_failed(client, KVP_OP_POOL_DESTROY, err, &destroy->head) : 0;
}

int kvp_pool_destroy(struct kvp_pool *pool, uint32_t flags)
{
	struct kvp_pool_info info = { 0 };
	struct kvp_pool_destroy destroy = { .head.flags = flags };
	int err;

	memcpy(destroy.name, pool->name, sizeof(destroy.name));
	pool->door->lock();
	/* Ended already? Its name may be another pool's by now, which its id is not. */
	err = kvp_do(pool, KVP_OP_POOL_INFO, &info);
	destroy.pool = info.pool;
	if (!err)
		err = pool_end(pool, &destroy);
	pool->door->unlock();
	return err;
}

int kvp_pool_destroy_name(const char *name, uint32_t flags)
{
	struct kvp_pool_destroy destroy = { .head.flags = flags };
	const struct kvp_door_ops *door;
	struct kvp_pool *nobody;
	struct kvp_uri parsed;
	int err;

	err = kvp_uri_name(name, &parsed);
	if (!err)
		err = kvp_door_find(parsed.door, &door);
	if (err)
		return err;
	memcpy(destroy.name, parsed.name, sizeof(destroy.name));
	door->lock();
	err = pool_connect(door, parsed.name, &nobody);
	if (!err) {
		err = pool_end(nobody, &destroy);
		pool_close(nobody);
	}
	door->unlock();
	return err;
}

int kvp_pool_list(enum kvp_door_kind kind, struct kvp_pool_entry *pools, uint32_t *nr,
		  uint32_t *total)
{
	struct kvp_pool_list list = { .pools = kvp_addr(pools) };
	const struct kvp_door_ops *door;
	struct kvp_pool *nobody;
	int err;

	if (!nr)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "pool_list: nr is NULL");
	err = kvp_door_find(kind, &door);
	if (err)
		return err;
	list.nr_pools = *nr;
	door->lock();
	err = pool_connect_for(door, "list of pools", &nobody);
	if (!err) {
		err = kvp_do(nobody, KVP_OP_POOL_LIST, &list);
		pool_close(nobody);
	}
	door->unlock();
	if (err)
		return err;
	*nr = list.nr_pools;
	if (total)
		*total = list.total;
	return 0;
}

/* ---- any operation ---- */

int kvp_arg_check(const char *what, const void *arg, uint32_t size)
{
	if (!arg)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "%s: arg is NULL", what);
	if (size < sizeof(struct kvp_head))
		return kvp_error_set(-EINVAL, KVP_REASON_SIZE, 0,
				     "%s: struct of %u bytes: expected at least %zu", what,
				     size, sizeof(struct kvp_head));
	if (kvp_addr(arg) % sizeof(uint64_t))
		return kvp_error_set(-EINVAL, KVP_REASON_ALIGNMENT, 0,
				     "%s: struct at 0x%llx: expected a multiple of %zu", what,
				     (unsigned long long)kvp_addr(arg), sizeof(uint64_t));
	return 0;
}

int kvp_pool_call(struct kvp_pool *pool, enum kvp_op op, void *arg, uint32_t size)
{
	int err = kvp_arg_check("call", arg, size);

	return err ? err : kvp_pool_op(pool, op, arg, size);
}

// SPDX-License-Identifier: MIT
/*
 * What a pool is, and what its door gives beside calls: descriptions, descriptors, pages. Owns
 * nothing and takes no lock.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

uint32_t kvp_pool_index_tokens(const struct kvp_pool *pool)
{
	return pool->index_tokens;
}

uint32_t kvp_pool_nr_families(const struct kvp_pool *pool)
{
	return pool->nr_families;
}

uint32_t kvp_pool_rights(const struct kvp_pool *pool)
{
	return pool->rights;
}

const struct kvp_family_desc *kvp_pool_family(const struct kvp_pool *pool, uint32_t family)
{
	return family < pool->nr_families ? &pool->family[family] : NULL;
}

const char *kvp_pool_name(const struct kvp_pool *pool)
{
	return pool->name;
}

uint32_t kvp_pool_max_copies(const struct kvp_pool *pool)
{
	return pool->max_copies;
}

int kvp_pool_find_family(const struct kvp_pool *pool, const char *name, uint32_t *family)
{
	uint32_t i;

	if (!name || !family)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "find_family: %s is NULL",
				     name ? "family" : "name");
	for (i = 0; i < pool->nr_families; i++) {
		if (!strcmp(pool->family[i].name, name)) {
			*family = i;
			return 0;
		}
	}
	return kvp_error_set(-ENOENT, KVP_REASON_FAMILY, 0,
			     "find_family: pool %s has no family \"%.40s\"", pool->name, name);
}

int kvp_pool_abi(struct kvp_pool *pool, struct kvp_abi *abi)
{
	struct kvp_abi arg = { 0 };
	int err;

	if (!abi)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "abi: abi is NULL");
	err = kvp_do(pool, KVP_OP_ABI, &arg);
	if (!err)
		*abi = arg;
	return err;
}

int kvp_pool_get_info(struct kvp_pool *pool, struct kvp_pool_info *info)
{
	struct kvp_pool_info arg = { 0 };
	int err;

	if (!info)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "pool_info: info is NULL");
	err = kvp_do(pool, KVP_OP_POOL_INFO, &arg);
	if (!err)
		*info = arg;
	return err;
}

static void describe_again(const struct kvp_family_desc *desc,
			   struct kvp_family_config *config)
{
	*config = (struct kvp_family_config){
		.name = desc->name,
		.kind = desc->kind,
		.block_tokens = desc->block_tokens,
		.blocks = desc->blocks,
		.row_bytes = desc->block_bytes / desc->block_tokens,
		.window = desc->window,
		.dtype = desc->dtype,
	};
}

int kvp_pool_describe(struct kvp_pool *pool, struct kvp_pool_config *config,
		      struct kvp_family_config *families, size_t nr)
{
	struct kvp_pool_info info;
	struct kvp_stats stats;
	uint32_t i;
	int err;

	if (!config || !families)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "describe: %s is NULL",
				     config ? "families" : "config");
	if (nr < pool->nr_families)
		return kvp_error_set(-EOVERFLOW, KVP_REASON_COUNT, pool->nr_families,
				     "describe: pool %s: room for %zu families: expected %u",
				     pool->name, nr, pool->nr_families);
	err = kvp_pool_get_info(pool, &info);
	if (!err)
		err = kvp_pool_stats(pool, 0, &stats, NULL, 0);
	if (err)
		return err;
	for (i = 0; i < pool->nr_families; i++)
		describe_again(&pool->family[i], &families[i]);
	*config = (struct kvp_pool_config){
		.families = families,
		.nr_families = pool->nr_families,
		.index_tokens = info.index_tokens,
		.mode = info.mode,
		.flags = info.pool_flags,
		.policy = info.policy,
		.nodes = info.nodes,
		.extras = stats.extras,
		.grace_ms = info.grace_ms,
	};
	return 0;
}

/* ---- backings ---- */

int kvp_backing_add_kind(struct kvp_pool *pool, uint32_t kind, int fd, uint64_t length,
			 uint64_t label, uint32_t *index)
{
	struct kvp_backing arg = {
		.fd = fd,
		.kind = kind,
		.length = length,
		.label = label,
	};
	int err;

	err = kvp_do(pool, KVP_OP_BACKING_ADD, &arg);
	if (!err && index)
		*index = arg.index;
	return err;
}

int kvp_backing_add(struct kvp_pool *pool, int fd, uint64_t length, uint64_t label,
		    uint32_t *index)
{
	return kvp_backing_add_kind(pool, KVP_BACKING_MEMFD, fd, length, label, index);
}

int kvp_backing_get(struct kvp_pool *pool, uint32_t index, struct kvp_backing *backing)
{
	struct kvp_backing arg = { .index = index };
	int err;

	if (!backing)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "backing_get: backing is NULL");
	err = kvp_do(pool, KVP_OP_BACKING_GET, &arg);
	if (!err)
		*backing = arg;
	return err;
}

/* ---- what the door gives ---- */

enum kvp_door_kind kvp_pool_door(const struct kvp_pool *pool)
{
	return pool->door == &kvp_inproc_ops ? KVP_DOOR_INPROC : KVP_DOOR_DEVICE;
}

int kvp_door_failed(const struct kvp_pool *pool, int err, const char *what)
{
	if (pool->door->inherited(pool->conn))
		return kvp_pool_failed(pool, KVP_OP_ABI, err, NULL);
	if (err == -EOPNOTSUPP)
		return kvp_error_set(err, KVP_REASON_DOOR, 0,
				     "pool %s: %s: expected a pool of the device, dev:NAME",
				     pool->name, what);
	return kvp_error_set(err, KVP_REASON_NONE, 0, "pool %s: %s: %s", pool->name, what,
			     strerrordesc_np(-err));
}

int kvp_pool_fd(struct kvp_pool *pool)
{
	int fd = pool->door->fd(pool->conn);

	return fd < 0 ? kvp_door_failed(pool, fd, "there is no descriptor to poll") : fd;
}

int kvp_pool_counters(struct kvp_pool *pool, const struct kvp_counters_page **page)
{
	const struct kvp_counters_page *got;
	int err;

	if (!page)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "counters: page is NULL");
	if (!(pool->rights & KVP_RIGHT_USE))
		return kvp_error_set(-EACCES, KVP_REASON_RIGHT_USE, 0,
				     "pool %s: no page of counters for this client: expected the right 'use'",
				     pool->name);
	err = pool->door->counters(pool->conn, &got);
	if (err)
		return kvp_door_failed(pool, err, "there is no page of counters");
	*page = got;
	return 0;
}

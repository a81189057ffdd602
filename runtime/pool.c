// SPDX-License-Identifier: MIT
/*
 * Pools: open, make, leave, end, watch. Owns struct kvp_pool, which nobody changes between
 * open and close. Opening and making go on under the lock of the door, since a pool can be
 * found by its name before its bytes are there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int kvp_pool_failed(const struct kvp_pool *pool, uint32_t op, int err,
		    const struct kvp_head *head)
{
	if (kvp_inproc_inherited(pool->conn))
		return kvp_error_set(err, KVP_REASON_NONE, 0,
				     "pool %s was opened before fork(): expected one that this process opened",
				     pool->name);
	return kvp_error_call(err, op, head);
}

/* ---- descriptions ---- */

static int describe_family(const char *pool_name, const struct kvp_family_config *config,
			   uint32_t index, struct kvp_family_desc *desc)
{
	size_t name_len = config->name ? strnlen(config->name, KVP_FAMILY_NAME_LEN) : 0;

	if (name_len == KVP_FAMILY_NAME_LEN)
		return kvp_error_set(-EINVAL, KVP_REASON_NAME, index,
				     "pool %s: name of family %u: expected at most %u bytes",
				     pool_name, index, KVP_FAMILY_NAME_LEN - 1);
	if (!config->block_tokens || !config->blocks || !config->row_bytes)
		return kvp_error_set(-EINVAL, KVP_REASON_FAMILY, index,
				     "pool %s: family %u: expected block_tokens, blocks and row_bytes above zero",
				     pool_name, index);
	memset(desc, 0, sizeof(*desc));
	if (name_len)
		memcpy(desc->name, config->name, name_len);
	desc->kind = config->kind;
	desc->block_tokens = config->block_tokens;
	desc->blocks = config->blocks;
	desc->window = config->window;
	if (__builtin_mul_overflow(config->row_bytes, config->block_tokens, &desc->block_bytes))
		return kvp_error_set(-EOVERFLOW, KVP_REASON_FAMILY, index,
				     "pool %s: family %u: %u rows of %llu bytes: expected less than 2^64 bytes a block",
				     pool_name, index, config->block_tokens,
				     (unsigned long long)config->row_bytes);
	return 0;
}

static int describe(const char *pool_name, const struct kvp_pool_config *config,
		    struct kvp_family_desc families[KVP_MAX_FAMILIES])
{
	uint32_t i;
	int err;

	if (!config || !config->families)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "pool %s: %s is NULL",
				     pool_name, config ? "families" : "config");
	if (!config->nr_families || config->nr_families > KVP_MAX_FAMILIES)
		return kvp_error_set(config->nr_families ? -EOVERFLOW : -EINVAL,
				     KVP_REASON_COUNT, 0,
				     "pool %s: %zu families: expected 1 to %u", pool_name,
				     config->nr_families, KVP_MAX_FAMILIES);
	for (i = 0; i < config->nr_families; i++) {
		err = describe_family(pool_name, &config->families[i], i, &families[i]);
		if (err)
			return err;
	}
	return 0;
}

/* An existing pool must be as its opener describes it. */
static int compare_family(const struct kvp_pool *pool, uint32_t index,
			  const struct kvp_family_desc *asked)
{
	const struct kvp_family_desc *has = &pool->family[index];
	const char *what = NULL;

	if (has->kind != asked->kind)
		what = "kind";
	else if (has->block_tokens != asked->block_tokens)
		what = "block_tokens";
	else if (has->blocks != asked->blocks)
		what = "blocks";
	else if (has->block_bytes != asked->block_bytes)
		what = "row_bytes";
	else if (has->window != asked->window)
		what = "window";
	else if (asked->name[0] && strcmp(has->name, asked->name))
		what = "name";
	if (!what)
		return 0;
	return kvp_error_set(-EINVAL, KVP_REASON_FAMILY, index,
			     "pool %s exists, and %s of its family %u differs from what was asked for",
			     pool->name, what, index);
}

static int compare(const struct kvp_pool *pool, const struct kvp_pool_config *config,
		   const struct kvp_family_desc *families)
{
	uint32_t i;
	int err;

	if (pool->nr_families != config->nr_families)
		return kvp_error_set(-EINVAL, KVP_REASON_COUNT, 0,
				     "pool %s exists with %u families, %zu were asked for",
				     pool->name, pool->nr_families, config->nr_families);
	if (config->index_tokens && config->index_tokens != pool->index_tokens)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, 0,
				     "pool %s exists with index_tokens %u, %u was asked for",
				     pool->name, pool->index_tokens, config->index_tokens);
	for (i = 0; i < pool->nr_families; i++) {
		err = compare_family(pool, i, &families[i]);
		if (err)
			return err;
	}
	return 0;
}

/* ---- opening, under the door's lock ---- */

static void pool_close(struct kvp_pool *pool)
{
	if (!kvp_inproc_inherited(pool->conn))
		kvp_bytes_unmap(pool);
	kvp_inproc_disconnect(pool->conn);
	free(pool);
}

/* A client that has no pool yet. */
static int pool_connect(const char *name, struct kvp_pool **result)
{
	struct kvp_pool *pool = calloc(1, sizeof(*pool));
	int err = -ENOMEM;

	if (pool)
		err = kvp_inproc_connect(&pool->conn);
	if (err) {
		free(pool);
		return kvp_error_set(err, KVP_REASON_MEMORY, 0,
				     "pool %s: no memory for a client", name);
	}
	snprintf(pool->name, sizeof(pool->name), "%s", name);
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
	for (i = 0; i < pool->nr_families; i++) {
		if (pool->family[i].kind == KVP_FAMILY_STATE)
			pool->max_copies++;
		else
			pool->max_copies += pool->index_tokens / pool->family[i].block_tokens;
	}
	return 0;
}

static int pool_attach(const char *name, uint32_t rights, struct kvp_pool **result)
{
	struct kvp_pool_attach attach = { .wanted = rights };
	struct kvp_pool *pool;
	int err;

	err = pool_connect(name, &pool);
	if (err)
		return err;
	memcpy(attach.name, pool->name, sizeof(attach.name));
	err = kvp_do(pool, KVP_OP_POOL_ATTACH, &attach);
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

/* Take back a pool whose bytes could not be had; the error noted stays that one. */
static void pool_undo_create(struct kvp_pool *pool)
{
	struct kvp_pool_destroy destroy = { .head.flags = KVP_DESTROY_FORCE };

	memcpy(destroy.name, pool->name, sizeof(destroy.name));
	kvp_try(pool, KVP_OP_POOL_DESTROY, &destroy);
	pool_close(pool);
}

static int pool_create(const char *name, const struct kvp_pool_config *config,
		       const struct kvp_family_desc *families, struct kvp_pool **result)
{
	struct kvp_pool_create create = {
		.head.flags = config->flags,
		.families = kvp_addr(families),
		.nr_families = (uint32_t)config->nr_families,
		.index_tokens = config->index_tokens,
		.mode = config->mode ? config->mode : 0600,
		.policy = KVP_RECLAIM_LRU,
	};
	struct kvp_pool *pool;
	int err;

	err = pool_connect(name, &pool);
	if (err)
		return err;
	memcpy(create.name, pool->name, sizeof(create.name));
	err = kvp_do(pool, KVP_OP_POOL_CREATE, &create);
	if (err) {
		pool_close(pool);
		return err;
	}
	err = pool_learn(pool);
	if (!err)
		err = kvp_bytes_create(pool);
	if (err)
		pool_undo_create(pool);
	else
		*result = pool;
	return err;
}

/* Make the pool and, where fewer rights are wanted than its maker has, come in again. */
static int pool_create_as(const struct kvp_uri *uri, const struct kvp_family_desc *families,
			  struct kvp_pool **result)
{
	struct kvp_pool *maker;
	int err;

	err = pool_create(uri->name, &uri->config, families, &maker);
	if (err)
		return err;
	if (!uri->rights || uri->rights == maker->rights) {
		*result = maker;
		return 0;
	}
	err = pool_attach(uri->name, uri->rights, result);
	pool_close(maker);
	return err;
}

static int pool_open(const struct kvp_uri *uri, struct kvp_pool **result)
{
	struct kvp_family_desc families[KVP_MAX_FAMILIES];
	struct kvp_pool *pool;
	int err;

	if (!uri->config.nr_families)
		return pool_attach(uri->name, uri->rights, result);
	err = describe(uri->name, &uri->config, families);
	if (err)
		return err;
	err = pool_attach(uri->name, uri->rights, &pool);
	if (err == -ENOENT) {
		kvp_error_clear();
		return pool_create_as(uri, families, result);
	}
	if (err)
		return err;
	err = compare(pool, &uri->config, families);
	if (err)
		pool_close(pool);
	else
		*result = pool;
	return err;
}

int kvp_pool_open(const char *uri, struct kvp_pool **pool)
{
	struct kvp_uri parsed;
	int err;

	if (!pool)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "pool: no place for the result: expected a pointer");
	err = kvp_uri_parse(uri, &parsed);
	if (err)
		return err;
	kvp_inproc_lock();
	err = pool_open(&parsed, pool);
	kvp_inproc_unlock();
	return err;
}

int kvp_pool_create(const char *name, const struct kvp_pool_config *config,
		    struct kvp_pool **pool)
{
	struct kvp_family_desc families[KVP_MAX_FAMILIES];
	int err;

	if (!name || !pool)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "pool: %s is NULL",
				     name ? "the place for the result" : "name");
	if (strnlen(name, KVP_NAME_LEN) == KVP_NAME_LEN)
		return kvp_error_set(-EINVAL, KVP_REASON_NAME, 0,
				     "pool: name \"%.40s...\": expected 1 to %u characters",
				     name, KVP_NAME_LEN - 1);
	err = describe(name, config, families);
	if (err)
		return err;
	kvp_inproc_lock();
	err = pool_create(name, config, families, pool);
	kvp_inproc_unlock();
	return err;
}

/* ---- the end ---- */

void kvp_pool_close(struct kvp_pool *pool)
{
	if (pool)
		pool_close(pool);
}

int kvp_pool_destroy(struct kvp_pool *pool, uint32_t flags)
{
	struct kvp_pool_info info = { 0 };
	struct kvp_pool_destroy destroy = { .head.flags = flags };
	int err;

	memcpy(destroy.name, pool->name, sizeof(destroy.name));
	kvp_inproc_lock();
	/* Ended already? Its name may be another pool's by now. */
	err = kvp_do(pool, KVP_OP_POOL_INFO, &info);
	if (!err)
		err = kvp_do(pool, KVP_OP_POOL_DESTROY, &destroy);
	kvp_inproc_unlock();
	return err;
}

/* ---- what a pool is ---- */

int kvp_pool_call(struct kvp_pool *pool, enum kvp_op op, void *arg, uint32_t size)
{
	if (!arg)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "call: arg is NULL");
	if (size < sizeof(struct kvp_head))
		return kvp_error_set(-EINVAL, KVP_REASON_SIZE, 0,
				     "call: struct of %u bytes: expected at least %zu", size,
				     sizeof(struct kvp_head));
	return kvp_pool_op(pool, op, arg, size);
}

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

/* ---- watching ---- */

int kvp_pool_stats(struct kvp_pool *pool, uint64_t client, struct kvp_stats *stats,
		   struct kvp_family_stats *families, uint32_t nr_families)
{
	struct kvp_stats arg = {
		.client = client,
		.families = kvp_addr(families),
		.nr_families = nr_families,
	};
	int err;

	if (!stats)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "stats: stats is NULL");
	err = kvp_do(pool, KVP_OP_STATS, &arg);
	if (!err)
		*stats = arg;
	return err;
}

int kvp_pool_audit(struct kvp_pool *pool, struct kvp_finding *findings, uint32_t nr,
		   uint64_t *total)
{
	struct kvp_audit arg = { .findings = kvp_addr(findings), .nr_findings = nr };
	int err;

	if (!total)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "audit: total is NULL");
	err = kvp_do(pool, KVP_OP_AUDIT, &arg);
	if (!err)
		*total = arg.total;
	return err;
}

int kvp_pool_reclaim(struct kvp_pool *pool, uint64_t *nodes)
{
	struct kvp_prefix_reclaim arg = { 0 };
	int err;

	if (!nodes)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "reclaim: nodes is NULL");
	arg.nodes = *nodes;
	err = kvp_do(pool, KVP_OP_PREFIX_RECLAIM, &arg);
	if (!err)
		*nodes = arg.nodes;
	return err;
}

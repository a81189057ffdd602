// SPDX-License-Identifier: MIT
/*
 * Pools: open, make, leave, end, describe. Owns struct kvp_pool, which nobody changes between
 * open and close. Opening and making go on under the lock of the door, since a pool can be
 * found by its name before its bytes are there.
 */
#include <errno.h>
#include <stddef.h>
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
	desc->dtype = config->dtype;
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

static int compare_word(const struct kvp_pool *pool, uint32_t index, const char *what,
			const char *has, const char *asked)
{
	if (!strcmp(has, asked))
		return 0;
	return kvp_error_set(-EINVAL, KVP_REASON_FAMILY, index,
			     "pool %s exists, and %s of its family %u differs: it is %s, %s was asked for",
			     pool->name, what, index, has, asked);
}

static int compare_number(const struct kvp_pool *pool, uint32_t index, const char *what,
			  uint64_t has, uint64_t asked)
{
	char has_text[24], asked_text[24];

	snprintf(has_text, sizeof(has_text), "%llu", (unsigned long long)has);
	snprintf(asked_text, sizeof(asked_text), "%llu", (unsigned long long)asked);
	return compare_word(pool, index, what, has_text, asked_text);
}

static const char *kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[KVP_FAMILY_DENSE] = "dense",
		[KVP_FAMILY_WINDOW] = "window",
		[KVP_FAMILY_STATE] = "state",
	};

	return kind && kind < KVP_ARRAY_SIZE(names) ? names[kind] : "unknown";
}

/* An existing pool must be as its opener describes it. */
static int compare_family(const struct kvp_pool *pool, uint32_t index,
			  const struct kvp_family_desc *asked)
{
	const struct kvp_family_desc *has = &pool->family[index];
	int err;

	err = compare_word(pool, index, "kind", kind_name(has->kind), kind_name(asked->kind));
	if (!err)
		err = compare_number(pool, index, "block_tokens", has->block_tokens,
				     asked->block_tokens);
	if (!err)
		err = compare_number(pool, index, "blocks", has->blocks, asked->blocks);
	if (!err)
		err = compare_number(pool, index, "row_bytes",
				     has->block_bytes / has->block_tokens,
				     asked->block_bytes / asked->block_tokens);
	if (!err)
		err = compare_number(pool, index, "window", has->window, asked->window);
	if (!err && asked->dtype)
		err = compare_word(pool, index, "dtype", kvp_dtype_name(has->dtype),
				   kvp_dtype_name(asked->dtype));
	if (!err && asked->name[0])
		err = compare_word(pool, index, "name", has->name, asked->name);
	return err;
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
	kvp_geometry_drop(pool);
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

/* @optional: that there is no such pool is no error of the caller's, and is not noted. */
static int pool_attach(const char *name, uint32_t rights, bool optional,
		       struct kvp_pool **result)
{
	struct kvp_pool_attach attach = { .wanted = rights };
	struct kvp_pool *pool;
	int err;

	err = pool_connect(name, &pool);
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

/* Take back a pool whose bytes could not be had; the error noted stays that one. */
static void pool_undo_create(struct kvp_pool *pool)
{
	struct kvp_pool_destroy destroy = { .head.flags = KVP_DESTROY_FORCE };

	memcpy(destroy.name, pool->name, sizeof(destroy.name));
	kvp_try(pool, KVP_OP_POOL_DESTROY, &destroy);
	pool_close(pool);
}

/* A family that the core refused, in words. */
static int family_failed(const struct kvp_pool *pool, int err, uint32_t index,
			 const struct kvp_family_desc *desc)
{
	return kvp_error_set(err, KVP_REASON_FAMILY, index,
			     "pool %s: family %u: kind %u, block_tokens %u, window %u, dtype %u: expected a known kind and dtype, block_tokens of 1 to %u (state: 1), a window where the kind is window",
			     pool->name, index, desc->kind, desc->block_tokens, desc->window,
			     desc->dtype, KVP_MAX_BLOCK_TOKENS);
}

/* The core says by its place in the struct which number it refused: here it has a name. */
static int create_failed(const struct kvp_pool *pool, int err,
			 const struct kvp_pool_create *arg,
			 const struct kvp_family_desc *families)
{
	const struct {
		size_t at;
		const char *name;
		uint64_t value;
		const char *expected;
	} numbers[] = {
		{ offsetof(struct kvp_pool_create, index_tokens), "index_tokens",
		  arg->index_tokens,
		  "a multiple of each block_tokens, up to 2^20, in up to 255 blocks" },
		{ offsetof(struct kvp_pool_create, mode), "mode", arg->mode,
		  "permission bits, up to 0777" },
		{ offsetof(struct kvp_pool_create, policy), "policy", arg->policy,
		  "KVP_RECLAIM_LRU" },
		{ offsetof(struct kvp_pool_create, nodes), "nodes", arg->nodes,
		  "up to 2^20, or to four times the blocks" },
		{ offsetof(struct kvp_pool_create, extras), "extras", arg->extras, "fewer" },
	};
	const struct kvp_head *head = &arg->head;
	size_t i;

	if (head->reason == KVP_REASON_FAMILY && head->where < arg->nr_families)
		return family_failed(pool, err, head->where, &families[head->where]);
	if (head->reason == KVP_REASON_COUNT && head->where < arg->nr_families)
		return kvp_error_set(err, KVP_REASON_COUNT, head->where,
				     "pool %s: family %u: %llu blocks of %llu bytes: expected up to 2^24 blocks, and of all families less than 2^63 bytes and no more metadata than can be",
				     pool->name, head->where,
				     (unsigned long long)families[head->where].blocks,
				     (unsigned long long)families[head->where].block_bytes);
	for (i = 0; i < KVP_ARRAY_SIZE(numbers); i++) {
		if (numbers[i].at != head->where ||
		    (head->reason != KVP_REASON_VALUE && head->reason != KVP_REASON_COUNT))
			continue;
		return kvp_error_set(err, head->reason, head->where,
				     "pool %s: %s %llu: expected %s", pool->name,
				     numbers[i].name, (unsigned long long)numbers[i].value,
				     numbers[i].expected);
	}
	return named_failed(pool, KVP_OP_POOL_CREATE, err, head);
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
		.policy = config->policy,
		.nodes = config->nodes,
		.extras = config->extras,
	};
	struct kvp_pool *pool;
	int err;

	err = pool_connect(name, &pool);
	if (err)
		return err;
	memcpy(create.name, pool->name, sizeof(create.name));
	err = kvp_try(pool, KVP_OP_POOL_CREATE, &create);
	if (err) {
		create_failed(pool, err, &create, families);
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
	err = pool_attach(uri->name, uri->rights, false, result);
	pool_close(maker);
	return err;
}

static int pool_open(const struct kvp_uri *uri, struct kvp_pool **result)
{
	struct kvp_family_desc families[KVP_MAX_FAMILIES];
	struct kvp_pool *pool;
	int err;

	if (!uri->config.nr_families)
		return pool_attach(uri->name, uri->rights, false, result);
	err = describe(uri->name, &uri->config, families);
	if (err)
		return err;
	err = pool_attach(uri->name, uri->rights, true, &pool);
	if (err == -ENOENT)
		return pool_create_as(uri, families, result);
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
	if (!err)
		err = kvp_key_selftest();
	if (err)
		return err;
	kvp_inproc_lock();
	err = pool_open(&parsed, pool);
	kvp_inproc_unlock();
	return err;
}

/* A name that fits into a call; what characters it may have is the core's to say. */
static int check_name(const char *name)
{
	if (!name)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "pool: name is NULL");
	if (strnlen(name, KVP_NAME_LEN) == KVP_NAME_LEN)
		return kvp_error_set(-EINVAL, KVP_REASON_NAME, 0,
				     "pool: name \"%.40s...\": expected 1 to %u characters",
				     name, KVP_NAME_LEN - 1);
	return 0;
}

int kvp_pool_create(const char *name, const struct kvp_pool_config *config,
		    struct kvp_pool **pool)
{
	struct kvp_family_desc families[KVP_MAX_FAMILIES];
	int err;

	if (!pool)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "pool: no place for the result: expected a pointer");
	err = check_name(name);
	if (err)
		return err;
	err = describe(name, config, families);
	if (!err)
		err = kvp_key_selftest();
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
	kvp_inproc_lock();
	/* Ended already? Its name may be another pool's by now. */
	err = kvp_do(pool, KVP_OP_POOL_INFO, &info);
	if (!err)
		err = pool_end(pool, &destroy);
	kvp_inproc_unlock();
	return err;
}

int kvp_pool_destroy_name(const char *name, uint32_t flags)
{
	struct kvp_pool_destroy destroy = { .head.flags = flags };
	struct kvp_pool *nobody;
	int err;

	err = check_name(name);
	if (err)
		return err;
	memcpy(destroy.name, name, strlen(name));
	kvp_inproc_lock();
	err = pool_connect(name, &nobody);
	if (!err) {
		err = pool_end(nobody, &destroy);
		pool_close(nobody);
	}
	kvp_inproc_unlock();
	return err;
}

int kvp_pool_list(struct kvp_pool_entry *pools, uint32_t *nr, uint32_t *total)
{
	struct kvp_pool_list list = { .pools = kvp_addr(pools) };
	struct kvp_pool *nobody;
	int err;

	if (!nr)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "pool_list: nr is NULL");
	list.nr_pools = *nr;
	kvp_inproc_lock();
	err = pool_connect("list", &nobody);
	if (!err) {
		err = kvp_do(nobody, KVP_OP_POOL_LIST, &list);
		pool_close(nobody);
	}
	kvp_inproc_unlock();
	if (err)
		return err;
	*nr = list.nr_pools;
	if (total)
		*total = list.total;
	return 0;
}

/* ---- what a pool is ---- */

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
	};
	return 0;
}

int kvp_backing_add(struct kvp_pool *pool, int fd, uint64_t length, uint64_t label,
		    uint32_t *index)
{
	struct kvp_backing arg = {
		.fd = fd,
		.kind = KVP_BACKING_MEMFD,
		.length = length,
		.label = label,
	};
	int err;

	err = kvp_do(pool, KVP_OP_BACKING_ADD, &arg);
	if (!err && index)
		*index = arg.index;
	return err;
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

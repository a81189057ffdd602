// SPDX-License-Identifier: MIT
/*
 * Descriptions of pools: from a config to what the core is told, what differs from a pool that is
 * there, and what the core refused, in the config's words. Owns nothing.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

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

int kvp_config_describe(const char *pool_name, const struct kvp_pool_config *config,
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

/* What is said of the pool as a whole. */
static int compare_pool(const struct kvp_pool *pool, const struct kvp_uri *uri)
{
	uint32_t all = (pool->flags ^ uri->config.flags) & uri->flags_said;
	uint32_t differ = all & -all;	/* one of them, to speak of */
	const struct kvp_pool_config *config = &uri->config;

	if (pool->nr_families != config->nr_families)
		return kvp_error_set(-EINVAL, KVP_REASON_COUNT, 0,
				     "pool %s exists with %u families, %zu were asked for",
				     pool->name, pool->nr_families, config->nr_families);
	if (config->index_tokens && config->index_tokens != pool->index_tokens)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, 0,
				     "pool %s exists with index_tokens %u, %u was asked for",
				     pool->name, pool->index_tokens, config->index_tokens);
	if (config->mode && config->mode != pool->mode)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, 0,
				     "pool %s exists with mode %04o, %04o was asked for",
				     pool->name, pool->mode, config->mode);
	if (differ)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, 0,
				     "pool %s exists and is %s%s: the opposite was asked for",
				     pool->name, pool->flags & differ ? "" : "not ",
				     differ == KVP_POOL_STRICT ? "strict" : "persistent");
	if (config->grace_ms && config->grace_ms != pool->grace_ms)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, 0,
				     "pool %s exists with a grace time of %u ms%s, %u ms was asked for",
				     pool->name, pool->grace_ms,
				     pool->flags & KVP_POOL_STRICT ? " (it is strict)" : "",
				     config->grace_ms);
	return 0;
}

int kvp_config_compare(const struct kvp_pool *pool, const struct kvp_uri *uri,
		       const struct kvp_family_desc *families)
{
	uint32_t i;
	int err;

	err = compare_pool(pool, uri);
	for (i = 0; !err && i < pool->nr_families; i++)
		err = compare_family(pool, i, &families[i]);
	return err;
}

/* A family that the core refused, in words. */
static void family_failed(const struct kvp_pool *pool, int err, uint32_t index,
			  const struct kvp_family_desc *desc)
{
	kvp_error_set(err, KVP_REASON_FAMILY, index,
		      "pool %s: family %u: kind %u, block_tokens %u, window %u, dtype %u: expected a known kind and dtype, block_tokens of 1 to %u (state: 1), a window where the kind is window",
		      pool->name, index, desc->kind, desc->block_tokens, desc->window, desc->dtype,
		      KVP_MAX_BLOCK_TOKENS);
}

/* The core says by its place in the struct which number it refused: here it has a name. */
bool kvp_config_failed(const struct kvp_pool *pool, int err, const struct kvp_pool_create *arg,
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
		  "a multiple of each block_tokens, up to 2^20, in up to 127 blocks" },
		{ offsetof(struct kvp_pool_create, mode), "mode", arg->mode,
		  "permission bits, up to 0777" },
		{ offsetof(struct kvp_pool_create, policy), "policy", arg->policy,
		  "KVP_RECLAIM_LRU" },
		{ offsetof(struct kvp_pool_create, nodes), "nodes", arg->nodes,
		  "up to 2^20, or to four times the blocks" },
		{ offsetof(struct kvp_pool_create, extras), "extras", arg->extras, "fewer" },
		{ offsetof(struct kvp_pool_create, grace_ms), "grace_ms", arg->grace_ms,
		  "up to 3600000, and 0 where the pool is strict" },
	};
	const struct kvp_head *head = &arg->head;
	size_t i;

	if (head->reason == KVP_REASON_FAMILY && head->where < arg->nr_families) {
		family_failed(pool, err, head->where, &families[head->where]);
		return true;
	}
	if (head->reason == KVP_REASON_COUNT && head->where < arg->nr_families) {
		kvp_error_set(err, KVP_REASON_COUNT, head->where,
			      "pool %s: family %u: %llu blocks of %llu bytes: expected up to 2^24 blocks, and of all families less than 2^63 bytes and no more metadata than can be",
			      pool->name, head->where,
			      (unsigned long long)families[head->where].blocks,
			      (unsigned long long)families[head->where].block_bytes);
		return true;
	}
	if (head->reason != KVP_REASON_VALUE && head->reason != KVP_REASON_COUNT)
		return false;
	for (i = 0; i < KVP_ARRAY_SIZE(numbers); i++) {
		if (numbers[i].at != head->where)
			continue;
		kvp_error_set(err, head->reason, head->where, "pool %s: %s %llu: expected %s",
			      pool->name, numbers[i].name,
			      (unsigned long long)numbers[i].value, numbers[i].expected);
		return true;
	}
	return false;
}

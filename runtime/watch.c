// SPDX-License-Identifier: MIT
/*
 * Watching a pool and steering it: counters, the audit, who is attached, what each block is,
 * limits, reclaim. Each function is one call of the contract. Owns nothing and takes no lock.
 */
#include <errno.h>

#include "internal.h"

static int read_stats(struct kvp_pool *pool, uint32_t flags, uint64_t client,
		      struct kvp_stats *stats, struct kvp_family_stats *families,
		      uint32_t nr_families)
{
	struct kvp_stats arg = {
		.head.flags = flags,
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

int kvp_pool_stats(struct kvp_pool *pool, uint64_t client, struct kvp_stats *stats,
		   struct kvp_family_stats *families, uint32_t nr_families)
{
	return read_stats(pool, 0, client, stats, families, nr_families);
}

int kvp_pool_uid_stats(struct kvp_pool *pool, uint32_t uid, struct kvp_stats *stats,
		       struct kvp_family_stats *families, uint32_t nr_families)
{
	return read_stats(pool, KVP_STATS_OF_UID, uid, stats, families, nr_families);
}

int kvp_pool_audit_all(struct kvp_pool *pool, struct kvp_finding *findings, uint32_t nr,
		       struct kvp_audit *result)
{
	struct kvp_audit arg = { .findings = kvp_addr(findings), .nr_findings = nr };
	int err;

	if (!result)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "audit: result is NULL");
	err = kvp_do(pool, KVP_OP_AUDIT, &arg);
	if (!err)
		*result = arg;
	return err;
}

int kvp_pool_audit(struct kvp_pool *pool, struct kvp_finding *findings, uint32_t nr,
		   uint64_t *total)
{
	struct kvp_audit result;
	int err;

	if (!total)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "audit: total is NULL");
	err = kvp_pool_audit_all(pool, findings, nr, &result);
	if (!err)
		*total = result.total;
	return err;
}

int kvp_pool_clients(struct kvp_pool *pool, struct kvp_client_entry *clients, uint32_t *nr,
		     uint32_t *total)
{
	struct kvp_client_list arg = { .entries = kvp_addr(clients) };
	int err;

	if (!nr)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "clients: nr is NULL");
	arg.nr_entries = *nr;
	err = kvp_do(pool, KVP_OP_CLIENT_LIST, &arg);
	if (err)
		return err;
	*nr = arg.nr_entries;
	if (total)
		*total = arg.total;
	return 0;
}

int kvp_pool_dump(struct kvp_pool *pool, uint32_t family, uint64_t *cursor,
		  struct kvp_block_entry *blocks, uint32_t *nr)
{
	struct kvp_block_dump arg = { .entries = kvp_addr(blocks), .family = family };
	int err;

	if (!cursor || !nr)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "dump: %s is NULL",
				     cursor ? "nr" : "cursor");
	arg.cursor = *cursor;
	arg.nr_entries = *nr;
	err = kvp_do(pool, KVP_OP_BLOCK_DUMP, &arg);
	if (err)
		return err;
	*cursor = arg.cursor;
	*nr = arg.nr_entries;
	return 0;
}

int kvp_pool_limit(struct kvp_pool *pool, const struct kvp_limit *limit)
{
	struct kvp_limit arg;

	if (!limit)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "limit: limit is NULL");
	arg = *limit;
	arg.head = (struct kvp_head){ .flags = limit->head.flags };
	return kvp_do(pool, KVP_OP_LIMIT, &arg);
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

/* SPDX-License-Identifier: MIT */
/*
 * What the tests of raw references share: two clients of a pool of two families, and
 * calls that name what a match found. For one test program each.
 */
#ifndef KVPT_RAW_H
#define KVPT_RAW_H

#include <check.h>
#include <stdlib.h>

#include "unit.h"

static struct kvpt_env env;
static struct kvp_client *a, *b;
static u32 tok[64];
static u64 ids[64];

static inline void make(const struct kvp_family_desc *families, u32 nr)
{
	kvpt_env_init(&env);
	a = kvpt_pool(&env, families, nr);
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	kvpt_tokens(tok, 64, 1);
}

static inline void setup(void)
{
	make((struct kvp_family_desc[]){ KVPT_DENSE(16, 4), KVPT_DENSE(12, 4) }, 2);
}

static inline void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

static inline void remake(struct kvp_family_desc family)
{
	kvpt_env_exit(&env);
	make(&family, 1);
}

static inline u64 raw_of(struct kvp_client *client)
{
	return kvpt_counters_of(client, KVP_STATS_SELF).raw;
}

/* References on blocks [@first, @first + @nr) of a match. */
static inline int ref_match(struct kvp_client *client, u64 match, u64 first, const u64 *blocks,
			    u32 nr)
{
	struct kvp_block_refs *arg = &kvpt.block_refs;

	memset(&kvpt, 0, sizeof(kvpt));
	arg->head.flags = KVP_BLOCK_REF_MATCH;
	arg->blocks = (u64)(uintptr_t)blocks;
	arg->nr = nr;
	arg->holder = match;
	arg->first = first;
	return kvpt_do(client, KVP_OP_BLOCK_REF, arg);
}

/* @nr blocks of tok, published and idle, and a match of @client on them: their ids in @ids. */
static inline u64 matched_blocks(struct kvp_client *client, u32 nr)
{
	u64 match;

	kvpt_ok(kvpt_make_published(a, 1, tok, nr * 4));
	kvpt_ok(kvpt_match_blocks(client, 1, tok, nr * 4, 0, ids, nr, &match));
	ck_assert_uint_eq(kvpt.match.matched, nr * 4);
	ck_assert_uint_eq(kvpt.match.nr_blocks, nr);
	return match;
}

#endif /* KVPT_RAW_H */

/* SPDX-License-Identifier: MIT */
/*
 * What the tests of what fences bring share: a pool with two clients, of which a has two timelines
 * t and u, and what waits. Include <check.h> first.
 */
#ifndef KVPT_FENCED_H
#define KVPT_FENCED_H

#include "exportdoor.h"
#include "fences.h"
#include "unit.h"

static struct kvpt_env env;
static struct kvp_client *a, *b;
static u32 tok[64], other[64], t, u;

static inline void make(const struct kvp_family_desc *families, u32 nr)
{
	kvpt_env_init(&env);
	env.door = kvpt_export_door(&kvp_inproc_door);
	a = kvpt_pool(&env, families, nr);
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	kvpt_tokens(tok, 64, 1);
	kvpt_tokens(other, 64, 2);
	t = kvpt_timeline(a);
	u = kvpt_timeline(a);
}

static inline void setup(void)
{
	make((struct kvp_family_desc[]){ KVPT_DENSE(16, 4) }, 1);
}

static inline void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
	ck_assert_uint_eq(kvpt_exports_open(), 0);
}

static inline u64 made(u32 nr)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, nr, &seq));
	return seq;
}

static inline u64 computed_of(u64 seq)
{
	kvpt_ok(kvpt_table(a, seq, 0, NULL, 0));
	return kvpt.table.nr_computed;
}

/* Blocks of a family that are free, held, idle, held back. */
#define expect_states(family, free_, held_, idle_, back_)				\
do {											\
	kvpt_expect_blocks(a, family, free_, held_, idle_);				\
	ck_assert_uint_eq(kvpt_blocks(a, family, KVP_BLOCK_HELD_BACK), back_);		\
	ck_assert_uint_eq(kvpt_family_of(a, 0, family).held_back, back_);		\
	kvpt_audit_clean(a);								\
} while (0)

/* What of a client's waits. */
#define expect_waiting(client, zombies_, uses_, back_)					\
do {											\
	struct kvp_stats stats_ = kvpt_counters_of(client, KVP_STATS_SELF);		\
											\
	ck_assert_uint_eq(stats_.zombies, zombies_);					\
	ck_assert_uint_eq(stats_.uses, uses_);						\
	ck_assert_uint_eq(kvpt_family_of(client, KVP_STATS_SELF, 0).held_back, back_);	\
} while (0)

#endif /* KVPT_FENCED_H */

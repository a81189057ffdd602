/* SPDX-License-Identifier: MIT */
/*
 * What the tests of admission share: a pool of two families with three clients, and who waits.
 * Include <check.h> first.
 */
#ifndef KVPT_ADMITS_H
#define KVPT_ADMITS_H

#include "fences.h"
#include "unit.h"

#define D	0
#define W	1

static struct kvpt_env env;
static struct kvp_client *a, *b, *c;
static u32 tok[64];
static u64 blocks[32];

static inline void setup(void)
{
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(16, 4),
		      KVPT_WINDOW(12, 4, 6) }, 2);
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	c = kvpt_join(&env, 1002, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	kvpt_tokens(tok, 64, 1);
}

/* Without windows every prefix can be matched. */
static inline void dense_only(void)
{
	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(16, 4) }, 1);
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	c = kvpt_join(&env, 1002, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
}

static inline void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

static inline u64 reserve_of(struct kvp_client *client, u32 family)
{
	return kvpt_family_of(client, KVP_STATS_SELF, family).reserve;
}

static inline u64 charged_of(struct kvp_client *client, u32 family)
{
	return kvpt_family_of(client, KVP_STATS_SELF, family).charged;
}

/* Free, reserved, held. */
#define expect_states(family, free_, reserved_, held_)					\
do {											\
	ck_assert_uint_eq(kvpt_blocks(a, family, KVP_BLOCK_FREE), free_);		\
	ck_assert_uint_eq(kvpt_blocks(a, family, KVP_BLOCK_RESERVED), reserved_);	\
	ck_assert_uint_eq(kvpt_blocks(a, family, KVP_BLOCK_HELD), held_);		\
	kvpt_audit_clean(a);								\
} while (0)

/* Tickets of a client that are granted, and that wait. */
#define expect_tickets(client, granted_, waiting_)					\
do {											\
	kvpt_ok(kvpt_query(client, NULL, 0));						\
	ck_assert_uint_eq(kvpt.query.granted, granted_);				\
	ck_assert_uint_eq(kvpt.query.waiting, waiting_);				\
	ck_assert_uint_eq(kvp_client_ready(client), (granted_) ? KVP_READY_TICKET : 0);	\
} while (0)

static inline u64 queued(struct kvp_client *client, u32 family, u64 nr, u64 ahead)
{
	u64 ticket;

	kvpt_ok(kvpt_admit_queue(client, family, nr, &ticket));
	ck_assert_uint_eq(kvpt.admit.state, KVP_ADMIT_WAITING);
	ck_assert_uint_eq(kvpt.admit.ahead, ahead);
	ck_assert_uint_ne(ticket, 0);
	return ticket;
}

#define NEEDS(...)	(const struct kvp_admit_need[]){ __VA_ARGS__ }
#define NEED(family_, blocks_)	{ .family = (family_), .blocks = (blocks_) }

#endif /* KVPT_ADMITS_H */

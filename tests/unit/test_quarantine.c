// SPDX-License-Identifier: MIT
/*
 * Death with work in flight: what it may touch is held back for the pool's grace time, or in a
 * strict pool until somebody reaps. The clock is the real one.
 */
#include <check.h>
#include <unistd.h>

#include "exportdoor.h"
#include "fences.h"
#include "unit.h"

#define GRACE_MS	80

static struct kvpt_env env;
static struct kvp_client *a, *b;
static u32 tok[64];

static void make(u32 flags, u32 grace_ms)
{
	const struct kvp_pool_create with = { .head.flags = flags, .grace_ms = grace_ms };

	kvpt_env_init(&env);
	env.door = kvpt_export_door(&kvp_inproc_door);
	a = kvpt_pool_with(&env, &with, (struct kvp_family_desc[]){ KVPT_DENSE(16, 4) }, 1);
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	kvpt_tokens(tok, 64, 1);
}

static void setup_grace(void)
{
	make(0, GRACE_MS);
}

static void setup_strict(void)
{
	make(KVP_POOL_STRICT, 0);
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
	ck_assert_uint_eq(kvpt_exports_open(), 0);
}

/* A client of uid 2000 that dies with a step over @nr tokens in flight; its id. */
static u64 dies_with(u32 nr)
{
	struct kvp_client *c = kvpt_join(&env, 2000, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	u64 id = kvpt_client_id(c), seq;

	kvpt_timeline(c);
	kvpt_ok(kvpt_create(c, 1, tok, nr, &seq));
	kvpt_ok(kvpt_use_write(c, seq, 0, 1, 0, nr));
	kvpt_close(&env, c);
	return id;
}

static u64 now_ms(void)
{
	return ktime_get_ns() / 1000000;
}

#define expect_states(free_, held_, idle_, back_)					\
do {											\
	kvpt_expect_blocks(a, 0, free_, held_, idle_);					\
	ck_assert_uint_eq(kvpt_blocks(a, 0, KVP_BLOCK_HELD_BACK), back_);		\
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).held_back, back_);			\
	kvpt_audit_clean(a);								\
} while (0)

static u64 nr_dead(void)
{
	return kvpt_counters_of(a, 0).quarantined;
}

/* The entry of a client in the list; client 0: it is not there. */
static struct kvp_client_entry listed(u64 client)
{
	struct kvp_client_entry list[16];
	u32 i;

	kvpt_ok(kvpt_client_list(a, list, 16));
	for (i = 0; i < kvpt.client_list.nr_entries; i++)
		if (list[i].client == client)
			return list[i];
	return (struct kvp_client_entry){ };
}

/* ---- how long ---- */

START_TEST(test_what_a_pool_says)
{
	struct kvp_client *c = kvpt_open(&env, KVPT_OWNER);
	const struct kvp_family_desc family = KVPT_DENSE(4, 4);
	struct kvp_pool_create arg = {
		.name = "other", .families = (u64)(uintptr_t)&family, .nr_families = 1,
		.mode = 0600,
	};

	kvpt_ok(kvpt_pool_info(a, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_info.grace_ms, GRACE_MS);
	ck_assert_uint_eq(kvpt.pool_info.pool_flags, 0);
	arg.grace_ms = KVP_MAX_GRACE_MS + 1;
	ck_assert_int_eq(kvpt_do(c, KVP_OP_POOL_CREATE, &arg), -EINVAL);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_VALUE);
	ck_assert_uint_eq(arg.head.where, kvpt_at(struct kvp_pool_create, grace_ms));
	arg.grace_ms = 1;
	arg.head.flags = KVP_POOL_STRICT;
	ck_assert_int_eq(kvpt_do(c, KVP_OP_POOL_CREATE, &arg), -EINVAL);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_VALUE);
	ck_assert_uint_eq(arg.head.where, kvpt_at(struct kvp_pool_create, grace_ms));
	arg.grace_ms = 0;
	arg.reserved2 = 1;
	ck_assert_int_eq(kvpt_do(c, KVP_OP_POOL_CREATE, &arg), -EINVAL);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_RESERVED);
	arg.reserved2 = 0;
	ck_assert_int_eq(kvpt_do(c, KVP_OP_POOL_CREATE, &arg), 0);
	kvpt_ok(kvpt_pool_info(c, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_info.grace_ms, 0);
	ck_assert_uint_eq(kvpt.pool_info.pool_flags, KVP_POOL_STRICT);
	kvpt_close(&env, c);

	/* Who says nothing, and who was written before there was anything to say. */
	c = kvpt_open(&env, KVPT_OWNER);
	arg.head = (struct kvp_head){ .size = offsetof(struct kvp_pool_create, grace_ms) };
	ck_assert_int_eq(kvpt_call(c, KVP_OP_POOL_CREATE, &arg, arg.head.size), 0);
	kvpt_ok(kvpt_pool_info(c, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_info.grace_ms, KVP_GRACE_MS);
	kvpt_close(&env, c);
	c = kvpt_open(&env, KVPT_OWNER);
	arg.head = (struct kvp_head){ };
	arg.grace_ms = KVP_MAX_GRACE_MS;
	ck_assert_int_eq(kvpt_do(c, KVP_OP_POOL_CREATE, &arg), 0);
	kvpt_ok(kvpt_pool_info(c, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_info.grace_ms, KVP_MAX_GRACE_MS);
}
END_TEST

START_TEST(test_the_grace_time)
{
	struct kvp_client_entry entry;
	struct kvp_block_entry block;
	u64 begin = now_ms(), id = dies_with(8), blocks[16];
	int err;

	entry = listed(id);
	ck_assert_uint_eq(entry.flags, KVP_CLIENT_DEAD);
	ck_assert_uint_eq(entry.uid, 2000);
	ck_assert_uint_eq(entry.held_back, 2);
	ck_assert_uint_eq(entry.charged, 2);
	ck_assert_uint_eq(entry.zombies, 1);
	ck_assert_uint_eq(entry.uses, 1);
	ck_assert_uint_eq(entry.seqs, 0);
	ck_assert_uint_gt(entry.grace_ns, 0);
	ck_assert_uint_le(entry.grace_ns, GRACE_MS * 1000000ULL);
	ck_assert_uint_eq(nr_dead(), 1);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nr_clients, 2);
	kvpt_ok(kvpt_alloc(b, 0, 14, blocks));
	/* Not before, and then by itself. */
	do {
		err = kvpt_alloc(b, 0, 2, blocks);
		if (err)
			ck_assert_uint_eq(kvpt.head.reason, KVP_REASON_HELD_BACK);
	} while (err && now_ms() < begin + 20 * GRACE_MS);
	ck_assert_int_eq(err, 0);
	ck_assert_uint_ge(now_ms(), begin + GRACE_MS);
	ck_assert_uint_eq(listed(id).client, 0);
	ck_assert_uint_eq(nr_dead(), 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).zombies, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).uses, 0);
	block = kvpt_entry(a, blocks[0]);
	ck_assert_uint_eq(block.client, kvpt_client_id(b));
}
END_TEST

START_TEST(test_the_end_of_a_grace_time_is_seen_by_who_looks)
{
	u64 id;

	id = dies_with(8);
	expect_states(14, 0, 0, 2);
	usleep(GRACE_MS * 1000 + 1000);
	ck_assert_uint_eq(nr_dead(), 0);
	expect_states(16, 0, 0, 0);
	kvpt_expect(kvpt_reap(a, id), -ENOENT, KVP_REASON_NO_CLIENT);
	id = dies_with(8);
	usleep(GRACE_MS * 1000 + 1000);
	ck_assert_uint_eq(listed(id).client, 0);
	/* Reap itself sees it, too. */
	id = dies_with(8);
	usleep(GRACE_MS * 1000 + 1000);
	kvpt_expect(kvpt_reap(a, id), -ENOENT, KVP_REASON_NO_CLIENT);
}
END_TEST

START_TEST(test_reap_within_the_grace_time)
{
	u64 id;

	kvpt_env_exit(&env);
	make(0, KVP_MAX_GRACE_MS);
	id = dies_with(8);
	ck_assert_uint_gt(listed(id).grace_ns, (KVP_MAX_GRACE_MS - 60000) * 1000000ULL);
	kvpt_ok(kvpt_reap(a, id));
	ck_assert_uint_eq(kvpt.reap.clients, 1);
	ck_assert_uint_eq(kvpt.reap.blocks, 2);
	expect_states(16, 0, 0, 0);
}
END_TEST

/* ---- what is in quarantine ---- */

START_TEST(test_only_what_work_may_touch)
{
	struct kvp_client *c = kvpt_join(&env, 2000, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	u64 id = kvpt_client_id(c), used, idle, raw[3], match, ticket;
	struct kvp_block_entry block;

	kvpt_timeline(c);
	kvpt_ok(kvpt_make_published(b, 9, tok, 4));
	kvpt_ok(kvpt_create(c, 1, tok, 8, &used));
	kvpt_ok(kvpt_create(c, 2, tok, 8, &idle));
	kvpt_ok(kvpt_alloc(c, 0, 3, raw));
	kvpt_ok(kvpt_use_read(c, used, 0, 1));
	kvpt_ok(kvpt_use_block(c, raw[1], 0, 2));
	kvpt_ok(kvpt_match(c, 9, tok, 4, &match));
	kvpt_ok(kvpt_admit(c, 0, 2));
	kvpt_ok(kvpt_admit_queue(c, 0, 12, &ticket));
	ck_assert_uint_eq(kvpt_blocks(a, 0, KVP_BLOCK_RESERVED), 2);
	kvpt_close(&env, c);
	/* What it held and what it had in advance is back, its ticket is gone. */
	expect_states(12, 0, 1, 3);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).tickets, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).raw, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).matches, 0);
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).reserve, 0);
	block = kvpt_entry(a, raw[1]);
	ck_assert_uint_eq(block.state, KVP_BLOCK_HELD_BACK);
	ck_assert_uint_eq(block.why, KVP_WHY_QUARANTINE);
	ck_assert_uint_eq(block.client, id);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).uses, 2);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).zombies, 1);
	kvpt_ok(kvpt_reap(a, 0));
	ck_assert_uint_eq(kvpt.reap.clients, 1);
	ck_assert_uint_eq(kvpt.reap.blocks, 3);
	expect_states(15, 0, 1, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).uses, 0);
}
END_TEST

START_TEST(test_fences_that_had_passed)
{
	struct kvp_client *c = kvpt_join(&env, 2000, KVP_RIGHT_USE);
	u64 seq, block;

	kvpt_timeline(c);
	kvpt_timeline(c);
	kvpt_ok(kvpt_create(c, 1, tok, 8, &seq));
	kvpt_ok(kvpt_alloc(c, 0, 1, &block));
	kvpt_ok(kvpt_use_read(c, seq, 0, 1));
	kvpt_ok(kvpt_use_block(c, block, 1, 1));
	kvpt_ok(kvpt_free(c, seq));
	/* Nobody has looked since then. */
	kvpt_pass(c, 0, 1);
	kvpt_close(&env, c);
	expect_states(15, 0, 0, 1);
	ck_assert_uint_eq(nr_dead(), 1);
	kvpt_ok(kvpt_reap(a, 0));
	/* Where all of it has passed there is no quarantine. */
	c = kvpt_join(&env, 2000, KVP_RIGHT_USE);
	kvpt_timeline(c);
	kvpt_ok(kvpt_create(c, 1, tok, 8, &seq));
	kvpt_ok(kvpt_use_read(c, seq, 0, 1));
	kvpt_pass(c, 0, 1);
	kvpt_close(&env, c);
	ck_assert_uint_eq(nr_dead(), 0);
	expect_states(16, 0, 0, 0);
}
END_TEST

START_TEST(test_zombies_of_a_client_that_dies_later)
{
	struct kvp_client *c = kvpt_join(&env, 2000, KVP_RIGHT_USE);
	u64 seq;

	kvpt_timeline(c);
	kvpt_ok(kvpt_create(c, 1, tok, 12, &seq));
	kvpt_ok(kvpt_use_read(c, seq, 0, 1));
	kvpt_ok(kvpt_truncate(c, seq, 8));
	kvpt_ok(kvpt_use_read(c, seq, 0, 2));
	kvpt_ok(kvpt_free(c, seq));
	kvpt_close(&env, c);
	expect_states(13, 0, 0, 3);
	ck_assert_uint_eq(nr_dead(), 1);
	kvpt_ok(kvpt_reap(a, 0));
	ck_assert_uint_eq(kvpt.reap.blocks, 3);
	expect_states(16, 0, 0, 0);
}
END_TEST

START_TEST(test_published_blocks_of_the_dead)
{
	struct kvp_client *c = kvpt_join(&env, 2000, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	u64 seq, mine, id = kvpt_client_id(c);

	kvpt_timeline(c);
	seq = kvpt_published(c, 1, tok, 8);
	kvpt_ok(kvpt_use_read(c, seq, 0, 1));
	kvpt_close(&env, c);
	expect_states(14, 0, 0, 2);
	/* What was published is lost for nobody, nor in the way of the reap. */
	kvpt_ok(kvpt_create(b, 1, tok, 8, &mine));
	ck_assert_uint_eq(kvpt.seq_create.matched, 8);
	expect_states(14, 2, 0, 0);
	ck_assert_uint_eq(nr_dead(), 1);
	ck_assert_uint_eq(listed(id).held_back, 0);
	kvpt_ok(kvpt_reap(a, id));
	ck_assert_uint_eq(kvpt.reap.clients, 1);
	ck_assert_uint_eq(kvpt.reap.blocks, 0);
	ck_assert_uint_eq(nr_dead(), 0);
	expect_states(14, 2, 0, 0);
	kvpt_ok(kvpt_free(b, mine));
	expect_states(14, 0, 2, 0);
}
END_TEST

/* ---- reap ---- */

START_TEST(test_strict)
{
	u64 id = dies_with(12), blocks[16];

	ck_assert_uint_eq(listed(id).grace_ns, KVP_UNLIMITED);
	usleep(5000);
	expect_states(13, 0, 0, 3);
	kvpt_refused(&env, a, kvpt_alloc(b, 0, 14, blocks), -ENOSPC, KVP_REASON_HELD_BACK, 0);
	kvpt_ok(kvpt_reap(a, id));
	ck_assert_uint_eq(kvpt.reap.clients, 1);
	ck_assert_uint_eq(kvpt.reap.blocks, 3);
	ck_assert_uint_eq(listed(id).client, 0);
	expect_states(16, 0, 0, 0);
	kvpt_ok(kvpt_alloc(b, 0, 16, blocks));
}
END_TEST

START_TEST(test_reap_refused)
{
	struct kvp_client *c = kvpt_join(&env, 2000, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	u64 id = dies_with(4);

	kvpt_refused(&env, a, kvpt_reap(b, id), -EACCES, KVP_REASON_RIGHT_ADMIN, 0);
	kvpt_refused(&env, a, kvpt_reap(b, 0), -EACCES, KVP_REASON_RIGHT_ADMIN, 0);
	/* Its uid is not enough. */
	kvpt_refused(&env, a, kvpt_reap(c, id), -EACCES, KVP_REASON_RIGHT_ADMIN, 0);
	kvpt_refused(&env, a, kvpt_reap(a, 4242), -ENOENT, KVP_REASON_NO_CLIENT, 0);
	kvpt_refused(&env, a, kvpt_reap(a, kvpt_client_id(b)), -ENOENT, KVP_REASON_NO_CLIENT, 0);
	ck_assert_uint_eq(kvpt.reap.clients, 0);
	ck_assert_uint_eq(kvpt.reap.blocks, 0);
	kvpt_ok(kvpt_reap(a, id));
	kvpt_refused(&env, a, kvpt_reap(a, id), -ENOENT, KVP_REASON_NO_CLIENT, 0);
	/* All of none are none. */
	kvpt_ok(kvpt_reap(a, 0));
	ck_assert_uint_eq(kvpt.reap.clients, 0);
	ck_assert_uint_eq(kvpt.reap.blocks, 0);
}
END_TEST

START_TEST(test_reap_one_and_all)
{
	u64 ids[3], i;

	for (i = 0; i < 3; i++)
		ids[i] = dies_with(4 * (i + 1));
	ck_assert_uint_eq(nr_dead(), 3);
	expect_states(10, 0, 0, 6);
	kvpt_ok(kvpt_reap(a, ids[1]));
	ck_assert_uint_eq(kvpt.reap.clients, 1);
	ck_assert_uint_eq(kvpt.reap.blocks, 2);
	expect_states(12, 0, 0, 4);
	ck_assert_uint_ne(listed(ids[0]).client, 0);
	ck_assert_uint_eq(listed(ids[1]).client, 0);
	kvpt_ok(kvpt_reap(a, 0));
	ck_assert_uint_eq(kvpt.reap.clients, 2);
	ck_assert_uint_eq(kvpt.reap.blocks, 4);
	ck_assert_uint_eq(nr_dead(), 0);
	expect_states(16, 0, 0, 0);
}
END_TEST

START_TEST(test_reap_gives_to_who_waits)
{
	u64 id = dies_with(16), ticket;

	kvpt_ok(kvpt_admit_queue(b, 0, 14, &ticket));
	ck_assert_uint_eq(kvpt.admit.state, KVP_ADMIT_WAITING);
	ck_assert_uint_eq(kvp_client_ready(b), 0);
	kvpt_ok(kvpt_reap(a, id));
	ck_assert_uint_eq(kvp_client_ready(b), KVP_READY_TICKET);
	kvpt_ok(kvpt_admit_take(b, ticket));
	kvpt_ok(kvpt_admit_drop(b, 0, 14));
}
END_TEST

/* ---- accounts ---- */

START_TEST(test_limits_of_the_dead)
{
	struct kvp_client *c;
	struct kvp_family_stats family;
	u64 id = dies_with(12), seq;

	/* The uid has what its dead clients have. */
	kvpt_ok(kvpt_stats_uid(a, 2000, &family, 1));
	ck_assert_uint_eq(family.charged, 3);
	ck_assert_uint_eq(family.held_back, 3);
	ck_assert_uint_eq(kvpt.stats.nr_clients, 0);
	ck_assert_uint_eq(kvpt.stats.zombies, 1);
	ck_assert_uint_eq(kvpt.stats.slots, 3);
	kvpt_ok(kvpt_limit_uid(a, 2000, KVP_LIMIT_BLOCKS, 0, 4));
	c = kvpt_join(&env, 2000, KVP_RIGHT_USE);
	kvpt_refused(&env, a, kvpt_create(c, 1, tok, 8, &seq), -EDQUOT, KVP_REASON_LIMIT_BLOCKS,
		     KVP_WHERE_UID);
	kvpt_ok(kvpt_create(c, 1, tok, 4, &seq));
	kvpt_ok(kvpt_limit_uid(a, 2000, KVP_LIMIT_SLOTS, 0, 4));
	kvpt_refused(&env, a, kvpt_append(c, seq, tok, 1), -EDQUOT, KVP_REASON_LIMIT_SLOTS,
		     KVP_WHERE_UID);
	kvpt_ok(kvpt_reap(a, id));
	kvpt_ok(kvpt_append(c, seq, tok, 12));
	kvpt_ok(kvpt_stats_uid(a, 2000, &family, 1));
	ck_assert_uint_eq(family.charged, 4);
	ck_assert_uint_eq(family.held_back, 0);
	ck_assert_uint_eq(kvpt.stats.zombies, 0);
	/* Of the dead one can ask what they have, but set no limits for them. */
	id = dies_with(0);
	ck_assert_uint_eq(nr_dead(), 1);
	kvpt_expect(kvpt_limit(a, id, KVP_LIMIT_SEQS, 0, 1), -ENOENT, KVP_REASON_NO_CLIENT);
	ck_assert_uint_eq(kvpt_counters_of(a, id).uses, 1);
	ck_assert_uint_eq(kvpt_counters_of(a, id).zombies, 1);
	kvpt_expect(kvpt_stats(b, id, NULL, 0), -EACCES, KVP_REASON_RIGHT_ADMIN);
	kvpt_ok(kvpt_reap(a, id));
	ck_assert_uint_eq(kvpt.reap.blocks, 0);
	kvpt_expect(kvpt_stats(a, id, NULL, 0), -ENOENT, KVP_REASON_NO_CLIENT);
}
END_TEST

START_TEST(test_guarantees_of_the_dead)
{
	struct kvp_client *c = kvpt_join(&env, 2000, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	u64 seq, blocks[16];

	kvpt_ok(kvpt_limit(a, kvpt_client_id(c), KVP_LIMIT_GUARANTEE, 0, 8));
	kvpt_timeline(c);
	kvpt_ok(kvpt_create(c, 1, tok, 8, &seq));
	kvpt_ok(kvpt_use_read(c, seq, 0, 1));
	kvpt_refused(&env, a, kvpt_alloc(b, 0, 9, blocks), -ENOSPC, KVP_REASON_GUARANTEED, 0);
	kvpt_close(&env, c);
	/* It needs no guarantee any more. */
	kvpt_ok(kvpt_alloc(b, 0, 14, blocks));
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).guaranteed, 0);
	kvpt_ok(kvpt_reap(a, 0));
	kvpt_ok(kvpt_alloc(b, 0, 2, blocks));
}
END_TEST

START_TEST(test_many_dead)
{
	struct kvp_client *c;
	u64 i, last;

	/* Their places in the pool are theirs until their quarantine ends. */
	for (i = 0; i < 16; i++)
		last = dies_with(4);
	ck_assert_uint_eq(nr_dead(), 16);
	expect_states(0, 0, 0, 16);
	c = kvpt_join(&env, 3000, KVP_RIGHT_USE);
	ck_assert_uint_gt(kvpt_client_id(c), last);
	ck_assert_uint_eq(listed(kvpt_client_id(c)).charged, 0);
	kvpt_ok(kvpt_reap(a, 0));
	ck_assert_uint_eq(kvpt.reap.clients, 16);
	ck_assert_uint_eq(kvpt.reap.blocks, 16);
	expect_states(16, 0, 0, 0);
}
END_TEST

START_TEST(test_the_event_of_its_end)
{
	struct kvp_event events[8];
	u64 cursor, id;

	kvpt_ok(kvpt_events(a, 0, NULL, 0));
	cursor = kvpt.events.cursor;
	id = dies_with(8);
	/* At its death, however long its blocks are held back. */
	kvpt_ok(kvpt_events(a, cursor, events, 8));
	ck_assert_uint_eq(kvpt.events.nr_events, 1);
	ck_assert_uint_eq(events[0].kind, KVP_EVENT_LEFT);
	ck_assert_uint_eq(events[0].client, id);
	cursor = kvpt.events.cursor;
	kvpt_ok(kvpt_reap(a, id));
	kvpt_ok(kvpt_events(a, cursor, events, 8));
	ck_assert_uint_eq(kvpt.events.nr_events, 0);
}
END_TEST

/* ---- the pool ---- */

START_TEST(test_a_pool_ends_with_its_quarantine)
{
	struct kvp_client *c = kvpt_open(&env, KVPT_OWNER);
	u64 seq;

	kvpt_ok(kvpt_pool_create(c, "second", 0600, (struct kvp_family_desc[]){
				 KVPT_DENSE(16, 4) }, 1));
	kvpt_timeline(c);
	kvpt_ok(kvpt_create(c, 1, tok, 8, &seq));
	kvpt_ok(kvpt_use_read(c, seq, 0, 1));
	kvpt_close(&env, c);
	/* Nobody can have its blocks any more. */
	kvpt_ok(kvpt_pool_list(a, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_list.total, 1);
	c = kvpt_open(&env, KVPT_OWNER);
	kvpt_ok(kvpt_pool_create(c, "second", 0600, (struct kvp_family_desc[]){
				 KVPT_DENSE(16, 4) }, 1));
	kvpt_expect_blocks(c, 0, 16, 0, 0);
	ck_assert_uint_eq(kvpt_counters_of(c, 0).quarantined, 0);
}
END_TEST

START_TEST(test_a_pool_that_persists_keeps_its_quarantine)
{
	const struct kvp_cred root = { .uid = 0, .admin = true, .persist = true };
	struct kvp_pool_create arg = {
		.head.flags = KVP_POOL_PERSISTENT | KVP_POOL_STRICT, .name = "lasting",
		.mode = 0600, .nr_families = 1,
		.families = (u64)(uintptr_t)&(struct kvp_family_desc)KVPT_DENSE(16, 4),
	};
	struct kvp_client *c = kvpt_open_cred(&env, &root);
	u64 seq;

	ck_assert_int_eq(kvpt_do(c, KVP_OP_POOL_CREATE, &arg), 0);
	kvpt_timeline(c);
	kvpt_ok(kvpt_create(c, 1, tok, 8, &seq));
	kvpt_ok(kvpt_use_read(c, seq, 0, 1));
	kvpt_close(&env, c);
	c = kvpt_open_cred(&env, &root);
	kvpt_ok(kvpt_pool_attach(c, "lasting", KVP_RIGHT_USE | KVP_RIGHT_ADMIN));
	ck_assert_uint_eq(kvpt_counters_of(c, 0).quarantined, 1);
	ck_assert_uint_eq(kvpt_blocks(c, 0, KVP_BLOCK_HELD_BACK), 2);
	kvpt_audit_clean(c);
	kvpt_ok(kvpt_reap(c, 0));
	ck_assert_uint_eq(kvpt.reap.blocks, 2);
	kvpt_expect_blocks(c, 0, 16, 0, 0);
	/* And one that is destroyed with a quarantine is just gone. */
	kvpt_timeline(c);
	kvpt_ok(kvpt_create(c, 1, tok, 8, &seq));
	kvpt_ok(kvpt_use_read(c, seq, 0, 1));
	kvpt_close(&env, c);
	c = kvpt_open_cred(&env, &root);
	kvpt_ok(kvpt_pool_destroy(c, "lasting", 0));
	kvpt_expect(kvpt_pool_attach(c, "lasting", KVP_RIGHT_USE), -ENOENT, KVP_REASON_NO_POOL);
}
END_TEST

/* ---- exports ---- */

START_TEST(test_an_export_whose_maker_died)
{
	struct kvp_client *c = kvpt_join(&env, 2000, KVP_RIGHT_USE);
	u64 seq, copy;
	s32 fd;

	kvpt_timeline(c);
	kvpt_ok(kvpt_create(c, 1, tok, 8, &seq));
	kvpt_ok(kvpt_use_write(c, seq, 0, 1, 0, 8));
	kvpt_ok(kvpt_export(c, seq, &fd));
	kvpt_close(&env, c);
	kvpt_refused(&env, a, kvpt_import(b, fd, &copy), -EOWNERDEAD, KVP_REASON_MAKER_DEAD, 0);
	/* No reap makes its rows true. */
	kvpt_ok(kvpt_reap(a, 0));
	ck_assert_uint_eq(kvpt.reap.clients, 1);
	kvpt_refused(&env, a, kvpt_import(b, fd, &copy), -EOWNERDEAD, KVP_REASON_MAKER_DEAD, 0);
	expect_states(14, 2, 0, 0);
	kvpt_export_close(fd);
	expect_states(16, 0, 0, 0);
}
END_TEST

START_TEST(test_an_export_whose_rows_were_there)
{
	struct kvp_client *c = kvpt_join(&env, 2000, KVP_RIGHT_USE);
	u64 seq, copy;
	s32 fd;

	kvpt_timeline(c);
	kvpt_ok(kvpt_create(c, 1, tok, 8, &seq));
	kvpt_ok(kvpt_use_write(c, seq, 0, 1, 0, 8));
	kvpt_ok(kvpt_export(c, seq, &fd));
	/* What only reads, and goes on, is no matter. */
	kvpt_ok(kvpt_use_read(c, seq, 0, 2));
	kvpt_pass(c, 0, 1);
	kvpt_close(&env, c);
	ck_assert_uint_eq(nr_dead(), 1);
	kvpt_ok(kvpt_import(b, fd, &copy));
	ck_assert_uint_eq(kvpt.seq_import.tokens, 8);
	expect_states(14, 2, 0, 0);
	kvpt_export_close(fd);
	kvpt_ok(kvpt_free(b, copy));
	expect_states(14, 0, 0, 2);
	kvpt_ok(kvpt_reap(a, 0));
	expect_states(16, 0, 0, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("quarantine");
	TCase *tc = tcase_create("grace");

	tcase_add_checked_fixture(tc, setup_grace, teardown);
	tcase_add_test(tc, test_what_a_pool_says);
	tcase_add_test(tc, test_the_grace_time);
	tcase_add_test(tc, test_the_end_of_a_grace_time_is_seen_by_who_looks);
	tcase_add_test(tc, test_reap_within_the_grace_time);
	suite_add_tcase(suite, tc);

	tc = tcase_create("strict");
	tcase_add_checked_fixture(tc, setup_strict, teardown);
	tcase_add_test(tc, test_only_what_work_may_touch);
	tcase_add_test(tc, test_fences_that_had_passed);
	tcase_add_test(tc, test_zombies_of_a_client_that_dies_later);
	tcase_add_test(tc, test_published_blocks_of_the_dead);
	tcase_add_test(tc, test_strict);
	tcase_add_test(tc, test_reap_refused);
	tcase_add_test(tc, test_reap_one_and_all);
	tcase_add_test(tc, test_reap_gives_to_who_waits);
	tcase_add_test(tc, test_limits_of_the_dead);
	tcase_add_test(tc, test_guarantees_of_the_dead);
	tcase_add_test(tc, test_many_dead);
	tcase_add_test(tc, test_the_event_of_its_end);
	tcase_add_test(tc, test_a_pool_ends_with_its_quarantine);
	tcase_add_test(tc, test_a_pool_that_persists_keeps_its_quarantine);
	tcase_add_test(tc, test_an_export_whose_maker_died);
	tcase_add_test(tc, test_an_export_whose_rows_were_there);
	suite_add_tcase(suite, tc);
	return kvpt_run(suite);
}

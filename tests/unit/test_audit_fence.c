// SPDX-License-Identifier: MIT
/*
 * KVP_OP_AUDIT of what waits, for fences and for blocks: each kind of damage is planted into a
 * sound pool in which everything waits that can, and the audit must find it, and nothing else.
 */
#include <check.h>

#include "exportdoor.h"
#include "fences.h"
#include "plants.h"
#include "unit.h"

#define B_UID	1001

static struct kvpt_env env;
static struct kvp_client *a, *b;
static struct kvp_pool *pool;
static u32 tok[64];

/* What populate() made. */
static u64 running, zombie[2], raw[2], dead, dead_block, waiting, granted;
static s32 export;

/*
 * a: a sequence with an open use that has given a block back; one that was freed; raw blocks that
 * work reads, one of them given back; an export whose rows are being written. b: a ticket that
 * waits, one that is granted, and some blocks in advance. And a client that died.
 */
static void populate(void)
{
	struct kvp_client *c = kvpt_join(&env, 2000, KVP_RIGHT_USE);
	u32 t = kvpt_timeline(a);
	u64 seq, rest[18];

	kvpt_ok(kvpt_create(a, 1, tok, 12, &running));
	kvpt_ok(kvpt_advance(a, running, 6));
	kvpt_ok(kvpt_use_write(a, running, t, 1, 6, 8));
	kvpt_ok(kvpt_truncate(a, running, 8));
	kvpt_ok(kvpt_use_read(a, running, t, 2));
	kvpt_ok(kvpt_export(a, running, &export));
	kvpt_ok(kvpt_create(a, 1, tok, 8, &seq));
	kvpt_expect_table(a, seq, 0, zombie, 2);
	kvpt_ok(kvpt_use_read(a, seq, t, 1));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_alloc(a, 0, 2, raw));
	kvpt_ok(kvpt_use_block(a, raw[0], t, 1));
	kvpt_ok(kvpt_use_block(a, raw[1], t, 2));
	kvpt_ok(kvpt_unref(a, &raw[1], 1));

	dead = kvpt_client_id(c);
	kvpt_timeline(c);
	kvpt_ok(kvpt_alloc(c, 0, 1, &dead_block));
	kvpt_ok(kvpt_use_block(c, dead_block, 0, 1));
	kvpt_close(&env, c);

	kvpt_ok(kvpt_admit(b, 0, 3));
	kvpt_ok(kvpt_alloc(a, 0, 18, rest));
	kvpt_ok(kvpt_admit_queue(b, 0, 4, &granted));
	kvpt_ok(kvpt_unref(a, rest, 1));
	kvpt_ok(kvpt_admit_queue(b, 0, 10, &waiting));
}

static void setup(void)
{
	kvpt_env_init(&env);
	env.door = kvpt_export_door(&kvp_inproc_door);
	a = kvpt_pool_with(&env, &(struct kvp_pool_create){ .head.flags = KVP_POOL_STRICT },
			   (struct kvp_family_desc[]){ KVPT_DENSE(32, 4), KVPT_WINDOW(32, 4, 6) },
			   2);
	b = kvpt_join(&env, B_UID, KVP_RIGHT_USE);
	pool = kvpt_pool_of(a);
	kvpt_tokens(tok, 64, 1);
	populate();
	kvpt_audit_clean(a);
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_export_close(export);
	kvpt_env_exit(&env);
}

static struct kvp_block *block_of(u64 id)
{
	return kvpt_block_of(a, id);
}

static struct kvp_seq *seq_of(u64 id)
{
	return kvpt_seq_of(a, id);
}

static struct kvp_client *dead_client(void)
{
	return list_first_entry(&pool->quarantine, struct kvp_client, list);
}

#define ID(of)		((of)->account->client)

START_TEST(test_what_there_is)
{
	struct kvp_stats stats = kvpt_counters_of(a, 0);

	ck_assert_uint_eq(stats.uses, 6);
	ck_assert_uint_eq(stats.zombies, 1);
	ck_assert_uint_eq(stats.tickets, 2);
	ck_assert_uint_eq(stats.tickets_waiting, 1);
	ck_assert_uint_eq(stats.quarantined, 1);
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).held_back, 5);
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).reserve, 7);
	ck_assert_uint_eq(pool->nr_fenced, 6);
}
END_TEST

START_TEST(test_references_that_are_held_back)
{
	u32 index = KVP_BLOCK_INDEX(zombie[0]);

	plant(block_of(zombie[0])->held_back, 0, F(FENCE, 0, index, 0, 1));
	index = KVP_BLOCK_INDEX(raw[0]);
	plant(block_of(raw[0])->held_back, 0, F(FENCE, 0, index, 0, 1));
	plant(block_of(raw[0])->held_back, 2, F(FENCE, 0, index, 2, 1));
	index = KVP_BLOCK_INDEX(dead_block);
	plant(block_of(dead_block)->held_back, 7, F(FENCE, 0, index, 7, 1));
}
END_TEST

START_TEST(test_references_that_nobody_has)
{
	u32 index = KVP_BLOCK_INDEX(raw[1]);

	plant(block_of(raw[1])->count, 2, F(COUNT, 0, index, 2, 1));
	index = KVP_BLOCK_INDEX(zombie[1]);
	plant(block_of(zombie[1])->count, 2, F(COUNT, 0, index, 2, 1));
}
END_TEST

START_TEST(test_accounts)
{
	struct kvp_account *of_a = a->account, *of_b = b->account;

	plant(of_a->held_back[0], 3, F(FENCE, 0, ID(a), 3, 4));
	plant(of_a->held_back[1], 4, F(FENCE, 1, ID(a), 4, 3));
	plant(dead_client()->account->held_back[0], 0, F(FENCE, 0, dead, 0, 1));
	plant(of_b->held_back[0], 1, F(FENCE, 0, ID(b), 1, 0));
	plant(of_b->reserve[0], 8, F(FENCE, 0, ID(b), 8, 7));
	plant(of_a->reserve[1], 1, F(FENCE, 1, ID(a), 1, 0));
	plant(of_a->has[KVP_USES], 4, F(CHARGE, NONE, ID(a), 4, 5));
	plant(of_a->has[KVP_ZOMBIES], 2, F(CHARGE, NONE, ID(a), 2, 1));
	plant(of_b->has[KVP_TICKETS], 1, F(CHARGE, NONE, ID(b), 1, 2));
	plant(dead_client()->account->has[KVP_USES], 0, F(CHARGE, NONE, dead, 0, 1));
}
END_TEST

START_TEST(test_users)
{
	struct kvp_user *user = b->account->user;

	plant(a->account->user->has[KVP_USES], 6, F(USER, NONE, KVPT_OWNER, 6, 5));
	plant(a->account->user->has[KVP_ZOMBIES], 0, F(USER, NONE, KVPT_OWNER, 0, 1));
	plant(user->has[KVP_TICKETS], 3, F(USER, NONE, B_UID, 3, 2));
	plant(dead_client()->account->user->has[KVP_USES], 2, F(USER, NONE, 2000, 2, 1));
}
END_TEST

START_TEST(test_what_waits_for_fences)
{
	plant(pool->nr_fenced, 7, F(FENCE, NONE, 0, 7, 6));
	plant(a->nr_fenced, 4, F(FENCE, NONE, ID(a), 4, 5));
	plant(b->nr_fenced, 1, F(FENCE, NONE, ID(b), 1, 0));
	plant(dead_client()->nr_fenced, 2, F(FENCE, NONE, dead, 2, 1));
	plant(pool->nr_fenced_dead, 2, F(FENCE, NONE, 0, 2, 1));
	/* A dead client that its account does not know. */
	plant(dead_client()->account->dead, NULL, F(FENCE, NONE, dead, 0, 1),
	      F(FENCE, NONE, dead, 0, 1));
	plant(b->account->dead, b, F(FENCE, NONE, ID(b), 1, 0));
}
END_TEST

START_TEST(test_uses_of_a_sequence)
{
	struct kvp_seq *seq = seq_of(running);

	plant(seq->nr_uses, 1, F(CHARGE, NONE, ID(a), 5, 4), F(USER, NONE, KVPT_OWNER, 5, 4));
	plant(seq->windowed, 7, F(SEQ, NONE, running, 7, 6));
	plant(seq->max_late, seq->max_late + 1,
	      F(CHARGE, NONE, ID(a), a->account->has[KVP_METADATA],
		a->account->has[KVP_METADATA] + sizeof(*seq->late)),
	      F(USER, NONE, KVPT_OWNER, a->account->user->has[KVP_METADATA],
		a->account->user->has[KVP_METADATA] + sizeof(*seq->late)));
}
END_TEST

START_TEST(test_a_late_reference_that_is_lost)
{
	struct kvp_seq *seq = seq_of(running);
	u32 index = seq->late[0].block, other = KVP_BLOCK_INDEX(zombie[0]);

	ck_assert_uint_eq(seq->nr_late, 2);
	ck_assert_uint_eq(seq->late[0].family, 0);
	/* It names a block of the zombie's instead of its own. */
	plant(seq->late[0].block, other,
	      F(COUNT, 0, index, 1, 0), F(LIST, 0, index, KVP_BLOCK_HELD_BACK, KVP_BLOCK_FREE),
	      F(FENCE, 0, index, 1, 0), F(COUNT, 0, other, 1, 2), F(FENCE, 0, other, 1, 2));
}
END_TEST

START_TEST(test_tickets)
{
	plant(b->nr_granted, 0, F(FENCE, NONE, ID(b), 0, 1));
	plant(a->nr_granted, 1, F(FENCE, NONE, ID(a), 1, 0));
	plant(pool->nr_queued, 2, F(FENCE, NONE, 0, 2, 1));
	plant(pool->queued[0], 0, F(FENCE, 0, 0, 0, 1));
	plant(pool->queued[1], 1, F(FENCE, 1, 0, 1, 0));
}
END_TEST

START_TEST(test_the_reserve)
{
	u32 first = b->reserve.blocks[0];

	plant(b->reserve.nr_blocks[0], 4, F(FENCE, 0, ID(b), 4, 3));
	/* One of its blocks is on no list: it should be free, and is not listed there either. */
	plant(b->reserve.blocks[0], pool->family[0].blocks[first].next,
	      F(FENCE, 0, ID(b), 3, 2), F(FENCE, 0, ID(b), 7, 6),
	      F(LIST, 0, first, KVP_BLOCK_RESERVED, KVP_BLOCK_FREE));
}
END_TEST

START_TEST(test_a_state_that_is_not_right)
{
	struct kvp_block *block = block_of(zombie[0]);
	u32 index = KVP_BLOCK_INDEX(zombie[0]);
	const u64 held = (block->word & KVP_GEN_MAX) | (u64)KVP_BLOCK_HELD << KVP_STATE_SHIFT;
	u64 nr_held = pool->family[0].nr[KVP_BLOCK_HELD];
	u64 nr_back = pool->family[0].nr[KVP_BLOCK_HELD_BACK];

	/* Held, though only fences hold it; counted where it is not. */
	plant(block->word, held, F(LIST, 0, index, KVP_BLOCK_HELD, KVP_BLOCK_HELD_BACK),
	      F(FENCE, 0, ID(a), 4, 3),
	      F(STATE, 0, KVP_BLOCK_HELD, nr_held, nr_held + 1),
	      F(STATE, 0, KVP_BLOCK_HELD_BACK, nr_back, nr_back - 1));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("audit_fence");
	TCase *tc = tcase_create("audit_fence");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_what_there_is);
	tcase_add_test(tc, test_references_that_are_held_back);
	tcase_add_test(tc, test_references_that_nobody_has);
	tcase_add_test(tc, test_accounts);
	tcase_add_test(tc, test_users);
	tcase_add_test(tc, test_what_waits_for_fences);
	tcase_add_test(tc, test_uses_of_a_sequence);
	tcase_add_test(tc, test_a_late_reference_that_is_lost);
	tcase_add_test(tc, test_tickets);
	tcase_add_test(tc, test_the_reserve);
	tcase_add_test(tc, test_a_state_that_is_not_right);
	suite_add_tcase(suite, tc);
	return kvpt_run(suite);
}

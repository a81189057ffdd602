// SPDX-License-Identifier: MIT
/*
 * Clients: their ids, limits and guarantees, what is charged to whom, and what their death
 * leaves.
 */
#include <check.h>
#include <stdlib.h>

#include "unit.h"

static struct kvpt_env env;
static struct kvp_client *a, *b;
static u64 id_a, id_b;
static u32 tok[64];

/* a: all rights; b: of another user. Two families of 16 blocks, 4 tokens a block. */
static void setup(void)
{
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(16, 4), KVPT_DENSE(16, 4) },
		      2);
	b = kvpt_join(&env, 1001, 0);
	id_a = kvpt_client_id(a);
	id_b = kvpt_client_id(b);
	kvpt_tokens(tok, 64, 1);
	kvp_shim_fail_alloc = 0;
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

static struct kvp_family_stats of(u64 client, u32 family)
{
	return kvpt_family_of(a, client, family);
}

/* ---- ids, opening ---- */

START_TEST(test_ids_are_never_used_again)
{
	ck_assert_uint_eq(id_a, 1);
	ck_assert_uint_eq(id_b, 2);
	kvpt_close(&env, b);
	b = kvpt_join(&env, 1001, 0);
	ck_assert_uint_eq(kvpt_client_id(b), 3);
	kvpt_expect(kvpt_stats(a, id_b, NULL, 0), -ENOENT, KVP_REASON_NO_CLIENT);
}
END_TEST

START_TEST(test_close_of_one_that_never_attached)
{
	kvpt_close(&env, kvpt_open(&env, 7));
	kvp_shim_fail_alloc = 1;
	ck_assert_ptr_null(kvp_client_open(&env.host, &kvp_inproc_door,
					   &(struct kvp_cred){ .uid = 7 }));
	ck_assert_int_eq(kvp_shim_fail_alloc, 0);
}
END_TEST

START_TEST(test_attach_without_memory)
{
	struct kvp_client *c = kvpt_open(&env, 7);

	kvp_shim_fail_alloc = 1;
	kvpt_expect_refused(a, kvpt_pool_attach(c, KVPT_POOL_NAME, 0), -ENOMEM,
			    KVP_REASON_MEMORY);
	ck_assert_int_eq(kvp_shim_fail_alloc, 0);
	kvpt_expect(kvpt_pool_info(c, NULL, 0), -EBUSY, KVP_REASON_NOT_ATTACHED);
	kvpt_ok(kvpt_pool_attach(c, KVPT_POOL_NAME, 0));
	ck_assert_uint_eq(kvpt.pool_attach.client, 3);
}
END_TEST

/* For who may not administer the pool. */
#define PLACES	(KVP_MAX_CLIENTS - KVP_ADMIN_CLIENTS)

START_TEST(test_as_many_clients_as_there_may_be)
{
	const struct kvp_cred cred = { .uid = 7 };
	static struct kvp_client *many[PLACES];
	const struct kvp_cred owner = { .uid = KVPT_OWNER };
	struct kvp_client *admin;
	u32 i;

	for (i = 2; i < PLACES; i++) {
		many[i] = kvp_client_open(&env.host, &kvp_inproc_door, &cred);
		kvpt_ok(kvpt_pool_attach(many[i], KVPT_POOL_NAME, 0));
	}
	many[0] = kvp_client_open(&env.host, &kvp_inproc_door, &cred);
	kvpt_expect(kvpt_pool_attach(many[0], KVPT_POOL_NAME, 0), -EDQUOT,
		    KVP_REASON_LIMIT_CLIENTS);
	/* Who could make room gets in. */
	admin = kvp_client_open(&env.host, &kvp_inproc_door, &owner);
	kvpt_ok(kvpt_pool_attach(admin, KVPT_POOL_NAME, 0));
	kvp_client_close(admin);
	kvp_client_close(many[3000]);
	kvpt_ok(kvpt_pool_attach(many[0], KVPT_POOL_NAME, 0));
	ck_assert_uint_eq(kvpt.pool_attach.client, PLACES + 2);
	many[3000] = many[0];
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nr_clients, PLACES);
	/* One that is far behind in the table of accounts. */
	kvpt_ok(kvpt_limit(a, PLACES, KVP_LIMIT_SEQS, 0, 0));
	kvpt_expect(kvpt_create(many[PLACES - 1], 1, tok, 1, NULL), -EDQUOT,
		    KVP_REASON_LIMIT_SEQS);
	for (i = 2; i < PLACES; i++)
		kvp_client_close(many[i]);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nr_clients, 2);
}
END_TEST

/* ---- limits ---- */

START_TEST(test_limit_of_an_unknown_kind)
{
	u32 bit;

	for (bit = 10; bit < 32; bit++) {
		kvpt_expect(kvpt_limit(a, id_b, KVP_LIMIT_ALL | 1U << bit, 0, 0), -EINVAL,
			    KVP_REASON_VALUE);
		ck_assert_uint_eq(kvpt.head.where, kvpt_at(struct kvp_limit, mask));
	}
	kvpt_ok(kvpt_create(b, 1, tok, 1, NULL));
}
END_TEST

START_TEST(test_limit_of_an_unknown_family)
{
	kvpt_expect(kvpt_limit(a, id_b, KVP_LIMIT_BLOCKS, 2, 0), -EINVAL, KVP_REASON_FAMILY);
	ck_assert_uint_eq(kvpt.head.where, 2);
	kvpt_expect(kvpt_limit(a, id_b, KVP_LIMIT_SEQS, ~0U, 0), -EINVAL, KVP_REASON_FAMILY);
}
END_TEST

START_TEST(test_limit_of_an_unknown_client)
{
	kvpt_expect(kvpt_limit(a, 3, KVP_LIMIT_SEQS, 0, 0), -ENOENT, KVP_REASON_NO_CLIENT);
	kvpt_close(&env, b);
	kvpt_expect(kvpt_limit(a, id_b, KVP_LIMIT_SEQS, 0, 0), -ENOENT, KVP_REASON_NO_CLIENT);
}
END_TEST

/* Each limit is exact, alone, and can be taken away again. */

START_TEST(test_limit_blocks)
{
	u64 ids[4];

	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_BLOCKS, 1, 3));
	ck_assert_uint_eq(of(id_b, 1).limit, 3);
	ck_assert_uint_eq(of(id_b, 0).limit, KVP_UNLIMITED);
	kvpt_expect(kvpt_alloc(b, 1, 4, ids), -EDQUOT, KVP_REASON_LIMIT_BLOCKS);
	ck_assert_uint_eq(kvpt.head.where, 1);
	kvpt_ok(kvpt_alloc(b, 1, 3, ids));
	kvpt_expect(kvpt_alloc(b, 1, 1, ids), -EDQUOT, KVP_REASON_LIMIT_BLOCKS);
	/* Other families, other clients. */
	kvpt_ok(kvpt_alloc(b, 0, 4, ids));
	kvpt_ok(kvpt_alloc(a, 1, 4, ids));
	/* Below what is there: nothing is taken away. */
	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_BLOCKS, 1, 1));
	ck_assert_uint_eq(of(id_b, 1).charged, 3);
	kvpt_expect(kvpt_alloc(b, 1, 1, ids), -EDQUOT, KVP_REASON_LIMIT_BLOCKS);
	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_BLOCKS, 1, KVP_UNLIMITED));
	kvpt_ok(kvpt_alloc(b, 1, 1, ids));
}
END_TEST

START_TEST(test_limit_slots)
{
	u64 seq;

	/* Two blocks of each family are four slots. */
	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_SLOTS, 0, 4));
	kvpt_expect(kvpt_create(b, 1, tok, 9, NULL), -EDQUOT, KVP_REASON_LIMIT_SLOTS);
	kvpt_ok(kvpt_create(b, 1, tok, 8, &seq));
	kvpt_expect(kvpt_append(b, seq, tok, 1), -EDQUOT, KVP_REASON_LIMIT_SLOTS);
	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_SLOTS, 0, KVP_UNLIMITED));
	kvpt_ok(kvpt_append(b, seq, tok, 1));
}
END_TEST

START_TEST(test_limit_seqs)
{
	u64 seq;

	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_SEQS, 0, 1));
	kvpt_ok(kvpt_create(b, 1, tok, 1, &seq));
	kvpt_expect(kvpt_create(b, 1, tok, 1, NULL), -EDQUOT, KVP_REASON_LIMIT_SEQS);
	kvpt_ok(kvpt_free(b, seq));
	kvpt_ok(kvpt_create(b, 1, tok, 1, &seq));
}
END_TEST

START_TEST(test_limit_raw)
{
	u64 ids[3];

	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_RAW, 0, 2));
	kvpt_expect(kvpt_alloc(b, 0, 3, ids), -EDQUOT, KVP_REASON_LIMIT_RAW);
	kvpt_ok(kvpt_alloc(b, 0, 1, ids));
	kvpt_ok(kvpt_ref(b, ids, 1));
	kvpt_expect(kvpt_ref(b, ids, 1), -EDQUOT, KVP_REASON_LIMIT_RAW);
}
END_TEST

START_TEST(test_limit_matches)
{
	u64 match;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_MATCHES, 0, 1));
	kvpt_ok(kvpt_match(b, 1, tok, 8, &match));
	kvpt_expect(kvpt_match(b, 1, tok, 8, &match), -EDQUOT, KVP_REASON_LIMIT_MATCHES);
	kvpt_ok(kvpt_match(b, 1, tok, 8, NULL));
}
END_TEST

START_TEST(test_limit_metadata)
{
	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_METADATA, 0, 0));
	kvpt_expect(kvpt_create(b, 1, tok, 1, NULL), -EDQUOT, KVP_REASON_LIMIT_METADATA);
	kvpt_ok(kvpt_create(a, 1, tok, 1, NULL));
	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_METADATA, 0, KVP_UNLIMITED));
	kvpt_ok(kvpt_create(b, 1, tok, 1, NULL));
}
END_TEST

START_TEST(test_limits_that_the_mask_leaves_alone)
{
	u64 ids[2];

	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_SEQS, 0, 0));
	kvpt_ok(kvpt_limit(a, id_b, 0, 0, 0));
	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_SLOTS, 0, 5));
	kvpt_expect(kvpt_create(b, 1, NULL, 0, NULL), -EDQUOT, KVP_REASON_LIMIT_SEQS);
	/* Blocks, raw references and metadata are without a limit still. */
	kvpt_ok(kvpt_alloc(b, 0, 2, ids));
}
END_TEST

START_TEST(test_limits_of_those_to_come)
{
	struct kvp_client *c;
	u64 ids[4];

	kvpt_ok(kvpt_limit(a, 0, KVP_LIMIT_BLOCKS, 0, 3));
	kvpt_ok(kvpt_limit(a, 0, KVP_LIMIT_SEQS, 0, 0));
	kvpt_ok(kvpt_alloc(b, 0, 4, ids));
	c = kvpt_join(&env, 1002, 0);
	kvpt_expect(kvpt_alloc(c, 0, 4, ids), -EDQUOT, KVP_REASON_LIMIT_BLOCKS);
	kvpt_ok(kvpt_alloc(c, 0, 3, ids));
	kvpt_expect(kvpt_create(c, 1, NULL, 0, NULL), -EDQUOT, KVP_REASON_LIMIT_SEQS);
	/* Its own limits are its own. */
	kvpt_ok(kvpt_limit(a, kvpt_client_id(c), KVP_LIMIT_SEQS, 0, 1));
	kvpt_ok(kvpt_create(c, 1, NULL, 0, NULL));
	c = kvpt_join(&env, 1003, 0);
	kvpt_expect(kvpt_create(c, 1, NULL, 0, NULL), -EDQUOT, KVP_REASON_LIMIT_SEQS);
}
END_TEST

/* ---- guarantees ---- */

static void guarantee(u64 client, u64 guaranteed, u64 unmet)
{
	struct kvp_family_stats stats = of(client, 0);

	ck_assert_uint_eq(stats.guaranteed, guaranteed);
	ck_assert_uint_eq(stats.unmet, unmet);
}

START_TEST(test_guarantee_is_left_by_others)
{
	u64 ids[16];

	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_GUARANTEE, 0, 6));
	guarantee(id_b, 6, 6);
	guarantee(0, 6, 6);
	kvpt_expect(kvpt_alloc(a, 0, 11, ids), -ENOSPC, KVP_REASON_GUARANTEED);
	ck_assert_uint_eq(kvpt.head.where, 0);
	kvpt_ok(kvpt_alloc(a, 0, 10, ids));
	/* For whom it is, it is there, and more if there is more. */
	kvpt_ok(kvpt_unref(a, ids, 2));
	kvpt_ok(kvpt_alloc(b, 0, 8, ids));
	guarantee(id_b, 6, 0);
	guarantee(0, 6, 0);
	/* What it gives back is its again. */
	kvpt_ok(kvpt_unref(b, ids, 5));
	guarantee(id_b, 6, 3);
	kvpt_expect(kvpt_alloc(a, 0, 3, ids), -ENOSPC, KVP_REASON_GUARANTEED);
	kvpt_ok(kvpt_alloc(a, 0, 2, ids));
}
END_TEST

START_TEST(test_guarantee_of_the_other_family)
{
	u64 ids[16];

	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_GUARANTEE, 1, 16));
	kvpt_ok(kvpt_alloc(a, 0, 16, ids));
	kvpt_expect(kvpt_alloc(a, 1, 1, ids), -ENOSPC, KVP_REASON_GUARANTEED);
	ck_assert_uint_eq(kvpt.head.where, 1);
	guarantee(id_b, 0, 0);
	ck_assert_uint_eq(of(id_b, 1).unmet, 16);
}
END_TEST

START_TEST(test_guarantees_that_do_not_fit)
{
	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_GUARANTEE, 0, 10));
	kvpt_expect_refused(a, kvpt_limit(a, id_a, KVP_LIMIT_GUARANTEE, 0, 7), -EFBIG,
			    KVP_REASON_NEVER_FITS);
	kvpt_expect_refused(a, kvpt_limit(a, id_a, KVP_LIMIT_GUARANTEE, 1, 17), -EFBIG,
			    KVP_REASON_NEVER_FITS);
	kvpt_expect(kvpt_limit(a, id_a, KVP_LIMIT_GUARANTEE, 1, KVP_UNLIMITED), -EFBIG,
		    KVP_REASON_NEVER_FITS);
	ck_assert_uint_eq(kvpt.head.where, 1);
	/* Nothing of such a call is applied. */
	kvpt_expect(kvpt_limit(a, id_a, KVP_LIMIT_ALL, 0, 7), -EFBIG, KVP_REASON_NEVER_FITS);
	ck_assert_uint_eq(of(id_a, 0).limit, KVP_UNLIMITED);
	kvpt_ok(kvpt_limit(a, id_a, KVP_LIMIT_GUARANTEE, 0, 6));
	guarantee(0, 16, 16);
	/* Its own does not count against itself. */
	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_GUARANTEE, 0, 9));
	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_GUARANTEE, 0, 10));
	kvpt_expect(kvpt_limit(a, id_b, KVP_LIMIT_GUARANTEE, 0, 11), -EFBIG,
		    KVP_REASON_NEVER_FITS);
	guarantee(0, 16, 16);
}
END_TEST

START_TEST(test_guarantee_changed_while_blocks_are_charged)
{
	u64 ids[5];

	kvpt_ok(kvpt_alloc(b, 0, 5, ids));
	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_GUARANTEE, 0, 8));
	guarantee(0, 8, 3);
	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_GUARANTEE, 0, 4));
	guarantee(0, 4, 0);
	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_GUARANTEE, 0, 5));
	guarantee(0, 5, 0);
	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_GUARANTEE, 0, 0));
	guarantee(0, 0, 0);
}
END_TEST

START_TEST(test_guarantee_ends_with_its_client)
{
	u64 ids[16];

	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_GUARANTEE, 0, 16));
	kvpt_ok(kvpt_alloc(b, 0, 4, ids));
	kvpt_close(&env, b);
	guarantee(0, 0, 0);
	kvpt_ok(kvpt_alloc(a, 0, 16, ids));
}
END_TEST

START_TEST(test_guarantee_of_those_to_come)
{
	struct kvp_client *c;

	kvpt_expect(kvpt_limit(a, 0, KVP_LIMIT_GUARANTEE, 0, 17), -EFBIG,
		    KVP_REASON_NEVER_FITS);
	kvpt_ok(kvpt_limit(a, 0, KVP_LIMIT_GUARANTEE, 0, 6));
	guarantee(0, 0, 0);
	kvpt_join(&env, 1002, 0);
	guarantee(0, 6, 6);
	c = kvpt_join(&env, 1003, 0);
	guarantee(0, 12, 12);
	guarantee(kvpt_client_id(c), 6, 6);

	/* For a third there is no room: it does not get less. */
	c = kvpt_open(&env, 1004);
	kvpt_expect_refused(a, kvpt_pool_attach(c, KVPT_POOL_NAME, 0), -EFBIG,
			    KVP_REASON_NEVER_FITS);
	ck_assert_uint_eq(kvpt.pool_attach.rights, 0);
	kvpt_ok(kvpt_limit(a, 0, KVP_LIMIT_GUARANTEE, 0, 4));
	kvpt_ok(kvpt_pool_attach(c, KVPT_POOL_NAME, 0));
	guarantee(0, 16, 16);
}
END_TEST

/* ---- charges ---- */

START_TEST(test_who_is_charged)
{
	u64 seq = kvpt_published(a, 1, tok, 8);
	u64 other;

	ck_assert_uint_eq(of(id_a, 0).charged, 2);
	/* Who shares what is held pays nothing. */
	kvpt_ok(kvpt_create(b, 1, tok, 8, &other));
	ck_assert_uint_eq(kvpt.seq_create.matched, 8);
	ck_assert_uint_eq(of(id_b, 0).charged, 0);
	/* Who took it pays until the last one lets go. */
	kvpt_ok(kvpt_free(a, seq));
	ck_assert_uint_eq(of(id_a, 0).charged, 2);
	kvpt_ok(kvpt_free(b, other));
	ck_assert_uint_eq(of(id_a, 0).charged, 0);
	ck_assert_uint_eq(of(0, 0).charged, 0);
	ck_assert_uint_eq(of(0, 0).state[KVP_BLOCK_IDLE], 2);
	/* The first to reference what was idle pays then. */
	kvpt_ok(kvpt_create(b, 1, tok, 8, &other));
	ck_assert_uint_eq(of(id_b, 0).charged, 2);
	ck_assert_uint_eq(of(id_a, 0).charged, 0);
}
END_TEST

START_TEST(test_account_outlives_its_client)
{
	struct kvp_client *c;
	u64 seq, ids[2];
	u32 slot = b->slot;

	kvpt_published(b, 1, tok, 8);
	kvpt_ok(kvpt_create(a, 1, tok, 8, &seq));
	kvpt_close(&env, b);
	/* The blocks are a's now, and still charged to who is gone. */
	ck_assert_uint_eq(of(0, 0).charged, 2);
	ck_assert_uint_eq(of(id_a, 0).charged, 0);
	kvpt_expect(kvpt_stats(a, id_b, NULL, 0), -ENOENT, KVP_REASON_NO_CLIENT);

	c = kvpt_join(&env, 1002, 0);
	ck_assert_uint_ne(c->slot, slot);
	ck_assert_uint_eq(of(kvpt_client_id(c), 0).charged, 0);
	kvpt_ok(kvpt_free(a, seq));
	ck_assert_uint_eq(of(0, 0).charged, 0);

	/* Nothing is charged there any more: another client can have it. */
	c = kvpt_join(&env, 1003, 0);
	ck_assert_uint_eq(c->slot, slot);
	ck_assert_uint_eq(of(kvpt_client_id(c), 0).charged, 0);
	kvpt_ok(kvpt_alloc(c, 0, 2, ids));
	ck_assert_uint_eq(of(kvpt_client_id(c), 0).charged, 2);
}
END_TEST

START_TEST(test_account_is_new_for_a_new_client)
{
	struct kvp_client *c;
	u32 slot = b->slot;

	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_SEQS, 0, 0));
	kvpt_ok(kvpt_limit(a, id_b, KVP_LIMIT_GUARANTEE, 0, 3));
	kvpt_close(&env, b);
	c = kvpt_join(&env, 1002, 0);
	ck_assert_uint_eq(c->slot, slot);
	kvpt_ok(kvpt_create(c, 1, tok, 1, NULL));
	guarantee(kvpt_client_id(c), 0, 0);
}
END_TEST

/* ---- death ---- */

static void expect_nothing_held(void)
{
	struct kvp_stats stats = kvpt_counters_of(a, 0);

	ck_assert_uint_eq(stats.nr_clients, 1);
	ck_assert_uint_eq(stats.seqs, 0);
	ck_assert_uint_eq(stats.slots, 0);
	ck_assert_uint_eq(stats.raw, 0);
	ck_assert_uint_eq(stats.matches, 0);
	ck_assert_uint_eq(of(0, 0).state[KVP_BLOCK_HELD], 0);
	ck_assert_uint_eq(of(0, 1).state[KVP_BLOCK_HELD], 0);
	ck_assert_uint_eq(of(0, 0).charged, 0);
}

START_TEST(test_death_gives_everything_back)
{
	u64 seq, child, match, ids[3];

	kvpt_published(b, 1, tok, 8);
	seq = kvpt_computed(b, 2, tok, 6);
	kvpt_ok(kvpt_reserve(b, seq, 2));
	/* With copies that it still owes. */
	kvpt_ok(kvpt_fork(b, seq, KVP_POS_END, &child));
	ck_assert_uint_eq(kvpt.fork.nr_copies, 2);
	kvpt_ok(kvpt_match(b, 1, tok, 8, &match));
	kvpt_ok(kvpt_alloc(b, 1, 3, ids));
	kvpt_ok(kvpt_ref(b, ids, 2));
	kvpt_close(&env, b);
	expect_nothing_held();
	/* What it published stays. */
	ck_assert_uint_eq(of(0, 0).state[KVP_BLOCK_IDLE], 2);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
	/* Its ids are nobody's. */
	kvpt_expect(kvpt_unref(a, ids, 1), -ESTALE, KVP_REASON_GENERATION);
}
END_TEST

START_TEST(test_death_allocates_nothing)
{
	u64 seq, match, id;

	seq = kvpt_published(b, 1, tok, 8);
	kvpt_ok(kvpt_append(b, seq, tok, 3));
	kvpt_ok(kvpt_match(b, 1, tok, 8, &match));
	kvpt_ok(kvpt_alloc(b, 1, 1, &id));
	kvp_shim_fail_alloc = 1;
	kvpt_close(&env, b);
	ck_assert_int_eq(kvp_shim_fail_alloc, 1);
	kvp_shim_fail_alloc = 0;
	expect_nothing_held();
}
END_TEST

START_TEST(test_death_with_more_than_a_slice)
{
	static u64 ids[700];
	struct kvp_client *c;
	u64 match;
	u32 i;

	/* In a pool where they fit. */
	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(4096, 4),
		      KVPT_DENSE(4096, 4) }, 2);
	c = kvpt_join(&env, 1002, 0);
	kvpt_make_published(a, 1, tok, 8);
	for (i = 0; i < 700; i++) {
		kvpt_ok(kvpt_create(c, 2, tok, 5, NULL));
		kvpt_ok(kvpt_match(c, 1, tok, 8, &match));
	}
	kvpt_ok(kvpt_alloc(c, 0, 700, ids));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).seqs, 700);
	kvpt_close(&env, c);
	expect_nothing_held();
	ck_assert_uint_eq(of(0, 0).state[KVP_BLOCK_FREE], 4094);
}
END_TEST

START_TEST(test_death_in_a_destroyed_pool)
{
	kvpt_ok(kvpt_create(b, 1, tok, 9, NULL));
	kvpt_ok(kvpt_pool_destroy(a, KVPT_POOL_NAME, KVP_DESTROY_FORCE));
	kvpt_expect(kvpt_create(b, 1, tok, 1, NULL), -EIO, KVP_REASON_DESTROYED);
	kvpt_close(&env, b);
	kvpt_close(&env, a);
	/* For the teardown. */
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(16, 4) }, 1);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("client");
	TCase *opens = tcase_create("opens");
	TCase *limits = tcase_create("limits");
	TCase *guarantees = tcase_create("guarantees");
	TCase *charges = tcase_create("charges");
	TCase *death = tcase_create("death");

	tcase_add_checked_fixture(opens, setup, teardown);
	tcase_add_test(opens, test_ids_are_never_used_again);
	tcase_add_test(opens, test_close_of_one_that_never_attached);
	tcase_add_test(opens, test_attach_without_memory);
	tcase_add_test(opens, test_as_many_clients_as_there_may_be);
	suite_add_tcase(s, opens);

	tcase_add_checked_fixture(limits, setup, teardown);
	tcase_add_test(limits, test_limit_of_an_unknown_kind);
	tcase_add_test(limits, test_limit_of_an_unknown_family);
	tcase_add_test(limits, test_limit_of_an_unknown_client);
	tcase_add_test(limits, test_limit_blocks);
	tcase_add_test(limits, test_limit_slots);
	tcase_add_test(limits, test_limit_seqs);
	tcase_add_test(limits, test_limit_raw);
	tcase_add_test(limits, test_limit_matches);
	tcase_add_test(limits, test_limit_metadata);
	tcase_add_test(limits, test_limits_that_the_mask_leaves_alone);
	tcase_add_test(limits, test_limits_of_those_to_come);
	suite_add_tcase(s, limits);

	tcase_add_checked_fixture(guarantees, setup, teardown);
	tcase_add_test(guarantees, test_guarantee_is_left_by_others);
	tcase_add_test(guarantees, test_guarantee_of_the_other_family);
	tcase_add_test(guarantees, test_guarantees_that_do_not_fit);
	tcase_add_test(guarantees, test_guarantee_changed_while_blocks_are_charged);
	tcase_add_test(guarantees, test_guarantee_ends_with_its_client);
	tcase_add_test(guarantees, test_guarantee_of_those_to_come);
	suite_add_tcase(s, guarantees);

	tcase_add_checked_fixture(charges, setup, teardown);
	tcase_add_test(charges, test_who_is_charged);
	tcase_add_test(charges, test_account_outlives_its_client);
	tcase_add_test(charges, test_account_is_new_for_a_new_client);
	suite_add_tcase(s, charges);

	tcase_add_checked_fixture(death, setup, teardown);
	tcase_add_test(death, test_death_gives_everything_back);
	tcase_add_test(death, test_death_allocates_nothing);
	tcase_add_test(death, test_death_with_more_than_a_slice);
	tcase_add_test(death, test_death_in_a_destroyed_pool);
	suite_add_tcase(s, death);
	return s;
}

int main(void)
{
	setenv("CK_FORK", "no", 0);
	return kvpt_run(suite());
}

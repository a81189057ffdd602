// SPDX-License-Identifier: MIT
/*
 * Pools with several families: DENSE keeps all rows, WINDOW the last ones, STATE one slot a
 * sequence. Every operation happens in all of them or in none. How windows match, and what
 * cannot be done once they are gone, is in test_windows.c.
 */
#include <check.h>

#include "unit.h"

#define D	0	/* DENSE */
#define W	1	/* WINDOW of 6 tokens */
#define S	2	/* STATE */

static struct kvpt_env env;
static struct kvp_client *a;
static u32 tok[64];

static void remake(const struct kvp_family_desc *families, u32 nr)
{
	if (a)
		kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool(&env, families, nr);
}

/* All three. */
static void setup(void)
{
	static const struct kvp_family_desc families[] = {
		KVPT_DENSE(16, 4), KVPT_WINDOW(12, 4, 6), KVPT_STATE(4),
	};

	a = NULL;
	remake(families, 3);
	kvpt_tokens(tok, 64, 1);
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

/* ---- tables ---- */

START_TEST(test_each_family_has_its_table)
{
	u64 seq, blocks[3];

	kvpt_ok(kvpt_create(a, 1, tok, 10, &seq));
	kvpt_expect_table(a, seq, D, blocks, 3);
	kvpt_expect_table(a, seq, W, blocks, 3);
	kvpt_expect_table(a, seq, S, blocks, 1);
	kvpt_expect_blocks(a, D, 13, 3, 0);
	kvpt_expect_blocks(a, W, 9, 3, 0);
	kvpt_expect_blocks(a, S, 3, 1, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).slots, 7);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1 + 3);
	kvpt_ok(kvpt_append(a, seq, tok + 10, 10));
	kvpt_expect_blocks(a, D, 11, 5, 0);
	kvpt_expect_blocks(a, W, 7, 5, 0);
	kvpt_expect_blocks(a, S, 3, 1, 0);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_expect_blocks(a, D, 16, 0, 0);
	kvpt_expect_blocks(a, W, 12, 0, 0);
	kvpt_expect_blocks(a, S, 4, 0, 0);
}
END_TEST

START_TEST(test_empty_sequence_has_its_state_slot)
{
	u64 seq, block;

	kvpt_ok(kvpt_create(a, 1, NULL, 0, &seq));
	kvpt_expect_table(a, seq, S, &block, 1);
	ck_assert_uint_eq(KVP_BLOCK_FAMILY(block), S);
	kvpt_expect_blocks(a, D, 16, 0, 0);
	kvpt_expect_blocks(a, S, 3, 1, 0);
}
END_TEST

START_TEST(test_blocks_of_different_sizes)
{
	static const struct kvp_family_desc families[] = {
		KVPT_DENSE(16, 4), KVPT_DENSE(16, 6), KVPT_DENSE(16, 3),
	};
	struct kvp_pool_info info = { };
	u64 seq, blocks[8];

	remake(families, 3);
	ck_assert_int_eq(kvpt_do(a, KVP_OP_POOL_INFO, &info), 0);
	ck_assert_uint_eq(info.index_tokens, 12);
	kvpt_ok(kvpt_create(a, 1, tok, 25, &seq));
	kvpt_expect_table(a, seq, 0, blocks, 7);
	kvpt_expect_table(a, seq, 1, blocks, 5);
	kvpt_ok(kvpt_table(a, seq, 2, NULL, 0));
	ck_assert_uint_eq(kvpt.table.total, 9);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1 + 3);
	kvpt_ok(kvpt_advance(a, seq, 25));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 24);
	kvpt_ok(kvpt_truncate(a, seq, 13));
	kvpt_expect_blocks(a, 0, 16 - 7 + 1, 4, 2);
	kvpt_expect_blocks(a, 1, 16 - 5 + 1, 3, 1);
	kvpt_expect_blocks(a, 2, 16 - 9 + 1, 5, 3);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_reclaim(a, 1));
	kvpt_expect_blocks(a, 0, 13, 0, 3);
	kvpt_expect_blocks(a, 1, 14, 0, 2);
	kvpt_expect_blocks(a, 2, 12, 0, 4);
}
END_TEST

/* ---- windows are released by what is computed ---- */

START_TEST(test_window_is_released_by_computed)
{
	/* computed, null slots: slots before floor((computed + 1 - 6) / 4) */
	static const u32 steps[][2] = { { 0, 0 }, { 5, 0 }, { 8, 0 }, { 9, 1 }, { 12, 1 },
					{ 13, 3 }, { 16, 3 }, { 20, 7 } };
	u32 i, gone;
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 20, &seq));
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		kvpt_ok(kvpt_advance(a, seq, steps[i][0]));
		ck_assert_uint_eq(kvpt_nulls(a, seq, W), steps[i][1]);
		ck_assert_uint_eq(kvpt.table.total, 5);
		gone = __builtin_popcount(steps[i][1]);
		kvpt_expect_blocks(a, W, 7 + gone, 5 - gone, 0);
		kvpt_expect_blocks(a, D, 11, 5, 0);
		kvpt_audit_clean(a);
	}
	ck_assert_uint_eq(kvpt_nulls(a, seq, D), 0);
	/* Null slots are slots. */
	ck_assert_uint_eq(kvpt_counters_of(a, 0).slots, 11);
}
END_TEST

START_TEST(test_window_is_not_released_by_tokens)
{
	static u32 many[160];
	u64 seq;

	remake((struct kvp_family_desc[]){ KVPT_DENSE(8, 32), KVPT_WINDOW(8, 32, 128) }, 2);
	kvpt_tokens(many, 160, 1);
	kvpt_ok(kvpt_create(a, 1, many, 160, &seq));
	/* Row 31 is still attended to by the token after 158. */
	kvpt_ok(kvpt_advance(a, seq, 158));
	ck_assert_uint_eq(kvpt_nulls(a, seq, W), 0);
	kvpt_ok(kvpt_advance(a, seq, 159));
	ck_assert_uint_eq(kvpt_nulls(a, seq, W), 1);
}
END_TEST

START_TEST(test_window_of_one)
{
	u64 seq;

	remake((struct kvp_family_desc[]){ KVPT_DENSE(16, 4), KVPT_WINDOW(12, 4, 1) }, 2);
	kvpt_ok(kvpt_create(a, 1, tok, 12, &seq));
	kvpt_ok(kvpt_advance(a, seq, 3));
	ck_assert_uint_eq(kvpt_nulls(a, seq, W), 0);
	kvpt_ok(kvpt_advance(a, seq, 12));
	ck_assert_uint_eq(kvpt_nulls(a, seq, W), 7);
	kvpt_expect_blocks(a, W, 12, 0, 0);
	kvpt_ok(kvpt_publish(a, seq));
	/* The next token attends to itself only, so nothing is missing. */
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
	kvpt_ok(kvpt_create(a, 1, tok, 13, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 12);
	ck_assert_uint_eq(kvpt_nulls(a, seq, W), 7);
}
END_TEST

START_TEST(test_released_blocks_have_new_ids)
{
	u64 seq, blocks[5];

	kvpt_ok(kvpt_create(a, 1, tok, 20, &seq));
	kvpt_expect_table(a, seq, W, blocks, 5);
	kvpt_ok(kvpt_advance(a, seq, 20));
	kvpt_refused(&env, a, kvpt_ref(a, &blocks[0], 1), -ESTALE, KVP_REASON_GENERATION, 0);
	kvpt_refused(&env, a, kvpt_ref_from(a, seq, 0, &blocks[0], 1), -ESTALE,
		     KVP_REASON_GENERATION, 0);
}
END_TEST

/* ---- state ---- */

START_TEST(test_state_cannot_be_matched_without_a_snapshot)
{
	u64 seq, match = 1;

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_expect_blocks(a, D, 13, 0, 3);
	kvpt_expect_blocks(a, S, 4, 0, 0);
	kvpt_ok(kvpt_match(a, 1, tok, 12, &match));
	ck_assert_uint_eq(kvpt.match.matched, 0);
	ck_assert_uint_eq(match, 0);
	kvpt_ok(kvpt_create(a, 1, tok, 12, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 0);
	kvpt_expect_lengths(a, seq, 12, 0, 12, 0);
	kvpt_expect_blocks(a, D, 10, 3, 3);
	kvpt_ok(kvpt_create_flags(a, KVP_SEQ_MATCH_ONLY, 1, tok, 12, &seq));
	kvpt_expect_lengths(a, seq, 0, 0, 0, 0);
	kvpt_expect_blocks(a, S, 2, 2, 0);
}
END_TEST

START_TEST(test_what_is_not_used_is_not_charged)
{
	u64 self = kvpt_client_id(a);

	kvpt_ok(kvpt_make_published(a, 1, tok, 20));
	kvpt_ok(kvpt_limit(a, self, KVP_LIMIT_BLOCKS, D, 2));
	kvpt_ok(kvpt_limit(a, self, KVP_LIMIT_SLOTS, 0, 1));
	kvpt_ok(kvpt_create_flags(a, KVP_SEQ_MATCH_ONLY, 1, tok, 20, NULL));
	ck_assert_uint_eq(kvpt_family_of(a, KVP_STATS_SELF, D).charged, 0);
}
END_TEST

START_TEST(test_fork_copies_the_state)
{
	u64 seq, child, mine, theirs;

	seq = kvpt_computed(a, 1, tok, 8);
	kvpt_expect_table(a, seq, S, &mine, 1);
	kvpt_ok(kvpt_fork(a, seq, KVP_POS_END, &child));
	ck_assert_uint_eq(kvpt.fork.tokens, 8);
	ck_assert_uint_eq(kvpt.fork.nr_copies, 1);
	kvpt_expect_table(a, child, S, &theirs, 1);
	ck_assert_uint_ne(mine, theirs);
	ck_assert_uint_eq(kvpt_copies[0].src, mine);
	ck_assert_uint_eq(kvpt_copies[0].dst, theirs);
	ck_assert_uint_eq(kvpt_copies[0].tokens, 1);
	kvpt_expect_blocks(a, S, 2, 2, 0);
	kvpt_expect_blocks(a, D, 14, 2, 0);
	ck_assert_uint_eq(kvpt_count(a, mine), 2);
	kvpt_refused(&env, a, kvpt_append(a, child, tok, 1), -EBUSY,
		     KVP_REASON_COPY_PENDING, 0);
	kvpt_ok(kvpt_copied(a, child));
	ck_assert_uint_eq(kvpt_count(a, mine), 1);
	kvpt_ok(kvpt_append(a, child, tok, 1));
}
END_TEST

START_TEST(test_fork_copies_rows_of_all_families)
{
	const struct kvp_seq_create with = { .reserve = 4 };
	u64 seq, child, was[3], is[3];
	u32 i;

	kvpt_ok(kvpt_create_with(a, &with, 1, tok, 6, &seq));
	kvpt_ok(kvpt_advance(a, seq, 6));
	kvpt_expect_table(a, seq, D, was, 3);
	kvpt_ok(kvpt_fork(a, seq, 6, &child));
	ck_assert_uint_eq(kvpt.fork.nr_copies, 3);
	for (i = 0; i < 3; i++) {
		ck_assert_uint_eq(KVP_BLOCK_FAMILY(kvpt_copies[i].src), i);
		ck_assert_uint_eq(KVP_BLOCK_FAMILY(kvpt_copies[i].dst), i);
		ck_assert_uint_eq(kvpt_copies[i].tokens, i == S ? 1 : 2);
	}
	kvpt_expect_table(a, child, D, is, 2);
	ck_assert_uint_eq(kvpt_copies[D].src, was[1]);
	ck_assert_uint_eq(kvpt_copies[D].dst, is[1]);
	kvpt_expect_blocks(a, D, 12, 4, 0);
	kvpt_expect_blocks(a, W, 8, 4, 0);
	kvpt_ok(kvpt_free(a, child));
	kvpt_expect_blocks(a, W, 9, 3, 0);
	kvpt_expect_blocks(a, S, 3, 1, 0);
}
END_TEST

START_TEST(test_fork_that_fails_late_counts_no_copies)
{
	const struct kvp_seq_create with = { .reserve = 4 };
	struct kvp_stats was, is;
	struct kvp_block *block;
	u64 seq, window[3];

	kvpt_ok(kvpt_create_with(a, &with, 1, tok, 6, &seq));
	kvpt_ok(kvpt_advance(a, seq, 6));
	kvpt_expect_table(a, seq, W, window, 3);
	block = kvpt_block_of(a, window[1]);
	was = kvpt_counters_of(a, 0);
	kvpt_expect(kvpt_while_set(block->count, ~0U, kvpt_fork(a, seq, 6, NULL)), -EOVERFLOW,
		    KVP_REASON_COUNT);
	ck_assert_uint_eq(kvpt.head.where, W);
	is = kvpt_counters_of(a, 0);
	ck_assert_uint_eq(is.copies, was.copies);
	ck_assert_uint_eq(is.slots, was.slots);
	ck_assert_uint_eq(is.nodes_used, was.nodes_used);
	kvpt_expect_blocks(a, D, 13, 3, 0);
	kvpt_expect_blocks(a, W, 9, 3, 0);
	kvpt_expect_blocks(a, S, 3, 1, 0);
}
END_TEST

START_TEST(test_state_cannot_be_forked_in_the_past)
{
	u64 seq = kvpt_computed(a, 1, tok, 8);

	kvpt_refused(&env, a, kvpt_fork(a, seq, 7, NULL), -EOPNOTSUPP,
		     KVP_REASON_STATE_FAMILY, S);
	kvpt_refused(&env, a, kvpt_fork(a, seq, 0, NULL), -EOPNOTSUPP,
		     KVP_REASON_STATE_FAMILY, S);
}
END_TEST

START_TEST(test_room_for_the_copy_of_the_state)
{
	struct kvp_seq_fork arg = { .seq = kvpt_computed(a, 1, tok, 8), .tokens = KVP_POS_END };

	ck_assert_int_eq(kvpt_do(a, KVP_OP_SEQ_FORK, &arg), -EOVERFLOW);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_COPIES);
	ck_assert_uint_eq(arg.head.where, 1);
	kvpt_expect_blocks(a, S, 3, 1, 0);
}
END_TEST

START_TEST(test_state_cannot_lose_tokens)
{
	u64 seq, was, is;

	kvpt_ok(kvpt_create(a, 1, tok, 12, &seq));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_refused(&env, a, kvpt_truncate(a, seq, 7), -EOPNOTSUPP,
		     KVP_REASON_STATE_FAMILY, S);
	kvpt_ok(kvpt_truncate(a, seq, 9));
	kvpt_ok(kvpt_truncate(a, seq, 8));
	kvpt_expect_lengths(a, seq, 8, 8, 8, 0);
	/* From the start again: that is no state lost but a new one. */
	kvpt_expect_table(a, seq, S, &was, 1);
	kvpt_ok(kvpt_truncate(a, seq, 0));
	kvpt_expect_lengths(a, seq, 0, 0, 0, 0);
	kvpt_expect_table(a, seq, S, &is, 1);
	ck_assert_uint_eq(was, is);
	kvpt_expect_blocks(a, D, 16, 0, 0);
	kvpt_expect_blocks(a, W, 12, 0, 0);
}
END_TEST

/* ---- all or nothing ---- */

START_TEST(test_one_full_family_refuses_all)
{
	u64 seq, window[10], state[3];

	kvpt_ok(kvpt_create(a, 1, tok, 4, &seq));
	kvpt_ok(kvpt_alloc(a, W, 10, window));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 8, NULL), -ENOSPC,
		     KVP_REASON_POOL_FULL, W);
	kvpt_refused(&env, a, kvpt_append(a, seq, tok, 8), -ENOSPC, KVP_REASON_POOL_FULL, W);
	kvpt_ok(kvpt_unref(a, window, 10));
	kvpt_ok(kvpt_alloc(a, S, 3, state));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 8, NULL), -ENOSPC,
		     KVP_REASON_POOL_FULL, S);
	kvpt_refused(&env, a, kvpt_create(a, 1, NULL, 0, NULL), -ENOSPC,
		     KVP_REASON_POOL_FULL, S);
	kvpt_refused(&env, a, kvpt_fork(a, seq, 0, NULL), -ENOSPC, KVP_REASON_POOL_FULL, S);
	kvpt_ok(kvpt_append(a, seq, tok, 8));
}
END_TEST

START_TEST(test_family_that_never_fits)
{
	const struct kvp_seq_create with = { .reserve = 48 };

	kvpt_refused(&env, a, kvpt_create_with(a, &with, 1, tok, 1, NULL), -EFBIG,
		     KVP_REASON_NEVER_FITS, W);
}
END_TEST

START_TEST(test_limits_name_the_family)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	u64 self = kvpt_client_id(a), theirs = kvpt_client_id(b);

	kvpt_ok(kvpt_limit(a, self, KVP_LIMIT_BLOCKS, W, 2));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 9, NULL), -EDQUOT,
		     KVP_REASON_LIMIT_BLOCKS, W);
	kvpt_ok(kvpt_limit(a, self, KVP_LIMIT_BLOCKS, W, KVP_UNLIMITED));
	kvpt_ok(kvpt_limit(a, theirs, KVP_LIMIT_GUARANTEE, S, 4));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 9, NULL), -ENOSPC,
		     KVP_REASON_GUARANTEED, S);
	kvpt_ok(kvpt_create(b, 1, tok, 9, NULL));
}
END_TEST

START_TEST(test_client_that_vanishes_gives_back_all_families)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	u64 seq = kvpt_computed(b, 1, tok, 14), child;

	kvpt_ok(kvpt_fork(b, seq, KVP_POS_END, &child));
	kvpt_ok(kvpt_publish(b, seq));
	kvpt_close(&env, b);
	kvpt_expect_blocks(a, D, 13, 0, 3);
	kvpt_expect_blocks(a, W, 11, 0, 1);
	kvpt_expect_blocks(a, S, 4, 0, 0);
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_reclaim(a, 100));
	kvpt_expect_blocks(a, D, 16, 0, 0);
	kvpt_expect_blocks(a, W, 12, 0, 0);
}
END_TEST

/* ---- nothing but states ---- */

START_TEST(test_pool_of_states_alone)
{
	u64 seq, child, block;

	remake((struct kvp_family_desc[]){ KVPT_STATE(3) }, 1);
	kvpt_ok(kvpt_pool_info(a, NULL, 0));
	ck_assert_uint_eq(kvpt.pool_info.index_tokens, 1);
	kvpt_ok(kvpt_create(a, 1, tok, 5, &seq));
	kvpt_expect_table(a, seq, 0, &block, 1);
	kvpt_ok(kvpt_append(a, seq, tok + 5, 3));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 8);
	kvpt_audit_clean(a);
	/* Nodes that nobody can begin with: the state at their end was not kept. */
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 0);
	kvpt_ok(kvpt_fork(a, seq, KVP_POS_END, &child));
	ck_assert_uint_eq(kvpt.fork.nr_copies, 1);
	ck_assert_uint_eq(kvpt_copies[0].src, block);
	kvpt_ok(kvpt_copied(a, child));
	kvpt_refused(&env, a, kvpt_truncate(a, seq, 4), -EOPNOTSUPP, KVP_REASON_STATE_FAMILY,
		     0);
	kvpt_expect_blocks(a, 0, 1, 2, 0);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_free(a, child));
	kvpt_expect_blocks(a, 0, 3, 0, 0);
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 8);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 0);
}
END_TEST

/* What runs out there, besides states, is nodes; a published one makes room. */
START_TEST(test_pool_of_states_alone_without_nodes)
{
	const struct kvp_pool_create with = { .nodes = 8 };
	struct kvp_family_desc family = KVPT_STATE(3);
	u64 seq, other;

	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool_with(&env, &with, &family, 1);
	seq = kvpt_published(a, 1, tok, 6);
	kvpt_refused(&env, a, kvpt_create(a, 1, tok + 6, 2, &other), -ENOSPC,
		     KVP_REASON_NODES, 0);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_create(a, 1, tok + 6, 7, &other));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).reclaimed_nodes, 6);
	kvpt_refused(&env, a, kvpt_append(a, other, tok, 1), -ENOSPC, KVP_REASON_NODES, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("families");
	TCase *tables = tcase_create("tables");
	TCase *state = tcase_create("state");

	tcase_add_checked_fixture(tables, setup, teardown);
	tcase_add_test(tables, test_each_family_has_its_table);
	tcase_add_test(tables, test_empty_sequence_has_its_state_slot);
	tcase_add_test(tables, test_blocks_of_different_sizes);
	tcase_add_test(tables, test_window_is_released_by_computed);
	tcase_add_test(tables, test_window_is_not_released_by_tokens);
	tcase_add_test(tables, test_window_of_one);
	tcase_add_test(tables, test_released_blocks_have_new_ids);
	tcase_add_test(tables, test_one_full_family_refuses_all);
	tcase_add_test(tables, test_family_that_never_fits);
	tcase_add_test(tables, test_limits_name_the_family);
	tcase_add_test(tables, test_client_that_vanishes_gives_back_all_families);
	suite_add_tcase(s, tables);

	tcase_add_checked_fixture(state, setup, teardown);
	tcase_add_test(state, test_state_cannot_be_matched_without_a_snapshot);
	tcase_add_test(state, test_what_is_not_used_is_not_charged);
	tcase_add_test(state, test_fork_copies_the_state);
	tcase_add_test(state, test_fork_copies_rows_of_all_families);
	tcase_add_test(state, test_fork_that_fails_late_counts_no_copies);
	tcase_add_test(state, test_state_cannot_be_forked_in_the_past);
	tcase_add_test(state, test_room_for_the_copy_of_the_state);
	tcase_add_test(state, test_state_cannot_lose_tokens);
	tcase_add_test(state, test_pool_of_states_alone);
	tcase_add_test(state, test_pool_of_states_alone_without_nodes);
	suite_add_tcase(s, state);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

// SPDX-License-Identifier: MIT
/*
 * Faults that users of KV-cache managers have met where an accelerator was still at work, each as
 * a small scenario with the right result. The letter and number are those of the collection
 * they come from.
 */
#include <check.h>
#include <unistd.h>

#include "exportdoor.h"
#include "fences.h"
#include "unit.h"

static struct kvpt_env env;
static struct kvp_client *p, *q;
static u32 tok[192], tp, tq;
static u64 blocks[64];

/* A strict pool: what the dead may touch waits for an operator. */
static void pool(const struct kvp_family_desc *families, u32 nr)
{
	const struct kvp_pool_create with = { .head.flags = KVP_POOL_STRICT };

	kvpt_env_init(&env);
	env.door = kvpt_export_door(&kvp_inproc_door);
	p = kvpt_pool_with(&env, &with, families, nr);
	q = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	kvpt_tokens(tok, 192, 1);
	tp = kvpt_timeline(p);
	tq = kvpt_timeline(q);
}

static void setup(void)
{
	pool((struct kvp_family_desc[]){ KVPT_DENSE(8, 4) }, 1);
}

static void teardown(void)
{
	kvpt_audit_clean(p);
	kvpt_env_exit(&env);
}

static void remake(const struct kvp_family_desc *families, u32 nr)
{
	kvpt_env_exit(&env);
	pool(families, nr);
}

#define expect_states(family, free_, held_, idle_, back_)				\
do {											\
	kvpt_expect_blocks(p, family, free_, held_, idle_);				\
	ck_assert_uint_eq(kvpt_blocks(p, family, KVP_BLOCK_HELD_BACK), back_);		\
	kvpt_audit_clean(p);								\
} while (0)

/* ---- A: leaks on abort ---- */

START_TEST(test_a3_abort_while_a_load_is_on_its_way)
{
	u64 seq, load[2];

	/* A request whose rows are loaded from elsewhere; both kinds of tables. */
	kvpt_ok(kvpt_create(q, 1, tok, 16, &seq));
	kvpt_ok(kvpt_use_write(q, seq, tq, 1, 0, 16));
	kvpt_ok(kvpt_alloc(q, 0, 2, load));
	kvpt_ok(kvpt_use(q, (struct kvp_use_entry[]){ KVPT_BLOCK(load[0], tq, 2),
			 KVPT_BLOCK(load[1], tq, 2) }, 2));
	/* Aborted: nobody is left who would wait for the completion. */
	kvpt_ok(kvpt_free(q, seq));
	kvpt_ok(kvpt_unref(q, load, 2));
	expect_states(0, 2, 0, 0, 6);
	kvpt_refused(&env, p, kvpt_alloc(p, 0, 3, blocks), -ENOSPC, KVP_REASON_HELD_BACK, 0);
	/* It comes, and counts once, without anybody who asks for the request. */
	kvpt_pass(q, tq, 1);
	expect_states(0, 6, 0, 0, 2);
	kvpt_pass(q, tq, 2);
	expect_states(0, 8, 0, 0, 0);
	kvpt_pass(q, tq, 2);
	kvpt_ok(kvpt_alloc(p, 0, 8, blocks));
	ck_assert_uint_eq(kvpt_counters_of(p, 0).uses, 0);
	ck_assert_uint_eq(kvpt_counters_of(p, 0).zombies, 0);
	ck_assert_uint_eq(kvpt_family_of(q, KVP_STATS_SELF, 0).charged, 0);
}
END_TEST

/* ---- C: work goes on when a block changes hands ---- */

START_TEST(test_c1_freed_while_the_next_step_is_launched_already)
{
	u64 seq, b, mine, i;

	kvpt_ok(kvpt_create_with(p, &(struct kvp_seq_create){ .reserve = 2 }, 1, tok, 2, &seq));
	kvpt_ok(kvpt_table(p, seq, 0, &b, 1));
	kvpt_ok(kvpt_use_write(p, seq, tp, 1, 0, 2));
	kvpt_ok(kvpt_use_write(p, seq, tp, 2, 2, 3));
	kvpt_pass(p, tp, 1);
	kvpt_expect_lengths(p, seq, 2, 2, 4, 0);
	/* The request is finished by what step 1 said; step 2 is on its way. */
	kvpt_ok(kvpt_free(p, seq));
	for (i = 0; i < 7; i++) {
		kvpt_ok(kvpt_alloc(q, 0, 1, &mine));
		ck_assert_uint_ne(KVP_BLOCK_INDEX(mine), KVP_BLOCK_INDEX(b));
	}
	kvpt_refused(&env, p, kvpt_alloc(q, 0, 1, &mine), -ENOSPC, KVP_REASON_HELD_BACK, 0);
	kvpt_pass(p, tp, 2);
	kvpt_ok(kvpt_alloc(q, 0, 1, &mine));
	ck_assert_uint_eq(KVP_BLOCK_INDEX(mine), KVP_BLOCK_INDEX(b));
}
END_TEST

START_TEST(test_c2_windows_go_by_what_was_processed)
{
	u64 seq;

	remake((struct kvp_family_desc[]){ KVPT_DENSE(8, 32), KVPT_WINDOW(8, 32, 128) }, 2);
	kvpt_ok(kvpt_create(p, 1, tok, 160, &seq));
	kvpt_ok(kvpt_advance(p, seq, 158));
	ck_assert_uint_eq(kvpt_nulls(p, seq, 1), 0);
	/* Scheduled up to 159, and to 160; processed are 158. */
	kvpt_ok(kvpt_use_write(p, seq, tp, 1, 158, 159));
	kvpt_ok(kvpt_use_write(p, seq, tp, 2, 159, 160));
	ck_assert_uint_eq(kvpt_nulls(p, seq, 1), 0);
	expect_states(1, 3, 5, 0, 0);
	kvpt_ok(kvpt_alloc(q, 1, 3, blocks));
	kvpt_refused(&env, p, kvpt_alloc(q, 1, 1, blocks), -ENOSPC, KVP_REASON_POOL_FULL, 1);
	/* At 159 tokens the next one attends from 32 on: block 0 is not needed any more. */
	kvpt_pass(p, tp, 1);
	ck_assert_uint_eq(kvpt_nulls(p, seq, 1), 1);
	kvpt_ok(kvpt_alloc(q, 1, 1, blocks));
	kvpt_pass(p, tp, 2);
	ck_assert_uint_eq(kvpt_nulls(p, seq, 1), 1);
	expect_states(1, 0, 8, 0, 0);
}
END_TEST

START_TEST(test_c4_everything_preempted_drains_with_the_last_step)
{
	u64 seqs[4], ticket, i;

	for (i = 0; i < 4; i++) {
		kvpt_ok(kvpt_create(p, 1 + i, tok, 8, &seqs[i]));
		kvpt_ok(kvpt_use_write(p, seqs[i], tp, 7, 0, 8));
	}
	for (i = 0; i < 4; i++)
		kvpt_ok(kvpt_free(p, seqs[i]));
	expect_states(0, 0, 0, 0, 8);
	/* Who waits for room launches nothing, and the step that was last is all there is. */
	kvpt_ok(kvpt_admit_queue(p, 0, 8, &ticket));
	ck_assert_uint_eq(kvpt.admit.state, KVP_ADMIT_WAITING);
	kvp_client_scan(p);
	ck_assert_uint_eq(kvp_client_ready(p), 0);
	kvpt_pass(p, tp, 7);
	kvp_client_scan(p);
	ck_assert_uint_eq(kvp_client_ready(p), KVP_READY_TICKET);
	kvpt_ok(kvpt_admit_take(p, ticket));
	for (i = 0; i < 4; i++)
		kvpt_ok(kvpt_create(p, 1 + i, tok, 8, &seqs[i]));
	expect_states(0, 0, 8, 0, 0);
}
END_TEST

START_TEST(test_c6_a_finished_row_writes_once_more)
{
	u64 row, other, b[2], mine;

	/* Step 2 was built with the row of the request that ends with step 1. */
	kvpt_ok(kvpt_create_with(p, &(struct kvp_seq_create){ .reserve = 2 }, 1, tok, 6, &row));
	kvpt_ok(kvpt_create_with(p, &(struct kvp_seq_create){ .reserve = 2 }, 2, tok, 6, &other));
	kvpt_ok(kvpt_use(p, (struct kvp_use_entry[]){ KVPT_WRITE(row, tp, 1, 0, 7),
			 KVPT_WRITE(other, tp, 1, 0, 7) }, 2));
	kvpt_ok(kvpt_use(p, (struct kvp_use_entry[]){ KVPT_WRITE(row, tp, 2, 7, 8),
			 KVPT_WRITE(other, tp, 2, 7, 8) }, 2));
	kvpt_expect_table(p, row, 0, b, 2);
	kvpt_pass(p, tp, 1);
	kvpt_ok(kvpt_set_tokens(p, row, &tok[6], 1));
	kvpt_expect_lengths(p, row, 7, 7, 8, 0);
	/* Only what the row had is held back, and what is published of it can be found. */
	kvpt_ok(kvpt_publish(p, row));
	ck_assert_uint_eq(kvpt.publish.published, 4);
	kvpt_ok(kvpt_free(p, row));
	expect_states(0, 4, 2, 0, 2);
	ck_assert_uint_eq(kvpt_entry(p, b[1]).state, KVP_BLOCK_HELD_BACK);
	kvpt_ok(kvpt_alloc(q, 0, 4, blocks));
	kvpt_refused(&env, p, kvpt_alloc(q, 0, 1, &mine), -ENOSPC, KVP_REASON_HELD_BACK, 0);
	kvpt_pass(p, tp, 2);
	kvpt_ok(kvpt_alloc(q, 0, 1, &mine));
	ck_assert_uint_eq(KVP_BLOCK_INDEX(mine), KVP_BLOCK_INDEX(b[1]));
	expect_states(0, 0, 7, 1, 0);
}
END_TEST

START_TEST(test_c7_a_copy_out_waits_for_what_fills_the_block)
{
	u64 seq, child, copy;
	s32 fd;

	kvpt_ok(kvpt_create(p, 1, tok, 8, &seq));
	kvpt_ok(kvpt_use_write(p, seq, tp, 1, 0, 8));
	/* Whatever would hand the rows on says that they are not there. */
	kvpt_ok(kvpt_export(p, seq, &fd));
	kvpt_refused(&env, p, kvpt_import(q, fd, &copy), -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	kvpt_refused(&env, p, kvpt_fork(p, seq, 8, &child), -EINVAL, KVP_REASON_LENGTH, 0);
	kvpt_refused(&env, p, kvpt_advance(p, seq, 8), -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	kvpt_ok(kvpt_publish(p, seq));
	ck_assert_uint_eq(kvpt.publish.published, 0);
	ck_assert_uint_eq(kvpt_matched(q, 1, tok, 8), 0);
	ck_assert_uint_eq(kvpt_fence(p, tp, 1).passed, 0);
	kvpt_pass(p, tp, 1);
	ck_assert_uint_eq(kvpt_fence(p, tp, 1).passed, 1);
	kvpt_ok(kvpt_import(q, fd, &copy));
	kvpt_expect_lengths(q, copy, 8, 8, 8, 0);
	kvpt_ok(kvpt_publish(p, seq));
	ck_assert_uint_eq(kvpt_matched(q, 1, tok, 8), 8);
	/* The copy itself is a use: its source stays until it is made. */
	kvpt_ok(kvpt_use_read(q, copy, tq, 1));
	kvpt_ok(kvpt_free(q, copy));
	kvpt_export_close(fd);
	kvpt_ok(kvpt_free(p, seq));
	expect_states(0, 6, 0, 0, 2);
	kvpt_ok(kvpt_reclaim(p, 8));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 0);
	kvpt_pass(q, tq, 1);
	expect_states(0, 6, 0, 2, 0);
}
END_TEST

START_TEST(test_c10_no_lease_runs_out)
{
	u64 seq, mine;

	/* A pool whose grace time is as short as can be: it is for the dead only. */
	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	p = kvpt_pool_with(&env, &(struct kvp_pool_create){ .grace_ms = 1 },
			   (struct kvp_family_desc[]){ KVPT_DENSE(8, 4) }, 1);
	q = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	tq = kvpt_timeline(q);
	kvpt_ok(kvpt_make_published(p, 1, tok, 16));
	kvpt_ok(kvpt_match(q, 1, tok, 16, &mine));
	usleep(20000);
	kvpt_ok(kvpt_reclaim(p, 8));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 0);
	/* Nor does one of a reader that has let go, and whose copy goes on. */
	kvpt_ok(kvpt_create(q, 1, tok, 16, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 16);
	kvpt_ok(kvpt_release(q, mine));
	kvpt_ok(kvpt_use_read(q, seq, tq, 1));
	kvpt_ok(kvpt_free(q, seq));
	usleep(20000);
	kvpt_ok(kvpt_reclaim(p, 8));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 0);
	expect_states(0, 4, 0, 0, 4);
	kvpt_refused(&env, p, kvpt_alloc(p, 0, 5, blocks), -ENOSPC, KVP_REASON_HELD_BACK, 0);
	kvpt_pass(q, tq, 1);
	kvpt_ok(kvpt_reclaim(p, 8));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 4);
	expect_states(0, 8, 0, 0, 0);
}
END_TEST

START_TEST(test_c11_the_writer_dies_and_its_kernels_write_on)
{
	u64 seq, dead = kvpt_client_id(q), b[2];

	kvpt_ok(kvpt_create(q, 1, tok, 8, &seq));
	kvpt_expect_table(q, seq, 0, b, 2);
	kvpt_ok(kvpt_use_write(q, seq, tq, 1, 0, 8));
	kvpt_close(&env, q);
	kvpt_ok(kvpt_alloc(p, 0, 6, blocks));
	kvpt_refused(&env, p, kvpt_alloc(p, 0, 1, &blocks[6]), -ENOSPC, KVP_REASON_HELD_BACK, 0);
	ck_assert_uint_eq(kvpt_entry(p, b[0]).why, KVP_WHY_QUARANTINE);
	ck_assert_uint_eq(kvpt_entry(p, b[0]).client, dead);
	ck_assert_uint_eq(kvpt_counters_of(p, 0).quarantined, 1);
	/* Somebody knows that its context is gone. */
	kvpt_ok(kvpt_reap(p, dead));
	ck_assert_uint_eq(kvpt.reap.clients, 1);
	ck_assert_uint_eq(kvpt.reap.blocks, 2);
	kvpt_ok(kvpt_alloc(p, 0, 2, &blocks[6]));
	ck_assert_uint_eq(kvpt_counters_of(p, 0).quarantined, 0);
}
END_TEST

/* ---- F: positions ---- */

START_TEST(test_f5_a_stale_position_is_told_the_right_one)
{
	const struct kvp_seq_append stale = { .position = 12 };
	u64 seq;

	kvpt_ok(kvpt_create_with(p, &(struct kvp_seq_create){ .reserve = 12 }, 1, tok, 12, &seq));
	kvpt_ok(kvpt_advance(p, seq, 12));
	/* Tokens were taken away behind the back of who counts positions. */
	kvpt_ok(kvpt_truncate(p, seq, 8));
	kvpt_refused(&env, p, kvpt_append_with(p, &stale, seq, &tok[12], 4), -EINVAL,
		     KVP_REASON_POSITION, 0);
	ck_assert_uint_eq(kvpt.seq_append.position, 8);
	kvpt_ok(kvpt_reserve(p, seq, 8));
	kvpt_refused(&env, p, kvpt_use_write(p, seq, tp, 1, 12, 16), -EINVAL,
		     KVP_REASON_POSITION, 0);
	ck_assert_uint_eq(kvpt.use.position, 8);
	kvpt_expect_lengths(p, seq, 8, 8, 16, 0);
	kvpt_ok(kvpt_append_with(p, &(struct kvp_seq_append){ .position = 8 }, seq, &tok[8], 4));
	kvpt_ok(kvpt_use_write(p, seq, tp, 1, 8, 12));
	kvpt_ok(kvpt_signal(p, tp, 1));
	kvpt_expect_lengths(p, seq, 12, 12, 16, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cases_fence");
	TCase *tc = tcase_create("cases_fence");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_a3_abort_while_a_load_is_on_its_way);
	tcase_add_test(tc, test_c1_freed_while_the_next_step_is_launched_already);
	tcase_add_test(tc, test_c2_windows_go_by_what_was_processed);
	tcase_add_test(tc, test_c4_everything_preempted_drains_with_the_last_step);
	tcase_add_test(tc, test_c6_a_finished_row_writes_once_more);
	tcase_add_test(tc, test_c7_a_copy_out_waits_for_what_fills_the_block);
	tcase_add_test(tc, test_c10_no_lease_runs_out);
	tcase_add_test(tc, test_c11_the_writer_dies_and_its_kernels_write_on);
	tcase_add_test(tc, test_f5_a_stale_position_is_told_the_right_one);
	suite_add_tcase(suite, tc);
	return kvpt_run(suite);
}

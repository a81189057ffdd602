// SPDX-License-Identifier: MIT
/*
 * What follows when fences pass: computed moves, windows move on, what a truncate gave back comes
 * back, exports can be imported. Everything is driven by stores to the page.
 */
#include <check.h>

#include "fenced.h"

/* ---- computed ---- */

START_TEST(test_computed_moves_when_the_fence_passes)
{
	u64 seq = made(8);

	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 6));
	ck_assert_uint_eq(computed_of(seq), 0);
	kvpt_pass(a, t, 1);
	ck_assert_uint_eq(computed_of(seq), 6);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).uses, 0);
	/* It never goes back. */
	kvpt_ok(kvpt_use_write(a, seq, t, 2, 2, 4));
	ck_assert_uint_eq(computed_of(seq), 6);
	kvpt_pass(a, t, 2);
	ck_assert_uint_eq(computed_of(seq), 6);
	/* The device may be behind what was said elsewhere. */
	kvpt_ok(kvpt_use_write(a, seq, t, 3, 6, 8));
	kvpt_pass(a, t, 3);
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_expect_lengths(a, seq, 8, 8, 8, 0);
}
END_TEST

START_TEST(test_in_order)
{
	u64 seq = made(8);

	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 3));
	kvpt_ok(kvpt_use_write(a, seq, t, 2, 3, 4));
	kvpt_ok(kvpt_use_write(a, seq, t, 3, 4, 8));
	kvpt_pass(a, t, 1);
	ck_assert_uint_eq(computed_of(seq), 3);
	kvpt_pass(a, t, 3);
	ck_assert_uint_eq(computed_of(seq), 8);
}
END_TEST

START_TEST(test_never_past_an_open_write)
{
	u64 seq = made(8);

	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 4));
	kvpt_ok(kvpt_use_write(a, seq, u, 1, 4, 7));
	kvpt_ok(kvpt_use_write(a, seq, u, 2, 7, 8));
	/* The later ones first: their rows are there, but not those before. */
	kvpt_pass(a, u, 2);
	ck_assert_uint_eq(computed_of(seq), 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).uses, 1);
	kvpt_pass(a, t, 1);
	ck_assert_uint_eq(computed_of(seq), 8);
}
END_TEST

START_TEST(test_reads_compute_nothing)
{
	u64 seq = made(8);

	kvpt_ok(kvpt_use_read(a, seq, t, 1));
	kvpt_ok(kvpt_use_write(a, seq, u, 1, 0, 8));
	kvpt_pass(a, t, 1);
	ck_assert_uint_eq(computed_of(seq), 0);
	kvpt_ok(kvpt_use_read(a, seq, t, 2));
	/* And one that is open keeps nothing from being computed. */
	kvpt_pass(a, u, 1);
	ck_assert_uint_eq(computed_of(seq), 8);
}
END_TEST

START_TEST(test_ids_that_come_later)
{
	u64 seq;

	kvpt_ok(kvpt_create_with(a, &(struct kvp_seq_create){ .reserve = 5 }, 1, tok, 3, &seq));
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 4));
	kvpt_ok(kvpt_use_write(a, seq, t, 2, 4, 8));
	kvpt_pass(a, t, 1);
	kvpt_expect_lengths(a, seq, 3, 3, 8, 0);
	kvpt_ok(kvpt_set_tokens(a, seq, &tok[3], 2));
	/* The row of the first is computed, that of the second is not. */
	kvpt_expect_lengths(a, seq, 5, 4, 8, 0);
	kvpt_pass(a, t, 2);
	kvpt_expect_lengths(a, seq, 5, 5, 8, 0);
	kvpt_ok(kvpt_set_tokens(a, seq, &tok[5], 3));
	kvpt_expect_lengths(a, seq, 8, 8, 8, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).uses, 0);
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 8);
	ck_assert_uint_eq(kvpt_matched(b, 1, tok, 8), 8);
}
END_TEST

START_TEST(test_ids_after_a_truncate)
{
	u64 seq;

	kvpt_ok(kvpt_create_with(a, &(struct kvp_seq_create){ .reserve = 4 }, 1, tok, 4, &seq));
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 8));
	kvpt_pass(a, t, 1);
	kvpt_expect_lengths(a, seq, 4, 4, 8, 0);
	/* What was computed beyond goes with its slots. */
	kvpt_ok(kvpt_truncate(a, seq, 4));
	kvpt_ok(kvpt_append(a, seq, other, 4));
	kvpt_expect_lengths(a, seq, 8, 4, 8, 0);
}
END_TEST

START_TEST(test_advance_past_an_open_write)
{
	u64 seq = made(12);

	kvpt_ok(kvpt_advance(a, seq, 6));
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 8 - 2, 8));
	kvpt_refused(&env, a, kvpt_advance(a, seq, 7), -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	kvpt_refused(&env, a, kvpt_advance(a, seq, 5), -EINVAL, KVP_REASON_LENGTH, 0);
	kvpt_refused(&env, a, kvpt_advance(a, seq, 13), -EINVAL, KVP_REASON_LENGTH, 0);
	/* Up to its first row nothing speaks against it. */
	kvpt_ok(kvpt_advance(a, seq, 6));
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_advance(a, seq, 9));
	ck_assert_uint_eq(computed_of(seq), 9);
	/* Rows that are computed once more. */
	kvpt_ok(kvpt_use_write(a, seq, t, 2, 4, 9));
	kvpt_refused(&env, a, kvpt_advance(a, seq, 9), -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	kvpt_ok(kvpt_use_read(a, seq, u, 1));
	kvpt_pass(a, t, 2);
	kvpt_ok(kvpt_advance(a, seq, 12));
}
END_TEST

/* ---- publish, fork, export ---- */

START_TEST(test_publish_while_the_next_step_is_in_flight)
{
	u64 seq = made(13), match;

	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 9));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 0);
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_use_write(a, seq, t, 2, 9, 12));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 8);
	ck_assert_uint_eq(kvpt.publish.nr_new, 2);
	kvpt_ok(kvpt_match(b, 1, tok, 12, &match));
	ck_assert_uint_eq(kvpt.match.matched, 8);
	kvpt_pass(a, t, 2);
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 12);
	ck_assert_uint_eq(kvpt_matched(b, 1, tok, 12), 12);
	kvpt_ok(kvpt_release(b, match));
}
END_TEST

START_TEST(test_rows_that_are_written_again_are_not_published)
{
	u64 seq = made(12);

	kvpt_ok(kvpt_advance(a, seq, 12));
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 6, 7));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 4);
	ck_assert_uint_eq(kvpt_matched(b, 1, tok, 12), 4);
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 12);
}
END_TEST

START_TEST(test_fork_of_rows_that_are_written)
{
	u64 seq = made(12), child;

	kvpt_ok(kvpt_advance(a, seq, 12));
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 8, 12));
	kvpt_refused(&env, a, kvpt_fork(a, seq, 12, &child), -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	kvpt_refused(&env, a, kvpt_fork(a, seq, 9, &child), -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	kvpt_refused(&env, a, kvpt_fork(a, seq, KVP_POS_END, &child), -EBUSY,
		     KVP_REASON_FENCE_OPEN, 0);
	kvpt_ok(kvpt_fork(a, seq, 8, &child));
	kvpt_expect_lengths(a, child, 8, 8, 8, 0);
	/* The child is touched by nothing. */
	kvpt_ok(kvpt_free(a, child));
	expect_waiting(a, 0, 1, 0);
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_fork(a, seq, 12, &child));
	kvpt_expect_lengths(a, child, 12, 12, 12, 0);
}
END_TEST

START_TEST(test_fork_of_what_was_not_computed)
{
	u64 seq = made(8), child;

	kvpt_ok(kvpt_advance(a, seq, 4));
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 4, 8));
	kvpt_refused(&env, a, kvpt_fork(a, seq, 8, &child), -EINVAL, KVP_REASON_LENGTH, 0);
	kvpt_ok(kvpt_fork(a, seq, KVP_POS_END, &child));
	ck_assert_uint_eq(kvpt.fork.tokens, 4);
	/* What fences bring to the parent does not come to the child. */
	kvpt_pass(a, t, 1);
	kvpt_expect_lengths(a, seq, 8, 8, 8, 0);
	kvpt_expect_lengths(a, child, 4, 4, 4, 0);
}
END_TEST

START_TEST(test_export_of_rows_that_are_written)
{
	struct kvp_client_entry list[4];
	u64 seq = made(8), copy;
	s32 fd;

	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 4));
	kvpt_ok(kvpt_use_write(a, seq, u, 1, 4, 8));
	kvpt_ok(kvpt_export(a, seq, &fd));
	kvpt_refused(&env, a, kvpt_import(b, fd, &copy), -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	kvpt_ok(kvpt_client_list(a, list, 4));
	ck_assert_uint_eq(list[2].flags, KVP_CLIENT_EXPORT | KVP_CLIENT_OPEN);
	kvpt_pass(a, u, 1);
	kvpt_refused(&env, a, kvpt_import(b, fd, &copy), -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	/* A use that comes later is no matter of the export's. */
	kvpt_ok(kvpt_append(a, seq, &tok[8], 4));
	kvpt_ok(kvpt_use_write(a, seq, u, 2, 8, 12));
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_import(b, fd, &copy));
	ck_assert_uint_eq(kvpt.seq_import.tokens, 8);
	kvpt_expect_lengths(b, copy, 8, 8, 8, 0);
	kvpt_ok(kvpt_client_list(a, list, 4));
	ck_assert_uint_eq(list[2].flags, KVP_CLIENT_EXPORT);
	kvpt_export_close(fd);
}
END_TEST

START_TEST(test_export_that_is_closed_while_rows_are_written)
{
	u64 seq = made(8), copy;
	s32 fd;

	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 8));
	kvpt_ok(kvpt_export(a, seq, &fd));
	kvpt_export_close(fd);
	expect_waiting(a, 0, 1, 0);
	kvpt_ok(kvpt_export(a, seq, &fd));
	kvpt_ok(kvpt_revoke(a, kvpt.seq_export.export_id));
	kvpt_refused(&env, a, kvpt_import(b, fd, &copy), -ESTALE, KVP_REASON_REVOKED, 0);
	kvpt_export_close(fd);
	kvpt_ok(kvpt_free(a, seq));
	expect_states(0, 14, 0, 0, 2);
	kvpt_pass(a, t, 1);
	expect_states(0, 16, 0, 0, 0);
}
END_TEST

START_TEST(test_rows_of_an_export_are_not_written_again)
{
	u64 seq = made(8), copy;
	s32 fd;

	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 8));
	kvpt_ok(kvpt_export(a, seq, &fd));
	/* They are not computed yet, but promised. */
	kvpt_refused(&env, a, kvpt_use_write(a, seq, t, 2, 0, 8), -EBUSY, KVP_REASON_SHARED, 0);
	kvpt_refused(&env, a, kvpt_use_write(a, seq, t, 2, 7, 8), -EBUSY, KVP_REASON_SHARED, 0);
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_import(b, fd, &copy));
	kvpt_export_close(fd);
}
END_TEST

START_TEST(test_export_of_a_step_that_failed)
{
	u64 seq = made(12), copy;
	s32 fd, before;

	kvpt_ok(kvpt_use_write(a, seq, u, 1, 0, 4));
	kvpt_ok(kvpt_export(a, seq, &before));
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 4, 12));
	kvpt_ok(kvpt_export(a, seq, &fd));
	/* The rows that the second was to have never come. */
	kvpt_ok(kvpt_truncate(a, seq, 8));
	kvpt_refused(&env, a, kvpt_import(b, fd, &copy), -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	kvpt_pass(a, t, 1);
	kvpt_pass(a, u, 1);
	kvpt_refused(&env, a, kvpt_import(b, fd, &copy), -EOWNERDEAD, KVP_REASON_MAKER_DEAD, 0);
	kvpt_refused(&env, a, kvpt_import(b, fd, &copy), -EOWNERDEAD, KVP_REASON_MAKER_DEAD, 0);
	/* Those of the first did. */
	kvpt_ok(kvpt_import(b, before, &copy));
	ck_assert_uint_eq(kvpt.seq_import.tokens, 4);
	kvpt_export_close(fd);
	kvpt_export_close(before);
}
END_TEST

START_TEST(test_truncate_beyond_what_an_export_has)
{
	u64 seq = made(12), copy;
	s32 fd;

	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 8));
	kvpt_ok(kvpt_export(a, seq, &fd));
	/* What goes here was not in it. */
	kvpt_ok(kvpt_truncate(a, seq, 8));
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_import(b, fd, &copy));
	ck_assert_uint_eq(kvpt.seq_import.tokens, 8);
	kvpt_export_close(fd);
}
END_TEST

/* ---- truncate ---- */

START_TEST(test_truncate_takes_back_what_was_to_be_computed)
{
	u64 seq = made(8), blocks[16];

	kvpt_ok(kvpt_advance(a, seq, 2));
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 2, 8));
	kvpt_ok(kvpt_truncate(a, seq, 3));
	expect_states(0, 14, 1, 0, 1);
	expect_waiting(a, 0, 1, 1);
	/* Other tokens in their places. */
	kvpt_ok(kvpt_append(a, seq, other, 5));
	kvpt_expect_table(a, seq, 0, blocks, 2);
	expect_states(0, 13, 2, 0, 1);
	kvpt_pass(a, t, 1);
	kvpt_expect_lengths(a, seq, 8, 3, 8, 0);
	expect_states(0, 14, 2, 0, 0);
	kvpt_ok(kvpt_free(a, seq));
	expect_states(0, 16, 0, 0, 0);
}
END_TEST

START_TEST(test_a_failed_step)
{
	u64 seq = made(8);

	kvpt_ok(kvpt_advance(a, seq, 4));
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 4, 8));
	kvpt_ok(kvpt_truncate(a, seq, 4));
	kvpt_ok(kvpt_append(a, seq, &tok[4], 4));
	kvpt_ok(kvpt_signal(a, t, 1));
	kvpt_expect_lengths(a, seq, 8, 4, 8, 0);
	expect_waiting(a, 0, 0, 0);
	/* Once more. */
	kvpt_ok(kvpt_use_write(a, seq, t, 2, 4, 8));
	kvpt_ok(kvpt_signal(a, t, 2));
	kvpt_expect_lengths(a, seq, 8, 8, 8, 0);
}
END_TEST

START_TEST(test_held_back_until_those_that_were_open_then)
{
	u64 seq = made(16);

	kvpt_ok(kvpt_use_read(a, seq, t, 1));
	kvpt_ok(kvpt_truncate(a, seq, 12));
	kvpt_ok(kvpt_use_read(a, seq, u, 1));
	kvpt_ok(kvpt_truncate(a, seq, 4));
	expect_states(0, 12, 1, 0, 3);
	kvpt_ok(kvpt_use_read(a, seq, t, 2));
	/* The first block waits for the first use only, the others for both. */
	kvpt_pass(a, t, 1);
	expect_states(0, 13, 1, 0, 2);
	kvpt_pass(a, u, 1);
	expect_states(0, 15, 1, 0, 0);
	expect_waiting(a, 0, 1, 0);
	kvpt_pass(a, t, 2);
	expect_waiting(a, 0, 0, 0);
}
END_TEST

START_TEST(test_the_later_use_first)
{
	u64 seq = made(16);

	kvpt_ok(kvpt_use_read(a, seq, t, 1));
	kvpt_ok(kvpt_truncate(a, seq, 12));
	kvpt_ok(kvpt_use_read(a, seq, u, 1));
	kvpt_ok(kvpt_truncate(a, seq, 4));
	kvpt_pass(a, u, 1);
	expect_states(0, 12, 1, 0, 3);
	kvpt_pass(a, t, 1);
	expect_states(0, 15, 1, 0, 0);
}
END_TEST

/* ---- windows ---- */

static void setup_windows(void)
{
	make((struct kvp_family_desc[]){ KVPT_DENSE(16, 4), KVPT_WINDOW(12, 4, 6) }, 2);
}

START_TEST(test_windows_go_by_what_is_computed)
{
	u64 seq = made(16);

	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 12));
	kvpt_ok(kvpt_use_write(a, seq, t, 2, 12, 16));
	ck_assert_uint_eq(kvpt_nulls(a, seq, 1), 0);
	expect_states(1, 8, 4, 0, 0);
	/* At 12 the window begins with token 7: the first block is not needed. */
	kvpt_pass(a, t, 1);
	ck_assert_uint_eq(kvpt_nulls(a, seq, 1), 1);
	ck_assert_uint_eq(computed_of(seq), 12);
	kvpt_pass(a, t, 2);
	ck_assert_uint_eq(kvpt_nulls(a, seq, 1), 3);
	expect_states(1, 10, 2, 0, 0);
}
END_TEST

START_TEST(test_windows_stay_while_work_reads_them)
{
	u64 seq = made(16), blocks[12];

	kvpt_ok(kvpt_use_read(a, seq, u, 1));
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 16));
	kvpt_pass(a, t, 1);
	ck_assert_uint_eq(computed_of(seq), 16);
	ck_assert_uint_eq(kvpt_nulls(a, seq, 1), 0);
	kvpt_ok(kvpt_alloc(b, 1, 8, blocks));
	kvpt_expect(kvpt_alloc(b, 1, 1, blocks), -ENOSPC, KVP_REASON_POOL_FULL);
	kvpt_pass(a, u, 1);
	kvpt_ok(kvpt_alloc(b, 1, 2, blocks));
	ck_assert_uint_eq(kvpt_nulls(a, seq, 1), 3);
	expect_states(1, 0, 12, 0, 0);
}
END_TEST

START_TEST(test_windows_and_advance)
{
	u64 seq = made(16);

	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_use_read(a, seq, t, 1));
	kvpt_ok(kvpt_advance(a, seq, 16));
	kvpt_ok(kvpt_free(a, seq));
	ck_assert_uint_eq(kvpt_blocks(a, 1, KVP_BLOCK_FREE), 8);
	kvpt_pass(a, t, 1);
	expect_states(1, 12, 0, 0, 0);
	expect_states(0, 16, 0, 0, 0);
}
END_TEST

START_TEST(test_windows_of_the_rows_that_are_written)
{
	u64 seq = made(16), blocks[12];

	/* The step that writes token 8 reads tokens from 3 on, whatever is computed after it. */
	kvpt_ok(kvpt_advance(a, seq, 16));
	ck_assert_uint_eq(kvpt_nulls(a, seq, 1), 3);
	kvpt_ok(kvpt_free(a, seq));
	seq = made(16);
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 8, 9));
	kvpt_ok(kvpt_use_write(a, seq, u, 1, 9, 16));
	kvpt_pass(a, u, 1);
	ck_assert_uint_eq(computed_of(seq), 8);
	kvpt_ok(kvpt_alloc(b, 1, 8, blocks));
	kvpt_expect(kvpt_alloc(b, 1, 1, blocks), -ENOSPC, KVP_REASON_POOL_FULL);
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_alloc(b, 1, 2, blocks));
	ck_assert_uint_eq(kvpt_nulls(a, seq, 1), 3);
}
END_TEST

START_TEST(test_forks_while_windows_wait)
{
	u64 seq = made(16), child;

	kvpt_ok(kvpt_use_read(a, seq, u, 1));
	kvpt_ok(kvpt_advance(a, seq, 16));
	kvpt_ok(kvpt_fork(a, seq, 16, &child));
	ck_assert_uint_eq(kvpt_nulls(a, child, 1), 3);
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_free(a, child));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_pass(a, u, 1);
	expect_states(1, 12, 0, 0, 0);
}
END_TEST

/* ---- states ---- */

static void setup_states(void)
{
	make((struct kvp_family_desc[]){ KVPT_DENSE(16, 4), KVPT_STATE(4) }, 2);
}

START_TEST(test_states_that_work_changes)
{
	u64 seq = made(8), child;

	kvpt_ok(kvpt_advance(a, seq, 4));
	/* What only reads changes none. */
	kvpt_ok(kvpt_use_read(a, seq, u, 1));
	kvpt_ok(kvpt_fork(a, seq, 4, &child));
	kvpt_ok(kvpt_copied(a, child));
	kvpt_ok(kvpt_free(a, child));
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 4, 8));
	/* Its rows are there, but the state is on its way from 4 to 8. */
	kvpt_refused(&env, a, kvpt_fork(a, seq, 4, &child), -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	kvpt_refused(&env, a, kvpt_truncate(a, seq, 6), -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	kvpt_ok(kvpt_truncate(a, seq, 8));
	kvpt_pass(a, t, 1);
	kvpt_refused(&env, a, kvpt_truncate(a, seq, 6), -EOPNOTSUPP, KVP_REASON_STATE_FAMILY, 1);
	kvpt_ok(kvpt_fork(a, seq, 8, &child));
	kvpt_expect_lengths(a, child, 8, 8, 8, 0);
	kvpt_pass(a, u, 1);
}
END_TEST

START_TEST(test_states_that_are_held_back)
{
	u64 seq = made(8);

	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 8));
	kvpt_ok(kvpt_free(a, seq));
	expect_states(1, 3, 0, 0, 1);
	kvpt_pass(a, t, 1);
	expect_states(1, 4, 0, 0, 0);
	expect_states(0, 16, 0, 0, 0);
}
END_TEST

/* ---- large ones ---- */

#define LARGE	1000	/* blocks: several holds of the core's lock */

static void setup_large(void)
{
	make((struct kvp_family_desc[]){ KVPT_DENSE(2 * LARGE, 1), KVPT_WINDOW(LARGE, 1, 4) }, 2);
}

static u64 large(void)
{
	static u32 ids[LARGE];
	u64 seq;

	kvpt_tokens(ids, LARGE, 5);
	kvpt_ok(kvpt_create(a, 1, ids, LARGE, &seq));
	return seq;
}

START_TEST(test_large_sequences)
{
	u64 seq = large();

	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, LARGE));
	kvpt_pass(a, t, 1);
	/* All of the window but its end goes in one go. */
	ck_assert_uint_eq(computed_of(seq), LARGE);
	ck_assert_uint_eq(kvpt_blocks(a, 1, KVP_BLOCK_HELD), 3);
	kvpt_ok(kvpt_use_read(a, seq, t, 2));
	kvpt_ok(kvpt_use_read(a, seq, u, 1));
	kvpt_ok(kvpt_free(a, seq));
	expect_states(0, LARGE, 0, 0, LARGE);
	expect_states(1, LARGE - 3, 0, 0, 3);
	kvpt_pass(a, t, 2);
	expect_states(0, LARGE, 0, 0, LARGE);
	kvpt_pass(a, u, 1);
	expect_states(0, 2 * LARGE, 0, 0, 0);
	expect_states(1, LARGE, 0, 0, 0);
}
END_TEST

START_TEST(test_large_truncates)
{
	u64 seq = large();
	u32 i;

	/* A tenth at a time, each held back by a use of its own and all before it. */
	for (i = 1; i <= 9; i++) {
		kvpt_ok(kvpt_use_read(a, seq, t, i));
		kvpt_ok(kvpt_truncate(a, seq, LARGE - i * LARGE / 10));
	}
	expect_states(0, LARGE, LARGE / 10, 0, LARGE * 9 / 10);
	for (i = 1; i <= 9; i++) {
		kvpt_pass(a, t, i);
		expect_states(0, LARGE + i * LARGE / 10, LARGE / 10, 0,
			      LARGE * (9 - i) / 10);
	}
	kvpt_ok(kvpt_free(a, seq));
	expect_states(0, 2 * LARGE, 0, 0, 0);
}
END_TEST

START_TEST(test_large_holds)
{
	static u64 blocks[LARGE];
	static struct kvp_use_entry entries[LARGE];
	u32 i;

	kvpt_ok(kvpt_alloc(a, 0, LARGE, blocks));
	for (i = 0; i < LARGE; i++)
		entries[i] = (struct kvp_use_entry)KVPT_BLOCK(blocks[i], t, 1);
	kvpt_ok(kvpt_use(a, entries, LARGE));
	kvpt_ok(kvpt_unref(a, blocks, LARGE));
	expect_states(0, LARGE, 0, 0, LARGE);
	expect_waiting(a, 0, LARGE, LARGE);
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_alloc(b, 0, LARGE + 1, (u64[LARGE + 1]){ }));
	expect_states(0, LARGE - 1, LARGE + 1, 0, 0);
	expect_waiting(a, 0, 0, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fence_settle");
	TCase *tc = tcase_create("lengths");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_computed_moves_when_the_fence_passes);
	tcase_add_test(tc, test_in_order);
	tcase_add_test(tc, test_never_past_an_open_write);
	tcase_add_test(tc, test_reads_compute_nothing);
	tcase_add_test(tc, test_ids_that_come_later);
	tcase_add_test(tc, test_ids_after_a_truncate);
	tcase_add_test(tc, test_advance_past_an_open_write);
	tcase_add_test(tc, test_publish_while_the_next_step_is_in_flight);
	tcase_add_test(tc, test_rows_that_are_written_again_are_not_published);
	tcase_add_test(tc, test_fork_of_rows_that_are_written);
	tcase_add_test(tc, test_fork_of_what_was_not_computed);
	tcase_add_test(tc, test_export_of_rows_that_are_written);
	tcase_add_test(tc, test_export_that_is_closed_while_rows_are_written);
	tcase_add_test(tc, test_rows_of_an_export_are_not_written_again);
	tcase_add_test(tc, test_export_of_a_step_that_failed);
	tcase_add_test(tc, test_truncate_beyond_what_an_export_has);
	tcase_add_test(tc, test_truncate_takes_back_what_was_to_be_computed);
	tcase_add_test(tc, test_a_failed_step);
	tcase_add_test(tc, test_held_back_until_those_that_were_open_then);
	tcase_add_test(tc, test_the_later_use_first);
	suite_add_tcase(suite, tc);

	tc = tcase_create("windows");
	tcase_add_checked_fixture(tc, setup_windows, teardown);
	tcase_add_test(tc, test_windows_go_by_what_is_computed);
	tcase_add_test(tc, test_windows_stay_while_work_reads_them);
	tcase_add_test(tc, test_windows_and_advance);
	tcase_add_test(tc, test_windows_of_the_rows_that_are_written);
	tcase_add_test(tc, test_forks_while_windows_wait);
	suite_add_tcase(suite, tc);

	tc = tcase_create("states");
	tcase_add_checked_fixture(tc, setup_states, teardown);
	tcase_add_test(tc, test_states_that_work_changes);
	tcase_add_test(tc, test_states_that_are_held_back);
	suite_add_tcase(suite, tc);

	tc = tcase_create("large");
	tcase_add_checked_fixture(tc, setup_large, teardown);
	tcase_add_test(tc, test_large_sequences);
	tcase_add_test(tc, test_large_truncates);
	tcase_add_test(tc, test_large_holds);
	suite_add_tcase(suite, tc);
	return kvpt_run(suite);
}

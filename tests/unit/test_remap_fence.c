// SPDX-License-Identifier: MIT
/*
 * Remaps with work in flight: what it reads and writes is held back after COMMIT and after ABORT,
 * what is moved counts when it has passed, and clients and pools end in between. No memory,
 * too: each allocation fails once, with everything as before.
 */
#include <check.h>

#include "fenced.h"
#include "allocs.h"
#include "remapped.h"

#define evict(seq)	PIECES(KVPT_PIECE(seq, 0, 5), KVPT_PIECE(seq, 8, 6))

/* 14 computed tokens in four blocks. */
static u64 plain(void)
{
	return kvpt_computed(a, 1, tok, 14);
}

static void expect_lengths(u64 seq, u64 tokens, u64 computed)
{
	kvpt_expect_lengths(a, seq, tokens, computed, tokens, 0);
}

/* ---- commit ---------------------------------------------------------- */

START_TEST(test_what_was_read_is_held_back)
{
	u64 was[4], is[3], seq = plain();

	kvpt_expect_table(a, seq, 0, was, 4);
	kvpt_ok(kvpt_remap(a, seq, evict(seq)));
	kvpt_ok(kvpt_use_remap(a, seq, t, 1));
	expect_waiting(a, 0, 2, 0);
	kvpt_ok(kvpt_commit(a, seq));
	/* Of the three that it had for itself. */
	expect_waiting(a, 1, 2, 3);
	expect_states(0, 10, 3, 0, 3);
	expect_lengths(seq, 11, 4);
	kvpt_expect_table(a, seq, 0, is, 3);
	ck_assert_uint_eq(is[0], was[0]);
	kvpt_pass(a, t, 1);
	expect_lengths(seq, 11, 11);
	expect_waiting(a, 0, 0, 0);
	expect_states(0, 13, 3, 0, 0);
	ck_assert_uint_eq(kvpt_count(a, was[0]), 1);
}
END_TEST

/* Rows count when all of the work has passed, whatever passes first. */
START_TEST(test_computed_with_the_last_use)
{
	u64 seq = plain();

	kvpt_ok(kvpt_remap(a, seq, evict(seq)));
	kvpt_ok(kvpt_use_remap(a, seq, t, 1));
	kvpt_ok(kvpt_use_remap(a, seq, u, 7));
	kvpt_ok(kvpt_use_remap(a, seq, t, 2));
	kvpt_ok(kvpt_commit(a, seq));
	expect_lengths(seq, 11, 4);
	kvpt_pass(a, t, 2);
	expect_lengths(seq, 11, 4);
	expect_states(0, 10, 3, 0, 3);
	kvpt_pass(a, u, 6);
	expect_lengths(seq, 11, 4);
	kvpt_pass(a, u, 7);
	expect_lengths(seq, 11, 11);
	expect_states(0, 13, 3, 0, 0);
}
END_TEST

/* Uses that passed before COMMIT have done what they had to. */
START_TEST(test_uses_that_have_passed)
{
	u64 seq = plain();

	kvpt_ok(kvpt_remap(a, seq, evict(seq)));
	kvpt_ok(kvpt_use_remap(a, seq, t, 1));
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_commit(a, seq));
	expect_lengths(seq, 11, 11);
	expect_states(0, 13, 3, 0, 0);
	expect_waiting(a, 0, 0, 0);
}
END_TEST

START_TEST(test_without_a_use)
{
	u64 seq = plain();

	kvpt_ok(kvpt_remap(a, seq, evict(seq)));
	kvpt_ok(kvpt_commit(a, seq));
	expect_lengths(seq, 11, 11);
	expect_states(0, 13, 3, 0, 0);
}
END_TEST

/* Uses of the sequence from before the remap, which may not pass for long. */
START_TEST(test_uses_from_before)
{
	u64 seq = plain();

	kvpt_ok(kvpt_use_read(a, seq, u, 1));
	kvpt_ok(kvpt_remap(a, seq, evict(seq)));
	kvpt_ok(kvpt_commit(a, seq));
	/* They read what is gone; of the new rows they know nothing. */
	expect_lengths(seq, 11, 11);
	expect_states(0, 10, 3, 0, 3);
	expect_waiting(a, 1, 1, 3);
	kvpt_pass(a, u, 1);
	expect_states(0, 13, 3, 0, 0);
}
END_TEST

/* Work that only reads is over soon; what stays is not held back by what is written. */
START_TEST(test_nothing_is_moved)
{
	u64 seq = plain();

	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 8))));
	kvpt_ok(kvpt_use_remap(a, seq, t, 1));
	kvpt_ok(kvpt_commit(a, seq));
	expect_lengths(seq, 8, 8);
	expect_states(0, 12, 2, 0, 2);
	kvpt_pass(a, t, 1);
	expect_states(0, 14, 2, 0, 0);
}
END_TEST

/* The work of the next remap comes after that of the first. */
START_TEST(test_two_remaps_in_a_row)
{
	u64 seq = plain();

	kvpt_ok(kvpt_remap(a, seq, evict(seq)));
	kvpt_ok(kvpt_use_remap(a, seq, t, 1));
	kvpt_ok(kvpt_commit(a, seq));
	/* Rows that are being written cannot go elsewhere; those before them can. */
	kvpt_refused(&env, a, kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 5))), -EBUSY,
		     KVP_REASON_FENCE_OPEN, 0);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4))));
	kvpt_ok(kvpt_use_remap(a, seq, t, 2));
	kvpt_ok(kvpt_commit(a, seq));
	expect_lengths(seq, 4, 4);
	expect_waiting(a, 2, 4, 5);
	expect_states(0, 10, 1, 0, 5);
	kvpt_pass(a, t, 1);
	expect_states(0, 13, 1, 0, 2);
	kvpt_pass(a, t, 2);
	expect_states(0, 15, 1, 0, 0);
}
END_TEST

START_TEST(test_freed_at_once)
{
	u64 seq = plain();

	kvpt_ok(kvpt_remap(a, seq, evict(seq)));
	kvpt_ok(kvpt_use_remap(a, seq, t, 1));
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_ok(kvpt_free(a, seq));
	expect_states(0, 10, 0, 0, 6);
	expect_waiting(a, 2, 2, 6);
	kvpt_pass(a, t, 1);
	expect_states(0, 16, 0, 0, 0);
}
END_TEST

/* ---- what waits for the rows ----------------------------------------- */

START_TEST(test_publish_and_fork_wait)
{
	u64 seq = plain(), child;

	/* As it was: nothing is tainted. */
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 7), { .seq = seq, .from = 7,
					  .length = 7, .flags = KVP_PIECE_RECOMPUTE })));
	kvpt_ok(kvpt_use_remap(a, seq, t, 1));
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_expect_lengths(a, seq, 14, 4, 14, 4);
	kvpt_refused(&env, a, kvpt_fork(a, seq, 5, NULL), -EINVAL, KVP_REASON_LENGTH, 0);
	kvpt_ok(kvpt_fork(a, seq, 4, &child));
	kvpt_ok(kvpt_free(a, child));
	/* Work that goes on from there may be said already. */
	kvpt_ok(kvpt_use_write(a, seq, t, 2, 7, 14));
	kvpt_pass(a, t, 1);
	kvpt_expect_lengths(a, seq, 14, 7, 14, 4);
	kvpt_pass(a, t, 2);
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_expect_lengths(a, seq, 14, 14, 14, 12);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 14), 12);
	kvpt_ok(kvpt_fork(a, seq, 14, &child));
}
END_TEST

START_TEST(test_imports_wait)
{
	u64 seq = plain(), theirs;
	s32 fd;

	kvpt_ok(kvpt_remap(a, seq, evict(seq)));
	kvpt_ok(kvpt_use_remap(a, seq, t, 1));
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_ok(kvpt_export(a, seq, &fd));
	kvpt_expect(kvpt_import(b, fd, &theirs), -EBUSY, KVP_REASON_FENCE_OPEN);
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_import(b, fd, &theirs));
	kvpt_expect_lengths(b, theirs, 11, 11, 11, 0);
	kvpt_export_close(fd);
}
END_TEST

/* An export has the rows that were being written when it was made, whatever comes then. */
START_TEST(test_exports_from_before)
{
	u64 seq, theirs;
	s32 fd;

	kvpt_ok(kvpt_create(a, 1, tok, 14, &seq));
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 14));
	kvpt_ok(kvpt_export(a, seq, &fd));
	kvpt_ok(kvpt_remap(a, seq, PIECES({ .seq = seq, .from = 2, .length = 6,
					  .flags = KVP_PIECE_RECOMPUTE })));
	kvpt_ok(kvpt_commit(a, seq));
	expect_lengths(seq, 6, 0);
	kvpt_expect(kvpt_import(b, fd, &theirs), -EBUSY, KVP_REASON_FENCE_OPEN);
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_import(b, fd, &theirs));
	kvpt_expect_lengths(b, theirs, 14, 14, 14, 0);
	expect_lengths(seq, 6, 0);
	kvpt_export_close(fd);
}
END_TEST

/* ---- abort ----------------------------------------------------------- */

START_TEST(test_targets_are_held_back)
{
	u64 was[4], is[4], seq = plain();

	kvpt_expect_table(a, seq, 0, was, 4);
	kvpt_ok(kvpt_remap(a, seq, evict(seq)));
	kvpt_ok(kvpt_use_remap(a, seq, t, 1));
	kvpt_ok(kvpt_abort(a, seq));
	expect_lengths(seq, 14, 14);
	kvpt_expect_table(a, seq, 0, is, 4);
	ck_assert_mem_eq(is, was, sizeof(is));
	expect_states(0, 10, 4, 0, 2);
	expect_waiting(a, 1, 2, 2);
	/* It still reads the sequence. */
	kvpt_ok(kvpt_truncate(a, seq, 4));
	expect_states(0, 10, 1, 0, 5);
	kvpt_pass(a, t, 1);
	expect_states(0, 15, 1, 0, 0);
	expect_waiting(a, 0, 0, 0);
}
END_TEST

START_TEST(test_abort_after_the_work)
{
	u64 seq = plain();

	kvpt_ok(kvpt_remap(a, seq, evict(seq)));
	kvpt_ok(kvpt_use_remap(a, seq, t, 1));
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_abort(a, seq));
	expect_states(0, 12, 4, 0, 0);
	expect_waiting(a, 0, 0, 0);
	expect_lengths(seq, 14, 14);
}
END_TEST

/* ---- rows of others -------------------------------------------------- */

/* @seq reads rows 2 to 5 of @from: two blocks. */
static u64 splices(u64 seq, u64 *from)
{
	*from = kvpt_computed(a, 1, other, 8);
	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(*from, 2, 4))));
	kvpt_ok(kvpt_use_remap(a, seq, t, 1));
	return seq;
}

START_TEST(test_others_are_freed_meanwhile)
{
	u64 from, seq = splices(plain(), &from);

	/* Four of the sequence, one target, two of the other one. */
	expect_states(0, 9, 7, 0, 0);
	kvpt_ok(kvpt_free(a, from));
	expect_states(0, 9, 7, 0, 0);
	kvpt_ok(kvpt_commit(a, seq));
	expect_lengths(seq, 8, 4);
	expect_states(0, 9, 2, 0, 5);
	kvpt_pass(a, t, 1);
	expect_lengths(seq, 8, 8);
	expect_states(0, 14, 2, 0, 0);
}
END_TEST

START_TEST(test_others_are_freed_and_it_is_aborted)
{
	u64 from, seq = splices(plain(), &from);

	kvpt_ok(kvpt_free(a, from));
	kvpt_ok(kvpt_abort(a, seq));
	expect_lengths(seq, 14, 14);
	expect_states(0, 9, 4, 0, 3);
	kvpt_pass(a, t, 1);
	expect_states(0, 12, 4, 0, 0);
}
END_TEST

START_TEST(test_others_are_freed_after_commit)
{
	u64 from, seq = splices(plain(), &from);

	kvpt_ok(kvpt_commit(a, seq));
	kvpt_ok(kvpt_free(a, from));
	expect_states(0, 9, 2, 0, 5);
	kvpt_pass(a, t, 1);
	expect_states(0, 14, 2, 0, 0);
}
END_TEST

/* Whose rows are read goes on meanwhile, and writes none of them. */
START_TEST(test_rows_that_are_read_are_not_overwritten)
{
	u64 theirs[2], is[2], from, seq = splices(plain(), &from);

	kvpt_expect_table(a, from, 0, theirs, 2);
	kvpt_refused(&env, a, kvpt_use_write(a, from, u, 1, 3, 8), -EBUSY, KVP_REASON_SHARED, 0);
	kvpt_ok(kvpt_truncate(a, from, 7));
	kvpt_ok(kvpt_append(a, from, tok, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 1);
	ck_assert_uint_eq(kvpt_copies[0].src, theirs[1]);
	kvpt_ok(kvpt_copied(a, from));
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_expect_table(a, from, 0, is, 2);
	ck_assert_uint_eq(is[0], theirs[0]);
	ck_assert_uint_ne(is[1], theirs[1]);
	/* Still so after COMMIT, while the work goes on. */
	kvpt_refused(&env, a, kvpt_use_write(a, from, u, 1, 3, 8), -EBUSY, KVP_REASON_SHARED, 0);
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_use_write(a, from, u, 1, 3, 8));
	kvpt_pass(a, u, 1);
	expect_lengths(seq, 8, 8);
	expect_states(0, 12, 4, 0, 0);
}
END_TEST

/* What is published stays so, and nobody gets it while it is read. */
START_TEST(test_others_are_published)
{
	u64 seq = plain(), from = kvpt_published(a, 1, other, 8);

	kvpt_ok(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(from, 2, 4))));
	kvpt_ok(kvpt_use_remap(a, seq, t, 1));
	kvpt_ok(kvpt_free(a, from));
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_ok(kvpt_reclaim(a, 16));
	/* Both blocks are read. */
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 8), 8);
	kvpt_pass(a, t, 1);
	expect_lengths(seq, 8, 8);
	expect_states(0, 12, 2, 2, 0);
	kvpt_ok(kvpt_reclaim(a, 16));
	expect_states(0, 14, 2, 0, 0);
}
END_TEST

/* ---- ends of clients and pools --------------------------------------- */

static u64 dies(struct kvp_client *c, bool with_use)
{
	u64 id = kvpt_client_id(c), seq = kvpt_computed(c, 1, tok, 14);
	u64 from = kvpt_computed(c, 1, other, 8);

	kvpt_timeline(c);
	kvpt_ok(kvpt_remap(c, seq, PIECES(KVPT_PIECE(seq, 0, 5), KVPT_PIECE(from, 2, 4))));
	if (with_use)
		kvpt_ok(kvpt_use_remap(c, seq, 0, 1));
	kvpt_close(&env, c);
	return id;
}

static void setup_strict(void)
{
	setup();
	teardown();
	kvpt_env_init(&env);
	env.door = kvpt_export_door(&kvp_inproc_door);
	a = kvpt_pool_with(&env, &(struct kvp_pool_create){ .head.flags = KVP_POOL_STRICT },
			   (struct kvp_family_desc[]){ KVPT_DENSE(16, 4) }, 1);
	t = kvpt_timeline(a);
}

START_TEST(test_a_client_ends_without_work)
{
	dies(kvpt_join(&env, 2000, KVP_RIGHT_USE), false);
	expect_states(0, 16, 0, 0, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).quarantined, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).seqs, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 0);
}
END_TEST

/* Sources and targets are in quarantine, until somebody reaps. */
START_TEST(test_a_client_ends_with_work)
{
	u64 id = dies(kvpt_join(&env, 2000, KVP_RIGHT_USE), true);

	/* Four of the sequence, and two targets; of the other one what is read. */
	expect_states(0, 8, 0, 0, 8);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).quarantined, 1);
	kvpt_ok(kvpt_reap(a, id));
	expect_states(0, 16, 0, 0, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).zombies, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).uses, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 0);
}
END_TEST

START_TEST(test_a_client_ends_after_commit)
{
	struct kvp_client *c = kvpt_join(&env, 2000, KVP_RIGHT_USE);
	u64 id = kvpt_client_id(c), seq = kvpt_computed(c, 1, tok, 14);

	kvpt_timeline(c);
	kvpt_ok(kvpt_remap(c, seq, evict(seq)));
	kvpt_ok(kvpt_use_remap(c, seq, 0, 1));
	kvpt_ok(kvpt_commit(c, seq));
	kvpt_close(&env, c);
	expect_states(0, 10, 0, 0, 6);
	kvpt_ok(kvpt_reap(a, id));
	expect_states(0, 16, 0, 0, 0);
}
END_TEST

static void teardown_closed(void)
{
	kvpt_env_exit(&env);
}

START_TEST(test_a_pool_ends)
{
	u64 seq = plain(), from, second = splices(plain(), &from);
	const struct kvp_piece piece = KVPT_PIECE(from, 0, 4);

	kvpt_ok(kvpt_remap(a, seq, &piece, 1));
	kvpt_ok(kvpt_pool_destroy(a, KVPT_POOL_NAME, KVP_DESTROY_FORCE));
	kvpt_expect(kvpt_commit(a, seq), -EIO, KVP_REASON_DESTROYED);
	kvpt_expect(kvpt_abort(a, second), -EIO, KVP_REASON_DESTROYED);
	kvpt_expect(kvpt_moves(a, second, 0, 0, NULL, 0), -EIO, KVP_REASON_DESTROYED);
	/* All memory comes back: the end of the program sees to that. */
}
END_TEST

/* ---- no memory ------------------------------------------------------- */

START_TEST(test_begin_without_memory)
{
	u64 seq = plain();

	ck_assert_uint_ge(allocations_of(kvpt_remap(a, seq, evict(seq))), 6);
	expect_begun(11, 11, 7, 4);
	allocates_nothing(kvpt_commit(a, seq));
}
END_TEST

/* With rows of another one, and a use that is open. */
START_TEST(test_begin_with_rows_of_others_without_memory)
{
	u64 seq = plain(), from = kvpt_computed(a, 1, other, 8);

	kvpt_ok(kvpt_use_read(a, seq, t, 1));
	ck_assert_uint_ge(allocations_of(kvpt_remap(a, seq, PIECES(KVPT_PIECE(seq, 0, 5),
							    KVPT_PIECE(from, 2, 4)))), 8);
	expect_begun(9, 9, 5, 4);
	allocates_nothing(kvpt_abort(a, seq));
}
END_TEST

START_TEST(test_ends_without_memory)
{
	struct kvp_move moves[8];
	u64 from, seq = splices(plain(), &from);

	allocates_nothing(kvpt_moves(a, seq, 0, 0, moves, 8));
	kvpt_ok(kvpt_free(a, from));
	allocates_nothing(kvpt_commit(a, seq));
	kvpt_pass(a, t, 1);
	expect_states(0, 14, 2, 0, 0);
	kvpt_ok(kvpt_remap(a, seq, NULL, 0));
	allocates_nothing(kvpt_abort(a, seq));
}
END_TEST

START_TEST(test_uses_without_memory)
{
	struct kvp_use_entry entries[6];
	u64 from, seq = splices(plain(), &from);
	u32 i;

	for (i = 0; i < 6; i++)
		entries[i] = (struct kvp_use_entry)KVPT_REMAP(seq, u, i + 1);
	/* Of the sequence, and of what it is to become. */
	ck_assert_uint_eq(allocations_of(kvpt_use(a, entries, 6)), 2);
	kvpt_ok(kvpt_commit(a, seq));
	kvpt_pass(a, u, 6);
	kvpt_pass(a, t, 1);
	expect_lengths(seq, 8, 8);
	expect_waiting(a, 0, 0, 0);
}
END_TEST

START_TEST(test_positions_without_memory)
{
	struct kvp_positions runs[4];
	u64 seq = plain(), child;

	kvpt_ok(kvpt_remap(a, seq, evict(seq)));
	kvpt_ok(kvpt_commit(a, seq));
	allocates_nothing(kvpt_positions(a, seq, runs, 4));
	/* A fork takes the runs along. */
	ck_assert_uint_ge(allocations_of(kvpt_fork(a, seq, 8, &child)), 3);
	expect_taint(a, child, 5, 3);
}
END_TEST

static void teardown_alloc(void)
{
	kvp_shim_fail_alloc = 0;
	teardown();
}

static Suite *suite(void)
{
	Suite *s = suite_create("remap_fence");
	TCase *tc = tcase_create("commit");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_what_was_read_is_held_back);
	tcase_add_test(tc, test_computed_with_the_last_use);
	tcase_add_test(tc, test_uses_that_have_passed);
	tcase_add_test(tc, test_without_a_use);
	tcase_add_test(tc, test_uses_from_before);
	tcase_add_test(tc, test_nothing_is_moved);
	tcase_add_test(tc, test_two_remaps_in_a_row);
	tcase_add_test(tc, test_freed_at_once);
	tcase_add_test(tc, test_publish_and_fork_wait);
	tcase_add_test(tc, test_imports_wait);
	tcase_add_test(tc, test_exports_from_before);
	suite_add_tcase(s, tc);

	tc = tcase_create("abort");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_targets_are_held_back);
	tcase_add_test(tc, test_abort_after_the_work);
	suite_add_tcase(s, tc);

	tc = tcase_create("others");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_others_are_freed_meanwhile);
	tcase_add_test(tc, test_others_are_freed_and_it_is_aborted);
	tcase_add_test(tc, test_others_are_freed_after_commit);
	tcase_add_test(tc, test_rows_that_are_read_are_not_overwritten);
	tcase_add_test(tc, test_others_are_published);
	suite_add_tcase(s, tc);

	tc = tcase_create("ends");
	tcase_add_checked_fixture(tc, setup_strict, teardown);
	tcase_add_test(tc, test_a_client_ends_without_work);
	tcase_add_test(tc, test_a_client_ends_with_work);
	tcase_add_test(tc, test_a_client_ends_after_commit);
	suite_add_tcase(s, tc);

	tc = tcase_create("pools");
	tcase_add_checked_fixture(tc, setup, teardown_closed);
	tcase_add_test(tc, test_a_pool_ends);
	suite_add_tcase(s, tc);

	tc = tcase_create("memory");
	tcase_add_checked_fixture(tc, setup, teardown_alloc);
	tcase_add_test(tc, test_begin_without_memory);
	tcase_add_test(tc, test_begin_with_rows_of_others_without_memory);
	tcase_add_test(tc, test_ends_without_memory);
	tcase_add_test(tc, test_uses_without_memory);
	tcase_add_test(tc, test_positions_without_memory);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

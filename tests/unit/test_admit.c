// SPDX-License-Identifier: MIT
/*
 * Admission: blocks in advance, what uses them, and what is refused. For tickets see
 * test_tickets.c.
 */
#include <check.h>

#include "admits.h"

/* ---- the reserve ---- */

START_TEST(test_admitted_at_once)
{
	struct kvp_block_entry entry;
	u64 ticket = 77;

	kvpt_ok(kvpt_admit(a, D, 5));
	ck_assert_uint_eq(kvpt.admit.state, KVP_ADMITTED);
	ck_assert_uint_eq(kvpt.admit.ticket, 0);
	ck_assert_uint_eq(kvpt.admit.ahead, 0);
	expect_states(D, 11, 5, 0);
	ck_assert_uint_eq(reserve_of(a, D), 5);
	ck_assert_uint_eq(charged_of(a, D), 5);
	ck_assert_uint_eq(kvpt_family_of(a, 0, D).reserve, 5);
	ck_assert_uint_eq(reserve_of(b, D), 0);
	/* With QUEUE there is no ticket where none is needed. */
	kvpt_ok(kvpt_admit_queue(a, D, 3, &ticket));
	ck_assert_uint_eq(kvpt.admit.state, KVP_ADMITTED);
	ck_assert_uint_eq(ticket, 0);
	ck_assert_uint_eq(reserve_of(a, D), 8);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).tickets, 0);
	/* Nobody else gets them. */
	kvpt_refused(&env, a, kvpt_alloc(b, D, 9, blocks), -ENOSPC, KVP_REASON_POOL_FULL, D);
	kvpt_ok(kvpt_alloc(b, D, 8, blocks));
	entry = kvpt_entry(a, KVP_BLOCK_ID(D, 0, 0));
	ck_assert_uint_eq(entry.state, KVP_BLOCK_RESERVED);
	ck_assert_uint_eq(entry.why, KVP_WHY_ADMITTED);
	ck_assert_uint_eq(entry.client, kvpt_client_id(a));
}
END_TEST

START_TEST(test_over_two_families)
{
	kvpt_ok(kvpt_admit_with(a, 0, NEEDS(NEED(W, 3), NEED(D, 2)), 2, NULL));
	expect_states(D, 14, 2, 0);
	expect_states(W, 9, 3, 0);
	/* All or nothing. */
	kvpt_ok(kvpt_alloc(b, W, 9, blocks));
	kvpt_refused(&env, a, kvpt_admit_with(a, 0, NEEDS(NEED(D, 2), NEED(W, 1)), 2, NULL),
		     -ENOSPC, KVP_REASON_POOL_FULL, W);
	ck_assert_uint_eq(reserve_of(a, D), 2);
	ck_assert_uint_eq(reserve_of(a, W), 3);
}
END_TEST

START_TEST(test_by_reclaim)
{
	u64 match;

	dense_only();
	kvpt_ok(kvpt_make_published(b, 1, tok, 32));
	ck_assert_uint_eq(kvpt_blocks(a, D, KVP_BLOCK_IDLE), 8);
	kvpt_ok(kvpt_admit(a, D, 12));
	ck_assert_uint_eq(kvpt_blocks(a, D, KVP_BLOCK_IDLE), 4);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).reclaimed_nodes, 4);
	/* Not what somebody matched. */
	kvpt_ok(kvpt_match(b, 1, tok, 16, &match));
	ck_assert_uint_eq(kvpt.match.matched, 16);
	kvpt_refused(&env, a, kvpt_admit(a, D, 1), -ENOSPC, KVP_REASON_COVERED, D);
	ck_assert_uint_eq(reserve_of(a, D), 12);
	kvpt_ok(kvpt_release(b, match));
	kvpt_ok(kvpt_admit(a, D, 4));
	ck_assert_uint_eq(reserve_of(a, D), 16);
}
END_TEST

START_TEST(test_calls_take_from_the_reserve_first)
{
	u64 seq, child, private;

	kvpt_ok(kvpt_admit_with(a, 0, NEEDS(NEED(D, 10), NEED(W, 8)), 2, NULL));
	kvpt_ok(kvpt_alloc(b, D, 6, blocks));
	kvpt_ok(kvpt_alloc(b, W, 4, blocks));
	/* Nothing is free: all of this comes out of the reserve. */
	kvpt_ok(kvpt_create(a, 1, tok, 6, &seq));
	ck_assert_uint_eq(reserve_of(a, D), 8);
	ck_assert_uint_eq(reserve_of(a, W), 6);
	kvpt_ok(kvpt_append(a, seq, &tok[6], 3));
	ck_assert_uint_eq(reserve_of(a, D), 7);
	ck_assert_uint_eq(reserve_of(a, W), 5);
	kvpt_ok(kvpt_advance(a, seq, 6));
	kvpt_ok(kvpt_fork(a, seq, 6, &child));
	ck_assert_uint_gt(kvpt.fork.nr_copies, 0);
	kvpt_ok(kvpt_copied(a, child));
	ck_assert_uint_eq(reserve_of(a, D), 6);
	kvpt_ok(kvpt_alloc(a, D, 2, &blocks[8]));
	ck_assert_uint_eq(reserve_of(a, D), 4);
	kvpt_ok(kvpt_use_block(a, blocks[8], kvpt_timeline(a), 1));
	kvpt_ok(kvpt_make_private(a, blocks[8], &private));
	ck_assert_uint_eq(kvpt.make_private.copy, 1);
	ck_assert_uint_eq(reserve_of(a, D), 3);
	ck_assert_uint_eq(charged_of(a, D), 10);
	kvpt_audit_clean(a);
	/* Partly from there, partly from what is free. */
	kvpt_ok(kvpt_unref(b, blocks, 0 + 1));
	kvpt_ok(kvpt_signal(a, 0, 1));
}
END_TEST

START_TEST(test_partly_from_the_reserve)
{
	kvpt_ok(kvpt_admit(a, D, 3));
	kvpt_ok(kvpt_alloc(a, D, 5, blocks));
	ck_assert_uint_eq(reserve_of(a, D), 0);
	expect_states(D, 11, 0, 5);
	ck_assert_uint_eq(charged_of(a, D), 5);
	/* One's own blocks are counted once against the limit. */
	kvpt_ok(kvpt_unref(a, blocks, 5));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_BLOCKS, D, 6));
	kvpt_ok(kvpt_admit(a, D, 4));
	kvpt_refused(&env, a, kvpt_alloc(a, D, 7, blocks), -EDQUOT, KVP_REASON_LIMIT_BLOCKS, D);
	kvpt_refused(&env, a, kvpt_admit(a, D, 3), -EDQUOT, KVP_REASON_LIMIT_BLOCKS, D);
	kvpt_ok(kvpt_alloc(a, D, 6, blocks));
	ck_assert_uint_eq(reserve_of(a, D), 0);
}
END_TEST

START_TEST(test_a_failing_call_leaves_the_reserve)
{
	u64 seq;

	kvpt_ok(kvpt_admit(a, D, 4));
	kvpt_ok(kvpt_alloc(b, D, 8, blocks));
	kvpt_refused(&env, a, kvpt_alloc(a, D, 9, &blocks[8]), -ENOSPC, KVP_REASON_POOL_FULL, D);
	kvpt_refused(&env, a, kvpt_alloc(a, D, 17, &blocks[8]), -EFBIG, KVP_REASON_NEVER_FITS, D);
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 36, &seq), -ENOSPC, KVP_REASON_POOL_FULL, D);
	/* There is enough of one family, and not of the other. */
	kvpt_ok(kvpt_alloc(c, W, 11, &blocks[16]));
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 8, &seq), -ENOSPC, KVP_REASON_POOL_FULL, W);
	ck_assert_uint_eq(reserve_of(a, D), 4);
	expect_states(D, 4, 4, 8);
	/* A call that fails after it has all is undone into what is free. */
	kvpt_ok(kvpt_create(a, 1, tok, 4, &seq));
	ck_assert_uint_eq(reserve_of(a, D), 3);
}
END_TEST

START_TEST(test_a_reclaim_that_fails_leaves_the_reserve)
{
	u64 match;

	dense_only();
	kvpt_ok(kvpt_admit(a, D, 4));
	kvpt_ok(kvpt_make_published(b, 1, tok, 16));
	kvpt_ok(kvpt_match(b, 1, tok, 16, &match));
	/* 8 free, 4 idle that cannot be had, 4 in the reserve. */
	kvpt_refused(&env, a, kvpt_alloc(a, D, 13, blocks), -ENOSPC, KVP_REASON_COVERED, D);
	ck_assert_uint_eq(reserve_of(a, D), 4);
	ck_assert_uint_eq(kvpt_blocks(a, D, KVP_BLOCK_RESERVED), 4);
	kvpt_ok(kvpt_alloc(a, D, 12, blocks));
	kvpt_ok(kvpt_release(b, match));
}
END_TEST

START_TEST(test_drop)
{
	kvpt_ok(kvpt_admit_with(a, 0, NEEDS(NEED(D, 6), NEED(W, 4)), 2, NULL));
	kvpt_ok(kvpt_admit_drop(a, D, 2));
	ck_assert_uint_eq(kvpt.admit.state, KVP_ADMIT_ENDED);
	ck_assert_uint_eq(kvpt.admit.ticket, 0);
	expect_states(D, 12, 4, 0);
	expect_states(W, 8, 4, 0);
	kvpt_refused(&env, a, kvpt_admit_drop(a, D, 5), -EINVAL, KVP_REASON_VALUE, 0);
	kvpt_refused(&env, a, kvpt_admit_with(a, KVP_ADMIT_DROP, NEEDS(NEED(D, 4), NEED(W, 5)), 2,
					      NULL), -EINVAL, KVP_REASON_VALUE, 1);
	kvpt_refused(&env, a, kvpt_admit_drop(b, D, 1), -EINVAL, KVP_REASON_VALUE, 0);
	/* All of it. */
	kvpt_ok(kvpt_admit_with(a, KVP_ADMIT_DROP, NULL, 0, NULL));
	expect_states(D, 16, 0, 0);
	expect_states(W, 12, 0, 0);
	ck_assert_uint_eq(charged_of(a, D), 0);
	kvpt_ok(kvpt_admit_with(a, KVP_ADMIT_DROP, NULL, 0, NULL));
}
END_TEST

/* ---- what is refused ---- */

START_TEST(test_counts_and_flags)
{
	const u32 at = kvpt_at(struct kvp_admit, nr_needs);
	const u32 combined[] = {
		KVP_ADMIT_QUEUE | KVP_ADMIT_DROP, KVP_ADMIT_QUEUE | KVP_ADMIT_TAKE,
		KVP_ADMIT_TAKE | KVP_ADMIT_CANCEL, KVP_ADMIT_CANCEL | KVP_ADMIT_DROP,
	};
	u64 ticket = 0;
	u32 i;

	kvpt_refused(&env, a, kvpt_admit_with(a, 0, NULL, 0, NULL), -EINVAL, KVP_REASON_COUNT, at);
	kvpt_refused(&env, a, kvpt_admit_with(a, KVP_ADMIT_QUEUE, NULL, 0, NULL), -EINVAL,
		     KVP_REASON_COUNT, at);
	kvpt_refused(&env, a, kvpt_admit_with(a, KVP_ADMIT_TAKE, NEEDS(NEED(D, 1)), 1, &ticket),
		     -EINVAL, KVP_REASON_COUNT, at);
	kvpt_refused(&env, a, kvpt_admit_with(a, KVP_ADMIT_CANCEL, NEEDS(NEED(D, 1)), 1, &ticket),
		     -EINVAL, KVP_REASON_COUNT, at);
	kvpt_refused(&env, a, kvpt_admit_with(a, 0, NEEDS(NEED(D, 1)), KVP_MAX_FAMILIES + 1, NULL),
		     -EOVERFLOW, KVP_REASON_COUNT, at);
	for (i = 0; i < ARRAY_SIZE(combined); i++) {
		bool needs = !(combined[i] & (KVP_ADMIT_TAKE | KVP_ADMIT_CANCEL));

		kvpt_refused(&env, a, kvpt_admit_with(a, combined[i], NEEDS(NEED(D, 1)), needs,
						      &ticket),
			     -EINVAL, KVP_REASON_FLAG, 0);
	}
	kvpt_refused(&env, a, kvpt_admit_with(a, 1U << 4, NEEDS(NEED(D, 1)), 1, NULL), -EINVAL,
		     KVP_REASON_FLAG, 0);
}
END_TEST

START_TEST(test_needs)
{
	kvpt_refused(&env, a, kvpt_admit_with(a, 0, NEEDS(NEED(D, 1), NEED(2, 1)), 2, NULL),
		     -EINVAL, KVP_REASON_FAMILY, 1);
	kvpt_refused(&env, a, kvpt_admit(a, ~0U, 1), -EINVAL, KVP_REASON_FAMILY, 0);
	kvpt_refused(&env, a, kvpt_admit_with(a, 0, NEEDS(NEED(D, 1), NEED(W, 1), NEED(D, 2)), 3,
					      NULL), -EINVAL, KVP_REASON_DUPLICATE, 2);
	kvpt_refused(&env, a, kvpt_admit_with(a, 0, NEEDS(NEED(D, 1), NEED(W, 0)), 2, NULL),
		     -EINVAL, KVP_REASON_VALUE, 1);
	kvpt_refused(&env, a, kvpt_admit_with(a, 0, NEEDS({ .blocks = 1, .reserved = 1 }), 1,
					      NULL), -EINVAL, KVP_REASON_RESERVED, 0);
}
END_TEST

START_TEST(test_what_never_fits)
{
	u64 ticket;

	kvpt_refused(&env, a, kvpt_admit(a, D, 17), -EFBIG, KVP_REASON_NEVER_FITS, D);
	kvpt_refused(&env, a, kvpt_admit(a, W, ~0ULL), -EFBIG, KVP_REASON_NEVER_FITS, W);
	/* A ticket would wait for ever. */
	kvpt_refused(&env, a, kvpt_admit_queue(a, D, 17, &ticket), -EFBIG, KVP_REASON_NEVER_FITS,
		     D);
	kvpt_ok(kvpt_admit(a, D, 8));
	kvpt_refused(&env, a, kvpt_admit_queue(a, D, 17, &ticket), -EFBIG, KVP_REASON_NEVER_FITS,
		     D);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).tickets, 0);
}
END_TEST

START_TEST(test_limits)
{
	u64 id = kvpt_client_id(b), refused = kvpt_counters_of(a, 0).refused_limit, ticket, second;

	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_BLOCKS, D, 4));
	kvpt_refused(&env, a, kvpt_admit(b, D, 5), -EDQUOT, KVP_REASON_LIMIT_BLOCKS, D);
	kvpt_refused(&env, a, kvpt_admit_queue(b, D, 5, &ticket), -EDQUOT,
		     KVP_REASON_LIMIT_BLOCKS, D);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).refused_limit, refused + 2);
	kvpt_ok(kvpt_alloc(c, D, 16, blocks));
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_TICKETS, 0, 1));
	ticket = queued(b, D, 2, 0);
	kvpt_refused(&env, a, kvpt_admit_queue(b, D, 1, &second), -EDQUOT,
		     KVP_REASON_LIMIT_TICKETS, 0);
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_TICKETS, 0, KVP_UNLIMITED));
	kvpt_ok(kvpt_limit_uid(a, 1001, KVP_LIMIT_TICKETS, 0, 1));
	kvpt_refused(&env, a, kvpt_admit_queue(b, D, 1, &second), -EDQUOT,
		     KVP_REASON_LIMIT_TICKETS, KVP_WHERE_UID);
	kvpt_ok(kvpt_admit_cancel(b, ticket));
	ticket = queued(b, D, 1, 0);
	kvpt_ok(kvpt_admit_cancel(b, ticket));
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_METADATA, 0, 0));
	kvpt_refused(&env, a, kvpt_admit_queue(b, D, 1, &second), -EDQUOT,
		     KVP_REASON_LIMIT_METADATA, 0);
}
END_TEST

START_TEST(test_ids_of_tickets)
{
	u64 ticket;

	kvpt_ok(kvpt_alloc(c, D, 16, blocks));
	ticket = queued(b, D, 2, 0);
	kvpt_refused(&env, a, kvpt_admit_take(b, ticket), -EBUSY, KVP_REASON_NOT_GRANTED, 0);
	ck_assert_uint_eq(kvpt.admit.ahead, 0);
	ck_assert_uint_eq(kvpt.admit.state, 0);
	/* Of another client; none at all. */
	kvpt_refused(&env, a, kvpt_admit_take(c, ticket), -ENOENT, KVP_REASON_NO_TICKET, 0);
	kvpt_refused(&env, a, kvpt_admit_cancel(a, ticket), -ENOENT, KVP_REASON_NO_TICKET, 0);
	kvpt_refused(&env, a, kvpt_admit_take(b, 0), -ENOENT, KVP_REASON_NO_TICKET, 0);
	kvpt_refused(&env, a, kvpt_admit_cancel(b, 1ULL << 32 | 999), -ENOENT,
		     KVP_REASON_NO_TICKET, 0);
	kvpt_ok(kvpt_admit_cancel(b, ticket));
	ck_assert_uint_eq(kvpt.admit.state, KVP_ADMIT_ENDED);
	kvpt_refused(&env, a, kvpt_admit_cancel(b, ticket), -ESTALE, KVP_REASON_GENERATION, 0);
	kvpt_refused(&env, a, kvpt_admit_take(b, ticket), -ESTALE, KVP_REASON_GENERATION, 0);
	/* A ticket that was taken is gone, too. */
	ticket = queued(b, D, 2, 0);
	kvpt_ok(kvpt_unref(c, blocks, 2));
	kvpt_ok(kvpt_admit_take(b, ticket));
	kvpt_refused(&env, a, kvpt_admit_take(b, ticket), -ESTALE, KVP_REASON_GENERATION, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("admit");
	TCase *tc = tcase_create("admit");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_admitted_at_once);
	tcase_add_test(tc, test_over_two_families);
	tcase_add_test(tc, test_by_reclaim);
	tcase_add_test(tc, test_calls_take_from_the_reserve_first);
	tcase_add_test(tc, test_partly_from_the_reserve);
	tcase_add_test(tc, test_a_failing_call_leaves_the_reserve);
	tcase_add_test(tc, test_a_reclaim_that_fails_leaves_the_reserve);
	tcase_add_test(tc, test_drop);
	tcase_add_test(tc, test_counts_and_flags);
	tcase_add_test(tc, test_needs);
	tcase_add_test(tc, test_what_never_fits);
	tcase_add_test(tc, test_limits);
	tcase_add_test(tc, test_ids_of_tickets);
	suite_add_tcase(suite, tc);
	return kvpt_run(suite);
}

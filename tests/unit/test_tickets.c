// SPDX-License-Identifier: MIT
/*
 * Those who wait for blocks: in the order of asking, whose turn it is, and what serves them.
 */
#include <check.h>

#include "admits.h"

/* ---- tickets ---- */

START_TEST(test_a_ticket)
{
	struct kvp_stats stats;
	u64 ticket, refused;

	kvpt_ok(kvpt_alloc(c, D, 14, blocks));
	refused = kvpt_counters_of(a, 0).refused_room;
	ticket = queued(b, D, 4, 0);
	expect_tickets(b, 0, 1);
	/* It has nothing as long as it waits, and waiting is no refusal. */
	expect_states(D, 2, 0, 14);
	ck_assert_uint_eq(charged_of(b, D), 0);
	stats = kvpt_counters_of(a, 0);
	ck_assert_uint_eq(stats.refused_room, refused);
	ck_assert_uint_eq(stats.tickets, 1);
	ck_assert_uint_eq(stats.tickets_waiting, 1);
	ck_assert_uint_eq(stats.tickets_granted, 0);
	kvpt_ok(kvpt_unref(c, blocks, 1));
	expect_tickets(b, 0, 1);
	kvpt_ok(kvpt_unref(c, &blocks[1], 1));
	/* Granted as a whole; still a ticket. */
	expect_tickets(b, 1, 0);
	expect_states(D, 0, 4, 12);
	ck_assert_uint_eq(charged_of(b, D), 4);
	ck_assert_uint_eq(reserve_of(b, D), 4);
	stats = kvpt_counters_of(a, 0);
	ck_assert_uint_eq(stats.tickets, 1);
	ck_assert_uint_eq(stats.tickets_waiting, 0);
	ck_assert_uint_eq(stats.tickets_granted, 1);
	/* What it got is not used by other calls. */
	kvpt_refused(&env, a, kvpt_alloc(b, D, 1, &blocks[20]), -ENOSPC, KVP_REASON_POOL_FULL, D);
	kvpt_ok(kvpt_admit_take(b, ticket));
	ck_assert_uint_eq(kvpt.admit.state, KVP_ADMITTED);
	ck_assert_uint_eq(kvpt.admit.ticket, ticket);
	expect_tickets(b, 0, 0);
	ck_assert_uint_eq(reserve_of(b, D), 4);
	kvpt_ok(kvpt_alloc(b, D, 4, &blocks[20]));
	ck_assert_uint_eq(reserve_of(b, D), 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).tickets, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).tickets_granted, 1);
}
END_TEST

START_TEST(test_the_order_of_asking)
{
	u64 big, small, mine;

	kvpt_ok(kvpt_alloc(c, D, 16, blocks));
	big = queued(a, D, 6, 0);
	small = queued(b, D, 1, 1);
	mine = queued(b, D, 2, 2);
	/* A late small one does not overtake an early large one. */
	kvpt_ok(kvpt_unref(c, blocks, 5));
	expect_tickets(a, 0, 1);
	expect_tickets(b, 0, 2);
	kvpt_expect(kvpt_admit_take(b, mine), -EBUSY, KVP_REASON_NOT_GRANTED);
	ck_assert_uint_eq(kvpt.admit.ahead, 2);
	kvpt_expect(kvpt_admit_take(b, small), -EBUSY, KVP_REASON_NOT_GRANTED);
	ck_assert_uint_eq(kvpt.admit.ahead, 1);
	kvpt_ok(kvpt_unref(c, &blocks[5], 1));
	expect_tickets(a, 1, 0);
	expect_tickets(b, 0, 2);
	kvpt_ok(kvpt_unref(c, &blocks[6], 2));
	expect_tickets(b, 1, 1);
	kvpt_expect(kvpt_admit_take(b, mine), -EBUSY, KVP_REASON_NOT_GRANTED);
	ck_assert_uint_eq(kvpt.admit.ahead, 0);
	kvpt_ok(kvpt_unref(c, &blocks[8], 1));
	expect_tickets(b, 2, 0);
	/* In whatever order they are taken. */
	kvpt_ok(kvpt_admit_take(b, mine));
	kvpt_ok(kvpt_admit_take(b, small));
	kvpt_ok(kvpt_admit_take(a, big));
	ck_assert_uint_eq(reserve_of(a, D), 6);
	ck_assert_uint_eq(reserve_of(b, D), 3);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).tickets_granted, 3);
	kvpt_audit_clean(a);
}
END_TEST

START_TEST(test_cancel_lets_the_next_one_go)
{
	u64 big, small;

	kvpt_ok(kvpt_alloc(c, D, 14, blocks));
	big = queued(a, D, 6, 0);
	small = queued(b, D, 2, 1);
	kvpt_ok(kvpt_admit_cancel(a, big));
	expect_tickets(b, 1, 0);
	/* And one that was granted gives back what it got. */
	big = queued(a, D, 2, 0);
	kvpt_ok(kvpt_admit_cancel(b, small));
	expect_tickets(a, 1, 0);
	ck_assert_uint_eq(charged_of(b, D), 0);
	kvpt_ok(kvpt_admit_cancel(a, big));
	expect_states(D, 2, 0, 14);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).tickets, 0);
}
END_TEST

START_TEST(test_over_families_tickets_wait_for_what_they_ask)
{
	u64 both, dense, window;

	kvpt_ok(kvpt_alloc(c, D, 16, blocks));
	kvpt_ok(kvpt_alloc(c, W, 10, &blocks[16]));
	both = 0;
	kvpt_ok(kvpt_admit_with(a, KVP_ADMIT_QUEUE, NEEDS(NEED(D, 2), NEED(W, 2)), 2, &both));
	ck_assert_uint_eq(kvpt.admit.state, KVP_ADMIT_WAITING);
	/* Two are free, but one that came before wants them. */
	window = queued(b, W, 1, 1);
	dense = queued(b, D, 1, 2);
	expect_states(W, 2, 0, 10);
	kvpt_ok(kvpt_unref(c, blocks, 2));
	/* Both families at once. */
	expect_tickets(a, 1, 0);
	expect_tickets(b, 0, 2);
	expect_states(D, 0, 2, 14);
	expect_states(W, 0, 2, 10);
	kvpt_ok(kvpt_unref(c, &blocks[16], 1));
	expect_tickets(b, 1, 1);
	kvpt_ok(kvpt_admit_take(b, window));
	kvpt_ok(kvpt_admit_cancel(b, dense));
	kvpt_ok(kvpt_admit_take(a, both));
	ck_assert_uint_eq(reserve_of(a, D), 2);
	ck_assert_uint_eq(reserve_of(a, W), 2);
}
END_TEST

START_TEST(test_other_families_do_not_wait)
{
	u64 ticket, seq;

	kvpt_ok(kvpt_alloc(c, D, 14, blocks));
	ticket = queued(a, D, 4, 0);
	/* Another family is nobody's turn. */
	kvpt_ok(kvpt_alloc(b, W, 2, &blocks[16]));
	kvpt_ok(kvpt_admit(b, W, 2));
	kvpt_ok(kvpt_admit_queue(b, W, 2, &seq));
	ck_assert_uint_eq(kvpt.admit.state, KVP_ADMITTED);
	kvpt_refused(&env, a, kvpt_create(b, 1, tok, 4, &seq), -ENOSPC, KVP_REASON_QUEUED, D);
	kvpt_ok(kvpt_admit_cancel(a, ticket));
}
END_TEST

START_TEST(test_whose_turn_it_is)
{
	u64 ticket, seq, mine, child, refused, private, second;

	kvpt_ok(kvpt_create(b, 1, tok, 6, &seq));
	kvpt_ok(kvpt_advance(b, seq, 6));
	kvpt_ok(kvpt_create_with(c, &(struct kvp_seq_create){ .reserve = 4 }, 2, NULL, 0, &mine));
	kvpt_ok(kvpt_alloc(c, D, 6, blocks));
	kvpt_ok(kvpt_use_block(c, blocks[0], kvpt_timeline(c), 1));
	ticket = queued(a, D, 12, 0);
	refused = kvpt_counters_of(a, 0).refused_room;
	/* What asks for something new waits, whoever asks, although there is something free. */
	expect_states(D, 7, 0, 9);
	kvpt_refused(&env, a, kvpt_admit(b, D, 1), -ENOSPC, KVP_REASON_QUEUED, D);
	kvpt_refused(&env, a, kvpt_alloc(b, D, 1, &blocks[8]), -ENOSPC, KVP_REASON_QUEUED, D);
	kvpt_refused(&env, a, kvpt_create(c, 2, tok, 4, &child), -ENOSPC, KVP_REASON_QUEUED, D);
	kvpt_refused(&env, a, kvpt_alloc(a, D, 1, &blocks[8]), -ENOSPC, KVP_REASON_QUEUED, D);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).refused_room, refused + 4);
	/* What needs no block does not ask. */
	kvpt_ok(kvpt_create(c, 2, NULL, 0, &child));
	/* What goes on may. */
	kvpt_ok(kvpt_append(b, seq, &tok[6], 4));
	kvpt_ok(kvpt_set_tokens(c, mine, tok, 4));
	kvpt_ok(kvpt_fork(b, seq, 5, &child));
	ck_assert_uint_gt(kvpt.fork.nr_copies, 0);
	kvpt_ok(kvpt_make_private(c, blocks[0], &private));
	ck_assert_uint_eq(kvpt.make_private.copy, 1);
	expect_states(D, 4, 0, 12);
	expect_tickets(a, 0, 1);
	kvpt_ok(kvpt_admit_cancel(a, ticket));
	/* One's own reserve is nobody's turn. */
	kvpt_ok(kvpt_admit(b, D, 2));
	second = queued(a, D, 5, 0);
	kvpt_ok(kvpt_alloc(b, D, 2, &blocks[8]));
	kvpt_refused(&env, a, kvpt_alloc(b, D, 1, &blocks[10]), -ENOSPC, KVP_REASON_QUEUED, D);
	kvpt_ok(kvpt_admit_cancel(a, second));
}
END_TEST

START_TEST(test_a_guaranteed_share_passes)
{
	u64 ticket, seq;

	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_GUARANTEE, D, 4));
	kvpt_ok(kvpt_alloc(c, D, 10, blocks));
	ticket = queued(a, D, 4, 0);
	/* Six are free, four of them are promised to b. */
	kvpt_ok(kvpt_alloc(b, D, 2, &blocks[10]));
	kvpt_ok(kvpt_admit(b, D, 1));
	kvpt_ok(kvpt_create(b, 1, tok, 8, &seq));
	ck_assert_uint_eq(reserve_of(b, D), 0);
	ck_assert_uint_eq(charged_of(b, D), 4);
	kvpt_refused(&env, a, kvpt_alloc(b, D, 1, &blocks[12]), -ENOSPC, KVP_REASON_QUEUED, D);
	expect_tickets(a, 0, 1);
	/* More than the share is no share. */
	kvpt_ok(kvpt_free(b, seq));
	expect_tickets(a, 0, 1);
	kvpt_refused(&env, a, kvpt_admit(b, D, 3), -ENOSPC, KVP_REASON_QUEUED, D);
	kvpt_ok(kvpt_admit_queue(b, D, 2, &seq));
	ck_assert_uint_eq(kvpt.admit.state, KVP_ADMITTED);
	kvpt_ok(kvpt_unref(c, blocks, 2));
	expect_tickets(a, 1, 0);
	kvpt_ok(kvpt_admit_take(a, ticket));
}
END_TEST

START_TEST(test_a_ticket_leaves_others_their_guarantees)
{
	u64 ticket;

	kvpt_ok(kvpt_alloc(c, D, 12, blocks));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_GUARANTEE, D, 3));
	ticket = queued(c, D, 2, 0);
	kvpt_ok(kvpt_unref(c, blocks, 1));
	/* Five are free now. */
	expect_tickets(c, 1, 0);
	kvpt_ok(kvpt_alloc(b, D, 3, &blocks[16]));
	kvpt_ok(kvpt_admit_take(c, ticket));
}
END_TEST

/* ---- what serves ---- */

START_TEST(test_served_by_free_and_truncate)
{
	u64 seq, ticket;

	kvpt_ok(kvpt_create(c, 1, tok, 40, &seq));
	kvpt_ok(kvpt_alloc(b, D, 6, blocks));
	ticket = queued(a, D, 3, 0);
	kvpt_ok(kvpt_truncate(c, seq, 32));
	expect_tickets(a, 0, 1);
	kvpt_ok(kvpt_truncate(c, seq, 28));
	expect_tickets(a, 1, 0);
	kvpt_ok(kvpt_admit_take(a, ticket));
	ticket = queued(a, D, 7, 0);
	kvpt_ok(kvpt_free(c, seq));
	expect_tickets(a, 1, 0);
	kvpt_ok(kvpt_admit_take(a, ticket));
}
END_TEST

START_TEST(test_served_by_death)
{
	u64 seq, ticket, first;

	kvpt_ok(kvpt_create(c, 1, tok, 40, &seq));
	kvpt_ok(kvpt_alloc(b, D, 6, blocks));
	first = queued(c, D, 10, 0);
	ticket = queued(a, D, 10, 1);
	ck_assert_uint_ne(first, 0);
	/* Its ticket ends with it, its blocks come back, and the next one has them. */
	kvpt_close(&env, c);
	expect_tickets(a, 1, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).tickets, 1);
	kvpt_ok(kvpt_admit_take(a, ticket));
	ck_assert_uint_eq(reserve_of(a, D), 10);
}
END_TEST

START_TEST(test_served_by_the_death_of_who_had_blocks_in_advance)
{
	u64 ticket, granted;

	kvpt_ok(kvpt_alloc(b, D, 8, blocks));
	kvpt_ok(kvpt_admit(c, D, 6));
	granted = queued(c, D, 4, 0);
	kvpt_ok(kvpt_unref(b, blocks, 2));
	expect_tickets(c, 1, 0);
	ck_assert_uint_ne(granted, 0);
	ticket = queued(a, D, 10, 0);
	kvpt_close(&env, c);
	expect_tickets(a, 1, 0);
	kvpt_ok(kvpt_admit_take(a, ticket));
	expect_states(D, 0, 10, 6);
}
END_TEST

START_TEST(test_served_by_a_fence)
{
	u64 seq, ticket;

	kvpt_timeline(c);
	kvpt_ok(kvpt_create(c, 1, tok, 40, &seq));
	kvpt_ok(kvpt_use_read(c, seq, 0, 1));
	kvpt_ok(kvpt_free(c, seq));
	ticket = queued(a, D, 12, 0);
	/* Who waits looks; nobody else makes a call. */
	ck_assert_uint_ne(kvp_client_scan(a), KVP_SCAN_NEVER);
	ck_assert_uint_eq(kvp_client_ready(a), 0);
	kvpt_pass(c, 0, 1);
	kvp_client_scan(a);
	ck_assert_uint_eq(kvp_client_ready(a), KVP_READY_TICKET);
	expect_tickets(a, 1, 0);
	ck_assert_uint_eq(kvp_client_scan(a), KVP_SCAN_NEVER);
	kvpt_ok(kvpt_admit_take(a, ticket));
}
END_TEST

START_TEST(test_served_by_signal)
{
	u64 seq, ticket;

	kvpt_timeline(c);
	kvpt_ok(kvpt_create(c, 1, tok, 40, &seq));
	kvpt_ok(kvpt_use_read(c, seq, 0, 1));
	kvpt_ok(kvpt_free(c, seq));
	ticket = queued(a, D, 12, 0);
	kvpt_ok(kvpt_signal(c, 0, 1));
	kvp_client_scan(a);
	expect_tickets(a, 1, 0);
	kvpt_ok(kvpt_admit_take(a, ticket));
}
END_TEST

START_TEST(test_served_by_publish_and_reclaim)
{
	u64 seq, ticket;

	seq = kvpt_computed(c, 1, tok, 40);
	kvpt_ok(kvpt_publish(c, seq));
	kvpt_ok(kvpt_alloc(b, D, 6, blocks));
	ticket = queued(a, D, 4, 0);
	/* Idle ones are as good as free ones. */
	kvpt_ok(kvpt_free(c, seq));
	expect_tickets(a, 1, 0);
	ck_assert_uint_eq(kvpt_blocks(a, D, KVP_BLOCK_IDLE), 6);
	kvpt_ok(kvpt_admit_take(a, ticket));
}
END_TEST

START_TEST(test_served_by_a_match_that_is_released)
{
	u64 match, ticket, more;

	dense_only();
	kvpt_ok(kvpt_make_published(c, 1, tok, 40));
	kvpt_ok(kvpt_match(c, 1, tok, 40, &match));
	kvpt_ok(kvpt_alloc(b, D, 4, blocks));
	/* 2 are free, 10 idle, and none of those can be reclaimed: it waits, and nothing spins. */
	ticket = queued(a, D, 4, 0);
	expect_tickets(a, 0, 1);
	kvpt_ok(kvpt_unref(b, blocks, 1));
	expect_tickets(a, 0, 1);
	ck_assert_uint_eq(kvpt_blocks(a, D, KVP_BLOCK_FREE), 3);
	ck_assert_uint_eq(kvpt_blocks(a, D, KVP_BLOCK_RESERVED), 0);
	/* A longer match in between holds what a shorter one does not. */
	kvpt_ok(kvpt_match(c, 1, tok, 8, &more));
	kvpt_ok(kvpt_release(c, match));
	expect_tickets(a, 1, 0);
	kvpt_ok(kvpt_admit_take(a, ticket));
	kvpt_ok(kvpt_release(c, more));
}
END_TEST

START_TEST(test_served_by_a_drop)
{
	u64 ticket;

	kvpt_ok(kvpt_admit(c, D, 16));
	ticket = queued(a, D, 3, 0);
	kvpt_ok(kvpt_admit_drop(c, D, 2));
	expect_tickets(a, 0, 1);
	kvpt_ok(kvpt_admit_drop(c, D, 5));
	expect_tickets(a, 1, 0);
	expect_states(D, 4, 12, 0);
	kvpt_ok(kvpt_admit_take(a, ticket));
}
END_TEST

START_TEST(test_served_by_a_limit_that_is_taken_away)
{
	u64 ticket;

	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_GUARANTEE, D, 8));
	kvpt_ok(kvpt_alloc(c, D, 6, blocks));
	ticket = queued(c, D, 4, 0);
	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_GUARANTEE, D, 0));
	expect_tickets(c, 1, 0);
	kvpt_ok(kvpt_admit_take(c, ticket));
}
END_TEST

START_TEST(test_a_ticket_over_its_limit_keeps_nobody)
{
	u64 id = kvpt_client_id(b), ticket, seq;

	kvpt_ok(kvpt_create(b, 1, tok, 8, &seq));
	kvpt_ok(kvpt_alloc(c, D, 14, blocks));
	ticket = queued(b, D, 2, 0);
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_BLOCKS, D, 3));
	kvpt_ok(kvpt_unref(c, blocks, 8));
	expect_tickets(b, 0, 1);
	/* That it gets nothing is its client's limit: others need not wait for it. */
	kvpt_ok(kvpt_alloc(a, D, 2, &blocks[16]));
	kvpt_ok(kvpt_admit_queue(a, D, 2, &seq));
	ck_assert_uint_eq(kvpt.admit.state, KVP_ADMITTED);
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_BLOCKS, D, KVP_UNLIMITED));
	kvpt_ok(kvpt_unref(c, &blocks[8], 1));
	expect_tickets(b, 1, 0);
	kvpt_ok(kvpt_admit_cancel(b, ticket));
}
END_TEST

/* ---- results that are lost ---- */

START_TEST(test_results_that_cannot_be_written)
{
	struct kvp_client *d;
	u64 ticket;

	env.door = &kvpt_failing_door;
	d = kvpt_join(&env, 1003, KVP_RIGHT_USE);
	kvpt_fail_write = 1;
	ck_assert_int_eq(kvpt_admit(d, D, 3), -EFAULT);
	expect_states(D, 16, 0, 0);
	ck_assert_uint_eq(charged_of(d, D), 0);
	kvpt_ok(kvpt_admit(d, D, 2));
	kvpt_fail_write = 1;
	ck_assert_int_eq(kvpt_admit(d, D, 3), -EFAULT);
	ck_assert_uint_eq(reserve_of(d, D), 2);
	kvpt_ok(kvpt_alloc(c, D, 14, blocks));
	kvpt_fail_write = 1;
	ck_assert_int_eq(kvpt_admit_queue(d, D, 3, &ticket), -EFAULT);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).tickets, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).tickets_waiting, 0);
	/* Others are not kept by it. */
	kvpt_ok(kvpt_unref(c, blocks, 1));
	kvpt_ok(kvpt_alloc(b, D, 1, &blocks[16]));
	/* Take and cancel stand. */
	kvpt_ok(kvpt_admit_queue(d, D, 1, &ticket));
	kvpt_ok(kvpt_unref(c, &blocks[1], 1));
	kvpt_fail_write = 1;
	ck_assert_int_eq(kvpt_admit_take(d, ticket), -EFAULT);
	kvpt_fail_write = 0;
	ck_assert_uint_eq(reserve_of(d, D), 3);
	kvpt_expect(kvpt_admit_take(d, ticket), -ESTALE, KVP_REASON_GENERATION);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tickets");
	TCase *tc = tcase_create("tickets");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_a_ticket);
	tcase_add_test(tc, test_the_order_of_asking);
	tcase_add_test(tc, test_cancel_lets_the_next_one_go);
	tcase_add_test(tc, test_over_families_tickets_wait_for_what_they_ask);
	tcase_add_test(tc, test_other_families_do_not_wait);
	tcase_add_test(tc, test_whose_turn_it_is);
	tcase_add_test(tc, test_a_guaranteed_share_passes);
	tcase_add_test(tc, test_a_ticket_leaves_others_their_guarantees);
	tcase_add_test(tc, test_served_by_free_and_truncate);
	tcase_add_test(tc, test_served_by_death);
	tcase_add_test(tc, test_served_by_the_death_of_who_had_blocks_in_advance);
	tcase_add_test(tc, test_served_by_a_fence);
	tcase_add_test(tc, test_served_by_signal);
	tcase_add_test(tc, test_served_by_publish_and_reclaim);
	tcase_add_test(tc, test_served_by_a_match_that_is_released);
	tcase_add_test(tc, test_served_by_a_drop);
	tcase_add_test(tc, test_served_by_a_limit_that_is_taken_away);
	tcase_add_test(tc, test_a_ticket_over_its_limit_keeps_nobody);
	tcase_add_test(tc, test_results_that_cannot_be_written);
	suite_add_tcase(suite, tc);
	return kvpt_run(suite);
}

// SPDX-License-Identifier: MIT
/*
 * Where fences meet what else goes on: uses that became one, shared blocks that grow under an open
 * write, nodes as large as a hold of the lock, tickets that a reclaim cannot serve, clients that
 * are gone.
 */
#include <check.h>

#include "fenced.h"

#define STRICT	((const struct kvp_pool_create){ .head.flags = KVP_POOL_STRICT })

static void remake(const struct kvp_pool_create *with, struct kvp_family_desc family)
{
	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	env.door = kvpt_export_door(&kvp_inproc_door);
	a = kvpt_pool_with(&env, with, &family, 1);
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	t = kvpt_timeline(a);
	u = kvpt_timeline(a);
}

/* ---- uses that became one ---- */

/* A window at token 4, where it stays for a read that is open on timeline u. */
static u64 window_at_four(void)
{
	u64 seq;

	remake(&(struct kvp_pool_create){ }, (struct kvp_family_desc)KVPT_WINDOW(6, 4, 4));
	kvpt_ok(kvpt_create(a, 1, tok, 22, &seq));
	kvpt_ok(kvpt_advance(a, seq, 4));
	kvpt_ok(kvpt_use_read(a, seq, u, 1));
	kvpt_ok(kvpt_advance(a, seq, 20));
	return seq;
}

/* Nobody gets a block that work which reads all may read, until that has passed. */
static void expect_window_kept(u32 value)
{
	u64 block;

	kvpt_pass(a, u, 1);
	kvpt_expect(kvpt_alloc(b, 0, 1, &block), -ENOSPC, KVP_REASON_POOL_FULL);
	kvpt_pass(a, t, value);
	kvpt_ok(kvpt_alloc(b, 0, 1, &block));
}

/* In this order, and in the other one. */
START_TEST(test_a_step_that_reads_all_and_writes)
{
	u64 seq = window_at_four();
	const struct kvp_use_entry step[] = {
		KVPT_READ(seq, t, 1), KVPT_WRITE(seq, t, 1, 20, 21), KVPT_READ(seq, t, 1),
	};

	kvpt_ok(kvpt_use(a, &step[_i], 2));
	expect_waiting(a, 0, 2, 0);
	expect_window_kept(1);
}
END_TEST

START_TEST(test_a_read_among_more_uses_than_are_told_apart)
{
	u64 seq = window_at_four();
	u32 i;

	for (i = 1; i <= KVP_MAX_USES + 10; i++) {
		if (i == 2)
			kvpt_ok(kvpt_use_read(a, seq, t, i));
		else
			kvpt_ok(kvpt_use_write(a, seq, t, i, 20, 21));
	}
	expect_window_kept(KVP_MAX_USES + 10);
}
END_TEST

/* ---- appends to blocks that others hold ---- */

START_TEST(test_append_to_a_block_that_is_written)
{
	u64 seq = made(6), table[2];

	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 6));
	kvpt_expect_table(a, seq, 0, table, 2);
	kvpt_ok(kvpt_ref_from(a, seq, 1, &table[1], 1));
	kvpt_refused(&env, a, kvpt_append(a, seq, tok + 6, 1), -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_append(a, seq, tok + 6, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 1);
	ck_assert_uint_eq(kvpt_copies[0].src, table[1]);
	ck_assert_uint_eq(kvpt_copies[0].tokens, 2);
	ck_assert_uint_eq(computed_of(seq), 6);
	kvpt_ok(kvpt_unref(a, &table[1], 1));
}
END_TEST

START_TEST(test_append_while_an_export_is_written)
{
	u64 seq = made(6);
	s32 fd;

	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 6));
	kvpt_ok(kvpt_export(a, seq, &fd));
	kvpt_refused(&env, a, kvpt_append(a, seq, tok + 6, 1), -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_append(a, seq, tok + 6, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 1);
	ck_assert_uint_eq(kvpt_copies[0].tokens, 2);
	kvpt_export_close(fd);
}
END_TEST

START_TEST(test_rows_whose_ids_come_later_are_copied)
{
	u64 seq = made(6), table[2];

	kvpt_ok(kvpt_reserve(a, seq, 2));
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 0, 8));
	kvpt_pass(a, t, 1);
	kvpt_expect_table(a, seq, 0, table, 2);
	ck_assert_uint_eq(kvpt.table.nr_computed, 6);
	kvpt_ok(kvpt_ref_from(a, seq, 1, &table[1], 1));
	kvpt_ok(kvpt_append(a, seq, tok + 6, 2));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 1);
	ck_assert_uint_eq(kvpt_copies[0].tokens, 4);
	ck_assert_uint_eq(computed_of(seq), 8);
	kvpt_ok(kvpt_unref(a, &table[1], 1));
}
END_TEST

/* ---- nodes as large as what one hold of the lock may touch ---- */

#define PARTS	KVP_MAX_NODE_BLOCKS

/* Late references of the first use, and many uses that stay open when that passes. */
static u64 many_late(void)
{
	static u32 ids[PARTS];
	u64 seq;
	u32 i;

	remake(&(struct kvp_pool_create){ .index_tokens = PARTS },
	       (struct kvp_family_desc)KVPT_DENSE(2 * PARTS, 1));
	kvpt_tokens(ids, PARTS, 3);
	kvpt_ok(kvpt_create(a, 1, ids, PARTS, &seq));
	kvpt_ok(kvpt_use_read(a, seq, t, 1));
	kvpt_ok(kvpt_truncate(a, seq, 0));
	for (i = 2; i <= 40; i++)
		kvpt_ok(kvpt_use_read(a, seq, t, i));
	expect_states(0, PARTS, 0, 0, PARTS);
	kvpt_pass(a, t, 1);
	return seq;
}

START_TEST(test_large_nodes_are_settled_by_a_call)
{
	u64 seq = many_late();

	ck_assert_uint_eq(computed_of(seq), 0);
	expect_states(0, 2 * PARTS, 0, 0, 0);
	expect_waiting(a, 0, 39, 0);
}
END_TEST

START_TEST(test_large_nodes_are_settled_for_others)
{
	static u64 blocks[2 * PARTS];

	many_late();
	kvpt_ok(kvpt_alloc(b, 0, 2 * PARTS, blocks));
	expect_waiting(a, 0, 39, 0);
}
END_TEST

/* ---- tickets ---- */

/*
 * Enough is free or idle, but not all of it can be reclaimed, and among what can is what was cut
 * off the index: a try that fails puts it back. It is tried once for each time that something
 * came back, and not because of itself.
 */
START_TEST(test_a_ticket_that_a_reclaim_cannot_serve)
{
	u64 seq, match, ticket, blocks[9];
	u64 came_back;

	kvpt_ok(kvpt_create(a, 1, tok, 16, &seq));
	kvpt_ok(kvpt_advance(a, seq, 16));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_create(a, 2, tok, 8, &seq));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_match(a, 2, tok, 8, &match));
	kvpt_ok(kvpt_invalidate_prefix(a, 1, tok, 8));
	kvpt_ok(kvpt_alloc(a, 0, 9, blocks));
	expect_states(0, 1, 9, 6, 0);
	kvpt_ok(kvpt_admit_queue(b, 0, 6, &ticket));
	ck_assert_uint_eq(kvpt.admit.state, KVP_ADMIT_WAITING);
	came_back = kvpt_pool_of(a)->came_back;
	kvp_tickets_serve(kvpt_pool_of(a));
	ck_assert_uint_eq(kvpt_pool_of(a)->came_back, came_back);
	expect_states(0, 1, 9, 6, 0);
	kvpt_ok(kvpt_release(a, match));
	kvpt_ok(kvpt_admit_take(b, ticket));
	ck_assert_uint_eq(kvpt_family_of(b, KVP_STATS_SELF, 0).reserve, 6);
}
END_TEST

START_TEST(test_a_guarantee_behind_others_tickets)
{
	u64 blocks[16], first, mine;
	u64 id = kvpt_client_id(a);

	kvpt_ok(kvpt_alloc(b, 0, 16, blocks));
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_GUARANTEE, 0, 10));
	kvpt_ok(kvpt_admit_queue(b, 0, 5, &first));
	kvpt_ok(kvpt_admit_queue(a, 0, 4, &mine));
	kvpt_ok(kvpt_unref(b, blocks, 12));
	/* Twelve are free: ten of them are guaranteed to a, so b's five cannot be had. */
	kvpt_ok(kvpt_admit_take(a, mine));
	kvpt_expect(kvpt_admit_take(b, first), -EBUSY, KVP_REASON_NOT_GRANTED);
	kvpt_ok(kvpt_limit(a, id, KVP_LIMIT_GUARANTEE, 0, 0));
	kvpt_ok(kvpt_admit_take(b, first));
}
END_TEST

/* ---- who is gone ---- */

START_TEST(test_nobody_is_waited_for_in_a_pool_that_was_destroyed)
{
	u64 seq = made(4);

	kvpt_ok(kvpt_use_read(a, seq, t, 1));
	kvpt_ok(kvpt_watch(a, t, 1));
	ck_assert_uint_eq(kvp_host_scan(&env.host), env.host.scan_ns);
	kvpt_ok(kvpt_pool_destroy(a, KVPT_POOL_NAME, KVP_DESTROY_FORCE));
	ck_assert_uint_eq(kvp_host_scan(&env.host), KVP_SCAN_NEVER);
	kvpt_env_exit(&env);
	setup();
}
END_TEST

START_TEST(test_timelines_of_the_dead_are_not_waited_for)
{
	u64 seq, ticket;
	u32 mine;

	remake(&STRICT, (struct kvp_family_desc)KVPT_DENSE(16, 4));
	mine = kvpt_timeline(b);
	kvpt_ok(kvpt_create(b, 1, tok, 40, &seq));
	kvpt_ok(kvpt_use_read(b, seq, mine, 1));
	kvpt_ok(kvpt_admit_queue(a, 0, 12, &ticket));
	ck_assert_uint_eq(kvp_host_scan(&env.host), env.host.scan_ns);
	kvpt_close(&env, b);
	ck_assert_uint_eq(kvp_host_scan(&env.host), KVP_SCAN_NEVER);
	kvpt_ok(kvpt_reap(a, 0));
	kvpt_ok(kvpt_admit_take(a, ticket));
}
END_TEST

START_TEST(test_the_dead_leave_places_for_who_can_reap)
{
	const struct kvp_cred user = { .uid = 1001 };
	const struct kvp_cred root = { .admin = true };
	const u32 places = KVP_MAX_CLIENTS - KVP_ADMIN_CLIENTS;
	struct kvp_client *client;
	u64 seq;
	u32 i;

	remake(&STRICT, (struct kvp_family_desc)KVPT_DENSE(16, 4));
	kvpt_close(&env, b);
	for (i = 1; i < places; i++) {
		client = kvp_client_open(&env.host, env.door, &user);
		kvpt_ok(kvpt_pool_attach(client, KVPT_POOL_NAME, KVP_RIGHT_USE));
		kvpt_ok(kvpt_create(client, 1, NULL, 0, &seq));
		kvpt_ok(kvpt_use_read(client, seq, kvpt_timeline(client), 1));
		kvp_client_close(client);
	}
	client = kvp_client_open(&env.host, env.door, &user);
	kvpt_expect(kvpt_pool_attach(client, KVPT_POOL_NAME, KVP_RIGHT_USE), -EDQUOT,
		    KVP_REASON_LIMIT_CLIENTS);
	kvp_client_close(client);
	client = kvpt_open_cred(&env, &root);
	kvpt_ok(kvpt_pool_attach(client, KVPT_POOL_NAME, 0));
	kvpt_ok(kvpt_reap(client, 0));
	ck_assert_uint_eq(kvpt.reap.clients, places - 1);
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
}
END_TEST

/* Its memory, and its place among all pools, are a scan's until that ends. */
START_TEST(test_a_scan_keeps_no_name)
{
	struct kvp_pool *pool = a->pool;
	struct kvp_client *newcomer = kvpt_open(&env, KVPT_OWNER);
	LIST_HEAD(ended);

	pool->nr_scans++;
	kvpt_close(&env, b);
	kvpt_close(&env, a);
	kvpt_expect(kvpt_pool_attach(newcomer, KVPT_POOL_NAME, 0), -ENOENT, KVP_REASON_NO_POOL);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(16, 4) }, 1);
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	ck_assert_ptr_ne(a->pool, pool);
	ck_assert_ptr_eq(list_first_entry(&env.host.all, struct kvp_pool, all), pool);
	/* As it does when it ends. */
	mutex_lock(&env.host.lock);
	pool->nr_scans--;
	kvp_pool_end_later(pool, &ended);
	mutex_unlock(&env.host.lock);
	ck_assert(!list_empty(&ended));
	kvp_pools_free(&ended);
	ck_assert_ptr_eq(list_first_entry(&env.host.all, struct kvp_pool, all), a->pool);
	kvpt_close(&env, newcomer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fences: edges");
	TCase *tc = tcase_create("edges");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, test_a_step_that_reads_all_and_writes, 0, 2);
	tcase_add_test(tc, test_a_read_among_more_uses_than_are_told_apart);
	tcase_add_test(tc, test_append_to_a_block_that_is_written);
	tcase_add_test(tc, test_append_while_an_export_is_written);
	tcase_add_test(tc, test_rows_whose_ids_come_later_are_copied);
	tcase_add_test(tc, test_large_nodes_are_settled_by_a_call);
	tcase_add_test(tc, test_large_nodes_are_settled_for_others);
	tcase_add_test(tc, test_a_ticket_that_a_reclaim_cannot_serve);
	tcase_add_test(tc, test_a_guarantee_behind_others_tickets);
	tcase_add_test(tc, test_nobody_is_waited_for_in_a_pool_that_was_destroyed);
	tcase_add_test(tc, test_timelines_of_the_dead_are_not_waited_for);
	tcase_add_test(tc, test_the_dead_leave_places_for_who_can_reap);
	tcase_add_test(tc, test_a_scan_keeps_no_name);
	suite_add_tcase(suite, tc);
	return kvpt_run(suite);
}

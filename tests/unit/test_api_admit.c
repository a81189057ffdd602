// SPDX-License-Identifier: MIT
/*
 * Admission through kvpool.h: the reserve, tickets in the order of asking, waiting for one; and
 * each error that these functions document, with its text.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "pools.h"

#define MS	1000000ULL

static struct kvp_pool *pool, *other;
static uint8_t space[KVP_DIGEST_LEN];
static uint32_t tokens[64];

static void setup(void)
{
	pool = kvpr_open("inproc:admit?family=a,dense,8,4,16&family=b,dense,4,4,16");
	other = kvpr_open("inproc:admit");
	kvpr_space("m", space);
	kvpr_tokens(tokens, 64, 1);
}

static void teardown(void)
{
	kvpr_sound(pool);
	kvp_pool_close(other);
	kvp_pool_close(pool);
}

static struct kvp_admit_need need_of(uint32_t family, uint64_t blocks)
{
	return (struct kvp_admit_need){ .family = family, .blocks = blocks };
}

static int admit(struct kvp_pool *who, uint64_t blocks)
{
	struct kvp_admit_need need = need_of(0, blocks);

	return kvp_admit(who, &need, 1);
}

static kvp_ticket_t queue(struct kvp_pool *who, uint64_t blocks, uint64_t expected_ahead)
{
	struct kvp_admit_need need = need_of(0, blocks);
	uint64_t ahead = 77;
	kvp_ticket_t ticket = 77;

	kvpr_ok(kvp_admit_queue(who, &need, 1, &ticket, &ahead));
	ck_assert_uint_ne(ticket, 77);
	ck_assert_uint_eq(ahead, expected_ahead);
	return ticket;
}

/* All blocks of the first family, taken by others. */
static void fill(uint64_t blocks[8])
{
	kvpr_ok(kvp_blocks_alloc(other, 0, blocks, 8));
}

static uint64_t reserve_of(struct kvp_pool *who, uint32_t family)
{
	struct kvp_family_stats families[2];
	struct kvp_stats stats;

	kvpr_ok(kvp_pool_stats(who, KVP_STATS_SELF, &stats, families, 2));
	return families[family].reserve;
}

static struct kvp_query query(struct kvp_pool *who)
{
	struct kvp_query info;

	kvpr_ok(kvp_query(who, NULL, 0, 0, &info));
	return info;
}

/* ---- the reserve ---- */

START_TEST(test_reserve_is_taken_first)
{
	struct kvp_admit_need needs[2] = { need_of(0, 3), need_of(1, 2) };
	uint64_t blocks[8];
	kvp_seq_t seq;

	kvpr_ok(kvp_admit(pool, needs, 2));
	ck_assert_uint_eq(reserve_of(pool, 0), 3);
	ck_assert_uint_eq(reserve_of(pool, 1), 2);
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_RESERVED), 3);
	/* Nobody else gets them. */
	kvpr_expect(kvp_blocks_alloc(other, 0, blocks, 6), -ENOSPC, KVP_REASON_POOL_FULL);
	kvpr_ok(kvp_blocks_alloc(other, 0, blocks, 5));
	seq = kvpr_seq(pool, space, tokens, 8, NULL);
	ck_assert_uint_eq(reserve_of(pool, 0), 1);
	ck_assert_uint_eq(reserve_of(pool, 1), 0);
	kvpr_ok(kvp_admit_drop(pool, needs, 0));
	ck_assert_uint_eq(reserve_of(pool, 0), 0);
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 1);
	kvpr_ok(kvp_seq_free(pool, seq));
	kvpr_ok(kvp_blocks_unref(other, blocks, 5));
}
END_TEST

START_TEST(test_drop)
{
	struct kvp_admit_need needs[2] = { need_of(0, 3), need_of(1, 2) };

	kvpr_ok(kvp_admit(pool, needs, 2));
	needs[0].blocks = 1;
	kvpr_ok(kvp_admit_drop(pool, needs, 1));
	ck_assert_uint_eq(reserve_of(pool, 0), 2);
	ck_assert_uint_eq(reserve_of(pool, 1), 2);
	needs[1].blocks = 3;
	kvpr_expect(kvp_admit_drop(pool, needs, 2), -EINVAL, KVP_REASON_VALUE);
	ck_assert_uint_eq(kvp_error()->where, 1);
	ck_assert_uint_eq(reserve_of(pool, 0), 2);
	kvpr_ok(kvp_admit_drop(pool, NULL, 0));
	ck_assert_uint_eq(reserve_of(pool, 0), 0);
	ck_assert_uint_eq(reserve_of(pool, 1), 0);
}
END_TEST

START_TEST(test_admits_that_cannot_be)
{
	struct kvp_admit_need needs[2] = { need_of(0, 1), need_of(1, 1) };
	struct kvp_limit limit = { .mask = KVP_LIMIT_TICKETS, .tickets = 1 };
	struct kvp_pool_info info;
	kvp_ticket_t ticket = 77;
	uint64_t blocks[8];

	kvpr_expect(kvp_admit(pool, needs, 0), -EINVAL, KVP_REASON_COUNT);
	kvpr_expect(kvp_admit(pool, NULL, 1), -EFAULT, KVP_REASON_POINTER);
	kvpr_expect(kvp_admit_queue(pool, needs, 1, NULL, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("admit_queue: ticket is NULL");
	needs[1].family = 2;
	kvpr_expect(kvp_admit(pool, needs, 2), -EINVAL, KVP_REASON_FAMILY);
	ck_assert_uint_eq(kvp_error()->where, 1);
	needs[1].family = 0;
	kvpr_expect(kvp_admit(pool, needs, 2), -EINVAL, KVP_REASON_DUPLICATE);
	needs[1] = need_of(1, 0);
	kvpr_expect(kvp_admit(pool, needs, 2), -EINVAL, KVP_REASON_VALUE);
	needs[1] = need_of(1, 5);
	kvpr_expect(kvp_admit_queue(pool, needs, 2, &ticket, NULL), -EFBIG,
		    KVP_REASON_NEVER_FITS);
	ck_assert_uint_eq(ticket, 77);
	ck_assert_uint_eq(reserve_of(pool, 0), 0);

	fill(blocks);
	kvpr_expect(admit(pool, 1), -ENOSPC, KVP_REASON_POOL_FULL);
	kvpr_says("admit: ENOSPC: the pool is full now: expected enough free or idle blocks (family 0)");
	kvpr_ok(kvp_pool_get_info(pool, &info));
	limit.client = info.client;
	kvpr_ok(kvp_pool_limit(pool, &limit));
	kvpr_ok(kvp_admit_queue(pool, needs, 1, &ticket, NULL));
	kvpr_expect(kvp_admit_queue(pool, needs, 1, &(kvp_ticket_t){ 0 }, NULL), -EDQUOT,
		    KVP_REASON_LIMIT_TICKETS);
	kvpr_says("admit: EDQUOT: over the client's limit of tickets: expected fewer");
	kvpr_ok(kvp_admit_cancel(pool, ticket));
}
END_TEST

/* Blocks that work may touch are told apart. */
START_TEST(test_held_back)
{
	kvp_seq_t seq = kvpr_seq(other, space, tokens, 16, NULL);
	struct kvp_use_entry use = kvp_use_seq_read(seq);
	uint64_t *address;

	kvpr_ok(kvp_timeline_create(other, &use.timeline));
	kvpr_ok(kvp_timeline_address(other, use.timeline, &address));
	use.value = 1;
	kvpr_ok(kvp_use(other, &use, 1));
	kvpr_ok(kvp_seq_free(other, seq));
	kvpr_expect(admit(pool, 5), -ENOSPC, KVP_REASON_HELD_BACK);
	kvpr_says("admit: ENOSPC: blocks that are held back would do, but work may still touch them: expected free or idle blocks (family 0)");
	__atomic_store_n(address, 1, __ATOMIC_RELEASE);
	kvpr_ok(admit(pool, 5));
}
END_TEST

/* ---- tickets ---- */

START_TEST(test_no_ticket_where_none_is_needed)
{
	ck_assert_uint_eq(queue(pool, 8, 0), 0);
	ck_assert_uint_eq(reserve_of(pool, 0), 8);
}
END_TEST

START_TEST(test_ticket_is_granted_and_taken)
{
	uint64_t blocks[8];
	kvp_ticket_t ticket;
	uint32_t ready = 77;

	fill(blocks);
	ticket = queue(pool, 2, 0);
	ck_assert_uint_ne(ticket, 0);
	ck_assert_uint_eq(query(pool).waiting, 1);
	kvpr_expect(kvp_admit_take(pool, ticket), -EBUSY, KVP_REASON_NOT_GRANTED);
	kvpr_says("admit_take: the ticket still waits, behind 0 others: expected one that is granted");
	kvpr_ok(kvp_blocks_unref(other, blocks, 1));
	ck_assert_uint_eq(query(pool).granted, 0);
	kvpr_ok(kvp_blocks_unref(other, blocks + 1, 1));
	ck_assert_uint_eq(query(pool).granted, 1);
	ck_assert_uint_eq(query(pool).waiting, 0);
	kvpr_ok(kvp_wait(pool, KVP_READY_TICKET, NULL, 0, KVP_FOREVER, &ready));
	ck_assert_uint_eq(ready, KVP_READY_TICKET);
	kvpr_ok(kvp_admit_take(pool, ticket));
	ck_assert_uint_eq(reserve_of(pool, 0), 2);
	kvpr_expect(kvp_admit_take(pool, ticket), -ESTALE, KVP_REASON_GENERATION);
	kvpr_expect(kvp_admit_cancel(pool, 1ULL << 40), -ENOENT, KVP_REASON_NO_TICKET);
	kvpr_says("admit: ENOENT: no such ticket: expected the id of one that this client has");
	ck_assert_uint_eq(query(pool).granted, 0);
}
END_TEST

START_TEST(test_small_late_ask_does_not_overtake)
{
	uint64_t blocks[8], more[8];
	kvp_ticket_t large, small;

	fill(blocks);
	large = queue(pool, 6, 0);
	small = queue(pool, 1, 1);
	kvpr_expect(kvp_admit_take(pool, small), -EBUSY, KVP_REASON_NOT_GRANTED);
	kvpr_says("behind 1 others");
	ck_assert_uint_eq(kvp_error()->where, 1);
	kvpr_ok(kvp_blocks_unref(other, blocks, 5));
	kvpr_expect(kvp_admit_take(pool, small), -EBUSY, KVP_REASON_NOT_GRANTED);
	/* Nor does who asks without one. */
	kvpr_expect(kvp_blocks_alloc(other, 0, more, 1), -ENOSPC, KVP_REASON_QUEUED);
	kvpr_says("alloc: ENOSPC: others wait for blocks with tickets: expected to wait in turn with a ticket, too (family 0)");
	kvpr_expect(admit(other, 1), -ENOSPC, KVP_REASON_QUEUED);
	kvpr_ok(kvp_blocks_unref(other, blocks + 5, 1));
	kvpr_ok(kvp_admit_take(pool, large));
	kvpr_expect(kvp_admit_take(pool, small), -EBUSY, KVP_REASON_NOT_GRANTED);
	kvpr_says("behind 0 others");
	kvpr_ok(kvp_blocks_unref(other, blocks + 6, 1));
	kvpr_ok(kvp_admit_take(pool, small));
	ck_assert_uint_eq(reserve_of(pool, 0), 7);
}
END_TEST

START_TEST(test_cancel)
{
	uint64_t blocks[8];
	kvp_ticket_t first, second;

	fill(blocks);
	first = queue(pool, 2, 0);
	second = queue(pool, 2, 1);
	kvpr_ok(kvp_admit_cancel(pool, first));
	kvpr_ok(kvp_blocks_unref(other, blocks, 2));
	ck_assert_uint_eq(query(pool).granted, 1);
	/* One that is granted gives back what it had. */
	kvpr_ok(kvp_admit_cancel(pool, second));
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 2);
	ck_assert_uint_eq(query(pool).granted, 0);
}
END_TEST

/* ---- waiting ---- */

struct asker {
	pthread_t thread;
	uint64_t blocks;
	int err;
	_Atomic bool done;
};

static void *ask(void *arg)
{
	struct asker *asker = arg;
	struct kvp_admit_need need = need_of(0, asker->blocks);

	asker->err = kvp_admit_wait(pool, &need, 1, 20000 * MS);
	asker->done = true;
	return NULL;
}

static void ask_in_a_thread(struct asker *asker, uint64_t blocks)
{
	*asker = (struct asker){ .blocks = blocks };
	ck_assert_int_eq(pthread_create(&asker->thread, NULL, ask, asker), 0);
}

static void nap_ms(uint32_t ms)
{
	const struct timespec time = { .tv_nsec = ms * MS };

	nanosleep(&time, NULL);
}

static void until_waiting(uint32_t nr)
{
	while (query(pool).waiting != nr)
		nap_ms(1);
}

START_TEST(test_wait_until_there_is_room)
{
	struct asker first, second;
	uint64_t blocks[8];

	fill(blocks);
	ask_in_a_thread(&first, 4);
	until_waiting(1);
	ask_in_a_thread(&second, 1);
	until_waiting(2);
	nap_ms(20);
	kvpr_ok(kvp_blocks_unref(other, blocks, 3));
	nap_ms(20);
	ck_assert(!first.done);
	ck_assert(!second.done);
	kvpr_ok(kvp_blocks_unref(other, blocks + 3, 1));
	ck_assert_int_eq(pthread_join(first.thread, NULL), 0);
	ck_assert_int_eq(first.err, 0);
	ck_assert_uint_eq(reserve_of(pool, 0), 4);
	ck_assert(!second.done);
	kvpr_ok(kvp_blocks_unref(other, blocks + 4, 1));
	ck_assert_int_eq(pthread_join(second.thread, NULL), 0);
	ck_assert_int_eq(second.err, 0);
	ck_assert_uint_eq(reserve_of(pool, 0), 5);
}
END_TEST

/* Only the store says that the work is over: no call follows, and no further work. */
START_TEST(test_store_makes_room_for_who_waits)
{
	kvp_seq_t seq = kvpr_seq(other, space, tokens, 16, NULL);
	struct kvp_use_entry use = kvp_use_seq_read(seq);
	struct kvp_step step;
	struct asker asker;

	kvpr_ok(kvp_timeline_create(other, &use.timeline));
	ask_in_a_thread(&asker, 8);
	until_waiting(1);
	nap_ms(20);		/* asleep while there is nothing to look at */
	kvpr_ok(kvp_step_begin(other, use.timeline, &use, 1, &step));
	kvpr_ok(kvp_seq_free(other, seq));
	nap_ms(20);
	ck_assert(!asker.done);
	kvp_step_done(&step);
	ck_assert_int_eq(pthread_join(asker.thread, NULL), 0);
	ck_assert_int_eq(asker.err, 0);
	ck_assert_uint_eq(reserve_of(pool, 0), 8);
}
END_TEST

START_TEST(test_dead_client_makes_room_for_who_waits)
{
	struct kvp_pool *maker = kvpr_open("inproc:dies?blocks=4&block_tokens=4&grace=30");
	struct kvp_pool *engine = kvpr_open("inproc:dies");
	kvp_seq_t seq = kvpr_seq(engine, space, tokens, 16, NULL);
	struct kvp_use_entry use = kvp_use_seq_read(seq);
	struct kvp_admit_need need = need_of(0, 4);
	struct kvp_step step;

	kvpr_ok(kvp_timeline_create(engine, &use.timeline));
	kvpr_ok(kvp_step_begin(engine, use.timeline, &use, 1, &step));
	kvp_pool_close(engine);
	kvpr_expect(kvp_admit_wait(maker, &need, 1, 5 * MS), -ETIMEDOUT, KVP_REASON_NONE);
	kvpr_ok(kvp_admit_wait(maker, &need, 1, 20000 * MS));
	kvpr_sound(maker);
	kvp_pool_close(maker);
}
END_TEST

START_TEST(test_no_room_in_time)
{
	struct kvp_admit_need need = need_of(0, 1);
	uint64_t blocks[8];

	fill(blocks);
	kvpr_expect(kvp_admit_wait(pool, &need, 1, 10 * MS), -ETIMEDOUT, KVP_REASON_NONE);
	kvpr_says("admit_wait: not granted in 10000000 ns: expected blocks to come back by then");
	ck_assert_uint_eq(query(pool).waiting, 0);
	kvpr_expect(kvp_admit_wait(pool, &need, 0, KVP_FOREVER), -EINVAL, KVP_REASON_COUNT);
	kvpr_ok(kvp_blocks_unref(other, blocks, 1));
	kvpr_ok(kvp_admit_wait(pool, &need, 1, 0));
	ck_assert_uint_eq(reserve_of(pool, 0), 1);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("api: admission");
	TCase *tc = tcase_create("admission");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_reserve_is_taken_first);
	tcase_add_test(tc, test_drop);
	tcase_add_test(tc, test_admits_that_cannot_be);
	tcase_add_test(tc, test_held_back);
	tcase_add_test(tc, test_no_ticket_where_none_is_needed);
	tcase_add_test(tc, test_ticket_is_granted_and_taken);
	tcase_add_test(tc, test_small_late_ask_does_not_overtake);
	tcase_add_test(tc, test_cancel);
	tcase_add_test(tc, test_wait_until_there_is_room);
	tcase_add_test(tc, test_store_makes_room_for_who_waits);
	tcase_add_test(tc, test_dead_client_makes_room_for_who_waits);
	tcase_add_test(tc, test_no_room_in_time);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

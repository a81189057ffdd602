// SPDX-License-Identifier: MIT
/*
 * Timelines, uses, steps and waiting through kvpool.h: what each function gives, each error that
 * it documents with its text, and that a refused call has changed nothing.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"
#include "pools.h"

#define MS	1000000ULL

static struct kvp_pool *pool;
static uint8_t space[KVP_DIGEST_LEN];
static uint32_t tokens[64];
static uint32_t timeline;
static uint64_t *address;

static void setup(void)
{
	pool = kvpr_open("inproc:fence?blocks=16&block_tokens=4&row_bytes=8");
	kvpr_space("m", space);
	kvpr_tokens(tokens, 64, 1);
	kvpr_ok(kvp_timeline_create(pool, &timeline));
	kvpr_ok(kvp_timeline_address(pool, timeline, &address));
}

static void teardown(void)
{
	kvpr_sound(pool);
	kvp_pool_close(pool);
}

static void store(uint64_t value)
{
	__atomic_store_n(address, value, __ATOMIC_RELEASE);
}

static struct kvp_use_entry with(struct kvp_use_entry entry, uint64_t value)
{
	entry.timeline = timeline;
	entry.value = value;
	return entry;
}

static struct kvp_fence fence_of(uint64_t value)
{
	return (struct kvp_fence){ .timeline = timeline, .value = value };
}

static struct kvp_query query(void)
{
	struct kvp_query info;

	kvpr_ok(kvp_query(pool, NULL, 0, 0, &info));
	return info;
}

/* Announce values up to @value by a use of a sequence; returns the sequence. */
static kvp_seq_t announce(uint64_t value)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 8, NULL);
	struct kvp_use_entry use = with(kvp_use_seq_read(seq), value);

	kvpr_ok(kvp_use(pool, &use, 1));
	return seq;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 * MS + now.tv_nsec;
}

static void nap_ms(uint32_t ms)
{
	const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MS };

	nanosleep(&time, NULL);
}

/* ---- timelines ---- */

START_TEST(test_timelines)
{
	uint32_t next = 77, i;
	uint64_t *second;

	ck_assert_uint_eq(timeline, 0);
	ck_assert_uint_eq(*address, 0);
	for (i = 1; i < KVP_NR_TIMELINES; i++) {
		kvpr_ok(kvp_timeline_create(pool, &next));
		ck_assert_uint_eq(next, i);
	}
	next = 77;
	kvpr_expect(kvp_timeline_create(pool, &next), -EDQUOT, KVP_REASON_LIMIT_TIMELINES);
	kvpr_says("timeline-create: EDQUOT: the client has as many timelines as there can be: expected fewer than 64");
	ck_assert_uint_eq(next, 77);
	kvpr_ok(kvp_timeline_address(pool, 1, &second));
	ck_assert_ptr_eq((char *)second, (char *)address + sizeof(struct kvp_timeline));
}
END_TEST

START_TEST(test_timelines_that_cannot_be_had)
{
	uint64_t *none = NULL;

	kvpr_expect(kvp_timeline_create(pool, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("timeline_create: timeline is NULL");
	kvpr_expect(kvp_timeline_address(pool, timeline, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("timeline_address: address is NULL");
	kvpr_expect(kvp_timeline_address(pool, 1, &none), -ENOENT, KVP_REASON_NO_TIMELINE);
	kvpr_says("no such timeline: expected the index of one that this client made");
	kvpr_expect(kvp_timeline_address(pool, KVP_NR_TIMELINES, &none), -ENOENT,
		    KVP_REASON_NO_TIMELINE);
	ck_assert_ptr_null(none);
}
END_TEST

START_TEST(test_clients_have_timelines_of_their_own)
{
	struct kvp_pool *other = kvpr_open("inproc:fence");
	uint64_t *others = NULL;
	uint32_t made = 77;

	kvpr_expect(kvp_timeline_address(other, 0, &others), -ENOENT, KVP_REASON_NO_TIMELINE);
	kvpr_ok(kvp_timeline_create(other, &made));
	ck_assert_uint_eq(made, 0);
	kvpr_ok(kvp_timeline_address(other, 0, &others));
	ck_assert_ptr_ne(others, address);
	kvp_pool_close(other);
}
END_TEST

/* ---- uses ---- */

START_TEST(test_use_of_a_sequence)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 8, NULL);
	struct kvp_use_entry use = with(kvp_use_seq(seq, 0, 8), 3);
	struct kvp_fence fence = fence_of(3);
	struct kvp_query info;

	kvpr_ok(kvp_use(pool, &use, 1));
	kvpr_ok(kvp_query(pool, &fence, 1, 0, &info));
	ck_assert_uint_eq(fence.passed, 0);
	ck_assert_uint_eq(fence.seen, 0);
	ck_assert_uint_eq(fence.announced, 3);
	ck_assert_uint_eq(info.uses, 1);
	ck_assert_uint_eq(info.held_back, 0);
	kvpr_expect(kvp_seq_advance(pool, seq, 8), -EBUSY, KVP_REASON_FENCE_OPEN);
	kvpr_says("work that may touch it has not ended: expected its fence to have passed");
	kvpr_expect_lengths(pool, seq, 8, 0, 8, 0);
	/* What is freed meanwhile comes back when it passes. */
	kvpr_ok(kvp_seq_free(pool, seq));
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_HELD_BACK), 2);
	ck_assert_uint_eq(query().held_back, 2);
	store(3);
	kvpr_ok(kvp_query(pool, &fence, 1, 0, NULL));
	ck_assert_uint_eq(fence.passed, 1);
	ck_assert_uint_eq(fence.seen, 3);
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_HELD_BACK), 0);
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 16);
	ck_assert_uint_eq(query().held_back, 0);
}
END_TEST

START_TEST(test_use_of_blocks)
{
	struct kvp_use_entry uses[2];
	uint64_t blocks[2];

	kvpr_ok(kvp_blocks_alloc(pool, 0, blocks, 2));
	uses[0] = with(kvp_use_block(blocks[0]), 1);
	uses[1] = with(kvp_use_block(blocks[1]), 2);
	kvpr_ok(kvp_use(pool, uses, 2));
	kvpr_ok(kvp_blocks_unref(pool, blocks, 2));
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_HELD_BACK), 2);
	store(1);
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_HELD_BACK), 1);
	store(2);
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 16);
}
END_TEST

START_TEST(test_computed_when_it_passes)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 8, NULL);
	struct kvp_use_entry uses[2] = {
		with(kvp_use_seq(seq, 0, 6), 1), with(kvp_use_seq(seq, 6, 8), 2),
	};
	uint64_t published;

	kvpr_ok(kvp_use(pool, uses, 2));
	kvpr_expect_lengths(pool, seq, 8, 0, 8, 0);
	store(1);
	kvpr_expect_lengths(pool, seq, 8, 6, 8, 0);
	kvpr_ok(kvp_publish(pool, seq, &published));
	ck_assert_uint_eq(published, 4);
	store(2);
	kvpr_expect_lengths(pool, seq, 8, 8, 8, 4);
}
END_TEST

/* Each refused for its own reason, with the words for it; nothing is announced by any. */
START_TEST(test_uses_that_cannot_be)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 8, NULL);
	kvp_seq_t gone = kvpr_seq(pool, space, tokens, 4, NULL);
	struct kvp_fence fence = fence_of(0);
	struct kvp_use_entry uses[2];
	uint64_t block;

	kvpr_ok(kvp_blocks_alloc(pool, 0, &block, 1));
	kvpr_ok(kvp_blocks_unref(pool, &block, 1));
	kvpr_ok(kvp_seq_free(pool, gone));
	uses[0] = with(kvp_use_seq_read(seq), 5);

	kvpr_expect(kvp_use(pool, uses, 0), -EINVAL, KVP_REASON_COUNT);
	kvpr_expect(kvp_use(pool, NULL, 1), -EFAULT, KVP_REASON_POINTER);
	kvpr_expect(kvp_use(pool, uses, KVP_MAX_CALL_BLOCKS + 1), -EOVERFLOW, KVP_REASON_COUNT);
	uses[1] = with(kvp_use_seq_read(seq), 5);
	uses[1].kind = 3;
	kvpr_expect(kvp_use(pool, uses, 2), -EINVAL, KVP_REASON_VALUE);
	ck_assert_uint_eq(kvp_error()->where, 1);
	uses[1] = with(kvp_use_seq_read(seq), KVP_MAX_FENCE);
	kvpr_expect(kvp_use(pool, uses, 2), -EINVAL, KVP_REASON_VALUE);
	uses[1] = with(kvp_use_seq_read(seq), 5);
	uses[1].timeline = 1;
	kvpr_expect(kvp_use(pool, uses, 2), -ENOENT, KVP_REASON_NO_TIMELINE);
	kvpr_says("use: ENOENT: no such timeline: expected the index of one that this client made (element 1)");
	uses[1] = with(kvp_use_seq_read(seq), 0);
	kvpr_expect(kvp_use(pool, uses, 2), -EINVAL, KVP_REASON_FENCE_PASSED);
	kvpr_says("use: EINVAL: the timeline has that value already: expected a greater one, and a use to be said before its work is launched (element 1)");
	uses[1] = with(kvp_use_seq(seq, 4, 8), 5);
	kvpr_expect(kvp_use(pool, uses, 2), -EINVAL, KVP_REASON_POSITION);
	kvpr_says("use: element 1: write_from 4: expected at most 0, the rows that there are or will be");
	ck_assert_uint_eq(kvp_error()->where, 1);
	uses[1] = with(kvp_use_seq(seq, 0, 9), 5);
	kvpr_expect(kvp_use(pool, uses, 2), -EINVAL, KVP_REASON_LENGTH);
	uses[1] = with(kvp_use_seq(gone, 0, 4), 5);
	kvpr_expect(kvp_use(pool, uses, 2), -ESTALE, KVP_REASON_GENERATION);
	uses[1] = with(kvp_use_seq(1ULL << 40, 0, 4), 5);
	kvpr_expect(kvp_use(pool, uses, 2), -ENOENT, KVP_REASON_NO_SEQ);
	uses[1] = with(kvp_use_block(block), 5);
	kvpr_expect(kvp_use(pool, uses, 2), -ESTALE, KVP_REASON_GENERATION);
	uses[1] = with(kvp_use_block(kvpr_block(pool, seq, 0, 0)), 5);
	kvpr_expect(kvp_use(pool, uses, 2), -EPERM, KVP_REASON_NOT_HELD);
	uses[1].write_from = KVP_POS_END;
	kvpr_expect(kvp_use(pool, uses, 2), -EINVAL, KVP_REASON_VALUE);

	kvpr_ok(kvp_query(pool, &fence, 1, 0, NULL));
	ck_assert_uint_eq(fence.announced, 0);
	ck_assert_uint_eq(query().uses, 0);
}
END_TEST

START_TEST(test_published_rows_are_not_written)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 10, NULL);
	struct kvp_use_entry use = with(kvp_use_seq(seq, 6, 10), 1);

	kvpr_compute(pool, seq, 0, 10, 1);
	kvpr_ok(kvp_publish(pool, seq, NULL));
	kvpr_expect(kvp_use(pool, &use, 1), -EBUSY, KVP_REASON_SHARED);
	kvpr_says("use: EBUSY: rows to be written are published, or others hold them: expected rows that only this sequence has (element 0)");
	use.write_from = 8;
	kvpr_ok(kvp_use(pool, &use, 1));
	store(1);
}
END_TEST

START_TEST(test_use_in_a_batch)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 8, NULL);
	struct kvp_use_entry use = with(kvp_use_seq(seq, 0, 9), 1), late;
	struct kvp_batch_result result;
	struct kvp_batch_buf *batch;

	kvpr_ok(kvp_batch_new(pool, 4, &batch));
	ck_assert_int_eq(kvp_batch_seq_append(batch, seq, &tokens[8], 1, 0), 0);
	ck_assert_int_eq(kvp_batch_use(batch, &use, 1), 1);
	kvpr_ok(kvp_batch_run(batch, 0));
	ck_assert_uint_eq(query().uses, 1);
	store(1);
	kvpr_expect_lengths(pool, seq, 9, 9, 12 - 3, 0);

	late = with(kvp_use_seq_read(seq), 1);
	ck_assert_int_eq(kvp_batch_use(batch, &late, 1), 0);
	kvpr_expect(kvp_batch_run(batch, 0), -EINVAL, KVP_REASON_FENCE_PASSED);
	kvpr_says("batch: entry 0: use: EINVAL");
	kvpr_ok(kvp_batch_get(batch, 0, &result));
	ck_assert_int_eq(result.err, -EINVAL);
	ck_assert_uint_eq(result.reason, KVP_REASON_FENCE_PASSED);
	kvp_batch_free(batch);
}
END_TEST

/* A sequence and a use of it in one batch, whose copies the library makes. */
START_TEST(test_use_in_a_batch_with_copies)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 6, NULL), child;
	struct kvp_batch_result result;
	struct kvp_batch_buf *batch;
	struct kvp_use_entry use;

	kvpr_compute(pool, seq, 0, 6, 1);
	kvpr_ok(kvp_batch_new(pool, 4, &batch));
	ck_assert_int_eq(kvp_batch_seq_fork(batch, seq, 6), 0);
	kvpr_ok(kvp_batch_run(batch, 0));
	kvpr_ok(kvp_batch_get(batch, 0, &result));
	child = result.id;
	use = with(kvp_use_seq(child, 6, 7), 1);
	ck_assert_int_eq(kvp_batch_seq_append(batch, child, &tokens[20], 1, 0), 0);
	ck_assert_int_eq(kvp_batch_use(batch, &use, 1), 1);
	kvpr_ok(kvp_batch_run(batch, 0));
	kvpr_expect_rows(pool, child, 0, 0, 6, 1);
	store(1);
	kvpr_expect_lengths(pool, child, 7, 7, 7, 0);
	kvp_batch_free(batch);
}
END_TEST

/* ---- signal ---- */

START_TEST(test_signal)
{
	struct kvp_fence fence = fence_of(4);
	kvp_seq_t seq = announce(4);

	kvpr_ok(kvp_signal(pool, timeline, 4));
	ck_assert_uint_eq(*address, 4);
	kvpr_ok(kvp_query(pool, &fence, 1, 0, NULL));
	ck_assert_uint_eq(fence.passed, 1);
	kvpr_ok(kvp_seq_free(pool, seq));
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 16);
}
END_TEST

START_TEST(test_signals_that_cannot_be)
{
	announce(4);
	kvpr_expect(kvp_signal(pool, 1, 1), -ENOENT, KVP_REASON_NO_TIMELINE);
	kvpr_says("signal: timeline 1, value 1: ENOENT: no such timeline: expected the index of one");
	kvpr_expect(kvp_signal(pool, timeline, 5), -EINVAL, KVP_REASON_FENCE_AHEAD);
	kvpr_says("signal: timeline 0, value 5: EINVAL: value beyond what was announced: expected at most the greatest that a use said");
	kvpr_ok(kvp_signal(pool, timeline, 4));
	kvpr_expect(kvp_signal(pool, timeline, 4), -EINVAL, KVP_REASON_FENCE_PASSED);
	kvpr_says("signal: timeline 0, value 4: EINVAL: the timeline has that value already");
	kvpr_expect(kvp_signal(pool, timeline, 3), -EINVAL, KVP_REASON_FENCE_PASSED);
	ck_assert_uint_eq(*address, 4);
	ck_assert_uint_eq(query().backwards, 2);
	ck_assert_uint_eq(query().jumps, 1);
}
END_TEST

/* ---- query ---- */

START_TEST(test_values_that_are_ignored)
{
	struct kvp_fence fence = fence_of(4);

	announce(4);
	store(5);
	kvpr_ok(kvp_query(pool, &fence, 1, 0, NULL));
	ck_assert_uint_eq(fence.passed, 0);
	ck_assert_uint_eq(fence.seen, 0);
	store(4);
	kvpr_ok(kvp_query(pool, &fence, 1, 0, NULL));
	ck_assert_uint_eq(fence.passed, 1);
	store(2);
	kvpr_ok(kvp_query(pool, &fence, 1, 0, NULL));
	ck_assert_uint_eq(fence.passed, 1);
	ck_assert_uint_eq(fence.seen, 4);
	ck_assert_uint_eq(query().backwards, 1);
	ck_assert_uint_eq(query().jumps, 1);
}
END_TEST

START_TEST(test_queries_that_cannot_be)
{
	struct kvp_fence fences[2] = { fence_of(4), fence_of(5) };
	struct kvp_query info = { .uses = 77 };

	announce(4);
	kvpr_expect(kvp_query(pool, fences, 2, KVP_QUERY_WATCH, &info), -EINVAL,
		    KVP_REASON_FENCE_AHEAD);
	kvpr_says("query: EINVAL: value beyond what was announced: expected at most the greatest that a use said (element 1)");
	kvpr_expect(kvp_query(pool, fences, 2, 2, &info), -EINVAL, KVP_REASON_FLAG);
	kvpr_expect(kvp_query(pool, fences, KVP_MAX_BATCH + 1, 0, &info), -EOVERFLOW,
		    KVP_REASON_COUNT);
	kvpr_expect(kvp_query(pool, NULL, 1, 0, &info), -EFAULT, KVP_REASON_POINTER);
	fences[1].timeline = 1;
	kvpr_expect(kvp_query(pool, fences, 2, 0, &info), -ENOENT, KVP_REASON_NO_TIMELINE);
	kvpr_says("(element 1)");
	ck_assert_uint_eq(info.uses, 77);
	/* One may ask for what was not announced, as long as one does not wait for it. */
	fences[1] = fence_of(5);
	kvpr_ok(kvp_query(pool, fences, 2, 0, NULL));
	ck_assert_uint_eq(fences[1].passed, 0);
	kvpr_ok(kvp_signal(pool, timeline, 4));
}
END_TEST

/* ---- reap, quarantine ---- */

START_TEST(test_reap)
{
	struct kvp_pool *strict = kvpr_open("inproc:strict?blocks=8&block_tokens=4&strict=yes");
	struct kvp_pool *engine = kvpr_open("inproc:strict?rights=use");
	kvp_seq_t seq = kvpr_seq(engine, space, tokens, 8, NULL);
	struct kvp_use_entry use = kvp_use_seq_read(seq);
	struct kvp_pool_info info;
	uint32_t clients = 77;
	uint64_t blocks = 77;

	kvpr_ok(kvp_pool_get_info(engine, &info));
	kvpr_ok(kvp_timeline_create(engine, &use.timeline));
	use.value = 1;
	kvpr_ok(kvp_use(engine, &use, 1));
	kvpr_expect(kvp_reap(engine, 0, &clients, &blocks), -EACCES, KVP_REASON_RIGHT_ADMIN);
	kvpr_expect(kvp_reap(strict, info.client, &clients, &blocks), -ENOENT,
		    KVP_REASON_NO_CLIENT);
	ck_assert_uint_eq(clients, 77);
	kvp_pool_close(engine);
	ck_assert_uint_eq(kvpr_blocks(strict, 0, KVP_BLOCK_HELD_BACK), 2);
	kvpr_ok(kvp_reap(strict, info.client, &clients, &blocks));
	ck_assert_uint_eq(clients, 1);
	ck_assert_uint_eq(blocks, 2);
	ck_assert_uint_eq(kvpr_blocks(strict, 0, KVP_BLOCK_FREE), 8);
	kvpr_ok(kvp_reap(strict, 0, NULL, NULL));
	kvpr_ok(kvp_reap(strict, 0, &clients, &blocks));
	ck_assert_uint_eq(clients, 0);
	ck_assert_uint_eq(blocks, 0);
	kvpr_sound(strict);
	kvp_pool_close(strict);
}
END_TEST

START_TEST(test_grace_time)
{
	struct kvp_pool *maker = kvpr_open("inproc:grace?blocks=8&block_tokens=4&grace=80");
	struct kvp_pool *engine = kvpr_open("inproc:grace");
	kvp_seq_t seq = kvpr_seq(engine, space, tokens, 8, NULL);
	struct kvp_use_entry use = kvp_use_seq_read(seq);
	uint64_t died;

	kvpr_ok(kvp_timeline_create(engine, &use.timeline));
	use.value = 1;
	kvpr_ok(kvp_use(engine, &use, 1));
	died = now_ns();
	kvp_pool_close(engine);
	/* Not before. */
	do {
		uint64_t held_back = kvpr_blocks(maker, 0, KVP_BLOCK_HELD_BACK);

		if (!held_back) {
			ck_assert_uint_ge(now_ns() - died, 80 * MS);
			break;
		}
		ck_assert_uint_eq(held_back, 2);
		nap_ms(1);
	} while (now_ns() - died < 2000 * MS);
	ck_assert_uint_eq(kvpr_blocks(maker, 0, KVP_BLOCK_FREE), 8);
	kvpr_sound(maker);
	kvp_pool_close(maker);
}
END_TEST

/* ---- waiting ---- */

/* What a thread does to one who waits: store @value when @ms are over. */
struct later {
	uint32_t ms;
	uint64_t value;
	uint64_t stored_ns;
};

static void *store_later(void *arg)
{
	struct later *later = arg;

	nap_ms(later->ms);
	later->stored_ns = now_ns();
	store(later->value);
	return NULL;
}

START_TEST(test_wait_ends_with_the_store)
{
	uint64_t woken, worst = 0;
	uint32_t ready, round;

	for (round = 1; round <= 10; round++) {
		struct later later = { .ms = 20 + round, .value = round };
		struct kvp_fence fence = fence_of(round);
		pthread_t thread;

		kvpr_ok(kvp_seq_free(pool, announce(round)));
		ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_HELD_BACK), 2);
		ck_assert_int_eq(pthread_create(&thread, NULL, store_later, &later), 0);
		ready = 77;
		kvpr_ok(kvp_wait(pool, 0, &fence, 1, KVP_FOREVER, &ready));
		woken = now_ns();
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
		ck_assert_uint_eq(ready, KVP_READY_FENCE);
		ck_assert_uint_eq(fence.passed, 1);
		ck_assert_uint_ge(woken, later.stored_ns);
		if (woken - later.stored_ns > worst)
			worst = woken - later.stored_ns;
		ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 16);
	}
	/* A machine that is busy and a sanitizer: the limit itself is measured elsewhere. */
	ck_assert_uint_lt(worst, 200 * MS);
}
END_TEST

START_TEST(test_wait_for_what_is_there)
{
	struct kvp_fence fences[2];
	uint32_t ready = 77;

	announce(2);
	store(1);
	fences[0] = fence_of(2);
	fences[1] = fence_of(1);
	kvpr_ok(kvp_wait(pool, 0, fences, 2, KVP_FOREVER, &ready));
	ck_assert_uint_eq(ready, KVP_READY_FENCE);
	ck_assert_uint_eq(fences[0].passed, 0);
	ck_assert_uint_eq(fences[1].passed, 1);
	store(2);
	kvpr_ok(kvp_wait(pool, 0, fences, 2, 0, &ready));
	ck_assert_uint_eq(fences[0].passed, 1);
}
END_TEST

START_TEST(test_time_is_over)
{
	struct kvp_fence fence = fence_of(2);
	uint64_t begun = now_ns();
	uint32_t ready = 77;

	announce(2);
	kvpr_ok(kvp_wait(pool, 0, &fence, 1, 0, &ready));
	ck_assert_uint_eq(ready, 0);
	ck_assert_uint_lt(now_ns() - begun, 1000 * MS);
	begun = now_ns();
	ready = 77;
	kvpr_ok(kvp_wait(pool, KVP_READY_TICKET | KVP_READY_EVENTS, &fence, 1, 30 * MS, &ready));
	ck_assert_uint_eq(ready, 0);
	ck_assert_uint_ge(now_ns() - begun, 30 * MS);
	begun = now_ns();
	kvpr_ok(kvp_wait(pool, KVP_READY_TICKET, NULL, 0, 30 * MS, &ready));
	ck_assert_uint_eq(ready, 0);
	ck_assert_uint_ge(now_ns() - begun, 30 * MS);
	kvpr_expect(kvp_fence_wait(pool, timeline, 2, 10 * MS), -ETIMEDOUT, KVP_REASON_NONE);
	kvpr_says("fence_wait: timeline 0 has 0 after 10000000 ns: expected 2");
	/* It does not go on being watched. */
	store(2);
	ck_assert_uint_eq(query().ready, 0);
	kvpr_ok(kvp_fence_wait(pool, timeline, 2, 0));
}
END_TEST

START_TEST(test_waits_that_cannot_be)
{
	struct kvp_fence fences[2] = { fence_of(1), fence_of(2) };
	uint32_t ready = 77;

	announce(1);
	kvpr_expect(kvp_wait(pool, 0, fences, 1, 0, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("wait: ready is NULL");
	kvpr_expect(kvp_wait(pool, 0, NULL, 0, 0, &ready), -EINVAL, KVP_REASON_COUNT);
	kvpr_says("wait: nothing to wait for: expected a fence, a ticket or events");
	kvpr_expect(kvp_wait(pool, KVP_READY_FENCE, fences, 1, 0, &ready), -EINVAL,
		    KVP_REASON_FLAG);
	kvpr_says("wait: wanted 0x8: expected KVP_READY_TICKET, KVP_READY_EVENTS or both");
	kvpr_expect(kvp_wait(pool, 32, NULL, 0, 0, &ready), -EINVAL, KVP_REASON_FLAG);
	kvpr_expect(kvp_wait(pool, 0, NULL, 1, 0, &ready), -EFAULT, KVP_REASON_POINTER);
	kvpr_expect(kvp_wait(pool, 0, fences, 2, KVP_FOREVER, &ready), -EINVAL,
		    KVP_REASON_FENCE_AHEAD);
	kvpr_says("(element 1)");
	kvpr_expect(kvp_fence_wait(pool, 9, 1, KVP_FOREVER), -ENOENT, KVP_REASON_NO_TIMELINE);
	ck_assert_uint_eq(ready, 77);
	kvpr_ok(kvp_signal(pool, timeline, 1));
}
END_TEST

START_TEST(test_wait_for_events)
{
	struct kvp_event event;
	uint64_t cursor = 0, lost;
	uint32_t ready = 77, nr = 0;
	kvp_seq_t seq;

	kvpr_ok(kvp_events_read(pool, &cursor, NULL, &nr, &lost));
	kvpr_ok(kvp_wait(pool, KVP_READY_EVENTS, NULL, 0, 0, &ready));
	ck_assert_uint_eq(ready, 0);
	seq = kvpr_seq(pool, space, tokens, 4, NULL);
	kvpr_compute(pool, seq, 0, 4, 1);
	kvpr_ok(kvp_publish(pool, seq, NULL));
	/* Not wanted, not told, and in nobody's way. */
	kvpr_ok(kvp_wait(pool, KVP_READY_TICKET, NULL, 0, 5 * MS, &ready));
	ck_assert_uint_eq(ready, 0);
	kvpr_ok(kvp_wait(pool, KVP_READY_EVENTS | KVP_READY_TICKET, NULL, 0, KVP_FOREVER, &ready));
	ck_assert_uint_eq(ready, KVP_READY_EVENTS);
	nr = 1;
	kvpr_ok(kvp_events_read(pool, &cursor, &event, &nr, &lost));
	ck_assert_uint_eq(nr, 1);
	kvpr_ok(kvp_wait(pool, KVP_READY_EVENTS, NULL, 0, 0, &ready));
	ck_assert_uint_eq(ready, 0);
}
END_TEST

static void *destroy_later(void *arg)
{
	nap_ms(20);
	kvpr_ok(kvp_pool_destroy(arg, KVP_DESTROY_FORCE));
	return NULL;
}

START_TEST(test_destroyed_pool_ends_the_sleep)
{
	struct kvp_pool *a = kvpr_open("inproc:ends?blocks=4"), *b = kvpr_open("inproc:ends");
	pthread_t thread;
	uint32_t ready = 77;

	ck_assert_int_eq(pthread_create(&thread, NULL, destroy_later, a), 0);
	kvpr_expect(kvp_wait(b, KVP_READY_TICKET, NULL, 0, KVP_FOREVER, &ready), -EIO,
		    KVP_REASON_DESTROYED);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_eq(ready, 77);
	kvp_pool_close(a);
	kvp_pool_close(b);
}
END_TEST

/*
 * Many threads wait on one client, each for its own fence, and some ask all the while, which
 * takes away what the client is to be told: nobody stays asleep.
 */
#define WAITERS	8
#define ROUNDS	40

struct waiter {
	pthread_t thread;
	uint32_t timeline;
	kvp_seq_t seq;
	int err;
	sem_t go;
	sem_t woken;
};

static void *wait_often(void *arg)
{
	struct waiter *waiter = arg;
	uint64_t value, begun;

	for (value = 1; value <= ROUNDS; value++) {
		while (sem_wait(&waiter->go))
			;
		begun = now_ns();
		if (!waiter->err)
			waiter->err = kvp_fence_wait(pool, waiter->timeline, value, 10000 * MS);
		/* When its time is over it looks once more. */
		if (now_ns() - begun > 5000 * MS)
			waiter->err = -ETIMEDOUT;
		sem_post(&waiter->woken);
	}
	return NULL;
}

static void *ask_often(void *arg)
{
	_Atomic bool *stop = arg;

	while (!*stop)
		kvp_query(pool, NULL, 0, 0, NULL);
	return NULL;
}

START_TEST(test_no_thread_is_left_asleep)
{
	static struct waiter waiters[WAITERS];
	_Atomic bool stop = false;
	uint32_t i, round;
	pthread_t asker;

	memset(waiters, 0, sizeof(waiters));
	for (i = 0; i < WAITERS; i++) {
		kvpr_ok(kvp_timeline_create(pool, &waiters[i].timeline));
		waiters[i].seq = kvpr_seq(pool, space, tokens + i, 4, NULL);
		sem_init(&waiters[i].go, 0, 0);
		sem_init(&waiters[i].woken, 0, 0);
		ck_assert_int_eq(pthread_create(&waiters[i].thread, NULL, wait_often,
						&waiters[i]), 0);
	}
	ck_assert_int_eq(pthread_create(&asker, NULL, ask_often, &stop), 0);
	for (round = 1; round <= ROUNDS; round++) {
		struct kvp_step step[WAITERS];

		for (i = 0; i < WAITERS; i++) {
			struct kvp_use_entry use = kvp_use_seq_read(waiters[i].seq);

			kvpr_ok(kvp_step_begin(pool, waiters[i].timeline, &use, 1, &step[i]));
			ck_assert_uint_eq(step[i].value, round);
			sem_post(&waiters[i].go);
		}
		for (i = 0; i < WAITERS; i++)
			kvp_step_done(&step[i]);
		for (i = 0; i < WAITERS; i++) {
			while (sem_wait(&waiters[i].woken))
				;
		}
	}
	stop = true;
	ck_assert_int_eq(pthread_join(asker, NULL), 0);
	for (i = 0; i < WAITERS; i++) {
		ck_assert_int_eq(pthread_join(waiters[i].thread, NULL), 0);
		ck_assert_int_eq(waiters[i].err, 0);
	}
}
END_TEST

/* A door at which, just before one sleeps, another thread takes the news. */
static struct kvp_door_ops taking_door;
static uint64_t sleeps;

static void sleep_without_news(struct kvp_conn *conn, uint64_t ns)
{
	if (!sleeps++) {
		store(1);
		query();
	}
	kvp_inproc_ops.sleep(conn, ns);
}

START_TEST(test_news_taken_by_another)
{
	uint64_t begun;

	announce(1);
	taking_door = kvp_inproc_ops;
	taking_door.sleep = sleep_without_news;
	sleeps = 0;
	pool->door = &taking_door;
	begun = now_ns();
	kvpr_ok(kvp_fence_wait(pool, timeline, 1, 5000 * MS));
	ck_assert_uint_lt(now_ns() - begun, 2000 * MS);
	pool->door = &kvp_inproc_ops;
	ck_assert_uint_eq(sleeps, 1);
}
END_TEST

/* Timelines are read because somebody waits, and not else. */
START_TEST(test_nobody_looks_while_nobody_waits)
{
	struct kvp_stats before, after;

	kvpr_ok(kvp_seq_free(pool, announce(1)));
	kvpr_ok(kvp_pool_stats(pool, 0, &before, NULL, 0));
	store(1);
	nap_ms(30);
	kvpr_ok(kvp_pool_stats(pool, 0, &after, NULL, 0));
	ck_assert_uint_eq(after.scans, before.scans);
	kvpr_ok(kvp_seq_free(pool, announce(2)));
	kvpr_expect(kvp_fence_wait(pool, timeline, 2, 20 * MS), -ETIMEDOUT, KVP_REASON_NONE);
	kvpr_ok(kvp_pool_stats(pool, 0, &before, NULL, 0));
	ck_assert_uint_gt(before.scans, after.scans);
	nap_ms(30);
	kvpr_ok(kvp_pool_stats(pool, 0, &after, NULL, 0));
	ck_assert_uint_eq(after.scans, before.scans);
	store(2);
}
END_TEST

/* ---- steps ---- */

START_TEST(test_steps)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 8, NULL);
	struct kvp_use_entry use = kvp_use_seq(seq, 0, 8);
	struct kvp_step step;

	memset(&step, 0xa5, sizeof(step));
	kvpr_ok(kvp_step_begin(pool, timeline, &use, 1, &step));
	ck_assert_uint_eq(step.timeline, timeline);
	ck_assert_uint_eq(step.reserved, 0);
	ck_assert_uint_eq(step.value, 1);
	ck_assert_ptr_eq(step.address, address);
	ck_assert_uint_eq(use.timeline, timeline);
	ck_assert_uint_eq(use.value, 1);
	ck_assert_uint_eq(query().uses, 1);
	kvpr_expect_lengths(pool, seq, 8, 0, 8, 0);
	kvp_step_done(&step);
	ck_assert_uint_eq(*address, 1);
	kvpr_ok(kvp_fence_wait(pool, timeline, 1, 0));
	kvpr_expect_lengths(pool, seq, 8, 8, 8, 0);
}
END_TEST

START_TEST(test_steps_that_cannot_begin)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 8, NULL);
	struct kvp_use_entry use = kvp_use_seq(seq, 0, 9);
	struct kvp_step step = { .value = 77 };
	struct kvp_fence fence = fence_of(0);

	kvpr_expect(kvp_step_begin(pool, timeline, &use, 1, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("step_begin: step is NULL");
	kvpr_expect(kvp_step_begin(pool, timeline, NULL, 1, &step), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("step_begin: uses is NULL");
	kvpr_expect(kvp_step_begin(pool, timeline, &use, 0, &step), -EINVAL, KVP_REASON_COUNT);
	kvpr_expect(kvp_step_begin(pool, KVP_NR_TIMELINES, &use, 1, &step), -ENOENT,
		    KVP_REASON_NO_TIMELINE);
	kvpr_says("step_begin: timeline 64: expected one that this client made, below 64");
	kvpr_expect(kvp_step_begin(pool, timeline + 1, &use, 1, &step), -ENOENT,
		    KVP_REASON_NO_TIMELINE);
	kvpr_expect(kvp_step_begin(pool, timeline, &use, 1, &step), -EINVAL, KVP_REASON_LENGTH);
	ck_assert_uint_eq(step.value, 77);
	kvpr_ok(kvp_query(pool, &fence, 1, 0, NULL));
	ck_assert_uint_eq(fence.announced, 0);
	/* What failed has taken no value. */
	use.computed_to = 8;
	kvpr_ok(kvp_step_begin(pool, timeline, &use, 1, &step));
	ck_assert_uint_eq(step.value, 1);
	kvp_step_done(&step);
}
END_TEST

/* A launch that fails: what the step was to compute is taken back, then it ends. */
START_TEST(test_step_that_was_not_launched)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 12, NULL);
	struct kvp_use_entry first = kvp_use_seq(seq, 0, 8), second = kvp_use_seq(seq, 8, 12);
	struct kvp_step a, b;

	kvpr_ok(kvp_step_begin(pool, timeline, &first, 1, &a));
	kvpr_ok(kvp_step_begin(pool, timeline, &second, 1, &b));
	kvpr_ok(kvp_seq_truncate(pool, seq, second.write_from));
	kvp_step_done(&a);
	kvp_step_done(&b);
	kvpr_expect_lengths(pool, seq, 8, 8, 8, 0);
	ck_assert_uint_eq(query().uses, 0);
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 14);
}
END_TEST

#define BEGINNERS	4
#define STEPS		500

static _Atomic bool began_late;

static void *begin_often(void *arg)
{
	kvp_seq_t *seq = arg;
	struct kvp_step step;
	uint64_t last = 0;
	int i;

	for (i = 0; i < STEPS && !began_late; i++) {
		struct kvp_use_entry use = kvp_use_seq_read(*seq);

		struct kvp_fence fence = fence_of(0);

		if (kvp_step_begin(pool, timeline, &use, 1, &step) || step.value <= last ||
		    kvp_query(pool, &fence, 1, 0, NULL) || fence.announced < step.value)
			began_late = true;
		last = step.value;
	}
	return NULL;
}

/* Whatever is announced is over at once: what began before it must have been said by then. */
START_TEST(test_values_are_announced_in_their_order)
{
	struct kvp_fence fence = fence_of(0);
	pthread_t threads[BEGINNERS];
	kvp_seq_t seqs[BEGINNERS];
	int i;

	began_late = false;
	for (i = 0; i < BEGINNERS; i++) {
		seqs[i] = kvpr_seq(pool, space, tokens + i, 4, NULL);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, begin_often, &seqs[i]), 0);
	}
	while (fence.announced < BEGINNERS * STEPS && !began_late) {
		kvpr_ok(kvp_query(pool, &fence, 1, 0, NULL));
		store(fence.announced);
	}
	for (i = 0; i < BEGINNERS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert(!began_late);
	store(BEGINNERS * STEPS);
	kvpr_ok(kvp_fence_wait(pool, timeline, BEGINNERS * STEPS, 0));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("api: fences");
	TCase *tc = tcase_create("fences");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_timelines);
	tcase_add_test(tc, test_timelines_that_cannot_be_had);
	tcase_add_test(tc, test_clients_have_timelines_of_their_own);
	tcase_add_test(tc, test_use_of_a_sequence);
	tcase_add_test(tc, test_use_of_blocks);
	tcase_add_test(tc, test_computed_when_it_passes);
	tcase_add_test(tc, test_uses_that_cannot_be);
	tcase_add_test(tc, test_published_rows_are_not_written);
	tcase_add_test(tc, test_use_in_a_batch);
	tcase_add_test(tc, test_use_in_a_batch_with_copies);
	tcase_add_test(tc, test_signal);
	tcase_add_test(tc, test_signals_that_cannot_be);
	tcase_add_test(tc, test_values_that_are_ignored);
	tcase_add_test(tc, test_queries_that_cannot_be);
	tcase_add_test(tc, test_reap);
	tcase_add_test(tc, test_grace_time);
	tcase_add_test(tc, test_wait_ends_with_the_store);
	tcase_add_test(tc, test_wait_for_what_is_there);
	tcase_add_test(tc, test_time_is_over);
	tcase_add_test(tc, test_waits_that_cannot_be);
	tcase_add_test(tc, test_wait_for_events);
	tcase_add_test(tc, test_destroyed_pool_ends_the_sleep);
	tcase_add_test(tc, test_no_thread_is_left_asleep);
	tcase_add_test(tc, test_news_taken_by_another);
	tcase_add_test(tc, test_nobody_looks_while_nobody_waits);
	tcase_add_test(tc, test_steps);
	tcase_add_test(tc, test_steps_that_cannot_begin);
	tcase_add_test(tc, test_step_that_was_not_launched);
	tcase_add_test(tc, test_values_are_announced_in_their_order);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

// SPDX-License-Identifier: MIT
/*
 * Timelines, uses and what became of them through kvpool.h: what each function gives, each error
 * that it documents with its text, and that a refused call has changed nothing.
 */
#include <check.h>
#include <unistd.h>

#include "api_fence.h"

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
	uses[1].kind = 4;
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
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

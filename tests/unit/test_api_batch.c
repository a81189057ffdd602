// SPDX-License-Identifier: MIT
/*
 * Batches through kvpool.h: what is built, references to earlier entries, copies in the
 * middle, results and errors of each entry.
 */
#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pools.h"

static struct kvp_pool *pool;
static struct kvp_batch_buf *batch;
static uint8_t space[KVP_DIGEST_LEN];
static uint32_t tokens[512];

static void setup(void)
{
	pool = kvpr_open("inproc:batch?blocks=400&block_tokens=4&row_bytes=8");
	kvpr_ok(kvp_batch_new(pool, KVP_MAX_BATCH, &batch));
	kvpr_space("m", space);
	kvpr_tokens(tokens, 512, 1);
}

static void teardown(void)
{
	kvpr_sound(pool);
	kvp_batch_free(batch);
	kvp_pool_close(pool);
}

static struct kvp_prompt prompt_of(uint32_t nr)
{
	return (struct kvp_prompt){ .space = space, .tokens = tokens, .nr_tokens = nr };
}

static struct kvp_batch_result result_of(uint32_t entry)
{
	struct kvp_batch_result result = { .err = 77 };

	kvpr_ok(kvp_batch_get(batch, entry, &result));
	return result;
}

static void expect_result(uint32_t entry, int err, uint32_t reason, uint32_t where)
{
	struct kvp_batch_result result = result_of(entry);

	ck_assert_int_eq(result.err, err);
	ck_assert_uint_eq(result.reason, reason);
	ck_assert_uint_eq(result.where, where);
}

static kvp_seq_t computed(uint32_t nr)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, nr, NULL);

	kvpr_compute(pool, seq, 0, nr, 1);
	return seq;
}

static uint64_t copies_made(void)
{
	struct kvp_stats stats;

	kvpr_ok(kvp_pool_stats(pool, 0, &stats, NULL, 0));
	return stats.copies;
}

/* ---- building ---- */

START_TEST(test_buffer_refused)
{
	struct kvp_batch_buf *made = (void *)&pool;

	kvpr_expect(kvp_batch_new(pool, 0, &made), -EINVAL, KVP_REASON_COUNT);
	kvpr_expect(kvp_batch_new(pool, KVP_MAX_BATCH + 1, &made), -EOVERFLOW,
		    KVP_REASON_COUNT);
	kvpr_expect(kvp_batch_new(pool, 1, NULL), -EINVAL, KVP_REASON_POINTER);
	ck_assert_ptr_eq(made, &pool);
	kvp_batch_free(NULL);
}
END_TEST

START_TEST(test_entries_refused)
{
	struct kvp_prompt prompt = prompt_of(4), none = { .tokens = tokens };
	struct kvp_batch_buf *full;
	struct kvp_seq_id id = { .seq = KVP_REF(1) };

	kvpr_expect(kvp_batch_seq_create(batch, NULL, 0, 0), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_batch_seq_create(batch, &none, 0, 0), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_batch_match(batch, &none, 0), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_batch_seq_append_at(batch, 1, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_batch_call(batch, KVP_OP_SEQ_FREE, NULL, 24), -EINVAL,
		    KVP_REASON_POINTER);
	kvpr_expect(kvp_batch_call(batch, KVP_OP_SEQ_FREE, &id, sizeof(id.head) - 1), -EINVAL,
		    KVP_REASON_SIZE);
	kvpr_expect(kvp_batch_call(batch, KVP_OP_SEQ_FREE, (char *)&id + 4, sizeof(id.head)),
		    -EINVAL, KVP_REASON_ALIGNMENT);
	kvpr_says("batch: struct at 0x");
	kvpr_expect(kvp_batch_seq_free(batch, KVP_REF(0)), -EINVAL, KVP_REASON_BATCH_REF);
	ck_assert_uint_eq(kvp_batch_nr(batch), 0);
	ck_assert_int_eq(kvp_batch_seq_create(batch, &prompt, 0, 0), 0);
	kvpr_expect(kvp_batch_seq_append(batch, KVP_REF(1), tokens, 1, 0), -EINVAL,
		    KVP_REASON_BATCH_REF);
	ck_assert_uint_eq(kvp_error()->where, 1);
	kvpr_says("entry 1 refers to entry 1");
	kvpr_expect(kvp_batch_seq_fork(batch, KVP_REF(200), 0), -EINVAL, KVP_REASON_BATCH_REF);
	kvpr_expect(kvp_batch_call(batch, KVP_OP_SEQ_FREE, &id, sizeof(id)), -EINVAL,
		    KVP_REASON_BATCH_REF);
	ck_assert_uint_eq(kvp_batch_nr(batch), 1);
	kvp_batch_clear(batch);
	ck_assert_uint_eq(kvp_batch_nr(batch), 0);

	kvpr_ok(kvp_batch_new(pool, 2, &full));
	ck_assert_int_eq(kvp_batch_seq_create(full, &prompt, 0, 0), 0);
	ck_assert_int_eq(kvp_batch_seq_free(full, KVP_REF(0)), 1);
	kvpr_expect(kvp_batch_seq_create(full, &prompt, 0, 0), -EOVERFLOW, KVP_REASON_COUNT);
	kvpr_expect(kvp_batch_seq_append(full, 1, tokens, 1, 0), -EOVERFLOW, KVP_REASON_COUNT);
	kvpr_expect(kvp_batch_seq_set_tokens(full, 1, tokens, 1), -EOVERFLOW, KVP_REASON_COUNT);
	kvpr_expect(kvp_batch_seq_advance(full, 1, 1), -EOVERFLOW, KVP_REASON_COUNT);
	kvpr_expect(kvp_batch_seq_fork(full, 1, 1), -EOVERFLOW, KVP_REASON_COUNT);
	kvpr_expect(kvp_batch_seq_truncate(full, 1, 1), -EOVERFLOW, KVP_REASON_COUNT);
	kvpr_expect(kvp_batch_seq_free(full, 1), -EOVERFLOW, KVP_REASON_COUNT);
	kvpr_expect(kvp_batch_seq_table(full, 1, 0, 0, NULL, 0), -EOVERFLOW, KVP_REASON_COUNT);
	kvpr_expect(kvp_batch_publish(full, 1, NULL), -EOVERFLOW, KVP_REASON_COUNT);
	kvpr_expect(kvp_batch_match(full, &prompt, 0), -EOVERFLOW, KVP_REASON_COUNT);
	kvpr_expect(kvp_batch_match_release(full, 1), -EOVERFLOW, KVP_REASON_COUNT);
	id.seq = 1;
	kvpr_expect(kvp_batch_call(full, KVP_OP_SEQ_FREE, &id, sizeof(id)), -EOVERFLOW,
		    KVP_REASON_COUNT);
	kvpr_ok(kvp_batch_run(full, 0));
	kvp_batch_free(full);
}
END_TEST

START_TEST(test_run_refused)
{
	struct kvp_prompt prompt = prompt_of(4);
	struct kvp_batch_result result = { .err = 77 };

	kvpr_expect(kvp_batch_run(batch, 0), -EINVAL, KVP_REASON_COUNT);
	ck_assert_int_eq(kvp_batch_seq_create(batch, &prompt, 0, 0), 0);
	kvpr_expect(kvp_batch_get(batch, 0, &result), -EINVAL, KVP_REASON_COUNT);
	kvpr_expect(kvp_batch_run(batch, KVP_BATCH_FLAGS_ALL + 1), -EINVAL, KVP_REASON_FLAG);
	kvpr_ok(kvp_batch_run(batch, 0));
	kvpr_expect(kvp_batch_run(batch, 0), -EINVAL, KVP_REASON_COUNT);
	kvpr_says("already");
	kvpr_expect(kvp_batch_get(batch, 1, &result), -EINVAL, KVP_REASON_COUNT);
	kvpr_expect(kvp_batch_get(batch, 0, NULL), -EINVAL, KVP_REASON_POINTER);
	ck_assert_int_eq(result.err, 77);
	kvpr_ok(kvp_batch_get(batch, 0, &result));
	kvpr_ok(kvp_seq_free(pool, result.id));
}
END_TEST

/* ---- running ---- */

START_TEST(test_sixty_four_in_one_call)
{
	kvp_seq_t seq[64];
	uint32_t i, round;

	for (i = 0; i < 64; i++)
		seq[i] = kvpr_seq(pool, space, tokens + i, 5, NULL);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 64; i++)
			ck_assert_int_eq(kvp_batch_seq_append(batch, seq[i], &tokens[i], 1, 0),
					 (int)i);
		kvpr_ok(kvp_batch_run(batch, 0));
		for (i = 0; i < 64; i++) {
			expect_result(i, 0, KVP_REASON_NONE, 0);
			ck_assert_uint_eq(result_of(i).tokens, 5 + round);
			kvpr_expect_lengths(pool, seq[i], 6 + round, 0, 6 + round, 0);
		}
	}
	for (i = 0; i < 64; i++)
		kvp_batch_seq_free(batch, seq[i]);
	kvpr_ok(kvp_batch_run(batch, KVP_BATCH_STOP_ON_ERROR));
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 400);
}
END_TEST

START_TEST(test_every_entry_does_what_its_function_does)
{
	struct kvp_publish_options options = { .limit = 4, .tag = 9 };
	struct kvp_prompt prompt = prompt_of(8), longer = prompt_of(12);
	kvp_seq_t seq = computed(8);
	uint64_t blocks[4] = { 0 };
	struct kvp_append append = { .tokens = tokens + 8, .nr_tokens = 1, .position = 8,
				     .reserve = 4 };
	struct kvp_stats stats = { .client = KVP_STATS_SELF };
	struct kvp_block_entry entry;
	uint64_t cursor;
	uint32_t nr = 1;
	int at[12];

	at[0] = kvp_batch_publish(batch, seq, &options);
	at[1] = kvp_batch_publish(batch, seq, NULL);
	at[2] = kvp_batch_match(batch, &prompt, KVP_MATCH_HOLD);
	at[3] = kvp_batch_match_release(batch, KVP_REF(2));
	at[4] = kvp_batch_seq_create(batch, &longer, KVP_SEQ_MATCH_ONLY, 0);
	at[5] = kvp_batch_seq_append_at(batch, seq, &append);
	at[6] = kvp_batch_seq_set_tokens(batch, seq, tokens + 9, 3);
	at[7] = kvp_batch_seq_advance(batch, seq, 10);
	at[8] = kvp_batch_seq_fork(batch, seq, 6);
	at[9] = kvp_batch_seq_table(batch, KVP_REF(4), 0, 1, blocks, 4);
	at[10] = kvp_batch_seq_truncate(batch, seq, 11);
	at[11] = kvp_batch_call(batch, KVP_OP_STATS, &stats, sizeof(stats));
	for (nr = 0; nr < 12; nr++)
		ck_assert_int_eq(at[nr], (int)nr);
	kvpr_ok(kvp_batch_run(batch, 0));

	ck_assert_uint_eq(result_of(0).tokens, 4);
	ck_assert_uint_eq(result_of(1).tokens, 8);
	ck_assert_uint_eq(result_of(2).tokens, 8);
	ck_assert_uint_ne(result_of(2).id, 0);
	kvpr_expect(kvp_match_release(pool, result_of(2).id), -ESTALE, KVP_REASON_GENERATION);
	ck_assert_uint_eq(result_of(4).tokens, 8);
	kvpr_expect_lengths(pool, result_of(4).id, 8, 8, 8, 8);
	ck_assert_uint_eq(result_of(5).tokens, 8);
	ck_assert_uint_eq(result_of(6).tokens, 9);
	ck_assert_uint_eq(result_of(8).tokens, 6);
	kvpr_expect_lengths(pool, result_of(8).id, 6, 6, 6, 4);
	ck_assert_uint_eq(result_of(9).nr, 1);
	ck_assert_uint_eq(result_of(9).tokens, 8);
	ck_assert_uint_eq(blocks[0], kvpr_block(pool, seq, 0, 1));
	kvpr_expect_lengths(pool, seq, 11, 10, 11, 8);
	ck_assert_uint_eq(result_of(11).id, 0);
	ck_assert_uint_eq(stats.seqs, 3);
	ck_assert_uint_eq(stats.matches, 0);

	nr = 1;
	cursor = KVP_BLOCK_INDEX(kvpr_block(pool, seq, 0, 0));
	kvpr_ok(kvp_pool_dump(pool, 0, &cursor, &entry, &nr));
	ck_assert_uint_eq(entry.tag, 9);
}
END_TEST

START_TEST(test_references_to_what_was_made)
{
	struct kvp_prompt prompt = prompt_of(6);
	struct kvp_block_refs refs = { .holder = KVP_REF(0) };
	uint64_t blocks[2];
	kvp_seq_t seq;

	kvp_batch_seq_create(batch, &prompt, 0, 0);
	kvp_batch_seq_advance(batch, KVP_REF(0), 6);
	kvp_batch_seq_table(batch, KVP_REF(0), 0, 0, blocks, 2);
	kvp_batch_publish(batch, KVP_REF(0), NULL);
	kvpr_ok(kvp_batch_run(batch, 0));
	seq = result_of(0).id;
	ck_assert_uint_eq(result_of(3).tokens, 4);
	kvpr_expect_lengths(pool, seq, 6, 6, 6, 4);
	kvpr_ok(kvp_seq_free(pool, seq));

	/* In a struct of the caller's too, which keeps its reference. */
	refs.blocks = (uint64_t)(uintptr_t)blocks;
	refs.nr = 2;
	kvp_batch_seq_create(batch, &prompt, 0, 0);
	kvp_batch_seq_table(batch, KVP_REF(0), 0, 0, blocks, 2);
	kvp_batch_call(batch, KVP_OP_BLOCK_REF, &refs, sizeof(refs));
	kvp_batch_seq_free(batch, KVP_REF(0));
	kvpr_ok(kvp_batch_run(batch, 0));
	ck_assert_uint_eq(refs.holder, KVP_REF(0));
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_HELD), 2);
	kvpr_ok(kvp_blocks_unref(pool, blocks, 2));
}
END_TEST

/* ---- copies ---- */

START_TEST(test_copies_are_made_before_the_sequence_is_named_again)
{
	kvp_seq_t seq = computed(6), child;
	uint64_t blocks[2], published;

	kvpr_ok(kvp_seq_fork(pool, seq, KVP_POS_END, &child));
	/* The block of rows 4 and 5 is shared: the append copies it, then it can go on. */
	kvp_batch_seq_append(batch, child, tokens + 6, 2, 0);
	kvp_batch_seq_advance(batch, child, 8);
	kvp_batch_seq_table(batch, child, 0, 0, blocks, 2);
	kvp_batch_publish(batch, child, NULL);
	kvpr_ok(kvp_batch_run(batch, KVP_BATCH_STOP_ON_ERROR));
	ck_assert_uint_eq(copies_made(), 1);
	ck_assert_uint_eq(result_of(2).nr, 2);
	ck_assert_uint_ne(blocks[1], kvpr_block(pool, seq, 0, 1));
	published = result_of(3).tokens;
	ck_assert_uint_eq(published, 8);
	kvpr_expect_rows(pool, child, 0, 0, 6, 1);
	kvpr_expect_rows(pool, seq, 0, 0, 6, 1);
}
END_TEST

START_TEST(test_copies_are_made_before_run_returns)
{
	kvp_seq_t seq = computed(6), child;

	kvpr_ok(kvp_seq_fork(pool, seq, KVP_POS_END, &child));
	kvp_batch_seq_append(batch, child, tokens + 6, 1, 0);
	kvpr_ok(kvp_batch_run(batch, 0));
	ck_assert_uint_eq(copies_made(), 1);
	kvpr_compute(pool, child, 6, 1, 1);
	kvpr_expect_rows(pool, child, 0, 0, 7, 1);
}
END_TEST

START_TEST(test_references_across_copies)
{
	struct kvp_pool *plain = pool;
	struct kvp_prompt prompt = prompt_of(3);
	kvp_seq_t seq;

	/* A state is copied with every fork, so that each naming of a child waits. */
	kvp_batch_free(batch);
	pool = kvpr_open("inproc:states?family=kv,dense,32,4,8&family=mamba,state,8,1,40");
	kvpr_ok(kvp_batch_new(pool, 16, &batch));
	seq = computed(6);
	kvp_batch_seq_create(batch, &prompt, 0, 0);			/* 0 */
	kvp_batch_seq_fork(batch, seq, KVP_POS_END);			/* 1 */
	kvp_batch_seq_append(batch, KVP_REF(1), tokens + 6, 2, 0);	/* 2, waits for 1 */
	kvp_batch_seq_fork(batch, seq, KVP_POS_END);			/* 3 */
	kvp_batch_seq_advance(batch, KVP_REF(1), 8);			/* 4, waits for 2 */
	kvp_batch_seq_append(batch, KVP_REF(3), tokens + 6, 1, 0);	/* 5 */
	kvp_batch_seq_free(batch, KVP_REF(0));				/* 6 */
	kvp_batch_publish(batch, KVP_REF(1), NULL);			/* 7 */
	kvp_batch_seq_fork(batch, KVP_REF(1), KVP_POS_END);		/* 8 */
	kvp_batch_seq_truncate(batch, KVP_REF(8), 8);			/* 9, waits for 8 */
	kvpr_ok(kvp_batch_run(batch, KVP_BATCH_STOP_ON_ERROR));
	kvpr_expect(kvp_seq_free(pool, result_of(0).id), -ESTALE, KVP_REASON_GENERATION);
	kvpr_expect_lengths(pool, result_of(1).id, 8, 8, 8, 8);
	kvpr_expect_lengths(pool, result_of(3).id, 7, 6, 7, 0);
	kvpr_expect_lengths(pool, result_of(8).id, 8, 8, 8, 8);
	kvpr_expect_rows(pool, result_of(1).id, 0, 0, 6, 1);
	kvpr_expect_rows(pool, result_of(3).id, 0, 0, 6, 1);
	kvpr_sound(pool);
	kvp_pool_close(pool);

	/* A buffer may be freed after its pool. */
	kvp_batch_free(batch);
	pool = plain;
	kvpr_ok(kvp_batch_new(pool, 1, &batch));
}
END_TEST

/* ---- errors of entries ---- */

START_TEST(test_others_go_on)
{
	struct kvp_prompt prompt = prompt_of(4), huge = prompt_of(500);
	kvp_seq_t seq;

	huge.nr_tokens = 500;
	kvp_batch_seq_create(batch, &prompt, 0, 0);
	kvp_batch_seq_create(batch, &huge, 0, 2000);
	kvp_batch_seq_free(batch, 12345);
	kvp_batch_seq_append(batch, KVP_REF(1), tokens, 1, 0);
	kvp_batch_seq_append(batch, KVP_REF(0), tokens, 1, 0);
	/* The thread's error is that of the first one. */
	kvpr_expect(kvp_batch_run(batch, 0), -EFBIG, KVP_REASON_NEVER_FITS);
	kvpr_says("entry 1: seq-create: EFBIG");
	expect_result(0, 0, KVP_REASON_NONE, 0);
	expect_result(1, -EFBIG, KVP_REASON_NEVER_FITS, 0);
	expect_result(2, -ENOENT, KVP_REASON_NO_SEQ, 0);
	expect_result(3, -EINVAL, KVP_REASON_BATCH_REF, 1);
	expect_result(4, 0, KVP_REASON_NONE, 0);
	ck_assert_uint_eq(result_of(1).id, 0);
	seq = result_of(0).id;
	kvpr_expect_lengths(pool, seq, 5, 0, 5, 0);
}
END_TEST

START_TEST(test_stop_on_error)
{
	kvp_seq_t seq = computed(6);

	kvp_batch_seq_append(batch, seq, tokens + 6, 1, 0);
	kvp_batch_seq_free(batch, 12345);
	kvp_batch_seq_free(batch, 12345);
	kvp_batch_seq_free(batch, seq);	/* in a piece of its own */
	kvp_batch_seq_free(batch, seq);
	kvpr_expect(kvp_batch_run(batch, KVP_BATCH_STOP_ON_ERROR), -ENOENT, KVP_REASON_NO_SEQ);
	expect_result(0, 0, KVP_REASON_NONE, 0);
	expect_result(1, -ENOENT, KVP_REASON_NO_SEQ, 0);
	expect_result(2, -ECANCELED, KVP_REASON_EARLIER_ENTRY, 1);
	expect_result(3, -ECANCELED, KVP_REASON_EARLIER_ENTRY, 1);
	expect_result(4, -ECANCELED, KVP_REASON_EARLIER_ENTRY, 1);
	kvpr_expect_lengths(pool, seq, 7, 6, 7, 0);
}
END_TEST

START_TEST(test_errors_after_copies_name_the_entries_of_the_batch)
{
	kvp_seq_t seq = computed(6);

	kvp_batch_seq_append(batch, seq, tokens + 6, 1, 0);
	kvp_batch_seq_fork(batch, seq, 99);			/* waits for 0, and fails */
	kvp_batch_seq_free(batch, KVP_REF(1));
	kvp_batch_seq_append(batch, seq, tokens + 7, 1, 0);
	kvp_batch_seq_free(batch, seq);				/* waits for 3 */
	kvp_batch_seq_free(batch, KVP_REF(1));
	kvpr_expect(kvp_batch_run(batch, 0), -EINVAL, KVP_REASON_LENGTH);
	kvpr_says("entry 1: seq-fork");
	expect_result(1, -EINVAL, KVP_REASON_LENGTH, 0);
	expect_result(2, -EINVAL, KVP_REASON_BATCH_REF, 1);
	expect_result(3, 0, KVP_REASON_NONE, 0);
	expect_result(4, 0, KVP_REASON_NONE, 0);
	expect_result(5, -EINVAL, KVP_REASON_BATCH_REF, 1);

	seq = computed(6);
	kvp_batch_seq_append(batch, seq, tokens + 6, 1, 0);
	kvp_batch_seq_fork(batch, seq, 99);
	kvp_batch_seq_free(batch, seq);
	kvpr_expect(kvp_batch_run(batch, KVP_BATCH_STOP_ON_ERROR), -EINVAL, KVP_REASON_LENGTH);
	expect_result(2, -ECANCELED, KVP_REASON_EARLIER_ENTRY, 1);
}
END_TEST

START_TEST(test_operations_that_no_batch_has)
{
	struct kvp_pool_destroy destroy = { .name = "batch" };
	struct kvp_head nothing = { 0 };

	kvp_batch_call(batch, KVP_OP_POOL_DESTROY, &destroy, sizeof(destroy));
	kvp_batch_call(batch, (enum kvp_op)0x7f, &nothing, sizeof(nothing));
	kvpr_expect(kvp_batch_run(batch, 0), -EINVAL, KVP_REASON_NESTING);
	expect_result(0, -EINVAL, KVP_REASON_NESTING, 0);
	expect_result(1, -ENOTTY, KVP_REASON_OPERATION, 0);
	ck_assert_uint_eq(destroy.head.size, sizeof(destroy));
}
END_TEST

START_TEST(test_pool_that_is_gone)
{
	struct kvp_prompt prompt = prompt_of(4);
	struct kvp_batch_buf *own;
	struct kvp_pool *gone;

	gone = kvpr_open("inproc:gone?blocks=4");
	kvpr_ok(kvp_batch_new(gone, 4, &own));
	kvpr_ok(kvp_pool_destroy(gone, 0));
	kvp_batch_seq_create(own, &prompt, 0, 0);
	kvp_batch_seq_free(own, KVP_REF(0));
	kvpr_expect(kvp_batch_run(own, 0), -EIO, KVP_REASON_DESTROYED);
	kvp_batch_free(own);
	kvp_pool_close(gone);
}
END_TEST

START_TEST(test_pool_of_the_parent)
{
	struct kvp_prompt prompt = prompt_of(4);
	struct kvp_batch_result result;
	int status;
	pid_t pid;

	kvp_batch_seq_create(batch, &prompt, 0, 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		status = kvp_batch_run(batch, 0) != -EPERM || !strstr(kvp_error()->text, "fork") ||
			 kvp_batch_get(batch, 0, &result) || result.err != -EPERM;
		_exit(status);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	kvpr_ok(kvp_batch_run(batch, 0));
	kvpr_ok(kvp_seq_free(pool, result_of(0).id));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("api: batches");
	TCase *tc = tcase_create("batches");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_buffer_refused);
	tcase_add_test(tc, test_entries_refused);
	tcase_add_test(tc, test_run_refused);
	tcase_add_test(tc, test_sixty_four_in_one_call);
	tcase_add_test(tc, test_every_entry_does_what_its_function_does);
	tcase_add_test(tc, test_references_to_what_was_made);
	tcase_add_test(tc, test_copies_are_made_before_the_sequence_is_named_again);
	tcase_add_test(tc, test_copies_are_made_before_run_returns);
	tcase_add_test(tc, test_references_across_copies);
	tcase_add_test(tc, test_others_go_on);
	tcase_add_test(tc, test_stop_on_error);
	tcase_add_test(tc, test_errors_after_copies_name_the_entries_of_the_batch);
	tcase_add_test(tc, test_operations_that_no_batch_has);
	tcase_add_test(tc, test_pool_that_is_gone);
	tcase_add_test(tc, test_pool_of_the_parent);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

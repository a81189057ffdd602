// SPDX-License-Identifier: MIT
/*
 * Sequences through kvpool.h beyond test_runtime.c: tables with positions, slots, token ids at a
 * position, copies that the caller makes; and each error that these functions document.
 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "pools.h"

static struct kvp_pool *pool;
static uint8_t space[KVP_DIGEST_LEN];
static uint32_t tokens[512];

static void setup(void)
{
	pool = kvpr_open("inproc:seqs?family=kv,dense,128,4,8&family=near,window,16,8,8,6"
			 "&family=mamba,state,4,1,100");
	kvpr_space("m", space);
	kvpr_tokens(tokens, 512, 1);
}

static void teardown(void)
{
	kvpr_sound(pool);
	kvp_pool_close(pool);
}

/* ---- tables ---- */

START_TEST(test_table_and_lengths_of_one_moment)
{
	uint64_t blocks[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	struct kvp_table table = { .blocks = blocks, .nr = 8 };
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 18, NULL);
	uint32_t i;

	kvpr_compute(pool, seq, 0, 18, 1);
	kvpr_ok(kvp_seq_append(pool, seq, tokens + 18, 1, 3));
	kvpr_ok(kvp_seq_read(pool, seq, &table));
	ck_assert_uint_eq(table.nr, 6);
	ck_assert_uint_eq(table.total, 6);
	ck_assert_uint_eq(table.position, 0);
	ck_assert_uint_eq(table.block_tokens, 4);
	ck_assert_uint_eq(table.lengths.tokens, 19);
	ck_assert_uint_eq(table.lengths.computed, 18);
	ck_assert_uint_eq(table.lengths.reserved, 22);
	ck_assert_uint_eq(table.lengths.published, 0);
	for (i = 0; i < 6; i++)
		ck_assert_uint_eq(blocks[i], kvpr_block(pool, seq, 0, i));
	ck_assert_uint_eq(blocks[6], 1);

	/* A piece: the position is that of its first slot. */
	table = (struct kvp_table){ .blocks = blocks, .nr = 2, .first = 3 };
	kvpr_ok(kvp_seq_read(pool, seq, &table));
	ck_assert_uint_eq(table.nr, 2);
	ck_assert_uint_eq(table.total, 6);
	ck_assert_uint_eq(table.position, 12);
	ck_assert_uint_eq(blocks[0], kvpr_block(pool, seq, 0, 3));

	/* Of a window: what it let go is no block. */
	table = (struct kvp_table){ .family = 1, .blocks = blocks, .nr = 8 };
	kvpr_ok(kvp_seq_read(pool, seq, &table));
	ck_assert_uint_eq(table.nr, 3);
	ck_assert_uint_eq(table.block_tokens, 8);
	ck_assert_uint_eq(blocks[0], KVP_BLOCK_NULL);
	ck_assert_uint_ne(blocks[1], KVP_BLOCK_NULL);

	/* Of a state: one slot for all positions. */
	table = (struct kvp_table){ .family = 2, .blocks = blocks, .nr = 8 };
	kvpr_ok(kvp_seq_read(pool, seq, &table));
	ck_assert_uint_eq(table.nr, 1);
	ck_assert_uint_eq(table.block_tokens, 0);
	ck_assert_uint_eq(table.position, 0);

	/* Beyond the end, and the rest alone. */
	table = (struct kvp_table){ .blocks = blocks, .nr = 8, .first = 6 };
	kvpr_ok(kvp_seq_read(pool, seq, &table));
	ck_assert_uint_eq(table.nr, 0);
	table = (struct kvp_table){ .nr = 0 };
	kvpr_ok(kvp_seq_read(pool, seq, &table));
	ck_assert_uint_eq(table.total, 6);
}
END_TEST

START_TEST(test_table_refused)
{
	struct kvp_table table = { .family = 3, .total = 77 };
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 5, NULL);

	kvpr_expect(kvp_seq_read(pool, seq, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_seq_read(pool, seq, &table), -EINVAL, KVP_REASON_FAMILY);
	table.family = 0;
	kvpr_expect(kvp_seq_read(pool, 12345, &table), -ENOENT, KVP_REASON_NO_SEQ);
	table.nr = 4;
	kvpr_expect(kvp_seq_read(pool, seq, &table), -EFAULT, KVP_REASON_POINTER);
	ck_assert_uint_eq(table.nr, 4);
	ck_assert_uint_eq(table.total, 77);
	table.nr = 0;
	kvpr_ok(kvp_seq_free(pool, seq));
	kvpr_expect(kvp_seq_read(pool, seq, &table), -ESTALE, KVP_REASON_GENERATION);
}
END_TEST

/* ---- slots ---- */

/* The slots of [first, first + nr) are where kvp_block_data() of the table says. */
static void expect_slots(kvp_seq_t seq, uint32_t family, uint64_t first, uint64_t nr)
{
	uint32_t block_tokens = kvp_pool_family(pool, family)->block_tokens;
	uint64_t slots[512], block, i;

	memset(slots, 0xa5, sizeof(slots));
	kvpr_ok(kvp_seq_slots(pool, seq, family, first, nr, slots));
	for (i = 0; i < nr; i++) {
		uint64_t at = first + i;

		block = kvpr_block(pool, seq, family, at / block_tokens);
		if (block == KVP_BLOCK_NULL)
			ck_assert_uint_eq(slots[i], KVP_SLOT_NONE);
		else
			ck_assert_uint_eq(slots[i], KVP_BLOCK_INDEX(block) * block_tokens +
						    at % block_tokens);
	}
	ck_assert_uint_eq(slots[nr], 0xa5a5a5a5a5a5a5a5ULL);
}

START_TEST(test_slots)
{
	kvp_seq_t other = kvpr_seq(pool, space, tokens, 9, NULL);
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 42, NULL);

	kvpr_ok(kvp_seq_free(pool, other));
	kvpr_compute(pool, seq, 0, 42, 1);
	kvpr_ok(kvp_seq_append(pool, seq, tokens + 42, 1, 3));
	expect_slots(seq, 0, 0, 46);
	expect_slots(seq, 0, 0, 1);
	expect_slots(seq, 0, 3, 2);
	expect_slots(seq, 0, 45, 1);
	expect_slots(seq, 0, 7, 30);
	expect_slots(seq, 1, 0, 46);
	expect_slots(seq, 1, 29, 12);
}
END_TEST

START_TEST(test_slots_of_more_blocks_than_one_call_reads)
{
	struct kvp_pool *small = pool;
	kvp_seq_t seq;

	pool = kvpr_open("inproc:long?blocks=200&block_tokens=2");
	seq = kvpr_seq(pool, space, tokens, 333, NULL);
	expect_slots(seq, 0, 0, 333);
	expect_slots(seq, 0, 1, 332);
	expect_slots(seq, 0, 127, 2);
	expect_slots(seq, 0, 130, 200);
	kvp_pool_close(pool);
	pool = small;
}
END_TEST

START_TEST(test_slots_refused)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 5, NULL);
	uint64_t slots[8] = { 77 };

	kvpr_expect(kvp_seq_slots(pool, seq, 3, 0, 1, slots), -EINVAL, KVP_REASON_FAMILY);
	kvpr_expect(kvp_seq_slots(pool, seq, 2, 0, 1, slots), -EOPNOTSUPP,
		    KVP_REASON_STATE_FAMILY);
	kvpr_expect(kvp_seq_slots(pool, seq, 0, 0, 1, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_seq_slots(pool, seq, 0, 0, 0, slots), -EINVAL, KVP_REASON_COUNT);
	kvpr_expect(kvp_seq_slots(pool, seq, 0, 0, 6, slots), -EINVAL, KVP_REASON_LENGTH);
	kvpr_says("at most 5");
	kvpr_expect(kvp_seq_slots(pool, seq, 0, 5, 1, slots), -EINVAL, KVP_REASON_LENGTH);
	kvpr_expect(kvp_seq_slots(pool, seq, 0, 1, UINT64_MAX, slots), -EINVAL,
		    KVP_REASON_LENGTH);
	kvpr_expect(kvp_seq_slots(pool, 12345, 0, 0, 1, slots), -ENOENT, KVP_REASON_NO_SEQ);
	ck_assert_uint_eq(slots[0], 77);
}
END_TEST

/* ---- token ids at a position ---- */

START_TEST(test_set_tokens_at)
{
	struct kvp_extra extra = { .node = 1, .digest = { 9 } };
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 6, NULL), other;
	uint64_t matched;

	kvpr_ok(kvp_seq_append(pool, seq, NULL, 0, 12));
	kvpr_expect(kvp_seq_set_tokens_at(pool, seq, 5, tokens + 6, 2, NULL, 0), -EINVAL,
		    KVP_REASON_POSITION);
	ck_assert_uint_eq(kvp_error()->where, 6);
	kvpr_says("position 5");
	kvpr_says("expected 6");
	kvpr_expect(kvp_seq_set_tokens_at(pool, seq, 6, tokens + 6, 13, NULL, 0), -EINVAL,
		    KVP_REASON_LENGTH);
	kvpr_expect(kvp_seq_set_tokens_at(pool, seq, 6, tokens + 6, 2, &extra, 1), -EINVAL,
		    KVP_REASON_EXTRA);
	kvpr_expect(kvp_seq_set_tokens_at(pool, seq, 6, tokens + 6, 0, NULL, 0), -EINVAL,
		    KVP_REASON_COUNT);
	kvpr_expect_lengths(pool, seq, 6, 0, 18, 0);

	/* A digest makes the second node another one. */
	kvpr_ok(kvp_seq_set_tokens_at(pool, seq, 6, tokens + 6, 10, &extra, 1));
	kvpr_expect_lengths(pool, seq, 16, 0, 18, 0);
	kvpr_compute(pool, seq, 0, 16, 1);
	kvpr_ok(kvp_publish(pool, seq, NULL));
	other = kvpr_seq(pool, space, tokens, 17, &matched);
	ck_assert_uint_eq(matched, 0);	/* a state is where its node ends: nowhere else */
	kvpr_ok(kvp_seq_free(pool, other));
	kvpr_expect(kvp_seq_set_tokens_at(pool, other, 0, tokens, 1, NULL, 0), -ESTALE,
		    KVP_REASON_GENERATION);
}
END_TEST

/* ---- copies of the caller's ---- */

static void copy_rows(const struct kvp_copy *copies, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		const struct kvp_family_desc *family =
			kvp_pool_family(pool, KVP_BLOCK_FAMILY(copies[i].dst));

		memcpy(kvp_block_data(pool, copies[i].dst), kvp_block_data(pool, copies[i].src),
		       copies[i].tokens * family->block_bytes / family->block_tokens);
	}
}

START_TEST(test_copies_that_the_caller_makes)
{
	struct kvp_append append = { .tokens = tokens + 6, .nr_tokens = 1,
				     .position = KVP_POS_END };
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 6, NULL), child = 77;
	struct kvp_copy copies[8];
	struct kvp_stats stats;
	uint32_t nr = 0;

	ck_assert_uint_le(kvp_pool_max_copies(pool), 8);
	kvpr_compute(pool, seq, 0, 6, 1);
	/* A state is always copied. */
	kvpr_expect(kvp_seq_fork_plan(pool, seq, KVP_POS_END, &child, copies, &nr), -EOVERFLOW,
		    KVP_REASON_COPIES);
	ck_assert_uint_eq(kvp_error()->where, 1);
	ck_assert_uint_eq(child, 77);
	ck_assert_uint_eq(nr, 0);
	nr = kvp_pool_max_copies(pool);
	kvpr_ok(kvp_seq_fork_plan(pool, seq, KVP_POS_END, &child, copies, &nr));
	ck_assert_uint_eq(nr, 1);
	ck_assert_uint_eq(KVP_BLOCK_FAMILY(copies[0].dst), 2);
	/* Until it is told that they are made, nothing else is done with the child. */
	kvpr_expect(kvp_seq_append(pool, child, tokens + 6, 1, 0), -EBUSY,
		    KVP_REASON_COPY_PENDING);
	copy_rows(copies, nr);
	kvpr_ok(kvp_seq_copied(pool, child));
	kvpr_ok(kvp_seq_copied(pool, child));

	/* Both share the node of rows 0 to 5: two dense blocks and one of the window. */
	nr = 1;
	kvpr_expect(kvp_seq_append_plan(pool, child, &append, copies, &nr), -EOVERFLOW,
		    KVP_REASON_COPIES);
	ck_assert_uint_eq(kvp_error()->where, 3);
	ck_assert_uint_eq(nr, 1);
	nr = 8;
	kvpr_ok(kvp_seq_append_plan(pool, child, &append, copies, &nr));
	ck_assert_uint_eq(nr, 3);
	copy_rows(copies, nr);
	kvpr_ok(kvp_seq_copied(pool, child));
	kvpr_compute(pool, child, 6, 1, 1);
	kvpr_expect_rows(pool, child, 0, 0, 7, 1);
	kvpr_expect_rows(pool, seq, 0, 0, 6, 1);
	kvpr_ok(kvp_pool_stats(pool, 0, &stats, NULL, 0));
	ck_assert_uint_eq(stats.copies, 4);

	/* Where nothing is shared, nothing is to be copied. */
	nr = 8;
	append.position = 7;
	append.tokens = tokens + 7;
	kvpr_ok(kvp_seq_append_plan(pool, child, &append, copies, &nr));
	ck_assert_uint_eq(nr, 0);
	kvpr_expect_lengths(pool, child, 8, 7, 8, 0);
}
END_TEST

START_TEST(test_plans_refused)
{
	struct kvp_append append = { .tokens = tokens, .nr_tokens = 1, .position = 5 };
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 6, NULL), child = 77;
	struct kvp_copy copies[8];
	uint32_t nr = 8;

	kvpr_expect(kvp_seq_append_plan(pool, seq, NULL, copies, &nr), -EINVAL,
		    KVP_REASON_POINTER);
	kvpr_expect(kvp_seq_append_plan(pool, seq, &append, copies, NULL), -EINVAL,
		    KVP_REASON_POINTER);
	kvpr_expect(kvp_seq_append_plan(pool, seq, &append, copies, &nr), -EINVAL,
		    KVP_REASON_POSITION);
	ck_assert_uint_eq(kvp_error()->where, 6);
	kvpr_expect(kvp_seq_append_plan(pool, 12345, &append, copies, &nr), -ENOENT,
		    KVP_REASON_NO_SEQ);
	kvpr_expect(kvp_seq_fork_plan(pool, seq, 1, NULL, copies, &nr), -EINVAL,
		    KVP_REASON_POINTER);
	kvpr_expect(kvp_seq_fork_plan(pool, seq, 1, &child, copies, NULL), -EINVAL,
		    KVP_REASON_POINTER);
	kvpr_expect(kvp_seq_fork_plan(pool, seq, 1, &child, copies, &nr), -EINVAL,
		    KVP_REASON_LENGTH);
	kvpr_expect(kvp_seq_copied(pool, 12345), -ENOENT, KVP_REASON_NO_SEQ);
	ck_assert_uint_eq(nr, 8);
	ck_assert_uint_eq(child, 77);
	kvpr_expect_lengths(pool, seq, 6, 0, 6, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("api: sequences");
	TCase *tc = tcase_create("sequences");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_table_and_lengths_of_one_moment);
	tcase_add_test(tc, test_table_refused);
	tcase_add_test(tc, test_slots);
	tcase_add_test(tc, test_slots_of_more_blocks_than_one_call_reads);
	tcase_add_test(tc, test_slots_refused);
	tcase_add_test(tc, test_set_tokens_at);
	tcase_add_test(tc, test_copies_that_the_caller_makes);
	tcase_add_test(tc, test_plans_refused);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

// SPDX-License-Identifier: MIT
/*
 * What the functions that an engine calls in each step allocate: nothing but what the core needs
 * for a new sequence or match. Counts by the hooks of the address sanitizer.
 */
#include <check.h>
#include <string.h>

#include <sanitizer/asan_interface.h>

#include "pools.h"

#define ROWS	64

static struct kvp_pool *pool;
static uint8_t space[KVP_DIGEST_LEN];
static uint32_t tokens[512];
static uint64_t allocations;

/* The sanitizer calls these by name. */
void __sanitizer_malloc_hook(const volatile void *ptr, size_t size)
{
	allocations++;
}

void __sanitizer_free_hook(const volatile void *ptr)
{
}

/* @expr succeeds, and yields how often it allocated. */
#define allocated(expr)								\
({										\
	uint64_t before_ = allocations;						\
	int err_ = (expr);							\
										\
	before_ = allocations - before_;					\
	kvpr_ok(err_);								\
	before_;								\
})

#define allocates_nothing(expr)	ck_assert_uint_eq(allocated(expr), 0)

static void setup(void)
{
	pool = kvpr_open("inproc:alloc?blocks=400&block_tokens=4&row_bytes=8");
	kvpr_space("m", space);
	kvpr_tokens(tokens, 512, 1);
}

static void teardown(void)
{
	kvp_pool_close(pool);
}

START_TEST(test_hooks_count)
{
	struct kvp_batch_buf *batch;

	ck_assert_uint_gt(allocated(kvp_batch_new(pool, 4, &batch)), 0);
	kvp_batch_free(batch);
}
END_TEST

START_TEST(test_steps_of_a_sequence)
{
	struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = 30 };
	uint64_t blocks[16], slots[30], matched, published;
	uint8_t rows[ROWS * 8];
	struct kvp_table table = { .blocks = blocks, .nr = 16 };
	struct kvp_published result;
	struct kvp_lengths lengths;
	kvp_seq_t seq;
	uint32_t nr = 16;

	kvpr_ok(kvp_seq_create(pool, &prompt, 0, 34, &seq, &matched));
	kvpr_rows(rows, 0, ROWS, 8, 1);
	allocates_nothing(kvp_rows_write(pool, seq, 0, 0, 30, rows));
	allocates_nothing(kvp_seq_advance(pool, seq, 30));
	allocates_nothing(kvp_publish(pool, seq, &published));
	allocates_nothing(kvp_publish_with(pool, seq, NULL, &result));
	allocates_nothing(kvp_match(pool, &prompt, &matched));
	ck_assert_uint_eq(matched, 28);
	allocates_nothing(kvp_match_blocks(pool, &prompt, 0, blocks, &nr, NULL, &matched));
	allocates_nothing(kvp_rows_read(pool, seq, 0, 0, 30, rows));
	allocates_nothing(kvp_seq_lengths(pool, seq, &lengths));
	allocates_nothing(kvp_seq_table(pool, seq, 0, 0, blocks, &nr));
	allocates_nothing(kvp_seq_read(pool, seq, &table));
	allocates_nothing(kvp_seq_slots(pool, seq, 0, 0, 30, slots));
	allocates_nothing(kvp_seq_append(pool, seq, tokens + 30, 1, 0));
	allocates_nothing(kvp_seq_set_tokens(pool, seq, tokens + 31, 1));
	allocates_nothing(kvp_seq_truncate(pool, seq, 30));
	allocates_nothing(kvp_seq_free(pool, seq));
}
END_TEST

/* A new sequence and a held match cost what the core's own call costs. */
START_TEST(test_what_the_core_needs)
{
	struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = 30 };
	struct kvp_prefix_match match = {
		.head.flags = KVP_MATCH_HOLD,
		.tokens = (uint64_t)(uintptr_t)tokens,
		.nr_tokens = 30,
	};
	struct kvp_seq_create create = {
		.tokens = (uint64_t)(uintptr_t)tokens,
		.nr_tokens = 30,
	};
	uint64_t core, ours, matched;
	kvp_match_t held;
	kvp_seq_t seq;

	kvpr_compute(pool, seq = kvpr_seq(pool, space, tokens, 30, NULL), 0, 30, 1);
	kvpr_ok(kvp_publish(pool, seq, NULL));
	memcpy(create.space, space, sizeof(create.space));
	/* Once before, as tables of ids grow in steps. */
	kvpr_ok(kvp_pool_call(pool, KVP_OP_SEQ_CREATE, &create, sizeof(create)));
	core = allocated(kvp_pool_call(pool, KVP_OP_SEQ_CREATE, &create, sizeof(create)));
	ours = allocated(kvp_seq_create(pool, &prompt, 0, 0, &seq, &matched));
	ck_assert_uint_eq(ours, core);
	memcpy(match.space, space, sizeof(match.space));
	kvpr_ok(kvp_pool_call(pool, KVP_OP_PREFIX_MATCH, &match, sizeof(match)));
	core = allocated(kvp_pool_call(pool, KVP_OP_PREFIX_MATCH, &match, sizeof(match)));
	ours = allocated(kvp_match_hold(pool, &prompt, &held, &matched));
	ck_assert_uint_eq(ours, core);
	allocates_nothing(kvp_match_release(pool, held));
	ck_assert_uint_eq(matched, 28);
}
END_TEST

START_TEST(test_sixty_four_operations_in_a_batch)
{
	struct kvp_batch_buf *batch;
	kvp_seq_t seq[32];
	uint64_t before;
	uint32_t i;

	for (i = 0; i < 32; i++) {
		struct kvp_prompt prompt = { .space = space, .tokens = tokens + i,
					     .nr_tokens = 6 };

		kvpr_ok(kvp_seq_create(pool, &prompt, 0, 6, &seq[i], NULL));
	}
	kvpr_ok(kvp_batch_new(pool, 64, &batch));
	before = allocations;
	for (i = 0; i < 32; i++)
		kvp_batch_seq_advance(batch, seq[i], 6);
	for (i = 0; i < 32; i++)
		kvp_batch_seq_append(batch, seq[i], tokens, 1, 0);
	kvpr_ok(kvp_batch_run(batch, 0));
	for (i = 0; i < 32; i++)
		kvp_batch_publish(batch, seq[i], NULL);
	for (i = 0; i < 32; i++)
		kvp_batch_seq_free(batch, seq[i]);
	kvpr_ok(kvp_batch_run(batch, 0));
	before = allocations - before;	/* a passed assertion allocates */
	ck_assert_uint_eq(kvp_batch_nr(batch), 64);
	ck_assert_uint_eq(before, 0);
	kvp_batch_free(batch);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("api: allocations");
	TCase *tc = tcase_create("allocations");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_hooks_count);
	tcase_add_test(tc, test_steps_of_a_sequence);
	tcase_add_test(tc, test_what_the_core_needs);
	tcase_add_test(tc, test_sixty_four_operations_in_a_batch);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

// SPDX-License-Identifier: MIT
/*
 * Pools, sequences, prefixes and raw blocks through libkvpool: what its functions add to the
 * operations of the contract, and that on an error nothing has changed.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pools.h"

static struct kvp_pool *pool;
static uint8_t space[KVP_DIGEST_LEN];
static uint32_t tokens[64];

static void setup(void)
{
	pool = kvpr_open("inproc:runtime?blocks=16&block_tokens=4&row_bytes=8");
	kvpr_space("m", space);
	kvpr_tokens(tokens, 64, 1);
}

static void teardown(void)
{
	kvpr_sound(pool);
	kvp_pool_close(pool);
}

/* ---- making and ending pools ---- */

static const struct kvp_family_config dense = {
	.name = "kv", .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 8, .row_bytes = 16,
};

static int create(const char *name, const struct kvp_family_config *family, uint32_t flags,
		  struct kvp_pool **made)
{
	struct kvp_pool_config config = { .families = family, .nr_families = 1, .flags = flags };
	char uri[KVP_NAME_LEN + 16];

	if (name)
		snprintf(uri, sizeof(uri), "inproc:%s", name);
	return kvp_pool_create(name ? uri : NULL, &config, made);
}

START_TEST(test_name_is_taken)
{
	struct kvp_pool *a = NULL, *b = NULL;

	kvpr_ok(create("made", &dense, 0, &a));
	ck_assert_str_eq(kvp_pool_family(a, 0)->name, "kv");
	kvpr_expect(create("made", &dense, 0, &b), -EEXIST, KVP_REASON_NAME);
	kvpr_says("pool \"made\": EEXIST: the name is taken");
	kvpr_expect(create("ma de", &dense, 0, &b), -EINVAL, KVP_REASON_NAME);
	kvpr_says("pool \"ma de\": EINVAL: bad name: expected 1 to 63 of letters");
	kvpr_expect(kvp_pool_open("inproc:unmade", &b), -ENOENT, KVP_REASON_NO_POOL);
	kvpr_says("pool \"unmade\": ENOENT: no such pool");
	kvpr_expect(kvp_pool_destroy_name("inproc:unmade", 0), -ENOENT, KVP_REASON_NO_POOL);
	kvpr_says("pool \"unmade\": ENOENT: no such pool");
	kvpr_expect(kvp_pool_destroy_name("inproc:made", 0), -EBUSY, KVP_REASON_POOL_IN_USE);
	kvpr_says("pool \"made\": EBUSY: other clients are attached");
	ck_assert_ptr_null(b);
	kvp_pool_close(a);
	kvpr_ok(create("made", &dense, 0, &a));
	kvp_pool_close(a);
}
END_TEST

START_TEST(test_persistent_pool_outlives_its_clients)
{
	struct kvp_pool *a, *b;
	uint64_t matched;
	kvp_seq_t seq;

	kvpr_ok(create("made", &dense, KVP_POOL_PERSISTENT, &a));
	seq = kvpr_seq(a, space, tokens, 8, NULL);
	kvpr_compute(a, seq, 0, 8, 3);
	kvpr_ok(kvp_publish(a, seq, NULL));
	kvp_pool_close(a);

	b = kvpr_open("inproc:made");
	seq = kvpr_seq(b, space, tokens, 9, &matched);
	ck_assert_uint_eq(matched, 8);
	kvpr_expect_rows(b, seq, 0, 0, 8, 3);
	kvpr_ok(kvp_pool_destroy(b, 0));
	kvp_pool_close(b);
	kvpr_expect(kvp_pool_open("inproc:made", &b), -ENOENT, KVP_REASON_NO_POOL);
}
END_TEST

START_TEST(test_destroy_ends_it_for_everybody)
{
	struct kvp_pool *a, *b;
	struct kvp_stats stats;
	uint32_t row[2] = { 0 };
	kvp_seq_t seq;

	kvpr_ok(create("made", &dense, 0, &a));
	b = kvpr_open("inproc:made");
	seq = kvpr_seq(b, space, tokens, 4, NULL);
	kvpr_expect(kvp_pool_destroy(a, 0), -EBUSY, KVP_REASON_POOL_IN_USE);
	kvpr_ok(kvp_pool_destroy(a, KVP_DESTROY_FORCE));
	kvpr_expect(kvp_pool_stats(a, 0, &stats, NULL, 0), -EIO, KVP_REASON_DESTROYED);
	kvpr_expect(kvp_rows_write(b, seq, 0, 0, 1, row), -EIO, KVP_REASON_DESTROYED);
	kvp_pool_close(b);
	kvp_pool_close(a);
}
END_TEST

START_TEST(test_destroy_does_not_hit_a_namesake)
{
	struct kvp_pool *old, *new;
	struct kvp_stats stats;

	kvpr_ok(create("made", &dense, 0, &old));
	kvpr_ok(kvp_pool_destroy(old, 0));
	kvpr_ok(create("made", &dense, 0, &new));
	kvpr_expect(kvp_pool_destroy(old, KVP_DESTROY_FORCE), -EIO, KVP_REASON_DESTROYED);
	kvpr_ok(kvp_pool_stats(new, 0, &stats, NULL, 0));
	kvp_pool_close(old);
	kvpr_ok(kvp_pool_stats(new, 0, &stats, NULL, 0));
	kvp_pool_close(new);
}
END_TEST

static const struct {
	struct kvp_family_config family;
	int err;
	uint32_t reason;
} bad_families[] = {
	{ { .kind = KVP_FAMILY_DENSE, .blocks = 8, .row_bytes = 16 }, -EINVAL,
	  KVP_REASON_FAMILY },
	{ { .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .row_bytes = 16 }, -EINVAL,
	  KVP_REASON_FAMILY },
	{ { .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 8 }, -EINVAL,
	  KVP_REASON_FAMILY },
	{ { .block_tokens = 4, .blocks = 8, .row_bytes = 16 }, -EINVAL, KVP_REASON_FAMILY },
	{ { .kind = 9, .block_tokens = 4, .blocks = 8, .row_bytes = 16 }, -EINVAL,
	  KVP_REASON_FAMILY },
	{ { .kind = KVP_FAMILY_WINDOW, .block_tokens = 4, .blocks = 8, .row_bytes = 16 },
	  -EINVAL, KVP_REASON_FAMILY },
	{ { .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 8, .row_bytes = 16,
	    .window = 3 }, -EINVAL, KVP_REASON_FAMILY },
	{ { .kind = KVP_FAMILY_STATE, .block_tokens = 4, .blocks = 8, .row_bytes = 16 },
	  -EINVAL, KVP_REASON_FAMILY },
	{ { .kind = KVP_FAMILY_DENSE, .block_tokens = KVP_MAX_BLOCK_TOKENS + 1, .blocks = 8,
	    .row_bytes = 16 }, -EINVAL, KVP_REASON_FAMILY },
	{ { .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = KVP_MAX_BLOCKS + 1ULL,
	    .row_bytes = 16 }, -EOVERFLOW, KVP_REASON_COUNT },
	{ { .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 8,
	    .row_bytes = 1ULL << 62 }, -EOVERFLOW, KVP_REASON_FAMILY },
	{ { .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 8,
	    .row_bytes = 1ULL << 59 }, -EOVERFLOW, KVP_REASON_COUNT },
	/* In whole pages it is too much. */
	{ { .kind = KVP_FAMILY_DENSE, .block_tokens = 1, .blocks = 1,
	    .row_bytes = INT64_MAX }, -EOVERFLOW, KVP_REASON_FAMILY },
	/* A file can be that long, but nothing can map it. */
	{ { .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 8,
	    .row_bytes = 1ULL << 57 }, -ENOMEM, KVP_REASON_MEMORY },
	{ { .name = "abcdefghijklmnop", .kind = KVP_FAMILY_DENSE, .block_tokens = 4,
	    .blocks = 8, .row_bytes = 16 }, -EINVAL, KVP_REASON_NAME },
};

#define NR_BAD_FAMILIES	(sizeof(bad_families) / sizeof(bad_families[0]))

START_TEST(test_families_that_cannot_be)
{
	struct kvp_pool *made = NULL;

	kvpr_expect(create("made", &bad_families[_i].family, 0, &made), bad_families[_i].err,
		    bad_families[_i].reason);
	ck_assert_ptr_null(made);
	/* Not even the name is left behind. */
	kvpr_ok(create("made", &dense, 0, &made));
	kvp_pool_close(made);
}
END_TEST

START_TEST(test_second_family_is_named)
{
	struct kvp_family_config families[2] = { dense, dense };
	struct kvp_pool_config config = { .families = families, .nr_families = 2 };
	struct kvp_pool *made;

	families[1].row_bytes = 0;
	kvpr_expect(kvp_pool_create("inproc:made", &config, &made), -EINVAL, KVP_REASON_FAMILY);
	ck_assert_uint_eq(kvp_error()->where, 1);
	kvpr_says("family 1");
}
END_TEST

START_TEST(test_number_of_families)
{
	struct kvp_family_config families[KVP_MAX_FAMILIES + 1] = { dense };
	struct kvp_pool_config config = { .families = families };
	struct kvp_pool *made;

	kvpr_expect(kvp_pool_create("inproc:made", &config, &made), -EINVAL, KVP_REASON_COUNT);
	config.nr_families = KVP_MAX_FAMILIES + 1;
	kvpr_expect(kvp_pool_create("inproc:made", &config, &made), -EOVERFLOW, KVP_REASON_COUNT);
	config.nr_families = 1;
	config.families = NULL;
	kvpr_expect(kvp_pool_create("inproc:made", &config, &made), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_pool_create("inproc:made", NULL, &made), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(create(NULL, &dense, 0, &made), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(create("made", &dense, 0, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(create("made", &dense, 1U << 31, &made), -EINVAL, KVP_REASON_FLAG);
	kvpr_expect(create("a/b", &dense, 0, &made), -EINVAL, KVP_REASON_NAME);
}
END_TEST

/* ---- any operation ---- */

START_TEST(test_any_operation)
{
	struct kvp_abi abi = { 0 };
	struct kvp_seq_id id = { .seq = 99 };

	kvpr_ok(kvp_pool_call(pool, KVP_OP_ABI, &abi, sizeof(abi)));
	ck_assert_uint_eq(abi.head.size, sizeof(abi));
	ck_assert_uint_eq(abi.max_families, KVP_MAX_FAMILIES);
	ck_assert(abi.features & KVP_FEATURE_BACKING);
	kvpr_expect(kvp_pool_call(pool, KVP_OP_SEQ_FREE, &id, sizeof(id)), -ENOENT,
		    KVP_REASON_NO_SEQ);
	ck_assert_uint_eq(id.head.reason, KVP_REASON_NO_SEQ);
	kvpr_expect(kvp_pool_call(pool, 0x7f, &abi, sizeof(abi)), -ENOTTY,
		    KVP_REASON_OPERATION);
	kvpr_expect(kvp_pool_call(pool, KVP_OP_ABI, &abi, sizeof(abi.head) - 1), -EINVAL,
		    KVP_REASON_SIZE);
	kvpr_expect(kvp_pool_call(pool, KVP_OP_ABI, NULL, sizeof(abi)), -EINVAL,
		    KVP_REASON_POINTER);
	kvpr_expect(kvp_pool_call(pool, KVP_OP_ABI, (char *)&abi + 4, sizeof(abi.head)), -EINVAL,
		    KVP_REASON_ALIGNMENT);
	kvpr_says("expected a multiple of 8");
}
END_TEST

/* ---- sequences ---- */

START_TEST(test_life_of_a_sequence)
{
	uint64_t blocks[4] = { 1, 1, 1, 1 };
	uint32_t nr = 4;
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 6, NULL);

	kvpr_expect_lengths(pool, seq, 6, 0, 6, 0);
	kvpr_compute(pool, seq, 0, 6, 1);
	kvpr_expect_lengths(pool, seq, 6, 6, 6, 0);
	kvpr_ok(kvp_seq_append(pool, seq, tokens + 6, 1, 5));
	kvpr_expect_lengths(pool, seq, 7, 6, 12, 0);
	kvpr_ok(kvp_seq_set_tokens(pool, seq, tokens + 7, 2));
	kvpr_expect_lengths(pool, seq, 9, 6, 12, 0);
	kvpr_compute(pool, seq, 6, 3, 1);
	kvpr_expect_rows(pool, seq, 0, 0, 9, 1);

	kvpr_ok(kvp_seq_table(pool, seq, 0, 0, blocks, &nr));
	ck_assert_uint_eq(nr, 3);
	ck_assert_uint_eq(blocks[3], 1);
	ck_assert_uint_ne(blocks[0], blocks[1]);
	nr = 1;
	kvpr_ok(kvp_seq_table(pool, seq, 0, 2, blocks + 3, &nr));
	ck_assert_uint_eq(nr, 1);
	ck_assert_uint_eq(blocks[3], blocks[2]);

	kvpr_ok(kvp_seq_truncate(pool, seq, 5));
	kvpr_expect_lengths(pool, seq, 5, 5, 5, 0);
	kvpr_expect_rows(pool, seq, 0, 0, 5, 1);
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_HELD), 2);
	kvpr_ok(kvp_seq_free(pool, seq));
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 16);
	kvpr_expect(kvp_seq_free(pool, seq), -ESTALE, KVP_REASON_GENERATION);
}
END_TEST

START_TEST(test_reserve_then_append_nothing)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 4, NULL);

	kvpr_ok(kvp_seq_append(pool, seq, NULL, 0, 8));
	kvpr_expect_lengths(pool, seq, 4, 0, 12, 0);
	kvpr_expect(kvp_seq_append(pool, seq, NULL, 0, 0), -EINVAL, KVP_REASON_COUNT);
}
END_TEST

START_TEST(test_position_that_is_not_the_sequences)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 7, NULL);

	kvpr_expect(kvp_seq_append_at(pool, seq, 6, tokens, 1, NULL, 0, 0), -EINVAL,
		    KVP_REASON_POSITION);
	ck_assert_uint_eq(kvp_error()->where, 7);
	kvpr_says("position 6");
	kvpr_says("expected 7");
	kvpr_expect_lengths(pool, seq, 7, 0, 7, 0);
	kvpr_ok(kvp_seq_append_at(pool, seq, 7, tokens + 7, 1, NULL, 0, 0));
	kvpr_ok(kvp_seq_append_at(pool, seq, KVP_POS_END, tokens + 8, 1, NULL, 0, 0));
	kvpr_expect_lengths(pool, seq, 9, 0, 9, 0);
}
END_TEST

START_TEST(test_prompt_of_null)
{
	struct kvp_prompt prompt = { .tokens = tokens, .nr_tokens = 4 };
	uint64_t matched = 77;
	kvp_seq_t seq = 77;

	kvpr_expect(kvp_seq_create(pool, NULL, 0, 0, &seq, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_seq_create(pool, &prompt, 0, 0, &seq, NULL), -EINVAL,
		    KVP_REASON_POINTER);
	kvpr_says("space");
	kvpr_expect(kvp_match(pool, &prompt, &matched), -EINVAL, KVP_REASON_POINTER);
	prompt.space = space;
	kvpr_expect(kvp_seq_create(pool, &prompt, 0, 0, NULL, NULL), -EINVAL,
		    KVP_REASON_POINTER);
	kvpr_expect(kvp_match(pool, &prompt, NULL), -EINVAL, KVP_REASON_POINTER);
	ck_assert_uint_eq(seq, 77);
	ck_assert_uint_eq(matched, 77);
}
END_TEST

START_TEST(test_results_are_untouched_by_an_error)
{
	struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = 64 };
	struct kvp_lengths lengths = { .tokens = 77 };
	uint64_t matched = 77, published = 77;
	kvp_seq_t seq = 77, child = 77;
	uint32_t nr = 3;
	uint64_t block;

	kvpr_expect(kvp_seq_create(pool, &prompt, 0, 4, &seq, &matched), -EFBIG,
		    KVP_REASON_NEVER_FITS);
	kvpr_expect(kvp_seq_fork(pool, 5, KVP_POS_END, &child), -ENOENT, KVP_REASON_NO_SEQ);
	kvpr_expect(kvp_seq_lengths(pool, 5, &lengths), -ENOENT, KVP_REASON_NO_SEQ);
	kvpr_expect(kvp_seq_table(pool, 5, 0, 0, &block, &nr), -ENOENT, KVP_REASON_NO_SEQ);
	kvpr_expect(kvp_publish(pool, 5, &published), -ENOENT, KVP_REASON_NO_SEQ);
	ck_assert_uint_eq(seq, 77);
	ck_assert_uint_eq(matched, 77);
	ck_assert_uint_eq(child, 77);
	ck_assert_uint_eq(lengths.tokens, 77);
	ck_assert_uint_eq(nr, 3);
	ck_assert_uint_eq(published, 77);
}
END_TEST

START_TEST(test_places_for_results_of_null)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 4, NULL);
	uint64_t block;

	kvpr_expect(kvp_seq_fork(pool, seq, 0, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_seq_lengths(pool, seq, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_seq_table(pool, seq, 0, 0, &block, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_pool_stats(pool, 0, NULL, NULL, 0), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_pool_audit(pool, NULL, 0, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_pool_reclaim(pool, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_invalidate_space(pool, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_block_make_private(pool, NULL), -EINVAL, KVP_REASON_POINTER);
}
END_TEST

/* ---- prefixes ---- */

static void publish(uint32_t nr)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, nr, NULL);
	uint64_t published;

	kvpr_compute(pool, seq, 0, nr, 1);
	kvpr_ok(kvp_publish(pool, seq, &published));
	ck_assert_uint_eq(published, nr / 4 * 4);
	kvpr_expect_lengths(pool, seq, nr, nr, nr, nr / 4 * 4);
	kvpr_ok(kvp_seq_free(pool, seq));
}

START_TEST(test_match_limit)
{
	struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = 16,
				     .match_limit = 15 };
	uint64_t matched;
	kvp_seq_t seq;

	publish(16);
	kvpr_ok(kvp_seq_create(pool, &prompt, 0, 0, &seq, &matched));
	ck_assert_uint_eq(matched, 12);
	kvpr_expect_lengths(pool, seq, 16, 12, 16, 12);
	kvpr_ok(kvp_match(pool, &prompt, &matched));
	ck_assert_uint_eq(matched, 16);
}
END_TEST

START_TEST(test_flags_of_create)
{
	struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = 10 };
	uint64_t matched;
	kvp_seq_t seq;

	publish(8);
	kvpr_ok(kvp_seq_create(pool, &prompt, KVP_SEQ_NO_MATCH, 2, &seq, &matched));
	ck_assert_uint_eq(matched, 0);
	kvpr_expect_lengths(pool, seq, 10, 0, 12, 0);
	kvpr_ok(kvp_seq_create(pool, &prompt, KVP_SEQ_MATCH_ONLY, 0, &seq, &matched));
	ck_assert_uint_eq(matched, 8);
	kvpr_expect_lengths(pool, seq, 8, 8, 8, 8);
}
END_TEST

START_TEST(test_invalidated_space_matches_no_more)
{
	struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = 8 };
	uint64_t matched;

	publish(8);
	kvpr_ok(kvp_match(pool, &prompt, &matched));
	ck_assert_uint_eq(matched, 8);
	kvpr_ok(kvp_invalidate_space(pool, space));
	kvpr_ok(kvp_match(pool, &prompt, &matched));
	ck_assert_uint_eq(matched, 0);
}
END_TEST

START_TEST(test_reclaim_and_stats)
{
	struct kvp_family_stats family;
	struct kvp_stats stats;
	uint64_t nodes = 3;

	publish(16);
	kvpr_ok(kvp_pool_stats(pool, 0, &stats, &family, 1));
	ck_assert_uint_eq(stats.nodes_published, 4);
	ck_assert_uint_eq(family.state[KVP_BLOCK_IDLE], 4);
	ck_assert_uint_eq(family.total, 16);
	kvpr_ok(kvp_pool_reclaim(pool, &nodes));
	ck_assert_uint_eq(nodes, 3);
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_IDLE), 1);
	nodes = 100;
	kvpr_ok(kvp_pool_reclaim(pool, &nodes));
	ck_assert_uint_eq(nodes, 1);
	nodes = 0;
	kvpr_expect(kvp_pool_reclaim(pool, &nodes), -EINVAL, KVP_REASON_COUNT);
	kvpr_ok(kvp_pool_stats(pool, KVP_STATS_SELF, &stats, NULL, 0));
	ck_assert_uint_eq(stats.seqs, 0);
}
END_TEST

/* ---- raw blocks ---- */

START_TEST(test_raw_blocks)
{
	uint64_t blocks[3] = { 0 }, copy;
	uint8_t *bytes, *copied;

	kvpr_ok(kvp_blocks_alloc(pool, 0, blocks, 3));
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_HELD), 3);
	bytes = kvp_block_data(pool, blocks[1]);
	ck_assert_ptr_nonnull(bytes);
	ck_assert_ptr_eq((uint8_t *)kvp_block_data(pool, blocks[2]),
			 (uint8_t *)kvp_block_data(pool, blocks[0]) +
			 ((int64_t)KVP_BLOCK_INDEX(blocks[2]) - KVP_BLOCK_INDEX(blocks[0])) * 32);
	kvpr_rows(bytes, 0, 4, 8, 5);

	/* Alone: it stays. Shared with another reference of the client: it is copied. */
	copy = blocks[1];
	kvpr_ok(kvp_block_make_private(pool, &copy));
	ck_assert_uint_eq(copy, blocks[1]);
	kvpr_ok(kvp_blocks_ref(pool, &blocks[1], 1));
	kvpr_ok(kvp_block_make_private(pool, &copy));
	ck_assert_uint_ne(copy, blocks[1]);
	copied = kvp_block_data(pool, copy);
	ck_assert_mem_eq(copied, bytes, 32);
	copied[0]++;
	ck_assert_int_ne(copied[0], bytes[0]);

	kvpr_ok(kvp_blocks_unref(pool, blocks, 3));
	kvpr_ok(kvp_blocks_unref(pool, &copy, 1));
	kvpr_expect(kvp_blocks_unref(pool, &copy, 1), -ESTALE, KVP_REASON_GENERATION);
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 16);
}
END_TEST

START_TEST(test_data_of_ids_that_cannot_be)
{
	ck_assert_ptr_null(kvp_block_data(pool, KVP_BLOCK_NULL));
	ck_assert_ptr_null(kvp_block_data(pool, KVP_BLOCK_ID(1, 0, 1)));
	ck_assert_ptr_null(kvp_block_data(pool, KVP_BLOCK_ID(15, 0, 1)));
	ck_assert_ptr_null(kvp_block_data(pool, KVP_BLOCK_ID(0, 16, 1)));
	ck_assert_ptr_nonnull(kvp_block_data(pool, KVP_BLOCK_ID(0, 15, 1)));
}
END_TEST

/* ---- threads and processes ---- */

#define THREADS	4
#define ROUNDS	50

static void *open_and_work(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg, mine[12], i;
	struct kvp_pool *own;
	kvp_seq_t seq, child;

	kvpr_tokens(mine, 12, 100 + me);
	for (i = 0; i < ROUNDS; i++) {
		own = kvpr_open("inproc:threads?blocks=256&block_tokens=4&row_bytes=8");
		seq = kvpr_seq(own, space, mine, 6, NULL);
		kvpr_expect_lengths(own, seq, 6, 0, 6, 0);
		kvpr_compute(own, seq, 0, 6, me);
		kvpr_ok(kvp_seq_fork(own, seq, KVP_POS_END, &child));
		kvpr_ok(kvp_seq_append(own, child, mine + 6, 4, 0));
		kvpr_compute(own, child, 6, 4, me);
		kvpr_expect_rows(own, child, 0, 0, 10, me);
		kvpr_expect_rows(own, seq, 0, 0, 6, me);
		kvpr_ok(kvp_seq_free(own, seq));
		kvp_pool_close(own);	/* ends the child */
	}
	return NULL;
}

START_TEST(test_threads_open_one_pool)
{
	pthread_t threads[THREADS];
	struct kvp_pool *gone;
	uintptr_t i;

	for (i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, open_and_work, (void *)i), 0);
	for (i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	kvpr_expect(kvp_pool_open("inproc:threads", &gone), -ENOENT, KVP_REASON_NO_POOL);
}
END_TEST

/* Looks at a sequence until told to stop; may find it busy, and make it busy for others. */
struct look {
	kvp_seq_t seq;
	atomic_bool stop;
	uint64_t looks;
};

static void *look_at(void *arg)
{
	struct look *look = arg;
	struct kvp_lengths lengths;

	while (!atomic_load(&look->stop)) {
		int err = kvp_seq_lengths(pool, look->seq, &lengths);

		if (err)
			kvpr_expect(err, -EBUSY, KVP_REASON_SEQ_BUSY);
		else
			look->looks++;
	}
	return NULL;
}

/* Until nobody looks. */
#define when_free(expr)								\
do {										\
	int free_err_;								\
										\
	do {									\
		free_err_ = (expr);						\
	} while (free_err_ == -EBUSY && kvp_error()->reason == KVP_REASON_SEQ_BUSY); \
	kvpr_ok(free_err_);							\
} while (0)

START_TEST(test_copies_are_made_while_others_look)
{
	struct look look = { .seq = kvpr_seq(pool, space, tokens, 6, NULL) };
	struct kvp_stats stats;
	pthread_t thread;
	kvp_seq_t child;
	int i;

	kvpr_compute(pool, look.seq, 0, 6, 1);
	ck_assert_int_eq(pthread_create(&thread, NULL, look_at, &look), 0);
	for (i = 0; i < 1000; i++) {
		/* The second block is shared: an append copies it. */
		when_free(kvp_seq_fork(pool, look.seq, KVP_POS_END, &child));
		when_free(kvp_seq_append(pool, look.seq, tokens + 6, 1, 0));
		when_free(kvp_seq_truncate(pool, look.seq, 6));
		kvpr_ok(kvp_seq_free(pool, child));
	}
	atomic_store(&look.stop, true);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_gt(look.looks, 0);
	kvpr_expect_rows(pool, look.seq, 0, 0, 6, 1);
	kvpr_ok(kvp_pool_stats(pool, 0, &stats, NULL, 0));
	ck_assert_uint_eq(stats.copies, 1000);
}
END_TEST

/* What a child may do with its parent's pool: nothing. Exit status 0 if so. */
static int in_the_child(kvp_seq_t seq, uint64_t block, char *page)
{
	struct kvp_pool *own = NULL;
	struct kvp_stats stats;
	uint64_t row = 0;
	kvp_seq_t mine;

	if (kvp_pool_stats(pool, 0, &stats, NULL, 0) != -EPERM || !strstr(kvp_error()->text, "fork"))
		return 1;
	if (kvp_rows_write(pool, seq, 0, 4, 1, &row) != -EPERM ||
	    kvp_rows_read(pool, seq, 0, 0, 1, &row) != -EPERM || kvp_block_data(pool, block))
		return 2;
	if (!msync(page, 1, MS_ASYNC) || errno != ENOMEM)	/* mapped */
		return 4;
	if (kvp_pool_open("inproc:runtime", &own) != -ENOENT)
		return 3;
	kvp_pool_close(pool);
	/* A pool of the same name is the child's own. */
	own = kvpr_open("inproc:runtime?blocks=2&block_tokens=4&row_bytes=8");
	mine = kvpr_seq(own, space, tokens, 4, NULL);
	kvpr_compute(own, mine, 0, 4, 99);
	kvpr_expect_rows(own, mine, 0, 0, 4, 99);
	kvp_pool_close(own);
	return 0;
}

START_TEST(test_forked_child_has_no_part_in_the_pool)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 8, NULL);
	uint64_t block = kvpr_block(pool, seq, 0, 0);
	char *page = kvp_block_data(pool, block);
	int status;
	pid_t pid;

	kvpr_compute(pool, seq, 0, 4, 1);
	page -= (uintptr_t)page % (uintptr_t)sysconf(_SC_PAGESIZE);
	ck_assert_int_eq(msync(page, 1, MS_ASYNC), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid)
		_exit(in_the_child(seq, block, page));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	kvpr_expect_rows(pool, seq, 0, 0, 4, 1);
	kvpr_compute(pool, seq, 4, 4, 1);
	kvpr_expect_rows(pool, seq, 0, 0, 8, 1);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("runtime");
	TCase *pools = tcase_create("pools");
	TCase *seqs = tcase_create("sequences");
	TCase *others = tcase_create("threads and processes");

	tcase_add_checked_fixture(pools, setup, teardown);
	tcase_add_test(pools, test_name_is_taken);
	tcase_add_test(pools, test_persistent_pool_outlives_its_clients);
	tcase_add_test(pools, test_destroy_ends_it_for_everybody);
	tcase_add_test(pools, test_destroy_does_not_hit_a_namesake);
	tcase_add_loop_test(pools, test_families_that_cannot_be, 0, NR_BAD_FAMILIES);
	tcase_add_test(pools, test_second_family_is_named);
	tcase_add_test(pools, test_number_of_families);
	tcase_add_test(pools, test_any_operation);
	suite_add_tcase(s, pools);

	tcase_add_checked_fixture(seqs, setup, teardown);
	tcase_add_test(seqs, test_life_of_a_sequence);
	tcase_add_test(seqs, test_reserve_then_append_nothing);
	tcase_add_test(seqs, test_position_that_is_not_the_sequences);
	tcase_add_test(seqs, test_prompt_of_null);
	tcase_add_test(seqs, test_results_are_untouched_by_an_error);
	tcase_add_test(seqs, test_places_for_results_of_null);
	tcase_add_test(seqs, test_match_limit);
	tcase_add_test(seqs, test_flags_of_create);
	tcase_add_test(seqs, test_invalidated_space_matches_no_more);
	tcase_add_test(seqs, test_reclaim_and_stats);
	tcase_add_test(seqs, test_raw_blocks);
	tcase_add_test(seqs, test_data_of_ids_that_cannot_be);
	suite_add_tcase(s, seqs);

	tcase_add_checked_fixture(others, setup, teardown);
	tcase_add_test(others, test_threads_open_one_pool);
	tcase_add_test(others, test_copies_are_made_while_others_look);
	tcase_add_test(others, test_forked_child_has_no_part_in_the_pool);
	suite_add_tcase(s, others);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

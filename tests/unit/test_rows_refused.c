// SPDX-License-Identifier: MIT
/*
 * What kvp_rows_move() refuses, each with its place and text and without a byte being moved; and
 * rows that are bytes of the pool's memory.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "moves.h"
#include "pools.h"
#include "random.h"

#define N	4		/* tokens of a block */

static struct kvpr_rows *rows;
static struct kvp_pool *pool;
static const uint64_t *table;
static struct kvp_row_move moves[3];
static struct kvp_rows_options opt;

static void begin(void)
{
	const struct kvpr_shape shape = {
		.block_tokens = N, .tokens = 3 * N, .layers = 2, .heads = 2, .n_elems = 8,
		.rot_dim = 8, .raw_dtype = KVP_DTYPE_F32, .k_dtype = KVP_DTYPE_F32,
		.style = KVP_ROPE_NEOX, .axes = 3,
	};
	__u64 state = 1;

	rows = kvpr_rows_make(&shape, &state);
	pool = kvpr_rows_pool(rows);
	table = kvpr_rows_table(rows, NULL);
}

/* Three rows of the first block to the fourth one, a row of the second to the fifth. */
static void good(void)
{
	memset(moves, 0, sizeof(moves));
	moves[0] = (struct kvp_row_move){ .src = table[0], .dst = table[3], .src_row = 1, .nr = 3 };
	moves[1] = (struct kvp_row_move){ .src = table[1], .dst = table[4], .dst_row = 2, .nr = 1 };
	opt = (struct kvp_rows_options){ .threads = 1 };
}

static void refused(int err, uint32_t reason, uint32_t where, const char *words)
{
	kvpr_expect(kvp_rows_move(pool, 0, moves, 2, &opt), err, reason);
	ck_assert_uint_eq(kvp_error()->where, where);
	kvpr_says("rows_move: ");
	kvpr_says(words);
	kvpr_rows_check(rows);
}

#define REFUSED(change, err, reason, where, words, twin)	\
do {								\
	good();							\
	change;							\
	refused(err, reason, where, words);			\
	good();							\
	twin;							\
	kvpr_ok(kvp_rows_move(pool, 0, moves, 2, &opt));	\
} while (0)

START_TEST(test_options)
{
	begin();
	good();
	kvpr_expect(kvp_rows_move(pool, 1, moves, 2, &opt), -EINVAL, KVP_REASON_FAMILY);
	kvpr_expect(kvp_rows_move(pool, 0, NULL, 2, &opt), -EINVAL, KVP_REASON_POINTER);
	kvpr_ok(kvp_rows_move(pool, 0, NULL, 0, &opt));
	kvpr_ok(kvp_rows_move(pool, 0, moves, 2, NULL));
	REFUSED(opt.flags = 2, -EINVAL, KVP_REASON_FLAG, 0, "flags 0x2", opt.flags = 1);
	REFUSED(opt.threads = 257, -EINVAL, KVP_REASON_COUNT, 0, "257 threads", opt.threads = 256);
	REFUSED(moves[1].flags = 2, -EINVAL, KVP_REASON_FLAG, 1, "move 1: flags 0x2",
		moves[1].flags = KVP_MOVE_KEEP);
	kvpr_rows_drop(rows);
}
END_TEST

START_TEST(test_blocks)
{
	begin();
	REFUSED(moves[1].nr = 0, -EINVAL, KVP_REASON_COUNT, 1, "move 1: no rows", );
	REFUSED(moves[0].nr = 4, -EINVAL, KVP_REASON_LENGTH, 0,
		"move 0: rows [1, 5) of src: expected a range in the 4", );
	REFUSED(moves[1].dst_row = 4, -EINVAL, KVP_REASON_LENGTH, 1, "rows [4, 5) of dst",
		moves[1].dst_row = 3);
	REFUSED(moves[1].dst_row = UINT32_MAX, -EINVAL, KVP_REASON_LENGTH, 1,
		"rows [4294967295, 4294967296) of dst", );
	REFUSED(moves[1].src = KVP_BLOCK_NULL, -EINVAL, KVP_REASON_VALUE, 1, "move 1: src 0x0", );
	REFUSED(moves[1].dst = KVP_BLOCK_ID(1, 1, 1), -EINVAL, KVP_REASON_VALUE, 1,
		"expected a block of family 0", );
	REFUSED(moves[1].dst = KVP_BLOCK_ID(0, 8, 1), -EINVAL, KVP_REASON_VALUE, 1,
		"move 1: dst 0x8", );
	kvpr_rows_drop(rows);
}
END_TEST

START_TEST(test_positions)
{
	uint32_t positions[] = { 0, 75, 3, 4, 5, 6, 7, 8, 9 };
	const int err = -EINVAL;
	const uint32_t why = KVP_REASON_VALUE;

	begin();
	/* 76 positions. */
	REFUSED(moves[0].position = 74, err, why, 0, "position 74 of 3 rows",
		moves[0].position = 73);
	REFUSED(moves[0].position = UINT64_MAX, err, why, 0, "position 18446744073709551615", );
	REFUSED((moves[0].position = 1, moves[0].positions = positions), err, why, 0,
		"position 1: expected 0", moves[0].positions = positions);
	REFUSED((moves[0].position = 1, moves[0].flags = KVP_MOVE_KEEP), err, why, 0,
		"position 1: expected 0", moves[0].flags = KVP_MOVE_KEEP);
	REFUSED((moves[0].positions = positions, moves[0].flags = KVP_MOVE_KEEP), err, why, 0,
		"positions and KVP_MOVE_KEEP", );
	REFUSED((moves[0].positions = positions, positions[8] = 76), err, why, 0,
		"positions[8] is 76: expected it below 76",
		(moves[0].positions = positions, positions[8] = 75));
	kvpr_rows_drop(rows);
}
END_TEST

/* Rows that are written twice, or before they are read. */
START_TEST(test_order)
{
	const int err = -EINVAL;
	const uint32_t why = KVP_REASON_DUPLICATE;

	begin();
	REFUSED((moves[1].dst = table[3]), err, why, 1, "writes rows that move 0 writes",
		(moves[1].dst = table[3], moves[1].dst_row = 3));
	REFUSED((moves[1].dst = table[0]), err, why, 1, "writes rows that move 0 reads",
		(moves[1].dst = table[0], moves[1].dst_row = 0));
	good();
	moves[1].dst = table[0];
	opt.flags = KVP_ROWS_IN_PLACE;
	/* The first block's row was read before. */
	kvpr_ok(kvp_rows_move(pool, 0, moves, 2, &opt));
	kvpr_rows_drop(rows);

	begin();
	good();
	opt.flags = KVP_ROWS_IN_PLACE;
	moves[0].dst = table[1];
	moves[0].dst_row = 0;
	refused(err, why, 0, "writes rows before move 1 reads them");
	good();
	opt.flags = KVP_ROWS_IN_PLACE;
	moves[0].dst = table[0];
	moves[0].src_row = 0;
	moves[0].dst_row = 1;
	refused(err, why, 0, "writes rows before move 0 reads them");
	moves[0].src_row = 1;
	kvpr_ok(kvp_rows_move(pool, 0, moves, 2, &opt));
	moves[0].dst_row = 0;
	kvpr_ok(kvp_rows_move(pool, 0, moves, 2, &opt));
	kvpr_rows_drop(rows);
}
END_TEST

START_TEST(test_child)
{
	pid_t child;
	int status;

	begin();
	good();
	child = fork();
	if (!child)
		_exit(kvp_rows_move(pool, 0, moves, 2, &opt) == -EPERM ? 0 : 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	kvpr_rows_drop(rows);
}
END_TEST

/* ---- what a geometry cannot do, and none ---- */

/* A family of states, and one whose K has no KRAW. */
START_TEST(test_what_cannot_be_done)
{
	const struct kvp_geometry *full;
	struct kvp_geometry without;
	struct kvp_row_move move = { .nr = 1 };
	uint64_t blocks[2];

	begin();
	full = kvpr_rows_geometry(rows);
	without = *full;
	without.n_planes = 2;
	without.flags = 0;
	pool = kvpr_open("inproc:without?family=d,dense,8,4,192&family=s,state,4,1,100");
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &without));
	kvpr_ok(kvp_blocks_alloc(pool, 0, blocks, 2));
	move.src = blocks[0];
	move.dst = blocks[1];
	kvpr_expect(kvp_rows_move(pool, 0, &move, 1, NULL), -EOPNOTSUPP, KVP_REASON_VALUE);
	kvpr_says("k is rotated, and has no kraw plane (plane 0): expected KVP_MOVE_KEEP");
	move.flags = KVP_MOVE_KEEP;
	kvpr_ok(kvp_rows_move(pool, 0, &move, 1, NULL));
	kvpr_expect(kvp_rows_move(pool, 1, &move, 1, NULL), -EOPNOTSUPP, KVP_REASON_STATE_FAMILY);
	kvpr_says("family 1 keeps a state");
	kvp_pool_close(pool);
	kvpr_rows_drop(rows);
}
END_TEST

/* Rows of the pool's memory, of a size that is no multiple of anything. */
START_TEST(test_memory)
{
	const uint32_t row_bytes = 1013, nr_blocks = 40;
	uint64_t blocks[40];
	struct kvp_row_move list[20];
	struct kvp_rows_options threads = { .threads = 3 };
	uint8_t *copy[40];
	uint32_t i, j;
	__u64 state = 3;

	pool = kvpr_open("inproc:memory?blocks=40&block_tokens=5&row_bytes=1013");
	kvpr_ok(kvp_blocks_alloc(pool, 0, blocks, nr_blocks));
	for (i = 0; i < nr_blocks; i++) {
		uint8_t *data = kvp_block_data(pool, blocks[i]);

		for (j = 0; j < 5 * row_bytes; j++)
			data[j] = (uint8_t)kvpt_random(&state);
		copy[i] = memcpy(malloc(5 * row_bytes), data, 5 * row_bytes);
	}
	for (i = 0; i < 20; i++) {
		list[i] = (struct kvp_row_move){
			.src = blocks[i], .dst = blocks[39 - i], .src_row = i % 3,
			.dst_row = i % 2, .nr = 1 + i % 2, .flags = KVP_MOVE_KEEP,
		};
		memcpy(copy[39 - i] + list[i].dst_row * row_bytes,
		       copy[i] + list[i].src_row * row_bytes, list[i].nr * row_bytes);
	}
	kvpr_cpu_take("avx2", true);
	kvpr_ok(kvp_rows_move(pool, 0, list, 20, &threads));
	kvpr_cpu_reset();
	for (i = 0; i < nr_blocks; i++)
		ck_assert_mem_eq(kvp_block_data(pool, blocks[i]), copy[i], 5 * row_bytes);
	/* Two rows on in the same block, over themselves. */
	list[0] = (struct kvp_row_move){
		.src = blocks[0], .dst = blocks[0], .src_row = 1, .nr = 4, .flags = KVP_MOVE_KEEP,
	};
	threads.flags = KVP_ROWS_IN_PLACE;
	kvpr_ok(kvp_rows_move(pool, 0, list, 1, &threads));
	ck_assert_mem_eq(kvp_block_data(pool, blocks[0]), copy[0] + row_bytes, 4 * row_bytes);
	list[0].flags = 0;
	kvpr_expect(kvp_rows_move(pool, 0, list, 1, &threads), -EOPNOTSUPP, KVP_REASON_VALUE);
	kvpr_says("family 0 has no geometry");
	for (i = 0; i < nr_blocks; i++)
		free(copy[i]);
	kvp_pool_close(pool);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("rows_refused");
	TCase *tc = tcase_create("refused");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_options);
	tcase_add_test(tc, test_blocks);
	tcase_add_test(tc, test_positions);
	tcase_add_test(tc, test_order);
	tcase_add_test(tc, test_child);
	tcase_add_test(tc, test_what_cannot_be_done);
	tcase_add_test(tc, test_memory);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

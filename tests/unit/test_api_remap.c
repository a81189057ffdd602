// SPDX-License-Identifier: MIT
/*
 * Remaps through kvpool.h: evict, shift and splice on rows of a small geometry, of which each K is
 * compared with the rotation of its KRAW; the parts; positions; and what is refused, with a
 * sequence that is as it was.
 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "pools.h"

#define N	4			/* tokens of a block */
#define BLOCKS	32
#define ELEMS	8
#define TOKENS	40
#define NR_POS	64

enum { K, V, KRAW, NR_PLANES };

static struct kvp_pool *pool;
static uint8_t space[KVP_DIGEST_LEN];
static uint32_t tokens[TOKENS];
static float tensor[NR_PLANES][BLOCKS][N][ELEMS];
static float table[NR_POS * ELEMS];
static struct kvp_geometry geometry;

static void make_geometry(void)
{
	static struct kvp_memory memory;
	const struct kvp_rope_params params = {
		.scaling = KVP_SCALING_PLAIN, .rot_dim = ELEMS, .theta = 10000,
	};
	uint32_t i;

	kvpr_ok(kvp_rope_table(&params, 0, NR_POS, table));
	memory = (struct kvp_memory){ (uintptr_t)tensor, sizeof(tensor) };
	memset(&geometry, 0, sizeof(geometry));
	geometry = (struct kvp_geometry){
		.n_layers = 1, .n_blocks = BLOCKS, .block_tokens = N, .n_planes = NR_PLANES,
		.n_ropes = 1, .n_memory = 1, .n_positions = NR_POS, .memory = &memory,
	};
	geometry.rope[0] = (struct kvp_rope){
		.table = table, .n_pos = NR_POS, .rot_dim = ELEMS, .style = KVP_ROPE_NEOX,
	};
	for (i = 0; i < NR_PLANES; i++)
		geometry.plane[i] = (struct kvp_plane){
			.base = (uintptr_t)tensor[i], .block_stride = sizeof(tensor[i][0]),
			.token_stride = sizeof(tensor[i][0][0]),
			.head_stride = sizeof(tensor[i][0][0]), .n_heads = 1, .n_elems = ELEMS,
			.vec = ELEMS, .dtype = KVP_DTYPE_F32,
			.role = i == K ? KVP_ROLE_K : i == V ? KVP_ROLE_V : KVP_ROLE_KRAW,
			.flags = i == KRAW ? KVP_PLANE_OF(K) : 0,
		};
}

static void setup(void)
{
	pool = kvpr_open("inproc:remap?family=kv,dense,32,4,96");
	kvpr_space("m", space);
	kvpr_tokens(tokens, TOKENS, 1);
	memset(tensor, 0, sizeof(tensor));
	make_geometry();
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &geometry));
}

static void teardown(void)
{
	kvpr_sound(pool);
	kvp_pool_close(pool);
}

/* ---- rows ---- */

static float *row_at(kvp_seq_t seq, uint32_t plane, uint32_t token)
{
	return tensor[plane][KVP_BLOCK_INDEX(kvpr_block(pool, seq, 0, token / N))][token % N];
}

static void rotate(const float *raw, uint32_t position, float *k)
{
	const struct kvp_rope_row row = {
		.rope = &geometry.rope[0], .raw = raw, .k = k, .n_heads = 1, .n_elems = ELEMS,
		.raw_dtype = KVP_DTYPE_F32, .k_dtype = KVP_DTYPE_F32,
	};

	kvpr_ok(kvp_rope_rotate(&row, &position));
}

/* What the token that was computed as number @tag has. */
static void raw_of(uint32_t tag, float raw[ELEMS])
{
	uint32_t i;

	for (i = 0; i < ELEMS; i++)
		raw[i] = (float)(tag * 31 + i * 7 % 5) / 9;
}

/* @nr tokens, computed as number @tag and so on. */
static kvp_seq_t make(uint32_t nr, uint32_t tag)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, nr, NULL);
	uint32_t i;

	for (i = 0; i < nr; i++) {
		raw_of(tag + i, row_at(seq, KRAW, i));
		row_at(seq, V, i)[0] = (float)(tag + i);
		rotate(row_at(seq, KRAW, i), i, row_at(seq, K, i));
	}
	kvpr_ok(kvp_seq_advance(pool, seq, nr));
	return seq;
}

/* Token @token is the one that was computed as @tag, and stands at @position. */
static void expect_row(kvp_seq_t seq, uint32_t token, uint32_t tag, uint32_t position)
{
	float raw[ELEMS], k[ELEMS];

	raw_of(tag, raw);
	rotate(raw, position, k);
	ck_assert_mem_eq(row_at(seq, KRAW, token), raw, sizeof(raw));
	ck_assert_mem_eq(row_at(seq, K, token), k, sizeof(k));
	ck_assert(row_at(seq, V, token)[0] == (float)tag);
}

static void expect_rows(kvp_seq_t seq, uint32_t from, uint32_t nr, uint32_t tag, uint32_t position)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		expect_row(seq, from + i, tag + i, position + i);
}

/* ---- evict, shift, splice ---- */

START_TEST(test_evict)
{
	kvp_seq_t seq = make(14, 0), fork;
	struct kvp_remapped done;

	kvpr_ok(kvp_seq_fork(pool, seq, 14, &fork));
	kvpr_ok(kvp_seq_evict(pool, seq, 3, 7, 0, _i, &done));
	ck_assert_uint_eq(done.guarantee, KVP_REPOSITIONED);
	ck_assert_uint_eq(done.tokens, 10);
	ck_assert_uint_eq(done.computed, 10);
	ck_assert_uint_eq(done.moved, 10);
	ck_assert_uint_eq(done.attended, 7);
	ck_assert_uint_eq(done.tainted_from, 3);
	kvpr_expect_lengths(pool, seq, 10, 10, 10, 0);
	expect_rows(seq, 0, 3, 0, 0);
	expect_rows(seq, 3, 7, 7, 3);
	/* Who shares the blocks notices nothing. */
	expect_rows(fork, 0, 14, 0, 0);
	kvpr_expect(kvp_publish(pool, seq, NULL), -EKEYREJECTED, KVP_REASON_TAINTED);
}
END_TEST

/* One rotation however often a row moves. */
START_TEST(test_evict_again_and_again)
{
	kvp_seq_t seq = make(TOKENS, 0);
	uint32_t i;

	for (i = 0; i < 15; i++)
		kvpr_ok(kvp_seq_evict(pool, seq, 2, 4, 0, 1, NULL));
	expect_rows(seq, 0, 2, 0, 0);
	expect_rows(seq, 2, TOKENS - 32, 32, 2);
}
END_TEST

START_TEST(test_evict_with_a_gap)
{
	kvp_seq_t seq = make(14, 0);
	struct kvp_standing standing;
	struct kvp_positions runs[4];
	struct kvp_remapped done;
	uint32_t nr = 4;

	kvpr_ok(kvp_seq_evict(pool, seq, 3, 7, KVP_EVICT_GAP, 1, &done));
	/* Whole nodes that keep their place in a node stay: 4 of span, 4 of a node. */
	ck_assert_uint_eq(done.moved, 10 - 4);
	expect_rows(seq, 0, 3, 0, 0);
	expect_rows(seq, 3, 7, 7, 7);
	kvpr_ok(kvp_seq_positions(pool, seq, runs, &nr, &standing));
	ck_assert_uint_eq(nr, 2);
	ck_assert_uint_eq(standing.total, 2);
	ck_assert_uint_eq(standing.next, 14);
	ck_assert_uint_eq(standing.tainted_from, 3);
	ck_assert_uint_eq(standing.attended, 7);
	ck_assert_uint_eq(runs[1].first, 3);
	ck_assert_uint_eq(runs[1].position, 7);
	ck_assert_uint_eq(runs[1].computed_at, 7);
	ck_assert_uint_eq(runs[1].flags, KVP_POSITIONS_ATTENDED | KVP_POSITIONS_MISSED);
}
END_TEST

START_TEST(test_evict_and_replay)
{
	kvp_seq_t seq = make(14, 0);
	struct kvp_remapped done;

	kvpr_ok(kvp_seq_evict(pool, seq, 3, 7, KVP_EVICT_REPLAY | KVP_EVICT_NEVER_SAW, 1, &done));
	ck_assert_uint_eq(done.guarantee, KVP_NEVER_SAW);
	ck_assert_uint_eq(done.tainted_from, KVP_POS_END);
	kvpr_expect_lengths(pool, seq, 10, 3, 10, 0);
	expect_rows(seq, 0, 3, 0, 0);
}
END_TEST

START_TEST(test_reserved_slots_stay)
{
	kvp_seq_t seq = make(14, 0);

	kvpr_ok(kvp_seq_append(pool, seq, NULL, 0, 9));
	kvpr_ok(kvp_seq_evict(pool, seq, 3, 7, 0, 1, NULL));
	kvpr_expect_lengths(pool, seq, 10, 10, 19, 0);
}
END_TEST

START_TEST(test_shift)
{
	kvp_seq_t seq = make(14, 0);
	struct kvp_remapped done;

	kvpr_ok(kvp_seq_shift(pool, seq, 5, 20, 1, &done));
	ck_assert_uint_eq(done.guarantee, KVP_REPOSITIONED);
	ck_assert_uint_eq(done.attended, 0);
	expect_rows(seq, 0, 5, 0, 0);
	expect_rows(seq, 5, 9, 5, 20);
	/* A second one counts from where they were computed, not from where they stand. */
	kvpr_ok(kvp_seq_shift(pool, seq, 0, 2, 1, NULL));
	expect_rows(seq, 0, 14, 0, 2);
}
END_TEST

START_TEST(test_splice)
{
	kvp_seq_t seq = make(9, 0), other = make(12, 100);
	struct kvp_remapped done;

	kvpr_ok(kvp_seq_splice(pool, seq, 4, other, 2, 5, 1, &done));
	ck_assert_uint_eq(done.tokens, 14);
	ck_assert_uint_eq(done.tainted_from, 4);
	/* Only the other's had attended to what is not here: its first two. */
	ck_assert_uint_eq(done.attended, 5);
	expect_rows(seq, 0, 4, 0, 0);
	expect_rows(seq, 4, 5, 102, 4);
	expect_rows(seq, 9, 5, 4, 9);
	expect_rows(other, 0, 12, 100, 0);
}
END_TEST

/* ---- parts ---- */

START_TEST(test_parts)
{
	const struct kvp_remap_options opt = { .reserve = 5 };
	kvp_seq_t seq = make(14, 0);
	struct kvp_piece piece = { .seq = seq, .from = 5, .length = 9 };
	struct kvp_lengths lengths;
	struct kvp_move moves[8];
	uint32_t nr = 8;
	uint64_t total;

	kvpr_ok(kvp_remap_begin(pool, seq, &piece, 1, &opt, NULL));
	kvpr_expect(kvp_seq_lengths(pool, seq, &lengths), -EBUSY, KVP_REASON_REMAP_OPEN);
	kvpr_ok(kvp_remap_moves(pool, seq, 0, 0, moves, &nr, &total));
	/* Rows 1..3, then 4 + 4 - 3 and so on: a move ends with a block on either side. */
	ck_assert_uint_eq(nr, 5);
	ck_assert_uint_eq(total, 5);
	ck_assert_uint_eq(moves[0].src_row, 1);
	ck_assert_uint_eq(moves[0].rows, 3);
	ck_assert_uint_eq(moves[0].position, 0);
	kvpr_ok(kvp_remap_abort(pool, seq));
	kvpr_expect_lengths(pool, seq, 14, 14, 14, 0);
	expect_rows(seq, 0, 14, 0, 0);
	kvpr_ok(kvp_remap_begin(pool, seq, &piece, 1, &opt, NULL));
	kvpr_ok(kvp_remap_commit(pool, seq));
	kvpr_expect_lengths(pool, seq, 9, 9, 14, 0);
	kvpr_expect(kvp_remap_commit(pool, seq), -ENOENT, KVP_REASON_NO_REMAP);
}
END_TEST

/* ---- refused ---- */

/* Nothing is known of the rows: they can be moved, but not turned. The remap is aborted. */
START_TEST(test_rows_that_cannot_be_turned)
{
	uint64_t held;
	kvp_seq_t seq;

	kvpr_ok(kvp_pool_set_geometry(pool, 0, NULL));
	seq = kvpr_seq(pool, space, tokens, 14, NULL);
	kvpr_compute(pool, seq, 0, 14, 3);
	held = kvpr_blocks(pool, 0, KVP_BLOCK_HELD);
	kvpr_expect(kvp_seq_evict(pool, seq, 3, 7, 0, 1, NULL), -EOPNOTSUPP, KVP_REASON_VALUE);
	kvpr_says("has no geometry");
	kvpr_expect_lengths(pool, seq, 14, 14, 14, 0);
	kvpr_expect_rows(pool, seq, 0, 0, 14, 3);
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_HELD), held);
	kvpr_ok(kvp_seq_evict(pool, seq, 3, 7, KVP_EVICT_GAP, 1, NULL));
	kvpr_expect_lengths(pool, seq, 10, 10, 10, 0);
	kvpr_expect_rows(pool, seq, 0, 0, 3, 3);
}
END_TEST

/* A position beyond the tables is known only when rows are to be moved. */
START_TEST(test_positions_beyond_the_table)
{
	kvp_seq_t seq = make(14, 0);

	kvpr_expect(kvp_seq_shift(pool, seq, 5, NR_POS - 8, 1, NULL), -EINVAL, KVP_REASON_VALUE);
	kvpr_says("n_positions");
	expect_rows(seq, 0, 14, 0, 0);
	kvpr_ok(kvp_seq_shift(pool, seq, 5, NR_POS - 9, 1, NULL));
	expect_rows(seq, 5, 9, 5, NR_POS - 9);
}
END_TEST

START_TEST(test_attended_is_refused)
{
	kvp_seq_t seq = make(14, 0);

	kvpr_expect(kvp_seq_evict(pool, seq, 3, 7, KVP_EVICT_NEVER_SAW, 1, NULL), -EKEYREJECTED,
		    KVP_REASON_ATTENDED);
	expect_rows(seq, 0, 14, 0, 0);
	/* Nothing follows. */
	kvpr_ok(kvp_seq_evict(pool, seq, 7, 14, KVP_EVICT_NEVER_SAW, 1, NULL));
	kvpr_expect_lengths(pool, seq, 7, 7, 7, 0);
}
END_TEST

START_TEST(test_arguments)
{
	kvp_seq_t seq = make(14, 0), other = make(6, 50);
	uint32_t nr = 1;

	kvpr_expect(kvp_seq_evict(pool, seq, 3, 7, 8, 1, NULL), -EINVAL, KVP_REASON_FLAG);
	kvpr_says("flags 0x8");
	kvpr_expect(kvp_seq_evict(pool, seq, 3, 7, KVP_EVICT_GAP | KVP_EVICT_REPLAY, 1, NULL),
		    -EINVAL, KVP_REASON_FLAG);
	kvpr_expect(kvp_seq_evict(pool, seq, 7, 3, 0, 1, NULL), -EINVAL, KVP_REASON_LENGTH);
	kvpr_expect(kvp_seq_evict(pool, seq, 3, 15, 0, 1, NULL), -EINVAL, KVP_REASON_LENGTH);
	kvpr_says("seq_evict: tokens [3, 15): expected a range of the 14");
	kvpr_expect(kvp_seq_evict(pool, seq, 3, 7, 0, 257, NULL), -EINVAL, KVP_REASON_COUNT);
	kvpr_expect(kvp_seq_shift(pool, seq, 14, 3, 1, NULL), -EINVAL, KVP_REASON_LENGTH);
	kvpr_says("seq_shift: tokens [14, 15)");
	kvpr_expect(kvp_seq_splice(pool, seq, 15, other, 0, 1, 1, NULL), -EINVAL,
		    KVP_REASON_LENGTH);
	kvpr_expect(kvp_seq_splice(pool, seq, 3, other, 2, 5, 1, NULL), -EINVAL,
		    KVP_REASON_LENGTH);
	kvpr_says("seq_splice: tokens [2, 7): expected a range of the 6");
	kvpr_expect(kvp_seq_splice(pool, seq, 3, other, 2, 0, 1, NULL), -EINVAL,
		    KVP_REASON_LENGTH);
	kvpr_expect(kvp_remap_begin(pool, seq, NULL, 1, NULL, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_remap_moves(pool, seq, 0, 0, NULL, &nr, NULL), -EINVAL,
		    KVP_REASON_POINTER);
	kvpr_expect(kvp_remap_moves(pool, seq, 0, 0, NULL, NULL, NULL), -EINVAL,
		    KVP_REASON_POINTER);
	kvpr_expect(kvp_seq_positions(pool, seq, NULL, &nr, NULL), -EINVAL, KVP_REASON_POINTER);
	expect_rows(seq, 0, 14, 0, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("api_remap");
	TCase *works = tcase_create("works"), *refuses = tcase_create("refuses");

	tcase_add_checked_fixture(works, setup, teardown);
	tcase_add_loop_test(works, test_evict, 0, 3);
	tcase_add_test(works, test_evict_again_and_again);
	tcase_add_test(works, test_evict_with_a_gap);
	tcase_add_test(works, test_evict_and_replay);
	tcase_add_test(works, test_reserved_slots_stay);
	tcase_add_test(works, test_shift);
	tcase_add_test(works, test_splice);
	tcase_add_test(works, test_parts);
	suite_add_tcase(s, works);

	tcase_add_checked_fixture(refuses, setup, teardown);
	tcase_add_test(refuses, test_rows_that_cannot_be_turned);
	tcase_add_test(refuses, test_positions_beyond_the_table);
	tcase_add_test(refuses, test_attended_is_refused);
	tcase_add_test(refuses, test_arguments);
	suite_add_tcase(s, refuses);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

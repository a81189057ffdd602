// SPDX-License-Identifier: MIT
/*
 * Moves through the layouts of engines: the elements of each row that moved lie, by the layout's
 * own formula, where the row went, K rotated where there is a KRAW beside it, and no other byte of
 * any tensor has changed.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "geometries.h"
#include "moves.h"
#include "pools.h"
#include "random.h"

#define L	KVPR_LAYERS
#define B	KVPR_BLOCKS
#define N	KVPR_TOKENS
#define ROWS	(3 * N)		/* of the sequence, in three blocks */
#define N_POS	64

static struct kvpr_tensors tensors;
static uint8_t *before[KVPR_TENSORS], *shadow[KVPR_TENSORS];
static uint32_t which;
static struct kvp_pool *pool;
static uint64_t table[B];
static __u64 state;

/* KRAW of the K of the layout, if that can be rotated: [L][B][N][H][D] of its own. */
static uint8_t *raw;
static struct kvp_plane raw_plane;
static uint32_t k_plane;
static float *cosines;
static struct kvp_memory memory[KVPR_TENSORS + 1];

static bool find_k(void)
{
	const struct kvp_geometry *g = &tensors.geometry;

	for (k_plane = 0; k_plane < g->n_planes; k_plane++) {
		const struct kvp_plane *k = &g->plane[k_plane];

		if (k->role == KVP_ROLE_K)
			return k->dtype <= KVP_DTYPE_BF16 && !(k->n_elems % 2);
	}
	return false;
}

static uint64_t raw_row_bytes(void)
{
	return L * raw_plane.n_heads * raw_plane.n_elems * kvp_dtype_bytes(raw_plane.dtype);
}

/* A KRAW plane and a rope of all of K. */
static void add_raw(uint32_t style)
{
	struct kvp_geometry *g = &tensors.geometry;
	const struct kvp_plane *k = &g->plane[k_plane];
	int64_t bytes = kvp_dtype_bytes(k->dtype);
	uint32_t i;

	raw_plane = (struct kvp_plane){
		.n_heads = k->n_heads, .n_elems = k->n_elems, .vec = k->n_elems, .dtype = k->dtype,
		.role = KVP_ROLE_KRAW, .flags = KVP_PLANE_OF(k_plane),
	};
	raw_plane.head_stride = bytes * k->n_elems;
	raw_plane.token_stride = raw_plane.head_stride * k->n_heads;
	raw_plane.block_stride = raw_plane.token_stride * N;
	raw_plane.layer_stride = raw_plane.block_stride * B;
	raw = malloc(B * N * raw_row_bytes());
	raw_plane.base = (uintptr_t)raw;
	for (i = 0; i < B * N * raw_row_bytes(); i++)
		raw[i] = (uint8_t)kvpt_random(&state);
	g->plane[g->n_planes++] = raw_plane;
	memcpy(memory, tensors.memory, sizeof(tensors.memory));
	memory[tensors.nr] = (struct kvp_memory){ raw_plane.base, B * N * raw_row_bytes() };
	g->memory = memory;
	g->n_memory = tensors.nr + 1;
	cosines = malloc(N_POS * k->n_elems * sizeof(float));
	for (i = 0; i < N_POS * (uint32_t)k->n_elems; i++)
		cosines[i] = (float)(int64_t)kvpt_random(&state) / 0x1p63f;
	g->n_positions = N_POS;
	g->n_ropes = 1;
	g->rope_of_layer = NULL;
	g->rope[0] = (struct kvp_rope){
		.table = cosines, .n_pos = N_POS, .rot_dim = k->n_elems, .style = (uint8_t)style,
	};
	g->flags = KVP_GEOMETRY_REPOSITION;
}

static void begin(uint32_t geometry, uint32_t style)
{
	uint64_t row_bytes = kvpr_geometry_row_bytes(geometry), i;
	char uri[128];
	uint32_t t;

	which = geometry;
	state = geometry;
	raw = NULL;
	cosines = NULL;
	kvpr_tensors_make(which, &tensors);
	for (t = 0; t < tensors.nr; t++) {
		for (i = 0; i < tensors.bytes[t]; i++)
			tensors.tensor[t][i] = (uint8_t)kvpt_random(&state);
		before[t] = malloc(tensors.bytes[t]);
		shadow[t] = malloc(tensors.bytes[t]);
	}
	if (style) {
		add_raw(style);
		row_bytes += raw_row_bytes();
	}
	snprintf(uri, sizeof(uri), "inproc:layouts?blocks=%u&block_tokens=%u&row_bytes=%llu", B, N,
		 (unsigned long long)row_bytes);
	pool = kvpr_open(uri);
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &tensors.geometry));
	kvpr_ok(kvp_blocks_alloc(pool, 0, table, B));
	/* Not in the order in which they lie. */
	i = table[0];
	table[0] = table[3];
	table[3] = i;
}

static void end(void)
{
	uint32_t t;

	kvp_pool_close(pool);
	for (t = 0; t < tensors.nr; t++) {
		free(before[t]);
		free(shadow[t]);
	}
	kvpr_tensors_drop(&tensors);
	free(raw);
	free(cosines);
}

/* ---- what is expected ---- */

static void shadow_row(uint64_t src, uint32_t src_row, uint64_t dst, uint32_t dst_row)
{
	uint32_t heads, elems, bytes, p, l, h, e, from_t, to_t;
	uint64_t from, to;

	for (p = 0; p < kvpr_nr_planes(which); p++) {
		if (!kvpr_plane_is_moved(which, p))
			continue;
		kvpr_plane_sizes(which, p, &heads, &elems, &bytes);
		for (l = 0; l < L; l++)
		for (h = 0; h < heads; h++)
		for (e = 0; e < elems; e++) {
			from_t = kvpr_element(which, p, l, KVP_BLOCK_INDEX(src), src_row, h, e,
					      &from);
			to_t = kvpr_element(which, p, l, KVP_BLOCK_INDEX(dst), dst_row, h, e, &to);
			memcpy(shadow[to_t] + to, before[from_t] + from, bytes);
		}
	}
}

/* K of a row whose KRAW was at @from, at @position; into the shadow. */
static void shadow_k(const uint8_t *from, uint64_t dst, uint32_t dst_row, uint32_t position)
{
	uint32_t bytes = kvp_dtype_bytes(raw_plane.dtype), elems = raw_plane.n_elems, l, h, e, t;
	uint8_t *k = malloc(elems * bytes);
	uint64_t to;

	for (l = 0; l < L; l++)
	for (h = 0; h < raw_plane.n_heads; h++) {
		const struct kvp_rope_row row = {
			.rope = &tensors.geometry.rope[0], .k = k, .n_heads = 1, .n_elems = elems,
			.raw = from + l * raw_plane.layer_stride + h * raw_plane.head_stride,
			.raw_dtype = raw_plane.dtype, .k_dtype = raw_plane.dtype,
		};

		kvpr_ok(kvp_rope_rotate(&row, &position));
		for (e = 0; e < elems; e++) {
			t = kvpr_element(which, k_plane, l, KVP_BLOCK_INDEX(dst), dst_row, h, e,
					 &to);
			memcpy(shadow[t] + to, k + e * bytes, bytes);
		}
	}
	free(k);
}

/* KRAW of a row, as it was. */
static const uint8_t *raw_of(const uint8_t *where, uint64_t block, uint32_t row)
{
	return where + KVP_BLOCK_INDEX(block) * raw_plane.block_stride +
	       row * raw_plane.token_stride;
}

static void expect_shadow(void)
{
	uint64_t i;
	uint32_t t;

	for (t = 0; t < tensors.nr; t++) {
		for (i = 0; i < tensors.bytes[t] && tensors.tensor[t][i] == shadow[t][i]; i++)
			;
		if (i < tensors.bytes[t])
			ck_abort_msg("%s: byte %llu of tensor %u is %02x, expected %02x",
				     kvpr_geometry_name(which), (unsigned long long)i, t,
				     tensors.tensor[t][i], shadow[t][i]);
	}
}

/* A row that moves; @position -1: keeps its own. */
static void expect_row(const uint8_t *old_raw, uint8_t *new_raw, uint64_t src, uint32_t src_row,
		       uint64_t dst, uint32_t dst_row, int32_t position)
{
	uint32_t l;

	shadow_row(src, src_row, dst, dst_row);
	if (raw && position >= 0)
		shadow_k(raw_of(old_raw, src, src_row), dst, dst_row, (uint32_t)position);
	for (l = 0; raw && l < L; l++)
		memcpy((uint8_t *)raw_of(new_raw, dst, dst_row) + l * raw_plane.layer_stride,
		       raw_of(old_raw, src, src_row) + l * raw_plane.layer_stride,
		       (size_t)raw_plane.token_stride);
}

/* Rows [@to_first, ...) of the sequence in @to become those from @from_first on of the old one. */
static void move_rows(const uint64_t *to, uint32_t to_first, uint32_t from_first, uint32_t nr,
		      uint32_t flags, bool keep)
{
	struct kvp_row_move moves[ROWS];
	const struct kvp_rows_options opt = { .threads = 1 + nr % 2, .flags = flags };
	uint8_t *old_raw = NULL, *new_raw = NULL;
	uint64_t size = raw ? B * N * raw_row_bytes() : 0;
	uint32_t nr_moves = 0, i, t;

	for (t = 0; t < tensors.nr; t++) {
		memcpy(before[t], tensors.tensor[t], tensors.bytes[t]);
		memcpy(shadow[t], tensors.tensor[t], tensors.bytes[t]);
	}
	if (raw) {
		old_raw = memcpy(malloc(size), raw, size);
		new_raw = memcpy(malloc(size), raw, size);
	}
	for (i = 0; i < nr; i++) {
		uint32_t src = from_first + i, dst = to_first + i;

		expect_row(old_raw, new_raw, table[src / N], src % N, to[dst / N], dst % N,
			   keep ? -1 : (int32_t)dst + 7);
		/* In runs as long as both blocks have them. */
		if (nr_moves && src % N && dst % N) {
			moves[nr_moves - 1].nr++;
			continue;
		}
		moves[nr_moves++] = (struct kvp_row_move){
			.src = table[src / N], .src_row = src % N, .dst = to[dst / N],
			.dst_row = dst % N, .nr = 1, .flags = keep ? KVP_MOVE_KEEP : 0,
			.position = keep ? 0 : dst + 7,
		};
	}
	kvpr_ok(kvp_rows_move(pool, 0, moves, nr_moves, &opt));
	expect_shadow();
	if (raw)
		ck_assert_mem_eq(raw, new_raw, size);
	free(old_raw);
	free(new_raw);
}

/* A span leaves the middle: in place; and the sequence's tail goes to fresh blocks. */
static void all_moves(bool keep)
{
	const uint64_t fresh[] = { table[3], table[4] };

	move_rows(table, 5, 9, ROWS - 9, KVP_ROWS_IN_PLACE, keep);
	move_rows(fresh, 0, 6, 2 * N - 1, 0, keep);
	move_rows(table, 2, 3, 15, KVP_ROWS_IN_PLACE, keep);
}

START_TEST(test_verbatim)
{
	uint32_t stream;

	for (stream = 0; stream < 2; stream++) {
		kvpr_cpu_take("avx2", stream);
		begin((uint32_t)_i, 0);
		all_moves(true);
		end();
	}
	kvpr_cpu_reset();
}
END_TEST

START_TEST(test_rotated)
{
	uint32_t style, stream;
	bool rotates;

	kvpr_tensors_make((uint32_t)_i, &tensors);
	rotates = find_k() && !tensors.geometry.n_ropes;
	kvpr_tensors_drop(&tensors);
	for (style = KVP_ROPE_NEOX; rotates && style <= KVP_ROPE_GPTJ; style++) {
		for (stream = 0; stream < 2; stream++) {
			kvpr_cpu_take("avx2", stream);
			begin((uint32_t)_i, style);
			all_moves(false);
			all_moves(true);
			end();
		}
	}
	kvpr_cpu_reset();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("rows_layouts");
	TCase *tc = tcase_create("layouts");
	int nr = (int)kvpr_nr_geometries();

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, test_verbatim, 0, nr);
	tcase_add_loop_test(tc, test_rotated, 0, nr);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

// SPDX-License-Identifier: MIT
/*
 * Rows and copies through geometries: what is written through the API lies where the layout's own
 * formula says and nowhere else, comes back equal, and is copied with every plane, but no row
 * more, before a shared block is written. And what can be registered when.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "geometries.h"
#include "pools.h"

#define L	KVPR_LAYERS
#define B	KVPR_BLOCKS
#define N	KVPR_TOKENS

static struct kvp_pool *pool;
static struct kvpr_tensors tensors;
static uint8_t *shadow[KVPR_TENSORS];
static uint64_t row_bytes;
static uint32_t which;
static uint8_t space[KVP_DIGEST_LEN];
static uint32_t tokens[64];

/* A pool whose only family is as the case's tensors. */
static void begin_dtype(uint32_t geometry, const char *dtype)
{
	char uri[128];
	uint32_t i;

	which = geometry;
	row_bytes = kvpr_geometry_row_bytes(which);
	snprintf(uri, sizeof(uri), "inproc:geometry?blocks=%u&block_tokens=%u&row_bytes=%llu%s", B,
		 N, (unsigned long long)row_bytes, dtype);
	pool = kvpr_open(uri);
	kvpr_tensors_make(which, &tensors);
	for (i = 0; i < tensors.nr; i++) {
		shadow[i] = malloc(tensors.bytes[i]);
		memcpy(shadow[i], tensors.tensor[i], tensors.bytes[i]);
	}
	kvpr_space("m", space);
	kvpr_tokens(tokens, 64, 1);
}

static void begin(uint32_t geometry)
{
	begin_dtype(geometry, "");
}

static void end(void)
{
	uint32_t i;

	kvpr_sound(pool);
	kvp_pool_close(pool);
	for (i = 0; i < tensors.nr; i++)
		free(shadow[i]);
	kvpr_tensors_drop(&tensors);
}

/* ---- the formula's view ---- */

typedef void (*visit_t)(uint8_t *at, uint8_t *packed, uint32_t bytes);

/* Every element of one token in @where, with its place in a packed row. */
static void visit_token(uint8_t *const *where, uint32_t block, uint32_t token, uint8_t *row,
			visit_t visit)
{
	uint32_t heads, elems, bytes, p, l, h, e, t;
	uint64_t byte;

	for (p = 0; p < kvpr_nr_planes(which); p++) {
		if (!kvpr_plane_is_moved(which, p))
			continue;
		kvpr_plane_sizes(which, p, &heads, &elems, &bytes);
		for (l = 0; l < L; l++)
		for (h = 0; h < heads; h++)
		for (e = 0; e < elems; e++) {
			t = kvpr_element(which, p, l, block, token, h, e, &byte);
			visit(where[t] + byte, row, bytes);
			row += bytes;
		}
	}
}

static void put(uint8_t *at, uint8_t *packed, uint32_t bytes)
{
	memcpy(at, packed, bytes);
}

static void get(uint8_t *at, uint8_t *packed, uint32_t bytes)
{
	memcpy(packed, at, bytes);
}

/* Rows [@first, @first + @nr) of the sequence must be those of @seed: in the shadow they are now. */
static void shadow_rows(kvp_seq_t seq, uint64_t first, uint64_t nr, uint32_t seed)
{
	uint8_t *row = malloc(row_bytes);
	uint64_t i;

	for (i = first; i < first + nr; i++) {
		uint64_t block = kvpr_block(pool, seq, 0, i / N);

		kvpr_rows(row, i, 1, row_bytes, seed);
		visit_token(shadow, KVP_BLOCK_INDEX(block), i % N, row, put);
	}
	free(row);
}

/* Rows [0, @nr) of block @src must have come to block @dst. */
static void shadow_copy(uint64_t src, uint64_t dst, uint32_t nr)
{
	uint8_t *row = malloc(row_bytes);
	uint32_t i;

	ck_assert_uint_ne(src, dst);
	for (i = 0; i < nr; i++) {
		visit_token(shadow, KVP_BLOCK_INDEX(src), i, row, get);
		visit_token(shadow, KVP_BLOCK_INDEX(dst), i, row, put);
	}
	free(row);
}

/* Each byte of each tensor is as in the shadow. */
static void expect_shadow(void)
{
	uint64_t i;
	uint32_t t;

	for (t = 0; t < tensors.nr; t++) {
		if (!memcmp(tensors.tensor[t], shadow[t], tensors.bytes[t]))
			continue;
		for (i = 0; tensors.tensor[t][i] == shadow[t][i]; i++)
			;
		ck_abort_msg("%s: byte %llu of tensor %u is %02x, expected %02x",
			     kvpr_geometry_name(which), (unsigned long long)i, t,
			     tensors.tensor[t][i], shadow[t][i]);
	}
}

/* ---- through every geometry ---- */

START_TEST(test_rows)
{
	static const uint64_t pieces[] = { 1, 2, 9, 3, 7, 5 };
	uint8_t *rows;
	uint64_t at, nr;
	kvp_seq_t seq;

	begin((uint32_t)_i);
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &tensors.geometry));
	rows = malloc(9 * row_bytes);
	seq = kvpr_seq(pool, space, tokens, 27, NULL);
	for (at = 0, nr = 0; at < 27; at += pieces[nr++]) {
		kvpr_rows(rows, at, pieces[nr], row_bytes, 7);
		kvpr_ok(kvp_rows_write(pool, seq, 0, at, pieces[nr], rows));
		shadow_rows(seq, at, pieces[nr], 7);
		expect_shadow();
	}
	kvpr_ok(kvp_seq_advance(pool, seq, 27));
	kvpr_expect_rows(pool, seq, 0, 0, 27, 7);
	kvpr_expect_rows(pool, seq, 0, 5, 11, 7);
	for (at = 0; at < 27; at += 5)
		kvpr_expect_rows(pool, seq, 0, at, 1, 7);
	/* Reading has written nothing. */
	expect_shadow();
	free(rows);
	end();
}
END_TEST

/* Field case D14: every plane of the geometry is copied, be it one, two or five. */
START_TEST(test_copies)
{
	kvp_seq_t parent, child, third;

	begin((uint32_t)_i);
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &tensors.geometry));
	parent = kvpr_seq(pool, space, tokens, N + 3, NULL);
	kvpr_compute(pool, parent, 0, N + 3, 7);
	shadow_rows(parent, 0, N + 3, 7);

	/* An append to a shared block: three rows of it are copied. */
	kvpr_ok(kvp_seq_fork(pool, parent, KVP_POS_END, &child));
	expect_shadow();
	kvpr_ok(kvp_seq_append(pool, child, tokens + 40, 2, 0));
	shadow_copy(kvpr_block(pool, parent, 0, 1), kvpr_block(pool, child, 0, 1), 3);
	expect_shadow();
	kvpr_compute(pool, child, N + 3, 2, 8);
	shadow_rows(child, N + 3, 2, 8);
	expect_shadow();

	/* A fork of one that can still write: the copy is made at once. */
	kvpr_ok(kvp_seq_append(pool, parent, NULL, 0, 1));
	kvpr_ok(kvp_seq_fork(pool, parent, N + 1, &third));
	shadow_copy(kvpr_block(pool, parent, 0, 1), kvpr_block(pool, third, 0, 1), 1);
	expect_shadow();
	kvpr_expect_rows(pool, parent, 0, 0, N + 3, 7);
	kvpr_expect_rows(pool, child, 0, 0, N + 3, 7);
	kvpr_expect_rows(pool, child, 0, N + 3, 2, 8);
	kvpr_expect_rows(pool, third, 0, 0, N + 1, 7);
	end();
}
END_TEST

START_TEST(test_make_private)
{
	uint64_t block, old;
	uint8_t *row;
	uint32_t i;

	begin((uint32_t)_i);
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &tensors.geometry));
	kvpr_ok(kvp_blocks_alloc(pool, 0, &block, 1));
	kvpr_ok(kvp_blocks_ref(pool, &block, 1));
	row = malloc(row_bytes);
	for (i = 0; i < N; i++) {
		kvpr_rows(row, i, 1, row_bytes, 9);
		visit_token(tensors.tensor, KVP_BLOCK_INDEX(block), i, row, put);
		visit_token(shadow, KVP_BLOCK_INDEX(block), i, row, put);
	}
	old = block;
	kvpr_ok(kvp_block_make_private(pool, &block));
	shadow_copy(old, block, N);
	expect_shadow();
	free(row);
	end();
}
END_TEST

/* Neighbours: all blocks are written, none spills into another. */
START_TEST(test_all_blocks)
{
	kvp_seq_t seqs[B];
	uint32_t i;

	begin((uint32_t)_i);
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &tensors.geometry));
	for (i = 0; i < B; i++) {
		seqs[i] = kvpr_seq(pool, space, tokens + i * N, N, NULL);
		kvpr_compute(pool, seqs[i], 0, N, 20 + i);
		shadow_rows(seqs[i], 0, N, 20 + i);
	}
	expect_shadow();
	for (i = 0; i < B; i++)
		kvpr_expect_rows(pool, seqs[i], 0, 0, N, 20 + i);
	end();
}
END_TEST

/* ---- more than a tile ---- */

#define WIDE_TOKENS	40
#define WIDE_ELEMS	70
#define WIDE_BLOCKS	2
#define WIDE_ROWS	(WIDE_BLOCKS * WIDE_TOKENS)

/* One plane, one layer, tokens of an element next to each other, [B][H][D][N]. */
static void make_transposed(struct kvp_geometry *geometry, struct kvp_memory *memory,
			    uint32_t dtype)
{
	int64_t bytes = kvp_dtype_bytes(dtype);

	memory->size = (uint64_t)bytes * WIDE_BLOCKS * 2 * WIDE_ELEMS * WIDE_TOKENS;
	memory->base = (uintptr_t)calloc(1, memory->size);
	*geometry = (struct kvp_geometry){
		.n_layers = 1, .n_blocks = WIDE_BLOCKS, .block_tokens = WIDE_TOKENS,
		.n_planes = 1, .n_memory = 1, .memory = memory,
	};
	geometry->plane[0] = (struct kvp_plane){
		.base = memory->base,
		.block_stride = bytes * 2 * WIDE_ELEMS * WIDE_TOKENS,
		.token_stride = bytes,
		.head_stride = bytes * WIDE_ELEMS * WIDE_TOKENS,
		.n_heads = 2,
		.n_elems = WIDE_ELEMS,
		.vec = 1,
		.vec_stride = (int32_t)bytes * WIDE_TOKENS,
		.dtype = (uint8_t)dtype,
		.role = KVP_ROLE_V,
	};
}

static void expect_transposed(const struct kvp_geometry *geometry, kvp_seq_t seq,
			      const uint8_t *rows, uint64_t nr)
{
	const struct kvp_plane *plane = &geometry->plane[0];
	uint32_t bytes = kvp_dtype_bytes(plane->dtype), h, e;
	uint64_t i;

	for (i = 0; i < nr; i++)
	for (h = 0; h < 2; h++)
	for (e = 0; e < WIDE_ELEMS; e++, rows += bytes) {
		uint64_t block = kvpr_block(pool, seq, 0, i / WIDE_TOKENS);
		uint64_t at = kvp_plane_address(plane, 0, KVP_BLOCK_INDEX(block),
						(uint32_t)(i % WIDE_TOKENS), h, e);

		ck_assert_mem_eq((const void *)(uintptr_t)at, rows, bytes);
	}
}

/* Rows of a transposed plane are moved by tiles, of which the last ones are not whole. */
START_TEST(test_transposed_of_many_tiles)
{
	static const uint32_t dtypes[] = { KVP_DTYPE_F32, KVP_DTYPE_BF16, KVP_DTYPE_I8 };
	uint32_t ids[WIDE_ROWS], nr = WIDE_ROWS;
	struct kvp_geometry geometry;
	struct kvp_memory memory;
	uint8_t *rows, *back;
	kvp_seq_t seq;
	char uri[96];

	make_transposed(&geometry, &memory, dtypes[_i]);
	row_bytes = 2 * WIDE_ELEMS * kvp_dtype_bytes(dtypes[_i]);
	snprintf(uri, sizeof(uri), "inproc:wide?blocks=%u&block_tokens=%u&row_bytes=%llu",
		 WIDE_BLOCKS, WIDE_TOKENS, (unsigned long long)row_bytes);
	pool = kvpr_open(uri);
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &geometry));
	kvpr_space("m", space);
	kvpr_tokens(ids, nr, 1);
	seq = kvpr_seq(pool, space, ids, nr, NULL);
	rows = malloc(nr * row_bytes);
	back = malloc(nr * row_bytes);
	kvpr_rows(rows, 0, nr, row_bytes, 7);
	kvpr_ok(kvp_rows_write(pool, seq, 0, 0, 3, rows));
	kvpr_ok(kvp_rows_write(pool, seq, 0, 3, nr - 3, rows + 3 * row_bytes));
	expect_transposed(&geometry, seq, rows, nr);
	kvpr_ok(kvp_seq_advance(pool, seq, nr));
	kvpr_ok(kvp_rows_read(pool, seq, 0, 0, nr, back));
	ck_assert_mem_eq(back, rows, nr * row_bytes);
	kvp_pool_close(pool);
	free((void *)(uintptr_t)memory.base);
	free(rows);
	free(back);
}
END_TEST

/* ---- when, and by whom ---- */

START_TEST(test_only_while_nothing_is_held)
{
	kvp_seq_t seq;
	uint64_t block;

	begin(0);
	seq = kvpr_seq(pool, space, tokens, 3, NULL);
	kvpr_expect(kvp_pool_set_geometry(pool, 0, &tensors.geometry), -EBUSY, KVP_REASON_NONE);
	kvpr_says("1 sequences");
	kvpr_compute(pool, seq, 0, 3, 7);
	/* Nothing has changed: the rows went to the pool's own memory. */
	expect_shadow();
	ck_assert_ptr_nonnull(kvp_block_data(pool, kvpr_block(pool, seq, 0, 0)));
	kvpr_ok(kvp_seq_free(pool, seq));
	kvpr_ok(kvp_blocks_alloc(pool, 0, &block, 1));
	kvpr_expect(kvp_pool_set_geometry(pool, 0, &tensors.geometry), -EBUSY, KVP_REASON_NONE);
	kvpr_says("1 raw references");
	kvpr_ok(kvp_blocks_unref(pool, &block, 1));
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &tensors.geometry));
	/* So it is when the geometry is taken away, or replaced. */
	seq = kvpr_seq(pool, space, tokens, 3, NULL);
	kvpr_expect(kvp_pool_set_geometry(pool, 0, NULL), -EBUSY, KVP_REASON_NONE);
	kvpr_ok(kvp_seq_free(pool, seq));
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &tensors.geometry));
	kvpr_ok(kvp_pool_set_geometry(pool, 0, NULL));
	seq = kvpr_seq(pool, space, tokens, 3, NULL);
	kvpr_compute(pool, seq, 0, 3, 8);
	kvpr_expect_rows(pool, seq, 0, 0, 3, 8);
	expect_shadow();
	end();
}
END_TEST

START_TEST(test_must_be_the_familys)
{
	struct kvp_geometry other;

	begin(0);
	kvpr_expect(kvp_pool_set_geometry(pool, 1, &tensors.geometry), -EINVAL,
		    KVP_REASON_FAMILY);
	kvpr_says("family 1: expected one of 1");
	other = tensors.geometry;
	other.block_tokens--;
	kvpr_expect(kvp_pool_set_geometry(pool, 0, &other), -EINVAL, KVP_REASON_VALUE);
	kvpr_says("block_tokens 6: expected 7");
	other = tensors.geometry;
	other.n_blocks--;
	kvpr_expect(kvp_pool_set_geometry(pool, 0, &other), -EINVAL, KVP_REASON_VALUE);
	kvpr_says("n_blocks 4: expected at least 5");
	other = tensors.geometry;
	other.n_planes--;
	kvpr_expect(kvp_pool_set_geometry(pool, 0, &other), -EINVAL, KVP_REASON_VALUE);
	kvpr_says("rows of 432 bytes in all planes: expected 864");
	other = tensors.geometry;
	other.plane[1].n_heads = 0;
	kvpr_expect(kvp_pool_set_geometry(pool, 0, &other), -EINVAL, KVP_REASON_COUNT);
	kvpr_says("plane 1 (v): n_heads 0");
	/* None of them is in force. */
	kvpr_compute(pool, kvpr_seq(pool, space, tokens, 3, NULL), 0, 3, 7);
	expect_shadow();
	end();
}
END_TEST

/* The first case is of bf16, K and V alike. */
START_TEST(test_dtype_must_be_the_familys)
{
	struct kvp_geometry other;

	begin_dtype(0, "&dtype=bf16");
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &tensors.geometry));
	other = tensors.geometry;
	other.plane[0].dtype = KVP_DTYPE_F16;
	kvpr_expect(kvp_pool_set_geometry(pool, 0, &other), -EINVAL, KVP_REASON_VALUE);
	kvpr_says("plane 0 (k): dtype f16: expected bf16, the dtype of family 0");
	ck_assert_uint_eq(kvp_error()->where, 0);
	other = tensors.geometry;
	other.plane[1].dtype = KVP_DTYPE_F16;
	kvpr_expect(kvp_pool_set_geometry(pool, 0, &other), -EINVAL, KVP_REASON_VALUE);
	kvpr_says("plane 1 (v): dtype f16: expected bf16");
	ck_assert_uint_eq(kvp_error()->where, 1);
	other.plane[1].role = KVP_ROLE_LATENT;
	kvpr_expect(kvp_pool_set_geometry(pool, 0, &other), -EINVAL, KVP_REASON_VALUE);
	kvpr_says("plane 1 (latent): dtype f16: expected bf16");
	/* The one that was set first is still in force. */
	kvpr_ok(kvp_blocks_alloc(pool, 0, tensors.layer_base, 1));
	ck_assert_ptr_eq(kvp_block_plane(pool, tensors.layer_base[0], 0, 0),
			 tensors.tensor[0] + KVP_BLOCK_INDEX(tensors.layer_base[0]) *
			 tensors.geometry.plane[0].block_stride);
	kvpr_ok(kvp_blocks_unref(pool, tensors.layer_base, 1));
	end();
}
END_TEST

/* What is not K, V or a latent has a dtype of its own, and so has a view that is only read. */
START_TEST(test_dtype_of_what_goes_along)
{
	struct kvp_geometry other;

	begin_dtype(0, "&dtype=bf16");
	other = tensors.geometry;
	other.plane[1].dtype = KVP_DTYPE_F16;
	other.plane[1].role = KVP_ROLE_OTHER;
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &other));
	other.plane[1].role = KVP_ROLE_SCALE;
	other.plane[1].flags = KVP_PLANE_OF(0);
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &other));
	other = tensors.geometry;
	other.plane[2] = other.plane[1];
	other.plane[2].dtype = KVP_DTYPE_F16;
	other.plane[2].flags = KVP_PLANE_READONLY;
	other.n_planes = 3;
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &other));
	end();
}
END_TEST

/* A family whose rows are mixed says so, or says nothing: then the tensors may be of any. */
START_TEST(test_dtype_that_is_not_said)
{
	static const char *const said[] = { "", "&dtype=opaque8" };
	struct kvp_geometry other;

	begin_dtype(0, said[_i]);
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &tensors.geometry));
	other = tensors.geometry;
	other.plane[0].dtype = KVP_DTYPE_F16;
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &other));
	end();
}
END_TEST

START_TEST(test_needs_the_right)
{
	struct kvp_pool *other;

	begin(0);
	other = kvpr_open("inproc:geometry?rights=admin");
	kvpr_expect(kvp_pool_set_geometry(other, 0, &tensors.geometry), -EACCES,
		    KVP_REASON_RIGHT_USE);
	kvp_pool_close(other);
	end();
}
END_TEST

START_TEST(test_addresses_of_blocks)
{
	uint64_t block, byte;
	uint32_t p, l, t;
	kvp_seq_t seq;

	begin((uint32_t)_i);
	seq = kvpr_seq(pool, space, tokens, 3, NULL);
	block = kvpr_block(pool, seq, 0, 0);
	ck_assert_ptr_nonnull(kvp_block_data(pool, block));
	ck_assert_ptr_null(kvp_block_plane(pool, block, 0, 0));
	kvpr_ok(kvp_seq_free(pool, seq));
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &tensors.geometry));
	seq = kvpr_seq(pool, space, tokens, 3, NULL);
	block = kvpr_block(pool, seq, 0, 0);
	ck_assert_ptr_null(kvp_block_data(pool, block));
	for (p = 0; p < kvpr_nr_planes(which); p++) {
		for (l = 0; l < L; l++) {
			t = kvpr_element(which, p, l, KVP_BLOCK_INDEX(block), 0, 0, 0, &byte);
			ck_assert_ptr_eq(kvp_block_plane(pool, block, p, l),
					 tensors.tensor[t] + byte);
		}
		ck_assert_ptr_null(kvp_block_plane(pool, block, p, L));
	}
	ck_assert_ptr_null(kvp_block_plane(pool, block, p, 0));
	ck_assert_ptr_null(kvp_block_plane(pool, KVP_BLOCK_NULL, 0, 0));
	ck_assert_ptr_null(kvp_block_plane(pool, block + ((uint64_t)B << KVP_BLOCK_INDEX_SHIFT),
					   0, 0));
	end();
}
END_TEST

/* What was pointed to may go away: only the tensors have to stay. */
START_TEST(test_what_is_kept)
{
	struct kvp_geometry *copy;
	uint64_t *bases;
	kvp_seq_t seq;

	begin(0);
	copy = malloc(sizeof(*copy));
	bases = malloc(L * sizeof(*bases));
	*copy = tensors.geometry;
	memcpy(bases, tensors.layer_base, L * sizeof(*bases));
	copy->plane[0].layer_base = bases;
	copy->plane[1].layer_base = bases;
	kvpr_ok(kvp_pool_set_geometry(pool, 0, copy));
	memset(bases, 0, L * sizeof(*bases));
	free(bases);
	free(copy);
	seq = kvpr_seq(pool, space, tokens, 10, NULL);
	kvpr_compute(pool, seq, 0, 10, 7);
	shadow_rows(seq, 0, 10, 7);
	expect_shadow();
	end();
}
END_TEST

START_TEST(test_two_clients_in_the_same_tensors)
{
	struct kvp_pool *other;
	kvp_seq_t a, b;
	uint64_t matched;

	begin(0);
	other = kvpr_open("inproc:geometry");
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &tensors.geometry));
	a = kvpr_seq(pool, space, tokens, 2 * N, NULL);
	kvpr_compute(pool, a, 0, 2 * N, 7);
	shadow_rows(a, 0, 2 * N, 7);
	kvpr_ok(kvp_publish(pool, a, NULL));
	/* It comes later, and finds what the first one has published. */
	kvpr_ok(kvp_pool_set_geometry(other, 0, &tensors.geometry));
	b = kvpr_seq(other, space, tokens, 2 * N + 2, &matched);
	ck_assert_uint_eq(matched, 2 * N);
	kvpr_expect_rows(other, b, 0, 0, 2 * N, 7);
	kvpr_compute(other, b, 2 * N, 2, 8);
	kvpr_expect_rows(other, b, 0, 2 * N, 2, 8);
	kvp_pool_close(other);
	kvpr_expect_rows(pool, a, 0, 0, 2 * N, 7);
	end();
}
END_TEST

/* A geometry for one of two families, and for a state. */
START_TEST(test_one_family_of_several)
{
	uint8_t state[B][40], rows[3 * 40];
	struct kvp_memory memory = { (uint64_t)(uintptr_t)state, sizeof(state) };
	struct kvp_geometry geometry = {
		.n_layers = 1, .n_blocks = B, .block_tokens = 1, .n_planes = 1,
		.memory = &memory, .n_memory = 1,
		.plane[0] = { .base = memory.base, .block_stride = 40, .n_heads = 1,
			      .n_elems = 10, .vec = 10, .dtype = KVP_DTYPE_F32,
			      .role = KVP_ROLE_OTHER },
	};
	kvp_seq_t seq, child;
	uint8_t *at;

	begin(0);
	kvp_pool_close(pool);
	pool = kvpr_open("inproc:geometry?family=d,dense,8,4,40&family=s,state,5,1,40");
	memset(state, 0xa5, sizeof(state));
	kvpr_ok(kvp_pool_set_geometry(pool, 1, &geometry));
	seq = kvpr_seq(pool, space, tokens, 3, NULL);
	kvpr_compute(pool, seq, 0, 3, 7);
	kvpr_expect_rows(pool, seq, 0, 0, 3, 7);
	ck_assert_ptr_nonnull(kvp_block_data(pool, kvpr_block(pool, seq, 0, 0)));
	at = kvp_block_plane(pool, kvpr_block(pool, seq, 1, 0), 0, 0);
	kvpr_rows(at, 0, 1, 40, 11);
	kvpr_ok(kvp_seq_fork(pool, seq, KVP_POS_END, &child));
	ck_assert_uint_ne(kvpr_block(pool, child, 1, 0), kvpr_block(pool, seq, 1, 0));
	at = kvp_block_plane(pool, kvpr_block(pool, child, 1, 0), 0, 0);
	kvpr_rows(rows, 0, 1, 40, 11);
	ck_assert_mem_eq(at, rows, 40);
	kvpr_expect(kvp_rows_read(pool, seq, 1, 0, 1, rows), -EOPNOTSUPP,
		    KVP_REASON_STATE_FAMILY);
	end();
}
END_TEST

START_TEST(test_in_a_child_process)
{
	uint64_t block;
	kvp_seq_t seq;
	int status;
	pid_t pid;

	begin(0);
	kvpr_ok(kvp_pool_set_geometry(pool, 0, &tensors.geometry));
	seq = kvpr_seq(pool, space, tokens, 3, NULL);
	block = kvpr_block(pool, seq, 0, 0);
	ck_assert_ptr_nonnull(kvp_block_plane(pool, block, 0, 0));
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		int bad = kvp_pool_set_geometry(pool, 0, NULL) != -EPERM ||
			  kvp_block_plane(pool, block, 0, 0);

		kvp_pool_close(pool);
		_exit(bad);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	end();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("geometry_rows");
	TCase *tc = tcase_create("rows");
	int nr = (int)kvpr_nr_geometries();

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, test_rows, 0, nr);
	tcase_add_loop_test(tc, test_copies, 0, nr);
	tcase_add_loop_test(tc, test_make_private, 0, nr);
	tcase_add_loop_test(tc, test_all_blocks, 0, nr);
	tcase_add_loop_test(tc, test_addresses_of_blocks, 0, nr);
	tcase_add_loop_test(tc, test_transposed_of_many_tiles, 0, 3);
	tcase_add_test(tc, test_only_while_nothing_is_held);
	tcase_add_test(tc, test_must_be_the_familys);
	tcase_add_test(tc, test_dtype_must_be_the_familys);
	tcase_add_test(tc, test_dtype_of_what_goes_along);
	tcase_add_loop_test(tc, test_dtype_that_is_not_said, 0, 2);
	tcase_add_test(tc, test_needs_the_right);
	tcase_add_test(tc, test_what_is_kept);
	tcase_add_test(tc, test_two_clients_in_the_same_tensors);
	tcase_add_test(tc, test_one_family_of_several);
	tcase_add_test(tc, test_in_a_child_process);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

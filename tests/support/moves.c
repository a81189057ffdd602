// SPDX-License-Identifier: MIT
/*
 * A sequence whose rows move, and what each of them must be. Owns the tensors, the RoPE table and
 * a record of every token: its KRAW, its V, the elements of K that are not rotated, and the
 * positions that its K stands for.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pools.h"
#include "random.h"
#include "moves.h"

enum { PLANE_K, PLANE_V, PLANE_RAW, PLANE_SCALE, NR_PLANES };

/* Bits of the elements of a token, [layer][head][elem] each. */
struct token {
	uint32_t *plane[NR_PLANES];
	uint32_t position[3];
};

struct kvpr_rows {
	struct kvpr_shape shape;
	struct kvp_geometry geometry;
	struct kvp_memory memory[NR_PLANES];
	uint8_t *shadow[NR_PLANES];
	uint8_t axis_of_pair[512];
	uint8_t rope_of_layer[16];
	float *table[2];
	uint32_t n_pos;
	struct kvp_pool *pool;
	uint64_t blocks[KVPR_MAX_BLOCKS];	/* of the sequence, then free ones */
	uint32_t nr_blocks;
	struct token *token;
	uint32_t nr;
	__u64 seed;
};

/* ---- tensors ---- */

static uint32_t count_of(const struct kvpr_rows *rows, const struct kvp_plane *plane, char index)
{
	switch (index) {
	case 'L':
		return rows->shape.layers;
	case 'B':
		return rows->nr_blocks;
	case 'N':
		return rows->shape.block_tokens;
	case 'H':
		return plane->n_heads;
	}
	return plane->n_elems;
}

static void set_stride(struct kvp_plane *plane, char index, int64_t stride)
{
	switch (index) {
	case 'L':
		plane->layer_stride = stride;
		break;
	case 'B':
		plane->block_stride = stride;
		break;
	case 'N':
		plane->token_stride = stride;
		break;
	case 'H':
		plane->head_stride = stride;
		break;
	default:
		plane->vec_stride = (int32_t)stride;
	}
}

/* Strides and memory of a plane of which the kind and the sizes are set. */
static void place(struct kvpr_rows *rows, uint32_t index, const char *order, uint32_t run)
{
	struct kvp_plane *plane = &rows->geometry.plane[index];
	int64_t size = kvp_dtype_bytes(plane->dtype), base = 0;
	size_t at = strlen(order);
	uint32_t count;

	plane->vec = plane->n_elems;
	if (order[at - 1] == 'D') {
		if (run)
			plane->vec = (uint16_t)run;
		size = size * plane->vec + (int64_t)rows->shape.pad * size;
		at--;
	} else {
		plane->vec = 1;
	}
	while (at--) {
		count = order[at] == 'D' ? plane->n_elems / plane->vec :
					   count_of(rows, plane, order[at]);
		if (strchr(rows->shape.backwards, order[at])) {
			base += size * (count - 1);
			set_stride(plane, order[at], -size);
		} else if (order[at] != 'D' || count > 1) {
			set_stride(plane, order[at], size);
		}
		size *= count;
	}
	if (plane->vec == plane->n_elems)
		plane->vec_stride = 0;
	size = (size + 63) / 64 * 64;
	rows->memory[index].base = (uintptr_t)aligned_alloc(64, (size_t)size);
	rows->memory[index].size = (uint64_t)size;
	rows->shadow[index] = malloc((size_t)size);
	plane->base = rows->memory[index].base + (uint64_t)base;
	memset((void *)(uintptr_t)rows->memory[index].base, 0xa5, (size_t)size);
}

static bool is_quantised(const struct kvpr_shape *shape)
{
	return shape->k_dtype == KVP_DTYPE_I8 || shape->k_dtype == KVP_DTYPE_FP8_E4M3 ||
	       shape->k_dtype == KVP_DTYPE_FP8_E5M2;
}

static void make_planes(struct kvpr_rows *rows)
{
	const struct kvpr_shape *s = &rows->shape;
	struct kvp_plane *plane = rows->geometry.plane;

	rows->geometry.n_planes = is_quantised(s) ? 4 : 3;
	plane[PLANE_K] = (struct kvp_plane){
		.n_heads = (uint16_t)s->heads, .n_elems = (uint16_t)s->n_elems,
		.dtype = (uint8_t)s->k_dtype, .role = KVP_ROLE_K,
	};
	plane[PLANE_V] = (struct kvp_plane){
		.n_heads = s->latent ? 1 : (uint16_t)s->heads, .n_elems = (uint16_t)s->n_elems,
		.dtype = s->latent ? KVP_DTYPE_OPAQUE8 : KVP_DTYPE_BF16,
		.role = s->latent ? KVP_ROLE_LATENT : KVP_ROLE_V,
	};
	plane[PLANE_RAW] = (struct kvp_plane){
		.n_heads = (uint16_t)s->heads, .n_elems = (uint16_t)s->rot_dim,
		.dtype = (uint8_t)s->raw_dtype, .role = KVP_ROLE_KRAW,
		.flags = KVP_PLANE_OF(PLANE_K),
	};
	plane[PLANE_SCALE] = (struct kvp_plane){
		.n_heads = (uint16_t)s->heads, .n_elems = 1, .dtype = KVP_DTYPE_F32,
		.role = KVP_ROLE_SCALE, .flags = KVP_PLANE_OF(PLANE_K),
	};
	place(rows, PLANE_K, s->order, s->run);
	place(rows, PLANE_V, s->order_v, 0);
	place(rows, PLANE_RAW, s->order[strlen(s->order) - 1] == 'D' && !s->run ? s->order :
								"LBNHD", 0);
	if (is_quantised(s))
		place(rows, PLANE_SCALE, "LBNHD", 0);
}

static float *make_table(const struct kvpr_rows *rows, double base)
{
	uint32_t rot_dim = rows->shape.rot_dim, p, i;
	float *table = malloc((uint64_t)rows->n_pos * rot_dim * sizeof(float));

	for (p = 0; p < rows->n_pos; p++)
	for (i = 0; i < rot_dim / 2; i++) {
		double angle = p * pow(base, -2.0 * i / rot_dim);

		/* With a factor, as YaRN has one. */
		table[(uint64_t)p * rot_dim + i] = (float)(1.0693 * cos(angle));
		table[(uint64_t)p * rot_dim + rot_dim / 2 + i] = (float)(1.0693 * sin(angle));
	}
	return table;
}

static void make_rope(struct kvpr_rows *rows)
{
	const struct kvpr_shape *s = &rows->shape;
	struct kvp_geometry *geometry = &rows->geometry;
	uint32_t pairs = s->rot_dim / 2, i;

	rows->n_pos = s->tokens + 64;
	rows->table[0] = make_table(rows, 10000);
	geometry->n_positions = rows->n_pos;
	geometry->n_ropes = 1;
	geometry->rope[0] = (struct kvp_rope){
		.table = rows->table[0], .n_pos = rows->n_pos, .rot_off = (uint16_t)s->rot_off,
		.rot_dim = (uint16_t)s->rot_dim, .style = (uint8_t)s->style,
		.profile = (uint8_t)s->profile,
	};
	if (s->axes > 1) {
		for (i = 0; i < pairs; i++)
			rows->axis_of_pair[i] = (uint8_t)kvpt_below(&rows->seed, 3);
		geometry->rope[0].axis_of_pair = rows->axis_of_pair;
	}
	if (s->mixed) {
		ck_assert_uint_ge(s->layers, 3);
		rows->table[1] = make_table(rows, 500000);
		geometry->n_ropes = 3;
		geometry->rope[2] = geometry->rope[0];
		geometry->rope[2].table = rows->table[1];
		geometry->rope[2].style = s->style == KVP_ROPE_NEOX ? KVP_ROPE_GPTJ : KVP_ROPE_NEOX;
		rows->rope_of_layer[1] = 2;
		rows->rope_of_layer[s->layers - 1] = 1;
		geometry->rope_of_layer = rows->rope_of_layer;
	}
}

static bool is_rotated(const struct kvpr_rows *rows, uint32_t layer)
{
	return !rows->shape.mixed || layer + 1 < rows->shape.layers;
}

/* ---- what a row must be ---- */

static uint32_t *bits_at(const struct kvpr_rows *rows, const struct token *token, uint32_t plane,
			 uint32_t layer, uint32_t head)
{
	const struct kvp_plane *p = &rows->geometry.plane[plane];

	return token->plane[plane] + (uint64_t)(layer * p->n_heads + head) * p->n_elems;
}

static double rounded(uint32_t dtype, double value)
{
	return kvpr_number(dtype, kvpr_number_bits(dtype, value));
}

/* A result of arithmetic in f32, kept in @dtype. */
static double kept(uint32_t dtype, double value)
{
	value = rounded(KVP_DTYPE_F32, value);
	return dtype == KVP_DTYPE_F32 ? value : rounded(dtype, value);
}

static void rotate(const struct kvpr_rows *rows, const struct token *token, uint32_t layer,
		   const uint32_t *raw, double *values)
{
	const struct kvpr_shape *s = &rows->shape;
	bool other = s->mixed && layer == 1;
	bool neox = (s->style == KVP_ROPE_NEOX) != other;
	uint32_t pairs = s->rot_dim / 2, i;
	uint32_t to = s->profile == KVP_PROFILE_MODEL ? s->raw_dtype : KVP_DTYPE_F32;

	for (i = 0; i < pairs; i++) {
		uint32_t first = neox ? i : 2 * i;
		uint32_t second = neox ? i + pairs : 2 * i + 1;
		uint32_t position = token->position[s->axes > 1 ? rows->axis_of_pair[i] : 0];
		const float *row = rows->table[other] + (uint64_t)position * s->rot_dim;
		double a = kvpr_number(s->raw_dtype, raw[first]);
		double b = kvpr_number(s->raw_dtype, raw[second]);
		double c = kept(to, row[i]), sine = kept(to, row[i + pairs]);

		values[first] = kept(to, kept(to, a * c) - kept(to, b * sine));
		values[second] = kept(to, kept(to, b * c) + kept(to, a * sine));
	}
}

static double largest_of(uint32_t dtype)
{
	return dtype == KVP_DTYPE_I8 ? 127 : dtype == KVP_DTYPE_FP8_E4M3 ? 448 : 57344;
}

static void quantise(uint32_t dtype, const double *values, uint32_t nr, uint32_t *bits,
		     uint32_t *scale_bits)
{
	double amax = 0, scale;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		if (!isfinite(values[i])) {
			memset(bits, 0, nr * sizeof(*bits));
			*scale_bits = 0x7fffffff;
			return;
		}
		amax = fmax(amax, fabs(values[i]));
	}
	scale = fmax(rounded(KVP_DTYPE_F32, amax / largest_of(dtype)), 0x1p-126);
	*scale_bits = kvpr_number_bits(KVP_DTYPE_F32, scale);
	for (i = 0; i < nr; i++)
		bits[i] = kvpr_number_bits(dtype, rounded(KVP_DTYPE_F32, values[i] / scale));
}

/* K of the token in all layers that are rotated, from its KRAW and its positions. */
static void derive(struct kvpr_rows *rows, struct token *token)
{
	const struct kvpr_shape *s = &rows->shape;
	double values[1024];
	uint32_t l, h, i;

	for (l = 0; l < s->layers; l++)
	for (h = 0; h < s->heads; h++) {
		uint32_t *k = bits_at(rows, token, PLANE_K, l, h);

		if (!is_rotated(rows, l))
			continue;
		rotate(rows, token, l, bits_at(rows, token, PLANE_RAW, l, h), values);
		if (is_quantised(s)) {
			quantise(s->k_dtype, values, s->rot_dim, k,
				 bits_at(rows, token, PLANE_SCALE, l, h));
			continue;
		}
		for (i = 0; i < s->rot_dim; i++)
			k[s->rot_off + i] = kvpr_number_bits(s->k_dtype, values[i]);
	}
}

/* ---- tokens ---- */

static uint32_t random_raw(struct kvpr_rows *rows)
{
	static const double odd[] = {
		NAN, INFINITY, -INFINITY, 0, -0.0, 0x1p-149, -0x1p-140, 0x1p-133, 0x1.8p-24, 1e38,
		-3e38, 65504, 1, 0x1p-126,
	};
	uint32_t dtype = rows->shape.raw_dtype;
	double value;

	if (rows->shape.odd && !kvpt_below(&rows->seed, 24))
		return kvpr_number_bits(dtype, odd[kvpt_below(&rows->seed, sizeof(odd) / 8)]);
	value = (double)(int64_t)kvpt_random(&rows->seed) / 0x1p62;
	if (!kvpt_below(&rows->seed, 4))
		value *= ldexp(1, -(int)kvpt_below(&rows->seed, 40));
	return kvpr_number_bits(dtype, value);
}

static uint8_t *element(const struct kvpr_rows *rows, uint32_t plane, uint32_t layer,
			uint64_t block, uint32_t row, uint32_t head, uint32_t elem)
{
	return (uint8_t *)(uintptr_t)kvp_plane_address(&rows->geometry.plane[plane], layer,
						       KVP_BLOCK_INDEX(block), row, head, elem);
}

static void write_token(struct kvpr_rows *rows, uint32_t index)
{
	uint64_t block = rows->blocks[index / rows->shape.block_tokens];
	uint32_t row = index % rows->shape.block_tokens, p, l, h, e;

	for (p = 0; p < rows->geometry.n_planes; p++)
	for (l = 0; l < rows->shape.layers; l++)
	for (h = 0; h < rows->geometry.plane[p].n_heads; h++) {
		const uint32_t *bits = bits_at(rows, &rows->token[index], p, l, h);

		for (e = 0; e < rows->geometry.plane[p].n_elems; e++)
			kvpr_element_set(rows->geometry.plane[p].dtype,
					 element(rows, p, l, block, row, h, e), bits[e]);
	}
}

static void make_token(struct kvpr_rows *rows, uint32_t index)
{
	struct token *token = &rows->token[index];
	uint32_t p, i;

	for (p = 0; p < rows->geometry.n_planes; p++) {
		const struct kvp_plane *plane = &rows->geometry.plane[p];
		uint32_t nr = rows->shape.layers * plane->n_heads * plane->n_elems;
		uint32_t bytes = kvp_dtype_bytes(plane->dtype);

		token->plane[p] = malloc(nr * sizeof(uint32_t));
		for (i = 0; i < nr; i++)
			token->plane[p][i] = p == PLANE_RAW ? random_raw(rows) :
				(uint32_t)kvpt_random(&rows->seed) >> (32 - 8 * bytes);
	}
	for (i = 0; i < 3; i++)
		token->position[i] = rows->shape.axes == 1 ? index :
							     kvpt_below(&rows->seed, rows->n_pos);
	derive(rows, token);
	write_token(rows, index);
}

static void drop_token(struct kvpr_rows *rows, struct token *token)
{
	uint32_t p;

	for (p = 0; p < rows->geometry.n_planes; p++)
		free(token->plane[p]);
}

/* ---- sequences ---- */

static void make_blocks(struct kvpr_rows *rows)
{
	const struct kvpr_shape *s = &rows->shape;
	uint32_t row_bytes = 0, used = (s->tokens + s->block_tokens - 1) / s->block_tokens, p, i;
	bool rising = true;
	char uri[128];

	for (p = 0; p < rows->geometry.n_planes; p++) {
		const struct kvp_plane *plane = &rows->geometry.plane[p];

		row_bytes += s->layers * plane->n_heads * plane->n_elems *
			     kvp_dtype_bytes(plane->dtype);
	}
	snprintf(uri, sizeof(uri), "inproc:rows?blocks=%u&block_tokens=%u&row_bytes=%u",
		 rows->nr_blocks, s->block_tokens, row_bytes);
	rows->pool = kvpr_open(uri);
	kvpr_ok(kvp_pool_set_geometry(rows->pool, 0, &rows->geometry));
	kvpr_ok(kvp_blocks_alloc(rows->pool, 0, rows->blocks, rows->nr_blocks));
	do {
		for (i = rows->nr_blocks; i > 1; i--) {
			uint32_t other = kvpt_below(&rows->seed, i);
			uint64_t block = rows->blocks[other];

			rows->blocks[other] = rows->blocks[i - 1];
			rows->blocks[i - 1] = block;
		}
		for (i = 1; i < used; i++)
			rising &= rows->blocks[i] > rows->blocks[i - 1];
	} while (used > 2 && rising);
	/* Tables that rise would hide mistakes. */
	ck_assert(used <= 2 || !rising);
}

struct kvpr_rows *kvpr_rows_make(const struct kvpr_shape *shape, __u64 *seed)
{
	struct kvpr_rows *rows = calloc(1, sizeof(*rows));
	uint32_t i;

	rows->shape = *shape;
	rows->shape.backwards = shape->backwards ? shape->backwards : "";
	rows->shape.order = shape->order ? shape->order : "LBNHD";
	rows->shape.order_v = shape->order_v ? shape->order_v : "LBNHD";
	rows->shape.axes = shape->axes ? shape->axes : 1;
	rows->seed = kvpt_random(seed);
	rows->nr_blocks = 2 * ((shape->tokens + shape->block_tokens - 1) / shape->block_tokens) + 2;
	ck_assert_uint_le(rows->nr_blocks, KVPR_MAX_BLOCKS);
	rows->geometry.flags = KVP_GEOMETRY_REPOSITION;
	rows->geometry.n_layers = shape->layers;
	rows->geometry.n_blocks = rows->nr_blocks;
	rows->geometry.block_tokens = shape->block_tokens;
	make_planes(rows);
	make_rope(rows);
	rows->geometry.memory = rows->memory;
	rows->geometry.n_memory = rows->geometry.n_planes;
	make_blocks(rows);
	rows->nr = shape->tokens;
	rows->token = calloc(shape->tokens, sizeof(*rows->token));
	for (i = 0; i < shape->tokens; i++)
		make_token(rows, i);
	return rows;
}

void kvpr_rows_drop(struct kvpr_rows *rows)
{
	uint32_t i;

	kvp_pool_close(rows->pool);
	for (i = 0; i < rows->nr; i++)
		drop_token(rows, &rows->token[i]);
	for (i = 0; i < rows->geometry.n_planes; i++) {
		free((void *)(uintptr_t)rows->memory[i].base);
		free(rows->shadow[i]);
	}
	free(rows->token);
	free(rows->table[0]);
	free(rows->table[1]);
	free(rows);
}

uint32_t kvpr_rows_nr(const struct kvpr_rows *rows)
{
	return rows->nr;
}

struct kvp_pool *kvpr_rows_pool(struct kvpr_rows *rows)
{
	return rows->pool;
}

const struct kvp_geometry *kvpr_rows_geometry(struct kvpr_rows *rows)
{
	return &rows->geometry;
}

const uint64_t *kvpr_rows_table(struct kvpr_rows *rows, uint32_t *nr)
{
	if (nr)
		*nr = (rows->nr + rows->shape.block_tokens - 1) / rows->shape.block_tokens;
	return rows->blocks;
}

void kvpr_rows_expected(struct kvpr_rows *rows, uint32_t token, uint32_t layer, uint32_t head,
			uint32_t *k, float *scale)
{
	memcpy(k, bits_at(rows, &rows->token[token], PLANE_K, layer, head),
	       rows->shape.n_elems * sizeof(*k));
	if (is_quantised(&rows->shape))
		memcpy(scale, bits_at(rows, &rows->token[token], PLANE_SCALE, layer, head),
		       sizeof(*scale));
}

const uint32_t *kvpr_rows_raw(struct kvpr_rows *rows, uint32_t token, uint32_t layer,
			      uint32_t head)
{
	return bits_at(rows, &rows->token[token], PLANE_RAW, layer, head);
}

const uint32_t *kvpr_rows_position(struct kvpr_rows *rows, uint32_t token)
{
	return rows->token[token].position;
}

const struct kvp_rope *kvpr_rows_rope(struct kvpr_rows *rows)
{
	return &rows->geometry.rope[0];
}

/* ---- comparing ---- */

static void check_token(struct kvpr_rows *rows, uint32_t index)
{
	static const char *const names[] = { "k", "v", "kraw", "scale" };
	uint64_t block = rows->blocks[index / rows->shape.block_tokens];
	uint32_t row = index % rows->shape.block_tokens, p, l, h, e, got;

	for (p = 0; p < rows->geometry.n_planes; p++)
	for (l = 0; l < rows->shape.layers; l++)
	for (h = 0; h < rows->geometry.plane[p].n_heads; h++) {
		const uint32_t *bits = bits_at(rows, &rows->token[index], p, l, h);

		for (e = 0; e < rows->geometry.plane[p].n_elems; e++) {
			got = kvpr_element_bits(rows->geometry.plane[p].dtype,
						element(rows, p, l, block, row, h, e));
			if (got != bits[e])
				ck_abort_msg("%s of token %u, layer %u, head %u, element %u is %#x, expected %#x (seed %llu)",
					     names[p], index, l, h, e, got, bits[e],
					     (unsigned long long)rows->seed);
		}
	}
}

void kvpr_rows_check(struct kvpr_rows *rows)
{
	uint32_t i;

	for (i = 0; i < rows->nr; i++)
		check_token(rows, i);
}

/* The elements of a row, from the tensors to the shadow. */
static void shadow_row(struct kvpr_rows *rows, uint64_t block, uint32_t row)
{
	uint32_t p, l, h, e;

	for (p = 0; p < rows->geometry.n_planes; p++)
	for (l = 0; l < rows->shape.layers; l++)
	for (h = 0; h < rows->geometry.plane[p].n_heads; h++)
	for (e = 0; e < rows->geometry.plane[p].n_elems; e++) {
		const uint8_t *at = element(rows, p, l, block, row, h, e);

		memcpy(rows->shadow[p] + (at - (uint8_t *)(uintptr_t)rows->memory[p].base), at,
		       kvp_dtype_bytes(rows->geometry.plane[p].dtype));
	}
}

/* ---- moving ---- */

/* Carry out @moves, which touch the elements of their targets and no other byte. */
static void carry_out(struct kvpr_rows *rows, const struct kvp_row_move *moves, uint32_t nr,
		      const struct kvp_rows_options *opt)
{
	uint32_t p, i, row;

	for (p = 0; p < rows->geometry.n_planes; p++)
		memcpy(rows->shadow[p], (void *)(uintptr_t)rows->memory[p].base,
		       rows->memory[p].size);
	kvpr_ok(kvp_rows_move(rows->pool, 0, moves, nr, opt));
	for (i = 0; i < nr; i++)
		for (row = 0; row < moves[i].nr; row++)
			shadow_row(rows, moves[i].dst, moves[i].dst_row + row);
	for (p = 0; p < rows->geometry.n_planes; p++)
		ck_assert_mem_eq(rows->shadow[p], (void *)(uintptr_t)rows->memory[p].base,
				 rows->memory[p].size);
}

static void set_positions(struct kvpr_rows *rows, uint32_t token, const uint32_t position[3])
{
	if (!memcmp(rows->token[token].position, position, sizeof(rows->token->position)))
		return;
	memcpy(rows->token[token].position, position, sizeof(rows->token->position));
	derive(rows, &rows->token[token]);
}

/* Rows [@first, @first + @nr) of the new sequence, in @to, come from @from rows further back. */
static uint32_t plan(const struct kvpr_rows *rows, const uint64_t *to, uint32_t first, uint32_t nr,
		     uint32_t from, bool keep, struct kvp_row_move *moves)
{
	uint32_t size = rows->shape.block_tokens, end = first + nr, made = 0;

	while (first < end) {
		uint32_t src = first + from, run = end - first;

		run = run < size - first % size ? run : size - first % size;
		run = run < size - src % size ? run : size - src % size;
		moves[made++] = (struct kvp_row_move){
			.src = rows->blocks[src / size], .src_row = src % size,
			.dst = to[first / size], .dst_row = first % size, .nr = run,
			.flags = keep ? KVP_MOVE_KEEP : 0, .position = keep ? 0 : first,
		};
		first += run;
	}
	return made;
}

/* Some of the moves say each position, if tokens have three different ones. */
static void say_positions(struct kvpr_rows *rows, struct kvp_row_move *moves, uint32_t nr,
			  uint32_t *positions)
{
	uint32_t axes = rows->shape.axes, i, j;

	for (i = 0; i < nr; i++) {
		uint32_t first = (uint32_t)moves[i].position;

		if (moves[i].flags & KVP_MOVE_KEEP || kvpt_below(&rows->seed, 2))
			continue;
		for (j = 0; j < moves[i].nr * axes; j++)
			positions[j] = axes == 1 ? first + j : kvpt_below(&rows->seed, rows->n_pos);
		moves[i].positions = positions;
		moves[i].position = 0;
		positions += j;
	}
}

/* What the moves say of the positions of tokens from @first on. */
static void take_positions(struct kvpr_rows *rows, const struct kvp_row_move *moves, uint32_t nr,
			   uint32_t first)
{
	uint32_t axes = rows->shape.axes, i, row, a;

	for (i = 0; i < nr; i++) {
		for (row = 0; row < moves[i].nr; row++, first++) {
			uint32_t position[3];

			for (a = 0; a < 3; a++)
				position[a] = moves[i].positions ?
					moves[i].positions[row * axes + (a < axes ? a : 0)] :
					(uint32_t)moves[i].position + row;
			if (!(moves[i].flags & KVP_MOVE_KEEP))
				set_positions(rows, first, position);
		}
	}
}

void kvpr_rows_evict(struct kvpr_rows *rows, uint32_t from, uint32_t to,
		     const struct kvpr_how *how)
{
	struct kvp_rows_options opt = {
		.threads = how->threads, .flags = how->in_place ? KVP_ROWS_IN_PLACE : 0,
	};
	struct kvp_row_move *moves = calloc(2 * rows->nr + 2, sizeof(*moves));
	uint32_t *positions = calloc(3 * rows->nr + 1, sizeof(*positions));
	uint32_t size = rows->shape.block_tokens, whole = from / size, nr = 0, moved, i;
	uint32_t used = (rows->nr + size - 1) / size;
	uint64_t table[KVPR_MAX_BLOCKS];

	memcpy(table, rows->blocks, sizeof(table));
	if (!how->in_place) {
		/* Fresh blocks, behind which those that are left become free. */
		for (i = whole; i < used; i++) {
			table[i] = rows->blocks[used + i - whole];
			table[used + i - whole] = rows->blocks[i];
		}
		nr = plan(rows, table, whole * size, from - whole * size, 0, true, moves);
	}
	moved = plan(rows, table, from, rows->nr - to, to - from, how->keep, moves + nr);
	say_positions(rows, moves + nr, moved, positions);
	carry_out(rows, moves, nr + moved, &opt);
	for (i = from; i < to; i++)
		drop_token(rows, &rows->token[i]);
	memmove(rows->token + from, rows->token + to, (rows->nr - to) * sizeof(*rows->token));
	rows->nr -= to - from;
	memcpy(rows->blocks, table, sizeof(table));
	take_positions(rows, moves + nr, moved, from);
	free(positions);
	free(moves);
}

void kvpr_rows_shift(struct kvpr_rows *rows, __u64 *seed, uint32_t threads)
{
	struct kvp_rows_options opt = { .threads = threads, .flags = KVP_ROWS_IN_PLACE };
	struct kvp_row_move *moves = calloc(2 * rows->nr + 2, sizeof(*moves));
	uint32_t nr = plan(rows, rows->blocks, 0, rows->nr, 0, false, moves), by, i;

	by = 1 + kvpt_below(seed, rows->n_pos - rows->nr);
	for (i = 0; i < nr; i++)
		moves[i].position += by;
	carry_out(rows, moves, nr, &opt);
	take_positions(rows, moves, nr, 0);
	free(moves);
}

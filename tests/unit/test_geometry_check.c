// SPDX-License-Identifier: MIT
/*
 * What kvp_geometry_check() refuses: each thing alone in a geometry that is sound otherwise, with
 * what the error says of it, and beside it the nearest geometry that is accepted. And what it
 * finds out about operations.
 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "pools.h"

#define LAYERS	2
#define BLOCKS	3
#define TOKENS	4
#define HEADS	2
#define ELEMS	8
#define ROTATED	4

#define VECTOR	(ELEMS * 2)
#define TOKEN	(HEADS * VECTOR)
#define BLOCK	(TOKENS * TOKEN)
#define LAYER	(BLOCKS * BLOCK)
#define PLANE	(LAYERS * LAYER)

#define BASE	0x10000

static struct kvp_geometry g;
static struct kvp_memory memory[2];
static uint64_t layer_base[LAYERS];
static uint8_t rope_of_layer[LAYERS];
static float table[64 * ELEMS];
static uint8_t axes[ELEMS / 2];

static struct kvp_plane plane(uint32_t role, uint32_t nr, uint32_t elems)
{
	return (struct kvp_plane){
		.base = BASE + nr * PLANE,
		.layer_stride = LAYER,
		.block_stride = BLOCK,
		.token_stride = TOKEN,
		.head_stride = VECTOR,
		.n_heads = HEADS,
		.n_elems = (uint16_t)elems,
		.vec = (uint16_t)elems,
		.dtype = KVP_DTYPE_BF16,
		.role = (uint8_t)role,
	};
}

/* K, V and KRAW in one allocation, and a rope of half of K. */
static void good(void)
{
	memset(&g, 0, sizeof(g));
	g.n_layers = LAYERS;
	g.n_blocks = BLOCKS;
	g.block_tokens = TOKENS;
	g.n_planes = 3;
	g.plane[0] = plane(KVP_ROLE_K, 0, ELEMS);
	g.plane[1] = plane(KVP_ROLE_V, 1, ELEMS);
	g.plane[2] = plane(KVP_ROLE_KRAW, 2, ROTATED);
	g.plane[2].flags = KVP_PLANE_OF(0);
	g.n_memory = 1;
	g.memory = memory;
	memory[0] = (struct kvp_memory){ BASE, 3 * PLANE };
	memory[1] = (struct kvp_memory){ 0x800000, 0x1000 };
	g.n_positions = 64;
	g.n_ropes = 1;
	g.rope[0] = (struct kvp_rope){
		.table = table, .n_pos = 64, .rot_off = 2, .rot_dim = ROTATED,
		.style = KVP_ROPE_NEOX,
	};
	layer_base[0] = BASE;
	layer_base[1] = BASE + LAYER;
	memset(rope_of_layer, 0, sizeof(rope_of_layer));
	memset(axes, 0, sizeof(axes));
}

/* V in tensors of the layers. */
static void in_layers(void)
{
	g.plane[1].base = PLANE;
	g.plane[1].layer_stride = 0;
	g.plane[1].layer_base = layer_base;
}

static void refused(int err, uint32_t reason, uint32_t where, const char *what,
		    const char *expected)
{
	struct kvp_geometry_facts facts, untouched;

	memset(&facts, 0x5a, sizeof(facts));
	untouched = facts;
	kvpr_expect(kvp_geometry_check(&g, &facts), err, reason);
	ck_assert_uint_eq(kvp_error()->where, where);
	kvpr_says("geometry: ");
	kvpr_says(what);
	kvpr_says("expected ");
	kvpr_says(expected);
	ck_assert_mem_eq(&facts, &untouched, sizeof(facts));
}

/* After @change the good geometry is refused, after @twin it is not. */
#define REFUSED(change, err, reason, where, what, expected, twin)		\
do {										\
	good();									\
	change;									\
	refused(err, reason, where, what, expected);				\
	good();									\
	twin;									\
	kvpr_ok(kvp_geometry_check(&g, NULL));					\
} while (0)

START_TEST(test_good)
{
	struct kvp_geometry_facts facts;

	good();
	kvpr_ok(kvp_geometry_check(&g, &facts));
	ck_assert_uint_eq(facts.operations, KVP_CAN_VERBATIM | KVP_CAN_REPOSITION);
	ck_assert_ptr_null(facts.obstacle);
	ck_assert_int_eq(facts.block_shift, 2);
	ck_assert_uint_eq(facts.row_bytes, LAYERS * HEADS * (ELEMS + ELEMS + ROTATED) * 2);
	ck_assert_uint_eq(facts.plane[1].row_off, LAYERS * HEADS * ELEMS * 2);
	ck_assert_uint_eq(facts.plane[2].row_off, 2 * LAYERS * HEADS * ELEMS * 2);
	ck_assert_uint_eq(facts.plane[2].row_bytes, LAYERS * HEADS * ROTATED * 2);
	ck_assert_uint_eq(facts.plane[0].path, KVP_PATH_BLOCK_CONTIG);
	ck_assert_uint_eq(facts.plane[2].path, KVP_PATH_HEAD_CONTIG);
	kvpr_expect(kvp_geometry_check(NULL, &facts), -EINVAL, KVP_REASON_POINTER);
}
END_TEST

START_TEST(test_names)
{
	ck_assert_str_eq(kvp_dtype_name(KVP_DTYPE_FP8_E5M2), "fp8-e5m2");
	ck_assert_str_eq(kvp_dtype_name(0), "none");
	ck_assert_str_eq(kvp_dtype_name(KVP_NR_DTYPES), "unknown");
	ck_assert_str_eq(kvp_role_name(KVP_ROLE_KRAW), "kraw");
	ck_assert_str_eq(kvp_role_name(0), "unknown");
	ck_assert_str_eq(kvp_role_name(KVP_NR_ROLES), "unknown");
	ck_assert_str_eq(kvp_path_name(KVP_PATH_TRANSPOSED), "transposed");
	ck_assert_str_eq(kvp_path_name(0), "unknown");
	ck_assert_str_eq(kvp_path_name(KVP_PATH_TRANSPOSED + 1), "unknown");
	ck_assert_uint_eq(sizeof(struct kvp_plane), 64);
	ck_assert_uint_eq(sizeof(struct kvp_rope), 32);
}
END_TEST

/* ---- counts and lists ---- */

START_TEST(test_counts)
{
	const int err = -EINVAL;
	const uint32_t why = KVP_REASON_COUNT;

	REFUSED(g.n_layers = 0, err, why, 0, "n_layers 0", "1 to 1024", g.n_layers = 1);
	REFUSED(g.n_layers = 1025, err, why, 0, "n_layers 1025", "1 to 1024", );
	REFUSED(g.n_blocks = 0, err, why, 0, "n_blocks 0", "1 to 16777216", g.n_blocks = 1);
	REFUSED(g.n_blocks = 1ULL << 40, err, why, 0, "n_blocks 1099511627776", "1 to", );
	REFUSED(g.block_tokens = 0, err, why, 0, "block_tokens 0", "1 to 65536",
		g.block_tokens = 1);
	REFUSED(g.block_tokens = 65537, err, why, 0, "block_tokens 65537", "1 to 65536", );
	REFUSED(g.n_planes = 0, err, why, 0, "n_planes 0", "1 to 8", g.n_planes = 1);
	REFUSED(g.n_planes = 9, err, why, 0, "n_planes 9", "1 to 8", );
	REFUSED(g.n_ropes = 5, err, why, 0, "n_ropes 5", "0 to 4", );
	REFUSED(g.n_memory = 0, err, why, 0, "n_memory 0", "1 to", g.n_memory = 2);
	REFUSED(g.n_positions = 0, err, why, 0, "n_positions 0", "1 to 2147483648",
		g.n_positions = 1);
	REFUSED(g.n_positions = (1ULL << 31) + 1, err, why, 0, "n_positions 2147483649", "1 to", );
	REFUSED(g.plane[1].n_heads = 0, err, why, 1, "plane 1 (v): n_heads 0", "at least 1",
		g.plane[1].n_heads = 1);
	REFUSED(g.plane[0].n_elems = 0, err, why, 0, "plane 0 (k): n_elems 0", "at least 1", );
}
END_TEST

START_TEST(test_flags_that_are_none)
{
	const int err = -EINVAL;
	const uint32_t why = KVP_REASON_FLAG;

	REFUSED(g.flags = 2, err, why, 0, "flags 0x2", "0x1", g.flags = KVP_GEOMETRY_REPOSITION);
	REFUSED(g.plane[1].flags = 4, err, why, 1, "plane 1 (v): flags 0x4", "0xff03",
		g.plane[1].flags = KVP_PLANE_READONLY);
	REFUSED(g.plane[1].flags = KVP_PLANE_OF(0), err, why, 1, "plane 1 (v): flags 0x2",
		"KVP_PLANE_OF() with kraw and scale only", );
	REFUSED(g.plane[1].flags = 0x100, err, why, 1, "plane 1 (v): flags 0x100",
		"KVP_PLANE_OF()", );
	REFUSED(g.plane[2].flags = 0, err, why, 2, "plane 2 (kraw): flags 0x0",
		"KVP_PLANE_OF()", );
	REFUSED(g.plane[2].flags = KVP_PLANE_OF(3), err, why, 2,
		"plane 2 (kraw): KVP_PLANE_OF(3)", "another one of 3 planes", );
	REFUSED(g.plane[2].flags = KVP_PLANE_OF(2), err, why, 2,
		"plane 2 (kraw): KVP_PLANE_OF(2)", "another one", );
	REFUSED((g.plane[1].role = KVP_ROLE_SCALE, g.plane[1].flags = KVP_PLANE_OF(0),
		 g.plane[2].role = KVP_ROLE_SCALE, g.plane[2].flags = KVP_PLANE_OF(1)),
		err, why, 2, "plane 2 (scale): KVP_PLANE_OF(1) is a scale itself",
		"what it scales",
		(g.plane[1].role = KVP_ROLE_SCALE, g.plane[1].flags = KVP_PLANE_OF(0)));
}
END_TEST

START_TEST(test_memory)
{
	const int err = -EINVAL;

	REFUSED(g.memory = NULL, err, KVP_REASON_POINTER, 0, "memory is NULL", "1 allocations", );
	REFUSED((g.n_memory = 2, memory[1].size = 0), err, KVP_REASON_LENGTH, 1,
		"memory 1: 0 bytes at 0x800000", "below 2^64", g.n_memory = 2);
	REFUSED((g.n_memory = 2, memory[1].base = UINT64_MAX - 9, memory[1].size = 11), err,
		KVP_REASON_LENGTH, 1, "memory 1: 11 bytes at 0xfffffffffffffff6", "below 2^64",
		(g.n_memory = 2, memory[1].base = UINT64_MAX - 9, memory[1].size = 10));
}
END_TEST

/* ---- fields of a plane ---- */

START_TEST(test_kinds_that_are_none)
{
	const int err = -EINVAL;
	const uint32_t why = KVP_REASON_VALUE;

	REFUSED(g.plane[1].role = 0, err, why, 1, "plane 1 (unknown): role 0", "enum kvp_role", );
	REFUSED(g.plane[1].role = KVP_NR_ROLES, err, why, 1, "role 7", "enum kvp_role",
		g.plane[1].role = KVP_NR_ROLES - 1);
	REFUSED(g.plane[1].dtype = 0, err, why, 1, "plane 1 (v): dtype 0", "enum kvp_dtype", );
	REFUSED(g.plane[1].dtype = KVP_NR_DTYPES, err, why, 1, "dtype 8", "enum kvp_dtype",
		g.plane[1].dtype = KVP_NR_DTYPES - 1);
}
END_TEST

START_TEST(test_vectors)
{
	const int err = -EINVAL;
	const uint32_t why = KVP_REASON_VALUE;

	REFUSED(g.plane[1].vec = 0, err, why, 1, "plane 1 (v): vec 0", "a divisor of n_elems 8", );
	REFUSED((g.plane[1].vec = 3, g.plane[1].vec_stride = 6), err, why, 1, "vec 3",
		"a divisor of n_elems 8", (g.plane[1].vec = 4, g.plane[1].vec_stride = 8));
	REFUSED(g.plane[1].vec = 16, err, why, 1, "vec 16", "a divisor of n_elems 8", );
	REFUSED(g.plane[1].vec_stride = 16, err, why, 1, "vec_stride 16", "0, since vec is n_elems",
		);
	REFUSED(g.plane[1].vec = 4, err, why, 1, "vec_stride 0", "a stride, since vec is 4 of 8",
		(g.plane[1].vec = 4, g.plane[1].vec_stride = 8));
	REFUSED((in_layers(), g.plane[1].layer_stride = 8), err, why, 1, "layer_stride 8",
		"0, since there is layer_base", in_layers());
}
END_TEST

START_TEST(test_alignment)
{
	const int err = -EINVAL;
	const uint32_t why = KVP_REASON_ALIGNMENT;
	struct kvp_plane *k = &g.plane[0];

	REFUSED((k->base++, memory[0].size++), err, why, 0, "plane 0 (k): base 65537",
		"a multiple of 2, the bytes of bf16", );
	REFUSED((g.n_planes = 1, k->layer_stride++), err, why, 0, "layer_stride 385",
		"a multiple of 2", (g.n_planes = 1, g.n_layers = 1, k->layer_stride++));
	REFUSED((g.n_planes = 1, k->block_stride++), err, why, 0, "block_stride 129",
		"a multiple of 2", (g.n_planes = 1, g.n_blocks = 1, k->block_stride++));
	REFUSED((g.n_planes = 1, k->token_stride--), err, why, 0, "token_stride 31",
		"a multiple of 2", (g.n_planes = 1, g.block_tokens = 1, k->token_stride--));
	REFUSED((g.n_planes = 1, k->head_stride = -17), err, why, 0, "head_stride -17",
		"a multiple of 2", (g.n_planes = 1, k->n_heads = 1, k->head_stride = -17));
	REFUSED((k->vec = 4, k->vec_stride = 9), err, why, 0, "vec_stride 9", "a multiple of 2",
		(k->vec = 4, k->vec_stride = 8));
	REFUSED((in_layers(), layer_base[1]++), err, why, 1, "plane 1 (v): layer_base 65921",
		"a multiple of 2", in_layers());
	REFUSED((k->base += 2, g.n_planes = 1, g.n_ropes = 0, k->dtype = KVP_DTYPE_F32), err, why,
		0, "base 65538", "a multiple of 4, the bytes of f32",
		(k->base += 2, g.n_planes = 1, g.n_ropes = 0, memory[0].size += 2));
}
END_TEST

/* ---- addresses ---- */

START_TEST(test_elements_that_overlap)
{
	const int err = -EINVAL;
	const uint32_t why = KVP_REASON_DUPLICATE;
	struct kvp_plane *k = &g.plane[0];

	g.n_planes = 1;
	REFUSED(k->token_stride = TOKEN - 2, err, why, 0, "plane 0 (k): token_stride of 30 bytes",
		"at least 32", (g.n_planes = 1, k->token_stride = TOKEN));
	REFUSED(k->block_stride = BLOCK - 2, err, why, 0, "block_stride of 126 bytes",
		"at least 128", );
	REFUSED(k->layer_stride = LAYER - 2, err, why, 0, "layer_stride of 382 bytes",
		"at least 384", );
	REFUSED(k->head_stride = VECTOR - 2, err, why, 0, "head_stride of 14 bytes",
		"at least 16", );
	REFUSED(k->head_stride = 0, err, why, 0, "head_stride of 0 bytes", "at least 16", );
	REFUSED(k->head_stride = -VECTOR + 2, err, why, 0, "head_stride of 14 bytes",
		"at least 16", (k->head_stride = -VECTOR, k->base += VECTOR));
	REFUSED((k->vec = 1, k->vec_stride = 1, k->dtype = KVP_DTYPE_OPAQUE8,
		 k->head_stride = 4), err, why, 0, "head_stride of 4 bytes", "at least 8",
		(k->vec = 2, k->vec_stride = 4));
	/* Steps that do not nest, although no two elements are at one place. */
	REFUSED((g.n_planes = 1, g.n_layers = 1, g.block_tokens = 1, k->block_stride = 48,
		 g.n_blocks = 2, k->head_stride = 32, k->n_heads = 3), err, why, 0,
		"block_stride of 48 bytes", "at least 80, or elements overlap",
		(g.n_planes = 1, g.n_layers = 1, g.block_tokens = 1, k->block_stride = 80,
		 g.n_blocks = 2, k->head_stride = 32, k->n_heads = 3));
}
END_TEST

START_TEST(test_planes_that_overlap)
{
	const int err = -EINVAL;
	const uint32_t why = KVP_REASON_DUPLICATE;
	struct kvp_plane *v = &g.plane[1];

	REFUSED(v->base = BASE, err, why, 1, "plane 1 (v): overlaps plane 0 (k)",
		"KVP_PLANE_READONLY", (v->base = BASE, v->flags = KVP_PLANE_READONLY));
	REFUSED(v->base = BASE + PLANE - 2, err, why, 1, "overlaps plane 0 (k)", "bytes of its own",
		);
	REFUSED(v->base = BASE + PLANE + 18, err, why, 2, "plane 2 (kraw): overlaps plane 1 (v)",
		"bytes of its own", (v->base = BASE + PLANE, g.plane[2].base += 8));
	/* KRAW leaves room behind its four elements of each vector, where others may lie. */
	REFUSED((v->n_elems = 4, v->vec = 4, v->base = BASE + 2 * PLANE + 6), err, why, 2,
		"overlaps plane 1 (v)", "bytes of its own",
		(v->n_elems = 4, v->vec = 4, v->base = BASE + 2 * PLANE + 8));
	/* The same with other steps than those of the plane that it meets. */
	REFUSED((v->n_heads = 1, v->n_elems = 4, v->vec = 4, v->token_stride = VECTOR,
		 v->base = BASE + 2 * PLANE, g.n_blocks = 1), err, why, 2, "overlaps plane 1 (v)",
		"bytes of its own",
		(v->n_heads = 1, v->n_elems = 4, v->vec = 4, v->token_stride = VECTOR,
		 v->base = BASE + 2 * PLANE + 8, g.n_blocks = 1));
}
END_TEST

START_TEST(test_layers_that_overlap)
{
	REFUSED((in_layers(), layer_base[1] = layer_base[0] + LAYER - 2), -EINVAL,
		KVP_REASON_DUPLICATE, 1, "plane 1 (v): layer_base: layers 0 and 1 overlap",
		"a tensor each", in_layers());
	/* The first plane's second layer and another one's first. */
	REFUSED((in_layers(), layer_base[1] = BASE - PLANE + LAYER, g.n_memory = 1), -EINVAL,
		KVP_REASON_DUPLICATE, 1, "plane 1 (v): overlaps plane 0 (k)", "bytes of its own",
		in_layers());
}
END_TEST

/* Two planes of one byte a step, by a million steps of 3 and of 5 bytes: odd, but told apart? */
START_TEST(test_planes_too_odd_to_compare)
{
	struct kvp_plane *p = g.plane;

	good();
	g.n_ropes = 0;
	g.n_planes = 2;
	g.n_layers = 1;
	g.n_blocks = 1 << 24;
	g.block_tokens = 1;
	memory[0].size = 1ULL << 40;
	p[0].dtype = KVP_DTYPE_I8;
	p[1].dtype = KVP_DTYPE_I8;
	p[0].n_heads = 1;
	p[1].n_heads = 1;
	p[0].n_elems = 1;
	p[1].n_elems = 1;
	p[0].vec = 1;
	p[1].vec = 1;
	p[0].block_stride = 4;
	p[1].block_stride = 6;
	p[1].base = BASE + 1;
	refused(-EINVAL, KVP_REASON_DUPLICATE, 1,
		"plane 1 (v): interleaves with plane 0 (k) in too odd a way", "equal strides");
	g.n_blocks = 1000;
	kvpr_ok(kvp_geometry_check(&g, NULL));
	p[1].base = BASE + 2;
	refused(-EINVAL, KVP_REASON_DUPLICATE, 1, "overlaps plane 0 (k)", "bytes of its own");
}
END_TEST

/* ---- overlap, against trying it out ---- */

#define TRIED_BYTES	4096

static uint32_t random_state;

static uint32_t below(uint32_t limit)
{
	random_state = random_state * 1103515245u + 12345u;
	return (random_state >> 16) % limit;
}

/* Strides that nest more often than not, in a random order, some of them backwards. */
static void random_plane(struct kvp_plane *p, uint32_t role)
{
	static const uint32_t orders[][3] = { { 0, 1, 2 }, { 1, 2, 0 }, { 2, 1, 0 }, { 0, 2, 1 } };
	const uint32_t *order = orders[below(4)];
	uint32_t counts[3], i;
	int64_t strides[3], size;

	*p = (struct kvp_plane){ .role = (uint8_t)role, .dtype = KVP_DTYPE_I8 };
	p->n_heads = (uint16_t)(1 + below(3));
	p->vec = (uint16_t)(1 + below(3));
	p->n_elems = p->vec;
	counts[0] = g.n_blocks;
	counts[1] = g.block_tokens;
	counts[2] = p->n_heads;
	size = p->vec + below(3);
	for (i = 0; i < 3; i++) {
		strides[order[i]] = below(8) ? size : below(9);
		size = strides[order[i]] * counts[order[i]] + below(4) * below(4);
		if (!below(6))
			strides[order[i]] = -strides[order[i]];
	}
	p->block_stride = strides[0];
	p->token_stride = strides[1];
	p->head_stride = strides[2];
	p->base = BASE + TRIED_BYTES / 2 + below(64);
}

/* Mark the bytes of a plane; returns whether one was marked already. */
static bool mark(const struct kvp_plane *p, uint8_t *marks)
{
	uint32_t b, t, h, e;
	bool twice = false;

	for (b = 0; b < g.n_blocks; b++)
	for (t = 0; t < g.block_tokens; t++)
	for (h = 0; h < p->n_heads; h++)
	for (e = 0; e < p->n_elems; e++)
		twice |= marks[kvp_plane_address(p, 0, b, t, h, e) - BASE]++ != 0;
	return twice;
}

/* The plane alone: no two elements at one place if it is accepted. */
static bool alone(uint32_t which)
{
	uint8_t marks[TRIED_BYTES] = { 0 };
	struct kvp_geometry both = g;
	int err;

	g.n_planes = 1;
	g.plane[0] = g.plane[which];
	err = kvp_geometry_check(&g, NULL);
	if (!err)
		ck_assert(!mark(&g.plane[0], marks));
	g = both;
	return !err;
}

START_TEST(test_overlap_as_tried_out)
{
	uint32_t apart = 0, overlapping = 0, i;

	random_state = 1;
	for (i = 0; i < 20000; i++) {
		uint8_t marks[TRIED_BYTES] = { 0 };
		bool overlap;

		memset(&g, 0, sizeof(g));
		memory[0] = (struct kvp_memory){ BASE, TRIED_BYTES };
		g.memory = memory;
		g.n_memory = 1;
		g.n_layers = 1;
		g.n_planes = 2;
		g.n_blocks = 1 + below(4);
		g.block_tokens = 1 + below(4);
		random_plane(&g.plane[0], KVP_ROLE_K);
		random_plane(&g.plane[1], KVP_ROLE_V);
		if (below(2)) {
			/* Two in one tensor. */
			uint64_t base = g.plane[1].base;

			g.plane[1] = g.plane[0];
			g.plane[1].role = KVP_ROLE_V;
			g.plane[1].base = base;
		}
		if (!alone(0) || !alone(1))
			continue;
		mark(&g.plane[0], marks);
		overlap = mark(&g.plane[1], marks);
		if ((kvp_geometry_check(&g, NULL) != 0) != overlap)
			ck_abort_msg("round %u: %s", i,
				     overlap ? "overlap not seen" : kvp_error()->text);
		apart += !overlap;
		overlapping += overlap;
	}
	/* Both happen often enough to mean something. */
	ck_assert_uint_ge(apart, 1000);
	ck_assert_uint_ge(overlapping, 1000);
}
END_TEST

START_TEST(test_outside_of_the_memory)
{
	const int err = -EINVAL;
	const uint32_t why = KVP_REASON_LENGTH;

	/* KRAW ends 8 bytes before the end of the last vector. */
	REFUSED(memory[0].size -= 9, err, why, 2,
		"plane 2 (kraw): layer 1: lies in [0x10780, 0x108f7]", "a range in one of 1 memory",
		memory[0].size -= 8);
	REFUSED(memory[0].base += 1, err, why, 0, "plane 0 (k): layer 0: lies in [0x10000, ",
		"a range in", );
	REFUSED((in_layers(), layer_base[1] = 0x800000 - PLANE), err, why, 1,
		"plane 1 (v): layer 1: lies in [0x800000, 0x80017f]", "a range in one of 1",
		(in_layers(), layer_base[1] = 0x800000 - PLANE, g.n_memory = 2));
	/* A layer across two allocations lies in neither, next to each other as they are. */
	REFUSED((g.n_memory = 2, memory[0].size -= LAYER + 16,
		 memory[1] = (struct kvp_memory){ memory[0].base + memory[0].size, LAYER + 16 }),
		err, why, 2, "plane 2 (kraw): layer 0", "a range in one of 2",
		(g.n_memory = 2, memory[0].size -= LAYER,
		 memory[1] = (struct kvp_memory){ memory[0].base + memory[0].size, LAYER }));
	/* Downwards from the base. */
	REFUSED((g.plane[0].block_stride = -BLOCK), err, why, 0, "layer 0: lies in [0xff00, ",
		"a range in", (g.plane[0].block_stride = -BLOCK, g.plane[0].base += 2 * BLOCK));
	/* A read-only view must lie inside, too. */
	REFUSED((g.plane[1].flags = KVP_PLANE_READONLY, g.plane[1].base = BASE - 2), err, why, 1,
		"plane 1 (v): layer 0: lies in [0xfffe, ", "a range in",
		(g.plane[1].flags = KVP_PLANE_READONLY, g.plane[1].base = BASE + 2));
}
END_TEST

START_TEST(test_beyond_64_bits)
{
	const int err = -EOVERFLOW;
	const uint32_t why = KVP_REASON_LENGTH;
	struct kvp_plane *v = &g.plane[1];

	REFUSED(v->block_stride = INT64_MAX - 1, err, why, 1, "plane 1 (v): layer 0",
		"addresses below 2^64", );
	REFUSED(v->layer_stride = INT64_MIN, err, why, 1, "plane 1 (v): layer 1",
		"addresses below 2^64", );
	REFUSED(v->base = UINT64_MAX - 1, err, why, 1, "plane 1 (v): layer 0",
		"addresses below 2^64",
		(g.n_memory = 2, v->base = UINT64_MAX - PLANE + 1,
		 memory[1] = (struct kvp_memory){ UINT64_MAX - PLANE + 1, PLANE }));
	REFUSED((in_layers(), layer_base[1] = UINT64_MAX - 1), err, why, 1,
		"plane 1 (v): layer 1", "addresses below 2^64", in_layers());
	/* In 64 bits alone this would come back to where it began. */
	REFUSED((g.n_layers = 1, g.n_blocks = 5, v->block_stride = 1LL << 62), err, why, 1,
		"plane 1 (v): layer 0", "addresses below 2^64",
		(g.n_layers = 1, g.n_blocks = 5, g.plane[2].base += PLANE, memory[0].size += PLANE));
}
END_TEST

START_TEST(test_all_read_only)
{
	REFUSED((g.n_planes = 2, g.plane[0].flags = KVP_PLANE_READONLY,
		 g.plane[1].flags = KVP_PLANE_READONLY), -EINVAL, KVP_REASON_VALUE, 0,
		"all planes are read-only", "one that rows are written to",
		(g.n_planes = 2, g.plane[1].flags = KVP_PLANE_READONLY));
}
END_TEST

/* ---- ropes ---- */

START_TEST(test_ropes)
{
	const int err = -EINVAL;
	const uint32_t why = KVP_REASON_VALUE;
	struct kvp_rope *r = &g.rope[0];

	REFUSED(r->style = KVP_NR_ROPE_STYLES, err, why, 0, "rope 0 (unknown): style 3",
		"enum kvp_rope_style", r->style = KVP_ROPE_GPTJ);
	REFUSED(r->profile = KVP_NR_PROFILES, err, why, 0, "rope 0 (neox): profile 2",
		"enum kvp_rope_profile", r->profile = KVP_PROFILE_MODEL);
	REFUSED(r->reserved[5] = 1, err, KVP_REASON_RESERVED, 0, "rope 0 (neox): reserved",
		"zeros", );
	REFUSED(r->rot_dim = 0, err, why, 0, "rope 0 (neox): rot_dim 0",
		"an even number above zero", );
	REFUSED((g.n_planes = 2, r->rot_dim = 3), err, why, 0, "rot_dim 3",
		"an even number above zero", (g.n_planes = 2, r->rot_dim = 2));
	REFUSED(r->rot_off = 3, err, why, 0, "rot_off 3", "an even number", r->rot_off = 4);
	REFUSED(r->rot_off = 6, err, why, 0, "rotates elements [6, 10)",
		"a range in the 8 of plane 0 (k)", r->rot_off = 4);
	REFUSED((g.n_planes = 1, g.plane[0].role = KVP_ROLE_LATENT), err, why, 0,
		"there is no plane that it rotates", "one of role k",
		(g.n_planes = 1, g.n_ropes = 0, g.plane[0].role = KVP_ROLE_LATENT));
	REFUSED((g.n_planes = 2, r->style = KVP_ROPE_NONE), err, why, 0, "rope 0 (none): has a table",
		"all zero", (g.n_planes = 2, *r = (struct kvp_rope){ .style = KVP_ROPE_NONE }));
	REFUSED((g.n_planes = 2, *r = (struct kvp_rope){ .profile = KVP_PROFILE_MODEL }), err, why,
		0, "rope 0 (none): has a table, range, profile", "all zero", );
	REFUSED((g.n_planes = 2, *r = (struct kvp_rope){ .axis_of_pair = axes }), err, why,
		0, "rope 0 (none): has a table, range, profile or axes", "all zero", );
}
END_TEST

/* Models whose tokens have three positions. */
START_TEST(test_axes)
{
	const int err = -EINVAL;
	const uint32_t why = KVP_REASON_VALUE;
	struct kvp_rope *r = g.rope;

	REFUSED((r->axis_of_pair = axes, axes[1] = 3), err, why, 0,
		"rope 0 (neox): axis_of_pair[1] is 3", "one of 3 positions",
		(r->axis_of_pair = axes, axes[1] = 2));
	REFUSED((g.n_ropes = 2, r[1] = r[0], g.rope_of_layer = rope_of_layer,
		 r[1].axis_of_pair = axes), err, why, 1, "rope 1 (neox): axis_of_pair is there",
		"the same as of rope 0",
		(g.n_ropes = 2, r[0].axis_of_pair = axes, r[1] = r[0],
		 g.rope_of_layer = rope_of_layer));
	REFUSED((g.n_ropes = 2, r[0].axis_of_pair = axes, r[1] = r[0],
		 g.rope_of_layer = rope_of_layer, r[1].axis_of_pair = NULL), err, why, 1,
		"rope 1 (neox): axis_of_pair is NULL", "the same as of rope 0",
		(g.n_ropes = 2, r[0].axis_of_pair = axes, r[1] = (struct kvp_rope){ 0 },
		 g.rope_of_layer = rope_of_layer));
}
END_TEST

START_TEST(test_rope_tables)
{
	const int err = -EINVAL;
	struct kvp_rope *r = &g.rope[0];

	REFUSED(r->table = NULL, err, KVP_REASON_POINTER, 0, "rope 0 (neox): table is NULL",
		"cosines and sines of 64 positions", );
	REFUSED(r->table = (const float *)((uintptr_t)table + 2), err, KVP_REASON_ALIGNMENT, 0,
		"rope 0 (neox): table at 0x", "a multiple of 4", );
	REFUSED(g.n_positions = 65, err, KVP_REASON_LENGTH, 0, "n_pos 64",
		"at least 65, the geometry's n_positions", (g.n_positions = 65, r->n_pos = 65));
	REFUSED(r->table = (const float *)(UINTPTR_MAX - 1023), err, KVP_REASON_LENGTH, 0,
		"table of 64 positions at 0xfffffffffffffc00", "an end below 2^64",
		r->table = (const float *)(UINTPTR_MAX - 1027));
}
END_TEST

START_TEST(test_ropes_of_layers)
{
	REFUSED((g.n_ropes = 2, g.rope[1] = g.rope[0]), -EINVAL, KVP_REASON_POINTER, 0,
		"rope_of_layer is NULL", "an index a layer",
		(g.n_ropes = 2, g.rope[1] = g.rope[0], g.rope_of_layer = rope_of_layer));
	REFUSED((g.rope_of_layer = rope_of_layer, rope_of_layer[1] = 1), -EINVAL, KVP_REASON_VALUE,
		1, "rope_of_layer[1] is 1", "an index below 1",
		(g.n_ropes = 2, g.rope_of_layer = rope_of_layer, rope_of_layer[1] = 1));
	REFUSED((g.n_ropes = 2, g.rope[1] = g.rope[0], g.rope_of_layer = rope_of_layer,
		 g.rope[1].rot_dim = 5), -EINVAL, KVP_REASON_VALUE, 1, "rope 1 (neox): rot_dim 5",
		"even", (g.n_ropes = 2, g.rope[1] = g.rope[0], g.rope_of_layer = rope_of_layer));
}
END_TEST

START_TEST(test_kraw)
{
	const int err = -EINVAL;
	const uint32_t why = KVP_REASON_VALUE;
	struct kvp_plane *raw = &g.plane[2];

	REFUSED(raw->flags = KVP_PLANE_OF(1), err, why, 2,
		"plane 2 (kraw): belongs to plane 1 (v)", "one of role k", );
	REFUSED(raw->n_heads = 1, err, why, 2, "plane 2 (kraw): n_heads 1",
		"2, the heads of its k", );
	REFUSED((raw->n_elems = 8, raw->vec = 8), err, why, 2, "plane 2 (kraw): n_elems 8",
		"4, the rot_dim of rope 0", );
	REFUSED((g.n_ropes = 2, g.rope[1] = g.rope[0], g.rope[1].rot_dim = 2,
		 g.rope_of_layer = rope_of_layer), err, why, 2, "n_elems 4",
		"2, the rot_dim of rope 1",
		(g.n_ropes = 2, g.rope[1] = (struct kvp_rope){ .style = KVP_ROPE_NONE },
		 g.rope_of_layer = rope_of_layer));
	/* What an engine rotates from need not be what it keeps. */
	REFUSED(raw->dtype = KVP_DTYPE_I8, err, why, 2, "plane 2 (kraw): dtype i8",
		"f32, f16 or bf16", raw->dtype = KVP_DTYPE_F16);
	REFUSED((g.plane[0].dtype = KVP_DTYPE_I8, raw->dtype = KVP_DTYPE_I8), err, why, 2,
		"dtype i8", "f32, f16 or bf16",
		(g.plane[0].dtype = KVP_DTYPE_I8, raw->dtype = KVP_DTYPE_F32));
	REFUSED(g.n_ropes = 0, err, why, 2, "plane 2 (kraw): no rope rotates its k", "one that does",
		(g.n_ropes = 0, g.n_planes = 2));
	REFUSED((g.n_planes = 4, g.plane[3] = *raw, g.plane[3].base += 8), err,
		KVP_REASON_DUPLICATE, 3, "plane 3 (kraw): a second one of plane 0", "one",
		(g.n_planes = 4, g.plane[3] = *raw, g.plane[3].base += 8,
		 g.plane[3].role = KVP_ROLE_OTHER, g.plane[3].flags = 0));
}
END_TEST

/* ---- operations ---- */

/* Accepted, but not for new positions because of @plane, as @obstacle says; with the flag refused. */
static void verbatim_only(uint32_t plane, const char *obstacle)
{
	struct kvp_geometry_facts facts;

	kvpr_ok(kvp_geometry_check(&g, &facts));
	ck_assert_uint_eq(facts.operations, KVP_CAN_VERBATIM);
	ck_assert_str_eq(facts.obstacle, obstacle);
	ck_assert_uint_eq(facts.obstacle_plane, plane);
	g.flags = KVP_GEOMETRY_REPOSITION;
	refused(-EOPNOTSUPP, KVP_REASON_VALUE, plane, obstacle, "rows that can be given new");
}

static void reposition(void)
{
	struct kvp_geometry_facts facts;

	g.flags = KVP_GEOMETRY_REPOSITION;
	kvpr_ok(kvp_geometry_check(&g, &facts));
	ck_assert_uint_eq(facts.operations, KVP_CAN_VERBATIM | KVP_CAN_REPOSITION);
	ck_assert_ptr_null(facts.obstacle);
	ck_assert_uint_eq(facts.obstacle_plane, 0);
}

START_TEST(test_rotation_needs_kraw)
{
	good();
	reposition();
	good();
	g.n_planes = 2;
	verbatim_only(0, "k is rotated, and has no kraw plane");
	good();
	g.n_planes = 2;
	g.n_ropes = 0;
	verbatim_only(0, "no rope is described");
	/* Where nothing is rotated nothing is needed. */
	good();
	g.n_planes = 2;
	g.rope[0] = (struct kvp_rope){ .style = KVP_ROPE_NONE };
	reposition();
	good();
	g.plane[0].flags = KVP_PLANE_READONLY;
	verbatim_only(0, "k is rotated, and read-only");
	good();
	g.plane[2].flags |= KVP_PLANE_READONLY;
	verbatim_only(0, "k is rotated, and its kraw plane is read-only");
}
END_TEST

/* K quantised to @dtype, with a scale plane as the fourth one; all of it is rotated. */
static void quantised(uint32_t dtype)
{
	good();
	g.plane[0].dtype = (uint8_t)dtype;
	g.plane[2] = plane(KVP_ROLE_KRAW, 2, ELEMS);
	g.plane[2].flags = KVP_PLANE_OF(0);
	g.rope[0].rot_off = 0;
	g.rope[0].rot_dim = ELEMS;
	g.plane[3] = plane(KVP_ROLE_SCALE, 3, 1);
	memory[0].size += PLANE;
	g.plane[3].dtype = KVP_DTYPE_F32;
	g.plane[3].flags = KVP_PLANE_OF(0);
	g.n_planes = 4;
}

START_TEST(test_quantised_k)
{
	static const uint32_t dtypes[] = {
		KVP_DTYPE_I8, KVP_DTYPE_FP8_E4M3, KVP_DTYPE_FP8_E5M2,
	};
	const char *no_scale =
		"k is rotated and quantised, and has no scale plane of one f32 a token and head";

	quantised(dtypes[_i]);
	reposition();
	quantised(dtypes[_i]);
	g.n_planes = 2;
	verbatim_only(0, "k is rotated and quantised, and has no kraw plane");
	quantised(dtypes[_i]);
	g.n_planes = 3;
	verbatim_only(0, no_scale);
	quantised(dtypes[_i]);
	g.plane[3].dtype = KVP_DTYPE_F16;
	verbatim_only(0, no_scale);
	quantised(dtypes[_i]);
	g.plane[3].n_elems = 2;
	g.plane[3].vec = 2;
	verbatim_only(0, no_scale);
	quantised(dtypes[_i]);
	g.plane[3].n_heads = 1;
	verbatim_only(0, no_scale);
	quantised(dtypes[_i]);
	g.plane[3].flags = KVP_PLANE_OF(1);
	verbatim_only(0, no_scale);
	quantised(dtypes[_i]);
	g.plane[3].flags |= KVP_PLANE_READONLY;
	verbatim_only(0, no_scale);
	quantised(dtypes[_i]);
	g.plane[2].n_elems = ROTATED;
	g.plane[2].vec = ROTATED;
	g.rope[0].rot_dim = ROTATED;
	verbatim_only(0, "k is rotated in part and quantised: the rest has no value that could be quantised again");
}
END_TEST

START_TEST(test_k_of_unknown_format)
{
	quantised(KVP_DTYPE_OPAQUE8);
	verbatim_only(0, "k is rotated, and of a format that only the engine knows");
}
END_TEST

/* MLA rows of 584 bytes: with the rotated part in bf16, and with it in fp8. */
START_TEST(test_quantised_rope_part)
{
	struct kvp_layout_shape shape = {
		.n_layers = LAYERS, .n_blocks = BLOCKS, .block_tokens = TOKENS,
		.layer_base = layer_base, .memory = memory, .n_memory = 1,
	};
	const struct kvp_rope rope = {
		.table = table, .n_pos = 4, .rot_dim = 64, .style = KVP_ROPE_GPTJ,
	};
	const uint64_t row = 584;

	good();
	layer_base[1] = BASE + BLOCKS * TOKENS * row;
	memory[0].size = 1 << 20;
	kvpr_ok(kvp_geometry_layout(&g, KVP_LAYOUT_FLASHMLA_V4, &shape));
	g.n_ropes = 1;
	g.n_positions = 4;
	g.rope[0] = rope;
	verbatim_only(1, "k is rotated, and has no kraw plane");

	g.flags = 0;
	g.plane[3] = g.plane[1];
	g.plane[3].base = 1 << 18;
	g.plane[3].role = KVP_ROLE_KRAW;
	g.plane[3].flags = KVP_PLANE_OF(1);
	g.n_planes = 4;
	reposition();

	g.n_planes = 3;
	g.flags = 0;
	g.plane[1].dtype = KVP_DTYPE_FP8_E4M3;
	verbatim_only(1, "k is rotated and quantised, and has no kraw plane");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("geometry_check");
	TCase *tc = tcase_create("check");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_good);
	tcase_add_test(tc, test_names);
	tcase_add_test(tc, test_counts);
	tcase_add_test(tc, test_flags_that_are_none);
	tcase_add_test(tc, test_memory);
	tcase_add_test(tc, test_kinds_that_are_none);
	tcase_add_test(tc, test_vectors);
	tcase_add_test(tc, test_alignment);
	tcase_add_test(tc, test_elements_that_overlap);
	tcase_add_test(tc, test_planes_that_overlap);
	tcase_add_test(tc, test_layers_that_overlap);
	tcase_add_test(tc, test_planes_too_odd_to_compare);
	tcase_add_test(tc, test_overlap_as_tried_out);
	tcase_add_test(tc, test_outside_of_the_memory);
	tcase_add_test(tc, test_beyond_64_bits);
	tcase_add_test(tc, test_all_read_only);
	tcase_add_test(tc, test_ropes);
	tcase_add_test(tc, test_rope_tables);
	tcase_add_test(tc, test_axes);
	tcase_add_test(tc, test_ropes_of_layers);
	tcase_add_test(tc, test_kraw);
	tcase_add_test(tc, test_rotation_needs_kraw);
	tcase_add_loop_test(tc, test_quantised_k, 0, 3);
	tcase_add_test(tc, test_k_of_unknown_format);
	tcase_add_test(tc, test_quantised_rope_part);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

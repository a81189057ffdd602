// SPDX-License-Identifier: MIT
/*
 * kvp_rope_rotate(): the K that an engine writes is, in bits, the one that moves make, whatever
 * the process has done to its floating-point unit; it is not what two rotations give; quantised
 * K is off by half a step at most. And what is refused.
 */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "moves.h"
#include "pools.h"
#include "random.h"

#define LAYERS	2
#define HEADS	3
#define ELEMS	48
#define TOKENS	20

static const uint32_t floats[] = { KVP_DTYPE_F32, KVP_DTYPE_F16, KVP_DTYPE_BF16 };
static const uint32_t k_dtypes[] = {
	KVP_DTYPE_F32, KVP_DTYPE_F16, KVP_DTYPE_BF16, KVP_DTYPE_I8, KVP_DTYPE_FP8_E4M3,
	KVP_DTYPE_FP8_E5M2,
};

static bool is_quantised(uint32_t dtype)
{
	return dtype > KVP_DTYPE_BF16;
}

/* ---- as the moves ---- */

/* All heads of a token by one call, into memory with gaps between the heads. */
static void expect_token(struct kvpr_rows *rows, const struct kvpr_shape *s, uint32_t token,
			 uint32_t layer)
{
	uint32_t k_bytes = kvp_dtype_bytes(s->k_dtype), raw_bytes = kvp_dtype_bytes(s->raw_dtype);
	uint32_t want[ELEMS], h, e, p, place = token * LAYERS + layer;
	_Alignas(64) uint8_t raw[HEADS * (ELEMS + 16) * 4], k[HEADS * (ELEMS + 16) * 4];
	float scale[HEADS], want_scale = 0;
	struct kvp_rope_row row = {
		.rope = kvpr_rows_rope(rows), .raw = raw, .k = k,
		.scale = is_quantised(s->k_dtype) ? scale : NULL, .n_heads = HEADS,
		.n_elems = s->n_elems, .raw_dtype = s->raw_dtype, .k_dtype = s->k_dtype,
	};
	uint32_t raw_gap = place % 3 * raw_bytes, k_gap = place % 2 * 16 * k_bytes;

	if (raw_gap)
		row.raw_stride = s->rot_dim * raw_bytes + raw_gap;
	if (k_gap)
		row.k_stride = s->n_elems * k_bytes + k_gap;
	memset(k, 0x5a, sizeof(k));
	for (h = 0; h < HEADS; h++) {
		uint8_t *head = raw + h * (s->rot_dim * raw_bytes + raw_gap);

		for (e = 0; e < s->rot_dim; e++)
			kvpr_element_set(s->raw_dtype, head + e * raw_bytes,
					 kvpr_rows_raw(rows, token, layer, h)[e]);
	}
	kvpr_ok(kvp_rope_rotate(&row, kvpr_rows_position(rows, token)));
	for (h = 0; h < HEADS; h++) {
		const uint8_t *got = k + h * (s->n_elems * k_bytes + k_gap);

		kvpr_rows_expected(rows, token, layer, h, want, &want_scale);
		for (e = 0; e < s->n_elems; e++) {
			bool in = e >= s->rot_off && e < s->rot_off + s->rot_dim;
			uint32_t bits = kvpr_element_bits(s->k_dtype, got + e * k_bytes);

			if (bits != (in ? want[e] : 0x5a5a5a5a >> (32 - 8 * k_bytes)))
				ck_abort_msg("head %u, element %u is %#x, expected %#x", h, e, bits,
					     want[e]);
		}
		for (p = 0; p < k_gap; p++)
			ck_assert_uint_eq(got[s->n_elems * k_bytes + p], 0x5a);
		if (row.scale)
			ck_assert_mem_eq(&scale[h], &want_scale, sizeof(want_scale));
	}
}

static struct kvpr_shape shape_of(uint32_t raw, uint32_t k, uint32_t style, uint32_t profile)
{
	return (struct kvpr_shape){
		.block_tokens = 4, .tokens = TOKENS, .layers = LAYERS, .heads = HEADS,
		.n_elems = ELEMS, .rot_off = is_quantised(k) ? 0 : 8,
		.rot_dim = is_quantised(k) ? ELEMS : 36, .raw_dtype = raw, .k_dtype = k,
		.style = style, .profile = profile, .odd = true, .axes = style == profile ? 3 : 1,
	};
}

static void expect_all(uint32_t raw, uint32_t k, uint32_t style, uint32_t profile)
{
	struct kvpr_shape shape = shape_of(raw, k, style, profile);
	__u64 state = raw * 100 + k * 10 + style + profile;
	struct kvpr_rows *rows = kvpr_rows_make(&shape, &state);
	uint32_t i;

	for (i = 0; i < TOKENS * LAYERS; i++)
		expect_token(rows, &shape, i / LAYERS, i % LAYERS);
	kvpr_rows_drop(rows);
}

static void expect_every_kind(void)
{
	uint32_t r, k, style, profile;

	for (r = 0; r < 3; r++)
	for (k = 0; k < 6; k++)
	for (style = KVP_ROPE_NEOX; style <= KVP_ROPE_GPTJ; style++)
	for (profile = 0; profile < KVP_NR_PROFILES; profile++)
		expect_all(floats[r], k_dtypes[k], style, profile);
}

START_TEST(test_as_moves)
{
	static const char *const names[] = { "scalar", "avx2", "avx512" };

	if (!kvpr_cpu_take(names[_i], true))
		return;
	expect_every_kind();
	kvpr_cpu_reset();
}
END_TEST

#ifdef __x86_64__
/* Subnormals flushed, rounding downwards, exceptions that trap: none of it is seen. */
START_TEST(test_whatever_the_process_set)
{
	static const uint32_t set[] = { 0x9fc0, 0x3f80, 0x5f80, 0x7f80, 0xffc0, 0x8040 };
	static const char *const names[] = { "scalar", "avx2", "avx512" };
	struct kvpr_shape shape = shape_of(KVP_DTYPE_F32, KVP_DTYPE_BF16, KVP_ROPE_NEOX, 0);
	uint32_t was = _mm_getcsr(), i, n, e;
	float raw[36], k[ELEMS], want[ELEMS];
	__u64 state = 8;
	struct kvpr_rows *rows = kvpr_rows_make(&shape, &state);
	struct kvp_rope_row row = {
		.rope = kvpr_rows_rope(rows), .raw = raw, .k = want, .n_heads = 1,
		.n_elems = ELEMS, .raw_dtype = KVP_DTYPE_F32, .k_dtype = KVP_DTYPE_F32,
	};
	const uint32_t position[3] = { 7, 8, 9 };

	memset(want, 0, sizeof(want));
	memset(k, 0, sizeof(k));
	for (e = 0; e < 36; e++)
		raw[e] = ldexpf(1.0f + (float)e / 37, -120 - (int)e);
	kvpr_ok(kvp_rope_rotate(&row, position));
	row.k = k;
	for (n = 0; n < 3; n++)
	for (i = 0; i < sizeof(set) / sizeof(set[0]); i++) {
		uint32_t left;
		int err;

		if (!kvpr_cpu_take(names[n], false))
			continue;
		memset(k, 0, sizeof(k));
		_mm_setcsr(set[i]);
		err = kvp_rope_rotate(&row, position);
		left = _mm_getcsr();
		_mm_setcsr(was);
		ck_assert_int_eq(err, 0);
		ck_assert_uint_eq(left, set[i]);
		ck_assert_mem_eq(k, want, sizeof(k));
	}
	kvpr_cpu_reset();
	kvpr_rows_drop(rows);
}
END_TEST
#endif

/* ---- once, not twice ---- */

/* The same elements are KRAW and K. */
START_TEST(test_in_place)
{
	uint32_t style, d, e;

	for (d = 0; d < 3; d++)
	for (style = KVP_ROPE_NEOX; style <= KVP_ROPE_GPTJ; style++) {
		struct kvpr_shape shape = shape_of(floats[d], floats[d], style, 0);
		__u64 state = 9;
		struct kvpr_rows *rows = kvpr_rows_make(&shape, &state);
		uint32_t bytes = kvp_dtype_bytes(floats[d]), want[ELEMS];
		uint8_t k[ELEMS * 4] = { 0 };
		struct kvp_rope_row row = {
			.rope = kvpr_rows_rope(rows), .raw = k + 8 * bytes, .k = k, .n_heads = 1,
			.n_elems = ELEMS, .raw_dtype = floats[d], .k_dtype = floats[d],
		};

		for (e = 0; e < 36; e++)
			kvpr_element_set(floats[d], k + (8 + e) * bytes,
					 kvpr_rows_raw(rows, 11, 0, 0)[e]);
		kvpr_ok(kvp_rope_rotate(&row, kvpr_rows_position(rows, 11)));
		kvpr_rows_expected(rows, 11, 0, 0, want, NULL);
		for (e = 8; e < 44; e++)
			ck_assert_uint_eq(kvpr_element_bits(floats[d], k + e * bytes), want[e]);
		kvpr_rows_drop(rows);
	}
}
END_TEST

static double number_at(uint32_t dtype, const void *at)
{
	return kvpr_number(dtype, kvpr_element_bits(dtype, at));
}

/* What llama.cpp's shift does: the old K turned on by the difference. It is not the same. */
START_TEST(test_twice_is_not_once)
{
	struct kvpr_shape shape = shape_of(floats[_i], floats[_i], KVP_ROPE_NEOX, 0);
	__u64 state = 10;
	struct kvpr_rows *rows;
	struct kvp_rope_row row;
	uint8_t raw[36 * 4], once[36 * 4], twice[36 * 4];
	const uint32_t old = 6, delta = 5, now = old + delta;
	double norm_raw = 0, norm_once = 0, norm_twice = 0;
	uint32_t bytes = kvp_dtype_bytes(floats[_i]), other = 0, e;
	struct kvp_rope rope;

	shape.odd = false;
	shape.axes = 1;
	rows = kvpr_rows_make(&shape, &state);
	rope = *kvpr_rows_rope(rows);
	rope.rot_off = 0;
	row = (struct kvp_rope_row){
		.rope = &rope, .raw = raw, .n_heads = 1, .n_elems = 36, .raw_dtype = floats[_i],
		.k_dtype = floats[_i],
	};
	for (e = 0; e < 36; e++)
		kvpr_element_set(floats[_i], raw + e * bytes, kvpr_rows_raw(rows, 0, 0, 0)[e]);
	row.k = once;
	kvpr_ok(kvp_rope_rotate(&row, &now));
	row.k = twice;
	kvpr_ok(kvp_rope_rotate(&row, &old));
	row.raw = twice;
	kvpr_ok(kvp_rope_rotate(&row, &delta));
	for (e = 0; e < 36; e++) {
		double r = number_at(floats[_i], raw + e * bytes);
		double o = number_at(floats[_i], once + e * bytes);
		double t = number_at(floats[_i], twice + e * bytes);

		other += o != t;
		norm_raw += r * r;
		norm_once += o * o;
		norm_twice += t * t;
	}
	/* Other bits; and the table's factor counts twice. */
	ck_assert_uint_ge(other, 30);
	ck_assert(fabs(sqrt(norm_once / norm_raw) - 1.0693) < 0.01);
	ck_assert(fabs(sqrt(norm_twice / norm_raw) - 1.0693 * 1.0693) < 0.01);
	kvpr_rows_drop(rows);
}
END_TEST

/* ---- quantised ---- */

/* Half the distance from @q to its neighbours, at most, in units of the scale. */
static double half_step(uint32_t dtype, double q)
{
	int fraction = dtype == KVP_DTYPE_FP8_E4M3 ? 3 : 2;
	int lowest = dtype == KVP_DTYPE_FP8_E4M3 ? -6 : -14, exponent;

	if (dtype == KVP_DTYPE_I8)
		return 0.5;
	exponent = q == 0 ? lowest : ilogb(q);
	return ldexp(0.5, (exponent < lowest ? lowest : exponent) - fraction);
}

START_TEST(test_half_a_step)
{
	uint32_t dtype = k_dtypes[3 + _i], i, h, e, quantised[ELEMS];
	struct kvpr_shape shape = shape_of(KVP_DTYPE_F32, dtype, KVP_ROPE_NEOX, 0);
	__u64 state = 12;
	struct kvpr_rows *rows;
	float k[ELEMS], raw[ELEMS], scale;
	struct kvp_rope_row row = {
		.raw = raw, .k = k, .n_heads = 1, .n_elems = ELEMS, .raw_dtype = KVP_DTYPE_F32,
		.k_dtype = KVP_DTYPE_F32,
	};
	double largest = 0;

	shape.odd = false;
	rows = kvpr_rows_make(&shape, &state);
	row.rope = kvpr_rows_rope(rows);
	for (i = 0; i < TOKENS; i++)
	for (h = 0; h < HEADS; h++) {
		memcpy(raw, kvpr_rows_raw(rows, i, 0, h), sizeof(raw));
		kvpr_ok(kvp_rope_rotate(&row, kvpr_rows_position(rows, i)));
		kvpr_rows_expected(rows, i, 0, h, quantised, &scale);
		for (e = 0; e < ELEMS; e++) {
			double q = kvpr_number(dtype, quantised[e]);
			double error = fabs(q - k[e] / (double)scale) / half_step(dtype, q);

			/* The quotient was rounded to f32 before. */
			ck_assert(error < 1.00001);
			largest = error > largest ? error : largest;
		}
	}
	ck_assert(largest > 0.9);
	kvpr_rows_drop(rows);
}
END_TEST

/* Zeros, what is nearly zero, and what is no number. */
START_TEST(test_scales_at_the_edge)
{
	static const float table[] = { 1, 1, 0, 0 };
	const struct kvp_rope rope = {
		.table = table, .n_pos = 1, .rot_dim = 4, .style = KVP_ROPE_GPTJ,
	};
	float raw[4] = { 0, -0.0f, 0, 0 }, scale = 5;
	uint8_t k[4];
	const struct kvp_rope_row row = {
		.rope = &rope, .raw = raw, .k = k, .scale = &scale, .n_heads = 1, .n_elems = 4,
		.raw_dtype = KVP_DTYPE_F32, .k_dtype = KVP_DTYPE_FP8_E4M3,
	};
	const uint32_t position = 0;
	uint32_t bits;

	kvpr_ok(kvp_rope_rotate(&row, &position));
	ck_assert(scale == 0x1p-126f);
	ck_assert(!(k[0] & 0x7f) && !(k[1] & 0x7f) && !(k[2] & 0x7f) && !(k[3] & 0x7f));
	raw[2] = 0x1p-126f;
	kvpr_ok(kvp_rope_rotate(&row, &position));
	ck_assert(scale == 0x1p-126f);
	ck_assert_uint_eq(k[2], 0x38);		/* 1 */
	raw[0] = 448;
	raw[3] = -448;
	kvpr_ok(kvp_rope_rotate(&row, &position));
	ck_assert(scale == 1);
	ck_assert_uint_eq(k[0], 0x7e);
	ck_assert_uint_eq(k[3], 0xfe);
	raw[1] = INFINITY;
	kvpr_ok(kvp_rope_rotate(&row, &position));
	memcpy(&bits, &scale, sizeof(bits));
	ck_assert_uint_eq(bits, 0x7fffffff);
	ck_assert(!k[0] && !k[1] && !k[2] && !k[3]);
}
END_TEST

/* ---- refused ---- */

START_TEST(test_refused)
{
	static const float table[64];
	static const uint8_t axes[] = { 0, 3 };
	static const struct kvp_rope good_rope = {
		.table = table, .n_pos = 4, .rot_off = 2, .rot_dim = 4, .style = KVP_ROPE_NEOX,
	};
	float raw[8] = { 0 }, k[8] = { 0 }, scale;
	struct kvp_rope rope = good_rope;
	const struct kvp_rope_row good = {
		.rope = &rope, .raw = raw, .k = k, .n_heads = 1, .n_elems = 6,
		.raw_dtype = KVP_DTYPE_F32, .k_dtype = KVP_DTYPE_F32,
	};
	struct kvp_rope_row row = good;
	uint32_t position = 3;

#define REFUSED(change, err, why, words)					\
do {										\
	change;									\
	kvpr_expect(kvp_rope_rotate(&row, &position), err, why);		\
	kvpr_says(words);							\
	row = good;								\
	rope = good_rope;							\
	position = 3;								\
	kvpr_ok(kvp_rope_rotate(&row, &position));				\
} while (0)

	kvpr_expect(kvp_rope_rotate(NULL, &position), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_rope_rotate(&row, NULL), -EINVAL, KVP_REASON_POINTER);
	REFUSED(row.rope = NULL, -EINVAL, KVP_REASON_POINTER, "rope is NULL");
	REFUSED(row.raw = NULL, -EINVAL, KVP_REASON_POINTER, "raw is NULL");
	REFUSED(row.k = NULL, -EINVAL, KVP_REASON_POINTER, "k is NULL");
	REFUSED(rope.table = NULL, -EINVAL, KVP_REASON_POINTER, "table is NULL");
	REFUSED(row.scale = &scale, -EINVAL, KVP_REASON_POINTER, "scale");
	REFUSED(row.k_dtype = KVP_DTYPE_I8, -EINVAL, KVP_REASON_POINTER, "scale is NULL");
	REFUSED((row.k_dtype = KVP_DTYPE_I8, row.scale = &scale), -EOPNOTSUPP, KVP_REASON_VALUE,
		"n_elems of quantised K 6");
	REFUSED(rope.style = KVP_ROPE_NONE, -EINVAL, KVP_REASON_VALUE, "style 0");
	REFUSED(rope.style = KVP_NR_ROPE_STYLES, -EINVAL, KVP_REASON_VALUE, "style 3");
	REFUSED(rope.profile = KVP_NR_PROFILES, -EINVAL, KVP_REASON_VALUE, "profile 2");
	REFUSED(rope.reserved[0] = 1, -EINVAL, KVP_REASON_RESERVED, "reserved");
	REFUSED(rope.rot_dim = 3, -EINVAL, KVP_REASON_VALUE, "rot_dim 3");
	REFUSED(rope.axis_of_pair = axes, -EINVAL, KVP_REASON_VALUE, "axis_of_pair 3");
	REFUSED(row.n_heads = 0, -EINVAL, KVP_REASON_COUNT, "n_heads 0");
	REFUSED(row.n_elems = 0, -EINVAL, KVP_REASON_COUNT, "n_elems 0");
	REFUSED(row.n_elems = 5, -EINVAL, KVP_REASON_LENGTH, "n_elems 5");
	REFUSED(row.raw_dtype = KVP_DTYPE_I8, -EINVAL, KVP_REASON_VALUE, "raw_dtype 4");
	REFUSED(row.k_dtype = KVP_DTYPE_OPAQUE8, -EINVAL, KVP_REASON_VALUE, "k_dtype 7");
	REFUSED(position = 4, -EINVAL, KVP_REASON_VALUE,
		"position 4: expected one of the table's 4");
}
END_TEST

/* The variant that the environment names, or an error. */
START_TEST(test_environment)
{
	static const float table[] = { 1, 1, 0, 0 };
	static const struct kvp_rope rope = {
		.table = table, .n_pos = 1, .rot_dim = 4, .style = KVP_ROPE_NEOX,
	};
	float raw[4] = { 1, 2, 3, 4 }, k[4];
	const struct kvp_rope_row row = {
		.rope = &rope, .raw = raw, .k = k, .n_heads = 1, .n_elems = 4,
		.raw_dtype = KVP_DTYPE_F32, .k_dtype = KVP_DTYPE_F32,
	};
	const uint32_t position = 0;

	setenv("KVPOOL_CPU", "abacus", 1);
	kvpr_cpu_reset();
	kvpr_expect(kvp_rope_rotate(&row, &position), -EINVAL, KVP_REASON_VALUE);
	kvpr_says("KVPOOL_CPU=abacus: expected scalar, avx2 or avx512");
	setenv("KVPOOL_CPU", "scalar", 1);
	kvpr_ok(kvp_rope_rotate(&row, &position));
	ck_assert_mem_eq(k, raw, sizeof(k));
	unsetenv("KVPOOL_CPU");
	kvpr_cpu_reset();
	kvpr_ok(kvp_rope_rotate(&row, &position));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("rope_rotate");
	TCase *tc = tcase_create("rotate");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, test_as_moves, 0, 3);
#ifdef __x86_64__
	tcase_add_test(tc, test_whatever_the_process_set);
#endif
	tcase_add_test(tc, test_in_place);
	tcase_add_loop_test(tc, test_twice_is_not_once, 0, 3);
	tcase_add_loop_test(tc, test_half_a_step, 0, 3);
	tcase_add_test(tc, test_scales_at_the_edge);
	tcase_add_test(tc, test_refused);
	tcase_add_test(tc, test_environment);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

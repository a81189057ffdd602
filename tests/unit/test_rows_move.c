// SPDX-License-Identifier: MIT
/*
 * Spans that leave the middle of a sequence: of every survivor K is, in bits, one rotation of its
 * KRAW to where it stands now, all else is what it was, and no other byte has changed. For
 * every kind of K and KRAW, style, profile, block size and nesting of the tensors; by every
 * variant, number of threads, and place.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "pools.h"
#include "random.h"
#include "moves.h"

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

static const uint32_t block_sizes[] = { 1, 4, 16, 17, 64 };
static const uint32_t floats[] = { KVP_DTYPE_F32, KVP_DTYPE_F16, KVP_DTYPE_BF16 };
static const uint32_t k_dtypes[] = {
	KVP_DTYPE_F32, KVP_DTYPE_F16, KVP_DTYPE_BF16, KVP_DTYPE_I8, KVP_DTYPE_FP8_E4M3,
	KVP_DTYPE_FP8_E5M2,
};

static const char *const variants[] = { "scalar", "avx2", "avx512" };

/* Random spans, at no border of blocks but by chance, until little is left. */
static void evict_spans(struct kvpr_rows *rows, __u64 *seed, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr && kvpr_rows_nr(rows) > 8; i++) {
		uint32_t left = kvpr_rows_nr(rows), from = kvpt_below(seed, left - 2);
		uint32_t to = from + 1 + kvpt_below(seed, (left - from) / 3 + 1);
		const struct kvpr_how how = {
			.threads = 1 + kvpt_below(seed, 4) / 2 * 2,
			.in_place = kvpt_below(seed, 2),
			.keep = !kvpt_below(seed, 6),
		};

		kvpr_rows_evict(rows, from, to, &how);
		kvpr_rows_check(rows);
	}
}

/* Some whole blocks and a part of one. */
static uint32_t tokens_of(uint32_t block_tokens)
{
	return 24 + 2 * block_tokens / 3 * 2;
}

/*
 * The same sequence and the same spans for every variant that this processor has; past the caches
 * with every other seed, AVX2 with those where AVX-512 is not.
 */
static void by_every_variant(const struct kvpr_shape *shape, uint64_t seed, uint32_t nr)
{
	uint32_t i, ran = 0;

	for (i = 0; i < ARRAY_SIZE(variants); i++) {
		__u64 state = seed;
		struct kvpr_rows *rows;

		if (!kvpr_cpu_take(variants[i], (seed + i) % 2))
			continue;
		rows = kvpr_rows_make(shape, &state);
		evict_spans(rows, &state, nr);
		kvpr_rows_drop(rows);
		ran++;
	}
	kvpr_cpu_reset();
	ck_assert_uint_ge(ran, 1);
}

/* Every pair of dtypes, style and profile; sizes that vectors divide and that they do not. */
START_TEST(test_kinds)
{
	static const uint32_t sizes[] = { 64, 22, 40 };
	uint32_t style, profile, i, r, k;

	for (r = 0; r < ARRAY_SIZE(floats); r++)
	for (k = 0; k < ARRAY_SIZE(k_dtypes); k++)
	for (style = KVP_ROPE_NEOX; style <= KVP_ROPE_GPTJ; style++)
	for (profile = 0; profile < KVP_NR_PROFILES; profile++) {
		struct kvpr_shape shape = {
			.block_tokens = block_sizes[_i], .tokens = tokens_of(block_sizes[_i]),
			.layers = 2, .heads = 2, .raw_dtype = floats[r],
			.k_dtype = k_dtypes[k], .style = style, .profile = profile, .odd = true,
		};

		i = (r + k + style + profile) % ARRAY_SIZE(sizes);
		shape.n_elems = sizes[i];
		shape.rot_dim = sizes[i];
		by_every_variant(&shape, (uint64_t)(_i * 101 + r * 10 + k), 2);
	}
}
END_TEST

/* Part of K is rotated, the rest comes along; in each layer as its rope says. */
START_TEST(test_partial)
{
	uint32_t style, r, k;

	for (r = 0; r < ARRAY_SIZE(floats); r++)
	for (k = 0; k < ARRAY_SIZE(floats); k++)
	for (style = KVP_ROPE_NEOX; style <= KVP_ROPE_GPTJ; style++) {
		struct kvpr_shape shape = {
			.block_tokens = block_sizes[_i], .tokens = tokens_of(block_sizes[_i]),
			.layers = 3, .heads = 2, .n_elems = 48, .rot_off = 8, .rot_dim = 32,
			.raw_dtype = floats[r],
			.k_dtype = floats[k], .style = style, .profile = r % KVP_NR_PROFILES,
			.mixed = true,
		};

		by_every_variant(&shape, (uint64_t)(_i * 101 + r * 10 + k), 3);
	}
}
END_TEST

/* How the tensors are nested: for a part of them rows are moved element by element. */
static const struct {
	const char *order, *order_v, *backwards;
	uint32_t run, pad;
} nestings[] = {
	{ "LBNHD", "LBNHD", "", 0, 0 },
	{ "LBHND", "LBHND", "", 0, 0 },
	{ "BHLND", "BLHND", "", 0, 0 },
	{ "LHBND", "HLBND", "", 0, 8 },
	{ "BLNHD", "LBNHD", "", 0, 5 },
	{ "LBHDND", "LBHDN", "", 8, 0 },		/* PagedAttention */
	{ "LBNHDD", "LHDBN", "", 4, 4 },
	{ "LBHDN", "LBHDN", "", 0, 0 },
	{ "LBNHD", "LBNHD", "BH", 0, 0 },
	{ "LBHND", "LBHND", "LN", 0, 0 },
	{ "LBHDN", "LBHDN", "NB", 0, 0 },
};

START_TEST(test_nestings)
{
	uint32_t n, style;

	for (n = 0; n < ARRAY_SIZE(nestings); n++)
	for (style = KVP_ROPE_NEOX; style <= KVP_ROPE_GPTJ; style++) {
		struct kvpr_shape shape = {
			.order = nestings[n].order, .order_v = nestings[n].order_v,
			.backwards = nestings[n].backwards, .run = nestings[n].run,
			.pad = nestings[n].pad, .block_tokens = block_sizes[_i],
			.tokens = tokens_of(block_sizes[_i]),
			.layers = 2, .heads = 3, .n_elems = 32, .rot_dim = n % 2 ? 32 : 24,
			.raw_dtype = KVP_DTYPE_F16, .k_dtype = KVP_DTYPE_BF16, .style = style,
		};

		by_every_variant(&shape, (uint64_t)(1000 + _i * 101) + n + style, 4);
	}
}
END_TEST

/* MLA: one head of K (or some), all of it rotated, beside a latent of bytes; and quantised K. */
START_TEST(test_mla)
{
	uint32_t k;

	for (k = 0; k < ARRAY_SIZE(k_dtypes); k++) {
		struct kvpr_shape shape = {
			.block_tokens = block_sizes[_i], .tokens = tokens_of(block_sizes[_i]),
			.layers = 3, .heads = k % 2 ? 4 : 1, .n_elems = 64, .rot_dim = 64,
			.raw_dtype = KVP_DTYPE_BF16,
			.k_dtype = k_dtypes[k], .style = KVP_ROPE_GPTJ, .latent = true,
		};

		by_every_variant(&shape, (uint64_t)(2000 + _i * 101) + k, 4);
	}
}
END_TEST

/* M-RoPE: three positions a token, said or not. */
START_TEST(test_three_positions)
{
	uint32_t k, style;

	for (k = 0; k < ARRAY_SIZE(floats); k++)
	for (style = KVP_ROPE_NEOX; style <= KVP_ROPE_GPTJ; style++) {
		struct kvpr_shape shape = {
			.block_tokens = block_sizes[_i], .tokens = 100, .layers = 2, .heads = 2,
			.n_elems = 40, .rot_dim = 40, .raw_dtype = KVP_DTYPE_F32,
			.k_dtype = floats[k], .style = style, .axes = 3,
		};

		by_every_variant(&shape, (uint64_t)(3000 + _i * 101) + k + style, 4);
	}
}
END_TEST

/* A hundred evictions in a row leave no trace: K is what one rotation gives. */
START_TEST(test_no_drift)
{
	const struct kvpr_shape shape = {
		.block_tokens = block_sizes[_i], .tokens = 420, .layers = 1, .heads = 2,
		.n_elems = 64, .rot_dim = 64, .raw_dtype = KVP_DTYPE_BF16,
		.k_dtype = KVP_DTYPE_BF16, .style = KVP_ROPE_NEOX,
	};
	__u64 state = 4000 + (uint64_t)_i;
	struct kvpr_rows *rows = kvpr_rows_make(&shape, &state);
	uint32_t i;

	for (i = 0; i < 100; i++) {
		uint32_t left = kvpr_rows_nr(rows), from = kvpt_below(&state, left - 10);
		const struct kvpr_how how = { .threads = 1, .in_place = i % 2 };

		kvpr_rows_evict(rows, from, from + 1 + kvpt_below(&state, 4), &how);
	}
	kvpr_rows_check(rows);
	kvpr_rows_drop(rows);
}
END_TEST

/* Other positions at the same place. */
START_TEST(test_shift)
{
	const struct kvpr_shape shape = {
		.block_tokens = block_sizes[_i], .tokens = 90, .layers = 2, .heads = 2,
		.n_elems = 48, .rot_off = 16, .rot_dim = 32, .raw_dtype = KVP_DTYPE_F16,
		.k_dtype = KVP_DTYPE_F16, .style = KVP_ROPE_GPTJ, .profile = KVP_PROFILE_MODEL,
	};
	__u64 state = 5000 + (uint64_t)_i;
	struct kvpr_rows *rows = kvpr_rows_make(&shape, &state);
	uint32_t i;

	for (i = 0; i < 3; i++) {
		kvpr_rows_shift(rows, &state, 1 + 3 * (i % 2));
		kvpr_rows_check(rows);
	}
	kvpr_rows_drop(rows);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("rows_move");
	TCase *tc = tcase_create("move");
	int sizes = (int)ARRAY_SIZE(block_sizes);

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, test_kinds, 0, sizes);
	tcase_add_loop_test(tc, test_partial, 0, sizes);
	tcase_add_loop_test(tc, test_nestings, 0, sizes);
	tcase_add_loop_test(tc, test_mla, 0, sizes);
	tcase_add_loop_test(tc, test_three_positions, 0, sizes);
	tcase_add_loop_test(tc, test_no_drift, 0, sizes);
	tcase_add_loop_test(tc, test_shift, 0, sizes);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

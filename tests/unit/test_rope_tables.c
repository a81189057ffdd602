// SPDX-License-Identifier: MIT
/*
 * Tables of RoPE: frequencies and entries of real models against values that were worked out
 * with 80 digits by tests/data/make_rope_values; what must hold between tables, bit for bit; that
 * settings of the floating-point unit do not matter; sections of M-RoPE.
 */
#include <check.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "pools.h"

/* ---- values of real models ------------------------------------------------------------ */

struct entry {
	uint32_t position;
	uint32_t pair;
	uint32_t cosine;
	uint32_t sine;
};

static const struct known {
	const char *name;
	struct kvp_rope_params params;
	double attention_factor;
	const double *inv_freq;
	uint32_t nr_entries;
	const struct entry *entries;
} known[] = {
#include "../data/rope_values.inc"
};

#define NR_KNOWN	(sizeof(known) / sizeof(known[0]))
#define MAX_DIM		256

static uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* Values that lie between the two, and one: neighbours have 1. Zeros are one value. */
static int64_t steps(uint32_t a, uint32_t b)
{
	int64_t x = a & 0x80000000 ? -(int64_t)(a & 0x7fffffff) : (int64_t)a;
	int64_t y = b & 0x80000000 ? -(int64_t)(b & 0x7fffffff) : (int64_t)b;

	return llabs(x - y);
}

/* The entries are all the nearest f32; were one not, it would have to be next to it. */
START_TEST(test_entries_of_models)
{
	const struct known *model = &known[_i];
	uint32_t half = model->params.rot_dim / 2;
	float row[MAX_DIM];
	uint32_t unequal = 0;
	uint32_t i;

	for (i = 0; i < model->nr_entries; i++) {
		const struct entry *entry = &model->entries[i];
		int64_t of_cosine, of_sine;

		kvpr_ok(kvp_rope_table(&model->params, entry->position, 1, row));
		of_cosine = steps(bits_of(row[entry->pair]), entry->cosine);
		of_sine = steps(bits_of(row[half + entry->pair]), entry->sine);
		unequal += (of_cosine != 0) + (of_sine != 0);
		if (of_cosine > 1 || of_sine > 1)
			ck_abort_msg("%s: position %u, pair %u: %a %a, expected %08x %08x",
				     model->name, entry->position, entry->pair, row[entry->pair],
				     row[half + entry->pair], entry->cosine, entry->sine);
	}
	printf("%s: %u of %u values are not the nearest\n", model->name, unequal,
	       2 * model->nr_entries);
	ck_assert_uint_eq(unequal, 0);
}
END_TEST

START_TEST(test_frequencies_of_models)
{
	const struct known *model = &known[_i];
	double inv_freq[MAX_DIM / 2];
	double attention_factor;
	uint32_t i;

	kvpr_ok(kvp_rope_frequencies(&model->params, inv_freq, &attention_factor));
	for (i = 0; i < model->params.rot_dim / 2; i++) {
		if (inv_freq[i] != model->inv_freq[i])
			ck_abort_msg("%s: pair %u: %a, expected %a", model->name, i, inv_freq[i],
				     model->inv_freq[i]);
	}
	ck_assert_double_eq_tol(attention_factor / model->attention_factor, 1, 1e-15);
	/* Each alone. */
	kvpr_ok(kvp_rope_frequencies(&model->params, NULL, &attention_factor));
	ck_assert_double_eq_tol(attention_factor / model->attention_factor, 1, 1e-15);
	memset(inv_freq, 0, sizeof(inv_freq));
	kvpr_ok(kvp_rope_frequencies(&model->params, inv_freq, NULL));
	ck_assert(inv_freq[0] > 0);
	kvpr_ok(kvp_rope_frequencies(&model->params, NULL, NULL));
}
END_TEST

/* Attention factors that are known by name: the paper's, and Phi-3's sqrt(17 / 12). */
START_TEST(test_attention_factors)
{
	struct kvp_rope_params params = {
		.scaling = KVP_SCALING_YARN, .rot_dim = 128, .theta = 1e6, .factor = 4,
		.original_positions = 32768,
	};
	double list[48];
	double factor;
	uint32_t i;

	kvpr_ok(kvp_rope_frequencies(&params, NULL, &factor));
	ck_assert_double_eq_tol(factor, 1.1386294361119891, 1e-12);
	params.attention_factor = 0.75;
	kvpr_ok(kvp_rope_frequencies(&params, NULL, &factor));
	ck_assert_double_eq(factor, 0.75);

	for (i = 0; i < 48; i++)
		list[i] = 1 + i;
	params = (struct kvp_rope_params){
		.scaling = KVP_SCALING_LONGROPE, .rot_dim = 96, .theta = 1e4, .factor = 32,
		.original_positions = 4096, .length = 131072, .short_factor = list,
		.long_factor = list,
	};
	kvpr_ok(kvp_rope_frequencies(&params, NULL, &factor));
	ck_assert_double_eq_tol(factor, 1.1902380714238083, 1e-12);
}
END_TEST

/* ---- what holds between tables --------------------------------------------------------- */

#define POSITIONS	200

/* Bits of the table of @params are those of @other's, at low positions and at the last ones. */
static void expect_same(const struct kvp_rope_params *params, const struct kvp_rope_params *other)
{
	static float one[POSITIONS * MAX_DIM], two[POSITIONS * MAX_DIM];
	const uint32_t first[] = { 0, KVP_ROPE_MAX_POSITIONS - POSITIONS };
	size_t bytes = POSITIONS * params->rot_dim * sizeof(float);
	size_t i;

	for (i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		kvpr_ok(kvp_rope_table(params, first[i], POSITIONS, one));
		kvpr_ok(kvp_rope_table(other, first[i], POSITIONS, two));
		ck_assert_mem_eq(one, two, bytes);
	}
}

static const double ones[MAX_DIM / 2] = {
	[0 ... MAX_DIM / 2 - 1] = 1,
};

/* A context that was not made longer has the plain table. */
static const struct kvp_rope_params not_longer[] = {
	{ .scaling = KVP_SCALING_LINEAR, .factor = 1 },
	{ .scaling = KVP_SCALING_NTK, .factor = 1 },
	{ .scaling = KVP_SCALING_DYNAMIC_NTK, .factor = 2, .original_positions = 4096,
	  .length = 1 },
	{ .scaling = KVP_SCALING_DYNAMIC_NTK, .factor = 2, .original_positions = 4096,
	  .length = 4096 },
	{ .scaling = KVP_SCALING_YARN, .factor = 1, .original_positions = 4096 },
	{ .scaling = KVP_SCALING_YARN, .factor = 1, .original_positions = 4096, .mscale = 0.707,
	  .mscale_all_dim = 2, .flags = KVP_SCALING_NO_TRUNCATE, .extrapolation_factor = 0.25 },
	{ .scaling = KVP_SCALING_LLAMA3, .factor = 1, .original_positions = 8192,
	  .low_freq_factor = 1, .high_freq_factor = 4 },
	{ .scaling = KVP_SCALING_LONGROPE, .factor = 1, .original_positions = 4096,
	  .length = 131072, .short_factor = ones, .long_factor = ones },
};

#define NR_NOT_LONGER	(sizeof(not_longer) / sizeof(not_longer[0]))

START_TEST(test_not_longer_is_plain)
{
	struct kvp_rope_params params = not_longer[_i];
	struct kvp_rope_params plain = { .rot_dim = 128, .theta = 500000 };

	params.rot_dim = plain.rot_dim;
	params.theta = plain.theta;
	expect_same(&params, &plain);
}
END_TEST

START_TEST(test_defaults_of_yarn)
{
	struct kvp_rope_params params = {
		.scaling = KVP_SCALING_YARN, .rot_dim = 64, .theta = 10000, .factor = 40,
		.original_positions = 4096,
	};
	struct kvp_rope_params said = params;

	said.beta_fast = 32;
	said.beta_slow = 1;
	said.mscale = 1;
	said.extrapolation_factor = 1;
	expect_same(&params, &said);
}
END_TEST

/* NTK with the factor that dynamic NTK comes to; and with theta made greater by hand. */
START_TEST(test_ntk_is_a_greater_theta)
{
	struct kvp_rope_params dynamic = {
		.scaling = KVP_SCALING_DYNAMIC_NTK, .rot_dim = 4, .theta = 100, .factor = 2,
		.original_positions = 1024, .length = 4096,
	};
	struct kvp_rope_params fixed = {
		.scaling = KVP_SCALING_NTK, .rot_dim = 4, .theta = 100, .factor = 7,
	};
	struct kvp_rope_params plain = { .rot_dim = 4, .theta = 100 * 49 };

	expect_same(&dynamic, &fixed);
	expect_same(&fixed, &plain);
}
END_TEST

/* Scaling does something, and each in its own way. */
START_TEST(test_scalings_differ)
{
	static float rows[NR_KNOWN][MAX_DIM];
	uint32_t i, j;

	for (i = 0; i < NR_KNOWN; i++)
		kvpr_ok(kvp_rope_table(&known[i].params, 1000, 1, rows[i]));
	for (i = 0; i < NR_KNOWN; i++) {
		for (j = 0; j < i; j++) {
			/* Not longer than the model is; and an A of 1 twice. */
			if (strstr(known[i].name, "not yet") ||
			    !strcmp(known[i].name, "DeepSeek V3"))
				continue;
			if (!memcmp(rows[i], rows[j], sizeof(rows[i])))
				ck_abort_msg("%s is %s", known[i].name, known[j].name);
		}
	}
}
END_TEST

START_TEST(test_pieces_are_the_whole)
{
	const struct kvp_rope_params *params = &known[_i].params;
	const uint32_t piece[] = { 1, 63, 64, 65, 7 };
	static float whole[POSITIONS * MAX_DIM], part[POSITIONS * MAX_DIM];
	uint32_t first = 70000, done = 0, i;

	kvpr_ok(kvp_rope_table(params, first, POSITIONS, whole));
	for (i = 0; i < sizeof(piece) / sizeof(piece[0]); done += piece[i++])
		kvpr_ok(kvp_rope_table(params, first + done, piece[i],
				       part + done * params->rot_dim));
	ck_assert_uint_eq(done, POSITIONS);
	ck_assert_mem_eq(whole, part, POSITIONS * params->rot_dim * sizeof(float));
}
END_TEST

/* The attention factor is in it once. */
START_TEST(test_length_of_pairs)
{
	const struct known *model = &known[_i];
	uint32_t half = model->params.rot_dim / 2;
	static float rows[POSITIONS * MAX_DIM];
	double square = model->attention_factor * model->attention_factor;
	uint32_t at, i;

	kvpr_ok(kvp_rope_table(&model->params, 5000, POSITIONS, rows));
	for (at = 0; at < POSITIONS; at++) {
		const float *row = rows + at * 2 * half;

		for (i = 0; i < half; i++) {
			double c = row[i], s = row[half + i];

			ck_assert_double_eq_tol((c * c + s * s) / square, 1, 0x1p-22);
		}
	}
}
END_TEST

START_TEST(test_attention_factor_of_the_caller)
{
	struct kvp_rope_params params = known[0].params;
	static float one[POSITIONS * MAX_DIM], four[POSITIONS * MAX_DIM];
	uint32_t i;

	kvpr_ok(kvp_rope_table(&params, 300, POSITIONS, one));
	params.attention_factor = 4;
	kvpr_ok(kvp_rope_table(&params, 300, POSITIONS, four));
	for (i = 0; i < POSITIONS * params.rot_dim; i++)
		ck_assert_uint_eq(bits_of(four[i]), bits_of(4 * one[i]));
}
END_TEST

/* Nothing beyond the rows that were asked for is written. */
START_TEST(test_writes_its_rows_only)
{
	struct kvp_rope_params params = { .rot_dim = 6, .theta = 10 };
	float rows[2 + 3 * 6 + 2];
	uint32_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		rows[i] = 77;
	kvpr_ok(kvp_rope_table(&params, 5, 3, rows + 2));
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_int_eq(rows[i] != 77, i >= 2 && i < 2 + 3 * 6);
}
END_TEST

/* ---- settings of the floating-point unit --------------------------------------------------- */

/* With entries that are subnormal numbers. */
static const struct kvp_rope_params tiny = {
	.scaling = KVP_SCALING_YARN, .rot_dim = 64, .theta = 1e12, .factor = 4,
	.original_positions = 32768, .attention_factor = 1e-30, .flags = KVP_SCALING_NO_TRUNCATE,
};

static void make_tiny(float rows[POSITIONS * 64], double inv_freq[32])
{
	kvpr_ok(kvp_rope_table(&tiny, 0, POSITIONS, rows));
	kvpr_ok(kvp_rope_frequencies(&tiny, inv_freq, NULL));
}

START_TEST(test_any_rounding)
{
	const int modes[] = { FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
	static float usual[POSITIONS * 64], rows[POSITIONS * 64];
	double usual_freq[32], inv_freq[32];
	size_t i;

	make_tiny(usual, usual_freq);
	ck_assert_int_eq(fpclassify(usual[64 + 63]), FP_SUBNORMAL);
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		ck_assert_int_eq(fesetround(modes[i]), 0);
		make_tiny(rows, inv_freq);
		ck_assert_int_eq(fegetround(), modes[i]);
		ck_assert_int_eq(fesetround(FE_TONEAREST), 0);
		ck_assert_mem_eq(rows, usual, sizeof(rows));
		ck_assert_mem_eq(inv_freq, usual_freq, sizeof(inv_freq));
	}
}
END_TEST

/* Flags that were not raised before are not raised afterwards, and those that were still are. */
START_TEST(test_flags_stay)
{
	static float rows[POSITIONS * 64];
	double inv_freq[32];

	feclearexcept(FE_ALL_EXCEPT);
	make_tiny(rows, inv_freq);
	ck_assert_int_eq(fetestexcept(FE_ALL_EXCEPT), 0);
	feraiseexcept(FE_DIVBYZERO);
	make_tiny(rows, inv_freq);
	ck_assert_int_eq(fetestexcept(FE_ALL_EXCEPT), FE_DIVBYZERO);
	feclearexcept(FE_ALL_EXCEPT);
}
END_TEST

/* A program that traps inexact results is not ended by ours. */
START_TEST(test_traps_do_not_matter)
{
	static float rows[POSITIONS * 64];
	double inv_freq[32];

	feclearexcept(FE_ALL_EXCEPT);
	ck_assert_int_ne(feenableexcept(FE_INEXACT | FE_UNDERFLOW | FE_INVALID), -1);
	make_tiny(rows, inv_freq);
	ck_assert_int_eq(fegetexcept(), FE_INEXACT | FE_UNDERFLOW | FE_INVALID);
	fedisableexcept(FE_ALL_EXCEPT);
}
END_TEST

#ifdef __x86_64__
START_TEST(test_flushing_of_subnormals)
{
	const uint32_t flush_and_zero = 0x8040;
	static float usual[POSITIONS * 64], rows[POSITIONS * 64];
	double usual_freq[32], inv_freq[32];
	uint32_t was = _mm_getcsr(), is;

	make_tiny(usual, usual_freq);
	_mm_setcsr(was | flush_and_zero);
	make_tiny(rows, inv_freq);
	is = _mm_getcsr();
	_mm_setcsr(was);
	ck_assert_uint_eq(is & flush_and_zero, flush_and_zero);
	ck_assert_mem_eq(rows, usual, sizeof(rows));
	ck_assert_mem_eq(inv_freq, usual_freq, sizeof(inv_freq));
}
END_TEST
#endif

/* ---- threads --------------------------------------------------------------------------------- */

#define THREADS	4

static void *make_all(void *arg)
{
	float (*rows)[POSITIONS * MAX_DIM] = arg;
	size_t i;

	for (i = 0; i < NR_KNOWN; i++)
		kvpr_ok(kvp_rope_table(&known[i].params, 0, POSITIONS, rows[i]));
	return NULL;
}

START_TEST(test_threads_have_the_same)
{
	size_t bytes = NR_KNOWN * sizeof(float[POSITIONS * MAX_DIM]);
	pthread_t thread[THREADS];
	void *rows[THREADS];
	size_t i;

	for (i = 0; i < THREADS; i++) {
		rows[i] = calloc(1, bytes);
		ck_assert_ptr_nonnull(rows[i]);
		ck_assert_int_eq(pthread_create(&thread[i], NULL, make_all, rows[i]), 0);
	}
	for (i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
	for (i = 1; i < THREADS; i++)
		ck_assert_mem_eq(rows[i], rows[0], bytes);
	for (i = 0; i < THREADS; i++)
		free(rows[i]);
}
END_TEST

/* ---- sections of M-RoPE --------------------------------------------------------------------- */

/* Axes of all pairs, as digits. */
static const char *axes(uint32_t time, uint32_t height, uint32_t width, uint32_t sections)
{
	const uint32_t section[KVP_ROPE_AXES] = { time, height, width };
	uint32_t pairs = time + height + width, i;
	static char text[MAX_DIM];
	uint8_t axis[MAX_DIM];

	memset(axis, 9, sizeof(axis));
	kvpr_ok(kvp_rope_sections(section, sections, 2 * pairs, axis));
	for (i = 0; i < pairs; i++)
		text[i] = (char)('0' + axis[i]);
	text[pairs] = '\0';
	ck_assert_uint_eq(axis[pairs], 9);
	return text;
}

START_TEST(test_sections_one_after_the_other)
{
	ck_assert_str_eq(axes(16, 24, 24, KVP_SECTIONS_CONTIGUOUS),
			 "0000000000000000" "111111111111111111111111" "222222222222222222222222");
	ck_assert_str_eq(axes(8, 12, 12, KVP_SECTIONS_CONTIGUOUS),
			 "00000000" "111111111111" "222222222222");
	ck_assert_str_eq(axes(0, 1, 2, KVP_SECTIONS_CONTIGUOUS), "122");
	ck_assert_str_eq(axes(3, 0, 0, KVP_SECTIONS_CONTIGUOUS), "000");
}
END_TEST

START_TEST(test_sections_in_turn)
{
	/* Qwen3-VL, and the smaller one of its kind with a quarter of a head rotated. */
	ck_assert_str_eq(axes(24, 20, 20, KVP_SECTIONS_INTERLEAVED),
			 "012012012012012012012012012012012012012012012012012012012012" "0000");
	ck_assert_str_eq(axes(11, 11, 10, KVP_SECTIONS_INTERLEAVED),
			 "012012012012012012012012012012" "01");
	ck_assert_str_eq(axes(4, 1, 2, KVP_SECTIONS_INTERLEAVED), "0120020");
	ck_assert_str_eq(axes(5, 0, 0, KVP_SECTIONS_INTERLEAVED), "00000");
}
END_TEST

/* ---- running ------------------------------------------------------------------- */

static void add_settings(Suite *s)
{
	TCase *tc = tcase_create("settings and threads");

	tcase_add_test(tc, test_any_rounding);
	tcase_add_test(tc, test_flags_stay);
	tcase_add_test(tc, test_traps_do_not_matter);
#ifdef __x86_64__
	tcase_add_test(tc, test_flushing_of_subnormals);
#endif
	tcase_add_test(tc, test_threads_have_the_same);
	suite_add_tcase(s, tc);
}

static Suite *suite(void)
{
	Suite *s = suite_create("rope_tables");
	TCase *tc = tcase_create("tables");

	tcase_add_loop_test(tc, test_entries_of_models, 0, NR_KNOWN);
	tcase_add_loop_test(tc, test_frequencies_of_models, 0, NR_KNOWN);
	tcase_add_test(tc, test_attention_factors);
	tcase_add_loop_test(tc, test_not_longer_is_plain, 0, NR_NOT_LONGER);
	tcase_add_test(tc, test_defaults_of_yarn);
	tcase_add_test(tc, test_ntk_is_a_greater_theta);
	tcase_add_test(tc, test_scalings_differ);
	tcase_add_loop_test(tc, test_pieces_are_the_whole, 0, NR_KNOWN);
	tcase_add_loop_test(tc, test_length_of_pairs, 0, NR_KNOWN);
	tcase_add_test(tc, test_attention_factor_of_the_caller);
	tcase_add_test(tc, test_writes_its_rows_only);
	tcase_add_test(tc, test_sections_one_after_the_other);
	tcase_add_test(tc, test_sections_in_turn);
	suite_add_tcase(s, tc);
	add_settings(s);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

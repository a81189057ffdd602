// SPDX-License-Identifier: MIT
/*
 * What kvp_rope_table(), kvp_rope_frequencies() and kvp_rope_sections() refuse: each thing alone
 * in parameters that are good otherwise, with what the error says of it; nothing is written then.
 */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "pools.h"

static const double ones[48] = {
	[0 ... 47] = 1,
};

/* Good parameters of each scaling. */
static const struct kvp_rope_params good[KVP_NR_SCALINGS] = {
	[KVP_SCALING_PLAIN] = { .rot_dim = 96, .theta = 10000 },
	[KVP_SCALING_LINEAR] = { .rot_dim = 96, .theta = 10000, .factor = 2 },
	[KVP_SCALING_NTK] = { .rot_dim = 96, .theta = 10000, .factor = 2 },
	[KVP_SCALING_DYNAMIC_NTK] = { .rot_dim = 96, .theta = 10000, .factor = 2,
				      .original_positions = 4096, .length = 5000 },
	[KVP_SCALING_YARN] = { .rot_dim = 96, .theta = 10000, .factor = 2,
			       .original_positions = 4096 },
	[KVP_SCALING_LLAMA3] = { .rot_dim = 96, .theta = 10000, .factor = 2,
				 .original_positions = 4096, .low_freq_factor = 1,
				 .high_freq_factor = 4 },
	[KVP_SCALING_LONGROPE] = { .rot_dim = 96, .theta = 10000, .factor = 2,
				   .original_positions = 4096, .length = 5000,
				   .short_factor = ones, .long_factor = ones },
};

static struct kvp_rope_params p;

/* The good ones with one member changed; where they are at fault, and in words. */
#define refused(scaling_, member, value, reason, word)				\
do {										\
	p = good[scaling_];							\
	p.scaling = (scaling_);							\
	p.member = (value);							\
	expect_refused(reason, offsetof(struct kvp_rope_params, member), word);	\
} while (0)

static void expect_refused(uint32_t reason, size_t where, const char *word)
{
	static const float untouched[96] = { [0 ... 95] = 77 };
	double inv_freq[48] = { 77 }, attention_factor = 77;
	float rows[96];

	memcpy(rows, untouched, sizeof(rows));
	kvpr_expect(kvp_rope_table(&p, 0, 1, rows), -EINVAL, reason);
	ck_assert_uint_eq(kvp_error()->where, where);
	kvpr_says(word);
	ck_assert_mem_eq(rows, untouched, sizeof(rows));
	kvpr_expect(kvp_rope_frequencies(&p, inv_freq, &attention_factor), -EINVAL, reason);
	ck_assert_double_eq(inv_freq[0], 77);
	ck_assert_double_eq(attention_factor, 77);
}

START_TEST(test_good_ones_are_taken)
{
	float rows[96];

	p = good[_i];
	p.scaling = _i;
	kvpr_ok(kvp_rope_table(&p, 0, 1, rows));
	p.attention_factor = 2;
	kvpr_ok(kvp_rope_table(&p, 0, 1, rows));
}
END_TEST

START_TEST(test_refused_heads)
{
	uint32_t i;

	for (i = 0; i < KVP_NR_SCALINGS; i++) {
		refused(i, rot_dim, 0, KVP_REASON_VALUE, "rot_dim is 0");
		refused(i, rot_dim, 95, KVP_REASON_VALUE, "rot_dim is 95");
		refused(i, rot_dim, 65536, KVP_REASON_VALUE, "rot_dim is 65536");
		refused(i, reserved, 1, KVP_REASON_RESERVED, "reserved is 1");
		refused(i, flags, 2, KVP_REASON_FLAG, "flags are 0x2");
		if (i != KVP_SCALING_YARN)
			refused(i, flags, KVP_SCALING_NO_TRUNCATE, KVP_REASON_FLAG, "yarn");
	}
	refused(KVP_SCALING_NTK, rot_dim, 2, KVP_REASON_VALUE, "in [4, 65534] with ntk");
	refused(KVP_SCALING_DYNAMIC_NTK, rot_dim, 2, KVP_REASON_VALUE, "in [4, 65534]");
	p = good[KVP_SCALING_PLAIN];
	p.scaling = KVP_NR_SCALINGS;
	expect_refused(KVP_REASON_VALUE, offsetof(struct kvp_rope_params, scaling), "scaling 7");
}
END_TEST

#define refused_as_real(scaling, member, least_, most_)				\
do {										\
	refused(scaling, member, nextafter(least_, -1), KVP_REASON_VALUE, #member " is ");	\
	refused(scaling, member, nextafter(most_, INFINITY), KVP_REASON_VALUE, #member " is ");	\
	refused(scaling, member, -10000, KVP_REASON_VALUE, #member " is -10000: expected");	\
	refused(scaling, member, INFINITY, KVP_REASON_VALUE, #member " is inf");	\
	refused(scaling, member, NAN, KVP_REASON_VALUE, #member " is ");	\
} while (0)

START_TEST(test_refused_reals)
{
	uint32_t i;

	for (i = 0; i < KVP_NR_SCALINGS; i++) {
		refused(i, theta, 0, KVP_REASON_VALUE, "theta is 0");
		refused_as_real(i, theta, 1.0, 1e30);
		refused_as_real(i, attention_factor, 1e-30, 1e30);
		if (i == KVP_SCALING_PLAIN)
			continue;
		refused(i, factor, 0, KVP_REASON_VALUE, "factor is 0");
		refused_as_real(i, factor, 1.0, 1e30);
	}
	refused_as_real(KVP_SCALING_YARN, beta_fast, 1e-30, 1e30);
	refused_as_real(KVP_SCALING_YARN, beta_slow, 1e-30, 1e30);
	refused_as_real(KVP_SCALING_YARN, mscale, 1e-30, 1e30);
	refused_as_real(KVP_SCALING_YARN, mscale_all_dim, 1e-30, 1e30);
	refused_as_real(KVP_SCALING_YARN, extrapolation_factor, 1e-30, 1.0);
	refused(KVP_SCALING_LLAMA3, low_freq_factor, 0, KVP_REASON_VALUE, "low_freq_factor is 0");
	refused(KVP_SCALING_LLAMA3, high_freq_factor, 0, KVP_REASON_VALUE, "high_freq_factor is 0");
	refused_as_real(KVP_SCALING_LLAMA3, low_freq_factor, 1e-30, 1e30);
	refused_as_real(KVP_SCALING_LLAMA3, high_freq_factor, 1e-30, 1e30);
}
END_TEST

START_TEST(test_refused_counts)
{
	const uint32_t with[] = { KVP_SCALING_DYNAMIC_NTK, KVP_SCALING_YARN, KVP_SCALING_LLAMA3,
				  KVP_SCALING_LONGROPE };
	uint32_t i;

	for (i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
		refused(with[i], original_positions, 0, KVP_REASON_VALUE,
			"original_positions is 0: expected");
		refused(with[i], original_positions, KVP_ROPE_MAX_POSITIONS + 1, KVP_REASON_VALUE,
			"in [1, 2^31]");
	}
	for (i = 0; i < sizeof(with) / sizeof(with[0]); i += 3) {
		refused(with[i], length, 0, KVP_REASON_VALUE, "length is 0: expected");
		refused(with[i], length, KVP_ROPE_MAX_POSITIONS + 1, KVP_REASON_VALUE, "length is");
	}
	refused(KVP_SCALING_LONGROPE, short_factor, NULL, KVP_REASON_POINTER,
		"short_factor is NULL: expected a list of 48");
	refused(KVP_SCALING_LONGROPE, long_factor, NULL, KVP_REASON_POINTER, "long_factor is NULL");
}
END_TEST

START_TEST(test_refused_lists)
{
	const double bad[] = { nextafter(0.5, 0), nextafter(1e30, INFINITY), 0, -1, INFINITY, NAN };
	double list[48];
	uint32_t i;

	memcpy(list, ones, sizeof(list));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		list[47] = bad[i];
		refused(KVP_SCALING_LONGROPE, short_factor, list, KVP_REASON_VALUE,
			"short_factor[47] is ");
		refused(KVP_SCALING_LONGROPE, long_factor, list, KVP_REASON_VALUE,
			"long_factor[47] is ");
	}
}
END_TEST

START_TEST(test_refused_together)
{
	refused(KVP_SCALING_LONGROPE, original_positions, 1, KVP_REASON_VALUE, "2 or more");
	refused(KVP_SCALING_LLAMA3, high_freq_factor, 1, KVP_REASON_VALUE, "more than low_freq");
	refused(KVP_SCALING_YARN, beta_slow, 33, KVP_REASON_VALUE, "at most beta_fast, 32");
	refused(KVP_SCALING_YARN, theta, 1, KVP_REASON_VALUE, "more than 1 with yarn");
	/* Less than a turn of the fastest pair; more than a turn of the slowest one. */
	refused(KVP_SCALING_YARN, original_positions, 1, KVP_REASON_VALUE, "no pair turns 1 to 32");
	p = good[KVP_SCALING_YARN];
	p.scaling = KVP_SCALING_YARN;
	p.theta = 1.01;
	expect_refused(KVP_REASON_VALUE, offsetof(struct kvp_rope_params, original_positions),
		       "no pair turns 1 to 32");
}
END_TEST

/* What another scaling uses is a mistake in this one. */
START_TEST(test_refused_where_not_used)
{
	uint32_t i;

	for (i = 0; i < KVP_NR_SCALINGS; i++) {
		if (i == KVP_SCALING_PLAIN)
			refused(i, factor, 1, KVP_REASON_VALUE, "set: expected 0 with plain");
		if (i <= KVP_SCALING_NTK)
			refused(i, original_positions, 1, KVP_REASON_VALUE, "not use it");
		if (i != KVP_SCALING_DYNAMIC_NTK && i != KVP_SCALING_LONGROPE)
			refused(i, length, 1, KVP_REASON_VALUE, "not use it");
		if (i != KVP_SCALING_YARN) {
			refused(i, beta_fast, 32, KVP_REASON_VALUE, "not use it");
			refused(i, beta_slow, 1, KVP_REASON_VALUE, "not use it");
			refused(i, mscale, 1, KVP_REASON_VALUE, "not use it");
			refused(i, mscale_all_dim, NAN, KVP_REASON_VALUE, "not use it");
			refused(i, extrapolation_factor, 1, KVP_REASON_VALUE, "not use it");
		}
		if (i != KVP_SCALING_LLAMA3) {
			refused(i, low_freq_factor, 1, KVP_REASON_VALUE, "not use it");
			refused(i, high_freq_factor, 1, KVP_REASON_VALUE, "not use it");
		}
		if (i != KVP_SCALING_LONGROPE) {
			refused(i, short_factor, ones, KVP_REASON_VALUE, "not use it");
			refused(i, long_factor, ones, KVP_REASON_VALUE, "not use it");
		}
	}
}
END_TEST

START_TEST(test_refused_tables)
{
	float rows[96] = { 77 };

	p = good[KVP_SCALING_PLAIN];
	kvpr_expect(kvp_rope_table(NULL, 0, 1, rows), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("params is NULL");
	kvpr_expect(kvp_rope_table(&p, 0, 1, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("table is NULL");
	kvpr_expect(kvp_rope_frequencies(NULL, NULL, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_rope_table(&p, 0, 0, rows), -EINVAL, KVP_REASON_COUNT);
	kvpr_expect(kvp_rope_table(&p, KVP_ROPE_MAX_POSITIONS, 1, rows), -EINVAL,
		    KVP_REASON_LENGTH);
	kvpr_expect(kvp_rope_table(&p, UINT32_MAX, 1, rows), -EINVAL, KVP_REASON_LENGTH);
	kvpr_expect(kvp_rope_table(&p, 1, KVP_ROPE_MAX_POSITIONS, rows), -EINVAL,
		    KVP_REASON_LENGTH);
	kvpr_expect(kvp_rope_table(&p, UINT32_MAX, UINT32_MAX, rows), -EINVAL, KVP_REASON_LENGTH);
	kvpr_says("from 4294967295 to 8589934589");
	ck_assert_float_eq(rows[0], 77);
	kvpr_ok(kvp_rope_table(&p, KVP_ROPE_MAX_POSITIONS - 1, 1, rows));
}
END_TEST

/* ---- sections of M-RoPE --------------------------------------------------------------------- */

START_TEST(test_refused_sections)
{
	const uint32_t section[KVP_ROPE_AXES] = { 2, 2, 2 };
	const uint32_t high[KVP_ROPE_AXES] = { 4, 3, 0 };
	const uint32_t wide[KVP_ROPE_AXES] = { 2, 1, 2 };
	const uint32_t wraps[KVP_ROPE_AXES] = { 7, UINT32_MAX, 0 };
	uint8_t axis[6] = { 9 };

	kvpr_expect(kvp_rope_sections(NULL, 0, 12, axis), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_rope_sections(section, 0, 12, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_rope_sections(section, KVP_NR_SECTIONS, 12, axis), -EINVAL,
		    KVP_REASON_VALUE);
	kvpr_expect(kvp_rope_sections(section, 0, 13, axis), -EINVAL, KVP_REASON_VALUE);
	kvpr_expect(kvp_rope_sections(section, 0, 0, axis), -EINVAL, KVP_REASON_VALUE);
	kvpr_expect(kvp_rope_sections(section, 0, 65536, axis), -EINVAL, KVP_REASON_VALUE);
	kvpr_expect(kvp_rope_sections(section, 0, 14, axis), -EINVAL, KVP_REASON_COUNT);
	kvpr_says("6 pairs together: expected 7");
	kvpr_expect(kvp_rope_sections(wraps, 0, 12, axis), -EINVAL, KVP_REASON_COUNT);
	/* Pairs 1 and 4 of 7 are height's, pair 2 of 5 is width's. */
	kvpr_expect(kvp_rope_sections(high, KVP_SECTIONS_INTERLEAVED, 14, axis), -EINVAL,
		    KVP_REASON_COUNT);
	ck_assert_uint_eq(kvp_error()->where, 1);
	kvpr_says("section 1 of 3 pairs: expected at most 2");
	kvpr_expect(kvp_rope_sections(wide, KVP_SECTIONS_INTERLEAVED, 10, axis), -EINVAL,
		    KVP_REASON_COUNT);
	ck_assert_uint_eq(kvp_error()->where, 2);
	ck_assert_uint_eq(axis[0], 9);
}
END_TEST

/* ---- running ------------------------------------------------------------------- */

static Suite *suite(void)
{
	Suite *s = suite_create("rope_refused");
	TCase *tc = tcase_create("refused");

	tcase_add_loop_test(tc, test_good_ones_are_taken, 0, KVP_NR_SCALINGS);
	tcase_add_test(tc, test_refused_heads);
	tcase_add_test(tc, test_refused_reals);
	tcase_add_test(tc, test_refused_counts);
	tcase_add_test(tc, test_refused_lists);
	tcase_add_test(tc, test_refused_together);
	tcase_add_test(tc, test_refused_where_not_used);
	tcase_add_test(tc, test_refused_tables);
	tcase_add_test(tc, test_refused_sections);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

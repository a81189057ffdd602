// SPDX-License-Identifier: MIT
/*
 * Numbers of the dtypes: all that 16 and 8 bits can say, and roundings at and beside every step
 * between two of them, against their definitions and against the processor's own F16C.
 */
#include <check.h>
#include <math.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <number.h>

#include "pools.h"
#include "random.h"
#include "moves.h"

static bool is_nan16(uint32_t dtype, uint32_t bits)
{
	return (bits & 0x7fff) > (dtype == KVP_DTYPE_F16 ? 0x7c00 : 0x7f80);
}

static uint32_t narrow(uint32_t dtype, float f)
{
	switch (dtype) {
	case KVP_DTYPE_F16:
		return kvp_f16_of(f);
	case KVP_DTYPE_BF16:
		return kvp_bf16_of(f);
	default:
		return kvp_quantised_of(f, dtype);
	}
}

static void expect_narrow(uint32_t dtype, float f)
{
	uint32_t got = narrow(dtype, f), want = kvpr_number_bits(dtype, f);

	if (got != want)
		ck_abort_msg("%s of %a: %#x, expected %#x", kvp_dtype_name(dtype), (double)f, got,
			     want);
}

/* Every number of 16 bits, to f32 and back. */
START_TEST(test_widen)
{
	static const uint32_t dtypes[] = { KVP_DTYPE_F16, KVP_DTYPE_BF16 };
	uint32_t dtype = dtypes[_i], bits;

	for (bits = 0; bits < 0x10000; bits++) {
		uint16_t half = (uint16_t)bits;
		float f = kvp_element_load(&half, dtype);

		if (is_nan16(dtype, bits)) {
			if (kvp_bits(f) != 0x7fffffff || narrow(dtype, f) != 0x7fff)
				ck_abort_msg("%#x: not the NaN that is meant", bits);
			continue;
		}
		if (f != kvpr_number(dtype, bits) || !signbit(f) != !(bits >> 15))
			ck_abort_msg("%#x of %s is %a", bits, kvp_dtype_name(dtype), (double)f);
		if (narrow(dtype, f) != bits)
			ck_abort_msg("%#x of %s comes back as %#x", bits, kvp_dtype_name(dtype),
				     narrow(dtype, f));
	}
}
END_TEST

/* At each step between two numbers, at its middle, and beside both. */
START_TEST(test_narrow_at_each_step)
{
	static const uint32_t dtypes[] = {
		KVP_DTYPE_F16, KVP_DTYPE_BF16, KVP_DTYPE_FP8_E4M3, KVP_DTYPE_FP8_E5M2,
	};
	static const uint32_t largest[] = { 0x7bff, 0x7f7f, 0x7e, 0x7b };
	uint32_t dtype = dtypes[_i], bits, i;

	for (bits = 0; bits <= largest[_i]; bits++) {
		double low = kvpr_number(dtype, bits);
		double high = bits < largest[_i] ? kvpr_number(dtype, bits + 1) : 2 * low;
		float middle = (float)((low + high) / 2);
		const float at[] = {
			(float)low, nextafterf((float)low, INFINITY), nextafterf(middle, 0), middle,
			nextafterf(middle, INFINITY), nextafterf((float)high, 0),
		};

		for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
			expect_narrow(dtype, at[i]);
			expect_narrow(dtype, -at[i]);
		}
	}
}
END_TEST

START_TEST(test_narrow_i8)
{
	int32_t i;

	for (i = -600; i <= 600; i++) {
		float f = (float)i / 4;

		expect_narrow(KVP_DTYPE_I8, f);
		expect_narrow(KVP_DTYPE_I8, nextafterf(f, INFINITY));
		expect_narrow(KVP_DTYPE_I8, nextafterf(f, -INFINITY));
	}
	expect_narrow(KVP_DTYPE_I8, 1e30f);
	expect_narrow(KVP_DTYPE_I8, -1e30f);
}
END_TEST

/* Any bits at all; NaNs, infinities and subnormals are among them. */
START_TEST(test_narrow_random)
{
	__u64 state = 5;
	uint32_t i;

	for (i = 0; i < 1000000; i++) {
		float f = kvp_float((uint32_t)kvpt_random(&state));

		expect_narrow(KVP_DTYPE_F16, f);
		expect_narrow(KVP_DTYPE_BF16, f);
		if (!isfinite(f))
			continue;
		expect_narrow(KVP_DTYPE_FP8_E4M3, f);
		expect_narrow(KVP_DTYPE_FP8_E5M2, f);
	}
	expect_narrow(KVP_DTYPE_F16, INFINITY);
	expect_narrow(KVP_DTYPE_BF16, -INFINITY);
	expect_narrow(KVP_DTYPE_F16, NAN);
	expect_narrow(KVP_DTYPE_BF16, -NAN);
	expect_narrow(KVP_DTYPE_F16, kvp_float(0x7f800001));
	expect_narrow(KVP_DTYPE_BF16, kvp_float(0xff800001));
	ck_assert_uint_eq(kvp_bits(kvp_canonical(kvp_float(0xffc12345))), 0x7fffffff);
}
END_TEST

#ifdef __x86_64__
__attribute__((target("f16c"))) static uint32_t processor_f16(float f)
{
	return _cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT) & 0xffff;
}

__attribute__((target("f16c"))) static float processor_of_f16(uint32_t bits)
{
	return _cvtsh_ss((uint16_t)bits);
}

START_TEST(test_as_the_processor)
{
	__u64 state = 6;
	uint32_t i;

	if (!__builtin_cpu_supports("f16c"))
		return;
	for (i = 0; i < 0x10000; i++) {
		if (!is_nan16(KVP_DTYPE_F16, i))
			ck_assert(kvp_of_f16((uint16_t)i) == processor_of_f16(i));
	}
	for (i = 0; i < 4000000; i++) {
		float f = kvp_float((uint32_t)kvpt_random(&state));

		if (!isnan(f) && kvp_f16_of(f) != processor_f16(f))
			ck_abort_msg("f16 of %a: %#x, the processor's is %#x", (double)f,
				     kvp_f16_of(f), processor_f16(f));
	}
}
END_TEST
#endif

static Suite *suite(void)
{
	Suite *s = suite_create("rope_numbers");
	TCase *tc = tcase_create("numbers");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, test_widen, 0, 2);
	tcase_add_loop_test(tc, test_narrow_at_each_step, 0, 4);
	tcase_add_test(tc, test_narrow_i8);
	tcase_add_test(tc, test_narrow_random);
#ifdef __x86_64__
	tcase_add_test(tc, test_as_the_processor);
#endif
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

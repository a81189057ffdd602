/* SPDX-License-Identifier: MIT */
/*
 * Numbers of the dtypes: from and to f32, by integers, so that every compiler and processor gives
 * the same bits. All roundings are to nearest, ties to even. A NaN becomes the canonical one, which
 * is also what PTX instructions give: 0x7fffffff in f32, 0x7fff in f16 and bf16. Owns nothing.
 *
 * f16 is IEEE binary16; bf16 the upper half of an f32; the FP8 formats are those of Micikevicius
 * et al., "FP8 formats for deep learning" (OCP 8-bit floating point): E4M3 without infinities.
 */
#ifndef KVP_KERNELS_NUMBER_H
#define KVP_KERNELS_NUMBER_H

#include <linux/kvpool.h>

#include "kernel.h"

#define KVP_NAN_F32	0x7fffffffU
#define KVP_NAN_16	0x7fffU
#define KVP_INF_F32	0x7f800000U

/* Largest numbers of the quantised dtypes. */
#define KVP_MAX_I8	127.0f
#define KVP_MAX_E4M3	448.0f
#define KVP_MAX_E5M2	57344.0f
#define KVP_BITS_MAX_E4M3	0x7eU
#define KVP_BITS_MAX_E5M2	0x7bU

/* The smallest scale: 2^-126, the smallest normal f32. */
#define KVP_MIN_SCALE	1.17549435e-38f

KVP_ROW float kvp_canonical(float f)
{
	return f != f ? kvp_float(KVP_NAN_F32) : f;
}

/*
 * @size, the bits of a finite f32 without its sign, as a number of @fraction bits and an
 * exponent of bias @bias, of which there may be as many as it takes.
 */
KVP_ROW uint32_t kvp_narrow(uint32_t size, uint32_t fraction, uint32_t bias)
{
	uint32_t drop = 23 - fraction, exponent = size >> 23, lowest = 128 - bias;
	uint32_t all, kept, rest, half;

	if (exponent >= lowest) {
		size += (1U << (drop - 1)) - 1 + (size >> drop & 1);
		return (size - ((127 - bias) << 23)) >> drop;
	}
	/* Subnormal there. What is subnormal here, too, is far below half of the smallest. */
	drop += lowest - exponent;
	if (drop > 24)
		return 0;
	all = (size & 0x7fffff) | 0x800000;
	kept = all >> drop;
	rest = all & ((1U << drop) - 1);
	half = 1U << (drop - 1);
	return kept + (rest > half || (rest == half && (kept & 1)));
}

KVP_ROW uint16_t kvp_f16_of(float f)
{
	uint32_t bits = kvp_bits(f), size = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;

	if (size > KVP_INF_F32)
		return KVP_NAN_16;
	/* From 65520 on, half a step above the largest, it is infinity. */
	if (size >= 0x477ff000)
		return (uint16_t)(sign | 0x7c00);
	return (uint16_t)(sign | kvp_narrow(size, 10, 15));
}

KVP_ROW float kvp_of_f16(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16, size = half & 0x7fff;

	if (size > 0x7c00)
		return kvp_float(KVP_NAN_F32);
	if (size == 0x7c00)
		return kvp_float(sign | KVP_INF_F32);
	if (size >= 0x400)
		return kvp_float(sign | ((size << 13) + (112U << 23)));
	/* Subnormal: a multiple of 2^-24, which f32 has exactly and as a normal number. */
	return kvp_float(sign | kvp_bits(kvp_mul((float)size, 5.9604644775390625e-8f)));
}

KVP_ROW uint16_t kvp_bf16_of(float f)
{
	uint32_t bits = kvp_bits(f);

	if ((bits & 0x7fffffff) > KVP_INF_F32)
		return KVP_NAN_16;
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

KVP_ROW float kvp_of_bf16(uint16_t upper)
{
	return kvp_canonical(kvp_float((uint32_t)upper << 16));
}

/* A finite number, as the nearest that the dtype has: beyond the largest, the largest. */
KVP_ROW uint8_t kvp_e4m3_of(float f)
{
	uint32_t bits = kvp_bits(f), size = kvp_narrow(bits & 0x7fffffff, 3, 7);

	return (uint8_t)((bits >> 24 & 0x80) |
			 (size < KVP_BITS_MAX_E4M3 ? size : KVP_BITS_MAX_E4M3));
}

KVP_ROW uint8_t kvp_e5m2_of(float f)
{
	uint32_t bits = kvp_bits(f), size = kvp_narrow(bits & 0x7fffffff, 2, 15);

	return (uint8_t)((bits >> 24 & 0x80) |
			 (size < KVP_BITS_MAX_E5M2 ? size : KVP_BITS_MAX_E5M2));
}

KVP_ROW uint8_t kvp_i8_of(float f)
{
	/* Added to 1.5 * 2^23 it is rounded to an integer; only below 2^22 in size. */
	const float shift = 12582912.0f;
	int32_t nearest;

	if (f > KVP_MAX_I8)
		f = KVP_MAX_I8;
	if (f < -KVP_MAX_I8)
		f = -KVP_MAX_I8;
	nearest = (int32_t)kvp_sub(kvp_add(f, shift), shift);
	return (uint8_t)(int8_t)nearest;
}

/* What @f is once it was kept in a float dtype. */
KVP_ROW float kvp_rounded(float f, uint32_t dtype)
{
	if (dtype == KVP_DTYPE_F16)
		return kvp_of_f16(kvp_f16_of(f));
	if (dtype == KVP_DTYPE_BF16)
		return kvp_of_bf16(kvp_bf16_of(f));
	return f;
}

/* ---- elements in memory ---- */

/* Bytes of an element: kvp_dtype_bytes() for the device, too. */
KVP_ROW uint32_t kvp_element_bytes(uint32_t dtype)
{
	if (dtype == KVP_DTYPE_F32)
		return 4;
	return dtype == KVP_DTYPE_F16 || dtype == KVP_DTYPE_BF16 ? 2 : 1;
}

/* An element of a float dtype. */
KVP_ROW float kvp_element_load(const void *at, uint32_t dtype)
{
	if (dtype == KVP_DTYPE_F16)
		return kvp_of_f16(*(const uint16_t *)at);
	if (dtype == KVP_DTYPE_BF16)
		return kvp_of_bf16(*(const uint16_t *)at);
	return *(const float *)at;
}

KVP_ROW void kvp_element_store(void *at, uint32_t dtype, float f)
{
	if (dtype == KVP_DTYPE_F16)
		*(uint16_t *)at = kvp_f16_of(f);
	else if (dtype == KVP_DTYPE_BF16)
		*(uint16_t *)at = kvp_bf16_of(f);
	else
		*(float *)at = kvp_canonical(f);
}

KVP_ROW uint8_t kvp_quantised_of(float f, uint32_t dtype)
{
	if (dtype == KVP_DTYPE_FP8_E4M3)
		return kvp_e4m3_of(f);
	if (dtype == KVP_DTYPE_FP8_E5M2)
		return kvp_e5m2_of(f);
	return kvp_i8_of(f);
}

KVP_ROW float kvp_largest_of(uint32_t dtype)
{
	if (dtype == KVP_DTYPE_FP8_E4M3)
		return KVP_MAX_E4M3;
	if (dtype == KVP_DTYPE_FP8_E5M2)
		return KVP_MAX_E5M2;
	return KVP_MAX_I8;
}

KVP_ROW int kvp_is_quantised(uint32_t dtype)
{
	return dtype == KVP_DTYPE_I8 || dtype == KVP_DTYPE_FP8_E4M3 ||
	       dtype == KVP_DTYPE_FP8_E5M2;
}

#endif /* KVP_KERNELS_NUMBER_H */

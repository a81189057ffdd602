// SPDX-License-Identifier: MIT
/*
 * The variant for processors with AVX2 and F16C: eight floats at a time. Owns nothing.
 */
#ifdef __x86_64__

#include <string.h>

#include <immintrin.h>

#include "cpu.h"

#define TARGET	__attribute__((target("avx2,f16c")))
#define VEC	static inline TARGET __attribute__((always_inline))
#define WIDTH	8

typedef __m256 vec_t;
typedef __m256i bits_t;
typedef __m128i half_t;

#define vec_mul		_mm256_mul_ps
#define vec_add		_mm256_add_ps
#define vec_sub		_mm256_sub_ps
#define vec_addsub	_mm256_addsub_ps
#define vec_of_bits	_mm256_castsi256_ps
#define bits_of_vec	_mm256_castps_si256
#define vec_load	_mm256_loadu_ps
#define vec_of_f16	_mm256_cvtph_ps

VEC vec_t vec_twice(const float *at)
{
	const __m256i from = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);

	return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(at)), from);
}

VEC vec_t vec_swap(vec_t x)
{
	return _mm256_permute_ps(x, 0xb1);
}

VEC vec_t vec_canonical(vec_t x)
{
	const vec_t nan = vec_of_bits(_mm256_set1_epi32(KVP_NAN_F32));

	return _mm256_blendv_ps(x, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

VEC vec_t vec_of_bf16(half_t upper)
{
	return vec_of_bits(_mm256_slli_epi32(_mm256_cvtepu16_epi32(upper), 16));
}

VEC half_t half_f16(vec_t x)
{
	return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Of canonical floats; a NaN must not be carried over into another number. */
VEC half_t half_bf16(vec_t x)
{
	bits_t bits = bits_of_vec(x), odd, upper;
	bits_t nan = bits_of_vec(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));

	odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
	upper = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
	upper = _mm256_srli_epi32(_mm256_blendv_epi8(upper, bits, nan), 16);
	return _mm_packus_epi32(_mm256_castsi256_si128(upper), _mm256_extracti128_si256(upper, 1));
}

VEC bits_t bits_load(const void *at)
{
	return _mm256_loadu_si256((const __m256i *)at);
}

VEC void bits_store(void *at, bits_t bits, bool stream)
{
	if (stream)
		_mm256_stream_si256((__m256i *)at, bits);
	else
		_mm256_storeu_si256((__m256i *)at, bits);
}

VEC half_t half_load(const void *at)
{
	return _mm_loadu_si128((const __m128i *)at);
}

VEC void half_store(void *at, half_t half, bool stream)
{
	if (stream)
		_mm_stream_si128((__m128i *)at, half);
	else
		_mm_storeu_si128((__m128i *)at, half);
}

#include "vector.h"

const struct kvp_cpu kvp_cpu_avx2 = { "avx2", stream, rotate };

#endif

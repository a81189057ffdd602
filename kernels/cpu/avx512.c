// SPDX-License-Identifier: MIT
/*
 * The variant for processors with AVX-512 (F, BW, VL): sixteen floats at a time. Owns nothing.
 *
 * VCVTNEPS2BF16 is not used: it takes subnormals for zero.
 */
#ifdef __x86_64__

#include <string.h>

#include <immintrin.h>

#include "cpu.h"

#define TARGET	__attribute__((target("avx512f,avx512bw,avx512vl,avx2,f16c")))
#define VEC	static inline TARGET __attribute__((always_inline))
#define WIDTH	16

typedef __m512 vec_t;
typedef __m512i bits_t;
typedef __m256i half_t;

#define vec_mul		_mm512_mul_ps
#define vec_add		_mm512_add_ps
#define vec_sub		_mm512_sub_ps
#define vec_of_bits	_mm512_castsi512_ps
#define bits_of_vec	_mm512_castps_si512
#define vec_load	_mm512_loadu_ps
#define vec_of_f16	_mm512_cvtph_ps

VEC vec_t vec_twice(const float *at)
{
	const __m512i from = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);

	return _mm512_permutexvar_ps(from, _mm512_castps256_ps512(_mm256_loadu_ps(at)));
}

VEC vec_t vec_swap(vec_t x)
{
	return _mm512_permute_ps(x, 0xb1);
}

VEC vec_t vec_addsub(vec_t x, vec_t y)
{
	return _mm512_mask_sub_ps(_mm512_add_ps(x, y), 0x5555, x, y);
}

VEC vec_t vec_canonical(vec_t x)
{
	const vec_t nan = vec_of_bits(_mm512_set1_epi32(KVP_NAN_F32));

	return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), nan);
}

VEC vec_t vec_of_bf16(half_t upper)
{
	return vec_of_bits(_mm512_slli_epi32(_mm512_cvtepu16_epi32(upper), 16));
}

VEC half_t half_f16(vec_t x)
{
	return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Of canonical floats; a NaN must not be carried over into another number. */
VEC half_t half_bf16(vec_t x)
{
	bits_t bits = bits_of_vec(x), odd, upper;
	__mmask16 number = _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q);

	odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
	upper = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff));
	upper = _mm512_mask_add_epi32(bits, number, upper, odd);
	return _mm512_cvtepi32_epi16(_mm512_srli_epi32(upper, 16));
}

VEC bits_t bits_load(const void *at)
{
	return _mm512_loadu_si512(at);
}

VEC void bits_store(void *at, bits_t bits, bool stream)
{
	if (stream)
		_mm512_stream_si512(at, bits);
	else
		_mm512_storeu_si512(at, bits);
}

VEC half_t half_load(const void *at)
{
	return _mm256_loadu_si256((const __m256i *)at);
}

VEC void half_store(void *at, half_t half, bool stream)
{
	if (stream)
		_mm256_stream_si256((__m256i *)at, half);
	else
		_mm256_storeu_si256((__m256i *)at, half);
}

#include "vector.h"

const struct kvp_cpu kvp_cpu_avx512 = { "avx512", stream, rotate };

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the row functions need to be the same for gcc, g++, clang and nvcc: how a function is
 * declared, floats as bits, and arithmetic of which nothing is fused. Owns nothing.
 *
 * On the host -ffp-contract=off keeps a multiply and an add apart (scripts/check-kernels looks at
 * each object); on the device the operations say themselves that they round.
 */
#ifndef KVP_KERNELS_KERNEL_H
#define KVP_KERNELS_KERNEL_H

#include <stdint.h>

#ifdef __CUDACC__
#define KVP_ROW	static __host__ __device__ __forceinline__
#else
#define KVP_ROW	static inline __attribute__((always_inline))
#endif

KVP_ROW uint32_t kvp_bits(float f)
{
#ifdef __CUDA_ARCH__
	return __float_as_uint(f);
#else
	uint32_t bits;

	__builtin_memcpy(&bits, &f, sizeof(bits));
	return bits;
#endif
}

KVP_ROW float kvp_float(uint32_t bits)
{
#ifdef __CUDA_ARCH__
	return __uint_as_float(bits);
#else
	float f;

	__builtin_memcpy(&f, &bits, sizeof(f));
	return f;
#endif
}

KVP_ROW float kvp_mul(float a, float b)
{
#ifdef __CUDA_ARCH__
	return __fmul_rn(a, b);
#else
	return a * b;
#endif
}

KVP_ROW float kvp_add(float a, float b)
{
#ifdef __CUDA_ARCH__
	return __fadd_rn(a, b);
#else
	return a + b;
#endif
}

KVP_ROW float kvp_sub(float a, float b)
{
#ifdef __CUDA_ARCH__
	return __fsub_rn(a, b);
#else
	return a - b;
#endif
}

KVP_ROW float kvp_div(float a, float b)
{
#ifdef __CUDA_ARCH__
	return __fdiv_rn(a, b);
#else
	return a / b;
#endif
}

#endif /* KVP_KERNELS_KERNEL_H */

/* SPDX-License-Identifier: MIT */
/*
 * The variants of the row function for processors (cpu.c chooses), and the state of the
 * floating-point unit that all of them need.
 */
#ifndef KVP_KERNELS_CPU_H
#define KVP_KERNELS_CPU_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "rows.h"

/**
 * struct kvp_cpu - a variant
 * @name: for KVPOOL_CPU
 * @stream: copies past the caches; NULL: there is no such way
 * @rotate: K of all heads of a token whose vectors are not split, of float dtypes; NULL: the
 *          row function does it. @cosines and @sines are those of the pairs
 */
struct kvp_cpu {
	const char *name;
	kvp_copy_t stream;
	void (*rotate)(const struct kvp_rotation *rotation, const struct kvp_heads *heads,
		       const float *cosines, const float *sines);
};

extern const struct kvp_cpu kvp_cpu_avx2, kvp_cpu_avx512;

/*
 * The fastest variant that this processor has, or the one that the environment's KVPOOL_CPU names
 * (scalar, avx2, avx512; not for programs that are set-user-id); found out once. NULL: it
 * names none that there is.
 */
const struct kvp_cpu *kvp_cpu_get(void);

/* The variant of that name if this processor has it, else NULL. */
const struct kvp_cpu *kvp_cpu_find(const char *name);

/* Take this one from now on; NULL: choose again. For tests. */
void kvp_cpu_set(const struct kvp_cpu *cpu);

/* Bytes from which on a move goes past the caches: the second level's. Tests set it. */
extern uint64_t kvp_stream_from;

/* Pairs from @pair on, by the row function; of vectors that are not split. */
void kvp_heads_rest(const struct kvp_rotation *rotation, const struct kvp_heads *heads,
		    const float *cosines, const float *sines, uint32_t pair);

/*
 * Whatever the process has set: all roundings are to nearest, subnormals are kept, and no
 * exception traps. Returns what was set, for the end.
 */
static inline uint32_t kvp_fpu_begin(void)
{
#ifdef __x86_64__
	uint32_t was = _mm_getcsr();

	_mm_setcsr(_MM_MASK_MASK);
	return was;
#else
	return 0;
#endif
}

static inline void kvp_fpu_end(uint32_t was)
{
#ifdef __x86_64__
	_mm_setcsr(was);
#else
	(void)was;
#endif
}

/* What went past the caches is seen by others before what is stored from now on. */
static inline void kvp_stream_end(void)
{
#ifdef __x86_64__
	_mm_sfence();
#endif
}

#endif /* KVP_KERNELS_CPU_H */

// SPDX-License-Identifier: MIT
/*
 * Which variant this processor takes, and what the variants share. Owns the choice, which is
 * made once and is an atomic pointer: threads that make it at the same time make the same.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "cpu.h"

/* The row function alone: what all others are compared with. */
static const struct kvp_cpu scalar = { "scalar", NULL, NULL };

static _Atomic(const struct kvp_cpu *) chosen;

/* Second level of the caches of most processors: 1 MiB or more. */
uint64_t kvp_stream_from = 1 << 20;

#ifdef __x86_64__
/* Not every compiler knows this one by name. */
static bool has_f16c(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
#endif

const struct kvp_cpu *kvp_cpu_find(const char *name)
{
	if (!strcmp(name, scalar.name))
		return &scalar;
#ifdef __x86_64__
	if (!strcmp(name, kvp_cpu_avx2.name) && __builtin_cpu_supports("avx2") &&
	    has_f16c())
		return &kvp_cpu_avx2;
	if (!strcmp(name, kvp_cpu_avx512.name) && __builtin_cpu_supports("avx512f") &&
	    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		return &kvp_cpu_avx512;
#endif
	return NULL;
}

const struct kvp_cpu *kvp_cpu_get(void)
{
	const struct kvp_cpu *cpu = atomic_load_explicit(&chosen, memory_order_relaxed);
	const char *name;

	if (cpu)
		return cpu;
	name = secure_getenv("KVPOOL_CPU");
	if (name && *name)
		cpu = kvp_cpu_find(name);
	else if (!(cpu = kvp_cpu_find("avx512")) && !(cpu = kvp_cpu_find("avx2")))
		cpu = &scalar;
	atomic_store_explicit(&chosen, cpu, memory_order_relaxed);
	return cpu;
}

void kvp_cpu_set(const struct kvp_cpu *cpu)
{
	atomic_store_explicit(&chosen, cpu, memory_order_relaxed);
}

/* ---- one token ---- */

struct kvp_rotation kvp_rotation_of(const struct kvp_rope *rope, struct kvp_vector raw,
				    struct kvp_vector k)
{
	return (struct kvp_rotation){
		.raw = raw,
		.k = k,
		.rot_off = rope->rot_off,
		.rot_dim = rope->rot_dim,
		.style = rope->style,
		.round = rope->profile == KVP_PROFILE_MODEL ? raw.dtype : KVP_DTYPE_F32,
	};
}

struct kvp_angles kvp_angles_at(const struct kvp_rope *rope, const uint32_t *position)
{
	struct kvp_angles angles = { .axis_of_pair = rope->axis_of_pair };
	uint32_t i;

	for (i = 0; i < (rope->axis_of_pair ? KVP_ROPE_AXES : 1); i++)
		angles.row[i] = rope->table + (uint64_t)position[i] * rope->rot_dim;
	return angles;
}

/* Element @elem of a vector that is not split. */
static uint64_t at(uint32_t elem, uint32_t dtype)
{
	return (uint64_t)elem * kvp_element_bytes(dtype);
}

static void rest_of_head(const struct kvp_rotation *rotation, const char *raw, char *raw_to,
			 char *k, struct kvp_pair angle, uint32_t pair)
{
	uint32_t first = kvp_pair_first(rotation, pair), second = kvp_pair_second(rotation, pair);
	uint32_t dtype = rotation->raw.dtype, bytes = kvp_element_bytes(dtype);
	struct kvp_pair x = {
		kvp_element_load(raw + at(first, dtype), dtype),
		kvp_element_load(raw + at(second, dtype), dtype),
	};
	struct kvp_pair y = kvp_rotate_pair(x, angle, rotation->round);

	if (raw_to) {
		memmove(raw_to + at(first, dtype), raw + at(first, dtype), bytes);
		memmove(raw_to + at(second, dtype), raw + at(second, dtype), bytes);
	}
	dtype = rotation->k.dtype;
	kvp_element_store(k + at(first, dtype), dtype, y.a);
	kvp_element_store(k + at(second, dtype), dtype, y.b);
}

void kvp_heads_rest(const struct kvp_rotation *rotation, const struct kvp_heads *heads,
		    const float *cosines, const float *sines, uint32_t pair)
{
	uint32_t i;

	for (; pair < rotation->rot_dim / 2; pair++) {
		struct kvp_pair angle = { cosines[pair], sines[pair] };

		for (i = 0; i < heads->nr; i++)
			rest_of_head(rotation, heads->raw + i * heads->raw_step,
				     heads->raw_to ? heads->raw_to + i * heads->raw_step : NULL,
				     heads->k + i * heads->k_step, angle, pair);
	}
}

#define MIXED_PAIRS	256	/* of which the angles fit on the stack */

static bool is_unsplit(const struct kvp_vector *vector, uint32_t elems)
{
	return vector->vec >= elems ||
	       vector->vec_stride == (int32_t)(vector->vec * kvp_element_bytes(vector->dtype));
}

bool kvp_heads_are_fast(const struct kvp_cpu *cpu, const struct kvp_rotation *rotation)
{
	return cpu->rotate && !kvp_is_quantised(rotation->k.dtype) &&
	       rotation->rot_dim / 2 <= MIXED_PAIRS &&
	       is_unsplit(&rotation->raw, rotation->rot_dim) &&
	       is_unsplit(&rotation->k, rotation->rot_off + rotation->rot_dim);
}

/* Past the caches only whole lines: of each part that is written without a gap. */
static bool whole_lines(const struct kvp_rotation *rotation, const struct kvp_heads *heads)
{
	uint32_t part = rotation->style == KVP_ROPE_NEOX ? rotation->rot_dim / 2 :
							   rotation->rot_dim;
	uint64_t all = (uintptr_t)heads->k | at(part, rotation->k.dtype);

	if (heads->nr > 1)
		all |= (uint64_t)heads->k_step;
	if (heads->raw_to) {
		all |= (uintptr_t)heads->raw_to | at(part, rotation->raw.dtype);
		if (heads->nr > 1)
			all |= (uint64_t)heads->raw_step;
	}
	return all % 64 == 0;
}

static void rotate_fast(const struct kvp_cpu *cpu, const struct kvp_rotation *rotation,
			const struct kvp_angles *angles, const struct kvp_heads *heads)
{
	uint32_t pairs = rotation->rot_dim / 2, i;
	const float *row = angles->row[0];
	struct kvp_heads rotated = *heads;
	float mixed[2 * MIXED_PAIRS];

	if (angles->axis_of_pair) {
		for (i = 0; i < pairs; i++) {
			const float *from = angles->row[angles->axis_of_pair[i]];

			mixed[i] = from[i];
			mixed[i + pairs] = from[i + pairs];
		}
		row = mixed;
	}
	rotated.k += at(rotation->rot_off, rotation->k.dtype);
	rotated.stream = heads->stream && whole_lines(rotation, &rotated);
	cpu->rotate(rotation, &rotated, row, row + pairs);
}

void kvp_heads_rotate(const struct kvp_cpu *cpu, const struct kvp_rotation *rotation,
		      const struct kvp_angles *angles, const struct kvp_heads *heads)
{
	uint32_t i;

	if (kvp_heads_are_fast(cpu, rotation)) {
		rotate_fast(cpu, rotation, angles, heads);
		return;
	}
	for (i = 0; i < heads->nr; i++)
		kvp_rope_head(rotation, angles, heads->raw + i * heads->raw_step,
			      heads->k + i * heads->k_step,
			      heads->scale ? (float *)(heads->scale + i * heads->scale_step) :
					     NULL);
}

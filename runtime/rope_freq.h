/* SPDX-License-Identifier: MIT */
/*
 * Frequencies of RoPE (rope_freq.c), from which tables are made (rope_table.c). Default settings
 * of the floating-point unit are expected throughout.
 */
#ifndef KVP_RUNTIME_ROPE_FREQ_H
#define KVP_RUNTIME_ROPE_FREQ_H

#include <kvpool.h>

#include "twofold.h"

/* The greatest even number that a struct kvp_rope can have. */
#define KVP_ROPE_MAX_DIM	65534

/* Values of fields of YaRN that are 0. */
#define KVP_ROPE_OR(value, other)	((value) ? (value) : (other))
#define KVP_ROPE_BETA_FAST(params)	KVP_ROPE_OR((params)->beta_fast, 32)
#define KVP_ROPE_BETA_SLOW(params)	KVP_ROPE_OR((params)->beta_slow, 1)

/**
 * struct kvp_rope_recipe - what all frequencies of a model have in common
 * @params: the model's
 * @root: theta^(-2 / rot_dim), of the theta that NTK scaling makes
 * @low: YARN: pair up to which nothing is interpolated
 * @width: YARN: pairs from there to that from which on all is
 * @attention_factor: A
 */
struct kvp_rope_recipe {
	const struct kvp_rope_params *params;
	struct twofold root;
	struct twofold low;
	struct twofold width;
	double attention_factor;
};

/* Whether @params are such as kvpool_rope.h says; errors as there. */
int kvp_rope_check(const struct kvp_rope_params *params);

/* Check @params and prepare; the recipe lasts as long as they do. Errors: as kvpool_rope.h says. */
int kvp_rope_prepare(const struct kvp_rope_params *params, struct kvp_rope_recipe *recipe);

/* Of pair @i, in radians a token. */
struct twofold kvp_rope_frequency(const struct kvp_rope_recipe *recipe, uint32_t i);

#endif /* KVP_RUNTIME_ROPE_FREQ_H */

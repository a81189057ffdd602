/* SPDX-License-Identifier: MIT */
/*
 * Tables for RoPE: the cosines and sines by which K is rotated at each position, as struct kvp_rope
 * wants them; <kvpool.h> includes this file. None of this needs a pool.
 *
 * A model with several kinds of layers (Gemma 3: theta 10000 in local layers, 1000000 with linear
 * scaling in global ones) has one table a kind: struct kvp_geometry names each layer's rope.
 *
 * What is in a table
 * ------------------
 * Pair i of the rot_dim / 2 pairs turns by position * f[i], and the table has
 *
 *	A * cos(position * f[i])  and  A * sin(position * f[i])
 *
 * The frequencies f ("inv_freq") and the attention factor A depend on how the model's context was
 * made longer. With d = rot_dim, and plain frequencies p[i] = theta^(-2i / d):
 *
 * KVP_SCALING_PLAIN	f = p, A = 1. RoFormer (arXiv 2104.09864): Llama 1 to 3, Mistral, Qwen2 ...
 *
 * KVP_SCALING_LINEAR	f = p / factor, A = 1. Position interpolation (arXiv 2306.15595): LongChat,
 *	Vicuna 16k, the global layers of Gemma 3; type "linear".
 *
 * KVP_SCALING_NTK	plain, of a greater theta: theta * factor^(d / (d - 2)), A = 1. "NTK-aware"
 *	scaling: Hunyuan (there the factor is called "alpha").
 *
 * KVP_SCALING_DYNAMIC_NTK	the same with 1 + factor * (length - original) / original in place
 *	of factor, and with 1 where length <= original; type "dynamic". The length is that of the
 *	sequence, and engines differ in it: Transformers makes the frequencies anew as the
 *	sequence grows (so K of earlier tokens has other ones); vLLM has one table, for
 *	length = original * factor, which is what a cache of rotated K needs.
 *
 * KVP_SCALING_YARN	YaRN (arXiv 2309.00071): Yarn-Llama-2, Qwen2.5 and Qwen3 beyond 32768,
 *	DeepSeek V2 and V3, gpt-oss; type "yarn" or "deepseek_yarn".
 *
 *	c(b) = (d / 2) * log(original / (2 pi b)) / log(theta)
 *	low = floor(c(beta_fast)), at least 0;  high = ceil(c(beta_slow)), at most d - 1
 *	ramp[i] = (i - low) / (high - low), in [0, 1]; where high is low, high = low + 0.001
 *	keep[i] = (1 - ramp[i]) * extrapolation_factor
 *	f = p * (keep + (1 - keep) / factor)
 *	A = m(mscale) / m(mscale_all_dim), m(x) = 1 + 0.1 * x * log(factor)
 *
 *	DeepSeek has mscale and mscale_all_dim (equal in V2 and V3, so that A is 1; the softmax
 *	scale, which is the engine's, has m(mscale_all_dim)^2). Where a configuration has only one
 *	of the two, DeepSeek's code and vLLM use it alone, as here; Transformers then leaves
 *	both out (set neither to have that).
 *
 * KVP_SCALING_LLAMA3	Llama 3.1 to 3.3; type "llama3". A = 1, and
 *
 *	turns[i] = original * p[i] / (2 pi)
 *	keep[i] = (turns[i] - low_freq_factor) / (high_freq_factor - low_freq_factor), in [0, 1]
 *	f = p * (keep + (1 - keep) / factor)
 *
 * KVP_SCALING_LONGROPE	LongRoPE (arXiv 2402.13753): Phi-3 and Phi-4-mini at 128k, Phi-3.5,
 *	MiniCPM; type "longrope" or "su".
 *
 *	f[i] = p[i] / s[i], s: long_factor where length > original, else short_factor
 *	A = sqrt(1 + log(factor) / log(original))
 *
 *	Transformers takes the length of the sequence, vLLM the longest that the engine was
 *	configured for: K that was rotated by one list does not fit a table of the other. Where a
 *	configuration has short_mscale and long_mscale (Phi-3.5-MoE), hand in the one of the
 *	list that is used as attention_factor.
 *
 * A goes into the table once: rows need no other factor, however often they are moved.
 *
 * How exact
 * ---------
 * A table is a function of its parameters alone. Frequencies and angles are computed to 90 bits or
 * more, their cosines and sines, and A, in double, and each product is rounded to f32 once, to
 * nearest. Before that it is off by less than 2^-50 of its own size and A * 2^-55, at every
 * position: so an entry is the f32 nearest to the formula's exact value, but for about one of 2^25,
 * which is next to it. The floating-point settings of the calling thread (rounding, flushing of
 * subnormals, traps) do not matter, and are left as they are, flags included.
 *
 * Engines mostly compute their tables in single precision. The angle, a product of position and
 * frequency in f32, is then off by up to 0.007 radians at position 100000 (Llama 2). An engine
 * whose own bits must be met hands in its own table.
 */
#ifndef KVPOOL_ROPE_H
#define KVPOOL_ROPE_H

#include "kvpool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tables --------------------------------------------------------------------- */

/* How a model's context was made longer; the formulas are above. */
enum kvp_rope_scaling {
	KVP_SCALING_PLAIN,
	KVP_SCALING_LINEAR,
	KVP_SCALING_NTK,
	KVP_SCALING_DYNAMIC_NTK,
	KVP_SCALING_YARN,
	KVP_SCALING_LLAMA3,
	KVP_SCALING_LONGROPE,
	KVP_NR_SCALINGS,
};

/* YARN: low and high are not rounded to integers ("truncate": false of gpt-oss). */
#define KVP_SCALING_NO_TRUNCATE	(1U << 0)
#define KVP_SCALING_FLAGS_ALL	KVP_SCALING_NO_TRUNCATE

/* Positions that a table can have, from 0 on. */
#define KVP_ROPE_MAX_POSITIONS	(1U << 31)

/**
 * struct kvp_rope_params - frequencies and attention factor of a model
 * @scaling: enum kvp_rope_scaling
 * @rot_dim: elements of a head that are rotated, even, at most 65534; NTK, DYNAMIC_NTK: at least 4
 * @flags: KVP_SCALING_*
 * @original_positions: positions of the model before its context was made longer
 *                      (original_max_position_embeddings; with "dynamic", and where a
 *                      configuration does not have that, max_position_embeddings).
 *                      DYNAMIC_NTK, YARN, LLAMA3, LONGROPE (at least 2)
 * @length: tokens of the sequence for which the table is. DYNAMIC_NTK, LONGROPE
 * @reserved: 0
 * @theta: base of the frequencies (rope_theta), at least 1; YARN: more than 1. All
 * @factor: how many times longer, at least 1. All but PLAIN. LONGROPE: max_position_embeddings
 *          divided by original_positions; only A depends on it
 * @attention_factor: A, instead of the formula's; 0: the formula's. All. vLLM's "attn_factor" is a
 *                    factor of A: hand in its product with what kvp_rope_frequencies() gives
 * @beta_fast: turns in original_positions from which on a pair is left as it is; 0: 32. YARN
 * @beta_slow: turns up to which a pair is interpolated, at most beta_fast; 0: 1. YARN
 * @mscale: 0: 1. YARN
 * @mscale_all_dim: 0: A is not divided by anything. YARN
 * @extrapolation_factor: at most 1; 0: 1, as in all models. YARN
 * @low_freq_factor: LLAMA3
 * @high_freq_factor: more than low_freq_factor. LLAMA3
 * @short_factor: [rot_dim / 2]; LONGROPE
 * @long_factor: [rot_dim / 2]; LONGROPE
 *
 * What the scaling does not use is 0 or NULL. Where nothing else is said values are in
 * [1e-30, 1e30], those of the lists in [0.5, 1e30], counts of positions at most
 * KVP_ROPE_MAX_POSITIONS.
 */
struct kvp_rope_params {
	uint32_t scaling;
	uint32_t rot_dim;
	uint32_t flags;
	uint32_t original_positions;
	uint32_t length;
	uint32_t reserved;
	double theta;
	double factor;
	double attention_factor;
	double beta_fast;
	double beta_slow;
	double mscale;
	double mscale_all_dim;
	double extrapolation_factor;
	double low_freq_factor;
	double high_freq_factor;
	const double *short_factor;
	const double *long_factor;
};

/*
 * Fill @table, f32 [@n_pos][rot_dim], for positions [@first, @first + @n_pos): of each rot_dim / 2
 * cosines, then as many sines. Pieces of a table are the same as parts of the whole, bit for bit.
 * Any thread; allocates nothing. Errors; where = offset in the struct, text: which field, what was
 * expected: -EINVAL (POINTER: NULL; FLAG; RESERVED; VALUE: a field that is out of range, of another
 * scaling, or contradicts another: YaRN's high below low, where no pair turns as often, or as
 * seldom, as the betas say; COUNT: @n_pos 0; LENGTH: positions beyond KVP_ROPE_MAX_POSITIONS).
 * Nothing is written then.
 */
int kvp_rope_table(const struct kvp_rope_params *params, uint32_t first, uint32_t n_pos,
		   float *table);

/*
 * The frequencies of which a table is made, @inv_freq[rot_dim / 2], in radians a token and as the
 * nearest doubles, and A; either may be NULL. Any thread. Errors: as above.
 */
int kvp_rope_frequencies(const struct kvp_rope_params *params, double *inv_freq,
			 double *attention_factor);

/* ---- three positions a token ------------------------------------------------------- */

/* Which axis (time, height, width) rotates which pair, from the lengths of the three sections. */
enum kvp_sections {
	/* One section after the other: Qwen2-VL, Qwen2.5-VL, GLM-4.1V; "mrope_section". */
	KVP_SECTIONS_CONTIGUOUS,
	/*
	 * In turn, as long as a section lasts, and the rest is time: pair i has axis i % 3 if
	 * i < 3 * section[i % 3], else axis 0. Qwen3-VL, Qwen3-Omni; "mrope_interleaved": true.
	 */
	KVP_SECTIONS_INTERLEAVED,
	KVP_NR_SECTIONS,
};

/*
 * Fill @axis_of_pair[@rot_dim / 2] of a struct kvp_rope. @section: pairs of each axis, as the
 * configuration has them: [16, 24, 24] (Qwen2-VL), [24, 20, 20] (Qwen3-VL), both of rot_dim 128.
 * The table is the same as without: each pair takes its cosine and sine from the row of its axis'
 * position. Other orders (ERNIE 4.5 VL) the caller writes down as they are. Any thread; allocates
 * nothing. Errors: -EINVAL (POINTER: NULL; VALUE: @sections is no such enum, @rot_dim is odd, 0 or
 * above 65534; COUNT: the sections are not rot_dim / 2 pairs together, or one is too long to be
 * interleaved, where = its index). Nothing is written then.
 */
int kvp_rope_sections(const uint32_t section[KVP_ROPE_AXES], uint32_t sections, uint32_t rot_dim,
		      uint8_t *axis_of_pair);

#ifdef __cplusplus
}
#endif

#endif /* KVPOOL_ROPE_H */

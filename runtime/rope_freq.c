// SPDX-License-Identifier: MIT
/*
 * Frequencies and attention factors of RoPE, by the formulas of kvpool_rope.h. Owns nothing.
 *
 * In twice a double's precision: an angle is a product of a frequency and a position, so that a
 * double's error would show at high positions.
 */
#include <math.h>
#include <stddef.h>

#include "internal.h"
#include "rope_freq.h"

/* To twice a double's precision. */
static const struct twofold two_pi = { 0x1.921fb54442d18p+2, 0x1.1a62633145c07p-52 };

/* ---- what all pairs have in common ---- */

/* theta is multiplied by this to the power d / (d - 2). */
static struct twofold ntk_factor(const struct kvp_rope_params *params)
{
	struct twofold grown;

	if (params->scaling == KVP_SCALING_NTK)
		return twofold(params->factor);
	if (params->scaling != KVP_SCALING_DYNAMIC_NTK ||
	    params->length <= params->original_positions)
		return twofold(1);
	grown = twofold_product(params->factor,
				(double)params->length - params->original_positions);
	return twofold_add(twofold(1), twofold_div(grown, twofold(params->original_positions)));
}

/* The scaled theta^(-2 / d): the exponent of NTK's factor becomes -1 / (d / 2 - 1). */
static struct twofold root_of(const struct kvp_rope_params *params)
{
	struct twofold root = twofold_inverse_root(twofold(params->theta), params->rot_dim / 2);
	struct twofold factor = ntk_factor(params);

	if (factor.hi == 1 && factor.lo == 0)
		return root;
	return twofold_mul(root, twofold_inverse_root(factor, params->rot_dim / 2 - 1));
}

/* The pair that turns @turns times in the original positions; need not be a whole number. */
static struct twofold pair_of_turns(const struct kvp_rope_params *params, double turns)
{
	struct twofold once = twofold_mul(twofold(turns), two_pi);
	struct twofold log_tokens = twofold_log(twofold_div(twofold(params->original_positions),
							    once));
	struct twofold pair = twofold_mul(twofold(params->rot_dim / 2), log_tokens);

	return twofold_div(pair, twofold_log(twofold(params->theta)));
}

static int yarn_range(struct kvp_rope_recipe *recipe)
{
	const struct kvp_rope_params *params = recipe->params;
	struct twofold low = pair_of_turns(params, KVP_ROPE_BETA_FAST(params));
	struct twofold high = pair_of_turns(params, KVP_ROPE_BETA_SLOW(params));

	if (!(params->flags & KVP_SCALING_NO_TRUNCATE)) {
		low = twofold(floor(low.hi));
		high = twofold(ceil(high.hi));
	}
	if (low.hi < 0)
		low = twofold(0);
	/* d - 1 and not the last pair, as in the paper's code and all engines. */
	if (high.hi > params->rot_dim - 1)
		high = twofold(params->rot_dim - 1);
	recipe->low = low;
	recipe->width = twofold_sub(high, low);
	if (recipe->width.hi < 0)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE,
				     offsetof(struct kvp_rope_params, original_positions),
				     "rope: no pair turns %g to %g times in %u positions: expected betas, theta and original_positions of a yarn model",
				     KVP_ROPE_BETA_SLOW(params), KVP_ROPE_BETA_FAST(params),
				     params->original_positions);
	if (recipe->width.hi == 0)
		recipe->width = twofold(0.001);
	return 0;
}

/* ---- the attention factor ---- */

static double yarn_mscale(double factor, double mscale)
{
	return 1 + 0.1 * mscale * log(factor);
}

static double attention_factor(const struct kvp_rope_params *params)
{
	double factor = params->factor;

	if (params->attention_factor)
		return params->attention_factor;
	if (params->scaling == KVP_SCALING_YARN)
		return yarn_mscale(factor, KVP_ROPE_OR(params->mscale, 1)) /
		       yarn_mscale(factor, params->mscale_all_dim);
	if (params->scaling == KVP_SCALING_LONGROPE)
		return sqrt(1 + log(factor) / log(params->original_positions));
	return 1;
}

int kvp_rope_prepare(const struct kvp_rope_params *params, struct kvp_rope_recipe *recipe)
{
	int err = kvp_rope_check(params);

	if (err)
		return err;
	recipe->params = params;
	recipe->root = root_of(params);
	recipe->attention_factor = attention_factor(params);
	return params->scaling == KVP_SCALING_YARN ? yarn_range(recipe) : 0;
}

/* ---- one pair ---- */

/* How far @x is on the way of @width from @from, held in [0, 1]. */
static struct twofold ramp(struct twofold x, struct twofold from, struct twofold width)
{
	struct twofold at = twofold_div(twofold_sub(x, from), width);

	if (at.hi < 0)
		return twofold(0);
	return at.hi < 1 ? at : twofold(1);
}

/* Left as it is by @keep, and interpolated by the rest. */
static struct twofold blend(struct twofold plain, struct twofold keep, double factor)
{
	struct twofold rest = twofold_sub(twofold(1), keep);

	return twofold_mul(plain, twofold_add(keep, twofold_div(rest, twofold(factor))));
}

static struct twofold yarn(const struct kvp_rope_recipe *recipe, uint32_t i, struct twofold plain)
{
	const struct kvp_rope_params *params = recipe->params;
	struct twofold keep = twofold_sub(twofold(1), ramp(twofold(i), recipe->low, recipe->width));

	keep = twofold_mul(keep, twofold(KVP_ROPE_OR(params->extrapolation_factor, 1)));
	return blend(plain, keep, params->factor);
}

static struct twofold llama3(const struct kvp_rope_params *params, struct twofold plain)
{
	struct twofold tokens = twofold(params->original_positions);
	struct twofold turns = twofold_div(twofold_mul(plain, tokens), two_pi);
	struct twofold low = twofold(params->low_freq_factor);
	struct twofold width = twofold_sum(params->high_freq_factor, -params->low_freq_factor);

	return blend(plain, ramp(turns, low, width), params->factor);
}

static double longrope_factor(const struct kvp_rope_params *params, uint32_t i)
{
	return params->length > params->original_positions ? params->long_factor[i]
							    : params->short_factor[i];
}

struct twofold kvp_rope_frequency(const struct kvp_rope_recipe *recipe, uint32_t i)
{
	const struct kvp_rope_params *params = recipe->params;
	struct twofold plain = twofold_pow(recipe->root, i);

	switch (params->scaling) {
	case KVP_SCALING_LINEAR:
		return twofold_div(plain, twofold(params->factor));
	case KVP_SCALING_YARN:
		return yarn(recipe, i, plain);
	case KVP_SCALING_LLAMA3:
		return llama3(params, plain);
	case KVP_SCALING_LONGROPE:
		return twofold_div(plain, twofold(longrope_factor(params, i)));
	default:
		return plain;	/* NTK is in the root */
	}
}

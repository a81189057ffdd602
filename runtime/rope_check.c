// SPDX-License-Identifier: MIT
/*
 * Which parameters of RoPE make sense. Owns nothing.
 */
#include <stdbool.h>
#include <stddef.h>

#include "internal.h"
#include "rope_freq.h"

#define LEAST		1e-30
#define MOST		1e30
#define LEAST_OF_LIST	0.5

static const char * const names[KVP_NR_SCALINGS] = {
	[KVP_SCALING_PLAIN] = "plain",
	[KVP_SCALING_LINEAR] = "linear",
	[KVP_SCALING_NTK] = "ntk",
	[KVP_SCALING_DYNAMIC_NTK] = "dynamic-ntk",
	[KVP_SCALING_YARN] = "yarn",
	[KVP_SCALING_LLAMA3] = "llama3",
	[KVP_SCALING_LONGROPE] = "longrope",
};

/* Sets of scalings. */
#define LINEAR		(1U << KVP_SCALING_LINEAR)
#define NTK		(1U << KVP_SCALING_NTK)
#define DYNAMIC_NTK	(1U << KVP_SCALING_DYNAMIC_NTK)
#define YARN		(1U << KVP_SCALING_YARN)
#define LLAMA3		(1U << KVP_SCALING_LLAMA3)
#define LONGROPE	(1U << KVP_SCALING_LONGROPE)
#define SCALED		(LINEAR | NTK | DYNAMIC_NTK | YARN | LLAMA3 | LONGROPE)
#define ALL		(1U << KVP_SCALING_PLAIN | SCALED)

/* Also names the field in texts. */
#define FIELD(member)	#member, offsetof(struct kvp_rope_params, member)

static const struct real {
	const char *name;
	size_t at;
	uint32_t users;		/* scalings that read it */
	bool optional;		/* 0: the default */
	double least;
	double most;
} reals[] = {
	{ FIELD(theta), ALL, false, 1, MOST },
	{ FIELD(factor), SCALED, false, 1, MOST },
	{ FIELD(attention_factor), ALL, true, LEAST, MOST },
	{ FIELD(beta_fast), YARN, true, LEAST, MOST },
	{ FIELD(beta_slow), YARN, true, LEAST, MOST },
	{ FIELD(mscale), YARN, true, LEAST, MOST },
	{ FIELD(mscale_all_dim), YARN, true, LEAST, MOST },
	{ FIELD(extrapolation_factor), YARN, true, LEAST, 1 },
	{ FIELD(low_freq_factor), LLAMA3, false, LEAST, MOST },
	{ FIELD(high_freq_factor), LLAMA3, false, LEAST, MOST },
};

static const struct count {
	const char *name;
	size_t at;
	uint32_t users;
} counts[] = {
	{ FIELD(original_positions), DYNAMIC_NTK | YARN | LLAMA3 | LONGROPE },
	{ FIELD(length), DYNAMIC_NTK | LONGROPE },
};

static const struct list {
	const char *name;
	size_t at;
} lists[] = {
	{ FIELD(short_factor) },
	{ FIELD(long_factor) },
};

static const void *member_at(const struct kvp_rope_params *params, size_t at)
{
	return (const char *)params + at;
}

static bool uses(const struct kvp_rope_params *params, uint32_t users)
{
	return users & 1U << params->scaling;
}

static int unused(const struct kvp_rope_params *params, const char *name, size_t at)
{
	return kvp_error_set(-EINVAL, KVP_REASON_VALUE, (uint32_t)at,
			     "rope: %s is set: expected 0 with %s, which does not use it", name,
			     names[params->scaling]);
}

static int check_head(const struct kvp_rope_params *params)
{
	uint32_t least = 2;

	if (params->scaling >= KVP_NR_SCALINGS)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE,
				     offsetof(struct kvp_rope_params, scaling),
				     "rope: scaling %u: expected one of enum kvp_rope_scaling",
				     params->scaling);
	if (params->reserved)
		return kvp_error_set(-EINVAL, KVP_REASON_RESERVED,
				     offsetof(struct kvp_rope_params, reserved),
				     "rope: reserved is %u: expected 0", params->reserved);
	if (params->flags & ~KVP_SCALING_FLAGS_ALL || (params->flags && !uses(params, YARN)))
		return kvp_error_set(-EINVAL, KVP_REASON_FLAG,
				     offsetof(struct kvp_rope_params, flags),
				     "rope: flags are %#x: expected 0, or NO_TRUNCATE with yarn",
				     params->flags);
	/* Their exponent, d / (d - 2), has no value for 2. */
	if (uses(params, NTK | DYNAMIC_NTK))
		least = 4;
	if (params->rot_dim < least || params->rot_dim > KVP_ROPE_MAX_DIM || params->rot_dim % 2)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE,
				     offsetof(struct kvp_rope_params, rot_dim),
				     "rope: rot_dim is %u: expected an even number in [%u, %u] with %s",
				     params->rot_dim, least, KVP_ROPE_MAX_DIM,
				     names[params->scaling]);
	return 0;
}

/* Written so that what is not a number is refused, too. */
static int check_real(const struct kvp_rope_params *params, const struct real *real)
{
	double value = *(const double *)member_at(params, real->at);

	if (!uses(params, real->users))
		return value == 0 ? 0 : unused(params, real->name, real->at);
	if ((real->optional && value == 0) || (value >= real->least && value <= real->most))
		return 0;
	return kvp_error_set(-EINVAL, KVP_REASON_VALUE, (uint32_t)real->at,
			     "rope: %s is %g: expected a number in [%g, %g]%s with %s", real->name,
			     value, real->least, real->most,
			     real->optional ? ", or 0 for the default," : "",
			     names[params->scaling]);
}

static int check_count(const struct kvp_rope_params *params, const struct count *count)
{
	uint32_t value = *(const uint32_t *)member_at(params, count->at);

	if (!uses(params, count->users))
		return value ? unused(params, count->name, count->at) : 0;
	if (value && value <= KVP_ROPE_MAX_POSITIONS)
		return 0;
	return kvp_error_set(-EINVAL, KVP_REASON_VALUE, (uint32_t)count->at,
			     "rope: %s is %u: expected a number in [1, 2^31] with %s", count->name,
			     value, names[params->scaling]);
}

static int check_list(const struct kvp_rope_params *params, const struct list *list)
{
	const double *values = *(const double * const *)member_at(params, list->at);
	uint32_t i;

	if (!uses(params, LONGROPE))
		return values ? unused(params, list->name, list->at) : 0;
	if (!values)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, (uint32_t)list->at,
				     "rope: %s is NULL: expected a list of %u numbers with longrope",
				     list->name, params->rot_dim / 2);
	for (i = 0; i < params->rot_dim / 2; i++) {
		if (!(values[i] >= LEAST_OF_LIST && values[i] <= MOST))
			return kvp_error_set(-EINVAL, KVP_REASON_VALUE, (uint32_t)list->at,
					     "rope: %s[%u] is %g: expected a number in [%g, %g]",
					     list->name, i, values[i], LEAST_OF_LIST, MOST);
	}
	return 0;
}

/* What two fields say together. */
static int check_pairs(const struct kvp_rope_params *params)
{
	/* Their logarithms are divided by. */
	if (uses(params, LONGROPE) && params->original_positions < 2)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE,
				     offsetof(struct kvp_rope_params, original_positions),
				     "rope: original_positions is 1: expected 2 or more with longrope");
	if (uses(params, YARN) && params->theta == 1)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE,
				     offsetof(struct kvp_rope_params, theta),
				     "rope: theta is 1: expected more than 1 with yarn");
	if (uses(params, YARN) && KVP_ROPE_BETA_SLOW(params) > KVP_ROPE_BETA_FAST(params))
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE,
				     offsetof(struct kvp_rope_params, beta_slow),
				     "rope: beta_slow is %g: expected at most beta_fast, %g",
				     KVP_ROPE_BETA_SLOW(params), KVP_ROPE_BETA_FAST(params));
	if (uses(params, LLAMA3) && params->high_freq_factor <= params->low_freq_factor)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE,
				     offsetof(struct kvp_rope_params, high_freq_factor),
				     "rope: high_freq_factor is %g: expected more than low_freq_factor, %g",
				     params->high_freq_factor, params->low_freq_factor);
	return 0;
}

int kvp_rope_check(const struct kvp_rope_params *params)
{
	size_t i;
	int err = check_head(params);

	for (i = 0; !err && i < KVP_ARRAY_SIZE(reals); i++)
		err = check_real(params, &reals[i]);
	for (i = 0; !err && i < KVP_ARRAY_SIZE(counts); i++)
		err = check_count(params, &counts[i]);
	for (i = 0; !err && i < KVP_ARRAY_SIZE(lists); i++)
		err = check_list(params, &lists[i]);
	return err ? err : check_pairs(params);
}

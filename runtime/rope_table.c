// SPDX-License-Identifier: MIT
/*
 * Tables of RoPE: cosines and sines of each position, and which axis rotates which pair.
 * Owns nothing; what the caller has set in the floating-point unit is put aside meanwhile.
 */
#include <fenv.h>
#include <math.h>
#include <stddef.h>

#include "internal.h"
#include "rope_freq.h"

/* Positions of which a pair's entries are made in one go: they fit into the nearest cache. */
#define RUN	64

static int is_null(const char *name)
{
	return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "rope: %s is NULL", name);
}

/* ---- tables ---- */

static int check_positions(uint32_t first, uint32_t n_pos)
{
	if (!n_pos)
		return kvp_error_set(-EINVAL, KVP_REASON_COUNT, 0,
				     "rope: a table of 0 positions: expected 1 or more");
	if ((uint64_t)first + n_pos > KVP_ROPE_MAX_POSITIONS)
		return kvp_error_set(-EINVAL, KVP_REASON_LENGTH, 0,
				     "rope: positions from %u to %llu: expected at most 2^31 of them from 0",
				     first, (unsigned long long)first + n_pos - 1);
	return 0;
}

/*
 * Cosine and sine of an angle that is a double and a small rest: the first terms of the
 * series in the rest, of which the next ones are below a double's precision.
 */
static void cos_sin(struct twofold angle, double *cosine, double *sine)
{
	double c, s;

	sincos(angle.hi, &s, &c);
	*cosine = c - angle.lo * (s + angle.lo / 2 * c);
	*sine = s + angle.lo * (c - angle.lo / 2 * s);
}

/* The entries of pair @i, at @n_pos positions. */
static void fill_pair(const struct kvp_rope_recipe *recipe, uint32_t i, uint32_t first,
		      uint32_t n_pos, float *rows)
{
	struct twofold frequency = kvp_rope_frequency(recipe, i);
	uint32_t rot_dim = recipe->params->rot_dim;
	double cosine, sine;
	uint32_t at;

	for (at = 0; at < n_pos; at++, rows += rot_dim) {
		cos_sin(twofold_mul(frequency, twofold(first + at)), &cosine, &sine);
		rows[i] = (float)(recipe->attention_factor * cosine);
		rows[rot_dim / 2 + i] = (float)(recipe->attention_factor * sine);
	}
}

static void fill_table(const struct kvp_rope_recipe *recipe, uint32_t first, uint32_t n_pos,
		       float *table)
{
	uint32_t rot_dim = recipe->params->rot_dim;
	uint32_t done, run, i;

	for (done = 0; done < n_pos; done += run) {
		run = n_pos - done < RUN ? n_pos - done : RUN;
		for (i = 0; i < rot_dim / 2; i++)
			fill_pair(recipe, i, first + done, run, table + (size_t)done * rot_dim);
	}
}

static __attribute__((noinline))
int make_table(const struct kvp_rope_params *params, uint32_t first, uint32_t n_pos, float *table)
{
	struct kvp_rope_recipe recipe;
	int err = kvp_rope_prepare(params, &recipe);

	if (!err)
		err = check_positions(first, n_pos);
	if (!err)
		fill_table(&recipe, first, n_pos, table);
	return err;
}

static __attribute__((noinline))
int make_frequencies(const struct kvp_rope_params *params, double *inv_freq,
		     double *attention_factor)
{
	struct kvp_rope_recipe recipe;
	int err = kvp_rope_prepare(params, &recipe);
	uint32_t i;

	for (i = 0; !err && inv_freq && i < params->rot_dim / 2; i++)
		inv_freq[i] = kvp_rope_frequency(&recipe, i).hi;
	if (!err && attention_factor)
		*attention_factor = recipe.attention_factor;
	return err;
}

/* ---- the interface ---- */

/*
 * Rounding, flushing of subnormals and traps as a process has them at its start; *@env is what the
 * thread had. What is computed in between is in functions that are not inlined, for compilers
 * take no notice of these settings.
 */
static void settings_put_aside(fenv_t *env)
{
	fegetenv(env);
	fesetenv(FE_DFL_ENV);
}

int kvp_rope_table(const struct kvp_rope_params *params, uint32_t first, uint32_t n_pos,
		   float *table)
{
	fenv_t env;
	int err;

	if (!params || !table)
		return is_null(params ? "table" : "params");
	settings_put_aside(&env);
	err = make_table(params, first, n_pos, table);
	fesetenv(&env);
	return err;
}

int kvp_rope_frequencies(const struct kvp_rope_params *params, double *inv_freq,
			 double *attention_factor)
{
	fenv_t env;
	int err;

	if (!params)
		return is_null("params");
	settings_put_aside(&env);
	err = make_frequencies(params, inv_freq, attention_factor);
	fesetenv(&env);
	return err;
}

/* ---- three positions a token ---- */

/* In turn: the last pair of @axis must be one of the @pairs. */
static int check_interleaved(const uint32_t section[KVP_ROPE_AXES], uint32_t pairs)
{
	uint32_t axis;

	for (axis = 1; axis < KVP_ROPE_AXES; axis++) {
		uint32_t most = (pairs + KVP_ROPE_AXES - 1 - axis) / KVP_ROPE_AXES;

		if (section[axis] > most)
			return kvp_error_set(-EINVAL, KVP_REASON_COUNT, axis,
					     "rope sections: section %u of %u pairs: expected at most %u, every third of %u",
					     axis, section[axis], most, pairs);
	}
	return 0;
}

static int check_sections(const uint32_t section[KVP_ROPE_AXES], uint32_t sections,
			  uint32_t rot_dim)
{
	uint64_t sum = (uint64_t)section[0] + section[1] + section[2];

	if (sections >= KVP_NR_SECTIONS)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, 0,
				     "rope sections: %u: expected one of enum kvp_sections",
				     sections);
	if (!rot_dim || rot_dim % 2 || rot_dim > KVP_ROPE_MAX_DIM)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, 0,
				     "rope sections: rot_dim is %u: expected an even number in [2, %u]",
				     rot_dim, KVP_ROPE_MAX_DIM);
	if (sum != rot_dim / 2)
		return kvp_error_set(-EINVAL, KVP_REASON_COUNT, 0,
				     "rope sections: %llu pairs together: expected %u, half of rot_dim",
				     (unsigned long long)sum, rot_dim / 2);
	return sections == KVP_SECTIONS_INTERLEAVED ? check_interleaved(section, rot_dim / 2) : 0;
}

static uint32_t axis_of(const uint32_t section[KVP_ROPE_AXES], uint32_t sections, uint32_t i)
{
	uint32_t axis = i % KVP_ROPE_AXES;

	if (sections == KVP_SECTIONS_INTERLEAVED)
		return i / KVP_ROPE_AXES < section[axis] ? axis : 0;
	if (i < section[0])
		return 0;
	return i < section[0] + section[1] ? 1 : 2;
}

int kvp_rope_sections(const uint32_t section[KVP_ROPE_AXES], uint32_t sections, uint32_t rot_dim,
		      uint8_t *axis_of_pair)
{
	uint32_t i;
	int err;

	if (!section || !axis_of_pair)
		return is_null(section ? "axis_of_pair" : "section");
	err = check_sections(section, sections, rot_dim);
	for (i = 0; !err && i < rot_dim / 2; i++)
		axis_of_pair[i] = (uint8_t)axis_of(section, sections, i);
	return err;
}

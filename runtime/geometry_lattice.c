// SPDX-License-Identifier: MIT
/*
 * The bytes of a plane as nested strides: do elements overlap, do two planes? Owns nothing and
 * takes no lock.
 *
 * A plane can have 10^12 elements, so nothing here goes through them. Strides nest in all layouts
 * there are; and of two planes in one tensor most strides are the same, so that it is the
 * difference of their indices that counts, of which only two or three values can bring two
 * parts near each other.
 */
#include "geometry.h"

/* ---- making one ---- */

static void add_dim(struct kvp_lattice *lattice, int64_t stride, uint64_t count,
		    const char *name)
{
	kvp_wide_t step = stride;
	uint32_t at = lattice->nr;

	if (count == 1)
		return;
	if (step < 0) {
		lattice->low += step * (kvp_wide_t)(count - 1);
		step = -step;
	}
	for (; at && lattice->dim[at - 1].stride < step; at--)
		lattice->dim[at] = lattice->dim[at - 1];
	lattice->dim[at].stride = step;
	lattice->dim[at].count = count;
	lattice->dim[at].name = name;
	lattice->nr++;
}

void kvp_lattice_make(const struct kvp_geometry *geometry, const struct kvp_plane *plane,
		      uint32_t layer, enum kvp_lattice_of what, struct kvp_lattice *lattice)
{
	kvp_wide_t run = (kvp_wide_t)plane->vec * kvp_dtype_bytes(plane->dtype);
	uint32_t i;

	lattice->nr = 0;
	lattice->low = plane->base;
	if (plane->layer_base)
		lattice->low += plane->layer_base[layer];
	else
		lattice->low += (kvp_wide_t)plane->layer_stride * layer;
	if (what == KVP_LATTICE_PLANE && !plane->layer_base)
		add_dim(lattice, plane->layer_stride, geometry->n_layers, "layer_stride");
	if (what != KVP_LATTICE_BLOCK)
		add_dim(lattice, plane->block_stride, geometry->n_blocks, "block_stride");
	add_dim(lattice, plane->token_stride, geometry->block_tokens, "token_stride");
	add_dim(lattice, plane->head_stride, plane->n_heads, "head_stride");
	add_dim(lattice, plane->vec_stride, plane->n_elems / plane->vec, "vec_stride");
	while (lattice->nr && lattice->dim[lattice->nr - 1].stride == run)
		run *= lattice->dim[--lattice->nr].count;
	lattice->span[lattice->nr] = run;
	for (i = lattice->nr; i--;)
		lattice->span[i] = lattice->span[i + 1] +
				   lattice->dim[i].stride *
				   (kvp_wide_t)(lattice->dim[i].count - 1);
}

/* ---- asking it ---- */

int kvp_lattice_overlap(const struct kvp_lattice *lattice, kvp_wide_t *expected)
{
	uint32_t i;

	for (i = lattice->nr; i--;) {
		if (lattice->dim[i].stride < lattice->span[i + 1]) {
			*expected = lattice->span[i + 1];
			return (int)i;
		}
	}
	return -1;
}

/* Division that rounds down, @by > 0. */
static kvp_wide_t floor_div(kvp_wide_t of, kvp_wide_t by)
{
	return of / by - (of % by < 0);
}

/*
 * The part of @a from its dimension @i on inwards against the part of @b from @j on, which
 * begins @delta bytes behind it.
 */
static enum kvp_apart parts_apart(const struct kvp_lattice *a, uint32_t i,
				  const struct kvp_lattice *b, uint32_t j, kvp_wide_t delta,
				  uint32_t *budget)
{
	kvp_wide_t stride, lowest, highest, step, span_a = a->span[i], span_b = b->span[j];
	bool step_a, step_b;

	if (delta >= span_a || delta + span_b <= 0)
		return KVP_APART;
	if (i == a->nr && j == b->nr)
		return KVP_OVERLAP;
	if (!*budget)
		return KVP_APART_UNKNOWN;
	--*budget;

	/* Go into the longer steps; into both if they are equally long. */
	step_a = i < a->nr && (j == b->nr || a->dim[i].stride >= b->dim[j].stride);
	step_b = j < b->nr && (i == a->nr || b->dim[j].stride >= a->dim[i].stride);
	stride = step_a ? a->dim[i].stride : b->dim[j].stride;
	span_a = a->span[i + step_a];
	span_b = b->span[j + step_b];

	/* Indices of b less those of a with which the two could still meet. */
	lowest = floor_div(-span_b - delta, stride) + 1;
	highest = -floor_div(delta - span_a, stride) - 1;
	if (lowest < (step_a ? 1 - (kvp_wide_t)a->dim[i].count : 0))
		lowest = step_a ? 1 - (kvp_wide_t)a->dim[i].count : 0;
	if (highest > (step_b ? (kvp_wide_t)b->dim[j].count - 1 : 0))
		highest = step_b ? (kvp_wide_t)b->dim[j].count - 1 : 0;
	for (step = lowest; step <= highest; step++) {
		enum kvp_apart apart = parts_apart(a, i + step_a, b, j + step_b,
						   delta + step * stride, budget);

		if (apart != KVP_APART)
			return apart;
	}
	return KVP_APART;
}

enum kvp_apart kvp_lattice_apart(const struct kvp_lattice *a, const struct kvp_lattice *b,
				 uint32_t *budget)
{
	return parts_apart(a, 0, b, 0, b->low - a->low, budget);
}

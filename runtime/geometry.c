// SPDX-License-Identifier: MIT
/*
 * The geometry of a family. Owns struct kvp_bound, the library's copy of what an engine
 * registered; it changes only in kvp_pool_set_geometry(), beside which no call on the pool may
 * run, so that nothing here needs a lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "geometry.h"
#include "internal.h"

/*
 * Rows that the family says are of one dtype are so in the tensors. Mixed rows are of none that
 * could be said, and what goes with K and V (scales, KRAW) has a dtype of its own.
 */
static int compare_dtype(const struct kvp_pool *pool, uint32_t family,
			 const struct kvp_geometry *geometry)
{
	uint32_t dtype = pool->family[family].dtype, i;

	if (dtype == KVP_DTYPE_NONE || dtype == KVP_DTYPE_OPAQUE8)
		return 0;
	for (i = 0; i < geometry->n_planes; i++) {
		const struct kvp_plane *plane = &geometry->plane[i];

		if (plane->flags & KVP_PLANE_READONLY || plane->dtype == dtype)
			continue;
		if (plane->role != KVP_ROLE_K && plane->role != KVP_ROLE_V &&
		    plane->role != KVP_ROLE_LATENT)
			continue;
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, i,
				     "set_geometry: plane %u (%s): dtype %s: expected %s, the dtype of family %u",
				     i, kvp_role_name(plane->role), kvp_dtype_name(plane->dtype),
				     kvp_dtype_name(dtype), family);
	}
	return 0;
}

/* The tensors must be as the family is. */
static int compare_family(const struct kvp_pool *pool, uint32_t family,
			  const struct kvp_geometry *geometry,
			  const struct kvp_geometry_facts *facts)
{
	const struct kvp_family_desc *desc = &pool->family[family];
	uint64_t row_bytes = pool->region[family].row_bytes;

	if (geometry->block_tokens != desc->block_tokens)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, family,
				     "set_geometry: block_tokens %u: expected %u, of family %u",
				     geometry->block_tokens, desc->block_tokens, family);
	if (geometry->n_blocks < desc->blocks)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, family,
				     "set_geometry: n_blocks %llu: expected at least %llu, of family %u",
				     (unsigned long long)geometry->n_blocks,
				     (unsigned long long)desc->blocks, family);
	if (facts->row_bytes != row_bytes)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, family,
				     "set_geometry: rows of %llu bytes in all planes: expected %llu, the row_bytes of family %u",
				     (unsigned long long)facts->row_bytes,
				     (unsigned long long)row_bytes, family);
	return compare_dtype(pool, family, geometry);
}

/* Nothing may be held whose bytes would be left behind. */
static int check_holds_nothing(struct kvp_pool *pool)
{
	struct kvp_stats stats = { .client = KVP_STATS_SELF };
	int err;

	err = kvp_do(pool, KVP_OP_STATS, &stats);
	if (err)
		return err;
	if (!stats.seqs && !stats.raw && !stats.matches)
		return 0;
	return kvp_error_set(-EBUSY, KVP_REASON_NONE, 0,
			     "set_geometry: the client has %llu sequences, %llu raw references and %llu matches: expected none",
			     (unsigned long long)stats.seqs, (unsigned long long)stats.raw,
			     (unsigned long long)stats.matches);
}

/* Layer bases, ropes by layer and axes of pairs that are the library's own. */
static void bound_arrays(struct kvp_bound *bound, const struct kvp_geometry *geometry)
{
	uint64_t *base = bound->layer_base;
	uint8_t *at;
	uint32_t i;

	for (i = 0; i < bound->n_planes; i++) {
		if (!bound->plane[i].layer_base)
			continue;
		memcpy(base, bound->plane[i].layer_base, bound->n_layers * sizeof(*base));
		bound->plane[i].layer_base = base;
		base += bound->n_layers;
	}
	at = (uint8_t *)base;
	bound->rope_of_layer = at;
	for (i = 0; i < bound->n_layers; i++)
		*at++ = geometry->rope_of_layer ? geometry->rope_of_layer[i] : 0;
	for (i = 0; i < bound->n_ropes; i++) {
		struct kvp_rope *rope = &bound->rope[i];

		if (!rope->axis_of_pair)
			continue;
		memcpy(at, rope->axis_of_pair, rope->rot_dim / 2);
		rope->axis_of_pair = at;
		at += rope->rot_dim / 2;
		bound->axes = KVP_ROPE_AXES;
	}
}

static struct kvp_bound *bound_make(const struct kvp_geometry *geometry,
				    const struct kvp_geometry_facts *facts)
{
	size_t bytes = geometry->n_planes * geometry->n_layers * sizeof(uint64_t) +
		       geometry->n_layers;
	struct kvp_bound *bound;
	uint32_t i;

	for (i = 0; i < geometry->n_ropes; i++)
		bytes += geometry->rope[i].rot_dim / 2;
	bound = calloc(1, sizeof(*bound) + bytes);
	if (!bound)
		return NULL;
	bound->facts = *facts;
	bound->n_layers = geometry->n_layers;
	bound->block_tokens = geometry->block_tokens;
	bound->n_planes = geometry->n_planes;
	bound->n_ropes = geometry->n_ropes;
	bound->axes = 1;
	for (i = 0; i < geometry->n_ropes; i++) {
		if (geometry->rope[i].style != KVP_ROPE_NONE)
			bound->n_positions = geometry->n_positions;
	}
	memcpy(bound->plane, geometry->plane, sizeof(bound->plane));
	memcpy(bound->rope, geometry->rope, sizeof(bound->rope));
	bound_arrays(bound, geometry);
	return bound;
}

int kvp_pool_set_geometry(struct kvp_pool *pool, uint32_t family,
			  const struct kvp_geometry *geometry)
{
	struct kvp_geometry_facts facts;
	struct kvp_bound *bound = NULL;
	int err;

	if (family >= pool->nr_families)
		return kvp_error_set(-EINVAL, KVP_REASON_FAMILY, family,
				     "set_geometry: family %u: expected one of %u", family,
				     pool->nr_families);
	err = check_holds_nothing(pool);
	if (err)
		return err;
	if (geometry) {
		err = kvp_geometry_check(geometry, &facts);
		if (!err)
			err = compare_family(pool, family, geometry, &facts);
		if (err)
			return err;
		bound = bound_make(geometry, &facts);
		if (!bound)
			return kvp_error_set(-ENOMEM, KVP_REASON_MEMORY, family,
					     "set_geometry: no memory for the geometry of family %u",
					     family);
	}
	free(pool->bound[family]);
	pool->bound[family] = bound;
	return 0;
}

void kvp_geometry_drop(struct kvp_pool *pool)
{
	uint32_t i;

	for (i = 0; i < KVP_MAX_FAMILIES; i++)
		free(pool->bound[i]);
}

void *kvp_block_plane(struct kvp_pool *pool, uint64_t block, uint32_t plane, uint32_t layer)
{
	const struct kvp_bound *bound;

	if (!kvp_block_is_ours(pool, block))
		return NULL;
	bound = pool->bound[KVP_BLOCK_FAMILY(block)];
	if (!bound || plane >= bound->n_planes || layer >= bound->n_layers)
		return NULL;
	return (void *)(uintptr_t)kvp_plane_address(&bound->plane[plane], layer,
						    KVP_BLOCK_INDEX(block), 0, 0, 0);
}

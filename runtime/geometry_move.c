// SPDX-License-Identifier: MIT
/*
 * Bytes between rows and tensors, and from block to block, as boxes (kernels/box.h). Takes no
 * lock: rows of different sequences lie at different addresses, and the table that says where is
 * constant.
 */
#include "geometry.h"

static unsigned char *plane_at(const struct kvp_plane *plane, uint32_t layer, uint64_t block,
			       uint64_t row)
{
	return (unsigned char *)(uintptr_t)kvp_plane_address(plane, layer, block, (uint32_t)row,
							     0, 0);
}

static bool is_moved(const struct kvp_plane *plane)
{
	return !(plane->flags & KVP_PLANE_READONLY);
}

void kvp_bound_write(const struct kvp_bound *bound, uint64_t block, uint64_t row, uint64_t nr,
		     const unsigned char *rows)
{
	struct kvp_steps tensor, packed;
	struct kvp_box box;
	uint32_t i, layer;

	for (i = 0; i < bound->n_planes; i++) {
		const struct kvp_plane *plane = &bound->plane[i];
		const unsigned char *from = rows + bound->facts.plane[i].row_off;

		if (!is_moved(plane))
			continue;
		kvp_steps_of_plane(plane, &tensor);
		kvp_steps_of_rows(plane, bound->facts.row_bytes, &packed);
		kvp_box_make(plane, nr, &tensor, &packed, &box);
		for (layer = 0; layer < bound->n_layers; layer++)
			kvp_box_move(&box, plane_at(plane, layer, block, row),
				     from + layer * kvp_plane_token_bytes(plane),
				     kvp_copy_cached);
	}
}

void kvp_bound_read(const struct kvp_bound *bound, uint64_t block, uint64_t row, uint64_t nr,
		    unsigned char *rows)
{
	struct kvp_steps tensor, packed;
	struct kvp_box box;
	uint32_t i, layer;

	for (i = 0; i < bound->n_planes; i++) {
		const struct kvp_plane *plane = &bound->plane[i];
		unsigned char *to = rows + bound->facts.plane[i].row_off;

		if (!is_moved(plane))
			continue;
		kvp_steps_of_plane(plane, &tensor);
		kvp_steps_of_rows(plane, bound->facts.row_bytes, &packed);
		kvp_box_make(plane, nr, &packed, &tensor, &box);
		for (layer = 0; layer < bound->n_layers; layer++)
			kvp_box_move(&box, to + layer * kvp_plane_token_bytes(plane),
				     plane_at(plane, layer, block, row), kvp_copy_cached);
	}
}

void kvp_bound_copy(const struct kvp_bound *bound, uint64_t src, uint64_t dst, uint64_t tokens)
{
	struct kvp_steps tensor;
	struct kvp_box box;
	uint32_t i, layer;

	for (i = 0; i < bound->n_planes; i++) {
		const struct kvp_plane *plane = &bound->plane[i];

		if (!is_moved(plane))
			continue;
		kvp_steps_of_plane(plane, &tensor);
		kvp_box_make(plane, tokens, &tensor, &tensor, &box);
		for (layer = 0; layer < bound->n_layers; layer++)
			kvp_box_move(&box, plane_at(plane, layer, dst, 0),
				     plane_at(plane, layer, src, 0), kvp_copy_cached);
	}
}

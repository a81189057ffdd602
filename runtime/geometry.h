/* SPDX-License-Identifier: MIT */
/*
 * What the files of geometries share: planes as nested strides, and the geometry that is set.
 */
#ifndef KVP_RUNTIME_GEOMETRY_H
#define KVP_RUNTIME_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include <box.h>
#include <kvpool.h>

/* Addresses and what is computed of them before it is known that they fit 64 bits. */
typedef __int128 kvp_wide_t;

/* ---- geometry_lattice.c: which bytes a plane has ---- */

#define KVP_LATTICE_DIMS	5	/* layer, block, token, head, run of elements */

/**
 * struct kvp_lattice - the bytes of a plane, or of a part of one
 * @low: lowest address
 * @nr: dimensions, those of one step left out
 * @dim: by falling stride; strides are made positive, name is the field that they come from
 * @span: bytes from the lowest to the end of the highest, of all from dimension i on inwards;
 *        span[nr]: bytes that follow each other at the very inside
 */
struct kvp_lattice {
	kvp_wide_t low;
	uint32_t nr;
	struct {
		kvp_wide_t stride;
		uint64_t count;
		const char *name;
	} dim[KVP_LATTICE_DIMS];
	kvp_wide_t span[KVP_LATTICE_DIMS + 1];
};

enum kvp_lattice_of {
	KVP_LATTICE_PLANE,	/* all of it; with layer bases: all blocks of the layer */
	KVP_LATTICE_LAYER,	/* all blocks of the layer */
	KVP_LATTICE_BLOCK,	/* the first block of the layer */
};

/* The plane must have a dtype, counts above zero, and a vec that divides its vector. */
void kvp_lattice_make(const struct kvp_geometry *geometry, const struct kvp_plane *plane,
		      uint32_t layer, enum kvp_lattice_of what, struct kvp_lattice *lattice);

/*
 * Dimension that is not apart from what lies inside it, or -1: then no two elements share a
 * byte. *@expected: what its stride must be at least.
 */
int kvp_lattice_overlap(const struct kvp_lattice *lattice, kvp_wide_t *expected);

enum kvp_apart {
	KVP_APART,
	KVP_OVERLAP,
	KVP_APART_UNKNOWN,	/* *@budget steps were not enough to tell */
};

/* Whether two lattices that do not overlap themselves have no byte in common. */
enum kvp_apart kvp_lattice_apart(const struct kvp_lattice *a, const struct kvp_lattice *b,
				 uint32_t *budget);

/* ---- geometry_check.c ---- */

/* Elements of a plane's vector lie next to each other, however it is said. */
static inline bool kvp_plane_unsplit(const struct kvp_plane *plane)
{
	return plane->vec == plane->n_elems ||
	       plane->vec_stride == (int32_t)(plane->vec * kvp_dtype_bytes(plane->dtype));
}

/* Bytes of one token of one layer. */
static inline uint64_t kvp_plane_token_bytes(const struct kvp_plane *plane)
{
	return (uint64_t)plane->n_heads * plane->n_elems * kvp_dtype_bytes(plane->dtype);
}

/* ---- geometry_move.c: bytes from place to place ---- */

/**
 * struct kvp_bound - the geometry of a family
 * @facts: what follows from it
 * @n_layers: layers
 * @block_tokens: tokens of a block
 * @n_planes: planes
 * @n_ropes: ropes
 * @n_positions: positions that tokens can have are below it; 0: nothing is rotated
 * @axes: positions of a token, 1 or KVP_ROPE_AXES
 * @rope_of_layer: index in @rope for each layer
 * @plane: planes, whose layer bases lie in @layer_base
 * @rope: ropes, whose axes of pairs and tables are as with @rope_of_layer, and the caller's
 * @layer_base: of all planes that have some; then rope_of_layer, and axes of pairs
 */
struct kvp_bound {
	struct kvp_geometry_facts facts;
	uint32_t n_layers;
	uint32_t block_tokens;
	uint32_t n_planes;
	uint32_t n_ropes;
	uint64_t n_positions;
	uint32_t axes;
	uint8_t *rope_of_layer;
	struct kvp_plane plane[KVP_MAX_PLANES];
	struct kvp_rope rope[KVP_MAX_ROPES];
	uint64_t layer_base[];
};

/* Rows [@row, @row + @nr) of block number @block, from and to rows of facts.row_bytes. */
void kvp_bound_write(const struct kvp_bound *bound, uint64_t block, uint64_t row, uint64_t nr,
		     const unsigned char *rows);
void kvp_bound_read(const struct kvp_bound *bound, uint64_t block, uint64_t row, uint64_t nr,
		    unsigned char *rows);
/* Rows [0, @tokens) of block number @src to block number @dst, another one. */
void kvp_bound_copy(const struct kvp_bound *bound, uint64_t src, uint64_t dst, uint64_t tokens);

#endif /* KVP_RUNTIME_GEOMETRY_H */

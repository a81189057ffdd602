/* SPDX-License-Identifier: MIT */
/*
 * Geometries for tests: tensors of engines in a small odd shape, each with a formula that says
 * where an element lies, written from the layout's dimensions and not from the library's strides.
 *
 * Include <check.h> first.
 */
#ifndef KVPR_GEOMETRIES_H
#define KVPR_GEOMETRIES_H

#include <kvpool.h>

/* The shape of all of them: no size divides another. */
#define KVPR_LAYERS	3
#define KVPR_BLOCKS	5
#define KVPR_TOKENS	7		/* of a block */
#define KVPR_TENSORS	(2 * KVPR_LAYERS)

/**
 * struct kvpr_tensors - the tensors of a case
 * @which: number of the case
 * @geometry: how the library was told of them
 * @nr: tensors
 * @tensor: each, allocated to the byte
 * @bytes: their sizes
 * @layer_base: addresses, as the geometry has them; those of second tensors from KVPR_LAYERS on
 * @memory: the allocations
 */
struct kvpr_tensors {
	uint32_t which;
	struct kvp_geometry geometry;
	uint32_t nr;
	uint8_t *tensor[KVPR_TENSORS];
	uint64_t bytes[KVPR_TENSORS];
	uint64_t layer_base[KVPR_TENSORS];
	struct kvp_memory memory[KVPR_TENSORS];
};

uint32_t kvpr_nr_geometries(void);
const char *kvpr_geometry_name(uint32_t which);
/* enum kvp_layout that it was made of, 0: none. */
uint32_t kvpr_geometry_layout(uint32_t which);
/* enum kvp_path that plane @plane must have. */
uint32_t kvpr_geometry_path(uint32_t which, uint32_t plane);
/* Bytes of a row, summed up from the sizes of the planes. */
uint64_t kvpr_geometry_row_bytes(uint32_t which);

/* All bytes are 0xa5. To be ended with kvpr_tensors_drop(). */
void kvpr_tensors_make(uint32_t which, struct kvpr_tensors *tensors);
void kvpr_tensors_drop(struct kvpr_tensors *tensors);

/* The element by the case's formula: its tensor, and the byte in that. */
uint32_t kvpr_element(uint32_t which, uint32_t plane, uint32_t layer, uint32_t block,
		      uint32_t token, uint32_t head, uint32_t elem, uint64_t *byte);

/* What is in plane @plane of the case, by its own table: heads, elements, bytes of one. */
void kvpr_plane_sizes(uint32_t which, uint32_t plane, uint32_t *heads, uint32_t *elems,
		      uint32_t *bytes);
uint32_t kvpr_nr_planes(uint32_t which);
/* The plane is part of rows and copies. */
bool kvpr_plane_is_moved(uint32_t which, uint32_t plane);

#endif /* KVPR_GEOMETRIES_H */

/* SPDX-License-Identifier: MIT */
/*
 * Moves of rows, carried out: verbatim, and K derived anew from KRAW (cpu/rows.c). Knows
 * tensors and memory, nothing of pools: whether the moves make sense is the caller's to check.
 */
#ifndef KVP_KERNELS_ROWS_H
#define KVP_KERNELS_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include <kvpool_rows.h>

#include "box.h"
#include "rope.h"

struct kvp_cpu;

/**
 * struct kvp_rows_of - where rows lie
 * @memory: rows without planes: block 0; NULL: planes
 * @block_bytes: from one block to the next there
 * @row_bytes: from one row to the next there
 * @n_layers: layers
 * @n_planes: planes
 * @axes: positions of a token, 1 or KVP_ROPE_AXES
 * @plane: planes
 * @rope: ropes; NULL: rows cannot be given new positions, and all moves are KEEP
 * @rope_of_layer: index in @rope for each layer
 */
struct kvp_rows_of {
	unsigned char *memory;
	uint64_t block_bytes;
	uint64_t row_bytes;
	uint32_t n_layers;
	uint32_t n_planes;
	uint32_t axes;
	const struct kvp_plane *plane;
	const struct kvp_rope *rope;
	const uint8_t *rope_of_layer;
};

#define KVP_NO_PLANE	KVP_MAX_PLANES

/**
 * struct kvp_rows_group - planes that move together
 * @plane: the plane; of those that K is made of, K
 * @raw: its KRAW, or KVP_NO_PLANE
 * @scale: the scale that is made with it, or KVP_NO_PLANE
 */
struct kvp_rows_group {
	uint8_t plane;
	uint8_t raw;
	uint8_t scale;
};

/**
 * struct kvp_rows_plan - moves, divided in parts
 * @of: where
 * @moves: the moves, whose block ids are taken for their index
 * @nr: how many
 * @in_place: a row's target may be a row that was read before
 * @stream: so much that stores go past the caches
 * @cpu: the variant that does it
 * @copy: how pieces are copied
 * @nr_groups: elements of @group
 * @chunks: parts of a (layer, group)
 * @group: all planes that move
 */
struct kvp_rows_plan {
	const struct kvp_rows_of *of;
	const struct kvp_row_move *moves;
	uint32_t nr;
	bool in_place;
	bool stream;
	const struct kvp_cpu *cpu;
	kvp_copy_t copy;
	uint32_t nr_groups;
	uint32_t chunks;
	struct kvp_rows_group group[KVP_MAX_PLANES];
};

/* @cpu: from kvp_cpu_get(). */
void kvp_rows_plan(struct kvp_rows_plan *plan, const struct kvp_rows_of *of,
		   const struct kvp_row_move *moves, uint32_t nr, bool in_place,
		   const struct kvp_cpu *cpu);

/*
 * Divide it in @wanted parts or somewhat more, if there is so much; how many there are. Out of
 * place by moves; in place by heads, so that each head is one part, and its tokens go in
 * order. No part reads what another one writes.
 */
uint32_t kvp_rows_parts(struct kvp_rows_plan *plan, uint32_t wanted);

/* Carry out part @part; parts may run at the same time. */
void kvp_rows_run(const struct kvp_rows_plan *plan, uint32_t part);

/* How the elements of a plane's vectors lie. */
struct kvp_vector kvp_vector_of(const struct kvp_plane *plane);

/* How K of layers with @rope is made of elements that lie so. */
struct kvp_rotation kvp_rotation_of(const struct kvp_rope *rope, struct kvp_vector raw,
				    struct kvp_vector k);

/**
 * struct kvp_heads - KRAW and K of one token
 * @raw: KRAW of the first head
 * @raw_to: where KRAW is copied, or NULL
 * @k: K of the first head, with the elements that are not rotated
 * @scale: its scale, or NULL
 * @raw_step: bytes from one head to the next in @raw and @raw_to
 * @k_step: in @k
 * @scale_step: in @scale
 * @nr: heads
 * @stream: stores may go past the caches
 */
struct kvp_heads {
	const char *raw;
	char *raw_to;
	char *k;
	char *scale;
	int64_t raw_step;
	int64_t k_step;
	int64_t scale_step;
	uint32_t nr;
	bool stream;
};

/* Whether @cpu has a faster way than the row function; only that one copies to raw_to. */
bool kvp_heads_are_fast(const struct kvp_cpu *cpu, const struct kvp_rotation *rotation);

/* Make K of all heads of a token. The floating-point unit must be set (cpu.h). */
void kvp_heads_rotate(const struct kvp_cpu *cpu, const struct kvp_rotation *rotation,
		      const struct kvp_angles *angles, const struct kvp_heads *heads);

/* Angles of @position: one, or KVP_ROPE_AXES. */
struct kvp_angles kvp_angles_at(const struct kvp_rope *rope, const uint32_t *position);

#endif /* KVP_KERNELS_ROWS_H */

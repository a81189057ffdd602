/* SPDX-License-Identifier: MIT */
/*
 * Bytes from place to place: boxes of tokens, heads and runs of elements with a stride on each
 * side (cpu/box.c).
 */
#ifndef KVP_KERNELS_BOX_H
#define KVP_KERNELS_BOX_H

#include <stdint.h>

#include <kvpool_geometry.h>

#define KVP_BOX_DIMS	3		/* token, head, run of elements */

/* Strides of one of the two sides of a move, in the order in which they are named here. */
struct kvp_steps {
	int64_t token;
	int64_t head;
	int64_t run;
};

/**
 * struct kvp_box - tokens of one layer of a plane that are to be moved
 * @nr: dimensions that are left
 * @dim: from the outermost inwards
 * @piece: bytes that follow each other on both sides
 */
struct kvp_box {
	uint32_t nr;
	struct {
		uint64_t count;
		int64_t to;
		int64_t from;
	} dim[KVP_BOX_DIMS];
	uint64_t piece;
};

/*
 * Copies bytes to where they were, or to memory apart from that, or to lower addresses that
 * overlap: never to higher ones that do.
 */
typedef void (*kvp_copy_t)(void *to, const void *from, uint64_t bytes);

/* The one that is like memmove(3). */
void kvp_copy_cached(void *to, const void *from, uint64_t bytes);

/* Steps in the tensor, and in rows of @row_bytes. */
void kvp_steps_of_plane(const struct kvp_plane *plane, struct kvp_steps *steps);
void kvp_steps_of_rows(const struct kvp_plane *plane, uint64_t row_bytes,
		       struct kvp_steps *steps);

/* @tokens tokens; where both sides go on without a gap, steps become part of the piece. */
void kvp_box_make(const struct kvp_plane *plane, uint64_t tokens, const struct kvp_steps *to,
		  const struct kvp_steps *from, struct kvp_box *box);

/*
 * Move it. Of each head and element the tokens go in order: where @to and @from overlap, and the
 * targets are earlier tokens than the sources, nothing is overwritten before it is read.
 */
void kvp_box_move(const struct kvp_box *box, void *to, const void *from, kvp_copy_t copy);

#endif /* KVP_KERNELS_BOX_H */

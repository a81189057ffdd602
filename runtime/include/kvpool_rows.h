/* SPDX-License-Identifier: MIT */
/*
 * Rows given new places and new positions; <kvpool.h> includes this file.
 *
 * A row is what a family keeps of one token. When tokens leave the middle of a sequence, the
 * rows behind them move to other slots of other blocks, and stand for other positions there. All
 * that does not depend on the position (V, KRAW, latents, scales of other planes, opaque rows) is
 * copied as bytes. K that is rotated is made anew from KRAW, in one rotation to the new position:
 * however often a row moves, its K is, bit for bit, what rotating its KRAW to its position once
 * gives. What was K before is not read, so nothing drifts.
 *
 * The arithmetic
 * --------------
 * For each pair (a, b) of the rotated part of KRAW, and c and s, the cosine and sine of that pair
 * in the table at the token's position (struct kvp_rope):
 *
 *	a' = a * c - b * s
 *	b' = b * c + a * s
 *
 * (Su et al., "RoFormer", eq. 34.) The pairs are (i, i + rot_dim / 2) with KVP_ROPE_NEOX (GPT-NeoX,
 * Llama as Hugging Face has it) and (2i, 2i + 1) with KVP_ROPE_GPTJ (GPT-J, DeepSeek). No multiply
 * is fused with an add. Where values are rounded is the rope's profile:
 *
 * - KVP_PROFILE_F32: each of the two products and their difference or sum is rounded to f32, and
 *   the result once more to K's dtype.
 * - KVP_PROFILE_MODEL: c and s, each product and each result are computed in f32 and rounded to
 *   KRAW's dtype, as engines do whose kernels compute in the model's dtype with a table
 *   in that dtype (vLLM's and SGLang's native kernels; the operators of PyTorch's half types); and
 *   the result is rounded to K's dtype, if that is another one.
 *
 * Roundings are to nearest, ties to even, subnormal numbers included, whatever the calling
 * process has set in its floating-point unit. A NaN that arithmetic gives, or that passes
 * through it, is 0x7fffffff in f32 and 0x7fff in f16 and bf16. Bytes that are only copied are not
 * looked at.
 *
 * Quantised K (I8, FP8): all of a head's n_elems rotated values v, as f32 (MODEL: rounded to
 * KRAW's dtype), have one scale:
 *
 *	scale = max(amax / M, 2^-126)	amax: the largest |v|; M: 127, 448 (E4M3), 57344 (E5M2)
 *	q = v / scale			rounded to f32, then to the dtype, and at most M in size
 *
 * 2^-126 is for vectors that are zero or nearly so: a scale is never zero. If one of the values
 * is not finite, the scale is the NaN 0x7fffffff and every q is 0. To read an element: q * scale,
 * which is off by half a step of the dtype at most. That is what the first quantisation of a row
 * gives, too, if it is kvp_rope_rotate()'s.
 */
#ifndef KVPOOL_ROWS_H
#define KVPOOL_ROWS_H

#include "kvpool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- one row -------------------------------------------------------------------- */

/**
 * struct kvp_rope_row - K of one token in one layer, to be made
 * @rope: how that layer's K is rotated; style NONE is refused
 * @raw: KRAW: of each head @rope->rot_dim elements of @raw_dtype, which follow each other
 * @k: K: of each head @n_elems elements of @k_dtype, which follow each other
 * @scale: a scale a head; for quantised K only, else NULL
 * @raw_stride: bytes from one head to the next in @raw; 0: rot_dim elements
 * @k_stride: in @k; 0: @n_elems elements
 * @n_heads: heads, > 0
 * @n_elems: elements of a head, at least rot_off + rot_dim; quantised: rot_dim exactly
 * @raw_dtype: F32, F16 or BF16
 * @k_dtype: those, or I8, FP8_E4M3, FP8_E5M2
 *
 * Elements of @k outside [rot_off, rot_off + rot_dim) are left as they are: put there what the
 * model has. Where the dtypes are equal, @raw may be the very elements of @k that are rotated: so
 * an engine rotates Q, or K of which it keeps no KRAW. Else @raw and @k must not overlap. All
 * addresses and strides are multiples of the element's size.
 */
struct kvp_rope_row {
	const struct kvp_rope *rope;
	const void *raw;
	void *k;
	float *scale;
	int64_t raw_stride;
	int64_t k_stride;
	uint32_t n_heads;
	uint32_t n_elems;
	uint32_t raw_dtype;
	uint32_t k_dtype;
};

/*
 * Make K of a row at @position: one, or three where the rope has axis_of_pair. By the same
 * function as kvp_rows_move(): K that an engine writes so is what a move to the same position
 * gives. Any thread; allocates nothing. Errors: -EINVAL (POINTER: NULL, or a scale with K that
 * has none; COUNT: no heads or elements; VALUE: style, profile or dtypes that are none of those
 * above, KVPOOL_CPU's, a position that is not in the table, where = its index; LENGTH: the range
 * is not in n_elems; RESERVED), -EOPNOTSUPP/VALUE (quantised K of which not all is rotated). K is
 * untouched on errors.
 */
int kvp_rope_rotate(const struct kvp_rope_row *row, const uint32_t *position);

/* ---- moves ----------------------------------------------------------------------- */

/* KVP_MOVE_KEEP: the tokens keep their positions: K is copied like everything else. */
#define KVP_MOVE_FLAGS_ALL	KVP_MOVE_KEEP

/**
 * struct kvp_row_move - rows of one block that go to another, or to other slots of it
 * @src: id of the block in which they are
 * @dst: id of the block in which they will be
 * @src_row: slot of the first one
 * @dst_row: where that one goes
 * @nr: rows, > 0; both ranges lie inside their block
 * @flags: KVP_MOVE_KEEP
 * @position: of the first row from now on; the next ones follow it. Read without KEEP and
 *            without @positions, else 0
 * @positions: position of each row, or NULL; where the family's ropes have axis_of_pair three a
 *             row. Not with KEEP
 *
 * With axis_of_pair and without @positions a row's three positions are equal (text).
 */
struct kvp_row_move {
	uint64_t src;
	uint64_t dst;
	uint32_t src_row;
	uint32_t dst_row;
	uint32_t nr;
	uint32_t flags;
	uint64_t position;
	const uint32_t *positions;
};

/*
 * Rows may go to where rows of the moves are or were. Moves happen in the order of the array, and
 * so do the rows of a move: so no row may go where a later one still has to be read.
 */
#define KVP_ROWS_IN_PLACE	(1U << 0)
#define KVP_ROWS_FLAGS_ALL	KVP_ROWS_IN_PLACE

/**
 * struct kvp_rows_options - how to move
 * @threads: threads that share the work, the caller's included, at most 256; 0: one a processor
 *           that this process may use
 * @flags: KVP_ROWS_*
 */
struct kvp_rows_options {
	uint32_t threads;
	uint32_t flags;
};

/*
 * Carry out @moves between blocks of @family, which the caller holds: rows of the targets are
 * overwritten. Neither ids nor references are checked against the pool, and no sequence is looked
 * at: that is for who made the blocks private, as for kvp_block_data(). @opt NULL: one thread, not
 * in place. Memory is taken for the time of the call. The result is the same for every number of
 * threads, processor and place.
 *
 * A family with a geometry moves the elements of its planes, READONLY ones left out. Without one
 * rows are bytes of the pool's memory, and every move is KEEP.
 *
 * Any thread, also several at a time as long as no call's targets are rows of another call's. All
 * is checked before a byte moves.
 * Errors; where = the index of the move: -EINVAL (FAMILY; POINTER: @moves NULL; FLAG; COUNT: no
 * rows, too many threads; LENGTH: rows outside of their block; VALUE: a block of another family or
 * pool, a position beyond the geometry's n_positions, one that is not read and not 0, or
 * KVPOOL_CPU's; DUPLICATE: two moves to one row, or a row that would be overwritten before it is
 * read), -EOPNOTSUPP (VALUE: rows that cannot be given new positions: the text says why;
 * STATE_FAMILY; NO_BACKING), -EPERM (opened before a fork), -ENOMEM/MEMORY.
 */
int kvp_rows_move(struct kvp_pool *pool, uint32_t family, const struct kvp_row_move *moves,
		  uint32_t nr, const struct kvp_rows_options *opt);

#ifdef __cplusplus
}
#endif

#endif /* KVPOOL_ROWS_H */

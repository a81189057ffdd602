/* SPDX-License-Identifier: MIT */
/*
 * Rows that move, for tests: a sequence of tokens in tensors of any shape, what each of its rows
 * must be, and evictions from its middle. What K must be is worked out here by plain loops in
 * double precision, and shares nothing with the kernels.
 *
 * Include <check.h> first.
 */
#ifndef KVPR_MOVES_H
#define KVPR_MOVES_H

#include <stdbool.h>

#include <kvpool.h>

/* ---- numbers, worked out ---- */

/* Bits of @value in @dtype: to nearest, ties to even; of quantised ones at most the largest. */
uint32_t kvpr_number_bits(uint32_t dtype, double value);
/* The value of @bits; NaN of a NaN. */
double kvpr_number(uint32_t dtype, uint32_t bits);
uint32_t kvpr_element_bits(uint32_t dtype, const void *at);
void kvpr_element_set(uint32_t dtype, void *at, uint32_t bits);

/* ---- sequences ---- */

/**
 * struct kvpr_shape - a sequence and its tensors
 * @order: how the planes' indices are nested, L B N H and D, the outermost first, D split in
 *         runs of @run elements if it is written twice
 * @order_v: the same of V
 * @backwards: these of the indices count from the end
 * @pad: bytes behind each innermost run of elements
 * @run: elements of a run of K; 0: not split
 * @block_tokens: tokens of a block
 * @tokens: of the sequence, at the beginning
 * @layers: layers
 * @heads: heads
 * @n_elems: of K
 * @rot_off: first that is rotated
 * @rot_dim: how many are
 * @raw_dtype: of KRAW
 * @k_dtype: of K
 * @style: enum kvp_rope_style
 * @profile: enum kvp_rope_profile
 * @axes: positions of a token, 1 or 3
 * @latent: V is a latent of one head (MLA)
 * @mixed: the last layer has no rope, the second one another table and the other style
 * @odd: of numbers, some are NaN, infinite, subnormal, huge or zero
 */
struct kvpr_shape {
	const char *order;
	const char *order_v;
	const char *backwards;
	uint32_t pad;
	uint32_t run;
	uint32_t block_tokens;
	uint32_t tokens;
	uint32_t layers;
	uint32_t heads;
	uint32_t n_elems;
	uint32_t rot_off;
	uint32_t rot_dim;
	uint32_t raw_dtype;
	uint32_t k_dtype;
	uint32_t style;
	uint32_t profile;
	uint32_t axes;
	bool latent;
	bool mixed;
	bool odd;
};

#define KVPR_MAX_BLOCKS	1024

struct kvpr_rows;

/* A sequence at positions 0, 1 ... (any, where tokens have three); *@seed is moved on. */
struct kvpr_rows *kvpr_rows_make(const struct kvpr_shape *shape, __u64 *seed);
void kvpr_rows_drop(struct kvpr_rows *rows);

/* Tokens that are left. */
uint32_t kvpr_rows_nr(const struct kvpr_rows *rows);
struct kvp_pool *kvpr_rows_pool(struct kvpr_rows *rows);
const struct kvp_geometry *kvpr_rows_geometry(struct kvpr_rows *rows);
/* Blocks of the sequence, in order; @nr may be NULL. */
const uint64_t *kvpr_rows_table(struct kvpr_rows *rows, uint32_t *nr);

/* How an eviction is carried out. */
struct kvpr_how {
	uint32_t threads;
	bool in_place;
	bool keep;		/* the survivors' positions stay (a gap) */
};

/* Tokens [@from, @to) leave; every row behind them moves, and no other row may change. */
void kvpr_rows_evict(struct kvpr_rows *rows, uint32_t from, uint32_t to,
		     const struct kvpr_how *how);
/* The rows stand at other positions, which follow from *@seed, where they are. */
void kvpr_rows_shift(struct kvpr_rows *rows, __u64 *seed, uint32_t threads);

/* Each element of each row is, in bits, what it must be. */
void kvpr_rows_check(struct kvpr_rows *rows);

/* K of a token's head, worked out: bits of its elements to @k, its scale to *@scale. */
void kvpr_rows_expected(struct kvpr_rows *rows, uint32_t token, uint32_t layer, uint32_t head,
			uint32_t *k, float *scale);
/* KRAW of a token's head, as the test made it, bits. */
const uint32_t *kvpr_rows_raw(struct kvpr_rows *rows, uint32_t token, uint32_t layer,
			      uint32_t head);
/* The token's positions now. */
const uint32_t *kvpr_rows_position(struct kvpr_rows *rows, uint32_t token);
/* The rope of the first layers. */
const struct kvp_rope *kvpr_rows_rope(struct kvpr_rows *rows);

/* ---- variants (moves_cpu.c) ---- */

/* Take the variant from now on, going past the caches or not; false: not on this processor. */
bool kvpr_cpu_take(const char *name, bool stream);
/* Choose as programs do. */
void kvpr_cpu_reset(void);

#endif /* KVPR_MOVES_H */

/* SPDX-License-Identifier: MIT */
/*
 * The row function: K of one token and head from its KRAW, in one rotation. This is the
 * reference: what every other variant, on whatever processor, must equal bit for bit. The
 * arithmetic is stated in kvpool_rows.h. Owns nothing.
 */
#ifndef KVP_KERNELS_ROPE_H
#define KVP_KERNELS_ROPE_H

#include <kvpool_geometry.h>

#include "number.h"

/**
 * struct kvp_vector - how the elements of a (token, head) lie, as struct kvp_plane says it
 * @dtype: enum kvp_dtype
 * @vec: elements that lie next to each other
 * @vec_stride: bytes from one such run to the next
 */
struct kvp_vector {
	uint32_t dtype;
	uint32_t vec;
	int32_t vec_stride;
};

/**
 * struct kvp_rotation - what all rows of a layer have in common
 * @raw: KRAW, rot_dim elements of a float dtype
 * @k: K
 * @rot_off: first element of K that is rotated
 * @rot_dim: elements that are; quantised K: all
 * @style: KVP_ROPE_NEOX or KVP_ROPE_GPTJ
 * @round: float dtype to which table, products and results are rounded; F32: not at all
 */
struct kvp_rotation {
	struct kvp_vector raw;
	struct kvp_vector k;
	uint32_t rot_off;
	uint32_t rot_dim;
	uint32_t style;
	uint32_t round;
};

/**
 * struct kvp_angles - cosines and sines of a token
 * @row: rows of the table: at each of the token's positions
 * @axis_of_pair: which of them a pair takes; NULL: the first
 */
struct kvp_angles {
	const float *row[KVP_ROPE_AXES];
	const uint8_t *axis_of_pair;
};

struct kvp_pair {
	float a;
	float b;
};

KVP_ROW int64_t kvp_element_at(const struct kvp_vector *vector, uint32_t elem, uint32_t bytes)
{
	return (int64_t)(elem / vector->vec) * vector->vec_stride +
	       (int64_t)(elem % vector->vec) * bytes;
}

/* Where the elements of pair @pair are among the rotated ones. */
KVP_ROW uint32_t kvp_pair_first(const struct kvp_rotation *rotation, uint32_t pair)
{
	return rotation->style == KVP_ROPE_NEOX ? pair : 2 * pair;
}

KVP_ROW uint32_t kvp_pair_second(const struct kvp_rotation *rotation, uint32_t pair)
{
	return rotation->style == KVP_ROPE_NEOX ? pair + rotation->rot_dim / 2 : 2 * pair + 1;
}

/* The angle (c, s), as the table has it. */
KVP_ROW struct kvp_pair kvp_rotate_pair(struct kvp_pair x, struct kvp_pair angle, uint32_t round)
{
	float c = kvp_rounded(angle.a, round), s = kvp_rounded(angle.b, round);
	float ac = kvp_rounded(kvp_mul(x.a, c), round), bs = kvp_rounded(kvp_mul(x.b, s), round);
	float bc = kvp_rounded(kvp_mul(x.b, c), round), as = kvp_rounded(kvp_mul(x.a, s), round);
	struct kvp_pair y;

	y.a = kvp_rounded(kvp_sub(ac, bs), round);
	y.b = kvp_rounded(kvp_add(bc, as), round);
	return y;
}

/* Pair @pair of the vector whose KRAW is at @raw, rotated. */
KVP_ROW struct kvp_pair kvp_rotated(const struct kvp_rotation *rotation,
				    const struct kvp_angles *angles, const void *raw, uint32_t pair)
{
	const float *row = angles->row[angles->axis_of_pair ? angles->axis_of_pair[pair] : 0];
	uint32_t dtype = rotation->raw.dtype, bytes = kvp_element_bytes(dtype);
	const char *at = (const char *)raw;
	struct kvp_pair x, angle;

	x.a = kvp_element_load(at + kvp_element_at(&rotation->raw, kvp_pair_first(rotation, pair),
						   bytes), dtype);
	x.b = kvp_element_load(at + kvp_element_at(&rotation->raw, kvp_pair_second(rotation, pair),
						   bytes), dtype);
	angle.a = row[pair];
	angle.b = row[pair + rotation->rot_dim / 2];
	return kvp_rotate_pair(x, angle, rotation->round);
}

KVP_ROW float kvp_size_of(float f)
{
	return kvp_float(kvp_bits(f) & 0x7fffffff);
}

/* The scale of a head: NaN where one of its values is not finite. */
KVP_ROW float kvp_scale_of(const struct kvp_rotation *rotation, const struct kvp_angles *angles,
			   const void *raw)
{
	uint32_t pairs = rotation->rot_dim / 2, i;
	float amax = 0, scale;

	for (i = 0; i < pairs; i++) {
		struct kvp_pair y = kvp_rotated(rotation, angles, raw, i);
		float a = kvp_size_of(y.a), b = kvp_size_of(y.b);

		/* NaN and infinity have larger bits than all that is finite. */
		if (kvp_bits(a) >= KVP_INF_F32 || kvp_bits(b) >= KVP_INF_F32)
			return kvp_float(KVP_NAN_F32);
		amax = a > amax ? a : amax;
		amax = b > amax ? b : amax;
	}
	scale = kvp_div(amax, kvp_largest_of(rotation->k.dtype));
	return scale > KVP_MIN_SCALE ? scale : KVP_MIN_SCALE;
}

KVP_ROW uint8_t kvp_quotient_of(float value, float scale, uint32_t dtype)
{
	return scale != scale ? 0 : kvp_quantised_of(kvp_div(value, scale), dtype);
}

/*
 * K of one (token, head): its KRAW at @raw, its K at @k, its scale at @scale (quantised K only).
 * Elements of K that are not rotated are left alone.
 */
KVP_ROW void kvp_rope_head(const struct kvp_rotation *rotation, const struct kvp_angles *angles,
			   const void *raw, void *k, float *scale)
{
	uint32_t dtype = rotation->k.dtype, bytes = kvp_element_bytes(dtype);
	uint32_t pairs = rotation->rot_dim / 2, i;
	int quantised = kvp_is_quantised(dtype);
	float by = quantised ? kvp_scale_of(rotation, angles, raw) : 1;

	for (i = 0; i < pairs; i++) {
		uint32_t first = rotation->rot_off + kvp_pair_first(rotation, i);
		uint32_t second = rotation->rot_off + kvp_pair_second(rotation, i);
		struct kvp_pair y = kvp_rotated(rotation, angles, raw, i);
		char *a = (char *)k + kvp_element_at(&rotation->k, first, bytes);
		char *b = (char *)k + kvp_element_at(&rotation->k, second, bytes);

		if (quantised) {
			*(uint8_t *)a = kvp_quotient_of(y.a, by, dtype);
			*(uint8_t *)b = kvp_quotient_of(y.b, by, dtype);
		} else {
			kvp_element_store(a, dtype, y.a);
			kvp_element_store(b, dtype, y.b);
		}
	}
	if (quantised)
		*scale = by;
}

#endif /* KVP_KERNELS_ROPE_H */

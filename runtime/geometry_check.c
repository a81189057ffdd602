// SPDX-License-Identifier: MIT
/*
 * Whether a geometry can be used, and what follows from it. Owns nothing and takes no lock. Each
 * refusal has its own text: which plane or rope, which field, what it was, what was expected.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "geometry.h"
#include "internal.h"

#define MAX_POSITIONS	(1ULL << 31)
/* Steps of the comparison of planes; the layouts of kvp_geometry_layout() take some hundreds. */
#define APART_BUDGET	(1U << 22)
#define NO_PLANE	KVP_MAX_PLANES

struct dtype {
	bool is_float;		/* can be rotated as it is */
	bool is_quantised;	/* can be made of floats and a scale */
};

static const struct dtype dtypes[KVP_NR_DTYPES] = {
	[KVP_DTYPE_F32] = { true, false },
	[KVP_DTYPE_F16] = { true, false },
	[KVP_DTYPE_BF16] = { true, false },
	[KVP_DTYPE_I8] = { false, true },
	[KVP_DTYPE_FP8_E4M3] = { false, true },
	[KVP_DTYPE_FP8_E5M2] = { false, true },
	[KVP_DTYPE_OPAQUE8] = { false, false },
};

static const char *const roles[KVP_NR_ROLES] = {
	[KVP_ROLE_K] = "k",
	[KVP_ROLE_V] = "v",
	[KVP_ROLE_KRAW] = "kraw",
	[KVP_ROLE_LATENT] = "latent",
	[KVP_ROLE_SCALE] = "scale",
	[KVP_ROLE_OTHER] = "other",
};

static const char *const paths[] = {
	[KVP_PATH_BLOCK_CONTIG] = "block-contig",
	[KVP_PATH_ROW_CONTIG] = "row-contig",
	[KVP_PATH_HEAD_CONTIG] = "head-contig",
	[KVP_PATH_SPLIT] = "split",
	[KVP_PATH_TRANSPOSED] = "transposed",
};

const char *kvp_role_name(uint32_t role)
{
	return role && role < KVP_NR_ROLES ? roles[role] : "unknown";
}

const char *kvp_path_name(uint32_t path)
{
	return path && path < KVP_ARRAY_SIZE(paths) ? paths[path] : "unknown";
}

/* ---- saying no ---- */

/* "geometry: @what @index (@kind): ..." */
__attribute__((format(printf, 6, 0)))
static int fail_at(int err, uint32_t reason, const char *what, uint32_t index, const char *kind,
		   const char *fmt, va_list args)
{
	char text[200];

	vsnprintf(text, sizeof(text), fmt, args);
	return kvp_error_set(err, reason, index, "geometry: %s %u (%s): %s", what, index, kind,
			     text);
}

__attribute__((format(printf, 5, 6)))
static int bad_plane(const struct kvp_geometry *geometry, uint32_t plane, int err,
		     uint32_t reason, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fail_at(err, reason, "plane", plane, kvp_role_name(geometry->plane[plane].role), fmt,
		args);
	va_end(args);
	return err;
}

__attribute__((format(printf, 4, 5)))
static int bad_rope(const struct kvp_geometry *geometry, uint32_t rope, uint32_t reason,
		    const char *fmt, ...)
{
	static const char *const styles[KVP_NR_ROPE_STYLES] = { "none", "neox", "gptj" };
	uint32_t style = geometry->rope[rope].style;
	va_list args;

	va_start(args, fmt);
	fail_at(-EINVAL, reason, "rope", rope,
		style < KVP_NR_ROPE_STYLES ? styles[style] : "unknown", fmt, args);
	va_end(args);
	return -EINVAL;
}

/* ---- counts and lists ---- */

static int check_count(const char *name, uint64_t value, uint64_t lowest, uint64_t highest)
{
	if (value >= lowest && value <= highest)
		return 0;
	return kvp_error_set(-EINVAL, KVP_REASON_COUNT, 0,
			     "geometry: %s %llu: expected %llu to %llu", name,
			     (unsigned long long)value, (unsigned long long)lowest,
			     (unsigned long long)highest);
}

static int check_counts(const struct kvp_geometry *geometry)
{
	int err;

	if (geometry->flags & ~KVP_GEOMETRY_FLAGS_ALL)
		return kvp_error_set(-EINVAL, KVP_REASON_FLAG, 0,
				     "geometry: flags 0x%x: expected none beyond 0x%x",
				     geometry->flags, KVP_GEOMETRY_FLAGS_ALL);
	err = check_count("n_layers", geometry->n_layers, 1, KVP_MAX_LAYERS);
	if (!err)
		err = check_count("n_blocks", geometry->n_blocks, 1, KVP_MAX_BLOCKS);
	if (!err)
		err = check_count("block_tokens", geometry->block_tokens, 1,
				  KVP_MAX_BLOCK_TOKENS);
	if (!err)
		err = check_count("n_planes", geometry->n_planes, 1, KVP_MAX_PLANES);
	if (!err)
		err = check_count("n_ropes", geometry->n_ropes, 0, KVP_MAX_ROPES);
	if (!err)
		err = check_count("n_memory", geometry->n_memory, 1, UINT32_MAX);
	return err;
}

static int check_memory(const struct kvp_geometry *geometry)
{
	uint32_t i;

	if (!geometry->memory)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "geometry: memory is NULL: expected %u allocations",
				     geometry->n_memory);
	for (i = 0; i < geometry->n_memory; i++) {
		const struct kvp_memory *memory = &geometry->memory[i];

		if (memory->size && memory->base <= UINT64_MAX - (memory->size - 1))
			continue;
		return kvp_error_set(-EINVAL, KVP_REASON_LENGTH, i,
				     "geometry: memory %u: %llu bytes at 0x%llx: expected some, with an end below 2^64",
				     i, (unsigned long long)memory->size,
				     (unsigned long long)memory->base);
	}
	return 0;
}

/* ---- a plane's fields ---- */

static int check_kind(const struct kvp_geometry *geometry, uint32_t i)
{
	const struct kvp_plane *plane = &geometry->plane[i];
	bool belongs = plane->role == KVP_ROLE_KRAW || plane->role == KVP_ROLE_SCALE;
	uint32_t of = KVP_PLANE_OF_INDEX(plane->flags);

	if (!plane->role || plane->role >= KVP_NR_ROLES)
		return bad_plane(geometry, i, -EINVAL, KVP_REASON_VALUE,
				 "role %u: expected one of enum kvp_role", plane->role);
	if (!kvp_dtype_bytes(plane->dtype))
		return bad_plane(geometry, i, -EINVAL, KVP_REASON_VALUE,
				 "dtype %u: expected one of enum kvp_dtype", plane->dtype);
	if (plane->flags & ~KVP_PLANE_FLAGS_ALL)
		return bad_plane(geometry, i, -EINVAL, KVP_REASON_FLAG,
				 "flags 0x%x: expected none beyond 0x%x", plane->flags,
				 KVP_PLANE_FLAGS_ALL);
	if (!(plane->flags & KVP_PLANE_HAS_OF) != !belongs || (!belongs && of))
		return bad_plane(geometry, i, -EINVAL, KVP_REASON_FLAG,
				 "flags 0x%x: expected KVP_PLANE_OF() with kraw and scale only, and always there",
				 plane->flags);
	if (belongs && (of >= geometry->n_planes || of == i))
		return bad_plane(geometry, i, -EINVAL, KVP_REASON_FLAG,
				 "KVP_PLANE_OF(%u): expected another one of %u planes", of,
				 geometry->n_planes);
	if (plane->role == KVP_ROLE_SCALE && geometry->plane[of].role == KVP_ROLE_SCALE)
		return bad_plane(geometry, i, -EINVAL, KVP_REASON_FLAG,
				 "KVP_PLANE_OF(%u) is a scale itself: expected what it scales", of);
	return 0;
}

static int check_vector(const struct kvp_geometry *geometry, uint32_t i)
{
	const struct kvp_plane *plane = &geometry->plane[i];

	if (!plane->n_heads || !plane->n_elems)
		return bad_plane(geometry, i, -EINVAL, KVP_REASON_COUNT,
				 "%s 0: expected at least 1",
				 plane->n_heads ? "n_elems" : "n_heads");
	if (!plane->vec || plane->n_elems % plane->vec)
		return bad_plane(geometry, i, -EINVAL, KVP_REASON_VALUE,
				 "vec %u: expected a divisor of n_elems %u", plane->vec,
				 plane->n_elems);
	if (plane->vec == plane->n_elems && plane->vec_stride)
		return bad_plane(geometry, i, -EINVAL, KVP_REASON_VALUE,
				 "vec_stride %d: expected 0, since vec is n_elems %u",
				 plane->vec_stride, plane->n_elems);
	if (plane->vec != plane->n_elems && !plane->vec_stride)
		return bad_plane(geometry, i, -EINVAL, KVP_REASON_VALUE,
				 "vec_stride 0: expected a stride, since vec is %u of %u elements",
				 plane->vec, plane->n_elems);
	if (plane->layer_base && plane->layer_stride)
		return bad_plane(geometry, i, -EINVAL, KVP_REASON_VALUE,
				 "layer_stride %lld: expected 0, since there is layer_base",
				 (long long)plane->layer_stride);
	return 0;
}

/*
 * Everything that an address of the plane is a sum of is a multiple of @by; else the name of the
 * first that is not, and *@value.
 */
static const char *misaligned(const struct kvp_geometry *geometry, const struct kvp_plane *plane,
			      uint32_t by, uint64_t *value)
{
	const struct {
		const char *name;
		uint64_t value;
		bool used;
	} terms[] = {
		{ "base", plane->base, true },
		{ "layer_stride", (uint64_t)plane->layer_stride, geometry->n_layers > 1 },
		{ "block_stride", (uint64_t)plane->block_stride, geometry->n_blocks > 1 },
		{ "token_stride", (uint64_t)plane->token_stride, geometry->block_tokens > 1 },
		{ "head_stride", (uint64_t)plane->head_stride, plane->n_heads > 1 },
		{ "vec_stride", (uint64_t)(int64_t)plane->vec_stride, true },
	};
	uint32_t i;

	/* Sizes of elements and vectors are powers of two, so negative strides are no matter. */
	for (i = 0; i < KVP_ARRAY_SIZE(terms); i++) {
		*value = terms[i].value;
		if (terms[i].used && *value % by)
			return terms[i].name;
	}
	for (i = 0; plane->layer_base && i < geometry->n_layers; i++) {
		*value = plane->layer_base[i];
		if (*value % by)
			return "layer_base";
	}
	return NULL;
}

static int check_alignment(const struct kvp_geometry *geometry, uint32_t i)
{
	const struct kvp_plane *plane = &geometry->plane[i];
	uint32_t bytes = kvp_dtype_bytes(plane->dtype);
	uint64_t value;
	const char *name = misaligned(geometry, plane, bytes, &value);

	if (!name)
		return 0;
	return bad_plane(geometry, i, -EINVAL, KVP_REASON_ALIGNMENT,
			 "%s %lld: expected a multiple of %u, the bytes of %s", name,
			 (long long)value, bytes, kvp_dtype_name(plane->dtype));
}

/* ---- ropes ---- */

static int check_rope_table(const struct kvp_geometry *geometry, uint32_t i)
{
	const struct kvp_rope *rope = &geometry->rope[i];
	uint64_t at = kvp_addr(rope->table);
	int err;

	err = check_count("n_positions", geometry->n_positions, 1, MAX_POSITIONS);
	if (err)
		return err;
	if (!rope->table)
		return bad_rope(geometry, i, KVP_REASON_POINTER,
				"table is NULL: expected cosines and sines of %u positions",
				rope->n_pos);
	if (at % sizeof(float))
		return bad_rope(geometry, i, KVP_REASON_ALIGNMENT,
				"table at 0x%llx: expected a multiple of %zu",
				(unsigned long long)at, sizeof(float));
	if (rope->n_pos < geometry->n_positions)
		return bad_rope(geometry, i, KVP_REASON_LENGTH,
				"n_pos %u: expected at least %llu, the geometry's n_positions",
				rope->n_pos, (unsigned long long)geometry->n_positions);
	if ((uint64_t)rope->n_pos * rope->rot_dim * sizeof(float) > UINT64_MAX - at)
		return bad_rope(geometry, i, KVP_REASON_LENGTH,
				"table of %u positions at 0x%llx: expected an end below 2^64",
				rope->n_pos, (unsigned long long)at);
	return 0;
}

static int check_rope_range(const struct kvp_geometry *geometry, uint32_t i)
{
	const struct kvp_rope *rope = &geometry->rope[i];
	uint32_t end = (uint32_t)rope->rot_off + rope->rot_dim, p, n_k = 0;

	if (!rope->rot_dim || rope->rot_dim % 2)
		return bad_rope(geometry, i, KVP_REASON_VALUE,
				"rot_dim %u: expected an even number above zero", rope->rot_dim);
	if (rope->rot_off % 2)
		return bad_rope(geometry, i, KVP_REASON_VALUE,
				"rot_off %u: expected an even number", rope->rot_off);
	for (p = 0; p < geometry->n_planes; p++) {
		if (geometry->plane[p].role != KVP_ROLE_K)
			continue;
		n_k++;
		if (end > geometry->plane[p].n_elems)
			return bad_rope(geometry, i, KVP_REASON_VALUE,
					"rotates elements [%u, %u): expected a range in the %u of plane %u (k)",
					rope->rot_off, end, geometry->plane[p].n_elems, p);
	}
	if (!n_k)
		return bad_rope(geometry, i, KVP_REASON_VALUE,
				"there is no plane that it rotates: expected one of role k");
	return 0;
}

static int check_rope_axes(const struct kvp_geometry *geometry, uint32_t i)
{
	const struct kvp_rope *rope = &geometry->rope[i];
	uint32_t p, r;

	for (p = 0; rope->axis_of_pair && p < rope->rot_dim / 2u; p++) {
		if (rope->axis_of_pair[p] >= KVP_ROPE_AXES)
			return bad_rope(geometry, i, KVP_REASON_VALUE,
					"axis_of_pair[%u] is %u: expected one of %u positions of a token",
					p, rope->axis_of_pair[p], KVP_ROPE_AXES);
	}
	/* A token has one or three positions in all layers. */
	for (r = 0; r < i; r++) {
		if (geometry->rope[r].style != KVP_ROPE_NONE &&
		    !geometry->rope[r].axis_of_pair != !rope->axis_of_pair)
			return bad_rope(geometry, i, KVP_REASON_VALUE,
					"axis_of_pair is %s: expected the same as of rope %u",
					rope->axis_of_pair ? "there" : "NULL", r);
	}
	return 0;
}

static int check_rope(const struct kvp_geometry *geometry, uint32_t i)
{
	static const uint8_t zero[sizeof(geometry->rope[0].reserved)];
	const struct kvp_rope *rope = &geometry->rope[i];
	int err;

	if (rope->style >= KVP_NR_ROPE_STYLES)
		return bad_rope(geometry, i, KVP_REASON_VALUE,
				"style %u: expected one of enum kvp_rope_style", rope->style);
	if (memcmp(rope->reserved, zero, sizeof(zero)))
		return bad_rope(geometry, i, KVP_REASON_RESERVED, "reserved: expected zeros");
	if (rope->profile >= KVP_NR_PROFILES)
		return bad_rope(geometry, i, KVP_REASON_VALUE,
				"profile %u: expected one of enum kvp_rope_profile",
				rope->profile);
	if (rope->style != KVP_ROPE_NONE) {
		err = check_rope_range(geometry, i);
		if (!err)
			err = check_rope_table(geometry, i);
		return err ? err : check_rope_axes(geometry, i);
	}
	if (rope->table || rope->n_pos || rope->rot_off || rope->rot_dim || rope->profile ||
	    rope->axis_of_pair)
		return bad_rope(geometry, i, KVP_REASON_VALUE,
				"has a table, range, profile or axes: expected all zero, since nothing is rotated");
	return 0;
}

static int check_rope_of_layer(const struct kvp_geometry *geometry)
{
	uint32_t i;

	if (!geometry->rope_of_layer) {
		if (geometry->n_ropes < 2)
			return 0;
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "geometry: rope_of_layer is NULL: expected an index a layer, since there are %u ropes",
				     geometry->n_ropes);
	}
	for (i = 0; i < geometry->n_layers; i++) {
		if (geometry->rope_of_layer[i] < geometry->n_ropes)
			continue;
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, i,
				     "geometry: rope_of_layer[%u] is %u: expected an index below %u, the number of ropes",
				     i, geometry->rope_of_layer[i], geometry->n_ropes);
	}
	return 0;
}

static int check_ropes(const struct kvp_geometry *geometry)
{
	uint32_t i;
	int err;

	for (i = 0; i < geometry->n_ropes; i++) {
		err = check_rope(geometry, i);
		if (err)
			return err;
	}
	return check_rope_of_layer(geometry);
}

/* ---- K and what it was before it was rotated ---- */

/* A plane of @role that belongs to plane @of, or NO_PLANE. */
static uint32_t plane_of(const struct kvp_geometry *geometry, uint32_t role, uint32_t of)
{
	uint32_t i;

	for (i = 0; i < geometry->n_planes; i++) {
		const struct kvp_plane *plane = &geometry->plane[i];

		if (plane->role == role && KVP_PLANE_OF_INDEX(plane->flags) == of)
			return i;
	}
	return NO_PLANE;
}

static int check_kraw_shape(const struct kvp_geometry *geometry, uint32_t i)
{
	const struct kvp_plane *raw = &geometry->plane[i];
	const struct kvp_plane *k = &geometry->plane[KVP_PLANE_OF_INDEX(raw->flags)];
	uint32_t rotates = 0, r;

	if (raw->n_heads != k->n_heads)
		return bad_plane(geometry, i, -EINVAL, KVP_REASON_VALUE,
				 "n_heads %u: expected %u, the heads of its k", raw->n_heads,
				 k->n_heads);
	for (r = 0; r < geometry->n_ropes; r++) {
		const struct kvp_rope *rope = &geometry->rope[r];

		if (rope->style == KVP_ROPE_NONE)
			continue;
		rotates++;
		if (raw->n_elems != rope->rot_dim)
			return bad_plane(geometry, i, -EINVAL, KVP_REASON_VALUE,
					 "n_elems %u: expected %u, the rot_dim of rope %u",
					 raw->n_elems, rope->rot_dim, r);
	}
	if (!rotates)
		return bad_plane(geometry, i, -EINVAL, KVP_REASON_VALUE,
				 "no rope rotates its k: expected one that does");
	return 0;
}

static int check_kraw(const struct kvp_geometry *geometry, uint32_t i)
{
	const struct kvp_plane *raw = &geometry->plane[i];
	uint32_t of = KVP_PLANE_OF_INDEX(raw->flags);
	const struct kvp_plane *k = &geometry->plane[of];

	if (k->role != KVP_ROLE_K)
		return bad_plane(geometry, i, -EINVAL, KVP_REASON_VALUE,
				 "belongs to plane %u (%s): expected one of role k", of,
				 kvp_role_name(k->role));
	if (plane_of(geometry, KVP_ROLE_KRAW, of) != i)
		return bad_plane(geometry, i, -EINVAL, KVP_REASON_DUPLICATE,
				 "a second one of plane %u: expected one", of);
	if (!dtypes[raw->dtype].is_float)
		return bad_plane(geometry, i, -EINVAL, KVP_REASON_VALUE,
				 "dtype %s: expected f32, f16 or bf16, from which it is rotated",
				 kvp_dtype_name(raw->dtype));
	return check_kraw_shape(geometry, i);
}

/* ---- addresses ---- */

static int check_layer_inside(const struct kvp_geometry *geometry, uint32_t i, uint32_t layer)
{
	struct kvp_lattice lattice;
	kvp_wide_t end;
	uint32_t m;

	kvp_lattice_make(geometry, &geometry->plane[i], layer, KVP_LATTICE_LAYER, &lattice);
	end = lattice.low + lattice.span[0];
	if (lattice.low < 0 || end > (kvp_wide_t)1 << 64)
		return bad_plane(geometry, i, -EOVERFLOW, KVP_REASON_LENGTH,
				 "layer %u: base and strides lead out of 64 bits: expected addresses below 2^64",
				 layer);
	for (m = 0; m < geometry->n_memory; m++) {
		const struct kvp_memory *memory = &geometry->memory[m];

		if (lattice.low >= memory->base &&
		    end <= (kvp_wide_t)memory->base + memory->size)
			return 0;
	}
	return bad_plane(geometry, i, -EINVAL, KVP_REASON_LENGTH,
			 "layer %u: lies in [0x%llx, 0x%llx]: expected a range in one of %u memory",
			 layer, (unsigned long long)lattice.low, (unsigned long long)(end - 1),
			 geometry->n_memory);
}

static int check_addresses(const struct kvp_geometry *geometry, uint32_t i)
{
	struct kvp_lattice lattice;
	kvp_wide_t expected;
	uint32_t layer;
	int err, dim;

	kvp_lattice_make(geometry, &geometry->plane[i], 0, KVP_LATTICE_PLANE, &lattice);
	dim = kvp_lattice_overlap(&lattice, &expected);
	if (dim >= 0 && !(geometry->plane[i].flags & KVP_PLANE_READONLY))
		return bad_plane(geometry, i, -EINVAL, KVP_REASON_DUPLICATE,
				 "%s of %lld bytes: expected at least %llu, or elements overlap",
				 lattice.dim[dim].name, (long long)lattice.dim[dim].stride,
				 (unsigned long long)expected);
	for (layer = 0; layer < geometry->n_layers; layer++) {
		err = check_layer_inside(geometry, i, layer);
		if (err)
			return err;
	}
	return 0;
}

/* Parts of a plane that are compared one by one. */
static uint32_t nr_parts(const struct kvp_geometry *geometry, uint32_t plane)
{
	return geometry->plane[plane].layer_base ? geometry->n_layers : 1;
}

static int check_part_apart(const struct kvp_geometry *geometry, uint32_t i, uint32_t j,
			    uint32_t part, uint32_t *budget)
{
	uint32_t other = i == j ? part + 1 : 0;
	struct kvp_lattice a, b;

	kvp_lattice_make(geometry, &geometry->plane[i], part, KVP_LATTICE_PLANE, &a);
	for (; other < nr_parts(geometry, j); other++) {
		kvp_lattice_make(geometry, &geometry->plane[j], other, KVP_LATTICE_PLANE, &b);
		switch (kvp_lattice_apart(&a, &b, budget)) {
		case KVP_APART:
			continue;
		case KVP_OVERLAP:
			break;
		case KVP_APART_UNKNOWN:
			return bad_plane(geometry, j, -EINVAL, KVP_REASON_DUPLICATE,
					 "interleaves with plane %u (%s) in too odd a way to tell them apart: expected equal strides or ranges of their own",
					 i, kvp_role_name(geometry->plane[i].role));
		}
		if (i == j)
			return bad_plane(geometry, j, -EINVAL, KVP_REASON_DUPLICATE,
					 "layer_base: layers %u and %u overlap: expected a tensor each",
					 part, other);
		return bad_plane(geometry, j, -EINVAL, KVP_REASON_DUPLICATE,
				 "overlaps plane %u (%s): expected bytes of its own, or KVP_PLANE_READONLY",
				 i, kvp_role_name(geometry->plane[i].role));
	}
	return 0;
}

static int check_apart(const struct kvp_geometry *geometry)
{
	uint32_t budget = APART_BUDGET, i, j, part;
	int err;

	for (i = 0; i < geometry->n_planes; i++) {
		for (j = i; j < geometry->n_planes; j++) {
			/* A read-only view may see what it likes, other planes or its own bytes. */
			if ((geometry->plane[i].flags | geometry->plane[j].flags) &
			    KVP_PLANE_READONLY)
				continue;
			for (part = 0; part < nr_parts(geometry, i); part++) {
				err = check_part_apart(geometry, i, j, part, &budget);
				if (err)
					return err;
			}
		}
	}
	return 0;
}

/* ---- what follows ---- */

static uint32_t path_of(const struct kvp_geometry *geometry, const struct kvp_plane *plane)
{
	int64_t bytes = kvp_dtype_bytes(plane->dtype);
	bool one_token = geometry->block_tokens == 1;

	if (!kvp_plane_unsplit(plane))
		return plane->vec == 1 && !one_token && plane->token_stride == bytes ?
		       KVP_PATH_TRANSPOSED : KVP_PATH_SPLIT;
	if (plane->n_heads > 1 && plane->head_stride != plane->n_elems * bytes)
		return KVP_PATH_HEAD_CONTIG;
	if (!one_token && plane->token_stride != (int64_t)kvp_plane_token_bytes(plane))
		return KVP_PATH_ROW_CONTIG;
	return KVP_PATH_BLOCK_CONTIG;
}

/* All that the plane's ropes read together is made of aligned 16-byte words. */
static bool rope_vec16(const struct kvp_geometry *geometry, const struct kvp_plane *plane)
{
	uint32_t bytes = kvp_dtype_bytes(plane->dtype), rotates = 0, i;

	for (i = 0; i < geometry->n_ropes; i++) {
		const struct kvp_rope *rope = &geometry->rope[i];
		uint32_t together = rope->rot_dim * bytes;

		if (rope->style == KVP_ROPE_NONE)
			continue;
		rotates++;
		if (rope->style == KVP_ROPE_NEOX)
			together /= 2;
		if (rope->rot_off * bytes % 16 || together % 16)
			return false;
	}
	return rotates;
}

static void find_plane_facts(const struct kvp_geometry *geometry, uint32_t i,
			     struct kvp_geometry_facts *facts)
{
	const struct kvp_plane *plane = &geometry->plane[i];
	struct kvp_plane_facts *found = &facts->plane[i];
	struct kvp_lattice block;
	uint64_t value;

	found->path = path_of(geometry, plane);
	kvp_lattice_make(geometry, plane, 0, KVP_LATTICE_BLOCK, &block);
	if (!block.nr)
		found->flags |= KVP_PATH_WHOLE_BLOCK;
	if (plane->vec * kvp_dtype_bytes(plane->dtype) % 16 == 0 &&
	    !misaligned(geometry, plane, 16, &value)) {
		found->flags |= KVP_PATH_VEC16;
		if (plane->role == KVP_ROLE_K && rope_vec16(geometry, plane))
			found->flags |= KVP_PATH_ROPE_VEC16;
	}
	found->row_off = facts->row_bytes;
	if (!(plane->flags & KVP_PLANE_READONLY))
		found->row_bytes = geometry->n_layers * kvp_plane_token_bytes(plane);
	facts->row_bytes += found->row_bytes;
}

/* What stands against giving rows of the plane, a K that is rotated, another position. */
static const char *k_obstacle(const struct kvp_geometry *geometry, uint32_t i)
{
	const struct kvp_plane *k = &geometry->plane[i];
	uint32_t raw = plane_of(geometry, KVP_ROLE_KRAW, i);
	uint32_t scale = plane_of(geometry, KVP_ROLE_SCALE, i);
	const struct kvp_plane *s = &geometry->plane[scale == NO_PLANE ? 0 : scale];

	if (k->flags & KVP_PLANE_READONLY)
		return "k is rotated, and read-only";
	if (raw != NO_PLANE && geometry->plane[raw].flags & KVP_PLANE_READONLY)
		return "k is rotated, and its kraw plane is read-only";
	if (dtypes[k->dtype].is_float)
		return raw == NO_PLANE ? "k is rotated, and has no kraw plane" : NULL;
	if (!dtypes[k->dtype].is_quantised)
		return "k is rotated, and of a format that only the engine knows";
	if (raw == NO_PLANE)
		return "k is rotated and quantised, and has no kraw plane";
	if (scale == NO_PLANE || s->dtype != KVP_DTYPE_F32 || s->n_elems != 1 ||
	    s->n_heads != k->n_heads || s->flags & KVP_PLANE_READONLY)
		return "k is rotated and quantised, and has no scale plane of one f32 a token and head";
	/* All ropes that rotate have KRAW's size. */
	if (geometry->plane[raw].n_elems != k->n_elems)
		return "k is rotated in part and quantised: the rest has no value that could be quantised again";
	return NULL;
}

static void find_operations(const struct kvp_geometry *geometry,
			    struct kvp_geometry_facts *facts)
{
	uint32_t rotates = 0, i;

	facts->operations = KVP_CAN_VERBATIM;
	if (!geometry->n_ropes)
		facts->obstacle = "no rope is described";
	for (i = 0; i < geometry->n_ropes; i++)
		rotates += geometry->rope[i].style != KVP_ROPE_NONE;
	for (i = 0; rotates && i < geometry->n_planes && !facts->obstacle; i++) {
		if (geometry->plane[i].role != KVP_ROLE_K)
			continue;
		facts->obstacle = k_obstacle(geometry, i);
		if (facts->obstacle)
			facts->obstacle_plane = i;
	}
	if (!facts->obstacle)
		facts->operations |= KVP_CAN_REPOSITION;
}

static int find_facts(const struct kvp_geometry *geometry, struct kvp_geometry_facts *facts)
{
	uint32_t tokens = geometry->block_tokens, i;

	memset(facts, 0, sizeof(*facts));
	facts->block_shift = tokens & (tokens - 1) ? -1 : __builtin_ctz(tokens);
	for (i = 0; i < geometry->n_planes; i++)
		find_plane_facts(geometry, i, facts);
	if (!facts->row_bytes)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, 0,
				     "geometry: all planes are read-only: expected one that rows are written to");
	find_operations(geometry, facts);
	if (!(geometry->flags & KVP_GEOMETRY_REPOSITION) || !facts->obstacle)
		return 0;
	return bad_plane(geometry, facts->obstacle_plane, -EOPNOTSUPP, KVP_REASON_VALUE,
			 "KVP_GEOMETRY_REPOSITION: %s: expected rows that can be given new positions",
			 facts->obstacle);
}

static int check_planes(const struct kvp_geometry *geometry)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < geometry->n_planes && !err; i++) {
		err = check_kind(geometry, i);
		if (!err)
			err = check_vector(geometry, i);
		if (!err)
			err = check_alignment(geometry, i);
	}
	if (!err)
		err = check_ropes(geometry);
	for (i = 0; i < geometry->n_planes && !err; i++) {
		if (geometry->plane[i].role == KVP_ROLE_KRAW)
			err = check_kraw(geometry, i);
	}
	for (i = 0; i < geometry->n_planes && !err; i++)
		err = check_addresses(geometry, i);
	return err;
}

int kvp_geometry_check(const struct kvp_geometry *geometry, struct kvp_geometry_facts *facts)
{
	struct kvp_geometry_facts found;
	int err;

	if (!geometry)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "geometry: NULL");
	err = check_counts(geometry);
	if (!err)
		err = check_memory(geometry);
	if (!err)
		err = check_planes(geometry);
	if (!err)
		err = check_apart(geometry);
	if (!err)
		err = find_facts(geometry, &found);
	if (!err && facts)
		*facts = found;
	return err;
}

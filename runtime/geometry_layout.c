// SPDX-License-Identifier: MIT
/*
 * The layouts of engines: a table of index orders, and what makes strides of them. Owns nothing
 * and takes no lock.
 *
 * An order is written as in kvpool_geometry.h, the outermost index first. From the innermost
 * outwards, the stride of each index is the size of all that lies inside it. Tensors of slots
 * ([B N]) need nothing of their own: a block is block_tokens slots that follow each other.
 */
#include <errno.h>
#include <string.h>

#include "geometry.h"
#include "internal.h"

#define VECTOR_BYTES	16	/* of index x */
#define MAX_PARTS	3	/* in C, or K and V */
#define MAX_VIEWS	2

/* Elements of a part: a number of the layout's own, or a size of the shape. */
enum {
	SIZE_K = -1,
	SIZE_V = -2,
};

/**
 * struct part - what becomes a plane
 * @role: enum kvp_role; 0 ends a list
 * @dtype: enum kvp_dtype, 0: of the shape
 * @elems: how many, or SIZE_*
 * @flags: KVP_PLANE_OF() of a scale
 */
struct part {
	uint8_t role;
	uint8_t dtype;
	int16_t elems;
	uint32_t flags;
};

/**
 * struct view - one tensor and what one order of indices finds in it
 * @order: the indices; C is what the parts share, D and x belong to the only part
 * @part: the parts
 * @second: it is the second tensor of a layer
 * @kv: value of index 2 of the first part; that of each further part is one more
 */
struct view {
	const char *order;
	struct part part[MAX_PARTS];
	bool second;
	uint8_t kv;
};

/**
 * struct layout - one line of the table
 * @name: for people
 * @refused: why there can be no geometry, or NULL
 * @own_sizes: head sizes and dtypes are the layout's own
 * @mla: one head; default sizes
 * @view: what planes are made of
 */
struct layout {
	const char *name;
	const char *refused;
	bool own_sizes;
	bool mla;
	struct view view[MAX_VIEWS];
};

#define PART_K		{ KVP_ROLE_K, 0, SIZE_K, 0 }
#define PART_V		{ KVP_ROLE_V, 0, SIZE_V, 0 }
#define PART_LATENT	{ KVP_ROLE_LATENT, 0, SIZE_K, 0 }
#define PART_ROPE	{ KVP_ROLE_K, 0, SIZE_V, 0 }

#define LAYOUT_KV(name_, order_) \
	{ .name = name_, .view = { { order_, { PART_K, PART_V }, false, 0 } } }
#define LAYOUT_TWO(name_, k_order, v_order) \
	{ .name = name_, .view = { { k_order, { PART_K }, false, 0 }, \
				   { v_order, { PART_V }, true, 0 } } }
#define LAYOUT_MLA(name_, order_) \
	{ .name = name_, .mla = true, \
	  .view = { { order_, { PART_LATENT, PART_ROPE }, false, 0 } } }

static const struct layout layouts[KVP_NR_LAYOUTS] = {
	[KVP_LAYOUT_VLLM_FLASH_NHD] = LAYOUT_KV("vllm-flash-nhd", "2BNHC"),
	[KVP_LAYOUT_VLLM_FLASH_HND] = LAYOUT_KV("vllm-flash-hnd", "2BHNC"),
	[KVP_LAYOUT_FLASHINFER_NHD] = LAYOUT_KV("flashinfer-nhd", "B2NHC"),
	[KVP_LAYOUT_FLASHINFER_HND] = LAYOUT_KV("flashinfer-hnd", "B2HNC"),
	[KVP_LAYOUT_VLLM_CROSS_NHD] = LAYOUT_KV("vllm-cross-nhd", "BL2NHC"),
	[KVP_LAYOUT_VLLM_CROSS_HND] = LAYOUT_KV("vllm-cross-hnd", "B2HLNC"),
	[KVP_LAYOUT_VLLM_LBNHC] = LAYOUT_KV("vllm-lbnhc", "LBNHC"),
	[KVP_LAYOUT_VLLM_LBHNC] = LAYOUT_KV("vllm-lbhnc", "LBHNC"),
	[KVP_LAYOUT_VLLM_LHBNC] = LAYOUT_KV("vllm-lhbnc", "LHBNC"),
	[KVP_LAYOUT_VLLM_BLHNC] = LAYOUT_KV("vllm-blhnc", "BLHNC"),
	[KVP_LAYOUT_VLLM_BLNHC] = LAYOUT_KV("vllm-blnhc", "BLNHC"),
	[KVP_LAYOUT_VLLM_BHLNC] = LAYOUT_KV("vllm-bhlnc", "BHLNC"),
	[KVP_LAYOUT_VLLM_PAGED_V1] = {
		.name = "vllm-paged-v1",
		.view = { { "2BHDNx", { PART_K }, false, 0 }, { "2BHDN", { PART_V }, false, 1 } },
	},
	[KVP_LAYOUT_VLLM_MLA] = LAYOUT_MLA("vllm-mla", "BNC"),
	[KVP_LAYOUT_VLLM_FP8_DS_MLA] = {
		.name = "vllm-fp8-ds-mla",
		.own_sizes = true,
		.mla = true,
		.view = { { "BNC", { { KVP_ROLE_LATENT, KVP_DTYPE_FP8_E4M3, 512, 0 },
				     { KVP_ROLE_SCALE, KVP_DTYPE_F32, 4, KVP_PLANE_OF(0) },
				     { KVP_ROLE_K, KVP_DTYPE_BF16, 64, 0 } }, false, 0 } },
	},
	[KVP_LAYOUT_FLASHMLA_V4] = {
		.name = "flashmla-v4",
		.own_sizes = true,
		.mla = true,
		.view = { { "BNC", { { KVP_ROLE_LATENT, KVP_DTYPE_FP8_E4M3, 448, 0 },
				     { KVP_ROLE_K, KVP_DTYPE_BF16, 64, 0 },
				     { KVP_ROLE_SCALE, KVP_DTYPE_OPAQUE8, 8, KVP_PLANE_OF(0) } },
			    false, 0 } },
	},
	[KVP_LAYOUT_SGLANG_MHA] = LAYOUT_TWO("sglang-mha", "BNHC", "BNHC"),
	[KVP_LAYOUT_SGLANG_MLA] = LAYOUT_MLA("sglang-mla", "BNC"),
	[KVP_LAYOUT_SGLANG_AITER_5D] = {
		.name = "sglang-aiter-5d",
		.refused = "V is [B][H][N/x][D][x]: its token index is split, and a plane has one stride for all tokens of a block",
	},
	[KVP_LAYOUT_HICACHE_LAYER_FIRST] = LAYOUT_KV("hicache-layer-first", "2LBNHC"),
	[KVP_LAYOUT_HICACHE_PAGE_FIRST] = LAYOUT_KV("hicache-page-first", "2BNLHC"),
	[KVP_LAYOUT_HICACHE_PAGE_FIRST_DIRECT] = LAYOUT_KV("hicache-page-first-direct", "2BLNHC"),
	[KVP_LAYOUT_HICACHE_MLA_LAYER_FIRST] = LAYOUT_MLA("hicache-mla-layer-first", "LBNC"),
	[KVP_LAYOUT_HICACHE_MLA_PAGE_FIRST] = LAYOUT_MLA("hicache-mla-page-first", "BNLC"),
	[KVP_LAYOUT_HICACHE_MLA_PAGE_FIRST_DIRECT] =
		LAYOUT_MLA("hicache-mla-page-first-direct", "BLNC"),
	[KVP_LAYOUT_TRTLLM] = LAYOUT_KV("trtllm", "BL2HNC"),
	[KVP_LAYOUT_TRTLLM_MLA] = LAYOUT_MLA("trtllm-mla", "BLNC"),
	[KVP_LAYOUT_LLAMACPP] = LAYOUT_TWO("llamacpp", "BNHC", "BNHC"),
	[KVP_LAYOUT_LLAMACPP_V_TRANS] = LAYOUT_TWO("llamacpp-v-trans", "BNHC", "HDBN"),
	[KVP_LAYOUT_FLASHINFER_MLA] = {
		.name = "flashinfer-mla",
		.mla = true,
		.view = { { "BNC", { PART_LATENT }, false, 0 }, { "BNC", { PART_ROPE }, true, 0 } },
	},
	[KVP_LAYOUT_LMCACHE] = LAYOUT_KV("lmcache", "B2LNHC"),
	[KVP_LAYOUT_LMCACHE_MLA] = LAYOUT_MLA("lmcache-mla", "BLNC"),
};

const char *kvp_layout_name(uint32_t layout)
{
	return layout && layout < KVP_NR_LAYOUTS ? layouts[layout].name : "unknown";
}

/* ---- the shape ---- */

/* A number that a shape has and the layout cannot use. */
static int bad_shape(const struct layout *layout, uint32_t reason, const char *field,
		     uint64_t value, const char *expected)
{
	return kvp_error_set(-EINVAL, reason, 0, "layout %s: %s %llu: expected %s", layout->name,
			     field, (unsigned long long)value, expected);
}

static bool has_index(const struct view *view, char index)
{
	return strchr(view->order, index);
}

/* @shape with what it leaves to the layout filled in. */
static int check_sizes(const struct layout *layout, struct kvp_layout_shape *shape)
{
	bool equal = has_index(&layout->view[0], '2');

	if (layout->own_sizes) {
		if (shape->dtype)
			return bad_shape(layout, KVP_REASON_VALUE, "dtype", shape->dtype,
					 "0, since its dtypes are its own");
		if (shape->head_size || shape->head_size_v)
			return bad_shape(layout, KVP_REASON_COUNT, "head_size",
					 shape->head_size ? shape->head_size : shape->head_size_v,
					 "0, since its sizes are its own");
	} else if (!kvp_dtype_bytes(shape->dtype)) {
		return bad_shape(layout, KVP_REASON_VALUE, "dtype", shape->dtype,
				 "one of enum kvp_dtype");
	}
	if (layout->mla) {
		if (shape->n_heads > 1)
			return bad_shape(layout, KVP_REASON_COUNT, "n_heads", shape->n_heads,
					 "0 or 1, since all heads share the latent");
		shape->n_heads = 1;
		shape->head_size = shape->head_size ? shape->head_size : 512;
		shape->head_size_v = shape->head_size_v ? shape->head_size_v : 64;
	} else if (!shape->head_size_v) {
		shape->head_size_v = shape->head_size;
	}
	if (!shape->n_heads || shape->n_heads > UINT16_MAX)
		return bad_shape(layout, KVP_REASON_COUNT, "n_heads", shape->n_heads, "1 to 65535");
	if (!shape->head_size || shape->head_size > UINT16_MAX)
		return bad_shape(layout, KVP_REASON_COUNT, "head_size", shape->head_size,
				 "1 to 65535");
	if (shape->head_size_v > UINT16_MAX)
		return bad_shape(layout, KVP_REASON_COUNT, "head_size_v", shape->head_size_v,
				 "at most 65535");
	if (equal && shape->head_size_v != shape->head_size)
		return bad_shape(layout, KVP_REASON_COUNT, "head_size_v", shape->head_size_v,
				 "0 or head_size, since K and V lie in one tensor");
	return 0;
}

static int check_tensors(const struct layout *layout, const struct kvp_layout_shape *shape)
{
	bool each = !has_index(&layout->view[0], 'L'), two = layout->view[1].second;

	if (each && (shape->base || !shape->layer_base))
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, 0,
				     "layout %s: base 0x%llx, layer_base %s: expected no base, and a tensor for each layer in layer_base",
				     layout->name, (unsigned long long)shape->base,
				     shape->layer_base ? "given" : "NULL");
	if (!each && (!shape->base || shape->layer_base))
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, 0,
				     "layout %s: base 0x%llx, layer_base %s: expected the only tensor in base, and no layer_base",
				     layout->name, (unsigned long long)shape->base,
				     shape->layer_base ? "given" : "NULL");
	if (two != !!shape->layer_base_v)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, 0,
				     "layout %s: layer_base_v %s: expected %s", layout->name,
				     shape->layer_base_v ? "given" : "NULL",
				     two ? "a second tensor for each layer" : "NULL");
	return 0;
}

/* ---- from orders to strides ---- */

/* Strides by index; those that an order does not have stay 0. */
struct strides {
	int64_t of['x' + 1];
};

static uint32_t part_elems(const struct part *part, const struct kvp_layout_shape *shape)
{
	if (part->elems >= 0)
		return (uint32_t)part->elems;
	return part->elems == SIZE_K ? shape->head_size : shape->head_size_v;
}

static uint32_t part_dtype(const struct part *part, const struct kvp_layout_shape *shape)
{
	return part->dtype ? part->dtype : shape->dtype;
}

static uint32_t part_bytes(const struct part *part, const struct kvp_layout_shape *shape)
{
	return part_elems(part, shape) * kvp_dtype_bytes(part_dtype(part, shape));
}

/* Bytes of index C: of all parts, or of the first where another one is at another index 2. */
static uint32_t vector_bytes(const struct view *view, const struct kvp_layout_shape *shape)
{
	uint32_t bytes = part_bytes(&view->part[0], shape), i;

	for (i = 1; !has_index(view, '2') && i < MAX_PARTS && view->part[i].role; i++)
		bytes += part_bytes(&view->part[i], shape);
	return bytes;
}

/* How many steps an index has; C, D and x begin with their bytes instead. */
static uint64_t index_count(const struct view *view, const struct kvp_layout_shape *shape,
			    char index)
{
	uint32_t bytes = part_bytes(&view->part[0], shape);

	switch (index) {
	case 'L':
		return shape->n_layers;
	case 'B':
		return shape->n_blocks;
	case 'N':
		return shape->block_tokens;
	case 'H':
		return shape->n_heads;
	case '2':
		return 2;
	case 'C':
		return vector_bytes(view, shape);
	case 'x':
		return VECTOR_BYTES;
	}
	/* D: in runs of x, or by single elements. */
	return has_index(view, 'x') ? bytes / VECTOR_BYTES : part_elems(&view->part[0], shape);
}

/* Whether the first @nr indices are layer and block, and what lies inside them is a page. */
static bool ends_page(const char *order, uint32_t nr)
{
	return strspn(order, "LB") == nr && !strpbrk(order + nr, "LB");
}

static int make_strides(const struct layout *layout, const struct view *view,
			const struct kvp_layout_shape *shape, struct strides *strides)
{
	uint32_t bytes = kvp_dtype_bytes(part_dtype(&view->part[0], shape));
	int64_t size = has_index(view, 'C') || has_index(view, 'x') ? 1 : bytes;
	bool padded = !shape->page_bytes;
	uint32_t nr;

	memset(strides, 0, sizeof(*strides));
	for (nr = strlen(view->order); nr; nr--) {
		char index = view->order[nr - 1];

		if (!padded && ends_page(view->order, nr)) {
			if (shape->page_bytes < (uint64_t)size || shape->page_bytes > INT64_MAX)
				return bad_shape(layout, KVP_REASON_VALUE, "page_bytes",
						 shape->page_bytes,
						 "at least the bytes of a page, below 2^63");
			size = (int64_t)shape->page_bytes;
			padded = true;
		}
		strides->of[(int)index] = size;
		if (__builtin_mul_overflow(size, index_count(view, shape, index), &size))
			return kvp_error_set(-EOVERFLOW, KVP_REASON_LENGTH, 0,
					     "layout %s: a tensor of more than 2^63 bytes: expected fewer",
					     layout->name);
	}
	if (!padded)
		return bad_shape(layout, KVP_REASON_VALUE, "page_bytes", shape->page_bytes,
				 "0, since its pages do not lie in one piece");
	return 0;
}

/* Where the vector's elements are, in an order that splits it. */
static int split_vector(const struct layout *layout, const struct view *view,
			const struct strides *strides, struct kvp_plane *plane)
{
	uint32_t run = has_index(view, 'x') ? VECTOR_BYTES / kvp_dtype_bytes(plane->dtype) : 1;
	int64_t stride = strides->of['D'];

	if (plane->n_elems % run)
		return bad_shape(layout, KVP_REASON_COUNT, "head_size", plane->n_elems,
				 "a multiple of 16 bytes");
	if (plane->n_elems == run)
		return 0;
	if (stride > INT32_MAX)
		return kvp_error_set(-EOVERFLOW, KVP_REASON_LENGTH, 0,
				     "layout %s: %lld bytes between elements of a head: expected less than 2^31",
				     layout->name, (long long)stride);
	plane->vec = (uint16_t)run;
	plane->vec_stride = (int32_t)stride;
	return 0;
}

/* ---- planes ---- */

static int add_plane(struct kvp_geometry *geometry, const struct layout *layout,
		     const struct view *view, uint32_t part, uint64_t offset,
		     const struct strides *strides, const struct kvp_layout_shape *shape)
{
	struct kvp_plane *plane = &geometry->plane[geometry->n_planes++];

	*plane = (struct kvp_plane){
		.base = shape->base + offset,
		.layer_base = view->second ? shape->layer_base_v : shape->layer_base,
		.layer_stride = strides->of['L'],
		.block_stride = strides->of['B'],
		.token_stride = strides->of['N'],
		.head_stride = strides->of['H'],
		.n_heads = (uint16_t)shape->n_heads,
		.n_elems = (uint16_t)part_elems(&view->part[part], shape),
		.vec = (uint16_t)part_elems(&view->part[part], shape),
		.dtype = (uint8_t)part_dtype(&view->part[part], shape),
		.role = view->part[part].role,
		.flags = view->part[part].flags,
	};
	return has_index(view, 'D') ? split_vector(layout, view, strides, plane) : 0;
}

static int add_view(struct kvp_geometry *geometry, const struct layout *layout,
		    const struct view *view, const struct kvp_layout_shape *shape)
{
	struct strides strides;
	uint64_t offset = 0;
	uint32_t i;
	int err;

	err = make_strides(layout, view, shape, &strides);
	for (i = 0; !err && i < MAX_PARTS && view->part[i].role; i++) {
		uint64_t kv = (view->kv + i) * (uint64_t)strides.of['2'];

		err = add_plane(geometry, layout, view, i, kv + offset, &strides, shape);
		if (!has_index(view, '2'))
			offset += part_bytes(&view->part[i], shape);
	}
	return err;
}

int kvp_geometry_layout(struct kvp_geometry *geometry, enum kvp_layout which,
			const struct kvp_layout_shape *shape)
{
	struct kvp_layout_shape filled;
	const struct layout *layout;
	struct kvp_geometry made;
	uint32_t i;
	int err;

	if (!geometry || !shape)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "layout: %s is NULL",
				     geometry ? "shape" : "geometry");
	if (!which || (uint32_t)which >= KVP_NR_LAYOUTS)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, 0,
				     "layout %u: expected one of enum kvp_layout", which);
	layout = &layouts[which];
	if (layout->refused)
		return kvp_error_set(-EOPNOTSUPP, KVP_REASON_VALUE, 0,
				     "layout %s: %s: expected another layout", layout->name,
				     layout->refused);
	filled = *shape;
	err = check_sizes(layout, &filled);
	if (!err)
		err = check_tensors(layout, &filled);
	memset(&made, 0, sizeof(made));
	made.n_layers = shape->n_layers;
	made.n_blocks = shape->n_blocks;
	made.block_tokens = shape->block_tokens;
	made.memory = shape->memory;
	made.n_memory = shape->n_memory;
	for (i = 0; !err && i < MAX_VIEWS && layout->view[i].order; i++)
		err = add_view(&made, layout, &layout->view[i], &filled);
	if (!err)
		err = kvp_geometry_check(&made, NULL);
	if (!err)
		*geometry = made;
	return err;
}

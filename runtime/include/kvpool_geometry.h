/* SPDX-License-Identifier: MIT */
/*
 * Geometries: where an engine keeps the elements of its own KV tensors. Included by kvpool.h.
 *
 * A pool gives out names of blocks. Where the bytes of a block lie is a matter of the family:
 * in the pool's memory, row after row, or, once a geometry is set, in tensors that the engine
 * made. A geometry has up to KVP_MAX_PLANES planes; a plane is one quantity (K, V, ...) for every
 * layer, block, token, head and element, and all its addresses follow from one formula:
 *
 *   base + (layer_base ? layer_base[layer] : layer * layer_stride)
 *        + block * block_stride + token * token_stride + head * head_stride
 *        + (element / vec) * vec_stride + (element % vec) * bytes of the dtype
 *
 * That is kvp_plane_address(). Strides are signed and in bytes, so a layer may be the outermost
 * index or lie inside a head, a vector may be split in runs, and tokens and elements may be
 * exchanged. What cannot be said so is an index that is itself split (see
 * KVP_LAYOUT_SGLANG_AITER_5D).
 *
 * Ownership: a geometry and all that it points to (layer bases, memory list, ropes by layer, axes
 * of pairs) are read during the call only, which copies what it needs. The tensors themselves and
 * the RoPE tables stay the caller's: see kvp_pool_set_geometry() for how long they must live.
 *
 * All structs are plain data without hidden pointers into the library. Set what you do not use to
 * zero: zero is never a valid dtype, role or count.
 */
#ifndef KVPOOL_GEOMETRY_H
#define KVPOOL_GEOMETRY_H

#include <stddef.h>
#include <stdint.h>

#include <linux/kvpool.h>		/* enum kvp_dtype */

#ifdef __cplusplus
extern "C" {
#endif

struct kvp_pool;

#define KVP_MAX_PLANES		8
#define KVP_MAX_ROPES		4
#define KVP_MAX_LAYERS		1024

/* ---- planes ------------------------------------------------------------------ */

/* What a plane is for. */
enum kvp_role {
	KVP_ROLE_K = 1,			/* keys as attention reads them: after RoPE, if there is one */
	KVP_ROLE_V,
	KVP_ROLE_KRAW,			/* the sub-range of K that is rotated, before it was */
	KVP_ROLE_LATENT,		/* MLA: what K and V are made of; never rotated */
	KVP_ROLE_SCALE,			/* scales of another plane */
	KVP_ROLE_OTHER,			/* anything else that goes with a token, moved as it is */
	KVP_NR_ROLES,
};

/*
 * A second view on bytes that other planes describe (MLA: V as a part of the latent). It may
 * overlap them; rows and copies leave it out.
 */
#define KVP_PLANE_READONLY	(1U << 0)
/* KRAW and SCALE: index of the plane that it belongs to. Others: not set. */
#define KVP_PLANE_OF(plane)	(1U << 1 | (uint32_t)(plane) << 8)
#define KVP_PLANE_HAS_OF	(1U << 1)
#define KVP_PLANE_OF_INDEX(flags)	((flags) >> 8 & 0xff)
#define KVP_PLANE_FLAGS_ALL	(KVP_PLANE_READONLY | KVP_PLANE_HAS_OF | 0xff00U)

/**
 * struct kvp_plane - one quantity; 64 bytes, may be passed by value
 * @base: address of layer 0's first element; with @layer_base: added to each of its addresses
 * @layer_base: addresses of the layers' tensors (one a layer), or NULL
 * @layer_stride: from one layer to the next; 0 with @layer_base
 * @block_stride: from one block to the next
 * @token_stride: from one token of a block to the next
 * @head_stride: from one head to the next
 * @n_heads: heads of this plane, > 0
 * @n_elems: elements of a (token, head), > 0
 * @vec: elements that lie next to each other; divides @n_elems, and is equal to it where the
 *       vector is not split
 * @dtype: enum kvp_dtype
 * @role: enum kvp_role
 * @vec_stride: from one run of @vec elements to the next; 0 where the vector is not split
 * @flags: KVP_PLANE_*
 *
 * All strides are in bytes and multiples of the element's size. A stride along which there is
 * only one (layer, block, ...) is never used.
 */
struct kvp_plane {
	uint64_t base;
	const uint64_t *layer_base;
	int64_t layer_stride;
	int64_t block_stride;
	int64_t token_stride;
	int64_t head_stride;
	uint16_t n_heads;
	uint16_t n_elems;
	uint16_t vec;
	uint8_t dtype;
	uint8_t role;
	int32_t vec_stride;
	uint32_t flags;
};

/* Bytes of an element; 0 for what is no dtype. */
static inline uint32_t kvp_dtype_bytes(uint32_t dtype)
{
	switch (dtype) {
	case KVP_DTYPE_F32:
		return 4;
	case KVP_DTYPE_F16:
	case KVP_DTYPE_BF16:
		return 2;
	case KVP_DTYPE_I8:
	case KVP_DTYPE_FP8_E4M3:
	case KVP_DTYPE_FP8_E5M2:
	case KVP_DTYPE_OPAQUE8:
		return 1;
	}
	return 0;
}

/* Address of an element; the plane must have passed kvp_geometry_check(). */
static inline uint64_t kvp_plane_address(const struct kvp_plane *plane, uint32_t layer,
					 uint64_t block, uint32_t token, uint32_t head,
					 uint32_t elem)
{
	uint64_t at = plane->base;

	/* Modulo 2^64, so that a negative stride is nothing special. */
	at += plane->layer_base ? plane->layer_base[layer] :
				  layer * (uint64_t)plane->layer_stride;
	at += block * (uint64_t)plane->block_stride;
	at += token * (uint64_t)plane->token_stride;
	at += head * (uint64_t)plane->head_stride;
	at += elem / plane->vec * (uint64_t)(int64_t)plane->vec_stride;
	at += elem % plane->vec * (uint64_t)kvp_dtype_bytes(plane->dtype);
	return at;
}

/* ---- rope -------------------------------------------------------------------- */

enum kvp_rope_style {
	KVP_ROPE_NONE,			/* positions do not change K (ALiBi, none at all) */
	KVP_ROPE_NEOX,			/* pairs (i, i + rot_dim / 2) */
	KVP_ROPE_GPTJ,			/* pairs (2i, 2i + 1) */
	KVP_NR_ROPE_STYLES,
};

/* Where values are rounded when K is rotated; kvpool_rows.h has the arithmetic. */
enum kvp_rope_profile {
	KVP_PROFILE_F32,		/* computed in f32, the result rounded once to K's dtype */
	KVP_PROFILE_MODEL,		/* table, products and results rounded to KRAW's dtype */
	KVP_NR_PROFILES,
};

#define KVP_ROPE_AXES		3	/* positions of a token with axis_of_pair */

/**
 * struct kvp_rope - how K is rotated in some layers
 * @table: f32 [n_pos][rot_dim]: rot_dim / 2 cosines, then as many sines, of each position; with
 *         scaling of any kind already in it. NULL with KVP_ROPE_NONE
 * @axis_of_pair: for models whose tokens have three positions (M-RoPE of Qwen2-VL: time, height,
 *                width): which of them, 0 to 2, rotates each of the rot_dim / 2 pairs. NULL: a
 *                token has one position
 * @n_pos: positions in the table, at least the geometry's @n_positions; NONE: 0
 * @rot_off: first element of K that is rotated, even; NONE: 0
 * @rot_dim: elements of K that are rotated, even and > 0; NONE: 0
 * @style: enum kvp_rope_style
 * @profile: enum kvp_rope_profile; NONE: 0
 * @reserved: 0
 *
 * An engine that keeps K unrotated and rotates when it reads has style NONE.
 */
struct kvp_rope {
	const float *table;
	const uint8_t *axis_of_pair;
	uint32_t n_pos;
	uint16_t rot_off;
	uint16_t rot_dim;
	uint8_t style;
	uint8_t profile;
	uint8_t reserved[6];
};

/* ---- geometries -------------------------------------------------------------- */

/**
 * struct kvp_memory - memory that was allocated in one piece
 * @base: its address
 * @size: its bytes, > 0
 */
struct kvp_memory {
	uint64_t base;
	uint64_t size;
};

/* Refuse the geometry if its rows could not be given new positions (KVP_CAN_REPOSITION). */
#define KVP_GEOMETRY_REPOSITION	(1U << 0)
#define KVP_GEOMETRY_FLAGS_ALL	KVP_GEOMETRY_REPOSITION

/**
 * struct kvp_geometry - the tensors of one family
 * @flags: KVP_GEOMETRY_*
 * @n_layers: 1..KVP_MAX_LAYERS
 * @n_blocks: blocks that the tensors have room for, 1..KVP_MAX_BLOCKS
 * @block_tokens: tokens of a block, 1..KVP_MAX_BLOCK_TOKENS
 * @n_planes: 1..KVP_MAX_PLANES
 * @n_ropes: 0..KVP_MAX_ROPES; 0: unknown, so rows cannot be given new positions
 * @n_memory: elements of @memory, > 0
 * @n_positions: positions that a token can have are below it, 1..2^31; read only where a rope
 *               rotates
 * @memory: the allocations. Each layer of each plane lies inside one of them
 * @rope_of_layer: index in @rope for each layer; NULL: all layers have @rope[0]
 * @plane: the planes
 * @rope: the ropes
 */
struct kvp_geometry {
	uint32_t flags;
	uint32_t n_layers;
	uint64_t n_blocks;
	uint32_t block_tokens;
	uint32_t n_planes;
	uint32_t n_ropes;
	uint32_t n_memory;
	uint64_t n_positions;
	const struct kvp_memory *memory;
	const uint8_t *rope_of_layer;
	struct kvp_plane plane[KVP_MAX_PLANES];
	struct kvp_rope rope[KVP_MAX_ROPES];
};

/* How rows of a plane are moved, in one layer; the fastest that is true. */
enum kvp_path {
	KVP_PATH_BLOCK_CONTIG = 1,	/* a block's tokens follow each other: one copy for any run */
	KVP_PATH_ROW_CONTIG,		/* a token's heads follow each other: one copy a token */
	KVP_PATH_HEAD_CONTIG,		/* a head's elements follow each other: one copy a head and
					 * token, or, where tokens follow each other, a head */
	KVP_PATH_SPLIT,			/* one copy a run of vec elements */
	KVP_PATH_TRANSPOSED,		/* tokens of one element follow each other: one copy an element,
					 * for any run of tokens */
};

/* All of a block is one run of bytes, in whatever order: a whole block is one copy. */
#define KVP_PATH_WHOLE_BLOCK	(1U << 0)
/* Runs of vec elements are whole 16-byte words, each aligned. */
#define KVP_PATH_VEC16		(1U << 1)
/* K that is rotated: so are the parts that a rotation reads together (NeoX: both halves). */
#define KVP_PATH_ROPE_VEC16	(1U << 2)

/**
 * struct kvp_plane_facts - what follows from a plane
 * @path: enum kvp_path
 * @flags: KVP_PATH_*
 * @row_off: where the plane begins in a row of kvp_rows_write() and kvp_rows_read()
 * @row_bytes: its bytes there: [layer][head][element] without gaps; 0 if it is READONLY
 */
struct kvp_plane_facts {
	uint32_t path;
	uint32_t flags;
	uint64_t row_off;
	uint64_t row_bytes;
};

/* Rows written, read and copied as they are, at the position that they were computed for. */
#define KVP_CAN_VERBATIM	(1U << 0)
/* Rows given another position, K being rotated again (or needing no rotation). */
#define KVP_CAN_REPOSITION	(1U << 1)

/**
 * struct kvp_geometry_facts - what follows from a geometry, found out once
 * @operations: KVP_CAN_*; VERBATIM always
 * @block_shift: log2 of block_tokens if that is a power of two, else -1
 * @row_bytes: of all planes; a family's row_bytes must be this
 * @obstacle_plane: the plane that stands against REPOSITION; 0 if none does
 * @obstacle: why there is no REPOSITION (static text), or NULL
 * @plane: of each plane
 */
struct kvp_geometry_facts {
	uint32_t operations;
	int32_t block_shift;
	uint64_t row_bytes;
	uint32_t obstacle_plane;
	const char *obstacle;
	struct kvp_plane_facts plane[KVP_MAX_PLANES];
};

/*
 * Look whether @geometry describes memory that can be used, and what follows from it; @facts may be
 * NULL. Nothing that it points to but its own arrays is read: no tensor, no table. Any thread.
 *
 * K that is rotated can be given new positions if it has a KRAW plane: of the same heads, of
 * exactly rot_dim elements, and of a float type: that of which the engine rotates, which need not
 * be K's (an engine may rotate in f32 and keep K as bf16). Quantised K (I8, FP8) needs a SCALE
 * plane, too (f32, one a token and head), and must be rotated as a whole: of elements that are
 * not rotated there is no value from which they could be quantised again. No plane of the three
 * may be READONLY, for rows of such a plane are not moved. Where any of that is missing the
 * geometry is accepted, for verbatim operations only, and @facts says why; with
 * KVP_GEOMETRY_REPOSITION it is refused instead. Either all ropes that rotate have axis_of_pair
 * or none.
 *
 * Errors; kvp_error() tells plane or rope, field, and what was expected, and ->where is the index
 * of the plane, rope, memory or layer: -EINVAL (POINTER: NULL; COUNT: a count of zero or too
 * large; FLAG; RESERVED; VALUE: unknown dtype, role or style, or a field that contradicts another;
 * ALIGNMENT: not a multiple of the element's size; LENGTH: outside the memory, or a table too
 * short; DUPLICATE: elements, layers or planes that overlap), -EOVERFLOW/LENGTH (an address
 * outside 64 bits), -EOPNOTSUPP/VALUE (KVP_GEOMETRY_REPOSITION).
 *
 * Elements of a plane are known to be apart if its strides nest: each is at least as large as all
 * that lies inside it. Others are refused, as are planes that interleave so oddly that it would
 * take too long to tell.
 */
int kvp_geometry_check(const struct kvp_geometry *geometry, struct kvp_geometry_facts *facts);

/* "bf16" ("none" for KVP_DTYPE_NONE), "kraw", "row-contig"; "unknown" for what there is not. */
const char *kvp_dtype_name(uint32_t dtype);
const char *kvp_role_name(uint32_t role);
const char *kvp_path_name(uint32_t path);

/* ---- layouts of engines -------------------------------------------------------- */

/*
 * Orders of the indices, outermost first: L layer, B block, N token of a block, H head, D
 * element, 2 K or V, C elements of K and V (or of the parts of an MLA row) one after the other,
 * x 16 bytes of D. "each" means one tensor for each layer.
 */
enum kvp_layout {
	KVP_LAYOUT_VLLM_FLASH_NHD = 1,		/* vLLM up to 0.28, each [2][B][N][H][D] */
	KVP_LAYOUT_VLLM_FLASH_HND,		/* each [2][B][H][N][D] */
	KVP_LAYOUT_FLASHINFER_NHD,		/* vLLM with FlashInfer, each [B][2][N][H][D] */
	KVP_LAYOUT_FLASHINFER_HND,		/* each [B][2][H][N][D] */
	KVP_LAYOUT_VLLM_CROSS_NHD,		/* cross-layer blocks, [B][L][2][N][H][D] */
	KVP_LAYOUT_VLLM_CROSS_HND,		/* [B][2][H][L][N][D] */
	KVP_LAYOUT_VLLM_LBNHC,			/* vLLM from 0.29 on, C = K|V, [L][B][N][H][C] */
	KVP_LAYOUT_VLLM_LBHNC,			/* [L][B][H][N][C] */
	KVP_LAYOUT_VLLM_LHBNC,			/* [L][H][B][N][C] */
	KVP_LAYOUT_VLLM_BLHNC,			/* [B][L][H][N][C] */
	KVP_LAYOUT_VLLM_BLNHC,			/* [B][L][N][H][C] */
	KVP_LAYOUT_VLLM_BHLNC,			/* [B][H][L][N][C] */
	KVP_LAYOUT_VLLM_PAGED_V1,		/* each [2][B][...]: K [H][D/x][N][x], V [H][D][N] */
	KVP_LAYOUT_VLLM_MLA,			/* each [B][N][C], C = latent|rope (512 + 64) */
	KVP_LAYOUT_VLLM_FP8_DS_MLA,		/* each [B][N][656]: 512 fp8, 4 f32 scales, 64 bf16 */
	KVP_LAYOUT_FLASHMLA_V4,			/* each [B][N][584]: 448 fp8, 64 bf16, 8 scale bytes */
	KVP_LAYOUT_SGLANG_MHA,			/* each K and V of their own, [B N][H][D] */
	KVP_LAYOUT_SGLANG_MLA,			/* each [B N][1][C], C = latent|rope */
	KVP_LAYOUT_SGLANG_AITER_5D,		/* cannot be expressed: always refused */
	KVP_LAYOUT_HICACHE_LAYER_FIRST,		/* SGLang's host pool, [2][L][B N][H][D] */
	KVP_LAYOUT_HICACHE_PAGE_FIRST,		/* [2][B N][L][H][D] */
	KVP_LAYOUT_HICACHE_PAGE_FIRST_DIRECT,	/* [2][B][L][N][H][D] */
	KVP_LAYOUT_HICACHE_MLA_LAYER_FIRST,	/* [L][B N][1][C], C = latent|rope */
	KVP_LAYOUT_HICACHE_MLA_PAGE_FIRST,	/* [B N][L][1][C] */
	KVP_LAYOUT_HICACHE_MLA_PAGE_FIRST_DIRECT, /* [B][L][N][1][C] */
	KVP_LAYOUT_TRTLLM,			/* TensorRT-LLM's pool, [B][L][2][H][N][D] */
	KVP_LAYOUT_TRTLLM_MLA,			/* kvFactor 1, [B][L][N][C], C = latent|rope */
	KVP_LAYOUT_LLAMACPP,			/* with flash attention, each K and V, [B N][H][D] */
	KVP_LAYOUT_LLAMACPP_V_TRANS,		/* without: V is [H][D][B N] */
	KVP_LAYOUT_FLASHINFER_MLA,		/* each latent [B][N][512] and rope [B][N][64] */
	KVP_LAYOUT_LMCACHE,			/* chunks = blocks, each [2][L][N][H D] */
	KVP_LAYOUT_LMCACHE_MLA,			/* [L][N][C], C = latent|rope */
	KVP_NR_LAYOUTS,
};

/**
 * struct kvp_layout_shape - what a layout is filled in with
 * @n_layers: layers
 * @n_blocks: blocks of the tensors (dummy ones included)
 * @block_tokens: tokens of a block
 * @n_heads: KV heads; MLA: 0 or 1
 * @head_size: elements of K a head; MLA: of the latent, 0: 512
 * @head_size_v: elements of V a head, 0: as @head_size; MLA: of the rope part, 0: 64
 * @dtype: enum kvp_dtype; 0 for layouts whose dtypes are their own (FP8_DS_MLA, FLASHMLA_V4)
 * @base: the only tensor; 0 with @layer_base
 * @layer_base: the tensors of the layers, for layouts of "each"; else NULL. A layout of two
 *              tensors a layer has K (the latent) here
 * @layer_base_v: V (the rope part) of layouts of two tensors a layer; else NULL
 * @page_bytes: bytes from one page to the next where pages are padded, a page being all of a
 *              (layer, block); 0: no padding. Only for layouts whose pages lie in one piece
 * @memory: becomes the geometry's
 * @n_memory: its elements
 */
struct kvp_layout_shape {
	uint32_t n_layers;
	uint32_t block_tokens;
	uint64_t n_blocks;
	uint32_t n_heads;
	uint32_t head_size;
	uint32_t head_size_v;
	uint32_t dtype;
	uint64_t base;
	const uint64_t *layer_base;
	const uint64_t *layer_base_v;
	uint64_t page_bytes;
	const struct kvp_memory *memory;
	uint32_t n_memory;
};

/*
 * Describe the tensors of an engine: planes K and V, or of MLA the latent and K, which is the
 * part that is rotated (and of FP8_DS_MLA and FLASHMLA_V4 the scales). *@geometry then points to
 * the arrays of @shape, has passed kvp_geometry_check(), and has no rope: set n_ropes, rope and
 * n_positions, and add a KRAW plane, for rows that are to get new positions.
 * Errors: -EOPNOTSUPP/VALUE (a layout that cannot be expressed: the text says why), -EINVAL
 * (POINTER; COUNT: sizes that the layout does not have; VALUE: unknown layout or dtype, a field that
 * the layout needs or does not have), -EOVERFLOW/LENGTH (strides too large), and those of
 * kvp_geometry_check(). *@geometry is untouched on errors.
 */
int kvp_geometry_layout(struct kvp_geometry *geometry, enum kvp_layout layout,
			const struct kvp_layout_shape *shape);

/* "vllm-flash-nhd" and so on; "unknown" for what there is not. Static text. */
const char *kvp_layout_name(uint32_t layout);

/* ---- the geometry of a family ---------------------------------------------------- */

/*
 * From now on the bytes of @family are where @geometry says, for this client (needs USE); NULL:
 * in the pool's own memory again. Rows of kvp_rows_write() and kvp_rows_read(), and the copies
 * of kvp_seq_append(), kvp_seq_fork() and kvp_block_make_private(), go through it: block i of the
 * family is block i of the tensors, and a row is all planes in order, each [layer][head][element]
 * without gaps. READONLY planes are left out. kvp_block_data() gives NULL, kvp_block_plane() an
 * address. Where the family's dtype is said, planes of role K, V and LATENT have it (READONLY
 * ones as they like); rows of several dtypes are a family of OPAQUE8, or of none that is said.
 *
 * Only while the client has no sequence, match or raw reference: else -EBUSY, since the bytes of
 * what it holds would be left behind. What is published is not looked at: a client that comes later
 * must register the same tensors as those that published, as must all clients that share blocks.
 * Whoever changes the place of published blocks invalidates them first.
 *
 * The tensors and the RoPE tables must stay where they are until the geometry is replaced or the
 * pool is closed. No other call on @pool may run at the same time; afterwards any number of
 * threads may, since rows of different sequences lie at different addresses.
 *
 * Errors: as kvp_geometry_check(); -EINVAL (FAMILY: no such family; VALUE: block_tokens, n_blocks
 * or row_bytes are not the family's; or a dtype is not, where = the plane), -EBUSY,
 * -EACCES/RIGHT_USE, -ENOMEM. A geometry that was set before stays on errors.
 */
int kvp_pool_set_geometry(struct kvp_pool *pool, uint32_t family,
			  const struct kvp_geometry *geometry);

/*
 * Address of the first element of (@layer, @block) of a plane of the block's geometry; the rest
 * follows from the strides. Rules as of kvp_block_data(). NULL where the family has no geometry or
 * there is no such plane or layer.
 */
void *kvp_block_plane(struct kvp_pool *pool, uint64_t block, uint32_t plane, uint32_t layer);

#ifdef __cplusplus
}
#endif

#endif /* KVPOOL_GEOMETRY_H */

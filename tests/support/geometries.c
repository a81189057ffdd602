// SPDX-License-Identifier: MIT
/*
 * The tensors of engines, and where their elements lie. Each formula is the place of an element
 * in a nested array, its dimensions in the order in which the engine's documentation writes
 * them. Owns nothing.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "geometries.h"
#include "pools.h"

#define L	KVPR_LAYERS
#define B	KVPR_BLOCKS
#define N	KVPR_TOKENS
#define NR_PLANES	5

/**
 * struct at - which element, and of what size things are
 * @p: plane
 * @l: layer
 * @b: block
 * @n: token
 * @h: head
 * @e: element
 * @H: heads
 * @D: elements of K or latent
 * @V: elements of V or rope part
 * @E: bytes of one
 * @page: bytes of a padded page
 */
struct at {
	uint64_t p, l, b, n, h, e;
	uint64_t H, D, V, E, page;
};

/* Place in a nested array: index and size of each dimension, the outermost first. */
static uint64_t nested(const uint64_t (*dims)[2], size_t nr)
{
	uint64_t place = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		/* Not ck_assert: it notes each time that it passes, which are millions. */
		if (dims[i][0] >= dims[i][1])
			ck_abort_msg("dimension %zu: index %llu of %llu", i,
				     (unsigned long long)dims[i][0],
				     (unsigned long long)dims[i][1]);
		place = place * dims[i][1] + dims[i][0];
	}
	return place;
}

#define AT(...) \
	nested((const uint64_t [][2]){ __VA_ARGS__ }, \
	       sizeof((const uint64_t [][2]){ __VA_ARGS__ }) / sizeof(uint64_t [2]))

/* [...][C]: elements of K and V, or latent and rope part, one after the other. */
#define C	{ a.p * a.D + a.e, a.D + a.V }

/* ---- formulas: the byte in the tensor ---- */

static uint64_t flash_nhd(struct at a)
{
	return AT({ a.p, 2 }, { a.b, B }, { a.n, N }, { a.h, a.H }, { a.e, a.D }) * a.E;
}

static uint64_t flash_hnd(struct at a)
{
	return AT({ a.p, 2 }, { a.b, B }, { a.h, a.H }, { a.n, N }, { a.e, a.D }) * a.E;
}

static uint64_t flashinfer_nhd(struct at a)
{
	return AT({ a.b, B }, { a.p, 2 }, { a.n, N }, { a.h, a.H }, { a.e, a.D }) * a.E;
}

static uint64_t flashinfer_nhd_padded(struct at a)
{
	return a.b * a.page + AT({ a.p, 2 }, { a.n, N }, { a.h, a.H }, { a.e, a.D }) * a.E;
}

static uint64_t flashinfer_hnd(struct at a)
{
	return AT({ a.b, B }, { a.p, 2 }, { a.h, a.H }, { a.n, N }, { a.e, a.D }) * a.E;
}

static uint64_t cross_nhd(struct at a)
{
	return AT({ a.b, B }, { a.l, L }, { a.p, 2 }, { a.n, N }, { a.h, a.H }, { a.e, a.D }) *
	       a.E;
}

static uint64_t cross_hnd(struct at a)
{
	return AT({ a.b, B }, { a.p, 2 }, { a.h, a.H }, { a.l, L }, { a.n, N }, { a.e, a.D }) *
	       a.E;
}

static uint64_t lbnhc(struct at a)
{
	return AT({ a.l, L }, { a.b, B }, { a.n, N }, { a.h, a.H }, C) * a.E;
}

static uint64_t lbnhc_padded(struct at a)
{
	return AT({ a.l, L }, { a.b, B }) * a.page + AT({ a.n, N }, { a.h, a.H }, C) * a.E;
}

static uint64_t lbhnc(struct at a)
{
	return AT({ a.l, L }, { a.b, B }, { a.h, a.H }, { a.n, N }, C) * a.E;
}

static uint64_t lhbnc(struct at a)
{
	return AT({ a.l, L }, { a.h, a.H }, { a.b, B }, { a.n, N }, C) * a.E;
}

static uint64_t blhnc(struct at a)
{
	return AT({ a.b, B }, { a.l, L }, { a.h, a.H }, { a.n, N }, C) * a.E;
}

static uint64_t blnhc(struct at a)
{
	return AT({ a.b, B }, { a.l, L }, { a.n, N }, { a.h, a.H }, C) * a.E;
}

static uint64_t blnhc_padded(struct at a)
{
	return AT({ a.b, B }, { a.l, L }) * a.page + AT({ a.n, N }, { a.h, a.H }, C) * a.E;
}

static uint64_t bhlnc(struct at a)
{
	return AT({ a.b, B }, { a.h, a.H }, { a.l, L }, { a.n, N }, C) * a.E;
}

static uint64_t paged_v1(struct at a)
{
	uint64_t x = 16 / a.E;

	if (a.p)
		return AT({ 1, 2 }, { a.b, B }, { a.h, a.H }, { a.e, a.D }, { a.n, N }) * a.E;
	return AT({ 0, 2 }, { a.b, B }, { a.h, a.H }, { a.e / x, a.D / x }, { a.n, N },
		  { a.e % x, x }) * a.E;
}

static uint64_t mla(struct at a)
{
	return AT({ a.b, B }, { a.n, N }, C) * a.E;
}

static uint64_t mla_padded(struct at a)
{
	return a.b * a.page + AT({ a.n, N }, C) * a.E;
}

/* Planes: 512 bytes of latent, 4 scales, 64 elements of two bytes. */
static uint64_t fp8_ds_mla(struct at a)
{
	uint64_t byte[] = { a.e, 512 + 4 * a.e, 528 + 2 * a.e };

	return AT({ a.b, B }, { a.n, N }, { byte[a.p], 656 });
}

/* Planes: 448 bytes of latent, 64 elements of two bytes, 8 scales. */
static uint64_t flashmla_v4(struct at a)
{
	uint64_t byte[] = { a.e, 448 + 2 * a.e, 576 + a.e };

	return AT({ a.b, B }, { a.n, N }, { byte[a.p], 584 });
}

static uint64_t slots(struct at a)
{
	return AT({ a.b * N + a.n, B * N }, { a.h, a.H }, { a.e, a.p ? a.V : a.D }) * a.E;
}

static uint64_t slots_mla(struct at a)
{
	return AT({ a.b * N + a.n, B * N }, { 0, 1 }, C) * a.E;
}

static uint64_t layer_first(struct at a)
{
	return AT({ a.p, 2 }, { a.l, L }, { a.b * N + a.n, B * N }, { a.h, a.H }, { a.e, a.D }) *
	       a.E;
}

static uint64_t page_first(struct at a)
{
	return AT({ a.p, 2 }, { a.b * N + a.n, B * N }, { a.l, L }, { a.h, a.H }, { a.e, a.D }) *
	       a.E;
}

static uint64_t page_first_direct(struct at a)
{
	return AT({ a.p, 2 }, { a.b, B }, { a.l, L }, { a.n, N }, { a.h, a.H }, { a.e, a.D }) *
	       a.E;
}

static uint64_t mla_layer_first(struct at a)
{
	return AT({ a.l, L }, { a.b * N + a.n, B * N }, { 0, 1 }, C) * a.E;
}

static uint64_t mla_page_first(struct at a)
{
	return AT({ a.b * N + a.n, B * N }, { a.l, L }, { 0, 1 }, C) * a.E;
}

static uint64_t mla_page_first_direct(struct at a)
{
	return AT({ a.b, B }, { a.l, L }, { a.n, N }, { 0, 1 }, C) * a.E;
}

static uint64_t trtllm(struct at a)
{
	return AT({ a.b, B }, { a.l, L }, { a.p, 2 },
		  { (a.h * N + a.n) * a.D + a.e, a.H * N * a.D }) * a.E;
}

static uint64_t llamacpp(struct at a)
{
	uint64_t size = a.p ? a.V : a.D;

	return AT({ a.b * N + a.n, B * N }, { a.h * size + a.e, a.H * size }) * a.E;
}

static uint64_t llamacpp_v_trans(struct at a)
{
	if (a.p)
		return AT({ a.h * a.V + a.e, a.H * a.V }, { a.b * N + a.n, B * N }) * a.E;
	return llamacpp(a);
}

static uint64_t flashinfer_mla(struct at a)
{
	return AT({ a.b, B }, { a.n, N }, { a.e, a.p ? a.V : a.D }) * a.E;
}

static uint64_t lmcache(struct at a)
{
	return AT({ a.b, B }, { a.p, 2 }, { a.l, L }, { a.n, N },
		  { a.h * a.D + a.e, a.H * a.D }) * a.E;
}

/* Blocks and heads counted from the end. */
static uint64_t backwards(struct at a)
{
	return AT({ a.l, L }, { B - 1 - a.b, B }, { a.p, 2 }, { a.n, N }, { a.H - 1 - a.h, a.H },
		  { a.e, a.D }) * a.E;
}

/* K, V, a scale of each, and K before it was rotated: a tensor each. */
static uint64_t quantised(struct at a)
{
	static const uint64_t elems[] = { 24, 24, 1, 1, 8 }, bytes[] = { 1, 1, 4, 4, 2 };

	return AT({ a.l, L }, { a.b, B }, { a.n, N }, { a.h, a.H }, { a.e, elems[a.p] }) *
	       bytes[a.p];
}

/* Latent and rope part together. */
static uint64_t one_plane(struct at a)
{
	return AT({ a.b, B }, { a.n, N }, { a.e, 30 }) * a.E;
}

/* Latent and rope part, and V as the latter half of the latent. */
static uint64_t latent_view(struct at a)
{
	if (a.p == 2)
		return AT({ a.b, B }, { a.n, N }, { a.D / 2 + a.e, a.D + a.V }) * a.E;
	return mla(a);
}

/* ---- cases ---- */

struct plane {
	uint32_t elems;
	uint32_t bytes;
	uint32_t path;
	bool view;
};

/**
 * struct geometry_case - one line
 * @name: for people
 * @layout: enum kvp_layout; 0: made by @make
 * @dtype: of the shape
 * @heads: heads
 * @k: head_size
 * @v: head_size_v
 * @page: page_bytes
 * @tensors: a tensor for: 0: all, 1: each layer, 2: each layer and plane, 3: each plane
 * @byte: the formula
 * @plane: what must be in the planes
 * @make: fills a geometry of no layout
 */
struct geometry_case {
	const char *name;
	enum kvp_layout layout;
	uint32_t dtype;
	uint32_t heads, k, v, page, tensors;
	uint64_t (*byte)(struct at at);
	struct plane plane[NR_PLANES];
	void (*make)(struct kvpr_tensors *tensors);
};

static void make_backwards(struct kvpr_tensors *tensors)
{
	struct kvp_geometry *geometry = &tensors->geometry;
	const int64_t vector = 24 * 2, token = 3 * vector, side = N * token;
	uint32_t i;

	geometry->n_planes = 2;
	for (i = 0; i < 2; i++)
		geometry->plane[i] = (struct kvp_plane){
			.base = tensors->layer_base[0] + (B - 1) * 2 * side + i * side +
				2 * vector,
			.layer_stride = B * 2 * side,
			.block_stride = -2 * side,
			.token_stride = token,
			.head_stride = -vector,
			.n_heads = 3,
			.n_elems = 24,
			.vec = 24,
			.dtype = KVP_DTYPE_F16,
			.role = i ? KVP_ROLE_V : KVP_ROLE_K,
		};
}

static void make_one_plane(struct kvpr_tensors *tensors)
{
	struct kvp_geometry *geometry = &tensors->geometry;

	geometry->n_planes = 1;
	geometry->plane[0] = (struct kvp_plane){
		.layer_base = tensors->layer_base,
		.block_stride = N * 60,
		.token_stride = 60,
		.n_heads = 1,
		.n_elems = 30,
		.vec = 30,
		.dtype = KVP_DTYPE_BF16,
		.role = KVP_ROLE_LATENT,
	};
}

static float table[64 * 8];

static void make_quantised(struct kvpr_tensors *tensors)
{
	static const struct kvp_plane planes[] = {
		{ .n_elems = 24, .dtype = KVP_DTYPE_FP8_E4M3, .role = KVP_ROLE_K },
		{ .n_elems = 24, .dtype = KVP_DTYPE_FP8_E5M2, .role = KVP_ROLE_V },
		{ .n_elems = 1, .dtype = KVP_DTYPE_F32, .role = KVP_ROLE_SCALE,
		  .flags = KVP_PLANE_OF(0) },
		{ .n_elems = 1, .dtype = KVP_DTYPE_F32, .role = KVP_ROLE_SCALE,
		  .flags = KVP_PLANE_OF(1) },
		{ .n_elems = 8, .dtype = KVP_DTYPE_BF16, .role = KVP_ROLE_KRAW,
		  .flags = KVP_PLANE_OF(0) },
	};
	struct kvp_geometry *geometry = &tensors->geometry;
	uint32_t i;

	geometry->n_planes = 5;
	for (i = 0; i < 5; i++) {
		struct kvp_plane *plane = &geometry->plane[i];

		*plane = planes[i];
		plane->base = tensors->layer_base[i];
		plane->n_heads = 3;
		plane->vec = plane->n_elems;
		plane->head_stride = plane->n_elems * kvp_dtype_bytes(plane->dtype);
		plane->token_stride = 3 * plane->head_stride;
		plane->block_stride = N * plane->token_stride;
		plane->layer_stride = B * plane->block_stride;
	}
	geometry->n_positions = 64;
	geometry->n_ropes = 1;
	geometry->rope[0] = (struct kvp_rope){
		.table = table, .n_pos = 64, .rot_off = 4, .rot_dim = 8, .style = KVP_ROPE_NEOX,
	};
}

static void make_latent_view(struct kvpr_tensors *tensors)
{
	struct kvp_geometry *geometry = &tensors->geometry;
	struct kvp_layout_shape shape = {
		.n_layers = L, .n_blocks = B, .block_tokens = N, .head_size = 24,
		.head_size_v = 6, .dtype = KVP_DTYPE_BF16, .layer_base = tensors->layer_base,
		.memory = geometry->memory, .n_memory = geometry->n_memory,
	};
	struct kvp_plane *view = &geometry->plane[2];

	kvpr_ok(kvp_geometry_layout(geometry, KVP_LAYOUT_VLLM_MLA, &shape));
	geometry->n_planes = 3;
	*view = geometry->plane[0];
	view->base += 24;
	view->n_elems = 12;
	view->vec = 12;
	view->role = KVP_ROLE_V;
	view->flags = KVP_PLANE_READONLY;
}

#define BLOCK	KVP_PATH_BLOCK_CONTIG
#define ROW	KVP_PATH_ROW_CONTIG
#define HEAD	KVP_PATH_HEAD_CONTIG
#define SPLIT	KVP_PATH_SPLIT
#define TRANS	KVP_PATH_TRANSPOSED

#define SAME(elems, bytes, path)	{ { elems, bytes, path, false }, { elems, bytes, path, false } }
#define PAIR(k, k_path, v, v_path, bytes) \
	{ { k, bytes, k_path, false }, { v, bytes, v_path, false } }
#define BF16	KVP_DTYPE_BF16
#define F16	KVP_DTYPE_F16
#define F32	KVP_DTYPE_F32
#define LAYOUT(name)	KVP_LAYOUT_##name

static const struct geometry_case cases[] = {
	{ "flash nhd", LAYOUT(VLLM_FLASH_NHD), BF16, 3, 24, 0, 0, 1, flash_nhd,
	  SAME(24, 2, BLOCK), NULL },
	{ "flash nhd, f32", LAYOUT(VLLM_FLASH_NHD), F32, 5, 6, 6, 0, 1, flash_nhd,
	  SAME(6, 4, BLOCK), NULL },
	{ "flash nhd, fp8", LAYOUT(VLLM_FLASH_NHD), KVP_DTYPE_FP8_E4M3, 3, 25, 0, 0, 1, flash_nhd,
	  SAME(25, 1, BLOCK), NULL },
	{ "flash hnd", LAYOUT(VLLM_FLASH_HND), BF16, 3, 24, 0, 0, 1, flash_hnd,
	  SAME(24, 2, HEAD), NULL },
	{ "flashinfer nhd", LAYOUT(FLASHINFER_NHD), BF16, 3, 24, 0, 0, 1, flashinfer_nhd,
	  SAME(24, 2, BLOCK), NULL },
	{ "flashinfer nhd, padded", LAYOUT(FLASHINFER_NHD), BF16, 3, 24, 0, 2100, 1,
	  flashinfer_nhd_padded, SAME(24, 2, BLOCK), NULL },
	{ "flashinfer hnd", LAYOUT(FLASHINFER_HND), F16, 3, 24, 0, 0, 1, flashinfer_hnd,
	  SAME(24, 2, HEAD), NULL },
	{ "cross nhd", LAYOUT(VLLM_CROSS_NHD), BF16, 3, 24, 0, 0, 0, cross_nhd,
	  SAME(24, 2, BLOCK), NULL },
	{ "cross hnd", LAYOUT(VLLM_CROSS_HND), BF16, 3, 24, 0, 0, 0, cross_hnd,
	  SAME(24, 2, HEAD), NULL },
	{ "lbnhc", LAYOUT(VLLM_LBNHC), BF16, 3, 24, 10, 0, 0, lbnhc,
	  PAIR(24, HEAD, 10, HEAD, 2), NULL },
	{ "lbnhc, padded", LAYOUT(VLLM_LBNHC), BF16, 3, 24, 24, 2048, 0, lbnhc_padded,
	  SAME(24, 2, HEAD), NULL },
	{ "lbnhc, one head", LAYOUT(VLLM_LBNHC), BF16, 1, 24, 10, 0, 0, lbnhc,
	  PAIR(24, ROW, 10, ROW, 2), NULL },
	{ "lbhnc", LAYOUT(VLLM_LBHNC), BF16, 3, 24, 10, 0, 0, lbhnc,
	  PAIR(24, HEAD, 10, HEAD, 2), NULL },
	{ "lhbnc", LAYOUT(VLLM_LHBNC), BF16, 3, 24, 10, 0, 0, lhbnc,
	  PAIR(24, HEAD, 10, HEAD, 2), NULL },
	{ "blhnc", LAYOUT(VLLM_BLHNC), BF16, 3, 24, 10, 0, 0, blhnc,
	  PAIR(24, HEAD, 10, HEAD, 2), NULL },
	{ "blnhc", LAYOUT(VLLM_BLNHC), BF16, 3, 24, 10, 0, 0, blnhc,
	  PAIR(24, HEAD, 10, HEAD, 2), NULL },
	{ "blnhc, padded", LAYOUT(VLLM_BLNHC), BF16, 3, 24, 10, 1536, 0, blnhc_padded,
	  PAIR(24, HEAD, 10, HEAD, 2), NULL },
	{ "bhlnc", LAYOUT(VLLM_BHLNC), BF16, 3, 24, 10, 0, 0, bhlnc,
	  PAIR(24, HEAD, 10, HEAD, 2), NULL },
	{ "paged v1", LAYOUT(VLLM_PAGED_V1), BF16, 3, 24, 0, 0, 1, paged_v1,
	  PAIR(24, SPLIT, 24, TRANS, 2), NULL },
	{ "paged v1, f32", LAYOUT(VLLM_PAGED_V1), F32, 3, 12, 0, 0, 1, paged_v1,
	  PAIR(12, SPLIT, 12, TRANS, 4), NULL },
	{ "paged v1, i8", LAYOUT(VLLM_PAGED_V1), KVP_DTYPE_I8, 3, 48, 0, 0, 1, paged_v1,
	  PAIR(48, SPLIT, 48, TRANS, 1), NULL },
	{ "vllm mla", LAYOUT(VLLM_MLA), BF16, 1, 512, 64, 0, 1, mla,
	  PAIR(512, ROW, 64, ROW, 2), NULL },
	{ "vllm mla, padded", LAYOUT(VLLM_MLA), BF16, 1, 24, 6, 444, 1, mla_padded,
	  PAIR(24, ROW, 6, ROW, 2), NULL },
	{ "fp8 ds mla", LAYOUT(VLLM_FP8_DS_MLA), 0, 1, 0, 0, 0, 1, fp8_ds_mla,
	  { { 512, 1, ROW, false }, { 4, 4, ROW, false }, { 64, 2, ROW, false } }, NULL },
	{ "flashmla v4", LAYOUT(FLASHMLA_V4), 0, 1, 0, 0, 0, 1, flashmla_v4,
	  { { 448, 1, ROW, false }, { 64, 2, ROW, false }, { 8, 1, ROW, false } }, NULL },
	{ "sglang mha", LAYOUT(SGLANG_MHA), BF16, 3, 24, 10, 0, 2, slots,
	  PAIR(24, BLOCK, 10, BLOCK, 2), NULL },
	{ "sglang mla", LAYOUT(SGLANG_MLA), F16, 1, 40, 8, 0, 1, slots_mla,
	  PAIR(40, ROW, 8, ROW, 2), NULL },
	{ "layer first", LAYOUT(HICACHE_LAYER_FIRST), BF16, 3, 24, 0, 0, 0, layer_first,
	  SAME(24, 2, BLOCK), NULL },
	{ "page first", LAYOUT(HICACHE_PAGE_FIRST), BF16, 3, 24, 0, 0, 0, page_first,
	  SAME(24, 2, ROW), NULL },
	{ "page first direct", LAYOUT(HICACHE_PAGE_FIRST_DIRECT), BF16, 3, 24, 0, 0, 0,
	  page_first_direct, SAME(24, 2, BLOCK), NULL },
	{ "mla layer first", LAYOUT(HICACHE_MLA_LAYER_FIRST), BF16, 1, 40, 8, 0, 0,
	  mla_layer_first, PAIR(40, ROW, 8, ROW, 2), NULL },
	{ "mla page first", LAYOUT(HICACHE_MLA_PAGE_FIRST), BF16, 1, 40, 8, 0, 0, mla_page_first,
	  PAIR(40, ROW, 8, ROW, 2), NULL },
	{ "mla page first direct", LAYOUT(HICACHE_MLA_PAGE_FIRST_DIRECT), BF16, 1, 40, 8, 0, 0,
	  mla_page_first_direct, PAIR(40, ROW, 8, ROW, 2), NULL },
	{ "trtllm", LAYOUT(TRTLLM), BF16, 3, 24, 0, 0, 0, trtllm, SAME(24, 2, HEAD), NULL },
	{ "trtllm mla", LAYOUT(TRTLLM_MLA), KVP_DTYPE_FP8_E4M3, 1, 512, 64, 0, 0,
	  mla_page_first_direct, PAIR(512, ROW, 64, ROW, 1), NULL },
	{ "llamacpp", LAYOUT(LLAMACPP), F16, 3, 22, 14, 0, 2, llamacpp,
	  PAIR(22, BLOCK, 14, BLOCK, 2), NULL },
	{ "llamacpp, q8_0", LAYOUT(LLAMACPP), KVP_DTYPE_OPAQUE8, 2, 68, 34, 0, 2, llamacpp,
	  PAIR(68, BLOCK, 34, BLOCK, 1), NULL },
	{ "llamacpp, v transposed", LAYOUT(LLAMACPP_V_TRANS), F16, 3, 24, 10, 0, 2,
	  llamacpp_v_trans, PAIR(24, BLOCK, 10, TRANS, 2), NULL },
	{ "flashinfer mla", LAYOUT(FLASHINFER_MLA), BF16, 1, 512, 64, 0, 2, flashinfer_mla,
	  PAIR(512, BLOCK, 64, BLOCK, 2), NULL },
	{ "lmcache", LAYOUT(LMCACHE), BF16, 3, 24, 0, 0, 0, lmcache, SAME(24, 2, BLOCK), NULL },
	{ "lmcache mla", LAYOUT(LMCACHE_MLA), F32, 1, 40, 8, 0, 0, mla_page_first_direct,
	  PAIR(40, ROW, 8, ROW, 4), NULL },
	{ "backwards", 0, F16, 3, 24, 24, 0, 0, backwards, SAME(24, 2, HEAD), make_backwards },
	{ "quantised", 0, 0, 3, 24, 24, 0, 3, quantised,
	  { { 24, 1, BLOCK, false }, { 24, 1, BLOCK, false }, { 1, 4, BLOCK, false },
	    { 1, 4, BLOCK, false }, { 8, 2, BLOCK, false } }, make_quantised },
	{ "one plane", 0, BF16, 1, 30, 0, 0, 1, one_plane, { { 30, 2, BLOCK, false } },
	  make_one_plane },
	{ "latent view", 0, BF16, 1, 24, 6, 0, 1, latent_view,
	  { { 24, 2, ROW, false }, { 6, 2, ROW, false }, { 12, 2, ROW, true } },
	  make_latent_view },
};

uint32_t kvpr_nr_geometries(void)
{
	return sizeof(cases) / sizeof(cases[0]);
}

const char *kvpr_geometry_name(uint32_t which)
{
	return cases[which].name;
}

uint32_t kvpr_geometry_layout(uint32_t which)
{
	return cases[which].layout;
}

uint32_t kvpr_geometry_path(uint32_t which, uint32_t plane)
{
	return cases[which].plane[plane].path;
}

uint32_t kvpr_nr_planes(uint32_t which)
{
	uint32_t nr = 0;

	while (nr < NR_PLANES && cases[which].plane[nr].elems)
		nr++;
	return nr;
}

void kvpr_plane_sizes(uint32_t which, uint32_t plane, uint32_t *heads, uint32_t *elems,
		      uint32_t *bytes)
{
	*heads = cases[which].heads;
	*elems = cases[which].plane[plane].elems;
	*bytes = cases[which].plane[plane].bytes;
}

bool kvpr_plane_is_moved(uint32_t which, uint32_t plane)
{
	return !cases[which].plane[plane].view;
}

uint64_t kvpr_geometry_row_bytes(uint32_t which)
{
	uint32_t heads, elems, bytes, i;
	uint64_t row_bytes = 0;

	for (i = 0; i < kvpr_nr_planes(which); i++) {
		kvpr_plane_sizes(which, i, &heads, &elems, &bytes);
		if (kvpr_plane_is_moved(which, i))
			row_bytes += (uint64_t)L * heads * elems * bytes;
	}
	return row_bytes;
}

uint32_t kvpr_element(uint32_t which, uint32_t plane, uint32_t layer, uint32_t block,
		      uint32_t token, uint32_t head, uint32_t elem, uint64_t *byte)
{
	const struct geometry_case *c = &cases[which];

	*byte = c->byte((struct at){
		.p = plane, .l = layer, .b = block, .n = token, .h = head, .e = elem,
		.H = c->heads, .D = c->k, .V = c->v, .E = c->plane[0].bytes, .page = c->page,
	});
	switch (c->tensors) {
	case 1:
		return layer;
	case 2:
		return plane * L + layer;
	case 3:
		return plane;
	}
	return 0;
}

/* ---- tensors ---- */

/* Sizes of the tensors: to the end of the last element that the formula knows. */
static void measure(struct kvpr_tensors *tensors)
{
	uint32_t which = tensors->which, heads, elems, bytes, p, l, b, n, h, e;

	for (p = 0; p < kvpr_nr_planes(which); p++) {
		kvpr_plane_sizes(which, p, &heads, &elems, &bytes);
		for (l = 0; l < L; l++)
		for (b = 0; b < B; b++)
		for (n = 0; n < N; n++)
		for (h = 0; h < heads; h++)
		for (e = 0; e < elems; e++) {
			uint64_t byte;
			uint32_t t = kvpr_element(which, p, l, b, n, h, e, &byte);

			if (t >= tensors->nr)
				tensors->nr = t + 1;
			if (byte + bytes > tensors->bytes[t])
				tensors->bytes[t] = byte + bytes;
		}
	}
}

void kvpr_tensors_make(uint32_t which, struct kvpr_tensors *tensors)
{
	const struct geometry_case *c = &cases[which];
	struct kvp_geometry *geometry = &tensors->geometry;
	struct kvp_layout_shape shape = {
		.n_layers = L, .n_blocks = B, .block_tokens = N, .n_heads = c->heads,
		.head_size = c->k, .head_size_v = c->v, .dtype = c->dtype,
		.page_bytes = c->page,
	};
	uint32_t i;

	memset(tensors, 0, sizeof(*tensors));
	tensors->which = which;
	measure(tensors);
	for (i = 0; i < tensors->nr; i++) {
		tensors->tensor[i] = malloc(tensors->bytes[i]);
		memset(tensors->tensor[i], 0xa5, tensors->bytes[i]);
		tensors->layer_base[i] = (uint64_t)(uintptr_t)tensors->tensor[i];
		tensors->memory[i] = (struct kvp_memory){ tensors->layer_base[i],
							  tensors->bytes[i] };
	}
	if (c->make) {
		geometry->n_layers = L;
		geometry->n_blocks = B;
		geometry->block_tokens = N;
		geometry->memory = tensors->memory;
		geometry->n_memory = tensors->nr;
		c->make(tensors);
		return;
	}
	shape.memory = tensors->memory;
	shape.n_memory = tensors->nr;
	if (c->tensors)
		shape.layer_base = tensors->layer_base;
	else
		shape.base = tensors->layer_base[0];
	if (c->tensors == 2)
		shape.layer_base_v = tensors->layer_base + L;
	kvpr_ok(kvp_geometry_layout(geometry, c->layout, &shape));
}

void kvpr_tensors_drop(struct kvpr_tensors *tensors)
{
	uint32_t i;

	for (i = 0; i < tensors->nr; i++)
		free(tensors->tensor[i]);
}

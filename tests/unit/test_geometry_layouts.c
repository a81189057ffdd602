// SPDX-License-Identifier: MIT
/*
 * The layouts of engines: every element of every geometry lies where the layout's dimensions say;
 * how their rows are moved; what a layout cannot be filled in with.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "geometries.h"
#include "geometry.h"
#include "pools.h"

static const uint64_t layer_base[] = { 1ULL << 32, 2ULL << 32, 3ULL << 32 };
static const uint64_t layer_base_v[] = { 5ULL << 32, 6ULL << 32, 7ULL << 32 };
static const struct kvp_memory everything = { 0x1000, 1ULL << 60 };

/* ---- places ---- */

static uint64_t compare_elements(uint32_t which, const struct kvpr_tensors *tensors, uint32_t p)
{
	const struct kvp_plane *plane = &tensors->geometry.plane[p];
	uint32_t heads, elems, bytes, l, b, n, h, e;
	uint64_t count = 0, byte;

	kvpr_plane_sizes(which, p, &heads, &elems, &bytes);
	ck_assert_uint_eq(plane->n_heads, heads);
	ck_assert_uint_eq(plane->n_elems, elems);
	ck_assert_uint_eq(kvp_dtype_bytes(plane->dtype), bytes);
	for (l = 0; l < KVPR_LAYERS; l++)
	for (b = 0; b < KVPR_BLOCKS; b++)
	for (n = 0; n < KVPR_TOKENS; n++)
	for (h = 0; h < heads; h++)
	for (e = 0; e < elems; e++) {
		uint32_t t = kvpr_element(which, p, l, b, n, h, e, &byte);
		uint64_t at = kvp_plane_address(plane, l, b, n, h, e);

		if (at != (uint64_t)(uintptr_t)(tensors->tensor[t] + byte))
			ck_abort_msg("%s: plane %u: element (%u, %u, %u, %u, %u) at +%lld of tensor %u, expected +%llu",
				     kvpr_geometry_name(which), p, l, b, n, h, e,
				     (long long)(at - (uint64_t)(uintptr_t)tensors->tensor[t]), t,
				     (unsigned long long)byte);
		count++;
	}
	return count;
}

START_TEST(test_each_element)
{
	struct kvp_geometry_facts facts;
	struct kvpr_tensors tensors;
	uint64_t count = 0, expected = 0;
	uint32_t p, heads, elems, bytes;

	kvpr_tensors_make(_i, &tensors);
	kvpr_ok(kvp_geometry_check(&tensors.geometry, &facts));
	ck_assert_uint_eq(tensors.geometry.n_planes, kvpr_nr_planes(_i));
	for (p = 0; p < kvpr_nr_planes(_i); p++) {
		count += compare_elements(_i, &tensors, p);
		kvpr_plane_sizes(_i, p, &heads, &elems, &bytes);
		expected += (uint64_t)heads * elems * KVPR_LAYERS * KVPR_BLOCKS * KVPR_TOKENS;
	}
	ck_assert_uint_eq(count, expected);
	ck_assert_uint_eq(facts.row_bytes, kvpr_geometry_row_bytes(_i));
	kvpr_tensors_drop(&tensors);
}
END_TEST

/* Strides, shapes and dtypes, without addresses: offsets are those from the first plane. */
static void signature(const struct kvp_geometry *geometry, struct kvp_plane *planes)
{
	uint32_t i;

	memcpy(planes, geometry->plane, sizeof(geometry->plane));
	for (i = 0; i < KVP_MAX_PLANES; i++) {
		bool apart = planes[i].layer_base != geometry->plane[0].layer_base;

		if (planes[i].role)
			planes[i].base -= geometry->plane[0].base;
		planes[i].layer_base = (const uint64_t *)(uintptr_t)apart;
	}
}

START_TEST(test_at_least_thirty_differ)
{
	static struct kvp_plane seen[64][KVP_MAX_PLANES];
	struct kvpr_tensors tensors;
	uint32_t nr = 0, i, j;

	for (i = 0; i < kvpr_nr_geometries(); i++) {
		kvpr_tensors_make(i, &tensors);
		signature(&tensors.geometry, seen[nr]);
		kvpr_tensors_drop(&tensors);
		for (j = 0; j < nr; j++) {
			if (!memcmp(seen[j], seen[nr], sizeof(seen[j])))
				break;
		}
		nr += j == nr;
	}
	ck_assert_uint_ge(nr, 30);
}
END_TEST

START_TEST(test_every_layout_has_a_case)
{
	uint32_t layout, i, j;
	char names[KVP_NR_LAYOUTS][40] = { "" };

	for (layout = 1; layout < KVP_NR_LAYOUTS; layout++) {
		snprintf(names[layout], sizeof(names[layout]), "%s", kvp_layout_name(layout));
		ck_assert_str_ne(names[layout], "unknown");
		for (j = 1; j < layout; j++)
			ck_assert_str_ne(names[layout], names[j]);
	}
	ck_assert_str_eq(kvp_layout_name(0), "unknown");
	ck_assert_str_eq(kvp_layout_name(KVP_NR_LAYOUTS), "unknown");
	for (i = 0; i < kvpr_nr_geometries(); i++)
		names[kvpr_geometry_layout(i)][0] = '\0';
	names[KVP_LAYOUT_SGLANG_AITER_5D][0] = '\0';
	for (layout = 1; layout < KVP_NR_LAYOUTS; layout++)
		ck_assert_str_eq(names[layout], "");
}
END_TEST

/* ---- paths ---- */

START_TEST(test_path)
{
	struct kvp_geometry_facts facts;
	struct kvpr_tensors tensors;
	uint32_t p;

	kvpr_tensors_make(_i, &tensors);
	kvpr_ok(kvp_geometry_check(&tensors.geometry, &facts));
	for (p = 0; p < kvpr_nr_planes(_i); p++) {
		if (facts.plane[p].path != kvpr_geometry_path(_i, p))
			ck_abort_msg("%s: plane %u: %s, expected %s", kvpr_geometry_name(_i), p,
				     kvp_path_name(facts.plane[p].path),
				     kvp_path_name(kvpr_geometry_path(_i, p)));
	}
	ck_assert_int_eq(facts.block_shift, -1);	/* 7 tokens */
	kvpr_tensors_drop(&tensors);
}
END_TEST

/* A shape of usual sizes: 16 tokens, 8 heads of 128. */
static struct kvp_layout_shape usual(void)
{
	return (struct kvp_layout_shape){
		.n_layers = 3, .n_blocks = 1000, .block_tokens = 16, .n_heads = 8,
		.head_size = 128, .dtype = KVP_DTYPE_BF16, .layer_base = layer_base,
		.memory = &everything, .n_memory = 1,
	};
}

/* What follows from a layout in the usual shape, its tensors at @base. */
static struct kvp_geometry_facts usual_facts(enum kvp_layout layout, uint64_t base,
					     struct kvp_geometry *geometry)
{
	struct kvp_layout_shape shape = usual();
	struct kvp_geometry_facts facts;

	shape.layer_base = base ? NULL : layer_base;
	shape.base = base;
	if (layout == KVP_LAYOUT_LLAMACPP_V_TRANS)
		shape.layer_base_v = layer_base_v;
	kvpr_ok(kvp_geometry_layout(geometry, layout, &shape));
	kvpr_ok(kvp_geometry_check(geometry, &facts));
	return facts;
}

START_TEST(test_flags)
{
	const uint32_t whole = KVP_PATH_WHOLE_BLOCK, vec16 = KVP_PATH_VEC16;
	struct kvp_geometry geometry;
	struct kvp_geometry_facts facts;

	facts = usual_facts(KVP_LAYOUT_VLLM_FLASH_NHD, 0, &geometry);
	ck_assert_int_eq(facts.block_shift, 4);
	ck_assert_uint_eq(facts.plane[0].flags, whole | vec16);
	ck_assert_uint_eq(facts.plane[1].flags, whole | vec16);
	/* [H][N][D] is one run too, in another order. */
	facts = usual_facts(KVP_LAYOUT_FLASHINFER_HND, 0, &geometry);
	ck_assert_uint_eq(facts.plane[0].path, KVP_PATH_HEAD_CONTIG);
	ck_assert_uint_eq(facts.plane[0].flags, whole | vec16);
	facts = usual_facts(KVP_LAYOUT_VLLM_PAGED_V1, 0, &geometry);
	ck_assert_uint_eq(facts.plane[0].flags, whole | vec16);
	ck_assert_uint_eq(facts.plane[1].flags, whole);
	facts = usual_facts(KVP_LAYOUT_VLLM_LBNHC, 0x10000, &geometry);
	ck_assert_uint_eq(facts.plane[0].flags, vec16);
	facts = usual_facts(KVP_LAYOUT_LLAMACPP_V_TRANS, 0, &geometry);
	ck_assert_uint_eq(facts.plane[0].flags, whole | vec16);
	ck_assert_uint_eq(facts.plane[1].flags, 0);
	/* A base, or a stride, that is not a multiple of 16. */
	facts = usual_facts(KVP_LAYOUT_VLLM_LBNHC, 0x10008, &geometry);
	ck_assert_uint_eq(facts.plane[0].flags, 0);
	geometry.n_planes = 1;
	geometry.plane[0].base = 0x10000;
	kvpr_ok(kvp_geometry_check(&geometry, &facts));
	ck_assert_uint_eq(facts.plane[0].flags, vec16);
	geometry.plane[0].layer_stride += 8;
	kvpr_ok(kvp_geometry_check(&geometry, &facts));
	ck_assert_uint_eq(facts.plane[0].flags, 0);
}
END_TEST

static float table[2 * 128];

START_TEST(test_flags_of_rotation)
{
	struct kvp_geometry geometry;
	struct kvp_geometry_facts facts;

	usual_facts(KVP_LAYOUT_VLLM_FLASH_NHD, 0, &geometry);
	geometry.n_ropes = 1;
	geometry.n_positions = 2;
	geometry.rope[0] = (struct kvp_rope){
		.table = table, .n_pos = 2, .rot_dim = 32, .style = KVP_ROPE_NEOX,
	};
	kvpr_ok(kvp_geometry_check(&geometry, &facts));
	ck_assert_uint_eq(facts.plane[0].flags & KVP_PATH_ROPE_VEC16, KVP_PATH_ROPE_VEC16);
	ck_assert_uint_eq(facts.plane[1].flags & KVP_PATH_ROPE_VEC16, 0);
	/* Halves of 12 elements; pairs that stand together may be 24. */
	geometry.rope[0].rot_dim = 24;
	kvpr_ok(kvp_geometry_check(&geometry, &facts));
	ck_assert_uint_eq(facts.plane[0].flags & KVP_PATH_ROPE_VEC16, 0);
	geometry.rope[0].style = KVP_ROPE_GPTJ;
	kvpr_ok(kvp_geometry_check(&geometry, &facts));
	ck_assert_uint_eq(facts.plane[0].flags & KVP_PATH_ROPE_VEC16, KVP_PATH_ROPE_VEC16);
	geometry.rope[0].rot_off = 4;
	kvpr_ok(kvp_geometry_check(&geometry, &facts));
	ck_assert_uint_eq(facts.plane[0].flags & KVP_PATH_ROPE_VEC16, 0);
}
END_TEST

/* How many copies of how many bytes move @tokens tokens of a plane from block to block. */
static void expect_copies(const struct kvp_geometry *geometry, uint32_t plane, uint64_t tokens,
			  uint64_t copies, uint64_t bytes)
{
	struct kvp_steps steps;
	struct kvp_box box;
	uint64_t nr = 1;
	uint32_t i;

	kvp_steps_of_plane(&geometry->plane[plane], &steps);
	kvp_box_make(&geometry->plane[plane], tokens, &steps, &steps, &box);
	for (i = 0; i < box.nr; i++)
		nr *= box.dim[i].count;
	ck_assert_uint_eq(nr, copies);
	ck_assert_uint_eq(box.piece, bytes);
}

START_TEST(test_few_copies)
{
	const uint64_t block = 16 * 8 * 128 * 2;
	struct kvp_geometry geometry;

	usual_facts(KVP_LAYOUT_VLLM_FLASH_NHD, 0, &geometry);
	expect_copies(&geometry, 0, 16, 1, block);
	expect_copies(&geometry, 0, 5, 1, 5 * 8 * 128 * 2);
	usual_facts(KVP_LAYOUT_HICACHE_PAGE_FIRST, 0x10000, &geometry);
	expect_copies(&geometry, 0, 16, 16, 8 * 128 * 2);
	usual_facts(KVP_LAYOUT_VLLM_FLASH_HND, 0, &geometry);
	expect_copies(&geometry, 0, 16, 1, block);
	expect_copies(&geometry, 0, 5, 8, 5 * 128 * 2);
	usual_facts(KVP_LAYOUT_VLLM_LBHNC, 0x10000, &geometry);
	expect_copies(&geometry, 0, 5, 5 * 8, 128 * 2);
	usual_facts(KVP_LAYOUT_VLLM_PAGED_V1, 0, &geometry);
	expect_copies(&geometry, 0, 16, 1, block);
	expect_copies(&geometry, 0, 5, 8 * 16, 5 * 16);
	expect_copies(&geometry, 1, 16, 1, block);
	expect_copies(&geometry, 1, 5, 8 * 128, 5 * 2);
	usual_facts(KVP_LAYOUT_LLAMACPP_V_TRANS, 0, &geometry);
	expect_copies(&geometry, 1, 16, 8 * 128, 16 * 2);
}
END_TEST

/* ---- what cannot be ---- */

static void refuse(enum kvp_layout layout, const struct kvp_layout_shape *shape, int err,
		   uint32_t reason, const char *what, const char *expected)
{
	struct kvp_geometry geometry, untouched;

	memset(&geometry, 0x5a, sizeof(geometry));
	untouched = geometry;
	kvpr_expect(kvp_geometry_layout(&geometry, layout, shape), err, reason);
	kvpr_says(what);
	kvpr_says(expected);
	ck_assert_mem_eq(&geometry, &untouched, sizeof(geometry));
}

static void accept(enum kvp_layout layout, const struct kvp_layout_shape *shape)
{
	struct kvp_geometry geometry;

	kvpr_ok(kvp_geometry_layout(&geometry, layout, shape));
}

START_TEST(test_split_tokens_are_refused)
{
	struct kvp_layout_shape shape = usual();

	shape.layer_base_v = layer_base_v;
	refuse(KVP_LAYOUT_SGLANG_AITER_5D, &shape, -EOPNOTSUPP, KVP_REASON_VALUE,
	       "sglang-aiter-5d", "its token index is split");
	accept(KVP_LAYOUT_SGLANG_MHA, &shape);
}
END_TEST

START_TEST(test_layouts_that_are_none)
{
	struct kvp_layout_shape shape = usual();

	refuse(0, &shape, -EINVAL, KVP_REASON_VALUE, "layout 0", "enum kvp_layout");
	refuse(KVP_NR_LAYOUTS, &shape, -EINVAL, KVP_REASON_VALUE, "layout 33",
	       "enum kvp_layout");
	refuse(KVP_LAYOUT_VLLM_FLASH_NHD, NULL, -EINVAL, KVP_REASON_POINTER, "shape", "NULL");
	kvpr_expect(kvp_geometry_layout(NULL, KVP_LAYOUT_VLLM_FLASH_NHD, &shape), -EINVAL,
		    KVP_REASON_POINTER);
}
END_TEST

START_TEST(test_sizes)
{
	const enum kvp_layout flash = KVP_LAYOUT_VLLM_FLASH_NHD, mla = KVP_LAYOUT_VLLM_MLA;
	struct kvp_layout_shape shape = usual();

	accept(flash, &shape);
	shape.dtype = 0;
	refuse(flash, &shape, -EINVAL, KVP_REASON_VALUE, "dtype 0", "enum kvp_dtype");
	shape = usual();
	shape.n_heads = 0;
	refuse(flash, &shape, -EINVAL, KVP_REASON_COUNT, "n_heads 0", "1 to 65535");
	shape.n_heads = 65536;
	refuse(flash, &shape, -EINVAL, KVP_REASON_COUNT, "n_heads 65536", "1 to 65535");
	refuse(mla, &shape, -EINVAL, KVP_REASON_COUNT, "n_heads 65536", "0 or 1");
	shape = usual();
	shape.head_size = 0;
	refuse(flash, &shape, -EINVAL, KVP_REASON_COUNT, "head_size 0", "1 to 65535");
	shape.head_size = 65536;
	refuse(flash, &shape, -EINVAL, KVP_REASON_COUNT, "head_size 65536", "1 to 65535");
	shape = usual();
	shape.head_size_v = 64;
	refuse(flash, &shape, -EINVAL, KVP_REASON_COUNT, "head_size_v 64", "one tensor");
	shape.head_size_v = 65536;
	refuse(KVP_LAYOUT_SGLANG_MHA, &shape, -EINVAL, KVP_REASON_COUNT, "head_size_v 65536",
	       "65535");
	shape = usual();
	shape.head_size = 20;
	refuse(KVP_LAYOUT_VLLM_PAGED_V1, &shape, -EINVAL, KVP_REASON_COUNT, "head_size 20",
	       "multiple of 16 bytes");
	shape.head_size = 24;
	accept(KVP_LAYOUT_VLLM_PAGED_V1, &shape);
}
END_TEST

START_TEST(test_sizes_of_their_own)
{
	const enum kvp_layout ds = KVP_LAYOUT_VLLM_FP8_DS_MLA, mla = KVP_LAYOUT_VLLM_MLA;
	struct kvp_layout_shape shape = usual();
	struct kvp_geometry geometry;

	shape.n_heads = 0;
	refuse(ds, &shape, -EINVAL, KVP_REASON_VALUE, "dtype 3", "its own");
	shape.dtype = 0;
	refuse(ds, &shape, -EINVAL, KVP_REASON_COUNT, "head_size 128", "its own");
	shape.head_size = 0;
	shape.head_size_v = 64;
	refuse(ds, &shape, -EINVAL, KVP_REASON_COUNT, "head_size 64", "its own");
	shape.head_size_v = 0;
	accept(ds, &shape);
	shape.dtype = KVP_DTYPE_BF16;
	kvpr_ok(kvp_geometry_layout(&geometry, mla, &shape));
	ck_assert_uint_eq(geometry.plane[0].n_elems, 512);
	ck_assert_uint_eq(geometry.plane[1].n_elems, 64);
	ck_assert_int_eq(geometry.plane[0].token_stride, 576 * 2);
}
END_TEST

START_TEST(test_tensors_that_do_not_fit)
{
	const enum kvp_layout each = KVP_LAYOUT_VLLM_FLASH_NHD, one = KVP_LAYOUT_TRTLLM;
	const enum kvp_layout two = KVP_LAYOUT_SGLANG_MHA;
	struct kvp_layout_shape shape = usual();

	shape.base = 0x10000;
	refuse(each, &shape, -EINVAL, KVP_REASON_VALUE, "base 0x10000", "no base");
	refuse(one, &shape, -EINVAL, KVP_REASON_VALUE, "layer_base given", "no layer_base");
	shape.layer_base = NULL;
	accept(one, &shape);
	refuse(each, &shape, -EINVAL, KVP_REASON_VALUE, "layer_base NULL", "for each layer");
	shape.base = 0;
	refuse(one, &shape, -EINVAL, KVP_REASON_VALUE, "base 0x0", "in base");
	shape.layer_base = layer_base;
	refuse(two, &shape, -EINVAL, KVP_REASON_VALUE, "layer_base_v NULL", "second tensor");
	shape.layer_base_v = layer_base_v;
	shape.n_blocks = 10;
	accept(two, &shape);
	refuse(each, &shape, -EINVAL, KVP_REASON_VALUE, "layer_base_v given", "NULL");
}
END_TEST

START_TEST(test_pages)
{
	static const enum kvp_layout padded[] = {
		KVP_LAYOUT_VLLM_LBNHC, KVP_LAYOUT_VLLM_LBHNC, KVP_LAYOUT_VLLM_BLHNC,
		KVP_LAYOUT_VLLM_BLNHC, KVP_LAYOUT_VLLM_CROSS_NHD, KVP_LAYOUT_TRTLLM,
	};
	static const enum kvp_layout whole[] = {
		KVP_LAYOUT_VLLM_LHBNC, KVP_LAYOUT_VLLM_BHLNC, KVP_LAYOUT_VLLM_CROSS_HND,
		KVP_LAYOUT_HICACHE_LAYER_FIRST, KVP_LAYOUT_HICACHE_PAGE_FIRST,
	};
	struct kvp_layout_shape shape = usual();
	uint32_t i;

	shape.layer_base = NULL;
	shape.base = 0x10000;
	for (i = 0; i < sizeof(padded) / sizeof(padded[0]); i++) {
		shape.page_bytes = 16 * 8 * 256 * 2;
		accept(padded[i], &shape);
		shape.page_bytes--;
		refuse(padded[i], &shape, -EINVAL, KVP_REASON_VALUE, "page_bytes 65535",
		       "at least the bytes of a page");
		shape.page_bytes = 1ULL << 63;
		refuse(padded[i], &shape, -EINVAL, KVP_REASON_VALUE, "page_bytes", "below 2^63");
	}
	shape.page_bytes = 1 << 20;
	for (i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		refuse(whole[i], &shape, -EINVAL, KVP_REASON_VALUE, "page_bytes 1048576",
		       "do not lie in one piece");
	/* What is padded must still be aligned. */
	shape.page_bytes = 16 * 8 * 256 * 2 + 1;
	refuse(KVP_LAYOUT_VLLM_LBNHC, &shape, -EINVAL, KVP_REASON_ALIGNMENT, "block_stride 65537",
	       "multiple of 2");
}
END_TEST

START_TEST(test_too_large)
{
	struct kvp_layout_shape shape = usual();

	shape.n_layers = 1024;
	shape.n_blocks = 1 << 24;
	shape.block_tokens = 1 << 16;
	shape.n_heads = 65535;
	shape.head_size = 65535;
	shape.layer_base = NULL;
	shape.base = 0x10000;
	refuse(KVP_LAYOUT_TRTLLM, &shape, -EOVERFLOW, KVP_REASON_LENGTH, "trtllm", "2^63");
	shape = usual();
	shape.n_blocks = 1 << 24;
	shape.block_tokens = 1 << 7;
	shape.layer_base_v = layer_base_v;
	refuse(KVP_LAYOUT_LLAMACPP_V_TRANS, &shape, -EOVERFLOW, KVP_REASON_LENGTH,
	       "4294967296 bytes between elements", "2^31");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("geometry_layouts");
	TCase *tc = tcase_create("layouts");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, test_each_element, 0, (int)kvpr_nr_geometries());
	tcase_add_test(tc, test_at_least_thirty_differ);
	tcase_add_test(tc, test_every_layout_has_a_case);
	tcase_add_loop_test(tc, test_path, 0, (int)kvpr_nr_geometries());
	tcase_add_test(tc, test_flags);
	tcase_add_test(tc, test_flags_of_rotation);
	tcase_add_test(tc, test_few_copies);
	tcase_add_test(tc, test_split_tokens_are_refused);
	tcase_add_test(tc, test_layouts_that_are_none);
	tcase_add_test(tc, test_sizes);
	tcase_add_test(tc, test_sizes_of_their_own);
	tcase_add_test(tc, test_tensors_that_do_not_fit);
	tcase_add_test(tc, test_pages);
	tcase_add_test(tc, test_too_large);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

// SPDX-License-Identifier: MIT
/*
 * Models come out of files as they went in, and out of a seed always the same; files that are none
 * are refused by the name of what is wrong.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pools.h"
#include "models.h"

static char path[64];

/* dim 8, hidden 6, 2 layers, 2 heads, 1 KV head, 5 ids, 3 positions */
#define HEADER	{ 8, 6, 2, 2, 1, 5, 3 }
#define ELEMENTS	(5 * 8 + 2 * (8 + 64 + 32 + 32 + 64 + 8 + 3 * 48) + 8 + 3 * 4)
#define MAX_ELEMENTS	(ELEMENTS + 5 * 8)

static int32_t header[7];
static float elements[MAX_ELEMENTS];

static void setup(void)
{
	static const int32_t good[7] = HEADER;
	uint32_t i;
	int fd;

	memcpy(header, good, sizeof(header));
	for (i = 0; i < MAX_ELEMENTS; i++)
		elements[i] = (float)i / 8;
	strcpy(path, "/tmp/kvpool-model-XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void teardown(void)
{
	unlink(path);
}

static void write_file(uint32_t nr_header, uint32_t nr, uint32_t more)
{
	FILE *file = fopen(path, "wb");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(header, sizeof(*header), nr_header, file), nr_header);
	ck_assert_uint_eq(fwrite(elements, sizeof(*elements), nr, file), nr);
	ck_assert_uint_eq(fwrite(elements, 1, more, file), more);
	ck_assert_int_eq(fclose(file), 0);
}

/* ---- good files ---- */

START_TEST(test_each_array_is_found)
{
	struct model m;

	write_file(7, ELEMENTS, 0);
	model_ok(model_load(path, &m));
	ck_assert_uint_eq(m.config.dim, 8);
	ck_assert_uint_eq(m.config.hidden, 6);
	ck_assert_uint_eq(m.config.n_layers, 2);
	ck_assert_uint_eq(m.config.n_heads, 2);
	ck_assert_uint_eq(m.config.n_kv_heads, 1);
	ck_assert_uint_eq(m.config.vocab, 5);
	ck_assert_uint_eq(m.config.max_tokens, 3);
	ck_assert(!m.config.own_classifier);
	ck_assert_uint_eq(m.head_size, 4);
	ck_assert_uint_eq(m.kv_dim, 4);
	/* Each begins where those before it end. */
	ck_assert(m.embedding[0] == 0.0f);
	ck_assert(m.norm_attention[0] == 40 / 8.0f);
	ck_assert(m.wq[0] == 56 / 8.0f);
	ck_assert(m.wk[0] == 184 / 8.0f);
	ck_assert(m.wv[0] == 248 / 8.0f);
	ck_assert(m.wo[0] == 312 / 8.0f);
	ck_assert(m.norm_ffn[0] == 440 / 8.0f);
	ck_assert(m.w1[0] == 456 / 8.0f);
	ck_assert(m.w2[0] == 552 / 8.0f);
	ck_assert(m.w3[0] == 648 / 8.0f);
	ck_assert(m.norm_final[0] == 744 / 8.0f);
	ck_assert_ptr_eq(m.classifier, m.embedding);
	model_drop(&m);
	ck_assert_ptr_null(m.memory);
}
END_TEST

/* The tables of 12 elements lie before it. */
START_TEST(test_own_classifier)
{
	struct model m;

	header[5] = -5;
	write_file(7, MAX_ELEMENTS, 0);
	model_ok(model_load(path, &m));
	ck_assert_uint_eq(m.config.vocab, 5);
	ck_assert(m.config.own_classifier);
	ck_assert(m.classifier[0] == 764 / 8.0f);
	ck_assert(m.classifier[39] == 803 / 8.0f);
	model_drop(&m);
}
END_TEST

START_TEST(test_digests)
{
	struct model a, b;

	write_file(7, ELEMENTS, 0);
	model_ok(model_load(path, &a));
	model_ok(model_load(path, &b));
	ck_assert_uint_eq(a.digest, b.digest);
	model_drop(&b);
	/* What the model does not keep is not part of it. */
	elements[ELEMENTS - 1] = -1;
	write_file(7, ELEMENTS, 0);
	model_ok(model_load(path, &b));
	ck_assert_uint_eq(a.digest, b.digest);
	model_drop(&b);
	elements[ELEMENTS - 13] = -1;
	write_file(7, ELEMENTS, 0);
	model_ok(model_load(path, &b));
	ck_assert_uint_ne(a.digest, b.digest);
	model_drop(&b);
	model_drop(&a);
}
END_TEST

/* ---- bad files ---- */

static void refused(const char *text)
{
	struct model m = { .head_size = 77 };

	model_refused(model_load(path, &m), -EINVAL, text);
	ck_assert_ptr_nonnull(strstr(model_error(), path));
	ck_assert_uint_eq(m.head_size, 77);
}

START_TEST(test_no_file)
{
	struct model m = { .head_size = 77 };

	unlink(path);
	model_refused(model_load(path, &m), -ENOENT, "No such file");
	ck_assert_uint_eq(m.head_size, 77);
}
END_TEST

START_TEST(test_short_header)
{
	write_file(0, 0, 0);
	refused("header: 0 bytes: expected 28");
	write_file(6, 0, 3);
	refused("header: 27 bytes: expected 28");
}
END_TEST

static const struct {
	uint32_t at;
	int32_t value;
	const char *text;
} bad_headers[] = {
	{ 0, 0, "dim 0: expected 1 to 1048576" },
	{ 0, -8, "dim -8: expected 1 to 1048576" },
	{ 0, 10, "dim 10: expected a multiple of 2 * 2 heads" },
	{ 0, 1048576, "dim 1048576: expected up to 65535 elements in each of 2 heads" },
	{ 1, 0, "hidden 0: expected 1 to 1048576" },
	{ 1, 1048577, "hidden 1048577: expected 1 to 1048576" },
	{ 2, 0, "layers 0: expected 1 to 1024" },
	{ 2, 1025, "layers 1025: expected 1 to 1024" },
	{ 3, 0, "heads 0: expected 1 to 65535" },
	{ 3, 65536, "heads 65536: expected 1 to 65535" },
	{ 4, 0, "KV heads 0: expected 1 to 2" },
	{ 4, 3, "KV heads 3: expected 1 to 2" },
	{ 5, 0, "vocabulary 0: expected 1 to 1048576" },
	{ 5, INT32_MIN, "vocabulary -2147483648: expected 1 to 1048576" },
	{ 6, 0, "context 0: expected 1 to 1048576" },
	{ 6, -3, "context -3: expected 1 to 1048576" },
};

START_TEST(test_bad_headers)
{
	header[bad_headers[_i].at] = bad_headers[_i].value;
	write_file(7, ELEMENTS, 0);
	refused(bad_headers[_i].text);
}
END_TEST

START_TEST(test_kv_heads_that_do_not_divide)
{
	header[0] = 32;
	header[3] = 8;
	header[4] = 3;
	write_file(7, ELEMENTS, 0);
	refused("KV heads 3: expected a divisor of 8 heads");
}
END_TEST

START_TEST(test_sizes_must_fit)
{
	write_file(7, ELEMENTS, 1);
	refused("3085 bytes: expected 3084 by its header");
	write_file(7, ELEMENTS - 1, 3);
	refused("3083 bytes: expected 3084 by its header");
	write_file(7, 0, 0);
	refused("28 bytes: expected 3084 by its header");
	/* The largest sizes are added up without wrapping. */
	header[0] = 1 << 20;
	header[1] = 1 << 20;
	header[2] = 1024;
	header[3] = 32;
	header[5] = 1 << 20;
	header[6] = 1 << 20;
	write_file(7, ELEMENTS, 0);
	refused("3084 bytes: expected 22804017193156636 by its header");
}
END_TEST

START_TEST(test_weights_must_be_numbers)
{
	elements[190] = NAN;
	write_file(7, ELEMENTS, 0);
	refused("wk: element 6 is nan: expected a number");
	elements[190] = 0;
	elements[744] = -INFINITY;
	write_file(7, ELEMENTS, 0);
	refused("final norm: element 0 is -inf: expected a number");
}
END_TEST

/* ---- from a seed ---- */

START_TEST(test_seeds)
{
	const struct model_config config = {
		.dim = 8, .hidden = 6, .n_layers = 2, .n_heads = 2, .n_kv_heads = 1, .vocab = 5,
		.max_tokens = 3,
	};
	struct model a, b, c;
	uint32_t i;

	model_ok(model_synthetic(&config, 1, &a));
	model_ok(model_synthetic(&config, 1, &b));
	model_ok(model_synthetic(&config, 2, &c));
	ck_assert_uint_eq(a.digest, b.digest);
	ck_assert_mem_eq(a.memory, b.memory, sizeof(float) * (ELEMENTS - 12));
	ck_assert_uint_ne(a.digest, c.digest);
	for (i = 0; i < 8; i++)
		ck_assert(a.norm_final[i] > 0.7f && a.norm_final[i] < 1.3f);
	/* On every machine. */
	ck_assert_uint_eq(a.digest, 0x3cb4f498f3de4c96ULL);
	model_drop(&a);
	model_drop(&b);
	model_drop(&c);
}
END_TEST

START_TEST(test_seeds_of_bad_sizes)
{
	struct model_config config = {
		.dim = 8, .hidden = 6, .n_layers = 2, .n_heads = 2, .n_kv_heads = 1, .vocab = 5,
	};
	struct model m = { .head_size = 77 };

	model_refused(model_synthetic(&config, 1, &m), -EINVAL,
		      "synthetic: context 0: expected 1 to 1048576");
	ck_assert_uint_eq(m.head_size, 77);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("model_file");
	TCase *tc = tcase_create("file");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_each_array_is_found);
	tcase_add_test(tc, test_own_classifier);
	tcase_add_test(tc, test_digests);
	tcase_add_test(tc, test_no_file);
	tcase_add_test(tc, test_short_header);
	tcase_add_loop_test(tc, test_bad_headers, 0, sizeof(bad_headers) / sizeof(*bad_headers));
	tcase_add_test(tc, test_kv_heads_that_do_not_divide);
	tcase_add_test(tc, test_sizes_must_fit);
	tcase_add_test(tc, test_weights_must_be_numbers);
	tcase_add_test(tc, test_seeds);
	tcase_add_test(tc, test_seeds_of_bad_sizes);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

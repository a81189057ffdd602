// SPDX-License-Identifier: MIT
/*
 * Trained weights, for those who have the file: the sizes in its header, and the greedy
 * continuation of the first token, as tests/data/make_model_ids works it out in double
 * precision without a line of this program.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pools.h"
#include "models.h"

static const uint32_t greedy[] = {
	461, 461, 401, 401, 401, 461, 378, 455, 473, 456, 435, 299, 362, 409, 283, 264,
	283, 452, 288, 13, 431, 431, 431, 431, 431, 431, 431, 431, 431, 431, 431, 431,
	431, 293, 430, 417, 363, 416, 315, 342, 418, 424, 400, 442, 402, 303, 266, 299,
	374, 466, 396, 303, 271, 362, 390, 469, 306, 469, 423, 314,
};

#define NR	(sizeof(greedy) / sizeof(*greedy))

START_TEST(test_sizes)
{
	const struct model *m = &models[MODELS_TRAINED];

	ck_assert_uint_eq(m->config.dim, 64);
	ck_assert_uint_eq(m->config.hidden, 172);
	ck_assert_uint_eq(m->config.n_layers, 5);
	ck_assert_uint_eq(m->config.n_heads, 8);
	ck_assert_uint_eq(m->config.n_kv_heads, 4);
	ck_assert_uint_eq(m->config.vocab, 512);
	ck_assert_uint_eq(m->config.max_tokens, 512);
	ck_assert(!m->config.own_classifier);
}
END_TEST

START_TEST(test_greedy_continuation)
{
	static const uint32_t first = 1;
	uint32_t text[NR], i;
	float logits[512];
	struct engine_seq seq;
	struct engine engine;

	models_engine(&engine, &models[MODELS_TRAINED], 16, NULL);
	model_ok(engine_create(&engine, NULL, 0, 0, &seq));
	model_ok(engine_forward(&engine, &seq, &first, 1, logits));
	model_ok(engine_generate(&engine, &seq, 0, logits, text, NR));
	for (i = 0; i < NR; i++)
		ck_assert_uint_eq(text[i], greedy[i]);
	model_ok(engine_free(&engine, &seq));
	models_close(&engine);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("model_stories");
	TCase *tc = tcase_create("stories");

	tcase_add_test(tc, test_sizes);
	tcase_add_test(tc, test_greedy_continuation);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	int failed;

	if (!models_have_stories()) {
		printf("%s is not there: skipped\n", MODELS_STORIES);
		return 77;
	}
	models_make();
	failed = kvpr_run(suite());
	models_drop();
	return failed;
}

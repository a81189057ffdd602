// SPDX-License-Identifier: MIT
/*
 * The transformer on a pool equals the transformer on plain arrays, bit for bit: logits of every
 * token, and all rows; whatever the size of a block, the table, the layout, and how the tokens were
 * cut into steps. And a wrong row is noticed.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pools.h"
#include "contiguous.h"
#include "models.h"
#include "pass.h"

#define NR	140		/* tokens: with 64 a block these are three blocks */
#define SHORT	45

static struct contiguous expected[MODELS_NR];
static float *expected_logits[MODELS_NR];
static uint32_t ids[MODELS_NR][NR];

static void make_expected(int which)
{
	const struct model *model = &models[which];
	uint32_t vocab = model->config.vocab, i;

	models_ids(model, 9, ids[which], NR);
	expected_logits[which] = malloc(sizeof(float) * NR * vocab);
	contiguous_begin(&expected[which], model);
	for (i = 0; i < NR; i++)
		contiguous_tokens(&expected[which], &ids[which][i], 1,
				  expected_logits[which] + (uint64_t)i * vocab);
}

static void drop_expected(int which)
{
	contiguous_end(&expected[which]);
	free(expected_logits[which]);
}

/* ---- what is compared ---- */

static void expect_rows(struct engine *engine, const struct engine_seq *seq, int which)
{
	struct contiguous *c = &expected[which];
	uint32_t kv = models[which].kv_dim, layers = models[which].config.n_layers, plane, i, l;
	float *const planes[] = { [ENGINE_K] = c->k, [ENGINE_V] = c->v, [ENGINE_KRAW] = c->raw };
	float *rows = malloc(sizeof(float) * seq->computed * layers * kv), *at;

	for (plane = 0; plane < ENGINE_NR_PLANES; plane++) {
		model_ok(engine_read(engine, seq, plane, 0, seq->computed, rows));
		for (at = rows, i = 0; i < seq->computed; i++)
			for (l = 0; l < layers; l++, at += kv)
				model_same_bits(at, contiguous_row(c, planes[plane], l, i), kv);
	}
	free(rows);
}

/* The first @nr tokens in steps of which no one is longer than @longest. */
static void run_in_steps(struct engine *engine, struct engine_seq *seq, int which, uint32_t nr,
			 uint32_t longest)
{
	uint32_t vocab = models[which].config.vocab;
	float *logits = malloc(sizeof(float) * nr * vocab);
	struct engine_step step = { .all = true };
	__u64 random = longest;

	model_ok(engine_create(engine, ids[which], nr, KVP_SEQ_NO_MATCH, seq));
	while (seq->computed < nr) {
		step.nr = longest >= nr ? nr : 1 + kvpt_below(&random, longest);
		if (step.nr > nr - seq->computed)
			step.nr = nr - seq->computed;
		model_ok(engine_compute(engine, seq, &step,
					logits + (uint64_t)seq->computed * vocab));
	}
	model_same_bits(logits, expected_logits[which], (uint64_t)nr * vocab);
	free(logits);
}

static void expect_shuffled(struct engine *engine, const struct engine_seq *seq)
{
	uint64_t blocks[NR];
	uint32_t nr = NR, falls = 0, i;

	kvpr_ok(kvp_seq_table(engine->pool, seq->id, 0, 0, blocks, &nr));
	for (i = 1; i < nr; i++)
		falls += KVP_BLOCK_INDEX(blocks[i]) < KVP_BLOCK_INDEX(blocks[i - 1]);
	ck_assert_uint_gt(falls, 0);
}

/* ---- tests ---- */

static const uint32_t block_sizes[] = { 1, 4, 16, 17, 64 };
#define NR_SIZES	5

START_TEST(test_equals_contiguous)
{
	int which = _i / NR_SIZES;
	struct engine_seq seq;
	struct engine engine;

	models_engine(&engine, &models[which], block_sizes[_i % NR_SIZES], NULL);
	run_in_steps(&engine, &seq, which, NR, NR);
	expect_shuffled(&engine, &seq);
	expect_rows(&engine, &seq, which);
	model_ok(engine_free(&engine, &seq));
	run_in_steps(&engine, &seq, which, NR, 37);
	expect_rows(&engine, &seq, which);
	model_ok(engine_free(&engine, &seq));
	run_in_steps(&engine, &seq, which, SHORT, 1);
	expect_rows(&engine, &seq, which);
	model_ok(engine_free(&engine, &seq));
	models_close(&engine);
}
END_TEST

static const char *const layouts[] = {
	"BNPLHD", "BPLHND", "LHBPND", "BPLHDN", "DPLBNH", "NPLBHD",
};

START_TEST(test_layouts)
{
	struct engine_seq seq;
	struct engine engine;

	models_engine(&engine, &models[MODELS_TIED], 4, layouts[_i]);
	run_in_steps(&engine, &seq, MODELS_TIED, SHORT, 7);
	expect_rows(&engine, &seq, MODELS_TIED);
	model_ok(engine_free(&engine, &seq));
	models_close(&engine);
}
END_TEST

/* Tokens that are appended while others are computed: the table grows, and changes. */
START_TEST(test_decoding)
{
	struct engine_seq seq, other;
	struct engine engine;
	float *logits;
	uint32_t i;

	models_engine(&engine, &models[_i], 4, NULL);
	logits = malloc(sizeof(float) * models[_i].config.vocab);
	model_ok(engine_create(&engine, ids[_i], 3, KVP_SEQ_NO_MATCH, &seq));
	model_ok(engine_create(&engine, NULL, 0, KVP_SEQ_NO_MATCH, &other));
	for (i = 3; i < SHORT; i++) {
		model_ok(engine_forward(&engine, &other, &ids[_i][NR - i], 1, logits));
		model_ok(engine_forward(&engine, &seq, &ids[_i][i], 1, logits));
		model_same_bits(logits, expected_logits[_i] + i * models[_i].config.vocab,
				models[_i].config.vocab);
	}
	expect_rows(&engine, &seq, _i);
	model_ok(engine_free(&engine, &other));
	model_ok(engine_free(&engine, &seq));
	free(logits);
	models_close(&engine);
}
END_TEST

/* Pieces of the sequence at positions of their own, and segments that do not see each other. */
START_TEST(test_positions_and_segments)
{
	static const struct { uint32_t nr, position, segment, root; } pieces[] = {
		{ 9, 0, 0, 0 }, { 7, 40, 0, 0 }, { 6, 47, 1, 16 }, { 5, 47, 2, 16 },
		{ 3, 53, 1, 16 }, { 4, 100, 3, 5 }, { 8, 60, 0, 0 },
	};
	const struct model *model = &models[_i];
	uint32_t vocab = model->config.vocab, positions[16], at = 0, p, i;
	float *logits = malloc(sizeof(float) * 2 * vocab);
	struct engine_seq seq;
	struct contiguous c;
	struct engine engine;

	models_engine(&engine, model, 4, NULL);
	contiguous_begin(&c, model);
	model_ok(engine_create(&engine, ids[_i], 42, KVP_SEQ_NO_MATCH, &seq));
	for (p = 0; p < 7; p++) {
		struct engine_step step = {
			.nr = pieces[p].nr, .segment = pieces[p].segment, .root = pieces[p].root,
			.positions = p % 2 ? positions : NULL,
			.offset = (int32_t)pieces[p].position - (int32_t)at,
		};

		for (i = 0; i < pieces[p].nr; i++, at++) {
			positions[i] = pieces[p].position + i;
			contiguous_token(&c, ids[_i][at], positions[i], pieces[p].segment,
					 pieces[p].root, logits);
		}
		model_ok(engine_compute(&engine, &seq, &step, logits + vocab));
		model_same_bits(logits + vocab, logits, vocab);
	}
	ck_assert_uint_eq(at, seq.computed);
	contiguous_end(&c);
	model_ok(engine_free(&engine, &seq));
	free(logits);
	models_close(&engine);
}
END_TEST

/* ---- what must be noticed ---- */

static double largest_difference(const float *a, const float *b, uint32_t nr)
{
	double max = 0;
	uint32_t i;

	for (i = 0; i < nr; i++)
		max = fmax(max, fabs((double)a[i] - (double)b[i]));
	return max;
}

/*
 * Attention adds up, so rows in another order give nearly the same: only bits can tell. Rows of
 * other tokens give something else.
 */
START_TEST(test_a_wrong_table_is_noticed)
{
	const struct model *model = &models[_i];
	uint32_t vocab = model->config.vocab, nr = 10;
	const float *right = expected_logits[_i] + (uint64_t)37 * vocab;
	float *logits = malloc(sizeof(float) * vocab);
	struct engine_seq seq, other;
	uint64_t blocks[10], block;
	struct engine engine;
	struct pass pass;

	models_engine(&engine, model, 4, NULL);
	model_ok(engine_create(&engine, ids[_i], 38, KVP_SEQ_NO_MATCH, &seq));
	model_ok(engine_create(&engine, ids[_i] + 50, 38, KVP_SEQ_NO_MATCH, &other));
	model_ok(engine_compute(&engine, &seq, &(struct engine_step){ .nr = 37 }, NULL));
	model_ok(engine_compute(&engine, &other, &(struct engine_step){ .nr = 37 }, NULL));
	kvpr_ok(kvp_seq_table(engine.pool, seq.id, 0, 0, blocks, &nr));
	ck_assert_uint_eq(nr, 10);
	pass = (struct pass){ .engine = &engine, .token = seq.token, .blocks = blocks, .first = 37,
			      .nr = 1 };
	model_ok(pass_run(&pass, false, logits));
	model_same_bits(logits, right, vocab);

	block = blocks[1];
	blocks[1] = blocks[4];
	blocks[4] = block;
	model_ok(pass_run(&pass, false, logits));
	ck_assert_mem_ne(logits, right, vocab * sizeof(float));
	ck_assert(largest_difference(logits, right, vocab) < 1e-3);

	blocks[4] = blocks[1];
	blocks[1] = kvpr_block(engine.pool, other.id, 0, 1);
	model_ok(pass_run(&pass, false, logits));
	ck_assert(largest_difference(logits, right, vocab) > 1e-2);
	free(logits);
	model_ok(engine_free(&engine, &other));
	model_ok(engine_free(&engine, &seq));
	models_close(&engine);
}
END_TEST

/* A model that did not care where its tokens stand would prove nothing about positions. */
START_TEST(test_positions_matter)
{
	const struct model *model = &models[_i];
	uint32_t vocab = model->config.vocab;
	float *logits = malloc(sizeof(float) * vocab);
	struct engine_seq seq;
	struct engine engine;

	models_engine(&engine, model, 16, NULL);
	model_ok(engine_create(&engine, ids[_i], 38, KVP_SEQ_NO_MATCH, &seq));
	model_ok(engine_compute(&engine, &seq, &(struct engine_step){ .nr = 20 }, NULL));
	model_ok(engine_compute(&engine, &seq, &(struct engine_step){ .nr = 18, .offset = 3 },
				logits));
	ck_assert(largest_difference(logits, expected_logits[_i] + 37 * vocab, vocab) > 1e-2);
	free(logits);
	model_ok(engine_free(&engine, &seq));
	models_close(&engine);
}
END_TEST

static Suite *suite(int nr)
{
	Suite *s = suite_create("model_forward");
	TCase *tc = tcase_create("forward");

	tcase_add_loop_test(tc, test_equals_contiguous, 0, nr * NR_SIZES);
	tcase_add_loop_test(tc, test_layouts, 0, sizeof(layouts) / sizeof(*layouts));
	tcase_add_loop_test(tc, test_decoding, 0, nr);
	tcase_add_loop_test(tc, test_positions_and_segments, 0, nr);
	tcase_add_loop_test(tc, test_a_wrong_table_is_noticed, 0, nr);
	tcase_add_loop_test(tc, test_positions_matter, 0, nr);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	int nr = models_make(), i, failed;

	for (i = 0; i < nr; i++)
		make_expected(i);
	failed = kvpr_run(suite(nr));
	for (i = 0; i < nr; i++)
		drop_expected(i);
	models_drop();
	return failed;
}

// SPDX-License-Identifier: MIT
/*
 * What the engine does with a pool beside computing: prefixes that another client has computed,
 * forks that go their own ways, truncated sequences, greedy text. The logits are those of the
 * transformer on plain arrays each time. And what the engine refuses.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pools.h"
#include "contiguous.h"
#include "models.h"

#define NR	60

static const struct model *model;
static struct engine engine;
static uint32_t ids[NR];
static float *logits, *expected;

static void begin_with(int which, uint32_t block_tokens)
{
	model = &models[which];
	models_ids(model, 17, ids, NR);
	logits = malloc(sizeof(float) * model->config.vocab);
	expected = malloc(sizeof(float) * model->config.vocab);
	models_engine(&engine, model, block_tokens, NULL);
}

static void begin(int which)
{
	begin_with(which, 4);
}

static void end(void)
{
	free(logits);
	free(expected);
	models_close(&engine);
}

/* @logits are those of the last of these tokens, in a sequence of their own. */
static void expect_logits_of(const uint32_t *tokens, uint32_t nr)
{
	struct contiguous c;

	contiguous_begin(&c, model);
	contiguous_tokens(&c, tokens, nr, expected);
	model_same_bits(logits, expected, model->config.vocab);
	contiguous_end(&c);
}

/* All of @tokens, of which so many are published. */
static void compute(struct engine *e, const uint32_t *tokens, uint32_t nr, uint32_t flags,
		    uint32_t matched, struct engine_seq *seq)
{
	struct engine_step step = { 0 };

	model_ok(engine_create(e, tokens, nr, flags, seq));
	ck_assert_uint_eq(seq->computed, matched);
	step.nr = nr - matched;
	model_ok(engine_compute(e, seq, &step, logits));
}

/* ---- sharing ---- */

START_TEST(test_another_client_takes_the_prefix)
{
	struct engine_seq seq, other;
	struct engine second;
	uint64_t published;

	begin(_i);
	models_join(&second, &engine, NULL);
	ck_assert_uint_ne(second.memory.base, engine.memory.base);
	compute(&engine, ids, 30, 0, 0, &seq);
	model_ok(engine_publish(&engine, &seq, &published));
	ck_assert_uint_eq(published, 28);
	compute(&second, ids, NR, 0, 28, &other);
	ck_assert_uint_eq(kvpr_block(second.pool, other.id, 0, 3),
			  kvpr_block(engine.pool, seq.id, 0, 3));
	expect_logits_of(ids, NR);
	/* The first one may go: what it has published stays. */
	model_ok(engine_free(&engine, &seq));
	model_ok(engine_forward(&second, &other, &ids[5], 1, logits));
	ids[NR - 1] = ids[5];
	compute(&engine, ids, 29, 0, 28, &seq);
	expect_logits_of(ids, 29);
	model_ok(engine_free(&engine, &seq));
	model_ok(engine_free(&second, &other));
	engine_close(&second);
	end();
}
END_TEST

/* One token is left to be computed, for its logits, also where all are published. */
START_TEST(test_the_last_token_is_computed)
{
	struct engine_seq seq, other;

	begin_with(MODELS_TIED, 1);
	compute(&engine, ids, 3, 0, 0, &seq);
	model_ok(engine_publish(&engine, &seq, NULL));
	compute(&engine, ids, 3, 0, 2, &other);
	expect_logits_of(ids, 3);
	model_ok(engine_free(&engine, &other));
	compute(&engine, ids, 1, 0, 0, &other);
	expect_logits_of(ids, 1);
	model_ok(engine_free(&engine, &other));
	model_ok(engine_free(&engine, &seq));
	end();
}
END_TEST

/* Rows of another model, or in another layout, are nobody else's. */
START_TEST(test_other_rows_are_not_taken)
{
	struct engine_options options = { .pool = "inproc:model", .block_tokens = 4,
					  .layout = "BNPLHD" };
	struct model other;
	struct engine_seq seq, second_seq;
	struct engine second;
	uint64_t matched;

	begin(MODELS_TIED);
	compute(&engine, ids, 12, 0, 0, &seq);
	model_ok(engine_publish(&engine, &seq, NULL));
	model_ok(engine_open(&second, model, &options));
	compute(&second, ids, 12, 0, 0, &second_seq);
	model_ok(engine_free(&second, &second_seq));
	engine_close(&second);

	model_ok(model_synthetic(&model->config, 77, &other));
	options.layout = NULL;
	model_ok(engine_open(&second, &other, &options));
	kvpr_ok(kvp_match(second.pool, &(struct kvp_prompt){ .space = second.space, .tokens = ids,
							      .nr_tokens = 12 }, &matched));
	ck_assert_uint_eq(matched, 0);
	engine_close(&second);
	model_drop(&other);
	model_ok(engine_free(&engine, &seq));
	end();
}
END_TEST

START_TEST(test_forks_go_their_own_ways)
{
	struct engine_seq seq, child;
	uint32_t own[NR];

	begin(_i);
	compute(&engine, ids, 22, KVP_SEQ_NO_MATCH, 0, &seq);
	model_ok(engine_fork(&engine, &seq, 19, &child));
	ck_assert_uint_eq(child.nr, 19);
	memcpy(own, ids, sizeof(own));
	own[19] = ids[40];
	own[20] = ids[41];
	model_ok(engine_forward(&engine, &child, own + 19, 2, logits));
	expect_logits_of(own, 21);
	model_ok(engine_forward(&engine, &seq, ids + 22, 3, logits));
	expect_logits_of(ids, 25);
	model_ok(engine_forward(&engine, &child, ids + 50, 1, logits));
	own[21] = ids[50];
	expect_logits_of(own, 22);
	model_ok(engine_free(&engine, &seq));
	model_ok(engine_forward(&engine, &child, ids + 51, 1, logits));
	own[22] = ids[51];
	expect_logits_of(own, 23);
	model_ok(engine_free(&engine, &child));
	end();
}
END_TEST

START_TEST(test_truncated)
{
	struct engine_seq seq;
	uint32_t own[NR];

	begin(_i);
	compute(&engine, ids, 22, KVP_SEQ_NO_MATCH, 0, &seq);
	model_ok(engine_truncate(&engine, &seq, 9));
	memcpy(own, ids, sizeof(own));
	memcpy(own + 9, ids + 30, 7 * sizeof(*own));
	model_ok(engine_forward(&engine, &seq, own + 9, 7, logits));
	expect_logits_of(own, 16);
	model_ok(engine_free(&engine, &seq));
	end();
}
END_TEST

START_TEST(test_greedy_text)
{
	uint32_t text[20], own[NR], i;
	struct engine_seq seq;
	struct contiguous c;

	begin(_i);
	compute(&engine, ids, 10, KVP_SEQ_NO_MATCH, 0, &seq);
	model_ok(engine_generate(&engine, &seq, 0, logits, text, 20));
	contiguous_begin(&c, model);
	contiguous_tokens(&c, ids, 10, expected);
	for (i = 0; i < 20; i++) {
		own[i] = model_greedy(expected, model->config.vocab);
		contiguous_tokens(&c, &own[i], 1, expected);
	}
	ck_assert_mem_eq(text, own, 20 * sizeof(*own));
	model_same_bits(logits, expected, model->config.vocab);
	contiguous_end(&c);
	model_ok(engine_free(&engine, &seq));
	end();
}
END_TEST

/* ---- what is noted of tokens ---- */

static void expect_token(const struct engine_seq *seq, uint32_t at, uint32_t was, uint32_t position,
			 uint32_t segment, uint32_t root)
{
	ck_assert_uint_eq(seq->token[at].id, ids[was]);
	ck_assert_uint_eq(seq->token[at].position, position);
	ck_assert_uint_eq(seq->token[at].segment, segment);
	ck_assert_uint_eq(seq->token[at].root, root);
}

/* 8 tokens of a root, 4 of a segment that sees 6 of them, 4 that see all, 2 not yet computed. */
START_TEST(test_notes_of_what_is_removed)
{
	struct engine_step step = { .nr = 4, .segment = 3, .root = 6, .offset = 20 };
	struct engine_seq seq, notes;

	begin(MODELS_TIED);
	model_ok(engine_create(&engine, ids, 18, KVP_SEQ_NO_MATCH, &seq));
	model_ok(engine_compute(&engine, &seq, &(struct engine_step){ .nr = 8 }, NULL));
	model_ok(engine_compute(&engine, &seq, &step, NULL));
	model_ok(engine_compute(&engine, &seq, &(struct engine_step){ .nr = 4 }, NULL));
	notes = seq;
	/* A part of the root, and its end. */
	engine_removed(&notes, 4, 7, false);
	ck_assert_uint_eq(notes.nr, 15);
	ck_assert_uint_eq(notes.computed, 13);
	expect_token(&notes, 3, 3, 3, 0, 0);
	expect_token(&notes, 4, 7, 7, 0, 0);
	expect_token(&notes, 5, 8, 28, 3, 4);
	expect_token(&notes, 9, 12, 12, 0, 0);
	/* All of it before the segment but for two, and they close up. */
	engine_removed(&notes, 1, 3, true);
	expect_token(&notes, 0, 0, 0, 0, 0);
	expect_token(&notes, 1, 3, 1, 0, 0);
	expect_token(&notes, 3, 8, 3, 3, 2);
	expect_token(&notes, 12, 17, 12, 0, 0);
	/* Nothing follows. */
	engine_removed(&notes, 11, 13, true);
	ck_assert_uint_eq(notes.nr, 11);
	ck_assert_uint_eq(notes.computed, 11);
	expect_token(&notes, 10, 15, 10, 0, 0);
	model_ok(engine_free(&engine, &seq));
	end();
}
END_TEST

/* ---- what the engine refuses ---- */

static void expect_unchanged(const struct engine_seq *seq, uint32_t nr, uint32_t computed)
{
	ck_assert_uint_eq(seq->nr, nr);
	ck_assert_uint_eq(seq->computed, computed);
	kvpr_expect_lengths(engine.pool, seq->id, nr, computed, nr, 0);
}

START_TEST(test_wrong_steps)
{
	uint32_t bad = 97, positions[4] = { 3, 4, 5, 512 };
	struct engine_step step = { 0 };
	struct engine_seq seq;

	begin(MODELS_TIED);
	model_ok(engine_create(&engine, ids, 12, KVP_SEQ_NO_MATCH, &seq));
	model_refused(engine_compute(&engine, &seq, &step, logits), -EINVAL,
		      "step of 0 tokens: expected 1 to 12");
	step.nr = 13;
	model_refused(engine_compute(&engine, &seq, &step, logits), -EINVAL,
		      "step of 13 tokens: expected 1 to 12");
	step.nr = 4;
	step.positions = positions;
	model_refused(engine_compute(&engine, &seq, &step, logits), -EINVAL,
		      "token 3: position 512: expected one below 512");
	step.positions = NULL;
	step.offset = -1;
	model_refused(engine_compute(&engine, &seq, &step, logits), -EINVAL,
		      "token 0: position -1: expected one below 512");
	step.offset = 0;
	step.segment = 1;
	step.root = 1;
	model_refused(engine_compute(&engine, &seq, &step, logits), -EINVAL,
		      "root of 1 tokens: expected at most 0");
	step.root = 0;
	model_ok(engine_compute(&engine, &seq, &step, logits));
	step.root = 2;
	model_refused(engine_compute(&engine, &seq, &step, logits), -EINVAL,
		      "root of 2 tokens: token 0 is of segment 1");
	step.segment = 0;
	model_refused(engine_compute(&engine, &seq, &step, logits), -EINVAL,
		      "root of 2 tokens: expected at most 0");
	model_refused(engine_append(&engine, &seq, &bad, 1), -EINVAL,
		      "token 0: id 97: expected one below 97");
	model_refused(engine_read(&engine, &seq, ENGINE_K, 1, 4, logits), -EINVAL,
		      "rows of 4 tokens from 1 on: expected an end of at most 4");
	expect_unchanged(&seq, 12, 4);
	model_ok(engine_free(&engine, &seq));
	end();
}
END_TEST

/* What the pool refuses is told in the pool's words. */
START_TEST(test_no_room)
{
	const struct engine_options options = { .pool = "inproc:small", .block_tokens = 4,
						.blocks = 3 };
	struct engine small;
	struct engine_seq seq;

	model_ok(engine_open(&small, &models[MODELS_TIED], &options));
	models_ids(&models[MODELS_TIED], 17, ids, NR);
	model_ok(engine_create(&small, ids, 12, KVP_SEQ_NO_MATCH, &seq));
	model_refused(engine_append(&small, &seq, ids, 1), -EFBIG, kvp_error()->text);
	ck_assert_uint_eq(seq.nr, 12);
	model_ok(engine_free(&small, &seq));
	models_close(&small);
}
END_TEST

START_TEST(test_wrong_options)
{
	struct engine_options options = { .pool = "inproc:wrong", .layout = "PLBNH" };
	struct engine wrong = { .block_tokens = 77 };

	model_refused(engine_open(&wrong, &models[MODELS_TIED], &options), -EINVAL,
		      "layout \"PLBNH\": expected 6 letters");
	options.layout = "PLBNHH";
	model_refused(engine_open(&wrong, &models[MODELS_TIED], &options), -EINVAL,
		      "layout \"PLBNHH\": H: expected each of PLBNHD once");
	options.layout = "PLBNHX";
	model_refused(engine_open(&wrong, &models[MODELS_TIED], &options), -EINVAL,
		      "layout \"PLBNHX\": X: expected each of PLBNHD once");
	options.layout = NULL;
	options.pool = "nosuch:wrong";
	model_refused(engine_open(&wrong, &models[MODELS_TIED], &options), -EINVAL, "nosuch");
	ck_assert_uint_eq(wrong.block_tokens, 77);
}
END_TEST

static Suite *suite(int nr)
{
	Suite *s = suite_create("model_share");
	TCase *tc = tcase_create("share");

	tcase_add_loop_test(tc, test_another_client_takes_the_prefix, 0, nr);
	tcase_add_test(tc, test_the_last_token_is_computed);
	tcase_add_test(tc, test_other_rows_are_not_taken);
	tcase_add_loop_test(tc, test_forks_go_their_own_ways, 0, nr);
	tcase_add_loop_test(tc, test_truncated, 0, nr);
	tcase_add_loop_test(tc, test_greedy_text, 0, nr);
	tcase_add_test(tc, test_notes_of_what_is_removed);
	tcase_add_test(tc, test_wrong_steps);
	tcase_add_test(tc, test_no_room);
	tcase_add_test(tc, test_wrong_options);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	int nr = models_make(), failed;

	failed = kvpr_run(suite(nr));
	models_drop();
	return failed;
}

// SPDX-License-Identifier: MIT
/*
 * What the eviction of a span leaves behind, on the model: which runs are bit-equal to one that
 * never had the span, and which are not and must not be called so. Spans are taken out by
 * kvp_seq_evict(); row by row, K being rotated again from KRAW; and by the arrays of
 * contiguous.h: all three give the same bits.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pools.h"
#include "contiguous.h"
#include "models.h"
#include "runs.h"

#define NR_PREFIX	13
#define NR_SPAN		10
#define NR_KEPT		14
#define NR_SUFFIX	5
#define NR_TEXT		12
#define NR_ALL		(NR_PREFIX + NR_SPAN + NR_KEPT + NR_SUFFIX)

/* Less than this is what the order of sums can do, more is another result. */
#define VISIBLE		1e-3f

static const struct model *model;
static struct engine engine;
static uint32_t ids[NR_ALL];
static struct run_story story;

enum way { BY_ROWS, BY_POOL, NR_WAYS };

static void begin(int which)
{
	model = &models[which];
	models_ids(model, 31, ids, NR_ALL);
	ids[0] = 1;
	story = (struct run_story){
		.prefix = { ids, NR_PREFIX },
		.span = { ids + NR_PREFIX, NR_SPAN },
		.kept = { ids + NR_PREFIX + NR_SPAN, NR_KEPT },
		.suffix = { ids + NR_ALL - NR_SUFFIX, NR_SUFFIX },
		.nr_text = NR_TEXT,
	};
	models_engine(&engine, model, 4, NULL);
}

static void end(void)
{
	models_close(&engine);
}

/* ---- a span leaves ---- */

/* K of a row of all planes, anew from its KRAW. */
static void rotate_row(float *row, uint32_t position)
{
	uint32_t plane = model->config.n_layers * model->kv_dim, l;

	for (l = 0; l < model->config.n_layers; l++) {
		const struct kvp_rope_row k = {
			.rope = &engine.geometry.rope[0],
			.raw = row + ENGINE_KRAW * plane + l * model->kv_dim,
			.k = row + ENGINE_K * plane + l * model->kv_dim,
			.n_heads = model->config.n_kv_heads, .n_elems = model->head_size,
			.raw_dtype = KVP_DTYPE_F32, .k_dtype = KVP_DTYPE_F32,
		};

		kvpr_ok(kvp_rope_rotate(&k, &position));
	}
}

/* The run goes on with another sequence, whose rows are those of the old one without the span's. */
static void evict_by_rows(struct run *run, bool reposition)
{
	uint32_t plane = model->config.n_layers * model->kv_dim, row = ENGINE_NR_PLANES * plane, i;
	uint32_t rest = run->seq.nr - NR_PREFIX - NR_SPAN, nr = NR_PREFIX + rest, tokens[NR_ALL];
	const struct kvp_prompt prompt = { .space = engine.space, .tokens = tokens, .nr_tokens = nr };
	float *rows = malloc(sizeof(float) * nr * row);
	kvp_seq_t old = run->seq.id;

	kvpr_ok(kvp_rows_read(engine.pool, old, 0, 0, NR_PREFIX, rows));
	if (rest)
		kvpr_ok(kvp_rows_read(engine.pool, old, 0, NR_PREFIX + NR_SPAN, rest,
				      rows + NR_PREFIX * row));
	engine_removed(&run->seq, NR_PREFIX, NR_PREFIX + NR_SPAN, reposition);
	for (i = 0; i < nr; i++) {
		tokens[i] = run->seq.token[i].id;
		if (i >= NR_PREFIX && reposition)
			rotate_row(rows + i * row, i);
	}
	kvpr_ok(kvp_seq_create(engine.pool, &prompt, KVP_SEQ_NO_MATCH, 0, &run->seq.id, NULL));
	kvpr_ok(kvp_rows_write(engine.pool, run->seq.id, 0, 0, nr, rows));
	kvpr_ok(kvp_seq_advance(engine.pool, run->seq.id, nr));
	kvpr_ok(kvp_seq_free(engine.pool, old));
	free(rows);
}

/* The pool is not told of segments: to it, all behind the span had attended. */
static void evict_by_pool(struct run *run, bool reposition)
{
	uint32_t rest = run->seq.nr - NR_PREFIX - NR_SPAN;
	struct kvp_remapped done;

	kvpr_ok(kvp_seq_evict(engine.pool, run->seq.id, NR_PREFIX, NR_PREFIX + NR_SPAN,
			      reposition ? 0 : KVP_EVICT_GAP, 2, &done));
	ck_assert_uint_eq(done.guarantee, rest ? KVP_REPOSITIONED : KVP_NEVER_SAW);
	ck_assert_uint_eq(done.attended, rest);
	ck_assert_uint_eq(done.tokens, NR_PREFIX + rest);
	ck_assert_uint_eq(done.computed, NR_PREFIX + rest);
	ck_assert_uint_eq(done.tainted_from, rest ? NR_PREFIX : KVP_POS_END);
	engine_removed(&run->seq, NR_PREFIX, NR_PREFIX + NR_SPAN, reposition);
}

static void run_evicted(enum run_order order, bool reposition, enum way way, struct run *run)
{
	model_ok(run_before(&engine, &story, order, run));
	if (way == BY_POOL)
		evict_by_pool(run, reposition);
	else
		evict_by_rows(run, reposition);
	model_ok(run_after(run, reposition ? 0 : NR_SPAN));
}

/* ---- the same on plain arrays ---- */

static void add_part(struct contiguous *c, const struct run_part *part, int32_t offset,
		     uint32_t segment, float *logits)
{
	uint32_t i;

	for (i = 0; i < part->nr; i++)
		contiguous_token(c, part->tokens[i], c->nr + (uint32_t)offset, segment,
				 segment ? NR_PREFIX : 0, logits);
}

/* Logits, and the first token of the text, are those of the arrays from which the span is taken. */
static void expect_contiguous(const struct run *run, enum run_order order, bool reposition)
{
	bool segments = order == RUN_SEGMENTS || order == RUN_OVERLAID;
	float *logits = malloc(model->config.vocab * sizeof(*logits));
	int32_t after = reposition ? 0 : NR_SPAN;
	struct contiguous c;

	contiguous_begin(&c, model);
	add_part(&c, &story.prefix, 0, 0, logits);
	add_part(&c, &story.span, 0, segments, logits);
	if (order != RUN_SPAN_LAST)
		add_part(&c, &story.kept, order == RUN_OVERLAID ? -NR_SPAN : 0, 2 * segments,
			 logits);
	contiguous_remove(&c, NR_PREFIX, NR_PREFIX + NR_SPAN, reposition);
	if (order == RUN_SPAN_LAST)
		add_part(&c, &story.kept, after, 0, logits);
	add_part(&c, &story.suffix, after, 0, logits);
	model_same_bits(run->logits, logits, model->config.vocab);
	contiguous_end(&c);
	free(logits);
}

/* ---- equal or not ---- */

static void expect_equal(const struct run *run, const struct run *control)
{
	model_same_bits(run->logits, control->logits, model->config.vocab);
	ck_assert_mem_eq(run->text, control->text, NR_TEXT * sizeof(*run->text));
}

static void expect_different(const struct run *a, const struct run *b)
{
	float difference = run_difference(a, b);

	if (difference < VISIBLE)
		ck_abort_msg("logits differ by %g: expected at least %g", (double)difference,
			     (double)VISIBLE);
}

/* An eviction from @order, against @control: equal, or not; and not like the other controls. */
static void compare_way(enum run_order order, bool reposition, enum run_control control,
			bool equal, enum way way)
{
	struct run run, other;
	int i;

	run_evicted(order, reposition, way, &run);
	expect_contiguous(&run, order, reposition);
	for (i = RUN_KEPT_SPAN; i <= RUN_GAP; i++) {
		model_ok(run_control(&engine, &story, i, &other));
		if (i == control && equal)
			expect_equal(&run, &other);
		else
			expect_different(&run, &other);
		run_end(&other);
	}
	run_end(&run);
}

static void compare(enum run_order order, bool reposition, enum run_control control, bool equal)
{
	enum way way;

	for (way = BY_ROWS; way < NR_WAYS; way++)
		compare_way(order, reposition, control, equal, way);
}

/* ---- tests ---- */

START_TEST(test_controls_differ)
{
	struct run runs[RUN_GAP + 1];
	int i;

	begin(_i);
	for (i = 0; i <= RUN_GAP; i++)
		model_ok(run_control(&engine, &story, i, &runs[i]));
	expect_different(&runs[RUN_KEPT_SPAN], &runs[RUN_NEVER_SAW]);
	expect_different(&runs[RUN_KEPT_SPAN], &runs[RUN_GAP]);
	expect_different(&runs[RUN_NEVER_SAW], &runs[RUN_GAP]);
	for (i = 0; i <= RUN_GAP; i++)
		run_end(&runs[i]);
	end();
}
END_TEST

/* NEVER_SAW: nothing follows the span. */
START_TEST(test_evicted_before_anything_attended)
{
	begin(_i);
	compare(RUN_SPAN_LAST, true, RUN_NEVER_SAW, true);
	end();
}
END_TEST

/* The same, and what follows goes on behind the gap. */
START_TEST(test_evicted_before_with_gap)
{
	begin(_i);
	compare(RUN_SPAN_LAST, false, RUN_GAP, true);
	end();
}
END_TEST

/* REPOSITIONED: each survivor had attended. Rotating K is not to have never seen the span. */
START_TEST(test_evicted_after_others_attended)
{
	begin(_i);
	compare(RUN_ATTENDED, true, RUN_NEVER_SAW, false);
	end();
}
END_TEST

/* Nor is leaving all where it stands. */
START_TEST(test_gap_after_others_attended)
{
	begin(_i);
	compare(RUN_ATTENDED, false, RUN_GAP, false);
	end();
}
END_TEST

/* REPLAY: what attended is computed again. */
START_TEST(test_replayed)
{
	struct run run, control;

	begin(_i);
	model_ok(run_before(&engine, &story, RUN_ATTENDED, &run));
	model_ok(engine_truncate(&engine, &run.seq, NR_PREFIX));
	model_ok(run_after(&run, 0));
	model_ok(run_control(&engine, &story, RUN_NEVER_SAW, &control));
	expect_equal(&run, &control);
	run_end(&control);
	run_end(&run);
	end();
}
END_TEST

/* The pool drops the rows, and says which tokens are to be computed. */
START_TEST(test_replayed_by_the_pool)
{
	const struct engine_step kept = { .nr = NR_KEPT };
	struct kvp_remapped done;
	struct run run, control;

	begin(_i);
	model_ok(run_before(&engine, &story, RUN_ATTENDED, &run));
	kvpr_ok(kvp_seq_evict(engine.pool, run.seq.id, NR_PREFIX, NR_PREFIX + NR_SPAN,
			      KVP_EVICT_REPLAY | KVP_EVICT_NEVER_SAW, 1, &done));
	ck_assert_uint_eq(done.guarantee, KVP_NEVER_SAW);
	ck_assert_uint_eq(done.computed, NR_PREFIX);
	ck_assert_uint_eq(done.tokens, NR_PREFIX + NR_KEPT);
	ck_assert_uint_eq(done.tainted_from, KVP_POS_END);
	engine_removed(&run.seq, NR_PREFIX, NR_PREFIX + NR_SPAN, true);
	run.seq.computed = NR_PREFIX;
	model_ok(engine_compute(&engine, &run.seq, &kept, NULL));
	model_ok(run_after(&run, 0));
	model_ok(run_control(&engine, &story, RUN_NEVER_SAW, &control));
	expect_equal(&run, &control);
	run_end(&control);
	run_end(&run);
	end();
}
END_TEST

/* Who wants a run that never saw the span, or none, is told before a byte moves. */
START_TEST(test_refused_after_others_attended)
{
	struct run run;

	begin(_i);
	model_ok(run_before(&engine, &story, RUN_ATTENDED, &run));
	kvpr_expect(kvp_seq_evict(engine.pool, run.seq.id, NR_PREFIX, NR_PREFIX + NR_SPAN,
				  KVP_EVICT_NEVER_SAW, 1, NULL), -EKEYREJECTED,
		    KVP_REASON_ATTENDED);
	run_end(&run);
	end();
}
END_TEST

/* NEVER_SAW: the segment has not attended to the span, and was computed where it ends up. */
START_TEST(test_segment_computed_where_it_ends_up)
{
	begin(_i);
	compare(RUN_OVERLAID, true, RUN_NEVER_SAW, true);
	end();
}
END_TEST

/* NEVER_SAW: it has not, and stays where it was computed. */
START_TEST(test_segment_with_gap)
{
	begin(_i);
	compare(RUN_SEGMENTS, false, RUN_GAP, true);
	end();
}
END_TEST

/*
 * REPOSITIONED, of which none had attended: above the first layer its rows depend on how far from
 * the root they were computed.
 */
START_TEST(test_segment_repositioned)
{
	begin(_i);
	compare(RUN_SEGMENTS, true, RUN_NEVER_SAW, false);
	end();
}
END_TEST

/* In a model of one layer they do not: K is all that a position has a part in. */
START_TEST(test_segment_repositioned_in_one_layer)
{
	static const struct model_config config = {
		.dim = 48, .hidden = 40, .n_layers = 1, .n_heads = 6, .n_kv_heads = 2,
		.vocab = 97, .max_tokens = 64,
	};
	struct model own = models[MODELS_TIED];

	model_ok(model_synthetic(&config, 3, &models[MODELS_TIED]));
	begin(MODELS_TIED);
	compare(RUN_SEGMENTS, true, RUN_NEVER_SAW, true);
	end();
	model_drop(&models[MODELS_TIED]);
	models[MODELS_TIED] = own;
}
END_TEST

static Suite *suite(int nr)
{
	Suite *s = suite_create("model_runs");
	TCase *tc = tcase_create("runs");

	tcase_add_loop_test(tc, test_controls_differ, 0, nr);
	tcase_add_loop_test(tc, test_evicted_before_anything_attended, 0, nr);
	tcase_add_loop_test(tc, test_evicted_before_with_gap, 0, nr);
	tcase_add_loop_test(tc, test_evicted_after_others_attended, 0, nr);
	tcase_add_loop_test(tc, test_gap_after_others_attended, 0, nr);
	tcase_add_loop_test(tc, test_replayed, 0, nr);
	tcase_add_loop_test(tc, test_replayed_by_the_pool, 0, nr);
	tcase_add_loop_test(tc, test_refused_after_others_attended, 0, nr);
	tcase_add_loop_test(tc, test_segment_computed_where_it_ends_up, 0, nr);
	tcase_add_loop_test(tc, test_segment_with_gap, 0, nr);
	tcase_add_loop_test(tc, test_segment_repositioned, 0, nr);
	tcase_add_test(tc, test_segment_repositioned_in_one_layer);
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

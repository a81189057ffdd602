// SPDX-License-Identifier: MIT
/*
 * Runs of a model with and without a span. Owns a run's sequence and what came of it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runs.h"

static int add(struct run *run, const struct run_part *part, const struct engine_step *how,
	       float *logits)
{
	struct engine_step step = *how;
	int err = engine_append(run->engine, &run->seq, part->tokens, part->nr);

	step.nr = part->nr;
	return err ? err : engine_compute(run->engine, &run->seq, &step, logits);
}

static int begin(struct engine *engine, const struct run_story *story, struct run *run)
{
	*run = (struct run){ .engine = engine, .story = story };
	run->logits = malloc(engine->model->config.vocab * sizeof(*run->logits));
	run->text = malloc((story->nr_text + 1) * sizeof(*run->text));
	if (!run->logits || !run->text)
		return model_refuse(-ENOMEM, "no memory for a run");
	return engine_create(engine, NULL, 0, KVP_SEQ_NO_MATCH, &run->seq);
}

int run_after(struct run *run, int32_t offset)
{
	const struct run_story *story = run->story;
	const struct engine_step how = { .offset = offset };
	uint64_t bytes = run->engine->model->config.vocab * sizeof(float);
	float *last;
	int err = 0;

	if (run->seq.nr == story->prefix.nr)
		err = add(run, &story->kept, &how, NULL);
	if (err || (err = add(run, &story->suffix, &how, run->logits)))
		return err;
	last = malloc(bytes);
	if (!last)
		return model_refuse(-ENOMEM, "no memory for a run");
	memcpy(last, run->logits, bytes);
	err = engine_generate(run->engine, &run->seq, offset, last, run->text, story->nr_text);
	free(last);
	return err;
}

int run_control(struct engine *engine, const struct run_story *story, enum run_control control,
		struct run *run)
{
	const struct engine_step plain = { 0 };
	int err;

	if ((err = begin(engine, story, run)) ||
	    (err = add(run, &story->prefix, &plain, NULL)) ||
	    (control == RUN_KEPT_SPAN && ((err = add(run, &story->span, &plain, NULL)) ||
					  (err = add(run, &story->kept, &plain, NULL)))) ||
	    (err = run_after(run, control == RUN_GAP ? (int32_t)story->span.nr : 0)))
		run_end(run);
	return err;
}

int run_before(struct engine *engine, const struct run_story *story, enum run_order order,
	       struct run *run)
{
	bool segments = order == RUN_SEGMENTS || order == RUN_OVERLAID;
	uint32_t root = segments ? story->prefix.nr : 0;
	const struct engine_step plain = { 0 };
	const struct engine_step span = { .segment = segments ? 1 : 0, .root = root };
	const struct engine_step kept = {
		.segment = segments ? 2 : 0, .root = root,
		.offset = order == RUN_OVERLAID ? -(int32_t)story->span.nr : 0,
	};
	int err;

	if ((err = begin(engine, story, run)) ||
	    (err = add(run, &story->prefix, &plain, NULL)) ||
	    (err = add(run, &story->span, &span, NULL)) ||
	    (order != RUN_SPAN_LAST && (err = add(run, &story->kept, &kept, NULL))))
		run_end(run);
	return err;
}

void run_end(struct run *run)
{
	if (run->engine)
		engine_free(run->engine, &run->seq);
	free(run->logits);
	free(run->text);
	*run = (struct run){ 0 };
}

float run_difference(const struct run *a, const struct run *b)
{
	float max = 0;
	uint32_t i;

	for (i = 0; i < a->engine->model->config.vocab; i++)
		max = fmaxf(max, fabsf(a->logits[i] - b->logits[i]));
	return max;
}

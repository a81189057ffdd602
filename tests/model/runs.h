/* SPDX-License-Identifier: MIT */
/*
 * Runs of a model that tell what the eviction of a span has done. All are of one story:
 *
 *	prefix, span, kept, suffix, and the greedy text that follows
 *
 * The span is what leaves, when prefix and span are there and perhaps kept, too; the suffix is
 * always computed after that. A control never had the span, or never lost it, and needs no eviction:
 *
 *	RUN_KEPT_SPAN	all of the story, in order
 *	RUN_NEVER_SAW	prefix, kept, suffix, in order
 *	RUN_GAP		the same tokens; kept, suffix and text stand where the whole story has them
 *
 * A run with an eviction is begun in one of these orders, loses its span, and goes on:
 *
 *	RUN_SPAN_LAST	prefix, span: nothing has attended to the span
 *	RUN_ATTENDED	prefix, span, kept: all of kept has
 *	RUN_SEGMENTS	the same, span and kept being isolated segments over the prefix
 *	RUN_OVERLAID	the same, kept standing right behind the prefix, as if there were no span
 *
 * A segment behind the prefix attends to what the prefix and it has, and in RUN_NEVER_SAW and
 * RUN_GAP there is nothing else before kept. So these are the controls of segments, too.
 */
#ifndef RUNS_H
#define RUNS_H

#include "engine.h"

enum run_control { RUN_KEPT_SPAN, RUN_NEVER_SAW, RUN_GAP };
enum run_order { RUN_SPAN_LAST, RUN_ATTENDED, RUN_SEGMENTS, RUN_OVERLAID };

/* Tokens; @nr > 0. */
struct run_part {
	const uint32_t *tokens;
	uint32_t nr;
};

/**
 * struct run_story - what the runs are of
 * @prefix: stays, before the span
 * @span: leaves
 * @kept: stays, behind the span
 * @suffix: comes when the span has left
 * @nr_text: tokens of text to be made at the end
 */
struct run_story {
	struct run_part prefix;
	struct run_part span;
	struct run_part kept;
	struct run_part suffix;
	uint32_t nr_text;
};

/**
 * struct run - a run, and what came of it
 * @engine: whose
 * @story: of what
 * @seq: its sequence
 * @logits: of the suffix's last token, [vocab]
 * @text: the tokens made, [nr_text]
 */
struct run {
	struct engine *engine;
	const struct run_story *story;
	struct engine_seq seq;
	float *logits;
	uint32_t *text;
};

/*
 * A whole run without eviction. @engine and @story must outlive *@run, which is to be ended with
 * run_end(), and is all zero on errors: those of the engine's functions.
 */
int run_control(struct engine *engine, const struct run_story *story, enum run_control control,
		struct run *run);

/* A run up to the moment at which the span leaves; else as run_control(). */
int run_before(struct engine *engine, const struct run_story *story, enum run_order order,
	       struct run *run);

/*
 * The rest of it: kept, if it is not there (it was not computed yet, or was dropped to be computed
 * again), suffix and text, each token at its index plus @offset: 0, or span.nr for a gap. The span
 * must be gone from @run->seq.
 */
int run_after(struct run *run, int32_t offset);

/* Does nothing to one that is all zero. */
void run_end(struct run *run);

/* The largest difference of two logits at one place. */
float run_difference(const struct run *a, const struct run *b);

#endif /* RUNS_H */

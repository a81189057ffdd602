/* SPDX-License-Identifier: MIT */
/*
 * Between the files of the engine: errors, and one pass of some tokens through all layers.
 */
#ifndef PASS_H
#define PASS_H

#include "engine.h"

/* The library refused with @err; its text becomes that of model_error(). Returns @err. */
int engine_refused(int err);

/**
 * struct pass - a step that is being computed
 * @engine: whose
 * @token: all tokens of the sequence up to the end of the step
 * @blocks: the sequence's table
 * @first: index of the step's first token in the sequence
 * @nr: tokens of the step
 */
struct pass {
	const struct engine *engine;
	const struct engine_token *token;
	const uint64_t *blocks;
	uint32_t first;
	uint32_t nr;
};

/*
 * Rows of all layers are written where the table says. @logits: NULL, or room for vocab floats; of
 * each token with @all. Returns 0, or -ENOMEM with nothing written.
 */
int pass_run(const struct pass *pass, bool all, float *logits);

/* One head of a row, wherever the geometry has its elements. */
void pass_load(const struct engine *engine, enum engine_plane plane, uint32_t layer,
	       uint64_t block, uint32_t token, uint32_t head, float *to);

#endif /* PASS_H */

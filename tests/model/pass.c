// SPDX-License-Identifier: MIT
/*
 * Tokens through all layers, with their keys and values in the pool. Owns nothing between two
 * calls.
 *
 * The tokens of a step go through a layer together, as engines do it: all rows of the layer are
 * written before the first token attends. No sum reaches across tokens, so how they were
 * put into steps leaves no trace in the bits.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pass.h"

/**
 * struct scratch - what a pass needs beside the pool; one allocation
 * @x: the residual stream of each token of the step, [nr][dim]
 * @q: their queries, rotated, [nr][dim]
 * @normed: [dim]
 * @mixed: what the heads have read, [dim]
 * @raw: K before rotation, or V, of one token, [kv_dim]
 * @k: K of one token, [kv_dim]
 * @gate: [hidden]
 * @up: [hidden]
 * @head: one head of a row, [head_size]
 * @score: of each token that is attended to
 */
struct scratch {
	float *x;
	float *q;
	float *normed;
	float *mixed;
	float *raw;
	float *k;
	float *gate;
	float *up;
	float *head;
	float *score;
};

static float *scratch_make(const struct pass *pass, struct scratch *s)
{
	const struct model *model = pass->engine->model;
	uint64_t dim = model->config.dim, hidden = model->config.hidden, nr = pass->nr;
	float *at = calloc(2 * nr * dim + 2 * dim + 2 * model->kv_dim + 2 * hidden +
			   model->head_size + pass->first + nr, sizeof(float));

	if (!at)
		return NULL;
	s->x = at;
	s->q = s->x + nr * dim;
	s->normed = s->q + nr * dim;
	s->mixed = s->normed + dim;
	s->raw = s->mixed + dim;
	s->k = s->raw + model->kv_dim;
	s->gate = s->k + model->kv_dim;
	s->up = s->gate + hidden;
	s->head = s->up + hidden;
	s->score = s->head + model->head_size;
	return at;
}

/* ---- rows ---- */

static uint64_t elem_step(const struct kvp_plane *plane)
{
	return plane->vec == plane->n_elems ? sizeof(float) : (uint64_t)(int64_t)plane->vec_stride;
}

void pass_load(const struct engine *engine, enum engine_plane plane, uint32_t layer,
	       uint64_t block, uint32_t token, uint32_t head, float *to)
{
	const struct kvp_plane *p = &engine->geometry.plane[plane];
	uint64_t step = elem_step(p), at;
	uint32_t i;

	at = kvp_plane_address(p, layer, KVP_BLOCK_INDEX(block), token, head, 0);
	for (i = 0; i < p->n_elems; i++, at += step)
		to[i] = *(const float *)(uintptr_t)at;
}

/* All heads of a row, [head][element] at @from. */
static void store(const struct pass *pass, enum engine_plane plane, uint32_t layer,
		  uint32_t index, const float *from)
{
	const struct kvp_plane *p = &pass->engine->geometry.plane[plane];
	uint32_t n = pass->engine->block_tokens, head, i;
	uint64_t block = KVP_BLOCK_INDEX(pass->blocks[index / n]), step = elem_step(p), at;

	for (head = 0; head < p->n_heads; head++) {
		at = kvp_plane_address(p, layer, block, index % n, head, 0);
		for (i = 0; i < p->n_elems; i++, at += step)
			*(float *)(uintptr_t)at = *from++;
	}
}

/* ---- attention ---- */

/* By the library's row function, so that K is what a later move to this position would give. */
static void rotate(const struct pass *pass, const float *raw, float *to, uint32_t n_heads,
		   uint32_t position)
{
	uint32_t head_size = pass->engine->model->head_size;
	const struct kvp_rope_row row = {
		.rope = &pass->engine->geometry.rope[0], .raw = raw, .k = to, .n_heads = n_heads,
		.n_elems = head_size, .raw_dtype = KVP_DTYPE_F32, .k_dtype = KVP_DTYPE_F32,
	};

	if (kvp_rope_rotate(&row, &position))
		abort();	/* positions were checked */
}

static bool attends(const struct engine_token *token, uint32_t index, uint32_t other)
{
	return !token[index].segment || other < token[index].root ||
	       token[other].segment == token[index].segment;
}

/* One head of the token at @index reads all that it may see, in the order of the sequence. */
static void attend(const struct pass *pass, const struct scratch *s, uint32_t layer,
		   uint32_t index, uint32_t head, const float *q, float *out)
{
	const struct engine *engine = pass->engine;
	const struct model_config *c = &engine->model->config;
	uint32_t size = engine->model->head_size, n = engine->block_tokens, nr = 0, i, j;
	uint32_t kv_head = head / (c->n_heads / c->n_kv_heads);

	for (j = 0; j <= index; j++) {
		float sum = 0;

		if (!attends(pass->token, index, j))
			continue;
		pass_load(engine, ENGINE_K, layer, pass->blocks[j / n], j % n, kv_head, s->head);
		for (i = 0; i < size; i++)
			sum += q[i] * s->head[i];
		s->score[nr++] = sum / sqrtf((float)size);
	}
	model_softmax(s->score, nr);
	memset(out, 0, size * sizeof(*out));
	for (j = 0, nr = 0; j <= index; j++) {
		if (!attends(pass->token, index, j))
			continue;
		pass_load(engine, ENGINE_V, layer, pass->blocks[j / n], j % n, kv_head, s->head);
		for (i = 0; i < size; i++)
			out[i] += s->score[nr] * s->head[i];
		nr++;
	}
}

/* ---- layers ---- */

/* Rows of the step's token @i in @layer, and its query. */
static void project(const struct pass *pass, const struct scratch *s, uint32_t layer, uint32_t i)
{
	const struct model *model = pass->engine->model;
	uint32_t dim = model->config.dim, kv_dim = model->kv_dim, index = pass->first + i;
	uint32_t position = pass->token[index].position;
	uint64_t square = (uint64_t)layer * dim * dim, flat = (uint64_t)layer * kv_dim * dim;
	float *q = s->q + (uint64_t)i * dim;

	model_norm(s->normed, s->x + (uint64_t)i * dim,
		   model->norm_attention + (uint64_t)layer * dim, dim);
	model_multiply(q, model->wq + square, s->normed, dim, dim);
	rotate(pass, q, q, model->config.n_heads, position);
	model_multiply(s->raw, model->wk + flat, s->normed, kv_dim, dim);
	rotate(pass, s->raw, s->k, model->config.n_kv_heads, position);
	store(pass, ENGINE_KRAW, layer, index, s->raw);
	store(pass, ENGINE_K, layer, index, s->k);
	model_multiply(s->raw, model->wv + flat, s->normed, kv_dim, dim);
	store(pass, ENGINE_V, layer, index, s->raw);
}

static void mix(const struct pass *pass, const struct scratch *s, uint32_t layer, uint32_t i)
{
	const struct model *model = pass->engine->model;
	uint32_t dim = model->config.dim, size = model->head_size, h, j;
	float *x = s->x + (uint64_t)i * dim;

	for (h = 0; h < model->config.n_heads; h++)
		attend(pass, s, layer, pass->first + i, h, s->q + (uint64_t)i * dim + h * size,
		       s->mixed + h * size);
	model_multiply(s->normed, model->wo + (uint64_t)layer * dim * dim, s->mixed, dim, dim);
	for (j = 0; j < dim; j++)
		x[j] += s->normed[j];
	model_feed_forward(model, layer, x, s->normed, s->gate, s->up);
}

int pass_run(const struct pass *pass, bool all, float *logits)
{
	const struct model *model = pass->engine->model;
	uint32_t dim = model->config.dim, vocab = model->config.vocab, layer, i;
	struct scratch s;
	float *memory = scratch_make(pass, &s);

	if (!memory)
		return model_refuse(-ENOMEM, "no memory for a step of %u tokens", pass->nr);
	for (i = 0; i < pass->nr; i++)
		memcpy(s.x + (uint64_t)i * dim,
		       model->embedding + (uint64_t)pass->token[pass->first + i].id * dim,
		       dim * sizeof(float));
	for (layer = 0; layer < model->config.n_layers; layer++) {
		for (i = 0; i < pass->nr; i++)
			project(pass, &s, layer, i);
		for (i = 0; i < pass->nr; i++)
			mix(pass, &s, layer, i);
	}
	for (i = all ? 0 : pass->nr - 1; logits && i < pass->nr; i++) {
		model_norm(s.normed, s.x + (uint64_t)i * dim, model->norm_final, dim);
		model_multiply(logits, model->classifier, s.normed, vocab, dim);
		logits += vocab;
	}
	free(memory);
	return 0;
}

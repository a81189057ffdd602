/* SPDX-License-Identifier: MIT */
/*
 * The transformer of tests/model once more, written for itself: one token at a time, keys and
 * values in plain arrays in the order of the tokens, no pool, no blocks, no table of cosines. What
 * runs on a pool must equal it bit for bit. Shares nothing with tests/model but the weights.
 *
 * Tokens can be taken out of its arrays too: then K of those behind is what their K before rotation
 * gives at their new position.
 */
#ifndef CONTIGUOUS_H
#define CONTIGUOUS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "transformer.h"

#define CONTIGUOUS_MAX	512		/* tokens */
#define CONTIGUOUS_DIM	256		/* elements of the stream, and inside the network */

/**
 * struct contiguous - a sequence
 * @model: its model
 * @nr: tokens
 * @k: [layer][token of CONTIGUOUS_MAX][kv_dim]; so are @v and @raw
 * @v: values
 * @raw: keys before they were rotated
 * @position: of each token
 * @segment: of each token; 0: none
 * @root: of each token of a segment: tokens of the root
 */
struct contiguous {
	const struct model *model;
	uint32_t nr;
	float *k;
	float *v;
	float *raw;
	uint32_t position[CONTIGUOUS_MAX];
	uint32_t segment[CONTIGUOUS_MAX];
	uint32_t root[CONTIGUOUS_MAX];
};

static inline void contiguous_begin(struct contiguous *c, const struct model *model)
{
	uint64_t elements = (uint64_t)model->config.n_layers * CONTIGUOUS_MAX * model->kv_dim;

	if (model->config.dim > CONTIGUOUS_DIM || model->config.hidden > CONTIGUOUS_DIM)
		abort();
	memset(c, 0, sizeof(*c));
	c->model = model;
	c->k = calloc(elements, sizeof(float));
	c->v = calloc(elements, sizeof(float));
	c->raw = calloc(elements, sizeof(float));
}

static inline void contiguous_end(struct contiguous *c)
{
	free(c->k);
	free(c->v);
	free(c->raw);
	memset(c, 0, sizeof(*c));
}

static inline float *contiguous_row(const struct contiguous *c, float *plane, uint32_t layer,
				    uint32_t token)
{
	return plane + ((uint64_t)layer * CONTIGUOUS_MAX + token) * c->model->kv_dim;
}

static inline void contiguous_matmul(float *out, const float *w, const float *x, uint32_t rows,
				     uint32_t columns)
{
	uint32_t i, j;

	for (i = 0; i < rows; i++) {
		out[i] = 0;
		for (j = 0; j < columns; j++)
			out[i] += w[(uint64_t)i * columns + j] * x[j];
	}
}

static inline void contiguous_rmsnorm(float *out, const float *x, const float *w, uint32_t n)
{
	float squares = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		squares += x[i] * x[i];
	squares = 1.0f / sqrtf(squares / (float)n + 1e-5f);
	for (i = 0; i < n; i++)
		out[i] = w[i] * (squares * x[i]);
}

/* Pairs (2i, 2i + 1) of each head turn by position / 10000^(2i / head size). */
static inline void contiguous_rope(float *out, const float *x, uint32_t n, uint32_t head_size,
				   uint32_t position)
{
	uint32_t i;

	for (i = 0; i < n; i += 2) {
		long double angle = position / powl(10000, (i % head_size) / (long double)head_size);
		float c = (float)cosl(angle), s = (float)sinl(angle);
		float a = x[i], b = x[i + 1];

		out[i] = a * c - b * s;
		out[i + 1] = b * c + a * s;
	}
}

static inline bool contiguous_sees(const struct contiguous *c, uint32_t token, uint32_t other)
{
	if (!c->segment[token])
		return true;
	return other < c->root[token] || c->segment[other] == c->segment[token];
}

static inline void contiguous_head(const struct contiguous *c, uint32_t layer, uint32_t token,
				   const float *q, uint32_t kv_head, float *out)
{
	uint32_t size = c->model->head_size, j, i;
	float p[CONTIGUOUS_MAX], max = -INFINITY, sum = 0;

	for (j = 0; j <= token; j++) {
		const float *k = contiguous_row(c, c->k, layer, j) + kv_head * size;

		if (!contiguous_sees(c, token, j))
			continue;
		p[j] = 0;
		for (i = 0; i < size; i++)
			p[j] += q[i] * k[i];
		p[j] /= sqrtf((float)size);
		max = fmaxf(max, p[j]);
	}
	for (j = 0; j <= token; j++)
		if (contiguous_sees(c, token, j))
			sum += p[j] = (float)exp((double)(p[j] - max));
	for (i = 0; i < size; i++) {
		out[i] = 0;
		for (j = 0; j <= token; j++)
			if (contiguous_sees(c, token, j))
				out[i] += p[j] / sum * contiguous_row(c, c->v, layer, j)[kv_head * size + i];
	}
}

static inline void contiguous_layer(struct contiguous *c, uint32_t layer, uint32_t token, float *x)
{
	const struct model *m = c->model;
	const struct model_config *s = &m->config;
	uint64_t dim = s->dim, kv = m->kv_dim, hidden = s->hidden;
	float norm[CONTIGUOUS_DIM], q[CONTIGUOUS_DIM], read[CONTIGUOUS_DIM], out[CONTIGUOUS_DIM];
	float gate[CONTIGUOUS_DIM], up[CONTIGUOUS_DIM];
	float *k = contiguous_row(c, c->k, layer, token);
	float *v = contiguous_row(c, c->v, layer, token);
	float *raw = contiguous_row(c, c->raw, layer, token);
	uint32_t i;

	contiguous_rmsnorm(norm, x, m->norm_attention + layer * dim, dim);
	contiguous_matmul(out, m->wq + layer * dim * dim, norm, dim, dim);
	contiguous_rope(q, out, dim, m->head_size, c->position[token]);
	contiguous_matmul(raw, m->wk + layer * kv * dim, norm, kv, dim);
	contiguous_rope(k, raw, kv, m->head_size, c->position[token]);
	contiguous_matmul(v, m->wv + layer * kv * dim, norm, kv, dim);
	for (i = 0; i < s->n_heads; i++)
		contiguous_head(c, layer, token, q + i * m->head_size,
				i * s->n_kv_heads / s->n_heads, read + i * m->head_size);
	contiguous_matmul(out, m->wo + layer * dim * dim, read, dim, dim);
	for (i = 0; i < dim; i++)
		x[i] += out[i];
	contiguous_rmsnorm(norm, x, m->norm_ffn + layer * dim, dim);
	contiguous_matmul(gate, m->w1 + layer * hidden * dim, norm, hidden, dim);
	contiguous_matmul(up, m->w3 + layer * hidden * dim, norm, hidden, dim);
	for (i = 0; i < hidden; i++)
		up[i] = gate[i] * (1 / (1 + (float)exp(-(double)gate[i]))) * up[i];
	contiguous_matmul(out, m->w2 + layer * hidden * dim, up, dim, hidden);
	for (i = 0; i < dim; i++)
		x[i] += out[i];
}

/* One more token; @logits: vocab floats. */
static inline void contiguous_token(struct contiguous *c, uint32_t id, uint32_t position,
				    uint32_t segment, uint32_t root, float *logits)
{
	const struct model *m = c->model;
	uint32_t dim = m->config.dim, token = c->nr++, layer;
	float x[CONTIGUOUS_DIM];

	if (token == CONTIGUOUS_MAX)
		abort();
	c->position[token] = position;
	c->segment[token] = segment;
	c->root[token] = root;
	memcpy(x, m->embedding + (uint64_t)id * dim, dim * sizeof(*x));
	for (layer = 0; layer < m->config.n_layers; layer++)
		contiguous_layer(c, layer, token, x);
	contiguous_rmsnorm(x, x, m->norm_final, dim);
	contiguous_matmul(logits, m->classifier, x, m->config.vocab, dim);
}

/* Tokens at their index. @logits: of the last one. */
static inline void contiguous_tokens(struct contiguous *c, const uint32_t *ids, uint32_t nr,
				     float *logits)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		contiguous_token(c, ids[i], c->nr, 0, 0, logits);
}

/* Take tokens [@from, @to) out; those behind stand at their new index, or where they stood. */
static inline void contiguous_remove(struct contiguous *c, uint32_t from, uint32_t to,
				     bool reposition)
{
	uint32_t kv = c->model->kv_dim, gone = to - from, layer, i;
	uint64_t bytes = (uint64_t)(c->nr - to) * kv * sizeof(float);

	c->nr -= gone;
	for (i = from; i < c->nr; i++) {
		c->position[i] = reposition ? i : c->position[i + gone];
		c->segment[i] = c->segment[i + gone];
		c->root[i] = c->root[i + gone];
		if (c->root[i] > from)
			c->root[i] = c->root[i] > to ? c->root[i] - gone : from;
	}
	for (layer = 0; layer < c->model->config.n_layers; layer++) {
		memmove(contiguous_row(c, c->k, layer, from), contiguous_row(c, c->k, layer, to), bytes);
		memmove(contiguous_row(c, c->v, layer, from), contiguous_row(c, c->v, layer, to), bytes);
		memmove(contiguous_row(c, c->raw, layer, from), contiguous_row(c, c->raw, layer, to),
			bytes);
		for (i = from; reposition && i < c->nr; i++)
			contiguous_rope(contiguous_row(c, c->k, layer, i),
					contiguous_row(c, c->raw, layer, i), kv, c->model->head_size, i);
	}
}

#endif /* CONTIGUOUS_H */

/* SPDX-License-Identifier: MIT */
/*
 * A small decoder-only transformer: its weights, and the arithmetic of one token. RMSNorm, rotary
 * positions (pairs (2i, 2i + 1)), grouped-query attention, SwiGLU. Where keys and values lie is not
 * its business: engine.h keeps them in a pool.
 *
 * All is f32. Every sum is taken in the order of its index and no multiply is fused with an add,
 * so the same input gives the same bits however the work was split.
 */
#ifndef TRANSFORMER_H
#define TRANSFORMER_H

#include <stdbool.h>
#include <stdint.h>

/* ---- errors -------------------------------------------------------------------- */

/* One line for people: what was wrong in this thread's last failed call. Never NULL. */
const char *model_error(void);

/* Note such a line; returns @err. */
int model_refuse(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- weights ------------------------------------------------------------------- */

/**
 * struct model_config - the sizes of a model, all above 0
 * @dim: elements of the residual stream; a multiple of @n_heads
 * @hidden: elements inside the feed-forward network
 * @n_layers: layers
 * @n_heads: heads of the queries; a multiple of @n_kv_heads
 * @n_kv_heads: heads of keys and values
 * @vocab: token ids are below it
 * @max_tokens: context that it was trained for
 * @own_classifier: the last matrix is not the embedding
 *
 * A head has dim / n_heads elements, which must be an even number.
 */
struct model_config {
	uint32_t dim;
	uint32_t hidden;
	uint32_t n_layers;
	uint32_t n_heads;
	uint32_t n_kv_heads;
	uint32_t vocab;
	uint32_t max_tokens;
	bool own_classifier;
};

/**
 * struct model - weights of a model; read only once made, by any number of threads
 * @config: its sizes
 * @head_size: dim / n_heads
 * @kv_dim: n_kv_heads * head_size
 * @embedding: [vocab][dim]
 * @norm_attention: [layer][dim]
 * @wq: [layer][dim][dim], the row of the output first, as of all that follow
 * @wk: [layer][kv_dim][dim]
 * @wv: [layer][kv_dim][dim]
 * @wo: [layer][dim][dim]
 * @norm_ffn: [layer][dim]
 * @w1: [layer][hidden][dim], of the gate
 * @w2: [layer][dim][hidden]
 * @w3: [layer][hidden][dim]
 * @norm_final: [dim]
 * @classifier: [vocab][dim]
 * @digest: of config and weights: what tells models apart
 * @memory: what the pointers point into
 */
struct model {
	struct model_config config;
	uint32_t head_size;
	uint32_t kv_dim;
	const float *embedding;
	const float *norm_attention;
	const float *wq;
	const float *wk;
	const float *wv;
	const float *wo;
	const float *norm_ffn;
	const float *w1;
	const float *w2;
	const float *w3;
	const float *norm_final;
	const float *classifier;
	uint64_t digest;
	float *memory;
};

/*
 * Read a checkpoint of llama2.c: 7 int32 (dim, hidden, layers, heads, KV heads, vocabulary,
 * context; a negative vocabulary says that the classifier is not the embedding), then the f32
 * arrays of struct model in its order, with two tables of cosines and sines between @norm_final and
 * @classifier which are not used, all in the machine's byte order. *@model is to be ended with
 * model_drop(), and untouched on errors: those of open(2), -EINVAL (a header or a size that cannot
 * be, a weight that is no number: model_error() names the field and what was found and expected),
 * -EIO, -ENOMEM.
 */
int model_load(const char *path, struct model *model);

/*
 * A model of these sizes whose weights follow from @seed, equal on every machine. They are
 * scaled so that attention is sharp and depends on positions as much as on contents. Errors:
 * -EINVAL (sizes that cannot be), -ENOMEM.
 */
int model_synthetic(const struct model_config *config, uint64_t seed, struct model *model);

/* Does nothing to one that is all zero. */
void model_drop(struct model *model);

/* ---- arithmetic ---------------------------------------------------------------- */

/* @out[i] = sum of @matrix[i][j] * @in[j], for @rows rows of @columns elements. */
void model_multiply(float *out, const float *matrix, const float *in, uint32_t rows,
		    uint32_t columns);

/* @out = @in / root of its mean square, times @weight; may be in place. */
void model_norm(float *out, const float *in, const float *weight, uint32_t nr);

/* @x[0..@nr) become their softmax. */
void model_softmax(float *x, uint32_t nr);

/*
 * The feed-forward network of @layer, added to @x. @gate and @up: room for hidden elements each,
 * @normed for dim.
 */
void model_feed_forward(const struct model *model, uint32_t layer, float *x, float *normed,
			float *gate, float *up);

/* The first of the largest of @nr logits: greedy choice. */
uint32_t model_greedy(const float *logits, uint32_t nr);

#endif /* TRANSFORMER_H */

// SPDX-License-Identifier: MIT
/*
 * The arithmetic of one token. Owns nothing. Compiled without contraction: a fused multiply-add
 * rounds once where two operations round twice, so logits would depend on the compiler.
 */
#include <math.h>

#include "transformer.h"

#define NORM_EPSILON	1e-5f		/* of llama2.c's models */

/* Double, rounded once: whatever libm a machine has, the float is the same one. */
static float exponential(float x)
{
	return (float)exp((double)x);
}

void model_multiply(float *out, const float *matrix, const float *in, uint32_t rows,
		    uint32_t columns)
{
	uint32_t i, j;

	for (i = 0; i < rows; i++, matrix += columns) {
		float sum = 0;

		for (j = 0; j < columns; j++)
			sum += matrix[j] * in[j];
		out[i] = sum;
	}
}

void model_norm(float *out, const float *in, const float *weight, uint32_t nr)
{
	float sum = 0, scale;
	uint32_t i;

	for (i = 0; i < nr; i++)
		sum += in[i] * in[i];
	scale = 1.0f / sqrtf(sum / (float)nr + NORM_EPSILON);
	for (i = 0; i < nr; i++)
		out[i] = weight[i] * (scale * in[i]);
}

void model_softmax(float *x, uint32_t nr)
{
	float max = x[0], sum = 0;
	uint32_t i;

	for (i = 1; i < nr; i++)
		if (x[i] > max)
			max = x[i];
	for (i = 0; i < nr; i++) {
		x[i] = exponential(x[i] - max);
		sum += x[i];
	}
	for (i = 0; i < nr; i++)
		x[i] /= sum;
}

void model_feed_forward(const struct model *model, uint32_t layer, float *x, float *normed,
			float *gate, float *up)
{
	uint32_t dim = model->config.dim, hidden = model->config.hidden, i;
	uint64_t matrix = (uint64_t)layer * dim * hidden;

	model_norm(normed, x, model->norm_ffn + (uint64_t)layer * dim, dim);
	model_multiply(gate, model->w1 + matrix, normed, hidden, dim);
	model_multiply(up, model->w3 + matrix, normed, hidden, dim);
	for (i = 0; i < hidden; i++)
		gate[i] = gate[i] * (1.0f / (1.0f + exponential(-gate[i]))) * up[i];
	model_multiply(normed, model->w2 + matrix, gate, dim, hidden);
	for (i = 0; i < dim; i++)
		x[i] += normed[i];
}

uint32_t model_greedy(const float *logits, uint32_t nr)
{
	uint32_t best = 0, i;

	for (i = 1; i < nr; i++)
		if (logits[i] > logits[best])
			best = i;
	return best;
}

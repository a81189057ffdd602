// SPDX-License-Identifier: MIT
/*
 * Weights: read from a checkpoint of llama2.c, or made from a seed. Owns the text of the thread's
 * last error.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "random.h"
#include "transformer.h"

/* Small enough that no product of sizes can leave 64 bits. */
#define MAX_SIZE	(1 << 20)
#define MAX_LAYERS	1024

static _Thread_local char last_error[256];

const char *model_error(void)
{
	return last_error;
}

int model_refuse(int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(last_error, sizeof(last_error), fmt, args);
	va_end(args);
	return err;
}

/* ---- the arrays, in the order of a checkpoint ---- */

/* Tables of cosines and sines that a checkpoint has before its classifier: not kept. */
#define TABLES	"rotary tables"

enum fill { FILL_NONE, FILL_EMBEDDING, FILL_NORM, FILL_SHARP, FILL_LINEAR, FILL_CLASSIFIER };

/**
 * struct array - one of them
 * @name: for errors
 * @nr: elements
 * @columns: elements that one output is summed up from
 * @at: where the model has its address; NULL: not kept
 * @fill: how a synthetic model fills it
 */
struct array {
	const char *name;
	uint64_t nr;
	uint32_t columns;
	const float **at;
	enum fill fill;
};

#define MAX_ARRAYS	13

static uint32_t arrays_of(struct model *model, struct array *arrays)
{
	const struct model_config *c = &model->config;
	uint64_t layers = c->n_layers, dim = c->dim, kv_dim = model->kv_dim;
	const struct array all[] = {
		{ "embedding", c->vocab * dim, c->dim, &model->embedding, FILL_EMBEDDING },
		{ "attention norm", layers * dim, 1, &model->norm_attention, FILL_NORM },
		{ "wq", layers * dim * dim, c->dim, &model->wq, FILL_SHARP },
		{ "wk", layers * kv_dim * dim, c->dim, &model->wk, FILL_SHARP },
		{ "wv", layers * kv_dim * dim, c->dim, &model->wv, FILL_LINEAR },
		{ "wo", layers * dim * dim, c->dim, &model->wo, FILL_LINEAR },
		{ "feed-forward norm", layers * dim, 1, &model->norm_ffn, FILL_NORM },
		{ "w1", layers * c->hidden * dim, c->dim, &model->w1, FILL_LINEAR },
		{ "w2", layers * c->hidden * dim, c->hidden, &model->w2, FILL_LINEAR },
		{ "w3", layers * c->hidden * dim, c->dim, &model->w3, FILL_LINEAR },
		{ "final norm", dim, 1, &model->norm_final, FILL_NORM },
		{ TABLES, (uint64_t)c->max_tokens * model->head_size, 1, NULL, FILL_NONE },
		{ "classifier", c->vocab * dim, c->dim, &model->classifier, FILL_CLASSIFIER },
	};

	memcpy(arrays, all, sizeof(all));
	return MAX_ARRAYS - !c->own_classifier;
}

static uint64_t count_elements(const struct array *arrays, uint32_t nr, bool all)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (all || arrays[i].at)
			sum += arrays[i].nr;
	return sum;
}

/* ---- sizes ---- */

/* In a file the sizes are signed, so a negative one is named as what it is. */
static int check_size(const char *what, const char *field, uint32_t value, uint32_t max)
{
	if (value >= 1 && value <= max)
		return 0;
	return model_refuse(-EINVAL, "%s: %s %d: expected 1 to %u", what, field, (int32_t)value,
			    max);
}

static int check_config(const char *what, const struct model_config *c)
{
	int err;

	if ((err = check_size(what, "dim", c->dim, MAX_SIZE)) ||
	    (err = check_size(what, "hidden", c->hidden, MAX_SIZE)) ||
	    (err = check_size(what, "layers", c->n_layers, MAX_LAYERS)) ||
	    (err = check_size(what, "heads", c->n_heads, USHRT_MAX)) ||
	    (err = check_size(what, "KV heads", c->n_kv_heads, c->n_heads)) ||
	    (err = check_size(what, "vocabulary", c->vocab, MAX_SIZE)) ||
	    (err = check_size(what, "context", c->max_tokens, MAX_SIZE)))
		return err;
	if (c->dim % (2 * c->n_heads))
		return model_refuse(-EINVAL, "%s: dim %u: expected a multiple of 2 * %u heads", what,
				    c->dim, c->n_heads);
	if (c->dim / c->n_heads > USHRT_MAX)
		return model_refuse(-EINVAL, "%s: dim %u: expected up to %u elements in each of %u heads",
				    what, c->dim, USHRT_MAX, c->n_heads);
	if (c->n_heads % c->n_kv_heads)
		return model_refuse(-EINVAL, "%s: KV heads %u: expected a divisor of %u heads", what,
				    c->n_kv_heads, c->n_heads);
	return 0;
}

static void derive(struct model *model, const struct model_config *config)
{
	*model = (struct model){ .config = *config };
	model->head_size = config->dim / config->n_heads;
	model->kv_dim = config->n_kv_heads * model->head_size;
}

/* FNV-1a. */
static uint64_t hash(uint64_t sum, const void *data, uint64_t bytes)
{
	const uint8_t *at = data;

	while (bytes--)
		sum = (sum ^ *at++) * 0x100000001b3ULL;
	return sum;
}

/* Give the arrays their places in memory, and the model its digest when they are filled. */
static int make_room(struct model *model, const struct array *arrays, uint32_t nr)
{
	float *at;
	uint32_t i;

	at = model->memory = malloc(count_elements(arrays, nr, false) * sizeof(float));
	if (!at)
		return model_refuse(-ENOMEM, "no memory for the weights");
	for (i = 0; i < nr; i++) {
		if (!arrays[i].at)
			continue;
		*arrays[i].at = at;
		at += arrays[i].nr;
	}
	if (!model->config.own_classifier)
		model->classifier = model->embedding;
	return 0;
}

static void make_digest(struct model *model, const struct array *arrays, uint32_t nr)
{
	const struct model_config *c = &model->config;
	const uint32_t sizes[] = { c->dim, c->hidden, c->n_layers, c->n_heads, c->n_kv_heads,
				   c->vocab, c->max_tokens, c->own_classifier };

	model->digest = hash(0xcbf29ce484222325ULL, sizes, sizeof(sizes));
	model->digest = hash(model->digest, model->memory,
			     count_elements(arrays, nr, false) * sizeof(float));
}

/* ---- checkpoints ---- */

#define NR_HEADER	7

static int read_header(FILE *file, const char *path, struct model_config *config)
{
	int32_t header[NR_HEADER];
	size_t got = fread(header, 1, sizeof(header), file);

	if (ferror(file))
		return model_refuse(-EIO, "%s: cannot be read", path);
	if (got < sizeof(header))
		return model_refuse(-EINVAL, "%s: header: %zu bytes: expected %zu", path, got,
				    sizeof(header));
	*config = (struct model_config){
		.dim = (uint32_t)header[0], .hidden = (uint32_t)header[1],
		.n_layers = (uint32_t)header[2], .n_heads = (uint32_t)header[3],
		.n_kv_heads = (uint32_t)header[4], .max_tokens = (uint32_t)header[6],
		.vocab = header[5] < 0 ? -(uint32_t)header[5] : (uint32_t)header[5],
		.own_classifier = header[5] < 0,
	};
	return check_config(path, config);
}

static int check_file_size(FILE *file, const char *path, uint64_t elements)
{
	uint64_t expected = NR_HEADER * sizeof(int32_t) + elements * sizeof(float);
	struct stat st;

	if (fstat(fileno(file), &st))
		return model_refuse(-errno, "%s: %s", path, strerror(errno));
	if ((uint64_t)st.st_size == expected)
		return 0;
	return model_refuse(-EINVAL, "%s: %llu bytes: expected %llu by its header", path,
			    (unsigned long long)st.st_size, (unsigned long long)expected);
}

static int read_array(FILE *file, const char *path, const struct array *array)
{
	float *to;
	uint64_t i;

	if (!array->at) {
		if (fseek(file, (long)(array->nr * sizeof(float)), SEEK_CUR))
			return model_refuse(-EIO, "%s: %s: cannot be read", path, array->name);
		return 0;
	}
	to = (float *)*array->at;
	if (fread(to, sizeof(float), array->nr, file) != array->nr)
		return model_refuse(-EIO, "%s: %s: cannot be read", path, array->name);
	for (i = 0; i < array->nr; i++)
		if (!isfinite(to[i]))
			return model_refuse(-EINVAL, "%s: %s: element %llu is %g: expected a number",
					    path, array->name, (unsigned long long)i, to[i]);
	return 0;
}

static int read_model(FILE *file, const char *path, struct model *model)
{
	struct array arrays[MAX_ARRAYS];
	struct model_config config;
	uint32_t nr, i;
	int err;

	err = read_header(file, path, &config);
	if (err)
		return err;
	derive(model, &config);
	nr = arrays_of(model, arrays);
	err = check_file_size(file, path, count_elements(arrays, nr, true));
	if (!err)
		err = make_room(model, arrays, nr);
	for (i = 0; i < nr && !err; i++)
		err = read_array(file, path, &arrays[i]);
	if (!err)
		make_digest(model, arrays, nr);
	return err;
}

int model_load(const char *path, struct model *model)
{
	struct model made = { 0 };
	FILE *file = fopen(path, "rb");
	int err;

	if (!file)
		return model_refuse(-errno, "%s: %s", path, strerror(errno));
	err = read_model(file, path, &made);
	fclose(file);
	if (err)
		model_drop(&made);
	else
		*model = made;
	return err;
}

/* ---- from a seed ---- */

/* -1 to 1, of as many bits as a float has. */
static float random_unit(__u64 *state)
{
	return (float)(int32_t)(kvpt_random(state) >> 40) / 8388608.0f - 1.0f;
}

/*
 * What is uniform in (-w, w) has variance w^2 / 3. After the norm inputs have variance 1, so
 * outputs of LINEAR have 1, too. Those of SHARP have 4: a score, the mean of head_size such
 * products times the root of head_size, then varies by some 4, which lets softmax choose few
 * tokens, and each turn of a pair by another position changes which.
 */
static float width_of(const struct array *array)
{
	switch (array->fill) {
	case FILL_EMBEDDING:
		return 1.0f;
	case FILL_NORM:
		return 0.25f;
	case FILL_SHARP:
		return sqrtf(12.0f / (float)array->columns);
	case FILL_CLASSIFIER:
	case FILL_LINEAR:
	case FILL_NONE:
		break;
	}
	return sqrtf(3.0f / (float)array->columns);
}

static void fill_array(const struct array *array, __u64 *state)
{
	float *to = (float *)*array->at, width = width_of(array);
	float centre = array->fill == FILL_NORM ? 1.0f : 0.0f;
	uint64_t i;

	for (i = 0; i < array->nr; i++)
		to[i] = centre + width * random_unit(state);
}

int model_synthetic(const struct model_config *config, uint64_t seed, struct model *model)
{
	struct array arrays[MAX_ARRAYS];
	__u64 state = seed;
	struct model made;
	uint32_t nr, i;
	int err;

	err = check_config("synthetic", config);
	if (err)
		return err;
	derive(&made, config);
	nr = arrays_of(&made, arrays);
	err = make_room(&made, arrays, nr);
	if (err)
		return err;
	for (i = 0; i < nr; i++)
		if (arrays[i].at)
			fill_array(&arrays[i], &state);
	make_digest(&made, arrays, nr);
	*model = made;
	return 0;
}

void model_drop(struct model *model)
{
	free(model->memory);
	*model = (struct model){ 0 };
}

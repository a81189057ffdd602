/* SPDX-License-Identifier: MIT */
/*
 * What the tests of tests/model share: models, engines that must open, token ids. Include <check.h>
 * and "pools.h" first.
 */
#ifndef MODELS_H
#define MODELS_H

#include <stdio.h>
#include <unistd.h>

#include "engine.h"
#include "random.h"

/* Trained weights, for those who have them. */
#define MODELS_STORIES	"../shared/models/stories260K.bin"

/* @expr, a call of tests/model, succeeds. */
#define model_ok(expr)								\
do {										\
	int model_got_ = (expr);						\
										\
	if (model_got_)								\
		ck_abort_msg("%s: %d: %s", #expr, model_got_, model_error());	\
} while (0)

/* It fails with @err, and the text has @word in it. */
#define model_refused(expr, err_, word)						\
do {										\
	int model_got_ = (expr);						\
										\
	if (model_got_ != (err_) || !strstr(model_error(), (word)))		\
		ck_abort_msg("%s: %d: %s; expected %d, \"%s\"", #expr, model_got_,	\
			     model_error(), (err_), (word));			\
} while (0)

/* Two arrays of floats are the same bits. */
#define model_same_bits(a, b, nr)						\
do {										\
	uint64_t model_i_, model_nr_ = (nr);					\
										\
	for (model_i_ = 0; model_i_ < model_nr_; model_i_++)			\
		if (memcmp(&(a)[model_i_], &(b)[model_i_], sizeof(float)))	\
			ck_abort_msg("%s: element %llu is %a, expected %a", #a,	\
				     (unsigned long long)model_i_,		\
				     (double)(a)[model_i_], (double)(b)[model_i_]);	\
} while (0)

enum { MODELS_TIED, MODELS_OWN, MODELS_TRAINED, MODELS_NR };

/* Made once, before the tests are forked. */
static struct model models[MODELS_NR];

static inline bool models_have_stories(void)
{
	return !access(MODELS_STORIES, R_OK);
}

/* All there are; returns how many. */
static inline int models_make(void)
{
	/* No size divides another one for nothing. */
	static const struct model_config tied = {
		.dim = 48, .hidden = 72, .n_layers = 3, .n_heads = 6, .n_kv_heads = 2,
		.vocab = 97, .max_tokens = 256,
	};
	static const struct model_config own = {
		.dim = 40, .hidden = 56, .n_layers = 2, .n_heads = 4, .n_kv_heads = 4,
		.vocab = 61, .max_tokens = 200, .own_classifier = true,
	};

	model_ok(model_synthetic(&tied, 1, &models[MODELS_TIED]));
	model_ok(model_synthetic(&own, 2, &models[MODELS_OWN]));
	if (!models_have_stories()) {
		printf("%s is not there: skipped for it\n", MODELS_STORIES);
		return MODELS_TRAINED;
	}
	model_ok(model_load(MODELS_STORIES, &models[MODELS_TRAINED]));
	return MODELS_NR;
}

static inline void models_drop(void)
{
	int i;

	for (i = 0; i < MODELS_NR; i++)
		model_drop(&models[i]);
}

/* Ids that follow from @seed; none is special to the trained model but the first. */
static inline void models_ids(const struct model *model, uint64_t seed, uint32_t *ids, uint32_t nr)
{
	__u64 state = seed;
	uint32_t i;

	for (i = 0; i < nr; i++)
		ids[i] = 3 + kvpt_below(&state, model->config.vocab - 3);
}

/* An engine on a pool of this process. */
static inline void models_engine(struct engine *engine, const struct model *model,
				 uint32_t block_tokens, const char *layout)
{
	const struct engine_options options = {
		.pool = "inproc:model", .block_tokens = block_tokens, .layout = layout,
		.shuffle = 5,
	};

	model_ok(engine_open(engine, model, &options));
}

/* A second client of the same pool. */
static inline void models_join(struct engine *engine, const struct engine *first,
			       const char *layout)
{
	const struct engine_options options = {
		.pool = "inproc:model", .block_tokens = first->block_tokens, .layout = layout,
	};

	model_ok(engine_open(engine, first->model, &options));
}

/* All is in order in the pool, and the engine is closed. */
static inline void models_close(struct engine *engine)
{
	kvpr_sound(engine->pool);
	engine_close(engine);
}

#endif /* MODELS_H */

// SPDX-License-Identifier: MIT
/*
 * The engine's sequences, and the steps that compute them. Owns what is noted of tokens.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pass.h"

/* ---- sequences ---- */

static int check_ids(const struct engine *engine, const uint32_t *tokens, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		if (tokens[i] >= engine->model->config.vocab)
			return model_refuse(-EINVAL, "token %u: id %u: expected one below %u", i,
					    tokens[i], engine->model->config.vocab);
	return 0;
}

static int make_room(struct engine_seq *seq, uint32_t nr)
{
	struct engine_token *token;

	if (nr <= seq->room)
		return 0;
	nr += nr / 2;
	token = realloc(seq->token, nr * sizeof(*token));
	if (!token)
		return model_refuse(-ENOMEM, "no memory for %u tokens", nr);
	seq->token = token;
	seq->room = nr;
	return 0;
}

/* They are where plain tokens are, until a step says otherwise. */
static void note(struct engine_seq *seq, const uint32_t *tokens, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++, seq->nr++)
		seq->token[seq->nr] = (struct engine_token){ .id = tokens[i],
							     .position = seq->nr };
}

int engine_create(struct engine *engine, const uint32_t *tokens, uint32_t nr, uint32_t flags,
		  struct engine_seq *seq)
{
	const struct kvp_prompt prompt = {
		.space = engine->space, .tokens = tokens, .nr_tokens = nr,
		.match_limit = nr ? nr - 1 : 0,
	};
	struct engine_seq made = { 0 };
	uint64_t matched = 0;
	int err;

	/* A limit of 0 is none: of one token nothing may be taken. */
	if (nr <= 1)
		flags |= KVP_SEQ_NO_MATCH;
	if ((err = check_ids(engine, tokens, nr)) || (err = make_room(&made, nr + 1)))
		return err;
	err = kvp_seq_create(engine->pool, &prompt, flags, 0, &made.id, &matched);
	if (err) {
		free(made.token);
		return engine_refused(err);
	}
	note(&made, tokens, nr);
	made.computed = (uint32_t)matched;
	*seq = made;
	return 0;
}

int engine_append(struct engine *engine, struct engine_seq *seq, const uint32_t *tokens,
		  uint32_t nr)
{
	int err;

	if ((err = check_ids(engine, tokens, nr)) || (err = make_room(seq, seq->nr + nr)))
		return err;
	err = kvp_seq_append_at(engine->pool, seq->id, seq->nr, tokens, nr, NULL, 0, 0);
	if (err)
		return engine_refused(err);
	note(seq, tokens, nr);
	return 0;
}

int engine_fork(struct engine *engine, const struct engine_seq *seq, uint32_t tokens,
		struct engine_seq *child)
{
	struct engine_seq made = { 0 };
	int err;

	err = make_room(&made, tokens + 1);
	if (err)
		return err;
	err = kvp_seq_fork(engine->pool, seq->id, tokens, &made.id);
	if (err) {
		free(made.token);
		return engine_refused(err);
	}
	memcpy(made.token, seq->token, tokens * sizeof(*made.token));
	made.nr = made.computed = tokens;
	*child = made;
	return 0;
}

int engine_truncate(struct engine *engine, struct engine_seq *seq, uint32_t tokens)
{
	int err = kvp_seq_truncate(engine->pool, seq->id, tokens);

	if (err)
		return engine_refused(err);
	seq->nr = tokens;
	if (seq->computed > tokens)
		seq->computed = tokens;
	return 0;
}

int engine_publish(struct engine *engine, struct engine_seq *seq, uint64_t *published)
{
	int err = kvp_publish(engine->pool, seq->id, published);

	return err ? engine_refused(err) : 0;
}

int engine_free(struct engine *engine, struct engine_seq *seq)
{
	int err = seq->id ? kvp_seq_free(engine->pool, seq->id) : 0;

	if (err)
		return engine_refused(err);
	free(seq->token);
	*seq = (struct engine_seq){ 0 };
	return 0;
}

void engine_removed(struct engine_seq *seq, uint32_t from, uint32_t to, bool reposition)
{
	uint32_t i, root;

	for (i = from; i < seq->nr - (to - from); i++) {
		struct engine_token *token = &seq->token[i];

		*token = seq->token[i + (to - from)];
		root = token->root;
		if (root > from)
			token->root -= (root < to ? root : to) - from;
		if (reposition)
			token->position = i;
	}
	seq->nr -= to - from;
	if (seq->computed > from)
		seq->computed -= (seq->computed < to ? seq->computed : to) - from;
}

/* ---- steps ---- */

static int check_step(const struct engine *engine, const struct engine_seq *seq,
		      const struct engine_step *step)
{
	uint32_t first = seq->computed, i;

	if (!step->nr || step->nr > seq->nr - first)
		return model_refuse(-EINVAL, "step of %u tokens: expected 1 to %u, which are to be computed",
				    step->nr, seq->nr - first);
	if (step->segment ? step->root > first : step->root != 0)
		return model_refuse(-EINVAL, "root of %u tokens: expected at most %u", step->root,
				    step->segment ? first : 0);
	for (i = 0; i < step->root; i++)
		if (seq->token[i].segment)
			return model_refuse(-EINVAL, "root of %u tokens: token %u is of segment %u",
					    step->root, i, seq->token[i].segment);
	for (i = 0; i < step->nr; i++) {
		int64_t position = step->positions ? step->positions[i] :
				   (int64_t)first + i + step->offset;

		if (position < 0 || position >= engine->nr_positions)
			return model_refuse(-EINVAL, "token %u: position %lld: expected one below %u",
					    first + i, (long long)position, engine->nr_positions);
	}
	return 0;
}

static void note_step(struct engine_seq *seq, const struct engine_step *step)
{
	uint32_t i, index;

	for (i = 0; i < step->nr; i++) {
		index = seq->computed + i;
		seq->token[index].position = step->positions ? step->positions[i] :
					     index + (uint32_t)step->offset;
		seq->token[index].segment = step->segment;
		seq->token[index].root = step->root;
	}
}

/* The blocks that hold the first @tokens tokens; *@blocks is to be freed. */
static int read_table(const struct engine *engine, const struct engine_seq *seq, uint32_t tokens,
		      uint64_t **blocks)
{
	uint32_t nr = (tokens - 1) / engine->block_tokens + 1;
	uint64_t *made = malloc(nr * sizeof(*made));
	int err;

	if (!made)
		return model_refuse(-ENOMEM, "no memory for a table of %u blocks", nr);
	err = kvp_seq_table(engine->pool, seq->id, 0, 0, made, &nr);
	if (err) {
		free(made);
		return engine_refused(err);
	}
	*blocks = made;
	return 0;
}

int engine_compute(struct engine *engine, struct engine_seq *seq, const struct engine_step *step,
		   float *logits)
{
	struct pass pass = { .engine = engine, .token = seq->token, .first = seq->computed,
			     .nr = step->nr };
	uint64_t *blocks;
	int err;

	if ((err = check_step(engine, seq, step)) ||
	    (err = read_table(engine, seq, seq->computed + step->nr, &blocks)))
		return err;
	pass.blocks = blocks;
	note_step(seq, step);
	err = pass_run(&pass, step->all, logits);
	free(blocks);
	if (err)
		return err;
	err = kvp_seq_advance(engine->pool, seq->id, seq->computed + step->nr);
	if (err)
		return engine_refused(err);
	seq->computed += step->nr;
	return 0;
}

int engine_forward(struct engine *engine, struct engine_seq *seq, const uint32_t *tokens,
		   uint32_t nr, float *logits)
{
	struct engine_step step = { 0 };
	int err = engine_append(engine, seq, tokens, nr);

	if (err)
		return err;
	step.nr = seq->nr - seq->computed;
	return engine_compute(engine, seq, &step, logits);
}

int engine_generate(struct engine *engine, struct engine_seq *seq, int32_t offset,
		    float *logits, uint32_t *ids, uint32_t nr)
{
	const struct engine_step step = { .nr = 1, .offset = offset };
	uint32_t i;
	int err;

	for (i = 0; i < nr; i++) {
		ids[i] = model_greedy(logits, engine->model->config.vocab);
		if ((err = engine_append(engine, seq, &ids[i], 1)) ||
		    (err = engine_compute(engine, seq, &step, logits)))
			return err;
	}
	return 0;
}

/* ---- rows ---- */

int engine_read(struct engine *engine, const struct engine_seq *seq, enum engine_plane plane,
		uint32_t first, uint32_t nr, float *rows)
{
	const struct model *model = engine->model;
	uint32_t n = engine->block_tokens, i, layer, head;
	uint64_t *blocks;
	int err;

	if (!nr || nr > seq->computed || first > seq->computed - nr)
		return model_refuse(-EINVAL, "rows of %u tokens from %u on: expected an end of at most %u",
				    nr, first, seq->computed);
	err = read_table(engine, seq, first + nr, &blocks);
	if (err)
		return err;
	for (i = first; i < first + nr; i++)
	for (layer = 0; layer < model->config.n_layers; layer++)
	for (head = 0; head < model->config.n_kv_heads; head++, rows += model->head_size)
		pass_load(engine, plane, layer, blocks[i / n], i % n, head, rows);
	free(blocks);
	return 0;
}

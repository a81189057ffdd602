/* SPDX-License-Identifier: MIT */
/*
 * An engine: runs a transformer (transformer.h) whose keys and values lie in a pool and nowhere
 * else. Each token has three rows a layer: K as attention reads it, V, and KRAW, which is K before
 * it was rotated to the token's position. Attention reads them through the sequence's block table,
 * so it sees whatever the pool says that the sequence is.
 *
 * The engine maps the pool's memory itself and tells the library how it lays out its planes there
 * (kvp_pool_set_geometry()). So engines in other processes that open the same pool with the same
 * model and layout share what is published.
 *
 * Functions return 0 or a negative errno, and model_error() says what was wrong; where the
 * library refused, the text is kvp_error()'s. On an error nothing has changed, unless a function
 * says otherwise. An engine and its sequences are for one thread at a time.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include <stddef.h>

#include <kvpool.h>

#include "transformer.h"

/* The planes of the engine's geometry. */
enum engine_plane { ENGINE_K, ENGINE_V, ENGINE_KRAW, ENGINE_NR_PLANES };

/**
 * struct engine_options - how to keep KV; zero is the default of everything but @pool
 * @pool: name of the pool, as kvp_pool_open() takes it, without options; it is made if there is
 *        none, and must be empty of other engines' sequences else
 * @block_tokens: tokens of a block; 0: 16
 * @blocks: blocks of the pool; 0: as many as four sequences of full length need
 * @layout: the order of the indices in memory, outermost first: L layer, B block, N token of a
 *          block, H head, D element, P plane. NULL: "PLBNHD"
 * @positions: tokens stand at positions below it; 0: twice the context of the model
 * @shuffle: not 0: seed by which the pool's free blocks are shuffled first, so that tables are in
 *           no order. Only before anything else happens in the pool
 */
struct engine_options {
	const char *pool;
	uint32_t block_tokens;
	uint32_t blocks;
	const char *layout;
	uint32_t positions;
	uint64_t shuffle;
};

/**
 * struct engine - a model on a pool; read only for callers
 * @model: the model
 * @pool: its client
 * @space: namespace of everything that it publishes
 * @geometry: where the planes are
 * @block_tokens: tokens of a block
 * @nr_positions: see options
 * @table: cosines and sines, as struct kvp_rope has them
 * @memory: the pool's memory, mapped
 */
struct engine {
	const struct model *model;
	struct kvp_pool *pool;
	uint8_t space[KVP_DIGEST_LEN];
	struct kvp_geometry geometry;
	uint32_t block_tokens;
	uint32_t nr_positions;
	float *table;
	struct kvp_memory memory;
};

/* @model stays the caller's and must outlive the engine. To be ended with engine_close(). */
int engine_open(struct engine *engine, const struct model *model,
		const struct engine_options *options);

/* Its sequences end with it, but for their memory: free them before. */
void engine_close(struct engine *engine);

/* ---- sequences ------------------------------------------------------------------- */

/**
 * struct engine_token - what the engine knows of a token beside its rows
 * @id: its id
 * @position: at which its K stands
 * @segment: 0: it attends to all before it. Else it belongs to that isolated segment, and attends
 *           to those before it that are of the root or of the same segment
 * @root: tokens of the root; 0 where @segment is 0
 */
struct engine_token {
	uint32_t id;
	uint32_t position;
	uint32_t segment;
	uint32_t root;
};

/**
 * struct engine_seq - a sequence
 * @id: of its pool; 0: there is none
 * @nr: tokens whose ids are known
 * @computed: those of them whose rows are written
 * @room: of @token
 * @token: each token
 */
struct engine_seq {
	kvp_seq_t id;
	uint32_t nr;
	uint32_t computed;
	uint32_t room;
	struct engine_token *token;
};

/*
 * Begin a sequence with @nr tokens, 0 allowed. What is published of them need not be computed, but
 * for the last token, whose logits are wanted: @seq->computed says how many those are.
 * With KVP_SEQ_NO_MATCH in @flags all are to be computed. To be ended with engine_free().
 */
int engine_create(struct engine *engine, const uint32_t *tokens, uint32_t nr, uint32_t flags,
		  struct engine_seq *seq);

/* Tokens that follow. */
int engine_append(struct engine *engine, struct engine_seq *seq, const uint32_t *tokens,
		  uint32_t nr);

/* A second sequence on the first @tokens computed tokens of @seq. */
int engine_fork(struct engine *engine, const struct engine_seq *seq, uint32_t tokens,
		struct engine_seq *child);

/* Drop all but the first @tokens tokens. */
int engine_truncate(struct engine *engine, struct engine_seq *seq, uint32_t tokens);

/* Let others find the full nodes of what is computed; *@published (may be NULL) tokens. */
int engine_publish(struct engine *engine, struct engine_seq *seq, uint64_t *published);

/* Does nothing to one that is all zero. */
int engine_free(struct engine *engine, struct engine_seq *seq);

/*
 * For whoever took tokens [@from, @to) out of the sequence in the pool: the engine's own notes do
 * the same. The tokens behind stand at their indices from now on with @reposition, else where
 * they stood. Touches no rows.
 */
void engine_removed(struct engine_seq *seq, uint32_t from, uint32_t to, bool reposition);

/* ---- steps ----------------------------------------------------------------------- */

/**
 * struct engine_step - what to compute; zero is the default of everything but @nr
 * @nr: so many tokens, from the first on that is not computed; > 0
 * @positions: of each; NULL: its index in the sequence plus @offset
 * @offset: read without @positions
 * @segment: 0, or the number of the isolated segment that they belong to
 * @root: with @segment: the root is tokens [0, root) of the sequence; none of them in a segment
 * @all: logits of each token are wanted, not of the last one only
 */
struct engine_step {
	uint32_t nr;
	const uint32_t *positions;
	int32_t offset;
	uint32_t segment;
	uint32_t root;
	bool all;
};

/*
 * Compute: rows of the tokens are written, and @logits (may be NULL) gets vocab floats, of the last
 * token or, with step->all, of each. However a sequence is cut into steps, the bits are the same.
 */
int engine_compute(struct engine *engine, struct engine_seq *seq, const struct engine_step *step,
		   float *logits);

/*
 * Append @nr tokens and compute all that is not computed, each at its index. After an error the
 * tokens may have been appended.
 */
int engine_forward(struct engine *engine, struct engine_seq *seq, const uint32_t *tokens,
		   uint32_t nr, float *logits);

/*
 * Greedy text: @nr times, the likeliest token by @logits becomes the next one of @ids, is appended
 * and computed at its index plus @offset. @logits, of the last token, are in the end those of the
 * last id. After an error some may have been computed.
 */
int engine_generate(struct engine *engine, struct engine_seq *seq, int32_t offset,
		    float *logits, uint32_t *ids, uint32_t nr);

/* ---- rows ------------------------------------------------------------------------ */

/*
 * Elements of @plane of a computed token, [layer][KV head][element], as they lie in the pool; of
 * all @nr tokens of [@first, @first + @nr), one after the other.
 */
int engine_read(struct engine *engine, const struct engine_seq *seq, enum engine_plane plane,
		uint32_t first, uint32_t nr, float *rows);

#endif /* ENGINE_H */

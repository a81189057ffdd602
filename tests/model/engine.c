// SPDX-License-Identifier: MIT
/*
 * The engine: a pool with the model's planes in it. Owns the mapping of the pool's memory and the
 * table of cosines and sines.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pass.h"
#include "random.h"

#define BLOCK_TOKENS	16		/* default */
#define LAYOUT		"PLBNHD"	/* default */
#define THETA		10000.0		/* of llama2.c's models */

int engine_refused(int err)
{
	return model_refuse(err, "%s", kvp_error()->text);
}

/* ---- the planes ---- */

#define NR_INDICES	6

/* What one step along an index of the layout skips, and the bytes of all. */
struct strides {
	int64_t of[256];
	uint64_t bytes;
};

static int strides_of(const struct model *model, const struct engine_options *options,
		      struct strides *strides)
{
	const struct { char index; uint64_t count; } sizes[NR_INDICES] = {
		{ 'P', ENGINE_NR_PLANES }, { 'L', model->config.n_layers },
		{ 'B', options->blocks }, { 'N', options->block_tokens },
		{ 'H', model->config.n_kv_heads }, { 'D', model->head_size },
	};
	const char *layout = options->layout;
	uint32_t i, at;

	*strides = (struct strides){ .bytes = sizeof(float) };
	if (strlen(layout) != NR_INDICES)
		return model_refuse(-EINVAL, "layout \"%s\": expected %u letters", layout,
				    NR_INDICES);
	for (at = NR_INDICES; at--;) {
		for (i = 0; i < NR_INDICES && sizes[i].index != layout[at]; i++)
			;
		if (i == NR_INDICES || strides->of[(uint8_t)layout[at]])
			return model_refuse(-EINVAL, "layout \"%s\": %c: expected each of PLBNHD once",
					    layout, layout[at]);
		strides->of[(uint8_t)layout[at]] = (int64_t)strides->bytes;
		strides->bytes *= sizes[i].count;
	}
	if (strides->of['D'] > INT32_MAX)
		return model_refuse(-EINVAL, "layout \"%s\": %lld bytes from element to element: expected fewer",
				    layout, (long long)strides->of['D']);
	return 0;
}

static void describe_plane(const struct engine *engine, const struct strides *s,
			   enum engine_plane which, enum kvp_role role, struct kvp_plane *plane)
{
	const struct model *model = engine->model;
	bool whole = s->of['D'] == sizeof(float);

	*plane = (struct kvp_plane){
		.base = engine->memory.base + which * (uint64_t)s->of['P'],
		.layer_stride = s->of['L'], .block_stride = s->of['B'],
		.token_stride = s->of['N'], .head_stride = s->of['H'],
		.n_heads = (uint16_t)model->config.n_kv_heads,
		.n_elems = (uint16_t)model->head_size,
		.vec = whole ? (uint16_t)model->head_size : 1,
		.vec_stride = whole ? 0 : (int32_t)s->of['D'],
		.dtype = KVP_DTYPE_F32,
		.role = (uint8_t)role,
		.flags = role == KVP_ROLE_KRAW ? KVP_PLANE_OF(ENGINE_K) : 0,
	};
}

static int set_geometry(struct engine *engine, const struct engine_options *options,
			const struct strides *strides)
{
	struct kvp_geometry *g = &engine->geometry;

	*g = (struct kvp_geometry){
		.flags = KVP_GEOMETRY_REPOSITION,
		.n_layers = engine->model->config.n_layers,
		.n_blocks = options->blocks,
		.block_tokens = options->block_tokens,
		.n_planes = ENGINE_NR_PLANES,
		.n_ropes = 1,
		.n_memory = 1,
		.n_positions = engine->nr_positions,
		.memory = &engine->memory,
		.rope[0] = { .table = engine->table, .n_pos = engine->nr_positions,
			     .rot_dim = (uint16_t)engine->model->head_size,
			     .style = KVP_ROPE_GPTJ, .profile = KVP_PROFILE_F32 },
	};
	describe_plane(engine, strides, ENGINE_K, KVP_ROLE_K, &g->plane[ENGINE_K]);
	describe_plane(engine, strides, ENGINE_V, KVP_ROLE_V, &g->plane[ENGINE_V]);
	describe_plane(engine, strides, ENGINE_KRAW, KVP_ROLE_KRAW, &g->plane[ENGINE_KRAW]);
	return kvp_pool_set_geometry(engine->pool, 0, g) ? engine_refused(kvp_error()->err) : 0;
}

static int make_table(struct engine *engine)
{
	const struct kvp_rope_params params = {
		.scaling = KVP_SCALING_PLAIN, .rot_dim = engine->model->head_size, .theta = THETA,
	};

	engine->table = malloc(sizeof(float) * engine->nr_positions * engine->model->head_size);
	if (!engine->table)
		return model_refuse(-ENOMEM, "no memory for %u positions", engine->nr_positions);
	if (kvp_rope_table(&params, 0, engine->nr_positions, engine->table))
		return engine_refused(kvp_error()->err);
	return 0;
}

/* ---- the pool ---- */

static int map_memory(struct engine *engine)
{
	struct kvp_backing backing;
	void *at;

	if (kvp_backing_get(engine->pool, 0, &backing))
		return engine_refused(kvp_error()->err);
	at = mmap(NULL, backing.length, PROT_READ | PROT_WRITE, MAP_SHARED, backing.fd, 0);
	close(backing.fd);
	if (at == MAP_FAILED)
		return model_refuse(-errno, "mapping the pool's memory: %s", strerror(errno));
	engine->memory = (struct kvp_memory){ (uint64_t)(uintptr_t)at, backing.length };
	return 0;
}

/* All blocks are taken and given back in another order, in which they are taken again. */
static int shuffle(struct engine *engine, uint32_t nr, uint64_t seed)
{
	uint64_t *blocks = malloc(nr * sizeof(*blocks)), block;
	__u64 state = seed;
	uint32_t i, other;
	int err;

	if (!blocks)
		return model_refuse(-ENOMEM, "no memory to shuffle %u blocks", nr);
	err = kvp_blocks_alloc(engine->pool, 0, blocks, nr);
	for (i = nr; i && !err; i--) {
		other = kvpt_below(&state, i);
		block = blocks[other];
		blocks[other] = blocks[i - 1];
		err = kvp_blocks_unref(engine->pool, &block, 1);
	}
	free(blocks);
	return err ? engine_refused(err) : 0;
}

static int make_space(struct engine *engine, const char *layout)
{
	char model[64], bytes[64];
	const struct kvp_identity identity = {
		.model = model, .rope = "plain, theta 10000", .dtype = "f32", .layout = bytes,
		.mask = "causal",
	};

	snprintf(model, sizeof(model), "tests/model %016llx",
		 (unsigned long long)engine->model->digest);
	snprintf(bytes, sizeof(bytes), "%s", layout);
	return kvp_identity_digest(&identity, engine->space) ? engine_refused(kvp_error()->err) : 0;
}

static int open_pool(struct engine *engine, const struct engine_options *o)
{
	char uri[256];
	int nr;

	nr = snprintf(uri, sizeof(uri), "%s?blocks=%u&block_tokens=%u&row_bytes=%u&dtype=f32",
		      o->pool, o->blocks, o->block_tokens,
		      (uint32_t)(ENGINE_NR_PLANES * sizeof(float)) *
		      engine->model->config.n_layers * engine->model->kv_dim);
	if (nr >= (int)sizeof(uri))
		return model_refuse(-EINVAL, "pool: a name of %zu characters", strlen(o->pool));
	return kvp_pool_open(uri, &engine->pool) ? engine_refused(kvp_error()->err) : 0;
}

int engine_open(struct engine *engine, const struct model *model,
		const struct engine_options *options)
{
	struct engine_options o = *options;
	struct engine made = { .model = model };
	struct strides strides;
	int err;

	o.block_tokens = o.block_tokens ? o.block_tokens : BLOCK_TOKENS;
	o.layout = o.layout ? o.layout : LAYOUT;
	if (!o.blocks)
		o.blocks = 4 * (model->config.max_tokens / o.block_tokens + 1);
	made.block_tokens = o.block_tokens;
	made.nr_positions = o.positions ? o.positions : 2 * model->config.max_tokens;
	if ((err = strides_of(model, &o, &strides)) ||
	    (err = make_table(&made)) ||
	    (err = make_space(&made, o.layout)) ||
	    (err = open_pool(&made, &o)) ||
	    (err = o.shuffle ? shuffle(&made, o.blocks, o.shuffle) : 0) ||
	    (err = map_memory(&made)) ||
	    (err = set_geometry(&made, &o, &strides)))
		engine_close(&made);
	else
		*engine = made;
	return err;
}

void engine_close(struct engine *engine)
{
	kvp_pool_close(engine->pool);
	if (engine->memory.base)
		munmap((void *)(uintptr_t)engine->memory.base, engine->memory.size);
	free(engine->table);
	*engine = (struct engine){ 0 };
}

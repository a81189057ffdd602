// SPDX-License-Identifier: MIT
/*
 * What a client does with blocks of its own tables: writes and reads them, gives them back with
 * work on its way, and reads published prefixes that it found by a match.
 */
#include "stamps.h"

#define STREAM	(STAMPS_STREAMS - 1)

static uint64_t first_row(uint64_t block)
{
	return KVP_BLOCK_INDEX(block) * STAMPS_BLOCK;
}

static void give_back(struct engine *engine, const uint64_t *blocks, uint32_t nr)
{
	if (engine->ops->busy(engine, STREAM))
		stamps_count(engine->stamps, raw, nr);
	engine_check("unref", kvp_blocks_unref(engine->pool, blocks, nr));
}

static void take(struct engine *engine, struct stamps_raw *raw)
{
	int err;

	raw->family = stamps_below(&engine->random, STAMPS_FAMILIES);
	raw->nr = 1 + stamps_below(&engine->random, STAMPS_RAW_BLOCKS);
	err = kvp_blocks_alloc(engine->pool, raw->family, raw->block, raw->nr);
	if (engine_full(engine, err))
		return;
	engine_check("alloc", err);
	raw->owner = engine_owner(engine);
	raw->written = false;
	atomic_store(&raw->state, RAW_HELD);
}

void engine_raw_cancel(struct engine *engine, uint32_t at)
{
	struct stamps_raw *raw = &engine->raw[at];
	uint32_t held = RAW_HELD;

	if (!atomic_compare_exchange_strong(&raw->state, &held, RAW_LEAVING))
		return;
	give_back(engine, raw->block, raw->nr);
	atomic_store(&raw->state, RAW_NONE);
}

static void say_blocks(struct kvp_use_entry *uses, const uint64_t *blocks, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		uses[i] = (struct kvp_use_entry){ .kind = KVP_USE_BLOCK, .id = blocks[i] };
}

/* ---- blocks of its own ---- */

static bool fill_own(struct engine *engine, struct order *order, void *arg)
{
	const struct stamps_raw *raw = arg;
	uint32_t i, k;

	for (i = 0; i < raw->nr; i++) {
		for (k = 0; k < STAMPS_BLOCK; k++) {
			const struct stamp stamp = {
				.owner = raw->owner,
				.content = raw->owner * 1000003 + i * STAMPS_BLOCK + k,
			};

			order_row(order, raw->family, first_row(raw->block[i]) + k,
				  raw->written ? ROW_OWN : ROW_WRITE, stamp);
		}
	}
	return true;
}

/* The first step writes the blocks, later ones read them. */
static void use_own(struct engine *engine, struct stamps_raw *raw)
{
	struct kvp_use_entry uses[STAMPS_RAW_BLOCKS];

	say_blocks(uses, raw->block, raw->nr);
	if (engine_step(engine, STREAM, uses, raw->nr, fill_own, raw))
		raw->written = true;
}

/* ---- others' blocks, found by a match ---- */

struct found {
	uint64_t block[STAMPS_DOC_TOKENS / STAMPS_BLOCK];
	uint32_t nr;
	uint32_t token[STAMPS_DOC_TOKENS];
	uint64_t content[STAMPS_DOC_TOKENS];
};

static bool fill_found(struct engine *engine, struct order *order, void *arg)
{
	const struct found *found = arg;
	uint32_t i;

	for (i = 0; i < found->nr * STAMPS_BLOCK; i++) {
		const struct stamp stamp = { .content = found->content[i] };

		order_row(order, 0, first_row(found->block[i / STAMPS_BLOCK]) + i % STAMPS_BLOCK,
			  ROW_READ, stamp);
	}
	return true;
}

/* A step reads a prefix of which nothing is held any more once it is on its way. */
static void read_prefix(struct engine *engine)
{
	struct found found = { .nr = STAMPS_DOC_TOKENS / STAMPS_BLOCK };
	struct kvp_use_entry uses[STAMPS_DOC_TOKENS / STAMPS_BLOCK];
	const struct kvp_prompt prompt = {
		.space = engine->space, .tokens = found.token, .nr_tokens = STAMPS_DOC_TOKENS,
	};
	kvp_match_t match;
	int err;

	stamps_doc(stamps_below(&engine->random, STAMPS_DOCS), found.token, found.content);
	err = kvp_match_blocks(engine->pool, &prompt, 0, found.block, &found.nr, &match, NULL);
	engine_check("match", err);
	if (!match)
		return;
	err = kvp_blocks_ref_match(engine->pool, match, 0, found.block, found.nr);
	/* Idle ones may be what another call was just granted. */
	if (!engine_full(engine, err))
		engine_check("ref", err);
	engine_check("release", kvp_match_release(engine->pool, match));
	if (err)
		return;
	say_blocks(uses, found.block, found.nr);
	engine_step(engine, STREAM, uses, found.nr, fill_found, &found);
	give_back(engine, found.block, found.nr);
}

void engine_raw_act(struct engine *engine)
{
	struct stamps_raw *raw = &engine->raw[stamps_below(&engine->random, STAMPS_RAWS)];

	if (!stamps_below(&engine->random, 3))
		read_prefix(engine);
	else if (atomic_load(&raw->state) == RAW_NONE)
		take(engine, raw);
	else if (atomic_load(&raw->state) == RAW_HELD)
		use_own(engine, raw);
}

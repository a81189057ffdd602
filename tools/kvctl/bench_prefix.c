// SPDX-License-Identifier: MIT
/*
 * Benchmarks of the prefix index: match, create from a published prefix, publish, reclaim.
 * Each checks what the calls say, and leaves its scene as it was.
 */
#include <errno.h>
#include <string.h>

#include "bench.h"

#define MATCH_BYTES	(1UL << 20)	/* token ids of the prompts of one timed part */
#define MATCH_BLOCKS	1024		/* blocks of one timed part at least */
#define MATCH_PARTS	4

/**
 * struct prompts - prompts of published prefixes, one after the other in scene->ids
 * @nr: how many
 * @blocks: of all
 * @prefix: each one's
 * @at: index of its first token id
 */
struct prompts {
	uint32_t nr;
	uint64_t blocks;
	const struct bench_prefix *prefix[BENCH_WORK / 64];
	uint64_t at[BENCH_WORK / 64];
};

/*
 * Random prompts. Their ids are made here, so they are as warm in the caches as those that a
 * tokenizer has just written; what the pool knows of them is as cold as chance has it.
 */
static void choose_prompts(struct bench_scene *scene, struct prompts *prompts)
{
	uint64_t want = MATCH_BYTES / (scene->tokens * sizeof(*scene->ids));
	const struct bench_prefix *prefix;

	if (want < MATCH_BLOCKS)
		want = MATCH_BLOCKS;
	if (want > BENCH_WORK)
		want = BENCH_WORK;
	prompts->nr = 0;
	prompts->blocks = 0;
	while (true) {
		prefix = &scene->prefixes[bench_random(&scene->random) % scene->nr_prefixes];
		if (prompts->nr && prompts->blocks + prefix->blocks > want)
			break;
		prompts->prefix[prompts->nr] = prefix;
		prompts->at[prompts->nr++] = prompts->blocks * scene->tokens;
		bench_tokens(prefix->id, 0, (uint64_t)prefix->blocks * scene->tokens,
			     scene->ids + prompts->blocks * scene->tokens);
		prompts->blocks += prefix->blocks;
	}
}

/* Match and hold a prompt, with its block ids, and release it. */
static int match_hold(struct bench_scene *scene, const struct prompts *prompts, uint32_t i)
{
	struct kvp_prefix_match match = {
		.head.flags = KVP_MATCH_HOLD,
		.tokens = (uintptr_t)(scene->ids + prompts->at[i]),
		.nr_tokens = prompts->prefix[i]->blocks * scene->tokens,
		.blocks = (uintptr_t)scene->blocks,
		.nr_blocks = prompts->prefix[i]->blocks,
	};
	struct kvp_prefix_release release = { 0 };
	int err;

	memcpy(match.space, scene->space, sizeof(match.space));
	err = kvp_pool_call(scene->pool, KVP_OP_PREFIX_MATCH, &match, sizeof(match));
	if (err)
		return bench_failed(scene, "prefix_match", err);
	if (match.matched != match.nr_tokens)
		return bench_wrong(scene, "tokens matched", match.matched, match.nr_tokens);
	if (match.nr_blocks != prompts->prefix[i]->blocks)
		return bench_wrong(scene, "blocks matched", match.nr_blocks,
				   prompts->prefix[i]->blocks);
	release.match = match.match;
	err = kvp_pool_call(scene->pool, KVP_OP_PREFIX_RELEASE, &release, sizeof(release));
	return err ? bench_failed(scene, "prefix_release", err) : 0;
}

/* Begin a sequence with a prompt that is published as a whole, and free it. */
static int create_free(struct bench_scene *scene, const struct prompts *prompts, uint32_t i)
{
	struct kvp_prompt prompt = {
		.space = scene->space,
		.tokens = scene->ids + prompts->at[i],
		.nr_tokens = prompts->prefix[i]->blocks * scene->tokens,
	};
	uint64_t matched;
	kvp_seq_t seq;
	int err;

	err = kvp_seq_create(scene->pool, &prompt, 0, 0, &seq, &matched);
	if (err)
		return bench_failed(scene, "seq_create", err);
	if (matched != prompt.nr_tokens)
		return bench_wrong(scene, "tokens matched", matched, prompt.nr_tokens);
	err = kvp_seq_free(scene->pool, seq);
	return err ? bench_failed(scene, "seq_free", err) : 0;
}

/* The token ids are warm again, where all else is not. */
static int evict_but_ids(const struct bench_scene *scene, const struct prompts *prompts)
{
	volatile const uint32_t *ids = scene->ids;
	uint64_t nr = prompts->blocks * scene->tokens, i;
	int err = bench_floor_evict();

	for (i = 0; !err && i < nr; i++)
		(void)ids[i];
	return err;
}

static int run_prompts(struct bench_run *run, bool cold,
		       int (*one)(struct bench_scene *scene, const struct prompts *prompts,
				  uint32_t i))
{
	struct bench_scene *scene = run->scene;
	struct prompts prompts;
	int part, err = 0;
	uint32_t i;

	for (part = 0; !err && part < MATCH_PARTS; part++) {
		choose_prompts(scene, &prompts);
		if (cold)
			err = evict_but_ids(scene, &prompts);
		bench_start(&run->timer);
		for (i = 0; !err && i < prompts.nr; i++)
			err = one(scene, &prompts, i);
		bench_stop(&run->timer);
		run->units += prompts.blocks;
	}
	return err;
}

static int run_match(struct bench_run *run)
{
	return run_prompts(run, false, match_hold);
}

static int run_match_cold(struct bench_run *run)
{
	return run_prompts(run, true, match_hold);
}

static int run_create(struct bench_run *run)
{
	return run_prompts(run, false, create_free);
}

/* ---- publish, reclaim --------------------------------------------------------- */

/*
 * From here on in scenes that change: what is published now is not asked for again, and pushes
 * out what is oldest.
 */

/* Token ids of new prompts, one for each sequence. */
static void make_ids(struct bench_scene *scene)
{
	uint64_t nr = (uint64_t)BENCH_SEQ_BLOCKS * scene->tokens;
	uint32_t i;

	for (i = 0; i < BENCH_SEQS; i++)
		bench_tokens(bench_new_prefix(), 0, nr, scene->ids + i * nr);
}

/* A sequence of each of these prompts. */
static int create_all(struct bench_scene *scene)
{
	struct kvp_prompt prompt = {
		.space = scene->other,
		.nr_tokens = BENCH_SEQ_BLOCKS * scene->tokens,
	};
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < BENCH_SEQS; i++) {
		prompt.tokens = scene->ids + (uint64_t)i * prompt.nr_tokens;
		err = kvp_seq_create(scene->pool, &prompt, KVP_SEQ_NO_MATCH, 0, &scene->seq[i],
				     NULL);
	}
	return err ? bench_failed(scene, "seq_create", err) : 0;
}

static int advance_all(struct bench_scene *scene)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < BENCH_SEQS; i++)
		err = kvp_seq_advance(scene->pool, scene->seq[i],
				      (uint64_t)BENCH_SEQ_BLOCKS * scene->tokens);
	return err ? bench_failed(scene, "seq_advance", err) : 0;
}

static int publish_all(struct bench_scene *scene)
{
	uint64_t published, want = (uint64_t)BENCH_SEQ_BLOCKS * scene->tokens;
	uint32_t i;
	int err;

	for (i = 0; i < BENCH_SEQS; i++) {
		err = kvp_publish(scene->pool, scene->seq[i], &published);
		if (err)
			return bench_failed(scene, "publish", err);
		if (published != want)
			return bench_wrong(scene, "tokens published", published, want);
	}
	return 0;
}

static int free_all(struct bench_scene *scene)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < BENCH_SEQS; i++)
		err = kvp_seq_free(scene->pool, scene->seq[i]);
	return err ? bench_failed(scene, "seq_free", err) : 0;
}

static int reclaim(struct bench_scene *scene)
{
	uint64_t nodes = BENCH_WORK;
	int err = kvp_pool_reclaim(scene->pool, &nodes);

	if (err)
		return bench_failed(scene, "reclaim", err);
	return nodes == BENCH_WORK ? 0 : bench_wrong(scene, "nodes reclaimed", nodes, BENCH_WORK);
}

/* Sequences that are ready to be published. */
static int compute(struct bench_scene *scene)
{
	int err;

	make_ids(scene);
	err = create_all(scene);
	return err ? err : advance_all(scene);
}

static int publish_timed(struct bench_run *run, bool cold)
{
	struct bench_scene *scene = run->scene;
	int err = compute(scene);

	if (err)
		return err;
	if (cold)
		err = bench_floor_evict();
	if (err)
		return err;
	bench_start(&run->timer);
	err = publish_all(scene);
	bench_stop(&run->timer);
	run->units = BENCH_WORK;
	if (!err)
		err = free_all(scene);
	return err ? err : reclaim(scene);
}

static int run_publish(struct bench_run *run)
{
	return publish_timed(run, false);
}

static int run_publish_cold(struct bench_run *run)
{
	return publish_timed(run, true);
}

static int run_reclaim(struct bench_run *run)
{
	struct bench_scene *scene = run->scene;
	int err = compute(scene);

	if (!err)
		err = publish_all(scene);
	if (!err)
		err = free_all(scene);
	if (err)
		return err;
	bench_start(&run->timer);
	err = reclaim(scene);
	bench_stop(&run->timer);
	run->units = BENCH_WORK;
	return err;
}

/* Raw references on all that is free, in pieces of BENCH_WORK, or their end. */
static int hold_spare(struct bench_scene *scene, uint64_t *blocks, bool hold)
{
	uint32_t at;
	int err = 0;

	for (at = 0; !err && at < BENCH_SPARE; at += BENCH_WORK)
		err = hold ? kvp_blocks_alloc(scene->pool, 0, blocks + at, BENCH_WORK) :
			     kvp_blocks_unref(scene->pool, blocks + at, BENCH_WORK);
	return err ? bench_failed(scene, "blocks_alloc, blocks_unref", err) : 0;
}

/* Prompts in a pool without a free block: each takes what is oldest. */
static int run_create_full(struct bench_run *run)
{
	struct bench_scene *scene = run->scene;
	static uint64_t blocks[BENCH_SPARE];
	int err = hold_spare(scene, blocks, true);

	if (err)
		return err;
	make_ids(scene);
	bench_start(&run->timer);
	err = create_all(scene);
	bench_stop(&run->timer);
	run->units = BENCH_WORK;
	if (!err)
		err = advance_all(scene);
	if (!err)
		err = publish_all(scene);
	if (!err)
		err = free_all(scene);
	return err ? err : hold_spare(scene, blocks, false);
}

const struct bench_op bench_prefix_ops[] = {
	{ .name = "match-hold", .goal = 0.25, .in = BENCH_IN_ORDERED, .large = true,
	  .run = run_match },
	{ .name = "match-hold-cold", .in = BENCH_IN_ORDERED, .run = run_match_cold },
	{ .name = "match-hold-scattered", .goal = 0.25, .in = BENCH_IN_SCATTERED,
	  .run = run_match },
	{ .name = "match-hold-scattered-cold", .in = BENCH_IN_SCATTERED, .run = run_match_cold },
	{ .name = "create-free", .in = BENCH_IN_ORDERED, .large = true, .run = run_create },
	{ .name = "create-free-scattered", .in = BENCH_IN_SCATTERED, .run = run_create },
	{ .name = "publish", .goal = 0.15, .in = BENCH_IN_CHANGING, .run = run_publish },
	{ .name = "publish-cold", .in = BENCH_IN_CHANGING, .run = run_publish_cold },
	{ .name = "reclaim", .in = BENCH_IN_CHANGING, .run = run_reclaim },
	{ .name = "create-full", .in = BENCH_IN_CHANGING, .run = run_create_full },
	{ 0 },
};

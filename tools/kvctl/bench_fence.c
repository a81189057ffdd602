// SPDX-License-Identifier: MIT
/*
 * Benchmarks of fences: saying what work touches, asking, and what a fence costs those who free
 * and decode. Each leaves its scene as it was, with no fence open. The timelines of a scene are
 * made when the first one is needed, and stay.
 */
#include <errno.h>
#include <string.h>

#include "bench.h"

#define REPEATS		4	/* of a batch of work in one round */
#define CALLS		64	/* of each kind, for each sequence or in all */
#define STEPS		64	/* tokens decoded of each sequence */
#define MANY		64	/* entries, or fences, of one call */

_Static_assert(MANY <= KVP_NR_TIMELINES, "a query asks for a fence of each timeline");
_Static_assert(BENCH_SEQS % MANY == 0, "each sequence is used once");

static int make_timelines(struct bench_scene *scene)
{
	uint32_t timeline, i;
	int err = 0;

	if (scene->fence)
		return 0;
	for (i = 0; !err && i < MANY; i++)
		err = kvp_timeline_create(scene->pool, &timeline);
	scene->fence = 1;
	return err ? bench_failed(scene, "timeline_create", err) : 0;
}

/* Sequences without a token. */
static int begin(struct bench_scene *scene)
{
	int err = make_timelines(scene);

	return err ? err : bench_begin_all(scene);
}

static int free_all(struct bench_scene *scene)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < BENCH_SEQS; i++)
		err = kvp_seq_free(scene->pool, scene->seq[i]);
	return err ? bench_failed(scene, "seq_free", err) : 0;
}

/*
 * Work that touches @nr sequences from @first on, until the first timeline has scene->fence; of
 * each it computes tokens from @write_from on up to @computed_to (KVP_POS_END, 0: none).
 */
static int use(struct bench_scene *scene, uint32_t first, uint32_t nr, uint64_t write_from,
	       uint64_t computed_to)
{
	struct kvp_use_entry entry[MANY];
	uint32_t i;

	for (i = 0; i < nr; i++) {
		entry[i] = kvp_use_seq(scene->seq[first + i], write_from, computed_to);
		entry[i].value = scene->fence;
	}
	return kvp_use(scene->pool, entry, nr);
}

/* All sequences, @nr in a call. */
static int use_all(struct bench_scene *scene, uint32_t nr, uint64_t write_from,
		   uint64_t computed_to)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < BENCH_SEQS; i += nr)
		err = use(scene, i, nr, write_from, computed_to);
	return err ? bench_failed(scene, "use", err) : 0;
}

/* The work has ended: the fence passes. The next one is another. */
static int pass(struct bench_scene *scene)
{
	int err = kvp_signal(scene->pool, 0, scene->fence++);

	return err ? bench_failed(scene, "signal", err) : 0;
}

/* ---- saying and asking ------------------------------------------------------------- */

static int run_uses(struct bench_run *run, uint32_t nr)
{
	struct bench_scene *scene = run->scene;
	int err = begin(scene), i;

	for (i = 0; !err && i < CALLS; i++) {
		bench_start(&run->timer);
		err = use_all(scene, nr, KVP_POS_END, 0);
		bench_stop(&run->timer);
		if (!err)
			err = pass(scene);
	}
	run->units = (uint64_t)BENCH_SEQS * CALLS;
	return err ? err : free_all(scene);
}

static int run_use(struct bench_run *run)
{
	return run_uses(run, 1);
}

static int run_use_many(struct bench_run *run)
{
	return run_uses(run, MANY);
}

static int run_queries(struct bench_run *run, uint32_t nr)
{
	struct kvp_fence fence[MANY] = { 0 };
	struct bench_scene *scene = run->scene;
	int err = make_timelines(scene), i;

	for (i = 0; i < MANY; i++)
		fence[i] = (struct kvp_fence){ .timeline = (uint32_t)i, .value = UINT32_MAX };
	bench_start(&run->timer);
	for (i = 0; !err && i < CALLS * MANY; i++)
		err = kvp_query(scene->pool, fence, nr, 0, NULL);
	bench_stop(&run->timer);
	run->units = (uint64_t)CALLS * MANY * nr;
	if (err)
		return bench_failed(scene, "query", err);
	return fence[0].passed ? bench_wrong(scene, "fences passed", 1, 0) : 0;
}

static int run_query(struct bench_run *run)
{
	return run_queries(run, 1);
}

static int run_query_many(struct bench_run *run)
{
	return run_queries(run, MANY);
}

/* ---- freeing ------------------------------------------------------------------------- */

/* Of the blocks of the scene's client; it is looked at, so what has passed is back. */
static int held_back(struct bench_scene *scene, uint64_t expected)
{
	struct kvp_family_stats family;
	struct kvp_stats stats;
	int err = kvp_pool_stats(scene->pool, KVP_STATS_SELF, &stats, &family, 1);

	if (err)
		return bench_failed(scene, "stats", err);
	if (family.held_back != expected)
		return bench_wrong(scene, "blocks held back", family.held_back, expected);
	return 0;
}

/* Sequences of BENCH_SEQ_BLOCKS blocks, which work touches if that is wanted. */
static int begin_filled(struct bench_scene *scene, bool fenced)
{
	uint32_t i;
	int err = begin(scene);

	for (i = 0; !err && i < BENCH_SEQS; i++)
		err = kvp_seq_append(scene->pool, scene->seq[i], NULL, 0,
				     BENCH_SEQ_BLOCKS * scene->tokens);
	if (err)
		return bench_failed(scene, "seq_append", err);
	return fenced ? use_all(scene, MANY, KVP_POS_END, 0) : 0;
}

/* Free them all. @back: until the blocks are back, which is timed, too. */
static int run_frees(struct bench_run *run, bool fenced, bool back)
{
	struct bench_scene *scene = run->scene;
	int repeat, err = 0;

	for (repeat = 0; !err && repeat < REPEATS; repeat++) {
		err = begin_filled(scene, fenced);
		if (err)
			break;
		bench_start(&run->timer);
		err = free_all(scene);
		if (!back)
			bench_stop(&run->timer);
		if (!err && fenced && !back)
			err = held_back(scene, BENCH_WORK);
		if (!err && fenced)
			err = pass(scene);
		if (!err)
			err = held_back(scene, 0);
		if (back)
			bench_stop(&run->timer);
		run->units += back ? BENCH_WORK : BENCH_SEQS;
	}
	return err;
}

static int run_free_call(struct bench_run *run)
{
	return run_frees(run, false, false);
}

static int run_free_call_fenced(struct bench_run *run)
{
	return run_frees(run, true, false);
}

static int run_free(struct bench_run *run)
{
	return run_frees(run, false, true);
}

static int run_free_zombie(struct bench_run *run)
{
	return run_frees(run, true, true);
}

/* ---- decoding -------------------------------------------------------------------------- */

/* One more token of each sequence, which is computed by work, or before the next call. */
static int step(struct bench_scene *scene, uint32_t token, bool fenced)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < BENCH_SEQS; i++)
		err = kvp_seq_append(scene->pool, scene->seq[i], &token, 1, 0);
	if (err)
		return bench_failed(scene, "seq_append", err);
	if (fenced) {
		err = use_all(scene, MANY, token, token + 1);
		return err ? err : pass(scene);
	}
	for (i = 0; !err && i < BENCH_SEQS; i++)
		err = kvp_seq_advance(scene->pool, scene->seq[i], token + 1);
	return err ? bench_failed(scene, "seq_advance", err) : 0;
}

static int run_decode(struct bench_run *run, bool fenced)
{
	struct bench_scene *scene = run->scene;
	struct kvp_lengths lengths = { 0 };
	int err = begin(scene);
	uint32_t token;

	if (err)
		return err;
	bench_start(&run->timer);
	for (token = 0; !err && token < STEPS; token++)
		err = step(scene, token, fenced);
	if (!err)
		err = kvp_seq_lengths(scene->pool, scene->seq[0], &lengths);
	if (!err)
		err = free_all(scene);
	bench_stop(&run->timer);
	run->units = BENCH_SEQS * STEPS;
	if (!err && lengths.computed != STEPS)
		return bench_wrong(scene, "tokens computed", lengths.computed, STEPS);
	return err;
}

static int run_decode_plain(struct bench_run *run)
{
	return run_decode(run, false);
}

static int run_decode_fenced(struct bench_run *run)
{
	return run_decode(run, true);
}

const struct bench_op bench_fence_ops[] = {
	{ .name = "use", .unit = "ns/call", .kind = BENCH_NS, .in = BENCH_IN_ORDERED,
	  .run = run_use },
	{ .name = "use-64", .unit = "ns/use", .kind = BENCH_NS, .in = BENCH_IN_ORDERED,
	  .against = "use", .run = run_use_many },
	{ .name = "query", .unit = "ns/call", .kind = BENCH_NS, .in = BENCH_IN_ORDERED,
	  .run = run_query },
	{ .name = "query-64", .unit = "ns/fence", .kind = BENCH_NS, .in = BENCH_IN_ORDERED,
	  .against = "query", .run = run_query_many },
	{ .name = "free-call", .unit = "ns/call", .kind = BENCH_NS, .in = BENCH_IN_ORDERED,
	  .run = run_free_call },
	{ .name = "free-call-fenced", .unit = "ns/call", .kind = BENCH_NS,
	  .in = BENCH_IN_ORDERED, .against = "free-call", .run = run_free_call_fenced },
	{ .name = "free", .in = BENCH_IN_ORDERED, .run = run_free },
	{ .name = "free-zombie", .in = BENCH_IN_ORDERED, .against = "free",
	  .run = run_free_zombie },
	{ .name = "decode", .unit = "ns/token", .kind = BENCH_NS, .in = BENCH_IN_ORDERED,
	  .run = run_decode_plain },
	{ .name = "decode-fenced", .unit = "ns/token", .kind = BENCH_NS, .in = BENCH_IN_ORDERED,
	  .against = "decode", .run = run_decode_fenced },
	{ 0 },
};

// SPDX-License-Identifier: MIT
/*
 * Benchmarks of sequences and raw blocks. Each leaves its scene as it was.
 */
#include <errno.h>
#include <string.h>

#include "bench.h"

#define REPEATS		4	/* of a batch of work in one round */
#define LONG_BLOCKS	4096	/* of the one long sequence */
#define LONG_REPEATS	32
#define STEPS		64	/* tokens decoded of each sequence */
#define BATCH		64	/* calls in one */

int bench_begin_all(struct bench_scene *scene)
{
	struct kvp_prompt prompt = { .space = scene->other };
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < BENCH_SEQS; i++)
		err = kvp_seq_create(scene->pool, &prompt, KVP_SEQ_NO_MATCH, 0, &scene->seq[i],
				     NULL);
	return err ? bench_failed(scene, "seq_create", err) : 0;
}

/* BENCH_SEQ_BLOCKS blocks to each sequence, then all sequences are freed. */
static int append_free(struct bench_scene *scene, bool ids)
{
	uint32_t nr = BENCH_SEQ_BLOCKS * scene->tokens, i;
	int err = 0;

	for (i = 0; !err && i < BENCH_SEQS; i++) {
		if (ids)
			err = kvp_seq_append(scene->pool, scene->seq[i],
					     scene->ids + (uint64_t)i * nr, nr, 0);
		else
			err = kvp_seq_append(scene->pool, scene->seq[i], NULL, 0, nr);
	}
	for (i = 0; !err && i < BENCH_SEQS; i++)
		err = kvp_seq_free(scene->pool, scene->seq[i]);
	return err ? bench_failed(scene, "seq_append, seq_free", err) : 0;
}

static int run_append_free(struct bench_run *run, bool ids)
{
	struct bench_scene *scene = run->scene;
	int repeat, err = 0;

	for (repeat = 0; !err && repeat < REPEATS; repeat++) {
		err = bench_begin_all(scene);
		if (err)
			break;
		if (ids)
			bench_tokens(bench_new_prefix(), 0, (uint64_t)BENCH_WORK * scene->tokens,
				     scene->ids);
		bench_start(&run->timer);
		err = append_free(scene, ids);
		bench_stop(&run->timer);
		run->units += BENCH_WORK;
	}
	return err;
}

static int run_append(struct bench_run *run)
{
	return run_append_free(run, true);
}

static int run_reserve(struct bench_run *run)
{
	return run_append_free(run, false);
}

/* ---- one long sequence -------------------------------------------------------- */

static int begin_long(struct bench_scene *scene, kvp_seq_t *seq)
{
	struct kvp_prompt prompt = {
		.space = scene->other,
		.tokens = scene->ids,
		.nr_tokens = LONG_BLOCKS * scene->tokens,
	};
	int err;

	bench_tokens(bench_new_prefix(), 0, prompt.nr_tokens, scene->ids);
	err = kvp_seq_create(scene->pool, &prompt, KVP_SEQ_NO_MATCH, 0, seq, NULL);
	if (!err)
		err = kvp_seq_advance(scene->pool, *seq, prompt.nr_tokens);
	return err ? bench_failed(scene, "seq_create", err) : 0;
}

static int run_fork(struct bench_run *run)
{
	struct bench_scene *scene = run->scene;
	kvp_seq_t seq, child;
	int err = begin_long(scene, &seq), i;

	if (err)
		return err;
	bench_start(&run->timer);
	for (i = 0; !err && i < LONG_REPEATS; i++) {
		err = kvp_seq_fork(scene->pool, seq, KVP_POS_END, &child);
		if (!err)
			err = kvp_seq_free(scene->pool, child);
	}
	bench_stop(&run->timer);
	run->units = (uint64_t)LONG_BLOCKS * LONG_REPEATS;
	if (!err)
		err = kvp_seq_free(scene->pool, seq);
	return err ? bench_failed(scene, "seq_fork", err) : 0;
}

static int run_table(struct bench_run *run)
{
	struct bench_scene *scene = run->scene;
	uint32_t nr = LONG_BLOCKS;
	kvp_seq_t seq;
	int err = begin_long(scene, &seq), i;

	if (err)
		return err;
	bench_start(&run->timer);
	for (i = 0; !err && nr == LONG_BLOCKS && i < LONG_REPEATS; i++)
		err = kvp_seq_table(scene->pool, seq, 0, 0, scene->blocks, &nr);
	bench_stop(&run->timer);
	run->units = (uint64_t)LONG_BLOCKS * LONG_REPEATS;
	if (!err)
		err = kvp_seq_free(scene->pool, seq);
	if (err)
		return bench_failed(scene, "seq_table", err);
	return nr == LONG_BLOCKS ? 0 : bench_wrong(scene, "blocks", nr, LONG_BLOCKS);
}

/* ---- decoding: a token at a time, to all sequences in turn ---------------------- */

static int append_one_each(struct bench_scene *scene, uint32_t token)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < BENCH_SEQS; i++)
		err = kvp_seq_append(scene->pool, scene->seq[i], &token, 1, 0);
	return err ? bench_failed(scene, "seq_append", err) : 0;
}

/* The same in batches. */
static int append_one_each_batched(struct bench_scene *scene, uint32_t token)
{
	struct kvp_seq_append append[BATCH] = { 0 };
	struct kvp_batch_entry entry[BATCH] = { 0 };
	struct kvp_batch batch = { .entries = (uintptr_t)entry, .nr_entries = BATCH };
	uint32_t first, i;
	int err = 0;

	for (first = 0; !err && first < BENCH_SEQS; first += BATCH) {
		for (i = 0; i < BATCH; i++) {
			append[i] = (struct kvp_seq_append){
				.head.size = sizeof(append[i]),
				.seq = scene->seq[first + i],
				.tokens = (uintptr_t)&token,
				.nr_tokens = 1,
				.position = KVP_POS_END,
			};
			entry[i] = (struct kvp_batch_entry){
				.op = KVP_OP_SEQ_APPEND,
				.len = sizeof(append[i]),
				.arg = (uintptr_t)&append[i],
			};
		}
		err = kvp_pool_call(scene->pool, KVP_OP_BATCH, &batch, sizeof(batch));
		for (i = 0; !err && i < BATCH; i++)
			err = entry[i].result;
	}
	return err ? bench_failed(scene, "batch", err) : 0;
}

static int advance_one_each(struct bench_scene *scene, uint64_t computed)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < BENCH_SEQS; i++)
		err = kvp_seq_advance(scene->pool, scene->seq[i], computed);
	return err ? bench_failed(scene, "seq_advance", err) : 0;
}

enum decode {
	DECODE_APPEND,
	DECODE_BATCH,
	DECODE_ADVANCE,
};

/* Decodes STEPS tokens of each sequence, of which one kind of call is timed. */
static int run_decode(struct bench_run *run, enum decode timed)
{
	struct bench_scene *scene = run->scene;
	int err = bench_begin_all(scene);
	uint32_t step, i;

	for (step = 0; !err && step < STEPS; step++) {
		if (timed != DECODE_ADVANCE)
			bench_start(&run->timer);
		err = timed == DECODE_BATCH ? append_one_each_batched(scene, step) :
					      append_one_each(scene, step);
		if (timed != DECODE_ADVANCE)
			bench_stop(&run->timer);
		else
			bench_start(&run->timer);
		if (!err)
			err = advance_one_each(scene, step + 1);
		if (timed == DECODE_ADVANCE)
			bench_stop(&run->timer);
	}
	run->units = BENCH_SEQS * STEPS;
	for (i = 0; !err && i < BENCH_SEQS; i++)
		err = kvp_seq_free(scene->pool, scene->seq[i]);
	return err;
}

static int run_append_token(struct bench_run *run)
{
	return run_decode(run, DECODE_APPEND);
}

static int run_append_batch(struct bench_run *run)
{
	return run_decode(run, DECODE_BATCH);
}

static int run_advance(struct bench_run *run)
{
	return run_decode(run, DECODE_ADVANCE);
}

/* ---- raw blocks ------------------------------------------------------------------ */

static int run_alloc(struct bench_run *run)
{
	struct bench_scene *scene = run->scene;
	int err = 0, repeat;
	uint32_t at;

	bench_start(&run->timer);
	for (repeat = 0; repeat < REPEATS; repeat++) {
		for (at = 0; !err && at < BENCH_WORK; at += BENCH_SEQ_BLOCKS)
			err = kvp_blocks_alloc(scene->pool, 0, scene->blocks + at,
					       BENCH_SEQ_BLOCKS);
		for (at = 0; !err && at < BENCH_WORK; at += BENCH_SEQ_BLOCKS)
			err = kvp_blocks_unref(scene->pool, scene->blocks + at,
					       BENCH_SEQ_BLOCKS);
	}
	bench_stop(&run->timer);
	run->units = BENCH_WORK * REPEATS;
	return err ? bench_failed(scene, "blocks_alloc, blocks_unref", err) : 0;
}

const struct bench_op bench_seq_ops[] = {
	{ .name = "append-free", .goal = 0.15, .in = BENCH_IN_ORDERED, .run = run_append },
	{ .name = "reserve-free", .goal = 0.05, .in = BENCH_IN_ORDERED, .run = run_reserve },
	{ .name = "fork-free", .in = BENCH_IN_ORDERED, .run = run_fork },
	{ .name = "table", .in = BENCH_IN_ORDERED, .run = run_table },
	{ .name = "alloc-unref", .in = BENCH_IN_ORDERED, .run = run_alloc },
	{ .name = "append-token", .unit = "ns/call", .kind = BENCH_NS, .in = BENCH_IN_ORDERED,
	  .run = run_append_token },
	{ .name = "append-batch", .unit = "ns/call", .kind = BENCH_NS, .in = BENCH_IN_ORDERED,
	  .against = "append-token", .run = run_append_batch },
	{ .name = "advance", .unit = "ns/call", .kind = BENCH_NS, .in = BENCH_IN_ORDERED,
	  .run = run_advance },
	{ 0 },
};

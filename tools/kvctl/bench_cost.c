// SPDX-License-Identifier: MIT
/*
 * What a pool costs: bytes of metadata, and CPU time over a real trace. Owns the trace.
 */
#include <errno.h>
#include <string.h>

#include "bench.h"
#include "content.h"
#include "replay_run.h"

/* Of the pool, its token ids among them, a block. */
static int pool_metadata(struct bench_run *run)
{
	struct bench_scene *scene = run->scene;
	struct kvp_pool_info info = { 0 };
	int err = kvp_pool_call(scene->pool, KVP_OP_POOL_INFO, &info, sizeof(info));

	if (err)
		return bench_failed(scene, "pool_info", err);
	run->units = scene->published + BENCH_SPARE;
	run->timer.ns = (double)info.metadata_bytes;
	return 0;
}

static int client_metadata(struct bench_scene *scene, uint64_t *bytes)
{
	struct kvp_stats stats;
	int err = kvp_pool_stats(scene->pool, KVP_STATS_SELF, &stats, NULL, 0);

	*bytes = stats.metadata_bytes;
	return err ? bench_failed(scene, "stats", err) : 0;
}

/* The same, and what a client's sequence takes for a block that it holds. */
static int held_metadata(struct bench_run *run)
{
	struct bench_scene *scene = run->scene;
	struct kvp_prompt prompt = {
		.space = scene->other,
		.tokens = scene->ids,
		.nr_tokens = BENCH_SEQ_BLOCKS * scene->tokens,
	};
	uint64_t before, after;
	kvp_seq_t seq;
	int err = pool_metadata(run);

	if (!err)
		err = client_metadata(scene, &before);
	if (err)
		return err;
	bench_tokens(bench_new_prefix(), 0, prompt.nr_tokens, scene->ids);
	err = kvp_seq_create(scene->pool, &prompt, KVP_SEQ_NO_MATCH, 0, &seq, NULL);
	if (err)
		return bench_failed(scene, "seq_create", err);
	err = client_metadata(scene, &after);
	if (err)
		return err;
	run->timer.ns += (double)(after - before) / BENCH_SEQ_BLOCKS * (double)run->units;
	err = kvp_seq_free(scene->pool, seq);
	return err ? bench_failed(scene, "seq_free", err) : 0;
}

/* ---- the trace ------------------------------------------------------------------ */

static struct kvctl_trace trace;

/* Reads the trace, if one was given, the first time. */
static int need_trace(struct bench_run *run)
{
	const char *name = run->bench->trace;
	FILE *in;
	int err;

	if (trace.nr_requests)
		return 0;
	if (!name) {
		snprintf(run->skipped, sizeof(run->skipped), "no --trace");
		return -ENODATA;
	}
	in = fopen(name, "re");
	if (!in) {
		fprintf(stderr, "kvctl bench: %s: %s\n", name, strerror(errno));
		return -EIO;
	}
	err = kvctl_trace_read(in, name, true, &trace);
	fclose(in);
	if (!err && !trace.nr_requests) {
		fprintf(stderr, "kvctl bench: %s: no request in it\n", name);
		err = -EINVAL;
	}
	return err;
}

void bench_cost_close(void)
{
	kvctl_trace_free(&trace);
	memset(&trace, 0, sizeof(trace));
}

/* CPU time of the pool's calls over the trace, one request after the other. */
static int replay(struct bench_run *run, uint64_t blocks, uint32_t decode_step)
{
	struct kvctl_replay_options options = {
		.blocks = blocks,
		.block_tokens = KVCTL_ID_TOKENS,
		.row_bytes = 1,		/* never touched */
		.concurrency = 1,
		.decode_step = decode_step,
		.time_calls = true,
	};
	struct kvctl_replay_result result;
	struct kvctl_progress none;
	int err = need_trace(run);

	if (err)
		return err;
	kvctl_progress_begin(&none, "requests", 0, false);
	err = kvctl_replay_run(&trace, &options, &none, &result);
	if (err)
		return err;
	if (result.fsck.total) {
		fprintf(stderr, "kvctl bench: the audit after the trace found %llu\n",
			(unsigned long long)result.fsck.total);
		return -EIO;
	}
	run->timer.ns = result.calls.total_seconds;
	run->units = 1;
	return 0;
}

static int replay_20k(struct bench_run *run)
{
	return replay(run, 20000, KVCTL_ID_TOKENS);
}

static int replay_200k(struct bench_run *run)
{
	return replay(run, 200000, KVCTL_ID_TOKENS);
}

static int replay_20k_tokens(struct bench_run *run)
{
	return replay(run, 20000, 1);
}

static int replay_200k_tokens(struct bench_run *run)
{
	return replay(run, 200000, 1);
}

const struct bench_op bench_cost_ops[] = {
	{ .name = "metadata", .unit = "byte/block", .kind = BENCH_VALUE, .goal = 224,
	  .in = BENCH_IN_ORDERED, .rounds = 1, .run = pool_metadata },
	{ .name = "metadata-held", .unit = "byte/block", .kind = BENCH_VALUE, .goal = 224,
	  .in = BENCH_IN_ORDERED, .rounds = 1, .run = held_metadata },
	{ .name = "trace/20k", .unit = "s", .kind = BENCH_VALUE, .goal = 0.25, .rounds = 3,
	  .run = replay_20k },
	{ .name = "trace/200k", .unit = "s", .kind = BENCH_VALUE, .goal = 0.4, .rounds = 3,
	  .run = replay_200k },
	{ .name = "trace-by-token/20k", .unit = "s", .kind = BENCH_VALUE, .rounds = 1,
	  .run = replay_20k_tokens },
	{ .name = "trace-by-token/200k", .unit = "s", .kind = BENCH_VALUE, .rounds = 1,
	  .run = replay_200k_tokens },
	{ 0 },
};

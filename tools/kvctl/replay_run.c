// SPDX-License-Identifier: MIT
/*
 * The frame of a replay: the pool, the buffers, and the calls of the pool, each
 * measured where that is wanted. All in one thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "door.h"
#include "kvctl.h"
#include "replay.h"

#define CHUNK_BYTES	(64 * 1024)	/* rows that are made and moved at once */

int kvctl_replay_fatal(const struct kvctl_request *request, const char *what, int err)
{
	fprintf(stderr, "kvctl replay: request of line %llu: %s: %s\n",
		(unsigned long long)request->line, what, kvp_error()->text);
	return err;
}

/* ---- calls of the pool --------------------------------------------------------- */

int kvctl_replay_create(struct kvctl_replay *replay, struct kvctl_live *live,
			uint64_t *matched)
{
	struct kvp_prompt prompt = {
		.space = replay->space,
		.tokens = replay->tokens,
		.nr_tokens = kvctl_replay_tokens(replay, live),
	};
	int err;

	kvctl_stopwatch_begin(&replay->watch);
	err = kvp_seq_create(replay->pool, &prompt, 0, 0, &live->seq, matched);
	kvctl_stopwatch_end(&replay->watch, KVCTL_CALL_CREATE);
	return err;
}

int kvctl_replay_append(struct kvctl_replay *replay, struct kvctl_live *live, uint32_t nr)
{
	int err;

	kvctl_replay_output(live->first_output + live->nr_output, nr, replay->tokens);
	kvctl_stopwatch_begin(&replay->watch);
	err = kvp_seq_append(replay->pool, live->seq, replay->tokens, nr, 0);
	kvctl_stopwatch_end(&replay->watch, KVCTL_CALL_APPEND);
	return err;
}

int kvctl_replay_advance(struct kvctl_replay *replay, const struct kvctl_live *live,
			 uint64_t computed)
{
	int err;

	kvctl_stopwatch_begin(&replay->watch);
	err = kvp_seq_advance(replay->pool, live->seq, computed);
	kvctl_stopwatch_end(&replay->watch, KVCTL_CALL_ADVANCE);
	return err ? kvctl_replay_fatal(live->request, "cannot be advanced", err) : 0;
}

int kvctl_replay_publish(struct kvctl_replay *replay, const struct kvctl_live *live)
{
	int err;

	kvctl_stopwatch_begin(&replay->watch);
	err = kvp_publish(replay->pool, live->seq, NULL);
	kvctl_stopwatch_end(&replay->watch, KVCTL_CALL_PUBLISH);
	return err ? kvctl_replay_fatal(live->request, "cannot be published", err) : 0;
}

int kvctl_replay_free(struct kvctl_replay *replay, const struct kvctl_live *live)
{
	int err;

	kvctl_stopwatch_begin(&replay->watch);
	err = kvp_seq_free(replay->pool, live->seq);
	kvctl_stopwatch_end(&replay->watch, KVCTL_CALL_FREE);
	return err ? kvctl_replay_fatal(live->request, "cannot be freed", err) : 0;
}

bool kvctl_replay_no_room(struct kvctl_replay *replay, int err)
{
	uint32_t reason = kvp_error()->reason;

	if (err != -ENOSPC && err != -EFBIG)
		return false;
	replay->result->failures[reason < KVCTL_REASONS ? reason : KVP_REASON_NONE]++;
	return true;
}

int kvctl_replay_note(struct kvctl_replay *replay, const struct kvctl_request *request,
		      uint64_t at)
{
	struct kvctl_replay_result *result = replay->result;
	struct kvp_family_stats family;
	struct kvctl_sample sample;
	struct kvp_stats stats;
	int err;

	err = kvp_pool_stats(replay->pool, 0, &stats, &family, 1);
	if (err)
		return kvctl_replay_fatal(request, "counters cannot be read", err);
	if (family.state[KVP_BLOCK_HELD] > result->peak_held_blocks)
		result->peak_held_blocks = family.state[KVP_BLOCK_HELD];
	result->reclaimed_blocks = stats.reclaimed_blocks;
	if (!replay->options->plot)
		return 0;
	sample = (struct kvctl_sample){
		.at = at,
		.looked_up = result->blocks_looked_up,
		.hits = result->hits,
		.held = family.state[KVP_BLOCK_HELD],
		.idle = family.state[KVP_BLOCK_IDLE],
		.free = family.state[KVP_BLOCK_FREE],
	};
	kvctl_plot_add(replay->options->plot, &sample);
	return 0;
}

/* ---- set-up -------------------------------------------------------------------- */

static int open_pool(struct kvctl_replay *replay)
{
	static const struct kvp_identity identity = {
		.model = "replayed-model",
		.weights_revision = "1",
		.rope = "none",
		.dtype = "bytes",
		.layout = "rows",
		.mask = "causal",
	};
	struct kvp_family_config family = {
		.name = "kv",
		.kind = KVP_FAMILY_DENSE,
		.block_tokens = replay->options->block_tokens,
		.blocks = replay->options->blocks,
		.row_bytes = replay->options->row_bytes,
	};
	struct kvp_pool_config config = { .families = &family, .nr_families = 1 };
	char name[KVCTL_OWN_LEN];
	int err;

	err = kvp_identity_digest(&identity, replay->space);
	if (!err)
		err = kvp_pool_create(kvctl_own_pool(replay->options->door, "replay", name),
				      &config, &replay->pool);
	if (err)
		kvctl_print_error("kvctl replay", "no pool");
	return err;
}

/* Each output token is one that no other request has: are there so many? */
static int check_outputs(const struct kvctl_trace *trace)
{
	uint64_t outputs = 0;
	size_t i;

	for (i = 0; i < trace->nr_requests; i++) {
		outputs += trace->requests[i].output_length;
		if (outputs <= KVCTL_ID_MAX)
			continue;
		fprintf(stderr, "kvctl replay: line %llu: more output tokens than there are "
			"unique ids (%u)\n", (unsigned long long)trace->requests[i].line,
			KVCTL_ID_MAX);
		return -EOVERFLOW;
	}
	return 0;
}

static int alloc_buffers(struct kvctl_replay *replay)
{
	const struct kvctl_trace *trace = replay->trace;
	size_t row_bytes = replay->options->row_bytes;
	uint64_t length, longest = 1;
	size_t i;

	for (i = 0; i < trace->nr_requests; i++) {
		length = (uint64_t)trace->requests[i].input_length +
			 trace->requests[i].output_length;
		if (length > longest)
			longest = length;
	}
	replay->chunk_rows = row_bytes < CHUNK_BYTES ? CHUNK_BYTES / row_bytes : 1;
	replay->tokens = calloc(longest, sizeof(*replay->tokens));
	replay->rows = calloc(replay->chunk_rows, row_bytes);
	replay->expected = calloc(replay->chunk_rows, row_bytes);
	if (replay->tokens && replay->rows && replay->expected)
		return 0;
	fprintf(stderr, "kvctl replay: %s\n", strerror(ENOMEM));
	return -ENOMEM;
}

static int replay_all(struct kvctl_replay *replay)
{
	struct kvctl_replay_result *result = replay->result;
	double started, cpu_started;
	int err;

	kvctl_stopwatch_start(&replay->watch, replay->options->time_calls);
	started = kvctl_now();
	cpu_started = kvctl_cpu();
	err = replay->options->timed ? kvctl_replay_timed(replay) :
				       kvctl_replay_in_order(replay);
	result->seconds = kvctl_now() - started;
	result->cpu_seconds = kvctl_cpu() - cpu_started;
	kvctl_stopwatch_times(&replay->watch, &result->calls);
	return err;
}

int kvctl_replay_run(const struct kvctl_trace *trace,
		     const struct kvctl_replay_options *options,
		     struct kvctl_progress *progress, struct kvctl_replay_result *result)
{
	struct kvctl_replay replay = {
		.trace = trace,
		.options = options,
		.progress = progress,
		.result = result,
	};
	int err;

	memset(result, 0, sizeof(*result));
	err = check_outputs(trace);
	if (!err)
		err = alloc_buffers(&replay);
	if (!err)
		err = open_pool(&replay);
	if (!err)
		err = replay_all(&replay);
	kvctl_progress_end(progress);
	if (!err) {
		err = kvctl_fsck_run(replay.pool, &result->fsck);
		if (err)
			kvctl_print_error("kvctl replay", "no audit");
	}
	kvp_pool_close(replay.pool);
	free(replay.tokens);
	free(replay.rows);
	free(replay.expected);
	return err;
}

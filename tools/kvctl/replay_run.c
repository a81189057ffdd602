// SPDX-License-Identifier: MIT
/*
 * The replay itself. One struct replay holds the pool, the requests that are
 * alive (a ring, oldest first) and scratch buffers; all in one thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kvpool.h>

#include "content.h"
#include "kvctl.h"
#include "replay_run.h"

#define CHUNK_BYTES	(64 * 1024)	/* rows that are made and moved at once */
#define SHOWN_WRONG	5		/* wrong rows that are reported one by one */

/* A request that has begun and not ended. */
struct live {
	const struct kvctl_request *request;
	kvp_seq_t seq;
	uint32_t first_output;		/* its output tokens are consecutive */
	uint32_t nr_output;
};

struct replay {
	const struct kvctl_trace *trace;
	const struct kvctl_replay_options *options;
	struct kvctl_replay_result *result;
	struct kvp_pool *pool;
	uint8_t space[KVP_DIGEST_LEN];
	struct live *ring;
	uint32_t oldest;
	uint32_t nr_live;
	uint32_t next_output;
	uint32_t *tokens;		/* of the request at hand */
	uint64_t chunk_rows;
	uint8_t *rows;
	uint8_t *expected;
};

static int fatal(const struct kvctl_request *request, const char *what, int err)
{
	fprintf(stderr, "kvctl replay: request of line %llu: %s: %s\n",
		(unsigned long long)request->line, what, kvp_error()->text);
	return err;
}

/* ---- bytes ----------------------------------------------------------------- */

/* Writes the rows of tokens [@first, @first + @nr), which are @chain's next ones. */
static int write_rows(struct replay *replay, const struct live *live,
		      struct kvctl_chain *chain, const uint32_t *tokens, uint64_t first,
		      uint64_t nr)
{
	size_t row_bytes = replay->options->row_bytes;
	uint64_t n;
	int err;

	for (; nr; nr -= n, first += n, tokens += n) {
		n = nr < replay->chunk_rows ? nr : replay->chunk_rows;
		kvctl_chain_rows(chain, tokens, n, row_bytes, replay->rows);
		err = kvp_rows_write(replay->pool, live->seq, 0, first, n, replay->rows);
		if (err)
			return fatal(live->request, "rows cannot be written", err);
	}
	return 0;
}

static void compare_rows(struct replay *replay, const struct live *live, uint64_t first,
			 uint64_t nr)
{
	struct kvctl_replay_result *result = replay->result;
	size_t row_bytes = replay->options->row_bytes;
	uint64_t i;

	result->verified_rows += nr;
	if (!memcmp(replay->rows, replay->expected, nr * row_bytes))
		return;
	for (i = 0; i < nr; i++) {
		if (!memcmp(replay->rows + i * row_bytes, replay->expected + i * row_bytes,
			    row_bytes))
			continue;
		if (result->wrong_rows++ < SHOWN_WRONG)
			fprintf(stderr, "kvctl replay: request of line %llu: the row of token "
				"%llu is not what its prefix says\n",
				(unsigned long long)live->request->line,
				(unsigned long long)(first + i));
	}
}

/* Reads the rows of tokens [@first, @first + @nr), @chain's next ones, and compares them. */
static int check_rows(struct replay *replay, const struct live *live,
		      struct kvctl_chain *chain, const uint32_t *tokens, uint64_t first,
		      uint64_t nr)
{
	size_t row_bytes = replay->options->row_bytes;
	uint64_t n;
	int err;

	for (; nr; nr -= n, first += n, tokens += n) {
		n = nr < replay->chunk_rows ? nr : replay->chunk_rows;
		err = kvp_rows_read(replay->pool, live->seq, 0, first, n, replay->rows);
		if (err)
			return fatal(live->request, "rows cannot be read", err);
		kvctl_chain_rows(chain, tokens, n, row_bytes, replay->expected);
		compare_rows(replay, live, first, n);
	}
	return 0;
}

static void output_tokens(uint32_t first, uint32_t nr, uint32_t *tokens)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		tokens[i] = KVCTL_OUTPUT_TOKEN + first + i;
}

/* Compares all rows that @live has, its own ones too. */
static int check_all_rows(struct replay *replay, const struct live *live)
{
	const struct kvctl_request *request = live->request;
	struct kvctl_chain chain;

	kvctl_prompt_tokens(replay->trace->ids + request->first_id, request->input_length,
			    replay->tokens);
	output_tokens(live->first_output, live->nr_output,
		      replay->tokens + request->input_length);
	kvctl_chain_begin(&chain, replay->space);
	return check_rows(replay, live, &chain, replay->tokens, 0,
			  (uint64_t)request->input_length + live->nr_output);
}

/* ---- life of a request ------------------------------------------------------- */

/* Called whenever the number of held blocks is about to fall. */
static int note_peak(struct replay *replay, const struct kvctl_request *request)
{
	struct kvp_family_stats family;
	struct kvp_stats stats;
	uint64_t held;
	int err;

	err = kvp_pool_stats(replay->pool, 0, &stats, &family, 1);
	if (err)
		return fatal(request, "counters cannot be read", err);
	held = family.state[KVP_BLOCK_HELD];
	if (held > replay->result->peak_held_blocks)
		replay->result->peak_held_blocks = held;
	replay->result->reclaimed_blocks = stats.reclaimed_blocks;
	return 0;
}

static int end_oldest(struct replay *replay)
{
	const struct live *live = &replay->ring[replay->oldest];
	int err;

	if (replay->options->verify_all) {
		err = check_all_rows(replay, live);
		if (err)
			return err;
	}
	err = note_peak(replay, live->request);
	if (err)
		return err;
	err = kvp_seq_free(replay->pool, live->seq);
	if (err)
		return fatal(live->request, "cannot be freed", err);
	replay->oldest = (replay->oldest + 1) % replay->options->concurrency;
	replay->nr_live--;
	return 0;
}

/*
 * After a call that got @err: 0 if it should be made again, since an older request ended
 * to make room; 1 if there is no room even so; else a fatal error.
 */
static int make_room(struct replay *replay, const struct kvctl_request *request,
		     const char *what, int err)
{
	uint32_t reason = kvp_error()->reason;

	if (err != -ENOSPC && err != -EFBIG)
		return fatal(request, what, err);
	replay->result->failures[reason < KVCTL_REASONS ? reason : KVP_REASON_NONE]++;
	if (err == -EFBIG || !replay->nr_live)
		return 1;
	return end_oldest(replay);
}

/* 0: admitted; 1: refused; or a negative errno. */
static int admit(struct replay *replay, struct live *live, uint64_t *matched)
{
	const struct kvctl_request *request = live->request;
	struct kvp_prompt prompt = {
		.space = replay->space,
		.tokens = replay->tokens,
		.nr_tokens = request->input_length,
	};
	int err, ret;

	do {
		/* making room may have used the buffer for another request */
		kvctl_prompt_tokens(replay->trace->ids + request->first_id,
				    request->input_length, replay->tokens);
		err = kvp_seq_create(replay->pool, &prompt, 0, 0, &live->seq, matched);
		if (!err)
			return 0;
		ret = make_room(replay, request, "cannot be admitted", err);
	} while (!ret);
	return ret;
}

/* Computes what was not matched, and publishes the prompt. */
static int prefill(struct replay *replay, struct live *live, uint64_t matched,
		   struct kvctl_chain *chain)
{
	uint64_t length = live->request->input_length;
	int err;

	if (replay->options->bytes) {
		err = check_rows(replay, live, chain, replay->tokens, 0, matched);
		if (!err)
			err = write_rows(replay, live, chain, replay->tokens + matched, matched,
					 length - matched);
		if (err)
			return err;
	}
	err = kvp_seq_advance(replay->pool, live->seq, length);
	if (err)
		return fatal(live->request, "cannot be advanced", err);
	err = note_peak(replay, live->request);
	if (err)
		return err;
	err = kvp_publish(replay->pool, live->seq, NULL);
	if (err)
		return fatal(live->request, "cannot be published", err);
	return 0;
}

/* Appends and computes @nr output tokens; 0, 1: no room, or a negative errno. */
static int decode_step(struct replay *replay, struct live *live, uint32_t nr,
		       struct kvctl_chain *chain)
{
	uint64_t at = (uint64_t)live->request->input_length + live->nr_output;
	int err, ret;

	do {
		output_tokens(replay->next_output, nr, replay->tokens);
		err = kvp_seq_append(replay->pool, live->seq, replay->tokens, nr, 0);
		if (!err)
			break;
		ret = make_room(replay, live->request, "cannot decode", err);
		if (ret)
			return ret;
	} while (true);
	if (replay->options->bytes) {
		err = write_rows(replay, live, chain, replay->tokens, at, nr);
		if (err)
			return err;
	}
	replay->next_output += nr;
	live->nr_output += nr;
	err = kvp_seq_advance(replay->pool, live->seq, at + nr);
	if (err)
		return fatal(live->request, "cannot be advanced", err);
	return 0;
}

static int decode(struct replay *replay, struct live *live, struct kvctl_chain *chain)
{
	uint32_t left = live->request->output_length;
	uint32_t n;
	int ret;

	live->first_output = replay->next_output;
	live->nr_output = 0;
	if (left > KVCTL_ID_MAX - replay->next_output) {
		fprintf(stderr, "kvctl replay: line %llu: more output tokens than there are "
			"unique ids (%u)\n", (unsigned long long)live->request->line,
			KVCTL_ID_MAX);
		return -EOVERFLOW;
	}
	for (; left; left -= n) {
		n = left < replay->options->decode_step ? left : replay->options->decode_step;
		ret = decode_step(replay, live, n, chain);
		if (ret < 0)
			return ret;
		if (ret) {
			replay->result->cut++;
			break;
		}
	}
	if (!replay->options->publish_output)
		return 0;
	ret = note_peak(replay, live->request);
	if (ret)
		return ret;
	ret = kvp_publish(replay->pool, live->seq, NULL);
	if (ret)
		return fatal(live->request, "output cannot be published", ret);
	return 0;
}

static int begin_request(struct replay *replay, const struct kvctl_request *request)
{
	struct live live = { .request = request };
	struct kvctl_chain chain;
	uint64_t matched;
	int ret;

	replay->result->requests++;
	if (replay->nr_live == replay->options->concurrency) {
		ret = end_oldest(replay);
		if (ret)
			return ret;
	}
	ret = admit(replay, &live, &matched);
	if (ret < 0)
		return ret;
	if (ret) {
		replay->result->refused++;
		return 0;
	}
	replay->result->blocks_looked_up += request->input_length /
					    replay->options->block_tokens;
	replay->result->hits += matched / replay->options->block_tokens;
	kvctl_chain_begin(&chain, replay->space);
	ret = prefill(replay, &live, matched, &chain);
	if (!ret)
		ret = decode(replay, &live, &chain);
	if (ret)
		return ret;
	replay->ring[(replay->oldest + replay->nr_live) % replay->options->concurrency] = live;
	replay->nr_live++;
	return 0;
}

static int replay_all(struct replay *replay, struct kvctl_progress *progress)
{
	const struct kvctl_trace *trace = replay->trace;
	double started = kvctl_now(), cpu_started = kvctl_cpu();
	size_t i;
	int err = 0;

	for (i = 0; !err && i < trace->nr_requests; i++) {
		err = begin_request(replay, &trace->requests[i]);
		kvctl_progress_step(progress, i + 1);
		if (!err && replay->options->concurrency == 1 && replay->nr_live)
			err = end_oldest(replay);
	}
	while (!err && replay->nr_live)
		err = end_oldest(replay);
	replay->result->seconds = kvctl_now() - started;
	replay->result->cpu_seconds = kvctl_cpu() - cpu_started;
	return err;
}

/* ---- set-up -------------------------------------------------------------------- */

static int open_pool(struct replay *replay)
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
	int err;

	err = kvp_identity_digest(&identity, replay->space);
	if (!err)
		err = kvp_pool_create("replay", &config, &replay->pool);
	if (err)
		kvctl_print_error("kvctl replay", "no pool");
	return err;
}

static int alloc_buffers(struct replay *replay)
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
	replay->ring = calloc(replay->options->concurrency, sizeof(*replay->ring));
	replay->rows = calloc(replay->chunk_rows, row_bytes);
	replay->expected = calloc(replay->chunk_rows, row_bytes);
	if (replay->tokens && replay->ring && replay->rows && replay->expected)
		return 0;
	fprintf(stderr, "kvctl replay: %s\n", strerror(ENOMEM));
	return -ENOMEM;
}

int kvctl_replay_run(const struct kvctl_trace *trace,
		     const struct kvctl_replay_options *options,
		     struct kvctl_progress *progress, struct kvctl_replay_result *result)
{
	struct replay replay = { .trace = trace, .options = options, .result = result };
	int err;

	memset(result, 0, sizeof(*result));
	err = alloc_buffers(&replay);
	if (!err)
		err = open_pool(&replay);
	if (!err)
		err = replay_all(&replay, progress);
	kvctl_progress_end(progress);
	if (!err) {
		err = kvctl_fsck_run(replay.pool, &result->fsck);
		if (err)
			kvctl_print_error("kvctl replay", "no audit");
	}
	kvp_pool_close(replay.pool);
	free(replay.tokens);
	free(replay.ring);
	free(replay.rows);
	free(replay.expected);
	return err;
}

/* SPDX-License-Identifier: MIT */
/*
 * What the files of a replay share: the replay, the requests that are alive, and
 * the calls that both ways of replaying make. One thread.
 */
#ifndef KVCTL_REPLAY_H
#define KVCTL_REPLAY_H

#include <kvpool.h>

#include "content.h"
#include "replay_run.h"

/**
 * struct kvctl_live - a request that has begun and not ended
 * @request: what it is
 * @seq: its sequence
 * @first_output: its output tokens are consecutive from here
 * @nr_output: so many of them are computed
 * @chain: with bytes: what came before the next row that it writes
 */
struct kvctl_live {
	const struct kvctl_request *request;
	kvp_seq_t seq;
	uint32_t first_output;
	uint32_t nr_output;
	struct kvctl_chain chain;
};

/**
 * struct kvctl_replay - a replay
 * @trace: the requests
 * @options: how
 * @result: what came of it so far
 * @progress: the bar
 * @pool: the pool
 * @space: its namespace digest
 * @watch: measures the calls
 * @tokens: of the request at hand; room for the longest
 * @chunk_rows: rows that are made and moved at once
 * @rows: so many
 * @expected: so many
 */
struct kvctl_replay {
	const struct kvctl_trace *trace;
	const struct kvctl_replay_options *options;
	struct kvctl_replay_result *result;
	struct kvctl_progress *progress;
	struct kvp_pool *pool;
	uint8_t space[KVP_DIGEST_LEN];
	struct kvctl_stopwatch watch;
	uint32_t *tokens;
	uint64_t chunk_rows;
	uint8_t *rows;
	uint8_t *expected;
};

/* Reports that a call got @err, which should not happen; returns @err. */
int kvctl_replay_fatal(const struct kvctl_request *request, const char *what, int err);

/* ---- replay_run.c: calls of the pool, measured; each is fatal if it fails, but for room -- */

/*
 * Begin @live with its prompt and the output that it has, which @replay->tokens gets;
 * *@matched tokens were found. -ENOSPC and -EFBIG are not reported.
 */
int kvctl_replay_create(struct kvctl_replay *replay, struct kvctl_live *live,
			uint64_t *matched);

/* @nr output tokens more for @live, in @replay->tokens then. -ENOSPC is not reported. */
int kvctl_replay_append(struct kvctl_replay *replay, struct kvctl_live *live, uint32_t nr);

int kvctl_replay_advance(struct kvctl_replay *replay, const struct kvctl_live *live,
			 uint64_t computed);
int kvctl_replay_publish(struct kvctl_replay *replay, const struct kvctl_live *live);
int kvctl_replay_free(struct kvctl_replay *replay, const struct kvctl_live *live);

/* Is @err want of room? Then it is counted. */
bool kvctl_replay_no_room(struct kvctl_replay *replay, int err);

/*
 * Note the counters of the pool at @at for the peak and the plot. Needed whenever
 * the number of held blocks is about to fall.
 */
int kvctl_replay_note(struct kvctl_replay *replay, const struct kvctl_request *request,
		      uint64_t at);

/* ---- replay_rows.c: bytes ------------------------------------------------------ */

/* The prompt and the output of @live into @replay->tokens; returns how many. */
uint64_t kvctl_replay_tokens(struct kvctl_replay *replay, const struct kvctl_live *live);

/* @nr output tokens from @first on, at @tokens. */
void kvctl_replay_output(uint32_t first, uint32_t nr, uint32_t *tokens);

/*
 * Compare the first @matched rows of @live and write those of the tokens up to @length, all
 * in @replay->tokens; its chain stands at @length then.
 */
int kvctl_replay_prefill_rows(struct kvctl_replay *replay, struct kvctl_live *live,
			      uint64_t matched, uint64_t length);

/* Write the rows of the next @nr tokens of @live, from @first on, in @replay->tokens. */
int kvctl_replay_decode_rows(struct kvctl_replay *replay, struct kvctl_live *live,
			     uint64_t first, uint64_t nr);

/* Compare all rows that @live has, its own ones too. */
int kvctl_replay_check_all(struct kvctl_replay *replay, const struct kvctl_live *live);

/* ---- the two ways ---------------------------------------------------------------- */

/* replay_order.c: one after the other, or up to so many at once. */
int kvctl_replay_in_order(struct kvctl_replay *replay);

/* replay_timed.c: by timestamps. */
int kvctl_replay_timed(struct kvctl_replay *replay);

#endif /* KVCTL_REPLAY_H */

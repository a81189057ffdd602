/* SPDX-License-Identifier: MIT */
/*
 * Replays a trace against a pool of its own in this process, with the calls that
 * an engine would make.
 */
#ifndef KVCTL_REPLAY_RUN_H
#define KVCTL_REPLAY_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fsck.h"
#include "progress.h"
#include "trace.h"

#define KVCTL_REASONS	256	/* kinds of failures that are counted apart */

/**
 * struct kvctl_replay_options - how to replay
 * @blocks: blocks of the pool
 * @block_tokens: tokens of a block
 * @row_bytes: bytes of the row of one token
 * @concurrency: requests that are alive at once, 1: each ends before the next begins
 * @decode_step: output tokens of one append
 * @bytes: write the rows, and compare those that were matched
 * @verify_all: compare all rows of a request before it ends, too
 * @publish_output: publish decoded tokens as well
 */
struct kvctl_replay_options {
	uint64_t blocks;
	uint32_t block_tokens;
	uint32_t row_bytes;
	uint32_t concurrency;
	uint32_t decode_step;
	bool bytes;
	bool verify_all;
	bool publish_output;
};

/**
 * struct kvctl_replay_result - what came of it
 * @requests: requests replayed
 * @refused: of these never admitted
 * @cut: of these whose output did not fit into the pool
 * @blocks_looked_up: full blocks of the prompts that were admitted
 * @hits: of these found published
 * @reclaimed_blocks: published blocks that the pool took back
 * @verified_rows: rows read back and compared
 * @wrong_rows: of these not what their prefix says
 * @failures: calls that got no room, by enum kvp_reason
 * @peak_held_blocks: most blocks that were held at once
 * @seconds: of the replay alone, without reading the trace and making the pool
 * @cpu_seconds: CPU time of it
 * @fsck: the audit after it
 */
struct kvctl_replay_result {
	uint64_t requests;
	uint64_t refused;
	uint64_t cut;
	uint64_t blocks_looked_up;
	uint64_t hits;
	uint64_t reclaimed_blocks;
	uint64_t verified_rows;
	uint64_t wrong_rows;
	uint64_t failures[KVCTL_REASONS];
	uint64_t peak_held_blocks;
	double seconds;
	double cpu_seconds;
	struct kvctl_fsck fsck;
};

/*
 * Replay @trace. 0, or a negative errno after a message on stderr. Rows that differ and
 * findings of the audit are results, not errors.
 */
int kvctl_replay_run(const struct kvctl_trace *trace,
		     const struct kvctl_replay_options *options,
		     struct kvctl_progress *progress, struct kvctl_replay_result *result);

/* @result in lines for people. */
void kvctl_replay_print(const struct kvctl_replay_options *options,
			const struct kvctl_replay_result *result, uint64_t malformed,
			FILE *out);

/* @result as one JSON object on @out; 0 or -ENOMEM or -EIO. */
int kvctl_replay_print_json(const struct kvctl_replay_result *result, uint64_t malformed,
			    FILE *out);

/* hits / blocks_looked_up, or 0. */
double kvctl_replay_hit_ratio(const struct kvctl_replay_result *result);

#endif /* KVCTL_REPLAY_RUN_H */

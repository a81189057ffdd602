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

#include "door.h"
#include "fsck.h"
#include "plot.h"
#include "progress.h"
#include "replay_calls.h"
#include "trace.h"

#define KVCTL_REASONS	256	/* kinds of failures that are counted apart */
#define KVCTL_SPEED_ONE	1000	/* speed is in thousandths */

/**
 * struct kvctl_timed_options - the machine that a timed replay pretends
 * @speed: how much faster than the trace says requests arrive, in thousandths
 * @prefill_rate: prompt tokens that one engine computes in a second
 * @decode_rate: output tokens a second of each running request
 * @engines: prefills that run at once
 * @max_running: requests that are admitted at once
 */
struct kvctl_timed_options {
	uint64_t speed;
	uint64_t prefill_rate;
	uint64_t decode_rate;
	uint32_t engines;
	uint32_t max_running;
};

/**
 * struct kvctl_replay_options - how to replay
 * @blocks: blocks of the pool
 * @block_tokens: tokens of a block
 * @row_bytes: bytes of the row of one token
 * @concurrency: requests that are alive at once, 1: each ends before the next begins; not
 *               used with @timed
 * @decode_step: output tokens of one append
 * @bytes: write the rows, and compare those that were matched
 * @verify_all: compare all rows of a request before it ends, too
 * @publish_output: publish decoded tokens as well
 * @time_calls: measure the pool's calls
 * @timed: requests arrive by their timestamps and take time, as @machine says
 * @machine: for @timed
 * @plot: gets samples, NULL: none wanted
 * @door: where to make the pool
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
	bool time_calls;
	bool timed;
	struct kvctl_timed_options machine;
	struct kvctl_plot *plot;
	enum kvp_door_kind door;
};

/**
 * struct kvctl_percentiles - of a time, by nearest rank, in ns
 * @p50: half of them are not longer
 * @p95: 95 of 100
 * @p99: 99 of 100
 * @max: the longest
 */
struct kvctl_percentiles {
	uint64_t p50;
	uint64_t p95;
	uint64_t p99;
	uint64_t max;
};

/**
 * struct kvctl_timed_result - what came of a timed replay; all times are virtual
 * @waited: requests that were not admitted as they arrived
 * @wait: arrival to first admission, of the requests that were admitted
 * @first_token: arrival to the end of the first prefill, which yields the first token
 * @preemptions: times that a running request lost its blocks
 * @preempted: requests to which that happened
 * @recomputed_tokens: tokens that were computed again for that
 * @prefilled_tokens: prompt tokens computed the first time: not found in the pool
 * @output_tokens: tokens decoded
 * @peak_running: most requests that held blocks at once
 * @peak_waiting: most requests that waited at once
 * @makespan_ns: first arrival to last end
 */
struct kvctl_timed_result {
	uint64_t waited;
	struct kvctl_percentiles wait;
	struct kvctl_percentiles first_token;
	uint64_t preemptions;
	uint64_t preempted;
	uint64_t recomputed_tokens;
	uint64_t prefilled_tokens;
	uint64_t output_tokens;
	uint32_t peak_running;
	uint32_t peak_waiting;
	uint64_t makespan_ns;
};

/**
 * struct kvctl_replay_result - what came of it
 * @requests: requests replayed
 * @refused: of these never admitted
 * @cut: of these whose output did not fit into the pool; never with timed
 * @blocks_looked_up: full blocks of the prompts that were admitted; timed: the first time
 * @hits: of these found published
 * @reclaimed_blocks: published blocks that the pool took back
 * @verified_rows: rows read back and compared
 * @wrong_rows: of these not what their prefix says
 * @failures: calls that got no room, by enum kvp_reason
 * @peak_held_blocks: most blocks that were held at once
 * @seconds: of the replay alone, without reading the trace and making the pool
 * @cpu_seconds: CPU time of it
 * @calls: CPU time of the pool's calls, with time_calls
 * @timed: with timed
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
	struct kvctl_call_times calls;
	struct kvctl_timed_result timed;
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
int kvctl_replay_print_json(const struct kvctl_replay_options *options,
			    const struct kvctl_replay_result *result, uint64_t malformed,
			    FILE *out);

/* hits / blocks_looked_up, or 0. */
double kvctl_replay_hit_ratio(const struct kvctl_replay_result *result);

#endif /* KVCTL_REPLAY_RUN_H */

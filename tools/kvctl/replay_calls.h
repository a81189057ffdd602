/* SPDX-License-Identifier: MIT */
/*
 * How long the pool's calls take, without what is done between them.
 *
 * Each call lies between two readings of a clock that costs some nanoseconds: the
 * processor's time stamp counter where it runs at one rate (x86-64), else
 * CLOCK_MONOTONIC. Two things do not belong to the call and are taken out: what a
 * reading costs, measured before the first call; and the time in which the thread had no
 * CPU, which is CLOCK_MONOTONIC less CLOCK_THREAD_CPUTIME_ID. That clock costs a system
 * call, so it is only read where a call, or what lies between two, took long enough for
 * another thread to have run. One stopwatch belongs to one thread.
 */
#ifndef KVCTL_REPLAY_CALLS_H
#define KVCTL_REPLAY_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* Kinds of calls that a replay makes as an engine would. */
enum kvctl_call {
	KVCTL_CALL_CREATE,	/* kvp_seq_create(): match the prompt and take the blocks */
	KVCTL_CALL_APPEND,	/* kvp_seq_append() */
	KVCTL_CALL_ADVANCE,	/* kvp_seq_advance() */
	KVCTL_CALL_PUBLISH,	/* kvp_publish() */
	KVCTL_CALL_FREE,	/* kvp_seq_free() */
	KVCTL_CALLS,
};

/**
 * struct kvctl_call_times - CPU time of the pool's calls
 * @clock: the clock that was read
 * @count: calls by kind, refused ones too
 * @seconds: CPU time of them
 * @total_count: sum of @count
 * @total_seconds: sum of @seconds
 * @overhead_ns: what one measurement adds to a call; taken out of @seconds
 * @overhead_seconds: how much was taken out in all
 * @off_cpu_seconds: time without a CPU inside calls; taken out of @seconds
 */
struct kvctl_call_times {
	const char *clock;
	uint64_t count[KVCTL_CALLS];
	double seconds[KVCTL_CALLS];
	uint64_t total_count;
	double total_seconds;
	double overhead_ns;
	double overhead_seconds;
	double off_cpu_seconds;
};

/**
 * struct kvctl_stopwatch - measures calls
 * @on: measure; all other fields mean something only then
 * @tsc: ticks are of the time stamp counter, else nanoseconds
 * @began: ticks when the call at hand began
 * @ended: ticks when the last one had ended
 * @long_ticks: another thread can have run in so many
 * @ticks_per_ns: as far as the calibration shows
 * @off_cpu_ns: time without a CPU, when it was last looked at
 * @first_ticks: ticks at the start
 * @first_ns: CLOCK_MONOTONIC at the start
 * @overhead: ticks that one measurement adds, thousandths
 * @count: calls by kind
 * @ticks: ticks of them
 * @lost_ns: of these without a CPU
 */
struct kvctl_stopwatch {
	bool on;
	bool tsc;
	uint64_t began;
	uint64_t ended;
	uint64_t long_ticks;
	double ticks_per_ns;
	uint64_t off_cpu_ns;
	uint64_t first_ticks;
	uint64_t first_ns;
	uint64_t overhead;
	uint64_t count[KVCTL_CALLS];
	uint64_t ticks[KVCTL_CALLS];
	uint64_t lost_ns[KVCTL_CALLS];
};

/* Calibrate and start; with @on false nothing is measured. */
void kvctl_stopwatch_start(struct kvctl_stopwatch *watch, bool on);

/* Around each call. */
void kvctl_stopwatch_begin(struct kvctl_stopwatch *watch);
void kvctl_stopwatch_end(struct kvctl_stopwatch *watch, enum kvctl_call call);

/* What was measured since the start. */
void kvctl_stopwatch_times(const struct kvctl_stopwatch *watch,
			   struct kvctl_call_times *times);

/* "create", "append", ... */
const char *kvctl_call_name(enum kvctl_call call);

#endif /* KVCTL_REPLAY_CALLS_H */

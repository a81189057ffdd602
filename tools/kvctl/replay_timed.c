// SPDX-License-Identifier: MIT
/*
 * Replays a trace in virtual time. A request arrives at its timestamp and waits, first
 * come first served, until an engine can prefill it and the pool has room for its
 * prompt. The prefill takes the time that its tokens which were not found take; then the
 * request decodes beside the others until it ends. It holds its blocks from admission on.
 *
 * When a running request needs a block and there is none, the one that arrived last of
 * those that run is preempted: its blocks are freed, and it waits at the head of the
 * queue to be computed again. So the oldest always goes on, and all end. After that, and
 * after a request found no room, nobody is admitted until another has ended.
 *
 * Nothing sleeps and nothing is measured: the same trace and options give the same result.
 * Owns the jobs; all who run arrived before all who wait, so both are lists in the order of
 * arrival.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvctl.h"
#include "replay.h"
#include "replay_events.h"

#define NS_PER_MS	1000000ULL
#define NS_PER_S	1000000000ULL
#define TIME_LIMIT	(1ULL << 62)	/* ns: 146 years */

/* A request of the trace. */
struct job {
	struct kvctl_event event;	/* the end of its prefill, or of its next decode step */
	struct kvctl_live live;
	uint64_t arrival;		/* ns after the first one */
	uint64_t wait;
	uint64_t first_token;
	uint64_t matched;
	uint64_t decode_from;		/* when the decoding began that is going on */
	uint32_t decode_done;		/* output tokens that it had then */
	bool admitted;			/* once at least */
	bool answered;			/* has its first token */
	bool prefilling;
	bool preempted;			/* once at least */
	struct job *prev;		/* arrived before, of those that run */
	struct job *next;		/* arrived after, of those that run or those that wait */
};

struct timed {
	struct kvctl_replay *replay;
	const struct kvctl_timed_options *machine;
	struct kvctl_timed_result *result;
	struct kvctl_events events;
	uint64_t now;
	struct job *jobs;		/* in the order of arrival */
	size_t nr_arrived;
	size_t nr_ended;
	struct job *first_waiting;
	struct job *last_waiting;
	uint32_t nr_waiting;
	struct job *youngest;		/* the last of those that run */
	uint32_t nr_running;
	uint32_t nr_prefilling;
	bool full;			/* nobody is admitted until somebody has ended */
};

static int note(struct timed *timed, const struct job *job)
{
	return kvctl_replay_note(timed->replay, job->live.request, timed->now);
}

/* @job's event after @delay ns from @from on. */
static int schedule(struct timed *timed, struct job *job, uint64_t from, uint64_t delay)
{
	if (delay > TIME_LIMIT - from) {
		fprintf(stderr, "kvctl replay: request of line %llu: the replay would take "
			"more than 146 years; higher rates help\n",
			(unsigned long long)job->live.request->line);
		return -EOVERFLOW;
	}
	kvctl_events_add(&timed->events, &job->event, from + delay);
	return 0;
}

/* ---- who waits and who runs ------------------------------------------------------ */

static void wait_first(struct timed *timed, struct job *job)
{
	job->next = timed->first_waiting;
	timed->first_waiting = job;
	if (!job->next)
		timed->last_waiting = job;
	timed->nr_waiting++;
}

static void wait_last(struct timed *timed, struct job *job)
{
	job->next = NULL;
	if (timed->first_waiting)
		timed->last_waiting->next = job;
	else
		timed->first_waiting = job;
	timed->last_waiting = job;
	timed->nr_waiting++;
}

/* The first of those that wait runs. */
static void run_first(struct timed *timed)
{
	struct job *job = timed->first_waiting;

	timed->first_waiting = job->next;
	timed->nr_waiting--;
	job->next = NULL;
	job->prev = timed->youngest;
	if (job->prev)
		job->prev->next = job;
	timed->youngest = job;
	timed->nr_running++;
	if (timed->nr_running > timed->result->peak_running)
		timed->result->peak_running = timed->nr_running;
}

/* @job does not run any more; its blocks are freed. */
static int stop(struct timed *timed, struct job *job)
{
	int err;

	if (timed->replay->options->publish_output && !job->prefilling) {
		err = kvctl_replay_publish(timed->replay, &job->live);
		if (err)
			return err;
	}
	err = note(timed, job);
	if (!err)
		err = kvctl_replay_free(timed->replay, &job->live);
	if (err)
		return err;
	if (job->prev)
		job->prev->next = job->next;
	if (job->next)
		job->next->prev = job->prev;
	else
		timed->youngest = job->prev;
	timed->nr_running--;
	if (job->prefilling)
		timed->nr_prefilling--;
	job->prefilling = false;
	return 0;
}

/* ---- admission --------------------------------------------------------------------- */

/* @job has its blocks: counts what was found and begins the prefill. */
static int begin_prefill(struct timed *timed, struct job *job)
{
	uint64_t length = (uint64_t)job->live.request->input_length + job->live.nr_output;
	struct kvctl_replay *replay = timed->replay;
	uint32_t block_tokens = replay->options->block_tokens;
	uint64_t rate = timed->machine->prefill_rate;

	if (job->admitted) {
		timed->result->recomputed_tokens += length - job->matched;
	} else {
		replay->result->blocks_looked_up += length / block_tokens;
		replay->result->hits += job->matched / block_tokens;
		timed->result->prefilled_tokens += length - job->matched;
		job->wait = timed->now - job->arrival;
		timed->result->waited += job->wait > 0;
		job->admitted = true;
	}
	job->prefilling = true;
	timed->nr_prefilling++;
	return schedule(timed, job, timed->now,
			((length - job->matched) * NS_PER_S + rate - 1) / rate);
}

/* Admits those that wait, in order, until one must go on waiting. */
static int admit(struct timed *timed)
{
	struct job *job;
	int err;

	while ((job = timed->first_waiting) &&
	       timed->nr_prefilling < timed->machine->engines &&
	       timed->nr_running < timed->machine->max_running && !timed->full) {
		err = kvctl_replay_create(timed->replay, &job->live, &job->matched);
		if (err && timed->nr_running && kvctl_replay_no_room(timed->replay, err)) {
			timed->full = true;
			break;
		}
		if (err)
			return kvctl_replay_fatal(job->live.request, "cannot be admitted", err);
		run_first(timed);
		err = begin_prefill(timed, job);
		if (err)
			return err;
	}
	if (timed->nr_waiting > timed->result->peak_waiting)
		timed->result->peak_waiting = timed->nr_waiting;
	return 0;
}

/* A request that needs more blocks than there are is not let in. */
static void arrive(struct timed *timed, struct job *job)
{
	const struct kvctl_replay_options *options = timed->replay->options;
	struct kvctl_replay_result *result = timed->replay->result;
	const struct kvctl_request *request = job->live.request;
	uint64_t length = (uint64_t)request->input_length + request->output_length;

	result->requests++;
	if (length > options->blocks * options->block_tokens) {
		result->refused++;
		result->failures[KVP_REASON_NEVER_FITS]++;
		timed->nr_ended++;
		return;
	}
	wait_last(timed, job);
}

/* ---- running ------------------------------------------------------------------------ */

static int end(struct timed *timed, struct job *job)
{
	int err = 0;

	if (timed->replay->options->verify_all)
		err = kvctl_replay_check_all(timed->replay, &job->live);
	if (!err)
		err = stop(timed, job);
	if (err)
		return err;
	timed->result->output_tokens += job->live.nr_output;
	timed->result->makespan_ns = timed->now;
	timed->nr_ended++;
	timed->full = false;
	return 0;
}

static uint32_t next_step(const struct timed *timed, const struct job *job)
{
	uint32_t left = job->live.request->output_length - job->live.nr_output;
	uint32_t step = timed->replay->options->decode_step;

	return left < step ? left : step;
}

/* The next decode step of @job, or its end. */
static int go_on(struct timed *timed, struct job *job)
{
	uint32_t step = next_step(timed, job);
	uint64_t done;

	if (!step)
		return end(timed, job);
	done = job->live.nr_output - job->decode_done + step;
	return schedule(timed, job, job->decode_from,
			done * NS_PER_S / timed->machine->decode_rate);
}

/*
 * All tokens of @job are computed. With the prompt it publishes what else it found; the
 * output that a preempted request had is published with the rest of it, if at all.
 */
static int end_prefill(struct timed *timed, struct job *job)
{
	uint64_t prompt = job->live.request->input_length;
	uint64_t length = prompt + job->live.nr_output;
	struct kvctl_replay *replay = timed->replay;
	int err = 0;

	if (replay->options->bytes) {
		kvctl_replay_tokens(replay, &job->live);
		err = kvctl_replay_prefill_rows(replay, &job->live, job->matched, length);
	}
	if (job->matched > prompt)
		prompt = job->matched;
	if (!err)
		err = kvctl_replay_advance(replay, &job->live, prompt);
	if (!err)
		err = kvctl_replay_publish(replay, &job->live);
	if (!err && length > prompt)
		err = kvctl_replay_advance(replay, &job->live, length);
	if (!err)
		err = note(timed, job);
	if (err)
		return err;
	job->prefilling = false;
	timed->nr_prefilling--;
	if (!job->answered)
		job->first_token = timed->now - job->arrival;
	job->answered = true;
	job->decode_from = timed->now;
	job->decode_done = job->live.nr_output;
	return go_on(timed, job);
}

/* @job gives its blocks up and waits. */
static int preempt(struct timed *timed, struct job *job)
{
	int err = stop(timed, job);

	if (err)
		return err;
	timed->result->preemptions++;
	timed->result->preempted += !job->preempted;
	job->preempted = true;
	timed->full = true;
	wait_first(timed, job);
	return 0;
}

/* Output tokens of @job are there; the youngest make room if they must. */
static int end_decode(struct timed *timed, struct job *job)
{
	uint64_t at = (uint64_t)job->live.request->input_length + job->live.nr_output;
	uint32_t step = next_step(timed, job);
	struct kvctl_replay *replay = timed->replay;
	struct job *victim;
	int err;

	while ((err = kvctl_replay_append(replay, &job->live, step))) {
		victim = timed->youngest;
		if (timed->nr_running == 1 || !kvctl_replay_no_room(replay, err))
			return kvctl_replay_fatal(job->live.request, "cannot decode", err);
		if (victim == job)
			return preempt(timed, job);
		kvctl_events_remove(&timed->events, &victim->event);
		err = preempt(timed, victim);
		if (err)
			return err;
	}
	if (replay->options->bytes)
		err = kvctl_replay_decode_rows(replay, &job->live, at, step);
	if (err)
		return err;
	job->live.nr_output += step;
	err = kvctl_replay_advance(replay, &job->live, at + step);
	return err ? err : go_on(timed, job);
}

static int simulate(struct timed *timed)
{
	size_t nr = timed->replay->trace->nr_requests;
	struct kvctl_event *event;
	struct job *job;
	int err = 0;

	while (!err && timed->nr_ended < nr) {
		event = timed->events.nr ? timed->events.heap[0] : NULL;
		job = timed->nr_arrived < nr ? &timed->jobs[timed->nr_arrived] : NULL;
		if (event && !(job && job->arrival < event->due)) {
			timed->now = event->due;
			kvctl_events_remove(&timed->events, event);
			job = (struct job *)event;	/* its first member */
			err = job->prefilling ? end_prefill(timed, job) :
						end_decode(timed, job);
		} else {
			timed->now = job->arrival;
			timed->nr_arrived++;
			arrive(timed, job);
		}
		if (!err)
			err = admit(timed);
		kvctl_progress_step(timed->replay->progress, timed->nr_ended);
	}
	return err;
}

/* ---- set-up and result ---------------------------------------------------------------- */

static int by_arrival(const void *a, const void *b)
{
	const struct job *x = a, *y = b;

	if (x->arrival != y->arrival)
		return x->arrival < y->arrival ? -1 : 1;
	return x->live.request < y->live.request ? -1 : 1;
}

/* The job of @request, which arrives so many ms after the first. */
static int init_job(const struct timed *timed, struct job *job,
		    const struct kvctl_request *request, uint64_t ms)
{
	uint64_t length = (uint64_t)request->input_length + request->output_length;
	uint64_t per_ms = NS_PER_MS * KVCTL_SPEED_ONE;
	uint64_t limit = TIME_LIMIT / per_ms * timed->machine->speed;

	if (limit > UINT64_MAX / per_ms)
		limit = UINT64_MAX / per_ms;
	if (length > KVP_MAX_CALL_TOKENS) {
		fprintf(stderr, "kvctl replay: line %llu: %llu tokens of input and output; "
			"--timed takes up to %u\n", (unsigned long long)request->line,
			(unsigned long long)length, KVP_MAX_CALL_TOKENS);
		return -EINVAL;
	}
	if (ms > limit) {
		fprintf(stderr, "kvctl replay: line %llu: timestamp %llu is %llu ms after the "
			"first; --timed takes up to %llu\n",
			(unsigned long long)request->line,
			(unsigned long long)request->timestamp, (unsigned long long)ms,
			(unsigned long long)limit);
		return -EOVERFLOW;
	}
	job->arrival = ms * per_ms / timed->machine->speed;
	job->live.request = request;
	return 0;
}

static int init_jobs(struct timed *timed)
{
	const struct kvctl_trace *trace = timed->replay->trace;
	uint64_t first = UINT64_MAX;
	uint32_t next_output = 0;
	size_t i;
	int err;

	for (i = 0; i < trace->nr_requests; i++) {
		if (trace->requests[i].timestamp < first)
			first = trace->requests[i].timestamp;
	}
	for (i = 0; i < trace->nr_requests; i++) {
		err = init_job(timed, &timed->jobs[i], &trace->requests[i],
			       trace->requests[i].timestamp - first);
		if (err)
			return err;
		timed->jobs[i].live.first_output = next_output;
		next_output += trace->requests[i].output_length;
	}
	qsort(timed->jobs, trace->nr_requests, sizeof(*timed->jobs), by_arrival);
	return 0;
}

static int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Sorts @times. */
static void percentiles(uint64_t *times, size_t nr, struct kvctl_percentiles *result)
{
	if (!nr)
		return;
	qsort(times, nr, sizeof(*times), compare_times);
	result->p50 = times[(nr * 50 + 99) / 100 - 1];
	result->p95 = times[(nr * 95 + 99) / 100 - 1];
	result->p99 = times[(nr * 99 + 99) / 100 - 1];
	result->max = times[nr - 1];
}

static void sum_up(struct timed *timed, uint64_t *times)
{
	size_t i, nr = timed->replay->trace->nr_requests, n;

	for (i = 0, n = 0; i < nr; i++) {
		if (timed->jobs[i].admitted)
			times[n++] = timed->jobs[i].wait;
	}
	percentiles(times, n, &timed->result->wait);
	for (i = 0, n = 0; i < nr; i++) {
		if (timed->jobs[i].admitted)
			times[n++] = timed->jobs[i].first_token;
	}
	percentiles(times, n, &timed->result->first_token);
}

int kvctl_replay_timed(struct kvctl_replay *replay)
{
	struct timed timed = {
		.replay = replay,
		.machine = &replay->options->machine,
		.result = &replay->result->timed,
	};
	size_t nr = replay->trace->nr_requests;
	uint64_t *times = calloc(nr, sizeof(*times));
	int err;

	timed.jobs = calloc(nr, sizeof(*timed.jobs));
	timed.events.heap = calloc(nr, sizeof(*timed.events.heap));
	if (timed.jobs && timed.events.heap && times) {
		err = init_jobs(&timed);
		if (!err)
			err = simulate(&timed);
		if (!err)
			sum_up(&timed, times);
	} else {
		fprintf(stderr, "kvctl replay: %s\n", strerror(ENOMEM));
		err = -ENOMEM;
	}
	free(timed.jobs);
	free(timed.events.heap);
	free(times);
	return err;
}

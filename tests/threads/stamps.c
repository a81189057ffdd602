// SPDX-License-Identifier: MIT
/*
 * The stamp test in one process, to be run under TSan: clients with streams of the runtime, and
 * clients with an accelerator that outlives them, of which some are killed at random moments. See
 * tests/stamps/stamps.h.
 *
 *	stamps [--ops N] [--seed S] [--late-use]
 *
 * --ops: things that each client does, from its first life to its last. --late-use: uses are
 * said after the launch, as they must not be. Exit status 1: foreign stamps were seen, or
 * rows were gone that a step had to read.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "accel.h"

#define POOL		"inproc:stamps"
#define GRACE_MS	1500
#define THREADS		2		/* of a stream */
#define MIN_LIFE	20		/* things that a client does before it goes */
#define MAX_LIFE	140
#define PAUSE_US	700		/* of a step */
#define CANCEL_US	6000
#define MONITOR_US	10000
#define IDLE_US		100

static struct stamps_score score;
static struct accel accel;
static struct stamps stamps = {
	.score = &score, .pause_us = PAUSE_US, .cancel_us = CANCEL_US,
};
static struct kvp_pool *machine;	/* the handle that nobody works with */
static uint64_t ops = 2500;
static _Atomic bool over;

/* ---- a client with streams of the runtime ---- */

/* One order of a stream; @done: those of the stream that have ended. */
struct job {
	struct order order;
	_Atomic uint64_t *done;
};

struct stream {
	struct kvp_stream *stream;
	_Atomic uint64_t launched;
	_Atomic uint64_t done;
	struct kvp_step step;
	struct job job[STAMPS_DEPTH];
};

static void run_job(void *arg, uint32_t part, uint32_t parts)
{
	struct job *job = arg;

	stamps_run(&stamps, &job->order);
	atomic_fetch_add_explicit(job->done, 1, memory_order_release);
}

static struct stream *stream_of(struct engine *engine, uint32_t stream)
{
	return &((struct stream *)engine->lane)[stream];
}

static uint32_t stream_busy(struct engine *engine, uint32_t at)
{
	struct stream *stream = stream_of(engine, at);

	return atomic_load_explicit(&stream->launched, memory_order_relaxed) -
	       atomic_load_explicit(&stream->done, memory_order_relaxed);
}

static struct order *stream_slot(struct engine *engine, uint32_t at)
{
	struct stream *stream = stream_of(engine, at);

	while (stream->launched - atomic_load_explicit(&stream->done, memory_order_acquire) ==
	       STAMPS_DEPTH)
		usleep(IDLE_US);
	return &stream->job[stream->launched % STAMPS_DEPTH].order;
}

static int stream_say(struct engine *engine, uint32_t at, struct kvp_use_entry *uses, uint32_t nr)
{
	struct stream *stream = stream_of(engine, at);

	return kvp_step_begin(engine->pool, kvp_stream_timeline(stream->stream), uses, nr,
			      &stream->step);
}

static void stream_launch(struct engine *engine, uint32_t at)
{
	struct stream *stream = stream_of(engine, at);

	engine_check("launch", kvp_stream_launch(stream->stream, run_job,
						 &stream->job[stream->launched % STAMPS_DEPTH], 1));
	stream->launched++;
}

static void stream_end(struct engine *engine, uint32_t at, bool said)
{
	struct stream *stream = stream_of(engine, at);

	if (said)
		engine_check("step end", kvp_step_end(stream->stream, &stream->step));
}

static const struct stamps_ops stream_ops = {
	.slot = stream_slot,
	.say = stream_say,
	.launch = stream_launch,
	.end = stream_end,
	.busy = stream_busy,
};

static void stream_open(struct engine *engine, struct kvp_pool *pool)
{
	struct stream *streams = calloc(STAMPS_STREAMS, sizeof(*streams));
	uint32_t i, k;

	if (!streams)
		stamps_fail("no memory");
	for (i = 0; i < STAMPS_STREAMS; i++) {
		engine_check("stream", kvp_stream_open(pool, THREADS, &streams[i].stream));
		for (k = 0; k < STAMPS_DEPTH; k++)
			streams[i].job[k].done = &streams[i].done;
	}
	engine->lane = streams;
}

static void stream_close(struct engine *engine)
{
	uint32_t i;

	for (i = 0; i < STAMPS_STREAMS; i++)
		kvp_stream_close(stream_of(engine, i)->stream);
	free(engine->lane);
}

/* ---- clients come and go ---- */

static struct kvp_pool *join(void)
{
	struct kvp_pool *pool;

	engine_check("open", kvp_pool_open(POOL, &pool));
	return pool;
}

static void live(uint64_t *random, uint32_t steps)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	bool streams = !stamps_below(random, 3);
	struct kvp_pool *pool = join();

	if (!engine)
		stamps_fail("no memory");
	if (streams)
		stream_open(engine, pool);
	else
		accel_open(engine, pool, &accel);
	engine_begin(engine, &stamps, streams ? &stream_ops : &accel_ops, pool,
		     stamps_random(random));
	engine_work(engine, steps);
	if (streams) {
		engine_end(engine);
		stream_close(engine);
	} else {
		if (stamps_below(random, 4)) {
			engine_end(engine);
		} else {
			engine_stop(engine);
			accel_kill(&stamps, engine->life, accel_context_of(engine));
		}
		accel_close(engine);
	}
	kvp_pool_close(pool);
	free(engine);
}

static void *client(void *arg)
{
	uint64_t *random = arg, left, steps;

	for (left = ops; left && !stamps_enough(&stamps); left -= steps) {
		steps = MIN_LIFE + stamps_below(random, MAX_LIFE - MIN_LIFE);
		if (steps > left)
			steps = left;
		live(random, steps);
	}
	return NULL;
}

/* ---- the run ---- */

static void *monitor(void *arg)
{
	while (!atomic_load(&over)) {
		stamps_look(machine, arg);
		usleep(MONITOR_US);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "ops", required_argument, NULL, 'o' },
		{ "seed", required_argument, NULL, 's' },
		{ "late-use", no_argument, NULL, 'l' },
		{ },
	};
	pthread_t threads[STAMPS_CLIENTS], monitoring;
	uint64_t random[STAMPS_CLIENTS], seed = 1;
	struct stamps_peak peak = { };
	uint32_t i;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'o')
			ops = strtoull(optarg, NULL, 0);
		else if (opt == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (opt == 'l')
			stamps.late_use = true;
		else
			return 2;
	}
	accel_init(&accel);
	machine = stamps_pool(&stamps, POOL, GRACE_MS);
	accel_start(&stamps, &accel);
	if (pthread_create(&monitoring, NULL, monitor, &peak))
		stamps_fail("no thread");
	for (i = 0; i < STAMPS_CLIENTS; i++) {
		random[i] = seed * 1000 + i;
		if (pthread_create(&threads[i], NULL, client, &random[i]))
			stamps_fail("no thread");
	}
	for (i = 0; i < STAMPS_CLIENTS; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&over, true);
	pthread_join(monitoring, NULL);
	stamps_report(&stamps, &peak);
	if (score.foreign || score.missing)
		return 1;
	stamps_check_end(&stamps, machine);
	stamps_check_covered(&stamps, &peak);
	kvp_pool_close(machine);
	printf("stamps: %" PRIu64 " operations each, seed %" PRIu64 ": sound\n", ops, seed);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * The accelerator, and a client's side of it. The accelerator owns the counts of what is done;
 * a client those of what it has launched. Completion is told by a thread of the client that
 * watches these counts and stores the values of the steps into its timelines: it dies with
 * its client, and the work does not.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "accel.h"

#define WATCH_NS	2000000		/* between two looks that nobody asked for */
#define IDLE_US		50

/* ---- the accelerator ---- */

/* One of its threads: works for one stream. */
struct hand {
	struct stamps *stamps;
	struct accel_context *context;
	struct accel_stream *stream;
};

static void *serve(void *arg)
{
	struct hand *hand = arg;
	struct accel_stream *stream = hand->stream;
	uint64_t done;

	for (;;) {
		while (sem_wait(&stream->work))
			;
		done = atomic_load(&stream->done);
		if (done == atomic_load(&stream->launched))
			continue;
		stamps_run(hand->stamps, &stream->order[done % STAMPS_DEPTH]);
		atomic_store_explicit(&stream->done, done + 1, memory_order_release);
		sem_post(&hand->context->ended);
	}
	return NULL;
}

void accel_init(struct accel *accel)
{
	uint32_t i, k;

	memset(accel, 0, sizeof(*accel));
	for (i = 0; i < ACCEL_CONTEXTS; i++) {
		sem_init(&accel->context[i].ended, 1, 0);
		for (k = 0; k < STAMPS_STREAMS; k++)
			sem_init(&accel->context[i].stream[k].work, 1, 0);
	}
}

void accel_start(struct stamps *stamps, struct accel *accel)
{
	static struct hand hands[ACCEL_CONTEXTS * STAMPS_STREAMS];
	pthread_t thread;
	uint32_t i;

	for (i = 0; i < ACCEL_CONTEXTS * STAMPS_STREAMS; i++) {
		hands[i].stamps = stamps;
		hands[i].context = &accel->context[i / STAMPS_STREAMS];
		hands[i].stream = &hands[i].context->stream[i % STAMPS_STREAMS];
		if (pthread_create(&thread, NULL, serve, &hands[i]))
			stamps_fail("no thread");
		pthread_detach(thread);
	}
}

/* ---- a client's side ---- */

/**
 * struct lane - a client's side of its context
 * @lock: of what follows it, up to @said
 * @ended: launches whose step was ended, or that have none
 * @told: launches that are over and told
 * @step: of the last launches
 * @said: by launch: there is a step
 * @at: number of the order that is being filled in; the client's own thread's
 */
struct lane {
	struct accel_context *context;
	pthread_t watcher;
	_Atomic bool over;
	uint32_t timeline[STAMPS_STREAMS];
	pthread_mutex_t lock;
	uint64_t ended[STAMPS_STREAMS];
	uint64_t told[STAMPS_STREAMS];
	struct kvp_step step[STAMPS_STREAMS][STAMPS_DEPTH];
	bool said[STAMPS_STREAMS][STAMPS_DEPTH];
	uint64_t at[STAMPS_STREAMS];
};

/* Tell what is over. */
static void tell_locked(struct lane *lane, uint32_t stream)
{
	uint64_t done = atomic_load_explicit(&lane->context->stream[stream].done,
					     memory_order_acquire);
	uint64_t *told = &lane->told[stream];

	while (*told < done && *told < lane->ended[stream]) {
		if (lane->said[stream][*told % STAMPS_DEPTH])
			kvp_step_done(&lane->step[stream][*told % STAMPS_DEPTH]);
		(*told)++;
	}
}

static void *watch(void *arg)
{
	struct lane *lane = arg;
	struct timespec until;
	uint32_t i;

	while (!atomic_load(&lane->over)) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += WATCH_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		sem_timedwait(&lane->context->ended, &until);
		pthread_mutex_lock(&lane->lock);
		for (i = 0; i < STAMPS_STREAMS; i++)
			tell_locked(lane, i);
		pthread_mutex_unlock(&lane->lock);
	}
	return NULL;
}

static uint32_t busy(struct engine *engine, uint32_t stream)
{
	struct lane *lane = engine->lane;
	uint64_t told;

	pthread_mutex_lock(&lane->lock);
	told = lane->told[stream];
	pthread_mutex_unlock(&lane->lock);
	return atomic_load(&lane->context->stream[stream].launched) - told;
}

static struct order *slot(struct engine *engine, uint32_t stream)
{
	struct lane *lane = engine->lane;

	while (busy(engine, stream) == STAMPS_DEPTH)
		usleep(IDLE_US);
	lane->at[stream] = atomic_load(&lane->context->stream[stream].launched);
	return &lane->context->stream[stream].order[lane->at[stream] % STAMPS_DEPTH];
}

static int say(struct engine *engine, uint32_t stream, struct kvp_use_entry *uses, uint32_t nr)
{
	struct lane *lane = engine->lane;

	return kvp_step_begin(engine->pool, lane->timeline[stream], uses, nr,
			      &lane->step[stream][lane->at[stream] % STAMPS_DEPTH]);
}

static void launch(struct engine *engine, uint32_t stream)
{
	struct lane *lane = engine->lane;

	atomic_fetch_add(&lane->context->stream[stream].launched, 1);
	sem_post(&lane->context->stream[stream].work);
}

static void end(struct engine *engine, uint32_t stream, bool said)
{
	struct lane *lane = engine->lane;

	pthread_mutex_lock(&lane->lock);
	lane->said[stream][lane->at[stream] % STAMPS_DEPTH] = said;
	lane->ended[stream] = lane->at[stream] + 1;
	tell_locked(lane, stream);
	pthread_mutex_unlock(&lane->lock);
}

const struct stamps_ops accel_ops = {
	.slot = slot,
	.say = say,
	.launch = launch,
	.end = end,
	.busy = busy,
};

static bool idle(const struct accel_context *context)
{
	uint32_t i;

	for (i = 0; i < STAMPS_STREAMS; i++) {
		if (atomic_load(&context->stream[i].done) !=
		    atomic_load(&context->stream[i].launched))
			return false;
	}
	return true;
}

/* A context that nobody has, and for which nothing is done any more. */
static struct accel_context *take(struct accel *accel)
{
	bool taken;
	uint32_t i;

	for (i = 0; ; i = (i + 1) % ACCEL_CONTEXTS) {
		taken = false;
		if (!i)
			usleep(IDLE_US);
		if (!atomic_load(&accel->context[i].taken) && idle(&accel->context[i]) &&
		    atomic_compare_exchange_strong(&accel->context[i].taken, &taken, true))
			return &accel->context[i];
	}
}

void accel_open(struct engine *engine, struct kvp_pool *pool, struct accel *accel)
{
	struct lane *lane = calloc(1, sizeof(*lane));
	uint32_t i;

	if (!lane)
		stamps_fail("no memory");
	lane->context = take(accel);
	pthread_mutex_init(&lane->lock, NULL);
	for (i = 0; i < STAMPS_STREAMS; i++) {
		engine_check("timeline", kvp_timeline_create(pool, &lane->timeline[i]));
		lane->ended[i] = atomic_load(&lane->context->stream[i].launched);
		lane->told[i] = lane->ended[i];
	}
	engine->lane = lane;
	if (pthread_create(&lane->watcher, NULL, watch, lane))
		stamps_fail("no thread");
}

struct accel_context *accel_context_of(const struct engine *engine)
{
	const struct lane *lane = engine->lane;

	return lane->context;
}

void accel_kill(struct stamps *stamps, uint32_t life, const struct accel_context *context)
{
	stamps_kill(stamps, life);
	if (!idle(context))
		stamps_count(stamps, kills, 1);
}

void accel_release(struct accel_context *context)
{
	uint32_t i;

	/* It may have died between a launch and its count. */
	for (i = 0; i < STAMPS_STREAMS; i++)
		sem_post(&context->stream[i].work);
	atomic_store(&context->taken, false);
}

void accel_close(struct engine *engine)
{
	struct lane *lane = engine->lane;

	atomic_store(&lane->over, true);
	pthread_join(lane->watcher, NULL);
	accel_release(lane->context);
	pthread_mutex_destroy(&lane->lock);
	free(lane);
}

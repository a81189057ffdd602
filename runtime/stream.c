// SPDX-License-Identifier: MIT
/*
 * Streams: launches that threads of this process work off in their order, as an accelerator
 * does, and that end steps by writing their timeline. Owns struct kvp_stream, under its lock, which
 * is never held while work runs.
 *
 * The launches in flight are numbered and lie in a ring. Only the first one runs; its parts are
 * handed out one by one. Whoever ends the last part writes the value of the step that ends
 * there, if one does, and the next launch begins. So a value is written when all that was launched
 * before it is over, by a thread that has seen all of that through the lock: one store with
 * release order hands it on.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/**
 * struct launch - one launch in flight
 * @work: what is called
 * @arg: for it
 * @parts: how often
 * @next: part that is handed out next
 * @left: parts that have not ended
 * @step: the step that ends with it; value 0: none
 */
struct launch {
	kvp_work work;
	void *arg;
	uint32_t parts;
	uint32_t next;
	uint32_t left;
	struct kvp_step step;
};

/**
 * struct kvp_stream - a stream
 * @pool: whose timeline it is
 * @timeline: index of that
 * @generation: of the process that opened it
 * @lock: for all that follows
 * @work: signalled when a launch begins, or @closing
 * @ended: signalled when a launch has ended, if somebody waits
 * @nr_waiting: who waits for @ended
 * @closing: no launch follows: threads end when there is none left
 * @first: number of the launch that runs, if it is below @end
 * @end: number of the next launch
 * @stepped: value of the step that was ended last
 * @launches: those in flight, by number
 * @nr_threads: how many
 * @threads: that work
 */
struct kvp_stream {
	struct kvp_pool *pool;
	uint32_t timeline;
	uint32_t generation;
	pthread_mutex_t lock;
	pthread_cond_t work;
	pthread_cond_t ended;
	uint32_t nr_waiting;
	bool closing;
	uint64_t first;
	uint64_t end;
	uint64_t stepped;
	struct launch launches[KVP_STREAM_LAUNCHES];
	uint32_t nr_threads;
	pthread_t threads[];
};

/* The stream whose work this thread does. */
static _Thread_local const struct kvp_stream *working_for;

static struct launch *launch_of(struct kvp_stream *stream, uint64_t number)
{
	return &stream->launches[number % KVP_STREAM_LAUNCHES];
}

/* ---- threads ---- */

/* Another launch runs now, or none: wake those who have to know. */
static void wake_workers(struct kvp_stream *stream)
{
	bool any = stream->first < stream->end;

	if (any ? launch_of(stream, stream->first)->parts > 1 : stream->closing)
		pthread_cond_broadcast(&stream->work);
	else if (any)
		pthread_cond_signal(&stream->work);
}

static void launch_end(struct kvp_stream *stream)
{
	const struct launch *launch = launch_of(stream, stream->first);

	if (launch->step.value)
		kvp_step_done(&launch->step);
	stream->first++;
	wake_workers(stream);
	if (stream->nr_waiting)
		pthread_cond_broadcast(&stream->ended);
}

/* The launch of which a part can be had; NULL: the stream is closed. */
static struct launch *work_wait(struct kvp_stream *stream)
{
	for (;;) {
		struct launch *launch = launch_of(stream, stream->first);

		if (stream->first < stream->end) {
			if (launch->next < launch->parts)
				return launch;
		} else if (stream->closing) {
			return NULL;
		}
		pthread_cond_wait(&stream->work, &stream->lock);
	}
}

static void *worker(void *arg)
{
	struct kvp_stream *stream = arg;
	struct launch *launch;
	uint32_t part;

	working_for = stream;
	pthread_mutex_lock(&stream->lock);
	while ((launch = work_wait(stream))) {
		part = launch->next++;
		pthread_mutex_unlock(&stream->lock);
		launch->work(launch->arg, part, launch->parts);
		pthread_mutex_lock(&stream->lock);
		if (!--launch->left)
			launch_end(stream);
	}
	pthread_mutex_unlock(&stream->lock);
	return NULL;
}

/* Signals are for the threads of the program, which these inherit their mask from. */
static int start_threads(struct kvp_stream *stream, uint32_t nr)
{
	sigset_t all, before;
	int err = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (!err && stream->nr_threads < nr) {
		err = pthread_create(&stream->threads[stream->nr_threads], NULL, worker, stream);
		stream->nr_threads += !err;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

static void end_threads(struct kvp_stream *stream)
{
	uint32_t i;

	pthread_mutex_lock(&stream->lock);
	stream->closing = true;
	pthread_cond_broadcast(&stream->work);
	pthread_mutex_unlock(&stream->lock);
	for (i = 0; i < stream->nr_threads; i++)
		pthread_join(stream->threads[i], NULL);
}

/* ---- its timeline ---- */

/* One that a stream left, or a new one. */
static int timeline_take(struct kvp_pool *pool, uint32_t *timeline)
{
	uint64_t unused = atomic_load(&pool->unused_timelines);

	while (unused) {
		if (!atomic_compare_exchange_weak(&pool->unused_timelines, &unused,
						  unused & (unused - 1)))
			continue;
		*timeline = (uint32_t)__builtin_ctzll(unused);
		return 0;
	}
	return kvp_timeline_create(pool, timeline);
}

/* Not where a step is left open: what follows it would make it pass. */
static void timeline_leave(struct kvp_stream *stream)
{
	struct kvp_pool *pool = stream->pool;

	if (kvp_step_values_last(pool, stream->timeline) == stream->stepped)
		atomic_fetch_or(&pool->unused_timelines, 1ULL << stream->timeline);
}

/* ---- open, close ---- */

static uint32_t nr_processors(void)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN);

	if (nr < 1)
		return 1;
	return nr < KVP_STREAM_THREADS ? (uint32_t)nr : KVP_STREAM_THREADS;
}

static void stream_end(struct kvp_stream *stream)
{
	end_threads(stream);
	timeline_leave(stream);
	pthread_cond_destroy(&stream->ended);
	pthread_cond_destroy(&stream->work);
	pthread_mutex_destroy(&stream->lock);
	free(stream);
}

int kvp_stream_open(struct kvp_pool *pool, uint32_t nr_threads, struct kvp_stream **stream)
{
	uint32_t nr = nr_threads ? nr_threads : nr_processors();
	struct kvp_timeline *page;
	struct kvp_stream *made;
	int err;

	if (!stream)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "stream_open: stream is NULL");
	if (nr > KVP_STREAM_THREADS)
		return kvp_error_set(-EOVERFLOW, KVP_REASON_COUNT, 0,
				     "stream_open: %u threads: expected at most %u", nr,
				     KVP_STREAM_THREADS);
	/* Not in a child after fork(), where a lock may be nobody's. */
	err = kvp_timelines(pool, &page);
	if (err)
		return err;
	made = calloc(1, sizeof(*made) + nr * sizeof(made->threads[0]));
	if (!made)
		return kvp_error_set(-ENOMEM, KVP_REASON_MEMORY, 0,
				     "stream_open: no memory for %u threads", nr);
	err = timeline_take(pool, &made->timeline);
	if (err) {
		free(made);
		return err;
	}
	made->pool = pool;
	made->generation = atomic_load_explicit(&kvp_generation, memory_order_relaxed);
	made->stepped = kvp_step_values_last(pool, made->timeline);
	pthread_mutex_init(&made->lock, NULL);
	pthread_cond_init(&made->work, NULL);
	pthread_cond_init(&made->ended, NULL);
	err = start_threads(made, nr);
	if (!err) {
		*stream = made;
		return 0;
	}
	kvp_error_set(err, KVP_REASON_NONE, 0, "stream_open: thread %u of %u: %s",
		      made->nr_threads, nr, strerrordesc_np(-err));
	stream_end(made);
	return err;
}

static bool inherited(const struct kvp_stream *stream)
{
	return stream->generation !=
	       atomic_load_explicit(&kvp_generation, memory_order_relaxed);
}

static int not_ours(void)
{
	return kvp_error_set(-EPERM, KVP_REASON_NONE, 0,
			     "the stream was opened before fork(): expected one that this process opened");
}

void kvp_stream_close(struct kvp_stream *stream)
{
	if (!stream)
		return;
	if (inherited(stream))
		free(stream);	/* its threads are the parent's, and so is its lock */
	else
		stream_end(stream);
}

uint32_t kvp_stream_timeline(const struct kvp_stream *stream)
{
	return stream->timeline;
}

/* ---- launching ---- */

/* Until launch @number has ended. */
static void ended_wait(struct kvp_stream *stream, uint64_t number)
{
	stream->nr_waiting++;
	while (stream->first <= number)
		pthread_cond_wait(&stream->ended, &stream->lock);
	stream->nr_waiting--;
}

static int would_wait_for_itself(const char *what)
{
	return kvp_error_set(-EBUSY, KVP_REASON_NONE, 0,
			     "%s: called by work of the stream, which would wait for itself: expected another thread",
			     what);
}

static int launch_add(struct kvp_stream *stream, kvp_work work, void *arg, uint32_t parts)
{
	while (stream->end - stream->first == KVP_STREAM_LAUNCHES) {
		if (working_for == stream)
			return -EBUSY;
		ended_wait(stream, stream->first);
	}
	*launch_of(stream, stream->end++) = (struct launch){
		.work = work,
		.arg = arg,
		.parts = parts,
		.left = parts,
	};
	if (stream->end - stream->first == 1)
		wake_workers(stream);
	return 0;
}

int kvp_stream_launch(struct kvp_stream *stream, kvp_work work, void *arg, uint32_t parts)
{
	int err;

	if (!work)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "stream_launch: work is NULL");
	if (!parts)
		return kvp_error_set(-EINVAL, KVP_REASON_COUNT, 0,
				     "stream_launch: 0 parts: expected at least 1");
	if (inherited(stream))
		return not_ours();
	pthread_mutex_lock(&stream->lock);
	err = launch_add(stream, work, arg, parts);
	pthread_mutex_unlock(&stream->lock);
	return err ? would_wait_for_itself("stream_launch") : 0;
}

int kvp_stream_sync(struct kvp_stream *stream)
{
	if (inherited(stream))
		return not_ours();
	if (working_for == stream)
		return would_wait_for_itself("stream_sync");
	pthread_mutex_lock(&stream->lock);
	if (stream->first < stream->end)
		ended_wait(stream, stream->end - 1);
	pthread_mutex_unlock(&stream->lock);
	return 0;
}

/* ---- ending steps ---- */

/* Steps end in the order of their values, which have no gaps. */
static int step_check(const struct kvp_stream *stream, const struct kvp_step *step)
{
	if (step->value == stream->stepped + 1)
		return 0;
	if (step->value <= stream->stepped)
		return kvp_error_set(-EINVAL, KVP_REASON_FENCE_PASSED, 0,
				     "step_end: step %llu was ended already: expected step %llu",
				     (unsigned long long)step->value,
				     (unsigned long long)stream->stepped + 1);
	return kvp_error_set(-EBUSY, KVP_REASON_FENCE_OPEN, 0,
			     "step_end: step %llu before step %llu: expected them to end in the order in which they began",
			     (unsigned long long)step->value,
			     (unsigned long long)stream->stepped + 1);
}

static int step_add(struct kvp_stream *stream, const struct kvp_step *step)
{
	int err = step_check(stream, step);

	if (err)
		return err;
	stream->stepped = step->value;
	/* With the last launch; two steps that end with the same one pass by the later value. */
	if (stream->first < stream->end)
		launch_of(stream, stream->end - 1)->step = *step;
	else
		kvp_step_done(step);
	return 0;
}

int kvp_step_end(struct kvp_stream *stream, const struct kvp_step *step)
{
	int err;

	if (!step)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "step_end: step is NULL");
	if (inherited(stream))
		return not_ours();
	if (step->timeline != stream->timeline)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, 0,
				     "step_end: step of timeline %u: expected one of %u, the stream's",
				     step->timeline, stream->timeline);
	pthread_mutex_lock(&stream->lock);
	err = step_add(stream, step);
	pthread_mutex_unlock(&stream->lock);
	return err;
}

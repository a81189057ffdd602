// SPDX-License-Identifier: MIT
/*
 * Streams: launches go in their order and their parts side by side, steps end when all that was
 * launched before is over and in no other order, the queue has an end, nothing is allocated, a
 * child after fork() has none of it; and a sequence that is decoded with two steps in flight.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sanitizer/asan_interface.h>

#include "pools.h"

#define THREADS	4

static struct kvp_pool *pool;
static struct kvp_stream *stream;
static uint8_t space[KVP_DIGEST_LEN];
static uint32_t tokens[64];
static kvp_seq_t seq;

static _Atomic uint64_t allocations;

/* The sanitizer calls these by name. */
void __sanitizer_malloc_hook(const volatile void *ptr, size_t size)
{
	allocations++;
}

void __sanitizer_free_hook(const volatile void *ptr)
{
}

static void setup(void)
{
	pool = kvpr_open("inproc:stream?blocks=32&block_tokens=4&row_bytes=8");
	kvpr_ok(kvp_stream_open(pool, THREADS, &stream));
	kvpr_space("m", space);
	kvpr_tokens(tokens, 64, 1);
	seq = kvpr_seq(pool, space, tokens, 16, NULL);
}

static void teardown(void)
{
	kvp_stream_close(stream);
	kvpr_sound(pool);
	kvp_pool_close(pool);
}

/* ---- work ---- */

/**
 * struct gate - work that has to wait
 * @open: posted once for each part that may end
 * @begun: posted by each part that has begun
 * @ended: parts that have ended
 */
struct gate {
	sem_t open;
	sem_t begun;
	_Atomic uint32_t ended;
};

static void gate_init(struct gate *gate)
{
	sem_init(&gate->open, 0, 0);
	sem_init(&gate->begun, 0, 0);
	gate->ended = 0;
}

static void take(sem_t *sem)
{
	while (sem_wait(sem))
		;
}

static void open_gate(struct gate *gate, uint32_t parts)
{
	while (parts--)
		sem_post(&gate->open);
}

static void pass_gate(void *arg, uint32_t part, uint32_t parts)
{
	struct gate *gate = arg;

	sem_post(&gate->begun);
	take(&gate->open);
	gate->ended++;
}

static void count(void *arg, uint32_t part, uint32_t parts)
{
	++*(_Atomic uint32_t *)arg;
}

/* A step that reads the sequence. */
static struct kvp_step begin(void)
{
	struct kvp_use_entry use = kvp_use_seq_read(seq);
	struct kvp_step step;

	kvpr_ok(kvp_step_begin(pool, kvp_stream_timeline(stream), &use, 1, &step));
	return step;
}

static uint64_t value_of(const struct kvp_step *step)
{
	return __atomic_load_n(step->address, __ATOMIC_ACQUIRE);
}

static bool passed(const struct kvp_step *step)
{
	struct kvp_fence fence = { .timeline = step->timeline, .value = step->value };

	kvpr_ok(kvp_query(pool, &fence, 1, 0, NULL));
	return fence.passed;
}

/* ---- launches ---- */

/* Each launch finds what the one before it has left, and none of its parts is missing. */
struct chain {
	uint32_t number;
	_Atomic uint32_t parts;
	_Atomic uint32_t wrong;
};

struct link {
	struct chain *chain;
	uint32_t number;
};

static void follow(void *arg, uint32_t part, uint32_t parts)
{
	struct link *link = arg;
	struct chain *chain = link->chain;

	if (chain->number != link->number)
		chain->wrong++;
	if (++chain->parts == parts) {
		chain->parts = 0;
		chain->number++;
	}
}

START_TEST(test_launches_go_in_their_order)
{
	static struct link links[1000];
	struct chain chain = { 0 };
	uint32_t i;

	for (i = 0; i < 1000; i++) {
		links[i] = (struct link){ .chain = &chain, .number = i };
		/* One part each: what a launch leaves is a plain variable. */
		kvpr_ok(kvp_stream_launch(stream, follow, &links[i], 1));
	}
	kvpr_ok(kvp_stream_sync(stream));
	ck_assert_uint_eq(chain.number, 1000);
	ck_assert_uint_eq(chain.wrong, 0);
}
END_TEST

struct parts {
	_Atomic uint32_t nr;
	_Atomic uint64_t seen;
	uint32_t before;
};

static void note_part(void *arg, uint32_t part, uint32_t parts)
{
	struct parts *all = arg;

	all->nr++;
	all->seen |= 1ULL << part;
	if (parts != 64)
		all->seen = 0;
}

static void look_at_parts(void *arg, uint32_t part, uint32_t parts)
{
	struct parts *all = arg;

	all->before = all->nr;
}

START_TEST(test_all_parts_before_the_next_launch)
{
	struct parts parts;
	int round;

	for (round = 0; round < 50; round++) {
		memset(&parts, 0, sizeof(parts));
		kvpr_ok(kvp_stream_launch(stream, note_part, &parts, 64));
		kvpr_ok(kvp_stream_launch(stream, look_at_parts, &parts, 1));
		kvpr_ok(kvp_stream_sync(stream));
		ck_assert_uint_eq(parts.before, 64);
		ck_assert_uint_eq(parts.seen, ~0ULL);
	}
}
END_TEST

/* A barrier that nobody passes alone. */
static void meet(void *arg, uint32_t part, uint32_t parts)
{
	pthread_barrier_wait(arg);
}

START_TEST(test_parts_run_side_by_side)
{
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, THREADS);
	kvpr_ok(kvp_stream_launch(stream, meet, &barrier, THREADS));
	kvpr_ok(kvp_stream_launch(stream, meet, &barrier, 2 * THREADS));
	kvpr_ok(kvp_stream_sync(stream));
	pthread_barrier_destroy(&barrier);
}
END_TEST

START_TEST(test_launch_returns_at_once)
{
	_Atomic uint32_t after = 0;
	struct gate gate;

	gate_init(&gate);
	kvpr_ok(kvp_stream_launch(stream, pass_gate, &gate, 1));
	kvpr_ok(kvp_stream_launch(stream, count, &after, 3));
	take(&gate.begun);
	ck_assert_uint_eq(gate.ended, 0);
	ck_assert_uint_eq(after, 0);
	open_gate(&gate, 1);
	kvpr_ok(kvp_stream_sync(stream));
	ck_assert_uint_eq(gate.ended, 1);
	ck_assert_uint_eq(after, 3);
}
END_TEST

static void look_at_signals(void *arg, uint32_t part, uint32_t parts)
{
	sigset_t mask;

	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	*(int *)arg = sigismember(&mask, SIGTERM) && sigismember(&mask, SIGUSR1);
}

START_TEST(test_signals_are_for_the_program)
{
	sigset_t mask;
	int blocked = 0;

	kvpr_ok(kvp_stream_launch(stream, look_at_signals, &blocked, 1));
	kvpr_ok(kvp_stream_sync(stream));
	ck_assert_int_eq(blocked, 1);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	ck_assert_int_eq(sigismember(&mask, SIGTERM), 0);
}
END_TEST

START_TEST(test_launches_that_cannot_be)
{
	_Atomic uint32_t nr = 0;

	kvpr_expect(kvp_stream_launch(stream, NULL, &nr, 1), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("stream_launch: work is NULL");
	kvpr_expect(kvp_stream_launch(stream, count, &nr, 0), -EINVAL, KVP_REASON_COUNT);
	kvpr_says("stream_launch: 0 parts: expected at least 1");
	kvpr_ok(kvp_stream_sync(stream));
	ck_assert_uint_eq(nr, 0);
}
END_TEST

/* ---- the queue ---- */

struct launcher {
	_Atomic bool returned;
	_Atomic uint32_t *nr;
};

static void *launch_one_more(void *arg)
{
	struct launcher *launcher = arg;

	kvpr_ok(kvp_stream_launch(stream, count, launcher->nr, 1));
	launcher->returned = true;
	return NULL;
}

START_TEST(test_full_queue_makes_wait)
{
	const struct timespec moment = { .tv_nsec = 50 * 1000 * 1000 };
	_Atomic uint32_t nr = 0;
	struct launcher launcher = { .nr = &nr };
	struct gate gate;
	pthread_t thread;
	int i;

	gate_init(&gate);
	kvpr_ok(kvp_stream_launch(stream, pass_gate, &gate, 1));
	for (i = 1; i < KVP_STREAM_LAUNCHES; i++)
		kvpr_ok(kvp_stream_launch(stream, count, &nr, 1));
	ck_assert_int_eq(pthread_create(&thread, NULL, launch_one_more, &launcher), 0);
	nanosleep(&moment, NULL);
	ck_assert(!launcher.returned);
	ck_assert_uint_eq(nr, 0);
	open_gate(&gate, 1);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(launcher.returned);
	kvpr_ok(kvp_stream_sync(stream));
	ck_assert_uint_eq(nr, KVP_STREAM_LAUNCHES);
}
END_TEST

/* What work of the stream gets that launches until nothing fits, and syncs. */
struct own_work {
	uint32_t fitted;
	int full;
	char full_text[256];
	int sync;
	char sync_text[256];
	_Atomic uint32_t nr;
};

static void launch_on_own_stream(void *arg, uint32_t part, uint32_t parts)
{
	struct own_work *own = arg;

	while (!(own->full = kvp_stream_launch(stream, count, &own->nr, 1)))
		own->fitted++;
	strcpy(own->full_text, kvp_error()->text);
	own->sync = kvp_stream_sync(stream);
	strcpy(own->sync_text, kvp_error()->text);
}

START_TEST(test_work_never_waits_for_itself)
{
	struct own_work own = { 0 };

	kvpr_ok(kvp_stream_launch(stream, launch_on_own_stream, &own, 1));
	kvpr_ok(kvp_stream_sync(stream));
	kvpr_ok(kvp_stream_sync(stream));	/* of what it has launched */
	ck_assert_uint_eq(own.fitted, KVP_STREAM_LAUNCHES - 1);
	ck_assert_int_eq(own.full, -EBUSY);
	ck_assert_ptr_nonnull(strstr(own.full_text, "stream_launch: called by work of the stream"));
	ck_assert_int_eq(own.sync, -EBUSY);
	ck_assert_ptr_nonnull(strstr(own.sync_text, "stream_sync: called by work of the stream"));
	ck_assert_uint_eq(own.nr, KVP_STREAM_LAUNCHES - 1);
}
END_TEST

START_TEST(test_nothing_is_allocated)
{
	_Atomic uint32_t nr = 0;
	pthread_barrier_t barrier;
	struct kvp_step step;
	uint64_t before;
	int i, err = 0;

	/* Once before: all threads are there, and the core has its room for uses. */
	pthread_barrier_init(&barrier, NULL, THREADS);
	step = begin();
	kvpr_ok(kvp_stream_launch(stream, meet, &barrier, THREADS));
	kvpr_ok(kvp_step_end(stream, &step));
	kvpr_ok(kvp_fence_wait(pool, step.timeline, step.value, KVP_FOREVER));
	pthread_barrier_destroy(&barrier);
	before = allocations;
	for (i = 0; i < 1000; i++)
		err |= kvp_stream_launch(stream, count, &nr, 3);
	err |= kvp_stream_sync(stream);
	before = allocations - before;
	ck_assert_int_eq(err, 0);
	ck_assert_uint_eq(before, 0);
	ck_assert_uint_eq(nr, 3000);

	before = allocations;
	for (i = 0; i < 100; i++) {
		struct kvp_use_entry use = kvp_use_seq_read(seq);

		err |= kvp_step_begin(pool, kvp_stream_timeline(stream), &use, 1, &step);
		err |= kvp_stream_launch(stream, count, &nr, 3);
		err |= kvp_step_end(stream, &step);
		err |= kvp_fence_wait(pool, step.timeline, step.value, KVP_FOREVER);
	}
	before = allocations - before;
	ck_assert_int_eq(err, 0);
	ck_assert_uint_eq(before, 0);
	ck_assert_uint_eq(step.value, 101);
}
END_TEST

/* ---- ending steps ---- */

START_TEST(test_step_ends_after_all_that_was_launched)
{
	_Atomic uint32_t nr = 0;
	struct kvp_step step;
	struct gate gate;

	gate_init(&gate);
	step = begin();
	ck_assert_uint_eq(step.timeline, kvp_stream_timeline(stream));
	ck_assert_uint_eq(step.value, 1);
	kvpr_ok(kvp_stream_launch(stream, pass_gate, &gate, 2));
	kvpr_ok(kvp_stream_launch(stream, pass_gate, &gate, 1));
	kvpr_ok(kvp_step_end(stream, &step));
	/* Not of the step: it passes without this. */
	kvpr_ok(kvp_stream_launch(stream, count, &nr, 1));
	take(&gate.begun);
	take(&gate.begun);
	ck_assert(!passed(&step));
	open_gate(&gate, 1);
	while (gate.ended < 1)
		;
	ck_assert(!passed(&step));	/* one part of two */
	open_gate(&gate, 1);
	take(&gate.begun);		/* the second launch */
	ck_assert_uint_eq(value_of(&step), 0);
	ck_assert(!passed(&step));
	open_gate(&gate, 1);
	kvpr_ok(kvp_fence_wait(pool, step.timeline, step.value, KVP_FOREVER));
	ck_assert_uint_eq(gate.ended, 3);
	ck_assert_uint_eq(value_of(&step), 1);
}
END_TEST

START_TEST(test_step_with_nothing_before_it_ends_at_once)
{
	struct kvp_step step = begin();

	kvpr_ok(kvp_step_end(stream, &step));
	ck_assert_uint_eq(value_of(&step), 1);
	ck_assert(passed(&step));
}
END_TEST

START_TEST(test_two_steps_end_with_the_same_launch)
{
	struct kvp_step a, b;
	struct gate gate;

	gate_init(&gate);
	a = begin();
	b = begin();
	kvpr_ok(kvp_stream_launch(stream, pass_gate, &gate, 1));
	kvpr_ok(kvp_step_end(stream, &a));
	kvpr_ok(kvp_step_end(stream, &b));
	take(&gate.begun);
	ck_assert(!passed(&a));
	open_gate(&gate, 1);
	kvpr_ok(kvp_fence_wait(pool, b.timeline, b.value, KVP_FOREVER));
	ck_assert(passed(&a));
}
END_TEST

START_TEST(test_steps_end_in_their_order_and_once)
{
	struct kvp_step a = begin(), b = begin(), other;

	kvpr_expect(kvp_step_end(stream, &b), -EBUSY, KVP_REASON_FENCE_OPEN);
	kvpr_says("step_end: step 2 before step 1: expected them to end in the order");
	ck_assert_uint_eq(value_of(&a), 0);
	kvpr_ok(kvp_step_end(stream, &a));
	kvpr_expect(kvp_step_end(stream, &a), -EINVAL, KVP_REASON_FENCE_PASSED);
	kvpr_says("step_end: step 1 was ended already: expected step 2");
	kvpr_ok(kvp_step_end(stream, &b));
	ck_assert_uint_eq(value_of(&b), 2);

	other = b;
	other.timeline++;
	other.value++;
	kvpr_expect(kvp_step_end(stream, &other), -EINVAL, KVP_REASON_VALUE);
	kvpr_says("step_end: step of timeline 1: expected one of 0, the stream's");
	kvpr_expect(kvp_step_end(stream, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("step_end: step is NULL");
	ck_assert_uint_eq(value_of(&b), 2);
}
END_TEST

/* ---- open, close ---- */

START_TEST(test_streams_that_cannot_be)
{
	struct kvp_stream *none = NULL;

	kvpr_expect(kvp_stream_open(pool, 1, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_says("stream_open: stream is NULL");
	kvpr_expect(kvp_stream_open(pool, KVP_STREAM_THREADS + 1, &none), -EOVERFLOW,
		    KVP_REASON_COUNT);
	kvpr_says("stream_open: 1025 threads: expected at most 1024");
	ck_assert_ptr_null(none);
	kvp_stream_close(NULL);
}
END_TEST

START_TEST(test_as_many_threads_as_processors)
{
	pthread_barrier_t barrier;
	struct kvp_stream *wide;
	uint32_t nr = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);

	kvpr_ok(kvp_stream_open(pool, 0, &wide));
	pthread_barrier_init(&barrier, NULL, nr);
	kvpr_ok(kvp_stream_launch(wide, meet, &barrier, nr));
	kvpr_ok(kvp_stream_sync(wide));
	pthread_barrier_destroy(&barrier);
	kvp_stream_close(wide);
}
END_TEST

START_TEST(test_close_works_all_off)
{
	_Atomic uint32_t nr = 0;
	struct kvp_step step;
	int i;

	step = begin();
	for (i = 0; i < 200; i++)
		kvpr_ok(kvp_stream_launch(stream, count, &nr, 5));
	kvpr_ok(kvp_step_end(stream, &step));
	kvp_stream_close(stream);
	stream = NULL;
	ck_assert_uint_eq(nr, 1000);
	ck_assert_uint_eq(value_of(&step), 1);
	ck_assert(passed(&step));
}
END_TEST

START_TEST(test_timelines_of_closed_streams_are_used_again)
{
	struct kvp_stream *streams[KVP_NR_TIMELINES], *one_more = NULL;
	struct kvp_step step;
	uint32_t timeline, i, round;

	kvp_stream_close(stream);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < KVP_NR_TIMELINES; i++)
			kvpr_ok(kvp_stream_open(pool, 1, &streams[i]));
		kvpr_expect(kvp_stream_open(pool, 1, &one_more), -EDQUOT,
			    KVP_REASON_LIMIT_TIMELINES);
		kvpr_says("timeline-create: EDQUOT: the client has as many timelines as there can be");
		ck_assert_ptr_null(one_more);
		for (i = 0; i < KVP_NR_TIMELINES; i++)
			kvp_stream_close(streams[i]);
	}
	/* Values go on where they were. */
	for (round = 1; round <= 3; round++) {
		kvpr_ok(kvp_stream_open(pool, 1, &stream));
		timeline = kvp_stream_timeline(stream);
		ck_assert_uint_eq(timeline, 0);
		step = begin();
		ck_assert_uint_eq(step.value, round);
		kvpr_ok(kvp_step_end(stream, &step));
		ck_assert(passed(&step));
		kvp_stream_close(stream);
	}
	/* Where a step is left open nobody goes on. */
	kvpr_ok(kvp_stream_open(pool, 1, &stream));
	ck_assert_uint_eq(kvp_stream_timeline(stream), 0);
	step = begin();
	kvp_stream_close(stream);
	kvpr_ok(kvp_stream_open(pool, 1, &stream));
	ck_assert_uint_eq(kvp_stream_timeline(stream), 1);
	ck_assert(!passed(&step));
	kvpr_ok(kvp_signal(pool, step.timeline, step.value));
}
END_TEST

/* ---- fork ---- */

static int in_a_child(void)
{
	struct kvp_step step = { .timeline = kvp_stream_timeline(stream), .value = 1 };
	struct kvp_use_entry use = kvp_use_seq_read(seq);
	struct kvp_stream *none = NULL;
	_Atomic uint32_t nr = 0;

	if (kvp_stream_launch(stream, count, &nr, 1) != -EPERM ||
	    kvp_step_end(stream, &step) != -EPERM || kvp_stream_sync(stream) != -EPERM)
		return 1;
	if (!strstr(kvp_error()->text, "the stream was opened before fork()"))
		return 2;
	if (kvp_step_begin(pool, kvp_stream_timeline(stream), &use, 1, &step) != -EPERM ||
	    !strstr(kvp_error()->text, "pool stream was opened before fork()"))
		return 3;
	if (kvp_fence_wait(pool, 0, 1, KVP_FOREVER) != -EPERM ||
	    kvp_stream_open(pool, 1, &none) != -EPERM || none)
		return 4;
	kvp_stream_close(stream);
	kvp_pool_close(pool);
	return nr ? 5 : 0;
}

START_TEST(test_child_has_no_stream)
{
	struct gate gate;
	int status;
	pid_t child;

	/* While work runs, and its thread may have any lock. */
	gate_init(&gate);
	kvpr_ok(kvp_stream_launch(stream, pass_gate, &gate, 1));
	take(&gate.begun);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child)
		_exit(in_a_child());
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	open_gate(&gate, 1);
	kvpr_ok(kvp_stream_sync(stream));
	ck_assert_uint_eq(gate.ended, 1);
}
END_TEST

/* ---- decoding with two steps in flight ---- */

#define PROMPT	8
#define DECODED	40
#define ROW	8

/* The "model": the row of a token, and the token that follows, are made of the row before it. */
struct decode {
	uint32_t input[PROMPT + DECODED + 1];	/* read and written by the work alone */
	uint64_t slots[PROMPT + DECODED];
};

struct decode_step {
	struct decode *decode;
	uint32_t from;
	uint32_t to;
};

static uint64_t *row_at(const struct decode *decode, uint32_t position)
{
	/* Blocks of this pool have 4 rows. */
	uint64_t slot = decode->slots[position];
	unsigned char *block = kvp_block_data(pool, KVP_BLOCK_ID(0, slot / 4, 1));

	return (uint64_t *)(block + slot % 4 * ROW);
}

static uint64_t row_of(uint64_t before, uint32_t token)
{
	return (before ^ token) * 6364136223846793005ULL + 1442695040888963407ULL;
}

static void decode_work(void *arg, uint32_t part, uint32_t parts)
{
	const struct decode_step *step = arg;
	struct decode *decode = step->decode;
	uint32_t i;

	for (i = step->from; i < step->to; i++) {
		uint64_t row = row_of(i ? *row_at(decode, i - 1) : 1, decode->input[i]);

		*row_at(decode, i) = row;
		if (i + 1 >= PROMPT)
			decode->input[i + 1] = (uint32_t)(row >> 40);
	}
}

static void decode_launch(struct decode_step *work, struct kvp_step *step)
{
	struct kvp_use_entry use = kvp_use_seq(seq, work->from, work->to);
	uint64_t nr = work->to - work->from;

	kvpr_ok(kvp_seq_slots(pool, seq, 0, work->from, nr, work->decode->slots + work->from));
	kvpr_ok(kvp_step_begin(pool, kvp_stream_timeline(stream), &use, 1, step));
	kvpr_ok(kvp_stream_launch(stream, decode_work, work, 1));
	kvpr_ok(kvp_step_end(stream, step));
}

START_TEST(test_steady_decode)
{
	static struct decode_step work[DECODED + 1];
	struct kvp_step step[DECODED + 1];
	struct kvp_lengths lengths;
	struct decode decode = { 0 };
	uint64_t published = 0, row = 1;
	uint32_t i;

	kvpr_ok(kvp_seq_free(pool, seq));
	memcpy(decode.input, tokens, PROMPT * sizeof(tokens[0]));
	seq = kvpr_seq(pool, space, tokens, PROMPT, NULL);
	for (i = 0; i <= DECODED; i++) {
		work[i] = (struct decode_step){ &decode, i ? PROMPT + i - 1 : 0, PROMPT + i };
		if (i)
			kvpr_ok(kvp_seq_append(pool, seq, NULL, 0, 1));
		decode_launch(&work[i], &step[i]);
		if (!i)
			continue;
		/* The step before this one: its rows, and the token that this one works on. */
		kvpr_ok(kvp_fence_wait(pool, step[i - 1].timeline, step[i - 1].value,
				       KVP_FOREVER));
		kvpr_ok(kvp_seq_set_tokens(pool, seq, &decode.input[work[i].from], 1));
		kvpr_ok(kvp_publish(pool, seq, &published));
		kvpr_ok(kvp_seq_lengths(pool, seq, &lengths));
		ck_assert_uint_ge(lengths.computed, work[i].from);
		ck_assert_uint_ge(published, work[i].from / 4 * 4);
	}
	kvpr_ok(kvp_stream_sync(stream));
	kvpr_ok(kvp_publish(pool, seq, NULL));
	kvpr_expect_lengths(pool, seq, PROMPT + DECODED, PROMPT + DECODED, PROMPT + DECODED,
			    PROMPT + DECODED);
	for (i = 0; i < PROMPT + DECODED; i++) {
		row = row_of(row, decode.input[i]);
		ck_assert_uint_eq(*row_at(&decode, i), row);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("stream");
	TCase *tc = tcase_create("stream");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_launches_go_in_their_order);
	tcase_add_test(tc, test_all_parts_before_the_next_launch);
	tcase_add_test(tc, test_parts_run_side_by_side);
	tcase_add_test(tc, test_launch_returns_at_once);
	tcase_add_test(tc, test_signals_are_for_the_program);
	tcase_add_test(tc, test_launches_that_cannot_be);
	tcase_add_test(tc, test_full_queue_makes_wait);
	tcase_add_test(tc, test_work_never_waits_for_itself);
	tcase_add_test(tc, test_nothing_is_allocated);
	tcase_add_test(tc, test_step_ends_after_all_that_was_launched);
	tcase_add_test(tc, test_step_with_nothing_before_it_ends_at_once);
	tcase_add_test(tc, test_two_steps_end_with_the_same_launch);
	tcase_add_test(tc, test_steps_end_in_their_order_and_once);
	tcase_add_test(tc, test_streams_that_cannot_be);
	tcase_add_test(tc, test_as_many_threads_as_processors);
	tcase_add_test(tc, test_close_works_all_off);
	tcase_add_test(tc, test_timelines_of_closed_streams_are_used_again);
	tcase_add_test(tc, test_child_has_no_stream);
	tcase_add_test(tc, test_steady_decode);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

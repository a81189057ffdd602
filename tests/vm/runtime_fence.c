// SPDX-License-Identifier: MIT
/*
 * Fences of libkvpool over the device: steps whose work runs on the threads of a stream, rows that
 * another process gets when they are there, waiting for fences and for room, and engines that
 * are killed in the middle of a step.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime_support.h"

#define FAMILY		"?blocks=16&block_tokens=4&row_bytes=16"
#define TOKENS		32
#define ROW		16
#define THREADS		3
#define STEPS		6		/* in flight at once, of a block each */
#define GRACE_MS	400
#define MS		1000000ULL

static u8 space[KVP_DIGEST_LEN];
static u32 tokens[TOKENS];

static void begin(void)
{
	kvpv_space(1, space);
	kvpv_tokens(tokens, TOKENS, 1);
}

static kvp_seq_t make_seq(struct kvp_pool *pool, u32 nr)
{
	const struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = nr };
	kvp_seq_t seq;

	ok(kvp_seq_create(pool, &prompt, 0, 0, &seq, NULL));
	return seq;
}

static u64 computed_of(struct kvp_pool *pool, kvp_seq_t seq)
{
	struct kvp_lengths lengths;

	ok(kvp_seq_lengths(pool, seq, &lengths));
	return lengths.computed;
}

/* ---- steps of a stream ---- */

/* Rows [from, to) of a sequence, which the threads of a stream write, part by part. */
struct launch {
	struct kvp_pool *pool;
	kvp_seq_t seq;
	u32 from;
	u32 to;
	atomic_uint *gate;		/* until it is not 0 the work does not end */
	struct kvp_step step;
	u8 *row[TOKENS];
};

static void fill_row(u8 *row, u32 i)
{
	memset(row, (int)(i * 7 + 3), ROW);
}

static void write_rows(void *arg, u32 part, u32 parts)
{
	const struct launch *launch = arg;
	u32 i;

	while (launch->gate && !atomic_load(launch->gate))
		usleep(500);
	for (i = launch->from + part; i < launch->to; i += parts)
		fill_row(launch->row[i], i);
}

static void find_rows(struct launch *launch)
{
	u64 blocks[TOKENS / 4];
	u32 nr = KVPV_COUNT(blocks), i;

	ok(kvp_seq_table(launch->pool, launch->seq, 0, 0, blocks, &nr));
	for (i = launch->from; i < launch->to; i++)
		launch->row[i] = (u8 *)kvp_block_data(launch->pool, blocks[i / 4]) + i % 4 * ROW;
}

/* Said, launched, and to be ended by the stream. */
static void launch_step(struct kvp_stream *stream, struct launch *launch)
{
	struct kvp_use_entry use = kvp_use_seq(launch->seq, launch->from, launch->to);

	find_rows(launch);
	ok(kvp_step_begin(launch->pool, kvp_stream_timeline(stream), &use, 1, &launch->step));
	ok(kvp_stream_launch(stream, write_rows, launch, THREADS));
	ok(kvp_step_end(stream, &launch->step));
}

static void expect_rows(struct kvp_pool *pool, kvp_seq_t seq, u32 nr)
{
	u8 rows[TOKENS][ROW], row[ROW];
	u32 i;

	ok(kvp_rows_read(pool, seq, 0, 0, nr, rows));
	for (i = 0; i < nr; i++) {
		fill_row(row, i);
		kvpv_true(!memcmp(rows[i], row, ROW));
	}
}

/* Another process takes what is published, while the next steps are in flight. */
static void reader(int socket, void *arg)
{
	struct kvp_pool *pool = open_pool("dev:steps");
	const struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = TOKENS };
	u64 matched;
	kvp_seq_t seq;

	while (kvpv_recv(socket)) {
		ok(kvp_seq_create(pool, &prompt, 0, KVP_SEQ_MATCH_ONLY, &seq, &matched));
		expect_rows(pool, seq, matched);
		ok(kvp_seq_free(pool, seq));
		kvpv_send(socket, matched);
	}
	kvp_pool_close(pool);
}

static void steps_of_a_stream(void)
{
	static struct launch launch[STEPS];
	struct kvp_pool *pool = open_pool("dev:steps" FAMILY);
	struct kvp_stream *stream;
	atomic_uint gate[STEPS] = {};
	u64 published;
	kvp_seq_t seq;
	int socket;
	pid_t pid;
	u32 i;

	begin();
	pid = kvpv_fork(reader, NULL, &socket);
	ok(kvp_stream_open(pool, THREADS, &stream));
	seq = make_seq(pool, 4 * STEPS);
	for (i = 0; i < STEPS; i++) {
		launch[i] = (struct launch){ .pool = pool, .seq = seq, .from = 4 * i,
			.to = 4 * i + 4, .gate = &gate[i] };
		launch_step(stream, &launch[i]);
		kvpv_same(launch[i].step.value, i + 1);
	}
	kvpv_same(computed_of(pool, seq), 0);
	for (i = 0; i < STEPS; i++) {
		atomic_store(&gate[i], 1);
		ok(kvp_fence_wait(pool, launch[i].step.timeline, launch[i].step.value, KVP_FOREVER));
		kvpv_same(computed_of(pool, seq), 4 * i + 4);
		ok(kvp_publish(pool, seq, &published));
		kvpv_same(published, 4 * i + 4);
		kvpv_send(socket, 1);
		kvpv_same(kvpv_recv(socket), 4 * i + 4);
	}
	kvpv_send(socket, 0);
	kvpv_wait_done(pid);
	ok(kvp_stream_sync(stream));
	kvp_stream_close(stream);
	expect_sound(pool);
	kvp_pool_close(pool);
}

/* A request that is cancelled in the middle of a step; room comes when the step is over. */
static void cancelled_in_a_step(void)
{
	struct kvp_pool *pool = open_pool("dev:cancel" FAMILY);
	struct kvp_pool *other = open_pool("dev:cancel");
	const struct kvp_admit_need need = { .blocks = 16 };
	struct launch launch = { .pool = pool, .to = 8 };
	struct kvp_stream *stream;
	atomic_uint gate = 0;
	kvp_ticket_t ticket;
	u32 ready;
	u64 ahead;

	begin();
	ok(kvp_stream_open(pool, THREADS, &stream));
	launch.seq = make_seq(pool, 8);
	launch.gate = &gate;
	launch_step(stream, &launch);
	ok(kvp_seq_free(pool, launch.seq));
	kvpv_same(blocks_in(other, KVP_BLOCK_HELD_BACK), 2);
	refused(kvp_admit(other, &need, 1), -ENOSPC, KVP_REASON_HELD_BACK);
	ok(kvp_admit_queue(other, &need, 1, &ticket, &ahead));
	kvpv_true(ticket);
	kvpv_same(ahead, 0);
	refused(kvp_admit_take(other, ticket), -EBUSY, KVP_REASON_NOT_GRANTED);
	ok(kvp_wait(other, KVP_READY_TICKET, NULL, 0, 50 * MS, &ready));
	kvpv_same(ready, 0);
	atomic_store(&gate, 1);
	ok(kvp_wait(other, KVP_READY_TICKET, NULL, 0, KVP_FOREVER, &ready));
	kvpv_same(ready, KVP_READY_TICKET);
	ok(kvp_admit_take(other, ticket));
	kvpv_same(blocks_in(other, KVP_BLOCK_FREE), 0);
	ok(kvp_admit_drop(other, NULL, 0));
	kvpv_same(blocks_in(other, KVP_BLOCK_FREE), 16);
	kvp_stream_close(stream);
	expect_sound(other);
	kvp_pool_close(other);
	kvp_pool_close(pool);
}

/* ---- waiting ---- */

static void *done_later(void *arg)
{
	usleep(20000);
	kvp_step_done(arg);
	return NULL;
}

static u64 scans_in(struct kvp_pool *pool, u32 ms)
{
	struct kvp_stats before, after;

	ok(kvp_pool_stats(pool, 0, &before, NULL, 0));
	kvpv_sleep_ms(ms);
	ok(kvp_pool_stats(pool, 0, &after, NULL, 0));
	return after.scans - before.scans;
}

static void waiting_for_fences(void)
{
	struct kvp_pool *pool = open_pool("dev:waiting" FAMILY);
	struct kvp_use_entry use;
	struct kvp_step step[2];
	struct kvp_fence fence;
	pthread_t thread;
	u32 timeline, ready;

	begin();
	ok(kvp_timeline_create(pool, &timeline));
	use = kvp_use_seq_read(make_seq(pool, 4));
	ok(kvp_step_begin(pool, timeline, &use, 1, &step[0]));
	ok(kvp_step_begin(pool, timeline, &use, 1, &step[1]));
	refused(kvp_fence_wait(pool, timeline, 3, KVP_FOREVER), -EINVAL, KVP_REASON_FENCE_AHEAD);
	refused(kvp_fence_wait(pool, timeline, 1, 30 * MS), -ETIMEDOUT, KVP_REASON_NONE);
	/* Nobody waits any more: nothing is read, though work is open. */
	kvpv_until(KVPV_WAIT_MS, !scans_in(pool, 50));
	kvpv_same(pthread_create(&thread, NULL, done_later, &step[0]), 0);
	ok(kvp_fence_wait(pool, timeline, 1, KVP_FOREVER));
	kvpv_same(pthread_join(thread, NULL), 0);
	fence = (struct kvp_fence){ .timeline = timeline, .value = 2 };
	ok(kvp_wait(pool, 0, &fence, 1, 0, &ready));
	kvpv_same(ready, 0);
	kvpv_same(fence.passed, 0);
	kvpv_same(fence.seen, 1);
	kvpv_same(pthread_create(&thread, NULL, done_later, &step[1]), 0);
	ok(kvp_wait(pool, 0, &fence, 1, KVP_FOREVER, &ready));
	kvpv_same(ready, KVP_READY_FENCE);
	kvpv_same(fence.passed, 1);
	kvpv_same(pthread_join(thread, NULL), 0);
	kvpv_until(KVPV_WAIT_MS, !scans_in(pool, 50));
	expect_sound(pool);
	kvp_pool_close(pool);
}

/* Asks for @arg blocks, and tells when it has them. */
static void asker(int socket, void *arg)
{
	struct kvp_pool *pool = open_pool("dev:room");
	const struct kvp_admit_need need = { .blocks = *(u32 *)arg };

	kvpv_send(socket, 0);
	ok(kvp_admit_wait(pool, &need, 1, KVP_FOREVER));
	kvpv_send(socket, need.blocks);
	kvpv_recv(socket);
	kvp_pool_close(pool);
}

static u64 tickets_waiting(struct kvp_pool *pool)
{
	struct kvp_stats stats;

	ok(kvp_pool_stats(pool, 0, &stats, NULL, 0));
	return stats.tickets_waiting;
}

/* Who asked first for much gets it before who asks later for little. */
static void waiting_for_room(void)
{
	static const u32 asks[2] = { 12, 1 };
	struct kvp_pool *pool = open_pool("dev:room" FAMILY);
	const struct kvp_admit_need need = { .blocks = 16 };
	kvp_seq_t seq[4];
	int socket[2];
	pid_t pid[2];
	u32 i;

	begin();
	for (i = 0; i < 4; i++)
		seq[i] = make_seq(pool, 16);
	refused(kvp_admit_wait(pool, &need, 1, 20 * MS), -ETIMEDOUT, KVP_REASON_NONE);
	kvpv_same(tickets_waiting(pool), 0);
	for (i = 0; i < 2; i++) {
		pid[i] = kvpv_fork(asker, (void *)&asks[i], &socket[i]);
		kvpv_recv(socket[i]);
		kvpv_until(KVPV_WAIT_MS, tickets_waiting(pool) == i + 1);
	}
	ok(kvp_seq_free(pool, seq[0]));
	ok(kvp_seq_free(pool, seq[1]));
	kvpv_sleep_ms(50);
	kvpv_same(tickets_waiting(pool), 2);
	ok(kvp_seq_free(pool, seq[2]));
	kvpv_same(kvpv_recv(socket[0]), 12);
	kvpv_sleep_ms(50);
	kvpv_same(tickets_waiting(pool), 1);
	ok(kvp_seq_free(pool, seq[3]));
	kvpv_same(kvpv_recv(socket[1]), 1);
	for (i = 0; i < 2; i++) {
		kvpv_send(socket[i], 0);
		kvpv_wait_done(pid[i]);
	}
	expect_sound(pool);
	kvp_pool_close(pool);
}

/* ---- death in a step ---- */

static void engine(int socket, void *arg)
{
	struct kvp_pool *pool = open_pool(arg);
	struct kvp_use_entry use;
	struct kvp_step step;
	u32 timeline;

	begin();
	ok(kvp_timeline_create(pool, &timeline));
	use = kvp_use_seq(make_seq(pool, 8), 0, 8);
	make_seq(pool, 4);
	ok(kvp_step_begin(pool, timeline, &use, 1, &step));
	kvpv_send(socket, 1);
	kvpv_sleep_ms(60000);
}

static u64 quarantined(struct kvp_pool *pool)
{
	struct kvp_stats stats;

	ok(kvp_pool_stats(pool, 0, &stats, NULL, 0));
	return stats.quarantined;
}

static void killed_in_a_step(void)
{
	struct kvp_pool *pool = open_pool("dev:killed" FAMILY "&grace=400");
	const struct kvp_admit_need need = { .blocks = 16 };
	u64 died;
	int socket;
	pid_t pid = kvpv_fork(engine, "dev:killed", &socket);

	kvpv_recv(socket);
	died = kvpv_now_ms();
	kvpv_kill(pid);
	kvpv_until(KVPV_WAIT_MS, quarantined(pool));
	kvpv_same(blocks_in(pool, KVP_BLOCK_HELD_BACK), 2);
	kvpv_same(blocks_in(pool, KVP_BLOCK_FREE), 14);
	ok(kvp_admit_wait(pool, &need, 1, KVP_FOREVER));
	kvpv_true(kvpv_now_ms() - died >= GRACE_MS);
	expect_sound(pool);
	kvp_pool_close(pool);
}

static void reaped(void)
{
	struct kvp_pool *pool = open_pool("dev:reaped" FAMILY "&strict=yes");
	u32 clients = 7;
	u64 blocks = 7;
	int socket;
	pid_t pid = kvpv_fork(engine, "dev:reaped", &socket);

	kvpv_recv(socket);
	ok(kvp_reap(pool, 0, &clients, &blocks));
	kvpv_same(clients + blocks, 0);
	kvpv_kill(pid);
	kvpv_until(KVPV_WAIT_MS, quarantined(pool));
	kvpv_sleep_ms(3 * GRACE_MS);
	kvpv_same(blocks_in(pool, KVP_BLOCK_HELD_BACK), 2);
	ok(kvp_reap(pool, 0, &clients, &blocks));
	kvpv_same(clients, 1);
	kvpv_same(blocks, 2);
	kvpv_same(blocks_in(pool, KVP_BLOCK_FREE), 16);
	refused(kvp_reap(pool, 12345, NULL, NULL), -ENOENT, KVP_REASON_NO_CLIENT);
	expect_sound(pool);
	kvp_pool_close(pool);
}

int main(int argc, char **argv)
{
	static const struct kvpv_test tests[] = {
		KVPV_TEST(steps_of_a_stream),
		KVPV_TEST(cancelled_in_a_step),
		KVPV_TEST(waiting_for_fences),
		KVPV_TEST(waiting_for_room),
		KVPV_TEST(killed_in_a_step),
		KVPV_TEST(reaped),
	};

	return kvpv_run(tests, KVPV_COUNT(tests), argc, argv);
}

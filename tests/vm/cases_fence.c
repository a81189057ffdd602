// SPDX-License-Identifier: MIT
/*
 * Scenarios from the field in which work goes on while the request that it was for is over: on
 * abort (A3), work in progress (C1, C2, C4, C6, C7, C10, C11) and positions (F5). The engine is a
 * process of its own, whose work ends when this one says so; its stores go to its page.
 *
 * The module is loaded with mode=0666.
 */
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"

#define POOL	"cases-fence"
#define SPACE	1
#define GRACE_MS 300
#define WHILE_MS 60		/* for which nothing may happen */

static u32 tokens[192];

/* ---- the engine ---- */

/**
 * struct engine - the client of a process that launches work
 * @fd: its file
 * @client: its id
 * @page: its timelines
 * @timeline: of its stream
 * @socket: to the test
 */
struct engine {
	int fd;
	u64 client;
	struct kvp_timeline *page;
	u32 timeline;
	int socket;
};

static struct engine engine_begin(int socket)
{
	struct engine engine = { .socket = socket, .fd = kvpv_open() };

	engine.page = kvpv_map_timelines(engine.fd);
	kvpv_true(engine.page != MAP_FAILED);
	kvpv_ok(kvpv_attach(engine.fd, POOL, 0, &engine.client));
	engine.timeline = kvpv_timeline(engine.fd);
	return engine;
}

/* Tell the test a number, and go on when it says so. */
static void step(struct engine *engine, u64 value)
{
	kvpv_send(engine->socket, value);
	kvpv_recv(engine->socket);
}

/* The test's side of that. */
static u64 next(int socket)
{
	kvpv_send(socket, 0);
	return kvpv_recv(socket);
}

/* Step @value of the engine is done. */
static void work_ends(struct engine *engine, u64 value)
{
	kvpv_store(engine->page, engine->timeline, value);
}

/* Slots for @nr tokens and @reserve more, none of them computed. */
static u64 request(struct engine *engine, u32 nr, u64 reserve)
{
	struct kvp_seq_create create = {
		.tokens = kvpv_ptr(tokens),
		.nr_tokens = nr,
		.reserve = reserve,
	};

	kvpv_space(SPACE, create.space);
	kvpv_ok(kvpv_do(engine->fd, KVP_OP_SEQ_CREATE, &create));
	return create.seq;
}

/* Step @value computes tokens @from to @to. */
static void launch(struct engine *engine, u64 seq, u64 value, u64 from, u64 to)
{
	kvpv_ok(kvpv_write_seq(engine->fd, seq, engine->timeline, value, from, to));
}

static u64 block_of(struct engine *engine, u64 seq)
{
	u64 block;

	kvpv_ok(kvpv_table(engine->fd, seq, 0, &block, 1, NULL));
	return block;
}

static u64 computed_of(struct engine *engine, u64 seq)
{
	struct kvp_seq_table table;

	kvpv_ok(kvpv_table(engine->fd, seq, 0, NULL, 0, &table));
	return table.nr_computed;
}

static int begin(u32 blocks, u32 grace_ms)
{
	const struct kvp_family_desc dense = KVPV_DENSE(blocks, 4);

	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
	return kvpv_fenced_pool(POOL, 0, grace_ms, &dense, 1);
}

/* All of @nr can be had, which is how many there are: each came back exactly once. */
static void expect_all_free(int fd, u32 nr)
{
	u64 blocks[16];

	kvpv_ok(kvpv_alloc(fd, 0, nr, blocks));
	kvpv_expect(kvpv_alloc(fd, 0, 1, blocks + nr), -ENOSPC, KVP_REASON_POOL_FULL);
	kvpv_ok(kvpv_unref(fd, blocks, nr));
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_FREE), nr);
	kvpv_audit(fd);
}

/* ---- A3: a load ends after its request was aborted ---- */

static void a3_loader(int socket, void *arg)
{
	struct engine engine = engine_begin(socket);
	u64 seq = request(&engine, 8, 0);

	launch(&engine, seq, 1, 0, 8);
	kvpv_ok(kvpv_free(engine.fd, seq));
	kvpv_expect(kvpv_free(engine.fd, seq), -ESTALE, KVP_REASON_GENERATION);
	step(&engine, 1);
	work_ends(&engine, 1);
	step(&engine, 2);
	/* Told again, the end of the load frees nothing again. */
	kvpv_expect(kvpv_signal(engine.fd, engine.timeline, 1), -EINVAL, KVP_REASON_FENCE_PASSED);
	step(&engine, 3);
}

static void a3_aborted_load(void)
{
	int fd = begin(4, 0), socket;
	u64 blocks[4];
	pid_t pid = kvpv_fork(a3_loader, NULL, &socket);

	kvpv_same(kvpv_recv(socket), 1);
	kvpv_expect(kvpv_alloc(fd, 0, 3, blocks), -ENOSPC, KVP_REASON_HELD_BACK);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_HELD_BACK), 2);
	kvpv_same(kvpv_pool_stats(fd).zombies, 1);
	kvpv_audit(fd);
	kvpv_same(next(socket), 2);
	expect_all_free(fd, 4);
	kvpv_same(kvpv_pool_stats(fd).zombies, 0);
	kvpv_same(next(socket), 3);
	expect_all_free(fd, 4);
	kvpv_send(socket, 0);
	kvpv_wait_done(pid);
}

/* ---- C1: the next step was launched already when the request ends ---- */

static void c1_engine(int socket, void *arg)
{
	struct engine engine = engine_begin(socket);
	u64 seq = request(&engine, 3, 1);

	launch(&engine, seq, 1, 0, 3);
	launch(&engine, seq, 2, 3, 4);
	kvpv_send(socket, block_of(&engine, seq));
	work_ends(&engine, 1);
	kvpv_ok(kvpv_free(engine.fd, seq));
	step(&engine, 1);
	work_ends(&engine, 2);
	step(&engine, 2);
}

static void c1_launched_ahead(void)
{
	int fd = begin(2, 0), socket;
	u64 block, own[2];
	pid_t pid = kvpv_fork(c1_engine, NULL, &socket);

	block = kvpv_recv(socket);
	kvpv_same(kvpv_recv(socket), 1);
	kvpv_ok(kvpv_alloc(fd, 0, 1, own));
	kvpv_true(KVP_BLOCK_INDEX(own[0]) != KVP_BLOCK_INDEX(block));
	kvpv_expect(kvpv_alloc(fd, 0, 1, own + 1), -ENOSPC, KVP_REASON_HELD_BACK);
	kvpv_same(kvpv_head.where, 0);
	kvpv_same(kvpv_block(fd, block).why, KVP_WHY_HELD_BACK);
	kvpv_audit(fd);
	kvpv_same(next(socket), 2);
	kvpv_ok(kvpv_alloc(fd, 0, 1, own + 1));
	kvpv_same(KVP_BLOCK_INDEX(own[1]), KVP_BLOCK_INDEX(block));
	kvpv_true(own[1] != block);
	kvpv_audit(fd);
	kvpv_send(socket, 0);
	kvpv_wait_done(pid);
}

/* ---- C2: a window goes by what was computed, not by what was scheduled ---- */

static void c2_engine(int socket, void *arg)
{
	struct engine engine = engine_begin(socket);
	u64 seq = request(&engine, 158, 0);
	u64 block = block_of(&engine, seq);

	launch(&engine, seq, 1, 0, 158);
	work_ends(&engine, 1);
	kvpv_same(computed_of(&engine, seq), 158);
	kvpv_ok(kvpv_append(engine.fd, seq, tokens + 158, 1));
	launch(&engine, seq, 2, 158, 159);
	kvpv_same(block_of(&engine, seq), block);
	kvpv_same(computed_of(&engine, seq), 158);
	step(&engine, 1);
	work_ends(&engine, 2);
	kvpv_same(computed_of(&engine, seq), 159);
	kvpv_same(block_of(&engine, seq), KVP_BLOCK_NULL);
	step(&engine, 2);
}

static void c2_scheduled_is_not_computed(void)
{
	const struct kvp_family_desc window = KVPV_WINDOW(8, 32, 128);
	int fd, socket;
	pid_t pid;

	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
	fd = kvpv_fenced_pool(POOL, 0, 0, &window, 1);
	pid = kvpv_fork(c2_engine, NULL, &socket);
	kvpv_same(kvpv_recv(socket), 1);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_FREE), 3);
	kvpv_same(next(socket), 2);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_FREE), 4);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_HELD_BACK), 0);
	kvpv_audit(fd);
	kvpv_send(socket, 0);
	kvpv_wait_done(pid);
}

/* ---- C4: all was preempted, and no further step will come ---- */

#define REQUESTS 4

static void c4_engine(int socket, void *arg)
{
	struct engine engine = engine_begin(socket);
	struct kvp_query query;
	u64 seqs[REQUESTS];
	u32 i, value;

	for (i = 0; i < REQUESTS; i++)
		seqs[i] = request(&engine, 4, 4);
	for (value = 1; value <= 2; value++)
		for (i = 0; i < REQUESTS; i++)
			launch(&engine, seqs[i], value, value == 1 ? 0 : 4, value == 1 ? 4 : 5);
	for (i = 0; i < REQUESTS; i++)
		kvpv_ok(kvpv_free(engine.fd, seqs[i]));
	kvpv_ok(kvpv_query(engine.fd, 0, NULL, 0, &query));
	kvpv_same(query.held_back, 2 * REQUESTS);
	kvpv_same(query.uses, 2 * REQUESTS);
	step(&engine, 1);
	work_ends(&engine, 1);
	step(&engine, 2);
	work_ends(&engine, 2);
	/* From here on it makes no call. */
	step(&engine, 3);
}

static int polled(int fd, int ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	kvpv_sys(poll(&poll_fd, 1, ms));
	return poll_fd.revents;
}

static void c4_drains_by_itself(void)
{
	int fd = begin(2 * REQUESTS, 0), socket;
	pid_t pid = kvpv_fork(c4_engine, NULL, &socket);
	u64 ticket, blocks[2 * REQUESTS];

	kvpv_same(kvpv_recv(socket), 1);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_HELD_BACK), 2 * REQUESTS);
	ticket = kvpv_queue(fd, 0, 2 * REQUESTS, 0);
	kvpv_same(next(socket), 2);
	kvpv_same(polled(fd, WHILE_MS), 0);
	kvpv_same(next(socket), 3);
	kvpv_same(polled(fd, KVPV_WAIT_MS), POLLIN);
	kvpv_ok(kvpv_ticket(fd, KVP_ADMIT_TAKE, ticket));
	kvpv_ok(kvpv_alloc(fd, 0, 2 * REQUESTS, blocks));
	kvpv_audit(fd);
	kvpv_send(socket, 0);
	kvpv_wait_done(pid);
}

/* ---- C6: the next batch was built with a row that has finished ---- */

static void c6_engine(int socket, void *arg)
{
	struct engine engine = engine_begin(socket);
	u64 finished = request(&engine, 3, 1), other = request(&engine, 3, 1);
	struct kvp_use_entry batch[2] = {
		{ .kind = KVP_USE_SEQ, .timeline = engine.timeline, .id = finished },
		{ .kind = KVP_USE_SEQ, .timeline = engine.timeline, .id = other },
	};
	u32 i, value;

	kvpv_send(socket, block_of(&engine, finished));
	for (value = 1; value <= 2; value++) {
		for (i = 0; i < 2; i++) {
			batch[i].value = value;
			batch[i].write_from = value == 1 ? 0 : 3;
			batch[i].computed_to = value == 1 ? 3 : 4;
		}
		kvpv_ok(kvpv_use(engine.fd, batch, 2));
	}
	work_ends(&engine, 1);
	kvpv_same(computed_of(&engine, other), 3);
	kvpv_ok(kvpv_free(engine.fd, finished));
	step(&engine, 1);
	work_ends(&engine, 2);
	/* The other's id for its fourth token comes when its row is there already. */
	kvpv_same(computed_of(&engine, other), 3);
	kvpv_ok(kvpv_append(engine.fd, other, tokens + 3, 1));
	kvpv_same(computed_of(&engine, other), 4);
	step(&engine, 2);
}

static void c6_row_in_next_batch(void)
{
	int fd = begin(3, 0), socket;
	pid_t pid = kvpv_fork(c6_engine, NULL, &socket);
	u64 block, own[2];

	block = kvpv_recv(socket);
	kvpv_same(kvpv_recv(socket), 1);
	kvpv_expect(kvpv_alloc(fd, 0, 2, own), -ENOSPC, KVP_REASON_HELD_BACK);
	kvpv_same(kvpv_block(fd, block).state, KVP_BLOCK_HELD_BACK);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_HELD), 1);
	kvpv_same(next(socket), 2);
	kvpv_ok(kvpv_alloc(fd, 0, 2, own));
	kvpv_audit(fd);
	kvpv_send(socket, 0);
	kvpv_wait_done(pid);
}

/* ---- C7: rows are handed on before they are computed ---- */

static void c7_engine(int socket, void *arg)
{
	struct engine engine = engine_begin(socket);
	u64 seq = request(&engine, 8, 0), published;
	int file;

	launch(&engine, seq, 1, 0, 8);
	kvpv_ok(kvpv_export(engine.fd, seq, &file, NULL));
	kvpv_send_fd(socket, file);
	kvpv_ok(kvpv_publish(engine.fd, seq, 0, &published));
	kvpv_same(published, 0);
	step(&engine, 1);
	work_ends(&engine, 1);
	kvpv_ok(kvpv_publish(engine.fd, seq, 0, &published));
	kvpv_same(published, 8);
	step(&engine, 2);
}

static void c7_copy_waits_for_its_rows(void)
{
	int fd = begin(4, 0), socket, file;
	pid_t pid = kvpv_fork(c7_engine, NULL, &socket);
	u64 seq, nr;

	file = kvpv_recv_fd(socket);
	kvpv_same(kvpv_recv(socket), 1);
	kvpv_expect(kvpv_import(fd, file, &seq, &nr), -EBUSY, KVP_REASON_FENCE_OPEN);
	kvpv_same(kvpv_matched(fd, SPACE, tokens, 8), 0);
	kvpv_same(next(socket), 2);
	kvpv_ok(kvpv_import(fd, file, &seq, &nr));
	kvpv_same(nr, 8);
	kvpv_same(kvpv_matched(fd, SPACE, tokens, 8), 8);
	kvpv_audit(fd);
	kvpv_send(socket, 0);
	kvpv_wait_done(pid);
}

/* ---- C10: a read takes long ---- */

static void c10_reader(int socket, void *arg)
{
	struct engine engine = engine_begin(socket);
	u64 seq, matched, match;

	kvpv_ok(kvpv_seq(engine.fd, SPACE, tokens, 4, &seq, &matched));
	kvpv_same(matched, 4);
	kvpv_ok(kvpv_use_seq(engine.fd, seq, engine.timeline, 1));
	kvpv_ok(kvpv_free(engine.fd, seq));
	kvpv_ok(kvpv_match(engine.fd, SPACE, tokens, 8, 0, NULL, 0, &matched, &match));
	kvpv_same(matched, 8);
	step(&engine, 1);
	/* Only the read keeps the first block now. */
	kvpv_ok(kvpv_release(engine.fd, match));
	step(&engine, 2);
	work_ends(&engine, 1);
	step(&engine, 3);
}

static u64 reclaim_all(int fd)
{
	struct kvp_prefix_reclaim arg = { .nodes = 16 };

	kvpv_ok(kvpv_do(fd, KVP_OP_PREFIX_RECLAIM, &arg));
	return arg.nodes;
}

static void c10_slow_read(void)
{
	const u32 grace_ms = 20;
	int fd = begin(4, grace_ms), socket;
	pid_t pid;

	kvpv_ok(kvpv_free(fd, kvpv_published(fd, SPACE, tokens, 8)));
	pid = kvpv_fork(c10_reader, NULL, &socket);
	kvpv_same(kvpv_recv(socket), 1);
	/* No time, be it many times the grace time, makes it anybody else's. */
	kvpv_sleep_ms(15 * grace_ms);
	kvpv_same(reclaim_all(fd), 0);
	kvpv_same(next(socket), 2);
	kvpv_sleep_ms(15 * grace_ms);
	kvpv_same(reclaim_all(fd), 1);
	kvpv_same(kvpv_matched(fd, SPACE, tokens, 8), 4);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_FREE), 3);
	kvpv_audit(fd);
	kvpv_same(next(socket), 3);
	kvpv_same(reclaim_all(fd), 1);
	kvpv_same(kvpv_matched(fd, SPACE, tokens, 8), 0);
	kvpv_send(socket, 0);
	kvpv_wait_done(pid);
	kvpv_audit(fd);
}

/* ---- C11: the writer dies, and its work goes on ---- */

static void c11_writer(int socket, void *arg)
{
	struct engine engine = engine_begin(socket);
	u64 seq = request(&engine, 4, 0);

	launch(&engine, seq, 1, 0, 4);
	kvpv_send(socket, block_of(&engine, seq));
	step(&engine, engine.client);
}

static void c11_writer_dies(void)
{
	int fd = begin(1, GRACE_MS), socket;
	pid_t pid = kvpv_fork(c11_writer, NULL, &socket);
	u64 block, client, own, died, took;

	block = kvpv_recv(socket);
	client = kvpv_recv(socket);
	died = kvpv_now_ms();
	kvpv_kill(pid);
	kvpv_until(KVPV_WAIT_MS, kvpv_pool_stats(fd).quarantined);
	kvpv_same(kvpv_block(fd, block).why, KVP_WHY_QUARANTINE);
	kvpv_expect(kvpv_alloc(fd, 0, 1, &own), -ENOSPC, KVP_REASON_HELD_BACK);
	kvpv_until(KVPV_WAIT_MS, !kvpv_alloc(fd, 0, 1, &own));
	took = kvpv_now_ms() - died;
	printf("another has the block %llu ms after the death; grace time %u ms\n",
	       (unsigned long long)took, GRACE_MS);
	kvpv_true(took >= GRACE_MS);
	kvpv_same(KVP_BLOCK_INDEX(own), KVP_BLOCK_INDEX(block));
	kvpv_until(KVPV_WAIT_MS, kvpv_client_gone(fd, client));
	kvpv_audit(fd);
}

/* ---- F5: positions that are not the sequence's ---- */

static void f5_engine(int socket, void *arg)
{
	struct engine engine = engine_begin(socket);
	u64 seq = request(&engine, 8, 0);
	struct kvp_use_entry entry = {
		.kind = KVP_USE_SEQ,
		.timeline = engine.timeline,
		.id = seq,
		.value = 2,
		.write_from = 6,
		.computed_to = 8,
	};
	struct kvp_use use = { .entries = kvpv_ptr(&entry), .nr_entries = 1 };
	struct kvp_seq_truncate truncate = { .seq = seq, .tokens = 4 };
	struct kvp_seq_append append = {
		.seq = seq,
		.tokens = kvpv_ptr(tokens + 4),
		.nr_tokens = 1,
		.position = 8,
	};

	launch(&engine, seq, 1, 0, 8);
	work_ends(&engine, 1);
	kvpv_ok(kvpv_do(engine.fd, KVP_OP_SEQ_TRUNCATE, &truncate));
	/* What the caller believes is from before; it is told what is. */
	kvpv_expect(kvpv_do(engine.fd, KVP_OP_SEQ_APPEND, &append), -EINVAL, KVP_REASON_POSITION);
	kvpv_same(append.position, 4);
	kvpv_same(computed_of(&engine, seq), 4);
	kvpv_ok(kvpv_do(engine.fd, KVP_OP_SEQ_APPEND, &append));
	/* And where a step is to write beyond what there will be. */
	kvpv_expect(kvpv_do(engine.fd, KVP_OP_USE, &use), -EINVAL, KVP_REASON_POSITION);
	kvpv_same(use.position, 4);
	entry.write_from = use.position;
	entry.computed_to = 5;
	kvpv_ok(kvpv_do(engine.fd, KVP_OP_USE, &use));
	/* The next one may follow on that before it has passed, but not further on. */
	kvpv_ok(kvpv_append(engine.fd, seq, tokens + 5, 2));
	entry = (struct kvp_use_entry){ .kind = KVP_USE_SEQ, .timeline = engine.timeline,
		.id = seq, .value = 3, .write_from = 6, .computed_to = 7 };
	kvpv_expect(kvpv_do(engine.fd, KVP_OP_USE, &use), -EINVAL, KVP_REASON_POSITION);
	kvpv_same(use.position, 5);
	entry.write_from = 5;
	kvpv_ok(kvpv_do(engine.fd, KVP_OP_USE, &use));
	work_ends(&engine, 3);
	kvpv_same(computed_of(&engine, seq), 7);
}

static void f5_stale_positions(void)
{
	int fd = begin(4, 0);

	kvpv_wait_done(kvpv_fork(f5_engine, NULL, NULL));
	kvpv_until(KVPV_WAIT_MS, kvpv_blocks(fd, 0, KVP_BLOCK_FREE) == 4);
	kvpv_audit(fd);
}

static const struct kvpv_test tests[] = {
	KVPV_TEST(a3_aborted_load),
	KVPV_TEST(c1_launched_ahead),
	KVPV_TEST(c2_scheduled_is_not_computed),
	KVPV_TEST(c4_drains_by_itself),
	KVPV_TEST(c6_row_in_next_batch),
	KVPV_TEST(c7_copy_waits_for_its_rows),
	KVPV_TEST(c10_slow_read),
	KVPV_TEST(c11_writer_dies),
	KVPV_TEST(f5_stale_positions),
};

int main(int argc, char **argv)
{
	return kvpv_run(tests, KVPV_COUNT(tests), argc, argv);
}

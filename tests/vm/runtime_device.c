// SPDX-License-Identifier: MIT
/*
 * libkvpool over the device: pools that several processes make, open and leave, rows that one
 * writes and another reads, batches with io_uring and where it is forbidden, fork, death, exports.
 */
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime_support.h"

#define FAMILY		"?blocks=64&block_tokens=4&row_bytes=16"
#define TOKENS		32
#define ROW		16
#define RINGS_OFF	"/proc/sys/kernel/io_uring_disabled"

static u8 space[KVP_DIGEST_LEN];
static u32 tokens[TOKENS];

static void begin(void)
{
	kvpv_space(1, space);
	kvpv_tokens(tokens, TOKENS, 1);
}

static kvp_seq_t make_seq(struct kvp_pool *pool, u32 nr, u64 *matched)
{
	const struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = nr };
	kvp_seq_t seq;

	ok(kvp_seq_create(pool, &prompt, 0, 0, &seq, matched));
	return seq;
}

/* The byte that row @row has everywhere, written by @who. */
static u8 byte_of(u32 row, u8 who)
{
	return (u8)(row * 7 + who);
}

static void write_rows(struct kvp_pool *pool, kvp_seq_t seq, u32 first, u32 end, u8 who)
{
	u8 rows[TOKENS][ROW];
	u32 i;

	for (i = first; i < end; i++)
		memset(rows[i], byte_of(i, who), ROW);
	ok(kvp_rows_write(pool, seq, 0, first, end - first, rows[first]));
	ok(kvp_seq_advance(pool, seq, end));
}

static void expect_rows(struct kvp_pool *pool, kvp_seq_t seq, u32 first, u32 end, u8 who)
{
	u8 rows[TOKENS][ROW] = {};
	u32 i, j;

	ok(kvp_rows_read(pool, seq, 0, first, end - first, rows[first]));
	for (i = first; i < end; i++) {
		for (j = 0; j < ROW; j++)
			kvpv_same(rows[i][j], byte_of(i, who));
	}
}

static u32 clients_of(struct kvp_pool *pool)
{
	struct kvp_stats stats;

	ok(kvp_pool_stats(pool, 0, &stats, NULL, 0));
	return stats.nr_clients;
}

static u32 pools(void)
{
	u32 nr = 0, total;

	ok(kvp_pool_list(KVP_DOOR_DEVICE, NULL, &nr, &total));
	return total;
}

/* ---- several processes ---- */

static void reader(int socket, void *arg)
{
	struct kvp_pool *pool = open_pool("shared");	/* a plain name: the device */
	u64 matched;
	kvp_seq_t seq;

	kvpv_send(socket, 1);
	kvpv_recv(socket);
	seq = make_seq(pool, 16, &matched);
	kvpv_same(matched, 12);
	expect_rows(pool, seq, 0, 12, 3);
	write_rows(pool, seq, 12, 16, 4);
	ok(kvp_publish(pool, seq, NULL));
	kvp_pool_close(pool);
	kvpv_send(socket, 2);
}

static void one_writes_the_other_reads(void)
{
	struct kvp_pool *pool = open_pool("dev:shared" FAMILY);
	kvp_seq_t seq;
	u64 matched;
	int socket;
	pid_t pid;

	begin();
	pid = kvpv_fork(reader, NULL, &socket);
	kvpv_recv(socket);
	seq = make_seq(pool, 14, &matched);
	kvpv_same(matched, 0);
	write_rows(pool, seq, 0, 14, 3);
	ok(kvp_publish(pool, seq, &matched));
	kvpv_same(matched, 12);
	kvpv_send(socket, 0);
	kvpv_same(kvpv_recv(socket), 2);
	kvpv_wait_done(pid);
	seq = make_seq(pool, 20, &matched);
	kvpv_same(matched, 16);
	expect_rows(pool, seq, 0, 12, 3);
	expect_rows(pool, seq, 12, 16, 4);
	expect_sound(pool);
	kvp_pool_close(pool);
}

static void racer(int socket, void *arg)
{
	struct kvp_pool *pool;

	kvpv_recv(socket);
	pool = open_pool("dev:race" FAMILY "&mode=0640");
	kvpv_send(socket, 1);
	kvpv_recv(socket);
	kvp_pool_close(pool);
}

#define RACERS	8

static void all_open_at_once(void)
{
	struct kvp_pool *pool;
	int sockets[RACERS];
	pid_t pids[RACERS];
	u32 round, i;

	for (round = 0; round < 10; round++) {
		for (i = 0; i < RACERS; i++)
			pids[i] = kvpv_fork(racer, NULL, &sockets[i]);
		for (i = 0; i < RACERS; i++)
			kvpv_send(sockets[i], 0);
		for (i = 0; i < RACERS; i++)
			kvpv_recv(sockets[i]);
		kvpv_same(pools(), 1);
		pool = open_pool("dev:race");
		kvpv_same(clients_of(pool), RACERS + 1);
		for (i = 0; i < RACERS; i++) {
			kvpv_send(sockets[i], 0);
			kvpv_wait_done(pids[i]);
			close(sockets[i]);
		}
		kvp_pool_close(pool);
		kvpv_until(KVPV_WAIT_MS, !pools());
	}
}

static void maker(int socket, void *arg)
{
	static const struct kvp_family_config family = {
		.kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 64, .row_bytes = ROW,
	};
	const struct kvp_pool_config config = {
		.families = &family, .nr_families = 1,
		.flags = KVP_POOL_STAGED | KVP_POOL_PERSISTENT,
	};
	struct kvp_pool *pool;

	ok(kvp_pool_create("dev:staged", &config, &pool));
	kvpv_send(socket, 1);
	if (kvpv_recv(socket))
		ok(kvp_pool_ready(pool));
	kvpv_sleep_ms(60000);
}

static void *kill_later(void *arg)
{
	kvpv_sleep_ms(300);
	kvpv_kill(*(pid_t *)arg);
	return NULL;
}

static void maker_dies_before_it_is_ready(void)
{
	struct kvp_pool *pool = NULL;
	pthread_t killer;
	int socket;
	pid_t pid;
	u64 start;

	pid = kvpv_fork(maker, NULL, &socket);
	kvpv_recv(socket);
	start = kvpv_now_ms();
	pthread_create(&killer, NULL, kill_later, &pid);
	/* Not found is what it says only when the maker is gone. */
	refused(kvp_pool_open("dev:staged", &pool), -ENOENT, KVP_REASON_NO_POOL);
	kvpv_true(kvpv_now_ms() - start >= 250);
	pthread_join(killer, NULL);
	close(socket);

	pid = kvpv_fork(maker, NULL, &socket);
	kvpv_recv(socket);
	pthread_create(&killer, NULL, kill_later, &pid);
	pool = open_pool("dev:staged" FAMILY);
	pthread_join(killer, NULL);
	kvpv_same(clients_of(pool), 1);
	kvp_pool_close(pool);
	close(socket);
}

static void who_comes_early_waits(void)
{
	struct kvp_pool *pool;
	int socket;
	pid_t pid;

	pid = kvpv_fork(maker, NULL, &socket);
	kvpv_recv(socket);
	kvpv_send(socket, 1);
	pool = open_pool("dev:staged" FAMILY "&persistent=yes");
	expect_sound(pool);
	kvpv_kill(pid);
	kvpv_until(KVPV_WAIT_MS, clients_of(pool) == 1);
	kvp_pool_close(pool);
	ok(kvp_pool_destroy_name("dev:staged", 0));
}

static void worker(int socket, void *arg)
{
	struct kvp_pool *pool = open_pool("dev:lasting" FAMILY "&persistent=yes");
	kvp_seq_t seq = make_seq(pool, 14, NULL);

	write_rows(pool, seq, 0, 14, 9);
	ok(kvp_publish(pool, seq, NULL));
	kvpv_send(socket, 1);
	kvpv_sleep_ms(60000);
}

static void what_was_published_outlives_all(void)
{
	struct kvp_pool *pool;
	kvp_seq_t seq;
	u64 matched;
	int socket;
	pid_t pid;

	begin();
	pid = kvpv_fork(worker, NULL, &socket);
	kvpv_recv(socket);
	kvpv_kill(pid);
	pool = open_pool("dev:lasting");
	kvpv_until(KVPV_WAIT_MS, clients_of(pool) == 1);
	kvpv_same(blocks_in(pool, KVP_BLOCK_HELD), 0);
	kvpv_same(blocks_in(pool, KVP_BLOCK_IDLE), 3);
	seq = make_seq(pool, 14, &matched);
	kvpv_same(matched, 12);
	expect_rows(pool, seq, 0, 12, 9);
	expect_sound(pool);
	kvp_pool_close(pool);
	ok(kvp_pool_destroy_name("dev:lasting", 0));
}

/* A pool of another uid, which may not be seen; and one that may. */
static void stranger(int socket, void *arg)
{
	struct kvp_pool *pool = NULL;
	u64 matched;

	if (setgid(2000) || setuid(2000))
		kvpv_fail("setuid: %s", strerror(errno));
	refused(kvp_pool_open("dev:his", &pool), -ENOENT, KVP_REASON_NO_POOL);
	refused(kvp_pool_open("dev:his" FAMILY, &pool), -EEXIST, KVP_REASON_NAME);
	refused(kvp_pool_open("dev:open" FAMILY "&rights=admin", &pool), -EACCES,
		KVP_REASON_RIGHT_ADMIN);
	pool = open_pool("dev:open");
	kvpv_same(kvp_pool_rights(pool), KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	make_seq(pool, 14, &matched);
	kvpv_same(matched, 12);
	kvp_pool_close(pool);
}

static void pools_of_another_uid(void)
{
	struct kvp_pool *his = open_pool("dev:his" FAMILY);
	struct kvp_pool *all = open_pool("dev:open" FAMILY "&mode=0666");
	kvp_seq_t seq;
	int socket;

	begin();
	seq = make_seq(all, 14, NULL);
	write_rows(all, seq, 0, 14, 1);
	ok(kvp_publish(all, seq, NULL));
	kvpv_wait_done(kvpv_fork(stranger, NULL, &socket));
	kvp_pool_close(all);
	kvp_pool_close(his);
}

/* ---- batches ---- */

/* Rings that this process has. */
static u32 rings(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char path[300], link[64];
	ssize_t len;
	u32 nr = 0;

	kvpv_true(dir);
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		len = readlink(path, link, sizeof(link) - 1);
		link[len < 0 ? 0 : len] = '\0';
		nr += !!strstr(link, "[io_uring]");
	}
	closedir(dir);
	return nr;
}

/*
 * Two sequences in one batch: made, forked from a half block, appended to (with a copy of the
 * rows), one entry that fails, and all freed. @who: in the rows.
 */
static void run_batch(struct kvp_pool *pool, u8 who)
{
	kvp_seq_t parent = make_seq(pool, 6, NULL);
	struct kvp_batch_result result;
	struct kvp_batch_buf *batch;
	u64 forked;

	ok(kvp_batch_new(pool, 8, &batch));
	write_rows(pool, parent, 0, 6, who);
	kvpv_same(kvp_batch_seq_fork(batch, parent, KVP_POS_END), 0);
	kvpv_same(kvp_batch_seq_append(batch, KVP_REF(0), tokens + 6, 3, 0), 1);
	kvpv_same(kvp_batch_seq_advance(batch, KVP_REF(0), 99), 2);
	kvpv_same(kvp_batch_seq_free(batch, parent), 3);
	refused(kvp_batch_run(batch, 0), -EINVAL, KVP_REASON_LENGTH);
	ok(kvp_batch_get(batch, 0, &result));
	forked = result.id;
	kvpv_same(result.tokens, 6);
	ok(kvp_batch_get(batch, 1, &result));
	kvpv_same(result.err, 0);
	ok(kvp_batch_get(batch, 3, &result));
	kvpv_same(result.err, 0);
	expect_rows(pool, forked, 0, 6, who);

	/* After the first that fails nothing is done, if so asked. */
	kvpv_same(kvp_batch_seq_advance(batch, forked, 99), 0);
	kvpv_same(kvp_batch_seq_free(batch, forked), 1);
	refused(kvp_batch_run(batch, KVP_BATCH_STOP_ON_ERROR), -EINVAL, KVP_REASON_LENGTH);
	ok(kvp_batch_get(batch, 1, &result));
	kvpv_same(result.err, -ECANCELED);
	ok(kvp_seq_free(pool, forked));
	kvp_batch_free(batch);
}

static void *rings_of_thread(void *pool)
{
	run_batch(pool, 1);
	return (void *)(uintptr_t)rings();
}

static void batches_through_a_ring(void)
{
	struct kvp_pool *pool = open_pool("dev:batch" FAMILY);
	pthread_t thread;
	void *seen;

	begin();
	kvpv_same(rings(), 0);
	run_batch(pool, 1);
	kvpv_same(rings(), 1);
	run_batch(pool, 2);
	kvpv_same(rings(), 1);
	pthread_create(&thread, NULL, rings_of_thread, pool);
	pthread_join(thread, &seen);
	kvpv_same((uintptr_t)seen, 2);
	kvpv_same(rings(), 1);
	kvpv_same(blocks_in(pool, KVP_BLOCK_FREE), 64);
	expect_sound(pool);
	kvp_pool_close(pool);
}

/* The system call @nr gives EPERM from now on. */
static void forbid(u32 nr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { .len = KVPV_COUNT(code), .filter = code };

	kvpv_sys(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	kvpv_sys(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
}

static void batches_without(u32 forbidden)
{
	struct kvp_pool *pool = open_pool("dev:batch" FAMILY);

	begin();
	if (forbidden)
		forbid(forbidden);
	run_batch(pool, 1);
	kvpv_same(rings(), 0);
	run_batch(pool, 2);
	/* Each was done once, and by ioctl. */
	kvpv_same(blocks_in(pool, KVP_BLOCK_FREE), 64);
	expect_sound(pool);
	kvp_pool_close(pool);
}

static void rings_may_not_be_made(void)
{
	batches_without(SYS_io_uring_setup);
}

static void rings_may_not_be_entered(void)
{
	batches_without(SYS_io_uring_enter);
}

static void rings_are_switched_off(void)
{
	if (access(RINGS_OFF, W_OK)) {
		printf("this kernel has no " RINGS_OFF "\n");
		return;
	}
	kvpv_write_file(RINGS_OFF, "2\n");
	batches_without(0);
	kvpv_write_file(RINGS_OFF, "0\n");
}

#define THREADS	4

static void *thread_works(void *pool)
{
	u32 i;

	for (i = 0; i < 50; i++) {
		struct kvp_prompt prompt = {
			.space = space, .tokens = tokens, .nr_tokens = 8,
		};
		u64 matched;

		run_batch(pool, (u8)i);
		ok(kvp_match(pool, &prompt, &matched));
	}
	return NULL;
}

static void threads_have_rings_of_their_own(void)
{
	struct kvp_pool *pool = open_pool("dev:threads" FAMILY);
	pthread_t threads[THREADS];
	u32 i, most = 0, now;

	begin();
	for (i = 0; i < THREADS; i++)
		kvpv_same(pthread_create(&threads[i], NULL, thread_works, pool), 0);
	for (i = 0; i < 100 && most < THREADS; i++) {
		now = rings();
		most = now > most ? now : most;
		kvpv_sleep_ms(1);
	}
	for (i = 0; i < THREADS; i++)
		kvpv_same(pthread_join(threads[i], NULL), 0);
	kvpv_true(most >= 2 && most <= THREADS);
	kvpv_same(rings(), 0);
	kvpv_same(blocks_in(pool, KVP_BLOCK_FREE), 64);
	expect_sound(pool);
	kvp_pool_close(pool);
}

/* ---- the end of clients ---- */

static void closing_gives_back(void)
{
	struct kvp_pool *pool = open_pool("dev:close" FAMILY), *other = open_pool("dev:close");
	kvp_seq_t seq;

	begin();
	seq = make_seq(other, 14, NULL);
	write_rows(other, seq, 0, 14, 1);
	ok(kvp_publish(other, seq, NULL));
	kvpv_same(blocks_in(pool, KVP_BLOCK_HELD), 4);
	kvp_pool_close(other);
	kvpv_until(KVPV_WAIT_MS, !blocks_in(pool, KVP_BLOCK_HELD));
	kvpv_same(blocks_in(pool, KVP_BLOCK_IDLE), 3);
	kvpv_until(KVPV_WAIT_MS, clients_of(pool) == 1);
	expect_sound(pool);
	kvp_pool_close(pool);
	kvpv_until(KVPV_WAIT_MS, !pools());
}

/* What a child may do with its parent's pool. */
static void in_a_child(struct kvp_pool *pool, int socket)
{
	const struct kvp_counters_page *page;
	struct kvp_pool *own;

	kvpv_same(kvp_seq_free(pool, 1), -EPERM);
	kvpv_true(strstr(kvp_error()->text, "before fork()"));
	kvpv_same(kvp_pool_fd(pool), -EPERM);
	kvpv_same(kvp_pool_counters(pool, &page), -EPERM);
	own = open_pool("dev:forked");
	run_batch(own, 5);
	kvp_pool_close(own);
	kvpv_send(socket, 1);
	kvpv_recv(socket);
	kvp_pool_close(pool);
	kvpv_send(socket, 2);
}

struct forker {
	int child;	/* the grandchild's end of a socket */
};

static void forker(int socket, void *arg)
{
	struct kvp_pool *pool = open_pool("dev:forked");
	struct forker *forker = arg;
	pid_t pid;

	begin();
	make_seq(pool, 14, NULL);
	run_batch(pool, 4);	/* with a ring, which the child inherits */
	pid = fork();
	if (!pid) {
		in_a_child(pool, forker->child);
		_exit(0);
	}
	kvpv_send(socket, (u64)pid);
	kvpv_sleep_ms(60000);
}

static void child_keeps_the_descriptor(void)
{
	struct kvp_pool *pool = open_pool("dev:forked" FAMILY);
	int socket, pair[2];
	struct forker arg;
	pid_t pid;

	kvpv_sys(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	arg.child = pair[1];
	pid = kvpv_fork(forker, &arg, &socket);
	kvpv_recv(socket);
	kvpv_same(kvpv_recv(pair[0]), 1);
	kvpv_until(KVPV_WAIT_MS, clients_of(pool) == 2);
	kvpv_same(blocks_in(pool, KVP_BLOCK_HELD), 4);
	/* The client ends with its process, and the child has the descriptor still. */
	kvpv_kill(pid);
	kvpv_until(KVPV_WAIT_MS, clients_of(pool) == 1);
	kvpv_same(blocks_in(pool, KVP_BLOCK_HELD), 0);
	kvpv_send(pair[0], 0);
	kvpv_same(kvpv_recv(pair[0]), 2);
	expect_sound(pool);
	kvp_pool_close(pool);
}

static void giver(int socket, void *arg)
{
	struct kvp_pool *pool = open_pool("dev:given");

	begin();
	make_seq(pool, 14, NULL);
	kvpv_send_fd(socket, kvp_pool_fd(pool));
	kvpv_sleep_ms(60000);
}

static void descriptor_of_the_dead(void)
{
	struct kvp_pool *pool = open_pool("dev:given" FAMILY);
	struct kvp_pool_info info = {};
	int socket, fd;
	pid_t pid;

	pid = kvpv_fork(giver, NULL, &socket);
	fd = kvpv_recv_fd(socket);
	kvpv_ok(kvpv_do(fd, KVP_OP_POOL_INFO, &info));
	kvpv_kill(pid);
	kvpv_until(KVPV_WAIT_MS, clients_of(pool) == 1);
	kvpv_expect(kvpv_do(fd, KVP_OP_POOL_INFO, &info), -EOWNERDEAD, KVP_REASON_CLIENT_DEAD);
	kvpv_same(blocks_in(pool, KVP_BLOCK_FREE), 64);
	close(fd);
	expect_sound(pool);
	kvp_pool_close(pool);
}

/* ---- exports, pages, poll ---- */

static void exporter(int socket, void *arg)
{
	struct kvp_pool *pool = open_pool("dev:exports");
	kvp_seq_t seq;
	u64 id;
	int fd;

	begin();
	seq = make_seq(pool, 14, NULL);
	write_rows(pool, seq, 0, 14, 8);
	ok(kvp_seq_export(pool, seq, &fd, &id));
	kvpv_send_fd(socket, fd);
	kvpv_send(socket, id);
	kvpv_sleep_ms(60000);
}

/* A batch names what it imports, also in the piece after copies were made. */
static void import_in_a_batch(struct kvp_pool *pool, int fd)
{
	struct kvp_seq_import import = { .fd = fd };
	struct kvp_batch_buf *batch;

	ok(kvp_batch_new(pool, 4, &batch));
	kvpv_same(kvp_batch_call(batch, KVP_OP_SEQ_IMPORT, &import, sizeof(import)), 0);
	kvpv_same(kvp_batch_seq_append(batch, KVP_REF(0), tokens + 14, 2, 0), 1);
	kvpv_same(kvp_batch_seq_advance(batch, KVP_REF(0), 16), 2);
	ok(kvp_batch_run(batch, 0));
	expect_rows(pool, import.seq, 0, 14, 8);
	ok(kvp_seq_free(pool, import.seq));
	kvp_batch_free(batch);
}

static void export_outlives_its_maker(void)
{
	struct kvp_pool *pool = open_pool("dev:exports" FAMILY);
	struct kvp_pool *foreign = open_pool("dev:foreign" FAMILY);
	u64 id, nr = 0;
	int socket, fd;
	kvp_seq_t seq;
	pid_t pid;

	begin();
	pid = kvpv_fork(exporter, NULL, &socket);
	fd = kvpv_recv_fd(socket);
	id = kvpv_recv(socket);
	kvpv_kill(pid);
	ok(kvp_seq_import(pool, fd, &seq, &nr));
	kvpv_same(nr, 14);
	expect_rows(pool, seq, 0, 14, 8);
	import_in_a_batch(pool, fd);
	refused(kvp_seq_import(foreign, fd, &seq, NULL), -EACCES, KVP_REASON_FOREIGN);
	refused(kvp_seq_import(pool, socket, &seq, NULL), -EINVAL, KVP_REASON_VALUE);
	refused(kvp_seq_import(pool, -1, &seq, NULL), -EBADF, KVP_REASON_NONE);
	ok(kvp_export_revoke(pool, id));
	refused(kvp_seq_import(pool, fd, &seq, NULL), -ESTALE, KVP_REASON_REVOKED);
	refused(kvp_export_revoke(pool, id + 1000), -ENOENT, KVP_REASON_NO_EXPORT);
	expect_rows(pool, seq, 0, 14, 8);
	close(fd);
	expect_sound(pool);
	kvp_pool_close(foreign);
	kvp_pool_close(pool);
}

static int polled(struct kvp_pool *pool, int ms)
{
	struct pollfd poll_fd = { .fd = kvp_pool_fd(pool), .events = POLLIN };

	kvpv_true(poll_fd.fd >= 0);
	kvpv_sys(poll(&poll_fd, 1, ms));
	return poll_fd.revents;
}

static void counters_and_poll(void)
{
	struct kvp_pool *pool = open_pool("dev:watch" FAMILY), *other = open_pool("dev:watch");
	const struct kvp_counters_page *page;
	struct kvp_event events[8];
	u64 cursor = 0, lost;
	kvp_seq_t seq;
	u32 nr = 0;

	begin();
	ok(kvp_pool_counters(pool, &page));
	kvpv_same(page->state[0][KVP_BLOCK_FREE], 64);
	ok(kvp_events_read(pool, &cursor, NULL, &nr, &lost));
	kvpv_same(polled(pool, 0), 0);
	seq = make_seq(other, 14, NULL);
	kvpv_same(page->state[0][KVP_BLOCK_FREE], 60);
	kvpv_same(page->state[0][KVP_BLOCK_HELD], 4);
	write_rows(other, seq, 0, 14, 1);
	ok(kvp_publish(other, seq, NULL));
	kvpv_same(page->published[0], 3);
	kvpv_same(polled(pool, KVPV_WAIT_MS), POLLIN);
	nr = KVPV_COUNT(events);
	ok(kvp_events_read(pool, &cursor, events, &nr, &lost));
	kvpv_same(nr, 3);
	kvpv_same(events[0].kind, KVP_EVENT_STORED);
	kvpv_same(polled(pool, 0), 0);
	ok(kvp_pool_destroy(other, KVP_DESTROY_FORCE));
	kvpv_true(polled(pool, KVPV_WAIT_MS) & POLLHUP);
	refused(kvp_seq_free(pool, 1), -EIO, KVP_REASON_DESTROYED);
	kvp_pool_close(other);
	kvp_pool_close(pool);
}

int main(int argc, char **argv)
{
	static const struct kvpv_test tests[] = {
		KVPV_TEST(one_writes_the_other_reads),
		KVPV_TEST(all_open_at_once),
		KVPV_TEST(maker_dies_before_it_is_ready),
		KVPV_TEST(who_comes_early_waits),
		KVPV_TEST(what_was_published_outlives_all),
		KVPV_TEST(pools_of_another_uid),
		KVPV_TEST(batches_through_a_ring),
		KVPV_TEST(rings_may_not_be_made),
		KVPV_TEST(rings_may_not_be_entered),
		KVPV_TEST(rings_are_switched_off),
		KVPV_TEST(threads_have_rings_of_their_own),
		KVPV_TEST(closing_gives_back),
		KVPV_TEST(child_keeps_the_descriptor),
		KVPV_TEST(descriptor_of_the_dead),
		KVPV_TEST(export_outlives_its_maker),
		KVPV_TEST(counters_and_poll),
	};

	return kvpv_run(tests, KVPV_COUNT(tests), argc, argv);
}

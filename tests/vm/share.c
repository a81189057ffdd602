// SPDX-License-Identifier: MIT
/*
 * Several processes on one pool: the last blocks asked for at once, sequences passed on as files,
 * ids whose object is gone, and bytes that no member can take from the others.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

#define POOL	"share"
#define SPACE	1

static u32 tokens[64];

/* ---- the last five blocks ---- */

#define TURNS	1000
#define LAST	5

/* One call of one process: when it began and ended, ns, and what it returned. */
struct asked {
	u64 begin, end;
	int result;
	u32 reason;
};

/**
 * struct race - of two processes, in memory that they share
 * @arrived: who is at the start of a turn, all turns together
 * @asked: who has made his call
 * @call: by turn and process
 */
struct race {
	u32 arrived, asked;
	struct asked call[TURNS][2];
};

struct racer {
	struct race *race;
	u32 which;
};

static u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

/* Both are here @nr times; they may have one processor together. */
static void meet(u32 *count, u32 nr)
{
	u32 spins = 0;

	__atomic_add_fetch(count, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(count, __ATOMIC_ACQUIRE) < 2 * nr)
		if (!(++spins % 4096))
			sched_yield();
}

static void racer(int socket, void *arg)
{
	struct racer *racer = arg;
	struct race *race = racer->race;
	int fd = kvpv_join(POOL);
	u64 blocks[LAST];
	u32 turn;

	for (turn = 0; turn < TURNS; turn++) {
		struct asked *call = &race->call[turn][racer->which];

		memset(blocks, 0, sizeof(blocks));
		meet(&race->arrived, turn + 1);
		call->begin = now_ns();
		call->result = kvpv_alloc(fd, 0, LAST, blocks);
		call->end = now_ns();
		call->reason = kvpv_head.reason;
		meet(&race->asked, turn + 1);
		if (!call->result)
			kvpv_ok(kvpv_unref(fd, blocks, LAST));
		else
			kvpv_true(!blocks[0] && !blocks[LAST - 1]);
	}
}

static void last_five(void)
{
	struct race *race = mmap(NULL, sizeof(*race), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct racer racers[2] = { { race, 0 }, { race, 1 } };
	u32 turn, at_once = 0, won[2] = {};
	int fd = kvpv_pool(POOL, 8);
	u64 held[8 - LAST];
	pid_t pid[2];
	u32 i;

	kvpv_true(race != MAP_FAILED);
	kvpv_ok(kvpv_alloc(fd, 0, 8 - LAST, held));
	for (i = 0; i < 2; i++)
		pid[i] = kvpv_fork(racer, &racers[i], NULL);
	for (i = 0; i < 2; i++)
		kvpv_wait_done(pid[i]);
	for (turn = 0; turn < TURNS; turn++) {
		const struct asked *call = race->call[turn];

		kvpv_true(!call[0].result != !call[1].result);
		i = !call[0].result;
		kvpv_same(-call[i].result, ENOSPC);
		kvpv_same(call[i].reason, KVP_REASON_POOL_FULL);
		won[!i]++;
		at_once += call[0].begin < call[1].end && call[1].begin < call[0].end;
	}
	printf("%u turns: won %u and %u; %u times the calls were under way together\n", TURNS,
	       won[0], won[1], at_once);
	kvpv_true(at_once);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_FREE), LAST);
	kvpv_audit(fd);
	close(fd);
}

/* ---- sequences as files ---- */

#define EXPORTED	10		/* tokens: two blocks and a half */

/* A client of uid 1234 that exports a sequence, sends id, first block and file, and waits. */
static void exporter(int socket, void *arg)
{
	int fd = kvpv_open_as(1234, 1234);
	struct kvp_seq_table table;
	u64 blocks[4], client, seq, id;
	int file;

	kvpv_true(kvpv_map_timelines(fd) != MAP_FAILED);
	kvpv_ok(kvpv_attach(fd, POOL, 0, &client));
	seq = kvpv_computed(fd, SPACE, tokens, EXPORTED);
	kvpv_ok(kvpv_table(fd, seq, 0, blocks, 4, &table));
	kvpv_same(table.total, 3);
	kvpv_ok(kvpv_export(fd, seq, &file, &id));
	kvpv_true(fcntl(file, F_GETFD) & FD_CLOEXEC);
	kvpv_send(socket, client);
	kvpv_send(socket, id);
	kvpv_send(socket, blocks[0]);
	kvpv_send(socket, blocks[2]);
	kvpv_send_fd(socket, file);
	kvpv_recv(socket);
	/* Its own way on: the export keeps what it has. */
	kvpv_ok(kvpv_append(fd, seq, tokens + EXPORTED, 1));
	kvpv_ok(kvpv_table(fd, seq, 0, blocks, 4, &table));
	kvpv_send(socket, blocks[0]);
	kvpv_send(socket, blocks[2]);
	pause();
}

/* A fresh import is what was exported. */
static u64 expect_import(int fd, int file, const u64 first_and_last[2])
{
	struct kvp_seq_table table;
	u64 blocks[4], seq, nr;

	kvpv_ok(kvpv_import(fd, file, &seq, &nr));
	kvpv_same(nr, EXPORTED);
	kvpv_ok(kvpv_table(fd, seq, 0, blocks, 4, &table));
	kvpv_same(table.total, 3);
	kvpv_same(table.nr_tokens, EXPORTED);
	kvpv_same(table.nr_computed, EXPORTED);
	kvpv_same(blocks[0], first_and_last[0]);
	kvpv_same(blocks[2], first_and_last[1]);
	return seq;
}

static void expect_listed(int fd, u64 id, u64 maker, u64 imports)
{
	struct kvp_client_entry entry, later;

	kvpv_true(kvpv_find_client(fd, id, &entry));
	kvpv_same(entry.flags, KVP_CLIENT_EXPORT);
	kvpv_same(entry.uid, 1234);
	kvpv_same(entry.maker, maker);
	kvpv_same(entry.imports, imports);
	kvpv_same(entry.seqs, 1);
	kvpv_same(entry.slots, 3);
	kvpv_true(entry.age_ns > 0 && entry.age_ns < 60ULL * 1000000000);
	kvpv_sleep_ms(3);
	kvpv_true(kvpv_find_client(fd, id, &later));
	kvpv_true(later.age_ns >= entry.age_ns + 3000000);
}

/* @first: a sequence that was imported already. Ends the export. */
static void expect_revocable(int fd, int file, u64 id, const u64 was[2], u64 first)
{
	struct kvp_client_entry entry;
	struct kvp_seq_table table;
	u64 seq, blocks[4];

	/* An importer that writes on gets private blocks, too. */
	seq = expect_import(fd, file, was);
	kvpv_ok(kvpv_append(fd, seq, tokens + EXPORTED, 1));
	kvpv_ok(kvpv_table(fd, seq, 0, blocks, 4, &table));
	kvpv_same(blocks[0], was[0]);
	kvpv_true(blocks[2] != was[1]);
	kvpv_ok(kvpv_free(fd, seq));
	kvpv_ok(kvpv_free(fd, expect_import(fd, file, was)));

	/* Revoked by ADMIN, whatever files are open; what was imported stays. */
	kvpv_ok(kvpv_revoke(fd, id));
	kvpv_expect(kvpv_import(fd, file, &seq, NULL), -ESTALE, KVP_REASON_REVOKED);
	kvpv_true(kvpv_find_client(fd, id, &entry));
	kvpv_same(entry.flags, KVP_CLIENT_EXPORT | KVP_CLIENT_REVOKED);
	kvpv_same(entry.seqs, 0);
	kvpv_ok(kvpv_table(fd, first, 0, blocks, 4, &table));
	kvpv_same(blocks[0], was[0]);
	kvpv_same(blocks[2], was[1]);
	kvpv_audit(fd);
	close(file);
	kvpv_until(KVPV_WAIT_MS, !kvpv_find_client(fd, id, NULL));
	kvpv_expect(kvpv_revoke(fd, id), -ENOENT, KVP_REASON_NO_EXPORT);
	kvpv_ok(kvpv_free(fd, first));
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_FREE), 16);
	kvpv_audit(fd);
}

static void export_survives(void)
{
	int fd = kvpv_pool(POOL, 16);
	u64 maker, id, first, was[2], own[2];
	struct kvp_client_entry entry;
	struct kvp_stats stats;
	pid_t pid;
	int socket, file;

	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
	pid = kvpv_fork(exporter, NULL, &socket);
	maker = kvpv_recv(socket);
	id = kvpv_recv(socket);
	was[0] = kvpv_recv(socket);
	was[1] = kvpv_recv(socket);
	file = kvpv_recv_fd(socket);
	expect_listed(fd, id, maker, 0);
	kvpv_true(kvpv_find_client(fd, maker, &entry));
	kvpv_same(entry.exports, 1);
	kvpv_ok(kvpv_stats(fd, 1234, KVP_STATS_OF_UID, &stats, NULL, 0));
	kvpv_same(stats.exports, 1);

	/* The exporter writes on: in a private block, from then on. */
	kvpv_send(socket, 1);
	own[0] = kvpv_recv(socket);
	own[1] = kvpv_recv(socket);
	kvpv_same(own[0], was[0]);
	kvpv_true(own[1] != was[1]);
	first = expect_import(fd, file, was);

	kvpv_kill(pid);
	kvpv_until(KVPV_WAIT_MS, !kvpv_find_client(fd, maker, NULL));
	expect_listed(fd, id, maker, 1);
	kvpv_ok(kvpv_stats(fd, 1234, KVP_STATS_OF_UID, &stats, NULL, 0));
	kvpv_same(stats.exports, 1);
	kvpv_audit(fd);

	expect_revocable(fd, file, id, was, first);
	close(fd);
}

/* An export that nobody took out of a socket lives as long as the socket does. */
static void export_in_socket(void)
{
	int fd = kvpv_pool(POOL, 16);
	int pair[2], file, taken;
	u64 id, seq, nr;

	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
	kvpv_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	seq = kvpv_computed(fd, SPACE, tokens, EXPORTED);
	kvpv_ok(kvpv_export(fd, seq, &file, &id));
	kvpv_ok(kvpv_free(fd, seq));
	kvpv_send_fd(pair[0], file);
	close(file);
	kvpv_sleep_ms(50);
	kvpv_true(kvpv_find_client(fd, id, NULL));
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_HELD), 3);
	taken = kvpv_recv_fd(pair[1]);
	kvpv_ok(kvpv_import(fd, taken, &seq, &nr));
	kvpv_same(nr, EXPORTED);
	kvpv_ok(kvpv_free(fd, seq));
	kvpv_send_fd(pair[0], taken);
	close(taken);
	close(pair[0]);
	close(pair[1]);
	kvpv_until(KVPV_WAIT_MS, !kvpv_find_client(fd, id, NULL));
	kvpv_until(KVPV_WAIT_MS, kvpv_blocks(fd, 0, KVP_BLOCK_FREE) == 16);
	kvpv_audit(fd);
	close(fd);
}

static void revoke_rights(void)
{
	int owner = kvpv_pool(POOL, 16);
	int maker = kvpv_open_as(1234, 1234), other = kvpv_open_as(1235, 1235);
	u64 id, seq;
	int file;

	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
	kvpv_ok(kvpv_attach(maker, POOL, 0, NULL));
	kvpv_ok(kvpv_attach(other, POOL, 0, NULL));
	seq = kvpv_computed(maker, SPACE, tokens, EXPORTED);
	kvpv_ok(kvpv_export(maker, seq, &file, &id));
	kvpv_expect(kvpv_revoke(other, id), -EPERM, KVP_REASON_NO_EXPORT);
	kvpv_true(!kvpv_find_client(other, id, NULL));
	kvpv_true(kvpv_find_client(maker, id, NULL));
	kvpv_expect(kvpv_revoke(maker, id + 1000), -ENOENT, KVP_REASON_NO_EXPORT);
	/* A client is no export. */
	kvpv_expect(kvpv_revoke(owner, kvpv_self(maker)), -ENOENT, KVP_REASON_NO_EXPORT);
	kvpv_ok(kvpv_import(other, file, &seq, NULL));
	kvpv_ok(kvpv_revoke(maker, id));
	kvpv_expect(kvpv_import(other, file, &seq, NULL), -ESTALE, KVP_REASON_REVOKED);
	kvpv_audit(owner);
}

/* What is no export, or one of another pool. */
static void import_refused(void)
{
	int fd = kvpv_pool(POOL, 16), foreign = kvpv_pool("other", 16);
	int not_export[4], file, none = kvpv_open(), pipes[2];
	u64 seq, nr;
	u32 i;

	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
	kvpv_ok(kvpv_export(foreign, kvpv_computed(foreign, SPACE, tokens, EXPORTED), &file, NULL));
	kvpv_expect(kvpv_import(fd, file, &seq, &nr), -EACCES, KVP_REASON_FOREIGN);
	kvpv_same(seq, 0);
	kvpv_same(nr, 0);
	kvpv_expect(kvpv_import(none, file, &seq, &nr), -EBUSY, KVP_REASON_NOT_ATTACHED);
	kvpv_sys(pipe2(pipes, O_CLOEXEC));
	not_export[0] = pipes[0];
	not_export[1] = fd;
	not_export[2] = kvpv_sys(memfd_create("m", MFD_CLOEXEC));
	not_export[3] = kvpv_sys(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	for (i = 0; i < KVPV_COUNT(not_export); i++)
		kvpv_expect(kvpv_import(fd, not_export[i], &seq, &nr), -EINVAL, KVP_REASON_VALUE);
	kvpv_same(kvpv_import(fd, -1, &seq, &nr), -EBADF);
	kvpv_same(kvpv_import(fd, 1000, &seq, &nr), -EBADF);
	kvpv_audit(fd);
	kvpv_audit(foreign);
}

static bool listed(const char *name)
{
	struct kvp_pool_entry entries[16];
	struct kvp_pool_list arg = { .pools = kvpv_ptr(entries), .nr_pools = 16 };
	int fd = kvpv_open();
	u32 i;

	kvpv_ok(kvpv_do(fd, KVP_OP_POOL_LIST, &arg));
	close(fd);
	for (i = 0; i < arg.nr_pools; i++)
		if (!strcmp(entries[i].name, name))
			return true;
	return false;
}

/* A pool that does not persist outlives its last client by its exports. */
static void export_keeps_pool(void)
{
	int fd = kvpv_pool(POOL, 16), file;
	u64 seq, nr;

	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
	kvpv_ok(kvpv_export(fd, kvpv_computed(fd, SPACE, tokens, EXPORTED), &file, NULL));
	close(fd);
	kvpv_sleep_ms(100);
	kvpv_true(listed(POOL));
	fd = kvpv_join(POOL);
	kvpv_ok(kvpv_import(fd, file, &seq, &nr));
	kvpv_same(nr, EXPORTED);
	kvpv_audit(fd);
	close(fd);
	kvpv_sleep_ms(100);
	kvpv_true(listed(POOL));
	close(file);
	kvpv_until(KVPV_WAIT_MS, !listed(POOL));
}

/* ---- ids whose object is gone ---- */

static void stale_member(int socket, void *arg)
{
	int fd = kvpv_join(POOL);
	u64 block, seq;

	kvpv_ok(kvpv_alloc(fd, 0, 1, &block));
	seq = kvpv_computed(fd, SPACE, tokens, 4);
	kvpv_send(socket, block);
	kvpv_send(socket, seq);
	kvpv_ok(kvpv_unref(fd, &block, 1));
	kvpv_ok(kvpv_free(fd, seq));
	kvpv_send(socket, 0);
	kvpv_recv(socket);
	/* Reused by the other process meanwhile: here, too, the old ids name nothing. */
	kvpv_expect(kvpv_unref(fd, &block, 1), -ESTALE, KVP_REASON_GENERATION);
	kvpv_expect(kvpv_free(fd, seq), -ESTALE, KVP_REASON_GENERATION);
}

static void stale_ids(void)
{
	int fd = kvpv_pool(POOL, 4);
	struct kvp_block_refs ref = { .nr = 1 };
	u64 old, seq, blocks[4];
	int socket;
	pid_t pid;
	u32 i;

	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
	pid = kvpv_fork(stale_member, NULL, &socket);
	old = kvpv_recv(socket);
	seq = kvpv_recv(socket);
	kvpv_recv(socket);
	kvpv_ok(kvpv_alloc(fd, 0, 4, blocks));
	for (i = 0; i < 4; i++) {
		kvpv_true(blocks[i] != old);
		if (KVP_BLOCK_INDEX(blocks[i]) == KVP_BLOCK_INDEX(old))
			break;
	}
	kvpv_true(i < 4);
	ref.blocks = kvpv_ptr(&old);
	kvpv_expect(kvpv_do(fd, KVP_OP_BLOCK_REF, &ref), -ESTALE, KVP_REASON_GENERATION);
	kvpv_expect(kvpv_unref(fd, &old, 1), -ESTALE, KVP_REASON_GENERATION);
	/* A sequence's id means nothing to another client, whatever it was. */
	kvpv_expect(kvpv_free(fd, seq), -ENOENT, KVP_REASON_NO_SEQ);
	kvpv_send(socket, 1);
	kvpv_wait_done(pid);
	kvpv_audit(fd);
	close(fd);
}

/* ---- the bytes ---- */

#define BYTES	(64 * 1024)

static void member_cannot_truncate(void)
{
	int owner = kvpv_pool(POOL, 4);
	int member = kvpv_open_as(1234, 1234);
	int memory = kvpv_sys(memfd_create("bytes", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	struct kvp_backing add = { .fd = memory, .kind = KVP_BACKING_MEMFD, .length = BYTES };
	struct kvp_backing got = {};
	char *mine, *theirs;

	kvpv_sys(ftruncate(memory, BYTES));
	kvpv_sys(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
	kvpv_ok(kvpv_do(owner, KVP_OP_BACKING_ADD, &add));
	mine = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	kvpv_true(mine != MAP_FAILED);
	mine[BYTES - 1] = 'x';

	kvpv_ok(kvpv_attach(member, POOL, 0, NULL));
	kvpv_ok(kvpv_do(member, KVP_OP_BACKING_GET, &got));
	kvpv_same(got.kind, KVP_BACKING_MEMFD);
	kvpv_same(got.length, BYTES);
	kvpv_true(got.fd >= 0 && got.fd != memory);
	kvpv_refused(ftruncate(got.fd, 0), EPERM);
	kvpv_refused(ftruncate(got.fd, BYTES - 1), EPERM);
	kvpv_refused(ftruncate(got.fd, BYTES + 1), EPERM);
	kvpv_refused(fallocate(got.fd, 0, BYTES, 4096), EPERM);
	kvpv_refused(fcntl(got.fd, F_ADD_SEALS, F_SEAL_WRITE), EPERM);
	theirs = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, got.fd, 0);
	kvpv_true(theirs != MAP_FAILED);
	kvpv_same(theirs[BYTES - 1], 'x');
	theirs[0] = 'y';
	kvpv_same(mine[0], 'y');
}

static const struct kvpv_test tests[] = {
	KVPV_TEST(last_five),
	KVPV_TEST(export_survives),
	KVPV_TEST(export_in_socket),
	KVPV_TEST(revoke_rights),
	KVPV_TEST(import_refused),
	KVPV_TEST(export_keeps_pool),
	KVPV_TEST(stale_ids),
	KVPV_TEST(member_cannot_truncate),
};

int main(int argc, char **argv)
{
	return kvpv_run(tests, KVPV_COUNT(tests), argc, argv);
}

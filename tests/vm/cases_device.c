// SPDX-License-Identifier: MIT
/*
 * Scenarios from the field that need several processes, one of which dies: on abort and crash (A1,
 * A11, A12, A16), capacity (G5, G7), several processes (H1 to H3), tenants (J5).
 *
 * The module is loaded with mode=0666.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support.h"

#define POOL	"cases"
#define SPACE	1

static u32 tokens[64];

static void tokens_begin(void)
{
	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
}

/* A client whose end is that of its process, as the runtime's are. */
static int mapped(u64 *client)
{
	int fd = kvpv_open();

	kvpv_true(kvpv_map_timelines(fd) != MAP_FAILED);
	kvpv_ok(kvpv_attach(fd, POOL, 0, client));
	return fd;
}

static void wait_for_end(void) __attribute__((noreturn));
static void wait_for_end(void)
{
	for (;;)
		pause();
}

static bool pool_listed(const char *name)
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

/* ---- A1: blocks that a dead peer was to fill are not held for ever ---- */

static void a1_loader(int socket, void *arg)
{
	u64 blocks[4], client;
	int fd = mapped(&client);
	u32 i;

	kvpv_ok(kvpv_alloc(fd, 0, 4, blocks));
	kvpv_send(socket, client);
	for (i = 0; i < 4; i++)
		kvpv_send(socket, blocks[i]);
	wait_for_end();
}

static void a1_dead_peer(void)
{
	int fd = kvpv_pool(POOL, 4), socket;
	u64 client, old[4], blocks[4];
	struct kvp_block_refs ref = { .blocks = kvpv_ptr(old), .nr = 1 };
	pid_t pid = kvpv_fork(a1_loader, NULL, &socket);
	u32 i;

	client = kvpv_recv(socket);
	for (i = 0; i < 4; i++)
		old[i] = kvpv_recv(socket);
	kvpv_expect(kvpv_alloc(fd, 0, 1, blocks), -ENOSPC, KVP_REASON_POOL_FULL);
	kvpv_kill(pid);
	kvpv_until(KVPV_WAIT_MS, kvpv_client_gone(fd, client));
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_FREE), 4);
	kvpv_audit(fd);
	/* The transfer ends late: what it names is gone, also when the blocks have new owners. */
	kvpv_expect(kvpv_do(fd, KVP_OP_BLOCK_REF, &ref), -ESTALE, KVP_REASON_GENERATION);
	kvpv_ok(kvpv_alloc(fd, 0, 4, blocks));
	for (i = 0; i < 4; i++)
		kvpv_expect(kvpv_unref(fd, &old[i], 1), -ESTALE, KVP_REASON_GENERATION);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_HELD), 4);
	kvpv_audit(fd);
	close(fd);
}

/* ---- A11: what was not published is absent, not busy ---- */

static void a11_writer(int socket, void *arg)
{
	const u32 *stage = arg;
	u64 seq, client;
	int fd = mapped(&client);

	kvpv_ok(kvpv_seq(fd, SPACE, tokens, 8, &seq, NULL));
	if (*stage)
		kvpv_ok(kvpv_advance(fd, seq, *stage * 4));
	kvpv_send(socket, client);
	wait_for_end();
}

static void a11_dies_before_publish(void)
{
	u32 stage;

	tokens_begin();
	for (stage = 0; stage <= 2; stage++) {
		int fd = kvpv_pool(POOL, 4), socket;
		pid_t pid = kvpv_fork(a11_writer, &stage, &socket);
		u64 client = kvpv_recv(socket);

		kvpv_kill(pid);
		kvpv_same(kvpv_matched(fd, SPACE, tokens, 8), 0);
		kvpv_until(KVPV_WAIT_MS, kvpv_client_gone(fd, client));
		kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_FREE), 4);
		kvpv_ok(kvpv_free(fd, kvpv_published(fd, SPACE, tokens, 8)));
		kvpv_same(kvpv_matched(fd, SPACE, tokens, 8), 8);
		kvpv_audit(fd);
		close(fd);
		kvpv_until(KVPV_WAIT_MS, !kvpv_module_uses());
	}
}

/* ---- A12: who owns the metadata cannot restart under those who use the memory ---- */

static void a12_owner_restarts(void)
{
	int fd = kvpv_pool(POOL, 4), again;
	struct kvp_pool_info was = {}, is = {};
	u64 old[2], blocks[4];
	struct kvp_stats stats;

	kvpv_ok(kvpv_do(fd, KVP_OP_POOL_INFO, &was));
	kvpv_ok(kvpv_alloc(fd, 0, 2, old));
	/* The module is the owner: it stays while a client has its file. */
	kvpv_refused(syscall(SYS_delete_module, "kvpool", O_NONBLOCK), EAGAIN);
	/* A pool made anew under the name is another one, of which the client has nothing. */
	kvpv_ok(kvpv_destroy(fd, POOL, KVP_DESTROY_FORCE));
	again = kvpv_pool(POOL, 4);
	kvpv_ok(kvpv_do(again, KVP_OP_POOL_INFO, &is));
	kvpv_true(is.pool != was.pool);
	kvpv_ok(kvpv_alloc(again, 0, 4, blocks));
	kvpv_expect(kvpv_unref(fd, blocks, 1), -EIO, KVP_REASON_DESTROYED);
	kvpv_expect(kvpv_unref(fd, old, 1), -EIO, KVP_REASON_DESTROYED);
	kvpv_expect(kvpv_stats(fd, KVP_STATS_SELF, 0, &stats, NULL, 0), -EIO, KVP_REASON_DESTROYED);
	kvpv_expect(kvpv_attach(fd, POOL, 0, NULL), -EBUSY, KVP_REASON_ATTACHED);
	kvpv_same(kvpv_blocks(again, 0, KVP_BLOCK_HELD), 4);
	close(fd);
	kvpv_same(kvpv_blocks(again, 0, KVP_BLOCK_HELD), 4);
	kvpv_audit(again);
	close(again);
}

/* ---- A16: the close of the file is what cleans up, with no timer ---- */

static void a16_owner(int socket, void *arg)
{
	kvpv_pool(POOL, 4);
	kvpv_send(socket, 1);
	wait_for_end();
}

static void a16_dies_at_once(void)
{
	u64 took, slowest = 0;
	int socket;
	pid_t pid;
	u32 i;

	for (i = 0; i < 10; i++) {
		pid = kvpv_fork(a16_owner, NULL, &socket);
		kvpv_recv(socket);
		kvpv_kill(pid);
		took = kvpv_until(KVPV_WAIT_MS, !pool_listed(POOL));
		slowest = took > slowest ? took : slowest;
		close(socket);
		kvpv_until(KVPV_WAIT_MS, !kvpv_module_uses());
	}
	printf("a pool was gone %llu ms after its owner at most\n", (unsigned long long)slowest);
	kvpv_true(slowest < 1000);
}

/* ---- G5: all see five free and ask for them ---- */

#define ASKERS	8
#define TURNS	20

static void g5_asker(int socket, void *arg)
{
	int fd = kvpv_join(POOL);
	u64 blocks[5];
	int ret;

	while (kvpv_recv(socket)) {
		ret = kvpv_alloc(fd, 0, 5, blocks);
		kvpv_send(socket, (u64)-ret << 32 | kvpv_head.reason);
		kvpv_recv(socket);
		if (!ret)
			kvpv_ok(kvpv_unref(fd, blocks, 5));
		kvpv_send(socket, 0);
	}
}

static void g5_five_for_one(void)
{
	int fd = kvpv_pool(POOL, 5), socket[ASKERS];
	u32 turn, i, got;
	pid_t pid[ASKERS];
	u64 answer;

	for (i = 0; i < ASKERS; i++)
		pid[i] = kvpv_fork(g5_asker, NULL, &socket[i]);
	for (turn = 0; turn < TURNS; turn++) {
		kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_FREE), 5);
		for (i = 0; i < ASKERS; i++)
			kvpv_send(socket[i], 1);
		for (got = 0, i = 0; i < ASKERS; i++) {
			answer = kvpv_recv(socket[i]);
			if (answer)
				kvpv_same(answer, (u64)ENOSPC << 32 | KVP_REASON_POOL_FULL);
			got += !answer;
		}
		kvpv_same(got, 1);
		kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_HELD), 5);
		for (i = 0; i < ASKERS; i++)
			kvpv_send(socket[i], 1);
		for (i = 0; i < ASKERS; i++)
			kvpv_recv(socket[i]);
	}
	for (i = 0; i < ASKERS; i++) {
		kvpv_send(socket[i], 0);
		kvpv_wait_done(pid[i]);
	}
	kvpv_audit(fd);
	close(fd);
}

/* ---- G7: budgets of 60% and 60% ---- */

static void g7_second(int socket, void *arg)
{
	struct kvp_pool_attach attach = { .name = POOL };
	int fd = kvpv_open();

	kvpv_expect(kvpv_do(fd, KVP_OP_POOL_ATTACH, &attach), -EFBIG, KVP_REASON_NEVER_FITS);
	kvpv_same(kvpv_head.where, 0);
	kvpv_same(attach.room, 40);
	kvpv_same(attach.client, 0);
}

static void g7_budgets(void)
{
	int fd = kvpv_pool(POOL, 100), first = kvpv_open();
	u64 client;

	kvpv_ok(kvpv_limit(fd, (struct kvp_limit){ .mask = KVP_LIMIT_GUARANTEE, .guarantee = 60 }));
	kvpv_ok(kvpv_attach(first, POOL, 0, &client));
	kvpv_wait_done(kvpv_fork(g7_second, NULL, NULL));
	/* When the first is gone there is room. */
	close(first);
	kvpv_until(KVPV_WAIT_MS, kvpv_client_gone(fd, client));
	first = kvpv_join(POOL);
	kvpv_audit(fd);
	close(first);
	close(fd);
}

/* ---- H1: a dead client's memory is let go, and those who used it are told ---- */

static void h1_publisher(int socket, void *arg)
{
	u64 blocks[4], client;
	int fd = mapped(&client);

	kvpv_published(fd, SPACE, tokens, 32);
	kvpv_computed(fd, SPACE + 1, tokens, 16);
	kvpv_ok(kvpv_alloc(fd, 0, 4, blocks));
	kvpv_send(socket, client);
	wait_for_end();
}

static bool h1_told(int fd, u64 client)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	struct kvp_event events[16];
	struct kvp_events arg = { .events = kvpv_ptr(events), .nr_events = 16, .cursor = 1 };
	u32 i;

	kvpv_same(kvpv_sys(poll(&poll_fd, 1, KVPV_WAIT_MS)), 1);
	kvpv_same(poll_fd.revents, POLLIN);
	kvpv_ok(kvpv_do(fd, KVP_OP_EVENTS, &arg));
	for (i = 0; i < arg.nr_events; i++)
		if (events[i].kind == KVP_EVENT_LEFT && events[i].client == client)
			return true;
	return false;
}

static void h1_peer_dies(void)
{
	int owner = kvpv_pool(POOL, 32), reader = kvpv_open(), socket;
	struct kvp_seq_create create = {
		.head.flags = KVP_SEQ_MATCH_ONLY,
		.tokens = kvpv_ptr(tokens),
		.nr_tokens = 32,
		.match_limit = 16,
	};
	struct kvp_events events = {};
	struct kvp_block_entry entries[32];
	u64 client, me, blocks[4];
	struct kvp_stats stats;
	u32 nr, i, held = 0;
	pid_t pid;

	tokens_begin();
	kvpv_space(SPACE, create.space);
	kvpv_ok(kvpv_attach(reader, POOL, KVP_RIGHT_USE, &me));
	pid = kvpv_fork(h1_publisher, NULL, &socket);
	client = kvpv_recv(socket);
	kvpv_ok(kvpv_do(reader, KVP_OP_EVENTS, &events));
	kvpv_ok(kvpv_do(reader, KVP_OP_SEQ_CREATE, &create));
	kvpv_same(create.matched, 16);
	kvpv_same(kvpv_blocks(owner, 0, KVP_BLOCK_HELD), 8 + 4 + 4);
	kvpv_kill(pid);
	kvpv_true(h1_told(reader, client));
	kvpv_until(KVPV_WAIT_MS, kvpv_client_gone(owner, client));
	/* Held is what the reader reads, as a dump says; the rest of the prefix is idle. */
	kvpv_same(kvpv_blocks(owner, 0, KVP_BLOCK_HELD), 4);
	kvpv_same(kvpv_blocks(owner, 0, KVP_BLOCK_IDLE), 4);
	kvpv_same(kvpv_blocks(owner, 0, KVP_BLOCK_FREE), 24);
	kvpv_ok(kvpv_table(reader, create.seq, 0, blocks, 4, NULL));
	nr = kvpv_dump(owner, 0, entries, 32);
	for (i = 0; i < nr; i++) {
		if (entries[i].state != KVP_BLOCK_HELD)
			continue;
		kvpv_same(entries[i].count, 1);
		kvpv_true(entries[i].block == blocks[0] || entries[i].block == blocks[1] ||
			  entries[i].block == blocks[2] || entries[i].block == blocks[3]);
		held++;
	}
	kvpv_same(held, 4);
	kvpv_ok(kvpv_stats(owner, me, 0, &stats, NULL, 0));
	kvpv_same(stats.seqs, 1);
	kvpv_audit(owner);
	kvpv_ok(kvpv_free(reader, create.seq));
	kvpv_same(kvpv_matched(owner, SPACE, tokens, 32), 32);
	kvpv_audit(owner);
}

/* ---- H2: a release in which one dies does not hang the others ---- */

#define FREERS	4
#define SEQS	100

static void h2_freer(int socket, void *arg)
{
	u64 seqs[SEQS], client;
	int fd = mapped(&client);
	u32 i;

	for (i = 0; i < SEQS; i++)
		kvpv_ok(kvpv_seq(fd, SPACE, tokens, 32, &seqs[i], NULL));
	kvpv_send(socket, client);
	kvpv_recv(socket);
	for (i = 0; i < SEQS; i++) {
		kvpv_ok(kvpv_free(fd, seqs[i]));
		if (!i)
			kvpv_send(socket, 1);
	}
	kvpv_send(socket, 2);
	kvpv_recv(socket);
}

static void h2_freer_dies(void)
{
	int fd = kvpv_pool(POOL, 32), socket[FREERS];
	u64 client[FREERS], begin, seq;
	pid_t pid[FREERS];
	u32 i;

	tokens_begin();
	seq = kvpv_published(fd, SPACE, tokens, 32);
	for (i = 0; i < FREERS; i++)
		pid[i] = kvpv_fork(h2_freer, NULL, &socket[i]);
	for (i = 0; i < FREERS; i++)
		client[i] = kvpv_recv(socket[i]);
	begin = kvpv_now_ms();
	for (i = 0; i < FREERS; i++)
		kvpv_send(socket[i], 1);
	kvpv_same(kvpv_recv(socket[0]), 1);
	kvpv_kill(pid[0]);
	for (i = 1; i < FREERS; i++) {
		kvpv_same(kvpv_recv(socket[i]), 1);
		kvpv_same(kvpv_recv(socket[i]), 2);
	}
	kvpv_until(KVPV_WAIT_MS, kvpv_client_gone(fd, client[0]));
	kvpv_true(kvpv_now_ms() - begin < KVPV_WAIT_MS);
	kvpv_audit(fd);
	for (i = 1; i < FREERS; i++) {
		kvpv_send(socket[i], 1);
		kvpv_wait_done(pid[i]);
	}
	kvpv_ok(kvpv_free(fd, seq));
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_IDLE), 8);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_HELD), 0);
	kvpv_audit(fd);
}

/* ---- H3: nothing of a killed process is shown, or left in /dev/shm ---- */

static u32 files_in(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	u32 nr = 0;

	kvpv_true(directory);
	while ((entry = readdir(directory)))
		nr += entry->d_name[0] != '.';
	closedir(directory);
	return nr;
}

static void h3_owner(int socket, void *arg)
{
	int memory = kvpv_sys(memfd_create("rows", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	struct kvp_backing add = { .fd = memory, .kind = KVP_BACKING_MEMFD, .length = 4096 };
	int fd = kvpv_pool(POOL, 4);

	kvpv_true(kvpv_map_timelines(fd) != MAP_FAILED);
	kvpv_sys(ftruncate(memory, 4096));
	kvpv_sys(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
	kvpv_ok(kvpv_do(fd, KVP_OP_BACKING_ADD, &add));
	kvpv_send(socket, 1);
	wait_for_end();
}

static void h3_nothing_left(void)
{
	u32 was = files_in("/dev/shm");
	int socket;
	pid_t pid = kvpv_fork(h3_owner, NULL, &socket);
	char *text;

	kvpv_recv(socket);
	kvpv_true(pool_listed(POOL));
	kvpv_kill(pid);
	printf("not listed after %llu ms\n",
	       (unsigned long long)kvpv_until(KVPV_WAIT_MS, !pool_listed(POOL)));
	kvpv_same(files_in("/dev/shm"), was);
	text = kvpv_debugfs_text();
	kvpv_true(!strstr(text, POOL));
	free(text);
	kvpv_until(KVPV_WAIT_MS, !kvpv_module_uses());
}

/* ---- J5: a tenant over its quota takes nothing of the others ---- */

static void j5_over_quota(void)
{
	static const struct kvp_family_desc dense = KVPV_DENSE(16, 4);
	int root = kvpv_open(), tenant = kvpv_open_as(1234, 1234), other = kvpv_open_as(1235, 1235);
	u64 seq, blocks[8];

	tokens_begin();
	kvpv_ok(kvpv_create(root, POOL, 0666, 0, &dense, 1));
	kvpv_ok(kvpv_attach(tenant, POOL, 0, NULL));
	kvpv_ok(kvpv_attach(other, POOL, 0, NULL));
	kvpv_ok(kvpv_limit(root, (struct kvp_limit){ .head.flags = KVP_LIMIT_OF_UID,
			   .client = 1234, .mask = KVP_LIMIT_BLOCKS, .blocks = 6 }));
	kvpv_ok(kvpv_limit(root, (struct kvp_limit){ .client = kvpv_self(other),
			   .mask = KVP_LIMIT_GUARANTEE, .guarantee = 2 }));
	/* Both have published; it is idle, the others' for longer than the tenant's. */
	kvpv_ok(kvpv_free(other, kvpv_published(other, SPACE + 1, tokens, 32)));
	kvpv_ok(kvpv_free(tenant, kvpv_published(tenant, SPACE, tokens, 16)));
	kvpv_same(kvpv_blocks(root, 0, KVP_BLOCK_IDLE), 12);

	/* Up to its quota; then it is refused, and nobody's memory is taken for it. */
	kvpv_ok(kvpv_alloc(tenant, 0, 4, blocks));
	kvpv_ok(kvpv_seq(tenant, SPACE, tokens, 8, &seq, NULL));
	kvpv_expect(kvpv_alloc(tenant, 0, 1, blocks + 4), -EDQUOT, KVP_REASON_LIMIT_BLOCKS);
	kvpv_same(kvpv_head.where, KVP_WHERE_UID);
	kvpv_expect(kvpv_append(tenant, seq, tokens + 32, 8), -EDQUOT, KVP_REASON_LIMIT_BLOCKS);
	kvpv_same(kvpv_matched(root, SPACE + 1, tokens, 32), 32);
	kvpv_same(kvpv_matched(root, SPACE, tokens, 16), 16);
	kvpv_same(kvpv_blocks(root, 0, KVP_BLOCK_IDLE), 10);
	kvpv_audit(root);

	/* What it lets go is the first that comes back to it. */
	kvpv_ok(kvpv_unref(tenant, blocks, 4));
	kvpv_ok(kvpv_alloc(tenant, 0, 4, blocks));
	kvpv_same(kvpv_matched(root, SPACE + 1, tokens, 32), 32);
	/* And the others' guarantee is theirs. */
	kvpv_ok(kvpv_alloc(other, 0, 2, blocks + 4));
	kvpv_audit(root);
}

static const struct kvpv_test tests[] = {
	KVPV_TEST(a1_dead_peer),
	KVPV_TEST(a11_dies_before_publish),
	KVPV_TEST(a12_owner_restarts),
	KVPV_TEST(a16_dies_at_once),
	KVPV_TEST(g5_five_for_one),
	KVPV_TEST(g7_budgets),
	KVPV_TEST(h1_peer_dies),
	KVPV_TEST(h2_freer_dies),
	KVPV_TEST(h3_nothing_left),
	KVPV_TEST(j5_over_quota),
};

int main(int argc, char **argv)
{
	return kvpv_run(tests, KVPV_COUNT(tests), argc, argv);
}

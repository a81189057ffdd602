// SPDX-License-Identifier: MIT
/*
 * What becomes of the blocks of a client that dies while its work may still touch them: whoever
 * else has its descriptor, its page or its exports, they come back after the grace time and not
 * before; in a strict pool after KVP_OP_REAP.
 *
 * The module is loaded with mode=0666; one test loads it anew.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define POOL	"quarantine"
#define SPACE	1
#define GRACE_MS (600 * kvpv_slow())
/* After the grace time, on a machine that others keep busy. */
#define LATE_MS	(3000 * kvpv_slow())
#define BLOCKS	8

static u32 tokens[8];

static int begin(u32 flags, u32 grace_ms)
{
	const struct kvp_family_desc dense = KVPV_DENSE(BLOCKS, 4);

	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
	return kvpv_fenced_pool(POOL, flags, grace_ms, &dense, 1);
}

/* ---- clients that die ---- */

/* What a client with open uses holds: two blocks that work writes, one raw, one without work. */
static u64 open_work(int fd, u32 timeline)
{
	u64 raw[2], seq;

	kvpv_ok(kvpv_seq(fd, SPACE, tokens, 8, &seq, NULL));
	kvpv_ok(kvpv_write_seq(fd, seq, timeline, 1, 0, 8));
	kvpv_ok(kvpv_alloc(fd, 0, 2, raw));
	kvpv_ok(kvpv_use_block(fd, raw[0], timeline, 1));
	return seq;
}

#define AT_WORK		3	/* blocks that the work may touch */
#define WITHOUT		1

static int mapped(struct kvp_timeline **page, u64 *client)
{
	int fd = kvpv_open();

	*page = kvpv_map_timelines(fd);
	kvpv_true(*page != MAP_FAILED);
	kvpv_ok(kvpv_attach(fd, POOL, 0, client));
	return fd;
}

static void wait_for_end(void) __attribute__((noreturn));
static void wait_for_end(void)
{
	for (;;)
		pause();
}

static void worker(int socket, void *arg)
{
	struct kvp_timeline *page;
	u64 client;
	int fd = mapped(&page, &client);

	open_work(fd, kvpv_timeline(fd));
	kvpv_send(socket, client);
	kvpv_send_fd(socket, fd);
	wait_for_end();
}

/* ---- what is expected ---- */

static struct kvp_client_entry entry_of(int fd, u64 client)
{
	struct kvp_client_entry entry;

	kvpv_true(kvpv_find_client(fd, client, &entry));
	return entry;
}

/* What needs no fence came back when the client died; the rest waits, and is shown. */
static void expect_quarantine(int fd, u64 client, bool strict)
{
	struct kvp_block_entry blocks[BLOCKS];
	struct kvp_client_entry entry = entry_of(fd, client);
	struct kvp_stats stats = kvpv_pool_stats(fd);
	char line[128], *text, *found;
	u32 i, nr = 0;
	u64 own;

	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_HELD_BACK), AT_WORK);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_FREE), BLOCKS - AT_WORK);
	kvpv_same(stats.quarantined, 1);
	kvpv_true(entry.flags & KVP_CLIENT_DEAD);
	kvpv_same(entry.held_back, AT_WORK);
	if (strict)
		kvpv_same(entry.grace_ns, KVP_UNLIMITED);
	else
		kvpv_true(entry.grace_ns && entry.grace_ns <= GRACE_MS * 1000000ULL);
	kvpv_same(kvpv_dump(fd, 0, blocks, BLOCKS), BLOCKS);
	for (i = 0; i < BLOCKS; i++) {
		if (blocks[i].state == KVP_BLOCK_FREE)
			continue;
		kvpv_same(blocks[i].state, KVP_BLOCK_HELD_BACK);
		kvpv_same(blocks[i].why, KVP_WHY_QUARANTINE);
		kvpv_same(blocks[i].client, client);
		kvpv_same(blocks[i].held_back, blocks[i].count);
		nr++;
	}
	kvpv_same(nr, AT_WORK);
	text = kvpv_debugfs_text();
	snprintf(line, sizeof(line), "client=%llu kind=quarantine ", (unsigned long long)client);
	found = strstr(text, line);
	kvpv_true(found);
	*strchrnul(found, '\n') = '\0';
	snprintf(line, sizeof(line), " held-back=%u ", AT_WORK);
	kvpv_true(strstr(found, line));
	kvpv_true(strstr(found, strict ? " grace_ms=reap " : " grace_ms="));
	free(text);
	kvpv_audit(fd);
	/* Nobody gets them. */
	for (i = 0; i < BLOCKS - AT_WORK; i++)
		kvpv_ok(kvpv_alloc(fd, 0, 1, &own));
	kvpv_expect(kvpv_alloc(fd, 0, 1, &own), -ENOSPC, KVP_REASON_HELD_BACK);
}

/* Dead, whatever else there is of it; and shown so. */
static void until_dead(int fd, u64 client)
{
	kvpv_until(KVPV_WAIT_MS, entry_of(fd, client).flags & KVP_CLIENT_DEAD);
}

/*
 * They come back when the grace time is over, and nobody has to call for it: only a page is
 * looked at. @died: a moment not after the death, ms.
 */
static void expect_grace(int fd, u64 died)
{
	const volatile struct kvp_counters_page *page = kvpv_map_counters(fd);
	u64 took;

	kvpv_true(page != MAP_FAILED);
	while (page->state[0][KVP_BLOCK_HELD_BACK]) {
		if (kvpv_now_ms() - died > GRACE_MS + LATE_MS)
			kvpv_fail("%llu ms after the death %llu blocks are held back",
				  (unsigned long long)(kvpv_now_ms() - died),
				  (unsigned long long)page->state[0][KVP_BLOCK_HELD_BACK]);
		kvpv_sleep_ms(1);
	}
	took = kvpv_now_ms() - died;
	printf("free %llu ms after the death, grace time %u ms\n", (unsigned long long)took,
	       GRACE_MS);
	kvpv_true(took >= GRACE_MS);
	kvpv_sys(munmap((void *)page, KVP_PAGE_BYTES));
}

static void expect_nothing_left(int fd, u64 client)
{
	struct kvp_stats stats;

	kvpv_until(KVPV_WAIT_MS, kvpv_client_gone(fd, client));
	stats = kvpv_pool_stats(fd);
	kvpv_same(stats.quarantined, 0);
	kvpv_same(stats.zombies, 0);
	kvpv_same(stats.uses, 0);
	kvpv_audit(fd);
}

static int dead_call(int fd)
{
	struct kvp_stats stats;

	return kvpv_stats(fd, KVP_STATS_SELF, 0, &stats, NULL, 0);
}

static void expect_dead(int fd)
{
	struct kvp_query query;

	kvpv_expect(dead_call(fd), -EOWNERDEAD, KVP_REASON_CLIENT_DEAD);
	kvpv_expect(kvpv_signal(fd, 0, 1), -EOWNERDEAD, KVP_REASON_CLIENT_DEAD);
	kvpv_expect(kvpv_query(fd, 0, NULL, 0, &query), -EOWNERDEAD, KVP_REASON_CLIENT_DEAD);
}

/* ---- the ways to die ---- */

/* SIGKILL, while this process still has the client's descriptor. */
static void killed(void)
{
	int fd = begin(0, GRACE_MS), socket, copy;
	pid_t pid = kvpv_fork(worker, NULL, &socket);
	u64 client = kvpv_recv(socket), died;

	copy = kvpv_recv_fd(socket);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_HELD), AT_WORK + WITHOUT);
	died = kvpv_now_ms();
	kvpv_kill(pid);
	until_dead(fd, client);
	expect_dead(copy);
	expect_quarantine(fd, client, false);
	expect_grace(fd, died);
	expect_nothing_left(fd, client);
	expect_dead(copy);
}

/* The end of the mapping is first; the last close, in the quarantine or after it, adds nothing. */
static void unmapped_then_closed(void)
{
	int fd = begin(0, GRACE_MS), member;
	struct kvp_timeline *page;
	u64 client, died;

	member = mapped(&page, &client);
	open_work(member, kvpv_timeline(member));
	died = kvpv_now_ms();
	kvpv_sys(munmap(page, KVP_PAGE_BYTES));
	expect_dead(member);
	until_dead(fd, client);
	kvpv_sleep_ms(GRACE_MS / 4);
	close(member);
	expect_quarantine(fd, client, false);
	expect_grace(fd, died);
	expect_nothing_left(fd, client);
}

/* Who signals only needs no mapping: the last close is the end. */
static void closed_unmapped(void)
{
	int fd = begin(0, GRACE_MS), member = kvpv_open(), twice;
	u64 client, died;

	kvpv_ok(kvpv_attach(member, POOL, 0, &client));
	open_work(member, kvpv_timeline(member));
	twice = kvpv_sys(dup(member));
	close(member);
	kvpv_sleep_ms(GRACE_MS / 4);
	kvpv_same(kvpv_pool_stats(fd).quarantined, 0);
	died = kvpv_now_ms();
	close(twice);
	until_dead(fd, client);
	expect_quarantine(fd, client, false);
	expect_grace(fd, died);
	expect_nothing_left(fd, client);
}

static void forking_worker(int socket, void *arg)
{
	struct kvp_timeline *page;
	u64 client;
	int fd = mapped(&page, &client);
	bool inherited;
	pid_t pid;

	open_work(fd, kvpv_timeline(fd));
	/* Newer kernels let no mapping be inherited whose driver said no. */
	inherited = !madvise(page, KVP_PAGE_BYTES, MADV_DOFORK);
	if (!inherited)
		kvpv_same(errno, EINVAL);
	pid = kvpv_sys(fork());
	if (pid) {
		kvpv_send(socket, client);
		wait_for_end();
	}
	/* The child is told when its parent is dead, and whenever it is to try once more. */
	while (kvpv_recv(socket)) {
		expect_dead(fd);
		if (inherited) {
			kvpv_store(page, 0, 1);
			kvpv_same(page[0].value, 1);
		}
		kvpv_send(socket, 0);
	}
}

/*
 * A child has descriptor and page: it keeps nothing alive, what it writes there is not read any
 * more, and the page stays when the client is gone.
 */
static void child_keeps_all(void)
{
	int fd = begin(0, GRACE_MS), socket;
	pid_t pid = kvpv_fork(forking_worker, NULL, &socket);
	u64 client = kvpv_recv(socket), died;

	died = kvpv_now_ms();
	kvpv_kill(pid);
	until_dead(fd, client);
	kvpv_send(socket, 1);
	kvpv_same(kvpv_recv(socket), 0);
	expect_quarantine(fd, client, false);
	expect_grace(fd, died);
	expect_nothing_left(fd, client);
	kvpv_send(socket, 1);
	kvpv_same(kvpv_recv(socket), 0);
	kvpv_send(socket, 0);
}

/* Each has a grace time of its own, from its own death on. */
static void one_after_the_other(void)
{
	const struct kvp_family_desc dense = KVPV_DENSE(4 * BLOCKS, 4);
	u64 client[3], died[3];
	struct kvp_stats stats;
	int fd, socket[3];
	pid_t pid[3];
	u32 i;

	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
	fd = kvpv_fenced_pool(POOL, 0, GRACE_MS, &dense, 1);
	for (i = 0; i < 3; i++) {
		pid[i] = kvpv_fork(worker, NULL, &socket[i]);
		client[i] = kvpv_recv(socket[i]);
	}
	for (i = 0; i < 3; i++) {
		died[i] = kvpv_now_ms();
		kvpv_kill(pid[i]);
		until_dead(fd, client[i]);
		kvpv_sleep_ms(GRACE_MS / 4);
	}
	for (i = 0; i < 3; i++) {
		kvpv_until(GRACE_MS + LATE_MS, kvpv_client_gone(fd, client[i]));
		kvpv_true(kvpv_now_ms() - died[i] >= GRACE_MS);
		stats = kvpv_pool_stats(fd);
		kvpv_true(stats.quarantined <= 2 - i);
	}
	expect_nothing_left(fd, client[2]);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_FREE), 4 * BLOCKS);
}

/* ---- a strict pool ---- */

static int kvctl_reap(void)
{
	int status = kvpv_sys(system("kvctl reap " POOL " --all"));

	return WEXITSTATUS(status);
}

static void strict_waits_for_reap(void)
{
	int fd = begin(KVP_POOL_STRICT, 0), other, socket, copy;
	pid_t pid = kvpv_fork(worker, NULL, &socket);
	u64 client = kvpv_recv(socket), blocks;
	u32 clients;

	copy = kvpv_recv_fd(socket);
	kvpv_expect(kvpv_reap(fd, client, NULL, NULL), -ENOENT, KVP_REASON_NO_CLIENT);
	kvpv_kill(pid);
	until_dead(fd, client);
	expect_dead(copy);
	close(copy);
	/* Far beyond any grace time of this program, and of pools that say nothing. */
	kvpv_sleep_ms(KVP_GRACE_MS + 5 * GRACE_MS);
	expect_quarantine(fd, client, true);
	other = kvpv_open_as(1234, 1234);
	kvpv_ok(kvpv_attach(other, POOL, 0, NULL));
	kvpv_expect(kvpv_reap(other, client, NULL, NULL), -EACCES, KVP_REASON_RIGHT_ADMIN);
	kvpv_expect(kvpv_reap(fd, client + 1000, NULL, NULL), -ENOENT, KVP_REASON_NO_CLIENT);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_HELD_BACK), AT_WORK);
	kvpv_ok(kvpv_reap(fd, client, &clients, &blocks));
	kvpv_same(clients, 1);
	kvpv_true(blocks >= AT_WORK);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_FREE), AT_WORK);
	expect_nothing_left(fd, client);
	kvpv_expect(kvpv_reap(fd, client, NULL, NULL), -ENOENT, KVP_REASON_NO_CLIENT);
	/* None is no error, if none in particular was meant. */
	kvpv_ok(kvpv_reap(fd, 0, &clients, &blocks));
	kvpv_same(clients, 0);
}

static void reaped_by_kvctl(void)
{
	int fd = begin(KVP_POOL_STRICT, 0), socket;
	pid_t pid = kvpv_fork(worker, NULL, &socket);
	u64 client = kvpv_recv(socket);

	kvpv_kill(pid);
	until_dead(fd, client);
	kvpv_sleep_ms(GRACE_MS);
	expect_quarantine(fd, client, true);
	kvpv_same(kvctl_reap(), 0);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_FREE), AT_WORK);
	expect_nothing_left(fd, client);
}

/* ---- who waits for them ---- */

static void ticket_gets_them(void)
{
	int fd = begin(0, GRACE_MS), waiter = kvpv_join(POOL), socket;
	struct pollfd poll_fd = { .fd = waiter, .events = POLLIN };
	pid_t pid = kvpv_fork(worker, NULL, &socket);
	u64 client = kvpv_recv(socket), ticket, died, took, blocks[BLOCKS];

	died = kvpv_now_ms();
	kvpv_kill(pid);
	until_dead(fd, client);
	ticket = kvpv_queue(waiter, 0, BLOCKS, 0);
	kvpv_same(kvpv_sys(poll(&poll_fd, 1, KVPV_WAIT_MS)), 1);
	took = kvpv_now_ms() - died;
	kvpv_same(poll_fd.revents, POLLIN);
	printf("granted %llu ms after the death, grace time %u ms\n", (unsigned long long)took,
	       GRACE_MS);
	kvpv_true(took >= GRACE_MS && took < GRACE_MS + LATE_MS);
	kvpv_ok(kvpv_ticket(waiter, KVP_ADMIT_TAKE, ticket));
	kvpv_ok(kvpv_alloc(waiter, 0, BLOCKS, blocks));
	expect_nothing_left(fd, client);
}

/* ---- exports ---- */

static void exporter(int socket, void *arg)
{
	struct kvp_timeline *page;
	int fd, file;
	u64 client;

	fd = mapped(&page, &client);
	kvpv_ok(kvpv_export(fd, open_work(fd, kvpv_timeline(fd)), &file, NULL));
	kvpv_send(socket, client);
	kvpv_send_fd(socket, file);
	wait_for_end();
}

/* Whose maker died while its rows were being written: suspect for ever. */
static void export_is_suspect(void)
{
	int fd = begin(0, GRACE_MS), socket, file;
	pid_t pid = kvpv_fork(exporter, NULL, &socket);
	u64 client = kvpv_recv(socket), died, seq, nr;

	file = kvpv_recv_fd(socket);
	kvpv_expect(kvpv_import(fd, file, &seq, &nr), -EBUSY, KVP_REASON_FENCE_OPEN);
	died = kvpv_now_ms();
	kvpv_kill(pid);
	until_dead(fd, client);
	kvpv_expect(kvpv_import(fd, file, &seq, &nr), -EOWNERDEAD, KVP_REASON_MAKER_DEAD);
	kvpv_until(GRACE_MS + LATE_MS, !kvpv_pool_stats(fd).quarantined);
	kvpv_true(kvpv_now_ms() - died >= GRACE_MS);
	kvpv_expect(kvpv_import(fd, file, &seq, &nr), -EOWNERDEAD, KVP_REASON_MAKER_DEAD);
	close(file);
	kvpv_until(KVPV_WAIT_MS, kvpv_client_gone(fd, client));
	kvpv_until(KVPV_WAIT_MS, kvpv_blocks(fd, 0, KVP_BLOCK_FREE) == BLOCKS);
	expect_nothing_left(fd, client);
}

/* ---- the end of the pool, and of the module ---- */

static void owner_worker(int socket, void *arg)
{
	int fd = begin(*(u32 *)arg, *(u32 *)arg & KVP_POOL_STRICT ? 0 : 60000);

	kvpv_true(kvpv_map_timelines(fd) != MAP_FAILED);
	open_work(fd, kvpv_timeline(fd));
	kvpv_send(socket, 1);
	wait_for_end();
}

/* Without a living client the pool ends at once, be its grace time a minute. */
static void last_one_takes_the_pool(void)
{
	const u32 flags[2] = { 0, KVP_POOL_STRICT };
	u32 i;

	for (i = 0; i < 2; i++) {
		int socket;
		pid_t pid = kvpv_fork(owner_worker, (void *)&flags[i], &socket);

		kvpv_recv(socket);
		kvpv_kill(pid);
		kvpv_until(KVPV_WAIT_MS, !kvpv_module_uses());
		close(socket);
	}
}

/* A pool that persists keeps them for as long, though nobody is there, and gives them back. */
static void persistent_keeps_grace(void)
{
	const u32 flags = KVP_POOL_PERSISTENT;
	int fd = begin(flags, GRACE_MS), socket;
	pid_t pid = kvpv_fork(worker, NULL, &socket);
	u64 client = kvpv_recv(socket), died = kvpv_now_ms();

	kvpv_kill(pid);
	close(socket);
	until_dead(fd, client);
	close(fd);
	fd = kvpv_join(POOL);
	if (kvpv_now_ms() - died < GRACE_MS)
		kvpv_same(kvpv_pool_stats(fd).quarantined, 1);
	close(fd);
	kvpv_sleep_ms(GRACE_MS + 500);
	fd = kvpv_join(POOL);
	expect_nothing_left(fd, client);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_FREE), BLOCKS);
	kvpv_ok(kvpv_destroy(fd, POOL, 0));
}

/* The module goes while its timer is set for the end of a quarantine that is no more. */
static void unload_in_quarantine(void)
{
	const u32 flags = KVP_POOL_PERSISTENT;
	int fd, socket;
	u64 client;
	pid_t pid;
	u32 i;

	for (i = 0; i < 3; i++) {
		fd = begin(flags, GRACE_MS);
		pid = kvpv_fork(worker, NULL, &socket);
		client = kvpv_recv(socket);
		kvpv_kill(pid);
		close(socket);
		until_dead(fd, client);
		kvpv_ok(kvpv_destroy(fd, POOL, 0));
		close(fd);
		kvpv_until(KVPV_WAIT_MS, !kvpv_module_uses());
		kvpv_rmmod("kvpool");
		if (i)
			kvpv_sleep_ms(GRACE_MS);
		kvpv_insmod("kvpool", "mode=0666");
		kvpv_until(KVPV_WAIT_MS, !access(KVPV_DEVICE, R_OK | W_OK));
	}
}

static const struct kvpv_test tests[] = {
	KVPV_TEST(killed),
	KVPV_TEST(unmapped_then_closed),
	KVPV_TEST(closed_unmapped),
	KVPV_TEST(child_keeps_all),
	KVPV_TEST(one_after_the_other),
	KVPV_TEST(strict_waits_for_reap),
	KVPV_TEST(reaped_by_kvctl),
	KVPV_TEST(ticket_gets_them),
	KVPV_TEST(export_is_suspect),
	KVPV_TEST(last_one_takes_the_pool),
	KVPV_TEST(persistent_keeps_grace),
	KVPV_TEST(unload_in_quarantine),
};

int main(int argc, char **argv)
{
	return kvpv_run(tests, KVPV_COUNT(tests), argc, argv);
}

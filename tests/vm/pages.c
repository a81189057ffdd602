// SPDX-License-Identifier: MIT
/*
 * The two pages that a client may map, what the end of a mapping means, the last close of a
 * client that never mapped, and poll.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define POOL	"pages"
#define PAGE	KVP_PAGE_BYTES

static u32 tokens[8];

static int stats_of_self(int fd)
{
	struct kvp_stats stats;

	return kvpv_stats(fd, KVP_STATS_SELF, 0, &stats, NULL, 0);
}

static int polled(int fd, int ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	kvpv_sys(poll(&poll_fd, 1, ms));
	return poll_fd.revents;
}

static void expect_dead(int fd)
{
	struct kvp_batch_entry entry = {};
	struct kvp_batch batch = { .entries = kvpv_ptr(&entry), .nr_entries = 1 };
	struct kvp_pool_info info = {};
	u64 block;

	kvpv_expect(stats_of_self(fd), -EOWNERDEAD, KVP_REASON_CLIENT_DEAD);
	kvpv_expect(kvpv_alloc(fd, 0, 1, &block), -EOWNERDEAD, KVP_REASON_CLIENT_DEAD);
	kvpv_expect(kvpv_do(fd, KVP_OP_BATCH, &batch), -EOWNERDEAD, KVP_REASON_CLIENT_DEAD);
	kvpv_expect(kvpv_do(fd, KVP_OP_POOL_INFO, &info), -EOWNERDEAD, KVP_REASON_CLIENT_DEAD);
}

/* A client with its timelines mapped, which holds one block. */
static int mapped_member(void **page, u64 *client)
{
	int fd = kvpv_open();
	u64 block;

	*page = kvpv_map_timelines(fd);
	if (*page == MAP_FAILED)
		kvpv_fail("mmap of the timelines: %s", strerror(errno));
	kvpv_ok(kvpv_attach(fd, POOL, 0, client));
	kvpv_ok(kvpv_alloc(fd, 0, 1, &block));
	return fd;
}

static void expect_left(int watcher, u64 client)
{
	kvpv_until(KVPV_WAIT_MS, kvpv_client_gone(watcher, client));
	kvpv_until(KVPV_WAIT_MS, !kvpv_blocks(watcher, 0, KVP_BLOCK_HELD));
	kvpv_audit(watcher);
}

/* ---- the timelines ---- */

static void timelines_page(void)
{
	int fd = kvpv_open(), other = kvpv_open();
	volatile struct kvp_timeline *mine, *others;
	u32 i;

	kvpv_same(sizeof(struct kvp_timeline), 64);
	mine = kvpv_map_timelines(fd);
	others = kvpv_map_timelines(other);
	kvpv_true(mine != MAP_FAILED && others != MAP_FAILED);
	for (i = 0; i < KVP_NR_TIMELINES; i++) {
		kvpv_same(mine[i].value, 0);
		mine[i].value = i + 1;
	}
	/* Each client has its own. */
	for (i = 0; i < KVP_NR_TIMELINES; i++) {
		kvpv_same(mine[i].value, i + 1);
		kvpv_same(others[i].value, 0);
	}
}

/* What a call writes, and what a store writes, is one page, mapped before or after. */
static void timelines_are_shared(void)
{
	int fd = kvpv_pool(POOL, 4);
	struct kvp_timeline *page;
	struct kvp_fence fence;
	struct kvp_query query;
	u64 seq;
	u32 i;

	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
	kvpv_ok(kvpv_seq(fd, 1, tokens, 4, &seq, NULL));
	for (i = 0; i < KVP_NR_TIMELINES; i++) {
		struct kvp_timeline_create create = {};

		kvpv_ok(kvpv_do(fd, KVP_OP_TIMELINE_CREATE, &create));
		kvpv_same(create.timeline, i);
		kvpv_ok(kvpv_use_seq(fd, seq, i, 10 + i));
		kvpv_ok(kvpv_signal(fd, i, 3 + i));
	}
	page = kvpv_map_timelines(fd);
	kvpv_true(page != MAP_FAILED);
	for (i = 0; i < KVP_NR_TIMELINES; i++) {
		kvpv_same(page[i].value, 3 + i);
		kvpv_store(page, i, 10 + i);
		fence = (struct kvp_fence){ .timeline = i, .value = 10 + i };
		kvpv_ok(kvpv_query(fd, 0, &fence, 1, &query));
		kvpv_same(fence.seen, 10 + i);
		kvpv_same(fence.announced, 10 + i);
		kvpv_same(fence.passed, 1);
	}
	kvpv_same(query.jumps + query.backwards, 0);
	kvpv_ok(kvpv_use_seq(fd, seq, 63, 99));
	kvpv_ok(kvpv_signal(fd, 63, 98));
	kvpv_same(page[63].value, 98);
}

#define expect_no_map(fd, err, length, prot, flags, offset)			\
	kvpv_refused(mmap(NULL, length, prot, flags, fd, offset), err)

static void mapping_refused(void)
{
	const int rw = PROT_READ | PROT_WRITE;
	int fd = kvpv_pool(POOL, 4);
	void *page;

	expect_no_map(fd, EINVAL, 2 * PAGE, rw, MAP_SHARED, KVP_MMAP_TIMELINES);
	expect_no_map(fd, EINVAL, PAGE, rw, MAP_SHARED, KVP_MMAP_TIMELINES + PAGE);
	expect_no_map(fd, EINVAL, PAGE, rw, MAP_PRIVATE, KVP_MMAP_TIMELINES);
	expect_no_map(fd, EINVAL, PAGE, PROT_READ, MAP_SHARED, KVP_MMAP_COUNTERS + PAGE);
	expect_no_map(fd, EINVAL, PAGE, PROT_READ, MAP_SHARED, KVP_MMAP_COUNTERS - PAGE);
	expect_no_map(fd, EINVAL, 2 * PAGE, PROT_READ, MAP_SHARED, KVP_MMAP_COUNTERS);
	expect_no_map(fd, EINVAL, PAGE, PROT_READ, MAP_SHARED, 1ULL << 40);
	kvpv_ok(stats_of_self(fd));
	page = kvpv_map_timelines(fd);
	kvpv_true(page != MAP_FAILED);
	expect_no_map(fd, EBUSY, PAGE, rw, MAP_SHARED, KVP_MMAP_TIMELINES);
	kvpv_ok(stats_of_self(fd));
}

static void munmap_is_death(void)
{
	int watcher = kvpv_pool(POOL, 4);
	void *page;
	u64 client;
	int fd = mapped_member(&page, &client);

	kvpv_same(kvpv_blocks(watcher, 0, KVP_BLOCK_HELD), 1);
	kvpv_sys(munmap(page, PAGE));
	expect_dead(fd);
	expect_left(watcher, client);
	/* It does not come back. */
	kvpv_refused(kvpv_map_timelines(fd), EOWNERDEAD);
	kvpv_true(polled(fd, 0) & POLLERR);
	kvpv_expect(kvpv_attach(fd, POOL, 0, NULL), -EOWNERDEAD, KVP_REASON_CLIENT_DEAD);
	close(fd);
	kvpv_audit(watcher);
}

/* The page is moved, or something else is mapped over it. */
static void mremap_is_not(void)
{
	int watcher = kvpv_pool(POOL, 4);
	struct kvp_timeline *page, *moved;
	void *room, *over;
	u64 client;
	int fd = mapped_member((void **)&page, &client);

	page[3].value = 77;
	room = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	moved = mremap(page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room);
	kvpv_true(moved == room);
	kvpv_same(moved[3].value, 77);
	kvpv_ok(stats_of_self(fd));
	kvpv_true(mremap(moved, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	kvpv_true(mremap(moved, 0, PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	kvpv_ok(stats_of_self(fd));
	kvpv_same(kvpv_blocks(watcher, 0, KVP_BLOCK_HELD), 1);
	kvpv_sys(mprotect(moved, PAGE, PROT_READ));
	kvpv_sys(mprotect(moved, PAGE, PROT_READ | PROT_WRITE));
	kvpv_ok(stats_of_self(fd));
	over = mmap(moved, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	kvpv_true(over == moved);
	expect_dead(fd);
	expect_left(watcher, client);
}

static void forking_mapper(int socket, void *arg)
{
	const int *advice = arg;
	void *page;
	u64 client;
	pid_t pid;

	mapped_member(&page, &client);
	if (*advice)
		madvise(page, PAGE, *advice);
	kvpv_send(socket, client);
	pid = kvpv_sys(fork());
	kvpv_send(socket, pid ? (u64)pid : 0);
	for (;;)
		pause();
}

/* A child has the descriptor, and the mapping if it can; its parent's end is the client's. */
static void fork_does_not_keep(int advice)
{
	int watcher = kvpv_pool(POOL, 4);
	u64 client, child, zero;
	int socket;
	pid_t pid;

	pid = kvpv_fork(forking_mapper, &advice, &socket);
	client = kvpv_recv(socket);
	child = kvpv_recv(socket);
	zero = kvpv_recv(socket);
	child += zero;
	kvpv_same(kvpv_blocks(watcher, 0, KVP_BLOCK_HELD), 1);
	kvpv_kill(pid);
	expect_left(watcher, client);
	kvpv_sys(kill((pid_t)child, SIGKILL));
}

static void fork_does_not_inherit(void)
{
	fork_does_not_keep(0);
}

static void madv_dofork_does_not_inherit(void)
{
	fork_does_not_keep(MADV_DOFORK);
}

/* An O_DIRECT read needs the pages of its target pinned. */
static void timelines_can_be_pinned(void)
{
	static char text[PAGE] __attribute__((aligned(PAGE)));
	int watcher = kvpv_pool(POOL, 4);
	char *page, *counters;
	u64 client;
	int fd = mapped_member((void **)&page, &client);
	int disk;

	kvpv_insmod("brd", "rd_nr=1 rd_size=64");
	kvpv_until(KVPV_WAIT_MS, !access("/dev/ram0", R_OK | W_OK));
	memset(text, 'k', sizeof(text));
	disk = kvpv_sys(open("/dev/ram0", O_RDWR | O_DIRECT | O_CLOEXEC));
	kvpv_same(kvpv_sys(pwrite(disk, text, PAGE, 0)), PAGE);
	/* It is direct: places are whole sectors, and memory must be writable. */
	kvpv_refused(pread(disk, text, PAGE, 1), EINVAL);
	counters = kvpv_map_counters(watcher);
	kvpv_true(counters != MAP_FAILED);
	kvpv_refused(pread(disk, counters, PAGE, 0), EFAULT);
	kvpv_same(kvpv_sys(pread(disk, page, PAGE, 0)), PAGE);
	kvpv_true(!memcmp(page, text, PAGE));
	memset(page, 'l', PAGE);
	kvpv_same(kvpv_sys(pwrite(disk, page, PAGE, 0)), PAGE);
	kvpv_same(kvpv_sys(pread(disk, text, PAGE, 0)), PAGE);
	kvpv_true(!memcmp(page, text, PAGE));
	close(disk);
	kvpv_rmmod("brd");
	kvpv_ok(stats_of_self(fd));
	close(watcher);
}

/* ---- the last close ---- */

static void unmapped_holder(int socket, void *arg)
{
	int fd = kvpv_open();
	u64 client, block;

	kvpv_ok(kvpv_attach(fd, POOL, 0, &client));
	kvpv_ok(kvpv_alloc(fd, 0, 1, &block));
	kvpv_send(socket, client);
	kvpv_send_fd(socket, fd);
	pause();
}

/* Who never mapped is dead when nobody has its file any more, be it in a socket. */
static void last_close(void)
{
	int watcher = kvpv_pool(POOL, 4);
	int socket, pair[2], fd;
	u64 client;
	char byte;
	pid_t pid;

	pid = kvpv_fork(unmapped_holder, NULL, &socket);
	client = kvpv_recv(socket);
	kvpv_same(kvpv_sys(recv(socket, &byte, 1, MSG_PEEK)), 1);
	kvpv_kill(pid);
	kvpv_sleep_ms(200);
	kvpv_true(kvpv_find_client(watcher, client, NULL));
	kvpv_same(kvpv_blocks(watcher, 0, KVP_BLOCK_HELD), 1);
	fd = kvpv_recv_fd(socket);
	kvpv_ok(stats_of_self(fd));
	kvpv_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	kvpv_send_fd(pair[0], fd);
	close(fd);
	kvpv_sleep_ms(200);
	kvpv_true(kvpv_find_client(watcher, client, NULL));
	close(pair[0]);
	close(pair[1]);
	expect_left(watcher, client);
}

/* ---- the counters ---- */

static void expect_counters(int fd, const volatile struct kvp_counters_page *page)
{
	struct kvp_family_stats families[2];
	struct kvp_stats stats;
	u32 i, state;

	kvpv_ok(kvpv_stats(fd, 0, 0, &stats, families, 2));
	for (i = 0; i < 2; i++) {
		for (state = 0; state < KVP_BLOCK_STATES; state++)
			kvpv_same(page->state[i][state], families[i].state[state]);
		kvpv_same(page->published[i], families[i].published);
	}
	kvpv_same(page->state[2][0], 0);
}

static void counters_page(void)
{
	const struct kvp_family_desc families[2] = { KVPV_DENSE(8, 4), KVPV_WINDOW(6, 4, 8) };
	int fd = kvpv_open(), member, admin, none;
	const volatile struct kvp_counters_page *page, *again;
	u64 blocks[2], seq;

	kvpv_same(sizeof(struct kvp_counters_page), PAGE);
	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
	kvpv_ok(kvpv_create(fd, POOL, 0644, 0, families, 2));
	page = kvpv_map_counters(fd);
	again = kvpv_map_counters(fd);
	kvpv_true(page != MAP_FAILED && again != MAP_FAILED);
	expect_counters(fd, page);
	kvpv_ok(kvpv_alloc(fd, 0, 2, blocks));
	kvpv_same(page->state[0][KVP_BLOCK_HELD], 2);
	kvpv_same(page->state[0][KVP_BLOCK_FREE], 6);
	seq = kvpv_published(fd, 1, tokens, 8);
	kvpv_same(page->published[0], 2);
	expect_counters(fd, page);
	kvpv_ok(kvpv_free(fd, seq));
	kvpv_same(page->state[0][KVP_BLOCK_IDLE], 2);
	kvpv_true(page->state[1][KVP_BLOCK_IDLE]);
	expect_counters(fd, page);
	expect_counters(fd, again);

	/* Nobody can write there, not even the owner. */
	kvpv_refused(mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE), EACCES);
	expect_no_map(fd, EPERM, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, KVP_MMAP_COUNTERS);
	expect_no_map(fd, EPERM, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, KVP_MMAP_COUNTERS);
	/* The end of such a mapping is nobody's end; USE is needed. */
	kvpv_sys(munmap((void *)again, PAGE));
	kvpv_ok(stats_of_self(fd));
	member = kvpv_open_as(1234, 1234);
	kvpv_ok(kvpv_attach(member, POOL, KVP_RIGHT_USE, NULL));
	kvpv_true(kvpv_map_counters(member) != MAP_FAILED);
	admin = kvpv_open();
	kvpv_ok(kvpv_attach(admin, POOL, KVP_RIGHT_ADMIN, NULL));
	kvpv_refused(kvpv_map_counters(admin), EACCES);
	none = kvpv_open();
	kvpv_refused(kvpv_map_counters(none), EBUSY);
	/* They outlive the file's last descriptor, and the pool. */
	close(none);
	close(admin);
	close(member);
	close(fd);
	kvpv_same(page->state[0][KVP_BLOCK_FREE] + page->state[0][KVP_BLOCK_IDLE] +
		  page->state[0][KVP_BLOCK_HELD], 8);
}

/* ---- poll ---- */

/* Read what waits; the kinds seen, as bits. */
static u32 read_events(int fd, u64 *cursor, u64 *left)
{
	struct kvp_event events[32];
	struct kvp_events arg = {
		.events = kvpv_ptr(events),
		.nr_events = KVPV_COUNT(events),
		.cursor = *cursor,
	};
	u32 i, kinds = 0;

	kvpv_ok(kvpv_do(fd, KVP_OP_EVENTS, &arg));
	*cursor = arg.cursor;
	for (i = 0; i < arg.nr_events; i++) {
		kinds |= 1U << events[i].kind;
		if (events[i].kind == KVP_EVENT_LEFT && left)
			*left = events[i].client;
	}
	return kinds;
}

static void poll_events(void)
{
	int fd = kvpv_pool(POOL, 8), none = kvpv_open(), other;
	u64 cursor = 0, left = 0, client;

	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
	kvpv_true(polled(none, 0) & POLLERR);
	/* Who never asked for events is not told of them. */
	kvpv_same(polled(fd, 0), 0);
	kvpv_same(read_events(fd, &cursor, NULL), 0);
	kvpv_same(polled(fd, 0), 0);
	other = kvpv_open();
	kvpv_ok(kvpv_attach(other, POOL, 0, &client));
	kvpv_published(other, 1, tokens, 8);
	kvpv_same(polled(fd, 0), POLLIN);
	kvpv_same(polled(other, 0), 0);
	kvpv_same(read_events(fd, &cursor, NULL), 1U << KVP_EVENT_STORED);
	kvpv_same(polled(fd, 0), 0);
	close(other);
	kvpv_same(polled(fd, KVPV_WAIT_MS), POLLIN);
	kvpv_same(read_events(fd, &cursor, &left), 1U << KVP_EVENT_LEFT);
	kvpv_same(left, client);
	kvpv_same(polled(fd, 0), 0);
}

/* Says so, waits for an event, and then for the end of the pool. */
static void poller(int socket, void *arg)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = kvpv_join(POOL), epoll;
	u64 cursor = 0;

	read_events(fd, &cursor, NULL);
	epoll = kvpv_sys(epoll_create1(EPOLL_CLOEXEC));
	kvpv_sys(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	kvpv_send(socket, 1);
	kvpv_same(kvpv_sys(epoll_wait(epoll, &event, 1, KVPV_WAIT_MS)), 1);
	kvpv_same(event.events, EPOLLIN);
	kvpv_same(read_events(fd, &cursor, NULL), 1U << KVP_EVENT_STORED);
	kvpv_send(socket, 2);
	kvpv_true(polled(fd, KVPV_WAIT_MS) & POLLHUP);
	kvpv_expect(stats_of_self(fd), -EIO, KVP_REASON_DESTROYED);
	kvpv_send(socket, 3);
}

static void poll_wakes(void)
{
	int fd = kvpv_pool(POOL, 8), socket;
	pid_t pid;

	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
	pid = kvpv_fork(poller, NULL, &socket);
	kvpv_same(kvpv_recv(socket), 1);
	kvpv_sleep_ms(50);
	kvpv_published(fd, 1, tokens, 8);
	kvpv_same(kvpv_recv(socket), 2);
	kvpv_sleep_ms(50);
	kvpv_ok(kvpv_destroy(fd, POOL, KVP_DESTROY_FORCE));
	kvpv_same(kvpv_recv(socket), 3);
	kvpv_true(polled(fd, 0) & POLLHUP);
	kvpv_wait_done(pid);
}

static const struct kvpv_test tests[] = {
	KVPV_TEST(timelines_page),
	KVPV_TEST(timelines_are_shared),
	KVPV_TEST(mapping_refused),
	KVPV_TEST(munmap_is_death),
	KVPV_TEST(mremap_is_not),
	KVPV_TEST(fork_does_not_inherit),
	KVPV_TEST(madv_dofork_does_not_inherit),
	KVPV_TEST(timelines_can_be_pinned),
	KVPV_TEST(last_close),
	KVPV_TEST(counters_page),
	KVPV_TEST(poll_events),
	KVPV_TEST(poll_wakes),
};

int main(int argc, char **argv)
{
	return kvpv_run(tests, KVPV_COUNT(tests), argc, argv);
}

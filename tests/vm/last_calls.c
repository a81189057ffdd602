// SPDX-License-Identifier: MIT
/*
 * A client whose timelines mapping ends while its other threads are in the middle of calls, polls
 * and mappings of its file: each either happens or says that the client is dead, and in the
 * end nothing of the client is left. And debugfs, read in pieces.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"

#define POOL		"last-calls"
#define BLOCKS		4096
#define THREADS		3
#define ROUNDS		100
#define AFTER_DEATH	20	/* calls that a thread makes on a dead client */

/* ---- death in the middle of calls ---- */

static int file;

static void one_alloc(u64 *state, u32 *dead)
{
	u64 blocks[64];
	int err = kvpv_alloc(file, 0, 1 + kvpv_below(state, KVPV_COUNT(blocks)), blocks);

	if (err == -EOWNERDEAD) {
		kvpv_same(kvpv_head.reason, KVP_REASON_CLIENT_DEAD);
		++*dead;
	} else if (err && err != -ENOSPC) {
		kvpv_fail("alloc: %d reason %u", err, kvpv_head.reason);
	}
}

static void one_mapping(void)
{
	const volatile struct kvp_counters_page *page = kvpv_map_counters(file);

	if (page == MAP_FAILED) {
		kvpv_same(errno, EOWNERDEAD);
		return;
	}
	kvpv_true(page->state[0][KVP_BLOCK_FREE] <= BLOCKS);
	kvpv_sys(munmap((void *)page, KVP_PAGE_BYTES));
}

static void *caller(void *arg)
{
	struct pollfd poll_fd = { .fd = file, .events = POLLIN };
	struct epoll_event event = { .events = EPOLLIN };
	u64 state = (u64)(uintptr_t)arg;
	int epoll = kvpv_sys(epoll_create1(EPOLL_CLOEXEC));
	u32 dead = 0;

	kvpv_sys(epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event));
	while (dead < AFTER_DEATH) {
		switch (kvpv_below(&state, 4)) {
		case 0:
			kvpv_sys(poll(&poll_fd, 1, 0));
			break;
		case 1:
			kvpv_sys(epoll_wait(epoll, &event, 1, 0));
			break;
		case 2:
			one_mapping();
			break;
		default:
			one_alloc(&state, &dead);
			break;
		}
	}
	kvpv_sys(close(epoll));
	return NULL;
}

static void death_amid_calls(void)
{
	int watcher = kvpv_pool(POOL, BLOCKS);
	pthread_t thread[THREADS];
	u64 state = 1, client;
	u32 round, i;
	void *page;

	for (round = 0; round < ROUNDS; round++) {
		file = kvpv_open();
		kvpv_ok(kvpv_attach(file, POOL, 0, &client));
		page = kvpv_map_timelines(file);
		kvpv_true(page != MAP_FAILED);
		for (i = 0; i < THREADS; i++)
			kvpv_same(pthread_create(&thread[i], NULL, caller,
						 (void *)(uintptr_t)kvpv_random(&state)), 0);
		usleep(kvpv_below(&state, 10000));
		kvpv_sys(munmap(page, KVP_PAGE_BYTES));
		for (i = 0; i < THREADS; i++)
			kvpv_same(pthread_join(thread[i], NULL), 0);
		/* With the file still open. */
		kvpv_until(KVPV_WAIT_MS, kvpv_client_gone(watcher, client));
		kvpv_same(kvpv_blocks(watcher, 0, KVP_BLOCK_HELD), 0);
		kvpv_sys(close(file));
	}
	kvpv_audit(watcher);
	kvpv_sys(close(watcher));
}

/* ---- debugfs in pieces ---- */

static char *read_in_pieces(const char *path, size_t piece)
{
	size_t room = 1 << 20, len = 0;
	char *text = malloc(room);
	int fd = kvpv_sys(open(path, O_RDONLY | O_CLOEXEC));
	long got;

	kvpv_true(text);
	do {
		kvpv_true(len + piece < room);
		got = kvpv_sys(read(fd, text + len, piece));
		len += got;
	} while (got);
	text[len] = '\0';
	kvpv_sys(close(fd));
	return text;
}

/* Each block stands in one line, in order: two of three of the first 900 are held. */
static void blocks_are_listed_once(void)
{
	int fd = kvpv_pool(POOL, BLOCKS);
	u32 family, block, nr, next = 0, held = 0;
	unsigned long long pool;
	static u64 blocks[900];
	char *text, *line, *rest;
	u32 i;

	kvpv_ok(kvpv_alloc(fd, 0, KVPV_COUNT(blocks), blocks));
	for (i = 0; i < KVPV_COUNT(blocks); i += 3)
		kvpv_ok(kvpv_unref(fd, &blocks[i], 1));
	text = read_in_pieces("/sys/kernel/debug/kvpool/blocks", 777);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		kvpv_same(sscanf(line, "pool=%llu family=%u block=%u nr=%u", &pool, &family,
				 &block, &nr), 4);
		kvpv_same(block, next);
		next += nr;
		held += !!strstr(line, " state=held ");
	}
	kvpv_same(next, BLOCKS);
	kvpv_same(held, KVPV_COUNT(blocks) / 3 * 2);
	free(text);
	kvpv_sys(close(fd));
}

static const struct kvpv_test tests[] = {
	KVPV_TEST(death_amid_calls),
	KVPV_TEST(blocks_are_listed_once),
};

int main(int argc, char **argv)
{
	return kvpv_run(tests, KVPV_COUNT(tests), argc, argv);
}

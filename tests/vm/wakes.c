// SPDX-License-Identifier: MIT
/*
 * Who waits for a client's file is told what has happened to that client and nothing else, in
 * whatever way it waits, and also if it began to wait before the client had a pool.
 */
#include <liburing.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "support.h"

#define POOL	"wakes"
#define NR_TOKENS 16
#define MANY	200		/* waiters for one file */
#define QUIET_MS 100

static u32 tokens[NR_TOKENS];

static void ask_for_events(int fd)
{
	struct kvp_events arg = { };

	kvpv_ok(kvpv_do(fd, KVP_OP_EVENTS, &arg));
}

/* What a POLL_ADD on the file comes to within @ms, or 0. */
static int completed(struct io_uring *ring, u32 ms)
{
	struct __kernel_timespec limit = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000LL };
	struct io_uring_cqe *cqe;
	int res;

	if (io_uring_wait_cqe_timeout(ring, &cqe, &limit))
		return 0;
	res = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return res;
}

static void ring_poll(struct io_uring *ring, int fd)
{
	kvpv_same(io_uring_queue_init(4, ring, 0), 0);
	io_uring_prep_poll_add(io_uring_get_sqe(ring), fd, POLLIN);
	kvpv_same(io_uring_submit(ring), 1);
}

/* A completion is an answer of the file, not what some wake-up was for. */
static void ring_is_told_the_truth(void)
{
	int fd = kvpv_pool(POOL, 16), watcher = kvpv_join(POOL), idler = kvpv_join(POOL);
	struct io_uring watching, idling;

	kvpv_tokens(tokens, NR_TOKENS, 1);
	ask_for_events(watcher);
	ring_poll(&watching, watcher);
	ring_poll(&idling, idler);
	kvpv_published(fd, 1, tokens, NR_TOKENS);
	kvpv_same(completed(&watching, KVPV_WAIT_MS), POLLIN);
	kvpv_same(completed(&idling, QUIET_MS), 0);
	kvpv_ok(kvpv_destroy(fd, POOL, KVP_DESTROY_FORCE));
	kvpv_same(completed(&idling, KVPV_WAIT_MS), POLLHUP);
	io_uring_queue_exit(&watching);
	io_uring_queue_exit(&idling);
}

/* Edge by edge: what was missed once is never told again. */
static u32 edge(int epoll, int ms)
{
	struct epoll_event event;

	return kvpv_sys(epoll_wait(epoll, &event, 1, ms)) ? event.events : 0;
}

static void waits_before_it_attaches(void)
{
	int fd = kvpv_pool(POOL, 16), early = kvpv_open(), epoll;
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	kvpv_tokens(tokens, NR_TOKENS, 1);
	epoll = kvpv_sys(epoll_create1(EPOLL_CLOEXEC));
	kvpv_sys(epoll_ctl(epoll, EPOLL_CTL_ADD, early, &event));
	kvpv_same(edge(epoll, 0), EPOLLERR);
	kvpv_ok(kvpv_attach(early, POOL, 0, NULL));
	ask_for_events(early);
	edge(epoll, QUIET_MS);
	kvpv_published(fd, 1, tokens, NR_TOKENS);
	kvpv_same(edge(epoll, KVPV_WAIT_MS), EPOLLIN);
	kvpv_ok(kvpv_destroy(fd, POOL, KVP_DESTROY_FORCE));
	kvpv_true(edge(epoll, KVPV_WAIT_MS) & EPOLLHUP);
}

/* All who wait are woken, however many. */
static void many_wait_for_one_file(void)
{
	int fd = kvpv_pool(POOL, 16), watcher = kvpv_join(POOL), epoll[MANY];
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	u32 i;

	kvpv_tokens(tokens, NR_TOKENS, 1);
	ask_for_events(watcher);
	for (i = 0; i < MANY; i++) {
		epoll[i] = kvpv_sys(epoll_create1(EPOLL_CLOEXEC));
		kvpv_sys(epoll_ctl(epoll[i], EPOLL_CTL_ADD, watcher, &event));
	}
	kvpv_published(fd, 1, tokens, NR_TOKENS);
	for (i = 0; i < MANY; i++)
		kvpv_same(edge(epoll[i], KVPV_WAIT_MS), EPOLLIN);
}

static const struct kvpv_test tests[] = {
	KVPV_TEST(ring_is_told_the_truth),
	KVPV_TEST(waits_before_it_attaches),
	KVPV_TEST(many_wait_for_one_file),
};

int main(int argc, char **argv)
{
	return kvpv_run(tests, KVPV_COUNT(tests), argc, argv);
}

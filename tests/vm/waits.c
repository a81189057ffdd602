// SPDX-License-Identifier: MIT
/*
 * Who waits for a fence, or for blocks, is woken by poll(2), epoll and io_uring after a mere store
 * to the page, while nobody makes a call; tickets are granted in the order of asking; and
 * where nobody waits no timeline is read and no timer runs.
 *
 * The module is loaded with mode=0666.
 */
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define POOL	"waits"
#define QUIET_MS 150		/* in which nothing may happen */
/* Half of all wake-ups: software emulates the processors. */
#define LATE_US	(250000 * kvpv_slow())
#define WAKES	40
#define POLL_US	"/sys/module/kvpool/parameters/fence_poll_us"

static u32 tokens[8];

/**
 * struct waiter - a client with work, and who ends that work
 * @fd: its file
 * @page: its timelines
 * @timeline: one of them
 * @seq: what the work is on
 * @value: of the last use
 * @stored_us: when the store was made
 */
struct waiter {
	int fd;
	struct kvp_timeline *page;
	u32 timeline;
	u64 seq;
	u64 value;
	u64 stored_us;
};

static struct waiter waiter_begin(void)
{
	struct waiter waiter = { .fd = kvpv_open() };

	waiter.page = kvpv_map_timelines(waiter.fd);
	kvpv_true(waiter.page != MAP_FAILED);
	kvpv_ok(kvpv_attach(waiter.fd, POOL, 0, NULL));
	waiter.timeline = kvpv_timeline(waiter.fd);
	kvpv_ok(kvpv_seq(waiter.fd, 1, tokens, 8, &waiter.seq, NULL));
	return waiter;
}

static void launch(struct waiter *waiter)
{
	waiter->value++;
	kvpv_ok(kvpv_use_seq(waiter->fd, waiter->seq, waiter->timeline, waiter->value));
}

static void work_ends(struct waiter *waiter)
{
	kvpv_store(waiter->page, waiter->timeline, waiter->value);
}

static int begin(u32 blocks)
{
	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
	return kvpv_pool(POOL, blocks);
}

static int polled(int fd, int ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	kvpv_sys(poll(&poll_fd, 1, ms));
	return poll_fd.revents;
}

/* ---- the ways to wait ---- */

static int by_poll(int fd)
{
	return polled(fd, KVPV_WAIT_MS);
}

static int by_epoll(int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int epoll = kvpv_sys(epoll_create1(EPOLL_CLOEXEC));
	int nr;

	kvpv_sys(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	nr = kvpv_sys(epoll_wait(epoll, &event, 1, KVPV_WAIT_MS));
	close(epoll);
	return nr ? event.events : 0;
}

static int by_ring(int fd)
{
	struct __kernel_timespec limit = { .tv_sec = KVPV_WAIT_MS / 1000 };
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	int events = 0;

	kvpv_same(io_uring_queue_init(4, &ring, 0), 0);
	io_uring_prep_poll_add(io_uring_get_sqe(&ring), fd, POLLIN);
	kvpv_same(io_uring_submit(&ring), 1);
	if (!io_uring_wait_cqe_timeout(&ring, &cqe, &limit))
		events = cqe->res;
	io_uring_queue_exit(&ring);
	return events;
}

static const struct {
	const char *name;
	int (*wait)(int fd);
} ways[] = {
	{ "poll", by_poll },
	{ "epoll", by_epoll },
	{ "io_uring", by_ring },
};

/* ---- fences ---- */

static void *stores_later(void *arg)
{
	struct waiter *waiter = arg;

	usleep(3000 + waiter->value % 7 * 1000);
	waiter->stored_us = kvpv_now_us();
	work_ends(waiter);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* How long it takes from a store until who waits is back. */
static void fence_wakes(void)
{
	int fd = begin(16);
	struct waiter waiter = waiter_begin();
	u64 took[WAKES];
	pthread_t thread;
	u32 way, i;

	for (way = 0; way < KVPV_COUNT(ways); way++) {
		for (i = 0; i < WAKES; i++) {
			launch(&waiter);
			kvpv_true(!kvpv_watch(waiter.fd, waiter.timeline, waiter.value));
			kvpv_same(pthread_create(&thread, NULL, stores_later, &waiter), 0);
			kvpv_same(ways[way].wait(waiter.fd), POLLIN);
			took[i] = kvpv_now_us();
			kvpv_same(pthread_join(thread, NULL), 0);
			took[i] -= waiter.stored_us;
			/* It is told until it is asked for, once. */
			kvpv_same(polled(waiter.fd, 0), POLLIN);
			kvpv_true(kvpv_passed(waiter.fd, waiter.timeline, waiter.value));
			kvpv_same(polled(waiter.fd, 0), 0);
		}
		qsort(took, WAKES, sizeof(took[0]), compare);
		printf("%s: woken %llu us after the store, at most %llu us\n", ways[way].name,
		       (unsigned long long)took[WAKES / 2], (unsigned long long)took[WAKES - 1]);
		kvpv_true(took[WAKES / 2] < LATE_US);
	}
	kvpv_audit(fd);
}

/* Of each timeline the smallest value watched, and none but what was watched. */
static void what_is_told(void)
{
	int fd = begin(16);
	struct waiter waiter = waiter_begin(), other = waiter_begin();
	struct kvp_fence fence = { .value = 9 };
	struct kvp_query query;
	u32 second = kvpv_timeline(waiter.fd);
	u32 i;

	for (i = 0; i < 3; i++)
		launch(&waiter);
	launch(&other);
	kvpv_ok(kvpv_use_seq(waiter.fd, waiter.seq, second, 1));
	kvpv_expect(kvpv_query(waiter.fd, KVP_QUERY_WATCH, &fence, 1, &query), -EINVAL,
		    KVP_REASON_FENCE_AHEAD);
	fence.timeline = 9;
	kvpv_expect(kvpv_query(waiter.fd, KVP_QUERY_WATCH, &fence, 1, &query), -ENOENT,
		    KVP_REASON_NO_TIMELINE);
	kvpv_true(!kvpv_watch(waiter.fd, waiter.timeline, 3));
	kvpv_true(!kvpv_watch(waiter.fd, waiter.timeline, 2));
	/* Not watched: the second timeline, the first value, and what is another client's. */
	kvpv_store(waiter.page, second, 1);
	kvpv_store(waiter.page, waiter.timeline, 1);
	work_ends(&other);
	kvpv_same(polled(waiter.fd, QUIET_MS), 0);
	kvpv_same(polled(other.fd, 0), 0);
	kvpv_store(waiter.page, waiter.timeline, 2);
	kvpv_same(polled(waiter.fd, KVPV_WAIT_MS), POLLIN);
	kvpv_same(polled(other.fd, 0), 0);
	kvpv_true(kvpv_passed(waiter.fd, waiter.timeline, 2));
	kvpv_same(polled(waiter.fd, 0), 0);
	/* A fence that has passed is not watched: the call says so itself. */
	kvpv_true(kvpv_watch(waiter.fd, waiter.timeline, 2));
	kvpv_same(polled(waiter.fd, QUIET_MS), 0);
	/* Nor does what is not right wake anybody. */
	kvpv_true(!kvpv_watch(waiter.fd, waiter.timeline, 3));
	kvpv_store(waiter.page, waiter.timeline, 77);
	kvpv_same(polled(waiter.fd, QUIET_MS), 0);
	kvpv_store(waiter.page, waiter.timeline, 1);
	kvpv_same(polled(waiter.fd, QUIET_MS), 0);
	kvpv_ok(kvpv_query(waiter.fd, 0, NULL, 0, &query));
	kvpv_same(query.jumps, 1);
	kvpv_same(query.backwards, 1);
	kvpv_ok(kvpv_signal(waiter.fd, waiter.timeline, 3));
	kvpv_same(polled(waiter.fd, KVPV_WAIT_MS), POLLIN);
	kvpv_audit(fd);
}

/* ---- tickets ---- */

static void *frees_later(void *arg)
{
	const struct waiter *waiter = arg;

	usleep(3000);
	kvpv_ok(kvpv_free(waiter->fd, waiter->seq));
	return NULL;
}

/* By a free, and by a store that has what was held back come back. */
static void ticket_wakes(void)
{
	int fd = begin(2);
	u32 way, fenced;

	for (way = 0; way < KVPV_COUNT(ways); way++) {
		for (fenced = 0; fenced < 2; fenced++) {
			struct waiter holder = waiter_begin();
			struct kvp_query query;
			pthread_t thread;
			u64 ticket;

			if (fenced) {
				launch(&holder);
				kvpv_ok(kvpv_free(holder.fd, holder.seq));
			}
			ticket = kvpv_queue(fd, 0, 2, 0);
			kvpv_same(polled(fd, 0), 0);
			kvpv_expect(kvpv_ticket(fd, KVP_ADMIT_TAKE, ticket), -EBUSY,
				    KVP_REASON_NOT_GRANTED);
			kvpv_same(pthread_create(&thread, NULL,
						 fenced ? stores_later : frees_later, &holder), 0);
			kvpv_same(ways[way].wait(fd), POLLIN);
			kvpv_same(pthread_join(thread, NULL), 0);
			/* It is told as long as it is not taken. */
			kvpv_ok(kvpv_query(fd, 0, NULL, 0, &query));
			kvpv_same(query.granted, 1);
			kvpv_same(polled(fd, 0), POLLIN);
			kvpv_ok(kvpv_ticket(fd, KVP_ADMIT_TAKE, ticket));
			kvpv_same(polled(fd, 0), 0);
			kvpv_audit(fd);
			kvpv_ok(kvpv_ticket(fd, KVP_ADMIT_DROP, 0));
			kvpv_sys(munmap(holder.page, KVP_PAGE_BYTES));
			close(holder.fd);
		}
	}
}

/* Asks for as many blocks as it is told, says so, and when it has got them. */
static void asker(int socket, void *arg)
{
	int fd = kvpv_join(POOL);
	u64 blocks = kvpv_recv(socket), ticket;
	struct kvp_admit admit;

	kvpv_ok(kvpv_admit(fd, KVP_ADMIT_QUEUE, 0, blocks, &admit));
	kvpv_same(admit.state, KVP_ADMIT_WAITING);
	ticket = admit.ticket;
	kvpv_send(socket, admit.ahead);
	kvpv_same(polled(fd, KVPV_WAIT_MS), POLLIN);
	kvpv_ok(kvpv_ticket(fd, KVP_ADMIT_TAKE, ticket));
	kvpv_send(socket, blocks);
	kvpv_recv(socket);
}

/* A number comes over the socket within @ms. */
static bool comes(int socket, int ms)
{
	return polled(socket, ms);
}

/* An early ask for much is not overtaken by late ones for little, of whatever process. */
static void order_of_asking(void)
{
	static const u64 asks[3] = { 6, 1, 2 };
	int fd = begin(8), socket[3];
	struct kvp_admit admit;
	u64 blocks[8], own;
	pid_t pid[3];
	u32 i;

	kvpv_ok(kvpv_alloc(fd, 0, 8, blocks));
	for (i = 0; i < 3; i++) {
		pid[i] = kvpv_fork(asker, NULL, &socket[i]);
		kvpv_send(socket[i], asks[i]);
		kvpv_same(kvpv_recv(socket[i]), i);
	}
	/* Five would do for the second and third: they wait for the first, as others do. */
	kvpv_ok(kvpv_unref(fd, blocks, 5));
	for (i = 0; i < 3; i++)
		kvpv_true(!comes(socket[i], QUIET_MS / 3));
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_FREE), 5);
	kvpv_expect(kvpv_alloc(fd, 0, 1, &own), -ENOSPC, KVP_REASON_QUEUED);
	kvpv_expect(kvpv_admit(fd, 0, 0, 1, &admit), -ENOSPC, KVP_REASON_QUEUED);
	kvpv_same(kvpv_pool_stats(fd).tickets_waiting, 3);
	kvpv_ok(kvpv_unref(fd, blocks + 5, 1));
	kvpv_same(kvpv_recv(socket[0]), 6);
	for (i = 1; i < 3; i++)
		kvpv_true(!comes(socket[i], QUIET_MS / 3));
	kvpv_ok(kvpv_unref(fd, blocks + 6, 1));
	kvpv_same(kvpv_recv(socket[1]), 1);
	kvpv_true(!comes(socket[2], QUIET_MS / 3));
	/* The first one dies: what it had is there for the last. */
	kvpv_kill(pid[0]);
	kvpv_same(kvpv_recv(socket[2]), 2);
	kvpv_audit(fd);
	for (i = 1; i < 3; i++) {
		kvpv_send(socket[i], 0);
		kvpv_wait_done(pid[i]);
	}
	kvpv_until(KVPV_WAIT_MS, kvpv_blocks(fd, 0, KVP_BLOCK_FREE) == 7);
	kvpv_same(kvpv_pool_stats(fd).tickets, 0);
	kvpv_same(kvpv_pool_stats(fd).tickets_granted, 3);
	kvpv_audit(fd);
}

/* Who waits first dies: the next one's turn comes. */
static void dead_asker_is_passed(void)
{
	int fd = begin(4), socket[2];
	u64 blocks[4];
	pid_t pid[2];
	u32 i;

	kvpv_ok(kvpv_alloc(fd, 0, 4, blocks));
	for (i = 0; i < 2; i++) {
		pid[i] = kvpv_fork(asker, NULL, &socket[i]);
		kvpv_send(socket[i], 4 - 2 * i);
		kvpv_same(kvpv_recv(socket[i]), i);
	}
	kvpv_ok(kvpv_unref(fd, blocks, 2));
	kvpv_true(!comes(socket[1], QUIET_MS));
	kvpv_kill(pid[0]);
	kvpv_same(kvpv_recv(socket[1]), 2);
	kvpv_audit(fd);
	kvpv_send(socket[1], 0);
	kvpv_wait_done(pid[1]);
}

/* ---- what it costs ---- */

/* One of the module's timers is set, on any processor. */
static bool timer_set(void)
{
	char *text = kvpv_read_file("/proc/timer_list");
	bool set = strstr(text, "kvpool");

	free(text);
	return set;
}

static u64 scans_in(int fd, u32 ms)
{
	u64 was = kvpv_pool_stats(fd).scans;

	kvpv_sleep_ms(ms);
	return kvpv_pool_stats(fd).scans - was;
}

static void expect_still(int fd)
{
	kvpv_same(scans_in(fd, QUIET_MS), 0);
	kvpv_true(!timer_set());
}

/* Soon after the last one who waited. */
static void until_still(int fd)
{
	kvpv_until(KVPV_WAIT_MS, !timer_set());
	kvpv_until(KVPV_WAIT_MS, !scans_in(fd, 20));
	expect_still(fd);
}

static void expect_scans(int fd)
{
	kvpv_true(scans_in(fd, QUIET_MS) >= 2);
}

static void watching_child(int socket, void *arg)
{
	struct waiter waiter = waiter_begin();

	launch(&waiter);
	kvpv_true(!kvpv_watch(waiter.fd, waiter.timeline, waiter.value));
	kvpv_send(socket, 1);
	kvpv_recv(socket);
}

static void nothing_without_waiters(void)
{
	int fd = begin(4), socket;
	struct waiter waiter;
	u64 ticket;
	pid_t pid;

	expect_still(fd);
	kvpv_same(kvpv_pool_stats(fd).scans, 0);
	waiter = waiter_begin();
	launch(&waiter);
	/* Work is open, and somebody polls; nobody watches. */
	kvpv_same(polled(waiter.fd, QUIET_MS), 0);
	expect_still(fd);
	kvpv_same(kvpv_pool_stats(fd).scans, 0);

	kvpv_true(!kvpv_watch(waiter.fd, waiter.timeline, waiter.value));
	expect_scans(fd);
	/* Not between the timer's end and the end of the reading it asked for. */
	kvpv_until(KVPV_WAIT_MS, timer_set());
	work_ends(&waiter);
	kvpv_same(polled(waiter.fd, KVPV_WAIT_MS), POLLIN);
	until_still(fd);
	kvpv_true(kvpv_passed(waiter.fd, waiter.timeline, waiter.value));

	/* A ticket waits for what no fence holds: there is nothing to be read. */
	ticket = kvpv_queue(fd, 0, 4, 0);
	until_still(fd);
	/* Now there is, until it is over, or the ticket is. */
	launch(&waiter);
	kvpv_ok(kvpv_free(waiter.fd, waiter.seq));
	expect_scans(fd);
	kvpv_ok(kvpv_ticket(fd, KVP_ADMIT_CANCEL, ticket));
	until_still(fd);
	kvpv_same(kvpv_blocks(fd, 0, KVP_BLOCK_HELD_BACK), 2);
	work_ends(&waiter);
	expect_still(fd);

	/* Who watches dies; its grace time is waited for by no reading. */
	pid = kvpv_fork(watching_child, NULL, &socket);
	kvpv_recv(socket);
	expect_scans(fd);
	kvpv_kill(pid);
	kvpv_until(KVPV_WAIT_MS, kvpv_pool_stats(fd).quarantined);
	kvpv_until(KVPV_WAIT_MS, !scans_in(fd, 20));
	kvpv_until(KVPV_WAIT_MS, !kvpv_pool_stats(fd).quarantined);
	until_still(fd);
}

/* ---- the parameter ---- */

static int try_write(const char *value)
{
	int fd = kvpv_sys(open(POLL_US, O_WRONLY | O_CLOEXEC));
	int err = write(fd, value, strlen(value)) < 0 ? -errno : 0;

	close(fd);
	return err;
}

static u64 poll_us(void)
{
	char *text = kvpv_read_file(POLL_US);
	u64 value = strtoull(text, NULL, 10);

	free(text);
	return value;
}

static void parameter(void)
{
	static const char *const bad[] = { "49", "60000001", "0", "-1", "x", "", "1000x" };
	u64 slow, fast;
	int fd = begin(4);
	struct waiter waiter = waiter_begin();
	u32 i;

	kvpv_same(poll_us(), 1000);
	for (i = 0; i < KVPV_COUNT(bad); i++) {
		if (*bad[i])
			kvpv_same(-try_write(bad[i]), EINVAL);
		kvpv_same(poll_us(), 1000);
	}
	launch(&waiter);
	kvpv_true(!kvpv_watch(waiter.fd, waiter.timeline, waiter.value));
	fast = scans_in(fd, 400);
	kvpv_same(try_write("100000"), 0);
	kvpv_same(poll_us(), 100000);
	kvpv_sleep_ms(20);
	slow = scans_in(fd, 400);
	printf("in 400 ms %llu scans, and %llu with 100 ms between them\n",
	       (unsigned long long)fast, (unsigned long long)slow);
	kvpv_true(slow >= 1 && slow <= 5 && fast > 2 * slow);
	kvpv_same(try_write("50"), 0);
	kvpv_same(poll_us(), 50);
	kvpv_same(try_write("1000"), 0);
	work_ends(&waiter);
	kvpv_same(polled(waiter.fd, KVPV_WAIT_MS), POLLIN);
	until_still(fd);
}

static void parameter_at_load(void)
{
	kvpv_rmmod("kvpool");
	kvpv_insmod("kvpool", "mode=0666 fence_poll_us=2500");
	kvpv_same(poll_us(), 2500);
	kvpv_rmmod("kvpool");
	kvpv_insmod("kvpool", "mode=0666");
	kvpv_until(KVPV_WAIT_MS, !access(KVPV_DEVICE, R_OK | W_OK));
	kvpv_same(poll_us(), 1000);
}

static const struct kvpv_test tests[] = {
	KVPV_TEST(fence_wakes),
	KVPV_TEST(what_is_told),
	KVPV_TEST(ticket_wakes),
	KVPV_TEST(order_of_asking),
	KVPV_TEST(dead_asker_is_passed),
	KVPV_TEST(nothing_without_waiters),
	KVPV_TEST(parameter),
	KVPV_TEST(parameter_at_load),
};

int main(int argc, char **argv)
{
	return kvpv_run(tests, KVPV_COUNT(tests), argc, argv);
}

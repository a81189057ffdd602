// SPDX-License-Identifier: MIT
/*
 * System calls that are no operation, with each of their points failing: from open to close, both
 * pages, poll, what passes descriptors on, and what shows the pool. Many of their points are the
 * kernel's own. Not fork(2), nor loading the module: the kernel warns in its log where it finds no
 * memory for a stack, or for a module's text. Owns no state.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device.h"

#define MAX_POINTS	5000
#define SHOWN		"/sys/kernel/debug/kvpool/"

/**
 * struct on - what a system call works on
 * @s: a pool, with clients and a sequence
 * @page: a mapping, or MAP_FAILED
 * @client: id of the client that ends
 * @path: of a file
 */
struct on {
	struct fn_state s;
	void *page;
	u64 client;
	const char *path;
};

/**
 * struct system_call - one of them
 * @name: for people
 * @path: of the file that it reads
 * @prepare: after the pool and its clients
 * @call: 0 or a negative errno; may be several, of which the first that fails ends it
 * @undo: what it made, if it returned 0
 */
struct system_call {
	const char *name;
	const char *path;
	void (*prepare)(struct on *on);
	int (*call)(struct on *on);
	void (*undo)(struct on *on);
};

static int result(long ret)
{
	return ret < 0 ? -errno : 0;
}

/* ---- open and close ---- */

static int do_open(struct on *on)
{
	on->s.got = open(KVPV_DEVICE, O_RDWR | O_CLOEXEC);
	return result(on->s.got);
}

static void end_client(struct on *on)
{
	fn_door->close(on->s.got);
	on->s.got = -1;
}

/* A third client, with something of everything. */
static void third(struct on *on)
{
	struct fn_state *s = &on->s;
	u64 seq, blocks[4];
	u32 t;

	s->got = fn_door->open(FN_UID);
	kvpv_ok(kvpv_attach(s->got, FN_POOL, 0, NULL));
	on->client = kvpv_self(s->got);
	t = kvpv_timeline(s->got);
	kvpv_ok(kvpv_seq(s->got, 1, s->tokens, 30, &seq, NULL));
	kvpv_ok(kvpv_use_seq(s->got, seq, t, 1));
	kvpv_ok(kvpv_alloc(s->got, 0, 4, blocks));
	kvpv_queue(s->got, 0, FN_BLOCKS - 2, 0);
}

static int do_close(struct on *on)
{
	int fd = on->s.got;

	on->s.got = -1;
	return result(close(fd));
}

/* What its work may touch stays in quarantine, and the client's entry with it. */
static void wait_dead(struct on *on)
{
	struct kvp_client_entry entry;

	kvpv_until(KVPV_WAIT_MS, !kvpv_find_client(on->s.a, on->client, &entry) ||
		   entry.flags & KVP_CLIENT_DEAD);
	kvpv_until(KVPV_WAIT_MS, kvpv_module_uses() <= 2);
}

/* ---- the two pages ---- */

static int do_map_timelines(struct on *on)
{
	on->page = kvpv_map_timelines(on->s.got);
	return on->page == MAP_FAILED ? -errno : 0;
}

static void end_page(struct on *on)
{
	kvpv_sys(munmap(on->page, KVP_PAGE_BYTES));
	on->page = MAP_FAILED;
	fn_door->close(on->s.got);
	on->s.got = -1;
	kvpv_until(KVPV_WAIT_MS, kvpv_module_uses() <= 2);
}

static void stranger(struct on *on)
{
	on->s.got = fn_door->open(FN_UID);
}

static void stranger_mapped(struct on *on)
{
	stranger(on);
	kvpv_true(!do_map_timelines(on));
}

static int do_populate(struct on *on)
{
	return result(madvise(on->page, KVP_PAGE_BYTES, MADV_POPULATE_READ));
}

static void third_mapped(struct on *on)
{
	third(on);
	kvpv_true(!do_map_timelines(on));
}

static int do_unmap(struct on *on)
{
	return result(munmap(on->page, KVP_PAGE_BYTES));
}

static void end_unmapped(struct on *on)
{
	on->page = MAP_FAILED;
	kvpv_sys(close(on->s.got));
	on->s.got = -1;
	wait_dead(on);
}

static void attached(struct on *on)
{
	stranger(on);
	kvpv_ok(kvpv_attach(on->s.got, FN_POOL, 0, NULL));
}

static int do_map_counters(struct on *on)
{
	on->page = kvpv_map_counters(on->s.got);
	return on->page == MAP_FAILED ? -errno : 0;
}

static void counters_mapped(struct on *on)
{
	attached(on);
	kvpv_true(!do_map_counters(on));
}

/* ---- poll ---- */

static int do_poll(struct on *on)
{
	struct pollfd fds = { .fd = on->s.a, .events = POLLIN };

	return result(poll(&fds, 1, 0));
}

static void with_epoll(struct on *on)
{
	on->s.file = kvpv_sys(epoll_create1(EPOLL_CLOEXEC));
}

static int do_epoll(struct on *on)
{
	struct epoll_event event = { .events = EPOLLIN };

	return result(epoll_ctl(on->s.file, EPOLL_CTL_ADD, on->s.a, &event));
}

static void end_epoll(struct on *on)
{
	kvpv_sys(epoll_ctl(on->s.file, EPOLL_CTL_DEL, on->s.a, NULL));
}

/* ---- descriptors of an export ---- */

static void exported(struct on *on)
{
	kvpv_ok(kvpv_export(on->s.a, fn_computed(&on->s, on->s.tokens, 20), &on->s.file, NULL));
}

/* To oneself; a message without the descriptor is one that was truncated. */
static int pass(int socket[2], int file, int *got)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {};
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &file, sizeof(int));
	if (sendmsg(socket[0], &msg, MSG_DONTWAIT) < 0)
		return -errno;
	msg.msg_controllen = sizeof(control.room);
	if (recvmsg(socket[1], &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0)
		return -errno;
	head = CMSG_FIRSTHDR(&msg);
	if (head && head->cmsg_type == SCM_RIGHTS)
		memcpy(got, CMSG_DATA(head), sizeof(int));
	return 0;
}

static int do_pass(struct on *on)
{
	int socket[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket))
		return -errno;
	err = pass(socket, on->s.file, &on->s.got);
	close(socket[0]);
	close(socket[1]);
	return err;
}

static void end_passed(struct on *on)
{
	if (on->s.got >= 0)
		close(on->s.got);
	on->s.got = -1;
}

/* ---- what shows the pool ---- */

static int do_read_file(struct on *on)
{
	static char text[1 << 16];
	int fd = open(on->path, O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	do {
		err = read(fd, text, sizeof(text));
	} while (err > 0);
	err = result(err);
	close(fd);
	return err;
}

static void shown(struct on *on)
{
	static char path[64];

	exported(on);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", on->s.file);
	on->path = path;
}

static const struct system_call calls[] = {
	{ "open(2)", NULL, NULL, do_open, end_client },
	{ "close(2) of a client", NULL, third, do_close, wait_dead },
	{ "mmap(2) of timelines", NULL, stranger, do_map_timelines, end_page },
	{ "fault in timelines", NULL, stranger_mapped, do_populate, end_page },
	{ "munmap(2) of timelines", NULL, third_mapped, do_unmap, end_unmapped },
	{ "mmap(2) of counters", NULL, attached, do_map_counters, end_page },
	{ "fault in counters", NULL, counters_mapped, do_populate, end_page },
	{ "poll(2)", NULL, NULL, do_poll, NULL },
	{ "epoll_ctl(2)", NULL, with_epoll, do_epoll, end_epoll },
	{ "an export over a socket", NULL, exported, do_pass, end_passed },
	{ "fdinfo of an export", NULL, shown, do_read_file, NULL },
	{ "debugfs pools", SHOWN "pools", exported, do_read_file, NULL },
	{ "debugfs clients", SHOWN "clients", exported, do_read_file, NULL },
	{ "debugfs users", SHOWN "users", exported, do_read_file, NULL },
	{ "debugfs blocks", SHOWN "blocks", exported, do_read_file, NULL },
};

/* ---- the sweep ---- */

static bool known(int err)
{
	/* ENOBUFS is what sockets make of ENOMEM, and ENFILE where there is not even one. */
	return err == -ENOMEM || err == -EFAULT || err == -ENOBUFS || err == -ENFILE;
}

static void begin(const struct system_call *call, struct on *on)
{
	memset(on, 0, sizeof(*on));
	on->page = MAP_FAILED;
	on->path = call->path;
	fn_state_begin(&on->s);
	if (call->prepare)
		call->prepare(on);
}

static void end(struct on *on)
{
	if (on->page != MAP_FAILED)
		kvpv_sys(munmap(on->page, KVP_PAGE_BYTES));
	if (on->s.got >= 0)
		kvpv_sys(close(on->s.got));
	on->s.got = -1;
	fn_state_end(&on->s);
	kvpv_until(KVPV_WAIT_MS, !kvpv_module_uses());
}

static void check(const struct system_call *call, u32 nth, int err, struct fn_counts *counts,
		  const struct fn_world *was, const struct fn_world *is, enum fn_view view)
{
	counts->points++;
	if (!err)
		counts->survived++;
	else if (err == -EFAULT)
		counts->efault++;
	else
		counts->enomem++;
	if (err && !known(err))
		fn_finding("%s, point %u: %s", call->name, nth, strerror(-err));
	if (fn_world_same(was, is, view))
		return;
	fn_finding("%s, point %u: %s, and something has changed", call->name, nth,
		   err ? strerror(-err) : "success");
	fn_world_show(was, is, view);
}

static void sweep(const struct system_call *call, struct fn_counts *total)
{
	struct on *on = malloc(sizeof(*on));
	struct fn_world ref = {}, was, is;
	struct fn_counts counts = {};
	bool met = true;
	u32 nth;
	int err;

	kvpv_true(on);
	/* The first time nothing fails. */
	for (nth = 0; met && nth < MAX_POINTS; nth++) {
		begin(call, on);
		fn_world_take(&on->s, &was);
		fn_fault_arm(nth);
		err = call->call(on);
		met = fn_fault_disarm(nth) || !nth;
		if (!err && call->undo)
			call->undo(on);
		fn_world_take(&on->s, &is);
		kvpv_audit(on->s.a);
		if (!nth) {
			kvpv_same(err, 0);
			ref = is;
			is = (struct fn_world){};
		} else if (met) {
			check(call, nth, err, &counts, err ? &was : &ref, &is,
			      err ? FN_EXACT : FN_ALIKE);
		} else if (err) {
			fn_finding("%s: %s after the others had failed", call->name,
				   strerror(-err));
		}
		fn_world_drop(&was);
		fn_world_drop(&is);
		end(on);
	}
	fn_world_drop(&ref);
	free(on);
	printf("%-40s %3llu points: %llu ENOMEM %llu EFAULT %llu survived\n", call->name,
	       (unsigned long long)counts.points, (unsigned long long)counts.enomem,
	       (unsigned long long)counts.efault, (unsigned long long)counts.survived);
	fn_counts_add(total, &counts);
}

void fn_system_sweep(const char *only, struct fn_counts *total)
{
	u32 i;

	for (i = 0; i < KVPV_COUNT(calls); i++)
		if (strstr(calls[i].name, only))
			sweep(&calls[i], total);
}

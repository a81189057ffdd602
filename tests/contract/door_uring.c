// SPDX-License-Identifier: MIT
/*
 * The device by io_uring, in four ways: executed in the submission, in a worker (IOSQE_ASYNC), by
 * a kernel thread that polls (SQPOLL), and on a registered file. Owns the ring.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <liburing.h>

#include "contract.h"

#define ENTRIES		8
#define MAX_FILES	16
#define SPINS		1000	/* looks for a completion, before it is slept for */
#define IDLE_MS		100	/* after which the kernel's thread sleeps, and has to be woken */

struct ct_conn {
	int fd;
	int place;		/* among the registered files */
};

static struct io_uring ring;
static unsigned int sqe_flags;
static int files[MAX_FILES];		/* that are registered, -1: none */

static bool ring_begin(const struct ct_door *door, unsigned int setup, unsigned int flags)
{
	struct io_uring_params params = { .flags = setup, .sq_thread_idle = IDLE_MS };
	int err;

	if (!ct_device_begin(door))
		return false;
	err = io_uring_queue_init_params(ENTRIES, &ring, &params);
	if (err)
		ct_die("io_uring: %s", strerror(-err));
	sqe_flags = flags;
	return true;
}

static bool uring_begin(const struct ct_door *door)
{
	return ring_begin(door, 0, 0);
}

static bool async_begin(const struct ct_door *door)
{
	return ring_begin(door, 0, IOSQE_ASYNC);
}

static bool sqpoll_begin(const struct ct_door *door)
{
	return ring_begin(door, IORING_SETUP_SQPOLL, 0);
}

static bool fixed_begin(const struct ct_door *door)
{
	int err;

	if (!ring_begin(door, 0, IOSQE_FIXED_FILE))
		return false;
	memset(files, 0xff, sizeof(files));
	err = io_uring_register_files(&ring, files, MAX_FILES);
	if (err)
		ct_die("registered files: %s", strerror(-err));
	return true;
}

static void uring_end(void)
{
	io_uring_queue_exit(&ring);
}

/* ---- clients ---- */

static struct ct_conn *uring_open(__u32 uid)
{
	struct ct_conn *conn = malloc(sizeof(*conn));

	if (!conn)
		ct_die("no memory for a client");
	conn->fd = ct_device_open(uid);
	return conn;
}

static struct ct_conn *fixed_open(__u32 uid)
{
	struct ct_conn *conn = uring_open(uid);

	for (conn->place = 0; files[conn->place] >= 0;)
		if (++conn->place == MAX_FILES)
			ct_die("no place for a registered file");
	files[conn->place] = conn->fd;
	if (io_uring_register_files_update(&ring, conn->place, &conn->fd, 1) != 1)
		ct_die("a file cannot be registered");
	return conn;
}

static void uring_close(struct ct_conn *conn)
{
	ct_device_close(conn->fd);
	free(conn);
}

/* One file alone would be let go after a second; all together, at once. */
static void fixed_close(struct ct_conn *conn)
{
	files[conn->place] = -1;
	if (io_uring_unregister_files(&ring) || io_uring_register_files(&ring, files, MAX_FILES))
		ct_die("the files cannot be registered anew");
	uring_close(conn);
}

/* ---- calls ---- */

/* liburing of Debian 12 has no helper for this one. */
static void prepare(struct ct_conn *conn, __u32 nr, void *arg, __u32 len, __u64 data)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	struct kvp_uring_cmd cmd = { .arg = (uintptr_t)arg, .len = len };

	if (!sqe)
		ct_die("the ring is full");
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe,
			 sqe_flags & IOSQE_FIXED_FILE ? conn->place : conn->fd, NULL, 0, 0);
	sqe->cmd_op = KVP_IOC(nr);
	sqe->flags = sqe_flags;
	sqe->user_data = data;
	memcpy(sqe->cmd, &cmd, sizeof(cmd));
}

static void submit(__u32 nr)
{
	int ret = io_uring_submit(&ring);

	/* Of a polling thread it is only known what is still in its ring: it may have taken all. */
	if (ret < 0 || (!(ring.flags & IORING_SETUP_SQPOLL) && ret < (int)nr))
		ct_die("io_uring took %d of %u operations", ret, nr);
}

static int complete(__u64 *data)
{
	struct io_uring_cqe *cqe;
	__u32 spins;
	int result;
	int err;

	/* To sleep, and be woken, takes longer than most operations. */
	for (spins = 0; spins < SPINS && io_uring_peek_cqe(&ring, &cqe); spins++)
		;
	do {
		err = io_uring_wait_cqe(&ring, &cqe);
	} while (err == -EINTR);
	if (err)
		ct_die("io_uring: no completion: %s", strerror(-err));
	*data = cqe->user_data;
	result = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	return result;
}

static int uring_call(struct ct_conn *conn, __u32 nr, void *arg, __u32 len)
{
	__u64 data;

	prepare(conn, nr, arg, len, 0);
	submit(1);
	return complete(&data);
}

static void uring_chain(struct ct_conn *conn, const __u32 *nr, void *const *arg, int *result,
			__u32 n)
{
	const unsigned int plain = sqe_flags;
	__u64 data;
	__u32 i;
	int ret;

	for (i = 0; i < n; i++) {
		sqe_flags = plain | (i + 1 < n ? IOSQE_IO_LINK : 0);
		prepare(conn, nr[i], arg[i], ((struct kvp_head *)arg[i])->size, i);
	}
	sqe_flags = plain;
	submit(n);
	for (i = 0; i < n; i++) {
		ret = complete(&data);
		if (data >= n)
			ct_die("a completion that is nobody's: %llu", data);
		result[data] = ret;
	}
}

#define URING_DOOR(name_)				\
	.name = #name_,					\
	.device = true,					\
	.begin = name_##_begin,				\
	.call = uring_call,				\
	.chain = uring_chain,				\
	.end = uring_end

const struct ct_door ct_uring_door = {
	URING_DOOR(uring), .open = uring_open, .close = uring_close,
};

const struct ct_door ct_async_door = {
	URING_DOOR(async), .open = uring_open, .close = uring_close,
};

const struct ct_door ct_sqpoll_door = {
	URING_DOOR(sqpoll), .open = uring_open, .close = uring_close,
};

const struct ct_door ct_fixed_door = {
	URING_DOOR(fixed), .open = fixed_open, .close = fixed_close,
};

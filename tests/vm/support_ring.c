// SPDX-License-Identifier: MIT
/*
 * Calls through io_uring. Headers of Debian 12 do not have the operation: what it needs is written
 * here by its place.
 */
#include <liburing.h>

#include "support.h"

#define OP_URING_CMD	46
#define SQE_CMD_OP	8
#define SQE_CMD		48

void kvpv_prepare(struct io_uring_sqe *sqe, int fd, u32 op, void *arg, u32 size)
{
	const struct kvp_uring_cmd cmd = { .arg = kvpv_ptr(arg), .len = size };
	const u32 cmd_op = KVP_IOC(op);

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = OP_URING_CMD;
	sqe->fd = fd < 0 ? 0 : fd;
	sqe->flags = fd < 0 ? IOSQE_FIXED_FILE : 0;
	memcpy((char *)sqe + SQE_CMD_OP, &cmd_op, sizeof(cmd_op));
	memcpy((char *)sqe + SQE_CMD, &cmd, sizeof(cmd));
}

int kvpv_ring_call_on(struct io_uring *ring, int fd, u32 op, void *arg, u32 size, int id,
		      u32 flags)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	struct io_uring_cqe *cqe;
	int ret;

	kvpv_true(sqe);
	kvpv_prepare(sqe, fd, op, arg, size);
	sqe->personality = id;
	sqe->flags |= flags;
	kvpv_same(io_uring_submit(ring), 1);
	kvpv_same(io_uring_wait_cqe(ring, &cqe), 0);
	ret = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	kvpv_head = *(struct kvp_head *)arg;
	return ret;
}

int kvpv_ring_call(int fd, u32 op, void *arg, u32 size, u32 flags)
{
	struct kvp_head *head = arg;
	struct io_uring ring;
	int ret;

	head->size = size;
	kvpv_same(io_uring_queue_init(4, &ring, 0), 0);
	ret = kvpv_ring_call_on(&ring, fd, op, arg, size, 0, flags);
	io_uring_queue_exit(&ring);
	return ret;
}

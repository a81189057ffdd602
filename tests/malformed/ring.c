// SPDX-License-Identifier: MIT
/*
 * Calls by io_uring, in the submission or in a worker. Owns the ring of the process, which has one
 * registered buffer: an sqe that names it is refused by the device, not before.
 */
#include <errno.h>
#include <string.h>

#include <liburing.h>

#include "malformed.h"

#define URING_CMD_FLAGS	28	/* place in the sqe; not in Debian 12's header */

static struct io_uring ring;

void mf_ring_process(void)
{
	static char buffer[MF_PAGE];
	struct iovec iov = { .iov_base = buffer, .iov_len = sizeof(buffer) };
	int err = io_uring_queue_init(4, &ring, 0);

	if (!err)
		err = io_uring_register_buffers(&ring, &iov, 1);
	if (err)
		ct_die("io_uring: %s", strerror(-err));
}

static int complete(void)
{
	struct io_uring_cqe *cqe;
	int result;
	int err;

	do {
		err = io_uring_wait_cqe(&ring, &cqe);
	} while (err == -EINTR);
	if (err)
		ct_die("io_uring: no completion: %s", strerror(-err));
	result = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	return result;
}

int mf_ring_call(int fd, const struct mf_call *mf)
{
	const struct kvp_uring_cmd cmd = { .arg = mf->addr, .len = mf->len, .zero = mf->sqe_zero };
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	int ret;

	if (!sqe)
		ct_die("the ring is full");
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->cmd_op = mf->cmd;
	sqe->flags = mf->entrance == MF_ASYNC ? IOSQE_ASYNC : 0;
	sqe->ioprio = mf->sqe_ioprio;
	memcpy((char *)sqe + URING_CMD_FLAGS, &mf->sqe_flags, sizeof(mf->sqe_flags));
	memcpy(sqe->cmd, &cmd, sizeof(cmd));
	ret = io_uring_submit(&ring);
	if (ret != 1)
		ct_die("io_uring took %d operations", ret);
	return complete();
}

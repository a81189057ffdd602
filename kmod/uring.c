// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls by IORING_OP_URING_CMD: the same as by ioctl(2), with the pointer to the
 * struct in the sqe. Owns no state.
 *
 * A command is complete when its handler returns, so none can be parked: one that
 * is could not be cancelled on 6.1, where execve(2) would wait for it for ever. The
 * result is 0 or a negative errno; 6.1 loses a positive one.
 */
#include "device.h"
#include "compat.h"

/*
 * The sqe lies in memory that the caller may write to meanwhile. Never -EAGAIN, to come again in a
 * worker: 6.12 would read the sqe's place in the ring then, where the next one may be. So
 * an operation that takes long takes it from the thread that submits, unless IOSQE_ASYNC is set.
 */
int kvpool_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const struct kvp_uring_cmd *sqe = kvpool_uring_arg(cmd);
	const struct kvp_uring_cmd arg = {
		.arg = READ_ONCE(sqe->arg),
		.len = READ_ONCE(sqe->len),
		.zero = READ_ONCE(sqe->zero),
	};
	const u32 nr = kvpool_op_nr(cmd->cmd_op);

	if (!kvp_op_find(nr))
		return -ENOTTY;
	if (arg.zero || !arg.len || cmd->flags & IORING_URING_CMD_FIXED)
		return -EINVAL;
	return kvpool_call(cmd->file->private_data, nr, arg.arg, arg.len);
}

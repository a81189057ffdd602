/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only place that knows how kernels differ. What a kernel offers is asked
 * of its headers: Kbuild looks there and defines KVPOOL_HAVE_*.
 */
#ifndef KVPOOL_COMPAT_H
#define KVPOOL_COMPAT_H

#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/module.h>
#ifdef KVPOOL_HAVE_IO_URING_CMD_H
#include <linux/io_uring/cmd.h>
#else
#include <linux/io_uring.h>
#endif

/* The 16 bytes of the caller's sqe, which may change while they are read. */
static inline const struct kvp_uring_cmd *kvpool_uring_arg(const struct io_uring_cmd *cmd)
{
#if defined(io_uring_sqe_cmd)
	return io_uring_sqe_cmd(cmd->sqe, struct kvp_uring_cmd);
#elif defined(KVPOOL_HAVE_IO_URING_CMD_H)
	return io_uring_sqe_cmd(cmd->sqe);
#else
	return cmd->cmd;
#endif
}

/* A new descriptor, close-on-exec, of the calling process for a file. */
static inline int kvpool_receive_fd(struct file *file)
{
#ifdef KVPOOL_HAVE_RECEIVE_FD_TO_USER
	return receive_fd(file, NULL, O_CLOEXEC);
#else
	return receive_fd(file, O_CLOEXEC);
#endif
}

#ifndef KVPOOL_HAVE_VM_FLAGS_SET
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/* A timer that calls @function when it is due. */
static inline void kvpool_hrtimer_setup(struct hrtimer *timer,
					enum hrtimer_restart (*function)(struct hrtimer *timer),
					clockid_t clock, enum hrtimer_mode mode)
{
#ifdef KVPOOL_HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, function, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = function;
#endif
}

/* MODULE_IMPORT_NS() takes a name or, from 6.13 on, a string. */
#define KVPOOL_IMPORT_DMA_BUF	MODULE_INFO(import_ns, "DMA_BUF")

#endif /* KVPOOL_COMPAT_H */

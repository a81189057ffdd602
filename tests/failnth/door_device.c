// SPDX-License-Identifier: MIT
/*
 * The device as a door of the sweep: by ioctl(2), and by io_uring in the submission. What fails is
 * said to the kernel (fault_device.c). Owns the ring.
 */
#include <dirent.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <liburing.h>

#include "device.h"

#define ENTRIES		4

static struct io_uring ring;

/* ---- clients ---- */

static int device_open(u32 uid)
{
	return uid ? kvpv_open_as(uid, 0) : kvpv_open();
}

/* What it held has come back when the module is in use no more by it. */
static void device_close(int fd)
{
	u64 uses = kvpv_module_uses();

	close(fd);
	kvpv_until(KVPV_WAIT_MS, kvpv_module_uses() < uses);
}

static void device_close_file(int fd)
{
	kvpv_sys(close(fd));
}

static u32 files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	u32 nr = 0;

	kvpv_true(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

void fn_device_resources(char text[64])
{
	snprintf(text, 64, "%u files, module %llu", files(),
		 (unsigned long long)kvpv_module_uses());
}

/* ---- ioctl(2) ---- */

static int ioctl_call(int fd, u32 op, void *arg, u32 size)
{
	u32 nth = fn_nth;
	int ret;

	(void)size;
	fn_nth = 0;
	fn_fault_arm(nth);
	ret = ioctl(fd, KVP_IOC(op), arg) ? -errno : 0;
	if (fn_fault_disarm(nth))
		fn_met = FN_SOME;
	return ret;
}

/* ---- io_uring ---- */

static void ring_begin(void)
{
	kvpv_same(io_uring_queue_init(ENTRIES, &ring, 0), 0);
}

static bool uring_begin(void)
{
	if (!fn_fault_begin())
		return false;
	ring_begin();
	return true;
}

static int uring_call(int fd, u32 op, void *arg, u32 size)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	struct io_uring_cqe *cqe;
	u32 nth = fn_nth;
	int ret;

	fn_nth = 0;
	kvpv_true(sqe);
	kvpv_prepare(sqe, fd, op, arg, size);
	fn_fault_arm(nth);
	ret = io_uring_submit(&ring);
	if (fn_fault_disarm(nth))
		fn_met = FN_SOME;
	if (ret == 1) {
		kvpv_same(io_uring_wait_cqe(&ring, &cqe), 0);
		ret = cqe->res;
		io_uring_cqe_seen(&ring, cqe);
		return ret;
	}
	/* The kernel took nothing, and would with the next one. */
	io_uring_queue_exit(&ring);
	ring_begin();
	if (fn_met == FN_NONE)
		kvpv_fail("io_uring took nothing: %s", strerror(-ret));
	return FN_NOT_CALLED;
}

static void uring_end(void)
{
	io_uring_queue_exit(&ring);
}

static void no_end(void)
{
}

#define DEVICE_DOOR					\
	.kinds = 1,					\
	.kind = { "points" },				\
	.open = device_open,				\
	.close = device_close,				\
	.close_file = device_close_file,		\
	.resources = fn_device_resources

const struct fn_door fn_ioctl_door = {
	DEVICE_DOOR, .name = "ioctl", .begin = fn_fault_begin, .call = ioctl_call, .end = no_end,
};

const struct fn_door fn_uring_door = {
	DEVICE_DOOR, .name = "io_uring", .begin = uring_begin, .call = uring_call,
	.end = uring_end,
};

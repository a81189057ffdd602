// SPDX-License-Identifier: MIT
/*
 * The device, by ioctl(2) and, in the 64-bit program, by a ring. Owns no state.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "malformed.h"

#define NODE	"/dev/kvpool"

static bool device_begin(void)
{
	if (access(NODE, F_OK))
		return false;
	if (geteuid())
		ct_die("the device is opened as several users: only for root");
	return true;
}

static int device_open_fd(__u32 uid)
{
	int fd;

	if (seteuid(uid))
		ct_die("seteuid %u: %m", uid);
	fd = open(NODE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		ct_die("%s as uid %u: %m", NODE, uid);
	if (seteuid(0))
		ct_die("seteuid 0: %m");
	return fd;
}

static struct ct_conn *device_open(__u32 uid)
{
	struct ct_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		ct_die("no memory for a client");
	conn->fd = device_open_fd(uid);
	return conn;
}

static int device_call(struct ct_conn *conn, const struct mf_call *mf)
{
	const int fd = mf->other_file ? mf->fd : conn->fd;
	int ret;

	if (mf->entrance != MF_IOCTL)
		return mf_ring_call(fd, mf);
	/* The whole address, where it fits. */
	ret = ioctl(fd, mf->cmd, (unsigned long)mf->addr);
	return ret == -1 ? -errno : ret;
}

static void device_close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void device_close(struct ct_conn *conn)
{
	device_close_fd(conn->fd);
	free(conn);
}

static void device_sweep(int from, int but)
{
	if (but < from) {
		close_range(from, ~0U, 0);
		return;
	}
	if (but > from)
		close_range(from, but - 1, 0);
	close_range(but + 1, ~0U, 0);
}

#define DEVICE_DOOR							\
	.name = "device",						\
	.device = true,							\
	.begin = device_begin,						\
	.open = device_open,						\
	.call = device_call,						\
	.close = device_close,						\
	.open_fd = device_open_fd,					\
	.close_fd = device_close_fd,					\
	.sweep = device_sweep

const struct mf_door mf_device_door = {
	DEVICE_DOOR, .rings = true, .process = mf_ring_process,
};

const struct mf_door mf_ioctl_door = { DEVICE_DOOR };

// SPDX-License-Identifier: MIT
/*
 * The device by ioctl(2). The 32-bit program has this door only.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "contract.h"

struct ct_conn {
	int fd;
};

static struct ct_conn *ioctl_open(__u32 uid)
{
	struct ct_conn *conn = malloc(sizeof(*conn));

	if (!conn)
		ct_die("no memory for a client");
	conn->fd = ct_device_open(uid);
	return conn;
}

static int ioctl_call(struct ct_conn *conn, __u32 nr, void *arg, __u32 len)
{
	int ret = ioctl(conn->fd, KVP_IOC(nr), arg);

	return ret == -1 ? -errno : ret;
}

static void ioctl_close(struct ct_conn *conn)
{
	ct_device_close(conn->fd);
	free(conn);
}

const struct ct_door ct_ioctl_door = {
	.name = "ioctl",
	.device = true,
	.begin = ct_device_begin,
	.open = ioctl_open,
	.call = ioctl_call,
	.close = ioctl_close,
};

// SPDX-License-Identifier: MIT
/*
 * What the doors of the device share: opening it as another user, and waiting for the end of what
 * was opened. Owns no state.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "contract.h"

#define NODE		"/dev/kvpool"
#define REFERENCES	"/sys/module/kvpool/refcnt"
#define WAIT_MS		10000

bool ct_device_begin(const struct ct_door *door)
{
	if (access(NODE, F_OK))
		return false;
	if (geteuid())
		ct_die("the device's doors open it as several users: only for root");
	return true;
}

/* The group stays root's, which the node lets in. */
int ct_device_open(__u32 uid)
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

int ct_device_files(void)
{
	FILE *file = fopen(REFERENCES, "re");
	int nr;

	if (!file || fscanf(file, "%d", &nr) != 1)
		ct_die("%s: %m", REFERENCES);
	fclose(file);
	return nr;
}

void ct_device_wait(int files)
{
	const struct timespec nap = { .tv_nsec = 200000 };
	__u32 naps = 0;

	while (ct_device_files() > files) {
		if (++naps > WAIT_MS * 5)
			ct_die("a file of the device that was closed is in use");
		nanosleep(&nap, NULL);
	}
}

/* A ring, or a thread of one, may have the file a little longer. */
void ct_device_close(int fd)
{
	int files = ct_device_files();

	close(fd);
	ct_device_wait(files - 1);
}

// SPDX-License-Identifier: MIT
/*
 * The kernel's fault injection: /proc/thread-self/fail-nth says which point of this thread fails
 * next. Owns that file.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"

#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define DEBUGFS		"/sys/kernel/debug/"

static int file = -1;
static bool dry;		/* nothing ever fails */

void fn_fault_none(void)
{
	dry = true;
}

bool fn_fault_begin(void)
{
	static const char *const settings[][2] = {
		{ "failslab/ignore-gfp-wait", "N" },
		{ "failslab/verbose", "0" },
		{ "fail_page_alloc/ignore-gfp-wait", "N" },
		{ "fail_page_alloc/ignore-gfp-highmem", "N" },
		{ "fail_page_alloc/min-order", "0" },
		{ "fail_page_alloc/verbose", "0" },
		{ "fail_usercopy/verbose", "0" },
	};
	char path[128];
	u32 i;

	if (file >= 0 || dry)
		return true;
	file = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	if (file < 0 || access(DEBUGFS "failslab", F_OK))
		return false;
	for (i = 0; i < KVPV_COUNT(settings); i++) {
		snprintf(path, sizeof(path), DEBUGFS "%s", settings[i][0]);
		kvpv_write_file(path, settings[i][1]);
	}
	/* A page of ours that is not there would need an allocation. */
	kvpv_sys(mlockall(MCL_CURRENT | MCL_FUTURE));
	return true;
}

static ssize_t write_number(u32 nth)
{
	char text[16];

	return pwrite(file, text, snprintf(text, sizeof(text), "%u", nth), 0);
}

void fn_fault_arm(u32 nth)
{
	if (nth && !dry && write_number(nth) < 0)
		kvpv_fail(FAIL_NTH ": %s", strerror(errno));
}

bool fn_fault_disarm(u32 nth)
{
	char text[16] = "";

	if (!nth || dry)
		return false;
	/* The copy of the answer is a point, too: if it fails it was the one that is left. */
	if (pread(file, text, sizeof(text) - 1, 0) < 0)
		return false;
	if (!strtoul(text, NULL, 10))
		return true;
	/* And so is the copy of this. */
	if (write_number(0) < 0 && write_number(0) < 0)
		kvpv_fail(FAIL_NTH ": %s", strerror(errno));
	return false;
}

// SPDX-License-Identifier: MIT
/*
 * The sweep on the device, in a kernel with fault injection. The module is not loaded yet.
 *
 *	fail_nth [--dry] [PART OF A NAME]
 *
 * Prints the points of each scenario and system call. Not of loading the module, where the kernel
 * itself warns of what fails. --dry: nothing fails, on any kernel. Exit status 1: something was
 * found; 77: this kernel cannot.
 */
#include <fcntl.h>
#include <unistd.h>

#include "device.h"

#define KMEMLEAK	"/sys/kernel/debug/kmemleak"

/* It gives up, in silence, when it has no memory left for itself: then a later scan is no proof. */
static void check_kmemleak(void)
{
	int file = open(KMEMLEAK, O_WRONLY | O_CLOEXEC);

	if (file < 0)
		return;
	if (write(file, "stack=on", 8) < 0)
		fn_finding("kmemleak has given up: %s", strerror(errno));
	close(file);
}

static void sweep_door(const struct fn_door *door, const char *only, struct fn_counts *total)
{
	fn_door = door;
	kvpv_way = door->call;
	kvpv_true(door->begin());
	fn_sweep(only, total);
	door->end();
}

int main(int argc, char **argv)
{
	struct fn_counts total = {};
	bool dry = argc > 1 && !strcmp(argv[1], "--dry");
	const char *only = argc > 1 + dry ? argv[1 + dry] : "";

	setlinebuf(stdout);
	if (dry) {
		fn_fault_none();
	} else if (!fn_fault_begin()) {
		printf("this kernel injects no faults\n");
		return 77;
	}
	kvpv_insmod("kvpool", "mode=0666");
	sweep_door(&fn_ioctl_door, only, &total);
	fn_system_sweep(only, &total);
	sweep_door(&fn_uring_door, only, &total);
	kvpv_same(kvpv_module_uses(), 0);
	kvpv_rmmod("kvpool");
	check_kmemleak();
	return fn_summary(&total) && !(dry && !fn_findings);
}

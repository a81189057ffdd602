// SPDX-License-Identifier: MIT
/*
 * The door of the 32-bit program, which has neither the core nor liburing in it.
 */
#include "malformed.h"

extern const struct mf_door mf_ioctl_door;

const struct mf_door *const mf_doors[] = { &mf_ioctl_door, NULL };

void (*mf_native_hook)(void);

/* Nobody asks for a ring of a door that has none. */
void mf_ring_process(void)
{
}

int mf_ring_call(int fd, const struct mf_call *mf)
{
	return -1;
}

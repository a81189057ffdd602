/* SPDX-License-Identifier: MIT */
/*
 * The parts of the demo.
 */
#ifndef KVCTL_DEMO_H
#define KVCTL_DEMO_H

#include <kvpool.h>

/*
 * Prefix sharing and a fork, in a pool of a few blocks; and the small trace, in a larger one.
 * Each explains itself on stdout. 0, or -1 after a message on stderr: a call failed, or
 * what was shown is not as it should be.
 */
int kvctl_demo_blocks(enum kvp_door_kind door);
int kvctl_demo_trace(enum kvp_door_kind door);

#endif /* KVCTL_DEMO_H */

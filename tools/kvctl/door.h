/* SPDX-License-Identifier: MIT */
/*
 * Which door a pool is behind: what a bare name stands for, and names for pools of kvctl's own.
 */
#ifndef KVCTL_DOOR_H
#define KVCTL_DOOR_H

#include <argp.h>
#include <stdbool.h>

#include <kvpool.h>

#define KVCTL_DOOR_WORDS	"expected inproc (inside this process) or dev (/dev/kvpool)"

/* What a bare name stands for: KVP_DOOR_DEFAULT, as the library says, until it is set. */
void kvctl_door_set(enum kvp_door_kind door);
enum kvp_door_kind kvctl_door(void);

/* The door of a pool that is named so, never KVP_DOOR_DEFAULT; of an unknown scheme any. */
enum kvp_door_kind kvctl_door_of(const char *pool);

/* @pool without its scheme. */
const char *kvctl_door_skip(const char *pool);

/* The argument of --door; EINVAL, and said, where it is none. */
error_t kvctl_args_door(struct argp_state *state, const char *text, enum kvp_door_kind *door);

#define KVCTL_OWN_LEN	(KVP_NAME_LEN + 16)

/*
 * A name for a pool of kvctl's own in @name: @base in this process; on the device, where others
 * have theirs, with the process id behind it. Returns @name.
 */
const char *kvctl_own_pool(enum kvp_door_kind door, const char *base, char name[KVCTL_OWN_LEN]);

#endif /* KVCTL_DOOR_H */

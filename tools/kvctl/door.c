// SPDX-License-Identifier: MIT
/*
 * Which door a pool is behind. Owns what a bare name stands for, which only the shell sets, before
 * it runs anything.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "door.h"

static enum kvp_door_kind bare_name = KVP_DOOR_DEFAULT;

void kvctl_door_set(enum kvp_door_kind door)
{
	bare_name = door;
}

enum kvp_door_kind kvctl_door(void)
{
	return bare_name;
}

enum kvp_door_kind kvctl_door_of(const char *pool)
{
	const char *end = strpbrk(pool, ":?");
	const char *meant = getenv("KVPOOL_DOOR");

	if (end && *end == ':')
		return strncmp(pool, "dev:", 4) ? KVP_DOOR_INPROC : KVP_DOOR_DEVICE;
	if (bare_name != KVP_DOOR_DEFAULT)
		return bare_name;
	return meant && !strcmp(meant, "inproc") ? KVP_DOOR_INPROC : KVP_DOOR_DEVICE;
}

const char *kvctl_door_skip(const char *pool)
{
	const char *end = strpbrk(pool, ":?");

	return end && *end == ':' ? end + 1 : pool;
}

error_t kvctl_args_door(struct argp_state *state, const char *text, enum kvp_door_kind *door)
{
	enum kvp_door_kind kind;

	for (kind = KVP_DOOR_INPROC; kind <= KVP_DOOR_DEVICE; kind++) {
		if (!strcmp(text, kvp_door_name(kind))) {
			*door = kind;
			return 0;
		}
	}
	argp_error(state, "--door is '%s'; " KVCTL_DOOR_WORDS, text);
	return EINVAL;
}

const char *kvctl_own_pool(enum kvp_door_kind door, const char *base, char name[KVCTL_OWN_LEN])
{
	if (door == KVP_DOOR_DEVICE)
		snprintf(name, KVCTL_OWN_LEN, "dev:%s-%d", base, (int)getpid());
	else
		snprintf(name, KVCTL_OWN_LEN, "inproc:%s", base);
	return name;
}

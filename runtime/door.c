// SPDX-License-Identifier: MIT
/*
 * Which door a name means, and which process this is. Owns the count of forks, which only a
 * child that was just forked changes, before it has a second thread.
 *
 * A name with a scheme says its door. One without takes the device and nothing else, unless
 * the environment has KVPOOL_DOOR=inproc: a pool that others were to share, and that is made
 * inside one process because a module is not loaded, would be found out too late.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

_Atomic uint32_t kvp_generation;

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static bool forks_watched;	/* set once */

static void after_fork_child(void)
{
	atomic_fetch_add_explicit(&kvp_generation, 1, memory_order_relaxed);
}

static void watch(void)
{
	forks_watched = !pthread_atfork(NULL, NULL, after_fork_child);
}

bool kvp_watch_forks(void)
{
	pthread_once(&fork_once, watch);
	return forks_watched;
}

static const struct kvp_door_ops *const doors[] = {
	[KVP_DOOR_INPROC] = &kvp_inproc_ops,
	[KVP_DOOR_DEVICE] = &kvp_device_ops,
};

static const char *const names[] = {
	[KVP_DOOR_INPROC] = "inproc",
	[KVP_DOOR_DEVICE] = "dev",
};

static bool is_door(enum kvp_door_kind kind)
{
	return kind == KVP_DOOR_INPROC || kind == KVP_DOOR_DEVICE;
}

const char *kvp_door_name(enum kvp_door_kind door)
{
	return is_door(door) ? names[door] : "unknown";
}

/* What plain names take. */
static int find_default(enum kvp_door_kind *kind)
{
	const char *asked = secure_getenv("KVPOOL_DOOR");

	if (!asked || !*asked || !strcmp(asked, names[KVP_DOOR_DEVICE]))
		*kind = KVP_DOOR_DEVICE;
	else if (!strcmp(asked, names[KVP_DOOR_INPROC]))
		*kind = KVP_DOOR_INPROC;
	else
		return kvp_error_set(-EINVAL, KVP_REASON_DOOR, 0,
				     "environment: KVPOOL_DOOR=%.40s: expected dev or inproc",
				     asked);
	return 0;
}

int kvp_door_find(enum kvp_door_kind kind, const struct kvp_door_ops **door)
{
	int err;

	if (kind == KVP_DOOR_DEFAULT) {
		err = find_default(&kind);
		if (err)
			return err;
	}
	if (!is_door(kind))
		return kvp_error_set(-EINVAL, KVP_REASON_DOOR, 0,
				     "door %d: expected one of KVP_DOOR_*", (int)kind);
	*door = doors[kind];
	return 0;
}

int kvp_door_abi(enum kvp_door_kind kind, struct kvp_abi *abi)
{
	struct kvp_abi arg = { .head.size = sizeof(arg) };
	const struct kvp_door_ops *door;
	struct kvp_conn *conn;
	int err;

	if (!abi)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "abi: abi is NULL");
	err = kvp_door_find(kind, &door);
	if (err)
		return err;
	door->lock();
	err = door->connect("abi", &conn);
	door->unlock();
	if (err)
		return err;
	err = door->call(conn, KVP_OP_ABI, &arg, sizeof(arg));
	if (err)
		kvp_error_call(err, KVP_OP_ABI, &arg.head);
	else
		*abi = arg;
	door->disconnect(conn);
	return err;
}

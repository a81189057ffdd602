// SPDX-License-Identifier: MIT
/*
 * The core in this process: as the runtime reaches it, and with arrays that are copies, as a
 * kernel has them. Owns the host. Credentials are made up, and those that the device would see.
 */
#include <stdlib.h>

#include "core.h"

#include "contract.h"
#include "copydoor.h"
#include "door.h"

struct ct_conn {
	struct kvp_client *client;
};

static struct kvp_host host;
static struct kvp_door copying;
static const struct kvp_door *entrance;

static bool inproc_begin(const struct ct_door *door)
{
	entrance = &kvp_inproc_door;
	kvp_host_init(&host);
	return true;
}

static bool copy_begin(const struct ct_door *door)
{
	copying = kvpt_copying_door;
	copying.features = kvp_inproc_door.features;
	copying.backing_take = kvp_inproc_door.backing_take;
	copying.backing_give = kvp_inproc_door.backing_give;
	copying.backing_drop = kvp_inproc_door.backing_drop;
	entrance = &copying;
	kvp_host_init(&host);
	return true;
}

static struct ct_conn *inproc_open(__u32 uid)
{
	struct kvp_cred cred = { .uid = uid, .admin = !uid, .persist = !uid };
	struct ct_conn *conn = malloc(sizeof(*conn));

	if (conn)
		conn->client = kvp_client_open(&host, entrance, &cred);
	if (!conn || IS_ERR_OR_NULL(conn->client))
		ct_die("no memory for a client");
	return conn;
}

static int inproc_call(struct ct_conn *conn, __u32 nr, void *arg, __u32 len)
{
	return kvp_call(conn->client, nr, (u64)(uintptr_t)arg, len);
}

static void inproc_close(struct ct_conn *conn)
{
	kvp_client_close(conn->client);
	free(conn);
}

static void inproc_end(void)
{
	kvp_host_exit(&host);
}

const struct ct_door ct_inproc_door = {
	.name = "inproc",
	.in_place = true,
	.begin = inproc_begin,
	.open = inproc_open,
	.call = inproc_call,
	.close = inproc_close,
	.end = inproc_end,
};

const struct ct_door ct_copy_door = {
	.name = "copy",
	.begin = copy_begin,
	.open = inproc_open,
	.call = inproc_call,
	.close = inproc_close,
	.end = inproc_end,
};

// SPDX-License-Identifier: MIT
/*
 * The core in this process: as the runtime reaches it, with arrays that are copies, as a kernel has
 * them, and where each call fails before it succeeds. Owns the host. Credentials are made up, and
 * those that the device would see.
 */
#include <stdlib.h>

#include "core.h"

#include "contract.h"
#include "copydoor.h"
#include "door.h"

#define STRUCT_READS	2	/* of every call: the size of its struct, and the struct */

struct ct_conn {
	struct kvp_client *client;
};

static struct kvp_host host;
static struct kvp_door copying;
static const struct kvp_door *entrance;
static unsigned long long nr_failed[2];	/* reads; allocations */

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

/*
 * One call of which point number @nth fails, as *@count counts them down. False: it had fewer, and
 * *@result is what it returned; else it said why it failed, and is as it was before.
 */
static bool fails(struct ct_conn *conn, const struct ct_op *op, void *arg, __u32 len, int *count,
		  int nth, int *result)
{
	const struct kvp_head *head = arg;
	const bool alloc = count == &kvp_shim_fail_alloc;
	__u8 saved[CT_ARG_BYTES];
	bool met;

	memcpy(saved, arg, op->shape.size);
	*count = nth;
	*result = inproc_call(conn, op->nr, arg, len);
	met = !*count;
	*count = 0;
	if (!met)
		return false;
	/* Who has not read the size yet says nothing. */
	if (*result != (alloc ? -ENOMEM : -EFAULT) ||
	    (alloc && (head->reason != KVP_REASON_MEMORY || head->where)) ||
	    (!alloc && nth > 1 && head->reason != KVP_REASON_POINTER))
		ct_die("%s: %d reason %u where %u with %s %d failing", op->name, *result,
		       head->reason, head->where, alloc ? "allocation" : "read", nth);
	memcpy(arg, saved, op->shape.size);
	nr_failed[alloc]++;
	return true;
}

/*
 * The same call, but before it each allocation that it makes fails once, and so do the reads of
 * its struct. Not of a batch: those of its entries that were executed stand.
 */
static int failing_call(struct ct_conn *conn, __u32 nr, void *arg, __u32 len)
{
	const struct ct_op *op = ct_op_find(nr);
	int result, nth;

	if (!op || !arg || nr == KVP_OP_BATCH)
		return inproc_call(conn, nr, arg, len);
	for (nth = 1; nth <= STRUCT_READS; nth++)
		if (!fails(conn, op, arg, len, &kvpt_copydoor.fail_read, nth, &result))
			return result;
	for (nth = 1; fails(conn, op, arg, len, &kvp_shim_fail_alloc, nth, &result); nth++)
		;
	return result;
}

static void failing_end(void)
{
	fprintf(stderr, "contract: %llu allocations and %llu reads failed\n", nr_failed[true],
		nr_failed[false]);
	kvp_host_exit(&host);
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

const struct ct_door ct_failing_door = {
	.name = "failing",
	.begin = copy_begin,
	.open = inproc_open,
	.call = failing_call,
	.close = inproc_close,
	.end = failing_end,
};

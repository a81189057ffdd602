// SPDX-License-Identifier: MIT
/*
 * The door to the core in this process: a caller's pointers are pointers, and memory files
 * are kept by a second descriptor. Owns the one host of the process, under open_lock.
 *
 * fork()
 * ------
 * A child has a copy of the core's state as it was at the fork, possibly in the middle of another
 * thread's call, and shares the pool's bytes with its parent: were it to go on with
 * that copy, it would write into blocks that the parent gave to somebody else. So in the
 * child every client that was open is dead (calls give -EPERM), mappings of
 * pools are not inherited (bytes.c), the memory of the old host is left alone, and the
 * first pool that the child opens is in a host of its own. Descriptors of memory files stay
 * open until the child ends or executes something.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core.h"

#include "door.h"
#include "error.h"
#include "memfd.h"

/* Threads that open pools. Taken before any lock of the core. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static bool lock_watched;	/* set once: the lock is free in children */

/* open_lock. */
static struct kvp_host host;
static bool host_ready;

/**
 * struct kvp_conn - one client
 * @client: of the core
 * @generation: that of the process that opened it
 */
struct kvp_conn {
	struct kvp_client *client;
	uint32_t generation;
};

/* ---- the core's view of this process ---- */

static void *inproc_pointer(u64 addr)
{
	return (void *)(uintptr_t)addr;
}

static int inproc_read(void *dst, u64 addr, size_t len)
{
	if (!addr)
		return -EFAULT;
	memcpy(dst, inproc_pointer(addr), len);
	return 0;
}

static int inproc_write(u64 addr, const void *src, size_t len)
{
	if (!addr)
		return -EFAULT;
	memcpy(inproc_pointer(addr), src, len);
	return 0;
}

/* The caller keeps its arrays still during a call, as with memcpy(). */
static void *inproc_array(u64 addr, size_t len, void *room)
{
	return addr ? inproc_pointer(addr) : ERR_PTR(-EFAULT);
}

static int inproc_array_put(void *mem, void *room, u64 addr, size_t len, bool out)
{
	return 0;
}

struct inproc_backing {
	int fd;
};

static void *inproc_backing_take(s32 fd, u32 kind, u64 length)
{
	struct inproc_backing *backing;
	int err;

	if (kind != KVP_BACKING_MEMFD)
		return ERR_PTR(-EOPNOTSUPP);
	backing = malloc(sizeof(*backing));
	if (!backing)
		return ERR_PTR(-ENOMEM);
	/* Ours first, then checked: the caller may point its own elsewhere. */
	backing->fd = kvp_memfd_dup(fd);
	err = backing->fd < 0 ? backing->fd : kvp_memfd_check(backing->fd, length);
	if (!err)
		return backing;
	if (backing->fd >= 0)
		kvp_memfd_close(backing->fd);
	free(backing);
	return ERR_PTR(err);
}

static s32 inproc_backing_give(void *object)
{
	struct inproc_backing *backing = object;

	return kvp_memfd_dup(backing->fd);
}

static void inproc_backing_drop(void *object)
{
	struct inproc_backing *backing = object;

	kvp_memfd_close(backing->fd);
	free(backing);
}

static void inproc_fd_undo(s32 fd)
{
	kvp_memfd_close(fd);
}

const struct kvp_door kvp_inproc_door = {
	.read = inproc_read,
	.write = inproc_write,
	.array_in = inproc_array,
	.array_out = inproc_array,
	.array_inout = inproc_array,
	.array_put = inproc_array_put,
	.backing_take = inproc_backing_take,
	.backing_give = inproc_backing_give,
	.backing_drop = inproc_backing_drop,
	.fd_undo = inproc_fd_undo,
};

/* ---- the one host ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&open_lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&open_lock);
}

static void after_fork_child(void)
{
	host_ready = false;
	pthread_mutex_unlock(&open_lock);
}

static void watch_lock(void)
{
	lock_watched = !pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

static void inproc_lock(void)
{
	pthread_once(&fork_once, watch_lock);
	pthread_mutex_lock(&open_lock);
}

static void inproc_unlock(void)
{
	pthread_mutex_unlock(&open_lock);
}

/* ---- clients ---- */

static struct kvp_conn *make_client(void)
{
	struct kvp_cred cred = {
		.uid = geteuid(),
		.gid = getegid(),
		.pid = (u32)getpid(),
		.admin = geteuid() == 0,
		.persist = true,
	};
	struct kvp_conn *made;

	if (!lock_watched || !kvp_watch_forks())
		return NULL;
	if (!host_ready) {
		kvp_host_init(&host);
		host_ready = true;
	}
	made = malloc(sizeof(*made));
	if (!made)
		return NULL;
	snprintf(cred.command, sizeof(cred.command), "%s", program_invocation_short_name);
	made->client = kvp_client_open(&host, &kvp_inproc_door, &cred);
	if (!made->client) {
		free(made);
		return NULL;
	}
	made->generation = atomic_load_explicit(&kvp_generation, memory_order_relaxed);
	return made;
}

static int inproc_connect(const char *what, struct kvp_conn **conn)
{
	*conn = make_client();
	if (*conn)
		return 0;
	return kvp_error_set(-ENOMEM, KVP_REASON_MEMORY, 0, "%s: no memory for a client", what);
}

/* It is memory of this process. */
static int inproc_own(struct kvp_conn *conn)
{
	return 0;
}

static bool inproc_inherited(const struct kvp_conn *conn)
{
	return conn->generation !=
	       atomic_load_explicit(&kvp_generation, memory_order_relaxed);
}

static void inproc_disconnect(struct kvp_conn *conn)
{
	if (!inproc_inherited(conn))
		kvp_client_close(conn->client);
	free(conn);
}

int kvp_inproc_call(struct kvp_conn *conn, uint32_t op, void *arg, uint32_t len)
{
	if (inproc_inherited(conn))
		return -EPERM;
	return kvp_call(conn->client, op, (u64)(uintptr_t)arg, len);
}

static int inproc_batch(struct kvp_conn *conn, struct kvp_batch *arg, uint32_t len)
{
	return kvp_inproc_call(conn, KVP_OP_BATCH, arg, len);
}

static int inproc_fd(const struct kvp_conn *conn)
{
	return -EOPNOTSUPP;
}

static int inproc_counters(struct kvp_conn *conn, const struct kvp_counters_page **page)
{
	return -EOPNOTSUPP;
}

static int inproc_timelines(struct kvp_conn *conn, struct kvp_timeline **page)
{
	struct kvp_times *times;

	if (inproc_inherited(conn))
		return -EPERM;
	times = kvp_client_times(conn->client);
	if (!times)
		return -ENOMEM;
	*page = times->page;
	return 0;
}

/* Nobody else looks at timelines for those who wait in this process. */
static void inproc_sleep(struct kvp_conn *conn, uint64_t ns)
{
	wait_queue_head_t *wait = kvp_client_wait(conn->client);
	/* Before looking: what comes after that ends the sleep. */
	u32 seen = kvp_shim_wait_seen(wait);
	u64 next = kvp_client_scan(conn->client);
	bool ready = kvp_client_ready(conn->client);

	kvp_shim_wait(wait, seen, ready ? 0 : min_t(u64, next, ns));
}

const struct kvp_door_ops kvp_inproc_ops = {
	.lock = inproc_lock,
	.unlock = inproc_unlock,
	.connect = inproc_connect,
	.own = inproc_own,
	.disconnect = inproc_disconnect,
	.inherited = inproc_inherited,
	.call = kvp_inproc_call,
	.batch = inproc_batch,
	.fd = inproc_fd,
	.counters = inproc_counters,
	.timelines = inproc_timelines,
	.sleep = inproc_sleep,
};

const char *kvp_op_name(uint32_t op)
{
	const struct kvp_op_desc *desc = kvp_op_find(op);

	return desc ? desc->name : NULL;
}

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
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "core.h"

#include "door.h"
#include "memfd.h"

/* Threads that open pools. Taken before any lock of the core. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static bool forks_watched;	/* set once */

/* open_lock. */
static struct kvp_host host;
static bool host_ready;

/* Grows with every fork() on the way from the first process to this one. */
static _Atomic uint32_t generation;

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
static void *inproc_array(u64 addr, size_t len)
{
	return addr ? inproc_pointer(addr) : ERR_PTR(-EFAULT);
}

static int inproc_array_put(void *mem, u64 addr, size_t len, bool out)
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
		return ERR_PTR(-EINVAL);
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
	atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
	host_ready = false;
	pthread_mutex_unlock(&open_lock);
}

static void watch_forks(void)
{
	forks_watched = !pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

void kvp_inproc_lock(void)
{
	pthread_once(&fork_once, watch_forks);
	pthread_mutex_lock(&open_lock);
}

void kvp_inproc_unlock(void)
{
	pthread_mutex_unlock(&open_lock);
}

/* ---- clients ---- */

int kvp_inproc_connect(struct kvp_conn **conn)
{
	struct kvp_cred cred = {
		.uid = geteuid(),
		.gid = getegid(),
		.admin = geteuid() == 0,
		.persist = true,
	};
	struct kvp_conn *made;

	if (!forks_watched)
		return -ENOMEM;
	if (!host_ready) {
		kvp_host_init(&host);
		host_ready = true;
	}
	made = malloc(sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->client = kvp_client_open(&host, &kvp_inproc_door, &cred);
	if (!made->client) {
		free(made);
		return -ENOMEM;
	}
	made->generation = atomic_load_explicit(&generation, memory_order_relaxed);
	*conn = made;
	return 0;
}

void kvp_inproc_disconnect(struct kvp_conn *conn)
{
	if (!conn)
		return;
	if (!kvp_inproc_inherited(conn))
		kvp_client_close(conn->client);
	free(conn);
}

bool kvp_inproc_inherited(const struct kvp_conn *conn)
{
	return conn->generation != atomic_load_explicit(&generation, memory_order_relaxed);
}

int kvp_inproc_call(struct kvp_conn *conn, uint32_t op, void *arg, uint32_t len)
{
	if (kvp_inproc_inherited(conn))
		return -EPERM;
	return kvp_call(conn->client, op, (u64)(uintptr_t)arg, len);
}

const char *kvp_inproc_op_name(uint32_t op)
{
	const struct kvp_op_desc *desc = kvp_op_find(op);

	return desc ? desc->name : NULL;
}

// SPDX-License-Identifier: MIT
/*
 * The door through the character device: a client is an open file of it. Owns the descriptors
 * and the two pages of clients; constant from open to close but for the page of counters,
 * which the first who asks maps.
 *
 * Calls are ioctls. A batch goes through the io_uring of the calling thread (ring.c) where there
 * is one, as one command: KVP_OP_BATCH. Not as a chain of commands, one an entry: an entry can
 * name what an earlier one of the batch has made (KVP_REF), which is not known when a chain is
 * submitted; a link ends with the first that fails, and a batch does so only if asked; and the
 * entries of a batch are executed in order without asking for it. So a batch is the same through
 * both ways, and where io_uring is forbidden it is an ioctl.
 *
 * The end of a client
 * -------------------
 * The page of timelines is mapped before a pool is attached to. The kernel ends the client with
 * that mapping, so it ends with this process, whoever has a copy of the descriptor: a
 * forked child, or who got it over a socket. Neither page is inherited by fork(); a child that
 * closes a pool of its parent's closes its copy of the descriptor and nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"
#include "ring.h"

#define DEVICE_PATH	"/dev/kvpool"
#define MAX_OP		0xff	/* KVP_IOC() has room for no more */

/**
 * struct kvp_conn - one client
 * @fd: its file
 * @generation: that of the process that opened it
 * @features: KVP_FEATURE_* of the device
 * @timelines: the page of timelines, whose end is the client's; NULL if it is not mapped
 * @counters: the page of counters, NULL until somebody asks for it
 */
struct kvp_conn {
	int fd;
	uint32_t generation;
	uint64_t features;
	struct kvp_timeline *timelines;
	_Atomic(const struct kvp_counters_page *) counters;
};

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static bool device_inherited(const struct kvp_conn *conn)
{
	return conn->generation !=
	       atomic_load_explicit(&kvp_generation, memory_order_relaxed);
}

/* ---- calls ---- */

static int device_ioctl(int fd, uint32_t op, void *arg)
{
	return ioctl(fd, KVP_IOC(op), arg) ? -errno : 0;
}

static int device_call(struct kvp_conn *conn, uint32_t op, void *arg, uint32_t len)
{
	if (device_inherited(conn))
		return -EPERM;
	return op > MAX_OP ? -ENOTTY : device_ioctl(conn->fd, op, arg);
}

/*
 * Is that an answer of the device's? What it refuses has a reason; without one it was the kernel
 * that let no such command come to it.
 */
static bool answered(int result, const struct kvp_head *head)
{
	switch (result) {
	case -EOPNOTSUPP:
	case -EINVAL:
	case -EACCES:
	case -EPERM:
		return head->reason != KVP_REASON_NONE;
	default:
		return true;
	}
}

static int device_batch(struct kvp_conn *conn, struct kvp_batch *arg, uint32_t len)
{
	int result;

	if (device_inherited(conn))
		return -EPERM;
	if ((conn->features & KVP_FEATURE_URING) &&
	    kvp_ring_call(conn->fd, KVP_OP_BATCH, arg, len, &result) &&
	    answered(result, &arg->head))
		return result;
	return device_ioctl(conn->fd, KVP_OP_BATCH, arg);
}

/* ---- clients ---- */

/* Names are the kernel's to keep apart, for all processes. */
static void device_lock(void)
{
}

static void device_unlock(void)
{
}

static const char *device_path(void)
{
	const char *path = secure_getenv("KVPOOL_DEVICE");

	return path && *path ? path : DEVICE_PATH;
}

static int no_device(const char *what, const char *path, const char *why)
{
	return kvp_error_set(-EOPNOTSUPP, KVP_REASON_DOOR, 0,
			     "%s: there is no device %.60s (%s): expected the module kvpool to be loaded, or inproc:NAME for a pool inside this process",
			     what, path, why);
}

static int open_failed(const char *what, const char *path, int err)
{
	if (err == -ENOENT || err == -ENOTDIR || err == -ENXIO || err == -ENODEV)
		return no_device(what, path, strerrordesc_np(-err));
	return kvp_error_set(err, KVP_REASON_DOOR, 0,
			     "%s: cannot open the device %.60s: %s: expected to be allowed to, or inproc:NAME for a pool inside this process",
			     what, path, strerrordesc_np(-err));
}

static int device_open(const char *what, int *fd, uint64_t *features)
{
	struct kvp_abi abi = { .head.size = sizeof(abi) };
	const char *path = device_path();

	*fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (*fd < 0)
		return open_failed(what, path, -errno);
	if (device_ioctl(*fd, KVP_OP_ABI, &abi)) {
		close(*fd);
		return no_device(what, path, "it does not answer as kvpool does");
	}
	*features = abi.features;
	return 0;
}

static int device_connect(const char *what, struct kvp_conn **conn)
{
	struct kvp_conn *made = kvp_watch_forks() ? calloc(1, sizeof(*made)) : NULL;
	int err;

	if (!made)
		return kvp_error_set(-ENOMEM, KVP_REASON_MEMORY, 0,
				     "%s: no memory for a client", what);
	err = device_open(what, &made->fd, &made->features);
	if (err) {
		free(made);
		return err;
	}
	made->generation = atomic_load_explicit(&kvp_generation, memory_order_relaxed);
	*conn = made;
	return 0;
}

static int device_own(struct kvp_conn *conn)
{
	void *page;

	if (!(conn->features & KVP_FEATURE_MMAP))
		return 0;	/* the client ends with the last close of its file */
	page = mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, conn->fd,
		    KVP_MMAP_TIMELINES);
	if (page == MAP_FAILED)
		return -errno;
	conn->timelines = page;
	return 0;
}

static void device_disconnect(struct kvp_conn *conn)
{
	const struct kvp_counters_page *counters = atomic_load(&conn->counters);

	if (!device_inherited(conn)) {
		if (conn->timelines)
			munmap(conn->timelines, page_bytes());
		if (counters)
			munmap((void *)counters, page_bytes());
	}
	close(conn->fd);
	free(conn);
}

/* ---- what only a device has ---- */

static int device_fd(const struct kvp_conn *conn)
{
	return device_inherited(conn) ? -EPERM : conn->fd;
}

static int device_counters(struct kvp_conn *conn, const struct kvp_counters_page **page)
{
	const struct kvp_counters_page *had = NULL;
	void *made;
	int err;

	if (device_inherited(conn))
		return -EPERM;
	*page = atomic_load(&conn->counters);
	if (*page)
		return 0;
	if (!(conn->features & KVP_FEATURE_MMAP))
		return -EOPNOTSUPP;
	made = mmap(NULL, page_bytes(), PROT_READ, MAP_SHARED, conn->fd, KVP_MMAP_COUNTERS);
	if (made == MAP_FAILED)
		return -errno;
	if (madvise(made, page_bytes(), MADV_DONTFORK)) {
		err = -errno;
		munmap(made, page_bytes());
		return err;
	}
	*page = made;
	/* Another thread may have been faster. */
	if (!atomic_compare_exchange_strong(&conn->counters, &had, *page)) {
		munmap(made, page_bytes());
		*page = had;
	}
	return 0;
}

static int device_timelines(struct kvp_conn *conn, struct kvp_timeline **page)
{
	if (device_inherited(conn))
		return -EPERM;
	*page = conn->timelines;
	return *page ? 0 : -EOPNOTSUPP;
}

#define NS_PER_S	1000000000ULL
#define LONGEST_SLEEP_S	3600

static void device_sleep(struct kvp_conn *conn, uint64_t ns)
{
	struct pollfd fd = { .fd = conn->fd, .events = POLLIN };
	struct timespec time = {
		.tv_sec = (time_t)(ns / NS_PER_S),
		.tv_nsec = (long)(ns % NS_PER_S),
	};

	if (ns / NS_PER_S > LONGEST_SLEEP_S)
		time.tv_sec = LONGEST_SLEEP_S;
	/* Also woken by a signal: who sleeps looks, and sleeps again. */
	ppoll(&fd, 1, &time, NULL);
}

const struct kvp_door_ops kvp_device_ops = {
	.lock = device_lock,
	.unlock = device_unlock,
	.connect = device_connect,
	.own = device_own,
	.disconnect = device_disconnect,
	.inherited = device_inherited,
	.call = device_call,
	.batch = device_batch,
	.fd = device_fd,
	.counters = device_counters,
	.timelines = device_timelines,
	.sleep = device_sleep,
};

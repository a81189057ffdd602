/* SPDX-License-Identifier: MIT */
/*
 * A device of the program's own, for tests of the door through the device: it stands in for the
 * system calls that the door makes, and has a second copy of the core behind them. So what the
 * door asks of a kernel is seen, and kernels that refuse something can be had. For one test
 * program each, of one thread unless it waits for the others.
 *
 * The fake knows which descriptors are its clients; calls on others go to the kernel.
 */
#ifndef KVPT_FAKE_DEVICE_H
#define KVPT_FAKE_DEVICE_H

#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core.h"

#include "door.h"

#define PATH		"/fake/kvpool"
#define MAX_CLIENTS	64

/* ---- the device ---- */

/**
 * struct fake_client - what is behind a descriptor
 * @client: of the core; NULL: nothing
 * @timelines: the page that ends it; its values are the core's before each call
 * @dead: it has ended
 */
struct fake_client {
	struct kvp_client *client;
	struct kvp_timeline *timelines;
	bool dead;
};

static struct fake {
	struct fake_client clients[MAX_CLIENTS];	/* by descriptor */
	uint64_t features;
	uint32_t uid;		/* of those who open it */
	bool child;		/* this is one: the device lives in the parent */
	bool uring;		/* commands of a ring come to it */
	int map_error;		/* errno of its mmap(), 0: none */
	int plain_map_error;	/* the same of other files' */
	int ring_error;		/* errno with which a ring is refused, 0: none */
	int unsealed;		/* a descriptor to give instead of backings, 0: none */
	int nr_maps;
	int nr_rings;		/* asked for */
	int nr_rings_ended;
	int nr_commands;	/* came through a ring */
	int nr_ioctls[256];	/* by operation */
	int nr_polls;
	uint64_t polled_ns;	/* time that the last poll was given */
	unsigned int slept_ms;
	void (*while_asleep)(void);	/* also in a poll */
	void (*before)(uint32_t op);	/* an ioctl */
} fake;

static struct kvp_host host;
static struct kvp_door fake_door;

static struct fake_client *client_of(int fd)
{
	return fd >= 0 && fd < MAX_CLIENTS && fake.clients[fd].client ? &fake.clients[fd] : NULL;
}

static int nr_clients(void)
{
	int i, nr = 0;

	for (i = 0; i < MAX_CLIENTS; i++)
		nr += !!fake.clients[i].client;
	return nr;
}

static s32 fake_backing_give(void *object)
{
	if (fake.unsealed)
		return fcntl(fake.unsealed, F_DUPFD_CLOEXEC, 0);
	return kvp_inproc_door.backing_give(object);
}

/* There it is one page; here, what the program wrote comes to the core's. */
static void fake_timelines(struct fake_client *client)
{
	struct kvp_times *times = client->timelines ? kvp_client_times(client->client) : NULL;
	int i;

	for (i = 0; times && i < KVP_NR_TIMELINES; i++)
		times->page[i].value = client->timelines[i].value;
}

static int fake_call(struct fake_client *client, uint32_t nr, void *arg)
{
	struct kvp_head *head = arg;
	int err;

	if (client->dead) {
		head->reason = KVP_REASON_CLIENT_DEAD;
		return -EOWNERDEAD;
	}
	fake_timelines(client);
	err = kvp_call(client->client, nr, (uintptr_t)arg, head->size);
	if (!err && nr == KVP_OP_ABI)
		((struct kvp_abi *)arg)->features = fake.features;
	return err;
}

static void fake_end(struct fake_client *client)
{
	if (!client->dead)
		kvp_client_close(client->client);
	client->dead = true;
}

/* ---- system calls ---- */

int open(const char *path, int flags, ...)
{
	struct kvp_cred cred = { .uid = fake.uid, .gid = fake.uid, .persist = true };
	va_list args;
	int mode, fd;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	if (strcmp(path, PATH))
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	ck_assert_int_eq(flags & (O_ACCMODE | O_CLOEXEC), O_RDWR | O_CLOEXEC);
	fd = memfd_create("fake-kvpool", MFD_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_lt(fd, MAX_CLIENTS);
	fake.clients[fd].client = kvp_client_open(&host, &fake_door, &cred);
	return fd;
}

int close(int fd)
{
	struct fake_client *client = client_of(fd);

	if (client) {
		if (!fake.child)
			fake_end(client);
		memset(client, 0, sizeof(*client));
	}
	return (int)syscall(SYS_close, fd);
}

int ioctl(int fd, unsigned long request, ...)
{
	struct fake_client *client = client_of(fd);
	uint32_t op = request & 0xff;
	va_list args;
	void *arg;
	int err;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!client)
		return (int)syscall(SYS_ioctl, fd, request, arg);
	ck_assert(!fake.child);
	ck_assert_uint_eq(request, KVP_IOC(op));
	/* Whoever has a pool is tied to the process before it has it. */
	if ((op == KVP_OP_POOL_CREATE || op == KVP_OP_POOL_ATTACH) &&
	    (fake.features & KVP_FEATURE_MMAP))
		ck_assert_ptr_nonnull(client->timelines);
	fake.nr_ioctls[op]++;
	if (fake.before)
		fake.before(op);
	err = fake_call(client, op, arg);
	if (err)
		errno = -err;
	return err ? -1 : 0;
}

void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	struct fake_client *client = client_of(fd);
	int err = client ? fake.map_error : fd >= 0 ? fake.plain_map_error : 0;
	void *page;

	if (err) {
		errno = err;
		return MAP_FAILED;
	}
	if (!client)
		return (void *)syscall(SYS_mmap, addr, length, prot, flags, fd, offset);
	ck_assert_int_eq(flags, MAP_SHARED);
	ck_assert_uint_eq(length, (size_t)sysconf(_SC_PAGESIZE));
	fake.nr_maps++;
	page = (void *)syscall(SYS_mmap, NULL, length, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (offset == KVP_MMAP_TIMELINES) {
		ck_assert_int_eq(prot, PROT_READ | PROT_WRITE);
		ck_assert_ptr_null(client->timelines);
		client->timelines = page;
		ck_assert_int_eq(madvise(page, length, MADV_DONTFORK), 0);
	} else {
		ck_assert_uint_eq((uint64_t)offset, KVP_MMAP_COUNTERS);
		ck_assert_int_eq(prot, PROT_READ);
	}
	return page;
}

int munmap(void *addr, size_t length)
{
	int i;

	for (i = 0; i < MAX_CLIENTS; i++) {
		if (!fake.clients[i].client || fake.clients[i].timelines != addr)
			continue;
		ck_assert(!fake.child);
		fake_end(&fake.clients[i]);
	}
	return (int)syscall(SYS_munmap, addr, length);
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	fake.slept_ms += (unsigned int)(wanted->tv_sec * 1000 + wanted->tv_nsec / 1000000);
	if (fake.while_asleep)
		fake.while_asleep();
	return 0;
}

/* By another name: the C library's declaration says that @fds is only written to. */
int fake_poll(struct pollfd *fds, nfds_t nr, const struct timespec *time, const sigset_t *mask)
	__asm__("ppoll");

int fake_poll(struct pollfd *fds, nfds_t nr, const struct timespec *time, const sigset_t *mask)
{
	struct fake_client *client = client_of(fds->fd);

	ck_assert_uint_eq(nr, 1);
	ck_assert_ptr_nonnull(client);
	ck_assert_int_eq(fds->events, POLLIN);
	ck_assert_ptr_null(mask);
	fake.nr_polls++;
	fake.polled_ns = (uint64_t)time->tv_sec * 1000000000 + time->tv_nsec;
	if (fake.while_asleep)
		fake.while_asleep();
	fake_timelines(client);
	fds->revents = kvp_client_ready(client->client) ? POLLIN : 0;
	return fds->revents ? 1 : 0;
}

/* ---- io_uring ---- */

static bool have_rings(void)
{
	struct io_uring_params params = { 0 };
	struct io_uring ring;

	if (io_uring_queue_init_params(1, &ring, &params))
		return false;
	io_uring_queue_exit(&ring);
	fake.nr_rings_ended = 0;
	return true;
}

int io_uring_queue_init(unsigned int entries, struct io_uring *ring, unsigned int flags)
{
	struct io_uring_params params = { .flags = flags };

	fake.nr_rings++;
	return fake.ring_error ? -fake.ring_error :
				 io_uring_queue_init_params(entries, ring, &params);
}

void io_uring_queue_exit(struct io_uring *ring)
{
	void (*real)(struct io_uring *ring) = dlsym(RTLD_NEXT, "io_uring_queue_exit");

	fake.nr_rings_ended++;
	real(ring);
}

/* A command for a client is executed; its completion is that of a NOP, with its result. */
int io_uring_submit_and_wait(struct io_uring *ring, unsigned int nr)
{
	struct io_uring_sqe *sqe = &ring->sq.sqes[(ring->sq.sqe_tail - 1) & *ring->sq.kring_mask];
	struct fake_client *client = client_of(sqe->fd);
	int submitted, result = -EOPNOTSUPP;
	struct kvp_uring_cmd cmd;

	ck_assert_int_eq(sqe->opcode, IORING_OP_URING_CMD);
	ck_assert_ptr_nonnull(client);
	ck_assert_uint_eq(sqe->flags | sqe->uring_cmd_flags | sqe->__pad1, 0);
	memcpy(&cmd, sqe->cmd, sizeof(cmd));
	ck_assert_uint_eq(cmd.zero, 0);
	ck_assert_uint_eq(cmd.len, ((struct kvp_head *)(uintptr_t)cmd.arg)->size);
	ck_assert_uint_eq(sqe->cmd_op, KVP_IOC(KVP_OP_BATCH));
	if (fake.uring) {
		fake.nr_commands++;
		result = fake_call(client, KVP_OP_BATCH, (void *)(uintptr_t)cmd.arg);
	}
	memset(sqe, 0, sizeof(*sqe));	/* IORING_OP_NOP */
	submitted = io_uring_submit(ring);
	ck_assert_int_eq(submitted, (int)nr);
	ring->cq.cqes[*ring->cq.khead & *ring->cq.kring_mask].res = result;
	return submitted;
}

#endif /* KVPT_FAKE_DEVICE_H */

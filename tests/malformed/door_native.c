// SPDX-License-Identifier: MIT
/*
 * The core in this process, with a caller's memory as a kernel has it: arrays are copies of exact
 * length, so that the sanitizers see what is read or written beside them, and all bytes go through
 * read(2) and write(2) on a memory file, which find out what can be touched and what cannot. Owns
 * the host, that file, and the exports by descriptor.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core.h"

#include "door.h"
#include "malformed.h"

#define ROOM		(16 << 20)	/* of the longest array */
#define MAX_FILES	1024

void (*mf_native_hook)(void);

static struct kvp_host host;
static struct kvp_door door;
static int between;			/* the memory file */
static u8 *room;			/* its bytes */
static struct kvp_export *exports[MAX_FILES];

/* ---- memory ---- */

static void looks(void)
{
	if (mf_native_hook)
		mf_native_hook();
}

/* Not the functions of these names: the sanitizers would look at bytes that are not there. */
static bool to_room(u64 addr, size_t len)
{
	looks();
	return len <= ROOM && syscall(SYS_pwrite64, between, addr, len, 0L) == (long)len;
}

static bool from_room(u64 addr, size_t len)
{
	looks();
	return len <= ROOM && syscall(SYS_pread64, between, addr, len, 0L) == (long)len;
}

static int native_read(void *dst, u64 addr, size_t len)
{
	if (!to_room(addr, len))
		return -EFAULT;
	memcpy(dst, room, len);
	return 0;
}

static int native_write(u64 addr, const void *src, size_t len)
{
	memcpy(room, src, len);
	return from_room(addr, len) ? 0 : -EFAULT;
}

/* Not in the core's own room for short arrays: there nobody sees where one ends. */
static void *native_in(u64 addr, size_t len, void *space)
{
	void *mem = malloc(len);

	if (!mem)
		return ERR_PTR(-ENOMEM);
	if (!native_read(mem, addr, len))
		return mem;
	free(mem);
	return ERR_PTR(-EFAULT);
}

static void *native_out(u64 addr, size_t len, void *space)
{
	void *mem = calloc(1, len);

	if (!mem)
		return ERR_PTR(-ENOMEM);
	if (!native_write(addr, mem, len))
		return mem;
	free(mem);
	return ERR_PTR(-EFAULT);
}

static void *native_inout(u64 addr, size_t len, void *space)
{
	void *mem = native_in(addr, len, space);

	if (IS_ERR(mem) || !native_write(addr, mem, len))
		return mem;
	free(mem);
	return ERR_PTR(-EFAULT);
}

static int native_put(void *mem, void *space, u64 addr, size_t len, bool out)
{
	if (out && native_write(addr, mem, len))
		return -EFAULT;
	free(mem);
	return 0;
}

/* ---- exports: a descriptor that is open for as long as one is ---- */

static s32 native_export_give(struct kvp_export *export)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0 || fd >= MAX_FILES)
		return -EMFILE;
	exports[fd] = export;
	return fd;
}

static struct kvp_export *native_export_take(s32 fd)
{
	if (fcntl(fd, F_GETFD) < 0)
		return ERR_PTR(-EBADF);
	if (fd >= MAX_FILES || !exports[fd])
		return ERR_PTR(-EINVAL);
	kvp_export_get(exports[fd]);
	return exports[fd];
}

static void native_close_fd(int fd)
{
	struct kvp_export *export = NULL;

	if (fd < 0)
		return;
	if (fd < MAX_FILES) {
		export = exports[fd];
		exports[fd] = NULL;
	}
	if (close(fd))
		ct_die("descriptor %d: %m", fd);
	if (export)
		kvp_export_put(export);
}

static int native_open_fd(__u32 uid)
{
	return open("/dev/null", O_RDWR | O_CLOEXEC);
}

static void native_sweep(int from, int but)
{
	int fd;

	for (fd = from; fd < MAX_FILES; fd++)
		if (exports[fd])
			native_close_fd(fd);
	close_range(from, ~0U, 0);
}

/* ---- the door ---- */

static bool native_begin(void)
{
	return true;
}

static void native_process(void)
{
	between = memfd_create("kvpool-malformed-copies", MFD_CLOEXEC);
	if (between < 0 || ftruncate(between, ROOM))
		ct_die("cannot make a memory file: %m");
	room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, between, 0);
	if (room == MAP_FAILED)
		ct_die("cannot map memory: %m");
	door = kvp_inproc_door;
	door.read = native_read;
	door.write = native_write;
	door.array_in = native_in;
	door.array_out = native_out;
	door.array_inout = native_inout;
	door.array_put = native_put;
	door.export_give = native_export_give;
	door.export_take = native_export_take;
	door.fd_undo = native_close_fd;
	kvp_host_init(&host);
}

static struct ct_conn *native_open(__u32 uid)
{
	struct kvp_cred cred = { .uid = uid, .admin = !uid, .persist = !uid };
	struct ct_conn *conn = calloc(1, sizeof(*conn));

	if (conn) {
		conn->fd = -1;
		conn->client = kvp_client_open(&host, &door, &cred);
	}
	if (!conn || !conn->client)
		ct_die("no memory for a client");
	return conn;
}

static int native_call(struct ct_conn *conn, const struct mf_call *mf)
{
	if (_IOC_TYPE(mf->cmd) != KVP_IOC_MAGIC)
		return -ENOTTY;
	return kvp_call(conn->client, _IOC_NR(mf->cmd), mf->addr,
			mf->entrance == MF_IOCTL ? 0 : mf->len);
}

static void native_close(struct ct_conn *conn)
{
	kvp_client_close(conn->client);
	free(conn);
}

const struct mf_door mf_native_door = {
	.name = "native",
	.begin = native_begin,
	.process = native_process,
	.open = native_open,
	.call = native_call,
	.close = native_close,
	.open_fd = native_open_fd,
	.close_fd = native_close_fd,
	.sweep = native_sweep,
};

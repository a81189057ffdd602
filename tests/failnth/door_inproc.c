// SPDX-License-Identifier: MIT
/*
 * The core in this process, behind a door where arrays are copies as in a kernel. Allocations and
 * copies are counted apart. Owns the host and the table of clients.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core.h"

#include "copydoor.h"
#include "door.h"
#include "exportdoor.h"
#include "inproc.h"

#define MAX_CLIENTS	8
#define OP_NUMBERS	256

static struct kvp_host host;
static struct kvp_client *clients[MAX_CLIENTS];
static struct kvp_door door;
static const struct kvp_door *base;
static int fail_copy;		/* the how manieth from now fails */
static int met;			/* FNI_* */

/* ---- the door ---- */

static bool copy_fails(int what)
{
	if (!fail_copy || --fail_copy)
		return false;
	met = what;
	return true;
}

/* What the kernel allocates outside the core: arrays that are not small, files. */
static bool door_alloc_fails(void)
{
	return kvp_shim_alloc_fails();
}

static int sweep_read(void *dst, u64 addr, size_t len)
{
	return copy_fails(FNI_READ) ? -EFAULT : base->read(dst, addr, len);
}

static int sweep_write(u64 addr, const void *src, size_t len)
{
	return copy_fails(FNI_WRITE) ? -EFAULT : base->write(addr, src, len);
}

static void *sweep_array(void *(*get)(u64, size_t, void *), u64 addr, size_t len, void *room)
{
	if (!room && door_alloc_fails())
		return ERR_PTR(-ENOMEM);
	return copy_fails(FNI_READ) ? ERR_PTR(-EFAULT) : get(addr, len, room);
}

static void *sweep_array_in(u64 addr, size_t len, void *room)
{
	return sweep_array(base->array_in, addr, len, room);
}

static void *sweep_array_out(u64 addr, size_t len, void *room)
{
	return sweep_array(base->array_out, addr, len, room);
}

static void *sweep_array_inout(u64 addr, size_t len, void *room)
{
	return sweep_array(base->array_inout, addr, len, room);
}

static int sweep_array_put(void *mem, void *room, u64 addr, size_t len, bool out)
{
	if (out && copy_fails(FNI_PUT))
		return -EFAULT;
	return base->array_put(mem, room, addr, len, out);
}

static void *sweep_backing_take(s32 fd, u32 kind, u64 length)
{
	return kvp_inproc_door.backing_take(fd, kind, length);
}

static s32 sweep_backing_give(void *object)
{
	return door_alloc_fails() ? -ENOMEM : kvp_inproc_door.backing_give(object);
}

static s32 sweep_export_give(struct kvp_export *export)
{
	return door_alloc_fails() ? -ENOMEM : base->export_give(export);
}

static void make_door(void)
{
	static struct kvp_door with_backings;

	with_backings = kvpt_copying_door;
	with_backings.backing_take = sweep_backing_take;
	with_backings.backing_give = sweep_backing_give;
	with_backings.backing_drop = kvp_inproc_door.backing_drop;
	with_backings.fd_undo = kvp_inproc_door.fd_undo;
	base = kvpt_export_door(&with_backings);
	door = *base;
	door.read = sweep_read;
	door.write = sweep_write;
	door.array_in = sweep_array_in;
	door.array_out = sweep_array_out;
	door.array_inout = sweep_array_inout;
	door.array_put = sweep_array_put;
	door.export_give = sweep_export_give;
}

/* ---- what the sweep asks for ---- */

void fni_begin(void)
{
	make_door();
	kvp_host_init(&host);
}

int fni_open(unsigned int uid)
{
	const struct kvp_cred cred = { .uid = uid, .admin = !uid, .persist = !uid };
	int i;

	for (i = 0; clients[i]; i++)
		if (i + 1 == MAX_CLIENTS)
			abort();
	clients[i] = kvp_client_open(&host, &door, &cred);
	if (IS_ERR_OR_NULL(clients[i]))
		abort();
	return i;
}

void fni_close(int fd)
{
	kvp_client_close(clients[fd]);
	clients[fd] = NULL;
}

void fni_close_file(int fd)
{
	if (fd >= FNI_FIRST_EXPORT)
		kvpt_export_close(fd);
	else
		close(fd);
}

int fni_call(int fd, unsigned int op, void *arg, int fail_alloc, int copy, int *what)
{
	int ret;

	met = FNI_NONE;
	kvp_shim_fail_alloc = fail_alloc;
	fail_copy = copy;
	ret = kvp_call(clients[fd], op, (u64)(uintptr_t)arg, 0);
	if (fail_alloc && !kvp_shim_fail_alloc)
		met = FNI_ALLOC;
	kvp_shim_fail_alloc = 0;
	fail_copy = 0;
	*what = met;
	return ret;
}

static unsigned int files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int nr = 0;

	if (!dir)
		abort();
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

void fni_resources(char text[64])
{
	unsigned int nr = 0;
	int i;

	for (i = 0; i < MAX_CLIENTS; i++)
		nr += !!clients[i];
	snprintf(text, 64, "%u clients, %u exports, %u files, %d arrays", nr, kvpt_exports_open(),
		 files(), kvpt_copydoor.mapped);
}

void fni_end(void)
{
	kvp_host_exit(&host);
}

const char *fni_op_name(unsigned int nr)
{
	const struct kvp_op_desc *op = nr < OP_NUMBERS ? kvp_op_find(nr) : NULL;

	return op ? op->name : NULL;
}

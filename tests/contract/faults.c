// SPDX-License-Identifier: MIT
/*
 * Calls through pointers that are neither null nor good: into memory that is not there, that ends
 * in the middle of a struct or an array, or that cannot be written. Whatever faults, the counters
 * of the pool are printed after it, and how many descriptors there are. Owns that memory.
 */
#include <dirent.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream.h"

#define ROOM	(16 << 12)	/* bytes of good memory; longer arrays are left alone */

static __u8 *edge;		/* the first byte behind memory that is there */
static __u8 *writable;		/* two mappings of the same memory */
static __u8 *readable;

static void *map(int fd, int prot)
{
	void *mem = mmap(NULL, ROOM, prot, MAP_SHARED, fd, 0);

	if (mem == MAP_FAILED)
		ct_die("cannot map memory: %m");
	return mem;
}

static void faults_begin(void)
{
	int fd = memfd_create("kvpool-contract", MFD_CLOEXEC);
	__u8 *mem;

	if (fd < 0 || ftruncate(fd, ROOM))
		ct_die("cannot make a memory file: %m");
	writable = map(fd, PROT_READ | PROT_WRITE);
	readable = map(fd, PROT_READ);
	close(fd);
	mem = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED || mprotect(mem + ROOM, ROOM, PROT_NONE))
		ct_die("cannot map memory: %m");
	edge = mem + ROOM;
}

/* @len bytes of @from in memory that is there for some of them, or read-only. */
static __u8 *place(const void *from, __u32 len, __u32 *there)
{
	if (st_once(3)) {
		memcpy(writable, from, len);
		*there = len;
		return readable;
	}
	*there = st_below(len / 8) * 8;
	memcpy(edge - *there, from, *there);
	return edge - *there;
}

static void fault_array(struct ct_call *call)
{
	const struct ct_array *array;
	__u32 i = st_below(call->op->nr_arrays);
	__u32 len, there;

	array = &call->op->array[i];
	len = call->room[i] * array->shape->size;
	if (len < 8 || len > ROOM)
		return;
	ct_put((__u8 *)call->before + array->pointer, 8,
	       (uintptr_t)place(call->mem[i], len, &there));
	memcpy(call->arg, call->before, call->op->shape.size);
}

static void fault_struct(struct ct_conn *conn, struct ct_call *call)
{
	const __u32 size = call->op->shape.size;
	__u32 there;
	__u8 *arg = place(call->before, size, &there);

	call->result = ct_door->call(conn, call->nr, arg, call->len);
	memcpy(call->arg, arg, there);
	ct_call_take(call);
	ct_count(call);
}

/* Entries of a batch whose descriptors nobody would learn of. */
static bool gives_files(const struct ct_call *call)
{
	__u32 i;

	for (i = 0; call->nr == KVP_OP_BATCH && i < call->room[0]; i++)
		if (st_entries[i].nr == KVP_OP_SEQ_EXPORT || st_entries[i].nr == KVP_OP_BACKING_GET)
			return true;
	return false;
}

bool st_fault_send(struct ct_conn *conn, struct ct_call *call)
{
	const struct kvp_head *head = (void *)call->before;

	if (gives_files(call))
		return false;
	if (!call->op || call->null || call->shift || head->size != call->op->shape.size)
		return false;
	if (!edge)
		faults_begin();
	if (call->op->nr_arrays && call->nr != KVP_OP_BATCH && st_once(2)) {
		fault_array(call);
		ct_call_send(conn, call);
	} else {
		fault_struct(conn, call);
	}
	return true;
}

__u32 st_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	__u32 nr = 0;

	if (!dir)
		ct_die("/proc/self/fd: %m");
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

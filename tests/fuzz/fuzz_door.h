/* SPDX-License-Identifier: MIT */
/*
 * What the fuzz target reads its input with, the memory of its callers, and the door to it.
 * For one source: it owns what is static here.
 */
#ifndef FUZZ_DOOR_H
#define FUZZ_DOOR_H

#include <stdlib.h>

#include "core.h"

#define FUZZ_EXPORTS	4		/* open at a time */
#define FUZZ_ARENA	(256 << 10)
#define FUZZ_FIRST_FD	10

/* ---- the input ---- */

static const u8 *fuzz_at;
static size_t fuzz_left;

static u8 fuzz_byte(void)
{
	if (!fuzz_left)
		return 0;
	fuzz_left--;
	return *fuzz_at++;
}

static u64 fuzz_u64(void)
{
	u64 value = 0;
	int i;

	for (i = 0; i < 8; i++)
		value = value << 8 | fuzz_byte();
	return value;
}

/* True once in @n times; costs a byte. */
static bool fuzz_rarely(u8 n)
{
	return fuzz_byte() % n == n - 1;
}

/* ---- the caller's memory, and the door to it ---- */

static u8 fuzz_arena[FUZZ_ARENA] __attribute__((aligned(64)));
static size_t fuzz_used;
static u32 fuzz_fault;			/* the how manieth write from now fails; 0: none */

static void *fuzz_room(size_t len)
{
	size_t at = fuzz_used;

	fuzz_used += (len + 63) & ~(size_t)63;
	if (fuzz_used > FUZZ_ARENA)
		abort();
	memset(fuzz_arena + at, 0, len);
	return fuzz_arena + at;
}

static bool fuzz_inside(u64 addr, size_t len)
{
	u64 start = (u64)(uintptr_t)fuzz_arena;

	return addr >= start && addr - start <= FUZZ_ARENA &&
	       len <= FUZZ_ARENA - (addr - start);
}

static bool fuzz_write_fails(void)
{
	return fuzz_fault && !--fuzz_fault;
}

static int fuzz_read(void *dst, u64 addr, size_t len)
{
	if (!fuzz_inside(addr, len))
		return -EFAULT;
	memcpy(dst, (void *)(uintptr_t)addr, len);
	return 0;
}

static int fuzz_write(u64 addr, const void *src, size_t len)
{
	if (!fuzz_inside(addr, len) || fuzz_write_fails())
		return -EFAULT;
	memcpy((void *)(uintptr_t)addr, src, len);
	return 0;
}

static void *fuzz_array_out(u64 addr, size_t len, void *room)
{
	void *mem;

	if (!fuzz_inside(addr, len))
		return ERR_PTR(-EFAULT);
	mem = calloc(1, len);
	return mem ? mem : ERR_PTR(-ENOMEM);
}

static void *fuzz_array_in(u64 addr, size_t len, void *room)
{
	void *mem = fuzz_array_out(addr, len, room);

	if (!IS_ERR(mem))
		memcpy(mem, (void *)(uintptr_t)addr, len);
	return mem;
}

static int fuzz_array_put(void *mem, void *room, u64 addr, size_t len, bool out)
{
	/* What cannot be brought is put again, without @out. */
	if (out && fuzz_write_fails())
		return -EFAULT;
	if (out)
		memcpy((void *)(uintptr_t)addr, mem, len);
	free(mem);
	return 0;
}

static void *fuzz_backing_take(s32 fd, u32 kind, u64 length)
{
	return fd == 1 ? malloc(1) : ERR_PTR(-EKEYREJECTED);
}

static s32 fuzz_backing_give(void *object)
{
	return 1;
}

/* Files of exports; a descriptor is a place here. */
static struct kvp_export *fuzz_export[FUZZ_EXPORTS];

static s32 fuzz_export_give(struct kvp_export *export)
{
	s32 i;

	for (i = 0; i < FUZZ_EXPORTS; i++) {
		if (fuzz_export[i])
			continue;
		fuzz_export[i] = export;
		return FUZZ_FIRST_FD + i;
	}
	return -EMFILE;
}

static void fuzz_export_close(s32 fd)
{
	struct kvp_export *export = fuzz_export[fd - FUZZ_FIRST_FD];

	fuzz_export[fd - FUZZ_FIRST_FD] = NULL;
	if (export)
		kvp_export_put(export);
}

static struct kvp_export *fuzz_export_take(s32 fd)
{
	struct kvp_export *export;

	if (fd < FUZZ_FIRST_FD || fd >= FUZZ_FIRST_FD + FUZZ_EXPORTS)
		return ERR_PTR(-EINVAL);
	export = fuzz_export[fd - FUZZ_FIRST_FD];
	if (!export)
		return ERR_PTR(-EBADF);
	kvp_export_get(export);
	return export;
}

static const struct kvp_door fuzz_door = {
	.read = fuzz_read,
	.write = fuzz_write,
	.array_in = fuzz_array_in,
	.array_out = fuzz_array_out,
	.array_inout = fuzz_array_in,
	.array_put = fuzz_array_put,
	.backing_take = fuzz_backing_take,
	.backing_give = fuzz_backing_give,
	.backing_drop = free,
	.export_give = fuzz_export_give,
	.fd_undo = fuzz_export_close,
	.export_take = fuzz_export_take,
};

#endif /* FUZZ_DOOR_H */

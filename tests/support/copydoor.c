// SPDX-License-Identifier: MIT
/*
 * The copying door. Its state is the program's; tests that use it have one thread.
 */
#include <stdlib.h>

#include "copydoor.h"

struct kvpt_copydoor kvpt_copydoor;

static bool copydoor_fails(int *count)
{
	if (kvpt_copydoor.hook)
		kvpt_copydoor.hook();
	return *count && !--*count;
}

static int copydoor_read(void *dst, u64 addr, size_t len)
{
	kvpt_copydoor.reads++;
	if (copydoor_fails(&kvpt_copydoor.fail_read))
		return -EFAULT;
	memcpy(dst, (void *)(uintptr_t)addr, len);
	return 0;
}

static int copydoor_write(u64 addr, const void *src, size_t len)
{
	kvpt_copydoor.writes++;
	if (copydoor_fails(&kvpt_copydoor.fail_write))
		return -EFAULT;
	memcpy((void *)(uintptr_t)addr, src, len);
	return 0;
}

static void *copydoor_out(u64 addr, size_t len, void *room)
{
	if (kvpt_copydoor.hook)
		kvpt_copydoor.hook();
	if (kvpt_copydoor.map_error)
		return ERR_PTR(kvpt_copydoor.map_error);
	kvpt_copydoor.mapped++;
	kvpt_copydoor.maps++;
	/* As in a kernel: what fits is not allocated. */
	return room ? memset(room, 0, len) : calloc(1, len);
}

static void *copydoor_in(u64 addr, size_t len, void *room)
{
	void *mem = copydoor_out(addr, len, room);

	if (!IS_ERR(mem))
		memcpy(mem, (void *)(uintptr_t)addr, len);
	return mem;
}

static int copydoor_put(void *mem, void *room, u64 addr, size_t len, bool out)
{
	if (out && copydoor_fails(&kvpt_copydoor.fail_put))
		return -EFAULT;
	if (out)
		memcpy((void *)(uintptr_t)addr, mem, len);
	kvpt_copydoor.mapped--;
	if (mem != room)
		free(mem);
	return 0;
}

const struct kvp_door kvpt_copying_door = {
	.read = copydoor_read,
	.write = copydoor_write,
	.array_in = copydoor_in,
	.array_out = copydoor_out,
	.array_inout = copydoor_in,
	.array_put = copydoor_put,
};

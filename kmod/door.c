// SPDX-License-Identifier: GPL-2.0-only
/*
 * The core's door to a caller's memory: arrays are copies in kernel memory, in the
 * room of the call where they are small. Owns no state.
 */
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>

#include "device.h"

int kvpool_read(void *dst, u64 addr, size_t len)
{
	BUILD_BUG_ON(sizeof(unsigned long) < sizeof(u64));	/* addresses are never cut off */
	return copy_from_user(dst, u64_to_user_ptr(addr), len) ? -EFAULT : 0;
}

int kvpool_write(u64 addr, const void *src, size_t len)
{
	return copy_to_user(u64_to_user_ptr(addr), src, len) ? -EFAULT : 0;
}

static void *kvpool_array_alloc(size_t len, void *room)
{
	const gfp_t flags = GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL;
	void *mem = room ? room : kvmalloc(len, flags);

	return mem ? mem : ERR_PTR(-ENOMEM);
}

static void kvpool_array_free(void *mem, void *room)
{
	if (mem != room)
		kvfree(mem);
}

static void *kvpool_array_in(u64 addr, size_t len, void *room)
{
	void *mem = kvpool_array_alloc(len, room);

	if (IS_ERR(mem) || !kvpool_read(mem, addr, len))
		return mem;
	kvpool_array_free(mem, room);
	return ERR_PTR(-EFAULT);
}

/* Zeros on both sides: the caller's can be written, and no byte of ours leaks into it. */
static void *kvpool_array_out(u64 addr, size_t len, void *room)
{
	void *mem = kvpool_array_alloc(len, room);

	if (IS_ERR(mem))
		return mem;
	if (clear_user(u64_to_user_ptr(addr), len)) {
		kvpool_array_free(mem, room);
		return ERR_PTR(-EFAULT);
	}
	memset(mem, 0, len);
	return mem;
}

/* What was read is written back at once: so it can be written, and is as it was. */
static void *kvpool_array_inout(u64 addr, size_t len, void *room)
{
	void *mem = kvpool_array_in(addr, len, room);

	if (IS_ERR(mem) || !kvpool_write(addr, mem, len))
		return mem;
	kvpool_array_free(mem, room);
	return ERR_PTR(-EFAULT);
}

static int kvpool_array_put(void *mem, void *room, u64 addr, size_t len, bool out)
{
	if (out && kvpool_write(addr, mem, len))
		return -EFAULT;
	kvpool_array_free(mem, room);
	return 0;
}

/* The groups beside the first one, of whoever opened the file. */
bool kvpool_in_group(const struct kvp_cred *cred, u32 gid)
{
	const struct cred *of = cred->of;
	const kgid_t kgid = make_kgid(&init_user_ns, gid);
	int i;

	if (!of || !gid_valid(kgid))
		return false;
	for (i = 0; i < of->group_info->ngroups; i++)
		if (gid_eq(of->group_info->gid[i], kgid))
			return true;
	return false;
}

/* A persistent pool can be without clients, and the module must stay all the same. */
static void kvpool_pin(bool on)
{
	if (on)
		__module_get(THIS_MODULE);
	else
		module_put(THIS_MODULE);
}

const struct kvp_door kvpool_door = {
	.features = KVP_FEATURE_BACKING | KVP_FEATURE_EXPORT | KVP_FEATURE_MMAP |
		    KVP_FEATURE_POLL | KVP_FEATURE_URING,
	.read = kvpool_read,
	.write = kvpool_write,
	.array_in = kvpool_array_in,
	.array_out = kvpool_array_out,
	.array_inout = kvpool_array_inout,
	.array_put = kvpool_array_put,
	.backing_take = kvpool_backing_take,
	.backing_give = kvpool_backing_give,
	.backing_drop = kvpool_backing_drop,
	.export_give = kvpool_export_give,
	.fd_undo = kvpool_fd_undo,
	.export_take = kvpool_export_take,
	.in_group = kvpool_in_group,
	.pin = kvpool_pin,
};

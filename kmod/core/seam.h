/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The core's only view of the world around it: the kernel headers it may use
 * (in userspace, the twins of runtime/shim/linux), and the door through which
 * a caller's memory and descriptors are reached.
 */
#ifndef KVP_SEAM_H
#define KVP_SEAM_H

#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/gcd.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/prefetch.h>
#include <linux/random.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/types.h>
#include <linux/vmalloc.h>

#include <linux/kvpool.h>

/**
 * struct kvp_cred - who opened the client, fixed at open
 * @uid: user
 * @gid: group
 * @admin: may do what the owner of any pool may (CAP_SYS_ADMIN)
 * @persist: may make persistent pools
 */
struct kvp_cred {
	u32 uid;
	u32 gid;
	bool admin;
	bool persist;
};

/**
 * struct kvp_door - how the core reaches what is the caller's
 * @read: copy @len bytes from the caller's @addr; 0 or -EFAULT
 * @write: copy @len bytes to the caller's @addr; 0 or -EFAULT
 * @array_in: the caller's @len bytes at @addr as memory that the core may read
 *            until @array_put; ERR_PTR on failure. Never called with @len 0
 * @array_out: memory of @len bytes that @array_put brings to the caller's
 *             @addr; the door checks here that it can be written
 * @array_inout: both
 * @array_put: end of use of what one of the three returned; @out: bring it to
 *             the caller first; 0, or -EFAULT, and it is still to be put without @out
 * @backing_take: custody of a descriptor of the caller: an object, or ERR_PTR
 *                (-EBADF, -EKEYREJECTED, -EINVAL, -EOPNOTSUPP)
 * @backing_give: a new descriptor for an object, or -errno
 * @backing_drop: end of custody
 *
 * None is called under a spinlock.
 */
struct kvp_door {
	int (*read)(void *dst, u64 addr, size_t len);
	int (*write)(u64 addr, const void *src, size_t len);
	void *(*array_in)(u64 addr, size_t len);
	void *(*array_out)(u64 addr, size_t len);
	void *(*array_inout)(u64 addr, size_t len);
	int (*array_put)(void *mem, u64 addr, size_t len, bool out);
	void *(*backing_take)(s32 fd, u32 kind, u64 length);
	s32 (*backing_give)(void *object);
	void (*backing_drop)(void *object);
};

#endif /* KVP_SEAM_H */

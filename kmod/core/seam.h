/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The core's only view of the world around it: the kernel headers it may use
 * (in userspace, the twins of runtime/shim/linux), and the door through which
 * a caller's memory and descriptors are reached.
 */
#ifndef KVP_SEAM_H
#define KVP_SEAM_H

#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/gcd.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/prefetch.h>
#include <linux/random.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/types.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>

#include <linux/kvpool.h>

/**
 * struct kvp_cred - who opened the client, fixed at open
 * @uid: user
 * @gid: group
 * @pid: process, for people
 * @admin: may do what the owner of any pool may (CAP_SYS_ADMIN)
 * @persist: may make persistent pools
 * @of: for the door's in_group(), while the client lives; may be NULL
 * @command: name of the process, for people; NUL-terminated
 */
struct kvp_cred {
	u32 uid;
	u32 gid;
	u32 pid;
	bool admin;
	bool persist;
	const void *of;
	char command[KVP_COMMAND_LEN];
};

struct kvp_export;

/**
 * struct kvp_door - how the core reaches what is the caller's
 * @features: KVP_FEATURE_* that this door adds to those of the core
 * @read: copy @len bytes from the caller's @addr; 0 or -EFAULT
 * @write: copy @len bytes to the caller's @addr; 0 or -EFAULT
 * @array_in: the caller's @len bytes at @addr as memory that the core may read
 *            until @array_put; ERR_PTR on failure. Never called with @len 0. @room: 8-aligned
 *            memory of @len bytes that may be used for it, or NULL
 * @array_out: memory of @len bytes that @array_put brings to the caller's
 *             @addr; the door checks here that it can be written
 * @array_inout: both
 * @array_put: end of use of what one of the three returned; @room: as there; @out: bring it to
 *             the caller first; 0, or -EFAULT, and it is still to be put without @out
 * @backing_take: custody of a descriptor of the caller: an object, or ERR_PTR
 *                (-EBADF, -EKEYREJECTED, -EINVAL, -EOPNOTSUPP)
 * @backing_give: a new descriptor, the caller's, for an object; or -errno
 * @backing_drop: end of custody
 * @export_give: a new descriptor, the caller's, whose file owns the caller's reference on the
 *               export: kvp_export_put() at its last close; or -errno
 * @fd_undo: close a descriptor that backing_give or export_give made, as its owner never learned
 *           of it
 * @export_take: the export of a descriptor of the caller, with a reference of its own; or ERR_PTR
 *               (-EBADF, -EINVAL: none of ours)
 * @in_group: @gid is among the further groups of the credentials; NULL: they have none
 * @pin: a persistent pool begins (true) or ends (false) to exist; may be NULL
 *
 * None is called under a spinlock. A door without backing_* or export_* leaves all of them NULL.
 */
struct kvp_door {
	u64 features;
	int (*read)(void *dst, u64 addr, size_t len);
	int (*write)(u64 addr, const void *src, size_t len);
	void *(*array_in)(u64 addr, size_t len, void *room);
	void *(*array_out)(u64 addr, size_t len, void *room);
	void *(*array_inout)(u64 addr, size_t len, void *room);
	int (*array_put)(void *mem, void *room, u64 addr, size_t len, bool out);
	void *(*backing_take)(s32 fd, u32 kind, u64 length);
	s32 (*backing_give)(void *object);
	void (*backing_drop)(void *object);
	s32 (*export_give)(struct kvp_export *export);
	void (*fd_undo)(s32 fd);
	struct kvp_export *(*export_take)(s32 fd);
	bool (*in_group)(const struct kvp_cred *cred, u32 gid);
	void (*pin)(bool on);
};

/*
 * Tracepoints; nothing in userspace. kvp_trace.h is kmod/kvp_trace.h in the kernel, and its twin
 * in the shim:
 *
 *	trace_kvp_op(client, name, nr, ret, reason, where)
 *		an operation ended
 *	trace_kvp_block(family, index, from, to)
 *		a block changed its state (enum kvp_block_state)
 */
struct kvp_client;
struct kvp_family;
#include "kvp_trace.h"

#endif /* KVP_SEAM_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the device share. An open file is one client:
 *
 *   file.c     the file: open, calls by ioctl(2), poll, the end of the client
 *   uring.c    calls by io_uring
 *   mmap.c     the two shared pages
 *   scan.c     timelines read while somebody waits
 *   door.c     how the core reaches a caller's memory
 *   backing.c  descriptors of the bytes, kept for a pool
 *   export.c   sequences as files
 *   views.c    debugfs, for people
 *   trace.c    tracepoints
 *   main.c     parameters, the one host, the device node
 *
 * Nothing here looks at current after open(): who calls may be a thread of the
 * kernel, or of a process that was handed the file.
 */
#ifndef KVPOOL_DEVICE_H
#define KVPOOL_DEVICE_H

#include <linux/fs.h>
#include <linux/mm_types.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>

#include "core.h"

struct io_uring_cmd;

/**
 * struct kvpool_file - an open file of the device: one client
 * @client: of the core; NULL once it was ended
 * @calls: calls in progress, and one for the life of the client. Who drops the last queues
 *         @death; so nothing waits for calls, which may sleep in page faults
 * @dead: the timelines mapping ended: no call begins any more. Set once
 * @death: ends the client of a file that is still open
 * @wait: who polls the file. Not the pool's queue: that may end before the file does
 * @wake: entry in the pool's queue that has @wait woken
 * @news: wakes @wait; not at once, since the pool tells its news under its lock
 * @wake_lock: puts @wake there once
 * @pool_wait: the pool's queue once @wake is in it, else NULL; @wake_lock
 * @timelines: the page of the client's timelines, which may be mapped, or pinned, for longer than
 *             the client lives; from the first mmap(2) on, set once
 * @counters: the page of the pool, from the first mmap(2) on; set once
 * @mm: address space that mapped the timelines, to be compared only; set with @maps
 * @maps: mappings of the timelines in @mm, under its mmap_lock: two for a moment in mremap(2)
 */
struct kvpool_file {
	struct kvp_client *client;
	refcount_t calls;
	bool dead;
	struct work_struct death;
	wait_queue_head_t wait;
	struct wait_queue_entry wake;
	struct work_struct news;
	struct mutex wake_lock;
	wait_queue_head_t *pool_wait;
	struct page *timelines;
	struct page *counters;
	const struct mm_struct *mm;
	u32 maps;
};

/* main.c */
extern struct kvp_host kvpool_host;
extern struct workqueue_struct *kvpool_works;
bool kvpool_may_persist(const struct kvp_cred *cred);

/* file.c */
extern const struct file_operations kvpool_fops;
bool kvpool_begin(struct kvpool_file *kf);
void kvpool_end(struct kvpool_file *kf);
void kvpool_kill(struct kvpool_file *kf);
int kvpool_call(struct kvpool_file *kf, u32 nr, u64 addr, u32 len);

/* The number of the operation, or a number that none has. */
static inline u32 kvpool_op_nr(u32 cmd)
{
	return _IOC_TYPE(cmd) == KVP_IOC_MAGIC ? _IOC_NR(cmd) : U32_MAX;
}

/* uring.c */
int kvpool_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

/* mmap.c */
int kvpool_mmap(struct file *file, struct vm_area_struct *vma);

/* scan.c */
void kvpool_scan_init(void);
void kvpool_scan_exit(void);

/* door.c */
extern const struct kvp_door kvpool_door;
int kvpool_read(void *dst, u64 addr, size_t len);
int kvpool_write(u64 addr, const void *src, size_t len);
bool kvpool_in_group(const struct kvp_cred *cred, u32 gid);

/* backing.c */
void *kvpool_backing_take(s32 fd, u32 kind, u64 length);
s32 kvpool_backing_give(void *object);
void kvpool_backing_drop(void *object);

/* export.c */
s32 kvpool_export_give(struct kvp_export *export);
void kvpool_fd_undo(s32 fd);
struct kvp_export *kvpool_export_take(s32 fd);

/* views.c */
void kvpool_views_init(void);
void kvpool_views_exit(void);

#endif /* KVPOOL_DEVICE_H */

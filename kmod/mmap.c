// SPDX-License-Identifier: GPL-2.0-only
/*
 * The two shared pages: the client's timelines, and the counters of its pool.
 * Both are plain pages that a fault brings in, so that they can be pinned (for
 * O_DIRECT, or by a GPU's driver) and come back after madvise(2).
 *
 * The timelines mapping is the life of the client. It is counted in the address
 * space that made it only: a child that inherits it all the same (by
 * MADV_DOFORK) does not keep the client alive. All here runs under mmap_lock, so
 * nothing may wait for calls, which take it in their page faults.
 */
#include <linux/mm.h>

#include "device.h"
#include "compat.h"

static vm_fault_t kvpool_fault(struct vm_fault *vmf)
{
	const struct kvpool_file *kf = vmf->vma->vm_private_data;
	struct page *page = vmf->pgoff == KVP_MMAP_TIMELINES >> PAGE_SHIFT ? kf->timelines :
									     kf->counters;

	get_page(page);
	vmf->page = page;
	return 0;
}

static void kvpool_timelines_open(struct vm_area_struct *vma)
{
	struct kvpool_file *kf = vma->vm_private_data;

	if (vma->vm_mm == kf->mm)
		kf->maps++;
}

static void kvpool_timelines_close(struct vm_area_struct *vma)
{
	struct kvpool_file *kf = vma->vm_private_data;

	if (vma->vm_mm == kf->mm && !--kf->maps)
		kvpool_kill(kf);
}

static const struct vm_operations_struct kvpool_timelines_ops = {
	.open = kvpool_timelines_open,
	.close = kvpool_timelines_close,
	.fault = kvpool_fault,
};

static const struct vm_operations_struct kvpool_counters_ops = {
	.fault = kvpool_fault,
};

/* In a call. Once for a client, whatever becomes of the mapping. */
static int kvpool_map_timelines(struct kvpool_file *kf, struct vm_area_struct *vma)
{
	struct kvp_times *times;
	struct page *page;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	times = kvp_client_times(kf->client);
	if (!times)
		return -ENOMEM;
	page = virt_to_page(times->page);
	get_page(page);
	if (cmpxchg(&kf->timelines, NULL, page)) {
		put_page(page);
		return -EBUSY;
	}
	kf->mm = vma->vm_mm;
	kf->maps = 1;
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &kvpool_timelines_ops;
	return 0;
}

/* In a call. The file keeps the page, as the mapping may outlive client and pool. */
static int kvpool_map_counters(struct kvpool_file *kf, struct vm_area_struct *vma)
{
	void *counters = kvp_client_counters(kf->client);
	struct page *page;

	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	if (!counters)
		return kvp_client_ready(kf->client) & KVP_READY_NO_POOL ? -EBUSY : -EACCES;
	page = virt_to_page(counters);
	get_page(page);
	if (cmpxchg(&kf->counters, NULL, page))
		put_page(page);
	vm_flags_clear(vma, VM_MAYWRITE);
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &kvpool_counters_ops;
	return 0;
}

int kvpool_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct kvpool_file *kf = file->private_data;
	int err = -EINVAL;

	if (vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	if (!kvpool_begin(kf))
		return -EOWNERDEAD;
	vma->vm_private_data = kf;
	if (vma->vm_pgoff == KVP_MMAP_TIMELINES >> PAGE_SHIFT)
		err = kvpool_map_timelines(kf, vma);
	else if (vma->vm_pgoff == KVP_MMAP_COUNTERS >> PAGE_SHIFT)
		err = kvpool_map_counters(kf, vma);
	kvpool_end(kf);
	return err;
}

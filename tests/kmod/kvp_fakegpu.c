// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver that behaves towards those who keep its memory as a GPU's does: a
 * static dma-buf exporter that can be attached to PCI devices only, and whose files
 * of the character device stand for memory too. Owns the memory that it made;
 * its counters are under fakegpu_lock.
 *
 * Parameters of the module, all of which can be read in sysfs:
 *   live_buffers, live_handles  objects whose memory is not given back yet
 *   bad_attaches                attempts that a GPU's driver would not have survived
 *   allow_mmap                  dma-bufs can be mapped; else -ENOTSUPP, as the vendor says
 *   release_ms                  how long the memory of a dma-buf outlives its last descriptor
 */
#include <linux/cred.h>
#include <linux/device.h>
#include <linux/dma-buf.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "kvp_fakegpu.h"

static bool allow_mmap = true;
module_param(allow_mmap, bool, 0644);
MODULE_PARM_DESC(allow_mmap, "dma-bufs can be mapped (default: true)");

static unsigned int release_ms;
module_param(release_ms, uint, 0644);
MODULE_PARM_DESC(release_ms, "milliseconds from the end of a dma-buf to that of its memory (default: 0)");

static DEFINE_MUTEX(fakegpu_lock);
static int live_buffers;
module_param(live_buffers, int, 0444);
MODULE_PARM_DESC(live_buffers, "dma-bufs whose memory is there; to be read only");
static int live_handles;
module_param(live_handles, int, 0444);
MODULE_PARM_DESC(live_handles, "handles whose memory is there; to be read only");
static int bad_attaches;
module_param(bad_attaches, int, 0444);
MODULE_PARM_DESC(bad_attaches, "attachments of devices that are not on PCI; to be read only");

static struct workqueue_struct *fakegpu_releases;
static DECLARE_WAIT_QUEUE_HEAD(fakegpu_less);
static struct class *fakegpu_class;
static int fakegpu_major;

/**
 * struct fakegpu_memory - what a descriptor stands for
 * @live: its counter
 * @size: bytes
 * @mem: the bytes
 * @release: end of it, delayed
 */
struct fakegpu_memory {
	int *live;
	size_t size;
	void *mem;
	struct delayed_work release;
};

/* ---- memory ---- */

static void fakegpu_count(int *counter, int by)
{
	mutex_lock(&fakegpu_lock);
	*counter += by;
	mutex_unlock(&fakegpu_lock);
	if (by < 0)
		wake_up(&fakegpu_less);
}

static void fakegpu_free(struct fakegpu_memory *memory)
{
	vfree(memory->mem);
	fakegpu_count(memory->live, -1);
	kfree(memory);
}

static void fakegpu_release_work(struct work_struct *work)
{
	fakegpu_free(container_of(to_delayed_work(work), struct fakegpu_memory, release));
}

static struct fakegpu_memory *fakegpu_alloc(u64 size, int *live)
{
	struct fakegpu_memory *memory;

	if (!size || size > KVP_FAKEGPU_MAX || !PAGE_ALIGNED(size))
		return ERR_PTR(-EINVAL);
	memory = kzalloc(sizeof(*memory), GFP_KERNEL);
	if (!memory)
		return ERR_PTR(-ENOMEM);
	memory->mem = vmalloc_user(size);
	if (!memory->mem) {
		kfree(memory);
		return ERR_PTR(-ENOMEM);
	}
	memory->size = size;
	memory->live = live;
	INIT_DELAYED_WORK(&memory->release, fakegpu_release_work);
	fakegpu_count(live, 1);
	return memory;
}

/* ---- as a dma-buf ---- */

static int fakegpu_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attachment)
{
	if (dev_is_pci(attachment->dev))
		return 0;
	fakegpu_count(&bad_attaches, 1);
	return -EINVAL;
}

static struct sg_table *fakegpu_map(struct dma_buf_attachment *attachment,
				    enum dma_data_direction direction)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static void fakegpu_unmap(struct dma_buf_attachment *attachment, struct sg_table *table,
			  enum dma_data_direction direction)
{
}

static int fakegpu_dmabuf_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct fakegpu_memory *memory = dmabuf->priv;

	return allow_mmap ? remap_vmalloc_range(vma, memory->mem, vma->vm_pgoff) : -ENOTSUPP;
}

static void fakegpu_dmabuf_release(struct dma_buf *dmabuf)
{
	struct fakegpu_memory *memory = dmabuf->priv;

	queue_delayed_work(fakegpu_releases, &memory->release, msecs_to_jiffies(release_ms));
}

static const struct dma_buf_ops fakegpu_dmabuf_ops = {
	.attach = fakegpu_attach,
	.map_dma_buf = fakegpu_map,
	.unmap_dma_buf = fakegpu_unmap,
	.mmap = fakegpu_dmabuf_mmap,
	.release = fakegpu_dmabuf_release,
};

static struct file *fakegpu_make_dmabuf(struct file *device, u64 size)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct fakegpu_memory *memory = fakegpu_alloc(size, &live_buffers);
	struct dma_buf *dmabuf;

	if (IS_ERR(memory))
		return ERR_CAST(memory);
	info.ops = &fakegpu_dmabuf_ops;
	info.size = size;
	info.flags = O_RDWR;
	info.priv = memory;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		fakegpu_free(memory);
		return ERR_CAST(dmabuf);
	}
	return dmabuf->file;
}

/* ---- as a file of the device ---- */

/* Opened again; what makes it a handle is its private data. */
static struct file *fakegpu_make_handle(struct file *device, u64 size)
{
	struct fakegpu_memory *memory = fakegpu_alloc(size, &live_handles);
	struct file *file;

	if (IS_ERR(memory))
		return ERR_CAST(memory);
	file = dentry_open(&device->f_path, O_RDWR, current_cred());
	if (IS_ERR(file))
		fakegpu_free(memory);
	else
		file->private_data = memory;
	return file;
}

/* ---- the character device ---- */

static long fakegpu_make(struct file *device, void __user *arg,
			 struct file *(*make)(struct file *device, u64 size))
{
	struct kvp_fakegpu_memory request;
	struct file *file;
	int fd;

	if (copy_from_user(&request, arg, sizeof(request)))
		return -EFAULT;
	if (request.reserved)
		return -EINVAL;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = make(device, request.size);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	request.fd = fd;
	if (copy_to_user(arg, &request, sizeof(request))) {
		fput(file);
		put_unused_fd(fd);
		return -EFAULT;
	}
	fd_install(fd, file);
	return 0;
}

static long fakegpu_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case KVP_FAKEGPU_DMABUF:
		return fakegpu_make(file, (void __user *)arg, fakegpu_make_dmabuf);
	case KVP_FAKEGPU_HANDLE:
		return fakegpu_make(file, (void __user *)arg, fakegpu_make_handle);
	default:
		return -ENOTTY;
	}
}

static int fakegpu_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct fakegpu_memory *memory = file->private_data;

	return memory ? remap_vmalloc_range(vma, memory->mem, vma->vm_pgoff) : -ENODEV;
}

static int fakegpu_release(struct inode *inode, struct file *file)
{
	if (file->private_data)
		fakegpu_free(file->private_data);
	return 0;
}

static const struct file_operations fakegpu_fops = {
	.owner = THIS_MODULE,
	.release = fakegpu_release,
	.llseek = noop_llseek,
	.unlocked_ioctl = fakegpu_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = fakegpu_mmap,
};

/* ---- from load to unload ---- */

static struct class *__init fakegpu_make_class(void)
{
#ifdef FAKEGPU_CLASS_HAS_OWNER
	return class_create(THIS_MODULE, "kvp_fakegpu");
#else
	return class_create("kvp_fakegpu");
#endif
}

static int __init fakegpu_init_node(void)
{
	struct device *node;

	fakegpu_class = fakegpu_make_class();
	if (IS_ERR(fakegpu_class))
		return PTR_ERR(fakegpu_class);
	node = device_create(fakegpu_class, NULL, MKDEV(fakegpu_major, 0), NULL, "kvp_fakegpu");
	if (!IS_ERR(node))
		return 0;
	class_destroy(fakegpu_class);
	return PTR_ERR(node);
}

static int __init fakegpu_init(void)
{
	int err;

	fakegpu_releases = alloc_workqueue("kvp_fakegpu", WQ_UNBOUND, 0);
	if (!fakegpu_releases)
		return -ENOMEM;
	fakegpu_major = register_chrdev(0, "kvp_fakegpu", &fakegpu_fops);
	err = fakegpu_major;
	if (err < 0)
		goto fail_major;
	err = fakegpu_init_node();
	if (err)
		goto fail_node;
	return 0;

fail_node:
	unregister_chrdev(fakegpu_major, "kvp_fakegpu");
fail_major:
	destroy_workqueue(fakegpu_releases);
	return err;
}

/* A release that is delayed still is no file any more, and so does not hold the module. */
static void __exit fakegpu_exit(void)
{
	device_destroy(fakegpu_class, MKDEV(fakegpu_major, 0));
	class_destroy(fakegpu_class);
	unregister_chrdev(fakegpu_major, "kvp_fakegpu");
	wait_event(fakegpu_less, !READ_ONCE(live_buffers));
	destroy_workqueue(fakegpu_releases);
}

module_init(fakegpu_init);
module_exit(fakegpu_exit);

MODULE_DESCRIPTION("A GPU driver for the tests of kvpool");
MODULE_AUTHOR("The kvpool authors");
MODULE_LICENSE("GPL");
/* MODULE_IMPORT_NS() takes a name or, from 6.13 on, a string. */
MODULE_INFO(import_ns, "DMA_BUF");

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Custody of the descriptors of a pool's bytes. The object that the core keeps is
 * the struct file, with a reference of ours; who attaches gets a descriptor of
 * that file. Owns the list of majors, which is constant once the module is loaded.
 *
 * Only files that can hold no file of ours are taken. Custody of any other (a
 * socket, a ring, our own) makes cycles of references that nothing collects.
 */
#include <linux/dma-buf.h>
#include <linux/file.h>
#include <linux/moduleparam.h>
#include <linux/shmem_fs.h>

#include "device.h"
#include "compat.h"

#define KVPOOL_MAX_MAJORS	16

static unsigned int kvpool_majors[KVPOOL_MAX_MAJORS] = { 195 };
static unsigned int kvpool_nr_majors = 1;
module_param_array_named(device_majors, kvpool_majors, uint, &kvpool_nr_majors, 0444);
MODULE_PARM_DESC(device_majors, "majors of character devices whose descriptors a pool may keep; 0: none (default: 195, NVIDIA's)");

/*
 * The mapping of the inode is looked at, not that of the file: a file of overlayfs has the
 * mapping of a file in another filesystem, and its inode is none of shmem's.
 */
static int kvpool_check_memfd(struct file *file, u64 length)
{
	const unsigned int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	const unsigned int refused = F_SEAL_WRITE | F_SEAL_FUTURE_WRITE;
	const fmode_t both = FMODE_READ | FMODE_WRITE;
	struct inode *inode = file_inode(file);
	unsigned int seals;
	u64 size;

	if (!shmem_mapping(inode->i_mapping) || (file->f_mode & both) != both)
		return -EKEYREJECTED;
	/* Seals are added under this lock. With F_SEAL_SEAL they stay, and so does the size. */
	inode_lock(inode);
	seals = SHMEM_I(inode)->seals;
	size = i_size_read(inode);
	inode_unlock(inode);
	if ((seals & (wanted | refused)) != wanted || size != length)
		return -EKEYREJECTED;
	return 0;
}

static int kvpool_check_device(struct file *file)
{
	const struct inode *inode = file_inode(file);
	unsigned int i;

	if (!S_ISCHR(inode->i_mode) || file->f_op == &kvpool_fops)
		return -EKEYREJECTED;
	for (i = 0; i < kvpool_nr_majors; i++)
		if (kvpool_majors[i] && imajor(inode) == kvpool_majors[i])
			return 0;
	return -EKEYREJECTED;
}

/* A reference on a dma-buf is one on its file. */
static struct file *kvpool_take_dmabuf(s32 fd, u64 length)
{
	struct dma_buf *dmabuf;

	if (!IS_ENABLED(CONFIG_DMA_SHARED_BUFFER))
		return ERR_PTR(-EOPNOTSUPP);
	dmabuf = dma_buf_get(fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf) == -EINVAL ? ERR_PTR(-EKEYREJECTED) : ERR_CAST(dmabuf);
	if (length <= dmabuf->size)
		return dmabuf->file;
	dma_buf_put(dmabuf);
	return ERR_PTR(-EKEYREJECTED);
}

void *kvpool_backing_take(s32 fd, u32 kind, u64 length)
{
	struct file *file;
	int err;

	if (kind == KVP_BACKING_DMABUF)
		return kvpool_take_dmabuf(fd, length);
	file = fget(fd);
	if (!file)
		return ERR_PTR(-EBADF);
	switch (kind) {
	case KVP_BACKING_MEMFD:
		err = kvpool_check_memfd(file, length);
		break;
	case KVP_BACKING_DEVICE:
		err = kvpool_check_device(file);
		break;
	default:
		err = -EOPNOTSUPP;
		break;
	}
	if (!err)
		return file;
	fput(file);
	return ERR_PTR(err);
}

s32 kvpool_backing_give(void *object)
{
	return kvpool_receive_fd(object);
}

/* What the last reference ends is the exporter's, and may sleep. */
void kvpool_backing_drop(void *object)
{
	fput(object);
}

KVPOOL_IMPORT_DMA_BUF;

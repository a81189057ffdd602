// SPDX-License-Identifier: GPL-2.0-only
/*
 * Exports as anonymous files, which can be passed over a Unix socket. The file owns
 * one reference on the export; there is nothing to do with it but to import it.
 */
#include <linux/anon_inodes.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/seq_file.h>

#include "device.h"

static int kvpool_export_release(struct inode *inode, struct file *file)
{
	kvp_export_put(file->private_data);
	return 0;
}

static void kvpool_export_fdinfo(struct seq_file *m, struct file *file)
{
	seq_printf(m, "kvpool-export:\t%llu\n", kvp_export_id(file->private_data));
}

static const struct file_operations kvpool_export_fops = {
	.owner = THIS_MODULE,
	.release = kvpool_export_release,
	.llseek = noop_llseek,
	.show_fdinfo = kvpool_export_fdinfo,
};

/* The reference is the file's once the descriptor is there, and the caller's otherwise. */
s32 kvpool_export_give(struct kvp_export *export)
{
	struct file *file;
	int fd;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = anon_inode_getfile("[kvpool-export]", &kvpool_export_fops, export, O_RDONLY);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	fd_install(fd, file);
	return fd;
}

/* A thread of the caller that put something else there meanwhile loses that: it guessed. */
void kvpool_fd_undo(s32 fd)
{
	close_fd(fd);
}

struct kvp_export *kvpool_export_take(s32 fd)
{
	struct kvp_export *export = ERR_PTR(-EINVAL);
	struct file *file = fget(fd);

	if (!file)
		return ERR_PTR(-EBADF);
	if (file->f_op == &kvpool_export_fops) {
		export = file->private_data;
		kvp_export_get(export);
	}
	fput(file);
	return export;
}

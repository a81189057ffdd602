// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module: tests the core before it lets it in, and owns what there is one of:
 * the host of all pools, the device node, and the parameters.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/align.h>
#include <linux/cred.h>
#include <linux/init.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sysfs.h>
#include <linux/uidgid.h>

#include "device.h"

/* Numbers of operations are below this; the frame of ioctl(2) has no more. */
#define KVPOOL_OP_NUMBERS 256

static bool __init kvpool_array_sound(const struct kvp_op_desc *op,
				      const struct kvp_array_desc *array)
{
	return array->ptr + sizeof(u64) <= op->size && array->nr + sizeof(u32) <= op->size &&
	       IS_ALIGNED(array->ptr, sizeof(u64)) && IS_ALIGNED(array->nr, sizeof(u32)) &&
	       array->elem && array->align && !(array->elem % array->align) && array->max;
}

static bool __init kvpool_op_sound(const struct kvp_op_desc *op)
{
	u32 i;

	if (!op->name || op->min_size < sizeof(struct kvp_head) || op->size < op->min_size ||
	    op->size > PAGE_SIZE || !IS_ALIGNED(op->size, sizeof(u64)) ||
	    op->nr_arrays > KVP_MAX_ARRAYS)
		return false;
	for (i = 0; i < op->nr_arrays; i++)
		if (!kvpool_array_sound(op, &op->array[i]))
			return false;
	return true;
}

/* The hash gives the published values, and what the table says can be followed. */
static int __init kvpool_selftest(void)
{
	const struct kvp_op_desc *op;
	u32 nr;

	if (kvp_hash_selftest()) {
		pr_err("self-test: the hash gives wrong values\n");
		return -EIO;
	}
	for (nr = 0; nr < KVPOOL_OP_NUMBERS; nr++) {
		op = kvp_op_find(nr);
		if (op && !kvpool_op_sound(op)) {
			pr_err("self-test: operation 0x%02x is described wrongly\n", nr);
			return -EIO;
		}
	}
	if (!kvp_op_find(KVP_OP_ABI) || !kvp_op_find(KVP_OP_BATCH) ||
	    kvp_op_find(KVPOOL_OP_NUMBERS)) {
		pr_err("self-test: the table of operations has gaps\n");
		return -EIO;
	}
	return 0;
}

/* ---- parameters ---- */

/* Permission bits are octal, in both directions. */
static int kvpool_mode_set(const char *value, const struct kernel_param *param)
{
	u16 mode;
	int err = kstrtou16(value, 8, &mode);

	if (err || mode & ~0777)
		return -EINVAL;
	*(u16 *)param->arg = mode;
	return 0;
}

static int kvpool_mode_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%04o\n", *(u16 *)param->arg);
}

static const struct kernel_param_ops kvpool_mode_ops = {
	.set = kvpool_mode_set,
	.get = kvpool_mode_get,
};

static u16 kvpool_mode = 0660;
module_param_cb(mode, &kvpool_mode_ops, &kvpool_mode, 0444);
MODULE_PARM_DESC(mode, "permission bits of /dev/kvpool, octal (default: 0660)");

static unsigned int kvpool_gid;
module_param_named(gid, kvpool_gid, uint, 0444);
MODULE_PARM_DESC(gid, "group of /dev/kvpool, for the udev rule (default: 0)");

static unsigned int kvpool_persist_gid = (gid_t)-1;
module_param_named(persist_gid, kvpool_persist_gid, uint, 0444);
MODULE_PARM_DESC(persist_gid, "group that may make persistent pools, beside CAP_SYS_ADMIN (default: none)");

static unsigned int kvpool_metadata_mb;
module_param_named(pool_metadata_mb, kvpool_metadata_mb, uint, 0444);
MODULE_PARM_DESC(pool_metadata_mb, "MiB of metadata that all pools of one user may take together (default: a quarter of the memory)");

static unsigned int kvpool_pools_per_uid = 64;
module_param_named(pools_per_uid, kvpool_pools_per_uid, uint, 0444);
MODULE_PARM_DESC(pools_per_uid, "pools that one user may own at a time; 0: no limit (default: 64)");

/* The group that may make persistent pools is among those of the credentials. */
bool kvpool_may_persist(const struct kvp_cred *cred)
{
	return cred->gid == kvpool_persist_gid || kvpool_in_group(cred, kvpool_persist_gid);
}

/* ---- the device node ---- */

static ssize_t mode_show(struct device *dev, struct device_attribute *attr, char *buffer)
{
	return sysfs_emit(buffer, "%04o\n", kvpool_mode);
}
static DEVICE_ATTR_RO(mode);

static ssize_t gid_show(struct device *dev, struct device_attribute *attr, char *buffer)
{
	return sysfs_emit(buffer, "%u\n", kvpool_gid);
}
static DEVICE_ATTR_RO(gid);

/* For the udev rule: devtmpfs knows the mode, and no group. */
static struct attribute *kvpool_attrs[] = {
	&dev_attr_mode.attr,
	&dev_attr_gid.attr,
	NULL,
};
ATTRIBUTE_GROUPS(kvpool);

static struct miscdevice kvpool_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kvpool",
	.fops = &kvpool_fops,
	.groups = kvpool_groups,
};

/* ---- from load to unload ---- */

struct kvp_host kvpool_host;

/*
 * Ends clients whose files stay open, for which memory may be short, wakes who polls, and reads
 * timelines.
 */
struct workqueue_struct *kvpool_works;

static int __init kvpool_init(void)
{
	int err = kvpool_selftest();

	if (err)
		return err;
	kvpool_works = alloc_workqueue("kvpool", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!kvpool_works)
		return -ENOMEM;
	if (!kvpool_metadata_mb)
		kvpool_metadata_mb = max_t(u64, (u64)totalram_pages() * PAGE_SIZE / SZ_4M, 1);
	kvp_host_init(&kvpool_host);
	kvpool_host.max_metadata_per_uid = (u64)kvpool_metadata_mb * SZ_1M;
	kvpool_host.max_pools_per_uid = kvpool_pools_per_uid ? kvpool_pools_per_uid : U32_MAX;
	kvpool_scan_init();

	kvpool_device.mode = kvpool_mode;
	err = misc_register(&kvpool_device);
	if (err) {
		kvpool_scan_exit();
		kvp_host_exit(&kvpool_host);
		destroy_workqueue(kvpool_works);
		return err;
	}
	kvpool_views_init();
	return 0;
}

/* No file is open and no pool persists: each of them holds the module. */
static void __exit kvpool_exit(void)
{
	kvpool_views_exit();
	misc_deregister(&kvpool_device);
	kvpool_scan_exit();
	destroy_workqueue(kvpool_works);
	kvp_host_exit(&kvpool_host);
}

module_init(kvpool_init);
module_exit(kvpool_exit);

MODULE_DESCRIPTION("Shared pool of KV-cache blocks: /dev/kvpool");
MODULE_AUTHOR("The kvpool authors");
MODULE_LICENSE("GPL");

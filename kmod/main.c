// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module: carries the core, and tests it before it lets it in. The device
 * node is not in this version, so nothing calls the core after that.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/align.h>
#include <linux/init.h>
#include <linux/module.h>

#include "core.h"

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

static int __init kvpool_init(void)
{
	return kvpool_selftest();
}

static void __exit kvpool_exit(void)
{
}

module_init(kvpool_init);
module_exit(kvpool_exit);

MODULE_DESCRIPTION("Shared pool of KV-cache blocks: the core and its self-test; no device node yet");
MODULE_AUTHOR("The kvpool authors");
MODULE_LICENSE("GPL");

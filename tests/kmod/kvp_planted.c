// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults on purpose, one for each of those that the debug kernel looks for, to show that it finds
 * them: scripts/check-debug-net. Owns nothing but the locks below.
 *
 * Parameter of the module:
 *   plant	write only: which fault happens now, a name of planted[]
 */
#include <linux/compiler.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#define PLANTED_BYTES	64

static DEFINE_SPINLOCK(planted_first);
static DEFINE_SPINLOCK(planted_second);
static DEFINE_MUTEX(planted_kept);

static char *planted_alloc(void)
{
	char *mem = kzalloc(PLANTED_BYTES, GFP_KERNEL);

	/* The compiler is not to know what becomes of it. */
	OPTIMIZER_HIDE_VAR(mem);
	return mem;
}

/* What no fault is: the same memory and the same locks, as they should be used. */
static noinline void planted_nothing(void)
{
	char *mem = planted_alloc();

	mutex_lock(&planted_kept);
	spin_lock(&planted_first);
	spin_lock(&planted_second);
	if (mem)
		WRITE_ONCE(mem[PLANTED_BYTES - 1], 1);
	spin_unlock(&planted_second);
	spin_unlock(&planted_first);
	mutex_unlock(&planted_kept);
	kfree(mem);
}

static noinline void planted_use_after_free(void)
{
	char *mem = planted_alloc(), *stale = mem;

	if (!mem)
		return;
	OPTIMIZER_HIDE_VAR(stale);
	kfree(mem);
	READ_ONCE(stale[PLANTED_BYTES / 2]);
}

static noinline void planted_out_of_bounds(void)
{
	char *mem = planted_alloc();
	int past = PLANTED_BYTES;

	if (!mem)
		return;
	OPTIMIZER_HIDE_VAR(past);
	WRITE_ONCE(mem[past], 1);
	kfree(mem);
}

static noinline void planted_lock_order(void)
{
	spin_lock(&planted_first);
	spin_lock(&planted_second);
	spin_unlock(&planted_second);
	spin_unlock(&planted_first);
	spin_lock(&planted_second);
	spin_lock(&planted_first);
	spin_unlock(&planted_first);
	spin_unlock(&planted_second);
}

static noinline void planted_sleep(void)
{
	char *mem;

	spin_lock(&planted_first);
	mem = planted_alloc();
	spin_unlock(&planted_first);
	kfree(mem);
}

/* Several: one may be found in what is left of a dead stack. The report shows their text. */
static noinline void planted_leak(void)
{
	char *mem;
	int i;

	for (i = 0; i < 8; i++) {
		mem = planted_alloc();
		if (mem)
			strscpy(mem, "planted leak", PLANTED_BYTES);
	}
}

/* Nothing takes it again until the machine ends. */
static noinline void planted_keep_lock(void)
{
	mutex_lock(&planted_kept);
}

static const struct {
	const char *name;
	void (*happen)(void);
} planted[] = {
	{ "nothing", planted_nothing },
	{ "use_after_free", planted_use_after_free },
	{ "out_of_bounds", planted_out_of_bounds },
	{ "lock_order", planted_lock_order },
	{ "sleep", planted_sleep },
	{ "leak", planted_leak },
	{ "keep_lock", planted_keep_lock },
};

static int planted_set(const char *value, const struct kernel_param *param)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(planted); i++) {
		if (!sysfs_streq(value, planted[i].name))
			continue;
		planted[i].happen();
		return 0;
	}
	return -EINVAL;
}

static const struct kernel_param_ops planted_ops = {
	.set = planted_set,
};

module_param_cb(plant, &planted_ops, NULL, 0200);
MODULE_PARM_DESC(plant, "which fault happens now");

MODULE_DESCRIPTION("Faults on purpose, for the debug kernel to find");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timelines read because somebody waits, and the end of grace times: a store to a page raises no
 * interrupt, so the host is scanned every fence_poll_us as long as the core asks for it. Owns the
 * timer, which has the work queued, and the parameter.
 *
 * Nobody waits: no timer runs. The work forgets when the timer is due before it looks at a
 * pool, so whoever begins to wait during a scan sets the timer again, however that scan ends.
 */
#include <linux/hrtimer.h>
#include <linux/moduleparam.h>
#include <linux/sysfs.h>

#include "device.h"
#include "compat.h"

#define KVPOOL_POLL_US		1000	/* by default */
#define KVPOOL_POLL_US_MIN	50
#define KVPOOL_POLL_US_MAX	60000000

/**
 * struct kvpool_scanner - when the host is scanned next
 * @timer: queues @work
 * @work: scans
 * @lock: of the rest; any context
 * @due: when @timer fires, KTIME_MAX: it is not set; past: @work has not begun yet
 * @on: the timer may be set
 */
static struct kvpool_scanner {
	struct hrtimer timer;
	struct work_struct work;
	spinlock_t lock;
	ktime_t due;
	bool on;
} kvpool_scanner = {
	.lock = __SPIN_LOCK_UNLOCKED(kvpool_scanner.lock),
	.due = KTIME_MAX,
};

static void kvpool_scan_within(u64 ns)
{
	struct kvpool_scanner *scanner = &kvpool_scanner;
	ktime_t due = ktime_add_safe(ktime_get(), min_t(u64, ns, KTIME_MAX));
	unsigned long flags;

	spin_lock_irqsave(&scanner->lock, flags);
	if (scanner->on && due < scanner->due) {
		scanner->due = due;
		hrtimer_start(&scanner->timer, due, HRTIMER_MODE_ABS);
	}
	spin_unlock_irqrestore(&scanner->lock, flags);
}

static void kvpool_scan_soon(struct kvp_host *host)
{
	kvpool_scan_within(READ_ONCE(host->scan_ns));
}

static void kvpool_scan(struct work_struct *work)
{
	u64 next;

	spin_lock_irq(&kvpool_scanner.lock);
	kvpool_scanner.due = KTIME_MAX;
	spin_unlock_irq(&kvpool_scanner.lock);

	next = kvp_host_scan(&kvpool_host);
	trace_kvp_scan(next);
	if (next != KVP_SCAN_NEVER)
		kvpool_scan_within(next);
}

static enum hrtimer_restart kvpool_scan_due(struct hrtimer *timer)
{
	queue_work(kvpool_works, &kvpool_scanner.work);
	return HRTIMER_NORESTART;
}

/* ---- the parameter ---- */

static unsigned int kvpool_poll_us = KVPOOL_POLL_US;

/* From the next reading on. */
static int kvpool_poll_set(const char *value, const struct kernel_param *param)
{
	int err = param_set_uint_minmax(value, param, KVPOOL_POLL_US_MIN, KVPOOL_POLL_US_MAX);

	if (!err)
		WRITE_ONCE(kvpool_host.scan_ns, (u64)kvpool_poll_us * NSEC_PER_USEC);
	return err;
}

static const struct kernel_param_ops kvpool_poll_ops = {
	.set = kvpool_poll_set,
	.get = param_get_uint,
};

module_param_cb(fence_poll_us, &kvpool_poll_ops, &kvpool_poll_us, 0644);
MODULE_PARM_DESC(fence_poll_us, "microseconds between two readings of timelines while somebody waits, 50 to 60000000 (default: 1000)");

/* ---- from load to unload ---- */

/* The host is there, and nobody calls yet. */
void __init kvpool_scan_init(void)
{
	kvpool_hrtimer_setup(&kvpool_scanner.timer, kvpool_scan_due, CLOCK_MONOTONIC,
			     HRTIMER_MODE_ABS);
	INIT_WORK(&kvpool_scanner.work, kvpool_scan);
	/* Who writes the parameter now sets what is about to be set. */
	kernel_param_lock(THIS_MODULE);
	kvpool_host.scan_ns = (u64)kvpool_poll_us * NSEC_PER_USEC;
	kernel_param_unlock(THIS_MODULE);
	kvpool_host.scan_soon = kvpool_scan_soon;
	kvpool_scanner.on = true;
}

/* Nobody calls any more, and kvpool_works is there still. */
void kvpool_scan_exit(void)
{
	spin_lock_irq(&kvpool_scanner.lock);
	kvpool_scanner.on = false;
	spin_unlock_irq(&kvpool_scanner.lock);
	hrtimer_cancel(&kvpool_scanner.timer);
	cancel_work_sync(&kvpool_scanner.work);
}

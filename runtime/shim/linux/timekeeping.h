/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef KVP_SHIM_TIMEKEEPING_H
#define KVP_SHIM_TIMEKEEPING_H

#include <time.h>

#include <linux/types.h>

#define NSEC_PER_MSEC	1000000L

static inline u64 kvp_shim_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (u64)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline u64 ktime_get_ns(void)
{
	return kvp_shim_clock_ns(CLOCK_MONOTONIC);
}

/* The time of the last tick: cheap. */
static inline u64 ktime_get_coarse_ns(void)
{
	return kvp_shim_clock_ns(CLOCK_MONOTONIC_COARSE);
}

#endif /* KVP_SHIM_TIMEKEEPING_H */

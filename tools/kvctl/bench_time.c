// SPDX-License-Identifier: MIT
/*
 * The clock of the benchmarks: CPU time of this thread. Owns what reading it costs, which is
 * taken off every measurement.
 */
#include <sys/resource.h>
#include <time.h>

#include "bench.h"

#define CLOCK_PAIRS	2000

static double clock_cost;	/* ns of a pair of start and stop */

static double thread_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static uint64_t thread_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

void bench_start(struct bench_timer *timer)
{
	timer->started_faults = thread_faults();
	timer->started_ns = thread_ns();
}

void bench_stop(struct bench_timer *timer)
{
	timer->ns += thread_ns() - timer->started_ns - clock_cost;
	timer->faults += thread_faults() - timer->started_faults;
}

double bench_clock_calibrate(void)
{
	struct bench_timer timer = { 0 };
	int i;

	clock_cost = 0;
	for (i = 0; i < CLOCK_PAIRS; i++) {
		bench_start(&timer);
		bench_stop(&timer);
	}
	clock_cost = timer.ns / CLOCK_PAIRS;
	return clock_cost;
}

// SPDX-License-Identifier: MIT
/*
 * The stopwatch of the pool's calls; see replay_calls.h. No state of its own.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "replay_calls.h"

#define LONG_NS		100000	/* a thread that loses its CPU is away longer */
#define NOISE_NS	5000	/* two clocks that are read one after the other */
#define LOOKS		10	/* at the clocks, for one without an interruption */
#define BATCHES		101	/* of the calibration; the median counts */
#define BATCH		1000
#define PRECISION	1000	/* overhead is kept in thousandths of a tick */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__)

/* Does the counter run at one rate, whatever the CPU does? */
static bool tsc_is_steady(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1U << 8));
}

static inline uint64_t read_tsc(void)
{
	return __builtin_ia32_rdtsc();
}

#else

static bool tsc_is_steady(void)
{
	return false;
}

static inline uint64_t read_tsc(void)
{
	return 0;
}

#endif

static inline uint64_t ticks(const struct kvctl_stopwatch *watch)
{
	return watch->tsc ? read_tsc() : clock_ns(CLOCK_MONOTONIC);
}

/*
 * Looks how long the thread has had no CPU up to now; only differences mean something. If it
 * loses its CPU between the clocks, they do not fit together: then again.
 */
static void look(struct kvctl_stopwatch *watch)
{
	uint64_t began, now;
	int i;

	for (i = 0; i < LOOKS; i++) {
		began = ticks(watch);
		watch->off_cpu_ns = clock_ns(CLOCK_MONOTONIC) -
				    clock_ns(CLOCK_THREAD_CPUTIME_ID);
		now = ticks(watch);
		if (now - began <= watch->long_ticks)
			break;
	}
	watch->ended = now;
}

/* The time without a CPU in a call that took @took ticks and has just ended. */
static uint64_t lost_ns(struct kvctl_stopwatch *watch, uint64_t took)
{
	uint64_t before = watch->off_cpu_ns, lost;
	uint64_t most = (uint64_t)((double)took / watch->ticks_per_ns);

	look(watch);
	if (watch->off_cpu_ns < before + NOISE_NS)
		return 0;
	lost = watch->off_cpu_ns - before;
	return lost < most ? lost : most;
}

/* Never inlined: the calibration must cost what a measurement costs. */
__attribute__((noinline))
void kvctl_stopwatch_begin(struct kvctl_stopwatch *watch)
{
	uint64_t now;

	if (!watch->on)
		return;
	now = ticks(watch);
	if (now - watch->ended > watch->long_ticks) {
		look(watch);
		now = ticks(watch);
	}
	watch->began = now;
}

__attribute__((noinline))
void kvctl_stopwatch_end(struct kvctl_stopwatch *watch, enum kvctl_call call)
{
	uint64_t took;

	if (!watch->on)
		return;
	watch->ended = ticks(watch);
	took = watch->ended - watch->began;
	watch->count[call]++;
	watch->ticks[call] += took;
	if (took > watch->long_ticks)
		watch->lost_ns[call] += lost_ns(watch, took);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Measures nothing at all, many times. */
static uint64_t calibrate(struct kvctl_stopwatch *watch)
{
	uint64_t batch[BATCHES];
	int i, j;

	for (i = 0; i < BATCHES; i++) {
		watch->ticks[0] = 0;
		for (j = 0; j < BATCH; j++) {
			kvctl_stopwatch_begin(watch);
			kvctl_stopwatch_end(watch, 0);
		}
		batch[i] = watch->ticks[0] * PRECISION / BATCH;
	}
	qsort(batch, BATCHES, sizeof(batch[0]), compare);
	return batch[BATCHES / 2];
}

/* Measured since the start. */
static double ticks_per_ns(const struct kvctl_stopwatch *watch)
{
	uint64_t ns;

	if (!watch->tsc)
		return 1;
	ns = clock_ns(CLOCK_MONOTONIC) - watch->first_ns;
	return (double)(read_tsc() - watch->first_ticks) / (double)(ns ? ns : 1);
}

void kvctl_stopwatch_start(struct kvctl_stopwatch *watch, bool on)
{
	memset(watch, 0, sizeof(*watch));
	watch->on = on;
	if (!on)
		return;
	watch->tsc = tsc_is_steady();
	watch->long_ticks = UINT64_MAX;
	watch->first_ns = clock_ns(CLOCK_MONOTONIC);
	watch->first_ticks = ticks(watch);
	watch->overhead = calibrate(watch);
	watch->ticks_per_ns = ticks_per_ns(watch);
	watch->long_ticks = (uint64_t)(LONG_NS * watch->ticks_per_ns);
	watch->count[0] = 0;
	watch->ticks[0] = 0;
	look(watch);
}

void kvctl_stopwatch_times(const struct kvctl_stopwatch *watch,
			   struct kvctl_call_times *times)
{
	double rate, ns, overhead;
	int i;

	memset(times, 0, sizeof(*times));
	if (!watch->on)
		return;
	rate = ticks_per_ns(watch);
	times->clock = watch->tsc ? "time-stamp-counter" : "monotonic";
	times->overhead_ns = (double)watch->overhead / PRECISION / rate;
	for (i = 0; i < KVCTL_CALLS; i++) {
		overhead = times->overhead_ns * (double)watch->count[i];
		ns = (double)watch->ticks[i] / rate - (double)watch->lost_ns[i] - overhead;
		times->count[i] = watch->count[i];
		times->seconds[i] = ns > 0 ? ns / 1e9 : 0;
		times->total_count += times->count[i];
		times->total_seconds += times->seconds[i];
		times->overhead_seconds += overhead / 1e9;
		times->off_cpu_seconds += (double)watch->lost_ns[i] / 1e9;
	}
}

const char *kvctl_call_name(enum kvctl_call call)
{
	static const char *const names[KVCTL_CALLS] = {
		[KVCTL_CALL_CREATE] = "create",
		[KVCTL_CALL_APPEND] = "append",
		[KVCTL_CALL_ADVANCE] = "advance",
		[KVCTL_CALL_PUBLISH] = "publish",
		[KVCTL_CALL_FREE] = "free",
	};

	return names[call];
}

/* SPDX-License-Identifier: MIT */
/*
 * A picture of a replay over time: hits, and what the pool's blocks were doing.
 * Whatever the length of the replay, KVCTL_PLOT_SAMPLES are kept at most: when there
 * are more, every second is dropped and from then on half as many are taken. The same
 * samples give the same picture, byte by byte.
 */
#ifndef KVCTL_PLOT_H
#define KVCTL_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define KVCTL_PLOT_SAMPLES	1000

/**
 * struct kvctl_sample - counters of a replay at one moment
 * @at: when: requests so far, or virtual time in ns
 * @looked_up: full blocks of prompts so far
 * @hits: of these found
 * @held: blocks that requests hold
 * @idle: blocks that are published and held by none
 * @free: blocks in which is nothing
 */
struct kvctl_sample {
	uint64_t at;
	uint64_t looked_up;
	uint64_t hits;
	uint64_t held;
	uint64_t idle;
	uint64_t free;
};

/**
 * struct kvctl_plot - the samples of a replay; all zero: none yet
 * @nr: how many are kept
 * @stride: samples offered for each that is kept
 * @offered: samples offered so far
 * @last: the last one offered
 * @sample: those kept
 */
struct kvctl_plot {
	size_t nr;
	uint64_t stride;
	uint64_t offered;
	struct kvctl_sample last;
	struct kvctl_sample sample[KVCTL_PLOT_SAMPLES];
};

/**
 * struct kvctl_plot_text - what stands on a picture
 * @title: above it; any bytes
 * @blocks: blocks of the pool
 * @timed: the axis is virtual time, else requests
 */
struct kvctl_plot_text {
	const char *title;
	uint64_t blocks;
	bool timed;
};

/* One moment more, not before the last one. */
void kvctl_plot_add(struct kvctl_plot *plot, const struct kvctl_sample *sample);

/* Draw on @out; 0 or -EIO. */
int kvctl_plot_write(const struct kvctl_plot *plot, const struct kvctl_plot_text *text,
		     FILE *out);

#endif /* KVCTL_PLOT_H */

/* SPDX-License-Identifier: MIT */
/*
 * A progress bar on stderr, shown only where that is a terminal.
 */
#ifndef KVCTL_PROGRESS_H
#define KVCTL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * struct kvctl_progress - a bar
 * @what: what is counted, e.g. "requests"
 * @total: when it is full
 * @started: kvctl_now() at the beginning
 * @drawn: kvctl_now() of the last drawing
 * @on: stderr is a terminal and the bar is wanted
 */
struct kvctl_progress {
	const char *what;
	uint64_t total;
	double started;
	double drawn;
	bool on;
};

void kvctl_progress_begin(struct kvctl_progress *progress, const char *what, uint64_t total,
			  bool wanted);

/* @done of @total; cheap to call often. */
void kvctl_progress_step(struct kvctl_progress *progress, uint64_t done);

/* Wipes the bar off, so that what is printed next begins on a clean line. */
void kvctl_progress_end(struct kvctl_progress *progress);

#endif /* KVCTL_PROGRESS_H */

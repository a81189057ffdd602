/* SPDX-License-Identifier: MIT */
/*
 * Waiting until something happens or a signal asks to end, so that what was begun is ended in
 * order: a terminal gets its modes back, a pool is left.
 */
#ifndef KVCTL_STOP_H
#define KVCTL_STOP_H

#include <poll.h>
#include <signal.h>

#define KVCTL_STOPS	4

/**
 * struct kvctl_stop - between kvctl_stop_begin() and kvctl_stop_end()
 * @before: what the signals did before
 * @mask: which signals were blocked before
 */
struct kvctl_stop {
	struct sigaction before[KVCTL_STOPS];
	sigset_t mask;
};

/*
 * From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT, but for those that are ignored, wait for
 * kvctl_stop_wait(). One at a time.
 */
void kvctl_stop_begin(struct kvctl_stop *stop);

/*
 * Until one of @fds is ready (a negative descriptor never is), a signal comes, or @seconds are
 * over (negative: for ever). Returns the signal that asks to end, or 0.
 */
int kvctl_stop_wait(const struct kvctl_stop *stop, struct pollfd *fds, nfds_t nr,
		    double seconds);

void kvctl_stop_end(const struct kvctl_stop *stop);

#endif /* KVCTL_STOP_H */

// SPDX-License-Identifier: MIT
/*
 * Signals that ask to end. Owns which one came; the handlers write it, in the only thread, while
 * that waits.
 */
#include <time.h>

#include "stop.h"

static const int signals[KVCTL_STOPS] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

static volatile sig_atomic_t caught;

static void catch(int signal)
{
	caught = signal;
}

void kvctl_stop_begin(struct kvctl_stop *stop)
{
	struct sigaction action = { .sa_handler = catch };
	sigset_t block;
	int i;

	caught = 0;
	sigemptyset(&block);
	for (i = 0; i < KVCTL_STOPS; i++)
		sigaddset(&block, signals[i]);
	sigprocmask(SIG_BLOCK, &block, &stop->mask);
	for (i = 0; i < KVCTL_STOPS; i++) {
		sigaction(signals[i], NULL, &stop->before[i]);
		if (stop->before[i].sa_handler != SIG_IGN)	/* nohup(1) */
			sigaction(signals[i], &action, NULL);
	}
}

int kvctl_stop_wait(const struct kvctl_stop *stop, struct pollfd *fds, nfds_t nr, double seconds)
{
	struct timespec left = { 0 };

	if (seconds > 0) {
		left.tv_sec = (time_t)seconds;
		left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
	}
	ppoll(fds, nr, seconds < 0 ? NULL : &left, &stop->mask);
	return caught;
}

void kvctl_stop_end(const struct kvctl_stop *stop)
{
	int i;

	for (i = 0; i < KVCTL_STOPS; i++)
		sigaction(signals[i], &stop->before[i], NULL);
	sigprocmask(SIG_SETMASK, &stop->mask, NULL);
}

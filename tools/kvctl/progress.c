// SPDX-License-Identifier: MIT
/*
 * Draws the progress bar. The bar takes the width of the terminal, as it is at
 * each drawing.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kvctl.h"
#include "progress.h"

#define REDRAW_SECONDS	0.1
#define BAR_MAX		60

static int terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return 80;
	return size.ws_col;
}

static void draw(const struct kvctl_progress *progress, uint64_t done, double now)
{
	char text[128], bar[BAR_MAX + 1];
	double elapsed = now - progress->started;
	double left = done ? elapsed / done * (progress->total - done) : 0;
	int len, room, full;

	len = snprintf(text, sizeof(text), " %3d%%  %llu of %llu %s, %.0f s left",
		       (int)(done * 100 / progress->total), (unsigned long long)done,
		       (unsigned long long)progress->total, progress->what, left);
	room = terminal_width() - len - 3;	/* brackets, and the last column stays free */
	if (room > BAR_MAX)
		room = BAR_MAX;
	if (room < 4) {
		fprintf(stderr, "\r\033[K%3d%%", (int)(done * 100 / progress->total));
		return;
	}
	full = room * done / progress->total;
	memset(bar, '#', full);
	memset(bar + full, '.', room - full);
	bar[room] = '\0';
	fprintf(stderr, "\r\033[K[%s]%s", bar, text);
}

void kvctl_progress_begin(struct kvctl_progress *progress, const char *what, uint64_t total,
			  bool wanted)
{
	progress->what = what;
	progress->total = total;
	progress->started = kvctl_now();
	progress->drawn = progress->started;
	progress->on = wanted && total && kvctl_is_terminal(stderr);
}

void kvctl_progress_step(struct kvctl_progress *progress, uint64_t done)
{
	double now;

	if (!progress->on)
		return;
	now = kvctl_now();
	if (now - progress->drawn < REDRAW_SECONDS)
		return;
	progress->drawn = now;
	draw(progress, done, now);
}

void kvctl_progress_end(struct kvctl_progress *progress)
{
	if (progress->on && progress->drawn != progress->started)
		fputs("\r\033[K", stderr);
	progress->on = false;
}

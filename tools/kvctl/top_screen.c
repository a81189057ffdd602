// SPDX-License-Identifier: MIT
/*
 * The live screen of `kvctl top'. Owns the terminal from begin() to end(): it gets its modes back
 * however the screen ends, also by a signal.
 */
#include <curses.h>
#include <locale.h>
#include <stdlib.h>
#include <unistd.h>

#include "kvctl.h"
#include "stop.h"
#include "top.h"

#define PAD_COLUMNS	512	/* no line is longer */

/**
 * struct screen - the terminal
 * @screen: of curses
 * @pad: what there is to be seen, of which the terminal shows a part
 * @rows: lines on @pad
 * @first: the first of these that is shown
 */
struct screen {
	SCREEN *screen;
	WINDOW *pad;
	int rows;
	int first;
};

static bool begin(struct screen *screen)
{
	setlocale(LC_CTYPE, "");
	screen->screen = newterm(NULL, stdout, stdin);
	if (!screen->screen)
		return false;
	set_term(screen->screen);
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	return true;
}

static void end(struct screen *screen)
{
	if (screen->pad)
		delwin(screen->pad);
	endwin();
	delscreen(screen->screen);
}

/* ---- drawing ---- */

static void count_line(void *arg, bool heading, const char *text)
{
	struct screen *screen = arg;

	(void)heading;
	(void)text;
	screen->rows++;
}

static void draw_line(void *arg, bool heading, const char *text)
{
	struct screen *screen = arg;

	if (heading)
		wattron(screen->pad, A_REVERSE);
	mvwaddnstr(screen->pad, screen->rows++, 0, text, PAD_COLUMNS - 1);
	wattroff(screen->pad, A_REVERSE);
}

static void refresh_part(struct screen *screen)
{
	int last = screen->rows - LINES;

	if (screen->first > last)
		screen->first = last;
	if (screen->first < 0)
		screen->first = 0;
	erase();
	wnoutrefresh(stdscr);
	pnoutrefresh(screen->pad, screen->first, 0, 0, 0, LINES - 1, COLS - 1);
	doupdate();
}

static bool draw(struct screen *screen, const struct kvctl_top *top,
		 const struct kvctl_top_look *now, const struct kvctl_top_look *before)
{
	const struct kvctl_top_out count = { .line = count_line, .arg = screen };
	const struct kvctl_top_out lines = { .line = draw_line, .arg = screen };
	char text[128];

	screen->rows = 1;
	kvctl_top_lines(now, before, &count);
	if (screen->pad)
		delwin(screen->pad);
	screen->pad = newpad(screen->rows, PAD_COLUMNS);
	if (!screen->pad)
		return false;
	screen->rows = 0;
	snprintf(text, sizeof(text), "kvctl top, every %g s, sorted by %s (q: end, s: sort)",
		 top->delay, kvctl_top_sort_name(top->sort));
	draw_line(screen, false, text);
	kvctl_top_lines(now, before, &lines);
	refresh_part(screen);
	return true;
}

/* ---- keys ---- */

enum action {
	GO_ON,
	LOOK,
	SORT,
	QUIT,
};

static enum action act(struct screen *screen, int key)
{
	switch (key) {
	case 'q':
		return QUIT;
	case ' ':
		return LOOK;
	case 's':
		return SORT;
	case KEY_UP:
		screen->first--;
		break;
	case KEY_DOWN:
		screen->first++;
		break;
	case KEY_PPAGE:
		screen->first -= LINES;
		break;
	case KEY_NPAGE:
		screen->first += LINES;
		break;
	default:	/* KEY_RESIZE, and whatever else: draw again */
		break;
	}
	refresh_part(screen);
	return GO_ON;
}

/* Until the next look is due, or wanted; QUIT: the end. *@signal: which one asks for that. */
static enum action wait_for(struct screen *screen, const struct kvctl_stop *stop, double due,
			    int *signal)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
	enum action action = GO_ON;
	double left;
	int key;

	while (action == GO_ON) {
		left = due - kvctl_now();
		if (left <= 0)
			return LOOK;
		*signal = kvctl_stop_wait(stop, &fd, 1, left);
		if (*signal || (fd.revents & (POLLHUP | POLLERR)))
			return QUIT;
		while (action == GO_ON && (key = getch()) != ERR)
			action = act(screen, key);
	}
	return action;
}

/* ---- the loop ---- */

/* One look after the other; *@failed: one of them went wrong. Returns the signal that ended it. */
static int run(struct screen *screen, struct kvctl_top *top, const struct kvctl_stop *stop,
	       bool *failed)
{
	struct kvctl_top_look before = { 0 }, now = { 0 };
	enum action action = LOOK;
	uint64_t looks = 0;
	int signal = 0;

	while (action != QUIT) {
		if (action == LOOK) {
			kvctl_top_free(&before);
			before = now;
			*failed = kvctl_top_read(top, &now);
			looks++;
		} else {
			top->sort = (top->sort + 1) % KVCTL_SORTS;
		}
		if (*failed)
			break;
		kvctl_top_sort(&now, &before, top->sort);
		if (!draw(screen, top, &now, &before))
			break;
		if (top->count && looks >= top->count)
			break;
		action = wait_for(screen, stop, now.at + top->delay, &signal);
	}
	kvctl_top_free(&before);
	kvctl_top_free(&now);
	return signal;
}

int kvctl_top_screen(struct kvctl_top *top)
{
	struct screen screen = { 0 };
	struct kvctl_stop stop;
	bool failed = false;
	int signal;

	kvctl_stop_begin(&stop);	/* first: curses takes the signals that nobody has */
	if (!begin(&screen)) {
		kvctl_stop_end(&stop);
		fprintf(stderr, "%s: the terminal of TERM=%s is not known; expected --batch\n",
			top->who, getenv("TERM"));
		return KVCTL_FAILED;
	}
	signal = run(&screen, top, &stop, &failed);
	end(&screen);
	kvctl_stop_end(&stop);
	if (failed)
		return kvctl_top_failed(top);
	if (signal && signal != SIGINT)
		raise(signal);
	return KVCTL_OK;
}

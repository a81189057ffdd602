// SPDX-License-Identifier: MIT
/*
 * kvctl top - watches pools and their clients. No state; the screen is top_screen.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "args.h"
#include "door.h"
#include "json.h"
#include "kvctl.h"
#include "top.h"

#define DELAY_MIN	0.1
#define DELAY_MAX	3600.0

enum {
	OPT_JSON = 256,
	OPT_DOOR,
};

struct command {
	struct kvctl_top top;
	char *pool;
	bool batch;
	bool json;
};

static const struct argp_option options[] = {
	{ "delay", 'd', "SECONDS", 0, "From one look to the next, 0.1..3600 (1)", 0 },
	{ "count", 'n', "N", 0, "Look N times, then end", 0 },
	{ "batch", 'b', NULL, 0, "Print text, one look after the other", 0 },
	{ "sort", 's', "KEY", 0,
	  "Order of the clients: charged (default), change, held-back, seqs, slots, raw, age "
	  "(largest first), pid, client (smallest first)", 0 },
	{ "door", OPT_DOOR, "DOOR", 0,
	  "Without POOL: pools of dev (/dev/kvpool) or inproc (this process); as for a pool's "
	  "bare name", 0 },
	{ "json", OPT_JSON, NULL, 0, "Print a JSON object for each look", 0 },
	{ 0 },
};

static const char doc[] =
	"Watches a pool, or all that there are: blocks of each family by state; nodes looked up and "
	"found, nodes published, blocks reclaimed, copies and refusals a second; clients by "
	"process, what is charged to them, how that changes, and how much of it is held back; "
	"clients that died and whose blocks are in quarantine."
	"\vPOOL is a URI or a name, see kvpool(7). On a terminal q ends it, s sorts by the next "
	"key, space looks at once, arrow and page keys scroll. The client that looks is left "
	"out; it leaves the pool between two looks. The first look has no rates. Without the "
	"right admin no clients of others are shown, which is said.\n\n"
	"Examples:\n"
	"  kvctl top\n"
	"  kvctl top POOL -b -n 2 -d 10";

static error_t parse_delay(struct argp_state *state, const char *text, double *delay)
{
	double value;
	char *end;

	errno = 0;
	value = strtod(text, &end);
	if (*text && strspn(text, "0123456789.") == strlen(text) && !*end && !errno &&
	    value >= DELAY_MIN && value <= DELAY_MAX) {
		*delay = value;
		return 0;
	}
	argp_error(state, "--delay is '%s'; expected seconds, 0.1..3600", text);
	return EINVAL;
}

static error_t parse_sort(struct argp_state *state, const char *text, enum kvctl_top_sort *sort)
{
	int found = kvctl_find_name(kvctl_top_sort_name, KVCTL_SORTS, text);

	if (found >= 0) {
		*sort = (enum kvctl_top_sort)found;
		return 0;
	}
	argp_error(state, "--sort is '%s'; expected charged, change, held-back, seqs, slots, raw, "
		   "age, pid or client", text);
	return EINVAL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;
	struct kvctl_top *top = &command->top;

	switch (key) {
	case 'd':
		return parse_delay(state, arg, &top->delay);
	case 'n':
		return kvctl_args_number(state, "count", arg, 1, UINT32_MAX, &top->count);
	case 'b':
		command->batch = true;
		return 0;
	case 's':
		return parse_sort(state, arg, &top->sort);
	case OPT_DOOR:
		return kvctl_args_door(state, arg, &top->door);
	case OPT_JSON:
		command->json = true;
		return 0;
	case ARGP_KEY_ARG:
		return kvctl_args_one(state, "POOL", arg, &command->pool);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- text, one look after the other ---- */

static void print_line(void *arg, bool heading, const char *text)
{
	(void)arg;
	(void)heading;
	printf("%s\n", text);
}

static int tell(const struct command *command, const struct kvctl_top_look *now,
		const struct kvctl_top_look *before)
{
	static const struct kvctl_top_out out = { .line = print_line };

	if (command->json)
		return kvctl_json_write(command->top.who, kvctl_top_json(now, before));
	if (before->pools)
		printf("\n");
	kvctl_top_lines(now, before, &out);
	return kvctl_output_done(command->top.who);
}

static void pause_for(double seconds)
{
	struct timespec left = {
		.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9),
	};

	nanosleep(&left, NULL);
}

static int batch(const struct command *command)
{
	const struct kvctl_top *top = &command->top;
	struct kvctl_top_look before = { 0 }, now;
	int status = KVCTL_OK;
	uint64_t i;

	for (i = 0; !status && (!top->count || i < top->count); i++) {
		if (i)
			pause_for(top->delay);
		if (kvctl_top_read(top, &now)) {
			status = kvctl_top_failed(top);
			break;
		}
		kvctl_top_sort(&now, &before, top->sort);
		status = tell(command, &now, &before);
		kvctl_top_free(&before);
		before = now;
	}
	kvctl_top_free(&before);
	return status;
}

int kvctl_top(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "[POOL]", .doc = doc,
	};
	struct command command = { .top = { .delay = 1, .door = kvctl_door() } };
	int status;

	if (!kvctl_args(&argp, argc, argv, &command, &status))
		return status;
	command.top.who = argv[0];
	command.top.pool = command.pool;
	if (command.batch || command.json)
		return batch(&command);
	if (kvctl_is_terminal(stdout) && kvctl_is_terminal(stdin))
		return kvctl_top_screen(&command.top);
	fprintf(stderr, "%s: this is no terminal; expected --batch or --json\n", argv[0]);
	return KVCTL_USAGE;
}

// SPDX-License-Identifier: MIT
/*
 * Command lines read by argp, without its habit of ending the process. No state.
 */
#include <errno.h>
#include <stdio.h>

#include <kvpool.h>

#include "args.h"
#include "kvctl.h"

#define KEY_USAGE	0x10001
#define HELP_WAS_SHOWN	ECANCELED	/* no parser of a verb gives it */

static const struct argp_option help_options[] = {
	{ "help", '?', NULL, 0, "Give this help list", -1 },
	{ "usage", KEY_USAGE, NULL, 0, "Give a short usage message", 0 },
	{ "version", 'V', NULL, 0, "Print program version", 0 },
	{ 0 },
};

static error_t help_parse(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	switch (key) {
	case '?':
		argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
		return HELP_WAS_SHOWN;
	case KEY_USAGE:
		argp_state_help(state, state->out_stream, ARGP_HELP_USAGE);
		return HELP_WAS_SHOWN;
	case 'V':
		fprintf(state->out_stream, "kvctl %s\n", kvp_version());
		return HELP_WAS_SHOWN;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

bool kvctl_args(const struct argp *argp, int argc, char **argv, void *input, int *status)
{
	static const struct argp help = { .options = help_options, .parser = help_parse };
	const struct argp_child children[] = { { &help, 0, NULL, -1 }, { 0 } };
	struct argp with_help = *argp;
	error_t err;

	with_help.children = children;
	err = argp_parse(&with_help, argc, argv, ARGP_NO_EXIT | ARGP_NO_HELP, NULL, input);
	*status = err && err != HELP_WAS_SHOWN ? KVCTL_USAGE : KVCTL_OK;
	return !err;
}

error_t kvctl_args_number(struct argp_state *state, const char *option, const char *text,
			  uint64_t min, uint64_t max, uint64_t *value)
{
	if (kvctl_parse_number(text, min, max, value))
		return 0;
	argp_error(state, "--%s is '%s'; expected a whole number %llu..%llu", option, text,
		   (unsigned long long)min, (unsigned long long)max);
	return EINVAL;
}

error_t kvctl_args_one(struct argp_state *state, const char *what, char *text, char **at)
{
	if (*at) {
		argp_error(state, "one %s only; '%s' is a second", what, text);
		return EINVAL;
	}
	*at = text;
	return 0;
}

enum {
	OPT_JSON = 256,
};

const struct argp_option kvctl_pool_options[] = {
	{ "json", OPT_JSON, NULL, 0, "Print a JSON object", 0 },
	{ 0 },
};

error_t kvctl_pool_parse(int key, char *arg, struct argp_state *state)
{
	struct kvctl_pool_args *args = state->input;

	switch (key) {
	case OPT_JSON:
		args->json = true;
		return 0;
	case ARGP_KEY_ARG:
		return kvctl_args_one(state, "POOL", arg, &args->pool);
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no POOL given");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Command lines, read by argp in a way that never ends the process: `kvctl shell' runs
 * verbs by the dozen.
 */
#ifndef KVCTL_ARGS_H
#define KVCTL_ARGS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Read the arguments of a verb, and see to --help, --usage and --version. True: go on. False:
 * it is over, with the exit status *@status (help was shown, or the command line was wrong and
 * that was said). A parser of @argp that calls argp_error() must return EINVAL after it.
 */
bool kvctl_args(const struct argp *argp, int argc, char **argv, void *input, int *status);

/* @text as a number in [@min, @max]; EINVAL, and said, where it is none. */
error_t kvctl_args_number(struct argp_state *state, const char *option, const char *text,
			  uint64_t min, uint64_t max, uint64_t *value);

/* An argument, of which there may be one: *@at gets it. @what: what it is called. */
error_t kvctl_args_one(struct argp_state *state, const char *what, char *text, char **at);

/**
 * struct kvctl_pool_args - the command line of a verb that has nothing to say but its pool
 * @pool: a URI or a name
 * @json: --json
 */
struct kvctl_pool_args {
	char *pool;
	bool json;
};

/* For the argp of such a verb, whose input is a struct kvctl_pool_args. */
extern const struct argp_option kvctl_pool_options[];
error_t kvctl_pool_parse(int key, char *arg, struct argp_state *state);

#endif /* KVCTL_ARGS_H */

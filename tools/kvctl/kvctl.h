/* SPDX-License-Identifier: MIT */
/*
 * What the verbs of kvctl share: exit statuses, the verbs themselves, and small
 * helpers to read and print numbers.
 */
#ifndef KVCTL_H
#define KVCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit statuses. */
enum {
	KVCTL_OK = 0,
	KVCTL_FAILED = 1,	/* something was found wrong, or could not be done */
	KVCTL_USAGE = 2,	/* the command line was wrong */
};

/**
 * struct kvctl_verb - one thing that kvctl can do
 * @name: as typed
 * @summary: one line for `kvctl --help`
 * @run: gets its own arguments; argv[0] is "kvctl NAME"; returns an exit status
 */
struct kvctl_verb {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv);
};

int kvctl_bench(int argc, char **argv);
int kvctl_blocks(int argc, char **argv);
int kvctl_clients(int argc, char **argv);
int kvctl_create(int argc, char **argv);
int kvctl_demo(int argc, char **argv);
int kvctl_destroy(int argc, char **argv);
int kvctl_exports(int argc, char **argv);
int kvctl_fsck(int argc, char **argv);
int kvctl_gen_trace(int argc, char **argv);
int kvctl_limit(int argc, char **argv);
int kvctl_list(int argc, char **argv);
int kvctl_map(int argc, char **argv);
int kvctl_reap(int argc, char **argv);
int kvctl_replay(int argc, char **argv);
int kvctl_revoke(int argc, char **argv);
int kvctl_shell(int argc, char **argv);
int kvctl_stat(int argc, char **argv);
int kvctl_top(int argc, char **argv);

/* All verbs, in the order of the help (verbs.c). */
extern const struct kvctl_verb kvctl_verbs[];
extern const size_t kvctl_nr_verbs;

/* Decimal digits only, within [@min, @max]; false leaves *@value alone. */
bool kvctl_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);

#define KVCTL_GROUPED_LEN 32

/* @value with a comma between thousands, in @buf; returns @buf. */
const char *kvctl_grouped(uint64_t value, char buf[KVCTL_GROUPED_LEN]);

/* Seconds of a clock that only goes forward. */
double kvctl_now(void);

/* Seconds of CPU time that this process has used. */
double kvctl_cpu(void);

/* Whether @stream is a terminal that can do more than print: TERM is neither unset nor dumb. */
bool kvctl_is_terminal(FILE *stream);

/* Whether stdout is such a terminal, and NO_COLOR is not set. */
bool kvctl_may_colour(void);

/* Prints "WHO: WHAT: " and what kvp_error() says about the last failed call to stderr. */
void kvctl_print_error(const char *who, const char *what);

#endif /* KVCTL_H */

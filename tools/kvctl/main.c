// SPDX-License-Identifier: MIT
/*
 * kvctl - shows and steers pools of KV-cache blocks. Finds the verb and leaves
 * the rest of the command line to it.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kvpool.h>

#include "json.h"
#include "kvctl.h"

const char *argp_program_version = "kvctl " KVP_VERSION;

#define WORD_MAX	24		/* longest word that is compared with the verbs */

/* Letters to insert, delete or change to make @a of @b. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[WORD_MAX + 1], left, diagonal, i, j;

	for (j = 0; j <= strlen(b); j++)
		row[j] = j;
	for (i = 1; i <= strlen(a); i++) {
		diagonal = row[0];
		row[0] = i;
		for (j = 1; j <= strlen(b); j++) {
			left = diagonal + (a[i - 1] != b[j - 1]);
			diagonal = row[j];
			if (row[j] + 1 < left)
				left = row[j] + 1;
			if (row[j - 1] + 1 < left)
				left = row[j - 1] + 1;
			row[j] = left;
		}
	}
	return row[strlen(b)];
}

/* The verb that @word was probably meant to be, or NULL. */
static const struct kvctl_verb *nearest_verb(const char *word)
{
	const struct kvctl_verb *best = NULL;
	size_t distance, least = 3, i;

	if (!*word || strlen(word) > WORD_MAX)
		return NULL;
	for (i = 0; i < kvctl_nr_verbs; i++) {
		if (!strncmp(kvctl_verbs[i].name, word, strlen(word)))
			return &kvctl_verbs[i];
		distance = edit_distance(word, kvctl_verbs[i].name);
		if (distance < least) {
			least = distance;
			best = &kvctl_verbs[i];
		}
	}
	return best;
}

static int run_verb(int argc, char **argv)
{
	const struct kvctl_verb *near;
	const char *word = argv[0];
	char name[64];
	size_t i;

	for (i = 0; i < kvctl_nr_verbs; i++) {
		if (strcmp(kvctl_verbs[i].name, word))
			continue;
		snprintf(name, sizeof(name), "kvctl %s", word);
		argv[0] = name;
		return kvctl_verbs[i].run(argc, argv);
	}
	near = nearest_verb(word);
	if (near)
		fprintf(stderr, "kvctl: unknown verb '%s'; did you mean '%s'?\n", word,
			near->name);
	else
		fprintf(stderr, "kvctl: unknown verb '%s'; `kvctl --help' lists them\n", word);
	return KVCTL_USAGE;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	int *first = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_ARG:
		*first = state->next - 1;
		state->next = state->argc;	/* the rest is the verb's */
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no verb given");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* argp's filter for the help text: the list of verbs. */
static char *help_filter(int key, const char *text, void *input)
{
	char *list = NULL;
	size_t len = 0, i;
	FILE *out;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	out = open_memstream(&list, &len);
	if (!out)
		return NULL;
	fputs("Verbs:\n", out);
	for (i = 0; i < kvctl_nr_verbs; i++)
		fprintf(out, "  %-12s %s\n", kvctl_verbs[i].name, kvctl_verbs[i].summary);
	fputs("\n`kvctl VERB --help' explains one. Exit status: 0 all is well, 1 something was "
	      "found wrong or could not be done, 2 the command line was wrong.", out);
	if (fclose(out)) {
		free(list);
		return NULL;
	}
	return list;
}

/* Whatever was run, help included, all is not well where its output got lost. */
static void check_output(int status, void *arg)
{
	(void)arg;
	if (status == KVCTL_OK && kvctl_output_done("kvctl") != KVCTL_OK)
		_exit(KVCTL_FAILED);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "VERB [OPTION...] [ARG...]",
		.doc = "Shows and steers shared pools of KV-cache blocks.\v(verbs)",
		.help_filter = help_filter,
	};
	int first = 0;

	on_exit(check_output, NULL);
	argp_err_exit_status = KVCTL_USAGE;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &first))
		return KVCTL_USAGE;
	return run_verb(argc - first, argv + first);
}

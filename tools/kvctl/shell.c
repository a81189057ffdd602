// SPDX-License-Identifier: MIT
/*
 * kvctl shell - verbs and the operations of a pool, one a line, from a file or a person.
 * Makes and ends struct shell, and says what the end of a script means.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "door.h"
#include "kvctl.h"
#include "shell.h"

#define STDIN_NAME	"(standard input)"

/**
 * struct options - the command line
 * @file: script, NULL: standard input
 * @echo: --echo
 * @json: --json
 * @door: --door, or what KVPOOL_DOOR says, or this process
 */
struct options {
	char *file;
	bool echo;
	bool json;
	enum kvp_door_kind door;
};

int shell_settle(struct shell *shell)
{
	unsigned long line = shell->pending;

	if (!line)
		return SHELL_OK;
	fflush(stdout);
	fprintf(stderr, "%s:%lu: failed: %s\n", shell->file, line, shell->pending_text);
	fprintf(stderr, "%s:%lu: expected: success, or `expect error' in the next line\n",
		shell->file, line);
	fprintf(stderr, "%s:%lu: found: error %s%s%s: %s\n", shell->file, line,
		shell->fail_code, shell->fail_reason[0] ? "/" : "", shell->fail_reason,
		shell->fail_text);
	shell->pending = 0;
	return SHELL_WRONG;
}

/* A failure waits for what the next line says about it. */
static int note_failure(struct shell *shell, const char *text)
{
	free(shell->pending_text);
	shell->pending_text = strdup(text);
	shell->pending = shell->line;
	return shell->pending_text ? SHELL_OK : SHELL_WRONG;
}

static int script_line(struct shell *shell, char *text, size_t len)
{
	int status;

	shell->line++;
	if (strlen(text) != len)
		return shell_malformed(shell, "NUL byte; expected text");
	while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		text[--len] = '\0';
	status = shell_run_line(shell, text);
	return status == SHELL_FAILED ? note_failure(shell, text) : status;
}

/* What a script must not leave open. */
static int script_end(struct shell *shell)
{
	int status = shell_settle(shell);

	if (status != SHELL_OK || !shell->batch.open)
		return status;
	shell->line = shell->batch.line;
	return shell_malformed(shell, "a batch without an end; expected `end' after its "
				      "operations");
}

static int run_script(struct shell *shell, FILE *in)
{
	int status = SHELL_OK;
	char *text = NULL;
	size_t cap = 0;
	ssize_t len;

	while (status == SHELL_OK && (len = getline(&text, &cap, in)) >= 0)
		status = script_line(shell, text, (size_t)len);
	free(text);
	if (status == SHELL_OK && ferror(in)) {
		fprintf(stderr, "%s: cannot be read: %s\n", shell->file, strerror(errno));
		return KVCTL_FAILED;
	}
	if (status == SHELL_OK || status == SHELL_END)
		status = script_end(shell);
	if (status == SHELL_MALFORMED)
		return KVCTL_USAGE;
	return status == SHELL_OK ? KVCTL_OK : KVCTL_FAILED;
}

static int run_input(struct shell *shell, const struct options *options)
{
	FILE *in = stdin;
	int status;

	if (!options->file && isatty(STDIN_FILENO)) {
		shell->terminal = true;
		return shell_interactive(shell);
	}
	shell->file = STDIN_NAME;
	if (options->file && strcmp(options->file, "-")) {
		shell->file = options->file;
		in = fopen(options->file, "r");
		if (!in) {
			fprintf(stderr, "%s: %s\n", options->file, strerror(errno));
			return KVCTL_FAILED;
		}
	}
	status = run_script(shell, in);
	if (in != stdin)
		fclose(in);
	return status;
}

/* ---- command line ---- */

enum {
	OPTION_ECHO = 'x',
	OPTION_JSON = 'j',
	OPTION_DOOR = 256,
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case OPTION_ECHO:
		options->echo = true;
		return 0;
	case OPTION_JSON:
		options->json = true;
		return 0;
	case OPTION_DOOR:
		return kvctl_args_door(state, arg, &options->door);
	case ARGP_KEY_ARG:
		return kvctl_args_one(state, "FILE", arg, &options->file);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int kvctl_shell(int argc, char **argv)
{
	static const struct argp_option arguments[] = {
		{ "echo", OPTION_ECHO, NULL, 0, "Print each line before it is run", 0 },
		{ "json", OPTION_JSON, NULL, 0, "Print a JSON object for each command", 0 },
		{ "door", OPTION_DOOR, "DOOR", 0,
		  "What a pool's bare name stands for: a pool inside this process (inproc), or one of "
		  "/dev/kvpool (dev); without it what KVPOOL_DOOR says, or else inproc", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		.options = arguments,
		.parser = parse,
		.args_doc = "[FILE]",
		.doc = "Runs verbs and the operations of pools, clients, sequences and prefixes, "
		       "one a line: "
		       "those of FILE (-: standard input), or, without FILE, what is typed."
		       "\vThe line `help' lists the commands. Exit status: 0 all is well, 1 a "
		       "command failed "
		       "or an expect was not met, 2 a line or the command line made no sense.",
	};
	struct options options = {
		.door = getenv("KVPOOL_DOOR") ? KVP_DOOR_DEFAULT : KVP_DOOR_INPROC,
	};
	struct shell *shell;
	int status;

	if (!kvctl_args(&argp, argc, argv, &options, &status))
		return status;
	shell = calloc(1, sizeof(*shell));
	if (!shell) {
		fprintf(stderr, "kvctl shell: out of memory\n");
		return KVCTL_FAILED;
	}
	kvctl_door_set(options.door);
	shell->echo = options.echo;
	shell->json = options.json;
	status = run_input(shell, &options);
	shell_batch_drop(shell);
	shell_forget_all(shell);
	shell_result_clear(&shell->last);
	free(shell->pending_text);
	free(shell);
	return status;
}

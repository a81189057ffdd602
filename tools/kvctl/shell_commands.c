// SPDX-License-Identifier: MIT
/*
 * Finds the command of a line, sorts its words and runs it. Owns the list of tables.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "kvctl.h"
#include "shell.h"

const struct shell_command *const shell_tables[] = {
	shell_pool_commands,
	shell_identity_commands,
	shell_seq_commands,
	shell_rows_commands,
	shell_prefix_commands,
	shell_export_commands,
	shell_block_commands,
	shell_fence_commands,
	shell_admit_commands,
	shell_batch_commands,
	shell_expect_commands,
	shell_talk_commands,
};

const size_t shell_nr_tables = sizeof(shell_tables) / sizeof(shell_tables[0]);

void shell_command_title(const struct shell_command *command, char *title, size_t size)
{
	snprintf(title, size, "%s%s%s", command->group, command->name ? " " : "",
		 command->name ? command->name : "");
}

const struct shell_command *shell_find_command(const struct shell_words *words, size_t first,
					       size_t *nr)
{
	const char *group = words->word[first].text;
	const char *name = first + 1 < words->nr ? words->word[first + 1].text : "";
	const struct shell_command *command;
	size_t i;

	for (i = 0; i < shell_nr_tables; i++) {
		for (command = shell_tables[i]; command->group; command++) {
			if (strcmp(command->group, group) ||
			    (command->name && strcmp(command->name, name)))
				continue;
			*nr = command->name ? 2 : 1;
			return command;
		}
	}
	return NULL;
}

int shell_need_current(struct shell *shell)
{
	if (shell->client)
		return SHELL_OK;
	return shell_malformed(shell, "no pool is open; expected `pool create NAME blocks=N' or "
				      "`pool open NAME' before");
}

/* ---- options ---- */

/* Whether @list has @key, and may have it several times. */
static bool list_has(const char *list, const char *key, bool *several)
{
	size_t len = strlen(key);
	const char *at;

	for (at = list; at; at = strchr(at, ' ')) {
		at += *at == ' ';
		if (!strncmp(at, key, len) && strchr(" *", at[len])) {
			*several = at[len] == '*';
			return true;
		}
	}
	return false;
}

/* The length of KEY in KEY=VALUE, or 0. */
static size_t key_len(const struct shell_word *word)
{
	const char *at = word->text;

	while (islower((unsigned char)*at) || *at == '_' || *at == '-')
		at++;
	if (*at != '=' || (size_t)(at - word->text) >= word->plain)
		return 0;
	return (size_t)(at - word->text);
}

static int add_option(struct shell *shell, struct shell_args *args, const char *list,
		      const char *key, size_t len, const char *value)
{
	struct shell_option *option = &args->option[args->nr_options];
	const char *dashes = value ? "" : "--", *is = value ? "=" : "";
	char title[SHELL_NAME_LEN];
	bool several = false;

	shell_command_title(args->command, title, sizeof(title));
	if (args->nr_options == SHELL_OPTIONS_MAX)
		return shell_malformed(shell, "%s: more than %d options", title,
				       SHELL_OPTIONS_MAX);
	snprintf(option->key, sizeof(option->key), "%.*s", (int)len, key);
	option->value = value;
	if (!list || !list_has(list, option->key, &several))
		return shell_malformed(shell, "%s: unknown option %s%s%s; expected %s", title,
				       dashes, option->key, is,
				       list ? list : "none (quote a word that is none)");
	if (!several && (value ? shell_option(args, option->key) != NULL :
				 shell_flag(args, option->key)))
		return shell_malformed(shell, "%s: %s%s%s is there twice; expected it once",
				       title, dashes, option->key, is);
	args->nr_options++;
	return SHELL_OK;
}

/* One word: an option, or one of the others, which move to @to. */
static int sort_word(struct shell *shell, struct shell_args *args, struct shell_words *words,
		     size_t at, size_t *to)
{
	const struct shell_word *word = &words->word[at];
	struct shell_word moved = *word;
	size_t len = key_len(word);

	if (!args->command->raw && shell_is_plain(word) && !strcmp(word->text, "--json")) {
		shell->json_once = true;
		return SHELL_OK;
	}
	if (!args->command->raw && len)
		return add_option(shell, args, args->command->options, word->text, len,
				  word->text + len + 1);
	if (!args->command->raw && shell_is_plain(word) && !strncmp(word->text, "--", 2))
		return add_option(shell, args, args->command->flags, word->text + 2,
				  strlen(word->text + 2), NULL);
	words->word[at] = words->word[*to];
	words->word[(*to)++] = moved;
	return SHELL_OK;
}

int shell_sort_args(struct shell *shell, const struct shell_command *command,
		    struct shell_words *words, size_t first, struct shell_args *args)
{
	char title[SHELL_NAME_LEN];
	size_t to = first, at;
	int status = SHELL_OK;

	memset(args, 0, sizeof(*args));
	args->command = command;
	for (at = first; at < words->nr && status == SHELL_OK; at++)
		status = sort_word(shell, args, words, at, &to);
	if (status != SHELL_OK)
		return status;
	args->word = words->word + first;
	args->nr = to - first;
	if (args->nr >= command->min && args->nr <= command->max)
		return SHELL_OK;
	shell_command_title(command, title, sizeof(title));
	return shell_malformed(shell, "%s: too %s words; expected %s%s%s", title,
			       args->nr < command->min ? "few" : "many", title,
			       *command->usage ? " " : "", command->usage);
}

const char *shell_option(const struct shell_args *args, const char *key)
{
	size_t i;

	for (i = 0; i < args->nr_options; i++) {
		if (args->option[i].value && !strcmp(args->option[i].key, key))
			return args->option[i].value;
	}
	return NULL;
}

bool shell_flag(const struct shell_args *args, const char *key)
{
	size_t i;

	for (i = 0; i < args->nr_options; i++) {
		if (!args->option[i].value && !strcmp(args->option[i].key, key))
			return true;
	}
	return false;
}

int shell_word_number(struct shell *shell, const char *what, const char *text, uint64_t min,
		      uint64_t max, uint64_t *value)
{
	if (kvctl_parse_number(text, min, max, value))
		return SHELL_OK;
	return shell_malformed(shell, "%s is '%.80s'; expected a whole number %llu..%llu", what,
			       text, (unsigned long long)min, (unsigned long long)max);
}

int shell_option_number(struct shell *shell, const struct shell_args *args, const char *key,
			uint64_t min, uint64_t max, uint64_t *value)
{
	const char *text = shell_option(args, key);

	return text ? shell_word_number(shell, key, text, min, max, value) : SHELL_OK;
}

int shell_word_range(struct shell *shell, const char *what, const char *text, uint64_t max,
		     uint64_t *first, uint64_t *last)
{
	const char *dots = strstr(text, "..");
	char begin[32];

	if (!dots && kvctl_parse_number(text, 0, max, first)) {
		*last = *first;
		return SHELL_OK;
	}
	if (dots && (size_t)(dots - text) < sizeof(begin)) {
		memcpy(begin, text, (size_t)(dots - text));
		begin[dots - text] = '\0';
		if (kvctl_parse_number(begin, 0, max, first) &&
		    kvctl_parse_number(dots + 2, *first, max, last))
			return SHELL_OK;
	}
	return shell_malformed(shell, "%s is '%.80s'; expected NUMBER or FIRST..LAST, at most %llu",
			       what, text, (unsigned long long)max);
}

/* ---- verbs of the command line ---- */

static const struct kvctl_verb *find_verb(const char *word)
{
	size_t i;

	for (i = 0; i < kvctl_nr_verbs; i++) {
		if (!strcmp(kvctl_verbs[i].name, word) && kvctl_verbs[i].run != kvctl_shell)
			return &kvctl_verbs[i];
	}
	return NULL;
}

/* Run @verb with what it prints caught; *@text is the caller's, NULL: no memory. */
static int call_verb(const struct kvctl_verb *verb, int argc, char **argv, bool catch,
		     char **text)
{
	FILE *out = stdout, *err = stderr, *caught = NULL;
	size_t len;
	int status;

	*text = NULL;
	fflush(stdout);
	if (catch)
		caught = open_memstream(text, &len);
	if (caught) {
		stdout = caught;
		stderr = caught;
	}
	status = verb->run(argc, argv);
	stdout = out;
	stderr = err;
	if (caught && fclose(caught)) {
		free(*text);
		*text = NULL;
	}
	return status;
}

/* On a terminal a verb prints by itself, so that it sees the width and may use colours. */
static int run_verb(struct shell *shell, const struct kvctl_verb *verb,
		    struct shell_words *words, size_t first)
{
	int argc = (int)(words->nr - first), status;
	char **argv = calloc((size_t)argc + 2, sizeof(*argv)), *text;
	char json[] = "--json", name[64];
	int i;

	if (!argv)
		return shell_no_memory(shell);
	for (i = 1; i < argc; i++)
		argv[i] = words->word[first + i].text;
	if (shell->json)
		argv[argc++] = json;
	snprintf(name, sizeof(name), "kvctl %s", verb->name);
	argv[0] = name;
	status = call_verb(verb, argc, argv, !shell->terminal, &text);
	free(argv);
	if (status == KVCTL_USAGE) {
		if (text)
			fputs(text, stderr);
		free(text);
		return shell_malformed(shell, "%s: wrong words, see above", verb->name);
	}
	if (status != KVCTL_OK) {
		shell_failed(shell, "status", "%s: exit status %d", verb->name, status);
		snprintf(shell->fail_reason, sizeof(shell->fail_reason), "%d", status);
	}
	shell_print_verb(shell, status ? SHELL_FAILED : SHELL_OK, text);
	return status ? SHELL_FAILED : SHELL_OK;
}

/* ---- lines ---- */

static int unknown(struct shell *shell, const char *group)
{
	const struct shell_command *command;
	const char *between = "";
	char *names = NULL;
	size_t len, i;
	FILE *out = open_memstream(&names, &len);

	if (!out)
		return shell_no_memory(shell);
	for (i = 0; i < shell_nr_tables; i++) {
		for (command = shell_tables[i]; command->group; command++) {
			if (!command->name || strcmp(command->group, group))
				continue;
			fprintf(out, "%s%s %s", between, group, command->name);
			between = ", ";
		}
	}
	if (!fclose(out))
		shell_malformed(shell, "unknown command '%.80s'; expected %s", group,
				*names ? names : "one that `help' lists");
	free(names);
	return SHELL_MALFORMED;
}

static int run_command(struct shell *shell, const struct shell_command *command,
		       struct shell_words *words, size_t first)
{
	struct shell_args args;
	int status;

	status = shell_sort_args(shell, command, words, first, &args);
	if (status == SHELL_OK && !command->alone)
		status = shell_need_current(shell);
	if (status != SHELL_OK)
		return status;
	if (shell->batch.open && command->build)
		return shell_batch_add(shell, &args);
	if (shell->batch.open && strcmp(command->group, "end"))
		return shell_malformed(shell, "'%s' cannot be in a batch; expected operations of "
					      "the pool, then `end'",
				       command->group);
	status = command->build ? shell_run_op(shell, &args) : command->run(shell, &args);
	if (!command->keeps && (status == SHELL_OK || status == SHELL_FAILED))
		shell_print_result(shell, status, shell->json || shell->json_once);
	return status;
}

int shell_run_words(struct shell *shell, struct shell_words *words, size_t first)
{
	const struct shell_command *command;
	const struct kvctl_verb *verb;
	size_t nr;

	command = shell_find_command(words, first, &nr);
	if (command)
		return run_command(shell, command, words, first + nr);
	verb = find_verb(words->word[first].text);
	if (verb && !shell->batch.open)
		return run_verb(shell, verb, words, first);
	return unknown(shell, words->word[first].text);
}

/* What a failed line leaves behind is settled by the next one: `expect error', or not. */
static bool expects_error(const struct shell_words *words)
{
	return words->nr > 1 && !strcmp(words->word[0].text, "expect") &&
	       !strcmp(words->word[1].text, "error");
}

int shell_run_line(struct shell *shell, const char *text)
{
	struct shell_words words;
	int status;

	status = shell_split(shell, text, &words);
	if (status == SHELL_OK && words.nr && !expects_error(&words))
		status = shell_settle(shell);
	if (status == SHELL_OK && shell->echo)
		printf("%s%s\n", words.nr ? "> " : "", text);
	if (status == SHELL_OK)
		status = shell_expand(shell, &words);
	shell->json_once = false;
	shell->out = json_object();
	if (status == SHELL_OK && words.nr)
		status = shell_run_words(shell, &words, 0);
	json_decref(shell->out);
	shell->out = NULL;
	shell_words_free(&words);
	return status;
}

// SPDX-License-Identifier: MIT
/*
 * The shell on a terminal: a line editor with history and completion. The history is kept
 * in a file where that is possible; that it is not is no failure.
 */
#include <ctype.h>
#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <wchar.h>

#include "kvctl.h"
#include "shell.h"

#define HISTORY_LINES	1000

/* ---- history ---- */

/* $XDG_STATE_HOME/kvpool or ~/.local/state/kvpool; free() it. NULL: there is none. */
static char *state_dir(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *dir = NULL;
	int len = -1;

	if (state && *state == '/')
		len = asprintf(&dir, "%s/kvpool", state);
	else if (home && *home)
		len = asprintf(&dir, "%s/.local/state/kvpool", home);
	return len < 0 ? NULL : dir;
}

/* The directory and those above it. */
static void make_dirs(char *dir)
{
	char *at;

	for (at = strchr(dir + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(dir, 0700);
		*at = '/';
	}
	mkdir(dir, 0700);
}

/* The file of the history; free() it. NULL: there is none. */
static char *history_file(void)
{
	char *dir = state_dir(), *file;

	if (!dir)
		return NULL;
	make_dirs(dir);
	if (asprintf(&file, "%s/history", dir) < 0)
		file = NULL;
	free(dir);
	return file;
}

/* ---- completion ---- */

/**
 * struct choices - what a word can become
 * @list: without duplicates
 * @word: what is there
 */
struct choices {
	struct shell_words list;
	const char *word;
};

static void choose(struct choices *choices, const char *before, const char *text, size_t len,
		   const char *after)
{
	char choice[SHELL_NAME_LEN + 4];
	size_t i;

	snprintf(choice, sizeof(choice), "%s%.*s%s", before, (int)len, text, after);
	if (strncmp(choice, choices->word, strlen(choices->word)))
		return;
	for (i = 0; i < choices->list.nr; i++) {
		if (!strcmp(choices->list.word[i].text, choice))
			return;
	}
	shell_words_add(&choices->list, choice, strlen(choice), SHELL_ANY);
}

static void choose_first(struct choices *choices)
{
	const struct shell_command *command;
	size_t i;

	for (i = 0; i < shell_nr_tables; i++) {
		for (command = shell_tables[i]; command->group; command++)
			choose(choices, "", command->group, strlen(command->group), "");
	}
	for (i = 0; i < kvctl_nr_verbs; i++) {
		if (kvctl_verbs[i].run != kvctl_shell)
			choose(choices, "", kvctl_verbs[i].name, strlen(kvctl_verbs[i].name),
			       "");
	}
}

static void choose_second(struct choices *choices, const char *group)
{
	const struct shell_command *command;
	size_t i;

	for (i = 0; i < shell_nr_tables; i++) {
		for (command = shell_tables[i]; command->group; command++) {
			if (command->name && !strcmp(command->group, group))
				choose(choices, "", command->name, strlen(command->name), "");
		}
	}
}

/* The keys of a list of options. */
static void choose_keys(struct choices *choices, const char *list, const char *before,
			const char *after)
{
	size_t len;

	for (; list && *list; list += len + strspn(list + len, "* ")) {
		len = strcspn(list, "* ");
		choose(choices, before, list, len, after);
	}
}

static void choose_names(const struct shell *shell, struct choices *choices)
{
	const struct shell_client *client;
	const struct shell_name *name;

	for (client = shell->clients; client; client = client->next) {
		choose(choices, "", client->name, strlen(client->name), "");
		choose(choices, "", client->pool_name, strlen(client->pool_name), "");
	}
	for (name = shell->names; name; name = name->next)
		choose(choices, name->kind == SHELL_VALUE ? "$" : "", name->name,
		       strlen(name->name), "");
}

/* @before: the words before the one to complete. */
static void find_choices(const struct shell *shell, const struct shell_words *before,
			 struct choices *choices)
{
	const struct shell_command *command;
	size_t nr;

	if (!before->nr) {
		choose_first(choices);
		return;
	}
	command = shell_find_command(before, 0, &nr);
	if (!command) {
		choose_second(choices, before->word[0].text);
		if (!choices->list.nr)
			choose_names(shell, choices);
		return;
	}
	choose_keys(choices, command->options, "", "=");
	choose_keys(choices, command->flags, "--", "");
	choose_names(shell, choices);
}

/* How many letters all choices begin with. */
static size_t common_len(const struct shell_words *list)
{
	size_t len = strlen(list->word[0].text), i, j;

	for (i = 1; i < list->nr; i++) {
		for (j = 0; j < len && list->word[i].text[j] == list->word[0].text[j]; j++)
			;
		len = j;
	}
	return len;
}

/* Put in what is sure; else show what there is. */
static unsigned char apply(EditLine *el, const struct choices *choices)
{
	const struct shell_words *list = &choices->list;
	size_t typed = strlen(choices->word), len, i;
	char rest[SHELL_NAME_LEN + 8];

	if (!list->nr)
		return CC_REFRESH_BEEP;
	len = common_len(list);
	snprintf(rest, sizeof(rest), "%.*s", (int)(len - typed), list->word[0].text + typed);
	if (list->nr == 1 && list->word[0].text[len - 1] != '=')
		strcat(rest, " ");
	if (*rest)
		return el_insertstr(el, rest) ? CC_REFRESH_BEEP : CC_REFRESH;
	putchar('\n');
	for (i = 0; i < list->nr; i++)
		printf("%s%s", i ? "  " : "", list->word[i].text);
	putchar('\n');
	fflush(stdout);
	return CC_REDISPLAY;
}

static unsigned char complete(EditLine *el, wint_t key)
{
	const LineInfo *line = el_line(el);
	const char *end = line->cursor, *word = end, *at;
	struct shell_words before = { 0 };
	struct choices choices = { 0 };
	struct shell *shell;
	unsigned char done;
	char *copy;
	size_t len;

	(void)key;
	el_get(el, EL_CLIENTDATA, &shell);
	while (word > line->buffer && !isspace((unsigned char)word[-1]))
		word--;
	for (at = line->buffer; at < word; at += len + (at + len < word)) {
		len = strcspn(at, " \t");
		if (len)
			shell_words_add(&before, at, len, SHELL_ANY);
	}
	copy = strndup(word, (size_t)(end - word));
	choices.word = copy ? copy : "";
	find_choices(shell, &before, &choices);
	done = apply(el, &choices);
	shell_words_free(&choices.list);
	shell_words_free(&before);
	free(copy);
	return done;
}

/* ---- lines ---- */

/* "POOL> ", and the client where it has a name of its own. */
static char *prompt(EditLine *el)
{
	static char text[KVP_NAME_LEN + SHELL_NAME_LEN + 8];
	const struct shell_client *client;
	struct shell *shell;

	el_get(el, EL_CLIENTDATA, &shell);
	client = shell->client;
	if (shell->batch.open)
		strcpy(text, "batch> ");
	else if (!client)
		strcpy(text, "kvctl> ");
	else if (!strcmp(client->name, client->pool_name))
		snprintf(text, sizeof(text), "%s> ", client->name);
	else
		snprintf(text, sizeof(text), "%s:%s> ", client->pool_name, client->name);
	return text;
}

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
	interrupted = signal;
}

/* A line, NULL at the end; ^C drops what is typed and asks again, but ends a command. */
static const char *read_line(EditLine *el)
{
	struct sigaction drop = { .sa_handler = interrupt }, before;
	const char *text;
	int len;

	sigaction(SIGINT, &drop, &before);
	do {
		interrupted = 0;
		text = el_gets(el, &len);
		if (interrupted) {
			putchar('\n');
			el_reset(el);
		}
	} while (interrupted);
	sigaction(SIGINT, &before, NULL);
	return len > 0 ? text : NULL;
}

static void run_lines(struct shell *shell, EditLine *el, History *past)
{
	int status = SHELL_OK;
	const char *text;
	HistEvent event;
	char *copy;

	while (status != SHELL_END && (text = read_line(el))) {
		shell->line++;
		copy = strdup(text);
		if (!copy)
			return;
		copy[strcspn(copy, "\r\n")] = '\0';
		if (copy[strspn(copy, " \t")] && past)
			history(past, &event, H_ENTER, copy);
		status = shell_run_line(shell, copy);
		free(copy);
	}
	if (status != SHELL_END)
		putchar('\n');
}

static void set_up(struct shell *shell, EditLine *el, History *past)
{
	el_set(el, EL_CLIENTDATA, shell);
	el_set(el, EL_PROMPT, prompt);
	el_set(el, EL_EDITOR, "emacs");
	el_set(el, EL_SIGNAL, 1);
	/* The narrow form copies these texts and never frees them. */
	el_wset(el, EL_ADDFN, L"complete", L"Complete a word", complete);
	el_set(el, EL_BIND, "^I", "complete", NULL);
	if (past)
		el_set(el, EL_HIST, history, past);
	el_source(el, NULL);
}

int shell_interactive(struct shell *shell)
{
	char *file = history_file();
	History *past;
	HistEvent event;
	EditLine *el;

	shell->file = "(terminal)";
	setlocale(LC_CTYPE, "");
	el = el_init("kvctl", stdin, stdout, stderr);
	if (!el) {
		free(file);
		fprintf(stderr, "kvctl shell: this terminal cannot be used; expected one with a "
				"known TERM\n");
		return KVCTL_FAILED;
	}
	past = history_init();
	if (past) {
		history(past, &event, H_SETSIZE, HISTORY_LINES);
		history(past, &event, H_SETUNIQUE, 1);
		if (file)
			history(past, &event, H_LOAD, file);
	}
	set_up(shell, el, past);
	run_lines(shell, el, past);
	if (past && file)
		history(past, &event, H_SAVE, file);
	if (past)
		history_end(past);
	el_end(el);
	free(file);
	return KVCTL_OK;
}

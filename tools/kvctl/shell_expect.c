// SPDX-License-Identifier: MIT
/*
 * What a script expects of the last command, and values taken from what it said. Owns
 * nothing.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "kvctl.h"
#include "shell.h"

/* ---- looking something up in what was said ---- */

static void clip(struct shell_words *words, const char *text, size_t len)
{
	shell_words_add(words, text, len, SHELL_ANY);
}

static void add_scalar(struct shell_words *words, const json_t *value)
{
	char number[40];

	if (json_is_string(value)) {
		clip(words, json_string_value(value), SHELL_TEXT_LEN);
		return;
	}
	if (json_is_integer(value))
		snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		snprintf(number, sizeof(number), "%g", json_real_value(value));
	else if (json_is_boolean(value))
		snprintf(number, sizeof(number), "%s", json_is_true(value) ? "yes" : "no");
	else if (json_is_null(value))
		snprintf(number, sizeof(number), "none");
	else
		snprintf(number, sizeof(number), "{...}");
	clip(words, number, sizeof(number));
}

/* KEY, KEY[I], KEY.KEY ...: NULL if there is nothing. */
static const json_t *walk(const json_t *value, const char *path)
{
	char key[SHELL_NAME_LEN];
	size_t len;
	char *end;

	while (value && *path) {
		if (*path == '[') {
			value = json_array_get(value, strtoul(path + 1, &end, 10));
			if (*end != ']')
				return NULL;
			path = end + 1;
			path += *path == '.';
			continue;
		}
		len = strcspn(path, ".[");
		if (!len || len >= sizeof(key))
			return NULL;
		memcpy(key, path, len);
		key[len] = '\0';
		value = json_object_get(value, key);
		path += len;
		path += *path == '.';
	}
	return value;
}

/* The words behind @key in a text: up to the end of the line. */
static void find_in_text(const char *text, const char *key, struct shell_words *words)
{
	size_t len = strlen(key), word;
	const char *at = text, *end;

	for (at = strstr(text, key); at; at = strstr(at + 1, key)) {
		end = at + len + (at[len] == ':');
		if ((at == text || isspace((unsigned char)at[-1])) && (*end == ' ' || *end == '\t'))
			break;
	}
	while (at && *end && *end != '\n') {
		end += strspn(end, " \t");
		word = strcspn(end, " \t\n");
		if (word)
			clip(words, end, word);
		end += word;
	}
}

/* What the last command said of @key; no words: nothing. */
static void look_up(const struct shell *shell, const char *key, struct shell_words *words)
{
	const json_t *value;
	size_t i;

	memset(words, 0, sizeof(*words));
	if (!shell->last.object) {
		if (shell->last.text)
			find_in_text(shell->last.text, key, words);
		return;
	}
	value = walk(shell->last.object, key);
	if (!json_is_array(value)) {
		if (value)
			add_scalar(words, value);
		return;
	}
	for (i = 0; i < json_array_size(value); i++)
		add_scalar(words, json_array_get(value, i));
}

/* ---- wrong ---- */

/* FILE:LINE: expected: TEXT */
static void say(const struct shell *shell, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void say(const struct shell *shell, const char *what, const char *fmt, ...)
{
	va_list args;

	if (!shell->terminal)
		fprintf(stderr, "%s:%lu: ", shell->file, shell->line);
	fprintf(stderr, "%s: ", what);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

static void say_lines(const struct shell *shell, const char *what, const char *text)
{
	size_t len;

	if (!text || !*text)
		say(shell, what, "no output");
	for (; text && *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		say(shell, what, "%.*s", (int)len, text);
	}
}

static void say_words(const struct shell *shell, const char *what, const char *key,
		      const struct shell_words *words)
{
	char text[SHELL_TEXT_LEN] = "";
	size_t len = 0, i;

	for (i = 0; i < words->nr && len < sizeof(text) - 1; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, " %s",
					words->word[i].text);
	say(shell, what, "%s%s", key, text);
}

/* ---- the forms ---- */

static int expect_error(struct shell *shell, const struct shell_args *args)
{
	const struct shell_result *last = &shell->last;
	const char *wanted = args->word[1].text, *slash = strchr(wanted, '/');
	size_t len = slash ? (size_t)(slash - wanted) : strlen(wanted);

	shell->pending = 0;
	if (last->status == SHELL_FAILED && len == strlen(last->code) &&
	    !memcmp(wanted, last->code, len) && (!slash || !strcmp(slash + 1, last->reason)))
		return SHELL_OK;
	say(shell, "expected", "error %s", wanted);
	if (last->status == SHELL_FAILED)
		say(shell, "found", "error %s%s%s", last->code, last->reason[0] ? "/" : "",
		    last->reason);
	else
		say(shell, "found", "success");
	return SHELL_WRONG;
}

static int expect_lines(struct shell *shell, const struct shell_args *args)
{
	const char *text = shell->last.text;
	uint64_t wanted, found = 0;
	int status;

	status = shell_word_number(shell, "lines", args->word[1].text, 0, INT64_MAX, &wanted);
	if (status != SHELL_OK)
		return status;
	for (; text && *text; text++)
		found += *text == '\n' || !text[1];
	if (found == wanted)
		return SHELL_OK;
	say(shell, "expected", "%llu lines", (unsigned long long)wanted);
	say(shell, "found", "%llu lines", (unsigned long long)found);
	return SHELL_WRONG;
}

/* expect = LINE...: all of the output. */
static int expect_whole(struct shell *shell, const struct shell_args *args)
{
	const char *text = shell->last.text ? shell->last.text : "";
	size_t len, i;

	for (i = 1; i < args->nr; i++) {
		len = strlen(args->word[i].text);
		if (strncmp(text, args->word[i].text, len) || (text[len] && text[len] != '\n'))
			break;
		text += len + (text[len] == '\n');
	}
	if (i == args->nr && !*text)
		return SHELL_OK;
	for (i = 1; i < args->nr; i++)
		say(shell, "expected", "%s", args->word[i].text);
	say_lines(shell, "found", shell->last.text);
	return SHELL_WRONG;
}

static int expect_text(struct shell *shell, const char *text, bool there)
{
	bool found = shell->last.text && strstr(shell->last.text, text);

	if (!*text)
		return shell_malformed(shell, "expect: text is '', which is in everything; "
					      "expected some, or `expect lines 0'");
	if (found == there)
		return SHELL_OK;
	say(shell, "expected", "%s \"%s\"", there ? "output with" : "no output with", text);
	say_lines(shell, "found", shell->last.text);
	return SHELL_WRONG;
}

static bool ordered(const char *op, double found, double wanted)
{
	if (!strcmp(op, "<"))
		return found < wanted;
	if (!strcmp(op, "<="))
		return found <= wanted;
	if (!strcmp(op, ">"))
		return found > wanted;
	return found >= wanted;
}

static int number_of(struct shell *shell, const char *text, double *value)
{
	char *end;

	*value = strtod(text, &end);
	if (*text && !*end)
		return SHELL_OK;
	return shell_malformed(shell, "'%.80s' is no number; expected one to compare", text);
}

/* expect KEY < NUMBER and the like: of one value, of a text the first word behind the key. */
static int compare(struct shell *shell, const struct shell_args *args,
		   const struct shell_words *words, bool *met)
{
	const char *op = args->word[1].text, *wanted = args->word[2].text;
	double a, b;
	int status;

	*met = false;
	if (!words->nr || (shell->last.object && words->nr > 1))
		return SHELL_OK;
	if (!strcmp(op, "=") || !strcmp(op, "!=")) {
		*met = !strcmp(words->word[0].text, wanted) == (op[0] == '=');
		return SHELL_OK;
	}
	status = number_of(shell, wanted, &b);
	if (status == SHELL_OK)
		status = number_of(shell, words->word[0].text, &a);
	*met = status == SHELL_OK && ordered(op, a, b);
	return status;
}

static bool is_comparison(const struct shell_args *args)
{
	static const char *const ops[] = { "=", "!=", "<", "<=", ">", ">=" };
	size_t i;

	for (i = 0; args->nr == 3 && i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (shell_is_plain(&args->word[1]) && !strcmp(args->word[1].text, ops[i]))
			return true;
	}
	return false;
}

/* Of an object all values must be there, of a text the first ones. */
static bool same_words(const struct shell *shell, const struct shell_args *args,
		       const struct shell_words *words)
{
	size_t wanted = args->nr - 1, i;

	if (words->nr < wanted || (shell->last.object && words->nr != wanted))
		return false;
	for (i = 0; i < wanted; i++) {
		if (strcmp(words->word[i].text, args->word[i + 1].text))
			return false;
	}
	return true;
}

static int expect_key(struct shell *shell, const struct shell_args *args)
{
	const char *key = args->word[0].text;
	struct shell_words found, wanted = {
		.word = (struct shell_word *)args->word + 1,
		.nr = args->nr - 1,
	};
	int status = SHELL_OK;
	bool met;

	look_up(shell, key, &found);
	if (is_comparison(args))
		status = compare(shell, args, &found, &met);
	else
		met = same_words(shell, args, &found);
	if (status == SHELL_OK && !met) {
		say_words(shell, "expected", key, &wanted);
		if (found.nr)
			say_words(shell, "found", key, &found);
		else
			say(shell, "found", "no %s", key);
		if (!found.nr)
			say_lines(shell, "in", shell->last.text);
		status = SHELL_WRONG;
	}
	shell_words_free(&found);
	return status;
}

static bool begins(const struct shell_args *args, const char *word, size_t nr)
{
	return args->nr == nr && shell_is_plain(&args->word[0]) &&
	       !strcmp(args->word[0].text, word);
}

static int expect_run(struct shell *shell, const struct shell_args *args)
{
	fflush(stdout);
	if (!shell->last.any)
		return shell_malformed(shell, "expect: no command before it; expected one that "
					      "says something");
	if (begins(args, "error", 2))
		return expect_error(shell, args);
	if (begins(args, "lines", 2))
		return expect_lines(shell, args);
	if (begins(args, "not", 2))
		return expect_text(shell, args->word[1].text, false);
	if (begins(args, "=", args->nr))
		return expect_whole(shell, args);
	if (args->nr == 1)
		return expect_text(shell, args->word[0].text, true);
	return expect_key(shell, args);
}

/* ---- let ---- */

static int let_run(struct shell *shell, const struct shell_args *args)
{
	const char *name = args->word[0].text;
	struct shell_words words = { 0 };
	struct shell_name *value;
	size_t i;
	int status;

	status = shell_check_value_name(shell, name);
	if (status != SHELL_OK)
		return status;
	if (!strcmp(args->word[1].text, "=")) {
		for (i = 2; i < args->nr; i++)
			clip(&words, args->word[i].text, strlen(args->word[i].text));
	} else if (args->nr == 2) {
		look_up(shell, args->word[1].text, &words);
	}
	if (!words.nr)
		return shell_malformed(shell, "let: nothing for '%s'; expected a key of what the "
					      "last command said, or = and words",
				       name);
	value = shell_bind(shell, SHELL_VALUE, NULL, name);
	if (!value) {
		shell_words_free(&words);
		return shell_no_memory(shell);
	}
	value->values = words;
	return SHELL_OK;
}

const struct shell_command shell_expect_commands[] = {
	{
		.group = "expect",
		.usage = "TEXT | not TEXT | = LINE... | lines N | KEY VALUE... | KEY < | <= | > "
			 "| >= | = | != VALUE | error ERRNO[/REASON]",
		.summary = "what the last command must have said, or how it must have failed",
		.min = 1, .max = SHELL_ANY, .raw = true, .keeps = true, .alone = true,
		.run = expect_run,
	},
	{
		.group = "let", .usage = "NAME KEY | NAME = WORD...",
		.summary = "$NAME, or $NAME[I], stands for what the last command said of KEY, or "
			   "for words",
		.min = 2, .max = SHELL_ANY, .raw = true, .keeps = true, .alone = true,
		.run = let_run,
	},
	{ 0 },
};

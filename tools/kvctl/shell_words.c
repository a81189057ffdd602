// SPDX-License-Identifier: MIT
/*
 * A line of the shell taken apart into words. Owns nothing.
 *
 * Words are separated by blanks. '...' keeps everything, "..." knows \" \\ \n and puts
 * values in; # at the beginning of a word ends the line.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "shell.h"

/* Stands for a $ that is one: in '...' or after a backslash. */
#define PLAIN_DOLLAR	'\001'

void shell_words_free(struct shell_words *words)
{
	size_t i;

	for (i = 0; i < words->nr; i++)
		free(words->word[i].text);
	free(words->word);
	memset(words, 0, sizeof(*words));
}

static bool words_push(struct shell_words *words, char *text, size_t plain)
{
	size_t cap = words->cap ? words->cap * 2 : 16;
	struct shell_word *grown;

	if (words->nr == words->cap) {
		grown = realloc(words->word, cap * sizeof(*grown));
		if (!grown)
			return false;
		words->word = grown;
		words->cap = cap;
	}
	words->word[words->nr].text = text;
	words->word[words->nr].plain = plain;
	words->nr++;
	return true;
}

bool shell_words_add(struct shell_words *words, const char *text, size_t len, size_t plain)
{
	char *copy = strndup(text, len);

	if (copy && words_push(words, copy, plain))
		return true;
	free(copy);
	return false;
}

/* ---- taking apart ---- */

/**
 * struct splitter - a line that is read
 * @at: the next character
 * @word: the word so far; has room for all of the line
 * @len: its length
 * @plain: as in struct shell_word
 */
struct splitter {
	const char *at;
	char *word;
	size_t len;
	size_t plain;
};

static void take(struct splitter *in, char c)
{
	in->word[in->len++] = c;
}

/* The character after a backslash; false: none that is known. */
static bool take_escape(struct splitter *in)
{
	switch (*in->at) {
	case 'n':
		take(in, '\n');
		break;
	case '$':
		take(in, PLAIN_DOLLAR);
		break;
	case '"':
	case '\\':
		take(in, *in->at);
		break;
	default:
		return false;
	}
	in->at++;
	return true;
}

static int take_quoted(struct shell *shell, struct splitter *in, char quote)
{
	if (in->plain == SHELL_ANY)
		in->plain = in->len;
	while (*in->at && *in->at != quote) {
		if (quote == '"' && *in->at == '\\') {
			in->at++;
			if (!take_escape(in))
				return shell_malformed(shell,
						       "bad escape in \"...\"; expected \\\", "
						       "\\\\, \\$ or \\n");
			continue;
		}
		take(in, quote == '\'' && *in->at == '$' ? PLAIN_DOLLAR : *in->at);
		in->at++;
	}
	if (!*in->at)
		return shell_malformed(shell, "unclosed quote; expected another %c", quote);
	in->at++;
	return SHELL_OK;
}

static int take_word(struct shell *shell, struct splitter *in)
{
	int status = SHELL_OK;

	in->len = 0;
	in->plain = SHELL_ANY;
	while (*in->at && !isspace((unsigned char)*in->at) && status == SHELL_OK) {
		if (*in->at == '"' || *in->at == '\'') {
			in->at++;
			status = take_quoted(shell, in, in->at[-1]);
		} else {
			take(in, *in->at++);
		}
	}
	return status;
}

int shell_split(struct shell *shell, const char *text, struct shell_words *words)
{
	struct splitter in = { .at = text };
	const char *at;
	int status;

	memset(words, 0, sizeof(*words));
	for (at = text; *at; at++) {
		if (iscntrl((unsigned char)*at) && !isspace((unsigned char)*at))
			return shell_malformed(shell, "control character 0x%02x; expected text",
					       (unsigned char)*at);
	}
	in.word = malloc(strlen(text) + 1);
	if (!in.word)
		return shell_no_memory(shell);
	for (status = SHELL_OK; status == SHELL_OK; ) {
		while (isspace((unsigned char)*in.at))
			in.at++;
		if (!*in.at || *in.at == '#')
			break;
		status = take_word(shell, &in);
		if (status == SHELL_OK &&
		    !shell_words_add(words, in.word, in.len, in.plain))
			status = shell_no_memory(shell);
	}
	free(in.word);
	return status;
}

/* ---- values ---- */

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* [I] behind a name: *@index and *@at change; ~0: there is none. */
static int take_index(struct shell *shell, const char **at, size_t *index)
{
	char *end;

	*index = SHELL_ANY;
	if (**at != '[')
		return SHELL_OK;
	*index = isdigit((unsigned char)(*at)[1]) ? strtoul(*at + 1, &end, 10) : SHELL_ANY;
	if (*index == SHELL_ANY || *end != ']')
		return shell_malformed(shell, "bad index '%s'; expected [NUMBER]", *at);
	*at = end + 1;
	return SHELL_OK;
}

/* The value that the text behind a $ names. */
static int find_value(struct shell *shell, const char **at, const struct shell_words **values,
		      size_t *index)
{
	char name[SHELL_NAME_LEN];
	struct shell_name *found;
	size_t len = 0;
	int status;

	while (name_char((*at)[len]))
		len++;
	if (!len || len >= sizeof(name))
		return shell_malformed(shell, "'$%.20s' is no value; expected $NAME", *at);
	memcpy(name, *at, len);
	name[len] = '\0';
	*at += len;
	found = shell_find_name(shell, SHELL_VALUE, NULL, name);
	if (!found)
		return shell_malformed(shell, "no value '%s'; expected one made by `let' or by a "
					      "command that makes blocks",
				       name);
	status = take_index(shell, at, index);
	if (status == SHELL_OK && *index != SHELL_ANY && *index >= found->values.nr)
		return shell_malformed(shell, "no value %s[%zu]; expected an index below %zu",
				       name, *index, found->values.nr);
	*values = &found->values;
	return status;
}

/* A word that is a list of values and nothing else becomes as many words. */
static int expand_list(struct shell *shell, const struct shell_words *values,
		       struct shell_words *to)
{
	size_t i;

	for (i = 0; i < values->nr; i++) {
		if (!shell_words_add(to, values->word[i].text, strlen(values->word[i].text),
				     SHELL_ANY))
			return shell_no_memory(shell);
	}
	return SHELL_OK;
}

/* Values inside a word, which stays one word. */
static int expand_inside(struct shell *shell, const struct shell_word *word,
			 struct shell_words *to)
{
	const struct shell_words *values;
	const char *at = word->text;
	char *text = NULL;
	size_t len, index;
	int status = SHELL_OK;
	FILE *out;

	out = open_memstream(&text, &len);
	if (!out)
		return shell_no_memory(shell);
	while (*at && status == SHELL_OK) {
		if (*at != '$') {
			putc(*at == PLAIN_DOLLAR ? '$' : *at, out);
			at++;
			continue;
		}
		at++;
		status = find_value(shell, &at, &values, &index);
		if (status == SHELL_OK && index == SHELL_ANY && values->nr != 1)
			status = shell_malformed(shell, "%zu values inside the word '%s'; "
							"expected one: $NAME[I]",
						 values->nr, word->text);
		else if (status == SHELL_OK)
			fputs(values->word[index == SHELL_ANY ? 0 : index].text, out);
	}
	if (fclose(out) && status == SHELL_OK)
		status = shell_no_memory(shell);
	if (status == SHELL_OK && !shell_words_add(to, text, len, word->plain))
		status = shell_no_memory(shell);
	free(text);
	return status;
}

static int expand_word(struct shell *shell, const struct shell_word *word,
		       struct shell_words *to)
{
	const char *at = word->text + 1;
	const struct shell_words *values;
	size_t index;
	int status;

	if (!shell_is_plain(word) || word->text[0] != '$')
		return expand_inside(shell, word, to);
	status = find_value(shell, &at, &values, &index);
	if (status != SHELL_OK || *at || index != SHELL_ANY)
		return status == SHELL_OK ? expand_inside(shell, word, to) : status;
	return expand_list(shell, values, to);
}

int shell_expand(struct shell *shell, struct shell_words *words)
{
	struct shell_words expanded = { 0 };
	int status = SHELL_OK;
	size_t i;

	for (i = 0; i < words->nr && status == SHELL_OK; i++)
		status = expand_word(shell, &words->word[i], &expanded);
	if (status != SHELL_OK) {
		shell_words_free(&expanded);
		return status;
	}
	shell_words_free(words);
	*words = expanded;
	return SHELL_OK;
}

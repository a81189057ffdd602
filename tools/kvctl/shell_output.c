// SPDX-License-Identifier: MIT
/*
 * What commands say: one JSON object each, printed as it is or as `key value` text, and
 * kept for the expects that follow. Owns shell->out and shell->last.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "shell.h"

/* ---- failures ---- */

int shell_malformed(struct shell *shell, const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	if (!shell->terminal)
		fprintf(stderr, "%s:%lu: ", shell->file, shell->line);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	return SHELL_MALFORMED;
}

int shell_failed(struct shell *shell, const char *code, const char *fmt, ...)
{
	va_list args;

	snprintf(shell->fail_code, sizeof(shell->fail_code), "%s", code);
	shell->fail_reason[0] = '\0';
	shell->fail_where = 0;
	va_start(args, fmt);
	vsnprintf(shell->fail_text, sizeof(shell->fail_text), fmt, args);
	va_end(args);
	return SHELL_FAILED;
}

int shell_no_memory(struct shell *shell)
{
	return shell_failed(shell, "ENOMEM", "shell: out of memory");
}

const char *shell_errno_name(int err)
{
	const char *name = strerrorname_np(err < 0 ? -err : err);

	return name ? name : "error";
}

int shell_call_failed(struct shell *shell)
{
	const struct kvp_error *error = kvp_error();

	shell_failed(shell, shell_errno_name(error->err), "%s", error->text);
	if (error->reason != KVP_REASON_NONE)
		snprintf(shell->fail_reason, sizeof(shell->fail_reason), "%s",
			 kvp_reason_name(error->reason));
	shell->fail_where = error->where;
	return SHELL_FAILED;
}

/* ---- objects for people ---- */

static void render_scalar(const json_t *value, FILE *out)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		fputs(json_string_value(value), out);
		break;
	case JSON_INTEGER:
		fprintf(out, "%lld", (long long)json_integer_value(value));
		break;
	case JSON_REAL:
		fprintf(out, "%g", json_real_value(value));
		break;
	case JSON_TRUE:
		fputs("yes", out);
		break;
	case JSON_FALSE:
		fputs("no", out);
		break;
	default:
		fputs("none", out);
	}
}

static bool is_lines(const json_t *value)
{
	return json_is_object(value) || json_is_object(json_array_get(value, 0));
}

/* Values that stand behind their key in the same line. */
static void render_values(const json_t *value, FILE *out)
{
	size_t i;

	if (!json_is_array(value)) {
		render_scalar(value, out);
		return;
	}
	for (i = 0; i < json_array_size(value); i++) {
		if (i)
			putc(' ', out);
		render_scalar(json_array_get(value, i), out);
	}
	if (!i)
		fputs("none", out);
}

/*
 * First the keys with values, in one line; then objects and arrays of objects, one line each
 * that begins with the key.
 */
static void render_object(const json_t *object, const char *prefix, FILE *out)
{
	const char *key, *between = prefix;
	char inner[64];
	json_t *value;
	size_t i;

	json_object_foreach((json_t *)object, key, value) {
		if (is_lines(value))
			continue;
		fprintf(out, "%s%s ", between, key);
		render_values(value, out);
		between = " ";
	}
	if (between != prefix)
		putc('\n', out);
	json_object_foreach((json_t *)object, key, value) {
		snprintf(inner, sizeof(inner), "%s ", key);
		if (json_is_object(value))
			render_object(value, inner, out);
		for (i = 0; is_lines(value) && i < json_array_size(value); i++) {
			snprintf(inner, sizeof(inner), "%s %zu ", key, i);
			render_object(json_array_get(value, i), inner, out);
		}
	}
}

char *shell_render(const json_t *object)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	render_object(object, "", out);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

/* ---- printing and keeping ---- */

void shell_result_clear(struct shell_result *result)
{
	free(result->text);
	json_decref(result->object);
	memset(result, 0, sizeof(*result));
}

static void keep_failure(struct shell *shell)
{
	strcpy(shell->last.code, shell->fail_code);
	strcpy(shell->last.reason, shell->fail_reason);
}

static json_t *failure_json(const struct shell *shell)
{
	return json_pack("{s:s, s:s*, s:I, s:s}", "error", shell->fail_code, "reason",
			 shell->fail_reason[0] ? shell->fail_reason : NULL, "where",
			 (json_int_t)shell->fail_where, "text", shell->fail_text);
}

/* "error ENOSPC/pool-full: seq-append: ..." */
static char *failure_text(const struct shell *shell)
{
	char *text;

	if (asprintf(&text, "error %s%s%s: %s\n", shell->fail_code,
		     shell->fail_reason[0] ? "/" : "", shell->fail_reason, shell->fail_text) < 0)
		return NULL;
	return text;
}

static char *as_json(const json_t *object)
{
	char *dumped = json_dumps(object, JSON_INDENT(2) | KVCTL_JSON_FLAGS), *text;

	if (!dumped || asprintf(&text, "%s\n", dumped) < 0)
		text = NULL;
	free(dumped);
	return text;
}

void shell_print_result(struct shell *shell, int status, bool json)
{
	struct shell_result *last = &shell->last;

	shell_result_clear(last);
	last->any = true;
	last->status = status;
	last->object = status == SHELL_OK ? json_incref(shell->out) : failure_json(shell);
	if (json)
		last->text = as_json(last->object);
	else
		last->text = status == SHELL_OK ? shell_render(last->object) : failure_text(shell);
	if (status != SHELL_OK)
		keep_failure(shell);
	if (last->text)
		fputs(last->text, stdout);
	fflush(stdout);
}

void shell_print_verb(struct shell *shell, int status, char *text)
{
	struct shell_result *last = &shell->last;

	shell_result_clear(last);
	last->any = true;
	last->status = status;
	last->text = text;
	if (text && text[0] == '{')
		last->object = json_loads(text, 0, NULL);
	if (status != SHELL_OK)
		keep_failure(shell);
	if (text)
		fputs(text, stdout);
	fflush(stdout);
}

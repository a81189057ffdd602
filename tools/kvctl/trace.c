// SPDX-License-Identifier: MIT
/*
 * Reads traces. Everything in a line is checked before anything of it is kept.
 */
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kvpool.h>

#include "content.h"
#include "trace.h"

#define LINE_LIMIT	0x100000		/* bytes; 2048 ids need 24 KiB */
#define LENGTH_LIMIT	KVP_MAX_CALL_TOKENS	/* tokens that one call takes */

/* One line being read. */
struct reader {
	FILE *in;
	const char *name;
	uint64_t line;
	char *text;			/* LINE_LIMIT bytes */
	size_t len;
	bool too_long;
	int error;			/* errno of the file */
	char wrong[256];		/* what is wrong with the line */
};

static bool wrong(struct reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Notes what is wrong; always false. Strangers' bytes must not reach the terminal. */
static bool wrong(struct reader *reader, const char *format, ...)
{
	va_list args;
	char *at;

	va_start(args, format);
	vsnprintf(reader->wrong, sizeof(reader->wrong), format, args);
	va_end(args);
	for (at = reader->wrong; *at; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
	return false;
}

static const char *type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_REAL:
		return "a number with a fraction or exponent";
	case JSON_INTEGER:
		return "a whole number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	default:
		return "null";
	}
}

/* A whole number in [@min, @max] of @value, which the line calls @name. */
static bool whole_number(struct reader *reader, const char *name, const json_t *value,
			 json_int_t min, json_int_t max, json_int_t *number)
{
	if (!value)
		return wrong(reader, "no \"%s\"; expected a whole number %lld..%lld", name,
			     (long long)min, (long long)max);
	if (!json_is_integer(value))
		return wrong(reader, "%s is %s; expected a whole number %lld..%lld", name,
			     type_name(value), (long long)min, (long long)max);
	*number = json_integer_value(value);
	if (*number < min || *number > max)
		return wrong(reader, "%s is %lld; expected %lld..%lld", name,
			     (long long)*number, (long long)min, (long long)max);
	return true;
}

/* Room for @more elements behind the @nr of an array; false: no memory. */
static bool array_room(void **array, size_t nr, size_t more, size_t *cap, size_t size)
{
	size_t want = *cap;
	void *grown;

	while (nr + more > want)
		want = want ? want * 2 : 1024;
	if (want == *cap)
		return true;
	grown = reallocarray(*array, want, size);
	if (!grown)
		return false;
	*array = grown;
	*cap = want;
	return true;
}

/* The hash ids at @trace->ids + nr_ids; the caller has made room for @nr. */
static bool read_ids(struct reader *reader, const json_t *ids, size_t nr,
		     struct kvctl_trace *trace)
{
	json_int_t id;
	char name[32];
	size_t i;

	for (i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "hash_ids[%zu]", i);
		if (!whole_number(reader, name, json_array_get(ids, i), 0, KVCTL_ID_MAX, &id))
			return false;
		trace->ids[trace->nr_ids + i] = id;
	}
	return true;
}

/* Takes the request of @object into @trace; -EINVAL: reader->wrong says why not. */
static int take_object(struct reader *reader, const json_t *object, struct kvctl_trace *trace)
{
	const json_t *ids = json_object_get(object, "hash_ids");
	json_int_t timestamp, input, output;
	struct kvctl_request *request;
	size_t nr;

	if (!whole_number(reader, "timestamp", json_object_get(object, "timestamp"), 0,
			  INT64_MAX, &timestamp) ||
	    !whole_number(reader, "input_length", json_object_get(object, "input_length"), 1,
			  LENGTH_LIMIT, &input) ||
	    !whole_number(reader, "output_length", json_object_get(object, "output_length"), 0,
			  LENGTH_LIMIT, &output))
		return -EINVAL;
	if (!ids || !json_is_array(ids)) {
		wrong(reader, "%s; expected an array of ids, one for each %u tokens",
		      ids ? "hash_ids is not an array" : "no \"hash_ids\"", KVCTL_ID_TOKENS);
		return -EINVAL;
	}
	nr = (input + KVCTL_ID_TOKENS - 1) / KVCTL_ID_TOKENS;
	if (json_array_size(ids) != nr) {
		wrong(reader, "%zu hash_ids for input_length %lld; expected %zu, one for each "
		      "%u tokens", json_array_size(ids), (long long)input, nr,
		      KVCTL_ID_TOKENS);
		return -EINVAL;
	}
	if (!array_room((void **)&trace->ids, trace->nr_ids, nr, &trace->cap_ids,
			sizeof(*trace->ids)) ||
	    !array_room((void **)&trace->requests, trace->nr_requests, 1,
			&trace->cap_requests, sizeof(*trace->requests)))
		return -ENOMEM;
	if (!read_ids(reader, ids, nr, trace))
		return -EINVAL;
	request = &trace->requests[trace->nr_requests++];
	request->timestamp = timestamp;
	request->line = reader->line;
	request->first_id = trace->nr_ids;
	request->input_length = input;
	request->output_length = output;
	trace->nr_ids += nr;
	return 0;
}

static int take_line(struct reader *reader, struct kvctl_trace *trace)
{
	json_error_t error;
	json_t *object;
	int err = -EINVAL;

	if (reader->too_long) {
		wrong(reader, "longer than %d bytes; expected one request", LINE_LIMIT);
		return -EINVAL;
	}
	object = json_loadb(reader->text, reader->len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
			    &error);
	if (!object)
		wrong(reader, "not JSON: %s (column %d); expected one object", error.text,
		      error.column);
	else if (!json_is_object(object))
		wrong(reader, "%s; expected one object", type_name(object));
	else
		err = take_object(reader, object, trace);
	json_decref(object);
	return err;
}

/* The next line that is not blank into @reader; false: end of file, or an error of it. */
static bool next_line(struct reader *reader)
{
	bool blank = true;
	int c;

	reader->len = 0;
	reader->too_long = false;
	for (;;) {
		c = getc_unlocked(reader->in);
		if (c == '\n' || c == EOF) {
			reader->line += c == '\n' || !blank;
			if (c == EOF && ferror(reader->in)) {
				reader->error = errno;
				return false;
			}
			if (!blank)
				return true;
			if (c == EOF)
				return false;
			reader->len = 0;
			continue;
		}
		blank = blank && (c == ' ' || c == '\t' || c == '\r');
		if (reader->len < LINE_LIMIT)
			reader->text[reader->len++] = c;
		else
			reader->too_long = true;
	}
}

int kvctl_trace_read(FILE *in, const char *name, bool strict, struct kvctl_trace *trace)
{
	struct reader reader = { .in = in, .name = name };
	int err = 0;

	memset(trace, 0, sizeof(*trace));
	reader.text = malloc(LINE_LIMIT);
	if (!reader.text)
		err = -ENOMEM;
	while (!err && next_line(&reader)) {
		err = take_line(&reader, trace);
		if (err != -EINVAL)
			continue;
		trace->malformed++;
		fprintf(stderr, "%s:%llu: %s%s\n", name, (unsigned long long)reader.line,
			reader.wrong, strict ? "" : "; line skipped");
		if (!strict)
			err = 0;
	}
	if (err == -ENOMEM)
		reader.error = ENOMEM;
	else if (!err && reader.error)
		err = -EIO;
	if (reader.error)
		fprintf(stderr, "%s: cannot be read: %s\n", name, strerror(reader.error));
	free(reader.text);
	return err;
}

void kvctl_trace_free(struct kvctl_trace *trace)
{
	free(trace->requests);
	free(trace->ids);
	memset(trace, 0, sizeof(*trace));
}

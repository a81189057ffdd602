// SPDX-License-Identifier: MIT
/*
 * JSON as all verbs print it. No state.
 */
#include <errno.h>
#include <string.h>

#include "json.h"
#include "kvctl.h"

uint64_t kvctl_field_value(const struct kvctl_field *field, const void *base)
{
	uint64_t value;

	memcpy(&value, (const char *)base + field->offset, sizeof(value));
	return value;
}

static void drop(json_t **container)
{
	json_decref(*container);
	*container = NULL;
}

void kvctl_json_append(json_t **array, json_t *value)
{
	if (!*array)
		json_decref(value);
	else if (json_array_append_new(*array, value))
		drop(array);
}

void kvctl_json_set(json_t **object, const char *key, json_t *value)
{
	if (!*object)
		json_decref(value);
	else if (json_object_set_new(*object, key, value))
		drop(object);
}

json_t *kvctl_json_fields(const struct kvctl_field *fields, size_t nr, const void *base)
{
	json_t *object = json_object();
	size_t i;

	for (i = 0; i < nr; i++)
		kvctl_json_set(&object, fields[i].key,
			       kvctl_json_u64(kvctl_field_value(&fields[i], base)));
	return object;
}

json_t *kvctl_json_u64(uint64_t value)
{
	return value > INT64_MAX ? kvctl_json_block(value) : json_integer((json_int_t)value);
}

json_t *kvctl_json_limit(uint64_t value)
{
	return value == KVP_UNLIMITED ? json_null() : kvctl_json_u64(value);
}

json_t *kvctl_json_block(uint64_t block)
{
	return block ? json_sprintf("%016llx", (unsigned long long)block) : json_null();
}

json_t *kvctl_json_digest(const uint8_t digest[KVP_DIGEST_LEN])
{
	char text[2 * KVP_DIGEST_LEN + 1];
	int i;

	for (i = 0; i < KVP_DIGEST_LEN; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	return json_string(text);
}

json_t *kvctl_json_ratio(uint64_t part, uint64_t whole)
{
	return whole ? json_real((double)part / (double)whole) : json_null();
}

int kvctl_output_done(const char *who)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return KVCTL_OK;
	fprintf(stderr, "%s: no output: %s\n", who, strerror(errno ? errno : EIO));
	return KVCTL_FAILED;
}

int kvctl_json_write(const char *who, json_t *object)
{
	if (!object) {
		fprintf(stderr, "%s: no memory for the output\n", who);
		return KVCTL_FAILED;
	}
	json_dumpf(object, stdout, JSON_INDENT(2) | KVCTL_JSON_FLAGS);
	fputc('\n', stdout);
	json_decref(object);
	return kvctl_output_done(who);
}

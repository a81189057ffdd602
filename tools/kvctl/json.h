/* SPDX-License-Identifier: MIT */
/*
 * JSON as all verbs print it: see kvpool(7) for the conventions.
 */
#ifndef KVCTL_JSON_H
#define KVCTL_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <kvpool.h>

#define KVCTL_JSON_FLAGS	(JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6))

/**
 * struct kvctl_field - one number of a struct
 * @key: its key
 * @words: what to call it for people, or NULL: not shown to them
 * @offset: where the uint64_t is
 */
struct kvctl_field {
	const char *key;
	const char *words;
	size_t offset;
};

/* The number @field of the struct at @base. */
uint64_t kvctl_field_value(const struct kvctl_field *field, const void *base);

/* An object of @nr fields of the struct at @base, or NULL. */
json_t *kvctl_json_fields(const struct kvctl_field *fields, size_t nr, const void *base);

/* An integer; where it is above 2^63-1 a string of hexadecimal digits. */
json_t *kvctl_json_u64(uint64_t value);
/* An integer, null for KVP_UNLIMITED. */
json_t *kvctl_json_limit(uint64_t value);
/* A string of 16 hexadecimal digits, null for KVP_BLOCK_NULL. */
json_t *kvctl_json_block(uint64_t block);
/* A string of 64 hexadecimal digits. */
json_t *kvctl_json_digest(const uint8_t digest[KVP_DIGEST_LEN]);
/* @part / @whole, null where @whole is 0. */
json_t *kvctl_json_ratio(uint64_t part, uint64_t whole);

/*
 * Put @value, whose reference these take, at the end of *@array or at @key of *@object. Where
 * there is no memory (also @value NULL), *@array or *@object is dropped and becomes NULL; with
 * NULL nothing happens.
 */
void kvctl_json_append(json_t **array, json_t *value);
void kvctl_json_set(json_t **object, const char *key, json_t *value);

/*
 * Print @object, whose reference this takes, on stdout. NULL: there was no memory for it.
 * Returns an exit status; what went wrong is said as @who.
 */
int kvctl_json_write(const char *who, json_t *object);

/* Whether all that was printed on stdout has got there; if not that is said as @who. */
int kvctl_output_done(const char *who);

#endif /* KVCTL_JSON_H */

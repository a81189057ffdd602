// SPDX-License-Identifier: MIT
/*
 * A pool's URI taken apart. Owns nothing. Every complaint names the key, and where is its
 * offset in the URI.
 */
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define DEFAULT_BLOCK_TOKENS	16
#define DEFAULT_ROW_BYTES	64

enum key {
	KEY_BLOCKS,
	KEY_BLOCK_TOKENS,
	KEY_ROW_BYTES,
	KEY_DTYPE,
	KEY_FAMILY,
	KEY_INDEX_TOKENS,
	KEY_MODE,
	KEY_PERSISTENT,
	KEY_STRICT,
	KEY_GRACE,
	KEY_RIGHTS,
	NR_KEYS,
};

/* A piece of the URI. */
struct span {
	const char *at;
	size_t len;
};

/**
 * struct parser - a URI being taken apart
 * @text: the URI
 * @uri: result
 * @seen: bit i: keys[i] was there
 * @where: its offset, of the first if there are several
 */
struct parser {
	const char *text;
	struct kvp_uri *uri;
	unsigned int seen;
	uint32_t where[NR_KEYS];
};

static bool span_is(struct span span, const char *word)
{
	return span.len == strlen(word) && !memcmp(span.at, word, span.len);
}

/* The piece up to the next @separator; *rest becomes what follows it, .at NULL at the end. */
static struct span span_cut(struct span *rest, char separator)
{
	const char *end = memchr(rest->at, separator, rest->len);
	struct span piece = *rest;

	if (!end) {
		rest->at = NULL;
		rest->len = 0;
		return piece;
	}
	piece.len = (size_t)(end - rest->at);
	rest->len -= piece.len + 1;
	rest->at = end + 1;
	return piece;
}

/* How much of a piece a message shows. */
static int shown(struct span span)
{
	return span.len > 40 ? 40 : (int)span.len;
}

static uint32_t offset_of(const struct parser *parser, struct span span)
{
	return (uint32_t)(span.at - parser->text);
}

static int bad_value(const struct parser *parser, struct span key, struct span value,
		     const char *expected)
{
	return kvp_error_set(-EINVAL, KVP_REASON_VALUE, offset_of(parser, key),
			     "uri: key \"%.*s\": \"%.*s\": expected %s", shown(key), key.at,
			     shown(value), value.at, expected);
}

/* A decimal number in 1..@max. */
static int parse_number(const struct parser *parser, struct span key, struct span value,
			uint64_t max, uint64_t *number)
{
	char expected[48];
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < value.len; i++) {
		unsigned int digit = (unsigned int)(value.at[i] - '0');

		if (digit > 9 || n > (max - digit) / 10)
			break;
		n = n * 10 + digit;
	}
	if (i == value.len && n) {
		*number = n;
		return 0;
	}
	snprintf(expected, sizeof(expected), "a decimal number in 1..%llu",
		 (unsigned long long)max);
	return bad_value(parser, key, value, expected);
}

static int parse_number_u32(const struct parser *parser, struct span key, struct span value,
			    uint32_t max, uint32_t *number)
{
	uint64_t n;
	int err;

	err = parse_number(parser, key, value, max, &n);
	if (!err)
		*number = (uint32_t)n;
	return err;
}

/* ---- the keys ---- */

static int parse_blocks(struct parser *parser, struct span key, struct span value)
{
	return parse_number(parser, key, value, KVP_MAX_BLOCKS, &parser->uri->families[0].blocks);
}

static int parse_block_tokens(struct parser *parser, struct span key, struct span value)
{
	return parse_number_u32(parser, key, value, KVP_MAX_BLOCK_TOKENS,
				&parser->uri->families[0].block_tokens);
}

static int parse_row_bytes(struct parser *parser, struct span key, struct span value)
{
	return parse_number(parser, key, value, INT64_MAX,
			    &parser->uri->families[0].row_bytes);
}

static int parse_dtype_of(const struct parser *parser, struct span key, struct span value,
			  uint32_t *dtype)
{
	*dtype = kvp_dtype_find(value.at, value.len);
	if (*dtype)
		return 0;
	return bad_value(parser, key, value,
			 "the dtype f32, f16, bf16, i8, fp8-e4m3, fp8-e5m2 or opaque8");
}

static int parse_dtype(struct parser *parser, struct span key, struct span value)
{
	return parse_dtype_of(parser, key, value, &parser->uri->families[0].dtype);
}

static int parse_index_tokens(struct parser *parser, struct span key, struct span value)
{
	return parse_number_u32(parser, key, value, UINT32_MAX,
				&parser->uri->config.index_tokens);
}

/* Octal, as people write permission bits. */
static int parse_mode(struct parser *parser, struct span key, struct span value)
{
	uint32_t mode = 0;
	size_t i;

	for (i = 0; i < value.len; i++) {
		unsigned int digit = (unsigned int)(value.at[i] - '0');

		mode = mode * 8 + digit;
		if (digit > 7 || mode > 0777)
			break;
	}
	if (i < value.len || !mode)
		return bad_value(parser, key, value, "an octal number in 1..0777");
	parser->uri->config.mode = mode;
	return 0;
}

static int parse_flag(struct parser *parser, struct span key, struct span value, uint32_t flag)
{
	if (span_is(value, "yes"))
		parser->uri->config.flags |= flag;
	else if (!span_is(value, "no"))
		return bad_value(parser, key, value, "yes or no");
	parser->uri->flags_said |= flag;
	return 0;
}

static int parse_persistent(struct parser *parser, struct span key, struct span value)
{
	return parse_flag(parser, key, value, KVP_POOL_PERSISTENT);
}

static int parse_strict(struct parser *parser, struct span key, struct span value)
{
	return parse_flag(parser, key, value, KVP_POOL_STRICT);
}

static int parse_grace(struct parser *parser, struct span key, struct span value)
{
	return parse_number_u32(parser, key, value, KVP_MAX_GRACE_MS,
				&parser->uri->config.grace_ms);
}

static int parse_rights(struct parser *parser, struct span key, struct span value)
{
	struct span rest = value, word;
	uint32_t rights = 0;

	while (rest.at) {
		word = span_cut(&rest, ',');
		if (span_is(word, "use"))
			rights |= KVP_RIGHT_USE;
		else if (span_is(word, "publish"))
			rights |= KVP_RIGHT_PUBLISH;
		else if (span_is(word, "admin"))
			rights |= KVP_RIGHT_ADMIN;
		else
			return bad_value(parser, key, value,
					 "some of use,publish,admin");
	}
	parser->uri->rights = rights;
	return 0;
}

static int parse_kind(const struct parser *parser, struct span key, struct span value,
		      enum kvp_family_kind *kind)
{
	if (span_is(value, "dense"))
		*kind = KVP_FAMILY_DENSE;
	else if (span_is(value, "window"))
		*kind = KVP_FAMILY_WINDOW;
	else if (span_is(value, "state"))
		*kind = KVP_FAMILY_STATE;
	else
		return bad_value(parser, key, value, "the kind dense, window or state");
	return 0;
}

#define FAMILY_FORM "NAME,KIND,BLOCKS,BLOCK_TOKENS,ROW_BYTES, and for window ,WINDOW; then ,DTYPE"
#define FAMILY_PARTS	7
#define FAMILY_FIXED	5		/* that every family has */

static int parse_family(struct parser *parser, struct span key, struct span value)
{
	struct kvp_pool_config *config = &parser->uri->config;
	struct kvp_family_config *family;
	struct span rest = value, part[FAMILY_PARTS];
	size_t nr = 0, fixed;
	char *name;
	int err;

	if (config->nr_families == KVP_MAX_FAMILIES)
		return kvp_error_set(-EINVAL, KVP_REASON_COUNT, offset_of(parser, key),
				     "uri: key \"family\": expected at most %u of them",
				     KVP_MAX_FAMILIES);
	while (rest.at && nr < FAMILY_PARTS)
		part[nr++] = span_cut(&rest, ',');
	if (rest.at || nr < FAMILY_FIXED)
		return bad_value(parser, key, value, FAMILY_FORM);
	if (part[0].len >= KVP_FAMILY_NAME_LEN)
		return bad_value(parser, key, part[0], "a name of at most 15 bytes");

	family = &parser->uri->families[config->nr_families];
	name = parser->uri->family_names[config->nr_families];
	memset(family, 0, sizeof(*family));
	memcpy(name, part[0].at, part[0].len);
	family->name = name;
	err = parse_kind(parser, key, part[1], &family->kind);
	fixed = FAMILY_FIXED + (family->kind == KVP_FAMILY_WINDOW);
	if (!err && (nr < fixed || nr > fixed + 1))
		err = bad_value(parser, key, value, FAMILY_FORM);
	if (!err)
		err = parse_number(parser, key, part[2], KVP_MAX_BLOCKS, &family->blocks);
	if (!err)
		err = parse_number_u32(parser, key, part[3], KVP_MAX_BLOCK_TOKENS,
				       &family->block_tokens);
	if (!err)
		err = parse_number(parser, key, part[4], INT64_MAX, &family->row_bytes);
	if (!err && fixed > FAMILY_FIXED)
		err = parse_number_u32(parser, key, part[5], UINT32_MAX, &family->window);
	if (!err && nr > fixed)
		err = parse_dtype_of(parser, key, part[fixed], &family->dtype);
	if (!err)
		config->nr_families++;
	return err;
}

static const struct {
	const char *name;
	int (*parse)(struct parser *parser, struct span key, struct span value);
} keys[NR_KEYS] = {
	[KEY_BLOCKS] = { "blocks", parse_blocks },
	[KEY_BLOCK_TOKENS] = { "block_tokens", parse_block_tokens },
	[KEY_ROW_BYTES] = { "row_bytes", parse_row_bytes },
	[KEY_DTYPE] = { "dtype", parse_dtype },
	[KEY_FAMILY] = { "family", parse_family },
	[KEY_INDEX_TOKENS] = { "index_tokens", parse_index_tokens },
	[KEY_MODE] = { "mode", parse_mode },
	[KEY_PERSISTENT] = { "persistent", parse_persistent },
	[KEY_STRICT] = { "strict", parse_strict },
	[KEY_GRACE] = { "grace", parse_grace },
	[KEY_RIGHTS] = { "rights", parse_rights },
};

#define KEY(key)	(1U << (key))
#define SINGLE_KEYS	(KEY(KEY_BLOCKS) | KEY(KEY_BLOCK_TOKENS) | KEY(KEY_ROW_BYTES) | \
			 KEY(KEY_DTYPE))
/* Of a pool that is made. */
#define POOL_KEYS	(KEY(KEY_INDEX_TOKENS) | KEY(KEY_MODE) | KEY(KEY_PERSISTENT) | \
			 KEY(KEY_STRICT) | KEY(KEY_GRACE))

static int parse_pair(struct parser *parser, struct span pair)
{
	struct span value = pair;
	struct span key = span_cut(&value, '=');
	size_t i;

	for (i = 0; i < NR_KEYS; i++) {
		if (span_is(key, keys[i].name))
			break;
	}
	if (i == NR_KEYS)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, offset_of(parser, key),
				     "uri: unknown key \"%.*s\": expected blocks, block_tokens, row_bytes, dtype, family, index_tokens, mode, persistent, strict, grace or rights",
				     shown(key), key.at);
	if (!value.at)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, offset_of(parser, key),
				     "uri: key \"%s\" has no value: expected %s=VALUE",
				     keys[i].name, keys[i].name);
	if (i != KEY_FAMILY && (parser->seen & KEY(i)))
		return kvp_error_set(-EINVAL, KVP_REASON_DUPLICATE, offset_of(parser, key),
				     "uri: key \"%s\" is there twice: expected it once",
				     keys[i].name);
	if (!(parser->seen & KEY(i)))
		parser->where[i] = offset_of(parser, key);
	parser->seen |= KEY(i);
	return keys[i].parse(parser, key, value);
}

/* The first key of @mask that was there. */
static enum key first_key(const struct parser *parser, unsigned int mask)
{
	return (enum key)__builtin_ctz(parser->seen & mask);
}

/* What the keys say together. */
static int finish(struct parser *parser)
{
	struct kvp_pool_config *config = &parser->uri->config;
	struct kvp_family_config *only = &parser->uri->families[0];
	bool single = parser->seen & SINGLE_KEYS;
	enum key key;

	if ((config->flags & KVP_POOL_STRICT) && config->grace_ms)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, parser->where[KEY_GRACE],
				     "uri: key \"grace\" with strict=yes: expected one or the other");
	if (!single && !config->nr_families && (parser->seen & POOL_KEYS)) {
		key = first_key(parser, POOL_KEYS);
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, parser->where[key],
				     "uri: key \"%s\" without a family: expected key \"blocks\" or \"family\"",
				     keys[key].name);
	}
	if (!single)
		return 0;
	key = first_key(parser, SINGLE_KEYS);
	if (config->nr_families)
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, parser->where[key],
				     "uri: key \"%s\" with key \"family\": expected one way or the other",
				     keys[key].name);
	if (!(parser->seen & KEY(KEY_BLOCKS)))
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, parser->where[key],
				     "uri: key \"%s\" without key \"blocks\": expected blocks=NUMBER",
				     keys[key].name);
	only->kind = KVP_FAMILY_DENSE;
	if (!only->block_tokens)
		only->block_tokens = DEFAULT_BLOCK_TOKENS;
	if (!only->row_bytes)
		only->row_bytes = DEFAULT_ROW_BYTES;
	config->nr_families = 1;
	return 0;
}

/* The door's scheme, if there is one before a name that ends with @rest or at a '?'. */
static int parse_scheme(struct parser *parser, struct span *rest)
{
	const char *query = memchr(rest->at, '?', rest->len);
	const char *colon = memchr(rest->at, ':', rest->len);
	struct span scheme;

	if (!colon || (query && query < colon))
		return 0;
	scheme = span_cut(rest, ':');
	if (span_is(scheme, kvp_door_name(KVP_DOOR_INPROC)))
		parser->uri->door = KVP_DOOR_INPROC;
	else if (span_is(scheme, kvp_door_name(KVP_DOOR_DEVICE)))
		parser->uri->door = KVP_DOOR_DEVICE;
	else
		return kvp_error_set(-EINVAL, KVP_REASON_VALUE, 0,
				     "uri: \"%.*s\": expected inproc:NAME, dev:NAME or NAME",
				     shown(scheme), scheme.at);
	return 0;
}

static int parse_name(struct parser *parser, struct span name)
{
	if (!name.len || name.len >= KVP_NAME_LEN)
		return kvp_error_set(-EINVAL, KVP_REASON_NAME, offset_of(parser, name),
				     "uri: name \"%.*s\": expected 1 to %u characters",
				     shown(name), name.at, KVP_NAME_LEN - 1);
	memcpy(parser->uri->name, name.at, name.len);
	return 0;
}

static int begin(struct parser *parser, struct span *rest)
{
	memset(parser->uri, 0, sizeof(*parser->uri));
	parser->uri->config.families = parser->uri->families;
	if (!parser->text)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "pool: name is NULL: expected NAME, dev:NAME or inproc:NAME");
	rest->at = parser->text;
	rest->len = strlen(parser->text);
	return parse_scheme(parser, rest);
}

int kvp_uri_name(const char *text, struct kvp_uri *uri)
{
	struct parser parser = { .text = text, .uri = uri };
	struct span name;
	int err;

	err = begin(&parser, &name);
	return err ? err : parse_name(&parser, name);
}

int kvp_uri_parse(const char *text, struct kvp_uri *uri)
{
	struct parser parser = { .text = text, .uri = uri };
	struct span rest, name;
	int err;

	err = begin(&parser, &rest);
	if (err)
		return err;
	name = span_cut(&rest, '?');
	err = parse_name(&parser, name);
	if (err)
		return err;
	while (rest.at) {
		err = parse_pair(&parser, span_cut(&rest, '&'));
		if (err)
			return err;
	}
	return finish(&parser);
}

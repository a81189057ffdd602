// SPDX-License-Identifier: MIT
/*
 * The words for what a pool is made of. Constant.
 */
#include <string.h>

#include "kvctl.h"
#include "view.h"

#define NAME_OF(names, value) \
	((value) < sizeof(names) / sizeof((names)[0]) && (names)[value] ? (names)[value] \
									: "unknown")

const char *kvctl_kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[KVP_FAMILY_DENSE] = "dense",
		[KVP_FAMILY_WINDOW] = "window",
		[KVP_FAMILY_STATE] = "state",
	};

	return NAME_OF(names, kind);
}

const char *kvctl_state_name(uint32_t state)
{
	static const char *const names[] = {
		[KVP_BLOCK_FREE] = "free",
		[KVP_BLOCK_RESERVED] = "reserved",
		[KVP_BLOCK_HELD] = "held",
		[KVP_BLOCK_IDLE] = "idle",
		[KVP_BLOCK_HELD_BACK] = "held-back",
		[KVP_BLOCK_RETIRED] = "retired",
	};

	return NAME_OF(names, state);
}

const char *kvctl_why_name(uint32_t why)
{
	static const char *const names[] = {
		[KVP_WHY_FREE] = "free",
		[KVP_WHY_SEQ] = "private",
		[KVP_WHY_SHARED] = "shared",
		[KVP_WHY_IDLE] = "idle",
		[KVP_WHY_COVERED] = "covered",
		[KVP_WHY_MATCHED] = "matched",
		[KVP_WHY_RESERVED] = "reserved",
		[KVP_WHY_HELD_BACK] = "held-back",
		[KVP_WHY_RETIRED] = "retired",
		[KVP_WHY_QUARANTINE] = "quarantine",
		[KVP_WHY_ADMITTED] = "admitted",
	};

	return NAME_OF(names, why);
}

const char *kvctl_why_words(uint32_t why)
{
	static const char *const words[] = {
		[KVP_WHY_FREE] = "free",
		[KVP_WHY_SEQ] = "sequences or raw references hold it",
		[KVP_WHY_SHARED] = "held and published: several may hold it",
		[KVP_WHY_IDLE] = "published, can be reclaimed now",
		[KVP_WHY_COVERED] = "published and idle, but nodes that follow it exist",
		[KVP_WHY_MATCHED] = "published and idle, but its node is referenced",
		[KVP_WHY_RESERVED] = "taken for an operation in progress",
		[KVP_WHY_HELD_BACK] = "work may still touch it: a fence is open",
		[KVP_WHY_RETIRED] = "its generations are used up",
		[KVP_WHY_QUARANTINE] = "work of a dead client may still touch it",
		[KVP_WHY_ADMITTED] = "in the reserve of a client, or of its ticket",
	};

	return NAME_OF(words, why);
}

int kvctl_find_name(const char *(*name_of)(uint32_t value), uint32_t nr, const char *name)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		if (!strcmp(name_of(i), name))
			return (int)i;
	}
	return -1;
}

const char *kvctl_family_label(const struct kvp_family_desc *desc, uint32_t family,
			       char buf[KVCTL_LABEL_LEN])
{
	if (desc->name[0])
		snprintf(buf, KVCTL_LABEL_LEN, "family %u \"%s\"", family, desc->name);
	else
		snprintf(buf, KVCTL_LABEL_LEN, "family %u", family);
	return buf;
}

void kvctl_family_print(const struct kvp_family_desc *desc, FILE *out)
{
	char blocks[KVCTL_GROUPED_LEN], bytes[KVCTL_GROUPED_LEN];

	fprintf(out, "%s", kvctl_kind_name(desc->kind));
	if (desc->kind == KVP_FAMILY_WINDOW)
		fprintf(out, " of %u tokens", desc->window);
	fprintf(out, ", %s block%s", kvctl_grouped(desc->blocks, blocks),
		desc->blocks == 1 ? "" : "s");
	if (desc->kind != KVP_FAMILY_STATE)
		fprintf(out, " of %u token%s", desc->block_tokens,
			desc->block_tokens == 1 ? "" : "s");
	fprintf(out, ", %s bytes each", kvctl_grouped(desc->block_bytes, bytes));
	if (desc->dtype)
		fprintf(out, ", %s", kvp_dtype_name(desc->dtype));
}

json_t *kvctl_family_json(const struct kvp_family_desc *desc, uint32_t family)
{
	return json_pack("{s:i, s:s, s:s, s:I, s:i, s:I, s:i, s:s}",
			 "family", family,
			 "name", desc->name,
			 "kind", kvctl_kind_name(desc->kind),
			 "blocks", (json_int_t)desc->blocks,
			 "block_tokens", desc->block_tokens,
			 "block_bytes", (json_int_t)desc->block_bytes,
			 "window", desc->window,
			 "dtype", kvp_dtype_name(desc->dtype));
}

const char *kvctl_rights_words(uint32_t rights, char buf[KVCTL_LABEL_LEN])
{
	snprintf(buf, KVCTL_LABEL_LEN, "%s%s%s", rights & KVP_RIGHT_USE ? ",use" : "",
		 rights & KVP_RIGHT_PUBLISH ? ",publish" : "",
		 rights & KVP_RIGHT_ADMIN ? ",admin" : "");
	memmove(buf, buf + !!*buf, strlen(buf) + !*buf);
	return buf;
}

const char *kvctl_age_words(uint64_t ns, char buf[KVCTL_AGE_LEN])
{
	uint64_t ms = ns / 1000000;

	if (!ns)
		snprintf(buf, KVCTL_AGE_LEN, "-");
	else if (ms < 1000)
		snprintf(buf, KVCTL_AGE_LEN, "%llums", (unsigned long long)ms);
	else if (ms < 100 * 1000)
		snprintf(buf, KVCTL_AGE_LEN, "%.1fs", (double)ms / 1000);
	else if (ms < 100 * 60 * 1000)
		snprintf(buf, KVCTL_AGE_LEN, "%llum", (unsigned long long)ms / 60 / 1000);
	else
		snprintf(buf, KVCTL_AGE_LEN, "%lluh", (unsigned long long)ms / 3600 / 1000);
	return buf;
}

const char *kvctl_grace_words(uint64_t ns, char buf[KVCTL_AGE_LEN])
{
	if (ns != KVP_UNLIMITED)
		return kvctl_age_words(ns, buf);
	snprintf(buf, KVCTL_AGE_LEN, "until reap");
	return buf;
}

uint64_t kvctl_grace_ns(const struct kvp_pool_info *info)
{
	return info->pool_flags & KVP_POOL_STRICT ? KVP_UNLIMITED : info->grace_ms * 1000000ULL;
}

void kvctl_make_text(char *name)
{
	json_t *utf8 = json_string(name);
	unsigned char *at;

	for (at = (unsigned char *)name; *at; at++) {
		if (*at < 0x20 || *at == 0x7f || (*at >= 0x80 && !utf8))
			*at = '?';
		else if (*at == 0xc2 && at[1] < 0xa0)	/* U+0080..U+009f */
			at[0] = at[1] = '?';
	}
	json_decref(utf8);
}

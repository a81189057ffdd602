// SPDX-License-Identifier: MIT
/*
 * Identities and extra digests under names. The identity named last is the one in use.
 */
#include <ctype.h>
#include <string.h>

#include "json.h"
#include "shell.h"

static const struct {
	const char *key;
	size_t offset;
} fields[] = {
	{ "model", offsetof(struct kvp_identity, model) },
	{ "weights_revision", offsetof(struct kvp_identity, weights_revision) },
	{ "adapter", offsetof(struct kvp_identity, adapter) },
	{ "adapter_revision", offsetof(struct kvp_identity, adapter_revision) },
	{ "rope", offsetof(struct kvp_identity, rope) },
	{ "dtype", offsetof(struct kvp_identity, dtype) },
	{ "layout", offsetof(struct kvp_identity, layout) },
	{ "mask", offsetof(struct kvp_identity, mask) },
	{ "tenant_salt", offsetof(struct kvp_identity, tenant_salt) },
};

/* The identity of @args, bound to its name. */
static int make_identity(struct shell *shell, const struct shell_args *args,
			 struct shell_name **made)
{
	const char *name = args->word[0].text, *value;
	uint8_t digest[KVP_DIGEST_LEN];
	struct kvp_identity identity = { 0 };
	size_t i;
	int status;

	status = shell_check_name(shell, name);
	if (status != SHELL_OK)
		return status;
	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		value = shell_option(args, fields[i].key);
		memcpy((char *)&identity + fields[i].offset, &value, sizeof(value));
	}
	if (kvp_identity_digest(&identity, digest))
		return shell_call_failed(shell);
	*made = shell_bind(shell, SHELL_IDENTITY, NULL, name);
	if (!*made)
		return shell_no_memory(shell);
	memcpy((*made)->digest, digest, sizeof(digest));
	return SHELL_OK;
}

static int identity_run(struct shell *shell, const struct shell_args *args)
{
	struct shell_name *found;
	int status;

	if (args->nr_options)
		status = make_identity(shell, args, &found);
	else
		status = shell_need_name(shell, SHELL_IDENTITY, args->word[0].text, &found);
	if (status != SHELL_OK)
		return status;
	memcpy(shell->space, found->digest, sizeof(shell->space));
	strcpy(shell->space_name, found->name);
	json_object_set_new(shell->out, "identity", json_string(found->name));
	json_object_set_new(shell->out, "space", kvctl_json_digest(found->digest));
	return SHELL_OK;
}

/* 64 hexadecimal digits; or a text, which stands for something that has a digest. */
static int content_digest(struct shell *shell, const char *text, uint8_t digest[KVP_DIGEST_LEN])
{
	struct kvp_identity identity = { .model = text };
	unsigned int byte;
	size_t i;

	for (i = 0; text[i] && isxdigit((unsigned char)text[i]); i++)
		;
	if (i != 2 * KVP_DIGEST_LEN || text[i]) {
		if (kvp_identity_digest(&identity, digest))
			return shell_call_failed(shell);
		return SHELL_OK;
	}
	for (i = 0; i < KVP_DIGEST_LEN; i++) {
		sscanf(text + 2 * i, "%2x", &byte);
		digest[i] = (uint8_t)byte;
	}
	return SHELL_OK;
}

static int extra_run(struct shell *shell, const struct shell_args *args)
{
	const char *content = shell_option(args, "content"), *name = args->word[0].text;
	struct kvp_input input = { .kind = shell_option(args, "kind"), .length = 1 };
	uint8_t digest[KVP_DIGEST_LEN];
	struct shell_name *made;
	uint64_t offset = 0;
	int status;

	status = shell_check_name(shell, name);
	if (status == SHELL_OK && (!content || !input.kind))
		status = shell_malformed(shell, "extra: no kind= or no content=; expected both");
	if (status == SHELL_OK)
		status = shell_option_number(shell, args, "offset", 0, INT64_MAX, &offset);
	if (status == SHELL_OK)
		status = shell_option_number(shell, args, "length", 1, INT64_MAX, &input.length);
	if (status == SHELL_OK)
		status = content_digest(shell, content, input.content);
	if (status != SHELL_OK)
		return status;
	input.offset = (int64_t)offset;
	if (kvp_extra_digest(&input, 1, digest))
		return shell_call_failed(shell);
	made = shell_bind(shell, SHELL_EXTRA, NULL, name);
	if (!made)
		return shell_no_memory(shell);
	memcpy(made->digest, digest, sizeof(digest));
	json_object_set_new(shell->out, "extra", json_string(name));
	json_object_set_new(shell->out, "digest", kvctl_json_digest(digest));
	return SHELL_OK;
}

const struct shell_command shell_identity_commands[] = {
	{
		.group = "identity",
		.usage = "NAME [model=TEXT] [weights_revision=TEXT] [adapter=TEXT] "
			 "[adapter_revision=TEXT] [rope=TEXT] [dtype=TEXT] [layout=TEXT] "
			 "[mask=TEXT] [tenant_salt=TEXT]",
		.summary = "name an identity and use it; without fields: use one named before",
		.options = "model weights_revision adapter adapter_revision rope dtype layout "
			   "mask tenant_salt",
		.min = 1, .max = 1, .alone = true, .run = identity_run,
	},
	{
		.group = "extra",
		.usage = "NAME kind=TEXT content=TEXT|DIGEST [offset=N] [length=N]",
		.summary = "name the digest of a non-token input, for extra=NODE:NAME",
		.options = "kind content offset length",
		.min = 1, .max = 1, .alone = true, .run = extra_run,
	},
	{ 0 },
};

// SPDX-License-Identifier: MIT
/*
 * Names of the shell: clients, and what sequences, matches, identities, digests and values
 * are called. A name stays bound to its id when the object is gone, so that a script can
 * show what an old id does.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shell.h"

static const char *const kind_names[] = {
	[SHELL_SEQ] = "sequence",
	[SHELL_MATCH] = "match",
	[SHELL_IDENTITY] = "identity",
	[SHELL_EXTRA] = "extra digest",
	[SHELL_VALUE] = "value",
	[SHELL_EXPORT] = "export",
	[SHELL_TIMELINE] = "timeline",
	[SHELL_TICKET] = "ticket",
};

/* Whether such a thing is a client's own. */
static bool is_owned(enum shell_kind kind)
{
	return kind == SHELL_SEQ || kind == SHELL_MATCH || kind == SHELL_TIMELINE ||
	       kind == SHELL_TICKET;
}

int shell_check_name(struct shell *shell, const char *name)
{
	size_t len = strlen(name), i;

	for (i = 0; i < len; i++) {
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			break;
	}
	if (len && i == len && len < SHELL_NAME_LEN && name[0] != '-')
		return SHELL_OK;
	return shell_malformed(shell, "'%.80s' is no name; expected 1 to %d letters, digits, "
				      "'.', '_' and '-'",
			       name, SHELL_NAME_LEN - 1);
}

int shell_check_value_name(struct shell *shell, const char *name)
{
	if (strpbrk(name, ".-"))
		return shell_malformed(shell, "'%.80s' is no name of a value; expected letters, "
					      "digits and '_'",
				       name);
	return shell_check_name(shell, name);
}

/* ---- clients ---- */

struct shell_client *shell_find_client(struct shell *shell, const char *name)
{
	struct shell_client *client;

	for (client = shell->clients; client; client = client->next) {
		if (!strcmp(client->name, name))
			return client;
	}
	return NULL;
}

int shell_need_client(struct shell *shell, const char *name, struct shell_client **client)
{
	*client = shell_find_client(shell, name);
	if (*client)
		return SHELL_OK;
	return shell_malformed(shell, "no client '%s'; expected one made by `pool create', `pool "
				      "open' or `client open'",
			       name);
}

struct shell_client *shell_add_client(struct shell *shell, const char *name,
				      struct kvp_pool *pool)
{
	struct shell_client *client = calloc(1, sizeof(*client)), **end = &shell->clients;
	struct kvp_pool_info info;

	if (!client)
		return NULL;
	client->pool = pool;
	client->id = kvp_pool_get_info(pool, &info) ? 0 : info.client;
	strncpy(client->name, name, sizeof(client->name) - 1);
	strncpy(client->pool_name, kvp_pool_name(pool), sizeof(client->pool_name) - 1);
	while (*end)
		end = &(*end)->next;
	*end = client;
	shell->client = client;
	return client;
}

void shell_close_export(struct shell_name *name)
{
	if (name->fd >= 0)
		close(name->fd);
	name->fd = -1;
}

static void name_free(struct shell_name *name)
{
	shell_close_export(name);
	shell_words_free(&name->values);
	free(name);
}

void shell_close_client(struct shell *shell, struct shell_client *client)
{
	struct shell_name **name = &shell->names, *gone;
	struct shell_client **at = &shell->clients;

	while (*name) {
		gone = *name;
		if (gone->client != client) {
			name = &gone->next;
			continue;
		}
		*name = gone->next;
		name_free(gone);
	}
	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	if (shell->client == client)
		shell->client = shell->clients;
	kvp_pool_close(client->pool);
	free(client);
}

void shell_forget_all(struct shell *shell)
{
	struct shell_name *name;

	while (shell->clients)
		shell_close_client(shell, shell->clients);
	while (shell->names) {
		name = shell->names;
		shell->names = name->next;
		name_free(name);
	}
}

/* ---- other names ---- */

struct shell_name *shell_find_name(struct shell *shell, enum shell_kind kind,
				   const struct shell_client *client, const char *name)
{
	struct shell_name *at;

	for (at = shell->names; at; at = at->next) {
		if (at->kind == kind && at->client == client && !strcmp(at->name, name))
			return at;
	}
	return NULL;
}

/* The client, other than the current one, that has a thing of this name. */
static const char *other_owner(struct shell *shell, enum shell_kind kind, const char *name)
{
	const struct shell_name *at;

	for (at = shell->names; at; at = at->next) {
		if (at->kind == kind && at->client && !strcmp(at->name, name))
			return at->client->name;
	}
	return NULL;
}

int shell_need_name(struct shell *shell, enum shell_kind kind, const char *name,
		    struct shell_name **found)
{
	const char *other;

	*found = shell_find_name(shell, kind, is_owned(kind) ? shell->client : NULL, name);
	if (*found)
		return SHELL_OK;
	other = is_owned(kind) ? other_owner(shell, kind, name) : NULL;
	if (other)
		return shell_malformed(shell, "%s '%s' is client %s's; expected one of client "
					      "%s, or `as %s ...'",
				       kind_names[kind], name, other, shell->client->name, other);
	return shell_malformed(shell, "no %s '%s'; expected the name of one made before",
			       kind_names[kind], name);
}

struct shell_name *shell_bind(struct shell *shell, enum shell_kind kind,
			      struct shell_client *client, const char *name)
{
	struct shell_name *at = shell_find_name(shell, kind, client, name);

	if (at) {
		shell_words_free(&at->values);
		shell_close_export(at);
		at->id = 0;
		return at;
	}
	at = calloc(1, sizeof(*at));
	if (!at)
		return NULL;
	at->kind = kind;
	at->fd = -1;
	at->client = client;
	strncpy(at->name, name, sizeof(at->name) - 1);
	at->next = shell->names;
	shell->names = at;
	return at;
}

/* ---- block ids ---- */

const char *shell_block_text(uint64_t block, char text[SHELL_BLOCK_LEN])
{
	if (block == KVP_BLOCK_NULL)
		strcpy(text, "none");
	else
		snprintf(text, SHELL_BLOCK_LEN, "%016llx", (unsigned long long)block);
	return text;
}

int shell_block_parse(struct shell *shell, const char *text, uint64_t *block)
{
	if (!strcmp(text, "none")) {
		*block = KVP_BLOCK_NULL;
		return SHELL_OK;
	}
	if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
		return shell_malformed(shell, "'%.40s' is no block; expected 16 hexadecimal "
					      "digits, none, or a value ($NAME)",
				       text);
	*block = strtoull(text, NULL, 16);
	return SHELL_OK;
}

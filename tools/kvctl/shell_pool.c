// SPDX-License-Identifier: MIT
/*
 * Pools and clients: who is attached, with which rights, limits and guarantees.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "door.h"
#include "json.h"
#include "pool_list.h"
#include "shell.h"
#include "view.h"

static json_t *rights_json(uint32_t rights)
{
	json_t *list = json_array();

	if (rights & KVP_RIGHT_USE)
		json_array_append_new(list, json_string("use"));
	if (rights & KVP_RIGHT_PUBLISH)
		json_array_append_new(list, json_string("publish"));
	if (rights & KVP_RIGHT_ADMIN)
		json_array_append_new(list, json_string("admin"));
	return list;
}

/* ---- opening ---- */

/* The other options are the shell's own. */
static bool is_uri_key(const struct shell_option *option)
{
	return strcmp(option->key, "client") && strcmp(option->key, "pool");
}

/* KEY=VALUE&... of the URI's options; free() it. */
static char *make_query(const struct shell_args *args)
{
	const struct shell_option *option;
	char *query = NULL;
	size_t len, i;
	FILE *out = open_memstream(&query, &len);

	if (!out)
		return NULL;
	for (i = 0; i < args->nr_options; i++) {
		option = &args->option[i];
		if (is_uri_key(option))
			fprintf(out, "%s%s=%s", ftell(out) ? "&" : "", option->key,
				option->value);
	}
	if (!fclose(out))
		return query;
	free(query);
	return NULL;
}

/* What a URI's keys are separated by does not stand in a value. */
static int check_values(struct shell *shell, const struct shell_args *args)
{
	const struct shell_option *option;

	for (option = args->option; option < args->option + args->nr_options; option++) {
		if (is_uri_key(option) && strpbrk(option->value, "&?"))
			return shell_malformed(shell, "%s is '%.80s'; expected it without '&' and "
						      "'?'",
					       option->key, option->value);
	}
	return SHELL_OK;
}

/* Open @uri as client @name, or as one called like the pool. */
static int open_uri(struct shell *shell, const char *name, const char *uri)
{
	struct shell_client *client = NULL;
	struct kvp_pool *pool;
	int status = SHELL_OK;

	if (kvp_pool_open(uri, &pool))
		return shell_call_failed(shell);
	if (!name)
		name = kvp_pool_name(pool);
	if (shell_find_client(shell, name))
		status = shell_malformed(shell, "there is a client '%s' already; expected a new "
						"name",
					 name);
	else
		client = shell_add_client(shell, name, pool);
	if (!client) {
		kvp_pool_close(pool);
		return status == SHELL_OK ? shell_no_memory(shell) : status;
	}
	json_object_set_new(shell->out, "pool", json_string(client->pool_name));
	json_object_set_new(shell->out, "client", json_string(client->name));
	shell_put(shell->out, "id", client->id);
	json_object_set_new(shell->out, "rights", rights_json(kvp_pool_rights(pool)));
	return SHELL_OK;
}

/* Open @pool_name, a name or a URI, with the options of @args. */
static int open_with(struct shell *shell, const struct shell_args *args, const char *name,
		     const char *pool_name)
{
	int status = check_values(shell, args);
	char *query, uri[KVCTL_URI_LEN];

	if (status != SHELL_OK)
		return status;
	query = make_query(args);
	if (!query)
		return shell_no_memory(shell);
	if (name)
		status = shell_check_name(shell, name);
	if (status == SHELL_OK && !kvctl_pool_uri(pool_name, *query ? query : NULL, uri))
		status = shell_malformed(shell, "pool and options of more than %d bytes; "
						"expected fewer",
					 KVCTL_URI_LEN);
	free(query);
	return status == SHELL_OK ? open_uri(shell, name, uri) : status;
}

/* Whether there is such a pool: its URI would open it. */
static int pool_exists(struct shell *shell, const char *name)
{
	struct kvctl_pools pools;
	int status = SHELL_OK;
	uint32_t i;

	if (kvctl_pools_read(kvctl_door_of(name), &pools))
		return shell_call_failed(shell);
	for (i = 0; i < pools.nr && status == SHELL_OK; i++) {
		if (!strcmp(pools.entries[i].name, kvctl_door_skip(name)))
			status = shell_failed(shell, "EEXIST", "pool create: there is a pool "
				"'%s': expected a new name",
					      name);
	}
	kvctl_pools_free(&pools);
	return status;
}

static int pool_create(struct shell *shell, const struct shell_args *args)
{
	const char *pool_name = args->word[0].text;
	int status;

	if (!shell_option(args, "blocks") && !shell_option(args, "family"))
		return shell_malformed(shell, "pool create: no blocks= and no family=; expected "
					      "one of them");
	status = shell_check_name(shell, kvctl_door_skip(pool_name));
	if (status == SHELL_OK)
		status = pool_exists(shell, pool_name);
	return status == SHELL_OK ? open_with(shell, args, shell_option(args, "client"),
					      pool_name) : status;
}

static int pool_open(struct shell *shell, const struct shell_args *args)
{
	return open_with(shell, args, shell_option(args, "client"), args->word[0].text);
}

static int client_open(struct shell *shell, const struct shell_args *args)
{
	const char *pool_name = shell_option(args, "pool");
	char current[KVCTL_OWN_LEN];
	int status;

	if (!pool_name) {
		status = shell_need_current(shell);
		if (status != SHELL_OK)
			return status;
		snprintf(current, sizeof(current), "%s:%s",
			 kvp_door_name(kvp_pool_door(shell->client->pool)),
			 shell->client->pool_name);
		pool_name = current;
	}
	return open_with(shell, args, args->word[0].text, pool_name);
}

/* ---- using and leaving ---- */

static int tell_current(struct shell *shell)
{
	const struct shell_client *client = shell->client;

	json_object_set_new(shell->out, "pool",
			    client ? json_string(client->pool_name) : json_null());
	json_object_set_new(shell->out, "client",
			    client ? json_string(client->name) : json_null());
	return SHELL_OK;
}

static int need_client_of(struct shell *shell, const char *pool_name,
			  struct shell_client **found)
{
	struct shell_client *client;

	for (client = shell->clients; client; client = client->next) {
		if (!strcmp(client->pool_name, pool_name)) {
			*found = client;
			return SHELL_OK;
		}
	}
	return shell_malformed(shell, "no client of a pool '%s'; expected one that is open here",
			       pool_name);
}

static int pool_use(struct shell *shell, const struct shell_args *args)
{
	struct shell_client *client = NULL;
	int status;

	status = need_client_of(shell, args->word[0].text, &client);
	if (status != SHELL_OK)
		return status;
	shell->client = client;
	return tell_current(shell);
}

static int client_use(struct shell *shell, const struct shell_args *args)
{
	struct shell_client *client;
	int status;

	status = shell_need_client(shell, args->word[0].text, &client);
	if (status != SHELL_OK)
		return status;
	shell->client = client;
	return tell_current(shell);
}

static int pool_close(struct shell *shell, const struct shell_args *args)
{
	struct shell_client *client = NULL, *next;
	int status;

	status = need_client_of(shell, args->word[0].text, &client);
	if (status != SHELL_OK)
		return status;
	for (; client; client = next) {
		next = client->next;
		if (!strcmp(client->pool_name, args->word[0].text))
			shell_close_client(shell, client);
	}
	return tell_current(shell);
}

static int client_close(struct shell *shell, const struct shell_args *args)
{
	struct shell_client *client;
	int status;

	status = shell_need_client(shell, args->word[0].text, &client);
	if (status != SHELL_OK)
		return status;
	shell_close_client(shell, client);
	return tell_current(shell);
}

static int pool_destroy(struct shell *shell, const struct shell_args *args)
{
	uint32_t flags = shell_flag(args, "force") ? KVP_DESTROY_FORCE : 0;
	struct shell_client *client = shell->client;
	int status = SHELL_OK;

	if (!client || strcmp(client->pool_name, args->word[0].text))
		status = need_client_of(shell, args->word[0].text, &client);
	if (status != SHELL_OK)
		return status;
	if (kvp_pool_destroy(client->pool, flags))
		return shell_call_failed(shell);
	json_object_set_new(shell->out, "destroyed", json_string(client->pool_name));
	return SHELL_OK;
}

/* ---- limits ---- */

static const struct {
	const char *key;
	uint32_t bit;
	size_t offset;
} limit_keys[] = {
	{ "blocks", KVP_LIMIT_BLOCKS, offsetof(struct kvp_limit, blocks) },
	{ "guarantee", KVP_LIMIT_GUARANTEE, offsetof(struct kvp_limit, guarantee) },
	{ "slots", KVP_LIMIT_SLOTS, offsetof(struct kvp_limit, slots) },
	{ "seqs", KVP_LIMIT_SEQS, offsetof(struct kvp_limit, seqs) },
	{ "raw", KVP_LIMIT_RAW, offsetof(struct kvp_limit, raw) },
	{ "matches", KVP_LIMIT_MATCHES, offsetof(struct kvp_limit, matches) },
	{ "metadata_bytes", KVP_LIMIT_METADATA, offsetof(struct kvp_limit, metadata_bytes) },
	{ "exports", KVP_LIMIT_EXPORTS, offsetof(struct kvp_limit, exports) },
	{ "backings", KVP_LIMIT_BACKINGS, offsetof(struct kvp_limit, backings) },
	{ "tickets", KVP_LIMIT_TICKETS, offsetof(struct kvp_limit, tickets) },
};

#define NR_LIMITS	(sizeof(limit_keys) / sizeof(limit_keys[0]))

static int take_limit(struct shell *shell, const struct shell_args *args, size_t i,
		      struct kvp_limit *limit)
{
	const char *text = shell_option(args, limit_keys[i].key);
	uint64_t value = KVP_UNLIMITED;
	int status = SHELL_OK;

	if (!text)
		return SHELL_OK;
	if (strcmp(text, "none"))
		status = shell_word_number(shell, limit_keys[i].key, text, 0, INT64_MAX, &value);
	limit->mask |= limit_keys[i].bit;
	memcpy((char *)limit + limit_keys[i].offset, &value, sizeof(value));
	return status;
}

/* Whom the limits are of; what to call that: call->name. */
static int take_limited(struct shell *shell, const struct shell_args *args,
			struct shell_call *call, struct kvp_limit *limit)
{
	const char *uid = shell_option(args, "uid");
	struct shell_client *client;
	int status = SHELL_OK;

	if (!uid == !args->nr)
		return shell_malformed(shell, "limit: whose? expected CLIENT, new or uid=N|any");
	if (uid) {
		snprintf(call->name, sizeof(call->name), "%s", uid);
		limit->head.flags = KVP_LIMIT_OF_UID;
		limit->client = KVP_UID_ANY;
		if (!strcmp(uid, "any"))
			return SHELL_OK;
		return shell_word_number(shell, "uid", uid, 0, UINT32_MAX - 1,
					 (uint64_t *)&limit->client);
	}
	snprintf(call->name, sizeof(call->name), "%s", args->word[0].text);
	if (!strcmp(call->name, "new"))
		return SHELL_OK;
	status = shell_need_client(shell, args->word[0].text, &client);
	if (status == SHELL_OK)
		limit->client = client->id;
	return status;
}

static int limit_build(struct shell *shell, const struct shell_args *args,
		       struct shell_call *call)
{
	struct kvp_limit *limit = SHELL_OP(call, KVP_OP_LIMIT, limit);
	int status;
	size_t i;

	status = take_limited(shell, args, call, limit);
	if (status == SHELL_OK)
		status = shell_take_family(shell, args, &limit->family);
	for (i = 0; i < NR_LIMITS && status == SHELL_OK; i++)
		status = take_limit(shell, args, i, limit);
	if (status == SHELL_OK && !limit->mask)
		status = shell_malformed(shell, "limit: nothing to set; expected KEY=NUMBER or "
						"KEY=none");
	return status;
}

static int limit_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	const struct kvp_limit *limit = &call->arg.limit;
	uint64_t value;
	size_t i;

	json_object_set_new(out, limit->head.flags & KVP_LIMIT_OF_UID ? "uid" : "client",
			    json_string(call->name));
	if (limit->mask & (KVP_LIMIT_BLOCKS | KVP_LIMIT_GUARANTEE))
		json_object_set_new(out, "family", json_integer(limit->family));
	for (i = 0; i < NR_LIMITS; i++) {
		if (!(limit->mask & limit_keys[i].bit))
			continue;
		memcpy(&value, (const char *)limit + limit_keys[i].offset, sizeof(value));
		json_object_set_new(out, limit_keys[i].key, kvctl_json_limit(value));
	}
	return SHELL_OK;
}

const struct shell_command shell_pool_commands[] = {
	{
		.group = "pool", .name = "create",
		.usage = "POOL blocks=N [block_tokens=N] [row_bytes=N] [dtype=TYPE] | "
			 "family=NAME,KIND,BLOCKS,BLOCK_TOKENS,ROW_BYTES[,WINDOW][,DTYPE]... "
			 "[index_tokens=N] [strict=yes] [grace=MILLISECONDS] [rights=...] "
			 "[client=NAME]",
		.summary = "make a pool that ends with its last client, and become its first",
		.options = "blocks block_tokens row_bytes dtype family* index_tokens strict grace "
			   "rights client",
		.min = 1, .max = 1, .alone = true, .run = pool_create,
	},
	{
		.group = "pool", .name = "open",
		.usage = "POOL [rights=use,publish,admin] [client=NAME]",
		.summary = "become a client of a pool that exists",
		.options = "rights client",
		.min = 1, .max = 1, .alone = true, .run = pool_open,
	},
	{
		.group = "pool", .name = "use", .usage = "POOL",
		.summary = "go on with the first client of a pool",
		.min = 1, .max = 1, .alone = true, .run = pool_use,
	},
	{
		.group = "pool", .name = "close", .usage = "POOL",
		.summary = "close all clients of a pool",
		.min = 1, .max = 1, .alone = true, .run = pool_close,
	},
	{
		.group = "pool", .name = "destroy", .usage = "POOL [--force]",
		.summary = "end a pool, with --force for all its clients",
		.flags = "force",
		.min = 1, .max = 1, .alone = true, .run = pool_destroy,
	},
	{
		.group = "client", .name = "open",
		.usage = "NAME [pool=POOL] [rights=use,publish,admin]",
		.summary = "become one more client of a pool, the current one from now on",
		.options = "pool rights",
		.min = 1, .max = 1, .alone = true, .run = client_open,
	},
	{
		.group = "client", .name = "use", .usage = "NAME",
		.summary = "go on as this client",
		.min = 1, .max = 1, .alone = true, .run = client_use,
	},
	{
		.group = "client", .name = "close", .usage = "NAME",
		.summary = "leave: what the client holds comes back",
		.min = 1, .max = 1, .alone = true, .run = client_close,
	},
	{
		.group = "limit",
		.usage = "CLIENT|new|uid=N|uid=any [family=N] [blocks=N] [guarantee=N] [slots=N] "
			 "[seqs=N] [raw=N] [matches=N] [metadata_bytes=N] [exports=N] [backings=N] "
			 "[tickets=N]",
		.summary = "set limits (none: unlimited) and the guarantee of a client, of "
			   "new ones, or the limits of a user; needs admin",
		.options = "uid family blocks guarantee slots seqs raw matches metadata_bytes "
			   "exports backings tickets",
		.min = 0, .max = 1, .build = limit_build, .done = limit_done,
	},
	{ 0 },
};

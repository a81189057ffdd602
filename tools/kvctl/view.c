// SPDX-License-Identifier: MIT
/*
 * A client of a pool that only looks. Owns what kvctl_view_open() takes until
 * kvctl_view_close(); no other state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "door.h"
#include "kvctl.h"
#include "pool_list.h"
#include "view.h"

#define CHUNK	1024	/* blocks of one call */

bool kvctl_pool_has_key(const char *uri, const char *pair)
{
	size_t len = (size_t)(strchr(pair, '=') + 1 - pair);
	const char *at;

	for (at = strpbrk(uri, "?&"); at; at = strpbrk(at + 1, "?&")) {
		if (!strncmp(at + 1, pair, len))
			return true;
	}
	return false;
}

bool kvctl_pool_uri(const char *pool, const char *query, char uri[KVCTL_URI_LEN])
{
	const char *scheme = strpbrk(pool, ":?");
	enum kvp_door_kind door = kvctl_door();
	char prefix[16] = "";
	int len;

	if (door != KVP_DOOR_DEFAULT && !(scheme && *scheme == ':'))
		snprintf(prefix, sizeof(prefix), "%s:", kvp_door_name(door));
	len = snprintf(uri, KVCTL_URI_LEN, "%s%s%s%s", prefix, pool,
		       !query ? "" : strchr(pool, '?') ? "&" : "?", query ? query : "");
	return len < KVCTL_URI_LEN;
}

/* Where there is no pool at all: how to get one. */
static void print_no_pools(const char *who, enum kvp_door_kind door)
{
	if (door == KVP_DOOR_INPROC)
		fprintf(stderr, "%s: there is no pool in this process; 'inproc:NAME?blocks=100' "
			"makes one that lives as long as it does, `kvctl shell' works on "
			"one line by line\n", who);
	else
		fprintf(stderr, "%s: there is no pool that you may use; `kvctl create NAME "
			"--blocks 100' makes one\n", who);
}

int kvctl_error_status(void)
{
	const struct kvp_error *error = kvp_error();

	if (error->reason == KVP_REASON_DOOR)
		return KVCTL_FAILED;
	return error->err == -EINVAL || error->err == -EOVERFLOW ? KVCTL_USAGE : KVCTL_FAILED;
}

int kvctl_pool_failed(const char *who, const char *pool)
{
	enum kvp_door_kind door = kvctl_door_of(pool);
	int status = kvctl_error_status();
	struct kvctl_pools pools;
	uint32_t i;

	kvctl_print_error(who, pool);
	if (kvp_error()->reason != KVP_REASON_NO_POOL || kvctl_pools_read(door, &pools))
		return status;
	if (!pools.nr)
		print_no_pools(who, door);
	else
		fprintf(stderr, "%s: pools that there are:", who);
	for (i = 0; i < pools.nr; i++)
		fprintf(stderr, " %s%s", pools.entries[i].name, i + 1 < pools.nr ? "" : "\n");
	kvctl_pools_free(&pools);
	return status;
}

static int open_with(const char *pool, const char *query, struct kvp_pool **result)
{
	char uri[KVCTL_URI_LEN];

	if (kvctl_pool_has_key(pool, query))
		query = NULL;
	return kvctl_pool_uri(pool, query, uri) ? kvp_pool_open(uri, result) : -ENAMETOOLONG;
}

/* What the pool of @client is; the view keeps @client only if that goes well. */
static int learn(const char *who, struct kvp_pool *client, struct kvctl_view *view)
{
	uint32_t i;
	int err;

	memset(view, 0, sizeof(*view));
	view->who = who;
	err = kvp_pool_get_info(client, &view->info);
	if (err)
		return err;
	view->pool = client;
	view->info.nr_clients--;
	view->admin = kvp_pool_rights(client) & KVP_RIGHT_ADMIN;
	for (i = 0; i < view->info.nr_families; i++) {
		view->family[i] = *kvp_pool_family(client, i);
		kvctl_make_text(view->family[i].name);
		view->families[i] = &view->family[i];
	}
	return 0;
}

bool kvctl_view_of(const char *who, struct kvp_pool *pool, struct kvctl_view *view)
{
	if (!learn(who, pool, view))
		return true;
	kvctl_print_error(who, kvp_pool_name(pool));
	return false;
}

int kvctl_view_try(const char *who, const char *pool, bool admin, struct kvctl_view *view)
{
	struct kvp_pool *client;
	int err;

	err = open_with(pool, admin ? "rights=use,admin" : "rights=use", &client);
	if (err == -EACCES && admin && kvp_error()->reason != KVP_REASON_DOOR)
		err = open_with(pool, "rights=use", &client);
	if (err)
		return err;
	err = learn(who, client, view);
	if (err)
		kvp_pool_close(client);
	return err;
}

int kvctl_view_open(const char *who, const char *pool, bool admin, struct kvctl_view *view)
{
	int err = kvctl_view_try(who, pool, admin, view);

	if (!err)
		return KVCTL_OK;
	if (err != -ENAMETOOLONG)
		return kvctl_pool_failed(who, pool);
	fprintf(stderr, "%s: %.40s...: expected a pool's name or URI of less than %u bytes\n", who,
		pool, KVCTL_URI_LEN);
	return KVCTL_USAGE;
}

void kvctl_view_close(struct kvctl_view *view)
{
	kvp_pool_close(view->pool);
	view->pool = NULL;
}

int kvctl_view_failed(const struct kvctl_view *view)
{
	kvctl_print_error(view->who, view->info.name);
	return KVCTL_FAILED;
}

bool kvctl_view_families(const struct kvctl_view *view, const char *option, const char *text,
			 uint32_t *first, uint32_t *end)
{
	uint32_t nr = view->info.nr_families;
	char label[KVCTL_LABEL_LEN];
	uint64_t number;
	uint32_t i;

	*first = 0;
	*end = nr;
	if (!text)
		return true;
	for (i = 0; i < nr; i++) {
		if (*text && !strcmp(view->families[i]->name, text))
			break;
	}
	if (i == nr && kvctl_parse_number(text, 0, nr - 1, &number))
		i = (uint32_t)number;
	if (i < nr) {
		*first = i;
		*end = i + 1;
		return true;
	}
	fprintf(stderr, "%s: %s is '%s'; expected a number or name of:", view->who, option, text);
	for (i = 0; i < nr; i++)
		fprintf(stderr, "%s %s", i ? "," : "",
			kvctl_family_label(view->families[i], i, label));
	fprintf(stderr, "\n");
	return false;
}

int kvctl_view_each_block(struct kvctl_view *view, uint32_t family,
			  bool (*fn)(void *arg, const struct kvp_block_entry *entry), void *arg)
{
	struct kvp_block_entry *entries = malloc(CHUNK * sizeof(*entries));
	uint64_t cursor = 0;
	bool more = true;
	uint32_t nr, i;
	int err;

	if (!entries)
		return -ENOMEM;
	do {
		nr = CHUNK;
		err = kvp_pool_dump(view->pool, family, &cursor, entries, &nr);
		for (i = 0; !err && more && i < nr; i++)
			more = fn(arg, &entries[i]);
	} while (!err && more && nr);
	free(entries);
	return err;
}

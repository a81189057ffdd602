// SPDX-License-Identifier: MIT
/*
 * What clients and users have, with their limits as far as the pool tells them. No state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client_list.h"
#include "json.h"
#include "kvctl.h"
#include "limit.h"

/**
 * struct shown - what is to be shown
 * @clients: all that there are
 * @users: array of @nr_users
 * @who: only this one, KVCTL_OF_ALL: all of them
 */
struct shown {
	struct kvctl_clients clients;
	struct kvctl_user *users;
	uint32_t nr_users;
	const struct kvctl_limited *who;
};

static bool is_shown(const struct shown *shown, const struct kvctl_client *client)
{
	if (kvctl_is_export(client) || shown->who->kind == KVCTL_OF_UID)
		return false;
	return shown->who->kind == KVCTL_OF_ALL || client->entry.client == shown->who->id;
}

/* ---- reading ---- */

static int add_user(struct kvctl_view *view, struct shown *shown, uint32_t uid)
{
	uint32_t i;
	int err;

	for (i = 0; i < shown->nr_users; i++) {
		if (shown->users[i].uid == uid)
			return 0;
	}
	err = kvctl_user_read(view, uid, &shown->users[shown->nr_users]);
	shown->nr_users += !err;
	return err;
}

static int read_users(struct kvctl_view *view, struct shown *shown)
{
	uint32_t i;
	int err = 0;

	shown->users = calloc(shown->clients.nr + 1, sizeof(*shown->users));
	if (!shown->users)
		return -ENOMEM;
	if (shown->who->kind == KVCTL_OF_UID)
		return add_user(view, shown, (uint32_t)shown->who->id);
	for (i = 0; !err && shown->who->kind == KVCTL_OF_ALL && i < shown->clients.nr; i++)
		err = add_user(view, shown, shown->clients.at[i].entry.uid);
	return err;
}

/* Whether there is somebody of the kind that was asked for. */
static bool has_client(const struct shown *shown)
{
	uint32_t i;

	for (i = 0; i < shown->clients.nr; i++) {
		if (is_shown(shown, &shown->clients.at[i]))
			return true;
	}
	return false;
}

/* ---- text ---- */

static void print_used(const struct kvctl_view *view, const struct kvp_stats *stats,
		       const struct kvp_family_stats *families)
{
	char number[KVCTL_GROUPED_LEN];
	uint64_t used;
	size_t i;

	kvctl_charged_print(view, families, "  ");
	for (i = 0; i < KVCTL_LIMIT_WORDS; i++) {
		if (kvctl_limit_words[i].of_family)
			continue;
		memcpy(&used, (const char *)stats + kvctl_limit_words[i].used, sizeof(used));
		printf("  %-36s %14s\n", kvctl_limit_words[i].words, kvctl_grouped(used, number));
	}
}

static void print(const struct kvctl_view *view, const struct shown *shown)
{
	const struct kvctl_client *client;
	uint32_t i;

	if (!view->admin && shown->who->kind != KVCTL_OF_UID)
		printf("clients of others are not shown: that needs the right admin\n");
	for (i = 0; i < shown->clients.nr; i++) {
		client = &shown->clients.at[i];
		if (!is_shown(shown, client))
			continue;
		printf("client %llu: uid %u, pid %u %s\n",
		       (unsigned long long)client->entry.client, client->entry.uid,
		       client->entry.pid, client->entry.command);
		print_used(view, &client->stats, client->families);
	}
	for (i = 0; i < shown->nr_users; i++) {
		printf("uid %u: %s\n", shown->users[i].uid,
		       shown->users[i].known ? "all its clients together"
					     : "it has nothing, and no limits of its own");
		print_used(view, &shown->users[i].stats, shown->users[i].families);
	}
	if (!has_client(shown) && !shown->nr_users)
		printf("no clients\n");
	else
		printf("Limits of other things than blocks are kept, but the pool tells nobody.\n");
}

/* ---- JSON ---- */

static json_t *used_json(const struct kvp_stats *stats)
{
	json_t *object = json_object();
	uint64_t used;
	size_t i;

	for (i = 0; i < KVCTL_LIMIT_WORDS; i++) {
		if (kvctl_limit_words[i].of_family)
			continue;
		memcpy(&used, (const char *)stats + kvctl_limit_words[i].used, sizeof(used));
		kvctl_json_set(&object, kvctl_limit_words[i].word, kvctl_json_u64(used));
	}
	return object;
}

static json_t *client_json(const struct kvctl_view *view, const struct kvctl_client *client)
{
	return json_pack("{s:I, s:I, s:I, s:s, s:o, s:o}",
			 "client", (json_int_t)client->entry.client,
			 "uid", (json_int_t)client->entry.uid,
			 "pid", (json_int_t)client->entry.pid,
			 "command", client->entry.command,
			 "used", used_json(&client->stats),
			 "families", kvctl_charged_json(view, client->families));
}

static json_t *user_json(const struct kvctl_view *view, const struct kvctl_user *user)
{
	return json_pack("{s:I, s:o, s:o}", "uid", (json_int_t)user->uid,
			 "used", used_json(&user->stats),
			 "families", kvctl_charged_json(view, user->families));
}

static json_t *shown_json(const struct kvctl_view *view, const struct shown *shown)
{
	json_t *clients = json_array(), *users = json_array();
	uint32_t i;

	for (i = 0; i < shown->clients.nr; i++) {
		if (is_shown(shown, &shown->clients.at[i]))
			kvctl_json_append(&clients, client_json(view, &shown->clients.at[i]));
	}
	for (i = 0; i < shown->nr_users; i++)
		kvctl_json_append(&users, user_json(view, &shown->users[i]));
	return json_pack("{s:s, s:o, s:o, s:b}", "pool", view->info.name, "clients", clients,
			 "uids", users, "all_visible", view->admin);
}

static int show(struct kvctl_view *view, const struct shown *shown, bool json)
{
	if (shown->who->kind == KVCTL_OF_CLIENT && !has_client(shown)) {
		fprintf(stderr, "%s: %s: no client %llu to be seen; `kvctl clients' shows which "
			"there are\n", view->who, view->info.name,
			(unsigned long long)shown->who->id);
		return KVCTL_FAILED;
	}
	if (json)
		return kvctl_json_write(view->who, shown_json(view, shown));
	print(view, shown);
	return kvctl_output_done(view->who);
}

int kvctl_limit_show(struct kvctl_view *view, const struct kvctl_limited *who, bool json)
{
	struct shown shown = { .who = who };
	int status;

	if (kvctl_clients_read(view, &shown.clients))
		return kvctl_view_failed(view);
	if (read_users(view, &shown))
		status = kvctl_view_failed(view);
	else
		status = show(view, &shown, json);
	kvctl_clients_free(&shown.clients);
	free(shown.users);
	return status;
}

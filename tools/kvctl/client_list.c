// SPDX-License-Identifier: MIT
/*
 * Reads who is attached to a pool, and for whom, and shows them. No state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client_list.h"
#include "json.h"

static int read_entries(struct kvctl_view *view, struct kvp_client_entry **entries, uint32_t *nr)
{
	uint32_t total = 0;
	int err;

	*entries = NULL;
	do {	/* until none has come meanwhile */
		free(*entries);
		*nr = total + 16;
		*entries = calloc(*nr, sizeof(**entries));
		if (!*entries)
			return -ENOMEM;
		err = kvp_pool_clients(view->pool, *entries, nr, &total);
	} while (!err && *nr < total);
	return err;
}

/*
 * What it has beside the entry; 0, or a negative errno: -ENOENT where it has gone, also a dead one
 * whose quarantine has ended.
 */
static int read_client(struct kvctl_view *view, const struct kvp_client_entry *entry,
		       struct kvctl_client *client)
{
	memset(client, 0, sizeof(*client));
	client->entry = *entry;
	kvctl_make_text(client->entry.command);
	if (kvctl_is_export(client))
		return 0;
	return kvp_pool_stats(view->pool, entry->client, &client->stats, client->families,
			      view->info.nr_families);
}

int kvctl_clients_read(struct kvctl_view *view, struct kvctl_clients *clients)
{
	struct kvp_client_entry *entries;
	uint32_t nr, i;
	int err;

	clients->nr = 0;
	clients->at = NULL;
	err = read_entries(view, &entries, &nr);
	if (!err)
		clients->at = calloc(nr + 1, sizeof(*clients->at));
	if (!err && !clients->at)
		err = -ENOMEM;
	for (i = 0; !err && i < nr; i++) {
		if (entries[i].client == view->info.client)
			continue;
		err = read_client(view, &entries[i], &clients->at[clients->nr]);
		clients->nr += !err;
		if (err == -ENOENT)
			err = 0;
	}
	free(entries);
	if (err)
		kvctl_clients_free(clients);
	return err;
}

void kvctl_clients_free(struct kvctl_clients *clients)
{
	free(clients->at);
	clients->at = NULL;
	clients->nr = 0;
}

int kvctl_clients_show(int argc, char **argv, const struct argp *argp,
		       json_t *(*to_json)(const struct kvctl_view *view,
					  const struct kvctl_clients *clients),
		       void (*print)(const struct kvctl_view *view,
				     const struct kvctl_clients *clients))
{
	struct kvctl_pool_args args = { 0 };
	struct kvctl_clients clients;
	struct kvctl_view view;
	int status;

	if (!kvctl_args(argp, argc, argv, &args, &status))
		return status;
	status = kvctl_view_open(argv[0], args.pool, true, &view);
	if (status)
		return status;
	if (kvctl_clients_read(&view, &clients)) {
		status = kvctl_view_failed(&view);
	} else if (args.json) {
		status = kvctl_json_write(argv[0], to_json(&view, &clients));
	} else {
		print(&view, &clients);
		status = kvctl_output_done(argv[0]);
	}
	kvctl_clients_free(&clients);
	kvctl_view_close(&view);
	return status;
}

json_t *kvctl_grace_json(const struct kvctl_client *client)
{
	return kvctl_is_dead(client) ? kvctl_json_limit(client->entry.grace_ns) : json_null();
}

int kvctl_user_read(struct kvctl_view *view, uint32_t uid, struct kvctl_user *user)
{
	uint32_t i;
	int err;

	err = kvp_pool_uid_stats(view->pool, uid, &user->stats, user->families,
				 view->info.nr_families);
	user->uid = uid;
	user->known = !err;
	if (err != -ENOENT)
		return err;
	memset(&user->stats, 0, sizeof(user->stats));
	memset(user->families, 0, sizeof(user->families));
	for (i = 0; i < view->info.nr_families; i++)
		user->families[i].limit = KVP_UNLIMITED;
	return 0;
}

void kvctl_charged_print(const struct kvctl_view *view, const struct kvp_family_stats *families,
			 const char *indent)
{
	const struct kvp_family_stats *family;
	char label[KVCTL_LABEL_LEN];
	uint32_t i;

	for (i = 0; i < view->info.nr_families; i++) {
		family = &families[i];
		if (!family->charged && !family->guaranteed && family->limit == KVP_UNLIMITED)
			continue;
		printf("%s%s: %llu blocks charged", indent,
		       kvctl_family_label(view->families[i], i, label),
		       (unsigned long long)family->charged);
		if (family->guaranteed)
			printf(", guaranteed %llu (%llu not used)",
			       (unsigned long long)family->guaranteed,
			       (unsigned long long)family->unmet);
		if (family->limit != KVP_UNLIMITED)
			printf(", limit %llu", (unsigned long long)family->limit);
		if (family->held_back)
			printf(", held back %llu", (unsigned long long)family->held_back);
		if (family->reserve)
			printf(", in reserve %llu", (unsigned long long)family->reserve);
		printf("\n");
	}
}

json_t *kvctl_charged_json(const struct kvctl_view *view, const struct kvp_family_stats *families)
{
	const struct kvp_family_stats *family;
	json_t *array = json_array(), *object;
	uint32_t i;

	for (i = 0; i < view->info.nr_families; i++) {
		family = &families[i];
		object = json_pack("{s:i, s:s, s:I, s:I, s:I, s:o, s:I, s:I}",
				   "family", i,
				   "name", view->families[i]->name,
				   "charged", (json_int_t)family->charged,
				   "guaranteed", (json_int_t)family->guaranteed,
				   "unmet", (json_int_t)family->unmet,
				   "limit", kvctl_json_limit(family->limit),
				   "held_back", (json_int_t)family->held_back,
				   "reserve", (json_int_t)family->reserve);
		kvctl_json_append(&array, object);
	}
	return array;
}

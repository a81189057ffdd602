// SPDX-License-Identifier: MIT
/*
 * kvctl clients - who is attached to a pool, and what each has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "json.h"
#include "kvctl.h"
#include "view.h"

enum {
	OPT_JSON = 256,
};

struct command {
	char *pool;
	bool json;
};

/**
 * struct client - one client, as it is shown
 * @entry: who it is and what it has
 * @stats: its counters
 * @families: what it has of each family
 */
struct client {
	struct kvp_client_entry entry;
	struct kvp_stats stats;
	struct kvp_family_stats families[KVP_MAX_FAMILIES];
};

struct clients {
	struct client *at;
	uint32_t nr;
};

static const struct argp_option options[] = {
	{ "json", OPT_JSON, NULL, 0, "Print a JSON object", 0 },
	{ 0 },
};

static const char doc[] =
	"Shows who is attached to a pool: rights, sequences, slots in their tables, raw "
	"references, open matches, bytes of metadata, and for each family the blocks that are "
	"charged to it, its guarantee and its limit."
	"\vPOOL is a URI, or a name, which stands for inproc:NAME. The client that looks is left "
	"out. Without the right admin no others are shown, which is said. Clients may come and "
	"go while the list is read.\n\n"
	"Example:\n"
	"  kvctl clients POOL --json";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;

	switch (key) {
	case OPT_JSON:
		command->json = true;
		return 0;
	case ARGP_KEY_ARG:
		return kvctl_args_one(state, "POOL", arg, &command->pool);
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no POOL given");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

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

/* All but the one that looks, and those that have gone since the list was read. */
static int read_clients(struct kvctl_view *view, struct clients *clients)
{
	struct kvp_client_entry *entries;
	struct client *client;
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
		client = &clients->at[clients->nr];
		client->entry = entries[i];
		err = kvp_pool_stats(view->pool, entries[i].client, &client->stats,
				     client->families, view->info.nr_families);
		clients->nr += !err;
		if (err == -ENOENT)
			err = 0;
	}
	free(entries);
	return err;
}

/* ---- text ---- */

static void print_limit(const char *words, uint64_t value)
{
	if (value != KVP_UNLIMITED)
		printf(", %s %llu", words, (unsigned long long)value);
}

static void print_client(const struct kvctl_view *view, const struct client *client)
{
	const struct kvp_client_entry *entry = &client->entry;
	char text[KVCTL_LABEL_LEN];
	uint32_t i;

	printf("%8llu %6u  %-17s %6llu %8llu %6llu %8llu %10llu %8llu\n",
	       (unsigned long long)entry->client, entry->uid,
	       kvctl_rights_words(entry->rights, text), (unsigned long long)entry->seqs,
	       (unsigned long long)entry->slots, (unsigned long long)entry->raw,
	       (unsigned long long)client->stats.matches,
	       (unsigned long long)client->stats.metadata_bytes,
	       (unsigned long long)entry->charged);
	for (i = 0; i < view->info.nr_families; i++) {
		const struct kvp_family_stats *family = &client->families[i];

		if (!family->charged && !family->guaranteed && family->limit == KVP_UNLIMITED)
			continue;
		printf("%8s   %s: %llu blocks charged", "",
		       kvctl_family_label(view->families[i], i, text),
		       (unsigned long long)family->charged);
		if (family->guaranteed)
			printf(", guaranteed %llu (%llu not used)",
			       (unsigned long long)family->guaranteed,
			       (unsigned long long)family->unmet);
		print_limit("limit", family->limit);
		printf("\n");
	}
}

static void print(const struct kvctl_view *view, const struct clients *clients)
{
	uint32_t i;

	if (!view->admin)
		printf("clients of others are not shown: that needs the right admin\n");
	if (!clients->nr) {
		printf("no clients\n");
		return;
	}
	printf("%8s %6s  %-17s %6s %8s %6s %8s %10s %8s\n", "CLIENT", "UID", "RIGHTS", "SEQS",
	       "SLOTS", "RAW", "MATCHES", "METADATA", "CHARGED");
	for (i = 0; i < clients->nr; i++)
		print_client(view, &clients->at[i]);
}

/* ---- JSON ---- */

static json_t *families_json(const struct kvctl_view *view, const struct client *client)
{
	const struct kvp_family_stats *family;
	json_t *array = json_array(), *object;
	uint32_t i;

	for (i = 0; i < view->info.nr_families; i++) {
		family = &client->families[i];
		object = json_pack("{s:i, s:s, s:I, s:I, s:I, s:o}",
				   "family", i,
				   "name", view->families[i]->name,
				   "charged", (json_int_t)family->charged,
				   "guaranteed", (json_int_t)family->guaranteed,
				   "unmet", (json_int_t)family->unmet,
				   "limit", kvctl_json_limit(family->limit));
		kvctl_json_append(&array, object);
	}
	return array;
}

static json_t *rights_json(uint32_t rights)
{
	json_t *array = json_array();

	if (rights & KVP_RIGHT_USE)
		kvctl_json_append(&array, json_string("use"));
	if (rights & KVP_RIGHT_PUBLISH)
		kvctl_json_append(&array, json_string("publish"));
	if (rights & KVP_RIGHT_ADMIN)
		kvctl_json_append(&array, json_string("admin"));
	return array;
}

static json_t *client_json(const struct kvctl_view *view, const struct client *client)
{
	const struct kvp_client_entry *entry = &client->entry;

	return json_pack("{s:I, s:i, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
			 "client", (json_int_t)entry->client,
			 "uid", entry->uid,
			 "rights", rights_json(entry->rights),
			 "seqs", (json_int_t)entry->seqs,
			 "slots", (json_int_t)entry->slots,
			 "raw", (json_int_t)entry->raw,
			 "matches", (json_int_t)client->stats.matches,
			 "metadata_bytes", (json_int_t)client->stats.metadata_bytes,
			 "charged", (json_int_t)entry->charged,
			 "families", families_json(view, client));
}

static json_t *clients_json(const struct kvctl_view *view, const struct clients *clients)
{
	json_t *array = json_array();
	uint32_t i;

	for (i = 0; i < clients->nr; i++)
		kvctl_json_append(&array, client_json(view, &clients->at[i]));
	return json_pack("{s:s, s:o, s:b}", "pool", view->info.name, "clients", array,
			 "all_visible", view->admin);
}

int kvctl_clients(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "POOL", .doc = doc,
	};
	struct command command = { 0 };
	struct clients clients;
	struct kvctl_view view;
	int status;

	if (!kvctl_args(&argp, argc, argv, &command, &status))
		return status;
	if (!kvctl_view_open(argv[0], command.pool, true, &view))
		return KVCTL_FAILED;
	if (read_clients(&view, &clients)) {
		status = kvctl_view_failed(&view);
	} else if (command.json) {
		status = kvctl_json_write(argv[0], clients_json(&view, &clients));
	} else {
		print(&view, &clients);
		status = kvctl_output_done(argv[0]);
	}
	free(clients.at);
	kvctl_view_close(&view);
	return status;
}

// SPDX-License-Identifier: MIT
/*
 * kvctl clients - who is attached to a pool, and what each has.
 */
#include "args.h"
#include "client_list.h"
#include "json.h"
#include "kvctl.h"
#include "view.h"

static const char doc[] =
	"Shows who is attached to a pool: rights, sequences, slots in their tables, raw "
	"references, open matches, bytes of metadata, exports that it made, since when, the "
	"process that opened it, what of it waits for fences or for blocks, and for each family "
	"the blocks that are charged to it, its guarantee and its limit. Exports are clients too: "
	"`kvctl exports' shows more of them. A client that died is there while what its work may "
	"touch is in quarantine: `kvctl reap' ends that."
	"\vPOOL is a URI or a name, see kvpool(7). The client that looks is left "
	"out. Without the right admin no others are shown, which is said. Clients may come and "
	"go while the list is read.\n\n"
	"Example:\n"
	"  kvctl clients POOL --json";

/* ---- text ---- */

/* What it is, if it is no client that lives. */
static void print_flags(const struct kvctl_client *client)
{
	const struct kvp_client_entry *entry = &client->entry;
	char grace[KVCTL_AGE_LEN];

	if (kvctl_is_export(client))
		printf(" (%s of client %llu%s)",
		       entry->flags & KVP_CLIENT_REVOKED ? "revoked export" : "export",
		       (unsigned long long)entry->maker,
		       entry->flags & KVP_CLIENT_OPEN ? ", being written" : "");
	if (kvctl_is_dead(client))
		printf(" (DEAD, quarantine: %s)", kvctl_grace_words(entry->grace_ns, grace));
}

/* What waits, in a line of its own, if there is something. */
static void print_waiting(const struct kvp_client_entry *entry)
{
	const struct {
		uint64_t nr;
		const char *one;
		const char *several;
	} things[] = {
		{ entry->uses, "open use", "open uses" },
		{ entry->zombies, "zombie", "zombies" },
		{ entry->held_back, "block held back", "blocks held back" },
		{ entry->tickets, "open ticket", "open tickets" },
	};
	const char *separator = "           ";
	size_t i;

	for (i = 0; i < sizeof(things) / sizeof(things[0]); i++) {
		if (!things[i].nr)
			continue;
		printf("%s%llu %s", separator, (unsigned long long)things[i].nr,
		       things[i].nr == 1 ? things[i].one : things[i].several);
		separator = ", ";
	}
	if (separator[0] == ',')
		printf("\n");
}

static void print_client(const struct kvctl_view *view, const struct kvctl_client *client)
{
	const struct kvp_client_entry *entry = &client->entry;
	char text[KVCTL_LABEL_LEN], age[KVCTL_AGE_LEN];

	printf("%8llu %6u  %-17s %6llu %8llu %6llu %8llu %10llu %8llu %8llu %6s %7u  %s",
	       (unsigned long long)entry->client, entry->uid,
	       kvctl_rights_words(entry->rights, text), (unsigned long long)entry->seqs,
	       (unsigned long long)entry->slots, (unsigned long long)entry->raw,
	       (unsigned long long)client->stats.matches,
	       (unsigned long long)client->stats.metadata_bytes,
	       (unsigned long long)entry->charged, (unsigned long long)entry->exports,
	       kvctl_age_words(entry->age_ns, age), entry->pid, entry->command);
	print_flags(client);
	printf("\n");
	print_waiting(entry);
	if (!kvctl_is_export(client))
		kvctl_charged_print(view, client->families, "           ");
}

static void print(const struct kvctl_view *view, const struct kvctl_clients *clients)
{
	uint32_t i;

	if (!view->admin)
		printf("clients of others are not shown: that needs the right admin\n");
	if (!clients->nr) {
		printf("no clients\n");
		return;
	}
	printf("%8s %6s  %-17s %6s %8s %6s %8s %10s %8s %8s %6s %7s  %s\n", "CLIENT", "UID",
	       "RIGHTS", "SEQS", "SLOTS", "RAW", "MATCHES", "METADATA", "CHARGED", "EXPORTS",
	       "AGE", "PID", "COMMAND");
	for (i = 0; i < clients->nr; i++)
		print_client(view, &clients->at[i]);
}

/* ---- JSON ---- */

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

static json_t *flags_json(uint32_t flags)
{
	json_t *array = json_array();

	if (flags & KVP_CLIENT_EXPORT)
		kvctl_json_append(&array, json_string("export"));
	if (flags & KVP_CLIENT_REVOKED)
		kvctl_json_append(&array, json_string("revoked"));
	if (flags & KVP_CLIENT_OPEN)
		kvctl_json_append(&array, json_string("open"));
	if (flags & KVP_CLIENT_DEAD)
		kvctl_json_append(&array, json_string("dead"));
	return array;
}

static json_t *client_json(const struct kvctl_view *view, const struct kvctl_client *client)
{
	const struct kvp_client_entry *entry = &client->entry;

	return json_pack("{s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:I,"
			 " s:I, s:I, s:I, s:o, s:o, s:o}",
			 "client", (json_int_t)entry->client,
			 "uid", (json_int_t)entry->uid,
			 "rights", rights_json(entry->rights),
			 "seqs", (json_int_t)entry->seqs,
			 "slots", (json_int_t)entry->slots,
			 "raw", (json_int_t)entry->raw,
			 "matches", (json_int_t)client->stats.matches,
			 "metadata_bytes", (json_int_t)client->stats.metadata_bytes,
			 "charged", (json_int_t)entry->charged,
			 "exports", (json_int_t)entry->exports,
			 "age_ns", (json_int_t)entry->age_ns,
			 "pid", (json_int_t)entry->pid,
			 "command", entry->command,
			 "uses", (json_int_t)entry->uses,
			 "zombies", (json_int_t)entry->zombies,
			 "held_back", (json_int_t)entry->held_back,
			 "tickets", (json_int_t)entry->tickets,
			 "flags", flags_json(entry->flags),
			 "grace_ns", kvctl_grace_json(client),
			 "families", kvctl_is_export(client) ? json_array() :
				     kvctl_charged_json(view, client->families));
}

static json_t *clients_json(const struct kvctl_view *view, const struct kvctl_clients *clients)
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
		.options = kvctl_pool_options, .parser = kvctl_pool_parse, .args_doc = "POOL",
		.doc = doc,
	};

	return kvctl_clients_show(argc, argv, &argp, clients_json, print);
}

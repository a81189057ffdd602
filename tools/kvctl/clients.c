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
	"process that opened it, and for each family the blocks that are charged to it, its "
	"guarantee and its limit. Exports are clients too: `kvctl exports' shows more of them."
	"\vPOOL is a URI or a name, see kvpool(7). The client that looks is left "
	"out. Without the right admin no others are shown, which is said. Clients may come and "
	"go while the list is read.\n\n"
	"Example:\n"
	"  kvctl clients POOL --json";

/* ---- text ---- */

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
	if (kvctl_is_export(client))
		printf(" (%s of client %llu)",
		       entry->flags & KVP_CLIENT_REVOKED ? "revoked export" : "export",
		       (unsigned long long)entry->maker);
	printf("\n");
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
	return array;
}

static json_t *client_json(const struct kvctl_view *view, const struct kvctl_client *client)
{
	const struct kvp_client_entry *entry = &client->entry;

	return json_pack("{s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:o,"
			 " s:o}",
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
			 "flags", flags_json(entry->flags),
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

// SPDX-License-Identifier: MIT
/*
 * kvctl exports - which exports of sequences a pool has.
 */
#include "args.h"
#include "client_list.h"
#include "json.h"
#include "kvctl.h"
#include "view.h"

static const char doc[] =
	"Shows the exports of a pool: sequences that a client made a file of, for others to "
	"import. Each has its maker, who may be gone, the slots in its tables, and how often it "
	"was imported. While its rows are being written imports wait."
	"\vPOOL is a URI or a name, see kvpool(7). An export lives until its last descriptor is "
	"closed; `kvctl revoke' ends it before that, and then it is listed as revoked. "
	"Its blocks stay charged to whom they were charged before. Without the right admin no "
	"exports of others are shown, which is said.\n\n"
	"Example:\n"
	"  kvctl exports POOL --json";

static bool is_revoked(const struct kvctl_client *export)
{
	return export->entry.flags & KVP_CLIENT_REVOKED;
}

static bool is_being_written(const struct kvctl_client *export)
{
	return export->entry.flags & KVP_CLIENT_OPEN;
}

static const char *state_words(const struct kvctl_client *export)
{
	if (is_revoked(export))
		return "revoked";
	return is_being_written(export) ? "open, being written" : "open";
}

static void print_export(const struct kvctl_client *export)
{
	const struct kvp_client_entry *entry = &export->entry;
	char age[KVCTL_AGE_LEN];

	printf("%8llu %6u %8llu %7u %-15s %6s %8llu %8llu  %s\n",
	       (unsigned long long)entry->client, entry->uid, (unsigned long long)entry->maker,
	       entry->pid, entry->command, kvctl_age_words(entry->age_ns, age),
	       (unsigned long long)entry->slots, (unsigned long long)entry->imports,
	       state_words(export));
}

static void print(const struct kvctl_view *view, const struct kvctl_clients *clients)
{
	uint32_t i, nr = 0;

	if (!view->admin)
		printf("exports of others are not shown: that needs the right admin\n");
	for (i = 0; i < clients->nr; i++) {
		if (!kvctl_is_export(&clients->at[i]))
			continue;
		if (!nr++)
			printf("%8s %6s %8s %7s %-15s %6s %8s %8s  %s\n", "EXPORT", "UID",
			       "MAKER", "PID", "COMMAND", "AGE", "SLOTS", "IMPORTS", "STATE");
		print_export(&clients->at[i]);
	}
	if (!nr)
		printf("no exports\n");
}

static json_t *export_json(const struct kvctl_client *export)
{
	const struct kvp_client_entry *entry = &export->entry;

	return json_pack("{s:I, s:I, s:I, s:I, s:s, s:I, s:I, s:I, s:b, s:b}",
			 "export", (json_int_t)entry->client,
			 "uid", (json_int_t)entry->uid,
			 "maker", (json_int_t)entry->maker,
			 "pid", (json_int_t)entry->pid,
			 "command", entry->command,
			 "age_ns", (json_int_t)entry->age_ns,
			 "slots", (json_int_t)entry->slots,
			 "imports", (json_int_t)entry->imports,
			 "revoked", is_revoked(export),
			 "being_written", is_being_written(export));
}

static json_t *exports_json(const struct kvctl_view *view, const struct kvctl_clients *clients)
{
	json_t *array = json_array();
	uint32_t i;

	for (i = 0; i < clients->nr; i++) {
		if (kvctl_is_export(&clients->at[i]))
			kvctl_json_append(&array, export_json(&clients->at[i]));
	}
	return json_pack("{s:s, s:o, s:b}", "pool", view->info.name, "exports", array,
			 "all_visible", view->admin);
}

int kvctl_exports(int argc, char **argv)
{
	static const struct argp argp = {
		.options = kvctl_pool_options, .parser = kvctl_pool_parse, .args_doc = "POOL",
		.doc = doc,
	};

	return kvctl_clients_show(argc, argv, &argp, exports_json, print);
}

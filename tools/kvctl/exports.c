// SPDX-License-Identifier: MIT
/*
 * kvctl exports - which exports of sequences a pool has.
 */
#include <errno.h>
#include <string.h>

#include "args.h"
#include "client_list.h"
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

static const struct argp_option options[] = {
	{ "json", OPT_JSON, NULL, 0, "Print a JSON object", 0 },
	{ 0 },
};

static const char doc[] =
	"Shows the exports of a pool: sequences that a client made a file of, for others to "
	"import. Each has its maker, who may be gone, the slots in its tables, and how often it "
	"was imported."
	"\vPOOL is a URI or a name, see kvpool(7). An export lives until its last descriptor is "
	"closed; `kvctl revoke' ends it before that, and then it is listed as revoked. "
	"Its blocks stay charged to whom they were charged before. Without the right admin no "
	"exports of others are shown, which is said.\n\n"
	"Example:\n"
	"  kvctl exports POOL --json";

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

static bool is_revoked(const struct kvctl_client *export)
{
	return export->entry.flags & KVP_CLIENT_REVOKED;
}

static void print_export(const struct kvctl_client *export)
{
	const struct kvp_client_entry *entry = &export->entry;
	char age[KVCTL_AGE_LEN];

	printf("%8llu %6u %8llu %7u %-15s %6s %8llu %8llu  %s\n",
	       (unsigned long long)entry->client, entry->uid, (unsigned long long)entry->maker,
	       entry->pid, entry->command, kvctl_age_words(entry->age_ns, age),
	       (unsigned long long)entry->slots, (unsigned long long)entry->imports,
	       is_revoked(export) ? "revoked" : "open");
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

	return json_pack("{s:I, s:I, s:I, s:I, s:s, s:I, s:I, s:I, s:b}",
			 "export", (json_int_t)entry->client,
			 "uid", (json_int_t)entry->uid,
			 "maker", (json_int_t)entry->maker,
			 "pid", (json_int_t)entry->pid,
			 "command", entry->command,
			 "age_ns", (json_int_t)entry->age_ns,
			 "slots", (json_int_t)entry->slots,
			 "imports", (json_int_t)entry->imports,
			 "revoked", is_revoked(export));
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
		.options = options, .parser = parse, .args_doc = "POOL", .doc = doc,
	};
	struct command command = { 0 };
	struct kvctl_clients clients;
	struct kvctl_view view;
	int status;

	if (!kvctl_args(&argp, argc, argv, &command, &status))
		return status;
	status = kvctl_view_open(argv[0], command.pool, true, &view);
	if (status)
		return status;
	if (kvctl_clients_read(&view, &clients)) {
		status = kvctl_view_failed(&view);
	} else if (command.json) {
		status = kvctl_json_write(argv[0], exports_json(&view, &clients));
	} else {
		print(&view, &clients);
		status = kvctl_output_done(argv[0]);
	}
	kvctl_clients_free(&clients);
	kvctl_view_close(&view);
	return status;
}

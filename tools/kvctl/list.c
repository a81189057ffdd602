// SPDX-License-Identifier: MIT
/*
 * kvctl list - which pools there are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "door.h"
#include "json.h"
#include "kvctl.h"
#include "pool_list.h"

enum {
	OPT_JSON = 256,
	OPT_DOOR,
};

struct command {
	enum kvp_door_kind door;
	bool json;
};

static const struct argp_option options[] = {
	{ "door", OPT_DOOR, "DOOR", 0,
	  "Pools of dev (/dev/kvpool) or inproc (this process); as for a pool's bare name", 0 },
	{ "json", OPT_JSON, NULL, 0, "Print a JSON object", 0 },
	{ 0 },
};

static const char doc[] =
	"Shows which pools there are that you may use: name, owner, mode, families, clients."
	"\vA pool in a process (inproc:NAME) can be seen in that process only, so on the command "
	"line the list of --door=inproc is empty; in `kvctl shell' it shows what the lines "
	"before it made.\n\n"
	"Example:\n"
	"  printf 'pool create x blocks=100\\nlist\\n' | kvctl shell";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;

	switch (key) {
	case OPT_DOOR:
		return kvctl_args_door(state, arg, &command->door);
	case OPT_JSON:
		command->json = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "no argument expected, '%s' given", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int kvctl_pools_read(enum kvp_door_kind door, struct kvctl_pools *pools)
{
	uint32_t total = 0;
	int err;

	memset(pools, 0, sizeof(*pools));
	do {	/* until none was made meanwhile */
		free(pools->entries);
		pools->nr = total + 16;
		pools->entries = calloc(pools->nr, sizeof(*pools->entries));
		if (!pools->entries)
			return -ENOMEM;
		err = kvp_pool_list(door, pools->entries, &pools->nr, &total);
	} while (!err && pools->nr < total);
	if (err)
		kvctl_pools_free(pools);
	return err;
}

void kvctl_pools_free(struct kvctl_pools *pools)
{
	free(pools->entries);
	memset(pools, 0, sizeof(*pools));
}

static void print(const struct kvctl_pools *pools)
{
	const struct kvp_pool_entry *entry;
	uint32_t i;

	if (!pools->nr) {
		printf("no pools\n");
		return;
	}
	printf("%-24s %6s  %-4s  %8s  %7s  %s\n", "POOL", "UID", "MODE", "FAMILIES", "CLIENTS",
	       "LIVES");
	for (i = 0; i < pools->nr; i++) {
		entry = &pools->entries[i];
		printf("%-24s %6u  %04o  %8u  %7u  %s\n", entry->name, entry->uid, entry->mode,
		       entry->nr_families, entry->nr_clients,
		       entry->pool_flags & KVP_POOL_PERSISTENT ? "until destroyed"
							       : "while it has clients");
	}
}

static json_t *pool_json(const struct kvp_pool_entry *entry)
{
	return json_pack("{s:s, s:I, s:I, s:o, s:b, s:b, s:i, s:i}",
			 "pool", entry->name,
			 "pool_id", (json_int_t)entry->pool,
			 "uid", (json_int_t)entry->uid,
			 "mode", json_sprintf("%04o", entry->mode),
			 "persistent", !!(entry->pool_flags & KVP_POOL_PERSISTENT),
			 "strict", !!(entry->pool_flags & KVP_POOL_STRICT),
			 "families", entry->nr_families,
			 "clients", entry->nr_clients);
}

static json_t *list_json(const struct kvctl_pools *pools)
{
	json_t *array = json_array();
	uint32_t i;

	for (i = 0; i < pools->nr; i++)
		kvctl_json_append(&array, pool_json(&pools->entries[i]));
	return json_pack("{s:o}", "pools", array);
}

int kvctl_list(int argc, char **argv)
{
	static const struct argp argp = { .options = options, .parser = parse, .doc = doc };
	struct command command = { .door = kvctl_door() };
	struct kvctl_pools pools;
	int status;

	if (!kvctl_args(&argp, argc, argv, &command, &status))
		return status;
	if (kvctl_pools_read(command.door, &pools)) {
		fprintf(stderr, "%s: %s\n", argv[0], kvp_error()->text);
		return KVCTL_FAILED;
	}
	if (command.json) {
		status = kvctl_json_write(argv[0], list_json(&pools));
	} else {
		print(&pools);
		status = kvctl_output_done(argv[0]);
	}
	kvctl_pools_free(&pools);
	return status;
}

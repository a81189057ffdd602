// SPDX-License-Identifier: MIT
/*
 * kvctl reap - ends quarantines: what dead clients hold back is free to use. No state.
 */
#include <errno.h>

#include "args.h"
#include "json.h"
#include "kvctl.h"
#include "view.h"

enum {
	OPT_CLIENT = 256,
	OPT_ALL,
	OPT_JSON,
};

/**
 * struct command - what was asked for
 * @pool: its name or URI
 * @client: whose quarantine, 0: not said
 * @all: of all that are dead
 * @json: print an object
 */
struct command {
	char *pool;
	uint64_t client;
	bool all;
	bool json;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Whose, one of:", 1 },
	{ "client", OPT_CLIENT, "ID", 0, "A dead client that `kvctl clients' shows", 0 },
	{ "all", OPT_ALL, NULL, 0, "All dead clients of the pool", 0 },
	{ NULL, 0, NULL, 0, "Output:", 2 },
	{ "json", OPT_JSON, NULL, 0, "Print a JSON object", 0 },
	{ 0 },
};

static const char doc[] =
	"Ends the quarantine of dead clients: what their work may touch is free to use at once, "
	"and not after the grace time only; in a strict pool there is no other way. Whoever runs "
	"this says that no work of theirs goes on. Needs the right admin."
	"\vPOOL is a URI or a name, see kvpool(7). To be sure of it, see that the process has "
	"ended, and that nothing of its context is left on the accelerator.\n\n"
	"Example:\n"
	"  kvctl reap POOL --client 3";

static error_t check(struct argp_state *state)
{
	const struct command *command = state->input;

	if (!command->pool)
		argp_error(state, "no POOL given");
	else if (command->client && command->all)
		argp_error(state, "--client and --all exclude each other; expected one of them");
	else if (!command->client && !command->all)
		argp_error(state, "it is not said whose quarantine; expected --client ID, or "
			   "--all");
	else
		return 0;
	return EINVAL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;

	switch (key) {
	case OPT_CLIENT:
		return kvctl_args_number(state, "client", arg, 1, INT64_MAX, &command->client);
	case OPT_ALL:
		command->all = true;
		return 0;
	case OPT_JSON:
		command->json = true;
		return 0;
	case ARGP_KEY_ARG:
		return kvctl_args_one(state, "POOL", arg, &command->pool);
	case ARGP_KEY_END:
		return check(state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int reap_failed(const struct kvctl_view *view, const struct command *command)
{
	if (kvp_error()->reason != KVP_REASON_NO_CLIENT)
		return kvctl_view_failed(view);
	fprintf(stderr, "%s: %s: no dead client %llu is in quarantine; `kvctl clients %s' shows "
		"which are\n", view->who, view->info.name, (unsigned long long)command->client,
		command->pool);
	return KVCTL_FAILED;
}

static void print(const struct kvctl_view *view, uint32_t clients, uint64_t blocks)
{
	if (!clients)
		printf("pool %s: no dead client is in quarantine\n", view->info.name);
	else
		printf("pool %s: the quarantine of %u client%s ended; %llu block%s held back no "
		       "longer\n", view->info.name, clients, clients == 1 ? "" : "s",
		       (unsigned long long)blocks, blocks == 1 ? " is" : "s are");
}

static int reap(struct kvctl_view *view, const struct command *command)
{
	uint32_t clients;
	uint64_t blocks;

	if (kvp_reap(view->pool, command->client, &clients, &blocks))
		return reap_failed(view, command);
	if (command->json)
		return kvctl_json_write(view->who, json_pack(
			"{s:s, s:o, s:I, s:I}",
			"pool", view->info.name,
			"client", command->all ? json_null() : kvctl_json_u64(command->client),
			"clients", (json_int_t)clients,
			"blocks", (json_int_t)blocks));
	print(view, clients, blocks);
	return kvctl_output_done(view->who);
}

int kvctl_reap(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "POOL", .doc = doc,
	};
	struct command command = { 0 };
	struct kvctl_view view;
	int status;

	if (!kvctl_args(&argp, argc, argv, &command, &status))
		return status;
	status = kvctl_view_open(argv[0], command.pool, true, &view);
	if (status)
		return status;
	status = reap(&view, &command);
	kvctl_view_close(&view);
	return status;
}

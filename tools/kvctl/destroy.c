// SPDX-License-Identifier: MIT
/*
 * kvctl destroy - ends a pool. No state.
 */
#include <errno.h>
#include <string.h>

#include "args.h"
#include "door.h"
#include "json.h"
#include "kvctl.h"
#include "view.h"

enum {
	OPT_FORCE = 256,
	OPT_JSON,
};

struct command {
	char *pool;
	bool force;
	bool json;
};

static const struct argp_option options[] = {
	{ "force", OPT_FORCE, NULL, 0,
	  "Although clients are attached: all their calls on the pool fail with EIO", 0 },
	{ "json", OPT_JSON, NULL, 0, "Print a JSON object", 0 },
	{ 0 },
};

static const char doc[] =
	"Ends a pool. Its name is free at once; what it takes comes back when its last client "
	"has left. Needs the right admin."
	"\vPOOL is a name, see kvpool(7). Where clients are attached, or exports are open, "
	"nothing happens without --force.\n\n"
	"Example:\n"
	"  kvctl destroy POOL";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;

	switch (key) {
	case OPT_FORCE:
		command->force = true;
		return 0;
	case OPT_JSON:
		command->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (strchr(arg, '?')) {
			argp_error(state, "POOL is '%s'; expected a name without keys", arg);
			return EINVAL;
		}
		return kvctl_args_one(state, "POOL", arg, &command->pool);
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no POOL given");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int destroy(const char *who, const struct command *command)
{
	char uri[KVCTL_URI_LEN];
	int status;

	if (!kvctl_pool_uri(command->pool, NULL, uri)) {
		fprintf(stderr, "%s: %.40s...: expected a pool's name of less than %u bytes\n",
			who, command->pool, KVP_NAME_LEN);
		return KVCTL_USAGE;
	}
	if (!kvp_pool_destroy_name(uri, command->force ? KVP_DESTROY_FORCE : 0))
		return KVCTL_OK;
	status = kvctl_pool_failed(who, command->pool);
	if (kvp_error()->reason == KVP_REASON_POOL_IN_USE)
		fprintf(stderr, "%s: `kvctl clients %s' shows who is attached, --force ends it "
			"for them too\n", who, command->pool);
	return status;
}

int kvctl_destroy(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "POOL", .doc = doc,
	};
	struct command command = { 0 };
	const char *name;
	int status;

	if (!kvctl_args(&argp, argc, argv, &command, &status))
		return status;
	status = destroy(argv[0], &command);
	if (status)
		return status;
	name = kvctl_door_skip(command.pool);
	if (command.json)
		return kvctl_json_write(argv[0], json_pack("{s:s, s:b}", "pool", name,
							   "forced", command.force));
	printf("pool %s: destroyed\n", name);
	return kvctl_output_done(argv[0]);
}

// SPDX-License-Identifier: MIT
/*
 * kvctl revoke - ends an export, whatever files are open. No state.
 */
#include <errno.h>
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
	uint64_t export;
	bool json;
};

static const struct argp_option options[] = {
	{ "json", OPT_JSON, NULL, 0, "Print a JSON object", 0 },
	{ 0 },
};

static const char doc[] =
	"Ends an export of a pool: whoever has its file cannot import it any more (ESTALE). What "
	"was imported stays. Needs the right admin."
	"\vPOOL is a URI or a name, see kvpool(7); EXPORT is a number that `kvctl exports' "
	"shows.\n\n"
	"Example:\n"
	"  kvctl revoke POOL 7";

static error_t parse_arg(struct argp_state *state, char *arg, struct command *command)
{
	if (!command->pool) {
		command->pool = arg;
		return 0;
	}
	if (command->export) {
		argp_error(state, "one EXPORT only; '%s' is a second", arg);
		return EINVAL;
	}
	if (kvctl_parse_number(arg, 1, UINT64_MAX, &command->export))
		return 0;
	argp_error(state, "EXPORT is '%s'; expected a number that `kvctl exports' shows", arg);
	return EINVAL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;

	switch (key) {
	case OPT_JSON:
		command->json = true;
		return 0;
	case ARGP_KEY_ARG:
		return parse_arg(state, arg, command);
	case ARGP_KEY_END:
		if (command->export)
			return 0;
		argp_error(state, command->pool ? "no EXPORT given" : "no POOL given");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int revoke(struct kvctl_view *view, const struct command *command)
{
	if (kvp_export_revoke(view->pool, command->export)) {
		fprintf(stderr, "%s: %s: export %llu: %s\n", view->who, view->info.name,
			(unsigned long long)command->export, kvp_error()->text);
		return KVCTL_FAILED;
	}
	if (command->json)
		return kvctl_json_write(view->who,
					json_pack("{s:s, s:o, s:b}", "pool", view->info.name,
						  "export", kvctl_json_u64(command->export),
						  "revoked", 1));
	printf("pool %s: export %llu revoked\n", view->info.name,
	       (unsigned long long)command->export);
	return kvctl_output_done(view->who);
}

int kvctl_revoke(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "POOL EXPORT", .doc = doc,
	};
	struct command command = { 0 };
	struct kvctl_view view;
	int status;

	if (!kvctl_args(&argp, argc, argv, &command, &status))
		return status;
	status = kvctl_view_open(argv[0], command.pool, true, &view);
	if (status)
		return status;
	status = revoke(&view, &command);
	kvctl_view_close(&view);
	return status;
}

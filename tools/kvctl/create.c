// SPDX-License-Identifier: MIT
/*
 * kvctl create - makes a pool. No state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "create_limit.h"
#include "door.h"
#include "json.h"
#include "kvctl.h"
#include "stop.h"
#include "view.h"

enum {
	OPT_BLOCKS = 256,
	OPT_BLOCK_TOKENS,
	OPT_ROW_BYTES,
	OPT_DTYPE,
	OPT_FAMILY,
	OPT_INDEX_TOKENS,
	OPT_NODES,
	OPT_DIGESTS,
	OPT_MODE,
	OPT_LIMIT,
	OPT_STRICT,
	OPT_GRACE,
	OPT_HOLD,
	OPT_JSON,
};

#define MAX_LIMITS	64

/**
 * struct command - what was asked for
 * @pool: its name or URI
 * @query: keys of a URI that the options stand for, "key=value&..."
 * @query_len: its length
 * @nodes: index nodes, 0: not given
 * @extras: digests, 0: not given
 * @mode: permission bits, 0: not given
 * @limits: each --limit
 * @nr_limits: how many
 * @hold: the pool lives while it has clients, of which this is one until a signal
 * @json: print an object
 */
struct command {
	char *pool;
	char query[KVCTL_URI_LEN];
	size_t query_len;
	uint64_t nodes;
	uint64_t extras;
	uint64_t mode;
	struct kvctl_new_limit limits[MAX_LIMITS];
	size_t nr_limits;
	bool hold;
	bool json;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "A pool of one dense family:", 1 },
	{ "blocks", OPT_BLOCKS, "N", 0, "Blocks", 0 },
	{ "block-tokens", OPT_BLOCK_TOKENS, "N", 0, "Tokens of a block (16)", 0 },
	{ "row-bytes", OPT_ROW_BYTES, "N", 0, "Bytes of a row, which is one token's (64)", 0 },
	{ "dtype", OPT_DTYPE, "TYPE", 0, "Type of a row's elements, for people", 0 },
	{ NULL, 0, NULL, 0, "A pool of several families:", 2 },
	{ "family", OPT_FAMILY, "SPEC", 0,
	  "One family, as in a URI: NAME,KIND,BLOCKS,BLOCK_TOKENS,ROW_BYTES[,WINDOW][,DTYPE] "
	  "(KIND dense, window or state); once for each", 0 },
	{ NULL, 0, NULL, 0, "The index:", 3 },
	{ "index-tokens", OPT_INDEX_TOKENS, "N", 0,
	  "Tokens of a node (least common multiple of the families' block tokens)", 0 },
	{ "nodes", OPT_NODES, "N", 0, "Nodes (as many as the blocks can need)", 0 },
	{ "digests", OPT_DIGESTS, "N", 0, "Extra and namespace digests that can be kept", 0 },
	{ NULL, 0, NULL, 0, "Who may do what:", 4 },
	{ "mode", OPT_MODE, "OCTAL", 0,
	  "Permission bits as of a file: r is the right use, w publish (0600)", 0 },
	{ "limit", OPT_LIMIT, "[FAMILY.]WHAT=N", 0,
	  "A limit of each client: slots, seqs, raw, matches, metadata (bytes), exports, "
	  "backings, tickets; blocks and guarantee (blocks left to it) of one family, or without "
	  "FAMILY of each", 0 },
	{ NULL, 0, NULL, 0, "What a dead client's work may touch:", 5 },
	{ "grace", OPT_GRACE, "TIME", 0,
	  "Is in quarantine so long, 1ms to 3600s, then free to use (2s)", 0 },
	{ "strict", OPT_STRICT, NULL, 0, "Is in quarantine until `kvctl reap'", 0 },
	{ NULL, 0, NULL, 0, "How long it lives:", 6 },
	{ "hold", OPT_HOLD, NULL, 0,
	  "Not until it is destroyed, but while it has clients; be one until a signal comes "
	  "(^C), which needs no right to make persistent pools", 0 },
	{ NULL, 0, NULL, 0, "Output:", 7 },
	{ "json", OPT_JSON, NULL, 0, "Print a JSON object", 0 },
	{ 0 },
};

static const char doc[] =
	"Makes a pool, which lives until it is destroyed, and says what it is. It is an error if "
	"there is one of that name. Nobody can open it before its limits are set; if anything is "
	"refused, there is no pool."
	"\vPOOL is a name or a URI, see kvpool(7), whose keys and the options are taken "
	"together; the keys persistent and rights are refused (see --hold). One of them has to "
	"say what to make: blocks or family. A pool inside a process (inproc:NAME) ends with the "
	"process: on the command line this shows what would be made, in `kvctl shell' the lines "
	"that follow can use it.\n\n"
	"Examples:\n"
	"  kvctl create x --blocks 100 --block-tokens 16\n"
	"  kvctl create s --blocks 100 --strict\n"
	"  kvctl create y --family kv,dense,1000,16,1024 --family swa,window,64,16,512,128";

static error_t add_key(struct argp_state *state, const char *key, const char *value)
{
	struct command *command = state->input;
	size_t room = sizeof(command->query) - command->query_len;
	int len;

	if (strpbrk(value, "&?")) {
		argp_error(state, "--%s is '%s'; expected it without '&' and '?'", key, value);
		return EINVAL;
	}
	len = snprintf(command->query + command->query_len, room, "%s%s=%s",
		       command->query_len ? "&" : "", key, value);
	if (len >= (int)room) {
		argp_error(state, "options of more than %zu bytes", sizeof(command->query));
		return EINVAL;
	}
	command->query_len += (size_t)len;
	return 0;
}

static error_t parse_mode(struct argp_state *state, const char *text, uint64_t *mode)
{
	if (*text && strlen(text) <= 4 && strspn(text, "01234567") == strlen(text) &&
	    strtoul(text, NULL, 8) && strtoul(text, NULL, 8) <= 0777) {
		*mode = strtoul(text, NULL, 8);
		return 0;
	}
	argp_error(state, "--mode is '%s'; expected octal digits, 0001..0777", text);
	return EINVAL;
}

/* A number with its unit, ms or s. */
static error_t add_grace(struct argp_state *state, const char *text)
{
	size_t digits = strspn(text, "0123456789");
	bool seconds = !strcmp(text + digits, "s");
	char number[24];
	uint64_t ms = 0;

	if ((seconds || !strcmp(text + digits, "ms")) && digits < sizeof(number)) {
		snprintf(number, sizeof(number), "%.*s", (int)digits, text);
		if (kvctl_parse_number(number, 1, KVP_MAX_GRACE_MS / (seconds ? 1000 : 1), &ms)) {
			snprintf(number, sizeof(number), "%llu",
				 (unsigned long long)ms * (seconds ? 1000 : 1));
			return add_key(state, "grace", number);
		}
	}
	argp_error(state, "--grace is '%s'; expected a time like 500ms or 2s, 1ms to %us", text,
		   KVP_MAX_GRACE_MS / 1000);
	return EINVAL;
}

static error_t add_limit(struct argp_state *state, const char *text)
{
	struct command *command = state->input;

	if (command->nr_limits == MAX_LIMITS) {
		argp_error(state, "more than %u times --limit", MAX_LIMITS);
		return EINVAL;
	}
	if (!kvctl_new_limit_parse(text, &command->limits[command->nr_limits++])) {
		argp_error(state, "--limit is '%s'; expected [FAMILY.]WHAT=N with WHAT one of "
			   "blocks, guarantee (which may have a FAMILY), slots, seqs, raw, "
			   "matches, metadata, exports, backings, tickets", text);
		return EINVAL;
	}
	return 0;
}

/* How long it lives --hold says, and its maker has all rights: no key of the URI is ignored. */
static error_t take_pool(struct argp_state *state, char *text)
{
	struct command *command = state->input;

	if (kvctl_pool_has_key(text, "persistent=")) {
		argp_error(state, "POOL has the key persistent; expected --hold for a pool that "
			   "lives while it has clients, or nothing for one that persists");
		return EINVAL;
	}
	if (kvctl_pool_has_key(text, "rights=")) {
		argp_error(state, "POOL has the key rights, which is of who opens a pool; "
			   "expected none: its maker has all rights, with --hold as long as it "
			   "stays");
		return EINVAL;
	}
	return kvctl_args_one(state, "POOL", text, &command->pool);
}

static error_t check(struct argp_state *state)
{
	const struct command *command = state->input;

	if (command->query_len || strchr(command->pool, '?'))
		return 0;
	argp_error(state, "it is not said what to make; expected --blocks N or --family SPEC, or "
		   "such keys in POOL");
	return EINVAL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;

	switch (key) {
	case OPT_BLOCKS:
		return add_key(state, "blocks", arg);
	case OPT_BLOCK_TOKENS:
		return add_key(state, "block_tokens", arg);
	case OPT_ROW_BYTES:
		return add_key(state, "row_bytes", arg);
	case OPT_DTYPE:
		return add_key(state, "dtype", arg);
	case OPT_FAMILY:
		return add_key(state, "family", arg);
	case OPT_INDEX_TOKENS:
		return add_key(state, "index_tokens", arg);
	case OPT_NODES:
		return kvctl_args_number(state, "nodes", arg, 1, UINT32_MAX, &command->nodes);
	case OPT_DIGESTS:
		return kvctl_args_number(state, "digests", arg, 1, UINT32_MAX,
					 &command->extras);
	case OPT_MODE:
		return parse_mode(state, arg, &command->mode);
	case OPT_LIMIT:
		return add_limit(state, arg);
	case OPT_GRACE:
		return add_grace(state, arg);
	case OPT_STRICT:
		return add_key(state, "strict", "yes");
	case OPT_HOLD:
		command->hold = true;
		return 0;
	case OPT_JSON:
		command->json = true;
		return 0;
	case ARGP_KEY_ARG:
		return take_pool(state, arg);
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no POOL given");
		return EINVAL;
	case ARGP_KEY_END:
		return check(state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- the pool ---- */

/**
 * struct description - what is to be made
 * @config: the pool
 * @families: its families
 * @names: theirs
 */
struct description {
	struct kvp_pool_config config;
	struct kvp_family_config families[KVP_MAX_FAMILIES];
	char names[KVP_MAX_FAMILIES][KVP_FAMILY_NAME_LEN];
};

/* What else there is to say of a pool that could not be made. */
static int make_failed(const char *who, const char *pool)
{
	int status = kvctl_error_status();

	kvctl_print_error(who, pool);
	if (kvp_error()->reason == KVP_REASON_PERSISTENT)
		fprintf(stderr, "%s: --hold makes a pool that lives while it has clients, and is "
			"one until ^C\n", who);
	return status;
}

/* What the URI says, of which @probe was made, and the options. An exit status. */
static int describe_as(const struct kvctl_view *probe, struct command *command,
		       struct description *what)
{
	struct kvp_pool_config *config = &what->config;
	size_t i;

	if (kvp_pool_describe(probe->pool, config, what->families, KVP_MAX_FAMILIES))
		return kvctl_view_failed(probe);
	for (i = 0; i < config->nr_families; i++) {
		snprintf(what->names[i], sizeof(what->names[i]), "%s", what->families[i].name);
		what->families[i].name = what->names[i];
	}
	config->flags &= KVP_POOL_STRICT;
	config->flags |= KVP_POOL_STAGED | (command->hold ? 0 : KVP_POOL_PERSISTENT);
	if (command->mode)
		config->mode = (uint32_t)command->mode;
	if (command->nodes)
		config->nodes = command->nodes;
	if (command->extras)
		config->extras = command->extras;
	for (i = 0; i < command->nr_limits; i++) {
		if (!kvctl_new_limit_family(probe, &command->limits[i]))
			return KVCTL_USAGE;
	}
	return KVCTL_OK;
}

/*
 * A pool as the URI describes it is made once to learn what that is, in this process whatever the
 * door, and under a name of its own; it ends with its only client.
 */
static int describe(const char *who, const char *uri, struct command *command,
		    struct description *what)
{
	char local[KVCTL_URI_LEN + 32];
	struct kvctl_view view;
	struct kvp_pool *probe;
	int status;

	snprintf(local, sizeof(local), "inproc:as-described%s", strchrnul(uri, '?'));
	if (kvp_pool_open(local, &probe))
		return make_failed(who, command->pool);
	if (!kvctl_view_of(who, probe, &view)) {
		kvp_pool_close(probe);
		return KVCTL_FAILED;
	}
	status = describe_as(&view, command, what);
	kvctl_view_close(&view);
	return status;
}

/* Make it, seen by nobody else as yet. */
static int make(const char *who, const char *uri, struct command *command, struct kvp_pool **made)
{
	struct description what;
	char name[KVCTL_URI_LEN];
	int status;

	status = describe(who, uri, command, &what);
	if (status)
		return status;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(uri, "?"), uri);
	return kvp_pool_create(name, &what.config, made) ? make_failed(who, command->pool)
							 : KVCTL_OK;
}

/* Set the limits, and then let others see the pool. */
static int finish(const struct kvctl_view *view, const struct command *command)
{
	int status = KVCTL_OK;
	size_t i;

	for (i = 0; i < command->nr_limits && !status; i++)
		status = kvctl_new_limit_set(view, &command->limits[i]);
	if (!status && kvp_pool_ready(view->pool))
		status = kvctl_view_failed(view);
	return status;
}

/* ---- saying what was made ---- */

static const char *life_words(const struct kvctl_view *view, enum kvp_door_kind door)
{
	if (!(view->info.pool_flags & KVP_POOL_PERSISTENT))
		return "while it has clients";
	return door == KVP_DOOR_INPROC ? "until it is destroyed or this process ends"
				       : "until it is destroyed";
}

static void print(const struct kvctl_view *view, enum kvp_door_kind door)
{
	char label[KVCTL_LABEL_LEN], grace[KVCTL_AGE_LEN];
	uint32_t i;

	printf("pool %s: mode %04o, index nodes of %u tokens, lives %s, grace time %s\n",
	       view->info.name, view->info.mode, view->info.index_tokens,
	       life_words(view, door), kvctl_grace_words(kvctl_grace_ns(&view->info), grace));
	for (i = 0; i < view->info.nr_families; i++) {
		printf("  %s: ", kvctl_family_label(view->families[i], i, label));
		kvctl_family_print(view->families[i], stdout);
		printf("\n");
	}
}

static json_t *create_json(const struct kvctl_view *view)
{
	json_t *families = json_array();
	uint32_t i;

	for (i = 0; i < view->info.nr_families; i++)
		kvctl_json_append(&families, kvctl_family_json(view->families[i], i));
	return json_pack("{s:s, s:I, s:I, s:o, s:b, s:b, s:o, s:i, s:I, s:I, s:o}",
			 "pool", view->info.name,
			 "pool_id", (json_int_t)view->info.pool,
			 "uid", (json_int_t)view->info.uid,
			 "mode", json_sprintf("%04o", view->info.mode),
			 "persistent", !!(view->info.pool_flags & KVP_POOL_PERSISTENT),
			 "strict", !!(view->info.pool_flags & KVP_POOL_STRICT),
			 "grace_ns", kvctl_json_limit(kvctl_grace_ns(&view->info)),
			 "index_tokens", view->info.index_tokens,
			 "nodes", (json_int_t)view->info.nodes,
			 "metadata_bytes", (json_int_t)view->info.metadata_bytes,
			 "families", families);
}

/* Be a client of the pool until a signal. It may be destroyed meanwhile. */
static int hold(const struct kvctl_view *view, const struct kvctl_stop *stop)
{
	struct pollfd fd = { .fd = kvp_pool_fd(view->pool), .events = 0 };
	int signal = 0;

	while (!signal && !fd.revents)
		signal = kvctl_stop_wait(stop, &fd, 1, -1);
	if (signal)
		return KVCTL_OK;
	fprintf(stderr, "%s: pool %s was destroyed\n", view->who, view->info.name);
	return KVCTL_FAILED;
}

/* Make the pool of @uri, say so, and hold it if that is wanted. */
static int create(const char *who, const char *uri, struct command *command,
		  const struct kvctl_stop *stop)
{
	struct kvctl_view view;
	struct kvp_pool *made;
	int status;

	status = make(who, uri, command, &made);
	if (status)
		return status;
	if (!kvctl_view_of(who, made, &view)) {
		kvp_pool_close(made);
		return KVCTL_FAILED;
	}
	status = finish(&view, command);
	if (!status && command->json) {
		status = kvctl_json_write(who, create_json(&view));
	} else if (!status) {
		print(&view, kvctl_door_of(uri));
		status = kvctl_output_done(who);
	}
	if (!status && command->hold)
		status = hold(&view, stop);
	kvctl_view_close(&view);	/* and a pool that is not ready with it */
	return status;
}

int kvctl_create(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "POOL", .doc = doc,
	};
	struct command command = { 0 };
	char uri[KVCTL_URI_LEN];
	struct kvctl_stop stop;
	int status;

	if (!kvctl_args(&argp, argc, argv, &command, &status))
		return status;
	if (!kvctl_pool_uri(command.pool, command.query_len ? command.query : NULL, uri)) {
		fprintf(stderr, "%s: expected a pool's name or URI, options included, of less "
			"than %u bytes\n", argv[0], KVCTL_URI_LEN);
		return KVCTL_USAGE;
	}
	if (!command.hold)
		return create(argv[0], uri, &command, NULL);
	kvctl_stop_begin(&stop);
	status = create(argv[0], uri, &command, &stop);
	kvctl_stop_end(&stop);
	return status;
}

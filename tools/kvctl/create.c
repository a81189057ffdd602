// SPDX-License-Identifier: MIT
/*
 * kvctl create - makes a pool. No state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "json.h"
#include "kvctl.h"
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
 * @limits: arguments of --limit
 * @nr_limits: how many
 * @json: print an object
 */
struct command {
	char *pool;
	char query[KVCTL_URI_LEN];
	size_t query_len;
	uint64_t nodes;
	uint64_t extras;
	uint64_t mode;
	const char *limits[MAX_LIMITS];
	size_t nr_limits;
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
	  "A limit of each client: slots, seqs, raw, matches, metadata (bytes); blocks and "
	  "guarantee (blocks left to it) of one family, or without FAMILY of each", 0 },
	{ NULL, 0, NULL, 0, "Output:", 5 },
	{ "json", OPT_JSON, NULL, 0, "Print a JSON object", 0 },
	{ 0 },
};

static const char doc[] =
	"Makes a pool, which lives until it is destroyed, and says what it is. It is an error if "
	"there is one of that name."
	"\vPOOL is a name, which stands for inproc:NAME, or a URI, whose keys and the options "
	"are taken together. A pool inside a process ends with the process: on "
	"the command line this shows what would be made, in `kvctl shell' the lines that follow "
	"can use it.\n\n"
	"Examples:\n"
	"  kvctl create x --blocks 100 --block-tokens 16\n"
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

static error_t add_limit(struct argp_state *state, const char *text)
{
	struct command *command = state->input;

	if (command->nr_limits == MAX_LIMITS) {
		argp_error(state, "more than %u times --limit", MAX_LIMITS);
		return EINVAL;
	}
	command->limits[command->nr_limits++] = text;
	return 0;
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

/* ---- limits ---- */

static const struct limit_word {
	const char *word;
	uint32_t mask;
	size_t offset;
	bool of_family;
} limit_words[] = {
	{ "blocks", KVP_LIMIT_BLOCKS, offsetof(struct kvp_limit, blocks), true },
	{ "guarantee", KVP_LIMIT_GUARANTEE, offsetof(struct kvp_limit, guarantee), true },
	{ "slots", KVP_LIMIT_SLOTS, offsetof(struct kvp_limit, slots), false },
	{ "seqs", KVP_LIMIT_SEQS, offsetof(struct kvp_limit, seqs), false },
	{ "raw", KVP_LIMIT_RAW, offsetof(struct kvp_limit, raw), false },
	{ "matches", KVP_LIMIT_MATCHES, offsetof(struct kvp_limit, matches), false },
	{ "metadata", KVP_LIMIT_METADATA, offsetof(struct kvp_limit, metadata_bytes), false },
};

static int bad_limit(const char *who, const char *text)
{
	fprintf(stderr, "%s: --limit is '%s'; expected [FAMILY.]WHAT=N with WHAT one of blocks, "
		"guarantee (which may have a FAMILY), slots, seqs, raw, matches, metadata\n",
		who, text);
	return KVCTL_USAGE;
}

/* Set one limit of those who attach from now on. */
static int set_limit(const struct kvctl_view *view, const char *text)
{
	struct kvp_limit limit = { 0 };
	uint32_t first, end, i = 0;
	const struct limit_word *word = NULL;
	char copy[64], *what, *value, *dot;
	uint64_t number;

	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return bad_limit(view->who, text);
	value = strchr(copy, '=');
	if (!value)
		return bad_limit(view->who, text);
	*value++ = '\0';
	dot = strrchr(copy, '.');
	what = dot ? dot + 1 : copy;
	for (i = 0; i < sizeof(limit_words) / sizeof(limit_words[0]); i++) {
		if (!strcmp(limit_words[i].word, what))
			word = &limit_words[i];
	}
	if (!word || (dot && !word->of_family) ||
	    !kvctl_parse_number(value, 0, UINT64_MAX - 1, &number))
		return bad_limit(view->who, text);
	if (dot)
		*dot = '\0';
	if (!kvctl_view_families(view, "--limit's FAMILY", dot ? copy : NULL, &first, &end))
		return KVCTL_USAGE;
	limit.mask = word->mask;
	memcpy((char *)&limit + word->offset, &number, sizeof(number));
	for (i = first; i < (word->of_family ? end : first + 1); i++) {
		limit.family = i;
		if (kvp_pool_limit(view->pool, &limit)) {
			fprintf(stderr, "%s: --limit %s: %s\n", view->who, text,
				kvp_error()->text);
			return KVCTL_FAILED;
		}
	}
	return KVCTL_OK;
}

/* ---- the pool ---- */

/*
 * What the URI says, in @config: the pool that it describes is made once for that, and ends with
 * its only client, @probe.
 */
static int describe(const char *uri, struct kvp_pool **probe, struct kvp_pool_config *config,
		    struct kvp_family_config families[KVP_MAX_FAMILIES])
{
	int err = kvp_pool_open(uri, probe);

	if (err)
		return err;
	err = kvp_pool_describe(*probe, config, families, KVP_MAX_FAMILIES);
	if (err)
		kvp_pool_close(*probe);
	return err;
}

static int make(const char *uri, const struct command *command, struct kvp_pool **result)
{
	struct kvp_family_config families[KVP_MAX_FAMILIES];
	char names[KVP_MAX_FAMILIES][KVP_FAMILY_NAME_LEN];
	struct kvp_pool_config config;
	char name[KVP_NAME_LEN];
	struct kvp_pool *probe;
	size_t i;
	int err;

	err = describe(uri, &probe, &config, families);
	if (err)
		return err;
	snprintf(name, sizeof(name), "%s", kvp_pool_name(probe));
	for (i = 0; i < config.nr_families; i++) {
		snprintf(names[i], sizeof(names[i]), "%s", families[i].name);
		families[i].name = names[i];
	}
	kvp_pool_close(probe);
	config.flags = KVP_POOL_PERSISTENT;
	if (command->mode)
		config.mode = (uint32_t)command->mode;
	if (command->nodes)
		config.nodes = command->nodes;
	if (command->extras)
		config.extras = command->extras;
	return kvp_pool_create(name, &config, result);
}

static int set_limits(const struct kvctl_view *view, const struct command *command)
{
	int status = KVCTL_OK;
	size_t i;

	for (i = 0; i < command->nr_limits && !status; i++)
		status = set_limit(view, command->limits[i]);
	return status;
}

/* ---- saying what was made ---- */

static void print(const struct kvctl_view *view)
{
	char label[KVCTL_LABEL_LEN];
	uint32_t i;

	printf("pool %s: mode %04o, index nodes of %u tokens, lives until it is destroyed\n",
	       view->info.name, view->info.mode, view->info.index_tokens);
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
	return json_pack("{s:s, s:I, s:i, s:o, s:b, s:i, s:I, s:I, s:o}",
			 "pool", view->info.name,
			 "pool_id", (json_int_t)view->info.pool,
			 "uid", view->info.uid,
			 "mode", json_sprintf("%04o", view->info.mode),
			 "persistent", 1,
			 "index_tokens", view->info.index_tokens,
			 "nodes", (json_int_t)view->info.nodes,
			 "metadata_bytes", (json_int_t)view->info.metadata_bytes,
			 "families", families);
}

int kvctl_create(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "POOL", .doc = doc,
	};
	struct command command = { 0 };
	char uri[KVCTL_URI_LEN];
	struct kvctl_view view;
	struct kvp_pool *made;
	int status;

	if (!kvctl_args(&argp, argc, argv, &command, &status))
		return status;
	if (!kvctl_pool_uri(command.pool, command.query_len ? command.query : NULL, uri)) {
		fprintf(stderr, "%s: expected a pool's name or URI, options included, of less "
			"than %u bytes\n", argv[0], KVCTL_URI_LEN);
		return KVCTL_USAGE;
	}
	if (make(uri, &command, &made)) {
		kvctl_print_error(argv[0], command.pool);
		if (kvp_error()->reason == KVP_REASON_NO_POOL)
			fprintf(stderr, "%s: --blocks N or --family SPEC say what to make\n",
				argv[0]);
		return KVCTL_FAILED;
	}
	if (!kvctl_view_of(argv[0], made, &view)) {
		kvp_pool_close(made);
		return KVCTL_FAILED;
	}
	status = set_limits(&view, &command);
	if (status) {
		kvp_pool_destroy(made, 0);
	} else if (command.json) {
		status = kvctl_json_write(argv[0], create_json(&view));
	} else {
		print(&view);
		status = kvctl_output_done(argv[0]);
	}
	kvctl_view_close(&view);
	return status;
}

// SPDX-License-Identifier: MIT
/*
 * kvctl blocks - each block of a pool: whose it is, what is in it, why it is not free. Prints
 * while it reads, so a pool of millions of blocks takes no memory here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "json.h"
#include "kvctl.h"
#include "view.h"

enum {
	OPT_FAMILY = 256,
	OPT_STATE,
	OPT_WHY,
	OPT_CLIENT,
	OPT_LIMIT,
	OPT_LONG,
	OPT_JSON,
};

#define ANY	(-1)

struct command {
	char *pool;
	const char *family;
	uint64_t client;	/* 0: any */
	uint64_t limit;
	int state;
	int why;
	bool full;		/* --long */
	bool json;
};

/**
 * struct listing - a list that is being printed
 * @command: what was asked for
 * @family: the family whose blocks come
 * @read: blocks read
 * @fit: of these, blocks that the filters let through
 * @shown: of these, blocks printed
 * @why: those that fit, by enum kvp_why
 * @run_first: index of the first block of a run of free blocks that is not printed yet
 * @run: its length
 * @failed: there was no memory for JSON
 */
struct listing {
	const struct command *command;
	uint32_t family;
	uint64_t read;
	uint64_t fit;
	uint64_t shown;
	uint64_t why[KVCTL_WHYS];
	uint64_t run_first;
	uint64_t run;
	bool failed;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Which blocks:", 1 },
	{ "family", OPT_FAMILY, "FAMILY", 0, "Those of one family, by number or name", 0 },
	{ "state", OPT_STATE, "STATE", 0,
	  "Those in one state: free, reserved, held, idle, held-back or retired", 0 },
	{ "why", OPT_WHY, "WHY", 0,
	  "Those that are not free for one reason: private, shared, idle, covered, matched, "
	  "reserved, admitted, held-back, quarantine or retired; or free", 0 },
	{ "client", OPT_CLIENT, "ID", 0, "Those charged to one client", 0 },
	{ "limit", OPT_LIMIT, "N", 0, "Show N blocks at most; all are counted", 0 },
	{ NULL, 0, NULL, 0, "How:", 2 },
	{ "long", OPT_LONG, NULL, 0,
	  "Whole ids and digests, and each free block on a line of its own", 0 },
	{ "json", OPT_JSON, NULL, 0, "Print a JSON object", 0 },
	{ 0 },
};

static const char doc[] =
	"Shows the blocks of a pool: state, owner (the client it is charged to), references, age, "
	"identity (namespace, depth and node of the index), the block before it in its prefix, "
	"and why it is not free: of references that wait for fences it is said how many there "
	"are. Runs of free blocks share a line."
	"\vPOOL is a URI or a name, see kvpool(7). AGE is the time since the block "
	"was taken or published. SPACE is the beginning of the namespace digest, DEPTH the "
	"place of its index node in the prefix (1: the first), PARENT the first block of the "
	"node before. Without the right admin the owner, references and age of blocks that "
	"others hold and have not published are shown as '?'.\n\n"
	"The list is not of one moment: blocks may change while it is read.\n\n"
	"Example, what keeps blocks from being reclaimed:\n"
	"  kvctl blocks POOL --why covered --limit 20";

static error_t parse_name(struct argp_state *state, const char *option, const char *text,
			  const char *(*name_of)(uint32_t value), uint32_t nr, int *value)
{
	uint32_t i;

	*value = kvctl_find_name(name_of, nr, text);
	if (*value >= 0)
		return 0;
	fprintf(state->err_stream, "%s: --%s is '%s'; expected one of:", state->name, option,
		text);
	for (i = 0; i < nr; i++)
		fprintf(state->err_stream, "%s %s", i ? "," : "", name_of(i));
	fprintf(state->err_stream, "\n");
	return EINVAL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;

	switch (key) {
	case OPT_FAMILY:
		command->family = arg;
		return 0;
	case OPT_STATE:
		return parse_name(state, "state", arg, kvctl_state_name, KVP_BLOCK_STATES,
				  &command->state);
	case OPT_WHY:
		return parse_name(state, "why", arg, kvctl_why_name, KVCTL_WHYS,
				  &command->why);
	case OPT_CLIENT:
		return kvctl_args_number(state, "client", arg, 1, UINT64_MAX,
					 &command->client);
	case OPT_LIMIT:
		return kvctl_args_number(state, "limit", arg, 1, UINT64_MAX, &command->limit);
	case OPT_LONG:
		command->full = true;
		return 0;
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

static bool fits(const struct command *command, const struct kvp_block_entry *entry)
{
	return (command->state == ANY || entry->state == (uint32_t)command->state) &&
	       (command->why == ANY || entry->why == (uint32_t)command->why) &&
	       (!command->client || entry->client == command->client);
}

/* Count the block; whether it is to be shown. */
static bool take(struct listing *listing, const struct kvp_block_entry *entry)
{
	listing->read++;
	if (!fits(listing->command, entry))
		return false;
	listing->fit++;
	if (entry->why < KVCTL_WHYS)
		listing->why[entry->why]++;
	if (listing->shown == listing->command->limit)
		return false;
	listing->shown++;
	return true;
}

/* ---- text ---- */

/* A number, or @none where there is none. */
static void print_column(int width, bool is, uint64_t value, const char *none)
{
	if (is)
		printf(" %*llu", width, (unsigned long long)value);
	else
		printf(" %*s", width, none);
}

static void print_space(const struct command *command, const struct kvp_block_entry *entry)
{
	int bytes = command->full ? KVP_DIGEST_LEN : 4;
	int i;

	printf("  ");
	if (entry->node == KVP_NODE_NONE) {
		printf("%-*s", 2 * bytes, "-");
		return;
	}
	for (i = 0; i < bytes; i++)
		printf("%02x", entry->space[i]);
}

static void print_head(const struct command *command)
{
	int id = command->full ? 16 : 8, space = command->full ? 64 : 8;

	printf("%*s  %-9s %6s %5s %6s  %-*s %6s %8s %*s  %s\n", id, "BLOCK", "STATE", "OWNER",
	       "COUNT", "AGE", space, "SPACE", "DEPTH", "NODE", id, "PARENT", "WHY");
}

static void print_run(struct listing *listing)
{
	if (listing->run == 1)
		printf("%8llu  free\n", (unsigned long long)listing->run_first);
	else if (listing->run)
		printf("%8llu  free      up to block %llu: %llu blocks\n",
		       (unsigned long long)listing->run_first,
		       (unsigned long long)(listing->run_first + listing->run - 1),
		       (unsigned long long)listing->run);
	listing->run = 0;
}

static void print_why(const struct kvp_block_entry *entry)
{
	printf("  %s", kvctl_why_words(entry->why));
	if (entry->why == KVP_WHY_QUARANTINE && entry->client)
		printf(": client %llu", (unsigned long long)entry->client);
	if (entry->held_back && entry->state != KVP_BLOCK_HELD_BACK)
		printf("; %u of %u held back", entry->held_back, entry->count);
	printf("%s\n", entry->flags & KVP_ENTRY_INVALIDATED ? " (invalidated)" : "");
}

static bool print_block(void *arg, const struct kvp_block_entry *entry)
{
	struct listing *listing = arg;
	const struct command *command = listing->command;
	uint64_t index = KVP_BLOCK_INDEX(entry->block);
	bool hidden = kvctl_entry_hidden(entry);
	bool named = entry->node != KVP_NODE_NONE;
	char age[KVCTL_AGE_LEN];

	if (!take(listing, entry))
		return true;
	if (entry->state == KVP_BLOCK_FREE && !command->full) {
		if (listing->run && listing->run_first + listing->run != index)
			print_run(listing);
		if (!listing->run++)
			listing->run_first = index;
		return true;
	}
	print_run(listing);
	if (command->full)
		printf("%016llx", (unsigned long long)entry->block);
	else
		printf("%8llu", (unsigned long long)index);
	printf("  %-9s", kvctl_state_name(entry->state));
	print_column(6, entry->client, entry->client, hidden ? "?" : "-");
	print_column(5, !hidden, entry->count, "?");
	printf(" %6s", hidden ? "?" : kvctl_age_words(entry->age_ns, age));
	print_space(command, entry);
	print_column(6, named, entry->depth, "-");
	print_column(8, named, entry->node, "-");
	if (command->full && entry->parent)
		printf(" %016llx", (unsigned long long)entry->parent);
	else
		print_column(command->full ? 16 : 8, entry->parent,
			     KVP_BLOCK_INDEX(entry->parent), "-");
	print_why(entry);
	return true;
}

static void print_summary(const struct listing *listing)
{
	const char *separator = ": ";
	uint32_t i;

	printf("%llu of %llu blocks", (unsigned long long)listing->fit,
	       (unsigned long long)listing->read);
	for (i = 0; i < KVCTL_WHYS; i++) {
		if (!listing->why[i])
			continue;
		printf("%s%llu %s", separator, (unsigned long long)listing->why[i],
		       kvctl_why_name(i));
		separator = ", ";
	}
	if (listing->shown < listing->fit)
		printf("; the first %llu are shown", (unsigned long long)listing->shown);
	printf("\n");
}

static int list_text(struct kvctl_view *view, struct listing *listing, uint32_t first,
		     uint32_t end)
{
	char label[KVCTL_LABEL_LEN];
	uint32_t i;
	int err;

	for (i = first; i < end; i++) {
		listing->family = i;
		printf("%s: ", kvctl_family_label(view->families[i], i, label));
		kvctl_family_print(view->families[i], stdout);
		printf("\n");
		print_head(listing->command);
		err = kvctl_view_each_block(view, i, print_block, listing);
		print_run(listing);
		printf("\n");
		if (err)
			return kvctl_view_failed(view);
	}
	print_summary(listing);
	return kvctl_output_done(view->who);
}

/* ---- JSON ---- */

static json_t *id_json(bool is, uint64_t value)
{
	return is ? kvctl_json_u64(value) : json_null();
}

static json_t *block_json(const struct listing *listing, const struct kvp_block_entry *entry)
{
	bool hidden = kvctl_entry_hidden(entry);
	bool named = entry->node != KVP_NODE_NONE;

	return json_pack("{s:i, s:i, s:I, s:o, s:s, s:s, s:o, s:o,"
			 " s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}",
			 "family", listing->family,
			 "index", KVP_BLOCK_INDEX(entry->block),
			 "generation", (json_int_t)KVP_BLOCK_GEN(entry->block),
			 "id", kvctl_json_block(entry->block),
			 "state", kvctl_state_name(entry->state),
			 "why", kvctl_why_name(entry->why),
			 "client", id_json(entry->client, entry->client),
			 "count", id_json(!hidden, entry->count),
			 "held_back", id_json(!hidden, entry->held_back),
			 "age_ns", id_json(entry->age_ns, entry->age_ns),
			 "space", named ? kvctl_json_digest(entry->space) : json_null(),
			 "depth", id_json(named, entry->depth),
			 "node", id_json(named, entry->node),
			 "part", id_json(named, entry->part),
			 "invalidated", !!(entry->flags & KVP_ENTRY_INVALIDATED),
			 "tag", id_json(named && entry->tag, entry->tag),
			 "parent", kvctl_json_block(entry->parent));
}

static bool write_block(void *arg, const struct kvp_block_entry *entry)
{
	struct listing *listing = arg;
	json_t *object;

	if (!take(listing, entry))
		return true;
	object = block_json(listing, entry);
	if (!object) {
		listing->failed = true;
		return false;
	}
	fputs(listing->shown > 1 ? ",\n    " : "\n    ", stdout);
	json_dumpf(object, stdout, KVCTL_JSON_FLAGS);
	json_decref(object);
	return true;
}

static json_t *summary_json(const struct kvctl_view *view, const struct listing *listing)
{
	json_t *why = json_object();
	uint32_t i;

	for (i = 0; i < KVCTL_WHYS; i++)
		kvctl_json_set(&why, kvctl_why_name(i), kvctl_json_u64(listing->why[i]));
	return json_pack("{s:I, s:I, s:I, s:o, s:b}",
			 "total", (json_int_t)listing->read,
			 "selected", (json_int_t)listing->fit,
			 "shown", (json_int_t)listing->shown,
			 "selected_by_why", why,
			 "all_visible", view->admin);
}

/* One block a line, written as it is read; the members that follow come from an object. */
static int list_json(struct kvctl_view *view, struct listing *listing, uint32_t first,
		     uint32_t end)
{
	json_t *summary;
	char *rest;
	uint32_t i;

	printf("{\n  \"pool\": \"%s\",\n  \"blocks\": [", view->info.name);
	for (i = first; i < end && !listing->failed; i++) {
		listing->family = i;
		if (kvctl_view_each_block(view, i, write_block, listing))
			return kvctl_view_failed(view);
	}
	summary = listing->failed ? NULL : summary_json(view, listing);
	rest = summary ? json_dumps(summary, JSON_INDENT(2) | KVCTL_JSON_FLAGS) : NULL;
	json_decref(summary);
	if (!rest)
		return kvctl_json_write(view->who, NULL);
	printf("%s],%s\n", listing->shown ? "\n  " : "", rest + 1);
	free(rest);
	return kvctl_output_done(view->who);
}

int kvctl_blocks(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "POOL", .doc = doc,
	};
	struct command command = { .limit = UINT64_MAX, .state = ANY, .why = ANY };
	struct listing listing = { .command = &command };
	uint32_t first, end;
	struct kvctl_view view;
	int status;

	if (!kvctl_args(&argp, argc, argv, &command, &status))
		return status;
	status = kvctl_view_open(argv[0], command.pool, true, &view);
	if (status)
		return status;
	if (!kvctl_view_families(&view, "--family", command.family, &first, &end))
		status = KVCTL_USAGE;
	else if (command.json)
		status = list_json(&view, &listing, first, end);
	else
		status = list_text(&view, &listing, first, end);
	kvctl_view_close(&view);
	return status;
}

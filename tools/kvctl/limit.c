// SPDX-License-Identifier: MIT
/*
 * kvctl limit - sets what a client or a user may have. The call that sets is one: all of it, or
 * nothing. limit_show.c tells what there is.
 */
#include <errno.h>
#include <string.h>

#include "args.h"
#include "client_list.h"
#include "json.h"
#include "kvctl.h"
#include "limit.h"

enum {
	OPT_CLIENT = 256,
	OPT_UID,
	OPT_NEW_CLIENTS,
	OPT_ANY_UID,
	OPT_FAMILY,
	OPT_JSON,
	OPT_FIRST,		/* kvctl_limit_words[0], the others follow */
};

/**
 * struct command - what was asked for
 * @pool: its name or URI
 * @who: whom it is about
 * @limit: what to set, but for the family; mask 0: show
 * @family: --family
 * @json: print an object
 */
struct command {
	char *pool;
	struct kvctl_limited who;
	struct kvp_limit limit;
	char *family;
	bool json;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Who, one of:", 1 },
	{ "client", OPT_CLIENT, "ID", 0, "A client that `kvctl clients' shows", 0 },
	{ "uid", OPT_UID, "UID", 0, "All clients of a user together", 0 },
	{ "new-clients", OPT_NEW_CLIENTS, NULL, 0, "Each client that attaches from now on", 0 },
	{ "any-uid", OPT_ANY_UID, NULL, 0, "Each user that has no limits of its own", 0 },
	{ NULL, 0, NULL, 0, "What to set; N is a number, or none:", 2 },
	{ "family", OPT_FAMILY, "FAMILY", 0,
	  "Family of --blocks and --guarantee, by number or name; needed where a pool has "
	  "several", 0 },
	{ "blocks", OPT_FIRST, "N", 0, "Blocks charged", 0 },
	{ "guarantee", OPT_FIRST + 1, "NUMBER", 0,
	  "Blocks that others' allocations leave to it; not of a user", 0 },
	{ "slots", OPT_FIRST + 2, "N", 0, "Slots in the tables of its sequences", 0 },
	{ "seqs", OPT_FIRST + 3, "N", 0, "Sequences", 0 },
	{ "raw", OPT_FIRST + 4, "N", 0, "Raw references", 0 },
	{ "matches", OPT_FIRST + 5, "N", 0, "Open matches", 0 },
	{ "metadata", OPT_FIRST + 6, "N", 0, "Bytes of metadata", 0 },
	{ "exports", OPT_FIRST + 7, "N", 0, "Open exports", 0 },
	{ "backings", OPT_FIRST + 8, "N", 0, "Backing descriptors added", 0 },
	{ "tickets", OPT_FIRST + 9, "N", 0, "Open tickets", 0 },
	{ NULL, 0, NULL, 0, "Output:", 3 },
	{ "json", OPT_JSON, NULL, 0, "Print a JSON object", 0 },
	{ 0 },
};

static const char doc[] =
	"Sets limits of a client, of new clients, of a user (all clients of a uid together), or of "
	"each user without limits of its own; what is not named stays. With nothing to set it "
	"shows what a client or user, or without one of them each, has, and its limits of "
	"blocks."
	"\vPOOL is a URI or a name, see kvpool(7). Setting needs the right admin. A limit below "
	"what there is now takes nothing away. The pool tells the limits of blocks and the "
	"guarantees of clients and users that are there; other limits it keeps, but tells "
	"nobody.\n\n"
	"Examples:\n"
	"  kvctl limit POOL --uid 1000 --blocks 500 --exports none\n"
	"  kvctl limit POOL --client 3";

/* ---- the command line ---- */

static error_t set_who(struct argp_state *state, enum kvctl_limited_kind kind, uint64_t id)
{
	struct command *command = state->input;

	if (command->who.kind) {
		argp_error(state, "--%s and --%s exclude each other; expected one of --client, "
			   "--uid, --new-clients, --any-uid", kvctl_limited_name(command->who.kind),
			   kvctl_limited_name(kind));
		return EINVAL;
	}
	command->who.kind = kind;
	command->who.id = id;
	return 0;
}

static error_t parse_who(struct argp_state *state, enum kvctl_limited_kind kind,
			 const char *text, uint64_t min, uint64_t max)
{
	uint64_t id = 0;
	error_t err = kvctl_args_number(state, kvctl_limited_name(kind), text, min, max, &id);

	return err ? err : set_who(state, kind, id);
}

static error_t parse_limit(struct argp_state *state, const struct kvctl_limit_word *word,
			   const char *text)
{
	struct command *command = state->input;
	bool number_only = word->mask == KVP_LIMIT_GUARANTEE;
	uint64_t value = KVP_UNLIMITED;

	if (command->limit.mask & word->mask) {
		argp_error(state, "--%s is there twice; expected it once", word->word);
		return EINVAL;
	}
	if ((number_only || strcmp(text, "none")) &&
	    !kvctl_parse_number(text, 0, UINT64_MAX - 1, &value)) {
		argp_error(state, "--%s is '%s'; expected a whole number%s", word->word, text,
			   number_only ? "" : ", or none");
		return EINVAL;
	}
	command->limit.mask |= word->mask;
	memcpy((char *)&command->limit + word->offset, &value, sizeof(value));
	return 0;
}

/* What the options say together; NULL: all is well. */
static const char *complaint(const struct command *command)
{
	bool of_uid = command->who.kind == KVCTL_OF_UID || command->who.kind == KVCTL_OF_ANY_UID;
	bool told = command->who.kind == KVCTL_OF_CLIENT || command->who.kind == KVCTL_OF_UID;
	uint32_t mask = command->limit.mask;

	if (!command->pool)
		return "no POOL given";
	if (mask && !command->who.kind)
		return "nobody to limit; expected --client, --uid, --new-clients or --any-uid";
	if (!mask && command->who.kind && !told)
		return "nothing to set; limits of --new-clients and --any-uid can be set, the "
		       "pool does not tell them";
	if (of_uid && (mask & KVP_LIMIT_GUARANTEE))
		return "--guarantee is of clients; expected --client or --new-clients";
	if (command->family && !(mask & (KVP_LIMIT_BLOCKS | KVP_LIMIT_GUARANTEE)))
		return "--family needs --blocks or --guarantee";
	return NULL;
}

static error_t check(struct argp_state *state)
{
	const char *what = complaint(state->input);

	if (!what)
		return 0;
	argp_error(state, "%s", what);
	return EINVAL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;

	if (key >= OPT_FIRST && key < OPT_FIRST + KVCTL_LIMIT_WORDS)
		return parse_limit(state, &kvctl_limit_words[key - OPT_FIRST], arg);
	switch (key) {
	case OPT_CLIENT:
		return parse_who(state, KVCTL_OF_CLIENT, arg, 1, INT64_MAX);
	case OPT_UID:
		return parse_who(state, KVCTL_OF_UID, arg, 0, UINT32_MAX - 1);
	case OPT_NEW_CLIENTS:
		return set_who(state, KVCTL_OF_NEW_CLIENTS, 0);
	case OPT_ANY_UID:
		return set_who(state, KVCTL_OF_ANY_UID, KVP_UID_ANY);
	case OPT_FAMILY:
		return kvctl_args_one(state, "--family", arg, &command->family);
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

/* ---- setting ---- */

/* The family of what is to be set, into @limit. */
static bool take_family(const struct kvctl_view *view, const struct command *command,
			struct kvp_limit *limit)
{
	const char *text = command->family;
	uint32_t end;

	if (!(limit->mask & (KVP_LIMIT_BLOCKS | KVP_LIMIT_GUARANTEE)))
		return true;
	if (!text && view->info.nr_families > 1)
		return kvctl_view_families(view, "--family, which --blocks and --guarantee need,",
					   "", &limit->family, &end);
	return kvctl_view_families(view, "--family", text, &limit->family, &end);
}

static int set_failed(const struct kvctl_view *view, const struct kvp_limit *limit)
{
	char label[KVCTL_LABEL_LEN];

	kvctl_view_failed(view);
	if (kvp_error()->reason == KVP_REASON_NEVER_FITS)
		fprintf(stderr, "%s: of %s at most %llu blocks can be guaranteed to it\n", view->who,
			kvctl_family_label(view->families[limit->family], limit->family, label),
			(unsigned long long)limit->guarantee);
	return KVCTL_FAILED;
}

static void print_set(const struct kvctl_view *view, const struct command *command,
		      const struct kvp_limit *limit)
{
	char label[KVCTL_LABEL_LEN], who[KVCTL_LIMITED_LEN];
	const char *separator = ": ";
	uint64_t value;
	size_t i;

	printf("pool %s, %s", view->info.name, kvctl_limited_words(&command->who, who));
	for (i = 0; i < KVCTL_LIMIT_WORDS; i++) {
		if (!(limit->mask & kvctl_limit_words[i].mask))
			continue;
		memcpy(&value, (const char *)limit + kvctl_limit_words[i].offset, sizeof(value));
		printf("%s%s", separator, kvctl_limit_words[i].words);
		if (kvctl_limit_words[i].of_family)
			printf(" of %s", kvctl_family_label(view->families[limit->family],
							    limit->family, label));
		if (value == KVP_UNLIMITED)
			printf(" without limit");
		else
			printf(" %llu", (unsigned long long)value);
		separator = ", ";
	}
	printf("\n");
}

static json_t *set_json(const struct kvctl_view *view, const struct command *command,
			const struct kvp_limit *limit)
{
	bool of_family = limit->mask & (KVP_LIMIT_BLOCKS | KVP_LIMIT_GUARANTEE);
	enum kvctl_limited_kind kind = command->who.kind;
	json_t *set = json_object();
	uint64_t value;
	size_t i;

	for (i = 0; i < KVCTL_LIMIT_WORDS; i++) {
		if (!(limit->mask & kvctl_limit_words[i].mask))
			continue;
		memcpy(&value, (const char *)limit + kvctl_limit_words[i].offset, sizeof(value));
		kvctl_json_set(&set, kvctl_limit_words[i].word, kvctl_json_limit(value));
	}
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}",
			 "pool", view->info.name,
			 "of", kvctl_limited_name(kind),
			 "client", kind == KVCTL_OF_CLIENT ? kvctl_json_u64(command->who.id)
							   : json_null(),
			 "uid", kind == KVCTL_OF_UID ? kvctl_json_u64(command->who.id)
						     : json_null(),
			 "family", of_family ? json_integer(limit->family) : json_null(),
			 "set", set);
}

static int set(struct kvctl_view *view, const struct command *command)
{
	struct kvp_limit limit = command->limit;

	if (!take_family(view, command, &limit))
		return KVCTL_USAGE;
	limit.client = command->who.id;
	if (command->who.kind == KVCTL_OF_UID || command->who.kind == KVCTL_OF_ANY_UID)
		limit.head.flags = KVP_LIMIT_OF_UID;
	if (kvp_pool_call(view->pool, KVP_OP_LIMIT, &limit, sizeof(limit)))
		return set_failed(view, &limit);
	if (command->json)
		return kvctl_json_write(view->who, set_json(view, command, &limit));
	print_set(view, command, &limit);
	return kvctl_output_done(view->who);
}

/* An export is listed among the clients, but nothing of it is charged or limited by itself. */
static int refuse_export(struct kvctl_view *view, uint64_t id)
{
	struct kvctl_clients clients;
	int status = KVCTL_OK;
	uint32_t i;

	if (kvctl_clients_read(view, &clients))
		return kvctl_view_failed(view);
	for (i = 0; i < clients.nr; i++) {
		if (clients.at[i].entry.client != id || !kvctl_is_export(&clients.at[i]))
			continue;
		fprintf(stderr, "%s: %s: client %llu is an export, made with the limits of client "
			"%llu; expected a client that is none\n", view->who, view->info.name,
			(unsigned long long)id,
			(unsigned long long)clients.at[i].entry.maker);
		status = KVCTL_FAILED;
	}
	kvctl_clients_free(&clients);
	return status;
}

int kvctl_limit(int argc, char **argv)
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
	if (command.who.kind == KVCTL_OF_CLIENT)
		status = refuse_export(&view, command.who.id);
	if (!status && command.limit.mask)
		status = set(&view, &command);
	else if (!status)
		status = kvctl_limit_show(&view, &command.who, command.json);
	kvctl_view_close(&view);
	return status;
}

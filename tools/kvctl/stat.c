// SPDX-License-Identifier: MIT
/*
 * kvctl stat - what a pool is, has and counted.
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
	OPT_UID,
};

/**
 * struct command - what was asked for
 * @pool: its name or URI
 * @uid: only what this user has, with @of_uid
 * @of_uid: --uid
 * @json: print an object
 */
struct command {
	char *pool;
	uint64_t uid;
	bool of_uid;
	bool json;
};

/**
 * struct look - what was read of a pool
 * @stats: counters
 * @families: of each family
 * @why: blocks of each family by enum kvp_why
 */
struct look {
	struct kvp_stats stats;
	struct kvp_family_stats families[KVP_MAX_FAMILIES];
	uint64_t why[KVP_MAX_FAMILIES][KVCTL_WHYS];
};

static const struct argp_option options[] = {
	{ "uid", OPT_UID, "UID", 0, "Only what the clients of a user have together", 0 },
	{ "json", OPT_JSON, NULL, 0, "Print a JSON object", 0 },
	{ 0 },
};

static const char doc[] =
	"Shows what a pool is, what is in it and what it has counted: its families, their "
	"blocks by state, what waits for fences and for blocks, hits, reclaims, refusals, bytes "
	"of metadata a block, clients."
	"\vPOOL is a URI or a name, see kvpool(7). A pool inside a process lives "
	"only as long as the process: on the command line a URI that describes a pool makes "
	"one, shows it, and it ends; in `kvctl shell' the pools of the lines before are shown. "
	"The client that looks is not counted. Blocks that are idle but covered or matched, or "
	"held back in quarantine, are counted by looking at each block, and may be of a later "
	"moment than the other numbers.\n\n"
	"Example:\n"
	"  kvctl stat 'inproc:x?blocks=100&block_tokens=16'";

static const struct kvctl_field object_fields[] = {
	{ "seqs", "sequences", offsetof(struct kvp_stats, seqs) },
	{ "slots", "slots in their tables", offsetof(struct kvp_stats, slots) },
	{ "raw", "raw references", offsetof(struct kvp_stats, raw) },
	{ "matches", "open matches", offsetof(struct kvp_stats, matches) },
	{ "exports", "open exports", offsetof(struct kvp_stats, exports) },
	{ "backings", "backing descriptors", offsetof(struct kvp_stats, backings) },
	{ "zombies", "zombies: freed, a fence is open", offsetof(struct kvp_stats, zombies) },
	{ "uses", "open uses", offsetof(struct kvp_stats, uses) },
	{ "tickets", "open tickets", offsetof(struct kvp_stats, tickets) },
};

/* Of the pool only. */
static const struct kvctl_field waiting_fields[] = {
	{ "tickets_waiting", "of the tickets: waiting",
	  offsetof(struct kvp_stats, tickets_waiting) },
	{ "quarantined", "dead clients in quarantine",
	  offsetof(struct kvp_stats, quarantined) },
};

static const struct kvctl_field index_fields[] = {
	{ "nodes", "nodes", offsetof(struct kvp_stats, nodes) },
	{ "nodes_used", "in use", offsetof(struct kvp_stats, nodes_used) },
	{ "nodes_published", "published", offsetof(struct kvp_stats, nodes_published) },
	{ "namespaces", "namespaces", offsetof(struct kvp_stats, namespaces) },
	{ "digests_used", "digests in use", offsetof(struct kvp_stats, extras_used) },
	{ "digests", "digests", offsetof(struct kvp_stats, extras) },
};

static const struct kvctl_field counter_fields[] = {
	{ "looked_up_nodes", "nodes looked up", offsetof(struct kvp_stats, looked_up_nodes) },
	{ "matched_nodes", "nodes found", offsetof(struct kvp_stats, matched_nodes) },
	{ "published_nodes", "nodes published", offsetof(struct kvp_stats, published_nodes) },
	{ "shared_nodes", "nodes published by somebody before",
	  offsetof(struct kvp_stats, shared_nodes) },
	{ "reclaimed_nodes", "nodes reclaimed", offsetof(struct kvp_stats, reclaimed_nodes) },
	{ "reclaimed_blocks", "blocks reclaimed",
	  offsetof(struct kvp_stats, reclaimed_blocks) },
	{ "invalidated", "subtrees invalidated", offsetof(struct kvp_stats, invalidated) },
	{ "copies", "copies before a write", offsetof(struct kvp_stats, copies) },
	{ "refused_room", "calls refused for lack of room",
	  offsetof(struct kvp_stats, refused_room) },
	{ "refused_limit", "calls refused by a limit",
	  offsetof(struct kvp_stats, refused_limit) },
	{ "tickets_granted", "tickets granted", offsetof(struct kvp_stats, tickets_granted) },
	{ "scans", "timelines read for who waited", offsetof(struct kvp_stats, scans) },
	{ "backwards", "timeline values ignored: backwards",
	  offsetof(struct kvp_stats, backwards) },
	{ "jumps", "timeline values ignored: jumps", offsetof(struct kvp_stats, jumps) },
	{ "underflow_rejected", "drops of references not held",
	  offsetof(struct kvp_stats, underflow_rejected) },
	{ "collisions", "hash collisions refused", offsetof(struct kvp_stats, collisions) },
};

static const struct kvctl_field family_fields[] = {
	{ "published", "published", offsetof(struct kvp_family_stats, published) },
	{ "charged", "charged", offsetof(struct kvp_family_stats, charged) },
	{ "guaranteed", "guaranteed", offsetof(struct kvp_family_stats, guaranteed) },
	{ "unmet", "unmet", offsetof(struct kvp_family_stats, unmet) },
	{ "reserve", "reserve of admissions", offsetof(struct kvp_family_stats, reserve) },
};

#define NR(fields)	(sizeof(fields) / sizeof((fields)[0]))

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;

	switch (key) {
	case OPT_UID:
		command->of_uid = true;
		return kvctl_args_number(state, "uid", arg, 0, UINT32_MAX - 1, &command->uid);
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

static bool count_why(void *arg, const struct kvp_block_entry *entry)
{
	uint64_t *why = arg;

	if (entry->why < KVCTL_WHYS)
		why[entry->why]++;
	return true;
}

static int look_at(struct kvctl_view *view, struct look *look)
{
	uint32_t i;
	int err;

	memset(look, 0, sizeof(*look));
	err = kvp_pool_stats(view->pool, 0, &look->stats, look->families,
			     view->info.nr_families);
	for (i = 0; !err && i < view->info.nr_families; i++)
		err = kvctl_view_each_block(view, i, count_why, look->why[i]);
	return err;
}

static uint64_t all_blocks(const struct kvctl_view *view)
{
	uint64_t blocks = 0;
	uint32_t i;

	for (i = 0; i < view->info.nr_families; i++)
		blocks += view->families[i]->blocks;
	return blocks;
}

/* ---- text ---- */

static void print_fields(const struct kvctl_field *fields, size_t nr, const void *base)
{
	char number[KVCTL_GROUPED_LEN];
	size_t i;

	for (i = 0; i < nr; i++)
		printf("  %-36s %14s\n", fields[i].words,
		       kvctl_grouped(kvctl_field_value(&fields[i], base), number));
}

static void print_family(const struct kvctl_view *view, const struct look *look, uint32_t family)
{
	const struct kvp_family_stats *stats = &look->families[family];
	char label[KVCTL_LABEL_LEN], number[KVCTL_GROUPED_LEN];
	uint32_t i;

	printf("\n%s: ", kvctl_family_label(view->families[family], family, label));
	kvctl_family_print(view->families[family], stdout);
	printf("\n");
	for (i = 0; i < KVP_BLOCK_STATES; i++)
		printf("  %-36s %14s\n", kvctl_state_name(i),
		       kvctl_grouped(stats->state[i], number));
	printf("  %-36s %14s\n", "of the idle: covered",
	       kvctl_grouped(look->why[family][KVP_WHY_COVERED], number));
	printf("  %-36s %14s\n", "of the idle: matched",
	       kvctl_grouped(look->why[family][KVP_WHY_MATCHED], number));
	printf("  %-36s %14s\n", "of the held-back: in quarantine",
	       kvctl_grouped(look->why[family][KVP_WHY_QUARANTINE], number));
	print_fields(family_fields, NR(family_fields), stats);
}

static void print_hit_rate(const struct kvp_stats *stats)
{
	if (stats->looked_up_nodes)
		printf("  %-36s %13.1f%%\n", "hit rate",
		       100.0 * (double)stats->matched_nodes / (double)stats->looked_up_nodes);
	else
		printf("  %-36s %14s\n", "hit rate", "-");
}

static void print(const struct kvctl_view *view, const struct look *look)
{
	const struct kvp_pool_info *info = &view->info;
	char number[KVCTL_GROUPED_LEN], grace[KVCTL_AGE_LEN];
	uint32_t i;

	printf("pool %s: of uid %u, mode %04o, %s%s\n", info->name, info->uid, info->mode,
	       info->pool_flags & KVP_POOL_PERSISTENT ? "lives until it is destroyed"
						      : "lives while it has clients",
	       info->pool_flags & KVP_POOL_STRICT ? ", strict" : "");
	printf("  %-36s %14s\n", "grace time",
	       kvctl_grace_words(kvctl_grace_ns(info), grace));
	printf("  %-36s %14u\n", "clients", info->nr_clients);
	print_fields(object_fields, NR(object_fields), &look->stats);
	print_fields(waiting_fields, NR(waiting_fields), &look->stats);
	printf("  %-36s %14s\n", "bytes of metadata",
	       kvctl_grouped(look->stats.metadata_bytes, number));
	printf("  %-36s %14.1f\n", "bytes of metadata a block",
	       (double)look->stats.metadata_bytes / (double)all_blocks(view));
	for (i = 0; i < info->nr_families; i++)
		print_family(view, look, i);
	printf("\nindex: nodes of %u tokens, reclaimed least recently used first\n",
	       info->index_tokens);
	print_fields(index_fields, NR(index_fields), &look->stats);
	printf("\nsince the pool was made\n");
	print_hit_rate(&look->stats);
	print_fields(counter_fields, NR(counter_fields), &look->stats);
}

/* ---- JSON ---- */

static json_t *family_json(const struct kvctl_view *view, const struct look *look,
			   uint32_t family)
{
	const struct kvp_family_stats *stats = &look->families[family];
	json_t *object = kvctl_family_json(view->families[family], family);
	const __u64 *state = stats->state;
	json_t *counts;

	counts = json_pack("{s:{s:I, s:I, s:I, s:I, s:I, s:I}, s:I, s:I, s:I}",
			   "states",
			   "free", (json_int_t)state[KVP_BLOCK_FREE],
			   "reserved", (json_int_t)state[KVP_BLOCK_RESERVED],
			   "held", (json_int_t)state[KVP_BLOCK_HELD],
			   "idle", (json_int_t)state[KVP_BLOCK_IDLE],
			   "held-back", (json_int_t)state[KVP_BLOCK_HELD_BACK],
			   "retired", (json_int_t)state[KVP_BLOCK_RETIRED],
			   "covered", (json_int_t)look->why[family][KVP_WHY_COVERED],
			   "matched", (json_int_t)look->why[family][KVP_WHY_MATCHED],
			   "quarantine", (json_int_t)look->why[family][KVP_WHY_QUARANTINE]);
	if (json_object_update_new(object, counts) ||
	    json_object_update_new(object, kvctl_json_fields(family_fields, NR(family_fields),
							     stats))) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *families_json(const struct kvctl_view *view, const struct look *look)
{
	json_t *array = json_array();
	uint32_t i;

	for (i = 0; i < view->info.nr_families; i++)
		kvctl_json_append(&array, family_json(view, look, i));
	return array;
}

static json_t *objects_json(const struct kvp_stats *stats)
{
	json_t *objects = kvctl_json_fields(object_fields, NR(object_fields), stats);

	if (json_object_update_new(objects, kvctl_json_fields(waiting_fields,
							      NR(waiting_fields), stats))) {
		json_decref(objects);
		return NULL;
	}
	return objects;
}

static json_t *stat_json(const struct kvctl_view *view, const struct look *look)
{
	const struct kvp_pool_info *info = &view->info;
	const struct kvp_stats *stats = &look->stats;

	return json_pack("{s:s, s:I, s:I, s:o, s:b, s:b, s:o, s:s, s:i, s:o, s:I, s:f, s:o, s:i,"
			 " s:o, s:o, s:o}",
			 "pool", info->name,
			 "pool_id", (json_int_t)info->pool,
			 "uid", (json_int_t)info->uid,
			 "mode", json_sprintf("%04o", info->mode),
			 "persistent", !!(info->pool_flags & KVP_POOL_PERSISTENT),
			 "strict", !!(info->pool_flags & KVP_POOL_STRICT),
			 "grace_ns", kvctl_json_limit(kvctl_grace_ns(info)),
			 "policy", "lru",
			 "clients", info->nr_clients,
			 "objects", objects_json(stats),
			 "metadata_bytes", (json_int_t)stats->metadata_bytes,
			 "metadata_bytes_per_block",
			 (double)stats->metadata_bytes / (double)all_blocks(view),
			 "families", families_json(view, look),
			 "index_tokens", info->index_tokens,
			 "index", kvctl_json_fields(index_fields, NR(index_fields), stats),
			 "hit_ratio", kvctl_json_ratio(stats->matched_nodes,
						       stats->looked_up_nodes),
			 "counters", kvctl_json_fields(counter_fields, NR(counter_fields),
						       stats));
}

static int show(struct kvctl_view *view, bool json)
{
	struct look look;

	if (look_at(view, &look))
		return kvctl_view_failed(view);
	if (json)
		return kvctl_json_write(view->who, stat_json(view, &look));
	print(view, &look);
	return kvctl_output_done(view->who);
}

/* ---- of a user ---- */

static void print_user(const struct kvctl_view *view, const struct kvctl_user *user)
{
	char number[KVCTL_GROUPED_LEN];

	if (!user->known) {
		printf("pool %s: uid %u has nothing, and no limits of its own\n", view->info.name,
		       user->uid);
		return;
	}
	printf("pool %s: what the clients of uid %u have together\n", view->info.name, user->uid);
	print_fields(object_fields, NR(object_fields), &user->stats);
	printf("  %-36s %14s\n", "bytes of metadata",
	       kvctl_grouped(user->stats.metadata_bytes, number));
	kvctl_charged_print(view, user->families, "  ");
}

static json_t *user_json(const struct kvctl_view *view, const struct kvctl_user *user)
{
	return json_pack("{s:s, s:I, s:o, s:I, s:o}",
			 "pool", view->info.name,
			 "uid", (json_int_t)user->uid,
			 "objects", kvctl_json_fields(object_fields, NR(object_fields),
						      &user->stats),
			 "metadata_bytes", (json_int_t)user->stats.metadata_bytes,
			 "families", kvctl_charged_json(view, user->families));
}

static int show_user(struct kvctl_view *view, uint32_t uid, bool json)
{
	struct kvctl_user user;

	if (kvctl_user_read(view, uid, &user)) {
		fprintf(stderr, "%s: %s: uid %u: %s\n", view->who, view->info.name, uid,
			kvp_error()->text);
		return KVCTL_FAILED;
	}
	if (json)
		return kvctl_json_write(view->who, user_json(view, &user));
	print_user(view, &user);
	return kvctl_output_done(view->who);
}

int kvctl_stat(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "POOL", .doc = doc,
	};
	struct command command = { 0 };
	struct kvctl_view view;
	int status;

	if (!kvctl_args(&argp, argc, argv, &command, &status))
		return status;
	status = kvctl_view_open(argv[0], command.pool, command.of_uid, &view);
	if (status)
		return status;
	if (command.of_uid)
		status = show_user(&view, (uint32_t)command.uid, command.json);
	else
		status = show(&view, command.json);
	kvctl_view_close(&view);
	return status;
}

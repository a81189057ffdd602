// SPDX-License-Identifier: MIT
/*
 * kvctl fsck - recounts a pool and shows what was recounted. No state.
 */
#include <stdarg.h>

#include "args.h"
#include "fsck.h"
#include "json.h"
#include "kvctl.h"
#include "view.h"

/**
 * struct look - an audit, and the counters beside it
 * @fsck: what it found
 * @stats: counters of the pool
 * @families: of each family
 */
struct look {
	struct kvctl_fsck fsck;
	struct kvp_stats stats;
	struct kvp_family_stats families[KVP_MAX_FAMILIES];
};

static const char doc[] =
	"Recounts everything in a pool from the tables up, compares it with every counter, and "
	"shows what was recounted, each with its numbers. Other calls on the pool wait "
	"meanwhile. Needs the right admin. Exit status 1 if anything is found: that is a bug of "
	"kvpool, or memory that was overwritten."
	"\vPOOL is a URI or a name, see kvpool(7). The numbers are the pool's "
	"counters, read right after the audit; the audit has compared them with its recount.\n\n"
	"Example:\n"
	"  kvctl fsck POOL || echo 'not sound'";

/* One invariant: how often it was found broken, what it says, its numbers. */
static void print_line(const struct kvctl_fsck *fsck, enum kvp_finding_kind kind,
		       const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void print_line(const struct kvctl_fsck *fsck, enum kvp_finding_kind kind,
		       const char *fmt, ...)
{
	va_list args;

	if (fsck->kinds[kind])
		printf("%8llu wrong  ", (unsigned long long)fsck->kinds[kind]);
	else
		printf("%14s  ", "ok");
	printf("%-8s ", kvctl_finding_name(kind));
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

static void print_family(const struct kvctl_view *view, const struct look *look, uint32_t family)
{
	const struct kvp_family_stats *stats = &look->families[family];
	char label[KVCTL_LABEL_LEN], text[256];
	size_t len = 0;
	uint32_t i;

	for (i = 0; i < KVP_BLOCK_STATES; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s %llu",
					i ? " + " : "", kvctl_state_name(i),
					(unsigned long long)stats->state[i]);
	kvctl_family_label(view->families[family], family, label);
	print_line(&look->fsck, KVP_FINDING_SUM, "%s: %s = %llu blocks", label, text,
		   (unsigned long long)stats->total);
	print_line(&look->fsck, KVP_FINDING_STATE, "%s: each of these, and %llu published, "
		   "is what its blocks say", label, (unsigned long long)stats->published);
}

static uint64_t sum_charged(const struct kvctl_view *view, const struct look *look)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < view->info.nr_families; i++)
		sum += look->families[i].charged;
	return sum;
}

static void print_rest(const struct kvctl_view *view, const struct look *look)
{
	const struct kvctl_fsck *fsck = &look->fsck;
	const struct kvp_stats *stats = &look->stats;

	print_line(fsck, KVP_FINDING_COUNT,
		   "%llu blocks: each count is what %llu slots in tables, %llu raw references and "
		   "what waits for fences add up to", (unsigned long long)fsck->blocks,
		   (unsigned long long)stats->slots, (unsigned long long)stats->raw);
	print_line(fsck, KVP_FINDING_LIST,
		   "%llu blocks and %llu nodes: each is on the lists of its state, and on no other",
		   (unsigned long long)fsck->blocks, (unsigned long long)fsck->nodes);
	print_line(fsck, KVP_FINDING_NODE,
		   "%llu nodes, %llu in use: uses and references are what %llu sequences and %llu "
		   "matches add up to", (unsigned long long)fsck->nodes,
		   (unsigned long long)stats->nodes_used, (unsigned long long)stats->seqs,
		   (unsigned long long)stats->matches);
	print_line(fsck, KVP_FINDING_TREE,
		   "%llu published nodes in %llu namespaces: parents, children, hash chains and "
		   "blocks name each other", (unsigned long long)stats->nodes_published,
		   (unsigned long long)stats->namespaces);
	print_line(fsck, KVP_FINDING_CONTENT,
		   "%llu published nodes: each hash is that of its contents",
		   (unsigned long long)stats->nodes_published);
	print_line(fsck, KVP_FINDING_CHARGE,
		   "%u clients: what each has, and %llu blocks charged, is the recount",
		   view->info.nr_clients + 1, (unsigned long long)sum_charged(view, look));
	print_line(fsck, KVP_FINDING_SEQ,
		   "%llu sequences, %llu slots: tables, lengths and nodes agree",
		   (unsigned long long)stats->seqs, (unsigned long long)stats->slots);
	print_line(fsck, KVP_FINDING_EXTRA, "%llu of %llu digests in use: each by the nodes that "
		   "name it", (unsigned long long)stats->extras_used,
		   (unsigned long long)stats->extras);
	print_line(fsck, KVP_FINDING_USER,
		   "what the clients of each uid have together is its recount");
	print_line(fsck, KVP_FINDING_FENCE,
		   "%llu open uses, %llu zombies, %llu dead clients, %llu tickets: all that waits "
		   "is listed, and what it holds back is the recount",
		   (unsigned long long)stats->uses, (unsigned long long)stats->zombies,
		   (unsigned long long)stats->quarantined, (unsigned long long)stats->tickets);
}

static void print(const struct kvctl_view *view, const struct look *look)
{
	uint32_t i;

	printf("pool %s\n", view->info.name);
	for (i = 0; i < view->info.nr_families; i++)
		print_family(view, look, i);
	print_rest(view, look);
	kvctl_fsck_print(&look->fsck, stdout);
}

/* Every kind of invariant and how often it was found broken. */
static json_t *kinds_json(const struct kvctl_fsck *fsck)
{
	json_t *object = json_object();
	uint32_t i;

	for (i = KVP_FINDING_SUM; i < KVCTL_FSCK_KINDS; i++)
		kvctl_json_set(&object, kvctl_finding_name(i), kvctl_json_u64(fsck->kinds[i]));
	return object;
}

static json_t *families_json(const struct kvctl_view *view, const struct look *look)
{
	const struct kvp_family_stats *family;
	json_t *array = json_array(), *object;
	uint32_t i, j;

	for (i = 0; i < view->info.nr_families; i++) {
		family = &look->families[i];
		object = json_pack("{s:i, s:s, s:I, s:I}", "family", i,
				   "name", view->families[i]->name,
				   "total", (json_int_t)family->total,
				   "published", (json_int_t)family->published);
		for (j = 0; j < KVP_BLOCK_STATES; j++)
			kvctl_json_set(&object, kvctl_state_name(j),
				       kvctl_json_u64(family->state[j]));
		kvctl_json_append(&array, object);
	}
	return array;
}

static json_t *look_json(const struct kvctl_view *view, const struct look *look)
{
	const struct kvp_stats *stats = &look->stats;
	json_t *object = json_pack("{s:s}", "pool", view->info.name);
	json_t *rest;

	rest = json_pack("{s:o, s:o, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}}",
			 "wrong", kinds_json(&look->fsck),
			 "families", families_json(view, look),
			 "recounted",
			 "seqs", (json_int_t)stats->seqs,
			 "slots", (json_int_t)stats->slots,
			 "raw", (json_int_t)stats->raw,
			 "matches", (json_int_t)stats->matches,
			 "uses", (json_int_t)stats->uses,
			 "zombies", (json_int_t)stats->zombies,
			 "tickets", (json_int_t)stats->tickets,
			 "nodes_published", (json_int_t)stats->nodes_published,
			 "digests_used", (json_int_t)stats->extras_used);
	if (json_object_update_new(object, kvctl_fsck_json(&look->fsck)) ||
	    json_object_update_new(object, rest)) {
		json_decref(object);
		return NULL;
	}
	return object;
}

int kvctl_fsck(int argc, char **argv)
{
	static const struct argp argp = {
		.options = kvctl_pool_options, .parser = kvctl_pool_parse, .args_doc = "POOL",
		.doc = doc,
	};
	struct kvctl_pool_args command = { 0 };
	struct kvctl_view view;
	struct look look;
	int status;

	if (!kvctl_args(&argp, argc, argv, &command, &status))
		return status;
	status = kvctl_view_open(argv[0], command.pool, true, &view);
	if (status)
		return status;
	if (kvctl_fsck_run(view.pool, &look.fsck) ||
	    kvp_pool_stats(view.pool, 0, &look.stats, look.families, view.info.nr_families)) {
		status = kvctl_view_failed(&view);
	} else if (command.json) {
		status = kvctl_json_write(argv[0], look_json(&view, &look));
	} else {
		print(&view, &look);
		status = kvctl_output_done(argv[0]);
	}
	if (!status && look.fsck.total)
		status = KVCTL_FAILED;
	kvctl_view_close(&view);
	return status;
}

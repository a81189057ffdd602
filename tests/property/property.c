// SPDX-License-Identifier: MIT
/*
 * Property test: random calls by several clients on small pools, each executed by the core and by
 * the reference model, and everything compared after each.
 *
 *	property [--ops N] [--seed S] [--shape K] [--episode E] [--trace] [--tally]
 *
 * The calls are spread over the shapes of pools, and in each over episodes: a pool, from
 * creation to its end. A failure names shape and episode; these alone run it again.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "property.h"

#define EPISODE_OPS	4000
#define AUDIT_OPS	200
#define MIRROR_OPS	10

struct property_at property_at;

static const struct shape shapes[] = {
	{ { KVPT_DENSE(36, 1) }, 1, 1, 20 },
	{ { KVPT_DENSE(28, 2) }, 1, 2, 24 },
	{ { KVPT_DENSE(28, 4) }, 1, 4, 40 },
	{ { KVPT_DENSE(14, 16) }, 1, 16, 64 },
	{ { KVPT_DENSE(40, 2) }, 1, 8, 40 },
	{ { KVPT_DENSE(24, 4), KVPT_WINDOW(16, 2, 5) }, 2, 4, 40 },
	{ { KVPT_DENSE(40, 2), KVPT_WINDOW(24, 3, 7) }, 2, 6, 30 },
	{ { KVPT_DENSE(24, 4), KVPT_STATE(9) }, 2, 4, 40 },
	{ { KVPT_DENSE(48, 2), KVPT_DENSE(18, 4) }, 2, 4, 36 },
};

/**
 * struct choice - what the command line asks for
 * @ops: calls in all
 * @shape: the one shape of pools, or NONE: all
 * @episode: the one episode, or NONE: as many as the calls need
 */
struct choice {
	u64 ops;
	int shape;
	long long episode;
};

static int usage(void)
{
	fprintf(stderr, "usage: property [--ops N] [--seed S] [--shape 0..%zu] [--episode E]\n",
		ARRAY_SIZE(shapes) - 1);
	fprintf(stderr, "                [--trace] [--tally]\n");
	return 2;
}

/* How to run a failure again. */
static void tell(void)
{
	if (property_at.what)
		fprintf(stderr,
			"property: at operation %llu (%s); again: --seed %llu --shape %u --episode %llu\n",
			(unsigned long long)property_at.op, property_at.what,
			(unsigned long long)property_at.seed, property_at.shape,
			(unsigned long long)property_at.episode);
}

static const u32 graces[] = { 0, KVP_MAX_GRACE_MS, 1 };

/* An empty pool; now and then one that has few nodes or digests. */
static void begin(struct run *r, const struct shape *shape, u64 random)
{
	struct kvp_pool_create arg = {
		.name = KVPT_POOL_NAME,
		.families = (u64)(uintptr_t)shape->families,
		.nr_families = shape->nr,
		.index_tokens = shape->index_tokens,
		.mode = 0666,
	};
	struct model_limits none;

	memset(r, 0, sizeof(*r));
	r->random = random;
	r->shape = shape;
	arg.nodes = below(r, 4) ? 64 : 4 + below(r, 12);
	arg.extras = below(r, 4) ? 16 : 3 + below(r, 4);
	/* No quarantine ends by itself, or each at once. */
	r->grace = graces[below(r, ARRAY_SIZE(graces))];
	arg.grace_ms = r->grace;
	arg.head.flags = r->grace ? 0 : KVP_POOL_STRICT;
	kvpt_env_init(&r->env);
	property_door(r);
	r->watcher = kvpt_open(&r->env, KVPT_OWNER);
	if (kvpt_do(r->watcher, KVP_OP_POOL_CREATE, &arg))
		model_bug("create: reason %u", arg.head.reason);
	if (property_at.episode % 2)
		kvpt_mirror_init(&r->mirror, r->watcher, 0);
	model_init(&r->model, shape->families, shape->nr, shape->index_tokens, arg.nodes,
		   arg.extras);
	memset(&none, 0xff, sizeof(none));
	memset(none.guarantee, 0, sizeof(none.guarantee));
	r->model.defaults = none;
	r->model.any = none;
	property_join(r, 0);
	property_join(r, 1);
	property_join(r, 2);
}

/* What a router knows from events is what the pool has. */
static void check_mirror(struct run *r)
{
	const char *diff;

	if (!r->mirror.entry)
		return;
	kvpt_mirror_read(&r->mirror, r->watcher);
	diff = kvpt_mirror_diff(&r->mirror, r->watcher);
	if (diff)
		model_bug("mirror: %s", diff);
}

/* All leave, all is reclaimed, and every block is back. */
static void end(struct run *r)
{
	u64 nodes = ~0ULL;
	u32 i;

	property_check(r);
	for (i = 0; i < MODEL_CLIENTS; i++) {
		if (r->model.client[i].core) {
			property_leave(r, i);
			property_check(r);
		}
	}
	property_check_all(r);
	property_reap_all(r);
	property_check_all(r);
	property_close_exports(r);
	property_check_all(r);
	if (kvpt_reclaim(r->watcher, nodes))
		model_bug("reclaim: reason %u", kvpt.head.reason);
	check_mirror(r);
	for (i = 0; i < r->shape->nr; i++) {
		if (kvpt_blocks(r->watcher, i, KVP_BLOCK_FREE) != r->shape->families[i].blocks)
			model_bug("family %u: blocks are missing in the end", i);
	}
	kvpt_ok(kvpt_stats(r->watcher, 0, NULL, 0));
	kvpt_mirror_exit(&r->mirror);
	if (kvpt.stats.nodes_used || kvpt.stats.extras_used)
		model_bug("%llu nodes and %llu digests are left in the end",
			  (unsigned long long)kvpt.stats.nodes_used,
			  (unsigned long long)kvpt.stats.extras_used);
	kvpt_env_exit(&r->env);
}

static void episode(struct run *r, u64 ops)
{
	u64 random = property_at.seed * 1000003 + property_at.shape;

	random = kvpt_random(&random) + property_at.episode;
	property_at.op = 0;
	begin(r, &shapes[property_at.shape], random);
	for (property_at.op = 1; property_at.op <= ops; property_at.op++) {
		property_op(r);
		if (r->unseen)
			continue;
		if (property_at.op % AUDIT_OPS == 0)
			property_check_all(r);
		if (property_at.op % MIRROR_OPS == 0)
			check_mirror(r);
	}
	end(r);
}

static void tally_episode(const struct kvp_stats *count)
{
	printf("shape %u episode %llu: looked up %llu nodes, matched %llu, published %llu, ",
	       property_at.shape, (unsigned long long)property_at.episode,
	       (unsigned long long)count->looked_up_nodes,
	       (unsigned long long)count->matched_nodes,
	       (unsigned long long)count->published_nodes);
	printf("found %llu, reclaimed %llu, copied %llu blocks\n",
	       (unsigned long long)count->shared_nodes,
	       (unsigned long long)count->reclaimed_nodes,
	       (unsigned long long)count->copies);
}

/* Run @ops calls on one shape; *@loose and *@victims count how victims were chosen. */
static void run_shape(struct run *r, u64 ops, u64 *loose, u64 *victims)
{
	u64 done, now;

	for (done = 0; done < ops; done += now) {
		now = min_t(u64, ops - done, EPISODE_OPS);
		episode(r, now);
		if (property_at.tally)
			tally_episode(&r->model.count);
		*loose += r->model.loose;
		*victims += r->model.victims;
		property_at.episode++;
	}
}

/* False: the command line is not as it should be. */
static bool parse(int argc, char **argv, struct choice *choice)
{
	static const struct option options[] = {
		{ "ops", required_argument, NULL, 'o' },
		{ "seed", required_argument, NULL, 's' },
		{ "shape", required_argument, NULL, 'k' },
		{ "episode", required_argument, NULL, 'e' },
		{ "trace", no_argument, NULL, 't' },
		{ "tally", no_argument, NULL, 'y' },
		{ },
	};
	int opt;

	*choice = (struct choice){ .ops = 100000, .shape = NONE, .episode = NONE };
	property_at.seed = 1;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'o')
			choice->ops = strtoull(optarg, NULL, 0);
		else if (opt == 's')
			property_at.seed = strtoull(optarg, NULL, 0);
		else if (opt == 'k')
			choice->shape = atoi(optarg);
		else if (opt == 'e')
			choice->episode = atoll(optarg);
		else if (opt == 't')
			property_at.trace = true;
		else if (opt == 'y')
			property_at.tally = true;
		else
			return false;
	}
	return choice->shape >= NONE && choice->shape < (int)ARRAY_SIZE(shapes) &&
	       (choice->episode == NONE || choice->shape != NONE);
}

int main(int argc, char **argv)
{
	static struct run run;
	u64 loose = 0, victims = 0;
	struct choice choice;
	time_t start = time(NULL);
	u32 nr = ARRAY_SIZE(shapes);
	u32 i;

	if (!parse(argc, argv, &choice))
		return usage();
	if (property_at.trace)
		setvbuf(stdout, NULL, _IOLBF, 0);
	model_on_bug = tell;
	if (choice.shape != NONE)
		nr = 1;
	for (i = 0; i < nr; i++) {
		property_at.shape = choice.shape == NONE ? i : choice.shape;
		property_at.episode = choice.episode == NONE ? 0 : choice.episode;
		run_shape(&run, choice.episode == NONE ? (choice.ops + nr - 1) / nr : EPISODE_OPS,
			  &loose, &victims);
	}
	property_tally();
	printf("property: %llu operations, seed %llu: core and model agree, %lld s\n",
	       (unsigned long long)choice.ops, (unsigned long long)property_at.seed,
	       (long long)(time(NULL) - start));
	printf("property: %llu nodes reclaimed, %llu of them where the order is not defined\n",
	       (unsigned long long)victims, (unsigned long long)loose);
	return 0;
}

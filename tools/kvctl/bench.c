// SPDX-License-Identifier: MIT
/*
 * kvctl bench - its command line, and the rounds.
 */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "bench.h"
#include "json.h"
#include "kvctl.h"
#include "progress.h"

#define DEFAULT_ROUNDS	9
#define QUICK_ROUNDS	3

enum {
	OPT_FILTER = 256,
	OPT_JSON,
	OPT_LIST,
	OPT_QUICK,
	OPT_ROUNDS,
	OPT_TRACE,
};

struct command {
	struct bench bench;
	bool json;
	bool list;
	bool quiet;
};

static const struct argp_option options[] = {
	{ "filter", OPT_FILTER, "TEXT", 0, "Only lines with TEXT in their name", 0 },
	{ "list", OPT_LIST, NULL, 0, "Print the names of the lines, measure nothing", 0 },
	{ "quick", OPT_QUICK, NULL, 0,
	  "3 rounds, and no pool of 1,000,000 blocks: for a look, not for a record", 0 },
	{ "rounds", OPT_ROUNDS, "N", 0, "Measure everything N times (9)", 0 },
	{ "trace", OPT_TRACE, "FILE", 0,
	  "Trace whose replay is measured; without it those lines are skipped", 0 },
	{ "json", OPT_JSON, NULL, 0, "Print one JSON object", 0 },
	{ "quiet", 'q', NULL, 0, "No progress bar", 0 },
	{ 0 },
};

static const char doc[] =
	"Measures the calls of a pool in this process against what the machine takes for a "
	"cache miss, and says which goals are met."
	"\v"
	"One line each: \"bench NAME VALUE UNIT goal GOAL met\", \"short\" if the goal is "
	"missed, \"-\" for GOAL and the verdict where there is no goal, and \"- UNIT goal GOAL "
	"skipped: REASON\" where nothing could be measured. Values are medians of the rounds. "
	"kvctl-bench(1) says what each name means.\n\n"
	"Exit status: 0 it ran, whether goals are met or not; 1 it could not; 2 the command "
	"line was wrong.";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;

	switch (key) {
	case OPT_FILTER:
		command->bench.filter = arg;
		return 0;
	case OPT_JSON:
		command->json = true;
		return 0;
	case OPT_LIST:
		command->list = true;
		return 0;
	case OPT_QUICK:
		command->bench.quick = true;
		return 0;
	case OPT_ROUNDS:
		return kvctl_args_number(state, "rounds", arg, 1, BENCH_MAX_ROUNDS,
					 &command->bench.rounds);
	case OPT_TRACE:
		command->bench.trace = arg;
		return 0;
	case 'q':
		command->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s': expected options only", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

uint64_t bench_available_bytes(void)
{
	FILE *in = fopen("/proc/meminfo", "r");
	unsigned long long kib = 0;
	char line[128];

	if (!in)
		return 0;
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			break;
	}
	fclose(in);
	return kib << 10;
}

static int open_scene(struct bench_scene *scene)
{
	uint64_t need = bench_scene_bytes(scene);

	if (need > bench_available_bytes()) {
		snprintf(scene->skipped, sizeof(scene->skipped), "needs %.1f GB of memory",
			 (double)need / 1e9);
		return 0;
	}
	return bench_scene_open(scene);
}

static int measure(struct bench *bench, struct bench_item *item, double *ns)
{
	struct bench_run run = { .bench = bench, .scene = item->scene };
	int err;

	err = item->op->run(&run);
	if (err == -ENODATA)
		memcpy(item->skipped, run.skipped, sizeof(item->skipped));
	if (err)
		return err;
	item->faults += run.timer.faults;
	*ns = run.timer.ns / (double)run.units;
	return 0;
}

/* Measures the miss, and at once after it @item; round 0 is not kept. */
static int measure_both(struct bench *bench, struct bench_item *item, bool kept)
{
	double ns, miss;
	int err;

	err = measure(bench, &bench->items[0], &miss);
	if (!err)
		err = measure(bench, item, &ns);
	if (err == -ENODATA)
		return 0;
	if (err || !kept)
		return err;
	item->miss[item->nr] = miss;
	item->value[item->nr++] = ns;
	return 0;
}

/*
 * Tokens of a block of the scenes with which @item is measured. What needs no scene is, with
 * those of 16; what has rounds of its own is when no scene is left, which it would disturb.
 */
static uint32_t tokens_of(const struct bench_item *item)
{
	if (item->scene)
		return item->scene->tokens;
	return item->op->rounds ? 0 : 16;
}

/* Is @item measured in @round? Round 0 is not kept: it touches what is touched later. */
static bool is_due(const struct bench_item *item, uint32_t tokens, uint64_t round)
{
	if (!item->wanted || *item->skipped)
		return false;
	if (item->op->rounds && round > item->op->rounds)
		return false;
	return tokens_of(item) == tokens && (item->scene ? !!item->scene->pool : !!round);
}

static int run_round(struct bench *bench, uint32_t tokens, uint64_t round)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < bench->nr_items; i++) {
		if (is_due(&bench->items[i], tokens, round))
			err = measure_both(bench, &bench->items[i], round);
	}
	return err;
}

static int open_scenes(struct bench *bench, uint32_t tokens)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < bench->nr_scenes; i++) {
		if (bench->scenes[i].tokens == tokens && bench->scenes[i].wanted &&
		    !*bench->scenes[i].skipped)
			err = open_scene(&bench->scenes[i]);
	}
	return err;
}

static void close_scenes(struct bench *bench)
{
	size_t i;

	for (i = 0; i < bench->nr_scenes; i++)
		bench_scene_close(&bench->scenes[i]);
}

static bool any_wanted(const struct bench *bench, uint32_t tokens)
{
	size_t i;

	for (i = 0; i < bench->nr_items; i++) {
		if (bench->items[i].wanted && tokens_of(&bench->items[i]) == tokens)
			return true;
	}
	return false;
}

/* All rounds of the scenes of @tokens, which are there together. */
static int run_rounds(struct bench *bench, uint32_t tokens, struct kvctl_progress *progress,
		      uint64_t *done)
{
	uint64_t round;
	int err;

	err = open_scenes(bench, tokens);
	for (round = 0; !err && round <= bench->rounds; round++) {
		err = run_round(bench, tokens, round);
		kvctl_progress_step(progress, ++*done);
	}
	close_scenes(bench);
	return err;
}

static int run_all(struct bench *bench, bool quiet)
{
	static const uint32_t tokens[] = { 16, 512, 0 };
	struct kvctl_progress progress;
	uint64_t done = 0;
	size_t i;
	int err = 0;

	/* Given back to the system, what one round frees would cost the next page faults. */
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	kvctl_progress_begin(&progress, "rounds", 3 * (bench->rounds + 1), !quiet);
	bench_clock_calibrate();
	for (i = 0; !err && i < 3; i++) {
		if (any_wanted(bench, tokens[i]))
			err = run_rounds(bench, tokens[i], &progress, &done);
	}
	bench_floor_close();
	bench_cost_close();
	bench_rows_close();
	kvctl_progress_end(&progress);
	return err;
}

static int run_command(struct command *command)
{
	struct bench *bench = &command->bench;

	if (command->list) {
		bench_print_list(bench, stdout);
		return kvctl_output_done("kvctl bench");
	}
	if (run_all(bench, command->quiet))
		return KVCTL_FAILED;
	if (command->json)
		return kvctl_json_write("kvctl bench", bench_json(bench));
	bench_print(bench, stdout);
	return kvctl_output_done("kvctl bench");
}

int kvctl_bench(int argc, char **argv)
{
	static const struct argp argp = { .options = options, .parser = parse, .doc = doc };
	struct command command = { 0 };
	struct bench *bench = &command.bench;
	int status;

	if (!kvctl_args(&argp, argc, argv, &command, &status))
		return status;
	if (!bench->rounds)
		bench->rounds = bench->quick ? QUICK_ROUNDS : DEFAULT_ROUNDS;
	status = KVCTL_FAILED;
	if (bench_plan(bench))
		fprintf(stderr, "kvctl bench: %s\n", strerror(ENOMEM));
	else if (!bench->nr_lines)
		fprintf(stderr, "kvctl bench: no line has '%s' in its name; --list shows all\n",
			bench->filter);
	else
		status = run_command(&command);
	bench_plan_free(bench);
	return status;
}

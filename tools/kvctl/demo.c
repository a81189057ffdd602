// SPDX-License-Identifier: MIT
/*
 * kvctl demo - shows in a minute what a pool does.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "args.h"
#include "demo.h"
#include "door.h"
#include "gen_trace.h"
#include "kvctl.h"
#include "replay_run.h"

/* The trace that `kvctl gen-trace` writes, without a file: the demo needs nothing. */
static int small_trace(struct kvctl_trace *trace)
{
	char *text = NULL;
	size_t len = 0;
	FILE *file;
	int err;

	file = open_memstream(&text, &len);
	if (!file)
		return -ENOMEM;
	err = kvctl_gen_trace_write(file, KVCTL_GEN_REQUESTS, KVCTL_GEN_SEED);
	if (fclose(file) && !err)
		err = -ENOMEM;
	file = err ? NULL : fmemopen(text, len, "r");
	if (file) {
		err = kvctl_trace_read(file, "small trace", true, trace);
		fclose(file);
	} else if (!err) {
		err = -ENOMEM;
	}
	free(text);
	return err;
}

int kvctl_demo_trace(enum kvp_door_kind door)
{
	const struct kvctl_replay_options options = {
		.blocks = 200,
		.block_tokens = 512,
		.row_bytes = 64,
		.concurrency = 8,
		.decode_step = 1,
		.bytes = true,
		.verify_all = true,
		.door = door,
	};
	struct kvctl_replay_result result;
	struct kvctl_progress progress;
	struct kvctl_trace trace = { 0 };
	int err;

	printf("4. A few busy minutes\n\n"
	       "   Now 300 requests of 24 made-up conversations, up to 8 at once. Each turn sends\n"
	       "   all that was said before, so most of its prompt has been computed already. The\n"
	       "   pool has 200 blocks of 512 tokens, fewer than all prompts together need: it\n"
	       "   takes back the blocks that nobody has used for the longest time. Every row is\n"
	       "   read back and compared with what its whole prefix says it must be.\n\n");
	fflush(stdout);
	err = small_trace(&trace);
	kvctl_progress_begin(&progress, "requests", trace.nr_requests, !err);
	if (!err)
		err = kvctl_replay_run(&trace, &options, &progress, &result);
	kvctl_trace_free(&trace);
	if (err)
		return -1;
	kvctl_replay_print(&options, &result, 0, stdout);
	printf("\n   %.0f%% of the prompt blocks did not have to be computed again. The last line\n"
	       "   is the audit: it counts again who holds what, from the block tables up, and\n"
	       "   compares that with every counter of the pool.\n\n",
	       kvctl_replay_hit_ratio(&result) * 100);
	return result.wrong_rows || result.fsck.total ? -1 : 0;
}

enum {
	OPT_DOOR = 256,
};

static const struct argp_option arguments[] = {
	{ "door", OPT_DOOR, "DOOR", 0,
	  "Make the pools in this process (inproc, the default) or on /dev/kvpool (dev)", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	if (key == OPT_DOOR)
		return kvctl_args_door(state, arg, state->input);
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	argp_error(state, "no argument expected, '%s' given", arg);
	return EINVAL;
}

int kvctl_demo(int argc, char **argv)
{
	static const struct argp argp = {
		.options = arguments,
		.parser = parse,
		.doc = "Shows what a pool does: prefix sharing, a fork with copy-on-write, a small "
		       "replay and the audit. Needs no device, no GPU and no input.",
	};
	enum kvp_door_kind door = KVP_DOOR_INPROC;
	int status;

	if (!kvctl_args(&argp, argc, argv, &door, &status))
		return status;
	printf("kvpool in four steps\n\n"
	       "   A language model reads text as tokens (here: words). For each token it computes\n"
	       "   a row of numbers, its \"KV\", and needs the rows of all tokens before it to go\n"
	       "   on. Computing rows is what makes a long prompt slow. kvpool keeps them in blocks\n"
	       "   that all processes of a machine can share, and knows which text each belongs to.\n\n");
	if (kvctl_demo_blocks(door) || kvctl_demo_trace(door)) {
		fflush(stdout);
		fprintf(stderr, "kvctl demo: something is wrong, see above\n");
		return KVCTL_FAILED;
	}
	printf("What next\n\n"
	       "   build/kvctl replay tests/data/small_trace.jsonl --serial --bytes\n"
	       "                          the same trace, with options of your own\n"
	       "   build/kvctl replay --help\n"
	       "                          what they are; traces of real services work too\n"
	       "   build/kvctl shell tests/scenarios/share_prefix.kv --echo\n"
	       "                          a story told line by line; without a file: yours\n"
	       "   runtime/include/kvpool.h\n"
	       "                          the calls that an engine makes\n");
	return KVCTL_OK;
}

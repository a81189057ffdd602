// SPDX-License-Identifier: MIT
/*
 * kvctl replay - the command line of a replay.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/kvpool.h>

#include "kvctl.h"
#include "replay_run.h"

#define DEFAULT_BLOCKS		20000
#define DEFAULT_BLOCK_TOKENS	512
#define DEFAULT_ROW_BYTES	64
#define DEFAULT_CONCURRENCY	16
#define MAX_ROW_BYTES		0x100000
#define MAX_CONCURRENCY		65536

enum {
	OPT_SERIAL = 256,
	OPT_CONCURRENCY,
	OPT_BLOCKS,
	OPT_BLOCK_TOKENS,
	OPT_BYTES,
	OPT_ROW_BYTES,
	OPT_VERIFY_ALL,
	OPT_PUBLISH_OUTPUT,
	OPT_DECODE_STEP,
	OPT_STRICT,
	OPT_JSON,
};

struct command {
	struct kvctl_replay_options replay;
	const char *file;
	uint64_t concurrency;	/* 0: not given */
	uint64_t row_bytes;	/* 0: not given */
	bool serial;
	bool strict;
	bool json;
	bool quiet;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "The pool:", 1 },
	{ "blocks", OPT_BLOCKS, "N", 0, "Blocks of the pool (20000)", 0 },
	{ "block-tokens", OPT_BLOCK_TOKENS, "N", 0, "Tokens of a block (512)", 0 },
	{ NULL, 0, NULL, 0, "The requests:", 2 },
	{ "serial", OPT_SERIAL, NULL, 0, "Each request ends before the next begins", 0 },
	{ "concurrency", OPT_CONCURRENCY, "N", 0,
	  "Without --serial: keep up to N requests alive (16); the oldest ends when there are "
	  "more, or when the pool is full", 0 },
	{ "publish-output", OPT_PUBLISH_OUTPUT, NULL, 0,
	  "Publish decoded tokens too, not only the prompts", 0 },
	{ "decode-step", OPT_DECODE_STEP, "N", 0, 
	  "Output tokens of one append (1: token by token, as an engine does)", 0 },
	{ NULL, 0, NULL, 0, "Proof:", 3 },
	{ "bytes", OPT_BYTES, NULL, 0,
	  "Write a row for each token, whose bytes follow from its whole prefix and its "
	  "position, and compare every row that was matched", 0 },
	{ "row-bytes", OPT_ROW_BYTES, "N", 0, "With --bytes: bytes of a row (64)", 0 },
	{ "verify-all", OPT_VERIFY_ALL, NULL, 0,
	  "With --bytes: compare all rows of a request before it ends, its own ones too", 0 },
	{ NULL, 0, NULL, 0, "Input and output:", 4 },
	{ "strict", OPT_STRICT, NULL, 0, "Stop at a malformed line instead of skipping it", 0 },
	{ "json", OPT_JSON, NULL, 0, "Print one JSON object", 0 },
	{ "quiet", 'q', NULL, 0, "No progress bar", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static const char doc[] =
	"Replays the requests of FILE (- is standard input) against a pool in this process, "
	"with the calls that an engine would make: begin with the longest published prefix, "
	"compute and publish the rest of the prompt, decode, free."
	"\v"
	"FILE is a trace in the public Mooncake format, one JSON object a line: \"timestamp\" "
	"(ms), \"input_length\" and \"output_length\" (tokens) and \"hash_ids\", one id for each "
	"512 tokens of the input; requests whose first n ids are equal begin with the same "
	"tokens. Arrival times are not used. Only full blocks can be found; \"full blocks looked "
	"up\" are those of the prompts that were admitted. Output tokens are unknown: each is "
	"a new one that no other request has.\n\n"
	"After the replay the pool is audited (fsck). Exit status: 0 all is well; 1 wrong rows, "
	"findings of the audit, a malformed line with --strict, or no replay; 2 the command line "
	"was wrong.";

static uint64_t number(struct argp_state *state, const char *option, const char *text,
		       uint64_t min, uint64_t max)
{
	uint64_t value = 0;

	if (!kvctl_parse_number(text, min, max, &value))
		argp_error(state, "--%s is '%s'; expected a whole number %llu..%llu", option,
			   text, (unsigned long long)min, (unsigned long long)max);
	return value;
}

static void check_combination(struct argp_state *state, struct command *command)
{
	struct kvctl_replay_options *replay = &command->replay;

	if (!command->file)
		argp_error(state, "no FILE given");
	if (command->serial && command->concurrency)
		argp_error(state, "--serial and --concurrency exclude each other");
	if (command->row_bytes && !replay->bytes)
		argp_error(state, "--row-bytes needs --bytes");
	if (replay->verify_all && !replay->bytes)
		argp_error(state, "--verify-all needs --bytes");
	replay->concurrency = command->concurrency ? command->concurrency : DEFAULT_CONCURRENCY;
	if (command->serial)
		replay->concurrency = 1;
	replay->row_bytes = command->row_bytes ? command->row_bytes : DEFAULT_ROW_BYTES;
	if (!replay->bytes)
		replay->row_bytes = 1;	/* the pool's memory is never touched */
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;
	struct kvctl_replay_options *replay = &command->replay;

	switch (key) {
	case OPT_BLOCKS:
		replay->blocks = number(state, "blocks", arg, 1, KVP_MAX_BLOCKS);
		return 0;
	case OPT_BLOCK_TOKENS:
		replay->block_tokens = number(state, "block-tokens", arg, 1,
					      KVP_MAX_BLOCK_TOKENS);
		return 0;
	case OPT_SERIAL:
		command->serial = true;
		return 0;
	case OPT_CONCURRENCY:
		command->concurrency = number(state, "concurrency", arg, 1, MAX_CONCURRENCY);
		return 0;
	case OPT_PUBLISH_OUTPUT:
		replay->publish_output = true;
		return 0;
	case OPT_DECODE_STEP:
		replay->decode_step = number(state, "decode-step", arg, 1, KVP_MAX_CALL_TOKENS);
		return 0;
	case OPT_BYTES:
		replay->bytes = true;
		return 0;
	case OPT_ROW_BYTES:
		command->row_bytes = number(state, "row-bytes", arg, 1, MAX_ROW_BYTES);
		return 0;
	case OPT_VERIFY_ALL:
		replay->verify_all = true;
		return 0;
	case OPT_STRICT:
		command->strict = true;
		return 0;
	case OPT_JSON:
		command->json = true;
		return 0;
	case 'q':
		command->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		if (command->file)
			argp_error(state, "one FILE only; '%s' is a second", arg);
		command->file = arg;
		return 0;
	case ARGP_KEY_END:
		check_combination(state, command);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int read_trace(const struct command *command, struct kvctl_trace *trace)
{
	bool is_stdin = !strcmp(command->file, "-");
	const char *name = is_stdin ? "(standard input)" : command->file;
	FILE *in = is_stdin ? stdin : fopen(command->file, "re");
	int err;

	if (!in) {
		fprintf(stderr, "kvctl replay: %s: %s\n", name, strerror(errno));
		return -EIO;
	}
	err = kvctl_trace_read(in, name, command->strict, trace);
	if (!is_stdin)
		fclose(in);
	if (!err && !trace->nr_requests) {
		fprintf(stderr, "kvctl replay: %s: no request in it\n", name);
		err = -ENODATA;
	}
	return err;
}

/* The pool's bytes are taken as they are written; tell before the machine runs out. */
static void warn_of_size(const struct kvctl_replay_options *replay)
{
	uint64_t need = replay->blocks * replay->block_tokens * replay->row_bytes;
	uint64_t have = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	if (replay->bytes && need > have)
		fprintf(stderr, "kvctl replay: warning: the rows of a full pool take %.1f GiB, "
			"this machine has %.1f GiB; fewer --blocks or --row-bytes help\n",
			(double)need / (1 << 30), (double)have / (1 << 30));
}

int kvctl_replay(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "FILE",
		.doc = doc,
	};
	struct command command = {
		.replay = {
			.blocks = DEFAULT_BLOCKS,
			.block_tokens = DEFAULT_BLOCK_TOKENS,
			.decode_step = 1,
		},
	};
	struct kvctl_replay_result result = { 0 };
	struct kvctl_progress progress;
	struct kvctl_trace trace = { 0 };
	int err;

	if (argp_parse(&argp, argc, argv, 0, NULL, &command))
		return KVCTL_USAGE;
	err = read_trace(&command, &trace);
	if (!err) {
		warn_of_size(&command.replay);
		kvctl_progress_begin(&progress, "requests", trace.nr_requests, !command.quiet);
		err = kvctl_replay_run(&trace, &command.replay, &progress, &result);
	}
	if (!err && command.json) {
		err = kvctl_replay_print_json(&result, trace.malformed, stdout);
		if (err)
			fprintf(stderr, "kvctl replay: no output: %s\n", strerror(-err));
	} else if (!err) {
		kvctl_replay_print(&command.replay, &result, trace.malformed, stdout);
	}
	kvctl_trace_free(&trace);
	if (err || result.wrong_rows || result.fsck.total)
		return KVCTL_FAILED;
	return KVCTL_OK;
}

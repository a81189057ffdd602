// SPDX-License-Identifier: MIT
/*
 * kvctl replay - the command line of a replay.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/kvpool.h>

#include "args.h"
#include "kvctl.h"
#include "replay_run.h"

#define DEFAULT_BLOCKS		20000
#define DEFAULT_BLOCK_TOKENS	512
#define DEFAULT_ROW_BYTES	64
#define DEFAULT_CONCURRENCY	16
#define DEFAULT_PREFILL_RATE	50000
#define DEFAULT_DECODE_RATE	50
#define DEFAULT_ENGINES		1
#define DEFAULT_MAX_RUNNING	256
#define MAX_ROW_BYTES		0x100000
#define MAX_CONCURRENCY		65536
#define MAX_RATE		1000000000
#define MAX_ENGINES		65536
#define MAX_SPEED		1000000

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
	OPT_TIMED,
	OPT_SPEED,
	OPT_PREFILL_RATE,
	OPT_DECODE_RATE,
	OPT_ENGINES,
	OPT_MAX_RUNNING,
	OPT_TIME_CALLS,
	OPT_PLOT,
	OPT_DOOR,
	OPT_STRICT,
	OPT_JSON,
};

struct command {
	struct kvctl_replay_options replay;
	char *file;
	const char *plot_file;	/* NULL: no picture */
	const char *machine;	/* the last option that needs --timed, NULL: none given */
	uint32_t concurrency;	/* 0: not given */
	uint32_t row_bytes;	/* 0: not given */
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
	{ NULL, 0, NULL, 0, "Virtual time:", 3 },
	{ "timed", OPT_TIMED, NULL, 0,
	  "Requests arrive by their timestamps, wait for room and for an engine, and take the "
	  "time that the rates say; nothing sleeps", 0 },
	{ "prefill-rate", OPT_PREFILL_RATE, "N", 0,
	  "With --timed: prompt tokens that an engine computes in a second (50000)", 0 },
	{ "decode-rate", OPT_DECODE_RATE, "N", 0,
	  "With --timed: output tokens a second of each running request (50)", 0 },
	{ "engines", OPT_ENGINES, "N", 0, "With --timed: prefills that run at once (1)", 0 },
	{ "max-running", OPT_MAX_RUNNING, "N", 0,
	  "With --timed: requests that are admitted at once (256)", 0 },
	{ "speed", OPT_SPEED, "X", 0,
	  "With --timed: requests arrive X times as fast as the trace says (1), e.g. 2 or 0.5",
	  0 },
	{ NULL, 0, NULL, 0, "Proof:", 4 },
	{ "bytes", OPT_BYTES, NULL, 0,
	  "Write a row for each token, whose bytes follow from its whole prefix and its "
	  "position, and compare every row that was matched", 0 },
	{ "row-bytes", OPT_ROW_BYTES, "N", 0, "With --bytes: bytes of a row (64)", 0 },
	{ "verify-all", OPT_VERIFY_ALL, NULL, 0,
	  "With --bytes: compare all rows of a request before it ends, its own ones too", 0 },
	{ NULL, 0, NULL, 0, "Input and output:", 5 },
	{ "time-calls", OPT_TIME_CALLS, NULL, 0,
	  "Measure the CPU time of the pool's calls, by kind", 0 },
	{ "plot", OPT_PLOT, "FILE", 0,
	  "Draw hits and blocks over the requests (--timed: over time) into FILE, an SVG "
	  "picture", 0 },
	{ "door", OPT_DOOR, "DOOR", 0,
	  "Make the pool in this process (inproc, the default) or on /dev/kvpool (dev)", 0 },
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
	"tokens. Arrival times are used with --timed only. Only full blocks can be found; "
	"\"full blocks looked up\" are those of the prompts that were admitted. Output tokens are "
	"unknown: each is a new one that no other request has.\n\n"
	"With --timed, when a running request finds the pool full, the one that arrived last "
	"is preempted: it gives its blocks up and is computed again later.\n\n"
	"After the replay the pool is audited (fsck). Exit status: 0 all is well; 1 wrong rows, "
	"findings of the audit, a malformed line with --strict, no replay or no picture; 2 the command "
	"line was wrong.";

/* kvctl_args_number() for 32 bits. */
static error_t number32(struct argp_state *state, const char *option, const char *text,
			uint32_t max, uint32_t *value)
{
	uint64_t wide = 0;
	error_t err = kvctl_args_number(state, option, text, 1, max, &wide);

	*value = (uint32_t)wide;
	return err;
}

/* A number with up to three digits behind the point, in thousandths. */
static error_t parse_speed(struct argp_state *state, const char *text, uint64_t *speed)
{
	const char *point = strchr(text, '.');
	size_t whole = point ? (size_t)(point - text) : strlen(text);
	size_t digits = point ? strlen(point + 1) : 0;
	uint64_t value = 0, rest = 0;
	char copy[32];

	if (whole < sizeof(copy)) {
		memcpy(copy, text, whole);
		copy[whole] = '\0';
		if (digits <= 3 && (!point || digits) &&
		    kvctl_parse_number(copy, 0, MAX_SPEED, &value) &&
		    (!point || kvctl_parse_number(point + 1, 0, KVCTL_SPEED_ONE - 1, &rest))) {
			for (; digits && digits < 3; digits++)
				rest *= 10;
			value = value * KVCTL_SPEED_ONE + rest;
			*speed = value;
			if (value && value <= MAX_SPEED * (uint64_t)KVCTL_SPEED_ONE)
				return 0;
		}
	}
	argp_error(state, "--speed is '%s'; expected a number 0.001..%d with up to three digits "
		   "behind the point", text, MAX_SPEED);
	return EINVAL;
}

static error_t wrong(struct argp_state *state, const char *what)
{
	argp_error(state, "%s", what);
	return EINVAL;
}

static error_t check_combination(struct argp_state *state, struct command *command)
{
	struct kvctl_replay_options *replay = &command->replay;

	if (!command->file)
		return wrong(state, "no FILE given");
	if (command->serial && command->concurrency)
		return wrong(state, "--serial and --concurrency exclude each other");
	if (command->row_bytes && !replay->bytes)
		return wrong(state, "--row-bytes needs --bytes");
	if (replay->verify_all && !replay->bytes)
		return wrong(state, "--verify-all needs --bytes");
	if (replay->timed && command->serial)
		return wrong(state, "--timed and --serial exclude each other");
	if (replay->timed && command->concurrency)
		return wrong(state, "--timed and --concurrency exclude each other");
	if (command->machine && !replay->timed) {
		argp_error(state, "--%s needs --timed", command->machine);
		return EINVAL;
	}
	replay->concurrency = command->concurrency ? command->concurrency : DEFAULT_CONCURRENCY;
	if (command->serial)
		replay->concurrency = 1;
	replay->row_bytes = command->row_bytes ? command->row_bytes : DEFAULT_ROW_BYTES;
	if (!replay->bytes)
		replay->row_bytes = 1;	/* the pool's memory is never touched */
	return 0;
}

/* The options that need --timed. */
static error_t parse_machine(int key, const char *arg, struct argp_state *state,
			     struct command *command)
{
	struct kvctl_timed_options *machine = &command->replay.machine;

	switch (key) {
	case OPT_SPEED:
		command->machine = "speed";
		return parse_speed(state, arg, &machine->speed);
	case OPT_PREFILL_RATE:
		command->machine = "prefill-rate";
		return kvctl_args_number(state, "prefill-rate", arg, 1, MAX_RATE,
					 &machine->prefill_rate);
	case OPT_DECODE_RATE:
		command->machine = "decode-rate";
		return kvctl_args_number(state, "decode-rate", arg, 1, MAX_RATE,
					 &machine->decode_rate);
	case OPT_ENGINES:
		command->machine = "engines";
		return number32(state, "engines", arg, MAX_ENGINES, &machine->engines);
	case OPT_MAX_RUNNING:
		command->machine = "max-running";
		return number32(state, "max-running", arg, MAX_CONCURRENCY,
				&machine->max_running);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;
	struct kvctl_replay_options *replay = &command->replay;

	switch (key) {
	case OPT_BLOCKS:
		return kvctl_args_number(state, "blocks", arg, 1, KVP_MAX_BLOCKS,
					 &replay->blocks);
	case OPT_BLOCK_TOKENS:
		return number32(state, "block-tokens", arg, KVP_MAX_BLOCK_TOKENS,
				&replay->block_tokens);
	case OPT_SERIAL:
		command->serial = true;
		return 0;
	case OPT_CONCURRENCY:
		return number32(state, "concurrency", arg, MAX_CONCURRENCY,
				&command->concurrency);
	case OPT_PUBLISH_OUTPUT:
		replay->publish_output = true;
		return 0;
	case OPT_DECODE_STEP:
		return number32(state, "decode-step", arg, KVP_MAX_CALL_TOKENS,
				&replay->decode_step);
	case OPT_BYTES:
		replay->bytes = true;
		return 0;
	case OPT_ROW_BYTES:
		return number32(state, "row-bytes", arg, MAX_ROW_BYTES, &command->row_bytes);
	case OPT_VERIFY_ALL:
		replay->verify_all = true;
		return 0;
	case OPT_TIMED:
		replay->timed = true;
		return 0;
	case OPT_TIME_CALLS:
		replay->time_calls = true;
		return 0;
	case OPT_PLOT:
		command->plot_file = arg;
		return 0;
	case OPT_DOOR:
		return kvctl_args_door(state, arg, &replay->door);
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
		return kvctl_args_one(state, "FILE", arg, &command->file);
	case ARGP_KEY_END:
		return check_combination(state, command);
	default:
		return parse_machine(key, arg, state, command);
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

/* What the picture is of, in @title. */
static void plot_title(const struct command *command,
		       const struct kvctl_replay_result *result, char *title, size_t size)
{
	const struct kvctl_replay_options *replay = &command->replay;
	char requests[KVCTL_GROUPED_LEN], blocks[KVCTL_GROUPED_LEN];
	const char *name = strrchr(command->file, '/');

	name = name ? name + 1 : command->file;
	snprintf(title, size, "%.64s: %s requests, %s blocks of %u tokens",
		 strcmp(name, "-") ? name : "(standard input)",
		 kvctl_grouped(result->requests, requests),
		 kvctl_grouped(replay->blocks, blocks), replay->block_tokens);
}

static int draw(const struct command *command, const struct kvctl_replay_result *result)
{
	char title[256];
	struct kvctl_plot_text text = {
		.title = title,
		.blocks = command->replay.blocks,
		.timed = command->replay.timed,
	};
	FILE *out = fopen(command->plot_file, "we");
	int err = 0;

	plot_title(command, result, title, sizeof(title));
	if (out)
		err = kvctl_plot_write(command->replay.plot, &text, out);
	if (!out || (fclose(out) && !err))
		err = -errno;
	if (err)
		fprintf(stderr, "kvctl replay: %s: no picture: %s\n", command->plot_file,
			strerror(-err));
	return err;
}

static int report(const struct command *command, const struct kvctl_replay_result *result,
		  uint64_t malformed)
{
	int err;

	if (!command->json) {
		kvctl_replay_print(&command->replay, result, malformed, stdout);
		return 0;
	}
	err = kvctl_replay_print_json(&command->replay, result, malformed, stdout);
	if (err)
		fprintf(stderr, "kvctl replay: no output: %s\n", strerror(-err));
	return err;
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
			.machine = {
				.speed = KVCTL_SPEED_ONE,
				.prefill_rate = DEFAULT_PREFILL_RATE,
				.decode_rate = DEFAULT_DECODE_RATE,
				.engines = DEFAULT_ENGINES,
				.max_running = DEFAULT_MAX_RUNNING,
			},
		},
	};
	struct kvctl_replay_result result = { 0 };
	struct kvctl_progress progress;
	struct kvctl_trace trace = { 0 };
	struct kvctl_plot plot = { 0 };
	int err, status;

	if (!kvctl_args(&argp, argc, argv, &command, &status))
		return status;
	if (command.plot_file)
		command.replay.plot = &plot;
	err = read_trace(&command, &trace);
	if (!err) {
		warn_of_size(&command.replay);
		kvctl_progress_begin(&progress, "requests", trace.nr_requests, !command.quiet);
		err = kvctl_replay_run(&trace, &command.replay, &progress, &result);
	}
	if (!err)
		err = report(&command, &result, trace.malformed);
	if (!err && command.plot_file)
		err = draw(&command, &result);
	kvctl_trace_free(&trace);
	if (err || result.wrong_rows || result.fsck.total)
		return KVCTL_FAILED;
	return KVCTL_OK;
}

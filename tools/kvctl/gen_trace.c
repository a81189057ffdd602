// SPDX-License-Identifier: MIT
/*
 * kvctl gen-trace - writes a made-up trace. A few system prompts are shared by
 * all conversations; each turn of a conversation repeats what was said and adds
 * to it, with pauses in which others speak. Whole numbers only, so that the same
 * seed gives the same bytes on every machine.
 */
#include <argp.h>
#include <errno.h>
#include <string.h>

#include "args.h"
#include "content.h"
#include "gen_trace.h"
#include "kvctl.h"

#define NR_SYSTEM_PROMPTS	4
#define NR_CONVERSATIONS	24	/* at once */
#define MAX_TURNS		8
#define MAX_IDS			64	/* of one prompt; turns add at most 1200 tokens */
#define MAX_REQUESTS		1000000

/* A conversation: what its next prompt begins with. */
struct conversation {
	uint32_t ids[MAX_IDS];
	uint32_t length;	/* tokens, 0: not begun */
	uint32_t turns;
};

struct generator {
	uint64_t state;
	uint32_t next_id;
	uint64_t now;
	struct conversation system[NR_SYSTEM_PROMPTS];
	struct conversation talk[NR_CONVERSATIONS];
};

/* A random number in [@min, @max]. */
static uint32_t draw(struct generator *gen, uint32_t min, uint32_t max)
{
	gen->state += 0x9e3779b97f4a7c15ULL;
	return min + kvctl_mix64(gen->state) % (max - min + 1);
}

/* @tokens more: blocks that were full keep their ids, the others get new ones. */
static void extend(struct generator *gen, struct conversation *talk, uint32_t tokens)
{
	uint32_t i = talk->length / KVCTL_ID_TOKENS;

	talk->length += tokens;
	for (; i * KVCTL_ID_TOKENS < talk->length; i++)
		talk->ids[i] = gen->next_id++;
}

static void write_request(FILE *out, const struct generator *gen,
			  const struct conversation *talk, uint32_t output)
{
	uint32_t i;

	fprintf(out, "{\"timestamp\": %llu, \"input_length\": %u, \"output_length\": %u, "
		"\"hash_ids\": [", (unsigned long long)gen->now, talk->length, output);
	for (i = 0; i * KVCTL_ID_TOKENS < talk->length; i++)
		fprintf(out, "%s%u", i ? ", " : "", talk->ids[i]);
	fputs("]}\n", out);
}

static void one_request(struct generator *gen, FILE *out)
{
	struct conversation *talk = &gen->talk[draw(gen, 0, NR_CONVERSATIONS - 1)];
	uint32_t output = draw(gen, 20, 200);

	gen->now += draw(gen, 50, 1500);
	if (!talk->length || talk->turns == MAX_TURNS) {
		*talk = gen->system[draw(gen, 0, NR_SYSTEM_PROMPTS - 1)];
		talk->turns = 0;
	}
	extend(gen, talk, draw(gen, 100, 1000));
	write_request(out, gen, talk, output);
	extend(gen, talk, output);
	talk->turns++;
}

int kvctl_gen_trace_write(FILE *out, uint64_t requests, uint64_t seed)
{
	struct generator gen = { .state = seed };
	uint64_t i;

	for (i = 0; i < NR_SYSTEM_PROMPTS; i++)
		extend(&gen, &gen.system[i], KVCTL_ID_TOKENS * (uint32_t)(i + 1));
	for (i = 0; i < requests; i++)
		one_request(&gen, out);
	return fflush(out) || ferror(out) ? -EIO : 0;
}

struct command {
	uint64_t requests;
	uint64_t seed;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command *command = state->input;

	switch (key) {
	case 'n':
		return kvctl_args_number(state, "requests", arg, 1, MAX_REQUESTS,
					 &command->requests);
	case 's':
		return kvctl_args_number(state, "seed", arg, 0, UINT64_MAX, &command->seed);
	case ARGP_KEY_ARG:
		argp_error(state, "no argument expected, '%s' given", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int kvctl_gen_trace(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "requests", 'n', "N", 0, "Requests (300)", 0 },
		{ "seed", 's', "N", 0, "Another seed gives another trace (1)", 0 },
		{ NULL, 0, NULL, 0, NULL, 0 },
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Writes a made-up trace to standard output: conversations that share "
		       "system prompts and grow turn by turn. The same options give the same "
		       "bytes on every machine.\v"
		       "Example:\n"
		       "  kvctl gen-trace --requests 1000 >trace.jsonl",
	};
	struct command command = {
		.requests = KVCTL_GEN_REQUESTS,
		.seed = KVCTL_GEN_SEED,
	};
	int status, err;

	if (!kvctl_args(&argp, argc, argv, &command, &status))
		return status;
	err = kvctl_gen_trace_write(stdout, command.requests, command.seed);
	if (err) {
		fprintf(stderr, "kvctl gen-trace: no output: %s\n", strerror(-err));
		return KVCTL_FAILED;
	}
	return KVCTL_OK;
}

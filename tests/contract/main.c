// SPDX-License-Identifier: MIT
/*
 * The contract test: one stream of calls through one door.
 *
 *	contract --door NAME [--seed N] [--ops N] [--output FILE] [--stream all|device]
 *		 [--chains]
 *
 * The transcripts of all doors must be equal (tests/vm/contract-doors compares them). Exit status
 * 1: an audit found something, a call wrote where it must not, or the stream has not seen what it
 * is to see; 77: this machine has no such door.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "contract.h"

/* Operations of a stream that have to show all there is. */
#define ENOUGH		10000
#define ENOUGH_DEVICE	5000

const struct ct_door *ct_door;

static __u64 number(const char *text)
{
	char *end;
	__u64 value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-')
		ct_die("not a number: \"%s\"", text);
	return value;
}

static const struct ct_door *door_of(const char *name)
{
	__u32 i;

	for (i = 0; ct_doors[i]; i++)
		if (!strcmp(ct_doors[i]->name, name))
			return ct_doors[i];
	fprintf(stderr, "contract: no door \"%s\"; there are", name);
	for (i = 0; ct_doors[i]; i++)
		fprintf(stderr, " %s", ct_doors[i]->name);
	fputc('\n', stderr);
	exit(2);
}

struct options {
	__u64 seed;
	__u64 ops;
	const char *output;
	bool device;
	bool chains;
};

static void usage(void)
{
	fprintf(stderr, "usage: contract --door NAME [--seed N] [--ops N] [--output FILE]\n"
		"                [--stream all|device] [--chains]\n");
	exit(2);
}

static void parse(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "door", required_argument, NULL, 'd' },
		{ "seed", required_argument, NULL, 's' },
		{ "ops", required_argument, NULL, 'n' },
		{ "output", required_argument, NULL, 'o' },
		{ "stream", required_argument, NULL, 'k' },
		{ "chains", no_argument, NULL, 'c' },
		{ }
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 'd')
			ct_door = door_of(optarg);
		else if (option == 's')
			options->seed = number(optarg);
		else if (option == 'n')
			options->ops = number(optarg);
		else if (option == 'o')
			options->output = optarg;
		else if (option == 'k' && (!strcmp(optarg, "all") || !strcmp(optarg, "device")))
			options->device = !strcmp(optarg, "device");
		else if (option == 'c')
			options->chains = true;
		else
			usage();
	}
	if (!ct_door || optind != argc)
		usage();
}

int main(int argc, char **argv)
{
	struct options options = { .seed = 1, .ops = 20000 };
	bool good = true;

	parse(argc, argv, &options);
	ct_shapes_check();
	ct_output = options.output ? fopen(options.output, "w") : stdout;
	if (!ct_output)
		ct_die("%s: %m", options.output);
	if (!ct_door->begin(ct_door)) {
		fprintf(stderr, "contract: this machine has no door \"%s\"\n", ct_door->name);
		return 77;
	}
	if (options.chains)
		good = ct_chains_check();
	else
		ct_stream_run(options.seed, options.ops, options.device);
	if (ct_door->end)
		ct_door->end();
	if (!options.chains && options.ops >= (options.device ? ENOUGH_DEVICE : ENOUGH))
		good = ct_coverage_print(options.device);
	if (fclose(ct_output))
		ct_die("the transcript cannot be written: %m");
	return good ? 0 : 1;
}

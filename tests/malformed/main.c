// SPDX-License-Identifier: MIT
/*
 * The fuzzer of malformed calls.
 *
 *	malformed --door native|device [--calls N] [--seed S] [--procs P]
 *
 * In rounds, so that what all processes have left is seen often: in one each process has pools of
 * its own, in the next all share one. In process there are no rounds. The same arguments give the
 * same calls; what comes of them is the same only where one process is alone and no thread helps.
 * Exit status 1: a call answered what the contract's header does not say, or went through although
 * it was malformed, an audit found something, a block did not come back, or something that is to be
 * tested never was; 77: this machine has no such door.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "malformed.h"

#define ROUND_CALLS	5000		/* of one process */

const struct ct_door *ct_door;		/* of the contract test, whose doors are not used */
const struct mf_door *mf_door;
struct mf_counts *mf_counts;

struct options {
	__u64 calls;
	__u64 seed;
	__u32 procs;
};

static void usage(void)
{
	fprintf(stderr, "usage: malformed --door native|device [--calls N] [--seed S]\n"
		"                 [--procs P]\n");
	exit(2);
}

static __u64 number(const char *text)
{
	char *end;
	__u64 value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-')
		usage();
	return value;
}

static void parse(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "door", required_argument, NULL, 'd' },
		{ "calls", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "procs", required_argument, NULL, 'p' },
		{ }
	};
	int option;
	__u32 i;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 'n')
			options->calls = number(optarg);
		else if (option == 's')
			options->seed = number(optarg);
		else if (option == 'p')
			options->procs = number(optarg);
		else if (option != 'd')
			usage();
		for (i = 0; option == 'd' && mf_doors[i]; i++)
			if (!strcmp(mf_doors[i]->name, optarg))
				mf_door = mf_doors[i];
	}
	if (!mf_door || !options->procs || optind != argc)
		usage();
}

/* What it has open is left to its end. */
static void process(__u64 seed, __u32 index, __u64 calls, bool shared, __u32 scene)
{
	if (mf_door->process)
		mf_door->process();
	mf_memory_process();
	mf_company_process();
	mf_files_process(index);
	mf_run(seed, index, calls, shared, scene);
	mf_files_end();
}

/* False: one did not end as it should. */
static bool run_round(const struct options *options, __u32 round, __u64 calls)
{
	const bool shared = mf_door->device && round % 2;
	bool good = true;
	__u32 i;

	if (shared)
		mf_shared_begin(options->seed, round);
	fflush(stdout);
	for (i = 0; i < options->procs; i++) {
		pid_t pid = fork();

		if (pid < 0)
			ct_die("fork: %m");
		if (pid)
			continue;
		mf_where(options->seed, round, i);
		process(options->seed + ((__u64)round << 32) + ((__u64)i << 16), i, calls, shared,
			round);
		_exit(0);
	}
	for (i = 0; i < options->procs; i++) {
		int status;
		pid_t pid = wait(&status);

		if (status)
			fprintf(stderr, "malformed: seed %llu round %u: process %d ended: 0x%x\n",
				options->seed, round, (int)pid, status);
		good = good && pid > 0 && !status;
	}
	mf_where(options->seed, round, ~0U);
	if (shared && good)
		mf_shared_end();
	return good;
}

static bool run(const struct options *options)
{
	__u64 left = options->calls / options->procs;
	__u32 round;

	if (!mf_door->device && options->procs == 1) {
		mf_where(options->seed, 0, 0);
		process(options->seed, 0, left, false, 0);
		return true;
	}
	for (round = 0; left; round++) {
		__u64 calls = left < ROUND_CALLS ? left : ROUND_CALLS;

		if (!run_round(options, round, calls))
			return false;
		left -= calls;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct options options = { .calls = 100000, .seed = 1, .procs = 1 };

	parse(argc, argv, &options);
	printf("malformed: seed %llu\n", options.seed);
	ct_shapes_check();
	ct_output = fopen("/dev/null", "we");
	if (!ct_output)
		ct_die("/dev/null: %m");
	if (!mf_door->begin()) {
		fprintf(stderr, "malformed: this machine has no door \"%s\"\n", mf_door->name);
		return 77;
	}
	mf_counts = mmap(NULL, sizeof(*mf_counts), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (mf_counts == MAP_FAILED)
		ct_die("cannot map memory: %m");
	mf_kinds_begin();
	mf_judge_begin();
	return run(&options) && mf_summary(options.seed) ? 0 : 1;
}

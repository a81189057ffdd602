// SPDX-License-Identifier: MIT
/*
 * The stamp test with processes: clients of /dev/kvpool, and an accelerator, a process of its own
 * that maps the pool's bytes and goes on writing when a client is killed with SIGKILL. Others then
 * want the blocks. See tests/stamps/stamps.h.
 *
 *	stamps [--ms N] [--seed S] [--late-use]
 *
 * --ms: how long. --late-use: uses are said after the launch, as they must not be. Exit status
 * 1: foreign stamps were seen, or rows were gone that a step had to read.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../stamps/accel.h"
#include "support.h"

#define POOL		"dev:stamps"
#define GRACE_MS	2000
#define PAUSE_US	200		/* of a step */
#define CANCEL_US	30000
#define BURST		20		/* things that a client does before it looks up */
#define KILL_US		500000		/* between two kills, at most */

/**
 * struct place - one client
 * @life: of the client; valid, as the next, once it is at work
 * @context: index of its context
 * @at_work: bursts that are over
 */
struct place {
	_Atomic uint32_t life;
	_Atomic uint32_t context;
	_Atomic uint32_t at_work;
};

/* What all processes share. */
struct shared {
	struct stamps_score score;
	struct accel accel;
	struct place place[STAMPS_CLIENTS];
	_Atomic bool stop;
};

static struct shared *shared;
static struct stamps stamps = { .pause_us = PAUSE_US, .cancel_us = CANCEL_US };
static struct kvp_pool *machine;	/* the parent's, with which nobody works */
static pid_t pids[STAMPS_CLIENTS];

/* ---- processes ---- */

static pid_t spawn(void)
{
	pid_t pid;

	fflush(stdout);
	pid = kvpv_sys(fork());
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static pid_t start_accelerator(void)
{
	pid_t pid = spawn();

	if (pid)
		return pid;
	accel_start(&stamps, &shared->accel);
	for (;;)
		pause();
}

static void be_client(struct place *place, uint64_t seed)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	struct kvp_pool *pool;

	engine_check("open", kvp_pool_open(POOL, &pool));
	accel_open(engine, pool, &shared->accel);
	engine_begin(engine, &stamps, &accel_ops, pool, seed);
	atomic_store(&place->life, engine->life);
	atomic_store(&place->context, accel_context_of(engine) - shared->accel.context);
	while (!atomic_load(&shared->stop) && !stamps_enough(&stamps)) {
		engine_work(engine, BURST);
		atomic_fetch_add(&place->at_work, 1);
	}
	engine_end(engine);
	accel_close(engine);
	kvp_pool_close(pool);
	exit(0);
}

static void start_client(uint32_t at, uint64_t *random)
{
	uint64_t seed = stamps_random(random);

	atomic_store(&shared->place[at].at_work, 0);
	pids[at] = spawn();
	if (!pids[at])
		be_client(&shared->place[at], seed);
}

static void expect_alive(void)
{
	int status;
	uint32_t i;

	for (i = 0; i < STAMPS_CLIENTS; i++) {
		if (kvpv_sys(waitpid(pids[i], &status, WNOHANG)) && !stamps_enough(&stamps))
			kvpv_fail("client %u ended with status 0x%x", i, status);
	}
}

/* ---- the run ---- */

static bool at_work(uint32_t at)
{
	expect_alive();
	return atomic_load(&shared->place[at].at_work) >= 2 || stamps_enough(&stamps);
}

static void kill_one(uint32_t at)
{
	struct place *place = &shared->place[at];
	struct accel_context *context;

	kvpv_until(KVPV_WAIT_MS, at_work(at));
	if (stamps_enough(&stamps))
		return;
	context = &shared->accel.context[atomic_load(&place->context)];
	accel_kill(&stamps, atomic_load(&place->life), context);
	kvpv_kill(pids[at]);
	accel_release(context);
}

static void play(u32 ms, uint64_t *random, struct stamps_peak *peak)
{
	u64 end = kvpv_now_ms() + ms;
	u32 at;

	for (at = 0; at < STAMPS_CLIENTS; at++)
		start_client(at, random);
	while (kvpv_now_ms() < end && !stamps_enough(&stamps)) {
		stamps_pause(random, KILL_US);
		stamps_look(machine, peak);
		at = stamps_below(random, STAMPS_CLIENTS);
		kill_one(at);
		if (!stamps_enough(&stamps))
			start_client(at, random);
		stamps_look(machine, peak);
	}
	atomic_store(&shared->stop, true);
}

static void finish(void)
{
	int status;
	u32 i;

	for (i = 0; i < STAMPS_CLIENTS; i++) {
		if (!stamps_enough(&stamps))
			kvpv_wait_done(pids[i]);
		else
			waitpid(pids[i], &status, 0);
	}
}

int main(int argc, char **argv)
{
	struct stamps_peak peak = { };
	u64 seed = 1, random;
	u32 ms = 10000;
	pid_t accelerator;
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--late-use"))
			stamps.late_use = true;
		else if (!strcmp(argv[i], "--ms") && i + 1 < argc)
			ms = strtoul(argv[++i], NULL, 0);
		else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
			seed = strtoull(argv[++i], NULL, 0);
		else
			return 2;
	}
	random = seed;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	kvpv_true(shared != MAP_FAILED);
	stamps.score = &shared->score;
	accel_init(&shared->accel);
	machine = stamps_pool(&stamps, POOL, GRACE_MS);
	accelerator = start_accelerator();
	play(ms, &random, &peak);
	finish();
	stamps_report(&stamps, &peak);
	if (shared->score.foreign || shared->score.missing)
		return 1;
	stamps_check_end(&stamps, machine);
	stamps_check_covered(&stamps, &peak);
	kvpv_kill(accelerator);
	kvp_pool_close(machine);
	printf("stamps: %u ms, seed %llu: sound\n", ms, (unsigned long long)seed);
	return 0;
}

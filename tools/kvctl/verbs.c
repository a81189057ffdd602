// SPDX-License-Identifier: MIT
/*
 * The table of verbs, for the command line and for the lines of `kvctl shell`. Constant.
 */
#include "kvctl.h"

const struct kvctl_verb kvctl_verbs[] = {
	{ "create", "Make a pool", kvctl_create },
	{ "list", "Show which pools there are", kvctl_list },
	{ "stat", "Show what a pool is, has and counted", kvctl_stat },
	{ "blocks", "Show each block: owner, identity, why it is not free", kvctl_blocks },
	{ "map", "Draw a pool, one cell a block, by state", kvctl_map },
	{ "clients", "Show who is attached to a pool, and what each has", kvctl_clients },
	{ "exports", "Show which sequences of a pool are exported", kvctl_exports },
	{ "top", "Watch pools and their clients, live", kvctl_top },
	{ "limit", "Set what a client or a user may have, show what it has", kvctl_limit },
	{ "revoke", "End an export", kvctl_revoke },
	{ "reap", "End the quarantine of dead clients", kvctl_reap },
	{ "destroy", "End a pool", kvctl_destroy },
	{ "fsck", "Recount everything in a pool, and compare", kvctl_fsck },
	{ "demo", "Show in a minute what a pool does; needs nothing", kvctl_demo },
	{ "replay", "Replay a trace of requests against a pool and report", kvctl_replay },
	{ "bench", "Measure a pool's calls against what a cache miss takes", kvctl_bench },
	{ "gen-trace", "Write a small, made-up trace for replay", kvctl_gen_trace },
	{ "shell", "Run verbs and the operations of a pool, one a line", kvctl_shell },
};

const size_t kvctl_nr_verbs = sizeof(kvctl_verbs) / sizeof(kvctl_verbs[0]);

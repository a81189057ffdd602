/* SPDX-License-Identifier: MIT */
/*
 * What the files of the fail-nth sweep offer each other. One thread; all state is the program's.
 *
 * A scenario is one operation in one state. It is called again and again, and each time a later
 * point fails: an allocation, or a copy from or to the caller. After each the call must have said
 * why, nothing may have changed (or just what the contract says), and the audit finds nothing;
 * when no point is left it succeeds, and all is as if nothing had ever failed.
 *
 * Scenarios make their calls with kvpv_*(), and know nothing of the door: this process
 * (door_inproc.c), or the device by ioctl(2) and io_uring (door_device.c).
 */
#ifndef KVP_FAILNTH_H
#define KVP_FAILNTH_H

#include "support.h"

/* ---- doors ---- */

/**
 * enum fn_point - what failed
 * @FN_NONE: nothing: the call met fewer points
 * @FN_ALLOC: an allocation
 * @FN_READ: a copy from the caller, or the look whether an array can be written
 * @FN_WRITE: a copy to the caller: its struct, or the reason there
 * @FN_PUT: a copy to the caller: an array
 * @FN_SOME: one of these, and nobody knows which
 */
enum fn_point {
	FN_NONE,
	FN_ALLOC,
	FN_READ,
	FN_WRITE,
	FN_PUT,
	FN_SOME,
};

/* What a call returns of which the door could not even begin. */
#define FN_NOT_CALLED	(-ECOMM)

/**
 * struct fn_door - a way to the core that can be made to fail
 * @name: for people
 * @kinds: sweeps of a scenario, one a kind of points
 * @kind: their names
 * @begin: false: this machine has no such door
 * @open: a client of this uid, with gid 0
 * @close: its end, and what it held has come back
 * @close_file: close the descriptor of an export or backing
 * @call: one operation, as kvpv_way; if fn_nth is set, its fn_nth-th point of fn_kind fails,
 *        fn_nth is set to 0 and fn_met to what failed
 * @resources: what the process and the device have open, in words
 * @end: after the last client
 */
struct fn_door {
	const char *name;
	u32 kinds;
	const char *kind[2];
	bool (*begin)(void);
	int (*open)(u32 uid);
	void (*close)(int fd);
	void (*close_file)(int fd);
	int (*call)(int fd, u32 op, void *arg, u32 size);
	void (*resources)(char text[64]);
	void (*end)(void);
};

extern const struct fn_door *fn_door;
extern u32 fn_nth;
extern u32 fn_kind;
extern enum fn_point fn_met;

/* ---- scenarios ---- */

#define FN_BLOCKS	96		/* of each family of the usual pool */
#define FN_TOKENS	96
#define FN_LONG		70		/* entries of a batch for which memory is taken */
#define FN_UID		1001		/* of the second client */
#define FN_POOL		"failnth"

/* Structs of the entries of a batch. */
union fn_arg {
	struct kvp_head head;
	struct kvp_abi abi;
	struct kvp_seq_create create;
	struct kvp_seq_append append;
	struct kvp_seq_advance advance;
	struct kvp_prefix_publish publish;
	struct kvp_seq_table table;
	struct kvp_block_alloc alloc;
	struct kvp_seq_id seq;
};

/**
 * struct fn_state - what a scenario works on
 * @a: client that made the pool, of uid 0
 * @b: a second one, of FN_UID; -1: none
 * @c: one that is attached to nothing yet; -1: none
 * @t: a timeline of @a
 * @seq: sequences of @a, of which the tables are looked at
 * @nr_seqs: how many
 * @block: raw blocks of @a
 * @id: of a match, ticket, export or client
 * @made: id that the call made
 * @file: descriptor of an export, or of memory; -1: none
 * @got: descriptor that the call made; -1: none
 * @events: look at the events, too
 * @tokens: a text
 * @other: another text
 * @steps: entries of the batch to execute
 * @done: entries that were executed and succeeded
 * @arg: structs of the entries
 * @entry: the batch
 */
struct fn_state {
	int a;
	int b;
	int c;
	u32 t;
	u64 seq[4];
	u32 nr_seqs;
	u64 block[FN_BLOCKS];
	u64 id;
	u64 made;
	int file;
	int got;
	bool events;
	u32 tokens[FN_TOKENS];
	u32 other[FN_TOKENS];
	u32 steps;
	u32 done;
	union fn_arg arg[FN_LONG];
	struct kvp_batch_entry entry[FN_LONG];
};

/**
 * enum fn_after - what is left where the result cannot be written
 * @FN_STANDS: all that the call did
 * @FN_UNDONE: nothing but counters of what has happened
 * @FN_UNDONE_NEARLY: the same, but blocks that were idle may be free, and tables may keep the
 *                    room that they got
 */
enum fn_after {
	FN_STANDS,
	FN_UNDONE,
	FN_UNDONE_NEARLY,
};

/**
 * struct fn_scenario - one operation in one state
 * @op: the operation
 * @name: its name, and what is special here
 * @after: what is left where the result cannot be written
 * @allocs: points of allocation that there are at least, in process
 * @expected: what the call returns where nothing fails
 * @steps: of a batch: its entries; else 0
 * @prepare: make the state; the pool is there
 * @call: the call, once
 */
struct fn_scenario {
	u32 op;
	const char *name;
	enum fn_after after;
	u32 allocs;
	int expected;
	u32 steps;
	void (*prepare)(struct fn_state *s);
	int (*call)(struct fn_state *s);
};

/* One array a file of scenarios; each ends with an entry without a name. */
extern const struct fn_scenario fn_pool_scenarios[], fn_block_scenarios[], fn_seq_scenarios[],
	fn_remap_scenarios[], fn_share_scenarios[], fn_prefix_scenarios[], fn_fence_scenarios[],
	fn_watch_scenarios[], fn_batch_scenarios[];

/* Number @i of all, or NULL. */
const struct fn_scenario *fn_scenario(u32 i);

/* The usual pool, its maker @s->a and @s->b, which may use and publish. */
void fn_state_begin(struct fn_state *s);
void fn_state_end(struct fn_state *s);
/* In its place one of these families. */
void fn_pool_again(struct fn_state *s, u32 flags, const struct kvp_family_desc *families, u32 nr);
/* A sequence of @s->a that is looked at: with all tokens computed, or published. */
u64 fn_computed(struct fn_state *s, const u32 *tokens, u32 nr);
u64 fn_published(struct fn_state *s, const u32 *tokens, u32 nr);
/* @nr tokens published, and nobody's. */
void fn_idle(struct fn_state *s, const u32 *tokens, u32 nr);

/* ---- what can be seen (world.c) ---- */

/**
 * enum fn_view - how much of it
 * @FN_EXACT: all
 * @FN_LOOSE: without counters of what has happened
 * @FN_LEFT: nor what a reclaim changes, and the memory of tables
 * @FN_ALIKE: all, but names of blocks and clients, which may be others
 * @FN_GIST: what is in both of the last two
 */
enum fn_view {
	FN_EXACT,
	FN_LOOSE,
	FN_LEFT,
	FN_ALIKE,
	FN_GIST,
	FN_VIEWS,
};

struct fn_world {
	char *text[FN_VIEWS];
};

void fn_world_take(const struct fn_state *s, struct fn_world *world);
void fn_world_drop(struct fn_world *world);
bool fn_world_same(const struct fn_world *one, const struct fn_world *two, enum fn_view view);
/* Print the lines in which they differ first. */
void fn_world_show(const struct fn_world *one, const struct fn_world *two, enum fn_view view);

/* ---- the sweep (sweep.c) ---- */

/**
 * struct fn_counts - failing points
 * @points: that failed
 * @enomem: calls that returned ENOMEM
 * @efault: EFAULT
 * @survived: what they would without
 * @elsewhere: calls that the door could not begin
 */
struct fn_counts {
	u64 points;
	u64 enomem;
	u64 efault;
	u64 survived;
	u64 elsewhere;
};

void fn_counts_add(struct fn_counts *total, const struct fn_counts *counts);
/* All scenarios whose name has @only in it; what was counted is added to *@total. */
void fn_sweep(const char *only, struct fn_counts *total);
/* The closing line; the exit status of the program. */
int fn_summary(const struct fn_counts *total);

/* Something is wrong. */
void fn_finding(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
extern u64 fn_findings;

#endif /* KVP_FAILNTH_H */

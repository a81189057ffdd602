/* SPDX-License-Identifier: MIT */
/*
 * The parts of the benchmark: items that are measured in rounds, the scenes (pools of a
 * known filling) in which they run, and the lines that are made of them.
 */
#ifndef KVCTL_BENCH_H
#define KVCTL_BENCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <kvpool.h>

#define BENCH_MAX_ROUNDS	100
#define BENCH_MAX_SAMPLES	(2 * BENCH_MAX_ROUNDS)	/* of one item */
#define BENCH_SPARE		16384	/* blocks of a scene that are not published */
#define BENCH_SEQS		128	/* sequences of one batch of work ... */
#define BENCH_SEQ_BLOCKS	64	/* ... of so many blocks each */
#define BENCH_WORK		(BENCH_SEQS * BENCH_SEQ_BLOCKS)
#define BENCH_NAME_LEN		64
#define BENCH_REASON_LEN	96

struct bench;
struct bench_run;

/* ---- time ------------------------------------------------------------------ */

/**
 * struct bench_timer - adds up what lies between start and stop
 * @ns: CPU time of this thread, without the cost of reading the clock
 * @faults: page faults
 * @started_ns: of the part that runs
 * @started_faults: of the part that runs
 */
struct bench_timer {
	double ns;
	uint64_t faults;
	double started_ns;
	uint64_t started_faults;
};

void bench_start(struct bench_timer *timer);
void bench_stop(struct bench_timer *timer);

/* Measures what one pair of start and stop costs, which is then taken off. Returns it in ns. */
double bench_clock_calibrate(void);

/* ---- scenes ---------------------------------------------------------------- */

/* How the prefixes of a scene came into the pool. */
enum bench_shape {
	BENCH_ORDERED,		/* one after the other: neighbours in a prefix are in memory */
	BENCH_SCATTERED,	/* block by block, many at once: neighbours lie anywhere */
	BENCH_CHANGING,		/* as ordered; the operations push out what is oldest */
};

/**
 * struct bench_prefix - one published prefix
 * @id: its tokens follow from it
 * @blocks: how many
 */
struct bench_prefix {
	uint64_t id;
	uint32_t blocks;
};

/**
 * struct bench_scene - a pool with @published published blocks and BENCH_SPARE free ones
 * @name: "16/10k": tokens a block, published blocks
 * @tokens: tokens of a block
 * @published: blocks
 * @shape: how they came there
 * @wanted: something is to be measured in it
 * @skipped: why there is none, or ""
 * @pool: the pool
 * @space: namespace of the prefixes
 * @other: namespace of what is published for a moment
 * @prefixes: array of @nr_prefixes
 * @ids: buffer for the token ids of BENCH_WORK blocks
 * @blocks: buffer for BENCH_WORK block ids
 * @seq: sequences at work
 * @fence: value of the first timeline that the next work writes; 0: no timelines were made
 * @random: state of the choices
 */
struct bench_scene {
	char name[BENCH_NAME_LEN];
	uint32_t tokens;
	uint64_t published;
	enum bench_shape shape;
	bool wanted;
	char skipped[BENCH_REASON_LEN];
	struct kvp_pool *pool;
	uint8_t space[KVP_DIGEST_LEN];
	uint8_t other[KVP_DIGEST_LEN];
	struct bench_prefix *prefixes;
	size_t nr_prefixes;
	uint32_t *ids;
	uint64_t *blocks;
	kvp_seq_t seq[BENCH_SEQS];
	uint64_t fence;
	uint64_t random;
};

/* Makes and fills the pool. 0, or a negative errno after a message on stderr. */
int bench_scene_open(struct bench_scene *scene);
void bench_scene_close(struct bench_scene *scene);

/* Bytes of memory that the scene will take, about. */
uint64_t bench_scene_bytes(const struct bench_scene *scene);

uint64_t bench_random(uint64_t *state);

/* The first @nr token ids of prefix @id from token @first on. */
void bench_tokens(uint64_t id, uint64_t first, uint64_t nr, uint32_t *ids);

/* Begin all of @scene's sequences, without a token. */
int bench_begin_all(struct bench_scene *scene);

/* An id that no prefix of this process has. */
uint64_t bench_new_prefix(void);

/* Says that a call failed (see kvp_error()) or that its result is wrong; a negative errno. */
int bench_failed(const struct bench_scene *scene, const char *what, int err);
int bench_wrong(const struct bench_scene *scene, const char *what, uint64_t found,
		uint64_t expected);

/* ---- items ------------------------------------------------------------------- */

/* What an operation's lines say. */
enum bench_kind {
	BENCH_BLOCKS,		/* time of a block: in misses of the same round, and in ns */
	BENCH_NS,		/* time of a unit in ns */
	BENCH_RATE,		/* units a ns */
	BENCH_VALUE,		/* a value that is no time */
};

/* For bench_op.in. */
#define BENCH_IN_ORDERED	(1U << BENCH_ORDERED)
#define BENCH_IN_SCATTERED	(1U << BENCH_SCATTERED)
#define BENCH_IN_CHANGING	(1U << BENCH_CHANGING)

/**
 * struct bench_op - an operation that is measured
 * @name: of its lines
 * @unit: of what its line says (BENCH_BLOCKS: unused)
 * @kind: enum bench_kind
 * @goal: what the line's value may be at most, at 16 tokens a block; 0: none
 * @in: BENCH_IN_*: the scenes in which it runs; 0: it needs none
 * @large: it runs in scenes of 512 tokens a block too
 * @rounds: in so many rounds at most, without a scene in rounds of its own; 0: in all
 * @against: a line of its own compares it with the op of this name in the same scene; NULL: none
 * @run: does it once; 0, -ENODATA (run->skipped says why not), or another negative errno
 *       after a message on stderr
 */
struct bench_op {
	const char *name;
	const char *unit;
	enum bench_kind kind;
	double goal;
	unsigned int in;
	bool large;
	uint64_t rounds;
	const char *against;
	int (*run)(struct bench_run *run);
};

/**
 * struct bench_run - an operation at work
 * @bench: the benchmark
 * @scene: where, or NULL
 * @timer: out: time of all units (BENCH_VALUE: ns is the value of all units)
 * @units: out: how many
 * @skipped: out: why it cannot be measured
 */
struct bench_run {
	const struct bench *bench;
	struct bench_scene *scene;
	struct bench_timer timer;
	uint64_t units;
	char skipped[BENCH_REASON_LEN];
};

/* Tables that end with an op that has no name. */
extern const struct bench_op bench_floor_ops[];
extern const struct bench_op bench_prefix_ops[];
extern const struct bench_op bench_seq_ops[];
extern const struct bench_op bench_fence_ops[];
extern const struct bench_op bench_cost_ops[];
extern const struct bench_op bench_rows_ops[];

/**
 * struct bench_item - an operation in a scene
 * @op: the operation
 * @scene: where, or NULL
 * @wanted: a line that was asked for needs it
 * @skipped: why it was not measured, or ""
 * @nr: samples
 * @value: samples: time of a unit in ns, or the value
 * @miss: the miss, measured just before each, ns
 * @faults: page faults while the clock ran
 */
struct bench_item {
	const struct bench_op *op;
	struct bench_scene *scene;
	bool wanted;
	char skipped[BENCH_REASON_LEN];
	int nr;
	double value[BENCH_MAX_SAMPLES];
	double miss[BENCH_MAX_SAMPLES];
	uint64_t faults;
};

/* ---- lines -------------------------------------------------------------------- */

/**
 * struct bench_line - one line of the result
 * @name: what was measured
 * @unit: of @value
 * @limit: the goal: at most so much; 0: none
 * @item: whose samples it is made of
 * @divisor: the item that each sample is divided by, or NULL
 * @per_miss: each sample is divided by the miss of its round
 * @rate: one over the sample
 */
struct bench_line {
	char name[BENCH_NAME_LEN];
	const char *unit;
	double limit;
	struct bench_item *item;
	struct bench_item *divisor;
	bool per_miss;
	bool rate;
};

/**
 * struct bench - one run
 * @filter: only lines whose names have this in them
 * @trace: file for the operations that replay a trace, or NULL
 * @rounds: how often everything is measured
 * @quick: few rounds, no pool of 1,000,000 blocks
 * @scenes: array of @nr_scenes
 * @items: array of @nr_items; the first one is the miss
 * @lines: array of @nr_lines
 */
struct bench {
	const char *filter;
	const char *trace;
	uint64_t rounds;
	bool quick;
	struct bench_scene *scenes;
	size_t nr_scenes;
	struct bench_item *items;
	size_t nr_items;
	struct bench_line *lines;
	size_t nr_lines;
};

/* Makes the items and the lines that @bench->filter leaves. 0 or -ENOMEM. */
int bench_plan(struct bench *bench);
void bench_plan_free(struct bench *bench);

void bench_print_list(const struct bench *bench, FILE *out);
void bench_print(const struct bench *bench, FILE *out);
/* A new object, or NULL: no memory. */
json_t *bench_json(const struct bench *bench);

/* ---- floors ------------------------------------------------------------------- */

void bench_floor_close(void);

/* Fills the caches with something else. 0, or -ENOMEM after a message. */
int bench_floor_evict(void);

/* The trace is no longer needed. */
void bench_cost_close(void);

/* Gives back the tensors of the rows that move. */
void bench_rows_close(void);

/* Bytes of memory that can still be had, 0: unknown. */
uint64_t bench_available_bytes(void);

#endif /* KVCTL_BENCH_H */

/* SPDX-License-Identifier: MIT */
/*
 * The stamp test: does a block change hands while work may touch it? Every row in the bytes of
 * the pool says who wrote it. Clients launch steps at random on an accelerator, which reads and
 * writes rows for a while; meanwhile requests are cancelled, cut, forked and published, raw blocks
 * given back, and clients killed. A step that finds a stamp that is not its own has seen a
 * block change hands under it.
 *
 *   order.c       what a step does with the bytes, and what it finds
 *   engine.c      a client at work
 *   engine_seq.c  what it does with sequences
 *   engine_raw.c  what it does with blocks of tables of its own
 *   report.c      what came of it
 *   accel.c       an accelerator that goes on when its client is dead
 *
 * The same for both doors: tests/threads/stamps.c has clients and accelerator in one process,
 * tests/vm/stamps.c in processes of their own.
 */
#ifndef KVPS_STAMPS_H
#define KVPS_STAMPS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <kvpool.h>

#define STAMPS_FAMILIES	2		/* DENSE, WINDOW */
#define STAMPS_BLOCK	4		/* tokens of a block, and of a node */
#define STAMPS_DENSE	64		/* blocks */
#define STAMPS_WINDOWED	52
#define STAMPS_WINDOW	9		/* tokens */
#define STAMPS_MAX_BLOCKS 64		/* of a family */
#define STAMPS_CLIENTS	4
#define STAMPS_LIVES	4096		/* clients whose work may go on at the same time */
#define STAMPS_STREAMS	2		/* a client */
#define STAMPS_DEPTH	4		/* orders on their way in a stream */
#define STAMPS_ROWS	64		/* of an order */
#define STAMPS_DOCS	3		/* that prompts begin with */
#define STAMPS_DOC_TOKENS 20

/* ---- bytes ---- */

/**
 * struct stamp - one row of a block
 * @owner: a sequence, or a raw block while one holds it: the life of its client, and a
 *         number that is never given twice
 * @content: follows from the token ids up to this one; of a raw block, from owner and place
 */
struct stamp {
	uint64_t owner;
	uint64_t content;
};

/**
 * enum row_work - what a step has to do with a row
 * @ROW_READ: it has this content, whoever wrote it, and stays as it is
 * @ROW_OWN: it has this very stamp, and keeps it
 * @ROW_WRITE: it gets this stamp, and keeps it
 */
enum row_work {
	ROW_READ = 1,
	ROW_OWN,
	ROW_WRITE,
};

struct order_row {
	uint32_t family;
	uint32_t work;
	uint64_t row;			/* index of the block * STAMPS_BLOCK + place in it */
	struct stamp stamp;
};

/**
 * struct order - what one step does
 * @seed: of its pauses
 * @passes: how often it looks at its rows before it ends
 * @pause_us: the longest pause between two looks or writes
 * @life: of the client, % STAMPS_LIVES
 * @nr: rows
 * @rows: in the order of the work
 */
struct order {
	uint64_t seed;
	uint32_t passes;
	uint32_t pause_us;
	uint32_t life;
	uint32_t nr;
	struct order_row rows[STAMPS_ROWS];
};

/* ---- what all share ---- */

/**
 * struct stamps_score - what came of it, counted by everybody
 *
 * All of it is atomic. In process a static one, in the VM in memory that all processes share.
 */
struct stamps_score {
	_Atomic uint64_t orders;
	_Atomic uint64_t rows;
	_Atomic uint64_t foreign;	/* rows with a stamp that was not right */
	_Atomic uint64_t missing;	/* rows that a window let go before a step had read them */
	_Atomic uint64_t changed;	/* blocks written that were another's before */
	_Atomic uint64_t orphans;	/* orders that ended after their client's death */
	_Atomic uint64_t dropped;	/* of dead clients, not begun or broken off */
	_Atomic uint64_t refused;	/* uses that were refused since rows are others', too */
	_Atomic uint64_t late;		/* uses that came when the work had ended */
	_Atomic uint64_t gone;		/* sequences that were cancelled before their launch */
	_Atomic uint64_t full;
	_Atomic uint64_t made;
	_Atomic uint64_t matched;	/* tokens */
	_Atomic uint64_t published;	/* tokens */
	_Atomic uint64_t cancelled;	/* with work on its way */
	_Atomic uint64_t cut;		/* with work on its way */
	_Atomic uint64_t forked;
	_Atomic uint64_t raw;		/* blocks given back with work on its way */
	_Atomic uint64_t kills;		/* clients with work on its way */
	_Atomic uint64_t next_owner;
	/* By block: an order of a dead client that touched it has ended (for TSan: see order.c). */
	_Atomic uint32_t ended[STAMPS_FAMILIES][STAMPS_MAX_BLOCKS];
	/* By life % STAMPS_LIVES: orders that have ended, and when it was killed, ns, or 0. */
	_Atomic uint64_t done[STAMPS_LIVES];
	_Atomic uint64_t death[STAMPS_LIVES];
	_Atomic uint32_t lives;
};

/**
 * struct stamps - one run
 * @base: the rows of each family, mapped once for all
 * @score: see there
 * @grace_ns: of the pool; work of a dead client ends in half that time
 * @pause_us: the longest pause of a step, of which it makes many
 * @cancel_us: the longest time between two cancellations by one client
 * @late_use: uses are said after the launch, which is wrong
 */
struct stamps {
	struct stamp *base[STAMPS_FAMILIES];
	struct stamps_score *score;
	uint64_t grace_ns;
	uint32_t pause_us;
	uint32_t cancel_us;
	bool late_use;
};

#define stamps_count(stamps, what, nr) \
	atomic_fetch_add_explicit(&(stamps)->score->what, (nr), memory_order_relaxed)

void stamps_die(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));
#define stamps_fail(...) stamps_die(__FILE__, __LINE__, __VA_ARGS__)

uint64_t stamps_now(void);
uint64_t stamps_random(uint64_t *state);
/* 0..@n-1 */
uint32_t stamps_below(uint64_t *state, uint32_t n);
void stamps_pause(uint64_t *random, uint32_t max_us);

/* The rows of a family, mapped until the process ends. */
struct stamp *stamps_map(struct kvp_pool *pool, uint32_t family);
/* Make the pool, and map its bytes. */
struct kvp_pool *stamps_pool(struct stamps *stamps, const char *name, uint32_t grace_ms);
/* Do what @order says, on the calling thread. */
void stamps_run(struct stamps *stamps, const struct order *order);
/* A client is dead from now on. */
void stamps_kill(struct stamps *stamps, uint32_t life);

/**
 * struct stamps_peak - the most of what was seen at one time
 */
struct stamps_peak {
	uint64_t held_back;
	uint64_t zombies;
	uint64_t uses;
	uint64_t quarantined;
};

/* The audit finds nothing; what there is now. */
void stamps_look(struct kvp_pool *machine, struct stamps_peak *peak);
/* So many foreign stamps that more would prove nothing. */
bool stamps_enough(const struct stamps *stamps);
void stamps_report(const struct stamps *stamps, const struct stamps_peak *peak);
/* All blocks come back, those of the dead when their grace time is over. */
void stamps_check_end(const struct stamps *stamps, struct kvp_pool *machine);
/* Everything happened that this test is about; a run in which it did not proves little. */
void stamps_check_covered(const struct stamps *stamps, const struct stamps_peak *peak);

/* ---- a client at work ---- */

#define STAMPS_SEQS	4
#define STAMPS_RAWS	3
#define STAMPS_TOKENS	40		/* of a sequence at most */
#define STAMPS_RAW_BLOCKS 3

/**
 * struct stamps_seq - a sequence as its client knows it
 * @id: 0: none; whoever takes it out ends the sequence
 * @owner: in the stamps that it writes
 * @roams: its steps are launched on any stream, so that they end in any order
 * @nr: tokens
 * @have: tokens that have rows when all steps launched by now have ended
 * @token: ids
 * @content: of the rows
 * @writer: whose stamps the rows have; 0: it may be anybody who computed the same
 */
struct stamps_seq {
	_Atomic uint64_t id;
	uint64_t owner;
	_Atomic bool roams;
	uint32_t nr;
	uint32_t have;
	uint32_t token[STAMPS_TOKENS];
	uint64_t content[STAMPS_TOKENS];
	uint64_t writer[STAMPS_TOKENS];
};

enum raw_state {
	RAW_NONE,
	RAW_HELD,
	RAW_LEAVING,			/* somebody gives it back, and makes it NONE then */
};

struct stamps_raw {
	_Atomic uint32_t state;
	uint32_t family;
	uint32_t nr;
	bool written;
	uint64_t owner;
	uint64_t block[STAMPS_RAW_BLOCKS];
};

struct engine;

/**
 * struct stamps_ops - how a client reaches its accelerator
 * @slot: an order of @stream to be filled in; waits until there is one
 * @say: what the order just given will touch; sets timeline and value of @uses
 * @launch: that order; it begins when those launched before in this stream have ended
 * @end: the step of that order, which has one if it was @said, is over when the order is
 * @busy: orders of @stream that have not ended
 */
struct stamps_ops {
	struct order *(*slot)(struct engine *engine, uint32_t stream);
	int (*say)(struct engine *engine, uint32_t stream, struct kvp_use_entry *uses, uint32_t nr);
	void (*launch)(struct engine *engine, uint32_t stream);
	void (*end)(struct engine *engine, uint32_t stream, bool said);
	uint32_t (*busy)(struct engine *engine, uint32_t stream);
};

/**
 * struct engine - one client
 * @stamps: see there
 * @ops: see there
 * @pool: its handle
 * @life: its number among all clients; its own thread alone, as all but what is atomic
 * @random: state of its random numbers
 * @cancels: seed of those of the canceller
 * @passes: of the next order, 0: any
 * @space: namespace of all clients
 * @seq: see there
 * @raw: see there
 * @canceller: the thread that cancels
 * @over: it is to end
 * @lane: of @ops
 */
struct engine {
	struct stamps *stamps;
	const struct stamps_ops *ops;
	struct kvp_pool *pool;
	uint32_t life;
	uint64_t random;
	uint64_t cancels;
	uint32_t passes;
	uint8_t space[KVP_DIGEST_LEN];
	struct stamps_seq seq[STAMPS_SEQS];
	struct stamps_raw raw[STAMPS_RAWS];
	pthread_t canceller;
	_Atomic bool over;
	void *lane;
};

/* engine.c: a client with its canceller; @steps things that it does; its end */
void engine_begin(struct engine *engine, struct stamps *stamps, const struct stamps_ops *ops,
		  struct kvp_pool *pool, uint64_t seed);
void engine_work(struct engine *engine, uint32_t steps);
/* In peace: all work has ended, all is given back; the handle stays open. */
void engine_end(struct engine *engine);
/* Its canceller ends. */
void engine_stop(struct engine *engine);
uint64_t engine_owner(struct engine *engine);
/* The pool refused for a reason that this test knows, or the test fails. */
bool engine_gone(int err);
bool engine_full(struct engine *engine, int err);
void engine_check(const char *what, int err);
/*
 * Say and launch, or the other way round; @fill: the rows of the order, false: it is gone. False:
 * the use was refused.
 */
bool engine_step(struct engine *engine, uint32_t stream, struct kvp_use_entry *uses, uint32_t nr,
		 bool (*fill)(struct engine *engine, struct order *order, void *arg), void *arg);
void order_row(struct order *order, uint32_t family, uint64_t row, enum row_work work,
	       struct stamp stamp);

/* engine_seq.c */
void stamps_doc(uint32_t doc, uint32_t *tokens, uint64_t *contents);
void engine_seq_act(struct engine *engine);
void engine_seq_cancel(struct engine *engine, uint32_t at);

/* engine_raw.c */
void engine_raw_act(struct engine *engine);
void engine_raw_cancel(struct engine *engine, uint32_t at);

#endif /* KVPS_STAMPS_H */

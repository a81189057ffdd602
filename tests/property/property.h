/* SPDX-License-Identifier: MIT */
/*
 * The property test: random calls to the core and to the model, compared after each.
 */
#ifndef KVPT_PROPERTY_H
#define KVPT_PROPERTY_H

#include "mirror.h"
#include "model.h"

#define PROPERTY_PAST	16		/* ids of ended sequences that are remembered */
#define PROPERTY_SPACES	3

/**
 * struct shape - what a pool of an episode is like
 * @families: its families
 * @nr: how many
 * @index_tokens: of a node
 * @max_tokens: tokens of a sequence at most, reserved ones too
 */
struct shape {
	struct kvp_family_desc families[MODEL_FAMILIES];
	u32 nr;
	u32 index_tokens;
	u32 max_tokens;
};

/* Where the test is, for a failure's message. */
struct property_at {
	u64 seed;
	u32 shape;
	u64 episode;
	u64 op;
	const char *what;
	bool trace;
	bool tally;
};

extern struct property_at property_at;

/**
 * struct run - one pool and its clients
 * @env: host and clients
 * @door: their door, which can fail to bring a result to the caller
 * @watcher: makes the pool, looks, audits; has nothing
 * @shape: of the pool
 * @mirror: what a router knows of it from events, in every other episode (else entry is NULL)
 * @model: what it must be like
 * @look: what it was like after the last call
 * @random: state of the random numbers
 * @highest: last id seen at each place
 * @past: ids of ended sequences, by client
 * @nr_past: how many there were
 * @past_ticket: id of a ticket that ended, by client
 * @untold: the last call went well, but its result could not be brought to the caller
 * @stale: something may have happened since @look
 * @unseen: a timeline was written, and nothing has looked since
 * @grace: ms; 0: strict
 */
struct run {
	struct kvpt_env env;
	struct kvp_door door;
	struct kvp_client *watcher;
	const struct shape *shape;
	struct kvpt_mirror mirror;
	struct model model;
	struct model_look look;
	u64 random;
	u64 highest[MODEL_FAMILIES][MODEL_BLOCKS];
	u64 past[MODEL_CLIENTS][PROPERTY_PAST];
	u32 nr_past[MODEL_CLIENTS];
	u64 past_ticket[MODEL_CLIENTS];
	bool untold;
	bool stale;
	bool unseen;
	u32 grace;
};

/* Ids are the core's; those of ended sequences are remembered to be tried again. */
u64 property_pick_seq(struct run *r, u32 client);
struct model_seq *property_seq(struct run *r, u32 client, u64 id, struct model_verdict *v);
void property_forget_seq(struct run *r, u32 client, u64 id);
void property_text(struct run *r, struct model_text *text, u32 *token, u32 nr, u64 first);
u32 property_length(struct run *r);
const struct kvp_extra *property_extras(const struct model_text *text);

/* ops_seq.c: what create and fork return is the new sequence, or 0 */
u64 property_create(struct run *r, u32 client);
void property_advance(struct run *r, u32 client, u64 id, u64 computed);
u64 property_fork(struct run *r, u32 client, u64 id);
void property_free(struct run *r, u32 client, u64 id);
void op_create(struct run *r, u32 client);
void op_append(struct run *r, u32 client);
void op_set_tokens(struct run *r, u32 client);
void op_advance(struct run *r, u32 client);
void op_copied(struct run *r, u32 client);
void op_fork(struct run *r, u32 client);
void op_truncate(struct run *r, u32 client);
void op_free(struct run *r, u32 client);

/* ops_prefix.c */
void property_publish(struct run *r, u32 client, u64 id);
void op_publish(struct run *r, u32 client);
void op_match(struct run *r, u32 client);
void op_release(struct run *r, u32 client);
void op_invalidate(struct run *r, u32 client);
void op_reclaim(struct run *r, u32 client);

/* ops_export.c, ops_limit.c */
void property_close_exports(struct run *r);
void op_export(struct run *r, u32 client);
void op_import(struct run *r, u32 client);
void op_revoke(struct run *r, u32 client);
void op_close(struct run *r, u32 client);
void op_limit(struct run *r, u32 client);
void op_limit_uid(struct run *r, u32 client);
void op_wait_limit(struct run *r, u32 client);
void op_wait_leave(struct run *r, u32 client);

/* ops_fence.c, ops_admit.c */
void property_reap_all(struct run *r);
void property_admit_queue(struct run *r, u32 client, u32 family, u64 blocks);
void op_timeline(struct run *r, u32 client);
void op_use(struct run *r, u32 client);
void op_store(struct run *r, u32 client);
void op_signal(struct run *r, u32 client);
void op_query(struct run *r, u32 client);
void op_scan(struct run *r, u32 client);
void op_reap(struct run *r, u32 client);
void op_admit(struct run *r, u32 client);
void op_take(struct run *r, u32 client);
void op_cancel(struct run *r, u32 client);
void op_drop(struct run *r, u32 client);

/* ops_block.c, ops_wrong.c */
u64 property_pick_raw(struct run *r, u32 client);
int property_raw(const struct run *r, u32 client, u64 id, struct model_verdict *v);
void op_alloc(struct run *r, u32 client);
void op_ref(struct run *r, u32 client);
void op_unref(struct run *r, u32 client);
void op_make_private(struct run *r, u32 client);
void op_wrong(struct run *r, u32 client);

/* ops.c */
void property_join(struct run *r, u32 client);
void property_leave(struct run *r, u32 client);
void property_op(struct run *r);

/* compare.c: what is the same in every call, and what must be the same in core and model */
void property_door(struct run *r);
void property_calm(struct run *r);
bool property_judge(struct run *r, struct model_verdict *v);
bool property_may(const struct run *r, u32 client, u32 right, struct model_verdict *v);
void property_begin(struct run *r, const char *what);
void property_end(struct run *r, int err, struct model_verdict *v);
void property_bind(struct run *r, int block, u64 id);
void property_check_seq(struct run *r, struct model_seq *seq);
void property_check(struct run *r);
void property_check_all(struct run *r);
void property_tally(void);
void property_trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static inline u64 property_addr(const void *mem)
{
	return (u64)(uintptr_t)mem;
}

static inline u32 property_uid(u32 user)
{
	return KVPT_OWNER + user;
}

static inline u32 below(struct run *r, u32 n)
{
	return kvpt_below(&r->random, n);
}

#endif /* KVPT_PROPERTY_H */

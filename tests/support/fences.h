/* SPDX-License-Identifier: MIT */
/*
 * Calls on timelines, uses, quarantine and tickets, as harness.h has the others. The timelines
 * of a client are written as work would write them: into its page.
 *
 *	u32 t = kvpt_timeline(a);
 *
 *	kvpt_ok(kvpt_use_write(a, seq, t, 1, 4, 8));
 *	kvpt_ok(kvpt_free(a, seq));
 *	kvpt_pass(a, t, 1);
 *	kvpt_ok(kvpt_alloc(b, 0, 8, blocks));
 *
 * Include <check.h> first to have failures reported by Check.
 */
#ifndef KVPT_FENCES_H
#define KVPT_FENCES_H

#include "harness.h"

/* ---- timelines ---------------------------------------------------------------------- */

/* One more timeline of the client; dies where that fails. Leaves kvpt alone. */
u32 kvpt_timeline(struct kvp_client *client);
int kvpt_timeline_create(struct kvp_client *client, u32 *timeline);

/* What the page shows; and a store to it, as the last thing that work does. */
u64 kvpt_shown(struct kvp_client *client, u32 timeline);
void kvpt_pass(struct kvp_client *client, u32 timeline, u64 value);
int kvpt_signal(struct kvp_client *client, u32 timeline, u64 value);

/* @fences may be NULL; what else query says is in kvpt.query. */
int kvpt_query(struct kvp_client *client, struct kvp_fence *fences, u32 nr);
/* Ask for one fence, and watch it. */
int kvpt_watch(struct kvp_client *client, u32 timeline, u64 value);
/* What query says of one fence; dies where the call fails. */
struct kvp_fence kvpt_fence(struct kvp_client *client, u32 timeline, u64 value);

/* ---- uses ------------------------------------------------------------------------------ */

#define KVPT_READ(seq_, timeline_, value_)						\
	{ .kind = KVP_USE_SEQ, .id = (seq_), .timeline = (timeline_), .value = (value_),	\
	  .write_from = KVP_POS_END }
#define KVPT_WRITE(seq_, timeline_, value_, from_, to_)					\
	{ .kind = KVP_USE_SEQ, .id = (seq_), .timeline = (timeline_), .value = (value_),	\
	  .write_from = (from_), .computed_to = (to_) }
#define KVPT_BLOCK(block_, timeline_, value_)						\
	{ .kind = KVP_USE_BLOCK, .id = (block_), .timeline = (timeline_), .value = (value_) }

int kvpt_use(struct kvp_client *client, const struct kvp_use_entry *entries, u32 nr);
/* The one entry that the macro of the same name makes. */
int kvpt_use_read(struct kvp_client *client, u64 seq, u32 timeline, u64 value);
int kvpt_use_write(struct kvp_client *client, u64 seq, u32 timeline, u64 value, u64 write_from,
		   u64 computed_to);
int kvpt_use_block(struct kvp_client *client, u64 block, u32 timeline, u64 value);

/* ---- quarantine ---------------------------------------------------------------------------- */

/* @dead: id of a dead client, 0: all. */
int kvpt_reap(struct kvp_client *client, u64 dead);

/* ---- tickets ------------------------------------------------------------------------------- */

/* *@ticket, may be NULL: the struct's; set where the call succeeds. */
int kvpt_admit_with(struct kvp_client *client, u32 flags, const struct kvp_admit_need *needs,
		    u32 nr, u64 *ticket);
/* Of one family. */
int kvpt_admit(struct kvp_client *client, u32 family, u64 blocks);
int kvpt_admit_queue(struct kvp_client *client, u32 family, u64 blocks, u64 *ticket);
int kvpt_admit_drop(struct kvp_client *client, u32 family, u64 blocks);
/* KVP_ADMIT_TAKE, KVP_ADMIT_CANCEL. */
int kvpt_admit_take(struct kvp_client *client, u64 ticket);
int kvpt_admit_cancel(struct kvp_client *client, u64 ticket);

#endif /* KVPT_FENCES_H */

/* SPDX-License-Identifier: MIT */
/*
 * What the files of the random stream share: what it knows of its clients, so that most calls
 * come to something, and who makes which call. Everything follows from the seed and from results
 * of earlier calls.
 */
#ifndef KVP_CONTRACT_STREAM_H
#define KVP_CONTRACT_STREAM_H

#include "contract.h"

#define ST_SLOTS	3		/* clients: the maker, a second one, a guest */
#define ST_MAX_SEQS	24
#define ST_MAX_MATCHES	16
#define ST_MAX_RAW	256
#define ST_OLD		32		/* ids that were good once */
#define ST_SPAN		12
#define ST_MAX_LIMITS	8
#define ST_TIMELINES	3		/* of a client that uses name */
#define ST_MAX_TICKETS	8
#define ST_UNKNOWN	(1ULL << 40)	/* an id that nobody has */
#define ST_GUEST_UID	1001

/* What a remap will make of a sequence. */
struct st_remap {
	__u64 tokens;
	__u64 computed;
	__u64 reserved;
	__u64 tainted_from;
};

/**
 * struct st_seq - a sequence as it must be, if the results are true
 * @id: its id
 * @text: what it says
 * @tokens: ids
 * @computed: with rows
 * @reserved: slots
 * @limit: a limit with which it may be published, 0: without one
 * @owed: copies
 * @remapped: a remap is open
 * @will_be: what it will be then
 */
struct st_seq {
	__u64 id;
	__u32 text;
	__u64 tokens;
	__u64 computed;
	__u64 reserved;
	__u64 limit;
	bool owed;
	bool remapped;
	struct st_remap will_be;
};

/* Blocks that were read from the table of a sequence, or of a match. */
struct st_span {
	__u64 holder;
	bool match;
	__u32 first;
	__u32 nr;
	__u64 id[ST_SPAN];
};

struct st_slot {
	struct ct_conn *conn;
	__u32 uid;
	bool attached;
	__u64 client;
	__u64 pool;
	struct st_seq seq[ST_MAX_SEQS];
	__u32 nr_seqs;
	__u64 match[ST_MAX_MATCHES];
	__u32 nr_matches;
	__u64 raw[ST_MAX_RAW];
	__u32 nr_raw;
	__u32 nr_timelines;
	__u64 announced[ST_TIMELINES];
	__u64 shown[ST_TIMELINES];
	__u64 ticket[ST_MAX_TICKETS];
	__u32 nr_tickets;
	struct st_span span;
	__u64 cursor;
};

/* A limit that was set, and has to go before it stops everything. */
struct st_limit {
	__u64 who;
	__u32 flags;
	__u32 family;
};

/**
 * struct st_stream - the stream
 * @random: state of the random numbers
 * @slot: clients
 * @old: ids of sequences, matches and blocks that were let go
 * @nr_old: so far
 * @limit: limits that were set
 * @nr_limits: how many
 * @nr_families: of the pool of this scene
 * @capacity: tokens that fit into it
 * @index_tokens: of a node
 * @dead: id of the client that was closed last
 * @device: with what only the device has: exports, and memory that faults
 */
struct st_stream {
	__u64 random;
	struct st_slot slot[ST_SLOTS];
	__u64 old[ST_OLD];
	__u32 nr_old;
	struct st_limit limit[ST_MAX_LIMITS];
	__u32 nr_limits;
	__u32 nr_families;
	__u32 capacity;
	__u32 index_tokens;
	__u64 dead;
	bool device;
};

extern struct st_stream st;

/* ---- choices ---- */

static inline __u32 st_below(__u32 n)
{
	return kvpt_below(&st.random, n);
}

/* True once in @n times. */
static inline bool st_once(__u32 n)
{
	return !st_below(n);
}

void st_remember_old(__u64 id);
/* An id that is wrong. */
__u64 st_wrong_id(void);
/* A sequence of the client; NULL: it has none, or the call shall have a wrong id, *@id. */
struct st_seq *st_pick_seq(struct st_slot *slot, __u64 *id);
__u32 st_pick_family(void);
const char *st_pick_name(void);

/* ---- token ids and extras, make_seq.c ---- */

/* @nr token ids of text @text from position @from on. */
void st_tokens(struct ct_call *call, __u32 array, __u32 text, __u64 from, __u32 nr);
/* Now and then some, for nodes that begin in the @nr tokens from @from on. */
void st_extras(struct ct_call *call, __u32 array, __u64 from, __u32 nr);
__u32 st_pick_text(void);
__u32 st_pick_space(void);
__u32 st_pick_length(void);
/* The client's of that id, or NULL. */
struct st_seq *st_seq_find(struct st_slot *slot, __u64 id);
/* A sequence whose tokens are all computed. */
struct st_seq *st_seq_add(struct st_slot *slot, __u64 id, __u64 tokens);
/* So many tokens of it will be computed, if it is one of the client's. */
void st_seq_computes(struct st_slot *slot, __u64 id, __u64 tokens);

/* A sequence with an open remap, or NULL (make_remap.c). */
const struct st_seq *st_pick_remapped(const struct st_slot *slot);

/* A block of which the client has a raw reference; now and then a wrong one (make_block.c). */
__u64 st_held_block(const struct st_slot *slot);

/* ---- calls ---- */

/**
 * struct st_maker - how calls of one operation are made
 * @nr: the operation
 * @weight: how often
 * @alone: it cannot be in a batch
 * @make: fill the struct, and arrays; NULL: all zero
 * @learn: what a call that went well has changed
 */
struct st_maker {
	__u32 nr;
	__u32 weight;
	bool alone;
	void (*make)(struct st_slot *slot, struct ct_call *call);
	void (*learn)(struct st_slot *slot, const struct ct_call *call);
};

extern const struct st_maker st_pool_makers[], st_block_makers[], st_seq_makers[],
	st_prefix_makers[], st_fence_makers[], st_admit_makers[], st_watch_makers[],
	st_batch_makers[], st_remap_makers[], st_export_makers[];

/* NULL: there is none of that number. */
const struct st_maker *st_maker_find(__u32 nr);
/* By weight; @batched: one that can be in a batch. */
const struct st_maker *st_maker_pick(bool batched);
/* A call of that operation, placed, now and then malformed. */
void st_call_make(struct st_slot *slot, struct ct_call *call, __u32 nr);
/* What the client calls next, so that something goes on. */
__u32 st_attached_op(const struct st_slot *slot);
__u32 st_unattached_op(void);
/* What the stream knows of the pool of scene @scene, and the call that makes it, not placed. */
void st_scene_make(__u32 scene);
void st_pool_make(struct ct_call *call, __u32 scene);
/* Make it malformed (spoil.c). */
void st_spoil(struct ct_call *call);

/* A call that sets limit @bit of the client as low as can be, or takes it away (make_pool.c). */
void st_limit_make(struct ct_call *call, __u64 client, __u32 bit, bool low);

/* The entries of the batch that was made last. */
extern struct ct_call st_entries[CT_MAX_ENTRIES];
/* Read the results of the entries. */
void st_batch_take(const struct ct_call *batch);

/* ---- only with st.device ---- */

/* The file of the export that was made last, into an import (make_export.c). */
void st_import_last(struct ct_call *call);
/* Close exports until @left are open (make_export.c). */
void st_exports_close(__u32 left);
/* Send the call through memory that faults (faults.c); false: it was malformed otherwise. */
bool st_fault_send(struct ct_conn *conn, struct ct_call *call);
/* Descriptors of this process. */
__u32 st_files(void);

#endif /* KVP_CONTRACT_STREAM_H */

/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Objects of what waits: for work to end (timelines, uses, what they hold back), and for blocks
 * (tickets). To be included through core.h. All of it is under kvp_pool.lock, but for what is
 * said at struct kvp_seq, and the timelines page, which whoever maps it may write at any time.
 *
 *   clock.c   timelines: what they showed; signal, query, watching
 *   use.c     what work touches, said before it is launched
 *   settle.c  what follows when fences pass: computed, windows, what was held back; death
 *   admit.c   tickets and the reserve
 *   scan.c    timelines read because somebody waits
 */
#ifndef KVP_FENCE_H
#define KVP_FENCE_H

/* ---- taking ------------------------------------------------------------------- */

/* What a call needs, and what it has taken. */
struct kvp_need {
	u64 blocks[KVP_MAX_FAMILIES];
	u64 nodes;
	u64 digests;
};

struct kvp_taken {
	u32 blocks[KVP_MAX_FAMILIES];	/* lists through kvp_block.next, RESERVED */
	u32 last[KVP_MAX_FAMILIES];	/* their ends: blocks come out as they went in */
	u64 nr_blocks[KVP_MAX_FAMILIES];
	u32 nodes;			/* list through kvp_node.next, RESERVED */
	u64 nr_nodes;
	u32 digests;			/* list through kvp_digest.next */
	u64 nr_digests;
};

/* ---- timelines ------------------------------------------------------------------ */

/**
 * struct kvp_clock - one timeline of a client
 * @seen: the greatest value read that was right
 * @announced: the greatest value that a use said
 * @read: the value read last, right or not: what was judged once is not judged again
 * @watch: value that poll(2) is to tell of, 0: none
 * @told: it has passed and no query has said so yet
 */
struct kvp_clock {
	u64 seen;
	u64 announced;
	u64 read;
	u64 watch;
	bool told;
};

/**
 * struct kvp_times - the timelines of a client
 * @page: what is mapped; a page
 * @nr: timelines that were made
 * @nr_watched: timelines with @watch
 * @nr_told: timelines with @told
 * @clock: by timeline
 */
struct kvp_times {
	struct kvp_timeline *page;
	u32 nr;
	u32 nr_watched;
	u32 nr_told;
	struct kvp_clock clock[KVP_NR_TIMELINES];
};

/* ---- uses ------------------------------------------------------------------------- */

/**
 * struct kvp_open_use - work that may touch what a sequence names
 * @value: of its fence
 * @write_from: first token whose row it writes, or KVP_POS_END
 * @computed_to: tokens that have rows when it has passed
 * @nr: uses of the sequence are numbered in the order in which they were said
 * @timeline: of its fence
 * @reads_all: it may read any row, not only those of the windows before @write_from
 */
struct kvp_open_use {
	u64 value;
	u64 write_from;
	u64 computed_to;
	u64 nr;
	u32 timeline;
	bool reads_all;
};

/* A reference that a live sequence gave back while uses before number @use were open. */
struct kvp_late {
	u32 family;
	u32 block;
	u64 use;
};

/* Memory for such references. */
struct kvp_late_room {
	struct kvp_late *late;
	u32 max;
};

/* What may wait for fences. */
enum kvp_fenced_kind {
	KVP_FENCED_SEQ = 1,		/* a sequence with open uses or late references */
	KVP_FENCED_HOLD,		/* references for a use of blocks */
	KVP_FENCED_EXPORT,		/* an export whose rows are being written */
};

/**
 * struct kvp_fenced - a place on the list of what waits for fences
 * @list: kvp_pool.fenced; empty when it waits for nothing
 * @client: whose timelines; stays as long as something of its waits (kvp_client.nr_fenced)
 * @kind: what it is part of
 */
struct kvp_fenced {
	struct list_head list;
	struct kvp_client *client;
	enum kvp_fenced_kind kind;
};

/* One fence. */
struct kvp_fence_at {
	u64 value;
	u32 timeline;
	u32 reserved;
};

/**
 * struct kvp_hold - references that a use of blocks has taken, until its fence passes
 * @fenced: place on the list
 * @fence: until when
 * @nr: references that are left
 * @room: elements of @block
 * @block: family << KVP_HOLD_SHIFT | index
 */
struct kvp_hold {
	struct kvp_fenced fenced;
	struct kvp_fence_at fence;
	u32 nr;
	u32 room;
	u32 block[];
};

#define KVP_HOLD_SHIFT	24

/* ---- tickets ------------------------------------------------------------------------ */

/**
 * struct kvp_ticket - an admission that waits, or was granted and not taken yet
 * @id: kvp_client.tickets
 * @client: whose
 * @list: kvp_pool.tickets while it waits, in the order of asking; else empty
 * @over: it is over a limit of its client's, or cannot fit any more: nobody waits for it
 * @need: blocks
 * @taken: what it was granted
 */
struct kvp_ticket {
	u64 id;
	struct kvp_client *client;
	struct list_head list;
	bool over;
	struct kvp_need need;
	struct kvp_taken taken;
};

#endif /* KVP_FENCE_H */

/* SPDX-License-Identifier: MIT */
/*
 * The slots of a client at work: for the files that say what the next call of one is, and what it
 * has brought. What a slot holds is its own; marks are shared by all clients.
 */
#ifndef KVPV_CHURN_SLOT_H
#define KVPV_CHURN_SLOT_H

#include <liburing.h>

#include "support_churn.h"

#define SEQ_SLOTS	6
#define RAW_SLOTS	3
#define MATCH_SLOTS	2
#define WATCH_SLOTS	1
#define TICKET_SLOTS	1
#define FIRST_TICKET	(SEQ_SLOTS + RAW_SLOTS + MATCH_SLOTS + WATCH_SLOTS)
#define FIRST_WORK	(FIRST_TICKET + TICKET_SLOTS)
#define SLOTS		(FIRST_WORK + CHURN_WORKS)
#define RAW_MAX		12
#define MORE		2		/* tokens behind a document, before a fork */
#define TABLE_MAX	(CHURN_NODES + 1)

/* All structs that a client at work uses. */
union arg {
	struct kvp_head head;
	struct kvp_block_alloc alloc;
	struct kvp_block_refs refs;
	struct kvp_block_make_private make_private;
	struct kvp_seq_create create;
	struct kvp_seq_append append;
	struct kvp_seq_advance advance;
	struct kvp_seq_id id;
	struct kvp_seq_fork fork;
	struct kvp_seq_table table;
	struct kvp_seq_export export;
	struct kvp_seq_import import;
	struct kvp_prefix_match match;
	struct kvp_prefix_release release;
	struct kvp_prefix_publish publish;
	struct kvp_stats stats;
	struct kvp_block_dump dump;
	struct kvp_client_list list;
	struct kvp_events events;
	struct kvp_use use;
	struct kvp_signal signal;
	struct kvp_query query;
	struct kvp_admit admit;
};

enum state {
	NONE,
	/* a sequence */
	CREATED, TABLED, MARKED, COMPUTED, PUBLISHED, LONGER, READY, FORKED, COPIED, EXPORTED,
	IMPORTED, OVER,
	/* raw references; a match */
	HELD, TWICE, MATCHED, REFERENCED,
	/* a ticket; a reserve */
	WAITING, RESERVED,
	/* work: not said yet, said, watched, and on what was let go meanwhile */
	UNSAID, SAID, WATCHED, LET_GO,
};

/**
 * struct slot - one object and its next call
 * @state: where in its life it is
 * @doc: of a sequence, a match
 * @seq: the sequence
 * @child: its fork, or what was imported
 * @match: the match
 * @file: of the export, -1: none
 * @nr: raw references, or blocks matched
 * @checked: of a published sequence, families whose table was looked at
 * @op: operation of the next call
 * @arg: its struct
 * @size: bytes of that
 * @result: what it returned
 * @tokens: token ids of the call
 * @blocks: ids
 * @copies: copies to make
 * @ticket: that waits
 * @tries: of taking it
 * @work: of a piece of work: what it reports
 * @timeline: its timeline
 * @value: of its last fence there
 * @raw: it works on a raw block, and not on a sequence
 * @use: what is said of it
 * @fence: its fence, asked for
 * @need: of an admission
 */
struct slot {
	enum state state;
	u32 doc;
	u64 seq;
	u64 child;
	u64 match;
	int file;
	u32 nr;
	u32 checked;
	u32 op;
	union arg arg;
	u32 size;
	int result;
	u32 tokens[CHURN_TOKENS];
	u64 blocks[RAW_MAX > TABLE_MAX ? RAW_MAX : TABLE_MAX];
	struct kvp_copy copies[4];
	u64 ticket;
	u32 tries;
	struct churn_work *work;
	u32 timeline;
	u64 value;
	bool raw;
	struct kvp_use_entry use[RAW_MAX];
	struct kvp_fence fence;
	struct kvp_admit_need need;
};

/**
 * struct worker - the client of this process
 * @churn: what is shared
 * @me: what it reports
 * @way: see there
 * @fd: its file, -1: only the ring has it
 * @page: its timelines
 * @ring: RING, FIXED
 * @random: state of its random numbers
 * @slot: see there
 */
struct worker {
	struct churn *churn;
	struct churn_worker *me;
	enum churn_way way;
	int fd;
	struct kvp_timeline *page;
	struct io_uring ring;
	u64 random;
	struct slot slot[SLOTS];
};

/* The next call of a slot. */
#define PREPARE(slot_, op_, member, ...)					\
do {										\
	(slot_)->op = (op_);							\
	(slot_)->size = sizeof((slot_)->arg.member);				\
	memset(&(slot_)->arg, 0, sizeof((slot_)->arg));				\
	(slot_)->arg.member = (typeof((slot_)->arg.member)){ __VA_ARGS__ };	\
	(slot_)->arg.head.size = (slot_)->size;					\
} while (0)

/* A block that the client may write; and one that nobody else may have written since. */
void churn_set_mark(struct worker *worker, u64 block, u64 value);
void churn_check_mark(struct worker *worker, u64 block, u64 value, const char *what);

/* support_churn_work.c: the next call, and what it has brought */
void churn_prepare_ticket(struct worker *worker, struct slot *slot);
void churn_done_ticket(struct slot *slot);
void churn_prepare_work(struct worker *worker, struct slot *slot);
void churn_done_work(struct worker *worker, struct slot *slot);

#endif /* KVPV_CHURN_SLOT_H */

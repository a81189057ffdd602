/* SPDX-License-Identifier: MIT */
/*
 * A reference model of a pool, written from the contract and apart from the core: arrays that
 * are searched from end to end, no hash, no lists, no slices. Blocks and nodes are numbers of the
 * model; a block learns the core's id when the core first shows it, and keeps it for
 * life.
 *
 * Order of use: the core executes a call; struct model_look is filled with what can be seen of the
 * core's blocks; then the model executes the same call. It says which failures the contract
 * allows there (struct model_verdict); with none the call must have succeeded, and the model has
 * changed as the core must have.
 *
 * The model does not choose victims of reclaim blindly: where the order is not defined (see
 * reclaim.c) it looks which of the allowed ones the core took.
 */
#ifndef KVPT_MODEL_H
#define KVPT_MODEL_H

#include "harness.h"

#define MODEL_FAMILIES	2
#define MODEL_CLIENTS	5		/* that call */
#define MODEL_EXPORTS	6
#define MODEL_DEAD	4		/* in quarantine */
#define MODEL_FIRST_DEAD (MODEL_CLIENTS + MODEL_EXPORTS)
#define MODEL_HOLDERS	(MODEL_FIRST_DEAD + MODEL_DEAD)	/* exports are clients, too */
#define MODEL_USERS	2
#define MODEL_BLOCKS	256		/* of all families together */
#define MODEL_NODES	512
#define MODEL_SEQS	64		/* zombies among them */
#define MODEL_TOKENS	64		/* of a sequence, reserved ones too */
#define MODEL_INDEX	16		/* tokens of a node at most */
#define MODEL_RUNS	MODEL_TOKENS	/* nodes of a sequence at most */
#define MODEL_MATCHES	24
#define MODEL_EXTRAS	4		/* of one call */
#define MODEL_COPIES	(MODEL_FAMILIES * MODEL_INDEX)
#define MODEL_USES	512
#define MODEL_LATES	512
#define MODEL_TICKETS	16

#define NONE		(-1)

/* A failure that the contract allows for a call. */
struct model_failure {
	int err;
	u32 reason;
};

/**
 * struct model_verdict - what the contract says of a call
 * @got: what the core made of it
 * @early: want of nodes shows before a reclaim begins
 * @may: failures that are allowed; none: it must have succeeded
 * @nr: how many
 */
struct model_verdict {
	struct model_failure got;
	bool early;
	struct model_failure may[32];
	u32 nr;
};

/**
 * struct model_block - a block that is not free
 * @live: it is not free
 * @family: of which family
 * @count: table slots, raw references and pending copies that name it
 * @node: the published node that names it, or NONE
 * @owner: the core's id of the client that it is charged to, 0: none
 * @user: of that client
 * @id: the core's, 0 until the core has shown it
 */
struct model_block {
	bool live;
	u32 family;
	u32 count;
	int node;
	u64 owner;
	u32 user;
	u64 id;
};

/* Some of the uses. */
struct model_set {
	u64 bit[MODEL_USES / 64];
};

/**
 * struct model_use - work that may touch a sequence or a block
 * @live: it has not ended
 * @client: whose
 * @seq: which sequence, or NONE
 * @block: which block, on which it has a reference, or NONE
 * @timeline: of its fence
 * @value: of its fence
 * @write_from: the first token whose row it writes, or KVP_POS_END
 * @computed_to: tokens that have rows when it has passed
 * @reads_all: it, or one that became one with it, writes none: it may read any row
 * @nr: the later it was said, the greater
 */
struct model_use {
	bool live;
	u32 client;
	int seq;
	int block;
	u32 timeline;
	u64 value;
	u64 write_from;
	u64 computed_to;
	bool reads_all;
	u64 nr;
};

/* A reference that a sequence of @client gave back, and the uses that were open then. */
struct model_late {
	bool live;
	u32 client;
	int block;
	struct model_set waits;
};

/**
 * struct model_clock - a timeline
 * @page: what stands in the page
 * @read: what stood there when it was looked at last
 * @seen: the greatest value that was right
 * @announced: the greatest value that a use said
 * @watch: value that the client wants to be told of, 0: none
 * @told: it has passed, and no query came since
 */
struct model_clock {
	u64 page;
	u64 read;
	u64 seen;
	u64 announced;
	u64 watch;
	bool told;
};

/* An admission that waits, or was granted. In the order of asking. */
struct model_ticket {
	u32 client;
	u64 id;
	u32 blocks[MODEL_FAMILIES];
	bool granted;
};

/* Whether a reclaim has met a node, and could not take it then. */
enum model_met { MODEL_NOT_MET, MODEL_MAY_BE_MET, MODEL_MET };

enum model_node_kind { MODEL_FREE, MODEL_PRIVATE, MODEL_PUBLISHED, MODEL_ROOT };

/**
 * struct model_node - index_tokens tokens; or a namespace
 * @kind: what it is
 * @parent: PUBLISHED: a node
 * @space: ROOT: number of the namespace
 * @cut: it was invalidated: a root, or the top of a subtree
 * @uses: places in the runs of sequences; ROOT: sequences
 * @refs: matches, and sequences whose published part ends here
 * @nr_tokens: ids known
 * @token: the ids
 * @extra: number of the extra digest, 0: none
 * @tag: for invalidation
 * @depth: PUBLISHED: 1 for the first of a prefix
 * @part: PUBLISHED: blocks, NONE where a family has none
 * @used: PUBLISHED: when its last holder let go; grows with time
 * @met: whether a reclaim has met it since
 * @core: PUBLISHED: the core's index of it, NONE until the core has shown it
 */
struct model_node {
	enum model_node_kind kind;
	int parent;
	u32 space;
	bool cut;
	u32 uses;
	u32 refs;
	u32 nr_tokens;
	u32 token[MODEL_INDEX];
	u32 extra;
	u32 tag;
	u32 depth;
	int part[MODEL_FAMILIES][MODEL_INDEX];
	u64 used;
	enum model_met met;
	int core;
};

/*
 * @zombie: freed, with open uses. @done_to: the most that uses that passed have computed.
 * @windowed: where windows stand.
 */
struct model_seq {
	bool live;
	bool zombie;
	u32 client;
	u64 id;
	u64 done_to;
	u64 windowed;
	int root;
	int tail;
	u64 nr_published;		/* nodes */
	u64 tokens;
	u64 computed;
	u64 reserved;
	u32 nr_runs;
	int run[MODEL_RUNS];
	u32 nr_slots[MODEL_FAMILIES];
	int slot[MODEL_FAMILIES][MODEL_TOKENS];
	u32 nr_pending;
	int pending[MODEL_COPIES];
};

struct model_match {
	bool live;
	u64 id;
	int node;
};

/* What can be limited beside blocks. */
enum model_thing {
	MODEL_OF_SLOTS,
	MODEL_OF_SEQS,
	MODEL_OF_RAW,
	MODEL_OF_MATCHES,
	MODEL_OF_EXPORTS,
	MODEL_OF_TICKETS,
	MODEL_THINGS,
};

struct model_limits {
	u64 blocks[MODEL_FAMILIES];
	u64 guarantee[MODEL_FAMILIES];
	u64 max[MODEL_THINGS];
};

/* A uid. @own: @limits are its own, else those of all uids hold. */
struct model_user {
	bool own;
	struct model_limits limits;
};

/**
 * struct model_client - one client; from MODEL_CLIENTS on an export, from MODEL_FIRST_DEAD on one
 * that died
 * @core: the client itself, NULL: not there, or dead
 * @dead: it died, and something of its waits for fences
 * @id: the core's
 * @rights: KVP_RIGHT_*
 * @user: of its uid
 * @limits: what it may have
 * @match: its open matches
 * @raw: its raw references, by block
 * @maker: of an export: the core's id of who made it
 * @fd: of an export: its file
 * @revoked: an export that has no sequence any more
 * @imports: how often it was imported
 * @writes: of an export: by timeline of its maker the value at which its rows are written
 * @of: of an export: the sequence of which it was made
 * @tokens: of an export: how many it has
 * @suspect: its maker died before that, or gave up what was to be written
 * @nr_clocks: timelines made
 * @clock: the timelines
 * @backwards: values of them that were smaller than before
 * @jumps: values beyond what was announced
 * @reserve: blocks admitted and not used, by family
 */
struct model_client {
	struct kvp_client *core;
	bool dead;
	u64 id;
	u32 rights;
	u32 user;
	struct model_limits limits;
	struct model_match match[MODEL_MATCHES];
	u32 raw[MODEL_BLOCKS];
	u64 maker;
	s32 fd;
	bool revoked;
	u64 imports;
	u64 writes[KVP_NR_TIMELINES];
	u64 of;
	u64 tokens;
	bool suspect;
	u32 nr_clocks;
	struct model_clock clock[KVP_NR_TIMELINES];
	u64 backwards;
	u64 jumps;
	u32 reserve[MODEL_FAMILIES];
};

/* What can be seen of the core's blocks. */
struct model_look {
	struct kvp_block_entry entry[MODEL_FAMILIES][MODEL_BLOCKS];
};

/**
 * struct model - a pool
 * @nr_blocks: blocks of all families
 * @count: what the core counts since the pool was made; the other members are unused
 * @defaults: limits of those who attach
 * @user: by number
 * @any: limits of users without their own
 * @use: work that has not ended
 * @use_end: the last of it is before
 * @nr_uses: how often there was some
 * @late: references that wait for it
 * @late_end: the last of them is before
 * @ticket: those that wait and those that were granted
 * @nr_tickets: how many
 * @clock: grows with every use
 * @frozen: it does not: the order of what happens now is not defined
 * @victims: nodes reclaimed
 * @loose: of these, where the core did not take the one that was used first, but another that is
 *         allowed
 */
struct model {
	u32 nr_families;
	u32 nr_blocks;
	struct kvp_family_desc family[MODEL_FAMILIES];
	u32 index_tokens;
	u32 nr_nodes;
	u32 nr_digests;
	bool has_states;
	struct model_block block[MODEL_BLOCKS];
	struct model_node node[MODEL_NODES];
	struct model_seq seq[MODEL_SEQS];
	struct model_client client[MODEL_HOLDERS];
	struct model_limits defaults;
	struct model_user user[MODEL_USERS];
	struct model_limits any;
	struct kvp_stats count;
	struct model_use use[MODEL_USES];
	u32 use_end;
	u64 nr_uses;
	struct model_late late[MODEL_LATES];
	u32 late_end;
	struct model_ticket ticket[MODEL_TICKETS];
	u32 nr_tickets;
	u64 clock;
	bool frozen;
	u64 victims;
	u64 loose;
	const struct model_look *look;
};

/* A prompt, or what is appended. */
struct model_text {
	u32 space;
	const u32 *token;
	u32 nr;
	struct kvp_extra extra[MODEL_EXTRAS];	/* digests by kvpt_digest() */
	u32 nr_extras;
};

/* What a call needs. */
struct model_need {
	u32 blocks[MODEL_FAMILIES];
	u32 nodes;
	u32 digests;
};

/* A copy that the core must ask for: blocks of the model. */
struct model_copy {
	int src;
	int dst;
	u32 tokens;
};

struct model_copies {
	struct model_copy copy[MODEL_COPIES];
	u32 nr;
};

/* model.c: blocks, nodes, charges */
void model_init(struct model *m, const struct kvp_family_desc *families, u32 nr,
		u32 index_tokens, u32 nodes, u32 digests);
/* Called by model_bug() before the end: says where that was. */
extern void (*model_on_bug)(void);
void model_bug(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void model_may(struct model_verdict *v, int err, u32 reason);
u32 model_blocks_for(const struct model *m, u32 family, u64 tokens);
u32 model_nodes_for(const struct model *m, u64 tokens);
u32 model_parts(const struct model *m, u32 family);
u64 model_window_start(const struct model *m, u32 family, u64 computed);
u32 model_free_blocks(const struct model *m, u32 family);
u32 model_idle_blocks(const struct model *m, u32 family);
u32 model_free_nodes(const struct model *m);
u32 model_free_digests(const struct model *m);
u32 model_charged(const struct model *m, u32 family, u64 owner);
u32 model_slots(const struct model *m, u32 client);
u32 model_seqs(const struct model *m, u32 client);
u64 model_now(struct model *m);
u32 model_raw(const struct model *m, u32 client);
u32 model_matches(const struct model *m, u32 client);
u32 model_exports(const struct model *m, u32 client);
int model_block_new(struct model *m, u32 family, u32 client);
void model_block_get(struct model *m, int block, u32 client);
void model_block_put(struct model *m, int block);
void model_block_release(struct model *m, int block);
int model_node_new(struct model *m);
void model_node_unuse(struct model *m, int node);
void model_node_unref(struct model *m, int node);
void model_root_end(struct model *m, int root);
bool model_node_idle(const struct model *m, int node);
void model_node_settle(struct model *m, int node);
bool model_node_dead(const struct model *m, int node);
bool model_has_child(const struct model *m, int node);
int model_child(const struct model *m, int parent, const u32 *token, u32 extra);
int model_root(const struct model *m, u32 space);
u32 model_digest_number(const struct kvp_extra *extra);
void model_recount(const struct model *m);

/* limits.c: of clients and of users */
const struct model_limits *model_user_limits(const struct model *m, u32 user);
u32 model_user_charged(const struct model *m, u32 family, u32 user);
u32 model_user_has(const struct model *m, u32 user, enum model_thing thing);
bool model_over_blocks(const struct model *m, u32 client, u32 family, u64 nr);
void model_limit(const struct model *m, u32 client, enum model_thing thing, u64 nr,
		 struct model_verdict *v);

/* exports.c */
int model_export_place(const struct model *m);
struct model_seq *model_export(struct model *m, struct model_seq *seq, int export,
			       struct model_verdict *v);
struct model_seq *model_import(struct model *m, u32 client, u32 export,
			       struct model_verdict *v);
void model_revoke(struct model *m, u32 client, u32 export, struct model_verdict *v);
void model_export_close(struct model *m, u32 export);
void model_exports_cut(struct model *m, const struct model_seq *seq, u64 tokens);

/* reclaim.c: room for a call, and who gives it */
void model_room(const struct model *m, u32 client, const struct model_need *need,
		struct model_verdict *v);
void model_take(struct model *m, u32 client, const struct model_need *need);
void model_take_now(struct model *m, const struct model_need *need);
void model_room_now(const struct model *m, u32 client, const struct model_need *need,
		    struct model_verdict *v);
void model_may_meet_all(struct model *m);
u64 model_reclaim(struct model *m, u64 nodes);
bool model_refused(struct model *m, const struct model_verdict *v);
u32 model_others_unmet(const struct model *m, u32 client, u32 family);

/* fences.c: work that goes on */
u32 model_all_uses(const struct model *m);
u32 model_uses(const struct model *m, u32 client);
u32 model_zombies(const struct model *m, u32 client);
u32 model_lates(const struct model *m);
void model_count_late(const struct model *m, int client, u32 *late);
u32 model_held_back(const struct model *m, u32 family, u64 owner);
u32 model_seq_uses(const struct model *m, const struct model_seq *seq);
u64 model_open_from(const struct model *m, const struct model_seq *seq);
u64 model_will_have(const struct model *m, const struct model_seq *seq);
void model_uses_cut(struct model *m, struct model_seq *seq, u64 tokens);
void model_let_go(struct model *m, struct model_seq *seq, int block);
void model_move_windows(struct model *m, struct model_seq *seq);
void model_compute(struct model *m, struct model_seq *seq);
void model_use_entry(const struct model *m, u32 client, const struct kvp_use_entry *e,
		     struct model_verdict *v);
void model_use_seq(const struct model *m, const struct model_seq *seq,
		   const struct kvp_use_entry *e, u64 will_have, struct model_verdict *v);
void model_use_begin(struct model *m, u32 client, const struct kvp_use_entry *e,
		     struct model_seq *seq, int block);
void model_clock_read(struct model *m, u32 client, u32 timeline);
u32 model_ready(const struct model *m, u32 client);
void model_query(struct model *m, u32 client, const struct kvp_fence *fence, u32 nr, bool watch);
void model_signal(struct model *m, u32 client, u32 timeline, u64 value, struct model_verdict *v);
bool model_export_open(const struct model *m, u32 export);
void model_settle(struct model *m);
int model_dead_place(const struct model *m);
void model_die(struct model *m, u32 client, int place);
u64 model_reap(struct model *m, int dead);

/* tickets.c: blocks taken in advance, or waited for */
u32 model_reserve(const struct model *m, u32 client, u32 family);
u32 model_tickets(const struct model *m, u32 client);
u32 model_granted(const struct model *m, u32 client);
void model_rest(const struct model *m, u32 client, const struct model_need *need,
		struct model_need *rest);
void model_in_turn(const struct model *m, u32 client, const struct model_need *need,
		   struct model_verdict *v);
bool model_admit(struct model *m, u32 client, const struct model_need *need, bool queue,
		 bool waited, struct model_verdict *v);
struct model_ticket *model_ticket_find(struct model *m, u32 client, u64 id);
void model_ticket_end(struct model *m, struct model_ticket *ticket);
void model_tickets_leave(struct model *m, u32 client);
void model_serve(struct model *m);

/* grow.c: sequences become longer */
bool model_extras_right(const struct model *m, const struct model_text *text, u64 first);
u32 model_extra(const struct model_text *text, u32 node);
void model_append(struct model *m, struct model_seq *seq, const struct kvp_seq_append *arg,
		  const struct model_text *text, struct model_verdict *v,
		  struct model_copies *copies);
void model_set_tokens(struct model *m, struct model_seq *seq, u64 position,
		      const struct model_text *text, struct model_verdict *v);
struct model_seq *model_fork(struct model *m, struct model_seq *seq, u64 tokens, u32 room,
			     struct model_verdict *v, struct model_copies *copies);
struct model_seq *model_share(struct model *m, struct model_seq *seq, u32 client, u64 tokens,
			      bool copy_node, struct model_copies *copies);
void model_grow(struct model *m, struct model_seq *seq, u64 reserved,
		const struct model_text *text);

/* seqs.c: sequences begin, become shorter, end */
struct model_seq *model_seq_find(struct model *m, u32 client, u64 id);
struct model_seq *model_seq_new(struct model *m, u32 client);
struct model_seq *model_create(struct model *m, u32 client, const struct kvp_seq_create *arg,
			       const struct model_text *text, struct model_verdict *v);
void model_set_tail(struct model *m, struct model_seq *seq, u64 nr_published);
bool model_cut_refused(const struct model *m, const struct model_seq *seq, u64 tokens,
		       struct model_verdict *v);
void model_advance(struct model *m, struct model_seq *seq, u64 computed,
		   struct model_verdict *v);
void model_copied(struct model *m, struct model_seq *seq);
void model_truncate(struct model *m, struct model_seq *seq, u64 tokens,
		    struct model_verdict *v);
void model_seq_free(struct model *m, struct model_seq *seq);
void model_seq_end(struct model *m, struct model_seq *seq);

/* prefixes.c: match, publish, invalidate; the end of a client */
u32 model_walk(const struct model *m, const struct model_text *text, u64 limit, int *path);
u32 model_usable(const struct model *m, const int *path, u32 depth);
void model_match(struct model *m, u32 client, bool hold, const struct model_text *text,
		 struct model_verdict *v, u64 *matched, struct model_match **match);
void model_release(struct model *m, struct model_match *match);
void model_publish(struct model *m, struct model_seq *seq, const struct kvp_prefix_publish *arg,
		   struct model_verdict *v, struct kvp_prefix_publish *out);
u64 model_invalidate(struct model *m, u32 how, const struct model_text *text, u32 tag,
		     struct model_verdict *v);
void model_leave(struct model *m, u32 client, int place);

#endif /* KVPT_MODEL_H */

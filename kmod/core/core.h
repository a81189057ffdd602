/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The state machine of kvpool: who holds which block, under which identity, and
 * when it may be used again. Compiled into kvpool.ko and, unchanged, into
 * libkvpool.
 *
 * Locking overview
 * ----------------
 * In the order of acquisition:
 *
 * 1. kvp_pool.gate  rwsem     read: every call on the pool; write: the audit
 * 2. kvp_host.lock  mutex     pools by name, attach and leave, kvp_pool.nr_clients. Never waits for
 *                             a gate, which one pool's audit keeps for long
 * 3. kvp_export.lock  mutex   one import, or the revoke, of an export at a time
 * 4. kvp_pool.serve  mutex    one serves the tickets at a time, or looks at their order
 * 5. kvp_client.raw_lock mutex one raw operation of a client at a time; its raw
 *                             table, so that what was validated stays so to the end
 * 6. kvp_pool.reclaim mutex   one reclaim, or invalidate, at a time, so that the parents of the
 *                             nodes it has taken off the tree stay where they are
 * 7. kvp_pool.lock  spinlock  blocks, nodes, lists, counters, id tables, accounts
 *
 * Under the spinlock nothing is allocated, copied from or to a caller, or slept
 * on, and no hold touches more than KVP_SLICE blocks: kvp_pool.touched counts them. What
 * keeps a longer operation whole is not the lock:
 *
 * - A sequence that a call works on is busy (kvp_seq.busy); other calls on it
 *   get EBUSY. Its tables, lengths and private, unshared nodes belong to that
 *   call and are touched without the lock.
 * - Blocks and nodes that a call has taken are RESERVED (kvp_taken) until it
 *   hands them to a sequence or gives them back.
 * - A walk through the index pins the node it has reached (kvp_node.refs).
 *
 * Function suffix      held by the caller
 * _locked              kvp_pool.lock
 * _sliced              kvp_pool.lock, which is dropped and taken again inside
 * (none)               nothing of the pool's but the gate for reading
 *
 * Life of a block
 * ---------------
 *          take                 commit, count 1
 *   FREE ---------> RESERVED ------------------> HELD (private)
 *    ^  <-----------  give back                   |  |
 *    |                        count 0             |  | publish
 *    +--------------------------------------------+  v
 *    |          reclaim           count 0        HELD (published)
 *    +------------------- IDLE <------------------+  ^
 *    |                      +------------------------+
 *    v  generations used up      match, count 1
 *   RETIRED
 *
 * Where work may still touch a block, a reference stays when its holder lets go, and
 * kvp_block.held_back counts it; when no other is left, HELD becomes HELD_BACK, and HELD again
 * if somebody takes a new one. As the fences pass these references go, and the last one makes
 * the block FREE or IDLE.
 *
 * A reclaim goes IDLE -> FREE, or IDLE -> RESERVED for the call that needs it.
 * All changes of state go through kvp_block_set_state_locked().
 *
 * A node and the blocks that cover it (its parts) move together: they are
 * private to the sequences that share them, then published, then reclaimed.
 * The unit of copy-on-write is therefore the node.
 */
#ifndef KVP_CORE_H
#define KVP_CORE_H

#include "seam.h"
#include "account.h"
#include "fence.h"
#include "remap.h"

#define KVP_NIL		0xffffffffU	/* no index */
#define KVP_MAX_CLIENTS	4096		/* of one pool */
#define KVP_ADMIN_CLIENTS	16		/* of these, only for who administers it */
#define KVP_MAX_ARRAYS	3		/* of one operation */
#define KVP_ARG_BYTES	384		/* of the longest struct of an operation */

/* ---- blocks ---------------------------------------------------------------- */

#define KVP_GEN_BITS	36
#define KVP_GEN_MAX	KVP_BLOCK_GEN_MASK
#define KVP_STATE_SHIFT	40

/**
 * struct kvp_block - one block; two to a cache line
 * @word: generation (36 bits), state from KVP_STATE_SHIFT on
 * @count: references: table slots, zombies' too, raw references, uses
 * @node: the node that names it, if published, else KVP_NIL
 * @owner: slot of the account it is charged to while HELD, HELD_BACK or RESERVED, else KVP_NIL
 * @next: FREE, RESERVED: next on the free list or in a kvp_taken
 * @held_back: else: of @count, references that only wait for fences
 * @stamp: when it was allocated or published, ns
 *
 * All under kvp_pool.lock.
 */
struct kvp_block {
	u64 word;
	u32 count;
	u32 node;
	u32 owner;
	union {
		u32 next;
		u32 held_back;
	};
	u64 stamp;
};

/**
 * struct kvp_family - one kind of row
 * @desc: as given at creation
 * @blocks: array of @nr_blocks
 * @nr_blocks: blocks
 * @index: number of the family in its pool
 * @pool: its pool
 * @parts: blocks that cover one node: index_tokens / block_tokens, STATE: 0
 * @first_part: place of its first block among the parts of a node
 * @free: free list, last in first out, through kvp_block.next
 * @nr: blocks by state, in kvp_pool.page
 * @published: blocks that a node names, there too
 * @promised: blocks that calls were granted and have not taken yet
 * @guaranteed: sum of all clients' guarantees
 * @unmet: sum over clients of what is guaranteed and not charged
 *
 * From @free on under kvp_pool.lock; the rest is constant.
 */
struct kvp_family {
	struct kvp_family_desc desc;
	struct kvp_block *blocks;
	u32 nr_blocks;
	u32 index;
	struct kvp_pool *pool;
	u32 parts;
	u32 first_part;
	u32 free;
	u64 *nr;
	u64 *published;
	u64 promised;
	u64 guaranteed;
	u64 unmet;
};

/* ---- nodes ----------------------------------------------------------------- */

/**
 * enum kvp_node_state - what a node of the arena is
 * @KVP_NODE_FREE: on the free list (through next)
 * @KVP_NODE_RESERVED: taken by a call
 * @KVP_NODE_PRIVATE: the tokens of a sequence (or of forks) that nobody else sees
 * @KVP_NODE_ROOT: a namespace; extra is its digest; in the hash by that digest
 * @KVP_NODE_PUBLISHED: in the tree
 * @KVP_NODE_VICTIM: taken off tree, hash and lru by a reclaim in progress
 */
enum kvp_node_state {
	KVP_NODE_FREE = 0,
	KVP_NODE_RESERVED,
	KVP_NODE_PRIVATE,
	KVP_NODE_ROOT,
	KVP_NODE_PUBLISHED,
	KVP_NODE_VICTIM,
};

/**
 * struct kvp_node - index_tokens tokens of a prefix; one cache line
 * @hash: keyed hash chained over the contents from the root; valid once full
 * @parent: PUBLISHED: parent (a node, or a root); one that was cut off is not among its
 *          children, but holds a reference on it
 * @child: first child
 * @next: siblings, KVP_NIL at the end; FREE, RESERVED, VICTIM: next in that list
 * @prev: siblings, KVP_NIL at the start
 * @part: its block, where a node has just one: see kvp_node_parts()
 * @older: towards the end from which reclaim takes
 * @newer: the other way
 * @uses: places in the run tables of sequences that name it; ROOT: its sequences
 * @refs: matches in progress, chain positions of sequences, walks
 * @nr_tokens: ids known, PRIVATE; ROOT: victims of a reclaim in progress that keep a reference
 *             on it
 * @bucket: PUBLISHED, which has index_tokens ids: where the hash has it, if in a line of its
 *          path, else KVP_NIL
 * @extra: index of its extra digest, or KVP_NIL
 * @depth: ROOT: 0; its children 1, and so on
 * @tag: for invalidation
 * @state: enum kvp_node_state
 * @flags: KVP_NODE_*
 * @held: PUBLISHED: of its blocks, those that somebody holds: with a count
 *
 * Under kvp_pool.lock, except that hash, nr_tokens, extra and the tokens of a PRIVATE
 * node with uses 1 belong to the call that keeps its sequence busy.
 */
struct kvp_node {
	u64 hash;
	u32 parent;
	u32 child;
	u32 next;
	u32 prev;
	u32 part;
	u32 older;
	u32 newer;
	u32 uses;
	u32 refs;
	union {
		u32 nr_tokens;
		u32 bucket;
	};
	u32 extra;
	u32 depth;
	u32 tag;
	u8 state;
	u8 flags;
	u16 held;
};

#define KVP_NODE_ON_LRU	(1U << 0)	/* older, newer are valid */
#define KVP_NODE_PINS	(1U << 2)	/* VICTIM: its parent is a root, which it keeps */
#define KVP_NODE_CUT	(1U << 1)	/* invalidated: not in the hash, but on kvp_pool.dead */

/* Of the hash (lookup.c): a node and the low bits of its hash; node KVP_NIL: empty. */
struct kvp_bucket {
	u32 tag;
	u32 node;
};

#define KVP_BUCKET_PLACE	(1U << 31)	/* with node: it is in the line of its path */

/* A digest: of a namespace, or the extra one of a node. */
struct kvp_digest {
	u8 byte[KVP_DIGEST_LEN];
	u32 next;			/* free list */
	u32 used;
};

/* ---- clients ---------------------------------------------------------------- */

/* Objects by id: index (32 bits) | generation (31 bits) << 32. kvp_pool.lock. */
struct kvp_id_slot {
	void *object;
	u32 gen;
	u32 next;
};

#define KVP_ID_CHUNKS	24
#define KVP_ID_FIRST	16		/* slots of the first chunk */

/* Grows by chunks, each as large as all before it, so that nothing ever moves. */
struct kvp_ids {
	struct kvp_id_slot *chunk[KVP_ID_CHUNKS];
	u32 cap;			/* slots; kvp_id_slot() finds one */
	u32 nr;				/* objects */
	u32 free;			/* free list through next */
};

/* Raw references of a client: open addressing, linear probing. kvp_client.raw_lock. */
struct kvp_raw_slot {
	u64 block;			/* id, KVP_BLOCK_NULL: empty */
	u32 count;
	u32 reserved;
};

struct kvp_raw {
	struct kvp_raw_slot *slot;
	u32 cap;			/* power of two, or 0 */
	u32 nr;				/* blocks */
};

/**
 * struct kvp_client - one connection
 * @host: where it was opened
 * @door: how its caller is reached
 * @cred: fixed at open
 * @pool: the pool it is attached to, or NULL; set once (release, under
 *        kvp_host.lock), read with acquire
 * @account: its account; set before @pool
 * @slot: index of @account in kvp_pool.account
 * @rights: KVP_RIGHT_*; set before @pool
 * @watching: it has asked for events; kvp_pool.lock, as the next two
 * @cursor: number of the event that it wants next
 * @list: kvp_pool.clients; kvp_pool.quarantine once it is dead
 * @times: its timelines, NULL until they are needed; set once (release), as the mapping may come
 *         before the pool
 * @watch_list: kvp_pool.watchers, while it watches fences that are open; kvp_pool.lock, as all
 *              up to @reserve
 * @nr_fenced: what of its is on kvp_pool.fenced
 * @dead: it makes no calls any more, and its timelines are not read
 * @deadline: dead: when its quarantine ends, ns; U64_MAX: with reap
 * @nr_granted: tickets granted and not taken
 * @tickets: struct kvp_ticket by id
 * @reserve: blocks that admissions took and that no call has used yet
 * @seqs: struct kvp_seq by id, kvp_pool.lock
 * @matches: struct kvp_match by id, kvp_pool.lock
 * @raw_lock: see the locking overview; initialised by kvp_client_open()
 * @raw: @raw_lock
 *
 * Several threads may call on one client at once, but not while it is closed.
 */
struct kvp_client {
	struct kvp_host *host;
	const struct kvp_door *door;
	struct kvp_cred cred;
	struct kvp_pool *pool;
	struct kvp_account *account;
	u32 slot;
	u32 rights;
	bool watching;
	u64 cursor;
	struct list_head list;
	struct kvp_times *times;
	struct list_head watch_list;
	u32 nr_fenced;
	bool dead;
	u64 deadline;
	u32 nr_granted;
	struct kvp_ids tickets;
	struct kvp_taken reserve;
	struct kvp_ids seqs;
	struct kvp_ids matches;
	struct mutex raw_lock;
	struct kvp_raw raw;
};

/* ---- sequences, matches ------------------------------------------------------ */

/* A growing array of indices. Belongs to the call that keeps its owner busy. */
struct kvp_vec {
	u32 *at;
	u64 nr;
	u64 cap;
};

#define KVP_SEQ_USES	4		/* open uses for which no memory is taken */

/* A copy that the caller owes: the source is held for the sequence. */
struct kvp_pending {
	u32 family;
	u32 src;
};

/**
 * struct kvp_seq - ordered block tables and token ids
 * @id: kvp_client.seqs
 * @client: whose it is
 * @busy: a call works on it; set under kvp_pool.lock, cleared with release
 * @owns_end: the node in which it ends, and that node's blocks, were found to be nobody else's:
 *            what changes that keeps the sequence busy, and clears this
 * @root: its namespace's node (uses)
 * @tail: last node of its published part, or @root (refs)
 * @nr_published: full nodes from the start that are published
 * @reserved: slots that exist
 * @tokens: ids known
 * @computed: KV written
 * @windowed: where @computed was when the windows moved on last
 * @moved_at: where @computed was to be at the last remap: of windows, rows before are not there
 * @done_to: the most that uses that passed have computed, ids known or not
 * @fenced: place on the list of what waits; kvp_pool.lock, as all up to @first_use
 * @claimer: the call of KVP_OP_USE that keeps it busy, or NULL
 * @claimed_uses: uses that this call will add
 * @claimed_to: tokens that they will have computed at most
 * @zombie: freed: it waits for its uses, and has no id any more
 * @replaced: a remap took its place, and its id
 * @borrows: of nodes that are its own, blocks may be others', too
 * @nr_uses: open uses
 * @max_uses: room in @uses
 * @spare_uses: memory that this call got for more of them, or that they had before
 * @max_spare: room there
 * @next_use: number of the next use
 * @uses: in the order of their numbers
 * @nr_late: references given back that wait for uses
 * @max_late: room in @late
 * @late_gone: of @late, from the first on, that have ended by now
 * @late: in the order of their uses; counted in kvp_block.held_back
 * @first_use: @uses as long as they are few
 * @remap: the one that is open, or NULL
 * @nr_places: runs of positions, 0: all tokens stand at their index
 * @max_places: room in @places: one more, while there are any
 * @unnamed_from: first token whose extra digest was lost, or KVP_POS_END
 * @places: runs of positions
 * @runs: the nodes that hold its tokens, in order (uses)
 * @nr_pending: copies not yet acknowledged
 * @pending: their sources (one count each)
 * @table: per family, blocks in order (one count each); KVP_NIL where a
 *         window's past was released; STATE: one slot
 *
 * Everything but @busy and what is said belongs to the call that set it. While no call has, what
 * fences bring is brought under kvp_pool.lock alone (settle.c), which is not let go then.
 */
struct kvp_seq {
	u64 id;
	struct kvp_client *client;
	u32 busy;
	u32 root;
	u32 tail;
	u32 nr_pending;
	bool owns_end;
	u64 nr_published;
	u64 reserved;
	u64 tokens;
	u64 computed;
	u64 windowed;
	u64 moved_at;
	u64 done_to;
	struct kvp_fenced fenced;
	const struct kvp_call *claimer;
	u32 claimed_uses;
	u64 claimed_to;
	bool zombie;
	bool replaced;
	bool borrows;
	u32 nr_uses;
	u32 max_uses;
	u32 max_spare;
	u32 nr_late;
	u32 max_late;
	u32 late_gone;
	u64 next_use;
	struct kvp_open_use *uses;
	struct kvp_open_use *spare_uses;
	struct kvp_late *late;
	struct kvp_open_use first_use[KVP_SEQ_USES];
	struct kvp_remap *remap;
	u32 nr_places;
	u32 max_places;
	u64 unnamed_from;
	struct kvp_place *places;
	struct kvp_pending *pending;
	struct kvp_vec runs;
	struct kvp_vec table[];
};

/* A match that holds its place: one reference on @node. */
struct kvp_match {
	u64 id;
	u32 node;
};

/**
 * struct kvp_export - a sequence as a file: a client without a caller
 * @client: has the sequence, and is what the pool counts and lists
 * @lock: one import or revoke at a time; see the locking overview
 * @seq: id of its one sequence
 * @refs: the file, and calls that work on it; the last one ends the client. kvp_pool.lock,
 *        as the rest
 * @maker: id of the client that made it
 * @maker_slot: its account, if it still has that id
 * @imports: how often it was imported
 * @revoked: it has no sequence any more
 * @suspect: its maker died, or gave them up, while rows of it were being written
 * @of: id of the sequence of its maker
 * @tokens: of the maker's sequence that it has
 * @open: kvp_pool.open_exports, as long as it waits
 * @fenced: place on the list of what waits: for the uses that wrote when it was made
 * @nr_fences: of these
 * @max_fences: room in @fences
 * @fences: their fences
 */
struct kvp_export {
	struct kvp_client client;
	struct mutex lock;
	u64 seq;
	u32 refs;
	u32 maker_slot;
	u64 maker;
	u64 imports;
	bool revoked;
	bool suspect;
	u64 of;
	u64 tokens;
	struct list_head open;
	struct kvp_fenced fenced;
	u32 nr_fences;
	u32 max_fences;
	struct kvp_fence_at *fences;
};

/* ---- pool, host -------------------------------------------------------------- */

/* Counts since the pool was made (struct kvp_stats). kvp_pool.lock. */
struct kvp_counters {
	u64 matched_nodes;
	u64 looked_up_nodes;
	u64 published_nodes;
	u64 shared_nodes;
	u64 reclaimed_nodes;
	u64 reclaimed_blocks;
	u64 invalidated;
	u64 copies;
	u64 underflow_rejected;
	u64 collisions;
	u64 refused_room;
	u64 refused_limit;
	u64 tickets_granted;
	u64 backwards;
	u64 jumps;
	u64 scans;
};

/* A descriptor that the pool keeps, and who is charged for it. */
struct kvp_backing_object {
	void *object;
	u32 kind;
	u32 uid;
	u64 client;
	u64 length;
	u64 label;
};

/**
 * struct kvp_pool - blocks, index and accounts
 * @host: where it is
 * @name: unique among the pools of @host
 * @id: never reused
 * @uid: owner
 * @gid: group of the owner's credentials
 * @mode: permission bits
 * @flags: KVP_POOL_*
 * @policy: KVP_RECLAIM_*
 * @index_tokens: tokens of a node
 * @nr_families: families in @family
 * @parts_per_node: blocks that cover a node, all families
 * @has_windows: a family is of kind WINDOW
 * @has_states: a family is of kind STATE
 * @key: of the hash
 * @metadata_bytes: allocated at creation
 * @grace_ns: how long the quarantine of a dead client lasts, U64_MAX: until reap
 * @door: of its maker, to drop backings
 * @list: kvp_host.pools, kvp_host.lock; empty once the name is gone
 * @all: kvp_host.all, kvp_host.lock
 * @nr_clients: kvp_host.lock, and changed under the gate
 * @nr_attaching: calls that wait for the gate, to attach; kvp_host.lock
 * @nr_scans: scans of it that are on their way, so that it and its place in the list of all stay,
 *            but not its name; kvp_host.lock
 * @nr_backings: kvp_host.lock
 * @backing: kvp_host.lock
 * @destroyed: set once, READ_ONCE
 * @staged: nobody but its maker sees it; kvp_host.lock
 * @pinned: its door was told that it persists
 * @page: what clients may map: the counters of its families; a page
 * @wait: who polls its clients
 * @gate: see the locking overview
 * @reclaim: see the locking overview
 * @serve: see the locking overview
 * @lock: see the locking overview
 * @touched: blocks touched in this hold of the lock, or more
 * @nr_waits: tickets that wait, clients that watch, and dead ones whose quarantine ends by time:
 *            whether there is anything to be told at the end of a call; @lock, read without
 * @family: its families
 * @nodes: array of @nr_nodes
 * @tokens: nr_nodes * index_tokens ids
 * @parts: nr_nodes * parts_per_node block indices; NULL where the nodes have them
 * @buckets: the hash (lookup.c)
 * @bucket_mask: buckets - 1
 * @nr_nodes: nodes
 * @free_node: free list through next
 * @nodes_free: nodes on it
 * @nodes_published: nodes in state PUBLISHED
 * @nr_roots: namespaces
 * @oldest: lru list: reclaim starts here
 * @newest: its other end
 * @dead: list of subtrees that were cut off (next, prev)
 * @digests: array of @nr_digests
 * @nr_digests: digests
 * @free_digest: free list
 * @digests_free: digests on it
 * @clients: kvp_client.list
 * @account: KVP_MAX_CLIENTS places
 * @nr_accounts: of these ever used
 * @user: KVP_MAX_CLIENTS places
 * @nr_users: of these ever used
 * @users_replaced: how often a place went to another user
 * @user_limits: of users without their own
 * @default_limits: of those who attach from now on
 * @next_client: id of the next client
 * @counters: since the pool was made
 * @open_exports: kvp_export.open: those whose rows are being written
 * @fenced: kvp_fenced.list: what waits for fences
 * @nr_fenced: how much that is
 * @nr_fenced_dead: of it, whose clients are in quarantine: their timelines show nothing any more
 * @nr_watchers: how many
 * @watchers: kvp_client.watch_list: who watches fences that are open
 * @quarantine: kvp_client.list of the dead
 * @quarantine_new: one has come there, and nobody knows yet when that ends
 * @tickets: kvp_ticket.list: who waits for blocks, in the order of asking
 * @nr_queued: how many
 * @queued: by family: tickets that wait for blocks of it, and for which others wait
 * @came_back: grows whenever blocks become free or idle, a node can be reclaimed again, or limits
 *             change
 * @served: what @came_back was when the tickets were tried last
 * @events: the log of events, NULL until somebody asks for them; see event.c
 *
 * Constant after creation: the first group, and the arrays' addresses. The
 * arrays are allocated and touched at creation. From @family on: @lock.
 */
struct kvp_pool {
	struct kvp_host *host;
	char name[KVP_NAME_LEN];
	u64 id;
	u32 uid;
	u32 gid;
	u32 mode;
	u32 flags;
	u32 policy;
	u32 index_tokens;
	u32 nr_families;
	u32 parts_per_node;
	bool has_windows;
	bool has_states;
	u64 key[2];
	u64 metadata_bytes;
	u64 grace_ns;
	const struct kvp_door *door;

	struct list_head list;
	struct list_head all;
	u32 nr_clients;
	u32 nr_attaching;
	u32 nr_scans;
	u32 nr_backings;
	struct kvp_backing_object backing[KVP_MAX_BACKINGS];
	bool destroyed;
	bool staged;
	bool pinned;
	struct kvp_counters_page *page;
	wait_queue_head_t wait;

	struct rw_semaphore gate;
	struct mutex serve;
	struct mutex reclaim;
	spinlock_t lock;
	u32 touched;
	u32 nr_waits;

	struct kvp_family family[KVP_MAX_FAMILIES];

	struct kvp_node *nodes;
	u32 *tokens;
	u32 *parts;
	struct kvp_bucket *buckets;
	u32 bucket_mask;
	u32 nr_nodes;
	u32 free_node;
	u32 nodes_free;
	u32 nodes_published;
	u32 nr_roots;
	u32 oldest;
	u32 newest;
	u32 dead;

	struct kvp_digest *digests;
	u32 nr_digests;
	u32 free_digest;
	u32 digests_free;

	struct list_head clients;
	struct kvp_account **account;
	u32 nr_accounts;
	struct kvp_user **user;
	u32 nr_users;
	u32 users_replaced;
	struct kvp_limits user_limits;
	struct kvp_limits default_limits;
	u64 next_client;
	struct kvp_counters counters;
	struct list_head open_exports;
	struct list_head fenced;
	u32 nr_fenced;
	u32 nr_fenced_dead;
	u32 nr_watchers;
	struct list_head watchers;
	struct list_head quarantine;
	bool quarantine_new;
	struct list_head tickets;
	u32 nr_queued;
	u32 queued[KVP_MAX_FAMILIES];
	u64 came_back;
	u64 served;
	struct kvp_event_log *events;
};

/**
 * struct kvp_host - all pools of one device, or of one process
 * @lock: see the locking overview
 * @pools: kvp_pool.list
 * @all: kvp_pool.all: those too that were destroyed and have clients left
 * @next_pool: id of the next pool
 * @max_metadata_per_uid: bytes of all pools of one uid; set by who owns the host, before anybody
 *                        calls, as the next
 * @max_pools_per_uid: but for those who administer the host
 * @scan_ns: time between two readings of timelines while somebody waits
 * @scan_soon: have kvp_host_scan() called in @scan_ns at the latest, by whoever owns the host; may
 *             be NULL: then who waits scans (kvp_client_scan()). Any context
 */
struct kvp_host {
	struct mutex lock;
	struct list_head pools;
	struct list_head all;
	u64 next_pool;
	u64 max_metadata_per_uid;
	u32 max_pools_per_uid;
	u64 scan_ns;
	void (*scan_soon)(struct kvp_host *host);
};

#include "calls.h"

/* ---- small things that every file uses ----------------------------------------- */

static inline void kvp_more_locked(struct kvp_account *account, enum kvp_thing thing, u64 nr)
{
	account->has[thing] += nr;
	account->user->has[thing] += nr;
}

static inline void kvp_less_locked(struct kvp_account *account, enum kvp_thing thing, u64 nr)
{
	account->has[thing] -= nr;
	account->user->has[thing] -= nr;
}

static inline enum kvp_block_state kvp_block_state(const struct kvp_block *block)
{
	return block->word >> KVP_STATE_SHIFT;
}

/* The one place where a block changes its state; kvp_count_states_locked() counts it. */
static inline bool kvp_block_mark_locked(const struct kvp_family *family,
					 struct kvp_block *block, enum kvp_block_state state)
{
	if (WARN_ON_ONCE(!(kvp_block_next[kvp_block_state(block)] & 1 << state)))
		return false;
	trace_kvp_block(family, block - family->blocks, kvp_block_state(block), state);
	block->word = (block->word & KVP_GEN_MAX) | (u64)state << KVP_STATE_SHIFT;
	return true;
}

static inline void kvp_count_states_locked(struct kvp_family *family, enum kvp_block_state old,
					   enum kvp_block_state state, u64 nr)
{
	family->nr[old] -= nr;
	family->nr[state] += nr;
	if (state == KVP_BLOCK_FREE || state == KVP_BLOCK_IDLE)
		family->pool->came_back += nr;
}

static inline u32 *kvp_node_tokens(const struct kvp_pool *pool, u32 index)
{
	return pool->tokens + (size_t)index * pool->index_tokens;
}

static inline u32 *kvp_node_parts(const struct kvp_pool *pool, u32 index)
{
	if (!pool->parts)
		return &pool->nodes[index].part;
	return pool->parts + (size_t)index * pool->parts_per_node;
}

/* Ids that a node knows, PRIVATE or PUBLISHED. */
static inline u32 kvp_node_nr_tokens(const struct kvp_pool *pool, const struct kvp_node *node)
{
	return node->state == KVP_NODE_PUBLISHED ? pool->index_tokens : node->nr_tokens;
}

/* Slot of an id table, @index < ids->cap. */
static inline struct kvp_id_slot *kvp_id_slot(const struct kvp_ids *ids, u32 index)
{
	u32 chunk;

	if (index < KVP_ID_FIRST)
		return &ids->chunk[0][index];
	chunk = ilog2(index / KVP_ID_FIRST);
	return &ids->chunk[chunk + 1][index - (KVP_ID_FIRST << chunk)];
}

/* Blocks that @tokens slots need; the same rounding on every path. */
static inline u64 kvp_blocks_for(const struct kvp_family *family, u64 tokens)
{
	if (family->desc.kind == KVP_FAMILY_STATE)
		return 1;
	return tokens / family->desc.block_tokens + !!(tokens % family->desc.block_tokens);
}

/* Nodes that hold @tokens ids. */
static inline u64 kvp_nodes_for(const struct kvp_pool *pool, u64 tokens)
{
	return tokens / pool->index_tokens + !!(tokens % pool->index_tokens);
}

/* First token whose row a WINDOW family must still have at @computed. */
static inline u64 kvp_window_start(const struct kvp_family *family, u64 computed)
{
	return computed + 1 > family->desc.window ? computed + 1 - family->desc.window : 0;
}

#include "slice.h"

#endif /* KVP_CORE_H */

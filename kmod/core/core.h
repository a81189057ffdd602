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
 * 4. kvp_client.raw_lock mutex one raw operation of a client at a time; its raw
 *                             table, so that what was validated stays so to the end
 * 5. kvp_pool.reclaim mutex   one reclaim, or invalidate, at a time, so that the parents of the
 *                             nodes it has taken off the tree stay where they are
 * 6. kvp_pool.lock  spinlock  blocks, nodes, lists, counters, id tables, accounts
 *
 * Under the spinlock nothing is allocated, copied from or to a caller, or slept
 * on, and no hold touches more than KVP_SLICE blocks (kvp_slice_step()). What
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

#define KVP_SLICE	256		/* blocks that one hold of the lock touches */
#define KVP_NIL		0xffffffffU	/* no index */
#define KVP_MAX_CLIENTS	4096		/* of one pool */
#define KVP_MAX_ARRAYS	3		/* of one operation */
#define KVP_ARG_BYTES	256		/* of the longest struct of an operation */

/* ---- blocks ---------------------------------------------------------------- */

#define KVP_GEN_BITS	36
#define KVP_GEN_MAX	KVP_BLOCK_GEN_MASK
#define KVP_STATE_SHIFT	40

/**
 * struct kvp_block - one block; two to a cache line
 * @word: generation (36 bits), state from KVP_STATE_SHIFT on
 * @count: table slots and raw references that name it
 * @node: the node that names it, if published, else KVP_NIL
 * @owner: slot of the account it is charged to while HELD or RESERVED, else KVP_NIL
 * @next: next on the free list or in a kvp_taken
 * @stamp: when it was allocated or published, ns
 *
 * All under kvp_pool.lock.
 */
struct kvp_block {
	u64 word;
	u32 count;
	u32 node;
	u32 owner;
	u32 next;
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
 * @reserved: 0
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
	u16 reserved;
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

/* ---- accounts, clients ------------------------------------------------------ */

/**
 * enum kvp_thing - what clients and users have beside blocks, and what limits count
 * @KVP_SLOTS: slots in the tables of sequences
 * @KVP_SEQS: sequences
 * @KVP_RAW: raw references
 * @KVP_MATCHES: open matches
 * @KVP_METADATA: bytes of objects
 * @KVP_EXPORTS: open exports: of a client, those it made; an export has itself
 * @KVP_BACKINGS: backing descriptors
 * @KVP_NR_THINGS: how many kinds there are
 *
 * In the order of the bits KVP_LIMIT_SLOTS, ...
 */
enum kvp_thing {
	KVP_SLOTS = 0,
	KVP_SEQS,
	KVP_RAW,
	KVP_MATCHES,
	KVP_METADATA,
	KVP_EXPORTS,
	KVP_BACKINGS,
	KVP_NR_THINGS,
};

/**
 * struct kvp_limits - what a client or user may have; KVP_UNLIMITED is no limit
 * @blocks: charged blocks by family
 * @guarantee: blocks by family that others leave to the client
 * @max: by enum kvp_thing
 */
struct kvp_limits {
	u64 blocks[KVP_MAX_FAMILIES];
	u64 guarantee[KVP_MAX_FAMILIES];
	u64 max[KVP_NR_THINGS];
};

/**
 * struct kvp_user - what all clients of one uid have together
 * @uid: the uid
 * @slot: its place in kvp_pool.user
 * @nr_accounts: accounts that name it
 * @own_limits: @limits are its own; else kvp_pool.user_limits are
 * @limits: see there
 * @charged: blocks by family
 * @has: by enum kvp_thing
 *
 * All under kvp_pool.lock.
 */
struct kvp_user {
	u32 uid;
	u32 slot;
	u32 nr_accounts;
	bool own_limits;
	struct kvp_limits limits;
	u64 charged[KVP_MAX_FAMILIES];
	u64 has[KVP_NR_THINGS];
};

/**
 * struct kvp_account - what is charged to one client; outlives it while blocks
 * that others hold are still charged to it
 * @client: id of the client (never reused)
 * @live: the client is attached
 * @rights: KVP_RIGHT_* of the client, for lists; set when it attaches, as the next four
 * @pid: of the client's credentials, for lists
 * @command: the same
 * @stamp: when it attached, ns
 * @user: of its uid
 * @export: the export that is this client, or NULL
 * @charged: blocks by family
 * @limits: see there
 * @has: by enum kvp_thing
 *
 * All under kvp_pool.lock.
 */
struct kvp_account {
	u64 client;
	bool live;
	u32 rights;
	u32 pid;
	char command[KVP_COMMAND_LEN];
	u64 stamp;
	struct kvp_user *user;
	struct kvp_export *export;
	u64 charged[KVP_MAX_FAMILIES];
	struct kvp_limits limits;
	u64 has[KVP_NR_THINGS];
};

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
 * @list: kvp_pool.clients
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
 * @runs: the nodes that hold its tokens, in order (uses)
 * @nr_pending: copies not yet acknowledged
 * @pending: their sources (one count each)
 * @table: per family, blocks in order (one count each); KVP_NIL where a
 *         window's past was released; STATE: one slot
 *
 * Everything but @busy belongs to the call that set it.
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
 * @door: of its maker, to drop backings
 * @list: kvp_host.pools, kvp_host.lock; empty once the name is gone
 * @all: kvp_host.all, kvp_host.lock
 * @nr_clients: kvp_host.lock, and changed under the gate
 * @nr_attaching: calls that wait for the gate, to attach; kvp_host.lock
 * @nr_backings: kvp_host.lock
 * @backing: kvp_host.lock
 * @destroyed: set once, READ_ONCE
 * @staged: nobody but its maker sees it; kvp_host.lock
 * @pinned: its door was told that it persists
 * @page: what clients may map: the counters of its families; a page
 * @wait: who polls its clients
 * @gate: see the locking overview
 * @reclaim: see the locking overview
 * @lock: see the locking overview
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
	const struct kvp_door *door;

	struct list_head list;
	struct list_head all;
	u32 nr_clients;
	u32 nr_attaching;
	u32 nr_backings;
	struct kvp_backing_object backing[KVP_MAX_BACKINGS];
	bool destroyed;
	bool staged;
	bool pinned;
	struct kvp_counters_page *page;
	wait_queue_head_t wait;

	struct rw_semaphore gate;
	struct mutex reclaim;
	spinlock_t lock;

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
 */
struct kvp_host {
	struct mutex lock;
	struct list_head pools;
	struct list_head all;
	u64 next_pool;
	u64 max_metadata_per_uid;
	u32 max_pools_per_uid;
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

/*
 * @n blocks were touched, and the next step will touch as many: lets others in when that
 * would be more than a slice. The caller must be ready for the pool to change here.
 */
static inline void kvp_slice_step(struct kvp_pool *pool, u32 *touched, u32 n)
{
	lockdep_assert_held(&pool->lock);
	*touched += n;
	if (*touched + n <= KVP_SLICE)
		return;
	spin_unlock(&pool->lock);
	cond_resched();
	*touched = 0;
	spin_lock(&pool->lock);
}

/* The same on a walk through the index that has reached @node, which stays meanwhile. */
static inline void kvp_slice_step_pinned(struct kvp_pool *pool, u32 *touched, u32 n,
					 u32 node)
{
	bool pin = *touched + 2 * n > KVP_SLICE;

	if (pin)
		pool->nodes[node].refs++;
	kvp_slice_step(pool, touched, n);
	if (pin)
		kvp_node_put_locked(pool, node);
}

#endif /* KVP_CORE_H */

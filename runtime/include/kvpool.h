/* SPDX-License-Identifier: MIT */
/*
 * libkvpool - the runtime of kvpool: pools, sequences and the bytes of blocks.
 *
 * The device (or the same core inside this process) owns the names of blocks;
 * this library owns their bytes.
 *
 * Conventions
 * -----------
 * Functions return 0 or a negative errno; kvp_error() tells the calling thread
 * what exactly was wrong with its last failed call. On an error nothing has
 * changed and output arguments are untouched, unless a function says otherwise.
 * Lengths and positions are in tokens, sizes in bytes.
 *
 * "Errors: as KVP_OP_X" means those that <linux/kvpool.h> states for that
 * operation. Every function on a pool can also give -EIO/DESTROYED, -EPERM
 * (the pool was opened before a fork(), see below) and, through the device,
 * -EOWNERDEAD/CLIENT_DEAD (somebody unmapped this process's client from under it). A pool or
 * batch argument must
 * not be NULL; other arguments that must not be NULL and are give -EINVAL/POINTER,
 * arrays of the contract that are NULL with a count above 0 -EFAULT/POINTER.
 *
 * Memory: once a pool is open, the functions on sequences, prefixes, rows, raw
 * blocks and batches allocate nothing in this library, except as they say; what
 * the core needs for a sequence or a match it takes and frees itself.
 *
 * Doors: a pool lives behind one of two doors, and is the same behind each: the device
 * /dev/kvpool, through which processes share it, or the core inside this process, whose
 * pools end with it. A name says which one: dev:NAME, inproc:NAME. A plain NAME takes the
 * device, and fails where there is none; nothing falls back silently. Environment, for programs
 * that are not set-user-id: KVPOOL_DOOR=inproc makes plain names mean inproc:NAME (dev: the
 * default), KVPOOL_DEVICE=PATH names another device than /dev/kvpool. KVPOOL_CPU=scalar, avx2 or
 * avx512 takes that variant of the kernels of kvpool_rows.h instead of the fastest; all give the same.
 *
 * Ownership: what a function takes is read during the call only and stays the
 * caller's; what it gives is written to memory of the caller, unless it says
 * otherwise.
 *
 * Threads: several threads may use one struct kvp_pool at once. Two calls on
 * the same sequence at the same time: one of them gets -EBUSY and has changed
 * nothing. Rows are moved after such a call, not in it: while kvp_rows_*()
 * runs, no other thread may append to, truncate, publish or free the same
 * sequence. kvp_pool_close() and kvp_seq_free() must be the last call on their
 * object. Functions that need no pool may be called by any thread at any time.
 *
 * fork(2): an open pool belongs to the process that opened it. In a child
 * every call on it gives -EPERM, its bytes and pages are not mapped, and
 * kvp_pool_close() frees the handle only (and the child's copy of a descriptor of the device);
 * the child can open pools of its own. Through the device a client ends with its process,
 * also where a child, or somebody who got its descriptor, has that still open.
 */
#ifndef KVPOOL_H
#define KVPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/kvpool.h>

#include "kvpool_geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version --------------------------------------------------------------- */

#define KVP_VERSION	"0.1.0"

/* KVP_VERSION of the library that is linked, which may be newer than its header's; static text. */
const char *kvp_version(void);

/* ---- errors ---------------------------------------------------------------- */

/**
 * struct kvp_error - what was wrong with the last failed call of this thread
 * @err: negative errno
 * @reason: enum kvp_reason, or KVP_REASON_NONE where the errno says all
 * @where: index or offset that @reason speaks of
 * @text: one line for people: what was wrong, what was expected, where
 */
struct kvp_error {
	int err;
	uint32_t reason;
	uint32_t where;
	char text[256];
};

/*
 * The last failed call of this thread (err 0: none yet); memory of the thread, valid until its
 * next call of this library. A call that succeeds leaves it alone. Never NULL.
 */
const struct kvp_error *kvp_error(void);

/*
 * One line for an errno (negative or positive) and a reason: what was wrong and what was
 * expected. The reason's text if it is a known one other than KVP_REASON_NONE, else the
 * errno's. Static text, never NULL. Those of limits speak of the client's; where it was the
 * limit of its uid (KVP_WHERE_UID in where), kvp_error()->text says so.
 */
const char *kvp_strerror(int err, uint32_t reason);

/* "pool-full" for KVP_REASON_POOL_FULL and so on, "unknown" for others; static text. */
const char *kvp_reason_name(uint32_t reason);

/* ---- identity --------------------------------------------------------------- */

/**
 * struct kvp_identity - what must be equal for KV to be the same
 *
 * Each field is a NUL-terminated string of the engine's choice, at most 1 MiB; NULL and "" are
 * different, except that there must be a model. The namespace digest is SHA-256 over the fields
 * in this order, each with its tag and its length, so that no two different sets of fields have
 * the same bytes.
 *
 * Rows are shared only where all of this, the token ids and the extra digests are equal: change
 * the type or the layout of the KV, say so in @dtype or @layout, and nothing that was published
 * before matches. What a match promises is that the rows are the very bytes that somebody
 * computed for these tokens under this identity. It does NOT promise that they equal, bit
 * for bit, what computing them again would give: with other kernel shapes (another batch or chunk
 * size, another split of the work) the same engine rounds sums in another order, and a fresh
 * computation can differ by a step of the type. An engine that needs equal bits must compute
 * under equal shapes, and name in @layout whatever else its numbers depend on.
 */
struct kvp_identity {
	const char *model;		/* tag 1 */
	const char *weights_revision;	/* tag 2 */
	const char *adapter;		/* tag 3: LoRA or the like */
	const char *adapter_revision;	/* tag 4 */
	const char *rope;		/* tag 5: RoPE configuration */
	const char *dtype;		/* tag 6 */
	const char *layout;		/* tag 7 */
	const char *mask;		/* tag 8: mask semantics, e.g. "causal" */
	const char *tenant_salt;	/* tag 9 */
};

/*
 * The namespace digest of @identity. Equal on every host. Errors: -EINVAL (@identity or
 * @digest NULL, or model NULL or ""), -EOVERFLOW (a field longer than 1 MiB; where = its
 * tag - 1), -ENOMEM.
 *
 * Bytes hashed: "kvpool-identity-1", then per field: tag (1 byte), 0 and nothing else
 * if NULL, or 1, the length (8 bytes, little-endian), the bytes.
 */
int kvp_identity_digest(const struct kvp_identity *identity,
			uint8_t digest[KVP_DIGEST_LEN]);

/**
 * struct kvp_input - a non-token input that lies in the tokens of one index node
 * @kind: e.g. "image", "audio", "embeddings"; not empty, at most 1 MiB
 * @content: digest of the content
 * @offset: token offset of its first placeholder in the node (may be negative: it began before)
 * @length: tokens that it covers, > 0
 */
struct kvp_input {
	const char *kind;
	uint8_t content[KVP_DIGEST_LEN];
	int64_t offset;
	uint64_t length;
};

/*
 * The extra digest of a node whose tokens contain @nr inputs. They must be in the one order that
 * gives the same digest everywhere: ascending offset, then kind (as bytes), then content, none
 * twice. Errors (where = index of the input): -EINVAL (NULL; @nr 0; kind NULL or ""; length 0;
 * /EXTRA: out of order), -EOVERFLOW (a kind longer than 1 MiB), -ENOMEM.
 *
 * Bytes hashed: "kvpool-extra-1", @nr (8 bytes, little-endian as all that follow), then per
 * input: length of its kind (8 bytes), kind, content (32 bytes), offset (8 bytes, two's
 * complement), length (8 bytes).
 */
int kvp_extra_digest(const struct kvp_input *inputs, size_t nr,
		     uint8_t digest[KVP_DIGEST_LEN]);

/* ---- doors ------------------------------------------------------------------ */

/**
 * enum kvp_door_kind - a way to pools
 * @KVP_DOOR_DEFAULT: the one that plain names take: the device, or what KVPOOL_DOOR says
 * @KVP_DOOR_INPROC: the core inside this process
 * @KVP_DOOR_DEVICE: the character device
 */
enum kvp_door_kind {
	KVP_DOOR_DEFAULT = 0,
	KVP_DOOR_INPROC = 1,
	KVP_DOOR_DEVICE = 2,
};

/* The scheme of names: "inproc", "dev"; "unknown" for others. Static text. */
const char *kvp_door_name(enum kvp_door_kind door);

/*
 * Whether there is such a door, and what it can do by KVP_FEATURE_* bits; needs no pool. Errors:
 * -EOPNOTSUPP/DOOR (there is no device), -EACCES/DOOR and others of open(2) (it cannot be
 * opened), -EINVAL (POINTER; DOOR: no such door, or a KVPOOL_DOOR that names none), -ENOMEM.
 */
int kvp_door_abi(enum kvp_door_kind door, struct kvp_abi *abi);

/* ---- pools ------------------------------------------------------------------ */

struct kvp_pool;			/* one client of one pool */

/**
 * struct kvp_family_config - one family of a pool to be made
 * @name: label of at most 15 bytes, may be NULL
 * @kind: enum kvp_family_kind
 * @block_tokens: token slots of a block (STATE: 1), 1..KVP_MAX_BLOCK_TOKENS
 * @blocks: blocks, 1..KVP_MAX_BLOCKS
 * @row_bytes: bytes of one row (one token; STATE: of the whole slot), > 0. A block is
 *             block_tokens rows, one after the other
 * @window: WINDOW: tokens, > 0; otherwise 0
 * @dtype: enum kvp_dtype, 0 (KVP_DTYPE_NONE): not said
 */
struct kvp_family_config {
	const char *name;
	enum kvp_family_kind kind;
	uint32_t block_tokens;
	uint64_t blocks;
	uint64_t row_bytes;
	uint32_t window;
	uint32_t dtype;
};

/**
 * struct kvp_pool_config - how to make a pool
 * @families: its families
 * @nr_families: 1..KVP_MAX_FAMILIES
 * @index_tokens: tokens of an index node, 0: least common multiple of the families' block tokens
 * @mode: permission bits, 0: 0600
 * @flags: KVP_POOL_*; with KVP_POOL_STAGED nobody else can open the pool until kvp_pool_ready(),
 *         and closing it before that ends it
 * @policy: KVP_RECLAIM_*
 * @nodes: index nodes, 0: as many as the blocks can need
 * @extras: extra and namespace digests that can be kept, 0: a default
 * @grace_ms: how long what work of a dead client may touch is held back, up to KVP_MAX_GRACE_MS,
 *            0: KVP_GRACE_MS; with KVP_POOL_STRICT, which means until kvp_reap(), 0
 */
struct kvp_pool_config {
	const struct kvp_family_config *families;
	size_t nr_families;
	uint32_t index_tokens;
	uint32_t mode;
	uint32_t flags;
	uint32_t policy;
	uint64_t nodes;
	uint64_t extras;
	uint32_t grace_ms;
};

/*
 * Open a pool by name. @uri:
 *
 *   dev:NAME              a pool of the device that exists already
 *   inproc:NAME           a pool inside this process that exists already
 *   NAME                  as "Doors" above says: of the device, unless KVPOOL_DOOR=inproc
 *   ...NAME?KEY=VALUE&…   the same, made if it does not exist and the keys describe its
 *                         families; of the only family: blocks, block_tokens (default 16),
 *                         row_bytes (64), dtype (not said); of several:
 *                         family=NAME,KIND,BLOCKS,BLOCK_TOKENS,ROW_BYTES[,WINDOW][,DTYPE]
 *                         once for each (KIND dense, window, state; WINDOW with window
 *                         only; NAME may be empty; DTYPE as kvp_dtype_name()); of the pool:
 *                         index_tokens, mode=OCTAL, persistent=yes|no, strict=yes|no,
 *                         grace=MILLISECONDS; of the client:
 *                         rights=use,publish,admin (to take fewer than allowed)
 *
 * Several threads and processes may open, and make, the same pool at once: it is made once, and
 * the others wait until its bytes are there, up to 10 s.
 *
 * Other numbers are decimal and above zero. On success *@pool is the caller's, to be closed with
 * kvp_pool_close(). A second open of a pool is a client of its own that sees the same bytes
 * (at another address). Without the right "use" no bytes are mapped, and of a pool that has no
 * backing, since it was made through the contract alone, there are none: rows then give
 * -EOPNOTSUPP/NO_BACKING, and so does an append or fork that has to copy, which then waits for
 * kvp_seq_copied(). An existing pool whose description differs from the one asked for: -EINVAL
 * (what is not said, and an empty NAME, differ from none).
 * Errors: -EINVAL (malformed; kvp_error() names the key, and where is its offset in @uri),
 * -ENOENT/NO_POOL, -EACCES (a right in rights= is not allowed), -EEXIST/NAME (there is such a pool,
 * and it is not for these credentials), -EBUSY/STAGED (its maker took more than 10 s), -EKEYREJECTED
 * /SEAL (a backing that is not what its maker says), those of kvp_door_abi() and
 * kvp_pool_create(), and as KVP_OP_POOL_ATTACH.
 */
int kvp_pool_open(const char *uri, struct kvp_pool **pool);

/*
 * Make a pool and open it, with all rights; -EEXIST if the name is taken. @name: NAME, dev:NAME or
 * inproc:NAME, as kvp_pool_open(). Its bytes are sparse: memory is taken when a row is first written (or read). On success *@pool is
 * the caller's, to be closed with kvp_pool_close(). Errors: as KVP_OP_POOL_CREATE; -EINVAL (NAME,
 * FAMILY, COUNT), -EOVERFLOW (more bytes than a file can have, or more families than a pool),
 * -ENOMEM (no memory, or no addresses to map the bytes), -EMFILE; those of kvp_door_abi().
 */
int kvp_pool_create(const char *name, const struct kvp_pool_config *config,
		    struct kvp_pool **pool);

/*
 * Let others open a pool that was made with KVP_POOL_STAGED, to add backings first, say; nothing
 * happens to one that is ready. Needs ADMIN. Errors: as KVP_OP_POOL_READY.
 */
int kvp_pool_ready(struct kvp_pool *pool);

/*
 * Leave the pool: its sequences, matches, raw references, tickets and reserve end, and so do
 * addresses of kvp_block_data() and kvp_timeline_address(). No other call on @pool may run or
 * follow. NULL is allowed. Through the device what it held may come back a moment after this
 * returns.
 *
 * Close streams before, and let steps end: what open ones may touch stays held back, in
 * quarantine, until the pool's grace time is over, in a strict pool until kvp_reap(), though their
 * values are not looked at any more.
 */
void kvp_pool_close(struct kvp_pool *pool);

/*
 * End the pool for everybody (needs ADMIN); KVP_DESTROY_* flags. All calls on it, also those of
 * @pool, give -EIO from then on; @pool must still be closed. Errors: as KVP_OP_POOL_DESTROY.
 */
int kvp_pool_destroy(struct kvp_pool *pool, uint32_t flags);

/*
 * The same by name (NAME, dev:NAME, inproc:NAME), for a pool that one has not opened: one that was
 * made with KVP_POOL_PERSISTENT and outlived its clients. Errors: as KVP_OP_POOL_DESTROY; -EINVAL
 * (NAME: longer than KVP_NAME_LEN - 1; VALUE: another scheme), those of kvp_door_abi().
 */
int kvp_pool_destroy_name(const char *name, uint32_t flags);

/*
 * The pools behind @door that the caller may use. *@nr: in: room in @pools (which may be NULL
 * with 0), out: entries written; *@total (may be NULL): pools that there are. Errors: as
 * KVP_OP_POOL_LIST; those of kvp_door_abi().
 */
int kvp_pool_list(enum kvp_door_kind door, struct kvp_pool_entry *pools, uint32_t *nr,
		  uint32_t *total);

/*
 * Any operation of the contract on the pool's client: @arg is the operation's struct of @size
 * bytes, of which this fills in head.size. On an error head.reason and head.where are set in
 * @arg too. Errors: as @op; -EINVAL (SIZE: @size has no room for a head; ALIGNMENT: @arg is not
 * at a multiple of 8).
 */
int kvp_pool_call(struct kvp_pool *pool, enum kvp_op op, void *arg, uint32_t size);

/* ---- what a pool is --------------------------------------------------------- */

/*
 * What this way to the pool can do, by KVP_FEATURE_* bits; also where the pool was destroyed.
 * Errors: as KVP_OP_ABI.
 */
int kvp_pool_abi(struct kvp_pool *pool, struct kvp_abi *abi);

/*
 * Name, owner, mode, ids and sizes; @info->families is NULL and @info->nr_families their number
 * (kvp_pool_family() has them). Errors: as KVP_OP_POOL_INFO.
 */
int kvp_pool_get_info(struct kvp_pool *pool, struct kvp_pool_info *info);

/*
 * The description that makes another pool like this one: @config for kvp_pool_create(), with
 * its families in @families, which has room for @nr (kvp_pool_nr_families() suffices). Names
 * point into @pool and end with it. Errors: -EOVERFLOW/COUNT (@nr too small; where = how
 * many are needed), and as KVP_OP_POOL_INFO and KVP_OP_STATS.
 */
int kvp_pool_describe(struct kvp_pool *pool, struct kvp_pool_config *config,
		      struct kvp_family_config *families, size_t nr);

/* The door that the pool is behind, never KVP_DOOR_DEFAULT. */
enum kvp_door_kind kvp_pool_door(const struct kvp_pool *pool);

/*
 * A descriptor to poll(2), for pools of the device: readable while events wait that this client
 * has not read, while a watched fence has passed and kvp_query() has not said so, and while a
 * ticket is granted that was not taken; hung up when the pool was destroyed. kvp_wait() is the
 * same behind every door. It stays the pool's: not to be closed, read,
 * or used after kvp_pool_close(). Any thread may poll it. Returns the descriptor, or
 * -EOPNOTSUPP/DOOR (in process).
 */
int kvp_pool_fd(struct kvp_pool *pool);

/*
 * The pool's counters as a page that changes while it is read: hints for schedulers that look
 * often, at no cost of a call; kvp_pool_stats() has what belongs together. Read-only, the pool's,
 * until kvp_pool_close(); mapped at the first call. Any thread may read it. Errors:
 * -EOPNOTSUPP/DOOR (in process), -EACCES/RIGHT_USE, -EINVAL/POINTER, -ENOMEM.
 */
int kvp_pool_counters(struct kvp_pool *pool, const struct kvp_counters_page **page);

/* The pool's name, without a scheme; lives as long as @pool. */
const char *kvp_pool_name(const struct kvp_pool *pool);
/* Tokens of an index node: what is published and matched is a multiple of it. */
uint32_t kvp_pool_index_tokens(const struct kvp_pool *pool);
uint32_t kvp_pool_nr_families(const struct kvp_pool *pool);
/* KVP_RIGHT_* of this client. */
uint32_t kvp_pool_rights(const struct kvp_pool *pool);
/* Description of a family; NULL if there is none. Lives as long as @pool. */
const struct kvp_family_desc *kvp_pool_family(const struct kvp_pool *pool, uint32_t family);

/*
 * Index of the family of that name (the first, if several have it). Errors: -EINVAL/POINTER,
 * -ENOENT/FAMILY.
 */
int kvp_pool_find_family(const struct kvp_pool *pool, const char *name, uint32_t *family);
/*
 * Copies that one append or fork can ask for at most: the blocks of one index node and one
 * state a state family.
 */
uint32_t kvp_pool_max_copies(const struct kvp_pool *pool);

/*
 * The files that hold the bytes, for engines that map or register them on their own. Backing i
 * is the memory file of family i; those that kvp_backing_add() adds (a sealed memory file; needs
 * ADMIN) or kvp_backing_add_kind() (any KVP_BACKING_* @kind) follow, and the pool keeps them open
 * and hands them to whoever opens it. @fd stays the caller's; @length is in bytes, of a memory file
 * its size; @label is the caller's to choose; *@index (may be NULL) is its number. get
 * gives in @backing a new descriptor, close-on-exec, which is the caller's to close. Errors: as
 * KVP_OP_BACKING_ADD and _GET.
 */
int kvp_backing_add(struct kvp_pool *pool, int fd, uint64_t length, uint64_t label,
		    uint32_t *index);
int kvp_backing_add_kind(struct kvp_pool *pool, uint32_t kind, int fd, uint64_t length,
			 uint64_t label, uint32_t *index);
int kvp_backing_get(struct kvp_pool *pool, uint32_t index, struct kvp_backing *backing);

/* ---- watching and steering a pool --------------------------------------------- */

/*
 * Counters of the pool (@client 0), of oneself (KVP_STATS_SELF) or of a client (needs ADMIN), and
 * of its families, of which @families (NULL with @nr_families 0: not wanted) must have room for
 * all. Errors: as KVP_OP_STATS.
 */
int kvp_pool_stats(struct kvp_pool *pool, uint64_t client, struct kvp_stats *stats,
		   struct kvp_family_stats *families, uint32_t nr_families);

/*
 * The same of a uid: what its clients have together, the dead among them (needs ADMIN for
 * another's). Errors: as KVP_OP_STATS.
 */
int kvp_pool_uid_stats(struct kvp_pool *pool, uint32_t uid, struct kvp_stats *stats,
		       struct kvp_family_stats *families, uint32_t nr_families);

/*
 * Recount everything (needs ADMIN). *@total gets the number of findings (0: sound), of which at
 * most @nr are written to @findings (NULL with @nr 0). Errors: as KVP_OP_AUDIT.
 */
int kvp_pool_audit(struct kvp_pool *pool, struct kvp_finding *findings, uint32_t nr,
		   uint64_t *total);

/*
 * The same with all that the audit says: @result->total findings, blocks and nodes recounted.
 */
int kvp_pool_audit_all(struct kvp_pool *pool, struct kvp_finding *findings, uint32_t nr,
		       struct kvp_audit *result);

/*
 * Who is attached (oneself; with ADMIN, all). *@nr: in: room in @clients (which may be NULL with
 * 0), out: entries written; *@total (may be NULL): clients that there are. Errors: as
 * KVP_OP_CLIENT_LIST.
 */
int kvp_pool_clients(struct kvp_pool *pool, struct kvp_client_entry *clients, uint32_t *nr,
		     uint32_t *total);

/*
 * Limits and guarantees of a client, or of a uid with KVP_LIMIT_OF_UID in @limit->head.flags (needs
 * ADMIN): those members of @limit that @limit->mask (KVP_LIMIT_*) names; of the head only the
 * flags are looked at. Client 0: those who open the pool from now on; uid KVP_UID_ANY: each that
 * has none of its own. Errors: as KVP_OP_LIMIT.
 */
int kvp_pool_limit(struct kvp_pool *pool, const struct kvp_limit *limit);

/*
 * What each block of @family is: its owner, count, age, why it is not free. *@nr: in: room in
 * @blocks, > 0, out: entries written, 0 after the last block. *@cursor: 0 to begin with, then
 * as the last call left it. Not a snapshot: blocks change between two calls. Errors: as
 * KVP_OP_BLOCK_DUMP.
 */
int kvp_pool_dump(struct kvp_pool *pool, uint32_t family, uint64_t *cursor,
		  struct kvp_block_entry *blocks, uint32_t *nr);

/*
 * Reclaim up to *@nodes (> 0) idle index nodes (needs ADMIN); *@nodes becomes the number
 * reclaimed. Errors: as KVP_OP_PREFIX_RECLAIM.
 */
int kvp_pool_reclaim(struct kvp_pool *pool, uint64_t *nodes);

/*
 * What was stored and removed since event *@cursor, for routers that mirror what is published;
 * see DOC: Events in <linux/kvpool.h>. *@cursor 0: begin with what happens from now on. *@nr:
 * in: room in @events (NULL with 0), out: events written, oldest first; less than there was
 * room for: there are no more now. *@cursor becomes where to go on. *@lost above 0: so many
 * events were overwritten before they were read; the mirror must begin anew from
 * kvp_pool_dump(). Events name blocks; who publishes knows their keys (kvp_prefix_keys()). Does
 * not wait. Errors: as KVP_OP_EVENTS.
 */
int kvp_events_read(struct kvp_pool *pool, uint64_t *cursor, struct kvp_event *events,
		    uint32_t *nr, uint64_t *lost);

/* ---- sequences --------------------------------------------------------------- */

typedef uint64_t kvp_seq_t;		/* id, valid in its pool's client only; 0 is none */

/**
 * struct kvp_prompt - identity and token ids of the beginning of a sequence
 * @space: namespace digest
 * @tokens: ids
 * @nr_tokens: how many
 * @extras: extra digests, ascending by node
 * @nr_extras: how many
 * @match_limit: kvp_seq_create: take at most so many published tokens (an engine that needs the
 *               last token's output leaves that one to be computed); 0: no limit
 */
struct kvp_prompt {
	const uint8_t *space;
	const uint32_t *tokens;
	uint32_t nr_tokens;
	const struct kvp_extra *extras;
	uint32_t nr_extras;
	uint64_t match_limit;
};

/**
 * struct kvp_lengths - how long a sequence is; reserved >= tokens >= computed >= published
 * @tokens: ids known
 * @computed: KV written
 * @reserved: slots that exist
 * @published: tokens from the start that others can match
 */
struct kvp_lengths {
	uint64_t tokens;
	uint64_t computed;
	uint64_t reserved;
	uint64_t published;
};

/*
 * Begin a sequence with @prompt, taking the longest published prefix; KVP_SEQ_* @flags.
 * *@matched (may be NULL) tokens need not be computed. @reserve slots beyond the prompt.
 * On success *@seq is the caller's, to be ended with kvp_seq_free() or by kvp_pool_close().
 * Errors: as KVP_OP_SEQ_CREATE.
 */
int kvp_seq_create(struct kvp_pool *pool, const struct kvp_prompt *prompt, uint32_t flags,
		   uint64_t reserve, kvp_seq_t *seq, uint64_t *matched);

/*
 * Append @nr_tokens ids (may be 0 with @reserve) and have @reserve slots beyond them. Blocks that
 * are shared are replaced by private copies, bytes included, before this returns. One call of the
 * contract, with nothing allocated, unless there are copies to make.
 * Errors: as KVP_OP_SEQ_APPEND.
 */
int kvp_seq_append(struct kvp_pool *pool, kvp_seq_t seq, const uint32_t *tokens,
		   uint32_t nr_tokens, uint64_t reserve);
/*
 * The same with extra digests, and with the number of tokens the caller believes the sequence
 * has (KVP_POS_END: whatever it has). -EINVAL/POSITION: it has another number; kvp_error() says
 * in words which, and kvp_error()->where is its low 32 bits.
 */
int kvp_seq_append_at(struct kvp_pool *pool, kvp_seq_t seq, uint64_t position,
		      const uint32_t *tokens, uint32_t nr_tokens,
		      const struct kvp_extra *extras, uint32_t nr_extras, uint64_t reserve);

/* Ids for slots that were reserved; allocates no slot. Errors: as KVP_OP_SEQ_SET_TOKENS. */
int kvp_seq_set_tokens(struct kvp_pool *pool, kvp_seq_t seq, const uint32_t *tokens,
		       uint32_t nr_tokens);

/* The same with extra digests and the tokens the sequence has, as kvp_seq_append_at(). */
int kvp_seq_set_tokens_at(struct kvp_pool *pool, kvp_seq_t seq, uint64_t position,
			  const uint32_t *tokens, uint32_t nr_tokens,
			  const struct kvp_extra *extras, uint32_t nr_extras);

/*
 * KV of the first @computed tokens is written; never goes back. Blocks that a window has left
 * behind are given back. Not for what steps write (kvpool_fence.h), which counts as computed when
 * they have ended. Errors: as KVP_OP_SEQ_ADVANCE.
 */
int kvp_seq_advance(struct kvp_pool *pool, kvp_seq_t seq, uint64_t computed);

/*
 * A second sequence on the first @tokens (KVP_POS_END: all) computed tokens: blocks are
 * shared, what one of the two could still write is copied, bytes included, before this returns.
 * On success *@child is the caller's, as of kvp_seq_create(). Errors: as KVP_OP_SEQ_FORK.
 */
int kvp_seq_fork(struct kvp_pool *pool, kvp_seq_t seq, uint64_t tokens, kvp_seq_t *child);

/*
 * Drop all but the first @tokens tokens, and slots reserved beyond them; also what open steps were
 * to compute there. Errors: as KVP_OP_SEQ_TRUNCATE.
 */
int kvp_seq_truncate(struct kvp_pool *pool, kvp_seq_t seq, uint64_t tokens);

/*
 * End the sequence; its id is not used again. What open steps may touch comes back when they have
 * ended (kvpool_fence.h). Errors: as KVP_OP_SEQ_FREE.
 */
int kvp_seq_free(struct kvp_pool *pool, kvp_seq_t seq);

/* How long the sequence is. Errors: as KVP_OP_SEQ_TABLE. */
int kvp_seq_lengths(struct kvp_pool *pool, kvp_seq_t seq, struct kvp_lengths *lengths);

/*
 * Block ids of @family from slot @first on; *@nr: in: room in @blocks, out: written.
 * KVP_BLOCK_NULL where a window's past was released. The ids hold until the
 * next call that changes the sequence (publish too). Errors: as KVP_OP_SEQ_TABLE.
 */
int kvp_seq_table(struct kvp_pool *pool, kvp_seq_t seq, uint32_t family, uint64_t first,
		  uint64_t *blocks, uint32_t *nr);

/**
 * struct kvp_table - a piece of a block table, with what it means in positions
 * @family: in: whose table
 * @nr: in: room in @blocks; out: ids written
 * @first: in: index of the first slot wanted
 * @blocks: in: where to write ids; NULL with @nr 0: only the rest is wanted
 * @total: out: slots of the table
 * @position: out: position of the first token in slot @first (STATE: 0)
 * @block_tokens: out: positions that each slot covers (STATE: 0, all of them)
 * @lengths: out: of the sequence, of the same moment as the ids
 */
struct kvp_table {
	uint32_t family;
	uint32_t nr;
	uint64_t first;
	uint64_t *blocks;
	uint64_t total;
	uint64_t position;
	uint64_t block_tokens;
	struct kvp_lengths lengths;
};

/* Table and lengths in one call, of one moment. Errors: as KVP_OP_SEQ_TABLE. */
int kvp_seq_read(struct kvp_pool *pool, kvp_seq_t seq, struct kvp_table *table);

/* In kvp_seq_slots(): the row was let go by its window. */
#define KVP_SLOT_NONE	(~0ULL)

/*
 * Where the rows of positions [@first, @first + @nr), @nr > 0, lie ("slot mapping"): slots[i] is
 * index of the block * block_tokens + row in the block. Only reserved positions have a
 * place. Errors: -EINVAL (LENGTH: beyond what is reserved; COUNT: @nr 0; FAMILY; POINTER),
 * -EOPNOTSUPP/STATE_FAMILY, and as KVP_OP_SEQ_TABLE. @slots may have been written to in part
 * where another thread truncated the sequence meanwhile.
 */
int kvp_seq_slots(struct kvp_pool *pool, kvp_seq_t seq, uint32_t family, uint64_t first,
		  uint64_t nr, uint64_t *slots);

/**
 * struct kvp_append - what to append
 * @tokens: ids
 * @nr_tokens: how many, may be 0 with @reserve
 * @nr_extras: how many
 * @extras: extra digests, ascending by node
 * @position: tokens the caller believes the sequence has, or KVP_POS_END
 * @reserve: slots that must exist beyond the tokens
 */
struct kvp_append {
	const uint32_t *tokens;
	uint32_t nr_tokens;
	uint32_t nr_extras;
	const struct kvp_extra *extras;
	uint64_t position;
	uint64_t reserve;
};

/*
 * For engines that copy bytes by themselves, on another device say: append and fork that only
 * say which rows must be copied. *@nr: in: room in @copies (kvp_pool_max_copies()
 * always suffices), out: copies to make, of which kvp_seq_copied() must then be told (fork: for
 * the child) before anything else is done with the sequence. Errors: as kvp_seq_append_at() and
 * kvp_seq_fork(); -EOVERFLOW/COPIES (where = how many are needed).
 */
int kvp_seq_append_plan(struct kvp_pool *pool, kvp_seq_t seq, const struct kvp_append *append,
			struct kvp_copy *copies, uint32_t *nr);
int kvp_seq_fork_plan(struct kvp_pool *pool, kvp_seq_t seq, uint64_t tokens, kvp_seq_t *child,
		      struct kvp_copy *copies, uint32_t *nr);
/* The copies are made; nothing happens if none were asked for. Errors: as KVP_OP_SEQ_COPIED. */
int kvp_seq_copied(struct kvp_pool *pool, kvp_seq_t seq);

/*
 * The computed tokens of a sequence as a file, to be passed to another process over a Unix socket
 * (SCM_RIGHTS), which imports it into a client of the same pool; rows included, by reference.
 * *@fd, close-on-exec, is the caller's to close: what was exported stays held until its last copy
 * is closed or it is revoked, also if the sequence ends or this process dies. *@id (may be NULL) is
 * its id for kvp_export_revoke() and in kvp_pool_clients(). Slots that are reserved behind the
 * computed tokens in their node are in the way (-EINVAL/LENGTH): kvp_seq_truncate() to the computed
 * tokens first. Pools of the device only. Errors: as KVP_OP_SEQ_EXPORT.
 */
int kvp_seq_export(struct kvp_pool *pool, kvp_seq_t seq, int *fd, uint64_t *id);

/*
 * A sequence of its own from such a file, any number of times; *@tokens (may be NULL) tokens, all
 * computed. @fd stays the caller's. *@seq is the caller's, as of kvp_seq_create(). Errors: as
 * KVP_OP_SEQ_IMPORT.
 */
int kvp_seq_import(struct kvp_pool *pool, int fd, kvp_seq_t *seq, uint64_t *tokens);

/*
 * End an export, whoever has its file (its maker, or ADMIN): imports give -ESTALE/REVOKED from now
 * on, what was imported stays. Errors: as KVP_OP_EXPORT_REVOKE.
 */
int kvp_export_revoke(struct kvp_pool *pool, uint64_t id);

/* ---- prefixes ----------------------------------------------------------------- */

/*
 * Publish the full computed nodes that no open step writes (needs PUBLISH); *@published (may be
 * NULL): tokens published now.
 * Errors: as KVP_OP_PREFIX_PUBLISH.
 */
int kvp_publish(struct kvp_pool *pool, kvp_seq_t seq, uint64_t *published);

/**
 * struct kvp_publish_options - how to publish
 * @limit: publish at most so many tokens from the start; 0: all that are computed
 * @tag: label for kvp_invalidate_tag(), 0: none
 * @flags: KVP_PUBLISH_*
 */
struct kvp_publish_options {
	uint64_t limit;
	uint32_t tag;
	uint32_t flags;
};

/**
 * struct kvp_published - what became of it
 * @tokens: tokens from the start that are published now
 * @nr_new: index nodes that were new
 * @nr_shared: index nodes that somebody had published already
 */
struct kvp_published {
	uint64_t tokens;
	uint64_t nr_new;
	uint64_t nr_shared;
};

/*
 * Publish with @options (NULL: as kvp_publish()); @result may be NULL. Errors: as
 * KVP_OP_PREFIX_PUBLISH.
 */
int kvp_publish_with(struct kvp_pool *pool, kvp_seq_t seq,
		     const struct kvp_publish_options *options, struct kvp_published *result);

/*
 * How many tokens of @prompt are published. Holds nothing: they may be reclaimed at once.
 * Errors: as KVP_OP_PREFIX_MATCH.
 */
int kvp_match(struct kvp_pool *pool, const struct kvp_prompt *prompt, uint64_t *matched);

typedef uint64_t kvp_match_t;		/* id, valid in its pool's client only; 0 is none */

/*
 * The same, and keep what was matched from being reclaimed until kvp_match_release(), which the
 * caller owes if *@match is not 0 (0: nothing matched, nothing is held). *@matched may be NULL.
 * Errors: as KVP_OP_PREFIX_MATCH.
 */
int kvp_match_hold(struct kvp_pool *pool, const struct kvp_prompt *prompt, kvp_match_t *match,
		   uint64_t *matched);

/*
 * The same with the block ids of @family. *@nr: in: room in @blocks, out: written (of the
 * first nodes; KVP_BLOCK_NULL for a node that has none). *@matched may be NULL. @match NULL: hold
 * nothing, the ids may be old when they are read. Errors: as KVP_OP_PREFIX_MATCH.
 */
int kvp_match_blocks(struct kvp_pool *pool, const struct kvp_prompt *prompt, uint32_t family,
		     uint64_t *blocks, uint32_t *nr, kvp_match_t *match, uint64_t *matched);

/* End a match; its id is not used again. Errors: as KVP_OP_PREFIX_RELEASE. */
int kvp_match_release(struct kvp_pool *pool, kvp_match_t match);

/*
 * Never match again what was published in this namespace up to now (needs ADMIN). Errors: as
 * KVP_OP_PREFIX_INVALIDATE.
 */
int kvp_invalidate_space(struct kvp_pool *pool, const uint8_t space[KVP_DIGEST_LEN]);

/*
 * Never match again the last node of @prompt (whole nodes) and what follows it; or the nodes
 * that were published with @tag (> 0) and what follows them (needs ADMIN). *@nr_subtrees (may be
 * NULL): subtrees of the index that were cut off, 0 if there was nothing. Errors: as
 * KVP_OP_PREFIX_INVALIDATE.
 */
int kvp_invalidate_prefix(struct kvp_pool *pool, const struct kvp_prompt *prompt,
			  uint64_t *nr_subtrees);
int kvp_invalidate_tag(struct kvp_pool *pool, uint32_t tag, uint64_t *nr_subtrees);

/*
 * Portable keys of the full nodes of @prompt (whose match_limit does not matter), of @index_tokens
 * ids each: equal on every host, in every process and pool, for equal contents from the
 * namespace on, and for no others. A router looks prefixes up by them; in events and dumps the
 * same nodes are known by their blocks (kvp_seq_table(), kvp_match_blocks()). Needs no pool. Uses
 * one state of libcrypto, and no more memory for many nodes than for one.
 *
 * *@nr: in: room in @keys, out: keys written, @prompt->nr_tokens / @index_tokens. Errors: -EINVAL
 * (POINTER; VALUE: @index_tokens 0 or above KVP_MAX_CALL_TOKENS; EXTRA: digests not ascending or
 * outside the tokens, where = which), -EOVERFLOW/COUNT (no room; where = how many are needed),
 * -ENOMEM (some keys may have been written).
 *
 * Bytes hashed for a node: "kvpool-key-1", the key of its parent (32 bytes; of the first node: the
 * namespace digest), @index_tokens (8 bytes, little-endian as all that follow), the ids (4
 * bytes each), then 0, or 1 and the extra digest (32 bytes).
 *
 * Test vector: the identity with model "llama-3.1-8b", weights_revision "r1", rope
 * "theta=500000", dtype "bf16", layout "k,v", mask "causal", tenant_salt "" (the others NULL);
 * nodes of 4 ids, 128000 1 2 3 and 4294967295 0 65536 255; the second has the extra digest of one
 * input: kind "image", content 00 01 02 ... 1f, offset -3, length 5. The keys are
 *
 * 24de5ea6f494b2a85b1744281ef71ce2f4ebbc3a980c169db603a84d6518cbfb
 * e3cf3ef3a753628b106c2783981c0a3fa7778efeafc909271b68501cc067b2c8
 *
 * A library that gets others opens no pool (-EKEYREJECTED).
 */
int kvp_prefix_keys(const struct kvp_prompt *prompt, uint32_t index_tokens,
		    uint8_t (*keys)[KVP_DIGEST_LEN], uint32_t *nr);

/* ---- bytes --------------------------------------------------------------------- */

/*
 * Write the rows of tokens [@first, @first + @nr): @nr * row_bytes bytes at @rows, @nr > 0. Only
 * rows that are reserved and not yet computed can be written: such a row lies in a block that
 * is this sequence's alone. Errors: -EINVAL (LENGTH: outside; COUNT: @nr 0; FAMILY; POINTER),
 * -EOPNOTSUPP/STATE_FAMILY, and as KVP_OP_SEQ_TABLE. All of it is checked before the first row is
 * written.
 */
int kvp_rows_write(struct kvp_pool *pool, kvp_seq_t seq, uint32_t family, uint64_t first,
		   uint64_t nr, const void *rows);

/*
 * Read the rows of computed tokens [@first, @first + @nr). Errors: as above, and
 * -EINVAL/WINDOW_RELEASED (a block of rows that a window has let go; rows just before the window
 * can still be read while they share a block with later ones).
 */
int kvp_rows_read(struct kvp_pool *pool, kvp_seq_t seq, uint32_t family, uint64_t first,
		  uint64_t nr, void *rows);

/*
 * Address of a block's bytes (block_tokens * row_bytes; a state's row), for engines that read
 * through block tables. Only the id's form is looked at: the caller must hold the block, and write
 * to it only if nobody else can see it. Valid until kvp_pool_close(). NULL for an id that
 * cannot be of this pool, where no bytes are mapped, and where the family has a geometry
 * (kvp_block_plane() then).
 */
void *kvp_block_data(struct kvp_pool *pool, uint64_t block);

/* ---- raw blocks ------------------------------------------------------------------ */

/*
 * For engines that keep their own tables; each for all of the @nr blocks or for none. alloc
 * takes blocks of @family with one reference each; ref adds one to blocks that this client
 * already holds so; unref drops one. Errors: as KVP_OP_BLOCK_ALLOC, _REF and _UNREF.
 */
int kvp_blocks_alloc(struct kvp_pool *pool, uint32_t family, uint64_t *blocks, uint32_t nr);
int kvp_blocks_ref(struct kvp_pool *pool, const uint64_t *blocks, uint32_t nr);
int kvp_blocks_unref(struct kvp_pool *pool, const uint64_t *blocks, uint32_t nr);

/*
 * Raw references on the @nr blocks (of one family) from slot @first on of a sequence's table, or
 * of a match that is held: they stay when the sequence or the match ends. Ids that are not those
 * of the slots are refused. Errors: as KVP_OP_BLOCK_REF; -ENOENT (NO_SEQ, NO_MATCH) for id 0.
 */
int kvp_blocks_ref_seq(struct kvp_pool *pool, kvp_seq_t seq, uint64_t first,
		       const uint64_t *blocks, uint32_t nr);
int kvp_blocks_ref_match(struct kvp_pool *pool, kvp_match_t match, uint64_t first,
			 const uint64_t *blocks, uint32_t nr);

/*
 * Before a write: *@block becomes a block that only the caller's one reference names, with the
 * same bytes; the reference on the old one moves. Errors: as KVP_OP_BLOCK_MAKE_PRIVATE.
 */
int kvp_block_make_private(struct kvp_pool *pool, uint64_t *block);

#ifdef __cplusplus
}
#endif

#include "kvpool_batch.h"
#include "kvpool_fence.h"
#include "kvpool_rope.h"
#include "kvpool_rows.h"
#include "kvpool_remap.h"

#endif /* KVPOOL_H */

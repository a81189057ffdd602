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
 * operation. Every function on a pool can also give -EIO/DESTROYED and -EPERM
 * (the pool was opened before a fork(), see below). A pool argument must not be
 * NULL; other arguments that must not be NULL and are give -EINVAL.
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
 * object.
 *
 * fork(2): a pool inside the process belongs to the process that opened it. In
 * a child every call on it gives -EPERM, its bytes are not mapped, and
 * kvp_pool_close() frees the handle only; the child can open pools of its own.
 */
#ifndef KVPOOL_H
#define KVPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/kvpool.h>

#ifdef __cplusplus
extern "C" {
#endif

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
 * errno's. Static text, never NULL.
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
 */
struct kvp_family_config {
	const char *name;
	enum kvp_family_kind kind;
	uint32_t block_tokens;
	uint64_t blocks;
	uint64_t row_bytes;
	uint32_t window;
};

/**
 * struct kvp_pool_config - how to make a pool
 * @families: its families
 * @nr_families: 1..KVP_MAX_FAMILIES
 * @index_tokens: tokens of an index node, 0: least common multiple of the families' block tokens
 * @mode: permission bits, 0: 0600
 * @flags: KVP_POOL_*
 */
struct kvp_pool_config {
	const struct kvp_family_config *families;
	size_t nr_families;
	uint32_t index_tokens;
	uint32_t mode;
	uint32_t flags;
};

/*
 * Open a pool by name. @uri:
 *
 *   inproc:NAME              a pool inside this process that exists already
 *   inproc:NAME?KEY=VALUE&…  the same, made if it does not exist and the keys describe its
 *                            families; of the only family: blocks, block_tokens (default 16),
 *                            row_bytes (64); of several:
 *                            family=NAME,KIND,BLOCKS,BLOCK_TOKENS,ROW_BYTES[,WINDOW]
 *                            once for each (KIND dense, window, state; WINDOW with window
 *                            only; NAME may be empty); index_tokens;
 *                            rights=use,publish,admin (to take fewer than allowed)
 *   dev:NAME                 a pool of /dev/kvpool: -EOPNOTSUPP for now
 *
 * Numbers are decimal and above zero. On success *@pool is the caller's, to be closed with
 * kvp_pool_close(). A second open of a pool is a client of its own that sees the same bytes
 * (at another address). Without the right "use" no bytes are mapped. An existing pool
 * whose description differs from the one asked for: -EINVAL.
 * Errors: -EINVAL (malformed; kvp_error() names the key, and where is its offset in @uri),
 * -ENOENT/NO_POOL, -EACCES (a right in rights= is not allowed), -EOPNOTSUPP/DOOR, those of
 * kvp_pool_create(), and as KVP_OP_POOL_ATTACH.
 */
int kvp_pool_open(const char *uri, struct kvp_pool **pool);

/*
 * Make a pool inside this process and open it, with all rights; -EEXIST if the name is taken. Its
 * bytes are sparse: memory is taken when a row is first written (or read). On success *@pool is
 * the caller's, to be closed with kvp_pool_close(). Errors: as KVP_OP_POOL_CREATE; -EINVAL (NAME,
 * FAMILY, COUNT), -EOVERFLOW (more bytes than a file can have, or more families than a pool),
 * -ENOMEM (no memory, or no addresses to map the bytes), -EMFILE.
 */
int kvp_pool_create(const char *name, const struct kvp_pool_config *config,
		    struct kvp_pool **pool);

/*
 * Leave the pool: its sequences, matches and raw references end, and so do addresses of
 * kvp_block_data(). No other call on @pool may run or follow. NULL is allowed.
 */
void kvp_pool_close(struct kvp_pool *pool);

/*
 * End the pool for everybody (needs ADMIN); KVP_DESTROY_* flags. All calls on it, also those of
 * @pool, give -EIO from then on; @pool must still be closed. Errors: as KVP_OP_POOL_DESTROY.
 */
int kvp_pool_destroy(struct kvp_pool *pool, uint32_t flags);

/*
 * Any operation of the contract on the pool's client: @arg is the operation's struct of @size
 * bytes, of which this fills in head.size. On an error head.reason and head.where are set in
 * @arg too. Errors: as @op; -EINVAL/SIZE (@size has no room for a head).
 */
int kvp_pool_call(struct kvp_pool *pool, enum kvp_op op, void *arg, uint32_t size);

/* Tokens of an index node: what is published and matched is a multiple of it. */
uint32_t kvp_pool_index_tokens(const struct kvp_pool *pool);
uint32_t kvp_pool_nr_families(const struct kvp_pool *pool);
/* KVP_RIGHT_* of this client. */
uint32_t kvp_pool_rights(const struct kvp_pool *pool);
/* Description of a family; NULL if there is none. Lives as long as @pool. */
const struct kvp_family_desc *kvp_pool_family(const struct kvp_pool *pool, uint32_t family);

/*
 * Counters of the pool (@client 0), of oneself (KVP_STATS_SELF) or of a client (needs ADMIN), and
 * of its families, of which @families (NULL with @nr_families 0: not wanted) must have room for
 * all. Errors: as KVP_OP_STATS.
 */
int kvp_pool_stats(struct kvp_pool *pool, uint64_t client, struct kvp_stats *stats,
		   struct kvp_family_stats *families, uint32_t nr_families);

/*
 * Recount everything (needs ADMIN). *@total gets the number of findings (0: sound), of which at
 * most @nr are written to @findings (NULL with @nr 0). Errors: as KVP_OP_AUDIT.
 */
int kvp_pool_audit(struct kvp_pool *pool, struct kvp_finding *findings, uint32_t nr,
		   uint64_t *total);

/*
 * Reclaim up to *@nodes (> 0) idle index nodes (needs ADMIN); *@nodes becomes the number
 * reclaimed. Errors: as KVP_OP_PREFIX_RECLAIM.
 */
int kvp_pool_reclaim(struct kvp_pool *pool, uint64_t *nodes);

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

/*
 * KV of the first @computed tokens is written; never goes back. Blocks that a window has left
 * behind are given back. Errors: as KVP_OP_SEQ_ADVANCE.
 */
int kvp_seq_advance(struct kvp_pool *pool, kvp_seq_t seq, uint64_t computed);

/*
 * A second sequence on the first @tokens (KVP_POS_END: all) computed tokens: blocks are
 * shared, what one of the two could still write is copied, bytes included, before this returns.
 * On success *@child is the caller's, as of kvp_seq_create(). Errors: as KVP_OP_SEQ_FORK.
 */
int kvp_seq_fork(struct kvp_pool *pool, kvp_seq_t seq, uint64_t tokens, kvp_seq_t *child);

/*
 * Drop all but the first @tokens tokens, and slots reserved beyond them. Errors: as
 * KVP_OP_SEQ_TRUNCATE.
 */
int kvp_seq_truncate(struct kvp_pool *pool, kvp_seq_t seq, uint64_t tokens);

/* End the sequence; its id is not used again. Errors: as KVP_OP_SEQ_FREE. */
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

/* ---- prefixes ----------------------------------------------------------------- */

/*
 * Publish the full computed nodes (needs PUBLISH); *@published (may be NULL): tokens published now.
 * Errors: as KVP_OP_PREFIX_PUBLISH.
 */
int kvp_publish(struct kvp_pool *pool, kvp_seq_t seq, uint64_t *published);

/*
 * How many tokens of @prompt are published. Holds nothing: they may be reclaimed at once.
 * Errors: as KVP_OP_PREFIX_MATCH.
 */
int kvp_match(struct kvp_pool *pool, const struct kvp_prompt *prompt, uint64_t *matched);

/*
 * Never match again what was published in this namespace up to now (needs ADMIN). Errors: as
 * KVP_OP_PREFIX_INVALIDATE.
 */
int kvp_invalidate_space(struct kvp_pool *pool, const uint8_t space[KVP_DIGEST_LEN]);

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
 * cannot be of this pool, and where no bytes are mapped.
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
 * Before a write: *@block becomes a block that only the caller's one reference names, with the
 * same bytes; the reference on the old one moves. Errors: as KVP_OP_BLOCK_MAKE_PRIVATE.
 */
int kvp_block_make_private(struct kvp_pool *pool, uint64_t *block);

#ifdef __cplusplus
}
#endif

#endif /* KVPOOL_H */

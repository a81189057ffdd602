/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR MIT) */
/*
 * kvpool - the contract between a pool of KV-cache blocks and its clients.
 *
 * The only header that kernel and userspace share. Every operation is one
 * struct and one number; both are the same through ioctl(2), through
 * IORING_OP_URING_CMD and in process.
 *
 * The device is /dev/kvpool. An open file is one client; rights, and who is charged, follow
 * from the credentials that opened it, whoever calls on it later.
 */
#ifndef _UAPI_LINUX_KVPOOL_H
#define _UAPI_LINUX_KVPOOL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * DOC: The frame of every call
 *
 * Every call struct begins with struct kvp_head. @size is the size of the
 * struct as the caller knows it. A shorter struct is extended with zeros, a
 * longer one is taken if its unknown tail is zero; zero in a field that was
 * added later means the behaviour before it existed. Unknown bits in @flags and
 * non-zero reserved fields are refused.
 *
 * Arrays are (pointer, count) pairs. The pointer must be aligned to the size of
 * the largest member of the element. A count of zero with a null pointer means
 * "no array".
 *
 * Every call returns 0 or a negative errno. On an error nothing has changed,
 * and @reason says which of the causes of that errno it was; @where says which
 * element (of an array, of a batch, or which family) it was about. What output arrays hold
 * then is not said. But where only the result cannot be written (EFAULT), what was done stands,
 * unless the operation says otherwise.
 *
 * ============  ===========================================================
 * errno         meaning
 * ============  ===========================================================
 * EINVAL        malformed: unknown flag, non-zero reserved field, bad value
 * E2BIG         struct larger than a page, or an unknown non-zero tail (only)
 * EFAULT        a pointer that cannot be read or written
 * EOVERFLOW     a count or length above the limits of this contract
 * ENOTTY        unknown operation
 * EOPNOTSUPP    this family, door or kernel cannot do that
 * ENOENT        unknown id or name
 * ESTALE        an id whose object is gone (old generation), or that was revoked
 * EBUSY         wrong state; another call works on the object; work that may touch it is open
 * EEXIST        the name is taken
 * EPERM         not the owner of what the id names
 * EACCES        the client lacks the right
 * EDQUOT        over a limit of the client
 * ENOSPC        the pool is full now
 * EFBIG         can never fit into this pool
 * ENOMEM        no memory for metadata
 * EKEYREJECTED  identity or seal forbids it
 * EIO           the pool was destroyed, or its backing is lost
 * EOWNERDEAD    the owner died, contents are suspect
 * ECANCELED     not executed, an earlier entry of the batch failed
 * ============  ===========================================================
 *
 * The comment of each struct ends with the errors of its operation, as ERRNO/REASON. Errors of
 * every call: EINVAL (SIZE, FLAG, RESERVED, ALIGNMENT), E2BIG/SIZE, EFAULT/POINTER,
 * EOWNERDEAD/CLIENT_DEAD; of one with arrays: EOVERFLOW/COUNT, ENOMEM/MEMORY; of one with an id
 * that may be a KVP_REF: EINVAL/BATCH_REF; of one that needs a pool: EBUSY/NOT_ATTACHED,
 * EIO/DESTROYED; without the right that stands before its errors EACCES, with that right's reason;
 * of one by io_uring: EINVAL, where struct kvp_uring_cmd is not as it must be. The reason stays as
 * it was where head.size is below that of struct kvp_head, or the head cannot be written.
 *
 * Rights are fixed when a client attaches: %KVP_RIGHT_USE to hold blocks and to
 * match, %KVP_RIGHT_PUBLISH to publish, %KVP_RIGHT_ADMIN to set limits, audit,
 * destroy, reclaim and to invalidate what others published.
 */

/* Limits of the contract, the same for every pool. */
#define KVP_NAME_LEN		64	/* with the terminating NUL */
#define KVP_FAMILY_NAME_LEN	16
#define KVP_MAX_FAMILIES	16
#define KVP_MAX_BLOCKS		(1 << 24)	/* a family */
#define KVP_MAX_BLOCK_TOKENS	(1 << 16)
#define KVP_MAX_CALL_TOKENS	(1 << 20)	/* token ids in one call */
#define KVP_MAX_CALL_BLOCKS	(1 << 16)	/* blocks, or entries of a list, in one call */
#define KVP_MAX_NODE_BLOCKS	127		/* that cover one index node, all families */
#define KVP_MAX_SEQ_TOKENS	(1ULL << 32)
#define KVP_MAX_BATCH		256
#define KVP_MAX_PIECES		4096		/* of one remap */
#define KVP_MAX_BACKINGS	64
#define KVP_MAX_USES		256	/* open on one sequence that are told apart */
#define KVP_MAX_FENCE		(1ULL << 63)	/* values of timelines are below */
#define KVP_MAX_GRACE_MS	3600000
#define KVP_GRACE_MS		2000	/* of pools that say nothing */
#define KVP_DIGEST_LEN		32

/**
 * DOC: Ids
 *
 * A block id holds 4 bits of family, 24 bits of index and 36 bits of
 * generation. The generation changes whenever the block becomes free, so an old
 * id is refused (ESTALE) and never followed. 0 is %KVP_BLOCK_NULL, "no block":
 * a slot whose block was released (a window's past).
 *
 * Ids of sequences, matches and tickets hold 32 bits of index and 32 bits of
 * generation, and mean something only to the client that made them. 0 is no id.
 */
#define KVP_BLOCK_NULL		0ULL
#define KVP_BLOCK_FAMILY_SHIFT	60
#define KVP_BLOCK_INDEX_SHIFT	36
#define KVP_BLOCK_INDEX_MASK	0xffffffULL
#define KVP_BLOCK_GEN_MASK	0xfffffffffULL
#define KVP_BLOCK_ID(family, index, gen) \
	(((__u64)(family) << KVP_BLOCK_FAMILY_SHIFT) | \
	 ((__u64)(index) << KVP_BLOCK_INDEX_SHIFT) | (__u64)(gen))
#define KVP_BLOCK_FAMILY(id)	((__u32)((id) >> KVP_BLOCK_FAMILY_SHIFT))
#define KVP_BLOCK_INDEX(id) \
	((__u32)(((id) >> KVP_BLOCK_INDEX_SHIFT) & KVP_BLOCK_INDEX_MASK))
#define KVP_BLOCK_GEN(id)	((id) & KVP_BLOCK_GEN_MASK)

/*
 * In a batch, the id of the object that entry @k created (entry @k comes
 * earlier in the same batch). Refused anywhere else.
 */
#define KVP_REF_FLAG		(1ULL << 63)
#define KVP_REF(k)		(KVP_REF_FLAG | (__u64)(k))

/**
 * struct kvp_head - the frame of every call
 * @size: in: size of the whole struct in bytes
 * @flags: in: flags of the operation
 * @reason: out: enum kvp_reason, 0 on success
 * @where: out: index of the array element, batch entry or family that @reason
 *         speaks of, 0 where there is none
 */
struct kvp_head {
	__u32 size;
	__u32 flags;
	__u32 reason;
	__u32 where;
};

/**
 * enum kvp_reason - tells the causes of one errno apart
 * @KVP_REASON_NONE: success, or the errno says all
 * @KVP_REASON_SIZE: head.size too small, too large or unknown tail
 * @KVP_REASON_FLAG: unknown or contradictory flag
 * @KVP_REASON_RESERVED: non-zero reserved field; where = byte offset
 * @KVP_REASON_POINTER: null or unreadable; where = byte offset of it
 * @KVP_REASON_ALIGNMENT: misaligned pointer; where = byte offset of it
 * @KVP_REASON_COUNT: count zero, or above the contract's limit
 * @KVP_REASON_NAME: empty, unterminated or has characters not allowed
 * @KVP_REASON_VALUE: a field out of range; where = byte offset of it
 * @KVP_REASON_FAMILY: no such family, or a bad description of one
 * @KVP_REASON_DUPLICATE: named twice where it may stand once
 * @KVP_REASON_OPERATION: unknown operation
 * @KVP_REASON_NESTING: a batch in a batch
 * @KVP_REASON_BATCH_REF: KVP_REF outside a batch, or to no creation
 * @KVP_REASON_EXTRA: extra digests not ascending, or outside the call's tokens
 * @KVP_REASON_COPIES: array of copies too short; where = how many are needed
 * @KVP_REASON_LENGTH: length or position outside the sequence
 * @KVP_REASON_NO_POOL: no pool of that name that the caller may see
 * @KVP_REASON_NO_SEQ: no such sequence of this client
 * @KVP_REASON_NO_MATCH: no such match of this client
 * @KVP_REASON_NO_BLOCK: no block has that index
 * @KVP_REASON_NO_CLIENT: no such client in this pool
 * @KVP_REASON_NO_BACKING: no backing has that index
 * @KVP_REASON_GENERATION: the id's object is gone
 * @KVP_REASON_NOT_HELD: the block is not held by this client
 * @KVP_REASON_SEQ_BUSY: another call works on the sequence
 * @KVP_REASON_COPY_PENDING: copies were asked for and not yet acknowledged
 * @KVP_REASON_ATTACHED: the client is attached already
 * @KVP_REASON_NOT_ATTACHED: the operation needs a pool
 * @KVP_REASON_POOL_IN_USE: others are attached
 * @KVP_REASON_POSITION: expected position differs; the struct says the right one
 * @KVP_REASON_UNPUBLISHED: the operation needs computed tokens
 * @KVP_REASON_REVOKED: the export was revoked
 * @KVP_REASON_STAGED: the pool's maker has not yet said that it is ready
 * @KVP_REASON_NO_EXPORT: no such export in this pool
 * @KVP_REASON_NO_TIMELINE: the client has not made that timeline
 * @KVP_REASON_NO_TICKET: no such ticket of this client
 * @KVP_REASON_FENCE_OPEN: work that may touch it has not passed its fence
 * @KVP_REASON_FENCE_PASSED: the timeline has that value already: said too late
 * @KVP_REASON_FENCE_AHEAD: the value is beyond what was announced
 * @KVP_REASON_SHARED: rows to be written are published, or others hold them
 * @KVP_REASON_NOT_GRANTED: the ticket still waits
 * @KVP_REASON_REMAP_OPEN: the sequence is being remapped
 * @KVP_REASON_NO_REMAP: no remap of the sequence is open
 * @KVP_REASON_RIGHT_USE: needs KVP_RIGHT_USE
 * @KVP_REASON_RIGHT_PUBLISH: needs KVP_RIGHT_PUBLISH
 * @KVP_REASON_RIGHT_ADMIN: needs KVP_RIGHT_ADMIN
 * @KVP_REASON_PERSISTENT: may not make persistent pools
 * @KVP_REASON_POOL_FULL: free + idle do not suffice; where = family
 * @KVP_REASON_COVERED: idle would suffice, but references keep it; where = family
 * @KVP_REASON_GUARANTEED: what is left is guaranteed to others; where = family
 * @KVP_REASON_NEVER_FITS: larger than the pool; where = family
 * @KVP_REASON_NODES: no index node left
 * @KVP_REASON_EXTRAS: no room for an extra or namespace digest
 * @KVP_REASON_MEMORY: no memory for metadata
 * @KVP_REASON_LIMIT_BLOCKS: limit of charged blocks; where = family
 * @KVP_REASON_LIMIT_SLOTS: limit of slots in tables
 * @KVP_REASON_LIMIT_SEQS: limit of sequences
 * @KVP_REASON_LIMIT_MATCHES: limit of open matches
 * @KVP_REASON_LIMIT_METADATA: limit of bytes of metadata
 * @KVP_REASON_LIMIT_RAW: limit of raw references
 * @KVP_REASON_LIMIT_CLIENTS: the pool has as many clients, or users, as it can
 * @KVP_REASON_LIMIT_EXPORTS: limit of exports
 * @KVP_REASON_LIMIT_BACKINGS: limit of backing descriptors
 * @KVP_REASON_LIMIT_POOLS: limit of pools, or of a pool's metadata, of this host
 * @KVP_REASON_LIMIT_TIMELINES: the client has KVP_NR_TIMELINES
 * @KVP_REASON_LIMIT_TICKETS: limit of tickets
 * @KVP_REASON_HELD_BACK: held-back blocks would suffice, but work may touch them; where = family
 * @KVP_REASON_QUEUED: others wait for blocks with tickets; where = family
 * @KVP_REASON_DOOR: this door cannot do that
 * @KVP_REASON_STATE_FAMILY: accumulated state cannot lose tokens; where = family
 * @KVP_REASON_WINDOW_RELEASED: rows the window needs were released; where = family
 * @KVP_REASON_INVALIDATED: the namespace was invalidated since the sequence began
 * @KVP_REASON_SEAL: backing of the wrong kind, size or seals
 * @KVP_REASON_DESTROYED: the pool was destroyed
 * @KVP_REASON_EARLIER_ENTRY: ECANCELED by KVP_BATCH_STOP_ON_ERROR
 * @KVP_REASON_CLIENT_DEAD: this client ended with its timelines mapping
 * @KVP_REASON_FOREIGN: the export belongs to another pool
 * @KVP_REASON_MAKER_DEAD: the export's maker died, or gave them up, while its rows were being
 *                         written
 * @KVP_REASON_TAINTED: tokens that do not stand, or were not computed, as their identity says
 * @KVP_REASON_ATTENDED: rows would not be those of a run that never saw what is removed
 * @KVP_REASON_NAMESPACE: pieces are of several namespaces; where = the piece
 *
 * A LIMIT_* reason says in @where, by the bit %KVP_WHERE_UID, that it is the limit of the
 * client's uid and not that of the client.
 *
 * Values are never reused; a client must be ready for ones it does not know.
 */
enum kvp_reason {
	KVP_REASON_NONE = 0,
	/* EINVAL, E2BIG, EFAULT, EOVERFLOW: the call itself */
	KVP_REASON_SIZE = 1,
	KVP_REASON_FLAG = 2,
	KVP_REASON_RESERVED = 3,
	KVP_REASON_POINTER = 4,
	KVP_REASON_ALIGNMENT = 5,
	KVP_REASON_COUNT = 6,
	KVP_REASON_NAME = 7,
	KVP_REASON_VALUE = 8,
	KVP_REASON_FAMILY = 9,
	KVP_REASON_DUPLICATE = 10,
	KVP_REASON_OPERATION = 11,
	KVP_REASON_NESTING = 12,
	KVP_REASON_BATCH_REF = 13,
	KVP_REASON_EXTRA = 14,
	KVP_REASON_COPIES = 15,
	KVP_REASON_LENGTH = 16,
	/* ENOENT, ESTALE, EPERM, EBUSY: ids and states */
	KVP_REASON_NO_POOL = 32,
	KVP_REASON_NO_SEQ = 33,
	KVP_REASON_NO_MATCH = 34,
	KVP_REASON_NO_BLOCK = 35,
	KVP_REASON_NO_CLIENT = 36,
	KVP_REASON_NO_BACKING = 37,
	KVP_REASON_GENERATION = 38,
	KVP_REASON_NOT_HELD = 39,
	KVP_REASON_SEQ_BUSY = 40,
	KVP_REASON_COPY_PENDING = 41,
	KVP_REASON_ATTACHED = 42,
	KVP_REASON_NOT_ATTACHED = 43,
	KVP_REASON_POOL_IN_USE = 44,
	KVP_REASON_POSITION = 45,
	KVP_REASON_UNPUBLISHED = 46,
	KVP_REASON_REVOKED = 47,
	KVP_REASON_STAGED = 48,
	KVP_REASON_NO_EXPORT = 49,
	KVP_REASON_NO_TIMELINE = 50,
	KVP_REASON_NO_TICKET = 51,
	KVP_REASON_FENCE_OPEN = 52,
	KVP_REASON_FENCE_PASSED = 53,
	KVP_REASON_FENCE_AHEAD = 54,
	KVP_REASON_SHARED = 55,
	KVP_REASON_NOT_GRANTED = 56,
	KVP_REASON_REMAP_OPEN = 57,
	KVP_REASON_NO_REMAP = 58,
	/* EACCES, EPERM */
	KVP_REASON_RIGHT_USE = 64,
	KVP_REASON_RIGHT_PUBLISH = 65,
	KVP_REASON_RIGHT_ADMIN = 66,
	KVP_REASON_PERSISTENT = 67,
	/* ENOSPC, EFBIG, ENOMEM, EDQUOT: room */
	KVP_REASON_POOL_FULL = 80,
	KVP_REASON_COVERED = 81,
	KVP_REASON_GUARANTEED = 82,
	KVP_REASON_NEVER_FITS = 83,
	KVP_REASON_NODES = 84,
	KVP_REASON_EXTRAS = 85,
	KVP_REASON_MEMORY = 86,
	KVP_REASON_LIMIT_BLOCKS = 87,
	KVP_REASON_LIMIT_SLOTS = 88,
	KVP_REASON_LIMIT_SEQS = 89,
	KVP_REASON_LIMIT_MATCHES = 90,
	KVP_REASON_LIMIT_METADATA = 91,
	KVP_REASON_LIMIT_RAW = 92,
	KVP_REASON_LIMIT_CLIENTS = 93,
	KVP_REASON_LIMIT_EXPORTS = 94,
	KVP_REASON_LIMIT_BACKINGS = 95,
	KVP_REASON_LIMIT_POOLS = 96,
	KVP_REASON_LIMIT_TIMELINES = 97,
	KVP_REASON_LIMIT_TICKETS = 98,
	KVP_REASON_HELD_BACK = 99,
	KVP_REASON_QUEUED = 100,
	/* EOPNOTSUPP, EKEYREJECTED, EIO: what cannot be */
	KVP_REASON_DOOR = 112,
	KVP_REASON_STATE_FAMILY = 113,
	KVP_REASON_WINDOW_RELEASED = 114,
	KVP_REASON_INVALIDATED = 115,
	KVP_REASON_SEAL = 116,
	KVP_REASON_DESTROYED = 117,
	KVP_REASON_EARLIER_ENTRY = 118,
	KVP_REASON_CLIENT_DEAD = 119,
	KVP_REASON_FOREIGN = 120,
	KVP_REASON_MAKER_DEAD = 121,
	KVP_REASON_TAINTED = 122,
	KVP_REASON_ATTENDED = 123,
	KVP_REASON_NAMESPACE = 124,
};

/* In kvp_head.where, beside a family: the limit is that of the client's uid. */
#define KVP_WHERE_UID		(1U << 31)

/* Rights of a client, fixed when it attaches. */
#define KVP_RIGHT_USE		(1U << 0)
#define KVP_RIGHT_PUBLISH	(1U << 1)
#define KVP_RIGHT_ADMIN		(1U << 2)
#define KVP_RIGHT_ALL		(KVP_RIGHT_USE | KVP_RIGHT_PUBLISH | KVP_RIGHT_ADMIN)

/* Feature bits (struct kvp_abi): behaviour is gated by these, not by versions. */
#define KVP_FEATURE_SEQ		(1ULL << 0)	/* pool, block, sequence, prefix, watch, batch */
#define KVP_FEATURE_BACKING	(1ULL << 1)	/* backing descriptors */
#define KVP_FEATURE_EXPORT	(1ULL << 2)	/* export and import of sequences */
#define KVP_FEATURE_EVENTS	(1ULL << 3)	/* events */
#define KVP_FEATURE_MMAP	(1ULL << 4)	/* shared pages */
#define KVP_FEATURE_POLL	(1ULL << 5)	/* poll(2) on the client's file */
#define KVP_FEATURE_URING	(1ULL << 6)	/* IORING_OP_URING_CMD */
#define KVP_FEATURE_FENCE	(1ULL << 7)	/* timelines, uses, reap */
#define KVP_FEATURE_ADMIT	(1ULL << 8)	/* tickets */
#define KVP_FEATURE_REMAP	(1ULL << 9)	/* remap, positions */

/**
 * enum kvp_family_kind - what one row family keeps
 * @KVP_FAMILY_DENSE: the rows of all tokens
 * @KVP_FAMILY_WINDOW: the rows of the last @window tokens, of which the next one to be computed
 *                     is the last: of what is computed, @window - 1
 * @KVP_FAMILY_STATE: one slot of fixed size per sequence (recurrent state)
 */
enum kvp_family_kind {
	KVP_FAMILY_DENSE = 1,
	KVP_FAMILY_WINDOW = 2,
	KVP_FAMILY_STATE = 3,
};

/**
 * enum kvp_dtype - what an element of a family's rows is
 * @KVP_DTYPE_NONE: not said
 * @KVP_DTYPE_F32: IEEE 754 binary32
 * @KVP_DTYPE_F16: IEEE 754 binary16
 * @KVP_DTYPE_BF16: bfloat16
 * @KVP_DTYPE_I8: 8-bit integer
 * @KVP_DTYPE_FP8_E4M3: 8-bit float, 4 bits of exponent
 * @KVP_DTYPE_FP8_E5M2: 8-bit float, 5 bits of exponent
 * @KVP_DTYPE_OPAQUE8: bytes of a format that only the engine knows (packed or mixed rows)
 *
 * For people and the runtime: the device looks at no row. It is no identity: that KV of another
 * dtype is never matched is the namespace digest's work.
 */
enum kvp_dtype {
	KVP_DTYPE_NONE = 0,
	KVP_DTYPE_F32 = 1,
	KVP_DTYPE_F16 = 2,
	KVP_DTYPE_BF16 = 3,
	KVP_DTYPE_I8 = 4,
	KVP_DTYPE_FP8_E4M3 = 5,
	KVP_DTYPE_FP8_E5M2 = 6,
	KVP_DTYPE_OPAQUE8 = 7,
};

#define KVP_NR_DTYPES		8

/**
 * enum kvp_block_state - the set a block is in; each block is in exactly one
 * @KVP_BLOCK_FREE: nobody names it
 * @KVP_BLOCK_RESERVED: taken for an operation or an admission, not yet named
 * @KVP_BLOCK_HELD: somebody holds it (private, or published and in use)
 * @KVP_BLOCK_IDLE: published, count 0
 * @KVP_BLOCK_HELD_BACK: who held it let go, but work may still touch it; its count is that of
 *                       the references that wait for fences
 * @KVP_BLOCK_RETIRED: its generations are used up
 */
enum kvp_block_state {
	KVP_BLOCK_FREE = 0,
	KVP_BLOCK_RESERVED = 1,
	KVP_BLOCK_HELD = 2,
	KVP_BLOCK_IDLE = 3,
	KVP_BLOCK_HELD_BACK = 4,
	KVP_BLOCK_RETIRED = 5,
};

#define KVP_BLOCK_STATES	6

/*
 * Numbers. Groups: pool 0x00, block 0x10, sequence 0x20, remap 0x30, prefix
 * 0x40, session 0x50, fence 0x60, lifecycle 0x70, watch 0x80, batch 0x90. A
 * number is never reused. The operation of ioctl(2) and sqe->cmd_op is
 * KVP_IOC(nr); the kernel looks at type and number only, size and direction are
 * always those of the struct.
 */
#define KVP_IOC_MAGIC		0xD7
#define KVP_IOC(nr)		_IO(KVP_IOC_MAGIC, nr)

enum kvp_op {
	KVP_OP_ABI = 0x00,
	KVP_OP_POOL_CREATE = 0x01,
	KVP_OP_POOL_ATTACH = 0x02,
	KVP_OP_POOL_INFO = 0x03,
	KVP_OP_POOL_LIST = 0x04,
	KVP_OP_POOL_DESTROY = 0x05,
	KVP_OP_LIMIT = 0x06,
	KVP_OP_BACKING_ADD = 0x07,
	KVP_OP_BACKING_GET = 0x08,
	KVP_OP_POOL_READY = 0x09,

	KVP_OP_BLOCK_ALLOC = 0x10,
	KVP_OP_BLOCK_REF = 0x11,
	KVP_OP_BLOCK_UNREF = 0x12,
	KVP_OP_BLOCK_MAKE_PRIVATE = 0x13,

	KVP_OP_SEQ_CREATE = 0x20,
	KVP_OP_SEQ_APPEND = 0x21,
	KVP_OP_SEQ_SET_TOKENS = 0x22,
	KVP_OP_SEQ_ADVANCE = 0x23,
	KVP_OP_SEQ_COPIED = 0x24,
	KVP_OP_SEQ_FORK = 0x25,
	KVP_OP_SEQ_TRUNCATE = 0x26,
	KVP_OP_SEQ_FREE = 0x27,
	KVP_OP_SEQ_TABLE = 0x28,
	KVP_OP_SEQ_EXPORT = 0x29,
	KVP_OP_SEQ_IMPORT = 0x2a,
	KVP_OP_EXPORT_REVOKE = 0x2b,
	KVP_OP_SEQ_POSITIONS = 0x2c,

	KVP_OP_REMAP_BEGIN = 0x30,
	KVP_OP_REMAP_MOVES = 0x31,
	KVP_OP_REMAP_COMMIT = 0x32,
	KVP_OP_REMAP_ABORT = 0x33,

	KVP_OP_PREFIX_MATCH = 0x40,
	KVP_OP_PREFIX_RELEASE = 0x41,
	KVP_OP_PREFIX_PUBLISH = 0x42,
	KVP_OP_PREFIX_INVALIDATE = 0x43,
	KVP_OP_PREFIX_RECLAIM = 0x44,

	KVP_OP_TIMELINE_CREATE = 0x60,
	KVP_OP_USE = 0x61,
	KVP_OP_SIGNAL = 0x62,
	KVP_OP_QUERY = 0x63,
	KVP_OP_REAP = 0x64,

	KVP_OP_ADMIT = 0x70,

	KVP_OP_STATS = 0x80,
	KVP_OP_AUDIT = 0x81,
	KVP_OP_BLOCK_DUMP = 0x82,
	KVP_OP_CLIENT_LIST = 0x83,
	KVP_OP_EVENTS = 0x84,

	KVP_OP_BATCH = 0x90,
};

/**
 * struct kvp_uring_cmd - sqe->cmd of IORING_OP_URING_CMD; sqe->cmd_op is KVP_IOC(nr)
 * @arg: pointer to the struct of the operation
 * @len: its size, must equal its head.size
 * @zero: 0
 *
 * The result of the operation is the result of the completion. Read once, before the
 * submission returns or, with IOSQE_ASYNC or SQPOLL, when a thread of the kernel begins: the struct
 * must stay until the completion. No operation waits for another one.
 */
struct kvp_uring_cmd {
	__u64 arg;
	__u32 len;
	__u32 zero;
};

/**
 * DOC: Shared pages, poll, and the end of a client
 *
 * mmap(2) of a client's file, one page at each of two offsets:
 *
 * - %KVP_MMAP_TIMELINES: %KVP_NR_TIMELINES counters of 64 bytes, the client's own, readable and
 *   writable, shared with whoever it gives the memory to (a GPU). It can be mapped once
 *   (EBUSY), before or after attaching, and is not inherited by fork(2). When that mapping ends
 *   (munmap, execve, exit) the client is dead, whoever else has a descriptor of its file:
 *   what it held comes back, but not while work may touch it (see "Fences"), and its calls fail
 *   with EOWNERDEAD/CLIENT_DEAD.
 * - %KVP_MMAP_COUNTERS: struct kvp_counters_page of the pool, read-only, any number of times,
 *   by an attached client with %KVP_RIGHT_USE. Hints: they change while they are read.
 *
 * A client that never maps the timelines ends with the last close of its file. A call in progress
 * is let end first: one that waits in a fault on the caller's own memory keeps the client so long.
 *
 * poll(2) on the file of an attached client: readable while events wait that this client has not
 * read (from the cursor that its last KVP_OP_EVENTS returned, once it has called that), while a
 * watched fence has passed and KVP_OP_QUERY has not said so yet, and while a ticket is granted
 * that was not taken; hung up when its pool was destroyed. Of one that is not attached: an error.
 * Which of these it is, KVP_OP_QUERY tells (KVP_READY_*).
 */
#define KVP_READY_EVENTS	(1U << 0)	/* events wait that the client has not read */
#define KVP_READY_GONE		(1U << 1)	/* its pool was destroyed */
#define KVP_READY_NO_POOL	(1U << 2)	/* it is not attached */
#define KVP_READY_FENCE		(1U << 3)	/* a watched fence passed, and no query said so */
#define KVP_READY_TICKET	(1U << 4)	/* a ticket is granted that it has not taken */

#define KVP_MMAP_TIMELINES	0ULL
#define KVP_MMAP_COUNTERS	(1ULL << 16)
#define KVP_PAGE_BYTES		4096	/* of either; a mapping is one page of the machine */
#define KVP_NR_TIMELINES	64

/**
 * struct kvp_timeline - one counter of the timelines page
 * @value: grows only
 * @reserved: keeps the next one out of its cache line
 */
struct kvp_timeline {
	__u64 value;
	__u64 reserved[7];
};

/* ---- pool ---------------------------------------------------------------- */

/**
 * struct kvp_abi - KVP_OP_ABI: what this door speaks
 * @head: no flags
 * @features: out: feature bits, KVP_FEATURE_*
 * @slice: out: blocks that one hold of a pool's lock touches at most
 * @max_families: out: families of one pool
 *
 * Anyone, attached or not. Errors: those of the frame.
 */
struct kvp_abi {
	struct kvp_head head;
	__u64 features;
	__u32 slice;
	__u32 max_families;
};

/**
 * struct kvp_family_desc - one family of a pool
 * @name: label for people, may be empty; NUL-terminated
 * @kind: enum kvp_family_kind
 * @block_tokens: token slots of a block, 1..KVP_MAX_BLOCK_TOKENS; 1 for STATE
 * @blocks: number of blocks, 1..KVP_MAX_BLOCKS
 * @block_bytes: bytes of a block (for people and the runtime), > 0
 * @window: WINDOW: tokens that one token can attend to, itself among them, > 0; otherwise 0
 * @dtype: enum kvp_dtype, 0 if not said
 */
struct kvp_family_desc {
	char name[KVP_FAMILY_NAME_LEN];
	__u32 kind;
	__u32 block_tokens;
	__u64 blocks;
	__u64 block_bytes;
	__u32 window;
	__u32 dtype;
};

/* The pool outlives its last client. */
#define KVP_POOL_PERSISTENT	(1U << 0)
/*
 * Nobody else sees it until KVP_OP_POOL_READY: its backings are to be added first. If its maker
 * ends before that, so does the pool, persistent or not.
 */
#define KVP_POOL_STAGED		(1U << 1)
/* What work of a dead client may touch is held back until KVP_OP_REAP, however long. */
#define KVP_POOL_STRICT		(1U << 2)
#define KVP_POOL_FLAGS_ALL	(KVP_POOL_PERSISTENT | KVP_POOL_STAGED | KVP_POOL_STRICT)

/* Reclaim policies. */
#define KVP_RECLAIM_LRU		0

/**
 * struct kvp_pool_create - KVP_OP_POOL_CREATE: make a pool and attach to it
 * @head: KVP_POOL_*
 * @name: letters, digits, '.', '_', '-'; unique in this host
 * @families: in: array of struct kvp_family_desc
 * @nr_families: 1..KVP_MAX_FAMILIES
 * @index_tokens: tokens of an index node, a multiple of every DENSE and WINDOW
 *                family's @block_tokens; 0: their least common multiple. At most
 *                KVP_MAX_CALL_TOKENS, in at most KVP_MAX_NODE_BLOCKS blocks
 * @mode: permission bits as of a file: r is USE, w is PUBLISH; ADMIN is the owner's
 * @policy: KVP_RECLAIM_*
 * @nodes: index nodes, up to 2^20, or to four times the blocks of all families if that is more
 *         (and below 2^26); 0: as many as the blocks can need
 * @extras: extra and namespace digests that can be kept; 0: a default
 * @pool: out: id of the pool
 * @client: out: id of this client in the pool
 * @rights: out: KVP_RIGHT_*
 * @reserved: 0
 * @grace_ms: how long what work of a dead client may touch is held back, up to
 *            KVP_MAX_GRACE_MS; 0: KVP_GRACE_MS. Not with KVP_POOL_STRICT
 * @reserved2: 0
 *
 * A client that is not attached. All metadata is allocated here. If writing the
 * result fails the client stays attached.
 * Errors: EBUSY/ATTACHED, EINVAL (NAME, COUNT, FAMILY, VALUE, FLAG), EOVERFLOW/COUNT,
 * EEXIST/NAME, EPERM/PERSISTENT, EDQUOT/LIMIT_POOLS, ENOMEM/MEMORY.
 */
struct kvp_pool_create {
	struct kvp_head head;
	char name[KVP_NAME_LEN];
	__u64 families;
	__u32 nr_families;
	__u32 index_tokens;
	__u32 mode;
	__u32 policy;
	__u64 nodes;
	__u64 extras;
	__u64 pool;
	__u64 client;
	__u32 rights;
	__u32 reserved;
	__u32 grace_ms;
	__u32 reserved2;
};

/**
 * struct kvp_pool_attach - KVP_OP_POOL_ATTACH: become a client of a pool
 * @head: no flags
 * @name: the pool's name
 * @wanted: rights to take, KVP_RIGHT_*; 0: all that the credentials allow
 * @rights: out: rights taken
 * @pool: out: id of the pool
 * @client: out: id of this client in the pool
 * @room: out, with EFBIG: blocks of family head.where that are not guaranteed to others
 *
 * A client that is not attached. If writing the result fails it stays attached.
 * Errors: EBUSY/ATTACHED, EINVAL/NAME,
 * EINVAL/VALUE (unknown right), ENOENT/NO_POOL (also where the credentials give
 * no right at all: such a pool is not shown), EBUSY/STAGED (try again),
 * EACCES/RIGHT_* (a wanted right is
 * not allowed), EDQUOT/LIMIT_CLIENTS (a few places are kept for ADMIN), EFBIG/NEVER_FITS (the
 * guarantee of new clients, KVP_OP_LIMIT, does not fit beside the others'), ENOMEM/MEMORY.
 */
struct kvp_pool_attach {
	struct kvp_head head;
	char name[KVP_NAME_LEN];
	__u32 wanted;
	__u32 rights;
	__u64 pool;
	__u64 client;
	__u64 room;
};

/**
 * struct kvp_pool_ready - KVP_OP_POOL_READY: let others attach
 * @head: no flags
 *
 * ADMIN. Ends what KVP_POOL_STAGED began; on a pool that is ready, nothing. Errors:
 * EACCES/RIGHT_ADMIN.
 */
struct kvp_pool_ready {
	struct kvp_head head;
};

/**
 * struct kvp_pool_info - KVP_OP_POOL_INFO: describe the pool of this client
 * @head: no flags
 * @name: out
 * @families: in: where to write struct kvp_family_desc, may be null
 * @nr_families: in: room there; out: families of the pool
 * @index_tokens: out: tokens of an index node
 * @mode: out
 * @policy: out
 * @pool: out: id
 * @client: out: id of this client
 * @uid: out: owner
 * @pool_flags: out: KVP_POOL_*
 * @rights: out: rights of this client
 * @nr_clients: out: attached now
 * @nr_backings: out
 * @reserved: 0
 * @nodes: out: index nodes
 * @metadata_bytes: out: bytes of metadata allocated for the pool
 * @grace_ms: out: see KVP_OP_POOL_CREATE; 0: strict
 * @reserved2: 0
 *
 * An attached client. Errors: EBUSY/NOT_ATTACHED; EOVERFLOW/COUNT (the room is
 * not zero and too small; @nr_families is the number needed).
 */
struct kvp_pool_info {
	struct kvp_head head;
	char name[KVP_NAME_LEN];
	__u64 families;
	__u32 nr_families;
	__u32 index_tokens;
	__u32 mode;
	__u32 policy;
	__u64 pool;
	__u64 client;
	__u32 uid;
	__u32 pool_flags;
	__u32 rights;
	__u32 nr_clients;
	__u32 nr_backings;
	__u32 reserved;
	__u64 nodes;
	__u64 metadata_bytes;
	__u32 grace_ms;
	__u32 reserved2;
};

/**
 * struct kvp_pool_entry - one pool in a list
 * @name: its name
 * @pool: its id
 * @uid: its owner
 * @mode: permission bits
 * @pool_flags: KVP_POOL_*
 * @nr_families: number of families
 * @nr_clients: attached now
 * @reserved: 0
 */
struct kvp_pool_entry {
	char name[KVP_NAME_LEN];
	__u64 pool;
	__u32 uid;
	__u32 mode;
	__u32 pool_flags;
	__u32 nr_families;
	__u32 nr_clients;
	__u32 reserved;
};

/**
 * struct kvp_pool_list - KVP_OP_POOL_LIST: pools that this client may use
 * @head: no flags
 * @pools: in: where to write struct kvp_pool_entry, may be null
 * @nr_pools: in: room there; out: entries written
 * @total: out: pools that there are to be seen
 *
 * Anyone, attached or not; pools without the USE right are left out.
 * Errors: those of the frame.
 */
struct kvp_pool_list {
	struct kvp_head head;
	__u64 pools;
	__u32 nr_pools;
	__u32 total;
};

/* Destroy although clients are attached: all their calls on it fail with EIO. */
#define KVP_DESTROY_FORCE	(1U << 0)
#define KVP_DESTROY_FLAGS_ALL	KVP_DESTROY_FORCE

/**
 * struct kvp_pool_destroy - KVP_OP_POOL_DESTROY: end a pool
 * @head: KVP_DESTROY_*
 * @name: the pool's name
 * @pool: its id, so that no other one that has the name by now is ended; 0: whichever has it
 *
 * Anyone with ADMIN on that pool, attached or not. The name is free at once, the
 * memory when the last client has left. Errors: EINVAL/NAME, ENOENT/NO_POOL,
 * ESTALE/GENERATION (the name is another pool's),
 * EACCES/RIGHT_ADMIN, EBUSY/POOL_IN_USE (another client is attached, no FORCE).
 */
struct kvp_pool_destroy {
	struct kvp_head head;
	char name[KVP_NAME_LEN];
	__u64 pool;
};

/* Which members of struct kvp_limit are set. */
#define KVP_LIMIT_BLOCKS	(1U << 0)
#define KVP_LIMIT_GUARANTEE	(1U << 1)
#define KVP_LIMIT_SLOTS		(1U << 2)
#define KVP_LIMIT_SEQS		(1U << 3)
#define KVP_LIMIT_RAW		(1U << 4)
#define KVP_LIMIT_MATCHES	(1U << 5)
#define KVP_LIMIT_METADATA	(1U << 6)
#define KVP_LIMIT_EXPORTS	(1U << 7)
#define KVP_LIMIT_BACKINGS	(1U << 8)
#define KVP_LIMIT_TICKETS	(1U << 9)
#define KVP_LIMIT_ALL		0x3ffU

/* @client is a uid: what all its clients have together, the dead among them. */
#define KVP_LIMIT_OF_UID	(1U << 0)
#define KVP_LIMIT_FLAGS_ALL	KVP_LIMIT_OF_UID
#define KVP_UID_ANY		(~0ULL)		/* each uid that has no limits of its own */

#define KVP_UNLIMITED		(~0ULL)

/**
 * struct kvp_limit - KVP_OP_LIMIT: set limits of a client or of a uid
 * @head: KVP_LIMIT_OF_UID
 * @client: id of the client; 0: those who attach from now on; OF_UID: the uid, or KVP_UID_ANY
 * @mask: KVP_LIMIT_*: which of the following to set; the others are left alone
 * @family: family that @blocks and @guarantee speak of
 * @blocks: blocks of @family charged to the client
 * @guarantee: blocks of @family that others' allocations leave to the client; not OF_UID. Of
 *             those who attach, who takes KVP_RIGHT_PUBLISH gets it: the others only look.
 *             out, with EFBIG: the most that would fit
 * @slots: slots in the tables of the client's sequences, all families
 * @seqs: sequences
 * @raw: raw references
 * @matches: open matches
 * @metadata_bytes: bytes of metadata that the client's objects may take
 * @exports: open exports
 * @backings: backing descriptors added, until the pool ends
 * @tickets: open tickets
 *
 * ADMIN. A block is charged to the client that took it (allocated it, or was
 * the first to reference it while it was idle) until its last reference goes,
 * also after that client is gone. A limit below what the client has now stops
 * it from taking more, and takes nothing away. KVP_UNLIMITED removes a limit;
 * a guarantee is 0 unless set. A call must keep within the limits of its client and of its
 * client's uid. Errors: EINVAL (VALUE: unknown mask bit, or a guarantee for a uid, or no uid;
 * FAMILY), EDQUOT/LIMIT_CLIENTS (too many uids), ENOMEM/MEMORY, ENOENT/NO_CLIENT (or an export's),
 * EFBIG/NEVER_FITS (all guarantees of the family together exceed its blocks), EACCES/RIGHT_ADMIN.
 */
struct kvp_limit {
	struct kvp_head head;
	__u64 client;
	__u32 mask;
	__u32 family;
	__u64 blocks;
	__u64 guarantee;
	__u64 slots;
	__u64 seqs;
	__u64 raw;
	__u64 matches;
	__u64 metadata_bytes;
	__u64 exports;
	__u64 backings;
	__u64 tickets;
};

/* Kinds of backing. */
#define KVP_BACKING_MEMFD	1	/* memfd with F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL */
#define KVP_BACKING_DMABUF	2	/* a dma-buf */
#define KVP_BACKING_DEVICE	3	/* a character device's own: CUDA's shareable handle */

/**
 * struct kvp_backing - KVP_OP_BACKING_ADD and KVP_OP_BACKING_GET: descriptors
 * @head: no flags
 * @fd: add, in: the descriptor, which stays the caller's; get, out: a new one,
 *      close-on-exec, which is the caller's
 * @kind: add, in; get, out: KVP_BACKING_*
 * @index: add, out; get, in: 0..backings-1
 * @reserved: 0
 * @length: add, in; get, out: bytes; must equal the size of a memory file, be at most that of a
 *          dma-buf, and is not checked for a device, which alone knows
 * @label: add, in; get, out: for the runtimes; the pool does not look at it
 *
 * Add: ADMIN. Get: USE. The pool keeps the file alive and hands it to those who
 * attach; it never looks at the bytes. If writing the result of get fails, the descriptor is
 * closed. Other files than these are refused, and so are devices but
 * of the majors that the device was told of: custody of any file makes cycles of references
 * that nothing can end. Errors: EOPNOTSUPP/DOOR (no descriptors, or none of this kind,
 * through this door), EINVAL/VALUE (kind, length), EKEYREJECTED/SEAL (kind, size or
 * seals of the file), EOVERFLOW/COUNT (KVP_MAX_BACKINGS are there), EDQUOT/LIMIT_BACKINGS,
 * ENOENT/NO_BACKING, ENOMEM/MEMORY, EBADF, EMFILE.
 */
struct kvp_backing {
	struct kvp_head head;
	__s32 fd;
	__u32 kind;
	__u32 index;
	__u32 reserved;
	__u64 length;
	__u64 label;
};

/* ---- block --------------------------------------------------------------- */

/**
 * struct kvp_block_alloc - KVP_OP_BLOCK_ALLOC: take blocks with a raw reference
 * @head: no flags
 * @blocks: out: array of __u64 block ids
 * @nr: how many, 1..KVP_MAX_CALL_BLOCKS; all or none
 * @family: of which family
 *
 * USE. For engines that keep their own block tables. Idle published blocks are
 * reclaimed, least recently used leaf first, when the free ones do not suffice.
 * If writing the result fails the blocks are given back. Errors: EINVAL/FAMILY,
 * EINVAL or EOVERFLOW/COUNT, ENOSPC (POOL_FULL, HELD_BACK, COVERED,
 * GUARANTEED, QUEUED),
 * EFBIG/NEVER_FITS, EDQUOT (LIMIT_BLOCKS, LIMIT_RAW, LIMIT_METADATA),
 * ENOMEM/MEMORY.
 */
struct kvp_block_alloc {
	struct kvp_head head;
	__u64 blocks;
	__u32 nr;
	__u32 family;
};

/* ref: the holder is a match; without it, a sequence. */
#define KVP_BLOCK_REF_MATCH	(1U << 0)
#define KVP_BLOCK_REF_FLAGS_ALL	KVP_BLOCK_REF_MATCH

/**
 * struct kvp_block_refs - KVP_OP_BLOCK_REF and KVP_OP_BLOCK_UNREF
 * @head: ref: KVP_BLOCK_REF_MATCH; unref: no flags
 * @blocks: in: array of __u64 block ids
 * @nr: how many, 1..KVP_MAX_CALL_BLOCKS; all or none
 * @reserved: 0
 * @holder: ref: 0: the client holds raw references on the blocks already; or the
 *          id of a sequence or (KVP_BLOCK_REF_MATCH) of a match of the client, whose
 *          blocks [@first, @first + @nr) of one family these are. unref: 0
 * @first: ref with a holder: index of the first block in its table; otherwise 0
 *
 * USE. ref adds one raw reference to each, unref drops one of the client's
 * own. KVP_BLOCK_NULL is skipped. A reference does not stop a sequence of the
 * client from writing slots of the block that have no token yet. A client that
 * names a block more often than it holds it is refused whole, nothing is
 * clamped, and the pool's counter underflow_rejected grows. Errors: EINVAL or
 * EOVERFLOW/COUNT, EINVAL/FAMILY, EINVAL/DUPLICATE (named more often than
 * held), ESTALE/GENERATION, EPERM/NOT_HELD, ENOENT (NO_BLOCK, NO_SEQ,
 * NO_MATCH), EBUSY (SEQ_BUSY, REMAP_OPEN), EDQUOT (LIMIT_RAW, LIMIT_METADATA),
 * EOVERFLOW/COUNT (a block's count), ENOMEM/MEMORY; and, where a match's
 * blocks are idle, EDQUOT/LIMIT_BLOCKS, ENOSPC (GUARANTEED, POOL_FULL).
 */
struct kvp_block_refs {
	struct kvp_head head;
	__u64 blocks;
	__u32 nr;
	__u32 reserved;
	__u64 holder;
	__u64 first;
};

/**
 * struct kvp_block_make_private - KVP_OP_BLOCK_MAKE_PRIVATE: before a write
 * @head: no flags
 * @block: in: a block on which the client has a raw reference
 * @result: out: the block to write to
 * @copy: out: 1: the bytes must be copied from @block to @result by the caller,
 *        who keeps its reference on @block and drops it (unref) after the copy;
 *        0: @result is @block, nobody else names it
 * @reserved: 0
 *
 * USE. Copy-on-write for engines that keep their own tables. If writing the result fails the copy
 * is given back. Errors: as KVP_OP_BLOCK_ALLOC and KVP_OP_BLOCK_UNREF.
 */
struct kvp_block_make_private {
	struct kvp_head head;
	__u64 block;
	__u64 result;
	__u32 copy;
	__u32 reserved;
};

/* ---- sequence ------------------------------------------------------------ */

/**
 * struct kvp_extra - what else than token ids one index node depends on
 * @node: which node: index of its first token in the call's sequence divided by
 *        the pool's @index_tokens, counted from the start of the sequence
 * @digest: 32 bytes over content and offset of multimodal input, prompt
 *          embeddings, non-plain positions; equal only where all of it is equal
 *
 * In arrays: ascending by @node, each inside the tokens of the call; a digest for a node
 * that already has tokens must come with the first of them.
 */
struct kvp_extra {
	__u64 node;
	__u8 digest[KVP_DIGEST_LEN];
};

/**
 * struct kvp_copy - bytes that the caller must copy
 * @src: block to read
 * @dst: block to write, private to the sequence
 * @tokens: rows from the block's start that hold computed rows (STATE: 1)
 * @reserved: 0
 *
 * The sources stay held for the sequence until KVP_OP_SEQ_COPIED.
 */
struct kvp_copy {
	__u64 src;
	__u64 dst;
	__u32 tokens;
	__u32 reserved;
};

/* Take no published prefix. */
#define KVP_SEQ_NO_MATCH	(1U << 0)
/* Take the published prefix only: no slot, no token beyond it. */
#define KVP_SEQ_MATCH_ONLY	(1U << 1)
#define KVP_SEQ_CREATE_FLAGS_ALL (KVP_SEQ_NO_MATCH | KVP_SEQ_MATCH_ONLY)

/**
 * struct kvp_seq_create - KVP_OP_SEQ_CREATE: begin a sequence
 * @head: KVP_SEQ_NO_MATCH, KVP_SEQ_MATCH_ONLY
 * @space: namespace digest: model, adapter, RoPE, dtype, layout, mask, tenant
 * @tokens: in: array of __u32 token ids
 * @nr_tokens: how many, may be 0
 * @nr_extras: elements of @extras
 * @extras: in: array of struct kvp_extra
 * @match_limit: match at most so many tokens; 0: no limit
 * @reserve: slots beyond the tokens that follow the prompt
 * @seq: out: id
 * @matched: out: tokens of the published prefix now in the sequence
 * @reserved: out: slots that exist
 *
 * USE. The longest published prefix is taken by reference, by compared tokens
 * and digests; slots for the remaining tokens and @reserve are allocated. All
 * or nothing, over all families. Of the new sequence, tokens = @nr_tokens
 * (@matched with MATCH_ONLY), computed = @matched. If writing the result fails
 * the sequence is freed. Errors: EINVAL (FLAG, EXTRA, VALUE), EOVERFLOW
 * (COUNT, LENGTH), ENOSPC (POOL_FULL, HELD_BACK, COVERED,
 * GUARANTEED, QUEUED, NODES, EXTRAS),
 * EFBIG/NEVER_FITS, EDQUOT (LIMIT_BLOCKS, LIMIT_SLOTS, LIMIT_SEQS,
 * LIMIT_METADATA), ENOMEM/MEMORY.
 */
struct kvp_seq_create {
	struct kvp_head head;
	__u8 space[KVP_DIGEST_LEN];
	__u64 tokens;
	__u32 nr_tokens;
	__u32 nr_extras;
	__u64 extras;
	__u64 match_limit;
	__u64 reserve;
	__u64 seq;
	__u64 matched;
	__u64 reserved;
};

/* Append wherever the sequence ends. */
#define KVP_POS_END		(~0ULL)

/**
 * struct kvp_seq_append - KVP_OP_SEQ_APPEND: slots, and token ids, at the end
 * @head: no flags
 * @seq: the sequence
 * @tokens: in: array of __u32 token ids
 * @nr_tokens: how many, may be 0
 * @nr_extras: elements of @extras
 * @extras: in: array of struct kvp_extra
 * @position: in: number of tokens the caller believes the sequence has, or
 *            KVP_POS_END; out: the number it had
 * @reserve: slots that must exist beyond the tokens after this call
 * @copies: out: array of struct kvp_copy
 * @nr_copies: in: room there; out: copies to make
 * @reserved: 0
 * @nr_reserved: out: slots that exist now
 *
 * USE. Slots that an earlier call reserved are used first. Where the new slots
 * lie in blocks that others hold too or that are published, the sequence gets
 * private ones, and the caller copies the rows said by @copies and then calls
 * KVP_OP_SEQ_COPIED. At most one node's blocks are copied. All or nothing,
 * over all families. If writing the result fails the tokens stand. Errors: as
 * KVP_OP_SEQ_CREATE; and ENOENT/NO_SEQ, ESTALE/GENERATION, EBUSY (SEQ_BUSY, REMAP_OPEN,
 * COPY_PENDING; FENCE_OPEN: rows of the blocks to be copied are being written), EINVAL/POSITION,
 * EINVAL/COUNT (nothing to do), EOVERFLOW/COPIES.
 */
struct kvp_seq_append {
	struct kvp_head head;
	__u64 seq;
	__u64 tokens;
	__u32 nr_tokens;
	__u32 nr_extras;
	__u64 extras;
	__u64 position;
	__u64 reserve;
	__u64 copies;
	__u32 nr_copies;
	__u32 reserved;
	__u64 nr_reserved;
};

/**
 * struct kvp_seq_set_tokens - KVP_OP_SEQ_SET_TOKENS: ids for reserved slots
 * @head: no flags
 * @seq: the sequence
 * @tokens: in: array of __u32 token ids
 * @nr_tokens: how many, > 0
 * @nr_extras: elements of @extras
 * @extras: in: array of struct kvp_extra
 * @position: in: tokens the caller believes the sequence has, or KVP_POS_END;
 *            out: the number it had
 *
 * USE. As KVP_OP_SEQ_APPEND, but never allocates a slot. Errors: ENOENT/NO_SEQ,
 * ESTALE/GENERATION, EBUSY (SEQ_BUSY, REMAP_OPEN, COPY_PENDING), EINVAL (COUNT, EXTRA,
 * POSITION), EINVAL/LENGTH (not that many slots are reserved), ENOSPC (NODES, EXTRAS),
 * EDQUOT/LIMIT_METADATA, ENOMEM/MEMORY.
 */
struct kvp_seq_set_tokens {
	struct kvp_head head;
	__u64 seq;
	__u64 tokens;
	__u32 nr_tokens;
	__u32 nr_extras;
	__u64 extras;
	__u64 position;
};

/**
 * struct kvp_seq_advance - KVP_OP_SEQ_ADVANCE: KV was written
 * @head: no flags
 * @seq: the sequence
 * @computed: in: tokens whose KV is written, counted from the start
 *
 * USE. Never goes back; blocks of WINDOW families that only held rows that the
 * next token cannot attend to, those of tokens before @computed + 1 - @window,
 * are released. Errors: ENOENT/NO_SEQ, ESTALE/GENERATION, EBUSY (SEQ_BUSY, REMAP_OPEN,
 * COPY_PENDING; FENCE_OPEN: an open use writes before @computed), EINVAL/LENGTH (below computed,
 * or beyond tokens).
 */
struct kvp_seq_advance {
	struct kvp_head head;
	__u64 seq;
	__u64 computed;
};

/**
 * struct kvp_seq_id - KVP_OP_SEQ_COPIED and KVP_OP_SEQ_FREE
 * @head: no flags
 * @seq: the sequence
 *
 * USE. COPIED: the copies that append or fork asked for are made; their sources
 * are let go. Nothing happens if none are pending. Where work copies them: use the sequence
 * first, then this may be said at once. FREE: ends the sequence;
 * gives back exactly what its tables name, when no work may touch it any more (see "Fences").
 * Errors: ENOENT/NO_SEQ, ESTALE/GENERATION, EBUSY (SEQ_BUSY, REMAP_OPEN); COPIED with open uses:
 * EDQUOT/LIMIT_METADATA, ENOMEM/MEMORY.
 */
struct kvp_seq_id {
	struct kvp_head head;
	__u64 seq;
};

/**
 * struct kvp_seq_fork - KVP_OP_SEQ_FORK: a second sequence on the same blocks
 * @head: no flags
 * @seq: the sequence to fork; unchanged
 * @tokens: in: how many of its computed tokens to share, KVP_POS_END: all
 *          computed; out: how many are
 * @child: out: id of the new sequence
 * @copies: out: array of struct kvp_copy, for the child
 * @nr_copies: in: room there; out: copies to make
 * @reserved: 0
 *
 * USE. Blocks are shared by reference, except state slots, and, if the parent
 * has slots beyond @tokens, the blocks of the node in which @tokens ends: of
 * these the child gets private copies. Of the child tokens = computed =
 * reserved = @tokens. A STATE family can be forked only at the end of what is
 * computed. If writing the result fails the child is freed. Errors:
 * ENOENT/NO_SEQ, ESTALE/GENERATION, EBUSY (SEQ_BUSY, REMAP_OPEN, COPY_PENDING),
 * EINVAL/LENGTH, EOVERFLOW/COPIES, EOPNOTSUPP (STATE_FAMILY, WINDOW_RELEASED),
 * ENOSPC, EFBIG, EDQUOT, ENOMEM as KVP_OP_SEQ_CREATE, EOVERFLOW/COUNT (a
 * block's count), EBUSY/FENCE_OPEN (an open use writes before @tokens, or at all where there is a
 * STATE family).
 */
struct kvp_seq_fork {
	struct kvp_head head;
	__u64 seq;
	__u64 tokens;
	__u64 child;
	__u64 copies;
	__u32 nr_copies;
	__u32 reserved;
};

/**
 * struct kvp_seq_truncate - KVP_OP_SEQ_TRUNCATE: drop the end of a sequence
 * @head: no flags
 * @seq: the sequence
 * @tokens: in: tokens to keep
 *
 * USE. Reserved slots beyond the kept tokens go too, whole blocks are given back.
 * tokens == what the sequence has just drops the unused reservation. Errors:
 * ENOENT/NO_SEQ, ESTALE/GENERATION, EBUSY (SEQ_BUSY, REMAP_OPEN, COPY_PENDING), EINVAL/LENGTH
 * (more than it has), EOPNOTSUPP/STATE_FAMILY (below what is computed, other than 0),
 * EOPNOTSUPP/WINDOW_RELEASED (rows that the window needs there are gone); with open uses
 * EDQUOT/LIMIT_METADATA, ENOMEM/MEMORY, and with a STATE family EBUSY/FENCE_OPEN (its state is
 * being taken beyond @tokens). What open uses were to compute beyond @tokens does not
 * count any more when they pass.
 */
struct kvp_seq_truncate {
	struct kvp_head head;
	__u64 seq;
	__u64 tokens;
};

/**
 * struct kvp_seq_table - KVP_OP_SEQ_TABLE: read the block table and the lengths
 * @head: no flags
 * @seq: the sequence
 * @blocks: out: array of __u64 block ids, may be null; KVP_BLOCK_NULL where a
 *          window's past was released
 * @nr_blocks: in: room there; out: ids written
 * @family: which family's table
 * @first: in: index of the first slot to write
 * @total: out: slots of the table
 * @nr_tokens: out
 * @nr_computed: out
 * @nr_reserved: out
 * @nr_published: out: tokens in published nodes from the start
 *
 * USE. Errors: ENOENT/NO_SEQ, ESTALE/GENERATION, EBUSY (SEQ_BUSY, REMAP_OPEN), EINVAL/FAMILY.
 */
struct kvp_seq_table {
	struct kvp_head head;
	__u64 seq;
	__u64 blocks;
	__u32 nr_blocks;
	__u32 family;
	__u64 first;
	__u64 total;
	__u64 nr_tokens;
	__u64 nr_computed;
	__u64 nr_reserved;
	__u64 nr_published;
};

/**
 * struct kvp_seq_export - KVP_OP_SEQ_EXPORT: a sequence as a file
 * @head: no flags
 * @seq: the sequence, without copies that are owed
 * @fd: out: descriptor, close-on-exec; can be passed over a Unix socket
 * @reserved: 0
 * @export_id: out: id of the export, among those of clients (KVP_OP_CLIENT_LIST)
 *
 * USE. The file holds the computed tokens of the sequence as they are now, and those that open
 * uses will have computed, by reference, until
 * its last descriptor is closed or it is revoked: also when the sequence is freed, or
 * its client dies. Whoever goes on writing gets private blocks first, as after a fork. It counts
 * as a client of the pool with the limits of its maker and no guarantee, and takes none by
 * KVP_OP_LIMIT; its blocks stay charged as they are. A pool that does not persist lives until its
 * exports are closed. If writing the result fails, the export is undone and the descriptor
 * closed. Not of a pool that is staged. While uses that write were open, imports wait for
 * them; if the maker dies before they pass, or truncates the sequence below, the contents are
 * suspect for ever.
 * Errors: EOPNOTSUPP/DOOR (without KVP_FEATURE_EXPORT), ENOENT/NO_SEQ,
 * ESTALE/GENERATION, EBUSY (SEQ_BUSY, REMAP_OPEN, COPY_PENDING, STAGED),
 * EOPNOTSUPP/STATE_FAMILY (its state
 * would go on changing), EINVAL/LENGTH (the node in which the computed tokens end has more
 * slots: truncate first), EDQUOT (LIMIT_EXPORTS, LIMIT_SEQS, LIMIT_SLOTS, LIMIT_METADATA,
 * LIMIT_CLIENTS), ENOMEM/MEMORY, EMFILE, ENFILE.
 */
struct kvp_seq_export {
	struct kvp_head head;
	__u64 seq;
	__s32 fd;
	__u32 reserved;
	__u64 export_id;
};

/**
 * struct kvp_seq_import - KVP_OP_SEQ_IMPORT: a sequence from such a file
 * @head: no flags
 * @fd: in: the descriptor, which stays the caller's
 * @reserved: 0
 * @seq: out: id
 * @tokens: out: token ids known, all computed
 *
 * USE of the pool that the export is of. Any number of times. Its blocks stay charged as they
 * are. If writing the result fails the sequence is freed. Errors: EOPNOTSUPP/DOOR
 * (without KVP_FEATURE_EXPORT), EBADF, EINVAL/VALUE (the descriptor is no export's),
 * EACCES/FOREIGN, ESTALE/REVOKED, EBUSY (SEQ_BUSY: another call works on the export; FENCE_OPEN:
 * its rows are being written), EOWNERDEAD/MAKER_DEAD, EDQUOT
 * (LIMIT_SEQS, LIMIT_SLOTS, LIMIT_METADATA), ENOMEM/MEMORY.
 */
struct kvp_seq_import {
	struct kvp_head head;
	__s32 fd;
	__u32 reserved;
	__u64 seq;
	__u64 tokens;
};

/**
 * struct kvp_export_revoke - KVP_OP_EXPORT_REVOKE: end an export whatever files are open
 * @head: no flags
 * @export_id: its id
 *
 * USE, by the client that made it or one with ADMIN. Imports then fail with ESTALE/REVOKED; what
 * was imported stays. Errors: ENOENT/NO_EXPORT, EPERM/NO_EXPORT (another's), EBUSY/SEQ_BUSY.
 */
struct kvp_export_revoke {
	struct kvp_head head;
	__u64 export_id;
};

/* ---- remap --------------------------------------------------------------- */

/**
 * DOC: Positions, taint, remap
 *
 * A token of a sequence has an index (how many tokens stand before it), a position (that for
 * which its K is rotated), and the position at which it was computed. The three are the same until
 * a remap says otherwise. The pool keeps positions as runs of consecutive ones. A token that is
 * appended has the position after that of the token before it.
 *
 * Blocks may be published under plain identity only if each of their tokens stands at its index,
 * was computed there, and attended to exactly the tokens before it; and, in pools with windows,
 * only if they were not moved. The first token for which this
 * fails *taints* the sequence from there on, with whatever is appended later: publish refuses
 * these tokens (EKEYREJECTED/TAINTED). Fork, export and import carry the taint, truncate below it
 * ends it.
 *
 * A *remap* is the one operation that changes which rows stand where in a sequence. BEGIN says what
 * the sequence is to be: *pieces* of itself, or of other sequences of the client in the same
 * namespace, in order, and at which positions. What keeps index modulo index_tokens and position,
 * by whole index nodes, stays by reference; all other tokens that have rows become part of
 * *moves* (KVP_OP_REMAP_MOVES) to fresh blocks: no byte is written where somebody reads, and
 * nothing is lost until COMMIT. Whoever carries out the moves derives K from its pre-RoPE form
 * for the new position in one rotation, unless the move is KEEP, and copies all else as it is.
 *
 * Between BEGIN and COMMIT or ABORT the sequence is busy (EBUSY/REMAP_OPEN) to everything but
 * these, MOVES, and uses of kind %KVP_USE_REMAP, which cover what is read and what is written.
 * COMMIT and ABORT return at once: sources and targets are held back until these uses have passed,
 * and what is moved counts as computed then (without a use: at COMMIT). A client that dies
 * leaves the sequence as it was, and then frees it with the rest.
 *
 * What is true of the survivors afterwards has a name:
 *
 * - %KVP_NEVER_SAW: no token of the sequence that has rows attended to one that is gone from before
 *   it, and each
 *   stands at the position at which it was computed: K, V and what follows are those of a run
 *   that never saw what was removed;
 * - %KVP_REPOSITIONED: otherwise. Each K is the rotation of its raw K to its position, exactly; but
 *   rows keep the influence of what they attended to. @attended counts the tokens that had
 *   attended to something that is gone from before them; 0 is possible, and still not NEVER_SAW.
 */

/* A piece's positions: */
#define KVP_PIECE_INDEX		0	/* the index that each token gets */
#define KVP_PIECE_KEEP		1	/* those that the tokens have */
#define KVP_PIECE_AT		2	/* consecutive ones from @position on */

/* A piece: its ids only; rows are to be computed anew, by whoever computes the sequence on. */
#define KVP_PIECE_RECOMPUTE	(1U << 0)
#define KVP_PIECE_FLAGS_ALL	KVP_PIECE_RECOMPUTE

/**
 * struct kvp_piece - tokens in a row that a sequence is to have
 * @seq: whose they are: the sequence's own, or of another one of the client
 * @from: first token
 * @length: how many, > 0
 * @position: with KVP_PIECE_AT: of the first token; else 0
 * @positions: KVP_PIECE_INDEX, KEEP or AT
 * @flags: KVP_PIECE_RECOMPUTE
 */
struct kvp_piece {
	__u64 seq;
	__u64 from;
	__u64 length;
	__u64 position;
	__u32 positions;
	__u32 flags;
};

/* What is guaranteed; see "Positions, taint, remap". */
#define KVP_NEVER_SAW		1
#define KVP_REPOSITIONED	2

/* Refuse whatever would not be NEVER_SAW. */
#define KVP_REMAP_REQUIRE_NEVER_SAW	(1U << 0)
#define KVP_REMAP_FLAGS_ALL		KVP_REMAP_REQUIRE_NEVER_SAW

/**
 * struct kvp_remap_begin - KVP_OP_REMAP_BEGIN: what a sequence is to become
 * @head: KVP_REMAP_REQUIRE_NEVER_SAW
 * @seq: the sequence
 * @pieces: in: array of struct kvp_piece, in order; tokens of one sequence may stand once
 * @nr_pieces: how many; 0: it becomes empty
 * @guarantee: out: KVP_NEVER_SAW or KVP_REPOSITIONED
 * @reserve: in: slots beyond the tokens
 * @tokens: out: ids that it will have
 * @computed: out: of these, tokens from the start that will have rows
 * @moved: out: of these, tokens that are moved
 * @nr_moves: out: moves of all families (KVP_OP_REMAP_MOVES)
 * @attended: out: tokens with rows that had attended to some that are gone, or stand behind them
 *            now, by this remap or an earlier one
 * @tainted_from: out: see struct kvp_seq_positions, of what it will be
 *
 * USE. Tokens without rows, in the end or by RECOMPUTE, come after all that have some. A sequence
 * that others' pieces are of is not changed, but is busy during the call. All or nothing, over
 * all families. If writing the result fails it is aborted. Of reasons that are about a family, or a
 * block's count, where is the family.
 * Errors, where = the piece: ENOENT/NO_SEQ, ESTALE/GENERATION, EBUSY (SEQ_BUSY, COPY_PENDING,
 * REMAP_OPEN; FENCE_OPEN: work writes rows of a piece), EINVAL (VALUE: length, positions or flags;
 * LENGTH: beyond the source's tokens; DUPLICATE; UNPUBLISHED: rows after tokens without some),
 * EOVERFLOW (COUNT: pieces, or a block's count; LENGTH: the tokens, or a position, beyond
 * KVP_MAX_SEQ_TOKENS), EKEYREJECTED (NAMESPACE: a piece of another one; ATTENDED: not
 * NEVER_SAW), EOPNOTSUPP (STATE_FAMILY; WINDOW_RELEASED: rows that the window would need are gone),
 * ENOSPC, EFBIG, EDQUOT, ENOMEM as KVP_OP_SEQ_CREATE.
 */
struct kvp_remap_begin {
	struct kvp_head head;
	__u64 seq;
	__u64 pieces;
	__u32 nr_pieces;
	__u32 guarantee;
	__u64 reserve;
	__u64 tokens;
	__u64 computed;
	__u64 moved;
	__u64 nr_moves;
	__u64 attended;
	__u64 tainted_from;
};

/* A move: K is moved as it is, its position stays. */
#define KVP_MOVE_KEEP		(1U << 0)

/**
 * struct kvp_move - rows to be written
 * @src: block to read
 * @dst: block to write
 * @src_row: first row there
 * @dst_row: first row there
 * @rows: how many
 * @flags: KVP_MOVE_KEEP
 * @position: of the first row from now on; the others follow
 */
struct kvp_move {
	__u64 src;
	__u64 dst;
	__u32 src_row;
	__u32 dst_row;
	__u32 rows;
	__u32 flags;
	__u64 position;
};

/**
 * struct kvp_remap_moves - KVP_OP_REMAP_MOVES: read the plan of an open remap
 * @head: no flags
 * @seq: the sequence
 * @moves: out: array of struct kvp_move, may be null
 * @nr_moves: in: room there; out: moves written
 * @family: of which family
 * @first: in: number of the first to write, among those of the family
 * @total: out: moves of the family
 *
 * USE. By rising token; the plan does not change. Errors: ENOENT (NO_SEQ, NO_REMAP),
 * ESTALE/GENERATION, EBUSY/SEQ_BUSY, EINVAL/FAMILY.
 */
struct kvp_remap_moves {
	struct kvp_head head;
	__u64 seq;
	__u64 moves;
	__u32 nr_moves;
	__u32 family;
	__u64 first;
	__u64 total;
};

/**
 * struct kvp_remap_end - KVP_OP_REMAP_COMMIT and KVP_OP_REMAP_ABORT
 * @head: no flags
 * @seq: the sequence
 *
 * USE. COMMIT: the sequence is what BEGIN said. The moves are made, or work that makes them was
 * said with KVP_USE_REMAP. ABORT: it is what it was before. Errors: ENOENT (NO_SEQ, NO_REMAP),
 * ESTALE/GENERATION, EBUSY/SEQ_BUSY.
 */
struct kvp_remap_end {
	struct kvp_head head;
	__u64 seq;
};

/* A run of positions: how its tokens came to be there. */
#define KVP_POSITIONS_ATTENDED	(1U << 0)	/* they attended to tokens that are gone */
#define KVP_POSITIONS_MISSED	(1U << 1)	/* they did not attend to all before them */

/**
 * struct kvp_positions - tokens with consecutive positions
 * @first: index of the first
 * @position: of the first
 * @computed_at: position at which the first was computed, or will be
 * @flags: KVP_POSITIONS_*
 * @reserved: 0
 */
struct kvp_positions {
	__u64 first;
	__u64 position;
	__u64 computed_at;
	__u32 flags;
	__u32 reserved;
};

/**
 * struct kvp_seq_positions - KVP_OP_SEQ_POSITIONS: where the tokens of a sequence stand
 * @head: no flags
 * @seq: the sequence
 * @runs: out: array of struct kvp_positions, by rising @first, without gaps; may be null
 * @nr_runs: in: room there; out: written
 * @reserved: 0
 * @total: out: how many there are; a sequence that was never remapped has one, or none if it
 *         has no tokens
 * @next: out: position of the next token that is appended
 * @tainted_from: out: first token that may not be published, KVP_POS_END: none
 * @attended: out: tokens with rows that had attended to tokens that are gone
 *
 * USE. Errors: ENOENT/NO_SEQ, ESTALE/GENERATION, EBUSY (SEQ_BUSY, REMAP_OPEN).
 */
struct kvp_seq_positions {
	struct kvp_head head;
	__u64 seq;
	__u64 runs;
	__u32 nr_runs;
	__u32 reserved;
	__u64 total;
	__u64 next;
	__u64 tainted_from;
	__u64 attended;
};

/* ---- prefix -------------------------------------------------------------- */

/* Keep what was matched from being reclaimed until KVP_OP_PREFIX_RELEASE. */
#define KVP_MATCH_HOLD		(1U << 0)
#define KVP_MATCH_FLAGS_ALL	KVP_MATCH_HOLD

/**
 * struct kvp_prefix_match - KVP_OP_PREFIX_MATCH: how much is published
 * @head: KVP_MATCH_HOLD
 * @space: namespace digest
 * @tokens: in: array of __u32 token ids
 * @nr_tokens: how many, > 0
 * @nr_extras: elements of @extras
 * @extras: in: array of struct kvp_extra
 * @blocks: out: array of __u64 block ids of @family, may be null;
 *          KVP_BLOCK_NULL for a node that has none
 * @nr_blocks: in: room there; out: ids written
 * @family: family of @blocks
 * @matched: out: tokens of the longest published prefix that every family can use
 * @match: out: id to release, with HOLD and if something matched; else 0
 *
 * USE. If writing the result fails the match is released. Errors: EINVAL (FLAG, COUNT, EXTRA,
 * FAMILY), EOVERFLOW/COUNT, EDQUOT (LIMIT_MATCHES, LIMIT_METADATA),
 * ENOMEM/MEMORY.
 */
struct kvp_prefix_match {
	struct kvp_head head;
	__u8 space[KVP_DIGEST_LEN];
	__u64 tokens;
	__u32 nr_tokens;
	__u32 nr_extras;
	__u64 extras;
	__u64 blocks;
	__u32 nr_blocks;
	__u32 family;
	__u64 matched;
	__u64 match;
};

/**
 * struct kvp_prefix_release - KVP_OP_PREFIX_RELEASE: end a match
 * @head: no flags
 * @match: its id
 *
 * USE. Errors: ENOENT/NO_MATCH, ESTALE/GENERATION.
 */
struct kvp_prefix_release {
	struct kvp_head head;
	__u64 match;
};

/* Keep the sequence's own blocks where equal content is published already. */
#define KVP_PUBLISH_KEEP	(1U << 0)
#define KVP_PUBLISH_FLAGS_ALL	KVP_PUBLISH_KEEP

/**
 * struct kvp_prefix_publish - KVP_OP_PREFIX_PUBLISH: let others match a sequence
 * @head: KVP_PUBLISH_KEEP
 * @seq: the sequence
 * @limit: in: publish at most so many tokens from the start; 0: all computed
 * @tag: label for invalidation, 0: none
 * @reserved: 0
 * @published: out: tokens from the start that are published now
 * @nr_new: out: nodes that were new
 * @nr_shared: out: nodes that somebody had published already
 *
 * PUBLISH. Publishes the full, computed nodes that no open use writes; they are immutable from
 * now on. It ends before a node of which a block is published as another one's.
 * Where equal content is published already the sequence takes those blocks and
 * gives its own back, so block ids in its table may change (read them again
 * with KVP_OP_SEQ_TABLE); with KEEP it keeps its own, and also where taking
 * them would pass the client's limit or others' guarantees. Errors:
 * ENOENT/NO_SEQ, ESTALE (GENERATION, INVALIDATED), EBUSY (SEQ_BUSY,
 * COPY_PENDING, REMAP_OPEN), EKEYREJECTED/TAINTED (tokens of these nodes are tainted: @limit at
 * most @tainted_from), EACCES/RIGHT_PUBLISH; with open uses EDQUOT/LIMIT_METADATA, ENOMEM/MEMORY.
 */
struct kvp_prefix_publish {
	struct kvp_head head;
	__u64 seq;
	__u64 limit;
	__u32 tag;
	__u32 reserved;
	__u64 published;
	__u64 nr_new;
	__u64 nr_shared;
};

/* What to invalidate; exactly one. */
#define KVP_INVALIDATE_SPACE	(1U << 0)	/* all of a namespace */
#define KVP_INVALIDATE_PREFIX	(1U << 1)	/* a prefix's last node and all after it */
#define KVP_INVALIDATE_TAG	(1U << 2)	/* nodes with the tag and all after them */
#define KVP_INVALIDATE_FLAGS_ALL \
	(KVP_INVALIDATE_SPACE | KVP_INVALIDATE_PREFIX | KVP_INVALIDATE_TAG)

/**
 * struct kvp_prefix_invalidate - KVP_OP_PREFIX_INVALIDATE: never match it again
 * @head: one of KVP_INVALIDATE_*
 * @space: namespace digest (SPACE, PREFIX)
 * @tokens: in: array of __u32 token ids (PREFIX), all of which must be in full nodes
 * @nr_tokens: how many (PREFIX: > 0, a multiple of the pool's index_tokens)
 * @nr_extras: elements of @extras
 * @extras: in: array of struct kvp_extra
 * @tag: TAG: the label, > 0
 * @reserved: 0
 * @nr_subtrees: out: subtrees of the index that were cut off, 0 if nothing matched
 *
 * ADMIN. The blocks become idle as their holders let go, and are reclaimed
 * before others where they are found quickly, else in their turn. Sequences
 * that live keep what they hold; those of an invalidated namespace can publish
 * no more (ESTALE/INVALIDATED). Errors: EINVAL (FLAG, COUNT, EXTRA, VALUE),
 * EACCES/RIGHT_ADMIN.
 */
struct kvp_prefix_invalidate {
	struct kvp_head head;
	__u8 space[KVP_DIGEST_LEN];
	__u64 tokens;
	__u32 nr_tokens;
	__u32 nr_extras;
	__u64 extras;
	__u32 tag;
	__u32 reserved;
	__u64 nr_subtrees;
};

/**
 * struct kvp_prefix_reclaim - KVP_OP_PREFIX_RECLAIM: make idle blocks free
 * @head: no flags
 * @nodes: in: index nodes to reclaim at most; out: nodes reclaimed
 *
 * ADMIN. Least recently used leaf first, the order in which allocations reclaim.
 * Errors: EINVAL/COUNT (zero), EACCES/RIGHT_ADMIN.
 */
struct kvp_prefix_reclaim {
	struct kvp_head head;
	__u64 nodes;
};

/* ---- fence --------------------------------------------------------------- */

/**
 * DOC: Fences
 *
 * Work on an accelerator goes on after the call that launched it, also when the request that it
 * was for is cancelled, and even when its process is dead. A block does not change hands while
 * such work may touch it.
 *
 * A *timeline* is a counter that only grows: one of the client's %KVP_NR_TIMELINES in the page at
 * %KVP_MMAP_TIMELINES, made by KVP_OP_TIMELINE_CREATE. A *fence* is a timeline and a value; it
 * has *passed* once the timeline has that value or a greater one, else it is *open*. Whoever
 * launches work first says with KVP_OP_USE what it touches and which value it will write, then
 * launches it, and the last thing that the work does is to write the value: a GPU into the page
 * (cuStreamWriteValue64), a thread with an atomic store (release), or anybody with
 * KVP_OP_SIGNAL.
 *
 * The pool reads a timeline where it needs to know, once a check. It remembers the greatest value
 * that was right: one that is smaller, or beyond what uses announced, is ignored and counted
 * (struct kvp_stats). A value that was ignored does not become right later by itself.
 *
 * A use of a *sequence* covers whatever its tables name, and the sources of copies that it owes,
 * then and until the fence passes: what the sequence gives back meanwhile (by free, truncate,
 * publish, copy-on-write) is *held back* until the uses that were open then
 * have passed. It comes back by itself, whether or not further work is launched. A
 * sequence that is freed with open uses is gone for the client at once (its id is stale), and
 * goes on as a *zombie* until they pass.
 *
 * A use may write rows: of tokens from @write_from on. What it computes counts as computed once
 * it has passed: then computed grows to its @computed_to, but never past the
 * @write_from of a use that is still open, nor past the ids known. A window's blocks go by
 * what is computed, and not while an open use may read them: one that writes reads the rows of the
 * window before @write_from, one that writes none may read all. Publish, fork and export
 * look at what is computed and not being written; an export can be made while its last rows
 * are written: imports then wait (EBUSY/FENCE_OPEN).
 *
 * A use of a *block* takes a further reference on it, until the fence has passed: for clients
 * that keep their own tables.
 *
 * Work that was said before a truncate may still write the rows that it was to write: work that
 * writes them anew must come after it (on one stream it does).
 *
 * When a step fails after its use was said, truncate what it was to compute, then signal. Exports
 * that were to have those rows are suspect then.
 *
 * When a client dies, what its open uses cover is in *quarantine* for the pool's grace time: its
 * context of the accelerator ends with the process, but no driver says when. That is a bound
 * that was stated, not a proof. In a strict pool (%KVP_POOL_STRICT) it stays until
 * KVP_OP_REAP. Timelines of dead clients are not read any more.
 */

/**
 * struct kvp_timeline_create - KVP_OP_TIMELINE_CREATE: one more timeline
 * @head: no flags
 * @timeline: out: its index in the timelines page; its value is 0
 * @reserved: 0
 *
 * USE. It lasts as long as the client. If writing the result fails it is made all the same.
 * Errors: EDQUOT/LIMIT_TIMELINES, ENOMEM/MEMORY.
 */
struct kvp_timeline_create {
	struct kvp_head head;
	__u32 timeline;
	__u32 reserved;
};

#define KVP_USE_SEQ	1	/* a sequence */
#define KVP_USE_BLOCK	2	/* a block on which the client has a raw reference */
#define KVP_USE_REMAP	3	/* what an open remap of a sequence reads and writes */

/**
 * struct kvp_use_entry - what one piece of work touches, and when it has done so
 * @kind: KVP_USE_*
 * @timeline: of the fence
 * @id: of the sequence or block; REMAP: of the sequence
 * @value: of the fence, below KVP_MAX_FENCE; above what the timeline has
 * @write_from: SEQ: first token whose row is written, KVP_POS_END: none; others: 0. Work that
 *              writes reads of a WINDOW family no more than the window before this token
 * @computed_to: SEQ: tokens from the start that have rows when it has passed, at least
 *               @write_from, at most the slots; 0 where none is written; others: 0
 */
struct kvp_use_entry {
	__u32 kind;
	__u32 timeline;
	__u64 id;
	__u64 value;
	__u64 write_from;
	__u64 computed_to;
};

/**
 * struct kvp_use - KVP_OP_USE: what work will touch, said before it is launched
 * @head: no flags
 * @entries: in: array of struct kvp_use_entry
 * @nr_entries: how many, 1..KVP_MAX_CALL_BLOCKS; all or none. The same sequence may stand with
 *              several fences
 * @reserved: 0
 * @position: out, with EINVAL/POSITION: the greatest @write_from that there may be
 *
 * USE. Values of a timeline need not be said in order. Of one sequence KVP_MAX_USES are told
 * apart; beyond that uses of one timeline count as one that passes with the last.
 * Errors, where = the entry: EINVAL or EOVERFLOW/COUNT, EINVAL/VALUE (kind, value, write_from or
 * computed_to), ENOENT/NO_TIMELINE, EINVAL/FENCE_PASSED (the timeline has that value: the work
 * was launched before it was said), ENOENT/NO_REMAP, EBUSY/REMAP_OPEN (SEQ: use the remap),
 * EINVAL/POSITION (rows between what is computed, or will be,
 * and @write_from would be missing), EINVAL/LENGTH (@computed_to beyond the slots), EBUSY/SHARED
 * (rows to be written are published, or a fork's too), ENOENT (NO_SEQ, NO_BLOCK),
 * ESTALE/GENERATION, EPERM/NOT_HELD, EBUSY/SEQ_BUSY, EOVERFLOW/COUNT (a block's count),
 * EDQUOT/LIMIT_METADATA, ENOMEM/MEMORY.
 */
struct kvp_use {
	struct kvp_head head;
	__u64 entries;
	__u32 nr_entries;
	__u32 reserved;
	__u64 position;
};

/**
 * struct kvp_signal - KVP_OP_SIGNAL: write a timeline
 * @head: no flags
 * @timeline: which
 * @reserved: 0
 * @value: its new value
 *
 * USE. For work that ends on a processor. The page shows the value, too. Not on a timeline that
 * something else writes at the same time. Errors: ENOENT/NO_TIMELINE, EINVAL/FENCE_PASSED (it has
 * that value, or a greater one), EINVAL/FENCE_AHEAD (no use announced that value); both of these
 * are counted, too.
 */
struct kvp_signal {
	struct kvp_head head;
	__u32 timeline;
	__u32 reserved;
	__u64 value;
};

/**
 * struct kvp_fence - one fence that is asked for
 * @timeline: in
 * @passed: out: 1: it has passed
 * @value: in
 * @seen: out: the greatest value of the timeline that was right
 * @announced: out: the greatest value that a use said
 */
struct kvp_fence {
	__u32 timeline;
	__u32 passed;
	__u64 value;
	__u64 seen;
	__u64 announced;
};

/* poll(2) is to tell when one of the fences passes that are open now. */
#define KVP_QUERY_WATCH		(1U << 0)
#define KVP_QUERY_FLAGS_ALL	KVP_QUERY_WATCH

/**
 * struct kvp_query - KVP_OP_QUERY: which fences have passed
 * @head: KVP_QUERY_*
 * @fences: in, out: array of struct kvp_fence, may be null
 * @nr_fences: how many, up to KVP_MAX_BATCH
 * @granted: out: tickets granted and not taken
 * @waiting: out: tickets that wait
 * @uses: out: open uses of the client's sequences and blocks
 * @held_back: out: blocks held back that are charged to the client, all families
 * @backwards: out: values of its timelines that were ignored as smaller than before
 * @jumps: out: values that were ignored as beyond what was announced
 * @ready: out: KVP_READY_*: what poll(2) said until now
 * @reserved: 0
 *
 * USE. Watching: of each timeline the smallest value watched counts; it is watched until it has
 * passed, or until a WATCH with value 0, which ends it. While a client watches and fences are
 * open, the pool reads timelines every now and then (the device: every fence_poll_us), else only
 * where it needs to know. That a watched fence has passed is told by poll(2) until this call was
 * made once after it.
 * Errors: EOVERFLOW/COUNT, ENOENT/NO_TIMELINE (where = the element), EINVAL/FENCE_AHEAD (WATCH:
 * no use announced that value; where = the element).
 */
struct kvp_query {
	struct kvp_head head;
	__u64 fences;
	__u32 nr_fences;
	__u32 granted;
	__u32 waiting;
	__u32 uses;
	__u64 held_back;
	__u64 backwards;
	__u64 jumps;
	__u32 ready;
	__u32 reserved;
};

/**
 * struct kvp_reap - KVP_OP_REAP: what dead clients hold back is free to use
 * @head: no flags
 * @client: in: id of a dead client, 0: all of this pool
 * @clients: out: clients whose quarantine ended
 * @reserved: 0
 * @blocks: out: blocks that are held back no longer
 *
 * ADMIN: by this the caller says that no work of theirs goes on. Errors: ENOENT/NO_CLIENT (none
 * in quarantine has that id), EACCES/RIGHT_ADMIN.
 */
struct kvp_reap {
	struct kvp_head head;
	__u64 client;
	__u32 clients;
	__u32 reserved;
	__u64 blocks;
};

/* ---- lifecycle ----------------------------------------------------------- */

/**
 * DOC: Admission
 *
 * Whether blocks can be had is known by taking them. Admit takes blocks, free ones first, then by
 * reclaim, into the client's *reserve*: they are charged to it and nobody else gets them. What the
 * client's calls need then (create, append, fork, alloc, ...) comes out of the reserve first.
 *
 * Where the blocks cannot be had now, an admit with %KVP_ADMIT_QUEUE gets a *ticket*. Tickets are
 * granted in the order of asking, each as a whole: one that waits keeps back all later ones that
 * ask for a family of its, unless what it waits for is a limit of its own client. While it waits,
 * calls that ask for blocks of such a family for something new (an admit without QUEUE, create,
 * alloc), those of its own client among them, get ENOSPC/QUEUED, except for blocks that are
 * guaranteed to the caller or in its reserve; what goes on (append, fork, set-tokens, make-private)
 * may still take free ones. poll(2) tells when a ticket is granted, and KVP_ADMIT_TAKE puts
 * what it got into the reserve.
 */

/**
 * struct kvp_admit_need - blocks of one family
 * @family: which
 * @reserved: 0
 * @blocks: how many, > 0
 */
struct kvp_admit_need {
	__u32 family;
	__u32 reserved;
	__u64 blocks;
};

#define KVP_ADMIT_QUEUE		(1U << 0)	/* a ticket, if it cannot be had now */
#define KVP_ADMIT_TAKE		(1U << 1)	/* @ticket, if granted, into the reserve */
#define KVP_ADMIT_CANCEL	(1U << 2)	/* end @ticket, and give back what it was granted */
#define KVP_ADMIT_DROP		(1U << 3)	/* give back the reserve: @needs, or all of it */
#define KVP_ADMIT_FLAGS_ALL \
	(KVP_ADMIT_QUEUE | KVP_ADMIT_TAKE | KVP_ADMIT_CANCEL | KVP_ADMIT_DROP)

/**
 * enum kvp_admit_state - what became of an admit
 * @KVP_ADMITTED: the blocks are in the reserve
 * @KVP_ADMIT_WAITING: there is a ticket, which waits
 * @KVP_ADMIT_ENDED: CANCEL, DROP: done
 */
enum kvp_admit_state {
	KVP_ADMITTED = 1,
	KVP_ADMIT_WAITING = 2,
	KVP_ADMIT_ENDED = 3,
};

/**
 * struct kvp_admit - KVP_OP_ADMIT: take blocks in advance, or wait for them
 * @head: none of KVP_ADMIT_*, or one
 * @needs: in: array of struct kvp_admit_need, each family at most once (TAKE, CANCEL: none)
 * @nr_needs: how many, 1..KVP_MAX_FAMILIES (DROP: 0: all)
 * @state: out: enum kvp_admit_state
 * @ticket: in (TAKE, CANCEL), out (QUEUE): its id; 0 where none was needed
 * @ahead: out: with WAITING, and with EBUSY/NOT_GRANTED: tickets that were there before
 *
 * USE. All or nothing, over all families. If writing the result of QUEUE fails, its ticket or what
 * it took is given back. Tickets and the reserve end with the client. Errors: EINVAL (FLAG; COUNT;
 * RESERVED, FAMILY or DUPLICATE, where = the element; VALUE, where = the element: no blocks, or
 * DROP of more than the reserve has), ENOSPC (POOL_FULL, HELD_BACK, COVERED, GUARANTEED, QUEUED;
 * not with QUEUE), EFBIG/NEVER_FITS, EDQUOT (LIMIT_BLOCKS, LIMIT_TICKETS, LIMIT_METADATA),
 * ENOENT/NO_TICKET, ESTALE/GENERATION, EBUSY/NOT_GRANTED (TAKE), ENOMEM/MEMORY.
 */
struct kvp_admit {
	struct kvp_head head;
	__u64 needs;
	__u32 nr_needs;
	__u32 state;
	__u64 ticket;
	__u64 ahead;
};

/* ---- watch --------------------------------------------------------------- */

/**
 * struct kvp_family_stats - counters of one family
 * @total: blocks
 * @state: blocks by enum kvp_block_state; they add up to @total
 * @published: blocks that a node names (held or idle)
 * @charged: blocks charged to the client asked for; pool: to any client
 * @guaranteed: guarantee of the client; pool: of all
 * @unmet: part of the guarantees that is not charged now
 * @limit: block limit of the client; pool: 0
 * @held_back: of @charged: blocks in state HELD_BACK
 * @reserve: of @charged: blocks that admissions took and that are not used yet, those of granted
 *           tickets among them
 */
struct kvp_family_stats {
	__u64 total;
	__u64 state[KVP_BLOCK_STATES];
	__u64 published;
	__u64 charged;
	__u64 guaranteed;
	__u64 unmet;
	__u64 limit;
	__u64 held_back;
	__u64 reserve;
};

/**
 * struct kvp_stats - KVP_OP_STATS: counters
 * @head: KVP_STATS_OF_UID
 * @client: in: 0: the whole pool; KVP_STATS_SELF or an id: what that client has; OF_UID: a
 *          uid: what its clients have, the dead among them
 * @families: out: array of struct kvp_family_stats, may be null
 * @nr_families: in: room there; out: families of the pool
 * @nr_clients: out: attached (1 for a client)
 * @seqs: out: sequences
 * @slots: out: slots in their tables
 * @raw: out: raw references
 * @matches: out: open matches
 * @metadata_bytes: out: bytes of metadata (of the client's objects)
 * @nodes: out: nodes of the index, pool only from here on
 * @nodes_used: out: of these in use: private, published or namespaces
 * @nodes_published: out: of these published
 * @namespaces: out: namespaces known
 * @extras_used: out: digests kept
 * @extras: out: digests that can be kept
 * @matched_nodes: out: nodes found by create and match, since the pool was made
 * @looked_up_nodes: out: full nodes that create and match were asked for
 * @published_nodes: out: nodes published
 * @shared_nodes: out: nodes that publish found to be there already
 * @reclaimed_nodes: out: nodes reclaimed
 * @reclaimed_blocks: out: blocks reclaimed
 * @invalidated: out: subtrees cut off by invalidate
 * @copies: out: copies asked for (copy-on-write)
 * @underflow_rejected: out: attempts to drop references that are not there
 * @collisions: out: children of one node with equal hashes and different contents, seen and
 *              refused
 * @refused_room: out: calls that failed with ENOSPC
 * @refused_limit: out: calls that failed with EDQUOT
 * @exports: out: open exports
 * @backings: out: backing descriptors
 * @zombies: out: sequences that were freed and wait for fences
 * @uses: out: open uses
 * @tickets: out: open tickets
 * @tickets_waiting: out: of these not granted yet, pool only from here on
 * @tickets_granted: out: tickets granted, since the pool was made
 * @quarantined: out: dead clients whose blocks are in quarantine
 * @backwards: out: values of timelines that were ignored as smaller than before (of a client: its)
 * @jumps: out: values that were ignored as beyond what was announced (of a client: its)
 * @scans: out: how often timelines were read because somebody waited
 *
 * USE for the pool, oneself and one's own uid, ADMIN for others. Errors: ENOENT/NO_CLIENT,
 * EACCES/RIGHT_ADMIN, EOVERFLOW/COUNT (the room is not zero and too small).
 */
struct kvp_stats {
	struct kvp_head head;
	__u64 client;
	__u64 families;
	__u32 nr_families;
	__u32 nr_clients;
	__u64 seqs;
	__u64 slots;
	__u64 raw;
	__u64 matches;
	__u64 metadata_bytes;
	__u64 nodes;
	__u64 nodes_used;
	__u64 nodes_published;
	__u64 namespaces;
	__u64 extras_used;
	__u64 extras;
	__u64 matched_nodes;
	__u64 looked_up_nodes;
	__u64 published_nodes;
	__u64 shared_nodes;
	__u64 reclaimed_nodes;
	__u64 reclaimed_blocks;
	__u64 invalidated;
	__u64 copies;
	__u64 underflow_rejected;
	__u64 collisions;
	__u64 refused_room;
	__u64 refused_limit;
	__u64 exports;
	__u64 backings;
	__u64 zombies;
	__u64 uses;
	__u64 tickets;
	__u64 tickets_waiting;
	__u64 tickets_granted;
	__u64 quarantined;
	__u64 backwards;
	__u64 jumps;
	__u64 scans;
};

#define KVP_STATS_SELF		(~0ULL)

/* @client is a uid. */
#define KVP_STATS_OF_UID	(1U << 0)
#define KVP_STATS_FLAGS_ALL	KVP_STATS_OF_UID

/**
 * struct kvp_counters_page - the page at KVP_MMAP_COUNTERS
 * @state: blocks by family and enum kvp_block_state
 * @published: blocks by family that a node names
 * @reserved: 0
 */
struct kvp_counters_page {
	__u64 state[KVP_MAX_FAMILIES][KVP_BLOCK_STATES];
	__u64 published[KVP_MAX_FAMILIES];
	__u64 reserved[400];
};

/**
 * enum kvp_finding_kind - what the audit can find
 * @KVP_FINDING_SUM: states of a family do not add up to total
 * @KVP_FINDING_STATE: a state's counter is not its recount
 * @KVP_FINDING_COUNT: a block's count is not its recount
 * @KVP_FINDING_LIST: a block or node is on a list it should not be on, or not on one
 * @KVP_FINDING_NODE: a node's uses, references or blocks that are held are not their recount
 * @KVP_FINDING_TREE: parent, child or hash chain links are broken
 * @KVP_FINDING_CONTENT: a node's hash is not that of its contents
 * @KVP_FINDING_CHARGE: a client's charge or usage is not its recount
 * @KVP_FINDING_SEQ: a sequence's tables and lengths disagree
 * @KVP_FINDING_EXTRA: digests in use are not their recount
 * @KVP_FINDING_USER: what a uid's clients have together is not their recount
 * @KVP_FINDING_FENCE: what waits for fences is not its recount
 *
 * Any finding is a bug of kvpool (or memory that was overwritten).
 */
enum kvp_finding_kind {
	KVP_FINDING_SUM = 1,
	KVP_FINDING_STATE = 2,
	KVP_FINDING_COUNT = 3,
	KVP_FINDING_LIST = 4,
	KVP_FINDING_NODE = 5,
	KVP_FINDING_TREE = 6,
	KVP_FINDING_CONTENT = 7,
	KVP_FINDING_CHARGE = 8,
	KVP_FINDING_SEQ = 9,
	KVP_FINDING_EXTRA = 10,
	KVP_FINDING_USER = 11,
	KVP_FINDING_FENCE = 12,
};

/**
 * struct kvp_finding - one thing that the audit found
 * @kind: enum kvp_finding_kind
 * @family: family, or ~0
 * @id: index of the block or node, or id of the client or sequence, or the uid
 * @found: the stored value
 * @expected: the recounted value
 */
struct kvp_finding {
	__u32 kind;
	__u32 family;
	__u64 id;
	__u64 found;
	__u64 expected;
};

/**
 * struct kvp_audit - KVP_OP_AUDIT: recount everything
 * @head: no flags
 * @findings: out: array of struct kvp_finding, may be null
 * @nr_findings: in: room there; out: findings written
 * @reserved: 0
 * @total: out: findings
 * @checked_blocks: out: blocks recounted
 * @checked_nodes: out: nodes recounted
 *
 * ADMIN. Stops all other calls of the pool while it runs. 0 findings is a
 * sound pool. Errors: EACCES/RIGHT_ADMIN, EOVERFLOW/COUNT, ENOMEM/MEMORY.
 */
struct kvp_audit {
	struct kvp_head head;
	__u64 findings;
	__u32 nr_findings;
	__u32 reserved;
	__u64 total;
	__u64 checked_blocks;
	__u64 checked_nodes;
};

/**
 * enum kvp_why - why a block is not free
 * @KVP_WHY_FREE: it is free
 * @KVP_WHY_SEQ: sequences or raw references hold it
 * @KVP_WHY_SHARED: held and published: several may hold it
 * @KVP_WHY_IDLE: published, reclaimable now
 * @KVP_WHY_COVERED: published, idle, but nodes that follow it exist
 * @KVP_WHY_MATCHED: published, idle, but its node is referenced
 * @KVP_WHY_RESERVED: taken for an operation in progress
 * @KVP_WHY_HELD_BACK: work may still touch it: a fence is open, and the client that it is charged
 *                     to lives
 * @KVP_WHY_RETIRED: its generations are used up
 * @KVP_WHY_QUARANTINE: the same, and the client that it is charged to is dead: until its grace time
 *                      is over, or reap
 * @KVP_WHY_ADMITTED: in the reserve of the client that it is charged to, or of its ticket
 */
enum kvp_why {
	KVP_WHY_FREE = 0,
	KVP_WHY_SEQ = 1,
	KVP_WHY_SHARED = 2,
	KVP_WHY_IDLE = 3,
	KVP_WHY_COVERED = 4,
	KVP_WHY_MATCHED = 5,
	KVP_WHY_RESERVED = 6,
	KVP_WHY_HELD_BACK = 7,
	KVP_WHY_RETIRED = 8,
	KVP_WHY_QUARANTINE = 9,
	KVP_WHY_ADMITTED = 10,
};

#define KVP_NODE_NONE		(~0U)

/**
 * struct kvp_block_entry - one block in a dump
 * @block: id
 * @parent: id of the first block of its node's parent in the same family, or KVP_BLOCK_NULL
 * @client: id of the client it is charged to, 0: none
 * @age_ns: since it was allocated, or published
 * @count: references
 * @state: enum kvp_block_state
 * @why: enum kvp_why
 * @node: index of the node that names it, KVP_NODE_NONE
 * @depth: of that node: 1 for the first of a prefix
 * @tag: of that node
 * @space: namespace digest of that node, else zero
 * @part: which of the blocks that this family has in that node, 0 for the first
 * @flags: KVP_ENTRY_*
 * @held_back: of @count: references whose holders let go, and that wait for fences
 * @reserved: 0
 */
struct kvp_block_entry {
	__u64 block;
	__u64 parent;
	__u64 client;
	__u64 age_ns;
	__u32 count;
	__u32 state;
	__u32 why;
	__u32 node;
	__u32 depth;
	__u32 tag;
	__u8 space[KVP_DIGEST_LEN];
	__u32 part;
	__u32 flags;
	__u32 held_back;
	__u32 reserved;
};

/* The node was invalidated, or one before it: no match finds it any more. */
#define KVP_ENTRY_INVALIDATED	(1U << 0)

/**
 * struct kvp_block_dump - KVP_OP_BLOCK_DUMP: what each block is
 * @head: no flags
 * @entries: out: array of struct kvp_block_entry
 * @nr_entries: in: room there, > 0; out: entries written
 * @family: which family
 * @cursor: in: index of the first block; out: of the next call's first. A call may come back with
 *          fewer entries than there is room for, where they cost much
 * @total: out: blocks of the family
 *
 * USE; blocks charged to others that are not published need ADMIN and are
 * otherwise shown with @block, @state and @why only. A cursor, not a snapshot:
 * blocks may change between two calls, and between two slices of one. Errors:
 * EINVAL (FAMILY, COUNT), EOVERFLOW/COUNT.
 */
struct kvp_block_dump {
	struct kvp_head head;
	__u64 entries;
	__u32 nr_entries;
	__u32 family;
	__u64 cursor;
	__u64 total;
};

/* The entry is an export: a client with one sequence and no caller. */
#define KVP_CLIENT_EXPORT	(1U << 0)
/* EXPORT: revoked; it holds nothing any more. */
#define KVP_CLIENT_REVOKED	(1U << 1)
/* EXPORT: rows of it are being written: imports wait. */
#define KVP_CLIENT_OPEN		(1U << 2)
/* It died, and what its work may touch is in quarantine. */
#define KVP_CLIENT_DEAD		(1U << 3)

#define KVP_COMMAND_LEN		16

/**
 * struct kvp_client_entry - one client in a list
 * @client: id
 * @uid: of its credentials; EXPORT: of its maker's
 * @rights: KVP_RIGHT_*
 * @seqs: sequences
 * @slots: slots in their tables
 * @raw: raw references
 * @charged: blocks charged to it, all families
 * @matches: open matches
 * @exports: open exports that it made
 * @age_ns: since it attached; EXPORT: since it was made
 * @maker: EXPORT: id of the client that made it, alive or not; else 0
 * @imports: EXPORT: how often it was imported, also where the result could not be written
 * @pid: process that opened it, in the initial namespace; EXPORT: its maker's
 * @flags: KVP_CLIENT_*
 * @command: name of that process when it did, for people; NUL-terminated
 * @zombies: sequences that were freed and wait for fences
 * @uses: open uses
 * @held_back: blocks in state HELD_BACK that are charged to it, all families
 * @tickets: open tickets
 * @grace_ns: DEAD: until its quarantine ends; KVP_UNLIMITED: with KVP_OP_REAP
 */
struct kvp_client_entry {
	__u64 client;
	__u32 uid;
	__u32 rights;
	__u64 seqs;
	__u64 slots;
	__u64 raw;
	__u64 charged;
	__u64 matches;
	__u64 exports;
	__u64 age_ns;
	__u64 maker;
	__u64 imports;
	__u32 pid;
	__u32 flags;
	char command[KVP_COMMAND_LEN];
	__u64 zombies;
	__u64 uses;
	__u64 held_back;
	__u64 tickets;
	__u64 grace_ns;
};

/**
 * struct kvp_client_list - KVP_OP_CLIENT_LIST: who is attached
 * @head: no flags
 * @entries: out: array of struct kvp_client_entry, may be null
 * @nr_entries: in: room there; out: entries written
 * @total: out: clients that there are to be seen, those among them that died and whose blocks are
 *         in quarantine
 *
 * USE for oneself and the exports one made, ADMIN for all. Errors: EOVERFLOW/COUNT.
 */
struct kvp_client_list {
	struct kvp_head head;
	__u64 entries;
	__u32 nr_entries;
	__u32 total;
};

/**
 * DOC: Events
 *
 * A router that sends requests to where their prefix is cached keeps a mirror of what is
 * published: a set of nodes by block id, each with its parent's. %KVP_EVENT_STORED puts one in,
 * %KVP_EVENT_REMOVED takes one out; so does the block dump, from which a mirror begins.
 *
 * Events speak of contents that a match can walk to, not of single blocks. Contents are stored
 * once, however many publish them, and removed once, when no copy is left in the index:
 * of the same contents, STORED and REMOVED come in turn. REMOVED comes when a reclaim is sure
 * to go through; one that fails and puts its victims back is not told, unless others published
 * equal contents meanwhile (the victims are then removed, and what is put back is stored).
 *
 * %KVP_EVENT_SUBTREE with REMOVED: the node was invalidated and takes along all that follow it,
 * which are not told one by one, and are not told again when they are reclaimed. With @depth 0
 * it is the whole namespace @space. What sequences publish below an invalidated
 * node is not told: no match finds it.
 *
 * In one reclaim a parent may be told before its children. An entry whose parent is missing
 * counts as missing.
 *
 * Events have neither token ids nor digests of contents. Who publishes knows the ids and can
 * compute an identity that is the same on every host; the block id connects the two.
 */

/**
 * enum kvp_event_kind - what has happened to the contents of a node
 * @KVP_EVENT_STORED: matches find them from now on
 * @KVP_EVENT_REMOVED: no match finds them from now on
 * @KVP_EVENT_LEFT: a client ended: it closed, or died; nothing of a node, @client says which
 */
enum kvp_event_kind {
	KVP_EVENT_STORED = 1,
	KVP_EVENT_REMOVED = 2,
	KVP_EVENT_LEFT = 3,
};

/* REMOVED: the node, and all that follow it. */
#define KVP_EVENT_SUBTREE	(1U << 0)

/**
 * struct kvp_event - one event
 * @number: of the event; they grow by one
 * @kind: enum kvp_event_kind
 * @flags: KVP_EVENT_SUBTREE
 * @block: id of the node's first block, in the first DENSE family of the pool (without one: in
 *         the first WINDOW family, KVP_BLOCK_NULL if released there); KVP_BLOCK_NULL of a
 *         namespace
 * @parent: the same of its parent, KVP_BLOCK_NULL at depth 1
 * @node: index of the node, which a later node may have too; KVP_NODE_NONE of a namespace
 * @depth: 1 for the first node of a prefix; 0: the namespace
 * @tokens: tokens of the node (of a namespace: 0)
 * @tag: of the node
 * @space: namespace digest
 * @client: LEFT: its id, else 0
 */
struct kvp_event {
	__u64 number;
	__u32 kind;
	__u32 flags;
	__u64 block;
	__u64 parent;
	__u32 node;
	__u32 depth;
	__u32 tokens;
	__u32 tag;
	__u8 space[KVP_DIGEST_LEN];
	__u64 client;
};

/**
 * struct kvp_events - KVP_OP_EVENTS: what was stored and removed
 * @head: no flags
 * @events: out: array of struct kvp_event, may be null
 * @nr_events: in: room there; out: events written, oldest first
 * @reserved: 0
 * @cursor: in: number of the first event wanted, 0: none that is past; out: of the next one
 * @lost: out: events from @cursor on that were overwritten before they were read
 * @pending: out: events that are left to be read
 *
 * USE. The first call ever on a pool begins to note events and allocates what that takes; it goes
 * on until the pool ends. A pool keeps a bounded number of events, for all readers together:
 * @lost above 0 says that the reader fell behind and must begin anew: forget the mirror, read with
 * @cursor 0, dump the blocks of the family that events name, take in those with @part 0 and a
 * @space that are not invalidated, then follow the events from the cursor read (an event may tell
 * what the dump showed already). What a pool allocates here is not in its metadata_bytes.
 * Errors: EINVAL/VALUE (a cursor beyond the next event), EOVERFLOW/COUNT, ENOMEM/MEMORY.
 */
struct kvp_events {
	struct kvp_head head;
	__u64 events;
	__u32 nr_events;
	__u32 reserved;
	__u64 cursor;
	__u64 lost;
	__u64 pending;
};

/* ---- batch --------------------------------------------------------------- */

/**
 * struct kvp_batch_entry - one call of a batch
 * @op: in: enum kvp_op
 * @len: in: bytes of the struct at @arg, must equal its head.size
 * @arg: in: pointer to the struct of the operation
 * @result: out: 0 or a negative errno
 * @reserved: 0
 */
struct kvp_batch_entry {
	__u32 op;
	__u32 len;
	__u64 arg;
	__s32 result;
	__u32 reserved;
};

/* Entries after one that failed are not executed: their result is ECANCELED. */
#define KVP_BATCH_STOP_ON_ERROR	(1U << 0)
#define KVP_BATCH_FLAGS_ALL	KVP_BATCH_STOP_ON_ERROR

/**
 * struct kvp_batch - KVP_OP_BATCH: several calls in one
 * @head: KVP_BATCH_*
 * @entries: in, out: array of struct kvp_batch_entry
 * @nr_entries: 1..KVP_MAX_BATCH
 * @executed: out: entries that were executed, whatever their result
 *
 * An attached client. In order, not atomic; no batch in a batch, and no
 * operation that attaches, creates or destroys a pool. An id field of an entry
 * may be KVP_REF(k): the id that entry k created. Returns 0 if it ran; each
 * entry has its own result, and the reason in its own struct. If writing the
 * results fails, what was executed stands. Errors: EINVAL or EOVERFLOW/COUNT,
 * EINVAL/FLAG, EINVAL/RESERVED (where = the entry), ENOMEM/MEMORY. Of an entry:
 * ENOTTY/OPERATION, EINVAL (NESTING, BATCH_REF), ECANCELED/EARLIER_ENTRY, and
 * those of the operation.
 */
struct kvp_batch {
	struct kvp_head head;
	__u64 entries;
	__u32 nr_entries;
	__u32 executed;
};

#endif /* _UAPI_LINUX_KVPOOL_H */

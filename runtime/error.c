// SPDX-License-Identifier: MIT
/*
 * What went wrong, in numbers and in words. Owns the calling thread's last error.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* What struct kvp_error.where counts. */
enum where {
	NOWHERE,
	AT_BYTE,	/* of the struct */
	AT_FIELD,	/* the same, if it is behind the struct's head */
	AT_ELEMENT,	/* of an array or batch */
	OF_FAMILY,
	OF_LIMIT,	/* KVP_WHERE_UID or nothing */
	OF_LIMIT_FAMILY,
	NEEDED,
};

struct reason {
	const char *name;
	const char *text;
	enum where where;
};

static const struct reason reasons[] = {
	[KVP_REASON_NONE] = { "none", "no further reason", NOWHERE },
	[KVP_REASON_SIZE] = { "size",
		"wrong size of the call's struct: expected the size of a known version, and zeros after it",
		NOWHERE },
	[KVP_REASON_FLAG] = { "flag",
		"unknown or contradictory flag: expected those that the operation documents",
		NOWHERE },
	[KVP_REASON_RESERVED] = { "reserved",
		"reserved field is not zero: expected 0", AT_BYTE },
	[KVP_REASON_POINTER] = { "pointer",
		"null or inaccessible pointer: expected memory of the stated length", AT_BYTE },
	[KVP_REASON_ALIGNMENT] = { "alignment",
		"misaligned pointer: expected the alignment of the element's largest member",
		AT_BYTE },
	[KVP_REASON_COUNT] = { "count",
		"bad count: expected at least 1, enough room, and at most the contract's limit",
		AT_FIELD },
	[KVP_REASON_NAME] = { "name",
		"bad name: expected 1 to 63 of letters, digits, '.', '_' and '-', and not in use",
		NOWHERE },
	[KVP_REASON_VALUE] = { "value",
		"value out of range: expected one that the operation documents", AT_BYTE },
	[KVP_REASON_FAMILY] = { "family",
		"no such family, or a description that makes none: expected an existing one or sizes above zero",
		OF_FAMILY },
	[KVP_REASON_DUPLICATE] = { "duplicate",
		"named more often than it is held: expected each block at most as often as held",
		AT_ELEMENT },
	[KVP_REASON_OPERATION] = { "operation",
		"unknown operation: expected a number of the contract", NOWHERE },
	[KVP_REASON_NESTING] = { "nesting",
		"operation that cannot be in a batch: expected a single call", AT_ELEMENT },
	[KVP_REASON_BATCH_REF] = { "batch-ref",
		"reference to a batch entry that made nothing: expected an earlier entry that creates an object",
		AT_ELEMENT },
	[KVP_REASON_EXTRA] = { "extra",
		"bad extra digest: expected ascending nodes, each beginning in the call's tokens",
		AT_ELEMENT },
	[KVP_REASON_COPIES] = { "copies",
		"array of copies too short: expected room for all", NEEDED },
	[KVP_REASON_LENGTH] = { "length",
		"length or position outside the sequence: expected one inside", NOWHERE },

	[KVP_REASON_NO_POOL] = { "no-pool",
		"no such pool, or none that these credentials may see: expected the name of one",
		NOWHERE },
	[KVP_REASON_NO_SEQ] = { "no-seq",
		"no such sequence: expected an id that this client made", NOWHERE },
	[KVP_REASON_NO_MATCH] = { "no-match",
		"no such match: expected an id that this client made", NOWHERE },
	[KVP_REASON_NO_BLOCK] = { "no-block",
		"no such block: expected an id of this pool", AT_ELEMENT },
	[KVP_REASON_NO_CLIENT] = { "no-client",
		"no such client: expected the id of one that is attached", NOWHERE },
	[KVP_REASON_NO_BACKING] = { "no-backing",
		"no such backing: expected an index below their number", NOWHERE },
	[KVP_REASON_GENERATION] = { "generation",
		"old id, what it named is gone: expected the id of a living object", AT_ELEMENT },
	[KVP_REASON_NOT_HELD] = { "not-held",
		"block not held by this client: expected one that it has a reference on",
		AT_ELEMENT },
	[KVP_REASON_SEQ_BUSY] = { "seq-busy",
		"another call works on the sequence: expected one call at a time", NOWHERE },
	[KVP_REASON_COPY_PENDING] = { "copy-pending",
		"copies asked for earlier are not made yet: expected them to be acknowledged first",
		NOWHERE },
	[KVP_REASON_ATTACHED] = { "attached",
		"the client has a pool already: expected one without", NOWHERE },
	[KVP_REASON_NOT_ATTACHED] = { "not-attached",
		"the client has no pool: expected one that is attached", NOWHERE },
	[KVP_REASON_POOL_IN_USE] = { "pool-in-use",
		"other clients are attached: expected none, or the flag to force it", NOWHERE },
	[KVP_REASON_POSITION] = { "position",
		"the sequence is not as long as believed: expected the number of tokens it has",
		NOWHERE },
	[KVP_REASON_UNPUBLISHED] = { "unpublished",
		"tokens that are not computed: expected computed ones", AT_ELEMENT },

	[KVP_REASON_REVOKED] = { "revoked",
		"the export was revoked: expected one that is not", NOWHERE },
	[KVP_REASON_STAGED] = { "staged",
		"the pool's maker has not said that it is ready: expected to be asked again later",
		NOWHERE },
	[KVP_REASON_NO_EXPORT] = { "no-export",
		"no such export, or another client's: expected the id of one that this client may revoke",
		NOWHERE },
	[KVP_REASON_NO_TIMELINE] = { "no-timeline",
		"no such timeline: expected the index of one that this client made", AT_ELEMENT },
	[KVP_REASON_NO_TICKET] = { "no-ticket",
		"no such ticket: expected the id of one that this client has", NOWHERE },
	[KVP_REASON_FENCE_OPEN] = { "fence-open",
		"work that may touch it has not ended: expected its fence to have passed",
		NOWHERE },
	[KVP_REASON_FENCE_PASSED] = { "fence-passed",
		"the timeline has that value already: expected a greater one, and a use to be said before its work is launched",
		AT_ELEMENT },
	[KVP_REASON_FENCE_AHEAD] = { "fence-ahead",
		"value beyond what was announced: expected at most the greatest that a use said",
		AT_ELEMENT },
	[KVP_REASON_SHARED] = { "shared",
		"rows to be written are published, or others hold them: expected rows that only this sequence has",
		AT_ELEMENT },
	[KVP_REASON_NOT_GRANTED] = { "not-granted",
		"the ticket still waits: expected one that is granted", NOWHERE },
	[KVP_REASON_REMAP_OPEN] = { "remap-open",
		"the sequence is being remapped: expected the remap to be committed or aborted",
		NOWHERE },
	[KVP_REASON_NO_REMAP] = { "no-remap",
		"no remap of the sequence is open: expected one that was begun", NOWHERE },

	[KVP_REASON_RIGHT_USE] = { "right-use",
		"the client lacks the right to use blocks: expected 'use'", NOWHERE },
	[KVP_REASON_RIGHT_PUBLISH] = { "right-publish",
		"the client lacks the right to publish: expected 'publish'", NOWHERE },
	[KVP_REASON_RIGHT_ADMIN] = { "right-admin",
		"the client lacks the right to administer the pool: expected 'admin'", NOWHERE },
	[KVP_REASON_PERSISTENT] = { "persistent",
		"may not make persistent pools: expected a privileged caller", NOWHERE },

	[KVP_REASON_POOL_FULL] = { "pool-full",
		"the pool is full now: expected enough free or idle blocks", OF_FAMILY },
	[KVP_REASON_COVERED] = { "covered",
		"idle blocks would do, but what follows them is in use: expected reclaimable blocks",
		OF_FAMILY },
	[KVP_REASON_GUARANTEED] = { "guaranteed",
		"what is left is guaranteed to other clients: expected blocks beyond the guarantees",
		OF_FAMILY },
	[KVP_REASON_NEVER_FITS] = { "never-fits",
		"more than the pool has in all: expected at most its blocks", OF_FAMILY },
	[KVP_REASON_NODES] = { "nodes",
		"no index node is left: expected a free or reclaimable one", NOWHERE },
	[KVP_REASON_EXTRAS] = { "extras",
		"no room for a digest is left: expected a free or reclaimable one", NOWHERE },
	[KVP_REASON_MEMORY] = { "memory",
		"no memory for metadata: expected the system to have some", NOWHERE },
	[KVP_REASON_LIMIT_BLOCKS] = { "limit-blocks",
		"over the client's limit of blocks: expected fewer", OF_LIMIT_FAMILY },
	[KVP_REASON_LIMIT_SLOTS] = { "limit-slots",
		"over the client's limit of table slots: expected fewer", OF_LIMIT },
	[KVP_REASON_LIMIT_SEQS] = { "limit-seqs",
		"over the client's limit of sequences: expected fewer", OF_LIMIT },
	[KVP_REASON_LIMIT_MATCHES] = { "limit-matches",
		"over the client's limit of open matches: expected fewer", OF_LIMIT },
	[KVP_REASON_LIMIT_METADATA] = { "limit-metadata",
		"over the client's limit of metadata: expected fewer or shorter objects",
		OF_LIMIT },
	[KVP_REASON_LIMIT_RAW] = { "limit-raw",
		"over the client's limit of raw references: expected fewer", OF_LIMIT },
	[KVP_REASON_LIMIT_CLIENTS] = { "limit-clients",
		"the pool has as many clients, or users, as it can: expected fewer", NOWHERE },
	[KVP_REASON_LIMIT_EXPORTS] = { "limit-exports",
		"over the client's limit of exports: expected fewer", OF_LIMIT },
	[KVP_REASON_LIMIT_BACKINGS] = { "limit-backings",
		"over the client's limit of backing descriptors: expected fewer", OF_LIMIT },
	[KVP_REASON_LIMIT_POOLS] = { "limit-pools",
		"over this host's limit of pools or of their metadata: expected fewer or smaller ones",
		OF_LIMIT },
	[KVP_REASON_LIMIT_TIMELINES] = { "limit-timelines",
		"the client has as many timelines as there can be: expected fewer than 64", NOWHERE },
	[KVP_REASON_LIMIT_TICKETS] = { "limit-tickets",
		"over the client's limit of tickets: expected fewer", OF_LIMIT },
	[KVP_REASON_HELD_BACK] = { "held-back",
		"blocks that are held back would do, but work may still touch them: expected free or idle blocks",
		OF_FAMILY },
	[KVP_REASON_QUEUED] = { "queued",
		"others wait for blocks with tickets: expected to wait in turn with a ticket, too",
		OF_FAMILY },

	[KVP_REASON_DOOR] = { "door",
		"this way to the pool cannot do that: expected another door or kernel", NOWHERE },
	[KVP_REASON_STATE_FAMILY] = { "state-family",
		"accumulated state has no rows of tokens: expected a dense or window family",
		OF_FAMILY },
	[KVP_REASON_WINDOW_RELEASED] = { "window-released",
		"rows were let go by their window: expected later ones", OF_FAMILY },
	[KVP_REASON_INVALIDATED] = { "invalidated",
		"the namespace was invalidated since the sequence began: expected a newer sequence",
		NOWHERE },
	[KVP_REASON_SEAL] = { "seal",
		"unfit backing: expected a file of the stated kind and size, with the seals it needs",
		NOWHERE },
	[KVP_REASON_DESTROYED] = { "destroyed",
		"the pool was destroyed: expected a living one", NOWHERE },
	[KVP_REASON_EARLIER_ENTRY] = { "earlier-entry",
		"not executed, an earlier entry of the batch failed: expected that one to succeed",
		AT_ELEMENT },
	[KVP_REASON_CLIENT_DEAD] = { "client-dead",
		"the client ended with its mapping of the timelines: expected one that is alive",
		NOWHERE },
	[KVP_REASON_FOREIGN] = { "foreign",
		"the export is of another pool: expected one of this client's pool", NOWHERE },
	[KVP_REASON_MAKER_DEAD] = { "maker-dead",
		"the export's maker died, or gave them up, while rows of it were being written: expected complete ones",
		NOWHERE },
	[KVP_REASON_TAINTED] = { "tainted",
		"tokens that do not stand, or were not computed, as their identity says: expected a limit at most where these begin",
		NOWHERE },
	[KVP_REASON_ATTENDED] = { "attended",
		"rows would not be those of a run that never saw what is removed: expected to remove the end only, or to recompute what follows",
		NOWHERE },
	[KVP_REASON_NAMESPACE] = { "namespace",
		"pieces are of several namespaces: expected those of the sequence's own", AT_ELEMENT },
};

static const struct {
	int err;
	const char *text;
} errnos[] = {
	{ EINVAL, "malformed call: expected known flags, zeros where reserved, values in range" },
	{ E2BIG, "struct too large: expected at most a page, and zeros after the known part" },
	{ EFAULT, "pointer that cannot be read or written: expected accessible memory" },
	{ EOVERFLOW, "count or length too large: expected at most the contract's limit" },
	{ ENOTTY, "unknown operation: expected a number of the contract" },
	{ EOPNOTSUPP, "not possible with this family, door or kernel: expected one that can" },
	{ ENOENT, "unknown id or name: expected an existing one" },
	{ ESTALE, "id of something that is gone or was revoked: expected a living one" },
	{ EBUSY, "wrong state, or another call works on it: expected it to be at rest" },
	{ EEXIST, "the name is taken: expected a new one" },
	{ EPERM, "not the owner of what the id names: expected one's own" },
	{ EACCES, "a right is lacking: expected a client that has it" },
	{ EDQUOT, "over a limit of the client: expected less" },
	{ ENOSPC, "the pool is full now: expected room" },
	{ EFBIG, "can never fit into this pool: expected less" },
	{ ENOMEM, "out of memory: expected the system to have some" },
	{ EKEYREJECTED, "forbidden by identity or seal: expected ones that agree" },
	{ EIO, "the pool was destroyed or its backing is lost: expected a living one" },
	{ EOWNERDEAD, "the owner died, the contents are suspect: expected a living owner" },
	{ ECANCELED, "not executed, something earlier failed: expected it to succeed" },
};

/* The last error of the thread. */
static _Thread_local struct {
	struct kvp_error error;
	const char *op;		/* operation of which the text is not made yet, or NULL */
} last;

const char *kvp_version(void)
{
	return KVP_VERSION;
}

static const struct reason *reason_of(uint32_t reason)
{
	if (reason >= KVP_ARRAY_SIZE(reasons) || !reasons[reason].name)
		return NULL;
	return &reasons[reason];
}

const char *kvp_reason_name(uint32_t reason)
{
	const struct reason *known = reason_of(reason);

	return known ? known->name : "unknown";
}

static const char *errno_text(int err)
{
	const char *text;
	size_t i;

	if (!err)
		return "success";
	/* The lowest int has no opposite, and is no errno either. */
	if (err < 0 && err > INT_MIN)
		err = -err;
	for (i = 0; i < KVP_ARRAY_SIZE(errnos); i++) {
		if (errnos[i].err == err)
			return errnos[i].text;
	}
	text = strerrordesc_np(err);
	return text ? text : "unknown error";
}

const char *kvp_strerror(int err, uint32_t reason)
{
	const struct reason *known = reason ? reason_of(reason) : NULL;

	return known ? known->text : errno_text(err);
}

int kvp_error_set(int err, uint32_t reason, uint32_t where, const char *fmt, ...)
{
	va_list args;

	last.error.err = err;
	last.error.reason = reason;
	last.error.where = where;
	last.op = NULL;
	va_start(args, fmt);
	vsnprintf(last.error.text, sizeof(last.error.text), fmt, args);
	va_end(args);
	return err;
}

int kvp_error_call(int err, uint32_t op, const struct kvp_head *head)
{
	const char *name = kvp_op_name(op);

	/* Of an operation that there is not, the core does not even look at the struct. */
	last.error.err = err;
	last.error.reason = name ? head->reason : KVP_REASON_OPERATION;
	last.error.where = name ? head->where : 0;
	last.op = name ? name : "call";
	return err;
}

/* Where it was, in words; empty where there is no place. */
static void make_place(char *text, size_t size, enum where kind, uint32_t where)
{
	switch (kind) {
	case AT_FIELD:
		if (where < sizeof(struct kvp_head))
			break;
		/* fallthrough */
	case AT_BYTE:
		snprintf(text, size, " (at byte %u of the struct)", where);
		return;
	case AT_ELEMENT:
		snprintf(text, size, " (element %u)", where);
		return;
	case OF_FAMILY:
	case OF_LIMIT_FAMILY:
		snprintf(text, size, " (family %u)", where & ~KVP_WHERE_UID);
		return;
	case NEEDED:
		snprintf(text, size, " (%u needed)", where);
		return;
	case OF_LIMIT:
	case NOWHERE:
		break;
	}
	text[0] = '\0';
}

/* Texts of limits speak of the client's; of a uid's they say so instead. */
static int client_words(const char *text, enum where kind, uint32_t where)
{
	static const char words[] = "the client's ";
	const char *at;

	if ((kind != OF_LIMIT && kind != OF_LIMIT_FAMILY) || !(where & KVP_WHERE_UID))
		return -1;
	at = strstr(text, words);
	return at ? (int)(at - text) : -1;
}

static void make_text(struct kvp_error *error, const char *op)
{
	const struct reason *known = reason_of(error->reason);
	enum where kind = known ? known->where : NOWHERE;
	const char *text = kvp_strerror(error->err, error->reason);
	const char *name = strerrorname_np(-error->err);
	int client = client_words(text, kind, error->where);
	char place[48];

	make_place(place, sizeof(place), kind, error->where);
	if (client < 0)
		snprintf(error->text, sizeof(error->text), "%s: %s: %s%s", op,
			 name ? name : "error", text, place);
	else
		snprintf(error->text, sizeof(error->text), "%s: %s: %.*sthe uid's %s%s", op,
			 name ? name : "error", client, text,
			 text + client + strlen("the client's "), place);
}

const struct kvp_error *kvp_error(void)
{
	if (last.op) {
		make_text(&last.error, last.op);
		last.op = NULL;
	}
	return &last.error;
}

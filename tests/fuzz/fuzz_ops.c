// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: bytes become a stream of operations through kvp_call(), with structs that
 * are partly right and partly garbage. Sizes, flags and arrays follow the core's own
 * table (kvp_op_find()), so that a new operation is fuzzed without a line here; fuzz_fields
 * only says which values of a field are interesting.
 *
 * The caller's memory is one arena. The door to it (fuzz_door.h) refuses what lies outside with
 * EFAULT, as a kernel would, and hands out exact copies, so that ASan sees a core that reads or
 * writes one element too many. Timelines are written in their page, too, as whoever maps it may
 * do at any time.
 *
 * Checked after every call: a failure has a known errno and a reason, and has changed no counter.
 * Every FUZZ_AUDIT calls, and at the end: the audit finds nothing.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz_door.h"

#define FUZZ_CLIENTS	4		/* client 0 owns the pool, audits and lives to the end */
#define FUZZ_STEPS	256		/* calls of one input at most */
#define FUZZ_AUDIT	32
#define FUZZ_IDS	64		/* remembered of each kind, power of two */
#define FUZZ_MAX_NR	48		/* elements of an honest array */
#define FUZZ_TIMELINES	3		/* that are mostly used */

/* ---- what the run knows ---- */

struct fuzz_ring {
	u64 id[FUZZ_IDS];
	u32 nr;
};

static struct kvp_host fuzz_host;
static struct kvp_client *fuzz_client[FUZZ_CLIENTS];
static struct fuzz_ring fuzz_objects, fuzz_blocks;	/* sequences and matches; blocks */

/* Mostly the same client, so that it comes to something. */
static struct kvp_client *fuzz_pick_client(void)
{
	u8 pick = fuzz_byte();

	return fuzz_client[pick & 4 ? 1 : pick % FUZZ_CLIENTS];
}

static void fuzz_remember(struct fuzz_ring *ring, u64 id)
{
	if (id)
		ring->id[ring->nr++ % FUZZ_IDS] = id;
}

/* An id of @ring, now and then one that was changed a little. */
static u64 fuzz_id(const struct fuzz_ring *ring)
{
	u8 pick = fuzz_byte();
	u64 id = ring->id[pick % FUZZ_IDS];

	/* New ids are more interesting than old ones. */
	if (ring->nr)
		id = ring->id[(ring->nr - 1 - pick % min_t(u32, ring->nr, 8)) % FUZZ_IDS];
	if (fuzz_rarely(16))
		id ^= 1ULL << (fuzz_byte() % 64);
	return id;
}

/* ---- fields ---- */

enum fuzz_kind {
	FUZZ_NAME,		/* of one of a few pools */
	FUZZ_SPACE,
	FUZZ_SMALL,		/* a length, a tag, a count */
	FUZZ_POSITION,
	FUZZ_FAMILY,
	FUZZ_OBJECT,		/* a sequence or a match */
	FUZZ_BLOCK,
	FUZZ_WHO,		/* a client */
	FUZZ_LIMIT,
	FUZZ_MASK,		/* which limits */
	FUZZ_FD,
	FUZZ_BITS,
	FUZZ_TIMELINE,
	FUZZ_FENCE,		/* a value of a timeline */
};

struct fuzz_field {
	u16 op;
	u16 offset;
	u16 size;
	u16 kind;
};

#define FUZZ(op_, type, member, kind_) {					\
	.op = KVP_OP_##op_, .offset = offsetof(struct type, member),		\
	.size = sizeof(((struct type *)0)->member), .kind = FUZZ_##kind_,	\
}

static const struct fuzz_field fuzz_fields[] = {
	FUZZ(POOL_CREATE, kvp_pool_create, name, NAME),
	FUZZ(POOL_CREATE, kvp_pool_create, mode, BITS),
	FUZZ(POOL_CREATE, kvp_pool_create, index_tokens, SMALL),
	FUZZ(POOL_CREATE, kvp_pool_create, nodes, SMALL),
	FUZZ(POOL_CREATE, kvp_pool_create, extras, SMALL),
	FUZZ(POOL_ATTACH, kvp_pool_attach, name, NAME),
	FUZZ(POOL_ATTACH, kvp_pool_attach, wanted, BITS),
	FUZZ(POOL_DESTROY, kvp_pool_destroy, name, NAME),
	FUZZ(LIMIT, kvp_limit, client, WHO),
	FUZZ(LIMIT, kvp_limit, mask, MASK),
	FUZZ(LIMIT, kvp_limit, family, FAMILY),
	FUZZ(LIMIT, kvp_limit, blocks, LIMIT),
	FUZZ(LIMIT, kvp_limit, guarantee, SMALL),
	FUZZ(LIMIT, kvp_limit, slots, LIMIT),
	FUZZ(LIMIT, kvp_limit, seqs, LIMIT),
	FUZZ(LIMIT, kvp_limit, raw, LIMIT),
	FUZZ(LIMIT, kvp_limit, matches, LIMIT),
	FUZZ(LIMIT, kvp_limit, metadata_bytes, LIMIT),
	FUZZ(LIMIT, kvp_limit, exports, LIMIT),
	FUZZ(LIMIT, kvp_limit, backings, LIMIT),
	FUZZ(BACKING_ADD, kvp_backing, fd, BITS),
	FUZZ(BACKING_ADD, kvp_backing, kind, BITS),
	FUZZ(BACKING_ADD, kvp_backing, length, SMALL),
	FUZZ(BACKING_GET, kvp_backing, index, BITS),
	FUZZ(BLOCK_ALLOC, kvp_block_alloc, family, FAMILY),
	FUZZ(BLOCK_REF, kvp_block_refs, holder, OBJECT),
	FUZZ(BLOCK_REF, kvp_block_refs, first, BITS),
	FUZZ(BLOCK_MAKE_PRIVATE, kvp_block_make_private, block, BLOCK),
	FUZZ(SEQ_CREATE, kvp_seq_create, space, SPACE),
	FUZZ(SEQ_CREATE, kvp_seq_create, match_limit, BITS),
	FUZZ(SEQ_CREATE, kvp_seq_create, reserve, BITS),
	FUZZ(SEQ_APPEND, kvp_seq_append, position, POSITION),
	FUZZ(SEQ_APPEND, kvp_seq_append, reserve, BITS),
	FUZZ(SEQ_SET_TOKENS, kvp_seq_set_tokens, position, POSITION),
	FUZZ(SEQ_ADVANCE, kvp_seq_advance, computed, SMALL),
	FUZZ(SEQ_FORK, kvp_seq_fork, tokens, POSITION),
	FUZZ(SEQ_TRUNCATE, kvp_seq_truncate, tokens, SMALL),
	FUZZ(SEQ_TABLE, kvp_seq_table, family, FAMILY),
	FUZZ(SEQ_TABLE, kvp_seq_table, first, BITS),
	FUZZ(SEQ_IMPORT, kvp_seq_import, fd, FD),
	FUZZ(EXPORT_REVOKE, kvp_export_revoke, export_id, SMALL),
	FUZZ(PREFIX_MATCH, kvp_prefix_match, space, SPACE),
	FUZZ(PREFIX_MATCH, kvp_prefix_match, family, FAMILY),
	FUZZ(PREFIX_PUBLISH, kvp_prefix_publish, limit, BITS),
	FUZZ(PREFIX_PUBLISH, kvp_prefix_publish, tag, BITS),
	FUZZ(PREFIX_INVALIDATE, kvp_prefix_invalidate, space, SPACE),
	FUZZ(PREFIX_INVALIDATE, kvp_prefix_invalidate, tag, BITS),
	FUZZ(PREFIX_RECLAIM, kvp_prefix_reclaim, nodes, SMALL),
	FUZZ(LIMIT, kvp_limit, tickets, LIMIT),
	FUZZ(POOL_CREATE, kvp_pool_create, grace_ms, BITS),
	FUZZ(SIGNAL, kvp_signal, timeline, TIMELINE),
	FUZZ(SIGNAL, kvp_signal, value, FENCE),
	FUZZ(REAP, kvp_reap, client, WHO),
	FUZZ(ADMIT, kvp_admit, ticket, OBJECT),
	FUZZ(STATS, kvp_stats, client, WHO),
	FUZZ(BLOCK_DUMP, kvp_block_dump, family, FAMILY),
	FUZZ(BLOCK_DUMP, kvp_block_dump, cursor, SMALL),
	FUZZ(EVENTS, kvp_events, cursor, SMALL),
	FUZZ(REMAP_BEGIN, kvp_remap_begin, reserve, BITS),
	FUZZ(REMAP_MOVES, kvp_remap_moves, family, FAMILY),
	FUZZ(REMAP_MOVES, kvp_remap_moves, first, BITS),
};

/* The values of all timelines are near it: some have passed, some are ahead. */
static u64 fuzz_fence;

static void fuzz_digest(u8 *digest, u8 number)
{
	memset(digest, number, KVP_DIGEST_LEN);
}

static u64 fuzz_value(enum fuzz_kind kind)
{
	u8 pick = fuzz_byte();

	switch (kind) {
	case FUZZ_POSITION:
		return pick & 3 ? KVP_POS_END : pick >> 2;
	case FUZZ_FAMILY:
		return pick < 192 ? 0 : pick % 4;
	case FUZZ_OBJECT:
		return pick & 1 ? fuzz_id(&fuzz_objects) : 0;
	case FUZZ_BLOCK:
		return fuzz_id(&fuzz_blocks);
	case FUZZ_WHO:
		return pick & 1 ? KVP_STATS_SELF : (pick >> 1) % 8;
	case FUZZ_LIMIT:
		return pick & 7 ? KVP_UNLIMITED : pick >> 3;
	case FUZZ_MASK:
		return pick & 1 ? 0x3c0 : (pick >> 1) & 0x3f;
	case FUZZ_FD:
		return FUZZ_FIRST_FD + pick % (FUZZ_EXPORTS + 1);
	case FUZZ_BITS:
		return pick & 1 ? 0 : (pick >> 1) & 0x3f;
	case FUZZ_TIMELINE:
		return pick < 240 ? pick % FUZZ_TIMELINES : pick;
	case FUZZ_FENCE:
		return fuzz_fence += pick & 3;
	default:
		return pick & 0x3f;
	}
}

static void fuzz_put(u8 *at, u32 size, u64 value)
{
	memcpy(at, &value, size);	/* the low bytes: little-endian */
}

static void fuzz_fill_fields(u32 nr, u8 *arg)
{
	const struct fuzz_field *field;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fuzz_fields); i++) {
		field = &fuzz_fields[i];
		if (field->op != nr)
			continue;
		if (field->kind == FUZZ_NAME)
			snprintf((char *)arg + field->offset, field->size, "p%u",
				 fuzz_byte() % 3);
		else if (field->kind == FUZZ_SPACE)
			fuzz_digest(arg + field->offset, fuzz_byte() % 3);
		else
			fuzz_put(arg + field->offset, field->size, fuzz_value(field->kind));
	}
}

/* ---- arrays ---- */

/* Ids of which few differ: all of a prompt from one byte of the input. */
static void fuzz_tokens(u32 *tokens, u32 nr, u8 bits)
{
	u32 i;

	for (i = 0; i < nr; i++)
		tokens[i] = bits >> i % 8 & i >> 2 & 1;
}

static void fuzz_family(struct kvp_family_desc *desc)
{
	u8 pick = fuzz_byte();

	desc->kind = 1 + pick % 3;
	desc->block_tokens = desc->kind == KVP_FAMILY_STATE ? 1 : 1 << (pick >> 2) % 4;
	desc->blocks = 1 + fuzz_byte() % 32;
	desc->block_bytes = 64;
	if (desc->kind == KVP_FAMILY_WINDOW)
		desc->window = 1 + fuzz_byte() % 12;
	if (fuzz_rarely(16))
		((u8 *)desc)[fuzz_byte() % sizeof(*desc)] ^= 1 << (fuzz_byte() % 8);
	/* A pool of many blocks is right, but not for a fuzzer's memory. */
	if (desc->blocks > 64 && desc->blocks <= KVP_MAX_BLOCKS)
		desc->blocks = 64;
}

/* Mostly of a sequence, that writes somewhere, or reads. */
static void fuzz_use(struct kvp_use_entry *entry)
{
	u8 pick = fuzz_byte();

	entry->kind = pick & 3 ? KVP_USE_SEQ : KVP_USE_BLOCK;
	if ((pick & 0x1b) == 0x1b)
		entry->kind = KVP_USE_REMAP;
	entry->timeline = fuzz_value(FUZZ_TIMELINE);
	entry->value = fuzz_value(FUZZ_FENCE);
	entry->id = fuzz_id(entry->kind == KVP_USE_BLOCK ? &fuzz_blocks : &fuzz_objects);
	if (entry->kind != KVP_USE_SEQ)
		return;
	entry->write_from = pick & 4 ? KVP_POS_END : pick >> 5;
	if (!(pick & 4))
		entry->computed_to = entry->write_from + (fuzz_byte() & 15);
	if (fuzz_rarely(16))
		((u8 *)entry)[fuzz_byte() % sizeof(*entry)] ^= 1 << (fuzz_byte() % 8);
}

/* Mostly of the sequence that is remapped. */
static void fuzz_piece(const struct kvp_remap_begin *arg, struct kvp_piece *piece)
{
	u8 pick = fuzz_byte();

	piece->seq = pick & 3 ? arg->seq : fuzz_id(&fuzz_objects);
	piece->from = fuzz_byte() & 0x1f;
	piece->length = 1 + (fuzz_byte() & 0xf);
	piece->positions = pick & 4 ? (pick >> 3) % 3 : KVP_PIECE_INDEX;
	if (piece->positions == KVP_PIECE_AT)
		piece->position = fuzz_byte();
	if (pick >> 5 == 7)
		piece->flags = KVP_PIECE_RECOMPUTE;
	if (fuzz_rarely(16))
		((u8 *)piece)[fuzz_byte() % sizeof(*piece)] ^= 1 << (fuzz_byte() % 8);
}

static void fuzz_element(u32 nr, const struct kvp_array_desc *desc, const u8 *arg, u8 *at)
{
	struct kvp_admit_need *need = (void *)at;
	struct kvp_fence *fence = (void *)at;
	struct kvp_extra *extra = (void *)at;

	if (nr == KVP_OP_POOL_CREATE) {
		fuzz_family((void *)at);
	} else if (nr == KVP_OP_USE) {
		fuzz_use((void *)at);
	} else if (nr == KVP_OP_REMAP_BEGIN) {
		fuzz_piece((const void *)arg, (void *)at);
	} else if (nr == KVP_OP_QUERY) {
		fence->timeline = fuzz_value(FUZZ_TIMELINE);
		fence->value = fuzz_value(FUZZ_FENCE);
	} else if (nr == KVP_OP_ADMIT) {
		need->family = fuzz_value(FUZZ_FAMILY);
		need->blocks = fuzz_byte() & 15;
	} else if (desc->elem == sizeof(u64)) {
		fuzz_put(at, sizeof(u64), fuzz_id(&fuzz_blocks));
	} else if (desc->elem == sizeof(*extra)) {
		extra->node = fuzz_byte() & 3;
		fuzz_digest(extra->digest, fuzz_byte() & 1);
	}
}

/* How an array is wrong. */
static void fuzz_spoil_array(const struct kvp_array_desc *desc, u8 *arg)
{
	u64 end = (u64)(uintptr_t)fuzz_arena + FUZZ_ARENA;

	switch (fuzz_byte() % 6) {
	case 0:
		fuzz_put(arg + desc->ptr, 8, 0);
		break;
	case 1:
		fuzz_put(arg + desc->ptr, 8, (u64)(uintptr_t)fuzz_arena + 1);
		break;
	case 2:
		fuzz_put(arg + desc->ptr, 8, end - desc->elem);	/* the second is outside */
		break;
	case 3:
		fuzz_put(arg + desc->ptr, 8, fuzz_u64());
		break;
	case 4:
		fuzz_put(arg + desc->nr, 4, desc->max + (fuzz_byte() & 1));
		break;
	default:
		fuzz_put(arg + desc->nr, 4, fuzz_u64());
	}
}

static void fuzz_fill_array(u32 nr, const struct kvp_array_desc *desc, u8 *arg)
{
	u32 count = fuzz_byte() % FUZZ_MAX_NR;
	u8 *mem;
	u32 i;

	/* What costs bytes of the input is short. */
	if (desc->dir != KVP_ARRAY_OUT && desc->elem != sizeof(u32))
		count %= 4;
	if (desc->dir != KVP_ARRAY_IN && desc->optional && fuzz_rarely(4))
		count = 0;
	if (desc->elem == sizeof(struct kvp_extra) && !fuzz_rarely(8))
		count = 0;
	if (!count)
		return;
	mem = fuzz_room((size_t)count * desc->elem);
	fuzz_put(arg + desc->ptr, 8, (u64)(uintptr_t)mem);
	fuzz_put(arg + desc->nr, 4, count);
	if (desc->dir == KVP_ARRAY_OUT)
		return;
	if (desc->elem == sizeof(u32)) {
		fuzz_tokens((u32 *)mem, count, fuzz_byte());
		return;
	}
	for (i = 0; i < count; i++)
		fuzz_element(nr, desc, arg, mem + (size_t)i * desc->elem);
}

/* ---- calls ---- */

/* One call of the stream: a struct in the arena. */
struct fuzz_call {
	u32 nr;
	u32 len;
	const struct kvp_op_desc *op;
	u8 *arg;
};

static const u8 fuzz_ops[] = {
	KVP_OP_SEQ_CREATE, KVP_OP_SEQ_APPEND, KVP_OP_SEQ_SET_TOKENS, KVP_OP_SEQ_ADVANCE,
	KVP_OP_SEQ_COPIED, KVP_OP_SEQ_FORK, KVP_OP_SEQ_TRUNCATE, KVP_OP_SEQ_FREE,
	KVP_OP_SEQ_TABLE, KVP_OP_PREFIX_MATCH, KVP_OP_PREFIX_RELEASE,
	KVP_OP_PREFIX_PUBLISH, KVP_OP_PREFIX_INVALIDATE, KVP_OP_PREFIX_RECLAIM,
	KVP_OP_BLOCK_ALLOC, KVP_OP_BLOCK_REF, KVP_OP_BLOCK_UNREF,
	KVP_OP_BLOCK_MAKE_PRIVATE, KVP_OP_LIMIT, KVP_OP_STATS, KVP_OP_AUDIT,
	KVP_OP_BLOCK_DUMP, KVP_OP_CLIENT_LIST, KVP_OP_ABI, KVP_OP_POOL_CREATE,
	KVP_OP_POOL_ATTACH, KVP_OP_POOL_INFO, KVP_OP_POOL_LIST, KVP_OP_POOL_DESTROY,
	KVP_OP_BACKING_ADD, KVP_OP_BACKING_GET, KVP_OP_BATCH,
};

/* Behind the others, so that what is kept of inputs means what it meant. */
static const u8 fuzz_later_ops[] = {
	KVP_OP_SEQ_EXPORT, KVP_OP_SEQ_IMPORT, KVP_OP_EXPORT_REVOKE, KVP_OP_EVENTS,
	KVP_OP_SEQ_EXPORT, KVP_OP_SEQ_IMPORT, KVP_OP_POOL_READY,
};

/* The same. */
static const u8 fuzz_fence_ops[] = {
	KVP_OP_TIMELINE_CREATE, KVP_OP_USE, KVP_OP_USE, KVP_OP_SIGNAL, KVP_OP_QUERY,
	KVP_OP_ADMIT, KVP_OP_ADMIT, KVP_OP_REAP,
};

/* The same. */
static const u8 fuzz_remap_ops[] = {
	KVP_OP_REMAP_BEGIN, KVP_OP_REMAP_BEGIN, KVP_OP_REMAP_BEGIN, KVP_OP_REMAP_MOVES,
	KVP_OP_REMAP_COMMIT, KVP_OP_REMAP_COMMIT, KVP_OP_REMAP_ABORT, KVP_OP_SEQ_POSITIONS,
};

#define FUZZ_REMAPS	232
#define FUZZ_LATER	240
#define FUZZ_FENCES	248

static u32 fuzz_op(u8 pick)
{
	if (pick < FUZZ_REMAPS)
		return fuzz_ops[pick % ARRAY_SIZE(fuzz_ops)];
	if (pick < FUZZ_LATER)
		return fuzz_remap_ops[pick % ARRAY_SIZE(fuzz_remap_ops)];
	if (pick < FUZZ_FENCES)
		return fuzz_later_ops[pick % ARRAY_SIZE(fuzz_later_ops)];
	return fuzz_fence_ops[pick % ARRAY_SIZE(fuzz_fence_ops)];
}

static void fuzz_set_size(struct fuzz_call *call, u32 size)
{
	struct kvp_head *head = (void *)call->arg;

	call->len = size;
	head->size = size;
}

static void fuzz_spoil_struct(struct fuzz_call *call)
{
	struct kvp_head *head = (void *)call->arg;
	const u32 size = call->op->size;

	switch (fuzz_byte() % 8) {
	case 0:
		fuzz_set_size(call, call->op->min_size);
		break;
	case 1:
		fuzz_set_size(call, fuzz_byte());
		break;
	case 2:
		fuzz_set_size(call, size + 8);		/* a tail of zeros */
		break;
	case 3:
		fuzz_set_size(call, size + 8);
		call->arg[size + fuzz_byte() % 8] = fuzz_byte();
		break;
	case 4:
		fuzz_set_size(call, fuzz_u64());
		break;
	case 5:
		head->flags = fuzz_u64();
		break;
	case 6:
		head->size += fuzz_byte();			/* not what @len says */
		break;
	default:
		call->arg[fuzz_byte() % size] ^= 1 << (fuzz_byte() % 8);
	}
}

/* A struct for operation @nr; @entry: of the batch that it will be part of, or 0. */
static void fuzz_build(struct fuzz_call *call, u32 nr, u32 entry)
{
	struct kvp_head *head;
	u32 i;

	call->nr = nr;
	call->op = kvp_op_find(nr);
	if (!call->op) {
		call->len = sizeof(*head);
		call->arg = fuzz_room(call->len);
		((struct kvp_head *)call->arg)->size = call->len;
		return;
	}
	call->len = call->op->size;
	call->arg = fuzz_room(call->len + 8);
	head = (void *)call->arg;
	head->size = call->len;
	/* Flags are often alone, sometimes none, sometimes together. */
	head->flags = call->op->flags & fuzz_byte();
	fuzz_fill_fields(nr, call->arg);
	if (call->op->id && entry && fuzz_rarely(2))
		fuzz_put(call->arg + call->op->id, 8, KVP_REF(fuzz_byte() % (entry + 1)));
	else if (call->op->id && nr != KVP_OP_BLOCK_MAKE_PRIVATE && nr != KVP_OP_BLOCK_REF)
		fuzz_put(call->arg + call->op->id, 8, fuzz_id(&fuzz_objects));
	for (i = 0; i < call->op->nr_arrays; i++) {
		if (nr == KVP_OP_BATCH)
			break;
		fuzz_fill_array(nr, &call->op->array[i], call->arg);
		if (fuzz_rarely(32))
			fuzz_spoil_array(&call->op->array[i], call->arg);
	}
	if (fuzz_rarely(16))
		fuzz_spoil_struct(call);
}

/* Room of new pools has to stay small whatever was spoiled. */
static bool fuzz_too_large(const struct fuzz_call *call)
{
	const struct kvp_pool_create *create = (void *)call->arg;
	const struct kvp_family_desc *family;
	u32 i;

	if (call->nr != KVP_OP_POOL_CREATE)
		return false;
	if (create->nodes > 4096 || create->extras > 4096 || create->index_tokens > 4096)
		return true;
	for (i = 0; i < create->nr_families && i < KVP_MAX_FAMILIES; i++) {
		family = (void *)(uintptr_t)(create->families + i * sizeof(*family));
		if (!fuzz_inside((u64)(uintptr_t)family, sizeof(*family)))
			return false;
		if ((uintptr_t)family % 8)
			return false;
		if ((family->blocks > 64 && family->blocks <= KVP_MAX_BLOCKS) ||
		    family->block_tokens > 64)
			return true;
	}
	return false;
}

/* What a call that went well has made or shown. */
static void fuzz_harvest(const struct fuzz_call *call)
{
	const struct kvp_array_desc *desc;
	u64 addr, id;
	u32 i, k, nr;

	if (call->op->made && call->len >= call->op->size) {
		memcpy(&id, call->arg + call->op->made, sizeof(id));
		fuzz_remember(call->nr == KVP_OP_BLOCK_MAKE_PRIVATE ? &fuzz_blocks :
			      &fuzz_objects, id);
	}
	for (i = 0; i < call->op->nr_arrays && call->nr != KVP_OP_BATCH; i++) {
		desc = &call->op->array[i];
		if (desc->dir != KVP_ARRAY_OUT || desc->elem != sizeof(u64))
			continue;
		memcpy(&addr, call->arg + desc->ptr, sizeof(addr));
		memcpy(&nr, call->arg + desc->nr, sizeof(nr));
		for (k = 0; k < nr && k < 8; k++) {
			if (!fuzz_inside(addr + k * sizeof(id), sizeof(id)))
				return;
			memcpy(&id, (void *)(uintptr_t)(addr + k * sizeof(id)), sizeof(id));
			fuzz_remember(&fuzz_blocks, id);
		}
	}
}

static void fuzz_build_batch(struct fuzz_call *batch)
{
	struct kvp_batch *arg = (void *)batch->arg;
	struct kvp_batch_entry *entries;
	struct fuzz_call call;
	u32 nr = 1 + fuzz_byte() % 6;
	u32 i;

	entries = fuzz_room(nr * sizeof(*entries));
	for (i = 0; i < nr; i++) {
		fuzz_build(&call, fuzz_op(fuzz_byte()), i);
		entries[i].op = call.nr;
		entries[i].len = call.len;
		entries[i].arg = (u64)(uintptr_t)call.arg;
		if (fuzz_rarely(32))
			((u8 *)&entries[i])[fuzz_byte() % sizeof(*entries)] = fuzz_byte();
	}
	arg->entries = (u64)(uintptr_t)entries;
	arg->nr_entries = nr;
}

/* ---- what must hold ---- */

static void fuzz_bug(const char *what, const struct fuzz_call *call, int err, u32 reason)
{
	fprintf(stderr, "%s: op %#x (%s) returned %d reason %u\n", what, call->nr,
		call->op ? call->op->name : "unknown", err, reason);
	abort();
}

static void fuzz_audit(void)
{
	struct kvp_finding *finding;
	struct kvp_audit *arg;

	fuzz_used = 0;
	arg = fuzz_room(sizeof(*arg));
	finding = fuzz_room(sizeof(*finding));
	arg->head.size = sizeof(*arg);
	arg->findings = (u64)(uintptr_t)finding;
	arg->nr_findings = 1;
	if (kvp_call(fuzz_client[0], KVP_OP_AUDIT, (u64)(uintptr_t)arg, sizeof(*arg)))
		return;			/* the pool was destroyed */
	if (!arg->total)
		return;
	fprintf(stderr, "audit: kind %u family %d id %llu found %llu expected %llu\n",
		finding->kind, (int)finding->family, (unsigned long long)finding->id,
		(unsigned long long)finding->found, (unsigned long long)finding->expected);
	abort();
}

/* Counters of the pool, without those that count refusals. False: it was destroyed. */
static bool fuzz_counters(struct kvp_stats *stats, struct kvp_family_stats *families)
{
	struct kvp_stats *arg = fuzz_room(sizeof(*arg));
	void *room = fuzz_room(KVP_MAX_FAMILIES * sizeof(*families));

	arg->head.size = sizeof(*arg);
	arg->families = (u64)(uintptr_t)room;
	arg->nr_families = KVP_MAX_FAMILIES;
	if (kvp_call(fuzz_client[0], KVP_OP_STATS, (u64)(uintptr_t)arg, sizeof(*arg)))
		return false;
	arg->families = 0;
	arg->underflow_rejected = 0;
	arg->collisions = 0;
	arg->refused_room = 0;
	arg->refused_limit = 0;
	/* A signal that is wrong counts. */
	arg->backwards = 0;
	arg->jumps = 0;
	*stats = *arg;
	memcpy(families, room, KVP_MAX_FAMILIES * sizeof(*families));
	return true;
}

static bool fuzz_known(int err)
{
	static const int known[] = {
		EINVAL, E2BIG, EFAULT, EOVERFLOW, ENOTTY, EOPNOTSUPP, ENOENT, ESTALE, EBUSY,
		EEXIST, EPERM, EACCES, EDQUOT, ENOSPC, EFBIG, ENOMEM, EKEYREJECTED, EIO,
		EBADF, EMFILE, EOWNERDEAD,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (err == -known[i])
			return true;
	}
	return false;
}

/* Whoever has the page of a client writes a timeline; then perhaps somebody waits for one. */
static void fuzz_store(void)
{
	struct kvp_client *client = fuzz_pick_client();
	struct kvp_times *times = kvp_client_times(client);
	u32 timeline = fuzz_value(FUZZ_TIMELINE) % KVP_NR_TIMELINES;

	if (!times)
		abort();
	WRITE_ONCE(times->page[timeline].value, fuzz_value(FUZZ_FENCE));
	if (fuzz_rarely(4))
		kvp_client_scan(client);
}

static void fuzz_one(void)
{
	struct kvp_family_stats families[2][KVP_MAX_FAMILIES];
	u8 pick = fuzz_byte();
	struct kvp_stats stats[2];
	const struct kvp_head *head;
	struct kvp_client *client;
	struct fuzz_call call;
	bool faulted;
	u32 reason;
	int err;

	if (pick >= FUZZ_LATER - 4 && pick < FUZZ_LATER) {
		fuzz_export_close(FUZZ_FIRST_FD + fuzz_byte() % FUZZ_EXPORTS);
		return;
	}
	if (pick >= FUZZ_LATER - 8 && pick < FUZZ_LATER) {
		fuzz_store();
		return;
	}
	client = fuzz_pick_client();
	fuzz_used = 0;
	fuzz_build(&call, pick < 224 || pick >= FUZZ_LATER ? fuzz_op(pick) : fuzz_byte(), 0);
	if (call.nr == KVP_OP_BATCH)
		fuzz_build_batch(&call);
	if (fuzz_too_large(&call) || !fuzz_counters(&stats[0], families[0]))
		return;
	fuzz_fault = fuzz_rarely(16) ? 1 + fuzz_byte() % 3 : 0;
	faulted = fuzz_fault;
	kvp_shim_fail_alloc = fuzz_rarely(16) ? 1 + fuzz_byte() % 4 : 0;
	err = kvp_call(client, call.nr, (u64)(uintptr_t)call.arg, call.len);
	kvp_shim_fail_alloc = 0;
	fuzz_fault = 0;
	if (!err) {
		fuzz_harvest(&call);
		return;
	}
	head = (void *)call.arg;
	reason = head->reason;
	if (!fuzz_known(err))
		fuzz_bug("unknown errno", &call, err, reason);
	/*
	 * A write that failed may be the one that would have told the reason; what stands then
	 * is in the contract.
	 */
	if (faulted)
		return;
	/* Descriptors have their own errnos, which say all. */
	if (!reason && call.op && head->size >= sizeof(*head) && err != -EBADF && err != -EMFILE)
		fuzz_bug("no reason", &call, err, reason);
	if (!fuzz_counters(&stats[1], families[1]))
		return;
	if (memcmp(&stats[0], &stats[1], sizeof(stats[0])) ||
	    memcmp(families[0], families[1], sizeof(families[0])))
		fuzz_bug("changed by a failure", &call, err, reason);
}

/* A struct of the contract in the arena, with the right size. */
static void *fuzz_struct(u32 size)
{
	struct kvp_head *head = fuzz_room(size);

	head->size = size;
	return head;
}

/* Sequences that share a part-filled node: what is appended to one has to be copied first. */
static void fuzz_fork(struct kvp_client *client, u64 seq)
{
	struct kvp_seq_fork *fork = fuzz_struct(sizeof(*fork));

	fork->seq = seq;
	fork->tokens = KVP_POS_END;
	fork->copies = (u64)(uintptr_t)fuzz_room(FUZZ_MAX_NR * sizeof(struct kvp_copy));
	fork->nr_copies = FUZZ_MAX_NR;
	if (!kvp_call(client, KVP_OP_SEQ_FORK, (u64)(uintptr_t)fork, sizeof(*fork)))
		fuzz_remember(&fuzz_objects, fork->child);
}

/* Work computes a sequence; its client may have no timeline yet. */
static void fuzz_work(struct kvp_client *client, u64 seq, u32 tokens)
{
	struct kvp_timeline_create *create = fuzz_struct(sizeof(*create));
	struct kvp_use *use = fuzz_struct(sizeof(*use));
	struct kvp_use_entry *entry = fuzz_room(sizeof(*entry));

	entry->kind = KVP_USE_SEQ;
	entry->id = seq;
	entry->value = ++fuzz_fence;
	entry->computed_to = tokens;
	use->entries = (u64)(uintptr_t)entry;
	use->nr_entries = 1;
	if (kvp_call(client, KVP_OP_USE, (u64)(uintptr_t)use, sizeof(*use)) == -ENOENT)
		kvp_call(client, KVP_OP_TIMELINE_CREATE, (u64)(uintptr_t)create,
			 sizeof(*create));
}

/*
 * What a stream of bytes rarely comes to: a sequence that is computed, published, and ended, while
 * work on it goes on or not; some are forked instead. Its ids are few bits of the input.
 */
static void fuzz_request(void)
{
	struct kvp_client *client = fuzz_pick_client();
	struct kvp_seq_create *create;
	struct kvp_seq_advance *advance;
	struct kvp_prefix_publish *publish;
	struct kvp_seq_id *end;
	u8 bits = fuzz_byte();
	u32 *tokens;

	fuzz_used = 0;
	create = fuzz_struct(sizeof(*create));
	tokens = fuzz_room(FUZZ_MAX_NR * sizeof(*tokens));
	fuzz_tokens(tokens, FUZZ_MAX_NR, bits);
	fuzz_digest(create->space, bits & 1);
	create->tokens = (u64)(uintptr_t)tokens;
	create->nr_tokens = 1 + fuzz_byte() % FUZZ_MAX_NR;
	if (kvp_call(client, KVP_OP_SEQ_CREATE, (u64)(uintptr_t)create, sizeof(*create)))
		return;
	fuzz_remember(&fuzz_objects, create->seq);
	if (bits & 0x40)
		fuzz_work(client, create->seq, create->nr_tokens);
	advance = fuzz_struct(sizeof(*advance));
	advance->seq = create->seq;
	advance->computed = create->nr_tokens;
	kvp_call(client, KVP_OP_SEQ_ADVANCE, (u64)(uintptr_t)advance, sizeof(*advance));
	publish = fuzz_struct(sizeof(*publish));
	publish->seq = create->seq;
	publish->tag = bits & 3;
	kvp_call(client, KVP_OP_PREFIX_PUBLISH, (u64)(uintptr_t)publish, sizeof(*publish));
	if (!(bits & 3)) {
		fuzz_fork(client, create->seq);
		return;
	}
	end = fuzz_struct(sizeof(*end));
	end->seq = create->seq;
	if (kvp_call(client, KVP_OP_SEQ_FREE, (u64)(uintptr_t)end, sizeof(*end)))
		abort();
}

/* ---- pools and clients ---- */

static const struct {
	u32 nr;
	struct kvp_family_desc family[2];
} fuzz_shapes[] = {
	{ 1, { { .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 16, .block_bytes = 8 } } },
	{ 1, { { .kind = KVP_FAMILY_DENSE, .block_tokens = 1, .blocks = 24, .block_bytes = 8 } } },
	{ 2, { { .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 16, .block_bytes = 8 },
	       { .kind = KVP_FAMILY_WINDOW, .block_tokens = 2, .blocks = 12, .block_bytes = 8,
		 .window = 5 } } },
	{ 2, { { .kind = KVP_FAMILY_DENSE, .block_tokens = 2, .blocks = 16, .block_bytes = 8 },
	       { .kind = KVP_FAMILY_STATE, .block_tokens = 1, .blocks = 6, .block_bytes = 8 } } },
};

static void fuzz_pool(u8 shape)
{
	struct kvp_pool_create *arg = fuzz_room(sizeof(*arg));
	void *families = fuzz_room(sizeof(fuzz_shapes[0].family));

	shape %= ARRAY_SIZE(fuzz_shapes);
	memcpy(families, fuzz_shapes[shape].family, sizeof(fuzz_shapes[shape].family));
	arg->head.size = sizeof(*arg);
	strcpy(arg->name, "p0");
	arg->mode = 0666;
	arg->families = (u64)(uintptr_t)families;
	arg->nr_families = fuzz_shapes[shape].nr;
	/* No quarantine ends between two looks. */
	arg->grace_ms = KVP_MAX_GRACE_MS;
	if (kvp_call(fuzz_client[0], KVP_OP_POOL_CREATE, (u64)(uintptr_t)arg, sizeof(*arg)))
		abort();
}

/* A client that has just come, attached to the pool unless the input says otherwise. */
static void fuzz_connect(u32 slot)
{
	struct kvp_cred cred = { .uid = 1000 + slot, .gid = 1000, .persist = slot & 1 };
	struct kvp_pool_attach *arg;

	fuzz_client[slot] = kvp_client_open(&fuzz_host, &fuzz_door, &cred);
	if (IS_ERR_OR_NULL(fuzz_client[slot]))
		abort();
	if (!slot || fuzz_rarely(8))
		return;
	fuzz_used = 0;
	arg = fuzz_room(sizeof(*arg));
	arg->head.size = sizeof(*arg);
	strcpy(arg->name, "p0");
	kvp_call(fuzz_client[slot], KVP_OP_POOL_ATTACH, (u64)(uintptr_t)arg, sizeof(*arg));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u32 i, step;

	fuzz_at = data;
	fuzz_left = size;
	fuzz_used = 0;
	memset(&fuzz_objects, 0, sizeof(fuzz_objects));
	memset(&fuzz_blocks, 0, sizeof(fuzz_blocks));
	fuzz_fence = 0;
	kvp_host_init(&fuzz_host);
	fuzz_connect(0);
	fuzz_pool(fuzz_byte());
	for (i = 1; i < FUZZ_CLIENTS; i++)
		fuzz_connect(i);
	for (step = 1; fuzz_left && step <= FUZZ_STEPS; step++) {
		if (fuzz_rarely(64)) {
			i = 1 + fuzz_byte() % (FUZZ_CLIENTS - 1);
			kvp_client_close(fuzz_client[i]);
			fuzz_connect(i);
		}
		if (fuzz_rarely(4))
			fuzz_request();
		else
			fuzz_one();
		if (step % FUZZ_AUDIT == 0)
			fuzz_audit();
	}
	fuzz_audit();
	for (i = 1; i < FUZZ_CLIENTS; i++)
		kvp_client_close(fuzz_client[i]);
	fuzz_audit();
	/* One file outlives all clients. */
	for (i = 1; i < FUZZ_EXPORTS; i++)
		fuzz_export_close(FUZZ_FIRST_FD + i);
	fuzz_audit();
	kvp_client_close(fuzz_client[0]);
	fuzz_export_close(FUZZ_FIRST_FD);
	kvp_host_exit(&fuzz_host);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * Batches: entries are collected in a buffer and executed in one call of the contract. Owns
 * struct kvp_batch_buf, which one thread at a time may use.
 *
 * An append or a fork can ask for copies, and the core executes nothing more on that sequence
 * until it is told that they are made, which the core cannot do: it never sees bytes. So a
 * batch is cut into pieces before each entry that names a sequence for which an earlier entry of
 * the piece may have asked for copies; between pieces they are made. Most batches name each
 * sequence once and are one piece.
 *
 * In the core KVP_REF counts from the piece's first entry. What an earlier piece made is named
 * by its id.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Sequences that may owe copies, by the low bits of their ids; two in one bit only cost a cut. */
#define OWING_BITS	512
#define NO_REF		0xffff

/* The struct of an entry that the buffer holds. */
union entry_arg {
	struct kvp_head head;
	struct kvp_seq_create create;
	struct kvp_seq_append append;
	struct kvp_seq_set_tokens set_tokens;
	struct kvp_seq_advance advance;
	struct kvp_seq_fork fork;
	struct kvp_seq_truncate truncate;
	struct kvp_seq_id id;
	struct kvp_seq_table table;
	struct kvp_prefix_publish publish;
	struct kvp_prefix_match match;
	struct kvp_prefix_release release;
	struct kvp_use use;
};

/**
 * struct entry - what the buffer knows of an entry beside the core's part
 * @arg: its struct, if the buffer holds it
 * @ref: the earlier entry that its id field refers to, or NO_REF
 * @cut: a piece begins here
 */
struct entry {
	union entry_arg arg;
	uint16_t ref;
	bool cut;
};

/**
 * struct kvp_batch_buf - a batch
 * @pool: on which pool
 * @max: entries that fit
 * @nr: entries that there are
 * @ran: they were executed; the next one that is added begins anew
 * @calls: what the core is given, @max
 * @entries: the rest of each, @max
 * @copies: room for those that each entry can ask for
 * @owing: bit i: a sequence whose id ends so may owe copies, in the last piece
 * @owing_refs: bit k: the sequence that entry k makes may
 */
struct kvp_batch_buf {
	struct kvp_pool *pool;
	uint32_t max;
	uint32_t nr;
	bool ran;
	struct kvp_batch_entry *calls;
	struct entry *entries;
	struct kvp_copy *copies;
	uint64_t owing[OWING_BITS / 64];
	uint64_t owing_refs[KVP_MAX_BATCH / 64];
};

/* ---- the buffer ---- */

int kvp_batch_new(struct kvp_pool *pool, uint32_t max, struct kvp_batch_buf **batch)
{
	struct kvp_batch_buf *made;

	if (!batch)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "batch_new: batch is NULL");
	if (!max || max > KVP_MAX_BATCH)
		return kvp_error_set(max ? -EOVERFLOW : -EINVAL, KVP_REASON_COUNT, 0,
				     "batch_new: %u entries: expected 1 to %u", max,
				     KVP_MAX_BATCH);
	made = calloc(1, sizeof(*made));
	if (made) {
		made->calls = calloc(max, sizeof(*made->calls));
		made->entries = calloc(max, sizeof(*made->entries));
		made->copies = calloc((size_t)max * pool->max_copies, sizeof(*made->copies));
	}
	if (!made || !made->calls || !made->entries || !made->copies) {
		kvp_batch_free(made);
		return kvp_error_set(-ENOMEM, KVP_REASON_MEMORY, 0,
				     "batch_new: no memory for %u entries", max);
	}
	made->pool = pool;
	made->max = max;
	*batch = made;
	return 0;
}

void kvp_batch_free(struct kvp_batch_buf *batch)
{
	if (!batch)
		return;
	free(batch->copies);
	free(batch->entries);
	free(batch->calls);
	free(batch);
}

void kvp_batch_clear(struct kvp_batch_buf *batch)
{
	batch->nr = 0;
	batch->ran = false;
	memset(batch->owing, 0, sizeof(batch->owing));
	memset(batch->owing_refs, 0, sizeof(batch->owing_refs));
}

uint32_t kvp_batch_nr(const struct kvp_batch_buf *batch)
{
	return batch->nr;
}

static struct kvp_copy *copies_of(const struct kvp_batch_buf *batch, uint32_t entry)
{
	return batch->copies + (size_t)entry * batch->pool->max_copies;
}

/* ---- ids in an entry ---- */

#define SEQ_AT		offsetof(struct kvp_seq_id, seq)
#define SAME_PLACE(type, member) \
	_Static_assert(offsetof(struct type, member) == SEQ_AT, "see named_by()")

SAME_PLACE(kvp_seq_append, seq);
SAME_PLACE(kvp_seq_set_tokens, seq);
SAME_PLACE(kvp_seq_advance, seq);
SAME_PLACE(kvp_seq_fork, seq);
SAME_PLACE(kvp_seq_truncate, seq);
SAME_PLACE(kvp_seq_table, seq);
SAME_PLACE(kvp_seq_export, seq);
SAME_PLACE(kvp_prefix_release, match);
SAME_PLACE(kvp_prefix_publish, seq);

/* The field in which an operation names an object, NULL if there is none. */
static uint64_t *named_by(uint32_t op, void *arg, uint32_t size)
{
	size_t at;

	switch (op) {
	case KVP_OP_SEQ_APPEND:
	case KVP_OP_SEQ_SET_TOKENS:
	case KVP_OP_SEQ_ADVANCE:
	case KVP_OP_SEQ_COPIED:
	case KVP_OP_SEQ_FORK:
	case KVP_OP_SEQ_TRUNCATE:
	case KVP_OP_SEQ_FREE:
	case KVP_OP_SEQ_TABLE:
	case KVP_OP_SEQ_EXPORT:
	case KVP_OP_PREFIX_RELEASE:
	case KVP_OP_PREFIX_PUBLISH:
		at = SEQ_AT;
		break;
	case KVP_OP_BLOCK_REF:
		at = offsetof(struct kvp_block_refs, holder);
		break;
	default:
		return NULL;
	}
	if (size < at + sizeof(uint64_t))
		return NULL;
	return (uint64_t *)((unsigned char *)arg + at);
}

static void *arg_of(const struct kvp_batch_buf *batch, uint32_t entry)
{
	return (void *)(uintptr_t)batch->calls[entry].arg;
}

static uint64_t *named(const struct kvp_batch_buf *batch, uint32_t entry)
{
	const struct kvp_batch_entry *call = &batch->calls[entry];

	return named_by(call->op, arg_of(batch, entry), call->len);
}

/* What an entry made, 0 if nothing. */
static uint64_t made_by(const struct kvp_batch_buf *batch, uint32_t entry)
{
	const struct kvp_batch_entry *call = &batch->calls[entry];
	const void *arg = arg_of(batch, entry);

	if (call->result)
		return 0;
	switch (call->op) {
	case KVP_OP_SEQ_CREATE:
		return ((const struct kvp_seq_create *)arg)->seq;
	case KVP_OP_SEQ_FORK:
		return ((const struct kvp_seq_fork *)arg)->child;
	case KVP_OP_SEQ_IMPORT:
		return ((const struct kvp_seq_import *)arg)->seq;
	case KVP_OP_PREFIX_MATCH:
		return ((const struct kvp_prefix_match *)arg)->match;
	default:
		return 0;
	}
}

/* ---- adding ---- */

static bool bit_is_set(const uint64_t *bits, uint64_t bit)
{
	return bits[bit / 64] >> (bit % 64) & 1;
}

static void bit_set(uint64_t *bits, uint64_t bit)
{
	bits[bit / 64] |= 1ULL << (bit % 64);
}

/* A place for one more entry, NULL if it has all; what was executed is forgotten. */
static union entry_arg *room(struct kvp_batch_buf *batch)
{
	if (batch->ran)
		kvp_batch_clear(batch);
	if (batch->nr < batch->max)
		return &batch->entries[batch->nr].arg;
	kvp_error_set(-EOVERFLOW, KVP_REASON_COUNT, 0,
		      "batch: it has %u entries: expected fewer", batch->max);
	return NULL;
}

/* Does the entry have to wait for copies? Then a piece begins with it. */
static void cut_before(struct kvp_batch_buf *batch, struct entry *entry, uint64_t id)
{
	bool owes = entry->ref == NO_REF ? bit_is_set(batch->owing, id % OWING_BITS) :
					   bit_is_set(batch->owing_refs, entry->ref);

	if (!owes)
		return;
	entry->cut = true;
	memset(batch->owing, 0, sizeof(batch->owing));
	memset(batch->owing_refs, 0, sizeof(batch->owing_refs));
}

/* One more entry, with its struct. Returns its index. */
static int add(struct kvp_batch_buf *batch, uint32_t op, void *arg, uint32_t size)
{
	struct entry *entry = &batch->entries[batch->nr];
	uint64_t *id = named_by(op, arg, size);

	entry->ref = NO_REF;
	entry->cut = false;
	if (id && (*id & KVP_REF_FLAG)) {
		if ((*id & ~KVP_REF_FLAG) >= batch->nr)
			return kvp_error_set(-EINVAL, KVP_REASON_BATCH_REF,
					     (uint32_t)(*id & ~KVP_REF_FLAG),
					     "batch: entry %u refers to entry %llu: expected an earlier one",
					     batch->nr,
					     (unsigned long long)(*id & ~KVP_REF_FLAG));
		entry->ref = (uint16_t)(*id & ~KVP_REF_FLAG);
	}
	if (id)
		cut_before(batch, entry, *id);
	((struct kvp_head *)arg)->size = size;
	batch->calls[batch->nr] = (struct kvp_batch_entry){
		.op = op,
		.len = size,
		.arg = kvp_addr(arg),
	};
	return (int)batch->nr++;
}

/* An entry whose struct is the member @member of the buffer's own. */
#define add_own(batch, op, arg, member)	add(batch, op, arg, sizeof((arg)->member))

int kvp_batch_call(struct kvp_batch_buf *batch, enum kvp_op op, void *arg, uint32_t size)
{
	int err = kvp_arg_check("batch", arg, size);

	if (err)
		return err;
	return room(batch) ? add(batch, op, arg, size) : -EOVERFLOW;
}

int kvp_batch_seq_create(struct kvp_batch_buf *batch, const struct kvp_prompt *prompt,
			 uint32_t flags, uint64_t reserve)
{
	union entry_arg *arg;
	int err;

	err = kvp_prompt_check(prompt);
	if (err)
		return err;
	arg = room(batch);
	if (!arg)
		return -EOVERFLOW;
	arg->create = (struct kvp_seq_create){ .head.flags = flags, .reserve = reserve };
	kvp_create_fill(&arg->create, prompt);
	return add_own(batch, KVP_OP_SEQ_CREATE, arg, create);
}

int kvp_batch_seq_append_at(struct kvp_batch_buf *batch, kvp_seq_t seq,
			    const struct kvp_append *append)
{
	union entry_arg *arg;
	int entry;

	if (!append)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "batch: append is NULL");
	arg = room(batch);
	if (!arg)
		return -EOVERFLOW;
	arg->append = (struct kvp_seq_append){
		.seq = seq,
		.copies = kvp_addr(copies_of(batch, batch->nr)),
		.nr_copies = batch->pool->max_copies,
	};
	kvp_append_fill(&arg->append, append);
	entry = add_own(batch, KVP_OP_SEQ_APPEND, arg, append);
	if (entry < 0)
		return entry;
	if (seq & KVP_REF_FLAG)
		bit_set(batch->owing_refs, seq & ~KVP_REF_FLAG);
	else
		bit_set(batch->owing, seq % OWING_BITS);
	return entry;
}

int kvp_batch_seq_append(struct kvp_batch_buf *batch, kvp_seq_t seq, const uint32_t *tokens,
			 uint32_t nr_tokens, uint64_t reserve)
{
	const struct kvp_append append = {
		.tokens = tokens,
		.nr_tokens = nr_tokens,
		.position = KVP_POS_END,
		.reserve = reserve,
	};

	return kvp_batch_seq_append_at(batch, seq, &append);
}

int kvp_batch_seq_fork(struct kvp_batch_buf *batch, kvp_seq_t seq, uint64_t tokens)
{
	union entry_arg *arg = room(batch);
	int entry;

	if (!arg)
		return -EOVERFLOW;
	arg->fork = (struct kvp_seq_fork){
		.seq = seq,
		.tokens = tokens,
		.copies = kvp_addr(copies_of(batch, batch->nr)),
		.nr_copies = batch->pool->max_copies,
	};
	entry = add_own(batch, KVP_OP_SEQ_FORK, arg, fork);
	if (entry >= 0)
		bit_set(batch->owing_refs, (uint64_t)entry);
	return entry;
}

int kvp_batch_seq_set_tokens(struct kvp_batch_buf *batch, kvp_seq_t seq,
			     const uint32_t *tokens, uint32_t nr_tokens)
{
	union entry_arg *arg = room(batch);

	if (!arg)
		return -EOVERFLOW;
	arg->set_tokens = (struct kvp_seq_set_tokens){
		.seq = seq,
		.tokens = kvp_addr(tokens),
		.nr_tokens = nr_tokens,
		.position = KVP_POS_END,
	};
	return add_own(batch, KVP_OP_SEQ_SET_TOKENS, arg, set_tokens);
}

int kvp_batch_seq_advance(struct kvp_batch_buf *batch, kvp_seq_t seq, uint64_t computed)
{
	union entry_arg *arg = room(batch);

	if (!arg)
		return -EOVERFLOW;
	arg->advance = (struct kvp_seq_advance){ .seq = seq, .computed = computed };
	return add_own(batch, KVP_OP_SEQ_ADVANCE, arg, advance);
}

int kvp_batch_seq_truncate(struct kvp_batch_buf *batch, kvp_seq_t seq, uint64_t tokens)
{
	union entry_arg *arg = room(batch);

	if (!arg)
		return -EOVERFLOW;
	arg->truncate = (struct kvp_seq_truncate){ .seq = seq, .tokens = tokens };
	return add_own(batch, KVP_OP_SEQ_TRUNCATE, arg, truncate);
}

int kvp_batch_seq_free(struct kvp_batch_buf *batch, kvp_seq_t seq)
{
	union entry_arg *arg = room(batch);

	if (!arg)
		return -EOVERFLOW;
	arg->id = (struct kvp_seq_id){ .seq = seq };
	return add_own(batch, KVP_OP_SEQ_FREE, arg, id);
}

int kvp_batch_seq_table(struct kvp_batch_buf *batch, kvp_seq_t seq, uint32_t family,
			uint64_t first, uint64_t *blocks, uint32_t nr)
{
	union entry_arg *arg = room(batch);

	if (!arg)
		return -EOVERFLOW;
	arg->table = (struct kvp_seq_table){
		.seq = seq,
		.blocks = kvp_addr(blocks),
		.nr_blocks = nr,
		.family = family,
		.first = first,
	};
	return add_own(batch, KVP_OP_SEQ_TABLE, arg, table);
}

int kvp_batch_publish(struct kvp_batch_buf *batch, kvp_seq_t seq,
		      const struct kvp_publish_options *options)
{
	union entry_arg *arg = room(batch);

	if (!arg)
		return -EOVERFLOW;
	arg->publish = (struct kvp_prefix_publish){ .seq = seq };
	if (options)
		kvp_publish_fill(&arg->publish, options);
	return add_own(batch, KVP_OP_PREFIX_PUBLISH, arg, publish);
}

int kvp_batch_match(struct kvp_batch_buf *batch, const struct kvp_prompt *prompt,
		    uint32_t flags)
{
	union entry_arg *arg;
	int err;

	err = kvp_prompt_check(prompt);
	if (err)
		return err;
	arg = room(batch);
	if (!arg)
		return -EOVERFLOW;
	arg->match = (struct kvp_prefix_match){ .head.flags = flags };
	kvp_match_fill(&arg->match, prompt);
	return add_own(batch, KVP_OP_PREFIX_MATCH, arg, match);
}

int kvp_batch_match_release(struct kvp_batch_buf *batch, kvp_match_t match)
{
	union entry_arg *arg = room(batch);

	if (!arg)
		return -EOVERFLOW;
	arg->release = (struct kvp_prefix_release){ .match = match };
	return add_own(batch, KVP_OP_PREFIX_RELEASE, arg, release);
}

/* No cut before it: the sources of copies that a sequence owes are covered by its uses, too. */
int kvp_batch_use(struct kvp_batch_buf *batch, const struct kvp_use_entry *entries, uint32_t nr)
{
	union entry_arg *arg = room(batch);

	if (!arg)
		return -EOVERFLOW;
	arg->use = (struct kvp_use){ .entries = kvp_addr(entries), .nr_entries = nr };
	return add_own(batch, KVP_OP_USE, arg, use);
}

/* ---- running ---- */

/* Entries [@first, nr) were not executed. */
static void give_up(struct kvp_batch_buf *batch, uint32_t first, int err, uint32_t reason,
		    uint32_t where)
{
	uint32_t i;

	for (i = first; i < batch->nr; i++) {
		struct kvp_head *head = arg_of(batch, i);

		batch->calls[i].result = err;
		head->reason = reason;
		head->where = where;
	}
}

/* Say the KVP_REFs of a piece that begins at @start as the core counts them. */
static void refs_shift(struct kvp_batch_buf *batch, uint32_t start, uint32_t end)
{
	uint32_t i;

	for (i = start; start && i < end; i++) {
		uint32_t ref = batch->entries[i].ref;
		uint64_t made;

		if (ref == NO_REF)
			continue;
		made = ref < start ? made_by(batch, ref) : 0;
		if (ref >= start)
			*named(batch, i) = KVP_REF(ref - start);
		else
			/* Nothing was made: a reference that the core refuses. */
			*named(batch, i) = made ? made : KVP_REF(KVP_MAX_BATCH);
	}
}

/* And as the caller did, in the errors too. */
static void refs_shift_back(struct kvp_batch_buf *batch, uint32_t start, uint32_t end)
{
	uint32_t i;

	for (i = start; start && i < end; i++) {
		struct kvp_head *head = arg_of(batch, i);

		if (batch->entries[i].ref != NO_REF)
			*named(batch, i) = KVP_REF(batch->entries[i].ref);
		if (batch->calls[i].result && head->reason == KVP_REASON_BATCH_REF)
			head->where = batch->entries[i].ref;
		else if (batch->calls[i].result && head->reason == KVP_REASON_EARLIER_ENTRY)
			head->where += start;
	}
}

/* Make the copies that an entry asked for. */
static void settle(struct kvp_batch_buf *batch, uint32_t entry)
{
	struct kvp_batch_entry *call = &batch->calls[entry];
	union entry_arg *arg = &batch->entries[entry].arg;
	kvp_seq_t seq;
	uint32_t nr;

	/* Of a struct of the caller's the copies are the caller's. */
	if (call->result || arg_of(batch, entry) != arg)
		return;
	if (call->op == KVP_OP_SEQ_APPEND) {
		nr = arg->append.nr_copies;
		seq = arg->append.seq;
		if (seq & KVP_REF_FLAG)
			seq = made_by(batch, batch->entries[entry].ref);
	} else if (call->op == KVP_OP_SEQ_FORK) {
		nr = arg->fork.nr_copies;
		seq = arg->fork.child;
	} else {
		return;
	}
	call->result = kvp_copies_make(batch->pool, seq, copies_of(batch, entry), nr);
	if (call->result)
		arg->head.reason = kvp_error()->reason;
}

/* Execute entries [@start, @end). An error: none of them was executed. */
static int run_piece(struct kvp_batch_buf *batch, uint32_t flags, uint32_t start, uint32_t end)
{
	struct kvp_batch arg = {
		.head.flags = flags,
		.entries = kvp_addr(batch->calls + start),
		.nr_entries = end - start,
	};
	uint32_t i;
	int err;

	refs_shift(batch, start, end);
	err = kvp_pool_batch(batch->pool, &arg);
	refs_shift_back(batch, start, end);
	if (err) {
		give_up(batch, start, err, arg.head.reason, arg.head.where);
		return err;
	}
	for (i = start; i < end; i++)
		settle(batch, i);
	return 0;
}

/* The first entry of [@start, @end) that failed; @end if none did. */
static uint32_t first_failed(const struct kvp_batch_buf *batch, uint32_t start, uint32_t end)
{
	while (start < end && !batch->calls[start].result)
		start++;
	return start;
}

/* The thread's error is that of @entry; returns its errno. */
static int entry_failed(const struct kvp_batch_buf *batch, uint32_t entry)
{
	const struct kvp_batch_entry *call = &batch->calls[entry];
	const struct kvp_head *head = arg_of(batch, entry);
	char text[sizeof(kvp_error()->text)];

	kvp_pool_failed(batch->pool, call->op, call->result, head);
	snprintf(text, sizeof(text), "%s", kvp_error()->text);
	return kvp_error_set(call->result, kvp_error()->reason, kvp_error()->where,
			     "batch: entry %u: %s", entry, text);
}

int kvp_batch_run(struct kvp_batch_buf *batch, uint32_t flags)
{
	uint32_t start, end, failed;

	if (!batch->nr || batch->ran)
		return kvp_error_set(-EINVAL, KVP_REASON_COUNT, 0,
				     "batch: %s: expected at least one entry",
				     batch->nr ? "it ran already" : "it is empty");
	if (flags & ~KVP_BATCH_FLAGS_ALL)
		return kvp_error_set(-EINVAL, KVP_REASON_FLAG, 0,
				     "batch: flags %#x: expected KVP_BATCH_*", flags);
	batch->ran = true;
	for (start = 0; start < batch->nr; start = end) {
		end = start + 1;
		while (end < batch->nr && !batch->entries[end].cut)
			end++;
		if (run_piece(batch, flags, start, end))
			break;
		failed = first_failed(batch, start, end);
		if (failed < end && flags & KVP_BATCH_STOP_ON_ERROR) {
			give_up(batch, end, -ECANCELED, KVP_REASON_EARLIER_ENTRY, failed);
			break;
		}
	}
	failed = first_failed(batch, 0, batch->nr);
	return failed < batch->nr ? entry_failed(batch, failed) : 0;
}

/* ---- results ---- */

static void result_of(const struct kvp_batch_entry *call, const union entry_arg *arg,
		      struct kvp_batch_result *result)
{
	switch (call->op) {
	case KVP_OP_SEQ_CREATE:
		result->id = arg->create.seq;
		result->tokens = arg->create.matched;
		break;
	case KVP_OP_SEQ_FORK:
		result->id = arg->fork.child;
		result->tokens = arg->fork.tokens;
		break;
	case KVP_OP_PREFIX_MATCH:
		result->id = arg->match.match;
		result->tokens = arg->match.matched;
		break;
	case KVP_OP_PREFIX_PUBLISH:
		result->tokens = arg->publish.published;
		break;
	case KVP_OP_SEQ_APPEND:
		result->tokens = arg->append.position;
		break;
	case KVP_OP_SEQ_SET_TOKENS:
		result->tokens = arg->set_tokens.position;
		break;
	case KVP_OP_SEQ_TABLE:
		result->tokens = arg->table.nr_tokens;
		result->nr = arg->table.nr_blocks;
		break;
	default:
		break;
	}
}

int kvp_batch_get(const struct kvp_batch_buf *batch, uint32_t entry,
		  struct kvp_batch_result *result)
{
	const struct kvp_batch_entry *call;
	const struct kvp_head *head;

	if (!result)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "batch: result is NULL");
	if (!batch->ran || entry >= batch->nr)
		return kvp_error_set(-EINVAL, KVP_REASON_COUNT, 0,
				     "batch: result of entry %u: expected one of the %u that ran",
				     entry, batch->ran ? batch->nr : 0);
	call = &batch->calls[entry];
	head = arg_of(batch, entry);
	*result = (struct kvp_batch_result){ .err = call->result };
	if (call->result) {
		result->reason = head->reason;
		result->where = head->where;
	} else if ((const void *)head == &batch->entries[entry].arg) {
		result_of(call, &batch->entries[entry].arg, result);
	}
	return 0;
}

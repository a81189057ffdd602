// SPDX-License-Identifier: MIT
/*
 * Calls on sequences. Token ids come from a few texts that begin alike, so that prefixes are
 * found and paths part.
 */
#include <string.h>

#include "stream.h"

#define TEXTS		6
#define OWN_TEXT	100	/* from here on: what only one sequence says */

static __u32 token_of(__u32 text, __u64 i)
{
	if (text < TEXTS && i < 8 * text)
		text = 0;
	return (text * 7919 + (__u32)i * 31) % 1000;
}

void st_tokens(struct ct_call *call, __u32 array, __u32 text, __u64 from, __u32 nr)
{
	__u32 *tokens = ct_call_array(call, array, nr);
	__u32 i;

	for (i = 0; i < nr; i++)
		tokens[i] = token_of(text, from + i);
}

void st_extras(struct ct_call *call, __u32 array, __u64 from, __u32 nr)
{
	__u64 node = (from + st.index_tokens - 1) / st.index_tokens;
	struct kvp_extra *extras;
	__u32 i, count;

	if (!nr || !st_once(4))
		return;
	count = 1 + st_below(2);
	extras = ct_call_array(call, array, count);
	for (i = 0; i < count; i++) {
		extras[i].node = node + i;
		ct_digest(extras[i].digest, 1 + st_below(3));
	}
	if (st_once(10))
		extras[count - 1].node = st_below(8);
}

/* Mostly the same few, so that something is found. */
__u32 st_pick_text(void)
{
	return st_below(1 + st_below(TEXTS));
}

__u32 st_pick_space(void)
{
	return 1 + st_below(1 + st_below(3));
}

__u32 st_pick_length(void)
{
	__u32 most = st.capacity / 4 + 2;

	if (st_once(10))
		return st_below(st.capacity + st.capacity / 3 + 2);
	return 1 + st_below(most < 48 ? most : 48);
}

struct st_seq *st_seq_find(struct st_slot *slot, __u64 id)
{
	__u32 i;

	for (i = 0; i < slot->nr_seqs; i++)
		if (slot->seq[i].id == id)
			return &slot->seq[i];
	return NULL;
}

struct st_seq *st_seq_add(struct st_slot *slot, __u64 id, __u64 tokens)
{
	struct st_seq *seq = &slot->seq[slot->nr_seqs % ST_MAX_SEQS];

	/* Full: the last one is forgotten, and lives until its client goes. */
	if (slot->nr_seqs == ST_MAX_SEQS)
		seq = &slot->seq[ST_MAX_SEQS - 1];
	else
		slot->nr_seqs++;
	memset(seq, 0, sizeof(*seq));
	seq->id = id;
	seq->tokens = tokens;
	seq->computed = tokens;
	seq->reserved = tokens;
	return seq;
}

void st_seq_computes(struct st_slot *slot, __u64 id, __u64 tokens)
{
	struct st_seq *seq = st_seq_find(slot, id);

	if (seq && seq->computed < tokens)
		seq->computed = tokens;
}

static void make_create(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_seq_create *arg = (void *)call->before;
	__u32 nr = st_once(16) ? 0 : st_pick_length();

	ct_digest(arg->space, st_pick_space());
	st_tokens(call, 0, st_pick_text(), 0, nr);
	st_extras(call, 1, 0, nr);
	if (st_once(6))
		arg->match_limit = st_below(nr + 4);
	if (st_once(3))
		arg->reserve = st_below(8);
	if (st_once(60))
		arg->reserve = KVP_MAX_SEQ_TOKENS - st_below(2) * nr;
	if (st_once(6))
		arg->head.flags = 1 << st_below(2);
	if (st_once(60))
		arg->head.flags = KVP_SEQ_CREATE_FLAGS_ALL;
}

/* Which text it was: as many token ids agree. */
static __u32 text_of(const struct ct_call *call)
{
	const __u32 *tokens = (void *)call->mem[0];
	__u32 text, i;

	for (text = 0; text < TEXTS; text++) {
		for (i = 0; i < call->room[0]; i++)
			if (tokens[i] != token_of(text, i))
				break;
		if (i == call->room[0])
			return text;
	}
	return 0;
}

static void learn_create(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_seq_create *arg = (void *)call->after;
	struct st_seq *seq = st_seq_add(slot, arg->seq, arg->matched);

	seq->text = text_of(call);
	if (!(arg->head.flags & KVP_SEQ_MATCH_ONLY))
		seq->tokens = arg->nr_tokens;
	seq->reserved = arg->reserved;
}

/* What the sequence says next; *@nr ids. */
static void continue_text(struct st_seq *seq, struct ct_call *call, __u32 nr)
{
	__u64 from = seq ? seq->tokens : 0;
	__u32 text = seq ? seq->text : 0;

	if (st_once(6))
		text = OWN_TEXT + st_below(1000);
	st_tokens(call, 0, text, from, nr);
	st_extras(call, 1, from, nr);
}

static __u64 position_of(const struct st_seq *seq)
{
	if (st_once(3) && seq)
		return seq->tokens + st_once(4);
	return KVP_POS_END;
}

static void make_append(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_seq_append *arg = (void *)call->before;
	struct st_seq *seq = st_pick_seq(slot, &arg->seq);
	__u32 nr = st_once(8) ? 0 : st_once(8) ? st_pick_length() : 1 + st_below(6);

	continue_text(seq, call, nr);
	arg->position = position_of(seq);
	if (st_once(3))
		arg->reserve = st_below(10);
	if (st_once(60))
		arg->reserve = KVP_MAX_SEQ_TOKENS;
	if (!st_once(6))
		ct_call_array(call, 2, st_once(8) ? 1 : 16);
}

static void learn_append(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_seq_append *arg = (void *)call->after;
	struct st_seq *seq = st_seq_find(slot, arg->seq);

	if (!seq)
		return;
	seq->tokens = arg->position + arg->nr_tokens;
	seq->reserved = arg->nr_reserved;
	seq->owed = arg->nr_copies;
}

static void make_set_tokens(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_seq_set_tokens *arg = (void *)call->before;
	struct st_seq *seq = st_pick_seq(slot, &arg->seq);
	__u64 left = seq ? seq->reserved - seq->tokens : 0;

	continue_text(seq, call, left && !st_once(6) ? 1 + st_below(left < 8 ? left : 8) :
						       st_below(5));
	arg->position = position_of(seq);
}

static void learn_set_tokens(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_seq_set_tokens *arg = (void *)call->after;
	struct st_seq *seq = st_seq_find(slot, arg->seq);

	if (seq)
		seq->tokens = arg->position + arg->nr_tokens;
}

static void make_advance(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_seq_advance *arg = (void *)call->before;
	struct st_seq *seq = st_pick_seq(slot, &arg->seq);

	if (!seq)
		return;
	arg->computed = seq->tokens;
	if (st_once(4) && seq->tokens > seq->computed)
		arg->computed = seq->computed + st_below(seq->tokens - seq->computed + 1);
	if (st_once(12))
		arg->computed = st_below(seq->tokens + 4);
}

static void learn_advance(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_seq_advance *arg = (void *)call->after;
	struct st_seq *seq = st_seq_find(slot, arg->seq);

	if (seq)
		seq->computed = arg->computed;
}

static void make_id(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_seq_id *arg = (void *)call->before;

	st_pick_seq(slot, &arg->seq);
}

static void make_copied(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_seq_id *arg = (void *)call->before;
	__u32 i;

	make_id(slot, call);
	for (i = 0; i < slot->nr_seqs && !st_once(6); i++)
		if (slot->seq[i].owed)
			arg->seq = slot->seq[i].id;
}

static void learn_copied(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_seq_id *arg = (void *)call->after;
	struct st_seq *seq = st_seq_find(slot, arg->seq);

	if (seq)
		seq->owed = false;
}

static void learn_free(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_seq_id *arg = (void *)call->after;
	struct st_seq *seq = st_seq_find(slot, arg->seq);

	st_remember_old(arg->seq);
	if (seq)
		*seq = slot->seq[--slot->nr_seqs];
}

static void make_fork(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_seq_fork *arg = (void *)call->before;
	struct st_seq *seq = st_pick_seq(slot, &arg->seq);

	arg->tokens = KVP_POS_END;
	if (seq && st_once(2))
		arg->tokens = st_below(seq->computed + 2);
	if (!st_once(6))
		ct_call_array(call, 0, st_once(8) ? 1 : 16);
}

static void learn_fork(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_seq_fork *arg = (void *)call->after;
	struct st_seq *parent = st_seq_find(slot, arg->seq);
	struct st_seq *child;
	__u64 limit = parent ? parent->limit : 0;
	__u32 text = parent ? parent->text : 0;

	child = st_seq_add(slot, arg->child, arg->tokens);
	child->text = text;
	child->limit = limit;
	child->owed = arg->nr_copies;
}

static void make_truncate(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_seq_truncate *arg = (void *)call->before;
	struct st_seq *seq = st_pick_seq(slot, &arg->seq);

	if (seq)
		arg->tokens = st_below(4) ? seq->tokens - st_below((seq->tokens > 8 ? 8 :
								    seq->tokens) + 1) :
					    st_below(seq->tokens + 3);
}

static void learn_truncate(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_seq_truncate *arg = (void *)call->after;
	struct st_seq *seq = st_seq_find(slot, arg->seq);

	if (!seq)
		return;
	seq->tokens = arg->tokens;
	seq->reserved = arg->tokens;
	if (seq->computed > arg->tokens)
		seq->computed = arg->tokens;
}

static void make_table(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_seq_table *arg = (void *)call->before;

	st_pick_seq(slot, &arg->seq);
	arg->family = st_pick_family();
	if (st_once(3))
		arg->first = st_below(8);
	if (!st_once(8))
		ct_call_array(call, 0, 1 + st_below(20));
}

static void learn_table(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_seq_table *arg = (void *)call->after;
	struct st_span *span = &slot->span;
	struct st_seq *seq = st_seq_find(slot, arg->seq);

	if (seq)
		seq->reserved = arg->nr_reserved;
	if (!call->mem[0] || !arg->nr_blocks)
		return;
	span->holder = arg->seq;
	span->match = false;
	span->first = arg->first;
	span->nr = arg->nr_blocks < ST_SPAN ? arg->nr_blocks : ST_SPAN;
	memcpy(span->id, call->mem[0], span->nr * sizeof(span->id[0]));
}

const struct st_maker st_seq_makers[] = {
	{ KVP_OP_SEQ_CREATE, 14, false, make_create, learn_create },
	{ KVP_OP_SEQ_APPEND, 14, false, make_append, learn_append },
	{ KVP_OP_SEQ_SET_TOKENS, 5, false, make_set_tokens, learn_set_tokens },
	{ KVP_OP_SEQ_ADVANCE, 11, false, make_advance, learn_advance },
	{ KVP_OP_SEQ_COPIED, 5, false, make_copied, learn_copied },
	{ KVP_OP_SEQ_FORK, 6, false, make_fork, learn_fork },
	{ KVP_OP_SEQ_TRUNCATE, 4, false, make_truncate, learn_truncate },
	{ KVP_OP_SEQ_FREE, 9, false, make_id, learn_free },
	{ KVP_OP_SEQ_TABLE, 5, false, make_table, learn_table },
	{ }
};

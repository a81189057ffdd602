// SPDX-License-Identifier: MIT
/*
 * Scenarios of sequences: from create to free.
 */
#include "failnth.h"

static const struct kvp_family_desc dense[] = { KVPV_DENSE(64, 4) };

/* ---- create ---- */

static int create(struct fn_state *s, u32 flags, const u32 *tokens, u32 nr, u64 reserve)
{
	struct kvp_seq_create arg = {
		.head.flags = flags,
		.tokens = kvpv_ptr(tokens),
		.nr_tokens = nr,
		.reserve = reserve,
	};
	int err;

	kvpv_space(1, arg.space);
	err = kvpv_do(s->a, KVP_OP_SEQ_CREATE, &arg);
	s->made = arg.seq;
	return err;
}

static int do_create_empty(struct fn_state *s)
{
	return create(s, 0, NULL, 0, 0);
}

static int do_create(struct fn_state *s)
{
	return create(s, 0, s->tokens, 40, 3);
}

/* An array of tokens for which memory is taken. */
static void long_pool(struct fn_state *s)
{
	fn_pool_again(s, KVP_POOL_STRICT, dense, 1);
}

static int do_create_long(struct fn_state *s)
{
	u32 tokens[200];

	kvpv_tokens(tokens, KVPV_COUNT(tokens), 3);
	return create(s, 0, tokens, KVPV_COUNT(tokens), 0);
}

static int do_create_with_extras(struct fn_state *s)
{
	const struct kvp_extra extras[] = {
		{ .node = 2, .digest = { 2 } }, { .node = 20, .digest = { 20 } },
	};
	struct kvp_seq_create arg = {
		.tokens = kvpv_ptr(s->tokens),
		.nr_tokens = 24,
		.extras = kvpv_ptr(extras),
		.nr_extras = KVPV_COUNT(extras),
	};

	kvpv_space(7, arg.space);
	return kvpv_do(s->a, KVP_OP_SEQ_CREATE, &arg);
}

static void published(struct fn_state *s)
{
	fn_published(s, s->tokens, 20);
	fn_idle(s, s->other, 20);
}

static int do_create_match_only(struct fn_state *s)
{
	return create(s, KVP_SEQ_MATCH_ONLY, s->other, 40, 0);
}

static int do_create_no_match(struct fn_state *s)
{
	return create(s, KVP_SEQ_NO_MATCH, s->tokens, 40, 0);
}

static void almost_full(struct fn_state *s)
{
	fn_idle(s, s->tokens, 40);
	kvpv_ok(kvpv_alloc(s->a, 0, 50, s->block));
}

static int do_create_other(struct fn_state *s)
{
	return create(s, 0, s->other, 40, 0);
}

/* Those that there are fill the first piece of the table of ids. */
static void many(struct fn_state *s)
{
	u32 i;

	for (i = 0; i < 16; i++)
		kvpv_ok(do_create_empty(s));
}

/* ---- append ---- */

static int append(struct fn_state *s, u32 nr, u64 reserve)
{
	struct kvp_copy copies[KVP_MAX_FAMILIES];
	struct kvp_seq_append arg = {
		.seq = s->seq[0],
		.tokens = nr ? kvpv_ptr(s->other) : 0,
		.nr_tokens = nr,
		.position = KVP_POS_END,
		.reserve = reserve,
		.copies = kvpv_ptr(copies),
		.nr_copies = KVP_MAX_FAMILIES,
	};

	return kvpv_do(s->a, KVP_OP_SEQ_APPEND, &arg);
}

static void short_one(struct fn_state *s)
{
	fn_computed(s, s->tokens, 1);
}

static int do_append(struct fn_state *s)
{
	return append(s, 40, 0);
}

static int do_reserve(struct fn_state *s)
{
	return append(s, 0, 60);
}

static void shared(struct fn_state *s)
{
	struct kvp_seq_fork arg;

	long_pool(s);
	fn_computed(s, s->tokens, 6);
	arg = (struct kvp_seq_fork){ .seq = s->seq[0], .tokens = KVP_POS_END };
	kvpv_ok(kvpv_do(s->a, KVP_OP_SEQ_FORK, &arg));
	s->seq[s->nr_seqs++] = arg.child;
}

static void shared_and_used(struct fn_state *s)
{
	shared(s);
	s->t = kvpv_timeline(s->a);
	kvpv_ok(kvpv_use_seq(s->a, s->seq[0], s->t, 1));
}

static int do_append_many(struct fn_state *s)
{
	return append(s, 70, 0);
}

static void short_and_full(struct fn_state *s)
{
	short_one(s);
	fn_idle(s, s->tokens, 40);
	kvpv_ok(kvpv_alloc(s->a, 0, 50, s->block));
}

/* ---- what goes on ---- */

static void reserved(struct fn_state *s)
{
	short_one(s);
	kvpv_ok(do_reserve(s));
}

static int do_set_tokens(struct fn_state *s)
{
	const struct kvp_extra extra = { .node = 10, .digest = { 9 } };
	struct kvp_seq_set_tokens arg = {
		.seq = s->seq[0],
		.tokens = kvpv_ptr(s->other),
		.nr_tokens = 50,
		.extras = kvpv_ptr(&extra),
		.nr_extras = 1,
		.position = KVP_POS_END,
	};

	return kvpv_do(s->a, KVP_OP_SEQ_SET_TOKENS, &arg);
}

static void uncomputed(struct fn_state *s)
{
	kvpv_ok(create(s, 0, s->tokens, 40, 0));
	s->seq[s->nr_seqs++] = s->made;
}

static int do_advance(struct fn_state *s)
{
	return kvpv_advance(s->a, s->seq[0], 40);
}

static int do_advance_refused(struct fn_state *s)
{
	return kvpv_advance(s->a, s->seq[0], 41);
}

static int seq_op(struct fn_state *s, u32 op)
{
	struct kvp_seq_id arg = { .seq = s->seq[0] };

	return kvpv_do(s->a, op, &arg);
}

static void owing(struct fn_state *s)
{
	shared(s);
	kvpv_ok(append(s, 1, 0));
}

static void owing_and_used(struct fn_state *s)
{
	owing(s);
	s->t = kvpv_timeline(s->a);
	kvpv_ok(kvpv_use_seq(s->a, s->seq[0], s->t, 1));
}

static int do_copied(struct fn_state *s)
{
	return seq_op(s, KVP_OP_SEQ_COPIED);
}

static int fork_at(struct fn_state *s, u64 tokens)
{
	struct kvp_copy copies[KVP_MAX_FAMILIES];
	struct kvp_seq_fork arg = {
		.seq = s->seq[0],
		.tokens = tokens,
		.copies = kvpv_ptr(copies),
		.nr_copies = KVP_MAX_FAMILIES,
	};
	int err = kvpv_do(s->a, KVP_OP_SEQ_FORK, &arg);

	s->made = arg.child;
	return err;
}

static void computed(struct fn_state *s)
{
	fn_computed(s, s->tokens, 40);
}

static int do_fork(struct fn_state *s)
{
	return fork_at(s, KVP_POS_END);
}

/* The parent can go on in its last block. */
static void writing(struct fn_state *s)
{
	long_pool(s);
	fn_computed(s, s->tokens, 6);
	kvpv_ok(append(s, 0, 10));
}

static void used(struct fn_state *s)
{
	computed(s);
	s->t = kvpv_timeline(s->a);
	kvpv_ok(kvpv_use_seq(s->a, s->seq[0], s->t, 1));
}

static int do_truncate(struct fn_state *s)
{
	struct kvp_seq_truncate arg = { .seq = s->seq[0], .tokens = 39 };

	return kvpv_do(s->a, KVP_OP_SEQ_TRUNCATE, &arg);
}

static int do_truncate_all(struct fn_state *s)
{
	struct kvp_seq_truncate arg = { .seq = s->seq[0] };

	return kvpv_do(s->a, KVP_OP_SEQ_TRUNCATE, &arg);
}

static int do_free(struct fn_state *s)
{
	return seq_op(s, KVP_OP_SEQ_FREE);
}

static int do_table(struct fn_state *s)
{
	u64 blocks[80];

	return kvpv_table(s->a, s->seq[0], 1, blocks, KVPV_COUNT(blocks), NULL);
}

const struct fn_scenario fn_seq_scenarios[] = {
	{
		.op = KVP_OP_SEQ_CREATE, .name = "seq-create of an empty one", .after = FN_UNDONE,
		.allocs = 2, .call = do_create_empty,
	}, {
		.op = KVP_OP_SEQ_CREATE, .name = "seq-create", .after = FN_UNDONE, .allocs = 5,
		.call = do_create,
	}, {
		.op = KVP_OP_SEQ_CREATE, .name = "seq-create of a long one", .after = FN_UNDONE,
		.allocs = 5, .prepare = long_pool, .call = do_create_long,
	}, {
		.op = KVP_OP_SEQ_CREATE, .name = "seq-create with extras", .after = FN_UNDONE,
		.allocs = 5, .call = do_create_with_extras,
	}, {
		.op = KVP_OP_SEQ_CREATE, .name = "seq-create that matches", .after = FN_UNDONE,
		.allocs = 3, .prepare = published, .call = do_create,
	}, {
		.op = KVP_OP_SEQ_CREATE, .name = "seq-create that matches only",
		.after = FN_UNDONE, .allocs = 3, .prepare = published,
		.call = do_create_match_only,
	}, {
		.op = KVP_OP_SEQ_CREATE, .name = "seq-create without match", .after = FN_UNDONE,
		.allocs = 3, .prepare = published, .call = do_create_no_match,
	}, {
		.op = KVP_OP_SEQ_CREATE, .name = "seq-create that reclaims",
		.after = FN_UNDONE_NEARLY, .allocs = 4, .prepare = almost_full,
		.call = do_create_other,
	}, {
		.op = KVP_OP_SEQ_CREATE, .name = "seq-create beyond a table of ids",
		.after = FN_UNDONE, .allocs = 2, .prepare = many, .call = do_create_empty,
	}, {
		.op = KVP_OP_SEQ_APPEND, .name = "seq-append", .allocs = 3,
		.prepare = short_one, .call = do_append,
	}, {
		.op = KVP_OP_SEQ_APPEND, .name = "seq-append of slots", .allocs = 2,
		.prepare = short_one, .call = do_reserve,
	}, {
		.op = KVP_OP_SEQ_APPEND, .name = "seq-append with copies", .allocs = 2,
		.prepare = shared, .call = do_append_many,
	}, {
		.op = KVP_OP_SEQ_APPEND, .name = "seq-append with copies, in use", .allocs = 2,
		.prepare = shared_and_used, .call = do_append_many,
	}, {
		.op = KVP_OP_SEQ_APPEND, .name = "seq-append that reclaims", .allocs = 3,
		.prepare = short_and_full, .call = do_append,
	}, {
		.op = KVP_OP_SEQ_SET_TOKENS, .name = "seq-set-tokens", .allocs = 1,
		.prepare = reserved, .call = do_set_tokens,
	}, {
		.op = KVP_OP_SEQ_ADVANCE, .name = "seq-advance past windows",
		.prepare = uncomputed, .call = do_advance,
	}, {
		.op = KVP_OP_SEQ_ADVANCE, .name = "seq-advance refused", .expected = -EINVAL,
		.prepare = uncomputed, .call = do_advance_refused,
	}, {
		.op = KVP_OP_SEQ_COPIED, .name = "seq-copied",
		.prepare = owing, .call = do_copied,
	}, {
		.op = KVP_OP_SEQ_COPIED, .name = "seq-copied, in use", .allocs = 1,
		.prepare = owing_and_used, .call = do_copied,
	}, {
		.op = KVP_OP_SEQ_FORK, .name = "seq-fork", .after = FN_UNDONE, .allocs = 4,
		.prepare = computed, .call = do_fork,
	}, {
		.op = KVP_OP_SEQ_FORK, .name = "seq-fork with copies", .after = FN_UNDONE,
		.allocs = 3, .prepare = writing, .call = do_fork,
	}, {
		.op = KVP_OP_SEQ_TRUNCATE, .name = "seq-truncate",
		.prepare = uncomputed, .call = do_truncate,
	}, {
		.op = KVP_OP_SEQ_TRUNCATE, .name = "seq-truncate, in use", .allocs = 1,
		.prepare = used, .call = do_truncate_all,
	}, {
		.op = KVP_OP_SEQ_FREE, .name = "seq-free",
		.prepare = computed, .call = do_free,
	}, {
		.op = KVP_OP_SEQ_FREE, .name = "seq-free, in use",
		.prepare = used, .call = do_free,
	}, {
		.op = KVP_OP_SEQ_TABLE, .name = "seq-table", .allocs = 1,
		.prepare = computed, .call = do_table,
	}, {}
};

// SPDX-License-Identifier: MIT
/*
 * Scenarios of raw blocks.
 */
#include "failnth.h"

#define MANY	(FN_BLOCKS - 6)		/* an array for which memory is taken */

static int do_alloc(struct fn_state *s)
{
	return kvpv_alloc(s->a, 0, 4, s->block);
}

static int do_alloc_many(struct fn_state *s)
{
	return kvpv_alloc(s->a, 0, MANY, s->block);
}

/* The table of raw references has its room already. */
static void after_others(struct fn_state *s)
{
	kvpv_ok(do_alloc_many(s));
	kvpv_ok(kvpv_unref(s->a, s->block, MANY));
}

static void almost_full(struct fn_state *s)
{
	fn_idle(s, s->tokens, 40);
}

static void with_blocks(struct fn_state *s)
{
	kvpv_ok(do_alloc_many(s));
}

static int refs(struct fn_state *s, u32 op, u32 flags, u64 holder, u32 nr)
{
	struct kvp_block_refs arg = {
		.head.flags = flags,
		.blocks = kvpv_ptr(s->block),
		.nr = nr,
		.holder = holder,
	};

	return kvpv_do(s->a, op, &arg);
}

static int do_ref(struct fn_state *s)
{
	return refs(s, KVP_OP_BLOCK_REF, 0, 0, MANY);
}

static void with_table(struct fn_state *s)
{
	fn_computed(s, s->tokens, 70);
	kvpv_ok(kvpv_table(s->a, s->seq[0], 0, s->block, 70, NULL));
}

static int do_ref_of_seq(struct fn_state *s)
{
	return refs(s, KVP_OP_BLOCK_REF, 0, s->seq[0], 70);
}

static void with_match(struct fn_state *s)
{
	u64 matched;

	fn_idle(s, s->tokens, 70);
	kvpv_ok(kvpv_match(s->a, 1, s->tokens, 70, 0, s->block, 70, &matched, &s->id));
	kvpv_same(matched, 70);
}

static int do_ref_of_match(struct fn_state *s)
{
	return refs(s, KVP_OP_BLOCK_REF, KVP_BLOCK_REF_MATCH, s->id, 70);
}

static int do_unref(struct fn_state *s)
{
	return refs(s, KVP_OP_BLOCK_UNREF, 0, 0, MANY);
}

static void with_blocks_in_use(struct fn_state *s)
{
	u32 i;

	with_blocks(s);
	s->t = kvpv_timeline(s->a);
	for (i = 0; i < 8; i++)
		kvpv_ok(kvpv_use_block(s->a, s->block[i], s->t, 1 + i / 3));
}

static int make_private(struct fn_state *s, u64 block)
{
	struct kvp_block_make_private arg = { .block = block };

	return kvpv_do(s->a, KVP_OP_BLOCK_MAKE_PRIVATE, &arg);
}

static int do_make_private(struct fn_state *s)
{
	return make_private(s, s->block[0]);
}

/* So that it has to be another block. */
static void with_shared_block(struct fn_state *s)
{
	kvpv_ok(do_alloc(s));
	kvpv_ok(refs(s, KVP_OP_BLOCK_REF, 0, 0, 4));
}

static void with_own_block(struct fn_state *s)
{
	kvpv_ok(do_alloc(s));
}

static int do_unref_refused(struct fn_state *s)
{
	return refs(s, KVP_OP_BLOCK_UNREF, 0, 0, 5);
}

/* Of five, the last one is not held. */
static void with_freed_block(struct fn_state *s)
{
	kvpv_ok(kvpv_alloc(s->a, 0, 5, s->block));
	kvpv_ok(kvpv_unref(s->a, s->block + 4, 1));
}

const struct fn_scenario fn_block_scenarios[] = {
	{
		.op = KVP_OP_BLOCK_ALLOC, .name = "block-alloc", .after = FN_UNDONE_NEARLY,
		.allocs = 1, .call = do_alloc,
	}, {
		.op = KVP_OP_BLOCK_ALLOC, .name = "block-alloc of many", .after = FN_UNDONE_NEARLY,
		.allocs = 2, .call = do_alloc_many,
	}, {
		.op = KVP_OP_BLOCK_ALLOC, .name = "block-alloc after others", .after = FN_UNDONE,
		.allocs = 1, .prepare = after_others, .call = do_alloc_many,
	}, {
		.op = KVP_OP_BLOCK_ALLOC, .name = "block-alloc that reclaims",
		.after = FN_UNDONE_NEARLY, .allocs = 2,
		.prepare = almost_full, .call = do_alloc_many,
	}, {
		.op = KVP_OP_BLOCK_REF, .name = "block-ref of many", .allocs = 1,
		.prepare = with_blocks, .call = do_ref,
	}, {
		.op = KVP_OP_BLOCK_REF, .name = "block-ref of a sequence's", .allocs = 2,
		.prepare = with_table, .call = do_ref_of_seq,
	}, {
		.op = KVP_OP_BLOCK_REF, .name = "block-ref of a match's", .allocs = 2,
		.prepare = with_match, .call = do_ref_of_match,
	}, {
		.op = KVP_OP_BLOCK_UNREF, .name = "block-unref of many", .allocs = 1,
		.prepare = with_blocks, .call = do_unref,
	}, {
		.op = KVP_OP_BLOCK_UNREF, .name = "block-unref of some in use", .allocs = 1,
		.prepare = with_blocks_in_use, .call = do_unref,
	}, {
		.op = KVP_OP_BLOCK_UNREF, .name = "block-unref refused", .expected = -ESTALE,
		.prepare = with_freed_block, .call = do_unref_refused,
	}, {
		.op = KVP_OP_BLOCK_MAKE_PRIVATE, .name = "block-make-private with a copy",
		.after = FN_UNDONE, .prepare = with_shared_block, .call = do_make_private,
	}, {
		.op = KVP_OP_BLOCK_MAKE_PRIVATE, .name = "block-make-private of one's own",
		.prepare = with_own_block, .call = do_make_private,
	}, {}
};

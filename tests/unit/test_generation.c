// SPDX-License-Identifier: MIT
/*
 * Ids that end: a block whose generations are used up is retired, visibly, and never handed
 * out again; so is the place of a sequence's id. The generations are set near their
 * end in the structures.
 */
#include <check.h>

#include "unit.h"

static struct kvpt_env env;
static struct kvp_client *a;
static u32 tok[64], other[64];

static void setup(void)
{
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(4, 4) }, 1);
	kvpt_tokens(tok, 64, 1);
	kvpt_tokens(other, 64, 2);
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

/* Set the generation of a block that nobody names. */
static void set_generation(u32 family, u32 index, u64 gen)
{
	struct kvp_block *block = &kvpt_pool_of(a)->family[family].blocks[index];

	ck_assert_uint_eq(kvp_block_state(block), KVP_BLOCK_FREE);
	block->word = (block->word & ~KVP_BLOCK_GEN_MASK) | gen;
}

/* Take blocks until the one of @index is among them; the others are given back. */
static u64 take(u32 family, u32 index)
{
	u64 blocks[16], found = KVP_BLOCK_NULL;
	u32 nr = kvpt_blocks(a, family, KVP_BLOCK_FREE);
	u32 i;

	kvpt_ok(kvpt_alloc(a, family, nr, blocks));
	for (i = 0; i < nr; i++) {
		if (KVP_BLOCK_INDEX(blocks[i]) != index)
			continue;
		found = blocks[i];
		blocks[i] = KVP_BLOCK_NULL;
	}
	kvpt_ok(kvpt_unref(a, blocks, nr));
	return found;
}

static void expect_retired(u32 family, u64 retired, u64 free)
{
	struct kvp_family_stats stats = kvpt_family_of(a, 0, family);

	ck_assert_uint_eq(stats.state[KVP_BLOCK_RETIRED], retired);
	ck_assert_uint_eq(stats.state[KVP_BLOCK_FREE], free);
	kvpt_audit_clean(a);
}

START_TEST(test_used_up_block_is_retired)
{
	u64 before, last;
	struct kvp_block_entry entry;

	set_generation(0, 2, KVP_BLOCK_GEN_MASK - 1);
	before = take(0, 2);
	ck_assert_uint_eq(KVP_BLOCK_GEN(before), KVP_BLOCK_GEN_MASK - 1);
	kvpt_ok(kvpt_unref(a, &before, 1));
	expect_retired(0, 0, 4);
	last = take(0, 2);
	ck_assert_uint_eq(KVP_BLOCK_GEN(last), KVP_BLOCK_GEN_MASK);
	kvpt_refused(&env, a, kvpt_ref(a, &before, 1), -ESTALE, KVP_REASON_GENERATION, 0);
	kvpt_ok(kvpt_ref(a, &last, 1));
	kvpt_ok(kvpt_unref(a, &last, 1));
	kvpt_ok(kvpt_unref(a, &last, 1));

	expect_retired(0, 1, 3);
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).total, 4);
	ck_assert_uint_eq(kvpt_family_of(a, KVP_STATS_SELF, 0).charged, 0);
	kvpt_refused(&env, a, kvpt_ref(a, &last, 1), -ESTALE, KVP_REASON_GENERATION, 0);
	kvpt_refused(&env, a, kvpt_unref(a, &last, 1), -ESTALE, KVP_REASON_GENERATION, 0);
	entry = kvpt_entry(a, last);
	ck_assert_uint_eq(entry.state, KVP_BLOCK_RETIRED);
	ck_assert_uint_eq(entry.why, KVP_WHY_RETIRED);
	ck_assert_uint_eq(entry.count, 0);
}
END_TEST

START_TEST(test_retired_block_is_never_handed_out)
{
	u64 block, blocks[3];
	u32 round, i;

	set_generation(0, 2, KVP_BLOCK_GEN_MASK);
	block = take(0, 2);
	kvpt_ok(kvpt_unref(a, &block, 1));
	for (round = 0; round < 10; round++) {
		kvpt_ok(kvpt_alloc(a, 0, 3, blocks));
		for (i = 0; i < 3; i++)
			ck_assert_uint_ne(KVP_BLOCK_INDEX(blocks[i]), 2);
		kvpt_refused(&env, a, kvpt_alloc(a, 0, 1, &block), -ENOSPC,
			     KVP_REASON_POOL_FULL, 0);
		kvpt_ok(kvpt_unref(a, blocks, 3));
	}
	/* The pool is smaller for good. */
	kvpt_refused(&env, a, kvpt_alloc(a, 0, 4, (u64[4]) { }), -EFBIG,
		     KVP_REASON_NEVER_FITS, 0);
}
END_TEST

START_TEST(test_block_of_a_sequence)
{
	u64 seq, blocks[4];
	u32 i;

	for (i = 0; i < 4; i++)
		set_generation(0, i, KVP_BLOCK_GEN_MASK);
	kvpt_ok(kvpt_create(a, 1, tok, 16, &seq));
	kvpt_expect_table(a, seq, 0, blocks, 4);
	kvpt_ok(kvpt_truncate(a, seq, 8));
	expect_retired(0, 2, 0);
	kvpt_ok(kvpt_free(a, seq));
	expect_retired(0, 4, 0);
	kvpt_refused(&env, a, kvpt_create(a, 1, tok, 4, &seq), -EFBIG,
		     KVP_REASON_NEVER_FITS, 0);
	kvpt_refused(&env, a, kvpt_ref(a, blocks, 1), -ESTALE, KVP_REASON_GENERATION, 0);
}
END_TEST

START_TEST(test_idle_block_with_the_last_generation)
{
	u64 seq, block, more[3];
	u32 i;

	for (i = 0; i < 4; i++)
		set_generation(0, i, KVP_BLOCK_GEN_MASK);
	seq = kvpt_published(a, 1, tok, 4);
	kvpt_expect_table(a, seq, 0, &block, 1);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_expect_blocks(a, 0, 3, 0, 1);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 4), 4);
	/* Held and idle again: it is still the same block. */
	kvpt_ok(kvpt_create(a, 1, tok, 4, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 4);
	kvpt_ok(kvpt_free(a, seq));
	expect_retired(0, 0, 3);
	/* Reclaim gives nothing that could be used. */
	kvpt_ok(kvpt_alloc(a, 0, 3, more));
	kvpt_expect(kvpt_alloc(a, 0, 1, &block), -ENOSPC, KVP_REASON_COVERED);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 4), 4);
	kvpt_ok(kvpt_reclaim(a, 1));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 1);
	expect_retired(0, 1, 0);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 4), 0);
	kvpt_ok(kvpt_unref(a, more, 3));
	expect_retired(0, 4, 0);
}
END_TEST

START_TEST(test_allocation_passes_over_what_reclaim_retires)
{
	u64 seq, blocks[3];

	/* Only the block of the first prefix has come to its end. */
	seq = kvpt_published(a, 1, tok, 4);
	kvpt_expect_table(a, seq, 0, blocks, 1);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_block_of(a, blocks[0])->word |= KVP_BLOCK_GEN_MASK;
	kvpt_ok(kvpt_make_published(a, 1, other, 4));
	kvpt_ok(kvpt_alloc(a, 0, 3, blocks));
	expect_retired(0, 1, 0);
	kvpt_expect_blocks(a, 0, 0, 3, 0);
}
END_TEST

START_TEST(test_block_of_a_window)
{
	static const struct kvp_family_desc families[] = {
		KVPT_DENSE(4, 4), KVPT_WINDOW(4, 4, 2),
	};
	u64 seq;

	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool(&env, families, 2);
	set_generation(1, 0, KVP_BLOCK_GEN_MASK);
	kvpt_ok(kvpt_create(a, 1, tok, 16, &seq));
	kvpt_ok(kvpt_advance(a, seq, 16));
	expect_retired(1, 1, 2);
	kvpt_ok(kvpt_free(a, seq));
	expect_retired(1, 1, 3);
	expect_retired(0, 0, 4);
}
END_TEST

START_TEST(test_place_of_a_sequence_id_that_is_used_up)
{
	u64 seq, last, next;

	kvpt_ok(kvpt_create(a, 1, NULL, 0, &seq));
	kvpt_ok(kvpt_free(a, seq));
	kvp_id_slot(&a->seqs, (u32)seq)->gen = 0x7fffffff;
	kvpt_ok(kvpt_create(a, 1, NULL, 0, &last));
	ck_assert_uint_eq(last, 0x7fffffffULL << 32 | (u32)seq);
	kvpt_ok(kvpt_free(a, last));
	kvpt_refused(&env, a, kvpt_free(a, last), -ESTALE, KVP_REASON_GENERATION, 0);
	kvpt_ok(kvpt_create(a, 1, NULL, 0, &next));
	ck_assert_uint_ne((u32)next, (u32)last);
	/* Bit 63 is never part of an id: it says KVP_REF. */
	ck_assert_uint_eq(last >> 63, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("generation");
	TCase *blocks = tcase_create("blocks");

	tcase_add_checked_fixture(blocks, setup, teardown);
	tcase_add_test(blocks, test_used_up_block_is_retired);
	tcase_add_test(blocks, test_retired_block_is_never_handed_out);
	tcase_add_test(blocks, test_block_of_a_sequence);
	tcase_add_test(blocks, test_idle_block_with_the_last_generation);
	tcase_add_test(blocks, test_allocation_passes_over_what_reclaim_retires);
	tcase_add_test(blocks, test_block_of_a_window);
	tcase_add_test(blocks, test_place_of_a_sequence_id_that_is_used_up);
	suite_add_tcase(s, blocks);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

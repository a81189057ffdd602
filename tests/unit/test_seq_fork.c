// SPDX-License-Identifier: MIT
/*
 * KVP_OP_SEQ_FORK: what a child shares with its parent, what it gets for itself, and each
 * refusal alone. Forks in pools with windows and state are in test_families.c.
 */
#include <check.h>

#include "unit.h"

static struct kvpt_env env;
static struct kvp_client *a;
static u32 tok[64], other[64];

static void remake(const struct kvp_pool_create *with, struct kvp_family_desc family)
{
	if (a)
		kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool_with(&env, with, &family, 1);
}

static void setup(void)
{
	const struct kvp_pool_create with = { };

	a = NULL;
	remake(&with, (struct kvp_family_desc)KVPT_DENSE(16, 4));
	kvpt_tokens(tok, 64, 1);
	kvpt_tokens(other, 64, 2);
}

/* The usual pool, but with two blocks to a node. */
static void setup_pairs(void)
{
	const struct kvp_pool_create with = { .index_tokens = 8 };

	remake(&with, (struct kvp_family_desc)KVPT_DENSE(16, 4));
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

/* A sequence of @nr computed tokens and @reserve slots beyond them. */
static u64 parent_of(u32 nr, u64 reserve)
{
	const struct kvp_seq_create with = { .reserve = reserve };
	u64 seq;

	kvpt_ok(kvpt_create_with(a, &with, 1, tok, nr, &seq));
	kvpt_ok(kvpt_advance(a, seq, nr));
	return seq;
}

/* ---- sharing ---- */

START_TEST(test_fork_at_a_node_boundary_shares)
{
	u64 seq = parent_of(9, 3), child, was[3], is[2];

	kvpt_expect_table(a, seq, 0, was, 3);
	kvpt_ok(kvpt_fork(a, seq, 8, &child));
	ck_assert_uint_ne(child, 0);
	ck_assert_uint_ne(child, seq);
	ck_assert_uint_eq(kvpt.fork.tokens, 8);
	ck_assert_uint_eq(kvpt.fork.nr_copies, 0);
	kvpt_expect_lengths(a, child, 8, 8, 8, 0);
	kvpt_expect_table(a, child, 0, is, 2);
	ck_assert_mem_eq(is, was, sizeof(is));
	kvpt_expect_lengths(a, seq, 9, 9, 12, 0);
	ck_assert_uint_eq(kvpt_count(a, was[0]), 2);
	ck_assert_uint_eq(kvpt_count(a, was[1]), 2);
	ck_assert_uint_eq(kvpt_count(a, was[2]), 1);
	kvpt_expect_blocks(a, 0, 13, 3, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).slots, 3 + 2);
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).seqs, 2);
	ck_assert_uint_eq(kvpt_family_of(a, KVP_STATS_SELF, 0).charged, 3);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1 + 3);
}
END_TEST

START_TEST(test_part_filled_end_is_shared_if_nobody_writes_there)
{
	u64 seq = parent_of(6, 0), child, was[2], is[2];

	kvpt_expect_table(a, seq, 0, was, 2);
	kvpt_ok(kvpt_fork(a, seq, KVP_POS_END, &child));
	ck_assert_uint_eq(kvpt.fork.tokens, 6);
	ck_assert_uint_eq(kvpt.fork.nr_copies, 0);
	kvpt_expect_lengths(a, child, 6, 6, 6, 0);
	kvpt_expect_table(a, child, 0, is, 2);
	ck_assert_mem_eq(is, was, sizeof(is));
	kvpt_expect_blocks(a, 0, 14, 2, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1 + 2);
	/* Not owed anything, so it goes on at once. */
	kvpt_ok(kvpt_append(a, child, other, 1));
}
END_TEST

START_TEST(test_part_filled_end_is_copied_if_the_parent_has_slots_there)
{
	u64 seq = parent_of(6, 1), child, was[2], is[2];

	kvpt_expect_table(a, seq, 0, was, 2);
	kvpt_ok(kvpt_fork(a, seq, KVP_POS_END, &child));
	ck_assert_uint_eq(kvpt.fork.tokens, 6);
	ck_assert_uint_eq(kvpt.fork.nr_copies, 1);
	kvpt_expect_lengths(a, child, 6, 6, 6, 0);
	kvpt_expect_table(a, child, 0, is, 2);
	ck_assert_uint_eq(is[0], was[0]);
	ck_assert_uint_ne(is[1], was[1]);
	ck_assert_uint_eq(kvpt_copies[0].src, was[1]);
	ck_assert_uint_eq(kvpt_copies[0].dst, is[1]);
	ck_assert_uint_eq(kvpt_copies[0].tokens, 2);
	ck_assert_uint_eq(kvpt_copies[0].reserved, 0);
	ck_assert_uint_eq(kvpt_count(a, was[1]), 2);
	ck_assert_uint_eq(kvpt_count(a, is[1]), 1);
	kvpt_expect_blocks(a, 0, 13, 3, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).copies, 1);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1 + 3);

	kvpt_refused(&env, a, kvpt_append(a, child, other, 1), -EBUSY,
		     KVP_REASON_COPY_PENDING, 0);
	kvpt_refused(&env, a, kvpt_fork(a, child, 4, NULL), -EBUSY,
		     KVP_REASON_COPY_PENDING, 0);
	/* Only the child owes the copy. */
	kvpt_ok(kvpt_set_tokens(a, seq, tok + 6, 1));
	kvpt_ok(kvpt_copied(a, child));
	ck_assert_uint_eq(kvpt_count(a, was[1]), 1);
	kvpt_ok(kvpt_append(a, child, other, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 0);
	kvpt_expect_lengths(a, seq, 7, 6, 7, 0);
}
END_TEST

START_TEST(test_fork_inside_what_the_parent_goes_on_with)
{
	u64 seq = parent_of(9, 0), child, was[3], is[2];

	kvpt_expect_table(a, seq, 0, was, 3);
	kvpt_ok(kvpt_fork(a, seq, 7, &child));
	ck_assert_uint_eq(kvpt.fork.tokens, 7);
	ck_assert_uint_eq(kvpt.fork.nr_copies, 1);
	ck_assert_uint_eq(kvpt_copies[0].src, was[1]);
	ck_assert_uint_eq(kvpt_copies[0].tokens, 3);
	kvpt_expect_lengths(a, child, 7, 7, 7, 0);
	kvpt_expect_table(a, child, 0, is, 2);
	ck_assert_uint_eq(is[0], was[0]);
	ck_assert_uint_eq(kvpt_copies[0].dst, is[1]);
}
END_TEST

START_TEST(test_the_whole_node_is_copied)
{
	u64 seq, child, was[4], is[4];

	setup_pairs();
	seq = parent_of(14, 1);
	kvpt_expect_table(a, seq, 0, was, 4);
	kvpt_ok(kvpt_fork(a, seq, KVP_POS_END, &child));
	ck_assert_uint_eq(kvpt.fork.nr_copies, 2);
	kvpt_expect_table(a, child, 0, is, 4);
	ck_assert_uint_eq(is[0], was[0]);
	ck_assert_uint_eq(is[1], was[1]);
	ck_assert_uint_eq(kvpt_copies[0].src, was[2]);
	ck_assert_uint_eq(kvpt_copies[0].dst, is[2]);
	ck_assert_uint_eq(kvpt_copies[0].tokens, 4);
	ck_assert_uint_eq(kvpt_copies[1].src, was[3]);
	ck_assert_uint_eq(kvpt_copies[1].dst, is[3]);
	ck_assert_uint_eq(kvpt_copies[1].tokens, 2);
	kvpt_expect_blocks(a, 0, 10, 6, 0);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_expect_blocks(a, 0, 10, 6, 0);
	kvpt_ok(kvpt_copied(a, child));
	kvpt_expect_blocks(a, 0, 12, 4, 0);
}
END_TEST

START_TEST(test_only_the_shared_part_of_a_node_is_copied)
{
	u64 seq, child, is[1];

	setup_pairs();
	seq = parent_of(8, 0);
	kvpt_ok(kvpt_fork(a, seq, 3, &child));
	ck_assert_uint_eq(kvpt.fork.nr_copies, 1);
	ck_assert_uint_eq(kvpt_copies[0].tokens, 3);
	kvpt_expect_table(a, child, 0, is, 1);
	kvpt_expect_blocks(a, 0, 13, 3, 0);
}
END_TEST

START_TEST(test_fork_of_nothing)
{
	u64 seq = parent_of(9, 0), child;

	kvpt_ok(kvpt_fork(a, seq, 0, &child));
	ck_assert_uint_eq(kvpt.fork.tokens, 0);
	kvpt_expect_lengths(a, child, 0, 0, 0, 0);
	kvpt_expect_blocks(a, 0, 13, 3, 0);
	kvpt_ok(kvpt_append(a, child, other, 4));
	kvpt_ok(kvpt_advance(a, child, 4));
	kvpt_ok(kvpt_publish(a, child));
	/* In the namespace of its parent. */
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 4), 4);
}
END_TEST

START_TEST(test_fork_of_a_sequence_with_nothing_computed)
{
	u64 seq, child;

	kvpt_ok(kvpt_create(a, 1, tok, 9, &seq));
	kvpt_ok(kvpt_fork(a, seq, KVP_POS_END, &child));
	ck_assert_uint_eq(kvpt.fork.tokens, 0);
	kvpt_expect_lengths(a, child, 0, 0, 0, 0);
}
END_TEST

START_TEST(test_child_has_the_published_prefix)
{
	u64 seq, child, blocks[3];

	seq = kvpt_published(a, 1, tok, 12);
	kvpt_ok(kvpt_fork(a, seq, 8, &child));
	kvpt_expect_lengths(a, child, 8, 8, 8, 8);
	kvpt_expect_table(a, seq, 0, blocks, 3);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_expect_blocks(a, 0, 13, 2, 1);
	kvpt_ok(kvpt_append(a, child, other, 4));
	kvpt_ok(kvpt_advance(a, child, 12));
	kvpt_ok(kvpt_publish(a, child));
	ck_assert_uint_eq(kvpt.publish.published, 12);
	ck_assert_uint_eq(kvpt.publish.nr_new, 1);
	memcpy(tok + 8, other, 4 * sizeof(*tok));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
}
END_TEST

START_TEST(test_child_outlives_its_parent)
{
	u64 seq = parent_of(8, 0), child, was[2], is[2];

	kvpt_expect_table(a, seq, 0, was, 2);
	kvpt_ok(kvpt_fork(a, seq, 8, &child));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_expect_blocks(a, 0, 14, 2, 0);
	kvpt_expect_table(a, child, 0, is, 2);
	ck_assert_mem_eq(is, was, sizeof(is));
	kvpt_ok(kvpt_publish(a, child));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
	kvpt_ok(kvpt_free(a, child));
	kvpt_expect_blocks(a, 0, 14, 0, 2);
}
END_TEST

START_TEST(test_forks_publish_the_shared_nodes_once)
{
	u64 seq = parent_of(8, 0), child;

	kvpt_ok(kvpt_fork(a, seq, 8, &child));
	kvpt_ok(kvpt_publish(a, child));
	ck_assert_uint_eq(kvpt.publish.nr_new, 2);
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 8);
	ck_assert_uint_eq(kvpt.publish.nr_new, 0);
	kvpt_expect_lengths(a, seq, 8, 8, 8, 8);
	kvpt_expect_blocks(a, 0, 14, 2, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).published_nodes, 2);
}
END_TEST

START_TEST(test_many_generations)
{
	u64 seq = parent_of(6, 0), child, blocks[2];
	u32 i;

	for (i = 0; i < 50; i++) {
		kvpt_ok(kvpt_fork(a, seq, KVP_POS_END, &child));
		seq = child;
	}
	kvpt_expect_table(a, seq, 0, blocks, 2);
	ck_assert_uint_eq(kvpt_count(a, blocks[0]), 51);
	ck_assert_uint_eq(kvpt_count(a, blocks[1]), 51);
	kvpt_expect_blocks(a, 0, 14, 2, 0);
}
END_TEST

START_TEST(test_copied_digest_comes_along)
{
	const struct kvp_extra extra = kvpt_extra(1, 7);
	const struct kvp_seq_create with = {
		.extras = (u64)(uintptr_t)&extra,
		.nr_extras = 1,
		.reserve = 1,
	};
	struct kvp_prefix_match match = { .extras = (u64)(uintptr_t)&extra, .nr_extras = 1 };
	u64 seq, child;

	kvpt_ok(kvpt_create_with(a, &with, 1, tok, 6, &seq));
	kvpt_ok(kvpt_advance(a, seq, 6));
	kvpt_ok(kvpt_fork(a, seq, 6, &child));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 1 + 2);
	kvpt_ok(kvpt_copied(a, child));
	kvpt_ok(kvpt_append(a, child, tok + 6, 2));
	kvpt_ok(kvpt_advance(a, child, 8));
	kvpt_ok(kvpt_publish(a, child));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 4);
	kvpt_ok(kvpt_match_with(a, &match, 1, tok, 8));
	ck_assert_uint_eq(kvpt.match.matched, 8);
}
END_TEST

/* ---- refusals ---- */

START_TEST(test_unknown_sequences)
{
	u64 id;

	kvpt_refuses_bad_ids(&env, a, a, id, kvpt_fork(a, id, 0, NULL));
}
END_TEST

START_TEST(test_unknown_flag)
{
	struct kvp_seq_fork arg = { .head.flags = 1, .seq = parent_of(4, 0) };

	ck_assert_int_eq(kvpt_do(a, KVP_OP_SEQ_FORK, &arg), -EINVAL);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_FLAG);
	arg.head.flags = 0;
	arg.reserved = 1;
	ck_assert_int_eq(kvpt_do(a, KVP_OP_SEQ_FORK, &arg), -EINVAL);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_RESERVED);
	ck_assert_uint_eq(arg.head.where, kvpt_at(struct kvp_seq_fork, reserved));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).seqs, 1);
}
END_TEST

START_TEST(test_busy_sequence)
{
	u64 seq = parent_of(4, 0);

	kvpt_refused(&env, a, kvpt_while_busy(a, seq, kvpt_fork(a, seq, 4, NULL)), -EBUSY,
		     KVP_REASON_SEQ_BUSY, 0);
}
END_TEST

START_TEST(test_more_than_is_computed)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 9, &seq));
	kvpt_ok(kvpt_advance(a, seq, 6));
	kvpt_refused(&env, a, kvpt_fork(a, seq, 7, NULL), -EINVAL, KVP_REASON_LENGTH, 0);
	kvpt_refused(&env, a, kvpt_fork(a, seq, KVP_POS_END - 1, NULL), -EINVAL,
		     KVP_REASON_LENGTH, 0);
	kvpt_ok(kvpt_fork(a, seq, 6, NULL));
}
END_TEST

START_TEST(test_too_little_room_for_the_copies)
{
	struct kvp_seq_fork arg = { .tokens = KVP_POS_END };
	struct kvp_copy copies[2];
	struct kvpt_world was, is;
	u32 room;

	setup_pairs();
	arg.seq = parent_of(14, 1);
	for (room = 0; room < 2; room++) {
		arg.copies = room ? (u64)(uintptr_t)copies : 0;
		arg.nr_copies = room;
		kvpt_world_take(&env, a, &was);
		ck_assert_int_eq(kvpt_do(a, KVP_OP_SEQ_FORK, &arg), -EOVERFLOW);
		ck_assert_uint_eq(arg.head.reason, KVP_REASON_COPIES);
		ck_assert_uint_eq(arg.head.where, 2);
		kvpt_world_take(&env, a, &is);
		ck_assert_ptr_null(kvpt_world_diff(&was, &is));
		kvpt_world_drop(&was);
		kvpt_world_drop(&is);
	}
	arg.nr_copies = 2;
	ck_assert_int_eq(kvpt_do(a, KVP_OP_SEQ_FORK, &arg), 0);
	ck_assert_uint_eq(arg.nr_copies, 2);
}
END_TEST

START_TEST(test_pool_full_for_the_copy)
{
	u64 seq = parent_of(6, 1), blocks[14];

	kvpt_ok(kvpt_alloc(a, 0, 14, blocks));
	kvpt_refused(&env, a, kvpt_fork(a, seq, 6, NULL), -ENOSPC, KVP_REASON_POOL_FULL, 0);
	kvpt_ok(kvpt_fork(a, seq, 4, NULL));
	kvpt_ok(kvpt_unref(a, blocks, 1));
	kvpt_ok(kvpt_fork(a, seq, 6, NULL));
}
END_TEST

START_TEST(test_what_is_covered_or_guaranteed)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	u64 seq = parent_of(6, 1), match;

	kvpt_ok(kvpt_make_published(a, 2, other, 56));
	kvpt_ok(kvpt_match(a, 2, other, 56, &match));
	kvpt_refused(&env, a, kvpt_fork(a, seq, 6, NULL), -ENOSPC, KVP_REASON_COVERED, 0);
	kvpt_ok(kvpt_release(a, match));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_GUARANTEE, 0, 14));
	kvpt_refused(&env, a, kvpt_fork(a, seq, 6, NULL), -ENOSPC, KVP_REASON_GUARANTEED, 0);
	kvpt_ok(kvpt_fork(a, seq, 4, NULL));
}
END_TEST

START_TEST(test_no_node_or_digest_for_the_copy)
{
	const struct kvp_extra extra = kvpt_extra(1, 7);
	const struct kvp_seq_create create = {
		.extras = (u64)(uintptr_t)&extra,
		.nr_extras = 1,
		.reserve = 1,
	};
	struct kvp_pool_create with = { .nodes = 3 };
	u64 seq;

	remake(&with, (struct kvp_family_desc)KVPT_DENSE(16, 4));
	seq = parent_of(6, 1);
	kvpt_refused(&env, a, kvpt_fork(a, seq, 6, NULL), -ENOSPC, KVP_REASON_NODES, 0);
	kvpt_ok(kvpt_fork(a, seq, 4, NULL));

	with.nodes = 0;
	with.extras = 2;
	remake(&with, (struct kvp_family_desc)KVPT_DENSE(16, 4));
	kvpt_ok(kvpt_create_with(a, &create, 1, tok, 6, &seq));
	kvpt_ok(kvpt_advance(a, seq, 6));
	kvpt_refused(&env, a, kvpt_fork(a, seq, 6, NULL), -ENOSPC, KVP_REASON_EXTRAS, 0);
}
END_TEST

START_TEST(test_limits)
{
	u64 seq = parent_of(6, 1), self = kvpt_client_id(a);

	kvpt_ok(kvpt_limit(a, self, KVP_LIMIT_BLOCKS, 0, 2));
	kvpt_refused(&env, a, kvpt_fork(a, seq, 6, NULL), -EDQUOT, KVP_REASON_LIMIT_BLOCKS, 0);
	kvpt_ok(kvpt_limit(a, self, KVP_LIMIT_BLOCKS, 0, KVP_UNLIMITED));
	kvpt_ok(kvpt_limit(a, self, KVP_LIMIT_SLOTS, 0, 3));
	kvpt_refused(&env, a, kvpt_fork(a, seq, 6, NULL), -EDQUOT, KVP_REASON_LIMIT_SLOTS, 0);
	kvpt_ok(kvpt_fork(a, seq, 4, NULL));
	kvpt_ok(kvpt_limit(a, self, KVP_LIMIT_SLOTS, 0, KVP_UNLIMITED));
	kvpt_ok(kvpt_limit(a, self, KVP_LIMIT_SEQS, 0, 2));
	kvpt_refused(&env, a, kvpt_fork(a, seq, 4, NULL), -EDQUOT, KVP_REASON_LIMIT_SEQS, 0);
	kvpt_ok(kvpt_limit(a, self, KVP_LIMIT_SEQS, 0, KVP_UNLIMITED));
	kvpt_ok(kvpt_limit(a, self, KVP_LIMIT_METADATA, 0, 1));
	kvpt_refused(&env, a, kvpt_fork(a, seq, 4, NULL), -EDQUOT,
		     KVP_REASON_LIMIT_METADATA, 0);
}
END_TEST

START_TEST(test_count_of_a_block_that_is_exhausted)
{
	u64 seq = parent_of(8, 0), blocks[2];
	struct kvp_block *block;
	struct kvp_stats was;

	kvpt_expect_table(a, seq, 0, blocks, 2);
	block = kvpt_block_of(a, blocks[1]);
	was = kvpt_counters_of(a, 0);
	kvpt_expect(kvpt_while_set(block->count, ~0U, kvpt_fork(a, seq, 8, NULL)), -EOVERFLOW,
		    KVP_REASON_COUNT);
	ck_assert_uint_eq(kvpt_count(a, blocks[0]), 1);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).seqs, was.seqs);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).slots, was.slots);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).metadata_bytes, was.metadata_bytes);
}
END_TEST

START_TEST(test_result_that_cannot_be_written)
{
	const struct kvp_seq_create with = { .reserve = 1 };
	struct kvp_client *b;
	u64 seq, blocks[2];
	u32 i;

	env.door = &kvpt_failing_door;
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	kvpt_ok(kvpt_create_with(b, &with, 1, tok, 6, &seq));
	kvpt_ok(kvpt_advance(b, seq, 6));
	kvpt_expect_table(b, seq, 0, blocks, 2);
	/* The array of copies, then the struct. */
	for (i = 1; i <= 2; i++) {
		kvpt_fail_write = i;
		ck_assert_int_eq(kvpt_fork(b, seq, 6, NULL), -EFAULT);
		ck_assert_int_eq(kvpt_fail_write, 0);
		ck_assert_uint_eq(kvpt_counters_of(a, 0).seqs, 1);
		ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 1 + 2);
		ck_assert_uint_eq(kvpt_count(a, blocks[0]), 1);
		ck_assert_uint_eq(kvpt_count(a, blocks[1]), 1);
		kvpt_expect_blocks(a, 0, 14, 2, 0);
	}
}
END_TEST

START_TEST(test_right_to_use)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_PUBLISH);

	kvpt_refused(&env, a, kvpt_fork(b, 1ULL << 32, 0, NULL), -EACCES,
		     KVP_REASON_RIGHT_USE, 0);
}
END_TEST

/* ---- the pool goes while copies are owed ---- */

START_TEST(test_pool_destroyed_before_the_copies_are_made)
{
	u64 seq = kvpt_computed(a, 1, tok, 6);
	u64 child;

	kvpt_ok(kvpt_reserve(a, seq, 2));
	kvpt_ok(kvpt_fork(a, seq, KVP_POS_END, &child));
	ck_assert_uint_eq(kvpt.fork.nr_copies, 1);
	kvpt_ok(kvpt_pool_destroy(a, KVPT_POOL_NAME, KVP_DESTROY_FORCE));
	/* Nothing can be done with the child any more; it goes with its client (ASan looks). */
	kvpt_expect(kvpt_copied(a, child), -EIO, KVP_REASON_DESTROYED);
	kvpt_expect(kvpt_free(a, child), -EIO, KVP_REASON_DESTROYED);
	kvpt_close(&env, a);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(4, 4) }, 1);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("seq_fork");
	TCase *works = tcase_create("works");
	TCase *refuses = tcase_create("refuses");

	tcase_add_checked_fixture(works, setup, teardown);
	tcase_add_test(works, test_fork_at_a_node_boundary_shares);
	tcase_add_test(works, test_part_filled_end_is_shared_if_nobody_writes_there);
	tcase_add_test(works, test_part_filled_end_is_copied_if_the_parent_has_slots_there);
	tcase_add_test(works, test_fork_inside_what_the_parent_goes_on_with);
	tcase_add_test(works, test_the_whole_node_is_copied);
	tcase_add_test(works, test_only_the_shared_part_of_a_node_is_copied);
	tcase_add_test(works, test_fork_of_nothing);
	tcase_add_test(works, test_fork_of_a_sequence_with_nothing_computed);
	tcase_add_test(works, test_child_has_the_published_prefix);
	tcase_add_test(works, test_child_outlives_its_parent);
	tcase_add_test(works, test_forks_publish_the_shared_nodes_once);
	tcase_add_test(works, test_many_generations);
	tcase_add_test(works, test_copied_digest_comes_along);
	tcase_add_test(works, test_pool_destroyed_before_the_copies_are_made);
	suite_add_tcase(s, works);

	tcase_add_checked_fixture(refuses, setup, teardown);
	tcase_add_test(refuses, test_unknown_sequences);
	tcase_add_test(refuses, test_unknown_flag);
	tcase_add_test(refuses, test_busy_sequence);
	tcase_add_test(refuses, test_more_than_is_computed);
	tcase_add_test(refuses, test_too_little_room_for_the_copies);
	tcase_add_test(refuses, test_pool_full_for_the_copy);
	tcase_add_test(refuses, test_what_is_covered_or_guaranteed);
	tcase_add_test(refuses, test_no_node_or_digest_for_the_copy);
	tcase_add_test(refuses, test_limits);
	tcase_add_test(refuses, test_count_of_a_block_that_is_exhausted);
	tcase_add_test(refuses, test_result_that_cannot_be_written);
	tcase_add_test(refuses, test_right_to_use);
	suite_add_tcase(s, refuses);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

// SPDX-License-Identifier: MIT
/*
 * KVP_OP_PREFIX_INVALIDATE: what is never matched again, what those who hold it keep,
 * and each refusal alone.
 */
#include <check.h>

#include "unit.h"

static struct kvpt_env env;
static struct kvp_client *a;
static u32 tok[64], other[64];

static void setup(void)
{
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(16, 4) }, 1);
	kvpt_tokens(tok, 64, 1);
	kvpt_tokens(other, 64, 2);
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

/* Publish @nr tokens of namespace 1 with @tag and let go. */
static void publish_tagged(const u32 *tokens, u32 nr, u32 tag)
{
	u64 seq = kvpt_computed(a, 1, tokens, nr);

	kvpt_ok(kvpt_publish_with(a, seq, 0, 0, tag));
	kvpt_ok(kvpt_free(a, seq));
}

/* ---- a namespace ---- */

START_TEST(test_namespace_is_never_matched_again)
{
	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_ok(kvpt_make_published(a, 2, tok, 8));
	kvpt_ok(kvpt_invalidate_space(a, 1));
	ck_assert_uint_eq(kvpt.invalidate.nr_subtrees, 1);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).invalidated, 1);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 0);
	ck_assert_uint_eq(kvpt_matched(a, 2, tok, 8), 8);
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_reclaim(a, 3));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 3);
	ck_assert_uint_eq(kvpt_matched(a, 2, tok, 8), 8);
	kvpt_expect_blocks(a, 0, 14, 0, 2);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).namespaces, 1);
}
END_TEST

START_TEST(test_unknown_namespace)
{
	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_ok(kvpt_invalidate_space(a, 2));
	ck_assert_uint_eq(kvpt.invalidate.nr_subtrees, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).invalidated, 0);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
}
END_TEST

START_TEST(test_namespace_can_be_used_anew)
{
	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_invalidate_space(a, 1));
	kvpt_ok(kvpt_make_published(a, 1, tok, 4));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 4);
	kvpt_ok(kvpt_invalidate_space(a, 1));
	ck_assert_uint_eq(kvpt.invalidate.nr_subtrees, 1);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 0);
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 3);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 0);
}
END_TEST

START_TEST(test_holders_keep_what_they_hold)
{
	u64 seq = kvpt_published(a, 1, tok, 10), match, blocks[3];

	kvpt_ok(kvpt_match(a, 1, tok, 4, &match));
	kvpt_ok(kvpt_invalidate_space(a, 1));
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 0);
	kvpt_expect_lengths(a, seq, 10, 10, 10, 8);
	kvpt_expect_table(a, seq, 0, blocks, 3);
	kvpt_ok(kvpt_append(a, seq, tok + 10, 6));
	kvpt_ok(kvpt_advance(a, seq, 16));
	kvpt_refused(&env, a, kvpt_publish(a, seq), -ESTALE, KVP_REASON_INVALIDATED, 0);
	kvpt_ok(kvpt_truncate(a, seq, 6));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_expect_blocks(a, 0, 14, 0, 2);
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 1);
	kvpt_ok(kvpt_release(a, match));
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 1);
	kvpt_expect_blocks(a, 0, 16, 0, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 0);
}
END_TEST

START_TEST(test_forks_of_an_invalidated_sequence)
{
	u64 seq = kvpt_published(a, 1, tok, 8), child;

	kvpt_ok(kvpt_invalidate_space(a, 1));
	kvpt_ok(kvpt_fork(a, seq, 8, &child));
	kvpt_ok(kvpt_append(a, child, other, 4));
	kvpt_ok(kvpt_advance(a, child, 12));
	kvpt_refused(&env, a, kvpt_publish(a, child), -ESTALE, KVP_REASON_INVALIDATED, 0);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_free(a, child));
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 2);
}
END_TEST

START_TEST(test_old_and_new_sequences_side_by_side)
{
	u64 old = kvpt_published(a, 1, tok, 8), seq, blocks[2], theirs[2];

	kvpt_ok(kvpt_invalidate_space(a, 1));
	kvpt_ok(kvpt_create(a, 1, tok, 8, &seq));
	ck_assert_uint_eq(kvpt.seq_create.matched, 0);
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.nr_new, 2);
	kvpt_expect_table(a, old, 0, theirs, 2);
	kvpt_expect_table(a, seq, 0, blocks, 2);
	ck_assert_uint_ne(theirs[0], blocks[0]);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).namespaces, 2);
	kvpt_ok(kvpt_free(a, old));
	kvpt_ok(kvpt_reclaim(a, 2));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
	kvpt_expect_blocks(a, 0, 14, 2, 0);
}
END_TEST

START_TEST(test_what_was_invalidated_is_reclaimed_first)
{
	u64 blocks[12];

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_make_published(a, 2, tok, 8));
	kvpt_ok(kvpt_invalidate_space(a, 2));
	/* Used longest ago, but still good. */
	kvpt_ok(kvpt_alloc(a, 0, 12, blocks));
	kvpt_ok(kvpt_alloc(a, 0, 1, blocks));
	kvpt_ok(kvpt_alloc(a, 0, 1, blocks));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
	kvpt_expect_blocks(a, 0, 0, 14, 2);
}
END_TEST

/* ---- a prefix ---- */

START_TEST(test_a_node_and_what_follows_it)
{
	memcpy(other, tok, 8 * sizeof(*tok));
	kvpt_ok(kvpt_make_published(a, 1, tok, 16));
	kvpt_ok(kvpt_make_published(a, 1, other, 12));
	kvpt_ok(kvpt_invalidate_prefix(a, 1, tok, 12));
	ck_assert_uint_eq(kvpt.invalidate.nr_subtrees, 1);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 16), 8);
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 12), 12);
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_invalidate_prefix(a, 1, tok, 4));
	ck_assert_uint_eq(kvpt.invalidate.nr_subtrees, 1);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 16), 0);
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 12), 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).invalidated, 2);
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 5);
	kvpt_expect_blocks(a, 0, 16, 0, 0);
}
END_TEST

START_TEST(test_a_prefix_that_is_not_published)
{
	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_invalidate_prefix(a, 1, tok, 12));
	ck_assert_uint_eq(kvpt.invalidate.nr_subtrees, 0);
	kvpt_ok(kvpt_invalidate_prefix(a, 1, other, 4));
	ck_assert_uint_eq(kvpt.invalidate.nr_subtrees, 0);
	kvpt_ok(kvpt_invalidate_prefix(a, 2, tok, 4));
	ck_assert_uint_eq(kvpt.invalidate.nr_subtrees, 0);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 8);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).invalidated, 0);
}
END_TEST

START_TEST(test_a_prefix_with_digests)
{
	const struct kvp_extra extra = kvpt_extra(1, 7);
	const struct kvp_seq_create with = { .extras = (u64)(uintptr_t)&extra, .nr_extras = 1 };
	const struct kvp_prefix_match look = { .extras = (u64)(uintptr_t)&extra, .nr_extras = 1 };
	struct kvp_prefix_invalidate arg = {
		.head.flags = KVP_INVALIDATE_PREFIX,
		.tokens = (u64)(uintptr_t)tok,
		.nr_tokens = 8,
	};
	u64 seq;

	kvpt_ok(kvpt_create_with(a, &with, 1, tok, 8, &seq));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_digest(1, arg.space);
	ck_assert_int_eq(kvpt_do(a, KVP_OP_PREFIX_INVALIDATE, &arg), 0);
	ck_assert_uint_eq(arg.nr_subtrees, 0);
	kvpt_ok(kvpt_match_with(a, &look, 1, tok, 8));
	ck_assert_uint_eq(kvpt.match.matched, 8);
	arg.extras = (u64)(uintptr_t)&extra;
	arg.nr_extras = 1;
	ck_assert_int_eq(kvpt_do(a, KVP_OP_PREFIX_INVALIDATE, &arg), 0);
	ck_assert_uint_eq(arg.nr_subtrees, 1);
	kvpt_ok(kvpt_match_with(a, &look, 1, tok, 8));
	ck_assert_uint_eq(kvpt.match.matched, 4);
}
END_TEST

START_TEST(test_publish_the_same_again)
{
	u64 seq, blocks[3], again[3];

	seq = kvpt_published(a, 1, tok, 12);
	kvpt_expect_table(a, seq, 0, blocks, 3);
	kvpt_ok(kvpt_invalidate_prefix(a, 1, tok, 8));
	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
	kvpt_ok(kvpt_match_blocks(a, 1, tok, 12, 0, again, 3, NULL));
	ck_assert_uint_eq(again[0], blocks[0]);
	ck_assert_uint_ne(again[1], blocks[1]);
	ck_assert_uint_ne(again[2], blocks[2]);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_reclaim(a, 2));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
}
END_TEST

START_TEST(test_go_on_above_the_cut)
{
	u64 seq = kvpt_published(a, 1, tok, 12);

	kvpt_ok(kvpt_invalidate_prefix(a, 1, tok, 8));
	/* What the sequence keeps is all still published. */
	kvpt_ok(kvpt_truncate(a, seq, 4));
	kvpt_expect_lengths(a, seq, 4, 4, 4, 4);
	kvpt_ok(kvpt_append(a, seq, other, 4));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 8);
	kvpt_audit_clean(a);
	memcpy(tok + 4, other, 4 * sizeof(*tok));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 4), 0);
}
END_TEST

START_TEST(test_fork_above_the_cut)
{
	u64 seq = kvpt_published(a, 1, tok, 12), child;

	kvpt_ok(kvpt_invalidate_prefix(a, 1, tok, 8));
	kvpt_ok(kvpt_fork(a, seq, 4, &child));
	kvpt_expect_lengths(a, child, 4, 4, 4, 4);
	kvpt_ok(kvpt_append(a, child, other, 4));
	kvpt_ok(kvpt_advance(a, child, 8));
	kvpt_ok(kvpt_publish(a, child));
	kvpt_audit_clean(a);
	memcpy(tok + 4, other, 4 * sizeof(*tok));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
}
END_TEST

START_TEST(test_what_follows_a_cut_is_not_matched)
{
	u64 seq = kvpt_published(a, 1, tok, 8);

	kvpt_ok(kvpt_invalidate_prefix(a, 1, tok, 4));
	kvpt_ok(kvpt_append(a, seq, tok + 8, 4));
	kvpt_ok(kvpt_advance(a, seq, 12));
	/* Whether it may publish or not: nothing of it is matched. */
	(void)kvpt_publish(a, seq);
	kvpt_audit_clean(a);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 0);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_reclaim(a, 100));
	kvpt_expect_blocks(a, 0, 16, 0, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 0);
}
END_TEST

START_TEST(test_own_blocks_whose_published_twin_was_cut_off)
{
	u64 seq;

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_ok(kvpt_create_flags(a, KVP_SEQ_NO_MATCH, 1, tok, 12, &seq));
	kvpt_ok(kvpt_advance(a, seq, 12));
	kvpt_ok(kvpt_publish_with(a, seq, KVP_PUBLISH_KEEP, 0, 0));
	ck_assert_uint_eq(kvpt.publish.nr_shared, 3);
	kvpt_ok(kvpt_invalidate_prefix(a, 1, tok, 8));
	kvpt_ok(kvpt_truncate(a, seq, 6));
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_append(a, seq, other, 2));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 0);
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 8);
	kvpt_audit_clean(a);
	memcpy(tok + 6, other, 2 * sizeof(*tok));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
}
END_TEST

START_TEST(test_failed_reclaim_puts_back_what_is_cut_off)
{
	u64 match, blocks[16];

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_make_published(a, 1, other, 8));
	kvpt_ok(kvpt_match(a, 1, other, 4, &match));
	kvpt_ok(kvpt_invalidate_prefix(a, 1, tok, 4));
	kvpt_refused(&env, a, kvpt_alloc(a, 0, 16, blocks), -ENOSPC, KVP_REASON_COVERED, 0);
	kvpt_ok(kvpt_alloc(a, 0, 14, blocks));
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 8), 8);
	kvpt_expect_blocks(a, 0, 0, 14, 2);
}
END_TEST

START_TEST(test_a_match_keeps_what_is_above_a_cut)
{
	u64 match;

	kvpt_ok(kvpt_make_published(a, 1, tok, 12));
	kvpt_ok(kvpt_match(a, 1, tok, 12, &match));
	kvpt_ok(kvpt_invalidate_prefix(a, 1, tok, 8));
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 0);
	kvpt_expect_blocks(a, 0, 13, 0, 3);
	kvpt_ok(kvpt_release(a, match));
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 3);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).namespaces, 0);
	kvpt_audit_clean(a);
}
END_TEST

START_TEST(test_last_prefix_ends_its_namespace)
{
	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_invalidate_prefix(a, 1, tok, 4));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).namespaces, 1);
	kvpt_ok(kvpt_reclaim(a, 2));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 2);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).namespaces, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).extras_used, 0);
}
END_TEST

/* ---- a tag ---- */

START_TEST(test_every_node_with_a_tag)
{
	publish_tagged(tok, 8, 7);
	publish_tagged(tok, 12, 8);
	publish_tagged(other, 8, 8);
	kvpt_ok(kvpt_make_published(a, 2, tok, 4));
	kvpt_ok(kvpt_invalidate_tag(a, 9));
	ck_assert_uint_eq(kvpt.invalidate.nr_subtrees, 0);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
	kvpt_ok(kvpt_invalidate_tag(a, 8));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 8);
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 8), 0);
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_invalidate_tag(a, 7));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 0);
	ck_assert_uint_eq(kvpt_matched(a, 2, tok, 4), 4);
	kvpt_ok(kvpt_reclaim(a, 5));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 5);
	ck_assert_uint_eq(kvpt_matched(a, 2, tok, 4), 4);
}
END_TEST

START_TEST(test_tag_in_the_middle_takes_what_follows)
{
	u64 seq = kvpt_computed(a, 1, tok, 12);

	kvpt_ok(kvpt_publish_with(a, seq, 0, 4, 0));
	kvpt_ok(kvpt_publish_with(a, seq, 0, 8, 7));
	kvpt_ok(kvpt_publish_with(a, seq, 0, 12, 0));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_invalidate_tag(a, 7));
	ck_assert_uint_eq(kvpt.invalidate.nr_subtrees, 1);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 4);
}
END_TEST

START_TEST(test_tag_that_was_invalidated_already)
{
	u64 seq = kvpt_computed(a, 1, tok, 4);

	kvpt_ok(kvpt_publish_with(a, seq, 0, 0, 7));
	kvpt_ok(kvpt_invalidate_tag(a, 7));
	ck_assert_uint_eq(kvpt.invalidate.nr_subtrees, 1);
	kvpt_ok(kvpt_invalidate_tag(a, 7));
	ck_assert_uint_eq(kvpt.invalidate.nr_subtrees, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).invalidated, 1);
}
END_TEST

START_TEST(test_tag_stays_with_the_first_publisher)
{
	publish_tagged(tok, 8, 7);
	publish_tagged(tok, 8, 8);
	kvpt_ok(kvpt_invalidate_tag(a, 8));
	ck_assert_uint_eq(kvpt.invalidate.nr_subtrees, 0);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
}
END_TEST

START_TEST(test_sequence_on_tagged_nodes)
{
	u64 seq = kvpt_computed(a, 1, tok, 12);

	kvpt_ok(kvpt_publish_with(a, seq, 0, 0, 7));
	kvpt_ok(kvpt_invalidate_tag(a, 7));
	kvpt_ok(kvpt_truncate(a, seq, 4));
	kvpt_ok(kvpt_append(a, seq, other, 4));
	kvpt_ok(kvpt_advance(a, seq, 8));
	/* Whether it may publish or not: nothing of it is matched. */
	(void)kvpt_publish(a, seq);
	kvpt_audit_clean(a);
	memcpy(tok + 4, other, 4 * sizeof(*tok));
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 0);
	ck_assert_uint_eq(kvpt_matched(a, 1, other, 4), 0);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_reclaim(a, 100));
	kvpt_expect_blocks(a, 0, 16, 0, 0);
}
END_TEST

/* ---- refusals ---- */

static void refuse(const struct kvp_prefix_invalidate *with, int err, u32 why, u32 at)
{
	struct kvp_prefix_invalidate arg = *with;
	struct kvpt_world was, is;
	const char *diff;

	kvpt_digest(1, arg.space);
	kvpt_world_take(&env, a, &was);
	ck_assert_int_eq(kvpt_do(a, KVP_OP_PREFIX_INVALIDATE, &arg), err);
	ck_assert_uint_eq(arg.head.reason, why);
	ck_assert_uint_eq(arg.head.where, at);
	kvpt_world_take(&env, a, &is);
	diff = kvpt_world_diff(&was, &is);
	ck_assert_msg(!diff, "changed: %s", diff);
	kvpt_world_drop(&was);
	kvpt_world_drop(&is);
}

START_TEST(test_exactly_one_kind)
{
	static const u32 wrong[] = {
		0, KVP_INVALIDATE_SPACE | KVP_INVALIDATE_TAG,
		KVP_INVALIDATE_SPACE | KVP_INVALIDATE_PREFIX, KVP_INVALIDATE_FLAGS_ALL,
		1U << 3, KVP_INVALIDATE_SPACE | 1U << 31,
	};
	struct kvp_prefix_invalidate arg = {
		.tokens = (u64)(uintptr_t)tok,
		.nr_tokens = 8,
		.tag = 7,
	};
	u32 i;

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		arg.head.flags = wrong[i];
		refuse(&arg, -EINVAL, KVP_REASON_FLAG, 0);
	}
}
END_TEST

START_TEST(test_tokens_must_fill_nodes)
{
	struct kvp_prefix_invalidate arg = {
		.head.flags = KVP_INVALIDATE_PREFIX,
		.tokens = (u64)(uintptr_t)tok,
		.nr_tokens = 7,
	};

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	refuse(&arg, -EINVAL, KVP_REASON_COUNT, 0);
	arg.nr_tokens = 0;
	arg.tokens = 0;
	refuse(&arg, -EINVAL, KVP_REASON_COUNT, 0);
}
END_TEST

START_TEST(test_too_many_tokens)
{
	const struct kvp_prefix_invalidate arg = {
		.head.flags = KVP_INVALIDATE_PREFIX,
		.tokens = (u64)(uintptr_t)tok,
		.nr_tokens = KVP_MAX_CALL_TOKENS + 4,
	};

	refuse(&arg, -EOVERFLOW, KVP_REASON_COUNT,
	       kvpt_at(struct kvp_prefix_invalidate, nr_tokens));
}
END_TEST

START_TEST(test_wrong_extras)
{
	const struct kvp_extra extras[2] = { kvpt_extra(1, 7), kvpt_extra(2, 7) };
	const struct kvp_prefix_invalidate arg = {
		.head.flags = KVP_INVALIDATE_PREFIX,
		.tokens = (u64)(uintptr_t)tok,
		.nr_tokens = 8,
		.extras = (u64)(uintptr_t)extras,
		.nr_extras = 2,
	};

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	refuse(&arg, -EINVAL, KVP_REASON_EXTRA, 1);
}
END_TEST

START_TEST(test_tag_zero_is_none)
{
	const struct kvp_prefix_invalidate arg = { .head.flags = KVP_INVALIDATE_TAG };

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	refuse(&arg, -EINVAL, KVP_REASON_VALUE, kvpt_at(struct kvp_prefix_invalidate, tag));
}
END_TEST

START_TEST(test_reserved_field)
{
	const struct kvp_prefix_invalidate arg = {
		.head.flags = KVP_INVALIDATE_SPACE,
		.reserved = 1,
	};

	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	refuse(&arg, -EINVAL, KVP_REASON_RESERVED,
	       kvpt_at(struct kvp_prefix_invalidate, reserved));
}
END_TEST

START_TEST(test_right_to_administer)
{
	struct kvp_client *b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);

	kvpt_ok(kvpt_make_published(b, 1, tok, 8));
	kvpt_refused(&env, a, kvpt_invalidate_space(b, 1), -EACCES, KVP_REASON_RIGHT_ADMIN, 0);
	kvpt_refused(&env, a, kvpt_invalidate_prefix(b, 1, tok, 8), -EACCES,
		     KVP_REASON_RIGHT_ADMIN, 0);
	kvpt_refused(&env, a, kvpt_invalidate_tag(b, 7), -EACCES, KVP_REASON_RIGHT_ADMIN, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("prefix_invalidate");
	TCase *space = tcase_create("space");
	TCase *prefix = tcase_create("prefix");
	TCase *tag = tcase_create("tag");
	TCase *refuses = tcase_create("refuses");

	tcase_add_checked_fixture(space, setup, teardown);
	tcase_add_test(space, test_namespace_is_never_matched_again);
	tcase_add_test(space, test_unknown_namespace);
	tcase_add_test(space, test_namespace_can_be_used_anew);
	tcase_add_test(space, test_holders_keep_what_they_hold);
	tcase_add_test(space, test_forks_of_an_invalidated_sequence);
	tcase_add_test(space, test_old_and_new_sequences_side_by_side);
	tcase_add_test(space, test_what_was_invalidated_is_reclaimed_first);
	suite_add_tcase(s, space);

	tcase_add_checked_fixture(prefix, setup, teardown);
	tcase_add_test(prefix, test_a_node_and_what_follows_it);
	tcase_add_test(prefix, test_a_prefix_that_is_not_published);
	tcase_add_test(prefix, test_a_prefix_with_digests);
	tcase_add_test(prefix, test_publish_the_same_again);
	tcase_add_test(prefix, test_go_on_above_the_cut);
	tcase_add_test(prefix, test_fork_above_the_cut);
	tcase_add_test(prefix, test_what_follows_a_cut_is_not_matched);
	tcase_add_test(prefix, test_own_blocks_whose_published_twin_was_cut_off);
	tcase_add_test(prefix, test_failed_reclaim_puts_back_what_is_cut_off);
	tcase_add_test(prefix, test_a_match_keeps_what_is_above_a_cut);
	tcase_add_test(prefix, test_last_prefix_ends_its_namespace);
	suite_add_tcase(s, prefix);

	tcase_add_checked_fixture(tag, setup, teardown);
	tcase_add_test(tag, test_every_node_with_a_tag);
	tcase_add_test(tag, test_tag_in_the_middle_takes_what_follows);
	tcase_add_test(tag, test_tag_that_was_invalidated_already);
	tcase_add_test(tag, test_tag_stays_with_the_first_publisher);
	tcase_add_test(tag, test_sequence_on_tagged_nodes);
	suite_add_tcase(s, tag);

	tcase_add_checked_fixture(refuses, setup, teardown);
	tcase_add_test(refuses, test_exactly_one_kind);
	tcase_add_test(refuses, test_tokens_must_fill_nodes);
	tcase_add_test(refuses, test_too_many_tokens);
	tcase_add_test(refuses, test_wrong_extras);
	tcase_add_test(refuses, test_tag_zero_is_none);
	tcase_add_test(refuses, test_reserved_field);
	tcase_add_test(refuses, test_right_to_administer);
	suite_add_tcase(s, refuses);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

// SPDX-License-Identifier: MIT
/*
 * Prefixes through kvpool.h beyond test_runtime.c: publishing with options, matches that are
 * held, invalidation by prefix and tag, raw references that a sequence or a match
 * answers for; and each error that these functions document.
 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "pools.h"

static struct kvp_pool *pool;
static uint8_t space[KVP_DIGEST_LEN];
static uint32_t tokens[64], others[64];

static void setup(void)
{
	pool = kvpr_open("inproc:prefix?blocks=16&block_tokens=4&row_bytes=8");
	kvpr_space("m", space);
	kvpr_tokens(tokens, 64, 1);
	kvpr_tokens(others, 64, 2);
}

static void teardown(void)
{
	kvpr_sound(pool);
	kvp_pool_close(pool);
}

static struct kvp_prompt prompt_of(const uint32_t *ids, uint32_t nr)
{
	return (struct kvp_prompt){ .space = space, .tokens = ids, .nr_tokens = nr };
}

static kvp_seq_t computed(const uint32_t *ids, uint32_t nr)
{
	struct kvp_prompt prompt = prompt_of(ids, nr);
	kvp_seq_t seq;

	kvpr_ok(kvp_seq_create(pool, &prompt, KVP_SEQ_NO_MATCH, 0, &seq, NULL));
	kvpr_compute(pool, seq, 0, nr, 1);
	return seq;
}

static void publish(const uint32_t *ids, uint32_t nr, uint32_t tag)
{
	struct kvp_publish_options options = { .tag = tag };
	kvp_seq_t seq = computed(ids, nr);

	kvpr_ok(kvp_publish_with(pool, seq, &options, NULL));
	kvpr_ok(kvp_seq_free(pool, seq));
}

static uint64_t matched_of(const uint32_t *ids, uint32_t nr)
{
	struct kvp_prompt prompt = prompt_of(ids, nr);
	uint64_t matched;

	kvpr_ok(kvp_match(pool, &prompt, &matched));
	return matched;
}

/* ---- publishing ---- */

START_TEST(test_publish_with_a_limit)
{
	struct kvp_publish_options options = { .limit = 11 };
	kvp_seq_t seq = computed(tokens, 16);
	struct kvp_published result;

	kvpr_ok(kvp_publish_with(pool, seq, &options, &result));
	ck_assert_uint_eq(result.tokens, 8);
	ck_assert_uint_eq(result.nr_new, 2);
	ck_assert_uint_eq(result.nr_shared, 0);
	ck_assert_uint_eq(matched_of(tokens, 16), 8);
	kvpr_ok(kvp_publish_with(pool, seq, NULL, &result));
	ck_assert_uint_eq(result.tokens, 16);
	ck_assert_uint_eq(result.nr_new, 2);
	ck_assert_uint_eq(matched_of(tokens, 16), 16);
}
END_TEST

START_TEST(test_publish_what_is_there_and_keep_ones_own)
{
	struct kvp_publish_options keep = { .flags = KVP_PUBLISH_KEEP };
	kvp_seq_t first = computed(tokens, 8), own = computed(tokens, 8);
	uint64_t block = kvpr_block(pool, own, 0, 0);
	struct kvp_published result;

	kvpr_ok(kvp_publish(pool, first, NULL));
	kvpr_ok(kvp_publish_with(pool, own, &keep, &result));
	ck_assert_uint_eq(result.tokens, 8);
	ck_assert_uint_eq(result.nr_new, 0);
	ck_assert_uint_eq(result.nr_shared, 2);
	ck_assert_uint_eq(kvpr_block(pool, own, 0, 0), block);
	kvpr_expect_rows(pool, own, 0, 0, 8, 1);
	kvpr_ok(kvp_seq_free(pool, own));

	own = computed(tokens, 8);
	kvpr_ok(kvp_publish_with(pool, own, NULL, &result));
	ck_assert_uint_eq(result.nr_shared, 2);
	ck_assert_uint_eq(kvpr_block(pool, own, 0, 0), kvpr_block(pool, first, 0, 0));
}
END_TEST

START_TEST(test_publish_refused)
{
	struct kvp_publish_options options = { .flags = KVP_PUBLISH_FLAGS_ALL + 1 };
	struct kvp_published result = { .tokens = 77 };
	kvp_seq_t seq = computed(tokens, 8), theirs;
	struct kvp_pool *user;

	kvpr_expect(kvp_publish_with(pool, seq, &options, &result), -EINVAL, KVP_REASON_FLAG);
	kvpr_expect(kvp_publish_with(pool, 12345, NULL, &result), -ENOENT, KVP_REASON_NO_SEQ);
	user = kvpr_open("inproc:prefix?rights=use");
	theirs = kvpr_seq(user, space, tokens, 4, NULL);
	kvpr_expect(kvp_publish_with(user, theirs, NULL, &result), -EACCES,
		    KVP_REASON_RIGHT_PUBLISH);
	kvp_pool_close(user);
	kvpr_ok(kvp_invalidate_space(pool, space));
	kvpr_expect(kvp_publish_with(pool, seq, NULL, &result), -ESTALE,
		    KVP_REASON_INVALIDATED);
	kvpr_ok(kvp_seq_free(pool, seq));
	kvpr_expect(kvp_publish_with(pool, seq, NULL, &result), -ESTALE, KVP_REASON_GENERATION);
	ck_assert_uint_eq(result.tokens, 77);
}
END_TEST

/* ---- matching ---- */

START_TEST(test_match_that_is_held)
{
	struct kvp_prompt prompt = prompt_of(tokens, 9);
	uint64_t matched = 77, nodes = 100;
	kvp_match_t match = 77;

	publish(tokens, 16, 0);
	kvpr_ok(kvp_match_hold(pool, &prompt, &match, &matched));
	ck_assert_uint_eq(matched, 8);
	ck_assert_uint_ne(match, 0);
	kvpr_ok(kvp_pool_reclaim(pool, &nodes));
	ck_assert_uint_eq(nodes, 2);
	ck_assert_uint_eq(matched_of(tokens, 16), 8);
	kvpr_ok(kvp_match_release(pool, match));
	kvpr_expect(kvp_match_release(pool, match), -ESTALE, KVP_REASON_GENERATION);
	kvpr_expect(kvp_match_release(pool, 0), -ENOENT, KVP_REASON_NO_MATCH);
	nodes = 100;
	kvpr_ok(kvp_pool_reclaim(pool, &nodes));
	ck_assert_uint_eq(nodes, 2);

	/* Nothing matches, nothing is held. */
	kvpr_ok(kvp_match_hold(pool, &prompt, &match, NULL));
	ck_assert_uint_eq(match, 0);
}
END_TEST

START_TEST(test_match_says_blocks)
{
	struct kvp_prompt prompt = prompt_of(tokens, 14);
	uint64_t blocks[4] = { 1, 1, 1, 1 }, table[3], matched;
	kvp_seq_t seq = computed(tokens, 12);
	struct kvp_stats stats;
	kvp_match_t match;
	uint32_t nr = 3;

	kvpr_ok(kvp_publish(pool, seq, NULL));
	kvpr_ok(kvp_seq_table(pool, seq, 0, 0, table, &nr));
	nr = 4;
	kvpr_ok(kvp_match_blocks(pool, &prompt, 0, blocks, &nr, NULL, &matched));
	ck_assert_uint_eq(matched, 12);
	ck_assert_uint_eq(nr, 3);
	ck_assert_mem_eq(blocks, table, sizeof(table));
	ck_assert_uint_eq(blocks[3], 1);
	kvpr_ok(kvp_pool_stats(pool, 0, &stats, NULL, 0));
	ck_assert_uint_eq(stats.matches, 0);

	memset(blocks, 0, sizeof(blocks));
	nr = 2;
	kvpr_ok(kvp_match_blocks(pool, &prompt, 0, blocks, &nr, &match, NULL));
	ck_assert_uint_eq(nr, 2);
	ck_assert_mem_eq(blocks, table, 2 * sizeof(table[0]));
	ck_assert_uint_eq(blocks[2], 0);
	kvpr_ok(kvp_pool_stats(pool, 0, &stats, NULL, 0));
	ck_assert_uint_eq(stats.matches, 1);
	kvpr_ok(kvp_match_release(pool, match));
}
END_TEST

START_TEST(test_match_refused)
{
	struct kvp_prompt prompt = prompt_of(tokens, 8), none = { .tokens = tokens };
	uint64_t blocks[4], matched = 77;
	kvp_match_t match = 77;
	uint32_t nr = 4;

	kvpr_expect(kvp_match_hold(pool, NULL, &match, &matched), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_match_hold(pool, &none, &match, &matched), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_match_hold(pool, &prompt, NULL, &matched), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_match_blocks(pool, &prompt, 0, blocks, NULL, &match, &matched), -EINVAL,
		    KVP_REASON_POINTER);
	kvpr_expect(kvp_match_blocks(pool, NULL, 0, blocks, &nr, &match, &matched), -EINVAL,
		    KVP_REASON_POINTER);
	kvpr_expect(kvp_match_blocks(pool, &prompt, 1, blocks, &nr, &match, &matched), -EINVAL,
		    KVP_REASON_FAMILY);
	kvpr_expect(kvp_match_blocks(pool, &prompt, 0, NULL, &nr, &match, &matched), -EFAULT,
		    KVP_REASON_POINTER);
	prompt.nr_tokens = 0;
	kvpr_expect(kvp_match_hold(pool, &prompt, &match, &matched), -EINVAL, KVP_REASON_COUNT);
	prompt.nr_tokens = KVP_MAX_CALL_TOKENS + 1;
	kvpr_expect(kvp_match_hold(pool, &prompt, &match, &matched), -EOVERFLOW,
		    KVP_REASON_COUNT);
	ck_assert_uint_eq(match, 77);
	ck_assert_uint_eq(matched, 77);
	ck_assert_uint_eq(nr, 4);
}
END_TEST

/*
 * Case D13: rows of one type or layout of the KV are never taken for those of another, as both
 * are in the key. (That equal rows are not promised to equal a fresh computation, bit for bit, is
 * said with struct kvp_identity.)
 */
START_TEST(test_case_d13_type_and_layout_are_in_the_key)
{
	static const struct kvp_identity others_than_published[] = {
		{ .model = "m", .dtype = "fp8_e4m3", .layout = "k,v" },
		{ .model = "m", .dtype = "bf16", .layout = "v,k" },
		{ .model = "m", .dtype = "bf16" },
		{ .model = "m", .layout = "k,v" },
		{ .model = "m", .rope = "bf16", .dtype = "k,v" },
	};
	struct kvp_identity published = { .model = "m", .dtype = "bf16", .layout = "k,v" };
	struct kvp_prompt prompt = prompt_of(tokens, 8);
	uint64_t matched;
	size_t i;

	kvpr_ok(kvp_identity_digest(&published, space));
	publish(tokens, 8, 0);
	ck_assert_uint_eq(matched_of(tokens, 8), 8);
	for (i = 0; i < sizeof(others_than_published) / sizeof(others_than_published[0]); i++) {
		kvpr_ok(kvp_identity_digest(&others_than_published[i], space));
		kvpr_ok(kvp_match(pool, &prompt, &matched));
		ck_assert_uint_eq(matched, 0);
	}
	kvpr_ok(kvp_identity_digest(&published, space));
	ck_assert_uint_eq(matched_of(tokens, 8), 8);
}
END_TEST

/* ---- invalidation ---- */

START_TEST(test_invalidate_prefix)
{
	struct kvp_prompt prompt = prompt_of(tokens, 8);
	uint64_t subtrees = 77;

	publish(tokens, 16, 0);
	publish(others, 8, 0);
	kvpr_ok(kvp_invalidate_prefix(pool, &prompt, &subtrees));
	ck_assert_uint_eq(subtrees, 1);
	ck_assert_uint_eq(matched_of(tokens, 16), 4);
	ck_assert_uint_eq(matched_of(others, 8), 8);
	kvpr_ok(kvp_invalidate_prefix(pool, &prompt, &subtrees));
	ck_assert_uint_eq(subtrees, 0);
	prompt.nr_tokens = 4;
	kvpr_ok(kvp_invalidate_prefix(pool, &prompt, NULL));
	ck_assert_uint_eq(matched_of(tokens, 16), 0);
}
END_TEST

START_TEST(test_invalidate_tag)
{
	uint64_t subtrees = 77;

	publish(tokens, 8, 5);
	publish(tokens, 12, 6);
	publish(tokens, 16, 7);
	publish(others, 8, 5);
	kvpr_ok(kvp_invalidate_tag(pool, 6, &subtrees));
	ck_assert_uint_eq(subtrees, 1);
	ck_assert_uint_eq(matched_of(tokens, 16), 8);
	kvpr_ok(kvp_invalidate_tag(pool, 6, &subtrees));
	ck_assert_uint_eq(subtrees, 0);
	kvpr_ok(kvp_invalidate_tag(pool, 5, NULL));
	ck_assert_uint_eq(matched_of(tokens, 16), 0);
	ck_assert_uint_eq(matched_of(others, 8), 0);
}
END_TEST

START_TEST(test_invalidate_refused)
{
	struct kvp_prompt prompt = prompt_of(tokens, 7), none = { .tokens = tokens };
	struct kvp_pool *user = kvpr_open("inproc:prefix?rights=use,publish");
	uint64_t subtrees = 77;

	publish(tokens, 8, 5);
	kvpr_expect(kvp_invalidate_prefix(pool, &prompt, &subtrees), -EINVAL, KVP_REASON_COUNT);
	kvpr_expect(kvp_invalidate_prefix(pool, NULL, &subtrees), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_invalidate_prefix(pool, &none, &subtrees), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_invalidate_tag(pool, 0, &subtrees), -EINVAL, KVP_REASON_VALUE);
	prompt.nr_tokens = 8;
	kvpr_expect(kvp_invalidate_prefix(user, &prompt, &subtrees), -EACCES,
		    KVP_REASON_RIGHT_ADMIN);
	kvpr_expect(kvp_invalidate_tag(user, 5, &subtrees), -EACCES, KVP_REASON_RIGHT_ADMIN);
	ck_assert_uint_eq(subtrees, 77);
	ck_assert_uint_eq(matched_of(tokens, 8), 8);
	kvp_pool_close(user);
}
END_TEST

/* ---- raw references for which another answers ---- */

START_TEST(test_raw_references_on_a_sequence)
{
	kvp_seq_t seq = computed(tokens, 12);
	uint64_t blocks[3], wrong;
	uint32_t nr = 3;

	kvpr_ok(kvp_seq_table(pool, seq, 0, 0, blocks, &nr));
	kvpr_ok(kvp_blocks_ref_seq(pool, seq, 1, blocks + 1, 2));
	kvpr_ok(kvp_seq_free(pool, seq));
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_HELD), 2);
	kvpr_ok(kvp_blocks_unref(pool, blocks + 1, 2));
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_HELD), 0);

	kvpr_expect(kvp_blocks_ref_seq(pool, seq, 1, blocks + 1, 2), -ESTALE,
		    KVP_REASON_GENERATION);
	seq = computed(tokens, 12);
	nr = 3;
	kvpr_ok(kvp_seq_table(pool, seq, 0, 0, blocks, &nr));
	kvpr_expect(kvp_blocks_ref_seq(pool, 0, 0, blocks, 1), -ENOENT, KVP_REASON_NO_SEQ);
	kvpr_expect(kvp_blocks_ref_seq(pool, 12345, 0, blocks, 1), -ENOENT, KVP_REASON_NO_SEQ);
	kvpr_expect(kvp_blocks_ref_seq(pool, seq, 1, blocks, 1), -EPERM, KVP_REASON_NOT_HELD);
	kvpr_expect(kvp_blocks_ref_seq(pool, seq, 0, blocks, 0), -EINVAL, KVP_REASON_COUNT);
	kvpr_expect(kvp_blocks_ref_seq(pool, seq, 0, NULL, 1), -EFAULT, KVP_REASON_POINTER);
	wrong = KVP_BLOCK_ID(1, 0, 1);
	kvpr_expect(kvp_blocks_ref_seq(pool, seq, 0, &wrong, 1), -EINVAL, KVP_REASON_FAMILY);
	kvpr_ok(kvp_seq_free(pool, seq));
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 16);
}
END_TEST

START_TEST(test_raw_references_on_a_match)
{
	struct kvp_prompt prompt = prompt_of(tokens, 12);
	uint64_t blocks[3], matched;
	kvp_match_t match;
	uint32_t nr = 3;

	publish(tokens, 12, 0);
	kvpr_ok(kvp_match_blocks(pool, &prompt, 0, blocks, &nr, &match, &matched));
	ck_assert_uint_eq(nr, 3);
	kvpr_ok(kvp_blocks_ref_match(pool, match, 0, blocks, 3));
	kvpr_expect(kvp_blocks_ref_match(pool, match, 1, blocks, 1), -EPERM,
		    KVP_REASON_NOT_HELD);
	kvpr_ok(kvp_match_release(pool, match));
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_HELD), 3);
	kvpr_ok(kvp_blocks_unref(pool, blocks, 3));
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_IDLE), 3);
	kvpr_expect(kvp_blocks_ref_match(pool, match, 0, blocks, 1), -ESTALE,
		    KVP_REASON_GENERATION);
	kvpr_expect(kvp_blocks_ref_match(pool, 0, 0, blocks, 1), -ENOENT, KVP_REASON_NO_MATCH);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("api: prefixes");
	TCase *tc = tcase_create("prefixes");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_publish_with_a_limit);
	tcase_add_test(tc, test_publish_what_is_there_and_keep_ones_own);
	tcase_add_test(tc, test_publish_refused);
	tcase_add_test(tc, test_match_that_is_held);
	tcase_add_test(tc, test_match_says_blocks);
	tcase_add_test(tc, test_match_refused);
	tcase_add_test(tc, test_case_d13_type_and_layout_are_in_the_key);
	tcase_add_test(tc, test_invalidate_prefix);
	tcase_add_test(tc, test_invalidate_tag);
	tcase_add_test(tc, test_invalidate_refused);
	tcase_add_test(tc, test_raw_references_on_a_sequence);
	tcase_add_test(tc, test_raw_references_on_a_match);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

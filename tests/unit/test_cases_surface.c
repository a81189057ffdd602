// SPDX-License-Identifier: MIT
/*
 * Scenarios from the field that concern what an engine, a router and an operator see of a
 * pool: state slots (A9), keys and identity (D9, D13), events (J3), dtypes (K2).
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pools.h"

#define NODE	4

static uint8_t space[KVP_DIGEST_LEN];
static uint32_t tokens[64];

static void setup(void)
{
	kvpr_space("m", space);
	kvpr_tokens(tokens, 64, 1);
}

static kvp_seq_t published(struct kvp_pool *pool, const uint32_t *ids, uint32_t nr)
{
	uint64_t done;
	kvp_seq_t seq = kvpr_seq(pool, space, ids, nr, NULL);

	kvpr_ok(kvp_seq_advance(pool, seq, nr));
	kvpr_ok(kvp_publish(pool, seq, &done));
	ck_assert_uint_eq(done, nr / NODE * NODE);
	return seq;
}

/* ---- A9: a state slot is not lost when the rest cannot be had ---- */

struct counters {
	struct kvp_stats pool, self;
	struct kvp_family_stats families[2], own[2];
};

static void look(struct kvp_pool *pool, struct counters *counters)
{
	memset(counters, 0, sizeof(*counters));
	kvpr_ok(kvp_pool_stats(pool, 0, &counters->pool, counters->families, 2));
	kvpr_ok(kvp_pool_stats(pool, KVP_STATS_SELF, &counters->self, counters->own, 2));
}

#define SAME(field)									\
	ck_assert_msg(was->field == is->field, #field " was %llu, is %llu",		\
		      (unsigned long long)was->field, (unsigned long long)is->field)

/* Every counter but those of refusals. */
static void expect_same_stats(const struct kvp_stats *was, const struct kvp_stats *is)
{
	SAME(nr_families);
	SAME(nr_clients);
	SAME(seqs);
	SAME(slots);
	SAME(raw);
	SAME(matches);
	SAME(metadata_bytes);
	SAME(nodes);
	SAME(nodes_used);
	SAME(nodes_published);
	SAME(namespaces);
	SAME(extras_used);
	SAME(extras);
	SAME(matched_nodes);
	SAME(looked_up_nodes);
	SAME(published_nodes);
	SAME(shared_nodes);
	SAME(reclaimed_nodes);
	SAME(reclaimed_blocks);
	SAME(invalidated);
	SAME(copies);
	SAME(underflow_rejected);
	SAME(collisions);
}

static void expect_same_family(const struct kvp_family_stats *was,
			       const struct kvp_family_stats *is)
{
	int i;

	SAME(total);
	for (i = 0; i < KVP_BLOCK_STATES; i++)
		SAME(state[i]);
	SAME(published);
	SAME(charged);
	SAME(guaranteed);
	SAME(unmet);
	SAME(limit);
}

static void expect_same(struct kvp_pool *pool, const struct counters *was)
{
	struct counters is;
	int i;

	look(pool, &is);
	expect_same_stats(&was->pool, &is.pool);
	expect_same_stats(&was->self, &is.self);
	for (i = 0; i < 2; i++) {
		expect_same_family(&was->families[i], &is.families[i]);
		expect_same_family(&was->own[i], &is.own[i]);
	}
	kvpr_sound(pool);
}

/* @call, of which the KV part fails with ENOSPC for @why, leaves every counter alone. */
#define expect_whole_or_nothing(pool, call, why)				\
do {										\
	struct counters was_;							\
										\
	look(pool, &was_);							\
	kvpr_expect(call, -ENOSPC, why);					\
	expect_same(pool, &was_);						\
} while (0)

/*
 * Eight KV blocks, of which five cannot be had: three of a sequence (which may still write to the
 * last one), and a prefix of two nodes, whose end a raw reference holds.
 */
static struct kvp_pool *hybrid(kvp_seq_t *seq, uint64_t *end)
{
	struct kvp_pool *pool = kvpr_open("inproc:a9?family=ssm,state,4,1,64,f32"
					  "&family=kv,dense,8,4,32,bf16");
	struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = 10 };
	kvp_seq_t other;

	other = published(pool, tokens + 32, 2 * NODE);
	*end = kvpr_block(pool, other, 1, 1);
	kvpr_ok(kvp_blocks_ref_seq(pool, other, 1, end, 1));
	kvpr_ok(kvp_seq_free(pool, other));
	kvpr_ok(kvp_seq_create(pool, &prompt, 0, 2, seq, NULL));
	kvpr_ok(kvp_seq_advance(pool, *seq, 10));
	return pool;
}

START_TEST(test_a9_create)
{
	struct kvp_prompt prompt = { .space = space, .tokens = tokens + 16 };
	struct kvp_pool *pool;
	kvp_seq_t seq, child;
	uint64_t end;

	pool = hybrid(&seq, &end);
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 3);
	ck_assert_uint_eq(kvpr_blocks(pool, 1, KVP_BLOCK_FREE), 3);
	ck_assert_uint_eq(kvpr_blocks(pool, 1, KVP_BLOCK_IDLE), 1);
	/* By the counters it fits: the state is taken, and then the idle block proves covered. */
	prompt.nr_tokens = 4 * NODE;
	expect_whole_or_nothing(pool, kvp_seq_create(pool, &prompt, 0, 0, &child, NULL),
				KVP_REASON_COVERED);
	/* By the counters it does not. */
	prompt.nr_tokens = 5 * NODE;
	expect_whole_or_nothing(pool, kvp_seq_create(pool, &prompt, 0, 0, &child, NULL),
				KVP_REASON_POOL_FULL);
	/* With a prefix that is found, and room that is asked for beyond the prompt. */
	prompt.tokens = tokens + 32;
	prompt.nr_tokens = 2 * NODE;
	expect_whole_or_nothing(pool, kvp_seq_create(pool, &prompt, 0, 2 * NODE, &child, NULL),
				KVP_REASON_COVERED);
	prompt.nr_tokens = 3 * NODE;
	kvpr_ok(kvp_seq_create(pool, &prompt, 0, 0, &child, NULL));
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 2);
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_a9_fork)
{
	struct kvp_pool *pool;
	kvp_seq_t seq, child;
	uint64_t end, rest[3];

	pool = hybrid(&seq, &end);
	kvpr_ok(kvp_blocks_alloc(pool, 1, rest, 3));
	/* A state of its own there would be, but no block for the half one. */
	expect_whole_or_nothing(pool, kvp_seq_fork(pool, seq, KVP_POS_END, &child),
				KVP_REASON_COVERED);
	kvpr_ok(kvp_blocks_unref(pool, rest, 1));
	kvpr_ok(kvp_seq_fork(pool, seq, KVP_POS_END, &child));
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_FREE), 2);
	ck_assert_uint_eq(kvpr_blocks(pool, 1, KVP_BLOCK_FREE), 0);
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_a9_append)
{
	struct kvp_pool *pool;
	kvp_seq_t seq;
	uint64_t end;

	pool = hybrid(&seq, &end);
	expect_whole_or_nothing(pool, kvp_seq_append(pool, seq, tokens + 10, 18, 0),
				KVP_REASON_COVERED);
	expect_whole_or_nothing(pool, kvp_seq_append(pool, seq, tokens + 10, 1, 4 * NODE),
				KVP_REASON_COVERED);
	expect_whole_or_nothing(pool, kvp_seq_append(pool, seq, tokens + 10, 22, 0),
				KVP_REASON_POOL_FULL);
	kvpr_expect_lengths(pool, seq, 10, 10, 12, 0);
	kvpr_ok(kvp_seq_append(pool, seq, tokens + 10, 14, 0));
	kvp_pool_close(pool);
}
END_TEST

/* The other way round: KV there would be, but no state. */
START_TEST(test_a9_states_are_all_taken)
{
	struct kvp_prompt prompt = { .space = space, .tokens = tokens + 16, .nr_tokens = NODE };
	struct kvp_pool *pool;
	kvp_seq_t seq, child;
	uint64_t end, rest[3];

	pool = hybrid(&seq, &end);
	kvpr_ok(kvp_blocks_alloc(pool, 0, rest, 3));
	expect_whole_or_nothing(pool, kvp_seq_create(pool, &prompt, 0, 0, &child, NULL),
				KVP_REASON_POOL_FULL);
	expect_whole_or_nothing(pool, kvp_seq_fork(pool, seq, KVP_POS_END, &child),
				KVP_REASON_POOL_FULL);
	kvp_pool_close(pool);
}
END_TEST

/* ---- D9: keys do not depend on who computes them ---- */

START_TEST(test_d9_two_pools_have_one_key)
{
	struct kvp_pool *one = kvpr_open("inproc:d9-one?blocks=16&block_tokens=4&row_bytes=8");
	struct kvp_pool *two = kvpr_open("inproc:d9-two?blocks=64&block_tokens=4&row_bytes=8");
	struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = 4 * NODE };
	uint8_t here[4][KVP_DIGEST_LEN], there[4][KVP_DIGEST_LEN];
	uint32_t nr = 4;
	uint64_t matched;

	/* Each pool has a secret of its own for its index. */
	published(one, tokens, 4 * NODE);
	kvpr_ok(kvp_match(two, &prompt, &matched));
	ck_assert_uint_eq(matched, 0);
	kvpr_ok(kvp_prefix_keys(&prompt, kvp_pool_index_tokens(one), here, &nr));
	kvpr_ok(kvp_prefix_keys(&prompt, kvp_pool_index_tokens(two), there, &nr));
	ck_assert_uint_eq(nr, 4);
	ck_assert_mem_eq(here, there, sizeof(here));
	kvp_pool_close(one);
	kvp_pool_close(two);
}
END_TEST

/* ---- D13: another dtype is another identity ---- */

START_TEST(test_d13_dtype_and_layout_are_in_the_identity)
{
	static const struct kvp_identity identities[] = {
		{ .model = "m", .dtype = "bf16", .layout = "NHD" },
		{ .model = "m", .dtype = "fp8-e4m3", .layout = "NHD" },
		{ .model = "m", .dtype = "bf16", .layout = "HND" },
		{ .model = "m", .dtype = "bf16" },
		{ .model = "m", .layout = "NHD" },
	};
	struct kvp_pool *pool = kvpr_open("inproc:d13?blocks=64&block_tokens=4&row_bytes=8");
	struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = 3 * NODE };
	uint8_t keys[5][3][KVP_DIGEST_LEN];
	uint32_t nr = 3;
	uint64_t matched;
	size_t i, j;

	for (i = 0; i < 5; i++) {
		kvpr_ok(kvp_identity_digest(&identities[i], space));
		kvpr_ok(kvp_match(pool, &prompt, &matched));
		ck_assert_uint_eq(matched, 0);
		kvpr_ok(kvp_seq_free(pool, published(pool, tokens, 3 * NODE)));
		kvpr_ok(kvp_match(pool, &prompt, &matched));
		ck_assert_uint_eq(matched, 3 * NODE);
		kvpr_ok(kvp_prefix_keys(&prompt, NODE, keys[i], &nr));
		for (j = 0; j < i; j++)
			ck_assert_mem_ne(keys[i][2], keys[j][2], KVP_DIGEST_LEN);
	}
	ck_assert_uint_eq(kvpr_blocks(pool, 0, KVP_BLOCK_IDLE), 15);
	kvp_pool_close(pool);
}
END_TEST

/* ---- J3: a router, which knows keys by the blocks that events name ---- */

struct router {
	uint64_t cursor;
	uint64_t block[64];		/* of each key it knows, by index of the block */
};

/* Follow the events; returns how many there were that concern a router. */
static uint32_t follow(struct kvp_pool *pool, struct router *router)
{
	struct kvp_event events[64];
	uint32_t nr = 64, of_nodes = 0;
	uint64_t lost;
	uint32_t i;

	kvpr_ok(kvp_events_read(pool, &router->cursor, events, &nr, &lost));
	ck_assert_uint_eq(lost, 0);
	for (i = 0; i < nr; i++) {
		uint64_t *block = &router->block[KVP_BLOCK_INDEX(events[i].block)];

		/* That a client went says nothing of nodes. */
		if (events[i].kind == KVP_EVENT_LEFT)
			continue;
		of_nodes++;
		ck_assert_mem_eq(events[i].space, space, KVP_DIGEST_LEN);
		ck_assert_uint_eq(*block, events[i].kind == KVP_EVENT_STORED ? 0 : events[i].block);
		*block = events[i].kind == KVP_EVENT_STORED ? events[i].block : 0;
	}
	return of_nodes;
}

START_TEST(test_j3_removed_only_when_the_last_copy_goes)
{
	struct kvp_pool *p = kvpr_open("inproc:j3?blocks=64&block_tokens=4&row_bytes=8");
	struct kvp_pool *q = kvpr_open("inproc:j3");
	struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = 2 * NODE };
	struct kvp_pool *reader = kvpr_open("inproc:j3?rights=use");
	struct router router = { 0 };
	uint64_t all = 100, none = 100;
	kvp_seq_t mine, copy;
	uint64_t first;

	ck_assert_uint_eq(follow(reader, &router), 0);
	mine = published(p, tokens, 2 * NODE);
	first = kvpr_block(p, mine, 0, 0);
	ck_assert_uint_eq(follow(reader, &router), 2);
	ck_assert_uint_eq(router.block[KVP_BLOCK_INDEX(first)], first);
	/* Another computes the same without looking, and publishes it. */
	kvpr_ok(kvp_seq_create(q, &prompt, KVP_SEQ_NO_MATCH, 0, &copy, NULL));
	ck_assert_uint_ne(kvpr_block(q, copy, 0, 0), first);
	kvpr_ok(kvp_seq_advance(q, copy, 2 * NODE));
	kvpr_ok(kvp_publish(q, copy, NULL));
	ck_assert_uint_eq(follow(reader, &router), 0);
	/* One goes: nothing is removed, and nothing can be reclaimed. */
	kvpr_ok(kvp_seq_free(p, mine));
	kvpr_ok(kvp_pool_reclaim(p, &none));
	ck_assert_uint_eq(none, 0);
	ck_assert_uint_eq(follow(reader, &router), 0);
	/* The other goes too: still found. Only reclaim ends it, and is told once. */
	kvp_pool_close(q);
	ck_assert_uint_eq(follow(reader, &router), 0);
	kvpr_ok(kvp_pool_reclaim(p, &all));
	ck_assert_uint_eq(all, 2);
	ck_assert_uint_eq(follow(reader, &router), 2);
	ck_assert_uint_eq(router.block[KVP_BLOCK_INDEX(first)], 0);
	ck_assert_uint_eq(follow(reader, &router), 0);
	kvp_pool_close(reader);
	kvp_pool_close(p);
}
END_TEST

START_TEST(test_j3_events_are_read_with_a_cursor)
{
	struct kvp_pool *pool = kvpr_open("inproc:j3-cursor?blocks=8&block_tokens=4&row_bytes=8");
	struct kvp_event events[8];
	uint64_t cursor = 0, lost = 9;
	uint32_t nr = 0;

	kvpr_ok(kvp_events_read(pool, &cursor, NULL, &nr, &lost));
	ck_assert_uint_eq(cursor, 1);
	ck_assert_uint_eq(lost, 0);
	published(pool, tokens, 3 * NODE);
	nr = 2;
	kvpr_ok(kvp_events_read(pool, &cursor, events, &nr, &lost));
	ck_assert_uint_eq(nr, 2);
	ck_assert_uint_eq(cursor, 3);
	nr = 8;
	kvpr_ok(kvp_events_read(pool, &cursor, events, &nr, &lost));
	ck_assert_uint_eq(nr, 1);
	ck_assert_uint_eq(events[0].depth, 3);
	cursor = 77;
	nr = 8;
	kvpr_expect(kvp_events_read(pool, &cursor, events, &nr, &lost), -EINVAL,
		    KVP_REASON_VALUE);
	ck_assert_uint_eq(cursor, 77);
	ck_assert_uint_eq(nr, 8);
	kvpr_expect(kvp_events_read(pool, NULL, events, &nr, &lost), -EINVAL,
		    KVP_REASON_POINTER);
	kvpr_expect(kvp_events_read(pool, &cursor, events, NULL, &lost), -EINVAL,
		    KVP_REASON_POINTER);
	kvpr_expect(kvp_events_read(pool, &cursor, events, &nr, NULL), -EINVAL,
		    KVP_REASON_POINTER);
	kvp_pool_close(pool);
}
END_TEST

/* ---- K2: each family says what its elements are ---- */

#define K2_URI	"inproc:k2?family=full,dense,8,4,32,bf16&family=win,window,8,4,16,6,fp8-e4m3"

START_TEST(test_k2_dtype_of_each_family)
{
	struct kvp_pool *pool = kvpr_open(K2_URI "&family=ssm,state,2,1,64");
	struct kvp_pool *same = kvpr_open("inproc:k2");

	ck_assert_uint_eq(kvp_pool_family(pool, 0)->dtype, KVP_DTYPE_BF16);
	ck_assert_uint_eq(kvp_pool_family(pool, 1)->dtype, KVP_DTYPE_FP8_E4M3);
	ck_assert_uint_eq(kvp_pool_family(pool, 2)->dtype, KVP_DTYPE_NONE);
	/* So it is for who comes later, and knows nothing. */
	ck_assert_uint_eq(kvp_pool_family(same, 1)->dtype, KVP_DTYPE_FP8_E4M3);
	ck_assert_str_eq(kvp_dtype_name(kvp_pool_family(same, 1)->dtype), "fp8-e4m3");
	kvp_pool_close(same);
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_k2_another_dtype_is_refused)
{
	struct kvp_pool *pool = kvpr_open(K2_URI);
	struct kvp_pool *other = NULL;

	kvpr_expect(kvp_pool_open("inproc:k2?family=full,dense,8,4,32,bf16"
				  "&family=win,window,8,4,16,6,bf16", &other),
		    -EINVAL, KVP_REASON_FAMILY);
	kvpr_says("dtype of its family 1 differs");
	ck_assert_uint_eq(kvp_error()->where, 1);
	ck_assert_ptr_null(other);
	/* Who does not say asks for nothing. */
	kvpr_ok(kvp_pool_open("inproc:k2?family=full,dense,8,4,32&family=win,window,8,4,16,6",
			      &other));
	ck_assert_uint_eq(kvp_pool_family(other, 0)->dtype, KVP_DTYPE_BF16);
	kvp_pool_close(other);
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_k2_unknown_dtype_is_refused)
{
	struct kvp_family_config families[2] = {
		{ .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 8, .row_bytes = 8,
		  .dtype = KVP_DTYPE_OPAQUE8 },
		{ .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 8, .row_bytes = 8,
		  .dtype = KVP_NR_DTYPES },
	};
	const struct kvp_pool_config config = { .families = families, .nr_families = 2 };
	struct kvp_pool *pool = NULL;

	kvpr_expect(kvp_pool_create("inproc:k2-unknown", &config, &pool), -EINVAL, KVP_REASON_FAMILY);
	ck_assert_uint_eq(kvp_error()->where, 1);
	ck_assert_ptr_null(pool);
	families[1].dtype = KVP_DTYPE_I8;
	kvpr_ok(kvp_pool_create("inproc:k2-unknown", &config, &pool));
	kvp_pool_close(pool);
}
END_TEST

START_TEST(test_k2_names)
{
	static const char * const names[] = { "none", "f32", "f16", "bf16", "i8", "fp8-e4m3",
					      "fp8-e5m2", "opaque8" };
	struct kvp_pool *pool;
	char uri[64];

	ck_assert_uint_eq(sizeof(names) / sizeof(names[0]), KVP_NR_DTYPES);
	ck_assert_str_eq(kvp_dtype_name(_i), names[_i]);
	ck_assert_str_eq(kvp_dtype_name(KVP_NR_DTYPES), "unknown");
	snprintf(uri, sizeof(uri), "inproc:k2-names?blocks=2&dtype=%s", names[_i]);
	if (_i) {
		pool = kvpr_open(uri);
		ck_assert_uint_eq(kvp_pool_family(pool, 0)->dtype, _i);
		kvp_pool_close(pool);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("cases: surface");
	TCase *tc = tcase_create("surface");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_a9_create);
	tcase_add_test(tc, test_a9_fork);
	tcase_add_test(tc, test_a9_append);
	tcase_add_test(tc, test_a9_states_are_all_taken);
	tcase_add_test(tc, test_d9_two_pools_have_one_key);
	tcase_add_test(tc, test_d13_dtype_and_layout_are_in_the_identity);
	tcase_add_test(tc, test_j3_removed_only_when_the_last_copy_goes);
	tcase_add_test(tc, test_j3_events_are_read_with_a_cursor);
	tcase_add_test(tc, test_k2_dtype_of_each_family);
	tcase_add_test(tc, test_k2_another_dtype_is_refused);
	tcase_add_test(tc, test_k2_unknown_dtype_is_refused);
	tcase_add_loop_test(tc, test_k2_names, 0, KVP_NR_DTYPES);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

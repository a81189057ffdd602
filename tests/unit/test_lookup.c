// SPDX-License-Identifier: MIT
/*
 * The hash of the index, by itself: whatever was added is found in a line of its
 * path or from where its hash begins, and what was taken out leaves no gap before
 * another.
 */
#include <check.h>

#include "unit.h"

#define NODES	40		/* of which some share a beginning; 128 buckets */

static struct kvpt_env env;
static struct kvp_client *a;
static struct kvp_pool *pool;
static bool in[NODES];
static u64 first[NODES];	/* hashes that choose the lines */
static u64 random_state;

static void setup(void)
{
	struct kvp_family_desc family = KVPT_DENSE(16, 4);

	memset(in, 0, sizeof(in));
	kvpt_env_init(&env);
	a = kvpt_open(&env, 1000);
	kvpt_ok(kvpt_pool_create(a, "lookup", 0600, &family, 1));
	pool = kvpt_pool_of(a);
	ck_assert_uint_ge(pool->nr_nodes, NODES);
}

static void teardown(void)
{
	kvpt_env_exit(&env);
}

/* Whether @index has its place in one of the lines that @first chooses. */
static bool in_line(u32 index, u64 first)
{
	u32 line, at;

	for (line = 0; pool->nodes[index].depth && line < KVP_HASH_LINES; line++) {
		at = kvp_hash_place(pool, first, pool->nodes[index].depth, line);
		if (pool->buckets[at].node == (index | KVP_BUCKET_PLACE))
			return true;
	}
	return false;
}

/* A probe from where the hash begins: how many buckets it reads until it has @index; 0: it ends. */
static u32 probe(u32 index)
{
	u32 at = (u32)pool->nodes[index].hash & pool->bucket_mask;
	u32 steps;

	if (in_line(index, first[index])) {
		ck_assert_uint_eq(pool->buckets[pool->nodes[index].bucket].tag,
				  (u32)pool->nodes[index].hash);
		return 1;
	}
	for (steps = 1; pool->buckets[at].node != KVP_NIL; steps++) {
		if (pool->buckets[at].node == index) {
			ck_assert_uint_eq(pool->buckets[at].tag, (u32)pool->nodes[index].hash);
			return steps;
		}
		at = (at + 1) & pool->bucket_mask;
	}
	return 0;
}

static void check(u32 round)
{
	u32 used = 0, nr = 0, i;

	for (i = 0; i <= pool->bucket_mask; i++)
		used += pool->buckets[i].node != KVP_NIL;
	for (i = 0; i < NODES; i++) {
		nr += in[i];
		ck_assert_msg(!!probe(i) == in[i], "round %u: node %u is %sfound", round, i,
			      in[i] ? "not " : "");
	}
	ck_assert_uint_eq(used, nr);
}

static void change(u32 index)
{
	spin_lock(&pool->lock);
	if (in[index])
		kvp_hash_del_locked(pool, index);
	else
		kvp_hash_add_locked(pool, index, first[index]);
	spin_unlock(&pool->lock);
	in[index] = !in[index];
}

/* Beginnings within @spread of the end of the array, so that runs go round it. */
static void play(u32 spread)
{
	u32 round, i;

	for (i = 0; i < NODES; i++)
		pool->nodes[i].hash = kvpt_random(&random_state) << 32 |
				      ((pool->bucket_mask + 1 - spread / 2 +
					kvpt_below(&random_state, spread)) & pool->bucket_mask);
	for (round = 0; round < 2000; round++) {
		change(kvpt_below(&random_state, NODES));
		check(round);
	}
	for (i = 0; i < NODES; i++)
		if (in[i])
			change(i);
	check(round);
}

/* Paths of any depth, more of them than there are lines, so that places are taken. */
static void play_paths(u32 paths)
{
	u32 round, i;

	for (i = 0; i < NODES; i++) {
		pool->nodes[i].state = KVP_NODE_PUBLISHED;
		pool->nodes[i].depth = 1 + kvpt_below(&random_state, 3 * KVP_HASH_RUN);
		pool->nodes[i].hash = kvpt_random(&random_state);
		first[i] = 0x1234567890abcdefULL * (1 + kvpt_below(&random_state, paths));
	}
	for (round = 0; round < 2000; round++) {
		change(kvpt_below(&random_state, NODES));
		check(round);
	}
	for (i = 0; i < NODES; i++)
		if (in[i])
			change(i);
	check(round);
}

START_TEST(test_lines_of_paths)
{
	random_state = 4;
	play_paths(1);
	play_paths(3);
	play_paths(20);
}
END_TEST

/* One path has all of its run in one line; a branch goes to the other, a third where it can. */
START_TEST(test_a_run_lies_together)
{
	u32 line = kvp_hash_place(pool, 77, 1, 0), i;

	ck_assert_uint_lt(2 * KVP_HASH_RUN + 2, NODES);
	for (i = 0; i < 2 * KVP_HASH_RUN + 2; i++) {
		pool->nodes[i].depth = 1 + i % KVP_HASH_RUN;
		pool->nodes[i].hash = 1000 * i;
		first[i] = 77 | 0x20ULL << 32;
		change(i);
	}
	check(0);
	for (i = 0; i < KVP_HASH_RUN; i++)
		ck_assert_uint_eq(pool->nodes[i].bucket, line + i);
	for (; i < 2 * KVP_HASH_RUN; i++)
		ck_assert_uint_eq(pool->nodes[i].bucket, 0x20 + i - KVP_HASH_RUN);
	ck_assert_uint_eq(pool->nodes[i].bucket, KVP_NIL);
}
END_TEST

START_TEST(test_all_begin_at_one_place)
{
	random_state = 1;
	play(1);
}
END_TEST

START_TEST(test_runs_that_meet)
{
	random_state = 2;
	play(8);
	play(30);
}
END_TEST

START_TEST(test_anywhere)
{
	random_state = 3;
	play(pool->bucket_mask + 1);
}
END_TEST

/* The low bits of two hashes may be equal: then the nodes themselves differ. */
START_TEST(test_equal_tags)
{
	u32 i;

	for (i = 0; i < NODES; i++)
		pool->nodes[i].hash = (u64)i << 32 | 0x12345678;
	for (i = 0; i < NODES; i++)
		change(i);
	check(0);
	for (i = 0; i < NODES; i += 2)
		change(i);
	check(1);
	ck_assert_uint_eq(probe(1), 1);
	ck_assert_uint_eq(probe(3), 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lookup");
	TCase *tcase = tcase_create("buckets");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_all_begin_at_one_place);
	tcase_add_test(tcase, test_runs_that_meet);
	tcase_add_test(tcase, test_anywhere);
	tcase_add_test(tcase, test_equal_tags);
	tcase_add_test(tcase, test_lines_of_paths);
	tcase_add_test(tcase, test_a_run_lies_together);
	suite_add_tcase(s, tcase);
	return kvpt_run(s);
}

// SPDX-License-Identifier: MIT
/*
 * A router's mirror, made from events alone: whatever clients do, it is what matches find at every
 * moment of rest; also when it fell behind, and with threads that publish, invalidate and reclaim
 * while it reads.
 */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>

#include "mirror.h"
#include "unit.h"

#define NODE	4

static struct kvpt_env env;
static struct kvp_client *a;

/* A pool of @blocks blocks, one a node, that keeps as many events as it has @nodes. */
static void make(u32 blocks, u32 nodes)
{
	const struct kvp_pool_create with = { .nodes = nodes };
	struct kvp_family_desc family = KVPT_DENSE(blocks, NODE);

	kvpt_env_init(&env);
	a = kvpt_pool_with(&env, &with, &family, 1);
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

/* ---- prompts ---- */

#define DEPTH	6		/* nodes of a prompt */
#define SPACES	2
#define PROMPTS	(1 << DEPTH)
#define SEQS	6
#define CLIENTS	3

/* Prompt @nr of @n nodes: each node is one of two, so that prompts share beginnings. */
static void prompt(u32 nr, u32 n, u32 *tokens)
{
	u32 i;

	for (i = 0; i < n * NODE; i++)
		tokens[i] = 1 + (nr >> i / NODE & 1);
}

/* The number of the contents that the first @n nodes of a prompt are: never 0. */
static u32 contents(u32 space, u32 nr, u32 n)
{
	return space << (DEPTH + 1) | 1U << n | (nr & ((1U << n) - 1));
}

/* Publish node by node, each with the number of its contents for a tag. */
static void publish_numbered(struct kvp_client *client, u64 seq, u32 space, u32 nr, u32 n)
{
	u32 i;
	int err;

	for (i = 1; i <= n; i++) {
		err = kvpt_publish_with(client, seq, 0, i * NODE, contents(space, nr, i));
		if (err != -ESTALE)
			kvpt_ok(err);
	}
}

/* Every node that some prompt finds is in the mirror, and no other. */
static void expect_mirror(const struct kvpt_mirror *mirror)
{
	static u8 found[SPACES << (DEPTH + 1)];
	u32 tokens[DEPTH * NODE];
	u64 blocks[DEPTH];
	u64 nr = 0;
	u32 space, i, n;
	const char *diff;

	memset(found, 0, sizeof(found));
	for (space = 0; space < SPACES; space++) {
		for (i = 0; i < PROMPTS; i++) {
			prompt(i, DEPTH, tokens);
			kvpt_ok(kvpt_match_blocks(a, space, tokens, DEPTH * NODE, 0, blocks,
						  DEPTH, NULL));
			for (n = 1; n <= kvpt.match.nr_blocks; n++) {
				ck_assert(kvpt_mirror_has(mirror, blocks[n - 1]));
				nr += !found[contents(space, i, n)]++;
			}
		}
	}
	ck_assert_uint_eq(kvpt_mirror_nr(mirror), nr);
	diff = kvpt_mirror_diff(mirror, a);
	ck_assert_msg(!diff, "%s", diff);
}

/* ---- random operations ---- */

struct held {
	struct kvp_client *client;
	u64 seq;
	u32 space, nr, n;
};

struct router {
	struct kvp_client *clients[CLIENTS];
	struct held held[SEQS];
	u64 random;
};

static void drop(struct held *held)
{
	if (held->seq)
		kvpt_ok(kvpt_free(held->client, held->seq));
	held->seq = 0;
}

/* A prompt that is found or computed, and held for a while. */
static void step_create(struct router *r)
{
	struct held *held = &r->held[kvpt_below(&r->random, SEQS)];
	u32 flags = kvpt_below(&r->random, 4) ? 0 : KVP_SEQ_NO_MATCH;
	u32 tokens[DEPTH * NODE];
	int err;

	drop(held);
	held->client = r->clients[kvpt_below(&r->random, CLIENTS)];
	held->space = kvpt_below(&r->random, SPACES);
	held->nr = kvpt_below(&r->random, PROMPTS);
	held->n = 1 + kvpt_below(&r->random, DEPTH);
	prompt(held->nr, held->n, tokens);
	err = kvpt_create_flags(held->client, flags, held->space, tokens, held->n * NODE,
				&held->seq);
	if (err) {
		ck_assert_int_eq(err, -ENOSPC);
		held->seq = 0;
		return;
	}
	kvpt_ok(kvpt_advance(held->client, held->seq, held->n * NODE));
}

static void step_invalidate(struct router *r)
{
	u32 space = kvpt_below(&r->random, SPACES);
	u32 n = 1 + kvpt_below(&r->random, DEPTH);
	u32 nr = kvpt_below(&r->random, PROMPTS);
	u32 tokens[DEPTH * NODE];

	prompt(nr, n, tokens);
	switch (kvpt_below(&r->random, 8)) {
	case 0:
		kvpt_ok(kvpt_invalidate_space(a, space));
		break;
	case 1:
	case 2:
		kvpt_ok(kvpt_invalidate_tag(a, contents(space, nr, n)));
		break;
	default:
		kvpt_ok(kvpt_invalidate_prefix(a, space, tokens, n * NODE));
	}
}

/* A client goes with all it holds, and another comes. */
static void step_client(struct router *r)
{
	u32 i = kvpt_below(&r->random, CLIENTS);
	u32 j;

	for (j = 0; j < SEQS; j++)
		if (r->held[j].client == r->clients[i])
			r->held[j].seq = 0;
	kvpt_close(&env, r->clients[i]);
	r->clients[i] = kvpt_join(&env, 1100, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
}

static void step(struct router *r)
{
	struct held *held = &r->held[kvpt_below(&r->random, SEQS)];

	switch (kvpt_below(&r->random, 16)) {
	case 0 ... 5:
		step_create(r);
		break;
	case 6 ... 10:
		if (held->seq)
			publish_numbered(held->client, held->seq, held->space, held->nr, held->n);
		break;
	case 11:
	case 12:
		drop(held);
		break;
	case 13:
		kvpt_ok(kvpt_reclaim(a, 1 + kvpt_below(&r->random, 4)));
		break;
	case 14:
		step_invalidate(r);
		break;
	default:
		step_client(r);
	}
}

static void router_begin(struct router *r, u64 seed)
{
	u32 i;

	memset(r, 0, sizeof(*r));
	r->random = seed;
	for (i = 0; i < CLIENTS; i++)
		r->clients[i] = kvpt_join(&env, 1100, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
}

START_TEST(test_mirror_from_events_alone)
{
	struct kvpt_mirror mirror;
	struct router r;
	u32 i;

	make(28, 0);
	kvpt_mirror_init(&mirror, a, 0);
	mirror.unique_tags = true;
	router_begin(&r, _i);
	for (i = 0; i < 400; i++) {
		step(&r);
		if (kvpt_below(&r.random, 3))
			continue;
		kvpt_mirror_read(&mirror, a);
		expect_mirror(&mirror);
		kvpt_audit_clean(a);
	}
	kvpt_mirror_read(&mirror, a);
	ck_assert_uint_eq(mirror.nr_resyncs, 0);
	ck_assert_uint_ge(mirror.nr_stored, 50);
	ck_assert_uint_ge(mirror.nr_removed, 20);
	kvpt_mirror_exit(&mirror);
}
END_TEST

START_TEST(test_mirror_that_falls_behind)
{
	struct kvpt_mirror mirror;
	struct router r;
	u32 i;

	make(28, 0);
	kvpt_mirror_init(&mirror, a, 0);
	router_begin(&r, 1000 + _i);
	for (i = 0; i < 12000; i++) {
		step(&r);
		if (i % 4000 < 3990)
			continue;
		kvpt_mirror_read(&mirror, a);
		expect_mirror(&mirror);
	}
	ck_assert_uint_ge(mirror.nr_resyncs, 1);
	kvpt_mirror_exit(&mirror);
}
END_TEST

/* ---- publishers and a reader ---- */

static atomic_bool done;

static void *publisher(void *arg)
{
	struct kvp_client *client = arg;
	u64 random = (u64)(uintptr_t)client;
	u32 tokens[DEPTH * NODE];
	u32 i, nr, n, space;
	u64 seq;
	int err;

	for (i = 0; i < 3000; i++) {
		nr = kvpt_below(&random, PROMPTS);
		n = 1 + kvpt_below(&random, DEPTH);
		space = kvpt_below(&random, SPACES);
		prompt(nr, n, tokens);
		err = kvpt_create(client, space, tokens, n * NODE, &seq);
		if (err == -ENOSPC)
			continue;
		kvpt_ok(err);
		kvpt_ok(kvpt_advance(client, seq, n * NODE));
		publish_numbered(client, seq, space, nr, n);
		kvpt_ok(kvpt_free(client, seq));
	}
	return NULL;
}

static void *spoiler(void *arg)
{
	struct router r = { .random = 7 };

	while (!atomic_load(&done)) {
		step_invalidate(&r);
		kvpt_ok(kvpt_reclaim(a, 1 + kvpt_below(&r.random, 8)));
	}
	return NULL;
}

START_TEST(test_publishers_and_a_reader)
{
	struct kvpt_mirror mirror;
	pthread_t threads[3];
	struct kvp_client *b, *c;

	make(40, 65536);
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	c = kvpt_join(&env, 1002, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	kvpt_mirror_init(&mirror, a, 0);
	mirror.unique_tags = true;
	atomic_store(&done, false);
	ck_assert_int_eq(pthread_create(&threads[0], NULL, publisher, b), 0);
	ck_assert_int_eq(pthread_create(&threads[1], NULL, publisher, c), 0);
	ck_assert_int_eq(pthread_create(&threads[2], NULL, spoiler, NULL), 0);
	while (mirror.nr_stored < 2000)
		kvpt_mirror_read(&mirror, a);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	atomic_store(&done, true);
	pthread_join(threads[2], NULL);
	kvpt_mirror_read(&mirror, a);
	ck_assert_uint_eq(mirror.nr_resyncs, 0);
	expect_mirror(&mirror);
	kvpt_mirror_exit(&mirror);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("events: mirror");
	TCase *mirror = tcase_create("mirror");

	tcase_set_timeout(mirror, 300);
	tcase_add_checked_fixture(mirror, NULL, teardown);
	tcase_add_loop_test(mirror, test_mirror_from_events_alone, 0, 12);
	tcase_add_loop_test(mirror, test_mirror_that_falls_behind, 0, 3);
	tcase_add_test(mirror, test_publishers_and_a_reader);
	suite_add_tcase(s, mirror);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

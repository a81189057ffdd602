// SPDX-License-Identifier: MIT
/*
 * What waits for fences, and the death of clients.
 */
#include "cases.h"

static u64 ids[KVP_MAX_CALL_BLOCKS];
static struct kvp_use_entry entries[KVP_MAX_CALL_BLOCKS];

/* Nodes of a sequence of which a pool has many, and how many of them. */
static u32 short_nodes(const struct cases *c)
{
	return max(200 / max(c->parts, 1U), 1U);
}

static u32 nr_short(const struct cases *c)
{
	return min(2 * c->shape->nodes / (short_nodes(c) + 1), 400U);
}

/*
 * Sequences that have let go of almost a slice each while a use was open, which has passed since;
 * another has not.
 */
static void make_late(struct cases *c, struct kvp_client *client, u32 timeline)
{
	u32 size = c->shape->index_tokens;
	u32 i;

	for (i = 0; i < nr_short(c); i++) {
		u32 nodes = i % 2 ? short_nodes(c) + 1 : 1 + KVP_SLICE / 3 / max(c->parts, 1U);
		u64 seq = cases_small(client, nodes * size, i);

		kvpt_ok(kvpt_use_read(client, seq, timeline, 1));
		kvpt_ok(kvpt_truncate(client, seq, size));
		kvpt_ok(kvpt_use_read(client, seq, timeline, 2));
	}
	kvpt_pass(client, timeline, 1);
}

static void late(struct cases *c)
{
	u32 t = kvpt_timeline(c->a);
	u64 seq;

	if (!cases_dense(c))
		return;
	seq = cases_seq(c, c->a, 1);
	kvpt_ok(kvpt_use_read(c->a, seq, t, 1));
	kvpt_ok(kvpt_truncate(c->a, seq, c->shape->index_tokens));
	cases_begin();
	kvpt_pass(c->a, t, 1);
	kvpt_ok(kvpt_free(c->a, seq));
	cases_end_big(c, "free of one that has let go of much");
	t = kvpt_timeline(c->a);
	make_late(c, c->a, t);
	cases_begin();
	kvpt_ok(kvpt_stats(c->b, 0, NULL, 0));
	cases_end_big(c, "stats while much has passed");
	kvpt_pass(c->a, t, 2);
}

/*
 * Each has the copies of a published node whose other blocks nobody holds, and has let go of their
 * sources.
 */
static void make_late_copies(struct cases *c, struct kvp_client *client, u32 timeline)
{
	u32 i;

	for (i = 0; i < nr_short(c); i++) {
		u64 seq = cases_small(client, c->shape->index_tokens, i);
		u64 child;

		kvpt_ok(kvpt_publish(client, seq));
		kvpt_ok(kvpt_fork(client, seq, 1, &child));
		kvpt_ok(kvpt_free(client, seq));
		kvpt_ok(kvpt_use_read(client, child, timeline, 1));
		kvpt_ok(kvpt_copied(client, child));
		kvpt_ok(kvpt_use_read(client, child, timeline, 2));
	}
	kvpt_pass(client, timeline, 1);
}

static void copies(struct cases *c)
{
	struct kvp_client *client = cases_join(c, 1001);
	u32 t = kvpt_timeline(client);

	if (!cases_dense(c)) {
		kvp_client_close(client);
		return;
	}
	make_late_copies(c, client, t);
	cases_begin();
	kvpt_ok(kvpt_stats(c->b, 0, NULL, 0));
	cases_end(c, "stats while sources of copies have passed");
	kvp_client_close(client);
	kvpt_ok(kvpt_reap(c->a, 0));
	client = cases_join(c, 1001);
	t = kvpt_timeline(client);
	make_late_copies(c, client, t);
	cases_begin();
	kvp_client_close(client);
	cases_end(c, "a client ends whose sources of copies have passed");
	kvpt_ok(kvpt_reap(c->a, 0));
}

/* They stay as zombies, in quarantine until reap. */
static void death(struct cases *c)
{
	struct kvp_client *client = cases_join(c, 1001);
	u32 t = kvpt_timeline(client);

	if (cases_dense(c)) {
		make_late(c, client, t);
		cases_begin();
		kvp_client_close(client);
		cases_end_big(c, "a client ends of which much has passed");
	} else {
		kvp_client_close(client);
	}
	cases_begin();
	kvpt_ok(kvpt_reap(c->a, 0));
	cases_end(c, "reap");
}

static void many_zombies(struct cases *c)
{
	struct kvp_client *client = cases_join(c, 1001);
	u32 t = kvpt_timeline(client);
	u32 i;

	for (i = 0; i < nr_short(c); i++) {
		u64 seq = cases_small(client, short_nodes(c) * c->shape->index_tokens, i);

		if (i % 3 == 1)
			kvpt_ok(kvpt_publish(client, seq));
		kvpt_ok(kvpt_use_read(client, seq, t, 1 + i % 2));
		if (i % 2)
			kvpt_ok(kvpt_free(client, seq));
	}
	kvpt_pass(client, t, 1);
	cases_begin();
	kvpt_ok(kvpt_stats(c->b, 0, NULL, 0));
	cases_end(c, "stats while zombies have passed");
	cases_begin();
	kvp_client_close(client);
	cases_end(c, "a client with zombies ends");
	cases_begin();
	kvpt_ok(kvpt_reap(c->a, 0));
	cases_end_big(c, "reap of zombies");
}

static void big_zombie(struct cases *c)
{
	u32 t = kvpt_timeline(c->a);
	u64 seq = cases_published(c, c->a, 1);
	u64 own = cases_seq(c, c->a, 2);
	u64 child;

	kvpt_ok(kvpt_use_read(c->a, seq, t, 1));
	kvpt_ok(kvpt_use_read(c->a, own, t, 1));
	if (cases_dense(c)) {
		kvpt_ok(kvpt_fork(c->a, own, c->tokens - 1, &child));
		kvpt_ok(kvpt_use_read(c->a, child, t, 1));
		cases_begin();
		kvpt_ok(kvpt_free(c->a, child));
		cases_end_big(c, "free with an open use, and copies owed");
	}
	cases_begin();
	kvpt_ok(kvpt_free(c->a, seq));
	kvpt_ok(kvpt_free(c->a, own));
	cases_end_big(c, "free with an open use");
	kvpt_pass(c->a, t, 1);
	cases_begin();
	kvpt_ok(kvpt_query(c->a, NULL, 0));
	cases_end_big(c, "query");
}

/* Windows move on late, and what they let go of is published. */
static void windows(struct cases *c)
{
	u32 t = kvpt_timeline(c->a);
	u64 seq = cases_small(c->a, c->tokens / 2, 1);

	kvpt_ok(kvpt_publish(c->a, seq));
	kvpt_ok(kvpt_use_read(c->a, seq, t, 1));
	kvpt_ok(kvpt_append(c->a, seq, cases_ids(c->tokens / 2, 3), c->tokens / 2));
	kvpt_ok(kvpt_advance(c->a, seq, c->tokens));
	kvpt_ok(kvpt_publish(c->a, seq));
	kvpt_pass(c->a, t, 1);
	cases_begin();
	kvpt_ok(kvpt_stats(c->b, 0, NULL, 0));
	cases_end(c, "windows move on when work has passed");
}

static void use_blocks(u32 nr, u32 timeline)
{
	u32 i;

	for (i = 0; i < nr; i++)
		entries[i] = (struct kvp_use_entry)KVPT_BLOCK(ids[i], timeline, 1);
}

static void raw(struct cases *c)
{
	u32 t = kvpt_timeline(c->a);
	u64 seq = cases_published(c, c->a, 1);
	u32 parts = c->shape->index_tokens / c->shape->families[0].block_tokens;
	u32 nr = 0;
	u32 i;

	/* The last block of each node, whose others are idle. */
	for (i = 0; i < c->shape->nodes && nr < 1000; i++) {
		kvpt_begin();
		kvpt.table.seq = seq;
		kvpt.table.first = i * parts + parts - 1;
		kvpt.table.blocks = kvpt_addr(ids + nr);
		kvpt.table.nr_blocks = 1;
		kvpt_ok(kvpt_do(c->a, KVP_OP_SEQ_TABLE, &kvpt.table));
		kvpt_ok(kvpt_ref_from(c->a, seq, i * parts + parts - 1, ids + nr, 1));
		nr++;
	}
	kvpt_ok(kvpt_free(c->a, seq));
	use_blocks(nr, t);
	entries[nr] = entries[0];
	entries[nr].id = KVP_BLOCK_ID(0, KVP_BLOCK_INDEX_MASK, 1);
	cases_begin();
	kvpt_expect(kvpt_use(c->a, entries, nr + 1), -ENOENT, KVP_REASON_NO_BLOCK);
	cases_end_big(c, "use of blocks that fails");
	cases_begin();
	kvpt_ok(kvpt_use(c->a, entries, nr));
	cases_end(c, "use of blocks");
	kvpt_ok(kvpt_unref(c->a, ids, nr));
	kvpt_pass(c->a, t, 1);
	cases_begin();
	kvpt_ok(kvpt_query(c->a, NULL, 0));
	cases_end_big(c, "query when the uses of blocks have passed");
}

/* Thousands of uses, each of its own block. */
static void holds(struct cases *c)
{
	u32 t = kvpt_timeline(c->a);
	u32 nr = min_t(u64, c->shape->families[0].blocks, CASES_MANY);
	u32 i;

	kvpt_ok(kvpt_alloc(c->a, 0, nr, ids));
	use_blocks(nr, t);
	entries[nr - 1].id = KVP_BLOCK_ID(0, KVP_BLOCK_INDEX_MASK, 1);
	cases_begin();
	kvpt_expect(kvpt_use(c->a, entries, nr), -ENOENT, KVP_REASON_NO_BLOCK);
	cases_end_big(c, "use of many blocks that fails");
	for (i = 0; i < nr; i++)
		entries[i] = (struct kvp_use_entry)KVPT_BLOCK(ids[i], t, 1 + i % 2);
	cases_begin();
	kvpt_ok(kvpt_use(c->a, entries, nr));
	cases_end_big(c, "uses of blocks, one each");
	kvpt_ok(kvpt_unref(c->a, ids, nr));
	kvpt_pass(c->a, t, 1);
	cases_begin();
	kvpt_ok(kvpt_stats(c->b, 0, NULL, 0));
	cases_end(c, "every other of them has passed");
	kvpt_pass(c->a, t, 2);
	kvpt_ok(kvpt_stats(c->b, 0, NULL, 0));
}

/* One call for many sequences that have much to settle. */
static void used(struct cases *c)
{
	u32 size = c->shape->index_tokens;
	u32 nr = (short_nodes(c) + 1) * size;
	u32 t = kvpt_timeline(c->a);
	u32 i;

	if (!cases_dense(c))
		return;
	for (i = 0; i < nr_short(c); i++) {
		u64 seq = cases_small(c->a, nr, i);

		kvpt_ok(kvpt_use_read(c->a, seq, t, 1));
		kvpt_ok(kvpt_truncate(c->a, seq, size));
		entries[i] = (struct kvp_use_entry)KVPT_READ(seq, t, 2);
	}
	kvpt_pass(c->a, t, 1);
	cases_begin();
	kvpt_ok(kvpt_use(c->a, entries, nr_short(c)));
	cases_end_big(c, "use of sequences of which much has passed");
	kvpt_pass(c->a, t, 2);
}

const cases_fn cases_fences[] = {
	late, copies, death, many_zombies, big_zombie, windows, raw, holds, used, NULL
};

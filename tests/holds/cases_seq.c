// SPDX-License-Identifier: MIT
/*
 * Sequences, published prefixes, reclaim.
 */
#include "cases.h"

/* What nobody else has comes and goes. */
static void own(struct cases *c)
{
	u64 seq;

	cases_begin();
	kvpt_ok(kvpt_create(c->a, 1, cases_ids(c->tokens, 1), c->tokens, &seq));
	cases_end_big(c, "create");
	cases_begin();
	kvpt_ok(kvpt_advance(c->a, seq, c->tokens));
	cases_end(c, "advance");
	if (cases_dense(c)) {
		cases_begin();
		kvpt_ok(kvpt_truncate(c->a, seq, c->tokens / 2 + 1));
		cases_end_big(c, "truncate");
		cases_begin();
		kvpt_ok(kvpt_append(c->a, seq, cases_ids(c->tokens / 2 - 1, 9),
				    c->tokens / 2 - 1));
		cases_end_big(c, "append");
	}
	cases_begin();
	kvpt_ok(kvpt_reserve(c->a, seq, c->tokens / 2));
	cases_end_big(c, "reserve");
	cases_begin();
	kvpt_ok(kvpt_free(c->a, seq));
	cases_end_big(c, "free");
}

static void published(struct cases *c)
{
	u64 seq = cases_seq(c, c->a, 1);
	u64 twin = cases_seq(c, c->b, 1);
	static u64 blocks[1 << 16];
	u64 match;

	cases_begin();
	kvpt_ok(kvpt_publish(c->a, seq));
	cases_end_big(c, "publish");
	cases_begin();
	kvpt_ok(kvpt_publish(c->b, twin));
	cases_end_big(c, "publish what is there already");
	kvpt_ok(kvpt_free(c->b, twin));
	cases_begin();
	kvpt_ok(kvpt_free(c->a, seq));
	cases_end_big(c, "free what is published");
	cases_begin();
	kvpt_ok(kvpt_match(c->a, 1, cases_ids(c->tokens, 1), c->tokens, &match));
	cases_end(c, "match");
	cases_begin();
	kvpt_ok(kvpt_match_blocks(c->a, 1, cases_ids(c->tokens, 1), c->tokens, 0, blocks,
				  ARRAY_SIZE(blocks), NULL));
	cases_end(c, "match with blocks");
	if (match)
		kvpt_ok(kvpt_release(c->a, match));
	cases_begin();
	kvpt_ok(kvpt_create(c->b, 1, cases_ids(c->tokens, 1), c->tokens, &seq));
	cases_end(c, "create what is published");
	cases_begin();
	kvpt_ok(kvpt_free(c->b, seq));
	cases_end_big(c, "free what is published, again");
	cases_begin();
	kvpt_ok(kvpt_reclaim(c->a, ~0ULL));
	cases_end_big(c, "reclaim");
}

/* What is idle is taken. */
static void needed(struct cases *c)
{
	u64 seq = cases_published(c, c->a, 1);

	cases_seq(c, c->b, 2);
	kvpt_ok(kvpt_free(c->a, seq));
	cases_begin();
	cases_seq(c, c->a, 3);
	cases_end_big(c, "create by reclaim");
}

/* A match keeps one half of what is idle, and the other would not do: it is put back. */
static void not_enough(struct cases *c)
{
	u32 half = c->shape->nodes / 2 * c->shape->index_tokens;
	u64 seq = cases_small(c->a, half, 1);
	u64 other = cases_small(c->a, half, 2);
	u64 match;

	if (!cases_dense(c))
		return;
	kvpt_ok(kvpt_publish(c->a, seq));
	kvpt_ok(kvpt_publish(c->a, other));
	kvpt_ok(kvpt_free(c->a, other));
	kvpt_ok(kvpt_free(c->a, seq));
	kvpt_ok(kvpt_match(c->a, 1, cases_ids(half, 1), half, &match));
	cases_begin();
	kvpt_expect(kvpt_create_with(c->b, &(struct kvp_seq_create){ .reserve = 7 * half / 2 },
				     1, NULL, 0, NULL), -ENOSPC, KVP_REASON_COVERED);
	cases_end_big(c, "create that fails");
	kvpt_ok(kvpt_release(c->a, match));
	/* Those before its end are older, and met first. */
	cases_begin();
	kvpt_ok(kvpt_reclaim(c->a, ~0ULL));
	cases_end_big(c, "reclaim of what was matched");
}

static void forks(struct cases *c)
{
	u32 end = c->tokens - 1;
	u64 seq = cases_seq(c, c->a, 1);
	u64 child, other;

	kvpt_ok(kvpt_publish(c->a, seq));
	cases_begin();
	kvpt_ok(kvpt_fork(c->a, seq, KVP_POS_END, &child));
	cases_end_big(c, "fork");
	kvpt_ok(kvpt_copied(c->a, child));
	cases_begin();
	kvpt_ok(kvpt_free(c->a, child));
	cases_end_big(c, "free a fork");
	if (!cases_dense(c))
		return;
	kvpt_ok(kvpt_fork(c->a, seq, end, &child));
	kvpt_ok(kvpt_fork(c->a, seq, end, &other));
	cases_begin();
	kvpt_ok(kvpt_copied(c->a, other));
	cases_end(c, "copied");
	cases_begin();
	kvpt_ok(kvpt_free(c->a, child));
	cases_end_big(c, "free a fork that owes copies");
	kvpt_ok(kvpt_free(c->a, seq));
}

/* Nobody has the parent any more, and the fork's copies keep the blocks of its last node. */
static void orphans(struct cases *c)
{
	u32 end = c->tokens - 1;
	u64 seq = cases_published(c, c->a, 1);
	u64 child;

	if (!cases_dense(c))
		return;
	kvpt_ok(kvpt_fork(c->a, seq, end, &child));
	kvpt_ok(kvpt_free(c->a, seq));
	cases_begin();
	kvpt_ok(kvpt_copied(c->a, child));
	cases_end(c, "copied, of a parent that is gone");
	seq = cases_published(c, c->b, 1);
	kvpt_ok(kvpt_fork(c->b, seq, end, &child));
	kvpt_ok(kvpt_free(c->b, seq));
	cases_begin();
	kvpt_ok(kvpt_free(c->b, child));
	cases_end_big(c, "free a fork that owes copies of a parent that is gone");
}

/* Forks that share a part-filled node, one of which goes on. */
static void shared_end(struct cases *c)
{
	u32 nr = max(2 * c->shape->index_tokens - 1, 3U);
	u64 seq = cases_small(c->a, nr, 1);
	u64 child;

	kvpt_ok(kvpt_fork(c->a, seq, KVP_POS_END, &child));
	kvpt_ok(kvpt_copied(c->a, child));
	cases_begin();
	kvpt_ok(kvpt_append(c->a, child, cases_ids(c->tokens / 2, 4), c->tokens / 2));
	cases_end_big(c, "append to a shared node");
	cases_begin();
	kvpt_ok(kvpt_free(c->a, child));
	cases_end_big(c, "free with copies pending");
}

/* Forks of many lengths, so that their copies come anywhere in a slice. */
static void lengths(struct cases *c)
{
	u32 size = c->shape->index_tokens;
	u64 seq, child;
	u32 i;

	if (!cases_dense(c))
		return;
	cases_begin();
	for (i = 1; i < 40; i++) {
		u32 nr = (c->parts > 16 ? i : 7 * i) * size;

		seq = cases_small(c->a, nr - 1, i);
		kvpt_ok(kvpt_fork(c->a, seq, KVP_POS_END, &child));
		kvpt_ok(kvpt_append(c->a, child, cases_ids(3 * size, 9), 3 * size));
		kvpt_ok(kvpt_copied(c->a, child));
		kvpt_ok(kvpt_free(c->a, child));
		kvpt_ok(kvpt_publish(c->a, seq));
		kvpt_ok(kvpt_append(c->a, seq, cases_ids(1, 9), 1));
		kvpt_ok(kvpt_advance(c->a, seq, nr));
		kvpt_ok(kvpt_publish(c->a, seq));
		kvpt_ok(kvpt_fork(c->a, seq, nr - 1, &child));
		kvpt_ok(kvpt_free(c->a, seq));
		if (i % 2)
			kvpt_ok(kvpt_copied(c->a, child));
		kvpt_ok(kvpt_free(c->a, child));
	}
	cases_end_big(c, "forks of many lengths");
}

/* Thousands of short ones. */
static void many(struct cases *c)
{
	u32 nr = min(2 * c->shape->nodes - 10, 2000U);
	struct kvp_client *client = cases_join(c, 1001);
	u32 i;

	for (i = 0; i < nr; i++) {
		u64 seq = cases_small(client, c->shape->index_tokens, i);

		if (i % 2)
			kvpt_ok(kvpt_publish(client, seq));
	}
	cases_begin();
	kvp_client_close(client);
	cases_end(c, "a client with many sequences ends");
}

const cases_fn cases_seqs[] = {
	own, published, needed, not_enough, forks, orphans, shared_end, lengths, many, NULL
};

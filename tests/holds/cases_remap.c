// SPDX-License-Identifier: MIT
/*
 * Remaps of big sequences, of many pieces, and of what others have.
 */
#include "cases.h"
#include "remaps.h"

static struct kvp_piece pieces[KVP_MAX_PIECES];
static struct kvp_move moves[CASES_MANY];

/* States are not moved. */
static bool movable(const struct cases *c)
{
	return c->shape->families[c->shape->nr - 1].kind != KVP_FAMILY_STATE;
}

/* Half as many tokens as a big sequence: what they become has room beside them. */
static u32 half(const struct cases *c)
{
	return c->shape->nodes / 2 * c->shape->index_tokens;
}

/* The second token goes, so that all rows after it are moved. */
static int evict(struct kvp_client *client, u64 seq, u32 nr)
{
	const struct kvp_piece pair[] = { KVPT_PIECE(seq, 0, 1), KVPT_PIECE(seq, 2, nr - 2) };

	return kvpt_remap(client, seq, pair, 2);
}

/* All but two of another one's tokens come after two of its own, and are moved. */
static int splice(struct kvp_client *client, u64 seq, u64 from, u32 nr)
{
	const struct kvp_piece pair[] = { KVPT_PIECE(seq, 0, 2), KVPT_PIECE(from, 3, nr - 3) };

	return kvpt_remap(client, seq, pair, 2);
}

/* All but the first node of another one's stays by reference. */
static int adopt(const struct cases *c, u64 seq, u64 from, u32 nr)
{
	u32 size = c->shape->index_tokens;
	const struct kvp_piece pair[] = {
		KVPT_PIECE(seq, 0, size), KVPT_PIECE(from, size, nr - size),
	};

	return kvpt_remap(c->a, seq, pair, 2);
}

static void own(struct cases *c)
{
	u64 seq;

	if (!movable(c))
		return;
	seq = cases_small(c->a, half(c), 1);
	cases_begin();
	kvpt_ok(evict(c->a, seq, half(c)));
	cases_end_big(c, "remap-begin");
	cases_begin();
	kvpt_ok(kvpt_moves(c->a, seq, 0, 0, moves, CASES_MANY));
	cases_end(c, "remap-moves");
	cases_begin();
	kvpt_ok(kvpt_abort(c->a, seq));
	cases_end_big(c, "remap-abort");
	kvpt_ok(evict(c->a, seq, half(c)));
	cases_begin();
	kvpt_audit_clean(c->a);
	cases_end(c, "audit of an open remap");
	cases_begin();
	kvpt_ok(kvpt_commit(c->a, seq));
	cases_end_big(c, "remap-commit");
	/* All nodes but the last one stay. */
	cases_begin();
	pieces[0] = (struct kvp_piece)KVPT_PIECE(seq, 0, half(c) - 1);
	kvpt_ok(kvpt_remap(c->a, seq, pieces, 1));
	cases_end_big(c, "remap-begin of what stays");
	cases_begin();
	kvpt_ok(kvpt_abort(c->a, seq));
	cases_end_big(c, "remap-abort of what stays");
}

static void published(struct cases *c)
{
	u64 seq;

	if (!movable(c))
		return;
	seq = cases_small(c->a, half(c), 1);
	kvpt_ok(kvpt_publish(c->a, seq));
	cases_begin();
	kvpt_ok(evict(c->a, seq, half(c)));
	cases_end_big(c, "remap-begin of what is published");
	cases_begin();
	kvpt_ok(kvpt_commit(c->a, seq));
	cases_end_big(c, "remap-commit that leaves what is published");
}

static void in_flight(struct cases *c)
{
	u32 t = kvpt_timeline(c->a);
	u64 seq;

	if (!movable(c))
		return;
	seq = cases_small(c->a, half(c), 1);
	kvpt_ok(evict(c->a, seq, half(c)));
	cases_begin();
	kvpt_ok(kvpt_use_remap(c->a, seq, t, 1));
	cases_end(c, "use of a remap");
	cases_begin();
	kvpt_ok(kvpt_commit(c->a, seq));
	cases_end_big(c, "remap-commit with an open use");
	kvpt_pass(c->a, t, 1);
	cases_begin();
	kvpt_ok(kvpt_query(c->a, NULL, 0));
	cases_end_big(c, "query when the work of a remap has passed");
	kvpt_ok(evict(c->a, seq, half(c) - 1));
	kvpt_ok(kvpt_use_remap(c->a, seq, t, 2));
	cases_begin();
	kvpt_ok(kvpt_abort(c->a, seq));
	cases_end_big(c, "remap-abort with an open use");
	kvpt_pass(c->a, t, 2);
	cases_begin();
	kvpt_ok(kvpt_query(c->a, NULL, 0));
	cases_end_big(c, "query when the work of an aborted one has passed");
}

/* Each of four tokens loses one. */
static void many(struct cases *c)
{
	u32 nr = min(half(c) / 4, (u32)KVP_MAX_PIECES);
	u32 t = kvpt_timeline(c->a);
	u64 seq;
	u32 i;

	if (!movable(c) || !cases_dense(c))
		return;
	seq = cases_small(c->a, 4 * nr, 1);
	for (i = 0; i < nr; i++)
		pieces[i] = (struct kvp_piece)KVPT_PIECE(seq, 4 * i, 3);
	cases_begin();
	kvpt_ok(kvpt_remap(c->a, seq, pieces, nr));
	cases_end_big(c, "remap-begin of many pieces");
	cases_begin();
	kvpt_audit_clean(c->a);
	cases_end(c, "audit of many pieces");
	kvpt_ok(kvpt_use_remap(c->a, seq, t, 1));
	cases_begin();
	kvpt_ok(kvpt_commit(c->a, seq));
	cases_end_big(c, "remap-commit of many pieces");
	cases_begin();
	kvpt_pass(c->a, t, 1);
	kvpt_ok(kvpt_free(c->a, seq));
	cases_end_big(c, "free of one with many runs");
}

/* The first token of each node: what a new node is made from is in many others. */
static void many_nodes(struct cases *c)
{
	u32 nr = min(half(c) / c->shape->index_tokens, (u32)KVP_MAX_PIECES);
	u64 seq;
	u32 i;

	if (!movable(c) || !cases_dense(c))
		return;
	seq = cases_small(c->a, half(c), 1);
	for (i = 0; i < nr; i++)
		pieces[i] = (struct kvp_piece)KVPT_PIECE(seq, i * c->shape->index_tokens, 1);
	cases_begin();
	kvpt_ok(kvpt_remap(c->a, seq, pieces, nr));
	cases_end(c, "remap-begin of a token of each node");
	cases_begin();
	kvpt_ok(kvpt_commit(c->a, seq));
	cases_end_big(c, "remap-commit of a token of each node");
}

/* A node each from many sequences, of which those that are published are freed then. */
static void many_sources(struct cases *c)
{
	u32 size = c->shape->index_tokens;
	u32 nr = min(c->shape->nodes / 3, 500U);
	static u64 from[500];
	u64 seq;
	u32 i;

	if (!movable(c) || !cases_dense(c))
		return;
	seq = cases_small(c->a, size, 1);
	for (i = 0; i < nr; i++) {
		from[i] = cases_small(c->a, size, 2 + i);
		if (i % 2)
			kvpt_ok(kvpt_publish(c->a, from[i]));
		pieces[i] = (struct kvp_piece)KVPT_PIECE(from[i], 0, size - i % 2);
	}
	cases_begin();
	kvpt_ok(kvpt_remap(c->a, seq, pieces, nr));
	cases_end_big(c, "remap-begin of many sequences");
	for (i = 0; i < nr; i++)
		kvpt_ok(kvpt_free(c->a, from[i]));
	cases_begin();
	kvpt_ok(kvpt_commit(c->a, seq));
	cases_end_big(c, "remap-commit when many sequences are gone");
}

static void others(struct cases *c)
{
	u32 t = kvpt_timeline(c->a);
	u64 seq, from;
	u32 i;

	if (!movable(c))
		return;
	/* Committed or aborted; with work in flight or without. */
	for (i = 0; i < 4; i++) {
		seq = cases_small(c->a, c->shape->index_tokens, 1);
		from = cases_small(c->a, half(c), 2);
		if (i % 2)
			kvpt_ok(kvpt_publish(c->a, from));
		cases_begin();
		kvpt_ok(splice(c->a, seq, from, half(c)));
		cases_end_big(c, "remap-begin with another one's rows");
		if (i < 2)
			kvpt_ok(kvpt_use_remap(c->a, seq, t, i + 1));
		cases_begin();
		kvpt_ok(kvpt_free(c->a, from));
		cases_end_big(c, "free of one that a remap reads");
		cases_begin();
		kvpt_ok(i % 3 ? kvpt_commit(c->a, seq) : kvpt_abort(c->a, seq));
		cases_end_big(c, "its end");
		cases_begin();
		kvpt_pass(c->a, t, i + 1);
		kvpt_ok(kvpt_free(c->a, seq));
		cases_end(c, "all of it passes");
		kvpt_ok(kvpt_reclaim(c->a, ~0ULL));
	}
}

static void adopted(struct cases *c)
{
	u32 t = kvpt_timeline(c->a);
	u64 seq, from;
	u32 i;

	if (!movable(c))
		return;
	for (i = 0; i < 4; i++) {
		seq = cases_small(c->a, c->shape->index_tokens, 1);
		from = cases_small(c->a, half(c), 2);
		if (i % 2)
			kvpt_ok(kvpt_publish(c->a, from));
		cases_begin();
		kvpt_ok(adopt(c, seq, from, half(c)));
		cases_end_big(c, "remap-begin with another one's blocks");
		if (i < 2)
			kvpt_ok(kvpt_use_remap(c->a, seq, t, i + 1));
		kvpt_ok(kvpt_free(c->a, from));
		cases_begin();
		kvpt_ok(i % 3 ? kvpt_commit(c->a, seq) : kvpt_abort(c->a, seq));
		cases_end_big(c, "its end, when the other one is gone");
		cases_begin();
		kvpt_pass(c->a, t, i + 1);
		kvpt_ok(kvpt_free(c->a, seq));
		cases_end(c, "what it took is given back");
		kvpt_ok(kvpt_reclaim(c->a, ~0ULL));
	}
}

/* After all else is made, a block cannot be held any more. */
static void fails(struct cases *c)
{
	struct kvp_family *family = &c->a->pool->family[0];
	u64 seq, from;
	u64 last;

	if (!movable(c))
		return;
	seq = cases_small(c->a, c->shape->index_tokens, 1);
	from = cases_small(c->a, half(c), 2);
	kvpt_begin();
	kvpt.table.seq = from;
	kvpt.table.first = (half(c) - 1) / family->desc.block_tokens;
	kvpt.table.blocks = kvpt_addr(&last);
	kvpt.table.nr_blocks = 1;
	kvpt_ok(kvpt_do(c->a, KVP_OP_SEQ_TABLE, &kvpt.table));
	family->blocks[KVP_BLOCK_INDEX(last)].count += U32_MAX - 1;
	cases_begin();
	kvpt_expect(splice(c->a, seq, from, half(c)), -EOVERFLOW, KVP_REASON_COUNT);
	cases_end_big(c, "remap-begin that fails");
	family->blocks[KVP_BLOCK_INDEX(last)].count -= U32_MAX - 1;
}

/* With an open remap that reads what is its own, and another's. */
static void death(struct cases *c)
{
	u32 nr = half(c) / 2 / c->shape->index_tokens * c->shape->index_tokens;
	struct kvp_client *client;
	u64 seq, second, from;
	u32 i, t;

	if (!movable(c))
		return;
	for (i = 0; i < 2; i++) {
		client = cases_join(c, 1001);
		t = kvpt_timeline(client);
		seq = cases_small(client, nr, 1);
		second = cases_small(client, c->shape->index_tokens, 3);
		from = cases_small(client, nr, 2);
		kvpt_ok(evict(client, seq, nr));
		kvpt_ok(splice(client, second, from, nr));
		if (i) {
			kvpt_ok(kvpt_use_remap(client, seq, t, 1));
			kvpt_ok(kvpt_use_remap(client, second, t, 1));
		}
		cases_begin();
		kvp_client_close(client);
		cases_end_big(c, "a client ends with open remaps");
		cases_begin();
		kvpt_ok(kvpt_reap(c->a, 0));
		cases_end(c, "reap of what they moved");
	}
}

const cases_fn cases_remaps[] = {
	own, published, in_flight, many, many_nodes, many_sources, others, adopted, fails, death,
	NULL
};

// SPDX-License-Identifier: MIT
/*
 * Raw references.
 */
#include "cases.h"

static u64 ids[KVP_MAX_CALL_BLOCKS];

static u32 most(const struct cases *c)
{
	return min_t(u64, c->shape->families[0].blocks, KVP_MAX_CALL_BLOCKS);
}

static void alloc(struct cases *c)
{
	u32 nr = most(c);

	cases_begin();
	kvpt_ok(kvpt_alloc(c->a, 0, nr, ids));
	cases_end_big(c, "alloc");
	cases_begin();
	kvpt_ok(kvpt_ref(c->a, ids, nr));
	cases_end_big(c, "ref");
	kvpt_ok(kvpt_unref(c->a, ids, nr));
	cases_begin();
	kvpt_ok(kvpt_unref(c->a, ids, nr));
	cases_end_big(c, "unref");
}

/* Part of it out of the reserve. */
static void reserved(struct cases *c)
{
	kvpt_ok(kvpt_admit(c->a, 0, 1000));
	cases_begin();
	kvpt_ok(kvpt_alloc(c->a, 0, 900, ids));
	cases_end_big(c, "alloc of the reserve");
	kvpt_ok(kvpt_unref(c->a, ids, 900));
	kvpt_ok(kvpt_admit(c->a, 0, 900));
	cases_begin();
	kvpt_ok(kvpt_alloc(c->a, 0, 200, ids));
	cases_end(c, "alloc of 200 of the reserve");
	cases_begin();
	kvpt_ok(kvpt_alloc(c->a, 0, 2000, ids + 200));
	cases_end_big(c, "alloc of the reserve and more");
	kvpt_ok(kvpt_unref(c->a, ids, 2200));
}

/* Private blocks, and then the last one of each of several idle nodes. */
static u32 mixed(struct cases *c, struct kvp_client *client, u32 seed)
{
	u64 seq = cases_published(c, client, seed);
	u32 parts = c->shape->index_tokens / c->shape->families[0].block_tokens;
	u32 nr = 0;
	u64 at;
	u32 i;

	for (i = 1; i < 20; i++) {
		u32 alone = i % 2 ? KVP_SLICE - 2 : KVP_SLICE / 2;

		if (kvpt_alloc(client, 0, alone, ids + nr))
			break;
		nr += alone;
		at = i * parts + parts - 1;
		kvpt_ok(kvpt_table(client, seq, 0, ids + nr, 1));
		kvpt.table.first = at;
		kvpt.table.nr_blocks = 1;
		kvpt.table.head.reason = 0;
		kvpt.table.blocks = kvpt_addr(ids + nr);
		kvpt_ok(kvpt_do(client, KVP_OP_SEQ_TABLE, &kvpt.table));
		kvpt_ok(kvpt_ref_from(client, seq, at, ids + nr, 1));
		nr++;
	}
	kvpt_ok(kvpt_free(client, seq));
	return nr;
}

static void mix(struct cases *c)
{
	u32 nr = mixed(c, c->a, 1);
	struct kvp_client *client;
	u64 last;

	kvpt_ok(kvpt_ref(c->a, ids, nr));
	cases_begin();
	kvpt_ok(kvpt_unref(c->a, ids, nr));
	cases_end_big(c, "unref of private and published ones that are kept");
	last = ids[nr];
	ids[nr] = KVP_BLOCK_ID(0, KVP_BLOCK_INDEX_MASK, 1);
	cases_begin();
	kvpt_ref(c->a, ids, nr + 1);
	cases_end(c, "ref that fails");
	ids[nr] = last;
	cases_begin();
	kvpt_ok(kvpt_unref(c->a, ids, nr));
	cases_end_big(c, "unref of private and published ones");
	client = cases_join(c, 1001);
	mixed(c, client, 2);
	cases_begin();
	kvp_client_close(client);
	cases_end_big(c, "a client with raw references ends");
}

/* One block of each node. */
static void of_path(struct cases *c)
{
	u64 seq = cases_published(c, c->a, 1);
	u32 total, nr;
	u64 match;

	kvpt_ok(kvpt_table(c->a, seq, 0, ids, most(c)));
	nr = kvpt.table.nr_blocks;
	total = nr;
	cases_begin();
	kvpt_ok(kvpt_ref_from(c->a, seq, 0, ids, nr));
	cases_end_big(c, "ref from a sequence");
	kvpt_ok(kvpt_free(c->a, seq));
	cases_begin();
	kvpt_ok(kvpt_unref(c->a, ids, nr));
	cases_end_big(c, "unref of all of a path");
	kvpt_ok(kvpt_match(c->b, 1, cases_ids(c->tokens, 1), c->tokens, &match));
	if (!match)
		return;
	kvpt_begin();
	kvpt.block_refs.head.flags = KVP_BLOCK_REF_MATCH;
	kvpt.block_refs.blocks = kvpt_addr(ids);
	kvpt.block_refs.nr = total;
	kvpt.block_refs.holder = match;
	cases_begin();
	kvpt_ok(kvpt_do(c->b, KVP_OP_BLOCK_REF, &kvpt.block_refs));
	cases_end_big(c, "ref from a match");
	kvpt_ok(kvpt_release(c->b, match));
	cases_begin();
	kvpt_ok(kvpt_unref(c->b, ids, total));
	cases_end_big(c, "unref of all of a match");
}

const cases_fn cases_raws[] = { alloc, reserved, mix, of_path, NULL };

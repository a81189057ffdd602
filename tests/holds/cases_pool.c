// SPDX-License-Identifier: MIT
/*
 * Tickets, those who look at the pool, invalidation, exports.
 */
#include "cases.h"
#include "exportdoor.h"

static u64 ids[KVP_MAX_CALL_BLOCKS];

static u32 all_of(const struct cases *c)
{
	return min_t(u64, c->shape->families[0].blocks, KVP_MAX_CALL_BLOCKS);
}

/* Somebody gives back, and tickets are granted. */
static void tickets(struct cases *c)
{
	struct kvp_client *client = cases_join(c, 1001);
	u32 i, nr = all_of(c);
	u64 ticket, other, small;

	kvpt_ok(kvpt_alloc(c->a, 0, nr - 1, ids));
	kvpt_ok(kvpt_admit(c->a, 0, c->shape->families[0].blocks - nr + 1));
	kvpt_ok(kvpt_admit_queue(c->b, 0, nr / 2, &ticket));
	kvpt_ok(kvpt_admit_queue(client, 0, nr / 4, &other));
	for (i = 0; i < 1000; i++)
		kvpt_ok(kvpt_admit_queue(client, 0, 1, &small));
	cases_begin();
	kvpt_ok(kvpt_unref(c->a, ids, nr - 1));
	cases_end_big(c, "unref, and tickets are granted");
	cases_begin();
	kvpt_ok(kvpt_admit_take(c->b, ticket));
	cases_end(c, "take a ticket");
	cases_begin();
	kvpt_ok(kvpt_admit_cancel(client, other));
	cases_end_big(c, "cancel a ticket");
	cases_begin();
	kvpt_ok(kvpt_admit_drop(c->b, 0, nr / 4));
	cases_end_big(c, "drop a part of the reserve");
	kvpt_ok(kvpt_admit_queue(client, 0, nr / 4, &other));
	cases_begin();
	kvp_client_close(client);
	cases_end_big(c, "a client with tickets ends");
}

static void admitted(struct cases *c)
{
	struct kvp_admit_need needs[KVP_MAX_FAMILIES];
	u32 i;

	for (i = 0; i < c->shape->nr; i++)
		needs[i] = (struct kvp_admit_need){
			.family = i,
			.blocks = 100 + c->shape->families[i].blocks / 4,
		};
	cases_begin();
	kvpt_ok(kvpt_admit_with(c->a, 0, needs, c->shape->nr, NULL));
	cases_end_big(c, "admit");
	cases_begin();
	cases_small(c->a, c->tokens / 2, 1);
	cases_end_big(c, "create out of the reserve");
	cases_begin();
	kvpt_ok(kvpt_admit_with(c->a, KVP_ADMIT_DROP, NULL, 0, NULL));
	cases_end(c, "drop the reserve");
	for (i = 0; i < c->shape->nr; i++)
		needs[i].blocks = 200 / c->shape->nr + 1;
	kvpt_ok(kvpt_admit_with(c->a, 0, needs, c->shape->nr, NULL));
	cases_begin();
	cases_small(c->a, c->tokens / 4, 2);
	cases_end_big(c, "create, a little of it out of the reserve");
}

/* The free ones are at the end of others that are idle. */
static void admit_reclaim(struct cases *c)
{
	kvpt_ok(kvpt_free(c->a, cases_published(c, c->a, 1)));
	kvpt_ok(kvpt_free(c->a, cases_published(c, c->a, 2)));
	cases_begin();
	kvpt_ok(kvpt_admit(c->b, 0, c->shape->families[0].blocks));
	cases_end_big(c, "admit all that there is");
}

static void looked_at(struct cases *c)
{
	static struct kvp_block_entry entries[KVP_MAX_CALL_BLOCKS];
	static struct kvp_event events[CASES_MANY];
	u64 seq;
	u32 i;

	kvpt_ok(kvpt_events(c->a, 0, NULL, 0));
	kvpt_ok(kvpt_free(c->a, cases_published(c, c->a, 1)));
	seq = cases_published(c, c->a, 2);
	for (i = 0; i < c->shape->nr; i++) {
		cases_begin();
		kvpt_ok(kvpt_dump(c->a, i, 0, entries, ARRAY_SIZE(entries)));
		cases_end_big(c, "dump");
	}
	cases_begin();
	kvpt_ok(kvpt_audit(c->a, NULL, 0));
	cases_end(c, "audit");
	cases_begin();
	kvpt_ok(kvpt_events(c->a, 1, events, ARRAY_SIZE(events)));
	cases_end(c, "events");
	cases_begin();
	kvpt_ok(kvpt_invalidate_prefix(c->a, 1, cases_ids(c->tokens, 1), c->shape->index_tokens));
	cases_end(c, "invalidate a prefix");
	cases_begin();
	kvpt_ok(kvpt_invalidate_space(c->a, 1));
	cases_end(c, "invalidate a namespace");
	kvpt_ok(kvpt_free(c->a, seq));
	cases_begin();
	kvpt_ok(kvpt_reclaim(c->a, ~0ULL));
	cases_end_big(c, "reclaim what was invalidated");
}

static void tagged(struct cases *c)
{
	u32 nr = min(2 * c->shape->nodes - 10, 3000U);
	u32 size = c->shape->index_tokens;
	u32 i;

	for (i = 0; i < nr; i++) {
		u64 seq = cases_small(c->a, size, i);

		kvpt_ok(kvpt_publish_with(c->a, seq, 0, 0, 7));
		kvpt_ok(kvpt_free(c->a, seq));
	}
	cases_begin();
	kvpt_ok(kvpt_invalidate_tag(c->a, 7));
	cases_end(c, "invalidate a tag");
	cases_begin();
	cases_seq(c, c->b, 9999);
	cases_end_big(c, "create out of what was invalidated");
}

static void clients(struct cases *c)
{
	static struct kvp_client_entry entries[4096];
	struct kvp_client *client[300];
	u32 nr = ARRAY_SIZE(client);
	u32 i;

	/* It is about the clients: one shape will do. */
	if (c->shape->nr < KVP_MAX_FAMILIES)
		return;
	cases_begin();
	for (i = 0; i < nr; i++)
		client[i] = cases_join(c, 2000 + i);
	cases_end(c, "attach");
	cases_begin();
	kvpt_ok(kvpt_client_list(c->a, entries, ARRAY_SIZE(entries)));
	cases_end(c, "list");
	cases_begin();
	kvpt_ok(kvpt_stats(c->a, 0, NULL, 0));
	kvpt_ok(kvpt_stats_uid(c->a, 2000 + nr - 1, NULL, 0));
	kvpt_ok(kvpt_stats(c->a, kvpt_client_id(client[nr - 1]), NULL, 0));
	cases_end(c, "stats");
	cases_begin();
	kvpt_ok(kvpt_limit_uid(c->a, KVP_UID_ANY, KVP_LIMIT_SEQS, 0, 5));
	kvpt_ok(kvpt_limit(c->a, kvpt_client_id(client[nr - 1]), KVP_LIMIT_SEQS, 0, 5));
	kvpt_ok(kvpt_limit(c->a, 0, KVP_LIMIT_SEQS, 0, 5));
	cases_end(c, "limit");
	for (i = 0; i < nr; i++) {
		u32 t = kvpt_timeline(client[i]);
		u64 seq = cases_small(client[i], 1, i);

		kvpt_ok(kvpt_use_read(client[i], seq, t, 1));
		kvpt_ok(kvpt_watch(client[i], t, 1));
		kvpt_ok(kvpt_free(client[i], seq));
	}
	cases_begin();
	kvp_client_scan(c->a);
	cases_end(c, "scan");
	cases_begin();
	for (i = 0; i < nr; i++)
		kvp_client_close(client[i]);
	cases_end(c, "they end");
	cases_begin();
	kvp_client_scan(c->a);
	cases_end(c, "scan with a quarantine");
	cases_begin();
	kvpt_ok(kvpt_reap(c->a, 0));
	cases_end(c, "reap them");
}

static void exports(struct cases *c)
{
	const struct kvp_door *door = kvpt_export_door(c->a->door);
	u32 t = kvpt_timeline(c->a);
	u64 seq, import;
	s32 fd[200];
	u32 i;

	c->a->door = door;
	c->b->door = door;
	seq = cases_seq(c, c->a, 1);
	cases_begin();
	if (kvpt_export(c->a, seq, &fd[0]))
		return;
	cases_end_big(c, "export");
	cases_begin();
	kvpt_ok(kvpt_import(c->b, fd[0], &import));
	cases_end_big(c, "import");
	kvpt_ok(kvpt_free(c->b, import));
	kvpt_ok(kvpt_free(c->a, seq));
	cases_begin();
	kvpt_export_close(fd[0]);
	cases_end_big(c, "the last close of an export");
	seq = cases_small(c->a, c->shape->index_tokens, 3);
	kvpt_ok(kvpt_use_write(c->a, seq, t, 1, c->shape->index_tokens - 1,
			       c->shape->index_tokens));
	for (i = 0; i < ARRAY_SIZE(fd); i++)
		kvpt_ok(kvpt_export(c->a, seq, &fd[i]));
	if (cases_dense(c)) {
		cases_begin();
		kvpt_ok(kvpt_truncate(c->a, seq, 1));
		cases_end(c, "truncate below open exports");
	}
	for (i = 0; i < ARRAY_SIZE(fd); i++)
		kvpt_export_close(fd[i]);
	kvpt_pass(c->a, t, 1);
}

/* Many calls in one, and many matches of one client. */
static void batches(struct cases *c)
{
	struct kvp_batch_entry entries[KVP_MAX_BATCH];
	struct kvp_seq_id args[KVP_MAX_BATCH];
	struct kvp_client *client = cases_join(c, 1001);
	u32 size = c->shape->index_tokens;
	u32 i;

	for (i = 0; i < KVP_MAX_BATCH; i++) {
		args[i] = (struct kvp_seq_id){
			.head.size = sizeof(args[i]),
			.seq = cases_small(client, size, i),
		};
		kvpt_ok(kvpt_publish(client, args[i].seq));
		entries[i] = (struct kvp_batch_entry){
			.op = KVP_OP_SEQ_FREE,
			.len = sizeof(args[i]),
			.arg = kvpt_addr(&args[i]),
		};
	}
	cases_begin();
	kvpt_ok(kvpt_batch(client, 0, entries, KVP_MAX_BATCH));
	cases_end(c, "a batch");
	for (i = 0; i < KVP_MAX_BATCH; i++) {
		u64 match;

		kvpt_expect(entries[i].result, 0, KVP_REASON_NONE);
		kvpt_ok(kvpt_match(client, 1, cases_ids(size, i), size, &match));
	}
	cases_begin();
	kvp_client_close(client);
	cases_end(c, "a client with many matches ends");
}

const cases_fn cases_pools[] = {
	tickets, admitted, admit_reclaim, looked_at, tagged, clients, exports, batches, NULL
};

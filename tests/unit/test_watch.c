// SPDX-License-Identifier: MIT
/*
 * KVP_OP_STATS, BLOCK_DUMP and CLIENT_LIST: what they show, to whom, and each refusal alone.
 */
#include <unistd.h>

#include "raw.h"

static struct kvp_family_stats families[2];
static struct kvp_block_entry entries[4096];
static struct kvp_client_entry clients[512];

/* ---- stats ---- */

/*
 * a: a sequence of 10 tokens, 8 of them published, and 3 raw blocks of the second family.
 * b: a match on the two published nodes, and one raw block.
 */
static u64 populate(void)
{
	u64 seq, match;

	kvpt_ok(kvpt_create(a, 1, tok, 10, &seq));
	kvpt_ok(kvpt_advance(a, seq, 10));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_alloc(a, 1, 3, ids));
	kvpt_ok(kvpt_match(b, 1, tok, 10, &match));
	kvpt_ok(kvpt_alloc(b, 0, 1, &ids[3]));
	return seq;
}

static void expect_family(const struct kvp_family_stats *family, u64 total, u64 free, u64 held,
			  u64 published, u64 charged)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < KVP_BLOCK_STATES; i++)
		sum += family->state[i];
	ck_assert_uint_eq(sum, total);
	ck_assert_uint_eq(family->total, total);
	ck_assert_uint_eq(family->state[KVP_BLOCK_FREE], free);
	ck_assert_uint_eq(family->state[KVP_BLOCK_HELD], held);
	ck_assert_uint_eq(family->published, published);
	ck_assert_uint_eq(family->charged, charged);
}

START_TEST(test_stats_of_the_pool)
{
	struct kvp_stats *arg = &kvpt.stats;

	populate();
	kvpt_ok(kvpt_stats(a, 0, families, 2));
	expect_family(&families[0], 16, 12, 4, 2, 4);
	expect_family(&families[1], 12, 6, 6, 2, 6);
	ck_assert_uint_eq(families[0].limit, 0);
	ck_assert_uint_eq(arg->nr_families, 2);
	ck_assert_uint_eq(arg->nr_clients, 2);
	ck_assert_uint_eq(arg->seqs, 1);
	ck_assert_uint_eq(arg->slots, 6);
	ck_assert_uint_eq(arg->raw, 4);
	ck_assert_uint_eq(arg->matches, 1);
	ck_assert_uint_eq(arg->nodes, a->pool->nr_nodes);
	/* The namespace, two published nodes, and one of two tokens. */
	ck_assert_uint_eq(arg->nodes_used, 4);
	ck_assert_uint_eq(arg->nodes_published, 2);
	ck_assert_uint_eq(arg->namespaces, 1);
	ck_assert_uint_eq(arg->extras_used, 1);
	ck_assert_uint_eq(arg->extras, a->pool->nr_digests);
	ck_assert_uint_eq(arg->matched_nodes, 2);
	ck_assert_uint_eq(arg->looked_up_nodes, 4);
	ck_assert_uint_eq(arg->published_nodes, 2);
	ck_assert_uint_eq(arg->shared_nodes, 0);
	ck_assert_uint_eq(arg->reclaimed_nodes, 0);
	ck_assert_uint_eq(arg->reclaimed_blocks, 0);
	ck_assert_uint_eq(arg->invalidated, 0);
	ck_assert_uint_eq(arg->copies, 0);
	ck_assert_uint_eq(arg->underflow_rejected, 0);
	ck_assert_uint_eq(arg->refused_room, 0);
	ck_assert_uint_eq(arg->refused_limit, 0);
}
END_TEST

START_TEST(test_metadata_is_that_of_the_pool_and_of_all_clients)
{
	u64 of_a, of_b;

	populate();
	of_a = kvpt_counters_of(a, KVP_STATS_SELF).metadata_bytes;
	of_b = kvpt_counters_of(b, KVP_STATS_SELF).metadata_bytes;
	ck_assert_uint_gt(of_a, 0);
	ck_assert_uint_gt(of_b, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).metadata_bytes,
			  a->pool->metadata_bytes + of_a + of_b);
}
END_TEST

START_TEST(test_stats_of_clients)
{
	struct kvp_stats *arg = &kvpt.stats;

	populate();
	kvpt_ok(kvpt_stats(a, KVP_STATS_SELF, families, 2));
	expect_family(&families[0], 16, 12, 4, 2, 3);
	expect_family(&families[1], 12, 6, 6, 2, 6);
	ck_assert_uint_eq(arg->nr_clients, 1);
	ck_assert_uint_eq(arg->seqs, 1);
	ck_assert_uint_eq(arg->slots, 6);
	ck_assert_uint_eq(arg->raw, 3);
	ck_assert_uint_eq(arg->matches, 0);
	ck_assert_uint_eq(arg->nodes, 0);
	ck_assert_uint_eq(arg->published_nodes, 0);

	/* An administrator asks for another, and everybody for oneself. */
	kvpt_ok(kvpt_stats(a, kvpt_client_id(b), families, 2));
	ck_assert_uint_eq(families[0].charged, 1);
	ck_assert_uint_eq(families[1].charged, 0);
	ck_assert_uint_eq(arg->seqs, 0);
	ck_assert_uint_eq(arg->raw, 1);
	ck_assert_uint_eq(arg->matches, 1);
	kvpt_ok(kvpt_stats(b, kvpt_client_id(b), NULL, 0));
	ck_assert_uint_eq(arg->raw, 1);
	kvpt_ok(kvpt_stats(b, 0, NULL, 0));
	ck_assert_uint_eq(arg->raw, 4);
}
END_TEST

/* What both of a uid's clients have, and what one has left behind. */
START_TEST(test_stats_of_uids)
{
	struct kvp_client *c = kvpt_join(&env, 1001, KVP_RIGHT_USE);
	struct kvp_stats *arg = &kvpt.stats;
	struct kvp_stats self;
	u64 mine;

	populate();
	kvpt_ok(kvpt_create(c, 1, tok, 10, &mine));
	kvpt_ok(kvpt_alloc(c, 0, 2, &ids[4]));
	self = kvpt_counters_of(c, KVP_STATS_SELF);
	kvpt_ok(kvpt_stats_uid(a, 1001, families, 2));
	expect_family(&families[0], 16, 9, 7, 2, 4);
	ck_assert_uint_eq(families[0].guaranteed, 0);
	ck_assert_uint_eq(families[0].limit, KVP_UNLIMITED);
	ck_assert_uint_eq(families[1].charged, 1);
	ck_assert_uint_eq(arg->nr_clients, 2);
	ck_assert_uint_eq(arg->seqs, 1);
	ck_assert_uint_eq(arg->slots, 6);
	ck_assert_uint_eq(arg->raw, 3);
	ck_assert_uint_eq(arg->matches, 1);
	ck_assert_uint_eq(arg->metadata_bytes, self.metadata_bytes +
			  kvpt_counters_of(b, KVP_STATS_SELF).metadata_bytes);
	ck_assert_uint_eq(arg->nodes, 0);
	ck_assert_uint_eq(arg->published_nodes, 0);
	kvpt_ok(kvpt_limit_uid(a, 1001, KVP_LIMIT_BLOCKS, 1, 3));
	kvpt_ok(kvpt_limit_uid(a, KVP_UID_ANY, KVP_LIMIT_BLOCKS, 1, 7));
	/* Everybody may ask for one's own uid. */
	kvpt_ok(kvpt_stats_uid(b, 1001, families, 2));
	ck_assert_uint_eq(families[1].limit, 3);
	ck_assert_uint_eq(arg->nr_clients, 2);
	kvpt_ok(kvpt_stats_uid(a, KVPT_OWNER, families, 2));
	ck_assert_uint_eq(families[1].limit, 7);
	kvpt_expect(kvpt_stats_uid(b, KVPT_OWNER, NULL, 0), -EACCES, KVP_REASON_RIGHT_ADMIN);
	kvpt_expect(kvpt_stats_uid(b, 4711, NULL, 0), -EACCES, KVP_REASON_RIGHT_ADMIN);
	kvpt_expect(kvpt_stats_uid(a, 4711, NULL, 0), -ENOENT, KVP_REASON_NO_CLIENT);
	kvpt_expect(kvpt_stats_uid(a, 1ULL << 32 | 1001, NULL, 0), -ENOENT,
		    KVP_REASON_NO_CLIENT);
	kvpt_expect(kvpt_stats_uid(a, KVP_STATS_SELF, NULL, 0), -ENOENT, KVP_REASON_NO_CLIENT);
	kvpt_close(&env, c);
	kvpt_ok(kvpt_stats_uid(a, 1001, families, 2));
	ck_assert_uint_eq(arg->nr_clients, 1);
	ck_assert_uint_eq(arg->raw, 1);
	ck_assert_uint_eq(families[0].charged, 1);
}
END_TEST

START_TEST(test_limits_and_guarantees_are_shown)
{
	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_GUARANTEE, 0, 5));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_BLOCKS, 0, 9));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_GUARANTEE, 0, 2));
	kvpt_ok(kvpt_alloc(b, 0, 3, ids));
	kvpt_ok(kvpt_stats(b, KVP_STATS_SELF, families, 2));
	ck_assert_uint_eq(families[0].guaranteed, 5);
	ck_assert_uint_eq(families[0].unmet, 2);
	ck_assert_uint_eq(families[0].limit, 9);
	ck_assert_uint_eq(families[1].guaranteed, 0);
	ck_assert_uint_eq(families[1].limit, KVP_UNLIMITED);
	kvpt_ok(kvpt_stats(b, 0, families, 2));
	ck_assert_uint_eq(families[0].guaranteed, 7);
	ck_assert_uint_eq(families[0].unmet, 4);

	/* More than the guarantee leaves nothing unmet. */
	kvpt_ok(kvpt_alloc(b, 0, 3, &ids[3]));
	kvpt_ok(kvpt_stats(b, KVP_STATS_SELF, families, 2));
	ck_assert_uint_eq(families[0].charged, 6);
	ck_assert_uint_eq(families[0].unmet, 0);
}
END_TEST

START_TEST(test_charges_that_outlive_their_client)
{
	u64 seq, mine;

	kvpt_ok(kvpt_create(b, 1, tok, 8, &seq));
	kvpt_ok(kvpt_advance(b, seq, 8));
	kvpt_ok(kvpt_publish(b, seq));
	kvpt_ok(kvpt_create(a, 1, tok, 8, &mine));
	ck_assert_uint_eq(kvpt.seq_create.matched, 8);
	kvpt_close(&env, b);
	kvpt_ok(kvpt_stats(a, 0, families, 2));
	ck_assert_uint_eq(families[0].charged, 2);
	ck_assert_uint_eq(kvpt.stats.nr_clients, 1);
	kvpt_ok(kvpt_stats(a, KVP_STATS_SELF, families, 2));
	ck_assert_uint_eq(families[0].charged, 0);
	kvpt_ok(kvpt_free(a, mine));
	kvpt_ok(kvpt_stats(a, 0, families, 2));
	ck_assert_uint_eq(families[0].charged, 0);
}
END_TEST

START_TEST(test_outputs_do_not_depend_on_what_stood_there)
{
	struct kvp_family_stats noise[2];
	struct kvp_stats arg;

	populate();
	kvpt_ok(kvpt_stats(a, 0, families, 2));
	memset(&arg, 0xa5, sizeof(arg));
	memset(noise, 0xa5, sizeof(noise));
	arg.head = (struct kvp_head){ .size = sizeof(arg) };
	arg.client = 0;
	arg.families = (u64)(uintptr_t)noise;
	arg.nr_families = 2;
	ck_assert_int_eq(kvpt_do(a, KVP_OP_STATS, &arg), 0);
	arg.families = kvpt.stats.families;
	ck_assert_mem_eq(&arg, &kvpt.stats, sizeof(arg));
	ck_assert_mem_eq(noise, families, sizeof(noise));
}
END_TEST

START_TEST(test_stats_refused)
{
	struct kvp_client *c = kvpt_join(&env, KVPT_OWNER, KVP_RIGHT_ADMIN);
	u64 gone = kvpt_client_id(b);
	struct kvp_stats arg = { .head.flags = 2 };

	kvpt_expect(kvpt_stats(b, kvpt_client_id(a), NULL, 0), -EACCES, KVP_REASON_RIGHT_ADMIN);
	kvpt_expect(kvpt_stats(b, 12345, NULL, 0), -EACCES, KVP_REASON_RIGHT_ADMIN);
	kvpt_expect(kvpt_stats(a, 12345, NULL, 0), -ENOENT, KVP_REASON_NO_CLIENT);
	kvpt_close(&env, b);
	kvpt_expect(kvpt_stats(a, gone, NULL, 0), -ENOENT, KVP_REASON_NO_CLIENT);
	kvpt_expect(kvpt_stats(a, 0, families, 1), -EOVERFLOW, KVP_REASON_COUNT);
	ck_assert_uint_eq(kvpt.stats.nr_families, 2);
	kvpt_expect(kvpt_stats(a, 0, families, KVP_MAX_FAMILIES + 1), -EOVERFLOW,
		    KVP_REASON_COUNT);
	kvpt_expect(kvpt_stats(c, 0, NULL, 0), -EACCES, KVP_REASON_RIGHT_USE);
	ck_assert_int_eq(kvpt_do(a, KVP_OP_STATS, &arg), -EINVAL);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_FLAG);
}
END_TEST

START_TEST(test_nothing_is_shown_without_a_pool)
{
	struct kvp_client *c = kvpt_open(&env, 1002);

	kvpt_expect(kvpt_stats(c, 0, NULL, 0), -EBUSY, KVP_REASON_NOT_ATTACHED);
	kvpt_expect(kvpt_dump(c, 0, 0, entries, 16), -EBUSY, KVP_REASON_NOT_ATTACHED);
	kvpt_expect(kvpt_client_list(c, clients, 2), -EBUSY, KVP_REASON_NOT_ATTACHED);
}
END_TEST

/* ---- block dump ---- */

static void expect_entry(u64 block, u32 state, u32 why, u32 count, u64 client)
{
	struct kvp_block_entry entry = kvpt_entry(a, block);

	ck_assert_uint_eq(entry.block, block);
	ck_assert_uint_eq(entry.state, state);
	ck_assert_uint_eq(entry.why, why);
	ck_assert_uint_eq(entry.count, count);
	ck_assert_uint_eq(entry.client, client);
}

START_TEST(test_why_a_block_is_not_free)
{
	u64 me = kvpt_client_id(a), match, seq, mine[8], path[4];

	remake((struct kvp_family_desc)KVPT_DENSE(16, 4));
	me = kvpt_client_id(a);
	kvpt_ok(kvpt_make_published(a, 1, tok, 16));
	kvpt_ok(kvpt_match_blocks(a, 1, tok, 16, 0, path, 4, NULL));
	expect_entry(path[0], KVP_BLOCK_IDLE, KVP_WHY_COVERED, 0, 0);
	expect_entry(path[3], KVP_BLOCK_IDLE, KVP_WHY_IDLE, 0, 0);

	kvpt_ok(kvpt_match(a, 1, tok, 12, &match));
	expect_entry(path[2], KVP_BLOCK_IDLE, KVP_WHY_MATCHED, 0, 0);
	expect_entry(path[1], KVP_BLOCK_IDLE, KVP_WHY_COVERED, 0, 0);
	kvpt_ok(kvpt_release(a, match));

	kvpt_ok(kvpt_create(a, 1, tok, 10, &seq));
	kvpt_ok(kvpt_table(a, seq, 0, mine, 3));
	ck_assert_uint_eq(mine[1], path[1]);
	expect_entry(mine[1], KVP_BLOCK_HELD, KVP_WHY_SHARED, 1, me);
	expect_entry(mine[2], KVP_BLOCK_HELD, KVP_WHY_SEQ, 1, me);
	kvpt_ok(kvpt_ref_from(a, seq, 2, &mine[2], 1));
	expect_entry(mine[2], KVP_BLOCK_HELD, KVP_WHY_SEQ, 2, me);

	kvpt_ok(kvpt_dump(a, 0, 0, entries, 16));
	ck_assert_uint_eq(entries[15].state, KVP_BLOCK_FREE);
	ck_assert_uint_eq(entries[15].why, KVP_WHY_FREE);
	ck_assert_uint_eq(entries[15].node, KVP_NODE_NONE);
}
END_TEST

START_TEST(test_a_block_whose_generations_are_used_up_is_retired)
{
	struct kvp_block *block;

	remake((struct kvp_family_desc)KVPT_DENSE(2, 4));
	kvpt_ok(kvpt_alloc(a, 0, 1, ids));
	kvpt_ok(kvpt_unref(a, ids, 1));
	block = kvpt_block_of(a, ids[0] + 1);
	block->word |= KVP_GEN_MAX;
	kvpt_ok(kvpt_alloc(a, 0, 1, ids));
	ck_assert_uint_eq(KVP_BLOCK_GEN(ids[0]), KVP_GEN_MAX);
	kvpt_ok(kvpt_unref(a, ids, 1));
	expect_entry(ids[0], KVP_BLOCK_RETIRED, KVP_WHY_RETIRED, 0, 0);
	kvpt_expect(kvpt_unref(a, ids, 1), -ESTALE, KVP_REASON_GENERATION);
	kvpt_audit_clean(a);
	kvpt_expect(kvpt_alloc(a, 0, 2, ids), -EFBIG, KVP_REASON_NEVER_FITS);
}
END_TEST

static const struct kvp_node *pool_node(u64 block)
{
	return &a->pool->nodes[kvpt_block_of(a, block)->node];
}

/* A window's row that only the index keeps, while the sequence holds the node's other blocks. */
START_TEST(test_an_idle_part_of_a_node_in_use)
{
	u64 seq, dense[4], window[4];

	kvpt_env_exit(&env);
	make((struct kvp_family_desc[]){ KVPT_DENSE(16, 4), KVPT_WINDOW(16, 4, 4) }, 2);
	kvpt_ok(kvpt_create(a, 1, tok, 12, &seq));
	kvpt_ok(kvpt_table(a, seq, 0, dense, 3));
	kvpt_ok(kvpt_table(a, seq, 1, window, 3));
	kvpt_ok(kvpt_advance(a, seq, 4));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_advance(a, seq, 12));
	expect_entry(dense[0], KVP_BLOCK_HELD, KVP_WHY_SHARED, 1, kvpt_client_id(a));
	expect_entry(window[0], KVP_BLOCK_IDLE, KVP_WHY_MATCHED, 0, 0);
	ck_assert_uint_eq(pool_node(window[0])->refs, 0);
	expect_entry(window[1], KVP_BLOCK_IDLE, KVP_WHY_MATCHED, 0, 0);
}
END_TEST

START_TEST(test_where_a_published_block_stands)
{
	u64 seq, path[3];
	u8 space[KVP_DIGEST_LEN];
	struct kvp_block_entry entry;

	kvpt_ok(kvpt_create(a, 5, tok, 12, &seq));
	kvpt_ok(kvpt_advance(a, seq, 12));
	kvpt_ok(kvpt_publish_with(a, seq, 0, 0, 77));
	kvpt_ok(kvpt_table(a, seq, 0, path, 3));
	kvpt_digest(5, space);

	entry = kvpt_entry(a, path[0]);
	ck_assert_uint_eq(entry.parent, KVP_BLOCK_NULL);
	ck_assert_uint_eq(entry.depth, 1);
	ck_assert_uint_eq(entry.tag, 77);
	ck_assert_mem_eq(entry.space, space, KVP_DIGEST_LEN);
	ck_assert_uint_ne(entry.node, KVP_NODE_NONE);
	entry = kvpt_entry(a, path[2]);
	ck_assert_uint_eq(entry.parent, path[1]);
	ck_assert_uint_eq(entry.depth, 3);
	ck_assert_mem_eq(entry.space, space, KVP_DIGEST_LEN);

	/* What was cut off still stands where it stood. */
	kvpt_ok(kvpt_invalidate_prefix(a, 5, tok, 8));
	entry = kvpt_entry(a, path[2]);
	ck_assert_uint_eq(entry.parent, path[1]);
	ck_assert_mem_eq(entry.space, space, KVP_DIGEST_LEN);
	entry = kvpt_entry(a, path[1]);
	ck_assert_uint_eq(entry.parent, path[0]);
	ck_assert_uint_eq(entry.depth, 2);
	entry = kvpt_entry(a, path[0]);
	ck_assert_uint_eq(entry.space[0], 5);
}
END_TEST

START_TEST(test_age_is_from_allocation_or_publication)
{
	u64 seq, path[1], before, old, young;

	before = ktime_get_ns();
	kvpt_ok(kvpt_create(a, 1, tok, 4, &seq));
	kvpt_ok(kvpt_table(a, seq, 0, path, 1));
	usleep(20000);
	old = kvpt_entry(a, path[0]).age_ns;
	ck_assert_uint_ge(old, 15000000);
	ck_assert_uint_le(old, ktime_get_ns() - before + 10000000);
	kvpt_ok(kvpt_advance(a, seq, 4));
	kvpt_ok(kvpt_publish(a, seq));
	young = kvpt_entry(a, path[0]).age_ns;
	ck_assert_uint_lt(young, old);
}
END_TEST

START_TEST(test_what_others_hold_in_private_is_hidden)
{
	u64 seq, path[3];

	kvpt_ok(kvpt_create(a, 1, tok, 10, &seq));
	kvpt_ok(kvpt_advance(a, seq, 8));
	kvpt_ok(kvpt_publish(a, seq));
	kvpt_ok(kvpt_table(a, seq, 0, path, 3));
	kvpt_ok(kvpt_alloc(b, 0, 1, ids));
	kvpt_ok(kvpt_dump(b, 0, 0, entries, 16));

	ck_assert_uint_eq(entries[KVP_BLOCK_INDEX(path[1])].block, path[1]);
	ck_assert_uint_eq(entries[KVP_BLOCK_INDEX(path[1])].count, 1);
	ck_assert_uint_eq(entries[KVP_BLOCK_INDEX(path[1])].depth, 2);
	ck_assert_uint_eq(entries[KVP_BLOCK_INDEX(path[1])].client, kvpt_client_id(a));

	ck_assert_uint_eq(entries[KVP_BLOCK_INDEX(path[2])].block, path[2]);
	ck_assert_uint_eq(entries[KVP_BLOCK_INDEX(path[2])].state, KVP_BLOCK_HELD);
	ck_assert_uint_eq(entries[KVP_BLOCK_INDEX(path[2])].why, KVP_WHY_SEQ);
	ck_assert_uint_eq(entries[KVP_BLOCK_INDEX(path[2])].count, 0);
	ck_assert_uint_eq(entries[KVP_BLOCK_INDEX(path[2])].client, 0);
	ck_assert_uint_eq(entries[KVP_BLOCK_INDEX(path[2])].age_ns, 0);
	ck_assert_uint_eq(entries[KVP_BLOCK_INDEX(path[2])].node, KVP_NODE_NONE);

	ck_assert_uint_eq(entries[KVP_BLOCK_INDEX(ids[0])].count, 1);
	ck_assert_uint_eq(entries[KVP_BLOCK_INDEX(ids[0])].client, kvpt_client_id(b));
}
END_TEST

START_TEST(test_the_cursor_goes_from_call_to_call)
{
	static struct kvp_block_entry whole[16];
	u64 cursor = 0, at = 0;

	populate();
	memset(whole, 0xa5, sizeof(whole));
	kvpt_ok(kvpt_dump(a, 0, 0, whole, 16));
	ck_assert_uint_eq(kvpt.dump.nr_entries, 16);
	ck_assert_uint_eq(kvpt.dump.cursor, 16);
	ck_assert_uint_eq(kvpt.dump.total, 16);
	while (at < 16) {
		kvpt_ok(kvpt_dump(a, 0, cursor, &entries[at], 5));
		ck_assert_uint_eq(kvpt.dump.nr_entries, at < 15 ? 5 : 1);
		cursor = kvpt.dump.cursor;
		at += kvpt.dump.nr_entries;
		ck_assert_uint_eq(cursor, at);
	}
	for (at = 0; at < 16; at++) {
		whole[at].age_ns = 0;
		entries[at].age_ns = 0;
	}
	ck_assert_mem_eq(whole, entries, sizeof(whole));

	kvpt_ok(kvpt_dump(a, 0, 16, entries, 5));
	ck_assert_uint_eq(kvpt.dump.nr_entries, 0);
	ck_assert_uint_eq(kvpt.dump.cursor, 16);
	kvpt_ok(kvpt_dump(a, 0, ~0ULL, entries, 5));
	ck_assert_uint_eq(kvpt.dump.nr_entries, 0);
	ck_assert_uint_eq(kvpt.dump.cursor, 16);
}
END_TEST

/* Paths longer than a hold of the lock: every block finds its root, and nothing moves. */
START_TEST(test_dump_tells_what_was_invalidated)
{
	u64 seq = kvpt_published(a, 5, tok, 16);
	u64 blocks[4];
	u32 i;

	kvpt_expect_table(a, seq, 0, blocks, 4);
	for (i = 0; i < 4; i++)
		ck_assert_uint_eq(kvpt_entry(a, blocks[i]).flags, 0);
	kvpt_ok(kvpt_invalidate_prefix(a, 5, tok, 8));
	for (i = 0; i < 4; i++) {
		ck_assert_uint_eq(kvpt_entry(a, blocks[i]).flags,
				  i ? KVP_ENTRY_INVALIDATED : 0);
		ck_assert_uint_eq(kvpt_entry(a, blocks[i]).space[0], 5);
	}
	kvpt_ok(kvpt_invalidate_space(a, 5));
	ck_assert_uint_eq(kvpt_entry(a, blocks[0]).flags, KVP_ENTRY_INVALIDATED);
	kvpt_ok(kvpt_free(a, seq));
	ck_assert_uint_eq(kvpt_entry(a, blocks[0]).flags, KVP_ENTRY_INVALIDATED);
	/* What no node names cannot have been. */
	kvpt_ok(kvpt_reclaim(a, 100));
	for (i = 0; i < 4; i++)
		ck_assert_uint_eq(kvpt_entry(a, blocks[i] + 1).flags, 0);
}
END_TEST

START_TEST(test_a_dump_of_long_paths_changes_nothing)
{
	static u32 prompt[4 * 1000];
	struct kvpt_world before, after;
	u64 match;
	u32 i;

	remake((struct kvp_family_desc)KVPT_DENSE(2048, 4));
	kvpt_tokens(prompt, 4 * 1000, 7);
	kvpt_ok(kvpt_make_published(a, 3, prompt, 4 * 1000));
	kvpt_tokens(prompt, 4 * 1000, 8);
	kvpt_ok(kvpt_make_published(a, 4, prompt, 4 * 1000));
	kvpt_ok(kvpt_match(a, 4, prompt, 4 * 900, &match));

	kvpt_world_take(&env, a, &before);
	kvpt_ok(kvpt_dump(a, 0, 0, entries, 2048));
	kvpt_world_take(&env, a, &after);
	ck_assert_msg(!kvpt_world_diff(&before, &after), "%s", kvpt_world_diff(&before, &after));
	kvpt_world_drop(&before);
	kvpt_world_drop(&after);
	kvpt_audit_clean(a);
	ck_assert_uint_eq(kvpt.dump.nr_entries, 2048);
	for (i = 0; i < 2000; i++) {
		ck_assert_uint_eq(entries[i].state, KVP_BLOCK_IDLE);
		ck_assert_uint_eq(entries[i].space[0], i < 1000 ? 3 : 4);
	}
}
END_TEST

START_TEST(test_dump_refused)
{
	struct kvp_block_dump arg = { .head.flags = 1 };

	kvpt_expect(kvpt_dump(a, 2, 0, entries, 5), -EINVAL, KVP_REASON_FAMILY);
	kvpt_expect(kvpt_dump(a, 0, 0, entries, 0), -EINVAL, KVP_REASON_COUNT);
	kvpt_expect(kvpt_dump(a, 0, 0, entries, KVP_MAX_CALL_BLOCKS + 1), -EOVERFLOW,
		    KVP_REASON_COUNT);
	kvpt_expect(kvpt_dump(a, 0, 0, NULL, 5), -EFAULT, KVP_REASON_POINTER);
	ck_assert_int_eq(kvpt_do(a, KVP_OP_BLOCK_DUMP, &arg), -EINVAL);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_FLAG);
	b = kvpt_join(&env, KVPT_OWNER, KVP_RIGHT_ADMIN);
	kvpt_expect(kvpt_dump(b, 0, 0, entries, 5), -EACCES, KVP_REASON_RIGHT_USE);
}
END_TEST

/* ---- client list ---- */

START_TEST(test_an_administrator_sees_all_clients)
{
	populate();
	memset(clients, 0xa5, sizeof(clients));
	kvpt_ok(kvpt_client_list(a, clients, 16));
	ck_assert_uint_eq(kvpt.client_list.total, 2);
	ck_assert_uint_eq(kvpt.client_list.nr_entries, 2);
	ck_assert_uint_eq(clients[0].client, kvpt_client_id(a));
	ck_assert_uint_eq(clients[0].uid, KVPT_OWNER);
	ck_assert_uint_eq(clients[0].rights, KVP_RIGHT_ALL);
	ck_assert_uint_eq(clients[0].seqs, 1);
	ck_assert_uint_eq(clients[0].slots, 6);
	ck_assert_uint_eq(clients[0].raw, 3);
	ck_assert_uint_eq(clients[0].charged, 9);
	ck_assert_uint_eq(clients[1].client, kvpt_client_id(b));
	ck_assert_uint_eq(clients[1].uid, 1001);
	ck_assert_uint_eq(clients[1].rights, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	ck_assert_uint_eq(clients[1].seqs, 0);
	ck_assert_uint_eq(clients[1].raw, 1);
	ck_assert_uint_eq(clients[1].charged, 1);
}
END_TEST

START_TEST(test_others_see_themselves)
{
	kvpt_ok(kvpt_client_list(b, clients, 16));
	ck_assert_uint_eq(kvpt.client_list.total, 1);
	ck_assert_uint_eq(kvpt.client_list.nr_entries, 1);
	ck_assert_uint_eq(clients[0].client, kvpt_client_id(b));
}
END_TEST

START_TEST(test_who_a_client_is)
{
	const struct kvp_cred cred = {
		.uid = 1001, .gid = 1, .pid = 0xfffffff0, .command = "fifteen letters",
	};
	struct kvp_client *c = kvpt_open_cred(&env, &cred);
	u64 match;

	kvpt_ok(kvpt_pool_attach(c, KVPT_POOL_NAME, KVP_RIGHT_USE));
	kvpt_ok(kvpt_make_published(a, 1, tok, 8));
	kvpt_ok(kvpt_match(c, 1, tok, 8, &match));
	usleep(2000);
	kvpt_ok(kvpt_client_list(c, clients, 1));
	ck_assert_uint_eq(clients[0].pid, 0xfffffff0);
	ck_assert_str_eq(clients[0].command, "fifteen letters");
	ck_assert_uint_eq(clients[0].matches, 1);
	ck_assert_uint_eq(clients[0].exports, 0);
	ck_assert_uint_eq(clients[0].maker, 0);
	ck_assert_uint_eq(clients[0].imports, 0);
	ck_assert_uint_eq(clients[0].flags, 0);
	ck_assert_uint_ge(clients[0].age_ns, 2000000);
	ck_assert_uint_lt(clients[0].age_ns, 60000000000);
}
END_TEST

START_TEST(test_a_list_longer_than_its_room)
{
	memset(clients, 0xff, sizeof(clients));
	kvpt_ok(kvpt_client_list(a, clients, 1));
	ck_assert_uint_eq(kvpt.client_list.total, 2);
	ck_assert_uint_eq(kvpt.client_list.nr_entries, 1);
	ck_assert_uint_eq(clients[0].client, kvpt_client_id(a));
	ck_assert_uint_eq(clients[1].client, ~0ULL);
	kvpt_ok(kvpt_client_list(a, NULL, 0));
	ck_assert_uint_eq(kvpt.client_list.total, 2);
	ck_assert_uint_eq(kvpt.client_list.nr_entries, 0);
}
END_TEST

START_TEST(test_more_clients_than_a_hold_of_the_lock)
{
	static struct kvp_client *many[400];
	const struct kvp_cred cred = { .uid = 7, .gid = 7 };
	u32 i, j;

	for (i = 0; i < 400; i++) {
		many[i] = kvp_client_open(&env.host, &kvp_inproc_door, &cred);
		kvpt_ok(kvpt_pool_attach(many[i], KVPT_POOL_NAME, KVP_RIGHT_USE));
	}
	kvp_client_close(many[200]);
	kvpt_ok(kvpt_client_list(a, clients, 512));
	ck_assert_uint_eq(kvpt.client_list.total, 401);
	for (i = 0; i < 401; i++)
		for (j = 0; j < i; j++)
			ck_assert_uint_ne(clients[i].client, clients[j].client);
	kvpt_ok(kvpt_stats(a, 0, NULL, 0));
	ck_assert_uint_eq(kvpt.stats.nr_clients, 401);
	kvpt_ok(kvpt_stats(a, clients[390].client, NULL, 0));
	for (i = 0; i < 400; i++)
		if (i != 200)
			kvp_client_close(many[i]);
}
END_TEST

START_TEST(test_list_refused)
{
	struct kvp_client_list arg = { .head.flags = 1 };

	kvpt_expect(kvpt_client_list(a, clients, KVP_MAX_CALL_BLOCKS + 1), -EOVERFLOW,
		    KVP_REASON_COUNT);
	ck_assert_int_eq(kvpt_do(a, KVP_OP_CLIENT_LIST, &arg), -EINVAL);
	ck_assert_uint_eq(arg.head.reason, KVP_REASON_FLAG);
	b = kvpt_join(&env, KVPT_OWNER, KVP_RIGHT_ADMIN);
	kvpt_expect(kvpt_client_list(b, clients, 5), -EACCES, KVP_REASON_RIGHT_USE);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("watch");
	TCase *t = tcase_create("watch");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_stats_of_the_pool);
	tcase_add_test(t, test_metadata_is_that_of_the_pool_and_of_all_clients);
	tcase_add_test(t, test_stats_of_clients);
	tcase_add_test(t, test_stats_of_uids);
	tcase_add_test(t, test_limits_and_guarantees_are_shown);
	tcase_add_test(t, test_charges_that_outlive_their_client);
	tcase_add_test(t, test_outputs_do_not_depend_on_what_stood_there);
	tcase_add_test(t, test_stats_refused);
	tcase_add_test(t, test_nothing_is_shown_without_a_pool);
	tcase_add_test(t, test_why_a_block_is_not_free);
	tcase_add_test(t, test_a_block_whose_generations_are_used_up_is_retired);
	tcase_add_test(t, test_an_idle_part_of_a_node_in_use);
	tcase_add_test(t, test_where_a_published_block_stands);
	tcase_add_test(t, test_age_is_from_allocation_or_publication);
	tcase_add_test(t, test_what_others_hold_in_private_is_hidden);
	tcase_add_test(t, test_the_cursor_goes_from_call_to_call);
	tcase_add_test(t, test_dump_tells_what_was_invalidated);
	tcase_add_test(t, test_a_dump_of_long_paths_changes_nothing);
	tcase_add_test(t, test_dump_refused);
	tcase_add_test(t, test_an_administrator_sees_all_clients);
	tcase_add_test(t, test_others_see_themselves);
	tcase_add_test(t, test_who_a_client_is);
	tcase_add_test(t, test_a_list_longer_than_its_room);
	tcase_add_test(t, test_more_clients_than_a_hold_of_the_lock);
	tcase_add_test(t, test_list_refused);
	suite_add_tcase(s, t);
	return kvpt_run(s);
}

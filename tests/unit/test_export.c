// SPDX-License-Identifier: MIT
/*
 * Exports: what one holds, for how long, and what others can do with it. What is refused is in
 * test_export_refused.c.
 */
#include <check.h>

#include "exportdoor.h"
#include "unit.h"

#define MAKER	1001
#define OTHER	1002
#define NR	10	/* tokens: two full nodes and a half */

static struct kvpt_env env;
static struct kvp_client *a, *b, *c;
static struct kvpt_world before;
static u32 tok[64];

/* a has ADMIN, b makes exports, c is of another uid. */
static void setup(void)
{
	kvpt_env_init(&env);
	env.door = kvpt_export_door(&kvpt_failing_door);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(32, 4),
		      KVPT_WINDOW(32, 4, 6) }, 2);
	b = kvpt_join(&env, MAKER, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	c = kvpt_join(&env, OTHER, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	kvpt_tokens(tok, 64, 1);
	kvpt_world_take(&env, a, &before);
}

static void teardown(void)
{
	ck_assert_uint_eq(kvpt_exports_open(), 0);
	kvpt_audit_clean(a);
	kvpt_world_drop(&before);
	kvpt_env_exit(&env);
}

/* Nothing is left of what the test did. */
static void expect_as_before(void)
{
	struct kvpt_world after;
	const char *diff;

	kvpt_audit_clean(a);
	kvpt_world_take(&env, a, &after);
	/* Blocks that were used have other generations. */
	after.stats.nr_blocks = 0;
	before.stats.nr_blocks = 0;
	diff = kvpt_world_diff(&before, &after);
	if (diff)
		kvpt_fail("changed: %s", diff);
	kvpt_world_drop(&after);
}

/* Without a match, which would be counted. */
static u64 computed(struct kvp_client *client, u32 space, const u32 *tokens, u32 nr)
{
	u64 seq;

	kvpt_ok(kvpt_create_flags(client, KVP_SEQ_NO_MATCH, space, tokens, nr, &seq));
	kvpt_ok(kvpt_advance(client, seq, nr));
	return seq;
}

static s32 exported(struct kvp_client *client, u64 seq)
{
	s32 fd;

	kvpt_ok(kvpt_export(client, seq, &fd));
	return fd;
}

static u64 imported(struct kvp_client *client, s32 fd)
{
	u64 seq;

	kvpt_ok(kvpt_import(client, fd, &seq));
	return seq;
}

/* ---- what it holds ---- */

START_TEST(test_blocks_are_shared_by_reference)
{
	struct kvp_family_stats was = kvpt_family_of(a, 0, 0), is;
	u64 seq = computed(b, 1, tok, NR);
	u64 dense[3], window[3];
	struct kvp_stats stats;
	s32 fd;
	int i;

	kvpt_expect_table(b, seq, 0, dense, 3);
	kvpt_expect_table(b, seq, 1, window, 3);
	ck_assert_uint_eq(window[0], KVP_BLOCK_NULL);
	fd = exported(b, seq);
	ck_assert_uint_eq(kvpt_exports_open(), 1);
	for (i = 0; i < 3; i++) {
		ck_assert_uint_eq(kvpt_count(a, dense[i]), 2);
		ck_assert_uint_eq(kvpt_entry(a, dense[i]).client, kvpt_client_id(b));
	}
	ck_assert_uint_eq(kvpt_count(a, window[1]), 2);
	is = kvpt_family_of(a, 0, 0);
	ck_assert_uint_eq(is.state[KVP_BLOCK_FREE], was.state[KVP_BLOCK_FREE] - 3);
	ck_assert_uint_eq(is.charged, 3);
	stats = kvpt_counters_of(a, 0);
	ck_assert_uint_eq(stats.nr_clients, 4);
	ck_assert_uint_eq(stats.exports, 1);
	ck_assert_uint_eq(stats.seqs, 2);
	ck_assert_uint_eq(stats.slots, 12);
	ck_assert_uint_eq(stats.copies, 0);
	stats = kvpt_counters_of(b, KVP_STATS_SELF);
	ck_assert_uint_eq(stats.exports, 1);
	ck_assert_uint_eq(stats.seqs, 1);
	ck_assert_uint_eq(stats.slots, 6);
	kvpt_audit_clean(a);

	kvpt_export_close(fd);
	ck_assert_uint_eq(kvpt_count(a, dense[0]), 1);
	ck_assert_uint_eq(kvpt_counters_of(b, KVP_STATS_SELF).exports, 0);
	kvpt_ok(kvpt_free(b, seq));
	expect_as_before();
}
END_TEST

START_TEST(test_the_sequence_is_freed)
{
	u64 seq = computed(b, 1, tok, NR);
	s32 fd = exported(b, seq);

	kvpt_ok(kvpt_free(b, seq));
	kvpt_expect_blocks(a, 0, 29, 3, 0);
	kvpt_audit_clean(a);
	seq = imported(c, fd);
	kvpt_expect_lengths(c, seq, NR, NR, NR, 0);
	kvpt_export_close(fd);
	kvpt_expect_blocks(a, 0, 29, 3, 0);
	kvpt_ok(kvpt_free(c, seq));
	expect_as_before();
}
END_TEST

START_TEST(test_the_maker_dies)
{
	struct kvp_client *maker = kvpt_join(&env, MAKER, KVP_RIGHT_USE);
	u64 id = kvpt_client_id(maker);
	u64 seq = computed(maker, 1, tok, NR);
	s32 fd = exported(maker, seq);
	u64 blocks[3];

	kvpt_expect_table(maker, seq, 0, blocks, 3);
	kvpt_close(&env, maker);
	kvpt_audit_clean(a);
	/* Its blocks stay charged to it. */
	ck_assert_uint_eq(kvpt_entry(a, blocks[2]).client, id);
	ck_assert_uint_eq(kvpt_count(a, blocks[2]), 1);
	kvpt_ok(kvpt_stats_uid(b, MAKER, NULL, 0));
	ck_assert_uint_eq(kvpt.stats.exports, 1);
	seq = imported(c, fd);
	kvpt_expect_lengths(c, seq, NR, NR, NR, 0);
	kvpt_export_close(fd);
	ck_assert_uint_eq(kvpt_entry(a, blocks[2]).client, id);
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_free(c, seq));
	expect_as_before();
}
END_TEST

/* The account of a maker that is gone may be another's by now. */
START_TEST(test_another_has_the_place_of_the_maker)
{
	struct kvp_client *maker = kvpt_join(&env, MAKER, KVP_RIGHT_USE), *next;
	u32 slot = maker->slot;
	u64 seq;
	s32 fd, its;

	kvpt_ok(kvpt_create(maker, 1, NULL, 0, &seq));
	fd = exported(maker, seq);
	kvpt_close(&env, maker);
	next = kvpt_join(&env, OTHER, KVP_RIGHT_USE);
	ck_assert_uint_eq(next->slot, slot);
	kvpt_ok(kvpt_create(next, 1, NULL, 0, &seq));
	its = exported(next, seq);
	kvpt_expect(kvpt_revoke(next, kvpt_client_id(next) - 1), -EPERM, KVP_REASON_NO_EXPORT);
	kvpt_export_close(fd);
	ck_assert_uint_eq(kvpt_counters_of(next, KVP_STATS_SELF).exports, 1);
	kvpt_audit_clean(a);
	kvpt_export_close(its);
	kvpt_close(&env, next);
	expect_as_before();
}
END_TEST

START_TEST(test_any_number_of_imports)
{
	u64 seq = computed(b, 1, tok, NR);
	u64 copy[4], blocks[3], again[3];
	s32 fd = exported(b, seq), dup = kvpt_export_dup(fd);
	int i;

	kvpt_expect_table(b, seq, 0, blocks, 3);
	kvpt_export_close(fd);
	for (i = 0; i < 4; i++) {
		copy[i] = imported(i % 2 ? b : c, dup);
		ck_assert_uint_eq(kvpt.seq_import.tokens, NR);
		kvpt_expect_table(i % 2 ? b : c, copy[i], 0, again, 3);
		ck_assert_mem_eq(again, blocks, sizeof(blocks));
	}
	ck_assert_uint_eq(kvpt_count(a, blocks[0]), 6);
	/* What others hold is not charged to who imports it. */
	ck_assert_uint_eq(kvpt_family_of(c, KVP_STATS_SELF, 0).charged, 0);
	for (i = 0; i < 4; i++)
		kvpt_ok(kvpt_free(i % 2 ? b : c, copy[i]));
	kvpt_ok(kvpt_free(b, seq));
	kvpt_expect_blocks(a, 0, 29, 3, 0);
	kvpt_export_close(dup);
	expect_as_before();
}
END_TEST

/* ---- who goes on writing ---- */

START_TEST(test_writers_get_private_blocks)
{
	u64 seq = computed(b, 1, tok, NR), copy;
	u64 was[3], mine[3], theirs[3], kept[3];
	s32 fd = exported(b, seq);

	kvpt_expect_table(b, seq, 0, was, 3);
	copy = imported(c, fd);
	/* The importer: one block of each family is copied, with the two rows it has. */
	kvpt_ok(kvpt_append(c, copy, tok + 40, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 2);
	ck_assert_uint_eq(kvpt_copies[0].src, was[2]);
	ck_assert_uint_eq(kvpt_copies[0].tokens, 2);
	kvpt_expect_table(c, copy, 0, theirs, 3);
	ck_assert_uint_eq(theirs[0], was[0]);
	ck_assert_uint_eq(theirs[1], was[1]);
	ck_assert_uint_ne(theirs[2], was[2]);
	ck_assert_uint_eq(kvpt_entry(a, theirs[2]).client, kvpt_client_id(c));
	kvpt_ok(kvpt_copied(c, copy));
	/* The maker too, as long as the export has them. */
	kvpt_ok(kvpt_append(b, seq, tok + 50, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 2);
	kvpt_ok(kvpt_copied(b, seq));
	kvpt_expect_table(b, seq, 0, mine, 3);
	ck_assert_uint_ne(mine[2], was[2]);
	ck_assert_uint_ne(mine[2], theirs[2]);
	/* The export is what it was. */
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_free(c, copy));
	copy = imported(c, fd);
	kvpt_expect_lengths(c, copy, NR, NR, NR, 0);
	kvpt_expect_table(c, copy, 0, kept, 3);
	ck_assert_mem_eq(kept, was, sizeof(was));
	ck_assert_uint_eq(kvpt_count(a, was[2]), 2);
	kvpt_export_close(fd);
	/* Now it is the importer's alone. */
	kvpt_ok(kvpt_append(c, copy, tok + 40, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 0);
}
END_TEST

START_TEST(test_full_nodes_need_no_copies)
{
	u64 seq = computed(b, 1, tok, 8), copy;
	s32 fd = exported(b, seq);

	copy = imported(c, fd);
	kvpt_ok(kvpt_append(c, copy, tok + 40, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 0);
	kvpt_ok(kvpt_append(b, seq, tok + 50, 1));
	ck_assert_uint_eq(kvpt.seq_append.nr_copies, 0);
	kvpt_export_close(fd);
}
END_TEST

START_TEST(test_the_maker_cuts_its_sequence)
{
	u64 seq = computed(b, 1, tok, 12), copy, blocks[3], again[3];
	s32 fd;

	kvpt_expect_table(b, seq, 0, blocks, 3);
	fd = exported(b, seq);
	kvpt_ok(kvpt_truncate(b, seq, 12));
	kvpt_ok(kvpt_free(b, seq));
	copy = imported(c, fd);
	kvpt_expect_table(c, copy, 0, again, 3);
	ck_assert_mem_eq(again, blocks, sizeof(blocks));
	kvpt_export_close(fd);
}
END_TEST

/* Only what is computed, and that is how far it was at the export. */
START_TEST(test_what_is_computed_is_exported)
{
	u64 seq, copy;
	s32 fd;

	kvpt_ok(kvpt_create(b, 1, tok, 14, &seq));
	kvpt_ok(kvpt_advance(b, seq, 8));
	fd = exported(b, seq);
	kvpt_ok(kvpt_advance(b, seq, 14));
	copy = imported(c, fd);
	ck_assert_uint_eq(kvpt.seq_import.tokens, 8);
	kvpt_expect_lengths(c, copy, 8, 8, 8, 0);
	kvpt_export_close(fd);
	/* Nothing at all. */
	kvpt_ok(kvpt_create(b, 1, NULL, 0, &seq));
	fd = exported(b, seq);
	copy = imported(c, fd);
	kvpt_expect_lengths(c, copy, 0, 0, 0, 0);
	kvpt_export_close(fd);
}
END_TEST

/* ---- the index ---- */

START_TEST(test_what_is_published_stays)
{
	u64 seq = kvpt_published(b, 7, tok, 8), copy, blocks[2], again[2];
	s32 fd;

	kvpt_expect_table(b, seq, 0, blocks, 2);
	fd = exported(b, seq);
	kvpt_ok(kvpt_free(b, seq));
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 0);
	copy = imported(c, fd);
	kvpt_expect_lengths(c, copy, 8, 8, 8, 8);
	kvpt_expect_table(c, copy, 0, again, 2);
	ck_assert_mem_eq(again, blocks, sizeof(blocks));
	kvpt_export_close(fd);
	kvpt_ok(kvpt_free(c, copy));
	/* Idle, and still found. */
	ck_assert_uint_eq(kvpt_matched(c, 7, tok, 8), 8);
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt.reclaim.nodes, 2);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).namespaces, 0);
}
END_TEST

/* The namespace belongs to the export, and so do the ids: the importer can publish. */
START_TEST(test_an_importer_publishes)
{
	u64 seq = computed(b, 7, tok, 8), copy, blocks[2], found[2];
	s32 fd = exported(b, seq);

	kvpt_expect_table(b, seq, 0, blocks, 2);
	kvpt_ok(kvpt_free(b, seq));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).namespaces, 1);
	ck_assert_uint_eq(kvpt_matched(c, 7, tok, 8), 0);
	copy = imported(c, fd);
	kvpt_ok(kvpt_publish(c, copy));
	ck_assert_uint_eq(kvpt.publish.nr_new, 2);
	kvpt_ok(kvpt_match_blocks(a, 7, tok, NR, 0, found, 2, NULL));
	ck_assert_uint_eq(kvpt.match.matched, 8);
	ck_assert_mem_eq(found, blocks, sizeof(found));
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_free(c, copy));
	kvpt_expect_blocks(a, 0, 30, 2, 0);
	kvpt_export_close(fd);
	kvpt_expect_blocks(a, 0, 30, 0, 2);
}
END_TEST

START_TEST(test_the_namespace_is_invalidated)
{
	u64 seq = computed(b, 7, tok, 12), copy;
	s32 fd;

	kvpt_ok(kvpt_publish_with(b, seq, 0, 8, 0));
	fd = exported(b, seq);
	kvpt_ok(kvpt_invalidate_space(a, 7));
	kvpt_ok(kvpt_free(b, seq));
	copy = imported(c, fd);
	kvpt_expect_lengths(c, copy, 12, 12, 12, 8);
	kvpt_expect(kvpt_publish(c, copy), -ESTALE, KVP_REASON_INVALIDATED);
	kvpt_ok(kvpt_free(c, copy));
	kvpt_export_close(fd);
	kvpt_ok(kvpt_reclaim(a, 100));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 0);
}
END_TEST

START_TEST(test_windows)
{
	u64 seq, copy, blocks[4], again[4];
	s32 fd;

	kvpt_ok(kvpt_create(b, 1, tok, 16, &seq));
	kvpt_ok(kvpt_advance(b, seq, 16));
	fd = exported(b, seq);
	/* Of rows 11.. on. */
	ck_assert_uint_eq(kvpt_nulls(b, seq, 1), 3);
	kvpt_expect_table(b, seq, 1, blocks, 4);
	copy = imported(c, fd);
	kvpt_expect_table(c, copy, 1, again, 4);
	ck_assert_mem_eq(again, blocks, sizeof(blocks));
	/* The maker's window moves on, that of the export does not. */
	kvpt_ok(kvpt_append(b, seq, tok + 16, 8));
	kvpt_ok(kvpt_advance(b, seq, 24));
	kvpt_ok(kvpt_free(c, copy));
	kvpt_audit_clean(a);
	ck_assert_uint_eq(kvpt_count(a, blocks[2]), 1);
	copy = imported(c, fd);
	kvpt_expect_table(c, copy, 1, again, 4);
	ck_assert_mem_eq(again, blocks, sizeof(blocks));
	kvpt_ok(kvpt_append(c, copy, tok + 16, 8));
	kvpt_ok(kvpt_advance(c, copy, 24));
	ck_assert_uint_eq(kvpt_count(a, again[3]), 1);
	kvpt_export_close(fd);
}
END_TEST

/* ---- revoking ---- */

START_TEST(test_revoked_by_its_maker)
{
	u64 seq = computed(b, 1, tok, NR), copy, id;
	s32 fd = exported(b, seq);

	id = kvpt.seq_export.export_id;
	copy = imported(c, fd);
	kvpt_ok(kvpt_free(b, seq));
	kvpt_ok(kvpt_revoke(b, id));
	/* What it held comes back at once, what was imported stays. */
	kvpt_audit_clean(a);
	kvpt_expect_lengths(c, copy, NR, NR, NR, 0);
	kvpt_expect_blocks(a, 0, 29, 3, 0);
	kvpt_refused(&env, a, kvpt_import(c, fd, NULL), -ESTALE, KVP_REASON_REVOKED, 0);
	kvpt_refused(&env, a, kvpt_import(b, fd, NULL), -ESTALE, KVP_REASON_REVOKED, 0);
	kvpt_ok(kvpt_free(c, copy));
	kvpt_expect_blocks(a, 0, 32, 0, 0);
	/* Until it is closed it is listed; once more is nothing. */
	kvpt_ok(kvpt_revoke(b, id));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).exports, 1);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).seqs, 0);
	kvpt_export_close(fd);
	kvpt_expect(kvpt_revoke(b, id), -ENOENT, KVP_REASON_NO_EXPORT);
	expect_as_before();
}
END_TEST

START_TEST(test_revoked_by_an_admin)
{
	struct kvp_client *maker = kvpt_join(&env, MAKER, KVP_RIGHT_USE);
	u64 seq = computed(maker, 1, tok, NR), id;
	s32 fd = exported(maker, seq);

	id = kvpt.seq_export.export_id;
	kvpt_refused(&env, a, kvpt_revoke(b, id), -EPERM, KVP_REASON_NO_EXPORT, 0);
	kvpt_refused(&env, a, kvpt_revoke(c, id), -EPERM, KVP_REASON_NO_EXPORT, 0);
	kvpt_close(&env, maker);
	kvpt_refused(&env, a, kvpt_revoke(b, id), -EPERM, KVP_REASON_NO_EXPORT, 0);
	kvpt_expect_blocks(a, 0, 29, 3, 0);
	kvpt_ok(kvpt_revoke(a, id));
	kvpt_expect_blocks(a, 0, 32, 0, 0);
	kvpt_refused(&env, a, kvpt_import(c, fd, NULL), -ESTALE, KVP_REASON_REVOKED, 0);
	kvpt_export_close(fd);
	expect_as_before();
}
END_TEST

/* ---- the list ---- */

static struct kvp_client_entry list[8];

static const struct kvp_client_entry *listed(struct kvp_client *client, u64 id)
{
	u32 i;

	kvpt_ok(kvpt_client_list(client, list, 8));
	for (i = 0; i < kvpt.client_list.nr_entries; i++)
		if (list[i].client == id)
			return &list[i];
	return NULL;
}

START_TEST(test_the_list_of_clients)
{
	const struct kvp_cred cred = {
		.uid = MAKER, .gid = MAKER, .pid = 4711, .command = "engine",
	};
	struct kvp_client *maker = kvpt_open_cred(&env, &cred);
	const struct kvp_client_entry *entry;
	u64 seq, copy, id, maker_id;
	s32 fd;

	kvpt_ok(kvpt_pool_attach(maker, KVPT_POOL_NAME, KVP_RIGHT_USE));
	maker_id = kvpt.pool_attach.client;
	seq = computed(maker, 1, tok, NR);
	fd = exported(maker, seq);
	id = kvpt.seq_export.export_id;
	ck_assert_uint_eq(id, maker_id + 1);
	copy = imported(c, fd);
	imported(c, fd);
	entry = listed(a, id);
	ck_assert_ptr_nonnull(entry);
	ck_assert_uint_eq(entry->uid, MAKER);
	ck_assert_uint_eq(entry->rights, KVP_RIGHT_USE);
	ck_assert_uint_eq(entry->seqs, 1);
	ck_assert_uint_eq(entry->slots, 6);
	ck_assert_uint_eq(entry->charged, 0);
	ck_assert_uint_eq(entry->exports, 0);
	ck_assert_uint_eq(entry->maker, maker_id);
	ck_assert_uint_eq(entry->imports, 2);
	ck_assert_uint_eq(entry->pid, 4711);
	ck_assert_uint_eq(entry->flags, KVP_CLIENT_EXPORT);
	ck_assert_str_eq(entry->command, "engine");
	ck_assert_uint_gt(entry->age_ns, 0);
	entry = listed(a, maker_id);
	ck_assert_uint_eq(entry->exports, 1);
	ck_assert_uint_eq(entry->maker, 0);
	ck_assert_uint_eq(entry->flags, 0);
	ck_assert_uint_eq(entry->imports, 0);
	ck_assert_uint_eq(kvpt.client_list.total, 5);
	/* Others see neither, the maker sees both and no more. */
	ck_assert_ptr_null(listed(c, id));
	ck_assert_uint_eq(kvpt.client_list.total, 1);
	ck_assert_ptr_nonnull(listed(maker, id));
	ck_assert_uint_eq(kvpt.client_list.total, 2);
	kvpt_ok(kvpt_revoke(maker, id));
	entry = listed(maker, id);
	ck_assert_uint_eq(entry->flags, KVP_CLIENT_EXPORT | KVP_CLIENT_REVOKED);
	ck_assert_uint_eq(entry->seqs, 0);
	ck_assert_uint_eq(entry->slots, 0);
	kvpt_close(&env, maker);
	entry = listed(a, id);
	ck_assert_uint_eq(entry->maker, maker_id);
	ck_assert_uint_eq(entry->uid, MAKER);
	kvpt_export_close(fd);
	ck_assert_ptr_null(listed(a, id));
	kvpt_ok(kvpt_free(c, copy));
}
END_TEST

/* ---- the pool ---- */

START_TEST(test_a_pool_lives_as_long_as_its_exports)
{
	struct kvp_client *late = kvpt_open(&env, KVPT_OWNER);
	struct kvp_client *maker = kvpt_open(&env, MAKER);
	struct kvp_pool_entry pools[4];
	u64 seq;
	s32 fd;

	kvpt_ok(kvpt_pool_create(maker, "short", 0600,
				 (struct kvp_family_desc[]){ KVPT_DENSE(8, 4) }, 1));
	seq = computed(maker, 1, tok, NR);
	fd = exported(maker, seq);
	kvpt_close(&env, maker);
	maker = kvpt_open(&env, MAKER);
	kvpt_ok(kvpt_pool_list(maker, pools, 4));
	ck_assert_uint_eq(kvpt.pool_list.total, 2);
	ck_assert_str_eq(pools[1].name, "short");
	ck_assert_uint_eq(pools[1].nr_clients, 1);
	kvpt_ok(kvpt_pool_attach(maker, "short", 0));
	imported(maker, fd);
	kvpt_audit_clean(maker);
	kvpt_close(&env, maker);
	kvpt_export_close(fd);
	kvpt_expect(kvpt_pool_attach(late, "short", 0), -ENOENT, KVP_REASON_NO_POOL);
	expect_as_before();
}
END_TEST

START_TEST(test_a_pool_with_exports_is_in_use)
{
	struct kvp_client *maker = kvpt_open(&env, MAKER);
	u64 seq;
	s32 fd;

	kvpt_ok(kvpt_pool_create(maker, "used", 0600,
				 (struct kvp_family_desc[]){ KVPT_DENSE(8, 4) }, 1));
	seq = computed(maker, 1, tok, NR);
	fd = exported(maker, seq);
	kvpt_expect(kvpt_pool_destroy(maker, "used", 0), -EBUSY, KVP_REASON_POOL_IN_USE);
	kvpt_ok(kvpt_pool_destroy(maker, "used", KVP_DESTROY_FORCE));
	kvpt_expect(kvpt_import(maker, fd, NULL), -EIO, KVP_REASON_DESTROYED);
	kvpt_expect(kvpt_revoke(maker, 2), -EIO, KVP_REASON_DESTROYED);
	kvpt_close(&env, maker);
	kvpt_export_close(fd);
	/* Its name was free, now its memory is. */
	expect_as_before();
}
END_TEST

START_TEST(test_an_export_has_no_guarantee)
{
	u64 seq = computed(b, 1, tok, NR);
	s32 fd;

	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_GUARANTEE, 0, 10));
	kvpt_ok(kvpt_limit(a, 0, KVP_LIMIT_GUARANTEE, 0, 30));
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).guaranteed, 10);
	fd = exported(b, seq);
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).guaranteed, 10);
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).unmet, 7);
	kvpt_audit_clean(a);
	kvpt_export_close(fd);
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).guaranteed, 10);
	ck_assert_uint_eq(kvpt_family_of(a, 0, 0).unmet, 7);
}
END_TEST

START_TEST(test_in_a_batch)
{
	struct kvp_seq_create create = { .tokens = (u64)(uintptr_t)tok, .nr_tokens = 8 };
	struct kvp_seq_advance advance = { .seq = KVP_REF(0), .computed = 8 };
	struct kvp_seq_export export = { .seq = KVP_REF(0) };
	struct kvp_seq_id end = { .seq = KVP_REF(0) };
	struct kvp_batch_entry entries[] = {
		{ KVP_OP_SEQ_CREATE, sizeof(create), (u64)(uintptr_t)&create, 1, 0 },
		{ KVP_OP_SEQ_ADVANCE, sizeof(advance), (u64)(uintptr_t)&advance, 1, 0 },
		{ KVP_OP_SEQ_EXPORT, sizeof(export), (u64)(uintptr_t)&export, 1, 0 },
		{ KVP_OP_SEQ_FREE, sizeof(end), (u64)(uintptr_t)&end, 1, 0 },
	};
	struct kvp_seq_import import = { .head.size = sizeof(import) };
	u32 i;

	create.head.size = sizeof(create);
	advance.head.size = sizeof(advance);
	export.head.size = sizeof(export);
	end.head.size = sizeof(end);
	kvpt_ok(kvpt_batch(b, 0, entries, 4));
	for (i = 0; i < 4; i++)
		ck_assert_int_eq(entries[i].result, 0);
	import.fd = export.fd;
	end.seq = KVP_REF(0);
	entries[0] = (struct kvp_batch_entry){ KVP_OP_SEQ_IMPORT, sizeof(import),
		(u64)(uintptr_t)&import, 1, 0 };
	entries[1] = entries[3];
	kvpt_ok(kvpt_batch(c, 0, entries, 2));
	ck_assert_int_eq(entries[0].result, 0);
	ck_assert_int_eq(entries[1].result, 0);
	ck_assert_uint_eq(import.tokens, 8);
	kvpt_export_close(export.fd);
	kvpt_ok(kvpt_reclaim(a, 10));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).nodes_used, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("export");
	TCase *t = tcase_create("export");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_blocks_are_shared_by_reference);
	tcase_add_test(t, test_the_sequence_is_freed);
	tcase_add_test(t, test_the_maker_dies);
	tcase_add_test(t, test_another_has_the_place_of_the_maker);
	tcase_add_test(t, test_any_number_of_imports);
	tcase_add_test(t, test_writers_get_private_blocks);
	tcase_add_test(t, test_full_nodes_need_no_copies);
	tcase_add_test(t, test_the_maker_cuts_its_sequence);
	tcase_add_test(t, test_what_is_computed_is_exported);
	tcase_add_test(t, test_what_is_published_stays);
	tcase_add_test(t, test_an_importer_publishes);
	tcase_add_test(t, test_the_namespace_is_invalidated);
	tcase_add_test(t, test_windows);
	tcase_add_test(t, test_revoked_by_its_maker);
	tcase_add_test(t, test_revoked_by_an_admin);
	tcase_add_test(t, test_the_list_of_clients);
	tcase_add_test(t, test_a_pool_lives_as_long_as_its_exports);
	tcase_add_test(t, test_a_pool_with_exports_is_in_use);
	tcase_add_test(t, test_an_export_has_no_guarantee);
	tcase_add_test(t, test_in_a_batch);
	suite_add_tcase(s, t);
	return kvpt_run(s);
}

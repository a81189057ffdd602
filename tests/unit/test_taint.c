// SPDX-License-Identifier: MIT
/*
 * Which tokens may not be published, and why: one test for each way in which a sequence gets
 * such tokens, and one for each in which they are carried on or end. In every one PUBLISH
 * refuses them, and nothing of them is published.
 */
#include <check.h>

#include "fenced.h"
#include "remapped.h"

/* 12 computed tokens, three nodes. */
static u64 plain(void)
{
	return kvpt_computed(a, 1, tok, 12);
}

static void becomes(u64 seq, const struct kvp_piece *pieces, u32 nr)
{
	kvpt_ok(kvpt_remap(a, seq, pieces, nr));
	kvpt_ok(kvpt_commit(a, seq));
}

/* @nr tokens more, computed. */
static void goes_on(u64 seq, const u32 *tokens, u32 nr)
{
	kvpt_ok(kvpt_append(a, seq, tokens, nr));
	kvpt_ok(kvpt_advance(a, seq, kvpt.seq_append.position + nr));
}

static u32 flags_at(struct kvp_client *client, u64 seq, u64 token)
{
	struct kvp_positions runs[16];
	u32 i = 0;

	kvpt_ok(kvpt_positions(client, seq, runs, 16));
	ck_assert_uint_gt(kvpt.positions.nr_runs, 0);
	while (i + 1 < kvpt.positions.nr_runs && runs[i + 1].first <= token)
		i++;
	return runs[i].flags;
}

/*
 * Tokens from @from on are tainted: PUBLISH refuses the node in which the first of them is, and
 * takes those before it.
 */
static void expect_tainted_by(struct kvp_client *client, u64 seq, u64 from)
{
	u64 nodes = from / 4 * 4;

	kvpt_ok(kvpt_positions(client, seq, NULL, 0));
	ck_assert_uint_eq(kvpt.positions.tainted_from, from);
	kvpt_refused(&env, a, kvpt_publish_with(client, seq, 0, 0, 0), -EKEYREJECTED,
		     KVP_REASON_TAINTED, 0);
	kvpt_refused(&env, a, kvpt_publish_with(client, seq, KVP_PUBLISH_KEEP, nodes + 4, 0),
		     -EKEYREJECTED, KVP_REASON_TAINTED, 0);
	if (!nodes)
		return;
	kvpt_ok(kvpt_publish_with(client, seq, 0, from, 0));
	kvpt_ok(kvpt_table(client, seq, 0, NULL, 0));
	ck_assert_uint_eq(kvpt.table.nr_published, nodes);
}

#define expect_tainted(seq, from)	expect_tainted_by(a, seq, from)

static void expect_clean(u64 seq)
{
	kvpt_ok(kvpt_positions(a, seq, NULL, 0));
	ck_assert_uint_eq(kvpt.positions.tainted_from, KVP_POS_END);
	kvpt_ok(kvpt_publish(a, seq));
}

/* ---- where it comes from --------------------------------------------- */

START_TEST(test_survivors_of_an_eviction)
{
	u64 seq = plain();

	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(seq, 8, 4)));
	ck_assert_uint_eq(flags_at(a, seq, 3), 0);
	ck_assert_uint_eq(flags_at(a, seq, 4), KVP_POSITIONS_ATTENDED | KVP_POSITIONS_MISSED);
	expect_tainted(seq, 4);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 4);
}
END_TEST

/* Inside a node the whole node is refused. */
START_TEST(test_survivors_inside_a_node)
{
	u64 seq = plain();

	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 6), KVPT_PIECE(seq, 8, 4)));
	expect_tainted(seq, 6);
}
END_TEST

START_TEST(test_a_shift)
{
	u64 seq = plain();

	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 8), KVPT_PIECE_AT(seq, 8, 4, 9)));
	ck_assert_uint_eq(flags_at(a, seq, 8), 0);
	expect_tainted(seq, 8);
}
END_TEST

/* There and back again: rows are those that they were, by rotation at least. */
START_TEST(test_a_shift_and_back)
{
	u64 seq = plain();

	becomes(seq, PIECES(KVPT_PIECE_AT(seq, 0, 12, 100)));
	expect_tainted(seq, 0);
	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 12)));
	expect_clean(seq);
}
END_TEST

START_TEST(test_a_gap)
{
	u64 seq = plain();

	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE_KEEP(seq, 8, 4)));
	ck_assert_uint_eq(flags_at(a, seq, 4), KVP_POSITIONS_ATTENDED | KVP_POSITIONS_MISSED);
	expect_tainted(seq, 4);
}
END_TEST

/* Of the very same tokens, at the same place: but nobody says that they are. */
START_TEST(test_a_splice)
{
	u64 seq = plain(), from = plain();

	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(from, 4, 4), KVPT_PIECE(seq, 8, 4)));
	ck_assert_uint_eq(flags_at(a, seq, 4), KVP_POSITIONS_ATTENDED | KVP_POSITIONS_MISSED);
	ck_assert_uint_eq(flags_at(a, seq, 8), KVP_POSITIONS_ATTENDED | KVP_POSITIONS_MISSED);
	expect_tainted(seq, 4);
	/* Whose rows they are is as it was. */
	expect_clean(from);
}
END_TEST

/* The beginning of another one is what it was there, but is not this one's. */
START_TEST(test_a_splice_at_the_start)
{
	u64 seq = plain(), from = kvpt_computed(a, 1, other, 8);

	becomes(seq, PIECES(KVPT_PIECE(from, 0, 8)));
	ck_assert_uint_eq(flags_at(a, seq, 0), KVP_POSITIONS_MISSED);
	expect_tainted(seq, 0);
}
END_TEST

START_TEST(test_appended_after_tainted_tokens)
{
	u64 seq = plain();

	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(seq, 8, 4)));
	goes_on(seq, other, 8);
	ck_assert_uint_eq(flags_at(a, seq, 8), 0);
	expect_tainted(seq, 4);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 4);
}
END_TEST

/* Positions go on where they are: what is appended stands beside its index. */
START_TEST(test_explicit_positions)
{
	struct kvp_positions runs[2];
	u64 seq = plain();

	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 8),
		{ .seq = seq, .from = 8, .length = 4, .positions = KVP_PIECE_AT, .position = 20,
		  .flags = KVP_PIECE_RECOMPUTE }));
	kvpt_ok(kvpt_advance(a, seq, 12));
	kvpt_ok(kvpt_positions(a, seq, runs, 2));
	ck_assert_uint_eq(kvpt.positions.total, 2);
	ck_assert_uint_eq(runs[1].position, 20);
	ck_assert_uint_eq(runs[1].computed_at, 20);
	ck_assert_uint_eq(runs[1].flags, 0);
	expect_tainted(seq, 8);
}
END_TEST

/* ---- where there is none --------------------------------------------- */

START_TEST(test_computed_anew)
{
	u64 seq = plain();
	u32 ids[8];

	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 4),
		{ .seq = seq, .from = 8, .length = 4, .flags = KVP_PIECE_RECOMPUTE }));
	kvpt_expect_lengths(a, seq, 8, 4, 8, 0);
	kvpt_ok(kvpt_advance(a, seq, 8));
	expect_clean(seq);
	memcpy(ids, tok, 4 * sizeof(*ids));
	memcpy(ids + 4, tok + 8, 4 * sizeof(*ids));
	ck_assert_uint_eq(kvpt_matched(a, 1, ids, 8), 8);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 4);
}
END_TEST

/* Computed anew at the same place after what is tainted is tainted, too. */
START_TEST(test_computed_anew_after_tainted_tokens)
{
	u64 seq = plain();

	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 2), KVPT_PIECE(seq, 3, 4),
		{ .seq = seq, .from = 7, .length = 5, .flags = KVP_PIECE_RECOMPUTE }));
	kvpt_ok(kvpt_advance(a, seq, 11));
	ck_assert_uint_eq(flags_at(a, seq, 6), 0);
	expect_tainted(seq, 2);
}
END_TEST

START_TEST(test_ids_of_others_computed_anew)
{
	u64 seq = plain(), from = kvpt_computed(a, 1, other, 8);
	u32 ids[8];

	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 4),
		{ .seq = from, .from = 2, .length = 4, .flags = KVP_PIECE_RECOMPUTE }));
	kvpt_ok(kvpt_advance(a, seq, 8));
	expect_clean(seq);
	memcpy(ids, tok, 4 * sizeof(*ids));
	memcpy(ids + 4, other + 2, 4 * sizeof(*ids));
	ck_assert_uint_eq(kvpt_matched(a, 1, ids, 8), 8);
}
END_TEST

/* ---- how it is carried on, and ends ---------------------------------- */

static u64 tainted(void)
{
	u64 seq = plain();

	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 4), KVPT_PIECE(seq, 8, 4)));
	return seq;
}

START_TEST(test_forks_carry_it)
{
	u64 seq = tainted(), child, below;

	kvpt_ok(kvpt_fork(a, seq, 8, &child));
	kvpt_ok(kvpt_fork(a, seq, 4, &below));
	ck_assert_uint_eq(flags_at(a, child, 4), KVP_POSITIONS_ATTENDED | KVP_POSITIONS_MISSED);
	expect_tainted(child, 4);
	expect_clean(below);
	/* What the fork of less goes on with is as good as any. */
	goes_on(below, tok + 4, 8);
	expect_clean(below);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
}
END_TEST

START_TEST(test_exports_and_imports_carry_it)
{
	u64 seq = tainted(), theirs;
	s32 fd;

	kvpt_ok(kvpt_export(a, seq, &fd));
	kvpt_ok(kvpt_free(a, seq));
	kvpt_ok(kvpt_import(b, fd, &theirs));
	ck_assert_uint_eq(flags_at(b, theirs, 4), KVP_POSITIONS_ATTENDED | KVP_POSITIONS_MISSED);
	expect_tainted_by(b, theirs, 4);
	kvpt_export_close(fd);
}
END_TEST

START_TEST(test_remaps_carry_it)
{
	u64 seq = tainted(), second = plain();

	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 6)));
	goes_on(seq, other, 2);
	expect_tainted(seq, 4);
	/* Also where their rows go elsewhere. */
	becomes(second, PIECES(KVPT_PIECE(second, 0, 8), KVPT_PIECE(seq, 4, 2)));
	ck_assert_uint_eq(flags_at(a, second, 8), KVP_POSITIONS_ATTENDED | KVP_POSITIONS_MISSED);
	kvpt_ok(kvpt_positions(a, second, NULL, 0));
	ck_assert_uint_eq(kvpt.positions.tainted_from, 8);
}
END_TEST

START_TEST(test_truncation_above_it_does_not_end_it)
{
	u64 seq = tainted();

	kvpt_ok(kvpt_truncate(a, seq, 5));
	goes_on(seq, other, 3);
	expect_tainted(seq, 4);
}
END_TEST

START_TEST(test_truncation_below_it_ends_it)
{
	u64 seq = tainted();

	kvpt_ok(kvpt_truncate(a, seq, 4));
	goes_on(seq, tok + 4, 8);
	expect_clean(seq);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 12);
}
END_TEST

/* ---- extra digests --------------------------------------------------- */

/* 12 tokens; the second node, that begins with token 4, has a digest. */
static u64 named(void)
{
	const struct kvp_extra extra = kvpt_extra(1, 7);
	u64 seq;

	kvpt_ok(kvpt_create_with(a, &(struct kvp_seq_create){ .extras = kvpt_addr(&extra),
				 .nr_extras = 1 }, 1, tok, 12, &seq));
	kvpt_ok(kvpt_advance(a, seq, 12));
	return seq;
}

/* What is matched with that digest, and without. */
static u64 matched_named(u32 nr)
{
	const struct kvp_extra extra = kvpt_extra(1, 7);
	const struct kvp_prefix_match with = { .extras = kvpt_addr(&extra), .nr_extras = 1 };

	kvpt_ok(kvpt_match_with(a, &with, 1, tok, nr));
	return kvpt.match.matched;
}

START_TEST(test_a_digest_stays_where_its_node_does)
{
	u64 seq = named();

	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 10)));
	expect_clean(seq);
	ck_assert_uint_eq(matched_named(12), 8);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 4);
}
END_TEST

/* The node is made anew, and begins as it did. */
START_TEST(test_a_digest_goes_along_with_its_beginning)
{
	u64 seq = named();

	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 7)));
	goes_on(seq, tok + 7, 5);
	expect_clean(seq);
	ck_assert_uint_eq(matched_named(12), 12);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 12), 4);
}
END_TEST

START_TEST(test_a_digest_goes_along_where_rows_are_computed_anew)
{
	u64 seq = named();

	becomes(seq, PIECES({ .seq = seq, .length = 12, .flags = KVP_PIECE_RECOMPUTE }));
	kvpt_ok(kvpt_advance(a, seq, 12));
	expect_clean(seq);
	ck_assert_uint_eq(matched_named(12), 12);
}
END_TEST

/* At another index: they have no name, even if their rows are computed anew. */
START_TEST(test_a_digest_is_lost_at_another_index)
{
	u64 seq = named();

	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 2),
		{ .seq = seq, .from = 4, .length = 8, .flags = KVP_PIECE_RECOMPUTE }));
	kvpt_ok(kvpt_advance(a, seq, 10));
	expect_tainted(seq, 0);
	kvpt_ok(kvpt_truncate(a, seq, 2));
	goes_on(seq, tok + 2, 2);
	expect_tainted(seq, 0);
	kvpt_ok(kvpt_truncate(a, seq, 0));
	goes_on(seq, tok, 4);
	expect_clean(seq);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 4), 4);
}
END_TEST

START_TEST(test_a_digest_is_lost_with_a_whole_node)
{
	u64 seq = named();

	becomes(seq, PIECES({ .seq = seq, .from = 4, .length = 8, .flags = KVP_PIECE_RECOMPUTE }));
	kvpt_ok(kvpt_advance(a, seq, 8));
	expect_tainted(seq, 0);
}
END_TEST

START_TEST(test_a_lost_digest_at_a_node_boundary)
{
	u64 seq = named();

	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 4),
		{ .seq = seq, .from = 6, .length = 6, .flags = KVP_PIECE_RECOMPUTE }));
	kvpt_ok(kvpt_advance(a, seq, 10));
	expect_tainted(seq, 4);
	/* Below it there is nothing that was lost. */
	kvpt_ok(kvpt_truncate(a, seq, 4));
	goes_on(seq, tok + 4, 4);
	expect_clean(seq);
	ck_assert_uint_eq(kvpt_matched(a, 1, tok, 8), 8);
}
END_TEST

/* A window's rows that are moved are not all that there were: nobody else may rely on them. */
START_TEST(test_moved_rows_of_windows)
{
	u64 seq;

	teardown();
	make((struct kvp_family_desc[]){ KVPT_DENSE(16, 4), KVPT_WINDOW(16, 4, 6) }, 2);
	seq = plain();
	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 10)));
	goes_on(seq, other, 2);
	expect_tainted(seq, 8);
	seq = kvpt_computed(a, 2, tok, 12);
	becomes(seq, PIECES(KVPT_PIECE(seq, 0, 12)));
	expect_clean(seq);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("taint");
	TCase *tc = tcase_create("sources");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_survivors_of_an_eviction);
	tcase_add_test(tc, test_survivors_inside_a_node);
	tcase_add_test(tc, test_a_shift);
	tcase_add_test(tc, test_a_shift_and_back);
	tcase_add_test(tc, test_a_gap);
	tcase_add_test(tc, test_a_splice);
	tcase_add_test(tc, test_a_splice_at_the_start);
	tcase_add_test(tc, test_appended_after_tainted_tokens);
	tcase_add_test(tc, test_explicit_positions);
	tcase_add_test(tc, test_moved_rows_of_windows);
	suite_add_tcase(s, tc);

	tc = tcase_create("none");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_computed_anew);
	tcase_add_test(tc, test_computed_anew_after_tainted_tokens);
	tcase_add_test(tc, test_ids_of_others_computed_anew);
	suite_add_tcase(s, tc);

	tc = tcase_create("carried");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_forks_carry_it);
	tcase_add_test(tc, test_exports_and_imports_carry_it);
	tcase_add_test(tc, test_remaps_carry_it);
	tcase_add_test(tc, test_truncation_above_it_does_not_end_it);
	tcase_add_test(tc, test_truncation_below_it_ends_it);
	suite_add_tcase(s, tc);

	tc = tcase_create("digests");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_a_digest_stays_where_its_node_does);
	tcase_add_test(tc, test_a_digest_goes_along_with_its_beginning);
	tcase_add_test(tc, test_a_digest_goes_along_where_rows_are_computed_anew);
	tcase_add_test(tc, test_a_digest_is_lost_at_another_index);
	tcase_add_test(tc, test_a_digest_is_lost_with_a_whole_node);
	tcase_add_test(tc, test_a_lost_digest_at_a_node_boundary);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

// SPDX-License-Identifier: MIT
/*
 * kvctl fsck: a sound pool, one that was damaged, every kind of finding in words.
 */
#include "kvctl_verbs.h"

#include "inside.h"

#include "../../tools/kvctl/fsck.h"

START_TEST(test_fsck_of_a_sound_pool)
{
	json_t *object;

	expect(KVCTL_OK, "fsck views");
	has(out, "ok  sum      family 0 \"kv\": free 29 + reserved 0 + held 5 + idle 6 + "
		 "held-back 0 + retired 0 = 40 blocks\n");
	has(out, "ok  count    94 blocks: each count is what ");
	has(out, "ok  tree     8 published nodes in 3 namespaces: ");
	has(out, "ok  extra    3 of ");
	has(out, "ok  fence    0 open uses, 0 zombies, 0 dead clients, 0 tickets: ");
	has(out, "clean: 94 blocks and ");
	object = object_of("fsck views --json");
	is_bool(object, "ok", 1);
	is_number(object, "total_findings", 0);
	is_number(object, "checked_blocks", 94);
	is_number(object, "wrong.count", 0);
	is_number(object, "families.0.held", 5);
	is_number(object, "recounted.seqs", 2);
	is_number(object, "recounted.raw", 2);
	is_number(object, "recounted.nodes_published", 8);
	is_number(object, "recounted.uses", 0);
	is_number(object, "recounted.zombies", 0);
	is_number(object, "recounted.tickets", 0);
	json_decref(object);
}
END_TEST

START_TEST(test_fsck_finds_damage)
{
	json_error_t error;
	json_t *object;

	kvpr_damage_count(a, raw[1], 2);
	expect(KVCTL_FAILED, "fsck views");
	has(out, "       1 wrong  count    94 blocks: ");
	has(out, "            ok  list ");
	has(out, "NOT CLEAN: 94 blocks and ");
	has(out, " 1 finding\n  count    block 10 of family 0: the count is not what tables and raw "
		 "references add up to: found 3, expected 1\n");
	ck_assert_int_eq(run("fsck views --json"), KVCTL_FAILED);
	object = json_loads(out, 0, &error);
	ck_assert_ptr_nonnull(object);
	is_bool(object, "ok", 0);
	is_number(object, "wrong.count", 1);
	is_string(object, "findings.0.kind", "count");
	is_number(object, "findings.0.id", 10);
	is_number(object, "findings.0.family", 0);
	is_number(object, "findings.0.found", 3);
	is_number(object, "findings.0.expected", 1);
	json_decref(object);
	kvpr_damage_count(a, raw[1], -2);
}
END_TEST

START_TEST(test_fsck_words)
{
	static const struct {
		struct kvp_finding finding;
		const char *name, *words;
	} cases[] = {
		{ { KVP_FINDING_SUM, 1, 0, 7, 8 }, "sum", "family 1: the states do not add up to "
		  "the blocks that there are: found 7, expected 8" },
		{ { KVP_FINDING_STATE, 1, KVP_BLOCK_IDLE, 7, 8 }, "state", "family 1, blocks that "
		  "are idle: the counter is not the recount: found 7, expected 8" },
		{ { KVP_FINDING_STATE, 1, KVP_BLOCK_STATES, 7, 8 }, "state", "family 1, blocks "
		  "that are published or promised: " },
		{ { KVP_FINDING_STATE, ~0U, 4, 7, 8 }, "state", "index, nodes of state 4: " },
		{ { KVP_FINDING_COUNT, 2, 5, 7, 8 }, "count", "block 5 of family 2: " },
		{ { KVP_FINDING_LIST, 2, 5, 7, 8 }, "list", "block 5 of family 2: in the wrong "
		  "state, or on a list" },
		{ { KVP_FINDING_LIST, ~0U, 5, 7, 8 }, "list", "node 5: in the wrong state" },
		{ { KVP_FINDING_NODE, ~0U, 5, 7, 8 }, "node", "node 5: its uses, references or held blocks" },
		{ { KVP_FINDING_TREE, ~0U, 5, 7, 8 }, "tree", "node 5: a link in the index" },
		{ { KVP_FINDING_TREE, 0, 5, 7, 8 }, "tree", "block or node 5 of family 0: " },
		{ { KVP_FINDING_CONTENT, ~0U, 5, 7, 8 }, "content", "node 5: the hash" },
		{ { KVP_FINDING_CHARGE, ~0U, 5, 7, 8 }, "charge", "client 5: what is charged" },
		{ { KVP_FINDING_CHARGE, ~0U, 0, 7, 8 }, "charge", "all clients: " },
		{ { KVP_FINDING_CHARGE, 3, 5, 7, 8 }, "charge", "client or block 5, family 3: " },
		{ { KVP_FINDING_FENCE, ~0U, 5, 7, 8 }, "fence", "client 5: what waits for fences "
		  "or blocks is not the recount: found 7, expected 8" },
		{ { KVP_FINDING_FENCE, ~0U, 0, 7, 8 }, "fence", "all clients: what waits" },
		{ { KVP_FINDING_FENCE, 1, 5, 7, 8 }, "fence", "client 5, family 1: what waits" },
		{ { KVP_FINDING_FENCE, 1, 0, 7, 8 }, "fence", "all clients, family 1: what " },
		{ { KVP_FINDING_SEQ, ~0U, 1ULL << 32, 7, 8 }, "seq", "sequence 4294967296: " },
		{ { KVP_FINDING_SEQ, 1, 9, 7, 8 }, "seq", "sequence 9, family 1: " },
		{ { KVP_FINDING_EXTRA, ~0U, 5, 7, 8 }, "extra", "digest 5: " },
		{ { KVP_FINDING_EXTRA, ~0U, 0xffffffff, 7, 8 }, "extra", "all digests: " },
		{ { 99, ~0U, 5, 7, 8 }, "unknown", "id 5: something that this kvctl has no word" },
	};
	char words[KVCTL_FINDING_LEN];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_str_eq(kvctl_finding_name(cases[i].finding.kind), cases[i].name);
		kvctl_finding_words(&cases[i].finding, words);
		ck_assert_msg(!strncmp(words, cases[i].words, strlen(cases[i].words)),
			      "\"%s\" does not begin with \"%s\"", words, cases[i].words);
	}
}
END_TEST

START_TEST(test_fsck_needs_admin)
{
	expect(KVCTL_FAILED, "fsck views?rights=use");
	has(err, "kvctl fsck: views: ");
	has(err, "EACCES");
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		test_fsck_of_a_sound_pool, test_fsck_finds_damage, test_fsck_words,
		test_fsck_needs_admin,
	};

	return run_all("kvctl fsck", tests, sizeof(tests) / sizeof(tests[0]));
}

// SPDX-License-Identifier: MIT
/*
 * Watching and steering a pool through kvpool.h: the audit's numbers, who is attached, what each
 * block is, limits; and each error that these functions document.
 */
#include <check.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "pools.h"

static struct kvp_pool *pool, *user;
static uint8_t space[KVP_DIGEST_LEN];
static uint32_t tokens[64];

static void setup(void)
{
	pool = kvpr_open("inproc:watch?blocks=16&block_tokens=4&row_bytes=8");
	user = kvpr_open("inproc:watch?rights=use");
	kvpr_space("m", space);
	kvpr_tokens(tokens, 64, 1);
}

static void teardown(void)
{
	kvpr_sound(pool);
	kvp_pool_close(user);
	kvp_pool_close(pool);
}

static uint64_t client_of(struct kvp_pool *of)
{
	struct kvp_pool_info info;

	kvpr_ok(kvp_pool_get_info(of, &info));
	return info.client;
}

/* ---- audit ---- */

START_TEST(test_audit_says_what_it_looked_at)
{
	struct kvp_finding finding;
	struct kvp_audit audit = { .total = 77 };
	uint64_t total = 77;

	kvpr_seq(pool, space, tokens, 8, NULL);
	kvpr_ok(kvp_pool_audit_all(pool, &finding, 1, &audit));
	ck_assert_uint_eq(audit.total, 0);
	ck_assert_uint_eq(audit.nr_findings, 0);
	ck_assert_uint_eq(audit.checked_blocks, 16);
	ck_assert_uint_gt(audit.checked_nodes, 0);
	kvpr_expect(kvp_pool_audit_all(pool, NULL, 0, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_pool_audit_all(pool, NULL, 1, &audit), -EFAULT, KVP_REASON_POINTER);
	kvpr_expect(kvp_pool_audit_all(pool, &finding, KVP_MAX_CALL_BLOCKS + 1, &audit),
		    -EOVERFLOW, KVP_REASON_COUNT);
	audit.total = 77;
	kvpr_expect(kvp_pool_audit_all(user, NULL, 0, &audit), -EACCES, KVP_REASON_RIGHT_ADMIN);
	kvpr_expect(kvp_pool_audit(user, NULL, 0, &total), -EACCES, KVP_REASON_RIGHT_ADMIN);
	ck_assert_uint_eq(audit.total, 77);
	ck_assert_uint_eq(total, 77);
}
END_TEST

/* ---- clients ---- */

START_TEST(test_clients)
{
	struct kvp_client_entry clients[4];
	uint32_t nr = 4, total = 77, mine;

	kvpr_seq(user, space, tokens, 9, NULL);
	kvpr_ok(kvp_pool_clients(pool, clients, &nr, &total));
	ck_assert_uint_eq(nr, 2);
	ck_assert_uint_eq(total, 2);
	mine = clients[0].client == client_of(user) ? 0 : 1;
	ck_assert_uint_eq(clients[mine].client, client_of(user));
	ck_assert_uint_eq(clients[mine].uid, geteuid());
	ck_assert_uint_eq(clients[mine].rights, KVP_RIGHT_USE);
	ck_assert_uint_eq(clients[mine].seqs, 1);
	ck_assert_uint_eq(clients[mine].slots, 3);
	ck_assert_uint_eq(clients[mine].charged, 3);
	ck_assert_uint_eq(clients[!mine].client, client_of(pool));
	ck_assert_uint_eq(clients[!mine].seqs, 0);

	/* Without ADMIN one sees oneself. */
	nr = 4;
	kvpr_ok(kvp_pool_clients(user, clients, &nr, &total));
	ck_assert_uint_eq(nr, 1);
	ck_assert_uint_eq(total, 1);
	ck_assert_uint_eq(clients[0].client, client_of(user));

	nr = 0;
	kvpr_ok(kvp_pool_clients(pool, NULL, &nr, &total));
	ck_assert_uint_eq(nr, 0);
	ck_assert_uint_eq(total, 2);
	nr = 1;
	kvpr_ok(kvp_pool_clients(pool, clients, &nr, NULL));
	ck_assert_uint_eq(nr, 1);
	kvpr_expect(kvp_pool_clients(pool, clients, NULL, &total), -EINVAL, KVP_REASON_POINTER);
	nr = KVP_MAX_CALL_BLOCKS + 1;
	kvpr_expect(kvp_pool_clients(pool, clients, &nr, &total), -EOVERFLOW, KVP_REASON_COUNT);
	ck_assert_uint_eq(nr, KVP_MAX_CALL_BLOCKS + 1);
}
END_TEST

/* ---- blocks ---- */

/* How many blocks there are for each reason. */
static void count_why(uint32_t count[KVP_WHY_RETIRED + 1])
{
	struct kvp_block_entry blocks[5];
	uint64_t cursor = 0, seen = 0;
	uint32_t nr, i;

	memset(count, 0, (KVP_WHY_RETIRED + 1) * sizeof(*count));
	for (;;) {
		nr = 5;
		kvpr_ok(kvp_pool_dump(pool, 0, &cursor, blocks, &nr));
		if (!nr)
			break;
		for (i = 0; i < nr; i++) {
			ck_assert_uint_eq(KVP_BLOCK_INDEX(blocks[i].block), seen++);
			ck_assert_uint_le(blocks[i].why, KVP_WHY_RETIRED);
			count[blocks[i].why]++;
		}
	}
	ck_assert_uint_eq(seen, 16);
}

START_TEST(test_dump)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 10, NULL);
	struct kvp_block_entry entry = { .count = 77 };
	uint32_t count[KVP_WHY_RETIRED + 1], nr = 1;
	uint64_t cursor;

	kvpr_compute(pool, seq, 0, 10, 1);
	kvpr_ok(kvp_publish(pool, seq, NULL));
	count_why(count);
	ck_assert_uint_eq(count[KVP_WHY_SHARED], 2);
	ck_assert_uint_eq(count[KVP_WHY_SEQ], 1);
	ck_assert_uint_eq(count[KVP_WHY_FREE], 13);
	cursor = KVP_BLOCK_INDEX(kvpr_block(pool, seq, 0, 1));
	kvpr_ok(kvp_pool_dump(pool, 0, &cursor, &entry, &nr));
	ck_assert_uint_eq(nr, 1);
	ck_assert_uint_eq(entry.block, kvpr_block(pool, seq, 0, 1));
	ck_assert_uint_eq(entry.parent, kvpr_block(pool, seq, 0, 0));
	ck_assert_uint_eq(entry.client, client_of(pool));
	ck_assert_uint_eq(entry.count, 1);
	ck_assert_uint_eq(entry.depth, 2);
	ck_assert_mem_eq(entry.space, space, KVP_DIGEST_LEN);

	kvpr_ok(kvp_seq_free(pool, seq));
	count_why(count);
	ck_assert_uint_eq(count[KVP_WHY_IDLE], 1);
	ck_assert_uint_eq(count[KVP_WHY_COVERED], 1);
	ck_assert_uint_eq(count[KVP_WHY_FREE], 14);
}
END_TEST

START_TEST(test_dump_refused)
{
	struct kvp_block_entry entry = { .count = 77 };
	uint64_t cursor = 3;
	uint32_t nr = 1;

	kvpr_expect(kvp_pool_dump(pool, 1, &cursor, &entry, &nr), -EINVAL, KVP_REASON_FAMILY);
	kvpr_expect(kvp_pool_dump(pool, 0, NULL, &entry, &nr), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_pool_dump(pool, 0, &cursor, &entry, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_pool_dump(pool, 0, &cursor, NULL, &nr), -EFAULT, KVP_REASON_POINTER);
	nr = 0;
	kvpr_expect(kvp_pool_dump(pool, 0, &cursor, &entry, &nr), -EINVAL, KVP_REASON_COUNT);
	nr = KVP_MAX_CALL_BLOCKS + 1;
	kvpr_expect(kvp_pool_dump(pool, 0, &cursor, &entry, &nr), -EOVERFLOW, KVP_REASON_COUNT);
	ck_assert_uint_eq(nr, KVP_MAX_CALL_BLOCKS + 1);
	ck_assert_uint_eq(cursor, 3);
	ck_assert_uint_eq(entry.count, 77);
}
END_TEST

/* ---- limits ---- */

START_TEST(test_limits_of_a_client)
{
	struct kvp_limit limit = {
		/* Left over from another call: not looked at, but for the flags. */
		.head = { .size = 3, .reason = 9, .where = 9 },
		.client = client_of(user),
		.mask = KVP_LIMIT_SEQS | KVP_LIMIT_MATCHES | KVP_LIMIT_BLOCKS | KVP_LIMIT_GUARANTEE,
		.blocks = 3,
		.guarantee = 2,
		.seqs = 1,
	};
	struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = 13 };
	struct kvp_family_stats family;
	struct kvp_stats stats;
	kvp_match_t match;
	kvp_seq_t seq;

	kvpr_ok(kvp_pool_limit(pool, &limit));
	ck_assert_uint_eq(limit.head.size, 3);
	kvpr_ok(kvp_pool_stats(pool, client_of(user), &stats, &family, 1));
	ck_assert_uint_eq(family.limit, 3);
	ck_assert_uint_eq(family.guaranteed, 2);
	kvpr_expect(kvp_seq_create(user, &prompt, 0, 0, &seq, NULL), -EDQUOT,
		    KVP_REASON_LIMIT_BLOCKS);
	prompt.nr_tokens = 12;
	kvpr_ok(kvp_seq_create(user, &prompt, 0, 0, &seq, NULL));
	kvpr_expect(kvp_seq_create(user, &prompt, 0, 0, &seq, NULL), -EDQUOT,
		    KVP_REASON_LIMIT_SEQS);
	kvpr_expect(kvp_match_hold(user, &prompt, &match, NULL), -EDQUOT,
		    KVP_REASON_LIMIT_MATCHES);

	/* Only what the mask names is set. */
	limit.mask = KVP_LIMIT_SEQS;
	limit.seqs = KVP_UNLIMITED;
	limit.blocks = 99;
	kvpr_ok(kvp_pool_limit(pool, &limit));
	kvpr_expect(kvp_seq_create(user, &prompt, 0, 0, &seq, NULL), -EDQUOT,
		    KVP_REASON_LIMIT_BLOCKS);
}
END_TEST

/* The error says whose limit it is, and a family without the bit that says so. */
START_TEST(test_limits_of_a_uid)
{
	struct kvp_limit limit = {
		.head.flags = KVP_LIMIT_OF_UID,
		.client = geteuid(),
		.mask = KVP_LIMIT_SEQS | KVP_LIMIT_BLOCKS,
		.blocks = 3,
		.seqs = 1,
	};
	struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = 13 };
	struct kvp_family_stats family;
	struct kvp_stats stats;
	kvp_seq_t seq;

	kvpr_ok(kvp_pool_limit(pool, &limit));
	kvpr_expect(kvp_seq_create(user, &prompt, 0, 0, &seq, NULL), -EDQUOT,
		    KVP_REASON_LIMIT_BLOCKS);
	ck_assert_uint_eq(kvp_error()->where, KVP_WHERE_UID);
	ck_assert_str_eq(kvp_error()->text, "seq-create: EDQUOT: over the uid's limit of blocks: expected fewer (family 0)");
	prompt.nr_tokens = 5;
	kvpr_ok(kvp_seq_create(user, &prompt, 0, 0, &seq, NULL));
	kvpr_expect(kvp_seq_create(pool, &prompt, 0, 0, &seq, NULL), -EDQUOT,
		    KVP_REASON_LIMIT_SEQS);
	ck_assert_uint_eq(kvp_error()->where, KVP_WHERE_UID);
	ck_assert_str_eq(kvp_error()->text, "seq-create: EDQUOT: over the uid's limit of sequences: expected fewer");

	kvpr_ok(kvp_pool_uid_stats(pool, geteuid(), &stats, &family, 1));
	ck_assert_uint_eq(stats.seqs, 1);
	ck_assert_uint_eq(stats.nr_clients, 2);
	ck_assert_uint_eq(family.charged, 2);
	ck_assert_uint_eq(family.limit, 3);
	kvpr_expect(kvp_pool_uid_stats(pool, geteuid(), NULL, &family, 1), -EINVAL,
		    KVP_REASON_POINTER);
	kvpr_expect(kvp_pool_uid_stats(user, geteuid() + 1, &stats, NULL, 0), -EACCES,
		    KVP_REASON_RIGHT_ADMIN);
	kvpr_expect(kvp_pool_uid_stats(pool, geteuid() + 1, &stats, NULL, 0), -ENOENT,
		    KVP_REASON_NO_CLIENT);
	limit.head.flags = KVP_LIMIT_FLAGS_ALL + 1;
	kvpr_expect(kvp_pool_limit(pool, &limit), -EINVAL, KVP_REASON_FLAG);
}
END_TEST

START_TEST(test_limits_of_those_who_come)
{
	struct kvp_limit limit = { .mask = KVP_LIMIT_SLOTS, .slots = 1 };
	struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = 5 };
	struct kvp_pool *late;
	kvp_seq_t seq;

	kvpr_ok(kvp_pool_limit(pool, &limit));
	late = kvpr_open("inproc:watch");
	kvpr_expect(kvp_seq_create(late, &prompt, 0, 0, &seq, NULL), -EDQUOT,
		    KVP_REASON_LIMIT_SLOTS);
	kvpr_ok(kvp_seq_create(user, &prompt, 0, 0, &seq, NULL));
	kvp_pool_close(late);
}
END_TEST

START_TEST(test_limits_refused)
{
	struct kvp_limit limit = { .client = client_of(user), .mask = KVP_LIMIT_SEQS };
	struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = 4 };
	kvp_seq_t seq;

	kvpr_expect(kvp_pool_limit(pool, NULL), -EINVAL, KVP_REASON_POINTER);
	kvpr_expect(kvp_pool_limit(user, &limit), -EACCES, KVP_REASON_RIGHT_ADMIN);
	limit.client = 1ULL << 50;
	kvpr_expect(kvp_pool_limit(pool, &limit), -ENOENT, KVP_REASON_NO_CLIENT);
	limit.client = client_of(user);
	limit.mask = KVP_LIMIT_SEQS | (KVP_LIMIT_ALL + 1);
	kvpr_expect(kvp_pool_limit(pool, &limit), -EINVAL, KVP_REASON_VALUE);
	limit.mask = KVP_LIMIT_SEQS | KVP_LIMIT_BLOCKS;
	limit.family = 1;
	kvpr_expect(kvp_pool_limit(pool, &limit), -EINVAL, KVP_REASON_FAMILY);
	limit.mask = KVP_LIMIT_SEQS | KVP_LIMIT_GUARANTEE;
	limit.family = 0;
	limit.guarantee = 17;
	kvpr_expect(kvp_pool_limit(pool, &limit), -EFBIG, KVP_REASON_NEVER_FITS);
	/* None of these set the limit of 0 sequences. */
	kvpr_ok(kvp_seq_create(user, &prompt, 0, 0, &seq, NULL));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("api: watching");
	TCase *tc = tcase_create("watching");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_audit_says_what_it_looked_at);
	tcase_add_test(tc, test_clients);
	tcase_add_test(tc, test_dump);
	tcase_add_test(tc, test_dump_refused);
	tcase_add_test(tc, test_limits_of_a_client);
	tcase_add_test(tc, test_limits_of_a_uid);
	tcase_add_test(tc, test_limits_of_those_who_come);
	tcase_add_test(tc, test_limits_refused);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return kvpr_run(suite());
}

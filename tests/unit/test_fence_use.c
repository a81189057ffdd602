// SPDX-License-Identifier: MIT
/*
 * KVP_OP_USE: what it refuses, with everything as before; many entries, many uses of one
 * sequence, several timelines.
 */
#include <check.h>

#include "fences.h"
#include "unit.h"

#define MANY	600	/* entries: several holds of the core's lock */

static struct kvpt_env env;
static struct kvp_client *a, *b;
static u32 tok[64], t;
static u64 seq;

static void setup(void)
{
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(64, 4) }, 1);
	b = kvpt_join(&env, 1001, KVP_RIGHT_USE | KVP_RIGHT_PUBLISH);
	kvpt_tokens(tok, 64, 1);
	t = kvpt_timeline(a);
	/* 10 of 12 slots have ids, 6 are computed. */
	kvpt_ok(kvpt_create_with(a, &(struct kvp_seq_create){ .reserve = 2 }, 1, tok, 10, &seq));
	kvpt_ok(kvpt_advance(a, seq, 6));
}

static void teardown(void)
{
	kvpt_audit_clean(a);
	kvpt_env_exit(&env);
}

/* Leaves kvpt alone. */
static u64 announced(void)
{
	const union kvpt_arg last = kvpt;
	u64 value = kvpt_fence(a, t, 0).announced;

	kvpt = last;
	return value;
}

/* Refused, and nothing is announced. */
#define refused(expr, err, why, at)						\
do {										\
	u64 was_ = announced();							\
										\
	kvpt_refused(&env, a, expr, err, why, at);				\
	ck_assert_uint_eq(announced(), was_);					\
} while (0)

/* The same where a good entry stands before it. */
#define refused_entry(entry, err, why)						\
do {										\
	const struct kvp_use_entry pair_[] = { KVPT_READ(seq, t, 3), entry };	\
										\
	refused(kvpt_use(a, &pair_[1], 1), err, why, 0);			\
	refused(kvpt_use(a, pair_, 2), err, why, 1);				\
} while (0)

#define ENTRY(...)	((struct kvp_use_entry)__VA_ARGS__)

/* ---- what is refused ---- */

START_TEST(test_counts)
{
	const struct kvp_use_entry entry = KVPT_READ(seq, t, 1);

	refused(kvpt_use(a, NULL, 0), -EINVAL, KVP_REASON_COUNT,
		kvpt_at(struct kvp_use, nr_entries));
	refused(kvpt_use(a, &entry, KVP_MAX_CALL_BLOCKS + 1), -EOVERFLOW, KVP_REASON_COUNT,
		kvpt_at(struct kvp_use, nr_entries));
	refused(kvpt_use(a, NULL, 1), -EFAULT, KVP_REASON_POINTER,
		kvpt_at(struct kvp_use, entries));
}
END_TEST

START_TEST(test_values)
{
	u64 block;

	kvpt_ok(kvpt_alloc(a, 0, 1, &block));
	refused_entry(ENTRY({ .kind = 0, .id = seq, .value = 1, .write_from = KVP_POS_END }),
		      -EINVAL, KVP_REASON_VALUE);
	refused_entry(ENTRY({ .kind = 4, .id = seq, .value = 1, .write_from = KVP_POS_END }),
		      -EINVAL, KVP_REASON_VALUE);
	refused_entry(ENTRY(KVPT_READ(seq, t, KVP_MAX_FENCE)), -EINVAL, KVP_REASON_VALUE);
	refused_entry(ENTRY(KVPT_READ(seq, t, ~0ULL)), -EINVAL, KVP_REASON_VALUE);
	/* Computes, and writes nothing; ends before it begins. */
	refused_entry(ENTRY(KVPT_WRITE(seq, t, 1, KVP_POS_END, 6)), -EINVAL, KVP_REASON_VALUE);
	refused_entry(ENTRY(KVPT_WRITE(seq, t, 1, 6, 5)), -EINVAL, KVP_REASON_VALUE);
	refused_entry(ENTRY(KVPT_WRITE(seq, t, 1, 6, 0)), -EINVAL, KVP_REASON_VALUE);
	/* A block has no rows that are told apart. */
	refused_entry(ENTRY({ .kind = KVP_USE_BLOCK, .id = block, .value = 1, .write_from = 1 }),
		      -EINVAL, KVP_REASON_VALUE);
	refused_entry(ENTRY({ .kind = KVP_USE_BLOCK, .id = block, .value = 1,
			      .write_from = KVP_POS_END }), -EINVAL, KVP_REASON_VALUE);
	refused_entry(ENTRY({ .kind = KVP_USE_BLOCK, .id = block, .value = 1, .computed_to = 1 }),
		      -EINVAL, KVP_REASON_VALUE);
}
END_TEST

START_TEST(test_fences)
{
	refused_entry(ENTRY(KVPT_READ(seq, t + 1, 1)), -ENOENT, KVP_REASON_NO_TIMELINE);
	refused_entry(ENTRY(KVPT_READ(seq, KVP_NR_TIMELINES, 1)), -ENOENT,
		      KVP_REASON_NO_TIMELINE);
	refused_entry(ENTRY(KVPT_READ(seq, ~0U, 1)), -ENOENT, KVP_REASON_NO_TIMELINE);
	refused_entry(ENTRY(KVPT_READ(seq, t, 0)), -EINVAL, KVP_REASON_FENCE_PASSED);
	kvpt_ok(kvpt_use_read(a, seq, t, 2));
	kvpt_pass(a, t, 2);
	refused_entry(ENTRY(KVPT_READ(seq, t, 1)), -EINVAL, KVP_REASON_FENCE_PASSED);
	refused_entry(ENTRY(KVPT_READ(seq, t, 2)), -EINVAL, KVP_REASON_FENCE_PASSED);
	kvpt_ok(kvpt_use_read(a, seq, t, 3));
	/* A client without a timeline. */
	kvpt_refused(&env, a, kvpt_use_read(b, seq, 0, 1), -ENOENT, KVP_REASON_NO_TIMELINE, 0);
}
END_TEST

START_TEST(test_positions)
{
	/* Rows from 6 on are missing. */
	refused_entry(ENTRY(KVPT_WRITE(seq, t, 1, 7, 8)), -EINVAL, KVP_REASON_POSITION);
	ck_assert_uint_eq(kvpt.use.position, 6);
	refused_entry(ENTRY(KVPT_WRITE(seq, t, 1, 40, 40)), -EINVAL, KVP_REASON_POSITION);
	ck_assert_uint_eq(kvpt.use.position, 6);
	refused_entry(ENTRY(KVPT_WRITE(seq, t, 1, 6, 13)), -EINVAL, KVP_REASON_LENGTH);
	ck_assert_uint_eq(kvpt.use.position, 0);
	/* What will be computed counts. */
	kvpt_ok(kvpt_use_write(a, seq, t, 1, 6, 8));
	ck_assert_uint_eq(kvpt.use.position, 0);
	refused_entry(ENTRY(KVPT_WRITE(seq, t, 2, 9, 9)), -EINVAL, KVP_REASON_POSITION);
	ck_assert_uint_eq(kvpt.use.position, 8);
	/* All slots, whether or not their ids are known. */
	kvpt_ok(kvpt_use_write(a, seq, t, 2, 8, 12));
	refused_entry(ENTRY(KVPT_WRITE(seq, t, 3, 12, 13)), -EINVAL, KVP_REASON_LENGTH);
	refused_entry(ENTRY(KVPT_WRITE(seq, t, 3, 13, 13)), -EINVAL, KVP_REASON_POSITION);
	ck_assert_uint_eq(kvpt.use.position, 12);
	/* What a truncate takes away is not computed any more. */
	kvpt_ok(kvpt_truncate(a, seq, 7));
	refused_entry(ENTRY(KVPT_WRITE(seq, t, 3, 8, 8)), -EINVAL, KVP_REASON_POSITION);
	ck_assert_uint_eq(kvpt.use.position, 7);
}
END_TEST

START_TEST(test_positions_within_one_call)
{
	const struct kvp_use_entry gap[] = {
		KVPT_WRITE(seq, t, 1, 6, 8), KVPT_WRITE(seq, t, 1, 9, 10),
	};
	const struct kvp_use_entry steps[] = {
		KVPT_WRITE(seq, t, 1, 6, 8), KVPT_WRITE(seq, t, 2, 8, 10),
	};

	refused(kvpt_use(a, gap, 2), -EINVAL, KVP_REASON_POSITION, 1);
	ck_assert_uint_eq(kvpt.use.position, 8);
	/* A call that failed has prepared nothing for the next one. */
	refused(kvpt_use(a, &steps[1], 1), -EINVAL, KVP_REASON_POSITION, 0);
	ck_assert_uint_eq(kvpt.use.position, 6);
	kvpt_ok(kvpt_use(a, steps, 2));
	kvpt_pass(a, t, 1);
	kvpt_expect_lengths(a, seq, 10, 8, 12, 0);
	kvpt_pass(a, t, 2);
	kvpt_expect_lengths(a, seq, 10, 10, 12, 0);
}
END_TEST

START_TEST(test_published_rows_are_not_written)
{
	u64 pub = kvpt_published(a, 2, tok, 10);

	refused_entry(ENTRY(KVPT_WRITE(pub, t, 1, 0, 10)), -EBUSY, KVP_REASON_SHARED);
	refused_entry(ENTRY(KVPT_WRITE(pub, t, 1, 7, 10)), -EBUSY, KVP_REASON_SHARED);
	refused_entry(ENTRY(KVPT_WRITE(pub, t, 1, 7, 8)), -EBUSY, KVP_REASON_SHARED);
	/* From the end of them on they may be written again. */
	kvpt_ok(kvpt_use_write(a, pub, t, 1, 8, 10));
	/* Reading is no matter. */
	kvpt_ok(kvpt_use_read(a, pub, t, 1));
}
END_TEST

START_TEST(test_rows_of_forks_are_not_written)
{
	u64 child, full = kvpt_computed(a, 2, tok, 8);

	kvpt_ok(kvpt_fork(a, full, 8, &child));
	refused_entry(ENTRY(KVPT_WRITE(full, t, 1, 7, 8)), -EBUSY, KVP_REASON_SHARED);
	refused_entry(ENTRY(KVPT_WRITE(child, t, 1, 0, 8)), -EBUSY, KVP_REASON_SHARED);
	refused_entry(ENTRY(KVPT_WRITE(child, t, 1, 4, 4)), -EBUSY, KVP_REASON_SHARED);
	kvpt_ok(kvpt_use_read(a, full, t, 1));
	/* Its own rows after them are. */
	kvpt_ok(kvpt_append(a, full, tok, 4));
	kvpt_ok(kvpt_use_write(a, full, t, 1, 8, 12));
	/* When it is alone with them it can write. */
	kvpt_ok(kvpt_free(a, child));
	kvpt_ok(kvpt_use_write(a, full, t, 1, 4, 8));
}
END_TEST

START_TEST(test_ids_of_sequences)
{
	struct kvp_use_entry entry = KVPT_READ(seq, t, 1);

	kvpt_refuses_bad_ids(&env, a, a, entry.id, kvpt_use(a, &entry, 1));
	refused_entry(ENTRY(KVPT_READ(1ULL << 32 | 999, t, 1)), -ENOENT, KVP_REASON_NO_SEQ);
	/* That of another client. */
	kvpt_timeline(b);
	kvpt_refused(&env, a, kvpt_use_read(b, seq, 0, 1), -ENOENT, KVP_REASON_NO_SEQ, 0);
}
END_TEST

START_TEST(test_ids_of_blocks)
{
	u64 block, theirs, table[3];

	kvpt_ok(kvpt_alloc(a, 0, 1, &block));
	kvpt_ok(kvpt_alloc(b, 0, 1, &theirs));
	kvpt_expect_table(a, seq, 0, table, 3);
	refused_entry(ENTRY(KVPT_BLOCK(KVP_BLOCK_ID(0, 64, 1), t, 1)), -ENOENT,
		      KVP_REASON_NO_BLOCK);
	refused_entry(ENTRY(KVPT_BLOCK(KVP_BLOCK_ID(1, 0, 1), t, 1)), -ENOENT,
		      KVP_REASON_NO_BLOCK);
	refused_entry(ENTRY(KVPT_BLOCK(KVP_BLOCK_NULL, t, 1)), -ENOENT, KVP_REASON_NO_BLOCK);
	refused_entry(ENTRY(KVPT_BLOCK(block + 1, t, 1)), -ENOENT, KVP_REASON_NO_BLOCK);
	/* A sequence that has it is no raw reference. */
	refused_entry(ENTRY(KVPT_BLOCK(theirs, t, 1)), -EPERM, KVP_REASON_NOT_HELD);
	refused_entry(ENTRY(KVPT_BLOCK(table[0], t, 1)), -EPERM, KVP_REASON_NOT_HELD);
	kvpt_ok(kvpt_unref(a, &block, 1));
	refused_entry(ENTRY(KVPT_BLOCK(block, t, 1)), -ESTALE, KVP_REASON_GENERATION);
}
END_TEST

START_TEST(test_a_count_that_is_used_up)
{
	const struct kvp_use_entry pair[2] = { KVPT_READ(seq, t, 1), KVPT_BLOCK(0, t, 1) };
	struct kvp_use_entry entries[2] = { pair[0], pair[1] };
	struct kvp_block *block;

	kvpt_ok(kvpt_alloc(a, 0, 1, &entries[1].id));
	block = kvpt_block_of(a, entries[1].id);
	ck_assert_int_eq(kvpt_while_set(block->count, U32_MAX, kvpt_use(a, entries, 2)),
			 -EOVERFLOW);
	ck_assert_uint_eq(kvpt.head.reason, KVP_REASON_COUNT);
	ck_assert_uint_eq(kvpt.head.where, 1);
	ck_assert_uint_eq(announced(), 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).uses, 0);
	kvpt_ok(kvpt_use(a, entries, 2));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).uses, 2);
}
END_TEST

START_TEST(test_while_another_call_works_on_it)
{
	u64 other = kvpt_computed(a, 2, tok, 4);
	const struct kvp_use_entry pair[] = { KVPT_READ(other, t, 1), KVPT_READ(seq, t, 1) };
	const struct kvp_use_entry three[] = { pair[0], pair[0], pair[1] };

	ck_assert_int_eq(kvpt_while_busy(a, seq, kvpt_use(a, pair, 2)), -EBUSY);
	ck_assert_uint_eq(kvpt.head.reason, KVP_REASON_SEQ_BUSY);
	ck_assert_uint_eq(kvpt.head.where, 1);
	ck_assert_int_eq(kvpt_while_busy(a, seq, kvpt_use(a, three, 3)), -EBUSY);
	ck_assert_uint_eq(kvpt.head.where, 2);
	ck_assert_uint_eq(announced(), 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).uses, 0);
	/* The one before it is free again. */
	kvpt_ok(kvpt_append(a, other, tok, 1));
	kvpt_ok(kvpt_use(a, pair, 2));
}
END_TEST

START_TEST(test_no_metadata_left)
{
	struct kvp_use_entry entries[8];
	u64 block;
	u32 i;

	kvpt_ok(kvpt_alloc(a, 0, 1, &block));
	for (i = 0; i < 8; i++)
		entries[i] = ENTRY(KVPT_READ(seq, t, i + 1));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_METADATA, 0,
			   kvpt_counters_of(a, KVP_STATS_SELF).metadata_bytes));
	/* A few uses need none. */
	kvpt_ok(kvpt_use(a, entries, 4));
	refused(kvpt_use(a, &entries[4], 1), -EDQUOT, KVP_REASON_LIMIT_METADATA, 0);
	refused(kvpt_use_block(a, block, t, 1), -EDQUOT, KVP_REASON_LIMIT_METADATA, 0);
	refused(kvpt_use(a, entries, 8), -EDQUOT, KVP_REASON_LIMIT_METADATA, 0);
	kvpt_pass(a, t, 4);
	kvpt_ok(kvpt_use(a, &entries[4], 4));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_METADATA, 0, KVP_UNLIMITED));
	kvpt_ok(kvpt_limit_uid(a, KVPT_OWNER, KVP_LIMIT_METADATA, 0, 0));
	refused(kvpt_use_block(a, block, t, 5), -EDQUOT, KVP_REASON_LIMIT_METADATA, KVP_WHERE_UID);
}
END_TEST

/* ---- all or nothing ---- */

START_TEST(test_failure_after_memory_was_made)
{
	struct kvp_use_entry entries[12];
	u32 i;

	/* Room for more uses, and references on a block, before an entry that is wrong. */
	for (i = 0; i < 11; i++)
		entries[i] = ENTRY(KVPT_READ(seq, t, i + 1));
	kvpt_ok(kvpt_alloc(a, 0, 1, &entries[9].id));
	entries[9].kind = KVP_USE_BLOCK;
	entries[9].write_from = 0;
	entries[11] = ENTRY(KVPT_READ(seq, t + 1, 1));
	refused(kvpt_use(a, entries, 12), -ENOENT, KVP_REASON_NO_TIMELINE, 11);
	kvpt_ok(kvpt_use(a, entries, 11));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).uses, 11);
	refused(kvpt_use(a, entries, 12), -ENOENT, KVP_REASON_NO_TIMELINE, 11);
}
END_TEST

START_TEST(test_many_entries)
{
	static struct kvp_use_entry entries[MANY];
	u64 seqs[MANY / 2], blocks[8];
	u32 i;

	kvpt_ok(kvpt_alloc(a, 0, 8, blocks));
	for (i = 0; i < MANY / 2; i++) {
		kvpt_ok(kvpt_create(a, 2, NULL, 0, &seqs[i]));
		entries[2 * i] = ENTRY(KVPT_READ(seqs[i], t, 1 + i % 7));
		entries[2 * i + 1] = ENTRY(KVPT_BLOCK(blocks[i % 8], t, 1 + i % 5));
	}
	entries[MANY - 1].value = KVP_MAX_FENCE;
	refused(kvpt_use(a, entries, MANY), -EINVAL, KVP_REASON_VALUE, MANY - 1);
	entries[MANY - 1].value = 1;
	kvpt_ok(kvpt_use(a, entries, MANY));
	ck_assert_uint_eq(announced(), 7);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).uses, MANY);
	/* 300 references on 8 blocks, beside those that the client has. */
	ck_assert_uint_eq(kvpt_count(a, blocks[0]), 1 + 38);
	ck_assert_uint_eq(kvpt_count(a, blocks[7]), 1 + 37);
	kvpt_audit_clean(a);
	kvpt_pass(a, t, 3);
	kvpt_ok(kvpt_audit(a, NULL, 0));
	kvpt_pass(a, t, 7);
	kvpt_ok(kvpt_unref(a, blocks, 8));
	for (i = 0; i < MANY / 2; i++)
		kvpt_ok(kvpt_free(a, seqs[i]));
	kvpt_ok(kvpt_query(a, NULL, 0));
	kvpt_ok(kvpt_alloc(a, 0, 61, (u64[64]){ }));
	kvpt_expect_blocks(a, 0, 0, 64, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).uses, 0);
}
END_TEST

/* ---- several uses of one sequence ---- */

START_TEST(test_one_sequence_with_several_timelines)
{
	u32 u = kvpt_timeline(a);
	const struct kvp_use_entry entries[] = {
		KVPT_READ(seq, t, 2), KVPT_READ(seq, u, 1), KVPT_WRITE(seq, t, 1, 6, 10),
	};
	u64 blocks[61];

	kvpt_ok(kvpt_use(a, entries, 3));
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).uses, 3);
	kvpt_ok(kvpt_alloc(b, 0, 61, blocks));
	kvpt_pass(a, t, 1);
	kvpt_expect_lengths(a, seq, 10, 10, 12, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).uses, 2);
	kvpt_ok(kvpt_free(a, seq));
	/* Both of the others hold it back. */
	kvpt_pass(a, t, 2);
	kvpt_refused(&env, a, kvpt_alloc(b, 0, 3, blocks), -ENOSPC, KVP_REASON_HELD_BACK, 0);
	kvpt_pass(a, u, 1);
	kvpt_ok(kvpt_alloc(b, 0, 3, blocks));
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).uses, 0);
}
END_TEST

START_TEST(test_values_need_not_be_in_order)
{
	u64 blocks[61];

	kvpt_ok(kvpt_alloc(b, 0, 61, blocks));
	kvpt_ok(kvpt_use_read(a, seq, t, 9));
	kvpt_ok(kvpt_use_write(a, seq, t, 4, 6, 8));
	kvpt_ok(kvpt_use_write(a, seq, t, 2, 8, 10));
	ck_assert_uint_eq(announced(), 9);
	kvpt_pass(a, t, 2);
	kvpt_expect_lengths(a, seq, 10, 6, 12, 0);
	kvpt_pass(a, t, 4);
	kvpt_expect_lengths(a, seq, 10, 10, 12, 0);
	kvpt_ok(kvpt_free(a, seq));
	kvpt_expect(kvpt_alloc(b, 0, 1, blocks), -ENOSPC, KVP_REASON_HELD_BACK);
	kvpt_pass(a, t, 9);
	kvpt_ok(kvpt_alloc(b, 0, 3, blocks));
}
END_TEST

/* One token of each of @nr uses, on @timelines timelines in turn. */
static u64 long_sequence(u32 nr, u32 timelines)
{
	u64 made;
	u32 i;

	kvpt_ok(kvpt_create_with(a, &(struct kvp_seq_create){ .reserve = 244 }, 3, NULL, 0,
				 &made));
	while (kvpt_timeline(a) < timelines - 1)
		;
	for (i = 0; i < nr; i++)
		kvpt_ok(kvpt_use_write(a, made, i % timelines, i / timelines + 1, i, i + 1));
	return made;
}

START_TEST(test_more_uses_than_at_hand)
{
	const u32 nr = 100;
	u64 made = long_sequence(nr, 2);
	u32 ids[128], i;

	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).uses, nr);
	kvpt_tokens(ids, 128, 9);
	kvpt_ok(kvpt_set_tokens(a, made, ids, 128));
	for (i = 0; i < nr; i += 10) {
		kvpt_pass(a, i % 2, i / 2 + 1);
		kvpt_pass(a, 1 - i % 2, i / 2);
		kvpt_expect_lengths(a, made, 128, i + 1, 244, 0);
		ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).uses, nr - i - 1);
	}
	kvpt_audit_clean(a);
}
END_TEST

START_TEST(test_more_uses_than_are_told_apart)
{
	u32 ids[244], i;
	u64 made;

	kvpt_env_exit(&env);
	kvpt_env_init(&env);
	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(80, 4) }, 1);
	kvpt_ok(kvpt_create_with(a, &(struct kvp_seq_create){ .reserve = 320 }, 3, NULL, 0,
				 &made));
	kvpt_timeline(a);
	kvpt_tokens(ids, 244, 9);
	/* As many as are told apart: each counts alone. */
	for (i = 0; i < KVP_MAX_USES; i++)
		kvpt_ok(kvpt_use_write(a, made, 0, i + 1, i, i + 1));
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).uses, KVP_MAX_USES);
	kvpt_ok(kvpt_set_tokens(a, made, ids, 244));
	kvpt_pass(a, 0, 10);
	kvpt_expect_lengths(a, made, 244, 10, 320, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).uses, KVP_MAX_USES - 10);
	for (; i < KVP_MAX_USES + 44; i++)
		kvpt_ok(kvpt_use_write(a, made, 0, i + 1, i, i + 1));
	ck_assert_uint_le(kvpt_counters_of(a, KVP_STATS_SELF).uses, KVP_MAX_USES);
	kvpt_audit_clean(a);
	/* Some count as one now: never too early, and all with the last. */
	for (i = 10; i < 299; i++) {
		kvpt_pass(a, 0, i);
		kvpt_ok(kvpt_table(a, made, 0, NULL, 0));
		ck_assert_uint_le(kvpt.table.nr_computed, i);
	}
	ck_assert_uint_ge(kvpt_counters_of(a, KVP_STATS_SELF).uses, 1);
	kvpt_ok(kvpt_free(a, made));
	kvpt_expect(kvpt_alloc(a, 0, 80, (u64[80]){ }), -ENOSPC, KVP_REASON_HELD_BACK);
	kvpt_pass(a, 0, 300);
	kvpt_ok(kvpt_alloc(a, 0, 80, (u64[80]){ }));
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).uses, 0);
}
END_TEST

START_TEST(test_a_full_sequence_takes_every_timeline)
{
	u32 i, of;
	u64 made;

	kvpt_ok(kvpt_create(a, 3, tok, 8, &made));
	for (i = 1; i < KVP_NR_TIMELINES; i++)
		kvpt_timeline(a);
	/* One timeline fills it; then come the others, and all of them again. */
	for (i = 0; i < KVP_MAX_USES; i++)
		kvpt_ok(kvpt_use_read(a, made, 0, i + 1));
	for (of = 0; of < 8; of++)
		for (i = 1; i < KVP_NR_TIMELINES; i++)
			kvpt_ok(kvpt_use_read(a, made, i, of + 1));
	ck_assert_uint_le(kvpt_counters_of(a, KVP_STATS_SELF).uses, KVP_MAX_USES);
	kvpt_audit_clean(a);
	kvpt_ok(kvpt_free(a, made));
	kvpt_ok(kvpt_alloc(b, 0, 59, (u64[64]){ }));
	/* Any one of them that is open holds it back. */
	for (i = 0; i < KVP_NR_TIMELINES - 1; i++) {
		kvpt_pass(a, i, i ? 8 : KVP_MAX_USES);
		kvpt_expect(kvpt_alloc(b, 0, 1, (u64[1]){ }), -ENOSPC, KVP_REASON_HELD_BACK);
	}
	kvpt_pass(a, i, 7);
	kvpt_expect(kvpt_alloc(b, 0, 1, (u64[1]){ }), -ENOSPC, KVP_REASON_HELD_BACK);
	kvpt_pass(a, i, 8);
	kvpt_ok(kvpt_alloc(b, 0, 2, (u64[2]){ }));
}
END_TEST

START_TEST(test_one_fence_for_what_reads_and_what_writes)
{
	const struct kvp_use_entry reads_first[] = {
		KVPT_READ(seq, t, 1), KVPT_WRITE(seq, t, 1, 6, 8),
	};
	const struct kvp_use_entry writes_first[] = {
		KVPT_WRITE(seq, t, 2, 6, 8), KVPT_WRITE(seq, t, 2, 4, 6), KVPT_READ(seq, t, 2),
	};

	/* As one use they write what each of them does, and have computed it. */
	kvpt_ok(kvpt_use(a, reads_first, 2));
	refused(kvpt_advance(a, seq, 7), -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	kvpt_pass(a, t, 1);
	kvpt_expect_lengths(a, seq, 10, 8, 12, 0);
	kvpt_ok(kvpt_use(a, writes_first, 3));
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 4);
	kvpt_pass(a, t, 2);
	kvpt_ok(kvpt_publish(a, seq));
	ck_assert_uint_eq(kvpt.publish.published, 8);
}
END_TEST

START_TEST(test_the_same_again_costs_nothing_more)
{
	static struct kvp_use_entry entries[MANY];
	u32 i;

	for (i = 0; i < MANY; i++)
		entries[i] = ENTRY(KVPT_READ(seq, t, 1));
	kvpt_ok(kvpt_use(a, entries, MANY));
	ck_assert_uint_le(kvpt_counters_of(a, KVP_STATS_SELF).uses, KVP_MAX_USES);
	ck_assert_uint_ge(kvpt_counters_of(a, KVP_STATS_SELF).uses, 1);
	kvpt_pass(a, t, 1);
	kvpt_ok(kvpt_table(a, seq, 0, NULL, 0));
	ck_assert_uint_eq(kvpt_counters_of(a, KVP_STATS_SELF).uses, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fence_use");
	TCase *tc = tcase_create("fence_use");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_counts);
	tcase_add_test(tc, test_values);
	tcase_add_test(tc, test_fences);
	tcase_add_test(tc, test_positions);
	tcase_add_test(tc, test_positions_within_one_call);
	tcase_add_test(tc, test_published_rows_are_not_written);
	tcase_add_test(tc, test_rows_of_forks_are_not_written);
	tcase_add_test(tc, test_ids_of_sequences);
	tcase_add_test(tc, test_ids_of_blocks);
	tcase_add_test(tc, test_a_count_that_is_used_up);
	tcase_add_test(tc, test_while_another_call_works_on_it);
	tcase_add_test(tc, test_no_metadata_left);
	tcase_add_test(tc, test_failure_after_memory_was_made);
	tcase_add_test(tc, test_many_entries);
	tcase_add_test(tc, test_one_sequence_with_several_timelines);
	tcase_add_test(tc, test_values_need_not_be_in_order);
	tcase_add_test(tc, test_more_uses_than_at_hand);
	tcase_add_test(tc, test_more_uses_than_are_told_apart);
	tcase_add_test(tc, test_a_full_sequence_takes_every_timeline);
	tcase_add_test(tc, test_one_fence_for_what_reads_and_what_writes);
	tcase_add_test(tc, test_the_same_again_costs_nothing_more);
	suite_add_tcase(suite, tc);
	return kvpt_run(suite);
}

// SPDX-License-Identifier: MIT
/*
 * Raw references: each refusal of KVP_OP_BLOCK_ALLOC, REF, UNREF and MAKE_PRIVATE alone, and
 * that it changes nothing.
 */
#include "raw.h"

/* Any call of ref or unref, with fields that the helpers leave alone. */
static int refs_with(u32 op, u32 flags, u32 reserved, u64 holder, u64 first)
{
	struct kvp_block_refs *arg = &kvpt.block_refs;

	memset(&kvpt, 0, sizeof(kvpt));
	arg->head.flags = flags;
	arg->blocks = (u64)(uintptr_t)ids;
	arg->nr = 1;
	arg->reserved = reserved;
	arg->holder = holder;
	arg->first = first;
	return kvpt_do(a, op, arg);
}

/* ---- refusals: alloc ---- */

static int alloc_with(u32 flags, const u64 *blocks, u32 nr, u32 family)
{
	struct kvp_block_alloc *arg = &kvpt.block_alloc;

	memset(&kvpt, 0, sizeof(kvpt));
	arg->head.flags = flags;
	arg->blocks = (u64)(uintptr_t)blocks;
	arg->nr = nr;
	arg->family = family;
	return kvpt_do(a, KVP_OP_BLOCK_ALLOC, arg);
}

START_TEST(test_alloc_malformed)
{
	kvpt_refused(&env, a, alloc_with(1, ids, 1, 0), -EINVAL, KVP_REASON_FLAG, 0);
	kvpt_refused(&env, a, alloc_with(0, ids, 0, 0), -EINVAL, KVP_REASON_COUNT,
		     kvpt_at(struct kvp_block_alloc, nr));
	kvpt_refused(&env, a, alloc_with(0, ids, KVP_MAX_CALL_BLOCKS + 1, 0), -EOVERFLOW,
		     KVP_REASON_COUNT, kvpt_at(struct kvp_block_alloc, nr));
	kvpt_refused(&env, a, alloc_with(0, NULL, 1, 0), -EFAULT, KVP_REASON_POINTER,
		     kvpt_at(struct kvp_block_alloc, blocks));
	kvpt_refused(&env, a, alloc_with(0, ids, 1, 2), -EINVAL, KVP_REASON_FAMILY, 2);
	kvpt_refused(&env, a, alloc_with(0, ids, 1, ~0U), -EINVAL, KVP_REASON_FAMILY, ~0U);
}
END_TEST

START_TEST(test_alloc_without_a_pool)
{
	struct kvp_client *c = kvpt_open(&env, 1002);

	kvpt_refused(&env, a, kvpt_alloc(c, 0, 1, ids), -EBUSY, KVP_REASON_NOT_ATTACHED, 0);
	kvpt_close(&env, c);
}
END_TEST

START_TEST(test_alloc_without_the_right)
{
	struct kvp_client *c = kvpt_join(&env, KVPT_OWNER, KVP_RIGHT_ADMIN);

	kvpt_refused(&env, a, kvpt_alloc(c, 0, 1, ids), -EACCES, KVP_REASON_RIGHT_USE, 0);
	kvpt_refused(&env, a, kvpt_ref(c, ids, 1), -EACCES, KVP_REASON_RIGHT_USE, 0);
	kvpt_refused(&env, a, kvpt_unref(c, ids, 1), -EACCES, KVP_REASON_RIGHT_USE, 0);
	kvpt_refused(&env, a, kvpt_make_private(c, 1, ids), -EACCES, KVP_REASON_RIGHT_USE, 0);
}
END_TEST

START_TEST(test_alloc_more_than_there_is)
{
	kvpt_refused(&env, a, kvpt_alloc(a, 0, 17, ids), -EFBIG, KVP_REASON_NEVER_FITS, 0);
	kvpt_ok(kvpt_alloc(b, 0, 10, ids));
	kvpt_refused(&env, a, kvpt_alloc(a, 0, 7, ids), -ENOSPC, KVP_REASON_POOL_FULL, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).refused_room, 1);
	kvpt_ok(kvpt_alloc(a, 0, 6, ids));
}
END_TEST

START_TEST(test_alloc_where_references_keep_idle_blocks)
{
	u64 match = matched_blocks(a, 8);

	kvpt_refused(&env, a, kvpt_alloc(a, 0, 9, ids), -ENOSPC, KVP_REASON_COVERED, 0);
	kvpt_ok(kvpt_release(a, match));
	kvpt_ok(kvpt_alloc(a, 0, 9, ids));
}
END_TEST

START_TEST(test_alloc_what_is_guaranteed_to_others)
{
	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_GUARANTEE, 0, 6));
	kvpt_refused(&env, a, kvpt_alloc(a, 0, 11, ids), -ENOSPC, KVP_REASON_GUARANTEED, 0);
	kvpt_ok(kvpt_alloc(a, 0, 10, ids));
	kvpt_ok(kvpt_alloc(b, 0, 6, ids));
}
END_TEST

START_TEST(test_alloc_over_the_limit_of_blocks)
{
	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_BLOCKS, 0, 6));
	kvpt_refused(&env, a, kvpt_alloc(b, 0, 7, ids), -EDQUOT, KVP_REASON_LIMIT_BLOCKS, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).refused_limit, 1);
	kvpt_ok(kvpt_alloc(b, 0, 6, ids));
}
END_TEST

START_TEST(test_alloc_over_the_limit_of_references)
{
	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_RAW, 0, 6));
	kvpt_refused(&env, a, kvpt_alloc(b, 0, 7, ids), -EDQUOT, KVP_REASON_LIMIT_RAW, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).refused_limit, 1);
	kvpt_ok(kvpt_alloc(b, 0, 6, ids));
}
END_TEST

START_TEST(test_alloc_over_the_limit_of_metadata)
{
	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_METADATA, 0, 64));
	kvpt_refused(&env, a, kvpt_alloc(b, 0, 1, ids), -EDQUOT, KVP_REASON_LIMIT_METADATA, 0);
	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_METADATA, 0, 65536));
	kvpt_ok(kvpt_alloc(b, 0, 1, ids));
}
END_TEST

START_TEST(test_alloc_without_memory)
{
	kvpt_refused(&env, a, kvpt_while_set(kvp_shim_fail_alloc, 1, kvpt_alloc(a, 0, 1, ids)),
		     -ENOMEM, KVP_REASON_MEMORY, 0);
}
END_TEST

/* The table must grow for a call that then finds no room: it is as it was. */
START_TEST(test_a_refused_alloc_leaves_the_table_alone)
{
	static u64 many[4096];

	remake((struct kvp_family_desc)KVPT_DENSE(4096, 4));
	kvpt_ok(kvpt_alloc(a, 0, 10, ids));
	kvpt_ok(kvpt_alloc(b, 0, 10, ids));
	kvpt_refused(&env, a, kvpt_alloc(a, 0, 4090, many), -ENOSPC, KVP_REASON_POOL_FULL, 0);
}
END_TEST

/* ---- refusals: ref ---- */

START_TEST(test_refs_malformed)
{
	u32 nr = kvpt_at(struct kvp_block_refs, nr);
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 4, &seq));
	kvpt_ok(kvpt_alloc(a, 0, 1, ids));
	kvpt_refused(&env, a, kvpt_ref(a, ids, 0), -EINVAL, KVP_REASON_COUNT, nr);
	kvpt_refused(&env, a, kvpt_unref(a, ids, 0), -EINVAL, KVP_REASON_COUNT, nr);
	kvpt_refused(&env, a, kvpt_ref(a, ids, KVP_MAX_CALL_BLOCKS + 1), -EOVERFLOW,
		     KVP_REASON_COUNT, nr);
	kvpt_refused(&env, a, kvpt_unref(a, ids, KVP_MAX_CALL_BLOCKS + 1), -EOVERFLOW,
		     KVP_REASON_COUNT, nr);
	kvpt_refused(&env, a, refs_with(KVP_OP_BLOCK_REF, 2, 0, seq, 0), -EINVAL,
		     KVP_REASON_FLAG, 0);
	kvpt_refused(&env, a, refs_with(KVP_OP_BLOCK_UNREF, 1, 0, 0, 0), -EINVAL,
		     KVP_REASON_FLAG, 0);
	kvpt_refused(&env, a, refs_with(KVP_OP_BLOCK_REF, KVP_BLOCK_REF_MATCH, 0, 0, 0), -EINVAL,
		     KVP_REASON_FLAG, 0);
}
END_TEST

START_TEST(test_refs_with_reserved_fields)
{
	u32 reserved = kvpt_at(struct kvp_block_refs, reserved);
	u32 holder = kvpt_at(struct kvp_block_refs, holder);
	u32 first = kvpt_at(struct kvp_block_refs, first);

	kvpt_ok(kvpt_alloc(a, 0, 1, ids));
	kvpt_refused(&env, a, refs_with(KVP_OP_BLOCK_REF, 0, 1, 0, 0), -EINVAL,
		     KVP_REASON_RESERVED, reserved);
	kvpt_refused(&env, a, refs_with(KVP_OP_BLOCK_UNREF, 0, 1, 0, 0), -EINVAL,
		     KVP_REASON_RESERVED, reserved);
	kvpt_refused(&env, a, refs_with(KVP_OP_BLOCK_REF, 0, 0, 0, 1), -EINVAL,
		     KVP_REASON_RESERVED, first);
	kvpt_refused(&env, a, refs_with(KVP_OP_BLOCK_UNREF, 0, 0, 1, 0), -EINVAL,
		     KVP_REASON_RESERVED, holder);
	kvpt_refused(&env, a, refs_with(KVP_OP_BLOCK_UNREF, 0, 0, 0, 1), -EINVAL,
		     KVP_REASON_RESERVED, first);
}
END_TEST

/* Ids that no call takes: @expr names ids[1]. */
#define refuses_bad_blocks(expr)						\
do {										\
	kvpt_ok(kvpt_alloc(a, 0, 3, ids));					\
	kvpt_ok(kvpt_alloc(b, 0, 1, &ids[1]));					\
	kvpt_refused(&env, a, expr, -EPERM, KVP_REASON_NOT_HELD, 1);		\
	kvpt_ok(kvpt_unref(b, &ids[1], 1));					\
	kvpt_refused(&env, a, expr, -ESTALE, KVP_REASON_GENERATION, 1);		\
	ids[1]++;								\
	kvpt_refused(&env, a, expr, -ENOENT, KVP_REASON_NO_BLOCK, 1);		\
	ids[1] = KVP_BLOCK_ID(0, 16, 1);					\
	kvpt_refused(&env, a, expr, -ENOENT, KVP_REASON_NO_BLOCK, 1);		\
	ids[1] = KVP_BLOCK_ID(2, 0, 1);						\
	kvpt_refused(&env, a, expr, -ENOENT, KVP_REASON_NO_BLOCK, 1);		\
	ids[1] = KVP_BLOCK_ID(0, 0, 0) | 1ULL << KVP_BLOCK_INDEX_SHIFT;		\
	kvpt_refused(&env, a, expr, -ENOENT, KVP_REASON_NO_BLOCK, 1);		\
} while (0)

START_TEST(test_ref_of_what_is_not_held)
{
	refuses_bad_blocks(kvpt_ref(a, ids, 3));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).underflow_rejected, 0);
}
END_TEST

START_TEST(test_ref_over_the_limit_of_references)
{
	kvpt_ok(kvpt_alloc(b, 0, 3, ids));
	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_RAW, 0, 5));
	kvpt_refused(&env, a, kvpt_ref(b, ids, 3), -EDQUOT, KVP_REASON_LIMIT_RAW, 0);
	kvpt_ok(kvpt_ref(b, ids, 2));
}
END_TEST

START_TEST(test_ref_where_a_count_is_exhausted)
{
	u64 match, path[4];

	kvpt_ok(kvpt_alloc(a, 0, 3, ids));
	kvpt_refused(&env, a, kvpt_while_set(kvpt_block_of(a, ids[2])->count, U32_MAX,
					     kvpt_ref(a, ids, 3)),
		     -EOVERFLOW, KVP_REASON_COUNT, 2);

	match = matched_blocks(a, 4);
	memcpy(path, ids, sizeof(path));
	kvpt_ok(ref_match(a, match, 1, &path[1], 1));
	kvpt_refused(&env, a, kvpt_while_set(kvpt_block_of(a, path[1])->count, U32_MAX,
					     ref_match(a, match, 0, path, 4)),
		     -EOVERFLOW, KVP_REASON_COUNT, 1);
}
END_TEST

START_TEST(test_ref_of_an_unknown_sequence)
{
	u64 seq;

	kvpt_ok(kvpt_alloc(a, 0, 1, ids));
	kvpt_refuses_bad_ids(&env, a, a, seq, kvpt_ref_from(a, seq ? seq : 1, 0, ids, 1));
}
END_TEST

START_TEST(test_ref_of_a_busy_sequence)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 4, &seq));
	kvpt_ok(kvpt_table(a, seq, 0, ids, 1));
	kvpt_refused(&env, a, kvpt_while_busy(a, seq, kvpt_ref_from(a, seq, 0, ids, 1)), -EBUSY,
		     KVP_REASON_SEQ_BUSY, 0);
}
END_TEST

START_TEST(test_ref_of_what_a_sequence_does_not_name)
{
	u64 seq, wrong;

	kvpt_ok(kvpt_create(a, 1, tok, 12, &seq));
	kvpt_ok(kvpt_table(a, seq, 0, ids, 3));
	kvpt_refused(&env, a, kvpt_ref_from(a, seq, 1, ids, 2), -EPERM, KVP_REASON_NOT_HELD, 0);
	kvpt_refused(&env, a, kvpt_ref_from(a, seq, 3, ids, 1), -EPERM, KVP_REASON_NOT_HELD, 0);
	kvpt_refused(&env, a, kvpt_ref_from(a, seq, ~0ULL, ids, 1), -EPERM, KVP_REASON_NOT_HELD,
		     0);
	ids[3] = ids[2];
	kvpt_refused(&env, a, kvpt_ref_from(a, seq, 0, ids, 4), -EPERM, KVP_REASON_NOT_HELD, 3);
	wrong = ids[2];
	ids[2]++;
	kvpt_refused(&env, a, kvpt_ref_from(a, seq, 0, ids, 3), -ENOENT, KVP_REASON_NO_BLOCK, 2);
	ids[2] = wrong;
	kvpt_ok(kvpt_alloc(a, 1, 1, &ids[1]));
	kvpt_refused(&env, a, kvpt_ref_from(a, seq, 0, ids, 3), -EINVAL, KVP_REASON_FAMILY, 1);
	ids[0] = KVP_BLOCK_ID(5, 1, 1);
	kvpt_refused(&env, a, kvpt_ref_from(a, seq, 0, ids, 1), -EINVAL, KVP_REASON_FAMILY, 0);
}
END_TEST

START_TEST(test_ref_of_what_a_window_released)
{
	u64 seq;

	kvpt_env_exit(&env);
	make((struct kvp_family_desc[]){ KVPT_DENSE(16, 4), KVPT_WINDOW(16, 4, 6) }, 2);
	kvpt_ok(kvpt_create(a, 1, tok, 16, &seq));
	kvpt_ok(kvpt_table(a, seq, 1, ids, 4));
	kvpt_ok(kvpt_advance(a, seq, 16));
	kvpt_refused(&env, a, kvpt_ref_from(a, seq, 0, ids, 1), -ESTALE, KVP_REASON_GENERATION,
		     0);
	kvpt_ok(kvpt_alloc(b, 1, 16 - 2, &ids[4]));
	kvpt_refused(&env, a, kvpt_ref_from(a, seq, 0, &ids[4], 1), -EPERM, KVP_REASON_NOT_HELD,
		     0);
	kvpt_ok(kvpt_ref_from(a, seq, 2, &ids[2], 2));
}
END_TEST

START_TEST(test_ref_of_an_unknown_match)
{
	u64 match = matched_blocks(a, 2);

	kvpt_refused(&env, a, ref_match(a, match + 77, 0, ids, 2), -ENOENT, KVP_REASON_NO_MATCH,
		     0);
	kvpt_refused(&env, a, ref_match(b, match, 0, ids, 2), -ENOENT, KVP_REASON_NO_MATCH, 0);
	kvpt_ok(kvpt_release(a, match));
	kvpt_refused(&env, a, ref_match(a, match, 0, ids, 2), -ESTALE, KVP_REASON_GENERATION, 0);
}
END_TEST

START_TEST(test_ref_of_what_a_match_does_not_name)
{
	u64 match = matched_blocks(a, 3);

	kvpt_refused(&env, a, ref_match(a, match, 1, ids, 2), -EPERM, KVP_REASON_NOT_HELD, 1);
	kvpt_refused(&env, a, ref_match(a, match, 3, ids, 1), -EPERM, KVP_REASON_NOT_HELD, 0);
	kvpt_refused(&env, a, ref_match(a, match, ~0ULL, ids, 1), -EPERM, KVP_REASON_NOT_HELD, 0);
	ids[0] = ids[1];
	kvpt_refused(&env, a, ref_match(a, match, 0, ids, 3), -EPERM, KVP_REASON_NOT_HELD, 0);
}
END_TEST

START_TEST(test_ref_of_idle_blocks_over_the_limit)
{
	u64 match = matched_blocks(b, 3);

	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_BLOCKS, 0, 2));
	kvpt_refused(&env, a, ref_match(b, match, 0, ids, 3), -EDQUOT, KVP_REASON_LIMIT_BLOCKS,
		     0);
	kvpt_ok(ref_match(b, match, 1, &ids[1], 2));
}
END_TEST

START_TEST(test_ref_of_idle_blocks_that_are_guaranteed_to_others)
{
	u64 match = matched_blocks(b, 3);

	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_GUARANTEE, 0, 14));
	kvpt_refused(&env, a, ref_match(b, match, 0, ids, 3), -ENOSPC, KVP_REASON_GUARANTEED, 0);
	kvpt_ok(ref_match(b, match, 1, &ids[1], 2));
}
END_TEST

START_TEST(test_ref_with_a_holder_needs_metadata)
{
	u64 match = matched_blocks(b, 3);
	u64 has = kvpt_counters_of(b, KVP_STATS_SELF).metadata_bytes;

	kvpt_refused(&env, a, kvpt_while_set(kvp_shim_fail_alloc, 1,
					     ref_match(b, match, 0, ids, 3)),
		     -ENOMEM, KVP_REASON_MEMORY, 0);
	kvpt_ok(kvpt_limit(a, kvpt_client_id(b), KVP_LIMIT_METADATA, 0, has));
	kvpt_refused(&env, a, ref_match(b, match, 0, ids, 3), -EDQUOT,
		     KVP_REASON_LIMIT_METADATA, 0);
}
END_TEST

/* ---- refusals: unref ---- */

START_TEST(test_unref_of_what_is_not_held)
{
	refuses_bad_blocks(kvpt_unref(a, ids, 3));
	ck_assert_uint_eq(kvpt_counters_of(a, 0).underflow_rejected, 2);
}
END_TEST

START_TEST(test_unref_more_often_than_held)
{
	u64 same[3];

	kvpt_ok(kvpt_alloc(a, 0, 2, ids));
	kvpt_ok(kvpt_ref(a, ids, 1));
	same[0] = ids[0];
	same[1] = ids[0];
	same[2] = ids[0];
	kvpt_refused(&env, a, kvpt_unref(a, same, 3), -EINVAL, KVP_REASON_DUPLICATE, 2);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).underflow_rejected, 1);
	kvpt_ok(kvpt_unref(a, same, 2));
	kvpt_ok(kvpt_unref(a, &ids[1], 1));
}
END_TEST

START_TEST(test_unref_of_a_block_that_only_a_sequence_holds)
{
	u64 seq;

	kvpt_ok(kvpt_create(a, 1, tok, 4, &seq));
	kvpt_ok(kvpt_table(a, seq, 0, ids, 1));
	kvpt_refused(&env, a, kvpt_unref(a, ids, 1), -EPERM, KVP_REASON_NOT_HELD, 0);
	kvpt_ok(kvpt_ref_from(a, seq, 0, ids, 1));
	kvpt_ok(kvpt_unref(a, ids, 1));
	kvpt_refused(&env, a, kvpt_unref(a, ids, 1), -EPERM, KVP_REASON_NOT_HELD, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).underflow_rejected, 2);
}
END_TEST

/* ---- refusals: make private ---- */

START_TEST(test_make_private_what_is_not_held)
{
	u64 result, id;

	kvpt_ok(kvpt_alloc(b, 0, 1, &id));
	kvpt_refused(&env, a, kvpt_make_private(a, id, &result), -EPERM, KVP_REASON_NOT_HELD, 0);
	kvpt_ok(kvpt_unref(b, &id, 1));
	kvpt_refused(&env, a, kvpt_make_private(a, id, &result), -ESTALE, KVP_REASON_GENERATION,
		     0);
	kvpt_refused(&env, a, kvpt_make_private(a, KVP_BLOCK_NULL, &result), -ENOENT,
		     KVP_REASON_NO_BLOCK, 0);
	ck_assert_uint_eq(kvpt_counters_of(a, 0).underflow_rejected, 0);
}
END_TEST

START_TEST(test_make_private_without_room)
{
	u64 result;

	kvpt_ok(kvpt_alloc(a, 1, 12, ids));
	kvpt_ok(kvpt_ref(a, ids, 1));
	kvpt_refused(&env, a, kvpt_make_private(a, ids[0], &result), -ENOSPC,
		     KVP_REASON_POOL_FULL, 1);
	kvpt_ok(kvpt_limit(a, kvpt_client_id(a), KVP_LIMIT_RAW, 0, 13));
	kvpt_refused(&env, a, kvpt_make_private(a, ids[0], &result), -EDQUOT,
		     KVP_REASON_LIMIT_RAW, 0);
	kvpt_ok(kvpt_make_private(a, ids[1], &result));
}
END_TEST

START_TEST(test_make_private_with_reserved_fields)
{
	struct kvp_block_make_private *arg = &kvpt.make_private;

	kvpt_ok(kvpt_alloc(a, 0, 1, ids));
	memset(&kvpt, 0, sizeof(kvpt));
	arg->block = ids[0];
	arg->reserved = 1;
	kvpt_expect(kvpt_do(a, KVP_OP_BLOCK_MAKE_PRIVATE, arg), -EINVAL, KVP_REASON_RESERVED);
	memset(&kvpt, 0, sizeof(kvpt));
	arg->head.flags = 1;
	arg->block = ids[0];
	kvpt_expect(kvpt_do(a, KVP_OP_BLOCK_MAKE_PRIVATE, arg), -EINVAL, KVP_REASON_FLAG);
}
END_TEST

/* ---- results that cannot be written ---- */

static int with_failing_write(struct kvp_client *client, int nr, int (*call)(struct kvp_client *))
{
	int err;

	kvpt_fail_write = nr;
	err = call(client);
	kvpt_fail_write = 0;
	return err;
}

static int alloc_five(struct kvp_client *client)
{
	return kvpt_alloc(client, 0, 5, &ids[8]);
}

static int make_private(struct kvp_client *client)
{
	return kvpt_make_private(client, ids[0], &ids[8]);
}

/* Every write in turn, until the call makes no more of them. */
static int failures(struct kvp_client *client, int (*call)(struct kvp_client *), u32 made)
{
	struct kvp_stats before = kvpt_counters_of(client, KVP_STATS_SELF);
	u64 free = kvpt_blocks(client, 0, KVP_BLOCK_FREE);
	int nr, err;

	for (nr = 1; nr < 10; nr++) {
		err = with_failing_write(client, nr, call);
		if (!err)
			break;
		ck_assert_int_eq(err, -EFAULT);
		ck_assert_uint_eq(kvpt_blocks(client, 0, KVP_BLOCK_FREE), free);
		ck_assert_uint_eq(raw_of(client), before.raw);
		kvpt_audit_clean(a);
	}
	ck_assert_int_eq(err, 0);
	ck_assert_uint_eq(raw_of(client), before.raw + made);
	kvpt_ok(kvpt_unref(client, &ids[8], made));
	return nr - 1;
}

START_TEST(test_what_could_not_be_told_is_given_back)
{
	struct kvp_client *c;

	env.door = &kvpt_failing_door;
	c = kvpt_join(&env, 1002, KVP_RIGHT_USE);
	kvpt_ok(kvpt_alloc(c, 0, 1, ids));
	kvpt_ok(kvpt_ref(c, ids, 1));
	ck_assert_int_eq(failures(c, alloc_five, 5), 2);
	ck_assert_int_eq(failures(c, make_private, 1), 1);
	kvpt_close(&env, c);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("raw_refused");
	TCase *t = tcase_create("raw_refused");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_alloc_malformed);
	tcase_add_test(t, test_alloc_without_a_pool);
	tcase_add_test(t, test_alloc_without_the_right);
	tcase_add_test(t, test_alloc_more_than_there_is);
	tcase_add_test(t, test_alloc_where_references_keep_idle_blocks);
	tcase_add_test(t, test_alloc_what_is_guaranteed_to_others);
	tcase_add_test(t, test_alloc_over_the_limit_of_blocks);
	tcase_add_test(t, test_alloc_over_the_limit_of_references);
	tcase_add_test(t, test_alloc_over_the_limit_of_metadata);
	tcase_add_test(t, test_alloc_without_memory);
	tcase_add_test(t, test_a_refused_alloc_leaves_the_table_alone);
	tcase_add_test(t, test_refs_malformed);
	tcase_add_test(t, test_refs_with_reserved_fields);
	tcase_add_test(t, test_ref_of_what_is_not_held);
	tcase_add_test(t, test_ref_over_the_limit_of_references);
	tcase_add_test(t, test_ref_where_a_count_is_exhausted);
	tcase_add_test(t, test_ref_of_an_unknown_sequence);
	tcase_add_test(t, test_ref_of_a_busy_sequence);
	tcase_add_test(t, test_ref_of_what_a_sequence_does_not_name);
	tcase_add_test(t, test_ref_of_what_a_window_released);
	tcase_add_test(t, test_ref_of_an_unknown_match);
	tcase_add_test(t, test_ref_of_what_a_match_does_not_name);
	tcase_add_test(t, test_ref_of_idle_blocks_over_the_limit);
	tcase_add_test(t, test_ref_of_idle_blocks_that_are_guaranteed_to_others);
	tcase_add_test(t, test_ref_with_a_holder_needs_metadata);
	tcase_add_test(t, test_unref_of_what_is_not_held);
	tcase_add_test(t, test_unref_more_often_than_held);
	tcase_add_test(t, test_unref_of_a_block_that_only_a_sequence_holds);
	tcase_add_test(t, test_make_private_what_is_not_held);
	tcase_add_test(t, test_make_private_without_room);
	tcase_add_test(t, test_make_private_with_reserved_fields);
	tcase_add_test(t, test_what_could_not_be_told_is_given_back);
	suite_add_tcase(s, t);
	return kvpt_run(s);
}

// SPDX-License-Identifier: MIT
/*
 * What holds for every operation: size, tail, flags, reserved fields, arrays, state and
 * rights are checked by the frame, and the caller is told why. The expectations are
 * the contract's, written here once more.
 */
#include <check.h>
#include <stdlib.h>

#include "copydoor.h"
#include "unit.h"

/* ---- the contract, as a table ---- */

enum where {
	ANYWHERE,
	ATTACHED,
	DETACHED,
};

struct array {
	u16 ptr;
	u16 nr;
	u32 elem;
	u32 align;
	u32 max;
	bool optional;
};

struct op {
	u32 nr;
	const char *name;
	u32 size;
	u32 least;
	u32 flags;
	u32 rights;
	enum where where;
	u32 nr_arrays;
	struct array array[3];
	u32 nr_zero;
	u16 zero[5];
	u16 id;
	bool descriptors;
};

#define SIZE(s) .size = sizeof(struct s), .least = sizeof(struct s)
/* Grown since the first version: without @field, too. */
#define GROWN(s, field) .size = sizeof(struct s), .least = offsetof(struct s, field)
#define ARRAY(s, p, n, e, a, m, o) \
	{ offsetof(struct s, p), offsetof(struct s, n), sizeof(e), a, m, o }
#define TOKENS(s, o) ARRAY(s, tokens, nr_tokens, u32, 4, 1 << 20, o)
#define EXTRAS(s) ARRAY(s, extras, nr_extras, struct kvp_extra, 8, 1 << 16, true)
#define ZERO(s) .nr_zero = 1, .zero = { offsetof(struct s, reserved) }
#define ZERO2(s) .nr_zero = 2, \
	.zero = { offsetof(struct s, reserved), offsetof(struct s, reserved2) }
#define ID(s, f) .id = offsetof(struct s, f)

#define USE KVP_RIGHT_USE
#define PUBLISH KVP_RIGHT_PUBLISH
#define ADMIN KVP_RIGHT_ADMIN

static const struct op ops[] = {
	{ KVP_OP_ABI, "abi", SIZE(kvp_abi) },
	{ KVP_OP_POOL_CREATE, "pool-create", GROWN(kvp_pool_create, grace_ms), 7, 0, DETACHED,
	  1, { ARRAY(kvp_pool_create, families, nr_families, struct kvp_family_desc, 8, 16,
		     false) }, ZERO2(kvp_pool_create) },
	{ KVP_OP_POOL_ATTACH, "pool-attach", GROWN(kvp_pool_attach, room), 0, 0, DETACHED },
	{ KVP_OP_POOL_READY, "pool-ready", SIZE(kvp_pool_ready), 0, ADMIN, ATTACHED },
	{ KVP_OP_POOL_INFO, "pool-info", GROWN(kvp_pool_info, grace_ms), 0, 0, ATTACHED,
	  1, { ARRAY(kvp_pool_info, families, nr_families, struct kvp_family_desc, 8, 16,
		     true) }, ZERO2(kvp_pool_info) },
	{ KVP_OP_POOL_LIST, "pool-list", SIZE(kvp_pool_list), 0, 0, ANYWHERE,
	  1, { ARRAY(kvp_pool_list, pools, nr_pools, struct kvp_pool_entry, 8, 1 << 16,
		     true) } },
	{ KVP_OP_POOL_DESTROY, "pool-destroy", GROWN(kvp_pool_destroy, pool), 1, 0, ANYWHERE },
	{ KVP_OP_LIMIT, "limit", GROWN(kvp_limit, exports), 1, ADMIN, ATTACHED },
	{ KVP_OP_BACKING_ADD, "backing-add", SIZE(kvp_backing), 0, ADMIN, ATTACHED,
	  ZERO(kvp_backing), .descriptors = true },
	{ KVP_OP_BACKING_GET, "backing-get", SIZE(kvp_backing), 0, USE, ATTACHED,
	  ZERO(kvp_backing), .descriptors = true },
	{ KVP_OP_BLOCK_ALLOC, "block-alloc", SIZE(kvp_block_alloc), 0, USE, ATTACHED,
	  1, { ARRAY(kvp_block_alloc, blocks, nr, u64, 8, 1 << 16, false) } },
	{ KVP_OP_BLOCK_REF, "block-ref", SIZE(kvp_block_refs), 1, USE, ATTACHED,
	  1, { ARRAY(kvp_block_refs, blocks, nr, u64, 8, 1 << 16, false) },
	  ZERO(kvp_block_refs), ID(kvp_block_refs, holder) },
	{ KVP_OP_BLOCK_UNREF, "block-unref", SIZE(kvp_block_refs), 0, USE, ATTACHED,
	  1, { ARRAY(kvp_block_refs, blocks, nr, u64, 8, 1 << 16, false) },
	  .nr_zero = 5, .zero = { offsetof(struct kvp_block_refs, reserved),
				  offsetof(struct kvp_block_refs, holder),
				  offsetof(struct kvp_block_refs, holder) + 4,
				  offsetof(struct kvp_block_refs, first),
				  offsetof(struct kvp_block_refs, first) + 4 } },
	{ KVP_OP_BLOCK_MAKE_PRIVATE, "block-make-private", SIZE(kvp_block_make_private), 0, USE,
	  ATTACHED, ZERO(kvp_block_make_private) },
	{ KVP_OP_SEQ_CREATE, "seq-create", SIZE(kvp_seq_create), 3, USE, ATTACHED,
	  2, { TOKENS(kvp_seq_create, true), EXTRAS(kvp_seq_create) } },
	{ KVP_OP_SEQ_APPEND, "seq-append", SIZE(kvp_seq_append), 0, USE, ATTACHED,
	  3, { TOKENS(kvp_seq_append, true), EXTRAS(kvp_seq_append),
	       ARRAY(kvp_seq_append, copies, nr_copies, struct kvp_copy, 8, 1 << 16, true) },
	  ZERO(kvp_seq_append), ID(kvp_seq_append, seq) },
	{ KVP_OP_SEQ_SET_TOKENS, "seq-set-tokens", SIZE(kvp_seq_set_tokens), 0, USE, ATTACHED,
	  2, { TOKENS(kvp_seq_set_tokens, false), EXTRAS(kvp_seq_set_tokens) },
	  ID(kvp_seq_set_tokens, seq) },
	{ KVP_OP_SEQ_ADVANCE, "seq-advance", SIZE(kvp_seq_advance), 0, USE, ATTACHED,
	  ID(kvp_seq_advance, seq) },
	{ KVP_OP_SEQ_COPIED, "seq-copied", SIZE(kvp_seq_id), 0, USE, ATTACHED,
	  ID(kvp_seq_id, seq) },
	{ KVP_OP_SEQ_FORK, "seq-fork", SIZE(kvp_seq_fork), 0, USE, ATTACHED,
	  1, { ARRAY(kvp_seq_fork, copies, nr_copies, struct kvp_copy, 8, 1 << 16, true) },
	  ZERO(kvp_seq_fork), ID(kvp_seq_fork, seq) },
	{ KVP_OP_SEQ_TRUNCATE, "seq-truncate", SIZE(kvp_seq_truncate), 0, USE, ATTACHED,
	  ID(kvp_seq_truncate, seq) },
	{ KVP_OP_SEQ_FREE, "seq-free", SIZE(kvp_seq_id), 0, USE, ATTACHED,
	  ID(kvp_seq_id, seq) },
	{ KVP_OP_SEQ_TABLE, "seq-table", SIZE(kvp_seq_table), 0, USE, ATTACHED,
	  1, { ARRAY(kvp_seq_table, blocks, nr_blocks, u64, 8, 1 << 16, true) },
	  ID(kvp_seq_table, seq) },
	{ KVP_OP_SEQ_POSITIONS, "seq-positions", SIZE(kvp_seq_positions), 0, USE, ATTACHED,
	  1, { ARRAY(kvp_seq_positions, runs, nr_runs, struct kvp_positions, 8, 1 << 16, true) },
	  ZERO(kvp_seq_positions), ID(kvp_seq_positions, seq) },
	{ KVP_OP_REMAP_BEGIN, "remap-begin", SIZE(kvp_remap_begin), 1, USE, ATTACHED,
	  1, { ARRAY(kvp_remap_begin, pieces, nr_pieces, struct kvp_piece, 8, 4096, true) },
	  ID(kvp_remap_begin, seq) },
	{ KVP_OP_REMAP_MOVES, "remap-moves", SIZE(kvp_remap_moves), 0, USE, ATTACHED,
	  1, { ARRAY(kvp_remap_moves, moves, nr_moves, struct kvp_move, 8, 1 << 16, true) },
	  ID(kvp_remap_moves, seq) },
	{ KVP_OP_REMAP_COMMIT, "remap-commit", SIZE(kvp_remap_end), 0, USE, ATTACHED,
	  ID(kvp_remap_end, seq) },
	{ KVP_OP_REMAP_ABORT, "remap-abort", SIZE(kvp_remap_end), 0, USE, ATTACHED,
	  ID(kvp_remap_end, seq) },
	{ KVP_OP_SEQ_EXPORT, "seq-export", SIZE(kvp_seq_export), 0, USE, ATTACHED,
	  ZERO(kvp_seq_export), ID(kvp_seq_export, seq), .descriptors = true },
	{ KVP_OP_SEQ_IMPORT, "seq-import", SIZE(kvp_seq_import), 0, USE, ATTACHED,
	  ZERO(kvp_seq_import), .descriptors = true },
	{ KVP_OP_EXPORT_REVOKE, "export-revoke", SIZE(kvp_export_revoke), 0, USE, ATTACHED },
	{ KVP_OP_PREFIX_MATCH, "prefix-match", SIZE(kvp_prefix_match), 1, USE, ATTACHED,
	  3, { TOKENS(kvp_prefix_match, false), EXTRAS(kvp_prefix_match),
	       ARRAY(kvp_prefix_match, blocks, nr_blocks, u64, 8, 1 << 16, true) } },
	{ KVP_OP_PREFIX_RELEASE, "prefix-release", SIZE(kvp_prefix_release), 0, USE, ATTACHED,
	  ID(kvp_prefix_release, match) },
	{ KVP_OP_PREFIX_PUBLISH, "prefix-publish", SIZE(kvp_prefix_publish), 1, PUBLISH,
	  ATTACHED, ZERO(kvp_prefix_publish), ID(kvp_prefix_publish, seq) },
	{ KVP_OP_PREFIX_INVALIDATE, "prefix-invalidate", SIZE(kvp_prefix_invalidate), 7, ADMIN,
	  ATTACHED, 2, { TOKENS(kvp_prefix_invalidate, true), EXTRAS(kvp_prefix_invalidate) },
	  ZERO(kvp_prefix_invalidate) },
	{ KVP_OP_PREFIX_RECLAIM, "prefix-reclaim", SIZE(kvp_prefix_reclaim), 0, ADMIN,
	  ATTACHED },
	{ KVP_OP_TIMELINE_CREATE, "timeline-create", SIZE(kvp_timeline_create), 0, USE, ATTACHED,
	  ZERO(kvp_timeline_create) },
	{ KVP_OP_USE, "use", SIZE(kvp_use), 0, USE, ATTACHED,
	  1, { ARRAY(kvp_use, entries, nr_entries, struct kvp_use_entry, 8, 1 << 16, false) },
	  ZERO(kvp_use) },
	{ KVP_OP_SIGNAL, "signal", SIZE(kvp_signal), 0, USE, ATTACHED, ZERO(kvp_signal) },
	{ KVP_OP_QUERY, "query", SIZE(kvp_query), 1, USE, ATTACHED,
	  1, { ARRAY(kvp_query, fences, nr_fences, struct kvp_fence, 8, 256, true) },
	  ZERO(kvp_query) },
	{ KVP_OP_REAP, "reap", SIZE(kvp_reap), 0, ADMIN, ATTACHED, ZERO(kvp_reap) },
	{ KVP_OP_ADMIT, "admit", SIZE(kvp_admit), 15, USE, ATTACHED,
	  1, { ARRAY(kvp_admit, needs, nr_needs, struct kvp_admit_need, 8, 16, true) } },
	{ KVP_OP_STATS, "stats", GROWN(kvp_stats, exports), 1, USE, ATTACHED,
	  1, { ARRAY(kvp_stats, families, nr_families, struct kvp_family_stats, 8, 16,
		     true) } },
	{ KVP_OP_AUDIT, "audit", SIZE(kvp_audit), 0, ADMIN, ATTACHED,
	  1, { ARRAY(kvp_audit, findings, nr_findings, struct kvp_finding, 8, 1 << 16,
		     true) }, ZERO(kvp_audit) },
	{ KVP_OP_BLOCK_DUMP, "block-dump", SIZE(kvp_block_dump), 0, USE, ATTACHED,
	  1, { ARRAY(kvp_block_dump, entries, nr_entries, struct kvp_block_entry, 8, 1 << 16,
		     false) } },
	{ KVP_OP_CLIENT_LIST, "client-list", SIZE(kvp_client_list), 0, USE, ATTACHED,
	  1, { ARRAY(kvp_client_list, entries, nr_entries, struct kvp_client_entry, 8, 1 << 16,
		     true) } },
	{ KVP_OP_EVENTS, "events", SIZE(kvp_events), 0, USE, ATTACHED,
	  1, { ARRAY(kvp_events, events, nr_events, struct kvp_event, 8, 1 << 16, true) },
	  ZERO(kvp_events) },
	{ KVP_OP_BATCH, "batch", SIZE(kvp_batch), 1, 0, ATTACHED,
	  1, { ARRAY(kvp_batch, entries, nr_entries, struct kvp_batch_entry, 8, 256,
		     false) } },
};

#define NR_OPS ((int)ARRAY_SIZE(ops))

/* ---- a struct of any operation ---- */

static struct kvpt_env env;
static struct kvp_client *owner, *loose;

/* The struct, and a page of tail behind it. */
static union {
	struct kvp_head head;
	u8 byte[8192];
	u64 align;
} arg, left;

/* One element of any array, all zero. */
static u64 element[64];

static void setup(void)
{
	kvpt_env_init(&env);
	env.door = &kvpt_copying_door;
	kvpt_copydoor = (struct kvpt_copydoor){ };
	owner = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(8, 4) }, 1);
	loose = kvpt_open(&env, KVPT_OWNER);
}

static void teardown(void)
{
	ck_assert_int_eq(kvpt_copydoor.mapped, 0);
	kvpt_audit_clean(owner);
	kvpt_env_exit(&env);
}

static void set32(u32 offset, u32 value)
{
	memcpy(arg.byte + offset, &value, sizeof(value));
}

static void set64(u32 offset, u64 value)
{
	memcpy(arg.byte + offset, &value, sizeof(value));
}

/* All zero, but for one element in every array that must not be empty. */
static void fresh(const struct op *op)
{
	u32 i;

	memset(&arg, 0, sizeof(arg));
	arg.head.size = op->size;
	for (i = 0; i < op->nr_arrays; i++) {
		if (op->array[i].optional)
			continue;
		set64(op->array[i].ptr, (u64)(uintptr_t)element);
		set32(op->array[i].nr, 1);
	}
}

static int call(const struct op *op)
{
	struct kvp_client *client = op->where == DETACHED ? loose : owner;

	left = arg;
	return kvp_call(client, op->nr, (u64)(uintptr_t)&arg, 0);
}

/* The call failed so, and has written nothing to the caller but why. */
static void failed(const struct op *op, int got, int err, u32 reason, u32 where)
{
	ck_assert_msg(got == err && arg.head.reason == reason && arg.head.where == where,
		      "%s: %d reason %u where %u, expected %d reason %u where %u", op->name, got,
		      arg.head.reason, arg.head.where, err, reason, where);
	left.head.reason = reason;
	left.head.where = where;
	ck_assert_msg(!memcmp(&arg, &left, sizeof(arg)), "%s: wrote to the struct", op->name);
}

/* The call came as far as its executor (or it has none): whatever that says. */
static void passed(const struct op *op, int got)
{
	bool frame = arg.head.reason == KVP_REASON_SIZE ||
		     arg.head.reason == KVP_REASON_RESERVED ||
		     arg.head.reason == KVP_REASON_POINTER ||
		     arg.head.reason == KVP_REASON_ALIGNMENT;

	ck_assert_msg(!frame && (got != 0) == (arg.head.reason != 0),
		      "%s: %d reason %u", op->name, got, arg.head.reason);
}

/* ---- the table itself ---- */

START_TEST(test_no_other_operation)
{
	const struct kvp_op_desc *desc;
	int nr, i, known;

	for (nr = 0; nr < 0x400; nr++) {
		known = -1;
		for (i = 0; i < NR_OPS; i++)
			if (ops[i].nr == nr)
				known = i;
		desc = kvp_op_find(nr);
		if (known >= 0) {
			ck_assert_ptr_nonnull(desc);
			ck_assert_str_eq(desc->name, ops[known].name);
			continue;
		}
		ck_assert_ptr_null(desc);
		memset(&arg, 0xff, sizeof(arg));
		ck_assert_int_eq(kvp_call(owner, nr, (u64)(uintptr_t)&arg, 0), -ENOTTY);
		ck_assert_uint_eq(arg.head.reason, ~0U);
	}
	ck_assert_int_eq(kvp_call(owner, ~0U, (u64)(uintptr_t)&arg, 0), -ENOTTY);
	ck_assert_int_eq(kvp_call(owner, KVP_OP_ABI + (1U << 31), (u64)(uintptr_t)&arg, 0),
			 -ENOTTY);
}
END_TEST

/* ---- the struct ---- */

START_TEST(test_size_too_small)
{
	const struct op *op = &ops[_i];
	u32 size;

	for (size = 0; size < op->least; size++) {
		fresh(op);
		arg.head.size = size;
		if (size < sizeof(struct kvp_head)) {
			/* Not even a reason fits. */
			failed(op, call(op), -EINVAL, KVP_REASON_NONE, 0);
			continue;
		}
		failed(op, call(op), -EINVAL, KVP_REASON_SIZE, 0);
	}
}
END_TEST

/* What the caller does not know is zero, and nothing is written there. */
START_TEST(test_size_of_an_older_caller)
{
	const struct op *op = &ops[_i];
	u32 size;

	for (size = op->least; size < op->size; size++) {
		fresh(op);
		arg.head.size = size;
		memset(arg.byte + size, 0xff, sizeof(arg) - size);
		passed(op, call(op));
		ck_assert_uint_eq(arg.head.size, size);
		ck_assert(!memcmp(arg.byte + size, left.byte + size, sizeof(arg) - size));
	}
}
END_TEST

START_TEST(test_size_larger_than_a_page)
{
	const struct op *op = &ops[_i];
	const u32 sizes[] = { 4097, 4104, 8192, 1U << 31, ~0U };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		fresh(op);
		arg.head.size = sizes[i];
		failed(op, call(op), -E2BIG, KVP_REASON_SIZE, 0);
	}
}
END_TEST

START_TEST(test_unknown_tail_that_is_zero)
{
	const struct op *op = &ops[_i];
	const u32 sizes[] = { op->size + 1, op->size + 8, op->size + 64, op->size + 65, 4096 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		fresh(op);
		arg.head.size = sizes[i];
		passed(op, call(op));
		ck_assert_uint_eq(arg.head.size, sizes[i]);
		ck_assert(!memcmp(arg.byte + op->size, left.byte + op->size,
				  sizeof(arg) - op->size));
	}
}
END_TEST

START_TEST(test_unknown_tail_that_is_not_zero)
{
	const struct op *op = &ops[_i];
	const u32 places[] = { op->size, op->size + 63, op->size + 64, op->size + 100, 4095 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		fresh(op);
		arg.head.size = 4096;
		arg.byte[places[i]] = 0x80;
		failed(op, call(op), -E2BIG, KVP_REASON_SIZE, 0);
		/* Behind what the caller says is there, it is nobody's business. */
		arg.head.size = places[i];
		passed(op, call(op));
	}
}
END_TEST

START_TEST(test_size_by_the_door)
{
	const struct op *op = &ops[_i];
	struct kvp_client *client = op->where == DETACHED ? loose : owner;
	const u32 lens[] = { 1, op->size - 1, op->size + 1, 4096, ~0U };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		fresh(op);
		left = arg;
		failed(op, kvp_call(client, op->nr, (u64)(uintptr_t)&arg, lens[i]), -EINVAL,
		       KVP_REASON_SIZE, 0);
	}
	fresh(op);
	passed(op, kvp_call(client, op->nr, (u64)(uintptr_t)&arg, op->size));
}
END_TEST

START_TEST(test_struct_address)
{
	const struct op *op = &ops[_i];
	struct kvp_client *client = op->where == DETACHED ? loose : owner;
	u8 *at;
	u32 off;

	ck_assert_int_eq(kvp_call(client, op->nr, 0, 0), -EFAULT);
	ck_assert_int_eq(kvp_call(client, op->nr, 0, op->size), -EFAULT);
	for (off = 1; off < 4; off++) {
		struct kvp_head head;

		fresh(op);
		at = arg.byte + 4096 + off;
		memcpy(at, arg.byte, op->size);
		ck_assert_int_eq(kvp_call(client, op->nr, (u64)(uintptr_t)at, 0), -EINVAL);
		memcpy(&head, at, sizeof(head));
		ck_assert_uint_eq(head.reason, KVP_REASON_ALIGNMENT);
		ck_assert_uint_eq(head.where, 0);
	}
	/* 4 is what a 32-bit caller has. */
	fresh(op);
	memcpy(arg.byte + 4096 + 4, arg.byte, op->size);
	kvp_call(client, op->nr, (u64)(uintptr_t)(arg.byte + 4096 + 4), 0);
	memcpy(arg.byte, arg.byte + 4096 + 4, sizeof(arg.head));
	ck_assert_uint_ne(arg.head.reason, KVP_REASON_ALIGNMENT);
}
END_TEST

START_TEST(test_struct_that_cannot_be_read)
{
	const struct op *op = &ops[_i];
	int nr;

	/* The size, the struct, the tail. */
	for (nr = 1; nr <= 3; nr++) {
		fresh(op);
		arg.head.size = 4096;
		kvpt_copydoor.fail_read = nr;
		failed(op, call(op), -EFAULT, nr == 1 ? KVP_REASON_NONE : KVP_REASON_POINTER, 0);
		ck_assert_int_eq(kvpt_copydoor.fail_read, 0);
	}
}
END_TEST

/* ---- flags, reserved fields ---- */

START_TEST(test_unknown_flags)
{
	const struct op *op = &ops[_i];
	u32 bit;

	for (bit = 0; bit < 32; bit++) {
		if (op->flags & 1U << bit)
			continue;
		fresh(op);
		arg.head.flags = 1U << bit;
		failed(op, call(op), -EINVAL, KVP_REASON_FLAG, 0);
		arg.head.flags |= op->flags;
		failed(op, call(op), -EINVAL, KVP_REASON_FLAG, 0);
	}
}
END_TEST

START_TEST(test_known_flags)
{
	const struct op *op = &ops[_i];
	u32 bit;

	for (bit = 0; bit < 32; bit++) {
		if (!(op->flags & 1U << bit))
			continue;
		fresh(op);
		if (op->id)
			set64(op->id, 5);
		arg.head.flags = 1U << bit;
		passed(op, call(op));
		ck_assert_uint_ne(arg.head.reason, KVP_REASON_FLAG);
	}
}
END_TEST

START_TEST(test_reserved_fields)
{
	const struct op *op = &ops[_i];
	u32 i, bit;

	for (i = 0; i < op->nr_zero; i++) {
		for (bit = 0; bit < 32; bit++) {
			fresh(op);
			set32(op->zero[i], 1U << bit);
			failed(op, call(op), -EINVAL, KVP_REASON_RESERVED, op->zero[i]);
		}
	}
}
END_TEST

/* ---- arrays ---- */

START_TEST(test_count_zero)
{
	const struct op *op = &ops[_i];
	u32 i;

	for (i = 0; i < op->nr_arrays; i++) {
		fresh(op);
		set32(op->array[i].nr, 0);
		if (!op->array[i].optional) {
			failed(op, call(op), -EINVAL, KVP_REASON_COUNT, op->array[i].nr);
			set64(op->array[i].ptr, 0);
			failed(op, call(op), -EINVAL, KVP_REASON_COUNT, op->array[i].nr);
			continue;
		}
		/* Then nobody looks at the pointer. */
		kvpt_copydoor.maps = 0;
		set64(op->array[i].ptr, 3);
		passed(op, call(op));
		ck_assert_int_le(kvpt_copydoor.maps, op->nr_arrays - 1);
	}
}
END_TEST

START_TEST(test_count_above_the_limit)
{
	const struct op *op = &ops[_i];
	u32 i;

	for (i = 0; i < op->nr_arrays; i++) {
		fresh(op);
		set64(op->array[i].ptr, (u64)(uintptr_t)element);
		set32(op->array[i].nr, op->array[i].max + 1);
		failed(op, call(op), -EOVERFLOW, KVP_REASON_COUNT, op->array[i].nr);
		set32(op->array[i].nr, ~0U);
		failed(op, call(op), -EOVERFLOW, KVP_REASON_COUNT, op->array[i].nr);
	}
}
END_TEST

START_TEST(test_count_at_the_limit)
{
	const struct op *op = &ops[_i];
	u32 i;

	/* The frame accepts it: it is the door that cannot reach that much. */
	kvpt_copydoor.map_error = -EFAULT;
	for (i = 0; i < op->nr_arrays; i++) {
		memset(&arg, 0, sizeof(arg));
		arg.head.size = op->size;
		if (i)
			fresh(op);
		set64(op->array[i].ptr, 4096);
		set32(op->array[i].nr, op->array[i].max);
		failed(op, call(op), -EFAULT, KVP_REASON_POINTER,
		       i && !op->array[0].optional ? op->array[0].ptr : op->array[i].ptr);
	}
	kvpt_copydoor.map_error = 0;
}
END_TEST

START_TEST(test_no_memory_for_an_array)
{
	const struct op *op = &ops[_i];
	u32 i;

	kvpt_copydoor.map_error = -ENOMEM;
	for (i = 0; i < op->nr_arrays; i++) {
		fresh(op);
		set64(op->array[i].ptr, (u64)(uintptr_t)element);
		set32(op->array[i].nr, 1);
		failed(op, call(op), -ENOMEM, KVP_REASON_MEMORY, 0);
	}
	kvpt_copydoor.map_error = 0;
}
END_TEST

START_TEST(test_null_array)
{
	const struct op *op = &ops[_i];
	u32 i;

	for (i = 0; i < op->nr_arrays; i++) {
		fresh(op);
		set64(op->array[i].ptr, 0);
		set32(op->array[i].nr, 1);
		failed(op, call(op), -EFAULT, KVP_REASON_POINTER, op->array[i].ptr);
	}
}
END_TEST

START_TEST(test_misaligned_array)
{
	const struct op *op = &ops[_i];
	u32 i, off;

	for (i = 0; i < op->nr_arrays; i++) {
		for (off = 1; off < op->array[i].align; off++) {
			fresh(op);
			set64(op->array[i].ptr, (u64)(uintptr_t)element + off);
			set32(op->array[i].nr, 1);
			failed(op, call(op), -EINVAL, KVP_REASON_ALIGNMENT, op->array[i].ptr);
		}
	}
}
END_TEST

START_TEST(test_array_beyond_the_address_space)
{
	const struct op *op = &ops[_i];
	u32 i;

	for (i = 0; i < op->nr_arrays; i++) {
		fresh(op);
		set64(op->array[i].ptr, -(u64)op->array[i].align);
		set32(op->array[i].nr, op->array[i].max);
		failed(op, call(op), -EFAULT, KVP_REASON_POINTER, op->array[i].ptr);
		set64(op->array[i].ptr, -(u64)op->array[i].elem * 3);
		set32(op->array[i].nr, 4);
		failed(op, call(op), -EFAULT, KVP_REASON_POINTER, op->array[i].ptr);
	}
}
END_TEST

/* Every array is mapped by its own length, and ended whatever happens. */
START_TEST(test_arrays_are_given_back)
{
	const struct op *op = &ops[_i];
	u32 i;

	fresh(op);
	for (i = 0; i < op->nr_arrays; i++) {
		set64(op->array[i].ptr, (u64)(uintptr_t)element);
		set32(op->array[i].nr, 1);
	}
	kvpt_copydoor.maps = 0;
	passed(op, call(op));
	ck_assert_int_eq(kvpt_copydoor.mapped, 0);
	ck_assert_int_eq(kvpt_copydoor.maps, op->nr_arrays);
}
END_TEST

/* ---- ids, state, rights ---- */

START_TEST(test_ref_outside_a_batch)
{
	const struct op *op = &ops[_i];

	if (!op->id)
		return;
	fresh(op);
	set64(op->id, KVP_REF(0));
	failed(op, call(op), -EINVAL, KVP_REASON_BATCH_REF, 0);
	set64(op->id, KVP_REF(7));
	failed(op, call(op), -EINVAL, KVP_REASON_BATCH_REF, 7);
}
END_TEST

START_TEST(test_where_it_may_be_called)
{
	const struct op *op = &ops[_i];
	int got;

	fresh(op);
	left = arg;
	switch (op->where) {
	case ATTACHED:
		failed(op, kvp_call(loose, op->nr, (u64)(uintptr_t)&arg, 0), -EBUSY,
		       KVP_REASON_NOT_ATTACHED, 0);
		break;
	case DETACHED:
		failed(op, kvp_call(owner, op->nr, (u64)(uintptr_t)&arg, 0), -EBUSY,
		       KVP_REASON_ATTACHED, 0);
		break;
	case ANYWHERE:
		got = kvp_call(loose, op->nr, (u64)(uintptr_t)&arg, 0);
		ck_assert_int_ne(got, -EBUSY);
		got = kvp_call(owner, op->nr, (u64)(uintptr_t)&arg, 0);
		ck_assert_int_ne(got, -EBUSY);
		break;
	}
}
END_TEST

START_TEST(test_rights)
{
	static const u32 reasons[] = {
		KVP_REASON_RIGHT_USE, KVP_REASON_RIGHT_PUBLISH, KVP_REASON_RIGHT_ADMIN,
	};
	const struct op *op = &ops[_i];
	u32 rights, bit;

	if (op->where != ATTACHED)
		return;
	for (rights = 1; rights <= KVP_RIGHT_ALL; rights++) {
		struct kvp_client *client = kvpt_join(&env, KVPT_OWNER, rights);
		u32 missing = op->rights & ~rights;
		int got;

		fresh(op);
		left = arg;
		got = kvp_call(client, op->nr, (u64)(uintptr_t)&arg, 0);
		for (bit = 0; bit < 3; bit++) {
			if (!(missing & 1U << bit))
				continue;
			failed(op, got, -EACCES, reasons[bit], 0);
			break;
		}
		if (!missing)
			ck_assert_int_ne(got, -EACCES);
		kvpt_close(&env, client);
	}
}
END_TEST

START_TEST(test_pool_that_was_destroyed)
{
	const struct op *op = &ops[_i];
	struct kvp_client *client;
	int got;

	client = kvpt_open(&env, KVPT_OWNER);
	ck_assert_int_eq(kvpt_pool_create(client, "gone", 0666,
					  (struct kvp_family_desc[]){ KVPT_DENSE(8, 4) }, 1), 0);
	ck_assert_int_eq(kvpt_pool_destroy(loose, "gone", KVP_DESTROY_FORCE), 0);
	fresh(op);
	left = arg;
	got = kvp_call(client, op->nr, (u64)(uintptr_t)&arg, 0);
	if (op->where == ATTACHED)
		failed(op, got, -EIO, KVP_REASON_DESTROYED, 0);
	else
		ck_assert_int_ne(got, -EIO);
}
END_TEST

START_TEST(test_what_this_door_cannot_do)
{
	const struct op *op = &ops[_i];
	int got;

	fresh(op);
	got = call(op);
	if (op->descriptors)
		ck_assert_int_eq(got, -EOPNOTSUPP);
	ck_assert_int_eq(arg.head.reason == KVP_REASON_DOOR, op->descriptors);
	ck_assert_uint_eq(kvpt_counters_of(owner, 0).nr_clients, 1 + (loose->pool == owner->pool));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("ops");
	TCase *table = tcase_create("table");
	TCase *frame = tcase_create("frame");
	TCase *state = tcase_create("state");

	tcase_add_checked_fixture(table, setup, teardown);
	tcase_add_test(table, test_no_other_operation);
	suite_add_tcase(s, table);

	tcase_add_checked_fixture(frame, setup, teardown);
	tcase_add_loop_test(frame, test_size_too_small, 0, NR_OPS);
	tcase_add_loop_test(frame, test_size_of_an_older_caller, 0, NR_OPS);
	tcase_add_loop_test(frame, test_size_larger_than_a_page, 0, NR_OPS);
	tcase_add_loop_test(frame, test_unknown_tail_that_is_zero, 0, NR_OPS);
	tcase_add_loop_test(frame, test_unknown_tail_that_is_not_zero, 0, NR_OPS);
	tcase_add_loop_test(frame, test_size_by_the_door, 0, NR_OPS);
	tcase_add_loop_test(frame, test_struct_address, 0, NR_OPS);
	tcase_add_loop_test(frame, test_struct_that_cannot_be_read, 0, NR_OPS);
	tcase_add_loop_test(frame, test_unknown_flags, 0, NR_OPS);
	tcase_add_loop_test(frame, test_known_flags, 0, NR_OPS);
	tcase_add_loop_test(frame, test_reserved_fields, 0, NR_OPS);
	tcase_add_loop_test(frame, test_count_zero, 0, NR_OPS);
	tcase_add_loop_test(frame, test_count_above_the_limit, 0, NR_OPS);
	tcase_add_loop_test(frame, test_count_at_the_limit, 0, NR_OPS);
	tcase_add_loop_test(frame, test_no_memory_for_an_array, 0, NR_OPS);
	tcase_add_loop_test(frame, test_null_array, 0, NR_OPS);
	tcase_add_loop_test(frame, test_misaligned_array, 0, NR_OPS);
	tcase_add_loop_test(frame, test_array_beyond_the_address_space, 0, NR_OPS);
	tcase_add_loop_test(frame, test_arrays_are_given_back, 0, NR_OPS);
	suite_add_tcase(s, frame);

	tcase_add_checked_fixture(state, setup, teardown);
	tcase_add_loop_test(state, test_ref_outside_a_batch, 0, NR_OPS);
	tcase_add_loop_test(state, test_where_it_may_be_called, 0, NR_OPS);
	tcase_add_loop_test(state, test_rights, 0, NR_OPS);
	tcase_add_loop_test(state, test_pool_that_was_destroyed, 0, NR_OPS);
	tcase_add_loop_test(state, test_what_this_door_cannot_do, 0, NR_OPS);
	suite_add_tcase(s, state);
	return s;
}

int main(void)
{
	/* So many small tests: a process for each takes minutes. */
	setenv("CK_FORK", "no", 0);
	return kvpt_run(suite());
}

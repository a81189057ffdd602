/* SPDX-License-Identifier: MIT */
/*
 * What the unit tests share beyond harness.h: refusals that are checked with their place and
 * against everything that could have changed, pools of any shape, a door that fails, and
 * a look into the structures where a state cannot be reached in a test's time.
 *
 * Include <check.h> first.
 */
#ifndef KVPT_UNIT_H
#define KVPT_UNIT_H

#include "harness.h"

/* ---- nothing has changed --------------------------------------------------------- */

/**
 * struct kvpt_world - all that a call can have changed, at one moment
 * @stats: counters and blocks, as harness.h sees them
 * @text: lengths and tables of all sequences of all clients, open matches, clients, exports,
 *        what each uid has, nodes, the order of reclaim; one thing a line
 */
struct kvpt_world {
	struct kvpt_stats stats;
	char *text;
};

/* @admin: a client that is attached with ADMIN; no sequence may be busy. */
void kvpt_world_take(struct kvpt_env *env, struct kvp_client *admin,
		     struct kvpt_world *world);
void kvpt_world_drop(struct kvpt_world *world);
/* The first difference in words (static text of the thread), or NULL. */
const char *kvpt_world_diff(const struct kvpt_world *before, const struct kvpt_world *after);

/*
 * @expr, a call of one of the helpers, fails with @err for @why at @at, has changed
 * nothing, and the pool is sound.
 */
#define kvpt_refused(env, admin, expr, err, why, at)				\
do {										\
	struct kvpt_world kvpt_was_, kvpt_is_;					\
	const char *kvpt_changed_;						\
	union kvpt_arg kvpt_left_;						\
										\
	kvpt_world_take(env, admin, &kvpt_was_);				\
	kvpt_expect(expr, err, why);						\
	kvpt_left_ = kvpt;							\
	if (kvpt.head.where != (u32)(at))					\
		kvpt_fail("%s: where %u, expected %u", #expr,			\
			  kvpt.head.where, (u32)(at));				\
	kvpt_world_take(env, admin, &kvpt_is_);					\
	kvpt_changed_ = kvpt_world_diff(&kvpt_was_, &kvpt_is_);			\
	if (kvpt_changed_)							\
		kvpt_fail("%s changed: %s", #expr, kvpt_changed_);		\
	kvpt_audit_clean(admin);						\
	kvpt_world_drop(&kvpt_was_);						\
	kvpt_world_drop(&kvpt_is_);						\
	kvpt = kvpt_left_;							\
} while (0)

/*
 * @expr, a call on the sequence @id, is refused for every id that is not a sequence of
 * @client: none, one that never was, one of another client, one whose sequence ended.
 */
#define kvpt_refuses_bad_ids(env, admin, client, id, expr)			\
do {										\
	struct kvp_client *kvpt_stranger_ = kvpt_join(env, 4242, KVP_RIGHT_USE);	\
	u64 kvpt_ended_;							\
										\
	kvpt_ok(kvpt_create(client, 99, NULL, 0, &kvpt_ended_));		\
	kvpt_ok(kvpt_free(client, kvpt_ended_));				\
	id = 0;									\
	kvpt_refused(env, admin, expr, -ENOENT, KVP_REASON_NO_SEQ, 0);		\
	id = 1ULL << 32 | 12345;						\
	kvpt_refused(env, admin, expr, -ENOENT, KVP_REASON_NO_SEQ, 0);		\
	id = kvpt_ended_ + (5ULL << 32);					\
	kvpt_refused(env, admin, expr, -ENOENT, KVP_REASON_NO_SEQ, 0);		\
	id = kvpt_ended_;							\
	kvpt_refused(env, admin, expr, -ESTALE, KVP_REASON_GENERATION, 0);	\
	kvpt_ok(kvpt_create_at(kvpt_stranger_, 20, &id));			\
	kvpt_refused(env, admin, expr, -ENOENT, KVP_REASON_NO_SEQ, 0);		\
	kvpt_close(env, kvpt_stranger_);					\
} while (0)

/* Empty sequences, of which the last is returned: its id is beyond those of others. */
int kvpt_create_at(struct kvp_client *client, u32 nr, u64 *seq);

/* Where EINVAL/VALUE, RESERVED, POINTER ... point to. */
#define kvpt_at(type, member)	((u32)offsetof(type, member))

/* ---- pools, tokens ------------------------------------------------------------------ */

/*
 * As kvpt_pool(), from a struct in which index_tokens, nodes, extras, mode ... are set
 * already (mode 0: 0666).
 */
struct kvp_client *kvpt_pool_with(struct kvpt_env *env, const struct kvp_pool_create *with,
				  const struct kvp_family_desc *families, u32 nr);

/* @nr token ids that follow from @seed; the first ones are the same for every @nr. */
void kvpt_tokens(u32 *tokens, u32 nr, u32 seed);

/* A sequence whose @nr tokens are computed. */
u64 kvpt_computed(struct kvp_client *client, u32 space, const u32 *tokens, u32 nr);
/* The same, published; dies where that fails. */
u64 kvpt_published(struct kvp_client *client, u32 space, const u32 *tokens, u32 nr);

/* ---- what a sequence has --------------------------------------------------------------- */

/* Its lengths are these, and the table of every family is as long as they ask for. */
#define kvpt_expect_lengths(client, seq, tokens_, computed_, reserved_, published_)	\
do {										\
	ck_assert_int_eq(kvpt_table(client, seq, 0, NULL, 0), 0);		\
	ck_assert_uint_eq(kvpt.table.nr_tokens, tokens_);			\
	ck_assert_uint_eq(kvpt.table.nr_computed, computed_);			\
	ck_assert_uint_eq(kvpt.table.nr_reserved, reserved_);			\
	ck_assert_uint_eq(kvpt.table.nr_published, published_);			\
} while (0)

/* Its table of @family has exactly @nr slots, which are written to @blocks. */
#define kvpt_expect_table(client, seq, family_, blocks_, nr)			\
do {										\
	kvpt_ok(kvpt_table(client, seq, family_, blocks_, nr));			\
	ck_assert_uint_eq(kvpt.table.total, nr);				\
	ck_assert_uint_eq(kvpt.table.nr_blocks, nr);				\
} while (0)

/* Which slots of its table (32 at most) are null, the first slot in bit 0. */
u32 kvpt_nulls(struct kvp_client *client, u64 seq, u32 family);

/* References on a block, by the dump; dies where the id is not the block's. */
u32 kvpt_count(struct kvp_client *admin, u64 block);
/* What the dump says of a block. */
struct kvp_block_entry kvpt_entry(struct kvp_client *admin, u64 block);

/* Blocks in each state, one line of a test. */
#define kvpt_expect_blocks(client, family, free_, held_, idle_)			\
do {										\
	ck_assert_uint_eq(kvpt_blocks(client, family, KVP_BLOCK_FREE), free_);	\
	ck_assert_uint_eq(kvpt_blocks(client, family, KVP_BLOCK_HELD), held_);	\
	ck_assert_uint_eq(kvpt_blocks(client, family, KVP_BLOCK_IDLE), idle_);	\
	ck_assert_uint_eq(kvpt_blocks(client, family, KVP_BLOCK_RESERVED), 0);	\
} while (0)

/* Counters of the pool or of a client; die where they cannot be read. Leave kvpt alone. */
struct kvp_stats kvpt_counters_of(struct kvp_client *client, u64 who);
struct kvp_family_stats kvpt_family_of(struct kvp_client *client, u64 who, u32 family);

/* How much of these tokens is published now. */
u64 kvpt_matched(struct kvp_client *client, u32 space, const u32 *tokens, u32 nr);

/* ---- doors that fail ----------------------------------------------------------------- */

/*
 * The in-process door, whose n-th write to the caller fails (a result or an array that is
 * brought back); 0: none does.
 */
extern const struct kvp_door kvpt_failing_door;
extern int kvpt_fail_write;

/* ---- into the structures ---------------------------------------------------------- */

struct kvp_pool *kvpt_pool_of(struct kvp_client *client);
struct kvp_seq *kvpt_seq_of(struct kvp_client *client, u64 seq);
struct kvp_block *kvpt_block_of(struct kvp_client *client, u64 block);

/* Make @expr while another call works on the sequence; yields what @expr does. */
#define kvpt_while_busy(client, seq, expr)					\
({										\
	struct kvp_seq *kvpt_seq_ = kvpt_seq_of(client, seq);			\
	int kvpt_err_;								\
										\
	kvpt_seq_->busy = 1;							\
	kvpt_err_ = (expr);							\
	kvpt_seq_->busy = 0;							\
	kvpt_err_;								\
})

/* Make @expr while the word @lvalue is @value; yields what @expr does. */
#define kvpt_while_set(lvalue, value, expr)					\
({										\
	typeof(lvalue) *kvpt_word_ = &(lvalue);					\
	typeof(lvalue) kvpt_saved_ = *kvpt_word_;				\
	int kvpt_err_;								\
										\
	*kvpt_word_ = (value);							\
	kvpt_err_ = (expr);							\
	*kvpt_word_ = kvpt_saved_;						\
	kvpt_err_;								\
})

/*
 * Give the node @index the hash @hash, and put it where that hash is looked for. Returns
 * the hash it had.
 */
u64 kvpt_force_hash(struct kvp_pool *pool, u32 index, u64 hash);

/* ---- running ------------------------------------------------------------------------ */

/* Run the suite as the environment says; the exit status for main(). */
int kvpt_run(Suite *suite);

#endif /* KVPT_UNIT_H */

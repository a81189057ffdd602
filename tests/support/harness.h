/* SPDX-License-Identifier: MIT */
/*
 * Short helpers over kvp_call(), so that tests say what they show and no more.
 *
 *	struct kvpt_env env;
 *	struct kvp_client *a, *b;
 *	u64 seq;
 *
 *	kvpt_env_init(&env);
 *	a = kvpt_pool(&env, (struct kvp_family_desc[]){ KVPT_DENSE(8, 4) }, 1);
 *	b = kvpt_join(&env, 1001, KVP_RIGHT_USE);
 *	ck_assert_int_eq(kvpt_create(a, 1, tokens, 10, &seq), 0);
 *	ck_assert_uint_eq(kvpt.seq_create.matched, 0);
 *	kvpt_expect(kvpt_alloc(b, 0, 9, ids), -EFBIG, KVP_REASON_NEVER_FITS);
 *	kvpt_audit_clean(a);
 *	kvpt_env_exit(&env);
 *
 * Every helper returns what kvp_call() returned, and leaves the whole struct of the call in
 * the thread's kvpt. Include <check.h> first to have failures reported by Check;
 * otherwise they end the process.
 */
#ifndef KVPT_HARNESS_H
#define KVPT_HARNESS_H

#include "core.h"
#include "door.h"
#include "random.h"

/* ---- the struct of the last call ---- */

/* All structs of the contract, one on the other. */
union kvpt_arg {
	struct kvp_head head;
	struct kvp_abi abi;
	struct kvp_pool_create pool_create;
	struct kvp_pool_attach pool_attach;
	struct kvp_pool_ready pool_ready;
	struct kvp_pool_info pool_info;
	struct kvp_pool_list pool_list;
	struct kvp_pool_destroy pool_destroy;
	struct kvp_limit limit;
	struct kvp_backing backing;
	struct kvp_block_alloc block_alloc;
	struct kvp_block_refs block_refs;
	struct kvp_block_make_private make_private;
	struct kvp_seq_create seq_create;
	struct kvp_seq_append seq_append;
	struct kvp_seq_set_tokens set_tokens;
	struct kvp_seq_advance advance;
	struct kvp_seq_id seq_id;
	struct kvp_seq_fork fork;
	struct kvp_seq_truncate truncate;
	struct kvp_seq_table table;
	struct kvp_seq_export seq_export;
	struct kvp_seq_import seq_import;
	struct kvp_seq_positions positions;
	struct kvp_remap_begin remap_begin;
	struct kvp_remap_moves remap_moves;
	struct kvp_remap_end remap_end;
	struct kvp_export_revoke revoke;
	struct kvp_prefix_match match;
	struct kvp_prefix_release release;
	struct kvp_prefix_publish publish;
	struct kvp_prefix_invalidate invalidate;
	struct kvp_prefix_reclaim reclaim;
	struct kvp_timeline_create timeline_create;
	struct kvp_use use;
	struct kvp_signal signal;
	struct kvp_query query;
	struct kvp_reap reap;
	struct kvp_admit admit;
	struct kvp_stats stats;
	struct kvp_audit audit;
	struct kvp_block_dump dump;
	struct kvp_client_list client_list;
	struct kvp_events events;
	struct kvp_batch batch;
};

extern _Thread_local union kvpt_arg kvpt;

/* Call @op with *@arg; head.size is set if it is 0. Leaves kvpt alone. */
int kvpt_call(struct kvp_client *client, u32 op, void *arg, u32 size);
#define kvpt_do(client, op, arg) kvpt_call(client, op, arg, sizeof(*(arg)))

/* ---- failures ---- */

void kvpt_die(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));

#ifdef CHECK_H
#define kvpt_fail(...)	ck_abort_msg(__VA_ARGS__)
#else
#define kvpt_fail(...)	kvpt_die(__FILE__, __LINE__, __VA_ARGS__)
#endif

/* The call @expr of one of the helpers returns @err, for @why. */
#define kvpt_expect(expr, err, why)						\
do {										\
	int kvpt_got_ = (expr);							\
	int kvpt_want_ = (err);							\
	u32 kvpt_why_ = (why);							\
										\
	if (kvpt_got_ != kvpt_want_ || kvpt.head.reason != kvpt_why_)		\
		kvpt_fail("%s: %d reason %u, expected %d reason %u", #expr,	\
			  kvpt_got_, kvpt.head.reason, kvpt_want_, kvpt_why_);	\
} while (0)
#define kvpt_ok(expr)	kvpt_expect(expr, 0, KVP_REASON_NONE)

/* ---- hosts, clients, pools ---- */

#define KVPT_MAX_CLIENTS	64
#define KVPT_POOL_NAME		"pool"
#define KVPT_OWNER		1000	/* uid of the client that kvpt_pool() opens */

/**
 * struct kvpt_env - a host, and the clients that kvpt_env_exit() closes
 * @host: the host
 * @door: through which clients are opened; kvp_inproc_door
 * @clients: open clients, NULL where one was closed
 */
struct kvpt_env {
	struct kvp_host host;
	const struct kvp_door *door;
	struct kvp_client *clients[KVPT_MAX_CLIENTS];
};

void kvpt_env_init(struct kvpt_env *env);
void kvpt_env_exit(struct kvpt_env *env);

/* A client that is attached to nothing; dies where that fails. */
struct kvp_client *kvpt_open_cred(struct kvpt_env *env, const struct kvp_cred *cred);
struct kvp_client *kvpt_open(struct kvpt_env *env, u32 uid);
void kvpt_close(struct kvpt_env *env, struct kvp_client *client);

#define KVPT_DENSE(nr, tokens_) \
	{ .kind = KVP_FAMILY_DENSE, .block_tokens = (tokens_), .blocks = (nr), .block_bytes = 64 }
#define KVPT_WINDOW(nr, tokens_, window_) \
	{ .kind = KVP_FAMILY_WINDOW, .block_tokens = (tokens_), .blocks = (nr), \
	  .block_bytes = 64, .window = (window_) }
#define KVPT_STATE(nr) \
	{ .kind = KVP_FAMILY_STATE, .block_tokens = 1, .blocks = (nr), .block_bytes = 64 }

/*
 * Open a client (uid KVPT_OWNER, all rights) that makes the pool KVPT_POOL_NAME, mode 0666;
 * or one that attaches to it. Both die where that fails.
 */
struct kvp_client *kvpt_pool(struct kvpt_env *env, const struct kvp_family_desc *families,
			     u32 nr);
struct kvp_client *kvpt_join(struct kvpt_env *env, u32 uid, u32 wanted);

/* The client's id in its pool. */
u64 kvpt_client_id(struct kvp_client *client);

/* ---- pool ---- */

int kvpt_abi(struct kvp_client *client);
int kvpt_pool_create(struct kvp_client *client, const char *name, u32 mode,
		     const struct kvp_family_desc *families, u32 nr);
int kvpt_pool_attach(struct kvp_client *client, const char *name, u32 wanted);
int kvpt_pool_ready(struct kvp_client *client);
int kvpt_pool_info(struct kvp_client *client, struct kvp_family_desc *families, u32 nr);
int kvpt_pool_list(struct kvp_client *client, struct kvp_pool_entry *pools, u32 nr);
int kvpt_pool_destroy(struct kvp_client *client, const char *name, u32 flags);
/* Set the one limit that @bit (KVP_LIMIT_*) names; @target 0: of those to come. */
int kvpt_limit(struct kvp_client *client, u64 target, u32 bit, u32 family, u64 value);
/* The same of a uid, or KVP_UID_ANY. */
int kvpt_limit_uid(struct kvp_client *client, u64 uid, u32 bit, u32 family, u64 value);
int kvpt_backing_add(struct kvp_client *client, int fd, u64 length, u64 label);
int kvpt_backing_get(struct kvp_client *client, u32 index);

/* ---- block ---- */

int kvpt_alloc(struct kvp_client *client, u32 family, u32 nr, u64 *blocks);
int kvpt_ref(struct kvp_client *client, const u64 *blocks, u32 nr);
int kvpt_ref_from(struct kvp_client *client, u64 holder, u64 first, const u64 *blocks, u32 nr);
int kvpt_unref(struct kvp_client *client, const u64 *blocks, u32 nr);
/* *@result (may be NULL): the block to write to. */
int kvpt_make_private(struct kvp_client *client, u64 block, u64 *result);

/* ---- sequence ---- */

/*
 * Namespaces are numbers here: the digest begins with the number. So are extra
 * digests.
 */
void kvpt_digest(u32 number, u8 digest[KVP_DIGEST_LEN]);
struct kvp_extra kvpt_extra(u64 node, u32 number);

/* A sequence with @nr tokens of @space. *@seq is set where the call succeeds. */
int kvpt_create(struct kvp_client *client, u32 space, const u32 *tokens, u32 nr, u64 *seq);
int kvpt_create_flags(struct kvp_client *client, u32 flags, u32 space, const u32 *tokens,
		      u32 nr, u64 *seq);
/* The same from a struct in which head.flags, reserve, extras ... are set already. */
int kvpt_create_with(struct kvp_client *client, const struct kvp_seq_create *arg, u32 space,
		     const u32 *tokens, u32 nr, u64 *seq);

/* Room for copies is always offered; the copies asked for are in kvpt_copies. */
#define KVPT_MAX_COPIES	1024
extern _Thread_local struct kvp_copy kvpt_copies[KVPT_MAX_COPIES];

/* Begin a call: an empty struct in the thread's kvpt. */
static inline union kvpt_arg *kvpt_begin(void)
{
	memset(&kvpt, 0, sizeof(kvpt));
	return &kvpt;
}

static inline u64 kvpt_addr(const void *ptr)
{
	return (u64)(uintptr_t)ptr;
}

int kvpt_append(struct kvp_client *client, u64 seq, const u32 *tokens, u32 nr);
int kvpt_reserve(struct kvp_client *client, u64 seq, u64 reserve);
/* The same from a struct in which position, reserve, extras, copies ... are set already. */
int kvpt_append_with(struct kvp_client *client, const struct kvp_seq_append *arg, u64 seq,
		     const u32 *tokens, u32 nr);
int kvpt_set_tokens(struct kvp_client *client, u64 seq, const u32 *tokens, u32 nr);
int kvpt_set_tokens_with(struct kvp_client *client, const struct kvp_seq_set_tokens *arg,
			 u64 seq, const u32 *tokens, u32 nr);
int kvpt_advance(struct kvp_client *client, u64 seq, u64 computed);
int kvpt_copied(struct kvp_client *client, u64 seq);
int kvpt_fork(struct kvp_client *client, u64 seq, u64 tokens, u64 *child);
int kvpt_truncate(struct kvp_client *client, u64 seq, u64 tokens);
int kvpt_free(struct kvp_client *client, u64 seq);
/* The first @nr blocks of the family's table; lengths and total are in kvpt.table. */
int kvpt_table(struct kvp_client *client, u64 seq, u32 family, u64 *blocks, u32 nr);
/* Through a door that can (exportdoor.h). *@fd, *@seq: set where the call succeeds. */
int kvpt_export(struct kvp_client *client, u64 seq, s32 *fd);
int kvpt_import(struct kvp_client *client, s32 fd, u64 *seq);
int kvpt_revoke(struct kvp_client *client, u64 export);

/* ---- prefix ---- */

/* *@match set: hold, and the id (0 if nothing matched); NULL: only look. */
int kvpt_match(struct kvp_client *client, u32 space, const u32 *tokens, u32 nr, u64 *match);
int kvpt_match_blocks(struct kvp_client *client, u32 space, const u32 *tokens, u32 nr,
		      u32 family, u64 *blocks, u32 nr_blocks, u64 *match);
int kvpt_match_with(struct kvp_client *client, const struct kvp_prefix_match *arg, u32 space,
		    const u32 *tokens, u32 nr);
int kvpt_release(struct kvp_client *client, u64 match);
int kvpt_publish(struct kvp_client *client, u64 seq);
int kvpt_publish_with(struct kvp_client *client, u64 seq, u32 flags, u64 limit, u32 tag);
int kvpt_invalidate_space(struct kvp_client *client, u32 space);
int kvpt_invalidate_prefix(struct kvp_client *client, u32 space, const u32 *tokens, u32 nr);
int kvpt_invalidate_tag(struct kvp_client *client, u32 tag);
int kvpt_reclaim(struct kvp_client *client, u64 nodes);

/* create, advance, publish, free: @nr tokens of @space are published and idle. */
int kvpt_make_published(struct kvp_client *client, u32 space, const u32 *tokens, u32 nr);

/* ---- watch, batch ---- */

/* @who: 0: the pool, KVP_STATS_SELF, or a client. Counters are in kvpt.stats. */
int kvpt_stats(struct kvp_client *client, u64 who, struct kvp_family_stats *families, u32 nr);
int kvpt_stats_uid(struct kvp_client *client, u64 uid, struct kvp_family_stats *families,
		   u32 nr);
int kvpt_audit(struct kvp_client *client, struct kvp_finding *findings, u32 nr);
int kvpt_dump(struct kvp_client *client, u32 family, u64 cursor,
	      struct kvp_block_entry *entries, u32 nr);
int kvpt_client_list(struct kvp_client *client, struct kvp_client_entry *entries, u32 nr);
/* From @cursor on; lengths are in kvpt.events. */
int kvpt_events(struct kvp_client *client, u64 cursor, struct kvp_event *events, u32 nr);
int kvpt_batch(struct kvp_client *client, u32 flags, struct kvp_batch_entry *entries, u32 nr);

/* Blocks of @family that are in @state; dies where stats fail. Leaves kvpt alone. */
u64 kvpt_blocks(struct kvp_client *client, u32 family, enum kvp_block_state state);

/* ---- nothing has changed, and all is sound ---- */

/**
 * struct kvpt_stats - what the pool and one client have, at one moment
 * @pool: counters of the pool
 * @self: counters of the client
 * @pool_families: of the pool
 * @self_families: of the client
 * @nr_families: how many
 * @blocks: every block of every family, one family after the other (needs ADMIN to
 *          show them all)
 * @nr_blocks: how many
 */
struct kvpt_stats {
	struct kvp_stats pool;
	struct kvp_stats self;
	struct kvp_family_stats pool_families[KVP_MAX_FAMILIES];
	struct kvp_family_stats self_families[KVP_MAX_FAMILIES];
	u32 nr_families;
	struct kvp_block_entry *blocks;
	u64 nr_blocks;
};

/* Look; dies where a call fails. To be ended with kvpt_stats_drop(). Leaves kvpt alone. */
void kvpt_stats_take(struct kvp_client *client, struct kvpt_stats *stats);
void kvpt_stats_drop(struct kvpt_stats *stats);

/*
 * The first difference in words (static text of the thread), or NULL. Everything is compared
 * but what counts refusals, and the age of blocks.
 */
const char *kvpt_stats_diff(const struct kvpt_stats *before, const struct kvpt_stats *after);

#define kvpt_expect_stats_equal(before, after)				\
do {									\
	const char *kvpt_diff_ = kvpt_stats_diff(before, after);	\
									\
	if (kvpt_diff_)							\
		kvpt_fail("changed: %s", kvpt_diff_);			\
} while (0)

/* @expr fails with @err for @why, and nothing that @client (ADMIN) can see has changed. */
#define kvpt_expect_refused(client, expr, err, why)			\
do {									\
	struct kvpt_stats kvpt_before_, kvpt_after_;			\
									\
	kvpt_stats_take(client, &kvpt_before_);				\
	kvpt_expect(expr, err, why);					\
	kvpt_stats_take(client, &kvpt_after_);				\
	kvpt_expect_stats_equal(&kvpt_before_, &kvpt_after_);		\
	kvpt_stats_drop(&kvpt_before_);					\
	kvpt_stats_drop(&kvpt_after_);					\
} while (0)

/* What the audit finds first in words (static text of the thread), or NULL. Needs ADMIN. */
const char *kvpt_audit_text(struct kvp_client *client);

/* The audit finds nothing. Leaves kvpt alone. */
#define kvpt_audit_clean(client)					\
do {									\
	const char *kvpt_text_ = kvpt_audit_text(client);		\
									\
	if (kvpt_text_)							\
		kvpt_fail("audit: %s", kvpt_text_);			\
} while (0)

#endif /* KVPT_HARNESS_H */

// SPDX-License-Identifier: MIT
/*
 * Short helpers over kvp_call(). Owns nothing but the thread's last struct; a struct kvpt_env
 * is used by one thread at a time.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

_Thread_local union kvpt_arg kvpt;
_Thread_local struct kvp_copy kvpt_copies[KVPT_MAX_COPIES];

void kvpt_die(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fprintf(stderr, "%s:%d: ", file, line);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	abort();
}

int kvpt_call(struct kvp_client *client, u32 op, void *arg, u32 size)
{
	struct kvp_head *head = arg;

	if (!head->size)
		head->size = size;
	return kvp_call(client, op, (u64)(uintptr_t)arg, size);
}

/* ---- hosts, clients, pools ---- */

void kvpt_env_init(struct kvpt_env *env)
{
	memset(env, 0, sizeof(*env));
	env->door = &kvp_inproc_door;
	kvp_host_init(&env->host);
}

void kvpt_env_exit(struct kvpt_env *env)
{
	u32 i;

	for (i = 0; i < KVPT_MAX_CLIENTS; i++) {
		if (env->clients[i])
			kvp_client_close(env->clients[i]);
	}
	kvp_host_exit(&env->host);
}

struct kvp_client *kvpt_open_cred(struct kvpt_env *env, const struct kvp_cred *cred)
{
	struct kvp_client *client = kvp_client_open(&env->host, env->door, cred);
	u32 i;

	if (IS_ERR_OR_NULL(client))
		kvpt_die(__FILE__, __LINE__, "cannot open a client");
	for (i = 0; i < KVPT_MAX_CLIENTS; i++) {
		if (!env->clients[i]) {
			env->clients[i] = client;
			return client;
		}
	}
	kvpt_die(__FILE__, __LINE__, "more than %d clients", KVPT_MAX_CLIENTS);
}

struct kvp_client *kvpt_open(struct kvpt_env *env, u32 uid)
{
	const struct kvp_cred cred = { .uid = uid, .gid = uid };

	return kvpt_open_cred(env, &cred);
}

void kvpt_close(struct kvpt_env *env, struct kvp_client *client)
{
	u32 i;

	for (i = 0; i < KVPT_MAX_CLIENTS; i++) {
		if (env->clients[i] == client)
			env->clients[i] = NULL;
	}
	kvp_client_close(client);
}

struct kvp_client *kvpt_pool(struct kvpt_env *env, const struct kvp_family_desc *families,
			     u32 nr)
{
	struct kvp_client *client = kvpt_open(env, KVPT_OWNER);
	int err = kvpt_pool_create(client, KVPT_POOL_NAME, 0666, families, nr);

	if (err)
		kvpt_die(__FILE__, __LINE__, "pool: %d reason %u where %u", err,
			 kvpt.head.reason, kvpt.head.where);
	return client;
}

struct kvp_client *kvpt_join(struct kvpt_env *env, u32 uid, u32 wanted)
{
	struct kvp_client *client = kvpt_open(env, uid);
	int err = kvpt_pool_attach(client, KVPT_POOL_NAME, wanted);

	if (err)
		kvpt_die(__FILE__, __LINE__, "attach: %d reason %u", err, kvpt.head.reason);
	return client;
}

u64 kvpt_client_id(struct kvp_client *client)
{
	struct kvp_pool_info info = { };

	if (kvpt_do(client, KVP_OP_POOL_INFO, &info))
		kvpt_die(__FILE__, __LINE__, "info: reason %u", info.head.reason);
	return info.client;
}

/* ---- pool ---- */

int kvpt_abi(struct kvp_client *client)
{
	return kvpt_do(client, KVP_OP_ABI, &kvpt_begin()->abi);
}

int kvpt_pool_create(struct kvp_client *client, const char *name, u32 mode,
		     const struct kvp_family_desc *families, u32 nr)
{
	struct kvp_pool_create *arg = &kvpt_begin()->pool_create;

	strncpy(arg->name, name, sizeof(arg->name) - 1);
	arg->mode = mode;
	arg->families = kvpt_addr(families);
	arg->nr_families = nr;
	return kvpt_do(client, KVP_OP_POOL_CREATE, arg);
}

int kvpt_pool_attach(struct kvp_client *client, const char *name, u32 wanted)
{
	struct kvp_pool_attach *arg = &kvpt_begin()->pool_attach;

	strncpy(arg->name, name, sizeof(arg->name) - 1);
	arg->wanted = wanted;
	return kvpt_do(client, KVP_OP_POOL_ATTACH, arg);
}

int kvpt_pool_ready(struct kvp_client *client)
{
	return kvpt_do(client, KVP_OP_POOL_READY, &kvpt_begin()->pool_ready);
}

int kvpt_pool_info(struct kvp_client *client, struct kvp_family_desc *families, u32 nr)
{
	struct kvp_pool_info *arg = &kvpt_begin()->pool_info;

	arg->families = kvpt_addr(families);
	arg->nr_families = nr;
	return kvpt_do(client, KVP_OP_POOL_INFO, arg);
}

int kvpt_pool_list(struct kvp_client *client, struct kvp_pool_entry *pools, u32 nr)
{
	struct kvp_pool_list *arg = &kvpt_begin()->pool_list;

	arg->pools = kvpt_addr(pools);
	arg->nr_pools = nr;
	return kvpt_do(client, KVP_OP_POOL_LIST, arg);
}

int kvpt_pool_destroy(struct kvp_client *client, const char *name, u32 flags)
{
	struct kvp_pool_destroy *arg = &kvpt_begin()->pool_destroy;

	arg->head.flags = flags;
	strncpy(arg->name, name, sizeof(arg->name) - 1);
	return kvpt_do(client, KVP_OP_POOL_DESTROY, arg);
}

static int kvpt_limit_flags(struct kvp_client *client, u32 flags, u64 target, u32 bit,
			    u32 family, u64 value)
{
	struct kvp_limit *arg = &kvpt_begin()->limit;

	arg->head.flags = flags;
	arg->client = target;
	arg->mask = bit;
	arg->family = family;
	arg->blocks = value;
	arg->guarantee = value;
	arg->slots = value;
	arg->seqs = value;
	arg->raw = value;
	arg->matches = value;
	arg->metadata_bytes = value;
	arg->exports = value;
	arg->backings = value;
	arg->tickets = value;
	return kvpt_do(client, KVP_OP_LIMIT, arg);
}

int kvpt_limit(struct kvp_client *client, u64 target, u32 bit, u32 family, u64 value)
{
	return kvpt_limit_flags(client, 0, target, bit, family, value);
}

int kvpt_limit_uid(struct kvp_client *client, u64 uid, u32 bit, u32 family, u64 value)
{
	return kvpt_limit_flags(client, KVP_LIMIT_OF_UID, uid, bit, family, value);
}

int kvpt_backing_add(struct kvp_client *client, int fd, u64 length, u64 label)
{
	struct kvp_backing *arg = &kvpt_begin()->backing;

	arg->fd = fd;
	arg->kind = KVP_BACKING_MEMFD;
	arg->length = length;
	arg->label = label;
	return kvpt_do(client, KVP_OP_BACKING_ADD, arg);
}

int kvpt_backing_get(struct kvp_client *client, u32 index)
{
	struct kvp_backing *arg = &kvpt_begin()->backing;

	arg->index = index;
	return kvpt_do(client, KVP_OP_BACKING_GET, arg);
}

/* ---- block ---- */

int kvpt_alloc(struct kvp_client *client, u32 family, u32 nr, u64 *blocks)
{
	struct kvp_block_alloc *arg = &kvpt_begin()->block_alloc;

	arg->blocks = kvpt_addr(blocks);
	arg->nr = nr;
	arg->family = family;
	return kvpt_do(client, KVP_OP_BLOCK_ALLOC, arg);
}

int kvpt_ref(struct kvp_client *client, const u64 *blocks, u32 nr)
{
	return kvpt_ref_from(client, 0, 0, blocks, nr);
}

int kvpt_ref_from(struct kvp_client *client, u64 holder, u64 first, const u64 *blocks, u32 nr)
{
	struct kvp_block_refs *arg = &kvpt_begin()->block_refs;

	arg->blocks = kvpt_addr(blocks);
	arg->nr = nr;
	arg->holder = holder;
	arg->first = first;
	return kvpt_do(client, KVP_OP_BLOCK_REF, arg);
}

int kvpt_unref(struct kvp_client *client, const u64 *blocks, u32 nr)
{
	struct kvp_block_refs *arg = &kvpt_begin()->block_refs;

	arg->blocks = kvpt_addr(blocks);
	arg->nr = nr;
	return kvpt_do(client, KVP_OP_BLOCK_UNREF, arg);
}

int kvpt_make_private(struct kvp_client *client, u64 block, u64 *result)
{
	struct kvp_block_make_private *arg = &kvpt_begin()->make_private;
	int err;

	arg->block = block;
	err = kvpt_do(client, KVP_OP_BLOCK_MAKE_PRIVATE, arg);
	if (!err && result)
		*result = arg->result;
	return err;
}

/* ---- sequence ---- */

void kvpt_digest(u32 number, u8 digest[KVP_DIGEST_LEN])
{
	memset(digest, 0x5a, KVP_DIGEST_LEN);
	memcpy(digest, &number, sizeof(number));
}

struct kvp_extra kvpt_extra(u64 node, u32 number)
{
	struct kvp_extra extra = { .node = node };

	kvpt_digest(number, extra.digest);
	return extra;
}

int kvpt_create(struct kvp_client *client, u32 space, const u32 *tokens, u32 nr, u64 *seq)
{
	return kvpt_create_flags(client, 0, space, tokens, nr, seq);
}

int kvpt_create_flags(struct kvp_client *client, u32 flags, u32 space, const u32 *tokens,
		      u32 nr, u64 *seq)
{
	const struct kvp_seq_create arg = { .head.flags = flags };

	return kvpt_create_with(client, &arg, space, tokens, nr, seq);
}

int kvpt_create_with(struct kvp_client *client, const struct kvp_seq_create *with, u32 space,
		     const u32 *tokens, u32 nr, u64 *seq)
{
	struct kvp_seq_create *arg = &kvpt_begin()->seq_create;
	int err;

	*arg = *with;
	kvpt_digest(space, arg->space);
	arg->tokens = kvpt_addr(tokens);
	arg->nr_tokens = nr;
	err = kvpt_do(client, KVP_OP_SEQ_CREATE, arg);
	if (!err && seq)
		*seq = arg->seq;
	return err;
}

int kvpt_append(struct kvp_client *client, u64 seq, const u32 *tokens, u32 nr)
{
	const struct kvp_seq_append arg = {
		.position = KVP_POS_END,
		.copies = kvpt_addr(kvpt_copies),
		.nr_copies = KVPT_MAX_COPIES,
	};

	return kvpt_append_with(client, &arg, seq, tokens, nr);
}

int kvpt_reserve(struct kvp_client *client, u64 seq, u64 reserve)
{
	const struct kvp_seq_append arg = {
		.position = KVP_POS_END,
		.reserve = reserve,
		.copies = kvpt_addr(kvpt_copies),
		.nr_copies = KVPT_MAX_COPIES,
	};

	return kvpt_append_with(client, &arg, seq, NULL, 0);
}

int kvpt_append_with(struct kvp_client *client, const struct kvp_seq_append *with, u64 seq,
		     const u32 *tokens, u32 nr)
{
	struct kvp_seq_append *arg = &kvpt_begin()->seq_append;

	*arg = *with;
	arg->seq = seq;
	arg->tokens = kvpt_addr(tokens);
	arg->nr_tokens = nr;
	return kvpt_do(client, KVP_OP_SEQ_APPEND, arg);
}

int kvpt_set_tokens(struct kvp_client *client, u64 seq, const u32 *tokens, u32 nr)
{
	const struct kvp_seq_set_tokens arg = { .position = KVP_POS_END };

	return kvpt_set_tokens_with(client, &arg, seq, tokens, nr);
}

int kvpt_set_tokens_with(struct kvp_client *client, const struct kvp_seq_set_tokens *with,
			 u64 seq, const u32 *tokens, u32 nr)
{
	struct kvp_seq_set_tokens *arg = &kvpt_begin()->set_tokens;

	*arg = *with;
	arg->seq = seq;
	arg->tokens = kvpt_addr(tokens);
	arg->nr_tokens = nr;
	return kvpt_do(client, KVP_OP_SEQ_SET_TOKENS, arg);
}

int kvpt_advance(struct kvp_client *client, u64 seq, u64 computed)
{
	struct kvp_seq_advance *arg = &kvpt_begin()->advance;

	arg->seq = seq;
	arg->computed = computed;
	return kvpt_do(client, KVP_OP_SEQ_ADVANCE, arg);
}

int kvpt_copied(struct kvp_client *client, u64 seq)
{
	struct kvp_seq_id *arg = &kvpt_begin()->seq_id;

	arg->seq = seq;
	return kvpt_do(client, KVP_OP_SEQ_COPIED, arg);
}

int kvpt_fork(struct kvp_client *client, u64 seq, u64 tokens, u64 *child)
{
	struct kvp_seq_fork *arg = &kvpt_begin()->fork;
	int err;

	arg->seq = seq;
	arg->tokens = tokens;
	arg->copies = kvpt_addr(kvpt_copies);
	arg->nr_copies = KVPT_MAX_COPIES;
	err = kvpt_do(client, KVP_OP_SEQ_FORK, arg);
	if (!err && child)
		*child = arg->child;
	return err;
}

int kvpt_truncate(struct kvp_client *client, u64 seq, u64 tokens)
{
	struct kvp_seq_truncate *arg = &kvpt_begin()->truncate;

	arg->seq = seq;
	arg->tokens = tokens;
	return kvpt_do(client, KVP_OP_SEQ_TRUNCATE, arg);
}

int kvpt_free(struct kvp_client *client, u64 seq)
{
	struct kvp_seq_id *arg = &kvpt_begin()->seq_id;

	arg->seq = seq;
	return kvpt_do(client, KVP_OP_SEQ_FREE, arg);
}

int kvpt_table(struct kvp_client *client, u64 seq, u32 family, u64 *blocks, u32 nr)
{
	struct kvp_seq_table *arg = &kvpt_begin()->table;

	arg->seq = seq;
	arg->family = family;
	arg->blocks = kvpt_addr(blocks);
	arg->nr_blocks = nr;
	return kvpt_do(client, KVP_OP_SEQ_TABLE, arg);
}

int kvpt_export(struct kvp_client *client, u64 seq, s32 *fd)
{
	struct kvp_seq_export *arg = &kvpt_begin()->seq_export;
	int err;

	arg->seq = seq;
	err = kvpt_do(client, KVP_OP_SEQ_EXPORT, arg);
	if (!err && fd)
		*fd = arg->fd;
	return err;
}

int kvpt_import(struct kvp_client *client, s32 fd, u64 *seq)
{
	struct kvp_seq_import *arg = &kvpt_begin()->seq_import;
	int err;

	arg->fd = fd;
	err = kvpt_do(client, KVP_OP_SEQ_IMPORT, arg);
	if (!err && seq)
		*seq = arg->seq;
	return err;
}

int kvpt_revoke(struct kvp_client *client, u64 export)
{
	struct kvp_export_revoke *arg = &kvpt_begin()->revoke;

	arg->export_id = export;
	return kvpt_do(client, KVP_OP_EXPORT_REVOKE, arg);
}

/* ---- prefix ---- */

int kvpt_match(struct kvp_client *client, u32 space, const u32 *tokens, u32 nr, u64 *match)
{
	return kvpt_match_blocks(client, space, tokens, nr, 0, NULL, 0, match);
}

int kvpt_match_blocks(struct kvp_client *client, u32 space, const u32 *tokens, u32 nr,
		      u32 family, u64 *blocks, u32 nr_blocks, u64 *match)
{
	const struct kvp_prefix_match arg = {
		.head.flags = match ? KVP_MATCH_HOLD : 0,
		.family = family,
		.blocks = kvpt_addr(blocks),
		.nr_blocks = nr_blocks,
	};
	int err = kvpt_match_with(client, &arg, space, tokens, nr);

	if (!err && match)
		*match = kvpt.match.match;
	return err;
}

int kvpt_match_with(struct kvp_client *client, const struct kvp_prefix_match *with, u32 space,
		    const u32 *tokens, u32 nr)
{
	struct kvp_prefix_match *arg = &kvpt_begin()->match;

	*arg = *with;
	kvpt_digest(space, arg->space);
	arg->tokens = kvpt_addr(tokens);
	arg->nr_tokens = nr;
	return kvpt_do(client, KVP_OP_PREFIX_MATCH, arg);
}

int kvpt_release(struct kvp_client *client, u64 match)
{
	struct kvp_prefix_release *arg = &kvpt_begin()->release;

	arg->match = match;
	return kvpt_do(client, KVP_OP_PREFIX_RELEASE, arg);
}

int kvpt_publish(struct kvp_client *client, u64 seq)
{
	return kvpt_publish_with(client, seq, 0, 0, 0);
}

int kvpt_publish_with(struct kvp_client *client, u64 seq, u32 flags, u64 limit, u32 tag)
{
	struct kvp_prefix_publish *arg = &kvpt_begin()->publish;

	arg->head.flags = flags;
	arg->seq = seq;
	arg->limit = limit;
	arg->tag = tag;
	return kvpt_do(client, KVP_OP_PREFIX_PUBLISH, arg);
}

int kvpt_invalidate_space(struct kvp_client *client, u32 space)
{
	struct kvp_prefix_invalidate *arg = &kvpt_begin()->invalidate;

	arg->head.flags = KVP_INVALIDATE_SPACE;
	kvpt_digest(space, arg->space);
	return kvpt_do(client, KVP_OP_PREFIX_INVALIDATE, arg);
}

int kvpt_invalidate_prefix(struct kvp_client *client, u32 space, const u32 *tokens, u32 nr)
{
	struct kvp_prefix_invalidate *arg = &kvpt_begin()->invalidate;

	arg->head.flags = KVP_INVALIDATE_PREFIX;
	kvpt_digest(space, arg->space);
	arg->tokens = kvpt_addr(tokens);
	arg->nr_tokens = nr;
	return kvpt_do(client, KVP_OP_PREFIX_INVALIDATE, arg);
}

int kvpt_invalidate_tag(struct kvp_client *client, u32 tag)
{
	struct kvp_prefix_invalidate *arg = &kvpt_begin()->invalidate;

	arg->head.flags = KVP_INVALIDATE_TAG;
	arg->tag = tag;
	return kvpt_do(client, KVP_OP_PREFIX_INVALIDATE, arg);
}

int kvpt_reclaim(struct kvp_client *client, u64 nodes)
{
	struct kvp_prefix_reclaim *arg = &kvpt_begin()->reclaim;

	arg->nodes = nodes;
	return kvpt_do(client, KVP_OP_PREFIX_RECLAIM, arg);
}

int kvpt_make_published(struct kvp_client *client, u32 space, const u32 *tokens, u32 nr)
{
	u64 seq;
	int err;

	err = kvpt_create(client, space, tokens, nr, &seq);
	if (err)
		return err;
	err = kvpt_advance(client, seq, nr);
	if (!err)
		err = kvpt_publish(client, seq);
	if (err)
		return err;
	return kvpt_free(client, seq);
}

/* ---- watch, batch ---- */

static int kvpt_stats_flags(struct kvp_client *client, u32 flags, u64 who,
			    struct kvp_family_stats *families, u32 nr)
{
	struct kvp_stats *arg = &kvpt_begin()->stats;

	arg->head.flags = flags;
	arg->client = who;
	arg->families = kvpt_addr(families);
	arg->nr_families = nr;
	return kvpt_do(client, KVP_OP_STATS, arg);
}

int kvpt_stats(struct kvp_client *client, u64 who, struct kvp_family_stats *families, u32 nr)
{
	return kvpt_stats_flags(client, 0, who, families, nr);
}

int kvpt_stats_uid(struct kvp_client *client, u64 uid, struct kvp_family_stats *families,
		   u32 nr)
{
	return kvpt_stats_flags(client, KVP_STATS_OF_UID, uid, families, nr);
}

int kvpt_audit(struct kvp_client *client, struct kvp_finding *findings, u32 nr)
{
	struct kvp_audit *arg = &kvpt_begin()->audit;

	arg->findings = kvpt_addr(findings);
	arg->nr_findings = nr;
	return kvpt_do(client, KVP_OP_AUDIT, arg);
}

int kvpt_dump(struct kvp_client *client, u32 family, u64 cursor,
	      struct kvp_block_entry *entries, u32 nr)
{
	struct kvp_block_dump *arg = &kvpt_begin()->dump;

	arg->family = family;
	arg->cursor = cursor;
	arg->entries = kvpt_addr(entries);
	arg->nr_entries = nr;
	return kvpt_do(client, KVP_OP_BLOCK_DUMP, arg);
}

int kvpt_client_list(struct kvp_client *client, struct kvp_client_entry *entries, u32 nr)
{
	struct kvp_client_list *arg = &kvpt_begin()->client_list;

	arg->entries = kvpt_addr(entries);
	arg->nr_entries = nr;
	return kvpt_do(client, KVP_OP_CLIENT_LIST, arg);
}

int kvpt_events(struct kvp_client *client, u64 cursor, struct kvp_event *events, u32 nr)
{
	struct kvp_events *arg = &kvpt_begin()->events;

	arg->cursor = cursor;
	arg->events = kvpt_addr(events);
	arg->nr_events = nr;
	return kvpt_do(client, KVP_OP_EVENTS, arg);
}

int kvpt_batch(struct kvp_client *client, u32 flags, struct kvp_batch_entry *entries, u32 nr)
{
	struct kvp_batch *arg = &kvpt_begin()->batch;

	arg->head.flags = flags;
	arg->entries = kvpt_addr(entries);
	arg->nr_entries = nr;
	return kvpt_do(client, KVP_OP_BATCH, arg);
}

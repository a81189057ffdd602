// SPDX-License-Identifier: MIT
/*
 * Calls on the device, one function an operation. Owns kvpv_head, which is the thread's, and
 * kvpv_way, which is constant once it is set.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"

_Thread_local struct kvp_head kvpv_head;
int (*kvpv_way)(int fd, u32 op, void *arg, u32 size);

int kvpv_call(int fd, u32 op, void *arg, u32 size)
{
	struct kvp_head *head = arg;
	int ret;

	if (!head->size)
		head->size = size;
	ret = kvpv_way ? kvpv_way(fd, op, arg, head->size) : ioctl(fd, KVP_IOC(op), arg);
	if (ret > 0)
		kvpv_fail("operation 0x%x returned %d", op, ret);
	if (ret && !kvpv_way)
		ret = -errno;
	kvpv_head = *head;
	return ret;
}

int kvpv_open(void)
{
	return kvpv_sys(open(KVPV_DEVICE, O_RDWR | O_CLOEXEC));
}

int kvpv_open_as(uid_t uid, gid_t gid)
{
	int fd;

	kvpv_sys(setegid(gid));
	kvpv_sys(seteuid(uid));
	fd = kvpv_open();
	kvpv_sys(seteuid(0));
	kvpv_sys(setegid(0));
	return fd;
}

/* ---- pools ---- */

static void set_name(char field[KVP_NAME_LEN], const char *name)
{
	if (strlen(name) >= KVP_NAME_LEN)
		kvpv_fail("%s is too long for a name", name);
	memcpy(field, name, strlen(name) + 1);
}

int kvpv_create(int fd, const char *name, u32 mode, u32 flags,
		const struct kvp_family_desc *families, u32 nr)
{
	struct kvp_pool_create arg = {
		.head.flags = flags,
		.families = kvpv_ptr(families),
		.nr_families = nr,
		.mode = mode,
	};

	set_name(arg.name, name);
	return kvpv_do(fd, KVP_OP_POOL_CREATE, &arg);
}

int kvpv_pool(const char *name, u32 blocks)
{
	const struct kvp_family_desc dense = KVPV_DENSE(blocks, 4);
	int fd = kvpv_open();

	kvpv_ok(kvpv_create(fd, name, 0666, 0, &dense, 1));
	return fd;
}

int kvpv_attach(int fd, const char *name, u32 wanted, u64 *client)
{
	struct kvp_pool_attach arg = { .wanted = wanted };
	int err;

	set_name(arg.name, name);
	err = kvpv_do(fd, KVP_OP_POOL_ATTACH, &arg);
	if (client)
		*client = arg.client;
	return err;
}

int kvpv_join(const char *name)
{
	int fd = kvpv_open();

	kvpv_ok(kvpv_attach(fd, name, 0, NULL));
	return fd;
}

int kvpv_destroy(int fd, const char *name, u32 flags)
{
	struct kvp_pool_destroy arg = { .head.flags = flags };

	set_name(arg.name, name);
	return kvpv_do(fd, KVP_OP_POOL_DESTROY, &arg);
}

/* ---- blocks ---- */

int kvpv_alloc(int fd, u32 family, u32 nr, u64 *blocks)
{
	struct kvp_block_alloc arg = { .blocks = kvpv_ptr(blocks), .nr = nr, .family = family };

	return kvpv_do(fd, KVP_OP_BLOCK_ALLOC, &arg);
}

int kvpv_unref(int fd, const u64 *blocks, u32 nr)
{
	struct kvp_block_refs arg = { .blocks = kvpv_ptr(blocks), .nr = nr };

	return kvpv_do(fd, KVP_OP_BLOCK_UNREF, &arg);
}

/* ---- sequences ---- */

void kvpv_space(u32 space, u8 digest[KVP_DIGEST_LEN])
{
	u64 state = space;
	u32 i;

	for (i = 0; i < KVP_DIGEST_LEN; i++)
		digest[i] = (u8)kvpv_random(&state);
}

void kvpv_tokens(u32 *tokens, u32 nr, u32 seed)
{
	u64 state = seed;
	u32 i;

	for (i = 0; i < nr; i++)
		tokens[i] = (u32)kvpv_random(&state);
}

int kvpv_seq(int fd, u32 space, const u32 *tokens, u32 nr, u64 *seq, u64 *matched)
{
	struct kvp_seq_create arg = { .tokens = kvpv_ptr(tokens), .nr_tokens = nr };
	int err;

	kvpv_space(space, arg.space);
	err = kvpv_do(fd, KVP_OP_SEQ_CREATE, &arg);
	*seq = arg.seq;
	if (matched)
		*matched = arg.matched;
	return err;
}

int kvpv_append(int fd, u64 seq, const u32 *tokens, u32 nr)
{
	struct kvp_copy copies[KVP_MAX_FAMILIES];
	struct kvp_seq_append arg = {
		.seq = seq,
		.tokens = kvpv_ptr(tokens),
		.nr_tokens = nr,
		.position = KVP_POS_END,
		.copies = kvpv_ptr(copies),
		.nr_copies = KVPV_COUNT(copies),
	};
	struct kvp_seq_id copied = { .seq = seq };
	int err = kvpv_do(fd, KVP_OP_SEQ_APPEND, &arg);

	return err || !arg.nr_copies ? err : kvpv_do(fd, KVP_OP_SEQ_COPIED, &copied);
}

int kvpv_advance(int fd, u64 seq, u64 computed)
{
	struct kvp_seq_advance arg = { .seq = seq, .computed = computed };

	return kvpv_do(fd, KVP_OP_SEQ_ADVANCE, &arg);
}

int kvpv_publish(int fd, u64 seq, u32 tag, u64 *published)
{
	struct kvp_prefix_publish arg = { .seq = seq, .tag = tag };
	int err = kvpv_do(fd, KVP_OP_PREFIX_PUBLISH, &arg);

	if (published)
		*published = arg.published;
	return err;
}

int kvpv_free(int fd, u64 seq)
{
	struct kvp_seq_id arg = { .seq = seq };

	return kvpv_do(fd, KVP_OP_SEQ_FREE, &arg);
}

int kvpv_table(int fd, u64 seq, u32 family, u64 *blocks, u32 room, struct kvp_seq_table *table)
{
	struct kvp_seq_table arg = {
		.seq = seq,
		.blocks = kvpv_ptr(blocks),
		.nr_blocks = room,
		.family = family,
	};
	int err = kvpv_do(fd, KVP_OP_SEQ_TABLE, &arg);

	if (table)
		*table = arg;
	return err;
}

u64 kvpv_computed(int fd, u32 space, const u32 *tokens, u32 nr)
{
	u64 seq;

	kvpv_ok(kvpv_seq(fd, space, tokens, nr, &seq, NULL));
	kvpv_ok(kvpv_advance(fd, seq, nr));
	return seq;
}

u64 kvpv_published(int fd, u32 space, const u32 *tokens, u32 nr)
{
	u64 seq = kvpv_computed(fd, space, tokens, nr);
	u64 published;

	kvpv_ok(kvpv_publish(fd, seq, 0, &published));
	kvpv_same(published, nr);
	return seq;
}

/* ---- prefixes ---- */

int kvpv_match(int fd, u32 space, const u32 *tokens, u32 nr, u32 family, u64 *blocks, u32 room,
	       u64 *matched, u64 *match)
{
	struct kvp_prefix_match arg = {
		.head.flags = match ? KVP_MATCH_HOLD : 0,
		.tokens = kvpv_ptr(tokens),
		.nr_tokens = nr,
		.blocks = kvpv_ptr(blocks),
		.nr_blocks = room,
		.family = family,
	};
	int err;

	kvpv_space(space, arg.space);
	err = kvpv_do(fd, KVP_OP_PREFIX_MATCH, &arg);
	*matched = arg.matched;
	if (match)
		*match = arg.match;
	return err;
}

u64 kvpv_matched(int fd, u32 space, const u32 *tokens, u32 nr)
{
	u64 matched;

	kvpv_ok(kvpv_match(fd, space, tokens, nr, 0, NULL, 0, &matched, NULL));
	return matched;
}

int kvpv_release(int fd, u64 match)
{
	struct kvp_prefix_release arg = { .match = match };

	return kvpv_do(fd, KVP_OP_PREFIX_RELEASE, &arg);
}

/* ---- exports ---- */

int kvpv_export(int fd, u64 seq, int *file, u64 *id)
{
	struct kvp_seq_export arg = { .seq = seq };
	int err = kvpv_do(fd, KVP_OP_SEQ_EXPORT, &arg);

	*file = err ? -1 : arg.fd;
	if (id)
		*id = arg.export_id;
	return err;
}

int kvpv_import(int fd, int file, u64 *seq, u64 *tokens)
{
	struct kvp_seq_import arg = { .fd = file };
	int err = kvpv_do(fd, KVP_OP_SEQ_IMPORT, &arg);

	*seq = arg.seq;
	if (tokens)
		*tokens = arg.tokens;
	return err;
}

int kvpv_revoke(int fd, u64 id)
{
	struct kvp_export_revoke arg = { .export_id = id };

	return kvpv_do(fd, KVP_OP_EXPORT_REVOKE, &arg);
}

/* ---- watching ---- */

int kvpv_stats(int fd, u64 who, u32 flags, struct kvp_stats *stats,
	       struct kvp_family_stats *families, u32 nr)
{
	*stats = (struct kvp_stats){
		.head.flags = flags,
		.client = who,
		.families = kvpv_ptr(families),
		.nr_families = nr,
	};
	return kvpv_do(fd, KVP_OP_STATS, stats);
}

int kvpv_limit(int fd, struct kvp_limit limit)
{
	return kvpv_do(fd, KVP_OP_LIMIT, &limit);
}

u64 kvpv_blocks(int fd, u32 family, enum kvp_block_state state)
{
	struct kvp_family_stats families[KVP_MAX_FAMILIES];
	struct kvp_stats stats;

	kvpv_ok(kvpv_stats(fd, 0, 0, &stats, families, KVP_MAX_FAMILIES));
	kvpv_true(family < stats.nr_families);
	return families[family].state[state];
}

u64 kvpv_self(int fd)
{
	struct kvp_pool_info arg = {};

	kvpv_ok(kvpv_do(fd, KVP_OP_POOL_INFO, &arg));
	return arg.client;
}

u32 kvpv_clients(int fd, struct kvp_client_entry *entries, u32 room)
{
	struct kvp_client_list arg = { .entries = kvpv_ptr(entries), .nr_entries = room };

	kvpv_ok(kvpv_do(fd, KVP_OP_CLIENT_LIST, &arg));
	kvpv_same(arg.total, arg.nr_entries);
	return arg.nr_entries;
}

bool kvpv_find_client(int fd, u64 client, struct kvp_client_entry *entry)
{
	static _Thread_local struct kvp_client_entry entries[512];
	u32 nr = kvpv_clients(fd, entries, KVPV_COUNT(entries));
	u32 i;

	for (i = 0; i < nr; i++) {
		if (entries[i].client != client)
			continue;
		if (entry)
			*entry = entries[i];
		return true;
	}
	return false;
}

bool kvpv_client_gone(int fd, u64 client)
{
	static _Thread_local struct kvp_client_entry entries[512];
	u32 nr = kvpv_clients(fd, entries, KVPV_COUNT(entries));
	u32 i;

	for (i = 0; i < nr; i++)
		if (entries[i].client == client || entries[i].maker == client)
			return false;
	return true;
}

u32 kvpv_dump(int fd, u32 family, struct kvp_block_entry *entries, u32 room)
{
	struct kvp_block_dump arg = {
		.entries = kvpv_ptr(entries),
		.nr_entries = room,
		.family = family,
	};

	kvpv_ok(kvpv_do(fd, KVP_OP_BLOCK_DUMP, &arg));
	kvpv_same(arg.total, arg.nr_entries);
	return arg.nr_entries;
}

void kvpv_audit(int fd)
{
	struct kvp_finding findings[8];
	struct kvp_audit arg = {
		.findings = kvpv_ptr(findings),
		.nr_findings = KVPV_COUNT(findings),
	};
	u32 i;

	kvpv_ok(kvpv_do(fd, KVP_OP_AUDIT, &arg));
	for (i = 0; i < arg.nr_findings; i++)
		fprintf(stderr, "audit: kind %u family %u id %llu found %llu expected %llu\n",
			findings[i].kind, findings[i].family, findings[i].id, findings[i].found,
			findings[i].expected);
	if (arg.total)
		kvpv_fail("the audit has %llu findings", arg.total);
}

/* ---- the two pages ---- */

void *kvpv_map_timelines(int fd)
{
	return mmap(NULL, KVP_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    KVP_MMAP_TIMELINES);
}

void *kvpv_map_counters(int fd)
{
	return mmap(NULL, KVP_PAGE_BYTES, PROT_READ, MAP_SHARED, fd, KVP_MMAP_COUNTERS);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs, for people: pools, clients, users and blocks of all pools, one a line,
 * as key=value. Token ids and digests are in none of them.
 *
 * kvp_host.lock keeps the pools while a read fills its buffer; a pool's own lock is
 * held for one line only, in which it is copied, so lines are of different moments.
 * A position is the id of a pool and the place of the line in it.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/string_helpers.h>

#include "device.h"

#define KVPOOL_POOL_SHIFT	32	/* of a position: the id of the pool is above */
#define KVPOOL_FAMILY_SHIFT	24	/* of the place of a block: its family is above */

/**
 * struct kvpool_cursor - a view being read
 * @view: which one
 * @pool: the pool reached
 * @place: the line in it
 * @step: places that the line has told of
 * @account: copy
 * @deadline: of its client's quarantine
 * @user: copy
 * @limits: copy, of @user
 * @block: copy
 * @client: that @block is charged to, or 0
 */
struct kvpool_cursor {
	const struct kvpool_view *view;
	struct kvp_pool *pool;
	u64 place;
	u32 step;
	union {
		struct {
			struct kvp_account account;
			u64 deadline;
		};
		struct {
			struct kvp_user user;
			struct kvp_limits limits;
		};
		struct {
			struct kvp_block block;
			u64 client;
		};
	};
};

/**
 * struct kvpool_view - one file
 * @name: its name
 * @places: how many there are in a pool
 * @show: write the line at the cursor, or nothing; may set its step
 */
struct kvpool_view {
	const char *name;
	u64 (*places)(const struct kvp_pool *pool);
	void (*show)(struct seq_file *m, struct kvpool_cursor *cursor);
};

static const char *const kvpool_state_names[KVP_BLOCK_STATES] = {
	[KVP_BLOCK_FREE] = "free",
	[KVP_BLOCK_RESERVED] = "reserved",
	[KVP_BLOCK_HELD] = "held",
	[KVP_BLOCK_IDLE] = "idle",
	[KVP_BLOCK_HELD_BACK] = "held-back",
	[KVP_BLOCK_RETIRED] = "retired",
};

static const char *const kvpool_thing_names[KVP_NR_THINGS] = {
	[KVP_SLOTS] = "slots",
	[KVP_SEQS] = "seqs",
	[KVP_RAW] = "raw",
	[KVP_MATCHES] = "matches",
	[KVP_METADATA] = "metadata",
	[KVP_EXPORTS] = "exports",
	[KVP_BACKINGS] = "backings",
	[KVP_TICKETS] = "tickets",
	[KVP_ZOMBIES] = "zombies",
	[KVP_USES] = "uses",
};

/* What somebody chose as a name is quoted: it may have spaces, and worse. */
static void kvpool_show_text(struct seq_file *m, const char *key, const char *text, size_t room)
{
	seq_printf(m, " %s=\"", key);
	seq_escape_mem(m, text, strnlen(text, room), ESCAPE_ANY_NP | ESCAPE_APPEND, "\"\\");
	seq_putc(m, '"');
}

static void kvpool_show_limit(struct seq_file *m, const char *key, u64 has, u64 limit)
{
	if (limit == KVP_UNLIMITED)
		seq_printf(m, " %s=%llu", key, has);
	else
		seq_printf(m, " %s=%llu/%llu", key, has, limit);
}

/* ---- pools ---- */

static u64 kvpool_one(const struct kvp_pool *pool)
{
	return 1;
}

static void kvpool_show_family(struct seq_file *m, struct kvp_pool *pool, u32 i)
{
	const struct kvp_family *family = &pool->family[i];
	u64 nr[KVP_BLOCK_STATES];
	u64 published;
	u32 state, queued;

	kvp_lock(pool);
	memcpy(nr, family->nr, sizeof(nr));
	published = *family->published;
	queued = pool->queued[i];
	kvp_unlock(pool);
	seq_printf(m, "pool=%llu family=%u", pool->id, i);
	kvpool_show_text(m, "label", family->desc.name, sizeof(family->desc.name));
	seq_printf(m, " blocks=%u", family->nr_blocks);
	for (state = 0; state < KVP_BLOCK_STATES; state++)
		seq_printf(m, " %s=%llu", kvpool_state_names[state], nr[state]);
	seq_printf(m, " published=%llu queued=%u\n", published, queued);
}

/* A grace time; the one without end is over with KVP_OP_REAP. */
static void kvpool_show_ms(struct seq_file *m, const char *key, u64 ns)
{
	if (ns == U64_MAX)
		seq_printf(m, " %s=reap", key);
	else
		seq_printf(m, " %s=%llu", key, div_u64(ns, NSEC_PER_MSEC));
}

static void kvpool_show_fences(struct seq_file *m, struct kvp_pool *pool)
{
	struct kvp_counters counters;
	u32 nr_fenced;

	kvp_lock(pool);
	counters = pool->counters;
	nr_fenced = pool->nr_fenced;
	kvp_unlock(pool);
	kvpool_show_ms(m, "grace_ms", pool->grace_ns);
	seq_printf(m, " fenced=%u granted=%llu backwards=%llu jumps=%llu scans=%llu\n", nr_fenced,
		   counters.tickets_granted, counters.backwards, counters.jumps, counters.scans);
}

static void kvpool_show_pool(struct seq_file *m, struct kvpool_cursor *cursor)
{
	struct kvp_pool *pool = cursor->pool;
	u32 i;

	seq_printf(m, "pool=%llu", pool->id);
	kvpool_show_text(m, "name", pool->name, sizeof(pool->name));
	seq_printf(m, " uid=%u gid=%u mode=%04o persistent=%u staged=%u clients=%u backings=%u metadata=%llu",
		   pool->uid, pool->gid, pool->mode, !!(pool->flags & KVP_POOL_PERSISTENT),
		   pool->staged, pool->nr_clients, pool->nr_backings, pool->metadata_bytes);
	kvpool_show_fences(m, pool);
	for (i = 0; i < pool->nr_families; i++)
		kvpool_show_family(m, pool, i);
}

/* ---- clients ---- */

static u64 kvpool_accounts(const struct kvp_pool *pool)
{
	return READ_ONCE(pool->nr_accounts);
}

static u64 kvpool_sum(const struct kvp_pool *pool, const u64 *families)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < pool->nr_families; i++)
		sum += families[i];
	return sum;
}

static u64 kvpool_left(u64 deadline, u64 now)
{
	return deadline == U64_MAX ? U64_MAX : deadline - min(now, deadline);
}

/* The dead, if their work may still touch blocks, and if others hold theirs. */
static const char *kvpool_kind(const struct kvp_account *account)
{
	if (account->dead)
		return "quarantine";
	if (!account->live)
		return "dead";
	return account->export ? "export" : "file";
}

static void kvpool_show_client(struct seq_file *m, struct kvpool_cursor *cursor)
{
	const struct kvp_account *account = &cursor->account;
	struct kvp_pool *pool = cursor->pool;
	u64 charged, now;
	u32 uid = 0;
	u32 i;

	kvp_lock(pool);
	cursor->account = *pool->account[cursor->place];
	if (account->user)
		uid = account->user->uid;
	if (account->dead)
		cursor->deadline = account->dead->deadline;
	kvp_unlock(pool);
	now = ktime_get_ns();
	charged = kvpool_sum(pool, account->charged);
	if (!account->live && !account->dead && !charged)
		return;

	seq_printf(m, "pool=%llu client=%llu kind=%s uid=%u pid=%u rights=%u age_ms=%llu charged=%llu held-back=%llu reserve=%llu",
		   pool->id, account->client, kvpool_kind(account), uid, account->pid,
		   account->rights, div_u64(now - account->stamp, NSEC_PER_MSEC), charged,
		   kvpool_sum(pool, account->held_back), kvpool_sum(pool, account->reserve));
	if (account->dead)
		kvpool_show_ms(m, "grace_ms", kvpool_left(cursor->deadline, now));
	for (i = 0; i < KVP_NR_THINGS; i++)
		kvpool_show_limit(m, kvpool_thing_names[i], account->has[i],
				  account->limits.max[i]);
	kvpool_show_text(m, "command", account->command, sizeof(account->command));
	seq_putc(m, '\n');
}

/* ---- users ---- */

static u64 kvpool_users(const struct kvp_pool *pool)
{
	return READ_ONCE(pool->nr_users);
}

/* The uids that have something, or limits of their own. */
static void kvpool_show_user(struct seq_file *m, struct kvpool_cursor *cursor)
{
	const struct kvp_user *user = &cursor->user;
	struct kvp_pool *pool = cursor->pool;
	u32 i;

	kvp_lock(pool);
	cursor->user = *pool->user[cursor->place];
	cursor->limits = *kvp_user_limits_locked(pool, pool->user[cursor->place]);
	kvp_unlock(pool);
	if (!user->nr_accounts && !user->own_limits)
		return;

	seq_printf(m, "pool=%llu uid=%u accounts=%u limits=%s", pool->id, user->uid,
		   user->nr_accounts, user->own_limits ? "own" : "any");
	for (i = 0; i < pool->nr_families; i++) {
		seq_printf(m, " family=%u", i);
		kvpool_show_limit(m, "charged", user->charged[i], cursor->limits.blocks[i]);
	}
	for (i = 0; i < KVP_NR_THINGS; i++)
		kvpool_show_limit(m, kvpool_thing_names[i], user->has[i], cursor->limits.max[i]);
	seq_putc(m, '\n');
}

/* ---- blocks ---- */

static u64 kvpool_blocks(const struct kvp_pool *pool)
{
	return (u64)pool->nr_families << KVPOOL_FAMILY_SHIFT;
}

/* Copy the block at @index; how many free ones begin there, as far as a slice goes. */
static u32 kvpool_copy_block(struct kvpool_cursor *cursor, const struct kvp_family *family,
			     u32 index)
{
	const u32 room = min_t(u32, family->nr_blocks - index, KVP_SLICE);
	struct kvp_pool *pool = cursor->pool;
	u32 nr = 0;

	kvp_lock(pool);
	while (nr < room && kvp_block_state(&family->blocks[index + nr]) == KVP_BLOCK_FREE)
		nr++;
	cursor->block = family->blocks[index];
	cursor->client = 0;
	if (cursor->block.owner != KVP_NIL)
		cursor->client = pool->account[cursor->block.owner]->client;
	kvp_unlock(pool);
	return nr;
}

/* Of its references; RESERVED, it has none. */
static u32 kvpool_held_back(const struct kvp_block *block)
{
	return kvp_block_state(block) == KVP_BLOCK_RESERVED ? 0 : block->held_back;
}

static void kvpool_show_block(struct seq_file *m, struct kvpool_cursor *cursor)
{
	const struct kvp_block *block = &cursor->block;
	const struct kvp_pool *pool = cursor->pool;
	const u32 index = cursor->place & ((1U << KVPOOL_FAMILY_SHIFT) - 1);
	const u32 f = cursor->place >> KVPOOL_FAMILY_SHIFT;
	const struct kvp_family *family = &pool->family[f];
	u32 nr_free;

	if (index >= family->nr_blocks) {
		cursor->step = (1U << KVPOOL_FAMILY_SHIFT) - index;
		return;
	}
	nr_free = kvpool_copy_block(cursor, family, index);
	seq_printf(m, "pool=%llu family=%u block=%u", pool->id, f, index);
	if (nr_free) {
		cursor->step = nr_free;
		seq_printf(m, " nr=%u state=free\n", nr_free);
		return;
	}
	seq_printf(m, " nr=1 state=%s generation=%llu count=%u held-back=%u client=%llu published=%u age_ms=%llu\n",
		   kvpool_state_names[kvp_block_state(block)], block->word & KVP_GEN_MAX,
		   block->count, kvpool_held_back(block), cursor->client, block->node != KVP_NIL,
		   div_u64(ktime_get_ns() - block->stamp, NSEC_PER_MSEC));
}

/* ---- files ---- */

static const struct kvpool_view kvpool_views[] = {
	{ "pools", kvpool_one, kvpool_show_pool },
	{ "clients", kvpool_accounts, kvpool_show_client },
	{ "users", kvpool_users, kvpool_show_user },
	{ "blocks", kvpool_blocks, kvpool_show_block },
};

/* The first line at or after a position, or NULL. Pools are listed in the order of their ids. */
static void *kvpool_seek(struct kvpool_cursor *cursor, loff_t *pos)
{
	const u64 id = *pos >> KVPOOL_POOL_SHIFT;
	struct kvp_pool *pool;

	list_for_each_entry(pool, &kvpool_host.pools, list) {
		u64 place = pool->id == id ? (u32)*pos : 0;

		if (pool->id < id || place >= cursor->view->places(pool))
			continue;
		cursor->pool = pool;
		cursor->place = place;
		*pos = pool->id << KVPOOL_POOL_SHIFT | place;
		return cursor;
	}
	return NULL;
}

static void *kvpool_seq_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&kvpool_host.lock);
	return kvpool_seek(m->private, pos);
}

static void *kvpool_seq_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct kvpool_cursor *cursor = v;

	*pos += cursor->step;
	return kvpool_seek(cursor, pos);
}

static void kvpool_seq_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&kvpool_host.lock);
}

static int kvpool_seq_show(struct seq_file *m, void *v)
{
	struct kvpool_cursor *cursor = v;

	cursor->step = 1;
	cursor->view->show(m, cursor);
	return 0;
}

static const struct seq_operations kvpool_seq_ops = {
	.start = kvpool_seq_start,
	.next = kvpool_seq_next,
	.stop = kvpool_seq_stop,
	.show = kvpool_seq_show,
};

static int kvpool_view_open(struct inode *inode, struct file *file)
{
	struct kvpool_cursor *cursor;

	cursor = __seq_open_private(file, &kvpool_seq_ops, sizeof(*cursor));
	if (!cursor)
		return -ENOMEM;
	cursor->view = inode->i_private;
	return 0;
}

static const struct file_operations kvpool_view_fops = {
	.owner = THIS_MODULE,
	.open = kvpool_view_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release_private,
};

static struct dentry *kvpool_dir;

/* A kernel without debugfs has no views, and that is no error. */
void __init kvpool_views_init(void)
{
	u32 i;

	kvpool_dir = debugfs_create_dir("kvpool", NULL);
	for (i = 0; i < ARRAY_SIZE(kvpool_views); i++)
		debugfs_create_file(kvpool_views[i].name, 0400, kvpool_dir,
				    (void *)&kvpool_views[i], &kvpool_view_fops);
}

void kvpool_views_exit(void)
{
	debugfs_remove_recursive(kvpool_dir);
}

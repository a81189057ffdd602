// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Looking at a pool: counters, blocks, clients. Owns nothing and changes nothing;
 * reads under kvp_pool.lock, in slices, so what is read in different slices is
 * not of one moment.
 */
#include "core.h"

#define KVP_DUMP_STEPS	(1U << 18)	/* a call that has passed as many nodes ends */

static bool kvp_is_admin(const struct kvp_call *call)
{
	return call->client->rights & KVP_RIGHT_ADMIN;
}

/* ---- stats ----------------------------------------------------------------------- */

static void kvp_stats_family_locked(const struct kvp_family *family,
				    struct kvp_family_stats *stats)
{
	u32 i;

	memset(stats, 0, sizeof(*stats));
	stats->total = family->nr_blocks;
	for (i = 0; i < KVP_BLOCK_STATES; i++)
		stats->state[i] = family->nr[i];
	stats->published = *family->published;
}

/* Add what an account or user has. */
static void kvp_stats_things(struct kvp_stats *stats, const u64 has[KVP_NR_THINGS])
{
	stats->seqs += has[KVP_SEQS];
	stats->slots += has[KVP_SLOTS];
	stats->raw += has[KVP_RAW];
	stats->matches += has[KVP_MATCHES];
	stats->metadata_bytes += has[KVP_METADATA];
	stats->exports += has[KVP_EXPORTS];
	stats->backings += has[KVP_BACKINGS];
	stats->zombies += has[KVP_ZOMBIES];
	stats->uses += has[KVP_USES];
	stats->tickets += has[KVP_TICKETS];
}

/* Add what one user has. @families: of all families, or NULL. */
static void kvp_stats_add_user_locked(struct kvp_pool *pool, struct kvp_stats *stats,
				      struct kvp_family_stats *families,
				      const struct kvp_user *user)
{
	u32 i;

	kvp_stats_things(stats, user->has);
	for (i = 0; families && i < pool->nr_families; i++)
		families[i].charged += user->charged[i];
}

/* Add what only accounts say, of what is charged. */
static void kvp_stats_add_account_locked(struct kvp_pool *pool, struct kvp_family_stats *families,
					 const struct kvp_account *account)
{
	u32 i;

	for (i = 0; families && i < pool->nr_families; i++) {
		families[i].held_back += account->held_back[i];
		families[i].reserve += account->reserve[i];
	}
}

static void kvp_stats_user_sliced(struct kvp_pool *pool, struct kvp_stats *stats,
				  struct kvp_family_stats *families, const struct kvp_user *user)
{
	u32 i;

	kvp_stats_add_user_locked(pool, stats, families, user);
	for (i = 0; families && i < pool->nr_families; i++)
		families[i].limit = kvp_user_limits_locked(pool, user)->blocks[i];
	for (i = 0; i < pool->nr_accounts; i++) {
		if (pool->account[i]->user == user) {
			stats->nr_clients += pool->account[i]->live;
			kvp_stats_add_account_locked(pool, families, pool->account[i]);
		}
		kvp_slice_step(pool, 1);
	}
}

static void kvp_stats_client_locked(struct kvp_pool *pool, struct kvp_stats *stats,
				    struct kvp_family_stats *families,
				    const struct kvp_account *account)
{
	u32 i;

	stats->nr_clients = 1;
	kvp_stats_things(stats, account->has);
	kvp_stats_add_account_locked(pool, families, account);
	stats->backwards = account->backwards;
	stats->jumps = account->jumps;
	for (i = 0; families && i < pool->nr_families; i++) {
		u64 guarantee = account->limits.guarantee[i];

		families[i].charged = account->charged[i];
		families[i].guaranteed = guarantee;
		families[i].unmet = guarantee - min(guarantee, account->charged[i]);
		families[i].limit = account->limits.blocks[i];
	}
}

static void kvp_stats_index_locked(const struct kvp_pool *pool, struct kvp_stats *stats)
{
	stats->nodes = pool->nr_nodes;
	stats->nodes_used = pool->nr_nodes - pool->nodes_free;
	stats->nodes_published = pool->nodes_published;
	stats->namespaces = pool->nr_roots;
	stats->extras_used = pool->nr_digests - pool->digests_free;
	stats->extras = pool->nr_digests;
}

static void kvp_stats_counters_locked(const struct kvp_counters *counters,
				      struct kvp_stats *stats)
{
	stats->matched_nodes = counters->matched_nodes;
	stats->looked_up_nodes = counters->looked_up_nodes;
	stats->published_nodes = counters->published_nodes;
	stats->shared_nodes = counters->shared_nodes;
	stats->reclaimed_nodes = counters->reclaimed_nodes;
	stats->reclaimed_blocks = counters->reclaimed_blocks;
	stats->invalidated = counters->invalidated;
	stats->copies = counters->copies;
	stats->underflow_rejected = counters->underflow_rejected;
	stats->collisions = counters->collisions;
	stats->refused_room = counters->refused_room;
	stats->refused_limit = counters->refused_limit;
	stats->tickets_granted = counters->tickets_granted;
	stats->backwards = counters->backwards;
	stats->jumps = counters->jumps;
	stats->scans = counters->scans;
}

static void kvp_stats_pool_sliced(struct kvp_pool *pool, struct kvp_stats *stats,
				  struct kvp_family_stats *families)
{
	u32 i;

	stats->metadata_bytes = pool->metadata_bytes;
	kvp_stats_index_locked(pool, stats);
	kvp_stats_counters_locked(&pool->counters, stats);
	for (i = 0; families && i < pool->nr_families; i++) {
		families[i].guaranteed = pool->family[i].guaranteed;
		families[i].unmet = pool->family[i].unmet;
	}
	for (i = 0; i < pool->nr_users; i++) {
		kvp_stats_add_user_locked(pool, stats, families, pool->user[i]);
		kvp_slice_step(pool, 1);
	}
	for (i = 0; i < pool->nr_accounts; i++) {
		stats->nr_clients += pool->account[i]->live;
		stats->quarantined += !!pool->account[i]->dead;
		kvp_stats_add_account_locked(pool, families, pool->account[i]);
		kvp_slice_step(pool, 1);
	}
	stats->tickets_waiting = pool->nr_queued;
}

/* The pool, oneself and one's own uid, and as ADMIN all. */
static bool kvp_may_stat(const struct kvp_call *call)
{
	const struct kvp_client *client = call->client;
	const struct kvp_stats *arg = call->arg;

	if (kvp_is_admin(call))
		return true;
	if (arg->head.flags & KVP_STATS_OF_UID)
		return arg->client == client->cred.uid;
	return !arg->client || arg->client == KVP_STATS_SELF ||
	       arg->client == client->account->client;
}

/**
 * kvp_op_stats - KVP_OP_STATS
 * @call: struct kvp_stats
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_stats(struct kvp_call *call)
{
	struct kvp_family_stats *families = call->array[0];
	const struct kvp_account *account = call->client->account;
	struct kvp_stats *arg = call->arg;
	bool of_uid = arg->head.flags & KVP_STATS_OF_UID;
	struct kvp_pool *pool = call->pool;
	const struct kvp_user *user = NULL;
	u32 room = arg->nr_families;
	u32 i;

	arg->nr_families = pool->nr_families;
	if (room && room < pool->nr_families)
		return kvp_fail(call, -EOVERFLOW, KVP_REASON_COUNT, 0);
	if (!kvp_may_stat(call))
		return kvp_fail(call, -EACCES, KVP_REASON_RIGHT_ADMIN, 0);

	kvp_lock(pool);
	kvp_settle_sliced(pool);
	if (of_uid && arg->client <= U32_MAX)
		user = kvp_user_find_sliced(pool, arg->client);
	else if (arg->client && arg->client != KVP_STATS_SELF)
		account = kvp_account_find_sliced(pool, arg->client, true);
	if (!account || (of_uid && !user)) {
		kvp_unlock(pool);
		return kvp_fail(call, -ENOENT, KVP_REASON_NO_CLIENT, 0);
	}
	/* The rest is output, and the caller's until now. */
	*arg = (struct kvp_stats){
		.head = arg->head,
		.client = arg->client,
		.families = arg->families,
		.nr_families = pool->nr_families,
	};
	for (i = 0; families && i < pool->nr_families; i++)
		kvp_stats_family_locked(&pool->family[i], &families[i]);
	if (user)
		kvp_stats_user_sliced(pool, arg, families, user);
	else if (arg->client)
		kvp_stats_client_locked(pool, arg, families, account);
	else
		kvp_stats_pool_sliced(pool, arg, families);
	kvp_unlock(pool);
	return 0;
}

/* ---- block dump --------------------------------------------------------------------- */

static enum kvp_why kvp_idle_why_locked(struct kvp_pool *pool, u32 index)
{
	const struct kvp_node *node = &pool->nodes[index];

	if (node->state == KVP_NODE_VICTIM)
		return KVP_WHY_RESERVED;
	if (node->refs || !kvp_node_idle_locked(pool, index))
		return KVP_WHY_MATCHED;
	return node->child == KVP_NIL ? KVP_WHY_IDLE : KVP_WHY_COVERED;
}

static enum kvp_why kvp_block_why_locked(struct kvp_pool *pool, const struct kvp_family *family,
					 const struct kvp_block *block)
{
	const struct kvp_account *account = block->owner == KVP_NIL ? NULL :
					    pool->account[block->owner];

	switch (kvp_block_state(block)) {
	case KVP_BLOCK_FREE:
		return KVP_WHY_FREE;
	case KVP_BLOCK_RESERVED:
		return account && account->reserve[family->index] ? KVP_WHY_ADMITTED :
								    KVP_WHY_RESERVED;
	case KVP_BLOCK_HELD:
		return block->node == KVP_NIL ? KVP_WHY_SEQ : KVP_WHY_SHARED;
	case KVP_BLOCK_IDLE:
		return kvp_idle_why_locked(pool, block->node);
	case KVP_BLOCK_HELD_BACK:
		return account && account->dead ? KVP_WHY_QUARANTINE : KVP_WHY_HELD_BACK;
	case KVP_BLOCK_RETIRED:
		break;
	}
	return KVP_WHY_RETIRED;
}

/**
 * struct kvp_dump - a dump on its way
 * @steps: nodes passed on the way to roots: their number for all blocks is not bounded by the
 *         blocks' number, so the call ends when there were many
 * @node: the published node dumped last in this hold of the lock, or KVP_NIL: a path that leads
 *        to it need not be followed again, and the next block is more often than not of its child
 * @space: its namespace
 * @cut: it was invalidated
 */
struct kvp_dump {
	u32 steps;
	u32 node;
	u8 space[KVP_DIGEST_LEN];
	bool cut;
};

/* One more block or node; in a new hold of the lock nothing is known any more. */
static void kvp_dump_next_sliced(struct kvp_pool *pool, struct kvp_dump *dump, u32 n)
{
	if (kvp_slice_over(pool, n))
		dump->node = KVP_NIL;
	kvp_slice_next(pool, n);
}

/*
 * The namespace of a node, and whether it was invalidated: up to its root, or to what is known.
 * A path is as long as a sequence, so the lock may be let go on the way.
 */
static void kvp_dump_path_sliced(struct kvp_pool *pool, u32 index, struct kvp_dump *dump)
{
	bool cut = pool->nodes[index].flags & KVP_NODE_CUT;
	u32 at = index;

	/* So the whole path stays meanwhile. */
	pool->nodes[index].refs++;
	while (at != dump->node && pool->nodes[at].state != KVP_NODE_ROOT) {
		kvp_dump_next_sliced(pool, dump, 1);
		dump->steps++;
		at = pool->nodes[at].parent;
		cut |= !!(pool->nodes[at].flags & KVP_NODE_CUT);
	}
	if (at == dump->node)
		cut |= dump->cut;
	else
		memcpy(dump->space, pool->digests[pool->nodes[at].extra].byte, KVP_DIGEST_LEN);
	dump->cut = cut;
	dump->node = index;
	kvp_node_put_locked(pool, index);
}

static void kvp_dump_node_sliced(struct kvp_pool *pool, const struct kvp_family *family,
				 u32 block, struct kvp_block_entry *entry,
				 struct kvp_dump *dump)
{
	u32 index = family->blocks[block].node;
	const struct kvp_node *node = &pool->nodes[index];
	const u32 *part = kvp_node_parts(pool, index) + family->first_part;

	entry->node = index;
	entry->depth = node->depth;
	entry->tag = node->tag;
	while (entry->part + 1 < family->parts && part[entry->part] != block)
		entry->part++;
	if (node->depth > 1) {
		part = kvp_node_parts(pool, node->parent) + family->first_part;
		entry->parent = kvp_block_id(family, *part);
	}
	/* A victim hangs on nothing that would keep its path. */
	if (node->state == KVP_NODE_PUBLISHED) {
		kvp_dump_path_sliced(pool, index, dump);
		memcpy(entry->space, dump->space, KVP_DIGEST_LEN);
		entry->flags |= dump->cut ? KVP_ENTRY_INVALIDATED : 0;
	} else if (pool->events) {
		kvp_log_victim_space_locked(pool, index, entry->space);
	}
}

static void kvp_dump_block_sliced(struct kvp_call *call, const struct kvp_family *family,
				  u32 index, struct kvp_block_entry *entry, u64 now,
				  struct kvp_dump *dump)
{
	const struct kvp_block *block = &family->blocks[index];
	struct kvp_pool *pool = call->pool;

	memset(entry, 0, sizeof(*entry));
	entry->block = kvp_block_id(family, index);
	entry->state = kvp_block_state(block);
	entry->why = kvp_block_why_locked(pool, family, block);
	entry->node = KVP_NODE_NONE;
	if (block->node == KVP_NIL && block->owner != KVP_NIL &&
	    block->owner != call->client->slot && !kvp_is_admin(call))
		return;
	if (block->owner != KVP_NIL)
		entry->client = pool->account[block->owner]->client;
	if (block->stamp)
		entry->age_ns = now - min(now, block->stamp);
	entry->count = block->count;
	if (block->count)
		entry->held_back = block->held_back;
	if (block->node != KVP_NIL)
		kvp_dump_node_sliced(pool, family, index, entry, dump);
}

/**
 * kvp_op_block_dump - KVP_OP_BLOCK_DUMP
 * @call: struct kvp_block_dump
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_block_dump(struct kvp_call *call)
{
	struct kvp_block_entry *entries = call->array[0];
	struct kvp_block_dump *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	const struct kvp_family *family;
	struct kvp_dump dump = { .node = KVP_NIL };
	u64 now = ktime_get_ns();
	u64 first, nr, i;
	int err;

	err = kvp_check_family(call, &arg->family);
	if (err)
		return err;
	family = &pool->family[arg->family];
	first = min_t(u64, arg->cursor, family->nr_blocks);
	nr = min_t(u64, arg->nr_entries, family->nr_blocks - first);

	kvp_lock(pool);
	if (!first)
		kvp_settle_sliced(pool);
	for (i = 0; i < nr && dump.steps < KVP_DUMP_STEPS; i++) {
		/* The block, and the first one of its node's parent. */
		kvp_dump_next_sliced(pool, &dump, 2);
		kvp_dump_block_sliced(call, family, first + i, &entries[i], now, &dump);
	}
	kvp_unlock(pool);
	arg->nr_entries = i;
	arg->cursor = first + i;
	arg->total = family->nr_blocks;
	return 0;
}

/* ---- client list ------------------------------------------------------------------------ */

static void kvp_list_account_locked(struct kvp_pool *pool, const struct kvp_account *account,
				    u64 now, struct kvp_client_entry *entry)
{
	u32 i;

	memset(entry, 0, sizeof(*entry));
	entry->client = account->client;
	entry->uid = account->user->uid;
	entry->rights = account->rights;
	entry->seqs = account->has[KVP_SEQS];
	entry->slots = account->has[KVP_SLOTS];
	entry->raw = account->has[KVP_RAW];
	entry->matches = account->has[KVP_MATCHES];
	entry->age_ns = now - min(now, account->stamp);
	entry->pid = account->pid;
	memcpy(entry->command, account->command, sizeof(entry->command));
	if (account->export) {
		entry->maker = account->export->maker;
		entry->imports = account->export->imports;
		entry->flags = KVP_CLIENT_EXPORT;
		if (account->export->revoked)
			entry->flags |= KVP_CLIENT_REVOKED;
		if (!list_empty(&account->export->fenced.list))
			entry->flags |= KVP_CLIENT_OPEN;
	} else {
		entry->exports = account->has[KVP_EXPORTS];
	}
	for (i = 0; i < pool->nr_families; i++) {
		entry->charged += account->charged[i];
		entry->held_back += account->held_back[i];
	}
	entry->zombies = account->has[KVP_ZOMBIES];
	entry->uses = account->has[KVP_USES];
	entry->tickets = account->has[KVP_TICKETS];
	if (account->dead) {
		entry->flags = KVP_CLIENT_DEAD;
		entry->grace_ns = account->dead->deadline;
		if (entry->grace_ns != KVP_UNLIMITED)
			entry->grace_ns -= min(now, account->dead->deadline);
	}
}

/* Oneself, the exports one made, and as ADMIN all. */
static bool kvp_may_list_locked(const struct kvp_call *call, const struct kvp_account *account)
{
	u64 self = call->client->account->client;

	if (!account->live && !account->dead)
		return false;
	return kvp_is_admin(call) || account->client == self ||
	       (account->export && account->export->maker == self);
}

/**
 * kvp_op_client_list - KVP_OP_CLIENT_LIST
 * @call: struct kvp_client_list
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_client_list(struct kvp_call *call)
{
	struct kvp_client_entry *entries = call->array[0];
	struct kvp_client_list *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	u64 now = ktime_get_ns();
	u32 room = arg->nr_entries;
	u32 seen = 0;
	u32 i;

	kvp_lock(pool);
	kvp_settle_sliced(pool);
	for (i = 0; i < pool->nr_accounts; i++) {
		const struct kvp_account *account = pool->account[i];

		if (kvp_may_list_locked(call, account)) {
			if (seen < room)
				kvp_list_account_locked(pool, account, now, &entries[seen]);
			seen++;
		}
		kvp_slice_step(pool, 1);
	}
	kvp_unlock(pool);
	arg->nr_entries = min(seen, room);
	arg->total = seen;
	return 0;
}

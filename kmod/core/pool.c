// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Pools: their making from a description, their names, who may attach, and
 * their end. The list of pools and their numbers of clients are under
 * kvp_host.lock.
 */
#include "core.h"

#define KVP_MAX_NODES		(64U << 20)
#define KVP_MANY_NODES		(1U << 20)	/* more only where blocks can use them */
#define KVP_MAX_DIGESTS		(16U << 20)
#define KVP_MIN_NODES_SPARSE	(64U << 10)	/* default without a DENSE family */
#define KVP_SCAN_NS		NSEC_PER_MSEC	/* unless the host's owner says otherwise */
#define KVP_MAX_POOL_METADATA	(64ULL << 30)	/* bytes; more is a mistake */

/* ---- names and rights ---- */

static bool kvp_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '-';
}

static int kvp_check_name(struct kvp_call *call, const char *name)
{
	size_t len = strnlen(name, KVP_NAME_LEN);
	size_t i;

	if (!len || len == KVP_NAME_LEN)
		return kvp_fail(call, -EINVAL, KVP_REASON_NAME, 0);
	for (i = 0; i < len; i++)
		if (!kvp_name_char(name[i]))
			return kvp_fail(call, -EINVAL, KVP_REASON_NAME, 0);
	return 0;
}

/* The pool of a name, or NULL. */
static struct kvp_pool *kvp_pool_find(struct kvp_host *host, const char *name)
{
	struct kvp_pool *pool;

	lockdep_assert_held(&host->lock);
	list_for_each_entry(pool, &host->pools, list)
		if (!strcmp(pool->name, name))
			return pool;
	return NULL;
}

static bool kvp_in_group(const struct kvp_client *client, u32 gid)
{
	const struct kvp_cred *cred = &client->cred;

	return cred->gid == gid || (client->door->in_group && client->door->in_group(cred, gid));
}

/* What a pool allows to a client's credentials; PUBLISH is nothing without USE. */
static u32 kvp_rights_of(const struct kvp_pool *pool, const struct kvp_client *client)
{
	const struct kvp_cred *cred = &client->cred;
	u32 bits = pool->mode;

	if (cred->admin || cred->uid == pool->uid)
		return KVP_RIGHT_ALL;
	if (kvp_in_group(client, pool->gid))
		bits >>= 3;
	if (!(bits & 4))
		return 0;
	return bits & 2 ? KVP_RIGHT_USE | KVP_RIGHT_PUBLISH : KVP_RIGHT_USE;
}

/* ---- a pool from its description ---- */

static bool kvp_family_valid(const struct kvp_family_desc *desc)
{
	if (strnlen(desc->name, KVP_FAMILY_NAME_LEN) == KVP_FAMILY_NAME_LEN)
		return false;
	if (desc->dtype >= KVP_NR_DTYPES)
		return false;
	if (!desc->block_tokens || desc->block_tokens > KVP_MAX_BLOCK_TOKENS)
		return false;
	if (!desc->blocks || !desc->block_bytes)
		return false;
	switch (desc->kind) {
	case KVP_FAMILY_DENSE:
		return !desc->window;
	case KVP_FAMILY_WINDOW:
		return desc->window;
	case KVP_FAMILY_STATE:
		return !desc->window && desc->block_tokens == 1;
	default:
		return false;
	}
}

/* @bytes: of all families so far. */
static int kvp_check_desc(struct kvp_call *call, const struct kvp_family_desc *desc, u32 i,
			  u64 *bytes)
{
	u64 size;

	if (!kvp_family_valid(desc))
		return kvp_fail(call, -EINVAL, KVP_REASON_FAMILY, i);
	if (desc->blocks > KVP_MAX_BLOCKS ||
	    check_mul_overflow((u64)desc->blocks, (u64)desc->block_bytes, &size) ||
	    check_add_overflow(*bytes, size, bytes) || *bytes > S64_MAX)
		return kvp_fail(call, -EOVERFLOW, KVP_REASON_COUNT, i);
	return 0;
}

static int kvp_pool_set_families(struct kvp_call *call, struct kvp_pool *pool)
{
	const struct kvp_pool_create *arg = call->arg;
	const struct kvp_family_desc *desc = call->array[0];
	u64 bytes = 0;
	int err;
	u32 i;

	pool->nr_families = arg->nr_families;
	for (i = 0; i < pool->nr_families; i++) {
		struct kvp_family *family = &pool->family[i];

		family->desc = desc[i];
		err = kvp_check_desc(call, &family->desc, i, &bytes);
		if (err)
			return err;
		family->index = i;
		family->pool = pool;
		family->nr_blocks = family->desc.blocks;
	}
	return 0;
}

/* Tokens of a node, and the blocks that cover one. */
static int kvp_pool_set_node_size(struct kvp_call *call, struct kvp_pool *pool)
{
	const struct kvp_pool_create *arg = call->arg;
	const u32 where = offsetof(struct kvp_pool_create, index_tokens);
	u64 tokens = arg->index_tokens ? arg->index_tokens : 1;
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		const struct kvp_family_desc *desc = &pool->family[i].desc;

		if (desc->kind == KVP_FAMILY_STATE)
			continue;
		if (!arg->index_tokens)
			tokens = tokens / gcd(tokens, desc->block_tokens) * desc->block_tokens;
		if (tokens % desc->block_tokens || tokens > KVP_MAX_CALL_TOKENS)
			return kvp_fail(call, -EINVAL, KVP_REASON_VALUE, where);
	}
	if (tokens > KVP_MAX_CALL_TOKENS)
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE, where);
	pool->index_tokens = tokens;

	for (i = 0; i < pool->nr_families; i++) {
		struct kvp_family *family = &pool->family[i];

		pool->has_states |= family->desc.kind == KVP_FAMILY_STATE;
		pool->has_windows |= family->desc.kind == KVP_FAMILY_WINDOW;
		if (family->desc.kind != KVP_FAMILY_STATE)
			family->parts = pool->index_tokens / family->desc.block_tokens;
		family->first_part = pool->parts_per_node;
		pool->parts_per_node += family->parts;
	}
	if (pool->parts_per_node > KVP_MAX_NODE_BLOCKS)
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE, where);
	return 0;
}

/*
 * So many that blocks run out before nodes do. A node with tokens, private or
 * published, has at least one block of every DENSE family for itself; a node
 * whose WINDOW blocks were released has none. And some for namespaces.
 */
static u64 kvp_default_nodes(const struct kvp_pool *pool)
{
	u64 dense = U64_MAX;
	u64 window = 0;
	u64 nodes;
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		const struct kvp_family_desc *desc = &pool->family[i].desc;

		if (desc->kind == KVP_FAMILY_DENSE)
			dense = min_t(u64, dense, desc->blocks);
		else if (desc->kind == KVP_FAMILY_WINDOW)
			window += desc->blocks;
	}
	nodes = dense != U64_MAX ? dense : max_t(u64, 4 * window, KVP_MIN_NODES_SPARSE);
	nodes += min_t(u64, nodes / 16 + 64, 4096);
	return min_t(u64, nodes, KVP_MAX_NODES - 1);
}

static int kvp_pool_set_index_size(struct kvp_call *call, struct kvp_pool *pool)
{
	const struct kvp_pool_create *arg = call->arg;
	u64 nodes = arg->nodes ? arg->nodes : kvp_default_nodes(pool);
	u64 extras = arg->extras ? arg->extras : nodes / 16 + 64;
	u64 node_bytes, bytes;
	u64 blocks = 0;
	u32 i;

	for (i = 0; i < pool->nr_families; i++)
		blocks += pool->family[i].nr_blocks;
	if (nodes >= KVP_MAX_NODES || nodes > max_t(u64, KVP_MANY_NODES, 4 * blocks))
		return kvp_fail(call, -EOVERFLOW, KVP_REASON_COUNT,
				offsetof(struct kvp_pool_create, nodes));
	if (extras > KVP_MAX_DIGESTS)
		return kvp_fail(call, -EOVERFLOW, KVP_REASON_COUNT,
				offsetof(struct kvp_pool_create, extras));
	pool->nr_nodes = nodes;
	pool->nr_digests = extras;

	/* At most 4 buckets a node. None of this can overflow: each factor is bounded. */
	node_bytes = sizeof(struct kvp_node) + 4 * sizeof(struct kvp_bucket) +
		     sizeof(u32) * ((u64)pool->index_tokens + pool->parts_per_node);
	bytes = nodes * node_bytes + extras * sizeof(struct kvp_digest);
	for (i = 0; i < pool->nr_families; i++)
		bytes += pool->family[i].nr_blocks * sizeof(struct kvp_block);
	if (bytes > KVP_MAX_POOL_METADATA)
		return kvp_fail(call, -EOVERFLOW, KVP_REASON_COUNT, 0);
	/* As far as it is known before anything is allocated. */
	pool->metadata_bytes = bytes;
	return 0;
}

static int kvp_pool_describe(struct kvp_call *call, struct kvp_pool *pool)
{
	const struct kvp_pool_create *arg = call->arg;
	const struct kvp_cred *cred = &call->client->cred;
	int err;

	err = kvp_check_name(call, arg->name);
	if (err)
		return err;
	if (arg->mode & ~0777U)
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE,
				offsetof(struct kvp_pool_create, mode));
	if (arg->policy != KVP_RECLAIM_LRU)
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE,
				offsetof(struct kvp_pool_create, policy));
	if (arg->grace_ms > KVP_MAX_GRACE_MS ||
	    (arg->grace_ms && arg->head.flags & KVP_POOL_STRICT))
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE,
				offsetof(struct kvp_pool_create, grace_ms));
	if (arg->head.flags & KVP_POOL_PERSISTENT && !cred->persist)
		return kvp_fail(call, -EPERM, KVP_REASON_PERSISTENT, 0);

	strscpy(pool->name, arg->name, sizeof(pool->name));
	pool->uid = cred->uid;
	pool->gid = cred->gid;
	pool->mode = arg->mode;
	pool->flags = arg->head.flags & ~KVP_POOL_STAGED;
	pool->staged = arg->head.flags & KVP_POOL_STAGED;
	pool->policy = arg->policy;
	pool->grace_ns = (arg->grace_ms ? arg->grace_ms : KVP_GRACE_MS) * (u64)NSEC_PER_MSEC;
	if (pool->flags & KVP_POOL_STRICT)
		pool->grace_ns = U64_MAX;
	err = kvp_pool_set_families(call, pool);
	if (!err)
		err = kvp_pool_set_node_size(call, pool);
	if (!err)
		err = kvp_pool_set_index_size(call, pool);
	return err;
}

/* ---- making and ending ---- */

static void kvp_pool_init(struct kvp_pool *pool, struct kvp_client *client)
{
	pool->host = client->host;
	pool->door = client->door;
	INIT_LIST_HEAD(&pool->list);
	INIT_LIST_HEAD(&pool->clients);
	init_rwsem(&pool->gate);
	mutex_init(&pool->serve);
	mutex_init(&pool->reclaim);
	spin_lock_init(&pool->lock);
	INIT_LIST_HEAD(&pool->open_exports);
	INIT_LIST_HEAD(&pool->fenced);
	INIT_LIST_HEAD(&pool->watchers);
	INIT_LIST_HEAD(&pool->quarantine);
	INIT_LIST_HEAD(&pool->tickets);
	init_waitqueue_head(&pool->wait);
	get_random_bytes(pool->key, sizeof(pool->key));
	pool->next_client = 1;
	memset(&pool->default_limits, 0xff, sizeof(pool->default_limits));
	memset(pool->default_limits.guarantee, 0, sizeof(pool->default_limits.guarantee));
	pool->user_limits = pool->default_limits;
}

/* Whatever was made of it. Nobody can reach it any more. */
static void kvp_pool_free(struct kvp_pool *pool)
{
	u32 i;

	kvp_quarantine_exit(pool);
	for (i = 0; i < pool->nr_backings; i++)
		pool->door->backing_drop(pool->backing[i].object);
	for (i = 0; i < pool->nr_accounts; i++)
		kfree(pool->account[i]);
	kvfree(pool->account);
	for (i = 0; i < pool->nr_users; i++)
		kfree(pool->user[i]);
	kvfree(pool->user);
	kvp_events_exit(pool);
	kvp_index_exit(pool);
	for (i = 0; i < pool->nr_families; i++)
		kvp_family_exit(&pool->family[i]);
	free_page((unsigned long)pool->page);
	if (pool->pinned)
		pool->door->pin(false);
	mutex_destroy(&pool->reclaim);
	mutex_destroy(&pool->serve);
	kvfree(pool);
}

static int kvp_pool_make_arrays(struct kvp_pool *pool)
{
	u64 bytes = sizeof(*pool) + sizeof(*pool->page) +
		    KVP_MAX_CLIENTS * (sizeof(*pool->account) + sizeof(*pool->user));
	int err;
	u32 i;

	BUILD_BUG_ON(sizeof(*pool->page) > PAGE_SIZE);
	pool->page = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	pool->user = kvcalloc(KVP_MAX_CLIENTS, sizeof(*pool->user), GFP_KERNEL_ACCOUNT);
	if (!pool->page || !pool->user)
		return -ENOMEM;
	pool->account = kvcalloc(KVP_MAX_CLIENTS, sizeof(*pool->account), GFP_KERNEL_ACCOUNT);
	if (!pool->account)
		return -ENOMEM;
	for (i = 0; i < pool->nr_families; i++) {
		err = kvp_family_init(&pool->family[i], &bytes);
		if (err)
			return err;
	}
	err = kvp_index_init(pool, &bytes);
	pool->metadata_bytes = bytes;
	return err;
}

/* The name is free, the client is, and its uid may have one more pool. */
static int kvp_check_new(struct kvp_call *call, const struct kvp_pool *made)
{
	const struct kvp_pool_create *arg = call->arg;
	struct kvp_client *client = call->client;
	const struct kvp_host *host = client->host;
	const struct kvp_pool *pool;
	u64 metadata = made->metadata_bytes;
	u32 nr = 0;

	if (client->pool)
		return kvp_fail(call, -EBUSY, KVP_REASON_ATTACHED, 0);
	if (kvp_pool_find(client->host, arg->name))
		return kvp_fail(call, -EEXIST, KVP_REASON_NAME, 0);
	list_for_each_entry(pool, &host->all, all) {
		if (pool->uid != client->cred.uid)
			continue;
		metadata += pool->metadata_bytes;
		nr++;
	}
	if (metadata > host->max_metadata_per_uid ||
	    (nr >= host->max_pools_per_uid && !client->cred.admin))
		return kvp_fail(call, -EDQUOT, KVP_REASON_LIMIT_POOLS, 0);
	return 0;
}

/* Give the pool its name and its first client. */
static int kvp_pool_enter(struct kvp_call *call, struct kvp_pool *pool)
{
	struct kvp_host *host = pool->host;
	u64 room;
	int err;

	down_read(&pool->gate);
	mutex_lock(&host->lock);
	err = kvp_check_new(call, pool);
	if (!err) {
		pool->id = host->next_pool;
		err = kvp_client_attach(call, pool, KVP_RIGHT_ALL, NULL, &room);
	}
	if (!err) {
		host->next_pool++;
		list_add_tail(&pool->list, &host->pools);
		list_add_tail(&pool->all, &host->all);
		pool->pinned = pool->flags & KVP_POOL_PERSISTENT && pool->door->pin;
		if (pool->pinned)
			pool->door->pin(true);
	}
	mutex_unlock(&host->lock);
	up_read(&pool->gate);
	return err;
}

/* Checks, and nothing of size is allocated before they have passed. */
static int kvp_pool_make(struct kvp_call *call, struct kvp_pool *pool)
{
	struct kvp_host *host = call->client->host;
	int err;

	kvp_pool_init(pool, call->client);
	err = kvp_pool_describe(call, pool);
	if (err)
		return err;
	mutex_lock(&host->lock);
	err = kvp_check_new(call, pool);
	mutex_unlock(&host->lock);
	if (err)
		return err;
	if (kvp_pool_make_arrays(pool))
		return kvp_fail(call, -ENOMEM, KVP_REASON_MEMORY, 0);
	return kvp_pool_enter(call, pool);
}

/**
 * kvp_op_pool_create - KVP_OP_POOL_CREATE
 * @call: the call
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_pool_create(struct kvp_call *call)
{
	struct kvp_pool_create *arg = call->arg;
	struct kvp_pool *pool = kvzalloc(sizeof(*pool), GFP_KERNEL_ACCOUNT);
	int err;

	arg->pool = 0;
	arg->client = 0;
	arg->rights = 0;
	if (!pool)
		return kvp_fail(call, -ENOMEM, KVP_REASON_MEMORY, 0);
	err = kvp_pool_make(call, pool);
	if (err) {
		kvp_pool_free(pool);
		return err;
	}
	/* The pool is its client's from here on: it lives as long as that stays. */
	arg->pool = pool->id;
	arg->client = call->client->account->client;
	arg->rights = call->client->rights;
	return 0;
}

/*
 * Nobody needs it any more? Then nobody can find it, and it is the caller's to free. Who scans it
 * comes here again.
 */
static bool kvp_pool_ends(struct kvp_pool *pool)
{
	bool stays = pool->flags & KVP_POOL_PERSISTENT && !pool->destroyed && !pool->staged;

	lockdep_assert_held(&pool->host->lock);
	if (stays || pool->nr_clients || pool->nr_attaching)
		return false;
	list_del_init(&pool->list);
	if (pool->nr_scans)
		return false;
	list_del(&pool->all);
	return true;
}

/**
 * kvp_pool_end_later - take a pool that nobody needs any more off all lists
 * @pool: the pool; kvp_host.lock is held
 * @ended: gets it then, for kvp_pools_free()
 */
void kvp_pool_end_later(struct kvp_pool *pool, struct list_head *ended)
{
	if (kvp_pool_ends(pool))
		list_add_tail(&pool->all, ended);
}

/**
 * kvp_pools_free - end pools that kvp_pool_end_later() has taken off
 * @ended: kvp_pool.all
 */
void kvp_pools_free(struct list_head *ended)
{
	struct kvp_pool *pool, *next;

	list_for_each_entry_safe(pool, next, ended, all)
		kvp_pool_free(pool);
}

/**
 * kvp_pool_leave - one client less; the last one ends a pool that does not persist
 * @client: without objects, but for what waits for fences; its pool is not to be touched afterwards
 *
 * Return: as kvp_client_detach().
 */
bool kvp_pool_leave(struct kvp_client *client)
{
	struct kvp_pool *pool = client->pool;
	struct kvp_host *host = client->host;
	bool ends, stays;

	down_read(&pool->gate);
	mutex_lock(&host->lock);
	stays = kvp_client_detach(client);
	/* It stays until who waits for what came back is told. */
	pool->nr_attaching++;
	mutex_unlock(&host->lock);
	kvp_pool_tell(pool, NULL);
	up_read(&pool->gate);
	mutex_lock(&host->lock);
	pool->nr_attaching--;
	ends = kvp_pool_ends(pool);
	mutex_unlock(&host->lock);
	if (ends)
		kvp_pool_free(pool);
	return stays;
}

static int kvp_check_wanted(struct kvp_call *call, u32 wanted, u32 allowed)
{
	u32 missing = wanted & ~allowed;

	if (!allowed)
		return kvp_fail(call, -ENOENT, KVP_REASON_NO_POOL, 0);
	if (missing & KVP_RIGHT_PUBLISH)
		return kvp_fail(call, -EACCES, KVP_REASON_RIGHT_PUBLISH, 0);
	if (missing)
		return kvp_fail(call, -EACCES, KVP_REASON_RIGHT_ADMIN, 0);
	return 0;
}

/* Become a client of a pool that waits for this call (nr_attaching). */
static int kvp_pool_join(struct kvp_call *call, struct kvp_pool *pool, u32 rights)
{
	struct kvp_pool_attach *arg = call->arg;
	struct kvp_host *host = pool->host;
	bool ends;
	int err;

	down_read(&pool->gate);
	mutex_lock(&host->lock);
	if (pool->destroyed)
		err = kvp_fail(call, -ENOENT, KVP_REASON_NO_POOL, 0);
	else
		err = kvp_client_attach(call, pool, rights, NULL, &arg->room);
	pool->nr_attaching--;
	ends = kvp_pool_ends(pool);
	/* Before others may find that nobody needs it. */
	up_read(&pool->gate);
	mutex_unlock(&host->lock);
	if (ends)
		kvp_pool_free(pool);
	return err;
}

/**
 * kvp_op_pool_attach - KVP_OP_POOL_ATTACH
 * @call: the call
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_pool_attach(struct kvp_call *call)
{
	struct kvp_pool_attach *arg = call->arg;
	struct kvp_client *client = call->client;
	struct kvp_host *host = client->host;
	struct kvp_pool *pool;
	u32 allowed;
	int err;

	arg->rights = 0;
	arg->pool = 0;
	arg->client = 0;
	arg->room = 0;
	if (arg->wanted & ~KVP_RIGHT_ALL)
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE,
				offsetof(struct kvp_pool_attach, wanted));
	err = kvp_check_name(call, arg->name);
	if (err)
		return err;

	mutex_lock(&host->lock);
	pool = kvp_pool_find(host, arg->name);
	allowed = pool ? kvp_rights_of(pool, client) : 0;
	err = kvp_check_wanted(call, arg->wanted, allowed);
	if (!err && pool->staged)
		err = kvp_fail(call, -EBUSY, KVP_REASON_STAGED, 0);
	if (!err)
		pool->nr_attaching++;
	mutex_unlock(&host->lock);
	if (!err)
		err = kvp_pool_join(call, pool, arg->wanted ? arg->wanted : allowed);
	if (err)
		return err;
	arg->rights = client->rights;
	arg->pool = pool->id;
	arg->client = client->account->client;
	return 0;
}

/**
 * kvp_op_pool_ready - KVP_OP_POOL_READY
 * @call: the call
 *
 * Return: 0.
 */
int kvp_op_pool_ready(struct kvp_call *call)
{
	struct kvp_pool *pool = call->pool;

	mutex_lock(&pool->host->lock);
	pool->staged = false;
	mutex_unlock(&pool->host->lock);
	return 0;
}

/**
 * kvp_op_pool_destroy - KVP_OP_POOL_DESTROY
 * @call: the call
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_pool_destroy(struct kvp_call *call)
{
	const struct kvp_pool_destroy *arg = call->arg;
	struct kvp_client *client = call->client;
	struct kvp_host *host = client->host;
	struct kvp_pool *pool;
	u32 rights = 0;
	bool ends = false;
	int err;

	err = kvp_check_name(call, arg->name);
	if (err)
		return err;
	mutex_lock(&host->lock);
	pool = kvp_pool_find(host, arg->name);
	if (pool)
		rights = client->pool == pool ? client->rights :
						kvp_rights_of(pool, client);
	if (!rights) {
		err = kvp_fail(call, -ENOENT, KVP_REASON_NO_POOL, 0);
	} else if (arg->pool && arg->pool != pool->id) {
		err = kvp_fail(call, -ESTALE, KVP_REASON_GENERATION, 0);
	} else if (!(rights & KVP_RIGHT_ADMIN)) {
		err = kvp_fail(call, -EACCES, KVP_REASON_RIGHT_ADMIN, 0);
	} else if (pool->nr_clients > (client->pool == pool) &&
		   !(arg->head.flags & KVP_DESTROY_FORCE)) {
		err = kvp_fail(call, -EBUSY, KVP_REASON_POOL_IN_USE, 0);
	} else {
		list_del_init(&pool->list);
		WRITE_ONCE(pool->destroyed, true);
		kvp_watchers_end(pool);
		wake_up_interruptible(&pool->wait);
		ends = kvp_pool_ends(pool);
	}
	mutex_unlock(&host->lock);
	if (ends)
		kvp_pool_free(pool);
	return err;
}

/**
 * kvp_host_init - a host without pools
 * @host: the host
 */
void kvp_host_init(struct kvp_host *host)
{
	mutex_init(&host->lock);
	host->scan_ns = KVP_SCAN_NS;
	INIT_LIST_HEAD(&host->pools);
	INIT_LIST_HEAD(&host->all);
	host->next_pool = 1;
	host->max_metadata_per_uid = U64_MAX;
	host->max_pools_per_uid = U32_MAX;
}

/**
 * kvp_host_exit - end a host, and the pools that outlived their clients
 * @host: the host; its clients are closed
 */
void kvp_host_exit(struct kvp_host *host)
{
	struct kvp_pool *pool, *next;

	list_for_each_entry_safe(pool, next, &host->pools, list) {
		WARN_ON_ONCE(pool->nr_clients);
		list_del_init(&pool->list);
		kvp_pool_free(pool);
	}
	mutex_destroy(&host->lock);
}

/* ---- what there is ---- */

/**
 * kvp_op_abi - KVP_OP_ABI
 * @call: the call
 *
 * Return: 0.
 */
int kvp_op_abi(struct kvp_call *call)
{
	struct kvp_abi *arg = call->arg;

	arg->features = KVP_FEATURE_SEQ | KVP_FEATURE_EVENTS | KVP_FEATURE_FENCE |
			KVP_FEATURE_ADMIT | KVP_FEATURE_REMAP | call->client->door->features;
	if (call->client->door->backing_take)
		arg->features |= KVP_FEATURE_BACKING;
	if (call->client->door->export_give)
		arg->features |= KVP_FEATURE_EXPORT;
	arg->slice = KVP_SLICE;
	arg->max_families = KVP_MAX_FAMILIES;
	return 0;
}

/**
 * kvp_op_pool_info - KVP_OP_POOL_INFO
 * @call: the call
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_pool_info(struct kvp_call *call)
{
	struct kvp_pool_info *arg = call->arg;
	struct kvp_family_desc *desc = call->array[0];
	const struct kvp_client *client = call->client;
	const struct kvp_pool *pool = call->pool;
	u32 room = arg->nr_families;
	u32 i;

	memcpy(arg->name, pool->name, sizeof(arg->name));
	arg->nr_families = pool->nr_families;
	arg->index_tokens = pool->index_tokens;
	arg->mode = pool->mode;
	arg->policy = pool->policy;
	arg->pool = pool->id;
	arg->client = client->account->client;
	arg->uid = pool->uid;
	arg->pool_flags = pool->flags;
	arg->rights = client->rights;
	arg->nodes = pool->nr_nodes;
	arg->grace_ms = pool->grace_ns == U64_MAX ? 0 : pool->grace_ns / NSEC_PER_MSEC;
	arg->metadata_bytes = pool->metadata_bytes;
	mutex_lock(&pool->host->lock);
	arg->pool_flags |= pool->staged ? KVP_POOL_STAGED : 0;
	arg->nr_clients = pool->nr_clients;
	arg->nr_backings = pool->nr_backings;
	mutex_unlock(&pool->host->lock);

	if (room && room < pool->nr_families)
		return kvp_fail(call, -EOVERFLOW, KVP_REASON_COUNT,
				offsetof(struct kvp_pool_info, nr_families));
	for (i = 0; room && i < pool->nr_families; i++)
		desc[i] = pool->family[i].desc;
	return 0;
}

static void kvp_pool_to_entry(const struct kvp_pool *pool, struct kvp_pool_entry *entry)
{
	memset(entry, 0, sizeof(*entry));
	memcpy(entry->name, pool->name, sizeof(entry->name));
	entry->pool = pool->id;
	entry->uid = pool->uid;
	entry->mode = pool->mode;
	entry->pool_flags = pool->flags;
	entry->nr_families = pool->nr_families;
	entry->nr_clients = pool->nr_clients;
}

/**
 * kvp_op_pool_list - KVP_OP_POOL_LIST
 * @call: the call
 *
 * Return: 0.
 */
int kvp_op_pool_list(struct kvp_call *call)
{
	struct kvp_pool_list *arg = call->arg;
	struct kvp_pool_entry *entry = call->array[0];
	struct kvp_host *host = call->client->host;
	const struct kvp_pool *pool;
	u32 room = arg->nr_pools;

	arg->nr_pools = 0;
	arg->total = 0;
	mutex_lock(&host->lock);
	list_for_each_entry(pool, &host->pools, list) {
		if (pool->staged ||
		    !(kvp_rights_of(pool, call->client) & KVP_RIGHT_USE))
			continue;
		arg->total++;
		if (arg->nr_pools < room)
			kvp_pool_to_entry(pool, &entry[arg->nr_pools++]);
	}
	mutex_unlock(&host->lock);
	return 0;
}

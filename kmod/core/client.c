// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Clients: their accounts in a pool, what is charged to them, their limits and
 * guarantees, the memory of their objects, and their death. Accounts are under
 * kvp_pool.lock; clients attach and leave under kvp_host.lock.
 *
 * An account outlives its client while blocks that others hold are charged to
 * it. Its slot goes to a new client once nothing is.
 */
#include "core.h"

/* What is guaranteed to an account and not charged. */
static u64 kvp_unmet(const struct kvp_account *account, u32 family)
{
	u64 guarantee = account->limits.guarantee[family];
	u64 charged = account->charged[family];

	return guarantee > charged ? guarantee - charged : 0;
}

/**
 * kvp_charge_locked - charge blocks to an account
 * @pool: the pool
 * @family: of which family
 * @slot: which account
 * @nr: how many blocks
 */
void kvp_charge_locked(struct kvp_pool *pool, u32 family, u32 slot, u64 nr)
{
	struct kvp_account *account = pool->account[slot];
	u64 unmet = kvp_unmet(account, family);

	lockdep_assert_held(&pool->lock);
	account->charged[family] += nr;
	pool->family[family].unmet -= unmet - kvp_unmet(account, family);
}

/**
 * kvp_uncharge_locked - end a charge
 * @pool: the pool
 * @family: of which family
 * @slot: which account, that of a client who is gone perhaps
 * @nr: how many blocks
 */
void kvp_uncharge_locked(struct kvp_pool *pool, u32 family, u32 slot, u64 nr)
{
	struct kvp_account *account = pool->account[slot];
	u64 unmet = kvp_unmet(account, family);

	lockdep_assert_held(&pool->lock);
	if (WARN_ON_ONCE(account->charged[family] < nr))
		return;
	account->charged[family] -= nr;
	pool->family[family].unmet += kvp_unmet(account, family) - unmet;
}

/**
 * kvp_others_unmet_locked - blocks that a client must leave to others
 * @pool: the pool
 * @family: of which family
 * @slot: account of the client
 *
 * Return: sum over all others of what is guaranteed to them and not charged.
 */
u64 kvp_others_unmet_locked(struct kvp_pool *pool, u32 family, u32 slot)
{
	lockdep_assert_held(&pool->lock);
	return pool->family[family].unmet - kvp_unmet(pool->account[slot], family);
}

static void kvp_set_guarantee_locked(struct kvp_pool *pool, struct kvp_account *account,
				     u32 family, u64 guarantee)
{
	struct kvp_family *f = &pool->family[family];

	f->guaranteed -= account->limits.guarantee[family];
	f->unmet -= kvp_unmet(account, family);
	account->limits.guarantee[family] = guarantee;
	f->guaranteed += guarantee;
	f->unmet += kvp_unmet(account, family);
}

/**
 * kvp_account_find_sliced - the account of a client that is attached
 * @pool: the pool
 * @client: its id
 *
 * Return: the account, or NULL.
 */
struct kvp_account *kvp_account_find_sliced(struct kvp_pool *pool, u64 client)
{
	u32 touched = 0;
	u32 i;

	for (i = 0; i < pool->nr_accounts; i++) {
		struct kvp_account *account = pool->account[i];

		if (account->live && account->client == client)
			return account;
		kvp_slice_step(pool, &touched, 1);
	}
	return NULL;
}

static bool kvp_account_owes(const struct kvp_pool *pool, const struct kvp_account *account)
{
	u32 i;

	for (i = 0; i < pool->nr_families; i++)
		if (account->charged[i])
			return true;
	return false;
}

/*
 * The slot of an account for a new client, or -EDQUOT, -ENOMEM. Attaching goes on
 * under kvp_host.lock, so a slot that is free stays free.
 */
static int kvp_account_room_sliced(struct kvp_pool *pool, u32 *slot)
{
	struct kvp_account *account;
	u32 touched = 0;

	for (*slot = 0; *slot < pool->nr_accounts; ++*slot) {
		account = pool->account[*slot];
		if (!account->live && !kvp_account_owes(pool, account))
			return 0;
		kvp_slice_step(pool, &touched, 1);
	}
	if (pool->nr_accounts == KVP_MAX_CLIENTS)
		return -EDQUOT;
	spin_unlock(&pool->lock);
	account = kzalloc(sizeof(*account), GFP_KERNEL_ACCOUNT);
	spin_lock(&pool->lock);
	if (!account)
		return -ENOMEM;
	pool->account[pool->nr_accounts++] = account;
	return 0;
}

static int kvp_account_open_sliced(struct kvp_call *call, struct kvp_pool *pool, u32 rights)
{
	const u64 *guarantee = pool->default_limits.guarantee;
	struct kvp_client *client = call->client;
	struct kvp_account *account;
	u32 slot, i;
	int err;

	err = kvp_account_room_sliced(pool, &slot);
	if (err)
		return kvp_fail(call, err, err == -EDQUOT ? KVP_REASON_LIMIT_CLIENTS :
				KVP_REASON_MEMORY, 0);
	for (i = 0; i < pool->nr_families; i++)
		if (guarantee[i] > pool->family[i].nr_blocks - pool->family[i].guaranteed)
			return kvp_fail(call, -EFBIG, KVP_REASON_NEVER_FITS, i);

	account = pool->account[slot];
	memset(account, 0, sizeof(*account));
	account->client = pool->next_client++;
	account->live = true;
	account->uid = client->cred.uid;
	account->rights = rights;
	account->limits = pool->default_limits;
	for (i = 0; i < pool->nr_families; i++) {
		pool->family[i].guaranteed += guarantee[i];
		pool->family[i].unmet += guarantee[i];
	}
	client->account = account;
	client->slot = slot;
	return 0;
}

/**
 * kvp_client_attach - make a client one of a pool's
 * @call: of the client; kvp_host.lock is held
 * @pool: the pool, found by its name or just made
 * @rights: rights that it gets, for ever
 *
 * Return: 0, or kvp_fail() with -EBUSY (attached already), -EDQUOT (too many
 * clients), -EFBIG (the guarantee of new clients does not fit any more), -ENOMEM.
 */
int kvp_client_attach(struct kvp_call *call, struct kvp_pool *pool, u32 rights)
{
	struct kvp_client *client = call->client;
	int err;

	lockdep_assert_held(&client->host->lock);
	if (client->pool)
		return kvp_fail(call, -EBUSY, KVP_REASON_ATTACHED, 0);
	down_read(&pool->gate);
	spin_lock(&pool->lock);
	err = kvp_account_open_sliced(call, pool, rights);
	if (!err) {
		client->rights = rights;
		list_add_tail(&client->list, &pool->clients);
		pool->nr_clients++;
		/* Pairs with the acquire of calls, which need all of the above. */
		smp_store_release(&client->pool, pool);
	}
	spin_unlock(&pool->lock);
	up_read(&pool->gate);
	return err;
}

/**
 * kvp_client_open - a new client, attached to no pool
 * @host: the pools that it can see
 * @door: how its caller is reached
 * @cred: its credentials, for ever
 *
 * Return: the client, to be ended by kvp_client_close(), or NULL: no memory.
 */
struct kvp_client *kvp_client_open(struct kvp_host *host, const struct kvp_door *door,
				   const struct kvp_cred *cred)
{
	struct kvp_client *client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);

	if (!client)
		return NULL;
	client->host = host;
	client->door = door;
	client->cred = *cred;
	INIT_LIST_HEAD(&client->list);
	mutex_init(&client->raw_lock);
	return client;
}

static void kvp_client_end_objects_sliced(struct kvp_client *client)
{
	struct kvp_pool *pool = client->pool;
	u32 touched = 0;
	u32 i;

	for (i = 0; i < client->seqs.cap; i++) {
		struct kvp_seq *seq = kvp_id_slot(&client->seqs, i)->object;

		if (seq)
			kvp_seq_free_sliced(seq);
		kvp_slice_step(pool, &touched, 1);
	}
	for (i = 0; i < client->matches.cap; i++) {
		struct kvp_match *match = kvp_id_slot(&client->matches, i)->object;

		if (match)
			kvp_match_free_sliced(client, match);
		kvp_slice_step(pool, &touched, 1);
	}
	kvp_raw_exit_sliced(client);
}

static void kvp_account_close_locked(struct kvp_pool *pool, struct kvp_account *account)
{
	u32 i;

	for (i = 0; i < pool->nr_families; i++)
		kvp_set_guarantee_locked(pool, account, i, 0);
	account->live = false;
	WARN_ON_ONCE(account->slots || account->seqs || account->raw || account->matches ||
		     account->metadata);
}

/**
 * kvp_client_detach - end what kvp_client_attach() began
 * @client: without objects; kvp_host.lock is held
 *
 * Under the gate, so that an audit sees all of it or nothing.
 */
void kvp_client_detach(struct kvp_client *client)
{
	struct kvp_pool *pool = client->pool;

	lockdep_assert_held(&client->host->lock);
	down_read(&pool->gate);
	spin_lock(&pool->lock);
	kvp_account_close_locked(pool, client->account);
	list_del_init(&client->list);
	pool->nr_clients--;
	spin_unlock(&pool->lock);
	up_read(&pool->gate);
}

/**
 * kvp_client_close - the client is dead: what it held comes back
 * @client: the client; nobody calls on it any more
 *
 * Allocates nothing and may run anywhere that may sleep. What it published
 * stays; a pool that is not persistent ends with its last client.
 */
void kvp_client_close(struct kvp_client *client)
{
	struct kvp_pool *pool = client->pool;

	if (pool) {
		down_read(&pool->gate);
		spin_lock(&pool->lock);
		kvp_client_end_objects_sliced(client);
		spin_unlock(&pool->lock);
		kvp_ids_exit(&client->seqs);
		kvp_ids_exit(&client->matches);
		up_read(&pool->gate);
		kvp_pool_leave(client);
	}
	mutex_destroy(&client->raw_lock);
	kfree(client);
}

/* Set the members of @limits that @arg->mask names, but for the guarantee. */
static void kvp_limits_set_locked(struct kvp_limits *limits, const struct kvp_limit *arg)
{
	if (arg->mask & KVP_LIMIT_BLOCKS)
		limits->blocks[arg->family] = arg->blocks;
	if (arg->mask & KVP_LIMIT_SLOTS)
		limits->slots = arg->slots;
	if (arg->mask & KVP_LIMIT_SEQS)
		limits->seqs = arg->seqs;
	if (arg->mask & KVP_LIMIT_RAW)
		limits->raw = arg->raw;
	if (arg->mask & KVP_LIMIT_MATCHES)
		limits->matches = arg->matches;
	if (arg->mask & KVP_LIMIT_METADATA)
		limits->metadata = arg->metadata_bytes;
}

static int kvp_limit_sliced(struct kvp_call *call)
{
	const struct kvp_limit *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	const struct kvp_family *family = &pool->family[arg->family];
	struct kvp_limits *limits = &pool->default_limits;
	struct kvp_account *account = NULL;
	u64 others = 0;

	if (arg->client) {
		account = kvp_account_find_sliced(pool, arg->client);
		if (!account)
			return kvp_fail(call, -ENOENT, KVP_REASON_NO_CLIENT, 0);
		limits = &account->limits;
		others = family->guaranteed - limits->guarantee[arg->family];
	}
	if (arg->mask & KVP_LIMIT_GUARANTEE) {
		if (arg->guarantee > family->nr_blocks - others)
			return kvp_fail(call, -EFBIG, KVP_REASON_NEVER_FITS, arg->family);
		if (account)
			kvp_set_guarantee_locked(pool, account, arg->family, arg->guarantee);
		else
			limits->guarantee[arg->family] = arg->guarantee;
	}
	kvp_limits_set_locked(limits, arg);
	return 0;
}

/**
 * kvp_op_limit - KVP_OP_LIMIT
 * @call: the call
 *
 * A guarantee for those to come is taken when one comes: attaching fails where
 * it does not fit.
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_limit(struct kvp_call *call)
{
	const struct kvp_limit *arg = call->arg;
	int err;

	if (arg->mask & ~KVP_LIMIT_ALL)
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE, offsetof(struct kvp_limit, mask));
	if (arg->family >= call->pool->nr_families)
		return kvp_fail(call, -EINVAL, KVP_REASON_FAMILY, arg->family);
	spin_lock(&call->pool->lock);
	err = kvp_limit_sliced(call);
	spin_unlock(&call->pool->lock);
	return err;
}

/**
 * kvp_client_alloc - zeroed memory for an object of a client
 * @client: who is charged for it
 * @size: bytes, > 0
 *
 * Takes kvp_pool.lock. Return: the memory, for kvp_client_free(); or ERR_PTR:
 * -EDQUOT (KVP_REASON_LIMIT_METADATA), -ENOMEM (KVP_REASON_MEMORY).
 */
void *kvp_client_alloc(struct kvp_client *client, size_t size)
{
	struct kvp_account *account = client->account;
	struct kvp_pool *pool = client->pool;
	bool room;
	void *mem;

	spin_lock(&pool->lock);
	room = account->metadata <= account->limits.metadata &&
	       size <= account->limits.metadata - account->metadata;
	if (room)
		account->metadata += size;
	spin_unlock(&pool->lock);
	if (!room)
		return ERR_PTR(-EDQUOT);

	mem = kvzalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (mem)
		return mem;
	spin_lock(&pool->lock);
	account->metadata -= size;
	spin_unlock(&pool->lock);
	return ERR_PTR(-ENOMEM);
}

/**
 * kvp_client_free - end of an object of a client
 * @client: who was charged
 * @mem: from kvp_client_alloc(), or NULL
 * @size: as given there
 *
 * Takes kvp_pool.lock.
 */
void kvp_client_free(struct kvp_client *client, void *mem, size_t size)
{
	if (!mem)
		return;
	kvfree(mem);
	spin_lock(&client->pool->lock);
	client->account->metadata -= size;
	spin_unlock(&client->pool->lock);
}

// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Clients: their accounts in a pool, what is charged to them and guaranteed, the
 * memory of their objects, and their death. Accounts are under
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
	account->user->charged[family] += nr;
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
	account->user->charged[family] -= nr;
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

/**
 * kvp_set_guarantee_locked - what others leave to a client
 * @pool: the pool
 * @account: of the client
 * @family: of which family
 * @guarantee: blocks; with those of all others not more than there are
 */
void kvp_set_guarantee_locked(struct kvp_pool *pool, struct kvp_account *account, u32 family,
			      u64 guarantee)
{
	struct kvp_family *f = &pool->family[family];

	f->guaranteed -= account->limits.guarantee[family];
	f->unmet -= kvp_unmet(account, family);
	account->limits.guarantee[family] = guarantee;
	f->guaranteed += guarantee;
	f->unmet += kvp_unmet(account, family);
	pool->came_back++;
}

/**
 * kvp_account_find_sliced - the account of a client that is attached
 * @pool: the pool
 * @client: its id
 * @dead: or in quarantine
 *
 * Return: the account, or NULL.
 */
struct kvp_account *kvp_account_find_sliced(struct kvp_pool *pool, u64 client, bool dead)
{
	u32 i;

	for (i = 0; i < pool->nr_accounts; i++) {
		struct kvp_account *account = pool->account[i];

		if ((account->live || (dead && account->dead)) && account->client == client)
			return account;
		kvp_slice_step(pool, 1);
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
static int kvp_account_room_sliced(struct kvp_pool *pool, u32 rights, u32 *slot)
{
	u32 most = KVP_MAX_CLIENTS - (rights & KVP_RIGHT_ADMIN ? 0 : KVP_ADMIN_CLIENTS);
	struct kvp_account *account;

	for (*slot = 0; *slot < min(pool->nr_accounts, most); ++*slot) {
		account = pool->account[*slot];
		if (!account->live && !account->dead && !kvp_account_owes(pool, account))
			return 0;
		kvp_slice_step(pool, 1);
	}
	if (pool->nr_accounts >= most)
		return -EDQUOT;
	kvp_unlock(pool);
	account = kzalloc(sizeof(*account), GFP_KERNEL_ACCOUNT);
	kvp_lock(pool);
	if (!account)
		return -ENOMEM;
	pool->account[pool->nr_accounts++] = account;
	return 0;
}

static void kvp_account_init_locked(struct kvp_pool *pool, struct kvp_account *account,
				    const struct kvp_client *client, struct kvp_user *user)
{
	memset(account, 0, sizeof(*account));
	account->client = pool->next_client++;
	account->live = true;
	account->rights = client->rights;
	account->pid = client->cred.pid;
	memcpy(account->command, client->cred.command, sizeof(account->command));
	account->stamp = ktime_get_ns();
	account->user = user;
	user->nr_accounts++;
}

/* @limits: of the client that makes an export, which gets no guarantee; else NULL. */
static int kvp_account_open_sliced(struct kvp_call *call, struct kvp_pool *pool,
				   const struct kvp_limits *limits, u64 *room)
{
	const u64 *guarantee = pool->default_limits.guarantee;
	struct kvp_client *client = call->client;
	/* Who only looks must get in, or nobody could take a guarantee back. */
	bool guaranteed = client->rights & KVP_RIGHT_PUBLISH && !limits;
	struct kvp_user *user;
	u32 slot, i;
	int err;

	err = kvp_account_room_sliced(pool, client->rights, &slot);
	if (!err && pool->account[slot]->user) {
		/* Its place may be the one that this client's user needs. */
		pool->account[slot]->user->nr_accounts--;
		pool->account[slot]->user = NULL;
	}
	user = err ? NULL : kvp_user_get_sliced(pool, client->cred.uid, &err);
	if (err)
		return kvp_fail(call, err, err == -EDQUOT ? KVP_REASON_LIMIT_CLIENTS :
				KVP_REASON_MEMORY, 0);
	for (i = 0; guaranteed && i < pool->nr_families; i++) {
		*room = pool->family[i].nr_blocks - pool->family[i].guaranteed;
		if (guarantee[i] > *room)
			return kvp_fail(call, -EFBIG, KVP_REASON_NEVER_FITS, i);
	}
	*room = 0;
	client->account = pool->account[slot];
	client->slot = slot;
	kvp_account_init_locked(pool, client->account, client, user);
	client->account->limits = limits ? *limits : pool->default_limits;
	memset(client->account->limits.guarantee, 0, sizeof(client->account->limits.guarantee));
	for (i = 0; guaranteed && i < pool->nr_families; i++)
		kvp_set_guarantee_locked(pool, client->account, i, guarantee[i]);
	return 0;
}

/**
 * kvp_client_attach - make a client one of a pool's
 * @call: of the client; the pool's gate and kvp_host.lock are held
 * @pool: the pool, found by its name or just made
 * @rights: rights that it gets, for ever
 * @limits: of the maker of an export, else NULL
 * @room: set, with -EFBIG, to the blocks of that family that are guaranteed to nobody
 *
 * Return: 0, or kvp_fail() with -EBUSY (attached already), -EDQUOT (too many
 * clients), -EFBIG (the guarantee of new clients does not fit any more), -ENOMEM.
 */
int kvp_client_attach(struct kvp_call *call, struct kvp_pool *pool, u32 rights,
		      const struct kvp_limits *limits, u64 *room)
{
	struct kvp_client *client = call->client;
	int err;

	lockdep_assert_held(&client->host->lock);
	if (client->pool)
		return kvp_fail(call, -EBUSY, KVP_REASON_ATTACHED, 0);
	kvp_lock(pool);
	client->rights = rights;
	err = kvp_account_open_sliced(call, pool, limits, room);
	if (!err) {
		list_add_tail(&client->list, &pool->clients);
		pool->nr_clients++;
		/* Pairs with the acquire of calls, which need all of the above. */
		smp_store_release(&client->pool, pool);
	}
	kvp_unlock(pool);
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

	if (client)
		kvp_client_init(client, host, door, cred);
	return client;
}

/**
 * kvp_client_init - kvp_client_open() for zeroed memory of one's own
 * @client: the memory, to be ended by kvp_client_end()
 * @host: see kvp_client_open()
 * @door: see there
 * @cred: see there
 */
void kvp_client_init(struct kvp_client *client, struct kvp_host *host,
		     const struct kvp_door *door, const struct kvp_cred *cred)
{
	client->host = host;
	client->door = door;
	client->cred = *cred;
	INIT_LIST_HEAD(&client->list);
	INIT_LIST_HEAD(&client->watch_list);
	mutex_init(&client->raw_lock);
}

/**
 * kvp_client_exit - end what kvp_client_init() began
 * @client: on no list, without objects
 */
void kvp_client_exit(struct kvp_client *client)
{
	kvp_times_free(client->times);
	mutex_destroy(&client->raw_lock);
}

static void kvp_client_end_objects_sliced(struct kvp_client *client)
{
	struct kvp_pool *pool = client->pool;
	u32 i;

	for (i = 0; i < client->seqs.cap; i++) {
		struct kvp_seq *seq = kvp_id_slot(&client->seqs, i)->object;

		if (seq) {
			kvp_seq_settle_sliced(pool, seq);
			kvp_seq_end_life_sliced(seq);
		}
		kvp_slice_step(pool, 1);
	}
	for (i = 0; i < client->matches.cap; i++) {
		struct kvp_match *match = kvp_id_slot(&client->matches, i)->object;

		if (match)
			kvp_match_free_sliced(client, match);
		kvp_slice_step(pool, 1);
	}
	kvp_raw_exit_sliced(client);
	kvp_reserve_exit_sliced(client);
	kvp_watches_end_locked(client);
	kvp_client_dies_sliced(client);
}

/**
 * kvp_account_end_locked - nothing of a client is left
 * @pool: the pool
 * @account: its account, which goes on while blocks are charged to it
 */
void kvp_account_end_locked(struct kvp_pool *pool, struct kvp_account *account)
{
	u32 i;

	for (i = 0; i < KVP_NR_THINGS; i++)
		WARN_ON_ONCE(account->has[i]);
	for (i = 0; i < pool->nr_families; i++)
		WARN_ON_ONCE(account->reserve[i]);
}

static void kvp_account_close_locked(struct kvp_pool *pool, struct kvp_account *account)
{
	u32 i;

	for (i = 0; i < pool->nr_families; i++)
		kvp_set_guarantee_locked(pool, account, i, 0);
	account->live = false;
	if (account->export)
		kvp_export_gone_locked(pool, account->export);
	account->export = NULL;
	/* Exports and backings that it made go on, charged to its user. */
	account->has[KVP_EXPORTS] = 0;
	account->has[KVP_BACKINGS] = 0;
}

/**
 * kvp_client_detach - end what kvp_client_attach() began
 * @client: without objects, but for what waits for fences; the pool's gate is held, so that an
 *          audit sees all of it or nothing, and kvp_host.lock
 *
 * Return: whether something of it waits; then the client stays, and is the pool's.
 */
bool kvp_client_detach(struct kvp_client *client)
{
	struct kvp_pool *pool = client->pool;
	bool stays;

	lockdep_assert_held(&client->host->lock);
	kvp_lock(pool);
	kvp_account_close_locked(pool, client->account);
	kvp_log_left_locked(pool, client->account->client);
	list_del_init(&client->list);
	pool->nr_clients--;
	stays = kvp_quarantine_locked(client);
	if (!stays)
		kvp_account_end_locked(pool, client->account);
	kvp_unlock(pool);
	return stays;
}

/**
 * kvp_client_end - the client is dead: what it held comes back
 * @client: the client; nobody calls on it any more. Its memory is the caller's
 *
 * Allocates nothing and may run anywhere that may sleep. What it published
 * stays; a pool that is not persistent ends with its last client.
 *
 * Return: whether work of it may go on: then it is in quarantine, or was until the pool ended, and
 * not to be touched any more.
 */
bool kvp_client_end(struct kvp_client *client)
{
	struct kvp_pool *pool = client->pool;
	bool stays = false;

	if (pool) {
		down_read(&pool->gate);
		kvp_tickets_end(client);
		kvp_lock(pool);
		kvp_client_end_objects_sliced(client);
		kvp_unlock(pool);
		kvp_ids_exit(&client->seqs);
		kvp_ids_exit(&client->matches);
		kvp_ids_exit(&client->tickets);
		up_read(&pool->gate);
		stays = kvp_pool_leave(client);
	}
	if (!stays)
		kvp_client_exit(client);
	return stays;
}

/**
 * kvp_client_close - end what kvp_client_open() began
 * @client: the client, for kvp_client_end()
 */
void kvp_client_close(struct kvp_client *client)
{
	if (!kvp_client_end(client))
		kfree(client);
}

/**
 * kvp_client_counters - the page of the pool's counters
 * @client: the client
 *
 * Return: the page, which stays while the client is attached; NULL if it is not, or may not use
 * blocks.
 */
void *kvp_client_counters(const struct kvp_client *client)
{
	const struct kvp_pool *pool = smp_load_acquire(&client->pool);	/* see attach */

	return pool && client->rights & KVP_RIGHT_USE ? pool->page : NULL;
}

/**
 * kvp_client_wait - where to wait for what kvp_client_ready() says
 * @client: the client
 *
 * Return: the wait queue, which stays while the client is attached; NULL if it is not.
 */
wait_queue_head_t *kvp_client_wait(const struct kvp_client *client)
{
	struct kvp_pool *pool = smp_load_acquire(&client->pool);	/* see attach */

	return pool ? &pool->wait : NULL;
}

/**
 * kvp_client_ready_locked - what a client that polls has to know
 * @client: the client, attached
 *
 * Return: KVP_READY_*.
 */
u32 kvp_client_ready_locked(struct kvp_client *client)
{
	struct kvp_pool *pool = client->pool;
	u32 ready = 0;

	if (READ_ONCE(pool->destroyed))
		ready |= KVP_READY_GONE;
	if (client->watching && kvp_events_pending_locked(pool, client->cursor))
		ready |= KVP_READY_EVENTS;
	if (kvp_watches_told_locked(client))
		ready |= KVP_READY_FENCE;
	if (client->nr_granted)
		ready |= KVP_READY_TICKET;
	return ready;
}

/**
 * kvp_client_ready - kvp_client_ready_locked() of a client that may not be attached
 * @client: the client
 *
 * Return: KVP_READY_*.
 */
u32 kvp_client_ready(struct kvp_client *client)
{
	struct kvp_pool *pool = smp_load_acquire(&client->pool);	/* see attach */
	u32 ready;

	if (!pool)
		return KVP_READY_NO_POOL;
	kvp_lock(pool);
	ready = kvp_client_ready_locked(client);
	kvp_unlock(pool);
	return ready;
}

/**
 * kvp_client_alloc - zeroed memory for an object of a client
 * @client: who is charged for it
 * @size: bytes, > 0
 *
 * Takes kvp_pool.lock. Return: the memory, for kvp_client_free(); or ERR_PTR for
 * kvp_fail_alloc(): -EDQUOT, KVP_OVER_UID, -ENOMEM.
 */
void *kvp_client_alloc(struct kvp_client *client, size_t size)
{
	struct kvp_pool *pool = client->pool;
	void *mem;
	int err;

	kvp_lock(pool);
	err = kvp_over_locked(client, KVP_METADATA, size);
	if (err && pool->nr_fenced) {
		/* What has passed need not be remembered. */
		kvp_settle_sliced(pool);
		err = kvp_over_locked(client, KVP_METADATA, size);
	}
	if (!err)
		kvp_more_locked(client->account, KVP_METADATA, size);
	kvp_unlock(pool);
	if (err)
		return ERR_PTR(err);

	mem = kvzalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (mem)
		return mem;
	kvp_lock(pool);
	kvp_less_locked(client->account, KVP_METADATA, size);
	kvp_unlock(pool);
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
	kvp_lock(client->pool);
	kvp_less_locked(client->account, KVP_METADATA, size);
	kvp_unlock(client->pool);
}

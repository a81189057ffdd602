// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who waits. A store to a timeline raises no interrupt: so while somebody waits and fences are
 * open, timelines are read every now and then, by a timer of who owns the host, or, where
 * there is none, by who waits. Nothing here runs while nobody does. Owns no state.
 */
#include "core.h"

/* When the first quarantine ends, ns from now. */
static u64 kvp_quarantine_left_locked(const struct kvp_pool *pool)
{
	const struct kvp_client *client;
	u64 now = ktime_get_ns();
	u64 left = KVP_SCAN_NEVER;

	list_for_each_entry(client, &pool->quarantine, list)
		if (client->deadline != U64_MAX)
			left = min(left, client->deadline - min(now, client->deadline));
	return left;
}

/* Whether somebody waits for what only reading timelines can show. */
static bool kvp_scan_wanted_locked(const struct kvp_pool *pool)
{
	return !list_empty(&pool->watchers) ||
	       (!list_empty(&pool->tickets) && pool->nr_fenced > pool->nr_fenced_dead);
}

static void kvp_watcher_tell_locked(struct kvp_client *client)
{
	struct kvp_pool *pool = client->pool;
	u32 before;
	bool told;

	if (list_empty(&client->watch_list))
		return;
	before = client->times->nr_told;
	kvp_watches_told_locked(client);
	told = client->times->nr_told > before;
	/* Who waits enters the queue first and then looks under the lock held here. */
	if (told && waitqueue_active(&pool->wait))
		wake_up_interruptible(&pool->wait);
}

/* Each is met once: those met go to the end of the list. */
static void kvp_watchers_tell_sliced(struct kvp_pool *pool)
{
	u32 left = pool->nr_watchers;

	while (left-- && !list_empty(&pool->watchers)) {
		struct kvp_client *client = list_first_entry(&pool->watchers, struct kvp_client,
							     watch_list);

		list_move_tail(&client->watch_list, &pool->watchers);
		kvp_watcher_tell_locked(client);
		kvp_slice_step(pool, 1 + KVP_NR_TIMELINES / 8);
	}
}

/**
 * kvp_pool_scan - read timelines for who waits
 * @pool: the pool; its gate is held
 *
 * Return: ns until it is to be called again, KVP_SCAN_NEVER: nothing to wait for by time.
 */
u64 kvp_pool_scan(struct kvp_pool *pool)
{
	u64 again;

	kvp_lock(pool);
	pool->counters.scans++;
	kvp_settle_sliced(pool);
	kvp_watchers_tell_sliced(pool);
	kvp_unlock(pool);
	kvp_tickets_serve(pool);

	kvp_lock(pool);
	again = kvp_quarantine_left_locked(pool);
	if (kvp_scan_wanted_locked(pool))
		again = min(again, READ_ONCE(pool->host->scan_ns));
	kvp_unlock(pool);
	return again;
}

/**
 * kvp_pool_tell - at the end of a call: somebody may wait for what it did
 * @pool: the pool; its gate is held
 * @client: whose timelines the call may have written, or NULL
 */
void kvp_pool_tell(struct kvp_pool *pool, struct kvp_client *client)
{
	bool serve, soon;

	if (likely(!READ_ONCE(pool->nr_waits)))
		return;
	kvp_lock(pool);
	if (client)
		kvp_watcher_tell_locked(client);
	serve = !list_empty(&pool->tickets) && pool->served != pool->came_back;
	kvp_unlock(pool);
	if (serve)
		kvp_tickets_serve(pool);
	kvp_lock(pool);
	/* Of a quarantine once: then it is known when it ends. */
	soon = kvp_scan_wanted_locked(pool) || pool->quarantine_new;
	pool->quarantine_new = false;
	kvp_unlock(pool);
	if (soon && pool->host->scan_soon)
		pool->host->scan_soon(pool->host);
}

/**
 * kvp_host_scan - kvp_pool_scan() for every pool in which somebody waits
 * @host: the host
 *
 * One in which an audit runs is left for the next time. Return: as kvp_pool_scan().
 */
u64 kvp_host_scan(struct kvp_host *host)
{
	u64 again = KVP_SCAN_NEVER;
	struct kvp_pool *pool, *next;
	LIST_HEAD(ended);

	mutex_lock(&host->lock);
	list_for_each_entry_safe(pool, next, &host->all, all) {
		if (!READ_ONCE(pool->nr_waits))
			continue;
		pool->nr_scans++;
		mutex_unlock(&host->lock);
		if (down_read_trylock(&pool->gate)) {
			again = min(again, kvp_pool_scan(pool));
			up_read(&pool->gate);
		} else {
			again = min(again, READ_ONCE(host->scan_ns));
		}
		mutex_lock(&host->lock);
		next = list_next_entry(pool, all);
		pool->nr_scans--;
		kvp_pool_end_later(pool, &ended);
	}
	mutex_unlock(&host->lock);
	kvp_pools_free(&ended);
	return again;
}

/**
 * kvp_client_scan - kvp_pool_scan() by a client that waits, where no timer does it
 * @client: the client, attached
 *
 * Return: as kvp_pool_scan().
 */
u64 kvp_client_scan(struct kvp_client *client)
{
	struct kvp_pool *pool = smp_load_acquire(&client->pool);	/* see attach */
	u64 again = KVP_SCAN_NEVER;

	if (!pool || !READ_ONCE(pool->nr_waits))
		return again;
	down_read(&pool->gate);
	again = kvp_pool_scan(pool);
	up_read(&pool->gate);
	return again;
}

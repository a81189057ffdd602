// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Timelines: what they showed, what was announced, and who wants to be told. A timeline's value is
 * in a page that its client, and whatever the client shares it with, may write at any time;
 * what is right of it is kept in struct kvp_clock, under kvp_pool.lock.
 *
 * Owns struct kvp_times. It is not charged to the client: there is one, of bounded size.
 */
#include "core.h"

/**
 * kvp_client_times - the timelines of a client, made if there are none yet
 * @client: the client, attached or not
 *
 * May sleep. Return: the timelines, which stay as long as the client; or NULL: no memory.
 */
struct kvp_times *kvp_client_times(struct kvp_client *client)
{
	struct kvp_times *times = smp_load_acquire(&client->times);	/* the cmpxchg() below */
	struct kvp_times *made;

	if (times)
		return times;
	BUILD_BUG_ON(KVP_NR_TIMELINES * sizeof(*made->page) > PAGE_SIZE);
	made = kzalloc(sizeof(*made), GFP_KERNEL_ACCOUNT);
	if (!made)
		return NULL;
	made->page = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!made->page) {
		kfree(made);
		return NULL;
	}
	/* Orders, and another call may have been faster. */
	times = cmpxchg(&client->times, NULL, made);
	if (!times)
		return made;
	kvp_times_free(made);
	return times;
}

/**
 * kvp_times_free - end of a client's timelines
 * @times: the timelines, or NULL; a mapping has its own reference on the page
 */
void kvp_times_free(struct kvp_times *times)
{
	if (!times)
		return;
	free_page((unsigned long)times->page);
	kfree(times);
}

/**
 * kvp_clock_read_locked - read a timeline
 * @client: whose
 * @timeline: which; it was made
 *
 * Once, since it may change at any time. What was wrong stays without effect until the value
 * changes: a jump must not become right by being announced afterwards. Those of a dead
 * client are not read. Return: the greatest value that was right.
 */
u64 kvp_clock_read_locked(struct kvp_client *client, u32 timeline)
{
	struct kvp_clock *clock = &client->times->clock[timeline];
	struct kvp_counters *counters = &client->pool->counters;
	u64 value;

	lockdep_assert_held(&client->pool->lock);
	if (client->dead)
		return clock->seen;
	/* Pairs with the store of who ends the work: what that wrote is there, too. */
	value = smp_load_acquire(&client->times->page[timeline].value);
	if (value == clock->read)
		return clock->seen;
	clock->read = value;
	if (value < clock->seen) {
		client->account->backwards++;
		counters->backwards++;
	} else if (value > clock->announced) {
		client->account->jumps++;
		counters->jumps++;
	} else {
		clock->seen = value;
	}
	return clock->seen;
}

/**
 * kvp_fence_passed_locked - whether work has ended, or must be taken for ended
 * @client: whose timelines
 * @timeline: of the fence
 * @value: of the fence
 *
 * Return: whether it has passed, or its client's quarantine is over.
 */
bool kvp_fence_passed_locked(struct kvp_client *client, u32 timeline, u64 value)
{
#ifdef KVP_TEST_BROKEN_FENCE
	return true;
#endif
	if (kvp_clock_read_locked(client, timeline) >= value)
		return true;
	return client->dead && ktime_get_ns() >= client->deadline;
}

/* ---- who wants to be told --------------------------------------------------------- */

/* @wait: becomes true or false; whether there is something to be read for is counted. */
static void kvp_watching_locked(struct kvp_client *client, bool wait)
{
	struct kvp_pool *pool = client->pool;

	if (wait == !list_empty(&client->watch_list))
		return;
	if (wait)
		list_add_tail(&client->watch_list, &pool->watchers);
	else
		list_del_init(&client->watch_list);
	pool->nr_watchers += wait ? 1 : -1;
	WRITE_ONCE(pool->nr_waits, pool->nr_waits + (wait ? 1 : -1));
}

/**
 * kvp_watches_told_locked - look at the fences that a client watches
 * @client: the client
 *
 * Return: whether one has passed of which no query has told the client.
 */
bool kvp_watches_told_locked(struct kvp_client *client)
{
	struct kvp_times *times = smp_load_acquire(&client->times);	/* see kvp_client_times() */
	u32 i;

	if (!times)
		return false;
	for (i = 0; times->nr_watched && i < times->nr; i++) {
		struct kvp_clock *clock = &times->clock[i];

		if (!clock->watch || kvp_clock_read_locked(client, i) < clock->watch)
			continue;
		clock->watch = 0;
		times->nr_watched--;
		times->nr_told += !clock->told;
		clock->told = true;
	}
	if (!times->nr_watched)
		kvp_watching_locked(client, false);
	return times->nr_told;
}

/**
 * kvp_watches_end_locked - a client watches nothing any more
 * @client: the client
 */
void kvp_watches_end_locked(struct kvp_client *client)
{
	kvp_watching_locked(client, false);
}

/**
 * kvp_watchers_end - nobody watches any more: the pool was destroyed
 * @pool: the pool
 */
void kvp_watchers_end(struct kvp_pool *pool)
{
	kvp_lock(pool);
	while (!list_empty(&pool->watchers))
		kvp_watches_end_locked(list_first_entry(&pool->watchers, struct kvp_client,
							watch_list));
	kvp_unlock(pool);
}

static void kvp_untell_locked(struct kvp_times *times)
{
	u32 i;

	for (i = 0; times->nr_told && i < times->nr; i++) {
		times->nr_told -= times->clock[i].told;
		times->clock[i].told = false;
	}
}

static void kvp_watch_locked(struct kvp_client *client, u32 timeline, u64 value)
{
	struct kvp_clock *clock = &client->times->clock[timeline];

	if (!clock->watch)
		client->times->nr_watched++;
	if (!clock->watch || value < clock->watch)
		clock->watch = value;
	kvp_watching_locked(client, true);
}

static void kvp_unwatch_locked(struct kvp_client *client, u32 timeline)
{
	struct kvp_clock *clock = &client->times->clock[timeline];

	if (!clock->watch)
		return;
	clock->watch = 0;
	if (!--client->times->nr_watched)
		kvp_watching_locked(client, false);
}

/* ---- operations ---------------------------------------------------------------------- */

/**
 * kvp_op_timeline_create - KVP_OP_TIMELINE_CREATE
 * @call: struct kvp_timeline_create
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_timeline_create(struct kvp_call *call)
{
	struct kvp_timeline_create *arg = call->arg;
	struct kvp_times *times = kvp_client_times(call->client);
	struct kvp_pool *pool = call->pool;
	int err = 0;

	arg->timeline = 0;
	if (!times)
		return kvp_fail(call, -ENOMEM, KVP_REASON_MEMORY, 0);
	kvp_lock(pool);
	if (times->nr == KVP_NR_TIMELINES)
		err = kvp_refuse_locked(call, -EDQUOT, KVP_REASON_LIMIT_TIMELINES, 0);
	else
		arg->timeline = times->nr;
	if (!err) {
		/* Whoever has mapped the page may have written there before. */
		WRITE_ONCE(times->page[times->nr].value, 0);
		times->nr++;
	}
	kvp_unlock(pool);
	return err;
}

/**
 * kvp_timeline_check_locked - whether a client has made a timeline
 * @client: the client
 * @timeline: index that it gave; safe to use, also speculatively, if there is one
 *
 * Return: whether there is one.
 */
bool kvp_timeline_check_locked(const struct kvp_client *client, u32 *timeline)
{
	const struct kvp_times *times = smp_load_acquire(&client->times); /* kvp_client_times() */

	if (!times || *timeline >= times->nr)
		return false;
	*timeline = array_index_nospec(*timeline, KVP_NR_TIMELINES);
	return true;
}

/**
 * kvp_op_signal - KVP_OP_SIGNAL
 * @call: struct kvp_signal
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_signal(struct kvp_call *call)
{
	struct kvp_signal *arg = call->arg;
	struct kvp_client *client = call->client;
	struct kvp_pool *pool = call->pool;
	u32 timeline = arg->timeline;
	struct kvp_clock *clock;
	int err = 0;

	kvp_lock(pool);
	if (!kvp_timeline_check_locked(client, &timeline)) {
		kvp_unlock(pool);
		return kvp_fail(call, -ENOENT, KVP_REASON_NO_TIMELINE, 0);
	}
	clock = &client->times->clock[timeline];
	if (arg->value <= kvp_clock_read_locked(client, timeline)) {
		client->account->backwards++;
		pool->counters.backwards++;
		err = kvp_fail(call, -EINVAL, KVP_REASON_FENCE_PASSED, 0);
	} else if (arg->value > clock->announced) {
		client->account->jumps++;
		pool->counters.jumps++;
		err = kvp_fail(call, -EINVAL, KVP_REASON_FENCE_AHEAD, 0);
	} else {
		clock->seen = arg->value;
		clock->read = arg->value;
		/* As a store of the client's own: what it did before is there for who reads. */
		smp_store_release(&client->times->page[timeline].value, arg->value);
	}
	kvp_unlock(pool);
	return err;
}

/* Checks all, so that a query that fails has told and watched nothing. */
static int kvp_query_check_locked(struct kvp_call *call)
{
	struct kvp_query *arg = call->arg;
	const struct kvp_fence *fence = call->array[0];
	bool watch = arg->head.flags & KVP_QUERY_WATCH;
	u32 timeline, i;

	for (i = 0; i < arg->nr_fences; i++) {
		timeline = fence[i].timeline;
		if (!kvp_timeline_check_locked(call->client, &timeline))
			return kvp_fail(call, -ENOENT, KVP_REASON_NO_TIMELINE, i);
		if (watch && fence[i].value > call->client->times->clock[timeline].announced)
			return kvp_fail(call, -EINVAL, KVP_REASON_FENCE_AHEAD, i);
	}
	return 0;
}

static void kvp_query_one_locked(struct kvp_client *client, struct kvp_fence *fence, bool watch)
{
	u32 timeline = array_index_nospec(fence->timeline, KVP_NR_TIMELINES);

	fence->seen = kvp_clock_read_locked(client, timeline);
	fence->announced = client->times->clock[timeline].announced;
	fence->passed = fence->seen >= fence->value;
	if (watch && !fence->value)
		kvp_unwatch_locked(client, timeline);
	else if (watch && !fence->passed)
		kvp_watch_locked(client, timeline, fence->value);
}

/**
 * kvp_op_query - KVP_OP_QUERY
 * @call: struct kvp_query
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_query(struct kvp_call *call)
{
	struct kvp_query *arg = call->arg;
	const struct kvp_client *client = call->client;
	const struct kvp_account *account = client->account;
	struct kvp_fence *fence = call->array[0];
	struct kvp_pool *pool = call->pool;
	int err;
	u32 i;

	kvp_lock(pool);
	kvp_settle_sliced(pool);
	err = kvp_query_check_locked(call);
	if (err) {
		kvp_unlock(pool);
		return err;
	}
	/* What has passed by now is told by this call. */
	arg->ready = kvp_client_ready_locked(call->client);
	if (arg->ready & KVP_READY_FENCE)
		kvp_untell_locked(call->client->times);
	for (i = 0; i < arg->nr_fences; i++)
		kvp_query_one_locked(call->client, &fence[i],
				     arg->head.flags & KVP_QUERY_WATCH);
	arg->granted = client->nr_granted;
	arg->waiting = account->has[KVP_TICKETS] - client->nr_granted;
	arg->uses = account->has[KVP_USES];
	arg->held_back = 0;
	for (i = 0; i < pool->nr_families; i++)
		arg->held_back += account->held_back[i];
	arg->backwards = account->backwards;
	arg->jumps = account->jumps;
	kvp_unlock(pool);
	return 0;
}

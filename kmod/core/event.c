// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Events: which contents matches find, told to those who mirror it. Owns the log
 * of a pool (kvp_pool.events), made when somebody first asks for events; all of
 * it is under kvp_pool.lock.
 *
 * Of the same contents STORED and REMOVED come in turn, and REMOVED only when no
 * copy is left. Three things make that hard, and are what the log keeps notes for:
 *
 * - A reclaim takes victims off the tree long before it knows whether it can go
 *   through. They are noted by their hash (kvp_event_log.victim) and told when it
 *   is sure. Where equal contents are published meanwhile, the victim is told
 *   just before them. A victim that is put back is told only if that had happened.
 *
 * - Invalidation cuts off a subtree whole. Its nodes are marked first, in slices,
 *   and then told by one event as the top is cut off. A marked node is never told
 *   again, nor what is published below it.
 *
 * - A node's namespace is far away up the tree, so that each node has a note of
 *   its root. The mark is to have none.
 */
#include "core.h"

#define KVP_MIN_EVENTS	1024U
#define KVP_MAX_EVENTS	65536U
#define KVP_VICTIM_LOAD	16		/* nodes of a pool for each bucket of victims */

/**
 * struct kvp_event_node - what the log knows of a node
 * @root: its namespace's node; KVP_NIL: no event speaks of it (any more)
 * @next: next victim in its bucket
 */
struct kvp_event_node {
	u32 root;
	u32 next;
};

/**
 * struct kvp_event_log - events of a pool, and what it takes to tell them
 * @ring: the last events; the one of number n is at n & @mask
 * @mask: events kept - 1
 * @next: number of the next event; the first is 1
 * @armed: the notes are complete, and events are told
 * @family: whose blocks name a node, KVP_NIL: nobody's
 * @cutting: namespace whose nodes are being marked, else KVP_NIL
 * @node: notes, by index of the node
 * @victim: victims that are not told yet, by hash
 * @victim_mask: buckets of @victim - 1
 * @nr_victims: how many
 */
struct kvp_event_log {
	struct kvp_event *ring;
	u64 mask;
	u64 next;
	bool armed;
	u32 family;
	u32 cutting;
	struct kvp_event_node *node;
	u32 *victim;
	u64 victim_mask;
	u64 nr_victims;
};

/* ---- one event ---------------------------------------------------------------- */

/* Id of the block that names a node. */
static u64 kvp_log_block_locked(const struct kvp_pool *pool, u32 index)
{
	const struct kvp_family *family;

	if (pool->events->family == KVP_NIL)
		return KVP_BLOCK_NULL;
	family = &pool->family[pool->events->family];
	return kvp_block_id(family, kvp_node_parts(pool, index)[family->first_part]);
}

/* @root: of which namespace, KVP_NIL: none. The caller fills in the rest under the same hold. */
static struct kvp_event *kvp_log_next_locked(struct kvp_pool *pool, u32 root)
{
	struct kvp_event_log *log = pool->events;
	struct kvp_event *event = &log->ring[log->next & log->mask];

	memset(event, 0, sizeof(*event));
	event->number = log->next++;
	if (root != KVP_NIL)
		memcpy(event->space, pool->digests[pool->nodes[root].extra].byte, KVP_DIGEST_LEN);
	/* Who waits enters the queue first and then looks at the log under the lock held here. */
	if (waitqueue_active(&pool->wait))
		wake_up_interruptible(&pool->wait);
	return event;
}

/* @index: a node with its parts, and with a parent that has them too, or is a root. */
static void kvp_log_node_locked(struct kvp_pool *pool, u32 index, u32 root,
				enum kvp_event_kind kind, u32 flags)
{
	const struct kvp_node *node = &pool->nodes[index];
	struct kvp_event *event = kvp_log_next_locked(pool, root);

	event->kind = kind;
	event->flags = flags;
	event->block = kvp_log_block_locked(pool, index);
	if (node->depth > 1)
		event->parent = kvp_log_block_locked(pool, node->parent);
	event->node = index;
	event->depth = node->depth;
	event->tokens = pool->index_tokens;
	event->tag = node->tag;
}

static void kvp_log_space_locked(struct kvp_pool *pool, u32 root)
{
	struct kvp_event *event = kvp_log_next_locked(pool, root);

	event->kind = KVP_EVENT_REMOVED;
	event->flags = KVP_EVENT_SUBTREE;
	event->node = KVP_NODE_NONE;
}

/**
 * kvp_log_left_locked - a client ends
 * @pool: the pool, which may have no log
 * @client: its id
 */
void kvp_log_left_locked(struct kvp_pool *pool, u64 client)
{
	struct kvp_event *event;

	if (!pool->events || !pool->events->armed)
		return;
	event = kvp_log_next_locked(pool, KVP_NIL);
	event->kind = KVP_EVENT_LEFT;
	event->node = KVP_NODE_NONE;
	event->client = client;
}

/* ---- victims ------------------------------------------------------------------ */

static u32 *kvp_log_bucket_locked(const struct kvp_pool *pool, u32 index)
{
	struct kvp_event_log *log = pool->events;

	return &log->victim[pool->nodes[index].hash & log->victim_mask];
}

static void kvp_victim_del_locked(struct kvp_pool *pool, u32 index)
{
	struct kvp_event_log *log = pool->events;
	u32 *link = kvp_log_bucket_locked(pool, index);

	while (*link != index) {
		if (WARN_ON_ONCE(*link == KVP_NIL))
			return;
		link = &log->node[*link].next;
	}
	*link = log->node[index].next;
	log->nr_victims--;
}

/* A victim will not come back, or others take its place. */
static void kvp_victim_tell_locked(struct kvp_pool *pool, u32 index)
{
	struct kvp_event_node *note = &pool->events->node[index];

	kvp_victim_del_locked(pool, index);
	kvp_log_node_locked(pool, index, note->root, KVP_EVENT_REMOVED, 0);
	note->root = KVP_NIL;
}

/*
 * Tell the victim that has the contents of @index, which are stored now. Equal hashes are
 * enough to know it: were the contents different, it would be told too early by a moment,
 * and again as stored if it came back.
 */
static void kvp_victim_tell_equal_locked(struct kvp_pool *pool, u32 index)
{
	struct kvp_event_log *log = pool->events;
	u32 victim = *kvp_log_bucket_locked(pool, index);
	u32 next;

	for (; victim != KVP_NIL; victim = next) {
		next = log->node[victim].next;
		if (pool->nodes[victim].hash == pool->nodes[index].hash)
			kvp_victim_tell_locked(pool, victim);
	}
}

/* The contents of a node can be found from now on, under @root. */
static void kvp_log_tell_stored_locked(struct kvp_pool *pool, u32 index, u32 root)
{
	if (pool->events->nr_victims)
		kvp_victim_tell_equal_locked(pool, index);
	kvp_log_node_locked(pool, index, root, KVP_EVENT_STORED, 0);
}

/* ---- what happens to nodes ------------------------------------------------------ */

/* The note that a node in the tree must have, by that of its parent. */
static u32 kvp_log_root_locked(const struct kvp_pool *pool, u32 index)
{
	const struct kvp_node *node = &pool->nodes[index];
	const struct kvp_node *parent = &pool->nodes[node->parent];

	if (node->flags & KVP_NODE_CUT)
		return KVP_NIL;
	if (parent->state != KVP_NODE_ROOT)
		return pool->events->node[node->parent].root;
	if (parent->flags & KVP_NODE_CUT || node->parent == pool->events->cutting)
		return KVP_NIL;
	return node->parent;
}

/**
 * kvp_log_stored_locked - a node was published
 * @pool: the pool, which has a log
 * @index: the node, in the tree
 */
void kvp_log_stored_locked(struct kvp_pool *pool, u32 index)
{
	struct kvp_event_log *log = pool->events;
	u32 root = kvp_log_root_locked(pool, index);

	lockdep_assert_held(&pool->lock);
	log->node[index].root = root;
	if (log->armed && root != KVP_NIL)
		kvp_log_tell_stored_locked(pool, index, root);
}

/**
 * kvp_log_unlinked_locked - a reclaim has taken a node off the tree, perhaps for good
 * @pool: the pool, which has a log
 * @index: the VICTIM
 */
void kvp_log_unlinked_locked(struct kvp_pool *pool, u32 index)
{
	struct kvp_event_log *log = pool->events;
	u32 *bucket = kvp_log_bucket_locked(pool, index);

	if (log->node[index].root == KVP_NIL)
		return;
	log->node[index].next = *bucket;
	*bucket = index;
	log->nr_victims++;
}

/**
 * kvp_log_relinked_locked - a node is in the tree again
 * @pool: the pool, which has a log
 * @index: the node; its parent is in the tree
 */
void kvp_log_relinked_locked(struct kvp_pool *pool, u32 index)
{
	struct kvp_event_node *note = &pool->events->node[index];

	if (note->root != KVP_NIL) {
		kvp_victim_del_locked(pool, index);
		return;
	}
	/* It was told as removed, unless it never was to be told. */
	note->root = kvp_log_root_locked(pool, index);
	if (note->root != KVP_NIL)
		kvp_log_tell_stored_locked(pool, index, note->root);
}

/**
 * kvp_log_removed_sliced - a reclaim ends its victims
 * @pool: the pool, which has a log
 * @victim: the first; the others follow through link. None has ended yet, so that those
 *          at depth 1 still keep the namespaces of all
 */
void kvp_log_removed_sliced(struct kvp_pool *pool, u32 victim)
{
	for (; victim != KVP_NIL; victim = pool->nodes[victim].next) {
		if (pool->events->node[victim].root != KVP_NIL)
			kvp_victim_tell_locked(pool, victim);
		kvp_slice_step(pool, 1);
	}
}

/*
 * Note @root for the nodes below @top, and for @top unless it is a root. kvp_pool.reclaim is
 * held, so that no node goes; one that comes takes over the note of its parent.
 */
static void kvp_log_walk_sliced(struct kvp_pool *pool, u32 top, u32 root)
{
	bool down = true;
	u32 index = top;

	lockdep_assert_held(&pool->reclaim);
	for (;;) {
		const struct kvp_node *node = &pool->nodes[index];

		if (node->state != KVP_NODE_ROOT)
			pool->events->node[index].root = root;
		if (down && node->child != KVP_NIL) {
			index = node->child;
		} else if (index == top) {
			return;
		} else if (node->next != KVP_NIL) {
			index = node->next;
			down = true;
		} else {
			index = node->parent;
			down = false;
		}
		kvp_slice_step(pool, 1);
	}
}

/**
 * kvp_log_cut_sliced - a subtree will be cut off as soon as this returns
 * @pool: the pool, which has a log; kvp_pool.reclaim is held
 * @top: its top: a published node or a root, not cut yet
 */
void kvp_log_cut_sliced(struct kvp_pool *pool, u32 top)
{
	struct kvp_event_log *log = pool->events;
	u32 root = log->node[top].root;

	if (pool->nodes[top].state == KVP_NODE_ROOT) {
		if (pool->nodes[top].child == KVP_NIL)
			return;
		log->cutting = top;
		kvp_log_walk_sliced(pool, top, KVP_NIL);
		log->cutting = KVP_NIL;
		kvp_log_space_locked(pool, top);
	} else if (root != KVP_NIL) {
		kvp_log_walk_sliced(pool, top, KVP_NIL);
		kvp_log_node_locked(pool, top, root, KVP_EVENT_REMOVED, KVP_EVENT_SUBTREE);
	}
}

/**
 * kvp_log_victim_space_locked - the namespace of a victim that may come back
 * @pool: the pool, which has a log
 * @index: the VICTIM
 * @space: gets the digest, or is left alone
 *
 * Who makes a mirror from a dump would not learn of it if the reclaim fails.
 */
void kvp_log_victim_space_locked(const struct kvp_pool *pool, u32 index, u8 *space)
{
	u32 root = pool->events->node[index].root;

	if (root != KVP_NIL)
		memcpy(space, pool->digests[pool->nodes[root].extra].byte, KVP_DIGEST_LEN);
}

/**
 * kvp_log_audit - whether the note of a published node is right
 * @pool: the pool, which has a log and rests
 * @index: the node
 * @found: the note
 * @expected: what it must be
 *
 * Return: whether the two are equal.
 */
bool kvp_log_audit(const struct kvp_pool *pool, u32 index, u32 *found, u32 *expected)
{
	*found = pool->events->node[index].root;
	*expected = kvp_log_root_locked(pool, index);
	return *found == *expected;
}

/* ---- the log's life --------------------------------------------------------------- */

static void kvp_log_free(struct kvp_event_log *log)
{
	vfree(log->ring);
	vfree(log->node);
	vfree(log->victim);
	kfree(log);
}

/**
 * kvp_events_exit - end the log of a pool
 * @pool: the pool, which nobody can reach any more; it may have no log
 */
void kvp_events_exit(struct kvp_pool *pool)
{
	if (pool->events)
		kvp_log_free(pool->events);
}

/* The family whose blocks name nodes: every node has its blocks, if it is DENSE. */
static u32 kvp_log_family(const struct kvp_pool *pool)
{
	u32 family = KVP_NIL;
	u32 i;

	for (i = 0; i < pool->nr_families; i++) {
		if (pool->family[i].desc.kind == KVP_FAMILY_DENSE)
			return i;
		if (pool->family[i].desc.kind == KVP_FAMILY_WINDOW && family == KVP_NIL)
			family = i;
	}
	return family;
}

static struct kvp_event_log *kvp_log_make(const struct kvp_pool *pool)
{
	u64 events = roundup_pow_of_two(max(KVP_MIN_EVENTS, min(pool->nr_nodes, KVP_MAX_EVENTS)));
	u64 buckets = roundup_pow_of_two(pool->nr_nodes / KVP_VICTIM_LOAD + 1);
	struct kvp_event_log *log = kzalloc(sizeof(*log), GFP_KERNEL_ACCOUNT);
	u64 bytes = 0;

	if (!log)
		return NULL;
	log->ring = kvp_arena_alloc(events, sizeof(*log->ring), &bytes);
	log->node = kvp_arena_alloc(pool->nr_nodes, sizeof(*log->node), &bytes);
	log->victim = kvp_arena_alloc(buckets, sizeof(*log->victim), &bytes);
	log->mask = events - 1;
	log->victim_mask = buckets - 1;
	log->next = 1;
	log->family = kvp_log_family(pool);
	log->cutting = KVP_NIL;
	if (!log->ring || !log->node || !log->victim) {
		kvp_log_free(log);
		return NULL;
	}
	memset(log->node, 0xff, pool->nr_nodes * sizeof(*log->node));
	memset(log->victim, 0xff, buckets * sizeof(*log->victim));
	return log;
}

/* Note the namespace of all that matches find now. Below what was cut off nobody has one. */
static void kvp_log_begin_sliced(struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->nr_nodes; i++) {
		const struct kvp_node *node = &pool->nodes[i];

		if (node->state == KVP_NODE_ROOT && !(node->flags & KVP_NODE_CUT))
			kvp_log_walk_sliced(pool, i, i);
		kvp_slice_step(pool, 1);
	}
	pool->events->armed = true;
}

/* See to it that the pool has a log; kvp_pool.reclaim keeps victims and cuts away meanwhile. */
static int kvp_log_open(struct kvp_call *call)
{
	struct kvp_pool *pool = call->pool;
	struct kvp_event_log *log;
	int err = 0;

	mutex_lock(&pool->reclaim);
	if (!pool->events) {
		log = kvp_log_make(pool);
		if (log) {
			kvp_lock(pool);
			pool->events = log;
			kvp_log_begin_sliced(pool);
			kvp_unlock(pool);
		} else {
			err = kvp_fail(call, -ENOMEM, KVP_REASON_MEMORY, 0);
		}
	}
	mutex_unlock(&pool->reclaim);
	return err;
}

/* ---- reading ------------------------------------------------------------------------ */

static u64 kvp_log_oldest_locked(const struct kvp_event_log *log)
{
	return log->next - min(log->next - 1, log->mask + 1);
}

/**
 * kvp_events_pending_locked - whether there are events to be read
 * @pool: the pool, which has a log
 * @cursor: number of the first one that matters
 *
 * Return: whether there are.
 */
bool kvp_events_pending_locked(const struct kvp_pool *pool, u64 cursor)
{
	return cursor < pool->events->next;
}

static int kvp_events_read_sliced(struct kvp_call *call)
{
	struct kvp_event_log *log = call->pool->events;
	struct kvp_event *events = call->array[0];
	struct kvp_events *arg = call->arg;
	u32 room = arg->nr_events;
	u64 oldest;

	if (arg->cursor > log->next)
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE,
				offsetof(struct kvp_events, cursor));
	if (!arg->cursor)
		arg->cursor = log->next;
	oldest = kvp_log_oldest_locked(log);
	arg->lost = oldest - min(oldest, arg->cursor);
	arg->cursor += arg->lost;
	arg->nr_events = 0;
	/* What others overwrite while they are let in is lost to the next call. */
	while (arg->nr_events < room && arg->cursor < log->next &&
	       arg->cursor >= kvp_log_oldest_locked(log)) {
		events[arg->nr_events++] = log->ring[arg->cursor++ & log->mask];
		kvp_slice_step(call->pool, 1);
	}
	arg->pending = log->next - arg->cursor;
	call->client->watching = true;
	call->client->cursor = arg->cursor;
	return 0;
}

/**
 * kvp_op_events - KVP_OP_EVENTS
 * @call: struct kvp_events
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_events(struct kvp_call *call)
{
	struct kvp_pool *pool = call->pool;
	bool armed;
	int err;

	kvp_lock(pool);
	armed = pool->events && pool->events->armed;
	kvp_unlock(pool);
	if (!armed) {
		err = kvp_log_open(call);
		if (err)
			return err;
	}
	kvp_lock(pool);
	err = kvp_events_read_sliced(call);
	kvp_unlock(pool);
	return err;
}

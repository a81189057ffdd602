// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Matching, publishing and invalidating prefixes. The index itself is in
 * node.c, the way through it in walk.c; all of it is under kvp_pool.lock.
 */
#include "core.h"

#define KVP_PUBLISH_AHEAD	8	/* nodes between two steps of fetching */

/* ---- match ------------------------------------------------------------------- */

/* Ids of the blocks of the node at @depth in the caller's table. */
static void kvp_match_blocks_locked(struct kvp_call *call, u32 index, u64 depth)
{
	struct kvp_prefix_match *arg = call->arg;
	const struct kvp_family *family = &call->pool->family[arg->family];
	const u32 *part = kvp_node_parts(call->pool, index) + family->first_part;
	u64 at = depth * family->parts;
	u64 *blocks = call->array[2];
	u32 i;

	for (i = 0; i < family->parts && at + i < arg->nr_blocks; i++)
		blocks[at + i] = kvp_block_id(family, part[i]);
}

/* Pin @index instead of *@pinned (either may be KVP_NIL). */
static void kvp_pin_locked(struct kvp_pool *pool, u32 *pinned, u32 index)
{
	if (index != KVP_NIL)
		pool->nodes[index].refs++;
	if (*pinned != KVP_NIL)
		kvp_node_put_locked(pool, *pinned);
	*pinned = index;
}

/* Look up the nodes whose hashes are known. Returns the last usable of them, or KVP_NIL. */
static u32 kvp_match_some_locked(struct kvp_call *call, struct kvp_walk *walk)
{
	u64 depth = walk->depth;
	u32 passed[KVP_WALK];
	u32 last = KVP_NIL;
	u32 nr = 0;
	u32 i;

	while (kvp_walk_next_locked(walk) != KVP_NIL) {
		passed[nr++] = walk->node;
		if (walk->usable == walk->depth)
			last = walk->node;
		if (call->array[2])
			kvp_prefetch_parts_locked(call->pool, walk->node);
	}
	for (i = 0; call->array[2] && i < nr; i++)
		kvp_match_blocks_locked(call, passed[i], depth + i);
	return last;
}

/*
 * Walk as far as contents go. Returns the node of the usable depth with one
 * reference, or KVP_NIL.
 */
static u32 kvp_match_walk(struct kvp_call *call, struct kvp_walk *walk)
{
	struct kvp_pool *pool = call->pool;
	u32 usable = KVP_NIL;
	u32 reached = KVP_NIL;
	u32 last;

	while (kvp_walk_ahead(walk)) {
		kvp_lock(pool);
		last = kvp_match_some_locked(call, walk);
		/* What was reached stays while others are let in. */
		kvp_pin_locked(pool, &reached, walk->depth ? walk->node : KVP_NIL);
		if (last != KVP_NIL)
			kvp_pin_locked(pool, &usable, last);
		kvp_unlock(pool);
	}
	kvp_lock(pool);
	kvp_pin_locked(pool, &reached, KVP_NIL);
	kvp_unlock(pool);
	return usable;
}

/* The way through the index that @in describes; its namespace is pinned by *@root. */
static bool kvp_match_begin(struct kvp_call *call, struct kvp_walk *walk, const u8 *space,
			    const struct kvp_ids_in *in, u32 *root)
{
	struct kvp_pool *pool = call->pool;
	u64 hash = kvp_space_hash(pool, space);

	kvp_lock(pool);
	*root = kvp_index_root_locked(pool, hash, space);
	if (*root != KVP_NIL)
		pool->nodes[*root].refs++;
	kvp_unlock(pool);
	kvp_walk_init(walk, pool, *root, hash, in, 0);
	return *root != KVP_NIL;
}

static u32 kvp_match_find(struct kvp_call *call, struct kvp_walk *walk,
			  const struct kvp_ids_in *in)
{
	struct kvp_prefix_match *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	const struct kvp_family *family = &pool->family[arg->family];
	u32 node = KVP_NIL;
	u32 root;

	if (kvp_match_begin(call, walk, arg->space, in, &root)) {
		node = kvp_match_walk(call, walk);
		kvp_lock(pool);
		kvp_node_put_locked(pool, root);
		kvp_unlock(pool);
	}
	arg->nr_blocks = call->array[2] ? min_t(u64, arg->nr_blocks,
						walk->usable * family->parts) : 0;
	arg->matched = walk->usable * pool->index_tokens;
	return node;
}

static int kvp_match_check(struct kvp_call *call, const struct kvp_ids_in *in)
{
	struct kvp_prefix_match *arg = call->arg;
	int err = kvp_check_family(call, &arg->family);

	return err ? err : kvp_extras_check(call, in, 0);
}

/* Whether the client may hold one more match. */
static int kvp_match_check_add_sliced(struct kvp_call *call)
{
	struct kvp_client *client = call->client;
	int err = kvp_ids_room_sliced(call->pool, &client->matches);

	if (err == -ENOMEM)
		return kvp_fail_alloc(call, err);
	if (err)
		return kvp_refuse_locked(call, -EDQUOT, KVP_REASON_LIMIT_MATCHES, 0);
	return kvp_check_more_locked(call, KVP_MATCHES, 1);
}

static int kvp_match_hold(struct kvp_call *call, struct kvp_walk *walk,
			  const struct kvp_ids_in *in)
{
	struct kvp_prefix_match *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_match *match = kvp_client_alloc(call->client, sizeof(*match));
	int err;

	if (IS_ERR(match))
		return kvp_fail_alloc(call, PTR_ERR(match));
	match->node = kvp_match_find(call, walk, in);
	kvp_lock(pool);
	err = kvp_match_check_add_sliced(call);
	if (!err && match->node != KVP_NIL) {
		match->id = kvp_ids_add_locked(&call->client->matches, match);
		kvp_more_locked(call->client->account, KVP_MATCHES, 1);
		arg->match = match->id;
		kvp_unlock(pool);
		return 0;
	}
	if (match->node != KVP_NIL)
		kvp_node_put_locked(pool, match->node);
	kvp_unlock(pool);
	kvp_client_free(call->client, match, sizeof(*match));
	return err;
}

/**
 * kvp_op_prefix_match - KVP_OP_PREFIX_MATCH
 * @call: struct kvp_prefix_match
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_prefix_match(struct kvp_call *call)
{
	struct kvp_prefix_match *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_ids_in in = {
		.tokens = call->array[0],
		.nr = arg->nr_tokens,
		.extras = call->array[1],
		.nr_extras = arg->nr_extras,
	};
	struct kvp_walk walk;
	int err;
	u32 node;

	arg->match = 0;
	err = kvp_match_check(call, &in);
	if (err)
		return err;
	if (arg->head.flags & KVP_MATCH_HOLD) {
		err = kvp_match_hold(call, &walk, &in);
		if (err)
			return err;
	} else {
		node = kvp_match_find(call, &walk, &in);
		kvp_lock(pool);
		kvp_pin_locked(pool, &node, KVP_NIL);
		kvp_unlock(pool);
	}
	kvp_lock(pool);
	pool->counters.looked_up_nodes += walk.nr_nodes;
	pool->counters.matched_nodes += walk.usable;
	kvp_unlock(pool);
	return 0;
}

/**
 * kvp_match_free_sliced - end a match: its prefix was used just now
 * @client: whose it is
 * @match: the match; its id ends, and its memory
 *
 * It is enough to tell the node in which it ends: those before it cannot be reclaimed
 * earlier, and a reclaim that meets them before takes them off the list until then. The lock
 * is dropped and held again in the end. Allocates nothing.
 */
void kvp_match_free_sliced(struct kvp_client *client, struct kvp_match *match)
{
	struct kvp_pool *pool = client->pool;

	kvp_ids_del_locked(&client->matches, match->id);
	kvp_less_locked(client->account, KVP_MATCHES, 1);
	if (match->node != KVP_NIL) {
		kvp_node_settle_locked(pool, match->node);
		kvp_node_put_locked(pool, match->node);
	}
	kvp_unlock(pool);
	kvp_client_free(client, match, sizeof(*match));
	kvp_lock(pool);
}

static int kvp_match_free_by_id(struct kvp_call *call, u64 id)
{
	struct kvp_pool *pool = call->pool;
	struct kvp_match *match;
	int err;

	kvp_lock(pool);
	match = kvp_ids_find_locked(&call->client->matches, id, &err);
	if (match)
		kvp_match_free_sliced(call->client, match);
	kvp_unlock(pool);
	return err;
}

/**
 * kvp_undo_prefix_match - the caller never learned of the match
 * @call: as executed
 */
void kvp_undo_prefix_match(struct kvp_call *call)
{
	struct kvp_prefix_match *arg = call->arg;

	if (arg->match)
		kvp_match_free_by_id(call, arg->match);
}

/**
 * kvp_op_prefix_release - KVP_OP_PREFIX_RELEASE
 * @call: struct kvp_prefix_release
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_prefix_release(struct kvp_call *call)
{
	struct kvp_prefix_release *arg = call->arg;
	int err = kvp_match_free_by_id(call, arg->match);

	if (err)
		return kvp_fail(call, err, err == -ESTALE ? KVP_REASON_GENERATION :
						KVP_REASON_NO_MATCH, 0);
	return 0;
}

/* ---- publish ------------------------------------------------------------------ */

/* A block of the sequence, which holds it, becomes part of a published node. */
static void kvp_publish_block_locked(struct kvp_family *family, u32 index, u32 node, u64 now)
{
	family->blocks[index].node = node;
	family->blocks[index].stamp = now;
	family->pool->nodes[node].held++;
	++*family->published;
}

/* The hash that chooses the lines of buckets of a run of the sequence. */
static u64 kvp_seq_first_hash(const struct kvp_pool *pool, const struct kvp_seq *seq, u64 run)
{
	return pool->nodes[seq->runs.at[run - run % KVP_HASH_RUN]].hash;
}

/* The sequence's own node becomes part of the tree. */
static void kvp_publish_own_locked(struct kvp_pool *pool, struct kvp_seq *seq, u32 tag, u64 now)
{
	u64 run = seq->nr_published;
	u32 index = seq->runs.at[run];
	u32 *part = kvp_node_parts(pool, index);
	u32 i, j;

	for (i = 0; i < pool->nr_families; i++) {
		struct kvp_family *family = &pool->family[i];

		for (j = 0; j < family->parts; j++, part++) {
			*part = seq->table[i].at[run * family->parts + j];
			if (*part != KVP_NIL)
				kvp_publish_block_locked(family, *part, index, now);
		}
	}
	pool->nodes[index].tag = tag;
	kvp_index_insert_locked(pool, index, seq->tail, kvp_seq_first_hash(pool, seq, run));
	kvp_event_stored_locked(pool, index);
}

/*
 * Whether the sequence can take the blocks of node @index for its own: their counts have room, and
 * where its own are not given back by that, idle ones are a gain like any other.
 */
static bool kvp_can_adopt_locked(struct kvp_pool *pool, struct kvp_seq *seq, u32 index)
{
	const u32 *part = kvp_node_parts(pool, index);
	u64 gain;
	u32 i, j;

	for (i = 0; i < pool->nr_families; i++) {
		struct kvp_family *family = &pool->family[i];
		const u32 *own = &seq->table[i].at[seq->nr_published * family->parts];

		gain = 0;
		for (j = 0; j < family->parts; j++, part++) {
			if (*part == KVP_NIL || own[j] == KVP_NIL)
				continue;
			if (family->blocks[*part].count == U32_MAX)
				return false;
			gain += !family->blocks[*part].count &&
				(seq->nr_uses || family->blocks[own[j]].count > 1);
		}
		if (gain && kvp_may_hold_idle_locked(seq->client, family, gain))
			return false;
	}
	return true;
}

/*
 * Take the blocks of node @index, whose contents are equal, and give back the sequence's
 * own. A window block that the node has lost is given to it, unless others hold it too.
 */
static void kvp_adopt_locked(struct kvp_pool *pool, struct kvp_seq *seq, u32 index, u64 now)
{
	u64 run = seq->nr_published;
	u32 *part = kvp_node_parts(pool, index);
	u32 i, j;

	for (i = 0; i < pool->nr_families; i++) {
		struct kvp_family *family = &pool->family[i];

		for (j = 0; j < family->parts; j++, part++) {
			u32 *at = &seq->table[i].at[run * family->parts + j];

			if (*at == KVP_NIL)
				continue;
			if (*part == KVP_NIL) {
				if (family->blocks[*at].count > 1)
					continue;
				*part = *at;
				kvp_publish_block_locked(family, *at, index, now);
				continue;
			}
			kvp_block_get_locked(pool, family, *part, seq->client->slot);
			kvp_seq_let_go_locked(pool, seq, i, *at);
			*at = *part;
		}
	}
	pool->nodes[index].uses++;
	kvp_node_unuse_locked(pool, seq->runs.at[run]);
	seq->runs.at[run] = index;
}

/*
 * What the nodes further on will need is fetched while this one is published: first the nodes
 * and their blocks, then, where their hashes say, their buckets.
 */
static void kvp_publish_prefetch_locked(struct kvp_pool *pool, const struct kvp_seq *seq,
					u64 nodes)
{
	u64 run = seq->nr_published + KVP_PUBLISH_AHEAD;
	u32 i;

	if (run < nodes)
		kvp_hash_prefetch_add_locked(pool, kvp_seq_first_hash(pool, seq, run), run + 1,
					     pool->nodes[seq->runs.at[run]].hash);
	run += KVP_PUBLISH_AHEAD;
	if (run < nodes && !(run % KVP_HASH_RUN))
		kvp_hash_prefetch(pool, pool->nodes[seq->runs.at[run]].hash);
	run += KVP_PUBLISH_AHEAD;
	if (run >= nodes)
		return;
	prefetch(&pool->nodes[seq->runs.at[run]]);
	prefetch(kvp_node_parts(pool, seq->runs.at[run]));
	for (i = 0; i < pool->nr_families; i++) {
		const struct kvp_family *family = &pool->family[i];
		u32 index = family->parts ? seq->table[i].at[run * family->parts] : KVP_NIL;

		if (index != KVP_NIL)
			prefetch(&family->blocks[index]);
	}
}

/* Whether a block of its next node is published already, in a node that a remap took apart. */
static bool kvp_publish_borrowed_locked(const struct kvp_pool *pool, const struct kvp_seq *seq)
{
	u32 i, j;

	if (!seq->borrows || pool->nodes[seq->runs.at[seq->nr_published]].state ==
			     KVP_NODE_PUBLISHED)
		return false;
	for (i = 0; i < pool->nr_families; i++) {
		const struct kvp_family *family = &pool->family[i];
		const u32 *own = &seq->table[i].at[seq->nr_published * family->parts];

		for (j = 0; j < family->parts; j++)
			if (own[j] != KVP_NIL && family->blocks[own[j]].node != KVP_NIL)
				return true;
	}
	return false;
}

/* One more node of the sequence is published. */
static void kvp_publish_next_locked(struct kvp_call *call, struct kvp_seq *seq, u64 now)
{
	struct kvp_prefix_publish *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	u32 own = seq->runs.at[seq->nr_published];
	const struct kvp_node *node = &pool->nodes[own];
	u32 next = own;

	/* A fork that shares the node may have been faster. */
	if (node->state != KVP_NODE_PUBLISHED)
		next = kvp_index_child_locked(pool, seq->tail,
					      kvp_seq_first_hash(pool, seq, seq->nr_published),
					      node->hash, kvp_node_tokens(pool, own),
					      node->extra == KVP_NIL ? NULL :
					      pool->digests[node->extra].byte);
	if (next == KVP_NIL) {
		kvp_publish_own_locked(pool, seq, arg->tag, now);
		next = own;
		arg->nr_new++;
		pool->counters.published_nodes++;
	} else {
		arg->nr_shared++;
		pool->counters.shared_nodes++;
		if (next != own && !(arg->head.flags & KVP_PUBLISH_KEEP) &&
		    kvp_can_adopt_locked(pool, seq, next))
			kvp_adopt_locked(pool, seq, next, now);
	}
	kvp_pin_locked(pool, &seq->tail, next);
	seq->nr_published++;
}

/* Tokens from the start that may be published: computed, and not being written. */
static u64 kvp_publish_limit(const struct kvp_prefix_publish *arg, const struct kvp_seq *seq)
{
	u64 tokens = min(seq->computed, kvp_seq_open_from(seq));

	return arg->limit ? min(arg->limit, tokens) : tokens;
}

/**
 * kvp_op_prefix_publish - KVP_OP_PREFIX_PUBLISH
 * @call: struct kvp_prefix_publish
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_prefix_publish(struct kvp_call *call)
{
	struct kvp_prefix_publish *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_late_room late;
	struct kvp_seq *seq;
	u64 now = ktime_get_coarse_ns();
	u64 nodes;
	int err = 0;

	arg->nr_new = 0;
	arg->nr_shared = 0;
	seq = kvp_seq_begin_settled(call, arg->seq);
	if (IS_ERR(seq))
		return PTR_ERR(seq);
	nodes = kvp_publish_limit(arg, seq) / pool->index_tokens;
	late.max = 0;
	if (nodes * pool->index_tokens > kvp_seq_tainted_from(seq)) {
		kvp_seq_end(seq);
		return kvp_fail(call, -EKEYREJECTED, KVP_REASON_TAINTED, 0);
	}
	if (nodes > seq->nr_published && !(arg->head.flags & KVP_PUBLISH_KEEP))
		err = kvp_seq_late_room(call, seq,
					(nodes - seq->nr_published) * pool->parts_per_node, &late);

	kvp_lock(pool);
	/* What is invalidated while we publish is so with the rest. */
	if (!err && seq->nr_published < nodes && pool->nodes[seq->root].flags & KVP_NODE_CUT)
		err = kvp_fail(call, -ESTALE, KVP_REASON_INVALIDATED, 0);
	if (!err && late.max) {
		kvp_unlock(pool);
		kvp_seq_late_use(seq, &late);
		kvp_lock(pool);
	}
	while (!err && seq->nr_published < nodes) {
		/* Its own blocks, and those of a node that is there already. */
		kvp_slice_next(pool, 1 + 2 * pool->parts_per_node);
		if (kvp_publish_borrowed_locked(pool, seq))
			break;
		kvp_publish_prefetch_locked(pool, seq, nodes);
		kvp_publish_next_locked(call, seq, now);
	}
	kvp_unlock(pool);
	kvp_late_drop(call->client, &late);
	arg->published = seq->nr_published * pool->index_tokens;
	kvp_seq_end(seq);
	return err;
}

/* ---- invalidate ---------------------------------------------------------------- */

/* The node in which the given contents end, with one reference, or KVP_NIL. */
static u32 kvp_invalidate_find(struct kvp_call *call, const struct kvp_ids_in *in)
{
	struct kvp_prefix_invalidate *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	u32 pinned = KVP_NIL;
	struct kvp_walk walk;
	u32 root;

	if (!kvp_match_begin(call, &walk, arg->space, in, &root))
		return KVP_NIL;
	while (kvp_walk_ahead(&walk)) {
		kvp_lock(pool);
		while (kvp_walk_next_locked(&walk) != KVP_NIL)
			;
		kvp_pin_locked(pool, &pinned, walk.depth ? walk.node : KVP_NIL);
		kvp_unlock(pool);
	}
	kvp_lock(pool);
	kvp_node_put_locked(pool, root);
	if (walk.depth < walk.nr_nodes)
		kvp_pin_locked(pool, &pinned, KVP_NIL);
	kvp_unlock(pool);
	return pinned;
}

/* @index: a published node, or a root that is still in the hash; reclaim is kept away. */
static void kvp_cut_sliced(struct kvp_call *call, u32 index)
{
	struct kvp_prefix_invalidate *arg = call->arg;

	if (call->pool->nodes[index].flags & KVP_NODE_CUT)
		return;
	kvp_event_cut_sliced(call->pool, index);
	kvp_index_cut_locked(call->pool, index);
	arg->nr_subtrees++;
}

static int kvp_invalidate_space(struct kvp_call *call)
{
	struct kvp_prefix_invalidate *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	u32 root;

	kvp_lock(pool);
	root = kvp_index_root_locked(pool, kvp_space_hash(pool, arg->space), arg->space);
	if (root != KVP_NIL)
		kvp_cut_sliced(call, root);
	kvp_unlock(pool);
	return 0;
}

static int kvp_invalidate_prefix(struct kvp_call *call)
{
	struct kvp_prefix_invalidate *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_ids_in in = {
		.tokens = call->array[0],
		.nr = arg->nr_tokens,
		.extras = call->array[1],
		.nr_extras = arg->nr_extras,
	};
	u32 node;
	int err;

	if (!in.nr || in.nr % pool->index_tokens)
		return kvp_fail(call, -EINVAL, KVP_REASON_COUNT, 0);
	err = kvp_extras_check(call, &in, 0);
	if (err)
		return err;
	node = kvp_invalidate_find(call, &in);
	if (node == KVP_NIL)
		return 0;
	kvp_lock(pool);
	kvp_cut_sliced(call, node);
	kvp_node_put_locked(pool, node);
	kvp_unlock(pool);
	return 0;
}

static int kvp_invalidate_tag(struct kvp_call *call)
{
	struct kvp_prefix_invalidate *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	u32 i;

	if (!arg->tag)
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE,
				offsetof(struct kvp_prefix_invalidate, tag));
	kvp_lock(pool);
	for (i = 0; i < pool->nr_nodes; i++) {
		const struct kvp_node *node = &pool->nodes[i];

		if (node->state == KVP_NODE_PUBLISHED && node->tag == arg->tag)
			kvp_cut_sliced(call, i);
		kvp_slice_step(pool, 1);
	}
	kvp_unlock(pool);
	return 0;
}

/**
 * kvp_op_prefix_invalidate - KVP_OP_PREFIX_INVALIDATE
 * @call: struct kvp_prefix_invalidate
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_prefix_invalidate(struct kvp_call *call)
{
	struct kvp_prefix_invalidate *arg = call->arg;
	int err;

	arg->nr_subtrees = 0;
	/* A reclaim that fails puts back what it had taken off the tree, where nobody finds it. */
	mutex_lock(&call->pool->reclaim);
	switch (arg->head.flags) {
	case KVP_INVALIDATE_SPACE:
		err = kvp_invalidate_space(call);
		break;
	case KVP_INVALIDATE_PREFIX:
		err = kvp_invalidate_prefix(call);
		break;
	case KVP_INVALIDATE_TAG:
		err = kvp_invalidate_tag(call);
		break;
	default:
		err = kvp_fail(call, -EINVAL, KVP_REASON_FLAG, 0);
	}
	mutex_unlock(&call->pool->reclaim);
	return err;
}

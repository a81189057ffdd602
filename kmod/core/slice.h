/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Holds of kvp_pool.lock, which count in kvp_pool.touched what they touch, so that the functions
 * that share one share a slice, too. Included by core.h, as its last part.
 */
#ifndef KVP_SLICE_H
#define KVP_SLICE_H

/* Blocks that one hold of the lock touches: a node's twice, at least. A test makes it smaller. */
#ifndef KVP_SLICE
#define KVP_SLICE	256
#endif

static inline void kvp_lock(struct kvp_pool *pool)
	__acquires(&pool->lock)
{
	spin_lock(&pool->lock);
	pool->touched = 0;
}

static inline void kvp_unlock(struct kvp_pool *pool)
	__releases(&pool->lock)
{
	spin_unlock(&pool->lock);
}

/* The caller must be ready for the pool to change here, as in all that come to it. */
static inline void kvp_let_others_in(struct kvp_pool *pool)
{
	kvp_unlock(pool);
	cond_resched();
	kvp_lock(pool);
}

/*
 * Whether a step that touches up to @n blocks is for the next hold. One is always left for a step
 * that touches one and counts it afterwards.
 */
static inline bool kvp_slice_over(const struct kvp_pool *pool, u32 n)
{
	lockdep_assert_held(&pool->lock);
	return pool->touched && pool->touched + n >= KVP_SLICE;
}

/* The next step touches up to @n blocks, and counts them. */
static inline void kvp_slice_room(struct kvp_pool *pool, u32 n)
{
	if (kvp_slice_over(pool, n))
		kvp_let_others_in(pool);
}

/* The next step touches @n blocks. */
static inline void kvp_slice_next(struct kvp_pool *pool, u32 n)
{
	kvp_slice_room(pool, n);
	pool->touched += n;
}

/* A step has touched @n blocks, and the next one will touch as many. */
static inline void kvp_slice_step(struct kvp_pool *pool, u32 n)
{
	pool->touched += n;
	kvp_slice_room(pool, n);
}

/* The same on a walk through the index that has reached @node, which stays meanwhile. */
static inline void kvp_slice_step_pinned(struct kvp_pool *pool, u32 n, u32 node)
{
	bool pin = pool->touched + 2 * n >= KVP_SLICE;

	if (pin)
		pool->nodes[node].refs++;
	kvp_slice_step(pool, n);
	if (pin)
		kvp_node_put_locked(pool, node);
}

#endif /* KVP_SLICE_H */

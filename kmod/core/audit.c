// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The audit: recounts everything from what holds it, and compares. It keeps the
 * gate for writing, so no call is in progress and it reads without the lock.
 * Nothing that it reads is trusted: every index is checked before it is followed,
 * every list is followed for as many steps as it can have elements.
 */
#include "audit.h"

/**
 * kvp_audit_add - note a finding
 * @run: the audit
 * @kind: enum kvp_finding_kind
 * @family: family, or KVP_NO_FAMILY
 * @id: what it is about
 * @found: the stored value
 * @expected: the recounted value
 */
void kvp_audit_add(struct kvp_audit_run *run, enum kvp_finding_kind kind, u32 family, u64 id,
		   u64 found, u64 expected)
{
	if (run->total < run->room)
		run->findings[run->total] = (struct kvp_finding){
			.kind = kind,
			.family = family,
			.id = id,
			.found = found,
			.expected = expected,
		};
	run->total++;
}

/* ---- blocks -------------------------------------------------------------------------- */

static void kvp_audit_free_blocks(struct kvp_audit_run *run, const struct kvp_family *family)
{
	u32 index = family->free;

	while (index != KVP_NIL) {
		if (index >= family->nr_blocks || run->listed[index]) {
			kvp_audit_add(run, KVP_FINDING_LIST, family->index, index, 1, 0);
			return;
		}
		run->listed[index] = KVP_LISTED_FREE;
		index = family->blocks[index].next;
		kvp_audit_step(run);
	}
}

/* The set in which a block belongs; no call is in progress, only admissions have taken some. */
static enum kvp_block_state kvp_audit_state(const struct kvp_audit_run *run,
					    const struct kvp_block *block, u32 index)
{
	enum kvp_block_state state = kvp_block_state(block);

	if (run->count[index])
		return run->count[index] == run->held_back[index] ? KVP_BLOCK_HELD_BACK :
								    KVP_BLOCK_HELD;
	if (run->listed[index] == KVP_LISTED_RESERVE)
		return KVP_BLOCK_RESERVED;
	if (block->node != KVP_NIL)
		return KVP_BLOCK_IDLE;
	if (state == KVP_BLOCK_RETIRED && (block->word & KVP_GEN_MAX) == KVP_GEN_MAX)
		return KVP_BLOCK_RETIRED;
	return KVP_BLOCK_FREE;
}

/* Whether @node names the block among its parts. */
static bool kvp_audit_names(struct kvp_pool *pool, u32 node, const struct kvp_family *family,
			    u32 index)
{
	const u32 *part;
	u32 i;

	if (node >= pool->nr_nodes || pool->nodes[node].state != KVP_NODE_PUBLISHED)
		return false;
	part = kvp_node_parts(pool, node) + family->first_part;
	for (i = 0; i < family->parts; i++)
		if (part[i] == index)
			return true;
	return false;
}

static void kvp_audit_owner(struct kvp_audit_run *run, const struct kvp_family *family,
			    u32 index)
{
	const struct kvp_block *block = &family->blocks[index];
	enum kvp_block_state state = kvp_block_state(block);
	bool back = state == KVP_BLOCK_HELD_BACK;
	bool held = back || state == KVP_BLOCK_HELD || state == KVP_BLOCK_RESERVED;

	if (held && block->owner < run->pool->nr_accounts) {
		run->account[block->owner].charged[family->index]++;
		run->account[block->owner].held_back[family->index] += back;
	} else if (held || block->owner != KVP_NIL) {
		kvp_audit_add(run, KVP_FINDING_CHARGE, family->index, index, block->owner,
			      held ? 0 : KVP_NIL);
	}
}

static void kvp_audit_block(struct kvp_audit_run *run, const struct kvp_family *family,
			    u32 index)
{
	const struct kvp_block *block = &family->blocks[index];
	enum kvp_block_state state = kvp_block_state(block);
	u32 f = family->index;

	kvp_audit_equal(run, KVP_FINDING_COUNT, f, index, block->count, run->count[index]);
	if (block->count)
		kvp_audit_equal(run, KVP_FINDING_FENCE, f, index, block->held_back,
				run->held_back[index]);
	kvp_audit_equal(run, KVP_FINDING_LIST, f, index, state,
			kvp_audit_state(run, block, index));
	kvp_audit_equal(run, KVP_FINDING_LIST, f, index, run->listed[index] == KVP_LISTED_FREE,
			state == KVP_BLOCK_FREE);
	if (block->node != KVP_NIL && !kvp_audit_names(run->pool, block->node, family, index))
		kvp_audit_add(run, KVP_FINDING_TREE, f, index, block->node, KVP_NIL);
	kvp_audit_owner(run, family, index);
}

/* The counter of published blocks stands behind those of the states. */
static void kvp_audit_family(struct kvp_audit_run *run, const struct kvp_family *family)
{
	u64 nr[KVP_BLOCK_STATES + 1] = { };
	u64 sum = 0;
	u32 i;

	memset(run->count, 0, family->nr_blocks * sizeof(*run->count));
	memset(run->held_back, 0, family->nr_blocks * sizeof(*run->held_back));
	memset(run->listed, 0, family->nr_blocks);
	kvp_audit_count_blocks(run, family->index);
	kvp_audit_count_held_back(run, family->index);
	kvp_audit_free_blocks(run, family);
	kvp_audit_reserves(run, family->index);

	for (i = 0; i < family->nr_blocks; i++) {
		const struct kvp_block *block = &family->blocks[i];

		kvp_audit_block(run, family, i);
		nr[min_t(u32, kvp_block_state(block), KVP_BLOCK_STATES - 1)]++;
		nr[KVP_BLOCK_STATES] += block->node != KVP_NIL;
		kvp_audit_step(run);
	}
	for (i = 0; i < KVP_BLOCK_STATES; i++) {
		sum += family->nr[i];
		kvp_audit_equal(run, KVP_FINDING_STATE, family->index, i, family->nr[i], nr[i]);
	}
	kvp_audit_equal(run, KVP_FINDING_STATE, family->index, i, *family->published, nr[i]);
	/* No call is on its way. */
	kvp_audit_equal(run, KVP_FINDING_STATE, family->index, i, family->promised, 0);
	kvp_audit_equal(run, KVP_FINDING_SUM, family->index, 0, sum, family->nr_blocks);
}

/* ---- accounts -------------------------------------------------------------------------- */

static void kvp_audit_account(struct kvp_audit_run *run, u32 slot, u64 *guaranteed, u64 *unmet)
{
	const struct kvp_account *account = run->pool->account[slot];
	const struct kvp_audit_account *expected = &run->account[slot];
	u64 guarantee;
	u32 i;

	kvp_audit_equal(run, KVP_FINDING_CHARGE, KVP_NO_FAMILY, account->client, account->live,
			expected->attached);
	kvp_audit_equal(run, KVP_FINDING_FENCE, KVP_NO_FAMILY, account->client, !!account->dead,
			expected->dead);
	for (i = 0; i < KVP_NR_THINGS; i++)
		kvp_audit_equal(run, KVP_FINDING_CHARGE, KVP_NO_FAMILY, account->client,
				account->has[i], expected->has[i]);
	for (i = 0; i < run->pool->nr_families; i++) {
		kvp_audit_equal(run, KVP_FINDING_CHARGE, i, account->client,
				account->charged[i], expected->charged[i]);
		kvp_audit_equal(run, KVP_FINDING_FENCE, i, account->client,
				account->held_back[i], expected->held_back[i]);
		kvp_audit_equal(run, KVP_FINDING_FENCE, i, account->client,
				account->reserve[i], expected->reserve[i]);
		guarantee = account->limits.guarantee[i];
		guaranteed[i] += guarantee;
		unmet[i] += guarantee - min(guarantee, account->charged[i]);
	}
}

/* What an account has is its user's too; of exports, those that are clients themselves. */
static void kvp_audit_add_to_user(struct kvp_audit_run *run, u32 slot)
{
	const struct kvp_account *account = run->pool->account[slot];
	const struct kvp_audit_account *has = &run->account[slot];
	struct kvp_audit_account *user;
	u32 i;

	if (!account->user)
		return;
	user = &run->user[account->user->slot];
	for (i = 0; i < run->pool->nr_families; i++)
		user->charged[i] += has->charged[i];
	for (i = 0; i < KVP_NR_THINGS; i++)
		if (i != KVP_EXPORTS && i != KVP_BACKINGS)
			user->has[i] += has->has[i];
	user->has[KVP_EXPORTS] += !!account->export;
}

static void kvp_audit_users(struct kvp_audit_run *run)
{
	const struct kvp_pool *pool = run->pool;
	u32 i, j;

	for (i = 0; i < pool->nr_accounts; i++)
		kvp_audit_add_to_user(run, i);
	for (i = 0; i < pool->nr_users; i++) {
		const struct kvp_user *user = pool->user[i];
		struct kvp_audit_account *expected = &run->user[i];

		for (j = 0; j < pool->nr_backings; j++)
			expected->has[KVP_BACKINGS] += pool->backing[j].uid == user->uid;
		for (j = 0; j < pool->nr_families; j++)
			kvp_audit_equal(run, KVP_FINDING_USER, j, user->uid, user->charged[j],
					expected->charged[j]);
		for (j = 0; j < KVP_NR_THINGS; j++)
			kvp_audit_equal(run, KVP_FINDING_USER, KVP_NO_FAMILY, user->uid,
					user->has[j], expected->has[j]);
		kvp_audit_step(run);
	}
}

static void kvp_audit_accounts(struct kvp_audit_run *run)
{
	u64 guaranteed[KVP_MAX_FAMILIES] = { };
	u64 unmet[KVP_MAX_FAMILIES] = { };
	struct kvp_pool *pool = run->pool;
	u64 attached = 0;
	u32 i;

	for (i = 0; i < pool->nr_accounts; i++) {
		kvp_audit_account(run, i, guaranteed, unmet);
		attached += run->account[i].attached;
		kvp_audit_step(run);
	}
	kvp_audit_equal(run, KVP_FINDING_CHARGE, KVP_NO_FAMILY, 0, pool->nr_clients, attached);
	for (i = 0; i < pool->nr_families; i++) {
		kvp_audit_equal(run, KVP_FINDING_CHARGE, i, 0, pool->family[i].guaranteed,
				guaranteed[i]);
		kvp_audit_equal(run, KVP_FINDING_CHARGE, i, 0, pool->family[i].unmet, unmet[i]);
	}
}

/* ---- the operation ---------------------------------------------------------------------- */

static void kvp_audit_exit(struct kvp_audit_run *run)
{
	vfree(run->account);
	vfree(run->user);
	vfree(run->count);
	vfree(run->held_back);
	vfree(run->listed);
	vfree(run->uses);
	vfree(run->refs);
	vfree(run->mark);
	vfree(run->digest);
	vfree(run->digest_listed);
}

static bool kvp_audit_init(struct kvp_audit_run *run)
{
	const struct kvp_pool *pool = run->pool;
	u32 most = 0;
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < pool->nr_families; i++)
		most = max(most, pool->family[i].nr_blocks);
	run->account = kvp_arena_alloc(pool->nr_accounts, sizeof(*run->account), &bytes);
	run->user = kvp_arena_alloc(pool->nr_users, sizeof(*run->user), &bytes);
	run->count = kvp_arena_alloc(most, sizeof(*run->count), &bytes);
	run->listed = kvp_arena_alloc(most, sizeof(*run->listed), &bytes);
	run->uses = kvp_arena_alloc(pool->nr_nodes, sizeof(*run->uses), &bytes);
	run->refs = kvp_arena_alloc(pool->nr_nodes, sizeof(*run->refs), &bytes);
	run->held_back = kvp_arena_alloc(most, sizeof(*run->held_back), &bytes);
	run->mark = kvp_arena_alloc(pool->nr_nodes, sizeof(*run->mark), &bytes);
	run->digest = kvp_arena_alloc(pool->nr_digests, sizeof(*run->digest), &bytes);
	run->digest_listed = kvp_arena_alloc(pool->nr_digests, sizeof(*run->digest_listed),
					     &bytes);
	return run->account && run->user && run->count && run->held_back && run->listed &&
	       run->uses && run->refs && run->mark && run->digest && run->digest_listed;
}

/**
 * kvp_op_audit - KVP_OP_AUDIT
 * @call: struct kvp_audit
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_audit(struct kvp_call *call)
{
	struct kvp_audit *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_audit_run run = {
		.pool = pool,
		.findings = call->array[0],
		.room = arg->nr_findings,
	};
	u32 i;

	lockdep_assert_held_write(&pool->gate);
	if (!kvp_audit_init(&run)) {
		kvp_audit_exit(&run);
		return kvp_fail(call, -ENOMEM, KVP_REASON_MEMORY, 0);
	}
	arg->checked_blocks = 0;
	kvp_audit_clients(&run);
	kvp_audit_fenced(&run);
	kvp_audit_waits(&run);
	kvp_audit_queue(&run);
	kvp_audit_index(&run);
	for (i = 0; i < pool->nr_families; i++) {
		kvp_audit_family(&run, &pool->family[i]);
		arg->checked_blocks += pool->family[i].nr_blocks;
	}
	kvp_audit_accounts(&run);
	kvp_audit_users(&run);
	kvp_audit_exit(&run);

	arg->checked_nodes = pool->nr_nodes;
	arg->total = run.total;
	arg->nr_findings = min_t(u64, run.total, run.room);
	return 0;
}

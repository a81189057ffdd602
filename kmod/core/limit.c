// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Limits: what a client may have, and what all clients of one uid may have together
 * (kvp_user). All of it is under kvp_pool.lock. What is beyond a limit that was lowered
 * stays; nothing is added to it.
 *
 * A user that nobody needs any more is kept until its place is wanted for another one.
 */
#include "core.h"

/* Why there may be no more of a thing. */
static const enum kvp_reason kvp_thing_reason[KVP_NR_THINGS] = {
	[KVP_SLOTS] = KVP_REASON_LIMIT_SLOTS,
	[KVP_SEQS] = KVP_REASON_LIMIT_SEQS,
	[KVP_RAW] = KVP_REASON_LIMIT_RAW,
	[KVP_MATCHES] = KVP_REASON_LIMIT_MATCHES,
	[KVP_METADATA] = KVP_REASON_LIMIT_METADATA,
	[KVP_EXPORTS] = KVP_REASON_LIMIT_EXPORTS,
	[KVP_BACKINGS] = KVP_REASON_LIMIT_BACKINGS,
	[KVP_TICKETS] = KVP_REASON_LIMIT_TICKETS,
};

/* ---- users ---- */

static bool kvp_user_needed(const struct kvp_pool *pool, const struct kvp_user *user)
{
	return user->nr_accounts || user->own_limits || user->has[KVP_BACKINGS];
}

/**
 * kvp_user_find_sliced - the user of a uid
 * @pool: the pool
 * @uid: the uid
 *
 * Return: the user, which stays while the lock is held; or NULL.
 */
struct kvp_user *kvp_user_find_sliced(struct kvp_pool *pool, u32 uid)
{
	u32 i;

	for (i = 0; i < pool->nr_users; i++) {
		if (pool->user[i]->uid == uid)
			return pool->user[i];
		kvp_slice_step(pool, 1);
	}
	return NULL;
}

/* The place of one that nobody needs, when there is no other place left. */
static struct kvp_user *kvp_user_reuse_sliced(struct kvp_pool *pool)
{
	u32 i;

	for (i = 0; i < pool->nr_users; i++) {
		if (!kvp_user_needed(pool, pool->user[i]))
			return pool->user[i];
		kvp_slice_step(pool, 1);
	}
	return NULL;
}

/* The user of a uid, or the place for it if there is one; both together, as others search too. */
static struct kvp_user *kvp_user_place_sliced(struct kvp_pool *pool, u32 uid)
{
	struct kvp_user *user;
	u32 replaced;

	do {
		replaced = pool->users_replaced;
		user = kvp_user_find_sliced(pool, uid);
		if (!user && pool->nr_users == KVP_MAX_CLIENTS)
			user = kvp_user_reuse_sliced(pool);
	} while (replaced != pool->users_replaced);
	return user;
}

/**
 * kvp_user_get_sliced - the user of a uid, made if there is none
 * @pool: the pool
 * @uid: the uid
 * @err: 0, -EDQUOT (too many uids) or -ENOMEM
 *
 * Return: the user, which stays while the lock is held; or NULL.
 */
struct kvp_user *kvp_user_get_sliced(struct kvp_pool *pool, u32 uid, int *err)
{
	struct kvp_user *user = kvp_user_place_sliced(pool, uid);
	struct kvp_user *made = NULL;

	*err = 0;
	if (!user && pool->nr_users < KVP_MAX_CLIENTS) {
		kvp_unlock(pool);
		made = kzalloc(sizeof(*made), GFP_KERNEL_ACCOUNT);
		kvp_lock(pool);
		if (!made) {
			*err = -ENOMEM;
			return NULL;
		}
		/* Another call may have been faster. */
		user = kvp_user_place_sliced(pool, uid);
	}
	if (!user && made && pool->nr_users < KVP_MAX_CLIENTS) {
		made->uid = uid;
		made->slot = pool->nr_users;
		pool->user[pool->nr_users++] = made;
		return made;
	}
	if (made) {
		kvp_unlock(pool);
		kfree(made);
		kvp_lock(pool);
		return kvp_user_get_sliced(pool, uid, err);
	}
	if (!user) {
		*err = -EDQUOT;
	} else if (user->uid != uid) {
		*user = (struct kvp_user) { .uid = uid, .slot = user->slot };
		pool->users_replaced++;
	}
	return user;
}

/**
 * kvp_user_limits_locked - the limits of a user
 * @pool: the pool
 * @user: the user
 *
 * Return: its own, or those of all.
 */
const struct kvp_limits *kvp_user_limits_locked(const struct kvp_pool *pool,
						const struct kvp_user *user)
{
	return user->own_limits ? &user->limits : &pool->user_limits;
}

/* ---- checks ---- */

static bool kvp_beyond(u64 has, u64 nr, u64 max)
{
	return nr && (has > max || nr > max - has);
}

/**
 * kvp_over_locked - whether a client may have more of a thing
 * @client: the client
 * @thing: of which
 * @nr: how many more
 *
 * Return: 0, -EDQUOT, or KVP_OVER_UID: its uid's clients have too many.
 */
int kvp_over_locked(const struct kvp_client *client, enum kvp_thing thing, u64 nr)
{
	const struct kvp_account *account = client->account;
	const struct kvp_user *user = account->user;

	if (kvp_beyond(account->has[thing], nr, account->limits.max[thing]))
		return -EDQUOT;
	if (kvp_beyond(user->has[thing], nr,
		       kvp_user_limits_locked(client->pool, user)->max[thing]))
		return KVP_OVER_UID;
	return 0;
}

/**
 * kvp_over_blocks_locked - kvp_over_locked() of blocks that would be charged
 * @client: the client
 * @family: of which family
 * @nr: how many more
 *
 * Return: as there.
 */
int kvp_over_blocks_locked(const struct kvp_client *client, u32 family, u64 nr)
{
	const struct kvp_account *account = client->account;
	const struct kvp_user *user = account->user;

	if (kvp_beyond(account->charged[family], nr, account->limits.blocks[family]))
		return -EDQUOT;
	if (kvp_beyond(user->charged[family], nr,
		       kvp_user_limits_locked(client->pool, user)->blocks[family]))
		return KVP_OVER_UID;
	return 0;
}

/**
 * kvp_check_more_locked - kvp_over_locked() that refuses the call
 * @call: of the client
 * @thing: of which
 * @nr: how many more
 *
 * Return: 0, or kvp_fail() with -EDQUOT.
 */
int kvp_check_more_locked(struct kvp_call *call, enum kvp_thing thing, u64 nr)
{
	int err = kvp_over_locked(call->client, thing, nr);

	return err ? kvp_refuse_locked(call, err, kvp_thing_reason[thing], 0) : 0;
}

/**
 * kvp_take_more_sliced - kvp_take_more_locked() after a look at what waits for fences
 * @call: of the client
 * @thing: of which, that zombies have, too
 * @nr: how many more
 *
 * Return: as there.
 */
int kvp_take_more_sliced(struct kvp_call *call, enum kvp_thing thing, u64 nr)
{
	if (call->pool->nr_fenced && kvp_over_locked(call->client, thing, nr))
		kvp_settle_sliced(call->pool);
	return kvp_take_more_locked(call, thing, nr);
}

/**
 * kvp_take_more_locked - kvp_check_more_locked(), and the client has them from now on
 * @call: of the client
 * @thing: of which
 * @nr: how many more; what is not made after all is given back by kvp_less_locked()
 *
 * Return: 0, or kvp_fail() with -EDQUOT.
 */
int kvp_take_more_locked(struct kvp_call *call, enum kvp_thing thing, u64 nr)
{
	int err = kvp_check_more_locked(call, thing, nr);

	if (!err)
		kvp_more_locked(call->client->account, thing, nr);
	return err;
}

/* ---- the operation ---- */

/* Set the members of @limits that @arg->mask names, but for the guarantee. */
static void kvp_limits_set_locked(struct kvp_limits *limits, const struct kvp_limit *arg)
{
	const u64 max[KVP_NR_THINGS] = {
		[KVP_SLOTS] = arg->slots,
		[KVP_SEQS] = arg->seqs,
		[KVP_RAW] = arg->raw,
		[KVP_MATCHES] = arg->matches,
		[KVP_METADATA] = arg->metadata_bytes,
		[KVP_EXPORTS] = arg->exports,
		[KVP_BACKINGS] = arg->backings,
		[KVP_TICKETS] = arg->tickets,
	};
	u32 i;

	if (arg->mask & KVP_LIMIT_BLOCKS)
		limits->blocks[arg->family] = arg->blocks;
	for (i = 0; i <= KVP_TICKETS; i++)
		if (arg->mask & KVP_LIMIT_SLOTS << i)
			limits->max[i] = max[i];
}

static int kvp_limit_client_sliced(struct kvp_call *call)
{
	struct kvp_limit *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	const struct kvp_family *family = &pool->family[arg->family];
	struct kvp_limits *limits = &pool->default_limits;
	struct kvp_account *account = NULL;
	u64 others = 0;

	if (arg->client) {
		account = kvp_account_find_sliced(pool, arg->client, false);
		if (!account || account->export)
			return kvp_fail(call, -ENOENT, KVP_REASON_NO_CLIENT, 0);
		limits = &account->limits;
		others = family->guaranteed - limits->guarantee[arg->family];
	}
	if (arg->mask & KVP_LIMIT_GUARANTEE) {
		if (arg->guarantee > family->nr_blocks - others) {
			arg->guarantee = family->nr_blocks - others;
			return kvp_fail(call, -EFBIG, KVP_REASON_NEVER_FITS, arg->family);
		}
		if (account)
			kvp_set_guarantee_locked(pool, account, arg->family, arg->guarantee);
		else
			limits->guarantee[arg->family] = arg->guarantee;
	}
	kvp_limits_set_locked(limits, arg);
	return 0;
}

static int kvp_limit_uid_sliced(struct kvp_call *call)
{
	const struct kvp_limit *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_user *user;
	int err;

	if (arg->client == KVP_UID_ANY) {
		kvp_limits_set_locked(&pool->user_limits, arg);
		return 0;
	}
	user = kvp_user_get_sliced(pool, arg->client, &err);
	if (err)
		return kvp_fail(call, err, err == -EDQUOT ? KVP_REASON_LIMIT_CLIENTS :
				KVP_REASON_MEMORY, 0);
	if (!user->own_limits)
		user->limits = pool->user_limits;
	user->own_limits = true;
	kvp_limits_set_locked(&user->limits, arg);
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
	struct kvp_limit *arg = call->arg;
	bool of_uid = arg->head.flags & KVP_LIMIT_OF_UID;
	u32 known = of_uid ? KVP_LIMIT_ALL & ~KVP_LIMIT_GUARANTEE : KVP_LIMIT_ALL;
	int err;

	if (arg->mask & ~known)
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE, offsetof(struct kvp_limit, mask));
	if (of_uid && arg->client != KVP_UID_ANY && arg->client > U32_MAX)
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE,
				offsetof(struct kvp_limit, client));
	err = kvp_check_family(call, &arg->family);
	if (err)
		return err;
	kvp_lock(call->pool);
	err = of_uid ? kvp_limit_uid_sliced(call) : kvp_limit_client_sliced(call);
	/* Who waits may have what was beyond its limit, or guaranteed to others. */
	call->pool->came_back++;
	kvp_unlock(call->pool);
	return err;
}

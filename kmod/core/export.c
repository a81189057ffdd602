// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Exports: a sequence as a file that others can import. An export is a client of the pool
 * without a caller, which has one sequence: a fork of the exported one. So it is
 * counted, limited, listed, audited and ended like a client. Owns struct kvp_export.
 *
 * The last reference goes where no lock is held: at the close of the file, or at the end of
 * a call, which is why these operations take the gate themselves.
 */
#include "core.h"

/* ---- references ---- */

/**
 * kvp_export_get - one more reference
 * @export: an export on which the caller has one
 */
void kvp_export_get(struct kvp_export *export)
{
	struct kvp_pool *pool = export->client.pool;

	kvp_lock(pool);
	export->refs++;
	kvp_unlock(pool);
}

/* Whatever was made of it; nobody else has it. */
static void kvp_export_free(struct kvp_export *export)
{
	struct kvp_pool *pool = export->client.pool;

	if (pool) {
		down_read(&pool->gate);
		kvp_lock(pool);
		list_del_init(&export->open);
		kvp_fenced_del_sliced(pool, &export->fenced);
		kvp_unlock(pool);
		kvp_client_free(&export->client, export->fences,
				export->max_fences * sizeof(*export->fences));
		export->max_fences = 0;
		up_read(&pool->gate);
	}
	kvp_client_end(&export->client);
	mutex_destroy(&export->lock);
	kfree(export);
}

/**
 * kvp_export_put - one reference less; the last one ends the export
 * @export: not to be touched afterwards
 *
 * May sleep, allocates nothing.
 */
void kvp_export_put(struct kvp_export *export)
{
	struct kvp_pool *pool = export->client.pool;
	bool last;

	kvp_lock(pool);
	last = !--export->refs;
	kvp_unlock(pool);
	if (last)
		kvp_export_free(export);
}

/**
 * kvp_export_id - the id by which lists know an export
 * @export: the export
 *
 * Return: the id.
 */
u64 kvp_export_id(const struct kvp_export *export)
{
	return export->client.account->client;
}

/* The account of an export's maker, NULL if that is gone. */
static struct kvp_account *kvp_maker_locked(struct kvp_pool *pool,
					    const struct kvp_export *export)
{
	struct kvp_account *account = pool->account[export->maker_slot];

	return account->live && account->client == export->maker ? account : NULL;
}

/**
 * kvp_export_gone_locked - an export leaves its pool
 * @pool: the pool
 * @export: the export
 */
void kvp_export_gone_locked(struct kvp_pool *pool, struct kvp_export *export)
{
	struct kvp_account *maker = kvp_maker_locked(pool, export);

	if (maker)
		maker->has[KVP_EXPORTS]--;
	kvp_less_locked(export->client.account, KVP_EXPORTS, 1);
}

/* ---- making ---- */

/* Make the export a client, and count it, if its maker may have one more. */
static int kvp_export_attach(struct kvp_call *call, struct kvp_export *export)
{
	struct kvp_account *maker = call->client->account;
	struct kvp_call sub = *call;
	struct kvp_pool *pool = call->pool;
	u64 room;
	int err;

	sub.client = &export->client;
	/* The gate, so that an audit sees all of it or nothing. */
	down_read(&pool->gate);
	mutex_lock(&pool->host->lock);
	kvp_lock(pool);
	err = kvp_check_more_locked(call, KVP_EXPORTS, 1);
	kvp_unlock(pool);
	/* The export would keep the pool when its maker ends, and nobody could make it ready. */
	if (!err && pool->staged)
		err = kvp_fail(call, -EBUSY, KVP_REASON_STAGED, 0);
	if (!err)
		err = kvp_client_attach(&sub, pool, KVP_RIGHT_USE, &maker->limits, &room);
	if (!err) {
		kvp_lock(pool);
		export->refs = 1;
		export->maker = maker->client;
		export->maker_slot = call->client->slot;
		export->client.account->export = export;
		kvp_more_locked(export->client.account, KVP_EXPORTS, 1);
		maker->has[KVP_EXPORTS]++;
		kvp_unlock(pool);
	}
	mutex_unlock(&pool->host->lock);
	up_read(&pool->gate);
	return err;
}

/* A fork that needed copies would not be whole until somebody made them. */
static int kvp_export_check(struct kvp_call *call, const struct kvp_seq *seq, u64 tokens)
{
	struct kvp_pool *pool = call->pool;
	u32 i;

	for (i = 0; i < pool->nr_families; i++)
		if (pool->family[i].desc.kind == KVP_FAMILY_STATE)
			return kvp_fail(call, -EOPNOTSUPP, KVP_REASON_STATE_FAMILY, i);
	if (tokens % pool->index_tokens && seq->reserved > tokens)
		return kvp_fail(call, -EINVAL, KVP_REASON_LENGTH, 0);
	return 0;
}

/* Its rows are there when the uses that write now have passed. */
static int kvp_export_carry(struct kvp_call *call, struct kvp_export *export,
			    const struct kvp_seq *seq, u64 tokens)
{
	u32 i;

	export->of = seq->id;
	export->tokens = tokens;
	if (kvp_seq_open_from(seq) == KVP_POS_END)
		return 0;
	export->fences = kvp_client_alloc(&export->client,
					  seq->nr_uses * sizeof(*export->fences));
	if (IS_ERR(export->fences)) {
		i = PTR_ERR(export->fences);
		export->fences = NULL;
		return kvp_fail_alloc(call, i);
	}
	export->max_fences = seq->nr_uses;
	for (i = 0; i < seq->nr_uses; i++)
		if (seq->uses[i].write_from != KVP_POS_END)
			export->fences[export->nr_fences++] = (struct kvp_fence_at){
				.timeline = seq->uses[i].timeline,
				.value = seq->uses[i].value,
			};
	kvp_lock(call->pool);
	kvp_fenced_add_locked(call->pool, &export->fenced);
	list_add_tail(&export->open, &call->pool->open_exports);
	kvp_unlock(call->pool);
	return 0;
}

static int kvp_export_fork(struct kvp_call *call, struct kvp_export *export)
{
	struct kvp_seq_export *arg = call->arg;
	struct kvp_seq *seq;
	u64 tokens;
	int err;

	down_read(&call->pool->gate);
	seq = kvp_seq_begin_settled(call, arg->seq);
	err = PTR_ERR_OR_ZERO(seq);
	if (!err) {
		tokens = min(kvp_seq_will_have(seq), seq->tokens);
		err = kvp_export_check(call, seq, tokens);
		if (!err)
			err = kvp_export_carry(call, export, seq, tokens);
		if (!err)
			err = kvp_fork_to(call, seq, tokens, &export->client, &export->seq);
		kvp_seq_end(seq);
	}
	up_read(&call->pool->gate);
	return err;
}

/**
 * kvp_op_seq_export - KVP_OP_SEQ_EXPORT
 * @call: struct kvp_seq_export
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_seq_export(struct kvp_call *call)
{
	const struct kvp_door *door = call->client->door;
	struct kvp_seq_export *arg = call->arg;
	struct kvp_export *export;
	int err;
	s32 fd;

	arg->fd = -1;
	arg->export_id = 0;
	if (!door->export_give)
		return kvp_fail(call, -EOPNOTSUPP, KVP_REASON_DOOR, 0);
	export = kzalloc(sizeof(*export), GFP_KERNEL_ACCOUNT);
	if (!export)
		return kvp_fail(call, -ENOMEM, KVP_REASON_MEMORY, 0);
	mutex_init(&export->lock);
	kvp_client_init(&export->client, call->client->host, door, &call->client->cred);
	/* It may outlive its maker's file. */
	export->client.cred.of = NULL;
	kvp_fenced_init(&export->fenced, call->client, KVP_FENCED_EXPORT);
	INIT_LIST_HEAD(&export->open);
	err = kvp_export_attach(call, export);
	if (err) {
		kvp_export_free(export);
		return err;
	}
	err = kvp_export_fork(call, export);
	if (err) {
		kvp_export_put(export);
		return err;
	}
	arg->export_id = kvp_export_id(export);
	fd = door->export_give(export);
	if (fd < 0) {
		arg->export_id = 0;
		kvp_export_put(export);
		return kvp_fail(call, fd, fd == -ENOMEM ? KVP_REASON_MEMORY : KVP_REASON_NONE, 0);
	}
	/* The reference is the file's, which its owner may have closed by now. */
	arg->fd = fd;
	return 0;
}

/**
 * kvp_undo_seq_export - the caller never learned of the descriptor
 * @call: as executed
 */
void kvp_undo_seq_export(struct kvp_call *call)
{
	const struct kvp_seq_export *arg = call->arg;

	call->client->door->fd_undo(arg->fd);
}

/* ---- importing ---- */

/* Whether the rows are there. */
static int kvp_import_check(struct kvp_call *call, struct kvp_export *export)
{
	int err = 0;

	if (export->revoked)
		return kvp_fail(call, -ESTALE, KVP_REASON_REVOKED, 0);
	kvp_lock(call->pool);
	if (!kvp_export_settled_sliced(call->pool, export))
		err = kvp_fail(call, -EBUSY, KVP_REASON_FENCE_OPEN, 0);
	else if (export->suspect)
		err = kvp_fail(call, -EOWNERDEAD, KVP_REASON_MAKER_DEAD, 0);
	kvp_unlock(call->pool);
	return err;
}

static int kvp_import(struct kvp_call *call, struct kvp_export *export)
{
	struct kvp_seq_import *arg = call->arg;
	struct kvp_call sub = *call;
	struct kvp_seq *seq;
	int err;

	sub.client = &export->client;
	mutex_lock(&export->lock);
	err = kvp_import_check(call, export);
	if (!err) {
		seq = kvp_seq_begin(&sub, export->seq);
		err = PTR_ERR_OR_ZERO(seq);
	}
	if (!err) {
		err = kvp_fork_to(call, seq, seq->computed, call->client, &arg->seq);
		arg->tokens = err ? 0 : seq->tokens;
		kvp_seq_end(seq);
	}
	if (!err) {
		kvp_lock(call->pool);
		export->imports++;
		kvp_unlock(call->pool);
	}
	mutex_unlock(&export->lock);
	return err;
}

/**
 * kvp_op_seq_import - KVP_OP_SEQ_IMPORT
 * @call: struct kvp_seq_import
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_seq_import(struct kvp_call *call)
{
	const struct kvp_door *door = call->client->door;
	struct kvp_seq_import *arg = call->arg;
	struct kvp_export *export;
	int err;

	arg->seq = 0;
	arg->tokens = 0;
	if (!door->export_take)
		return kvp_fail(call, -EOPNOTSUPP, KVP_REASON_DOOR, 0);
	export = door->export_take(arg->fd);
	if (PTR_ERR_OR_ZERO(export) == -EINVAL)
		return kvp_fail(call, -EINVAL, KVP_REASON_VALUE,
				offsetof(struct kvp_seq_import, fd));
	if (IS_ERR(export))
		return kvp_fail(call, PTR_ERR(export), KVP_REASON_NONE, 0);
	if (export->client.pool != call->pool) {
		err = kvp_fail(call, -EACCES, KVP_REASON_FOREIGN, 0);
	} else {
		down_read(&call->pool->gate);
		err = kvp_import(call, export);
		up_read(&call->pool->gate);
	}
	kvp_export_put(export);
	return err;
}

/**
 * kvp_undo_seq_import - the caller never learned of the sequence
 * @call: as executed
 */
void kvp_undo_seq_import(struct kvp_call *call)
{
	const struct kvp_seq_import *arg = call->arg;

	down_read(&call->pool->gate);
	kvp_seq_undo(call, arg->seq);
	up_read(&call->pool->gate);
}

/* ---- revoking ---- */

/* The export of an id, with a reference; or ERR_PTR of kvp_fail(). */
static struct kvp_export *kvp_export_find_sliced(struct kvp_call *call, u64 id)
{
	struct kvp_account *account = kvp_account_find_sliced(call->pool, id, false);
	struct kvp_export *export = account ? account->export : NULL;

	/* One without references is on its way out. */
	if (!export || !export->refs)
		return ERR_PTR(kvp_fail(call, -ENOENT, KVP_REASON_NO_EXPORT, 0));
	if (export->maker != call->client->account->client &&
	    !(call->client->rights & KVP_RIGHT_ADMIN))
		return ERR_PTR(kvp_fail(call, -EPERM, KVP_REASON_NO_EXPORT, 0));
	export->refs++;
	return export;
}

static int kvp_revoke(struct kvp_call *call, struct kvp_export *export)
{
	struct kvp_call sub = *call;
	struct kvp_seq *seq;
	int err = 0;

	sub.client = &export->client;
	mutex_lock(&export->lock);
	if (!export->revoked) {
		seq = kvp_seq_begin(&sub, export->seq);
		err = PTR_ERR_OR_ZERO(seq);
		if (!err) {
			kvp_lock(call->pool);
			export->revoked = true;
			kvp_seq_free_sliced(seq);
			kvp_unlock(call->pool);
		}
	}
	mutex_unlock(&export->lock);
	return err;
}

/**
 * kvp_op_export_revoke - KVP_OP_EXPORT_REVOKE
 * @call: struct kvp_export_revoke
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_export_revoke(struct kvp_call *call)
{
	const struct kvp_export_revoke *arg = call->arg;
	struct kvp_pool *pool = call->pool;
	struct kvp_export *export;
	int err;

	kvp_lock(pool);
	export = kvp_export_find_sliced(call, arg->export_id);
	kvp_unlock(pool);
	if (IS_ERR(export))
		return PTR_ERR(export);
	down_read(&pool->gate);
	err = kvp_revoke(call, export);
	kvp_pool_tell(pool, NULL);
	up_read(&pool->gate);
	kvp_export_put(export);
	return err;
}

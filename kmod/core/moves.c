// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * An open remap: which rows go where, and its end. Commit lets what is staged take the place
 * of the sequence, under the same id; the other one of the two ends as a sequence that is freed,
 * and waits for the work that was said. Neither takes memory.
 */
#include "core.h"

/* ---- rows -------------------------------------------------------------------------------- */

/**
 * kvp_rows_begin - walk over the rows of a family that will be in a sequence
 * @rows: the walk
 * @seq: the sequence that is remapped, busy
 * @remap: its remap
 * @family: which
 */
void kvp_rows_begin(struct kvp_rows *rows, const struct kvp_seq *seq,
		    const struct kvp_remap *remap, u32 family)
{
	memset(rows, 0, sizeof(*rows));
	rows->seq = seq;
	rows->remap = remap;
	rows->family = &seq->client->pool->family[family];
	rows->part = remap->parts;
	if (rows->family->desc.kind == KVP_FAMILY_WINDOW)
		rows->token = kvp_window_start(rows->family, remap->computed);
}

/**
 * kvp_rows_next - the next run of rows
 * @rows: the walk
 *
 * Return: whether there is one.
 */
bool kvp_rows_next(struct kvp_rows *rows)
{
	u32 size = rows->family->desc.block_tokens;
	const struct kvp_part *part;
	u64 nr;

	if (++rows->steps % KVP_REST_STEPS == 0)
		cond_resched();
	rows->token += rows->nr;
	if (rows->token >= rows->remap->computed)
		return false;
	while (rows->token >= rows->part->to + rows->part->length)
		rows->part++;
	part = rows->part;
	rows->from = part->from + (rows->token - part->to);
	nr = min(kvp_place_at(rows->remap->staged, rows->token, &rows->place),
		 part->to + part->rows - rows->token);
	nr = min_t(u64, nr, size - rows->token % size);
	rows->nr = min_t(u64, nr, size - rows->from % size);
	rows->src = kvp_source_block(rows->seq, rows->remap, part, rows->family->index,
				     rows->from);
	return true;
}

/* The block to which the run goes. */
static u32 kvp_rows_dst(const struct kvp_rows *rows)
{
	return rows->remap->staged->table[rows->family->index]
		.at[rows->token / rows->family->desc.block_tokens];
}

/* The next run that is moved. */
static bool kvp_moves_next(struct kvp_rows *rows)
{
	while (kvp_rows_next(rows))
		if (kvp_rows_dst(rows) != rows->src)
			return true;
	return false;
}

static void kvp_move_write(const struct kvp_rows *rows, struct kvp_move *move)
{
	u32 size = rows->family->desc.block_tokens;

	*move = (struct kvp_move){
		.src = kvp_block_id(rows->family, rows->src),
		.dst = kvp_block_id(rows->family, kvp_rows_dst(rows)),
		.src_row = rows->from % size,
		.dst_row = rows->token % size,
		.rows = rows->nr,
		.flags = rows->place.position == rows->place.was ? KVP_MOVE_KEEP : 0,
		.position = rows->place.position,
	};
}

/**
 * kvp_remap_tell - what is to be moved, once all is staged
 * @seq: the sequence, busy
 * @remap: its remap; what is staged is set to have rows before what is moved only
 * @arg: told
 */
void kvp_remap_tell(const struct kvp_seq *seq, struct kvp_remap *remap,
		    struct kvp_remap_begin *arg)
{
	const struct kvp_pool *pool = seq->client->pool;
	struct kvp_rows rows;
	u64 moved;
	u32 i;

	arg->moved = 0;
	arg->nr_moves = 0;
	remap->first = remap->computed;
	for (i = 0; i < pool->nr_families; i++) {
		kvp_rows_begin(&rows, seq, remap, i);
		for (moved = 0; kvp_moves_next(&rows); moved += rows.nr) {
			remap->first = min(remap->first, rows.token);
			arg->nr_moves++;
		}
		arg->moved = max(arg->moved, moved);
	}
	remap->staged->computed = remap->first;
	remap->staged->done_to = remap->first;
	remap->staged->windowed = remap->computed;
	remap->staged->moved_at = remap->computed;
	/* A window's block that is moved has not all of its rows: nobody else may rely on it. */
	if (pool->has_windows && remap->first < remap->computed)
		remap->staged->unnamed_from = min(remap->staged->unnamed_from, remap->first);
	arg->tainted_from = kvp_seq_tainted_from(remap->staged);
}

/* ---- operations ------------------------------------------------------------------------------ */

/* The sequence with an open remap, busy; or ERR_PTR of kvp_fail(). */
static struct kvp_seq *kvp_remap_claim(struct kvp_call *call, u64 id)
{
	struct kvp_seq *seq = kvp_seq_begin_remapped(call, id);

	if (IS_ERR(seq) || seq->remap)
		return seq;
	kvp_seq_end(seq);
	return ERR_PTR(kvp_fail(call, -ENOENT, KVP_REASON_NO_REMAP, 0));
}

/**
 * kvp_op_remap_moves - KVP_OP_REMAP_MOVES
 * @call: struct kvp_remap_moves
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_remap_moves(struct kvp_call *call)
{
	struct kvp_remap_moves *arg = call->arg;
	struct kvp_move *moves = call->array[0];
	u32 room = moves ? arg->nr_moves : 0;
	struct kvp_rows rows;
	struct kvp_seq *seq;
	int err;

	err = kvp_check_family(call, &arg->family);
	if (err)
		return err;
	seq = kvp_remap_claim(call, arg->seq);
	if (IS_ERR(seq))
		return PTR_ERR(seq);
	arg->nr_moves = 0;
	arg->total = 0;
	kvp_rows_begin(&rows, seq, seq->remap, arg->family);
	for (; kvp_moves_next(&rows); arg->total++)
		if (arg->total >= arg->first && arg->nr_moves < room)
			kvp_move_write(&rows, &moves[arg->nr_moves++]);
	kvp_seq_end(seq);
	return 0;
}

/* Blocks of other sequences are not read any more, but by work that is open. */
static void kvp_remap_let_go_sliced(struct kvp_seq *seq, struct kvp_remap *remap)
{
	struct kvp_pool *pool = seq->client->pool;

	while (remap->nr_held) {
		u32 at = remap->held[--remap->nr_held];

		if (at != KVP_NIL)
			kvp_seq_let_go_locked(pool, seq, at >> KVP_HOLD_SHIFT,
					      at & KVP_BLOCK_INDEX_MASK);
		kvp_slice_step(pool, 1);
	}
}

/**
 * kvp_remap_abort_sliced - the end of an open remap: the sequence is what it was
 * @seq: the sequence, busy, or of a client that makes no calls any more
 */
void kvp_remap_abort_sliced(struct kvp_seq *seq)
	__must_hold(&seq->client->pool->lock)
{
	struct kvp_pool *pool = seq->client->pool;
	struct kvp_remap *remap = seq->remap;

	WRITE_ONCE(remap->staged->busy, 1);
	kvp_seq_settle_sliced(pool, remap->staged);
	kvp_seq_end_life_sliced(remap->staged);
	kvp_remap_let_go_sliced(seq, remap);
	seq->remap = NULL;
	kvp_unlock(pool);
	kvp_remap_free(seq->client, remap);
	kvp_lock(pool);
}

/**
 * kvp_op_remap_abort - KVP_OP_REMAP_ABORT
 * @call: struct kvp_remap_end
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_remap_abort(struct kvp_call *call)
{
	struct kvp_remap_end *arg = call->arg;
	struct kvp_seq *seq = kvp_remap_claim(call, arg->seq);

	if (IS_ERR(seq))
		return PTR_ERR(seq);
	kvp_lock(call->pool);
	kvp_remap_abort_sliced(seq);
	kvp_unlock(call->pool);
	kvp_seq_end(seq);
	return 0;
}

/* What was moved has rows: now, or when the work that was said has passed. */
static void kvp_remap_count(struct kvp_remap *remap)
{
	struct kvp_seq *staged = remap->staged;
	u32 i;

	for (i = 0; i < staged->nr_uses; i++)
		staged->uses[i].computed_to = remap->computed;
	if (!staged->nr_uses) {
		staged->computed = remap->computed;
		staged->done_to = remap->computed;
	}
}

/**
 * kvp_op_remap_commit - KVP_OP_REMAP_COMMIT
 * @call: struct kvp_remap_end
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_remap_commit(struct kvp_call *call)
{
	struct kvp_remap_end *arg = call->arg;
	struct kvp_seq *seq = kvp_remap_claim(call, arg->seq);
	struct kvp_pool *pool = call->pool;
	struct kvp_remap *remap;
	struct kvp_seq *staged;

	if (IS_ERR(seq))
		return PTR_ERR(seq);
	remap = seq->remap;
	staged = remap->staged;
	kvp_lock(pool);
	WRITE_ONCE(staged->busy, 1);
	kvp_seq_settle_sliced(pool, staged);
	kvp_remap_count(remap);
	kvp_places_cut(staged, staged->tokens);
	staged->id = seq->id;
	kvp_ids_replace_locked(&call->client->seqs, seq->id, staged);
	seq->id = 0;
	seq->replaced = true;
	seq->remap = NULL;
	kvp_remap_let_go_sliced(seq, remap);
	kvp_seq_end_life_sliced(seq);
	kvp_unlock(pool);
	kvp_remap_free(call->client, remap);
	kvp_seq_end(staged);
	return 0;
}

/**
 * kvp_undo_remap_begin - the caller never learned of the remap
 * @call: as executed
 */
void kvp_undo_remap_begin(struct kvp_call *call)
{
	struct kvp_remap_begin *arg = call->arg;
	struct kvp_seq *seq = kvp_remap_claim(call, arg->seq);

	if (IS_ERR(seq))
		return;
	/* Unless somebody guessed that it is there, nothing has touched it. */
	if (!seq->remap->staged->nr_uses) {
		kvp_stage_undo(seq->remap);
		kvp_remap_free(call->client, seq->remap);
		seq->remap = NULL;
	} else {
		kvp_lock(call->pool);
		kvp_remap_abort_sliced(seq);
		kvp_unlock(call->pool);
	}
	kvp_seq_end(seq);
}

// SPDX-License-Identifier: MIT
/*
 * Remaps: evict, shift and splice as pieces; the moves that the core plans are carried out by
 * kvp_rows_move(), into blocks that nobody else has, before the sequence becomes what they are for.
 * Owns nothing and takes no lock.
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

/* ---- the operations ---- */

int kvp_remap_begin(struct kvp_pool *pool, kvp_seq_t seq, const struct kvp_piece *pieces,
		    uint32_t nr, const struct kvp_remap_options *opt, struct kvp_remapped *done)
{
	struct kvp_remap_begin arg = {
		.head.flags = opt ? opt->flags : 0,
		.seq = seq,
		.pieces = nr ? kvp_addr(pieces) : 0,
		.nr_pieces = nr,
		.reserve = opt ? opt->reserve : 0,
	};
	int err;

	if (nr && !pieces)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "remap_begin: pieces is NULL: expected %u", nr);
	err = kvp_do(pool, KVP_OP_REMAP_BEGIN, &arg);
	if (err || !done)
		return err;
	*done = (struct kvp_remapped){
		.guarantee = arg.guarantee,
		.tokens = arg.tokens,
		.computed = arg.computed,
		.moved = arg.moved,
		.attended = arg.attended,
		.tainted_from = arg.tainted_from,
	};
	return 0;
}

int kvp_remap_moves(struct kvp_pool *pool, kvp_seq_t seq, uint32_t family, uint64_t first,
		    struct kvp_move *moves, uint32_t *nr, uint64_t *total)
{
	struct kvp_remap_moves arg = { .seq = seq, .family = family, .first = first };
	int err;

	if (!nr || (*nr && !moves))
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "remap_moves: %s is NULL",
				     nr ? "moves" : "nr");
	arg.moves = *nr ? kvp_addr(moves) : 0;
	arg.nr_moves = *nr;
	err = kvp_do(pool, KVP_OP_REMAP_MOVES, &arg);
	if (err)
		return err;
	*nr = arg.nr_moves;
	if (total)
		*total = arg.total;
	return 0;
}

int kvp_remap_commit(struct kvp_pool *pool, kvp_seq_t seq)
{
	struct kvp_remap_end arg = { .seq = seq };

	return kvp_do(pool, KVP_OP_REMAP_COMMIT, &arg);
}

int kvp_remap_abort(struct kvp_pool *pool, kvp_seq_t seq)
{
	struct kvp_remap_end arg = { .seq = seq };

	return kvp_do(pool, KVP_OP_REMAP_ABORT, &arg);
}

int kvp_seq_positions(struct kvp_pool *pool, kvp_seq_t seq, struct kvp_positions *runs,
		      uint32_t *nr, struct kvp_standing *standing)
{
	struct kvp_seq_positions arg = { .seq = seq };
	int err;

	if (nr && *nr && !runs)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "seq_positions: runs is NULL");
	arg.nr_runs = nr ? *nr : 0;
	arg.runs = arg.nr_runs ? kvp_addr(runs) : 0;
	err = kvp_do(pool, KVP_OP_SEQ_POSITIONS, &arg);
	if (err)
		return err;
	if (nr)
		*nr = arg.nr_runs;
	if (standing)
		*standing = (struct kvp_standing){
			.total = arg.total,
			.next = arg.next,
			.tainted_from = arg.tainted_from,
			.attended = arg.attended,
		};
	return 0;
}

/* ---- rows ---- */

#define MOVES_A_CALL	4096		/* that are read at a time */

/* What the plan says in the words of kvp_rows_move(). */
static int read_moves(struct kvp_pool *pool, kvp_seq_t seq, uint32_t family,
		      struct kvp_row_move *rows, uint64_t total)
{
	struct kvp_move *moves = malloc(MOVES_A_CALL * sizeof(*moves));
	uint64_t done = 0;
	uint32_t nr, i;
	int err = 0;

	if (!moves)
		return kvp_error_set(-ENOMEM, KVP_REASON_MEMORY, 0, "remap: no memory for moves");
	while (!err && done < total) {
		nr = MOVES_A_CALL;
		err = kvp_remap_moves(pool, seq, family, done, moves, &nr, NULL);
		for (i = 0; !err && i < nr; i++) {
			const bool keep = moves[i].flags & KVP_MOVE_KEEP;

			rows[done + i] = (struct kvp_row_move){
				.src = moves[i].src,
				.dst = moves[i].dst,
				.src_row = moves[i].src_row,
				.dst_row = moves[i].dst_row,
				.nr = moves[i].rows,
				.flags = keep ? KVP_MOVE_KEEP : 0,
				.position = keep ? 0 : moves[i].position,
			};
		}
		done += nr;
	}
	free(moves);
	return err;
}

static int move_family(struct kvp_pool *pool, kvp_seq_t seq, uint32_t family, uint32_t threads)
{
	const struct kvp_rows_options opt = { .threads = threads };
	struct kvp_row_move *rows;
	uint64_t total;
	uint32_t nr = 0;
	int err;

	err = kvp_remap_moves(pool, seq, family, 0, NULL, &nr, &total);
	if (err || !total)
		return err;
	if (total > UINT32_MAX)
		return kvp_error_set(-EOVERFLOW, KVP_REASON_COUNT, 0,
				     "remap: %llu moves: expected fewer than 2^32",
				     (unsigned long long)total);
	rows = malloc(total * sizeof(*rows));
	if (!rows)
		return kvp_error_set(-ENOMEM, KVP_REASON_MEMORY, 0,
				     "remap: no memory for %llu moves", (unsigned long long)total);
	err = read_moves(pool, seq, family, rows, total);
	if (!err)
		err = kvp_rows_move(pool, family, rows, (uint32_t)total, &opt);
	free(rows);
	return err;
}

int kvp_seq_remap(struct kvp_pool *pool, kvp_seq_t seq, const struct kvp_piece *pieces,
		  uint32_t nr, const struct kvp_remap_options *opt, struct kvp_remapped *done)
{
	struct kvp_remap_end abort = { .seq = seq };
	uint32_t i;
	int err;

	err = kvp_remap_begin(pool, seq, pieces, nr, opt, done);
	if (err)
		return err;
	for (i = 0; !err && i < kvp_pool_nr_families(pool); i++)
		err = move_family(pool, seq, i, opt ? opt->threads : 1);
	if (!err)
		return kvp_remap_commit(pool, seq);
	/* It is what failed that the caller is told. */
	kvp_try(pool, KVP_OP_REMAP_ABORT, &abort);
	return err;
}

/* ---- evict, shift, splice ---- */

static int bad_range(const char *what, uint64_t from, uint64_t to, uint64_t tokens)
{
	return kvp_error_set(-EINVAL, KVP_REASON_LENGTH, 0,
			     "%s: tokens [%llu, %llu): expected a range of the %llu that the sequence has",
			     what, (unsigned long long)from, (unsigned long long)to,
			     (unsigned long long)tokens);
}

/* Pieces of one sequence after the other, without those that are empty. */
struct pieces {
	struct kvp_piece at[3];
	uint32_t nr;
};

static void add_piece(struct pieces *pieces, kvp_seq_t seq, uint64_t from, uint64_t to)
{
	if (from < to)
		pieces->at[pieces->nr++] = (struct kvp_piece){
			.seq = seq, .from = from, .length = to - from,
		};
}

int kvp_seq_evict(struct kvp_pool *pool, kvp_seq_t seq, uint64_t from, uint64_t to,
		  uint32_t flags, uint32_t threads, struct kvp_remapped *done)
{
	struct kvp_remap_options opt = { .threads = threads };
	struct pieces pieces = { .nr = 0 };
	struct kvp_lengths lengths;
	uint32_t first;
	int err;

	if (flags & ~KVP_EVICT_FLAGS_ALL || (flags & KVP_EVICT_GAP && flags & KVP_EVICT_REPLAY))
		return kvp_error_set(-EINVAL, KVP_REASON_FLAG, 0,
				     "seq_evict: flags 0x%x: expected none beyond 0x%x, and not GAP with REPLAY",
				     flags, KVP_EVICT_FLAGS_ALL);
	err = kvp_seq_lengths(pool, seq, &lengths);
	if (err)
		return err;
	if (from > to || to > lengths.tokens)
		return bad_range("seq_evict", from, to, lengths.tokens);
	add_piece(&pieces, seq, 0, from);
	/* What was remapped before stays where it stands. */
	if (pieces.nr)
		pieces.at[0].positions = KVP_PIECE_KEEP;
	first = pieces.nr;
	add_piece(&pieces, seq, to, lengths.tokens);
	if (pieces.nr > first) {
		if (flags & KVP_EVICT_GAP)
			pieces.at[first].positions = KVP_PIECE_KEEP;
		if (flags & KVP_EVICT_REPLAY)
			pieces.at[first].flags = KVP_PIECE_RECOMPUTE;
	}
	if (flags & KVP_EVICT_NEVER_SAW)
		opt.flags = KVP_REMAP_REQUIRE_NEVER_SAW;
	opt.reserve = lengths.reserved - lengths.tokens;
	return kvp_seq_remap(pool, seq, pieces.at, pieces.nr, &opt, done);
}

int kvp_seq_shift(struct kvp_pool *pool, kvp_seq_t seq, uint64_t from, uint64_t position,
		  uint32_t threads, struct kvp_remapped *done)
{
	struct kvp_remap_options opt = { .threads = threads };
	struct pieces pieces = { .nr = 0 };
	struct kvp_lengths lengths;
	int err;

	err = kvp_seq_lengths(pool, seq, &lengths);
	if (err)
		return err;
	if (from >= lengths.tokens)
		return bad_range("seq_shift", from, from + 1, lengths.tokens);
	add_piece(&pieces, seq, 0, from);
	pieces.at[0].positions = KVP_PIECE_KEEP;
	add_piece(&pieces, seq, from, lengths.tokens);
	pieces.at[pieces.nr - 1].positions = KVP_PIECE_AT;
	pieces.at[pieces.nr - 1].position = position;
	opt.reserve = lengths.reserved - lengths.tokens;
	return kvp_seq_remap(pool, seq, pieces.at, pieces.nr, &opt, done);
}

int kvp_seq_splice(struct kvp_pool *pool, kvp_seq_t seq, uint64_t at, kvp_seq_t other,
		   uint64_t from, uint64_t length, uint32_t threads, struct kvp_remapped *done)
{
	struct kvp_remap_options opt = { .threads = threads };
	struct pieces pieces = { .nr = 0 };
	struct kvp_lengths lengths, theirs;
	int err;

	err = kvp_seq_lengths(pool, seq, &lengths);
	if (!err)
		err = kvp_seq_lengths(pool, other, &theirs);
	if (err)
		return err;
	if (at > lengths.tokens)
		return bad_range("seq_splice", at, at, lengths.tokens);
	if (!length || from > theirs.computed || length > theirs.computed - from)
		return bad_range("seq_splice", from, from + length, theirs.computed);
	add_piece(&pieces, seq, 0, at);
	if (pieces.nr)
		pieces.at[0].positions = KVP_PIECE_KEEP;
	add_piece(&pieces, other, from, from + length);
	add_piece(&pieces, seq, at, lengths.tokens);
	opt.reserve = lengths.reserved - lengths.tokens;
	return kvp_seq_remap(pool, seq, pieces.at, pieces.nr, &opt, done);
}

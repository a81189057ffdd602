/* SPDX-License-Identifier: MIT */
/*
 * Sequences whose tokens leave the middle, come from elsewhere, or stand at other positions;
 * <kvpool.h> includes this file. What positions, taint and the guarantees are is said in
 * <linux/kvpool.h> ("Positions, taint, remap"), how rows are given new positions in
 * <kvpool_rows.h>.
 *
 * kvp_seq_evict(), kvp_seq_shift(), kvp_seq_splice() and kvp_seq_remap() plan, move the rows of all
 * families on this processor, and commit: whatever fails, the sequence is what it was. An engine
 * that moves rows itself, or elsewhere, takes the parts: kvp_remap_begin(), kvp_remap_moves(), then
 * kvp_remap_commit() or kvp_remap_abort().
 *
 * While one of these works on a sequence, no other call may use that sequence (-EBUSY), and none
 * may write rows of its pieces; calls on other sequences may come from any thread, also where they
 * share blocks.
 */
#ifndef KVPOOL_REMAP_H
#define KVPOOL_REMAP_H

#include "kvpool.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct kvp_remapped - what became of a sequence
 * @guarantee: KVP_NEVER_SAW or KVP_REPOSITIONED
 * @reserved: 0
 * @tokens: ids that it has
 * @computed: of these, from the start, tokens that have rows: those after it are to be computed
 * @moved: tokens whose rows were moved; the others stayed by reference
 * @attended: tokens with rows that had attended to tokens that are gone
 * @tainted_from: first token that cannot be published any more, KVP_POS_END: none
 */
struct kvp_remapped {
	uint32_t guarantee;
	uint32_t reserved;
	uint64_t tokens;
	uint64_t computed;
	uint64_t moved;
	uint64_t attended;
	uint64_t tainted_from;
};

/* What follows closes up, but keeps its positions; nothing is rotated. */
#define KVP_EVICT_GAP		(1U << 0)
/*
 * What follows keeps its ids only, and is computed again by the caller: exact. Tokens
 * [@computed, @tokens) of struct kvp_remapped, at their index.
 */
#define KVP_EVICT_REPLAY	(1U << 1)
/* Refuse what would not be KVP_NEVER_SAW (-EKEYREJECTED/ATTENDED). */
#define KVP_EVICT_NEVER_SAW	(1U << 2)
#define KVP_EVICT_FLAGS_ALL	(KVP_EVICT_GAP | KVP_EVICT_REPLAY | KVP_EVICT_NEVER_SAW)

/**
 * struct kvp_remap_options - how to remap
 * @flags: KVP_REMAP_*
 * @threads: threads that move rows, as of struct kvp_rows_options
 * @reserve: slots beyond the tokens
 */
struct kvp_remap_options {
	uint32_t flags;
	uint32_t threads;
	uint64_t reserve;
};

/*
 * Remove tokens [@from, @to) of @seq; @threads move rows (0: one a processor). What follows gets
 * the positions of its new index, unless @flags (KVP_EVICT_*) say otherwise; slots that were
 * reserved beyond the tokens stay as many. @done may be NULL. Errors: as KVP_OP_REMAP_BEGIN and
 * kvp_rows_move(), with nothing changed; -EINVAL (FLAG; LENGTH: no range of the sequence's
 * tokens).
 */
int kvp_seq_evict(struct kvp_pool *pool, kvp_seq_t seq, uint64_t from, uint64_t to,
		  uint32_t flags, uint32_t threads, struct kvp_remapped *done);

/*
 * Tokens from @from on stand at @position and those after it. Errors: as kvp_seq_evict();
 * -EINVAL/LENGTH: @from is not a token of it.
 */
int kvp_seq_shift(struct kvp_pool *pool, kvp_seq_t seq, uint64_t from, uint64_t position,
		  uint32_t threads, struct kvp_remapped *done);

/*
 * Put tokens [@from, @from + @length) of @other, which have rows, before token @at of @seq, whose
 * tokens from there on follow; all at the positions of their index. @other is as it was. Errors: as
 * kvp_seq_evict(); -EINVAL/LENGTH: @at is beyond the tokens, or not all of the piece are there.
 */
int kvp_seq_splice(struct kvp_pool *pool, kvp_seq_t seq, uint64_t at, kvp_seq_t other,
		   uint64_t from, uint64_t length, uint32_t threads, struct kvp_remapped *done);

/*
 * Make @seq what @nr @pieces say, in order. @opt and @done may be NULL. Errors: as
 * KVP_OP_REMAP_BEGIN and kvp_rows_move(), with nothing changed.
 */
int kvp_seq_remap(struct kvp_pool *pool, kvp_seq_t seq, const struct kvp_piece *pieces,
		  uint32_t nr, const struct kvp_remap_options *opt, struct kvp_remapped *done);

/*
 * The parts of kvp_seq_remap(). After begin the sequence has an open remap: -EBUSY/REMAP_OPEN for
 * all other calls until commit or abort. Errors: as of the operations.
 */
int kvp_remap_begin(struct kvp_pool *pool, kvp_seq_t seq, const struct kvp_piece *pieces,
		    uint32_t nr, const struct kvp_remap_options *opt, struct kvp_remapped *done);
/* Moves of @family from number @first on; *@nr: in: room, out: written; *@total may be NULL. */
int kvp_remap_moves(struct kvp_pool *pool, kvp_seq_t seq, uint32_t family, uint64_t first,
		    struct kvp_move *moves, uint32_t *nr, uint64_t *total);
int kvp_remap_commit(struct kvp_pool *pool, kvp_seq_t seq);
int kvp_remap_abort(struct kvp_pool *pool, kvp_seq_t seq);

/**
 * struct kvp_standing - where a sequence's tokens stand
 * @total: runs of consecutive positions
 * @next: position of the next token that is appended
 * @tainted_from: first token that cannot be published, KVP_POS_END: none
 * @attended: tokens with rows that had attended to tokens that are gone
 */
struct kvp_standing {
	uint64_t total;
	uint64_t next;
	uint64_t tainted_from;
	uint64_t attended;
};

/*
 * Runs of positions, the first *@nr that there is room for; out: written. @standing may be NULL.
 * Errors: as KVP_OP_SEQ_POSITIONS.
 */
int kvp_seq_positions(struct kvp_pool *pool, kvp_seq_t seq, struct kvp_positions *runs,
		      uint32_t *nr, struct kvp_standing *standing);

#ifdef __cplusplus
}
#endif

#endif /* KVPOOL_REMAP_H */

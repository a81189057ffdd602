/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Objects of positions and of remaps. To be included through core.h.
 *
 *   place.c   positions as runs, and which tokens may not be published
 *   remap.c   begin: what a sequence is to become, from pieces
 *   stage.c   its tables, ids and blocks, made aside
 *   moves.c   rows that are to be moved; commit and abort
 */
#ifndef KVP_REMAP_H
#define KVP_REMAP_H

struct kvp_seq;

/**
 * struct kvp_place - tokens of a sequence with consecutive positions
 * @first: index of the first; the run goes to the next one's first, or to the end
 * @position: of the first
 * @computed_at: where the first was computed, or will be
 * @was: while it is of a sequence that is staged: position for which the row that comes here
 *       is rotated; afterwards without meaning
 * @flags: KVP_POSITIONS_*
 * @reserved: 0
 */
struct kvp_place {
	u64 first;
	u64 position;
	u64 computed_at;
	u64 was;
	u32 flags;
	u32 reserved;
};

/**
 * struct kvp_part - a piece as it was understood
 * @to: index of its first token in the sequence that is staged
 * @from: in the source
 * @length: tokens
 * @rows: of these, from the first on, with rows that stay
 * @own: the source is the sequence itself
 * @source: number of its source
 * @held: else: place of its first block in kvp_remap.held
 */
struct kvp_part {
	u64 to;
	u64 from;
	u64 length;
	u64 rows;
	bool own;
	u32 source;
	u64 held;
};

/**
 * struct kvp_remap - an open remap of a sequence
 * @staged: what the sequence will be, without an id; busy only while a call works on it
 * @computed: tokens from the start that will have rows
 * @first: of these, the first that is moved, or @computed
 * @nr_parts: pieces
 * @nr_held: blocks of other sequences that are read, family after family of each piece
 * @max_held: room in @held
 * @parts: pieces, in order
 * @held: family << KVP_HOLD_SHIFT | index, one count each; KVP_NIL: a window's past
 *
 * Belongs to the call that keeps its sequence busy.
 */
struct kvp_remap {
	struct kvp_seq *staged;
	u64 computed;
	u64 first;
	u32 nr_parts;
	u64 nr_held;
	u64 max_held;
	struct kvp_part *parts;
	u32 *held;
};

/**
 * struct kvp_source - a sequence that pieces are of, during begin
 * @seq: busy by the call
 * @end: after the last token of a piece so far
 * @covered: tokens from its start that stand in what is staged, in their order, so far
 */
struct kvp_source {
	struct kvp_seq *seq;
	u64 end;
	u64 covered;
};

/**
 * struct kvp_rows - a walk over the rows of a family that will be in a sequence
 * @seq: the sequence that is remapped
 * @remap: its remap
 * @family: which
 * @part: the piece of @token
 * @token: where the run begins, in what is staged
 * @nr: its length: in one block on both sides, with consecutive positions
 * @place: where it stands
 * @from: where it comes from, in the source
 * @src: block there, or KVP_NIL
 * @steps: runs so far
 */
struct kvp_rows {
	const struct kvp_seq *seq;
	const struct kvp_remap *remap;
	const struct kvp_family *family;
	const struct kvp_part *part;
	u64 token;
	u64 nr;
	struct kvp_place place;
	u64 from;
	u32 src;
	u32 steps;
};

/* Walks over all that a long sequence has let others run now and then; without the lock. */
#define KVP_REST_STEPS	4096

#endif /* KVP_REMAP_H */

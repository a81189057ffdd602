// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Positions of a sequence as runs, and the taint that follows from them. A sequence that was
 * never remapped has no runs: its tokens stand at their index. The runs belong to the call that
 * keeps the sequence busy; no lock.
 */
#include "core.h"

/* The run of a token; there is one if there are any. */
static u32 kvp_place_index(const struct kvp_seq *seq, u64 token)
{
	u32 low = 0;
	u32 high = seq->nr_places;

	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (seq->places[middle].first <= token)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/**
 * kvp_place_at - where a token of a sequence stands
 * @seq: the sequence
 * @token: its index
 * @place: set to the run that would begin with this token
 *
 * Return: how many tokens from there on stand in a row, at least 1; KVP_POS_END: all.
 */
u64 kvp_place_at(const struct kvp_seq *seq, u64 token, struct kvp_place *place)
{
	u32 i;

	if (!seq->nr_places) {
		*place = (struct kvp_place){
			.first = token, .position = token, .computed_at = token, .was = token,
		};
		return KVP_POS_END;
	}
	i = kvp_place_index(seq, token);
	*place = seq->places[i];
	place->first = token;
	place->position += token - seq->places[i].first;
	place->computed_at += token - seq->places[i].first;
	place->was += token - seq->places[i].first;
	return i + 1 < seq->nr_places ? seq->places[i + 1].first - token : KVP_POS_END;
}

/* Whether its tokens are as if nothing had ever been remapped. */
static bool kvp_place_plain(const struct kvp_place *place)
{
	return !place->flags && place->position == place->first &&
	       place->computed_at == place->first;
}

/**
 * kvp_seq_tainted_from - first token that may not be published
 * @seq: the sequence
 *
 * Return: its index, KVP_POS_END: none.
 */
u64 kvp_seq_tainted_from(const struct kvp_seq *seq)
{
	u32 i;

	for (i = 0; i < seq->nr_places && seq->places[i].first < seq->unnamed_from; i++)
		if (!kvp_place_plain(&seq->places[i]))
			return seq->places[i].first < seq->tokens ? seq->places[i].first :
								    KVP_POS_END;
	return seq->unnamed_from;
}

/* Tokens of run @i before @end. */
static u64 kvp_place_tokens(const struct kvp_seq *seq, u32 i, u64 end)
{
	u64 last = i + 1 < seq->nr_places ? min(seq->places[i + 1].first, end) : end;

	return last - min(last, seq->places[i].first);
}

/**
 * kvp_seq_attended - tokens with rows that had attended to tokens that are gone
 * @seq: the sequence
 * @rows: tokens from the start that have rows
 *
 * Return: how many.
 */
u64 kvp_seq_attended(const struct kvp_seq *seq, u64 rows)
{
	u64 nr = 0;
	u32 i;

	for (i = 0; i < seq->nr_places; i++)
		if (seq->places[i].flags & KVP_POSITIONS_ATTENDED)
			nr += kvp_place_tokens(seq, i, rows);
	return nr;
}

/**
 * kvp_seq_unmoved - whether each token with rows stands where it was computed
 * @seq: the sequence
 * @rows: tokens from the start that have rows
 *
 * Return: whether that is so.
 */
bool kvp_seq_unmoved(const struct kvp_seq *seq, u64 rows)
{
	u32 i;

	for (i = 0; i < seq->nr_places; i++)
		if (seq->places[i].position != seq->places[i].computed_at &&
		    kvp_place_tokens(seq, i, rows))
			return false;
	return true;
}

/**
 * kvp_places_room - memory for the runs of a sequence that has none
 * @call: the call
 * @seq: the sequence, busy by it
 * @nr: how many at most; one more is for what is appended
 *
 * Return: 0 or kvp_fail() with -EDQUOT or -ENOMEM.
 */
int kvp_places_room(struct kvp_call *call, struct kvp_seq *seq, u32 nr)
{
	struct kvp_place *places = kvp_client_alloc(call->client, (nr + 1) * sizeof(*places));

	if (IS_ERR(places))
		return kvp_fail_alloc(call, PTR_ERR(places));
	seq->places = places;
	seq->max_places = nr + 1;
	return 0;
}

/**
 * kvp_places_push - one more run at the end; it becomes part of the last one where it can
 * @seq: the sequence, with room
 * @place: the run
 */
void kvp_places_push(struct kvp_seq *seq, const struct kvp_place *place)
{
	const struct kvp_place *last = seq->nr_places ? &seq->places[seq->nr_places - 1] : NULL;
	u64 far = last ? place->first - last->first : 0;

	if (last && last->flags == place->flags && last->position + far == place->position &&
	    last->computed_at + far == place->computed_at && last->was + far == place->was)
		return;
	seq->places[seq->nr_places++] = *place;
}

/**
 * kvp_places_copy - the positions of a fork
 * @call: the call
 * @child: busy, without runs
 * @parent: busy
 * @tokens: that the child has of the parent
 *
 * Return: 0 or kvp_fail() with -EDQUOT or -ENOMEM.
 */
int kvp_places_copy(struct kvp_call *call, struct kvp_seq *child, const struct kvp_seq *parent,
		    u64 tokens)
{
	int err;

	child->unnamed_from = parent->unnamed_from < tokens ? parent->unnamed_from : KVP_POS_END;
	if (!parent->nr_places || !tokens)
		return 0;
	err = kvp_places_room(call, child, parent->nr_places);
	if (err)
		return err;
	memcpy(child->places, parent->places, parent->nr_places * sizeof(*child->places));
	child->nr_places = parent->nr_places;
	kvp_places_cut(child, tokens);
	return 0;
}

/**
 * kvp_places_cut - a sequence becomes shorter
 * @seq: the sequence
 * @tokens: that it keeps
 */
void kvp_places_cut(struct kvp_seq *seq, u64 tokens)
{
	u32 i;

	if (tokens <= seq->unnamed_from)
		seq->unnamed_from = KVP_POS_END;
	while (seq->nr_places && seq->places[seq->nr_places - 1].first >= tokens)
		seq->nr_places--;
	for (i = 0; i < seq->nr_places; i++)
		if (!kvp_place_plain(&seq->places[i]))
			return;
	/* As if nothing had been. */
	seq->nr_places = 0;
}

/**
 * kvp_places_append - a sequence is about to get more tokens
 * @seq: the sequence
 *
 * They stand after the last one, and will be computed there.
 */
void kvp_places_append(struct kvp_seq *seq)
{
	struct kvp_place place;

	if (!seq->nr_places)
		return;
	kvp_place_at(seq, seq->tokens, &place);
	place.computed_at = place.position;
	place.was = place.position;
	place.flags = 0;
	kvp_places_push(seq, &place);
}

static void kvp_positions_write(const struct kvp_seq *seq, struct kvp_seq_positions *arg,
				struct kvp_positions *runs)
{
	u32 room = arg->nr_runs;
	struct kvp_place place;
	u64 token = 0;
	u64 nr;

	arg->nr_runs = 0;
	arg->total = 0;
	for (; token < seq->tokens; token += nr) {
		nr = min(kvp_place_at(seq, token, &place), seq->tokens - token);
		if (runs && arg->nr_runs < room)
			runs[arg->nr_runs++] = (struct kvp_positions){
				.first = token,
				.position = place.position,
				.computed_at = place.computed_at,
				.flags = place.flags,
			};
		arg->total++;
	}
}

/**
 * kvp_op_seq_positions - KVP_OP_SEQ_POSITIONS
 * @call: struct kvp_seq_positions
 *
 * Return: 0 or kvp_fail().
 */
int kvp_op_seq_positions(struct kvp_call *call)
{
	struct kvp_seq_positions *arg = call->arg;
	struct kvp_seq *seq = kvp_seq_begin(call, arg->seq);
	struct kvp_place next;

	if (IS_ERR(seq))
		return PTR_ERR(seq);
	kvp_positions_write(seq, arg, call->array[0]);
	kvp_place_at(seq, seq->tokens, &next);
	arg->next = next.position;
	arg->tainted_from = kvp_seq_tainted_from(seq);
	arg->attended = kvp_seq_attended(seq, seq->computed);
	kvp_seq_end(seq);
	return 0;
}

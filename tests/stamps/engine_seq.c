// SPDX-License-Identifier: MIT
/*
 * What a client does with sequences: prompts that begin alike, prefill in pieces, decode with
 * several steps on their way, forks, cuts, publishing, and ends at any moment.
 */
#include <errno.h>
#include <string.h>

#include "stamps.h"

#define MAX_PROMPT	22
#define MAX_WRITE	8		/* tokens that one step computes */
#define MAX_READ	12		/* rows of the dense family that it looks at */
#define LONG_PASSES	30

static uint64_t mix(uint64_t content, uint32_t token)
{
	uint64_t state = content ^ token;

	return stamps_random(&state);
}

/* The tokens of a document, and what their rows hold. */
void stamps_doc(uint32_t doc, uint32_t *tokens, uint64_t *contents)
{
	uint32_t i;

	for (i = 0; i < STAMPS_DOC_TOKENS; i++) {
		tokens[i] = doc * 1000 + i;
		contents[i] = mix(i ? contents[i - 1] : 0, tokens[i]);
	}
}

static void set_token(struct stamps_seq *seq, uint32_t at, uint32_t token)
{
	seq->token[at] = token;
	seq->content[at] = mix(at ? seq->content[at - 1] : 0, token);
	seq->writer[at] = 0;
}

static uint32_t own_token(struct engine *engine)
{
	return STAMPS_DOCS * 1000 + (uint32_t)stamps_random(&engine->random) % 4000000000U;
}

static uint32_t stream_of(const struct engine *engine, const struct stamps_seq *seq)
{
	return (seq - engine->seq) % STAMPS_STREAMS;
}

/* Whether work of this sequence may be on its way. */
static bool at_work(struct engine *engine, const struct stamps_seq *seq)
{
	uint32_t home = stream_of(engine, seq), i;

	for (i = 0; i < STAMPS_STREAMS; i++) {
		if ((i == home || seq->roams) && engine->ops->busy(engine, i))
			return true;
	}
	return false;
}

/* Nobody cancels what has no id yet. */
static void put(struct engine *engine, struct stamps_seq *seq, uint64_t id)
{
	seq->owner = engine_owner(engine);
	seq->roams = !stamps_below(&engine->random, 3);
	atomic_store(&seq->id, id);
}

static void make(struct engine *engine, struct stamps_seq *seq)
{
	uint32_t doc = stamps_below(&engine->random, STAMPS_DOCS) * 1000, i;
	uint32_t alike = stamps_below(&engine->random, STAMPS_DOC_TOKENS + 1);
	struct kvp_prompt prompt = { .space = engine->space, .tokens = seq->token };
	uint64_t matched;
	kvp_seq_t id;
	int err;

	seq->nr = 1 + stamps_below(&engine->random, MAX_PROMPT);
	for (i = 0; i < seq->nr; i++)
		set_token(seq, i, i < alike ? doc + i : own_token(engine));
	prompt.nr_tokens = seq->nr;
	err = kvp_seq_create(engine->pool, &prompt,
			     stamps_below(&engine->random, 4) ? 0 : KVP_SEQ_NO_MATCH,
			     stamps_below(&engine->random, 3), &id, &matched);
	if (engine_full(engine, err))
		return;
	engine_check("create", err);
	seq->have = matched;
	stamps_count(engine->stamps, made, 1);
	stamps_count(engine->stamps, matched, matched);
	put(engine, seq, id);
}

/* ---- a step ---- */

struct step {
	struct stamps_seq *seq;
	uint64_t id;
	uint32_t write;			/* tokens from seq->have on */
};

/* Rows [@first, @first + @nr) of a family into the order. */
static bool rows(struct engine *engine, struct order *order, const struct step *step,
		 uint32_t family, uint32_t first, uint32_t nr, bool write)
{
	const struct stamps_seq *seq = step->seq;
	uint64_t slots[STAMPS_ROWS];
	uint32_t i;
	int err;

	if (!nr)
		return true;
	err = kvp_seq_slots(engine->pool, step->id, family, first, nr, slots);
	if (engine_gone(err))
		return false;
	engine_check("slots", err);
	for (i = 0; i < nr; i++) {
		const struct stamp stamp = {
			.owner = write ? seq->owner : seq->writer[first + i],
			.content = seq->content[first + i],
		};

		if (slots[i] == KVP_SLOT_NONE) {
			stamps_count(engine->stamps, missing, 1);
			continue;
		}
		order_row(order, family, slots[i],
			  write ? ROW_WRITE : stamp.owner ? ROW_OWN : ROW_READ, stamp);
	}
	return true;
}

/*
 * Where steps run one after the other, one reads what those before it will have written; else only
 * what is computed when it is launched.
 */
static bool fill(struct engine *engine, struct order *order, void *arg)
{
	const struct step *step = arg;
	uint32_t have = step->seq->have, there = have, first, nr, window;
	struct kvp_lengths lengths;
	int err;

	if (step->seq->roams) {
		err = kvp_seq_lengths(engine->pool, step->id, &lengths);
		if (engine_gone(err))
			return false;
		engine_check("lengths", err);
		there = lengths.computed;
	}
	first = there ? stamps_below(&engine->random, there) : 0;
	nr = there - first < MAX_READ ? there - first : MAX_READ;
	/* Of the first row that is written, or of what there is. */
	window = step->write ? have : there;
	window = window + 1 > STAMPS_WINDOW ? window + 1 - STAMPS_WINDOW : 0;
	return rows(engine, order, step, 0, first, nr, false) &&
	       rows(engine, order, step, 1, window, there > window ? there - window : 0, false) &&
	       rows(engine, order, step, 0, have, step->write, true) &&
	       rows(engine, order, step, 1, have, step->write, true);
}

/* Compute the next @write tokens, or read only. A sequence for which that cannot be said ends. */
static void step(struct engine *engine, struct stamps_seq *seq, uint64_t id, uint32_t write)
{
	struct step step = { .seq = seq, .id = id, .write = write };
	struct kvp_use_entry use = {
		.kind = KVP_USE_SEQ, .id = id,
		.write_from = write ? seq->have : KVP_POS_END,
		.computed_to = write ? seq->have + write : 0,
	};
	uint32_t stream = stream_of(engine, seq), i;

	if (seq->roams)
		stream = stamps_below(&engine->random, STAMPS_STREAMS);
	if (!engine_step(engine, stream, &use, 1, fill, &step)) {
		engine_seq_cancel(engine, seq - engine->seq);
		return;
	}
	for (i = 0; i < write; i++)
		seq->writer[seq->have + i] = seq->owner;
	seq->have += write;
}

static void compute(struct engine *engine, struct stamps_seq *seq, uint64_t id)
{
	uint32_t left = seq->nr - seq->have;

	if (left > MAX_WRITE)
		left = 1 + stamps_below(&engine->random, MAX_WRITE);
	step(engine, seq, id, left);
}

/* One more token or a few, and at once the step that computes them, whatever is on its way. */
static void decode(struct engine *engine, struct stamps_seq *seq, uint64_t id)
{
	uint32_t nr = stamps_below(&engine->random, 4) ? 1 : MAX_WRITE, i;
	int err;

	if (seq->have < seq->nr) {
		compute(engine, seq, id);
		return;
	}
	if (seq->nr + nr > STAMPS_TOKENS)
		return;
	for (i = 0; i < nr; i++)
		set_token(seq, seq->nr + i, own_token(engine));
	err = kvp_seq_append(engine->pool, id, &seq->token[seq->nr], nr, 0);
	if (engine_full(engine, err) || engine_gone(err))
		return;
	engine_check("append", err);
	seq->nr += nr;
	step(engine, seq, id, nr);
}

/* A long step that only reads, while others go on: a window would move away from under it. */
static void look_back(struct engine *engine, struct stamps_seq *seq, uint64_t id)
{
	uint32_t i;

	engine->passes = LONG_PASSES;
	step(engine, seq, id, 0);
	for (i = 0; i < 3 && atomic_load(&seq->id) == id; i++)
		decode(engine, seq, id);
}

/* ---- the rest of its life ---- */

static void publish(struct engine *engine, struct stamps_seq *seq, uint64_t id)
{
	uint64_t published, i;
	int err = kvp_publish(engine->pool, id, &published);

	if (engine_gone(err))
		return;
	engine_check("publish", err);
	stamps_count(engine->stamps, published, published);
	/* The rows may be those of somebody else who has published the same. */
	for (i = 0; i < published; i++)
		seq->writer[i] = 0;
}

static void cut(struct engine *engine, struct stamps_seq *seq, uint64_t id)
{
	uint32_t tokens = stamps_below(&engine->random, seq->nr + 1);
	int err;

	/* Else rows that are computed again could be written by two streams at once. */
	if (seq->roams)
		return;
	err = kvp_seq_truncate(engine->pool, id, tokens);
	if (engine_gone(err))
		return;
	if (err == -EOPNOTSUPP && kvp_error()->reason == KVP_REASON_WINDOW_RELEASED)
		return;
	engine_check("truncate", err);
	if (at_work(engine, seq))
		stamps_count(engine->stamps, cut, 1);
	seq->nr = tokens;
	if (seq->have > tokens)
		seq->have = tokens;
}

static void fork_to(struct engine *engine, struct stamps_seq *seq, uint64_t id,
		    struct stamps_seq *child)
{
	struct kvp_lengths lengths;
	uint64_t child_id;
	int err;

	err = kvp_seq_lengths(engine->pool, id, &lengths);
	if (engine_gone(err))
		return;
	engine_check("lengths", err);
	if (!lengths.computed)
		return;
	child->nr = 1 + stamps_below(&engine->random, lengths.computed);
	err = kvp_seq_fork(engine->pool, id, child->nr, &child_id);
	if (engine_full(engine, err) || engine_gone(err))
		return;
	if (err == -EOPNOTSUPP && kvp_error()->reason == KVP_REASON_WINDOW_RELEASED)
		return;
	engine_check("fork", err);
	child->have = child->nr;
	memcpy(child->token, seq->token, sizeof(seq->token));
	memcpy(child->content, seq->content, sizeof(seq->content));
	memcpy(child->writer, seq->writer, sizeof(seq->writer));
	stamps_count(engine->stamps, forked, 1);
	put(engine, child, child_id);
}

void engine_seq_cancel(struct engine *engine, uint32_t at)
{
	struct stamps_seq *seq = &engine->seq[at];
	uint64_t id = atomic_exchange(&seq->id, 0);
	int err;

	if (!id)
		return;
	if (at_work(engine, seq))
		stamps_count(engine->stamps, cancelled, 1);
	/* Its client may be in a call on it. */
	do {
		err = kvp_seq_free(engine->pool, id);
	} while (err == -EBUSY && kvp_error()->reason == KVP_REASON_SEQ_BUSY);
	engine_check("free", err);
}

void engine_seq_act(struct engine *engine)
{
	uint32_t at = stamps_below(&engine->random, STAMPS_SEQS), other;
	struct stamps_seq *seq = &engine->seq[at];
	uint64_t id = atomic_load(&seq->id);

	if (!id) {
		make(engine, seq);
		return;
	}
	switch (stamps_below(&engine->random, 16)) {
	case 0:
		cut(engine, seq, id);
		break;
	case 1:
	case 2:
		other = stamps_below(&engine->random, STAMPS_SEQS);
		if (!atomic_load(&engine->seq[other].id))
			fork_to(engine, seq, id, &engine->seq[other]);
		break;
	case 3:
	case 4:
		publish(engine, seq, id);
		break;
	case 5:
		look_back(engine, seq, id);
		break;
	case 6:
		engine_seq_cancel(engine, at);
		break;
	default:
		decode(engine, seq, id);
	}
}

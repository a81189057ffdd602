// SPDX-License-Identifier: MIT
/*
 * The reference model: sequences become longer, and become two.
 */
#include "model.h"

/* Ascending, each for a node whose first token is among those of the call. */
bool model_extras_right(const struct model *m, const struct model_text *text, u64 first)
{
	u32 i;

	for (i = 0; i < text->nr_extras; i++) {
		u64 node = text->extra[i].node;

		if (node * m->index_tokens < first ||
		    node * m->index_tokens >= first + text->nr)
			return false;
		if (i && node <= text->extra[i - 1].node)
			return false;
	}
	return true;
}

/* The number of the digest for @node, 0: none. */
u32 model_extra(const struct model_text *text, u32 node)
{
	u32 i;

	for (i = 0; i < text->nr_extras; i++) {
		if (text->extra[i].node == node)
			return model_digest_number(&text->extra[i]);
	}
	return 0;
}

/* Slots up to @reserved, and ids; there is room. */
void model_grow(struct model *m, struct model_seq *seq, u64 reserved,
		const struct model_text *text)
{
	u32 f, i;

	for (f = 0; f < m->nr_families; f++) {
		while (seq->nr_slots[f] < model_blocks_for(m, f, reserved))
			seq->slot[f][seq->nr_slots[f]++] = model_block_new(m, f, seq->client);
	}
	for (i = 0; i < text->nr; i++) {
		u32 run = seq->tokens / m->index_tokens;
		struct model_node *node;

		if (run == seq->nr_runs) {
			seq->run[seq->nr_runs++] = model_node_new(m);
			m->node[seq->run[run]].extra = model_extra(text, run);
		}
		node = &m->node[seq->run[run]];
		node->nr_tokens = seq->tokens % m->index_tokens + 1;
		node->token[node->nr_tokens - 1] = text->token[i];
		seq->tokens++;
	}
	seq->reserved = reserved;
	model_compute(m, seq);
}

/* What longer tables take. */
static void model_grow_check(const struct model *m, const struct model_seq *seq, u64 reserved,
			     const struct model_text *text, struct model_need *need,
			     struct model_verdict *v)
{
	u64 slots = 0;
	u32 f, live;

	memset(need, 0, sizeof(*need));
	for (f = 0; f < m->nr_families; f++) {
		live = model_blocks_for(m, f, reserved);
		need->blocks[f] = live - seq->nr_slots[f];
		slots += need->blocks[f];
		if (m->family[f].kind == KVP_FAMILY_WINDOW)
			live -= model_window_start(m, f, seq->windowed) /
				m->family[f].block_tokens;
		if (live > m->family[f].blocks)
			model_may(v, -EFBIG, KVP_REASON_NEVER_FITS);
	}
	need->nodes = model_nodes_for(m, seq->tokens + text->nr) - seq->nr_runs;
	need->digests = text->nr_extras;
	model_limit(m, seq->client, MODEL_OF_SLOTS, slots, v);
}

/* ---- copy-on-write ---- */

/* Whether the part-filled node in which a sequence ends is not its alone. */
static bool model_shared(const struct model *m, const struct model_seq *seq)
{
	u32 run = seq->tokens / m->index_tokens;
	u32 f, slot;

	if (!(seq->tokens % m->index_tokens))
		return false;
	if (m->node[seq->run[run]].kind != MODEL_PRIVATE || m->node[seq->run[run]].uses > 1)
		return true;
	for (f = 0; f < m->nr_families; f++) {
		for (slot = run * model_parts(m, f);
		     slot < (run + 1) * model_parts(m, f) && slot < seq->nr_slots[f]; slot++) {
			int block = seq->slot[f][slot];

			if (block != NONE && m->block[block].count > 1)
				return true;
		}
	}
	return false;
}

/* Rows of a slot that hold something, of @rows from the start of the sequence. */
static u32 model_rows(const struct model *m, u32 family, u32 slot, u64 rows)
{
	u32 size = m->family[family].block_tokens;

	if (rows <= slot * size)
		return 0;
	return min_t(u64, rows - slot * size, size);
}

/*
 * What private copies of node @run take, whose slots end at @reserved. Return: the copies that the
 * caller has to make.
 */
static u32 model_copies_need(const struct model *m, const struct model_seq *seq, u32 run,
			     u64 reserved, u64 rows, struct model_need *need)
{
	u32 copies = 0;
	u32 f, slot;

	for (f = 0; f < m->nr_families; f++) {
		for (slot = run * model_parts(m, f);
		     slot < (run + 1) * model_parts(m, f) &&
		     slot < model_blocks_for(m, f, reserved); slot++) {
			if (seq->slot[f][slot] == NONE)
				continue;
			need->blocks[f]++;
			copies += !!model_rows(m, f, slot, rows);
		}
	}
	need->nodes++;
	need->digests += !!m->node[seq->run[run]].extra;
	return copies;
}

/* A private node with the first @nr ids of @old. */
static int model_copy_node(struct model *m, int old, u32 nr)
{
	int node = model_node_new(m);

	m->node[node].nr_tokens = nr;
	m->node[node].extra = m->node[old].extra;
	memcpy(m->node[node].token, m->node[old].token, nr * sizeof(u32));
	return node;
}

static void model_copy_add(struct model *m, struct model_seq *owes, struct model_copies *copies,
			   int src, int dst, u32 rows)
{
	owes->pending[owes->nr_pending++] = src;
	copies->copy[copies->nr++] = (struct model_copy){ src, dst, rows };
	m->count.copies++;
}

/* Tokens from the start that have rows, those of slots without ids among them. */
static u64 model_written(const struct model_seq *seq)
{
	return min(max(seq->computed, seq->done_to), seq->reserved);
}

/* The node in which @seq ends becomes its own. */
static void model_unshare(struct model *m, struct model_seq *seq, struct model_copies *copies)
{
	u32 run = seq->tokens / m->index_tokens;
	int old = seq->run[run];
	u32 f, slot, rows;
	int src, dst;

	for (f = 0; f < m->nr_families; f++) {
		for (slot = run * model_parts(m, f);
		     slot < (run + 1) * model_parts(m, f) && slot < seq->nr_slots[f]; slot++) {
			src = seq->slot[f][slot];
			if (src == NONE)
				continue;
			rows = model_rows(m, f, slot, model_written(seq));
			if (!rows)
				model_let_go(m, seq, src);
			dst = model_block_new(m, f, seq->client);
			if (rows)
				model_copy_add(m, seq, copies, src, dst, rows);
			seq->slot[f][slot] = dst;
		}
	}
	seq->run[run] = model_copy_node(m, old, seq->tokens % m->index_tokens);
	model_node_unuse(m, old);
}

/* ---- append ---- */

void model_append(struct model *m, struct model_seq *seq, const struct kvp_seq_append *arg,
		  const struct model_text *text, struct model_verdict *v,
		  struct model_copies *copies)
{
	u64 reserved = max(seq->reserved, seq->tokens + text->nr + arg->reserve);
	bool shared = model_shared(m, seq);
	struct model_need need;

	copies->nr = 0;
	if (seq->nr_pending) {
		model_may(v, -EBUSY, KVP_REASON_COPY_PENDING);
		return;
	}
	if (arg->position != KVP_POS_END && arg->position != seq->tokens)
		model_may(v, -EINVAL, KVP_REASON_POSITION);
	if (!text->nr && reserved == seq->reserved)
		model_may(v, -EINVAL, KVP_REASON_COUNT);
	if (!model_extras_right(m, text, seq->tokens))
		model_may(v, -EINVAL, KVP_REASON_EXTRA);
	model_grow_check(m, seq, reserved, text, &need, v);
	if (shared && model_open_from(m, seq) <
		      min((seq->tokens / m->index_tokens + 1) * m->index_tokens, seq->reserved))
		model_may(v, -EBUSY, KVP_REASON_FENCE_OPEN);
	if (shared && model_copies_need(m, seq, seq->tokens / m->index_tokens, seq->reserved,
					model_written(seq), &need) > arg->nr_copies)
		model_may(v, -EOVERFLOW, KVP_REASON_COPIES);
	model_room(m, seq->client, &need, v);
	if (model_refused(m, v))
		return;
	model_take(m, seq->client, &need);
	if (shared)
		model_unshare(m, seq, copies);
	model_grow(m, seq, reserved, text);
}

void model_set_tokens(struct model *m, struct model_seq *seq, u64 position,
		      const struct model_text *text, struct model_verdict *v)
{
	struct model_need need;

	if (seq->nr_pending) {
		model_may(v, -EBUSY, KVP_REASON_COPY_PENDING);
		return;
	}
	if (position != KVP_POS_END && position != seq->tokens)
		model_may(v, -EINVAL, KVP_REASON_POSITION);
	if (!text->nr)
		model_may(v, -EINVAL, KVP_REASON_COUNT);
	if (!model_extras_right(m, text, seq->tokens))
		model_may(v, -EINVAL, KVP_REASON_EXTRA);
	if (text->nr > seq->reserved - seq->tokens) {
		model_may(v, -EINVAL, KVP_REASON_LENGTH);
		return;
	}
	model_grow_check(m, seq, seq->reserved, text, &need, v);
	model_room(m, seq->client, &need, v);
	if (model_refused(m, v))
		return;
	model_take(m, seq->client, &need);
	model_grow(m, seq, seq->reserved, text);
}

/* ---- fork ---- */

static void model_fork_check(const struct model *m, const struct model_seq *seq, u64 tokens,
			     bool copy_node, u32 room, struct model_need *need,
			     struct model_verdict *v)
{
	u32 copies = 0;
	u64 slots = 0;
	u32 f;

	memset(need, 0, sizeof(*need));
	if (copy_node)
		copies = model_copies_need(m, seq, tokens / m->index_tokens, tokens, tokens,
					   need);
	for (f = 0; f < m->nr_families; f++) {
		slots += model_blocks_for(m, f, tokens);
		if (m->family[f].kind == KVP_FAMILY_STATE) {
			need->blocks[f]++;
			copies++;
		}
	}
	if (copies > room)
		model_may(v, -EOVERFLOW, KVP_REASON_COPIES);
	model_limit(m, seq->client, MODEL_OF_SEQS, 1, v);
	model_limit(m, seq->client, MODEL_OF_SLOTS, slots, v);
	model_room(m, seq->client, need, v);
}

static void model_fork_table(struct model *m, const struct model_seq *seq,
			     struct model_seq *child, u32 family, bool copy_node,
			     struct model_copies *copies)
{
	u32 nodes = child->tokens / m->index_tokens;
	bool state = m->family[family].kind == KVP_FAMILY_STATE;
	u32 slot;
	int src, dst;

	for (slot = 0; slot < model_blocks_for(m, family, child->tokens); slot++) {
		src = seq->slot[family][slot];
		dst = src;
		if (src != NONE)
			model_block_get(m, src, child->client);
		if (src != NONE && (state || (copy_node &&
					      slot >= nodes * model_parts(m, family)))) {
			dst = model_block_new(m, family, child->client);
			model_copy_add(m, child, copies, src, dst, state ? 1 :
				       model_rows(m, family, slot, child->tokens));
		}
		child->slot[family][child->nr_slots[family]++] = dst;
	}
}

/* What is refused, and what is needed, was seen to. */
struct model_seq *model_share(struct model *m, struct model_seq *seq, u32 client, u64 tokens,
			      bool copy_node, struct model_copies *copies)
{
	struct model_seq *child = model_seq_new(m, client);
	u32 f, i;

	copies->nr = 0;
	child->root = seq->root;
	m->node[child->root].uses++;
	child->tail = seq->tail;
	m->node[child->tail].refs++;
	child->nr_published = seq->nr_published;
	child->tokens = tokens;
	child->computed = tokens;
	child->windowed = min(seq->windowed, tokens);
	child->reserved = tokens;
	for (i = 0; i < model_nodes_for(m, tokens) - copy_node; i++) {
		child->run[child->nr_runs++] = seq->run[i];
		m->node[seq->run[i]].uses++;
	}
	if (copy_node)
		child->run[child->nr_runs++] = model_copy_node(m, seq->run[i],
							       tokens % m->index_tokens);
	for (f = 0; f < m->nr_families; f++)
		model_fork_table(m, seq, child, f, copy_node, copies);
	model_set_tail(m, child, min(seq->nr_published, tokens / m->index_tokens));
	/* Those of the parent may wait for work. */
	model_move_windows(m, child);
	return child;
}

struct model_seq *model_fork(struct model *m, struct model_seq *seq, u64 tokens, u32 room,
			     struct model_verdict *v, struct model_copies *copies)
{
	u64 n = tokens == KVP_POS_END ? seq->computed : tokens;
	bool copy_node = n % m->index_tokens && seq->reserved > n;
	struct model_need need;

	if (seq->nr_pending)
		model_may(v, -EBUSY, KVP_REASON_COPY_PENDING);
	else if (n > seq->computed)
		model_may(v, -EINVAL, KVP_REASON_LENGTH);
	else if (n > model_open_from(m, seq) ||
		 (m->has_states && model_open_from(m, seq) != KVP_POS_END))
		model_may(v, -EBUSY, KVP_REASON_FENCE_OPEN);
	if (n <= seq->computed && !model_cut_refused(m, seq, n, v))
		model_fork_check(m, seq, n, copy_node, room, &need, v);
	if (model_refused(m, v))
		return NULL;
	model_take(m, seq->client, &need);
	return model_share(m, seq, seq->client, n, copy_node, copies);
}

// SPDX-License-Identifier: MIT
/*
 * The reference model: sequences begin, become shorter, and end.
 */
#include "model.h"

struct model_seq *model_seq_find(struct model *m, u32 client, u64 id)
{
	u32 i;

	for (i = 0; i < MODEL_SEQS; i++) {
		if (m->seq[i].live && !m->seq[i].zombie && m->seq[i].client == client &&
		    m->seq[i].id == id)
			return &m->seq[i];
	}
	return NULL;
}

struct model_seq *model_seq_new(struct model *m, u32 client)
{
	u32 i;

	for (i = 0; i < MODEL_SEQS; i++) {
		if (m->seq[i].live)
			continue;
		memset(&m->seq[i], 0, sizeof(m->seq[i]));
		m->seq[i].live = true;
		m->seq[i].client = client;
		return &m->seq[i];
	}
	model_bug("model: no sequence left");
}

/* ---- create ---- */

/* The first slot that a sequence with @computed tokens still needs. */
static u32 model_first_slot(const struct model *m, u32 family, u64 computed)
{
	if (m->family[family].kind != KVP_FAMILY_WINDOW)
		return 0;
	return model_window_start(m, family, computed) / m->family[family].block_tokens;
}

/* The block of @family for slot @slot of a matched path, or NONE where none is needed. */
static int model_path_block(const struct model *m, u32 family, const int *path, u32 slot,
			    u64 computed)
{
	u32 parts = model_parts(m, family);

	if (slot < model_first_slot(m, family, computed))
		return NONE;
	return m->node[path[slot / parts]].part[family][slot % parts];
}

/* Idle blocks become held: what the client may have, and what others must keep. */
static void model_check_idle(const struct model *m, u32 client, const u32 *idle,
			     const struct model_need *need, struct model_verdict *v)
{
	struct model_need rest;
	u32 f, all, room;

	model_rest(m, client, need, &rest);
	for (f = 0; f < m->nr_families; f++) {
		all = idle[f] + rest.blocks[f];
		room = model_free_blocks(m, f) + model_idle_blocks(m, f);
		if (!idle[f])
			continue;
		if (model_over_blocks(m, client, f, all))
			model_may(v, -EDQUOT, KVP_REASON_LIMIT_BLOCKS);
		if (all + model_others_unmet(m, client, f) > room)
			model_may(v, -ENOSPC, KVP_REASON_GUARANTEED);
	}
}

/* Hold the first @nodes nodes of @path, or let them go as if nothing had been. */
static void model_hold_path(struct model *m, u32 client, const int *path, u32 nodes, bool hold)
{
	u64 computed = nodes * m->index_tokens;
	u32 f, slot;
	int block;
	u32 i;

	for (i = 0; i < nodes; i++)
		m->node[path[i]].uses += hold ? 1 : -1;
	for (f = 0; f < m->nr_families; f++) {
		for (slot = 0; slot < nodes * model_parts(m, f); slot++) {
			block = model_path_block(m, f, path, slot, computed);
			if (block == NONE)
				continue;
			if (hold)
				model_block_get(m, block, client);
			else
				model_block_put(m, block);
		}
	}
}

static void model_count_idle(const struct model *m, const int *path, u32 nodes, u32 *idle)
{
	u32 f, slot;
	int block;

	for (f = 0; f < m->nr_families; f++) {
		idle[f] = 0;
		for (slot = 0; slot < nodes * model_parts(m, f); slot++) {
			block = model_path_block(m, f, path, slot, nodes * m->index_tokens);
			idle[f] += block != NONE && !m->block[block].count;
		}
	}
}

/* What is not matched: @text are the ids that the sequence will have in all. */
static void model_create_need(const struct model *m, int root, u32 nodes, u64 reserved,
			      const struct model_text *text, struct model_need *need)
{
	u32 f, i;

	memset(need, 0, sizeof(*need));
	for (f = 0; f < m->nr_families; f++)
		need->blocks[f] = model_blocks_for(m, f, reserved) - nodes * model_parts(m, f);
	need->nodes = model_nodes_for(m, text->nr) - nodes + (root == NONE);
	need->digests = root == NONE;
	for (i = 0; i < text->nr_extras; i++)
		need->digests += text->extra[i].node >= nodes;
}

static void model_create_check(const struct model *m, u32 client, u32 nodes, u64 reserved,
			       struct model_verdict *v)
{
	u64 slots = 0;
	u32 f, blocks;

	model_limit(m, client, MODEL_OF_SEQS, 1, v);
	for (f = 0; f < m->nr_families; f++) {
		blocks = model_blocks_for(m, f, reserved);
		slots += blocks;
		if (blocks - model_first_slot(m, f, nodes * m->index_tokens) >
		    m->family[f].blocks)
			model_may(v, -EFBIG, KVP_REASON_NEVER_FITS);
	}
	model_limit(m, client, MODEL_OF_SLOTS, slots, v);
}

static void model_create_table(struct model *m, struct model_seq *seq, const int *path, u32 nodes)
{
	u32 f, slot, i;

	for (i = 0; i < nodes; i++)
		seq->run[seq->nr_runs++] = path[i];
	for (f = 0; f < m->nr_families; f++) {
		for (slot = 0; slot < nodes * model_parts(m, f); slot++)
			seq->slot[f][seq->nr_slots[f]++] =
				model_path_block(m, f, path, slot, nodes * m->index_tokens);
	}
	seq->nr_published = nodes;
	seq->tokens = nodes * m->index_tokens;
	seq->computed = seq->tokens;
	seq->windowed = seq->tokens;
	seq->reserved = seq->tokens;
	seq->tail = nodes ? path[nodes - 1] : seq->root;
	m->node[seq->tail].refs++;
}

static int model_root_new(struct model *m, u32 space)
{
	int root = model_node_new(m);

	m->node[root].kind = MODEL_ROOT;
	m->node[root].space = space;
	return root;
}

/* Arguments that are wrong whatever the pool is like. */
static bool model_create_args(const struct model *m, const struct kvp_seq_create *arg,
			      const struct model_text *text, struct model_verdict *v)
{
	if (arg->head.flags == KVP_SEQ_CREATE_FLAGS_ALL)
		model_may(v, -EINVAL, KVP_REASON_FLAG);
	if (arg->head.flags & KVP_SEQ_MATCH_ONLY && arg->reserve)
		model_may(v, -EINVAL, KVP_REASON_VALUE);
	if (!model_extras_right(m, text, 0))
		model_may(v, -EINVAL, KVP_REASON_EXTRA);
	return !v->nr;
}

struct model_seq *model_create(struct model *m, u32 client, const struct kvp_seq_create *arg,
			       const struct model_text *text, struct model_verdict *v)
{
	struct model_text all = *text;
	struct model_seq *seq;
	struct model_need need;
	int path[MODEL_RUNS];
	u32 idle[MODEL_FAMILIES];
	u32 depth = 0, nodes;
	u64 reserved;
	int root;

	if (!model_create_args(m, arg, text, v))
		return NULL;
	root = model_root(m, text->space);
	if (!(arg->head.flags & KVP_SEQ_NO_MATCH))
		depth = model_walk(m, text, arg->match_limit, path);
	nodes = model_usable(m, path, depth);
	if (arg->head.flags & KVP_SEQ_MATCH_ONLY) {
		all.nr = nodes * m->index_tokens;
		all.nr_extras = 0;
	}
	reserved = all.nr + arg->reserve;

	model_create_need(m, root, nodes, reserved, &all, &need);
	model_create_check(m, client, nodes, reserved, v);
	model_count_idle(m, path, nodes, idle);
	model_check_idle(m, client, idle, &need, v);
	model_hold_path(m, client, path, nodes, true);
	/* The namespace stays, whatever is reclaimed. */
	if (root != NONE)
		m->node[root].uses++;
	model_in_turn(m, client, &need, v);
	model_room(m, client, &need, v);
	if (model_refused(m, v)) {
		model_hold_path(m, client, path, nodes, false);
		if (root != NONE)
			m->node[root].uses--;
		return NULL;
	}
	model_take(m, client, &need);

	seq = model_seq_new(m, client);
	seq->root = root == NONE ? model_root_new(m, text->space) : root;
	model_create_table(m, seq, path, nodes);
	all.token += seq->tokens;
	all.nr -= seq->tokens;
	model_grow(m, seq, reserved, &all);
	if (!(arg->head.flags & KVP_SEQ_NO_MATCH))
		m->count.looked_up_nodes += text->nr / m->index_tokens;
	m->count.matched_nodes += nodes;
	return seq;
}

/* ---- shorter ---- */

/* The node of the tree in which the first @nr of the published nodes of a sequence end. */
static int model_tail_at(const struct model *m, const struct model_seq *seq, u64 nr)
{
	int node = seq->tail;
	u64 i;

	if (!nr)
		return seq->root;
	if (m->node[seq->run[nr - 1]].kind == MODEL_PUBLISHED)
		return seq->run[nr - 1];
	/* Its own was kept; the published twin stands above the tail. */
	for (i = seq->nr_published; i > nr; i--)
		node = m->node[node].parent;
	return node;
}

/* The published part ends earlier. */
void model_set_tail(struct model *m, struct model_seq *seq, u64 nr_published)
{
	int tail = model_tail_at(m, seq, nr_published);

	seq->nr_published = nr_published;
	m->node[tail].refs++;
	model_node_unref(m, seq->tail);
	seq->tail = tail;
}

/* Whether a sequence could not stand at @tokens, for its windows or states. */
bool model_cut_refused(const struct model *m, const struct model_seq *seq, u64 tokens,
		       struct model_verdict *v)
{
	u32 before = v->nr;
	u32 f;

	for (f = 0; f < m->nr_families; f++) {
		if (m->family[f].kind == KVP_FAMILY_STATE &&
		    tokens < max(seq->computed, seq->done_to))
			model_may(v, -EOPNOTSUPP, KVP_REASON_STATE_FAMILY);
		if (model_first_slot(m, f, tokens) < model_first_slot(m, f, seq->windowed))
			model_may(v, -EOPNOTSUPP, KVP_REASON_WINDOW_RELEASED);
	}
	return v->nr > before;
}

void model_advance(struct model *m, struct model_seq *seq, u64 computed,
		   struct model_verdict *v)
{
	if (seq->nr_pending)
		model_may(v, -EBUSY, KVP_REASON_COPY_PENDING);
	else if (computed < seq->computed || computed > seq->tokens)
		model_may(v, -EINVAL, KVP_REASON_LENGTH);
	else if (computed > model_open_from(m, seq))
		model_may(v, -EBUSY, KVP_REASON_FENCE_OPEN);
	if (v->nr)
		return;
	seq->computed = computed;
	model_move_windows(m, seq);
}

void model_copied(struct model *m, struct model_seq *seq)
{
	while (seq->nr_pending)
		model_let_go(m, seq, seq->pending[--seq->nr_pending]);
}

/* From the tail to the head: a parent is let go after its child. */
static void model_shrink(struct model *m, struct model_seq *seq, u64 tokens)
{
	u32 node = model_nodes_for(m, max(seq->reserved, seq->tokens));
	u32 f;

	for (; node > tokens / m->index_tokens; node--) {
		for (f = 0; f < m->nr_families; f++) {
			u32 keep = max(model_blocks_for(m, f, tokens),
				       (node - 1) * model_parts(m, f));

			while (seq->nr_slots[f] > keep) {
				int block = seq->slot[f][--seq->nr_slots[f]];

				if (block != NONE)
					model_let_go(m, seq, block);
			}
		}
		if (seq->nr_runs == node && node > model_nodes_for(m, tokens))
			model_node_unuse(m, seq->run[--seq->nr_runs]);
	}
}

void model_truncate(struct model *m, struct model_seq *seq, u64 tokens,
		    struct model_verdict *v)
{
	if (seq->nr_pending)
		model_may(v, -EBUSY, KVP_REASON_COPY_PENDING);
	else if (tokens > seq->tokens)
		model_may(v, -EINVAL, KVP_REASON_LENGTH);
	else if (tokens)
		model_cut_refused(m, seq, tokens, v);
	/* A state will have taken what is cut off. */
	if (!v->nr && m->has_states && tokens && tokens < model_will_have(m, seq))
		model_may(v, -EBUSY, KVP_REASON_FENCE_OPEN);
	if (v->nr)
		return;
	model_exports_cut(m, seq, tokens);
	model_set_tail(m, seq, min(seq->nr_published, tokens / m->index_tokens));
	model_shrink(m, seq, tokens);
	seq->tokens = tokens;
	seq->reserved = tokens;
	seq->computed = min(seq->computed, tokens);
	seq->windowed = min(seq->windowed, tokens);
	model_uses_cut(m, seq, tokens);
}

/* Freed: at once, or when its uses have passed. */
void model_seq_free(struct model *m, struct model_seq *seq)
{
	if (model_seq_uses(m, seq))
		seq->zombie = true;
	else
		model_seq_end(m, seq);
}

void model_seq_end(struct model *m, struct model_seq *seq)
{
	u32 f;

	model_copied(m, seq);
	model_node_unref(m, seq->tail);
	model_shrink(m, seq, 0);
	for (f = 0; f < m->nr_families; f++) {
		while (seq->nr_slots[f])
			model_block_put(m, seq->slot[f][--seq->nr_slots[f]]);
	}
	model_node_unuse(m, seq->root);
	seq->live = false;
	seq->zombie = false;
}

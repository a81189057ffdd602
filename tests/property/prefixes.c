// SPDX-License-Identifier: MIT
/*
 * The reference model: what is published, who finds it, and the end of a client.
 */
#include <stdlib.h>

#include "model.h"

/* ---- match ---- */

/* The nodes along @text, whether they can be used or not; how many. */
u32 model_walk(const struct model *m, const struct model_text *text, u64 limit, int *path)
{
	u64 tokens = limit ? min_t(u64, limit, text->nr) : text->nr;
	int node = model_root(m, text->space);
	u32 depth = 0;

	while (node != NONE && depth < tokens / m->index_tokens) {
		node = model_child(m, node, text->token + depth * m->index_tokens,
				   model_extra(text, depth));
		if (node != NONE)
			path[depth++] = node;
	}
	return depth;
}

/* The deepest of the first @depth nodes at which every family can go on. */
u32 model_usable(const struct model *m, const int *path, u32 depth)
{
	u32 f, slot, parts;
	bool usable;

	for (; depth; depth--) {
		usable = !m->has_states;
		for (f = 0; f < m->nr_families; f++) {
			if (m->family[f].kind != KVP_FAMILY_WINDOW)
				continue;
			parts = model_parts(m, f);
			slot = model_window_start(m, f, depth * m->index_tokens) /
			       m->family[f].block_tokens;
			for (; slot < depth * parts; slot++)
				usable &= m->node[path[slot / parts]].part[f][slot % parts] != NONE;
		}
		if (usable)
			break;
	}
	return depth;
}

void model_match(struct model *m, u32 client, bool hold, const struct model_text *text,
		 struct model_verdict *v, u64 *matched, struct model_match **match)
{
	int path[MODEL_RUNS];
	u32 nodes, i;

	*match = NULL;
	if (!model_extras_right(m, text, 0))
		model_may(v, -EINVAL, KVP_REASON_EXTRA);
	if (!text->nr)
		model_may(v, -EINVAL, KVP_REASON_COUNT);
	model_limit(m, client, MODEL_OF_MATCHES, hold, v);
	if (v->nr)
		return;
	nodes = model_usable(m, path, model_walk(m, text, 0, path));
	*matched = nodes * m->index_tokens;
	m->count.looked_up_nodes += text->nr / m->index_tokens;
	m->count.matched_nodes += nodes;
	if (!hold || !nodes)
		return;
	for (i = 0; m->client[client].match[i].live; i++)
		;
	*match = &m->client[client].match[i];
	(*match)->live = true;
	(*match)->node = path[nodes - 1];
	m->node[(*match)->node].refs++;
}

/* The node in which it ends was used just now; those before it go after it in any case. */
void model_release(struct model *m, struct model_match *match)
{
	if (m->node[match->node].kind == MODEL_PUBLISHED)
		model_node_settle(m, match->node);
	model_node_unref(m, match->node);
	match->live = false;
}

/* ---- publish ---- */

static void model_publish_block(struct model *m, int block, int node)
{
	if (m->block[block].node != NONE)
		model_bug("model: block %d is in node %d already", block, m->block[block].node);
	m->block[block].node = node;
}

static void model_publish_own(struct model *m, struct model_seq *seq, u32 tag)
{
	u32 run = seq->nr_published;
	int index = seq->run[run];
	struct model_node *node = &m->node[index];
	u32 f, j;

	node->kind = MODEL_PUBLISHED;
	node->parent = seq->tail;
	node->depth = m->node[seq->tail].kind == MODEL_ROOT ? 1 : m->node[seq->tail].depth + 1;
	node->tag = tag;
	for (f = 0; f < m->nr_families; f++) {
		for (j = 0; j < model_parts(m, f); j++) {
			int block = seq->slot[f][run * model_parts(m, f) + j];

			node->part[f][j] = block;
			if (block != NONE)
				model_publish_block(m, block, index);
		}
	}
}

/*
 * Take the blocks of an equal node; a window block that it lacks it gets, if that is nobody
 * else's.
 */
static void model_adopt(struct model *m, struct model_seq *seq, int node)
{
	u32 run = seq->nr_published;
	u32 f, j;

	for (f = 0; f < m->nr_families; f++) {
		for (j = 0; j < model_parts(m, f); j++) {
			int *slot = &seq->slot[f][run * model_parts(m, f) + j];
			int *part = &m->node[node].part[f][j];

			if (*slot == NONE)
				continue;
			if (*part == NONE && m->block[*slot].count > 1)
				continue;
			if (*part == NONE) {
				*part = *slot;
				model_publish_block(m, *slot, node);
				continue;
			}
			model_block_get(m, *part, seq->client);
			model_let_go(m, seq, *slot);
			*slot = *part;
		}
	}
	m->node[node].uses++;
	model_node_unuse(m, seq->run[run]);
	seq->run[run] = node;
}

/* Idle blocks of the equal node for which no own one is given back now must be within bounds. */
static bool model_can_adopt(const struct model *m, const struct model_seq *seq, int node)
{
	u32 run = seq->nr_published;
	u32 f, j, gain;

	for (f = 0; f < m->nr_families; f++) {
		gain = 0;
		for (j = 0; j < model_parts(m, f); j++) {
			int own = seq->slot[f][run * model_parts(m, f) + j];
			int part = m->node[node].part[f][j];

			gain += own != NONE && part != NONE && !m->block[part].count &&
				(m->block[own].count > 1 || model_seq_uses(m, seq));
		}
		if (gain && (model_over_blocks(m, seq->client, f, gain) ||
			     model_others_unmet(m, seq->client, f) + gain >
			     model_free_blocks(m, f) + model_idle_blocks(m, f)))
			return false;
	}
	return true;
}

static void model_publish_next(struct model *m, struct model_seq *seq, bool keep, u32 tag,
			       struct kvp_prefix_publish *out)
{
	int own = seq->run[seq->nr_published];
	int next = own;

	if (m->node[own].kind == MODEL_PRIVATE)
		next = model_child(m, seq->tail, m->node[own].token, m->node[own].extra);
	if (next == NONE) {
		next = own;
		model_publish_own(m, seq, tag);
		m->count.published_nodes++;
		out->nr_new++;
	} else {
		m->count.shared_nodes++;
		out->nr_shared++;
		if (next != own && !keep && model_can_adopt(m, seq, next))
			model_adopt(m, seq, next);
	}
	m->node[next].refs++;
	model_node_unref(m, seq->tail);
	seq->tail = next;
	seq->nr_published++;
}

void model_publish(struct model *m, struct model_seq *seq, const struct kvp_prefix_publish *arg,
		   struct model_verdict *v, struct kvp_prefix_publish *out)
{
	u64 done = min(seq->computed, model_open_from(m, seq));
	u64 tokens = arg->limit ? min_t(u64, arg->limit, done) : done;
	u64 nodes = tokens / m->index_tokens;

	out->nr_new = 0;
	out->nr_shared = 0;
	if (seq->nr_pending)
		model_may(v, -EBUSY, KVP_REASON_COPY_PENDING);
	else if (nodes > seq->nr_published && m->node[seq->root].cut)
		model_may(v, -ESTALE, KVP_REASON_INVALIDATED);
	if (v->nr)
		return;
	while (seq->nr_published < nodes)
		model_publish_next(m, seq, arg->head.flags & KVP_PUBLISH_KEEP, arg->tag, out);
	out->published = seq->nr_published * m->index_tokens;
}

/* ---- invalidate ---- */

static void model_cut(struct model *m, int node)
{
	m->node[node].cut = true;
	m->count.invalidated++;
	if (m->node[node].kind == MODEL_ROOT)
		model_root_end(m, node);
}

/* Return: the number of subtrees that were cut off. */
u64 model_invalidate(struct model *m, u32 how, const struct model_text *text, u32 tag,
		     struct model_verdict *v)
{
	int path[MODEL_RUNS];
	u64 nr = 0;
	int i;

	if (how == KVP_INVALIDATE_SPACE) {
		i = model_root(m, text->space);
		if (i != NONE)
			model_cut(m, i);
		return i != NONE;
	}
	if (how == KVP_INVALIDATE_PREFIX) {
		if (!text->nr || text->nr % m->index_tokens)
			model_may(v, -EINVAL, KVP_REASON_COUNT);
		if (!model_extras_right(m, text, 0))
			model_may(v, -EINVAL, KVP_REASON_EXTRA);
		if (v->nr || model_walk(m, text, 0, path) < text->nr / m->index_tokens)
			return 0;
		model_cut(m, path[text->nr / m->index_tokens - 1]);
		return 1;
	}
	for (i = 0; i < m->nr_nodes; i++) {
		if (m->node[i].kind != MODEL_PUBLISHED || m->node[i].tag != tag ||
		    m->node[i].cut)
			continue;
		model_cut(m, i);
		nr++;
	}
	return nr;
}

/* ---- the end of a client ---- */

/* The live one with the lowest index in its id that is not below *@next, or NULL. */
static struct model_seq *model_next_seq(struct model *m, u32 client, u64 *next)
{
	struct model_seq *first = NULL;
	u32 i;

	for (i = 0; i < MODEL_SEQS; i++) {
		struct model_seq *seq = &m->seq[i];

		if (seq->live && !seq->zombie && seq->client == client &&
		    (u32)seq->id >= *next &&
		    (!first || (u32)seq->id < (u32)first->id))
			first = seq;
	}
	if (first)
		*next = (u32)first->id + 1;
	return first;
}

static struct model_match *model_next_match(struct model_client *client, u64 *next)
{
	struct model_match *first = NULL;
	u32 i;

	for (i = 0; i < MODEL_MATCHES; i++) {
		struct model_match *match = &client->match[i];

		if (match->live && (u32)match->id >= *next &&
		    (!first || (u32)match->id < (u32)first->id))
			first = match;
	}
	if (first)
		*next = (u32)first->id + 1;
	return first;
}

/* Raw references end in no order: what they leave idle was used at the same time. */
static void model_leave_raw(struct model *m, u32 client)
{
	bool was_idle[MODEL_NODES];
	int i;

	for (i = 0; i < m->nr_nodes; i++)
		was_idle[i] = model_node_idle(m, i);
	for (i = 0; i < m->nr_blocks; i++) {
		while (m->client[client].raw[i]) {
			m->client[client].raw[i]--;
			model_block_put(m, i);
		}
	}
	model_now(m);
	for (i = 0; i < m->nr_nodes; i++) {
		if (!was_idle[i] && model_node_idle(m, i)) {
			m->node[i].used = m->clock;
			m->node[i].met = MODEL_NOT_MET;
		}
	}
}

/* @place: from model_dead_place(), for what work may go on with. */
void model_leave(struct model *m, u32 client, int place)
{
	struct model_match *match;
	struct model_seq *seq;
	u64 next;

	for (next = 0; (seq = model_next_seq(m, client, &next));)
		model_seq_free(m, seq);
	for (next = 0; (match = model_next_match(&m->client[client], &next));)
		model_release(m, match);
	model_leave_raw(m, client);
	model_tickets_leave(m, client);
	model_die(m, client, place);
	m->client[client].core = NULL;
}

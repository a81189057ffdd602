// SPDX-License-Identifier: MIT
/*
 * The reference model: blocks, nodes and what clients have. Everything that can be counted
 * is counted when it is asked for.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

void (*model_on_bug)(void);

/* What the core did cannot be right. */
void model_bug(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	if (model_on_bug)
		model_on_bug();
	abort();
}

void model_may(struct model_verdict *v, int err, u32 reason)
{
	if (v->nr == ARRAY_SIZE(v->may))
		model_bug("model: too many failures");
	v->may[v->nr++] = (struct model_failure){ err, reason };
}

void model_init(struct model *m, const struct kvp_family_desc *families, u32 nr,
		u32 index_tokens, u32 nodes, u32 digests)
{
	u32 i;

	memset(m, 0, sizeof(*m));
	m->nr_families = nr;
	m->index_tokens = index_tokens;
	m->nr_nodes = nodes;
	m->nr_digests = digests;
	for (i = 0; i < nr; i++) {
		m->family[i] = families[i];
		m->nr_blocks += families[i].blocks;
		m->has_states |= families[i].kind == KVP_FAMILY_STATE;
	}
	if (nr > MODEL_FAMILIES || m->nr_blocks > MODEL_BLOCKS || nodes > MODEL_NODES ||
	    index_tokens > MODEL_INDEX)
		model_bug("model: the pool is too large");
}

/* ---- sizes ---- */

/* Blocks that cover one node. */
u32 model_parts(const struct model *m, u32 family)
{
	if (m->family[family].kind == KVP_FAMILY_STATE)
		return 0;
	return m->index_tokens / m->family[family].block_tokens;
}

u32 model_blocks_for(const struct model *m, u32 family, u64 tokens)
{
	u32 size = m->family[family].block_tokens;

	if (m->family[family].kind == KVP_FAMILY_STATE)
		return 1;
	return (tokens + size - 1) / size;
}

u32 model_nodes_for(const struct model *m, u64 tokens)
{
	return (tokens + m->index_tokens - 1) / m->index_tokens;
}

/* The first token whose row a window must still have. */
u64 model_window_start(const struct model *m, u32 family, u64 computed)
{
	u32 window = m->family[family].window;

	return computed + 1 > window ? computed + 1 - window : 0;
}

/* ---- counting ---- */

static u32 model_count_blocks(const struct model *m, u32 family, bool idle)
{
	u32 nr = 0;
	u32 i;

	for (i = 0; i < m->nr_blocks; i++) {
		if (m->block[i].live && m->block[i].family == family)
			nr += !idle || !m->block[i].count;
	}
	return nr;
}

/* Those in a reserve are not free, and none in particular. */
u32 model_free_blocks(const struct model *m, u32 family)
{
	u32 nr = m->family[family].blocks - model_count_blocks(m, family, false);
	u32 i;

	for (i = 0; i < MODEL_CLIENTS; i++)
		nr -= model_reserve(m, i, family);
	return nr;
}

u32 model_idle_blocks(const struct model *m, u32 family)
{
	return model_count_blocks(m, family, true);
}

u32 model_free_nodes(const struct model *m)
{
	u32 used = 0;
	u32 i;

	for (i = 0; i < m->nr_nodes; i++)
		used += m->node[i].kind != MODEL_FREE;
	return m->nr_nodes - used;
}

u32 model_free_digests(const struct model *m)
{
	u32 used = 0;
	u32 i;

	for (i = 0; i < m->nr_nodes; i++) {
		if (m->node[i].kind == MODEL_ROOT)
			used++;
		else if (m->node[i].kind != MODEL_FREE && m->node[i].extra)
			used++;
	}
	return m->nr_digests - used;
}

u32 model_charged(const struct model *m, u32 family, u64 owner)
{
	u32 nr = 0;
	u32 i;

	for (i = 0; i < m->nr_blocks; i++)
		nr += m->block[i].live && m->block[i].family == family &&
		      m->block[i].owner == owner;
	for (i = 0; i < MODEL_CLIENTS; i++) {
		if (m->client[i].core && m->client[i].id == owner)
			nr += model_reserve(m, i, family);
	}
	return nr;
}

u32 model_slots(const struct model *m, u32 client)
{
	u32 nr = 0;
	u32 i, f;

	for (i = 0; i < MODEL_SEQS; i++) {
		if (!m->seq[i].live || m->seq[i].client != client)
			continue;
		for (f = 0; f < m->nr_families; f++)
			nr += m->seq[i].nr_slots[f];
	}
	return nr;
}

u32 model_seqs(const struct model *m, u32 client)
{
	u32 nr = 0;
	u32 i;

	for (i = 0; i < MODEL_SEQS; i++)
		nr += m->seq[i].live && !m->seq[i].zombie && m->seq[i].client == client;
	return nr;
}

u32 model_raw(const struct model *m, u32 client)
{
	u32 nr = 0;
	u32 i;

	for (i = 0; i < m->nr_blocks; i++)
		nr += m->client[client].raw[i];
	return nr;
}

u32 model_matches(const struct model *m, u32 client)
{
	u32 nr = 0;
	u32 i;

	for (i = 0; i < MODEL_MATCHES; i++)
		nr += m->client[client].match[i].live;
	return nr;
}

/* Of an export: itself. */
u32 model_exports(const struct model *m, u32 client)
{
	u32 nr = 0;
	u32 i;

	if (client >= MODEL_CLIENTS)
		return !!m->client[client].core;
	for (i = MODEL_CLIENTS; i < MODEL_FIRST_DEAD; i++)
		nr += m->client[i].core && m->client[i].maker == m->client[client].id;
	return nr;
}

/* ---- blocks ---- */

int model_block_new(struct model *m, u32 family, u32 client)
{
	int i;

	for (i = 0; i < m->nr_blocks; i++) {
		if (m->block[i].live)
			continue;
		m->block[i] = (struct model_block) {
			.live = true,
			.family = family,
			.count = 1,
			.node = NONE,
			.owner = m->client[client].id,
			.user = m->client[client].user,
		};
		return i;
	}
	model_bug("model: no block left");
}

/* One more reference; the first on an idle block is charged for it. */
void model_block_get(struct model *m, int block, u32 client)
{
	if (m->block[block].count++)
		return;
	m->block[block].owner = m->client[client].id;
	m->block[block].user = m->client[client].user;
}

/* One less; the last ends the charge, and the block unless it is published. */
void model_block_put(struct model *m, int block)
{
	if (!m->block[block].live || !m->block[block].count)
		model_bug("model: block %d is not held", block);
	if (--m->block[block].count)
		return;
	m->block[block].owner = 0;
	if (m->block[block].node == NONE)
		m->block[block].live = false;
}

/* The same by a holder that does not name the block's node as well. */
void model_block_release(struct model *m, int block)
{
	int node = m->block[block].node;

	model_block_put(m, block);
	if (node != NONE)
		model_node_settle(m, node);
}

/* ---- nodes ---- */

int model_node_new(struct model *m)
{
	int i;
	u32 f, j;

	for (i = 0; i < m->nr_nodes; i++) {
		if (m->node[i].kind != MODEL_FREE)
			continue;
		memset(&m->node[i], 0, sizeof(m->node[i]));
		m->node[i].kind = MODEL_PRIVATE;
		m->node[i].parent = NONE;
		m->node[i].core = NONE;
		m->node[i].uses = 1;
		for (f = 0; f < MODEL_FAMILIES; f++)
			for (j = 0; j < MODEL_INDEX; j++)
				m->node[i].part[f][j] = NONE;
		return i;
	}
	model_bug("model: no node left");
}

bool model_has_child(const struct model *m, int node)
{
	int i;

	for (i = 0; i < m->nr_nodes; i++) {
		if (m->node[i].kind == MODEL_PUBLISHED && m->node[i].parent == node)
			return true;
	}
	return false;
}

/* A namespace lasts as long as somebody is in it. */
void model_root_end(struct model *m, int root)
{
	struct model_node *node = &m->node[root];

	if (node->kind == MODEL_ROOT && !node->uses && !node->refs && !model_has_child(m, root))
		node->kind = MODEL_FREE;
}

/* Published, and nobody holds it or one of its blocks. */
bool model_node_idle(const struct model *m, int node)
{
	u32 f, j;

	if (m->node[node].kind != MODEL_PUBLISHED || m->node[node].uses)
		return false;
	for (f = 0; f < m->nr_families; f++) {
		for (j = 0; j < model_parts(m, f); j++) {
			int block = m->node[node].part[f][j];

			if (block != NONE && m->block[block].count)
				return false;
		}
	}
	return true;
}

/* The time of a use. */
u64 model_now(struct model *m)
{
	m->clock += !m->frozen;
	return m->clock;
}

/* A holder let go; if it was the last, this is the node's last use. */
void model_node_settle(struct model *m, int node)
{
	if (!model_node_idle(m, node))
		return;
	m->node[node].used = model_now(m);
	m->node[node].met = MODEL_NOT_MET;
}

void model_node_unuse(struct model *m, int node)
{
	struct model_node *n = &m->node[node];

	if (!n->uses)
		model_bug("model: node %d is not used", node);
	if (--n->uses)
		return;
	if (n->kind == MODEL_PRIVATE)
		n->kind = MODEL_FREE;
	else if (n->kind == MODEL_ROOT)
		model_root_end(m, node);
	else
		model_node_settle(m, node);
}

/* Not a use. */
void model_node_unref(struct model *m, int node)
{
	if (!m->node[node].refs)
		model_bug("model: node %d is not referenced", node);
	if (!--m->node[node].refs)
		model_root_end(m, node);
}

/* It, or what it follows, was invalidated. */
bool model_node_dead(const struct model *m, int node)
{
	while (node != NONE) {
		if (m->node[node].cut)
			return true;
		node = m->node[node].parent;
	}
	return false;
}

int model_root(const struct model *m, u32 space)
{
	int i;

	for (i = 0; i < m->nr_nodes; i++) {
		if (m->node[i].kind == MODEL_ROOT && !m->node[i].cut &&
		    m->node[i].space == space)
			return i;
	}
	return NONE;
}

/* The child of @parent with these contents that can be matched, or NONE. */
int model_child(const struct model *m, int parent, const u32 *token, u32 extra)
{
	int i;

	for (i = 0; i < m->nr_nodes; i++) {
		if (m->node[i].kind == MODEL_PUBLISHED && m->node[i].parent == parent &&
		    !m->node[i].cut && m->node[i].extra == extra &&
		    !memcmp(m->node[i].token, token, m->index_tokens * sizeof(*token)))
			return i;
	}
	return NONE;
}

/* The number that kvpt_digest() made a digest of; 0 is none. */
u32 model_digest_number(const struct kvp_extra *extra)
{
	u32 number;

	memcpy(&number, extra->digest, sizeof(number));
	return number;
}

/* ---- the model against itself ---- */

static void model_count_seq(const struct model_seq *seq, u32 nr_families, u32 *count, u32 *uses,
			    u32 *refs)
{
	u32 f, i;

	uses[seq->root]++;
	refs[seq->tail]++;
	for (i = 0; i < seq->nr_runs; i++)
		uses[seq->run[i]]++;
	for (f = 0; f < nr_families; f++) {
		for (i = 0; i < seq->nr_slots[f]; i++) {
			if (seq->slot[f][i] != NONE)
				count[seq->slot[f][i]]++;
		}
	}
	for (i = 0; i < seq->nr_pending; i++)
		count[seq->pending[i]]++;
}

/* Counts are what sequences, matches and raw references say. */
void model_recount(const struct model *m)
{
	u32 count[MODEL_BLOCKS] = { };
	u32 uses[MODEL_NODES] = { };
	u32 refs[MODEL_NODES] = { };
	u32 i, k;

	for (i = 0; i < MODEL_SEQS; i++) {
		if (m->seq[i].live)
			model_count_seq(&m->seq[i], m->nr_families, count, uses, refs);
	}
	for (i = 0; i < m->use_end; i++) {
		if (m->use[i].live && m->use[i].block != NONE)
			count[m->use[i].block]++;
	}
	for (i = 0; i < m->late_end; i++) {
		if (m->late[i].live)
			count[m->late[i].block]++;
	}
	for (i = 0; i < MODEL_CLIENTS; i++) {
		for (k = 0; k < m->nr_blocks; k++)
			count[k] += m->client[i].raw[k];
		for (k = 0; k < MODEL_MATCHES; k++) {
			if (m->client[i].match[k].live)
				refs[m->client[i].match[k].node]++;
		}
	}
	for (i = 0; i < m->nr_blocks; i++) {
		if (count[i] != (m->block[i].live ? m->block[i].count : 0))
			model_bug("model: block %u has count %u, not %u", i, m->block[i].count,
				  count[i]);
	}
	for (i = 0; i < m->nr_nodes; i++) {
		if (m->node[i].kind != MODEL_FREE &&
		    (uses[i] != m->node[i].uses || refs[i] != m->node[i].refs))
			model_bug("model: node %u has uses %u, refs %u, not %u, %u", i,
				  m->node[i].uses, m->node[i].refs, uses[i], refs[i]);
	}
}

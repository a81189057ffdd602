// SPDX-License-Identifier: MIT
/*
 * The reference model: room for a call, and which nodes give it.
 *
 * The order: leaf first, least recently used first. A node may be taken if nobody holds it or one
 * of its blocks, nobody references it, and no child of it is left. A reclaim that meets one that
 * it cannot take passes it by; once such a node can be taken it goes before all that were not
 * met. Not defined are the order among nodes that were met, among nodes that a client
 * let go at once when it left, and that of nodes that were invalidated, which go before all
 * others or when their turn comes. There the model follows the core, by looking which of the
 * allowed nodes is gone.
 */
#include "model.h"

#define MODEL_TRIES	2000	/* orders that are tried where none is defined */

/* Nobody but the children stands against taking it. */
static bool model_takeable(const struct model *m, int node)
{
	return model_node_idle(m, node) && !m->node[node].refs;
}

static bool model_reclaimable(const struct model *m, int node)
{
	return model_takeable(m, node) && !model_has_child(m, node);
}

/* ---- whether there is room ---- */

static bool model_all_children_go(const struct model *m, int node, const bool *goes)
{
	int i;

	for (i = 0; i < m->nr_nodes; i++) {
		if (m->node[i].kind == MODEL_PUBLISHED && m->node[i].parent == node && !goes[i])
			return false;
	}
	return true;
}

/* What goes if reclaim takes all it can, leaf by leaf. */
static void model_all_that_go(const struct model *m, bool *goes)
{
	bool more = true;
	int i;

	memset(goes, 0, m->nr_nodes * sizeof(*goes));
	while (more) {
		more = false;
		for (i = 0; i < m->nr_nodes; i++) {
			if (goes[i] || !model_takeable(m, i) || !model_all_children_go(m, i, goes))
				continue;
			goes[i] = true;
			more = true;
		}
	}
}

/* Whether a namespace ends when those that can go do. */
static bool model_root_goes(const struct model *m, int root, const bool *goes)
{
	const struct model_node *node = &m->node[root];

	return node->kind == MODEL_ROOT && !node->uses && !node->refs &&
	       model_has_child(m, root) && model_all_children_go(m, root, goes);
}

/* What reclaim could give at most. */
static void model_gain(const struct model *m, struct model_need *gain)
{
	bool goes[MODEL_NODES];
	u32 f, j;
	int i;

	memset(gain, 0, sizeof(*gain));
	model_all_that_go(m, goes);
	for (i = 0; i < m->nr_nodes; i++) {
		if (model_root_goes(m, i, goes)) {
			gain->nodes++;
			gain->digests++;
		}
		if (!goes[i])
			continue;
		gain->nodes++;
		gain->digests += !!m->node[i].extra;
		for (f = 0; f < m->nr_families; f++)
			for (j = 0; j < model_parts(m, f); j++)
				gain->blocks[f] += m->node[i].part[f][j] != NONE;
	}
}

/* What is guaranteed to others and not charged to them. */
u32 model_others_unmet(const struct model *m, u32 client, u32 family)
{
	u32 unmet = 0;
	u32 i;

	for (i = 0; i < MODEL_HOLDERS; i++) {
		const struct model_client *other = &m->client[i];
		u32 charged;

		if (i == client || !other->core)
			continue;
		charged = model_charged(m, family, other->id);
		if (other->limits.guarantee[family] > charged)
			unmet += other->limits.guarantee[family] - charged;
	}
	return unmet;
}

static u32 model_published(const struct model *m)
{
	u32 nr = 0;
	int i;

	for (i = 0; i < m->nr_nodes; i++)
		nr += m->node[i].kind == MODEL_PUBLISHED;
	return nr;
}

/* How @client can be refused what it needs beyond its reserve. */
void model_room_now(const struct model *m, u32 client, const struct model_need *need,
		    struct model_verdict *v)
{
	struct model_need gain;
	u32 f;

	model_gain(m, &gain);
	for (f = 0; f < m->nr_families; f++) {
		u32 want = need->blocks[f];
		u32 free = model_free_blocks(m, f);
		u32 room = free + model_idle_blocks(m, f);

		if (!want)
			continue;
		if (want > m->family[f].blocks)
			model_may(v, -EFBIG, KVP_REASON_NEVER_FITS);
		if (model_over_blocks(m, client, f, want))
			model_may(v, -EDQUOT, KVP_REASON_LIMIT_BLOCKS);
		if (want > room + model_held_back(m, f, 0))
			model_may(v, -ENOSPC, KVP_REASON_POOL_FULL);
		else if (want > room)
			model_may(v, -ENOSPC, KVP_REASON_HELD_BACK);
		else if (want + model_others_unmet(m, client, f) > room)
			model_may(v, -ENOSPC, KVP_REASON_GUARANTEED);
		else if (want > free + gain.blocks[f])
			model_may(v, -ENOSPC, KVP_REASON_COVERED);
	}
	v->early |= need->nodes > model_free_nodes(m) + model_published(m);
	if (v->early || need->nodes > model_free_nodes(m) + gain.nodes)
		model_may(v, -ENOSPC, KVP_REASON_NODES);
	if (need->digests > m->nr_digests)
		model_may(v, -ENOSPC, KVP_REASON_EXTRAS);
	else if (need->digests > model_free_digests(m) + gain.digests)
		model_may(v, -ENOSPC, KVP_REASON_EXTRAS);
}

/* ---- who goes ---- */

/* Whether the core has the node no more: its first block has another id, or is free. */
static bool model_core_took(const struct model *m, int node)
{
	int block = m->node[node].part[0][0];
	u64 id = m->block[block].id;
	const struct kvp_block_entry *entry;

	if (!id)
		return false;
	entry = &m->look->entry[0][KVP_BLOCK_INDEX(id)];
	return entry->block != id || entry->state == KVP_BLOCK_FREE;
}

/* Whether the core took only what is gone in the model. */
static bool model_has_all_gone(const struct model *m)
{
	int i;

	for (i = 0; i < m->nr_nodes; i++) {
		if (m->node[i].kind == MODEL_PUBLISHED && model_core_took(m, i))
			return false;
	}
	return true;
}

/* Whether @a has to go before @b: what was met goes before what was not, then by use. */
static bool model_before(const struct model *m, int a, int b)
{
	bool met_a = m->node[a].met == MODEL_MET;
	bool met_b = m->node[b].met == MODEL_MET;

	if (met_a != met_b)
		return met_a;
	return m->node[a].used < m->node[b].used;
}

/* The one to go if the order is defined. */
static int model_first(const struct model *m)
{
	int first = NONE;
	int i;

	for (i = 0; i < m->nr_nodes; i++) {
		if (model_reclaimable(m, i) && (first == NONE || model_before(m, i, first)))
			first = i;
	}
	return first;
}

/* Whether @node may go although @first should: the order of the two is not defined. */
static bool model_may_precede(const struct model *m, int node, int first)
{
	const struct model_node *a = &m->node[node];
	const struct model_node *b = &m->node[first];

	return model_node_dead(m, node) || (a->met && b->met) ||
	       (a->met == b->met && a->used == b->used);
}

/**
 * struct model_dice - how to choose where the order is not defined
 * @random: state of the random numbers
 * @dead_first: what was invalidated goes first of all
 */
struct model_dice {
	u64 random;
	bool dead_first;
};

/* The next to go; with @dice, one of those that may and that the core took. */
static int model_victim(struct model *m, struct model_dice *dice)
{
	int choice[MODEL_NODES];
	int first = model_first(m);
	u32 nr = 0;
	int i;

	if (first == NONE || (!dice && model_core_took(m, first)))
		return first;
	for (i = 0; i < m->nr_nodes; i++) {
		if (!model_reclaimable(m, i) || !model_core_took(m, i) ||
		    (i != first && !model_may_precede(m, i, first)))
			continue;
		if (dice && dice->dead_first && model_node_dead(m, i)) {
			m->loose += i != first;
			return i;
		}
		choice[nr++] = i;
	}
	if (!nr)
		return first;
	i = choice[dice ? kvpt_below(&dice->random, nr) : 0];
	m->loose += i != first;
	return i;
}

/*
 * A reclaim that comes to a node that was used at @used has met what was used before, and may have
 * met what was used then. How it came to one that was invalidated is not known.
 */
static void model_meet(struct model *m, u64 used, enum model_met met)
{
	int i;

	for (i = 0; i < m->nr_nodes; i++) {
		enum model_met now = m->node[i].used == used ? MODEL_MAY_BE_MET : met;

		if (m->node[i].kind == MODEL_PUBLISHED && m->node[i].used <= used &&
		    m->node[i].met < now)
			m->node[i].met = now;
	}
}

/* What is lacking no more without @victim. */
static void model_gain_node(const struct model *m, int victim, struct model_need *lack)
{
	u32 f, j;

	for (f = 0; f < m->nr_families; f++) {
		for (j = 0; j < model_parts(m, f); j++)
			lack->blocks[f] -= m->node[victim].part[f][j] != NONE &&
					   lack->blocks[f];
	}
	lack->nodes -= !!lack->nodes;
	lack->digests -= m->node[victim].extra && lack->digests;
}

/* Take @victim; its namespace may end with it. */
static void model_end_node(struct model *m, int victim, struct model_need *lack)
{
	struct model_node *node = &m->node[victim];
	int parent = node->parent;
	u32 f, j;

	model_gain_node(m, victim, lack);
	m->victims++;
	m->count.reclaimed_nodes++;
	for (f = 0; f < m->nr_families; f++) {
		for (j = 0; j < model_parts(m, f); j++) {
			if (node->part[f][j] == NONE)
				continue;
			m->block[node->part[f][j]].live = false;
			m->count.reclaimed_blocks++;
		}
	}
	node->kind = MODEL_FREE;
	if (node->met != MODEL_MET)
		model_meet(m, node->used,
			   model_node_dead(m, victim) ? MODEL_MAY_BE_MET : MODEL_MET);
	if (m->node[parent].kind != MODEL_ROOT)
		return;
	model_root_end(m, parent);
	if (m->node[parent].kind == MODEL_FREE) {
		lack->nodes -= !!lack->nodes;
		lack->digests -= !!lack->digests;
	}
}

static void model_meet_rest(struct model *m, enum model_met met)
{
	bool goes[MODEL_NODES];
	int i;

	model_all_that_go(m, goes);
	for (i = 0; i < m->nr_nodes; i++) {
		if (m->node[i].kind == MODEL_PUBLISHED && !goes[i] && m->node[i].met < met)
			m->node[i].met = met;
	}
}

/* A reclaim that found no more has met everything that it could not take. */
static void model_meet_all(struct model *m)
{
	model_meet_rest(m, MODEL_MET);
}

/* There may have been one. */
void model_may_meet_all(struct model *m)
{
	model_meet_rest(m, MODEL_MAY_BE_MET);
}

/*
 * Up to @nodes victims, as long as something is lacking. *@agrees: the core took the same. Return:
 * how many.
 */
static u64 model_reclaim_once(struct model *m, const struct model_need *need, u64 nodes,
			      struct model_dice *dice, bool *agrees)
{
	struct model_need lack = *need;
	u64 nr = 0;
	int victim;

	*agrees = true;
	while (nr < nodes &&
	       (lack.blocks[0] || lack.blocks[1] || lack.nodes || lack.digests)) {
		victim = model_victim(m, dice);
		if (victim == NONE) {
			model_meet_all(m);
			break;
		}
		*agrees &= model_core_took(m, victim);
		model_end_node(m, victim, &lack);
		nr++;
	}
	*agrees &= model_has_all_gone(m);
	return nr;
}

/*
 * Where the order is not defined: orders in which it may have been, until one leaves what the core
 * has left. If none does, the first stands, and comparing will show what is wrong.
 */
static u64 model_reclaim_any(struct model *m, const struct model_need *need, u64 nodes)
{
	static struct model before, first;
	struct model_dice dice = { .random = m->clock };
	u32 tries;
	u64 nr, nr_first;
	bool agrees;

	before = *m;
	nr_first = model_reclaim_once(m, need, nodes, NULL, &agrees);
	if (agrees)
		return nr_first;
	first = *m;
	for (tries = 0; tries < MODEL_TRIES; tries++) {
		*m = before;
		dice.dead_first = tries % 4 == 0;
		nr = model_reclaim_once(m, need, nodes, &dice, &agrees);
		if (agrees)
			return nr;
	}
	*m = first;
	return nr_first;
}

/* Reclaim until there is what is needed; model_room_now() had no objection. */
void model_take_now(struct model *m, const struct model_need *need)
{
	struct model_need lack = *need;
	u32 f;

	for (f = 0; f < m->nr_families; f++)
		lack.blocks[f] -= min(lack.blocks[f], model_free_blocks(m, f));
	lack.nodes -= min(lack.nodes, model_free_nodes(m));
	lack.digests -= min(lack.digests, model_free_digests(m));
	if (lack.blocks[0] || lack.blocks[1] || lack.nodes || lack.digests)
		model_reclaim_any(m, &lack, ~0ULL);
}

/* Whether a call is refused; if only after a reclaim, that has left its mark. */
bool model_refused(struct model *m, const struct model_verdict *v)
{
	u32 reason = v->got.reason;

	if (v->nr && v->got.err == -ENOSPC &&
	    (reason == KVP_REASON_COVERED || reason == KVP_REASON_EXTRAS ||
	     (reason == KVP_REASON_NODES && !v->early)))
		model_meet_all(m);
	return v->nr;
}

/* Up to @nodes nodes, for nobody. Return: how many. */
u64 model_reclaim(struct model *m, u64 nodes)
{
	const struct model_need all = { .nodes = MODEL_NODES + 1 };

	return model_reclaim_any(m, &all, nodes);
}

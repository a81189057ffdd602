// SPDX-License-Identifier: MIT
/*
 * The property test: what the core shows is what the model has. Blocks are compared by
 * identity: the core's id of a block of the model is learnt once, and stays.
 */
#include <stdarg.h>
#include <stdio.h>

#include "exportdoor.h"
#include "property.h"

void property_trace(const char *fmt, ...)
{
	va_list args;

	if (!property_at.trace)
		return;
	printf("%llu: %s ", (unsigned long long)property_at.op, property_at.what);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

/* ---- which results there were ---- */

static struct property_result {
	const char *what;
	int err;
	u32 reason;
	u64 nr;
} property_results[512];

static void property_count_result(const struct model_failure *got)
{
	struct property_result *result = property_results;

	while (result->nr && (result->what != property_at.what || result->err != got->err ||
			      result->reason != got->reason))
		result++;
	*result = (struct property_result){ property_at.what, got->err, got->reason,
					    result->nr + 1 };
}

void property_tally(void)
{
	const struct property_result *result;

	for (result = property_results; result->nr; result++)
		printf("%12s %5d reason %3u: %llu\n", result->what, result->err, result->reason,
		       (unsigned long long)result->nr);
}

/* ---- a call ---- */

/* The how manieth array or struct that is brought to a caller from now is not; 0: all are. */
static u32 property_fail_write;

static bool property_write_fails(void)
{
	return property_fail_write && !--property_fail_write;
}

static int property_write(u64 addr, const void *src, size_t len)
{
	const struct kvp_head *head = src;

	/* The reason of a failure is always told: it is what is compared. */
	if (len >= sizeof(*head) && !head->reason && property_write_fails())
		return -EFAULT;
	return kvp_inproc_door.write(addr, src, len);
}

static int property_array_put(void *mem, void *room, u64 addr, size_t len, bool out)
{
	int err = kvp_inproc_door.array_put(mem, room, addr, len, out);

	return out && property_write_fails() ? -EFAULT : err;
}

void property_door(struct run *r)
{
	r->door = *kvpt_export_door(&kvp_inproc_door);
	r->door.write = property_write;
	r->door.array_put = property_array_put;
	r->env.door = &r->door;
}

/* No failures in the call that comes. */
void property_calm(struct run *r)
{
	kvp_shim_fail_alloc = 0;
	property_fail_write = 0;
	r->untold = false;
}

/*
 * A call is about to be made; now and then one of its allocations will fail, or its result cannot
 * be written.
 */
void property_begin(struct run *r, const char *what)
{
	property_at.what = what;
	kvp_shim_fail_alloc = below(r, 64) ? 0 : 1 + below(r, 3);
	property_fail_write = below(r, 64) ? 0 : 1 + below(r, 2);
	r->untold = property_fail_write;
}

static void property_dump(struct run *r)
{
	struct kvp_block_dump arg;
	u32 f;

	for (f = 0; f < r->shape->nr; f++) {
		arg = (struct kvp_block_dump) {
			.family = f,
			.entries = (u64)(uintptr_t)r->look.entry[f],
			.nr_entries = MODEL_BLOCKS,
		};
		if (kvpt_do(r->watcher, KVP_OP_BLOCK_DUMP, &arg) ||
		    arg.nr_entries != r->shape->families[f].blocks)
			model_bug("dump: reason %u", arg.head.reason);
	}
}

/* All that waits is looked at first; who waits for blocks may be served by any call, these too. */
static void property_look(struct run *r)
{
	struct kvp_stats stats = { };

	r->model.look = &r->look;
	r->stale = false;
	if (kvpt_do(r->watcher, KVP_OP_STATS, &stats))
		model_bug("stats: reason %u", stats.head.reason);
	property_dump(r);
	if (r->model.nr_tickets)
		property_dump(r);
}

/*
 * If a timeline was written without a look since, the call, or the look after it, has settled what
 * follows: in which order nodes were used is not defined then.
 */
static void property_settle(struct run *r)
{
	if (!r->unseen)
		return;
	r->unseen = false;
	r->model.clock++;
	r->model.frozen = true;
	model_settle(&r->model);
}

/* The call returned @err; its reason is in kvpt. Look at what the core is like now. */
void property_end(struct run *r, int err, struct model_verdict *v)
{
	bool failed = err == -ENOMEM && kvpt.head.reason == KVP_REASON_MEMORY;

	memset(v, 0, sizeof(*v));
	v->got = (struct model_failure){ err, kvpt.head.reason };
	property_trace("-> %d reason %u", err, kvpt.head.reason);
	if (property_at.tally)
		property_count_result(&v->got);
	if (failed && kvp_shim_fail_alloc)
		model_bug("no memory, though no allocation failed");
	r->untold &= err == -EFAULT && !property_fail_write;
	if (r->untold)
		v->got = (struct model_failure){ };
	kvp_shim_fail_alloc = 0;
	property_fail_write = 0;
	property_look(r);
	property_settle(r);
	/* Memory may run out anywhere; what the model says of the rest does not matter then. */
	if (failed)
		model_may(v, -ENOMEM, KVP_REASON_MEMORY);
}

/* Whether the call went well; a failure must be one that the contract allows. */
bool property_judge(struct run *r, struct model_verdict *v)
{
	u32 i;

	if (!v->nr && v->got.err)
		model_bug("failed with %d reason %u, but nothing stands against it",
			  v->got.err, v->got.reason);
	if (!v->nr)
		return true;
	for (i = 0; i < v->nr; i++) {
		if (v->may[i].err == v->got.err && v->may[i].reason == v->got.reason)
			break;
	}
	if (i == v->nr)
		model_bug("returned %d reason %u, expected %d reason %u or another of %u",
			  v->got.err, v->got.reason, v->may[0].err, v->may[0].reason, v->nr);
	r->model.count.refused_room += v->got.err == -ENOSPC;
	r->model.count.refused_limit += v->got.err == -EDQUOT;
	return false;
}

/* Whether the client has the right that a call needs. */
bool property_may(const struct run *r, u32 client, u32 right, struct model_verdict *v)
{
	if (r->model.client[client].rights & right)
		return true;
	model_may(v, -EACCES, right == KVP_RIGHT_PUBLISH ? KVP_REASON_RIGHT_PUBLISH :
		  KVP_REASON_RIGHT_ADMIN);
	return false;
}

/* ---- blocks ---- */

/* The core shows the model's @block as @id: for the first time, or again. */
void property_bind(struct run *r, int block, u64 id)
{
	struct model_block *b = &r->model.block[block];
	u32 f = KVP_BLOCK_FAMILY(id);
	u64 *highest;

	if (b->id == id && id)
		return;
	if (b->id)
		model_bug("block %d is %llx, was %llx", block, (unsigned long long)id,
			  (unsigned long long)b->id);
	if (f != b->family || KVP_BLOCK_INDEX(id) >= r->shape->families[f].blocks)
		model_bug("%llx is no block of family %u", (unsigned long long)id, b->family);
	highest = &r->highest[f][KVP_BLOCK_INDEX(id)];
	if (KVP_BLOCK_GEN(id) <= KVP_BLOCK_GEN(*highest))
		model_bug("%llx for a new block, after %llx", (unsigned long long)id,
			  (unsigned long long)*highest);
	*highest = id;
	b->id = id;
}

static void property_check_lengths(struct run *r, const struct model_seq *seq,
				   const struct kvp_seq_table *is)
{
	u64 published = seq->nr_published * r->shape->index_tokens;

	if (is->nr_tokens != seq->tokens || is->nr_computed != seq->computed ||
	    is->nr_reserved != seq->reserved || is->nr_published != published)
		model_bug("sequence %llx: lengths %llu %llu %llu %llu, not %llu %llu %llu %llu",
			  (unsigned long long)seq->id, (unsigned long long)is->nr_tokens,
			  (unsigned long long)is->nr_computed,
			  (unsigned long long)is->nr_reserved,
			  (unsigned long long)is->nr_published,
			  (unsigned long long)seq->tokens, (unsigned long long)seq->computed,
			  (unsigned long long)seq->reserved, (unsigned long long)published);
}

void property_check_seq(struct run *r, struct model_seq *seq)
{
	struct kvp_client *core = r->model.client[seq->client].core;
	u64 ids[MODEL_TOKENS];
	struct kvp_seq_table arg;
	u32 f, i;

	/* Ids may have become known of what was computed before: the call settles that. */
	r->stale |= seq->done_to > 0;
	for (f = 0; f < r->shape->nr; f++) {
		arg = (struct kvp_seq_table) {
			.seq = seq->id,
			.family = f,
			.blocks = (u64)(uintptr_t)ids,
			.nr_blocks = MODEL_TOKENS,
		};
		if (kvpt_do(core, KVP_OP_SEQ_TABLE, &arg))
			model_bug("table of %llx: reason %u", (unsigned long long)seq->id,
				  arg.head.reason);
		property_check_lengths(r, seq, &arg);
		if (arg.total != seq->nr_slots[f] || arg.nr_blocks != seq->nr_slots[f])
			model_bug("sequence %llx: %llu slots of family %u, not %u",
				  (unsigned long long)seq->id, (unsigned long long)arg.total, f,
				  seq->nr_slots[f]);
		for (i = 0; i < seq->nr_slots[f]; i++) {
			if (seq->slot[f][i] == NONE && ids[i])
				model_bug("sequence %llx: slot %u of family %u is not released",
					  (unsigned long long)seq->id, i, f);
			if (seq->slot[f][i] != NONE)
				property_bind(r, seq->slot[f][i], ids[i]);
		}
	}
}

/* Blocks that are new are bound through the tables of the sequences that have them. */
static void property_learn(struct run *r)
{
	u32 i, f, k;

	for (i = 0; i < MODEL_SEQS; i++) {
		struct model_seq *seq = &r->model.seq[i];
		bool new = false;

		for (f = 0; seq->live && !seq->zombie && f < r->shape->nr; f++)
			for (k = 0; k < seq->nr_slots[f]; k++)
				new |= seq->slot[f][k] != NONE &&
				       !r->model.block[seq->slot[f][k]].id;
		if (new)
			property_check_seq(r, seq);
	}
}

/* What was cut off below a node references it. */
static bool property_above_a_cut(const struct model *m, int node)
{
	int i;

	for (i = 0; i < m->nr_nodes; i++)
		if (m->node[i].kind == MODEL_PUBLISHED && m->node[i].parent == node &&
		    m->node[i].cut)
			return true;
	return false;
}

static bool property_is_dead(const struct model *m, u64 id)
{
	u32 i;

	for (i = MODEL_FIRST_DEAD; i < MODEL_HOLDERS; i++) {
		if (m->client[i].dead && m->client[i].id == id)
			return true;
	}
	return false;
}

static bool property_why_right(const struct run *r, const struct model_block *b, u32 state, u32 why)
{
	const struct model *m = &r->model;

	if (state == KVP_BLOCK_HELD_BACK)
		return why == (property_is_dead(m, b->owner) ? KVP_WHY_QUARANTINE :
							       KVP_WHY_HELD_BACK);
	if (b->count)
		return why == (b->node == NONE ? KVP_WHY_SEQ : KVP_WHY_SHARED);
	if (m->node[b->node].refs || !model_node_idle(m, b->node) ||
	    property_above_a_cut(m, b->node))
		return why == KVP_WHY_MATCHED;
	return why == (model_has_child(m, b->node) ? KVP_WHY_COVERED : KVP_WHY_IDLE);
}

/* The published node of a block: the same node of the core always, in the same place. */
static void property_check_node(struct run *r, const struct model_block *b,
				const struct kvp_block_entry *e)
{
	struct model *m = &r->model;
	struct model_node *node = &m->node[b->node];
	u8 space[KVP_DIGEST_LEN] = { };
	u64 parent = 0;
	int up = b->node;

	if (node->core == NONE)
		node->core = e->node;
	if (node->core != (int)e->node || node->depth != e->depth || node->tag != e->tag)
		model_bug("block %llx: node %u depth %u tag %u, not %d %u %u",
			  (unsigned long long)b->id, e->node, e->depth, e->tag, node->core,
			  node->depth, node->tag);
	if (node->parent != NONE && m->node[node->parent].kind == MODEL_PUBLISHED &&
	    m->node[node->parent].part[b->family][0] != NONE)
		parent = m->block[m->node[node->parent].part[b->family][0]].id;
	while (m->node[up].parent != NONE)
		up = m->node[up].parent;
	if (m->node[up].kind == MODEL_ROOT)
		kvpt_digest(m->node[up].space, space);
	if (parent != e->parent || memcmp(space, e->space, sizeof(space)))
		model_bug("block %llx: follows %llx, not %llx, or has another namespace",
			  (unsigned long long)b->id, (unsigned long long)e->parent,
			  (unsigned long long)parent);
}

static void property_check_block(struct run *r, const struct model_block *b,
				 u32 waits, const struct kvp_block_entry *e)
{
	u32 state = !b->count ? KVP_BLOCK_IDLE :
		    b->count == waits ? KVP_BLOCK_HELD_BACK : KVP_BLOCK_HELD;
	bool in_core = e->node != KVP_NODE_NONE;
	bool published = b->node != NONE;

	if (e->block != b->id || e->state != state || e->count != b->count ||
	    e->client != b->owner || published != in_core)
		model_bug("block %llx: %u %u %llu %d expected, is %llx %u %u %llu %d",
			  (unsigned long long)b->id, state, b->count,
			  (unsigned long long)b->owner, b->node, (unsigned long long)e->block,
			  e->state, e->count, (unsigned long long)e->client, (int)e->node);
	if (e->held_back != waits)
		model_bug("block %llx: %u held back, expected %u", (unsigned long long)b->id,
			  e->held_back, waits);
	if (!property_why_right(r, b, state, e->why))
		model_bug("block %llx: why is %u", (unsigned long long)b->id, e->why);
	if (published)
		property_check_node(r, b, e);
}

/* A block that the model does not have: free, or in somebody's reserve. */
static void property_check_unnamed(const struct model *m, const struct kvp_block_entry *e,
				   u32 *reserve)
{
	u32 i;

	if (e->state == KVP_BLOCK_RESERVED && e->why == KVP_WHY_ADMITTED && !e->count) {
		for (i = 0; i < MODEL_CLIENTS; i++) {
			if (m->client[i].core && m->client[i].id == e->client) {
				reserve[i]++;
				return;
			}
		}
	}
	if (e->state != KVP_BLOCK_FREE || e->count || e->client)
		model_bug("block %llx should be free, is in state %u, why %u, count %u",
			  (unsigned long long)e->block, e->state, e->why, e->count);
}

static void property_check_blocks(struct run *r)
{
	const struct model_block *at[MODEL_FAMILIES][MODEL_BLOCKS] = { };
	u32 late[MODEL_BLOCKS];
	u32 i, f;

	model_count_late(&r->model, NONE, late);
	for (i = 0; i < r->model.nr_blocks; i++) {
		const struct model_block *b = &r->model.block[i];

		if (!b->live)
			continue;
		if (!b->id)
			model_bug("block %u of the model is nowhere to be seen", i);
		if (at[b->family][KVP_BLOCK_INDEX(b->id)])
			model_bug("block %llx is two", (unsigned long long)b->id);
		at[b->family][KVP_BLOCK_INDEX(b->id)] = b;
	}
	for (f = 0; f < r->shape->nr; f++) {
		u32 reserve[MODEL_CLIENTS] = { };

		for (i = 0; i < r->shape->families[f].blocks; i++) {
			const struct kvp_block_entry *e = &r->look.entry[f][i];

			if (at[f][i])
				property_check_block(r, at[f][i],
						     late[at[f][i] - r->model.block], e);
			else
				property_check_unnamed(&r->model, e, reserve);
		}
		for (i = 0; i < MODEL_CLIENTS; i++) {
			if (reserve[i] != model_reserve(&r->model, i, f))
				model_bug("client %u has %u blocks of family %u in reserve, not %u",
					  i, reserve[i], f, model_reserve(&r->model, i, f));
		}
	}
}

/* ---- counters ---- */

static void property_equal(const char *what, u64 is, u64 expected)
{
	if (is != expected)
		model_bug("%s is %llu, expected %llu", what, (unsigned long long)is,
			  (unsigned long long)expected);
}

#define EQUAL(counter)	property_equal(#counter, s.counter, expected.counter)

static void property_check_counters(struct run *r)
{
	struct model *m = &r->model;
	struct kvp_stats expected = m->count;
	struct kvp_stats s = { };
	u32 i;

	if (kvpt_do(r->watcher, KVP_OP_STATS, &s))
		model_bug("stats: reason %u", s.head.reason);
	expected.nr_clients = 1;
	for (i = 0; i < MODEL_HOLDERS; i++) {
		expected.exports += i >= MODEL_CLIENTS && m->client[i].core;
		expected.zombies += model_zombies(m, i);
		expected.uses += model_uses(m, i);
		expected.tickets += model_tickets(m, i);
		expected.tickets_waiting += model_tickets(m, i) - model_granted(m, i);
		expected.quarantined += m->client[i].dead;
		expected.nr_clients += !!m->client[i].core;
		expected.seqs += model_seqs(m, i);
		expected.slots += model_slots(m, i);
		expected.raw += model_raw(m, i);
		expected.matches += model_matches(m, i);
	}
	for (i = 0; i < m->nr_nodes; i++) {
		expected.nodes_published += m->node[i].kind == MODEL_PUBLISHED;
		expected.namespaces += m->node[i].kind == MODEL_ROOT;
	}
	expected.nodes_used = m->nr_nodes - model_free_nodes(m);
	expected.extras_used = m->nr_digests - model_free_digests(m);
	EQUAL(nr_clients);
	EQUAL(seqs);
	EQUAL(slots);
	EQUAL(raw);
	EQUAL(matches);
	EQUAL(exports);
	EQUAL(zombies);
	EQUAL(uses);
	EQUAL(tickets);
	EQUAL(tickets_waiting);
	EQUAL(tickets_granted);
	EQUAL(quarantined);
	EQUAL(backwards);
	EQUAL(jumps);
	EQUAL(nodes_used);
	EQUAL(nodes_published);
	EQUAL(namespaces);
	EQUAL(extras_used);
	EQUAL(matched_nodes);
	EQUAL(looked_up_nodes);
	EQUAL(published_nodes);
	EQUAL(shared_nodes);
	EQUAL(reclaimed_nodes);
	EQUAL(reclaimed_blocks);
	EQUAL(invalidated);
	EQUAL(copies);
	EQUAL(underflow_rejected);
	EQUAL(refused_room);
	EQUAL(refused_limit);
}

static void property_check_families(struct run *r)
{
	struct kvp_family_stats s[MODEL_FAMILIES];
	struct kvp_stats stats = {
		.families = (u64)(uintptr_t)s, .nr_families = MODEL_FAMILIES,
	};
	struct model *m = &r->model;
	u32 f, i;

	if (kvpt_do(r->watcher, KVP_OP_STATS, &stats))
		model_bug("stats: reason %u", stats.head.reason);
	for (f = 0; f < r->shape->nr; f++) {
		u64 published = 0, guaranteed = 0;
		u32 free = model_free_blocks(m, f);
		u32 idle = model_idle_blocks(m, f);
		u32 held_back = model_held_back(m, f, 0);
		u32 reserve = 0;

		for (i = 0; i < MODEL_CLIENTS; i++)
			reserve += model_reserve(m, i, f);
		for (i = 0; i < m->nr_blocks; i++)
			published += m->block[i].live && m->block[i].family == f &&
				     m->block[i].node != NONE;
		for (i = 0; i < MODEL_HOLDERS; i++)
			guaranteed += m->client[i].core ? m->client[i].limits.guarantee[f] : 0;
		property_equal("total", s[f].total, m->family[f].blocks);
		property_equal("free", s[f].state[KVP_BLOCK_FREE], free);
		property_equal("idle", s[f].state[KVP_BLOCK_IDLE], idle);
		property_equal("held", s[f].state[KVP_BLOCK_HELD],
			       m->family[f].blocks - free - idle - held_back - reserve);
		property_equal("held back", s[f].state[KVP_BLOCK_HELD_BACK], held_back);
		property_equal("reserved", s[f].state[KVP_BLOCK_RESERVED], reserve);
		property_equal("all held back", s[f].held_back, held_back);
		property_equal("all reserves", s[f].reserve, reserve);
		property_equal("published", s[f].published, published);
		property_equal("charged", s[f].charged, m->family[f].blocks - free - idle);
		property_equal("guaranteed", s[f].guaranteed, guaranteed);
		property_equal("unmet", s[f].unmet, model_others_unmet(m, MODEL_HOLDERS, f));
	}
}

static void property_check_client(struct run *r, u32 client)
{
	struct kvp_family_stats s[MODEL_FAMILIES];
	struct kvp_stats stats = {
		.client = KVP_STATS_SELF,
		.families = (u64)(uintptr_t)s,
		.nr_families = MODEL_FAMILIES,
	};
	struct model *m = &r->model;
	u32 f;

	if (kvpt_do(m->client[client].core, KVP_OP_STATS, &stats))
		model_bug("stats: reason %u", stats.head.reason);
	property_equal("the client's seqs", stats.seqs, model_seqs(m, client));
	property_equal("the client's slots", stats.slots, model_slots(m, client));
	property_equal("the client's raw", stats.raw, model_raw(m, client));
	property_equal("the client's matches", stats.matches, model_matches(m, client));
	property_equal("the client's exports", stats.exports, model_exports(m, client));
	property_equal("the client's zombies", stats.zombies, model_zombies(m, client));
	property_equal("the client's uses", stats.uses, model_uses(m, client));
	property_equal("the client's tickets", stats.tickets, model_tickets(m, client));
	property_equal("the client's backwards", stats.backwards, m->client[client].backwards);
	property_equal("the client's jumps", stats.jumps, m->client[client].jumps);
	for (f = 0; f < r->shape->nr; f++) {
		property_equal("the client's charge", s[f].charged,
			       model_charged(m, f, m->client[client].id));
		property_equal("the client's held back", s[f].held_back,
			       model_held_back(m, f, m->client[client].id));
		property_equal("the client's reserve", s[f].reserve,
			       client < MODEL_CLIENTS ? model_reserve(m, client, f) : 0);
		property_equal("the client's limit", s[f].limit,
			       m->client[client].limits.blocks[f]);
		property_equal("the client's guarantee", s[f].guaranteed,
			       m->client[client].limits.guarantee[f]);
	}
}

/* What all clients of a uid have, and left behind. */
static void property_check_user(struct run *r, u32 user)
{
	struct kvp_family_stats s[MODEL_FAMILIES] = { };
	struct model *m = &r->model;
	struct kvp_stats stats = {
		.head.flags = KVP_STATS_OF_UID,
		.client = property_uid(user),
		.families = (u64)(uintptr_t)s,
		.nr_families = MODEL_FAMILIES,
	};
	int err = kvpt_do(r->watcher, KVP_OP_STATS, &stats);
	u32 clients = !user;
	u32 i, f;

	for (i = 0; i < MODEL_HOLDERS; i++)
		clients += m->client[i].core && m->client[i].user == user;
	/* It may never have been seen. */
	if (err == -ENOENT && !clients)
		return;
	if (err)
		model_bug("stats of a uid: reason %u", stats.head.reason);
	property_equal("the uid's clients", stats.nr_clients, clients);
	property_equal("the uid's seqs", stats.seqs, model_user_has(m, user, MODEL_OF_SEQS));
	property_equal("the uid's slots", stats.slots, model_user_has(m, user, MODEL_OF_SLOTS));
	property_equal("the uid's raw", stats.raw, model_user_has(m, user, MODEL_OF_RAW));
	property_equal("the uid's matches", stats.matches,
		       model_user_has(m, user, MODEL_OF_MATCHES));
	property_equal("the uid's tickets", stats.tickets,
		       model_user_has(m, user, MODEL_OF_TICKETS));
	property_equal("the uid's exports", stats.exports,
		       model_user_has(m, user, MODEL_OF_EXPORTS));
	for (f = 0; f < r->shape->nr; f++) {
		property_equal("the uid's charge", s[f].charged, model_user_charged(m, f, user));
		property_equal("the uid's limit", s[f].limit,
			       model_user_limits(m, user)->blocks[f]);
	}
}

static u32 property_client_flags(const struct model *m, u32 client)
{
	const struct model_client *c = &m->client[client];

	if (c->dead)
		return KVP_CLIENT_DEAD;
	if (client < MODEL_CLIENTS)
		return 0;
	return KVP_CLIENT_EXPORT | (c->revoked ? KVP_CLIENT_REVOKED : 0) |
	       (model_export_open(m, client) ? KVP_CLIENT_OPEN : 0);
}

/* How long what a dead client's work may touch stays: none ends here while it is looked at. */
static void property_check_grace(const struct run *r, const struct kvp_client_entry *e)
{
	u64 most = r->grace ? r->grace * 1000000ULL : KVP_UNLIMITED;

	if (!(e->flags & KVP_CLIENT_DEAD))
		most = 0;
	if (e->grace_ns > most || (r->grace && most && e->grace_ns < most / 2) ||
	    (!r->grace && e->grace_ns != most))
		model_bug("client %llu: grace %llu ns", (unsigned long long)e->client,
			  (unsigned long long)e->grace_ns);
}

/* A client in the list of clients. */
static void property_check_listed(struct run *r, u32 client, const struct kvp_client_entry *e)
{
	const struct model *m = &r->model;
	const struct model_client *c = &m->client[client];
	u64 charged = 0, held_back = 0;
	u32 f;

	for (f = 0; f < m->nr_families; f++) {
		charged += model_charged(m, f, c->id);
		held_back += model_held_back(m, f, c->id);
	}
	property_equal("the listed client's uid", e->uid, property_uid(c->user));
	property_equal("its seqs", e->seqs, model_seqs(m, client));
	property_equal("its slots", e->slots, model_slots(m, client));
	property_equal("its maker", e->maker, c->maker);
	property_equal("its imports", e->imports, c->imports);
	property_equal("its flags", e->flags, property_client_flags(m, client));
	property_equal("its charge", e->charged, charged);
	property_equal("its zombies", e->zombies, model_zombies(m, client));
	property_equal("its uses", e->uses, model_uses(m, client));
	property_equal("its held back", e->held_back, held_back);
	property_equal("its tickets", e->tickets, model_tickets(m, client));
	property_check_grace(r, e);
}

/* All that there are, beside the watcher; the dead among them. */
static void property_check_list(struct run *r)
{
	static struct kvp_client_entry list[MODEL_HOLDERS + 1];
	struct kvp_client_list arg = {
		.entries = property_addr(list), .nr_entries = ARRAY_SIZE(list),
	};
	u32 nr = 1;
	u32 i, k;

	if (kvpt_do(r->watcher, KVP_OP_CLIENT_LIST, &arg))
		model_bug("list: reason %u", arg.head.reason);
	for (i = 0; i < MODEL_HOLDERS; i++) {
		const struct model_client *c = &r->model.client[i];

		if (!c->core && !c->dead)
			continue;
		for (k = 0; k < arg.nr_entries && list[k].client != c->id; k++)
			;
		if (k == arg.nr_entries)
			model_bug("client %llu is not listed", (unsigned long long)c->id);
		property_check_listed(r, i, &list[k]);
		nr++;
	}
	property_equal("clients listed", arg.nr_entries, nr);
	property_equal("clients in the list", arg.total, nr);
}

/* Whether poll(2) would tell a client of a fence, and of a ticket. */
static void property_check_ready(struct run *r)
{
	const struct model *m = &r->model;
	u32 i, ready;

	for (i = 0; i < MODEL_CLIENTS; i++) {
		if (!m->client[i].core)
			continue;
		ready = kvp_client_ready(m->client[i].core) & ~KVP_READY_EVENTS;
		if (ready != model_ready(m, i))
			model_bug("client %u is told %x, expected %x", i, ready,
				  model_ready(m, i));
	}
}

/* ---- all ---- */


/* After each call. */
void property_check(struct run *r)
{
	if (r->stale)
		property_look(r);
	model_settle(&r->model);
	model_serve(&r->model);
	r->model.frozen = false;
	property_learn(r);
	property_check_blocks(r);
	property_check_counters(r);
	property_check_ready(r);
}

/* Now and then. */
void property_check_all(struct run *r)
{
	const char *text;
	u32 i;

	model_recount(&r->model);
	for (i = 0; i < MODEL_SEQS; i++) {
		if (r->model.seq[i].live && !r->model.seq[i].zombie)
			property_check_seq(r, &r->model.seq[i]);
	}
	property_check_families(r);
	property_check_list(r);
	for (i = 0; i < MODEL_HOLDERS; i++) {
		if (r->model.client[i].core)
			property_check_client(r, i);
	}
	for (i = 0; i < MODEL_USERS; i++)
		property_check_user(r, i);
	text = kvpt_audit_text(r->watcher);
	if (text)
		model_bug("audit: %s", text);
}

// SPDX-License-Identifier: MIT
/*
 * The property test: one random call on raw references, by the core and by the model.
 */
#include "property.h"

#define PROPERTY_REFS	4		/* blocks of one call at most */

/* The block of the model with this id, or NONE. */
static int property_block(const struct run *r, u64 id)
{
	u32 i;

	for (i = 0; i < r->model.nr_blocks; i++) {
		if (r->model.block[i].live && r->model.block[i].id == id)
			return i;
	}
	return NONE;
}

/* The id of no block: one of an earlier generation is stale, another never was. */
static void property_no_block(const struct run *r, u64 id, struct model_verdict *v)
{
	u32 f = KVP_BLOCK_FAMILY(id);
	u32 index = KVP_BLOCK_INDEX(id);

	if (f < r->shape->nr && index < r->shape->families[f].blocks && KVP_BLOCK_GEN(id) &&
	    id < r->look.entry[f][index].block)
		model_may(v, -ESTALE, KVP_REASON_GENERATION);
	else
		model_may(v, -ENOENT, KVP_REASON_NO_BLOCK);
	/* Work may have ended that nobody had looked at when the call came to it. */
	if (r->model.frozen)
		model_may(v, -EPERM, KVP_REASON_NOT_HELD);
}

/* A block on which the client has a raw reference; now and then another, or none. */
u64 property_pick_raw(struct run *r, u32 client)
{
	u32 start = below(r, r->model.nr_blocks);
	u32 how = below(r, 24);
	u32 f = below(r, r->shape->nr);
	u32 i, b;

	if (how == 0)
		return KVP_BLOCK_NULL;
	if (how == 1)
		return KVP_BLOCK_ID(f, below(r, r->shape->families[f].blocks + 1), below(r, 40));
	for (i = 0; i < r->model.nr_blocks; i++) {
		b = (start + i) % r->model.nr_blocks;
		if (r->model.client[client].raw[b] || (how == 2 && r->model.block[b].live))
			return r->model.block[b].id;
	}
	return KVP_BLOCK_NULL;
}

/* The block of an id on which the client must have a reference; the verdict says where not. */
int property_raw(const struct run *r, u32 client, u64 id, struct model_verdict *v)
{
	int block = property_block(r, id);

	if (block == NONE)
		property_no_block(r, id, v);
	else if (!r->model.client[client].raw[block])
		model_may(v, -EPERM, KVP_REASON_NOT_HELD);
	return block;
}

static void property_check_raw_limit(const struct run *r, u32 client, u32 nr,
				     struct model_verdict *v)
{
	model_limit(&r->model, client, MODEL_OF_RAW, nr, v);
}

/* ---- alloc ---- */

void op_alloc(struct run *r, u32 client)
{
	struct model_need need = { };
	u64 ids[MODEL_BLOCKS];
	struct model_verdict v;
	u32 family = below(r, r->shape->nr);
	u32 nr = 1 + below(r, below(r, 24) ? 3 : r->shape->families[family].blocks + 2);
	int err, block;
	u32 i;

	property_begin(r, "alloc");
	property_trace("client %u family %u blocks %u", client, family, nr);
	err = kvpt_alloc(r->model.client[client].core, family, nr, ids);
	property_end(r, err, &v);
	need.blocks[family] = nr;
	property_check_raw_limit(r, client, nr, &v);
	model_in_turn(&r->model, client, &need, &v);
	model_room(&r->model, client, &need, &v);
	model_refused(&r->model, &v);
	if (!property_judge(r, &v))
		return;
	model_take(&r->model, client, &need);
	for (i = 0; !r->untold && i < nr; i++) {
		block = model_block_new(&r->model, family, client);
		r->model.client[client].raw[block] = 1;
		property_bind(r, block, ids[i]);
	}
}

/* ---- ref ---- */

/* What stands at place @at of a holder's table: a sequence's, or the path of a match. */
static int property_held_at(const struct run *r, const struct model_seq *seq,
			    const struct model_match *match, u32 family, u64 at)
{
	const struct model *m = &r->model;
	u32 parts = model_parts(m, family);
	int node;

	if (seq)
		return at < seq->nr_slots[family] ? seq->slot[family][at] : NONE;
	if (!parts)
		return NONE;
	for (node = match->node; node != NONE; node = m->node[node].parent) {
		if (m->node[node].kind == MODEL_PUBLISHED &&
		    m->node[node].depth == at / parts + 1)
			return m->node[node].part[family][at % parts];
	}
	return NONE;
}

/* Blocks [@first, @first + @nr) of a holder, one of them now and then another. */
static u32 property_pick_held(struct run *r, u32 client, const struct model_seq *seq,
			      const struct model_match *match, u64 first, u64 *ids)
{
	u32 family = below(r, r->shape->nr);
	u32 nr = 1 + below(r, PROPERTY_REFS);
	int block;
	u32 i;

	for (i = 0; i < nr; i++) {
		block = NONE;
		if (seq || match)
			block = property_held_at(r, seq, match, family, first + i);
		ids[i] = block == NONE ? KVP_BLOCK_NULL : r->model.block[block].id;
		if (!below(r, 24))
			ids[i] = property_pick_raw(r, client);
	}
	return nr;
}

/* Whether a holder answers for the blocks. */
static void property_check_held(const struct run *r, const struct model_seq *seq,
				const struct model_match *match, u64 first, const u64 *ids,
				u32 nr, struct model_verdict *v)
{
	u32 family = KVP_MAX_FAMILIES;
	int block;
	u32 i;

	for (i = 0; i < nr; i++) {
		if (ids[i] == KVP_BLOCK_NULL)
			continue;
		if (family == KVP_MAX_FAMILIES)
			family = KVP_BLOCK_FAMILY(ids[i]);
		if (KVP_BLOCK_FAMILY(ids[i]) != family)
			model_may(v, -EINVAL, KVP_REASON_FAMILY);
		block = property_block(r, ids[i]);
		if (block == NONE)
			property_no_block(r, ids[i], v);
		else if (property_held_at(r, seq, match, KVP_BLOCK_FAMILY(ids[i]), first + i) !=
			 block)
			model_may(v, -EPERM, KVP_REASON_NOT_HELD);
	}
}

/* Idle blocks that a match answers for become held, and charged. */
static void property_check_idle(const struct run *r, u32 client, const u64 *ids, u32 nr,
				struct model_verdict *v)
{
	const struct model *m = &r->model;
	u32 idle[MODEL_FAMILIES] = { };
	int block;
	u32 i, f;

	for (i = 0; i < nr; i++) {
		block = property_block(r, ids[i]);
		if (block != NONE && !m->block[block].count)
			idle[m->block[block].family]++;
	}
	for (f = 0; f < m->nr_families; f++) {
		if (!idle[f])
			continue;
		if (model_over_blocks(m, client, f, idle[f]))
			model_may(v, -EDQUOT, KVP_REASON_LIMIT_BLOCKS);
		if (idle[f] + model_others_unmet(m, client, f) >
		    model_free_blocks(m, f) + model_idle_blocks(m, f))
			model_may(v, -ENOSPC, KVP_REASON_GUARANTEED);
	}
}

static u32 property_count(const u64 *ids, u32 nr)
{
	u32 count = 0;
	u32 i;

	for (i = 0; i < nr; i++)
		count += ids[i] != KVP_BLOCK_NULL;
	return count;
}

static void property_take_refs(struct run *r, u32 client, const u64 *ids, u32 nr)
{
	int block;
	u32 i;

	for (i = 0; i < nr; i++) {
		if (ids[i] == KVP_BLOCK_NULL)
			continue;
		block = property_block(r, ids[i]);
		model_block_get(&r->model, block, client);
		r->model.client[client].raw[block]++;
	}
}

static struct model_seq *property_any_seq(struct run *r, u32 client)
{
	u32 start = below(r, MODEL_SEQS);
	u32 i;

	for (i = 0; i < MODEL_SEQS; i++) {
		struct model_seq *seq = &r->model.seq[(start + i) % MODEL_SEQS];

		if (seq->live && !seq->zombie && seq->client == client)
			return seq;
	}
	return NULL;
}

static struct model_match *property_any_match(struct run *r, u32 client)
{
	u32 i;

	for (i = 0; i < MODEL_MATCHES; i++) {
		if (r->model.client[client].match[i].live)
			return &r->model.client[client].match[i];
	}
	return NULL;
}

static void property_ref_held(struct run *r, u32 client)
{
	struct model_seq *seq = below(r, 2) ? property_any_seq(r, client) : NULL;
	struct model_match *match = seq ? NULL : property_any_match(r, client);
	struct kvp_block_refs *arg = &kvpt.block_refs;
	u64 first = below(r, 4);
	u64 ids[PROPERTY_REFS];
	struct model_verdict v;
	u32 nr = property_pick_held(r, client, seq, match, first, ids);
	int err;

	property_begin(r, "ref-held");
	memset(&kvpt, 0, sizeof(kvpt));
	arg->blocks = (u64)(uintptr_t)ids;
	arg->nr = nr;
	arg->first = first;
	arg->holder = seq ? seq->id : match ? match->id : 0x7fffffff;
	arg->head.flags = match ? KVP_BLOCK_REF_MATCH : 0;
	property_trace("client %u holder %llx blocks %u, first %llx", client,
		       (unsigned long long)arg->holder, nr, (unsigned long long)ids[0]);
	err = kvpt_do(r->model.client[client].core, KVP_OP_BLOCK_REF, arg);
	property_end(r, err, &v);
	property_check_raw_limit(r, client, property_count(ids, nr), &v);
	if (seq || match)
		property_check_held(r, seq, match, first, ids, nr, &v);
	else
		model_may(&v, -ENOENT, KVP_REASON_NO_SEQ);
	if (!seq && !match && property_count(ids, nr))
		model_may(&v, -EINVAL, KVP_REASON_FAMILY);
	property_check_idle(r, client, ids, nr, &v);
	if (property_judge(r, &v))
		property_take_refs(r, client, ids, nr);
}

static void property_ref_own(struct run *r, u32 client)
{
	u64 ids[PROPERTY_REFS];
	struct model_verdict v;
	u32 nr = 1 + below(r, PROPERTY_REFS);
	int err;
	u32 i;

	for (i = 0; i < nr; i++)
		ids[i] = property_pick_raw(r, client);
	property_begin(r, "ref");
	property_trace("client %u blocks %u, first %llx", client, nr,
		       (unsigned long long)ids[0]);
	err = kvpt_ref(r->model.client[client].core, ids, nr);
	property_end(r, err, &v);
	property_check_raw_limit(r, client, property_count(ids, nr), &v);
	for (i = 0; i < nr; i++) {
		if (ids[i] != KVP_BLOCK_NULL)
			property_raw(r, client, ids[i], &v);
	}
	if (property_judge(r, &v))
		property_take_refs(r, client, ids, nr);
}

void op_ref(struct run *r, u32 client)
{
	if (below(r, 3))
		property_ref_held(r, client);
	else
		property_ref_own(r, client);
}

/* ---- unref, make private ---- */

/* The first of @ids that the client cannot drop is why the call fails. */
static void property_check_unref(struct run *r, u32 client, const u64 *ids, u32 nr,
				 struct model_verdict *v)
{
	const u32 *raw = r->model.client[client].raw;
	u32 left[MODEL_BLOCKS];
	int block;
	u32 i;

	memcpy(left, raw, sizeof(left));
	for (i = 0; i < nr; i++) {
		if (ids[i] == KVP_BLOCK_NULL)
			continue;
		block = property_block(r, ids[i]);
		if (block == NONE)
			property_no_block(r, ids[i], v);
		else if (!raw[block])
			model_may(v, -EPERM, KVP_REASON_NOT_HELD);
		else if (!left[block])
			model_may(v, -EINVAL, KVP_REASON_DUPLICATE);
		else
			left[block]--;
		if (v->nr)
			break;
	}
}

void op_unref(struct run *r, u32 client)
{
	u64 ids[PROPERTY_REFS];
	struct model_verdict v;
	u32 nr = 1 + below(r, PROPERTY_REFS);
	int err, block;
	u32 i;

	for (i = 0; i < nr; i++)
		ids[i] = property_pick_raw(r, client);
	property_begin(r, "unref");
	property_trace("client %u blocks %u, first %llx", client, nr,
		       (unsigned long long)ids[0]);
	err = kvpt_unref(r->model.client[client].core, ids, nr);
	property_end(r, err, &v);
	property_check_unref(r, client, ids, nr, &v);
	if (!property_judge(r, &v)) {
		r->model.count.underflow_rejected += err != -ENOENT && err != -ENOMEM;
		return;
	}
	for (i = 0; i < nr; i++) {
		if (ids[i] == KVP_BLOCK_NULL)
			continue;
		block = property_block(r, ids[i]);
		r->model.client[client].raw[block]--;
		model_block_release(&r->model, block);
	}
}

void op_make_private(struct run *r, u32 client)
{
	u64 id = property_pick_raw(r, client);
	int block = property_block(r, id);
	const struct model_block *b = &r->model.block[block == NONE ? 0 : block];
	struct model_need need = { };
	struct model_verdict v;
	u64 result = 0;
	bool copy = false;
	int err;

	property_begin(r, "make-private");
	property_trace("client %u block %llx", client, (unsigned long long)id);
	err = kvpt_make_private(r->model.client[client].core, id, &result);
	property_end(r, err, &v);
	property_raw(r, client, id, &v);
	if (!v.nr && (b->count > 1 || b->node != NONE)) {
		copy = true;
		need.blocks[b->family] = 1;
		property_check_raw_limit(r, client, 1, &v);
		model_room(&r->model, client, &need, &v);
		model_refused(&r->model, &v);
	}
	if (!property_judge(r, &v))
		return;
	if (r->untold) {
		if (copy)
			model_take(&r->model, client, &need);
		return;
	}
	if (kvpt.make_private.copy != copy || (!copy && result != id))
		model_bug("copy %u, result %llx", kvpt.make_private.copy,
			  (unsigned long long)result);
	if (!copy)
		return;
	model_take(&r->model, client, &need);
	block = model_block_new(&r->model, KVP_BLOCK_FAMILY(id), client);
	r->model.client[client].raw[block] = 1;
	property_bind(r, block, result);
}

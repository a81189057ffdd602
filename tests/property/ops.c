// SPDX-License-Identifier: MIT
/*
 * The property test: clients come and go, requests as engines make them, and the choice of what
 * is next.
 */
#include <time.h>

#include "property.h"

/* ---- clients ---- */

/* An attached client. There is always one. */
static u32 property_pick_client(struct run *r)
{
	u32 client;

	do {
		client = below(r, MODEL_CLIENTS);
	} while (!r->model.client[client].core);
	return client;
}

void property_join(struct run *r, u32 client)
{
	struct model_client *c = &r->model.client[client];
	u32 user = !below(r, 3);
	struct kvp_client *core = kvpt_open(&r->env, property_uid(user));
	u32 wanted = below(r, 8) ? 0 : KVP_RIGHT_USE | below(r, 2) * KVP_RIGHT_PUBLISH;
	u32 rights = wanted ? wanted : user ? KVP_RIGHT_USE | KVP_RIGHT_PUBLISH : KVP_RIGHT_ALL;
	bool guaranteed = rights & KVP_RIGHT_PUBLISH;
	struct model_verdict v;
	u32 f, i;
	u64 sum;
	int err;

	property_begin(r, "attach");
	property_calm(r);
	err = kvpt_pool_attach(core, KVPT_POOL_NAME, wanted);
	property_end(r, err, &v);
	for (f = 0; guaranteed && f < r->shape->nr; f++) {
		sum = r->model.defaults.guarantee[f];
		for (i = 0; i < MODEL_HOLDERS; i++)
			sum += r->model.client[i].core ?
			       r->model.client[i].limits.guarantee[f] : 0;
		if (sum > r->shape->families[f].blocks)
			model_may(&v, -EFBIG, KVP_REASON_NEVER_FITS);
	}
	if (!property_judge(r, &v)) {
		kvpt_close(&r->env, core);
		return;
	}
	memset(c, 0, sizeof(*c));
	c->core = core;
	c->id = kvpt.pool_attach.client;
	c->rights = rights;
	c->user = user;
	c->limits = r->model.defaults;
	if (!guaranteed)
		memset(c->limits.guarantee, 0, sizeof(c->limits.guarantee));
	r->nr_past[client] = 0;
	property_trace("client %u is %llu", client, (unsigned long long)c->id);
}

/* A grace time that is short is over by the next look. */
static void property_wait_grace(const struct run *r)
{
	struct timespec time = { .tv_nsec = 1100000 };

	if (r->grace == 1)
		nanosleep(&time, NULL);
}

/* The client vanishes with all it has, but for what its work may touch. */
void property_leave(struct run *r, u32 client)
{
	struct model_verdict v;

	if (model_dead_place(&r->model) == NONE) {
		property_reap_all(r);
		property_check(r);
	}
	property_begin(r, "leave");
	property_calm(r);
	property_trace("client %u", client);
	kvpt_close(&r->env, r->model.client[client].core);
	memset(&kvpt, 0, sizeof(kvpt));
	property_wait_grace(r);
	property_end(r, 0, &v);
	model_leave(&r->model, client, model_dead_place(&r->model));
	/* Who waits is served at once, and once more when the time is over. */
	if (r->grace == 1) {
		model_serve(&r->model);
		model_reap(&r->model, NONE);
	}
	r->past_ticket[client] = 0;
}

static void op_come_or_go(struct run *r, u32 client)
{
	u32 other = below(r, MODEL_CLIENTS);

	if (!r->model.client[other].core)
		property_join(r, other);
	else if (other != client && !below(r, 3))
		property_leave(r, other);
}

/* ---- several calls ---- */

/*
 * A prompt that is computed a second time, by a sequence and its fork, and published by both:
 * each finds what the other has made of it.
 */
static void op_twins(struct run *r, u32 client)
{
	u64 id = property_create(r, client);
	u64 child;

	if (!id)
		return;
	property_check(r);
	property_advance(r, client, id, model_seq_find(&r->model, client, id)->tokens);
	property_check(r);
	child = property_fork(r, client, id);
	property_check(r);
	property_publish(r, client, id);
	if (!child)
		return;
	property_check(r);
	property_publish(r, client, child);
}

/* A request from its beginning to its end, as an engine would make it. */
static void op_request(struct run *r, u32 client)
{
	u64 id = property_create(r, client);

	if (!id)
		return;
	property_check(r);
	property_advance(r, client, id, model_seq_find(&r->model, client, id)->tokens);
	property_check(r);
	property_publish(r, client, id);
	property_check(r);
	property_free(r, client, id);
}

/* A sequence that begins, is computed and ends in one call. */
static void op_batch(struct run *r, u32 client)
{
	struct model_verdict v, w = { };
	struct model_text text;
	u32 token[MODEL_TOKENS];
	struct model_seq *seq;
	struct kvp_seq_create create = { .head.size = sizeof(create) };
	struct kvp_seq_advance advance = { .head.size = sizeof(advance), .seq = KVP_REF(0) };
	struct kvp_seq_id end = { .head.size = sizeof(end), .seq = KVP_REF(0) };
	struct kvp_batch_entry entry[] = {
		{ KVP_OP_SEQ_CREATE, sizeof(create), property_addr(&create), 0, 0 },
		{ KVP_OP_SEQ_ADVANCE, sizeof(advance), property_addr(&advance), 0, 0 },
		{ KVP_OP_SEQ_FREE, sizeof(end), property_addr(&end), 0, 0 },
	};
	int err;

	property_text(r, &text, token, 1 + below(r, r->shape->max_tokens / 2), 0);
	text.nr_extras = 0;
	kvpt_digest(text.space, create.space);
	create.tokens = property_addr(token);
	create.nr_tokens = text.nr;
	advance.computed = text.nr;
	property_begin(r, "batch");
	property_calm(r);
	property_trace("client %u space %u tokens %u", client, text.space, text.nr);
	err = kvpt_batch(r->model.client[client].core, KVP_BATCH_STOP_ON_ERROR, entry, 3);
	if (err || kvpt.batch.executed != (entry[0].result ? 1 : 3))
		model_bug("%d, %u executed", err, kvpt.batch.executed);
	kvpt.head.reason = create.head.reason;
	property_end(r, entry[0].result, &v);
	seq = model_create(&r->model, client, &create, &text, &v);
	if (!property_judge(r, &v)) {
		if (entry[1].result != -ECANCELED || entry[2].result != -ECANCELED)
			model_bug("not cancelled");
		return;
	}
	if (entry[1].result || entry[2].result)
		model_bug("advance %d, free %d", entry[1].result, entry[2].result);
	model_advance(&r->model, seq, text.nr, &w);
	model_seq_free(&r->model, seq);
	property_forget_seq(r, client, create.seq);
}

/* ---- the choice ---- */

static const struct {
	void (*op)(struct run *r, u32 client);
	/* What it is about; where the client has none, @make is called mostly. */
	u32 (*count)(const struct model *m, u32 client);
	void (*make)(struct run *r, u32 client);
	u32 weight;
} property_ops[] = {
	{ op_create, NULL, NULL, 9 },
	{ op_request, NULL, NULL, 7 },
	{ op_twins, NULL, NULL, 2 },
	{ op_append, model_seqs, op_create, 16 },
	{ op_set_tokens, model_seqs, op_create, 8 },
	{ op_advance, model_seqs, op_create, 14 },
	{ op_copied, model_seqs, op_create, 7 },
	{ op_fork, model_seqs, op_create, 6 },
	{ op_truncate, model_seqs, op_create, 6 },
	{ op_free, model_seqs, op_create, 14 },
	{ op_publish, model_seqs, op_create, 14 },
	{ op_match, NULL, NULL, 6 },
	{ op_release, model_matches, op_match, 6 },
	{ op_invalidate, NULL, NULL, 1 },
	{ op_reclaim, NULL, NULL, 2 },
	{ op_batch, NULL, NULL, 2 },
	{ op_come_or_go, NULL, NULL, 2 },
	{ op_alloc, NULL, NULL, 1 },
	{ op_ref, model_seqs, op_create, 3 },
	{ op_unref, model_raw, op_alloc, 8 },
	{ op_make_private, model_raw, op_ref, 3 },
	{ op_export, model_seqs, op_create, 3 },
	{ op_import, NULL, NULL, 4 },
	{ op_revoke, NULL, NULL, 1 },
	{ op_close, NULL, NULL, 2 },
	{ op_limit, NULL, NULL, 2 },
	{ op_limit_uid, NULL, NULL, 1 },
	{ op_wait_limit, NULL, NULL, 1 },
	{ op_wait_leave, NULL, NULL, 1 },
	{ op_wrong, NULL, NULL, 1 },
	{ op_timeline, NULL, NULL, 1 },
	{ op_use, model_seqs, op_create, 20 },
	{ op_store, NULL, NULL, 14 },
	{ op_signal, NULL, NULL, 6 },
	{ op_query, NULL, NULL, 3 },
	{ op_scan, NULL, NULL, 1 },
	{ op_reap, NULL, NULL, 1 },
	{ op_admit, NULL, NULL, 2 },
	{ op_take, model_granted, op_create, 4 },
	{ op_cancel, model_tickets, op_create, 8 },
	{ op_drop, NULL, NULL, 2 },
};

static bool property_seqs_left(const struct run *r)
{
	u32 nr = 0;
	u32 i;

	for (i = 0; i < MODEL_SEQS; i++)
		nr += r->model.seq[i].live;
	return nr < MODEL_SEQS - 1 && model_lates(&r->model) < MODEL_LATES / 2;
}

/* Some of what there is goes. */
static void property_make_room(struct run *r, u32 client)
{
	switch (below(r, 3)) {
	case 0:
		op_free(r, client);
		break;
	case 1:
		op_signal(r, client);
		break;
	default:
		property_reap_all(r);
	}
}

void property_op(struct run *r)
{
	u32 client = property_pick_client(r);
	u32 sum = 0;
	u32 pick;
	u32 i;

	if (!property_seqs_left(r)) {
		property_make_room(r, client);
		property_check(r);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(property_ops); i++)
		sum += property_ops[i].weight;
	pick = below(r, sum);
	for (i = 0; pick >= property_ops[i].weight; i++)
		pick -= property_ops[i].weight;
	if (property_ops[i].count && !property_ops[i].count(&r->model, client) && below(r, 8))
		property_ops[i].make(r, client);
	else
		property_ops[i].op(r, client);
	if (!r->unseen)
		property_check(r);
}

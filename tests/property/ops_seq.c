// SPDX-License-Identifier: MIT
/*
 * The property test: one random call on sequences, by the core and by the model.
 */
#include "property.h"

/* ---- what calls are about ---- */

/* The id of a sequence: mostly one of the client's own. */
u64 property_pick_seq(struct run *r, u32 client)
{
	u32 start = below(r, MODEL_SEQS);
	u32 how = below(r, 40);
	u32 i;

	if (how == 0)
		return kvpt_random(&r->random) >> 1;
	if (how == 1 && r->nr_past[client])
		return r->past[client][below(r, min_t(u32, r->nr_past[client], PROPERTY_PAST))];
	for (i = 0; i < MODEL_SEQS; i++) {
		const struct model_seq *seq = &r->model.seq[(start + i) % MODEL_SEQS];

		if (seq->live && (seq->client == client || how == 2))
			return seq->id;
	}
	return 0;
}

/*
 * The sequence of an id that was used in a call; if there is none, the verdict says so: an id
 * that ended is stale, one that never was is unknown.
 */
struct model_seq *property_seq(struct run *r, u32 client, u64 id, struct model_verdict *v)
{
	struct model_seq *seq = model_seq_find(&r->model, client, id);
	u32 i;

	if (seq)
		return seq;
	for (i = 0; i < min_t(u32, r->nr_past[client], PROPERTY_PAST); i++) {
		if (r->past[client][i] == id) {
			model_may(v, -ESTALE, KVP_REASON_GENERATION);
			return NULL;
		}
	}
	model_may(v, -ENOENT, KVP_REASON_NO_SEQ);
	if (id >> 32)
		model_may(v, -ESTALE, KVP_REASON_GENERATION);
	return NULL;
}

void property_forget_seq(struct run *r, u32 client, u64 id)
{
	r->past[client][r->nr_past[client]++ % PROPERTY_PAST] = id;
}

/* Ids of which few differ, so that prompts share prefixes. */
static void property_tokens(struct run *r, u32 *token, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		token[i] = below(r, 2 * r->shape->index_tokens + 4) ? 0 : 1 + below(r, 2);
}

/* @nr ids for a sequence that has @first; digests for some of its nodes, rarely wrong ones. */
void property_text(struct run *r, struct model_text *text, u32 *token, u32 nr, u64 first)
{
	u32 i;

	memset(text, 0, sizeof(*text));
	text->space = below(r, PROPERTY_SPACES);
	text->token = token;
	text->nr = nr;
	property_tokens(r, token, nr);
	if (below(r, 6))
		return;
	text->nr_extras = 1 + below(r, 2);
	for (i = 0; i < text->nr_extras; i++)
		text->extra[i] = kvpt_extra((first + r->shape->index_tokens - 1) /
					    r->shape->index_tokens + i * (1 + below(r, 3)) +
					    !below(r, 4), 1 + below(r, 2));
	if (!below(r, 8))
		text->extra[0].node += below(r, 3);
}

/* Of a prompt: mostly a part of the pool. */
u32 property_length(struct run *r)
{
	return below(r, (below(r, 6) ? r->shape->max_tokens / 2 : r->shape->max_tokens) + 1);
}

const struct kvp_extra *property_extras(const struct model_text *text)
{
	return text->nr_extras ? text->extra : NULL;
}

/* ---- copies ---- */

/* The core asks for exactly the copies of the model; their targets are new blocks. */
static void property_check_copies(struct run *r, const struct model_copies *copies, u32 nr)
{
	u32 i, k;

	if (nr != copies->nr)
		model_bug("%u copies asked for, expected %u", nr, copies->nr);
	for (i = 0; i < nr; i++) {
		const struct model_copy *copy = &copies->copy[i];

		for (k = 0; k < nr; k++) {
			if (kvpt_copies[k].src == r->model.block[copy->src].id)
				break;
		}
		if (k == nr || kvpt_copies[k].tokens != copy->tokens)
			model_bug("no copy of %u rows of block %llx", copy->tokens,
				  (unsigned long long)r->model.block[copy->src].id);
		property_bind(r, copy->dst, kvpt_copies[k].dst);
	}
}

/* ---- sequences ---- */

/* Return: the id of the sequence, or 0. */
u64 property_create(struct run *r, u32 client)
{
	struct kvp_seq_create arg = { };
	struct model_verdict v;
	struct model_text text;
	u32 token[MODEL_TOKENS];
	struct model_seq *seq;
	u64 id = 0;
	int err;

	property_text(r, &text, token, property_length(r), 0);
	if (!below(r, 8))
		arg.head.flags = 1 + below(r, 3);
	if (!below(r, 3))
		arg.reserve = below(r, min_t(u32, r->shape->max_tokens - text.nr, 6) + 1);
	if (arg.head.flags & KVP_SEQ_MATCH_ONLY && below(r, 8))
		arg.reserve = 0;
	if (!below(r, 8))
		arg.match_limit = below(r, r->shape->max_tokens);
	arg.extras = property_addr(property_extras(&text));
	arg.nr_extras = text.nr_extras;

	property_begin(r, "create");
	property_trace("client %u flags %u space %u tokens %u extras %u reserve %llu", client,
		       arg.head.flags, text.space, text.nr, text.nr_extras,
		       (unsigned long long)arg.reserve);
	err = kvpt_create_with(r->model.client[client].core, &arg, text.space,
			       text.nr ? token : NULL, text.nr, &id);
	property_end(r, err, &v);
	seq = model_create(&r->model, client, &arg, &text, &v);
	if (!property_judge(r, &v))
		return 0;
	if (r->untold) {
		model_seq_free(&r->model, seq);
		return 0;
	}
	seq->id = id;
	property_trace("seq %llx matched %llu", (unsigned long long)id,
		       (unsigned long long)kvpt.seq_create.matched);
	if (kvpt.seq_create.matched != seq->computed || kvpt.seq_create.reserved != seq->reserved)
		model_bug("matched %llu reserved %llu, expected %llu %llu",
			  (unsigned long long)kvpt.seq_create.matched,
			  (unsigned long long)kvpt.seq_create.reserved,
			  (unsigned long long)seq->computed, (unsigned long long)seq->reserved);
	property_check_seq(r, seq);
	return id;
}

void op_create(struct run *r, u32 client)
{
	property_create(r, client);
}

static u32 property_room(struct run *r, const struct model_seq *seq)
{
	return seq ? r->shape->max_tokens - seq->tokens : 8;
}

void op_append(struct run *r, u32 client)
{
	u64 id = property_pick_seq(r, client);
	struct model_seq *seq = model_seq_find(&r->model, client, id);
	struct kvp_seq_append arg = { .position = KVP_POS_END };
	struct model_copies copies;
	struct model_verdict v;
	struct model_text text;
	u32 token[MODEL_TOKENS];
	u32 room = property_room(r, seq);
	u32 most = min_t(u32, room, 2 * r->shape->index_tokens + 2);
	int err;

	property_text(r, &text, token, below(r, most + 1), seq ? seq->tokens : 0);
	if (!below(r, 3))
		arg.reserve = below(r, min_t(u32, room - text.nr, 6) + 1);
	if (!below(r, 4))
		arg.position = (seq ? seq->tokens : 0) + !below(r, 8);
	arg.copies = property_addr(kvpt_copies);
	arg.nr_copies = below(r, 8) ? MODEL_COPIES : below(r, 3);
	arg.extras = property_addr(property_extras(&text));
	arg.nr_extras = text.nr_extras;

	property_begin(r, "append");
	property_trace("client %u seq %llx tokens %u extras %u reserve %llu", client,
		       (unsigned long long)id, text.nr, text.nr_extras,
		       (unsigned long long)arg.reserve);
	err = kvpt_append_with(r->model.client[client].core, &arg, id, text.nr ? token : NULL,
			       text.nr);
	property_end(r, err, &v);
	seq = property_seq(r, client, id, &v);
	if (seq)
		model_append(&r->model, seq, &arg, &text, &v, &copies);
	if (!property_judge(r, &v))
		return;
	property_check_seq(r, seq);
	if (r->untold)
		return;
	if (kvpt.seq_append.nr_reserved != seq->reserved ||
	    kvpt.seq_append.position != seq->tokens - text.nr)
		model_bug("reserved %llu position %llu",
			  (unsigned long long)kvpt.seq_append.nr_reserved,
			  (unsigned long long)kvpt.seq_append.position);
	property_check_copies(r, &copies, kvpt.seq_append.nr_copies);
}

void op_set_tokens(struct run *r, u32 client)
{
	u64 id = property_pick_seq(r, client);
	struct model_seq *seq = model_seq_find(&r->model, client, id);
	struct kvp_seq_set_tokens arg = { .position = KVP_POS_END };
	struct model_verdict v;
	struct model_text text;
	u32 token[MODEL_TOKENS];
	u32 nr = 1 + below(r, 5);
	int err;

	if (seq && seq->reserved == seq->tokens && below(r, 8)) {
		op_append(r, client);
		return;
	}
	if (seq && below(r, 8))
		nr = min_t(u32, nr, seq->reserved - seq->tokens);
	property_text(r, &text, token, nr, seq ? seq->tokens : 0);
	if (!below(r, 4))
		arg.position = (seq ? seq->tokens : 0) + !below(r, 8);
	arg.extras = property_addr(property_extras(&text));
	arg.nr_extras = text.nr_extras;

	property_begin(r, "set-tokens");
	property_trace("client %u seq %llx tokens %u", client, (unsigned long long)id, nr);
	err = kvpt_set_tokens_with(r->model.client[client].core, &arg, id, nr ? token : NULL, nr);
	property_end(r, err, &v);
	if (!nr)
		model_may(&v, -EINVAL, KVP_REASON_COUNT);
	seq = nr ? property_seq(r, client, id, &v) : NULL;
	if (seq)
		model_set_tokens(&r->model, seq, arg.position, &text, &v);
	if (property_judge(r, &v))
		property_check_seq(r, seq);
}

void property_advance(struct run *r, u32 client, u64 id, u64 computed)
{
	struct model_verdict v;
	struct model_seq *seq;
	int err;

	property_begin(r, "advance");
	property_trace("client %u seq %llx computed %llu", client, (unsigned long long)id,
		       (unsigned long long)computed);
	err = kvpt_advance(r->model.client[client].core, id, computed);
	property_end(r, err, &v);
	seq = property_seq(r, client, id, &v);
	if (seq)
		model_advance(&r->model, seq, computed, &v);
	if (property_judge(r, &v))
		property_check_seq(r, seq);
}

void op_advance(struct run *r, u32 client)
{
	u64 id = property_pick_seq(r, client);
	struct model_seq *seq = model_seq_find(&r->model, client, id);
	u64 computed = 0;

	if (seq)
		computed = below(r, 3) ? seq->tokens : below(r, seq->tokens + 2);
	property_advance(r, client, id, computed);
}

void op_copied(struct run *r, u32 client)
{
	u64 id = property_pick_seq(r, client);
	struct model_verdict v;
	struct model_seq *seq;
	int err;

	property_begin(r, "copied");
	property_trace("client %u seq %llx", client, (unsigned long long)id);
	err = kvpt_copied(r->model.client[client].core, id);
	property_end(r, err, &v);
	seq = property_seq(r, client, id, &v);
	if (property_judge(r, &v))
		model_copied(&r->model, seq);
}

/* Return: the id of the child, or 0. */
u64 property_fork(struct run *r, u32 client, u64 id)
{
	struct model_seq *seq = model_seq_find(&r->model, client, id);
	struct kvp_seq_fork *arg = &kvpt.fork;
	struct model_copies copies;
	struct model_verdict v;
	struct model_seq *child = NULL;
	u64 tokens = KVP_POS_END;
	u32 room = below(r, 8) ? MODEL_COPIES : below(r, 3);
	int err;

	if (seq && below(r, 2))
		tokens = below(r, seq->computed + 2);
	property_begin(r, "fork");
	property_trace("client %u seq %llx tokens %lld", client, (unsigned long long)id,
		       (long long)tokens);
	memset(&kvpt, 0, sizeof(kvpt));
	arg->seq = id;
	arg->tokens = tokens;
	arg->copies = property_addr(kvpt_copies);
	arg->nr_copies = room;
	err = kvpt_do(r->model.client[client].core, KVP_OP_SEQ_FORK, arg);
	property_end(r, err, &v);
	seq = property_seq(r, client, id, &v);
	if (seq)
		child = model_fork(&r->model, seq, tokens, room, &v, &copies);
	if (!property_judge(r, &v))
		return 0;
	if (r->untold) {
		model_seq_free(&r->model, child);
		return 0;
	}
	child->id = arg->child;
	if (arg->tokens != child->tokens)
		model_bug("%llu tokens shared", (unsigned long long)arg->tokens);
	property_check_copies(r, &copies, arg->nr_copies);
	property_check_seq(r, child);
	return child->id;
}

void op_fork(struct run *r, u32 client)
{
	property_fork(r, client, property_pick_seq(r, client));
}

void op_truncate(struct run *r, u32 client)
{
	u64 id = property_pick_seq(r, client);
	struct model_seq *seq = model_seq_find(&r->model, client, id);
	u64 tokens = seq ? below(r, seq->tokens + 2) : 0;
	struct model_verdict v;
	int err;

	if (!below(r, 8))
		tokens = 0;
	property_begin(r, "truncate");
	property_trace("client %u seq %llx tokens %llu", client, (unsigned long long)id,
		       (unsigned long long)tokens);
	err = kvpt_truncate(r->model.client[client].core, id, tokens);
	property_end(r, err, &v);
	seq = property_seq(r, client, id, &v);
	if (seq)
		model_truncate(&r->model, seq, tokens, &v);
	if (property_judge(r, &v))
		property_check_seq(r, seq);
}

void property_free(struct run *r, u32 client, u64 id)
{
	struct model_verdict v;
	struct model_seq *seq;
	int err;

	property_begin(r, "free");
	property_trace("client %u seq %llx", client, (unsigned long long)id);
	err = kvpt_free(r->model.client[client].core, id);
	property_end(r, err, &v);
	seq = property_seq(r, client, id, &v);
	if (!property_judge(r, &v))
		return;
	model_seq_free(&r->model, seq);
	property_forget_seq(r, client, id);
}

void op_free(struct run *r, u32 client)
{
	property_free(r, client, property_pick_seq(r, client));
}

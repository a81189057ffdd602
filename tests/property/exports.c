// SPDX-License-Identifier: MIT
/*
 * The reference model: exports, which are clients that have one sequence and call nothing.
 */
#include "model.h"

/* A place for one more, or NONE. */
int model_export_place(const struct model *m)
{
	int i;

	for (i = MODEL_CLIENTS; i < MODEL_FIRST_DEAD; i++)
		if (!m->client[i].core)
			return i;
	return NONE;
}

static u64 model_slots_for(const struct model *m, u64 tokens)
{
	u64 slots = 0;
	u32 f;

	for (f = 0; f < m->nr_families; f++)
		slots += model_blocks_for(m, f, tokens);
	return slots;
}

/* One more sequence of @client, with the first @tokens of @seq: no block is needed. */
static struct model_seq *model_share_all(struct model *m, struct model_seq *seq, u32 client,
					 u64 tokens, struct model_verdict *v)
{
	struct model_copies none;

	model_limit(m, client, MODEL_OF_SEQS, 1, v);
	model_limit(m, client, MODEL_OF_SLOTS, model_slots_for(m, tokens), v);
	return v->nr ? NULL : model_share(m, seq, client, tokens, false, &none);
}

/* The value at which each timeline of the maker has brought all rows. */
static void model_export_waits(const struct model *m, const struct model_seq *seq, u64 *writes)
{
	u32 i;

	for (i = 0; i < m->use_end; i++) {
		const struct model_use *use = &m->use[i];

		if (use->live && use->seq == seq - m->seq && use->write_from != KVP_POS_END)
			writes[use->timeline] = max(writes[use->timeline], use->value);
	}
}

/* @export: from model_export_place(). The core's client, id and file are set by the caller. */
struct model_seq *model_export(struct model *m, struct model_seq *seq, int export,
			       struct model_verdict *v)
{
	const struct model_client *maker = &m->client[seq->client];
	struct model_client *c = &m->client[export];
	u64 tokens = min(model_will_have(m, seq), seq->tokens);

	if (seq->nr_pending)
		model_may(v, -EBUSY, KVP_REASON_COPY_PENDING);
	if (m->has_states)
		model_may(v, -EOPNOTSUPP, KVP_REASON_STATE_FAMILY);
	if (tokens % m->index_tokens && seq->reserved > tokens)
		model_may(v, -EINVAL, KVP_REASON_LENGTH);
	model_limit(m, seq->client, MODEL_OF_EXPORTS, 1, v);

	memset(c, 0, sizeof(*c));
	c->rights = KVP_RIGHT_USE;
	c->user = maker->user;
	c->maker = maker->id;
	c->limits = maker->limits;
	memset(c->limits.guarantee, 0, sizeof(c->limits.guarantee));
	c->of = seq->id;
	c->tokens = tokens;
	model_export_waits(m, seq, c->writes);
	return model_share_all(m, seq, export, tokens, v);
}

/* Rows that work was to compute do not count: exports that were to have them are suspect. */
void model_exports_cut(struct model *m, const struct model_seq *seq, u64 tokens)
{
	u32 i;

	for (i = MODEL_CLIENTS; i < MODEL_FIRST_DEAD; i++) {
		struct model_client *c = &m->client[i];

		if (c->core && c->maker == m->client[seq->client].id && c->of == seq->id &&
		    c->tokens > tokens && model_export_open(m, i))
			c->suspect = true;
	}
}

static struct model_seq *model_seq_of(struct model *m, u32 export)
{
	u32 i;

	for (i = 0; i < MODEL_SEQS; i++)
		if (m->seq[i].live && m->seq[i].client == export)
			return &m->seq[i];
	return NULL;
}

struct model_seq *model_import(struct model *m, u32 client, u32 export,
			       struct model_verdict *v)
{
	struct model_seq *child, *seq;

	if (m->client[export].revoked) {
		model_may(v, -ESTALE, KVP_REASON_REVOKED);
		return NULL;
	}
	if (model_export_open(m, export))
		model_may(v, -EBUSY, KVP_REASON_FENCE_OPEN);
	else if (m->client[export].suspect)
		model_may(v, -EOWNERDEAD, KVP_REASON_MAKER_DEAD);
	seq = model_seq_of(m, export);
	child = model_share_all(m, seq, client, seq->tokens, v);
	m->client[export].imports += !!child;
	return child;
}

void model_revoke(struct model *m, u32 client, u32 export, struct model_verdict *v)
{
	const struct model_client *who = &m->client[client];
	struct model_client *c = &m->client[export];

	if (c->maker != who->id && !(who->rights & KVP_RIGHT_ADMIN))
		model_may(v, -EPERM, KVP_REASON_NO_EXPORT);
	if (v->nr || c->revoked)
		return;
	model_seq_free(m, model_seq_of(m, export));
	c->revoked = true;
}

void model_export_close(struct model *m, u32 export)
{
	if (!m->client[export].revoked)
		model_seq_free(m, model_seq_of(m, export));
	m->client[export].core = NULL;
}

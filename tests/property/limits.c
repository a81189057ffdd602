// SPDX-License-Identifier: MIT
/*
 * The reference model: limits of clients, and of users, who have what all their clients have
 * together.
 */
#include "model.h"

const struct model_limits *model_user_limits(const struct model *m, u32 user)
{
	return m->user[user].own ? &m->user[user].limits : &m->any;
}

/* Blocks charged to clients of a uid, the dead among them. */
u32 model_user_charged(const struct model *m, u32 family, u32 user)
{
	u32 nr = 0;
	u32 i;

	for (i = 0; i < m->nr_blocks; i++)
		nr += m->block[i].live && m->block[i].family == family && m->block[i].owner &&
		      m->block[i].user == user;
	for (i = 0; i < MODEL_CLIENTS; i++) {
		if (m->client[i].core && m->client[i].user == user)
			nr += model_reserve(m, i, family);
	}
	return nr;
}

static u32 model_has(const struct model *m, u32 client, enum model_thing thing)
{
	switch (thing) {
	case MODEL_OF_SLOTS:
		return model_slots(m, client);
	case MODEL_OF_SEQS:
		return model_seqs(m, client);
	case MODEL_OF_RAW:
		return model_raw(m, client);
	case MODEL_OF_MATCHES:
		return model_matches(m, client);
	case MODEL_OF_TICKETS:
		return model_tickets(m, client);
	default:
		return model_exports(m, client);
	}
}

/* Exports are counted where they are, not where they were made. */
u32 model_user_has(const struct model *m, u32 user, enum model_thing thing)
{
	u32 nr = 0;
	u32 i;

	for (i = thing == MODEL_OF_EXPORTS ? MODEL_CLIENTS : 0; i < MODEL_HOLDERS; i++)
		if ((m->client[i].core || m->client[i].dead) && m->client[i].user == user)
			nr += model_has(m, i, thing);
	return nr;
}

bool model_over_blocks(const struct model *m, u32 client, u32 family, u64 nr)
{
	const struct model_client *c = &m->client[client];
	u64 of_client = model_charged(m, family, c->id) + nr;
	u64 of_user = model_user_charged(m, family, c->user) + nr;

	return of_client > c->limits.blocks[family] ||
	       of_user > model_user_limits(m, c->user)->blocks[family];
}

/* A call that would take @nr more of a thing. */
void model_limit(const struct model *m, u32 client, enum model_thing thing, u64 nr,
		 struct model_verdict *v)
{
	static const u32 reasons[MODEL_THINGS] = {
		[MODEL_OF_SLOTS] = KVP_REASON_LIMIT_SLOTS,
		[MODEL_OF_SEQS] = KVP_REASON_LIMIT_SEQS,
		[MODEL_OF_RAW] = KVP_REASON_LIMIT_RAW,
		[MODEL_OF_MATCHES] = KVP_REASON_LIMIT_MATCHES,
		[MODEL_OF_EXPORTS] = KVP_REASON_LIMIT_EXPORTS,
		[MODEL_OF_TICKETS] = KVP_REASON_LIMIT_TICKETS,
	};
	const struct model_client *c = &m->client[client];

	if (nr && (model_has(m, client, thing) + nr > c->limits.max[thing] ||
		   model_user_has(m, c->user, thing) + nr >
		   model_user_limits(m, c->user)->max[thing]))
		model_may(v, -EDQUOT, reasons[thing]);
}

// SPDX-License-Identifier: MIT
/*
 * The property test: one random call on prefixes, by the core and by the model.
 */
#include "property.h"

void property_publish(struct run *r, u32 client, u64 id)
{
	struct kvp_prefix_publish arg = { }, out = { };
	struct model_verdict v;
	struct model_seq *seq;
	int err;

	arg.head.flags = below(r, 5) ? 0 : KVP_PUBLISH_KEEP;
	if (!below(r, 5))
		arg.limit = below(r, r->shape->max_tokens + 4);
	if (!below(r, 6))
		arg.tag = 1 + below(r, 3);
	property_begin(r, "publish");
	property_trace("client %u seq %llx flags %u limit %llu tag %u", client,
		       (unsigned long long)id, arg.head.flags, (unsigned long long)arg.limit,
		       arg.tag);
	err = kvpt_publish_with(r->model.client[client].core, id, arg.head.flags, arg.limit,
				arg.tag);
	property_end(r, err, &v);
	seq = property_may(r, client, KVP_RIGHT_PUBLISH, &v) ?
	      property_seq(r, client, id, &v) : NULL;
	if (seq)
		model_publish(&r->model, seq, &arg, &v, &out);
	if (!property_judge(r, &v))
		return;
	property_check_seq(r, seq);
	if (r->untold)
		return;
	if (kvpt.publish.published != out.published || kvpt.publish.nr_new != out.nr_new ||
	    kvpt.publish.nr_shared != out.nr_shared)
		model_bug("published %llu new %llu shared %llu, expected %llu %llu %llu",
			  (unsigned long long)kvpt.publish.published,
			  (unsigned long long)kvpt.publish.nr_new,
			  (unsigned long long)kvpt.publish.nr_shared,
			  (unsigned long long)out.published, (unsigned long long)out.nr_new,
			  (unsigned long long)out.nr_shared);
}

void op_publish(struct run *r, u32 client)
{
	property_publish(r, client, property_pick_seq(r, client));
}

/* The blocks that a match shows are those of the nodes of the model. */
static void property_check_match(struct run *r, const struct model_text *text, u32 family,
				 const u64 *ids, u64 matched)
{
	const struct model *m = &r->model;
	u32 parts = model_parts(m, family);
	int path[MODEL_RUNS];
	int block;
	u32 i;

	if (kvpt.match.matched != matched ||
	    kvpt.match.nr_blocks != matched / r->shape->index_tokens * parts)
		model_bug("matched %llu with %u blocks, expected %llu",
			  (unsigned long long)kvpt.match.matched, kvpt.match.nr_blocks,
			  (unsigned long long)matched);
	model_walk(m, text, 0, path);
	for (i = 0; i < kvpt.match.nr_blocks; i++) {
		block = m->node[path[i / parts]].part[family][i % parts];
		if (ids[i] != (block == NONE ? 0 : m->block[block].id))
			model_bug("matched block %u is %llx", i, (unsigned long long)ids[i]);
	}
}

void op_match(struct run *r, u32 client)
{
	u32 token[MODEL_TOKENS];
	u64 ids[MODEL_TOKENS];
	struct kvp_prefix_match arg = { };
	struct model_match *match = NULL;
	struct model_verdict v;
	struct model_text text;
	u64 matched = 0;
	int err;

	property_text(r, &text, token, property_length(r), 0);
	arg.head.flags = below(r, 3) && model_matches(&r->model, client) < MODEL_MATCHES ?
			 KVP_MATCH_HOLD : 0;
	arg.family = below(r, r->shape->nr);
	arg.blocks = property_addr(ids);
	arg.nr_blocks = MODEL_TOKENS;
	arg.extras = property_addr(property_extras(&text));
	arg.nr_extras = text.nr_extras;
	property_begin(r, "match");
	property_trace("client %u flags %u space %u tokens %u", client, arg.head.flags,
		       text.space, text.nr);
	err = kvpt_match_with(r->model.client[client].core, &arg, text.space,
			      text.nr ? token : NULL, text.nr);
	property_end(r, err, &v);
	model_match(&r->model, client, arg.head.flags, &text, &v, &matched, &match);
	if (!property_judge(r, &v))
		return;
	if (r->untold) {
		if (match)
			model_release(&r->model, match);
		return;
	}
	if (!match != !kvpt.match.match)
		model_bug("match is %llx", (unsigned long long)kvpt.match.match);
	if (match)
		match->id = kvpt.match.match;
	property_check_match(r, &text, arg.family, ids, matched);
}

void op_release(struct run *r, u32 client)
{
	struct model_client *c = &r->model.client[client];
	struct model_match *match = &c->match[below(r, MODEL_MATCHES)];
	struct model_verdict v;
	u32 i;
	u64 id;
	int err;

	for (i = 0; !match->live && i < MODEL_MATCHES; i++)
		match = &c->match[i];
	id = below(r, 32) ? match->id : kvpt_random(&r->random) >> 1;
	for (i = 0; i < MODEL_MATCHES; i++) {
		if (c->match[i].live && c->match[i].id == id)
			break;
	}
	property_begin(r, "release");
	property_trace("client %u match %llx", client, (unsigned long long)id);
	err = kvpt_release(c->core, id);
	property_end(r, err, &v);
	if (i == MODEL_MATCHES) {
		model_may(&v, -ENOENT, KVP_REASON_NO_MATCH);
		model_may(&v, -ESTALE, KVP_REASON_GENERATION);
	}
	if (property_judge(r, &v))
		model_release(&r->model, &c->match[i]);
}

void op_invalidate(struct run *r, u32 client)
{
	struct kvp_client *core = r->model.client[client].core;
	u32 how = 1U << below(r, 3);
	struct model_verdict v;
	struct model_text text;
	u32 token[MODEL_TOKENS];
	u32 tag = 1 + below(r, 3);
	u32 nr = below(r, 3) + 1;
	u64 cut;
	int err;

	property_text(r, &text, token, min_t(u32, nr * r->shape->index_tokens + !below(r, 16),
					     MODEL_TOKENS), 0);
	text.nr_extras = 0;
	property_begin(r, "invalidate");
	property_trace("client %u how %u space %u tokens %u tag %u", client, how, text.space,
		       text.nr, tag);
	if (how == KVP_INVALIDATE_SPACE)
		err = kvpt_invalidate_space(core, text.space);
	else if (how == KVP_INVALIDATE_PREFIX)
		err = kvpt_invalidate_prefix(core, text.space, token, text.nr);
	else
		err = kvpt_invalidate_tag(core, tag);
	property_end(r, err, &v);
	property_may(r, client, KVP_RIGHT_ADMIN, &v);
	cut = v.nr ? 0 : model_invalidate(&r->model, how, &text, tag, &v);
	if (property_judge(r, &v) && !r->untold && kvpt.invalidate.nr_subtrees != cut)
		model_bug("%llu subtrees cut, expected %llu",
			  (unsigned long long)kvpt.invalidate.nr_subtrees,
			  (unsigned long long)cut);
}

void op_reclaim(struct run *r, u32 client)
{
	u64 nodes = below(r, 6) ? below(r, 5) : ~0ULL;
	struct model_verdict v;
	u64 nr;
	int err;

	property_begin(r, "reclaim");
	property_trace("client %u nodes %lld", client, (long long)nodes);
	err = kvpt_reclaim(r->model.client[client].core, nodes);
	property_end(r, err, &v);
	if (property_may(r, client, KVP_RIGHT_ADMIN, &v) && !nodes)
		model_may(&v, -EINVAL, KVP_REASON_COUNT);
	if (!property_judge(r, &v))
		return;
	nr = model_reclaim(&r->model, nodes);
	if (!r->untold && kvpt.reclaim.nodes != nr)
		model_bug("%llu nodes reclaimed, expected %llu",
			  (unsigned long long)kvpt.reclaim.nodes, (unsigned long long)nr);
}

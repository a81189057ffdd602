// SPDX-License-Identifier: MIT
/*
 * The property test: one random call on limits, by the core and by the model.
 */
#include "property.h"

/* What can be limited: the bit, and how much at most where it is. */
static const struct {
	u32 bit;
	u32 most;
	enum model_thing thing;
} property_limits[] = {
	{ .bit = KVP_LIMIT_BLOCKS },
	{ .bit = KVP_LIMIT_GUARANTEE },
	{ KVP_LIMIT_SLOTS, 80, MODEL_OF_SLOTS },
	{ KVP_LIMIT_SEQS, 8, MODEL_OF_SEQS },
	{ KVP_LIMIT_RAW, 12, MODEL_OF_RAW },
	{ KVP_LIMIT_MATCHES, 5, MODEL_OF_MATCHES },
	{ KVP_LIMIT_EXPORTS, 4, MODEL_OF_EXPORTS },
};

static u64 property_limit_value(struct run *r, u32 which, u32 family)
{
	u32 bit = property_limits[which].bit;

	if (bit == KVP_LIMIT_GUARANTEE)
		return below(r, 2) ? 0 : below(r, r->shape->families[family].blocks / 3);
	if (below(r, 2))
		return KVP_UNLIMITED;
	if (bit == KVP_LIMIT_BLOCKS)
		return below(r, r->shape->families[family].blocks);
	return below(r, property_limits[which].most);
}

static void property_set_limit(struct model_limits *limits, u32 which, u32 family, u64 value)
{
	u32 bit = property_limits[which].bit;

	if (bit == KVP_LIMIT_BLOCKS)
		limits->blocks[family] = value;
	else if (bit == KVP_LIMIT_GUARANTEE)
		limits->guarantee[family] = value;
	else
		limits->max[property_limits[which].thing] = value;
}

/* The limits of a client (often of one that is gone), of those to come, or of an export (none). */
void op_limit(struct run *r, u32 client)
{
	u32 target = below(r, MODEL_HOLDERS + 1);
	bool all = target == MODEL_HOLDERS;
	struct model_client *c = &r->model.client[all ? 0 : target];
	u32 which = below(r, ARRAY_SIZE(property_limits));
	u32 bit = property_limits[which].bit;
	u32 family = below(r, r->shape->nr);
	u64 value = property_limit_value(r, which, family);
	u64 sum = value;
	struct model_verdict v;
	int err;
	u32 i;

	if (!all && !c->id)
		return;
	property_begin(r, "limit");
	property_trace("client %llu bit %u family %u value %lld",
		       all ? 0ULL : (unsigned long long)c->id, bit, family, (long long)value);
	err = kvpt_limit(r->model.client[client].core, all ? 0 : c->id, bit, family, value);
	property_end(r, err, &v);
	if (property_may(r, client, KVP_RIGHT_ADMIN, &v) && !all &&
	    (!c->core || target >= MODEL_CLIENTS))
		model_may(&v, -ENOENT, KVP_REASON_NO_CLIENT);
	for (i = 0; !all && i < MODEL_HOLDERS; i++)
		sum += i != target && r->model.client[i].core ?
		       r->model.client[i].limits.guarantee[family] : 0;
	if (bit == KVP_LIMIT_GUARANTEE && sum > r->shape->families[family].blocks)
		model_may(&v, -EFBIG, KVP_REASON_NEVER_FITS);
	if (property_judge(r, &v))
		property_set_limit(all ? &r->model.defaults : &c->limits, which, family, value);
}

/* The limits of a uid, or of all that have none of their own. */
void op_limit_uid(struct run *r, u32 client)
{
	u32 user = below(r, MODEL_USERS + 1);
	bool any = user == MODEL_USERS;
	u32 which = below(r, ARRAY_SIZE(property_limits));
	u32 bit = property_limits[which].bit;
	u32 family = below(r, r->shape->nr);
	u64 value = property_limit_value(r, which, family);
	struct model_user *u = &r->model.user[any ? 0 : user];
	struct model_verdict v;
	int err;

	/* Several clients share it. */
	if (value != KVP_UNLIMITED)
		value *= 2;
	property_begin(r, "limit of uid");
	property_trace("user %u bit %u family %u value %lld", user, bit, family,
		       (long long)value);
	err = kvpt_limit_uid(r->model.client[client].core, any ? KVP_UID_ANY : property_uid(user),
			     bit, family, value);
	property_end(r, err, &v);
	if (property_may(r, client, KVP_RIGHT_ADMIN, &v) && bit == KVP_LIMIT_GUARANTEE)
		model_may(&v, -EINVAL, KVP_REASON_VALUE);
	if (!property_judge(r, &v))
		return;
	if (!any && !u->own) {
		u->own = true;
		u->limits = r->model.any;
	}
	property_set_limit(any ? &r->model.any : &u->limits, which, family, value);
}

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
	{ KVP_LIMIT_TICKETS, 4, MODEL_OF_TICKETS },
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

/* One limit of the client at place @target, NONE: of those to come; asked for by @core. */
static void property_limit(struct run *r, struct kvp_client *core, bool admin, int target,
			   u32 which, u32 family, u64 value)
{
	struct model_client *c = &r->model.client[target == NONE ? 0 : target];
	u32 bit = property_limits[which].bit;
	u64 id = target == NONE ? 0 : c->id;
	struct model_verdict v;
	u64 sum = value;
	int err;
	u32 i;

	property_begin(r, "limit");
	property_trace("client %llu bit %u family %u value %lld", (unsigned long long)id, bit,
		       family, (long long)value);
	err = kvpt_limit(core, id, bit, family, value);
	property_end(r, err, &v);
	if (!admin)
		model_may(&v, -EACCES, KVP_REASON_RIGHT_ADMIN);
	else if (target != NONE && (!c->core || target >= MODEL_CLIENTS))
		model_may(&v, -ENOENT, KVP_REASON_NO_CLIENT);
	for (i = 0; target != NONE && i < MODEL_HOLDERS; i++)
		sum += i != target && r->model.client[i].core ?
		       r->model.client[i].limits.guarantee[family] : 0;
	if (bit == KVP_LIMIT_GUARANTEE && sum > r->shape->families[family].blocks)
		model_may(&v, -EFBIG, KVP_REASON_NEVER_FITS);
	if (property_judge(r, &v))
		property_set_limit(target == NONE ? &r->model.defaults : &c->limits, which, family,
				   value);
}

/* The limits of a client (often of one that is gone), of those to come, or of an export (none). */
void op_limit(struct run *r, u32 client)
{
	const struct model_client *c = &r->model.client[client];
	u32 target = below(r, MODEL_FIRST_DEAD + 1);
	bool all = target == MODEL_FIRST_DEAD;
	u32 which = below(r, ARRAY_SIZE(property_limits));
	u32 family = below(r, r->shape->nr);
	u64 value = property_limit_value(r, which, family);

	if (all || r->model.client[target].id)
		property_limit(r, c->core, c->rights & KVP_RIGHT_ADMIN, all ? NONE : target, which,
			       family, value);
}

/*
 * A ticket that waits for what is guaranteed to another, or is over its limit, is granted when that
 * limit changes, although no block comes back.
 */
void op_wait_limit(struct run *r, u32 client)
{
	u32 which = below(r, 2);	/* KVP_LIMIT_BLOCKS, KVP_LIMIT_GUARANTEE */
	u32 target = which ? (client + 1) % MODEL_CLIENTS : client;
	u32 family = below(r, r->shape->nr);
	u64 room = model_free_blocks(&r->model, family) + model_idle_blocks(&r->model, family);

	if (!room || !r->model.client[target].core)
		return;
	if (which) {
		property_limit(r, r->watcher, true, target, which, family, 1 + room / 2);
		property_check(r);
	}
	property_admit_queue(r, client, family, room);
	property_check(r);
	property_limit(r, r->watcher, true, target, which, family, 0);
	property_check(r);
	if (!which) {
		op_free(r, client);
		property_check(r);
		property_limit(r, r->watcher, true, target, which, family, KVP_UNLIMITED);
	}
}

/* The same when whoever it is guaranteed to leaves, and has nothing that would come back. */
void op_wait_leave(struct run *r, u32 client)
{
	u32 target = below(r, MODEL_CLIENTS);
	u32 family = below(r, r->shape->nr);
	u64 room = model_free_blocks(&r->model, family) + model_idle_blocks(&r->model, family);

	if (!room || r->model.client[target].core)
		return;
	property_join(r, target);
	property_check(r);
	if (!r->model.client[target].core)
		return;
	property_limit(r, r->watcher, true, target, 1, family, 1 + room / 2);
	property_check(r);
	property_admit_queue(r, client, family, room);
	property_check(r);
	property_leave(r, target);
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

// SPDX-License-Identifier: MIT
/*
 * The property test: calls that are malformed. Whatever the pool is like, they fail in one
 * way and change nothing.
 */
#include "property.h"

struct wrong {
	int err;
	u32 reason;
};

static int wrong_head(struct kvp_client *core, u32 how, struct wrong *expected)
{
	struct kvp_seq_advance *arg = &kvpt.advance;

	arg->seq = 1ULL << 32;
	switch (how) {
	case 0:
		*expected = (struct wrong){ -EINVAL, KVP_REASON_FLAG };
		arg->head.flags = 1U << 31;
		break;
	case 1:
		*expected = (struct wrong){ -EINVAL, KVP_REASON_SIZE };
		arg->head.size = sizeof(*arg) - 8;
		break;
	case 2:
		*expected = (struct wrong){ -E2BIG, KVP_REASON_SIZE };
		arg->head.size = sizeof(*arg) + 8;
		memset(arg + 1, 1, 1);
		return kvpt_call(core, KVP_OP_SEQ_ADVANCE, arg, sizeof(*arg) + 8);
	case 3:
		*expected = (struct wrong){ -EINVAL, KVP_REASON_BATCH_REF };
		arg->seq = KVP_REF(0);
		break;
	default:
		*expected = (struct wrong){ -ENOTTY, KVP_REASON_NONE };
		return kvpt_call(core, 0x3f, arg, sizeof(*arg));
	}
	return kvpt_call(core, KVP_OP_SEQ_ADVANCE, arg, arg->head.size ? arg->head.size :
			 sizeof(*arg));
}

static int wrong_array(struct kvp_client *core, u32 how, struct wrong *expected)
{
	u64 ids[2] = { };

	switch (how) {
	case 0:
		*expected = (struct wrong){ -EINVAL, KVP_REASON_COUNT };
		return kvpt_alloc(core, 0, 0, ids);
	case 1:
		*expected = (struct wrong){ -EOVERFLOW, KVP_REASON_COUNT };
		return kvpt_alloc(core, 0, KVP_MAX_CALL_BLOCKS + 1, ids);
	case 2:
		*expected = (struct wrong){ -EINVAL, KVP_REASON_FAMILY };
		return kvpt_alloc(core, KVP_MAX_FAMILIES, 1, ids);
	case 3:
		*expected = (struct wrong){ -EFAULT, KVP_REASON_POINTER };
		return kvpt_alloc(core, 0, 1, NULL);
	case 4:
		*expected = (struct wrong){ -EINVAL, KVP_REASON_ALIGNMENT };
		return kvpt_alloc(core, 0, 1, (u64 *)((char *)ids + 4));
	default:
		*expected = (struct wrong){ -EOVERFLOW, KVP_REASON_COUNT };
		return kvpt_create(core, 0, (u32 *)ids, KVP_MAX_CALL_TOKENS + 1, NULL);
	}
}

static int wrong_value(struct kvp_client *core, u32 how, struct wrong *expected)
{
	struct kvp_seq_create create = { .reserve = KVP_MAX_SEQ_TOKENS + 1 };

	switch (how) {
	case 0:
		*expected = (struct wrong){ -EINVAL, KVP_REASON_FAMILY };
		return kvpt_table(core, 1, KVP_MAX_FAMILIES, NULL, 0);
	case 1:
		*expected = (struct wrong){ -EINVAL, KVP_REASON_FLAG };
		kvpt.invalidate.head.flags = KVP_INVALIDATE_TAG | KVP_INVALIDATE_SPACE;
		return kvpt_do(core, KVP_OP_PREFIX_INVALIDATE, &kvpt.invalidate);
	case 2:
		*expected = (struct wrong){ -EINVAL, KVP_REASON_VALUE };
		return kvpt_invalidate_tag(core, 0);
	case 3:
		*expected = (struct wrong){ -EOVERFLOW, KVP_REASON_LENGTH };
		return kvpt_create_with(core, &create, 0, NULL, 0, NULL);
	case 4:
		*expected = (struct wrong){ -EINVAL, KVP_REASON_VALUE };
		return kvpt_limit(core, 0, KVP_LIMIT_ALL + 1, 0, 0);
	default:
		*expected = (struct wrong){ -EBUSY, KVP_REASON_ATTACHED };
		return kvpt_pool_attach(core, KVPT_POOL_NAME, 0);
	}
}

static int wrong_fence(struct kvp_client *core, u32 how, struct wrong *expected)
{
	struct kvp_use_entry entry = { .kind = KVP_USE_SEQ, .value = 1 };
	struct kvp_fence fence = { };

	switch (how) {
	case 0:
		*expected = (struct wrong){ -EINVAL, KVP_REASON_COUNT };
		kvpt.use.entries = property_addr(&entry);
		return kvpt_do(core, KVP_OP_USE, &kvpt.use);
	case 1:
		*expected = (struct wrong){ -EOVERFLOW, KVP_REASON_COUNT };
		kvpt.use.entries = property_addr(&entry);
		kvpt.use.nr_entries = KVP_MAX_CALL_BLOCKS + 1;
		return kvpt_do(core, KVP_OP_USE, &kvpt.use);
	case 2:
		*expected = (struct wrong){ -EFAULT, KVP_REASON_POINTER };
		kvpt.query.nr_fences = 1;
		return kvpt_do(core, KVP_OP_QUERY, &kvpt.query);
	case 3:
		*expected = (struct wrong){ -EINVAL, KVP_REASON_ALIGNMENT };
		kvpt.query.fences = property_addr(&fence) + 4;
		kvpt.query.nr_fences = 1;
		return kvpt_do(core, KVP_OP_QUERY, &kvpt.query);
	case 4:
		*expected = (struct wrong){ -EINVAL, KVP_REASON_RESERVED };
		kvpt.signal.reserved = 1;
		return kvpt_do(core, KVP_OP_SIGNAL, &kvpt.signal);
	default:
		*expected = (struct wrong){ -EINVAL, KVP_REASON_FLAG };
		kvpt.timeline_create.head.flags = 1;
		return kvpt_do(core, KVP_OP_TIMELINE_CREATE, &kvpt.timeline_create);
	}
}

static int wrong_admit(struct kvp_client *core, u32 how, struct wrong *expected)
{
	struct kvp_admit_need needs[2] = { { 0, 0, 1 }, { 0, 0, 1 } };

	*expected = (struct wrong){ -EINVAL, KVP_REASON_COUNT };
	kvpt.admit.needs = property_addr(needs);
	kvpt.admit.nr_needs = 1;
	switch (how) {
	case 0:
		*expected = (struct wrong){ -EINVAL, KVP_REASON_FLAG };
		kvpt.admit.head.flags = KVP_ADMIT_QUEUE | KVP_ADMIT_DROP;
		break;
	case 1:
		kvpt.admit.head.flags = KVP_ADMIT_QUEUE;
		kvpt.admit.nr_needs = 0;
		break;
	case 2:
		kvpt.admit.head.flags = KVP_ADMIT_TAKE;
		break;
	case 3:
		*expected = (struct wrong){ -EOVERFLOW, KVP_REASON_COUNT };
		kvpt.admit.nr_needs = KVP_MAX_FAMILIES + 1;
		break;
	case 4:
		*expected = (struct wrong){ -EINVAL, KVP_REASON_RESERVED };
		needs[0].reserved = 1;
		break;
	default:
		*expected = (struct wrong){ -EINVAL, KVP_REASON_DUPLICATE };
		kvpt.admit.nr_needs = 2;
		kvpt.admit.head.flags = KVP_ADMIT_QUEUE;
	}
	return kvpt_do(core, KVP_OP_ADMIT, &kvpt.admit);
}

void op_wrong(struct run *r, u32 client)
{
	static int (* const kinds[])(struct kvp_client *core, u32 how, struct wrong *expected) = {
		wrong_head, wrong_array, wrong_value, wrong_fence, wrong_admit,
	};
	struct kvp_client *core = r->model.client[client].core;
	u32 kind = below(r, ARRAY_SIZE(kinds));
	u32 how = below(r, 6);
	struct wrong expected;
	struct model_verdict v;
	int err;

	property_begin(r, "wrong");
	property_calm(r);
	property_trace("client %u kind %u how %u", client, kind, how);
	memset(&kvpt, 0, sizeof(kvpt));
	err = kinds[kind](core, how, &expected);
	property_end(r, err, &v);
	model_may(&v, expected.err, expected.reason);
	/* Some of them need more rights than the client may have. */
	property_may(r, client, KVP_RIGHT_ADMIN, &v);
	property_judge(r, &v);
}

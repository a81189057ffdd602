// SPDX-License-Identifier: MIT
/*
 * Malformed batches: entries that are batches, that lie in each other or in the list of entries,
 * that say what is not so of their struct, or name what no entry made.
 */
#include <string.h>

#include "malformed.h"

enum batch_kind {
	BATCH_NESTED,
	BATCH_ALONE,		/* operations that cannot be in one */
	BATCH_UNKNOWN,
	BATCH_IN_ENTRIES,
	BATCH_IN_ITSELF,
	BATCH_ONE_STRUCT,
	BATCH_LENGTH,
	BATCH_REF,
	BATCH_OVERLAP,
};

/* The entry that the call's second target is. */
static struct kvp_batch_entry *entry_of(struct mf_call *mf)
{
	struct kvp_batch_entry *entries = (void *)mf->call.mem[0];

	return mf->nr_targets > 1 && !mf->target[1].call->null ? &entries[mf->target[1].entry] :
								  NULL;
}

static bool set_op(struct mf_call *mf, struct kvp_batch_entry *entry, __u32 nr)
{
	struct mf_target *target = &mf->target[1];

	entry->op = nr;
	target->call->nr = nr;
	target->call->op = ct_op_find(nr);
	/* It has not the arrays of that operation. */
	memset(target->call->mem, 0, sizeof(target->call->mem));
	memset(target->call->room, 0, sizeof(target->call->room));
	target->must = true;
	mf->finished = true;
	return true;
}

static bool batch_alone(struct mf_call *mf, struct kvp_batch_entry *entry)
{
	static const __u32 alone[] = {
		KVP_OP_POOL_CREATE, KVP_OP_POOL_ATTACH, KVP_OP_POOL_DESTROY,
	};

	return set_op(mf, entry, alone[st_below(CT_SIZE(alone))]);
}

/* An entry whose struct is the list that it stands in. */
static bool batch_in_entries(struct mf_call *mf, struct kvp_batch_entry *entry)
{
	const __u32 nr = mf->call.room[0];

	entry->arg = (uintptr_t)mf->call.mem[0] + 4 * st_below(6 * nr);
	mf->target[1].blind = true;
	return true;
}

static bool batch_ref(struct mf_call *mf, struct kvp_batch_entry *entry)
{
	const __u64 refs[] = {
		mf->target[1].entry, mf->target[1].entry + 1, mf->call.room[0], 255, 256,
		KVP_REF_FLAG - 1, 1ULL << 32,
	};
	struct ct_call *call = mf->target[1].call;

	if (!call->op || !call->op->id || mf_field(&mf->target[1], 0, 4) < call->op->shape.size)
		return false;
	mf_set_field(&mf->target[1], call->op->id, 8, KVP_REF(refs[st_below(CT_SIZE(refs))]));
	mf->target[1].must = true;
	return true;
}

/* All entries are this one. */
static bool batch_one_struct(struct mf_call *mf, const struct kvp_batch_entry *entry)
{
	struct kvp_batch_entry *entries = (void *)mf->call.mem[0];
	const struct kvp_batch_entry all = *entry;
	__u32 i;

	for (i = 0; i < mf->call.room[0]; i++)
		entries[i] = all;
	mf->target[0].blind = true;
	return true;
}

/* The struct of the batch itself. */
static void point_to_batch(struct mf_call *mf, struct kvp_batch_entry *entry)
{
	entry->arg = mf->addr;
	entry->len = mf->len;
	mf->target[1].blind = true;
}

static bool batch(struct mf_call *mf, struct mf_target *target, __u64 kind)
{
	struct kvp_batch_entry *entry = entry_of(mf);

	if (!entry)
		return false;
	switch (kind) {
	case BATCH_NESTED:
		point_to_batch(mf, entry);
		return set_op(mf, entry, KVP_OP_BATCH);
	case BATCH_ALONE:
		return batch_alone(mf, entry);
	case BATCH_UNKNOWN:
		return set_op(mf, entry, st_once(2) ? 0x0a : 1U << 31 | st_below(256));
	case BATCH_IN_ENTRIES:
		return batch_in_entries(mf, entry);
	case BATCH_IN_ITSELF:
		point_to_batch(mf, entry);
		return true;
	case BATCH_ONE_STRUCT:
		return batch_one_struct(mf, entry);
	case BATCH_LENGTH:
		entry->len ^= 1U << st_below(32);
		mf->target[1].must = true;
		return true;
	case BATCH_REF:
		return batch_ref(mf, entry);
	default:
		/* Two structs that share bytes. */
		if (mf->target[1].entry == 0)
			return false;
		entry->arg = entry[-1].arg + 4 * (1 + st_below(4));
		mf->target[0].blind = true;
		mf->target[1].blind = true;
		return true;
	}
}

#define BATCH(name_, kind_)								\
	{ "batch-" name_, MF_CONTENTS, .op = KVP_OP_BATCH, .weight = 3, .apply = batch,	\
	  .arg = BATCH_##kind_ }

const struct mf_kind mf_batch_kinds[] = {
	BATCH("nested", NESTED),
	BATCH("alone", ALONE),
	BATCH("unknown", UNKNOWN),
	BATCH("in-entries", IN_ENTRIES),
	BATCH("in-itself", IN_ITSELF),
	BATCH("one-struct", ONE_STRUCT),
	BATCH("length", LENGTH),
	BATCH("ref", REF),
	BATCH("overlap", OVERLAP),
	{ }
};

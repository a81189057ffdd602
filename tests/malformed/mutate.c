// SPDX-License-Identifier: MIT
/*
 * A plausible call is made malformed: which kinds, in which order, and what is done so that
 * whatever the kernel then may write hits no memory of the program's. Owns the list of kinds.
 */
#include <string.h>

#include "malformed.h"

#define MAX_BLOCKS	512		/* of a family, in pools that calls make */
#define MAX_NODES	4096
#define MAX_TOKENS	64

__u32 mf_nr_kinds;
static const struct mf_kind *kinds[MF_MAX_KINDS];

static void add_kinds(const struct mf_kind *list)
{
	for (; list->name; list++) {
		if (mf_nr_kinds == MF_MAX_KINDS)
			ct_die("more than %d kinds", MF_MAX_KINDS);
		if (list->device && !mf_door->device)
			continue;
		if (list->ring && !mf_door->rings)
			continue;
		kinds[mf_nr_kinds++] = list;
	}
}

void mf_kinds_begin(void)
{
	add_kinds(mf_content_kinds);
	add_kinds(mf_memory_kinds);
	add_kinds(mf_batch_kinds);
	add_kinds(mf_device_kinds);
}

const struct mf_kind *mf_kind(__u32 index)
{
	return kinds[index];
}

static __u32 pick_kind(void)
{
	__u32 total = 0;
	__u32 i, pick;

	for (i = 0; i < mf_nr_kinds; i++)
		total += kinds[i]->weight;
	pick = st_below(total);
	for (i = 0; pick >= kinds[i]->weight; i++)
		pick -= kinds[i]->weight;
	return i;
}

/* ---- targets ---- */

__u64 mf_field(const struct mf_target *target, __u32 offset, __u32 size)
{
	return ct_get((__u8 *)mf_arg(target) + offset, size);
}

void mf_set_field(struct mf_target *target, __u32 offset, __u32 size, __u64 value)
{
	ct_put((__u8 *)mf_arg(target) + offset, size, value);
}

void mf_move(struct mf_target *target, void *where, __u64 addr, __u32 room)
{
	if (where)
		target->call->arg = where;
	*target->addr = addr;
	/* A size that is too short for a head is so anywhere. */
	if (target->readable)
		target->readable = room;
}

__u32 mf_readable(const struct ct_call *call)
{
	if (call->null || call->len < sizeof(struct kvp_head))
		return 0;
	return call->op ? call->op->shape.size : sizeof(struct kvp_head);
}

static void target_begin(struct mf_target *target, struct ct_call *call, __u64 *addr, __u32 *len,
			 int entry)
{
	*target = (struct mf_target) {
		.call = call,
		.addr = addr,
		.len = len,
		.home = call->arg,
		.entry = entry,
		.readable = mf_readable(call),
	};
}

static void pick_targets(struct mf_call *mf)
{
	struct kvp_batch_entry *entries = (void *)mf->call.mem[0];
	__u32 i;

	target_begin(&mf->target[0], &mf->call, &mf->addr, &mf->len, -1);
	mf->nr_targets = 1;
	if (mf->call.nr != KVP_OP_BATCH || !entries || !mf->call.room[0])
		return;
	i = st_below(mf->call.room[0]);
	target_begin(&mf->target[1], &st_entries[i], (void *)&entries[i].arg,
		     (void *)&entries[i].len, i);
	mf->nr_targets = 2;
}

/* ---- what must not hit the program ---- */

/* A count that was changed has room for as many elements. */
static void contain_array(const struct ct_call *call, const struct ct_array *array, __u32 i)
{
	__u64 pointer = ct_get(call->arg + array->pointer, 8);
	__u32 count = ct_get(call->arg + array->count, 4);
	__u64 mem = (uintptr_t)call->mem[i];

	if (count > call->room[i] && mem && pointer >= mem &&
	    pointer < mem + (__u64)call->room[i] * array->shape->size)
		ct_put(call->arg + array->pointer, 8,
		       (uintptr_t)mf_wide + (pointer & 7));
}

static void clamp(__u8 *at, __u32 size, __u64 good, __u64 max)
{
	__u64 value = ct_get(at, size);

	if (value > good && value <= max)
		ct_put(at, size, good);
}

/* A pool of many blocks is right, but not for the memory of a test's machine. */
static void contain_create(const struct ct_call *call)
{
	struct kvp_family_desc *family = (void *)call->mem[0];
	__u8 *arg = call->arg;
	__u32 i;

	clamp(arg + offsetof(struct kvp_pool_create, nodes), 8, MAX_NODES, ~0ULL);
	clamp(arg + offsetof(struct kvp_pool_create, extras), 8, MAX_NODES, ~0ULL);
	clamp(arg + offsetof(struct kvp_pool_create, index_tokens), 4, MAX_TOKENS,
	      KVP_MAX_CALL_TOKENS);
	for (i = 0; family && i < call->room[0]; i++) {
		clamp((__u8 *)&family[i].blocks, 8, MAX_BLOCKS, KVP_MAX_BLOCKS);
		clamp((__u8 *)&family[i].block_tokens, 4, MAX_TOKENS, KVP_MAX_BLOCK_TOKENS);
	}
}

static void contain(const struct ct_call *call)
{
	__u32 i;

	if (!call->op || call->null)
		return;
	for (i = 0; i < call->op->nr_arrays; i++)
		contain_array(call, &call->op->array[i], i);
	if (call->nr == KVP_OP_POOL_CREATE)
		contain_create(call);
}

/* Before the struct is moved to where it cannot be read: from then on no count changes. */
static void contain_all(struct mf_call *mf)
{
	__u32 i;

	if (mf->contained)
		return;
	mf->contained = true;
	contain(&mf->call);
	for (i = 0; mf->call.nr == KVP_OP_BATCH && i < mf->call.room[0]; i++)
		contain(&st_entries[i]);
}

/* ---- names ---- */

static char name_digit;			/* of this process's pools */

/* In a pool of its own a process has its own names; one that is there for all keeps its name. */
static void own_names(struct ct_call *call)
{
	const struct ct_field *field;
	__u32 i;

	if (!call->op || call->null)
		return;
	for (i = 0; i < call->op->shape.nr_fields; i++) {
		field = &call->op->shape.fields[i];
		if (field->kind == CT_NAME && !memcmp(call->arg + field->offset, "kc-", 3))
			call->arg[field->offset + 1] = name_digit;
	}
}

void mf_names(char digit)
{
	name_digit = digit;
}

/* ---- a call ---- */

enum mf_entrance mf_pick_entrance(void)
{
	__u32 pick = st_below(10);

	if (!mf_door->rings && mf_door->device)
		return MF_IOCTL;
	return pick < 5 ? MF_IOCTL : pick < 9 || !mf_door->device ? MF_URING : MF_ASYNC;
}

static void begin(struct mf_call *mf, struct st_slot *slot, __u32 nr)
{
	__u32 i;

	memset(mf, 0, offsetof(struct mf_call, call));
	ct_arena_reset();
	st_call_make(slot, &mf->call, nr);
	mf->slot = slot;
	mf->addr = mf->call.null ? 0 : (uintptr_t)mf->call.arg;
	mf->len = mf->call.len;
	mf->cmd = KVP_IOC(nr);
	mf->other_file = false;
	mf->entrance = mf_pick_entrance();
	mf->sqe_zero = 0;
	mf->sqe_flags = 0;
	mf->sqe_ioprio = 0;
	mf->company = MF_ALONE;
	mf->foreign = false;
	mf->contained = false;
	mf->finished = false;
	mf->nr_kinds = 0;
	own_names(&mf->call);
	for (i = 0; nr == KVP_OP_BATCH && i < mf->call.room[0]; i++)
		own_names(&st_entries[i]);
	pick_targets(mf);
}

/* One kind more, if it can be. */
static bool apply(struct mf_call *mf, __u32 index)
{
	const struct mf_kind *kind = kinds[index];
	struct mf_target *target = &mf->target[0];

	if (kind->op && kind->op != mf->call.nr)
		return false;
	if (kind->phase < MF_COMPANY && mf->nr_targets > 1 && kind->op != KVP_OP_BATCH &&
	    st_below(4))
		target = &mf->target[1];
	if (target->call->null)
		return false;
	if (kind->phase >= MF_STRUCT)
		contain_all(mf);
	if (!kind->apply(mf, target, kind->arg))
		return false;
	mf->kind[mf->nr_kinds++] = index;
	return true;
}

/* Fewer for what was picked late, so that the first one keeps its share. */
static void apply_more(struct mf_call *mf, enum mf_phase after)
{
	__u32 tries;
	__u32 index;

	for (tries = 0; tries < 4; tries++) {
		index = pick_kind();
		if (kinds[index]->phase < after || (after >= MF_STRUCT &&
						    kinds[index]->phase == after))
			continue;
		if (apply(mf, index))
			return;
	}
}

/* An operation that the client may call now, or the one that the kind is about. */
static __u32 pick_op(const struct st_slot *slot, const struct mf_kind *kind)
{
	if (kind && kind->op)
		return kind->op;
	return slot->attached ? st_attached_op(slot) : st_unattached_op();
}

void mf_make(struct mf_call *mf, struct st_slot *slot)
{
	const __u32 index = pick_kind();
	__u32 tries;

	if (st_once(4)) {
		begin(mf, slot, pick_op(slot, NULL));
		return;
	}
	for (tries = 0; tries < 12; tries++) {
		begin(mf, slot, pick_op(slot, kinds[index]));
		if (apply(mf, index))
			break;
	}
	if (mf->nr_kinds && !mf->finished && st_once(4))
		apply_more(mf, kinds[index]->phase);
	/* The second one may have undone the first. */
	for (tries = 0; mf->nr_kinds > 1 && tries < mf->nr_targets; tries++)
		mf->target[tries].must = false;
	contain_all(mf);
}

// SPDX-License-Identifier: MIT
/*
 * Pointers: to what is not there, in part or at all, or not for the caller; and arrays and structs
 * that lie in each other.
 */
#include <string.h>

#include "memory.h"

/* ---- of the struct ---- */

/* Its begin lies where memory is, the rest does not. A long one may have its end behind a hole. */
static bool split_struct(struct mf_target *target, bool hole)
{
	const __u32 bytes = target->call->op->shape.size;
	__u32 there = 4 * st_below(bytes / 4);
	__u8 *at;

	if (mf_field(target, 0, 4) < bytes)
		return false;
	if (hole && st_once(2)) {
		/* Only its tail, of zeros, is in the hole. */
		mf_set_field(target, 0, 4, MF_PAGE);
		*target->len = MF_PAGE;
		there = bytes + 4 * st_below((MF_PAGE - bytes) / 4);
		at = mf_before_hole(there);
		memset(at, 0, there);
		memcpy(at, mf_arg(target), bytes);
	} else {
		at = hole ? mf_before_hole(there) : mf_before_edge(there);
		memcpy(at, mf_arg(target), there);
	}
	/* A head that lies there is read back, a part of one is not. */
	if (there < sizeof(struct kvp_head))
		mf_move(target, NULL, (uintptr_t)at, 0);
	else
		mf_move(target, at, (uintptr_t)at, there);
	target->must = true;
	return true;
}

static bool odd_struct(struct mf_target *target)
{
	const __u32 bytes = target->call->op->shape.size;
	__u8 *room = ct_arena_room(CT_STRUCT_ROOM);
	const __u32 shift = 1 + st_below(7);

	if (mf_field(target, 0, 4) > MF_PAGE)
		return false;
	memcpy(room + shift, mf_arg(target), bytes);
	mf_move(target, room + shift, (uintptr_t)room + shift, bytes);
	/* A 32-bit caller aligns to 4. */
	target->must = shift != 4;
	return true;
}

/* In a page of the device; the counters cannot be written. */
static bool device_struct(struct mf_target *target, __u8 *page, bool written)
{
	const __u32 bytes = target->call->op->shape.size;
	const __u32 at = 8 * st_below((MF_PAGE - bytes) / 8);

	if (!page || target->entry >= 0)
		return false;
	if (written) {
		memcpy(page + at, mf_arg(target), bytes);
		mf_move(target, page + at, (uintptr_t)page + at, bytes);
	} else {
		mf_move(target, NULL, (uintptr_t)page + at, 0);
		target->must = true;
	}
	/* The kernel reads what is there as timelines, too: values that nobody announced. */
	target->blind = true;
	return true;
}

static bool place_struct(struct mf_call *mf, struct mf_target *target, __u64 place)
{
	__u32 bytes;

	if (!target->call->op)
		return false;
	bytes = target->call->op->shape.size;
	switch (place) {
	case MF_AT_ODD:
		return odd_struct(target);
	case MF_AT_EDGE:
	case MF_AT_HOLE:
		return split_struct(target, place == MF_AT_HOLE);
	case MF_AT_READONLY:
		mf_move(target, NULL, (uintptr_t)mf_readonly(mf_arg(target), bytes), 0);
		target->must = true;
		return true;
	case MF_AT_TIMELINES:
		return device_struct(target, mf_timelines, true);
	case MF_AT_COUNTERS:
		return device_struct(target, mf_counters, false);
	default:
		mf_move(target, NULL, mf_bad_address(place), 0);
		target->must = true;
		return true;
	}
}

/* ---- of an array ---- */

struct mf_array {
	const struct ct_array *array;
	__u8 *mem;
	__u32 nr;
	__u32 len;		/* bytes */
};

/* An array of the call that has elements. */
static bool pick_array(const struct mf_target *target, struct mf_array *picked)
{
	const struct ct_op *op = target->call->op;
	__u32 i;

	if (!op || !op->nr_arrays || mf_field(target, 0, 4) < op->shape.size)
		return false;
	i = st_below(op->nr_arrays);
	picked->array = &op->array[i];
	picked->mem = target->call->mem[i];
	picked->nr = target->call->room[i];
	picked->len = picked->nr * op->array[i].shape->size;
	return picked->nr && mf_field(target, picked->array->count, 4) == picked->nr &&
	       mf_field(target, picked->array->pointer, 8) == (uintptr_t)picked->mem;
}

static void point(struct mf_target *target, const struct mf_array *at, __u64 where)
{
	mf_set_field(target, at->array->pointer, 8, where);
	/* Results of entries are not where they are looked for. */
	if (target->call->nr == KVP_OP_BATCH)
		target->blind = true;
}

static bool split_array(struct mf_target *target, struct mf_array *at, bool hole)
{
	__u32 there;
	__u8 *where;

	if (at->len < 8 || at->len > MF_SPLIT)
		return false;
	there = 8 * st_below(at->len / 8);
	where = hole ? mf_before_hole(there) : mf_before_edge(there);
	memcpy(where, at->mem, there);
	if (hole && target->call->nr != KVP_OP_BATCH && st_once(2)) {
		/* Long enough to go on behind the hole, if that many are allowed. */
		at->nr = (there + 2 * MF_PAGE) / at->array->shape->size;
		if (at->nr <= at->array->max)
			mf_set_field(target, at->array->count, 4, at->nr);
	}
	point(target, at, (uintptr_t)where);
	target->must = true;
	return true;
}

static bool device_array(struct mf_target *target, struct mf_array *at, __u8 *page, bool written)
{
	if (!page || at->len > MF_PAGE)
		return false;
	if (written)
		memcpy(page, at->mem, at->len);
	else
		target->must = at->array->direction != CT_IN;
	point(target, at, (uintptr_t)page);
	target->blind = true;
	return true;
}

static bool place_array(struct mf_call *mf, struct mf_target *target, __u64 place)
{
	struct mf_array at;

	if (!pick_array(target, &at))
		return false;
	switch (place) {
	case MF_AT_ODD:
		point(target, &at, (uintptr_t)at.mem + 1 + 2 * st_below(2));
		target->must = true;
		return true;
	case MF_AT_EDGE:
	case MF_AT_HOLE:
		return split_array(target, &at, place == MF_AT_HOLE);
	case MF_AT_READONLY:
		if (at.len > MF_SPLIT)
			return false;
		point(target, &at, (uintptr_t)mf_readonly(at.mem, at.len));
		target->must = at.array->direction != CT_IN;
		return true;
	case MF_AT_TIMELINES:
		return device_array(target, &at, mf_timelines, true);
	case MF_AT_COUNTERS:
		return device_array(target, &at, mf_counters, false);
	default:
		point(target, &at, mf_bad_address(place));
		target->must = true;
		return true;
	}
}

/* ---- in each other ---- */

enum overlap {
	ARRAYS_IN_ONE,
	STRUCT_IN_ARRAY,
	ARRAY_IN_STRUCT,
};

static bool overlap(struct mf_call *mf, struct mf_target *target, __u64 how)
{
	const struct ct_op *op = target->call->op;
	struct mf_array at;
	__u32 i;

	if (target->entry >= 0 || target->call->nr == KVP_OP_BATCH || !pick_array(target, &at))
		return false;
	if (how == ARRAYS_IN_ONE) {
		if (op->nr_arrays < 2)
			return false;
		memmove(mf_wide, at.mem, at.len);
		for (i = 0; i < op->nr_arrays; i++)
			if (target->call->room[i])
				mf_set_field(target, op->array[i].pointer, 8,
					     (uintptr_t)mf_wide + 8 * st_below(3));
		return true;
	}
	/* Both in the wide room: an array that is written may be longer than the struct. */
	if (how == ARRAY_IN_STRUCT)
		point(target, &at, (uintptr_t)mf_wide + 8 * st_below(op->shape.size / 8));
	else
		point(target, &at, (uintptr_t)mf_wide);
	i = how == ARRAY_IN_STRUCT ? 0 : 8 * st_below(at.len / 8 + 1);
	memmove(mf_wide + i, mf_arg(target), op->shape.size);
	mf_move(target, mf_wide + i, (uintptr_t)mf_wide + i, op->shape.size);
	target->blind = true;
	return true;
}

/* ---- the table ---- */

#define PLACE(name_, place_)								\
	{ "struct-" name_, MF_STRUCT, .weight = 3, .apply = place_struct, .arg = (place_) }, \
	{ "array-" name_, MF_ARRAYS, .weight = 3, .apply = place_array, .arg = (place_) }
#define DEVICE(name_, place_)								\
	{ "struct-" name_, MF_STRUCT, .device = true, .weight = 3, .apply = place_struct,	\
	  .arg = (place_) },								\
	{ "array-" name_, MF_ARRAYS, .device = true, .weight = 3, .apply = place_array,	\
	  .arg = (place_) }

const struct mf_kind mf_memory_kinds[] = {
	PLACE("null", MF_AT_NULL),
	PLACE("kernel", MF_AT_KERNEL),
	PLACE("noncanonical", MF_AT_NONCANONICAL),
	PLACE("end", MF_AT_END),
	PLACE("unmapped", MF_AT_UNMAPPED),
	PLACE("odd", MF_AT_ODD),
	PLACE("edge", MF_AT_EDGE),
	PLACE("hole", MF_AT_HOLE),
	PLACE("readonly", MF_AT_READONLY),
	DEVICE("timelines", MF_AT_TIMELINES),
	DEVICE("counters", MF_AT_COUNTERS),
	{ "overlap-arrays", MF_ARRAYS, .weight = 2, .apply = overlap, .arg = ARRAYS_IN_ONE },
	{ "struct-in-array", MF_STRUCT, .weight = 2, .apply = overlap, .arg = STRUCT_IN_ARRAY },
	{ "array-in-struct", MF_STRUCT, .weight = 2, .apply = overlap, .arg = ARRAY_IN_STRUCT },
	{ }
};

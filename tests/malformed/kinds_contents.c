// SPDX-License-Identifier: MIT
/*
 * Malformed contents: sizes, flags, reserved fields, values at the edges of what is allowed, counts
 * that are too large, ids of others and of other things, descriptors of wrong kinds. Follows the
 * table of the contract (tests/contract/shapes.c), so that a new operation needs no line here.
 */
#include <string.h>

#include "malformed.h"

#define NEVER_BEFORE	24	/* bytes: no longer struct was ever so short */

/* ---- sizes ---- */

enum size_kind {
	SIZE_NONE,
	SIZE_SHORT,
	SIZE_ZERO_TAIL,
	SIZE_TAIL,
	SIZE_PAGE,
	SIZE_PAGE_TAIL,
	SIZE_ABOVE,
	SIZE_HUGE,
};

/* The struct in a room of its own, with a head that says @size and bytes behind it. */
static void resize(struct mf_target *target, __u32 size, __u32 tail)
{
	const __u32 bytes = target->call->op->shape.size;
	__u8 *room = ct_arena_room(CT_STRUCT_ROOM);

	memcpy(room, mf_arg(target), bytes);
	if (tail)
		room[tail] = 1 + st_below(255);
	mf_move(target, room, (uintptr_t)room, bytes);
	mf_set_field(target, offsetof(struct kvp_head, size), 4, size);
	*target->len = size;
}

static bool size_apply(struct mf_call *mf, struct mf_target *target, __u64 kind)
{
	__u32 bytes, tail;

	if (!target->call->op)
		return false;
	bytes = target->call->op->shape.size;
	tail = bytes + st_below(MF_PAGE - bytes);
	switch (kind) {
	case SIZE_NONE:
		resize(target, st_below(sizeof(struct kvp_head)), 0);
		/* It is not told where there is no room for a head. */
		target->readable = 0;
		target->must = true;
		break;
	case SIZE_SHORT:
		if (bytes == sizeof(struct kvp_head))
			return false;
		resize(target, sizeof(struct kvp_head) +
		       st_below(bytes - sizeof(struct kvp_head)), 0);
		if (mf_field(target, 0, 4) < NEVER_BEFORE)
			target->must = true;
		break;
	case SIZE_ZERO_TAIL:
		resize(target, tail + 1, 0);
		break;
	case SIZE_TAIL:
		resize(target, tail + 1 + st_below(MF_PAGE - tail), tail);
		target->must = true;
		break;
	case SIZE_PAGE:
		resize(target, MF_PAGE, 0);
		break;
	case SIZE_PAGE_TAIL:
		resize(target, MF_PAGE, MF_PAGE - 1);
		target->must = true;
		break;
	case SIZE_ABOVE:
		resize(target, MF_PAGE + 1 + st_below(3), 0);
		target->must = true;
		break;
	default:
		resize(target, st_once(2) ? ~0U - st_below(4) : 1U << (13 + st_below(19)), 0);
		target->must = true;
		break;
	}
	return true;
}

/* What stands beside the struct is not what it says itself. */
static bool size_differs(struct mf_call *mf, struct mf_target *target, __u64 arg)
{
	static const __u32 wrong[] = { 1, 4, 8, 64, 4096, 1U << 31, ~0U };

	if (target->entry < 0 && mf->entrance == MF_IOCTL) {
		mf->cmd = _IOC(st_below(4), KVP_IOC_MAGIC, mf->call.nr, st_below(1 << 14));
		return true;
	}
	*target->len += wrong[st_below(CT_SIZE(wrong))];
	/* Past 2^32 it is short again, and without room for a head nothing is told. */
	if (*target->len < sizeof(struct kvp_head))
		target->readable = 0;
	target->must = true;
	return true;
}

/* ---- flags, reserved fields ---- */

static bool flags_unknown(struct mf_call *mf, struct mf_target *target, __u64 arg)
{
	const __u32 at = offsetof(struct kvp_head, flags);
	__u32 bit = 1U << st_below(32);

	if (!target->call->op || target->call->op->flags & bit)
		return false;
	mf_set_field(target, at, 4, mf_field(target, at, 4) | bit);
	target->must = true;
	return true;
}

static bool flags_known(struct mf_call *mf, struct mf_target *target, __u64 arg)
{
	if (!target->call->op || !target->call->op->flags)
		return false;
	mf_set_field(target, offsetof(struct kvp_head, flags), 4,
		     target->call->op->flags & kvpt_random(&st.random));
	return true;
}

static bool is_reserved(const struct ct_field *field)
{
	return !strncmp(field->name, "reserved", 8);
}

static bool reserved(struct mf_call *mf, struct mf_target *target, __u64 arg)
{
	const struct ct_shape *shape;
	__u32 i;

	/* One operation has an output of that name. */
	if (!target->call->op || target->call->nr == KVP_OP_SEQ_CREATE)
		return false;
	shape = &target->call->op->shape;
	for (i = 0; i < shape->nr_fields; i++) {
		if (!is_reserved(&shape->fields[i]) || mf_field(target, 0, 4) < shape->size)
			continue;
		mf_set_field(target, shape->fields[i].offset, shape->fields[i].size,
			     1ULL << st_below(8 * shape->fields[i].size));
		target->must = true;
		return true;
	}
	return false;
}

/* ---- elements ---- */

/* An array with elements that the operation reads; NULL: none. */
static const struct ct_array *pick_array(const struct mf_target *target, __u8 **element)
{
	const struct ct_array *array;
	__u32 i;

	if (!target->call->op || !target->call->op->nr_arrays)
		return NULL;
	i = st_below(target->call->op->nr_arrays);
	array = &target->call->op->array[i];
	if (array->direction == CT_OUT || !target->call->room[i] ||
	    mf_field(target, array->count, 4) != target->call->room[i] ||
	    mf_field(target, 0, 4) < target->call->op->shape.size)
		return NULL;
	*element = target->call->mem[i] +
		   (size_t)st_below(target->call->room[i]) * array->shape->size;
	return array;
}

static bool element_reserved(struct mf_call *mf, struct mf_target *target, __u64 arg)
{
	const struct ct_array *array;
	const struct ct_field *field;
	__u8 *element;
	__u32 i;

	array = pick_array(target, &element);
	for (i = 0; array && i < array->shape->nr_fields; i++) {
		field = &array->shape->fields[i];
		if (!is_reserved(field))
			continue;
		ct_put(element + field->offset, field->size, 1ULL << st_below(8 * field->size));
		target->must = true;
		return true;
	}
	return false;
}

/* ---- values ---- */

static __u64 edge(__u32 size)
{
	static const __u64 edges[] = {
		0, 1, 2, 15, 16, 17, 63, 64, 255, 256, 257, 4095, 4096, 65535, 65536, 65537,
		(1 << 20) - 1, 1 << 20, (1 << 20) + 1, 1 << 24, (1 << 24) + 1, 0x7fffffff,
		0x80000000, 0xfffffffe, 0xffffffff, 1ULL << 32, (1ULL << 32) + 1, 1ULL << 40,
	};

	if (size < 8 || !st_once(3))
		return edges[st_below(CT_SIZE(edges))];
	return (st_once(2) ? 1ULL << 63 : 0) + st_below(5) - 2;
}

static void spoil_field(__u8 *at, const struct ct_field *field)
{
	__u64 value;

	if (field->size > 8) {
		at[st_below(field->size)] ^= 1 << st_below(8);
		if (st_once(3))
			memset(at, st_once(2) ? 'x' : 0xff, field->size);
		return;
	}
	value = ct_get(at, field->size);
	switch (st_below(4)) {
	case 0:
		value ^= 1ULL << st_below(8 * field->size);
		break;
	case 1:
		value += st_once(2) ? 1 : -1;
		break;
	default:
		value = edge(field->size);
		break;
	}
	ct_put(at, field->size, value);
}

static bool value(struct mf_call *mf, struct mf_target *target, __u64 arg)
{
	const struct ct_shape *shape;
	const struct ct_field *field;

	if (!target->call->op || !target->call->op->shape.nr_fields)
		return false;
	shape = &target->call->op->shape;
	field = &shape->fields[st_below(shape->nr_fields)];
	if (field->kind == CT_POINTER)
		return false;
	spoil_field((__u8 *)mf_arg(target) + field->offset, field);
	return true;
}

/* Lengths and positions that would overflow if something were added. */
static bool position(struct mf_call *mf, struct mf_target *target, __u64 arg)
{
	const struct ct_shape *shape;
	const struct ct_field *field;

	if (!target->call->op || !target->call->op->shape.nr_fields)
		return false;
	shape = &target->call->op->shape;
	field = &shape->fields[st_below(shape->nr_fields)];
	if (field->size != 8 || field->kind == CT_POINTER)
		return false;
	mf_set_field(target, field->offset, 8,
		     (1ULL << (st_once(3) ? 32 : 63) << st_below(2)) - 4 + st_below(9));
	return true;
}

static bool element(struct mf_call *mf, struct mf_target *target, __u64 arg)
{
	const struct ct_array *array;
	const struct ct_field *field;
	__u8 *at;

	array = pick_array(target, &at);
	if (!array)
		return false;
	field = &array->shape->fields[st_below(array->shape->nr_fields)];
	/* An entry of another operation would take what is no pointer of ours for one. */
	if (field->kind == CT_POINTER || !strcmp(field->name, "op"))
		return false;
	spoil_field(at + field->offset, field);
	return true;
}

/* The same element twice, or two in another order. */
static bool element_twice(struct mf_call *mf, struct mf_target *target, __u64 arg)
{
	const struct ct_array *array;
	__u8 *from, *to;
	__u32 i;

	if (!target->call->op || !target->call->op->nr_arrays || target->call->nr == KVP_OP_BATCH)
		return false;
	i = st_below(target->call->op->nr_arrays);
	array = &target->call->op->array[i];
	if (array->direction == CT_OUT || target->call->room[i] < 2)
		return false;
	from = target->call->mem[i] + (size_t)st_below(target->call->room[i]) *
	       array->shape->size;
	to = target->call->mem[i] + (size_t)st_below(target->call->room[i]) * array->shape->size;
	if (from == to)
		return false;
	memcpy(to, from, array->shape->size);
	return true;
}

/* More elements than one call may have, at a place that has room for one more than that. */
static bool count_above(struct mf_call *mf, struct mf_target *target, __u64 arg)
{
	const struct ct_array *array;
	__u64 counts[6];

	if (!target->call->op || !target->call->op->nr_arrays)
		return false;
	array = &target->call->op->array[st_below(target->call->op->nr_arrays)];
	counts[0] = array->max + 1;
	counts[1] = 1U << 31;
	counts[2] = ~0U;
	/* The bytes, cut to 32 bits, are few. */
	counts[3] = (1ULL << 32) / array->shape->size + 1;
	counts[4] = (1ULL << 31) / array->shape->size + 1;
	counts[5] = array->max + 2 + st_below(1 << 20);
	mf_set_field(target, array->count, 4, counts[st_below(CT_SIZE(counts))]);
	mf_set_field(target, array->pointer, 8, (uintptr_t)mf_wide);
	target->must = mf_field(target, 0, 4) >= target->call->op->shape.size;
	return true;
}

/* As many as there may be, at most. */
static bool count_most(struct mf_call *mf, struct mf_target *target, __u64 arg)
{
	const struct ct_array *array;
	__u32 i;

	if (!target->call->op || !target->call->op->nr_arrays || target->call->nr == KVP_OP_BATCH)
		return false;
	i = st_below(target->call->op->nr_arrays);
	array = &target->call->op->array[i];
	mf_set_field(target, array->count, 4, st_once(2) ? array->max : target->call->room[i] + 1);
	mf_set_field(target, array->pointer, 8, (uintptr_t)mf_wide);
	return true;
}

/* ---- ids ---- */

enum id_kind {
	ID_FOREIGN,		/* of another client */
	ID_OTHER,		/* of another thing */
	ID_OLD,
	ID_REF,			/* KVP_REF, without a batch */
	ID_BITS,
};

static bool is_id(const struct ct_field *field)
{
	static const char *const names[] = {
		"seq", "holder", "block", "match", "ticket", "id", "", "src", "export_id",
	};
	__u32 i;

	if (field->size != 8)
		return false;
	if (field->kind == CT_CLIENT || field->kind == CT_WHO || field->kind == CT_POOL)
		return true;
	for (i = 0; i < CT_SIZE(names); i++)
		if (!strcmp(field->name, names[i]))
			return true;
	return false;
}

static __u64 any_id(const struct st_slot *slot)
{
	switch (st_below(6)) {
	case 0:
		return slot->nr_matches ? slot->match[st_below(slot->nr_matches)] : 0;
	case 1:
		return slot->nr_raw ? slot->raw[st_below(slot->nr_raw)] : 0;
	case 2:
		return slot->nr_tickets ? slot->ticket[st_below(slot->nr_tickets)] : 0;
	case 3:
		return st_once(2) ? slot->client : slot->pool;
	default:
		return slot->nr_seqs ? slot->seq[st_below(slot->nr_seqs)].id : 0;
	}
}

static __u64 wrong_id(const struct mf_call *mf, __u64 was, enum id_kind kind)
{
	const struct st_slot *other = &st.slot[st_below(ST_SLOTS)];

	switch (kind) {
	case ID_FOREIGN:
		return other == mf->slot ? 0 : any_id(other);
	case ID_OTHER:
		return any_id(mf->slot);
	case ID_OLD:
		return st.nr_old ? st.old[st_below(st.nr_old < ST_OLD ? st.nr_old : ST_OLD)] : 0;
	case ID_REF:
		return KVP_REF(st_once(4) ? kvpt_random(&st.random) : st_below(4));
	default:
		return was ^ 1ULL << st_below(64);
	}
}

/* An id field of the struct, or of an element; NULL: none. */
static const struct ct_field *pick_id(struct mf_target *target, __u8 **at)
{
	const struct ct_shape *shape;
	const struct ct_array *array;
	const struct ct_field *field;

	if (!target->call->op)
		return NULL;
	shape = &target->call->op->shape;
	*at = mf_arg(target);
	if (st_once(3) || !shape->nr_fields) {
		array = pick_array(target, at);
		if (!array)
			return NULL;
		shape = array->shape;
	}
	field = &shape->fields[st_below(shape->nr_fields)];
	*at += field->offset;
	return is_id(field) ? field : NULL;
}

static bool id(struct mf_call *mf, struct mf_target *target, __u64 kind)
{
	const struct ct_op *op = target->call->op;
	const struct ct_field *field;
	__u64 wrong;
	__u8 *at;

	field = pick_id(target, &at);
	if (!field)
		return false;
	wrong = wrong_id(mf, ct_get(at, 8), kind);
	if (!wrong)
		return false;
	ct_put(at, 8, wrong);
	if (kind == ID_REF && op->id && at == (__u8 *)mf_arg(target) + op->id &&
	    target->entry < 0)
		target->must = true;
	return true;
}

/* ---- descriptors ---- */

static bool descriptor(struct mf_call *mf, struct mf_target *target, __u64 file)
{
	const struct ct_shape *shape;
	__u32 i;

	if (target->entry >= 0)
		return false;
	shape = &target->call->op->shape;
	for (i = 0; i < shape->nr_fields; i++)
		if (shape->fields[i].kind == CT_FD)
			mf_set_field(target, shape->fields[i].offset, 4, mf_file(file, mf));
	target->must = true;
	return true;
}

/* ---- the table ---- */

#define FILES(name_, file_)								\
	{ name_ "-as-backing", MF_CONTENTS, .weight = 2, .apply = descriptor, .arg = (file_), \
	  .op = KVP_OP_BACKING_ADD },							\
	{ name_ "-as-export", MF_CONTENTS, .weight = 2, .apply = descriptor, .arg = (file_), \
	  .op = KVP_OP_SEQ_IMPORT }

const struct mf_kind mf_content_kinds[] = {
	{ "size-none", MF_STRUCT, .weight = 4, .apply = size_apply, .arg = SIZE_NONE },
	{ "size-short", MF_STRUCT, .weight = 4, .apply = size_apply, .arg = SIZE_SHORT },
	{ "size-zero-tail", MF_STRUCT, .weight = 4, .apply = size_apply, .arg = SIZE_ZERO_TAIL },
	{ "size-tail", MF_STRUCT, .weight = 4, .apply = size_apply, .arg = SIZE_TAIL },
	{ "size-page", MF_STRUCT, .weight = 4, .apply = size_apply, .arg = SIZE_PAGE },
	{ "size-page-tail", MF_STRUCT, .weight = 4, .apply = size_apply, .arg = SIZE_PAGE_TAIL },
	{ "size-above", MF_STRUCT, .weight = 4, .apply = size_apply, .arg = SIZE_ABOVE },
	{ "size-huge", MF_STRUCT, .weight = 4, .apply = size_apply, .arg = SIZE_HUGE },
	{ "size-differs", MF_COMPANY, .weight = 4, .apply = size_differs },
	{ "flags-unknown", MF_CONTENTS, .weight = 4, .apply = flags_unknown },
	{ "flags-known", MF_CONTENTS, .weight = 4, .apply = flags_known },
	{ "reserved", MF_CONTENTS, .weight = 4, .apply = reserved },
	{ "element-reserved", MF_CONTENTS, .weight = 4, .apply = element_reserved },
	{ "value", MF_CONTENTS, .weight = 12, .apply = value },
	{ "position", MF_CONTENTS, .weight = 8, .apply = position },
	{ "element", MF_CONTENTS, .weight = 8, .apply = element },
	{ "element-twice", MF_CONTENTS, .weight = 4, .apply = element_twice },
	{ "count-above", MF_ARRAYS, .weight = 4, .apply = count_above },
	{ "count-most", MF_ARRAYS, .weight = 2, .apply = count_most },
	{ "id-foreign", MF_CONTENTS, .weight = 4, .apply = id, .arg = ID_FOREIGN },
	{ "id-other", MF_CONTENTS, .weight = 4, .apply = id, .arg = ID_OTHER },
	{ "id-old", MF_CONTENTS, .weight = 4, .apply = id, .arg = ID_OLD },
	{ "id-ref", MF_CONTENTS, .weight = 4, .apply = id, .arg = ID_REF },
	{ "id-bits", MF_CONTENTS, .weight = 4, .apply = id, .arg = ID_BITS },
	FILES("closed", MF_FD_CLOSED),
	FILES("device", MF_FD_DEVICE),
	FILES("pipe", MF_FD_PIPE),
	FILES("file", MF_FD_REGULAR),
	FILES("other-export", MF_FD_OTHER),
	{ }
};

// SPDX-License-Identifier: MIT
/*
 * Malformed calls. Only what every door can meet: a pointer that is neither null nor good would
 * end the process where the core is in it.
 */
#include "stream.h"

static void spoil_size(struct ct_call *call)
{
	struct kvp_head *head = (void *)call->before;

	switch (st_below(9)) {
	case 0:
		head->size -= 8;
		break;
	case 1:
		head->size += 8;
		break;
	case 2:
		head->size += 8;
		call->tail = 1 + st_below(8);
		break;
	case 3:
		head->size = st_below(16);
		break;
	case 4:
		head->size = 16;
		break;
	case 5:
		head->size = 4096;
		break;
	case 6:
		head->size = 4096;
		call->tail = 1 + st_below(3000);
		break;
	case 7:
		head->size = 4097;
		break;
	default:
		head->size = ~0U;
		break;
	}
}

static void spoil_flags(struct ct_call *call)
{
	struct kvp_head *head = (void *)call->before;

	head->flags |= 1U << st_below(32);
}

static void spoil_reserved(struct ct_call *call)
{
	const struct ct_field *field;
	__u32 i;

	for (i = 0; i < call->op->shape.nr_fields; i++) {
		field = &call->op->shape.fields[i];
		/* In two operations an output has this name. */
		if (!__builtin_strcmp(field->name, "reserved"))
			ct_put((__u8 *)call->before + field->offset, field->size, 1);
	}
}

static void spoil_array(struct ct_call *call)
{
	const struct ct_array *array;
	__u8 *before = (__u8 *)call->before;
	__u32 i;

	if (!call->op->nr_arrays)
		return;
	i = st_below(call->op->nr_arrays);
	array = &call->op->array[i];
	switch (st_below(6)) {
	case 0:
		ct_put(before + array->pointer, 8, 0);
		break;
	case 1:
		/* A pointer that is not looked at while the count is 0. */
		ct_put(before + array->count, 4, 0);
		break;
	case 2:
		ct_put(before + array->count, 4, array->max + 1);
		break;
	case 3:
		ct_put(before + array->count, 4, ~0U);
		break;
	case 4:
		if (call->room[i])
			ct_put(before + array->pointer, 8, (uintptr_t)call->mem[i] + 1);
		break;
	default:
		/* It would end beyond the last address. */
		if (call->room[i])
			ct_put(before + array->pointer, 8,
			       -(__u64)(array->shape->size < 8 ? array->shape->size : 8));
		break;
	}
}

void st_spoil(struct ct_call *call)
{
	switch (st_below(7)) {
	case 0:
		call->null = true;
		break;
	case 1:
		call->shift = 1 + st_below(7);
		break;
	case 2:
		if (call->op)
			spoil_reserved(call);
		break;
	case 3:
		spoil_flags(call);
		break;
	case 4:
	case 5:
		if (call->op)
			spoil_array(call);
		break;
	default:
		spoil_size(call);
		break;
	}
}

// SPDX-License-Identifier: MIT
/*
 * One call of the stream: its struct and arrays in an arena, with guards, before and after. Owns
 * the arena.
 */
#include <string.h>

#include "contract.h"

#define ARENA_BYTES	(4 << 20)
#define GUARD_BYTES	64
#define GUARD		0xa5
#define MAX_ROOMS	2048

static __u8 arena[ARENA_BYTES] __attribute__((aligned(64)));
static size_t arena_used;
static __u8 *guards[MAX_ROOMS];
static __u32 nr_guards;

void ct_arena_reset(void)
{
	arena_used = 0;
	nr_guards = 0;
}

void *ct_arena_room(size_t len)
{
	__u8 *room = arena + arena_used;
	size_t used = (len + 63) & ~(size_t)63;

	arena_used += used + GUARD_BYTES;
	if (arena_used > ARENA_BYTES || nr_guards == MAX_ROOMS)
		ct_die("the arena is full");
	memset(room, 0, used);
	guards[nr_guards] = room + len;
	memset(guards[nr_guards++], GUARD, used - len + GUARD_BYTES);
	return room;
}

void ct_arena_check(void)
{
	__u32 i, k;

	for (i = 0; i < nr_guards; i++)
		for (k = 0; k < GUARD_BYTES; k++)
			if (guards[i][k] != GUARD)
				ct_die("the call wrote %u bytes behind what it was given", k + 1);
}

void ct_call_begin(struct ct_call *call, __u32 nr)
{
	struct kvp_head *head = (void *)call->before;

	memset(call, 0, sizeof(*call));
	call->nr = nr;
	call->op = ct_op_find(nr);
	head->size = call->op ? call->op->shape.size : sizeof(*head);
}

void *ct_call_array(struct ct_call *call, __u32 i, __u32 nr)
{
	const struct ct_array *array = &call->op->array[i];
	__u8 *before = (__u8 *)call->before;

	call->mem[i] = NULL;
	call->room[i] = nr;
	if (nr)
		call->mem[i] = ct_arena_room((size_t)nr * array->shape->size);
	ct_put(before + array->pointer, 8, (uintptr_t)call->mem[i]);
	ct_put(before + array->count, 4, nr);
	return call->mem[i];
}

static __u32 struct_bytes(const struct ct_call *call)
{
	return call->op ? call->op->shape.size : sizeof(struct kvp_head);
}

void ct_call_place(struct ct_call *call)
{
	const struct kvp_head *head = (void *)call->before;
	__u32 bytes = struct_bytes(call);
	__u32 room = bytes;
	__u32 i;

	if (head->size > bytes)
		room = head->size < CT_STRUCT_ROOM ? head->size : CT_STRUCT_ROOM;
	call->arg = (__u8 *)ct_arena_room(room + call->shift) + call->shift;
	memcpy(call->arg, call->before, bytes);
	if (call->tail)
		call->arg[bytes + call->tail - 1] = 1;
	call->len = head->size;
	for (i = 0; call->op && i < call->op->nr_arrays; i++)
		call->sum[i] = ct_array_sum(call, i);
}

void ct_call_take(struct ct_call *call)
{
	memcpy(call->after, call->arg, struct_bytes(call));
}

void ct_call_send(struct ct_conn *conn, struct ct_call *call)
{
	call->result = ct_door->call(conn, call->nr, call->null ? NULL : call->arg, call->len);
	ct_arena_check();
	ct_call_take(call);
	ct_count(call);
}

// SPDX-License-Identifier: MIT
/*
 * The transcript: what a call got and gave, without what may differ from run to run. Owns the
 * names of clients and pools, whose numbers depend on what was on the host before.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "contract.h"

#define MAX_NAMES	65536
#define SHOWN		2		/* elements of an array that are printed, not only summed */
#define VALUE_LEN	(4 * KVP_NAME_LEN + 16)

/* Numbers above are no ids of the core: the stream made them up. */
#define MAX_ID		(1ULL << 32)

FILE *ct_output;

static __u64 said;			/* lines of the transcript so far */

struct names {
	__u64 id[MAX_NAMES];
	__u32 nr;
};

static struct names clients, pools;

void ct_die(const char *fmt, ...)
{
	va_list args;

	if (ct_output)
		fflush(ct_output);
	fprintf(stderr, "contract: line %llu: ", said);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

void ct_say(const char *fmt, ...)
{
	va_list args;

	fprintf(ct_output, "%llu ", ++said);
	va_start(args, fmt);
	vfprintf(ct_output, fmt, args);
	va_end(args);
	fputc('\n', ct_output);
}

/* The how manieth of the ids seen, from 1 on. */
static __u64 name_of(struct names *names, __u64 id)
{
	__u32 i;

	if (!id || id >= MAX_ID)
		return id;
	for (i = names->nr; i; i--)
		if (names->id[i - 1] == id)
			return i;
	if (names->nr == MAX_NAMES)
		ct_die("too many names");
	names->id[names->nr++] = id;
	return names->nr;
}

void ct_digest(__u8 *digest, __u32 number)
{
	memset(digest, 0, KVP_DIGEST_LEN);
	memcpy(digest, &number, sizeof(number));
}

static __u64 sum_bytes(const __u8 *at, __u32 len)
{
	__u64 sum = 0xcbf29ce484222325ULL;

	while (len--)
		sum = (sum ^ *at++) * 0x100000001b3ULL;
	return sum;
}

/* A digest that ct_digest() made is its number. */
static __u64 digest_number(const __u8 *digest)
{
	__u8 plain[KVP_DIGEST_LEN];
	__u32 number;

	memcpy(&number, digest, sizeof(number));
	ct_digest(plain, number);
	if (memcmp(plain, digest, sizeof(plain)))
		return sum_bytes(digest, sizeof(plain)) | 1ULL << 63;
	return number;
}

/* The field as a number that is the same in every run. */
static __u64 field_value(const struct ct_field *field, const __u8 *at, bool of_uid)
{
	const __u8 *where = at + field->offset;

	switch (field->kind) {
	case CT_SPACE:
		return digest_number(where);
	case CT_NAME:
		return sum_bytes(where, field->size);
	case CT_POINTER:
	case CT_HIDDEN:
		return 0;
	case CT_FD:
		return (__s32)ct_get(where, 4) >= 0;
	case CT_FEATURES:
		return ct_get(where, 8) & (KVP_FEATURE_SEQ | KVP_FEATURE_EVENTS |
				       KVP_FEATURE_FENCE | KVP_FEATURE_ADMIT |
				       KVP_FEATURE_REMAP);
	case CT_WHO:
		return of_uid ? ct_get(where, 8) : name_of(&clients, ct_get(where, 8));
	case CT_CLIENT:
		return name_of(&clients, ct_get(where, 8));
	case CT_POOL:
		return name_of(&pools, ct_get(where, 8));
	default:
		return ct_get(where, field->size);
	}
}

static void text_name(char *text, const __u8 *at, __u32 len)
{
	__u32 i;

	for (i = 0; i < len && at[i]; i++)
		text += at[i] > ' ' && at[i] < 0x7f ? sprintf(text, "%c", at[i]) :
						      sprintf(text, "\\x%02x", at[i]);
	*text = 0;
}

/* Empty where the field says nothing. */
static void field_text(char *text, const struct ct_field *field, const __u8 *at, bool of_uid)
{
	__u64 value = field_value(field, at, of_uid);

	text[0] = 0;
	if (field->kind == CT_NAME)
		text_name(text, at + field->offset, field->size);
	else if (!value)
		return;
	else if (field->kind == CT_NUMBER && field->size == 4)
		sprintf(text, "%d", (__s32)value);
	else if (field->kind == CT_NUMBER)
		sprintf(text, "%lld", (long long)value);
	else
		sprintf(text, "%llx", value);
}

/* Before, and after where that is something else. */
static void print_fields(const struct ct_shape *shape, const void *before, const void *after,
			 bool of_uid)
{
	char old[VALUE_LEN], now[VALUE_LEN];
	__u32 i;

	for (i = 0; i < shape->nr_fields; i++) {
		field_text(old, &shape->fields[i], before, of_uid);
		field_text(now, &shape->fields[i], after, of_uid);
		if (!old[0] && !now[0])
			continue;
		fprintf(ct_output, " %s=%s", shape->fields[i].name, old);
		if (strcmp(old, now))
			fprintf(ct_output, ">%s", now);
	}
}

__u32 ct_array_sum(const struct ct_call *call, __u32 i)
{
	const struct ct_shape *shape = call->op->array[i].shape;
	__u64 sum = 0xcbf29ce484222325ULL;
	const __u8 *at = call->mem[i];
	__u32 k, f;

	for (k = 0; k < call->room[i]; k++, at += shape->size)
		for (f = 0; f < shape->nr_fields; f++)
			sum = (sum ^ field_value(&shape->fields[f], at, false)) *
			      0x100000001b3ULL;
	return sum ^ sum >> 32;
}

static void print_array(const struct ct_call *call, __u32 i)
{
	const struct ct_array *array = &call->op->array[i];
	const __u8 *at = call->mem[i];
	__u32 sum = ct_array_sum(call, i);
	__u32 k;

	if (sum != call->sum[i] && (array->direction == CT_IN ||
				    (call->result && !ct_door->in_place)))
		ct_die("the call changed \"%s\"", array->name);
	/* After a failure the array says nothing: in place it may be half written. */
	if (call->result)
		sum = call->sum[i];
	fprintf(ct_output, " %s[%u]#%08x", array->name, call->room[i], sum);
	for (k = 0; sum != call->sum[i] && k < call->room[i] && k < SHOWN; k++) {
		fprintf(ct_output, "{");
		print_fields(array->shape, at, at, false);
		fprintf(ct_output, " }");
		at += array->shape->size;
	}
}

#define OP(name, value)
#define REASON(name, value)	case value: return #name;
const char *ct_reason_name(__u32 reason)
{
	switch (reason) {
#include "values.h"
	default:
		return "UNKNOWN";
	}
}

static void print_result(int result)
{
	const char *name = result < 0 ? strerrorname_np(-result) : NULL;

	if (!result)
		fprintf(ct_output, " ok");
	else if (name)
		fprintf(ct_output, " %s", name);
	else
		fprintf(ct_output, " result %d", result);
}

static void print_one(const struct ct_call *call)
{
	const struct kvp_head *before = (void *)call->before;
	const struct kvp_head *after = (void *)call->after;
	__u32 i;

	if (call->op)
		fprintf(ct_output, " %s", call->op->name);
	else
		fprintf(ct_output, " op-%02x", call->nr);
	print_result(call->result);
	if (after->reason)
		fprintf(ct_output, "/%s", ct_reason_name(after->reason));
	if (after->where)
		fprintf(ct_output, " where=%x", after->where);
	if (call->null)
		fprintf(ct_output, " null");
	if (call->shift)
		fprintf(ct_output, " shift=%u", call->shift);
	if (!call->op || before->size != call->op->shape.size || before->size != after->size)
		fprintf(ct_output, " size=%u>%u", before->size, after->size);
	if (before->flags || after->flags)
		fprintf(ct_output, " flags=%x>%x", before->flags, after->flags);
	if (!call->op)
		return;
	print_fields(&call->op->shape, before, after, before->flags & call->op->flags &&
		     (call->nr == KVP_OP_LIMIT || call->nr == KVP_OP_STATS));
	for (i = 0; i < call->op->nr_arrays; i++)
		if (call->mem[i])
			print_array(call, i);
}

void ct_print_call(__u32 slot, const struct ct_call *call, const struct ct_call *entries)
{
	__u32 i;

	fprintf(ct_output, "%llu s%u", ++said, slot);
	print_one(call);
	fputc('\n', ct_output);
	for (i = 0; entries && i < call->room[0]; i++) {
		fprintf(ct_output, "%llu.%u", said, i);
		print_one(&entries[i]);
		fputc('\n', ct_output);
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * What the files of the contract test offer each other. One thread; all state is the program's.
 *
 * The program makes a deterministic stream of calls and sends it through one door. What it
 * prints, the transcript, must be the same through every door: so it prints all that the contract
 * says, and nothing that depends on anything else (shapes.c names the fields left out, and why).
 */
#ifndef KVP_CONTRACT_H
#define KVP_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <linux/kvpool.h>

#include "random.h"

#define CT_SIZE(array)		(sizeof(array) / sizeof((array)[0]))
#define CT_STRUCT_ROOM		4352	/* of a struct in the arena: a page, and a tail beyond it */
#define CT_ARG_BYTES		384	/* of the longest struct that shapes.c knows */
#define CT_MAX_ARRAYS		3
#define CT_MAX_ENTRIES		80	/* of a batch that has entries */

/* ---- doors (door_*.c) ---- */

struct ct_conn;

/**
 * struct ct_door - a way to the core
 * @name: for --door
 * @device: it is the character device
 * @in_place: the core works in the caller's arrays; otherwise in copies
 * @begin: once, before the first client; false where this machine has no such door
 * @open: a client of this uid, with gid 0; ends the program where that fails
 * @call: one operation: what it returned, unchanged
 * @chain: @nr operations of which each is executed only if the one before succeeded; or NULL
 * @close: its end, and what it held has come back
 * @end: after the last client, or NULL
 */
struct ct_door {
	const char *name;
	bool device;
	bool in_place;
	bool (*begin)(const struct ct_door *door);
	struct ct_conn *(*open)(__u32 uid);
	int (*call)(struct ct_conn *conn, __u32 nr, void *arg, __u32 len);
	void (*chain)(struct ct_conn *conn, const __u32 *nr, void *const *arg, int *result,
		      __u32 n);
	void (*close)(struct ct_conn *conn);
	void (*end)(void);
};

/* Those of this program; the last one is NULL (doors.c, doors_ioctl.c). */
extern const struct ct_door *const ct_doors[];
extern const struct ct_door *ct_door;		/* the one of this run */

/* False: this machine has no device (device.c). */
bool ct_device_begin(const struct ct_door *door);
/* Open the device as @uid. */
int ct_device_open(__u32 uid);
/* Open files of clients and exports: references of the module, until their release is over. */
int ct_device_files(void);
/* Until there are no more than @files. */
void ct_device_wait(int files);
/* Close a client's or an export's, and wait until what it held has come back. */
void ct_device_close(int fd);

/* ---- the contract as a table (shapes.c) ---- */

enum ct_kind {
	CT_NUMBER,
	CT_HEX,
	CT_SPACE,		/* a digest */
	CT_NAME,
	CT_CLIENT,		/* printed as which of the ids seen it is */
	CT_WHO,			/* a client; a uid where head.flags says so */
	CT_POOL,
	CT_POINTER,		/* never printed */
	CT_FD,			/* only whether it is one */
	CT_FEATURES,		/* those that every door has */
	CT_HIDDEN,		/* may differ */
};

struct ct_field {
	const char *name;
	__u16 offset;
	__u16 size;
	enum ct_kind kind;
};

/* An element of an array, or a struct of a call. */
struct ct_shape {
	__u32 size;
	__u32 nr_fields;
	const struct ct_field *fields;
};

enum ct_direction {
	CT_IN,
	CT_OUT,
	CT_INOUT,
};

struct ct_array {
	const char *name;
	__u16 pointer;
	__u16 count;
	__u32 max;
	enum ct_direction direction;
	const struct ct_shape *shape;
};

struct ct_op {
	__u32 nr;
	const char *name;
	struct ct_shape shape;
	__u32 flags;		/* all that the operation knows */
	__u32 id;		/* offset of the id that may be a KVP_REF, or 0 */
	__u32 made;		/* offset of the id of what it made, or 0 */
	__u32 nr_arrays;
	struct ct_array array[CT_MAX_ARRAYS];
};

extern const struct ct_op ct_ops[];
extern const __u32 ct_nr_ops;

const struct ct_op *ct_op_find(__u32 nr);
/* The table has every byte of every struct, once; ends the program where not. */
void ct_shapes_check(void);

/* ---- one call (call.c) ---- */

/**
 * struct ct_call - a call, before and after
 * @nr: number of the operation
 * @op: the operation, NULL: there is none of that number
 * @null: the call gets a null pointer
 * @shift: bytes that the struct lies beside an aligned place
 * @tail: byte behind the struct that is not zero, 0: none
 * @before: the struct as it was given
 * @after: the struct as it came back
 * @arg: where it lies
 * @len: its size, as io_uring and batches say it
 * @mem: the arrays
 * @room: elements of each that lie in the arena
 * @sum: of each, before the call
 * @result: of the call
 */
struct ct_call {
	__u32 nr;
	const struct ct_op *op;
	bool null;
	__u32 shift;
	__u32 tail;
	__u64 before[CT_ARG_BYTES / 8];
	__u64 after[CT_ARG_BYTES / 8];
	__u8 *arg;
	__u32 len;
	__u8 *mem[CT_MAX_ARRAYS];
	__u32 room[CT_MAX_ARRAYS];
	__u32 sum[CT_MAX_ARRAYS];
	int result;
};

/* Forget all memory of earlier calls. */
void ct_arena_reset(void);
/* Zeroed, 64-aligned, with a guard behind it. */
void *ct_arena_room(size_t len);
/* Nothing was written behind what was given out. */
void ct_arena_check(void);

/* A struct of operation @nr, all zero but its size. */
void ct_call_begin(struct ct_call *call, __u32 nr);
/* Array @i gets @nr elements in the arena. */
void *ct_call_array(struct ct_call *call, __u32 i, __u32 nr);
/* @before is ready: bring it to the arena. */
void ct_call_place(struct ct_call *call);
/* What came back. */
void ct_call_take(struct ct_call *call);
/* Through the door; for a call that was placed. */
void ct_call_send(struct ct_conn *conn, struct ct_call *call);

static inline __u64 ct_get(const void *at, __u32 size)
{
	__u64 value = 0;

	__builtin_memcpy(&value, at, size);	/* the low bytes: little-endian */
	return value;
}

static inline void ct_put(void *at, __u32 size, __u64 value)
{
	__builtin_memcpy(at, &value, size);
}

/* ---- the transcript (print.c) ---- */

extern FILE *ct_output;

/* A line of the transcript, which begins with its number. */
void ct_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The call as lines: its own, and of a batch one for each entry. */
void ct_print_call(__u32 slot, const struct ct_call *call, const struct ct_call *entries);
/* Sum over the elements of an array, without what may differ. */
__u32 ct_array_sum(const struct ct_call *call, __u32 i);
/* "space 5" is a digest. */
void ct_digest(__u8 *digest, __u32 number);
const char *ct_reason_name(__u32 reason);

/* The program cannot go on. */
void ct_die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* ---- what was seen (coverage.c) ---- */

void ct_count(const struct ct_call *call);
/* Print it; false: an operation never succeeded, or a reason never came. */
bool ct_coverage_print(bool device);

/* ---- streams ---- */

/* @device: with what only the device has (stream.c). */
void ct_stream_run(__u64 seed, __u64 ops, bool device);
/* Chains of a ring (chains.c); false: one was not as it must be. */
bool ct_chains_check(void);

#endif /* KVP_CONTRACT_H */

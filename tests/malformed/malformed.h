/* SPDX-License-Identifier: MIT */
/*
 * What the files of the fuzzer of malformed calls offer each other. Calls begin as plausible ones
 * of the contract test's stream (tests/contract/stream.h), which knows what its clients have; most
 * are then made malformed in one way or several (struct mf_kind), and sent through a door. All
 * state is a process's; only what is counted (struct mf_counts) is shared by all of them.
 */
#ifndef KVP_MALFORMED_H
#define KVP_MALFORMED_H

#include "stream.h"

#define MF_MAX_KINDS	128
#define MF_MAX_TOLD	8		/* kinds of one call */
#define MF_MAX_ERRNO	134
#define MF_MAX_REASONS	128
#define MF_MAX_OPS	256
#define MF_WIDE		(16 << 20)	/* bytes for any count that is accepted */
#define MF_PAGE		4096

/* Of the first slot, which no scene gives to an unprivileged client. */
#define MF_ADMIN	0

/* A client, through any door. */
struct ct_conn {
	int fd;
	void *client;
};

enum mf_entrance {
	MF_IOCTL,
	MF_URING,
	MF_ASYNC,
	MF_ENTRANCES,
};

/* Who does what while the call is executed. */
enum mf_company {
	MF_ALONE,
	MF_FLIPS,		/* another thread writes to its struct and arrays */
	MF_SAME,		/* another thread calls with the same struct */
	MF_TWIN,		/* another thread makes an equal call on the same client */
	MF_CLOSES,		/* another thread closes the file */
	MF_UNMAPS,		/* another thread ends the timelines mapping */
};

/**
 * struct mf_target - what a kind is applied to: the call, or an entry of its batch
 * @call: struct and arrays, in the arena until a kind moves them
 * @addr: where the address of the struct is said
 * @len: where its size is said beside the struct
 * @home: where the struct lay, all of it
 * @entry: number of the entry, -1: the call itself
 * @readable: bytes of the struct that can be read back where @call says that it is, 0: it is
 *            elsewhere, or no reason is told
 * @blind: the reason may not be the one that was told
 * @must: it cannot go through
 */
struct mf_target {
	struct ct_call *call;
	__u64 *addr;
	__u32 *len;
	__u8 *home;
	int entry;
	__u32 readable;
	bool blind;
	bool must;
};

/**
 * struct mf_call - one call as it is sent
 * @slot: whose it is
 * @call: what the stream made
 * @addr: pointer to the struct
 * @len: its size, as io_uring says it
 * @cmd: number as ioctl(2) and sqe->cmd_op have it
 * @other_file: it is made on the file @fd, not on the client's
 * @entrance: how it gets in
 * @sqe_zero, @sqe_flags, @sqe_ioprio: of the sqe
 * @company: what goes on beside it
 * @foreign: it may be refused by the kernel, before the device sees it
 * @contained: counts have room
 * @finished: no other kind may follow: its operation has another struct than is there
 * @target: the call, and an entry of the batch that was made malformed
 * @nr_targets: 1 or 2
 * @kind: indices of the kinds that were applied
 * @nr_kinds: how many
 * @result: what it returned
 */
struct mf_call {
	struct st_slot *slot;
	struct ct_call call;
	__u64 addr;
	__u32 len;
	__u32 cmd;
	bool other_file;
	int fd;
	enum mf_entrance entrance;
	__u32 sqe_zero;
	__u32 sqe_flags;
	__u16 sqe_ioprio;
	enum mf_company company;
	bool foreign;
	bool contained;
	bool finished;
	struct mf_target target[2];
	__u32 nr_targets;
	__u8 kind[MF_MAX_TOLD];
	__u32 nr_kinds;
	int result;
};

/* When a kind is applied: what it says of the call must stay true. */
enum mf_phase {
	MF_CONTENTS,		/* fields and elements, in the arena */
	MF_ARRAYS,		/* where an array lies */
	MF_STRUCT,		/* where the struct lies, and how long it is */
	MF_COMPANY,		/* who else is there; numbers */
};

/**
 * struct mf_kind - a way to be malformed
 * @name: for people
 * @phase: see there; at most one of MF_STRUCT and one of MF_COMPANY in a call
 * @device: only where the core is the device's
 * @ring: only with io_uring
 * @op: of which operation it is, 0: any
 * @weight: how often, against others
 * @apply: do it, with @arg; false: this call cannot be malformed so
 * @arg: for @apply
 */
struct mf_kind {
	const char *name;
	enum mf_phase phase;
	bool device;
	bool ring;
	__u32 op;
	__u32 weight;
	bool (*apply)(struct mf_call *mf, struct mf_target *target, __u64 arg);
	__u64 arg;
};

extern const struct mf_kind mf_content_kinds[], mf_memory_kinds[], mf_batch_kinds[],
	mf_device_kinds[];		/* each ends with one without a name */

/* ---- counted by all processes ---- */

struct mf_kind_counts {
	__u64 calls;
	__u64 refused;
	__u64 past;		/* of these, by the operation itself */
	__u64 through;
};

struct mf_counts {
	__u64 calls;
	__u64 entrance[MF_ENTRANCES];
	__u64 entries;
	__u64 refused;
	__u64 well_formed;
	__u64 audits;
	__u64 empties;		/* pools whose blocks all came back */
	__u64 scenes;
	struct mf_kind_counts kind[MF_MAX_KINDS];
	__u64 ok[MF_MAX_OPS];
	__u8 seen[MF_MAX_OPS][MF_MAX_ERRNO][MF_MAX_REASONS];
};

extern struct mf_counts *mf_counts;

static inline void mf_count(__u64 *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* ---- doors (door_*.c, ring.c) ---- */

/**
 * struct mf_door - a way to the core
 * @name: for --door
 * @device: it is the character device
 * @rings: it has io_uring
 * @begin: once in the program; false where this machine has no such door
 * @process: once in each process
 * @open: a client of this uid, with gid 0
 * @call: 0 or a negative errno
 * @close: its end
 * @open_fd: a file of the device for who needs any descriptor of one, as @uid
 * @close_fd: close a descriptor, of an export or not
 * @sweep: close all descriptors from @from on but @but, which calls gave, and nobody learned of
 */
struct mf_door {
	const char *name;
	bool device;
	bool rings;
	bool (*begin)(void);
	void (*process)(void);
	struct ct_conn *(*open)(__u32 uid);
	int (*call)(struct ct_conn *conn, const struct mf_call *mf);
	void (*close)(struct ct_conn *conn);
	int (*open_fd)(__u32 uid);
	void (*close_fd)(int fd);
	void (*sweep)(int from, int but);
};

extern const struct mf_door *const mf_doors[];		/* doors.c, doors32.c */
extern const struct mf_door *mf_door;

/* A call as it should be, of a struct of @len bytes. */
int mf_plain(struct ct_conn *conn, __u32 nr, void *arg, __u32 len);
#define mf_do(conn, nr, arg)	mf_plain(conn, nr, arg, sizeof(*(arg)))

/* Through the ring of this process (ring.c); not in the 32-bit program. */
void mf_ring_process(void);
int mf_ring_call(int fd, const struct mf_call *mf);

/* In process: called at each access to the caller's memory. */
extern void (*mf_native_hook)(void);

/* ---- memory.c ---- */

void mf_memory_process(void);
/* Room for any count; zeroed now and then. */
extern __u8 *mf_wide;
/* Addresses that are wrong each in its way, by MF_AT_*. */
enum mf_place {
	MF_AT_NULL,
	MF_AT_KERNEL,
	MF_AT_NONCANONICAL,
	MF_AT_END,		/* with any length it wraps around */
	MF_AT_UNMAPPED,
	MF_AT_ODD,		/* misaligned */
	MF_AT_EDGE,		/* the memory ends within it */
	MF_AT_HOLE,		/* a page within it cannot be touched */
	MF_AT_READONLY,
	MF_AT_TIMELINES,	/* the device's own pages */
	MF_AT_COUNTERS,
	MF_AT_WIDE,
};
/* The pages of a client, which live as long as it; NULL: none. */
extern __u8 *mf_timelines, *mf_counters;
/* Map, or end, both pages of the client. */
void mf_pages_map(struct ct_conn *conn);
void mf_pages_unmap(void);

/* ---- targets (mutate.c) ---- */

/* The struct in its place. */
static inline void *mf_arg(const struct mf_target *target)
{
	return target->call->arg;
}

/* What can be read of a struct that the stream made. */
__u32 mf_readable(const struct ct_call *call);
/* The struct gets another place, where @room bytes of it can be read. */
void mf_move(struct mf_target *target, void *where, __u64 addr, __u32 room);
/* Field of the struct as it is now. */
__u64 mf_field(const struct mf_target *target, __u32 offset, __u32 size);
void mf_set_field(struct mf_target *target, __u32 offset, __u32 size, __u64 value);
/* The stream's call of operation @nr, made malformed by kinds that it picks. */
void mf_make(struct mf_call *mf, struct st_slot *slot);
const struct mf_kind *mf_kind(__u32 index);
extern __u32 mf_nr_kinds;
void mf_kinds_begin(void);
/* Names of pools get this digit, so that processes have their own. */
void mf_names(char digit);
/* A way in that this door has. */
enum mf_entrance mf_pick_entrance(void);

/* ---- files (files.c) ---- */

/* Descriptors that are none of what they should be. */
enum mf_file {
	MF_FD_CLOSED,
	MF_FD_DEVICE,
	MF_FD_PIPE,
	MF_FD_REGULAR,
	MF_FD_OTHER,		/* an export of another pool */
};
void mf_files_process(__u32 process);
void mf_files_end(void);
int mf_file(enum mf_file file, const struct mf_call *mf);

/* ---- company.c ---- */

void mf_company_process(void);
/* Send the call, in company where it says so. */
void mf_send(struct mf_call *mf);

/* ---- judge.c ---- */

void mf_judge_begin(void);
/* What stands in the reason before the call is none. */
void mf_judge_before(struct mf_call *mf);
/* The call has come back: what it said is documented, and counted. */
void mf_judge(struct mf_call *mf);
/* Of a batch: all entries were executed, or cancelled, and are where they were made. */
bool mf_entries_there(const struct mf_call *mf);
/* The contract knows this errno for the operation, whatever the reason. */
bool mf_errno_known(__u32 nr, int err);
/* End the process: the call is not as it must be. */
void mf_wrong(const struct mf_call *mf, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));
/* For whoever ends the program: where it was. */
void mf_where(__u64 seed, __u32 round, __u32 process);
bool mf_summary(__u64 seed);

/* ---- scene.c ---- */

extern __u64 mf_call_number;		/* of this process */
/* Of the scene. */
extern char mf_pool_name[KVP_NAME_LEN];
/* @calls of process @process in a pool of its own, or in the one that is there for all. */
void mf_run(__u64 seed, __u32 process, __u64 calls, bool shared, __u32 scene);
/* The pool for all processes, with a client that looks on; and its end. */
void mf_shared_begin(__u64 seed, __u32 scene);
void mf_shared_end(void);

#endif /* KVP_MALFORMED_H */

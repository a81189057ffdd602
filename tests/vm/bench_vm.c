// SPDX-License-Identifier: MIT
/*
 * What the way into the kernel adds to an operation: the same operation in process, by ioctl(2),
 * through io_uring and in a batch by ioctl(2), beside the floors of this machine (a system call,
 * an ioctl that does nothing, no-operations of io_uring). All are measured in one run, in
 * interleaved rounds, and the median of each is taken; the goals are ratios.
 *
 * The null ioctl is one of ours with a number that the device does not know: it comes as
 * far as the table of operations and returns ENOTTY.
 *
 *   bench_vm [--quick]
 */
#include <liburing.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <kvpool.h>

#include "support.h"

#define POOL		"bench"
#define BLOCKS		8192
#define BLOCK_TOKENS	16
#define PROMPT		64		/* tokens that are matched: four blocks */
#define MAX_BATCH	KVP_MAX_BATCH
#define NULL_OP		0xff		/* no operation has this number */
#define MAX_ROUNDS	301
#define SAMPLE_NS	200000.0	/* short: what else the machine does hits few samples */
#define MAX_CALLS	4096		/* of one sample: what is appended must fit */

static const u32 batch_size[] = { 1, 16, 64, 256 };

#define NR_BATCHES	KVPV_COUNT(batch_size)
#define GOAL_BATCH	2		/* index of 64 */

enum operation {
	OP_MATCH,
	OP_APPEND,
	OP_ADVANCE,
	OP_STATS,
	NR_OPERATIONS,
};

static const struct {
	const char *name;
	u32 op;
	u32 size;
} operation[NR_OPERATIONS] = {
	[OP_MATCH] = { "match of 64 tokens", KVP_OP_PREFIX_MATCH, sizeof(struct kvp_prefix_match) },
	[OP_APPEND] = { "append of 1 token", KVP_OP_SEQ_APPEND, sizeof(struct kvp_seq_append) },
	[OP_ADVANCE] = { "advance", KVP_OP_SEQ_ADVANCE, sizeof(struct kvp_seq_advance) },
	[OP_STATS] = { "stats of oneself", KVP_OP_STATS, sizeof(struct kvp_stats) },
};

/* One struct of an operation, and the next one in cache lines of its own. */
union call {
	struct kvp_head head;
	struct kvp_prefix_match match;
	struct kvp_seq_append append;
	struct kvp_seq_advance advance;
	struct kvp_stats stats;
	u8 room[256];
};

/**
 * struct door - a client, and what it has in its pool
 * @pool: in process, or NULL: @fd
 * @fd: the device
 * @seq: a sequence, computed and published, which appends make longer
 * @calls: arguments of the calls of a batch, by operation
 * @family: where stats write
 */
struct door {
	struct kvp_pool *pool;
	int fd;
	u64 seq;
	union call calls[NR_OPERATIONS][MAX_BATCH];
	struct kvp_family_stats family;
};

static struct door inproc, device;
static struct io_uring ring;
static u32 tokens[PROMPT];

/* ---- one call, and many ---- */

static void door_call(struct door *door, u32 op, void *arg, u32 size)
{
	int ret;

	((struct kvp_head *)arg)->size = size;
	ret = door->pool ? kvp_pool_call(door->pool, op, arg, size) : kvpv_call(door->fd, op, arg,
										 size);
	if (ret)
		kvpv_fail("operation 0x%x %s: %s, reason %u", op,
			  door->pool ? "in process" : "by ioctl", strerror(-ret),
			  ((struct kvp_head *)arg)->reason);
}

#define door_do(door, op, arg) door_call(door, op, arg, sizeof(*(arg)))

/* What an append changes in its argument is set again, whatever the way. */
static inline void again(enum operation what, union call *call)
{
	if (what == OP_APPEND)
		call->append.position = KVP_POS_END;
}

static void check(int ret, const char *how, enum operation what)
{
	if (ret)
		kvpv_fail("%s %s: %s", operation[what].name, how, strerror(-ret));
}

static void run_inproc(enum operation what, u32 nr)
{
	union call *call = inproc.calls[what];
	u32 i;

	for (i = 0; i < nr; i++) {
		again(what, call);
		check(kvp_pool_call(inproc.pool, operation[what].op, call, operation[what].size),
		      "in process", what);
	}
}

static void run_ioctl(enum operation what, u32 nr)
{
	union call *call = device.calls[what];
	u32 i;

	for (i = 0; i < nr; i++) {
		again(what, call);
		if (ioctl(device.fd, KVP_IOC(operation[what].op), call))
			check(-errno, "by ioctl", what);
	}
}

static void run_batch_ioctl(enum operation what, u32 batch, u32 nr)
{
	static struct kvp_batch_entry entries[MAX_BATCH];
	struct kvp_batch arg = {
		.head.size = sizeof(arg),
		.entries = kvpv_ptr(entries),
		.nr_entries = batch,
	};
	u32 i, k;

	for (i = 0; i < nr; i++) {
		for (k = 0; k < batch; k++) {
			again(what, &device.calls[what][k]);
			entries[k] = (struct kvp_batch_entry) {
				.op = operation[what].op,
				.len = operation[what].size,
				.arg = kvpv_ptr(&device.calls[what][k]),
			};
		}
		if (ioctl(device.fd, KVP_IOC(KVP_OP_BATCH), &arg))
			check(-errno, "in a batch", what);
		for (k = 0; k < batch; k++)
			check(entries[k].result, "in a batch", what);
	}
}

/* There is always one: a submission is waited for before the next one. */
static struct io_uring_sqe *next_sqe(void)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (!sqe)
		kvpv_fail("the ring is full");
	return sqe;
}

/* Submits what was prepared, waits for all of it. */
static void ring_run(u32 batch, const char *how)
{
	struct io_uring_cqe *cqe;
	u32 head, seen = 0;

	if (io_uring_submit_and_wait(&ring, batch) != (int)batch)
		kvpv_fail("io_uring took less than %u entries", batch);
	io_uring_for_each_cqe(&ring, head, cqe) {
		if (cqe->res)
			kvpv_fail("%s through io_uring: %s", how, strerror(-cqe->res));
		seen++;
	}
	io_uring_cq_advance(&ring, seen);
	kvpv_same(seen, batch);
}

static void run_nop(u32 batch, u32 nr)
{
	u32 i, k;

	for (i = 0; i < nr; i++) {
		for (k = 0; k < batch; k++)
			io_uring_prep_nop(next_sqe());
		ring_run(batch, "a no-operation");
	}
}

static void run_uring(enum operation what, u32 batch, u32 nr)
{
	struct kvp_uring_cmd cmd = { .len = operation[what].size };
	struct io_uring_sqe *sqe;
	u32 i, k;

	for (i = 0; i < nr; i++) {
		for (k = 0; k < batch; k++) {
			again(what, &device.calls[what][k]);
			cmd.arg = kvpv_ptr(&device.calls[what][k]);
			sqe = next_sqe();
			memset(sqe, 0, sizeof(*sqe));
			sqe->opcode = IORING_OP_URING_CMD;
			sqe->fd = device.fd;
			sqe->cmd_op = KVP_IOC(operation[what].op);
			memcpy(sqe->cmd, &cmd, sizeof(cmd));
		}
		ring_run(batch, operation[what].name);
	}
}

static void run_null_ioctl(u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (ioctl(device.fd, KVP_IOC(NULL_OP), NULL) != -1 || errno != ENOTTY)
			kvpv_fail("the null ioctl does not give ENOTTY");
}

static void run_getppid(u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		syscall(SYS_getppid);
}

/* ---- what is measured ---- */

enum way {
	WAY_GETPPID,
	WAY_NULL_IOCTL,
	WAY_NOP,
	WAY_INPROC,
	WAY_IOCTL,
	WAY_URING,
	WAY_BATCH_IOCTL,
};

/**
 * struct quantity - one number to find
 * @way: how
 * @what: which operation, where there is one
 * @batch: how many at once
 * @nr: calls, or submissions, of a sample
 * @ns: samples: of one call or submission
 * @median: of them
 */
struct quantity {
	enum way way;
	enum operation what;
	u32 batch;
	u32 nr;
	double ns[MAX_ROUNDS];
	double median;
};

static struct quantity quantities[2 + NR_BATCHES + NR_OPERATIONS * (2 + 2 * NR_BATCHES)];
static u32 nr_quantities;

static void add(enum way way, enum operation what, u32 batch)
{
	quantities[nr_quantities++] = (struct quantity) {
		.way = way, .what = what, .batch = batch, .nr = 1,
	};
}

static void list_quantities(void)
{
	enum operation what;
	u32 b;

	add(WAY_GETPPID, 0, 1);
	add(WAY_NULL_IOCTL, 0, 1);
	for (b = 0; b < NR_BATCHES; b++)
		add(WAY_NOP, 0, batch_size[b]);
	for (what = 0; what < NR_OPERATIONS; what++) {
		add(WAY_INPROC, what, 1);
		add(WAY_IOCTL, what, 1);
		for (b = 0; b < NR_BATCHES; b++) {
			add(WAY_URING, what, batch_size[b]);
			add(WAY_BATCH_IOCTL, what, batch_size[b]);
		}
	}
	kvpv_same(nr_quantities, KVPV_COUNT(quantities));
}

static double find(enum way way, enum operation what, u32 batch)
{
	u32 i;

	for (i = 0; i < nr_quantities; i++)
		if (quantities[i].way == way && quantities[i].what == what &&
		    quantities[i].batch == batch)
			return quantities[i].median;
	kvpv_fail("not measured");
}

static void run(const struct quantity *q)
{
	switch (q->way) {
	case WAY_GETPPID:
		run_getppid(q->nr);
		break;
	case WAY_NULL_IOCTL:
		run_null_ioctl(q->nr);
		break;
	case WAY_NOP:
		run_nop(q->batch, q->nr);
		break;
	case WAY_INPROC:
		run_inproc(q->what, q->nr);
		break;
	case WAY_IOCTL:
		run_ioctl(q->what, q->nr);
		break;
	case WAY_URING:
		run_uring(q->what, q->batch, q->nr);
		break;
	case WAY_BATCH_IOCTL:
		run_batch_ioctl(q->what, q->batch, q->nr);
		break;
	}
}

/* What was appended goes, so that each sample begins with the same sequence. */
static void shorten(struct door *door)
{
	struct kvp_seq_truncate arg = { .seq = door->seq, .tokens = PROMPT };

	door_do(door, KVP_OP_SEQ_TRUNCATE, &arg);
}

/* Nanoseconds of the whole sample. */
static double sample(const struct quantity *q)
{
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	run(q);
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (q->what == OP_APPEND)
		shorten(q->way == WAY_INPROC ? &inproc : &device);
	return (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void measure(u32 rounds)
{
	struct quantity *q;
	u32 round;

	/* Twice: the first time, and a machine that is busy, take longer. */
	for (q = quantities; q < quantities + nr_quantities; q++)
		while (2 * q->nr * q->batch <= MAX_CALLS &&
		       (sample(q) < SAMPLE_NS || sample(q) < SAMPLE_NS))
			q->nr *= 2;
	for (round = 0; round < rounds; round++)
		for (q = quantities; q < quantities + nr_quantities; q++)
			q->ns[round] = sample(q) / q->nr;
	for (q = quantities; q < quantities + nr_quantities; q++) {
		qsort(q->ns, rounds, sizeof(q->ns[0]), compare);
		q->median = q->ns[rounds / 2];
	}
}

/* ---- the same pool behind both doors ---- */

static void fill_calls(struct door *door)
{
	union call *call;
	enum operation what;
	u32 k;

	for (what = 0; what < NR_OPERATIONS; what++) {
		for (k = 0; k < MAX_BATCH; k++) {
			call = &door->calls[what][k];
			call->head.size = operation[what].size;
			switch (what) {
			case OP_MATCH:
				kvpv_space(1, call->match.space);
				call->match.tokens = kvpv_ptr(tokens);
				call->match.nr_tokens = PROMPT;
				break;
			case OP_APPEND:
				call->append.seq = door->seq;
				call->append.tokens = kvpv_ptr(tokens);
				call->append.nr_tokens = 1;
				call->append.position = KVP_POS_END;
				break;
			case OP_ADVANCE:
				call->advance.seq = door->seq;
				call->advance.computed = PROMPT;
				break;
			default:
				call->stats.client = KVP_STATS_SELF;
				call->stats.families = kvpv_ptr(&door->family);
				call->stats.nr_families = 1;
				break;
			}
		}
	}
}

static void prepare(struct door *door)
{
	struct kvp_seq_create create = { .tokens = kvpv_ptr(tokens), .nr_tokens = PROMPT };
	struct kvp_seq_advance advance = { .computed = PROMPT };
	struct kvp_prefix_publish publish = { 0 };

	kvpv_space(1, create.space);
	door_do(door, KVP_OP_SEQ_CREATE, &create);
	door->seq = advance.seq = publish.seq = create.seq;
	door_do(door, KVP_OP_SEQ_ADVANCE, &advance);
	door_do(door, KVP_OP_PREFIX_PUBLISH, &publish);
	fill_calls(door);
	door_do(door, KVP_OP_PREFIX_MATCH, &door->calls[OP_MATCH][0].match);
	kvpv_same(door->calls[OP_MATCH][0].match.matched, PROMPT);
}

static void open_doors(void)
{
	const struct kvp_family_config family = {
		.kind = KVP_FAMILY_DENSE,
		.block_tokens = BLOCK_TOKENS,
		.blocks = BLOCKS,
		.row_bytes = 4,
	};
	const struct kvp_pool_config config = { .families = &family, .nr_families = 1 };
	const struct kvp_family_desc desc[] = { KVPV_DENSE(BLOCKS, BLOCK_TOKENS) };
	int ret;

	kvpv_tokens(tokens, PROMPT, 1);
	ret = kvp_pool_create("inproc:" POOL, &config, &inproc.pool);
	if (ret)
		kvpv_fail("%s", kvp_error()->text);
	device.fd = kvpv_open();
	kvpv_ok(kvpv_create(device.fd, POOL, 0600, 0, desc, 1));
	prepare(&inproc);
	prepare(&device);
	ret = io_uring_queue_init(MAX_BATCH, &ring, 0);
	if (ret)
		kvpv_fail("io_uring: %s", strerror(-ret));
}

/* ---- what is said about it ---- */

static void print_floors(void)
{
	u32 b;

	printf("getppid                       %8.0f\n", find(WAY_GETPPID, 0, 1));
	printf("null ioctl                    %8.0f   an unknown number of ours: ENOTTY\n\n",
	       find(WAY_NULL_IOCTL, 0, 1));
	printf("at once, ns for each      ");
	for (b = 0; b < NR_BATCHES; b++)
		printf("%12u", batch_size[b]);
	printf("\nio_uring, no-operation    ");
	for (b = 0; b < NR_BATCHES; b++)
		printf("%12.0f", find(WAY_NOP, 0, batch_size[b]) / batch_size[b]);
	printf("\n");
}

/* Ways to do one operation: time, and how many times that of the operation in process. */
static void print_way(const char *name, enum way way, enum operation what)
{
	double own = find(WAY_INPROC, what, 1), ns;
	u32 b;

	printf("  %-24s", name);
	for (b = 0; b < NR_BATCHES; b++) {
		ns = find(way, what, batch_size[b]) / batch_size[b];
		printf("%6.0f %4.1fx", ns, ns / own);
	}
	printf("\n");
}

static void print_operation(enum operation what)
{
	double own = find(WAY_INPROC, what, 1), ns = find(WAY_IOCTL, what, 1);

	printf("\n%s\n", operation[what].name);
	printf("  %-24s%6.0f %4.1fx\n", "in process", own, 1.0);
	printf("  %-24s%6.0f %4.1fx\n", "ioctl", ns, ns / own);
	print_way("io_uring", WAY_URING, what);
	print_way("ioctl, batch", WAY_BATCH_IOCTL, what);
}

static u32 print_goal(const char *name, double ns, double goal)
{
	printf("  %-24s%10.0f %10.0f %9.2f   %s\n", name, ns, goal, ns / goal,
	       ns <= goal ? "met" : "missed");
	return ns <= goal;
}

static void print_goals(void)
{
	const u32 batch = batch_size[GOAL_BATCH];
	enum operation what;
	u32 met = 0;

	printf("\none operation through ioctl <= null ioctl + 1.5 x the same in process\n");
	printf("  %-24s%10s %10s %9s\n", "", "ns", "goal", "of it");
	for (what = 0; what < NR_OPERATIONS; what++)
		met += print_goal(operation[what].name, find(WAY_IOCTL, what, 1),
				  find(WAY_NULL_IOCTL, 0, 1) + 1.5 * find(WAY_INPROC, what, 1));
	printf("\n%u operations in one io_uring submission <= %u x in process + 1.5 x %u NOPs\n",
	       batch, batch, batch);
	printf("  %-24s%10s %10s %9s\n", "", "ns", "goal", "of it");
	for (what = 0; what < NR_OPERATIONS; what++)
		met += print_goal(operation[what].name, find(WAY_URING, what, batch),
				  batch * find(WAY_INPROC, what, 1) +
				  1.5 * find(WAY_NOP, 0, batch));
	printf("\n%u of %u goals met\n", met, 2 * NR_OPERATIONS);
}

int main(int argc, char **argv)
{
	bool quick = argc == 2 && !strcmp(argv[1], "--quick");
	u32 rounds = quick ? 5 : MAX_ROUNDS;
	struct utsname host;
	enum operation what;

	if (argc > 2 || (argc == 2 && !quick)) {
		fprintf(stderr, "usage: bench_vm [--quick]\n");
		return 2;
	}
	uname(&host);
	open_doors();
	list_quantities();
	measure(rounds);
	printf("Linux %s. Medians of %u interleaved rounds, ns; with QEMU's software emulation\n"
	       "only ratios mean something: x is times the same operation in process.\n\n",
	       host.release, rounds);
	print_floors();
	for (what = 0; what < NR_OPERATIONS; what++)
		print_operation(what);
	print_goals();
	io_uring_queue_exit(&ring);
	kvpv_ok(kvpv_destroy(device.fd, POOL, KVP_DESTROY_FORCE));
	close(device.fd);
	kvp_pool_close(inproc.pool);
	return 0;
}

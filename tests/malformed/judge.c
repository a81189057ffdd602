// SPDX-License-Identifier: MIT
/*
 * What a call may answer: only what the contract's header says, which tests/malformed/documented
 * made a table of. Owns that table, and prints at the end what was counted.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "malformed.h"

#define NOT_TOLD	127		/* stands in the reason before each call */
#define ENOUGH		50000		/* calls that have to show all there is */
#define ENOUGH_DESTROY	500000		/* by its name, and nobody in it: seldom */

/* By whom an error is documented. */
#define BY_FRAME	1
#define BY_OPERATION	2

static __u8 known[MF_MAX_OPS][MF_MAX_ERRNO][MF_MAX_REASONS];
static __u32 nr_known;

static __u64 the_seed;
static __u32 the_round, the_process;

/* ---- the documentation ---- */

enum whose {
	ALL,
	ARRAYS,
	ID,
	POOL,
	URING,
	ENTRY,
};

struct line {
	__u32 op;
	__u32 err;
	__u32 reason;
};

#define DOC(op_, err_, reason_)		{ (op_), (err_), (reason_) },
#define FRAME(whose_, err_, reason_)
#define NEEDS_POOL(op_)
static const struct line lines[] = {
#include "documented.inc"
};
#undef DOC
#undef FRAME
#undef NEEDS_POOL

#define DOC(op_, err_, reason_)
#define FRAME(whose_, err_, reason_)	{ (whose_), (err_), (reason_) },
#define NEEDS_POOL(op_)
static const struct line frame[] = {
#include "documented.inc"
};
#undef FRAME
#undef NEEDS_POOL

#define FRAME(whose_, err_, reason_)
#define NEEDS_POOL(op_)			(op_),
static const __u32 needs_pool[] = {
#include "documented.inc"
};

static bool needs(__u32 nr)
{
	__u32 i;

	for (i = 0; i < CT_SIZE(needs_pool); i++)
		if (needs_pool[i] == nr)
			return true;
	return false;
}

static bool frame_is_of(const struct ct_op *op, enum whose whose)
{
	switch (whose) {
	case ALL:
		return true;
	case ARRAYS:
		return op->nr_arrays;
	case ID:
		return op->id;
	case POOL:
		return needs(op->nr);
	default:
		return false;
	}
}

static void add(__u32 nr, const struct line *line, __u8 by)
{
	__u8 *at = &known[nr][line->err][line->reason];

	nr_known += !*at;
	*at |= by;
}

void mf_judge_begin(void)
{
	__u32 i, k;

	for (i = 0; i < CT_SIZE(lines); i++)
		add(lines[i].op, &lines[i], BY_OPERATION);
	for (i = 0; i < ct_nr_ops; i++)
		for (k = 0; k < CT_SIZE(frame); k++)
			if (frame_is_of(&ct_ops[i], frame[k].op))
				add(ct_ops[i].nr, &frame[k], BY_FRAME);
}

static bool frame_has(enum whose whose, int err, __u32 reason)
{
	__u32 k;

	for (k = 0; k < CT_SIZE(frame); k++)
		if (frame[k].op == whose && (int)frame[k].err == -err && frame[k].reason == reason)
			return true;
	return false;
}

bool mf_errno_known(__u32 nr, int err)
{
	__u32 reason;

	if (!ct_op_find(nr))
		return err == -ENOTTY;
	for (reason = 0; reason < MF_MAX_REASONS; reason++)
		if (known[nr][-err][reason])
			return true;
	return false;
}

/* ---- what went wrong ---- */

static const char *const entrances[] = { "ioctl", "io_uring", "IOSQE_ASYNC" };

static void print_bytes(const char *what, const void *bytes, __u32 len)
{
	const __u8 *at = bytes;
	__u32 i;

	fprintf(stderr, "%s", what);
	for (i = 0; i < len; i++)
		fprintf(stderr, "%s%02x", i % 4 ? "" : " ", at[i]);
	fputc('\n', stderr);
}

static void print_target(const struct mf_target *target)
{
	const struct ct_op *op = target->call->op;

	if (target->entry >= 0)
		fprintf(stderr, "entry %d: ", target->entry);
	fprintf(stderr, "%s (0x%x) struct at 0x%llx, %u bytes\n", op ? op->name : "unknown",
		target->call->nr, *target->addr, *target->len);
	if (!op)
		return;
	print_bytes("  as made: ", target->call->before, op->shape.size);
	print_bytes("  as it is:", target->call->arg, target->readable < op->shape.size ?
		    target->readable : op->shape.size);
}

void mf_where(__u64 seed, __u32 round, __u32 process)
{
	the_seed = seed;
	the_round = round;
	the_process = process;
}

void mf_wrong(const struct mf_call *mf, const char *fmt, ...)
{
	va_list args;
	__u32 i;

	fflush(stdout);
	fprintf(stderr, "malformed: seed %llu round %u process %u call %llu through %s: ",
		the_seed, the_round, the_process,
		mf_call_number, entrances[mf->entrance]);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\nkinds:");
	for (i = 0; i < mf->nr_kinds; i++)
		fprintf(stderr, " %s", mf_kind(mf->kind[i])->name);
	fputc('\n', stderr);
	for (i = 0; i < mf->nr_targets; i++)
		print_target(&mf->target[i]);
	_exit(1);
}

/* ---- one answer ---- */

/* Everything that is known of one executed struct. */
struct answer {
	const struct mf_call *mf;
	const struct mf_target *target;
	int result;
	bool told;
	__u32 reason;
};

static void wrong_answer(const struct answer *answer, const char *what)
{
	const struct mf_call *mf = answer->mf;

	if (answer->target->entry >= 0)
		print_target(answer->target);
	mf_wrong(mf, "%s: %s%s returned %d (%s), reason %u (%s)", what,
		 answer->target->entry >= 0 ? "an entry, " : "",
		 answer->target->call->op ? answer->target->call->op->name : "unknown operation",
		 answer->result, answer->result ? strerrorname_np(-answer->result) : "ok",
		 answer->reason, answer->told ? ct_reason_name(answer->reason) : "not told");
}

/* Errors of the kernel, of whatever file it is, and of io_uring. */
static bool foreign_errno(int err)
{
	return err == -EBADF || err == -ENOTTY || err == -EINVAL || err == -EOPNOTSUPP ||
	       err == -EFAULT;
}

static void judge_unknown(const struct answer *answer)
{
	if (answer->mf->foreign && foreign_errno(answer->result))
		return;
	if (answer->target->entry >= 0 && answer->told) {
		if (!frame_has(ENTRY, answer->result, answer->reason))
			wrong_answer(answer, "neither ENOTTY nor cancelled");
	} else if (answer->result != -ENOTTY &&
		   !(answer->target->entry >= 0 && answer->result == -ECANCELED)) {
		wrong_answer(answer, "not ENOTTY");
	}
}

static void note_seen(__u32 nr, int err, __u32 reason)
{
	mf_counts->seen[nr][-err][reason] = 1;
}

/* Returns whether it was the operation itself that refused. */
static bool judge_refused(const struct answer *answer)
{
	const __u32 nr = answer->target->call->nr;
	const int err = answer->result;
	bool entry = answer->target->entry >= 0;

	if (err <= -MF_MAX_ERRNO || err > 0)
		wrong_answer(answer, "no errno");
	if (!answer->told) {
		/* Where a head can be written, a reason is told. */
		if (answer->target->readable && !answer->target->blind && !answer->mf->foreign)
			wrong_answer(answer, "no reason told");
		if (!mf_errno_known(nr, err) && !(answer->mf->foreign && foreign_errno(err)) &&
		    !(entry && err == -ECANCELED))
			wrong_answer(answer, "undocumented errno");
		return false;
	}
	if (entry && frame_has(ENTRY, err, answer->reason))
		return false;
	if (answer->reason >= MF_MAX_REASONS || !known[nr][-err][answer->reason])
		wrong_answer(answer, "undocumented");
	note_seen(nr, err, answer->reason);
	return known[nr][-err][answer->reason] & BY_OPERATION;
}

/* Returns whether the operation itself refused. */
static bool judge_target(const struct mf_call *mf, const struct mf_target *target, int result)
{
	struct answer answer = { .mf = mf, .target = target, .result = result };

	if (target->readable && !target->blind) {
		answer.reason = ct_get(target->call->arg + offsetof(struct kvp_head, reason), 4);
		answer.told = answer.reason != NOT_TOLD;
	}
	if (target->must && !result)
		wrong_answer(&answer, "it went through");
	if (!target->call->op) {
		judge_unknown(&answer);
		return false;
	}
	if (result)
		return judge_refused(&answer);
	if (answer.told && answer.reason)
		wrong_answer(&answer, "a reason for success");
	mf_count(&mf_counts->ok[target->call->nr]);
	return false;
}

/* ---- a call ---- */

static void untell(struct ct_call *call)
{
	if (!call->null)
		ct_put(call->arg + offsetof(struct kvp_head, reason), 4, NOT_TOLD);
}

void mf_judge_before(struct mf_call *mf)
{
	__u32 i;

	untell(&mf->call);
	for (i = 0; mf->call.nr == KVP_OP_BATCH && i < mf->call.room[0]; i++)
		untell(&st_entries[i]);
}

bool mf_entries_there(const struct mf_call *mf)
{
	const __u8 *arg = mf->call.arg;

	return mf->call.nr == KVP_OP_BATCH && !mf->result && !mf->target[0].blind &&
	       !mf->other_file && mf->call.mem[0] &&
	       ct_get(arg + offsetof(struct kvp_batch, entries), 8) ==
	       (uintptr_t)mf->call.mem[0] &&
	       ct_get(arg + offsetof(struct kvp_batch, nr_entries), 4) == mf->call.room[0];
}

static bool judge_entries(struct mf_call *mf)
{
	const struct kvp_batch_entry *entries = (void *)mf->call.mem[0];
	struct mf_target target;
	bool past = false;
	__u32 i;

	for (i = 0; i < mf->call.room[0]; i++) {
		target = (struct mf_target){ .call = &st_entries[i], .entry = i,
					     .addr = (void *)&entries[i].arg,
					     .len = (void *)&entries[i].len,
					     .readable = mf_readable(&st_entries[i]) };
		if (mf->nr_targets > 1 && mf->target[1].entry == (int)i)
			target = mf->target[1];
		/* Of one that is not executed this is all that is known of its room. */
		if (entries[i].len < sizeof(struct kvp_head))
			target.readable = 0;
		past |= judge_target(mf, &target, entries[i].result);
		mf_count(&mf_counts->entries);
	}
	return past;
}

void mf_judge(struct mf_call *mf)
{
	struct mf_target *target = &mf->target[0];
	bool refused = mf->result;
	bool past;
	__u32 i;

	past = judge_target(mf, target, mf->result);
	if (mf_entries_there(mf)) {
		past |= judge_entries(mf);
		refused |= mf->nr_targets > 1 &&
			   ((struct kvp_batch_entry *)mf->call.mem[0])[mf->target[1].entry].result;
	}
	mf_count(&mf_counts->calls);
	mf_count(&mf_counts->entrance[mf->entrance]);
	if (refused)
		mf_count(&mf_counts->refused);
	if (!mf->nr_kinds)
		mf_count(&mf_counts->well_formed);
	for (i = 0; i < mf->nr_kinds; i++) {
		struct mf_kind_counts *counts = &mf_counts->kind[mf->kind[i]];

		mf_count(&counts->calls);
		mf_count(refused ? &counts->refused : &counts->through);
		if (past)
			mf_count(&counts->past);
	}
}

/* ---- at the end ---- */

static __u32 nr_seen(void)
{
	__u32 nr = 0;
	__u32 i, k, r;

	for (i = 0; i < MF_MAX_OPS; i++)
		for (k = 0; k < MF_MAX_ERRNO; k++)
			for (r = 0; r < MF_MAX_REASONS; r++)
				nr += mf_counts->seen[i][k][r];
	return nr;
}

static bool kinds_good(void)
{
	bool good = true;
	__u32 i;

	for (i = 0; i < mf_nr_kinds; i++) {
		const struct mf_kind_counts *counts = &mf_counts->kind[i];

		printf("%-24s %7llu calls, %7llu refused, %6llu by the operation, ",
		       mf_kind(i)->name, counts->calls, counts->refused, counts->past);
		printf("%7llu went through\n", counts->through);
		if ((counts->calls && counts->refused) || mf_counts->calls < ENOUGH)
			continue;
		fprintf(stderr, "malformed: the kind %s never %s\n", mf_kind(i)->name,
			counts->calls ? "failed" : "ran");
		good = false;
	}
	return good;
}

/* An operation of which no call went well was not really there. */
static bool operations_good(void)
{
	bool good = true;
	__u64 enough;
	__u32 i;

	for (i = 0; i < ct_nr_ops; i++) {
		enough = ct_ops[i].nr == KVP_OP_POOL_DESTROY ? ENOUGH_DESTROY : ENOUGH;
		if (mf_counts->ok[ct_ops[i].nr] || mf_counts->calls < enough)
			continue;
		fprintf(stderr, "malformed: %s never went well\n", ct_ops[i].name);
		good = false;
	}
	return good;
}

bool mf_summary(__u64 seed)
{
	bool good = kinds_good();

	good = operations_good() && good;
	if (!mf_counts->audits || !mf_counts->empties) {
		fprintf(stderr, "malformed: no audit, or no pool whose blocks came back\n");
		good = false;
	}
	printf("malformed: %llu calls (%llu by ioctl, %llu by io_uring, %llu async), seed %llu, ",
	       mf_counts->calls, mf_counts->entrance[MF_IOCTL],
	       mf_counts->entrance[MF_URING] + mf_counts->entrance[MF_ASYNC],
	       mf_counts->entrance[MF_ASYNC], seed);
	printf("%llu entries of batches: %llu refused, %llu well-formed, ", mf_counts->entries,
	       mf_counts->refused, mf_counts->well_formed);
	printf("%u of %u documented errors seen and no other; %llu audits clean, ", nr_seen(),
	       nr_known, mf_counts->audits);
	printf("%llu pools empty at the end, %llu scenes\n", mf_counts->empties,
	       mf_counts->scenes);
	return good;
}

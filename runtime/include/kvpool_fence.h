/* SPDX-License-Identifier: MIT */
/*
 * Fences, steps, streams and admission of libkvpool; <kvpool.h> includes this file. What a
 * timeline, a fence, a use, a ticket and the reserve are is said in <linux/kvpool.h>, DOC: Fences
 * and DOC: Admission.
 *
 * A step
 * ------
 * Work that reads or writes blocks goes on after the call that launched it. So that no block
 * changes hands meanwhile, each step says what it touches, and when it has ended:
 *
 *	use = kvp_use_seq(seq, first, first + nr);	rows of tokens [first, first + nr)
 *	kvp_step_begin(pool, timeline, &use, 1, &step);
 *	... launch the work ...
 *	kvp_step_end(stream, &step);			the timeline becomes step.value
 *
 * Begin comes BEFORE the launch. From then on the pool holds back what the sequence gives up: were
 * it said after the launch, a block that is freed in between (by another thread, by a
 * window that moves on, by a client that is killed) would be somebody else's while the work
 * still writes it, and nothing would show that. A step that is begun and launched later, or
 * never, only holds blocks back for longer.
 *
 * On a stream of a GPU nothing of this library is needed for the end: the last operation of the
 * step writes step.value to step.address. In CUDA the page of timelines is registered once
 * (cuMemHostRegister() with DEVICEMAP, cuMemHostGetDevicePointer()), and each step ends with
 * cuStreamWriteValue64() with its default flags, which order it after the step's own writes; after
 * the launch of a graph, not in it. It must come after all work of the step, and after the value
 * of the step before it.
 *
 * A timeline belongs to one stream, on which work runs in the order of its launches, and its steps
 * end in the order in which they began: a value says that all steps up to it are over. Who
 * has several streams gives each a timeline of its own.
 *
 * When a launch fails: kvp_seq_truncate() each sequence to the write_from of its use, which takes
 * back what the step was to compute (one with a STATE family is freed instead: nobody knows its
 * state); then end the step like any other, so that its value is written after those of the steps
 * before. kvp_signal() instead, at once, only where none of these is open.
 *
 * Nothing here is allocated in a step, but what the core needs to note a use.
 */
#ifndef KVPOOL_FENCE_H
#define KVPOOL_FENCE_H

#include "kvpool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For times in nanoseconds: no end. */
#define KVP_FOREVER	(~0ULL)

/* ---- timelines ---------------------------------------------------------------- */

/*
 * One more timeline of this client, of KVP_NR_TIMELINES; *@timeline is its index. It lasts until
 * kvp_pool_close(). Errors: as KVP_OP_TIMELINE_CREATE; -EINVAL/POINTER.
 */
int kvp_timeline_create(struct kvp_pool *pool, uint32_t *timeline);

/*
 * Address of a timeline's value, in the page that is shared with whatever does the work: valid
 * until kvp_pool_close(). To be written by an atomic store with release order, by the accelerator,
 * or by kvp_signal(), and never by two of them; what is smaller than before, or was not announced
 * by a use, is ignored and counted. The page holds KVP_NR_TIMELINES of struct kvp_timeline;
 * timeline 0 is at its start. A child after fork(2) does not have it. Errors: -ENOENT/NO_TIMELINE,
 * -EINVAL/POINTER, -ENOMEM, -EOPNOTSUPP/DOOR (a device without KVP_FEATURE_MMAP).
 */
int kvp_timeline_address(struct kvp_pool *pool, uint32_t timeline, uint64_t **address);

/* ---- uses ------------------------------------------------------------------------ */

/*
 * An entry for kvp_use() and kvp_step_begin(). A sequence of which rows of tokens from
 * @write_from on are written; when that has ended the first @computed_to tokens are computed.
 */
static inline struct kvp_use_entry kvp_use_seq(uint64_t seq, uint64_t write_from,
					       uint64_t computed_to)
{
	struct kvp_use_entry entry;

	entry.kind = KVP_USE_SEQ;
	entry.timeline = 0;
	entry.id = seq;
	entry.value = 0;
	entry.write_from = write_from;
	entry.computed_to = computed_to;
	return entry;
}

/* A sequence that is only read. */
static inline struct kvp_use_entry kvp_use_seq_read(uint64_t seq)
{
	return kvp_use_seq(seq, KVP_POS_END, 0);
}

/* A block on which this client has a raw reference, read or written. */
static inline struct kvp_use_entry kvp_use_block(uint64_t block)
{
	struct kvp_use_entry entry = kvp_use_seq(block, 0, 0);

	entry.kind = KVP_USE_BLOCK;
	return entry;
}

/*
 * What work that is going to be launched touches, each with its fence: all of the @nr entries or
 * none. For those who choose the values of a timeline themselves; kvp_step_begin() does so
 * for others, and the two do not go together on one timeline. Errors: as KVP_OP_USE
 * (kvp_error()->where is the entry; of POSITION the text says how far rows there are).
 */
int kvp_use(struct kvp_pool *pool, const struct kvp_use_entry *entries, uint32_t nr);

/*
 * The timeline becomes @value, for work that has ended on a processor: what kvp_step_done() does,
 * checked. Not on a timeline that a stream or an accelerator writes. Errors: as KVP_OP_SIGNAL.
 */
int kvp_signal(struct kvp_pool *pool, uint32_t timeline, uint64_t value);

/*
 * Which of the @nr fences (NULL with 0: none) have passed: passed, seen and announced are written
 * in @fences. @info (may be NULL) gets the rest of what KVP_OP_QUERY says: tickets, open uses,
 * blocks held back, values that were ignored. @flags KVP_QUERY_*: with KVP_QUERY_WATCH a poll(2)
 * of kvp_pool_fd() tells when one of them passes, for those who have an event loop; others wait
 * with kvp_wait(). Errors: as KVP_OP_QUERY.
 */
int kvp_query(struct kvp_pool *pool, struct kvp_fence *fences, uint32_t nr, uint32_t flags,
	      struct kvp_query *info);

/*
 * By calling this one says that no work of dead clients goes on: what was held back for @client
 * (0: for all of the pool) can be used again (needs ADMIN). *@clients and *@blocks (may be NULL):
 * how many were in quarantine, and blocks that are held back no longer. Errors: as KVP_OP_REAP.
 */
int kvp_reap(struct kvp_pool *pool, uint64_t client, uint32_t *clients, uint64_t *blocks);

/* ---- waiting ------------------------------------------------------------------------ */

/*
 * Sleep until one of the @nr @fences (may be NULL with 0) has passed, or one of those of
 * KVP_READY_TICKET and KVP_READY_EVENTS that are in @wanted is there, but no longer than
 * @timeout_ns (0: only look; KVP_FOREVER). *@ready: those of them that are there,
 * KVP_READY_FENCE for a fence; 0: the time is over. Each of @fences says whether it has passed, as
 * kvp_query() does. A fence that passes wakes within milliseconds of the store that makes it pass,
 * and timelines are looked at for this client no longer than it waits.
 *
 * Any number of threads may wait on one pool, each for its own, beside those that use it. An event
 * loop that polls kvp_pool_fd() for fences is better a client of its own: waits of the same client
 * take its news. EVENTS needs a client that has called kvp_events_read() once, and other threads
 * may have read them before the caller does. A signal that is handled does not end the sleep.
 * Errors: as KVP_OP_QUERY with KVP_QUERY_WATCH (a fence that no use announced would never pass:
 * -EINVAL/FENCE_AHEAD); -EINVAL (FLAG: other bits in @wanted; COUNT: nothing to wait for;
 * POINTER). A pool that is destroyed ends the sleep with -EIO/DESTROYED.
 */
int kvp_wait(struct kvp_pool *pool, uint32_t wanted, struct kvp_fence *fences, uint32_t nr,
	     uint64_t timeout_ns, uint32_t *ready);

/*
 * Sleep until a fence has passed. What its steps compute is computed when this returns 0. Errors:
 * as kvp_wait(); -ETIMEDOUT (after @timeout_ns it is still open).
 */
int kvp_fence_wait(struct kvp_pool *pool, uint32_t timeline, uint64_t value,
		   uint64_t timeout_ns);

/* ---- steps --------------------------------------------------------------------------- */

/**
 * struct kvp_step - one step between its begin and its end
 * @timeline: that it ends on
 * @reserved: 0
 * @value: that the timeline has when it has ended
 * @address: where that is written
 */
struct kvp_step {
	uint32_t timeline;
	uint32_t reserved;
	uint64_t value;
	uint64_t *address;
};

/*
 * A step that is going to be launched and touches what the @nr @uses say, whose timeline and value
 * this fills in. It gets the next value of the timeline: 1, 2, 3 ... in the order of the calls,
 * from any number of threads; a call that fails takes none. Whoever begins a step must end it
 * (see the top of this file); if the thread that launches is another one than the next step's,
 * the launches must be in the order of the values. Errors: as KVP_OP_USE; -EINVAL/POINTER, and as
 * kvp_timeline_address().
 */
int kvp_step_begin(struct kvp_pool *pool, uint32_t timeline, struct kvp_use_entry *uses,
		   uint32_t nr, struct kvp_step *step);

/*
 * The work of the step has ended, here and now: one atomic store with release order, from any
 * thread, no call of the pool. For those who run work on threads of their own. The pool must be
 * open, and the steps of the timeline that began before must be over.
 */
void kvp_step_done(const struct kvp_step *step);

/* ---- streams: a backend on the processor ------------------------------------------------- */

/*
 * A stream is a queue of launches and a pool of threads that work them off, with a timeline of its
 * own. Launches return at once; they run in their order, one after the other, and the parts of
 * one launch run side by side. What a launch reads is what those before it have written.
 *
 * Any number of threads may launch. Nothing is allocated after kvp_stream_open(). The threads
 * block all signals. A stream belongs to the process that opened it: in a child after fork(2) each
 * call gives -EPERM, and kvp_stream_close() frees the handle only.
 */
struct kvp_stream;

#define KVP_STREAM_LAUNCHES	256	/* in flight */
#define KVP_STREAM_THREADS	1024	/* of one stream */

/* Part @part of the @parts of a launch; @arg as it was given to kvp_stream_launch(). */
typedef void (*kvp_work)(void *arg, uint32_t part, uint32_t parts);

/*
 * Open a stream with @nr_threads threads (0: one for each processor that this process may use).
 * *@stream is the caller's, to be closed with kvp_stream_close() before @pool is. The timeline of a
 * stream that was closed is used again. Errors: as KVP_OP_TIMELINE_CREATE; -EINVAL/POINTER,
 * -EOVERFLOW/COUNT (more than KVP_STREAM_THREADS), -ENOMEM, -EAGAIN (no more threads).
 */
int kvp_stream_open(struct kvp_pool *pool, uint32_t nr_threads, struct kvp_stream **stream);

/* The timeline of the stream: for kvp_step_begin(), and nobody else writes it. */
uint32_t kvp_stream_timeline(const struct kvp_stream *stream);

/*
 * Have @work called @parts times, with 0 .. @parts - 1, after all that was launched before. @arg is
 * the caller's, and must stay until that has ended. Returns at once, unless KVP_STREAM_LAUNCHES
 * launches are in flight: then it waits until the first of them has ended. Work may
 * launch on its own stream, but cannot wait: -EBUSY instead, if the queue is full. Errors: -EINVAL
 * (POINTER: @work NULL; COUNT: @parts 0), -EBUSY, -EPERM.
 */
int kvp_stream_launch(struct kvp_stream *stream, kvp_work work, void *arg, uint32_t parts);

/*
 * The step ends when all that was launched until now has ended: its value is written then, with
 * release order. Never waits. Errors, with nothing changed: -EINVAL (POINTER; VALUE: a step of
 * another timeline; FENCE_PASSED: it was ended already), -EBUSY/FENCE_OPEN (a step that began
 * before it is not ended: call again after that), -EPERM.
 */
int kvp_step_end(struct kvp_stream *stream, const struct kvp_step *step);

/*
 * Wait until all that was launched before this call has ended, and the steps that were ended.
 * Errors: -EBUSY (called by work of the stream, which would wait for itself), -EPERM.
 */
int kvp_stream_sync(struct kvp_stream *stream);

/*
 * Wait until all launches have ended, and end the threads and the stream. Must be the last call on
 * it, and not made by its work. Steps that were begun and not ended stay open until
 * kvp_pool_close(). NULL is allowed.
 */
void kvp_stream_close(struct kvp_stream *stream);

/* ---- admission ------------------------------------------------------------------------- */

typedef uint64_t kvp_ticket_t;		/* id, valid in its pool's client only; 0 is none */

/*
 * Take the blocks that the @nr @needs say, of all families or none, into this client's reserve: its
 * next creates, appends, forks and allocs take them from there. Errors: as KVP_OP_ADMIT;
 * -ENOSPC/QUEUED where others wait.
 */
int kvp_admit(struct kvp_pool *pool, const struct kvp_admit_need *needs, uint32_t nr);

/*
 * The same, with a ticket where it cannot be had now: *@ticket 0: it was, else the caller owes
 * kvp_admit_take() or kvp_admit_cancel(). Tickets are granted in the order of asking; *@ahead (may
 * be NULL): those that were there before. Errors: as KVP_OP_ADMIT.
 */
int kvp_admit_queue(struct kvp_pool *pool, const struct kvp_admit_need *needs, uint32_t nr,
		    kvp_ticket_t *ticket, uint64_t *ahead);

/*
 * What the ticket was granted goes into the reserve, and the ticket ends; KVP_READY_TICKET of
 * kvp_wait() says that it is time. Errors: -EBUSY/NOT_GRANTED (where = tickets before it),
 * and as KVP_OP_ADMIT.
 */
int kvp_admit_take(struct kvp_pool *pool, kvp_ticket_t ticket);

/* End a ticket, and give back what it was granted. Errors: as KVP_OP_ADMIT. */
int kvp_admit_cancel(struct kvp_pool *pool, kvp_ticket_t ticket);

/*
 * Give back blocks of the reserve: what @needs say, or with @nr 0 all of it. Errors: as
 * KVP_OP_ADMIT.
 */
int kvp_admit_drop(struct kvp_pool *pool, const struct kvp_admit_need *needs, uint32_t nr);

/*
 * kvp_admit_queue(), and sleep until it is granted and taken. Errors: as KVP_OP_ADMIT and
 * kvp_wait(); -ETIMEDOUT (after @timeout_ns it still waits; its ticket is cancelled).
 */
int kvp_admit_wait(struct kvp_pool *pool, const struct kvp_admit_need *needs, uint32_t nr,
		   uint64_t timeout_ns);

#ifdef __cplusplus
}
#endif

#endif /* KVPOOL_FENCE_H */

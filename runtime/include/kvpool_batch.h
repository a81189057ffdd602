/* SPDX-License-Identifier: MIT */
/*
 * Batches of libkvpool; <kvpool.h> includes this file.
 *
 * Several calls in one, as a scheduler makes them in each step. A buffer is made once; then, each
 * time: add entries, run, read the results. The first entry that is added after a run begins
 * the next batch. Nothing is allocated between kvp_batch_new() and kvp_batch_free(), but that a
 * thread's first batch on a pool of the device makes it an io_uring, which ends with the thread;
 * where io_uring is forbidden batches are ioctls.
 *
 * Entries are executed in the order in which they were added; together they are not atomic, and
 * other clients' calls may come between. An entry names the object that entry k of the same
 * batch makes (create, fork, match) as KVP_REF(k), but not in uses. Copies that an append or a
 * fork asks for are made, bytes included, before an entry other than a use that names the same
 * sequence is executed, and before run returns.
 *
 * What an entry points to (token ids, digests, uses, room for results) must stay until run
 * returns. One thread at a time may use a buffer.
 */
#ifndef KVPOOL_BATCH_H
#define KVPOOL_BATCH_H

#include "kvpool.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kvp_batch_buf;

/*
 * A buffer for batches of up to @max entries (1..KVP_MAX_BATCH) on @pool; *@batch is the
 * caller's, to be given to kvp_batch_free(). Errors: -EINVAL (POINTER; COUNT: @max 0),
 * -EOVERFLOW/COUNT, -ENOMEM.
 */
int kvp_batch_new(struct kvp_pool *pool, uint32_t max, struct kvp_batch_buf **batch);
/* Before or after its pool is closed. NULL is allowed. */
void kvp_batch_free(struct kvp_batch_buf *batch);

/* Drop the entries that were added. */
void kvp_batch_clear(struct kvp_batch_buf *batch);
/* Entries that there are. */
uint32_t kvp_batch_nr(const struct kvp_batch_buf *batch);

/*
 * Add an entry; each does what the function without "batch" in its name does. Return the entry's
 * index (0 or more) or, with nothing added, -EOVERFLOW/COUNT (it has @max entries),
 * -EINVAL/POINTER (a prompt or space NULL), -EINVAL/BATCH_REF (a KVP_REF to no earlier entry).
 */
int kvp_batch_seq_create(struct kvp_batch_buf *batch, const struct kvp_prompt *prompt,
			 uint32_t flags, uint64_t reserve);
int kvp_batch_seq_append(struct kvp_batch_buf *batch, kvp_seq_t seq, const uint32_t *tokens,
			 uint32_t nr_tokens, uint64_t reserve);
int kvp_batch_seq_append_at(struct kvp_batch_buf *batch, kvp_seq_t seq,
			    const struct kvp_append *append);
int kvp_batch_seq_set_tokens(struct kvp_batch_buf *batch, kvp_seq_t seq,
			     const uint32_t *tokens, uint32_t nr_tokens);
int kvp_batch_seq_advance(struct kvp_batch_buf *batch, kvp_seq_t seq, uint64_t computed);
int kvp_batch_seq_fork(struct kvp_batch_buf *batch, kvp_seq_t seq, uint64_t tokens);
int kvp_batch_seq_truncate(struct kvp_batch_buf *batch, kvp_seq_t seq, uint64_t tokens);
int kvp_batch_seq_free(struct kvp_batch_buf *batch, kvp_seq_t seq);
int kvp_batch_seq_table(struct kvp_batch_buf *batch, kvp_seq_t seq, uint32_t family,
			uint64_t first, uint64_t *blocks, uint32_t nr);
int kvp_batch_publish(struct kvp_batch_buf *batch, kvp_seq_t seq,
		      const struct kvp_publish_options *options);
int kvp_batch_match(struct kvp_batch_buf *batch, const struct kvp_prompt *prompt,
		    uint32_t flags);
int kvp_batch_match_release(struct kvp_batch_buf *batch, kvp_match_t match);
int kvp_batch_use(struct kvp_batch_buf *batch, const struct kvp_use_entry *entries, uint32_t nr);

/*
 * Any operation of the contract, as kvp_pool_call(): @arg must stay until run returns, and
 * gets the results. Copies that such an append or fork asks for are the caller's to make.
 * Errors: as above; -EINVAL (POINTER; SIZE: no room for a head; ALIGNMENT: @arg is not at a
 * multiple of 8).
 */
int kvp_batch_call(struct kvp_batch_buf *batch, enum kvp_op op, void *arg, uint32_t size);

/*
 * Execute the entries; KVP_BATCH_* @flags. Returns 0 if there were any and each one succeeded.
 * Else the error of the first that failed: kvp_error() says which one and why, others may have
 * been executed, and each has its own result. Errors: -EINVAL/COUNT (no entries, or they ran
 * already), -EINVAL/FLAG, -ENOMEM/MEMORY (of the entries from some one on: these were not
 * executed), -ECANCELED/EARLIER_ENTRY (of an entry, with KVP_BATCH_STOP_ON_ERROR), and those of
 * the entries.
 */
int kvp_batch_run(struct kvp_batch_buf *batch, uint32_t flags);

/**
 * struct kvp_batch_result - what became of an entry
 * @err: 0 or a negative errno
 * @reason: enum kvp_reason
 * @where: what @reason speaks of
 * @nr: ids written (table)
 * @id: object made (create, fork; match with KVP_MATCH_HOLD), else 0
 * @tokens: create, match: matched; fork: tokens of the child; publish: published;
 *          append, set_tokens: tokens that the sequence had before; table: tokens it has
 */
struct kvp_batch_result {
	int err;
	uint32_t reason;
	uint32_t where;
	uint32_t nr;
	uint64_t id;
	uint64_t tokens;
};

/*
 * The result of an entry of the batch that ran last. An entry of kvp_batch_call() has its
 * numbers in its own struct: @nr, @id and @tokens are 0. Errors: -EINVAL (POINTER; COUNT: no
 * such entry, or the batch has not run).
 */
int kvp_batch_get(const struct kvp_batch_buf *batch, uint32_t entry,
		  struct kvp_batch_result *result);

#ifdef __cplusplus
}
#endif

#endif /* KVPOOL_BATCH_H */

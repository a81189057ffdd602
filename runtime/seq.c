// SPDX-License-Identifier: MIT
/*
 * Sequences: each function is one call of the contract; where a call asks for copies,
 * they are made and acknowledged before it returns. Owns nothing and takes no lock.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* ---- copies ---- */

/*
 * Room for the copies that a call may ask for: on the stack, or allocated where one
 * node has more blocks than that.
 */
struct copies {
	struct kvp_copy *at;
	uint32_t room;
	struct kvp_copy stack[KVP_STACK_COPIES];
};

static void copies_init(const struct kvp_pool *pool, struct copies *copies)
{
	copies->at = copies->stack;
	copies->room = pool->max_copies < KVP_STACK_COPIES ? pool->max_copies :
							     KVP_STACK_COPIES;
}

/*
 * A call failed with *@err as @head says. Was it for want of room, and is there more now? Then
 * nothing has changed and it can be made again.
 */
static bool copies_grow(const struct kvp_pool *pool, struct copies *copies, int *err,
			struct kvp_head *head)
{
	if (*err != -EOVERFLOW || head->reason != KVP_REASON_COPIES ||
	    copies->room >= pool->max_copies)
		return false;
	copies->at = malloc(pool->max_copies * sizeof(*copies->at));
	if (!copies->at) {
		*err = -ENOMEM;
		head->reason = KVP_REASON_MEMORY;
		return false;
	}
	copies->room = pool->max_copies;
	return true;
}

static void copies_exit(struct copies *copies)
{
	if (copies->at != copies->stack)
		free(copies->at);
}

int kvp_copies_make(struct kvp_pool *pool, kvp_seq_t seq, const struct kvp_copy *copies,
		    uint32_t nr)
{
	struct kvp_seq_id copied = { .seq = seq };
	int err;

	if (!nr)
		return 0;
	err = kvp_bytes_copy(pool, copies, nr);
	if (err)
		return err;
	/* Another thread may just be reading the sequence's table: it will not be long. */
	while ((err = kvp_try(pool, KVP_OP_SEQ_COPIED, &copied)) == -EBUSY)
		sched_yield();
	return err ? kvp_pool_failed(pool, KVP_OP_SEQ_COPIED, err, &copied.head) : 0;
}

/* ---- life ---- */

int kvp_prompt_check(const struct kvp_prompt *prompt)
{
	if (prompt && prompt->space)
		return 0;
	return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "prompt: %s is NULL",
			     prompt ? "space" : "prompt");
}

void kvp_create_fill(struct kvp_seq_create *arg, const struct kvp_prompt *prompt)
{
	memcpy(arg->space, prompt->space, sizeof(arg->space));
	arg->tokens = kvp_addr(prompt->tokens);
	arg->nr_tokens = prompt->nr_tokens;
	arg->extras = kvp_addr(prompt->extras);
	arg->nr_extras = prompt->nr_extras;
	arg->match_limit = prompt->match_limit;
}

int kvp_seq_create(struct kvp_pool *pool, const struct kvp_prompt *prompt, uint32_t flags,
		   uint64_t reserve, kvp_seq_t *seq, uint64_t *matched)
{
	struct kvp_seq_create arg = { .head.flags = flags, .reserve = reserve };
	int err;

	err = kvp_prompt_check(prompt);
	if (err)
		return err;
	if (!seq)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "seq_create: seq is NULL");
	kvp_create_fill(&arg, prompt);
	err = kvp_do(pool, KVP_OP_SEQ_CREATE, &arg);
	if (err)
		return err;
	*seq = arg.seq;
	if (matched)
		*matched = arg.matched;
	return 0;
}

/* @is: what the core says that the position is. */
static int position_failed(int err, const char *what, uint64_t position, uint64_t is)
{
	return kvp_error_set(err, KVP_REASON_POSITION, (uint32_t)is,
			     "%s: at position %llu: expected %llu, the tokens that the sequence has",
			     what, (unsigned long long)position, (unsigned long long)is);
}

static int append_failed(const struct kvp_pool *pool, int err, uint64_t position,
			 const struct kvp_seq_append *arg)
{
	if (arg->head.reason != KVP_REASON_POSITION)
		return kvp_pool_failed(pool, KVP_OP_SEQ_APPEND, err, &arg->head);
	return position_failed(err, "seq_append", position, arg->position);
}

void kvp_append_fill(struct kvp_seq_append *arg, const struct kvp_append *append)
{
	arg->tokens = kvp_addr(append->tokens);
	arg->nr_tokens = append->nr_tokens;
	arg->nr_extras = append->nr_extras;
	arg->extras = kvp_addr(append->extras);
	arg->position = append->position;
	arg->reserve = append->reserve;
}

int kvp_seq_append_at(struct kvp_pool *pool, kvp_seq_t seq, uint64_t position,
		      const uint32_t *tokens, uint32_t nr_tokens,
		      const struct kvp_extra *extras, uint32_t nr_extras, uint64_t reserve)
{
	struct kvp_seq_append arg;
	struct copies copies;
	int err;

	copies_init(pool, &copies);
	do {
		arg = (struct kvp_seq_append){
			.seq = seq,
			.tokens = kvp_addr(tokens),
			.nr_tokens = nr_tokens,
			.nr_extras = nr_extras,
			.extras = kvp_addr(extras),
			.position = position,
			.reserve = reserve,
			.copies = kvp_addr(copies.at),
			.nr_copies = copies.room,
		};
		err = kvp_try(pool, KVP_OP_SEQ_APPEND, &arg);
	} while (copies_grow(pool, &copies, &err, &arg.head));
	if (err)
		err = append_failed(pool, err, position, &arg);
	else
		err = kvp_copies_make(pool, seq, copies.at, arg.nr_copies);
	copies_exit(&copies);
	return err;
}

int kvp_seq_append(struct kvp_pool *pool, kvp_seq_t seq, const uint32_t *tokens,
		   uint32_t nr_tokens, uint64_t reserve)
{
	return kvp_seq_append_at(pool, seq, KVP_POS_END, tokens, nr_tokens, NULL, 0, reserve);
}

int kvp_seq_fork(struct kvp_pool *pool, kvp_seq_t seq, uint64_t tokens, kvp_seq_t *child)
{
	struct kvp_seq_fork arg;
	struct copies copies;
	int err;

	if (!child)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "seq_fork: child is NULL");
	copies_init(pool, &copies);
	do {
		arg = (struct kvp_seq_fork){
			.seq = seq,
			.tokens = tokens,
			.copies = kvp_addr(copies.at),
			.nr_copies = copies.room,
		};
		err = kvp_try(pool, KVP_OP_SEQ_FORK, &arg);
	} while (copies_grow(pool, &copies, &err, &arg.head));
	if (err)
		err = kvp_pool_failed(pool, KVP_OP_SEQ_FORK, err, &arg.head);
	else
		err = kvp_copies_make(pool, arg.child, copies.at, arg.nr_copies);
	copies_exit(&copies);
	if (!err)
		*child = arg.child;
	return err;
}

int kvp_seq_append_plan(struct kvp_pool *pool, kvp_seq_t seq, const struct kvp_append *append,
			struct kvp_copy *copies, uint32_t *nr)
{
	struct kvp_seq_append arg = { .seq = seq, .copies = kvp_addr(copies) };
	int err;

	if (!append || !nr)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "seq_append: %s is NULL",
				     append ? "nr" : "append");
	kvp_append_fill(&arg, append);
	arg.nr_copies = *nr;
	err = kvp_try(pool, KVP_OP_SEQ_APPEND, &arg);
	if (err)
		return append_failed(pool, err, append->position, &arg);
	*nr = arg.nr_copies;
	return 0;
}

int kvp_seq_fork_plan(struct kvp_pool *pool, kvp_seq_t seq, uint64_t tokens, kvp_seq_t *child,
		      struct kvp_copy *copies, uint32_t *nr)
{
	struct kvp_seq_fork arg = { .seq = seq, .tokens = tokens, .copies = kvp_addr(copies) };
	int err;

	if (!child || !nr)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "seq_fork: %s is NULL",
				     child ? "nr" : "child");
	arg.nr_copies = *nr;
	err = kvp_do(pool, KVP_OP_SEQ_FORK, &arg);
	if (err)
		return err;
	*child = arg.child;
	*nr = arg.nr_copies;
	return 0;
}

int kvp_seq_copied(struct kvp_pool *pool, kvp_seq_t seq)
{
	struct kvp_seq_id arg = { .seq = seq };

	return kvp_do(pool, KVP_OP_SEQ_COPIED, &arg);
}

int kvp_seq_set_tokens_at(struct kvp_pool *pool, kvp_seq_t seq, uint64_t position,
			  const uint32_t *tokens, uint32_t nr_tokens,
			  const struct kvp_extra *extras, uint32_t nr_extras)
{
	struct kvp_seq_set_tokens arg = {
		.seq = seq,
		.tokens = kvp_addr(tokens),
		.nr_tokens = nr_tokens,
		.nr_extras = nr_extras,
		.extras = kvp_addr(extras),
		.position = position,
	};
	int err;

	err = kvp_try(pool, KVP_OP_SEQ_SET_TOKENS, &arg);
	if (!err)
		return 0;
	if (arg.head.reason == KVP_REASON_POSITION)
		return position_failed(err, "seq_set_tokens", position, arg.position);
	return kvp_pool_failed(pool, KVP_OP_SEQ_SET_TOKENS, err, &arg.head);
}

int kvp_seq_set_tokens(struct kvp_pool *pool, kvp_seq_t seq, const uint32_t *tokens,
		       uint32_t nr_tokens)
{
	return kvp_seq_set_tokens_at(pool, seq, KVP_POS_END, tokens, nr_tokens, NULL, 0);
}

int kvp_seq_advance(struct kvp_pool *pool, kvp_seq_t seq, uint64_t computed)
{
	struct kvp_seq_advance arg = { .seq = seq, .computed = computed };

	return kvp_do(pool, KVP_OP_SEQ_ADVANCE, &arg);
}

int kvp_seq_truncate(struct kvp_pool *pool, kvp_seq_t seq, uint64_t tokens)
{
	struct kvp_seq_truncate arg = { .seq = seq, .tokens = tokens };

	return kvp_do(pool, KVP_OP_SEQ_TRUNCATE, &arg);
}

int kvp_seq_free(struct kvp_pool *pool, kvp_seq_t seq)
{
	struct kvp_seq_id arg = { .seq = seq };

	return kvp_do(pool, KVP_OP_SEQ_FREE, &arg);
}

/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the runtime share: calls through kvpool.h that must succeed or fail in one
 * way, pools, token ids and rows whose bytes say where they belong. Knows nothing of the
 * core.
 *
 * Include <check.h> first.
 */
#ifndef KVPR_POOLS_H
#define KVPR_POOLS_H

#include <kvpool.h>

/* @expr, a call of the runtime, succeeds. */
#define kvpr_ok(expr)								\
do {										\
	int kvpr_got_ = (expr);							\
										\
	if (kvpr_got_)								\
		ck_abort_msg("%s: %d: %s", #expr, kvpr_got_, kvp_error()->text);\
} while (0)

/* It fails with @err for @why, and the thread's error says so in numbers and words. */
#define kvpr_expect(expr, err_, why)						\
do {										\
	int kvpr_got_ = (expr);							\
	const struct kvp_error *kvpr_error_ = kvp_error();			\
										\
	if (kvpr_got_ != (err_) || kvpr_error_->err != (err_) ||		\
	    kvpr_error_->reason != (uint32_t)(why) || !kvpr_error_->text[0])	\
		ck_abort_msg("%s: %d, error %d reason %u (%s), expected %d reason %u",	\
			     #expr, kvpr_got_, kvpr_error_->err,		\
			     kvpr_error_->reason, kvpr_error_->text, (err_), (why));	\
} while (0)

/* The text of the thread's error has @word in it. */
#define kvpr_says(word)								\
do {										\
	if (!strstr(kvp_error()->text, (word)))					\
		ck_abort_msg("\"%s\" does not say \"%s\"", kvp_error()->text, (word));	\
} while (0)

/* A pool by its URI; fails the test where that fails. */
struct kvp_pool *kvpr_open(const char *uri);

/* The digest of a namespace of which only the model's name is given. */
void kvpr_space(const char *model, uint8_t space[KVP_DIGEST_LEN]);

/* @nr ids that follow from @seed. */
void kvpr_tokens(uint32_t *tokens, uint32_t nr, uint32_t seed);

/* Bytes of the rows of tokens [@first, @first + @nr) that follow from @seed and position. */
void kvpr_rows(uint8_t *rows, uint64_t first, uint64_t nr, uint64_t row_bytes, uint32_t seed);

/* A sequence of @nr tokens of @space, whatever is published. */
kvp_seq_t kvpr_seq(struct kvp_pool *pool, const uint8_t *space, const uint32_t *tokens,
		   uint32_t nr, uint64_t *matched);

/*
 * Write rows [@first, @first + @nr) of every family but states, those of family i being
 * kvpr_rows(@seed + i), and advance to their end.
 */
void kvpr_compute(struct kvp_pool *pool, kvp_seq_t seq, uint64_t first, uint64_t nr,
		  uint32_t seed);
/* Rows [@first, @first + @nr) of @family are those that kvpr_compute(@seed) writes. */
void kvpr_expect_rows(struct kvp_pool *pool, kvp_seq_t seq, uint32_t family, uint64_t first,
		      uint64_t nr, uint32_t seed);

void kvpr_expect_lengths(struct kvp_pool *pool, kvp_seq_t seq, uint64_t tokens,
			 uint64_t computed, uint64_t reserved, uint64_t published);

/* Blocks of @family that are in @state. */
uint64_t kvpr_blocks(struct kvp_pool *pool, uint32_t family, enum kvp_block_state state);

/* Block of slot @slot. */
uint64_t kvpr_block(struct kvp_pool *pool, kvp_seq_t seq, uint32_t family, uint64_t slot);

/* The audit finds nothing. */
void kvpr_sound(struct kvp_pool *pool);

/* Run the suite; the exit status of its program. */
int kvpr_run(Suite *suite);

#endif /* KVPR_POOLS_H */

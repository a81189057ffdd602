// SPDX-License-Identifier: MIT
/*
 * Prefixes: what is published and who may still match it. Owns nothing and takes no lock.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

/* ---- publishing ---- */

void kvp_publish_fill(struct kvp_prefix_publish *arg,
		      const struct kvp_publish_options *options)
{
	arg->head.flags = options->flags;
	arg->limit = options->limit;
	arg->tag = options->tag;
}

int kvp_publish(struct kvp_pool *pool, kvp_seq_t seq, uint64_t *published)
{
	struct kvp_prefix_publish arg = { .seq = seq };
	int err;

	err = kvp_do(pool, KVP_OP_PREFIX_PUBLISH, &arg);
	if (!err && published)
		*published = arg.published;
	return err;
}

int kvp_publish_with(struct kvp_pool *pool, kvp_seq_t seq,
		     const struct kvp_publish_options *options, struct kvp_published *result)
{
	struct kvp_prefix_publish arg = { .seq = seq };
	int err;

	if (options)
		kvp_publish_fill(&arg, options);
	err = kvp_do(pool, KVP_OP_PREFIX_PUBLISH, &arg);
	if (!err && result)
		*result = (struct kvp_published){
			.tokens = arg.published,
			.nr_new = arg.nr_new,
			.nr_shared = arg.nr_shared,
		};
	return err;
}

/* ---- matching ---- */

void kvp_match_fill(struct kvp_prefix_match *arg, const struct kvp_prompt *prompt)
{
	memcpy(arg->space, prompt->space, sizeof(arg->space));
	arg->tokens = kvp_addr(prompt->tokens);
	arg->nr_tokens = prompt->nr_tokens;
	arg->extras = kvp_addr(prompt->extras);
	arg->nr_extras = prompt->nr_extras;
}

/* @arg has its flags and its room for blocks. */
static int match(struct kvp_pool *pool, const struct kvp_prompt *prompt,
		 struct kvp_prefix_match *arg)
{
	int err = kvp_prompt_check(prompt);

	if (err)
		return err;
	kvp_match_fill(arg, prompt);
	return kvp_do(pool, KVP_OP_PREFIX_MATCH, arg);
}

int kvp_match(struct kvp_pool *pool, const struct kvp_prompt *prompt, uint64_t *matched)
{
	struct kvp_prefix_match arg = { 0 };
	int err;

	if (!matched)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "match: matched is NULL");
	err = match(pool, prompt, &arg);
	if (!err)
		*matched = arg.matched;
	return err;
}

int kvp_match_hold(struct kvp_pool *pool, const struct kvp_prompt *prompt, kvp_match_t *held,
		   uint64_t *matched)
{
	struct kvp_prefix_match arg = { .head.flags = KVP_MATCH_HOLD };
	int err;

	if (!held)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "match: match is NULL");
	err = match(pool, prompt, &arg);
	if (err)
		return err;
	*held = arg.match;
	if (matched)
		*matched = arg.matched;
	return 0;
}

int kvp_match_blocks(struct kvp_pool *pool, const struct kvp_prompt *prompt, uint32_t family,
		     uint64_t *blocks, uint32_t *nr, kvp_match_t *held, uint64_t *matched)
{
	struct kvp_prefix_match arg = {
		.head.flags = held ? KVP_MATCH_HOLD : 0,
		.blocks = kvp_addr(blocks),
		.family = family,
	};
	int err;

	if (!nr)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "match: nr is NULL");
	arg.nr_blocks = *nr;
	err = match(pool, prompt, &arg);
	if (err)
		return err;
	*nr = arg.nr_blocks;
	if (held)
		*held = arg.match;
	if (matched)
		*matched = arg.matched;
	return 0;
}

int kvp_match_release(struct kvp_pool *pool, kvp_match_t held)
{
	struct kvp_prefix_release arg = { .match = held };

	return kvp_do(pool, KVP_OP_PREFIX_RELEASE, &arg);
}

/* ---- invalidation ---- */

static int invalidate(struct kvp_pool *pool, struct kvp_prefix_invalidate *arg,
		      uint64_t *nr_subtrees)
{
	int err = kvp_do(pool, KVP_OP_PREFIX_INVALIDATE, arg);

	if (!err && nr_subtrees)
		*nr_subtrees = arg->nr_subtrees;
	return err;
}

int kvp_invalidate_space(struct kvp_pool *pool, const uint8_t space[KVP_DIGEST_LEN])
{
	struct kvp_prefix_invalidate arg = { .head.flags = KVP_INVALIDATE_SPACE };

	if (!space)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "invalidate: space is NULL");
	memcpy(arg.space, space, sizeof(arg.space));
	return invalidate(pool, &arg, NULL);
}

int kvp_invalidate_prefix(struct kvp_pool *pool, const struct kvp_prompt *prompt,
			  uint64_t *nr_subtrees)
{
	struct kvp_prefix_invalidate arg = { .head.flags = KVP_INVALIDATE_PREFIX };
	int err = kvp_prompt_check(prompt);

	if (err)
		return err;
	memcpy(arg.space, prompt->space, sizeof(arg.space));
	arg.tokens = kvp_addr(prompt->tokens);
	arg.nr_tokens = prompt->nr_tokens;
	arg.extras = kvp_addr(prompt->extras);
	arg.nr_extras = prompt->nr_extras;
	return invalidate(pool, &arg, nr_subtrees);
}

int kvp_invalidate_tag(struct kvp_pool *pool, uint32_t tag, uint64_t *nr_subtrees)
{
	struct kvp_prefix_invalidate arg = { .head.flags = KVP_INVALIDATE_TAG, .tag = tag };

	return invalidate(pool, &arg, nr_subtrees);
}

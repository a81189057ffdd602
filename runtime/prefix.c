// SPDX-License-Identifier: MIT
/*
 * Prefixes: what is published and who may still match it. Owns nothing and takes no lock.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

int kvp_publish(struct kvp_pool *pool, kvp_seq_t seq, uint64_t *published)
{
	struct kvp_prefix_publish arg = { .seq = seq };
	int err;

	err = kvp_do(pool, KVP_OP_PREFIX_PUBLISH, &arg);
	if (!err && published)
		*published = arg.published;
	return err;
}

int kvp_match(struct kvp_pool *pool, const struct kvp_prompt *prompt, uint64_t *matched)
{
	struct kvp_prefix_match arg = { 0 };
	int err;

	err = kvp_prompt_check(prompt);
	if (err)
		return err;
	if (!matched)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "match: matched is NULL");
	memcpy(arg.space, prompt->space, sizeof(arg.space));
	arg.tokens = kvp_addr(prompt->tokens);
	arg.nr_tokens = prompt->nr_tokens;
	arg.extras = kvp_addr(prompt->extras);
	arg.nr_extras = prompt->nr_extras;
	err = kvp_do(pool, KVP_OP_PREFIX_MATCH, &arg);
	if (!err)
		*matched = arg.matched;
	return err;
}

int kvp_invalidate_space(struct kvp_pool *pool, const uint8_t space[KVP_DIGEST_LEN])
{
	struct kvp_prefix_invalidate arg = { .head.flags = KVP_INVALIDATE_SPACE };

	if (!space)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "invalidate: space is NULL");
	memcpy(arg.space, space, sizeof(arg.space));
	return kvp_do(pool, KVP_OP_PREFIX_INVALIDATE, &arg);
}

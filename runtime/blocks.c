// SPDX-License-Identifier: MIT
/*
 * Raw references, for engines that keep their own block tables. Owns nothing and takes no lock.
 */
#include <errno.h>

#include "internal.h"

int kvp_blocks_alloc(struct kvp_pool *pool, uint32_t family, uint64_t *blocks, uint32_t nr)
{
	struct kvp_block_alloc arg = { .blocks = kvp_addr(blocks), .nr = nr, .family = family };

	return kvp_do(pool, KVP_OP_BLOCK_ALLOC, &arg);
}

int kvp_blocks_ref(struct kvp_pool *pool, const uint64_t *blocks, uint32_t nr)
{
	struct kvp_block_refs arg = { .blocks = kvp_addr(blocks), .nr = nr };

	return kvp_do(pool, KVP_OP_BLOCK_REF, &arg);
}

int kvp_blocks_unref(struct kvp_pool *pool, const uint64_t *blocks, uint32_t nr)
{
	struct kvp_block_refs arg = { .blocks = kvp_addr(blocks), .nr = nr };

	return kvp_do(pool, KVP_OP_BLOCK_UNREF, &arg);
}

int kvp_block_make_private(struct kvp_pool *pool, uint64_t *block)
{
	struct kvp_block_make_private arg = { 0 };
	struct kvp_block_refs undo = { .nr = 1 };
	struct kvp_copy copy = { 0 };
	uint64_t old;
	int err;

	if (!block)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "make_private: block is NULL");
	old = *block;
	arg.block = old;
	err = kvp_do(pool, KVP_OP_BLOCK_MAKE_PRIVATE, &arg);
	if (err || !arg.copy)
		return err;
	/* All rows: whoever keeps tables of their own does not say which of them hold something. */
	copy.src = old;
	copy.dst = arg.result;
	copy.tokens = pool->family[KVP_BLOCK_FAMILY(old)].block_tokens;
	err = kvp_bytes_copy(pool, &copy, 1);
	if (err) {
		undo.blocks = kvp_addr(&arg.result);
		kvp_try(pool, KVP_OP_BLOCK_UNREF, &undo);
		return err;
	}
	err = kvp_blocks_unref(pool, &old, 1);
	if (!err)
		*block = arg.result;
	return err;
}

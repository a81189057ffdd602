// SPDX-License-Identifier: MIT
/*
 * Raw references for which a sequence or a match of the client answers. Owns nothing and takes
 * no lock.
 */
#include <errno.h>

#include "internal.h"

static int ref_from(struct kvp_pool *pool, uint32_t flags, uint64_t holder, uint64_t first,
		    const uint64_t *blocks, uint32_t nr)
{
	struct kvp_block_refs arg = {
		.head.flags = flags,
		.blocks = kvp_addr(blocks),
		.nr = nr,
		.holder = holder,
		.first = first,
	};

	return kvp_do(pool, KVP_OP_BLOCK_REF, &arg);
}

/* In the contract a holder of 0 is the client itself. */
int kvp_blocks_ref_seq(struct kvp_pool *pool, kvp_seq_t seq, uint64_t first,
		       const uint64_t *blocks, uint32_t nr)
{
	if (!seq)
		return kvp_error_set(-ENOENT, KVP_REASON_NO_SEQ, 0,
				     "blocks_ref_seq: 0: expected the id of a sequence");
	return ref_from(pool, 0, seq, first, blocks, nr);
}

int kvp_blocks_ref_match(struct kvp_pool *pool, kvp_match_t match, uint64_t first,
			 const uint64_t *blocks, uint32_t nr)
{
	if (!match)
		return kvp_error_set(-ENOENT, KVP_REASON_NO_MATCH, 0,
				     "blocks_ref_match: 0: expected the id of a match");
	return ref_from(pool, KVP_BLOCK_REF_MATCH, match, first, blocks, nr);
}

// SPDX-License-Identifier: MIT
/*
 * Reading sequences: their lengths, their block tables, and where the rows of positions lie.
 * Owns nothing and takes no lock.
 */
#include <errno.h>

#include "internal.h"

static void lengths_of(const struct kvp_seq_table *arg, struct kvp_lengths *lengths)
{
	lengths->tokens = arg->nr_tokens;
	lengths->computed = arg->nr_computed;
	lengths->reserved = arg->nr_reserved;
	lengths->published = arg->nr_published;
}

int kvp_seq_lengths(struct kvp_pool *pool, kvp_seq_t seq, struct kvp_lengths *lengths)
{
	struct kvp_seq_table arg = { .seq = seq };
	int err;

	if (!lengths)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "seq_lengths: lengths is NULL");
	err = kvp_do(pool, KVP_OP_SEQ_TABLE, &arg);
	if (!err)
		lengths_of(&arg, lengths);
	return err;
}

int kvp_seq_table(struct kvp_pool *pool, kvp_seq_t seq, uint32_t family, uint64_t first,
		  uint64_t *blocks, uint32_t *nr)
{
	struct kvp_seq_table arg = {
		.seq = seq,
		.blocks = kvp_addr(blocks),
		.family = family,
		.first = first,
	};
	int err;

	if (!nr)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "seq_table: nr is NULL");
	arg.nr_blocks = *nr;
	err = kvp_do(pool, KVP_OP_SEQ_TABLE, &arg);
	if (!err)
		*nr = arg.nr_blocks;
	return err;
}

int kvp_seq_read(struct kvp_pool *pool, kvp_seq_t seq, struct kvp_table *table)
{
	struct kvp_seq_table arg = { .seq = seq };
	const struct kvp_family_desc *family;
	int err;

	if (!table)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "seq_read: table is NULL");
	arg.blocks = kvp_addr(table->blocks);
	arg.nr_blocks = table->nr;
	arg.family = table->family;
	arg.first = table->first;
	err = kvp_do(pool, KVP_OP_SEQ_TABLE, &arg);
	if (err)
		return err;
	family = &pool->family[table->family];
	table->nr = arg.nr_blocks;
	table->total = arg.total;
	table->block_tokens = family->kind == KVP_FAMILY_STATE ? 0 : family->block_tokens;
	table->position = table->first * table->block_tokens;
	lengths_of(&arg, &table->lengths);
	return 0;
}

/* ---- slots ---- */

static int slots_check(const struct kvp_pool *pool, uint32_t family, uint64_t first, uint64_t nr,
		       const uint64_t *slots)
{
	if (family >= pool->nr_families)
		return kvp_error_set(-EINVAL, KVP_REASON_FAMILY, family,
				     "slots: family %u: expected one of %u", family,
				     pool->nr_families);
	if (pool->family[family].kind == KVP_FAMILY_STATE)
		return kvp_error_set(-EOPNOTSUPP, KVP_REASON_STATE_FAMILY, family,
				     "slots: family %u keeps a state, not rows: expected kvp_seq_table()",
				     family);
	if (!slots)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "slots: NULL");
	if (!nr)
		return kvp_error_set(-EINVAL, KVP_REASON_COUNT, 0,
				     "slots: none: expected at least one");
	return 0;
}

static void slots_fill(uint64_t *slots, const uint64_t *blocks, uint32_t block_tokens,
		       uint64_t at, uint64_t stop)
{
	uint64_t row = at % block_tokens;

	for (; at < stop; blocks++, row = 0) {
		uint64_t base = KVP_BLOCK_INDEX(*blocks) * (uint64_t)block_tokens;

		for (; row < block_tokens && at < stop; row++, at++)
			*slots++ = *blocks == KVP_BLOCK_NULL ? KVP_SLOT_NONE : base + row;
	}
}

int kvp_seq_slots(struct kvp_pool *pool, kvp_seq_t seq, uint32_t family, uint64_t first,
		  uint64_t nr, uint64_t *slots)
{
	uint64_t blocks[KVP_ROW_SLOTS];
	uint64_t at = first, end, stop;
	uint32_t block_tokens;
	int err;

	err = slots_check(pool, family, first, nr, slots);
	if (err)
		return err;
	block_tokens = pool->family[family].block_tokens;
	do {
		struct kvp_seq_table arg = {
			.seq = seq,
			.blocks = kvp_addr(blocks),
			.nr_blocks = KVP_ROW_SLOTS,
			.family = family,
			.first = at / block_tokens,
		};

		err = kvp_do(pool, KVP_OP_SEQ_TABLE, &arg);
		if (err)
			return err;
		if (__builtin_add_overflow(first, nr, &end) || end > arg.nr_reserved)
			return kvp_error_set(-EINVAL, KVP_REASON_LENGTH, 0,
					     "slots: %llu from position %llu on: expected an end of at most %llu, which is reserved",
					     (unsigned long long)nr, (unsigned long long)first,
					     (unsigned long long)arg.nr_reserved);
		stop = (arg.first + KVP_ROW_SLOTS) * block_tokens;
		if (stop > end)
			stop = end;
		slots_fill(slots + (at - first), blocks, block_tokens, at, stop);
		at = stop;
	} while (at < end);
	return 0;
}

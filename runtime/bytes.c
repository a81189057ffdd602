// SPDX-License-Identifier: MIT
/*
 * The bytes of blocks. Owns the mappings of a pool (struct kvp_region), constant from open to
 * close: nothing here takes a lock.
 *
 * Layout: one memory file per family; block i begins at i * block_bytes, and its rows follow
 * each other. The files are sparse: what was never written takes no memory. A family that has a
 * geometry (geometry.c) uses the engine's tensors instead, and its file stays empty.
 *
 * Mappings are not inherited by fork(): a child that wrote through one would write into blocks of
 * whose owners it knows nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "geometry.h"
#include "internal.h"
#include "memfd.h"

/* Lengths of regions and addresses in them are computed with 64 bits. */
_Static_assert(sizeof(size_t) == 8, "needs a 64-bit system");

/* ---- mapping ---- */

/* Sizes of a family's region from its description. */
static int region_size(const struct kvp_pool *pool, uint32_t family,
		       struct kvp_region *region)
{
	const struct kvp_family_desc *desc = &pool->family[family];
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t length;

	if (desc->block_bytes % desc->block_tokens)
		return kvp_error_set(-EINVAL, KVP_REASON_FAMILY, family,
				     "pool %s: family %u has blocks of %llu bytes and %u rows: expected whole bytes a row",
				     pool->name, family,
				     (unsigned long long)desc->block_bytes,
				     desc->block_tokens);
	if (__builtin_mul_overflow(desc->blocks, desc->block_bytes, &length) ||
	    length > INT64_MAX - page)
		return kvp_error_set(-EOVERFLOW, KVP_REASON_FAMILY, family,
				     "pool %s: family %u has %llu blocks of %llu bytes: expected less than 2^63 bytes",
				     pool->name, family, (unsigned long long)desc->blocks,
				     (unsigned long long)desc->block_bytes);
	region->length = (length + page - 1) / page * page;
	region->block_bytes = desc->block_bytes;
	region->row_bytes = desc->block_bytes / desc->block_tokens;
	return 0;
}

/* @what failed for the bytes of @family. */
static int region_error(const struct kvp_pool *pool, uint32_t family, int err, uint32_t reason,
			const char *what)
{
	return kvp_error_set(err, reason, family,
			     "pool %s: cannot %s the %llu bytes of family %u: %s", pool->name,
			     what, (unsigned long long)pool->region[family].length, family,
			     strerrordesc_np(-err));
}

static int region_map(struct kvp_pool *pool, uint32_t family, int fd)
{
	struct kvp_region *region = &pool->region[family];
	void *base;
	int err;

	base = mmap(NULL, region->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return region_error(pool, family, -errno, KVP_REASON_MEMORY, "map");
	if (madvise(base, region->length, MADV_DONTFORK)) {
		err = -errno;
		munmap(base, region->length);
		return region_error(pool, family, err, KVP_REASON_MEMORY, "map");
	}
	region->base = base;
	return 0;
}

static int region_create(struct kvp_pool *pool, uint32_t family)
{
	struct kvp_region *region = &pool->region[family];
	struct kvp_backing backing = { .kind = KVP_BACKING_MEMFD, .label = family };
	char name[KVP_NAME_LEN + 24];
	int err, fd;

	err = region_size(pool, family, region);
	if (err)
		return err;
	snprintf(name, sizeof(name), "kvpool:%s:%u", pool->name, family);
	fd = kvp_memfd_create(name, region->length);
	if (fd < 0)
		return region_error(pool, family, fd, KVP_REASON_MEMORY, "make a file for");
	err = region_map(pool, family, fd);
	if (!err) {
		backing.fd = fd;
		backing.length = region->length;
		err = kvp_do(pool, KVP_OP_BACKING_ADD, &backing);
	}
	kvp_memfd_close(fd);	/* the pool keeps its own */
	return err;
}

int kvp_bytes_create(struct kvp_pool *pool)
{
	uint32_t i;
	int err;

	for (i = 0; i < pool->nr_families; i++) {
		err = region_create(pool, i);
		if (err)
			return err;
	}
	return 0;
}

/* Map the pool's backing number @index. */
static int backing_map(struct kvp_pool *pool, uint32_t index)
{
	struct kvp_backing backing = { .index = index };
	struct kvp_region *region;
	uint32_t family;
	int err;

	err = kvp_do(pool, KVP_OP_BACKING_GET, &backing);
	if (err)
		return err;
	family = (uint32_t)backing.label;
	region = &pool->region[family];
	if (backing.label >= pool->nr_families || region->base ||
	    backing.length != region->length ||
	    kvp_memfd_check(backing.fd, backing.length))
		err = kvp_error_set(-EKEYREJECTED, KVP_REASON_SEAL, index,
				    "pool %s: backing %u is not the sealed memory file of one family",
				    pool->name, index);
	else
		err = region_map(pool, family, backing.fd);
	kvp_memfd_close(backing.fd);
	return err;
}

int kvp_bytes_attach(struct kvp_pool *pool)
{
	uint32_t i;
	int err;

	/* Who made it through the contract alone keeps its bytes elsewhere, or has none. */
	if (!pool->nr_backings)
		return 0;
	for (i = 0; i < pool->nr_families; i++) {
		err = region_size(pool, i, &pool->region[i]);
		if (err)
			return err;
	}
	for (i = 0; i < pool->nr_families; i++) {
		err = backing_map(pool, i);
		if (err)
			return err;
	}
	return 0;
}

void kvp_bytes_unmap(struct kvp_pool *pool)
{
	uint32_t i;

	for (i = 0; i < pool->nr_families; i++) {
		if (pool->region[i].base)
			munmap(pool->region[i].base, pool->region[i].length);
		pool->region[i].base = NULL;
	}
}

/* ---- blocks ---- */

static unsigned char *block_at(const struct kvp_pool *pool, uint64_t block)
{
	const struct kvp_region *region = &pool->region[KVP_BLOCK_FAMILY(block)];

	return region->base + KVP_BLOCK_INDEX(block) * region->block_bytes;
}

bool kvp_block_is_ours(const struct kvp_pool *pool, uint64_t block)
{
	uint32_t family = KVP_BLOCK_FAMILY(block);

	return block != KVP_BLOCK_NULL && family < pool->nr_families &&
	       KVP_BLOCK_INDEX(block) < pool->family[family].blocks &&
	       pool->region[family].base && !pool->door->inherited(pool->conn);
}

void *kvp_block_data(struct kvp_pool *pool, uint64_t block)
{
	if (!kvp_block_is_ours(pool, block) || pool->bound[KVP_BLOCK_FAMILY(block)])
		return NULL;
	return block_at(pool, block);
}

/* Where the rows of a family are; false, noted, where this client has them nowhere. */
static bool has_rows(const struct kvp_pool *pool, uint32_t family)
{
	if (pool->region[family].base || pool->bound[family])
		return true;
	kvp_error_set(-EOPNOTSUPP, KVP_REASON_NO_BACKING, family,
		      "pool %s: it has no bytes of family %u: expected a pool that was made with some, or a geometry",
		      pool->name, family);
	return false;
}

int kvp_bytes_copy(struct kvp_pool *pool, const struct kvp_copy *copies, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		if (!has_rows(pool, KVP_BLOCK_FAMILY(copies[i].dst)))
			return -EOPNOTSUPP;
	}
	for (i = 0; i < nr; i++) {
		uint32_t family = KVP_BLOCK_FAMILY(copies[i].dst);
		uint64_t row_bytes = pool->region[family].row_bytes;

		if (pool->bound[family]) {
			kvp_bound_copy(pool->bound[family], KVP_BLOCK_INDEX(copies[i].src),
				       KVP_BLOCK_INDEX(copies[i].dst), copies[i].tokens);
			continue;
		}
		memcpy(block_at(pool, copies[i].dst), block_at(pool, copies[i].src),
		       copies[i].tokens * row_bytes);
	}
	return 0;
}

/* Rows [@row, @row + @nr) of a block. */
static void block_read(const struct kvp_pool *pool, uint64_t block, uint64_t row, uint64_t nr,
		       unsigned char *to)
{
	uint32_t family = KVP_BLOCK_FAMILY(block);
	uint64_t row_bytes = pool->region[family].row_bytes;

	if (pool->bound[family])
		kvp_bound_read(pool->bound[family], KVP_BLOCK_INDEX(block), row, nr, to);
	else
		memcpy(to, block_at(pool, block) + row * row_bytes, nr * row_bytes);
}

static void block_write(const struct kvp_pool *pool, uint64_t block, uint64_t row, uint64_t nr,
			const unsigned char *from)
{
	uint32_t family = KVP_BLOCK_FAMILY(block);
	uint64_t row_bytes = pool->region[family].row_bytes;

	if (pool->bound[family])
		kvp_bound_write(pool->bound[family], KVP_BLOCK_INDEX(block), row, nr, from);
	else
		memcpy(block_at(pool, block) + row * row_bytes, from, nr * row_bytes);
}

/* ---- rows ---- */

/* What rows are wanted. */
struct rows {
	struct kvp_pool *pool;
	kvp_seq_t seq;
	uint32_t family;
	uint64_t first;
	uint64_t end;
	unsigned char *to;		/* read: where to; write: NULL */
	const unsigned char *from;	/* write: where from */
};

static int rows_check(const struct rows *rows, uint64_t nr)
{
	const struct kvp_pool *pool = rows->pool;

	if (rows->family >= pool->nr_families)
		return kvp_error_set(-EINVAL, KVP_REASON_FAMILY, rows->family,
				     "rows: family %u: expected one of %u", rows->family,
				     pool->nr_families);
	if (pool->family[rows->family].kind == KVP_FAMILY_STATE)
		return kvp_error_set(-EOPNOTSUPP, KVP_REASON_STATE_FAMILY, rows->family,
				     "rows: family %u keeps a state, not rows: expected kvp_block_data() of its block",
				     rows->family);
	if (!rows->to && !rows->from)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "rows: NULL");
	if (!nr)
		return kvp_error_set(-EINVAL, KVP_REASON_COUNT, 0,
				     "rows: none: expected at least one");
	if (rows->end < rows->first)
		return kvp_error_set(-EINVAL, KVP_REASON_LENGTH, 0,
				     "rows: %llu rows from %llu on: expected an end below 2^64",
				     (unsigned long long)nr, (unsigned long long)rows->first);
	return 0;
}

/* The lengths that came with a piece of the table. */
static int rows_check_lengths(const struct rows *rows, const struct kvp_seq_table *table)
{
	uint64_t low = rows->to ? 0 : table->nr_computed;
	uint64_t high = rows->to ? table->nr_computed : table->nr_reserved;

	if (rows->first >= low && rows->end <= high)
		return 0;
	return kvp_error_set(-EINVAL, KVP_REASON_LENGTH, 0,
			     "rows: cannot %s [%llu, %llu): expected a range in [%llu, %llu)",
			     rows->to ? "read" : "write", (unsigned long long)rows->first,
			     (unsigned long long)rows->end, (unsigned long long)low,
			     (unsigned long long)high);
}

/* Rows [@at, @stop), which lie in the blocks of @table's piece. */
static int rows_move(struct rows *rows, const struct kvp_seq_table *table,
		     const uint64_t *blocks, uint64_t at, uint64_t stop)
{
	uint32_t block_tokens = rows->pool->family[rows->family].block_tokens;
	uint64_t row_bytes = rows->pool->region[rows->family].row_bytes;

	while (at < stop) {
		uint64_t block = blocks[at / block_tokens - table->first];
		uint64_t row = at % block_tokens;
		uint64_t nr = block_tokens - row < stop - at ? block_tokens - row : stop - at;

		if (block == KVP_BLOCK_NULL)
			return kvp_error_set(-EINVAL, KVP_REASON_WINDOW_RELEASED, rows->family,
					     "rows: row %llu of family %u was let go by its window: expected a later one",
					     (unsigned long long)at, rows->family);
		if (rows->to) {
			block_read(rows->pool, block, row, nr, rows->to);
			rows->to += nr * row_bytes;
		} else {
			block_write(rows->pool, block, row, nr, rows->from);
			rows->from += nr * row_bytes;
		}
		at += nr;
	}
	return 0;
}

static int rows_do(struct rows *rows)
{
	uint64_t block_tokens = rows->pool->family[rows->family].block_tokens;
	uint64_t blocks[KVP_ROW_SLOTS];
	uint64_t at = rows->first;
	int err;

	while (at < rows->end) {
		struct kvp_seq_table table = {
			.seq = rows->seq,
			.blocks = kvp_addr(blocks),
			.family = rows->family,
			.first = at / block_tokens,
		};
		uint64_t slots = (rows->end - 1) / block_tokens - table.first + 1;
		uint64_t stop = rows->end;

		table.nr_blocks = KVP_ROW_SLOTS;
		if (slots <= KVP_ROW_SLOTS)
			table.nr_blocks = (uint32_t)slots;
		else
			stop = (table.first + KVP_ROW_SLOTS) * block_tokens;
		err = kvp_do(rows->pool, KVP_OP_SEQ_TABLE, &table);
		if (!err)
			err = rows_check_lengths(rows, &table);
		if (!err && !has_rows(rows->pool, rows->family))
			err = -EOPNOTSUPP;
		if (!err)
			err = rows_move(rows, &table, blocks, at, stop);
		if (err)
			return err;
		at = stop;
	}
	return 0;
}

int kvp_rows_write(struct kvp_pool *pool, kvp_seq_t seq, uint32_t family, uint64_t first,
		   uint64_t nr, const void *from)
{
	struct rows rows = {
		.pool = pool,
		.seq = seq,
		.family = family,
		.first = first,
		.end = first + nr,
		.from = from,
	};
	int err = rows_check(&rows, nr);

	return err ? err : rows_do(&rows);
}

int kvp_rows_read(struct kvp_pool *pool, kvp_seq_t seq, uint32_t family, uint64_t first,
		  uint64_t nr, void *to)
{
	struct rows rows = {
		.pool = pool,
		.seq = seq,
		.family = family,
		.first = first,
		.end = first + nr,
		.to = to,
	};
	int err = rows_check(&rows, nr);

	return err ? err : rows_do(&rows);
}

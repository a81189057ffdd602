// SPDX-License-Identifier: MIT
/*
 * Helpers for tests of the runtime. Owns nothing.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "pools.h"

struct kvp_pool *kvpr_open(const char *uri)
{
	struct kvp_pool *pool = NULL;

	kvpr_ok(kvp_pool_open(uri, &pool));
	ck_assert_ptr_nonnull(pool);
	return pool;
}

void kvpr_space(const char *model, uint8_t space[KVP_DIGEST_LEN])
{
	struct kvp_identity identity = { .model = model };

	kvpr_ok(kvp_identity_digest(&identity, space));
}

void kvpr_tokens(uint32_t *tokens, uint32_t nr, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		tokens[i] = seed * 1000003u + i;
}

/* The last step of splitmix64. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

void kvpr_rows(uint8_t *rows, uint64_t first, uint64_t nr, uint64_t row_bytes, uint32_t seed)
{
	uint64_t i, j;

	for (i = 0; i < nr; i++) {
		for (j = 0; j < row_bytes; j++)
			rows[i * row_bytes + j] = (uint8_t)mix(((uint64_t)seed << 40) ^
							       ((first + i) << 16) ^ j);
	}
}

kvp_seq_t kvpr_seq(struct kvp_pool *pool, const uint8_t *space, const uint32_t *tokens,
		   uint32_t nr, uint64_t *matched)
{
	struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = nr };
	kvp_seq_t seq = 0;

	kvpr_ok(kvp_seq_create(pool, &prompt, 0, 0, &seq, matched));
	ck_assert_uint_ne(seq, 0);
	return seq;
}

static uint64_t row_bytes_of(struct kvp_pool *pool, uint32_t family)
{
	const struct kvp_family_desc *desc = kvp_pool_family(pool, family);

	return desc->block_bytes / desc->block_tokens;
}

void kvpr_compute(struct kvp_pool *pool, kvp_seq_t seq, uint64_t first, uint64_t nr,
		  uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < kvp_pool_nr_families(pool); i++) {
		uint64_t row_bytes = row_bytes_of(pool, i);
		uint8_t *rows;

		if (kvp_pool_family(pool, i)->kind == KVP_FAMILY_STATE)
			continue;
		rows = malloc(nr * row_bytes);
		kvpr_rows(rows, first, nr, row_bytes, seed + i);
		kvpr_ok(kvp_rows_write(pool, seq, i, first, nr, rows));
		free(rows);
	}
	kvpr_ok(kvp_seq_advance(pool, seq, first + nr));
}

void kvpr_expect_rows(struct kvp_pool *pool, kvp_seq_t seq, uint32_t family, uint64_t first,
		      uint64_t nr, uint32_t seed)
{
	uint64_t row_bytes = row_bytes_of(pool, family);
	uint8_t *got = malloc(nr * row_bytes), *expected = malloc(nr * row_bytes);
	uint64_t i;

	memset(got, 0xa5, nr * row_bytes);
	kvpr_rows(expected, first, nr, row_bytes, seed + family);
	kvpr_ok(kvp_rows_read(pool, seq, family, first, nr, got));
	for (i = 0; i < nr; i++) {
		if (memcmp(got + i * row_bytes, expected + i * row_bytes, row_bytes))
			ck_abort_msg("row %llu of family %u has other bytes",
				     (unsigned long long)(first + i), family);
	}
	free(got);
	free(expected);
}

void kvpr_expect_lengths(struct kvp_pool *pool, kvp_seq_t seq, uint64_t tokens,
			 uint64_t computed, uint64_t reserved, uint64_t published)
{
	struct kvp_lengths lengths;

	kvpr_ok(kvp_seq_lengths(pool, seq, &lengths));
	ck_assert_uint_eq(lengths.tokens, tokens);
	ck_assert_uint_eq(lengths.computed, computed);
	ck_assert_uint_eq(lengths.reserved, reserved);
	ck_assert_uint_eq(lengths.published, published);
}

uint64_t kvpr_blocks(struct kvp_pool *pool, uint32_t family, enum kvp_block_state state)
{
	struct kvp_family_stats families[KVP_MAX_FAMILIES];
	struct kvp_stats stats;

	kvpr_ok(kvp_pool_stats(pool, 0, &stats, families, KVP_MAX_FAMILIES));
	ck_assert_uint_lt(family, stats.nr_families);
	return families[family].state[state];
}

uint64_t kvpr_block(struct kvp_pool *pool, kvp_seq_t seq, uint32_t family, uint64_t slot)
{
	uint64_t block = KVP_BLOCK_NULL;
	uint32_t nr = 1;

	kvpr_ok(kvp_seq_table(pool, seq, family, slot, &block, &nr));
	ck_assert_uint_eq(nr, 1);
	return block;
}

void kvpr_sound(struct kvp_pool *pool)
{
	struct kvp_finding finding = { 0 };
	uint64_t total = 0;

	kvpr_ok(kvp_pool_audit(pool, &finding, 1, &total));
	if (total)
		ck_abort_msg("audit: %llu findings, first: kind %u family %u id %llu: %llu, expected %llu",
			     (unsigned long long)total, finding.kind, finding.family,
			     (unsigned long long)finding.id, (unsigned long long)finding.found,
			     (unsigned long long)finding.expected);
}

int kvpr_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	/* One process: faster, and leaks of all tests are found at its end. */
	if (!getenv("CK_FORK"))
		srunner_set_fork_status(runner, CK_NOFORK);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

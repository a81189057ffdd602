// SPDX-License-Identifier: MIT
/*
 * Rows that move by several threads of one call: no part of the work touches what another one
 * writes, out of place and in place. To be run under TSan.
 *
 *	rows [--ops N] [--seed S]
 *
 * --ops: evictions, over sequences of 130 tokens. Exit status 1: a row is not what it must be.
 */
#include <check.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "moves.h"
#include "pools.h"
#include "random.h"

#define TOKENS	130

static uint64_t ops = 40;
static __u64 seed = 1;

/* Spans leave until few tokens are left; how many did. */
static uint64_t evict_all(struct kvpr_rows *rows, __u64 *state)
{
	uint64_t done = 0;

	while (kvpr_rows_nr(rows) > 20) {
		uint32_t left = kvpr_rows_nr(rows), from = kvpt_below(state, left - 10);
		const struct kvpr_how how = {
			.threads = 2 + kvpt_below(state, 4), .in_place = kvpt_below(state, 2),
		};

		kvpr_rows_evict(rows, from, from + 1 + kvpt_below(state, 10), &how);
		done++;
	}
	kvpr_rows_check(rows);
	return done;
}

START_TEST(test_threads)
{
	static const uint32_t sizes[] = { 1, 4, 16, 17, 64 };
	static const char *const orders[] = { "LBNHD", "LBHND", "BHLND", "LBHDN" };
	__u64 state = seed;
	uint64_t done = 0;

	while (done < ops) {
		const struct kvpr_shape shape = {
			.order = orders[kvpt_below(&state, 4)], .order_v = orders[kvpt_below(&state, 4)],
			.block_tokens = sizes[kvpt_below(&state, 5)], .tokens = TOKENS,
			.layers = 1 + kvpt_below(&state, 2), .heads = 4, .n_elems = 32,
			.rot_dim = 32, .raw_dtype = KVP_DTYPE_BF16,
			.k_dtype = kvpt_below(&state, 2) ? KVP_DTYPE_BF16 : KVP_DTYPE_FP8_E4M3,
			.style = KVP_ROPE_NEOX,
		};
		struct kvpr_rows *rows = kvpr_rows_make(&shape, &state);

		done += evict_all(rows, &state);
		kvpr_rows_drop(rows);
	}
	printf("rows: %" PRIu64 " evictions, seed %llu: sound\n", done, (unsigned long long)seed);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("rows");
	TCase *tc = tcase_create("threads");

	tcase_set_timeout(tc, 0);
	tcase_add_test(tc, test_threads);
	suite_add_tcase(s, tc);
	return s;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "ops", required_argument, NULL, 'o' },
		{ "seed", required_argument, NULL, 's' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'o':
			ops = strtoull(optarg, NULL, 0);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		default:
			return 2;
		}
	}
	return kvpr_run(suite());
}

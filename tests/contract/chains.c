// SPDX-License-Identifier: MIT
/*
 * What only a ring has. Chains of linked operations: a failure cancels what follows it, a success
 * does not; on 6.1 a positive result would break the chain, or be lost. And a length in the sqe,
 * which must be that of the struct.
 */
#include <errno.h>
#include <string.h>

#include "contract.h"

#define LINKS	5

/* The rest of a chain after what failed. */
static bool as_expected(const int *result, __u32 bad)
{
	__u32 i;

	for (i = 0; i < LINKS; i++)
		if (result[i] != (i < bad ? 0 : i == bad ? -EINVAL : -ECANCELED))
			return false;
	return true;
}

/* Operation @bad of the chain has a flag that nobody knows; LINKS: all are good. */
static bool chain(struct ct_conn *conn, __u32 bad)
{
	struct kvp_abi abi[LINKS];
	int result[LINKS];
	void *arg[LINKS];
	__u32 nr[LINKS];
	__u32 i;

	for (i = 0; i < LINKS; i++) {
		memset(&abi[i], 0, sizeof(abi[i]));
		abi[i].head.size = sizeof(abi[i]);
		abi[i].head.flags = i == bad ? 1U << 31 : 0;
		nr[i] = KVP_OP_ABI;
		arg[i] = &abi[i];
		result[i] = 1;
	}
	ct_door->chain(conn, nr, arg, result, LINKS);
	ct_say("chain of %u, bad %u: %d %d %d %d %d", LINKS, bad, result[0], result[1], result[2],
	       result[3], result[4]);
	for (i = 0; i < LINKS; i++) {
		bool ran = abi[i].max_families;

		if (ran != (i < bad))
			return false;
	}
	return as_expected(result, bad);
}

static bool lengths(struct ct_conn *conn)
{
	static const __u32 wrong[] = { 0, 8, sizeof(struct kvp_abi) - 8, 4096, ~0U };
	bool good = true;
	int result;
	__u32 i;

	for (i = 0; i < CT_SIZE(wrong); i++) {
		struct kvp_abi abi = { .head.size = sizeof(abi) };

		result = ct_door->call(conn, KVP_OP_ABI, &abi, wrong[i]);
		ct_say("length %u for %zu: %d", wrong[i], sizeof(abi), result);
		good = good && result == -EINVAL && !abi.max_families;
	}
	return good;
}

bool ct_chains_check(void)
{
	struct ct_conn *conn;
	bool good = true;
	__u32 bad;

	if (!ct_door->chain)
		ct_die("no chains through the door \"%s\"", ct_door->name);
	conn = ct_door->open(0);
	for (bad = 0; bad <= LINKS; bad++)
		good = chain(conn, bad) && good;
	if (!good)
		fprintf(stderr, "contract: a chain did not end where its failure was\n");
	if (!lengths(conn)) {
		fprintf(stderr, "contract: a wrong length was not refused\n");
		good = false;
	}
	ct_door->close(conn);
	return good;
}

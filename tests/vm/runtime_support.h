/* SPDX-License-Identifier: MIT */
/*
 * For the programs of the VM that use libkvpool: calls of the library that succeed, or fail as
 * expected; pools of the device.
 */
#ifndef KVPV_RUNTIME_SUPPORT_H
#define KVPV_RUNTIME_SUPPORT_H

#include <kvpool.h>

#include "support.h"

/* @expr, a call of the library, succeeds; or fails with @err for @why. */
#define ok(expr)								\
do {										\
	int ok_got_ = (expr);							\
										\
	if (ok_got_)								\
		kvpv_fail("%s: %d: %s", #expr, ok_got_, kvp_error()->text);	\
} while (0)

#define refused(expr, err_, why)						\
do {										\
	int ref_got_ = (expr);							\
										\
	if (ref_got_ != (err_) || kvp_error()->reason != (u32)(why))		\
		kvpv_fail("%s: %d, reason %u (%s), expected %d reason %u", #expr, ref_got_,	\
			  kvp_error()->reason, kvp_error()->text, (err_), (u32)(why));	\
} while (0)

static inline struct kvp_pool *open_pool(const char *uri)
{
	struct kvp_pool *pool;

	ok(kvp_pool_open(uri, &pool));
	kvpv_same(kvp_pool_door(pool), KVP_DOOR_DEVICE);
	return pool;
}

static inline void expect_sound(struct kvp_pool *pool)
{
	struct kvp_finding finding;
	u64 total;

	ok(kvp_pool_audit(pool, &finding, 1, &total));
	kvpv_same(total, 0);
}

static inline u64 blocks_in(struct kvp_pool *pool, enum kvp_block_state state)
{
	struct kvp_family_stats family;
	struct kvp_stats stats;

	ok(kvp_pool_stats(pool, 0, &stats, &family, 1));
	return family.state[state];
}

#endif /* KVPV_RUNTIME_SUPPORT_H */

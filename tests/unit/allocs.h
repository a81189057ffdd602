/* SPDX-License-Identifier: MIT */
/*
 * Calls whose allocations fail, one after the other. For tests that have the environment env and
 * in it the client a, with ADMIN. Include <check.h> and unit.h, too.
 */
#ifndef KVPT_ALLOCS_H
#define KVPT_ALLOCS_H

/* Make @expr with its @nth allocation failing; whether there was one is in *@failed. */
#define with_failure(nth, failed, expr)						\
({										\
	int err_;								\
										\
	kvp_shim_fail_alloc = (nth);						\
	err_ = (expr);								\
	*(failed) = !kvp_shim_fail_alloc;					\
	kvp_shim_fail_alloc = 0;						\
	err_;									\
})

/*
 * Make @expr again and again, each time with a later allocation failing, until it succeeds.
 * Yields how many allocations it makes.
 */
#define allocations_of(expr)							\
({										\
	struct kvpt_world was_, is_;						\
	const char *diff_;							\
	bool failed_;								\
	u32 nth_ = 0;								\
	int ret_;								\
										\
	for (;;) {								\
		kvpt_world_take(&env, a, &was_);				\
		ret_ = with_failure(++nth_, &failed_, expr);			\
		if (!failed_)							\
			break;							\
		ck_assert_msg(ret_ == -ENOMEM, "%s: %d without allocation %u",	\
			      #expr, ret_, nth_);				\
		ck_assert_uint_eq(kvpt.head.reason, KVP_REASON_MEMORY);		\
		ck_assert_uint_eq(kvpt.head.where, 0);				\
		kvpt_world_take(&env, a, &is_);					\
		diff_ = kvpt_world_diff(&was_, &is_);				\
		ck_assert_msg(!diff_, "%s without allocation %u changed: %s",	\
			      #expr, nth_, diff_);				\
		kvpt_audit_clean(a);						\
		kvpt_world_drop(&was_);						\
		kvpt_world_drop(&is_);						\
	}									\
	ck_assert_msg(!ret_, "%s: %d reason %u", #expr, ret_, kvpt.head.reason); \
	kvpt_world_drop(&was_);							\
	kvpt_audit_clean(a);							\
	nth_ - 1;								\
})

/* @expr succeeds without an allocation. */
#define allocates_nothing(expr)							\
do {										\
	bool failed_;								\
	int ret_ = with_failure(1, &failed_, expr);				\
										\
	ck_assert_msg(!failed_, "%s allocates", #expr);				\
	ck_assert_msg(!ret_, "%s: %d reason %u", #expr, ret_, kvpt.head.reason); \
} while (0)

#endif /* KVPT_ALLOCS_H */

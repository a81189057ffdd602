/* SPDX-License-Identifier: MIT */
/*
 * Damage that is planted into a sound pool, and what the audit must find of it: that, and nothing
 * else. For tests that have a client a, with ADMIN. Include <check.h> first.
 */
#ifndef KVPT_PLANTS_H
#define KVPT_PLANTS_H

#include <stdio.h>

#include "unit.h"

#define ROOM	64

static struct kvp_finding found[ROOM];

#define NONE		(~0U)
#define F(kind_, family_, id_, found_, expected_)				\
	{ .kind = KVP_FINDING_##kind_, .family = (family_), .id = (id_),	\
	  .found = (found_), .expected = (expected_) }

static inline bool is_found(const struct kvp_finding *finding)
{
	u32 i;

	for (i = 0; i < kvpt.audit.nr_findings; i++)
		if (!memcmp(&found[i], finding, sizeof(*finding)))
			return true;
	return false;
}

static inline void expect_found(int line, const struct kvp_finding *wanted, u32 nr)
{
	u32 i;

	for (i = 0; i < kvpt.audit.nr_findings && kvpt.audit.total != nr; i++)
		printf("%d: kind %u family %d id %llu: found %llu, expected %llu\n", line,
		       found[i].kind, found[i].family, found[i].id, found[i].found,
		       found[i].expected);
	ck_assert_msg(kvpt.audit.total == nr, "line %d: %llu findings, expected %u", line,
		      kvpt.audit.total, nr);
	for (i = 0; i < nr; i++)
		ck_assert_msg(is_found(&wanted[i]), "line %d: finding %u is missing", line, i);
}

/* While @lvalue is @value the audit finds exactly the rest. */
#define plant(lvalue, value, ...)						\
do {										\
	const struct kvp_finding wanted_[] = { __VA_ARGS__ };			\
										\
	ck_assert_int_eq(kvpt_while_set(lvalue, value, kvpt_audit(a, found, ROOM)), 0);	\
	expect_found(__LINE__, wanted_, ARRAY_SIZE(wanted_));			\
	kvpt_audit_clean(a);							\
} while (0)

#endif /* KVPT_PLANTS_H */

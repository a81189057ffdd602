// SPDX-License-Identifier: MIT
/*
 * Test of the contract's binary form, by compiling: every struct has the sizes
 * and places of structs.h, no hole, and a size that is a multiple of 8; every
 * number is that of values.h. Compiled for pointers of 8 and of 4 bytes, with
 * STRUCTS, OPS and REASONS counted in the header, so that what the lists do not
 * know is an error too.
 */
#include <stddef.h>

#include <linux/kvpool.h>

#define SAME(a, b, text) _Static_assert((a) == (b), text)

/* Each struct, and each of its members. */
#define STRUCT(name, size)						\
	SAME(sizeof(struct name), size, "size of " #name);		\
	SAME(sizeof(struct name) % 8, 0, #name " does not end at 8 bytes");
#define MEMBER(name, member, offset, size)				\
	SAME(offsetof(struct name, member), offset, "place of " #name "." #member); \
	SAME(sizeof(((struct name *)0)->member), size, "size of " #name "." #member);
#define END(name)
#include "structs.h"
#undef STRUCT
#undef MEMBER
#undef END

/* The members one after the other, without a hole, are the whole struct. */
#define STRUCT(name, size)			struct name##_bytes {
#define MEMBER(name, member, offset, size)	char member[size];
#define END(name)				};			\
	SAME(sizeof(struct name##_bytes), sizeof(struct name),		\
	     #name " has a hole, or a member that the test does not know");
#include "structs.h"
#undef STRUCT
#undef MEMBER
#undef END

/* How many there are in the lists. */
#define STRUCT(name, size)			+ 1
#define MEMBER(name, member, offset, size)
#define END(name)
enum { LISTED_STRUCTS = 0
#include "structs.h"
};

#define OP(name, value)		+ 1
#define REASON(name, value)
enum { LISTED_OPS = 0
#include "values.h"
};
#undef OP
#undef REASON

#define OP(name, value)
#define REASON(name, value)	+ 1
enum { LISTED_REASONS = 0
#include "values.h"
};
#undef OP
#undef REASON

SAME(STRUCTS, LISTED_STRUCTS, "the header has a struct that the test does not know");
SAME(OPS, LISTED_OPS, "the header has an operation that the test does not know");
SAME(REASONS, LISTED_REASONS, "the header has a reason that the test does not know");

#define OP(name, value)		SAME(KVP_OP_##name, value, "KVP_OP_" #name);
#define REASON(name, value)	SAME(KVP_REASON_##name, value, "KVP_REASON_" #name);
#include "values.h"

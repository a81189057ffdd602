/* SPDX-License-Identifier: MIT */
/*
 * What one hold of a pool's spinlock touches, counted from outside: the core is compiled so
 * that each of its accesses to memory is a call (count.c), and the shim tells when the lock is
 * taken and let go. Nothing here follows the core's own bookkeeping (kvp_slice_step()).
 */
#ifndef HOLDS_H
#define HOLDS_H

#include <stddef.h>
#include <stdint.h>

#define HOLDS_DEPTH	12	/* callers that are looked at */
#define HOLDS_TEXT	256

/**
 * struct holds_longest - a hold of the lock
 * @blocks: different blocks that it touched, of all families
 * @nodes: different nodes of the index
 * @lines: different cache lines of anything else, but the stack
 * @taken: return addresses where the lock was taken, innermost first
 * @gone: the same where it was let go
 */
struct holds_longest {
	uint32_t blocks;
	uint32_t nodes;
	uint32_t lines;
	void *taken[HOLDS_DEPTH];
	void *gone[HOLDS_DEPTH];
};

/* Of this thread, since the last reset: how many, and those with the most of each kind. */
struct holds_count {
	uint64_t holds;
	struct holds_longest blocks;
	struct holds_longest nodes;
	struct holds_longest lines;
};

extern _Thread_local struct holds_count holds_count;

void holds_reset(void);

/* Called at the end of a hold that touched more than KVP_SLICE blocks; NULL: nobody is. */
extern void (*holds_too_long)(const struct holds_longest *hold);

/* Who took the lock, and who let it go, in words; @text has HOLDS_TEXT bytes. */
const char *holds_text(const struct holds_longest *hold, char *text);

/* names.c: the function of this program at an address, "?" if there is none. */
const char *holds_name(const void *addr);

#endif /* HOLDS_H */

// SPDX-License-Identifier: MIT
/*
 * The counting. The compiler calls __asan_load8_noabort() and its like before each access of the
 * core to memory (outline instrumentation of the kernel's address sanitizer, whose functions
 * these are here), and the shim calls kvp_shim_hold_*() around each hold. A block counts once a
 * hold, however often it is touched; so does a node; so does a line of anything else. Prefetches
 * are no accesses, and neither is what memset() and memcpy() do, which the core calls for nothing
 * that it has not touched itself.
 *
 * All state is the thread's own.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core.h"
#include "holds.h"

#define SEEN_BITS	15
#define SEEN		(1U << SEEN_BITS)
#define LINE_SHIFT	6		/* of a cache line */
#define STACK		(1U << 20)	/* beyond a frame, what is not counted */

/* What was touched, and in which hold last. */
struct seen {
	u64 what;
	u64 hold;
};

/**
 * struct holding - the hold in which a thread is
 * @pool: whose lock it is; NULL: in none
 * @number: of the hold
 * @nr: different things touched
 * @last: the one touched last
 * @now: what it has touched so far
 * @seen: hash table, linear probing; a place of an older hold is empty
 */
struct holding {
	const struct kvp_pool *pool;
	u64 number;
	u32 nr;
	u64 last;
	struct holds_longest now;
	struct seen *seen;
};

/* As core.h has it; who changes that has to say so twice. */
unsigned int kvp_shim_slice = 256;

static _Thread_local struct holding holding;
_Thread_local struct holds_count holds_count;

void (*holds_too_long)(const struct holds_longest *hold);

/* Whether it is the first time in this hold. */
static bool first_touch(u64 what)
{
	u32 at = (what * 0x9e3779b97f4a7c15ULL) >> (64 - SEEN_BITS);

	if (what == holding.last)
		return false;
	holding.last = what;
	/* So many that it need not be known how many more. */
	if (holding.nr >= SEEN / 2)
		return false;
	while (holding.seen[at].hold == holding.number) {
		if (holding.seen[at].what == what)
			return false;
		at = (at + 1) % SEEN;
	}
	holding.seen[at].what = what;
	holding.seen[at].hold = holding.number;
	holding.nr++;
	return true;
}

/* Count the elements of an array that an access touches; false: it is none of the array. */
static bool touch_array(uintptr_t addr, size_t size, const void *array, u64 nr, size_t elem,
			u32 *count)
{
	uintptr_t at = addr - (uintptr_t)array;
	uintptr_t i;

	if (at >= nr * elem)
		return false;
	for (i = at / elem; i <= (at + size - 1) / elem; i++)
		*count += first_touch((uintptr_t)array + i * elem);
	return true;
}

static void touch(uintptr_t addr, size_t size)
{
	const struct kvp_pool *pool = holding.pool;
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	uintptr_t line;
	u32 i;

	if (!pool || !size || addr - frame < STACK)
		return;
	for (i = 0; i < pool->nr_families; i++)
		if (touch_array(addr, size, pool->family[i].blocks, pool->family[i].nr_blocks,
				sizeof(struct kvp_block), &holding.now.blocks))
			return;
	if (touch_array(addr, size, pool->nodes, pool->nr_nodes, sizeof(struct kvp_node),
			&holding.now.nodes))
		return;
	for (line = addr >> LINE_SHIFT; line <= (addr + size - 1) >> LINE_SHIFT; line++)
		holding.now.lines += first_touch(line << LINE_SHIFT | 1);
}

/* ---- what the compiler calls --------------------------------------------------------- */

#define HOLDS_ACCESS(size)						\
void __asan_load##size##_noabort(uintptr_t addr);			\
void __asan_store##size##_noabort(uintptr_t addr);			\
void __asan_load##size##_noabort(uintptr_t addr)			\
{									\
	touch(addr, size);						\
}									\
void __asan_store##size##_noabort(uintptr_t addr)			\
{									\
	touch(addr, size);						\
}

HOLDS_ACCESS(1)
HOLDS_ACCESS(2)
HOLDS_ACCESS(4)
HOLDS_ACCESS(8)
HOLDS_ACCESS(16)

void __asan_loadN_noabort(uintptr_t addr, size_t size);
void __asan_storeN_noabort(uintptr_t addr, size_t size);
void __asan_handle_no_return(void);

void __asan_loadN_noabort(uintptr_t addr, size_t size)
{
	touch(addr, size);
}

void __asan_storeN_noabort(uintptr_t addr, size_t size)
{
	touch(addr, size);
}

void __asan_handle_no_return(void)
{
}

/* ---- what the shim calls ------------------------------------------------------------- */

/* Return addresses, innermost first; the frames are those of code with frame pointers. */
static void callers(void **frame, void *addr[HOLDS_DEPTH])
{
	void **next;
	u32 i;

	for (i = 0; i < HOLDS_DEPTH && frame; i++) {
		addr[i] = frame[1];
		next = frame[0];
		if (next <= frame || (char *)next - (char *)frame > STACK)
			frame = NULL;
		else
			frame = next;
	}
	for (; i < HOLDS_DEPTH; i++)
		addr[i] = NULL;
}

void kvp_shim_hold_begins(const spinlock_t *lock)
{
	if (!holding.seen)
		holding.seen = calloc(SEEN, sizeof(*holding.seen));
	if (!holding.seen)
		abort();
	memset(&holding.now, 0, sizeof(holding.now));
	callers(__builtin_frame_address(0), holding.now.taken);
	holding.number++;
	holding.nr = 0;
	holding.last = 0;
	/* A pool has no other spinlock, and nothing else has one. */
	holding.pool = container_of(lock, struct kvp_pool, lock);
}

void kvp_shim_hold_ends(void)
{
	struct holds_longest *now = &holding.now;

	holding.pool = NULL;
	callers(__builtin_frame_address(0), now->gone);
	holds_count.holds++;
	if (now->blocks > holds_count.blocks.blocks)
		holds_count.blocks = *now;
	if (now->nodes > holds_count.nodes.nodes)
		holds_count.nodes = *now;
	if (now->lines > holds_count.lines.lines)
		holds_count.lines = *now;
	if (now->blocks > KVP_SLICE && holds_too_long)
		holds_too_long(now);
}

void holds_reset(void)
{
	memset(&holds_count, 0, sizeof(holds_count));
}

/* Those between the lock and who uses it say nothing. */
static bool of_the_lock(const char *name)
{
	return !strncmp(name, "spin_", 5) || !strncmp(name, "kvp_slice_", 10) ||
	       !strcmp(name, "kvp_lock") || !strcmp(name, "kvp_unlock") ||
	       !strcmp(name, "kvp_let_others_in");
}

const char *holds_text(const struct holds_longest *hold, char *text)
{
	const char *name = "?";
	size_t len;
	u32 i;

	for (i = 0; i < HOLDS_DEPTH && hold->taken[i]; i++) {
		name = holds_name(hold->taken[i]);
		if (!of_the_lock(name))
			break;
	}
	len = snprintf(text, HOLDS_TEXT, "taken in %s, let go in", name);
	for (i = 0; i < HOLDS_DEPTH && hold->gone[i]; i++) {
		name = holds_name(hold->gone[i]);
		if (of_the_lock(name))
			continue;
		len += snprintf(text + len, HOLDS_TEXT - len, " %s", name);
		if (len >= HOLDS_TEXT || !strncmp(name, "kvp_op_", 7) || !strcmp(name, "main"))
			break;
	}
	return text;
}

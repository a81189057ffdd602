// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the twins of the kernel's headers need that cannot be inline: reports of
 * our own bugs, the locks each thread holds (test builds), random bytes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <linux/bug.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

int kvp_shim_fail_alloc;
void (*kvp_shim_on_resched)(void);

void kvp_shim_warn(const char *file, int line, const char *what)
{
	fprintf(stderr, "kvpool: WARNING: %s:%d: %s\n", file, line, what);
#ifdef KVP_SHIM_ABORT_ON_WARN
	abort();
#endif
}

void *kvp_shim_alloc_huge(size_t size)
{
	void *mem;

	if (posix_memalign(&mem, KVP_SHIM_HUGE_PAGE, size))
		return NULL;
	/* A system without huge pages for this has others. */
	madvise(mem, size, MADV_HUGEPAGE);
	return memset(mem, 0, size);
}

void get_random_bytes(void *buf, size_t len)
{
	char *at = buf;
	ssize_t got;

	while (len) {
		got = getrandom(at, len, 0);
		if (got < 0) {
			if (errno == EINTR)
				continue;
			/* Without random bytes the hash's key could be guessed. */
			perror("kvpool: getrandom");
			abort();
		}
		at += got;
		len -= got;
	}
}

#ifdef KVP_SHIM_LOCKDEP

#define KVP_SHIM_MAX_HELD 16

static __thread struct {
	const void *lock;
	int how;
} kvp_shim_held[KVP_SHIM_MAX_HELD];
static __thread int kvp_shim_nr_held;

static void kvp_shim_die(const char *file, int line, const char *what)
{
	fprintf(stderr, "kvpool: LOCKDEP: %s:%d: %s\n", file, line, what);
	abort();
}

static int kvp_shim_find(const void *lock)
{
	int i;

	for (i = 0; i < kvp_shim_nr_held; i++)
		if (kvp_shim_held[i].lock == lock)
			return i;
	return -1;
}

void kvp_shim_acquire(const void *lock, int how)
{
	if (kvp_shim_find(lock) >= 0)
		kvp_shim_die(__FILE__, __LINE__, "the thread holds this lock already");
	if (kvp_shim_nr_held == KVP_SHIM_MAX_HELD)
		kvp_shim_die(__FILE__, __LINE__, "the thread holds too many locks");
	kvp_shim_held[kvp_shim_nr_held].lock = lock;
	kvp_shim_held[kvp_shim_nr_held].how = how;
	kvp_shim_nr_held++;
}

void kvp_shim_release(const void *lock)
{
	int i = kvp_shim_find(lock);

	if (i < 0)
		kvp_shim_die(__FILE__, __LINE__, "the thread does not hold this lock");
	kvp_shim_held[i] = kvp_shim_held[--kvp_shim_nr_held];
}

void kvp_shim_assert_held(const void *lock, bool write, const char *file, int line)
{
	int i = kvp_shim_find(lock);

	if (i < 0)
		kvp_shim_die(file, line, "the lock should be held");
	if (write && kvp_shim_held[i].how == KVP_SHIM_READ)
		kvp_shim_die(file, line, "the lock should be held for writing");
}

void kvp_shim_might_sleep(void)
{
	int i;

	for (i = 0; i < kvp_shim_nr_held; i++)
		if (kvp_shim_held[i].how == KVP_SHIM_SPIN)
			kvp_shim_die(__FILE__, __LINE__, "may sleep under a spinlock");
}

#endif /* KVP_SHIM_LOCKDEP */

// SPDX-License-Identifier: MIT
/*
 * Memory that is not as a caller's should be: it ends, has a hole, cannot be written, or is the
 * device's own. Owns these mappings, each process its own; the device's two pages are those of one
 * client.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"

__u8 *mf_wide, *mf_timelines, *mf_counters;

static __u8 *edge;		/* the first byte behind memory that is there */
static __u8 *hole;		/* the first byte of the page that cannot be touched */
static __u8 *writable;		/* two mappings of the same memory */
static __u8 *readonly;

static __u8 *map(size_t len, int prot, int flags, int fd)
{
	__u8 *mem = mmap(NULL, len, prot, flags, fd, 0);

	if (mem == MAP_FAILED)
		ct_die("cannot map memory: %m");
	return mem;
}

void mf_memory_process(void)
{
	const int both = PROT_READ | PROT_WRITE;
	const int private = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	int fd = memfd_create("kvpool-malformed", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, MF_SPLIT))
		ct_die("cannot make a memory file: %m");
	writable = map(MF_SPLIT, both, MAP_SHARED, fd);
	readonly = map(MF_SPLIT, PROT_READ, MAP_SHARED, fd);
	close(fd);
	/* What is behind it is not there, so that no count reaches anything of the program's. */
	mf_wide = map(2 * MF_WIDE, both, private, -1);
	edge = map(2 * MF_SPLIT, both, private, -1) + MF_SPLIT;
	hole = map(3 * MF_SPLIT, both, private, -1) + MF_SPLIT;
	if (mprotect(mf_wide + MF_WIDE, MF_WIDE, PROT_NONE) ||
	    mprotect(edge, MF_SPLIT, PROT_NONE) || mprotect(hole, MF_PAGE, PROT_NONE))
		ct_die("cannot protect memory: %m");
}

__u8 *mf_before_edge(__u32 there)
{
	return edge - there;
}

__u8 *mf_before_hole(__u32 there)
{
	return hole - there;
}

__u8 *mf_readonly(const void *from, __u32 len)
{
	memcpy(writable, from, len);
	return readonly;
}

__u64 mf_bad_address(enum mf_place place)
{
	static const __u64 kernel[] = {
		0xffff800000000000, 0xffff888000000000, 0xffff888000100000, 0xffffc90000000000,
		0xffffea0000000000, 0xffffffff81000000, 0xffffffffa0000000, 0xffffffffff600000,
	};
	static const __u64 noncanonical[] = {
		0x0000800000000000, 0x8000000000000000, 0xdead000000000100, 0x7fffffffffffffff & ~7,
	};

	switch (place) {
	case MF_AT_KERNEL:
		return kernel[st_below(CT_SIZE(kernel))] + 8 * st_below(512);
	case MF_AT_NONCANONICAL:
		return noncanonical[st_below(CT_SIZE(noncanonical))];
	case MF_AT_END:
		return -8ULL * (1 + st_below(2));
	case MF_AT_UNMAPPED:
		/* Below all programs: what is unmapped elsewhere is somebody's soon. */
		return (st_once(2) ? 8 : 0x10000) + 8 * st_below(MF_PAGE / 8 - 1);
	default:
		return 0;
	}
}

void mf_wide_clear(void)
{
	if (madvise(mf_wide, MF_WIDE, MADV_DONTNEED))
		ct_die("cannot clear memory: %m");
}

/* ---- the device's pages ---- */

void mf_pages_map(struct ct_conn *conn)
{
	void *mem;

	if (!mf_door->device)
		return;
	mem = mmap(NULL, MF_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, conn->fd,
		   KVP_MMAP_TIMELINES);
	mf_timelines = mem == MAP_FAILED ? NULL : mem;
	/* Only for who has the right to use the pool. */
	mem = mmap(NULL, MF_PAGE, PROT_READ, MAP_SHARED, conn->fd, KVP_MMAP_COUNTERS);
	mf_counters = mem == MAP_FAILED ? NULL : mem;
}

void mf_pages_unmap(void)
{
	if ((mf_timelines && munmap(mf_timelines, MF_PAGE)) ||
	    (mf_counters && munmap(mf_counters, MF_PAGE)))
		ct_die("cannot unmap the device's pages: %m");
	mf_timelines = NULL;
	mf_counters = NULL;
}

// SPDX-License-Identifier: MIT
/*
 * Sealed memory files. Owns nothing: descriptors are the caller's.
 *
 * The seals are what lets one process trust a file that another one made: it cannot be
 * truncated under a mapping (which would be a SIGBUS for whoever reads), and nobody
 * can seal it against writing later.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memfd.h"

#define SEALS_NEEDED	(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define SEALS_REFUSED	(F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)

/* The kernel sends SIGXFSZ to who makes a file longer than RLIMIT_FSIZE: look first. */
static int check_length(uint64_t length)
{
	struct rlimit limit;

	if (!length || length > INT64_MAX)
		return -EOVERFLOW;
	if (getrlimit(RLIMIT_FSIZE, &limit))
		return -errno;
	if (limit.rlim_cur != RLIM_INFINITY && length > limit.rlim_cur)
		return -EOVERFLOW;
	return 0;
}

int kvp_memfd_create(const char *name, uint64_t length)
{
	int err, fd;

	err = check_length(length);
	if (err)
		return err;
	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)length) || fcntl(fd, F_ADD_SEALS, SEALS_NEEDED)) {
		err = errno == EFBIG || errno == EINVAL ? -EOVERFLOW : -errno;
		close(fd);
		return err;
	}
	return fd;
}

int kvp_memfd_check(int fd, uint64_t length)
{
	struct stat st;
	int seals, mode;

	mode = fcntl(fd, F_GETFL);
	if (mode < 0 || fstat(fd, &st))
		return -errno;
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0)
		return -EKEYREJECTED;	/* not a memory file at all */
	if ((seals & SEALS_NEEDED) != SEALS_NEEDED || (seals & SEALS_REFUSED))
		return -EKEYREJECTED;
	if ((mode & O_ACCMODE) != O_RDWR || (mode & O_PATH))
		return -EKEYREJECTED;
	return (uint64_t)st.st_size == length ? 0 : -EKEYREJECTED;
}

int kvp_memfd_dup(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? -errno : copy;
}

void kvp_memfd_close(int fd)
{
	close(fd);
}

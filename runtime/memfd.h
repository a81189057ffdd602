/* SPDX-License-Identifier: MIT */
/*
 * Sealed memory files, the backing of pools on the CPU.
 */
#ifndef KVP_RUNTIME_MEMFD_H
#define KVP_RUNTIME_MEMFD_H

#include <stdint.h>

/*
 * A memory file of @length bytes that can neither shrink nor grow any more, close-on-exec.
 * Sparse: memory is taken when it is written. Returns the descriptor or a negative errno:
 * -EOVERFLOW (no file can be that long), -ENOMEM, -EMFILE, -ENFILE.
 */
int kvp_memfd_create(const char *name, uint64_t length);

/*
 * 0 if @fd is such a file of exactly @length bytes that can be mapped for writing; else
 * -EKEYREJECTED, or -EBADF.
 */
int kvp_memfd_check(int fd, uint64_t length);

/* A second descriptor for the same file, close-on-exec; or a negative errno. */
int kvp_memfd_dup(int fd);

void kvp_memfd_close(int fd);

#endif /* KVP_RUNTIME_MEMFD_H */

/* SPDX-License-Identifier: MIT */
/*
 * An io_uring of each thread.
 */
#ifndef KVP_RUNTIME_RING_H
#define KVP_RUNTIME_RING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Operation @op on the client of @fd through the ring of this thread, which is made at the first
 * use; waits for its end. The result, 0 or a negative errno, goes to *@result. False: nothing
 * was executed, since this thread can have no ring.
 */
bool kvp_ring_call(int fd, uint32_t op, void *arg, uint32_t len, int *result);

#endif /* KVP_RUNTIME_RING_H */

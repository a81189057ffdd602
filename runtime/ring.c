// SPDX-License-Identifier: MIT
/*
 * An io_uring of each thread. Owns the rings, each of which only its thread touches: no lock.
 *
 * A ring is made when its thread first needs one and ends with the thread. Where there can be
 * none (an old kernel, a seccomp filter, kernel.io_uring_disabled, no memory) the thread is told
 * so, and is not kept waiting by another attempt.
 *
 * fork(): the mappings of a ring are not inherited. A child forgets the ring of the thread that
 * forked; the descriptor stays open until the child ends or executes something, since its
 * number may be another file's by then. No file is registered in a ring, so such a
 * descriptor keeps nothing of a pool alive.
 */
#include <errno.h>
#include <liburing.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "door.h"
#include "ring.h"

#include <linux/kvpool.h>

#define RING_ENTRIES	2	/* one command at a time */

/**
 * struct kvp_ring - a ring
 * @uring: liburing's
 * @generation: of the process that made it
 */
struct kvp_ring {
	struct io_uring uring;
	uint32_t generation;
};

static _Thread_local struct kvp_ring *mine;
static _Thread_local bool refused;	/* there can be none */

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;		/* ends the rings of threads that end; set once */
static bool key_made;

static void ring_free(struct kvp_ring *ring)
{
	io_uring_queue_exit(&ring->uring);
	free(ring);
}

static void thread_ends(void *ring)
{
	mine = NULL;
	ring_free(ring);
}

static void make_key(void)
{
	key_made = !pthread_key_create(&key, thread_ends);
}

/* Without this, threads that end after a dlclose() would call what is not there any more. */
__attribute__((destructor)) static void library_ends(void)
{
	if (key_made)
		pthread_key_delete(key);
}

static struct kvp_ring *ring_make(void)
{
	struct kvp_ring *ring;

	pthread_once(&key_once, make_key);
	if (!key_made)
		return NULL;
	ring = malloc(sizeof(*ring));
	if (!ring)
		return NULL;
	if (io_uring_queue_init(RING_ENTRIES, &ring->uring, 0)) {
		free(ring);
		return NULL;
	}
	if (io_uring_ring_dontfork(&ring->uring) || pthread_setspecific(key, ring)) {
		ring_free(ring);
		return NULL;
	}
	/* Saves looking the descriptor up at each call, where the kernel can do that. */
	io_uring_register_ring_fd(&ring->uring);
	ring->generation = atomic_load_explicit(&kvp_generation, memory_order_relaxed);
	return ring;
}

/* This thread has none, and will have none. */
static void ring_drop(void)
{
	pthread_setspecific(key, NULL);
	ring_free(mine);
	mine = NULL;
	refused = true;
}

static struct kvp_ring *ring_of_thread(void)
{
	if (mine && mine->generation !=
		    atomic_load_explicit(&kvp_generation, memory_order_relaxed)) {
		pthread_setspecific(key, NULL);
		free(mine);
		mine = NULL;
	}
	if (!mine && !refused) {
		mine = ring_make();
		refused = !mine;
	}
	return mine;
}

/* liburing has this from 2.13 on. */
static void prep_uring_cmd(struct io_uring_sqe *sqe, int fd, uint32_t cmd_op,
			   const struct kvp_uring_cmd *cmd)
{
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = cmd_op;
	memcpy(sqe->cmd, cmd, sizeof(*cmd));
}

bool kvp_ring_call(int fd, uint32_t op, void *arg, uint32_t len, int *result)
{
	const struct kvp_uring_cmd cmd = { .arg = (uintptr_t)arg, .len = len };
	struct kvp_ring *ring = ring_of_thread();
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	int submitted = 0;

	if (!ring)
		return false;
	sqe = io_uring_get_sqe(&ring->uring);
	if (sqe) {
		prep_uring_cmd(sqe, fd, KVP_IOC(op), &cmd);
		do {
			submitted = io_uring_submit_and_wait(&ring->uring, 1);
		} while (submitted == -EINTR);
	}
	if (submitted != 1) {
		ring_drop();
		return false;
	}
	/* The kernel writes to the caller's memory until then: there is no way out. */
	while (io_uring_wait_cqe(&ring->uring, &cqe))
		sched_yield();
	*result = cqe->res;
	io_uring_cqe_seen(&ring->uring, cqe);
	return true;
}

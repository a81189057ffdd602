/* SPDX-License-Identifier: MIT */
/*
 * An accelerator of its own: queues of orders in memory that its threads and the clients share,
 * which may be other processes. It goes on with what a client has launched when that is dead.
 */
#ifndef KVPS_ACCEL_H
#define KVPS_ACCEL_H

#include <semaphore.h>

#include "stamps.h"

#define ACCEL_CONTEXTS	(3 * STAMPS_CLIENTS)

/**
 * struct accel_stream - orders that run one after the other
 * @work: counts launches
 * @launched: by the client
 * @done: by the accelerator
 * @order: the one launched as number n is at n % STAMPS_DEPTH
 */
struct accel_stream {
	sem_t work;
	_Atomic uint64_t launched;
	_Atomic uint64_t done;
	struct order order[STAMPS_DEPTH];
};

/**
 * struct accel_context - what one client has of the accelerator
 * @taken: a client lives that uses it
 * @ended: counts orders that have ended
 * @stream: see there
 */
struct accel_context {
	_Atomic bool taken;
	sem_t ended;
	struct accel_stream stream[STAMPS_STREAMS];
};

/* In memory that all share. */
struct accel {
	struct accel_context context[ACCEL_CONTEXTS];
};

void accel_init(struct accel *accel);
/* Threads that do the work, in this process, until it ends. */
void accel_start(struct stamps *stamps, struct accel *accel);

/* A client's way to the accelerator, which lies in engine->lane. */
extern const struct stamps_ops accel_ops;
void accel_open(struct engine *engine, struct kvp_pool *pool, struct accel *accel);
struct accel_context *accel_context_of(const struct engine *engine);
void accel_close(struct engine *engine);

/* A client is about to die, with what it has launched still on its way. */
void accel_kill(struct stamps *stamps, uint32_t life, const struct accel_context *context);
/* It is dead: the context can be another's as soon as it is idle. accel_close() does this, too. */
void accel_release(struct accel_context *context);

#endif /* KVPS_ACCEL_H */

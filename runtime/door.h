/* SPDX-License-Identifier: MIT */
/*
 * Doors, the ways to the core, in plain types. door_inproc.c carries the core into this process,
 * and only it sees the core's headers; door_device.c goes through the character device;
 * door.c chooses. The rest of the runtime knows a pool's door by this table.
 */
#ifndef KVP_RUNTIME_DOOR_H
#define KVP_RUNTIME_DOOR_H

#include <stdbool.h>
#include <stdint.h>

struct kvp_batch;
struct kvp_counters_page;
struct kvp_timeline;

/* One client on its way. Each door has its own idea of what that is. */
struct kvp_conn;

/**
 * struct kvp_door_ops - one door
 * @lock: making, opening and ending pools goes on between this and @unlock
 * @unlock: end of that
 * @connect: a new client, attached to nothing; on an error it is noted, and begins with @what.
 *           Between @lock and @unlock
 * @own: from now on the client ends with this process, whoever has copies of its descriptors.
 *       0 or a negative errno
 * @disconnect: end of the client and of what it holds. Not at once with a call on it
 * @inherited: the client was opened before a fork() and this is the child: calls give -EPERM
 * @call: one operation of the contract on the struct of @len bytes at @arg, head.size being set
 * @batch: the same of a KVP_OP_BATCH, in the way that is best for it
 * @fd: the client's descriptor, to be polled, or -EOPNOTSUPP
 * @counters: the page of counters of the pool that the client is attached to, until
 *            disconnect; -EOPNOTSUPP where there is none
 * @timelines: the client's KVP_NR_TIMELINES timelines, until disconnect; -EOPNOTSUPP where
 *             they cannot be had
 * @sleep: until there is something that the client has not been told, or @ns are over, or sooner
 */
struct kvp_door_ops {
	void (*lock)(void);
	void (*unlock)(void);
	int (*connect)(const char *what, struct kvp_conn **conn);
	int (*own)(struct kvp_conn *conn);
	void (*disconnect)(struct kvp_conn *conn);
	bool (*inherited)(const struct kvp_conn *conn);
	int (*call)(struct kvp_conn *conn, uint32_t op, void *arg, uint32_t len);
	int (*batch)(struct kvp_conn *conn, struct kvp_batch *arg, uint32_t len);
	int (*fd)(const struct kvp_conn *conn);
	int (*counters)(struct kvp_conn *conn, const struct kvp_counters_page **page);
	int (*timelines)(struct kvp_conn *conn, struct kvp_timeline **page);
	void (*sleep)(struct kvp_conn *conn, uint64_t ns);
};

extern const struct kvp_door_ops kvp_inproc_ops;
extern const struct kvp_door_ops kvp_device_ops;

/* The way in process for calls, without a detour over its table. */
int kvp_inproc_call(struct kvp_conn *conn, uint32_t op, void *arg, uint32_t len);

/* The operation's name, NULL if there is none of that number. */
const char *kvp_op_name(uint32_t op);

/* How the core in this process reaches its memory and descriptors; for tests. */
struct kvp_door;
extern const struct kvp_door kvp_inproc_door;

/* ---- door.c ---- */

/* Watch this process for forks. False: no memory; no client may be opened then. */
bool kvp_watch_forks(void);

/*
 * Grows with every fork() on the way from the first process to this one, of which the process was
 * watched.
 */
extern _Atomic uint32_t kvp_generation;

#endif /* KVP_RUNTIME_DOOR_H */

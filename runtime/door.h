/* SPDX-License-Identifier: MIT */
/*
 * The door to the core inside this process, in plain types: only door_inproc.c
 * sees the core's headers, the rest of the runtime sees this one.
 */
#ifndef KVP_RUNTIME_DOOR_H
#define KVP_RUNTIME_DOOR_H

#include <stdbool.h>
#include <stdint.h>

/* How the core reaches the memory and the descriptors of this process. */
struct kvp_door;
extern const struct kvp_door kvp_inproc_door;

/* One client of this process's pools. */
struct kvp_conn;

/*
 * Making and opening pools goes on under one lock of the process: a pool's name can be seen
 * before its backings are there. Held across fork(), so that a child finds it free. Connect is
 * called with it held; calls are not.
 */
void kvp_inproc_lock(void);
void kvp_inproc_unlock(void);

/* A new client, attached to nothing. -ENOMEM. */
int kvp_inproc_connect(struct kvp_conn **conn);

/* End of the client and of what it holds. Not at once with a call on it. NULL is allowed. */
void kvp_inproc_disconnect(struct kvp_conn *conn);

/*
 * The client was opened before a fork() and this is the child: the core's state here is a
 * copy that nobody else sees, while the bytes are the parent's. Calls give -EPERM.
 */
bool kvp_inproc_inherited(const struct kvp_conn *conn);

/* One operation of the contract on the struct of @len bytes at @arg, head.size being set. */
int kvp_inproc_call(struct kvp_conn *conn, uint32_t op, void *arg, uint32_t len);

/* The operation's name, NULL if there is none of that number. */
const char *kvp_inproc_op_name(uint32_t op);

#endif /* KVP_RUNTIME_DOOR_H */

/* SPDX-License-Identifier: MIT */
/*
 * Noting what went wrong for the calling thread (error.c).
 */
#ifndef KVP_RUNTIME_ERROR_H
#define KVP_RUNTIME_ERROR_H

#include <stdint.h>

struct kvp_head;

/* Note an error of the runtime for this thread; returns @err. */
int kvp_error_set(int err, uint32_t reason, uint32_t where, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Note that operation @op failed as @head says; returns @err. The text is made when asked for. */
int kvp_error_call(int err, uint32_t op, const struct kvp_head *head);

#endif /* KVP_RUNTIME_ERROR_H */

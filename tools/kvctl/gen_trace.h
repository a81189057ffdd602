/* SPDX-License-Identifier: MIT */
/*
 * A made-up trace: conversations that share system prompts and grow turn by turn.
 */
#ifndef KVCTL_GEN_TRACE_H
#define KVCTL_GEN_TRACE_H

#include <stdint.h>
#include <stdio.h>

#define KVCTL_GEN_REQUESTS	300
#define KVCTL_GEN_SEED		1

/* The same @requests and @seed give the same bytes everywhere. 0 or -EIO. */
int kvctl_gen_trace_write(FILE *out, uint64_t requests, uint64_t seed);

#endif /* KVCTL_GEN_TRACE_H */

/* SPDX-License-Identifier: MIT */
/*
 * From a pool of the runtime to the core's structures behind it, to damage them.
 */
#ifndef KVPR_INSIDE_H
#define KVPR_INSIDE_H

#include <stdint.h>

struct kvp_pool;

/* Add @by to the count of a block, which the audit must find. */
void kvpr_damage_count(struct kvp_pool *pool, uint64_t block, int by);

#endif /* KVPR_INSIDE_H */

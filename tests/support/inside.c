// SPDX-License-Identifier: MIT
/*
 * Damages pools of the runtime. Owns nothing, takes no lock: no call may be on its way.
 */
#include "core.h"

#include "inside.h"

/* A pool of the runtime begins with its connection, which begins with the core's client. */
static struct kvp_client *client_of(struct kvp_pool *pool)
{
	struct kvp_client ***connection = (void *)pool;

	return **connection;
}

void kvpr_damage_count(struct kvp_pool *pool, uint64_t block, int by)
{
	struct kvp_pool *core = client_of(pool)->pool;
	struct kvp_family *family = &core->family[KVP_BLOCK_FAMILY(block)];

	family->blocks[KVP_BLOCK_INDEX(block)].count += by;
}

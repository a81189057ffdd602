/* SPDX-License-Identifier: MIT */
/*
 * Which pools there are.
 */
#ifndef KVCTL_POOL_LIST_H
#define KVCTL_POOL_LIST_H

#include <kvpool.h>

/**
 * struct kvctl_pools - the pools behind a door that this process may use
 * @entries: one each, freed by kvctl_pools_free()
 * @nr: how many
 */
struct kvctl_pools {
	struct kvp_pool_entry *entries;
	uint32_t nr;
};

/* 0 or a negative errno, see kvp_error(). */
int kvctl_pools_read(enum kvp_door_kind door, struct kvctl_pools *pools);
void kvctl_pools_free(struct kvctl_pools *pools);

#endif /* KVCTL_POOL_LIST_H */

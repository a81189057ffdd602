// SPDX-License-Identifier: MIT
/*
 * Looks at pools for `kvctl top'. A look attaches and leaves again: between two of them it keeps
 * no pool alive, and stands in nobody's way who wants to destroy one. No state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "door.h"
#include "kvctl.h"
#include "pool_list.h"
#include "top.h"

static int read_view(struct kvctl_view *view, struct kvctl_top_pool *pool)
{
	int err;

	snprintf(pool->name, sizeof(pool->name), "%s", view->info.name);
	pool->id = view->info.pool;
	pool->uid = view->info.uid;
	pool->nr_clients = view->info.nr_clients;
	pool->admin = view->admin;
	pool->nr_families = view->info.nr_families;
	memcpy(pool->family, view->family, sizeof(pool->family));
	err = kvp_pool_stats(view->pool, 0, &pool->stats, pool->families, pool->nr_families);
	return err ? err : kvctl_clients_read(view, &pool->clients);
}

static int read_pool(const struct kvctl_top *top, const char *name, struct kvctl_top_pool *pool)
{
	struct kvctl_view view;
	int err;

	memset(pool, 0, sizeof(*pool));
	err = kvctl_view_try(top->who, name, true, &view);
	if (err)
		return err;
	err = read_view(&view, pool);
	kvctl_view_close(&view);
	return err;
}

/* The pool has ended since it was listed, or is not there yet. */
static bool is_no_pool(void)
{
	uint32_t reason = kvp_error()->reason;

	return reason == KVP_REASON_NO_POOL || reason == KVP_REASON_DESTROYED ||
	       reason == KVP_REASON_STAGED;
}

/* One pool of the list, if it is still there. */
static void read_listed(const struct kvctl_top *top, const struct kvp_pool_entry *entry,
			struct kvctl_top_look *look)
{
	struct kvctl_top_pool *pool = &look->pools[look->nr];
	char name[KVCTL_OWN_LEN];

	snprintf(name, sizeof(name), "%s%s%s",
		 top->door == KVP_DOOR_DEFAULT ? "" : kvp_door_name(top->door),
		 top->door == KVP_DOOR_DEFAULT ? "" : ":", entry->name);
	if (read_pool(top, name, pool)) {
		if (is_no_pool())
			return;
		memset(pool, 0, sizeof(*pool));
		snprintf(pool->name, sizeof(pool->name), "%s", entry->name);
		snprintf(pool->failed, sizeof(pool->failed), "%s", kvp_error()->text);
	}
	look->nr++;
}

static int read_all(const struct kvctl_top *top, struct kvctl_top_look *look)
{
	struct kvctl_pools pools;
	uint32_t i;
	int err;

	err = kvctl_pools_read(top->door, &pools);
	if (err)
		return err;
	look->pools = calloc(pools.nr + 1, sizeof(*look->pools));
	for (i = 0; look->pools && i < pools.nr; i++)
		read_listed(top, &pools.entries[i], look);
	kvctl_pools_free(&pools);
	return look->pools ? 0 : -ENOMEM;
}

int kvctl_top_read(const struct kvctl_top *top, struct kvctl_top_look *look)
{
	int err;

	memset(look, 0, sizeof(*look));
	look->at = kvctl_now();
	if (!top->pool)
		return read_all(top, look);
	look->pools = calloc(1, sizeof(*look->pools));
	err = look->pools ? read_pool(top, top->pool, look->pools) : -ENOMEM;
	if (err)
		kvctl_top_free(look);
	else
		look->nr = 1;
	return err;
}

void kvctl_top_free(struct kvctl_top_look *look)
{
	uint32_t i;

	for (i = 0; i < look->nr; i++)
		kvctl_clients_free(&look->pools[i].clients);
	free(look->pools);
	memset(look, 0, sizeof(*look));
}

int kvctl_top_failed(const struct kvctl_top *top)
{
	if (top->pool)
		return kvctl_pool_failed(top->who, top->pool);
	fprintf(stderr, "%s: %s\n", top->who, kvp_error()->text);
	return KVCTL_FAILED;
}

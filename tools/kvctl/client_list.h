/* SPDX-License-Identifier: MIT */
/*
 * Who is attached to a pool, and the exports, as the verbs clients, exports, limit and top share
 * it.
 */
#ifndef KVCTL_CLIENT_LIST_H
#define KVCTL_CLIENT_LIST_H

#include <kvpool.h>

#include "args.h"
#include "view.h"

/**
 * struct kvctl_client - a client or an export
 * @entry: who it is and what it has; its command is text
 * @stats: its counters; of an export zero
 * @families: what it has of each family; of an export zero
 */
struct kvctl_client {
	struct kvp_client_entry entry;
	struct kvp_stats stats;
	struct kvp_family_stats families[KVP_MAX_FAMILIES];
};

/**
 * struct kvctl_clients - all that there are, without the one that looks
 * @at: array of @nr, freed by kvctl_clients_free()
 */
struct kvctl_clients {
	struct kvctl_client *at;
	uint32_t nr;
};

/* 0 or a negative errno, see kvp_error(). Those that go meanwhile are left out. */
int kvctl_clients_read(struct kvctl_view *view, struct kvctl_clients *clients);
void kvctl_clients_free(struct kvctl_clients *clients);

/*
 * The whole of a verb that shows them: @argp reads a struct kvctl_pool_args; either of the two says
 * what there is. Its exit status.
 */
int kvctl_clients_show(int argc, char **argv, const struct argp *argp,
		       json_t *(*to_json)(const struct kvctl_view *view,
					  const struct kvctl_clients *clients),
		       void (*print)(const struct kvctl_view *view,
				     const struct kvctl_clients *clients));

static inline bool kvctl_is_export(const struct kvctl_client *client)
{
	return client->entry.flags & KVP_CLIENT_EXPORT;
}

/* It has ended, and what its work may touch is in quarantine. */
static inline bool kvctl_is_dead(const struct kvctl_client *client)
{
	return client->entry.flags & KVP_CLIENT_DEAD;
}

/* How long the quarantine of a dead client goes on; else null. */
json_t *kvctl_grace_json(const struct kvctl_client *client);

/**
 * struct kvctl_user - all clients of a uid together
 * @uid: the uid
 * @known: the pool knows it; if not, it has nothing, and no limits of its own
 * @stats: its counters
 * @families: what it has of each family
 */
struct kvctl_user {
	uint32_t uid;
	bool known;
	struct kvp_stats stats;
	struct kvp_family_stats families[KVP_MAX_FAMILIES];
};

/* 0 or a negative errno, see kvp_error(). */
int kvctl_user_read(struct kvctl_view *view, uint32_t uid, struct kvctl_user *user);

/*
 * Of families of which there is something to say: blocks charged, guarantee, limit, and of those
 * charged what is held back and what is in the reserve; a line each.
 */
void kvctl_charged_print(const struct kvctl_view *view, const struct kvp_family_stats *families,
			 const char *indent);
/* The same as an array, of all families; NULL: no memory. */
json_t *kvctl_charged_json(const struct kvctl_view *view,
			   const struct kvp_family_stats *families);

#endif /* KVCTL_CLIENT_LIST_H */

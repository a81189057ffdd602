/* SPDX-License-Identifier: MIT */
/*
 * What pools and their clients do from one look to the next: reading it (top_read.c), telling
 * it (top_show.c), and the live screen (top_screen.c).
 */
#ifndef KVCTL_TOP_H
#define KVCTL_TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include <kvpool.h>

#include "client_list.h"

#define KVCTL_TOP_FAILED_LEN	256

/**
 * struct kvctl_top_pool - a pool at the time of a look
 * @name: its name
 * @id: its id: a pool that is made later has another one, whatever it is called
 * @uid: its owner
 * @nr_clients: attached, without the one that looks
 * @admin: all of its clients are there
 * @failed: why it could not be looked at, and the rest is zero; "": it could
 * @stats: counters
 * @nr_families: how many
 * @family: what they are
 * @families: their counters
 * @clients: its clients and exports, in the order in which they are shown
 */
struct kvctl_top_pool {
	char name[KVP_NAME_LEN];
	uint64_t id;
	uint32_t uid;
	uint32_t nr_clients;
	bool admin;
	char failed[KVCTL_TOP_FAILED_LEN];
	struct kvp_stats stats;
	uint32_t nr_families;
	struct kvp_family_desc family[KVP_MAX_FAMILIES];
	struct kvp_family_stats families[KVP_MAX_FAMILIES];
	struct kvctl_clients clients;
};

/**
 * struct kvctl_top_look - one look
 * @at: when, in seconds; only differences mean something
 * @pools: array of @nr
 */
struct kvctl_top_look {
	double at;
	struct kvctl_top_pool *pools;
	uint32_t nr;
};

/* By what clients are sorted. */
enum kvctl_top_sort {
	KVCTL_SORT_CHARGED,
	KVCTL_SORT_CHANGE,
	KVCTL_SORT_HELD_BACK,
	KVCTL_SORT_SEQS,
	KVCTL_SORT_SLOTS,
	KVCTL_SORT_RAW,
	KVCTL_SORT_AGE,
	KVCTL_SORT_PID,
	KVCTL_SORT_CLIENT,
	KVCTL_SORTS,
};

/**
 * struct kvctl_top - what to look at, and how
 * @who: "kvctl top"
 * @pool: name or URI of the only one, NULL: all that there are
 * @door: where to look for all
 * @delay: seconds from one look to the next
 * @count: looks, 0: until somebody ends it
 * @sort: order of the clients
 */
struct kvctl_top {
	const char *who;
	const char *pool;
	enum kvp_door_kind door;
	double delay;
	uint64_t count;
	enum kvctl_top_sort sort;
};

/*
 * Look. 0 or a negative errno: the only pool, or the list of all, could not be had; see
 * kvp_error(). Of all, a pool that ends meanwhile is left out.
 */
int kvctl_top_read(const struct kvctl_top *top, struct kvctl_top_look *look);
void kvctl_top_free(struct kvctl_top_look *look);

/* The last look failed: say so. Returns KVCTL_FAILED. */
int kvctl_top_failed(const struct kvctl_top *top);

/* "charged" and so on, in the order of the enum. */
const char *kvctl_top_sort_name(uint32_t sort);

/* Sort the clients of each pool of @now; @before: the look before it, or empty. */
void kvctl_top_sort(struct kvctl_top_look *now, const struct kvctl_top_look *before,
		    enum kvctl_top_sort sort);

/**
 * struct kvctl_top_out - takes the lines of a look, one after the other
 * @line: gets them; @heading: it names the columns of those that follow
 * @arg: for it
 */
struct kvctl_top_out {
	void (*line)(void *arg, bool heading, const char *text);
	void *arg;
};

/* Tell @now; changes and rates are those since @before, "-" where it has not got that. */
void kvctl_top_lines(const struct kvctl_top_look *now, const struct kvctl_top_look *before,
		     const struct kvctl_top_out *out);
/* The same as a JSON object; NULL: no memory. */
json_t *kvctl_top_json(const struct kvctl_top_look *now, const struct kvctl_top_look *before);

/* Look and show on the terminal until somebody ends it; an exit status. */
int kvctl_top_screen(struct kvctl_top *top);

#endif /* KVCTL_TOP_H */

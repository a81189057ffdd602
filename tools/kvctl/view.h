/* SPDX-License-Identifier: MIT */
/*
 * A look at a pool, as the verbs stat, blocks, map, clients and fsck share it: a client of its
 * own, and the words for what it sees.
 */
#ifndef KVCTL_VIEW_H
#define KVCTL_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <kvpool.h>

/**
 * struct kvctl_view - a client of a pool that only looks
 * @who: "kvctl VERB", for complaints
 * @pool: the client
 * @info: description of the pool; @info.nr_clients is without this client
 * @families: the pool's families; what is no text in their names is '?'
 * @admin: it may see all of what others have
 */
struct kvctl_view {
	const char *who;
	struct kvp_pool *pool;
	struct kvp_pool_info info;
	const struct kvp_family_desc *families[KVP_MAX_FAMILIES];
	struct kvp_family_desc family[KVP_MAX_FAMILIES];
	bool admin;
};

#define KVCTL_URI_LEN	4096

/*
 * The URI of the pool @pool in @uri: a URI stays what it is, a bare name is one behind
 * kvctl_door(). @query ("key=value&key=value") is put behind it unless NULL. False: too long.
 */
bool kvctl_pool_uri(const char *pool, const char *query, char uri[KVCTL_URI_LEN]);

/* Whether @uri has the key of @pair, "key=" or "key=value". */
bool kvctl_pool_has_key(const char *uri, const char *pair);

/*
 * The exit status after a call that makes or opens a pool has failed: KVCTL_USAGE where what was
 * asked for is wrong in itself, or not what the pool is, KVCTL_FAILED where it could not be had.
 */
int kvctl_error_status(void);

/*
 * The pool @pool could not be had: say why, and for an unknown name which ones there are.
 * Returns kvctl_error_status().
 */
int kvctl_pool_failed(const char *who, const char *pool);

/*
 * Attach to @pool (a URI or a bare name) to look at it; with the right admin if that is
 * wanted and can be had, or else without. An exit status; what went wrong was said.
 */
int kvctl_view_open(const char *who, const char *pool, bool admin, struct kvctl_view *view);
/*
 * The same, but nothing is said: 0, or a negative errno, see kvp_error() but for -ENAMETOOLONG
 * (@pool is too long).
 */
int kvctl_view_try(const char *who, const char *pool, bool admin, struct kvctl_view *view);
/* The same of a client that is there, which is @view's from now on. False: said. */
bool kvctl_view_of(const char *who, struct kvp_pool *pool, struct kvctl_view *view);
void kvctl_view_close(struct kvctl_view *view);

/* The last call on the pool failed: say so. Returns KVCTL_FAILED. */
int kvctl_view_failed(const struct kvctl_view *view);

/*
 * The family that @text names by number or name, or all (*@first 0, *@end their number) where
 * it is NULL. False: there is none, and that was said of @option.
 */
bool kvctl_view_families(const struct kvctl_view *view, const char *option, const char *text,
			 uint32_t *first, uint32_t *end);

/*
 * Call @fn for each block of @family in order until it returns false. A cursor: blocks may
 * change while it goes on. 0 or a negative errno, see kvp_error().
 */
int kvctl_view_each_block(struct kvctl_view *view, uint32_t family,
			  bool (*fn)(void *arg, const struct kvp_block_entry *entry), void *arg);

/* Whether the owner of a block was not shown (KVP_OP_BLOCK_DUMP without ADMIN). */
static inline bool kvctl_entry_hidden(const struct kvp_block_entry *entry)
{
	return !entry->client && (entry->state == KVP_BLOCK_HELD ||
				  entry->state == KVP_BLOCK_HELD_BACK ||
				  entry->why == KVP_WHY_ADMITTED);
}

/* ---- words ---- */

#define KVCTL_WHYS	(KVP_WHY_ADMITTED + 1)

/* One word, as options and JSON have them ("held-back"); "unknown" for what is not known. */
const char *kvctl_kind_name(uint32_t kind);
const char *kvctl_state_name(uint32_t state);
const char *kvctl_why_name(uint32_t why);
/* Why a block is not free, for people. */
const char *kvctl_why_words(uint32_t why);

/* The value whose name is @name, of @nr; -1: none. */
int kvctl_find_name(const char *(*name_of)(uint32_t value), uint32_t nr, const char *name);

#define KVCTL_LABEL_LEN	64

/* `family 0 "kv"' in @buf; returns @buf. */
const char *kvctl_family_label(const struct kvp_family_desc *desc, uint32_t family,
			       char buf[KVCTL_LABEL_LEN]);
/* What the family is: "dense, 100 blocks of 16 tokens, 1,024 bytes each". */
void kvctl_family_print(const struct kvp_family_desc *desc, FILE *out);

/* The same as a JSON object, or NULL. */
json_t *kvctl_family_json(const struct kvp_family_desc *desc, uint32_t family);

/* "use,publish,admin" in @buf; returns @buf. */
const char *kvctl_rights_words(uint32_t rights, char buf[KVCTL_LABEL_LEN]);

#define KVCTL_AGE_LEN	32

/* "12ms", "3.4s", "5m" in @buf, "-" for 0; returns @buf. */
const char *kvctl_age_words(uint64_t ns, char buf[KVCTL_AGE_LEN]);

/* The same of how long a quarantine lasts, "until reap" for KVP_UNLIMITED. */
const char *kvctl_grace_words(uint64_t ns, char buf[KVCTL_AGE_LEN]);

/* How long quarantines of the pool last, in ns; KVP_UNLIMITED: until reap. */
uint64_t kvctl_grace_ns(const struct kvp_pool_info *info);

/*
 * A name is any bytes that somebody liked. What would steer a terminal becomes '?', and so does
 * all that is not ASCII where it is not UTF-8, which JSON needs.
 */
void kvctl_make_text(char *name);

#endif /* KVCTL_VIEW_H */

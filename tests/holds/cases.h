/* SPDX-License-Identifier: MIT */
/*
 * Big pools, and what is done to them: each case counts what its calls touch under one hold of
 * the lock.
 */
#ifndef CASES_H
#define CASES_H

#include "fences.h"
#include "holds.h"

#define CASES_MANY	4096

/**
 * struct cases_shape - what a pool is like
 * @name: for people
 * @families: its families
 * @nr: how many
 * @index_tokens: of a node
 * @nodes: of a big sequence; a pool holds two
 */
struct cases_shape {
	const char *name;
	struct kvp_family_desc families[KVP_MAX_FAMILIES];
	u32 nr;
	u32 index_tokens;
	u32 nodes;
};

/**
 * struct cases - a pool, new for each case
 * @env: host and clients
 * @shape: of the pool
 * @a: who made it
 * @b: another client
 * @parts: blocks of a node, all families
 * @tokens: of a big sequence
 */
struct cases {
	struct kvpt_env env;
	const struct cases_shape *shape;
	struct kvp_client *a;
	struct kvp_client *b;
	u32 parts;
	u32 tokens;
};

/* A sequence can lose tokens: states cannot, nor windows that have moved on. They come last. */
static inline bool cases_dense(const struct cases *c)
{
	return c->shape->families[c->shape->nr - 1].kind == KVP_FAMILY_DENSE;
}

/* What is to be counted begins here; the end, and the line that says what it was. */
void cases_begin(void);
void cases_end(const struct cases *c, const char *what);
/* The same where a hold must come near a slice, or the case would show nothing. */
void cases_end_big(const struct cases *c, const char *what);

/* @nr ids that follow from @seed; valid until the next call. */
const u32 *cases_ids(u32 nr, u32 seed);

/* A big sequence, of the ids of @seed; computed, or published too. */
u64 cases_seq(const struct cases *c, struct kvp_client *client, u32 seed);
u64 cases_published(const struct cases *c, struct kvp_client *client, u32 seed);
/* A computed one of @nr tokens. */
u64 cases_small(struct kvp_client *client, u32 nr, u32 seed);

/* A client more, that the case closes itself with kvp_client_close(). */
struct kvp_client *cases_join(struct cases *c, u32 uid);

typedef void (*cases_fn)(struct cases *c);
extern const cases_fn cases_seqs[], cases_raws[], cases_fences[], cases_remaps[], cases_pools[];

#endif /* CASES_H */

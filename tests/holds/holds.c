// SPDX-License-Identifier: MIT
/*
 * The longest hold of a pool's lock, in blocks, stays within KVP_SLICE: big pools and sequences,
 * one line a case with what the longest hold touched, and whose it was.
 *
 *	holds [--shape N]
 *
 * A case fails where a hold touches more, and where none comes near a slice although the case
 * should: it would show nothing then. It goes on, so that one run shows them all.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"

#define MAX_TOKENS	(1U << 17)
#define LONG		(1U << 14)	/* with more nodes, sequences only: the rest takes long */

static const struct cases_shape shapes[] = {
	{ "long", { KVPT_DENSE((1 << 17) + 100, 2) }, 1, 2, 1 << 16 },
	{ "one block a node", { KVPT_DENSE((1 << 14) + 100, 16) }, 1, 16, 1 << 13 },
	{ "127 blocks a node",
	  { KVPT_DENSE(32400, 4), KVPT_DENSE(32400, 4), KVPT_DENSE(520, 252) }, 3, 252, 256 },
	{ "127 blocks of one family", { KVPT_DENSE(32900, 2) }, 1, 254, 128 },
	{ "63 blocks a node", { KVPT_DENSE(32600, 4), KVPT_DENSE(520, 248) }, 2, 248, 256 },
	{ "windows",
	  { KVPT_DENSE(16300, 4), KVPT_WINDOW(16300, 4, 2000), KVPT_WINDOW(260, 252, 2000) },
	  3, 252, 128 },
	{ "16 families",
	  { KVPT_DENSE(3600, 16), KVPT_DENSE(3600, 16), KVPT_DENSE(3600, 16),
	    KVPT_DENSE(3600, 16), KVPT_DENSE(3600, 16), KVPT_DENSE(3600, 16),
	    KVPT_DENSE(3600, 16), KVPT_DENSE(3600, 16), KVPT_DENSE(3600, 16),
	    KVPT_DENSE(3600, 16), KVPT_DENSE(3600, 16), KVPT_DENSE(3600, 16),
	    KVPT_DENSE(3600, 16), KVPT_DENSE(3600, 16), KVPT_DENSE(3600, 16),
	    KVPT_DENSE(3600, 16) }, 16, 112, 256 },
	{ "states", { KVPT_DENSE(1 << 13, 16), KVPT_STATE(1 << 13) }, 2, 16, 1 << 12 },
};

static u64 nr_cases, nr_failed;
static u32 longest;

void cases_begin(void)
{
	holds_reset();
}

static void cases_tell(const struct cases *c, const char *what, u32 least)
{
	const struct holds_count *n = &holds_count;
	char text[HOLDS_TEXT];

	nr_cases++;
	longest = max(longest, n->blocks.blocks);
	printf("%s: %s: at most %u blocks, %u nodes, %u other lines in one of %llu holds",
	       c->shape->name, what, n->blocks.blocks, n->nodes.nodes, n->lines.lines,
	       (unsigned long long)n->holds);
	if (n->blocks.blocks)
		printf(": %s", holds_text(&n->blocks, text));
	putchar('\n');
	if (n->nodes.nodes > 2 * KVP_SLICE)
		printf("\t%u nodes: %s\n", n->nodes.nodes, holds_text(&n->nodes, text));
	if (n->lines.lines > 8 * KVP_SLICE)
		printf("\t%u lines: %s\n", n->lines.lines, holds_text(&n->lines, text));
	if (n->blocks.blocks > KVP_SLICE) {
		printf("\tTOO LONG: at most %u blocks are allowed\n", KVP_SLICE);
		nr_failed++;
	} else if (n->blocks.blocks < least) {
		printf("\tTOO SMALL: it would show nothing\n");
		nr_failed++;
	}
}

void cases_end(const struct cases *c, const char *what)
{
	cases_tell(c, what, 0);
}

void cases_end_big(const struct cases *c, const char *what)
{
	cases_tell(c, what, KVP_SLICE / 4);
}

const u32 *cases_ids(u32 nr, u32 seed)
{
	static u32 ids[MAX_TOKENS];
	u32 i;

	for (i = 0; i < nr; i++)
		ids[i] = seed * 1000003 + i;
	return ids;
}

u64 cases_small(struct kvp_client *client, u32 nr, u32 seed)
{
	u64 seq;

	kvpt_ok(kvpt_create_flags(client, KVP_SEQ_NO_MATCH, 1, cases_ids(nr, seed), nr, &seq));
	kvpt_ok(kvpt_advance(client, seq, nr));
	return seq;
}

u64 cases_seq(const struct cases *c, struct kvp_client *client, u32 seed)
{
	return cases_small(client, c->tokens, seed);
}

u64 cases_published(const struct cases *c, struct kvp_client *client, u32 seed)
{
	u64 seq = cases_seq(c, client, seed);

	kvpt_ok(kvpt_publish(client, seq));
	return seq;
}

struct kvp_client *cases_join(struct cases *c, u32 uid)
{
	const struct kvp_cred cred = { .uid = uid, .gid = uid, .admin = true };
	struct kvp_client *client = kvp_client_open(&c->env.host, c->env.door, &cred);

	if (!client)
		kvpt_die(__FILE__, __LINE__, "no memory for a client");
	kvpt_ok(kvpt_pool_attach(client, KVPT_POOL_NAME, KVP_RIGHT_ALL));
	return client;
}

static void run(const struct cases_shape *shape, cases_fn fn)
{
	struct kvp_pool_create arg = {
		.name = KVPT_POOL_NAME,
		.families = kvpt_addr(shape->families),
		.nr_families = shape->nr,
		.index_tokens = shape->index_tokens,
		.mode = 0666,
		.head.flags = KVP_POOL_STRICT,
	};
	static struct cases c;
	u32 i;

	memset(&c, 0, sizeof(c));
	c.shape = shape;
	c.tokens = shape->nodes * shape->index_tokens;
	for (i = 0; i < shape->nr; i++)
		if (shape->families[i].kind != KVP_FAMILY_STATE)
			c.parts += shape->index_tokens / shape->families[i].block_tokens;
	kvpt_env_init(&c.env);
	c.a = kvpt_open(&c.env, KVPT_OWNER);
	if (kvpt_do(c.a, KVP_OP_POOL_CREATE, &arg))
		kvpt_die(__FILE__, __LINE__, "create: reason %u", arg.head.reason);
	c.b = kvpt_join(&c.env, KVPT_OWNER, KVP_RIGHT_ALL);
	fn(&c);
	kvpt_audit_clean(c.a);
	kvpt_env_exit(&c.env);
}

int main(int argc, char **argv)
{
	static const cases_fn *const all[] = {
		cases_seqs, cases_raws, cases_fences, cases_remaps, cases_pools,
	};
	u32 first = 0, end = ARRAY_SIZE(shapes);
	u32 i, j, k;

	if (argc == 3 && !strcmp(argv[1], "--shape")) {
		first = min_t(u32, atoi(argv[2]), end - 1);
		end = first + 1;
	} else if (argc > 1) {
		fprintf(stderr, "usage: holds [--shape 0..%u]\n", end - 1);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = first; i < end; i++)
		for (j = 0; j < (shapes[i].nodes > LONG ? 1 : ARRAY_SIZE(all)); j++)
			for (k = 0; all[j][k]; k++)
				run(&shapes[i], all[j][k]);
	printf("holds: %llu cases, %llu failed; the longest hold touched %u blocks, %u are allowed\n",
	       (unsigned long long)nr_cases, (unsigned long long)nr_failed, longest, KVP_SLICE);
	return nr_failed ? 1 : 0;
}

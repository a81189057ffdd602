// SPDX-License-Identifier: MIT
/*
 * Two requests that begin alike, a fork of one, and a pool that gets full: the life of an
 * engine's sequences, small enough to print every block table.
 *
 *     cc two_requests.c $(pkg-config --cflags --libs kvpool)
 *
 * The "model" here makes the row of a token out of the row before it, as a real one attends to
 * all tokens before. So a block that was shared wrongly would give wrong rows, and the
 * program looks.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kvpool.h>

#define BLOCK_TOKENS	4
#define MAX_TOKENS	40

struct row {
	uint64_t state[4];
};

/* One request: what the engine knows of it beside the pool. */
struct request {
	const char *name;
	kvp_seq_t seq;
	uint32_t nr;			/* tokens */
	uint32_t tokens[MAX_TOKENS];
};

static struct kvp_pool *pool;
static uint8_t space[KVP_DIGEST_LEN];

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, kvp_error()->text);
	exit(1);
}

/* ---- the model ---- */

static struct row compute(const struct row *before, uint32_t token)
{
	struct row row;
	int i;

	for (i = 0; i < 4; i++) {
		row.state[i] = (before ? before->state[i] : 1) ^ token;
		row.state[i] = row.state[i] * 6364136223846793005u + 1442695040888963407u + i;
	}
	return row;
}

/* Compute rows [from, nr) of the request, of which the row before is in the pool. */
static void prefill(struct request *request, uint32_t from)
{
	struct row rows[MAX_TOKENS], before;
	uint32_t i, nr = request->nr - from;

	if (!nr)
		return;
	if (from)
		must(kvp_rows_read(pool, request->seq, 0, from - 1, 1, &before), "read");
	for (i = 0; i < nr; i++) {
		rows[i] = compute(from + i ? &before : NULL, request->tokens[from + i]);
		before = rows[i];
	}
	must(kvp_rows_write(pool, request->seq, 0, from, nr, rows), "write");
	must(kvp_seq_advance(pool, request->seq, request->nr), "advance");
}

/* Read all rows back and compare them with what the tokens say. */
static void check(const struct request *request)
{
	struct row rows[MAX_TOKENS], row;
	uint32_t i, wrong = 0;

	must(kvp_rows_read(pool, request->seq, 0, 0, request->nr, rows), "read");
	for (i = 0; i < request->nr; i++) {
		row = compute(i ? &rows[i - 1] : NULL, request->tokens[i]);
		wrong += memcmp(&row, &rows[i], sizeof(row)) != 0;
	}
	printf("  %-8s %u rows read back, %u wrong\n", request->name, request->nr, wrong);
	if (wrong)
		exit(1);
}

/* ---- requests ---- */

static void print_table(const struct request *request)
{
	uint64_t blocks[MAX_TOKENS / BLOCK_TOKENS];
	struct kvp_table table = {
		.blocks = blocks,
		.nr = MAX_TOKENS / BLOCK_TOKENS,
	};
	uint32_t i;

	must(kvp_seq_read(pool, request->seq, &table), "table");
	printf("  %-8s %2" PRIu64 " tokens, %2" PRIu64 " published, blocks", request->name,
	       table.lengths.tokens, table.lengths.published);
	for (i = 0; i < table.nr; i++)
		printf(" %u", KVP_BLOCK_INDEX(blocks[i]));
	printf("\n");
}

static int begin(struct request *request)
{
	struct kvp_prompt prompt = {
		.space = space,
		.tokens = request->tokens,
		.nr_tokens = request->nr,
	};
	uint64_t matched;
	int err;

	err = kvp_seq_create(pool, &prompt, 0, 0, &request->seq, &matched);
	if (err)
		return err;
	printf("  %-8s %u tokens in the prompt, %" PRIu64 " known, %u to compute\n",
	       request->name, request->nr, matched, request->nr - (uint32_t)matched);
	prefill(request, (uint32_t)matched);
	must(kvp_publish(pool, request->seq, NULL), "publish");
	return 0;
}

/* One more token, as decoding adds them. */
static void decode(struct request *request, uint32_t token)
{
	must(kvp_seq_append(pool, request->seq, &token, 1, 0), "append");
	request->tokens[request->nr++] = token;
	prefill(request, request->nr - 1);
}

static struct request request_of(const char *name, uint32_t common, uint32_t own)
{
	struct request request = { .name = name };
	uint32_t i;

	for (i = 0; i < common; i++)
		request.tokens[request.nr++] = 100 + i;
	for (i = 0; i < own; i++)
		request.tokens[request.nr++] = 1000 * (uint32_t)name[0] + i;
	return request;
}

static void print_blocks(void)
{
	struct kvp_family_stats family;
	struct kvp_stats stats;

	must(kvp_pool_stats(pool, 0, &stats, &family, 1), "stats");
	printf("  blocks: %" PRIu64 " free, %" PRIu64 " held, %" PRIu64 " idle\n",
	       (uint64_t)family.state[KVP_BLOCK_FREE], (uint64_t)family.state[KVP_BLOCK_HELD],
	       (uint64_t)family.state[KVP_BLOCK_IDLE]);
}

/* ---- what an engine does when there is no room ---- */

static void begin_or_make_room(struct request *request, struct request *victim)
{
	int err = begin(request);

	if (err == -ENOSPC) {
		printf("  %-8s no room (%s); %s has to go\n", request->name,
		       kvp_reason_name(kvp_error()->reason), victim->name);
		must(kvp_seq_free(pool, victim->seq), "free");
		err = begin(request);
	}
	must(err, "begin");
}

static void begin_too_large(void)
{
	struct request huge = request_of("huge", 0, MAX_TOKENS);
	int err = begin(&huge);

	/* Waiting would not help: this is not ENOSPC. */
	if (err != -EFBIG)
		exit(1);
	printf("  %-8s refused: %s\n", huge.name, kvp_error()->text);
}

int main(void)
{
	const struct kvp_identity identity = {
		.model = "example",
		.dtype = "u64",
		.layout = "4 words a row",
	};
	struct request a = request_of("a", 8, 2), b = request_of("b", 8, 3), fork;
	struct request c = request_of("c", 0, 14);
	uint64_t findings;

	must(kvp_identity_digest(&identity, space), "identity");
	must(kvp_pool_open("inproc:two-requests?blocks=8&block_tokens=4&row_bytes=32", &pool),
	     "open");

	printf("two requests that begin with the same 8 tokens\n");
	must(begin(&a), "begin");
	must(begin(&b), "begin");
	print_table(&a);
	print_table(&b);

	printf("a fork of a; then each goes its own way\n");
	fork = a;
	fork.name = "a-fork";
	must(kvp_seq_fork(pool, a.seq, KVP_POS_END, &fork.seq), "fork");
	print_table(&fork);
	decode(&a, 7);
	decode(&fork, 8);
	print_table(&a);
	print_table(&fork);
	check(&a);
	check(&fork);
	check(&b);

	printf("a full pool\n");
	print_blocks();
	begin_or_make_room(&c, &fork);
	print_table(&c);
	check(&c);
	check(&a);
	begin_too_large();

	printf("the end\n");
	must(kvp_seq_free(pool, a.seq), "free");
	must(kvp_seq_free(pool, b.seq), "free");
	must(kvp_seq_free(pool, c.seq), "free");
	print_blocks();
	must(kvp_pool_audit(pool, NULL, 0, &findings), "audit");
	printf("  audit: %" PRIu64 " findings\n", findings);
	kvp_pool_close(pool);
	return findings ? 1 : 0;
}

// SPDX-License-Identifier: MIT
/*
 * Decoding with two steps in flight: while the threads of a stream work on one, the next is
 * launched already. Says what each step touches before its launch, publishes what is computed
 * while work goes on, cancels a request in the middle of a step, and waits for room.
 *
 *     cc -pthread steps.c $(pkg-config --cflags --libs kvpool)
 *
 * A stream stands for an accelerator here: the host launches and goes on, and token ids are known
 * to it only when the step that made them has ended. With a GPU the launch is a kernel, and
 * instead of kvp_step_end() the last thing on its stream is to write step.value to step.address.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kvpool.h>

#define BLOCK_TOKENS	4
#define PROMPT		10
#define DECODED		14
#define MAX_TOKENS	(PROMPT + DECODED)
#define STEPS		(DECODED + 1)		/* the first one does the prompt */
#define REQUESTS	2

struct row {
	uint64_t state[2];
};

/* One request. What work reads and writes is the accelerator's: the host looks after the fence. */
struct request {
	const char *name;
	kvp_seq_t seq;
	bool cancelled;
	uint32_t tokens[MAX_TOKENS + 1];
	struct row *rows[MAX_TOKENS];
};

/* What one step does: rows [from, to) of each request that is in it. */
struct launch {
	uint32_t from;
	uint32_t to;
	uint32_t nr;
	struct request *request[REQUESTS];
	struct kvp_step step;
};

static struct kvp_pool *pool;
static struct kvp_stream *stream;
static uint8_t space[KVP_DIGEST_LEN];

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, kvp_error()->text);
	exit(1);
}

/* ---- the model: on the accelerator ---- */

static struct row row_of(const struct row *before, uint32_t token)
{
	struct row row;
	int i;

	for (i = 0; i < 2; i++) {
		row.state[i] = (before ? before->state[i] : 1) ^ token;
		row.state[i] = row.state[i] * 6364136223846793005u + 1442695040888963407u + i;
	}
	return row;
}

/* One part of a launch: one request. */
static void compute(void *arg, uint32_t part, uint32_t parts)
{
	const struct launch *launch = arg;
	struct request *request = launch->request[part];
	uint32_t i;

	(void)parts;
	for (i = launch->from; i < launch->to; i++)
		*request->rows[i] = row_of(i ? request->rows[i - 1] : NULL, request->tokens[i]);
	/* The token that follows, which the next step works on. */
	request->tokens[i] = (uint32_t)(request->rows[i - 1]->state[0] >> 44);
}

/* ---- the host ---- */

/* Where the rows of a launch lie. */
static void find_rows(struct request *request, uint32_t from, uint32_t to)
{
	uint64_t blocks[MAX_TOKENS / BLOCK_TOKENS];
	uint32_t nr = MAX_TOKENS / BLOCK_TOKENS, i;

	must(kvp_seq_table(pool, request->seq, 0, 0, blocks, &nr), "table");
	for (i = from; i < to; i++)
		request->rows[i] = (struct row *)kvp_block_data(pool, blocks[i / BLOCK_TOKENS]) +
				   i % BLOCK_TOKENS;
}

/* All requests that are not cancelled take part in step @number. */
static void step_prepare(struct launch *launch, struct request *requests, uint32_t number)
{
	uint32_t i;

	launch->from = number ? PROMPT + number - 1 : 0;
	launch->to = PROMPT + number;
	launch->nr = 0;
	for (i = 0; i < REQUESTS; i++) {
		struct request *request = &requests[i];

		if (request->cancelled)
			continue;
		/* A slot for the row of a token that nobody knows yet. */
		if (number)
			must(kvp_seq_append(pool, request->seq, NULL, 0, 1), "reserve");
		find_rows(request, launch->from, launch->to);
		launch->request[launch->nr++] = request;
	}
}

static void step_begin(struct launch *launch)
{
	struct kvp_use_entry uses[REQUESTS];
	uint32_t i;

	for (i = 0; i < launch->nr; i++)
		uses[i] = kvp_use_seq(launch->request[i]->seq, launch->from, launch->to);
	must(kvp_step_begin(pool, kvp_stream_timeline(stream), uses, launch->nr, &launch->step),
	     "begin");
}

static void step_launch(struct launch *launch)
{
	must(kvp_stream_launch(stream, compute, launch, launch->nr), "launch");
	must(kvp_step_end(stream, &launch->step), "end");
}

/* A step is over: its rows count as computed as soon as their tokens are known. */
static void step_finish(const struct launch *launch)
{
	uint32_t i;

	must(kvp_fence_wait(pool, launch->step.timeline, launch->step.value, KVP_FOREVER), "wait");
	for (i = 0; i < launch->nr; i++) {
		struct request *request = launch->request[i];

		if (request->cancelled)
			continue;
		if (launch->to < MAX_TOKENS)
			must(kvp_seq_set_tokens(pool, request->seq,
						&request->tokens[launch->to], 1), "tokens");
		must(kvp_publish(pool, request->seq, NULL), "publish");
	}
}

static void cancel(struct request *request)
{
	struct kvp_query info;

	must(kvp_seq_free(pool, request->seq), "free");
	request->cancelled = true;
	must(kvp_query(pool, NULL, 0, 0, &info), "query");
	printf("%s is cancelled while a step is about to write its rows: %" PRIu64
	       " blocks are held back\n", request->name, (uint64_t)info.held_back);
}

static void begin(struct request *request, const char *name, uint32_t first)
{
	struct kvp_prompt prompt = { .space = space, .nr_tokens = PROMPT };
	uint32_t i;

	memset(request, 0, sizeof(*request));
	request->name = name;
	for (i = 0; i < PROMPT; i++)
		request->tokens[i] = first + i;
	prompt.tokens = request->tokens;
	must(kvp_seq_create(pool, &prompt, 0, 0, &request->seq, NULL), "create");
}

/* ---- another engine ---- */

/* Takes what is published, and compares every row. */
static void reader(const struct request *request)
{
	struct kvp_prompt prompt = {
		.space = space,
		.tokens = request->tokens,
		.nr_tokens = MAX_TOKENS,
	};
	struct row rows[MAX_TOKENS], row;
	struct kvp_pool *other;
	uint32_t wrong = 0, i;
	uint64_t matched;
	kvp_seq_t seq;

	must(kvp_pool_open("inproc:steps", &other), "open");
	must(kvp_seq_create(other, &prompt, KVP_SEQ_MATCH_ONLY, 0, &seq, &matched), "match");
	must(kvp_rows_read(other, seq, 0, 0, matched, rows), "read");
	for (i = 0; i < matched; i++) {
		row = row_of(i ? &rows[i - 1] : NULL, request->tokens[i]);
		wrong += memcmp(&row, &rows[i], sizeof(row)) != 0;
	}
	printf("another engine finds %" PRIu64 " of %u tokens; wrong rows: %u\n", matched,
	       MAX_TOKENS, wrong);
	kvp_pool_close(other);
	if (wrong)
		exit(1);
}

int main(void)
{
	const struct kvp_identity identity = { .model = "example", .dtype = "u64" };
	const struct kvp_admit_need need = { .family = 0, .blocks = 6 };
	static struct request requests[REQUESTS];
	static struct launch launches[STEPS];
	struct kvp_query info;
	uint64_t findings;
	uint32_t i;

	must(kvp_identity_digest(&identity, space), "identity");
	must(kvp_pool_open("inproc:steps?blocks=12&block_tokens=4&row_bytes=16", &pool), "open");
	must(kvp_stream_open(pool, 2, &stream), "stream");
	begin(&requests[0], "a", 100);
	begin(&requests[1], "b", 200);

	for (i = 0; i < STEPS; i++) {
		step_prepare(&launches[i], requests, i);
		step_begin(&launches[i]);
		if (i == 6)
			cancel(&requests[1]);
		step_launch(&launches[i]);
		/* That one works now, or waits for the one before, whose result is wanted here. */
		if (i)
			step_finish(&launches[i - 1]);
	}
	step_finish(&launches[STEPS - 1]);
	printf("a has %u tokens after %u steps\n", MAX_TOKENS, STEPS);

	/* Half of the pool: b's blocks have come back by themselves. */
	must(kvp_admit_wait(pool, &need, 1, KVP_FOREVER), "admit");
	must(kvp_query(pool, NULL, 0, 0, &info), "query");
	printf("room for %u blocks; held back: %" PRIu64 ", open uses: %u\n",
	       (unsigned int)need.blocks, (uint64_t)info.held_back, info.uses);
	reader(&requests[0]);

	kvp_stream_close(stream);
	must(kvp_pool_audit(pool, NULL, 0, &findings), "audit");
	printf("audit: %" PRIu64 " findings\n", findings);
	kvp_pool_close(pool);
	return findings ? 1 : 0;
}

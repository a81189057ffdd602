// SPDX-License-Identifier: MIT
/*
 * Steady decode: one sequence, two steps on their way, and each block is published as soon as it is
 * full, while the next step works. Another client matches what there is all the time, and reads
 * it: never a row that was not computed. To be run under TSan.
 *
 *	decode [--ops N] [--seed S]
 *
 * --ops: tokens. In every other sequence each step waits until what was computed before it is
 * published and has been found by the other client: were publishing to wait for an idle
 * stream, neither would come. Exit status 1: rows were read that were not computed, or blocks were
 * published too early or too late.
 */
#include <getopt.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "stamps.h"

#define POOL		"inproc:decode"
#define BLOCKS		48
#define LENGTH		64		/* tokens of a sequence */
#define IN_FLIGHT	2
#define WAIT_NS		20000000000ULL	/* bound for what must come */
#define PAUSE_US	300

static struct stamp *rows;		/* of the pool, mapped once */
static uint8_t space[KVP_DIGEST_LEN];
static uint64_t ops = 3000, seed = 1;
static _Atomic uint32_t round_now;	/* number of the sequence */
static _Atomic uint32_t launched, done;	/* steps of it */
static _Atomic uint64_t found;		/* by the last match: see found_of() */
static _Atomic bool over;
static sem_t go;			/* a step that waits may work */

/* What came of it. */
static _Atomic uint64_t matches;	/* that found something */
static _Atomic uint64_t in_flight;	/* of these while a step was at work all the time */
static _Atomic uint64_t rows_read;
static _Atomic uint64_t not_computed;	/* of these rows */
static uint64_t published, published_in_flight;
static uint64_t early, late;		/* tokens published that should not be; the reverse */

static struct stamp stamp_of(uint32_t round, uint32_t token)
{
	return (struct stamp){ .owner = round, .content = (uint64_t)round << 32 | token };
}

/* Grows with the sequences, and with what is found of one. */
static uint64_t found_of(uint32_t round, uint64_t tokens)
{
	return (uint64_t)round << 32 | tokens;
}

static void tokens_of(uint32_t round, uint32_t *tokens)
{
	uint32_t i;

	for (i = 0; i < LENGTH; i++)
		tokens[i] = round * LENGTH + i;
}

/* ---- the step ---- */

struct work {
	uint64_t slot;
	uint32_t round;
	uint32_t token;
	bool waits;
};

static void compute(void *arg, uint32_t part, uint32_t parts)
{
	const struct work *work = arg;
	const struct stamp stamp = stamp_of(work->round, work->token);
	uint64_t random = seed + work->round * LENGTH + work->token;

	if (work->waits) {
		while (sem_wait(&go))
			;
	}
	stamps_pause(&random, PAUSE_US);
	rows[work->slot].owner = stamp.owner;
	stamps_pause(&random, PAUSE_US);
	rows[work->slot].content = stamp.content;
	atomic_fetch_add_explicit(&done, 1, memory_order_relaxed);
}

/* ---- who decodes ---- */

/*
 * Steps before @step have passed, and @step was launched: what they computed can be published,
 * and nothing that was not computed when the call returned.
 */
static void publish(struct kvp_pool *pool, kvp_seq_t seq, uint32_t round, uint32_t step, bool waits)
{
	uint64_t is, least = step / STAMPS_BLOCK * STAMPS_BLOCK, most;
	uint64_t limit = stamps_now() + WAIT_NS;
	uint32_t ended;

	engine_check("publish", kvp_publish(pool, seq, &is));
	ended = atomic_load_explicit(&done, memory_order_relaxed);
	most = ended / STAMPS_BLOCK * STAMPS_BLOCK;
	early += is > most ? is - most : 0;
	late += is < least ? least - is : 0;
	if (is > published && ended == step)
		published_in_flight += is - published;
	published = is;
	while (waits && is == least && is && atomic_load(&found) < found_of(round, is)) {
		if (stamps_now() > limit)
			stamps_fail("%" PRIu64 " tokens are published and are not found", is);
		usleep(10);
	}
}

static void decode(struct kvp_pool *pool, struct kvp_stream *stream, uint32_t round, bool waits)
{
	const uint32_t timeline = kvp_stream_timeline(stream);
	uint32_t tokens[LENGTH], i;
	struct kvp_prompt prompt = { .space = space, .tokens = tokens };
	struct kvp_step step[IN_FLIGHT];
	struct work work[IN_FLIGHT];
	struct kvp_use_entry use;
	kvp_seq_t seq;

	tokens_of(round, tokens);
	published = 0;
	atomic_store(&launched, 0);
	atomic_store(&done, 0);
	atomic_store(&round_now, round);
	engine_check("create", kvp_seq_create(pool, &prompt, 0, 0, &seq, NULL));
	for (i = 0; i < LENGTH; i++) {
		struct work *mine = &work[i % IN_FLIGHT];

		*mine = (struct work){ .round = round, .token = i, .waits = waits };
		engine_check("append", kvp_seq_append(pool, seq, &tokens[i], 1, 0));
		use = kvp_use_seq(seq, i, i + 1);
		engine_check("begin", kvp_step_begin(pool, timeline, &use, 1,
						     &step[i % IN_FLIGHT]));
		engine_check("slots", kvp_seq_slots(pool, seq, 0, i, 1, &mine->slot));
		atomic_fetch_add_explicit(&launched, 1, memory_order_relaxed);
		engine_check("launch", kvp_stream_launch(stream, compute, mine, 1));
		engine_check("end", kvp_step_end(stream, &step[i % IN_FLIGHT]));
		if (!i)
			continue;
		/* The step before this one may work; this one waits until that is published. */
		if (waits)
			sem_post(&go);
		engine_check("wait", kvp_fence_wait(pool, timeline, step[(i - 1) % IN_FLIGHT].value,
						    WAIT_NS));
		publish(pool, seq, round, i, waits);
	}
	if (waits)
		sem_post(&go);
	engine_check("sync", kvp_stream_sync(stream));
	engine_check("free", kvp_seq_free(pool, seq));
}

/* ---- who matches ---- */

static void read_rows(uint32_t round, const uint64_t *blocks, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr * STAMPS_BLOCK; i++) {
		const struct stamp *row = &rows[KVP_BLOCK_INDEX(blocks[i / STAMPS_BLOCK]) *
						STAMPS_BLOCK + i % STAMPS_BLOCK];
		const struct stamp should = stamp_of(round, i);

		if (row->owner == should.owner && row->content == should.content)
			continue;
		if (!not_computed++)
			fprintf(stderr, "sequence %u token %u was matched: its row has %" PRIx64
				" %" PRIx64 "\n", round, i, row->owner, row->content);
	}
	rows_read += nr * STAMPS_BLOCK;
}

static void *match(void *arg)
{
	struct kvp_pool *pool = arg;
	uint64_t blocks[LENGTH / STAMPS_BLOCK], matched;
	uint32_t tokens[LENGTH], round, before, nr;
	const struct kvp_prompt prompt = {
		.space = space, .tokens = tokens, .nr_tokens = LENGTH,
	};
	kvp_match_t held;

	while (!atomic_load(&over)) {
		round = atomic_load(&round_now);
		before = atomic_load_explicit(&launched, memory_order_relaxed);
		tokens_of(round, tokens);
		nr = LENGTH / STAMPS_BLOCK;
		engine_check("match", kvp_match_blocks(pool, &prompt, 0, blocks, &nr, &held,
						       &matched));
		if (!held)
			continue;
		read_rows(round, blocks, nr);
		engine_check("release", kvp_match_release(pool, held));
		matches++;
		/* The last step that was launched before the match had not ended after it. */
		if (atomic_load_explicit(&done, memory_order_relaxed) < before &&
		    round == atomic_load(&round_now))
			in_flight++;
		atomic_store(&found, found_of(round, matched));
	}
	return NULL;
}

/* ---- the run ---- */

static struct kvp_pool *make_pool(void)
{
	const struct kvp_family_config family = {
		.kind = KVP_FAMILY_DENSE, .block_tokens = STAMPS_BLOCK, .blocks = BLOCKS,
		.row_bytes = sizeof(struct stamp),
	};
	const struct kvp_pool_config config = { .families = &family, .nr_families = 1 };
	struct kvp_pool *pool;

	engine_check("pool", kvp_pool_create(POOL, &config, &pool));
	rows = stamps_map(pool, 0);
	return pool;
}

static int report(void)
{
	printf("decode: published %" PRIu64 " tokens while the next step was at work\n",
	       published_in_flight);
	printf("decode: %" PRIu64 " matches, %" PRIu64 " of them with a step at work, read %" PRIu64
	       " rows\n", matches, in_flight, rows_read);
	printf("decode: %" PRIu64 " tokens published too early, %" PRIu64 " too late\n", early,
	       late);
	printf("decode: rows that were not computed: %" PRIu64 "\n", not_computed);
	if (not_computed || early || late)
		return 1;
	if (!published_in_flight || !in_flight || !rows_read)
		stamps_fail("nothing was published, or found, with a step at work");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "ops", required_argument, NULL, 'o' },
		{ "seed", required_argument, NULL, 's' },
		{ },
	};
	struct kvp_pool *pool, *other;
	struct kvp_stream *stream;
	pthread_t thread;
	uint32_t round;
	int opt, status;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'o')
			ops = strtoull(optarg, NULL, 0);
		else if (opt == 's')
			seed = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	sem_init(&go, 0, 0);
	pool = make_pool();
	engine_check("open", kvp_pool_open(POOL, &other));
	engine_check("stream", kvp_stream_open(pool, 2, &stream));
	if (pthread_create(&thread, NULL, match, other))
		stamps_fail("no thread");
	for (round = 1; round <= (ops + LENGTH - 1) / LENGTH; round++)
		decode(pool, stream, round, round % 2);
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	kvp_stream_close(stream);
	kvp_pool_close(other);
	kvp_pool_close(pool);
	status = report();
	if (!status)
		printf("decode: %" PRIu64 " tokens, seed %" PRIu64 ": sound\n", ops, seed);
	return status;
}

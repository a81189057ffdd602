// SPDX-License-Identifier: MIT
/*
 * A client at work: one thread makes requests and launches steps for them, at random; another one
 * cancels them at any moment, as users do. Each struct engine is its own thread's, but for
 * the ids, which the canceller takes out (see stamps.h).
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "stamps.h"

#define PAUSE_US	400		/* of the host, between two things that it does */
#define IDLE_US		100

uint64_t engine_owner(struct engine *engine)
{
	uint64_t number = atomic_fetch_add(&engine->stamps->score->next_owner, 1) + 1;

	return (uint64_t)engine->life << 40 | number;
}

/* What was to be used is not there any more, as somebody has cancelled it, or does so now. */
bool engine_gone(int err)
{
	switch (kvp_error()->reason) {
	case KVP_REASON_NO_SEQ:
	case KVP_REASON_GENERATION:
	case KVP_REASON_NO_BLOCK:
	case KVP_REASON_NOT_HELD:
	case KVP_REASON_SEQ_BUSY:
		return err;
	default:
		return false;
	}
}

bool engine_full(struct engine *engine, int err)
{
	if (err != -ENOSPC)
		return false;
	stamps_count(engine->stamps, full, 1);
	return true;
}

void engine_check(const char *what, int err)
{
	if (err)
		stamps_fail("%s: %d: %s", what, err, kvp_error()->text);
}

void order_row(struct order *order, uint32_t family, uint64_t row, enum row_work work,
	       struct stamp stamp)
{
	if (order->nr == STAMPS_ROWS)
		stamps_fail("an order has more than %u rows", STAMPS_ROWS);
	order->rows[order->nr++] = (struct order_row){
		.family = family, .work = work, .row = row, .stamp = stamp,
	};
}

/* ---- steps ---- */

/* A use may be refused where its sequence was cancelled, and, said too late, for that. */
static bool say(struct engine *engine, uint32_t stream, struct kvp_use_entry *uses, uint32_t nr)
{
	int err = engine->ops->say(engine, stream, uses, nr);

	if (!err)
		return true;
	if (kvp_error()->reason == KVP_REASON_SHARED)
		stamps_count(engine->stamps, refused, 1);
	else if (engine_gone(err))
		stamps_count(engine->stamps, gone, 1);
	else if (engine->stamps->late_use)
		stamps_count(engine->stamps, late, 1);
	else
		engine_check("use", err);
	return false;
}

bool engine_step(struct engine *engine, uint32_t stream, struct kvp_use_entry *uses, uint32_t nr,
		 bool (*fill)(struct engine *engine, struct order *order, void *arg), void *arg)
{
	struct order *order = engine->ops->slot(engine, stream);
	bool said;

	order->seed = stamps_random(&engine->random);
	order->passes = engine->passes;
	if (!order->passes)
		order->passes = 1 + stamps_below(&engine->random,
						 stamps_below(&engine->random, 4) ? 5 : 20);
	engine->passes = 0;
	order->pause_us = 1 + stamps_below(&engine->random, engine->stamps->pause_us);
	order->life = engine->life % STAMPS_LIVES;
	order->nr = 0;
	if (engine->stamps->late_use) {
		if (!fill(engine, order, arg))
			order->nr = 0;
		engine->ops->launch(engine, stream);
		stamps_pause(&engine->random, PAUSE_US);
		said = say(engine, stream, uses, nr);
		engine->ops->end(engine, stream, said);
		return said;
	}
	if (!say(engine, stream, uses, nr))
		return false;
	stamps_pause(&engine->random, PAUSE_US);
	/* Where it was cancelled since, the step does nothing. */
	if (!fill(engine, order, arg))
		order->nr = 0;
	engine->ops->launch(engine, stream);
	engine->ops->end(engine, stream, true);
	return true;
}

/* ---- a client ---- */

static void *cancel(void *arg)
{
	struct engine *engine = arg;
	uint64_t random = engine->cancels;

	while (!atomic_load(&engine->over)) {
		usleep(stamps_below(&random, engine->stamps->cancel_us));
		if (stamps_below(&random, 3))
			engine_seq_cancel(engine, stamps_below(&random, STAMPS_SEQS));
		else
			engine_raw_cancel(engine, stamps_below(&random, STAMPS_RAWS));
	}
	return NULL;
}

void engine_begin(struct engine *engine, struct stamps *stamps, const struct stamps_ops *ops,
		  struct kvp_pool *pool, uint64_t seed)
{
	engine->stamps = stamps;
	engine->ops = ops;
	engine->pool = pool;
	engine->random = seed;
	engine->cancels = stamps_random(&engine->random);
	engine->life = atomic_fetch_add(&stamps->score->lives, 1);
	atomic_store(&stamps->score->done[engine->life % STAMPS_LIVES], 0);
	atomic_store(&stamps->score->death[engine->life % STAMPS_LIVES], 0);
	memset(engine->space, 7, sizeof(engine->space));
	if (pthread_create(&engine->canceller, NULL, cancel, engine))
		stamps_fail("no thread");
}

void engine_work(struct engine *engine, uint32_t steps)
{
	uint32_t i;

	for (i = 0; i < steps; i++) {
		if (stamps_below(&engine->random, 4))
			engine_seq_act(engine);
		else
			engine_raw_act(engine);
		stamps_pause(&engine->random, PAUSE_US);
	}
}

void engine_stop(struct engine *engine)
{
	atomic_store(&engine->over, true);
	pthread_join(engine->canceller, NULL);
}

void engine_end(struct engine *engine)
{
	uint32_t i;

	engine_stop(engine);
	for (i = 0; i < STAMPS_SEQS; i++)
		engine_seq_cancel(engine, i);
	for (i = 0; i < STAMPS_RAWS; i++)
		engine_raw_cancel(engine, i);
	for (i = 0; i < STAMPS_STREAMS; i++) {
		while (engine->ops->busy(engine, i))
			usleep(IDLE_US);
	}
}

// SPDX-License-Identifier: MIT
/*
 * What a step does with the bytes of the pool, and what it finds there. Owns no bytes: rows belong
 * to whoever has said by a use that he works on them, and are plain memory, so that TSan judges
 * whether the pool has handed them on in the right order.
 *
 * One order TSan cannot know: a dead client's work ends at some time within the grace time,
 * and the pool counts on the time alone. Such work leaves a mark by block when it ends, and
 * whoever works on the block next looks at it; nobody else's work leaves one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "stamps.h"

#define EXAMPLES	5		/* of foreign stamps that are printed */

void stamps_die(const char *file, int line, const char *fmt, ...)
{
	char text[1024];
	va_list args;
	int len;

	fflush(stdout);
	len = snprintf(text, sizeof(text), "%s:%d: process %d: ", file, line, (int)getpid());
	va_start(args, fmt);
	vsnprintf(text + len, sizeof(text) - len, fmt, args);
	va_end(args);
	dprintf(STDERR_FILENO, "%s\n", text);
	_exit(3);
}

uint64_t stamps_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

uint64_t stamps_random(uint64_t *state)
{
	uint64_t value = *state += 0x9e3779b97f4a7c15ULL;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
	return value ^ value >> 31;
}

uint32_t stamps_below(uint64_t *state, uint32_t n)
{
	return (stamps_random(state) >> 32) * n >> 32;
}

void stamps_pause(uint64_t *random, uint32_t max_us)
{
	if (max_us)
		usleep(stamps_below(random, max_us));
}

/* ---- the pool's bytes ---- */

struct stamp *stamps_map(struct kvp_pool *pool, uint32_t family)
{
	struct kvp_backing backing;
	void *base;

	if (kvp_backing_get(pool, family, &backing))
		stamps_fail("%s", kvp_error()->text);
	base = mmap(NULL, backing.length, PROT_READ | PROT_WRITE, MAP_SHARED, backing.fd, 0);
	if (base == MAP_FAILED)
		stamps_fail("mmap: %s", strerror(errno));
	close(backing.fd);
	return base;
}

struct kvp_pool *stamps_pool(struct stamps *stamps, const char *name, uint32_t grace_ms)
{
	const struct kvp_family_config families[STAMPS_FAMILIES] = {
		{ .name = "dense", .kind = KVP_FAMILY_DENSE, .block_tokens = STAMPS_BLOCK,
		  .blocks = STAMPS_DENSE, .row_bytes = sizeof(struct stamp) },
		{ .name = "window", .kind = KVP_FAMILY_WINDOW, .block_tokens = STAMPS_BLOCK,
		  .blocks = STAMPS_WINDOWED, .row_bytes = sizeof(struct stamp),
		  .window = STAMPS_WINDOW },
	};
	const struct kvp_pool_config config = {
		.families = families, .nr_families = STAMPS_FAMILIES, .grace_ms = grace_ms,
	};
	struct kvp_pool *pool;
	uint32_t i;

	if (kvp_pool_create(name, &config, &pool))
		stamps_fail("%s", kvp_error()->text);
	for (i = 0; i < STAMPS_FAMILIES; i++)
		stamps->base[i] = stamps_map(pool, i);
	stamps->grace_ns = grace_ms * 1000000ULL;
	return pool;
}

/* ---- an order ---- */

/**
 * struct run - an order at work
 * @order: see there
 * @random: of its pauses
 * @owner: by row: whose stamp was there first, of those that may be anybody's
 * @written: rows of it that are written, from the start
 * @wrong: by row: it was counted
 */
struct run {
	struct stamps *stamps;
	const struct order *order;
	uint64_t random;
	uint64_t owner[STAMPS_ROWS];
	bool written[STAMPS_ROWS];
	bool wrong[STAMPS_ROWS];
};

static struct stamp *row_at(const struct stamps *stamps, const struct order_row *row)
{
	return &stamps->base[row->family][row->row];
}

static _Atomic uint32_t *ended_at(const struct stamps *stamps, const struct order_row *row)
{
	return &stamps->score->ended[row->family][row->row / STAMPS_BLOCK];
}

static bool dead(const struct stamps *stamps, const struct order *order)
{
	return atomic_load(&stamps->score->death[order->life]);
}

/* An accelerator ends the work of a dead process well before its grace time is over. */
static bool torn_down(const struct stamps *stamps, const struct order *order)
{
	uint64_t death = atomic_load(&stamps->score->death[order->life]);

	return death && stamps_now() > death + stamps->grace_ns / 2;
}

static void foreign(struct run *run, uint32_t i, struct stamp found, const char *when)
{
	const struct order_row *row = &run->order->rows[i];
	uint64_t before;

	if (run->wrong[i])
		return;
	run->wrong[i] = true;
	before = atomic_fetch_add(&run->stamps->score->foreign, 1);
	if (before >= EXAMPLES)
		return;
	fprintf(stderr,
		"foreign stamp %s: family %u block %llu row %llu has owner %llx content %016llx, "
		"expected owner %llx content %016llx\n",
		when, row->family, (unsigned long long)(row->row / STAMPS_BLOCK),
		(unsigned long long)(row->row % STAMPS_BLOCK), (unsigned long long)found.owner,
		(unsigned long long)found.content,
		(unsigned long long)(row->work == ROW_READ ? run->owner[i] : row->stamp.owner),
		(unsigned long long)row->stamp.content);
}

/* Each row that is read, or written by now, is as it should be. */
static void look(struct run *run, const char *when, bool first)
{
	const struct order *order = run->order;
	uint32_t i;

	for (i = 0; i < order->nr; i++) {
		const struct order_row *row = &order->rows[i];
		struct stamp found;

		if (row->work == ROW_WRITE && !run->written[i])
			continue;
		found = *row_at(run->stamps, row);
		if (row->work == ROW_READ && first)
			run->owner[i] = found.owner;
		if (found.content != row->stamp.content ||
		    found.owner != (row->work == ROW_READ ? run->owner[i] : row->stamp.owner))
			foreign(run, i, found, when);
	}
}

static void write_row(struct run *run, uint32_t i)
{
	const struct order_row *row = &run->order->rows[i];
	struct stamp *stamp = row_at(run->stamps, row);

	if (!(row->row % STAMPS_BLOCK) && stamp->owner != row->stamp.owner)
		stamps_count(run->stamps, changed, 1);
	*stamp = row->stamp;
	run->written[i] = true;
}

/* False: broken off. */
static bool work(struct run *run)
{
	const struct order *order = run->order;
	uint32_t i;

	look(run, "before the work", true);
	for (i = 0; i < order->nr; i++) {
		if (order->rows[i].work != ROW_WRITE)
			continue;
		if (torn_down(run->stamps, order))
			return false;
		write_row(run, i);
		if (i % 4 == 0)
			stamps_pause(&run->random, order->pause_us);
	}
	for (i = 0; i < order->passes; i++) {
		look(run, "during the work", false);
		stamps_pause(&run->random, order->pause_us);
		if (torn_down(run->stamps, order))
			return false;
	}
	look(run, "after the work", false);
	return true;
}

void stamps_run(struct stamps *stamps, const struct order *order)
{
	struct stamps_score *score = stamps->score;
	struct run run = { .stamps = stamps, .order = order, .random = order->seed };
	uint32_t i;

	for (i = 0; i < order->nr; i++)
		atomic_load_explicit(ended_at(stamps, &order->rows[i]), memory_order_acquire);
	if (torn_down(stamps, order) || !work(&run))
		stamps_count(stamps, dropped, 1);
	stamps_count(stamps, orders, 1);
	stamps_count(stamps, rows, order->nr);
	/* Either the killer sees that it has ended (stamps_kill()), or this sees the death. */
	atomic_fetch_add(&score->done[order->life], 1);
	if (!dead(stamps, order))
		return;
	stamps_count(stamps, orphans, 1);
	for (i = 0; i < order->nr; i++)
		atomic_store_explicit(ended_at(stamps, &order->rows[i]), 1, memory_order_release);
}

void stamps_kill(struct stamps *stamps, uint32_t life)
{
	atomic_store(&stamps->score->death[life % STAMPS_LIVES], stamps_now());
	atomic_load(&stamps->score->done[life % STAMPS_LIVES]);
}

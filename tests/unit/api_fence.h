/* SPDX-License-Identifier: MIT */
/*
 * What the tests of fences through kvpool.h share: a pool with one timeline, and its stores.
 * Include <check.h> first.
 */
#ifndef KVPR_API_FENCE_H
#define KVPR_API_FENCE_H

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "internal.h"
#include "pools.h"

#define MS	1000000ULL

static struct kvp_pool *pool;
static uint8_t space[KVP_DIGEST_LEN];
static uint32_t tokens[64];
static uint32_t timeline;
static uint64_t *address;

static void setup(void)
{
	pool = kvpr_open("inproc:fence?blocks=16&block_tokens=4&row_bytes=8");
	kvpr_space("m", space);
	kvpr_tokens(tokens, 64, 1);
	kvpr_ok(kvp_timeline_create(pool, &timeline));
	kvpr_ok(kvp_timeline_address(pool, timeline, &address));
}

static void teardown(void)
{
	kvpr_sound(pool);
	kvp_pool_close(pool);
}

static void store(uint64_t value)
{
	__atomic_store_n(address, value, __ATOMIC_RELEASE);
}

static inline struct kvp_use_entry with(struct kvp_use_entry entry, uint64_t value)
{
	entry.timeline = timeline;
	entry.value = value;
	return entry;
}

static inline struct kvp_fence fence_of(uint64_t value)
{
	return (struct kvp_fence){ .timeline = timeline, .value = value };
}

static inline struct kvp_query query(void)
{
	struct kvp_query info;

	kvpr_ok(kvp_query(pool, NULL, 0, 0, &info));
	return info;
}

/* Announce values up to @value by a use of a sequence; returns the sequence. */
static kvp_seq_t announce(uint64_t value)
{
	kvp_seq_t seq = kvpr_seq(pool, space, tokens, 8, NULL);
	struct kvp_use_entry use = with(kvp_use_seq_read(seq), value);

	kvpr_ok(kvp_use(pool, &use, 1));
	return seq;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 * MS + now.tv_nsec;
}

static void nap_ms(uint32_t ms)
{
	const struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MS };

	nanosleep(&time, NULL);
}

#endif /* KVPR_API_FENCE_H */

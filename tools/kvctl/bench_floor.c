// SPDX-License-Identifier: MIT
/*
 * The floors: what this machine takes for a cache miss, for comparing, hashing and copying
 * bytes, measured in the same rounds as the pool's calls. Owns their memory, each part of which
 * is made and touched when it is first needed.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"

#define LINE		64UL
#define CHASE_BYTES	(512UL << 20)
#define CHASE_LINES	(CHASE_BYTES / LINE)
#define CHASE_STEPS	16384
#define DATA_BYTES	(256UL << 20)
#define PATTERN		2048UL		/* the data repeats after so many bytes */
#define SMALL		64UL		/* 16 token ids */
#define LARGE		PATTERN		/* 512 token ids */
#define HOT_BLOCKS	4
#define COMPARES	100000
#define HASHES		40000
#define COPY_BYTES	(32UL << 20)
#define EVICT_BYTES	(128UL << 20)

/* A line of the chase: where the next is. */
struct line {
	uint32_t next;
	uint8_t fill[LINE - sizeof(uint32_t)];
};

static struct line *chase_small;	/* in pages of 4 KiB */
static struct line *chase_huge;		/* in huge pages, if the kernel has them */
static uint32_t chase_at;
static uint8_t *data;
static uint8_t pattern[PATTERN];
static uint64_t random_state;

/* What a loop found; the compiler cannot leave the loop out. */
static volatile uint64_t bench_sink;

static void *map(size_t bytes, int advice)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED) {
		fprintf(stderr, "kvctl bench: no memory for the floors: %s\n", strerror(errno));
		return NULL;
	}
	madvise(mem, bytes, advice);	/* no kernel has to follow it */
	return mem;
}

/*
 * A random cycle through all lines: the steps of a generator of full period modulo a power
 * of two, so that it can be laid out from the first line to the last.
 */
static void lay_chase(struct line *lines)
{
	uint32_t i;

	for (i = 0; i < CHASE_LINES; i++)
		lines[i].next = (i * 1664525U + 1013904223U) % CHASE_LINES;
}

/* Maps a chase that is not there yet; 0 or -ENOMEM after a message. */
static int need_chase(struct line **lines, int advice)
{
	if (*lines)
		return 0;
	*lines = map(CHASE_BYTES, advice);
	if (!*lines)
		return -ENOMEM;
	lay_chase(*lines);
	return 0;
}

static int need_data(void)
{
	size_t i;

	if (data)
		return 0;
	data = map(DATA_BYTES, MADV_HUGEPAGE);
	if (!data)
		return -ENOMEM;
	for (i = 0; i < PATTERN; i++)
		pattern[i] = (uint8_t)(bench_random(&random_state) >> 8);
	for (i = 0; i < DATA_BYTES; i += PATTERN)
		memcpy(data + i, pattern, PATTERN);
	return 0;
}

void bench_floor_close(void)
{
	if (chase_small)
		munmap(chase_small, CHASE_BYTES);
	if (chase_huge)
		munmap(chase_huge, CHASE_BYTES);
	if (data)
		munmap(data, DATA_BYTES);
	chase_small = NULL;
	chase_huge = NULL;
	data = NULL;
}

int bench_floor_evict(void)
{
	uint64_t sum = 0, i;

	if (need_data())
		return -ENOMEM;
	for (i = 0; i < EVICT_BYTES; i += LINE)
		sum += data[i];
	bench_sink = sum;
	return 0;
}

static uint64_t chase(const struct line *lines, struct bench_timer *timer)
{
	uint32_t at = chase_at, i;

	bench_start(timer);
	for (i = 0; i < CHASE_STEPS; i++)
		at = lines[at].next;
	bench_stop(timer);
	chase_at = at;
	bench_sink = at;
	return CHASE_STEPS;
}

/*
 * The unit of the goals. In huge pages, so that it is the miss alone: in small ones the walk
 * of the page tables comes on top, in a virtual machine many times what the miss takes.
 */
static int run_miss(struct bench_run *run)
{
	if (need_chase(&chase_huge, MADV_HUGEPAGE))
		return -ENOMEM;
	run->units = chase(chase_huge, &run->timer);
	return 0;
}

static int run_miss_small(struct bench_run *run)
{
	if (need_chase(&chase_small, MADV_NOHUGEPAGE))
		return -ENOMEM;
	run->units = chase(chase_small, &run->timer);
	return 0;
}

/* Where the next block is read: anywhere in the data, or always in the same few places. */
static uint64_t place(bool cold, uint64_t i)
{
	if (cold)
		i = bench_random(&random_state) % (DATA_BYTES / PATTERN);
	else
		i %= HOT_BLOCKS;
	return i * PATTERN;
}

/* memcmp() of equal blocks of @bytes, one of them warm. */
static int compare(struct bench_run *run, size_t bytes, bool cold)
{
	uint64_t different = 0, i;

	if (need_data())
		return -ENOMEM;
	run->units = bytes == SMALL ? COMPARES : COMPARES / 8;
	bench_start(&run->timer);
	for (i = 0; i < run->units; i++)
		different += !!memcmp(data + place(cold, i), pattern, bytes);
	bench_stop(&run->timer);
	if (different)
		fprintf(stderr, "kvctl bench: blocks that are equal differ\n");
	return different ? -EIO : 0;
}

static int run_compare_16_hot(struct bench_run *run)
{
	return compare(run, SMALL, false);
}

static int run_compare_16_cold(struct bench_run *run)
{
	return compare(run, SMALL, true);
}

static int run_compare_512_hot(struct bench_run *run)
{
	return compare(run, LARGE, false);
}

static int run_compare_512_cold(struct bench_run *run)
{
	return compare(run, LARGE, true);
}

/* ---- SipHash-1-3 ------------------------------------------------------------- */

/*
 * What the keyed hash of a block costs at least, apart from the core's own code, so that
 * a slow hash there is seen here.
 */
#define ROTATE(word, bits)	((word) << (bits) | (word) >> (64 - (bits)))

struct sip {
	uint64_t a, b, c, d;
};

static inline void sip_round(struct sip *v)
{
	v->a += v->b;
	v->c += v->d;
	v->b = ROTATE(v->b, 13) ^ v->a;
	v->d = ROTATE(v->d, 16) ^ v->c;
	v->a = ROTATE(v->a, 32);
	v->c += v->b;
	v->a += v->d;
	v->b = ROTATE(v->b, 17) ^ v->c;
	v->d = ROTATE(v->d, 21) ^ v->a;
	v->c = ROTATE(v->c, 32);
}

/* Of @words 8-byte words at @at, chained to @seed. */
static uint64_t sip_hash(uint64_t seed, const uint8_t *at, size_t words)
{
	struct sip v = {
		0x736f6d6570736575ULL ^ seed, 0x646f72616e646f6dULL,
		0x6c7967656e657261ULL ^ seed, 0x7465646279746573ULL,
	};
	uint64_t word, length = words * 8 << 56;
	size_t i;

	for (i = 0; i < words; i++) {
		memcpy(&word, at + i * 8, 8);
		v.d ^= word;
		sip_round(&v);
		v.a ^= word;
	}
	v.d ^= length;
	sip_round(&v);
	v.a ^= length;
	v.c ^= 0xff;
	for (i = 0; i < 3; i++)
		sip_round(&v);
	return v.a ^ v.b ^ v.c ^ v.d;
}

/* Hashes chained block after block, as those of a prompt are. */
static int hash(struct bench_run *run, size_t bytes, bool cold)
{
	uint64_t sum = 0, i;

	if (need_data())
		return -ENOMEM;
	run->units = bytes == SMALL ? HASHES : HASHES / 8;
	bench_start(&run->timer);
	for (i = 0; i < run->units; i++)
		sum = sip_hash(sum, data + place(cold, i), bytes / 8);
	bench_stop(&run->timer);
	bench_sink = sum;
	return 0;
}

static int run_hash_16_hot(struct bench_run *run)
{
	return hash(run, SMALL, false);
}

static int run_hash_16_cold(struct bench_run *run)
{
	return hash(run, SMALL, true);
}

static int run_hash_512_hot(struct bench_run *run)
{
	return hash(run, LARGE, false);
}

static int run_hash_512_cold(struct bench_run *run)
{
	return hash(run, LARGE, true);
}

/* Bytes copied from one place of the data to another, far beyond the caches. */
static int run_copy(struct bench_run *run)
{
	if (need_data())
		return -ENOMEM;
	bench_start(&run->timer);
	memcpy(data + DATA_BYTES / 2, data, COPY_BYTES);
	bench_stop(&run->timer);
	run->units = COPY_BYTES;
	return 0;
}

static int run_clock(struct bench_run *run)
{
	run->timer.ns = bench_clock_calibrate();
	run->units = 1;
	return 0;
}

const struct bench_op bench_floor_ops[] = {
	{ .name = "floor/miss", .unit = "ns", .kind = BENCH_NS, .run = run_miss },
	/* Its 131,072 pages would push those of the scenes out of what translates addresses. */
	{ .name = "floor/miss-small-pages", .unit = "ns", .kind = BENCH_NS, .rounds = 3,
	  .run = run_miss_small },
	{ .name = "floor/memcmp/16/hot", .unit = "ns/block", .kind = BENCH_NS,
	  .run = run_compare_16_hot },
	{ .name = "floor/memcmp/16/cold", .unit = "ns/block", .kind = BENCH_NS,
	  .run = run_compare_16_cold },
	{ .name = "floor/memcmp/512/hot", .unit = "ns/block", .kind = BENCH_NS,
	  .run = run_compare_512_hot },
	{ .name = "floor/memcmp/512/cold", .unit = "ns/block", .kind = BENCH_NS,
	  .run = run_compare_512_cold },
	{ .name = "floor/siphash/16/hot", .unit = "ns/block", .kind = BENCH_NS,
	  .run = run_hash_16_hot },
	{ .name = "floor/siphash/16/cold", .unit = "ns/block", .kind = BENCH_NS,
	  .run = run_hash_16_cold },
	{ .name = "floor/siphash/512/hot", .unit = "ns/block", .kind = BENCH_NS,
	  .run = run_hash_512_hot },
	{ .name = "floor/siphash/512/cold", .unit = "ns/block", .kind = BENCH_NS,
	  .run = run_hash_512_cold },
	{ .name = "floor/memcpy", .unit = "GB/s", .kind = BENCH_RATE, .run = run_copy },
	{ .name = "floor/clock", .unit = "ns", .kind = BENCH_NS, .run = run_clock },
	{ 0 },
};

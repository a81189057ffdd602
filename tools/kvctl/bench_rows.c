// SPDX-License-Identifier: MIT
/*
 * Benchmarks of rows that move: a span leaves the middle of a long sequence, and blocks are
 * copied, beside a memcpy of as many bytes as the rows have that move, at once before it and by
 * as many threads. Owns the tensors of each dtype, and their pools.
 *
 * The shape is a slice of four layers of a model with eight KV heads of 128: f32 with K, V and
 * KRAW is 49,152 bytes a token. There is room for it twice, so that moves out of place and memcpy
 * have a target.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "bench.h"

#define LAYERS		4
#define HEADS		8
#define ELEMS		128
#define PLANES		3
#define BLOCK_TOKENS	16
#define TOKENS		32768
#define BLOCKS		(TOKENS / BLOCK_TOKENS)
#define FROM		8197		/* first token of the span; at no border of blocks */
#define MAX_THREADS	256
#define GOAL		(1 / 0.95)	/* time of the move, in that of the memcpy */

/* One dtype. */
struct rows {
	uint32_t dtype;			/* 0: nothing is there */
	struct kvp_pool *pool;
	unsigned char *tensors;		/* [plane][layer][block][token][head][elem] */
	uint64_t bytes;
	float *table;
	uint64_t blocks[2 * BLOCKS];	/* of the sequence, then as many others */
	struct kvp_row_move *moves;
};

static struct rows sets[2];		/* f32, bf16 */
static struct rows *rows = &sets[0];	/* those that are at work */

/* ---- tensors ---- */

static void drop_rows(void)
{
	if (rows->pool)
		kvp_pool_close(rows->pool);
	if (rows->tensors)
		munmap(rows->tensors, rows->bytes);
	free(rows->table);
	free(rows->moves);
	memset(rows, 0, sizeof(*rows));
}

void bench_rows_close(void)
{
	for (rows = sets; rows < sets + 2; rows++)
		drop_rows();
	rows = sets;
}

static uint64_t token_bytes(void)
{
	return (uint64_t)HEADS * ELEMS * kvp_dtype_bytes(rows->dtype);
}

/* Bytes of a layer of a plane, of all blocks. */
static uint64_t layer_bytes(void)
{
	return 2ULL * BLOCKS * BLOCK_TOKENS * token_bytes();
}

/* Numbers between 0.5 and 2, written everywhere so that no page is touched later. */
static int make_tensors(void)
{
	uint64_t state = 1, i;

	rows->bytes = PLANES * LAYERS * layer_bytes();
	rows->tensors = mmap(NULL, rows->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	if (rows->tensors == MAP_FAILED) {
		rows->tensors = NULL;
		return -ENOMEM;
	}
	madvise(rows->tensors, rows->bytes, MADV_HUGEPAGE);	/* no kernel has to follow it */
	for (i = 0; i < rows->bytes; i += sizeof(uint64_t)) {
		uint64_t mask = rows->dtype == KVP_DTYPE_F32 ? 0x00ffffff00ffffffULL :
							      0x00ff00ff00ff00ffULL;
		uint64_t base = rows->dtype == KVP_DTYPE_F32 ? 0x3f0000003f000000ULL :
							      0x3f003f003f003f00ULL;
		uint64_t value = base | (bench_random(&state) & mask);

		memcpy(rows->tensors + i, &value, sizeof(value));
	}
	return 0;
}

static int make_table(void)
{
	uint64_t state = 2, i;

	rows->table = malloc((uint64_t)TOKENS * ELEMS * sizeof(float));
	for (i = 0; rows->table && i < (uint64_t)TOKENS * ELEMS; i++)
		rows->table[i] = (float)(bench_random(&state) >> 40) / 0x1p23f - 1;
	rows->moves = calloc(2 * BLOCKS + 2, sizeof(*rows->moves));
	return rows->table && rows->moves ? 0 : -ENOMEM;
}

static int make_geometry(void)
{
	static const uint8_t roles[PLANES] = { KVP_ROLE_K, KVP_ROLE_V, KVP_ROLE_KRAW };
	struct kvp_memory memory = { (uintptr_t)rows->tensors, rows->bytes };
	struct kvp_geometry geometry = {
		.flags = KVP_GEOMETRY_REPOSITION, .n_layers = LAYERS, .n_blocks = 2ULL * BLOCKS,
		.block_tokens = BLOCK_TOKENS, .n_planes = PLANES, .n_ropes = 1, .n_memory = 1,
		.n_positions = TOKENS, .memory = &memory,
	};
	uint32_t i;

	geometry.rope[0] = (struct kvp_rope){
		.table = rows->table, .n_pos = TOKENS, .rot_dim = ELEMS, .style = KVP_ROPE_NEOX,
	};
	for (i = 0; i < PLANES; i++)
		geometry.plane[i] = (struct kvp_plane){
			.base = memory.base + i * LAYERS * layer_bytes(),
			.layer_stride = (int64_t)layer_bytes(),
			.block_stride = (int64_t)(BLOCK_TOKENS * token_bytes()),
			.token_stride = (int64_t)token_bytes(),
			.head_stride = (int64_t)(token_bytes() / HEADS),
			.n_heads = HEADS, .n_elems = ELEMS, .vec = ELEMS,
			.dtype = (uint8_t)rows->dtype, .role = roles[i],
			.flags = roles[i] == KVP_ROLE_KRAW ? KVP_PLANE_OF(0) : 0,
		};
	return kvp_pool_set_geometry(rows->pool, 0, &geometry);
}

static int make_pool(void)
{
	struct kvp_family_config family = {
		.kind = KVP_FAMILY_DENSE, .block_tokens = BLOCK_TOKENS, .blocks = 2 * BLOCKS,
		.row_bytes = PLANES * LAYERS * token_bytes(),
	};
	struct kvp_pool_config config = { .families = &family, .nr_families = 1 };
	uint64_t state = 3;
	uint32_t i;
	int err;

	err = kvp_pool_create(rows->dtype == KVP_DTYPE_F32 ? "inproc:bench-rows-f32" :
							     "inproc:bench-rows-bf16",
			      &config, &rows->pool);
	if (!err)
		err = make_geometry();
	if (!err)
		err = kvp_blocks_alloc(rows->pool, 0, rows->blocks, 2 * BLOCKS);
	for (i = 2 * BLOCKS; !err && i > 1; i--) {
		uint64_t other = bench_random(&state) % i, block = rows->blocks[other];

		rows->blocks[other] = rows->blocks[i - 1];
		rows->blocks[i - 1] = block;
	}
	return err;
}

static int need_rows(struct bench_run *run, uint32_t dtype)
{
	uint64_t need;
	int err;

	rows = &sets[dtype != KVP_DTYPE_F32];
	if (rows->dtype)
		return 0;
	rows->dtype = dtype;
	need = PLANES * LAYERS * layer_bytes();
	if (run->bench->quick || need > bench_available_bytes()) {
		rows->dtype = 0;
		if (run->bench->quick)
			snprintf(run->skipped, sizeof(run->skipped), "left out by --quick");
		else
			snprintf(run->skipped, sizeof(run->skipped), "needs %.1f GB of memory",
				 (double)need / 1e9);
		return -ENODATA;
	}
	err = make_tensors();
	if (!err)
		err = make_table();
	if (!err)
		err = make_pool();
	if (err) {
		fprintf(stderr, "kvctl bench: rows: %s\n",
			rows->pool ? kvp_error()->text : strerror(-err));
		drop_rows();
	}
	return err;
}

/* ---- memcpy ---- */

/* Of each layer of each plane, a piece of what lies in the first half, to the second. */
struct piece {
	pthread_t thread;
	uint64_t first;
	uint64_t bytes;
};

static void *copy_piece(void *arg)
{
	const struct piece *piece = arg;
	uint64_t i;

	for (i = 0; i < PLANES * LAYERS; i++) {
		unsigned char *from = rows->tensors + i * layer_bytes() + piece->first;

		memcpy(from + layer_bytes() / 2, from, piece->bytes);
	}
	return NULL;
}

/* @nr tokens, by @threads threads. */
static int copy_tokens(uint64_t nr, uint32_t threads)
{
	struct piece pieces[MAX_THREADS];
	uint64_t bytes = nr * token_bytes();
	uint32_t i, begun;

	for (i = 0; i < threads; i++) {
		pieces[i].first = bytes * i / threads;
		pieces[i].bytes = bytes * (i + 1) / threads - pieces[i].first;
	}
	for (begun = 1; begun < threads; begun++) {
		if (pthread_create(&pieces[begun].thread, NULL, copy_piece, &pieces[begun]))
			break;
	}
	copy_piece(&pieces[0]);
	for (i = 1; i < begun; i++)
		pthread_join(pieces[i].thread, NULL);
	return begun == threads ? 0 : -EAGAIN;
}

/* ---- moves ---- */

/* Rows [@first, @first + @nr) in @to become those that are @further back in the sequence. */
static uint32_t plan(const uint64_t *to, uint32_t first, uint32_t nr, uint32_t further, bool keep)
{
	uint32_t end = first + nr, made = 0;

	while (first < end) {
		uint32_t src = first + further, run = end - first;

		if (run > BLOCK_TOKENS - first % BLOCK_TOKENS)
			run = BLOCK_TOKENS - first % BLOCK_TOKENS;
		if (run > BLOCK_TOKENS - src % BLOCK_TOKENS)
			run = BLOCK_TOKENS - src % BLOCK_TOKENS;
		rows->moves[made++] = (struct kvp_row_move){
			.src = rows->blocks[src / BLOCK_TOKENS], .src_row = src % BLOCK_TOKENS,
			.dst = to[first / BLOCK_TOKENS], .dst_row = first % BLOCK_TOKENS,
			.nr = run, .flags = keep ? KVP_MOVE_KEEP : 0, .position = keep ? 0 : first,
		};
		first += run;
	}
	return made;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static uint32_t processors(void)
{
	cpu_set_t set;
	int nr = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return nr > MAX_THREADS ? MAX_THREADS : (uint32_t)nr;
}

/* @moves moves of @nr rows, in the time that a memcpy of them takes. */
static int measure(struct bench_run *run, uint32_t moves, uint64_t nr, uint32_t threads,
		   uint32_t flags)
{
	const struct kvp_rows_options opt = { .threads = threads, .flags = flags };
	double begun = now(), copied;
	int err = copy_tokens(nr, threads);

	copied = now();
	if (!err)
		err = kvp_rows_move(rows->pool, 0, rows->moves, moves, &opt);
	run->timer.ns = (now() - copied) / (copied - begun);
	run->units = 1;
	if (err)
		fprintf(stderr, "kvctl bench: rows: %s\n",
			err == -EAGAIN ? "no thread" : kvp_error()->text);
	return err;
}

static int evict(struct bench_run *run, uint32_t dtype, uint32_t span, bool in_place, bool all)
{
	uint32_t nr = TOKENS - FROM - span, moves;
	int err = need_rows(run, dtype);

	if (err)
		return err;
	moves = plan(in_place ? rows->blocks : rows->blocks + BLOCKS, FROM, nr, span, false);
	return measure(run, moves, nr, all ? processors() : 1, in_place ? KVP_ROWS_IN_PLACE : 0);
}

static int copy_blocks(struct bench_run *run, uint32_t dtype, bool all)
{
	uint32_t moves;
	int err = need_rows(run, dtype);

	if (err)
		return err;
	moves = plan(rows->blocks + BLOCKS, 0, TOKENS, 0, true);
	return measure(run, moves, TOKENS, all ? processors() : 1, 0);
}

#define EVICT(name, dtype, span, in_place, all)					\
static int name(struct bench_run *run)						\
{										\
	return evict(run, dtype, span, in_place, all);				\
}
#define EVICTS(name, dtype)							\
	EVICT(name##_64_one, dtype, 64, false, false)				\
	EVICT(name##_64_all, dtype, 64, false, true)				\
	EVICT(name##_4096_one, dtype, 4096, false, false)			\
	EVICT(name##_4096_all, dtype, 4096, false, true)			\
	EVICT(name##_place_64_one, dtype, 64, true, false)			\
	EVICT(name##_place_64_all, dtype, 64, true, true)			\
	EVICT(name##_place_4096_one, dtype, 4096, true, false)			\
	EVICT(name##_place_4096_all, dtype, 4096, true, true)			\
	static int name##_copy_one(struct bench_run *run)			\
	{									\
		return copy_blocks(run, dtype, false);				\
	}									\
	static int name##_copy_all(struct bench_run *run)			\
	{									\
		return copy_blocks(run, dtype, true);				\
	}

EVICTS(f32, KVP_DTYPE_F32)
EVICTS(bf16, KVP_DTYPE_BF16)

/* In rounds of their own: what they touch would disturb the scenes. */
#define OP(name_, run_)								\
	{ .name = name_, .unit = "ratio", .kind = BENCH_VALUE, .goal = GOAL,	\
	  .rounds = BENCH_MAX_ROUNDS, .run = run_ }
#define OPS(name)								\
	OP("evict/" #name "/64/1", name##_64_one),				\
	OP("evict/" #name "/64/all", name##_64_all),				\
	OP("evict/" #name "/4096/1", name##_4096_one),				\
	OP("evict/" #name "/4096/all", name##_4096_all),			\
	OP("evict-in-place/" #name "/64/1", name##_place_64_one),		\
	OP("evict-in-place/" #name "/64/all", name##_place_64_all),		\
	OP("evict-in-place/" #name "/4096/1", name##_place_4096_one),		\
	OP("evict-in-place/" #name "/4096/all", name##_place_4096_all),		\
	OP("copy-blocks/" #name "/1", name##_copy_one),				\
	OP("copy-blocks/" #name "/all", name##_copy_all)

const struct bench_op bench_rows_ops[] = {
	OPS(f32),
	OPS(bf16),
	{ 0 },
};

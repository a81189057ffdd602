// SPDX-License-Identifier: MIT
/*
 * Rows given new places and positions. Takes no lock: the caller holds the blocks, and threads
 * of a call share nothing but a counter of parts. Everything is checked before a byte moves.
 */
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cpu/cpu.h>

#include "geometry.h"
#include "internal.h"

#define MAX_THREADS	256
/* Parts for each thread, so that none ends long after the others. */
#define PARTS_A_THREAD	4

/* ---- one move ---- */

__attribute__((format(printf, 4, 5)))
static int bad_move(uint32_t index, int err, uint32_t reason, const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return kvp_error_set(err, reason, index, "rows_move: move %u: %s", index, text);
}

static int check_block(const struct kvp_pool *pool, uint32_t family, uint32_t index,
		       const char *name, uint64_t block, uint64_t row, uint64_t nr)
{
	uint32_t block_tokens = pool->family[family].block_tokens;

	if (block == KVP_BLOCK_NULL || KVP_BLOCK_FAMILY(block) != family ||
	    KVP_BLOCK_INDEX(block) >= pool->family[family].blocks)
		return bad_move(index, -EINVAL, KVP_REASON_VALUE,
				"%s 0x%llx: expected a block of family %u", name,
				(unsigned long long)block, family);
	if (row + nr <= block_tokens)
		return 0;
	return bad_move(index, -EINVAL, KVP_REASON_LENGTH,
			"rows [%llu, %llu) of %s: expected a range in the %u of a block",
			(unsigned long long)row, (unsigned long long)(row + nr), name,
			block_tokens);
}

/* Positions that the move says must be in the tables. */
static int check_positions(const struct kvp_bound *bound, const struct kvp_row_move *move,
			   uint32_t index)
{
	uint64_t last = move->position + move->nr - 1, i;

	if (!bound->n_positions)
		return 0;
	if (!move->positions && (last < move->position || last >= bound->n_positions))
		return bad_move(index, -EINVAL, KVP_REASON_VALUE,
				"position %llu of %u rows: expected the last one below %llu, the geometry's n_positions",
				(unsigned long long)move->position, move->nr,
				(unsigned long long)bound->n_positions);
	for (i = 0; move->positions && i < (uint64_t)move->nr * bound->axes; i++) {
		if (move->positions[i] >= bound->n_positions)
			return bad_move(index, -EINVAL, KVP_REASON_VALUE,
					"positions[%llu] is %u: expected it below %llu, the geometry's n_positions",
					(unsigned long long)i, move->positions[i],
					(unsigned long long)bound->n_positions);
	}
	return 0;
}

static int check_move(const struct kvp_pool *pool, uint32_t family,
		      const struct kvp_row_move *move, uint32_t index)
{
	const struct kvp_bound *bound = pool->bound[family];
	bool keep = move->flags & KVP_MOVE_KEEP;
	int err;

	if (move->flags & ~KVP_MOVE_FLAGS_ALL)
		return bad_move(index, -EINVAL, KVP_REASON_FLAG,
				"flags 0x%x: expected none beyond 0x%x", move->flags,
				KVP_MOVE_FLAGS_ALL);
	if (!move->nr)
		return bad_move(index, -EINVAL, KVP_REASON_COUNT,
				"no rows: expected at least one");
	err = check_block(pool, family, index, "src", move->src, move->src_row, move->nr);
	if (!err)
		err = check_block(pool, family, index, "dst", move->dst, move->dst_row, move->nr);
	if (err)
		return err;
	if ((keep || move->positions) && move->position)
		return bad_move(index, -EINVAL, KVP_REASON_VALUE,
				"position %llu: expected 0, since it is not read",
				(unsigned long long)move->position);
	if (keep && move->positions)
		return bad_move(index, -EINVAL, KVP_REASON_VALUE,
				"has positions and KVP_MOVE_KEEP: expected one of them");
	if (keep)
		return 0;
	if (!bound)
		return bad_move(index, -EOPNOTSUPP, KVP_REASON_VALUE,
				"family %u has no geometry that says what its rows are: expected KVP_MOVE_KEEP",
				family);
	if (bound->facts.obstacle)
		return bad_move(index, -EOPNOTSUPP, KVP_REASON_VALUE,
				"%s (plane %u): expected KVP_MOVE_KEEP", bound->facts.obstacle,
				bound->facts.obstacle_plane);
	return check_positions(bound, move, index);
}

/* ---- all moves together ---- */

/* Rows that a move reads or writes, counted through the blocks. */
struct range {
	uint64_t first;
	uint64_t end;
	uint32_t move;
};

static int compare_ranges(const void *a_, const void *b_)
{
	const struct range *a = a_, *b = b_;

	return a->first < b->first ? -1 : a->first > b->first;
}

static int check_written_once(const struct range *written, uint32_t nr)
{
	uint32_t i;

	for (i = 1; i < nr; i++) {
		if (written[i].first < written[i - 1].end)
			return bad_move(written[i].move, -EINVAL, KVP_REASON_DUPLICATE,
					"writes rows that move %u writes, too: expected rows of its own",
					written[i - 1].move);
	}
	return 0;
}

/* A range that is read, and one that is written, of which some rows are the same. */
static int check_overlap(const struct range *read, const struct range *write, bool in_place)
{
	if (!in_place)
		return bad_move(write->move, -EINVAL, KVP_REASON_DUPLICATE,
				"writes rows that move %u reads: expected others, or KVP_ROWS_IN_PLACE",
				read->move);
	/* Of the same move, rows go in order: earlier places can be written. */
	if (write->move > read->move ||
	    (write->move == read->move && write->first <= read->first))
		return 0;
	return bad_move(write->move, -EINVAL, KVP_REASON_DUPLICATE,
			"writes rows before move %u reads them: expected moves in order, to earlier places",
			read->move);
}

/* Targets of their own, and no row overwritten before it is read. Both are sorted. */
static int check_ranges(const struct range *read, const struct range *written, uint32_t nr,
			bool in_place)
{
	uint32_t i, j, from = 0;
	int err;

	err = check_written_once(written, nr);
	for (i = 0; !err && i < nr; i++) {
		/* Those that end before this one begins end before all that follow it, too. */
		while (from < nr && written[from].end <= read[i].first)
			from++;
		for (j = from; !err && j < nr && written[j].first < read[i].end; j++)
			err = check_overlap(&read[i], &written[j], in_place);
	}
	return err;
}

static int check_together(const struct kvp_pool *pool, uint32_t family,
			  const struct kvp_row_move *moves, uint32_t nr, bool in_place)
{
	uint64_t tokens = pool->family[family].block_tokens;
	struct range *read = malloc(2ULL * nr * sizeof(*read));
	struct range *written = read + nr;
	uint32_t i;
	int err;

	if (!read)
		return kvp_error_set(-ENOMEM, KVP_REASON_MEMORY, 0,
				     "rows_move: no memory to compare %u moves", nr);
	for (i = 0; i < nr; i++) {
		read[i].first = KVP_BLOCK_INDEX(moves[i].src) * tokens + moves[i].src_row;
		read[i].end = read[i].first + moves[i].nr;
		read[i].move = i;
		written[i].first = KVP_BLOCK_INDEX(moves[i].dst) * tokens + moves[i].dst_row;
		written[i].end = written[i].first + moves[i].nr;
		written[i].move = i;
	}
	qsort(read, nr, sizeof(*read), compare_ranges);
	qsort(written, nr, sizeof(*written), compare_ranges);
	err = check_ranges(read, written, nr, in_place);
	free(read);
	return err;
}

/* ---- threads ---- */

/* What the threads of a call share. */
struct work {
	const struct kvp_rows_plan *plan;
	uint32_t parts;
	_Atomic uint32_t next;
};

static void *work_run(void *arg)
{
	struct work *work = arg;
	uint32_t part;

	while ((part = atomic_fetch_add(&work->next, 1)) < work->parts)
		kvp_rows_run(work->plan, part);
	return NULL;
}

/* Processors that this process may use. */
static uint32_t nr_processors(void)
{
	cpu_set_t set;
	int nr;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	nr = CPU_COUNT(&set);
	return nr > MAX_THREADS ? MAX_THREADS : (uint32_t)nr;
}

/* With as many threads as can be had: the caller alone would do it, too. */
static void run_plan(struct kvp_rows_plan *plan, uint32_t threads)
{
	pthread_t others[MAX_THREADS];
	struct work work = { .plan = plan };
	uint32_t nr = 0;

	work.parts = kvp_rows_parts(plan, threads > 1 ? threads * PARTS_A_THREAD : 1);
	threads = threads > work.parts ? work.parts : threads;
	while (nr + 1 < threads && !pthread_create(&others[nr], NULL, work_run, &work))
		nr++;
	work_run(&work);
	while (nr)
		pthread_join(others[--nr], NULL);
}

/* ---- the call ---- */

static int check_family(const struct kvp_pool *pool, uint32_t family)
{
	if (family >= pool->nr_families)
		return kvp_error_set(-EINVAL, KVP_REASON_FAMILY, family,
				     "rows_move: family %u: expected one of %u", family,
				     pool->nr_families);
	if (pool->family[family].kind == KVP_FAMILY_STATE)
		return kvp_error_set(-EOPNOTSUPP, KVP_REASON_STATE_FAMILY, family,
				     "rows_move: family %u keeps a state: expected one that keeps rows",
				     family);
	if (pool->door->inherited(pool->conn))
		return kvp_error_set(-EPERM, KVP_REASON_NONE, family,
				     "rows_move: pool %s was opened before a fork: expected one of this process",
				     pool->name);
	if (pool->region[family].base || pool->bound[family])
		return 0;
	return kvp_error_set(-EOPNOTSUPP, KVP_REASON_NO_BACKING, family,
			     "rows_move: pool %s has no bytes of family %u: expected a pool that was made with some, or a geometry",
			     pool->name, family);
}

static int check_options(const struct kvp_rows_options *opt)
{
	if (opt->flags & ~KVP_ROWS_FLAGS_ALL)
		return kvp_error_set(-EINVAL, KVP_REASON_FLAG, 0,
				     "rows_move: flags 0x%x: expected none beyond 0x%x",
				     opt->flags, KVP_ROWS_FLAGS_ALL);
	if (opt->threads <= MAX_THREADS)
		return 0;
	return kvp_error_set(-EINVAL, KVP_REASON_COUNT, 0,
			     "rows_move: %u threads: expected at most %u", opt->threads,
			     MAX_THREADS);
}

static int check_moves(const struct kvp_pool *pool, uint32_t family,
		       const struct kvp_row_move *moves, uint32_t nr, bool in_place)
{
	uint32_t i;
	int err;

	if (!moves && nr)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0,
				     "rows_move: moves is NULL: expected %u moves", nr);
	for (i = 0; i < nr; i++) {
		err = check_move(pool, family, &moves[i], i);
		if (err)
			return err;
	}
	return nr ? check_together(pool, family, moves, nr, in_place) : 0;
}

static void find_rows(const struct kvp_pool *pool, uint32_t family, struct kvp_rows_of *of)
{
	const struct kvp_bound *bound = pool->bound[family];

	if (!bound) {
		*of = (struct kvp_rows_of){
			.memory = pool->region[family].base,
			.block_bytes = pool->region[family].block_bytes,
			.row_bytes = pool->region[family].row_bytes,
		};
		return;
	}
	*of = (struct kvp_rows_of){
		.n_layers = bound->n_layers,
		.n_planes = bound->n_planes,
		.axes = bound->axes,
		.plane = bound->plane,
		.rope = bound->facts.operations & KVP_CAN_REPOSITION ? bound->rope : NULL,
		.rope_of_layer = bound->rope_of_layer,
	};
}

int kvp_rows_move(struct kvp_pool *pool, uint32_t family, const struct kvp_row_move *moves,
		  uint32_t nr, const struct kvp_rows_options *opt)
{
	static const struct kvp_rows_options plain = { .threads = 1 };
	const struct kvp_cpu *cpu = kvp_cpu_get();
	struct kvp_rows_plan plan;
	struct kvp_rows_of of;
	bool in_place;
	int err;

	opt = opt ? opt : &plain;
	in_place = opt->flags & KVP_ROWS_IN_PLACE;
	err = check_family(pool, family);
	if (!err)
		err = check_options(opt);
	if (!err)
		err = check_moves(pool, family, moves, nr, in_place);
	if (err || !nr)
		return err;
	if (!cpu)
		return kvp_cpu_unknown();
	find_rows(pool, family, &of);
	kvp_rows_plan(&plan, &of, moves, nr, in_place, cpu);
	run_plan(&plan, opt->threads ? opt->threads : nr_processors());
	return 0;
}

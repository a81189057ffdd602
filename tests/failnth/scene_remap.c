// SPDX-License-Identifier: MIT
/*
 * Scenarios of remaps.
 */
#include "failnth.h"

#define MAX_PIECES	4
#define MAX_MOVES	128

static int begin(struct fn_state *s, const struct kvp_piece *pieces, u32 nr, u64 reserve)
{
	struct kvp_remap_begin arg = {
		.seq = s->seq[0],
		.pieces = kvpv_ptr(pieces),
		.nr_pieces = nr,
		.reserve = reserve,
	};

	return kvpv_do(s->a, KVP_OP_REMAP_BEGIN, &arg);
}

/* Of 40 tokens four go, from 20 on. */
static int do_evict(struct fn_state *s)
{
	const struct kvp_piece pieces[] = {
		{ .seq = s->seq[0], .length = 20 }, { .seq = s->seq[0], .from = 24, .length = 16 },
	};

	return begin(s, pieces, KVPV_COUNT(pieces), 3);
}

/* Rows of a second one come in between, the last ones of all. */
static int do_splice(struct fn_state *s)
{
	const struct kvp_piece pieces[] = {
		{ .seq = s->seq[0], .length = 20 }, { .seq = s->seq[1], .from = 5, .length = 15 },
	};

	return begin(s, pieces, KVPV_COUNT(pieces), 0);
}

static int do_twice(struct fn_state *s)
{
	const struct kvp_piece pieces[] = {
		{ .seq = s->seq[0], .length = 20 }, { .seq = s->seq[1], .length = 4 },
		{ .seq = s->seq[0], .from = 19, .length = 1 },
	};

	return begin(s, pieces, KVPV_COUNT(pieces), 0);
}

static void one(struct fn_state *s)
{
	fn_computed(s, s->tokens, 40);
	s->t = kvpv_timeline(s->a);
}

static void two(struct fn_state *s)
{
	one(s);
	fn_computed(s, s->other, 20);
}

/* The second one's rows are published, and read by work that goes on. */
static void two_in_flight(struct fn_state *s)
{
	one(s);
	fn_published(s, s->other, 20);
	kvpv_ok(kvpv_use_seq(s->a, s->seq[0], s->t, 1));
	kvpv_ok(kvpv_use_seq(s->a, s->seq[1], s->t, 2));
}

static void almost_full(struct fn_state *s)
{
	two(s);
	kvpv_ok(kvpv_alloc(s->a, 0, 25, s->block));
}

static void idle_blocks(struct fn_state *s)
{
	one(s);
	fn_idle(s, s->other, 50);
}

static int use_remap(struct fn_state *s, u64 first, u32 nr)
{
	struct kvp_use_entry entries[8] = { };
	struct kvp_use arg = { .entries = kvpv_ptr(entries), .nr_entries = nr };
	u32 i;

	for (i = 0; i < nr; i++) {
		entries[i].kind = KVP_USE_REMAP;
		entries[i].id = s->seq[0];
		entries[i].timeline = s->t;
		entries[i].value = first + i;
	}
	return kvpv_do(s->a, KVP_OP_USE, &arg);
}

static void evicting(struct fn_state *s)
{
	one(s);
	kvpv_ok(do_evict(s));
}

static void splicing(struct fn_state *s)
{
	two(s);
	kvpv_ok(do_splice(s));
}

/* Three pieces of work carry it out. */
static void splicing_in_flight(struct fn_state *s)
{
	splicing(s);
	kvpv_ok(use_remap(s, 1, 3));
}

static int do_use(struct fn_state *s)
{
	return use_remap(s, 5, 8);
}

static int do_moves(struct fn_state *s)
{
	struct kvp_move moves[MAX_MOVES];
	struct kvp_remap_moves arg = {
		.seq = s->seq[0],
		.moves = kvpv_ptr(moves),
		.nr_moves = MAX_MOVES,
	};

	return kvpv_do(s->a, KVP_OP_REMAP_MOVES, &arg);
}

static int end(struct fn_state *s, u32 op)
{
	struct kvp_remap_end arg = { .seq = s->seq[0] };

	return kvpv_call(s->a, op, &arg, sizeof(arg));
}

static int do_commit(struct fn_state *s)
{
	return end(s, KVP_OP_REMAP_COMMIT);
}

static int do_abort(struct fn_state *s)
{
	return end(s, KVP_OP_REMAP_ABORT);
}

static void remapped(struct fn_state *s)
{
	splicing(s);
	kvpv_ok(do_commit(s));
}

static int do_positions(struct fn_state *s)
{
	struct kvp_positions runs[MAX_PIECES];
	struct kvp_seq_positions arg = {
		.seq = s->seq[0],
		.runs = kvpv_ptr(runs),
		.nr_runs = MAX_PIECES,
	};

	return kvpv_do(s->a, KVP_OP_SEQ_POSITIONS, &arg);
}

static int do_fork(struct fn_state *s)
{
	struct kvp_seq_fork arg = { .seq = s->seq[0], .tokens = 35 };
	int err = kvpv_do(s->a, KVP_OP_SEQ_FORK, &arg);

	s->made = arg.child;
	return err;
}

const struct fn_scenario fn_remap_scenarios[] = {
	{
		.op = KVP_OP_SEQ_POSITIONS, .name = "seq-positions",
		.prepare = remapped, .call = do_positions,
	}, {
		.op = KVP_OP_SEQ_FORK, .name = "seq-fork of one that was remapped",
		.after = FN_UNDONE, .allocs = 5, .prepare = remapped, .call = do_fork,
	}, {
		.op = KVP_OP_REMAP_BEGIN, .name = "remap-begin", .after = FN_UNDONE, .allocs = 6,
		.prepare = one, .call = do_evict,
	}, {
		.op = KVP_OP_REMAP_BEGIN, .name = "remap-begin with rows of another one",
		.after = FN_UNDONE_NEARLY, .allocs = 8, .prepare = two, .call = do_splice,
	}, {
		.op = KVP_OP_REMAP_BEGIN, .name = "remap-begin with rows in flight",
		.after = FN_UNDONE_NEARLY, .allocs = 8, .prepare = two_in_flight,
		.call = do_splice,
	}, {
		.op = KVP_OP_REMAP_BEGIN, .name = "remap-begin that reclaims",
		.after = FN_UNDONE_NEARLY, .allocs = 6, .prepare = idle_blocks, .call = do_evict,
	}, {
		.op = KVP_OP_REMAP_BEGIN, .name = "remap-begin without room", .expected = -ENOSPC,
		.prepare = almost_full, .call = do_splice,
	}, {
		.op = KVP_OP_REMAP_BEGIN, .name = "remap-begin refused", .expected = -EINVAL,
		.prepare = two, .call = do_twice,
	}, {
		.op = KVP_OP_REMAP_MOVES, .name = "remap-moves",
		.prepare = splicing, .call = do_moves,
	}, {
		.op = KVP_OP_USE, .name = "use of a remap", .allocs = 2,
		.prepare = splicing, .call = do_use,
	}, {
		.op = KVP_OP_REMAP_COMMIT, .name = "remap-commit",
		.prepare = evicting, .call = do_commit,
	}, {
		.op = KVP_OP_REMAP_COMMIT, .name = "remap-commit in flight",
		.prepare = splicing_in_flight, .call = do_commit,
	}, {
		.op = KVP_OP_REMAP_COMMIT, .name = "remap-commit of none", .expected = -ENOENT,
		.prepare = one, .call = do_commit,
	}, {
		.op = KVP_OP_REMAP_ABORT, .name = "remap-abort",
		.prepare = evicting, .call = do_abort,
	}, {
		.op = KVP_OP_REMAP_ABORT, .name = "remap-abort in flight",
		.prepare = splicing_in_flight, .call = do_abort,
	}, {}
};

// SPDX-License-Identifier: MIT
/*
 * Remaps at random, beside forks, truncates, publishing and frees, on rows that are simulated: each
 * row of each block knows which token was computed there and for which position its K is
 * rotated. Moves are carried out at once or much later, when the sequence has gone on and its fence
 * is still open. After each step every row that a sequence names is the one it should be, and
 * the pool is sound.
 */
#include <check.h>

#include "fences.h"
#include "remaps.h"
#include "unit.h"

#define MAX_SEQS	6
#define MAX_TOKENS	96
#define MAX_FAMILIES	2
#define MAX_BLOCKS	160
#define MAX_ROWS	16
#define MAX_MOVES	1024
#define MAX_WORK	4
#define STEPS		2500

/* What stands in a row. */
struct row {
	u64 tag;
	u64 position;
};

/* A token of a sequence as it should be. */
struct token {
	u32 id;
	u64 tag;
	u64 position;
	u64 computed_at;
	u32 flags;
};

struct seq {
	u64 id;
	u32 nr;
	u32 computed;
	u32 work;			/* fence that it waits for, 0: none */
	u64 moved;			/* with windows: first token that was moved */
	struct token token[MAX_TOKENS];
};

/* Moves that are not made yet. */
struct work {
	u32 fence;
	u32 nr;
	struct kvp_move move[MAX_MOVES];
};

static struct kvpt_env env;
static struct kvp_client *client;
static u64 seed;
static u32 nr_families;
static u32 timeline, fence;
static struct row rows[MAX_FAMILIES][MAX_BLOCKS][MAX_ROWS];
static struct seq seqs[MAX_SEQS];
static struct work work[MAX_WORK];
static u64 next_tag;
static u64 done[16];

enum { CREATED, GROWN, FORKED, CUT, PUBLISHED, REFUSED, FREED, EVICTED, SPLICED, ABORTED, LATE,
       STAYED, NEVER_SAW, FULL };

static u32 below(u32 n)
{
	return kvpt_random(&seed) % n;
}

/* ---- rows ---------------------------------------------------------------------------- */

static struct row *row_at(u64 block, u32 row)
{
	return &rows[KVP_BLOCK_FAMILY(block)][KVP_BLOCK_INDEX(block)][row];
}

static void make_moves(const struct kvp_move *move, u32 nr)
{
	u32 i, k;

	for (i = 0; i < nr; i++) {
		for (k = 0; k < move[i].rows; k++) {
			struct row *dst = row_at(move[i].dst, move[i].dst_row + k);

			*dst = *row_at(move[i].src, move[i].src_row + k);
			if (move[i].flags & KVP_MOVE_KEEP)
				ck_assert_uint_eq(dst->position, move[i].position + k);
			dst->position = move[i].position + k;
		}
	}
}

static void make_copies(const struct kvp_copy *copies, u32 nr)
{
	u32 i, k;

	for (i = 0; i < nr; i++)
		for (k = 0; k < copies[i].tokens; k++)
			*row_at(copies[i].dst, k) = *row_at(copies[i].src, k);
}

/* Of a family, the block of a token. */
static u64 block_of(const u64 *table, u32 family, u32 token)
{
	return table[token / client->pool->family[family].desc.block_tokens];
}

static bool in_window(u32 family, const struct seq *seq, u32 token)
{
	const struct kvp_family *f = &client->pool->family[family];

	return f->desc.kind == KVP_FAMILY_DENSE || token >= kvp_window_start(f, seq->computed);
}

static void compute(struct seq *seq, u32 to)
{
	u64 table[MAX_TOKENS];
	u32 f, i;

	for (f = 0; f < nr_families; f++) {
		ck_assert_int_eq(kvpt_table(client, seq->id, f, table, MAX_TOKENS), 0);
		for (i = seq->computed; i < to; i++)
			*row_at(block_of(table, f, i),
				i % client->pool->family[f].desc.block_tokens) =
				(struct row){ next_tag + i, seq->token[i].position };
	}
	for (i = seq->computed; i < to; i++)
		seq->token[i].tag = next_tag + i;
	next_tag += MAX_TOKENS;
	ck_assert_int_eq(kvpt_advance(client, seq->id, to), 0);
	seq->computed = to;
}

static void check_rows(const struct seq *seq)
{
	u64 table[MAX_TOKENS];
	u32 f, i;

	for (f = 0; f < nr_families; f++) {
		ck_assert_int_eq(kvpt_table(client, seq->id, f, table, MAX_TOKENS), 0);
		ck_assert_uint_eq(kvpt.table.nr_tokens, seq->nr);
		ck_assert_uint_eq(kvpt.table.nr_computed, seq->computed);
		for (i = 0; i < seq->computed; i++) {
			const struct row *row;

			if (!in_window(f, seq, i))
				continue;
			row = row_at(block_of(table, f, i),
				     i % client->pool->family[f].desc.block_tokens);
			ck_assert_uint_eq(row->tag, seq->token[i].tag);
			ck_assert_uint_eq(row->position, seq->token[i].position);
		}
	}
}

static u64 tainted_from(const struct seq *seq)
{
	u32 i;

	for (i = 0; i < seq->nr; i++)
		if (seq->token[i].flags || i >= seq->moved || seq->token[i].position != i ||
		    seq->token[i].computed_at != i)
			return i;
	return KVP_POS_END;
}

static void check_positions(const struct seq *seq)
{
	struct kvp_positions runs[MAX_TOKENS];
	u32 attended = 0;
	u32 i, k = 0;

	ck_assert_int_eq(kvpt_positions(client, seq->id, runs, MAX_TOKENS), 0);
	for (i = 0; i < seq->nr; i++) {
		const struct token *token = &seq->token[i];

		while (k + 1 < kvpt.positions.nr_runs && runs[k + 1].first <= i)
			k++;
		ck_assert_uint_eq(runs[k].position + (i - runs[k].first), token->position);
		ck_assert_uint_eq(runs[k].computed_at + (i - runs[k].first), token->computed_at);
		ck_assert_uint_eq(runs[k].flags, token->flags);
		attended += i < seq->computed && token->flags & KVP_POSITIONS_ATTENDED;
	}
	ck_assert_uint_eq(kvpt.positions.attended, attended);
	ck_assert_uint_eq(kvpt.positions.tainted_from, tainted_from(seq));
	ck_assert_uint_eq(kvpt.positions.next, seq->nr ? seq->token[seq->nr - 1].position + 1 : 0);
}

static void check(void)
{
	u32 i;

	for (i = 0; i < MAX_SEQS; i++) {
		if (!seqs[i].id || seqs[i].work)
			continue;
		check_rows(&seqs[i]);
		check_positions(&seqs[i]);
	}
}

/* ---- steps that are no remaps ----------------------------------------------------------- */

static struct seq *pick(void)
{
	struct seq *seq = &seqs[below(MAX_SEQS)];

	return seq->id && !seq->work ? seq : NULL;
}

static struct seq *unused(void)
{
	u32 i;

	for (i = 0; i < MAX_SEQS; i++)
		if (!seqs[i].id)
			return &seqs[i];
	return NULL;
}

static void new_tokens(struct seq *seq, u32 nr)
{
	u64 next = seq->nr ? seq->token[seq->nr - 1].position + 1 : 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		struct token *token = &seq->token[seq->nr + i];

		*token = (struct token){ .id = below(3), .position = next + i,
					 .computed_at = next + i };
	}
}

static void grow(struct seq *seq, u32 nr)
{
	const struct kvp_seq_append with = {
		.position = KVP_POS_END,
		.reserve = below(5),
		.copies = kvpt_addr(kvpt_copies),
		.nr_copies = KVPT_MAX_COPIES,
	};
	u32 ids[MAX_TOKENS];
	u32 i;
	int err;

	if (seq->nr + nr > MAX_TOKENS)
		return;
	new_tokens(seq, nr);
	for (i = 0; i < nr; i++)
		ids[i] = seq->token[seq->nr + i].id;
	err = kvpt_append_with(client, &with, seq->id, ids, nr);
	if (err == -ENOSPC) {
		done[FULL]++;
		return;
	}
	if (err == -EINVAL && !nr)
		return;
	ck_assert_int_eq(err, 0);
	make_copies(kvpt_copies, kvpt.seq_append.nr_copies);
	ck_assert_int_eq(kvpt_copied(client, seq->id), 0);
	seq->nr += nr;
	compute(seq, seq->computed + below(seq->nr - seq->computed + 1));
	done[GROWN]++;
}

static void create(void)
{
	struct seq *seq = unused();

	if (!seq)
		return;
	memset(seq, 0, sizeof(*seq));
	seq->moved = KVP_POS_END;
	ck_assert_int_eq(kvpt_create_flags(client, KVP_SEQ_NO_MATCH, 1, NULL, 0, &seq->id), 0);
	grow(seq, below(40));
	done[CREATED]++;
}

static void fork_off(struct seq *parent)
{
	struct seq *child = unused();
	u32 nr = below(parent->computed + 1);
	u64 id;
	int err;

	if (!child)
		return;
	err = kvpt_fork(client, parent->id, nr, &id);
	if (err == -ENOSPC || err == -EOPNOTSUPP) {
		done[FULL]++;
		return;
	}
	ck_assert_int_eq(err, 0);
	*child = *parent;
	child->moved = parent->moved < nr ? parent->moved : KVP_POS_END;
	child->id = id;
	child->nr = nr;
	child->computed = nr;
	make_copies(kvpt_copies, kvpt.fork.nr_copies);
	ck_assert_int_eq(kvpt_copied(client, id), 0);
	done[FORKED]++;
}

static void cut(struct seq *seq)
{
	u32 nr = below(seq->nr + 1);
	int err = kvpt_truncate(client, seq->id, nr);

	if (err == -EOPNOTSUPP)
		return;
	ck_assert_int_eq(err, 0);
	seq->nr = nr;
	if (seq->computed > nr)
		seq->computed = nr;
	if (nr <= seq->moved)
		seq->moved = KVP_POS_END;
	done[CUT]++;
}

/* Rows of equal contents are what others computed. */
static void adopt(struct seq *seq)
{
	u32 size = client->pool->family[0].desc.block_tokens;
	u64 table[MAX_TOKENS];
	u32 i;

	ck_assert_int_eq(kvpt_table(client, seq->id, 0, table, MAX_TOKENS), 0);
	for (i = 0; i < kvpt.table.nr_published; i++)
		seq->token[i].tag = row_at(block_of(table, 0, i), i % size)->tag;
}

static void publish(struct seq *seq)
{
	u32 size = client->pool->index_tokens;
	/* What is taken of others would not be the same in each family. */
	u32 keep = nr_families > 1 || below(2) ? KVP_PUBLISH_KEEP : 0;
	int err = kvpt_publish_with(client, seq->id, keep, 0, 0);

	if (tainted_from(seq) < seq->computed / size * size) {
		kvpt_expect(err, -EKEYREJECTED, KVP_REASON_TAINTED);
		done[REFUSED]++;
		return;
	}
	ck_assert_int_eq(err, 0);
	done[PUBLISHED]++;
	if (!keep && kvpt.publish.nr_shared)
		adopt(seq);
}

static void end(struct seq *seq)
{
	ck_assert_int_eq(kvpt_free(client, seq->id), 0);
	seq->id = 0;
	done[FREED]++;
}

/* ---- remaps --------------------------------------------------------------------------------- */

#define MAX_PIECES	6

struct plan {
	struct kvp_piece piece[MAX_PIECES];
	const struct seq *of[MAX_PIECES];
	u32 nr;
	struct seq result;
};

static void add_piece(struct plan *plan, const struct seq *of, u32 from, u32 length, u32 positions,
		      u32 flags)
{
	if (!length || plan->nr == MAX_PIECES)
		return;
	plan->of[plan->nr] = of;
	plan->piece[plan->nr++] = (struct kvp_piece){
		.seq = of->id,
		.from = from,
		.length = length,
		.positions = positions,
		.position = positions == KVP_PIECE_AT ? below(200) : 0,
		.flags = flags,
	};
}

/* [0, a), perhaps something of another one, [b, end): of the last perhaps only the ids. */
static void pick_pieces(struct plan *plan, const struct seq *seq)
{
	u32 a = below(seq->nr + 1), b = a + below(seq->nr - a + 1);
	u32 positions = below(4) ? below(2) : KVP_PIECE_AT;
	const struct seq *other = pick();
	u32 c = b + below(seq->nr - b + 1);

	if (!below(3))
		b = a + (b - a) / client->pool->index_tokens * client->pool->index_tokens;
	c = below(3) ? seq->nr : c > b ? c : b;
	add_piece(plan, seq, 0, a, below(5) ? 0 : positions, 0);
	if (other && other != seq && other->computed && a <= seq->computed && !below(3)) {
		u32 from = below(other->computed);

		add_piece(plan, other, from, 1 + below(other->computed - from), positions, 0);
	}
	if (below(4) || b >= c) {
		add_piece(plan, seq, b, c - b, positions, 0);
	} else {
		u32 d = b + below(c - b + 1);

		add_piece(plan, seq, b, d - b, positions, 0);
		add_piece(plan, seq, d, c - d, below(2), KVP_PIECE_RECOMPUTE);
	}
}

/* The piece of a token. */
static u32 piece_of(const struct plan *plan, u32 token)
{
	u32 i = 0;

	while (i + 1 < plan->nr && token >= plan->piece[i].length)
		token -= plan->piece[i++].length;
	return i;
}

/* Nodes stay that are whole, where they were in their source's, and at their positions. */
static bool stays(const struct plan *plan, u32 first, u32 size)
{
	u32 p = piece_of(plan, first);
	const struct kvp_piece *piece = &plan->piece[p];
	u64 from = piece->from + first;
	u32 i;

	for (i = 0; i < p; i++)
		from -= plan->piece[i].length;
	if (first + size > plan->result.computed || piece_of(plan, first + size - 1) != p ||
	    from % size)
		return false;
	for (i = 0; i < size; i++)
		if (plan->result.token[first + i].position !=
		    plan->of[p]->token[from + i].position)
			return false;
	return true;
}

/* In a pool with windows what is moved has no name any more, nor has what had none. */
static void foretell_moved(struct plan *plan)
{
	u32 size = client->pool->index_tokens;
	u32 to = 0;
	u64 moved;
	u32 i;

	plan->result.moved = KVP_POS_END;
	if (nr_families == 1)
		return;
	for (i = 0; i < plan->result.computed && stays(plan, i, size); i += size)
		;
	if (i < plan->result.computed)
		plan->result.moved = i;
	for (i = 0; i < plan->nr; to += plan->piece[i++].length) {
		const struct kvp_piece *piece = &plan->piece[i];

		moved = plan->of[i]->moved;
		if (moved >= piece->from + piece->length)
			continue;
		moved = to + (moved > piece->from ? moved - piece->from : 0);
		if (moved < plan->result.moved)
			plan->result.moved = moved;
	}
}

/* What the sequence should be then, token by token. */
static bool foretell(struct plan *plan, const struct seq *seq)
{
	struct seq *result = &plan->result;
	u32 covered[2] = { };
	bool clean = true, ended = false;
	u32 i, k;

	*result = (struct seq){ .id = seq->id };
	for (i = 0; i < plan->nr; i++) {
		const struct kvp_piece *piece = &plan->piece[i];
		const struct seq *of = plan->of[i];
		u32 *cover = &covered[of != seq];
		u32 flags = piece->from > *cover ? KVP_POSITIONS_ATTENDED : 0;

		if (!flags)
			*cover = piece->from + piece->length;
		clean = clean && of == seq && piece->from == result->nr;
		if (!clean)
			flags |= KVP_POSITIONS_MISSED;
		for (k = 0; k < piece->length; k++) {
			struct token *token = &result->token[result->nr];
			bool has = piece->from + k < of->computed && !piece->flags;

			if (result->nr == MAX_TOKENS || (has && ended))
				return false;
			*token = of->token[piece->from + k];
			if (piece->positions == KVP_PIECE_INDEX)
				token->position = result->nr;
			if (piece->positions == KVP_PIECE_AT)
				token->position = piece->position + k;
			ended |= !has;
			if (has) {
				token->flags |= flags;
				result->computed++;
			} else {
				token->flags = 0;
				token->computed_at = token->position;
			}
			result->nr++;
		}
	}
	foretell_moved(plan);
	return true;
}

static bool never_saw(const struct seq *seq)
{
	u32 i;

	for (i = 0; i < seq->computed; i++)
		if (seq->token[i].flags & KVP_POSITIONS_ATTENDED ||
		    seq->token[i].position != seq->token[i].computed_at)
			return false;
	return true;
}

static u32 read_moves(u64 seq, struct kvp_move *moves)
{
	u32 nr = 0;
	u32 f;

	for (f = 0; f < nr_families; f++) {
		ck_assert_int_eq(kvpt_moves(client, seq, f, 0, moves + nr, MAX_MOVES - nr), 0);
		ck_assert_uint_eq(kvpt.remap_moves.total, kvpt.remap_moves.nr_moves);
		nr += kvpt.remap_moves.nr_moves;
	}
	return nr;
}

static struct work *idle_work(void)
{
	u32 i;

	for (i = 0; i < MAX_WORK; i++)
		if (!work[i].fence)
			return &work[i];
	return NULL;
}

/* The moves, at once or as work that goes on; then commit or abort. */
static void carry_out(struct seq *seq, struct plan *plan)
{
	struct work *later = below(2) ? idle_work() : NULL;
	struct kvp_move moves[MAX_MOVES];
	bool commit = below(4);
	u32 nr = read_moves(seq->id, moves);

	if (later) {
		later->fence = ++fence;
		later->nr = nr;
		memcpy(later->move, moves, nr * sizeof(*moves));
		ck_assert_int_eq(kvpt_use_remap(client, seq->id, timeline, fence), 0);
		done[LATE]++;
	} else {
		make_moves(moves, nr);
	}
	if (!commit) {
		ck_assert_int_eq(kvpt_abort(client, seq->id), 0);
		done[ABORTED]++;
		return;
	}
	ck_assert_int_eq(kvpt_commit(client, seq->id), 0);
	*seq = plan->result;
	seq->work = later ? later->fence : 0;
}

static void remap(struct seq *seq)
{
	struct kvp_remap_begin with = { .reserve = below(6) };
	struct plan plan = { };
	int err;

	pick_pieces(&plan, seq);
	if (!foretell(&plan, seq))
		return;
	if (!below(3))
		with.head.flags = KVP_REMAP_REQUIRE_NEVER_SAW;
	err = kvpt_remap_with(client, &with, seq->id, plan.piece, plan.nr);
	if (with.head.flags && !never_saw(&plan.result)) {
		kvpt_expect(err, -EKEYREJECTED, KVP_REASON_ATTENDED);
		done[REFUSED]++;
		return;
	}
	if (err == -ENOSPC || (err == -EOPNOTSUPP &&
			       kvpt.head.reason == KVP_REASON_WINDOW_RELEASED)) {
		done[FULL]++;
		return;
	}
	kvpt_expect(err, 0, 0);
	ck_assert_uint_eq(kvpt.remap_begin.tokens, plan.result.nr);
	ck_assert_uint_eq(kvpt.remap_begin.computed, plan.result.computed);
	ck_assert_uint_eq(kvpt.remap_begin.guarantee,
			  never_saw(&plan.result) ? KVP_NEVER_SAW : KVP_REPOSITIONED);
	ck_assert_uint_eq(kvpt.remap_begin.tainted_from, tainted_from(&plan.result));
	done[NEVER_SAW] += kvpt.remap_begin.guarantee == KVP_NEVER_SAW;
	done[STAYED] += kvpt.remap_begin.moved < kvpt.remap_begin.computed;
	done[plan.nr > 2 ? SPLICED : EVICTED]++;
	kvpt_audit_clean(client);
	carry_out(seq, &plan);
}

/* One step's work ends, in the order of the fences. */
static void pass(void)
{
	struct work *first = NULL;
	u32 i;

	for (i = 0; i < MAX_WORK; i++)
		if (work[i].fence && (!first || work[i].fence < first->fence))
			first = &work[i];
	if (!first)
		return;
	make_moves(first->move, first->nr);
	kvpt_pass(client, timeline, first->fence);
	for (i = 0; i < MAX_SEQS; i++)
		if (seqs[i].work == first->fence)
			seqs[i].work = 0;
	first->fence = 0;
}

/* ---- the test ----------------------------------------------------------------------------------- */

static void step(void)
{
	struct seq *seq = pick();
	u32 what = below(20);

	if (what < 2)
		create();
	if (what < 5)
		pass();
	if (!seq || what < 5)
		return;
	if (what < 8)
		grow(seq, below(12));
	else if (what < 10)
		fork_off(seq);
	else if (what < 11)
		cut(seq);
	else if (what < 13)
		publish(seq);
	else if (what < 14)
		end(seq);
	else
		remap(seq);
}

static void run(const struct kvp_family_desc *families, u32 nr, u32 index_tokens)
{
	const struct kvp_pool_create with = { .index_tokens = index_tokens };
	u32 i;

	memset(seqs, 0, sizeof(seqs));
	memset(work, 0, sizeof(work));
	memset(done, 0, sizeof(done));
	fence = 0;
	nr_families = nr;
	kvpt_env_init(&env);
	client = kvpt_pool_with(&env, &with, families, nr);
	timeline = kvpt_timeline(client);
	for (i = 0; i < STEPS; i++) {
		step();
		check();
		if (!(i % 16))
			kvpt_audit_clean(client);
	}
	while (work[0].fence || work[1].fence || work[2].fence || work[3].fence)
		pass();
	check();
	for (i = 0; i < MAX_SEQS; i++)
		if (seqs[i].id)
			end(&seqs[i]);
	kvpt_audit_clean(client);
	for (i = 0; i < FULL; i++)
		ck_assert_msg(done[i], "nothing of kind %u", i);
	for (i = 0; i < nr; i++) {
		ck_assert_uint_eq(kvpt_blocks(client, i, KVP_BLOCK_HELD), 0);
		ck_assert_uint_eq(kvpt_blocks(client, i, KVP_BLOCK_HELD_BACK), 0);
	}
	kvpt_env_exit(&env);
}

static const u32 sizes[] = { 1, 4, 5, 16 };

START_TEST(test_random_remaps_of_one_family)
{
	const struct kvp_family_desc family = KVPT_DENSE(MAX_BLOCKS, sizes[_i]);

	seed = 1 + _i;
	run(&family, 1, sizes[_i]);
}
END_TEST

START_TEST(test_random_remaps_with_a_window)
{
	const struct kvp_family_desc families[] = {
		KVPT_DENSE(MAX_BLOCKS, 4), KVPT_WINDOW(MAX_BLOCKS, 2 + 2 * _i, 7),
	};

	seed = 11 + _i;
	run(families, 2, 8);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("remap_random");
	TCase *random = tcase_create("random");

	tcase_set_timeout(random, 120);
	tcase_add_loop_test(random, test_random_remaps_of_one_family, 0, 4);
	tcase_add_loop_test(random, test_random_remaps_with_a_window, 0, 2);
	suite_add_tcase(s, random);
	return s;
}

int main(void)
{
	return kvpt_run(suite());
}

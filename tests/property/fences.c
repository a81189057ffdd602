// SPDX-License-Identifier: MIT
/*
 * The reference model: work that goes on after the call that launched it. Which timeline shows
 * what, which uses are open, what they keep from coming back, and what follows when they pass.
 *
 * A reference that a sequence gives back stays, with the set of the uses that were open then, until
 * that set is empty. A sequence that is freed with open uses stays as it is, as a zombie.
 */
#include "model.h"

/* ---- sets of uses ---- */

static void model_set_add(struct model_set *set, u32 use)
{
	set->bit[use / 64] |= 1ULL << use % 64;
}

static void model_set_del(struct model_set *set, u32 use)
{
	set->bit[use / 64] &= ~(1ULL << use % 64);
}

static void model_set_replace(struct model_set *set, u32 old, u32 by)
{
	if (!(set->bit[old / 64] >> old % 64 & 1))
		return;
	model_set_del(set, old);
	model_set_add(set, by);
}

static bool model_set_empty(const struct model_set *set)
{
	const struct model_set none = { };

	return !memcmp(set, &none, sizeof(none));
}

/* ---- counting ---- */

u32 model_all_uses(const struct model *m)
{
	u32 nr = 0;
	u32 i;

	for (i = 0; i < m->use_end; i++)
		nr += m->use[i].live;
	return nr;
}

u32 model_uses(const struct model *m, u32 client)
{
	u32 nr = 0;
	u32 i;

	for (i = 0; i < m->use_end; i++)
		nr += m->use[i].live && m->use[i].client == client;
	return nr;
}

u32 model_zombies(const struct model *m, u32 client)
{
	u32 nr = 0;
	u32 i;

	for (i = 0; i < MODEL_SEQS; i++)
		nr += m->seq[i].live && m->seq[i].zombie && m->seq[i].client == client;
	return nr;
}

static void model_count_zombie(const struct model *m, const struct model_seq *seq, u32 *late)
{
	u32 f, i;

	for (f = 0; f < m->nr_families; f++) {
		for (i = 0; i < seq->nr_slots[f]; i++) {
			if (seq->slot[f][i] != NONE)
				late[seq->slot[f][i]]++;
		}
	}
	for (i = 0; i < seq->nr_pending; i++)
		late[seq->pending[i]]++;
}

/* By block: references that only wait for fences of @client, NONE: of anybody's. */
void model_count_late(const struct model *m, int client, u32 *late)
{
	u32 i;

	memset(late, 0, m->nr_blocks * sizeof(*late));
	for (i = 0; i < m->use_end; i++) {
		if (m->use[i].live && m->use[i].block != NONE &&
		    (client == NONE || m->use[i].client == client))
			late[m->use[i].block]++;
	}
	for (i = 0; i < m->late_end; i++) {
		if (m->late[i].live && (client == NONE || m->late[i].client == client))
			late[m->late[i].block]++;
	}
	for (i = 0; i < MODEL_SEQS; i++) {
		if (m->seq[i].live && m->seq[i].zombie &&
		    (client == NONE || m->seq[i].client == client))
			model_count_zombie(m, &m->seq[i], late);
	}
}

/* Blocks of @family that nobody holds, but that work may touch; of @owner, 0: of all. */
u32 model_held_back(const struct model *m, u32 family, u64 owner)
{
	u32 late[MODEL_BLOCKS];
	u32 nr = 0;
	u32 i;

	model_count_late(m, NONE, late);
	for (i = 0; i < m->nr_blocks; i++)
		nr += m->block[i].live && m->block[i].family == family && m->block[i].count &&
		      m->block[i].count == late[i] && (!owner || m->block[i].owner == owner);
	return nr;
}

u32 model_lates(const struct model *m)
{
	u32 nr = 0;
	u32 i;

	for (i = 0; i < m->late_end; i++)
		nr += m->late[i].live;
	return nr;
}

/* ---- the uses of a sequence ---- */

static int model_seq_index(const struct model *m, const struct model_seq *seq)
{
	return seq - m->seq;
}

/* How many are open. */
u32 model_seq_uses(const struct model *m, const struct model_seq *seq)
{
	u32 nr = 0;
	u32 i;

	for (i = 0; i < m->use_end; i++)
		nr += m->use[i].live && m->use[i].seq == model_seq_index(m, seq);
	return nr;
}

/* The first token whose row may be written now, or KVP_POS_END. */
u64 model_open_from(const struct model *m, const struct model_seq *seq)
{
	u64 from = KVP_POS_END;
	u32 i;

	for (i = 0; i < m->use_end; i++) {
		if (m->use[i].live && m->use[i].seq == model_seq_index(m, seq))
			from = min(from, m->use[i].write_from);
	}
	return from;
}

/* Tokens that have rows when all that is open has passed. */
u64 model_will_have(const struct model *m, const struct model_seq *seq)
{
	u64 tokens = max(seq->computed, seq->done_to);
	u32 i;

	for (i = 0; i < m->use_end; i++) {
		if (m->use[i].live && m->use[i].seq == model_seq_index(m, seq))
			tokens = max(tokens, m->use[i].computed_to);
	}
	return tokens;
}

/* What open uses were to compute beyond @tokens does not count. */
void model_uses_cut(struct model *m, struct model_seq *seq, u64 tokens)
{
	u32 i;

	for (i = 0; i < m->use_end; i++) {
		if (m->use[i].live && m->use[i].seq == model_seq_index(m, seq))
			m->use[i].computed_to = min(m->use[i].computed_to, tokens);
	}
	seq->done_to = min(seq->done_to, tokens);
}

static void model_late_add(struct model *m, struct model_seq *seq, int block)
{
	u32 at, i;

	for (at = 0; at < MODEL_LATES && m->late[at].live; at++)
		;
	if (at == MODEL_LATES)
		model_bug("model: too many late references");
	m->late_end = max(m->late_end, at + 1);
	m->late[at] = (struct model_late){ .live = true, .client = seq->client, .block = block };
	for (i = 0; i < m->use_end; i++) {
		if (m->use[i].live && m->use[i].seq == model_seq_index(m, seq))
			model_set_add(&m->late[at].waits, i);
	}
}

/* A sequence gives back a reference: at once, or when what is open now has passed. */
void model_let_go(struct model *m, struct model_seq *seq, int block)
{
	if (model_seq_uses(m, seq))
		model_late_add(m, seq, block);
	else
		model_block_release(m, block);
}

/* The first slot of a window family that is needed where windows stand at @tokens. */
static u32 model_window_slot(const struct model *m, u32 family, u64 tokens)
{
	if (m->family[family].kind != KVP_FAMILY_WINDOW)
		return 0;
	return model_window_start(m, family, tokens) / m->family[family].block_tokens;
}

/*
 * Windows go by what is computed. Work that writes a row reads those of the window before it; work
 * that writes none may read all that there is.
 */
void model_move_windows(struct model *m, struct model_seq *seq)
{
	u64 to = seq->computed;
	u32 i, f, slot;

	for (i = 0; i < m->use_end; i++) {
		if (m->use[i].live && m->use[i].seq == model_seq_index(m, seq))
			to = min(to, m->use[i].reads_all ? 0 : m->use[i].write_from);
	}
	for (f = 0; f < m->nr_families; f++) {
		for (slot = 0; slot < model_window_slot(m, f, to); slot++) {
			if (seq->slot[f][slot] == NONE)
				continue;
			model_block_release(m, seq->slot[f][slot]);
			seq->slot[f][slot] = NONE;
		}
	}
	seq->windowed = max(seq->windowed, to);
}

/* Computed grows as far as it can, and windows move on. */
void model_compute(struct model *m, struct model_seq *seq)
{
	u64 computed = min(seq->done_to, model_open_from(m, seq));

	seq->computed = max(seq->computed, min(computed, seq->tokens));
	model_move_windows(m, seq);
}

/* ---- use ---- */

/* @from counts as one with @to. */
static void model_use_merge(struct model_use *to, const struct model_use *from)
{
	to->value = max(to->value, from->value);
	to->write_from = min(to->write_from, from->write_from);
	to->computed_to = max(to->computed_to, from->computed_to);
	to->reads_all |= from->reads_all;
}

/* The one of a sequence that was said first, or last; with a timeline if it is not NONE. */
static int model_use_of(const struct model *m, int seq, int timeline, bool last)
{
	int found = NONE;
	int i;

	for (i = 0; i < m->use_end; i++) {
		if (!m->use[i].live || m->use[i].seq != seq ||
		    (timeline != NONE && m->use[i].timeline != timeline))
			continue;
		if (found == NONE || (m->use[i].nr > m->use[found].nr) == last)
			found = i;
	}
	return found;
}

/*
 * No more of a sequence are told apart: those of one timeline become one with the one that was
 * said first, and what waits for one of them waits for that.
 */
static void model_uses_merge(struct model *m, int seq)
{
	int first;
	u32 i, k;

	for (i = 0; i < m->use_end; i++) {
		if (!m->use[i].live || m->use[i].seq != seq)
			continue;
		first = model_use_of(m, seq, m->use[i].timeline, false);
		if (first == i)
			continue;
		model_use_merge(&m->use[first], &m->use[i]);
		m->use[i].live = false;
		for (k = 0; k < m->late_end; k++)
			model_set_replace(&m->late[k].waits, i, first);
	}
}

static void model_use_add(struct model *m, const struct model_use *use)
{
	int last = use->seq == NONE ? NONE : model_use_of(m, use->seq, NONE, true);
	u32 i;

	/* A step may name a sequence more than once. */
	if (last != NONE && m->use[last].timeline == use->timeline &&
	    m->use[last].value == use->value) {
		model_use_merge(&m->use[last], use);
		return;
	}
	if (use->seq != NONE && model_seq_uses(m, &m->seq[use->seq]) == KVP_MAX_USES)
		model_uses_merge(m, use->seq);
	for (i = 0; i < MODEL_USES && m->use[i].live; i++)
		;
	if (i == MODEL_USES)
		model_bug("model: too many uses");
	m->use[i] = *use;
	m->use_end = max(m->use_end, i + 1);
	m->use[i].nr = ++m->nr_uses;
}

/* Whether nodes from that of token @from on are published, or of others, too. */
static bool model_rows_shared(const struct model *m, const struct model_seq *seq, u64 from)
{
	u64 run;

	for (run = from / m->index_tokens; run < seq->nr_runs; run++) {
		const struct model_node *node = &m->node[seq->run[run]];

		if (run < seq->nr_published || node->kind != MODEL_PRIVATE || node->uses > 1)
			return true;
	}
	return false;
}

/* What stands against a use of a sequence that will have @will_have tokens by what was said. */
void model_use_seq(const struct model *m, const struct model_seq *seq,
		   const struct kvp_use_entry *e, u64 will_have, struct model_verdict *v)
{
	if (e->write_from == KVP_POS_END)
		return;
	if (e->write_from > will_have)
		model_may(v, -EINVAL, KVP_REASON_POSITION);
	if (e->computed_to > seq->reserved)
		model_may(v, -EINVAL, KVP_REASON_LENGTH);
	else if (model_rows_shared(m, seq, e->write_from))
		model_may(v, -EBUSY, KVP_REASON_SHARED);
}

/* What stands against an entry, whatever it is about. */
void model_use_entry(const struct model *m, u32 client, const struct kvp_use_entry *e,
		     struct model_verdict *v)
{
	const struct model_client *c = &m->client[client];
	bool writes = e->kind == KVP_USE_SEQ && e->write_from != KVP_POS_END;

	if (e->kind != KVP_USE_SEQ && e->kind != KVP_USE_BLOCK)
		model_may(v, -EINVAL, KVP_REASON_VALUE);
	if (e->value >= KVP_MAX_FENCE)
		model_may(v, -EINVAL, KVP_REASON_VALUE);
	if (e->kind == KVP_USE_BLOCK && (e->write_from || e->computed_to))
		model_may(v, -EINVAL, KVP_REASON_VALUE);
	if (e->kind == KVP_USE_SEQ && !writes && e->computed_to)
		model_may(v, -EINVAL, KVP_REASON_VALUE);
	if (writes && e->computed_to < e->write_from)
		model_may(v, -EINVAL, KVP_REASON_VALUE);
	if (e->timeline >= c->nr_clocks)
		model_may(v, -ENOENT, KVP_REASON_NO_TIMELINE);
	else if (e->value <= c->clock[e->timeline].seen)
		model_may(v, -EINVAL, KVP_REASON_FENCE_PASSED);
}

/* Nothing stands against it. */
void model_use_begin(struct model *m, u32 client, const struct kvp_use_entry *e,
		     struct model_seq *seq, int block)
{
	struct model_clock *clock = &m->client[client].clock[e->timeline];
	const struct model_use use = {
		.live = true,
		.client = client,
		.seq = seq ? model_seq_index(m, seq) : NONE,
		.block = block,
		.timeline = e->timeline,
		.value = e->value,
		.write_from = seq ? e->write_from : KVP_POS_END,
		.reads_all = seq && e->write_from == KVP_POS_END,
		.computed_to = e->computed_to,
	};

	if (block != NONE)
		model_block_get(m, block, client);
	model_use_add(m, &use);
	clock->announced = max(clock->announced, e->value);
}

/* ---- timelines ---- */

/* Look at a timeline: what stands there is right, or it is counted. */
void model_clock_read(struct model *m, u32 client, u32 timeline)
{
	struct model_client *c = &m->client[client];
	struct model_clock *clock = &c->clock[timeline];

	if (clock->page == clock->read)
		return;
	clock->read = clock->page;
	if (clock->page < clock->seen) {
		c->backwards++;
		m->count.backwards++;
	} else if (clock->page > clock->announced) {
		c->jumps++;
		m->count.jumps++;
	} else {
		clock->seen = clock->page;
	}
}

static void model_clock_tell(struct model_clock *clock)
{
	if (!clock->watch || clock->seen < clock->watch)
		return;
	clock->watch = 0;
	clock->told = true;
}

/* Timelines on which something waits are looked at. */
static void model_read_clocks(struct model *m)
{
	u32 i, t;

	for (i = 0; i < m->use_end; i++) {
		if (m->use[i].live && !m->client[m->use[i].client].dead)
			model_clock_read(m, m->use[i].client, m->use[i].timeline);
	}
	for (i = 0; i < MODEL_CLIENTS; i++) {
		for (t = 0; m->client[i].core && t < m->client[i].nr_clocks; t++) {
			if (m->client[i].clock[t].watch)
				model_clock_read(m, i, t);
			model_clock_tell(&m->client[i].clock[t]);
		}
	}
}

/* What poll(2) tells of fences and tickets, KVP_READY_*, once watched timelines were looked at. */
u32 model_ready(const struct model *m, u32 client)
{
	const struct model_client *c = &m->client[client];
	u32 ready = model_granted(m, client) ? KVP_READY_TICKET : 0;
	u32 i;

	for (i = 0; i < c->nr_clocks; i++)
		ready |= c->clock[i].told ? KVP_READY_FENCE : 0;
	return ready;
}

/* Whoever asks is told what has passed by then. */
void model_query(struct model *m, u32 client, const struct kvp_fence *fence, u32 nr, bool watch)
{
	struct model_client *c = &m->client[client];
	u32 i;

	for (i = 0; i < c->nr_clocks; i++) {
		if (c->clock[i].watch)
			model_clock_read(m, client, i);
		model_clock_tell(&c->clock[i]);
		c->clock[i].told = false;
	}
	for (i = 0; i < nr; i++) {
		struct model_clock *clock = &c->clock[fence[i].timeline];

		model_clock_read(m, client, fence[i].timeline);
		if (watch && !fence[i].value)
			clock->watch = 0;
		else if (watch && clock->seen < fence[i].value &&
			 (!clock->watch || fence[i].value < clock->watch))
			clock->watch = fence[i].value;
	}
}

void model_signal(struct model *m, u32 client, u32 timeline, u64 value, struct model_verdict *v)
{
	struct model_client *c = &m->client[client];
	struct model_clock *clock;

	if (timeline >= c->nr_clocks) {
		model_may(v, -ENOENT, KVP_REASON_NO_TIMELINE);
		return;
	}
	clock = &c->clock[timeline];
	model_clock_read(m, client, timeline);
	if (value <= clock->seen)
		model_may(v, -EINVAL, KVP_REASON_FENCE_PASSED);
	else if (value > clock->announced)
		model_may(v, -EINVAL, KVP_REASON_FENCE_AHEAD);
	if (!v->nr) {
		clock->page = value;
		clock->read = value;
		clock->seen = value;
	} else if (v->got.err == -EINVAL) {
		c->backwards += value <= clock->seen;
		m->count.backwards += value <= clock->seen;
		c->jumps += value > clock->announced;
		m->count.jumps += value > clock->announced;
	}
}

/* ---- when fences pass ---- */

/* Take @use out of what waits for it; a reference that waits for nothing more ends. */
static void model_use_end(struct model *m, u32 index)
{
	struct model_use *use = &m->use[index];
	u32 i;

	use->live = false;
	if (use->block != NONE)
		model_block_release(m, use->block);
	if (use->seq != NONE)
		m->seq[use->seq].done_to = max(m->seq[use->seq].done_to, use->computed_to);
	for (i = 0; i < m->late_end; i++) {
		if (!m->late[i].live)
			continue;
		model_set_del(&m->late[i].waits, index);
		if (model_set_empty(&m->late[i].waits)) {
			m->late[i].live = false;
			model_block_release(m, m->late[i].block);
		}
	}
}

static void model_settle_seq(struct model *m, struct model_seq *seq)
{
	if (!seq->zombie)
		model_compute(m, seq);
	else if (!model_seq_uses(m, seq))
		model_seq_end(m, seq);
}

static bool model_has_fenced(const struct model *m, u32 client)
{
	u32 i;

	for (i = 0; i < m->late_end; i++) {
		if (m->late[i].live && m->late[i].client == client)
			return true;
	}
	return model_uses(m, client) || model_zombies(m, client);
}

/* What follows from what has passed. @of: of one dead client, whose quarantine is over; or NONE. */
static void model_end_uses(struct model *m, int of)
{
	bool frozen = m->frozen;
	u32 i;

	m->clock += !frozen;
	m->frozen = true;
	for (i = 0; i < m->use_end; i++) {
		const struct model_use *use = &m->use[i];
		const struct model_client *c = &m->client[use->client];

		if (use->live && (use->client == of ||
				  (!c->dead && c->clock[use->timeline].seen >= use->value)))
			model_use_end(m, i);
	}
	for (i = 0; i < MODEL_SEQS; i++) {
		if (m->seq[i].live)
			model_settle_seq(m, &m->seq[i]);
	}
	for (i = MODEL_FIRST_DEAD; i < MODEL_HOLDERS; i++)
		m->client[i].dead = m->client[i].dead && model_has_fenced(m, i);
	while (m->use_end && !m->use[m->use_end - 1].live)
		m->use_end--;
	while (m->late_end && !m->late[m->late_end - 1].live)
		m->late_end--;
	m->frozen = frozen;
}

/* Look at all that waits. */
void model_settle(struct model *m)
{
	model_read_clocks(m);
	model_end_uses(m, NONE);
}

/* Whether rows of an export are being written. */
bool model_export_open(const struct model *m, u32 export)
{
	const struct model_client *c = &m->client[export];
	u32 i, t;

	for (i = 0; i < MODEL_CLIENTS; i++) {
		if (!m->client[i].core || m->client[i].id != c->maker)
			continue;
		for (t = 0; t < m->client[i].nr_clocks; t++) {
			if (c->writes[t] > m->client[i].clock[t].seen)
				return true;
		}
	}
	return false;
}

/* ---- death ---- */

/* A place for a client that dies, or NONE. */
int model_dead_place(const struct model *m)
{
	int i;

	for (i = MODEL_FIRST_DEAD; i < MODEL_HOLDERS; i++) {
		if (!m->client[i].dead)
			return i;
	}
	return NONE;
}

/* What of @client waits goes to @place. Exports whose rows it was writing stay suspect. */
void model_die(struct model *m, u32 client, int place)
{
	u32 i;

	for (i = MODEL_CLIENTS; i < MODEL_FIRST_DEAD; i++) {
		struct model_client *export = &m->client[i];

		if (export->core && export->maker == m->client[client].id)
			export->suspect |= model_export_open(m, i);
	}
	if (!model_has_fenced(m, client))
		return;
	if (place == NONE)
		model_bug("model: too many dead clients");
	m->client[place] = m->client[client];
	m->client[place].core = NULL;
	m->client[place].dead = true;
	for (i = 0; i < m->use_end; i++) {
		if (m->use[i].live && m->use[i].client == client)
			m->use[i].client = place;
	}
	for (i = 0; i < m->late_end; i++) {
		if (m->late[i].live && m->late[i].client == client)
			m->late[i].client = place;
	}
	for (i = 0; i < MODEL_SEQS; i++) {
		if (m->seq[i].live && m->seq[i].client == client)
			m->seq[i].client = place;
	}
}

/* The quarantine of a dead client, or (NONE) of all, is over. Return: blocks that came back. */
u64 model_reap(struct model *m, int dead)
{
	u64 nr = 0;
	u32 i, f;

	for (f = 0; f < m->nr_families; f++)
		nr += model_held_back(m, f, 0);
	for (i = MODEL_FIRST_DEAD; i < MODEL_HOLDERS; i++) {
		if (m->client[i].dead && (dead == NONE || dead == i))
			model_end_uses(m, i);
	}
	for (f = 0; f < m->nr_families; f++)
		nr -= model_held_back(m, f, 0);
	return nr;
}

// SPDX-License-Identifier: MIT
/*
 * The property test: one random call on timelines and uses, by the core and by the model; and what
 * work does that ends: it writes its timeline, right or wrong.
 */
#include "property.h"

#define PROPERTY_ENTRIES	320	/* of one call at most: more than are told apart */

/* ---- timelines ---- */

static struct kvp_timeline *property_page(struct run *r, u32 client)
{
	return r->model.client[client].core->times->page;
}

static void property_timeline(struct run *r, u32 client)
{
	struct model_client *c = &r->model.client[client];
	struct kvp_timeline_create *arg = &kvpt.timeline_create;
	struct model_verdict v;
	int err;

	property_begin(r, "timeline");
	property_trace("client %u", client);
	memset(&kvpt, 0, sizeof(kvpt));
	err = kvpt_do(c->core, KVP_OP_TIMELINE_CREATE, arg);
	property_end(r, err, &v);
	if (c->nr_clocks == KVP_NR_TIMELINES)
		model_may(&v, -EDQUOT, KVP_REASON_LIMIT_TIMELINES);
	if (!property_judge(r, &v))
		return;
	if (!r->untold && arg->timeline != c->nr_clocks)
		model_bug("timeline %u, expected %u", arg->timeline, c->nr_clocks);
	c->nr_clocks++;
}

/* Mostly few; now and then as many as there can be. */
void op_timeline(struct run *r, u32 client)
{
	u32 nr = below(r, 64) ? 1 : KVP_NR_TIMELINES;

	if (r->model.client[client].nr_clocks > 3 && nr == 1 && below(r, 8))
		return;
	while (nr--) {
		property_timeline(r, client);
		property_check(r);
	}
}

/* ---- use ---- */

/* What entries of one call are about, and what they will have come to. */
struct property_uses {
	struct kvp_use_entry entry[PROPERTY_ENTRIES];
	struct model_seq *seq[PROPERTY_ENTRIES];
	int block[PROPERTY_ENTRIES];
	u64 announced[KVP_NR_TIMELINES];
	u32 nr;
};

static u32 property_pick_timeline(struct run *r, u32 client)
{
	u32 nr = r->model.client[client].nr_clocks;

	return nr && below(r, 40) ? below(r, nr) : below(r, KVP_NR_TIMELINES + 2);
}

/* Mostly the next one; now and then one between, one that has passed, or none that there is. */
static u64 property_pick_value(struct run *r, u32 client, struct property_uses *uses, u32 timeline)
{
	const struct model_client *c = &r->model.client[client];
	u32 how = below(r, 40);
	u64 seen;

	if (timeline >= c->nr_clocks)
		return 1;
	seen = c->clock[timeline].seen;
	if (how == 0)
		return KVP_MAX_FENCE - below(r, 2) * KVP_MAX_FENCE;
	if (how == 1)
		return seen - min_t(u64, seen, below(r, 3));
	if (how < 10 && uses->announced[timeline] > seen)
		return seen + 1 + below(r, uses->announced[timeline] - seen);
	uses->announced[timeline] += 1 + !below(r, 4);
	return uses->announced[timeline];
}

/* Where rows are written: mostly where those that there will be end. */
static void property_pick_rows(struct run *r, const struct model_seq *seq, u64 will_have,
			       struct kvp_use_entry *e)
{
	u32 how = below(r, 12);

	e->write_from = KVP_POS_END;
	if (!seq || how < 3)
		return;
	e->write_from = how < 10 ? will_have : below(r, will_have + 2);
	e->computed_to = max(seq->reserved, e->write_from);
	if (below(r, 2) && seq->reserved > e->write_from)
		e->computed_to = e->write_from + below(r, seq->reserved - e->write_from + 2);
	if (!below(r, 60))
		e->computed_to = below(r, e->write_from + 1);
}

/* The most that the entries before @nr will have computed of a sequence, at least @to. */
static u64 property_said(const struct property_uses *uses, u32 nr, const struct model_seq *seq,
			 u64 to)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (uses->seq[i] == seq)
			to = max(to, uses->entry[i].computed_to);
	}
	return to;
}

static void property_pick_entry(struct run *r, u32 client, struct property_uses *uses, u32 i)
{
	struct kvp_use_entry *e = &uses->entry[i];
	struct model_seq *seq = NULL;

	e->kind = below(r, 4) ? KVP_USE_SEQ : KVP_USE_BLOCK;
	if (e->kind == KVP_USE_BLOCK && !model_raw(&r->model, client) && below(r, 8))
		e->kind = KVP_USE_SEQ;
	e->timeline = property_pick_timeline(r, client);
	e->value = property_pick_value(r, client, uses, e->timeline);
	uses->block[i] = NONE;
	if (e->kind == KVP_USE_SEQ) {
		e->id = i && below(r, 3) ? uses->entry[i - 1].id : property_pick_seq(r, client);
		seq = model_seq_find(&r->model, client, e->id);
		property_pick_rows(r, seq, seq ? property_said(uses, i, seq,
						model_will_have(&r->model, seq)) : 0, e);
	} else {
		e->id = property_pick_raw(r, client);
		e->write_from = !below(r, 60);
	}
	if (!below(r, 100)) {
		e->kind = below(r, 4);
		/* No remap is ever open here. */
		e->kind += e->kind == KVP_USE_REMAP;
	}
	uses->seq[i] = e->kind == KVP_USE_SEQ ? seq : NULL;
}

/* What stands against the entries of a call. */
static void property_check_uses(struct run *r, u32 client, struct property_uses *uses,
				struct model_verdict *v)
{
	struct model *m = &r->model;
	u64 will_have;
	u32 i;

	for (i = 0; i < uses->nr && v->nr < ARRAY_SIZE(v->may) - 8; i++) {
		const struct kvp_use_entry *e = &uses->entry[i];

		model_use_entry(m, client, e, v);
		if (e->kind == KVP_USE_SEQ && !uses->seq[i])
			property_seq(r, client, e->id, v);
		if (e->kind == KVP_USE_SEQ && uses->seq[i]) {
			will_have = property_said(uses, i, uses->seq[i],
						  model_will_have(m, uses->seq[i]));
			model_use_seq(m, uses->seq[i], e, will_have, v);
		}
		if (e->kind == KVP_USE_BLOCK)
			uses->block[i] = property_raw(r, client, e->id, v);
	}
}

/* The greatest first row that there may be is told where that is why the call failed. */
static void property_check_use_position(struct run *r, const struct property_uses *uses)
{
	const struct model_seq *seq = uses->seq[kvpt.head.where];
	u64 most = property_said(uses, kvpt.head.where, seq, model_will_have(&r->model, seq));

	if (kvpt.use.position != most)
		model_bug("entry %u: rows up to %llu, expected %llu", kvpt.head.where,
			  (unsigned long long)kvpt.use.position, (unsigned long long)most);
}

/*
 * Timelines of the first @nr entries were looked at, before something new was announced: but for an
 * entry that makes no sense on any timeline.
 */
static void property_read_clocks(struct run *r, u32 client, const struct property_uses *uses,
				 u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		const struct kvp_use_entry *e = &uses->entry[i];

		if ((e->kind == KVP_USE_SEQ || e->kind == KVP_USE_BLOCK) &&
		    e->timeline < r->model.client[client].nr_clocks && e->value < KVP_MAX_FENCE)
			model_clock_read(&r->model, client, e->timeline);
	}
}

/* Whether something stands in a timeline that may be judged when a call comes to it. */
static bool property_unread(const struct model_client *c)
{
	u32 t;

	for (t = 0; t < c->nr_clocks; t++) {
		if (c->clock[t].page != c->clock[t].read)
			return true;
	}
	return false;
}

static void property_use(struct run *r, u32 client, struct property_uses *uses)
{
	struct kvp_use *arg = &kvpt.use;
	struct model_verdict v;
	u32 reason, where;
	int err;
	u32 i;

	property_begin(r, "use");
	/* Where memory runs out is not told. */
	if (property_unread(&r->model.client[client]))
		property_calm(r);
	for (i = 0; i < uses->nr; i++)
		property_trace("client %u kind %u id %llx timeline %u value %llu rows %lld %llu",
			       client, uses->entry[i].kind,
			       (unsigned long long)uses->entry[i].id, uses->entry[i].timeline,
			       (unsigned long long)uses->entry[i].value,
			       (long long)uses->entry[i].write_from,
			       (unsigned long long)uses->entry[i].computed_to);
	memset(&kvpt, 0, sizeof(kvpt));
	arg->entries = property_addr(uses->entry);
	arg->nr_entries = uses->nr;
	err = kvpt_do(r->model.client[client].core, KVP_OP_USE, arg);
	reason = kvpt.head.reason;
	where = kvpt.head.where;
	property_end(r, err, &v);
	property_read_clocks(r, client, uses, err ? where + 1 : uses->nr);
	property_check_uses(r, client, uses, &v);
	if (!property_judge(r, &v)) {
		if (err == -EINVAL && reason == KVP_REASON_POSITION)
			property_check_use_position(r, uses);
		return;
	}
	for (i = 0; i < uses->nr; i++)
		model_use_begin(&r->model, client, &uses->entry[i], uses->seq[i], uses->block[i]);
}

static void property_begin_uses(struct run *r, u32 client, struct property_uses *uses)
{
	u32 i;

	memset(uses, 0, sizeof(*uses));
	for (i = 0; i < KVP_NR_TIMELINES; i++)
		uses->announced[i] = r->model.client[client].clock[i].announced;
}

/* So many uses of one sequence that they are not told apart any more. */
static void property_use_many(struct run *r, u32 client)
{
	static struct property_uses uses;
	u64 id = property_pick_seq(r, client);
	struct model_seq *seq = model_seq_find(&r->model, client, id);
	u32 nr = 1 + below(r, PROPERTY_ENTRIES);

	property_begin_uses(r, client, &uses);
	for (; seq && uses.nr < nr; uses.nr++) {
		struct kvp_use_entry *e = &uses.entry[uses.nr];

		e->kind = KVP_USE_SEQ;
		e->id = id;
		e->timeline = below(r, r->model.client[client].nr_clocks);
		e->value = ++uses.announced[e->timeline];
		e->write_from = below(r, 3) ? KVP_POS_END : model_will_have(&r->model, seq);
		e->computed_to = e->write_from == KVP_POS_END ? 0 : e->write_from;
		uses.seq[uses.nr] = seq;
		uses.block[uses.nr] = NONE;
	}
	if (uses.nr)
		property_use(r, client, &uses);
}

void op_use(struct run *r, u32 client)
{
	static struct property_uses uses;
	u32 nr = 1 + below(r, 3);

	if (!r->model.client[client].nr_clocks && below(r, 16)) {
		op_timeline(r, client);
		return;
	}
	/* Some must pass before there is room for more. */
	if (model_all_uses(&r->model) > MODEL_USES - PROPERTY_ENTRIES) {
		op_store(r, client);
		return;
	}
	if (r->model.client[client].nr_clocks && !below(r, 200)) {
		property_use_many(r, client);
		return;
	}
	property_begin_uses(r, client, &uses);
	for (uses.nr = 0; uses.nr < nr; uses.nr++)
		property_pick_entry(r, client, &uses, uses.nr);
	property_use(r, client, &uses);
}

/* ---- work that ends ---- */

/* A timeline of the client on which something is open, or any; NONE: it has none. */
static int property_open_timeline(struct run *r, u32 client)
{
	const struct model *m = &r->model;
	u32 start = below(r, MODEL_USES);
	u32 i;

	for (i = 0; i < MODEL_USES; i++) {
		const struct model_use *use = &m->use[(start + i) % MODEL_USES];

		if (use->live && use->client == client)
			return use->timeline;
	}
	if (!m->client[client].nr_clocks)
		return NONE;
	return below(r, m->client[client].nr_clocks);
}

/* A right value: some of what is open passes. */
static u64 property_right_value(struct run *r, const struct model_clock *clock)
{
	u64 open = clock->announced - clock->seen;

	if (!open || !below(r, 3))
		return clock->announced;
	return clock->seen + 1 + below(r, min_t(u64, open, 1000));
}

/* A wrong one, or the same again. */
static u64 property_wrong_value(struct run *r, const struct model_clock *clock)
{
	switch (below(r, 4)) {
	case 0:
		return clock->announced + 1 + below(r, 3);
	case 1:
		return ~0ULL - below(r, 2);
	case 2:
		return clock->seen;
	default:
		return clock->seen - min_t(u64, clock->seen, 1 + below(r, 3));
	}
}

/*
 * Whether what has passed leaves published blocks idle, or ends a namespace. To whom the blocks are
 * charged when the next call takes them, and whether that one can be invalidated, depends on
 * whether the call looks first.
 */
static bool property_must_be_seen(const struct run *r)
{
	static struct model settled;
	u32 i;

	settled = r->model;
	model_settle(&settled);
	for (i = 0; i < settled.nr_blocks; i++) {
		if (settled.block[i].live && !settled.block[i].count && r->model.block[i].count)
			return true;
	}
	for (i = 0; i < settled.nr_nodes; i++) {
		if (settled.node[i].kind != r->model.node[i].kind &&
		    r->model.node[i].kind == MODEL_ROOT)
			return true;
	}
	return false;
}

/*
 * Somebody who has the page writes a timeline. What is right may stay unseen until the next call
 * needs it.
 */
void op_store(struct run *r, u32 client)
{
	int timeline = property_open_timeline(r, client);
	struct model_clock *clock;
	bool right = below(r, 5);
	u64 value;

	if (timeline == NONE)
		return;
	property_at.what = "store";
	clock = &r->model.client[client].clock[timeline];
	value = right ? property_right_value(r, clock) : property_wrong_value(r, clock);
	property_trace("client %u timeline %d value %llu", client, timeline,
		       (unsigned long long)value);
	__atomic_store_n(&property_page(r, client)[timeline].value, value, __ATOMIC_RELEASE);
	clock->page = value;
	r->stale = true;
	r->unseen = right && below(r, 2) && !property_must_be_seen(r);
}

void op_signal(struct run *r, u32 client)
{
	struct model_client *c = &r->model.client[client];
	int timeline = property_open_timeline(r, client);
	struct kvp_signal *arg = &kvpt.signal;
	struct model_verdict v;
	int err;

	property_begin(r, "signal");
	memset(&kvpt, 0, sizeof(kvpt));
	arg->timeline = timeline == NONE || !below(r, 40) ? below(r, KVP_NR_TIMELINES + 2) :
							    timeline;
	arg->value = 1;
	if (arg->timeline < c->nr_clocks)
		arg->value = below(r, 6) ? property_right_value(r, &c->clock[arg->timeline]) :
					   property_wrong_value(r, &c->clock[arg->timeline]);
	timeline = arg->timeline;
	property_trace("client %u timeline %d value %llu", client, timeline,
		       (unsigned long long)arg->value);
	err = kvpt_do(c->core, KVP_OP_SIGNAL, arg);
	property_end(r, err, &v);
	model_signal(&r->model, client, timeline, arg->value, &v);
	if (property_judge(r, &v) &&
	    property_page(r, client)[timeline].value != c->clock[timeline].page)
		model_bug("the page does not show %llu",
			  (unsigned long long)c->clock[timeline].page);
}

/* ---- query ---- */

/* What is told of one fence. */
static void property_check_fence(struct run *r, u32 client, const struct kvp_fence *asked,
				 const struct kvp_fence *told)
{
	const struct model_clock *clock = &r->model.client[client].clock[asked->timeline];

	if (told->seen != clock->seen || told->announced != clock->announced ||
	    told->passed != (clock->seen >= asked->value))
		model_bug("timeline %u: passed %u seen %llu announced %llu, expected %u %llu %llu",
			  asked->timeline, told->passed, (unsigned long long)told->seen,
			  (unsigned long long)told->announced, clock->seen >= asked->value,
			  (unsigned long long)clock->seen, (unsigned long long)clock->announced);
}

static void property_query_check(struct run *r, u32 client, const struct kvp_fence *fence, u32 nr,
				 bool watch, struct model_verdict *v)
{
	const struct model_client *c = &r->model.client[client];
	u32 i;

	for (i = 0; i < nr; i++) {
		if (fence[i].timeline >= c->nr_clocks)
			model_may(v, -ENOENT, KVP_REASON_NO_TIMELINE);
		else if (watch && fence[i].value > c->clock[fence[i].timeline].announced)
			model_may(v, -EINVAL, KVP_REASON_FENCE_AHEAD);
	}
}

/* What the counters of a query say when all is settled. */
static void property_check_query(struct run *r, u32 client, const struct kvp_query *is)
{
	const struct model *m = &r->model;
	const struct model_client *c = &m->client[client];
	u32 held_back = 0;
	u32 f;

	for (f = 0; f < m->nr_families; f++)
		held_back += model_held_back(m, f, c->id);
	if (is->granted != model_granted(m, client) ||
	    is->waiting != model_tickets(m, client) - model_granted(m, client) ||
	    is->uses != model_uses(m, client) || is->held_back != held_back ||
	    is->backwards != c->backwards || is->jumps != c->jumps)
		model_bug("query: granted %u waiting %u uses %u held back %llu wrong %llu %llu",
			  is->granted, is->waiting, is->uses, (unsigned long long)is->held_back,
			  (unsigned long long)is->backwards, (unsigned long long)is->jumps);
}

static void property_pick_fences(struct run *r, u32 client, struct kvp_fence *fence, u32 nr)
{
	const struct model_client *c = &r->model.client[client];
	const struct model_clock *clock;
	u32 i;

	memset(fence, 0, nr * sizeof(*fence));
	for (i = 0; i < nr; i++) {
		fence[i].timeline = property_pick_timeline(r, client);
		clock = &c->clock[fence[i].timeline % KVP_NR_TIMELINES];
		fence[i].value = below(r, 20) ? property_right_value(r, clock) :
						property_wrong_value(r, clock);
	}
}

void op_query(struct run *r, u32 client)
{
	struct model_client *c = &r->model.client[client];
	struct kvp_fence fence[4], asked[4];
	struct kvp_query *arg = &kvpt.query;
	struct model_verdict v;
	struct kvp_query out;
	bool watch = below(r, 2);
	u32 nr = below(r, 5);
	u32 i, ready;
	int err;

	property_pick_fences(r, client, fence, nr);
	memcpy(asked, fence, sizeof(asked));
	property_begin(r, "query");
	property_trace("client %u fences %u watch %u", client, nr, watch);
	memset(&kvpt, 0, sizeof(kvpt));
	arg->head.flags = watch ? KVP_QUERY_WATCH : 0;
	arg->fences = nr ? property_addr(fence) : 0;
	arg->nr_fences = nr;
	err = kvpt_do(c->core, KVP_OP_QUERY, arg);
	out = *arg;
	property_end(r, err, &v);
	property_query_check(r, client, asked, nr, watch, &v);
	if (!property_judge(r, &v))
		return;
	ready = model_ready(&r->model, client);
	model_query(&r->model, client, asked, nr, watch);
	if (r->untold)
		return;
	if ((out.ready & ~KVP_READY_EVENTS) != ready)
		model_bug("ready is %x, expected %x", out.ready, ready);
	for (i = 0; i < nr; i++)
		property_check_fence(r, client, &asked[i], &fence[i]);
	property_check_query(r, client, &out);
}

/* Who waits in this process reads timelines itself. */
void op_scan(struct run *r, u32 client)
{
	property_at.what = "scan";
	property_trace("client %u", client);
	kvp_client_scan(r->model.client[client].core);
	/* It has looked at what there is, if somebody waits. */
	r->stale = true;
	r->unseen = false;
}

/* ---- reap ---- */

/* The id of a dead client, 0: all, or one that is none. */
static u64 property_pick_dead(struct run *r)
{
	u32 at = MODEL_FIRST_DEAD + below(r, MODEL_DEAD);

	if (!below(r, 4))
		return 0;
	return r->model.client[at].id;
}

/* @core: who calls; @admin: it may. */
static void property_reap(struct run *r, struct kvp_client *core, bool admin, u64 id)
{
	struct kvp_reap *arg = &kvpt.reap;
	struct kvp_reap out;
	u64 clients = 0, blocks;
	struct model_verdict v;
	int dead = NONE;
	int err;
	u32 i;

	memset(&kvpt, 0, sizeof(kvpt));
	arg->client = id;
	err = kvpt_do(core, KVP_OP_REAP, arg);
	out = *arg;
	property_end(r, err, &v);
	for (i = MODEL_FIRST_DEAD; i < MODEL_HOLDERS; i++) {
		if (!r->model.client[i].dead || (id && r->model.client[i].id != id))
			continue;
		clients++;
		dead = i;
	}
	if (!admin)
		model_may(&v, -EACCES, KVP_REASON_RIGHT_ADMIN);
	else if (id && !clients)
		model_may(&v, -ENOENT, KVP_REASON_NO_CLIENT);
	if (!property_judge(r, &v))
		return;
	blocks = model_reap(&r->model, id ? dead : NONE);
	if (!r->untold && (out.clients != clients || out.blocks != blocks))
		model_bug("reaped %u clients, %llu blocks, expected %llu, %llu", out.clients,
			  (unsigned long long)out.blocks, (unsigned long long)clients,
			  (unsigned long long)blocks);
}

void op_reap(struct run *r, u32 client)
{
	const struct model_client *c = &r->model.client[client];
	u64 id = property_pick_dead(r);

	property_begin(r, "reap");
	property_trace("client %u of %llu", client, (unsigned long long)id);
	property_reap(r, c->core, c->rights & KVP_RIGHT_ADMIN, id);
}

/* The quarantine of all dead clients ends. */
void property_reap_all(struct run *r)
{
	property_begin(r, "reap");
	property_calm(r);
	property_reap(r, r->watcher, true, 0);
}

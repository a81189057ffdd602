// SPDX-License-Identifier: MIT
/*
 * What a client at work does with fences and tickets. A piece of work is on a sequence of its own or
 * on raw blocks, which the client mostly lets go while the work goes on: nobody else may get
 * them then, so what is written there must stay. Work ends by a call, or by a store to the page.
 */
#include "support_churn_slot.h"

#define TICKET_MAX	24		/* blocks asked for */
#define TICKET_TRIES	8

/* ---- tickets ---- */

void churn_prepare_ticket(struct worker *worker, struct slot *slot)
{
	switch (slot->state) {
	case WAITING:
		slot->tries++;
		PREPARE(slot, KVP_OP_ADMIT, admit, .ticket = slot->ticket, .head.flags =
			slot->tries < TICKET_TRIES ? KVP_ADMIT_TAKE : KVP_ADMIT_CANCEL);
		break;
	case RESERVED:
		/* Other calls may have used of it. */
		PREPARE(slot, KVP_OP_ADMIT, admit, .head.flags = KVP_ADMIT_DROP);
		break;
	default:
		slot->tries = 0;
		slot->need = (struct kvp_admit_need){
			.family = kvpv_below(&worker->random, CHURN_FAMILIES),
			.blocks = 1 + kvpv_below(&worker->random, TICKET_MAX),
		};
		PREPARE(slot, KVP_OP_ADMIT, admit, .head.flags = KVP_ADMIT_QUEUE,
			.needs = kvpv_ptr(&slot->need), .nr_needs = 1);
	}
}

void churn_done_ticket(struct slot *slot)
{
	slot->ticket = slot->arg.admit.ticket;
	switch (slot->arg.admit.state) {
	case KVP_ADMITTED:
		slot->state = RESERVED;
		break;
	case KVP_ADMIT_WAITING:
		kvpv_true(slot->ticket);
		slot->state = WAITING;
		break;
	default:
		kvpv_same(slot->arg.admit.state, KVP_ADMIT_ENDED);
		slot->state = NONE;
	}
}

/* ---- work ---- */

static u64 stamp(const struct worker *worker, const struct slot *slot, u32 i)
{
	return worker->me->client << 40 | (u64)(slot - worker->slot) << 32 |
	       (slot->value & 0xffffff) << 8 | i;
}

static void check_work(struct worker *worker, const struct slot *slot)
{
	u32 i;

	for (i = 0; i < slot->nr; i++)
		churn_check_mark(worker, slot->work->block[i], slot->work->mark[i],
				 "work that goes on");
}

static void touch(struct worker *worker, struct slot *slot, u64 block)
{
	const u32 i = slot->nr++;

	slot->work->block[i] = block;
	slot->work->mark[i] = stamp(worker, slot, i);
	churn_set_mark(worker, block, slot->work->mark[i]);
}

/* Ids that no other client has. */
static void prepare_blocks(struct worker *worker, struct slot *slot)
{
	u32 i;

	slot->value++;
	slot->nr = 0;
	slot->raw = kvpv_below(&worker->random, 2);
	if (slot->raw) {
		PREPARE(slot, KVP_OP_BLOCK_ALLOC, alloc, .blocks = kvpv_ptr(slot->blocks),
			.nr = 1 + kvpv_below(&worker->random, RAW_MAX),
			.family = kvpv_below(&worker->random, CHURN_FAMILIES));
		return;
	}
	for (i = 0; i < CHURN_TOKENS; i++)
		slot->tokens[i] = (u32)kvpv_random(&worker->random);
	PREPARE(slot, KVP_OP_SEQ_CREATE, create, .tokens = kvpv_ptr(slot->tokens),
		.nr_tokens = CHURN_TOKENS);
	kvpv_space(CHURN_SPACE + 1, slot->arg.create.space);
}

static void prepare_table(struct slot *slot, u32 family)
{
	PREPARE(slot, KVP_OP_SEQ_TABLE, table, .seq = slot->seq, .family = family,
		.blocks = kvpv_ptr(slot->blocks), .nr_blocks = CHURN_NODES);
}

static void prepare_said(struct slot *slot)
{
	u32 nr = slot->raw ? slot->nr : 1;
	u32 i;

	for (i = 0; i < nr; i++)
		slot->use[i] = (struct kvp_use_entry){
			.kind = slot->raw ? KVP_USE_BLOCK : KVP_USE_SEQ,
			.timeline = slot->timeline,
			.id = slot->raw ? slot->work->block[i] : slot->seq,
			.value = slot->value,
			.computed_to = slot->raw ? 0 : CHURN_TOKENS,
		};
	PREPARE(slot, KVP_OP_USE, use, .entries = kvpv_ptr(slot->use), .nr_entries = nr);
}

static void prepare_query(struct slot *slot, u32 flags)
{
	slot->fence = (struct kvp_fence){ .timeline = slot->timeline, .value = slot->value };
	PREPARE(slot, KVP_OP_QUERY, query, .head.flags = flags,
		.fences = kvpv_ptr(&slot->fence), .nr_fences = 1);
}

static void prepare_let_go(struct slot *slot)
{
	if (slot->raw)
		PREPARE(slot, KVP_OP_BLOCK_UNREF, refs, .blocks = kvpv_ptr(slot->work->block),
			.nr = slot->nr);
	else
		PREPARE(slot, KVP_OP_SEQ_FREE, id, .seq = slot->seq);
}

/* From here on it is not told as open: it may end with this call, or before. */
static void prepare_end(struct worker *worker, struct slot *slot)
{
	check_work(worker, slot);
	churn_set(slot->work->nr, 0);
	if (kvpv_below(&worker->random, 2)) {
		PREPARE(slot, KVP_OP_SIGNAL, signal, .timeline = slot->timeline,
			.value = slot->value);
		return;
	}
	kvpv_store(worker->page, slot->timeline, slot->value);
	prepare_query(slot, 0);
}

void churn_prepare_work(struct worker *worker, struct slot *slot)
{
	switch (slot->state) {
	case CREATED:
	case TABLED:
	case COMPUTED:
		prepare_table(slot, slot->state == TABLED);
		break;
	case UNSAID:
		prepare_said(slot);
		break;
	case SAID:
		prepare_query(slot, kvpv_below(&worker->random, 2) ? KVP_QUERY_WATCH : 0);
		break;
	case WATCHED:
		/* Of a sequence that goes on, the rows count as computed at the end. */
		if (!slot->raw && !kvpv_below(&worker->random, 3))
			prepare_end(worker, slot);
		else
			prepare_let_go(slot);
		break;
	case LET_GO:
		if (kvpv_below(&worker->random, 2)) {
			check_work(worker, slot);
			prepare_query(slot, 0);
		} else {
			prepare_end(worker, slot);
		}
		break;
	case OVER:
		prepare_let_go(slot);
		break;
	default:
		prepare_blocks(worker, slot);
	}
}

static void done_blocks(struct worker *worker, struct slot *slot)
{
	u32 i;

	if (!slot->raw) {
		kvpv_same(slot->arg.create.matched, 0);
		slot->seq = slot->arg.create.seq;
		slot->state = CREATED;
		return;
	}
	for (i = 0; i < slot->arg.alloc.nr; i++)
		touch(worker, slot, slot->blocks[i]);
	slot->state = UNSAID;
}

static void done_table(struct worker *worker, struct slot *slot)
{
	u32 i;

	if (slot->state == COMPUTED) {
		kvpv_same(slot->arg.table.nr_computed, CHURN_TOKENS);
		slot->state = OVER;
		return;
	}
	kvpv_same(slot->arg.table.total, CHURN_NODES);
	for (i = 0; i < CHURN_NODES; i++)
		touch(worker, slot, slot->blocks[i]);
	slot->state = slot->state == CREATED ? TABLED : UNSAID;
}

/* The work has ended, or was asked for while it goes on. */
static void done_fence(struct slot *slot)
{
	bool open = churn_get(slot->work->nr);

	if (slot->op == KVP_OP_QUERY) {
		kvpv_same(slot->fence.passed, !open);
		kvpv_same(slot->arg.query.backwards, 0);
		kvpv_same(slot->arg.query.jumps, 0);
	}
	if (slot->state == SAID)
		slot->state = WATCHED;
	else if (!open)
		slot->state = slot->state == WATCHED ? COMPUTED : NONE;
}

void churn_done_work(struct worker *worker, struct slot *slot)
{
	switch (slot->op) {
	case KVP_OP_SEQ_CREATE:
	case KVP_OP_BLOCK_ALLOC:
		done_blocks(worker, slot);
		break;
	case KVP_OP_SEQ_TABLE:
		done_table(worker, slot);
		break;
	case KVP_OP_USE:
		churn_set(slot->work->nr, slot->nr);
		slot->state = SAID;
		break;
	case KVP_OP_QUERY:
	case KVP_OP_SIGNAL:
		done_fence(slot);
		break;
	default:
		slot->state = slot->state == WATCHED ? LET_GO : NONE;
	}
}

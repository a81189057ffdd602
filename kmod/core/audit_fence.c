// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The audit of what waits: for fences (zombies, holds, dead clients), and for blocks (tickets),
 * and of blocks that admissions took in advance.
 */
#include "audit.h"

static void kvp_audit_fence(struct kvp_audit_run *run, u32 family, u64 id, u64 found, u64 expected)
{
	kvp_audit_equal(run, KVP_FINDING_FENCE, family, id, found, expected);
}

/* ---- references that are held back ------------------------------------------------- */

static void kvp_audit_hold_blocks(struct kvp_audit_run *run, const struct kvp_hold *hold,
				  u32 family)
{
	u32 i;

	for (i = 0; i < hold->nr; i++) {
		if (hold->block[i] >> KVP_HOLD_SHIFT == family)
			kvp_audit_count(run, family, hold->block[i] & KVP_BLOCK_INDEX_MASK, 1, true,
					hold->fenced.client->account->client);
		kvp_audit_step(run);
	}
}

/**
 * kvp_audit_count_held_back - recount the references of what nobody can name any more
 * @run: the audit
 * @family: of which family
 */
void kvp_audit_count_held_back(struct kvp_audit_run *run, u32 family)
{
	struct kvp_fenced *fenced;

	list_for_each_entry(fenced, &run->pool->fenced, list) {
		struct kvp_seq *seq = container_of(fenced, struct kvp_seq, fenced);

		if (fenced->kind == KVP_FENCED_HOLD)
			kvp_audit_hold_blocks(run, container_of(fenced, struct kvp_hold, fenced),
					      family);
		else if (fenced->kind == KVP_FENCED_SEQ && seq->zombie)
			kvp_audit_seq_blocks(run, seq, family);
		kvp_audit_step(run);
	}
}

/* ---- what waits for fences ------------------------------------------------------------ */

static void kvp_audit_hold(struct kvp_audit_run *run, const struct kvp_hold *hold)
{
	u64 *has = run->account[hold->fenced.client->slot].has;

	has[KVP_USES] += hold->nr;
	has[KVP_METADATA] += kvp_hold_size(hold->room);
}

/**
 * kvp_audit_fenced - recount what waits for fences
 * @run: the audit
 */
void kvp_audit_fenced(struct kvp_audit_run *run)
{
	struct kvp_pool *pool = run->pool;
	struct kvp_fenced *fenced;
	u32 nr = 0;

	list_for_each_entry(fenced, &pool->fenced, list) {
		struct kvp_seq *seq = container_of(fenced, struct kvp_seq, fenced);

		nr++;
		run->account[fenced->client->slot].nr_fenced++;
		if (fenced->kind == KVP_FENCED_HOLD)
			kvp_audit_hold(run, container_of(fenced, struct kvp_hold, fenced));
		else if (fenced->kind == KVP_FENCED_SEQ && seq->zombie)
			kvp_audit_seq(run, seq, KVP_NO_FAMILY);
		kvp_audit_step(run);
	}
	kvp_audit_fence(run, KVP_NO_FAMILY, 0, pool->nr_fenced, nr);
}

/**
 * kvp_audit_waits - whether clients say what of theirs waits for fences
 * @run: the audit, after kvp_audit_fenced()
 */
void kvp_audit_waits(struct kvp_audit_run *run)
{
	struct kvp_pool *pool = run->pool;
	struct kvp_client *client;
	u32 dead = 0;

	list_for_each_entry(client, &pool->clients, list) {
		kvp_audit_fence(run, KVP_NO_FAMILY, client->account->client, client->nr_fenced,
				run->account[client->slot].nr_fenced);
		kvp_audit_step(run);
	}
	list_for_each_entry(client, &pool->quarantine, list) {
		run->account[client->slot].dead = true;
		kvp_audit_fence(run, KVP_NO_FAMILY, client->account->client, client->nr_fenced,
				run->account[client->slot].nr_fenced);
		kvp_audit_fence(run, KVP_NO_FAMILY, client->account->client,
				client->account->dead == client, true);
		dead += run->account[client->slot].nr_fenced;
		kvp_audit_step(run);
	}
	kvp_audit_fence(run, KVP_NO_FAMILY, 0, pool->nr_fenced_dead, dead);
}

/* ---- tickets and the reserve --------------------------------------------------------------- */

/* Blocks of a list are RESERVED, and on no other one. */
static void kvp_audit_taken(struct kvp_audit_run *run, const struct kvp_client *client,
			    const struct kvp_taken *taken, u32 family)
{
	const struct kvp_family *f = &run->pool->family[family];
	u32 index = taken->blocks[family];
	u64 nr = 0;

	while (nr < taken->nr_blocks[family] && index < f->nr_blocks && !run->listed[index]) {
		run->listed[index] = KVP_LISTED_RESERVE;
		index = f->blocks[index].next;
		nr++;
		kvp_audit_step(run);
	}
	kvp_audit_fence(run, family, client->account->client, taken->nr_blocks[family], nr);
	run->account[client->slot].reserve[family] += nr;
}

/**
 * kvp_audit_reserves - find the blocks that admissions took in advance
 * @run: the audit
 * @family: of which family
 */
void kvp_audit_reserves(struct kvp_audit_run *run, u32 family)
{
	struct kvp_client *client;
	u32 i;

	list_for_each_entry(client, &run->pool->clients, list) {
		kvp_audit_taken(run, client, &client->reserve, family);
		for (i = 0; i < client->tickets.cap; i++) {
			const struct kvp_ticket *ticket = kvp_id_slot(&client->tickets, i)->object;

			if (ticket && list_empty(&ticket->list))
				kvp_audit_taken(run, client, &ticket->taken, family);
			kvp_audit_step(run);
		}
	}
}

/**
 * kvp_audit_tickets - recount a client's tickets
 * @run: the audit
 * @client: the client
 */
void kvp_audit_tickets(struct kvp_audit_run *run, const struct kvp_client *client)
{
	u64 *has = run->account[client->slot].has;
	u32 granted = 0;
	u32 i;

	for (i = 0; i < client->tickets.cap; i++) {
		const struct kvp_ticket *ticket = kvp_id_slot(&client->tickets, i)->object;

		if (ticket) {
			has[KVP_TICKETS]++;
			has[KVP_METADATA] += sizeof(*ticket);
			granted += list_empty(&ticket->list);
		}
		kvp_audit_step(run);
	}
	kvp_audit_fence(run, KVP_NO_FAMILY, client->account->client, client->nr_granted, granted);
}

/**
 * kvp_audit_queue - recount who waits for blocks
 * @run: the audit
 */
void kvp_audit_queue(struct kvp_audit_run *run)
{
	struct kvp_pool *pool = run->pool;
	u32 queued[KVP_MAX_FAMILIES] = { };
	const struct kvp_ticket *ticket;
	u32 nr = 0;
	u32 i;

	list_for_each_entry(ticket, &pool->tickets, list) {
		nr++;
		for (i = 0; i < pool->nr_families; i++)
			queued[i] += ticket->need.blocks[i] && !ticket->over;
		kvp_audit_step(run);
	}
	kvp_audit_fence(run, KVP_NO_FAMILY, 0, pool->nr_queued, nr);
	for (i = 0; i < pool->nr_families; i++)
		kvp_audit_fence(run, i, 0, pool->queued[i], queued[i]);
}

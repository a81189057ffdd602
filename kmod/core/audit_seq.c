// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The audit of what clients hold: sequences, matches and raw references. It
 * recounts what accounts, blocks and nodes should say, and looks whether each
 * sequence is one with itself.
 */
#include "audit.h"

/* Call @fn for every sequence of a client. */
static void kvp_audit_each_seq(struct kvp_audit_run *run, struct kvp_client *client, u32 family,
			       void (*fn)(struct kvp_audit_run *run, struct kvp_seq *seq,
					  u32 family))
{
	u32 i;

	for (i = 0; i < client->seqs.cap; i++) {
		struct kvp_seq *seq = kvp_id_slot(&client->seqs, i)->object;

		if (seq)
			fn(run, seq, family);
		if (seq && seq->remap)
			fn(run, seq->remap->staged, family);
		kvp_audit_step(run);
	}
}

/* ---- references on blocks ---------------------------------------------------------------- */

/**
 * kvp_audit_count - references on a block
 * @run: the audit
 * @family: of the block
 * @index: the block
 * @nr: how many
 * @held_back: they wait for fences only
 * @holder: whose they are, for a finding
 */
void kvp_audit_count(struct kvp_audit_run *run, u32 family, u32 index, u32 nr, bool held_back,
		     u64 holder)
{
	if (index >= run->pool->family[family].nr_blocks) {
		kvp_audit_add(run, KVP_FINDING_SEQ, family, holder, index, KVP_NIL);
		return;
	}
	run->count[index] += nr;
	run->held_back[index] += held_back ? nr : 0;
}

/**
 * kvp_audit_seq_blocks - recount the references of a sequence
 * @run: the audit
 * @seq: the sequence, or zombie
 * @family: on blocks of which family
 */
void kvp_audit_seq_blocks(struct kvp_audit_run *run, struct kvp_seq *seq, u32 family)
{
	const struct kvp_vec *table = &seq->table[family];
	u64 i;

	for (i = 0; i < table->nr; i++) {
		if (table->at[i] != KVP_NIL)
			kvp_audit_count(run, family, table->at[i], 1, seq->zombie, seq->id);
		kvp_audit_step(run);
	}
	for (i = 0; seq->remap && i < seq->remap->nr_held; i++)
		if (seq->remap->held[i] != KVP_NIL &&
		    seq->remap->held[i] >> KVP_HOLD_SHIFT == family)
			kvp_audit_count(run, family, seq->remap->held[i] & KVP_BLOCK_INDEX_MASK, 1,
					false, seq->id);
	for (i = 0; i < seq->nr_pending; i++)
		if (seq->pending[i].family == family)
			kvp_audit_count(run, family, seq->pending[i].src, 1, seq->zombie,
					seq->id);
	for (i = seq->late_gone; i < seq->nr_late; i++)
		if (seq->late[i].family == family)
			kvp_audit_count(run, family, seq->late[i].block, 1, true, seq->id);
}

static void kvp_audit_raw_blocks(struct kvp_audit_run *run, const struct kvp_client *client,
				 u32 family)
{
	const struct kvp_family *f = &run->pool->family[family];
	u32 i;

	for (i = 0; i < client->raw.cap; i++) {
		const struct kvp_raw_slot *slot = &client->raw.slot[i];
		u32 index = KVP_BLOCK_INDEX(slot->block);

		kvp_audit_step(run);
		if (slot->block == KVP_BLOCK_NULL || KVP_BLOCK_FAMILY(slot->block) != family)
			continue;
		kvp_audit_count(run, family, index, slot->count, false, client->account->client);
		if (index < f->nr_blocks)
			kvp_audit_equal(run, KVP_FINDING_COUNT, family, index, slot->block,
					kvp_block_id(f, index));
	}
}

/**
 * kvp_audit_count_blocks - recount the references on the blocks of a family
 * @run: the audit; its count is zero
 * @family: the family
 */
void kvp_audit_count_blocks(struct kvp_audit_run *run, u32 family)
{
	struct kvp_client *client;

	list_for_each_entry(client, &run->pool->clients, list) {
		kvp_audit_each_seq(run, client, family, kvp_audit_seq_blocks);
		kvp_audit_raw_blocks(run, client, family);
	}
}

/* ---- sequences ----------------------------------------------------------------------------- */

static void kvp_audit_seq_table(struct kvp_audit_run *run, const struct kvp_seq *seq,
				const struct kvp_family *family)
{
	const struct kvp_vec *table = &seq->table[family->index];
	u64 gone = 0;
	u64 i;

	kvp_audit_equal(run, KVP_FINDING_SEQ, family->index, seq->id, table->nr,
			kvp_blocks_for(family, seq->reserved));
	if (family->desc.kind == KVP_FAMILY_WINDOW)
		gone = kvp_window_start(family, seq->windowed) / family->desc.block_tokens;
	for (i = 0; i < table->nr; i++) {
		kvp_audit_equal(run, KVP_FINDING_SEQ, family->index, seq->id,
				table->at[i] == KVP_NIL, i < gone);
		kvp_audit_step(run);
	}
}

/*
 * A published node stands below one with the contents before it (not always the very node in
 * the run table: a sequence may keep its own beside a published twin).
 */
static void kvp_audit_published_run(struct kvp_audit_run *run, const struct kvp_seq *seq, u64 at)
{
	const struct kvp_pool *pool = run->pool;
	const struct kvp_node *node = &pool->nodes[seq->runs.at[at]];
	u32 before = at ? seq->runs.at[at - 1] : seq->root;

	kvp_audit_equal(run, KVP_FINDING_SEQ, KVP_NO_FAMILY, seq->id, node->depth, at + 1);
	if (node->parent >= pool->nr_nodes || before >= pool->nr_nodes)
		return;
	kvp_audit_equal(run, KVP_FINDING_SEQ, KVP_NO_FAMILY, seq->id,
			pool->nodes[node->parent].hash, pool->nodes[before].hash);
}

/*
 * The hash of a node that is not in the tree yet follows from the run before it. Once a node: a
 * million forks may share it, and all others wait for the audit.
 */
static void kvp_audit_private_run(struct kvp_audit_run *run, const struct kvp_seq *seq, u64 at)
{
	struct kvp_pool *pool = run->pool;
	u32 index = seq->runs.at[at];
	const struct kvp_node *node = &pool->nodes[index];
	u32 before = at ? seq->runs.at[at - 1] : seq->root;
	const u8 *extra = NULL;

	if (run->uses[index] > 1)
		return;
	if (kvp_node_nr_tokens(pool, node) != pool->index_tokens || before >= pool->nr_nodes)
		return;
	if (node->extra != KVP_NIL) {
		if (node->extra >= pool->nr_digests)
			return;
		extra = pool->digests[node->extra].byte;
	}
	kvp_audit_equal(run, KVP_FINDING_CONTENT, KVP_NO_FAMILY, index, node->hash,
			kvp_content_hash(pool, pool->nodes[before].hash,
					 kvp_node_tokens(pool, index), extra));
}

/* One place of a run table: at least so many ids must be there. */
static void kvp_audit_run_node(struct kvp_audit_run *run, const struct kvp_seq *seq, u64 at)
{
	const struct kvp_pool *pool = run->pool;
	u64 left = seq->tokens - min(seq->tokens, at * pool->index_tokens);
	u32 index = seq->runs.at[at];
	const struct kvp_node *node;

	if (index >= pool->nr_nodes) {
		kvp_audit_add(run, KVP_FINDING_SEQ, KVP_NO_FAMILY, seq->id, index, KVP_NIL);
		return;
	}
	node = &pool->nodes[index];
	run->uses[index]++;
	if (kvp_node_nr_tokens(pool, node) < min_t(u64, left, pool->index_tokens))
		kvp_audit_add(run, KVP_FINDING_SEQ, KVP_NO_FAMILY, seq->id,
			      kvp_node_nr_tokens(pool, node), left);
	if (node->state == KVP_NODE_PRIVATE)
		kvp_audit_private_run(run, seq, at);
	else if (node->state == KVP_NODE_PUBLISHED)
		kvp_audit_published_run(run, seq, at);
	else
		kvp_audit_add(run, KVP_FINDING_SEQ, KVP_NO_FAMILY, seq->id, node->state,
			      KVP_NODE_PRIVATE);
}

/* The chain position: the published node with the contents of the last that is published. */
static void kvp_audit_seq_tail(struct kvp_audit_run *run, const struct kvp_seq *seq)
{
	const struct kvp_pool *pool = run->pool;
	u32 last = seq->root;

	if (seq->root >= pool->nr_nodes || seq->tail >= pool->nr_nodes) {
		kvp_audit_add(run, KVP_FINDING_SEQ, KVP_NO_FAMILY, seq->id, seq->tail, KVP_NIL);
		return;
	}
	run->uses[seq->root]++;
	run->refs[seq->tail]++;
	if (seq->nr_published && seq->nr_published <= seq->runs.nr)
		last = seq->runs.at[seq->nr_published - 1];
	kvp_audit_equal(run, KVP_FINDING_SEQ, KVP_NO_FAMILY, seq->id,
			pool->nodes[seq->root].state, KVP_NODE_ROOT);
	kvp_audit_equal(run, KVP_FINDING_SEQ, KVP_NO_FAMILY, seq->id,
			pool->nodes[seq->tail].state,
			seq->nr_published ? KVP_NODE_PUBLISHED : KVP_NODE_ROOT);
	kvp_audit_equal(run, KVP_FINDING_SEQ, KVP_NO_FAMILY, seq->id,
			pool->nodes[seq->tail].depth, seq->nr_published);
	if (last < pool->nr_nodes)
		kvp_audit_equal(run, KVP_FINDING_SEQ, KVP_NO_FAMILY, seq->id,
				pool->nodes[seq->tail].hash, pool->nodes[last].hash);
}

/**
 * kvp_audit_seq - look at a sequence
 * @run: the audit
 * @seq: the sequence, or zombie
 * @family: unused
 */
void kvp_audit_seq(struct kvp_audit_run *run, struct kvp_seq *seq, u32 family)
{
	struct kvp_audit_account *account = &run->account[seq->client->slot];
	struct kvp_pool *pool = run->pool;
	const u64 rule[][2] = {		/* what must not exceed what */
		{ seq->busy, 0 },
		/* What a remap moves counts as computed later than windows moved with it. */
		{ seq->windowed, max(seq->computed, seq->moved_at) },
		{ seq->computed, seq->tokens },
		{ seq->tokens, seq->reserved },
		{ seq->nr_published, seq->computed / pool->index_tokens },
	};
	u64 i;

	for (i = 0; i < ARRAY_SIZE(rule); i++)
		if (rule[i][0] > rule[i][1])
			kvp_audit_add(run, KVP_FINDING_SEQ, KVP_NO_FAMILY, seq->id, rule[i][0],
				      rule[i][1]);
	kvp_audit_equal(run, KVP_FINDING_SEQ, KVP_NO_FAMILY, seq->id, seq->runs.nr,
			kvp_nodes_for(pool, seq->tokens));
	/* What is staged is no sequence yet. */
	if (seq->zombie || seq->id)
		account->has[seq->zombie ? KVP_ZOMBIES : KVP_SEQS]++;
	account->has[KVP_USES] += seq->nr_uses;
	account->has[KVP_METADATA] += kvp_seq_size(pool) + seq->runs.cap * sizeof(*seq->runs.at) +
				      seq->max_late * sizeof(*seq->late) +
				      seq->max_places * sizeof(*seq->places);
	if (seq->remap)
		account->has[KVP_METADATA] += kvp_remap_memory(seq->remap);
	if (seq->uses != seq->first_use)
		account->has[KVP_METADATA] += seq->max_uses * sizeof(*seq->uses);
	kvp_audit_equal(run, KVP_FINDING_FENCE, KVP_NO_FAMILY, seq->id,
			list_empty(&seq->fenced.list), !seq->nr_uses && !seq->nr_late);
	for (i = 0; i < pool->nr_families; i++) {
		kvp_audit_seq_table(run, seq, &pool->family[i]);
		account->has[KVP_SLOTS] += seq->table[i].nr;
		account->has[KVP_METADATA] += seq->table[i].cap * sizeof(*seq->table[i].at);
	}
	for (i = 0; i < seq->runs.nr; i++) {
		kvp_audit_run_node(run, seq, i);
		kvp_audit_step(run);
	}
	kvp_audit_seq_tail(run, seq);
}

/* ---- clients --------------------------------------------------------------------------------- */

static void kvp_audit_matches(struct kvp_audit_run *run, const struct kvp_client *client)
{
	struct kvp_audit_account *account = &run->account[client->slot];
	u32 i;

	for (i = 0; i < client->matches.cap; i++) {
		const struct kvp_match *match = kvp_id_slot(&client->matches, i)->object;

		if (!match)
			continue;
		account->has[KVP_MATCHES]++;
		account->has[KVP_METADATA] += sizeof(*match);
		if (match->node < run->pool->nr_nodes)
			run->refs[match->node]++;
		kvp_audit_step(run);
	}
}

static void kvp_audit_raw(struct kvp_audit_run *run, const struct kvp_client *client)
{
	struct kvp_audit_account *account = &run->account[client->slot];
	u32 blocks = 0;
	u32 i;

	for (i = 0; i < client->raw.cap; i++) {
		account->has[KVP_RAW] += client->raw.slot[i].count;
		blocks += client->raw.slot[i].block != KVP_BLOCK_NULL;
		kvp_audit_step(run);
	}
	kvp_audit_equal(run, KVP_FINDING_CHARGE, KVP_NO_FAMILY, client->account->client,
			client->raw.nr, blocks);
	account->has[KVP_METADATA] += client->raw.cap * sizeof(*client->raw.slot);
}

/* Exports, which are clients too, and backings that a client made. */
static void kvp_audit_made(struct kvp_audit_run *run, const struct kvp_client *client)
{
	const struct kvp_export *export = client->account->export;
	u64 *has = run->account[client->slot].has;
	const struct kvp_account *maker;
	u32 i;

	for (i = 0; i < run->pool->nr_backings; i++)
		has[KVP_BACKINGS] += run->pool->backing[i].client == client->account->client;
	if (!export)
		return;
	has[KVP_EXPORTS]++;
	has[KVP_METADATA] += export->max_fences * sizeof(*export->fences);
	maker = run->pool->account[export->maker_slot];
	if (maker->live && maker->client == export->maker)
		run->account[export->maker_slot].has[KVP_EXPORTS]++;
}

/**
 * kvp_audit_clients - recount what clients have, and look at their sequences
 * @run: the audit
 *
 * Completes its uses and refs, and its accounts but for what is charged.
 */
void kvp_audit_clients(struct kvp_audit_run *run)
{
	struct kvp_client *client;

	list_for_each_entry(client, &run->pool->clients, list) {
		struct kvp_audit_account *account = &run->account[client->slot];

		account->attached = true;
		kvp_audit_made(run, client);
		kvp_audit_each_seq(run, client, KVP_NO_FAMILY, kvp_audit_seq);
		kvp_audit_equal(run, KVP_FINDING_CHARGE, KVP_NO_FAMILY,
				client->account->client, client->seqs.nr, account->has[KVP_SEQS]);
		kvp_audit_matches(run, client);
		kvp_audit_equal(run, KVP_FINDING_CHARGE, KVP_NO_FAMILY,
				client->account->client, client->matches.nr,
				account->has[KVP_MATCHES]);
		kvp_audit_raw(run, client);
		kvp_audit_tickets(run, client);
	}
}

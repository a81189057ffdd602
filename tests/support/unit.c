// SPDX-License-Identifier: MIT
/*
 * What the unit tests share beyond harness.c. Used by one thread.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

static char kvpt_line[512];

/* ---- nothing has changed ---- */

static void kvpt_write_table(FILE *out, struct kvp_client *client, u64 seq, u32 family)
{
	struct kvp_seq_table arg = { .seq = seq, .family = family };
	u64 *blocks;
	u32 i;

	if (kvpt_do(client, KVP_OP_SEQ_TABLE, &arg))
		kvpt_die(__FILE__, __LINE__, "table: reason %u", arg.head.reason);
	blocks = calloc(arg.total + 1, sizeof(*blocks));
	if (!blocks)
		kvpt_die(__FILE__, __LINE__, "no memory");
	arg.blocks = (u64)(uintptr_t)blocks;
	arg.nr_blocks = arg.total;
	if (arg.total && kvpt_do(client, KVP_OP_SEQ_TABLE, &arg))
		kvpt_die(__FILE__, __LINE__, "table: reason %u", arg.head.reason);
	fprintf(out, " family %u of %llu tokens, %llu computed, %llu reserved, %llu published:",
		family, arg.nr_tokens, arg.nr_computed, arg.nr_reserved, arg.nr_published);
	for (i = 0; i < arg.total; i++)
		fprintf(out, " %llx", blocks[i]);
	free(blocks);
}

/* What it announced, and what it has in advance. */
static void kvpt_write_waiting(FILE *out, const struct kvp_client *client)
{
	u32 i;

	for (i = 0; client->times && i < client->times->nr; i++)
		fprintf(out, "timeline %u: announced %llu, watched %llu, told %u\n", i,
			(u64)client->times->clock[i].announced,
			(u64)client->times->clock[i].watch, client->times->clock[i].told);
	for (i = 0; i < client->pool->nr_families; i++) {
		if (client->reserve.nr_blocks[i])
			fprintf(out, "reserve of family %u: %llu\n", i,
				(u64)client->reserve.nr_blocks[i]);
	}
	for (i = 0; i < client->tickets.cap; i++) {
		const struct kvp_ticket *ticket = kvp_id_slot(&client->tickets, i)->object;
		u32 k;

		for (k = 0; ticket && k < client->pool->nr_families; k++)
			fprintf(out, "ticket %llx: %llu of %llu of family %u\n", (u64)ticket->id,
				(u64)ticket->taken.nr_blocks[k], (u64)ticket->need.blocks[k], k);
	}
}

static void kvpt_write_uses(FILE *out, const struct kvp_seq *seq)
{
	u32 i;

	for (i = 0; i < seq->nr_uses; i++)
		fprintf(out, " use %llu of %u:%llu from %llu to %llu;", (u64)seq->uses[i].nr,
			seq->uses[i].timeline, (u64)seq->uses[i].value,
			(u64)seq->uses[i].write_from, (u64)seq->uses[i].computed_to);
	for (i = 0; i < seq->nr_late; i++)
		fprintf(out, " late %u:%u until %llu;", seq->late[i].family, seq->late[i].block,
			(u64)seq->late[i].use);
}

static void kvpt_write_places(FILE *out, const struct kvp_seq *seq)
{
	u32 i;

	for (i = 0; i < seq->nr_places; i++)
		fprintf(out, " %llu at %llu, computed at %llu, flags %x;",
			(u64)seq->places[i].first, (u64)seq->places[i].position,
			(u64)seq->places[i].computed_at, seq->places[i].flags);
	fprintf(out, " names until %llu", (u64)seq->unnamed_from);
}

/* What no call tells while it is being remapped, or of what is staged. */
static void kvpt_write_inside(FILE *out, const struct kvp_seq *seq)
{
	u32 i, j;

	for (i = 0; i < seq->client->pool->nr_families; i++) {
		fprintf(out, " family %u of %llu tokens, %llu computed, %llu slots, %llu nodes:", i,
			(u64)seq->tokens, (u64)seq->computed, (u64)seq->reserved,
			(u64)seq->nr_published);
		for (j = 0; j < seq->table[i].nr; j++)
			fprintf(out, " %x", seq->table[i].at[j]);
	}
}

static void kvpt_write_remap(FILE *out, const struct kvp_seq *seq)
{
	const struct kvp_remap *remap = seq->remap;
	u32 i;

	kvpt_write_inside(out, seq);
	fprintf(out, " becomes, with %llu computed:", (u64)remap->computed);
	kvpt_write_inside(out, remap->staged);
	kvpt_write_places(out, remap->staged);
	kvpt_write_uses(out, remap->staged);
	fprintf(out, " holds");
	for (i = 0; i < remap->nr_held; i++)
		fprintf(out, " %x", remap->held[i]);
}

static void kvpt_write_client(FILE *out, struct kvp_client *client)
{
	u32 i, j;

	for (i = 0; i < client->seqs.cap; i++) {
		const struct kvp_seq *seq = kvp_id_slot(&client->seqs, i)->object;

		if (!seq)
			continue;
		fprintf(out, "sequence %llx: root %u, tail %u, pending", (u64)seq->id,
			seq->root, seq->tail);
		for (j = 0; j < seq->nr_pending; j++)
			fprintf(out, " %u:%u", seq->pending[j].family, seq->pending[j].src);
		fprintf(out, ", runs");
		for (j = 0; j < seq->runs.nr; j++)
			fprintf(out, " %u", seq->runs.at[j]);
		for (j = 0; !seq->remap && j < client->pool->nr_families; j++)
			kvpt_write_table(out, client, seq->id, j);
		if (seq->remap)
			kvpt_write_remap(out, seq);
		kvpt_write_places(out, seq);
		kvpt_write_uses(out, seq);
		fputc('\n', out);
	}
	for (i = 0; i < client->matches.cap; i++) {
		const struct kvp_match *match = kvp_id_slot(&client->matches, i)->object;

		if (match)
			fprintf(out, "match %llx at node %u\n", (u64)match->id, match->node);
	}
	kvpt_write_waiting(out, client);
}

/* What waits for fences, in no order. */
static void kvpt_write_fenced(FILE *out, struct kvp_pool *pool)
{
	const struct kvp_fenced *fenced;
	const struct kvp_hold *hold;
	u64 sum = 0;
	u32 i;

	list_for_each_entry(fenced, &pool->fenced, list) {
		sum += fenced->kind * 1000003ULL + fenced->client->account->client;
		if (fenced->kind != KVP_FENCED_HOLD)
			continue;
		hold = container_of(fenced, struct kvp_hold, fenced);
		for (i = 0; i < hold->nr; i++)
			sum += hold->block[i] * (hold->fence.value + 1) * 31;
	}
	fprintf(out, "%u wait for fences, sum %llu\n", pool->nr_fenced, (u64)sum);
}

/* Exports are clients that no test has, and users are what no list shows. */
static void kvpt_write_pool(FILE *out, struct kvp_pool *pool)
{
	struct kvp_client *client;
	u32 i, j;

	list_for_each_entry(client, &pool->clients, list) {
		const struct kvp_export *export = client->account->export;

		fprintf(out, "client %llx of uid %u has %llu exports\n",
			(u64)client->account->client, client->cred.uid,
			(u64)client->account->has[KVP_EXPORTS]);
		if (!export)
			continue;
		fprintf(out, "export of %llx, refs %u, imports %llu, revoked %u\n",
			(u64)export->maker, export->refs, (u64)export->imports, export->revoked);
		kvpt_write_client(out, client);
	}
	for (i = 0; i < pool->nr_users; i++) {
		const struct kvp_user *user = pool->user[i];
		u64 has = user->own_limits;

		for (j = 0; j < pool->nr_families; j++)
			has |= user->charged[j];
		for (j = 0; j < KVP_NR_THINGS; j++)
			has |= user->has[j];
		/* Of others it is no matter whether they have a place. */
		if (!has)
			continue;
		fprintf(out, "uid %u: own limits %u, charged", user->uid, user->own_limits);
		for (j = 0; j < pool->nr_families; j++)
			fprintf(out, " %llu", (u64)user->charged[j]);
		fprintf(out, ", has");
		for (j = 0; j < KVP_NR_THINGS; j++)
			fprintf(out, " %llu", (u64)user->has[j]);
		fputc('\n', out);
	}
}

static void kvpt_write_nodes(FILE *out, struct kvp_pool *pool)
{
	u32 i, j;

	for (i = 0; i < pool->nr_nodes; i++) {
		const struct kvp_node *node = &pool->nodes[i];

		if (node->state == KVP_NODE_FREE)
			continue;
		fprintf(out, "node %u: state %u, parent %x, uses %u, refs %u, extra %x", i,
			node->state,
			node->state == KVP_NODE_PUBLISHED ? node->parent : KVP_NIL,
			node->uses, node->refs, node->extra);
		fprintf(out, ", depth %u, tag %u, cut %u, parts", node->depth, node->tag,
			!!(node->flags & KVP_NODE_CUT));
		for (j = 0; node->state == KVP_NODE_PUBLISHED && j < pool->parts_per_node; j++)
			fprintf(out, " %x", kvp_node_parts(pool, i)[j]);
		fprintf(out, ", tokens");
		for (j = 0; j < kvp_node_nr_tokens(pool, node); j++)
			fprintf(out, " %u", kvp_node_tokens(pool, i)[j]);
		fputc('\n', out);
	}
	fprintf(out, "order of reclaim:");
	for (i = pool->oldest; i != KVP_NIL; i = pool->nodes[i].newer) {
		if (kvp_node_reclaimable_locked(pool, i))
			fprintf(out, " %u", i);
	}
	fputc('\n', out);
}

void kvpt_world_take(struct kvpt_env *env, struct kvp_client *admin,
		     struct kvpt_world *world)
{
	size_t size;
	FILE *out;
	u32 i;

	memset(world, 0, sizeof(*world));
	kvpt_stats_take(admin, &world->stats);
	out = open_memstream(&world->text, &size);
	if (!out)
		kvpt_die(__FILE__, __LINE__, "no memory");
	for (i = 0; i < KVPT_MAX_CLIENTS; i++) {
		if (env->clients[i] && env->clients[i]->pool)
			kvpt_write_client(out, env->clients[i]);
	}
	kvpt_write_pool(out, admin->pool);
	kvpt_write_fenced(out, admin->pool);
	kvpt_write_nodes(out, admin->pool);
	fclose(out);
}

void kvpt_world_drop(struct kvpt_world *world)
{
	kvpt_stats_drop(&world->stats);
	free(world->text);
	world->text = NULL;
}

const char *kvpt_world_diff(const struct kvpt_world *before, const struct kvpt_world *after)
{
	const char *diff = kvpt_stats_diff(&before->stats, &after->stats);
	const char *was = before->text, *is = after->text;
	const char *was_line = was, *is_line = is;

	if (diff)
		return diff;
	for (; *was && *was == *is; was++, is++) {
		if (*was != '\n')
			continue;
		was_line = was + 1;
		is_line = is + 1;
	}
	if (*was == *is)
		return NULL;
	snprintf(kvpt_line, sizeof(kvpt_line), "\n  was %.*s\n  is  %.*s",
		 (int)strcspn(was_line, "\n"), was_line, (int)strcspn(is_line, "\n"), is_line);
	return kvpt_line;
}

int kvpt_create_at(struct kvp_client *client, u32 nr, u64 *seq)
{
	int err = 0;

	while (!err && nr--)
		err = kvpt_create(client, 99, NULL, 0, seq);
	return err;
}

/* ---- pools, tokens ---- */

struct kvp_client *kvpt_pool_with(struct kvpt_env *env, const struct kvp_pool_create *with,
				  const struct kvp_family_desc *families, u32 nr)
{
	struct kvp_client *client = kvpt_open(env, KVPT_OWNER);
	struct kvp_pool_create arg = *with;

	strcpy(arg.name, KVPT_POOL_NAME);
	if (!arg.mode)
		arg.mode = 0666;
	arg.families = (u64)(uintptr_t)families;
	arg.nr_families = nr;
	if (kvpt_do(client, KVP_OP_POOL_CREATE, &arg))
		kvpt_die(__FILE__, __LINE__, "pool: reason %u where %u", arg.head.reason,
			 arg.head.where);
	return client;
}

void kvpt_tokens(u32 *tokens, u32 nr, u32 seed)
{
	u32 i;

	for (i = 0; i < nr; i++)
		tokens[i] = seed * 1000 + i;
}

u64 kvpt_computed(struct kvp_client *client, u32 space, const u32 *tokens, u32 nr)
{
	u64 seq;

	if (kvpt_create(client, space, tokens, nr, &seq) || kvpt_advance(client, seq, nr))
		kvpt_die(__FILE__, __LINE__, "sequence: reason %u", kvpt.head.reason);
	return seq;
}

u64 kvpt_published(struct kvp_client *client, u32 space, const u32 *tokens, u32 nr)
{
	u64 seq = kvpt_computed(client, space, tokens, nr);

	if (kvpt_publish(client, seq))
		kvpt_die(__FILE__, __LINE__, "publish: reason %u", kvpt.head.reason);
	return seq;
}

/* ---- what a sequence has ---- */

u32 kvpt_nulls(struct kvp_client *client, u64 seq, u32 family)
{
	u64 blocks[32];
	u32 mask = 0;
	u32 i;

	kvpt_ok(kvpt_table(client, seq, family, blocks, 32));
	for (i = 0; i < kvpt.table.nr_blocks; i++) {
		if (blocks[i] == KVP_BLOCK_NULL)
			mask |= 1U << i;
		else
			ck_assert_uint_eq(KVP_BLOCK_FAMILY(blocks[i]), family);
	}
	return mask;
}

struct kvp_block_entry kvpt_entry(struct kvp_client *admin, u64 block)
{
	struct kvp_block_entry entry = { };
	struct kvp_block_dump arg = {
		.entries = (u64)(uintptr_t)&entry,
		.nr_entries = 1,
		.family = KVP_BLOCK_FAMILY(block),
		.cursor = KVP_BLOCK_INDEX(block),
	};

	if (kvpt_do(admin, KVP_OP_BLOCK_DUMP, &arg) || arg.nr_entries != 1)
		kvpt_die(__FILE__, __LINE__, "dump: reason %u", arg.head.reason);
	return entry;
}

u32 kvpt_count(struct kvp_client *admin, u64 block)
{
	struct kvp_block_entry entry = kvpt_entry(admin, block);

	if (entry.block != block)
		kvpt_die(__FILE__, __LINE__, "block %llx is %llx now", (unsigned long long)block,
			 (unsigned long long)entry.block);
	return entry.count;
}

static struct kvp_stats kvpt_stats_of(struct kvp_client *client, u64 who,
				      struct kvp_family_stats *families)
{
	struct kvp_stats arg = {
		.client = who,
		.families = (u64)(uintptr_t)families,
		.nr_families = KVP_MAX_FAMILIES,
	};

	if (kvpt_do(client, KVP_OP_STATS, &arg))
		kvpt_die(__FILE__, __LINE__, "stats: reason %u", arg.head.reason);
	return arg;
}

struct kvp_stats kvpt_counters_of(struct kvp_client *client, u64 who)
{
	struct kvp_family_stats families[KVP_MAX_FAMILIES];

	return kvpt_stats_of(client, who, families);
}

struct kvp_family_stats kvpt_family_of(struct kvp_client *client, u64 who, u32 family)
{
	struct kvp_family_stats families[KVP_MAX_FAMILIES];

	kvpt_stats_of(client, who, families);
	return families[family];
}

u64 kvpt_matched(struct kvp_client *client, u32 space, const u32 *tokens, u32 nr)
{
	if (kvpt_match(client, space, tokens, nr, NULL))
		kvpt_die(__FILE__, __LINE__, "match: reason %u", kvpt.head.reason);
	return kvpt.match.matched;
}

/* ---- doors that fail ---- */

int kvpt_fail_write;

static bool kvpt_write_fails(void)
{
	return kvpt_fail_write && !--kvpt_fail_write;
}

static int failing_read(void *dst, u64 addr, size_t len)
{
	return kvp_inproc_door.read(dst, addr, len);
}

static int failing_write(u64 addr, const void *src, size_t len)
{
	if (kvpt_write_fails())
		return -EFAULT;
	return kvp_inproc_door.write(addr, src, len);
}

static void *failing_array_in(u64 addr, size_t len, void *room)
{
	return kvp_inproc_door.array_in(addr, len, room);
}

static void *failing_array_out(u64 addr, size_t len, void *room)
{
	return kvp_inproc_door.array_out(addr, len, room);
}

static void *failing_array_inout(u64 addr, size_t len, void *room)
{
	return kvp_inproc_door.array_inout(addr, len, room);
}

static int failing_array_put(void *mem, void *room, u64 addr, size_t len, bool out)
{
	int err = kvp_inproc_door.array_put(mem, room, addr, len, out);

	return out && kvpt_write_fails() ? -EFAULT : err;
}

const struct kvp_door kvpt_failing_door = {
	.read = failing_read,
	.write = failing_write,
	.array_in = failing_array_in,
	.array_out = failing_array_out,
	.array_inout = failing_array_inout,
	.array_put = failing_array_put,
};

/* ---- into the structures ---- */

struct kvp_pool *kvpt_pool_of(struct kvp_client *client)
{
	return client->pool;
}

struct kvp_seq *kvpt_seq_of(struct kvp_client *client, u64 seq)
{
	struct kvp_seq *found;
	int err;

	spin_lock(&client->pool->lock);
	found = kvp_ids_find_locked(&client->seqs, seq, &err);
	spin_unlock(&client->pool->lock);
	if (IS_ERR_OR_NULL(found))
		kvpt_die(__FILE__, __LINE__, "no sequence %llx", (unsigned long long)seq);
	return found;
}

struct kvp_block *kvpt_block_of(struct kvp_client *client, u64 block)
{
	return &client->pool->family[KVP_BLOCK_FAMILY(block)].blocks[KVP_BLOCK_INDEX(block)];
}

u64 kvpt_force_hash(struct kvp_pool *pool, u32 index, u64 hash)
{
	u32 steps = pool->nodes[index].depth ? (pool->nodes[index].depth - 1) % KVP_HASH_RUN : 0;
	u64 old = pool->nodes[index].hash;
	u32 first = index;

	spin_lock(&pool->lock);
	kvp_hash_del_locked(pool, index);
	pool->nodes[index].hash = hash;
	while (steps--)
		first = pool->nodes[first].parent;
	kvp_hash_add_locked(pool, index, pool->nodes[first].hash);
	spin_unlock(&pool->lock);
	return old;
}

/* ---- running ---- */

int kvpt_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

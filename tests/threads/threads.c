// SPDX-License-Identifier: MIT
/*
 * Threads on one pool, to be run under TSan: each works on a client of its own and on clients
 * that all share; one audits, dumps, lists and follows the events all the while, one makes
 * clients that vanish with all they hold. In the end every block is back.
 *
 *	threads [--threads N] [--ops N] [--seed S] [--long]
 */
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "exportdoor.h"
#include "harness.h"
#include "mirror.h"

#define SHARED		2		/* clients that all threads share */
#define SLOTS		8		/* of each kind of id, a client */
#define MAX_THREADS	16
#define MAX_TOKENS	400
#define UID		2000		/* of all but the owner, with limits of its own */
#define MAX_RAW		40
#define MAX_SLOTS	4000

/*
 * A node has 17 blocks, so that a long sequence is worked on in several holds of the pool's lock,
 * and others come in between.
 */
static const struct kvp_family_desc families[] = {
	KVPT_DENSE(3000, 1), KVPT_WINDOW(150, 16, 40),
};

/* A client and the ids that it has; of a shared one every thread uses them. */
struct person {
	struct kvp_client *client;
	_Atomic u64 seq[SLOTS];
	_Atomic u64 match[SLOTS];
	_Atomic u64 block[SLOTS];
	bool shared;
};

static struct kvpt_env env;
static struct kvp_client *owner;
static struct person shared[SHARED];
static struct kvpt_mirror mirror;	/* of the thread that watches */
static _Atomic s32 files[SLOTS];	/* of exports, 0: none */
static _Atomic u64 exports[SLOTS];	/* ids of such, open or not */
static atomic_uint workers_left;
static u64 ops = 30000;

struct worker {
	pthread_t thread;
	u64 random;
};

static struct kvp_client *join(void)
{
	const struct kvp_cred cred = { .uid = UID, .gid = UID };
	struct kvp_pool_attach arg = { .name = KVPT_POOL_NAME };
	struct kvp_client *client;

	client = kvp_client_open(&env.host, env.door, &cred);
	if (IS_ERR_OR_NULL(client) || kvpt_do(client, KVP_OP_POOL_ATTACH, &arg))
		kvpt_fail("cannot join: reason %u", arg.head.reason);
	return client;
}

/* A result that the contract allows there; of one's own client nobody else works on anything. */
static void check(const struct person *who, const char *what, int err)
{
	switch (-err) {
	case 0:
	case ENOSPC:
		return;
	case EBUSY:
		if (kvpt.head.reason == KVP_REASON_COPY_PENDING || who->shared)
			return;
		break;
	case ENOENT:
	case ESTALE:
	case EINVAL:
		return;
	case EOPNOTSUPP:
		if (kvpt.head.reason == KVP_REASON_WINDOW_RELEASED)
			return;
		break;
	case EPERM:
		if (kvpt.head.reason == KVP_REASON_NOT_HELD ||
		    kvpt.head.reason == KVP_REASON_NO_EXPORT)
			return;
		break;
	case EDQUOT:
		if (kvpt.head.where == KVP_WHERE_UID &&
		    (kvpt.head.reason == KVP_REASON_LIMIT_RAW ||
		     kvpt.head.reason == KVP_REASON_LIMIT_SLOTS))
			return;
		break;
	}
	kvpt_fail("%s: %d reason %u where %u", what, err, kvpt.head.reason, kvpt.head.where);
}

/* Prompts that begin alike, so that they meet in the index. */
static void fill(u64 *random, u32 *tokens)
{
	u32 same = kvpt_below(random, MAX_TOKENS);
	u32 other = kvpt_below(random, 3);
	u32 i;

	for (i = 0; i < MAX_TOKENS; i++)
		tokens[i] = i < same ? 0 : other;
}

/* Often a short one. */
static u32 length(u64 *random)
{
	return 1 + kvpt_below(random, kvpt_below(random, 2) ? MAX_TOKENS : 50);
}

static void make(struct person *who, u64 *random)
{
	const struct kvp_seq_create with = {
		.head.flags = kvpt_below(random, 4) ? 0 : KVP_SEQ_NO_MATCH,
		.reserve = kvpt_below(random, 3),
	};
	u32 tokens[MAX_TOKENS];
	u64 seq, old;
	int err;

	fill(random, tokens);
	err = kvpt_create_with(who->client, &with, kvpt_below(random, 2), tokens,
			       length(random), &seq);
	check(who, "create", err);
	if (err)
		return;
	old = atomic_exchange(&who->seq[kvpt_below(random, SLOTS)], seq);
	if (old)
		check(who, "free", kvpt_free(who->client, old));
}

static void fork_one(struct person *who, u64 *random, u64 seq)
{
	u64 child, old;
	int err = kvpt_fork(who->client, seq, KVP_POS_END, &child);

	check(who, "fork", err);
	if (err)
		return;
	old = atomic_exchange(&who->seq[kvpt_below(random, SLOTS)], child);
	if (old)
		check(who, "free", kvpt_free(who->client, old));
}

static void match_one(struct person *who, u64 *random)
{
	u32 tokens[MAX_TOKENS];
	u64 match, old;
	int err;

	fill(random, tokens);
	err = kvpt_match(who->client, kvpt_below(random, 2), tokens, length(random),
			 &match);
	check(who, "match", err);
	if (err)
		return;
	old = atomic_exchange(&who->match[kvpt_below(random, SLOTS)], match);
	if (old)
		check(who, "release", kvpt_release(who->client, old));
}

static void raw_one(struct person *who, u64 *random, u64 seq)
{
	u64 block = 0, old;
	int err;

	if (kvpt_below(random, 2)) {
		err = kvpt_alloc(who->client, 0, 1, &block);
		check(who, "alloc", err);
	} else {
		err = kvpt_table(who->client, seq, 0, &block, 1);
		check(who, "table", err);
		if (err || !block)
			return;
		err = kvpt_ref_from(who->client, seq, 0, &block, 1);
		check(who, "ref", err);
	}
	if (err)
		return;
	old = atomic_exchange(&who->block[kvpt_below(random, SLOTS)], block);
	if (old)
		check(who, "unref", kvpt_unref(who->client, &old, 1));
}

static void export_one(struct person *who, u64 *random, u64 seq)
{
	u32 slot = kvpt_below(random, SLOTS);
	s32 fd, old;
	int err = kvpt_export(who->client, seq, &fd);

	check(who, "export", err);
	if (err)
		return;
	atomic_store(&exports[slot], kvpt.seq_export.export_id);
	old = atomic_exchange(&files[slot], fd);
	if (old)
		kvpt_export_close(old);
}

/* The file may be closed, or another one by now. */
static void import_one(struct person *who, u64 *random)
{
	s32 fd = atomic_load(&files[kvpt_below(random, SLOTS)]);
	u64 seq, old;
	int err;

	if (!fd)
		return;
	err = kvpt_import(who->client, fd, &seq);
	if (err == -EBADF)
		return;
	/* Others import it, or revoke it, at the same time. */
	if (err != -EBUSY || kvpt.head.reason != KVP_REASON_SEQ_BUSY)
		check(who, "import", err);
	if (err)
		return;
	old = atomic_exchange(&who->seq[kvpt_below(random, SLOTS)], seq);
	if (old)
		check(who, "free", kvpt_free(who->client, old));
}

static void batch_one(struct person *who, u64 *random)
{
	u32 tokens[MAX_TOKENS];
	struct kvp_seq_create create = {
		.head.size = sizeof(create),
		.tokens = (u64)(uintptr_t)tokens,
		.nr_tokens = MAX_TOKENS / 2,
	};
	struct kvp_seq_advance advance = {
		.head.size = sizeof(advance), .seq = KVP_REF(0), .computed = MAX_TOKENS / 2,
	};
	struct kvp_prefix_publish publish = { .head.size = sizeof(publish), .seq = KVP_REF(0) };
	struct kvp_seq_id end = { .head.size = sizeof(end), .seq = KVP_REF(0) };
	struct kvp_batch_entry entries[] = {
		{ KVP_OP_SEQ_CREATE, sizeof(create), (u64)(uintptr_t)&create, 0, 0 },
		{ KVP_OP_SEQ_ADVANCE, sizeof(advance), (u64)(uintptr_t)&advance, 0, 0 },
		{ KVP_OP_PREFIX_PUBLISH, sizeof(publish), (u64)(uintptr_t)&publish, 0, 0 },
		{ KVP_OP_SEQ_FREE, sizeof(end), (u64)(uintptr_t)&end, 0, 0 },
	};

	fill(random, tokens);
	kvpt_digest(0, create.space);
	if (kvpt_batch(who->client, KVP_BATCH_STOP_ON_ERROR, entries, ARRAY_SIZE(entries)))
		kvpt_fail("batch: reason %u", kvpt.head.reason);
	if (entries[0].result && entries[0].result != -ENOSPC && entries[0].result != -EDQUOT)
		kvpt_fail("create in a batch: %d reason %u", entries[0].result,
			  create.head.reason);
	/* Somebody may invalidate the namespace before the publish, which ends the batch. */
	if (entries[2].result == -ESTALE && entries[3].result == -ECANCELED) {
		end.seq = create.seq;
		entries[3].result = kvpt_do(who->client, KVP_OP_SEQ_FREE, &end);
	}
	if (!entries[0].result && entries[3].result)
		kvpt_fail("free in a batch: %d reason %u", entries[3].result, end.head.reason);
}

static void step(struct person *who, u64 *random)
{
	u64 seq = atomic_load(&who->seq[kvpt_below(random, SLOTS)]);
	struct kvp_client *client = who->client;
	u32 tokens[MAX_TOKENS];

	switch (kvpt_below(random, 20)) {
	case 0:
	case 1:
		make(who, random);
		break;
	case 2:
		fork_one(who, random, seq);
		break;
	case 3:
		match_one(who, random);
		break;
	case 4:
		raw_one(who, random, seq);
		break;
	case 5:
		batch_one(who, random);
		break;
	case 6:
	case 7:
		fill(random, tokens);
		check(who, "append", kvpt_append(client, seq, tokens, 1 + kvpt_below(random, 40)));
		break;
	case 8:
		fill(random, tokens);
		check(who, "set tokens", kvpt_set_tokens(client, seq, tokens, 1));
		break;
	case 9:
	case 10:
		check(who, "table", kvpt_table(client, seq, 0, NULL, 0));
		check(who, "advance", kvpt_advance(client, seq, kvpt.table.nr_tokens));
		break;
	case 11:
	case 12:
		check(who, "publish", kvpt_publish(client, seq));
		break;
	case 13:
		check(who, "truncate", kvpt_truncate(client, seq, kvpt_below(random, MAX_TOKENS)));
		break;
	case 14:
		export_one(who, random, seq);
		break;
	case 15:
	case 16:
		import_one(who, random);
		break;
	case 17:
		check(who, "revoke",
		      kvpt_revoke(client, atomic_load(&exports[kvpt_below(random, SLOTS)])));
		break;
	default:
		check(who, "copied", kvpt_copied(client, seq));
	}
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct person own = { .client = join() };
	u64 i;

	for (i = 0; i < ops; i++)
		step(kvpt_below(&worker->random, 3) ? &own :
		     &shared[kvpt_below(&worker->random, SHARED)], &worker->random);
	kvp_client_close(own.client);
	atomic_fetch_sub(&workers_left, 1);
	return NULL;
}

/* Clients that go with all they hold. */
static void *vanish(void *arg)
{
	struct worker *worker = arg;
	u32 i;

	while (atomic_load(&workers_left)) {
		struct person own = { .client = join() };

		for (i = 0; i < 40; i++)
			step(&own, &worker->random);
		kvp_client_close(own.client);
	}
	return NULL;
}

static void *watch(void *arg)
{
	struct kvp_block_entry entries[1024];
	struct kvp_client_entry clients[MAX_THREADS * 2];
	struct worker *worker = arg;
	int err;

	while (atomic_load(&workers_left)) {
		kvpt_audit_clean(owner);
		kvpt_mirror_read(&mirror, owner);
		err = kvpt_dump(owner, kvpt_below(&worker->random, 2), 0, entries,
				ARRAY_SIZE(entries));
		err = err ? err : kvpt_client_list(owner, clients, ARRAY_SIZE(clients));
		err = err ? err : kvpt_stats(owner, 0, NULL, 0);
		err = err ? err : kvpt_stats_uid(owner, UID, NULL, 0);
		if (!err && (kvpt.stats.raw > MAX_RAW || kvpt.stats.slots > MAX_SLOTS))
			kvpt_fail("%llu raw references and %llu slots are beyond the limit",
				  (unsigned long long)kvpt.stats.raw,
				  (unsigned long long)kvpt.stats.slots);
		err = err ? err : kvpt_reclaim(owner, 1 + kvpt_below(&worker->random, 30));
		if (!err && !kvpt_below(&worker->random, 4))
			err = kvpt_invalidate_space(owner, kvpt_below(&worker->random, 2));
		if (err)
			kvpt_fail("watching: %d reason %u", err, kvpt.head.reason);
	}
	return NULL;
}

/* What was published and is still there is what the events have told. */
static void check_mirror(void)
{
	const char *diff;

	kvpt_mirror_read(&mirror, owner);
	diff = kvpt_mirror_diff(&mirror, owner);
	if (diff)
		kvpt_fail("mirror: %s", diff);
}

/* Everything that clients held is back, and what was published can be reclaimed. */
static void check_end(void)
{
	u32 i;

	check_mirror();
	kvpt_ok(kvpt_reclaim(owner, ~0ULL));
	check_mirror();
	printf("threads: %llu events of storing and %llu of removing, lost %llu times\n",
	       (unsigned long long)mirror.nr_stored, (unsigned long long)mirror.nr_removed,
	       (unsigned long long)mirror.nr_resyncs);
	kvpt_ok(kvpt_stats(owner, 0, NULL, 0));
	printf("threads: matched %llu nodes, published %llu, found %llu, reclaimed %llu, copies %llu\n",
	       (unsigned long long)kvpt.stats.matched_nodes,
	       (unsigned long long)kvpt.stats.published_nodes,
	       (unsigned long long)kvpt.stats.shared_nodes,
	       (unsigned long long)kvpt.stats.reclaimed_nodes,
	       (unsigned long long)kvpt.stats.copies);
	if (kvpt.stats.seqs || kvpt.stats.slots || kvpt.stats.raw || kvpt.stats.matches ||
	    kvpt.stats.nodes_published || kvpt.stats.nr_clients != 1)
		kvpt_fail("left: %llu sequences, %llu raw references, %llu matches, %llu nodes",
			  (unsigned long long)kvpt.stats.seqs, (unsigned long long)kvpt.stats.raw,
			  (unsigned long long)kvpt.stats.matches,
			  (unsigned long long)kvpt.stats.nodes_published);
	for (i = 0; i < ARRAY_SIZE(families); i++) {
		if (kvpt_blocks(owner, i, KVP_BLOCK_FREE) != families[i].blocks)
			kvpt_fail("family %u: blocks are missing", i);
	}
	kvpt_audit_clean(owner);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "threads", required_argument, NULL, 't' },
		{ "ops", required_argument, NULL, 'o' },
		{ "seed", required_argument, NULL, 's' },
		{ "long", no_argument, NULL, 'l' },
		{ },
	};
	struct worker workers[MAX_THREADS + 2];
	u32 nr = 4, i;
	u64 seed = 1;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 't')
			nr = atoi(optarg);
		else if (opt == 'o')
			ops = strtoull(optarg, NULL, 0);
		else if (opt == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (opt == 'l')
			ops = 1000000;
		else
			return 2;
	}
	if (!nr || nr > MAX_THREADS)
		return 2;
	kvpt_env_init(&env);
	env.door = kvpt_export_door(&kvp_inproc_door);
	owner = kvpt_pool(&env, families, ARRAY_SIZE(families));
	kvpt_ok(kvpt_limit_uid(owner, UID, KVP_LIMIT_RAW, 0, MAX_RAW));
	kvpt_ok(kvpt_limit_uid(owner, UID, KVP_LIMIT_SLOTS, 0, MAX_SLOTS));
	kvpt_mirror_init(&mirror, owner, 0);
	for (i = 0; i < SHARED; i++) {
		shared[i].client = join();
		shared[i].shared = true;
	}
	atomic_store(&workers_left, nr);
	for (i = 0; i < nr + 2; i++) {
		workers[i].random = seed * 1000 + i;
		if (pthread_create(&workers[i].thread, NULL,
				   i < nr ? work : i == nr ? vanish : watch, &workers[i]))
			kvpt_fail("cannot make thread %u", i);
	}
	for (i = 0; i < nr + 2; i++)
		pthread_join(workers[i].thread, NULL);
	for (i = 0; i < SHARED; i++)
		kvp_client_close(shared[i].client);
	for (i = 0; i < SLOTS; i++)
		if (files[i])
			kvpt_export_close(files[i]);
	check_end();
	kvpt_mirror_exit(&mirror);
	kvpt_env_exit(&env);
	printf("threads: %u threads, %llu operations each, seed %llu: sound\n", nr,
	       (unsigned long long)ops, (unsigned long long)seed);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * What waits for fences, and who works on it, at once, under TSan: clients that come, say what work
 * touches, let go of it and die with work open, while one reaps, audits, and reads timelines as
 * the device's timer does. First in a pool with a grace time of a few milliseconds, then in a
 * strict one. In the end nothing waits and every block is back.
 *
 *	fences [--ops N] [--seed S]
 *
 * Whether what it does succeeds is a matter of chance; that each thing has succeeded is asked.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "exportdoor.h"
#include "fences.h"

#define WORKERS		3
#define SEQS		6		/* of one client */
#define TICKETS		3
#define LIFE		120		/* operations of a client at most */
#define UID		2000
#define GRACE_MS	3

/*
 * A node has 17 blocks, so that a long sequence is worked on in several holds of the pool's lock,
 * and others come in between.
 */
static const struct kvp_family_desc families[] = {
	KVPT_DENSE(2000, 1), KVPT_WINDOW(150, 16, 40),
};

static struct kvpt_env env;
static struct kvp_client *owner;
static u32 tokens[1024];
static _Atomic s32 box;			/* an export for who wants it, 0: none */
static _Atomic u64 lives, audits;
static atomic_uint workers_left;
static u64 ops = 12000;

/* A client, and what it has. @said: the last value that a use said, by timeline. */
struct life {
	struct kvp_client *client;
	u64 *random;
	u32 timeline[2];
	u64 said[2];
	u64 seq[SEQS];
	u64 ticket[TICKETS];
};

static u32 below(struct life *life, u32 n)
{
	return kvpt_below(life->random, n);
}

/* One of its sequences, 0: it has none there. */
static u64 *some_seq(struct life *life)
{
	return &life->seq[below(life, SEQS)];
}

/* ---- what a client does: true if it succeeded ---- */

static bool do_create(struct life *life)
{
	u64 *seq = some_seq(life);

	if (*seq || kvpt_create(life->client, 1 + below(life, 2), tokens, below(life, 500), seq))
		return false;
	if (below(life, 2))
		kvpt_reserve(life->client, *seq, below(life, 40));
	return true;
}

static bool do_free(struct life *life)
{
	u64 *seq = some_seq(life);

	if (!*seq || kvpt_free(life->client, *seq))
		return false;
	*seq = 0;
	return true;
}

static bool do_write(struct life *life)
{
	u64 *seq = some_seq(life);
	u32 i = below(life, 2);

	if (!*seq || kvpt_table(life->client, *seq, 0, NULL, 0))
		return false;
	if (kvpt_use_write(life->client, *seq, life->timeline[i], life->said[i] + 1,
			   kvpt.table.nr_computed, kvpt.table.nr_reserved))
		return false;
	life->said[i]++;
	return true;
}

static bool do_read(struct life *life)
{
	u64 *seq = some_seq(life);

	if (!*seq || kvpt_use_read(life->client, *seq, life->timeline[0], life->said[0] + 1))
		return false;
	life->said[0]++;
	return true;
}

static bool do_pass(struct life *life)
{
	u32 i = below(life, 2);

	if (!life->said[i])
		return false;
	kvpt_pass(life->client, life->timeline[i], life->said[i] - below(life, 2));
	return true;
}

static bool do_publish(struct life *life)
{
	u64 *seq = some_seq(life);

	return *seq && !kvpt_publish(life->client, *seq) && kvpt.publish.published;
}

static bool do_append(struct life *life)
{
	u64 *seq = some_seq(life);
	bool done;

	if (!*seq)
		return false;
	done = !kvpt_append(life->client, *seq, tokens + below(life, 100), 1 + below(life, 60));
	kvpt_copied(life->client, *seq);
	return done;
}

static bool do_fork(struct life *life)
{
	u64 *seq = some_seq(life);
	u64 child;

	if (!*seq || kvpt_fork(life->client, *seq, KVP_POS_END, &child))
		return false;
	kvpt_copied(life->client, child);
	return !kvpt_free(life->client, child);
}

static bool do_truncate(struct life *life)
{
	u64 *seq = some_seq(life);

	if (!*seq || kvpt_table(life->client, *seq, 0, NULL, 0))
		return false;
	return !kvpt_truncate(life->client, *seq, below(life, 1 + kvpt.table.nr_tokens));
}

static bool do_export(struct life *life)
{
	u64 *seq = some_seq(life);
	s32 fd, old;

	if (!*seq || kvpt_export(life->client, *seq, &fd))
		return false;
	old = atomic_exchange(&box, fd);
	if (old)
		kvpt_export_close(old);
	return true;
}

static bool do_import(struct life *life)
{
	s32 fd = atomic_exchange(&box, 0);
	u64 seq;
	bool done;

	if (!fd)
		return false;
	done = !kvpt_import(life->client, fd, &seq) && !kvpt_free(life->client, seq);
	kvpt_export_close(fd);
	return done;
}

static bool do_raw(struct life *life)
{
	bool done = true;
	u64 raw[2];
	u32 i;

	if (kvpt_alloc(life->client, 0, 2, raw))
		return false;
	for (i = 0; done && i < 2; i++) {
		done = !kvpt_use_block(life->client, raw[i], life->timeline[i],
				       life->said[i] + 1);
		life->said[i] += done;
	}
	return !kvpt_unref(life->client, raw, 2) && done;
}

static bool do_ticket(struct life *life)
{
	u64 *ticket = &life->ticket[below(life, TICKETS)];

	if (!*ticket) {
		kvpt_admit_queue(life->client, 0, 1 + below(life, 800), ticket);
		return false;
	}
	if (kvpt_admit_take(life->client, *ticket)) {
		if (!below(life, 3) && !kvpt_admit_cancel(life->client, *ticket))
			*ticket = 0;
		return false;
	}
	*ticket = 0;
	return !kvpt_admit_drop(life->client, 0, 1);
}

static bool do_watch(struct life *life)
{
	if (!below(life, 8))
		kvp_client_scan(life->client);
	return life->said[0] &&
	       !kvpt_watch(life->client, life->timeline[0], life->said[0]);
}

static const struct {
	const char *name;
	bool (*fn)(struct life *life);
	u32 weight;
} things[] = {
	{ "create", do_create, 4 }, { "free", do_free, 2 }, { "write", do_write, 4 },
	{ "read", do_read, 2 }, { "pass", do_pass, 3 }, { "publish", do_publish, 2 },
	{ "append", do_append, 2 }, { "fork", do_fork, 2 }, { "truncate", do_truncate, 2 },
	{ "export", do_export, 2 }, { "import", do_import, 2 }, { "raw", do_raw, 2 },
	{ "ticket", do_ticket, 3 }, { "watch", do_watch, 2 },
};

static _Atomic u64 succeeded[ARRAY_SIZE(things)];

static void do_something(struct life *life)
{
	u32 sum = 0;
	u32 at, i;

	for (i = 0; i < ARRAY_SIZE(things); i++)
		sum += things[i].weight;
	at = below(life, sum);
	for (i = 0; at >= things[i].weight; i++)
		at -= things[i].weight;
	if (things[i].fn(life))
		atomic_fetch_add(&succeeded[i], 1);
}

/* ---- threads ---- */

static struct kvp_client *join(void)
{
	const struct kvp_cred cred = { .uid = UID, .gid = UID };
	struct kvp_pool_attach arg = { .name = KVPT_POOL_NAME };
	struct kvp_client *client = kvp_client_open(&env.host, env.door, &cred);

	if (!client || kvpt_do(client, KVP_OP_POOL_ATTACH, &arg))
		kvpt_fail("cannot join: reason %u", arg.head.reason);
	return client;
}

static void *work(void *arg)
{
	u64 left = ops;
	u32 nr;

	while (left) {
		struct life life = { .client = join(), .random = arg };

		life.timeline[0] = kvpt_timeline(life.client);
		life.timeline[1] = kvpt_timeline(life.client);
		nr = min_t(u64, left, 1 + below(&life, LIFE));
		left -= nr;
		while (nr--)
			do_something(&life);
		kvp_client_close(life.client);
		atomic_fetch_add(&lives, 1);
	}
	atomic_fetch_sub(&workers_left, 1);
	return NULL;
}

static void *keep(void *arg)
{
	const struct timespec nap = { .tv_nsec = 500000 };

	while (atomic_load(&workers_left)) {
		if (!kvpt_below(arg, 3))
			kvpt_ok(kvpt_reap(owner, 0));
		kvpt_audit_clean(owner);
		atomic_fetch_add(&audits, 1);
		kvp_host_scan(&env.host);
		nanosleep(&nap, NULL);
	}
	return NULL;
}

/* ---- one pool ---- */

static void check_end(void)
{
	const struct kvp_pool *pool = owner->pool;
	u32 i;

	kvpt_ok(kvpt_reap(owner, 0));
	kvpt_ok(kvpt_reclaim(owner, ~0ULL));
	kvpt_audit_clean(owner);
	if (pool->nr_fenced || pool->nr_fenced_dead || pool->nr_waits || pool->nr_queued)
		kvpt_fail("left: %u fenced, %u of the dead, %u waits, %u tickets",
			  pool->nr_fenced, pool->nr_fenced_dead, pool->nr_waits,
			  pool->nr_queued);
	for (i = 0; i < ARRAY_SIZE(families); i++)
		if (kvpt_blocks(owner, i, KVP_BLOCK_FREE) != families[i].blocks)
			kvpt_fail("family %u: blocks are missing", i);
	if (kvpt_exports_open())
		kvpt_fail("left: %u exports", kvpt_exports_open());
}

static struct kvp_client *make_pool(const struct kvp_pool_create *with)
{
	struct kvp_client *client = kvpt_open(&env, KVPT_OWNER);
	struct kvp_pool_create arg = *with;

	strcpy(arg.name, KVPT_POOL_NAME);
	arg.families = kvpt_addr(families);
	arg.nr_families = ARRAY_SIZE(families);
	arg.mode = 0666;
	if (kvpt_do(client, KVP_OP_POOL_CREATE, &arg))
		kvpt_fail("no pool: reason %u", arg.head.reason);
	return client;
}

static void play(const struct kvp_pool_create *with, u64 seed)
{
	pthread_t threads[WORKERS + 1];
	u64 random[WORKERS + 1];
	s32 fd;
	u32 i;

	kvpt_env_init(&env);
	env.door = kvpt_export_door(&kvp_inproc_door);
	owner = make_pool(with);
	atomic_store(&workers_left, WORKERS);
	for (i = 0; i <= WORKERS; i++) {
		random[i] = seed * 1000 + i;
		if (pthread_create(&threads[i], NULL, i < WORKERS ? work : keep, &random[i]))
			kvpt_fail("cannot make thread %u", i);
	}
	for (i = 0; i <= WORKERS; i++)
		pthread_join(threads[i], NULL);
	fd = atomic_exchange(&box, 0);
	if (fd)
		kvpt_export_close(fd);
	check_end();
	kvpt_env_exit(&env);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "ops", required_argument, NULL, 'o' },
		{ "seed", required_argument, NULL, 's' },
		{ },
	};
	u64 seed = 1;
	int opt;
	u32 i;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'o')
			ops = strtoull(optarg, NULL, 0);
		else if (opt == 's')
			seed = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	for (i = 0; i < ARRAY_SIZE(tokens); i++)
		tokens[i] = i;
	play(&(struct kvp_pool_create){ .grace_ms = GRACE_MS }, seed);
	play(&(struct kvp_pool_create){ .head.flags = KVP_POOL_STRICT }, seed + 1);
	for (i = 0; i < ARRAY_SIZE(things); i++) {
		printf("%s %llu%s", things[i].name, (unsigned long long)succeeded[i],
		       i + 1 < ARRAY_SIZE(things) ? ", " : "\n");
		if (!succeeded[i])
			kvpt_fail("%s has never succeeded", things[i].name);
	}
	printf("fences: %llu lives, %llu audits, %llu operations each, seed %llu: sound\n",
	       (unsigned long long)lives, (unsigned long long)audits, (unsigned long long)ops,
	       (unsigned long long)seed);
	return 0;
}

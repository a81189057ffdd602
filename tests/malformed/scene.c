// SPDX-License-Identifier: MIT
/*
 * Scenes: a pool with three clients, a few hundred calls, and its end, after which every block is
 * free and every counter as at the begin. The pool is the process's own, or one of all processes;
 * then who looks at the end is the parent. Owns the clients.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"

#define AUDIT_EVERY	250		/* calls */
#define SCENE_CALLS	400
#define WAIT_MS		20000

__u64 mf_call_number;
char mf_pool_name[KVP_NAME_LEN];

static struct ct_conn *watcher;		/* looks at a pool until it is empty; ADMIN */
static struct mf_call current;
static int first_fd;			/* from here on descriptors are a scene's */

int mf_plain(struct ct_conn *conn, __u32 nr, void *arg, __u32 len)
{
	struct kvp_head *head = arg;
	struct mf_call mf;

	memset(&mf, 0, offsetof(struct mf_call, target));
	head->size = len;
	mf.addr = (uintptr_t)arg;
	mf.len = len;
	mf.cmd = KVP_IOC(nr);
	mf.entrance = MF_IOCTL;
	return mf_door->call(conn, &mf);
}

/* ---- what must hold ---- */

/* Whoever may audit; -EIO: the pool was destroyed. */
static int audit(struct ct_conn *conn)
{
	struct kvp_finding finding = { };
	struct kvp_audit arg = { .findings = (uintptr_t)&finding, .nr_findings = 1 };
	int err = mf_do(conn, KVP_OP_AUDIT, &arg);

	if (err)
		return err;
	if (arg.total)
		mf_wrong(&current, "audit: %llu findings: kind %u family %d id %llu, %llu not %llu",
			 arg.total, finding.kind, (int)finding.family, finding.id, finding.found,
			 finding.expected);
	mf_count(&mf_counts->audits);
	return 0;
}

static int pool_stats(struct kvp_stats *stats, struct kvp_family_stats *families)
{
	memset(stats, 0, sizeof(*stats));
	stats->families = (uintptr_t)families;
	stats->nr_families = KVP_MAX_FAMILIES;
	return mf_do(watcher, KVP_OP_STATS, stats);
}

static bool all_free(const struct kvp_stats *stats, const struct kvp_family_stats *families)
{
	__u32 i;

	for (i = 0; i < stats->nr_families; i++)
		if (families[i].state[KVP_BLOCK_FREE] + families[i].state[KVP_BLOCK_RETIRED] !=
		    families[i].total || families[i].charged || families[i].published ||
		    families[i].held_back || families[i].reserve)
			return false;
	return !stats->seqs && !stats->slots && !stats->raw && !stats->matches &&
	       !stats->nodes_used && !stats->extras_used && !stats->zombies && !stats->uses &&
	       !stats->tickets && !stats->quarantined && !stats->exports;
}

/* What is published is nobody's, and what waits for work of the dead is said to be over. */
static void take_back(void)
{
	struct kvp_prefix_reclaim reclaim = { .nodes = ~0ULL };
	struct kvp_reap reap = { };

	mf_do(watcher, KVP_OP_REAP, &reap);
	mf_do(watcher, KVP_OP_PREFIX_RECLAIM, &reclaim);
}

/* The pool that @watcher looks at is as it was made, as soon as all others are gone. */
static void check_empty(void)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	struct kvp_family_stats families[KVP_MAX_FAMILIES];
	struct kvp_stats stats;
	__u32 naps;
	int err;

	for (naps = 0; naps < WAIT_MS; naps++) {
		take_back();
		err = pool_stats(&stats, families);
		if (err == -EIO)
			return;
		if (err)
			mf_wrong(&current, "stats of the pool: %d", err);
		if (stats.nr_clients == 1 && all_free(&stats, families)) {
			audit(watcher);
			mf_count(&mf_counts->empties);
			return;
		}
		nanosleep(&nap, NULL);
	}
	fprintf(stderr, "%u clients, %llu sequences, %llu raw, %llu matches, %llu nodes, ",
		stats.nr_clients, stats.seqs, stats.raw, stats.matches, stats.nodes_used);
	fprintf(stderr, "%llu digests, %llu uses, %llu exports; family 0: %llu of %llu free\n",
		stats.extras_used, stats.uses, stats.exports, families[0].state[KVP_BLOCK_FREE],
		families[0].total);
	mf_wrong(&current, "the pool is not empty");
}

static int attach(struct ct_conn *conn, const char *name, __u64 *client)
{
	struct kvp_pool_attach arg = { };
	int err;

	strcpy(arg.name, name);
	err = mf_do(conn, KVP_OP_POOL_ATTACH, &arg);
	*client = arg.client;
	return err;
}

/* A client that looks on at the scene's pool; false: there is none, or none that lets it. */
static bool watcher_begin(void)
{
	__u64 client;

	watcher = mf_door->open(0);
	if (!attach(watcher, mf_pool_name, &client))
		return true;
	mf_door->close(watcher);
	watcher = NULL;
	return false;
}

static void watcher_end(void)
{
	mf_door->close(watcher);
	watcher = NULL;
}

/* ---- clients ---- */

static void slot_open(__u32 i, __u32 uid)
{
	struct st_slot *slot = &st.slot[i];

	memset(slot, 0, sizeof(*slot));
	slot->uid = uid;
	slot->conn = mf_door->open(uid);
}

static void slot_attach(struct st_slot *slot)
{
	slot->attached = !attach(slot->conn, mf_pool_name, &slot->client);
}

static void slot_close(__u32 i)
{
	st.dead = st.slot[i].client;
	mf_door->close(st.slot[i].conn);
	st.slot[i].conn = NULL;
}

static void pool_make(__u32 scene, struct ct_conn *conn)
{
	struct kvp_pool_create *arg;
	struct ct_call call;

	ct_arena_reset();
	st_scene_make(scene);
	st_pool_make(&call, scene);
	arg = (void *)call.before;
	strcpy(arg->name, mf_pool_name);
	arg->head.flags &= ~KVP_POOL_STAGED;
	if (mf_plain(conn, KVP_OP_POOL_CREATE, arg, sizeof(*arg)))
		ct_die("the pool %s cannot be made", mf_pool_name);
}

static void destroy(const char *name)
{
	struct kvp_pool_destroy arg = { .head.flags = KVP_DESTROY_FORCE };
	struct ct_conn *conn = mf_door->open(0);

	strcpy(arg.name, name);
	mf_do(conn, KVP_OP_POOL_DESTROY, &arg);
	mf_door->close(conn);
}

/* Pools that calls made, whatever became of them; the persistent ones among them stay. */
static void destroy_others(bool shared)
{
	const char *const names[] = { "kc-b", "kc-c", "kc-a" };
	char name[KVP_NAME_LEN];
	__u32 i;

	for (i = 0; i < CT_SIZE(names) - shared; i++) {
		strcpy(name, names[i]);
		name[1] = mf_pool_name[1];
		destroy(name);
	}
}

/* ---- one scene ---- */

static void scene_begin(__u32 scene, bool shared)
{
	__u32 i;

	slot_open(0, 0);
	slot_open(1, st_once(2) ? ST_GUEST_UID + 2 : 0);
	slot_open(2, ST_GUEST_UID);
	if (shared)
		st_scene_make(scene);
	else
		pool_make(scene, st.slot[0].conn);
	st.device = true;
	if (shared)
		slot_attach(&st.slot[0]);
	else
		st.slot[0].attached = true;
	for (i = 1; i < ST_SLOTS; i++)
		if (!st_once(3))
			slot_attach(&st.slot[i]);
	if (!st_once(3))
		mf_pages_map(st.slot[0].conn);
}

/* The pool must not go each time that a call names it; of its own ones a process may end any. */
static void spare_pool(struct mf_call *mf)
{
	__u8 *name = mf->call.arg + offsetof(struct kvp_pool_destroy, name);

	if (mf->call.nr == KVP_OP_POOL_DESTROY &&
	    mf->target[0].readable >= sizeof(struct kvp_pool_destroy) &&
	    !strcmp((char *)name, mf_pool_name) && !st_once(20))
		memcpy(name, "kc-none", 8);
}

/* What the stream's clients have now. */
static void learn(struct mf_call *mf)
{
	const struct st_maker *maker = st_maker_find(mf->call.nr);
	__u32 i;

	for (i = 0; i < mf->nr_targets; i++)
		if (mf->target[i].readable < mf_readable(mf->target[i].call))
			mf->target[i].call->arg = mf->target[i].home;
	if (mf->result || mf->target[0].blind || mf->other_file || !mf->call.op ||
	    (mf->nr_targets > 1 && mf->target[1].blind))
		return;
	ct_call_take(&mf->call);
	if (mf->call.nr == KVP_OP_BATCH) {
		if (!mf_entries_there(mf))
			return;
		st_batch_take(&mf->call);
	}
	if (maker && maker->learn)
		maker->learn(mf->slot, &mf->call);
}

/* Returns what it answered. */
static int one_call(void)
{
	__u32 pick = st_below(100);
	struct st_slot *slot = &st.slot[pick < 60 ? 0 : pick < 85 ? 1 : 2];
	struct mf_call *mf = &current;

	mf_call_number++;
	mf_make(mf, slot);
	spare_pool(mf);
	mf_judge_before(mf);
	mf_send(mf);
	mf_judge(mf);
	learn(mf);
	return slot == &st.slot[0] ? mf->result : 0;
}

/* A client that has lost its pool, or ended, is of no more use. */
static bool over(int result)
{
	return result == -EIO || result == -EOWNERDEAD;
}

static __u64 scene_calls(__u64 most)
{
	__u64 calls = 0;

	while (calls < most) {
		__u32 i = 1 + st_below(2);

		calls++;
		if (over(one_call()))
			break;
		if (st_once(60)) {
			slot_close(i);
			slot_open(i, st.slot[i].uid);
			if (!st_once(4))
				slot_attach(&st.slot[i]);
		}
		if (!st.slot[0].attached)
			slot_attach(&st.slot[0]);
		if (!(mf_call_number % AUDIT_EVERY))
			audit(st.slot[0].conn);
	}
	return calls;
}

static void scene_end(bool shared)
{
	const bool watched = !shared && watcher_begin();
	__u32 i;

	/* The end of its mapping is that of the client. */
	if (st_once(2))
		mf_pages_unmap();
	for (i = 0; i < ST_SLOTS; i++)
		slot_close(i);
	mf_pages_unmap();
	st_exports_close(0);
	mf_door->sweep(first_fd, watched ? watcher->fd : -1);
	if (watched) {
		check_empty();
		watcher_end();
	}
	destroy_others(shared);
	mf_wide_clear();
	mf_count(&mf_counts->scenes);
}

/* The makers' own descriptors are not a scene's: they are made before the first one. */
static void make_files(void)
{
	struct ct_call call;
	__u32 i;

	st.device = true;
	for (i = 0; i < 100; i++) {
		ct_arena_reset();
		ct_call_begin(&call, KVP_OP_BACKING_ADD);
		st_maker_find(KVP_OP_BACKING_ADD)->make(&st.slot[0], &call);
		ct_call_begin(&call, KVP_OP_SEQ_IMPORT);
		st_maker_find(KVP_OP_SEQ_IMPORT)->make(&st.slot[0], &call);
	}
	first_fd = dup(STDOUT_FILENO);
	close(first_fd);
}

void mf_run(__u64 seed, __u32 process, __u64 calls, bool shared, __u32 scene)
{
	const char digit = shared ? 'c' : 'A' + process % 26;

	st.random = seed;
	mf_names(digit);
	strcpy(mf_pool_name, "kc-a");
	mf_pool_name[1] = digit;
	make_files();
	while (calls) {
		__u64 most = SCENE_CALLS / 2 + st_below(SCENE_CALLS);

		scene_begin(scene, shared);
		calls -= scene_calls(most < calls ? most : calls);
		scene_end(shared);
		scene += !shared;
	}
}

/* ---- the pool of all processes ---- */

void mf_shared_begin(__u64 seed, __u32 scene)
{
	st.random = seed;
	strcpy(mf_pool_name, "kc-a");
	watcher = mf_door->open(0);
	pool_make(scene, watcher);
}

void mf_shared_end(void)
{
	check_empty();
	watcher_end();
	destroy(mf_pool_name);
}

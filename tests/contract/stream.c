// SPDX-License-Identifier: MIT
/*
 * The random stream: scenes, each a pool with up to three clients that come and go, until so many
 * calls are made. Every scene ends with a clean audit, and leaves nothing on the host.
 */
#include <errno.h>
#include <string.h>

#include "stream.h"

#define FEW		8	/* calls that make a point */
#define NO_REASON	127

struct st_stream st;

/* ---- pools ---- */

#define DENSE(blocks_, tokens_)							\
	{ .name = "dense", .kind = KVP_FAMILY_DENSE, .block_tokens = (tokens_),	\
	  .blocks = (blocks_), .block_bytes = 64, .dtype = KVP_DTYPE_F16 }
#define WINDOW(blocks_, tokens_, window_)					\
	{ .name = "window", .kind = KVP_FAMILY_WINDOW, .block_tokens = (tokens_), \
	  .blocks = (blocks_), .block_bytes = 32, .window = (window_) }
#define STATE(blocks_)								\
	{ .kind = KVP_FAMILY_STATE, .block_tokens = 1, .blocks = (blocks_), .block_bytes = 128 }

static const struct shape {
	struct kvp_family_desc family[3];
	__u32 nr;
	__u32 index_tokens;
	__u32 nodes;
	__u32 extras;
} shapes[] = {
	{ .nr = 1, .index_tokens = 4, .extras = 6, .family = { DENSE(48, 4) } },
	{ .nr = 2, .index_tokens = 4, .family = { DENSE(32, 4), WINDOW(28, 2, 5) } },
	{ .nr = 2, .index_tokens = 4, .extras = 5, .family = { DENSE(24, 4), STATE(6) } },
	{ .nr = 1, .index_tokens = 2, .extras = 4, .family = { DENSE(6, 2) } },
	{ .nr = 3, .index_tokens = 4, .family = { DENSE(40, 2), DENSE(20, 4), WINDOW(24, 4, 8) } },
	{ .nr = 1, .index_tokens = 4, .family = { WINDOW(24, 4, 10) } },
	{ .nr = 1, .index_tokens = 1, .nodes = 12, .extras = 4, .family = { DENSE(40, 1) } },
	{ .nr = 1, .index_tokens = 8, .family = { DENSE(64, 4) } },
};

/* Tokens of the family that is full first. */
static __u32 capacity(const struct shape *shape)
{
	__u32 least = ~0U;
	__u32 i, tokens;

	for (i = 0; i < shape->nr; i++) {
		tokens = shape->family[i].blocks * shape->family[i].block_tokens;
		if (shape->family[i].kind != KVP_FAMILY_STATE && tokens < least)
			least = tokens;
	}
	return least;
}

/* ---- choices ---- */

void st_remember_old(__u64 id)
{
	if (id)
		st.old[st.nr_old++ % ST_OLD] = id;
}

__u64 st_wrong_id(void)
{
	switch (st_below(12)) {
	case 0:
		return 0;
	case 1:
	case 2:
		return (5ULL << 32) | 999;
	case 3:
		return KVP_REF(st_below(3));
	default:
		return st.old[st_below(ST_OLD)];
	}
}

struct st_seq *st_pick_seq(struct st_slot *slot, __u64 *id)
{
	struct st_seq *seq;

	if (!slot->nr_seqs || st_once(16)) {
		*id = st_wrong_id();
		return NULL;
	}
	/* New ones are more interesting. */
	seq = &slot->seq[st_below(slot->nr_seqs)];
	if (st_once(2))
		seq = &slot->seq[slot->nr_seqs - 1];
	*id = seq->id;
	return seq;
}

__u32 st_pick_family(void)
{
	return st_once(24) ? st_below(20) : st_below(st.nr_families);
}

const char *st_pick_name(void)
{
	static const char *const names[] = { "kc-a", "kc-b", "kc-c", "kc-none", "" };

	return names[st_below(CT_SIZE(names))];
}

/* ---- makers ---- */

static const struct st_maker *const makers[] = {
	st_pool_makers, st_block_makers, st_seq_makers, st_prefix_makers, st_fence_makers,
	st_admit_makers, st_watch_makers, st_batch_makers, st_remap_makers, st_export_makers,
};

static __u32 nr_makers(void)
{
	return CT_SIZE(makers) - !st.device;
}

const struct st_maker *st_maker_find(__u32 nr)
{
	const struct st_maker *maker;
	__u32 i;

	for (i = 0; i < nr_makers(); i++)
		for (maker = makers[i]; maker->weight; maker++)
			if (maker->nr == nr)
				return maker;
	return NULL;
}

const struct st_maker *st_maker_pick(bool batched)
{
	const struct st_maker *maker;
	__u32 total = 0;
	__u32 i, pick;

	for (i = 0; i < nr_makers(); i++)
		for (maker = makers[i]; maker->weight; maker++)
			total += batched && maker->alone ? 0 : maker->weight;
	pick = st_below(total);
	for (i = 0; i < nr_makers(); i++) {
		for (maker = makers[i]; maker->weight; maker++) {
			if (batched && maker->alone)
				continue;
			if (pick < maker->weight)
				return maker;
			pick -= maker->weight;
		}
	}
	ct_die("no operation to pick");
}

void st_call_make(struct st_slot *slot, struct ct_call *call, __u32 nr)
{
	const struct st_maker *maker = st_maker_find(nr);
	struct kvp_head *head = (void *)call->before;

	ct_call_begin(call, nr);
	if (maker && maker->make)
		maker->make(slot, call);
	if (st_once(12))
		st_spoil(call);
	/* What stood there before a call says nothing. */
	if (st_once(4)) {
		head->reason = NO_REASON;
		head->where = 77;
	}
	ct_call_place(call);
}

/* ---- calls ---- */

static void forget_client(struct st_slot *slot)
{
	struct ct_conn *conn = slot->conn;
	__u32 uid = slot->uid;

	memset(slot, 0, sizeof(*slot));
	slot->conn = conn;
	slot->uid = uid;
}

/* After the call was made: print it, and learn. */
static void finish(struct st_slot *slot, struct ct_call *call)
{
	const struct st_maker *maker = st_maker_find(call->nr);
	bool ran = call->nr == KVP_OP_BATCH && !call->result;

	if (ran)
		st_batch_take(call);
	ct_print_call(slot - st.slot, call, ran ? st_entries : NULL);
	if (!call->result && maker && maker->learn)
		maker->learn(slot, call);
}

/*
 * What follows when fences pass comes by itself: sooner or later, and by a timer of the device's.
 * Whoever looks brings it at once, and the end of that call serves who waits.
 */
static void settle(struct st_slot *slot)
{
	struct kvp_stats arg;
	__u32 i;

	for (i = 0; i < 2; i++) {
		memset(&arg, 0, sizeof(arg));
		arg.head.size = sizeof(arg);
		ct_door->call(slot->conn, KVP_OP_STATS, &arg, sizeof(arg));
	}
}

static void send(struct st_slot *slot, struct ct_call *call)
{
	ct_call_send(slot->conn, call);
	finish(slot, call);
	if (call->nr == KVP_OP_SIGNAL)
		settle(slot);
}

/* What a fault has left, for all to see. */
static void show_counters(struct st_slot *slot)
{
	struct ct_call call;

	ct_arena_reset();
	ct_call_begin(&call, KVP_OP_STATS);
	ct_call_array(&call, 0, KVP_MAX_FAMILIES);
	ct_call_place(&call);
	send(slot, &call);
}

/* A call through memory that faults takes no descriptor. */
static bool do_fault(struct st_slot *slot, struct ct_call *call)
{
	int clients = ct_device_files();
	__u32 files = st_files();

	if (!st_fault_send(slot->conn, call))
		return false;
	if (call->result && st_files() != files)
		ct_die("%s failed and left a descriptor", call->op->name);
	/* An export that is undone by a worker of a ring ends when that has time. */
	if (call->result)
		ct_device_wait(clients);
	finish(slot, call);
	if (call->nr == KVP_OP_SIGNAL)
		settle(slot);
	show_counters(slot);
	return true;
}

static int do_op(struct st_slot *slot, __u32 nr)
{
	static struct ct_call call;

	ct_arena_reset();
	st_call_make(slot, &call, nr);
	if (!st.device || !slot->attached || !st_once(5) || !do_fault(slot, &call))
		send(slot, &call);
	return call.result;
}

/* A call that is as it should be; the stream goes on only if it went well. */
static void must(struct st_slot *slot, struct ct_call *call)
{
	ct_call_place(call);
	send(slot, call);
	if (call->result)
		ct_die("%s returned %d", call->op->name, call->result);
}

static void client_open(__u32 i, __u32 uid)
{
	struct st_slot *slot = &st.slot[i];

	memset(slot, 0, sizeof(*slot));
	slot->uid = uid;
	slot->conn = ct_door->open(uid);
	ct_say("s%u opens uid %u", i, uid);
}

static void client_close(__u32 i)
{
	struct st_slot *slot = &st.slot[i];

	st.dead = slot->client;
	ct_door->close(slot->conn);
	slot->conn = NULL;
	ct_say("s%u closes", i);
}

/* ---- scenes ---- */

void st_pool_make(struct ct_call *call, __u32 scene)
{
	const struct shape *shape = &shapes[scene % CT_SIZE(shapes)];
	struct kvp_pool_create *arg = (void *)call->before;

	ct_call_begin(call, KVP_OP_POOL_CREATE);
	strcpy(arg->name, "kc-a");
	memcpy(ct_call_array(call, 0, shape->nr), shape->family,
	       shape->nr * sizeof(shape->family[0]));
	arg->mode = st_once(4) ? 0640 : st_once(4) ? 0600 : 0666;
	arg->index_tokens = st_once(4) ? 0 : shape->index_tokens;
	arg->nodes = shape->nodes;
	arg->extras = shape->extras;
	if (st.slot[0].uid == 0 && st_once(3))
		arg->head.flags |= KVP_POOL_PERSISTENT;
	if (st_once(3))
		arg->head.flags |= KVP_POOL_STAGED;
	/* With a grace time it would depend on time what comes back when. */
	arg->head.flags |= KVP_POOL_STRICT;
}

void st_scene_make(__u32 scene)
{
	const struct shape *shape = &shapes[scene % CT_SIZE(shapes)];

	memset(st.old, 0, sizeof(st.old));
	st.nr_limits = 0;
	st.nr_families = shape->nr;
	st.capacity = capacity(shape);
	st.index_tokens = shape->index_tokens;
}

static void scene_begin(__u32 scene)
{
	struct ct_call call;
	__u32 i;

	st_scene_make(scene);
	client_open(0, st_once(4) ? ST_GUEST_UID + 1 : 0);
	client_open(1, st_once(2) ? ST_GUEST_UID + 2 : st.slot[0].uid);
	client_open(2, ST_GUEST_UID);
	for (i = 0; i < FEW; i++)
		do_op(&st.slot[st_below(2) ? 0 : 2], st_maker_pick(true)->nr);
	ct_arena_reset();
	st_pool_make(&call, scene);
	must(&st.slot[0], &call);
}

/* What a client that is attached to nothing can do, and cannot. */
__u32 st_unattached_op(void)
{
	static const __u32 nrs[] = {
		KVP_OP_POOL_ATTACH, KVP_OP_POOL_ATTACH, KVP_OP_POOL_ATTACH, KVP_OP_POOL_LIST,
		KVP_OP_ABI, KVP_OP_POOL_CREATE, KVP_OP_POOL_DESTROY,
	};

	return st_once(8) ? st_maker_pick(false)->nr : nrs[st_below(CT_SIZE(nrs))];
}

/* What goes on with a remap: it is soon over. */
static __u32 remap_op(void)
{
	static const __u32 nrs[] = {
		KVP_OP_REMAP_MOVES, KVP_OP_USE, KVP_OP_REMAP_COMMIT, KVP_OP_REMAP_COMMIT,
		KVP_OP_REMAP_ABORT,
	};

	return nrs[st_below(CT_SIZE(nrs))];
}

__u32 st_attached_op(const struct st_slot *slot)
{
	static const __u32 unknown[] = {
		0x0a, 0x0f, 0x14, 0x2d, 0x34, 0x45, 0x65, 0x71, 0x85, 0x91, 0xff,
	};

	if (st_once(100))
		return unknown[st_below(CT_SIZE(unknown))];
	if (st_once(3) && st_pick_remapped(slot))
		return remap_op();
	if (!slot->nr_seqs && st_once(3))
		return KVP_OP_SEQ_CREATE;
	if (!slot->nr_matches && st_once(12))
		return KVP_OP_PREFIX_MATCH;
	if (slot->nr_seqs > ST_MAX_SEQS / 2 && st_once(2))
		return KVP_OP_SEQ_FREE;
	if (slot->nr_matches > ST_MAX_MATCHES / 2 && st_once(3))
		return KVP_OP_PREFIX_RELEASE;
	if (slot->nr_raw > 24 && st_once(3))
		return KVP_OP_BLOCK_UNREF;
	if (!slot->nr_timelines && st_once(6))
		return KVP_OP_TIMELINE_CREATE;
	if (slot->nr_tickets && st_once(12))
		return KVP_OP_ADMIT;
	return st_maker_pick(false)->nr;
}

static void set_limit(__u64 client, __u32 bit, bool low)
{
	struct ct_call call;

	ct_arena_reset();
	st_limit_make(&call, client, bit, low);
	send(&st.slot[0], &call);
}

/* What meets one limit of the maker, or of others a guarantee, and what does so no more. */
static void limit_story(void)
{
	static const struct {
		__u32 bit;
		__u32 nr;
		__u32 victim;
	} stories[] = {
		{ KVP_LIMIT_BLOCKS, KVP_OP_BLOCK_ALLOC, 0 },
		{ KVP_LIMIT_GUARANTEE, KVP_OP_SEQ_CREATE, 1 },
		{ KVP_LIMIT_SLOTS, KVP_OP_SEQ_APPEND, 0 },
		{ KVP_LIMIT_SEQS, KVP_OP_SEQ_FORK, 0 },
		{ KVP_LIMIT_RAW, KVP_OP_BLOCK_REF, 0 },
		{ KVP_LIMIT_MATCHES, KVP_OP_PREFIX_MATCH, 0 },
		{ KVP_LIMIT_METADATA, KVP_OP_SEQ_CREATE, 0 },
		{ KVP_LIMIT_BACKINGS, KVP_OP_BACKING_ADD, 0 },
		{ KVP_LIMIT_TICKETS, KVP_OP_ADMIT, 0 },
		{ KVP_LIMIT_EXPORTS, KVP_OP_SEQ_EXPORT, 0 },
	};
	__u32 i = st_below(CT_SIZE(stories) - !st.device);
	__u64 client = st.slot[stories[i].victim].client;
	__u32 k;

	if (!client)
		return;
	set_limit(client, stories[i].bit, true);
	for (k = 0; k < FEW; k++)
		do_op(&st.slot[0], stories[i].nr);
	set_limit(client, stories[i].bit, false);
}

/* More timelines than there can be. */
static void timeline_story(void)
{
	__u32 k;

	for (k = 0; k < KVP_NR_TIMELINES + 2; k++)
		do_op(&st.slot[0], KVP_OP_TIMELINE_CREATE);
}

/* A call of which some fields are set already. */
static int send_ready(struct st_slot *slot, struct ct_call *call)
{
	ct_call_place(call);
	send(slot, call);
	return call->result;
}

static int simple_op(struct st_slot *slot, __u32 nr, __u64 seq, __u64 value)
{
	struct ct_call call;

	ct_arena_reset();
	ct_call_begin(&call, nr);
	ct_put((__u8 *)call.before + sizeof(struct kvp_head), 8, seq);
	ct_put((__u8 *)call.before + sizeof(struct kvp_head) + 8, 8, value);
	return send_ready(slot, &call);
}

/* The fence of timeline 0 that has not been said yet, for work that computes all of it. */
static int use_all(struct st_slot *slot, const struct st_seq *seq)
{
	struct kvp_use_entry *entry;
	struct ct_call call;

	ct_arena_reset();
	ct_call_begin(&call, KVP_OP_USE);
	entry = ct_call_array(&call, 0, 1);
	entry->kind = KVP_USE_SEQ;
	entry->id = seq->id;
	entry->value = slot->announced[0] + 1;
	entry->computed_to = seq->tokens;
	return send_ready(slot, &call);
}

/* An export of rows that a step was to compute, which failed: nobody can import it. */
static void failed_step_story(struct st_slot *slot)
{
	struct kvp_seq_create *create;
	struct ct_call call;
	struct st_seq *seq;

	if (!slot->nr_timelines)
		do_op(slot, KVP_OP_TIMELINE_CREATE);
	ct_arena_reset();
	ct_call_begin(&call, KVP_OP_SEQ_CREATE);
	create = (void *)call.before;
	create->head.flags = KVP_SEQ_NO_MATCH;
	st_tokens(&call, 0, 0, 0, 4);
	if (!slot->nr_timelines || slot->nr_seqs == ST_MAX_SEQS || send_ready(slot, &call))
		return;
	seq = &slot->seq[slot->nr_seqs - 1];
	if (use_all(slot, seq) || simple_op(slot, KVP_OP_SEQ_EXPORT, seq->id, 0))
		return;
	simple_op(slot, KVP_OP_SEQ_TRUNCATE, seq->id, 0);
	simple_op(slot, KVP_OP_SIGNAL, 0, slot->announced[0]);
	ct_arena_reset();
	ct_call_begin(&call, KVP_OP_SEQ_IMPORT);
	st_import_last(&call);
	send_ready(slot, &call);
}

/* False: the pool of the scene is gone. */
static bool step(void)
{
	__u32 pick = st_below(100);
	__u32 i = pick < 70 ? 0 : pick < 92 ? 1 : 2;
	struct st_slot *slot = &st.slot[i];

	if (i && st_once(40)) {
		client_close(i);
		client_open(i, slot->uid);
	}
	if (st_once(60) && st.slot[0].attached)
		limit_story();
	if (st_once(2000) && st.slot[0].attached)
		timeline_story();
	if (st.device && st_once(100) && slot->attached)
		failed_step_story(slot);
	return do_op(slot, slot->attached ? st_attached_op(slot) : st_unattached_op()) != -EIO || i;
}

/* The audit of the client's pool finds nothing. */
static void audit(__u32 i)
{
	struct st_slot *slot = &st.slot[i];
	const struct kvp_audit *arg;
	struct ct_call call;

	if (!slot->attached)
		return;
	ct_arena_reset();
	ct_call_begin(&call, KVP_OP_AUDIT);
	ct_call_array(&call, 0, 4);
	ct_call_place(&call);
	send(slot, &call);
	arg = (void *)call.after;
	if (!call.result && arg->total)
		ct_die("the audit finds %llu faults", arg->total);
}

/* Whatever is left of the scene's pools: destroyed, or not there. */
static void destroy_all(void)
{
	static const char *const names[] = { "kc-a", "kc-b", "kc-c" };
	struct kvp_pool_destroy *arg;
	struct ct_call call;
	__u32 i;

	client_open(0, 0);
	for (i = 0; i < CT_SIZE(names); i++) {
		ct_arena_reset();
		ct_call_begin(&call, KVP_OP_POOL_DESTROY);
		arg = (void *)call.before;
		arg->head.flags = KVP_DESTROY_FORCE;
		strcpy(arg->name, names[i]);
		ct_call_place(&call);
		send(&st.slot[0], &call);
	}
	client_close(0);
}

static void destroy_under_clients(void)
{
	struct kvp_pool_destroy *arg;
	struct ct_call call;
	__u32 i;

	ct_arena_reset();
	ct_call_begin(&call, KVP_OP_POOL_DESTROY);
	arg = (void *)call.before;
	arg->head.flags = KVP_DESTROY_FORCE;
	strcpy(arg->name, "kc-a");
	must(&st.slot[0], &call);
	for (i = 0; i < FEW; i++)
		do_op(&st.slot[st_below(2)], st_maker_pick(false)->nr);
}

static void scene_end(bool alive)
{
	__u32 i;

	audit(0);
	audit(1);
	client_close(2);
	if (st.device)
		st_exports_close(st_below(4));
	audit(0);
	if (alive && st_once(2))
		destroy_under_clients();
	if (st_once(2)) {
		client_close(1);
		if (!st_once(3))
			audit(0);
		client_close(0);
	} else {
		client_close(0);
		audit(1);
		client_close(1);
	}
	if (st.device)
		st_exports_close(0);
	destroy_all();
	for (i = 0; i < ST_SLOTS; i++)
		forget_client(&st.slot[i]);
}

void ct_stream_run(__u64 seed, __u64 ops, bool device)
{
	__u32 length, scene;
	bool alive;

	st.random = seed;
	st.device = device;
	for (scene = 0; ops; scene++) {
		length = 300 + st_below(500);
		alive = true;
		scene_begin(scene);
		for (; alive && length && ops; length--, ops--)
			alive = step();
		scene_end(alive);
	}
}

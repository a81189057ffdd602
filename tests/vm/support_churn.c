// SPDX-License-Identifier: MIT
/*
 * What a client at work does: slots that each go through the life of one object, the next call of
 * several of which are made together. Owns its slots; marks of blocks that it holds. Work and
 * tickets are in support_churn_work.c.
 */
#include <fcntl.h>
#include <liburing.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support_churn_slot.h"

const char *const churn_way_name[CHURN_WAYS] = {
	[CHURN_IOCTL] = "ioctl",
	[CHURN_BATCH] = "batch",
	[CHURN_RING] = "ring",
	[CHURN_EXEC] = "exec",
	[CHURN_FIXED] = "fixed-file",
	[CHURN_CHILD] = "child",
	[CHURN_SOCKET] = "socket",
};

/* ---- documents ---- */

u64 churn_content(u32 doc, u32 node)
{
	u64 state = node < CHURN_COMMON ? doc / CHURN_GROUP + 1 : (doc + 1) << 16;

	state = state << 8 | node;
	return kvpv_random(&state);
}

void churn_tokens(u32 doc, u32 tokens[CHURN_TOKENS])
{
	u32 i;

	for (i = 0; i < CHURN_TOKENS; i++)
		tokens[i] = (u32)churn_content(doc, i / CHURN_NODE) + i % CHURN_NODE;
}

/* ---- marks ---- */

static u64 *mark_of(struct worker *worker, u64 block)
{
	return &worker->churn->mark[KVP_BLOCK_FAMILY(block)][KVP_BLOCK_INDEX(block)];
}

void churn_set_mark(struct worker *worker, u64 block, u64 value)
{
	if (block != KVP_BLOCK_NULL)
		churn_set(*mark_of(worker, block), value);
}

void churn_check_mark(struct worker *worker, u64 block, u64 value, const char *what)
{
	if (block != KVP_BLOCK_NULL && churn_get(*mark_of(worker, block)) != value)
		kvpv_fail("client %llu: block 0x%llx of %s has other contents",
			  (unsigned long long)worker->me->client, (unsigned long long)block, what);
}

/* ---- the next call of a slot ---- */

static void prepare_table(struct slot *slot, u32 family)
{
	PREPARE(slot, KVP_OP_SEQ_TABLE, table, .seq = slot->seq, .family = family,
		.blocks = kvpv_ptr(slot->blocks), .nr_blocks = TABLE_MAX);
}

static void prepare_create(struct worker *worker, struct slot *slot)
{
	slot->doc = kvpv_below(&worker->random, CHURN_DOCS);
	slot->checked = 0;
	churn_tokens(slot->doc, slot->tokens);
	PREPARE(slot, KVP_OP_SEQ_CREATE, create, .tokens = kvpv_ptr(slot->tokens),
		.nr_tokens = CHURN_TOKENS);
	kvpv_space(CHURN_SPACE, slot->arg.create.space);
}

static void prepare_free(struct slot *slot, u64 seq)
{
	PREPARE(slot, KVP_OP_SEQ_FREE, id, .seq = seq);
}

/* Of a sequence whose tokens are computed. */
static void prepare_use(struct worker *worker, struct slot *slot)
{
	switch (kvpv_below(&worker->random, 8)) {
	case 0:
		slot->tokens[0] = 1;
		slot->tokens[1] = 2;
		PREPARE(slot, KVP_OP_SEQ_APPEND, append, .seq = slot->seq,
			.tokens = kvpv_ptr(slot->tokens), .nr_tokens = MORE,
			.position = KVP_POS_END, .reserve = 1,
			.copies = kvpv_ptr(slot->copies), .nr_copies = KVPV_COUNT(slot->copies));
		break;
	case 1:
	case 2:
		PREPARE(slot, KVP_OP_SEQ_EXPORT, export, .seq = slot->seq);
		break;
	case 3:
		prepare_free(slot, slot->seq);
		break;
	default:
		PREPARE(slot, KVP_OP_PREFIX_PUBLISH, publish, .seq = slot->seq,
			.tag = slot->doc + 1);
	}
}

static void prepare_seq(struct worker *worker, struct slot *slot)
{
	switch (slot->state) {
	case CREATED:
	case TABLED:
		prepare_table(slot, slot->state == TABLED);
		break;
	case MARKED:
	case LONGER:
		PREPARE(slot, KVP_OP_SEQ_ADVANCE, advance, .seq = slot->seq,
			.computed = CHURN_TOKENS + (slot->state == LONGER ? MORE : 0));
		break;
	case COMPUTED:
		prepare_use(worker, slot);
		break;
	case PUBLISHED:
		prepare_table(slot, slot->checked);
		break;
	case READY:
		PREPARE(slot, KVP_OP_SEQ_FORK, fork, .seq = slot->seq, .tokens = KVP_POS_END,
			.copies = kvpv_ptr(slot->copies),
			.nr_copies = KVPV_COUNT(slot->copies));
		break;
	case FORKED:
		PREPARE(slot, KVP_OP_SEQ_COPIED, id, .seq = slot->child);
		break;
	case EXPORTED:
		PREPARE(slot, KVP_OP_SEQ_IMPORT, import, .fd = slot->file);
		break;
	case COPIED:
	case IMPORTED:
		prepare_free(slot, slot->child);
		break;
	case OVER:
		prepare_free(slot, slot->seq);
		break;
	default:
		prepare_create(worker, slot);
	}
}

static void prepare_unref(struct slot *slot)
{
	PREPARE(slot, KVP_OP_BLOCK_UNREF, refs, .blocks = kvpv_ptr(slot->blocks), .nr = slot->nr);
}

static u64 stamp(const struct worker *worker, const struct slot *slot, u32 i)
{
	return worker->me->client << 40 | (u64)(slot - worker->slot) << 32 | i;
}

static void prepare_raw(struct worker *worker, struct slot *slot)
{
	u32 i;

	for (i = 0; slot->state != NONE && i < slot->nr; i++)
		churn_check_mark(worker, slot->blocks[i], stamp(worker, slot, i), "a raw reference");
	if (slot->state == NONE) {
		slot->nr = 1 + kvpv_below(&worker->random, RAW_MAX);
		PREPARE(slot, KVP_OP_BLOCK_ALLOC, alloc, .blocks = kvpv_ptr(slot->blocks),
			.nr = slot->nr, .family = kvpv_below(&worker->random, CHURN_FAMILIES));
	} else if (slot->state == HELD && !kvpv_below(&worker->random, 3)) {
		PREPARE(slot, KVP_OP_BLOCK_REF, refs, .blocks = kvpv_ptr(slot->blocks),
			.nr = slot->nr);
	} else if (slot->state == HELD && !kvpv_below(&worker->random, 3)) {
		PREPARE(slot, KVP_OP_BLOCK_MAKE_PRIVATE, make_private, .block = slot->blocks[0]);
	} else {
		prepare_unref(slot);
	}
}

static void prepare_match(struct worker *worker, struct slot *slot)
{
	if (slot->state == NONE) {
		slot->doc = kvpv_below(&worker->random, CHURN_DOCS);
		churn_tokens(slot->doc, slot->tokens);
		PREPARE(slot, KVP_OP_PREFIX_MATCH, match, .head.flags = KVP_MATCH_HOLD,
			.tokens = kvpv_ptr(slot->tokens), .nr_tokens = CHURN_TOKENS,
			.blocks = kvpv_ptr(slot->blocks), .nr_blocks = CHURN_NODES);
		kvpv_space(CHURN_SPACE, slot->arg.match.space);
	} else if (slot->state == MATCHED && !kvpv_below(&worker->random, 2)) {
		PREPARE(slot, KVP_OP_BLOCK_REF, refs, .head.flags = KVP_BLOCK_REF_MATCH,
			.blocks = kvpv_ptr(slot->blocks), .nr = slot->nr, .holder = slot->match);
	} else if (slot->state == TWICE) {
		prepare_unref(slot);
	} else {
		PREPARE(slot, KVP_OP_PREFIX_RELEASE, release, .match = slot->match);
	}
}

static void prepare_watch(struct worker *worker, struct slot *slot)
{
	static struct kvp_block_entry entries[32];
	static struct kvp_client_entry clients[4];

	switch (kvpv_below(&worker->random, 4)) {
	case 0:
		PREPARE(slot, KVP_OP_STATS, stats, .client = KVP_STATS_SELF);
		break;
	case 1:
		PREPARE(slot, KVP_OP_BLOCK_DUMP, dump, .entries = kvpv_ptr(entries),
			.nr_entries = KVPV_COUNT(entries),
			.cursor = kvpv_below(&worker->random, 64));
		break;
	case 2:
		PREPARE(slot, KVP_OP_CLIENT_LIST, list, .entries = kvpv_ptr(clients),
			.nr_entries = KVPV_COUNT(clients));
		break;
	default:
		PREPARE(slot, KVP_OP_EVENTS, events, .nr_events = 0);
	}
}

static void prepare(struct worker *worker, u32 i)
{
	struct slot *slot = &worker->slot[i];

	if (i < SEQ_SLOTS)
		prepare_seq(worker, slot);
	else if (i < SEQ_SLOTS + RAW_SLOTS)
		prepare_raw(worker, slot);
	else if (i < SEQ_SLOTS + RAW_SLOTS + MATCH_SLOTS)
		prepare_match(worker, slot);
	else if (i < FIRST_TICKET)
		prepare_watch(worker, slot);
	else if (i < FIRST_WORK)
		churn_prepare_ticket(worker, slot);
	else
		churn_prepare_work(worker, slot);
}

/* ---- what a call has brought ---- */

/* Blocks that hold what was matched have its contents; the others are the sequence's to write. */
static void mark_table(struct worker *worker, struct slot *slot)
{
	u32 node;

	kvpv_same(slot->arg.table.total, CHURN_NODES);
	for (node = 0; node < CHURN_NODES; node++) {
		u64 content = churn_content(slot->doc, node);

		if (node < slot->nr)
			churn_check_mark(worker, slot->blocks[node], content, "a matched prefix");
		else
			churn_set_mark(worker, slot->blocks[node], content);
	}
}

static void check_table(struct worker *worker, struct slot *slot)
{
	u32 node;

	for (node = 0; node < CHURN_NODES; node++)
		churn_check_mark(worker, slot->blocks[node], churn_content(slot->doc, node),
				 "a published sequence");
	slot->checked++;
	if (slot->checked == CHURN_FAMILIES)
		slot->state = OVER;
}

/* A sequence that was computed has been used in one of several ways. */
static void used(struct worker *worker, struct slot *slot)
{
	switch (slot->op) {
	case KVP_OP_SEQ_APPEND:
		kvpv_same(slot->arg.append.nr_copies, 0);
		slot->state = LONGER;
		break;
	case KVP_OP_SEQ_EXPORT:
		slot->file = slot->arg.export.fd;
		slot->state = EXPORTED;
		break;
	case KVP_OP_PREFIX_PUBLISH:
		kvpv_same(slot->arg.publish.published, CHURN_TOKENS);
		churn_set(worker->me->published[slot->doc], 1);
		slot->state = PUBLISHED;
		break;
	default:
		slot->state = NONE;
	}
}

static void make_copies(struct worker *worker, struct slot *slot)
{
	u32 i;

	/* The node in which it ends, once a family. */
	kvpv_same(slot->arg.fork.nr_copies, CHURN_FAMILIES);
	for (i = 0; i < slot->arg.fork.nr_copies; i++)
		churn_set_mark(worker, slot->copies[i].dst,
			       churn_get(*mark_of(worker, slot->copies[i].src)));
	slot->child = slot->arg.fork.child;
}

static void done_seq(struct worker *worker, struct slot *slot)
{
	switch (slot->state) {
	case NONE:
		slot->seq = slot->arg.create.seq;
		slot->nr = slot->arg.create.matched / CHURN_NODE;
		slot->state = CREATED;
		break;
	case CREATED:
		mark_table(worker, slot);
		slot->state = TABLED;
		break;
	case TABLED:
		mark_table(worker, slot);
		slot->state = MARKED;
		break;
	case MARKED:
		slot->state = COMPUTED;
		break;
	case COMPUTED:
		used(worker, slot);
		break;
	case PUBLISHED:
		check_table(worker, slot);
		break;
	case LONGER:
		slot->state = READY;
		break;
	case READY:
		make_copies(worker, slot);
		slot->state = FORKED;
		break;
	case FORKED:
		slot->state = COPIED;
		break;
	case EXPORTED:
		kvpv_same(slot->arg.import.tokens, CHURN_TOKENS);
		slot->child = slot->arg.import.seq;
		slot->state = IMPORTED;
		break;
	case COPIED:
		slot->state = OVER;
		break;
	case IMPORTED:
		close(slot->file);
		slot->file = -1;
		slot->state = OVER;
		break;
	default:
		slot->state = NONE;
	}
}

static void done_raw(struct worker *worker, struct slot *slot)
{
	u32 i;

	for (i = 0; slot->op == KVP_OP_BLOCK_ALLOC && i < slot->nr; i++)
		churn_set_mark(worker, slot->blocks[i], stamp(worker, slot, i));
	if (slot->op == KVP_OP_BLOCK_MAKE_PRIVATE) {
		kvpv_same(slot->arg.make_private.copy, 0);
		kvpv_same(slot->arg.make_private.result, slot->blocks[0]);
	} else if (slot->op == KVP_OP_BLOCK_REF) {
		slot->state = TWICE;
	} else if (slot->op == KVP_OP_BLOCK_ALLOC || slot->state == TWICE) {
		slot->state = HELD;
	} else {
		slot->state = NONE;
	}
}

/* Released, it may still have raw references, and the other way round. */
static void done_match(struct worker *worker, struct slot *slot)
{
	u32 i;

	if (slot->op == KVP_OP_PREFIX_MATCH) {
		slot->nr = slot->arg.match.matched / CHURN_NODE;
		slot->match = slot->arg.match.match;
		if (slot->nr)
			slot->state = MATCHED;
	} else if (slot->op == KVP_OP_BLOCK_REF) {
		slot->state = REFERENCED;
	} else {
		slot->state = slot->state == REFERENCED ? TWICE : NONE;
	}
	for (i = 0; slot->op != KVP_OP_BLOCK_UNREF && i < slot->nr; i++)
		if (slot->state != NONE)
			churn_check_mark(worker, slot->blocks[i], churn_content(slot->doc, i),
					 "a match");
}

/* No room, or not yet: what needed it is given up. False: that needs none. */
static bool given_up(struct slot *slot)
{
	if (slot->state == WAITING && slot->result == -EBUSY &&
	    slot->arg.head.reason == KVP_REASON_NOT_GRANTED)
		return true;
	if (slot->result != -ENOSPC)
		return false;
	if (slot->state == READY || (slot->state == COMPUTED && slot->op == KVP_OP_SEQ_APPEND))
		slot->state = OVER;
	/* What is matched and idle may be promised to calls that are about to reclaim. */
	return slot->state == NONE || slot->state == OVER || slot->state == MATCHED;
}

static void done(struct worker *worker, u32 i)
{
	struct slot *slot = &worker->slot[i];

	if (given_up(slot))
		return;
	if (slot->result)
		kvpv_fail("client %llu (%s): operation 0x%x in state %d: %d reason %u where %u",
			  (unsigned long long)worker->me->client, churn_way_name[worker->way],
			  slot->op, (int)slot->state, slot->result, slot->arg.head.reason,
			  slot->arg.head.where);
	if (i < SEQ_SLOTS)
		done_seq(worker, slot);
	else if (i < SEQ_SLOTS + RAW_SLOTS)
		done_raw(worker, slot);
	else if (i < SEQ_SLOTS + RAW_SLOTS + MATCH_SLOTS)
		done_match(worker, slot);
	else if (i >= FIRST_WORK)
		churn_done_work(worker, slot);
	else if (i >= FIRST_TICKET)
		churn_done_ticket(slot);
}

/* ---- several calls together ---- */

static void by_ioctl(struct worker *worker, const u32 *which, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		struct slot *slot = &worker->slot[which[i]];

		slot->result = kvpv_call(worker->fd, slot->op, &slot->arg, slot->size);
	}
}

static void by_batch(struct worker *worker, const u32 *which, u32 nr)
{
	struct kvp_batch_entry entries[SLOTS] = {};
	struct kvp_batch batch = { .entries = kvpv_ptr(entries), .nr_entries = nr };
	u32 i;

	for (i = 0; i < nr; i++) {
		entries[i].op = worker->slot[which[i]].op;
		entries[i].len = worker->slot[which[i]].size;
		entries[i].arg = kvpv_ptr(&worker->slot[which[i]].arg);
	}
	kvpv_ok(kvpv_do(worker->fd, KVP_OP_BATCH, &batch));
	kvpv_same(batch.executed, nr);
	for (i = 0; i < nr; i++)
		worker->slot[which[i]].result = entries[i].result;
}

static void by_ring(struct worker *worker, const u32 *which, u32 nr)
{
	struct io_uring_cqe *cqe;
	u32 i;

	for (i = 0; i < nr; i++) {
		struct slot *slot = &worker->slot[which[i]];
		struct io_uring_sqe *sqe = io_uring_get_sqe(&worker->ring);

		kvpv_true(sqe);
		kvpv_prepare(sqe, worker->fd, slot->op, &slot->arg, slot->size);
		sqe->flags |= IOSQE_ASYNC;
		sqe->user_data = which[i];
	}
	kvpv_same(io_uring_submit(&worker->ring), nr);
	for (i = 0; i < nr; i++) {
		int err = io_uring_wait_cqe(&worker->ring, &cqe);

		if (err)
			kvpv_fail("io_uring_wait_cqe: %s", strerror(-err));
		worker->slot[cqe->user_data].result = cqe->res;
		io_uring_cqe_seen(&worker->ring, cqe);
	}
}

/* The next calls of some slots, in some order. */
static void burst(struct worker *worker)
{
	u32 which[SLOTS];
	u32 nr = 1 + kvpv_below(&worker->random, SLOTS);
	u32 i, k;

	for (i = 0; i < SLOTS; i++) {
		k = kvpv_below(&worker->random, i + 1);
		which[i] = which[k];
		which[k] = i;
	}
	for (i = 0; i < nr; i++)
		prepare(worker, which[i]);
	churn_set(worker->me->in_flight, nr);
	if (worker->way == CHURN_BATCH)
		by_batch(worker, which, nr);
	else if (worker->way == CHURN_RING || worker->way == CHURN_FIXED)
		by_ring(worker, which, nr);
	else
		by_ioctl(worker, which, nr);
	churn_set(worker->me->in_flight, 0);
	for (i = 0; i < nr; i++)
		done(worker, which[i]);
	churn_set(worker->me->bursts, worker->me->bursts + 1);
}

/* ---- a client ---- */

static void begin(struct worker *worker)
{
	u64 client;
	u32 i;

	worker->fd = kvpv_open();
	worker->page = kvpv_map_timelines(worker->fd);
	if (worker->page == MAP_FAILED)
		kvpv_fail("mmap of the timelines: %s", strerror(errno));
	kvpv_ok(kvpv_attach(worker->fd, worker->churn->pool, 0, &client));
	for (i = 0; i < SLOTS; i++)
		worker->slot[i] = (struct slot){ .file = -1 };
	for (i = 0; i < CHURN_WORKS; i++) {
		worker->slot[FIRST_WORK + i].work = &worker->me->work[i];
		worker->slot[FIRST_WORK + i].timeline = kvpv_timeline(worker->fd);
	}
	churn_set(worker->me->bursts, 0);
	churn_set(worker->me->client, client);
}

static void begin_ring(struct worker *worker)
{
	int err = io_uring_queue_init(64, &worker->ring, 0);

	if (!err && worker->way == CHURN_FIXED) {
		err = io_uring_register_files(&worker->ring, &worker->fd, 1);
		close(worker->fd);
		worker->fd = -1;
	}
	if (err)
		kvpv_fail("io_uring: %s", strerror(-err));
}

/* A child that has nothing but the client's descriptor, and calls on it when it is told to. */
static void keep_in_child(struct worker *worker)
{
	struct kvp_stats stats;
	pid_t pid = kvpv_sys(fork());
	int err;

	if (pid) {
		churn_set(worker->me->child, (u32)pid);
		return;
	}
	kvpv_sys(dup2(worker->fd, 3));
	kvpv_sys(close_range(4, ~0U, 0));
	while (!churn_get(worker->me->told)) {
		/* Its parent's end is no reason to end; that of all is. */
		if (churn_get(worker->churn->stop) || kill((pid_t)worker->churn->game, 0))
			_exit(0);
		kvpv_sleep_ms(1);
	}
	err = kvpv_stats(3, KVP_STATS_SELF, 0, &stats, NULL, 0);
	churn_set(worker->me->answer, (u32)-err << 16 | kvpv_head.reason);
	while (!kill((pid_t)worker->churn->game, 0))
		kvpv_sleep_ms(10);
	_exit(0);
}

/* The same client place in a program executed, which inherits the descriptor of its old file. */
static void execute(struct worker *worker, int fd, u32 place)
{
	char text[5][24];
	u32 i;

	snprintf(text[0], sizeof(text[0]), "%d", fd);
	snprintf(text[1], sizeof(text[1]), "%u", place);
	snprintf(text[2], sizeof(text[2]), "%llu", (unsigned long long)worker->random);
	snprintf(text[3], sizeof(text[3]), "%d", worker->fd);
	snprintf(text[4], sizeof(text[4]), "%llu", (unsigned long long)worker->me->client);
	for (i = 0; i < 2; i++)
		kvpv_sys(fcntl(i ? worker->fd : fd, F_SETFD, 0));
	execl("/proc/self/exe", "kill_clients", "--resume", text[0], text[1], text[2], text[3],
	      text[4], NULL);
	kvpv_fail("execl: %s", strerror(errno));
}

static void work(struct worker *worker) __attribute__((noreturn));
static void work(struct worker *worker)
{
	while (!churn_get(worker->churn->stop))
		burst(worker);
	_exit(0);
}

void churn_run(struct churn *churn, int fd, u32 place, enum churn_way way, u64 seed)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	u32 i;

	kvpv_true(worker);
	worker->churn = churn;
	worker->me = &churn->worker[place];
	worker->way = way;
	worker->random = seed;
	kvpv_sys(prctl(PR_SET_PDEATHSIG, SIGKILL));
	begin(worker);
	if (way == CHURN_RING || way == CHURN_FIXED)
		begin_ring(worker);
	if (way == CHURN_EXEC) {
		for (i = 10 + kvpv_below(&worker->random, 50); i; i--)
			burst(worker);
		execute(worker, fd, place);
	}
	/* Nothing that is inherited with it keeps other things of the client alive. */
	if (way == CHURN_CHILD)
		keep_in_child(worker);
	if (way == CHURN_SOCKET)
		kvpv_send_fd(churn->socket[0], worker->fd);
	work(worker);
}

static struct churn *map(int fd)
{
	void *mem = mmap(NULL, sizeof(struct churn), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (mem == MAP_FAILED)
		kvpv_fail("mmap: %s", strerror(errno));
	return mem;
}

void churn_resume(int argc, char **argv)
{
	struct worker *worker;
	struct kvp_stats stats;
	u64 before;
	u32 i;
	int old;

	if (argc != 7 || strcmp(argv[1], "--resume"))
		return;
	worker = calloc(1, sizeof(*worker));
	kvpv_true(worker);
	worker->churn = map(atoi(argv[2]));
	worker->me = &worker->churn->worker[atoi(argv[3])];
	worker->way = CHURN_EXEC;
	worker->random = strtoull(argv[4], NULL, 10);
	old = atoi(argv[5]);
	before = strtoull(argv[6], NULL, 10);
	/* The descriptor is here, the mapping is not: the client has ended. */
	kvpv_expect(kvpv_stats(old, KVP_STATS_SELF, 0, &stats, NULL, 0), -EOWNERDEAD,
		    KVP_REASON_CLIENT_DEAD);
	/* What that one had open is in its quarantine, which began with the exec. */
	for (i = 0; i < CHURN_WORKS; i++)
		churn_set(worker->me->work[i].nr, 0);
	begin(worker);
	churn_set(worker->me->before, before);
	work(worker);
}

struct churn *churn_new(int *fd)
{
	*fd = kvpv_sys(memfd_create("churn", MFD_CLOEXEC));
	kvpv_sys(ftruncate(*fd, sizeof(struct churn)));
	return map(*fd);
}

int churn_pool(struct churn *churn, const char *name, u32 blocks)
{
	const struct kvp_family_desc families[CHURN_FAMILIES] = {
		KVPV_DENSE(blocks, CHURN_NODE),
		KVPV_WINDOW(blocks, CHURN_NODE, CHURN_WINDOW),
	};

	kvpv_true(blocks <= CHURN_MAX_BLOCKS);
	snprintf(churn->pool, sizeof(churn->pool), "%s", name);
	return kvpv_fenced_pool(name, KVP_POOL_PERSISTENT, CHURN_GRACE_MS, families,
				CHURN_FAMILIES);
}

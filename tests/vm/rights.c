// SPDX-License-Identifier: MIT
/*
 * Who may do what: each operation without the right that it needs is refused and shows nothing;
 * pools of others are not seen; the credentials that opened the file count, and no others; and
 * who makes pools that persist.
 *
 * The module is loaded with mode=0666 and persist_gid=777.
 */
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"

#define POOL	"rights"
#define ROOM	16
#define FILL	0xa5

static u32 tokens[8];

/* All structs, the arrays that they name, and what was made for them. */
struct call {
	union {
		struct kvp_head head;
		struct kvp_pool_ready ready;
		struct kvp_pool_info info;
		struct kvp_limit limit;
		struct kvp_backing backing;
		struct kvp_block_alloc alloc;
		struct kvp_block_refs refs;
		struct kvp_block_make_private make_private;
		struct kvp_seq_create create;
		struct kvp_seq_append append;
		struct kvp_seq_set_tokens set_tokens;
		struct kvp_seq_advance advance;
		struct kvp_seq_id id;
		struct kvp_seq_fork fork;
		struct kvp_seq_truncate truncate;
		struct kvp_seq_table table;
		struct kvp_seq_export export;
		struct kvp_seq_import import;
		struct kvp_seq_positions positions;
		struct kvp_remap_begin begin;
		struct kvp_remap_moves moves;
		struct kvp_remap_end end;
		struct kvp_prefix_match match;
		struct kvp_prefix_release release;
		struct kvp_prefix_publish publish;
		struct kvp_prefix_invalidate invalidate;
		struct kvp_prefix_reclaim reclaim;
		struct kvp_stats stats;
		struct kvp_audit audit;
		struct kvp_block_dump dump;
		struct kvp_client_list list;
		struct kvp_events events;
		struct kvp_timeline_create timeline_create;
		struct kvp_use use;
		struct kvp_signal signal;
		struct kvp_query query;
		struct kvp_reap reap;
		struct kvp_admit admit;
	};
	union {
		struct kvp_use_entry entry;
		struct kvp_fence fence;
		struct kvp_admit_need need;
		struct kvp_piece piece;
	};
	u8 out[4096];
	u64 in[2];
};

/*
 * The operations that need a right, each with arguments with which it succeeds for a client that
 * has all rights (@fd, which is to make what they name).
 */
static void fill_limit(int fd, struct call *call)
{
	call->limit = (struct kvp_limit){ .mask = KVP_LIMIT_SEQS, .seqs = 77 };
}

static void fill_backing_add(int fd, struct call *call)
{
	int memory = kvpv_sys(memfd_create("m", MFD_CLOEXEC | MFD_ALLOW_SEALING));

	kvpv_sys(ftruncate(memory, 4096));
	kvpv_sys(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
	call->backing = (struct kvp_backing){
		.fd = memory,
		.kind = KVP_BACKING_MEMFD,
		.length = 4096,
	};
}

static void fill_backing_get(int fd, struct call *call)
{
	fill_backing_add(fd, call);
	kvpv_ok(kvpv_do(fd, KVP_OP_BACKING_ADD, &call->backing));
	call->backing = (struct kvp_backing){ .index = call->backing.index };
}

static void fill_alloc(int fd, struct call *call)
{
	call->alloc = (struct kvp_block_alloc){ .blocks = kvpv_ptr(call->out), .nr = 2 };
}

static void fill_ref(int fd, struct call *call)
{
	kvpv_ok(kvpv_alloc(fd, 0, 2, call->in));
	call->refs = (struct kvp_block_refs){ .blocks = kvpv_ptr(call->in), .nr = 2 };
}

static void fill_make_private(int fd, struct call *call)
{
	kvpv_ok(kvpv_alloc(fd, 0, 1, call->in));
	call->make_private = (struct kvp_block_make_private){ .block = call->in[0] };
}

static void fill_create(int fd, struct call *call)
{
	call->create = (struct kvp_seq_create){ .tokens = kvpv_ptr(tokens), .nr_tokens = 8 };
	kvpv_space(1, call->create.space);
}

static void fill_append(int fd, struct call *call)
{
	call->append = (struct kvp_seq_append){
		.seq = kvpv_computed(fd, 1, tokens, 4),
		.tokens = kvpv_ptr(tokens),
		.nr_tokens = 4,
		.position = KVP_POS_END,
		.copies = kvpv_ptr(call->out),
		.nr_copies = 2,
	};
}

static void fill_set_tokens(int fd, struct call *call)
{
	struct kvp_seq_create create = { .reserve = 4 };

	kvpv_ok(kvpv_do(fd, KVP_OP_SEQ_CREATE, &create));
	call->set_tokens = (struct kvp_seq_set_tokens){
		.seq = create.seq,
		.tokens = kvpv_ptr(tokens),
		.nr_tokens = 4,
	};
}

static void fill_advance(int fd, struct call *call)
{
	call->advance = (struct kvp_seq_advance){ .computed = 4 };
	kvpv_ok(kvpv_seq(fd, 1, tokens, 4, (u64 *)&call->advance.seq, NULL));
}

static void fill_seq(int fd, struct call *call)
{
	call->id = (struct kvp_seq_id){ .seq = kvpv_computed(fd, 1, tokens, 4) };
}

static void fill_fork(int fd, struct call *call)
{
	call->fork = (struct kvp_seq_fork){
		.seq = kvpv_computed(fd, 1, tokens, 4),
		.tokens = KVP_POS_END,
		.copies = kvpv_ptr(call->out),
		.nr_copies = 2,
	};
}

static void fill_truncate(int fd, struct call *call)
{
	call->truncate = (struct kvp_seq_truncate){ .seq = kvpv_computed(fd, 1, tokens, 4) };
}

static void fill_table(int fd, struct call *call)
{
	call->table = (struct kvp_seq_table){
		.seq = kvpv_computed(fd, 1, tokens, 4),
		.blocks = kvpv_ptr(call->out),
		.nr_blocks = 4,
	};
}

static void fill_export(int fd, struct call *call)
{
	call->export = (struct kvp_seq_export){ .seq = kvpv_computed(fd, 1, tokens, 4) };
}

static void fill_import(int fd, struct call *call)
{
	int file;

	kvpv_ok(kvpv_export(fd, kvpv_computed(fd, 1, tokens, 4), &file, NULL));
	call->import = (struct kvp_seq_import){ .fd = file };
}

static void fill_positions(int fd, struct call *call)
{
	call->positions = (struct kvp_seq_positions){
		.seq = kvpv_computed(fd, 1, tokens, 4),
		.runs = kvpv_ptr(call->out),
		.nr_runs = 4,
	};
}

static void fill_begin(int fd, struct call *call)
{
	u64 seq = kvpv_computed(fd, 1, tokens, 8);

	call->piece = (struct kvp_piece){ .seq = seq, .from = 2, .length = 6 };
	call->begin = (struct kvp_remap_begin){
		.seq = seq,
		.pieces = kvpv_ptr(&call->piece),
		.nr_pieces = 1,
	};
}

/* The sequence of a remap that is open. */
static u64 begun(int fd, struct call *call)
{
	fill_begin(fd, call);
	kvpv_ok(kvpv_do(fd, KVP_OP_REMAP_BEGIN, &call->begin));
	return call->begin.seq;
}

static void fill_moves(int fd, struct call *call)
{
	u64 seq = begun(fd, call);

	call->moves = (struct kvp_remap_moves){
		.seq = seq,
		.moves = kvpv_ptr(call->out),
		.nr_moves = 4,
	};
}

static void fill_end(int fd, struct call *call)
{
	u64 seq = begun(fd, call);

	call->end = (struct kvp_remap_end){ .seq = seq };
}

static void fill_match(int fd, struct call *call)
{
	kvpv_published(fd, 1, tokens, 8);
	call->match = (struct kvp_prefix_match){
		.head.flags = KVP_MATCH_HOLD,
		.tokens = kvpv_ptr(tokens),
		.nr_tokens = 8,
		.blocks = kvpv_ptr(call->out),
		.nr_blocks = 2,
	};
	kvpv_space(1, call->match.space);
}

static void fill_release(int fd, struct call *call)
{
	u64 matched, match;

	kvpv_published(fd, 1, tokens, 8);
	kvpv_ok(kvpv_match(fd, 1, tokens, 8, 0, NULL, 0, &matched, &match));
	call->release = (struct kvp_prefix_release){ .match = match };
}

static void fill_publish(int fd, struct call *call)
{
	call->publish = (struct kvp_prefix_publish){ .seq = kvpv_computed(fd, 1, tokens, 8) };
}

static void fill_invalidate(int fd, struct call *call)
{
	kvpv_published(fd, 1, tokens, 8);
	call->invalidate = (struct kvp_prefix_invalidate){ .head.flags = KVP_INVALIDATE_SPACE };
	kvpv_space(1, call->invalidate.space);
}

static void fill_reclaim(int fd, struct call *call)
{
	kvpv_ok(kvpv_free(fd, kvpv_published(fd, 1, tokens, 8)));
	call->reclaim = (struct kvp_prefix_reclaim){ .nodes = 1 };
}

static void fill_stats(int fd, struct call *call)
{
	call->stats = (struct kvp_stats){ .families = kvpv_ptr(call->out), .nr_families = 4 };
}

static void fill_audit(int fd, struct call *call)
{
	call->audit = (struct kvp_audit){ .findings = kvpv_ptr(call->out), .nr_findings = 4 };
}

static void fill_dump(int fd, struct call *call)
{
	call->dump = (struct kvp_block_dump){
		.entries = kvpv_ptr(call->out),
		.nr_entries = ROOM,
	};
}

static void fill_list(int fd, struct call *call)
{
	call->list = (struct kvp_client_list){
		.entries = kvpv_ptr(call->out),
		.nr_entries = ROOM,
	};
}

static void fill_events(int fd, struct call *call)
{
	call->events = (struct kvp_events){ .events = kvpv_ptr(call->out), .nr_events = 4 };
}

static void fill_timeline(int fd, struct call *call)
{
	call->timeline_create = (struct kvp_timeline_create){};
}

static void fill_use(int fd, struct call *call)
{
	call->entry = (struct kvp_use_entry){
		.kind = KVP_USE_SEQ,
		.timeline = kvpv_timeline(fd),
		.id = kvpv_computed(fd, 1, tokens, 4),
		.value = 1,
		.write_from = KVP_POS_END,
	};
	call->use = (struct kvp_use){ .entries = kvpv_ptr(&call->entry), .nr_entries = 1 };
}

static void fill_signal(int fd, struct call *call)
{
	u32 timeline = kvpv_timeline(fd);

	kvpv_ok(kvpv_use_seq(fd, kvpv_computed(fd, 1, tokens, 4), timeline, 1));
	call->signal = (struct kvp_signal){ .timeline = timeline, .value = 1 };
}

static void fill_query(int fd, struct call *call)
{
	call->fence = (struct kvp_fence){ .timeline = kvpv_timeline(fd) };
	call->query = (struct kvp_query){ .fences = kvpv_ptr(&call->fence), .nr_fences = 1 };
}

static void fill_reap(int fd, struct call *call)
{
	call->reap = (struct kvp_reap){};
}

static void fill_admit(int fd, struct call *call)
{
	call->need = (struct kvp_admit_need){ .blocks = 2 };
	call->admit = (struct kvp_admit){ .needs = kvpv_ptr(&call->need), .nr_needs = 1 };
}

static void fill_ready(int fd, struct call *call)
{
	call->ready = (struct kvp_pool_ready){};
}

static const struct {
	u32 op;
	u32 right;
	u32 size;
	void (*fill)(int fd, struct call *call);
} ops[] = {
#define OP(name, right, type, fill) \
	{ KVP_OP_##name, KVP_RIGHT_##right, sizeof(struct type), fill }
	OP(POOL_READY, ADMIN, kvp_pool_ready, fill_ready),
	OP(LIMIT, ADMIN, kvp_limit, fill_limit),
	OP(BACKING_ADD, ADMIN, kvp_backing, fill_backing_add),
	OP(BACKING_GET, USE, kvp_backing, fill_backing_get),
	OP(BLOCK_ALLOC, USE, kvp_block_alloc, fill_alloc),
	OP(BLOCK_REF, USE, kvp_block_refs, fill_ref),
	OP(BLOCK_UNREF, USE, kvp_block_refs, fill_ref),
	OP(BLOCK_MAKE_PRIVATE, USE, kvp_block_make_private, fill_make_private),
	OP(SEQ_CREATE, USE, kvp_seq_create, fill_create),
	OP(SEQ_APPEND, USE, kvp_seq_append, fill_append),
	OP(SEQ_SET_TOKENS, USE, kvp_seq_set_tokens, fill_set_tokens),
	OP(SEQ_ADVANCE, USE, kvp_seq_advance, fill_advance),
	OP(SEQ_COPIED, USE, kvp_seq_id, fill_seq),
	OP(SEQ_FORK, USE, kvp_seq_fork, fill_fork),
	OP(SEQ_TRUNCATE, USE, kvp_seq_truncate, fill_truncate),
	OP(SEQ_FREE, USE, kvp_seq_id, fill_seq),
	OP(SEQ_TABLE, USE, kvp_seq_table, fill_table),
	OP(SEQ_EXPORT, USE, kvp_seq_export, fill_export),
	OP(SEQ_IMPORT, USE, kvp_seq_import, fill_import),
	OP(SEQ_POSITIONS, USE, kvp_seq_positions, fill_positions),
	OP(REMAP_BEGIN, USE, kvp_remap_begin, fill_begin),
	OP(REMAP_MOVES, USE, kvp_remap_moves, fill_moves),
	OP(REMAP_COMMIT, USE, kvp_remap_end, fill_end),
	OP(REMAP_ABORT, USE, kvp_remap_end, fill_end),
	OP(PREFIX_MATCH, USE, kvp_prefix_match, fill_match),
	OP(PREFIX_RELEASE, USE, kvp_prefix_release, fill_release),
	OP(PREFIX_PUBLISH, PUBLISH, kvp_prefix_publish, fill_publish),
	OP(PREFIX_INVALIDATE, ADMIN, kvp_prefix_invalidate, fill_invalidate),
	OP(PREFIX_RECLAIM, ADMIN, kvp_prefix_reclaim, fill_reclaim),
	OP(STATS, USE, kvp_stats, fill_stats),
	OP(AUDIT, ADMIN, kvp_audit, fill_audit),
	OP(BLOCK_DUMP, USE, kvp_block_dump, fill_dump),
	OP(CLIENT_LIST, USE, kvp_client_list, fill_list),
	OP(EVENTS, USE, kvp_events, fill_events),
	OP(TIMELINE_CREATE, USE, kvp_timeline_create, fill_timeline),
	OP(USE, USE, kvp_use, fill_use),
	OP(SIGNAL, USE, kvp_signal, fill_signal),
	OP(QUERY, USE, kvp_query, fill_query),
	OP(REAP, ADMIN, kvp_reap, fill_reap),
	OP(ADMIT, USE, kvp_admit, fill_admit),
#undef OP
};

/* What needs no right, or one that depends on what is named; other tests have these. */
static const u32 others[] = {
	KVP_OP_ABI, KVP_OP_POOL_CREATE, KVP_OP_POOL_ATTACH, KVP_OP_POOL_INFO, KVP_OP_POOL_LIST,
	KVP_OP_POOL_DESTROY, KVP_OP_EXPORT_REVOKE, KVP_OP_BATCH,
};

static u32 reason_of(u32 right)
{
	return right == KVP_RIGHT_USE ? KVP_REASON_RIGHT_USE :
	       right == KVP_RIGHT_PUBLISH ? KVP_REASON_RIGHT_PUBLISH : KVP_REASON_RIGHT_ADMIN;
}

/* All that counters and dumps say of a pool. */
struct world {
	struct kvp_stats stats;
	struct kvp_family_stats family;
	struct kvp_block_entry blocks[64];
};

static void look(int admin, struct world *world)
{
	u32 i, nr;

	memset(world, 0, sizeof(*world));
	kvpv_ok(kvpv_stats(admin, 0, 0, &world->stats, &world->family, 1));
	world->stats.families = 0;
	nr = kvpv_dump(admin, 0, world->blocks, 64);
	for (i = 0; i < nr; i++)
		world->blocks[i].age_ns = 0;
}

/* The call is refused: the struct is as it was but for the reason, the arrays are not touched. */
static void expect_refused(const struct call *was, const struct call *is, u32 i, int ret,
			   const char *how)
{
	struct call should = *was;

	if (ret != -EACCES || is->head.reason != reason_of(ops[i].right))
		kvpv_fail("operation 0x%x %s: %d reason %u, expected EACCES reason %u", ops[i].op,
			  how, ret, is->head.reason, reason_of(ops[i].right));
	should.head.reason = is->head.reason;
	should.head.size = ops[i].size;
	kvpv_same(is->head.where, 0);
	if (memcmp(&should, is, sizeof(should)))
		kvpv_fail("operation 0x%x %s was refused, and wrote all the same", ops[i].op, how);
}

/* Arrays are looked for in @call, wherever it was copied from. */
static int by_ioctl(int fd, u32 i, struct call *call)
{
	return kvpv_call(fd, ops[i].op, call, ops[i].size);
}

static int by_batch(int fd, u32 i, struct call *call)
{
	struct kvp_batch_entry entry = { .op = ops[i].op, .len = ops[i].size };
	struct kvp_batch batch = { .entries = kvpv_ptr(&entry), .nr_entries = 1 };

	call->head.size = ops[i].size;
	entry.arg = kvpv_ptr(call);
	kvpv_ok(kvpv_do(fd, KVP_OP_BATCH, &batch));
	kvpv_same(batch.executed, 1);
	return entry.result;
}

static int by_ring(int fd, u32 i, struct call *call)
{
	call->head.size = ops[i].size;
	return kvpv_ring_call(fd, ops[i].op, call, ops[i].size, 0);
}

/* In a process of its own, which leaves nothing open. */
static void one_operation(int socket, void *arg)
{
	static const struct {
		const char *name;
		int (*make)(int fd, u32 i, struct call *call);
	} ways[] = {
		{ "by ioctl", by_ioctl },
		{ "in a batch", by_batch },
		{ "by a ring", by_ring },
	};
	const u32 i = *(u32 *)arg;
	int all = kvpv_pool(POOL, 64), lacking = kvpv_open();
	static struct world before, after;
	static struct call call, copy;
	u32 way;

	kvpv_ok(kvpv_attach(lacking, POOL, KVP_RIGHT_ALL & ~ops[i].right, NULL));
	memset(&call, FILL, sizeof(call));
	ops[i].fill(all, &call);
	look(all, &before);
	for (way = 0; way < KVPV_COUNT(ways); way++) {
		copy = call;
		expect_refused(&copy, &call, i, ways[way].make(lacking, i, &call), ways[way].name);
		call = copy;
	}
	look(all, &after);
	if (memcmp(&before, &after, sizeof(before)))
		kvpv_fail("operation 0x%x was refused, and changed the pool", ops[i].op);
	kvpv_audit(all);
	/* It was not refused for anything else. */
	kvpv_ok(by_ioctl(all, i, &call));
	kvpv_audit(all);
}

static void each_operation(void)
{
	u32 i;

	kvpv_tokens(tokens, KVPV_COUNT(tokens), 1);
	for (i = 0; i < KVPV_COUNT(ops); i++) {
		kvpv_wait_done(kvpv_fork(one_operation, &i, NULL));
		kvpv_until(KVPV_WAIT_MS, !kvpv_module_uses());
	}
}

/* Who adds an operation has to say here what right it needs. */
static void none_is_missing(void)
{
	int fd = kvpv_open();
	u32 nr, i, known;

	for (nr = 0; nr < 256; nr++) {
		struct kvp_head head = { .size = sizeof(head) };
		int ret = kvpv_call(fd, nr, &head, sizeof(head));

		for (known = 0, i = 0; i < KVPV_COUNT(ops); i++)
			known += ops[i].op == nr;
		for (i = 0; i < KVPV_COUNT(others); i++)
			known += others[i] == nr;
		if (known != (ret != -ENOTTY))
			kvpv_fail("operation 0x%x: %d, and it is in the tables %u times", nr, ret,
				  known);
	}
	close(fd);
}

/* ---- pools of others ---- */

static bool listed(int fd)
{
	struct kvp_pool_entry entries[8];
	struct kvp_pool_list arg = { .pools = kvpv_ptr(entries), .nr_pools = 8 };

	memset(entries, FILL, sizeof(entries));
	kvpv_ok(kvpv_do(fd, KVP_OP_POOL_LIST, &arg));
	kvpv_same(arg.total, arg.nr_pools);
	kvpv_true(arg.total <= 1);
	if (arg.total)
		kvpv_true(!strcmp(entries[0].name, POOL));
	else
		kvpv_true(!memmem(entries, sizeof(entries), POOL, strlen(POOL)));
	return arg.total;
}

/* What such a user gets of the pool: exactly @rights. */
static void expect_rights(uid_t uid, gid_t gid, u32 rights)
{
	struct kvp_pool_attach arg = { .name = POOL };
	u32 right;
	int fd;

	for (right = KVP_RIGHT_USE; right <= KVP_RIGHT_ADMIN; right <<= 1) {
		fd = kvpv_open_as(uid, gid);
		kvpv_same(listed(fd), !!(rights & KVP_RIGHT_USE));
		if (!rights)
			kvpv_expect(kvpv_attach(fd, POOL, right, NULL), -ENOENT,
				    KVP_REASON_NO_POOL);
		else if (!(rights & right))
			kvpv_expect(kvpv_attach(fd, POOL, right, NULL), -EACCES, reason_of(right));
		else
			kvpv_ok(kvpv_attach(fd, POOL, right, NULL));
		close(fd);
	}
	fd = kvpv_open_as(uid, gid);
	if (rights) {
		kvpv_ok(kvpv_do(fd, KVP_OP_POOL_ATTACH, &arg));
		kvpv_same(arg.rights, rights);
	} else {
		kvpv_expect(kvpv_do(fd, KVP_OP_POOL_ATTACH, &arg), -ENOENT, KVP_REASON_NO_POOL);
		kvpv_same(arg.pool | arg.client | arg.rights, 0);
	}
	if (!(rights & KVP_RIGHT_ADMIN))
		kvpv_expect(kvpv_destroy(fd, POOL, KVP_DESTROY_FORCE), rights ? -EACCES : -ENOENT,
			    rights ? KVP_REASON_RIGHT_ADMIN : KVP_REASON_NO_POOL);
	close(fd);
}

static void modes(void)
{
	const u32 use = KVP_RIGHT_USE, both = KVP_RIGHT_USE | KVP_RIGHT_PUBLISH;
	static const struct kvp_family_desc dense = KVPV_DENSE(4, 4);
	const struct {
		u32 mode, group, other;
	} cases[] = {
		{ 0600, 0, 0 },		{ 0000, 0, 0 },		{ 0640, use, 0 },
		{ 0644, use, use },	{ 0660, both, 0 },	{ 0666, both, both },
		{ 0664, both, use },	{ 0620, 0, 0 },		{ 0604, 0, use },
		{ 0606, 0, both },	{ 0602, 0, 0 },
	};
	u32 i;

	for (i = 0; i < KVPV_COUNT(cases); i++) {
		int owner = kvpv_open_as(1000, 100);

		kvpv_ok(kvpv_create(owner, POOL, cases[i].mode, 0, &dense, 1));
		expect_rights(1000, 555, KVP_RIGHT_ALL);
		expect_rights(1001, 100, cases[i].group);
		expect_rights(1002, 200, cases[i].other);
		expect_rights(0, 0, KVP_RIGHT_ALL);
		close(owner);
		kvpv_until(KVPV_WAIT_MS, !kvpv_module_uses());
	}
}

/* ---- whose credentials count ---- */

static void without_privileges(int socket, void *arg)
{
	int fd = kvpv_recv_fd(socket);
	struct kvp_limit limit = { .mask = KVP_LIMIT_SEQS, .seqs = 5 };

	kvpv_sys(setgid(65534));
	kvpv_sys(setuid(65534));
	kvpv_ok(kvpv_attach(fd, POOL, KVP_RIGHT_ALL, NULL));
	kvpv_ok(kvpv_limit(fd, limit));
	kvpv_audit(fd);
	/* His own file has nothing of that. */
	kvpv_expect(kvpv_attach(kvpv_open(), POOL, 0, NULL), -ENOENT, KVP_REASON_NO_POOL);
}

static void opener_counts(void)
{
	static const struct kvp_family_desc dense = KVPV_DENSE(4, 4);
	int owner = kvpv_open_as(1000, 100), fd, socket;
	struct kvp_client_entry entry;
	u64 client;
	pid_t pid;

	kvpv_ok(kvpv_create(owner, POOL, 0600, 0, &dense, 1));
	pid = kvpv_fork(without_privileges, NULL, &socket);
	fd = kvpv_open();
	kvpv_send_fd(socket, fd);
	kvpv_wait_done(pid);
	close(fd);
	/* And the reverse: root with the file of a nobody. */
	kvpv_same(geteuid(), 0);
	fd = kvpv_open_as(65534, 65534);
	kvpv_expect(kvpv_attach(fd, POOL, 0, NULL), -ENOENT, KVP_REASON_NO_POOL);
	kvpv_expect(kvpv_destroy(fd, POOL, KVP_DESTROY_FORCE), -ENOENT, KVP_REASON_NO_POOL);
	kvpv_expect(kvpv_create(fd, "persistent", 0600, KVP_POOL_PERSISTENT, &dense, 1), -EPERM,
		    KVP_REASON_PERSISTENT);
	close(fd);
	fd = kvpv_open_as(1000, 100);
	kvpv_ok(kvpv_attach(fd, POOL, 0, &client));
	kvpv_true(kvpv_find_client(owner, client, &entry));
	kvpv_same(entry.uid, 1000);
}

/* Credentials that a ring was given are not those of the file. */
static void personality_does_not(void)
{
	static const struct kvp_family_desc dense = KVPV_DENSE(4, 4);
	int owner = kvpv_open_as(1000, 100), fd, member, id;
	struct kvp_pool_attach attach = { .head.size = sizeof(attach), .name = POOL };
	struct kvp_audit audit = { .head.size = sizeof(audit) };
	struct io_uring ring;

	kvpv_ok(kvpv_create(owner, POOL, 0600, 0, &dense, 1));
	fd = kvpv_open_as(65534, 65534);
	kvpv_same(io_uring_queue_init(4, &ring, 0), 0);
	id = io_uring_register_personality(&ring);	/* root's */
	kvpv_true(id > 0);
	kvpv_same(-kvpv_ring_call_on(&ring, fd, KVP_OP_POOL_ATTACH, &attach, sizeof(attach), id, 0),
		  ENOENT);
	kvpv_same(attach.head.reason, KVP_REASON_NO_POOL);
	io_uring_queue_exit(&ring);
	close(fd);
	close(owner);
	kvpv_until(KVPV_WAIT_MS, !kvpv_module_uses());

	owner = kvpv_open_as(1000, 100);
	kvpv_ok(kvpv_create(owner, POOL, 0666, 0, &dense, 1));
	member = kvpv_open_as(65534, 65534);
	kvpv_ok(kvpv_attach(member, POOL, 0, NULL));
	kvpv_same(io_uring_queue_init(4, &ring, 0), 0);
	id = io_uring_register_personality(&ring);
	kvpv_same(-kvpv_ring_call_on(&ring, member, KVP_OP_AUDIT, &audit, sizeof(audit), id, 0),
		  EACCES);
	kvpv_same(audit.head.reason, KVP_REASON_RIGHT_ADMIN);
	io_uring_queue_exit(&ring);
}

/* ---- pools that persist ---- */

static void who_makes_persistent(void)
{
	static const struct kvp_family_desc dense = KVPV_DENSE(4, 4);
	int fd = kvpv_open_as(1000, 100);
	u64 uses;

	kvpv_expect(kvpv_create(fd, POOL, 0600, KVP_POOL_PERSISTENT, &dense, 1), -EPERM,
		    KVP_REASON_PERSISTENT);
	kvpv_ok(kvpv_create(fd, POOL, 0600, 0, &dense, 1));
	close(fd);
	kvpv_until(KVPV_WAIT_MS, !kvpv_module_uses());
	fd = kvpv_open_as(1000, 777);
	kvpv_ok(kvpv_create(fd, POOL, 0600, KVP_POOL_PERSISTENT, &dense, 1));
	close(fd);
	/* It outlives its maker, keeps the module, and ends when it is destroyed. */
	kvpv_sleep_ms(100);
	fd = kvpv_open_as(1000, 100);
	kvpv_ok(kvpv_attach(fd, POOL, 0, NULL));
	uses = kvpv_module_uses();
	kvpv_same(uses, 2);
	kvpv_ok(kvpv_destroy(fd, POOL, 0));
	close(fd);
	kvpv_until(KVPV_WAIT_MS, !kvpv_module_uses());
	fd = kvpv_open();
	kvpv_ok(kvpv_create(fd, POOL, 0600, KVP_POOL_PERSISTENT, &dense, 1));
	kvpv_ok(kvpv_destroy(fd, POOL, 0));
}

static const struct kvpv_test tests[] = {
	KVPV_TEST(none_is_missing),
	KVPV_TEST(each_operation),
	KVPV_TEST(modes),
	KVPV_TEST(opener_counts),
	KVPV_TEST(personality_does_not),
	KVPV_TEST(who_makes_persistent),
};

int main(int argc, char **argv)
{
	return kvpv_run(tests, KVPV_COUNT(tests), argc, argv);
}

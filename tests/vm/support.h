/* SPDX-License-Identifier: MIT */
/*
 * What the programs of the VM share: calls on /dev/kvpool itself, without the runtime; processes
 * that end, or do not; audits; waiting with a bound for what comes asynchronously.
 *
 * A call returns 0 or a negative errno, and leaves its head in kvpv_head. Whatever else goes
 * wrong ends the process and says where.
 */
#ifndef KVPV_SUPPORT_H
#define KVPV_SUPPORT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include <linux/kvpool.h>

#define KVPV_DEVICE	"/dev/kvpool"
#define KVPV_MODULES	"/lib/kvpool/"
#define KVPV_WAIT_MS	(10000 * kvpv_slow())	/* bound for what must come, but not at once */

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint8_t u8;

#define KVPV_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- failures ---- */

void kvpv_die(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));

#define kvpv_fail(...) kvpv_die(__FILE__, __LINE__, __VA_ARGS__)

/* The head of the thread's last call. */
extern _Thread_local struct kvp_head kvpv_head;

/* @expr, a call, returns @err for @why. */
#define kvpv_expect(expr, err, why)						\
do {										\
	int kvpv_got_ = (expr);							\
	int kvpv_want_ = (err);							\
	u32 kvpv_why_ = (why);							\
										\
	if (kvpv_got_ != kvpv_want_ || kvpv_head.reason != kvpv_why_)		\
		kvpv_fail("%s: %d reason %u where %u, expected %d reason %u", #expr, kvpv_got_,	\
			  kvpv_head.reason, kvpv_head.where, kvpv_want_, kvpv_why_);	\
} while (0)
#define kvpv_ok(expr)	kvpv_expect(expr, 0, KVP_REASON_NONE)

/* A system call @expr does not return -1; yields what it does. */
#define kvpv_sys(expr)								\
({										\
	long kvpv_ret_ = (long)(expr);						\
										\
	if (kvpv_ret_ == -1)							\
		kvpv_fail("%s: %s", #expr, strerror(errno));			\
	kvpv_ret_;								\
})

/* It fails with @err_ (positive). */
#define kvpv_refused(expr, err_)						\
do {										\
	long kvpv_ret_;								\
										\
	errno = 0;								\
	kvpv_ret_ = (long)(expr);						\
	if (kvpv_ret_ != -1 || errno != (err_))					\
		kvpv_fail("%s: %ld, errno %d (%s), expected errno %d", #expr, kvpv_ret_,	\
			  errno, strerror(errno), (err_));			\
} while (0)

#define kvpv_same(is, should)							\
do {										\
	unsigned long long kvpv_is_ = (unsigned long long)(is);			\
	unsigned long long kvpv_should_ = (unsigned long long)(should);		\
										\
	if (kvpv_is_ != kvpv_should_)						\
		kvpv_fail("%s is %llu, expected %llu", #is, kvpv_is_, kvpv_should_);	\
} while (0)

#define kvpv_true(cond)								\
do {										\
	if (!(cond))								\
		kvpv_fail("not so: %s", #cond);					\
} while (0)

/* ---- random numbers: the same for a seed on every machine ---- */

static inline u64 kvpv_random(u64 *state)
{
	u64 value = *state += 0x9e3779b97f4a7c15ULL;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
	return value ^ value >> 31;
}

/* 0..@n-1 */
static inline u32 kvpv_below(u64 *state, u32 n)
{
	return (u32)((kvpv_random(state) >> 32) * n >> 32);
}

/* ---- calls ---- */

/* Operation @op on the file @fd; head.size is set if it is 0. */
int kvpv_call(int fd, u32 op, void *arg, u32 size);
/* Where they go in place of ioctl(2), if set; returns 0 or a negative errno. */
extern int (*kvpv_way)(int fd, u32 op, void *arg, u32 size);
#define kvpv_do(fd, op, arg) kvpv_call(fd, op, arg, sizeof(*(arg)))

static inline u64 kvpv_ptr(const void *pointer)
{
	return (u64)(uintptr_t)pointer;
}

/* A client; and one whose file @uid and @gid opened, whoever uses it. Close-on-exec. */
int kvpv_open(void);
int kvpv_open_as(uid_t uid, gid_t gid);

#define KVPV_DENSE(nr, tokens_) \
	{ .kind = KVP_FAMILY_DENSE, .block_tokens = (tokens_), .blocks = (nr), .block_bytes = 64 }
#define KVPV_WINDOW(nr, tokens_, window_) \
	{ .kind = KVP_FAMILY_WINDOW, .block_tokens = (tokens_), .blocks = (nr), \
	  .block_bytes = 64, .window = (window_) }
#define KVPV_STATE(nr) \
	{ .kind = KVP_FAMILY_STATE, .block_tokens = 1, .blocks = (nr), .block_bytes = 64 }

/* Flags are KVP_POOL_*. */
int kvpv_create(int fd, const char *name, u32 mode, u32 flags,
		const struct kvp_family_desc *families, u32 nr);
/* A client with a pool of one family of @blocks blocks of 4 tokens, mode 0666. */
int kvpv_pool(const char *name, u32 blocks);
int kvpv_attach(int fd, const char *name, u32 wanted, u64 *client);
/* A client that is attached with all that it may have. */
int kvpv_join(const char *name);
int kvpv_destroy(int fd, const char *name, u32 flags);

int kvpv_alloc(int fd, u32 family, u32 nr, u64 *blocks);
int kvpv_unref(int fd, const u64 *blocks, u32 nr);

/* The namespace digest that is meant by a number. */
void kvpv_space(u32 space, u8 digest[KVP_DIGEST_LEN]);
/* @nr token ids that follow from @seed; the first ones are the same for every @nr. */
void kvpv_tokens(u32 *tokens, u32 nr, u32 seed);

int kvpv_seq(int fd, u32 space, const u32 *tokens, u32 nr, u64 *seq, u64 *matched);
int kvpv_append(int fd, u64 seq, const u32 *tokens, u32 nr);
int kvpv_advance(int fd, u64 seq, u64 computed);
int kvpv_publish(int fd, u64 seq, u32 tag, u64 *published);
int kvpv_free(int fd, u64 seq);
/* Up to @room ids of the table of @family; where not NULL, lengths as in the struct. */
int kvpv_table(int fd, u64 seq, u32 family, u64 *blocks, u32 room, struct kvp_seq_table *table);
/* A sequence whose @nr tokens are computed; and one that is published, too. */
u64 kvpv_computed(int fd, u32 space, const u32 *tokens, u32 nr);
u64 kvpv_published(int fd, u32 space, const u32 *tokens, u32 nr);
/* How much of these tokens is published now. */
u64 kvpv_matched(int fd, u32 space, const u32 *tokens, u32 nr);
/* Blocks of @family of that prefix, held by @match until it is released. */
int kvpv_match(int fd, u32 space, const u32 *tokens, u32 nr, u32 family, u64 *blocks, u32 room,
	       u64 *matched, u64 *match);
int kvpv_release(int fd, u64 match);

int kvpv_export(int fd, u64 seq, int *file, u64 *id);
int kvpv_import(int fd, int file, u64 *seq, u64 *tokens);
int kvpv_revoke(int fd, u64 id);

/* @who: 0, KVP_STATS_SELF, an id; a uid with KVP_STATS_OF_UID. */
int kvpv_stats(int fd, u64 who, u32 flags, struct kvp_stats *stats,
	       struct kvp_family_stats *families, u32 nr);
/* Set what @limit->mask names. */
int kvpv_limit(int fd, struct kvp_limit limit);
/* Blocks of @family in @state. */
u64 kvpv_blocks(int fd, u32 family, enum kvp_block_state state);
u64 kvpv_self(int fd);

/* All clients that @fd sees, exports among them; how many. */
u32 kvpv_clients(int fd, struct kvp_client_entry *entries, u32 room);
/* The entry of @client, or false. */
bool kvpv_find_client(int fd, u64 client, struct kvp_client_entry *entry);
/* All blocks of @family; how many. */
u32 kvpv_dump(int fd, u32 family, struct kvp_block_entry *entries, u32 room);
/* The audit, for which @fd needs ADMIN, finds nothing. */
void kvpv_audit(int fd);

/* ---- fences ---- */

/* A client with a pool like that, mode 0666; @flags are KVP_POOL_*. */
int kvpv_fenced_pool(const char *name, u32 flags, u32 grace_ms,
		     const struct kvp_family_desc *families, u32 nr);
/* One more timeline; and what work does at its end. */
u32 kvpv_timeline(int fd);
void kvpv_store(struct kvp_timeline *page, u32 timeline, u64 value);
int kvpv_use(int fd, const struct kvp_use_entry *entries, u32 nr);
/* Work that reads what a sequence has; that computes rows of it; on a raw block. */
int kvpv_use_seq(int fd, u64 seq, u32 timeline, u64 value);
int kvpv_write_seq(int fd, u64 seq, u32 timeline, u64 value, u64 from, u64 to);
int kvpv_use_block(int fd, u64 block, u32 timeline, u64 value);
int kvpv_signal(int fd, u32 timeline, u64 value);
int kvpv_query(int fd, u32 flags, struct kvp_fence *fences, u32 nr, struct kvp_query *query);
/* Whether a fence has passed; the first has poll(2) tell when it does. */
bool kvpv_watch(int fd, u32 timeline, u64 value);
bool kvpv_passed(int fd, u32 timeline, u64 value);

int kvpv_admit(int fd, u32 flags, u32 family, u64 blocks, struct kvp_admit *admit);
/* A ticket, which waits behind @ahead others. */
u64 kvpv_queue(int fd, u32 family, u64 blocks, u64 ahead);
/* @flag: KVP_ADMIT_TAKE or CANCEL. */
int kvpv_ticket(int fd, u32 flag, u64 ticket);

int kvpv_reap(int fd, u64 client, u32 *clients, u64 *blocks);
/* What a dump says of the block whose place this id has. */
struct kvp_block_entry kvpv_block(int fd, u64 block);
struct kvp_stats kvpv_pool_stats(int fd);

/* ---- rings ---- */

struct io_uring;
struct io_uring_sqe;

/* @sqe: operation @op on the file @fd, or on the file registered first if @fd is -1. */
void kvpv_prepare(struct io_uring_sqe *sqe, int fd, u32 op, void *arg, u32 size);
/* One call through @ring, with its personality @id if that is not 0, and IOSQE_* of @flags. */
int kvpv_ring_call_on(struct io_uring *ring, int fd, u32 op, void *arg, u32 size, int id,
		      u32 flags);
/* One call through a ring of its own; head.size is set. */
int kvpv_ring_call(int fd, u32 op, void *arg, u32 size, u32 flags);

/* ---- the two pages ---- */

/* MAP_FAILED with errno. */
void *kvpv_map_timelines(int fd);
void *kvpv_map_counters(int fd);

/* ---- processes ---- */

/* A child that runs @body(@socket, @arg) and exits with 0; @socket: our end, as its own. */
pid_t kvpv_fork(void (*body)(int socket, void *arg), void *arg, int *socket);
/* It has exited with 0; or it was killed by SIGKILL. */
void kvpv_wait_done(pid_t pid);
void kvpv_kill(pid_t pid);

/* A descriptor over a Unix socket. */
void kvpv_send_fd(int socket, int fd);
int kvpv_recv_fd(int socket);
/* Numbers over one. */
void kvpv_send(int socket, u64 value);
u64 kvpv_recv(int socket);

/* ---- time ---- */

/* By what bounds are to be multiplied: $SLOW, which scripts/vm-run sets for a slow kernel. */
u32 kvpv_slow(void);
u64 kvpv_now_ms(void);
u64 kvpv_now_us(void);
void kvpv_sleep_ms(u32 ms);

/* @cond becomes true within @ms; yields how long it took. */
#define kvpv_until(ms, cond)							\
({										\
	u64 kvpv_begin_ = kvpv_now_ms();					\
										\
	while (!(cond)) {							\
		if (kvpv_now_ms() - kvpv_begin_ > (ms))				\
			kvpv_fail("not within %u ms: %s", (u32)(ms), #cond);	\
		kvpv_sleep_ms(1);						\
	}									\
	kvpv_now_ms() - kvpv_begin_;						\
})

/* No client has the id any more, nor an export that it made. */
bool kvpv_client_gone(int fd, u64 client);

/* ---- the module, and what it shows ---- */

/* Whole text of a file; freed by the caller. */
char *kvpv_read_file(const char *path);
void kvpv_write_file(const char *path, const char *text);
/* How often the module is in use. */
u64 kvpv_module_uses(void);
/* Load KVPV_MODULES @name .ko; or unload @name. */
void kvpv_insmod(const char *name, const char *parameters);
int kvpv_try_insmod(const char *name, const char *parameters);
void kvpv_rmmod(const char *name);
/* All files of the device's debugfs directory, one after the other; freed by the caller. */
char *kvpv_debugfs_text(void);

/* ---- running ---- */

struct kvpv_test {
	const char *name;
	void (*run)(void);
};

/*
 * Each test in a process of its own, or those whose name has the first argument in it; after
 * each, no pool is left and the module is not in use. The exit status of the program.
 */
int kvpv_run(const struct kvpv_test *tests, u32 nr, int argc, char **argv);

#define KVPV_TEST(function) { #function, function }

#endif /* KVPV_SUPPORT_H */

/* SPDX-License-Identifier: MIT */
/*
 * What the files of the runtime share. Never included together with the core's headers, which
 * have a struct kvp_pool of their own.
 */
#ifndef KVP_RUNTIME_INTERNAL_H
#define KVP_RUNTIME_INTERNAL_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include <kvpool.h>

#include "door.h"
#include "error.h"

/* Slots of a block table that one call resolves for rows, on the stack. */
#define KVP_ROW_SLOTS		64
/* Copies that an append or fork can ask for without memory being allocated. */
#define KVP_STACK_COPIES	32

/**
 * struct kvp_region - the bytes of one family, mapped
 * @base: block 0; NULL where the client has no right to use blocks
 * @length: bytes mapped, a multiple of the page size
 * @block_bytes: from one block to the next
 * @row_bytes: from one row to the next; a block is block_tokens rows
 */
struct kvp_region {
	unsigned char *base;
	uint64_t length;
	uint64_t block_bytes;
	uint64_t row_bytes;
};

/**
 * struct kvp_step_values - the values of a timeline, one a step
 * @lock: one step begins at a time
 * @last: value given out last; under @lock
 */
struct kvp_step_values {
	pthread_mutex_t lock;
	uint64_t last;
};

/*
 * A client of a pool. All of it is constant from open to close: that is why any number of
 * threads may use it without a lock. But for what steps and streams count, by timeline.
 */
struct kvp_pool {
	struct kvp_conn *conn;
	const struct kvp_door_ops *door;
	char name[KVP_NAME_LEN];
	uint32_t mode;
	uint32_t flags;			/* KVP_POOL_* as of its making */
	uint32_t rights;
	uint32_t index_tokens;
	uint32_t nr_families;
	uint32_t grace_ms;
	uint32_t nr_backings;		/* when it was opened */
	uint32_t max_copies;		/* one node's blocks and all states */
	struct kvp_family_desc family[KVP_MAX_FAMILIES];
	struct kvp_region region[KVP_MAX_FAMILIES];
	struct kvp_bound *bound[KVP_MAX_FAMILIES];	/* geometry, or NULL */
	struct kvp_step_values values[KVP_NR_TIMELINES];
	_Atomic uint64_t unused_timelines;	/* bit i: timeline i was a closed stream's */
};

/* ---- door.c ---- */

/*
 * The door of that kind; of KVP_DOOR_DEFAULT the one that plain names take. -EINVAL, noted: no
 * such kind, or the environment asks for none that there is.
 */
int kvp_door_find(enum kvp_door_kind kind, const struct kvp_door_ops **door);

/* ---- pool.c ---- */

/* Note that an operation on the pool's client failed; returns @err. */
int kvp_pool_failed(const struct kvp_pool *pool, uint32_t op, int err,
		    const struct kvp_head *head);

/*
 * An operation on the pool's client; @head begins the operation's struct of @size bytes. try
 * does not note an error, for callers who expect one.
 */
static inline int kvp_pool_try(struct kvp_pool *pool, uint32_t op, struct kvp_head *head,
			       uint32_t size)
{
	head->size = size;
	if (pool->door == &kvp_inproc_ops)
		return kvp_inproc_call(pool->conn, op, head, size);
	return pool->door->call(pool->conn, op, head, size);
}

static inline int kvp_pool_op(struct kvp_pool *pool, uint32_t op, struct kvp_head *head,
			      uint32_t size)
{
	int err = kvp_pool_try(pool, op, head, size);

	return err ? kvp_pool_failed(pool, op, err, head) : 0;
}

/* KVP_OP_BATCH in the way that is best for the door. */
static inline int kvp_pool_batch(struct kvp_pool *pool, struct kvp_batch *arg)
{
	int err;

	arg->head.size = sizeof(*arg);
	err = pool->door->batch(pool->conn, arg, sizeof(*arg));
	return err ? kvp_pool_failed(pool, KVP_OP_BATCH, err, &arg->head) : 0;
}

/* @arg: a pointer to the operation's struct, whose first member is the head. */
#define kvp_do(pool, op, arg)	kvp_pool_op(pool, op, &(arg)->head, sizeof(*(arg)))
#define kvp_try(pool, op, arg)	kvp_pool_try(pool, op, &(arg)->head, sizeof(*(arg)))

#define KVP_ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

static inline uint64_t kvp_addr(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

/* -EINVAL where @arg cannot be an operation's struct of @size bytes. */
int kvp_arg_check(const char *what, const void *arg, uint32_t size);

/* ---- info.c ---- */

/* The door did not give @what: notes that, and returns @err. */
int kvp_door_failed(const struct kvp_pool *pool, int err, const char *what);

/* ---- fence.c ---- */

/* The page of timelines; -errno, noted, where there is none. */
int kvp_timelines(struct kvp_pool *pool, struct kvp_timeline **page);

/* ---- wait.c ---- */

/* Ends of times, on the monotonic clock; KVP_FOREVER stays so. Left of one 0: it is over. */
uint64_t kvp_clock_after(uint64_t ns);
uint64_t kvp_clock_left(uint64_t end);

/* Sleep for a moment, but no longer than @ns. */
void kvp_nap(uint64_t ns);

/* ---- step.c ---- */

/* What steps count, for a pool that is being opened, and closed. */
void kvp_step_values_init(struct kvp_pool *pool);
void kvp_step_values_exit(struct kvp_pool *pool);

/* The value that was given out last on a timeline. */
uint64_t kvp_step_values_last(struct kvp_pool *pool, uint32_t timeline);

/* ---- seq.c ---- */

/* -EINVAL where there is no prompt or it has no namespace. */
int kvp_prompt_check(const struct kvp_prompt *prompt);

/* The prompt's part of a call; it has been checked. */
void kvp_create_fill(struct kvp_seq_create *arg, const struct kvp_prompt *prompt);
void kvp_append_fill(struct kvp_seq_append *arg, const struct kvp_append *append);

/* Make the copies that a call asked for @seq, and say so. */
int kvp_copies_make(struct kvp_pool *pool, kvp_seq_t seq, const struct kvp_copy *copies,
		    uint32_t nr);

/* ---- prefix.c ---- */

void kvp_publish_fill(struct kvp_prefix_publish *arg,
		      const struct kvp_publish_options *options);
void kvp_match_fill(struct kvp_prefix_match *arg, const struct kvp_prompt *prompt);

/* ---- key.c ---- */

/*
 * -EKEYREJECTED where this library's keys are not those of other hosts; found out once a
 * process, before a pool is opened.
 */
int kvp_key_selftest(void);

/* ---- dtype.c ---- */

/* The enum kvp_dtype of a name, KVP_DTYPE_NONE if there is none. */
uint32_t kvp_dtype_find(const char *name, size_t len);

/* ---- uri.c ---- */

/**
 * struct kvp_uri - a pool's URI, taken apart
 * @door: that it names, KVP_DOOR_DEFAULT if none
 * @name: of the pool
 * @rights: to take, 0: all
 * @config: how to make it; nr_families 0: it must exist
 * @flags_said: of config.flags, those that it says something of
 * @families: what config.families points to
 * @family_names: what their names point to
 */
struct kvp_uri {
	enum kvp_door_kind door;
	char name[KVP_NAME_LEN];
	uint32_t rights;
	struct kvp_pool_config config;
	uint32_t flags_said;
	struct kvp_family_config families[KVP_MAX_FAMILIES];
	char family_names[KVP_MAX_FAMILIES][KVP_FAMILY_NAME_LEN];
};

int kvp_uri_parse(const char *text, struct kvp_uri *uri);

/*
 * The same of a name alone, which may have a door's scheme before it; what characters it may
 * have is the core's to say.
 */
int kvp_uri_name(const char *text, struct kvp_uri *uri);

/* ---- config.c ---- */

/* What the core is told of families; -errno, noted, where it cannot be told. */
int kvp_config_describe(const char *pool_name, const struct kvp_pool_config *config,
			struct kvp_family_desc families[KVP_MAX_FAMILIES]);

/* An existing pool must be as its opener describes it; -EINVAL, noted, where it is not. */
int kvp_config_compare(const struct kvp_pool *pool, const struct kvp_uri *uri,
		       const struct kvp_family_desc *families);

/*
 * The core refused to make the pool: note what was wrong by the names that a config has. False
 * where it was nothing of the config's.
 */
bool kvp_config_failed(const struct kvp_pool *pool, int err, const struct kvp_pool_create *arg,
		       const struct kvp_family_desc *families);

/* ---- bytes.c ---- */

/* Make the backing of a pool that was just made (needs ADMIN) and map it. */
int kvp_bytes_create(struct kvp_pool *pool);
/* Map the backing that the pool has. */
int kvp_bytes_attach(struct kvp_pool *pool);
void kvp_bytes_unmap(struct kvp_pool *pool);

/*
 * Rows [0, copy->tokens) of copy->src to copy->dst, all or none. -EOPNOTSUPP, noted: this
 * client has no bytes of a family.
 */
int kvp_bytes_copy(struct kvp_pool *pool, const struct kvp_copy *copies, uint32_t nr);

/* The id can be of this pool, and this process has its bytes. */
bool kvp_block_is_ours(const struct kvp_pool *pool, uint64_t block);

/* ---- rotate.c ---- */

/* The environment names no variant of the kernels that there is: -EINVAL, noted. */
int kvp_cpu_unknown(void);

/* ---- geometry.c ---- */

/* Forget the geometries of a pool that is closed. */
void kvp_geometry_drop(struct kvp_pool *pool);

#endif /* KVP_RUNTIME_INTERNAL_H */

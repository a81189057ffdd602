/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Calls on their way through the core: the table of operations, what a call
 * needs, takes and carries along, and what each file offers the others. To be
 * included through core.h, which has the objects and the locks.
 */
#ifndef KVP_CALLS_H
#define KVP_CALLS_H

/* ---- calls ------------------------------------------------------------------- */

/**
 * struct kvp_call - one operation being executed
 * @client: who calls
 * @pool: its pool, or NULL
 * @op: the entry of the table
 * @head: the frame of @arg
 * @arg: the struct, as long as the core knows it
 * @array: the operation's arrays, in the order of the table; NULL if count 0
 * @take: KVP_TAKE_*
 *
 * An executor returns 0 or kvp_fail().
 */
struct kvp_call {
	struct kvp_client *client;
	struct kvp_pool *pool;
	const struct kvp_op_desc *op;
	union {
		struct kvp_head *head;
		void *arg;
	};
	void *array[KVP_MAX_ARRAYS];
	u32 take;
};

/* How a call takes blocks (kvp_call.take). */
#define KVP_TAKE_FRESH	(1U << 0)	/* not out of the client's reserve */
#define KVP_TAKE_SERVED	(1U << 1)	/* for a ticket whose turn it is */
#define KVP_TAKE_QUEUES	(1U << 2)	/* not to be had now is no refusal: it will be served */
#define KVP_TAKE_TRIES	(1U << 3)	/* no refusal either: it will be asked again at once */

/* Directions of an array. */
#define KVP_ARRAY_IN	1
#define KVP_ARRAY_OUT	2
#define KVP_ARRAY_INOUT	3

/**
 * struct kvp_array_desc - one (pointer, count) pair of an operation's struct
 * @ptr: offset of the __u64 pointer
 * @nr: offset of the __u32 count
 * @elem: bytes of an element
 * @align: alignment of an element
 * @max: largest count
 * @dir: KVP_ARRAY_*
 * @optional: a count of 0 is allowed
 */
struct kvp_array_desc {
	u16 ptr;
	u16 nr;
	u16 elem;
	u8 align;
	u8 dir;
	u32 max;
	bool optional;
};

/* Where an operation may be called. */
#define KVP_NEEDS_POOL	(1U << 0)	/* by an attached client only */
#define KVP_NEEDS_NONE	(1U << 1)	/* by one that is not attached only */
#define KVP_NO_BATCH	(1U << 2)	/* not in a batch */
#define KVP_STOPS_POOL	(1U << 3)	/* takes the gate for writing */
#define KVP_NO_GATE	(1U << 4)	/* works on the host, or call by call: takes no gate */
#define KVP_IN_TURN	(1U << 5)	/* asks for blocks for something new: tickets go first */

/**
 * struct kvp_op_desc - one operation
 * @name: for people
 * @exec: the executor; NULL: this core cannot do it (EOPNOTSUPP/DOOR)
 * @undo: takes back a creation whose result could not be written, or NULL
 * @size: bytes of the struct
 * @min_size: bytes that a caller must give (those of the first version)
 * @flags: flags that are known
 * @rights: KVP_RIGHT_* that the client needs
 * @where: KVP_NEEDS_*, ...
 * @nr_arrays: number of @array
 * @array: see there
 * @zero: byte offsets of __u32 fields that must be 0, the rest is 0
 * @id: byte offset of the __u64 that may be KVP_REF(k), or 0
 * @made: byte offset of the __u64 id that the operation creates, or 0
 */
struct kvp_op_desc {
	const char *name;
	int (*exec)(struct kvp_call *call);
	void (*undo)(struct kvp_call *call);
	u32 size;
	u32 min_size;
	u32 flags;
	u32 rights;
	u32 where;
	u32 nr_arrays;
	struct kvp_array_desc array[KVP_MAX_ARRAYS];
	u16 zero[6];
	u16 id;
	u16 made;
};

/**
 * struct kvp_made - what the entries of a batch have created so far
 * @id: by entry: the id, 0: none
 * @nr: the entry being executed
 */
struct kvp_made {
	u64 *id;
	u32 nr;
};

/* ops.c */
const struct kvp_op_desc *kvp_op_find(u32 nr);

/* dispatch.c */
int kvp_call(struct kvp_client *client, u32 nr, u64 addr, u32 len);
int kvp_call_op(struct kvp_client *client, u32 nr, const struct kvp_op_desc *op, u64 addr,
		u32 len, struct kvp_made *made);
int kvp_fail(struct kvp_call *call, int err, enum kvp_reason reason, u32 where);
int kvp_fail_alloc(struct kvp_call *call, int err);

/* batch.c */
int kvp_op_batch(struct kvp_call *call);

/* pool.c: kvp_host.lock and the life of pools */
void kvp_host_init(struct kvp_host *host);
void kvp_host_exit(struct kvp_host *host);
bool kvp_pool_leave(struct kvp_client *client);
void kvp_pool_end_later(struct kvp_pool *pool, struct list_head *ended);
void kvp_pools_free(struct list_head *ended);
int kvp_op_pool_ready(struct kvp_call *call);
int kvp_op_abi(struct kvp_call *call);
int kvp_op_pool_create(struct kvp_call *call);
int kvp_op_pool_attach(struct kvp_call *call);
int kvp_op_pool_info(struct kvp_call *call);
int kvp_op_pool_list(struct kvp_call *call);
int kvp_op_pool_destroy(struct kvp_call *call);

/* backing.c */
int kvp_op_backing_add(struct kvp_call *call);
int kvp_op_backing_get(struct kvp_call *call);
void kvp_undo_backing_get(struct kvp_call *call);

/* client.c: accounts, limits, memory of a client's objects, death */
struct kvp_client *kvp_client_open(struct kvp_host *host, const struct kvp_door *door,
				   const struct kvp_cred *cred);
void kvp_client_close(struct kvp_client *client);
void kvp_client_init(struct kvp_client *client, struct kvp_host *host,
		     const struct kvp_door *door, const struct kvp_cred *cred);
bool kvp_client_end(struct kvp_client *client);
void kvp_client_exit(struct kvp_client *client);
int kvp_client_attach(struct kvp_call *call, struct kvp_pool *pool, u32 rights,
		      const struct kvp_limits *limits, u64 *room);

void *kvp_client_counters(const struct kvp_client *client);
wait_queue_head_t *kvp_client_wait(const struct kvp_client *client);
u32 kvp_client_ready(struct kvp_client *client);
u32 kvp_client_ready_locked(struct kvp_client *client);
bool kvp_client_detach(struct kvp_client *client);
void kvp_account_end_locked(struct kvp_pool *pool, struct kvp_account *account);
struct kvp_account *kvp_account_find_sliced(struct kvp_pool *pool, u64 client, bool dead);
void *kvp_client_alloc(struct kvp_client *client, size_t size);
void kvp_client_free(struct kvp_client *client, void *mem, size_t size);
void kvp_charge_locked(struct kvp_pool *pool, u32 family, u32 slot, u64 nr);
void kvp_uncharge_locked(struct kvp_pool *pool, u32 family, u32 slot, u64 nr);
u64 kvp_others_unmet_locked(struct kvp_pool *pool, u32 family, u32 slot);
void kvp_set_guarantee_locked(struct kvp_pool *pool, struct kvp_account *account, u32 family,
			      u64 guarantee);

/* limit.c: limits of clients and users */
int kvp_op_limit(struct kvp_call *call);
struct kvp_user *kvp_user_get_sliced(struct kvp_pool *pool, u32 uid, int *err);
struct kvp_user *kvp_user_find_sliced(struct kvp_pool *pool, u32 uid);
const struct kvp_limits *kvp_user_limits_locked(const struct kvp_pool *pool,
						const struct kvp_user *user);
int kvp_check_more_locked(struct kvp_call *call, enum kvp_thing thing, u64 nr);
int kvp_take_more_sliced(struct kvp_call *call, enum kvp_thing thing, u64 nr);
int kvp_take_more_locked(struct kvp_call *call, enum kvp_thing thing, u64 nr);
int kvp_over_locked(const struct kvp_client *client, enum kvp_thing thing, u64 nr);
int kvp_over_blocks_locked(const struct kvp_client *client, u32 family, u64 nr);

/* kvp_over_locked() and kvp_client_alloc() of a uid's limit; -EDQUOT is a client's. */
#define KVP_OVER_UID	(-EUSERS)

/* export.c */
int kvp_op_seq_export(struct kvp_call *call);
void kvp_undo_seq_export(struct kvp_call *call);
int kvp_op_seq_import(struct kvp_call *call);
void kvp_undo_seq_import(struct kvp_call *call);
int kvp_op_export_revoke(struct kvp_call *call);
void kvp_export_gone_locked(struct kvp_pool *pool, struct kvp_export *export);
void kvp_export_get(struct kvp_export *export);
void kvp_export_put(struct kvp_export *export);
u64 kvp_export_id(const struct kvp_export *export);

/* ids.c: objects by id, growing arrays */
int kvp_ids_room_sliced(struct kvp_pool *pool, struct kvp_ids *ids);
u64 kvp_ids_add_locked(struct kvp_ids *ids, void *object);
void *kvp_ids_find_locked(struct kvp_ids *ids, u64 id, int *err);
void kvp_ids_replace_locked(struct kvp_ids *ids, u64 id, void *object);
void kvp_ids_del_locked(struct kvp_ids *ids, u64 id);
void kvp_ids_exit(struct kvp_ids *ids);
int kvp_vec_room(struct kvp_client *client, const struct kvp_vec *vec, u64 nr,
		 struct kvp_vec *room);
void kvp_vec_move(struct kvp_client *client, struct kvp_vec *vec, struct kvp_vec *room);
void kvp_vec_exit(struct kvp_client *client, struct kvp_vec *vec);

/* hash.c */
u64 kvp_siphash13(const u64 key[2], const void *data, size_t len, u64 last);
u64 kvp_content_hash(const struct kvp_pool *pool, u64 parent, const u32 *tokens,
		     const u8 *extra);
u64 kvp_space_hash(const struct kvp_pool *pool, const u8 *digest);
int kvp_hash_selftest(void);

/* block.c: states, counts, free lists */
extern const u8 kvp_block_next[KVP_BLOCK_STATES];

/* How the references of a table end. */
enum kvp_drop {
	KVP_DROP_UNDO,			/* they never came to be: nothing was used */
	KVP_DROP_USED,
	KVP_DROP_HELD_BACK,		/* they were held back, and their fences have passed */
};

void *kvp_arena_alloc(u64 nr, size_t size, u64 *bytes);
int kvp_family_init(struct kvp_family *family, u64 *bytes);
void kvp_family_exit(struct kvp_family *family);
void kvp_block_set_state_locked(struct kvp_family *family, struct kvp_block *block,
				enum kvp_block_state state);
u64 kvp_block_id(const struct kvp_family *family, u32 index);
int kvp_check_family(struct kvp_call *call, u32 *family);
int kvp_block_find_locked(struct kvp_call *call, u64 id, u32 where,
			  struct kvp_family **family, u32 *index);
bool kvp_block_get_locked(struct kvp_pool *pool, struct kvp_family *family, u32 index,
			  u32 slot);
void kvp_block_put_locked(struct kvp_pool *pool, struct kvp_family *family, u32 index);
void kvp_block_undo_get_locked(struct kvp_pool *pool, struct kvp_family *family, u32 index);
void kvp_block_release_locked(struct kvp_pool *pool, struct kvp_family *family, u32 index);
void kvp_block_hold_back_locked(struct kvp_pool *pool, struct kvp_family *family, u32 index);
void kvp_block_come_back_locked(struct kvp_pool *pool, struct kvp_family *family, u32 index);
void kvp_blocks_drop_locked(struct kvp_client *client, struct kvp_family *family, const u32 *at,
			    u64 nr, enum kvp_drop how);
void kvp_block_to_free_after_locked(struct kvp_family *family, u32 index, u32 after);
void kvp_block_to_free_locked(struct kvp_family *family, u32 index);
bool kvp_block_recycle_locked(struct kvp_family *family, u32 index);

/* take.c: blocks, nodes and digests for a call, whole or not at all */
void kvp_block_to_taken_locked(struct kvp_family *family, u32 index, u32 slot,
			       struct kvp_taken *taken);
int kvp_refuse_locked(struct kvp_call *call, int err, enum kvp_reason reason, u32 where);
int kvp_take_sliced(struct kvp_call *call, const struct kvp_need *need,
		    struct kvp_taken *taken);
u64 kvp_family_room_locked(const struct kvp_family *family);
void kvp_take_free_sliced(struct kvp_client *client, const struct kvp_need *need,
			  struct kvp_taken *taken);
void kvp_give_back_sliced(struct kvp_client *client, struct kvp_taken *taken);
void kvp_taken_init(const struct kvp_pool *pool, struct kvp_taken *taken);
void kvp_taken_blocks_locked(struct kvp_family *family, struct kvp_taken *taken, u64 now,
			     u32 *at, u64 nr);
u32 kvp_taken_block_locked(struct kvp_family *family, struct kvp_taken *taken, u64 now);
u32 kvp_taken_node_locked(struct kvp_pool *pool, struct kvp_taken *taken);
u32 kvp_taken_digest_locked(struct kvp_pool *pool, struct kvp_taken *taken,
			    const u8 *digest);

/* lookup.c: finding nodes by their contents */
#define KVP_HASH_RUN	16U	/* nodes of a path whose buckets lie in one line */
#define KVP_HASH_LINES	2U	/* lines that they have */

/*
 * The bucket of a node in one of the lines of its path. @first: hash of the first node of its
 * run: the one at depth (@depth - 1) / KVP_HASH_RUN * KVP_HASH_RUN + 1 of the path, which may be
 * itself. @depth: > 0.
 */
static inline u32 kvp_hash_place(const struct kvp_pool *pool, u64 first, u32 depth, u32 line)
{
	u32 begin = line ? first >> 32 : first;

	return (begin & pool->bucket_mask & ~(KVP_HASH_RUN - 1)) | (depth - 1) % KVP_HASH_RUN;
}

int kvp_hash_init(struct kvp_pool *pool, u64 *bytes);
void kvp_hash_add_locked(struct kvp_pool *pool, u32 index, u64 first);
void kvp_hash_del_locked(struct kvp_pool *pool, u32 index);
void kvp_hash_prefetch(const struct kvp_pool *pool, u64 first);
void kvp_hash_prefetch_node(const struct kvp_pool *pool, u64 first, u32 depth, u64 hash);
void kvp_hash_prefetch_add_locked(const struct kvp_pool *pool, u64 first, u32 depth, u64 hash);
u32 kvp_index_child_locked(struct kvp_pool *pool, u32 parent, u64 first, u64 hash,
			   const u32 *tokens, const u8 *extra);
u32 kvp_index_root_locked(struct kvp_pool *pool, u64 hash, const u8 *digest);

/* node.c: the tree, the lru list */
int kvp_index_init(struct kvp_pool *pool, u64 *bytes);
void kvp_index_exit(struct kvp_pool *pool);
void kvp_index_insert_locked(struct kvp_pool *pool, u32 index, u32 parent, u64 first);
void kvp_index_insert_root_locked(struct kvp_pool *pool, u32 index);
void kvp_index_unlink_locked(struct kvp_pool *pool, u32 index);
bool kvp_index_relink_locked(struct kvp_pool *pool, u32 index);
void kvp_index_cut_locked(struct kvp_pool *pool, u32 index);
void kvp_prefetch_parts_locked(const struct kvp_pool *pool, u32 index);
bool kvp_node_idle_locked(struct kvp_pool *pool, u32 index);
bool kvp_node_reclaimable_locked(struct kvp_pool *pool, u32 index);
void kvp_node_relist_locked(struct kvp_pool *pool, u32 index);
void kvp_node_settle_locked(struct kvp_pool *pool, u32 index);
void kvp_node_unuse_locked(struct kvp_pool *pool, u32 index);
void kvp_node_undo_use_locked(struct kvp_pool *pool, u32 index);
bool kvp_node_unpin_locked(struct kvp_pool *pool, u32 index);
void kvp_node_put_locked(struct kvp_pool *pool, u32 index);
void kvp_node_to_free_locked(struct kvp_pool *pool, u32 index);
void kvp_digest_to_free_locked(struct kvp_pool *pool, u32 index);
void kvp_lru_add_newest_locked(struct kvp_pool *pool, u32 index);
void kvp_lru_add_oldest_locked(struct kvp_pool *pool, u32 index);
void kvp_lru_del_locked(struct kvp_pool *pool, u32 index);

/*
 * event.c: what matches find, told to those who mirror it. While nobody has asked for events,
 * the hooks are a branch that is never taken.
 */
void kvp_log_stored_locked(struct kvp_pool *pool, u32 index);
void kvp_log_unlinked_locked(struct kvp_pool *pool, u32 index);
void kvp_log_relinked_locked(struct kvp_pool *pool, u32 index);
void kvp_log_removed_sliced(struct kvp_pool *pool, u32 victim);
void kvp_log_cut_sliced(struct kvp_pool *pool, u32 top);
void kvp_log_victim_space_locked(const struct kvp_pool *pool, u32 index, u8 *space);
bool kvp_log_audit(const struct kvp_pool *pool, u32 index, u32 *found, u32 *expected);
void kvp_log_left_locked(struct kvp_pool *pool, u64 client);
bool kvp_events_pending_locked(const struct kvp_pool *pool, u64 cursor);
void kvp_events_exit(struct kvp_pool *pool);
int kvp_op_events(struct kvp_call *call);

static inline void kvp_event_stored_locked(struct kvp_pool *pool, u32 index)
{
	if (unlikely(pool->events))
		kvp_log_stored_locked(pool, index);
}

static inline void kvp_event_unlinked_locked(struct kvp_pool *pool, u32 index)
{
	if (unlikely(pool->events))
		kvp_log_unlinked_locked(pool, index);
}

static inline void kvp_event_relinked_locked(struct kvp_pool *pool, u32 index)
{
	if (unlikely(pool->events))
		kvp_log_relinked_locked(pool, index);
}

static inline void kvp_event_removed_sliced(struct kvp_pool *pool, u32 victim)
{
	if (unlikely(pool->events))
		kvp_log_removed_sliced(pool, victim);
}

static inline void kvp_event_cut_sliced(struct kvp_pool *pool, u32 top)
{
	if (unlikely(pool->events))
		kvp_log_cut_sliced(pool, top);
}

/* reclaim.c: idle published blocks back for reuse, leaf first */
int kvp_reclaim_sliced(struct kvp_call *call, const struct kvp_need *need,
		       struct kvp_taken *taken);
int kvp_op_prefix_reclaim(struct kvp_call *call);

/* raw.c: references of engines that keep their own tables */
int kvp_op_block_alloc(struct kvp_call *call);
void kvp_undo_block_alloc(struct kvp_call *call);
int kvp_op_block_ref(struct kvp_call *call);
int kvp_op_block_unref(struct kvp_call *call);
int kvp_op_block_make_private(struct kvp_call *call);
void kvp_undo_block_make_private(struct kvp_call *call);
void kvp_raw_exit_sliced(struct kvp_client *client);
bool kvp_raw_holds(const struct kvp_client *client, u64 id);

/* seq.c: memory, tables, lengths, and what makes a sequence shorter */

/* What a sequence needs to become longer. */
struct kvp_plan {
	struct kvp_need need;
	u64 slots;
};

/* Memory for its tables, aside until the call can no longer fail. */
struct kvp_room {
	u32 nr;				/* tables that get a new one */
	u32 table[KVP_MAX_FAMILIES + 1];	/* which; KVP_MAX_FAMILIES: the runs */
	struct kvp_vec vec[KVP_MAX_FAMILIES + 1];
};

size_t kvp_seq_size(const struct kvp_pool *pool);
struct kvp_seq *kvp_seq_alloc(struct kvp_call *call);
int kvp_seq_plan(struct kvp_call *call, const struct kvp_seq *seq, u64 reserved, u64 tokens,
		 u64 computed, struct kvp_plan *plan);
int kvp_seq_room_make(struct kvp_call *call, const struct kvp_seq *seq, u64 reserved, u64 tokens,
		      struct kvp_room *room);
void kvp_seq_room_use(struct kvp_seq *seq, struct kvp_room *room);
void kvp_seq_room_drop(struct kvp_client *client, struct kvp_room *room);
struct kvp_seq *kvp_seq_begin(struct kvp_call *call, u64 id);
struct kvp_seq *kvp_seq_begin_remapped(struct kvp_call *call, u64 id);
struct kvp_seq *kvp_seq_begin_settled(struct kvp_call *call, u64 id);
void kvp_seq_end(struct kvp_seq *seq);
int kvp_seq_take_sliced(struct kvp_call *call, const struct kvp_plan *plan,
			struct kvp_taken *taken);
void kvp_seq_push(struct kvp_seq *seq, u32 family, u32 index);
void kvp_seq_shrink_sliced(struct kvp_pool *pool, struct kvp_seq *seq, u64 tokens);
void kvp_seq_set_tail_sliced(struct kvp_pool *pool, struct kvp_seq *seq, u64 nr_published);
void kvp_seq_free_sliced(struct kvp_seq *seq);
void kvp_seq_undo(struct kvp_call *call, u64 id);
int kvp_seq_check_cut(struct kvp_call *call, const struct kvp_seq *seq, u64 tokens, bool empty);
int kvp_op_seq_advance(struct kvp_call *call);
int kvp_op_seq_copied(struct kvp_call *call);
int kvp_op_seq_truncate(struct kvp_call *call);
int kvp_op_seq_free(struct kvp_call *call);
int kvp_op_seq_table(struct kvp_call *call);

struct kvp_walk;

/* tokens.c: ids on their way from a call into the nodes of a sequence */

/**
 * struct kvp_ids_in - the ids that a call brings
 * @tokens: ids
 * @nr: how many
 * @extras: extra digests, checked by kvp_extras_check()
 * @nr_extras: how many
 * @walk: has hashes of full nodes already, or NULL
 */
struct kvp_ids_in {
	const u32 *tokens;
	u32 nr;
	const struct kvp_extra *extras;
	u32 nr_extras;
	const struct kvp_walk *walk;
};

int kvp_extras_check(struct kvp_call *call, const struct kvp_ids_in *in, u64 first);
u32 kvp_extras_from(const struct kvp_ids_in *in, u64 node);
void kvp_seq_grow_sliced(struct kvp_pool *pool, struct kvp_seq *seq, struct kvp_taken *taken,
			 u64 reserved, u64 tokens);
void kvp_seq_attach_extras_sliced(struct kvp_pool *pool, struct kvp_seq *seq,
				  const struct kvp_ids_in *in, struct kvp_taken *taken);
void kvp_seq_fill(struct kvp_pool *pool, struct kvp_seq *seq, const struct kvp_ids_in *in);

/* create.c, append.c, fork.c: what makes a sequence, or makes it longer */
int kvp_seq_check_add_sliced(struct kvp_call *call);
int kvp_seq_add_sliced(struct kvp_call *call, struct kvp_seq *seq);
int kvp_may_hold_idle_locked(const struct kvp_client *client, const struct kvp_family *family,
			     u64 nr);
int kvp_check_idle_sliced(struct kvp_call *call, const struct kvp_family *family);
int kvp_op_seq_create(struct kvp_call *call);
void kvp_undo_seq_create(struct kvp_call *call);
int kvp_op_seq_append(struct kvp_call *call);
int kvp_op_seq_set_tokens(struct kvp_call *call);
int kvp_op_seq_fork(struct kvp_call *call);
void kvp_undo_seq_fork(struct kvp_call *call);
int kvp_fork_to(struct kvp_call *call, struct kvp_seq *parent, u64 tokens,
		struct kvp_client *client, u64 *id);

/* place.c: positions as runs */
u64 kvp_place_at(const struct kvp_seq *seq, u64 token, struct kvp_place *place);
u64 kvp_seq_tainted_from(const struct kvp_seq *seq);
u64 kvp_seq_attended(const struct kvp_seq *seq, u64 rows);
bool kvp_seq_unmoved(const struct kvp_seq *seq, u64 rows);
int kvp_places_room(struct kvp_call *call, struct kvp_seq *seq, u32 nr);
void kvp_places_push(struct kvp_seq *seq, const struct kvp_place *place);
int kvp_places_copy(struct kvp_call *call, struct kvp_seq *child, const struct kvp_seq *parent,
		    u64 tokens);
void kvp_places_cut(struct kvp_seq *seq, u64 tokens);
void kvp_places_append(struct kvp_seq *seq);
int kvp_op_seq_positions(struct kvp_call *call);

/* remap.c, stage.c, moves.c: what changes which rows stand where */
void kvp_remap_free(struct kvp_client *client, struct kvp_remap *remap);
u64 kvp_remap_memory(const struct kvp_remap *remap);
int kvp_op_remap_begin(struct kvp_call *call);
void kvp_undo_remap_begin(struct kvp_call *call);
int kvp_stage(struct kvp_call *call, struct kvp_seq *seq, struct kvp_remap *remap,
	      const struct kvp_source *source, u64 tokens, u64 reserved);
void kvp_stage_undo(struct kvp_remap *remap);
u32 kvp_source_block(const struct kvp_seq *seq, const struct kvp_remap *remap,
		     const struct kvp_part *part, u32 family, u64 token);
void kvp_rows_begin(struct kvp_rows *rows, const struct kvp_seq *seq,
		    const struct kvp_remap *remap, u32 family);
bool kvp_rows_next(struct kvp_rows *rows);
void kvp_remap_tell(const struct kvp_seq *seq, struct kvp_remap *remap,
		    struct kvp_remap_begin *arg);
void kvp_remap_abort_sliced(struct kvp_seq *seq);
int kvp_op_remap_moves(struct kvp_call *call);
int kvp_op_remap_commit(struct kvp_call *call);
int kvp_op_remap_abort(struct kvp_call *call);

/* copy.c: private copies of the node in which a sequence ends */
u32 kvp_copies_need(const struct kvp_pool *pool, const struct kvp_seq *seq, u64 tokens,
		    u64 reserved, u64 rows, struct kvp_need *need);
bool kvp_node_shared_sliced(struct kvp_pool *pool, const struct kvp_seq *seq);
u32 kvp_copy_node_locked(struct kvp_pool *pool, struct kvp_taken *taken, u32 old);
u32 kvp_copy_block_locked(struct kvp_pool *pool, struct kvp_seq *seq, u32 family, u32 src,
			  u32 rows, struct kvp_taken *taken, struct kvp_copy *copy);
u32 kvp_copy_rows(const struct kvp_family *family, u64 slot, u64 rows);

/* walk.c: from a root along the contents of a prompt */
#define KVP_WALK	32		/* nodes that are hashed, and then looked up, at a time */
#define KVP_WALK_HASHES	(2 * KVP_WALK)	/* hashes that are kept: of two such times */

/**
 * struct kvp_walk - a way through the index
 * @pool: the pool
 * @node: reached so far; to be pinned by the caller while the lock is dropped
 * @depth: nodes passed
 * @nr_nodes: nodes that there are to pass
 * @usable: depth at which every family could go on
 * @in: ids and digests
 * @extra: next of the digests
 * @missing: per family, end of the last slot on the way that has no block
 * @ready: nodes before this one may be looked up now
 * @hashed: nodes before this one are hashed
 * @hashed_extra: next of the digests for hashing
 * @last_hash: of the last node hashed
 * @hash: kvp_walk_hash_of() finds those of the last nodes before @hashed
 */
struct kvp_walk {
	struct kvp_pool *pool;
	u32 node;
	u64 depth;
	u64 nr_nodes;
	u64 usable;
	const struct kvp_ids_in *in;
	u32 extra;
	u32 hashed_extra;
	u64 missing[KVP_MAX_FAMILIES];
	u64 ready;
	u64 hashed;
	u64 last_hash;
	u64 hash[KVP_WALK_HASHES];
};

void kvp_walk_init(struct kvp_walk *walk, struct kvp_pool *pool, u32 root, u64 root_hash,
		   const struct kvp_ids_in *in, u64 limit);
bool kvp_walk_ahead(struct kvp_walk *walk);
u32 kvp_walk_next_locked(struct kvp_walk *walk);

/* The hash that chooses the lines of buckets of a node: see kvp_hash_place(). */
static inline u64 kvp_walk_first_of(const struct kvp_walk *walk, u64 node)
{
	return walk->hash[(node - node % KVP_HASH_RUN) % KVP_WALK_HASHES];
}

/* The hash of a node: @node < @walk->hashed, and no more than KVP_WALK_HASHES before. */
static inline u64 kvp_walk_hash_of(const struct kvp_walk *walk, u64 node)
{
	return walk->hash[node % KVP_WALK_HASHES];
}

/* clock.c: timelines */
struct kvp_times *kvp_client_times(struct kvp_client *client);
void kvp_times_free(struct kvp_times *times);
u64 kvp_clock_read_locked(struct kvp_client *client, u32 timeline);
bool kvp_fence_passed_locked(struct kvp_client *client, u32 timeline, u64 value);
bool kvp_watches_told_locked(struct kvp_client *client);
void kvp_watches_end_locked(struct kvp_client *client);
void kvp_watchers_end(struct kvp_pool *pool);
bool kvp_timeline_check_locked(const struct kvp_client *client, u32 *timeline);
int kvp_op_timeline_create(struct kvp_call *call);
int kvp_op_signal(struct kvp_call *call);
int kvp_op_query(struct kvp_call *call);

/* use.c: what work touches */
int kvp_op_use(struct kvp_call *call);

/* settle.c: what follows when fences pass */
void kvp_fenced_init(struct kvp_fenced *fenced, struct kvp_client *client,
		     enum kvp_fenced_kind kind);
void kvp_fenced_add_locked(struct kvp_pool *pool, struct kvp_fenced *fenced);
void kvp_fenced_del_sliced(struct kvp_pool *pool, struct kvp_fenced *fenced);
void kvp_settle_sliced(struct kvp_pool *pool);
void kvp_seq_settle_sliced(struct kvp_pool *pool, struct kvp_seq *seq);

/* Whether there is anything that fences may have brought to a sequence. kvp_pool.lock. */
static inline bool kvp_seq_unsettled(const struct kvp_seq *seq)
{
	return !list_empty(&seq->fenced.list) || seq->done_to > seq->computed;
}

u64 kvp_seq_open_from(const struct kvp_seq *seq);
u64 kvp_seq_will_have(const struct kvp_seq *seq);
int kvp_seq_late_room(struct kvp_call *call, const struct kvp_seq *seq, u64 nr,
		      struct kvp_late_room *room);
int kvp_late_room(struct kvp_call *call, const struct kvp_seq *seq, u64 nr,
		  struct kvp_late_room *room);
void kvp_late_drop(struct kvp_client *client, struct kvp_late_room *room);
void kvp_seq_late_use(struct kvp_seq *seq, struct kvp_late_room *room);
void kvp_exports_give_up_locked(struct kvp_pool *pool, const struct kvp_seq *seq, u64 tokens);
void kvp_seq_let_go_locked(struct kvp_pool *pool, struct kvp_seq *seq, u32 family, u32 index);
void kvp_seq_move_windows_sliced(struct kvp_pool *pool, struct kvp_seq *seq);
void kvp_seq_end_life_sliced(struct kvp_seq *seq);
void kvp_uses_free_sliced(struct kvp_seq *seq, struct kvp_open_use *uses, u32 max);
size_t kvp_hold_size(u32 room);
bool kvp_export_settled_sliced(struct kvp_pool *pool, struct kvp_export *export);
void kvp_client_dies_sliced(struct kvp_client *client);
bool kvp_quarantine_locked(struct kvp_client *client);
void kvp_quarantine_exit(struct kvp_pool *pool);
int kvp_op_reap(struct kvp_call *call);

/* admit.c: tickets and the reserve */
void kvp_reserve_claim_sliced(struct kvp_client *client, struct kvp_need *need,
			      struct kvp_taken *taken);
void kvp_reserve_return_sliced(struct kvp_client *client, const struct kvp_need *need,
			       const struct kvp_need *rest, struct kvp_taken *taken);
bool kvp_in_turn_locked(const struct kvp_call *call, u32 family, u64 want);
void kvp_reserve_exit_sliced(struct kvp_client *client);
void kvp_tickets_serve(struct kvp_pool *pool);
void kvp_tickets_end(struct kvp_client *client);
int kvp_op_admit(struct kvp_call *call);
void kvp_undo_admit(struct kvp_call *call);

/* scan.c: who waits */
#define KVP_SCAN_NEVER	U64_MAX

u64 kvp_pool_scan(struct kvp_pool *pool);
u64 kvp_host_scan(struct kvp_host *host);
u64 kvp_client_scan(struct kvp_client *client);
void kvp_pool_tell(struct kvp_pool *pool, struct kvp_client *client);

/* prefix.c */
int kvp_op_prefix_match(struct kvp_call *call);
void kvp_undo_prefix_match(struct kvp_call *call);
int kvp_op_prefix_release(struct kvp_call *call);
int kvp_op_prefix_publish(struct kvp_call *call);
int kvp_op_prefix_invalidate(struct kvp_call *call);
void kvp_match_free_sliced(struct kvp_client *client, struct kvp_match *match);

/* watch.c, audit.c */
int kvp_op_stats(struct kvp_call *call);
int kvp_op_block_dump(struct kvp_call *call);
int kvp_op_client_list(struct kvp_call *call);
int kvp_op_audit(struct kvp_call *call);

#endif /* KVP_CALLS_H */

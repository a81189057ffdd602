// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The one table of operations: which struct, arrays, flags and rights each
 * has, and who executes it. Constant.
 */
#include "core.h"

/*
 * Structs only grow: @last_ is the last field of the first version. One that is
 * too long for a frame does not compile.
 */
#define KVP_STRUCT(name_, type_, last_)					\
	.name = (name_),						\
	.size = sizeof(char[sizeof(type_) <= KVP_ARG_BYTES ? (int)sizeof(type_) : -1]), \
	.min_size = offsetofend(type_, last_)

/* The alignment of an element is that of its largest member, at most 8. */
#define KVP_ARRAY(type_, ptr_, nr_, elem_, max_, dir_, optional_) {	\
	.ptr = offsetof(type_, ptr_),					\
	.nr = offsetof(type_, nr_),					\
	.elem = sizeof(elem_),						\
	.align = sizeof(elem_) < sizeof(u64) ? sizeof(elem_) : sizeof(u64), \
	.dir = (dir_),							\
	.max = (max_),							\
	.optional = (optional_),					\
}

#define KVP_TOKENS(type_, optional_)					\
	KVP_ARRAY(type_, tokens, nr_tokens, u32, KVP_MAX_CALL_TOKENS,	\
		  KVP_ARRAY_IN, optional_)
#define KVP_EXTRAS(type_, optional_)					\
	KVP_ARRAY(type_, extras, nr_extras, struct kvp_extra,		\
		  KVP_MAX_CALL_BLOCKS, KVP_ARRAY_IN, optional_)
#define KVP_COPIES(type_, optional_)					\
	KVP_ARRAY(type_, copies, nr_copies, struct kvp_copy,		\
		  KVP_MAX_CALL_BLOCKS, KVP_ARRAY_OUT, optional_)

static const struct kvp_op_desc kvp_ops[] = {
	[KVP_OP_ABI] = {
		KVP_STRUCT("abi", struct kvp_abi, max_families),
		.exec = kvp_op_abi,
	},
	[KVP_OP_POOL_CREATE] = {
		KVP_STRUCT("pool-create", struct kvp_pool_create, reserved),
		.exec = kvp_op_pool_create,
		.flags = KVP_POOL_FLAGS_ALL,
		.where = KVP_NEEDS_NONE | KVP_NO_BATCH,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_pool_create, families, nr_families,
				     struct kvp_family_desc, KVP_MAX_FAMILIES,
				     KVP_ARRAY_IN, false) },
		.zero = { offsetof(struct kvp_pool_create, reserved),
			  offsetof(struct kvp_pool_create, reserved2) },
	},
	[KVP_OP_POOL_ATTACH] = {
		KVP_STRUCT("pool-attach", struct kvp_pool_attach, client),
		.exec = kvp_op_pool_attach,
		.where = KVP_NEEDS_NONE | KVP_NO_BATCH,
	},
	[KVP_OP_POOL_READY] = {
		KVP_STRUCT("pool-ready", struct kvp_pool_ready, head),
		.exec = kvp_op_pool_ready,
		.rights = KVP_RIGHT_ADMIN,
		.where = KVP_NEEDS_POOL | KVP_NO_GATE,
	},
	[KVP_OP_POOL_INFO] = {
		KVP_STRUCT("pool-info", struct kvp_pool_info, metadata_bytes),
		.exec = kvp_op_pool_info,
		.where = KVP_NEEDS_POOL | KVP_NO_GATE,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_pool_info, families, nr_families,
				     struct kvp_family_desc, KVP_MAX_FAMILIES,
				     KVP_ARRAY_OUT, true) },
		.zero = { offsetof(struct kvp_pool_info, reserved),
			  offsetof(struct kvp_pool_info, reserved2) },
	},
	[KVP_OP_POOL_LIST] = {
		KVP_STRUCT("pool-list", struct kvp_pool_list, total),
		.exec = kvp_op_pool_list,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_pool_list, pools, nr_pools,
				     struct kvp_pool_entry, KVP_MAX_CALL_BLOCKS,
				     KVP_ARRAY_OUT, true) },
	},
	[KVP_OP_POOL_DESTROY] = {
		KVP_STRUCT("pool-destroy", struct kvp_pool_destroy, name),
		.exec = kvp_op_pool_destroy,
		.flags = KVP_DESTROY_FLAGS_ALL,
		.where = KVP_NO_BATCH,
	},
	[KVP_OP_LIMIT] = {
		KVP_STRUCT("limit", struct kvp_limit, metadata_bytes),
		.exec = kvp_op_limit,
		.flags = KVP_LIMIT_FLAGS_ALL,
		.rights = KVP_RIGHT_ADMIN,
		.where = KVP_NEEDS_POOL,
	},
	[KVP_OP_BACKING_ADD] = {
		KVP_STRUCT("backing-add", struct kvp_backing, label),
		.exec = kvp_op_backing_add,
		.rights = KVP_RIGHT_ADMIN,
		.where = KVP_NEEDS_POOL | KVP_NO_GATE,
		.zero = { offsetof(struct kvp_backing, reserved) },
	},
	[KVP_OP_BACKING_GET] = {
		KVP_STRUCT("backing-get", struct kvp_backing, label),
		.exec = kvp_op_backing_get,
		.undo = kvp_undo_backing_get,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL | KVP_NO_GATE,
		.zero = { offsetof(struct kvp_backing, reserved) },
	},

	[KVP_OP_BLOCK_ALLOC] = {
		KVP_STRUCT("block-alloc", struct kvp_block_alloc, family),
		.exec = kvp_op_block_alloc,
		.undo = kvp_undo_block_alloc,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL | KVP_IN_TURN,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_block_alloc, blocks, nr, u64,
				     KVP_MAX_CALL_BLOCKS, KVP_ARRAY_OUT, false) },
	},
	[KVP_OP_BLOCK_REF] = {
		KVP_STRUCT("block-ref", struct kvp_block_refs, first),
		.exec = kvp_op_block_ref,
		.flags = KVP_BLOCK_REF_FLAGS_ALL,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_block_refs, blocks, nr, u64,
				     KVP_MAX_CALL_BLOCKS, KVP_ARRAY_IN, false) },
		.zero = { offsetof(struct kvp_block_refs, reserved) },
		.id = offsetof(struct kvp_block_refs, holder),
	},
	[KVP_OP_BLOCK_UNREF] = {
		KVP_STRUCT("block-unref", struct kvp_block_refs, first),
		.exec = kvp_op_block_unref,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_block_refs, blocks, nr, u64,
				     KVP_MAX_CALL_BLOCKS, KVP_ARRAY_IN, false) },
		.zero = {
			offsetof(struct kvp_block_refs, reserved),
			offsetof(struct kvp_block_refs, holder),
			offsetof(struct kvp_block_refs, holder) + sizeof(u32),
			offsetof(struct kvp_block_refs, first),
			offsetof(struct kvp_block_refs, first) + sizeof(u32),
		},
	},
	[KVP_OP_BLOCK_MAKE_PRIVATE] = {
		KVP_STRUCT("block-make-private", struct kvp_block_make_private, reserved),
		.exec = kvp_op_block_make_private,
		.undo = kvp_undo_block_make_private,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.zero = { offsetof(struct kvp_block_make_private, reserved) },
	},

	[KVP_OP_SEQ_CREATE] = {
		KVP_STRUCT("seq-create", struct kvp_seq_create, reserved),
		.exec = kvp_op_seq_create,
		.undo = kvp_undo_seq_create,
		.flags = KVP_SEQ_CREATE_FLAGS_ALL,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL | KVP_IN_TURN,
		.nr_arrays = 2,
		.array = { KVP_TOKENS(struct kvp_seq_create, true),
			   KVP_EXTRAS(struct kvp_seq_create, true) },
		.made = offsetof(struct kvp_seq_create, seq),
	},
	[KVP_OP_SEQ_APPEND] = {
		KVP_STRUCT("seq-append", struct kvp_seq_append, nr_reserved),
		.exec = kvp_op_seq_append,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.nr_arrays = 3,
		.array = { KVP_TOKENS(struct kvp_seq_append, true),
			   KVP_EXTRAS(struct kvp_seq_append, true),
			   KVP_COPIES(struct kvp_seq_append, true) },
		.zero = { offsetof(struct kvp_seq_append, reserved) },
		.id = offsetof(struct kvp_seq_append, seq),
	},
	[KVP_OP_SEQ_SET_TOKENS] = {
		KVP_STRUCT("seq-set-tokens", struct kvp_seq_set_tokens, position),
		.exec = kvp_op_seq_set_tokens,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.nr_arrays = 2,
		.array = { KVP_TOKENS(struct kvp_seq_set_tokens, false),
			   KVP_EXTRAS(struct kvp_seq_set_tokens, true) },
		.id = offsetof(struct kvp_seq_set_tokens, seq),
	},
	[KVP_OP_SEQ_ADVANCE] = {
		KVP_STRUCT("seq-advance", struct kvp_seq_advance, computed),
		.exec = kvp_op_seq_advance,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.id = offsetof(struct kvp_seq_advance, seq),
	},
	[KVP_OP_SEQ_COPIED] = {
		KVP_STRUCT("seq-copied", struct kvp_seq_id, seq),
		.exec = kvp_op_seq_copied,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.id = offsetof(struct kvp_seq_id, seq),
	},
	[KVP_OP_SEQ_FORK] = {
		KVP_STRUCT("seq-fork", struct kvp_seq_fork, reserved),
		.exec = kvp_op_seq_fork,
		.undo = kvp_undo_seq_fork,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.nr_arrays = 1,
		.array = { KVP_COPIES(struct kvp_seq_fork, true) },
		.zero = { offsetof(struct kvp_seq_fork, reserved) },
		.id = offsetof(struct kvp_seq_fork, seq),
		.made = offsetof(struct kvp_seq_fork, child),
	},
	[KVP_OP_SEQ_TRUNCATE] = {
		KVP_STRUCT("seq-truncate", struct kvp_seq_truncate, tokens),
		.exec = kvp_op_seq_truncate,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.id = offsetof(struct kvp_seq_truncate, seq),
	},
	[KVP_OP_SEQ_FREE] = {
		KVP_STRUCT("seq-free", struct kvp_seq_id, seq),
		.exec = kvp_op_seq_free,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.id = offsetof(struct kvp_seq_id, seq),
	},
	[KVP_OP_SEQ_TABLE] = {
		KVP_STRUCT("seq-table", struct kvp_seq_table, nr_published),
		.exec = kvp_op_seq_table,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_seq_table, blocks, nr_blocks, u64,
				     KVP_MAX_CALL_BLOCKS, KVP_ARRAY_OUT, true) },
		.id = offsetof(struct kvp_seq_table, seq),
	},
	[KVP_OP_SEQ_POSITIONS] = {
		KVP_STRUCT("seq-positions", struct kvp_seq_positions, attended),
		.exec = kvp_op_seq_positions,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_seq_positions, runs, nr_runs,
				     struct kvp_positions, KVP_MAX_CALL_BLOCKS,
				     KVP_ARRAY_OUT, true) },
		.zero = { offsetof(struct kvp_seq_positions, reserved) },
		.id = offsetof(struct kvp_seq_positions, seq),
	},
	[KVP_OP_REMAP_BEGIN] = {
		KVP_STRUCT("remap-begin", struct kvp_remap_begin, tainted_from),
		.exec = kvp_op_remap_begin,
		.undo = kvp_undo_remap_begin,
		.flags = KVP_REMAP_FLAGS_ALL,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_remap_begin, pieces, nr_pieces, struct kvp_piece,
				     KVP_MAX_PIECES, KVP_ARRAY_IN, true) },
		.id = offsetof(struct kvp_remap_begin, seq),
	},
	[KVP_OP_REMAP_MOVES] = {
		KVP_STRUCT("remap-moves", struct kvp_remap_moves, total),
		.exec = kvp_op_remap_moves,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_remap_moves, moves, nr_moves, struct kvp_move,
				     KVP_MAX_CALL_BLOCKS, KVP_ARRAY_OUT, true) },
		.id = offsetof(struct kvp_remap_moves, seq),
	},
	[KVP_OP_REMAP_COMMIT] = {
		KVP_STRUCT("remap-commit", struct kvp_remap_end, seq),
		.exec = kvp_op_remap_commit,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.id = offsetof(struct kvp_remap_end, seq),
	},
	[KVP_OP_REMAP_ABORT] = {
		KVP_STRUCT("remap-abort", struct kvp_remap_end, seq),
		.exec = kvp_op_remap_abort,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.id = offsetof(struct kvp_remap_end, seq),
	},
	[KVP_OP_SEQ_EXPORT] = {
		KVP_STRUCT("seq-export", struct kvp_seq_export, export_id),
		.exec = kvp_op_seq_export,
		.undo = kvp_undo_seq_export,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL | KVP_NO_GATE,
		.zero = { offsetof(struct kvp_seq_export, reserved) },
		.id = offsetof(struct kvp_seq_export, seq),
	},
	[KVP_OP_SEQ_IMPORT] = {
		KVP_STRUCT("seq-import", struct kvp_seq_import, tokens),
		.exec = kvp_op_seq_import,
		.undo = kvp_undo_seq_import,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL | KVP_NO_GATE,
		.zero = { offsetof(struct kvp_seq_import, reserved) },
		.made = offsetof(struct kvp_seq_import, seq),
	},
	[KVP_OP_EXPORT_REVOKE] = {
		KVP_STRUCT("export-revoke", struct kvp_export_revoke, export_id),
		.exec = kvp_op_export_revoke,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL | KVP_NO_GATE,
	},

	[KVP_OP_PREFIX_MATCH] = {
		KVP_STRUCT("prefix-match", struct kvp_prefix_match, match),
		.exec = kvp_op_prefix_match,
		.undo = kvp_undo_prefix_match,
		.flags = KVP_MATCH_FLAGS_ALL,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.nr_arrays = 3,
		.array = { KVP_TOKENS(struct kvp_prefix_match, false),
			   KVP_EXTRAS(struct kvp_prefix_match, true),
			   KVP_ARRAY(struct kvp_prefix_match, blocks, nr_blocks, u64,
				     KVP_MAX_CALL_BLOCKS, KVP_ARRAY_OUT, true) },
		.made = offsetof(struct kvp_prefix_match, match),
	},
	[KVP_OP_PREFIX_RELEASE] = {
		KVP_STRUCT("prefix-release", struct kvp_prefix_release, match),
		.exec = kvp_op_prefix_release,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.id = offsetof(struct kvp_prefix_release, match),
	},
	[KVP_OP_PREFIX_PUBLISH] = {
		KVP_STRUCT("prefix-publish", struct kvp_prefix_publish, nr_shared),
		.exec = kvp_op_prefix_publish,
		.flags = KVP_PUBLISH_FLAGS_ALL,
		.rights = KVP_RIGHT_PUBLISH,
		.where = KVP_NEEDS_POOL,
		.zero = { offsetof(struct kvp_prefix_publish, reserved) },
		.id = offsetof(struct kvp_prefix_publish, seq),
	},
	[KVP_OP_PREFIX_INVALIDATE] = {
		KVP_STRUCT("prefix-invalidate", struct kvp_prefix_invalidate, nr_subtrees),
		.exec = kvp_op_prefix_invalidate,
		.flags = KVP_INVALIDATE_FLAGS_ALL,
		.rights = KVP_RIGHT_ADMIN,
		.where = KVP_NEEDS_POOL,
		.nr_arrays = 2,
		.array = { KVP_TOKENS(struct kvp_prefix_invalidate, true),
			   KVP_EXTRAS(struct kvp_prefix_invalidate, true) },
		.zero = { offsetof(struct kvp_prefix_invalidate, reserved) },
	},
	[KVP_OP_PREFIX_RECLAIM] = {
		KVP_STRUCT("prefix-reclaim", struct kvp_prefix_reclaim, nodes),
		.exec = kvp_op_prefix_reclaim,
		.rights = KVP_RIGHT_ADMIN,
		.where = KVP_NEEDS_POOL,
	},

	[KVP_OP_TIMELINE_CREATE] = {
		KVP_STRUCT("timeline-create", struct kvp_timeline_create, reserved),
		.exec = kvp_op_timeline_create,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.zero = { offsetof(struct kvp_timeline_create, reserved) },
	},
	[KVP_OP_USE] = {
		KVP_STRUCT("use", struct kvp_use, position),
		.exec = kvp_op_use,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_use, entries, nr_entries,
				     struct kvp_use_entry, KVP_MAX_CALL_BLOCKS,
				     KVP_ARRAY_IN, false) },
		.zero = { offsetof(struct kvp_use, reserved) },
	},
	[KVP_OP_SIGNAL] = {
		KVP_STRUCT("signal", struct kvp_signal, value),
		.exec = kvp_op_signal,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.zero = { offsetof(struct kvp_signal, reserved) },
	},
	[KVP_OP_QUERY] = {
		KVP_STRUCT("query", struct kvp_query, reserved),
		.exec = kvp_op_query,
		.flags = KVP_QUERY_FLAGS_ALL,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_query, fences, nr_fences, struct kvp_fence,
				     KVP_MAX_BATCH, KVP_ARRAY_INOUT, true) },
		.zero = { offsetof(struct kvp_query, reserved) },
	},
	[KVP_OP_REAP] = {
		KVP_STRUCT("reap", struct kvp_reap, blocks),
		.exec = kvp_op_reap,
		.rights = KVP_RIGHT_ADMIN,
		.where = KVP_NEEDS_POOL,
		.zero = { offsetof(struct kvp_reap, reserved) },
	},

	[KVP_OP_ADMIT] = {
		KVP_STRUCT("admit", struct kvp_admit, ahead),
		.exec = kvp_op_admit,
		.undo = kvp_undo_admit,
		.flags = KVP_ADMIT_FLAGS_ALL,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL | KVP_IN_TURN,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_admit, needs, nr_needs, struct kvp_admit_need,
				     KVP_MAX_FAMILIES, KVP_ARRAY_IN, true) },
	},

	[KVP_OP_STATS] = {
		KVP_STRUCT("stats", struct kvp_stats, refused_limit),
		.exec = kvp_op_stats,
		.flags = KVP_STATS_FLAGS_ALL,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_stats, families, nr_families,
				     struct kvp_family_stats, KVP_MAX_FAMILIES,
				     KVP_ARRAY_OUT, true) },
	},
	[KVP_OP_AUDIT] = {
		KVP_STRUCT("audit", struct kvp_audit, checked_nodes),
		.exec = kvp_op_audit,
		.rights = KVP_RIGHT_ADMIN,
		.where = KVP_NEEDS_POOL | KVP_STOPS_POOL,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_audit, findings, nr_findings,
				     struct kvp_finding, KVP_MAX_CALL_BLOCKS,
				     KVP_ARRAY_OUT, true) },
		.zero = { offsetof(struct kvp_audit, reserved) },
	},
	[KVP_OP_BLOCK_DUMP] = {
		KVP_STRUCT("block-dump", struct kvp_block_dump, total),
		.exec = kvp_op_block_dump,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_block_dump, entries, nr_entries,
				     struct kvp_block_entry, KVP_MAX_CALL_BLOCKS,
				     KVP_ARRAY_OUT, false) },
	},
	[KVP_OP_CLIENT_LIST] = {
		KVP_STRUCT("client-list", struct kvp_client_list, total),
		.exec = kvp_op_client_list,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_client_list, entries, nr_entries,
				     struct kvp_client_entry, KVP_MAX_CALL_BLOCKS,
				     KVP_ARRAY_OUT, true) },
	},
	[KVP_OP_EVENTS] = {
		KVP_STRUCT("events", struct kvp_events, pending),
		.exec = kvp_op_events,
		.rights = KVP_RIGHT_USE,
		.where = KVP_NEEDS_POOL,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_events, events, nr_events,
				     struct kvp_event, KVP_MAX_CALL_BLOCKS,
				     KVP_ARRAY_OUT, true) },
		.zero = { offsetof(struct kvp_events, reserved) },
	},

	[KVP_OP_BATCH] = {
		KVP_STRUCT("batch", struct kvp_batch, executed),
		.exec = kvp_op_batch,
		.flags = KVP_BATCH_FLAGS_ALL,
		.where = KVP_NEEDS_POOL | KVP_NO_BATCH | KVP_NO_GATE,
		.nr_arrays = 1,
		.array = { KVP_ARRAY(struct kvp_batch, entries, nr_entries,
				     struct kvp_batch_entry, KVP_MAX_BATCH,
				     KVP_ARRAY_INOUT, false) },
	},
};

/**
 * kvp_op_find - the operation of a number
 * @nr: enum kvp_op
 *
 * Return: its entry of the table, or NULL.
 */
const struct kvp_op_desc *kvp_op_find(u32 nr)
{
	if (nr >= ARRAY_SIZE(kvp_ops) || !kvp_ops[nr].name)
		return NULL;
	return &kvp_ops[array_index_nospec(nr, ARRAY_SIZE(kvp_ops))];
}

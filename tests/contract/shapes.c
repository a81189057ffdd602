// SPDX-License-Identifier: MIT
/*
 * The operations of the contract as a table: every field of every struct and element, written
 * anew from the header and not shared with the core, so that neither can hide the other's fault.
 * Constant.
 */
#include "contract.h"

#define FIELD(type_, member_, kind_) {					\
	.name = #member_,						\
	.offset = offsetof(struct type_, member_),			\
	.size = sizeof(((struct type_ *)0)->member_),			\
	.kind = (kind_),						\
}

#define SHAPE(type_, fields_)						\
	{ .size = sizeof(struct type_), .nr_fields = CT_SIZE(fields_), .fields = (fields_) }

#define ARRAY(type_, pointer_, count_, max_, direction_, shape_) {	\
	.name = #pointer_,						\
	.pointer = offsetof(struct type_, pointer_),			\
	.count = offsetof(struct type_, count_),			\
	.max = (max_),							\
	.direction = (direction_),					\
	.shape = &(shape_),						\
}

/* ---- elements ---- */

static const struct ct_field id_fields[] = { { "", 0, 8, CT_HEX } };
static const struct ct_shape id_shape = { 8, 1, id_fields };

static const struct ct_field token_fields[] = { { "", 0, 4, CT_NUMBER } };
static const struct ct_shape token_shape = { 4, 1, token_fields };

static const struct ct_field family_fields[] = {
	FIELD(kvp_family_desc, name, CT_NAME),
	FIELD(kvp_family_desc, kind, CT_NUMBER),
	FIELD(kvp_family_desc, block_tokens, CT_NUMBER),
	FIELD(kvp_family_desc, blocks, CT_NUMBER),
	FIELD(kvp_family_desc, block_bytes, CT_NUMBER),
	FIELD(kvp_family_desc, window, CT_NUMBER),
	FIELD(kvp_family_desc, dtype, CT_NUMBER),
};
static const struct ct_shape family_shape = SHAPE(kvp_family_desc, family_fields);

static const struct ct_field pool_entry_fields[] = {
	FIELD(kvp_pool_entry, name, CT_NAME),
	FIELD(kvp_pool_entry, pool, CT_POOL),
	FIELD(kvp_pool_entry, uid, CT_NUMBER),
	FIELD(kvp_pool_entry, mode, CT_HEX),
	FIELD(kvp_pool_entry, pool_flags, CT_HEX),
	FIELD(kvp_pool_entry, nr_families, CT_NUMBER),
	FIELD(kvp_pool_entry, nr_clients, CT_NUMBER),
	FIELD(kvp_pool_entry, reserved, CT_NUMBER),
};
static const struct ct_shape pool_entry_shape = SHAPE(kvp_pool_entry, pool_entry_fields);

static const struct ct_field extra_fields[] = {
	FIELD(kvp_extra, node, CT_NUMBER),
	FIELD(kvp_extra, digest, CT_SPACE),
};
static const struct ct_shape extra_shape = SHAPE(kvp_extra, extra_fields);

static const struct ct_field copy_fields[] = {
	FIELD(kvp_copy, src, CT_HEX),
	FIELD(kvp_copy, dst, CT_HEX),
	FIELD(kvp_copy, tokens, CT_NUMBER),
	FIELD(kvp_copy, reserved, CT_NUMBER),
};
static const struct ct_shape copy_shape = SHAPE(kvp_copy, copy_fields);

static const struct ct_field family_stats_fields[] = {
	FIELD(kvp_family_stats, total, CT_NUMBER),
	FIELD(kvp_family_stats, state[0], CT_NUMBER),
	FIELD(kvp_family_stats, state[1], CT_NUMBER),
	FIELD(kvp_family_stats, state[2], CT_NUMBER),
	FIELD(kvp_family_stats, state[3], CT_NUMBER),
	FIELD(kvp_family_stats, state[4], CT_NUMBER),
	FIELD(kvp_family_stats, state[5], CT_NUMBER),
	FIELD(kvp_family_stats, published, CT_NUMBER),
	FIELD(kvp_family_stats, charged, CT_NUMBER),
	FIELD(kvp_family_stats, guaranteed, CT_NUMBER),
	FIELD(kvp_family_stats, unmet, CT_NUMBER),
	FIELD(kvp_family_stats, limit, CT_HEX),
	FIELD(kvp_family_stats, held_back, CT_NUMBER),
	FIELD(kvp_family_stats, reserve, CT_NUMBER),
};
static const struct ct_shape family_stats_shape = SHAPE(kvp_family_stats, family_stats_fields);

static const struct ct_field finding_fields[] = {
	FIELD(kvp_finding, kind, CT_NUMBER),
	FIELD(kvp_finding, family, CT_NUMBER),
	FIELD(kvp_finding, id, CT_NUMBER),
	FIELD(kvp_finding, found, CT_NUMBER),
	FIELD(kvp_finding, expected, CT_NUMBER),
};
static const struct ct_shape finding_shape = SHAPE(kvp_finding, finding_fields);

static const struct ct_field block_entry_fields[] = {
	FIELD(kvp_block_entry, block, CT_HEX),
	FIELD(kvp_block_entry, parent, CT_HEX),
	FIELD(kvp_block_entry, client, CT_CLIENT),
	FIELD(kvp_block_entry, age_ns, CT_HIDDEN),	/* time */
	FIELD(kvp_block_entry, count, CT_NUMBER),
	FIELD(kvp_block_entry, state, CT_NUMBER),
	FIELD(kvp_block_entry, why, CT_NUMBER),
	FIELD(kvp_block_entry, node, CT_NUMBER),
	FIELD(kvp_block_entry, depth, CT_NUMBER),
	FIELD(kvp_block_entry, tag, CT_NUMBER),
	FIELD(kvp_block_entry, space, CT_SPACE),
	FIELD(kvp_block_entry, part, CT_NUMBER),
	FIELD(kvp_block_entry, flags, CT_HEX),
	FIELD(kvp_block_entry, held_back, CT_NUMBER),
	FIELD(kvp_block_entry, reserved, CT_NUMBER),
};
static const struct ct_shape block_entry_shape = SHAPE(kvp_block_entry, block_entry_fields);

static const struct ct_field client_entry_fields[] = {
	FIELD(kvp_client_entry, client, CT_CLIENT),
	FIELD(kvp_client_entry, uid, CT_NUMBER),
	FIELD(kvp_client_entry, rights, CT_HEX),
	FIELD(kvp_client_entry, seqs, CT_NUMBER),
	FIELD(kvp_client_entry, slots, CT_NUMBER),
	FIELD(kvp_client_entry, raw, CT_NUMBER),
	FIELD(kvp_client_entry, charged, CT_NUMBER),
	FIELD(kvp_client_entry, matches, CT_NUMBER),
	FIELD(kvp_client_entry, exports, CT_NUMBER),
	FIELD(kvp_client_entry, age_ns, CT_HIDDEN),	/* time */
	FIELD(kvp_client_entry, maker, CT_CLIENT),
	FIELD(kvp_client_entry, imports, CT_NUMBER),
	FIELD(kvp_client_entry, pid, CT_HIDDEN),	/* each run is a process of its own */
	FIELD(kvp_client_entry, flags, CT_HEX),
	FIELD(kvp_client_entry, command, CT_HIDDEN),	/* the 32-bit program has another name */
	FIELD(kvp_client_entry, zombies, CT_NUMBER),
	FIELD(kvp_client_entry, uses, CT_NUMBER),
	FIELD(kvp_client_entry, held_back, CT_NUMBER),
	FIELD(kvp_client_entry, tickets, CT_NUMBER),
	FIELD(kvp_client_entry, grace_ns, CT_HEX),	/* the stream's pools are strict */
};
static const struct ct_shape client_entry_shape = SHAPE(kvp_client_entry, client_entry_fields);

static const struct ct_field event_fields[] = {
	FIELD(kvp_event, number, CT_NUMBER),
	FIELD(kvp_event, kind, CT_NUMBER),
	FIELD(kvp_event, flags, CT_HEX),
	FIELD(kvp_event, block, CT_HEX),
	FIELD(kvp_event, parent, CT_HEX),
	FIELD(kvp_event, node, CT_NUMBER),
	FIELD(kvp_event, depth, CT_NUMBER),
	FIELD(kvp_event, tokens, CT_NUMBER),
	FIELD(kvp_event, tag, CT_NUMBER),
	FIELD(kvp_event, space, CT_SPACE),
	FIELD(kvp_event, client, CT_CLIENT),
};
static const struct ct_shape event_shape = SHAPE(kvp_event, event_fields);

static const struct ct_field use_entry_fields[] = {
	FIELD(kvp_use_entry, kind, CT_NUMBER),
	FIELD(kvp_use_entry, timeline, CT_NUMBER),
	FIELD(kvp_use_entry, id, CT_HEX),
	FIELD(kvp_use_entry, value, CT_HEX),
	FIELD(kvp_use_entry, write_from, CT_HEX),
	FIELD(kvp_use_entry, computed_to, CT_HEX),
};
static const struct ct_shape use_entry_shape = SHAPE(kvp_use_entry, use_entry_fields);

static const struct ct_field fence_fields[] = {
	FIELD(kvp_fence, timeline, CT_NUMBER),
	FIELD(kvp_fence, passed, CT_NUMBER),
	FIELD(kvp_fence, value, CT_HEX),
	FIELD(kvp_fence, seen, CT_NUMBER),
	FIELD(kvp_fence, announced, CT_NUMBER),
};
static const struct ct_shape fence_shape = SHAPE(kvp_fence, fence_fields);

static const struct ct_field admit_need_fields[] = {
	FIELD(kvp_admit_need, family, CT_NUMBER),
	FIELD(kvp_admit_need, reserved, CT_NUMBER),
	FIELD(kvp_admit_need, blocks, CT_NUMBER),
};
static const struct ct_shape admit_need_shape = SHAPE(kvp_admit_need, admit_need_fields);

static const struct ct_field piece_fields[] = {
	FIELD(kvp_piece, seq, CT_HEX),
	FIELD(kvp_piece, from, CT_NUMBER),
	FIELD(kvp_piece, length, CT_NUMBER),
	FIELD(kvp_piece, position, CT_HEX),
	FIELD(kvp_piece, positions, CT_NUMBER),
	FIELD(kvp_piece, flags, CT_HEX),
};
static const struct ct_shape piece_shape = SHAPE(kvp_piece, piece_fields);

static const struct ct_field move_fields[] = {
	FIELD(kvp_move, src, CT_HEX),
	FIELD(kvp_move, dst, CT_HEX),
	FIELD(kvp_move, src_row, CT_NUMBER),
	FIELD(kvp_move, dst_row, CT_NUMBER),
	FIELD(kvp_move, rows, CT_NUMBER),
	FIELD(kvp_move, flags, CT_HEX),
	FIELD(kvp_move, position, CT_NUMBER),
};
static const struct ct_shape move_shape = SHAPE(kvp_move, move_fields);

static const struct ct_field positions_fields[] = {
	FIELD(kvp_positions, first, CT_NUMBER),
	FIELD(kvp_positions, position, CT_NUMBER),
	FIELD(kvp_positions, computed_at, CT_NUMBER),
	FIELD(kvp_positions, flags, CT_HEX),
	FIELD(kvp_positions, reserved, CT_NUMBER),
};
static const struct ct_shape positions_shape = SHAPE(kvp_positions, positions_fields);

static const struct ct_field batch_entry_fields[] = {
	FIELD(kvp_batch_entry, op, CT_HEX),
	FIELD(kvp_batch_entry, len, CT_NUMBER),
	FIELD(kvp_batch_entry, arg, CT_POINTER),
	FIELD(kvp_batch_entry, result, CT_NUMBER),
	FIELD(kvp_batch_entry, reserved, CT_NUMBER),
};
static const struct ct_shape batch_entry_shape = SHAPE(kvp_batch_entry, batch_entry_fields);

/* ---- structs ---- */

/* The first 16 bytes, struct kvp_head, are printed before all others. */
static const struct ct_field abi_fields[] = {
	FIELD(kvp_abi, features, CT_FEATURES),
	FIELD(kvp_abi, slice, CT_NUMBER),
	FIELD(kvp_abi, max_families, CT_NUMBER),
};

static const struct ct_field pool_create_fields[] = {
	FIELD(kvp_pool_create, name, CT_NAME),
	FIELD(kvp_pool_create, families, CT_POINTER),
	FIELD(kvp_pool_create, nr_families, CT_NUMBER),
	FIELD(kvp_pool_create, index_tokens, CT_NUMBER),
	FIELD(kvp_pool_create, mode, CT_HEX),
	FIELD(kvp_pool_create, policy, CT_NUMBER),
	FIELD(kvp_pool_create, nodes, CT_NUMBER),
	FIELD(kvp_pool_create, extras, CT_NUMBER),
	FIELD(kvp_pool_create, pool, CT_POOL),
	FIELD(kvp_pool_create, client, CT_CLIENT),
	FIELD(kvp_pool_create, rights, CT_HEX),
	FIELD(kvp_pool_create, reserved, CT_NUMBER),
	FIELD(kvp_pool_create, grace_ms, CT_NUMBER),
	FIELD(kvp_pool_create, reserved2, CT_NUMBER),
};

static const struct ct_field pool_attach_fields[] = {
	FIELD(kvp_pool_attach, name, CT_NAME),
	FIELD(kvp_pool_attach, wanted, CT_HEX),
	FIELD(kvp_pool_attach, rights, CT_HEX),
	FIELD(kvp_pool_attach, pool, CT_POOL),
	FIELD(kvp_pool_attach, client, CT_CLIENT),
	FIELD(kvp_pool_attach, room, CT_NUMBER),
};

static const struct ct_field pool_info_fields[] = {
	FIELD(kvp_pool_info, name, CT_NAME),
	FIELD(kvp_pool_info, families, CT_POINTER),
	FIELD(kvp_pool_info, nr_families, CT_NUMBER),
	FIELD(kvp_pool_info, index_tokens, CT_NUMBER),
	FIELD(kvp_pool_info, mode, CT_HEX),
	FIELD(kvp_pool_info, policy, CT_NUMBER),
	FIELD(kvp_pool_info, pool, CT_POOL),
	FIELD(kvp_pool_info, client, CT_CLIENT),
	FIELD(kvp_pool_info, uid, CT_NUMBER),
	FIELD(kvp_pool_info, pool_flags, CT_HEX),
	FIELD(kvp_pool_info, rights, CT_HEX),
	FIELD(kvp_pool_info, nr_clients, CT_NUMBER),
	FIELD(kvp_pool_info, nr_backings, CT_NUMBER),
	FIELD(kvp_pool_info, reserved, CT_NUMBER),
	FIELD(kvp_pool_info, nodes, CT_NUMBER),
	/* Locks and lists are of other sizes in the kernel; so in struct kvp_stats. */
	FIELD(kvp_pool_info, metadata_bytes, CT_HIDDEN),
	FIELD(kvp_pool_info, grace_ms, CT_NUMBER),
	FIELD(kvp_pool_info, reserved2, CT_NUMBER),
};

static const struct ct_field pool_list_fields[] = {
	FIELD(kvp_pool_list, pools, CT_POINTER),
	FIELD(kvp_pool_list, nr_pools, CT_NUMBER),
	FIELD(kvp_pool_list, total, CT_NUMBER),
};

static const struct ct_field pool_destroy_fields[] = {
	FIELD(kvp_pool_destroy, name, CT_NAME),
	FIELD(kvp_pool_destroy, pool, CT_POOL),
};

static const struct ct_field limit_fields[] = {
	FIELD(kvp_limit, client, CT_WHO),
	FIELD(kvp_limit, mask, CT_HEX),
	FIELD(kvp_limit, family, CT_NUMBER),
	FIELD(kvp_limit, blocks, CT_HEX),
	FIELD(kvp_limit, guarantee, CT_HEX),
	FIELD(kvp_limit, slots, CT_HEX),
	FIELD(kvp_limit, seqs, CT_HEX),
	FIELD(kvp_limit, raw, CT_HEX),
	FIELD(kvp_limit, matches, CT_HEX),
	FIELD(kvp_limit, metadata_bytes, CT_HEX),
	FIELD(kvp_limit, exports, CT_HEX),
	FIELD(kvp_limit, backings, CT_HEX),
	FIELD(kvp_limit, tickets, CT_HEX),
};

static const struct ct_field backing_fields[] = {
	FIELD(kvp_backing, fd, CT_FD),			/* the process's numbers */
	FIELD(kvp_backing, kind, CT_NUMBER),
	FIELD(kvp_backing, index, CT_NUMBER),
	FIELD(kvp_backing, reserved, CT_NUMBER),
	FIELD(kvp_backing, length, CT_NUMBER),
	FIELD(kvp_backing, label, CT_NUMBER),
};

static const struct ct_field block_alloc_fields[] = {
	FIELD(kvp_block_alloc, blocks, CT_POINTER),
	FIELD(kvp_block_alloc, nr, CT_NUMBER),
	FIELD(kvp_block_alloc, family, CT_NUMBER),
};

static const struct ct_field block_refs_fields[] = {
	FIELD(kvp_block_refs, blocks, CT_POINTER),
	FIELD(kvp_block_refs, nr, CT_NUMBER),
	FIELD(kvp_block_refs, reserved, CT_NUMBER),
	FIELD(kvp_block_refs, holder, CT_HEX),
	FIELD(kvp_block_refs, first, CT_NUMBER),
};

static const struct ct_field make_private_fields[] = {
	FIELD(kvp_block_make_private, block, CT_HEX),
	FIELD(kvp_block_make_private, result, CT_HEX),
	FIELD(kvp_block_make_private, copy, CT_NUMBER),
	FIELD(kvp_block_make_private, reserved, CT_NUMBER),
};

static const struct ct_field seq_create_fields[] = {
	FIELD(kvp_seq_create, space, CT_SPACE),
	FIELD(kvp_seq_create, tokens, CT_POINTER),
	FIELD(kvp_seq_create, nr_tokens, CT_NUMBER),
	FIELD(kvp_seq_create, nr_extras, CT_NUMBER),
	FIELD(kvp_seq_create, extras, CT_POINTER),
	FIELD(kvp_seq_create, match_limit, CT_NUMBER),
	FIELD(kvp_seq_create, reserve, CT_NUMBER),
	FIELD(kvp_seq_create, seq, CT_HEX),
	FIELD(kvp_seq_create, matched, CT_NUMBER),
	FIELD(kvp_seq_create, reserved, CT_NUMBER),
};

static const struct ct_field seq_append_fields[] = {
	FIELD(kvp_seq_append, seq, CT_HEX),
	FIELD(kvp_seq_append, tokens, CT_POINTER),
	FIELD(kvp_seq_append, nr_tokens, CT_NUMBER),
	FIELD(kvp_seq_append, nr_extras, CT_NUMBER),
	FIELD(kvp_seq_append, extras, CT_POINTER),
	FIELD(kvp_seq_append, position, CT_HEX),
	FIELD(kvp_seq_append, reserve, CT_NUMBER),
	FIELD(kvp_seq_append, copies, CT_POINTER),
	FIELD(kvp_seq_append, nr_copies, CT_NUMBER),
	FIELD(kvp_seq_append, reserved, CT_NUMBER),
	FIELD(kvp_seq_append, nr_reserved, CT_NUMBER),
};

static const struct ct_field set_tokens_fields[] = {
	FIELD(kvp_seq_set_tokens, seq, CT_HEX),
	FIELD(kvp_seq_set_tokens, tokens, CT_POINTER),
	FIELD(kvp_seq_set_tokens, nr_tokens, CT_NUMBER),
	FIELD(kvp_seq_set_tokens, nr_extras, CT_NUMBER),
	FIELD(kvp_seq_set_tokens, extras, CT_POINTER),
	FIELD(kvp_seq_set_tokens, position, CT_HEX),
};

static const struct ct_field advance_fields[] = {
	FIELD(kvp_seq_advance, seq, CT_HEX),
	FIELD(kvp_seq_advance, computed, CT_NUMBER),
};

static const struct ct_field seq_id_fields[] = {
	FIELD(kvp_seq_id, seq, CT_HEX),
};

static const struct ct_field fork_fields[] = {
	FIELD(kvp_seq_fork, seq, CT_HEX),
	FIELD(kvp_seq_fork, tokens, CT_HEX),
	FIELD(kvp_seq_fork, child, CT_HEX),
	FIELD(kvp_seq_fork, copies, CT_POINTER),
	FIELD(kvp_seq_fork, nr_copies, CT_NUMBER),
	FIELD(kvp_seq_fork, reserved, CT_NUMBER),
};

static const struct ct_field truncate_fields[] = {
	FIELD(kvp_seq_truncate, seq, CT_HEX),
	FIELD(kvp_seq_truncate, tokens, CT_NUMBER),
};

static const struct ct_field table_fields[] = {
	FIELD(kvp_seq_table, seq, CT_HEX),
	FIELD(kvp_seq_table, blocks, CT_POINTER),
	FIELD(kvp_seq_table, nr_blocks, CT_NUMBER),
	FIELD(kvp_seq_table, family, CT_NUMBER),
	FIELD(kvp_seq_table, first, CT_NUMBER),
	FIELD(kvp_seq_table, total, CT_NUMBER),
	FIELD(kvp_seq_table, nr_tokens, CT_NUMBER),
	FIELD(kvp_seq_table, nr_computed, CT_NUMBER),
	FIELD(kvp_seq_table, nr_reserved, CT_NUMBER),
	FIELD(kvp_seq_table, nr_published, CT_NUMBER),
};

static const struct ct_field seq_positions_fields[] = {
	FIELD(kvp_seq_positions, seq, CT_HEX),
	FIELD(kvp_seq_positions, runs, CT_POINTER),
	FIELD(kvp_seq_positions, nr_runs, CT_NUMBER),
	FIELD(kvp_seq_positions, reserved, CT_NUMBER),
	FIELD(kvp_seq_positions, total, CT_NUMBER),
	FIELD(kvp_seq_positions, next, CT_NUMBER),
	FIELD(kvp_seq_positions, tainted_from, CT_HEX),
	FIELD(kvp_seq_positions, attended, CT_NUMBER),
};

static const struct ct_field remap_begin_fields[] = {
	FIELD(kvp_remap_begin, seq, CT_HEX),
	FIELD(kvp_remap_begin, pieces, CT_POINTER),
	FIELD(kvp_remap_begin, nr_pieces, CT_NUMBER),
	FIELD(kvp_remap_begin, guarantee, CT_NUMBER),
	FIELD(kvp_remap_begin, reserve, CT_NUMBER),
	FIELD(kvp_remap_begin, tokens, CT_NUMBER),
	FIELD(kvp_remap_begin, computed, CT_NUMBER),
	FIELD(kvp_remap_begin, moved, CT_NUMBER),
	FIELD(kvp_remap_begin, nr_moves, CT_NUMBER),
	FIELD(kvp_remap_begin, attended, CT_NUMBER),
	FIELD(kvp_remap_begin, tainted_from, CT_HEX),
};

static const struct ct_field remap_moves_fields[] = {
	FIELD(kvp_remap_moves, seq, CT_HEX),
	FIELD(kvp_remap_moves, moves, CT_POINTER),
	FIELD(kvp_remap_moves, nr_moves, CT_NUMBER),
	FIELD(kvp_remap_moves, family, CT_NUMBER),
	FIELD(kvp_remap_moves, first, CT_NUMBER),
	FIELD(kvp_remap_moves, total, CT_NUMBER),
};

static const struct ct_field remap_end_fields[] = {
	FIELD(kvp_remap_end, seq, CT_HEX),
};

static const struct ct_field export_fields[] = {
	FIELD(kvp_seq_export, seq, CT_HEX),
	FIELD(kvp_seq_export, fd, CT_FD),		/* the process's numbers */
	FIELD(kvp_seq_export, reserved, CT_NUMBER),
	FIELD(kvp_seq_export, export_id, CT_CLIENT),
};

static const struct ct_field import_fields[] = {
	FIELD(kvp_seq_import, fd, CT_FD),		/* the process's numbers */
	FIELD(kvp_seq_import, reserved, CT_NUMBER),
	FIELD(kvp_seq_import, seq, CT_HEX),
	FIELD(kvp_seq_import, tokens, CT_NUMBER),
};

static const struct ct_field revoke_fields[] = {
	FIELD(kvp_export_revoke, export_id, CT_CLIENT),
};

static const struct ct_field match_fields[] = {
	FIELD(kvp_prefix_match, space, CT_SPACE),
	FIELD(kvp_prefix_match, tokens, CT_POINTER),
	FIELD(kvp_prefix_match, nr_tokens, CT_NUMBER),
	FIELD(kvp_prefix_match, nr_extras, CT_NUMBER),
	FIELD(kvp_prefix_match, extras, CT_POINTER),
	FIELD(kvp_prefix_match, blocks, CT_POINTER),
	FIELD(kvp_prefix_match, nr_blocks, CT_NUMBER),
	FIELD(kvp_prefix_match, family, CT_NUMBER),
	FIELD(kvp_prefix_match, matched, CT_NUMBER),
	FIELD(kvp_prefix_match, match, CT_HEX),
};

static const struct ct_field release_fields[] = {
	FIELD(kvp_prefix_release, match, CT_HEX),
};

static const struct ct_field publish_fields[] = {
	FIELD(kvp_prefix_publish, seq, CT_HEX),
	FIELD(kvp_prefix_publish, limit, CT_NUMBER),
	FIELD(kvp_prefix_publish, tag, CT_NUMBER),
	FIELD(kvp_prefix_publish, reserved, CT_NUMBER),
	FIELD(kvp_prefix_publish, published, CT_NUMBER),
	FIELD(kvp_prefix_publish, nr_new, CT_NUMBER),
	FIELD(kvp_prefix_publish, nr_shared, CT_NUMBER),
};

static const struct ct_field invalidate_fields[] = {
	FIELD(kvp_prefix_invalidate, space, CT_SPACE),
	FIELD(kvp_prefix_invalidate, tokens, CT_POINTER),
	FIELD(kvp_prefix_invalidate, nr_tokens, CT_NUMBER),
	FIELD(kvp_prefix_invalidate, nr_extras, CT_NUMBER),
	FIELD(kvp_prefix_invalidate, extras, CT_POINTER),
	FIELD(kvp_prefix_invalidate, tag, CT_NUMBER),
	FIELD(kvp_prefix_invalidate, reserved, CT_NUMBER),
	FIELD(kvp_prefix_invalidate, nr_subtrees, CT_NUMBER),
};

static const struct ct_field reclaim_fields[] = {
	FIELD(kvp_prefix_reclaim, nodes, CT_NUMBER),
};

static const struct ct_field timeline_create_fields[] = {
	FIELD(kvp_timeline_create, timeline, CT_NUMBER),
	FIELD(kvp_timeline_create, reserved, CT_NUMBER),
};

static const struct ct_field use_fields[] = {
	FIELD(kvp_use, entries, CT_POINTER),
	FIELD(kvp_use, nr_entries, CT_NUMBER),
	FIELD(kvp_use, reserved, CT_NUMBER),
	FIELD(kvp_use, position, CT_NUMBER),
};

static const struct ct_field signal_fields[] = {
	FIELD(kvp_signal, timeline, CT_NUMBER),
	FIELD(kvp_signal, reserved, CT_NUMBER),
	FIELD(kvp_signal, value, CT_HEX),
};

static const struct ct_field query_fields[] = {
	FIELD(kvp_query, fences, CT_POINTER),
	FIELD(kvp_query, nr_fences, CT_NUMBER),
	FIELD(kvp_query, granted, CT_NUMBER),
	FIELD(kvp_query, waiting, CT_NUMBER),
	FIELD(kvp_query, uses, CT_NUMBER),
	FIELD(kvp_query, held_back, CT_NUMBER),
	FIELD(kvp_query, backwards, CT_NUMBER),
	FIELD(kvp_query, jumps, CT_NUMBER),
	FIELD(kvp_query, ready, CT_HEX),
	FIELD(kvp_query, reserved, CT_NUMBER),
};

static const struct ct_field reap_fields[] = {
	FIELD(kvp_reap, client, CT_CLIENT),
	FIELD(kvp_reap, clients, CT_NUMBER),
	FIELD(kvp_reap, reserved, CT_NUMBER),
	FIELD(kvp_reap, blocks, CT_NUMBER),
};

static const struct ct_field admit_fields[] = {
	FIELD(kvp_admit, needs, CT_POINTER),
	FIELD(kvp_admit, nr_needs, CT_NUMBER),
	FIELD(kvp_admit, state, CT_NUMBER),
	FIELD(kvp_admit, ticket, CT_HEX),
	FIELD(kvp_admit, ahead, CT_NUMBER),
};

static const struct ct_field stats_fields[] = {
	FIELD(kvp_stats, client, CT_WHO),
	FIELD(kvp_stats, families, CT_POINTER),
	FIELD(kvp_stats, nr_families, CT_NUMBER),
	FIELD(kvp_stats, nr_clients, CT_NUMBER),
	FIELD(kvp_stats, seqs, CT_NUMBER),
	FIELD(kvp_stats, slots, CT_NUMBER),
	FIELD(kvp_stats, raw, CT_NUMBER),
	FIELD(kvp_stats, matches, CT_NUMBER),
	FIELD(kvp_stats, metadata_bytes, CT_HIDDEN),
	FIELD(kvp_stats, nodes, CT_NUMBER),
	FIELD(kvp_stats, nodes_used, CT_NUMBER),
	FIELD(kvp_stats, nodes_published, CT_NUMBER),
	FIELD(kvp_stats, namespaces, CT_NUMBER),
	FIELD(kvp_stats, extras_used, CT_NUMBER),
	FIELD(kvp_stats, extras, CT_NUMBER),
	FIELD(kvp_stats, matched_nodes, CT_NUMBER),
	FIELD(kvp_stats, looked_up_nodes, CT_NUMBER),
	FIELD(kvp_stats, published_nodes, CT_NUMBER),
	FIELD(kvp_stats, shared_nodes, CT_NUMBER),
	FIELD(kvp_stats, reclaimed_nodes, CT_NUMBER),
	FIELD(kvp_stats, reclaimed_blocks, CT_NUMBER),
	FIELD(kvp_stats, invalidated, CT_NUMBER),
	FIELD(kvp_stats, copies, CT_NUMBER),
	FIELD(kvp_stats, underflow_rejected, CT_NUMBER),
	FIELD(kvp_stats, collisions, CT_NUMBER),
	FIELD(kvp_stats, refused_room, CT_NUMBER),
	FIELD(kvp_stats, refused_limit, CT_NUMBER),
	FIELD(kvp_stats, exports, CT_NUMBER),
	FIELD(kvp_stats, backings, CT_NUMBER),
	FIELD(kvp_stats, zombies, CT_NUMBER),
	FIELD(kvp_stats, uses, CT_NUMBER),
	FIELD(kvp_stats, tickets, CT_NUMBER),
	FIELD(kvp_stats, tickets_waiting, CT_NUMBER),
	FIELD(kvp_stats, tickets_granted, CT_NUMBER),
	FIELD(kvp_stats, quarantined, CT_NUMBER),
	FIELD(kvp_stats, backwards, CT_NUMBER),
	FIELD(kvp_stats, jumps, CT_NUMBER),
	FIELD(kvp_stats, scans, CT_HIDDEN),		/* by a timer of the device's */
};

static const struct ct_field audit_fields[] = {
	FIELD(kvp_audit, findings, CT_POINTER),
	FIELD(kvp_audit, nr_findings, CT_NUMBER),
	FIELD(kvp_audit, reserved, CT_NUMBER),
	FIELD(kvp_audit, total, CT_NUMBER),
	FIELD(kvp_audit, checked_blocks, CT_NUMBER),
	FIELD(kvp_audit, checked_nodes, CT_NUMBER),
};

static const struct ct_field dump_fields[] = {
	FIELD(kvp_block_dump, entries, CT_POINTER),
	FIELD(kvp_block_dump, nr_entries, CT_NUMBER),
	FIELD(kvp_block_dump, family, CT_NUMBER),
	FIELD(kvp_block_dump, cursor, CT_NUMBER),
	FIELD(kvp_block_dump, total, CT_NUMBER),
};

static const struct ct_field client_list_fields[] = {
	FIELD(kvp_client_list, entries, CT_POINTER),
	FIELD(kvp_client_list, nr_entries, CT_NUMBER),
	FIELD(kvp_client_list, total, CT_NUMBER),
};

static const struct ct_field events_fields[] = {
	FIELD(kvp_events, events, CT_POINTER),
	FIELD(kvp_events, nr_events, CT_NUMBER),
	FIELD(kvp_events, reserved, CT_NUMBER),
	FIELD(kvp_events, cursor, CT_NUMBER),
	FIELD(kvp_events, lost, CT_NUMBER),
	FIELD(kvp_events, pending, CT_NUMBER),
};

static const struct ct_field batch_fields[] = {
	FIELD(kvp_batch, entries, CT_POINTER),
	FIELD(kvp_batch, nr_entries, CT_NUMBER),
	FIELD(kvp_batch, executed, CT_NUMBER),
};

/* ---- the table ---- */

#define OP(name_, text_, type_, fields_)				\
	.nr = KVP_OP_##name_, .name = (text_), .shape = SHAPE(type_, fields_)
#define TOKENS(type_)							\
	ARRAY(type_, tokens, nr_tokens, KVP_MAX_CALL_TOKENS, CT_IN, token_shape)
#define EXTRAS(type_)							\
	ARRAY(type_, extras, nr_extras, KVP_MAX_CALL_BLOCKS, CT_IN, extra_shape)
#define COPIES(type_)							\
	ARRAY(type_, copies, nr_copies, KVP_MAX_CALL_BLOCKS, CT_OUT, copy_shape)

const struct ct_op ct_ops[] = {
	{ OP(ABI, "abi", kvp_abi, abi_fields) },
	{ OP(POOL_CREATE, "pool-create", kvp_pool_create, pool_create_fields),
	  .flags = KVP_POOL_FLAGS_ALL, .nr_arrays = 1,
	  .array = { ARRAY(kvp_pool_create, families, nr_families, KVP_MAX_FAMILIES, CT_IN,
			   family_shape) } },
	{ OP(POOL_ATTACH, "pool-attach", kvp_pool_attach, pool_attach_fields) },
	{ OP(POOL_INFO, "pool-info", kvp_pool_info, pool_info_fields), .nr_arrays = 1,
	  .array = { ARRAY(kvp_pool_info, families, nr_families, KVP_MAX_FAMILIES, CT_OUT,
			   family_shape) } },
	{ OP(POOL_LIST, "pool-list", kvp_pool_list, pool_list_fields), .nr_arrays = 1,
	  .array = { ARRAY(kvp_pool_list, pools, nr_pools, KVP_MAX_CALL_BLOCKS, CT_OUT,
			   pool_entry_shape) } },
	{ OP(POOL_DESTROY, "pool-destroy", kvp_pool_destroy, pool_destroy_fields),
	  .flags = KVP_DESTROY_FLAGS_ALL },
	{ OP(LIMIT, "limit", kvp_limit, limit_fields), .flags = KVP_LIMIT_FLAGS_ALL },
	{ OP(BACKING_ADD, "backing-add", kvp_backing, backing_fields) },
	{ OP(BACKING_GET, "backing-get", kvp_backing, backing_fields) },
	{ .nr = KVP_OP_POOL_READY, .name = "pool-ready",
	  .shape = { .size = sizeof(struct kvp_pool_ready) } },
	{ OP(BLOCK_ALLOC, "block-alloc", kvp_block_alloc, block_alloc_fields), .nr_arrays = 1,
	  .array = { ARRAY(kvp_block_alloc, blocks, nr, KVP_MAX_CALL_BLOCKS, CT_OUT,
			   id_shape) } },
	{ OP(BLOCK_REF, "block-ref", kvp_block_refs, block_refs_fields),
	  .flags = KVP_BLOCK_REF_FLAGS_ALL, .nr_arrays = 1,
	  .id = offsetof(struct kvp_block_refs, holder),
	  .array = { ARRAY(kvp_block_refs, blocks, nr, KVP_MAX_CALL_BLOCKS, CT_IN, id_shape) } },
	{ OP(BLOCK_UNREF, "block-unref", kvp_block_refs, block_refs_fields), .nr_arrays = 1,
	  .array = { ARRAY(kvp_block_refs, blocks, nr, KVP_MAX_CALL_BLOCKS, CT_IN, id_shape) } },
	{ OP(BLOCK_MAKE_PRIVATE, "block-make-private", kvp_block_make_private,
	     make_private_fields) },
	{ OP(SEQ_CREATE, "seq-create", kvp_seq_create, seq_create_fields),
	  .flags = KVP_SEQ_CREATE_FLAGS_ALL, .made = offsetof(struct kvp_seq_create, seq),
	  .nr_arrays = 2, .array = { TOKENS(kvp_seq_create), EXTRAS(kvp_seq_create) } },
	{ OP(SEQ_APPEND, "seq-append", kvp_seq_append, seq_append_fields),
	  .id = offsetof(struct kvp_seq_append, seq), .nr_arrays = 3,
	  .array = { TOKENS(kvp_seq_append), EXTRAS(kvp_seq_append), COPIES(kvp_seq_append) } },
	{ OP(SEQ_SET_TOKENS, "seq-set-tokens", kvp_seq_set_tokens, set_tokens_fields),
	  .id = offsetof(struct kvp_seq_set_tokens, seq), .nr_arrays = 2,
	  .array = { TOKENS(kvp_seq_set_tokens), EXTRAS(kvp_seq_set_tokens) } },
	{ OP(SEQ_ADVANCE, "seq-advance", kvp_seq_advance, advance_fields),
	  .id = offsetof(struct kvp_seq_advance, seq) },
	{ OP(SEQ_COPIED, "seq-copied", kvp_seq_id, seq_id_fields),
	  .id = offsetof(struct kvp_seq_id, seq) },
	{ OP(SEQ_FORK, "seq-fork", kvp_seq_fork, fork_fields),
	  .id = offsetof(struct kvp_seq_fork, seq), .made = offsetof(struct kvp_seq_fork, child),
	  .nr_arrays = 1, .array = { COPIES(kvp_seq_fork) } },
	{ OP(SEQ_TRUNCATE, "seq-truncate", kvp_seq_truncate, truncate_fields),
	  .id = offsetof(struct kvp_seq_truncate, seq) },
	{ OP(SEQ_FREE, "seq-free", kvp_seq_id, seq_id_fields),
	  .id = offsetof(struct kvp_seq_id, seq) },
	{ OP(SEQ_TABLE, "seq-table", kvp_seq_table, table_fields),
	  .id = offsetof(struct kvp_seq_table, seq), .nr_arrays = 1,
	  .array = { ARRAY(kvp_seq_table, blocks, nr_blocks, KVP_MAX_CALL_BLOCKS, CT_OUT,
			   id_shape) } },
	{ OP(SEQ_POSITIONS, "seq-positions", kvp_seq_positions, seq_positions_fields),
	  .id = offsetof(struct kvp_seq_positions, seq), .nr_arrays = 1,
	  .array = { ARRAY(kvp_seq_positions, runs, nr_runs, KVP_MAX_CALL_BLOCKS, CT_OUT,
			   positions_shape) } },
	{ OP(REMAP_BEGIN, "remap-begin", kvp_remap_begin, remap_begin_fields),
	  .flags = KVP_REMAP_FLAGS_ALL, .id = offsetof(struct kvp_remap_begin, seq),
	  .nr_arrays = 1,
	  .array = { ARRAY(kvp_remap_begin, pieces, nr_pieces, KVP_MAX_PIECES, CT_IN,
			   piece_shape) } },
	{ OP(REMAP_MOVES, "remap-moves", kvp_remap_moves, remap_moves_fields),
	  .id = offsetof(struct kvp_remap_moves, seq), .nr_arrays = 1,
	  .array = { ARRAY(kvp_remap_moves, moves, nr_moves, KVP_MAX_CALL_BLOCKS, CT_OUT,
			   move_shape) } },
	{ OP(REMAP_COMMIT, "remap-commit", kvp_remap_end, remap_end_fields),
	  .id = offsetof(struct kvp_remap_end, seq) },
	{ OP(REMAP_ABORT, "remap-abort", kvp_remap_end, remap_end_fields),
	  .id = offsetof(struct kvp_remap_end, seq) },
	{ OP(SEQ_EXPORT, "seq-export", kvp_seq_export, export_fields),
	  .id = offsetof(struct kvp_seq_export, seq) },
	{ OP(SEQ_IMPORT, "seq-import", kvp_seq_import, import_fields),
	  .made = offsetof(struct kvp_seq_import, seq) },
	{ OP(EXPORT_REVOKE, "export-revoke", kvp_export_revoke, revoke_fields) },
	{ OP(PREFIX_MATCH, "prefix-match", kvp_prefix_match, match_fields),
	  .flags = KVP_MATCH_FLAGS_ALL, .made = offsetof(struct kvp_prefix_match, match),
	  .nr_arrays = 3,
	  .array = { TOKENS(kvp_prefix_match), EXTRAS(kvp_prefix_match),
		     ARRAY(kvp_prefix_match, blocks, nr_blocks, KVP_MAX_CALL_BLOCKS, CT_OUT,
			   id_shape) } },
	{ OP(PREFIX_RELEASE, "prefix-release", kvp_prefix_release, release_fields),
	  .id = offsetof(struct kvp_prefix_release, match) },
	{ OP(PREFIX_PUBLISH, "prefix-publish", kvp_prefix_publish, publish_fields),
	  .flags = KVP_PUBLISH_FLAGS_ALL, .id = offsetof(struct kvp_prefix_publish, seq) },
	{ OP(PREFIX_INVALIDATE, "prefix-invalidate", kvp_prefix_invalidate, invalidate_fields),
	  .flags = KVP_INVALIDATE_FLAGS_ALL, .nr_arrays = 2,
	  .array = { TOKENS(kvp_prefix_invalidate), EXTRAS(kvp_prefix_invalidate) } },
	{ OP(PREFIX_RECLAIM, "prefix-reclaim", kvp_prefix_reclaim, reclaim_fields) },
	{ OP(TIMELINE_CREATE, "timeline-create", kvp_timeline_create, timeline_create_fields) },
	{ OP(USE, "use", kvp_use, use_fields), .nr_arrays = 1,
	  .array = { ARRAY(kvp_use, entries, nr_entries, KVP_MAX_CALL_BLOCKS, CT_IN,
			   use_entry_shape) } },
	{ OP(SIGNAL, "signal", kvp_signal, signal_fields) },
	{ OP(QUERY, "query", kvp_query, query_fields), .flags = KVP_QUERY_FLAGS_ALL,
	  .nr_arrays = 1,
	  .array = { ARRAY(kvp_query, fences, nr_fences, KVP_MAX_BATCH, CT_INOUT,
			   fence_shape) } },
	{ OP(REAP, "reap", kvp_reap, reap_fields) },
	{ OP(ADMIT, "admit", kvp_admit, admit_fields), .flags = KVP_ADMIT_FLAGS_ALL,
	  .nr_arrays = 1,
	  .array = { ARRAY(kvp_admit, needs, nr_needs, KVP_MAX_FAMILIES, CT_IN,
			   admit_need_shape) } },
	{ OP(STATS, "stats", kvp_stats, stats_fields), .flags = KVP_STATS_FLAGS_ALL,
	  .nr_arrays = 1,
	  .array = { ARRAY(kvp_stats, families, nr_families, KVP_MAX_FAMILIES, CT_OUT,
			   family_stats_shape) } },
	{ OP(AUDIT, "audit", kvp_audit, audit_fields), .nr_arrays = 1,
	  .array = { ARRAY(kvp_audit, findings, nr_findings, KVP_MAX_CALL_BLOCKS, CT_OUT,
			   finding_shape) } },
	{ OP(BLOCK_DUMP, "block-dump", kvp_block_dump, dump_fields), .nr_arrays = 1,
	  .array = { ARRAY(kvp_block_dump, entries, nr_entries, KVP_MAX_CALL_BLOCKS, CT_OUT,
			   block_entry_shape) } },
	{ OP(CLIENT_LIST, "client-list", kvp_client_list, client_list_fields), .nr_arrays = 1,
	  .array = { ARRAY(kvp_client_list, entries, nr_entries, KVP_MAX_CALL_BLOCKS, CT_OUT,
			   client_entry_shape) } },
	{ OP(EVENTS, "events", kvp_events, events_fields), .nr_arrays = 1,
	  .array = { ARRAY(kvp_events, events, nr_events, KVP_MAX_CALL_BLOCKS, CT_OUT,
			   event_shape) } },
	{ OP(BATCH, "batch", kvp_batch, batch_fields), .flags = KVP_BATCH_FLAGS_ALL,
	  .nr_arrays = 1,
	  .array = { ARRAY(kvp_batch, entries, nr_entries, KVP_MAX_BATCH, CT_INOUT,
			   batch_entry_shape) } },
};

const __u32 ct_nr_ops = CT_SIZE(ct_ops);

/* How many there are in the list of tests/layout, which the header is checked against. */
#define REASON(name, value)
enum { LISTED_OPS = 0
#undef OP
#define OP(name, value)	+ 1
#include "values.h"
};
_Static_assert(CT_SIZE(ct_ops) == LISTED_OPS, "an operation that shapes.c does not know");

const struct ct_op *ct_op_find(__u32 nr)
{
	__u32 i;

	for (i = 0; i < ct_nr_ops; i++)
		if (ct_ops[i].nr == nr)
			return &ct_ops[i];
	return NULL;
}

static void shape_check(const char *name, const struct ct_shape *shape, __u32 at)
{
	__u32 i;

	for (i = 0; i < shape->nr_fields; i++) {
		if (shape->fields[i].offset != at)
			ct_die("%s: byte %u is in no field of shapes.c", name, at);
		at += shape->fields[i].size;
	}
	if (at != shape->size)
		ct_die("%s: %u of %u bytes are in a field of shapes.c", name, at, shape->size);
}

void ct_shapes_check(void)
{
	__u32 i, k;

	for (i = 0; i < ct_nr_ops; i++) {
		shape_check(ct_ops[i].name, &ct_ops[i].shape, sizeof(struct kvp_head));
		for (k = 0; k < ct_ops[i].nr_arrays; k++)
			shape_check(ct_ops[i].array[k].name, ct_ops[i].array[k].shape, 0);
	}
}

// SPDX-License-Identifier: MIT
/*
 * Sequences as files that one process passes to another. Owns nothing and takes no lock.
 */
#include <errno.h>

#include "internal.h"

int kvp_seq_export(struct kvp_pool *pool, kvp_seq_t seq, int *fd, uint64_t *id)
{
	struct kvp_seq_export arg = { .seq = seq };
	int err;

	if (!fd)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "seq_export: fd is NULL");
	err = kvp_do(pool, KVP_OP_SEQ_EXPORT, &arg);
	if (err && arg.head.reason == KVP_REASON_LENGTH)
		return kvp_error_set(err, KVP_REASON_LENGTH, 0,
				     "seq_export: the node in which the computed tokens end has more slots: expected none, kvp_seq_truncate() to the computed tokens first");
	if (err)
		return err;
	*fd = arg.fd;
	if (id)
		*id = arg.export_id;
	return 0;
}

int kvp_seq_import(struct kvp_pool *pool, int fd, kvp_seq_t *seq, uint64_t *tokens)
{
	struct kvp_seq_import arg = { .fd = fd };
	int err;

	if (!seq)
		return kvp_error_set(-EINVAL, KVP_REASON_POINTER, 0, "seq_import: seq is NULL");
	err = kvp_do(pool, KVP_OP_SEQ_IMPORT, &arg);
	if (err == -EINVAL && arg.head.reason == KVP_REASON_VALUE)
		return kvp_error_set(err, KVP_REASON_VALUE, arg.head.where,
				     "seq_import: descriptor %d is no export of kvpool: expected one that kvp_seq_export() made",
				     fd);
	if (err)
		return err;
	*seq = arg.seq;
	if (tokens)
		*tokens = arg.tokens;
	return 0;
}

int kvp_export_revoke(struct kvp_pool *pool, uint64_t id)
{
	struct kvp_export_revoke arg = { .export_id = id };

	return kvp_do(pool, KVP_OP_EXPORT_REVOKE, &arg);
}

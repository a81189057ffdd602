// SPDX-License-Identifier: MIT
/*
 * What a stream has seen: a stream that only fails, or never meets a full pool, would agree
 * through every door and show nothing. Owns the counters.
 */
#include <errno.h>
#include <string.h>

#include "contract.h"

#define MAX_OPS		256
#define MAX_ERRNO	134
#define MAX_REASONS	128

static __u32 seen[MAX_OPS][MAX_ERRNO];
static __u32 reasons[MAX_REASONS];

void ct_count(const struct ct_call *call)
{
	const struct kvp_head *head = (void *)call->after;

	if (call->result > 0 || call->result <= -MAX_ERRNO)
		ct_die("operation %x returned %d", call->nr, call->result);
	seen[call->nr % MAX_OPS][-call->result]++;
	if (call->result && head->reason < MAX_REASONS)
		reasons[head->reason]++;
}

/* ---- what has to be seen ---- */

static const __u16 main_errnos[] = {
	EINVAL, E2BIG, EFAULT, EOVERFLOW, ENOTTY, EOPNOTSUPP, ENOENT, ESTALE, EBUSY, EEXIST,
	EPERM, EACCES, EDQUOT, ENOSPC, EFBIG, EKEYREJECTED, EIO, ECANCELED, EBADF,
};

static const __u16 device_errnos[] = {
	EINVAL, EFAULT, EOPNOTSUPP, ENOENT, ESTALE, EBUSY, EPERM, EACCES, EDQUOT, EKEYREJECTED,
	EBADF, EOWNERDEAD,
};

/* Of the stream that every door has: all that one thread can meet in a small pool. */
static const __u8 main_never[] = {
	KVP_REASON_SEQ_BUSY,		/* two threads */
	KVP_REASON_MEMORY,		/* no memory */
	KVP_REASON_LIMIT_CLIENTS,	/* thousands of clients */
	KVP_REASON_LIMIT_POOLS,		/* a setting of the host */
	KVP_REASON_CLIENT_DEAD,		/* a mapping of the device */
	/* Descriptors, which only the device has: the other stream. */
	KVP_REASON_REVOKED,
	KVP_REASON_NO_EXPORT,
	KVP_REASON_FOREIGN,
	KVP_REASON_LIMIT_EXPORTS,
	KVP_REASON_DOOR,
	KVP_REASON_MAKER_DEAD,
};

/* Of the other stream. */
static const __u8 device_always[] = {
	KVP_REASON_POINTER,
	KVP_REASON_REVOKED,
	KVP_REASON_NO_EXPORT,
	KVP_REASON_FOREIGN,
	KVP_REASON_LIMIT_EXPORTS,
	KVP_REASON_STATE_FAMILY,
	KVP_REASON_SEAL,
	KVP_REASON_VALUE,
	KVP_REASON_FENCE_OPEN,
	KVP_REASON_MAKER_DEAD,
};

static bool listed(const __u8 *list, __u32 nr, __u32 value)
{
	while (nr--)
		if (list[nr] == value)
			return true;
	return false;
}

static bool reason_wanted(__u32 reason, bool device)
{
	if (device)
		return listed(device_always, CT_SIZE(device_always), reason);
	return reason && strcmp(ct_reason_name(reason), "UNKNOWN") &&
	       !listed(main_never, CT_SIZE(main_never), reason);
}

static bool op_wanted(__u32 nr, bool device)
{
	return device == (nr == KVP_OP_SEQ_EXPORT || nr == KVP_OP_SEQ_IMPORT ||
			  nr == KVP_OP_EXPORT_REVOKE);
}

/* ---- the table at the end ---- */

static void print_op(const char *name, const __u32 *counts)
{
	__u32 i;

	fprintf(ct_output, "seen %s ok=%u", name, counts[0]);
	for (i = 1; i < MAX_ERRNO; i++)
		if (counts[i])
			fprintf(ct_output, " %s=%u", strerrorname_np(i), counts[i]);
	fputc('\n', ct_output);
}

static bool missing(const char *what, const char *name)
{
	fprintf(stderr, "contract: the stream never saw %s %s\n", what, name);
	return false;
}

static bool errno_seen(__u32 errnum)
{
	__u32 i;

	for (i = 0; i < MAX_OPS; i++)
		if (seen[i][errnum])
			return true;
	return false;
}

bool ct_coverage_print(bool device)
{
	const __u16 *errnos = device ? device_errnos : main_errnos;
	__u32 nr_errnos = device ? CT_SIZE(device_errnos) : CT_SIZE(main_errnos);
	bool good = true;
	__u32 i;

	for (i = 0; i < ct_nr_ops; i++) {
		print_op(ct_ops[i].name, seen[ct_ops[i].nr]);
		if (op_wanted(ct_ops[i].nr, device) && !seen[ct_ops[i].nr][0])
			good = missing("a success of", ct_ops[i].name);
	}
	for (i = 0; i < MAX_REASONS; i++) {
		if (reasons[i])
			fprintf(ct_output, "reason %s %u\n", ct_reason_name(i), reasons[i]);
		else if (reason_wanted(i, device))
			good = missing("reason", ct_reason_name(i));
	}
	for (i = 0; i < nr_errnos; i++)
		if (!errno_seen(errnos[i]))
			good = missing("errno", strerrorname_np(errnos[i]));
	return good;
}

// SPDX-License-Identifier: MIT
/*
 * Calls that only the device has: sequences as files, which are passed on, closed and revoked; and
 * descriptors of every kind as backing. Owns the files of the exports.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "stream.h"

#define MAX_EXPORTS	8

static struct {
	int fd;
	__u64 id;
} exports[MAX_EXPORTS];
static __u32 nr_exports;
static __u64 old_export;

static void close_export(__u32 i)
{
	ct_device_close(exports[i].fd);
	old_export = exports[i].id;
	exports[i] = exports[--nr_exports];
}

void st_exports_close(__u32 left)
{
	while (nr_exports > left) {
		close_export(st_below(nr_exports));
		ct_say("an export is closed");
	}
}

static void make_export(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_seq_export *arg = (void *)call->before;

	st_pick_seq(slot, &arg->seq);
	arg->fd = -1;
}

static void learn_export(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_seq_export *arg = (void *)call->after;

	if (fcntl(arg->fd, F_GETFD) != FD_CLOEXEC)
		ct_die("descriptor %d is not close-on-exec", arg->fd);
	if (nr_exports == MAX_EXPORTS)
		close_export(st_below(nr_exports));
	exports[nr_exports].fd = arg->fd;
	exports[nr_exports++].id = arg->export_id;
}

/* A descriptor that is none of an export. */
static int other_file(void)
{
	static int null = -1, node = -1;

	if (null < 0) {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		node = ct_device_open(0);
	}
	switch (st_below(3)) {
	case 0:
		return -1;
	case 1:
		return null;
	default:
		return node;
	}
}

static void make_import(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_seq_import *arg = (void *)call->before;

	arg->fd = nr_exports && !st_once(6) ? exports[st_below(nr_exports)].fd : other_file();
}

void st_import_last(struct ct_call *call)
{
	struct kvp_seq_import *arg = (void *)call->before;

	arg->fd = exports[nr_exports - 1].fd;
}

static void learn_import(struct st_slot *slot, const struct ct_call *call)
{
	const struct kvp_seq_import *arg = (void *)call->after;

	st_seq_add(slot, arg->seq, arg->tokens);
}

static void make_revoke(struct st_slot *slot, struct ct_call *call)
{
	struct kvp_export_revoke *arg = (void *)call->before;

	if (nr_exports && !st_once(4))
		arg->export_id = exports[st_below(nr_exports)].id;
	else
		arg->export_id = st_once(2) ? old_export : st_once(2) ? slot->client : ST_UNKNOWN;
}

const struct st_maker st_export_makers[] = {
	{ KVP_OP_SEQ_EXPORT, 8, false, make_export, learn_export },
	{ KVP_OP_SEQ_IMPORT, 14, false, make_import, learn_import },
	{ KVP_OP_EXPORT_REVOKE, 3, false, make_revoke, NULL },
	{ }
};

// SPDX-License-Identifier: MIT
/*
 * Descriptors: those that are none of what a call asks for, and what the stream's makers ask of a
 * device, without waiting for the end of a file that others may keep. Owns the descriptors made at
 * the begin of a process.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "malformed.h"

#define NEVER_OPEN	1016	/* descriptors from here on are too many to be open */

static int pipe_fd, regular_fd, export_fd;

/* An export of a pool that no scene is about, which lives as long as it. */
static int other_export(__u32 process)
{
	struct kvp_family_desc family = { .kind = KVP_FAMILY_DENSE, .block_tokens = 4, .blocks = 4,
					  .block_bytes = 64 };
	struct kvp_pool_create create = { .families = (uintptr_t)&family, .nr_families = 1,
					  .mode = 0600 };
	const __u32 tokens[4] = { 1, 2, 3, 4 };
	struct kvp_seq_create seq = { .tokens = (uintptr_t)tokens, .nr_tokens = 4 };
	struct kvp_seq_advance advance = { .computed = 4 };
	struct kvp_seq_export export = { };
	struct ct_conn *conn = mf_door->open(0);

	snprintf(create.name, sizeof(create.name), "other-%u", process);
	if (mf_do(conn, KVP_OP_POOL_CREATE, &create) || mf_do(conn, KVP_OP_SEQ_CREATE, &seq))
		ct_die("no pool for another export");
	advance.seq = seq.seq;
	export.seq = seq.seq;
	if (mf_do(conn, KVP_OP_SEQ_ADVANCE, &advance) ||
	    mf_do(conn, KVP_OP_SEQ_EXPORT, &export))
		ct_die("no export of another pool");
	mf_door->close(conn);
	return export.fd;
}

void mf_files_process(__u32 process)
{
	int pipes[2];

	if (pipe(pipes))
		ct_die("no pipe: %m");
	pipe_fd = pipes[0];
	regular_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (regular_fd < 0)
		ct_die("/proc/self/exe: %m");
	export_fd = other_export(process);
}

void mf_files_end(void)
{
	mf_door->close_fd(export_fd);
}

int mf_file(enum mf_file file, const struct mf_call *mf)
{
	const struct st_slot *other = &st.slot[(mf->slot - st.slot + 1) % ST_SLOTS];

	switch (file) {
	case MF_FD_CLOSED:
		return st_once(3) ? -1 : NEVER_OPEN + st_below(8);
	case MF_FD_DEVICE:
		return other->conn->fd;
	case MF_FD_PIPE:
		return pipe_fd;
	case MF_FD_REGULAR:
		return regular_fd;
	default:
		return export_fd;
	}
}

/* ---- what the makers ask for ---- */

int ct_device_open(__u32 uid)
{
	return mf_door->open_fd(uid);
}

int ct_device_files(void)
{
	return 0;
}

void ct_device_wait(int files)
{
}

void ct_device_close(int fd)
{
	mf_door->close_fd(fd);
}

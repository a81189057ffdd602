// SPDX-License-Identifier: MIT
/*
 * Descriptors of exports: a table under one mutex, which is held when the core is asked for a
 * reference, and not when it gets one back. As of files, several descriptors can be of one,
 * which has one reference on the export.
 */
#include <pthread.h>

#include "exportdoor.h"
#include "harness.h"

#define FIRST_FD	1000
#define FILES		256
#define FDS		1024

struct file {
	struct kvp_export *export;
	u32 fds;
};

int kvpt_export_give_error;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct file files[FILES];
static struct file *table[FDS];

static s32 add_fd(struct file *file)
{
	s32 i;

	for (i = 0; i < FDS && table[i]; i++)
		;
	if (i == FDS)
		kvpt_fail("more than %d descriptors", FDS);
	table[i] = file;
	file->fds++;
	return FIRST_FD + i;
}

static struct file *file_of(s32 fd)
{
	return fd >= FIRST_FD && fd < FIRST_FD + FDS ? table[fd - FIRST_FD] : NULL;
}

static s32 export_give(struct kvp_export *export)
{
	s32 fd;
	u32 i;

	if (kvpt_export_give_error)
		return kvpt_export_give_error;
	pthread_mutex_lock(&lock);
	for (i = 0; i < FILES && files[i].export; i++)
		;
	if (i == FILES)
		kvpt_fail("more than %d files", FILES);
	files[i].export = export;
	fd = add_fd(&files[i]);
	pthread_mutex_unlock(&lock);
	return fd;
}

static struct kvp_export *export_take(s32 fd)
{
	struct kvp_export *export = ERR_PTR(-EBADF);
	struct file *file;

	/* Standard input is open, and no export. */
	if (!fd)
		return ERR_PTR(-EINVAL);
	pthread_mutex_lock(&lock);
	file = file_of(fd);
	if (file) {
		export = file->export;
		kvp_export_get(export);
	}
	pthread_mutex_unlock(&lock);
	return export;
}

s32 kvpt_export_dup(s32 fd)
{
	s32 copy;

	pthread_mutex_lock(&lock);
	copy = add_fd(file_of(fd));
	pthread_mutex_unlock(&lock);
	return copy;
}

void kvpt_export_close(s32 fd)
{
	struct kvp_export *export = NULL;
	struct file *file;

	pthread_mutex_lock(&lock);
	file = file_of(fd);
	if (!file)
		kvpt_fail("descriptor %d is not open", fd);
	table[fd - FIRST_FD] = NULL;
	if (!--file->fds) {
		export = file->export;
		file->export = NULL;
	}
	pthread_mutex_unlock(&lock);
	if (export)
		kvp_export_put(export);
}

u32 kvpt_exports_open(void)
{
	u32 nr = 0;
	u32 i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < FDS; i++)
		nr += !!table[i];
	pthread_mutex_unlock(&lock);
	return nr;
}

/* Of the door that has no exports. */
static void (*undo_other_fd)(s32 fd);

static void fd_undo(s32 fd)
{
	if (fd >= FIRST_FD)
		kvpt_export_close(fd);
	else
		undo_other_fd(fd);
}

const struct kvp_door *kvpt_export_door(const struct kvp_door *base)
{
	static struct kvp_door door;

	door = *base;
	undo_other_fd = base->fd_undo;
	door.export_give = export_give;
	door.fd_undo = fd_undo;
	door.export_take = export_take;
	return &door;
}

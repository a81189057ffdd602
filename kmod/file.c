// SPDX-License-Identifier: GPL-2.0-only
/*
 * An open file of the device is one client: from open() to the last close, or
 * to the end of its timelines mapping if that comes first. Owns struct
 * kvpool_file.
 *
 * The end of the client
 * ---------------------
 * kvpool_file.calls counts the calls in progress, and one for the client's life.
 * kvpool_kill() takes the latter back, after which no call begins; the last call
 * to end queues the work that closes the client. Where that runs nothing is
 * locked, and nothing waits for a call: one may be stuck in a page fault, and the
 * killer holds mmap_lock. At the last close there is no call; release() does the
 * work itself unless it is done, or being done.
 */
#include <linux/cred.h>
#include <linux/pid_namespace.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "device.h"

/* ---- who waits ------------------------------------------------------------- */

/* The pool has news: under its lock, and its queue's. As many as like may wait for a file. */
static int kvpool_wake(struct wait_queue_entry *entry, unsigned int mode, int sync, void *key)
{
	struct kvpool_file *kf = container_of(entry, struct kvpool_file, wake);

	queue_work(kvpool_works, &kf->news);
	return 0;
}

/* Which news it is, is for each who waits to ask: io_uring would take a key for the answer. */
static void kvpool_news(struct work_struct *work)
{
	wake_up_all(&container_of(work, struct kvpool_file, news)->wait);
}

/* From now on its pool wakes it, if it has one. Under wake_lock, in a call. */
static void kvpool_join(struct kvpool_file *kf)
{
	if (kf->pool_wait)
		return;
	kf->pool_wait = kvp_client_wait(kf->client);
	if (kf->pool_wait)
		add_wait_queue(kf->pool_wait, &kf->wake);
}

/* Somebody polls the file, and is in its queue by now. In a call. */
static void kvpool_watch(struct kvpool_file *kf)
{
	mutex_lock(&kf->wake_lock);
	kvpool_join(kf);
	mutex_unlock(&kf->wake_lock);
}

/* The client has got its pool. Who waits already has been told that there is none. In a call. */
static void kvpool_attached(struct kvpool_file *kf)
{
	mutex_lock(&kf->wake_lock);
	/* Who waits enters the queue first and then looks for a pool under this lock. */
	if (waitqueue_active(&kf->wait)) {
		kvpool_join(kf);
		wake_up_all(&kf->wait);
	}
	mutex_unlock(&kf->wake_lock);
}

/* ---- calls ----------------------------------------------------------------- */

/* May a call begin? Then kvpool_end() ends it, and the client stays until then. */
bool kvpool_begin(struct kvpool_file *kf)
{
	if (!refcount_inc_not_zero(&kf->calls))
		return false;
	if (!READ_ONCE(kf->dead))
		return true;
	kvpool_end(kf);
	return false;
}

void kvpool_end(struct kvpool_file *kf)
{
	if (refcount_dec_and_test(&kf->calls))
		queue_work(kvpool_works, &kf->death);
}

/* The client is dead. Any context; more than once is once. */
void kvpool_kill(struct kvpool_file *kf)
{
	if (!xchg(&kf->dead, true))
		kvpool_end(kf);
}

/* Best effort, as for any reason. */
static void kvpool_tell_dead(u64 addr)
{
	const u32 told[2] = { KVP_REASON_CLIENT_DEAD, 0 };
	u32 size;

	if (!kvpool_read(&size, addr, sizeof(size)) && size >= sizeof(struct kvp_head))
		kvpool_write(addr + offsetof(struct kvp_head, reason), told, sizeof(told));
}

/* One call, whoever calls. @len: 0, or what head.size must be. */
int kvpool_call(struct kvpool_file *kf, u32 nr, u64 addr, u32 len)
{
	int ret;

	if (!kvp_op_find(nr))
		return -ENOTTY;
	if (!kvpool_begin(kf)) {
		kvpool_tell_dead(addr);
		return -EOWNERDEAD;
	}
	ret = kvp_call(kf->client, nr, addr, len);
	if (nr == KVP_OP_POOL_ATTACH || nr == KVP_OP_POOL_CREATE)
		kvpool_attached(kf);
	kvpool_end(kf);
	return ret;
}

static long kvpool_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return kvpool_call(file->private_data, kvpool_op_nr(cmd), arg, 0);
}

/* ---- poll ------------------------------------------------------------------ */

static __poll_t kvpool_poll(struct file *file, struct poll_table_struct *table)
{
	struct kvpool_file *kf = file->private_data;
	__poll_t events = 0;
	u32 ready;

	poll_wait(file, &kf->wait, table);
	if (!kvpool_begin(kf))
		return EPOLLERR | EPOLLHUP;
	kvpool_watch(kf);
	ready = kvp_client_ready(kf->client);
	kvpool_end(kf);

	if (ready & (KVP_READY_EVENTS | KVP_READY_FENCE | KVP_READY_TICKET))
		events |= EPOLLIN | EPOLLRDNORM;
	if (ready & KVP_READY_GONE)
		events |= EPOLLHUP;
	if (ready & KVP_READY_NO_POOL)
		events |= EPOLLERR;
	return events;
}

/* ---- from open to the end --------------------------------------------------- */

/* No call is in progress and none will begin. */
static void kvpool_close_client(struct kvpool_file *kf)
{
	if (kf->pool_wait)
		remove_wait_queue(kf->pool_wait, &kf->wake);
	cancel_work_sync(&kf->news);
	kvp_client_close(kf->client);
	kf->client = NULL;
	wake_up_poll(&kf->wait, EPOLLERR | EPOLLHUP);
}

static void kvpool_death(struct work_struct *work)
{
	kvpool_close_client(container_of(work, struct kvpool_file, death));
}

/* Who opens the file, in the initial namespaces. */
static void kvpool_cred(struct file *file, struct kvp_cred *cred)
{
	*cred = (struct kvp_cred) {
		.uid = from_kuid(&init_user_ns, file->f_cred->fsuid),
		.gid = from_kgid(&init_user_ns, file->f_cred->fsgid),
		.pid = task_tgid_nr_ns(current, &init_pid_ns),
		.admin = file_ns_capable(file, &init_user_ns, CAP_SYS_ADMIN),
		.of = file->f_cred,	/* the client ends before its file */
	};
	cred->persist = cred->admin || kvpool_may_persist(cred);
	get_task_comm(cred->command, current->group_leader);
}

static int kvpool_open(struct inode *inode, struct file *file)
{
	const fmode_t both = FMODE_READ | FMODE_WRITE;
	struct kvpool_file *kf;
	struct kvp_cred cred;

	/* Whoever may only read the node is not to write through calls. */
	if ((file->f_mode & both) != both)
		return -EACCES;
	kf = kzalloc(sizeof(*kf), GFP_KERNEL_ACCOUNT);
	if (!kf)
		return -ENOMEM;
	kvpool_cred(file, &cred);
	kf->client = kvp_client_open(&kvpool_host, &kvpool_door, &cred);
	if (!kf->client) {
		kfree(kf);
		return -ENOMEM;
	}
	refcount_set(&kf->calls, 1);
	INIT_WORK(&kf->death, kvpool_death);
	INIT_WORK(&kf->news, kvpool_news);
	init_waitqueue_head(&kf->wait);
	init_waitqueue_func_entry(&kf->wake, kvpool_wake);
	mutex_init(&kf->wake_lock);
	file->private_data = kf;
	return nonseekable_open(inode, file);
}

static int kvpool_release(struct inode *inode, struct file *file)
{
	struct kvpool_file *kf = file->private_data;

	cancel_work_sync(&kf->death);
	if (kf->client)
		kvpool_close_client(kf);
	if (kf->timelines)
		put_page(kf->timelines);
	if (kf->counters)
		put_page(kf->counters);
	mutex_destroy(&kf->wake_lock);
	kfree(kf);
	return 0;
}

const struct file_operations kvpool_fops = {
	.owner = THIS_MODULE,
	.open = kvpool_open,
	.release = kvpool_release,
	.llseek = noop_llseek,
	.unlocked_ioctl = kvpool_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = kvpool_poll,
	.mmap = kvpool_mmap,
	.uring_cmd = kvpool_uring_cmd,
};

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mistakes that the kernel's semantic patches must tell: scripts/check-cocci reads this file
 * together with the module, and fails unless each line that names a rule is reported by it. It is
 * never compiled.
 */
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

struct planted {
	struct list_head list;
	spinlock_t lock;
	struct mutex mutex;
	struct file *file;
	int value;
};

void planted_double_lock(struct planted *p)
{
	mutex_lock(&p->mutex);	/* locks/double_lock */
	p->value++;
	mutex_lock(&p->mutex);
	mutex_unlock(&p->mutex);
}

int planted_missing_unlock(struct planted *p)
{
	spin_lock(&p->lock);
	if (p->value)
		return -EINVAL;	/* locks/mini_lock */
	spin_unlock(&p->lock);
	return 0;
}

static void *planted_allocate(void)
{
	return kmalloc(64, GFP_KERNEL);	/* locks/call_kern */
}

void *planted_sleep_under_lock(struct planted *p)
{
	void *more;

	spin_lock(&p->lock);
	more = planted_allocate();
	spin_unlock(&p->lock);
	return more;
}

unsigned long planted_nested_flags(struct planted *p, struct planted *q)
{
	unsigned long flags;

	spin_lock_irqsave(&p->lock, flags);
	spin_lock_irqsave(&q->lock, flags);	/* locks/flags */
	spin_unlock_irqrestore(&q->lock, flags);
	spin_unlock_irqrestore(&p->lock, flags);
	return flags;
}

int planted_use_after_free(struct planted *p)
{
	kfree(p);
	return p->value;	/* free/kfree */
}

void planted_if_before_free(struct planted *p)
{
	if (p)
		kfree(p);	/* free/ifnullfree */
}

int planted_null(struct planted *p)
{
	if (!p)
		return p->value;	/* null/deref_null */
	return 0;
}

int planted_unchecked(void)
{
	struct planted *p = kmalloc(sizeof(*p), GFP_KERNEL);

	if (IS_ERR(p))	/* null/eno */
		return PTR_ERR(p);
	kfree(p);
	return 0;
}

struct planted *planted_iterator(struct list_head *head)
{
	struct planted *p;

	list_for_each_entry(p, head, list) {
		if (p->value)
			break;
	}
	return p->value ? p : NULL;	/* iterators/use_after_iter */
}

void planted_free_in_list(struct list_head *head)
{
	struct planted *p;

	list_for_each_entry(p, head, list)
		if (p)	/* iterators/itnull */
			p->value = 0;
}

size_t planted_noderef(struct planted *p)
{
	return memcmp(p, p + 1, sizeof(p));	/* misc/noderef */
}

int planted_semicolon(struct planted *p)
{
	if (p->value) {
		p->value = 0;
	};	/* misc/semicolon */
	return 0;
}

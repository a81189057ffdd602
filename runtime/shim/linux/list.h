/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: doubly linked rings with a head.
 */
#ifndef KVP_SHIM_LIST_H
#define KVP_SHIM_LIST_H

#include <linux/container_of.h>
#include <linux/types.h>

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)

/* Never mapped: a use after list_del() faults. */
#define LIST_POISON1		((struct list_head *)0x100)
#define LIST_POISON2		((struct list_head *)0x122)

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list;
	list->prev = list;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void kvp_shim_list_join(struct list_head *prev, struct list_head *next)
{
	prev->next = next;
	next->prev = prev;
}

static inline void list_add(struct list_head *entry, struct list_head *head)
{
	kvp_shim_list_join(entry, head->next);
	kvp_shim_list_join(head, entry);
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	list_add(entry, head->prev);
}

static inline void list_del(struct list_head *entry)
{
	kvp_shim_list_join(entry->prev, entry->next);
	entry->next = LIST_POISON1;
	entry->prev = LIST_POISON2;
}

static inline void list_del_init(struct list_head *entry)
{
	kvp_shim_list_join(entry->prev, entry->next);
	INIT_LIST_HEAD(entry);
}

static inline void list_move(struct list_head *entry, struct list_head *head)
{
	list_del(entry);
	list_add(entry, head);
}

static inline void list_move_tail(struct list_head *entry, struct list_head *head)
{
	list_del(entry);
	list_add_tail(entry, head);
}

#define list_entry(ptr, type, member)	container_of(ptr, type, member)
#define list_first_entry(head, type, member) \
	list_entry((head)->next, type, member)
#define list_next_entry(pos, member) \
	list_entry((pos)->member.next, typeof(*(pos)), member)

#define list_for_each_entry(pos, head, member)				\
	for ((pos) = list_first_entry(head, typeof(*(pos)), member);	\
	     &(pos)->member != (head);					\
	     (pos) = list_next_entry(pos, member))

/* @pos may be deleted in the loop. */
#define list_for_each_entry_safe(pos, n, head, member)			\
	for ((pos) = list_first_entry(head, typeof(*(pos)), member),	\
	     (n) = list_next_entry(pos, member);			\
	     &(pos)->member != (head);					\
	     (pos) = (n), (n) = list_next_entry(n, member))

#endif /* KVP_SHIM_LIST_H */

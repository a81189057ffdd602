/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: from a member to what it is a member of.
 */
#ifndef KVP_SHIM_CONTAINER_OF_H
#define KVP_SHIM_CONTAINER_OF_H

#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>

#define container_of(ptr, type, member) ({				\
	void *__member = (void *)(ptr);					\
	_Static_assert(__builtin_types_compatible_p(typeof(*(ptr)),	\
						    typeof(((type *)0)->member)) || \
		       __builtin_types_compatible_p(typeof(*(ptr)), void), \
		       "container_of: wrong type of pointer");		\
	(type *)((char *)__member - offsetof(type, member)); })

#endif /* KVP_SHIM_CONTAINER_OF_H */

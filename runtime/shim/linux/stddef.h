/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: sizes and places of members.
 */
#ifndef KVP_SHIM_STDDEF_H
#define KVP_SHIM_STDDEF_H

#include_next <linux/stddef.h>

#include <stddef.h>

#define sizeof_field(type, member) sizeof(((type *)0)->member)
#define offsetofend(type, member) \
	(offsetof(type, member) + sizeof_field(type, member))

#endif /* KVP_SHIM_STDDEF_H */

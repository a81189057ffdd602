/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: the same numbers.
 */
#ifndef KVP_SHIM_ERRNO_H
#define KVP_SHIM_ERRNO_H

#include_next <linux/errno.h>

#endif /* KVP_SHIM_ERRNO_H */

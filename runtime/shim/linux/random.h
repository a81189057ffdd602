/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: bytes that nobody can guess.
 */
#ifndef KVP_SHIM_RANDOM_H
#define KVP_SHIM_RANDOM_H

#include <linux/types.h>

void get_random_bytes(void *buf, size_t len);

#endif /* KVP_SHIM_RANDOM_H */

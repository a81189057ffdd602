/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Twin of the kernel's: a process keeps no secrets from itself. */
#ifndef KVP_SHIM_NOSPEC_H
#define KVP_SHIM_NOSPEC_H

#define array_index_nospec(index, size)	(index)

#endif /* KVP_SHIM_NOSPEC_H */

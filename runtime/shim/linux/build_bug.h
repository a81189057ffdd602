/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: checks while compiling.
 */
#ifndef KVP_SHIM_BUILD_BUG_H
#define KVP_SHIM_BUILD_BUG_H

#define BUILD_BUG_ON(cond) _Static_assert(!(cond), "BUILD_BUG_ON: " #cond)

#undef static_assert
#define static_assert(expr, ...) \
	KVP_SHIM_STATIC_ASSERT(expr, ##__VA_ARGS__, #expr)
#define KVP_SHIM_STATIC_ASSERT(expr, message, ...) \
	_Static_assert(expr, message)

#endif /* KVP_SHIM_BUILD_BUG_H */

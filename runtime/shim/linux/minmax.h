/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: each argument evaluated once, types must agree.
 */
#ifndef KVP_SHIM_MINMAX_H
#define KVP_SHIM_MINMAX_H

#define KVP_SHIM_CHOOSE(x, y, op) ({					\
	typeof(x) __x = (x);						\
	typeof(y) __y = (y);						\
	(void)(&__x == &__y);						\
	__x op __y ? __x : __y; })

#define KVP_SHIM_CHOOSE_T(type, x, y, op) ({				\
	type __tx = (x);						\
	type __ty = (y);						\
	__tx op __ty ? __tx : __ty; })

#define min(x, y)		KVP_SHIM_CHOOSE(x, y, <)
#define max(x, y)		KVP_SHIM_CHOOSE(x, y, >)
#define min3(x, y, z)		min((__typeof__(x))min(x, y), z)
#define min_t(type, x, y)	KVP_SHIM_CHOOSE_T(type, x, y, <)
#define max_t(type, x, y)	KVP_SHIM_CHOOSE_T(type, x, y, >)

#endif /* KVP_SHIM_MINMAX_H */

/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Twin of the kernel's: what is done in one step.
 */
#ifndef KVP_SHIM_ATOMIC_H
#define KVP_SHIM_ATOMIC_H

/* The value found; @new_ is there afterwards if that was @old_. Orders, as the kernel's. */
#define cmpxchg(ptr_, old_, new_) ({					\
	__typeof__(*(ptr_)) found_ = (old_);				\
									\
	__atomic_compare_exchange_n((ptr_), &found_, (new_), false,	\
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	found_;								\
})

#endif /* KVP_SHIM_ATOMIC_H */

/* SPDX-License-Identifier: MIT */
/*
 * Where calls are put whose memory is not as it should be (memory.c).
 */
#ifndef KVP_MALFORMED_MEMORY_H
#define KVP_MALFORMED_MEMORY_H

#include "malformed.h"

#define MF_SPLIT	(64 << 10)	/* bytes beside an edge or hole, and read-only */

/* The last @there bytes, at most MF_SPLIT, before the memory ends; before the page that is none. */
__u8 *mf_before_edge(__u32 there);
__u8 *mf_before_hole(__u32 there);
/* @len bytes, at most MF_SPLIT, as a place that cannot be written. */
__u8 *mf_readonly(const void *from, __u32 len);
/* For the places that are an address only. */
__u64 mf_bad_address(enum mf_place place);
void mf_wide_clear(void);

#endif /* KVP_MALFORMED_MEMORY_H */

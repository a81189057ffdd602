/* SPDX-License-Identifier: MIT */
/*
 * Random numbers that are the same for a seed on every machine.
 */
#ifndef KVPT_RANDOM_H
#define KVPT_RANDOM_H

#include <linux/types.h>

static inline __u64 kvpt_random(__u64 *state)
{
	__u64 value = *state += 0x9e3779b97f4a7c15ULL;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
	return value ^ value >> 31;
}

/* 0..@n-1 */
static inline __u32 kvpt_below(__u64 *state, __u32 n)
{
	return (kvpt_random(state) >> 32) * n >> 32;
}

#endif /* KVPT_RANDOM_H */

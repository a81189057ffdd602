/* SPDX-License-Identifier: MIT */
/*
 * A door like a kernel's: arrays are copies that exist from mapping to putting, and every
 * access can fail.
 */
#ifndef KVPT_COPYDOOR_H
#define KVPT_COPYDOOR_H

#include "core.h"

/**
 * struct kvpt_copydoor - what the door of this program does and has seen
 * @fail_read: the how manieth read from now fails with EFAULT, 0: none; so the next two
 * @fail_write: write of a struct
 * @fail_put: array brought to the caller
 * @map_error: what mapping an array gives, 0: the array
 * @reads: reads so far
 * @writes: writes so far
 * @mapped: arrays in use now
 * @maps: arrays mapped so far
 * @hook: called at every access, if set
 */
struct kvpt_copydoor {
	int fail_read;
	int fail_write;
	int fail_put;
	int map_error;
	int reads;
	int writes;
	int mapped;
	int maps;
	void (*hook)(void);
};

extern struct kvpt_copydoor kvpt_copydoor;
extern const struct kvp_door kvpt_copying_door;

#endif /* KVPT_COPYDOOR_H */

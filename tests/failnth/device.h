/* SPDX-License-Identifier: MIT */
/*
 * What the files of the sweep on the device share.
 */
#ifndef KVP_FAILNTH_DEVICE_H
#define KVP_FAILNTH_DEVICE_H

#include "failnth.h"

/* ---- the kernel's faults (fault_device.c) ---- */

/* Have allocations and copies of this thread fail when asked for; false: this kernel cannot. */
bool fn_fault_begin(void);
/* In its place: nothing is to fail. */
void fn_fault_none(void);
/* The @nth point from now fails; 0: none. Only system calls come until the next one. */
void fn_fault_arm(u32 nth);
/* No more; whether it did. */
bool fn_fault_disarm(u32 nth);

/* ---- doors (door_device.c) ---- */

extern const struct fn_door fn_ioctl_door, fn_uring_door;
void fn_device_resources(char text[64]);

/* ---- system calls that are no operation (system_device.c) ---- */

void fn_system_sweep(const char *only, struct fn_counts *total);

#endif /* KVP_FAILNTH_DEVICE_H */

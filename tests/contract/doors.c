// SPDX-License-Identifier: MIT
/*
 * The doors of the 64-bit program: all there are.
 */
#include "contract.h"

extern const struct ct_door ct_inproc_door, ct_copy_door, ct_failing_door, ct_ioctl_door,
	ct_uring_door, ct_async_door, ct_sqpoll_door, ct_fixed_door;

const struct ct_door *const ct_doors[] = {
	&ct_inproc_door, &ct_copy_door, &ct_failing_door, &ct_ioctl_door, &ct_uring_door,
	&ct_async_door, &ct_sqpoll_door, &ct_fixed_door, NULL,
};

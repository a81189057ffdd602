// SPDX-License-Identifier: MIT
/*
 * The doors of the 32-bit program, which has neither the core nor liburing in it.
 */
#include "contract.h"

extern const struct ct_door ct_ioctl_door;

const struct ct_door *const ct_doors[] = { &ct_ioctl_door, NULL };

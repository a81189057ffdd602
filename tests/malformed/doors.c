// SPDX-License-Identifier: MIT
/*
 * The doors of the 64-bit program.
 */
#include "malformed.h"

extern const struct mf_door mf_native_door, mf_device_door;

const struct mf_door *const mf_doors[] = { &mf_native_door, &mf_device_door, NULL };

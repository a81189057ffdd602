/* SPDX-License-Identifier: MIT */
/*
 * Exports for a door that has none: descriptors are places in a table. Any number of threads.
 */
#ifndef KVPT_EXPORTDOOR_H
#define KVPT_EXPORTDOOR_H

#include "core.h"

/* The door @base with exports. One door at a time in a program. */
const struct kvp_door *kvpt_export_door(const struct kvp_door *base);

/* What making a descriptor gives, 0: the descriptor. */
extern int kvpt_export_give_error;

/* One descriptor more of the same file, and one less: the last one ends the export. */
s32 kvpt_export_dup(s32 fd);
void kvpt_export_close(s32 fd);

/* Descriptors that are open. */
u32 kvpt_exports_open(void);

#endif /* KVPT_EXPORTDOOR_H */

/* SPDX-License-Identifier: MIT */
/*
 * A router's mirror of what is published in a pool: made from events alone, or begun from a dump,
 * and compared with what the pool says.
 *
 * Include <check.h> first to have failures reported by Check.
 */
#ifndef KVPT_MIRROR_H
#define KVPT_MIRROR_H

#include "harness.h"

/**
 * struct kvpt_mirror - nodes by the index of the block that names them
 * @entry: by index; block KVP_BLOCK_NULL: there is none
 * @nr_blocks: how many
 * @family: family that events name
 * @cursor: next event
 * @from_dump: begun from a dump, which events may repeat; else each of them must fit
 * @unique_tags: the publisher gives equal tags to equal contents, and to no others
 * @nr_stored: STORED seen
 * @nr_removed: REMOVED seen
 * @nr_resyncs: times it began anew
 */
struct kvpt_mirror {
	struct kvp_event *entry;
	u64 nr_blocks;
	u32 family;
	u64 cursor;
	bool from_dump;
	bool unique_tags;
	u64 nr_stored;
	u64 nr_removed;
	u64 nr_resyncs;
};

/* Follow events from now on; of what is published already nothing is known. */
void kvpt_mirror_init(struct kvpt_mirror *mirror, struct kvp_client *client, u32 family);
void kvpt_mirror_exit(struct kvpt_mirror *mirror);

/* Take in all events that there are; begin anew from a dump if some were lost. */
void kvpt_mirror_read(struct kvpt_mirror *mirror, struct kvp_client *client);
/* Begin anew from a dump. */
void kvpt_mirror_resync(struct kvpt_mirror *mirror, struct kvp_client *client);

/* Whether the block names a node of the mirror that a match can walk to. */
bool kvpt_mirror_has(const struct kvpt_mirror *mirror, u64 block);
/* How many do. */
u64 kvpt_mirror_nr(const struct kvpt_mirror *mirror);

/*
 * The first difference to what the pool's dump shows in words (static text of the thread), or
 * NULL. Nobody else may be at work, and all events must have been read.
 */
const char *kvpt_mirror_diff(const struct kvpt_mirror *mirror, struct kvp_client *client);

#endif /* KVPT_MIRROR_H */

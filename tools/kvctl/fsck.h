/* SPDX-License-Identifier: MIT */
/*
 * The audit of a pool, as every verb runs and reports it.
 */
#ifndef KVCTL_FSCK_H
#define KVCTL_FSCK_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include <kvpool.h>

#define KVCTL_FSCK_SHOWN	64	/* findings that are reported in full */
#define KVCTL_FSCK_KINDS	(KVP_FINDING_FENCE + 1)

/**
 * struct kvctl_fsck - what an audit found
 * @total: findings; 0 is a sound pool
 * @blocks: blocks recounted
 * @nodes: index nodes recounted
 * @kinds: findings by enum kvp_finding_kind; of unknown kinds at 0, where those beyond what the
 *         pool could tell are counted too
 * @nr_shown: elements of @shown
 * @shown: the first findings
 */
struct kvctl_fsck {
	uint64_t total;
	uint64_t blocks;
	uint64_t nodes;
	uint64_t kinds[KVCTL_FSCK_KINDS];
	uint32_t nr_shown;
	struct kvp_finding shown[KVCTL_FSCK_SHOWN];
};

/* Recount everything in @pool; needs ADMIN. 0 or a negative errno, see kvp_error(). */
int kvctl_fsck_run(struct kvp_pool *pool, struct kvctl_fsck *fsck);

/* One line if all is well, else one more for each finding. */
void kvctl_fsck_print(const struct kvctl_fsck *fsck, FILE *out);

/* {"ok", "findings", ...}, a new reference, or NULL: no memory. */
json_t *kvctl_fsck_json(const struct kvctl_fsck *fsck);

#define KVCTL_FINDING_LEN	200

/* "count", "tree", ...; "unknown". */
const char *kvctl_finding_name(uint32_t kind);

/* What was found where, for people, in @buf; returns @buf. */
const char *kvctl_finding_words(const struct kvp_finding *finding, char buf[KVCTL_FINDING_LEN]);

#endif /* KVCTL_FSCK_H */

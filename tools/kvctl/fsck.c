// SPDX-License-Identifier: MIT
/*
 * Runs the audit of a pool and says what it found. No state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fsck.h"
#include "json.h"
#include "kvctl.h"

#define NO_FAMILY	(~0U)
#define ROOM		4096	/* findings that are counted by kind */

int kvctl_fsck_run(struct kvp_pool *pool, struct kvctl_fsck *fsck)
{
	struct kvp_finding *findings = calloc(ROOM, sizeof(*findings));
	struct kvp_audit audit;
	uint32_t kind, i;
	int err = -ENOMEM;

	memset(fsck, 0, sizeof(*fsck));
	if (findings)
		err = kvp_pool_audit_all(pool, findings, ROOM, &audit);
	if (err) {
		free(findings);
		return err;
	}
	fsck->total = audit.total;
	fsck->blocks = audit.checked_blocks;
	fsck->nodes = audit.checked_nodes;
	fsck->kinds[0] = audit.total - audit.nr_findings;
	for (i = 0; i < audit.nr_findings; i++) {
		kind = findings[i].kind;
		fsck->kinds[kind < KVCTL_FSCK_KINDS ? kind : 0]++;
		if (i < KVCTL_FSCK_SHOWN)
			fsck->shown[fsck->nr_shown++] = findings[i];
	}
	free(findings);
	return 0;
}

void kvctl_fsck_print(const struct kvctl_fsck *fsck, FILE *out)
{
	char blocks[KVCTL_GROUPED_LEN], nodes[KVCTL_GROUPED_LEN], total[KVCTL_GROUPED_LEN];
	char words[KVCTL_FINDING_LEN];
	uint32_t i;

	kvctl_grouped(fsck->blocks, blocks);
	kvctl_grouped(fsck->nodes, nodes);
	if (!fsck->total) {
		fprintf(out, "clean: %s blocks and %s index nodes recounted, nothing found\n",
			blocks, nodes);
		return;
	}
	fprintf(out, "NOT CLEAN: %s blocks and %s index nodes recounted, %s finding%s\n", blocks,
		nodes, kvctl_grouped(fsck->total, total), fsck->total == 1 ? "" : "s");
	for (i = 0; i < fsck->nr_shown; i++)
		fprintf(out, "  %-8s %s\n", kvctl_finding_name(fsck->shown[i].kind),
			kvctl_finding_words(&fsck->shown[i], words));
	if (fsck->total > fsck->nr_shown)
		fprintf(out, "  and %llu more\n",
			(unsigned long long)(fsck->total - fsck->nr_shown));
}

static json_t *finding_json(const struct kvp_finding *finding)
{
	char words[KVCTL_FINDING_LEN];
	json_t *object = json_pack("{s:s, s:o, s:o, s:o, s:s}",
				   "kind", kvctl_finding_name(finding->kind),
				   "id", kvctl_json_u64(finding->id),
				   "found", kvctl_json_u64(finding->found),
				   "expected", kvctl_json_u64(finding->expected),
				   "words", kvctl_finding_words(finding, words));

	if (finding->family != NO_FAMILY)
		kvctl_json_set(&object, "family", json_integer(finding->family));
	return object;
}

json_t *kvctl_fsck_json(const struct kvctl_fsck *fsck)
{
	json_t *findings = json_array();
	uint32_t i;

	for (i = 0; i < fsck->nr_shown; i++)
		kvctl_json_append(&findings, finding_json(&fsck->shown[i]));
	return json_pack("{s:b, s:o, s:I, s:I, s:I}",
			 "ok", !fsck->total,
			 "findings", findings,
			 "total_findings", (json_int_t)fsck->total,
			 "checked_blocks", (json_int_t)fsck->blocks,
			 "checked_nodes", (json_int_t)fsck->nodes);
}

// SPDX-License-Identifier: MIT
/*
 * Runs the audit of a pool and says what it found. No state.
 */
#include <string.h>

#include "fsck.h"
#include "kvctl.h"

#define NO_FAMILY	(~0U)

static const char *finding_name(uint32_t kind)
{
	static const char *const names[] = {
		[KVP_FINDING_SUM] = "sum",
		[KVP_FINDING_STATE] = "state",
		[KVP_FINDING_COUNT] = "count",
		[KVP_FINDING_LIST] = "list",
		[KVP_FINDING_NODE] = "node",
		[KVP_FINDING_TREE] = "tree",
		[KVP_FINDING_CONTENT] = "content",
		[KVP_FINDING_CHARGE] = "charge",
		[KVP_FINDING_SEQ] = "seq",
		[KVP_FINDING_EXTRA] = "extra",
	};

	if (kind >= sizeof(names) / sizeof(names[0]) || !names[kind])
		return "unknown";
	return names[kind];
}

int kvctl_fsck_run(struct kvp_pool *pool, struct kvctl_fsck *fsck)
{
	struct kvp_audit audit;
	int err;

	memset(fsck, 0, sizeof(*fsck));
	memset(&audit, 0, sizeof(audit));
	audit.findings = (uint64_t)(uintptr_t)fsck->shown;
	audit.nr_findings = KVCTL_FSCK_SHOWN;
	err = kvp_pool_call(pool, KVP_OP_AUDIT, &audit, sizeof(audit));
	if (err)
		return err;
	fsck->total = audit.total;
	fsck->blocks = audit.checked_blocks;
	fsck->nodes = audit.checked_nodes;
	fsck->nr_shown = audit.nr_findings;
	return 0;
}

void kvctl_fsck_print(const struct kvctl_fsck *fsck, FILE *out)
{
	char blocks[KVCTL_GROUPED_LEN], nodes[KVCTL_GROUPED_LEN], total[KVCTL_GROUPED_LEN];
	const struct kvp_finding *finding;
	uint32_t i;

	kvctl_grouped(fsck->blocks, blocks);
	kvctl_grouped(fsck->nodes, nodes);
	if (!fsck->total) {
		fprintf(out, "clean: %s blocks and %s index nodes recounted, nothing found\n",
			blocks, nodes);
		return;
	}
	fprintf(out, "NOT CLEAN: %s blocks and %s index nodes recounted, %s findings\n", blocks,
		nodes, kvctl_grouped(fsck->total, total));
	for (i = 0; i < fsck->nr_shown; i++) {
		finding = &fsck->shown[i];
		fprintf(out, "  %-8s ", finding_name(finding->kind));
		if (finding->family != NO_FAMILY)
			fprintf(out, "family %u ", finding->family);
		fprintf(out, "id %llu: found %llu, expected %llu\n",
			(unsigned long long)finding->id, (unsigned long long)finding->found,
			(unsigned long long)finding->expected);
	}
	if (fsck->total > fsck->nr_shown)
		fprintf(out, "  and %llu more\n",
			(unsigned long long)(fsck->total - fsck->nr_shown));
}

static json_t *finding_json(const struct kvp_finding *finding)
{
	json_t *object = json_pack("{s:s, s:I, s:I, s:I}",
				   "kind", finding_name(finding->kind),
				   "id", (json_int_t)finding->id,
				   "found", (json_int_t)finding->found,
				   "expected", (json_int_t)finding->expected);

	if (object && finding->family != NO_FAMILY)
		json_object_set_new(object, "family", json_integer(finding->family));
	return object;
}

json_t *kvctl_fsck_json(const struct kvctl_fsck *fsck)
{
	json_t *findings = json_array();
	uint32_t i;

	for (i = 0; i < fsck->nr_shown; i++)
		json_array_append_new(findings, finding_json(&fsck->shown[i]));
	return json_pack("{s:b, s:o, s:I, s:I, s:I}",
			 "ok", !fsck->total,
			 "findings", findings,
			 "total_findings", (json_int_t)fsck->total,
			 "checked_blocks", (json_int_t)fsck->blocks,
			 "checked_nodes", (json_int_t)fsck->nodes);
}

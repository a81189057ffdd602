// SPDX-License-Identifier: MIT
/*
 * Findings of the audit in words. Constant.
 */
#include "fsck.h"
#include "view.h"

#define NO_FAMILY	(~0U)
#define NONE		0xffffffffULL	/* how the pool writes "no index" */

const char *kvctl_finding_name(uint32_t kind)
{
	static const char *const names[KVCTL_FSCK_KINDS] = {
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
		[KVP_FINDING_USER] = "user",
		[KVP_FINDING_FENCE] = "fence",
	};

	return kind < KVCTL_FSCK_KINDS && names[kind] ? names[kind] : "unknown";
}

/* A client, or all of them where @id is 0, and the family, in @buf. */
static void client_subject(const struct kvp_finding *finding, char *buf, size_t len)
{
	unsigned long long id = finding->id;
	char family[32] = "";

	if (finding->family != NO_FAMILY)
		snprintf(family, sizeof(family), ", family %u", finding->family);
	if (id)
		snprintf(buf, len, "client %llu%s", id, family);
	else
		snprintf(buf, len, "all clients%s", family);
}

/* What the finding is about, in @buf. */
static void subject(const struct kvp_finding *finding, char *buf, size_t len)
{
	unsigned long long id = finding->id;
	const char *of = "";

	switch (finding->kind) {
	case KVP_FINDING_SUM:
		snprintf(buf, len, "family %u", finding->family);
		return;
	case KVP_FINDING_STATE:
		if (finding->family == NO_FAMILY)
			snprintf(buf, len, "index, nodes of state %llu", id);
		else
			snprintf(buf, len, "family %u, blocks that are %s", finding->family,
				 id < KVP_BLOCK_STATES ? kvctl_state_name((uint32_t)id)
						       : "published or promised");
		return;
	case KVP_FINDING_COUNT:
		snprintf(buf, len, "block %llu of family %u", id, finding->family);
		return;
	case KVP_FINDING_LIST:
	case KVP_FINDING_TREE:
		of = finding->kind == KVP_FINDING_TREE ? " or node" : "";
		if (finding->family == NO_FAMILY)
			snprintf(buf, len, "node %llu", id);
		else
			snprintf(buf, len, "block%s %llu of family %u", of, id,
				 finding->family);
		return;
	case KVP_FINDING_CHARGE:
		if (finding->family == NO_FAMILY)
			client_subject(finding, buf, len);
		else if (id)
			snprintf(buf, len, "client or block %llu, family %u", id,
				 finding->family);
		else
			snprintf(buf, len, "all clients or block 0, family %u",
				 finding->family);
		return;
	case KVP_FINDING_FENCE:
		client_subject(finding, buf, len);
		return;
	case KVP_FINDING_USER:
		snprintf(buf, len, "uid %llu", id);
		return;
	case KVP_FINDING_SEQ:
		if (finding->family == NO_FAMILY)
			snprintf(buf, len, "sequence %llu", id);
		else
			snprintf(buf, len, "sequence %llu, family %u", id, finding->family);
		return;
	case KVP_FINDING_EXTRA:
		snprintf(buf, len, id == NONE ? "all digests" : "digest %llu", id);
		return;
	case KVP_FINDING_NODE:
	case KVP_FINDING_CONTENT:
		snprintf(buf, len, "node %llu", id);
		return;
	default:
		snprintf(buf, len, "id %llu", id);
	}
}

/* What is wrong with it. */
static const char *complaint(uint32_t kind)
{
	static const char *const words[KVCTL_FSCK_KINDS] = {
		[0] = "something that this kvctl has no word for",
		[KVP_FINDING_SUM] = "the states do not add up to the blocks that there are",
		[KVP_FINDING_STATE] = "the counter is not the recount",
		[KVP_FINDING_COUNT] = "the count is not what tables and raw references add up to",
		[KVP_FINDING_LIST] = "in the wrong state, or on a list where it does not belong",
		[KVP_FINDING_NODE] = "its uses, references or held blocks are not the recount",
		[KVP_FINDING_TREE] = "a link in the index is broken",
		[KVP_FINDING_CONTENT] = "the hash or length is not that of the contents",
		[KVP_FINDING_CHARGE] = "what is charged is not the recount",
		[KVP_FINDING_SEQ] = "tables, lengths and nodes disagree",
		[KVP_FINDING_EXTRA] = "the uses of digests are not the recount",
		[KVP_FINDING_USER] = "what the clients of a uid have together is not the recount",
		[KVP_FINDING_FENCE] = "what waits for fences or blocks is not the recount",
	};

	return words[kind < KVCTL_FSCK_KINDS ? kind : 0];
}

const char *kvctl_finding_words(const struct kvp_finding *finding, char buf[KVCTL_FINDING_LEN])
{
	char what[80];

	subject(finding, what, sizeof(what));
	snprintf(buf, KVCTL_FINDING_LEN, "%s: %s: found %llu, expected %llu", what,
		 complaint(finding->kind), (unsigned long long)finding->found,
		 (unsigned long long)finding->expected);
	return buf;
}

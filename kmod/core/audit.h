/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the files of the audit share: its recounts and its findings. All of it
 * belongs to the one audit that keeps the pool's gate for writing.
 */
#ifndef KVP_AUDIT_H
#define KVP_AUDIT_H

#include "core.h"

/* What one account, or user, has, recounted. */
struct kvp_audit_account {
	bool attached;
	bool dead;
	u32 nr_fenced;
	u64 charged[KVP_MAX_FAMILIES];
	u64 held_back[KVP_MAX_FAMILIES];
	u64 reserve[KVP_MAX_FAMILIES];
	u64 has[KVP_NR_THINGS];
};

/* Where a node was met (kvp_audit_run.mark). */
#define KVP_MET_FREE	(1U << 0)	/* on the free list */
#define KVP_MET_TREE	(1U << 1)	/* among the children of a node, or of the dead */
#define KVP_MET_DEAD	(1U << 2)	/* on the list of the dead */
#define KVP_MET_HASH	(1U << 3)	/* in its bucket */
#define KVP_MET_LRU	(1U << 4)	/* on the lru list */

/**
 * struct kvp_audit_run - one audit
 * @pool: what is audited
 * @findings: the caller's array, or NULL
 * @room: how many it takes
 * @steps: things looked at, to let others have the processor now and then
 * @total: findings
 * @account: by slot
 * @user: by slot
 * @count: references on the blocks of the family that is being recounted
 * @held_back: of these that wait for fences only
 * @listed: on which list they are, KVP_LISTED_*
 * @uses: by node
 * @refs: by node
 * @mark: by node, KVP_MET_*
 * @digest: nodes that name a digest, by digest
 * @digest_listed: which digests are on the free list
 */
struct kvp_audit_run {
	struct kvp_pool *pool;
	struct kvp_finding *findings;
	u32 room;
	u32 steps;
	u64 total;
	struct kvp_audit_account *account;
	struct kvp_audit_account *user;
	u32 *count;
	u32 *held_back;
	u8 *listed;
	u32 *uses;
	u32 *refs;
	u8 *mark;
	u32 *digest;
	u8 *digest_listed;
};

#define KVP_LISTED_FREE		1	/* the free list of its family */
#define KVP_LISTED_RESERVE	2	/* what an admission took, and nobody has used */

#define KVP_NO_FAMILY	(~0U)

/* audit.c */
void kvp_audit_add(struct kvp_audit_run *run, enum kvp_finding_kind kind, u32 family, u64 id,
		   u64 found, u64 expected);

/* audit_seq.c */
void kvp_audit_clients(struct kvp_audit_run *run);
void kvp_audit_count_blocks(struct kvp_audit_run *run, u32 family);

void kvp_audit_count(struct kvp_audit_run *run, u32 family, u32 index, u32 nr, bool held_back,
		     u64 holder);
void kvp_audit_seq_blocks(struct kvp_audit_run *run, struct kvp_seq *seq, u32 family);
void kvp_audit_seq(struct kvp_audit_run *run, struct kvp_seq *seq, u32 family);

/* audit_fence.c */
void kvp_audit_count_held_back(struct kvp_audit_run *run, u32 family);
void kvp_audit_fenced(struct kvp_audit_run *run);
void kvp_audit_waits(struct kvp_audit_run *run);
void kvp_audit_reserves(struct kvp_audit_run *run, u32 family);
void kvp_audit_tickets(struct kvp_audit_run *run, const struct kvp_client *client);
void kvp_audit_queue(struct kvp_audit_run *run);

/* audit_tree.c */
void kvp_audit_index(struct kvp_audit_run *run);

static inline void kvp_audit_equal(struct kvp_audit_run *run, enum kvp_finding_kind kind,
				   u32 family, u64 id, u64 found, u64 expected)
{
	if (found != expected)
		kvp_audit_add(run, kind, family, id, found, expected);
}

/* One more thing was looked at. */
static inline void kvp_audit_step(struct kvp_audit_run *run)
{
	if (!(++run->steps % 1024))
		cond_resched();
}

#endif /* KVP_AUDIT_H */

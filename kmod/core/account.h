/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Who is charged, and for what: accounts of clients, the users that they add up to, and limits.
 * To be included through core.h. All of it is under kvp_pool.lock.
 */
#ifndef KVP_ACCOUNT_H
#define KVP_ACCOUNT_H

struct kvp_client;
struct kvp_export;

/**
 * enum kvp_thing - what clients and users have beside blocks, and what limits count
 * @KVP_SLOTS: slots in the tables of sequences
 * @KVP_SEQS: sequences
 * @KVP_RAW: raw references
 * @KVP_MATCHES: open matches
 * @KVP_METADATA: bytes of objects
 * @KVP_EXPORTS: open exports: of a client, those it made; an export has itself
 * @KVP_BACKINGS: backing descriptors
 * @KVP_TICKETS: tickets
 * @KVP_ZOMBIES: sequences that were freed and wait for fences; no limit, as the next
 * @KVP_USES: open uses
 * @KVP_NR_THINGS: how many kinds there are
 *
 * Those with a limit first, in the order of the bits KVP_LIMIT_SLOTS, ...
 */
enum kvp_thing {
	KVP_SLOTS = 0,
	KVP_SEQS,
	KVP_RAW,
	KVP_MATCHES,
	KVP_METADATA,
	KVP_EXPORTS,
	KVP_BACKINGS,
	KVP_TICKETS,
	KVP_ZOMBIES,
	KVP_USES,
	KVP_NR_THINGS,
};

/**
 * struct kvp_limits - what a client or user may have; KVP_UNLIMITED is no limit
 * @blocks: charged blocks by family
 * @guarantee: blocks by family that others leave to the client
 * @max: by enum kvp_thing
 */
struct kvp_limits {
	u64 blocks[KVP_MAX_FAMILIES];
	u64 guarantee[KVP_MAX_FAMILIES];
	u64 max[KVP_NR_THINGS];
};

/**
 * struct kvp_user - what all clients of one uid have together
 * @uid: the uid
 * @slot: its place in kvp_pool.user
 * @nr_accounts: accounts that name it
 * @own_limits: @limits are its own; else kvp_pool.user_limits are
 * @limits: see there
 * @charged: blocks by family
 * @has: by enum kvp_thing
 *
 * All under kvp_pool.lock.
 */
struct kvp_user {
	u32 uid;
	u32 slot;
	u32 nr_accounts;
	bool own_limits;
	struct kvp_limits limits;
	u64 charged[KVP_MAX_FAMILIES];
	u64 has[KVP_NR_THINGS];
};

/**
 * struct kvp_account - what is charged to one client; outlives it while blocks
 * that others hold are still charged to it
 * @client: id of the client (never reused)
 * @live: the client is attached
 * @rights: KVP_RIGHT_* of the client, for lists; set when it attaches, as the next four
 * @pid: of the client's credentials, for lists
 * @command: the same
 * @stamp: when it attached, ns
 * @user: of its uid
 * @export: the export that is this client, or NULL
 * @dead: the client, if it died and something of its waits for fences; else NULL
 * @charged: blocks by family
 * @held_back: of these in state HELD_BACK
 * @reserve: of these in its reserve, or in granted tickets
 * @backwards: values of its timelines that were smaller than before
 * @jumps: values beyond what was announced
 * @limits: see there
 * @has: by enum kvp_thing
 *
 * All under kvp_pool.lock.
 */
struct kvp_account {
	u64 client;
	bool live;
	u32 rights;
	u32 pid;
	char command[KVP_COMMAND_LEN];
	u64 stamp;
	struct kvp_user *user;
	struct kvp_export *export;
	struct kvp_client *dead;
	u64 charged[KVP_MAX_FAMILIES];
	u64 held_back[KVP_MAX_FAMILIES];
	u64 reserve[KVP_MAX_FAMILIES];
	u64 backwards;
	u64 jumps;
	struct kvp_limits limits;
	u64 has[KVP_NR_THINGS];
};

#endif /* KVP_ACCOUNT_H */

// SPDX-License-Identifier: MIT
/*
 * The limits that there are. Constant.
 */
#include <kvpool.h>

#include "limit.h"

#define OF_FAMILY(word, words, mask, member) \
	{ word, words, mask, offsetof(struct kvp_limit, member), true, 0 }
#define OF_ALL(word, words, mask, member) \
	{ word, words, mask, offsetof(struct kvp_limit, member), false, \
	  offsetof(struct kvp_stats, member) }

const struct kvctl_limit_word kvctl_limit_words[KVCTL_LIMIT_WORDS] = {
	OF_FAMILY("blocks", "blocks", KVP_LIMIT_BLOCKS, blocks),
	OF_FAMILY("guarantee", "blocks guaranteed", KVP_LIMIT_GUARANTEE, guarantee),
	OF_ALL("slots", "slots in tables", KVP_LIMIT_SLOTS, slots),
	OF_ALL("seqs", "sequences", KVP_LIMIT_SEQS, seqs),
	OF_ALL("raw", "raw references", KVP_LIMIT_RAW, raw),
	OF_ALL("matches", "open matches", KVP_LIMIT_MATCHES, matches),
	OF_ALL("metadata", "bytes of metadata", KVP_LIMIT_METADATA, metadata_bytes),
	OF_ALL("exports", "open exports", KVP_LIMIT_EXPORTS, exports),
	OF_ALL("backings", "backing descriptors", KVP_LIMIT_BACKINGS, backings),
	OF_ALL("tickets", "open tickets", KVP_LIMIT_TICKETS, tickets),
};

const char *kvctl_limited_name(enum kvctl_limited_kind kind)
{
	static const char *const names[] = {
		[KVCTL_OF_ALL] = "all",
		[KVCTL_OF_CLIENT] = "client",
		[KVCTL_OF_UID] = "uid",
		[KVCTL_OF_NEW_CLIENTS] = "new-clients",
		[KVCTL_OF_ANY_UID] = "any-uid",
	};

	return names[kind];
}

const char *kvctl_limited_words(const struct kvctl_limited *who, char buf[KVCTL_LIMITED_LEN])
{
	unsigned long long id = who->id;

	if (who->kind == KVCTL_OF_CLIENT)
		snprintf(buf, KVCTL_LIMITED_LEN, "client %llu", id);
	else if (who->kind == KVCTL_OF_UID)
		snprintf(buf, KVCTL_LIMITED_LEN, "uid %llu", id);
	else if (who->kind == KVCTL_OF_NEW_CLIENTS)
		snprintf(buf, KVCTL_LIMITED_LEN, "each new client");
	else
		snprintf(buf, KVCTL_LIMITED_LEN, "each uid without limits of its own");
	return buf;
}

/* SPDX-License-Identifier: MIT */
/*
 * The limits that there are, whom they are of, and what they are called on the command line.
 */
#ifndef KVCTL_LIMIT_H
#define KVCTL_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view.h"

#define KVCTL_LIMIT_WORDS	10

/**
 * struct kvctl_limit_word - one limit
 * @word: its name
 * @words: what it is a limit of, for people
 * @mask: KVP_LIMIT_*
 * @offset: of its value in struct kvp_limit
 * @of_family: it is of one family
 * @used: where struct kvp_stats says how much of it is used; not @of_family
 */
struct kvctl_limit_word {
	const char *word;
	const char *words;
	uint32_t mask;
	size_t offset;
	bool of_family;
	size_t used;
};

extern const struct kvctl_limit_word kvctl_limit_words[KVCTL_LIMIT_WORDS];

/* Whom limits are of. */
enum kvctl_limited_kind {
	KVCTL_OF_ALL,		/* not said: show each client and user */
	KVCTL_OF_CLIENT,
	KVCTL_OF_UID,
	KVCTL_OF_NEW_CLIENTS,
	KVCTL_OF_ANY_UID,
};

/**
 * struct kvctl_limited - whom limits are of
 * @kind: which of them
 * @id: as KVP_OP_LIMIT takes it: id of the client, uid, KVP_UID_ANY, or 0
 */
struct kvctl_limited {
	enum kvctl_limited_kind kind;
	uint64_t id;
};

/* "client", "uid", "new-clients", "any-uid" */
const char *kvctl_limited_name(enum kvctl_limited_kind kind);

#define KVCTL_LIMITED_LEN	64

/* "client 3" in @buf; returns @buf. */
const char *kvctl_limited_words(const struct kvctl_limited *who, char buf[KVCTL_LIMITED_LEN]);

/*
 * Print what @who has, with its limits as far as they are told; KVCTL_OF_ALL: each client and
 * each user of one. An exit status; what went wrong was said.
 */
int kvctl_limit_show(struct kvctl_view *view, const struct kvctl_limited *who, bool json);

#endif /* KVCTL_LIMIT_H */

/* SPDX-License-Identifier: MIT */
/*
 * What `kvctl create --limit' takes: [FAMILY.]WHAT=N, a limit of each client of the new pool.
 */
#ifndef KVCTL_CREATE_LIMIT_H
#define KVCTL_CREATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "limit.h"
#include "view.h"

#define KVCTL_NEW_LIMIT_LEN	64

/**
 * struct kvctl_new_limit - one --limit
 * @text: as given
 * @copy: what @family lies in
 * @family: FAMILY, or NULL
 * @word: WHAT
 * @value: N
 * @first: first family that it is of, once that was found out
 * @end: behind the last one
 */
struct kvctl_new_limit {
	const char *text;
	char copy[KVCTL_NEW_LIMIT_LEN];
	const char *family;
	const struct kvctl_limit_word *word;
	uint64_t value;
	uint32_t first;
	uint32_t end;
};

/* What @text says, without a look at any pool. False: it is none, and nothing was said. */
bool kvctl_new_limit_parse(const char *text, struct kvctl_new_limit *limit);

/* Find the family in a pool that is like @view's. False: there is none, and that was said. */
bool kvctl_new_limit_family(const struct kvctl_view *view, struct kvctl_new_limit *limit);

/* Set it for all who attach to @view's pool from now on. An exit status; errors were said. */
int kvctl_new_limit_set(const struct kvctl_view *view, const struct kvctl_new_limit *limit);

#endif /* KVCTL_CREATE_LIMIT_H */

// SPDX-License-Identifier: MIT
/*
 * Limits on the command line of `kvctl create', from words to calls. No state.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "create_limit.h"
#include "kvctl.h"

static const struct kvctl_limit_word *find_word(const char *text)
{
	size_t i;

	for (i = 0; i < KVCTL_LIMIT_WORDS; i++) {
		if (!strcmp(kvctl_limit_words[i].word, text))
			return &kvctl_limit_words[i];
	}
	return NULL;
}

bool kvctl_new_limit_parse(const char *text, struct kvctl_new_limit *limit)
{
	char *value, *dot;

	memset(limit, 0, sizeof(*limit));
	limit->text = text;
	if (snprintf(limit->copy, sizeof(limit->copy), "%s", text) >= (int)sizeof(limit->copy))
		return false;
	value = strrchr(limit->copy, '=');
	if (!value)
		return false;
	*value++ = '\0';
	dot = strrchr(limit->copy, '.');
	if (dot) {
		*dot = '\0';
		limit->family = limit->copy;
	}
	limit->word = find_word(dot ? dot + 1 : limit->copy);
	return limit->word && (!dot || limit->word->of_family) &&
	       kvctl_parse_number(value, 0, UINT64_MAX - 1, &limit->value);
}

bool kvctl_new_limit_family(const struct kvctl_view *view, struct kvctl_new_limit *limit)
{
	if (!kvctl_view_families(view, "--limit's FAMILY", limit->family, &limit->first,
				 &limit->end))
		return false;
	if (!limit->word->of_family)
		limit->end = limit->first + 1;
	return true;
}

int kvctl_new_limit_set(const struct kvctl_view *view, const struct kvctl_new_limit *limit)
{
	struct kvp_limit call = { .mask = limit->word->mask };
	int err = 0;

	memcpy((char *)&call + limit->word->offset, &limit->value, sizeof(limit->value));
	for (call.family = limit->first; !err && call.family < limit->end; call.family++)
		err = kvp_pool_limit(view->pool, &call);
	if (!err)
		return KVCTL_OK;
	fprintf(stderr, "%s: --limit %s: %s\n", view->who, limit->text, kvp_error()->text);
	return err == -EFBIG ? KVCTL_USAGE : KVCTL_FAILED;
}

// SPDX-License-Identifier: MIT
/*
 * Prefixes: what is published, who holds it, and how it goes.
 */
#include <stdlib.h>
#include <string.h>

#include "shell.h"

#define MATCH_BLOCKS	4096	/* that one line shows */

static int match_build(struct shell *shell, const struct shell_args *args,
		       struct shell_call *call)
{
	struct kvp_prefix_match *arg = SHELL_OP(call, KVP_OP_PREFIX_MATCH, match);
	const char *hold = shell_option(args, "hold");
	int status = SHELL_OK;

	if (hold) {
		arg->head.flags |= KVP_MATCH_HOLD;
		status = shell_check_name(shell, hold);
		if (status == SHELL_OK)
			strcpy(call->name, hold);
	}
	if (status == SHELL_OK)
		status = shell_take_space(shell, args, arg->space);
	if (status == SHELL_OK)
		status = shell_take_family(shell, args, &arg->family);
	if (status == SHELL_OK)
		status = shell_take_tokens(shell, call, args->word, args->nr, &arg->nr_tokens);
	if (status == SHELL_OK)
		status = shell_take_extras(shell, call, args, &arg->nr_extras);
	call->blocks = calloc(MATCH_BLOCKS, sizeof(*call->blocks));
	if (status == SHELL_OK && !call->blocks)
		status = shell_no_memory(shell);
	arg->tokens = shell_addr(call->tokens);
	arg->extras = arg->nr_extras ? shell_addr(call->extras) : 0;
	arg->blocks = shell_addr(call->blocks);
	arg->nr_blocks = MATCH_BLOCKS;
	return status;
}

static int match_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	const struct kvp_prefix_match *arg = &call->arg.match;

	shell_put(out, "matched", arg->matched);
	if (call->name[0])
		json_object_set_new(out, "hold",
				    arg->match ? json_string(call->name) : json_null());
	json_object_set_new(out, "blocks", shell_blocks_json(call->blocks, arg->nr_blocks));
	return arg->match ? shell_bind_made(shell, call, SHELL_MATCH, arg->match) : SHELL_OK;
}

static int release_build(struct shell *shell, const struct shell_args *args,
			 struct shell_call *call)
{
	struct kvp_prefix_release *arg = SHELL_OP(call, KVP_OP_PREFIX_RELEASE, release);

	return shell_resolve(shell, call, SHELL_MATCH, args->word[0].text,
			     (uint64_t *)&arg->match);
}

static int release_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	json_object_set_new(out, "released", json_string(call->seq));
	return SHELL_OK;
}

static int take_tag(struct shell *shell, const struct shell_args *args, uint32_t *tag)
{
	uint64_t value = 0;
	int status = shell_option_number(shell, args, "tag", 1, UINT32_MAX, &value);

	*tag = (uint32_t)value;
	return status;
}

static int publish_build(struct shell *shell, const struct shell_args *args,
			 struct shell_call *call)
{
	struct kvp_prefix_publish *arg = SHELL_OP(call, KVP_OP_PREFIX_PUBLISH, publish);
	int status;

	if (shell_flag(args, "keep"))
		arg->head.flags |= KVP_PUBLISH_KEEP;
	status = shell_resolve(shell, call, SHELL_SEQ, args->word[0].text, (uint64_t *)&arg->seq);
	if (status == SHELL_OK)
		status = shell_option_number(shell, args, "limit", 1, INT64_MAX,
					     (uint64_t *)&arg->limit);
	if (status == SHELL_OK)
		status = take_tag(shell, args, &arg->tag);
	return status;
}

static int publish_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	const struct kvp_prefix_publish *arg = &call->arg.publish;

	json_object_set_new(out, "seq", json_string(call->seq));
	shell_put(out, "published", arg->published);
	shell_put(out, "new_nodes", arg->nr_new);
	shell_put(out, "shared_nodes", arg->nr_shared);
	return SHELL_OK;
}

static int invalidate_build(struct shell *shell, const struct shell_args *args,
			    struct shell_call *call)
{
	struct kvp_prefix_invalidate *arg = SHELL_OP(call, KVP_OP_PREFIX_INVALIDATE, invalidate);
	int status;

	status = take_tag(shell, args, &arg->tag);
	if (status == SHELL_OK && arg->tag && (args->nr || shell_option(args, "space")))
		return shell_malformed(shell, "prefix invalidate: tag= with tokens or space=; "
					      "expected one of them");
	if (arg->tag) {
		arg->head.flags = KVP_INVALIDATE_TAG;
		return status;
	}
	if (status == SHELL_OK)
		status = shell_take_space(shell, args, arg->space);
	if (status == SHELL_OK)
		status = shell_take_tokens(shell, call, args->word, args->nr, &arg->nr_tokens);
	if (status == SHELL_OK)
		status = shell_take_extras(shell, call, args, &arg->nr_extras);
	arg->head.flags = arg->nr_tokens ? KVP_INVALIDATE_PREFIX : KVP_INVALIDATE_SPACE;
	arg->tokens = shell_addr(call->tokens);
	arg->extras = arg->nr_extras ? shell_addr(call->extras) : 0;
	return status;
}

static int invalidate_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	shell_put(out, "subtrees", call->arg.invalidate.nr_subtrees);
	return SHELL_OK;
}

static int reclaim_build(struct shell *shell, const struct shell_args *args,
			 struct shell_call *call)
{
	struct kvp_prefix_reclaim *arg = SHELL_OP(call, KVP_OP_PREFIX_RECLAIM, reclaim);

	return shell_word_number(shell, "nodes", args->word[0].text, 0, INT64_MAX,
				 (uint64_t *)&arg->nodes);
}

static int reclaim_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	shell_put(out, "reclaimed_nodes", call->arg.reclaim.nodes);
	return SHELL_OK;
}

const struct shell_command shell_prefix_commands[] = {
	{
		.group = "prefix", .name = "match",
		.usage = "TOKEN... [hold=NAME] [space=IDENTITY] [family=N] [extra=NODE:NAME]...",
		.summary = "how much is published; with hold= it stays until `prefix release'",
		.options = "hold space family extra*",
		.min = 1, .max = SHELL_ANY, .build = match_build, .done = match_done,
	},
	{
		.group = "prefix", .name = "release", .usage = "NAME",
		.summary = "end a match that holds",
		.min = 1, .max = 1, .build = release_build, .done = release_done,
	},
	{
		.group = "prefix", .name = "publish", .usage = "SEQ [limit=TOKENS] [tag=N] "
			"[--keep]",
		.summary = "let others match the full computed nodes of a sequence; needs publish",
		.options = "limit tag", .flags = "keep",
		.min = 1, .max = 1, .build = publish_build, .done = publish_done,
	},
	{
		.group = "prefix", .name = "invalidate",
		.usage = "[TOKEN...] [space=IDENTITY] [extra=NODE:NAME]... | tag=N",
		.summary = "never match again: a prefix and all after it, without tokens all of "
			   "the identity, or what has the tag; needs admin",
		.options = "space tag extra*",
		.max = SHELL_ANY, .build = invalidate_build, .done = invalidate_done,
	},
	{
		.group = "prefix", .name = "reclaim", .usage = "NODES",
		.summary = "make idle blocks free, least recently used leaf first; needs admin",
		.min = 1, .max = 1, .build = reclaim_build, .done = reclaim_done,
	},
	{ 0 },
};

// SPDX-License-Identifier: MIT
/*
 * Raw references on blocks, as an engine uses them that keeps its own tables.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "shell.h"

/* Let $@name stand for @blocks. */
static int bind_blocks(struct shell *shell, const char *name, const uint64_t *blocks, size_t nr)
{
	struct shell_name *value = shell_bind(shell, SHELL_VALUE, NULL, name);
	char text[SHELL_BLOCK_LEN];
	size_t i;

	if (!value)
		return shell_no_memory(shell);
	for (i = 0; i < nr; i++) {
		shell_block_text(blocks[i], text);
		if (!shell_words_add(&value->values, text, strlen(text), SHELL_ANY))
			return shell_no_memory(shell);
	}
	return SHELL_OK;
}

static int alloc_build(struct shell *shell, const struct shell_args *args,
		       struct shell_call *call)
{
	struct kvp_block_alloc *arg = SHELL_OP(call, KVP_OP_BLOCK_ALLOC, alloc);
	uint64_t nr = 0;
	int status;

	status = shell_check_value_name(shell, args->word[0].text);
	if (status != SHELL_OK)
		return status;
	strcpy(call->name, args->word[0].text);
	status = shell_word_number(shell, "blocks", args->word[1].text, 0, UINT32_MAX, &nr);
	if (status == SHELL_OK)
		status = shell_take_family(shell, args, &arg->family);
	call->blocks = calloc(nr < KVP_MAX_CALL_BLOCKS ? nr + 1 : KVP_MAX_CALL_BLOCKS,
			      sizeof(*call->blocks));
	if (status == SHELL_OK && !call->blocks)
		status = shell_no_memory(shell);
	arg->blocks = shell_addr(call->blocks);
	arg->nr = (uint32_t)nr;
	return status;
}

static int alloc_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	json_object_set_new(out, "blocks", shell_blocks_json(call->blocks, call->arg.alloc.nr));
	return bind_blocks(shell, call->name, call->blocks, call->arg.alloc.nr);
}

/* The holder of option seq= or match=. */
static int take_holder(struct shell *shell, const struct shell_args *args,
		       struct shell_call *call, struct kvp_block_refs *arg)
{
	const char *seq = shell_option(args, "seq"), *match = shell_option(args, "match");

	if (seq && match)
		return shell_malformed(shell, "block ref: seq= with match=; expected one of them");
	if (!seq && !match)
		return SHELL_OK;
	if (match)
		arg->head.flags |= KVP_BLOCK_REF_MATCH;
	return shell_resolve(shell, call, match ? SHELL_MATCH : SHELL_SEQ, match ? match : seq,
			     (uint64_t *)&arg->holder);
}

static int ref_build(struct shell *shell, const struct shell_args *args, struct shell_call *call)
{
	struct kvp_block_refs *arg = SHELL_OP(call, KVP_OP_BLOCK_REF, refs);
	int status;

	status = take_holder(shell, args, call, arg);
	if (status == SHELL_OK)
		status = shell_option_number(shell, args, "first", 0, INT64_MAX,
					     (uint64_t *)&arg->first);
	if (status == SHELL_OK)
		status = shell_take_blocks(shell, call, args->word, args->nr, &arg->nr);
	arg->blocks = shell_addr(call->blocks);
	return status;
}

static int unref_build(struct shell *shell, const struct shell_args *args,
		       struct shell_call *call)
{
	struct kvp_block_refs *arg = SHELL_OP(call, KVP_OP_BLOCK_UNREF, refs);
	int status = shell_take_blocks(shell, call, args->word, args->nr, &arg->nr);

	arg->blocks = shell_addr(call->blocks);
	return status;
}

static int ref_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	json_object_set_new(out, call->op == KVP_OP_BLOCK_REF ? "ref" : "unref",
			    shell_blocks_json(call->blocks, call->arg.refs.nr));
	return SHELL_OK;
}

/* The library's call, which copies the bytes too. */
static int make_private(struct shell *shell, const struct shell_args *args)
{
	const char *name = args->nr > 1 ? args->word[1].text : NULL;
	char text[SHELL_BLOCK_LEN];
	uint64_t block, old;
	int status = SHELL_OK;

	if (name)
		status = shell_check_value_name(shell, name);
	if (status == SHELL_OK)
		status = shell_block_parse(shell, args->word[0].text, &block);
	if (status != SHELL_OK)
		return status;
	old = block;
	if (kvp_block_make_private(shell->client->pool, &block))
		return shell_call_failed(shell);
	json_object_set_new(shell->out, "block", json_string(shell_block_text(block, text)));
	json_object_set_new(shell->out, "copied", json_boolean(block != old));
	return name ? bind_blocks(shell, name, &block, 1) : SHELL_OK;
}

const struct shell_command shell_block_commands[] = {
	{
		.group = "block", .name = "alloc", .usage = "NAME N [family=N]",
		.summary = "take N blocks; $NAME stands for them",
		.options = "family",
		.min = 2, .max = 2, .build = alloc_build, .done = alloc_done,
	},
	{
		.group = "block", .name = "ref",
		.usage = "BLOCK... [seq=NAME|match=NAME first=SLOT]",
		.summary = "one more reference on blocks that one holds, or that a sequence or a "
			   "match holds from slot first= on",
		.options = "seq match first",
		.min = 1, .max = SHELL_ANY, .build = ref_build, .done = ref_done,
	},
	{
		.group = "block", .name = "unref", .usage = "BLOCK...",
		.summary = "drop one reference of one's own on each",
		.min = 1, .max = SHELL_ANY, .build = unref_build, .done = ref_done,
	},
	{
		.group = "block", .name = "make-private", .usage = "BLOCK [NAME]",
		.summary = "a block that nobody else names, with the same bytes; $NAME stands "
			   "for it",
		.min = 1, .max = 2, .run = make_private,
	},
	{ 0 },
};

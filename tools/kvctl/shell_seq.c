// SPDX-License-Identifier: MIT
/*
 * Operations on sequences, by name.
 */
#include <stdlib.h>
#include <string.h>

#include "shell.h"

/* A name for something to be made. */
static int take_name(struct shell *shell, struct shell_call *call, const char *name)
{
	int status = shell_check_name(shell, name);

	if (status == SHELL_OK)
		strcpy(call->name, name);
	return status;
}

/* ---- create ---- */

static int create_build(struct shell *shell, const struct shell_args *args,
			struct shell_call *call)
{
	struct kvp_seq_create *arg = SHELL_OP(call, KVP_OP_SEQ_CREATE, create);
	int status;

	if (shell_flag(args, "no-match"))
		arg->head.flags |= KVP_SEQ_NO_MATCH;
	if (shell_flag(args, "match-only"))
		arg->head.flags |= KVP_SEQ_MATCH_ONLY;
	status = take_name(shell, call, args->word[0].text);
	if (status == SHELL_OK)
		status = shell_take_space(shell, args, arg->space);
	if (status == SHELL_OK)
		status = shell_take_tokens(shell, call, args->word + 1, args->nr - 1,
					   &arg->nr_tokens);
	if (status == SHELL_OK)
		status = shell_take_extras(shell, call, args, &arg->nr_extras);
	if (status == SHELL_OK)
		status = shell_option_number(shell, args, "reserve", 0, INT64_MAX,
					     (uint64_t *)&arg->reserve);
	if (status == SHELL_OK)
		status = shell_option_number(shell, args, "match_limit", 1, INT64_MAX,
					     (uint64_t *)&arg->match_limit);
	arg->tokens = shell_addr(call->tokens);
	arg->extras = arg->nr_extras ? shell_addr(call->extras) : 0;
	return status;
}

static int create_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	const struct kvp_seq_create *arg = &call->arg.create;
	bool only = arg->head.flags & KVP_SEQ_MATCH_ONLY;

	json_object_set_new(out, "seq", json_string(call->name));
	shell_put(out, "matched", arg->matched);
	shell_put(out, "tokens", only ? arg->matched : arg->nr_tokens);
	shell_put(out, "reserved", arg->reserved);
	return shell_bind_made(shell, call, SHELL_SEQ, arg->seq);
}

/* ---- growing ---- */

static int append_build(struct shell *shell, const struct shell_args *args,
			struct shell_call *call)
{
	struct kvp_seq_append *arg = SHELL_OP(call, KVP_OP_SEQ_APPEND, append);
	int status;

	arg->position = KVP_POS_END;
	status = shell_resolve(shell, call, SHELL_SEQ, args->word[0].text, (uint64_t *)&arg->seq);
	if (status == SHELL_OK)
		status = shell_take_tokens(shell, call, args->word + 1, args->nr - 1,
					   &arg->nr_tokens);
	if (status == SHELL_OK)
		status = shell_take_extras(shell, call, args, &arg->nr_extras);
	if (status == SHELL_OK)
		status = shell_option_number(shell, args, "reserve", 0, INT64_MAX,
					     (uint64_t *)&arg->reserve);
	if (status == SHELL_OK)
		status = shell_option_number(shell, args, "position", 0, INT64_MAX,
					     (uint64_t *)&arg->position);
	if (status == SHELL_OK)
		status = shell_take_copies(shell, call, &arg->nr_copies);
	arg->tokens = shell_addr(call->tokens);
	arg->extras = arg->nr_extras ? shell_addr(call->extras) : 0;
	arg->copies = shell_addr(call->copies);
	return status;
}

static int append_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	const struct kvp_seq_append *arg = &call->arg.append;

	json_object_set_new(out, "seq", json_string(call->seq));
	shell_put(out, "position", arg->position);
	shell_put(out, "tokens", arg->position + arg->nr_tokens);
	shell_put(out, "reserved", arg->nr_reserved);
	shell_put(out, "copies", arg->nr_copies);
	return shell_make_copies(shell, call, shell_resolved(shell, call, arg->seq),
				 arg->nr_copies);
}

static int set_tokens_build(struct shell *shell, const struct shell_args *args,
			    struct shell_call *call)
{
	struct kvp_seq_set_tokens *arg = SHELL_OP(call, KVP_OP_SEQ_SET_TOKENS, set_tokens);
	int status;

	arg->position = KVP_POS_END;
	status = shell_resolve(shell, call, SHELL_SEQ, args->word[0].text, (uint64_t *)&arg->seq);
	if (status == SHELL_OK)
		status = shell_take_tokens(shell, call, args->word + 1, args->nr - 1,
					   &arg->nr_tokens);
	if (status == SHELL_OK)
		status = shell_take_extras(shell, call, args, &arg->nr_extras);
	if (status == SHELL_OK)
		status = shell_option_number(shell, args, "position", 0, INT64_MAX,
					     (uint64_t *)&arg->position);
	arg->tokens = shell_addr(call->tokens);
	arg->extras = arg->nr_extras ? shell_addr(call->extras) : 0;
	return status;
}

static int set_tokens_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	const struct kvp_seq_set_tokens *arg = &call->arg.set_tokens;

	json_object_set_new(out, "seq", json_string(call->seq));
	shell_put(out, "position", arg->position);
	shell_put(out, "tokens", arg->position + arg->nr_tokens);
	return SHELL_OK;
}

/* A sequence and a length. */
static int take_length(struct shell *shell, const struct shell_args *args, struct shell_call *call,
		       const char *what, __u64 *seq, __u64 *length)
{
	int status = shell_resolve(shell, call, SHELL_SEQ, args->word[0].text, (uint64_t *)seq);

	if (status == SHELL_OK)
		status = shell_word_number(shell, what, args->word[1].text, 0, INT64_MAX,
					   (uint64_t *)length);
	return status;
}

static int advance_build(struct shell *shell, const struct shell_args *args,
			 struct shell_call *call)
{
	struct kvp_seq_advance *arg = SHELL_OP(call, KVP_OP_SEQ_ADVANCE, advance);

	return take_length(shell, args, call, "computed", &arg->seq, &arg->computed);
}

static int advance_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	json_object_set_new(out, "seq", json_string(call->seq));
	shell_put(out, "computed", call->arg.advance.computed);
	return SHELL_OK;
}

/* ---- fork, truncate, free ---- */

static int fork_build(struct shell *shell, const struct shell_args *args,
		      struct shell_call *call)
{
	struct kvp_seq_fork *arg = SHELL_OP(call, KVP_OP_SEQ_FORK, fork);
	int status;

	arg->tokens = KVP_POS_END;
	status = shell_resolve(shell, call, SHELL_SEQ, args->word[0].text, (uint64_t *)&arg->seq);
	if (status == SHELL_OK)
		status = take_name(shell, call, args->word[1].text);
	if (status == SHELL_OK && args->nr > 2)
		status = shell_word_number(shell, "tokens", args->word[2].text, 0, INT64_MAX,
					   (uint64_t *)&arg->tokens);
	if (status == SHELL_OK)
		status = shell_take_copies(shell, call, &arg->nr_copies);
	arg->copies = shell_addr(call->copies);
	return status;
}

static int fork_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	const struct kvp_seq_fork *arg = &call->arg.fork;
	int status;

	json_object_set_new(out, "seq", json_string(call->name));
	json_object_set_new(out, "parent", json_string(call->seq));
	shell_put(out, "tokens", arg->tokens);
	shell_put(out, "copies", arg->nr_copies);
	status = shell_bind_made(shell, call, SHELL_SEQ, arg->child);
	return status == SHELL_OK ? shell_make_copies(shell, call, arg->child, arg->nr_copies) :
				    status;
}

static int truncate_build(struct shell *shell, const struct shell_args *args,
			  struct shell_call *call)
{
	struct kvp_seq_truncate *arg = SHELL_OP(call, KVP_OP_SEQ_TRUNCATE, truncate);

	return take_length(shell, args, call, "tokens", &arg->seq, &arg->tokens);
}

static int truncate_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	json_object_set_new(out, "seq", json_string(call->seq));
	shell_put(out, "tokens", call->arg.truncate.tokens);
	return SHELL_OK;
}

static int free_build(struct shell *shell, const struct shell_args *args,
		      struct shell_call *call)
{
	struct kvp_seq_id *arg = SHELL_OP(call, KVP_OP_SEQ_FREE, seq_id);

	return shell_resolve(shell, call, SHELL_SEQ, args->word[0].text, (uint64_t *)&arg->seq);
}

static int free_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	json_object_set_new(out, "freed", json_string(call->seq));
	return SHELL_OK;
}

/* ---- looking ---- */

#define TABLE_SLOTS	4096	/* that one line shows */

static int lengths_build(struct shell *shell, const struct shell_args *args,
			 struct shell_call *call)
{
	struct kvp_seq_table *arg = SHELL_OP(call, KVP_OP_SEQ_TABLE, table);

	return shell_resolve(shell, call, SHELL_SEQ, args->word[0].text, (uint64_t *)&arg->seq);
}

static int lengths_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	const struct kvp_seq_table *arg = &call->arg.table;

	json_object_set_new(out, "seq", json_string(call->seq));
	shell_put(out, "reserved", arg->nr_reserved);
	shell_put(out, "tokens", arg->nr_tokens);
	shell_put(out, "computed", arg->nr_computed);
	shell_put(out, "published", arg->nr_published);
	return SHELL_OK;
}

static int table_build(struct shell *shell, const struct shell_args *args,
		       struct shell_call *call)
{
	struct kvp_seq_table *arg = SHELL_OP(call, KVP_OP_SEQ_TABLE, table);
	int status;

	status = lengths_build(shell, args, call);
	if (status == SHELL_OK)
		status = shell_take_family(shell, args, &arg->family);
	if (status == SHELL_OK)
		status = shell_option_number(shell, args, "first", 0, INT64_MAX,
					     (uint64_t *)&arg->first);
	call->blocks = calloc(TABLE_SLOTS, sizeof(*call->blocks));
	if (status == SHELL_OK && !call->blocks)
		status = shell_no_memory(shell);
	arg->blocks = shell_addr(call->blocks);
	arg->nr_blocks = TABLE_SLOTS;
	return status;
}

static int table_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	const struct kvp_seq_table *arg = &call->arg.table;

	json_object_set_new(out, "seq", json_string(call->seq));
	shell_put(out, "family", arg->family);
	shell_put(out, "slots", arg->total);
	shell_put(out, "first", arg->first);
	json_object_set_new(out, "blocks", shell_blocks_json(call->blocks, arg->nr_blocks));
	return SHELL_OK;
}

const struct shell_command shell_seq_commands[] = {
	{
		.group = "seq", .name = "create",
		.usage = "NAME [TOKEN...] [reserve=N] [match_limit=N] [space=IDENTITY] "
			 "[extra=NODE:NAME]... [--no-match] [--match-only]",
		.summary = "begin a sequence with its longest published prefix",
		.options = "reserve match_limit space extra*", .flags = "no-match match-only",
		.min = 1, .max = SHELL_ANY, .build = create_build, .done = create_done,
	},
	{
		.group = "seq", .name = "append",
		.usage = "NAME [TOKEN...] [reserve=N] [position=N] [extra=NODE:NAME]...",
		.summary = "tokens and slots at the end; shared blocks are copied first",
		.options = "reserve position extra*",
		.min = 1, .max = SHELL_ANY, .build = append_build, .done = append_done,
	},
	{
		.group = "seq", .name = "set-tokens",
		.usage = "NAME TOKEN... [position=N] [extra=NODE:NAME]...",
		.summary = "tokens for slots that were reserved",
		.options = "position extra*",
		.min = 2, .max = SHELL_ANY, .build = set_tokens_build, .done = set_tokens_done,
	},
	{
		.group = "seq", .name = "advance", .usage = "NAME COMPUTED",
		.summary = "say that the rows of the first COMPUTED tokens are written",
		.min = 2, .max = 2, .build = advance_build, .done = advance_done,
	},
	{
		.group = "seq", .name = "fork", .usage = "NAME CHILD [TOKENS]",
		.summary = "a second sequence on the same blocks",
		.min = 2, .max = 3, .build = fork_build, .done = fork_done,
	},
	{
		.group = "seq", .name = "truncate", .usage = "NAME TOKENS",
		.summary = "keep the first TOKENS tokens only",
		.min = 2, .max = 2, .build = truncate_build, .done = truncate_done,
	},
	{
		.group = "seq", .name = "free", .usage = "NAME",
		.summary = "end a sequence; its name then stands for an old id",
		.min = 1, .max = 1, .build = free_build, .done = free_done,
	},
	{
		.group = "seq", .name = "lengths", .usage = "NAME",
		.summary = "how long a sequence is",
		.min = 1, .max = 1, .build = lengths_build, .done = lengths_done,
	},
	{
		.group = "seq", .name = "table", .usage = "NAME [family=N] [first=SLOT]",
		.summary = "the blocks of a sequence",
		.options = "family first",
		.min = 1, .max = 1, .build = table_build, .done = table_done,
	},
	{ 0 },
};

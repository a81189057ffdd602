// SPDX-License-Identifier: MIT
/*
 * Operations of the contract: built from a line, made alone or as entries of a batch, and
 * told. Owns shell->batch.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "json.h"
#include "kvctl.h"
#include "shell.h"

static void call_free(struct shell_call *call)
{
	free(call->tokens);
	free(call->extras);
	free(call->blocks);
	free(call->copies);
	free(call->uses);
	free(call->fences);
	free(call->needs);
	free(call);
}

static int call_build(struct shell *shell, const struct shell_args *args,
		      struct shell_call **built)
{
	struct shell_call *call = calloc(1, sizeof(*call));
	int status;

	if (!call)
		return shell_no_memory(shell);
	call->command = args->command;
	call->client = shell->client;
	status = args->command->build(shell, args, call);
	call->arg.head.size = call->size;
	if (status == SHELL_OK)
		*built = call;
	else
		call_free(call);
	return status;
}

/* The struct of a call that expected another length says which one is right. */
static int call_failed(struct shell *shell, const struct shell_call *call)
{
	uint64_t right = call->op == KVP_OP_SEQ_APPEND ? call->arg.append.position :
			 call->op == KVP_OP_USE ? call->arg.use.position :
						  call->arg.set_tokens.position;
	size_t len;

	shell_call_failed(shell);
	len = strlen(shell->fail_text);
	if (call->arg.head.reason == KVP_REASON_POSITION)
		snprintf(shell->fail_text + len, sizeof(shell->fail_text) - len, ": %llu",
			 (unsigned long long)right);
	return SHELL_FAILED;
}

int shell_run_op(struct shell *shell, const struct shell_args *args)
{
	struct shell_call *call;
	int status;

	status = call_build(shell, args, &call);
	if (status != SHELL_OK)
		return status;
	if (kvp_pool_call(call->client->pool, call->op, &call->arg, call->size))
		status = call_failed(shell, call);
	else
		status = call->command->done(shell, call, shell->out);
	call_free(call);
	return status;
}

/* ---- what lines name ---- */

/* Whether the operation makes something that a later entry of its batch can name. */
static bool makes(enum kvp_op op, enum shell_kind kind)
{
	if (kind == SHELL_MATCH)
		return op == KVP_OP_PREFIX_MATCH;
	return op == KVP_OP_SEQ_CREATE || op == KVP_OP_SEQ_FORK;
}

/* The entry of the open batch that makes @name, or -1. */
static int batch_maker(const struct shell *shell, enum shell_kind kind, const char *name)
{
	const struct shell_call *call;
	int i;

	for (i = (int)shell->batch.nr - 1; i >= 0; i--) {
		call = shell->batch.call[i];
		if (makes(call->op, kind) && !strcmp(call->name, name))
			return i;
	}
	return -1;
}

int shell_resolve(struct shell *shell, struct shell_call *call, enum shell_kind kind,
		  const char *name, uint64_t *id)
{
	struct shell_name *found;
	int maker, status;

	snprintf(call->seq, sizeof(call->seq), "%s", name);
	maker = shell->batch.open ? batch_maker(shell, kind, name) : -1;
	if (maker >= 0) {
		*id = KVP_REF(maker);
		return SHELL_OK;
	}
	status = shell_need_name(shell, kind, name, &found);
	if (status == SHELL_OK)
		*id = found->id;
	return status;
}

uint64_t shell_resolved(struct shell *shell, const struct shell_call *call, uint64_t id)
{
	const struct shell_name *found;

	if (!(id & KVP_REF_FLAG))
		return id;
	found = shell_find_name(shell, SHELL_SEQ, call->client, call->seq);
	return found ? found->id : 0;
}

int shell_bind_made(struct shell *shell, const struct shell_call *call, enum shell_kind kind,
		    uint64_t id)
{
	struct shell_name *made = shell_bind(shell, kind, call->client, call->name);

	if (!made)
		return shell_no_memory(shell);
	made->id = id;
	return SHELL_OK;
}

/* A token id for a word: the same for the same word, and above those that people type. */
static uint32_t word_token(const char *word)
{
	uint64_t value = 0;

	while (*word)
		value = kvctl_mix64(value ^ (uint8_t)*word++) + 1;
	return KVCTL_OUTPUT_TOKEN | (uint32_t)(value & KVCTL_ID_MAX);
}

static bool is_number(const struct shell_word *word)
{
	return shell_is_plain(word) && word->text[0] >= '0' && word->text[0] <= '9';
}

int shell_take_tokens(struct shell *shell, struct shell_call *call, const struct shell_word *words,
		      size_t nr, uint32_t *nr_tokens)
{
	uint64_t first, last;
	uint32_t *tokens, used = 0;
	size_t i;
	int status;

	for (i = 0; i < nr; i++) {
		first = last = 0;
		if (is_number(&words[i])) {
			status = shell_word_range(shell, "token", words[i].text, UINT32_MAX,
						  &first, &last);
			if (status != SHELL_OK)
				return status;
		} else {
			first = last = word_token(words[i].text);
		}
		if (last - first >= KVP_MAX_CALL_TOKENS - used)
			return shell_malformed(shell, "more than %d tokens; expected fewer in "
						      "one call",
					       KVP_MAX_CALL_TOKENS);
		tokens = realloc(call->tokens, (used + (last - first) + 1) * sizeof(*tokens));
		if (!tokens)
			return shell_no_memory(shell);
		call->tokens = tokens;
		while (first <= last)
			tokens[used++] = (uint32_t)first++;
	}
	*nr_tokens = used;
	return SHELL_OK;
}

/* NODE:NAME */
static int take_extra(struct shell *shell, const char *text, struct kvp_extra *extra)
{
	const char *colon = strchr(text, ':');
	struct shell_name *found;
	char node[24];
	int status;

	if (!colon || (size_t)(colon - text) >= sizeof(node))
		return shell_malformed(shell, "extra is '%.80s'; expected NODE:NAME", text);
	memcpy(node, text, (size_t)(colon - text));
	node[colon - text] = '\0';
	status = shell_word_number(shell, "extra's node", node, 0, INT64_MAX,
				   (uint64_t *)&extra->node);
	if (status == SHELL_OK)
		status = shell_need_name(shell, SHELL_EXTRA, colon + 1, &found);
	if (status == SHELL_OK)
		memcpy(extra->digest, found->digest, sizeof(extra->digest));
	return status;
}

int shell_take_extras(struct shell *shell, struct shell_call *call, const struct shell_args *args,
		      uint32_t *nr_extras)
{
	size_t i, nr = 0;
	int status;

	call->extras = calloc(SHELL_OPTIONS_MAX, sizeof(*call->extras));
	if (!call->extras)
		return shell_no_memory(shell);
	for (i = 0; i < args->nr_options; i++) {
		if (strcmp(args->option[i].key, "extra"))
			continue;
		status = take_extra(shell, args->option[i].value, &call->extras[nr++]);
		if (status != SHELL_OK)
			return status;
	}
	*nr_extras = (uint32_t)nr;
	return SHELL_OK;
}

int shell_take_blocks(struct shell *shell, struct shell_call *call, const struct shell_word *words,
		      size_t nr, uint32_t *nr_blocks)
{
	size_t i;
	int status;

	if (nr > KVP_MAX_CALL_BLOCKS)
		return shell_malformed(shell, "%zu blocks; expected at most %d", nr,
				       KVP_MAX_CALL_BLOCKS);
	call->blocks = calloc(nr, sizeof(*call->blocks));
	if (!call->blocks)
		return shell_no_memory(shell);
	for (i = 0; i < nr; i++) {
		status = shell_block_parse(shell, words[i].text, &call->blocks[i]);
		if (status != SHELL_OK)
			return status;
	}
	*nr_blocks = (uint32_t)nr;
	return SHELL_OK;
}

int shell_take_space(struct shell *shell, const struct shell_args *args, uint8_t *space)
{
	const char *name = shell_option(args, "space");
	struct shell_name *found;
	int status;

	if (!name) {
		memcpy(space, shell->space, KVP_DIGEST_LEN);
		return SHELL_OK;
	}
	status = shell_need_name(shell, SHELL_IDENTITY, name, &found);
	if (status == SHELL_OK)
		memcpy(space, found->digest, KVP_DIGEST_LEN);
	return status;
}

int shell_take_family(struct shell *shell, const struct shell_args *args, uint32_t *family)
{
	uint64_t value = 0;
	int status;

	status = shell_option_number(shell, args, "family", 0, UINT32_MAX, &value);
	*family = (uint32_t)value;
	return status;
}

json_t *shell_blocks_json(const uint64_t *blocks, size_t nr)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; i < nr; i++)
		json_array_append_new(array, kvctl_json_block(blocks[i]));
	return array;
}

/* ---- copies ---- */

int shell_take_copies(struct shell *shell, struct shell_call *call, uint32_t *nr_copies)
{
	uint32_t nr = kvp_pool_max_copies(call->client->pool);

	call->copies = calloc(nr, sizeof(*call->copies));
	if (!call->copies)
		return shell_no_memory(shell);
	*nr_copies = nr;
	return SHELL_OK;
}

int shell_make_copies(struct shell *shell, struct shell_call *call, kvp_seq_t seq, uint32_t nr)
{
	struct kvp_pool *pool = call->client->pool;
	const struct kvp_family_desc *family;
	const struct kvp_copy *copy;

	if (!nr)
		return SHELL_OK;
	for (copy = call->copies; copy < call->copies + nr; copy++) {
		family = kvp_pool_family(pool, KVP_BLOCK_FAMILY(copy->src));
		memcpy(kvp_block_data(pool, copy->dst), kvp_block_data(pool, copy->src),
		       family->block_bytes / family->block_tokens * copy->tokens);
	}
	return kvp_seq_copied(pool, seq) ? shell_call_failed(shell) : SHELL_OK;
}

/* ---- batches ---- */

void shell_batch_drop(struct shell *shell)
{
	while (shell->batch.nr)
		call_free(shell->batch.call[--shell->batch.nr]);
	shell->batch.open = false;
}

int shell_batch_add(struct shell *shell, const struct shell_args *args)
{
	struct shell_batch *batch = &shell->batch;
	struct shell_call *call;
	int status;

	if (batch->nr == KVP_MAX_BATCH)
		return shell_malformed(shell, "more than %d operations in a batch; expected `end'",
				       KVP_MAX_BATCH);
	status = call_build(shell, args, &call);
	if (status == SHELL_OK)
		batch->call[batch->nr++] = call;
	return status;
}

static int batch_begin(struct shell *shell, const struct shell_args *args)
{
	shell->batch.open = true;
	shell->batch.stop = shell_flag(args, "stop");
	shell->batch.line = shell->line;
	return SHELL_OK;
}

/* {"op": "seq append", "result": "ok" or "ENOSPC/pool-full", ...} */
static int entry_json(struct shell *shell, struct shell_call *call, int result, json_t *entry)
{
	const struct kvp_head *head = &call->arg.head;
	char title[SHELL_NAME_LEN], text[2 * SHELL_CODE_LEN];

	shell_command_title(call->command, title, sizeof(title));
	json_object_set_new(entry, "op", json_string(title));
	snprintf(text, sizeof(text), "%s%s%s", result ? shell_errno_name(result) : "ok",
		 head->reason ? "/" : "", head->reason ? kvp_reason_name(head->reason) : "");
	json_object_set_new(entry, "result", json_string(text));
	if (!result)
		return call->command->done(shell, call, entry);
	if (head->where)
		json_object_set_new(entry, "where", json_integer(head->where));
	return SHELL_OK;
}

static int batch_run(struct shell *shell, struct kvp_batch_entry *entries)
{
	struct shell_batch *batch = &shell->batch;
	struct kvp_batch arg = {
		.head.flags = batch->stop ? KVP_BATCH_STOP_ON_ERROR : 0,
		.entries = shell_addr(entries),
		.nr_entries = (uint32_t)batch->nr,
	};
	json_t *list = json_array(), *entry;
	int status = SHELL_OK;
	size_t i;

	for (i = 0; i < batch->nr; i++) {
		entries[i].op = batch->call[i]->op;
		entries[i].len = batch->call[i]->size;
		entries[i].arg = shell_addr(&batch->call[i]->arg);
	}
	if (kvp_pool_call(shell->client->pool, KVP_OP_BATCH, &arg, sizeof(arg))) {
		json_decref(list);
		return shell_call_failed(shell);
	}
	json_object_set_new(shell->out, "executed", json_integer(arg.executed));
	for (i = 0; i < batch->nr && status == SHELL_OK; i++) {
		entry = json_object();
		status = entry_json(shell, batch->call[i], entries[i].result, entry);
		json_array_append_new(list, entry);
	}
	json_object_set_new(shell->out, "entries", list);
	return status;
}

static int batch_end(struct shell *shell, const struct shell_args *args)
{
	struct kvp_batch_entry *entries;
	int status;

	if (!shell->batch.open)
		return shell_malformed(shell, "'end' without 'batch'; expected `batch' before");
	shell->batch.open = false;
	entries = calloc(KVP_MAX_BATCH, sizeof(*entries));
	status = entries ? batch_run(shell, entries) : shell_no_memory(shell);
	free(entries);
	shell_batch_drop(shell);
	return status;
}

const struct shell_command shell_batch_commands[] = {
	{
		.group = "batch",
		.usage = "[--stop]",
		.summary = "begin a batch: the operations up to `end' are one call",
		.flags = "stop",
		.keeps = true,
		.run = batch_begin,
	},
	{
		.group = "end",
		.usage = "",
		.summary = "make the calls of the batch",
		.run = batch_end,
	},
	{ 0 },
};

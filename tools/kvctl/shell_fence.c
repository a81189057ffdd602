// SPDX-License-Identifier: MIT
/*
 * Fences: timelines, the work that is said to touch something until they have a value, and what
 * there is to be known of them. A name of a timeline stands for its number, which only its client
 * has.
 */
#include <stdlib.h>
#include <string.h>

#include "shell.h"

#define WAIT_MS		10000	/* what is not said how long to wait for */

/* The timeline of that name of the current client. */
static int take_timeline(struct shell *shell, const char *name, uint32_t *timeline)
{
	struct shell_name *found;
	int status = shell_need_name(shell, SHELL_TIMELINE, name, &found);

	if (status == SHELL_OK)
		*timeline = (uint32_t)found->id;
	return status;
}

static int take_value(struct shell *shell, const char *text, __u64 *value)
{
	return shell_word_number(shell, "value", text, 0, INT64_MAX, (uint64_t *)value);
}

/* ---- timelines ---- */

static int create_build(struct shell *shell, const struct shell_args *args,
			struct shell_call *call)
{
	int status = shell_check_name(shell, args->word[0].text);

	(void)SHELL_OP(call, KVP_OP_TIMELINE_CREATE, timeline_create);
	if (status == SHELL_OK)
		strcpy(call->name, args->word[0].text);
	return status;
}

static int create_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	uint32_t timeline = call->arg.timeline_create.timeline;

	json_object_set_new(out, "timeline", json_string(call->name));
	shell_put(out, "index", timeline);
	return shell_bind_made(shell, call, SHELL_TIMELINE, timeline);
}

/* What an accelerator does: a store to the page, which no call judges. */
static int write_run(struct shell *shell, const struct shell_args *args)
{
	uint32_t timeline = 0;
	uint64_t *address;
	__u64 value = 0;
	int status;

	status = take_timeline(shell, args->word[0].text, &timeline);
	if (status == SHELL_OK)
		status = take_value(shell, args->word[1].text, &value);
	if (status != SHELL_OK)
		return status;
	if (kvp_timeline_address(shell->client->pool, timeline, &address))
		return shell_call_failed(shell);
	__atomic_store_n(address, value, __ATOMIC_RELEASE);
	json_object_set_new(shell->out, "timeline", json_string(args->word[0].text));
	shell_put(shell->out, "value", value);
	return SHELL_OK;
}

static int signal_build(struct shell *shell, const struct shell_args *args,
			struct shell_call *call)
{
	struct kvp_signal *arg = SHELL_OP(call, KVP_OP_SIGNAL, signal);
	int status = take_timeline(shell, args->word[0].text, &arg->timeline);

	if (status == SHELL_OK)
		status = take_value(shell, args->word[1].text, &arg->value);
	snprintf(call->name, sizeof(call->name), "%s", args->word[0].text);
	return status;
}

static int signal_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	(void)shell;
	json_object_set_new(out, "timeline", json_string(call->name));
	shell_put(out, "value", call->arg.signal.value);
	return SHELL_OK;
}

/* ---- uses ---- */

/* TIMELINE VALUE, into each of @nr entries, which are made here; their name: call->name. */
static int take_fence(struct shell *shell, struct shell_call *call, const struct shell_word *word,
		      size_t nr, uint32_t kind)
{
	struct kvp_use *arg = SHELL_OP(call, KVP_OP_USE, use);
	uint32_t timeline = 0;
	__u64 value = 0;
	size_t i;
	int status;

	status = take_timeline(shell, word[0].text, &timeline);
	if (status == SHELL_OK)
		status = take_value(shell, word[1].text, &value);
	if (status != SHELL_OK)
		return status;
	snprintf(call->name, sizeof(call->name), "%s", word[0].text);
	call->uses = calloc(nr, sizeof(*call->uses));
	if (!call->uses)
		return shell_no_memory(shell);
	for (i = 0; i < nr; i++)
		call->uses[i] = (struct kvp_use_entry){
			.kind = kind, .timeline = timeline, .value = value,
		};
	arg->entries = shell_addr(call->uses);
	arg->nr_entries = (uint32_t)nr;
	return SHELL_OK;
}

static int use_seq_build(struct shell *shell, const struct shell_args *args,
			 struct shell_call *call)
{
	struct shell_name *seq;
	int status;

	status = take_fence(shell, call, args->word + 1, 1, KVP_USE_SEQ);
	if (status == SHELL_OK)
		status = shell_need_name(shell, SHELL_SEQ, args->word[0].text, &seq);
	if (status != SHELL_OK)
		return status;
	snprintf(call->seq, sizeof(call->seq), "%s", args->word[0].text);
	call->uses->id = seq->id;
	call->uses->write_from = KVP_POS_END;
	status = shell_option_number(shell, args, "write_from", 0, INT64_MAX,
				     (uint64_t *)&call->uses->write_from);
	if (status == SHELL_OK)
		status = shell_option_number(shell, args, "computed_to", 0, INT64_MAX,
					     (uint64_t *)&call->uses->computed_to);
	return status;
}

static int use_block_build(struct shell *shell, const struct shell_args *args,
			   struct shell_call *call)
{
	uint32_t nr = 0, i;
	int status;

	status = shell_take_blocks(shell, call, args->word + 2, args->nr - 2, &nr);
	if (status == SHELL_OK)
		status = take_fence(shell, call, args->word, nr, KVP_USE_BLOCK);
	for (i = 0; status == SHELL_OK && i < nr; i++)
		call->uses[i].id = call->blocks[i];
	return status;
}

static int use_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	const struct kvp_use_entry *use = call->uses;

	(void)shell;
	if (use->kind == KVP_USE_SEQ)
		json_object_set_new(out, "use", json_string(call->seq));
	else
		json_object_set_new(out, "use",
				    shell_blocks_json(call->blocks, call->arg.use.nr_entries));
	json_object_set_new(out, "timeline", json_string(call->name));
	shell_put(out, "value", use->value);
	if (use->kind == KVP_USE_SEQ && use->write_from != KVP_POS_END) {
		shell_put(out, "write_from", use->write_from);
		shell_put(out, "computed_to", use->computed_to);
	}
	return SHELL_OK;
}

/* ---- asking ---- */

/* TIMELINE:VALUE */
static int take_asked(struct shell *shell, const char *text, struct kvp_fence *fence)
{
	const char *colon = strrchr(text, ':');
	char name[SHELL_NAME_LEN];
	int status;

	if (!colon || (size_t)(colon - text) >= sizeof(name))
		return shell_malformed(shell, "fence is '%.80s'; expected TIMELINE:VALUE", text);
	memcpy(name, text, (size_t)(colon - text));
	name[colon - text] = '\0';
	status = take_timeline(shell, name, &fence->timeline);
	return status == SHELL_OK ? take_value(shell, colon + 1, &fence->value) : status;
}

/* All words of @args, which the caller frees. */
static int take_all_asked(struct shell *shell, const struct shell_args *args,
			  struct kvp_fence **fences)
{
	int status = SHELL_OK;
	size_t i;

	*fences = calloc(args->nr + 1, sizeof(**fences));
	if (!*fences)
		return shell_no_memory(shell);
	for (i = 0; status == SHELL_OK && i < args->nr; i++)
		status = take_asked(shell, args->word[i].text, &(*fences)[i]);
	return status;
}

static int query_build(struct shell *shell, const struct shell_args *args,
		       struct shell_call *call)
{
	struct kvp_query *arg = SHELL_OP(call, KVP_OP_QUERY, query);
	int status = take_all_asked(shell, args, &call->fences);

	if (shell_flag(args, "watch"))
		arg->head.flags |= KVP_QUERY_WATCH;
	arg->fences = args->nr ? shell_addr(call->fences) : 0;
	arg->nr_fences = (uint32_t)args->nr;
	return status;
}

/* What @client calls a timeline: the last name that it gave it. */
static json_t *timeline_json(const struct shell *shell, const struct shell_client *client,
			     uint32_t timeline)
{
	const struct shell_name *name;

	for (name = shell->names; name; name = name->next) {
		if (name->kind == SHELL_TIMELINE && name->client == client &&
		    name->id == timeline)
			return json_string(name->name);
	}
	return json_integer(timeline);
}

static json_t *fences_json(const struct shell *shell, const struct shell_client *client,
			   const struct kvp_fence *fences, size_t nr)
{
	json_t *list = json_array(), *object;
	const struct kvp_fence *fence;

	for (fence = fences; fence < fences + nr; fence++) {
		object = json_object();
		json_object_set_new(object, "timeline",
				    timeline_json(shell, client, fence->timeline));
		shell_put(object, "value", fence->value);
		json_object_set_new(object, "passed", json_boolean(fence->passed));
		shell_put(object, "seen", fence->seen);
		shell_put(object, "announced", fence->announced);
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *ready_json(bool fence, bool ticket)
{
	json_t *list = json_array();

	if (fence)
		json_array_append_new(list, json_string("fence"));
	if (ticket)
		json_array_append_new(list, json_string("ticket"));
	return list;
}

static int query_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	const struct kvp_query *arg = &call->arg.query;

	shell_put(out, "uses", arg->uses);
	shell_put(out, "held_back", arg->held_back);
	shell_put(out, "waiting", arg->waiting);
	shell_put(out, "granted", arg->granted);
	shell_put(out, "backwards", arg->backwards);
	shell_put(out, "jumps", arg->jumps);
	json_object_set_new(out, "ready", ready_json(arg->ready & KVP_READY_FENCE,
						     arg->ready & KVP_READY_TICKET));
	json_object_set_new(out, "fences",
			    fences_json(shell, call->client, call->fences, arg->nr_fences));
	return SHELL_OK;
}

/* Sleep until something has come; what, is said. */
static int wait_for(struct shell *shell, const struct shell_args *args, struct kvp_fence *fences,
		    uint64_t timeout_ms)
{
	uint32_t wanted = shell_flag(args, "ticket") ? KVP_READY_TICKET : 0, ready;

	if (kvp_wait(shell->client->pool, wanted, fences, (uint32_t)args->nr,
		     timeout_ms * 1000000, &ready))
		return shell_call_failed(shell);
	json_object_set_new(shell->out, "ready", ready_json(ready & KVP_READY_FENCE,
							    ready & KVP_READY_TICKET));
	json_object_set_new(shell->out, "fences",
			    fences_json(shell, shell->client, fences, args->nr));
	if (ready)
		return SHELL_OK;
	return shell_failed(shell, "ETIMEDOUT", "nothing within %llu ms: expected a fence that "
						"passes, or a ticket that is granted",
			    (unsigned long long)timeout_ms);
}

static int wait_run(struct shell *shell, const struct shell_args *args)
{
	uint64_t timeout_ms = WAIT_MS;
	struct kvp_fence *fences;
	int status;

	status = take_all_asked(shell, args, &fences);
	if (status == SHELL_OK)
		status = shell_option_number(shell, args, "timeout", 0, 3600000, &timeout_ms);
	if (status == SHELL_OK)
		status = wait_for(shell, args, fences, timeout_ms);
	free(fences);
	return status;
}

const struct shell_command shell_fence_commands[] = {
	{
		.group = "timeline", .name = "create", .usage = "NAME",
		.summary = "make a timeline of one's own",
		.min = 1, .max = 1, .build = create_build, .done = create_done,
	},
	{
		.group = "timeline", .name = "write", .usage = "TIMELINE VALUE",
		.summary = "store a value as an accelerator does: one that is wrong is ignored, "
			   "and counted",
		.min = 2, .max = 2, .run = write_run,
	},
	{
		.group = "use", .name = "seq",
		.usage = "SEQ TIMELINE VALUE [write_from=N computed_to=N]",
		.summary = "say that work touches a sequence until TIMELINE has VALUE, and which "
			   "rows it writes",
		.options = "write_from computed_to",
		.min = 3, .max = 3, .build = use_seq_build, .done = use_done,
	},
	{
		.group = "use", .name = "block", .usage = "TIMELINE VALUE BLOCK...",
		.summary = "the same of blocks on which one has raw references",
		.min = 3, .max = SHELL_ANY, .build = use_block_build, .done = use_done,
	},
	{
		.group = "signal", .usage = "TIMELINE VALUE",
		.summary = "say that the work has ended that was to write VALUE",
		.min = 2, .max = 2, .build = signal_build, .done = signal_done,
	},
	{
		.group = "query", .usage = "[TIMELINE:VALUE...] [--watch]",
		.summary = "which fences have passed, and what waits; with --watch poll(2), and "
			   "the next query, tell when one of them passes",
		.flags = "watch",
		.max = SHELL_ANY, .build = query_build, .done = query_done,
	},
	{
		.group = "wait", .usage = "[TIMELINE:VALUE...] [--ticket] [timeout=MILLISECONDS]",
		.summary = "sleep until one of the fences passes, or a ticket is granted",
		.options = "timeout", .flags = "ticket",
		.max = SHELL_ANY, .run = wait_run,
	},
	{ 0 },
};

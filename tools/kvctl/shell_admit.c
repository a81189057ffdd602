// SPDX-License-Identifier: MIT
/*
 * Admission: blocks taken in advance, and tickets for those that are not there yet. A name of a
 * ticket stands for its id.
 */
#include <stdlib.h>
#include <string.h>

#include "kvctl.h"
#include "shell.h"

static const char *state_name(uint32_t state)
{
	static const char *const names[] = {
		[KVP_ADMITTED] = "admitted",
		[KVP_ADMIT_WAITING] = "waiting",
		[KVP_ADMIT_ENDED] = "ended",
	};

	return state < sizeof(names) / sizeof(names[0]) && names[state] ? names[state] :
									  "unknown";
}

/* BLOCKS of the only family, or FAMILY:BLOCKS. */
static int take_need(struct shell *shell, const char *text, struct kvp_admit_need *need)
{
	const char *colon = strchr(text, ':'), *blocks = colon ? colon + 1 : text;
	uint64_t family = 0, nr = 0;
	char number[24] = "0";

	if (colon && (size_t)(colon - text) < sizeof(number))
		snprintf(number, sizeof(number), "%.*s", (int)(colon - text), text);
	else if (colon)
		number[0] = '\0';
	if (!kvctl_parse_number(number, 0, UINT32_MAX, &family) ||
	    !kvctl_parse_number(blocks, 0, INT64_MAX, &nr))
		return shell_malformed(shell, "'%.80s' is no need of blocks; expected BLOCKS, or "
					      "FAMILY:BLOCKS, as numbers", text);
	need->family = (uint32_t)family;
	need->blocks = nr;
	return SHELL_OK;
}

static int take_needs(struct shell *shell, const struct shell_args *args, struct shell_call *call)
{
	struct kvp_admit *arg = &call->arg.admit;
	int status = SHELL_OK;
	size_t i;

	call->needs = calloc(args->nr + 1, sizeof(*call->needs));
	if (!call->needs)
		return shell_no_memory(shell);
	for (i = 0; status == SHELL_OK && i < args->nr; i++)
		status = take_need(shell, args->word[i].text, &call->needs[i]);
	arg->needs = args->nr ? shell_addr(call->needs) : 0;
	arg->nr_needs = (uint32_t)args->nr;
	return status;
}

/* ---- asking ---- */

static int ask_build(struct shell *shell, const struct shell_args *args, struct shell_call *call)
{
	struct kvp_admit *arg = SHELL_OP(call, KVP_OP_ADMIT, admit);
	const char *queue = shell_option(args, "queue");
	int status = SHELL_OK;

	if (queue) {
		arg->head.flags = KVP_ADMIT_QUEUE;
		status = shell_check_name(shell, queue);
		if (status == SHELL_OK)
			strcpy(call->name, queue);
	}
	return status == SHELL_OK ? take_needs(shell, args, call) : status;
}

static int ask_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	const struct kvp_admit *arg = &call->arg.admit;

	json_object_set_new(out, "state", json_string(state_name(arg->state)));
	if (!call->name[0])
		return SHELL_OK;
	json_object_set_new(out, "ticket", arg->ticket ? json_string(call->name) : json_null());
	shell_put(out, "ahead", arg->ahead);
	return arg->ticket ? shell_bind_made(shell, call, SHELL_TICKET, arg->ticket) : SHELL_OK;
}

/* ---- tickets, and the reserve ---- */

static int ticket_build(struct shell *shell, const struct shell_args *args,
			struct shell_call *call, uint32_t flag)
{
	struct kvp_admit *arg = SHELL_OP(call, KVP_OP_ADMIT, admit);
	struct shell_name *ticket;
	int status = shell_need_name(shell, SHELL_TICKET, args->word[0].text, &ticket);

	arg->head.flags = flag;
	if (status == SHELL_OK)
		arg->ticket = ticket->id;
	snprintf(call->seq, sizeof(call->seq), "%s", args->word[0].text);
	return status;
}

static int take_build(struct shell *shell, const struct shell_args *args, struct shell_call *call)
{
	return ticket_build(shell, args, call, KVP_ADMIT_TAKE);
}

static int cancel_build(struct shell *shell, const struct shell_args *args,
			struct shell_call *call)
{
	return ticket_build(shell, args, call, KVP_ADMIT_CANCEL);
}

static int drop_build(struct shell *shell, const struct shell_args *args, struct shell_call *call)
{
	struct kvp_admit *arg = SHELL_OP(call, KVP_OP_ADMIT, admit);

	arg->head.flags = KVP_ADMIT_DROP;
	return take_needs(shell, args, call);
}

static int ticket_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	(void)shell;
	json_object_set_new(out, "ticket", json_string(call->seq));
	json_object_set_new(out, "state", json_string(state_name(call->arg.admit.state)));
	return SHELL_OK;
}

static int drop_done(struct shell *shell, struct shell_call *call, json_t *out)
{
	(void)shell;
	json_object_set_new(out, "state", json_string(state_name(call->arg.admit.state)));
	return SHELL_OK;
}

const struct shell_command shell_admit_commands[] = {
	{
		.group = "admit", .name = "ask", .usage = "BLOCKS|FAMILY:BLOCKS... [queue=TICKET]",
		.summary = "take blocks into the reserve; with queue= a ticket, if they cannot be "
			   "had now",
		.options = "queue",
		.min = 1, .max = SHELL_ANY, .build = ask_build, .done = ask_done,
	},
	{
		.group = "admit", .name = "take", .usage = "TICKET",
		.summary = "what a ticket was granted, into the reserve",
		.min = 1, .max = 1, .build = take_build, .done = ticket_done,
	},
	{
		.group = "admit", .name = "cancel", .usage = "TICKET",
		.summary = "end a ticket, and give back what it was granted",
		.min = 1, .max = 1, .build = cancel_build, .done = ticket_done,
	},
	{
		.group = "admit", .name = "drop", .usage = "[BLOCKS|FAMILY:BLOCKS...]",
		.summary = "give back the reserve, or some of it",
		.max = SHELL_ANY, .build = drop_build, .done = drop_done,
	},
	{ 0 },
};

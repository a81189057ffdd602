// SPDX-License-Identifier: MIT
/*
 * Exports: sequences as files. A name of an export owns its descriptor until `export close', until
 * it stands for something else, or until the shell ends.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvctl.h"
#include "shell.h"

static int export_run(struct shell *shell, const struct shell_args *args)
{
	const char *seq_name = args->word[0].text, *name = args->word[1].text;
	struct shell_name *seq, *export;
	uint64_t id;
	int fd;

	if (shell_check_name(shell, name) != SHELL_OK ||
	    shell_need_name(shell, SHELL_SEQ, seq_name, &seq) != SHELL_OK)
		return SHELL_MALFORMED;
	if (kvp_seq_export(shell->client->pool, seq->id, &fd, &id))
		return shell_call_failed(shell);
	export = shell_bind(shell, SHELL_EXPORT, NULL, name);
	if (!export) {
		close(fd);
		return shell_no_memory(shell);
	}
	export->id = id;
	export->fd = fd;
	json_object_set_new(shell->out, "export", json_string(name));
	shell_put(shell->out, "id", id);
	return SHELL_OK;
}

static int import_run(struct shell *shell, const struct shell_args *args)
{
	const char *name = args->word[0].text;
	struct shell_name *export, *seq;
	uint64_t tokens;
	kvp_seq_t id;

	if (shell_check_name(shell, name) != SHELL_OK ||
	    shell_need_name(shell, SHELL_EXPORT, args->word[1].text, &export) != SHELL_OK)
		return SHELL_MALFORMED;
	if (kvp_seq_import(shell->client->pool, export->fd, &id, &tokens))
		return shell_call_failed(shell);
	seq = shell_bind(shell, SHELL_SEQ, shell->client, name);
	if (!seq) {
		kvp_seq_free(shell->client->pool, id);
		return shell_no_memory(shell);
	}
	seq->id = id;
	json_object_set_new(shell->out, "seq", json_string(name));
	shell_put(shell->out, "tokens", tokens);
	return SHELL_OK;
}

static int close_run(struct shell *shell, const struct shell_args *args)
{
	struct shell_name *export;
	int status;

	status = shell_need_name(shell, SHELL_EXPORT, args->word[0].text, &export);
	if (status != SHELL_OK)
		return status;
	shell_close_export(export);
	json_object_set_new(shell->out, "export", json_string(export->name));
	json_object_set_new(shell->out, "closed", json_true());
	return SHELL_OK;
}

/* By name, or by the number that `exports' shows: those of other processes have no name here. */
static int revoke_run(struct shell *shell, const struct shell_args *args)
{
	const char *name = args->word[0].text;
	const struct shell_name *export = shell_find_name(shell, SHELL_EXPORT, NULL, name);
	uint64_t id = 0;

	if (export)
		id = export->id;
	else if (!kvctl_parse_number(name, 1, UINT64_MAX, &id))
		return shell_malformed(shell, "no export '%.80s'; expected the name of one made "
					      "before, or an id", name);
	if (kvp_export_revoke(shell->client->pool, id))
		return shell_call_failed(shell);
	json_object_set_new(shell->out, "export", json_string(name));
	json_object_set_new(shell->out, "revoked", json_true());
	return SHELL_OK;
}

const struct shell_command shell_export_commands[] = {
	{
		.group = "seq", .name = "export", .usage = "NAME EXPORT",
		.summary = "make a file of what is computed, for others to import",
		.min = 2, .max = 2, .run = export_run,
	},
	{
		.group = "seq", .name = "import", .usage = "NAME EXPORT",
		.summary = "begin a sequence with what an export has",
		.min = 2, .max = 2, .run = import_run,
	},
	{
		.group = "export", .name = "close", .usage = "EXPORT",
		.summary = "close its file: what only it held comes back",
		.min = 1, .max = 1, .alone = true, .run = close_run,
	},
	{
		.group = "export", .name = "revoke", .usage = "EXPORT|ID",
		.summary = "end an export, whatever files are open",
		.min = 1, .max = 1, .run = revoke_run,
	},
	{ 0 },
};

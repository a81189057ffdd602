// SPDX-License-Identifier: MIT
/*
 * Commands about the shell itself: as, echo, sleep, help, names, set, quit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kvctl.h"
#include "shell.h"

static int as_run(struct shell *shell, const struct shell_args *args)
{
	struct shell_words words = {
		.word = (struct shell_word *)args->word + 1,
		.nr = args->nr - 1,
	};
	struct shell_client *client, *before = shell->client;
	char name[SHELL_NAME_LEN];
	int status;

	status = shell_need_client(shell, args->word[0].text, &client);
	if (status != SHELL_OK)
		return status;
	if (!strcmp(words.word[0].text, "batch"))
		return shell_malformed(shell, "as: a batch is the current client's; expected "
					      "`client use %s' before it",
				       client->name);
	strcpy(name, before->name);
	shell->client = client;
	status = shell_run_words(shell, &words, 0);
	before = shell_find_client(shell, name);	/* the command may have closed it */
	shell->client = before ? before : shell->clients;
	return status;
}

static int echo_run(struct shell *shell, const struct shell_args *args)
{
	size_t i;

	for (i = 0; i < args->nr; i++)
		printf("%s%s", i ? " " : "", args->word[i].text);
	putchar('\n');
	fflush(stdout);
	return SHELL_OK;
}

static int sleep_run(struct shell *shell, const struct shell_args *args)
{
	struct timespec left;
	uint64_t ms;
	int status;

	status = shell_word_number(shell, "milliseconds", args->word[0].text, 0, 3600000, &ms);
	if (status != SHELL_OK)
		return status;
	left.tv_sec = (time_t)(ms / 1000);
	left.tv_nsec = (long)(ms % 1000 * 1000000);
	while (nanosleep(&left, &left) && errno == EINTR)
		;
	return SHELL_OK;
}

/* ---- help ---- */

static bool wanted(const struct shell_command *command, const struct shell_args *args)
{
	return (!args->nr || !strcmp(command->group, args->word[0].text)) &&
	       (args->nr < 2 || (command->name && !strcmp(command->name, args->word[1].text)));
}

static void list_verbs(void)
{
	size_t i;

	printf("\nVerbs of the command line; `VERB --help' explains one:\n");
	for (i = 0; i < kvctl_nr_verbs; i++) {
		if (kvctl_verbs[i].run != kvctl_shell)
			printf("  %-19s %s\n", kvctl_verbs[i].name, kvctl_verbs[i].summary);
	}
}

/* One verb, which explains itself; false: there is none of that name. */
static bool help_verb(const char *name)
{
	size_t i;

	for (i = 0; i < kvctl_nr_verbs; i++) {
		if (kvctl_verbs[i].run == kvctl_shell || strcmp(kvctl_verbs[i].name, name))
			continue;
		printf("%s [OPTION...]\n    %s; `%s --help' explains it\n", name,
		       kvctl_verbs[i].summary, name);
		return true;
	}
	return false;
}

static int help_run(struct shell *shell, const struct shell_args *args)
{
	const struct shell_command *command;
	char title[SHELL_NAME_LEN];
	size_t nr = 0, i;

	for (i = 0; i < shell_nr_tables; i++) {
		for (command = shell_tables[i]; command->group; command++) {
			if (!wanted(command, args))
				continue;
			nr++;
			shell_command_title(command, title, sizeof(title));
			if (args->nr)
				printf("%s %s\n    %s\n", title, command->usage,
				       command->summary);
			else
				printf("  %-19s %s\n", title, command->summary);
		}
	}
	if (!nr && !(args->nr == 1 && help_verb(args->word[0].text)))
		return shell_malformed(shell, "help: no command '%.80s%s%.80s'; expected one that "
					      "`help' lists",
				       args->word[0].text, args->nr > 1 ? " " : "",
				       args->nr > 1 ? args->word[1].text : "");
	if (!args->nr)
		list_verbs();
	fflush(stdout);
	return SHELL_OK;
}

/* ---- names ---- */

static json_t *name_json(const struct shell_name *name)
{
	static const char *const kinds[] = {
		[SHELL_SEQ] = "seq",
		[SHELL_MATCH] = "match",
		[SHELL_IDENTITY] = "identity",
		[SHELL_EXTRA] = "extra",
		[SHELL_VALUE] = "value",
		[SHELL_EXPORT] = "export",
		[SHELL_TIMELINE] = "timeline",
		[SHELL_TICKET] = "ticket",
	};
	json_t *object = json_pack("{s:s, s:s}", "kind", kinds[name->kind], "name", name->name);
	json_t *values;
	size_t i;

	if (name->client)
		json_object_set_new(object, "client", json_string(name->client->name));
	if (name->kind != SHELL_VALUE)
		return object;
	values = json_array();
	for (i = 0; i < name->values.nr; i++)
		json_array_append_new(values, json_string(name->values.word[i].text));
	json_object_set_new(object, "values", values);
	return object;
}

static int names_run(struct shell *shell, const struct shell_args *args)
{
	const struct shell_client *client;
	const struct shell_name *name;
	json_t *clients = json_array(), *names = json_array();

	for (client = shell->clients; client; client = client->next)
		json_array_append_new(clients,
				      json_pack("{s:s, s:s, s:b}", "name", client->name, "pool",
						client->pool_name, "current",
						client == shell->client));
	for (name = shell->names; name; name = name->next)
		json_array_insert_new(names, 0, name_json(name));
	json_object_set_new(shell->out, "clients", clients);
	json_object_set_new(shell->out, "names", names);
	return SHELL_OK;
}

/* ---- set, quit ---- */

static int set_run(struct shell *shell, const struct shell_args *args)
{
	const char *what = args->word[0].text, *value = args->word[1].text;
	bool on = !strcmp(value, "on");

	if (!on && strcmp(value, "off"))
		return shell_malformed(shell, "set %s: '%.80s'; expected on or off", what, value);
	if (!strcmp(what, "json"))
		shell->json = on;
	else if (!strcmp(what, "echo"))
		shell->echo = on;
	else
		return shell_malformed(shell, "set: nothing is called '%.80s'; expected json or "
					      "echo",
				       what);
	return SHELL_OK;
}

static int quit_run(struct shell *shell, const struct shell_args *args)
{
	return SHELL_END;
}

const struct shell_command shell_talk_commands[] = {
	{
		.group = "as", .usage = "CLIENT COMMAND...",
		.summary = "run one command as another client",
		.min = 2, .max = SHELL_ANY, .raw = true, .keeps = true, .run = as_run,
	},
	{
		.group = "echo", .usage = "[WORD...]", .summary = "print words",
		.max = SHELL_ANY, .raw = true, .keeps = true, .alone = true, .run = echo_run,
	},
	{
		.group = "sleep", .usage = "MILLISECONDS", .summary = "do nothing for a while",
		.min = 1, .max = 1, .keeps = true, .alone = true, .run = sleep_run,
	},
	{
		.group = "names", .usage = "", .summary = "what has a name here",
		.alone = true, .run = names_run,
	},
	{
		.group = "set", .usage = "json|echo on|off",
		.summary = "print JSON objects; print each line before it is run",
		.min = 2, .max = 2, .keeps = true, .alone = true, .run = set_run,
	},
	{
		.group = "help", .usage = "[COMMAND]", .summary = "all commands, or one",
		.max = 2, .keeps = true, .alone = true, .run = help_run,
	},
	{
		.group = "quit", .usage = "", .summary = "leave the shell, as the end of input "
			"does",
		.keeps = true, .alone = true, .run = quit_run,
	},
	{ 0 },
};

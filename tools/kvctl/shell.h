/* SPDX-License-Identifier: MIT */
/*
 * What the files of `kvctl shell` offer each other. One thread, no lock: everything hangs
 * on one struct shell, which shell.c makes and ends.
 */
#ifndef KVCTL_SHELL_H
#define KVCTL_SHELL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <kvpool.h>

#define SHELL_ANY		(~(size_t)0)
#define SHELL_NAME_LEN		64	/* with the terminating NUL */
#define SHELL_CODE_LEN		40
#define SHELL_TEXT_LEN		512
#define SHELL_OPTIONS_MAX	16	/* options of one line */
#define SHELL_BLOCK_LEN		17	/* text of a block id */

/* What came of a line. */
enum shell_status {
	SHELL_OK,
	SHELL_FAILED,		/* the command failed: a later `expect error' may want that */
	SHELL_WRONG,		/* an expect is not met */
	SHELL_MALFORMED,	/* the line makes no sense */
	SHELL_END,		/* quit */
};

/* ---- words (shell_words.c) ---- */

/**
 * struct shell_word - one word of a line
 * @text: without quotes
 * @plain: characters before the first quote, SHELL_ANY: nothing was in quotes. What is quoted
 *         is text: no option, no number
 */
struct shell_word {
	char *text;
	size_t plain;
};

/**
 * struct shell_words - the words of a line
 * @word: array of @nr
 */
struct shell_words {
	struct shell_word *word;
	size_t nr;
	size_t cap;
};

struct shell;

static inline bool shell_is_plain(const struct shell_word *word)
{
	return word->plain == SHELL_ANY;
}

/* Take @text apart. SHELL_MALFORMED is said; @words is to be freed in any case. */
int shell_split(struct shell *shell, const char *text, struct shell_words *words);
/* Put the values of `$NAME` and `$NAME[I]` in their places. */
int shell_expand(struct shell *shell, struct shell_words *words);
/* A copy of @len bytes of @text; false: no memory. */
bool shell_words_add(struct shell_words *words, const char *text, size_t len, size_t plain);
void shell_words_free(struct shell_words *words);

/* ---- a command and its line (shell_commands.c) ---- */

struct shell_call;

/**
 * struct shell_option - KEY=VALUE, or --KEY (@value NULL)
 */
struct shell_option {
	char key[SHELL_NAME_LEN];
	const char *value;
};

/**
 * struct shell_args - a line, sorted
 * @command: which it is
 * @word: the words that are no options, without the command's name
 * @nr: how many
 */
struct shell_args {
	const struct shell_command *command;
	const struct shell_word *word;
	size_t nr;
	struct shell_option option[SHELL_OPTIONS_MAX];
	size_t nr_options;
};

/**
 * struct shell_command - one command
 * @group: first word
 * @name: second word, or NULL
 * @usage: what may follow
 * @summary: one line
 * @options: keys of its options, one space between two; "KEY*": may be there several times
 * @flags: the same for --FLAG
 * @min: words that must be there
 * @max: words that may be there
 * @raw: all words are words, none an option
 * @keeps: the output of the command before it stays the last one
 * @alone: can do without a client
 * @run: all of it; or
 * @build: an operation of the contract, and
 * @done: what came of it, for people
 */
struct shell_command {
	const char *group;
	const char *name;
	const char *usage;
	const char *summary;
	const char *options;
	const char *flags;
	size_t min;
	size_t max;
	bool raw;
	bool keeps;
	bool alone;
	int (*run)(struct shell *shell, const struct shell_args *args);
	int (*build)(struct shell *shell, const struct shell_args *args, struct shell_call *call);
	int (*done)(struct shell *shell, struct shell_call *call, json_t *out);
};

/* Tables, each ended by an entry without a group. */
extern const struct shell_command shell_talk_commands[];
extern const struct shell_command shell_expect_commands[];
extern const struct shell_command shell_pool_commands[];
extern const struct shell_command shell_identity_commands[];
extern const struct shell_command shell_seq_commands[];
extern const struct shell_command shell_rows_commands[];
extern const struct shell_command shell_prefix_commands[];
extern const struct shell_command shell_export_commands[];
extern const struct shell_command shell_block_commands[];
extern const struct shell_command shell_fence_commands[];
extern const struct shell_command shell_admit_commands[];
extern const struct shell_command shell_batch_commands[];
extern const struct shell_command *const shell_tables[];
extern const size_t shell_nr_tables;

/* Run one line of the input; enum shell_status. */
int shell_run_line(struct shell *shell, const char *text);
/* Run a line whose words are there; also the one behind `as CLIENT'. */
int shell_run_words(struct shell *shell, struct shell_words *words, size_t first);
/* "seq append". */
void shell_command_title(const struct shell_command *command, char *title, size_t size);
/* Sort the words behind the command's name. */
int shell_sort_args(struct shell *shell, const struct shell_command *command,
		    struct shell_words *words, size_t first, struct shell_args *args);
/* The command that @words begin with and the number of words of its name, or NULL. */
const struct shell_command *shell_find_command(const struct shell_words *words, size_t first,
					       size_t *nr);
/* SHELL_MALFORMED, said, where the shell has no client. */
int shell_need_current(struct shell *shell);

/* The value of an option; NULL: it is not there. */
const char *shell_option(const struct shell_args *args, const char *key);
bool shell_flag(const struct shell_args *args, const char *key);
/* Option @key as a number in [@min, @max]; *@value stays if it is not there. */
int shell_option_number(struct shell *shell, const struct shell_args *args, const char *key,
			uint64_t min, uint64_t max, uint64_t *value);
/* A word as a number; @what: what it is called. */
int shell_word_number(struct shell *shell, const char *what, const char *text, uint64_t min,
		      uint64_t max, uint64_t *value);
/* FIRST..LAST, or one number, inclusive. */
int shell_word_range(struct shell *shell, const char *what, const char *text, uint64_t max,
		     uint64_t *first, uint64_t *last);

/* ---- names (shell_names.c) ---- */

/**
 * struct shell_client - a client that the shell opened
 * @pool: its pool
 * @name: its name in the shell
 * @pool_name: the pool's name
 * @id: its id in the pool
 */
struct shell_client {
	struct shell_client *next;
	struct kvp_pool *pool;
	char name[SHELL_NAME_LEN];
	char pool_name[KVP_NAME_LEN];
	uint64_t id;
};

enum shell_kind {
	SHELL_SEQ,
	SHELL_MATCH,
	SHELL_IDENTITY,
	SHELL_EXTRA,
	SHELL_VALUE,
	SHELL_EXPORT,
	SHELL_TIMELINE,
	SHELL_TICKET,
};

/**
 * struct shell_name - what a name stands for
 * @kind: kind of thing; a name may stand for one of each
 * @client: whose it is (SEQ, MATCH, TIMELINE, TICKET), else NULL
 * @id: SEQ, MATCH, EXPORT, TICKET: id, which may be old; TIMELINE: its index
 * @fd: EXPORT: its descriptor, the name's; -1: closed, or no export
 * @digest: IDENTITY, EXTRA
 * @values: VALUE: texts
 */
struct shell_name {
	struct shell_name *next;
	enum shell_kind kind;
	char name[SHELL_NAME_LEN];
	struct shell_client *client;
	uint64_t id;
	int fd;
	uint8_t digest[KVP_DIGEST_LEN];
	struct shell_words values;
};

struct shell_client *shell_find_client(struct shell *shell, const char *name);
/* The same; SHELL_MALFORMED is said if there is none. */
int shell_need_client(struct shell *shell, const char *name, struct shell_client **client);
/* Take over @pool as client @name, the current one from now on; NULL: no memory. */
struct shell_client *shell_add_client(struct shell *shell, const char *name,
				      struct kvp_pool *pool);
void shell_close_client(struct shell *shell, struct shell_client *client);

/* What @name stands for; of what is a client's own that of @client. NULL: nothing. */
struct shell_name *shell_find_name(struct shell *shell, enum shell_kind kind,
				   const struct shell_client *client, const char *name);
/* The same; SHELL_MALFORMED is said if there is nothing. */
int shell_need_name(struct shell *shell, enum shell_kind kind, const char *name,
		    struct shell_name **found);
/* Let @name stand for something new; NULL: no memory. What it stood for is forgotten. */
struct shell_name *shell_bind(struct shell *shell, enum shell_kind kind,
			      struct shell_client *client, const char *name);
void shell_forget_all(struct shell *shell);
/* Close its descriptor, if it has one. */
void shell_close_export(struct shell_name *name);
/* SHELL_MALFORMED, said, where @name cannot be a name. */
int shell_check_name(struct shell *shell, const char *name);
/* The same for what `$NAME' can stand for: letters, digits and '_' only. */
int shell_check_value_name(struct shell *shell, const char *name);

/* 16 hexadecimal digits, "none" for KVP_BLOCK_NULL. */
const char *shell_block_text(uint64_t block, char text[SHELL_BLOCK_LEN]);
int shell_block_parse(struct shell *shell, const char *text, uint64_t *block);

/* ---- what a line says (shell_output.c) ---- */

/**
 * struct shell_result - what the last command said
 * @any: there was one
 * @status: SHELL_OK or SHELL_FAILED
 * @text: as it was printed
 * @object: the same as an object, or NULL (a verb's text)
 * @code: failed: errno or another word
 * @reason: failed: the contract's reason, or ""
 */
struct shell_result {
	bool any;
	int status;
	char *text;
	json_t *object;
	char code[SHELL_CODE_LEN];
	char reason[SHELL_CODE_LEN];
};

/* FILE:LINE: and a text on stderr; returns SHELL_MALFORMED. */
int shell_malformed(struct shell *shell, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* No memory for the shell itself; returns SHELL_FAILED. */
int shell_no_memory(struct shell *shell);
/* The last call of the library failed; returns SHELL_FAILED. */
int shell_call_failed(struct shell *shell);
/* Something of the shell's own failed; returns SHELL_FAILED. */
int shell_failed(struct shell *shell, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* "ENOSPC" */
const char *shell_errno_name(int err);

/* Print what the command has put into shell->out (or why it failed) and keep it. */
void shell_print_result(struct shell *shell, int status, bool json);
/* Print what a verb said and keep it; takes @text, which may be NULL. */
void shell_print_verb(struct shell *shell, int status, char *text);
void shell_result_clear(struct shell_result *result);
/* An object for people; free() it. NULL: no memory. */
char *shell_render(const json_t *object);

/* ---- operations of the contract (shell_call.c) ---- */

/**
 * struct shell_call - one operation, alone or in a batch
 * @op: which
 * @size: of its struct
 * @arg: its struct
 * @command: command that it comes from
 * @client: whose call it is
 * @name: name for what it makes
 * @seq: name of the sequence that it speaks of, for people
 * @tokens, @extras, @blocks, @copies, @uses, @fences, @needs: what @arg points to
 */
struct shell_call {
	enum kvp_op op;
	uint32_t size;
	union {
		struct kvp_head head;
		struct kvp_seq_create create;
		struct kvp_seq_append append;
		struct kvp_seq_set_tokens set_tokens;
		struct kvp_seq_advance advance;
		struct kvp_seq_fork fork;
		struct kvp_seq_truncate truncate;
		struct kvp_seq_id seq_id;
		struct kvp_seq_table table;
		struct kvp_prefix_match match;
		struct kvp_prefix_release release;
		struct kvp_prefix_publish publish;
		struct kvp_prefix_invalidate invalidate;
		struct kvp_prefix_reclaim reclaim;
		struct kvp_block_alloc alloc;
		struct kvp_block_refs refs;
		struct kvp_block_make_private make_private;
		struct kvp_limit limit;
		struct kvp_timeline_create timeline_create;
		struct kvp_use use;
		struct kvp_signal signal;
		struct kvp_query query;
		struct kvp_admit admit;
	} arg;
	const struct shell_command *command;
	struct shell_client *client;
	char name[SHELL_NAME_LEN];
	char seq[SHELL_NAME_LEN];
	uint32_t *tokens;
	struct kvp_extra *extras;
	uint64_t *blocks;
	struct kvp_copy *copies;
	struct kvp_use_entry *uses;
	struct kvp_fence *fences;
	struct kvp_admit_need *needs;
};

#define SHELL_OP(call, op_, member) \
	((call)->op = (op_), (call)->size = sizeof((call)->arg.member), &(call)->arg.member)

static inline uint64_t shell_addr(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

/* A number of an object that is told. */
static inline void shell_put(json_t *out, const char *key, uint64_t value)
{
	json_object_set_new(out, key, json_integer((json_int_t)value));
}

/* Build, make and tell the operation of a command. */
int shell_run_op(struct shell *shell, const struct shell_args *args);
/* The same as an entry of the batch that is open. */
int shell_batch_add(struct shell *shell, const struct shell_args *args);
void shell_batch_drop(struct shell *shell);

/* The id of sequence or match @name, or the reference to the batch's entry that makes it. */
int shell_resolve(struct shell *shell, struct shell_call *call, enum shell_kind kind,
		  const char *name, uint64_t *id);
/* The id behind shell_resolve() after the call, when what a batch made is known. */
uint64_t shell_resolved(struct shell *shell, const struct shell_call *call, uint64_t id);
/* Bind call->name to the id of what was made. */
int shell_bind_made(struct shell *shell, const struct shell_call *call, enum shell_kind kind,
		    uint64_t id);
/* Token words, into call->tokens. */
int shell_take_tokens(struct shell *shell, struct shell_call *call, const struct shell_word *words,
		      size_t nr, uint32_t *nr_tokens);
/* Options extra=NODE:NAME, into call->extras. */
int shell_take_extras(struct shell *shell, struct shell_call *call, const struct shell_args *args,
		      uint32_t *nr_extras);
/* Block ids, into call->blocks. */
int shell_take_blocks(struct shell *shell, struct shell_call *call, const struct shell_word *words,
		      size_t nr, uint32_t *nr_blocks);
/* Room for as many copies as one call can ask for, into call->copies. */
int shell_take_copies(struct shell *shell, struct shell_call *call, uint32_t *nr_copies);
/* Make the copies that a call asked for, and tell the pool. */
int shell_make_copies(struct shell *shell, struct shell_call *call, kvp_seq_t seq, uint32_t nr);
/* The namespace of option space=NAME, or of the identity in use. */
int shell_take_space(struct shell *shell, const struct shell_args *args, uint8_t *space);
/* Option family=N. */
int shell_take_family(struct shell *shell, const struct shell_args *args, uint32_t *family);
/* An array of block ids as all verbs print them. */
json_t *shell_blocks_json(const uint64_t *blocks, size_t nr);

/* ---- terminal (shell_edit.c) ---- */

/* Lines from a terminal until its end; an exit status. */
int shell_interactive(struct shell *shell);

/* ---- the shell itself (shell.c) ---- */

/**
 * struct shell_batch - a batch that is being written down
 * @open: between `batch` and `end`
 * @stop: stop on error
 * @line: where it began
 * @call: array of @nr
 */
struct shell_batch {
	bool open;
	bool stop;
	unsigned long line;
	struct shell_call *call[KVP_MAX_BATCH];
	size_t nr;
};

/**
 * struct shell - all of it
 * @file: name of the input
 * @line: number of the line
 * @terminal: people type; a failure is told and forgotten
 * @json: print objects
 * @json_once: print this line's object
 * @echo: print each line before it is run
 * @client: the current one, or NULL
 * @clients: all of them
 * @names: what names stand for
 * @space: the identity in use
 * @space_name: its name
 * @batch: the batch
 * @out: what the command that runs has to say, an object
 * @last: what the last command said
 * @pending: a command failed in this line and nothing has said yet that it should; 0: none
 * @pending_text: that line
 */
struct shell {
	const char *file;
	unsigned long line;
	bool terminal;
	bool json;
	bool json_once;
	bool echo;
	struct shell_client *client;
	struct shell_client *clients;
	struct shell_name *names;
	uint8_t space[KVP_DIGEST_LEN];
	char space_name[SHELL_NAME_LEN];
	struct shell_batch batch;
	json_t *out;
	struct shell_result last;
	unsigned long pending;
	char *pending_text;
	char fail_code[SHELL_CODE_LEN];
	char fail_reason[SHELL_CODE_LEN];
	uint32_t fail_where;
	char fail_text[SHELL_TEXT_LEN];
};

/* A failure that nothing expected; SHELL_OK or SHELL_FAILED. */
int shell_settle(struct shell *shell);

#endif /* KVCTL_SHELL_H */

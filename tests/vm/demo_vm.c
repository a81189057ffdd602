// SPDX-License-Identifier: MIT
/*
 * A story for people: three processes share a pool of /dev/kvpool, one is killed, and started
 * again. `make demo-vm` boots a virtual machine for it. Every number that it prints was asked
 * of the pool or counted; what should not be so ends it with exit status 1.
 *
 * The engines are processes of their own. They do what they are told over a socket, and answer
 * with numbers. What they "compute" for a token depends on all tokens before it, as KV does, so
 * a row that was taken from the wrong text would be seen.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <kvpool.h>

#include "support.h"

#define POOL		"demo"
#define BLOCKS		100
#define BLOCK_TOKENS	16
#define ROW_BYTES	64
#define SHARED		256		/* tokens that all prompts begin with */
#define OWN		64		/* tokens of a prompt that are nobody else's */
#define PROMPT		(SHARED + OWN)
#define LONG_ANSWER	320		/* tokens that an engine has generated when it is killed */
#define WIDTH		78

enum order {
	ORDER_REQUEST = 1,	/* a prompt: find, compute the rest, publish; answers: 3 numbers */
	ORDER_ANSWER,		/* generate tokens and go on holding them; answers: 0 */
	ORDER_FINISH,		/* end the sequence; answers: 0 */
	ORDER_LEAVE,
};

/**
 * struct engine - the narrator's idea of a process
 * @name: that the system shows
 * @prompt: which prompt it is given; those of different numbers differ after SHARED tokens
 * @pid: of the process
 * @socket: to it
 */
struct engine {
	const char *name;
	u32 prompt;
	pid_t pid;
	int socket;
};

static struct engine engines[] = {
	{ .name = "engine-a", .prompt = 1 },
	{ .name = "engine-b", .prompt = 2 },
	{ .name = "engine-c", .prompt = 3 },
};

/* ---- an engine ---- */

static struct kvp_pool *pool;
static u8 space[KVP_DIGEST_LEN];

static void must(int ret, const char *what)
{
	if (ret)
		kvpv_fail("%s: %s", what, kvp_error()->text);
}

static void open_pool(void)
{
	char uri[128];

	snprintf(uri, sizeof(uri), "dev:" POOL "?blocks=%u&block_tokens=%u&row_bytes=%u&persistent=yes",
		 BLOCKS, BLOCK_TOKENS, ROW_BYTES);
	must(kvp_pool_open(uri, &pool), "kvp_pool_open");
	kvpv_space(1, space);
}

/* Row @i of a text: it depends on every token up to that one. */
static void compute_rows(const u32 *tokens, u32 nr, u64 rows[][ROW_BYTES / sizeof(u64)])
{
	u64 state = 0;
	u32 i, k;

	for (i = 0; i < nr; i++) {
		state = kvpv_random(&state) ^ tokens[i];
		for (k = 0; k < ROW_BYTES / sizeof(u64); k++)
			rows[i][k] = state + k;
	}
}

static void make_text(u32 prompt, u32 tokens[PROMPT + LONG_ANSWER])
{
	kvpv_tokens(tokens, SHARED, 100);
	kvpv_tokens(tokens + SHARED, OWN + LONG_ANSWER, 100 + prompt);
}

/* Of @seq: what was found is read and compared, the rest is written and published. */
static void serve(kvp_seq_t seq, const u32 *tokens, u64 matched, u64 *wrong)
{
	static u64 own[PROMPT][ROW_BYTES / sizeof(u64)], read[PROMPT][ROW_BYTES / sizeof(u64)];
	u64 published;
	u32 i;

	compute_rows(tokens, PROMPT, own);
	*wrong = 0;
	if (matched)
		must(kvp_rows_read(pool, seq, 0, 0, matched, read), "kvp_rows_read");
	for (i = 0; i < matched; i++)
		*wrong += memcmp(own[i], read[i], ROW_BYTES) != 0;
	if (matched == PROMPT)
		return;
	must(kvp_rows_write(pool, seq, 0, matched, PROMPT - matched, own[matched]),
	     "kvp_rows_write");
	must(kvp_seq_advance(pool, seq, PROMPT), "kvp_seq_advance");
	must(kvp_publish(pool, seq, &published), "kvp_publish");
	kvpv_same(published, PROMPT);
}

static void run_engine(int socket, void *arg)
{
	const struct engine *engine = arg;
	u32 tokens[PROMPT + LONG_ANSWER];
	const struct kvp_prompt prompt = { .space = space, .tokens = tokens, .nr_tokens = PROMPT };
	kvp_seq_t seq = 0;
	u64 matched, wrong;

	prctl(PR_SET_NAME, engine->name);
	make_text(engine->prompt, tokens);
	open_pool();
	kvpv_send(socket, 0);
	for (;;) {
		switch (kvpv_recv(socket)) {
		case ORDER_REQUEST:
			must(kvp_seq_create(pool, &prompt, 0, 0, &seq, &matched), "kvp_seq_create");
			serve(seq, tokens, matched, &wrong);
			kvpv_send(socket, matched);
			kvpv_send(socket, PROMPT - matched);
			kvpv_send(socket, wrong);
			break;
		case ORDER_ANSWER:
			must(kvp_seq_append(pool, seq, tokens + PROMPT, LONG_ANSWER, 0),
			     "kvp_seq_append");
			kvpv_send(socket, 0);
			break;
		case ORDER_FINISH:
			must(kvp_seq_free(pool, seq), "kvp_seq_free");
			kvpv_send(socket, 0);
			break;
		default:
			kvp_pool_close(pool);
			return;
		}
	}
}

/* ---- what the narrator says ---- */

/* A paragraph, in lines of WIDTH. */
static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *fmt, ...)
{
	char text[2048], *word, *rest;
	size_t column = 0;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	for (word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		if (column && column + 1 + strlen(word) > WIDTH) {
			printf("\n");
			column = 0;
		}
		column += printf("%s%s", column ? " " : "   ", word);
	}
	printf("\n\n");
}

static void title(const char *text)
{
	printf("%s\n\n", text);
}

/* The tool that a person would use, and what it prints. */
static void show(const char *command)
{
	char line[160];

	printf("   $ %s\n", command);
	fflush(stdout);
	snprintf(line, sizeof(line), "%s 2>&1 | sed 's/^/   /'", command);
	if (system(line))
		kvpv_fail("%s failed", command);
	printf("\n");
}

static struct kvp_family_stats count(void)
{
	struct kvp_family_stats family;
	struct kvp_stats stats;

	must(kvp_pool_stats(pool, 0, &stats, &family, 1), "kvp_pool_stats");
	return family;
}

static void say_blocks(const char *when)
{
	const struct kvp_family_stats family = count();

	printf("   %-34s %3llu held   %3llu idle (published)   %3llu free\n\n", when,
	       (unsigned long long)family.state[KVP_BLOCK_HELD],
	       (unsigned long long)family.state[KVP_BLOCK_IDLE],
	       (unsigned long long)family.state[KVP_BLOCK_FREE]);
}

static void start(struct engine *engine)
{
	engine->pid = kvpv_fork(run_engine, engine, &engine->socket);
	kvpv_recv(engine->socket);
	printf("   %s  process %d\n", engine->name, (int)engine->pid);
}

static void order(struct engine *engine, enum order what)
{
	kvpv_send(engine->socket, what);
	kvpv_recv(engine->socket);
}

/* Tokens found. */
static u64 request(struct engine *engine)
{
	u64 found, computed, wrong;

	kvpv_send(engine->socket, ORDER_REQUEST);
	found = kvpv_recv(engine->socket);
	computed = kvpv_recv(engine->socket);
	wrong = kvpv_recv(engine->socket);
	printf("   %s  %3llu tokens: %3llu found in the pool, %3llu computed; rows that differ: %llu\n",
	       engine->name, (unsigned long long)(found + computed), (unsigned long long)found,
	       (unsigned long long)computed, (unsigned long long)wrong);
	kvpv_same(wrong, 0);
	return found;
}

static u64 audit(void)
{
	struct kvp_audit result = { 0 };

	must(kvp_pool_audit_all(pool, NULL, 0, &result), "kvp_pool_audit_all");
	printf("   audit: %llu blocks recounted, %llu findings\n\n",
	       (unsigned long long)result.checked_blocks, (unsigned long long)result.total);
	return result.total;
}

static u32 clients(void)
{
	u32 nr = 0, total;

	must(kvp_pool_clients(pool, NULL, &nr, &total), "kvp_pool_clients");
	return total;
}

/* ---- the story ---- */

static void begin(void)
{
	struct utsname host;

	uname(&host);
	printf("kvpool: three processes, one pool, one kill\n\n");
	say("This is a virtual machine with Linux %s and the module kvpool.ko. A language model "
	    "computes a row of numbers (its KV) for each token of a text, and needs the rows of "
	    "all tokens before. The pool keeps rows in blocks of %u tokens; the kernel knows who "
	    "holds which block, and what text it belongs to.", host.release, BLOCK_TOKENS);
	prctl(PR_SET_NAME, "narrator");
	open_pool();
	say_blocks("The pool \"" POOL "\", new:");
}

static void share(void)
{
	u32 i;

	title("1. Three engines share what they compute");
	for (i = 0; i < KVPV_COUNT(engines); i++)
		start(&engines[i]);
	printf("\n");
	say("Each gets a request. The first %u tokens are the same for all (a system prompt, say), "
	    "the other %u are its own. What is found in the pool is read and compared with what "
	    "it should be; the rest is computed, written and published.", SHARED, OWN);
	kvpv_same(request(&engines[0]), 0);
	kvpv_same(request(&engines[1]), SHARED);
	kvpv_same(request(&engines[2]), SHARED);
	printf("\n");
	say_blocks("Now:");
	say("Without the pool they would hold %u blocks.",
	    (u32)(KVPV_COUNT(engines) * PROMPT / BLOCK_TOKENS));
}

static void kill_one(void)
{
	struct engine *victim = &engines[1];
	u64 before, free_before, begin, freed;

	title("2. One is killed in the middle of its work");
	order(victim, ORDER_ANSWER);
	say("%s has generated %u more tokens for its answer, which nobody else has.", victim->name,
	    LONG_ANSWER);
	say_blocks("Now:");
	show("kvctl clients " POOL);
	say("(The narrator is the program that tells this story, and holds nothing.)");
	free_before = count().state[KVP_BLOCK_FREE];
	before = clients();
	printf("   $ kill -9 %d\n\n", (int)victim->pid);
	begin = kvpv_now_ms();
	kvpv_kill(victim->pid);
	kvpv_until(KVPV_WAIT_MS, clients() == before - 1);
	freed = count().state[KVP_BLOCK_FREE] - free_before;
	say("It had no chance to give anything back. The kernel did, %llu ms after the kill: %llu "
	    "blocks are free again, and what it had published stays, for whoever needs it next.",
	    (unsigned long long)(kvpv_now_ms() - begin), (unsigned long long)freed);
	kvpv_same(freed, LONG_ANSWER / BLOCK_TOKENS);
	close(victim->socket);
	say_blocks("Now:");
	kvpv_same(audit(), 0);
}

static void start_again(void)
{
	struct engine *engine = &engines[1];

	title("3. It is started again, and finds its prefix warm");
	start(engine);
	printf("\n");
	say("A new process, and the same request as before. The rows that it reads were written by "
	    "%s, and by the process that is dead.", engines[0].name);
	kvpv_same(request(engine), PROMPT);
	printf("\n");
	show("kvctl clients " POOL);
}

static void leave(void)
{
	u32 i;

	title("4. All leave, and the pool stays");
	for (i = 0; i < KVPV_COUNT(engines); i++) {
		order(&engines[i], ORDER_FINISH);
		kvpv_send(engines[i].socket, ORDER_LEAVE);
		kvpv_wait_done(engines[i].pid);
	}
	kvpv_until(KVPV_WAIT_MS, clients() == 1);
	say_blocks("No engine is left:");
	kvpv_same(count().state[KVP_BLOCK_HELD], 0);
	say("The pool is persistent: it lasts until somebody destroys it, and an engine that comes "
	    "tomorrow finds what is published today.");
	show("kvctl destroy " POOL " --force");
	kvp_pool_close(pool);
}

int main(void)
{
	begin();
	share();
	kill_one();
	start_again();
	leave();
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * The first steps of the demo: a pool of a few small blocks, two requests that
 * begin alike, and a fork.
 */
#include <stdio.h>
#include <string.h>

#include <kvpool.h>

#include "content.h"
#include "demo.h"
#include "door.h"
#include "fsck.h"
#include "kvctl.h"
#include "picture.h"

#define BLOCK_TOKENS	4
#define BLOCKS		16
#define ROW_BYTES	64
#define WORDS_MAX	32

/* A request: its words so far, and the sequence that holds their rows. */
struct speaker {
	kvp_seq_t seq;
	const char *words[WORDS_MAX];
	uint32_t tokens[WORDS_MAX];
	uint32_t nr;
};

struct stage {
	struct kvp_pool *pool;
	uint8_t space[KVP_DIGEST_LEN];
};

static int failed(const char *what)
{
	fflush(stdout);
	kvctl_print_error("kvctl demo", what);
	return -1;
}

static int untrue(const char *what)
{
	fflush(stdout);
	fprintf(stderr, "kvctl demo: %s\n", what);
	return -1;
}

/* A token id for a word: the same for the same word. */
static uint32_t word_token(const char *word)
{
	uint64_t value = 0;

	while (*word)
		value = kvctl_mix64(value ^ (uint8_t)*word++) + 1;
	return value & KVCTL_ID_MAX;
}

static void say(struct speaker *speaker, const char *const *words, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		speaker->words[speaker->nr] = words[i];
		speaker->tokens[speaker->nr++] = word_token(words[i]);
	}
}

/* What the rows of all words of @speaker must be. */
static void rows_of(const struct stage *stage, const struct speaker *speaker, uint8_t *rows)
{
	struct kvctl_chain chain;

	kvctl_chain_begin(&chain, stage->space);
	kvctl_chain_rows(&chain, speaker->tokens, speaker->nr, ROW_BYTES, rows);
}

/* Computes the rows of the words from @first on, as an engine would. */
static int compute(const struct stage *stage, const struct speaker *speaker, uint64_t first)
{
	uint8_t rows[WORDS_MAX * ROW_BYTES];

	rows_of(stage, speaker, rows);
	if (first < speaker->nr &&
	    kvp_rows_write(stage->pool, speaker->seq, 0, first, speaker->nr - first,
			   rows + first * ROW_BYTES))
		return failed("rows cannot be written");
	if (kvp_seq_advance(stage->pool, speaker->seq, speaker->nr))
		return failed("sequence cannot be advanced");
	return 0;
}

/* All rows of @speaker, read through its block table, are what its words say. */
static int verify(const struct stage *stage, const struct speaker *speaker)
{
	uint8_t rows[WORDS_MAX * ROW_BYTES], expected[WORDS_MAX * ROW_BYTES];

	rows_of(stage, speaker, expected);
	if (kvp_rows_read(stage->pool, speaker->seq, 0, 0, speaker->nr, rows))
		return failed("rows cannot be read");
	if (memcmp(rows, expected, (size_t)speaker->nr * ROW_BYTES))
		return untrue("rows are not what was written");
	return 0;
}

/* A request with the words of @speaker: match, compute the rest, publish. */
static int begin(const struct stage *stage, struct speaker *speaker, uint64_t *matched)
{
	struct kvp_prompt prompt = {
		.space = stage->space,
		.tokens = speaker->tokens,
		.nr_tokens = speaker->nr,
	};

	if (kvp_seq_create(stage->pool, &prompt, 0, 0, &speaker->seq, matched))
		return failed("sequence cannot be created");
	if (compute(stage, speaker, *matched))
		return -1;
	if (kvp_publish(stage->pool, speaker->seq, NULL))
		return failed("prompt cannot be published");
	return verify(stage, speaker);
}

/* @speaker decodes @words, one at a time. */
static int decode(const struct stage *stage, struct speaker *speaker,
		  const char *const *words, uint32_t nr)
{
	uint32_t first, i;

	for (i = 0; i < nr; i++) {
		first = speaker->nr;
		say(speaker, &words[i], 1);
		if (kvp_seq_append(stage->pool, speaker->seq, &speaker->tokens[first], 1, 0))
			return failed("token cannot be appended");
		if (compute(stage, speaker, first))
			return -1;
	}
	return 0;
}

static int show(const struct stage *stage, const char *left_title,
		const struct speaker *left, const char *right_title,
		const struct speaker *right)
{
	struct kvctl_column a = { left_title, left->seq, left->words };
	struct kvctl_column b;

	if (right)
		b = (struct kvctl_column){ right_title, right->seq, right->words };
	if (kvctl_picture(stage->pool, &a, right ? &b : NULL))
		return failed("block tables cannot be read");
	printf("\n");
	return 0;
}

static int open_stage(struct stage *stage, enum kvp_door_kind door)
{
	static const struct kvp_identity identity = {
		.model = "demo-model",
		.weights_revision = "1",
		.mask = "causal",
	};
	char uri[KVCTL_OWN_LEN + 80], name[KVCTL_OWN_LEN];

	printf("1. A pool\n\n"
	       "   %d blocks; each has room for the rows of %d tokens. (Real ones have thousands\n"
	       "   of blocks of 16 to 512 tokens.) A request's block table says where its rows are.\n\n",
	       BLOCKS, BLOCK_TOKENS);
	snprintf(uri, sizeof(uri), "%s?blocks=%d&block_tokens=%d&row_bytes=%d",
		 kvctl_own_pool(door, "demo", name), BLOCKS, BLOCK_TOKENS, ROW_BYTES);
	if (kvp_identity_digest(&identity, stage->space) || kvp_pool_open(uri, &stage->pool))
		return failed("no pool");
	return 0;
}

static int share_a_prefix(const struct stage *stage, struct speaker *cat, struct speaker *dog)
{
	static const char *const system[] = {
		"You", "are", "a", "kind", "robot", ".", "Answer", "in",
		"one", "short", "line", ":",
	};
	static const char *const ask_cat[] = { "what", "are", "cats", "?" };
	static const char *const ask_dog[] = { "what", "are", "dogs", "?" };
	uint64_t matched;

	say(cat, system, sizeof(system) / sizeof(system[0]));
	say(cat, ask_cat, 4);
	say(dog, system, sizeof(system) / sizeof(system[0]));
	say(dog, ask_dog, 4);

	printf("2. Two requests that begin alike\n\n"
	       "   \"cats\" comes first. Nothing is known: all %u rows are computed, and its full\n"
	       "   blocks are published: from now on others can find them, nobody can change them.\n\n",
	       cat->nr);
	if (begin(stage, cat, &matched) || show(stage, "\"cats\"", cat, NULL, NULL))
		return -1;
	if (matched)
		return untrue("an empty pool had something");
	if (begin(stage, dog, &matched))
		return -1;
	printf("   \"dogs\" begins with the same words. The pool finds %llu of its %u tokens (it\n"
	       "   compares them, token by token), so only %u rows are computed:\n\n",
	       (unsigned long long)matched, dog->nr, dog->nr - (uint32_t)matched);
	if (show(stage, "\"cats\"", cat, "\"dogs\"", dog))
		return -1;
	if (matched != 12)
		return untrue("12 tokens should have been found");
	return 0;
}

/* After a fork: the first blocks are the same, the last one is the child's own. */
static int check_split(const struct stage *stage, const struct speaker *parent,
		       const struct speaker *child)
{
	uint64_t a[WORDS_MAX], b[WORDS_MAX];
	uint32_t nr_a = WORDS_MAX, nr_b = WORDS_MAX;

	if (kvp_seq_table(stage->pool, parent->seq, 0, 0, a, &nr_a) ||
	    kvp_seq_table(stage->pool, child->seq, 0, 0, b, &nr_b))
		return failed("block tables cannot be read");
	if (nr_a != 5 || nr_b != 5 || memcmp(a, b, 4 * sizeof(a[0])) || a[4] == b[4])
		return untrue("the fork does not share its first four blocks and those only");
	return 0;
}

static int fork_one(const struct stage *stage, struct speaker *parent, struct speaker *child)
{
	static const char *const start[] = { "Dogs", "are" };
	static const char *const loyal[] = { "loyal" };
	static const char *const loud[] = { "loud" };
	struct kvp_stats stats;

	if (decode(stage, parent, start, 2))
		return -1;
	*child = *parent;
	if (kvp_seq_fork(stage->pool, parent->seq, KVP_POS_END, &child->seq))
		return failed("sequence cannot be forked");
	printf("3. A fork\n\n"
	       "   The answer to \"dogs\" has begun. To try two endings the request is forked: the\n"
	       "   copy takes the same blocks, the last, half full one too. No byte is copied:\n\n");
	if (show(stage, "\"dogs\"", parent, "its fork", child))
		return -1;
	if (decode(stage, child, loyal, 1))
		return -1;
	if (kvp_pool_stats(stage->pool, 0, &stats, NULL, 0))
		return failed("counters cannot be read");
	if (decode(stage, parent, loud, 1))
		return -1;
	printf("   Then each goes on with a word of its own. Two cannot write into one block, so\n"
	       "   the first to write gets a copy of that one block (copy-on-write; copies made\n"
	       "   so far: %llu):\n\n", (unsigned long long)stats.copies);
	if (show(stage, "\"dogs\"", parent, "its fork", child) ||
	    check_split(stage, parent, child) || verify(stage, parent) || verify(stage, child))
		return -1;
	printf("   Compared, byte by byte: the %u rows of each are what they must be; the first %u\n"
	       "   are the same in both, the last differs, and nobody's rows have changed.\n\n",
	       parent->nr, parent->nr - 1);
	return 0;
}

static int audit(const struct stage *stage)
{
	struct kvctl_fsck fsck;

	if (kvctl_fsck_run(stage->pool, &fsck))
		return failed("no audit");
	printf("   audit: ");
	kvctl_fsck_print(&fsck, stdout);
	printf("\n");
	return fsck.total ? -1 : 0;
}

int kvctl_demo_blocks(enum kvp_door_kind door)
{
	struct speaker cat = { 0 }, dog = { 0 }, other = { 0 };
	struct stage stage = { 0 };
	int ret;

	ret = open_stage(&stage, door) || share_a_prefix(&stage, &cat, &dog) ||
	      fork_one(&stage, &dog, &other) || audit(&stage) ? -1 : 0;
	kvp_pool_close(stage.pool);
	return ret;
}

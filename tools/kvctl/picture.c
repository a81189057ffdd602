// SPDX-License-Identifier: MIT
/*
 * Draws block tables. No state.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "kvctl.h"
#include "picture.h"

#define SLOTS_MAX	16	/* blocks of one table that fit into a picture */
#define WORDS_WIDTH	20
#define COLUMN_WIDTH	(9 + WORDS_WIDTH)	/* "block NN " and the words */

/* A block table and the number of tokens in it. */
struct table {
	uint64_t blocks[SLOTS_MAX];
	uint32_t nr;
	uint64_t tokens;
};

static const char *colour_of(uint64_t block)
{
	static const char *const colours[] = {
		"\033[32m", "\033[33m", "\033[34m", "\033[35m", "\033[36m", "\033[31m",
	};

	return colours[KVP_BLOCK_INDEX(block) % (sizeof(colours) / sizeof(colours[0]))];
}

static int read_table(struct kvp_pool *pool, const struct kvctl_column *column,
		      struct table *table)
{
	struct kvp_lengths lengths;
	int err;

	memset(table, 0, sizeof(*table));
	table->nr = SLOTS_MAX;
	err = kvp_seq_table(pool, column->seq, 0, 0, table->blocks, &table->nr);
	if (err)
		return err;
	err = kvp_seq_lengths(pool, column->seq, &lengths);
	if (!err)
		table->tokens = lengths.tokens;
	return err;
}

/* "block 3  are a helpful robot", the words padded to @width. */
static void print_cell(const struct table *table, const struct kvctl_column *column,
		       uint32_t slot, uint32_t block_tokens, int width, bool colour)
{
	char words[WORDS_WIDTH + 1] = "";
	uint64_t i;
	size_t len;

	if (slot >= table->nr) {
		printf("%*s", COLUMN_WIDTH, "");
		return;
	}
	for (i = (uint64_t)slot * block_tokens;
	     i < table->tokens && i < (uint64_t)(slot + 1) * block_tokens; i++) {
		len = strlen(words);
		snprintf(words + len, sizeof(words) - len, "%s%s", len ? " " : "",
			 column->words[i]);
	}
	printf("%sblock %-2u %-*s%s", colour ? colour_of(table->blocks[slot]) : "",
	       KVP_BLOCK_INDEX(table->blocks[slot]), width, words, colour ? "\033[0m" : "");
}

static void print_one(const struct table *table, const struct kvctl_column *column,
		      uint32_t block_tokens, bool colour)
{
	uint32_t slot;

	printf("     slot  %s\n", column->title);
	for (slot = 0; slot < table->nr; slot++) {
		printf("     %4u  ", slot);
		print_cell(table, column, slot, block_tokens, 0, colour);
		printf("\n");
	}
}

static void print_two(const struct table *a, const struct kvctl_column *left,
		      const struct table *b, const struct kvctl_column *right,
		      uint32_t block_tokens, bool colour)
{
	const char *note;
	uint32_t slot;

	printf("     slot  %-*s  %s\n", COLUMN_WIDTH, left->title, right->title);
	for (slot = 0; slot < a->nr || slot < b->nr; slot++) {
		note = "only one";
		if (slot < a->nr && slot < b->nr)
			note = a->blocks[slot] == b->blocks[slot] ? "same block" : "different";
		printf("     %4u  ", slot);
		print_cell(a, left, slot, block_tokens, WORDS_WIDTH, colour);
		printf("  ");
		print_cell(b, right, slot, block_tokens, WORDS_WIDTH, colour);
		printf("  %s\n", note);
	}
}

int kvctl_picture(struct kvp_pool *pool, const struct kvctl_column *left,
		  const struct kvctl_column *right)
{
	uint32_t block_tokens = kvp_pool_family(pool, 0)->block_tokens;
	bool colour = kvctl_may_colour();
	struct table a, b;
	int err;

	err = read_table(pool, left, &a);
	if (err)
		return err;
	if (!right) {
		print_one(&a, left, block_tokens, colour);
		return 0;
	}
	err = read_table(pool, right, &b);
	if (err)
		return err;
	print_two(&a, left, &b, right, block_tokens, colour);
	return 0;
}

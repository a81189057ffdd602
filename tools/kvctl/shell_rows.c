// SPDX-License-Identifier: MIT
/*
 * Rows of sequences: written with a stated pattern, read and checked against it. A row's
 * bytes follow from a seed and from the position of its token.
 */
#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "kvctl.h"
#include "shell.h"

#define READ_BYTES	64	/* of a row that `rows read' shows */

/**
 * struct rows - rows of a sequence that a line speaks of
 * @pool: of the current client
 * @seq: the sequence
 * @lengths: of it
 * @family: which family
 * @row_bytes: of one row there
 * @first: first token
 * @nr: number of tokens
 * @seed: of the pattern
 * @bytes: room for @nr rows, or NULL; free() it
 */
struct rows {
	struct kvp_pool *pool;
	kvp_seq_t seq;
	struct kvp_lengths lengths;
	uint32_t family;
	uint64_t row_bytes;
	uint64_t first;
	uint64_t nr;
	uint64_t seed;
	uint8_t *bytes;
};

static void fill(uint64_t seed, uint64_t position, uint64_t len, uint8_t *bytes)
{
	uint64_t word = kvctl_mix64(kvctl_mix64(seed + 1) ^ position), i;

	for (i = 0; i < len; i++) {
		if (i && i % sizeof(word) == 0)
			word = kvctl_mix64(word + 1);
		bytes[i] = (uint8_t)(word >> i % sizeof(word) * 8);
	}
}

/* Sequence, family and seed of @args. */
static int take_rows(struct shell *shell, const struct shell_args *args, struct rows *rows)
{
	const struct kvp_family_desc *family;
	struct shell_name *found;
	int status;

	memset(rows, 0, sizeof(*rows));
	rows->pool = shell->client->pool;
	status = shell_need_name(shell, SHELL_SEQ, args->word[0].text, &found);
	if (status == SHELL_OK)
		status = shell_take_family(shell, args, &rows->family);
	if (status == SHELL_OK)
		status = shell_option_number(shell, args, "seed", 0, UINT64_MAX, &rows->seed);
	if (status != SHELL_OK)
		return status;
	rows->seq = found->id;
	if (kvp_seq_lengths(rows->pool, rows->seq, &rows->lengths))
		return shell_call_failed(shell);
	family = kvp_pool_family(rows->pool, rows->family);
	if (!family)
		return shell_malformed(shell, "family is %u; expected one below %u", rows->family,
				       kvp_pool_nr_families(rows->pool));
	rows->row_bytes = family->block_bytes / family->block_tokens;
	return SHELL_OK;
}

/* The second word as FIRST..LAST; without it [@begin, @end). */
static int take_range(struct shell *shell, const struct shell_args *args, struct rows *rows,
		      uint64_t begin, uint64_t end)
{
	uint64_t last, size;
	int status;

	rows->first = begin;
	rows->nr = end - begin;
	if (args->nr > 1) {
		status = shell_word_range(shell, "rows", args->word[1].text, UINT32_MAX,
					  &rows->first, &last);
		if (status != SHELL_OK)
			return status;
		rows->nr = last - rows->first + 1;
	}
	if (__builtin_mul_overflow(rows->nr, rows->row_bytes, &size))
		return shell_no_memory(shell);
	rows->bytes = malloc(size ? size : 1);
	return rows->bytes ? SHELL_OK : shell_no_memory(shell);
}

static void tell_rows(struct shell *shell, const struct shell_args *args,
		      const struct rows *rows)
{
	json_object_set_new(shell->out, "seq", json_string(args->word[0].text));
	json_object_set_new(shell->out, "family", json_integer(rows->family));
	shell_put(shell->out, "first", rows->first);
	shell_put(shell->out, "rows", rows->nr);
}

static int write_rows(struct shell *shell, struct rows *rows)
{
	uint64_t i;

	for (i = 0; i < rows->nr; i++)
		fill(rows->seed, rows->first + i, rows->row_bytes,
		     rows->bytes + i * rows->row_bytes);
	if (kvp_rows_write(rows->pool, rows->seq, rows->family, rows->first, rows->nr,
			   rows->bytes))
		return shell_call_failed(shell);
	return SHELL_OK;
}

static int rows_write(struct shell *shell, const struct shell_args *args)
{
	struct rows rows;
	int status;

	status = take_rows(shell, args, &rows);
	if (status == SHELL_OK)
		status = take_range(shell, args, &rows, rows.lengths.computed,
				    rows.lengths.tokens);
	if (status == SHELL_OK)
		status = write_rows(shell, &rows);
	if (status == SHELL_OK)
		tell_rows(shell, args, &rows);
	free(rows.bytes);
	return status;
}

/* The first row that is not what the pattern says, and how many. */
static uint64_t count_wrong(const struct rows *rows, uint8_t *expected, uint64_t *first)
{
	uint64_t i, wrong = 0;

	for (i = 0; i < rows->nr; i++) {
		fill(rows->seed, rows->first + i, rows->row_bytes, expected);
		if (!memcmp(rows->bytes + i * rows->row_bytes, expected, rows->row_bytes))
			continue;
		if (!wrong++)
			*first = rows->first + i;
	}
	return wrong;
}

static int check_rows(struct shell *shell, const struct rows *rows)
{
	uint8_t *expected = malloc(rows->row_bytes);
	uint64_t wrong, first = 0;

	if (!expected)
		return shell_no_memory(shell);
	wrong = count_wrong(rows, expected, &first);
	free(expected);
	if (!wrong)
		return SHELL_OK;
	return shell_failed(shell, "rows-differ", "%llu of %llu rows are not what seed %llu "
						  "says, the first is %llu: expected none",
			    (unsigned long long)wrong, (unsigned long long)rows->nr,
			    (unsigned long long)rows->seed, (unsigned long long)first);
}

static int read_rows(struct shell *shell, const struct shell_args *args, struct rows *rows)
{
	int status;

	status = take_rows(shell, args, rows);
	if (status == SHELL_OK)
		status = take_range(shell, args, rows, 0, rows->lengths.computed);
	if (status == SHELL_OK && kvp_rows_read(rows->pool, rows->seq, rows->family, rows->first,
						rows->nr, rows->bytes))
		status = shell_call_failed(shell);
	if (status == SHELL_OK)
		tell_rows(shell, args, rows);
	return status;
}

static int rows_check(struct shell *shell, const struct shell_args *args)
{
	struct rows rows;
	int status;

	status = read_rows(shell, args, &rows);
	if (status == SHELL_OK)
		status = check_rows(shell, &rows);
	free(rows.bytes);
	return status;
}

static json_t *row_json(const uint8_t *row, uint64_t len)
{
	char text[2 * READ_BYTES + 1] = "";
	uint64_t i;

	for (i = 0; i < len && i < READ_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", row[i]);
	return json_string(text);
}

static int rows_read(struct shell *shell, const struct shell_args *args)
{
	struct rows rows;
	json_t *list;
	uint64_t i;
	int status;

	status = read_rows(shell, args, &rows);
	if (status == SHELL_OK) {
		list = json_array();
		for (i = 0; i < rows.nr; i++)
			json_array_append_new(list, row_json(rows.bytes + i * rows.row_bytes,
							     rows.row_bytes));
		json_object_set_new(shell->out, "bytes", list);
	}
	free(rows.bytes);
	return status;
}

/* ---- compute ---- */

/* Rows that are not computed yet of one family: of a state, its one slot. */
static int compute_family(struct shell *shell, struct rows *rows)
{
	const struct kvp_family_desc *family = kvp_pool_family(rows->pool, rows->family);
	uint64_t size, block;
	uint32_t nr = 1;
	int status;

	if (family->kind == KVP_FAMILY_STATE) {
		if (kvp_seq_table(rows->pool, rows->seq, rows->family, 0, &block, &nr))
			return shell_call_failed(shell);
		if (nr)
			fill(rows->seed, rows->lengths.tokens, family->block_bytes,
			     kvp_block_data(rows->pool, block));
		return SHELL_OK;
	}
	rows->row_bytes = family->block_bytes / family->block_tokens;
	if (__builtin_mul_overflow(rows->nr, rows->row_bytes, &size))
		return shell_no_memory(shell);
	rows->bytes = malloc(size);
	status = rows->bytes ? write_rows(shell, rows) : shell_no_memory(shell);
	free(rows->bytes);
	rows->bytes = NULL;
	return status;
}

/* What an engine does between two calls: rows of all families, then advance. */
static int seq_compute(struct shell *shell, const struct shell_args *args)
{
	struct rows rows;
	int status;

	status = take_rows(shell, args, &rows);
	if (status != SHELL_OK)
		return status;
	rows.first = rows.lengths.computed;
	rows.nr = rows.lengths.tokens - rows.first;
	for (rows.family = 0; rows.nr && rows.family < kvp_pool_nr_families(rows.pool);
	     rows.family++) {
		status = compute_family(shell, &rows);
		if (status != SHELL_OK)
			return status;
	}
	if (kvp_seq_advance(rows.pool, rows.seq, rows.lengths.tokens))
		return shell_call_failed(shell);
	json_object_set_new(shell->out, "seq", json_string(args->word[0].text));
	shell_put(shell->out, "rows", rows.nr);
	json_object_set_new(shell->out, "computed",
			    json_integer((json_int_t)rows.lengths.tokens));
	return SHELL_OK;
}

const struct shell_command shell_rows_commands[] = {
	{
		.group = "seq", .name = "compute", .usage = "NAME [seed=N]",
		.summary = "write all rows that are not computed, in all families, and advance",
		.options = "seed",
		.min = 1, .max = 1, .run = seq_compute,
	},
	{
		.group = "rows", .name = "write",
		.usage = "SEQ [FIRST..LAST] [seed=N] [family=N]",
		.summary = "write rows whose bytes follow from seed and position; without a "
			   "range: all that are not computed",
		.options = "seed family",
		.min = 1, .max = 2, .run = rows_write,
	},
	{
		.group = "rows", .name = "check",
		.usage = "SEQ [FIRST..LAST] [seed=N] [family=N]",
		.summary = "compare rows with that pattern; without a range: all that are computed",
		.options = "seed family",
		.min = 1, .max = 2, .run = rows_check,
	},
	{
		.group = "rows", .name = "read", .usage = "SEQ [FIRST..LAST] [family=N]",
		.summary = "show the first 64 bytes of rows",
		.options = "family",
		.min = 1, .max = 2, .run = rows_read,
	},
	{ 0 },
};

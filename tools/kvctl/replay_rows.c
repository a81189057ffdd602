// SPDX-License-Identifier: MIT
/*
 * Bytes of a replay: rows that say what their prefix is are written, read back and
 * compared. No state of its own.
 */
#include <string.h>

#include "kvctl.h"
#include "replay.h"

#define SHOWN_WRONG	5		/* wrong rows that are reported one by one */

void kvctl_replay_output(uint32_t first, uint32_t nr, uint32_t *tokens)
{
	uint32_t i;

	for (i = 0; i < nr; i++)
		tokens[i] = KVCTL_OUTPUT_TOKEN + first + i;
}

uint64_t kvctl_replay_tokens(struct kvctl_replay *replay, const struct kvctl_live *live)
{
	const struct kvctl_request *request = live->request;

	kvctl_prompt_tokens(replay->trace->ids + request->first_id, request->input_length,
			    replay->tokens);
	kvctl_replay_output(live->first_output, live->nr_output,
			    replay->tokens + request->input_length);
	return (uint64_t)request->input_length + live->nr_output;
}

/* Writes the rows of @tokens, which are the next ones of @live, from @first on. */
static int write_rows(struct kvctl_replay *replay, struct kvctl_live *live,
		      const uint32_t *tokens, uint64_t first, uint64_t nr)
{
	size_t row_bytes = replay->options->row_bytes;
	uint64_t n;
	int err;

	for (; nr; nr -= n, first += n, tokens += n) {
		n = nr < replay->chunk_rows ? nr : replay->chunk_rows;
		kvctl_chain_rows(&live->chain, tokens, n, row_bytes, replay->rows);
		err = kvp_rows_write(replay->pool, live->seq, 0, first, n, replay->rows);
		if (err)
			return kvctl_replay_fatal(live->request, "rows cannot be written", err);
	}
	return 0;
}

static void compare_rows(struct kvctl_replay *replay, const struct kvctl_live *live,
			 uint64_t first, uint64_t nr)
{
	struct kvctl_replay_result *result = replay->result;
	size_t row_bytes = replay->options->row_bytes;
	uint64_t i;

	result->verified_rows += nr;
	if (!memcmp(replay->rows, replay->expected, nr * row_bytes))
		return;
	for (i = 0; i < nr; i++) {
		if (!memcmp(replay->rows + i * row_bytes, replay->expected + i * row_bytes,
			    row_bytes))
			continue;
		if (result->wrong_rows++ < SHOWN_WRONG)
			fprintf(stderr, "kvctl replay: request of line %llu: the row of token "
				"%llu is not what its prefix says\n",
				(unsigned long long)live->request->line,
				(unsigned long long)(first + i));
	}
}

/* Reads the first @nr rows of @live and compares them; @chain stands behind them then. */
static int check_rows(struct kvctl_replay *replay, const struct kvctl_live *live,
		      struct kvctl_chain *chain, uint64_t nr)
{
	size_t row_bytes = replay->options->row_bytes;
	const uint32_t *tokens = replay->tokens;
	uint64_t first, n;
	int err;

	kvctl_chain_begin(chain, replay->space);
	for (first = 0; first < nr; first += n) {
		n = nr - first < replay->chunk_rows ? nr - first : replay->chunk_rows;
		err = kvp_rows_read(replay->pool, live->seq, 0, first, n, replay->rows);
		if (err)
			return kvctl_replay_fatal(live->request, "rows cannot be read", err);
		kvctl_chain_rows(chain, tokens + first, n, row_bytes, replay->expected);
		compare_rows(replay, live, first, n);
	}
	return 0;
}

int kvctl_replay_prefill_rows(struct kvctl_replay *replay, struct kvctl_live *live,
			      uint64_t matched, uint64_t length)
{
	int err = check_rows(replay, live, &live->chain, matched);

	if (err)
		return err;
	return write_rows(replay, live, replay->tokens + matched, matched, length - matched);
}

int kvctl_replay_decode_rows(struct kvctl_replay *replay, struct kvctl_live *live,
			     uint64_t first, uint64_t nr)
{
	return write_rows(replay, live, replay->tokens, first, nr);
}

int kvctl_replay_check_all(struct kvctl_replay *replay, const struct kvctl_live *live)
{
	struct kvctl_chain chain;

	return check_rows(replay, live, &chain, kvctl_replay_tokens(replay, live));
}
